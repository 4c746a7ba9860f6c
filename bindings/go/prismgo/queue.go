// Package prismgo is what the queue of the PrismGo framework needs from a backend, on wq: a queue
// connection with reserved jobs, the stores of failed jobs, batches and restarts, and a cache store
// with the atomic operations that unique, debounced, overlapping and rate-limited jobs are made of.
//
// It does not import the framework (see README.md). Its types take the framework's as type parameters
// and have the methods of its interfaces, so that with them they are implementations of these as they
// stand.
package prismgo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	"wq.internal/wq"
)

// BulkResult is the shape that the result of Bulk must have.
type BulkResult interface{ ~struct{ Accepted int } }

// Options are for NewQueue.
type Options struct {
	Prefix       string          // in front of the names of queues in the store; empty: "prismgo:"
	DefaultQueue string          // for a Pop with no name; empty: "default"
	RetryAfter   time.Duration   // a reserved job comes back after this time; 0: 90 s
	BlockFor     time.Duration   // how long a Pop that may wait waits; 0: not at all
	Durability   wq.Durability   // of pushes, deletes and releases; 0: wq.Power
	Errors       Errors          // the framework's own, so that its worker knows them
	OnPoison     func(Poison)    // nil: logged
	OnStale      func(StaleCall) // nil: logged
	Logger       *slog.Logger
}

// Errors are the sentinels that the queue returns. Those left nil are this package's.
type Errors struct{ Empty, Poison, Closed error }

// Sentinels for who has none of their own.
var (
	ErrEmpty  = errors.New("prismgo: empty")
	ErrPoison = errors.New("prismgo: a job can not be decoded")
	ErrClosed = errors.New("prismgo: the connection is closed")
)

// Poison is a job that Decode could not read. It is kept as a dead letter of its queue.
type Poison struct {
	Queue   string
	Payload []byte
	Err     error
}

// StaleCall is a Delete or Release of a job that was not reserved by its caller any more: it changed
// nothing, and the worker was told that all is well.
type StaleCall struct{ Queue, Call, ID string }

// Header is what of an encoded job the queue tells with a reserved one.
type Header struct{ ID, Name string }

// waitAvailable is the framework's number for a Pop that may wait, and what leaving it out means.
const waitAvailable = 1

// Queue is a queue connection. P is the framework's Payload, B its BulkResult, W its PopWaitMode, R its
// ReservedJob: then *Queue[P, B, W, R] is its Queue.
type Queue[P ~[]byte, B BulkResult, W ~uint8, R any] struct {
	store  *wq.Store
	o      Options
	decode func(P) (Header, error)
	mu     sync.Mutex
	open   map[string]*wq.Queue
	closed bool
}

// NewQueue returns a connection on a store, which stays open when it is closed. decode reads id and
// name out of an encoded job, and says which ones can not be read; nil takes any, and ids are those of
// the store. R must have the methods of ReservedJob, else it panics: that is found by the first test.
func NewQueue[P ~[]byte, B BulkResult, W ~uint8, R any](store *wq.Store, o Options, decode func(P) (Header, error)) *Queue[P, B, W, R] {
	if _, fits := any((*ReservedJob[P])(nil)).(R); !fits {
		panic(fmt.Sprintf("prismgo: %T is no %T", (*ReservedJob[P])(nil), *new(R)))
	}
	set(&o.Prefix, "prismgo:")
	set(&o.DefaultQueue, "default")
	set(&o.RetryAfter, 90*time.Second)
	set(&o.Durability, wq.Power)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	for _, e := range []struct {
		to    *error
		usual error
	}{{&o.Errors.Empty, ErrEmpty}, {&o.Errors.Poison, ErrPoison}, {&o.Errors.Closed, ErrClosed}} {
		if *e.to == nil {
			*e.to = e.usual
		}
	}
	return &Queue[P, B, W, R]{store: store, o: o, decode: decode, open: map[string]*wq.Queue{}}
}

func set[T comparable](to *T, usual T) {
	var zero T
	if *to == zero {
		*to = usual
	}
}

// attemptsAreTheirs: the framework decides when a job is given up, so the store never does.
const attemptsAreTheirs = 1_000_000

// queue returns the handle of a queue; nil if it is not there and is not to be declared.
func (q *Queue[P, B, W, R]) queue(ctx context.Context, name string, declare bool) (*wq.Queue, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, q.o.Errors.Closed
	}
	if handle := q.open[name]; handle != nil {
		return handle, nil
	}
	var handle *wq.Queue
	var err error
	if declare {
		handle, err = q.store.Queue(ctx, q.o.Prefix+name, &wq.Config{MaxRetries: wq.Ptr(attemptsAreTheirs),
			Lease: &q.o.RetryAfter, Durability: &q.o.Durability})
	} else if handle, err = q.store.ExistingQueue(ctx, q.o.Prefix+name); errors.Is(err, wq.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, q.told(err)
	}
	q.open[name] = handle
	return handle, nil
}

