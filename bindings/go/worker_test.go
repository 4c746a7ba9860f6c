package wq_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wq.internal/wq"
)

func worker(t *testing.T, o wq.WorkerOptions) *wq.Worker {
	t.Helper()
	w, err := wq.NewWorker(o)
	ok(t, err)
	return w
}

func dead(t *testing.T, q *wq.Queue) []*wq.Job {
	t.Helper()
	page, _, err := q.Dead().List(ctx, wq.DeadQuery{OldestFirst: true})
	ok(t, err)
	return page
}

// Each thing that a handler can return settles the job as it says.
func TestWorkerSettles(t *testing.T) {
	_, q := fresh(t, &wq.Config{MaxRetries: wq.Ptr(1)})
	for _, kind := range []string{"ack", "permanent", "retry", "release", "panic", "unknown"} {
		push(t, q, wq.Spec{Headers: []wq.Header{{"type", []byte(kind)}}})
	}
	var mu sync.Mutex
	attempts := map[string][]int{}
	count := func(j *wq.Job) int {
		mu.Lock()
		defer mu.Unlock()
		kind := string(j.Header("type"))
		attempts[kind] = append(attempts[kind], j.Attempts)
		return len(attempts[kind])
	}
	handlers := map[string]wq.Handler{
		"ack":       func(_ context.Context, j *wq.Job) error { count(j); return nil },
		"permanent": func(_ context.Context, j *wq.Job) error { count(j); return wq.Permanent(errors.New("broken")) },
		"retry": func(_ context.Context, j *wq.Job) error {
			if count(j) == 1 {
				return fmt.Errorf("wrapped: %w", wq.RetryAfter(time.Hour, errors.New("busy")))
			}
			return nil
		},
		"release": func(_ context.Context, j *wq.Job) error { count(j); return wq.ReleaseAfter(time.Hour) },
		"panic":   func(_ context.Context, j *wq.Job) error { count(j); panic("ouch") },
	}
	w := worker(t, wq.WorkerOptions{Queues: []*wq.Queue{q}, Concurrency: 3, StopWhenEmpty: true, Handlers: handlers})
	ok(t, w.Run(ctx))
	again := worker(t, wq.WorkerOptions{Queues: []*wq.Queue{q}, StopWhenEmpty: true, Handlers: handlers})
	ok(t, again.Run(ctx)) // the second attempt of the panic, if it came too late for the first run
	stats, err := q.Stats(ctx)
	ok(t, err)
	equal(t, stats.Acked, 1)
	equal(t, stats.Delayed, 2)
	equal(t, stats.Dead, 3)
	byKind := map[string]*wq.Job{}
	for _, j := range dead(t, q) {
		byKind[string(j.Header("type"))] = j
	}
	equal(t, byKind["permanent"].LastError, "broken")
	equal(t, byKind["permanent"].Attempts, 1)
	equal(t, byKind["unknown"].DeadReason, wq.DeadUnknownType)
	equal(t, byKind["panic"].Attempts, 2)
	equal(t, strings.Contains(byKind["panic"].LastError, "panic: ouch\n"), true)
	equal(t, strings.Contains(byKind["panic"].LastError, "worker_test.go"), true)
	equal(t, w.Stats().Acked+again.Stats().Acked, 1)
	equal(t, w.Stats().Panics+again.Stats().Panics, 2)
	equal(t, w.Stats().Running, 0)
}

// No more handlers run at once than Concurrency, and that many do.
func TestWorkerConcurrency(t *testing.T) {
	const n, places = 60, 4
	_, q := fresh(t, nil)
	for range n {
		push(t, q, text("x"))
	}
	var running, most, calls atomic.Int64
	barrier := make(chan struct{})
	w := worker(t, wq.WorkerOptions{Queues: []*wq.Queue{q}, Concurrency: places, MaxJobs: n,
		Handler: func(context.Context, *wq.Job) error {
			now := running.Add(1)
			defer running.Add(-1)
			for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
			}
			if calls.Add(1) == places {
				close(barrier)
			}
			<-barrier // the first ones wait for each other
			return nil
		}})
	ok(t, w.Run(ctx))
	equal(t, most.Load(), places)
	equal(t, w.Stats().Acked, n)
}

