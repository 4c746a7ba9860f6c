package wq

// Consuming: leases, and the wait for a job.

// #include "shim.h"
import "C"

import (
	"context"
	"iter"
	"strings"
	"time"
)

// Forever is a wait without an end.
const Forever time.Duration = -1

// LeaseOptions are for Lease and Jobs; the zero value takes one job and does not wait.
type LeaseOptions struct {
	Max   int           // jobs to take at most; 0: 1
	Wait  time.Duration // how long to wait for the first; 0: not at all; Forever
	Lease time.Duration // 0: Timeout of the job, or else Lease of its queue

	// Into is memory that is used again by each lease into it, so that a busy consumer makes no work
	// for the garbage collector. Jobs leased into it, and all bytes in them, stay as they are until
	// the next such lease. nil: each lease has memory of its own.
	Into *JobBuffer
}

// Lease takes up to options.Max ready jobs of this queue and leases each, in their order: priority,
// then the moment the job became ready. It waits for the first one only.
//
// Outcomes: OK with 1..Max jobs; else there are none: Empty (after the wait); Paused, Disabled
// (likewise, and every queue is). The end of ctx ends the wait with the error of ctx; jobs that were
// leased by then are returned all the same.
func (q *Queue) Lease(ctx context.Context, options LeaseOptions, opts ...CallOption) ([]*Job, Outcome, error) {
	return lease(ctx, q.core, []*Queue{q}, options, opts)
}

// Lease is Queue.Lease from several queues, asked in the order given: a later one only gives what the
// earlier ones left.
func (s *Store) Lease(ctx context.Context, queues []*Queue, options LeaseOptions, opts ...CallOption) ([]*Job, Outcome, error) {
	return lease(ctx, s.core, queues, options, opts)
}

// Jobs yields the jobs of this queue as they become ready, leased one after another, until ctx ends
// or an error is yielded. options.Max are leased at once and wait for the loop, so the whole of them
// should be done within one lease; those that the loop did not come to are released when it ends.
// options.Wait does not count: it waits for ever. A paused queue is waited for.
func (q *Queue) Jobs(ctx context.Context, options LeaseOptions, opts ...CallOption) iter.Seq2[*Job, error] {
	return jobs(ctx, q.core, []*Queue{q}, options, opts)
}

// Jobs is Queue.Jobs over several queues, asked in the order given.
func (s *Store) Jobs(ctx context.Context, queues []*Queue, options LeaseOptions, opts ...CallOption) iter.Seq2[*Job, error] {
	return jobs(ctx, s.core, queues, options, opts)
}

func jobs(ctx context.Context, c *core, queues []*Queue, options LeaseOptions, opts []CallOption) iter.Seq2[*Job, error] {
	options.Wait = Forever
	return func(yield func(*Job, error) bool) {
		for {
			batch, _, err := lease(ctx, c, queues, options, opts)
			if err != nil {
				yield(nil, err)
				return
			}
			for i, job := range batch {
				if !yield(job, nil) {
					giveBack(c, batch[i+1:])
					return
				}
			}
		}
	}
}

// giveBack releases jobs that nobody came to, each to the head of its line. One that can not be, since
// its queue was deleted for instance, keeps no others.
func giveBack(c *core, batch []*Job) {
	kept, last := 0, error(nil)
	for i := len(batch) - 1; i >= 0; i-- {
		if _, err := batch[i].Release(context.Background(), Release{Front: true}, Process); err != nil {
			kept, last = kept+1, err
		}
	}
	if kept > 0 {
		c.logger.Warn("wq: jobs were not given back", "jobs", kept, "error", last)
	}
}

func lease(ctx context.Context, c *core, queues []*Queue, options LeaseOptions, opts []CallOption) ([]*Job, Outcome, error) {
	l := &leasing{core: c, queues: queues, options: options, opts: opts}
	if err := l.check(); err != nil {
		return nil, 0, err
	}
	for _, q := range queues {
		if !q.gate.enter() {
			return nil, 0, closedError("lease")
		}
		defer q.gate.leave()
	}
	jobs, outcome, err := l.once(ctx, 0, nil)
	if options.Wait == 0 || err != nil || outcome == OK {
		return jobs, outcome, err
	}
	return l.wait(ctx)
}

// leasing is one call of Lease.
type leasing struct {
	core    *core
	queues  []*Queue
	options LeaseOptions
	opts    []CallOption
}

func (l *leasing) check() error {
	const op = "lease"
	if l.options.Wait < 0 && millis(l.options.Wait) != -1 {
		return codeError(op, ErrInvalid, "wait_ms is below -1")
	}
	if len(l.queues) == 0 {
		return codeError(op, ErrInvalid, "there are no queues")
	}
	for _, q := range l.queues {
		if q == nil || q.core != l.core {
			return codeError(op, ErrInvalid, "queues has one that is nil or of another store")
		}
	}
	return nil
}

