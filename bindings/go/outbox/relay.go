package outbox

// The push side of a relay.

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"wq.internal/wq"
)

// Mode is which way a push goes.
type Mode int

// Modes; see the package.
const (
	Fallback Mode = iota
	Always
	Shadow
)

// Options of a relay.
type Options struct {
	Queue  string // of wq, and {queue} of a layout; empty: "default". It is made if it is not there
	Layout Layout
	Mode   Mode
	// InOrder: a push does not overtake what is spooled and due. While there is such a job, pushes
	// are spooled behind it. Jobs go to Redis one by one then, and priorities do not count here.
	InOrder    bool
	Seen       SeenLimits
	Breaker    BreakerOptions
	Durability wq.Durability // of what is spooled; 0: that of the queue, by default wq.Power
	Poll       time.Duration // Run looks so often for jobs that others spooled or that are due; 0: 1 s
	Clock      func() time.Time
}

// Outcome is what became of a push.
type Outcome int

// Outcomes.
const (
	Sent      Outcome = iota // Redis has it
	Duplicate                // Redis had it before
	Spooled                  // the queue has it
	Refused                  // nobody has it: Redis, or the layout, said no for good; Text says why
	Failed                   // Shadow only: Redis did not take it, and that is the answer
)

// String returns the outcome in lower case.
func (o Outcome) String() string {
	return [...]string{"sent", "duplicate", "spooled", "refused", "failed"}[o]
}

// Pushed is what became of a push.
type Pushed struct {
	Outcome Outcome
	ID      string
	Text    string // why it was spooled, refused or failed
}

// turn is a mutex whose wait a context ends.
type turn chan struct{}