// A stop takes no more jobs, lets the handlers end, and gives back what does not end in time.
func TestWorkerStops(t *testing.T) {
	_, q := fresh(t, nil)
	push(t, q, text("quick"), text("slow"), text("untouched"))
	stop, cancel := context.WithCancel(ctx)
	started := make(chan struct{}, 2)
	release := make(chan struct{})
	w := worker(t, wq.WorkerOptions{Queues: []*wq.Queue{q}, Concurrency: 2, StopTimeout: 500 * time.Millisecond,
		Handler: func(c context.Context, j *wq.Job) error {
			started <- struct{}{}
			if string(j.Payload) == "quick" {
				<-release
				return nil
			}
			<-c.Done()
			equal(t, context.Cause(c), wq.ErrStopping)
			return c.Err()
		}})
	ended := make(chan error)
	go func() { ended <- w.Run(stop) }()
	<-started
	<-started
	cancel()
	close(release)
	ok(t, <-ended)
	stats, err := q.Stats(ctx)
	ok(t, err)
	equal(t, stats.Acked, 1)
	equal(t, stats.Released, 1)
	equal(t, stats.Ready, 2)
	equal(t, string(take(t, q, 1)[0].Payload), "slow") // at the head again
}

// Leases are kept alive while a handler runs; one that is lost ends its context.
func TestWorkerHeartbeat(t *testing.T) {
	_, q := fresh(t, nil)
	id := push(t, q, text("x"))[0]
	w := worker(t, wq.WorkerOptions{Queues: []*wq.Queue{q}, Lease: 30 * time.Second, Heartbeat: 5 * time.Millisecond,
		MaxJobs: 1, Handler: func(c context.Context, j *wq.Job) error {
			for kept := false; !kept; { // until its end was put off
				got, err := q.Get(ctx, id)
				ok(t, err)
				kept = got.Deadline.After(j.Deadline)
				runtime.Gosched()
			}
			if _, err := q.Cancel(ctx, id); err != nil {
				return err
			}
			<-c.Done()
			equal(t, context.Cause(c), wq.ErrLeaseLost)
			return c.Err()
		}})
	ok(t, w.Run(ctx))
	equal(t, w.Stats().Lost, 1)
	stats, err := q.Stats(ctx)
	ok(t, err)
	equal(t, stats.Expired, 0)
}

func TestWorkerFlowCancelled(t *testing.T) {
	s, q := fresh(t, nil)
	flow, err := s.Flows().Create(ctx, wq.FlowOptions{})
	ok(t, err)
	push(t, q, wq.Spec{Flow: flow})
	w := worker(t, wq.WorkerOptions{Queues: []*wq.Queue{q}, Heartbeat: time.Millisecond, MaxJobs: 1,
		Handler: func(c context.Context, j *wq.Job) error {
			good(t)(s.Flows().Cancel(ctx, flow))
			<-c.Done()
			equal(t, context.Cause(c), wq.ErrFlowCancelled)
			return c.Err()
		}})
	ok(t, w.Run(ctx))
}

// A job with a timeout ends in time, and says so; with FailOnTimeout for good.
func TestWorkerTimeout(t *testing.T) {
	_, q := fresh(t, &wq.Config{MaxRetries: wq.Ptr(5)})
	push(t, q, wq.Spec{Payload: []byte("a"), Timeout: 20 * time.Millisecond, MaxAttempts: 2},
		wq.Spec{Payload: []byte("b"), Timeout: 20 * time.Millisecond, FailOnTimeout: true})
	w := worker(t, wq.WorkerOptions{Queues: []*wq.Queue{q}, Concurrency: 2, MaxJobs: 3,
		Handler: func(c context.Context, _ *wq.Job) error { <-c.Done(); return c.Err() }})
	ok(t, w.Run(ctx))
	letters := dead(t, q)
	equal(t, len(letters), 2)
	for _, j := range letters {
		equal(t, j.DeadReason, wq.DeadTimeout)
		equal(t, j.Attempts, map[string]int{"a": 2, "b": 1}[string(j.Payload)])
	}
}

// A worker over several queues, many jobs, some failing now and then: every job ends once.
func TestWorkerUnderLoad(t *testing.T) {
	random := seeded(t)
	s := open(t, nil)
	config := &wq.Config{Durability: wq.Ptr(wq.Memory), MaxRetries: wq.Ptr(100)}
	a, b := queue(t, s, "a", config), queue(t, s, "b", config)
	const n = 3000
	var specs []wq.Spec
	for i := range n {
		specs = append(specs, wq.Spec{Payload: fmt.Append(nil, i)})
	}
	_, err := a.EnqueueMany(ctx, specs)
	ok(t, err)
	_, err = b.EnqueueMany(ctx, specs)
	ok(t, err)
	var mu sync.Mutex
	ends := map[uint64]int{}
	var wrong atomic.Int64
	stop, cancel := context.WithCancel(ctx)
	w := worker(t, wq.WorkerOptions{Queues: []*wq.Queue{a, b}, Concurrency: 50, Handler: func(_ context.Context, j *wq.Job) error {
		mu.Lock()
		defer mu.Unlock()
		if random.Intn(10) == 0 {
			return errors.New("not now")
		}
		if ends[j.ID]++; ends[j.ID] > 1 {
			wrong.Add(1)
		}
		if len(ends) == 2*n {
			cancel()
		}
		return nil
	}})
	ok(t, w.Run(stop))
	equal(t, wrong.Load(), 0)
	equal(t, w.Stats().Acked, 2*n)
	for _, q := range []*wq.Queue{a, b} {
		stats, err := q.Stats(ctx)
		ok(t, err)
		equal(t, stats.Acked, n)
		equal(t, stats.Ready+stats.Leased+stats.Dead, 0)
	}
}