// told makes a closed store what the framework knows as a closed connection.
func (q *Queue[P, B, W, R]) told(err error) error {
	if errors.Is(err, wq.ErrClosed) {
		return fmt.Errorf("%w: %w", q.o.Errors.Closed, err)
	}
	return err
}

// Push puts a job at the tail of a queue.
func (q *Queue[P, B, W, R]) Push(ctx context.Context, queue string, body P) error {
	return q.Later(ctx, queue, body, 0)
}

// Later puts a job into a queue that is popped after `delay` or later; 0 or less: at once.
func (q *Queue[P, B, W, R]) Later(ctx context.Context, queue string, body P, delay time.Duration) error {
	handle, err := q.queue(ctx, q.name(queue), true)
	if err != nil {
		return err
	}
	e, err := handle.Enqueue(ctx, wq.Spec{Payload: body, Delay: max(delay, 0)}, q.o.Durability)
	if err == nil && e.Outcome != wq.OK {
		err = fmt.Errorf("prismgo: push to %q: %v", queue, e.Outcome)
	}
	return q.told(err)
}

const bodiesPerCall = 10000

// Bulk puts jobs at the tail of a queue in their order: all of them or, with an error, none. Of more
// than 10,000 there may be the first tens of thousands; Accepted tells.
func (q *Queue[P, B, W, R]) Bulk(ctx context.Context, queue string, bodies []P) (B, error) {
	accepted := 0
	result := func() B { return B(struct{ Accepted int }{accepted}) }
	for len(bodies) > 0 {
		handle, err := q.queue(ctx, q.name(queue), true)
		if err != nil {
			return result(), err
		}
		n := min(len(bodies), bodiesPerCall)
		specs := make([]wq.Spec, n)
		for i := range specs {
			specs[i].Payload = bodies[i]
		}
		many, err := handle.EnqueueMany(ctx, specs, q.o.Durability)
		accepted += many.Accepted
		if err == nil && many.Outcome != wq.OK {
			err = fmt.Errorf("prismgo: bulk to %q: %v", queue, many.Outcome)
		}
		if err != nil {
			return result(), q.told(err)
		}
		bodies = bodies[n:]
	}
	return result(), nil
}

// Pop reserves the head of the first queue that has a job, in the order given. With no wait mode, or
// the one that may wait, it waits up to BlockFor for a job in any of them. None: Errors.Empty. A job
// that can not be decoded: Errors.Poison, and it is out of the way.
func (q *Queue[P, B, W, R]) Pop(ctx context.Context, queues []string, wait ...W) (R, error) {
	var none R
	block := q.o.BlockFor
	if len(wait) > 0 && wait[0] != waitAvailable {
		block = 0
	}
	names := NormalizeQueues(queues, q.o.DefaultQueue)
	var handles []*wq.Queue
	for _, name := range names {
		// One that is not there yet has nothing; only who waits needs it, to be woken by its first job.
		handle, err := q.queue(ctx, name, block > 0)
		if err != nil {
			return none, err
		}
		if handle != nil {
			handles = append(handles, handle)
		}
	}
	if len(handles) == 0 {
		return none, q.o.Errors.Empty
	}
	jobs, outcome, err := q.store.Lease(ctx, handles, wq.LeaseOptions{Wait: block, Lease: q.o.RetryAfter})
	if err != nil {
		return none, q.told(err)
	}
	if outcome != wq.OK {
		return none, q.o.Errors.Empty
	}
	return q.reserved(ctx, jobs[0])
}

func (q *Queue[P, B, W, R]) reserved(ctx context.Context, job *wq.Job) (R, error) {
	var none R
	r := &ReservedJob[P]{job: job, header: Header{ID: strconv.FormatUint(job.ID, 10)}, durability: q.o.Durability}
	r.stale = func(call string) {
		s := StaleCall{Queue: strings.TrimPrefix(job.Queue, q.o.Prefix), Call: call, ID: r.header.ID}
		if q.o.OnStale != nil {
			q.o.OnStale(s)
		} else {
			q.o.Logger.Warn("prismgo: a job was settled too late", "queue", s.Queue, "call", call, "id", s.ID)
		}
	}
	r.told = q.told
	if q.decode != nil {
		header, err := q.decode(P(job.Payload))
		if err != nil {
			return none, q.poison(ctx, job, err)
		}
		r.header = header
	}
	return any(r).(R), nil
}