// once leases with a wait inside the library. A lease is not given up while it waits to become
// durable, since its jobs would be lost until it ends.
func (l *leasing) once(ctx context.Context, wait C.int64_t, cancel *C.wq_cancel) ([]*Job, Outcome, error) {
	const op = "lease"
	if err := ctx.Err(); err != nil {
		return nil, 0, err
	}
	a := getArena()
	defer a.put()
	o := one[C.wq_lease_options](a)
	o.struct_size = C.sizeof_wq_lease_options
	var err error
	if o.max_jobs, err = number(op, "max_jobs", l.options.Max); err != nil {
		return nil, 0, err
	}
	o.wait_ms, o.lease_ms = wait, millis(l.options.Lease)
	handles := alloc[*C.wq_queue](a, len(l.queues))
	for i, q := range l.queues {
		handles[i] = q.handle
	}
	pool := l.core.others
	if wait != 0 {
		pool = nil // it has its place already
	}
	out := a.jobsOut()
	r, err := l.core.change(context.WithoutCancel(ctx), op, pool, Process, a, l.opts,
		func(f *C.wqgo_frame) C.int32_t {
			return C.wqgo_lease(l.core.handle, &handles[0], C.size_t(len(handles)), o, cancel, &f.call,
				out, &f.err)
		})
	if err != nil || out.count == 0 {
		return nil, r.outcome, err
	}
	return readJobs(out, l.queues, l.options.Into), r.outcome, nil
}

// wait takes its turn among those who wait for the same queues, and then waits inside the library.
func (l *leasing) wait(ctx context.Context) ([]*Job, Outcome, error) {
	w := &leaseWait{leasing: l, token: newToken()}
	if l.options.Wait > 0 {
		w.end = time.Now().Add(l.options.Wait)
		timer := time.NewTimer(l.options.Wait)
		defer timer.Stop()
		w.expired = timer.C
	}
	for _, set := range l.sets() {
		if !set.add(w.token) {
			return nil, 0, closedError("lease")
		}
		defer set.remove(w.token)
	}
	turn := l.core.turns.join(l.key())
	defer l.core.turns.part(turn)
	select {
	case <-turn.free:
		defer func() { turn.free <- struct{}{} }()
		return w.run(ctx)
	case <-w.expired:
		return l.once(ctx, 0, nil)
	case <-w.token.ended:
		return nil, 0, closedError("lease")
	case <-ctx.Done():
		return nil, 0, ctx.Err()
	}
}

// leaseWait is a lease that has to wait.
type leaseWait struct {
	*leasing
	token   *cancelToken
	end     time.Time // zero: never
	expired <-chan time.Time
}

// run waits in the library if a place is free there, or else looks again and again.
func (w *leaseWait) run(ctx context.Context) ([]*Job, Outcome, error) {
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 100*time.Millisecond) {
		select {
		case w.core.waiting <- struct{}{}:
			defer func() { <-w.core.waiting }()
			return w.inside(ctx)
		default:
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-w.expired:
			timer.Stop()
			return w.once(ctx, 0, nil)
		case <-w.token.ended:
			timer.Stop()
			return nil, 0, closedError("lease")
		case <-ctx.Done():
			timer.Stop()
			return nil, 0, ctx.Err()
		}
		if jobs, outcome, err := w.once(ctx, 0, nil); err != nil || outcome == OK {
			return jobs, outcome, err
		}
	}
}

// inside waits in the library, with the thread of this goroutine.
func (w *leaseWait) inside(ctx context.Context) ([]*Job, Outcome, error) {
	var left C.int64_t = -1
	if !w.end.IsZero() {
		left = millis(max(time.Until(w.end), 0))
	}
	cancel, err := w.token.arm("lease")
	if err != nil {
		return nil, 0, err
	}
	defer w.token.disarm()
	stop := context.AfterFunc(ctx, w.token.fire)
	defer stop()
	jobs, outcome, err := w.once(ctx, left, cancel)
	if outcome == Cancelled {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		return nil, 0, closedError("lease")
	}
	return jobs, outcome, err
}

func (l *leasing) sets() []*tokenSet {
	sets := []*tokenSet{&l.core.blocked}
	for _, q := range l.queues {
		sets = append(sets, &q.blocked)
	}
	return sets
}

func (l *leasing) key() string {
	if len(l.queues) == 1 {
		return l.queues[0].name
	}
	names := make([]string, len(l.queues))
	for i, q := range l.queues {
		names[i] = q.name
	}
	return strings.Join(names, "\x00")
}