func (t turn) take(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case t <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (t turn) give() { <-t }

type direct struct{ sent, duplicate, refused, failed uint64 }

// Relay is one relay. Any goroutine may call any method; those that talk to Redis take turns.
type Relay struct {
	store    *wq.Store
	queue    *wq.Queue
	storeID  string
	options  Options
	primary  Primary
	draining turn          // one drain at a time; taken before talking
	talking  turn          // the primary, and the order of pushes
	wake     chan struct{} // something was spooled

	mu      sync.Mutex // guards what follows
	breaker breaker
	health  Health
	direct  direct
	kept    direct
	keptAt  time.Time
}

// New makes a relay. The store must stay open until Close. What a process before it held when it
// ended is given back to the head of the queue, so there is one relay of a queue at a time.
func New(ctx context.Context, store *wq.Store, options Options, primary Primary) (*Relay, error) {
	if primary == nil || options.Layout.Key == "" {
		return nil, errors.New("outbox: a relay needs a primary, and a layout with a key")
	}
	if options.Queue == "" {
		options.Queue = "default"
	}
	if options.Clock == nil {
		options.Clock = time.Now
	}
	if options.Poll <= 0 {
		options.Poll = time.Second
	}
	if options.Seen.Keep <= 0 {
		options.Seen.Keep = 7 * 24 * time.Hour
	}
	if options.Seen.Count <= 0 {
		options.Seen.Count = 1_000_000
	}
	r := &Relay{store: store, options: options, primary: primary, draining: make(turn, 1),
		talking: make(turn, 1), wake: make(chan struct{}, 1), breaker: newBreaker(options.Breaker),
		keptAt: options.Clock()}
	var err error
	if r.queue, err = store.Queue(ctx, options.Queue, nil); err != nil {
		return nil, err
	}
	if err = r.identifyStore(ctx); err == nil {
		err = r.takeBackHeld(ctx)
	}
	if err != nil {
		_ = r.queue.Close()
		return nil, err
	}
	return r, nil
}

// Close writes the last counts of direct pushes. It ends no Run: end its context before.
func (r *Relay) Close() error {
	err := r.keepDirectCounts(context.Background())
	return errors.Join(err, r.queue.Close())
}

// identifyStore is for the ids of jobs that another program spooled: the same after every restart.
func (r *Relay) identifyStore(ctx context.Context) error {
	const key = "wq-relay/store"
	if _, _, err := r.store.KV().Put(ctx, key, []byte(DrawID()), wq.RowOptions{IfAbsent: true}); err != nil {
		return err
	}
	row, _, err := r.store.KV().Get(ctx, key)
	r.storeID = string(row.Value)
	return err
}

// takeBackHeld gives back what a process that is gone had leased: nobody sends it any more. In a
// queue whose order counts that is one job at most, and it goes on in its place.
func (r *Relay) takeBackHeld(ctx context.Context) error {
	for {
		found, err := r.queue.Explain(ctx)
		if err != nil || found.Holder.ID == 0 {
			return err
		}
		if _, err := r.queue.JobOf(found.Holder).Release(ctx, wq.Release{Front: true}); err != nil {
			return err
		}
	}
}

// Push puts a job into Redis or the queue: durable in one of them when it returns, unless it is
// Refused or Failed. It blocks for Redis (its time limits) or the device. If ctx ends while Redis is
// asked, nobody knows whether Redis has the job: it is spooled then, and that is no error. An error
// is one of the store, or of a ctx that had ended before.
func (r *Relay) Push(ctx context.Context, job Job) (Pushed, error) {
	if job.ID == "" {
		job.ID = DrawID()
	}
	out := Pushed{Outcome: Refused, ID: job.ID}
	if part := r.options.Layout.unfit(&job); part != "" {
		out.Text = "the layout has no place for " + part
		return out, nil
	}
	waitsHere := !r.options.Layout.hasDelay() && job.RunAt.After(r.options.Clock())
	if r.options.Mode == Always || r.options.Mode == Fallback && waitsHere {
		out.Outcome = Spooled
		return out, r.spool(ctx, &job)
	}
	out, err := r.pushDirect(ctx, &job)
	// The copy comes after the answer, so that a drain does not ask for what is under way.
	if err == nil && r.options.Mode == Shadow {
		err = r.spool(context.WithoutCancel(ctx), &job)
	}
	return out, err
}

func (r *Relay) pushDirect(ctx context.Context, job *Job) (Pushed, error) {
	out := Pushed{Outcome: Spooled, ID: job.ID}
	if err := r.talking.take(ctx); err != nil {
		return out, err
	}
	defer r.talking.give()
	if r.options.InOrder && r.options.Mode == Fallback {
		backlog, err := r.hasBacklog(ctx)
		if err != nil {
			return out, err
		}
		if backlog {
			out.Text = "jobs before it are spooled"
			return out, r.spool(ctx, job)
		}
	}
	answer := r.ask(ctx, []Request{r.options.Layout.apply(r.options.Queue, job, r.options.Seen)})[0]
	out.Text = answer.Text
	var count *uint64
	switch {
	case answer.Verdict == Applied:
		out.Outcome, count = Sent, &r.direct.sent
	case answer.Verdict == Known:
		out.Outcome, count = Duplicate, &r.direct.duplicate
	case answer.Verdict == Rejected:
		out.Outcome, count = Refused, &r.direct.refused
	case r.options.Mode == Shadow:
		out.Outcome, count = Failed, &r.direct.failed
	default:
		return out, r.spool(context.WithoutCancel(ctx), job)
	}
	r.mu.Lock()
	*count++
	r.mu.Unlock()
	return out, nil
}

func (r *Relay) spool(ctx context.Context, job *Job) error {
	spec := job.spooled(!r.options.Layout.hasDelay(), r.options.InOrder)
	var opts []wq.CallOption
	if r.options.Durability != 0 {
		opts = append(opts, r.options.Durability)
	}
	done, err := r.queue.Enqueue(ctx, spec, opts...)
	if err == nil && done.Outcome != wq.OK {
		err = fmt.Errorf("outbox: queue %s: %v", r.options.Queue, done.Outcome)
	}
	select {
	case r.wake <- struct{}{}:
	default:
	}
	return err
}

// hasBacklog: jobs that wait for their time hold up nobody.
func (r *Relay) hasBacklog(ctx context.Context) (bool, error) {
	stats, err := r.queue.Stats(ctx)
	return stats.Ready+stats.Leased+stats.Running > 0, err
}

// ask returns one answer for each request; none is sent while the breaker is open. The caller has
// the turn to talk.
func (r *Relay) ask(ctx context.Context, requests []Request) []Answer {
	r.mu.Lock()
	allowed, problem := r.breaker.allows(r.options.Clock()), r.health.Problem
	r.mu.Unlock()
	if !allowed {
		answers := make([]Answer, len(requests))
		for i := range answers {
			answers[i] = Answer{Unavailable, "not tried again yet: " + problem}
		}
		return answers
	}
	answers := r.primary.Send(ctx, requests)
	r.mu.Lock()
	defer r.mu.Unlock()
	var bad *Answer
	for i := range answers {
		switch answers[i].Verdict {
		case Unavailable:
			r.health.Failures++
		case Unknown:
			r.health.Timeouts++
		default:
			continue
		}
		bad = &answers[i]
	}
	switch {
	case bad == nil:
		r.breaker.succeeded()
		r.health.Problem = ""
	case ctx.Err() != nil:
		r.breaker.gaveUp(r.options.Clock())
	default:
		r.breaker.failed(r.options.Clock())
		r.health.Problem = bad.Text
	}
	return answers
}