func TestWorkerRefusals(t *testing.T) {
	s, q := fresh(t, nil)
	handler := func(context.Context, *wq.Job) error { return nil }
	_, other := fresh(t, nil)
	for _, o := range []wq.WorkerOptions{
		{Handler: handler}, {Queues: []*wq.Queue{q}}, {Queues: []*wq.Queue{nil}, Handler: handler},
		{Queues: []*wq.Queue{q, other}, Handler: handler},
	} {
		_, err := wq.NewWorker(o)
		is(t, err, wq.ErrInvalid)
	}
	w := worker(t, wq.WorkerOptions{Queues: []*wq.Queue{q}, Handler: handler})
	ended := make(chan error)
	go func() { ended <- w.Run(ctx) }()
	ok(t, s.Close())
	is(t, <-ended, wq.ErrClosed)
	is(t, w.Run(ctx), wq.ErrInvalid)
}

// A handler that ends its goroutine is a failed attempt, and takes no place with it.
func TestWorkerGoexit(t *testing.T) {
	_, q := fresh(t, &wq.Config{MaxRetries: wq.Ptr(0)})
	push(t, q, text("x"), text("y"))
	w := worker(t, wq.WorkerOptions{Queues: []*wq.Queue{q}, MaxJobs: 2,
		Handler: func(context.Context, *wq.Job) error { runtime.Goexit(); return nil }})
	ok(t, w.Run(ctx))
	equal(t, len(dead(t, q)), 2)
}

type nilError struct{ text string }

func (e *nilError) Error() string { return e.text }

// What a handler returns can not stop the process, nor take other jobs with it.
func TestWorkerStrangeErrors(t *testing.T) {
	const century = 100 * 365 * 24 * time.Hour
	var none *nilError
	var panicking error = none // reads a field of nil
	for name, c := range map[string]struct {
		err   error
		dead  bool
		text  string
		delay time.Duration
	}{
		"permanent nil": {err: wq.Permanent(nil), dead: true, text: "the handler gave no reason"},
		"retry nil":     {err: wq.RetryAfter(time.Hour, nil), text: "the handler gave no reason", delay: time.Hour},
		"retry late":    {err: wq.RetryAfter(2*century, errors.New("later")), text: "later", delay: century},
		"release late":  {err: wq.ReleaseAfter(2 * century), delay: century},
		"typed nil":     {err: panicking, text: "panic: runtime error: invalid memory address", delay: time.Hour},
		"joined nil":    {err: errors.Join(errors.New("a"), panicking), text: "panic: runtime error", delay: time.Hour},
		"not UTF-8":     {err: errors.New("x\xff\x00y"), text: "x\xff\x00y", delay: time.Hour},
		"long":          {err: errors.New(strings.Repeat("long", 1<<20)), text: "longlong", delay: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			_, q := fresh(t, &wq.Config{MaxRetries: wq.Ptr(3), Backoff: &wq.Backoff{Kind: wq.BackoffFixed, Base: time.Hour}})
			ids := push(t, q, text("odd"), text("even"), text("even"))
			begin := time.Now()
			w := worker(t, wq.WorkerOptions{Queues: []*wq.Queue{q}, Concurrency: 3, MaxJobs: 3,
				Handler: func(_ context.Context, j *wq.Job) error {
					if j.ID == ids[0] {
						return c.err
					}
					return nil
				}})
			ok(t, w.Run(ctx))
			equal(t, w.Stats().Acked, 2)
			if c.dead {
				equal(t, dead(t, q)[0].LastError, c.text)
				return
			}
			job, err := q.Get(ctx, ids[0])
			ok(t, err)
			equal(t, job.State, wq.StateDelayed)
			equal(t, strings.HasPrefix(job.LastError, c.text), true)
			wait := job.ReadyAt.Sub(begin).Round(time.Minute)
			equal(t, wait, c.delay)
		})
	}
}