func (q *Queue[P, B, W, R]) poison(ctx context.Context, job *wq.Job, cause error) error {
	p := Poison{Queue: strings.TrimPrefix(job.Queue, q.o.Prefix), Payload: job.Payload, Err: cause}
	if _, err := job.Fail(context.WithoutCancel(ctx), "poison: "+cause.Error()); err != nil {
		return q.told(err)
	}
	if q.o.OnPoison != nil {
		q.o.OnPoison(p)
	} else {
		q.o.Logger.Error("prismgo: a job can not be decoded", "queue", p.Queue, "id", job.ID, "error", cause)
	}
	return fmt.Errorf("%w: %w", q.o.Errors.Poison, cause)
}

// Size is how many jobs of a queue wait, delayed ones included and reserved ones not. 0 for one that
// is not there.
func (q *Queue[P, B, W, R]) Size(ctx context.Context, queue string) (int64, error) {
	handle, err := q.queue(ctx, q.name(queue), false)
	if err != nil || handle == nil {
		return 0, err
	}
	stats, err := handle.Stats(ctx)
	return int64(stats.Ready + stats.Delayed), q.told(err)
}

// Clear removes all jobs of a queue, reserved ones too: their Delete and Release find nothing.
func (q *Queue[P, B, W, R]) Clear(ctx context.Context, queue string) error {
	handle, err := q.queue(ctx, q.name(queue), false)
	if err != nil || handle == nil {
		return err
	}
	_, err = handle.Clear(ctx, []wq.State{wq.StateReady, wq.StateDelayed, wq.StateLeased, wq.StateRunning})
	return q.told(err)
}

// Close ends the waits of Pop and gives the queues up; all else is Errors.Closed from then on. The
// store stays open. A nil connection may be closed.
func (q *Queue[P, B, W, R]) Close() error {
	if q == nil {
		return nil
	}
	q.mu.Lock()
	q.closed = true
	open := q.open
	q.open = nil
	q.mu.Unlock()
	for _, handle := range open {
		_ = handle.Close()
	}
	return nil
}

func (q *Queue[P, B, W, R]) name(queue string) string {
	return NormalizeQueues([]string{queue}, q.o.DefaultQueue)[0]
}

// NormalizeQueues trims names, drops empty ones and repetitions, and keeps their order. With none left
// it is the one given, or "default".
func NormalizeQueues(queues []string, usual string) []string {
	seen := map[string]bool{"": true}
	var names []string
	for _, name := range queues {
		if name = strings.TrimSpace(name); !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	if len(names) > 0 {
		return names
	}
	if usual = strings.TrimSpace(usual); usual == "" {
		usual = "default"
	}
	return []string{usual}
}

// ReservedJob is a job that a worker has. It carries the fencing token of its lease: whoever is too
// late changes nothing.
type ReservedJob[P ~[]byte] struct {
	job        *wq.Job
	header     Header
	durability wq.Durability
	stale      func(call string)
	told       func(error) error
}

// ID returns the id that decode read.
func (r *ReservedJob[P]) ID() string { return r.header.ID }

// Name returns the name that decode read.
func (r *ReservedJob[P]) Name() string { return r.header.Name }

// Payload returns a copy of the encoded job, as it was pushed.
func (r *ReservedJob[P]) Payload() P { return append(P(nil), r.job.Payload...) }

// Attempts returns how often the job was reserved, this time included. The store counts it.
func (r *ReservedJob[P]) Attempts() int { return r.job.Attempts }

// Job returns the job as wq has it: to extend its lease, which the framework's contract can not.
func (r *ReservedJob[P]) Job() *wq.Job { return r.job }

// Delete says that the job is done. Too late it is no error, but told to OnStale.
func (r *ReservedJob[P]) Delete(ctx context.Context) error {
	outcome, err := r.job.Ack(ctx, r.durability)
	return r.settled("delete", outcome, err)
}

// Release puts the job back to be tried again after `delay`, at the tail, with its attempts kept, in
// one change. Too late it is no error and adds nothing, but is told to OnStale.
func (r *ReservedJob[P]) Release(ctx context.Context, delay time.Duration) error {
	outcome, err := r.job.Nack(ctx, wq.Nack{Delay: wq.Ptr(max(delay, 0)), NoException: true}, r.durability)
	return r.settled("release", outcome, err)
}

func (r *ReservedJob[P]) settled(call string, outcome wq.Outcome, err error) error {
	if errors.Is(err, wq.ErrNotFound) || err == nil && outcome != wq.OK {
		r.stale(call)
		return nil
	}
	return r.told(err)
}
