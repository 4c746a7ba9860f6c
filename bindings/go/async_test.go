package wq_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wq.internal/wq"
)

// threadsMax is what may be there with many goroutines waiting: those of the runtime, of the store, and
// the bounded number that is inside the library.
var threadsMax = 120 + 8*runtime.GOMAXPROCS(0)

// Ten thousand goroutines that wait for durability hold no thread each, and all are told.
func TestManyWaitForDurability(t *testing.T) {
	const n = 10000
	_, q := fresh(t, nil)
	before := status(t, "Threads")
	var waiting, answered, most atomic.Int64
	var all sync.WaitGroup
	for i := range n {
		all.Add(1)
		go func() {
			defer all.Done()
			waiting.Add(1)
			e, err := q.Enqueue(ctx, wq.Spec{Payload: fmt.Append(nil, i)}, wq.Power)
			waiting.Add(-1)
			if err == nil && e.Outcome == wq.OK && e.LSN != 0 {
				answered.Add(1)
			}
			if i%100 == 0 {
				most.Store(max(most.Load(), int64(status(t, "Threads"))))
			}
		}()
	}
	all.Wait()
	equal(t, answered.Load(), n)
	stats, err := q.Stats(ctx)
	ok(t, err)
	equal(t, stats.Ready, n)
	if most.Load() > int64(threadsMax) {
		t.Fatalf("%d threads, %d before", most.Load(), before)
	}
	t.Logf("threads: %d before, %d at most", before, most.Load())
}

// The same without a goroutine each: ten thousand changes under way, told through Pending.
func TestManyPending(t *testing.T) {
	const n = 10000
	s, q := fresh(t, nil)
	pending := make([]wq.Pending, n)
	for i := range pending {
		e, err := q.Enqueue(ctx, text("x"), wq.Power, &pending[i])
		ok(t, err)
		equal(t, e.LSN, pending[i].LSN())
	}
	for i := range pending {
		ok(t, pending[i].Wait(ctx))
		<-pending[i].Done()
		ok(t, pending[i].Wait(ctx)) // and again
	}
	stats, err := s.Stats(ctx)
	ok(t, err)
	equal(t, stats.DurableLSN >= pending[n-1].LSN(), true)

	jobs := take(t, q, 1000)
	for i, job := range jobs {
		good(t)(job.Ack(ctx, &pending[i]))
	}
	for i := range jobs {
		ok(t, pending[i].Wait(ctx))
	}
	good := wants(t, wq.Stale)
	good(jobs[0].Ack(ctx, &pending[0])) // changes nothing: there already
	<-pending[0].Done()
	ok(t, pending[0].Wait(ctx))
	equal(t, pending[0].LSN(), 0)
	_, err = q.Enqueue(ctx, wq.Spec{Delay: -time.Second}, &pending[1])
	is(t, err, wq.ErrInvalid)
}

// hasPoller tells whether a store has a goroutine of its own that tells arrivals: one that was begun
// there.
func hasPoller() bool {
	stacks := make([]byte, 1<<20)
	return bytes.Contains(stacks[:runtime.Stack(stacks, true)], []byte("/completion.go:"))
}

// Who waits alone, call after call, is woken by the store itself and by no other goroutine.
func TestOneWaitsAlone(t *testing.T) {
	if runtime.GOMAXPROCS(0) == 1 {
		t.Skip("the only processor is not kept")
	}
	_, q := fresh(t, nil)
	cancellable, cancel := context.WithCancel(ctx)
	defer cancel()
	for range 20 {
		var pending [2]wq.Pending
		for i := range pending {
			_, err := q.Enqueue(ctx, text("x"), wq.Power, &pending[i])
			ok(t, err)
		}
		ok(t, pending[1].Wait(ctx))
		ok(t, pending[0].Wait(cancellable))
		_, err := q.Enqueue(ctx, text("x"), wq.Power)
		ok(t, err)
	}
	equal(t, hasPoller(), false)
}

// A change that nobody waits for is told all the same: to who has its channel, and when many are under
// way, so that they do not pile up.
func TestNobodyWaits(t *testing.T) {
	s, q := fresh(t, nil)
	var first wq.Pending
	_, err := q.Enqueue(ctx, text("x"), wq.Power, &first)
	ok(t, err)
	<-first.Done()
	ok(t, s.Close()) // and with it ends its poller

	_, q = fresh(t, nil)
	for range 1100 {
		var pending wq.Pending
		_, err := q.Enqueue(ctx, text("x"), wq.Power, &pending)
		ok(t, err)
	}
	equal(t, hasPoller(), true)
}

// A thousand goroutines that wait for a job of one queue hold one thread between them, each gets its
// job, and the end of their context wakes the rest.
func TestManyWaitForJobs(t *testing.T) {
	const n, fed = 1000, 400
	_, q := fresh(t, nil)
	stop, cancel := context.WithCancel(ctx)
	var got, ended atomic.Int64
	var all sync.WaitGroup
	seen := sync.Map{}
	fedAll := make(chan struct{})
	for range n {
		all.Add(1)
		go func() {
			defer all.Done()
			jobs, _, err := q.Lease(stop, wq.LeaseOptions{Wait: wq.Forever})
			switch {
			case errors.Is(err, context.Canceled):
				ended.Add(1)
			case err == nil && len(jobs) == 1:
				if _, twice := seen.LoadOrStore(jobs[0].ID, true); twice {
					t.Error("a job was given twice")
				}
				if got.Add(1) == fed {
					close(fedAll)
				}
			default:
				t.Errorf("got %d jobs, %v", len(jobs), err)
			}
		}()
	}
	for range fed {
		push(t, q, text("x"))
	}
	<-fedAll
	threads := status(t, "Threads")
	cancel()
	all.Wait()
	equal(t, got.Load(), fed)
	equal(t, ended.Load(), n-fed)
	if threads > threadsMax {
		t.Fatalf("%d threads", threads)
	}
}

// With more different sets of queues than may wait inside the library, the others look again.
func TestMoreSetsThanPlaces(t *testing.T) {
	const n = 20
	s := open(t, &wq.Options{BlockedMax: 2})
	var all sync.WaitGroup
	queues := make([]*wq.Queue, n)
	for i := range queues {
		queues[i] = queue(t, s, fmt.Sprint("q", i), nil)
	}
	for _, q := range queues {
		all.Add(1)
		go func() {
			defer all.Done()
			jobs, outcome, err := q.Lease(ctx, wq.LeaseOptions{Wait: time.Minute})
			if err != nil || outcome != wq.OK || jobs[0].Queue != q.Name() {
				t.Errorf("%s: %v %v", q.Name(), outcome, err)
			}
		}()
	}
	for _, q := range queues {
		push(t, q, text("x"))
	}
	all.Wait()
	_, outcome, err := queues[0].Lease(ctx, wq.LeaseOptions{Wait: time.Millisecond})
	ok(t, err)
	equal(t, outcome, wq.Empty)
	_, err = queues[0].Enqueue(ctx, wq.Spec{}) // still usable
	ok(t, err)
	jobs, _, err := s.Lease(ctx, queues, wq.LeaseOptions{Max: 5, Wait: wq.Forever})
	ok(t, err)
	equal(t, len(jobs), 1)
	_, _, err = s.Lease(ctx, nil, wq.LeaseOptions{})
	is(t, err, wq.ErrInvalid)
	_, _, err = s.Lease(ctx, []*wq.Queue{nil}, wq.LeaseOptions{})
	is(t, err, wq.ErrInvalid)
	_, other := fresh(t, nil)
	_, _, err = s.Lease(ctx, []*wq.Queue{other}, wq.LeaseOptions{})
	is(t, err, wq.ErrInvalid)
	_, _, err = queues[0].Lease(ctx, wq.LeaseOptions{Max: -1})
	is(t, err, wq.ErrInvalid)
	_, _, err = queues[0].Lease(ctx, wq.LeaseOptions{Max: 10001})
	is(t, err, wq.ErrInvalid)
	_, _, err = queues[0].Lease(ctx, wq.LeaseOptions{Wait: -time.Hour})
	is(t, err, wq.ErrInvalid)
	_, _, err = queues[0].Lease(ctx, wq.LeaseOptions{Lease: -time.Hour})
	is(t, err, wq.ErrInvalid)
}

// A context that is over does nothing; one that ends while a change becomes durable says so.
func TestContexts(t *testing.T) {
	s, q := fresh(t, nil)
	over, cancel := context.WithCancel(ctx)
	cancel()
	_, err := q.Enqueue(over, text("x"))
	is(t, err, context.Canceled)
	equal(t, wq.MaybeCommitted(err), false)
	_, _, err = q.Lease(over, wq.LeaseOptions{})
	is(t, err, context.Canceled)
	stats, err := q.Stats(ctx)
	ok(t, err)
	equal(t, stats.Ready, 0)

	var p wq.Pending
	e, err := q.Enqueue(ctx, text("x"), &p)
	ok(t, err)
	if err := p.Wait(over); err != nil { // unless it is durable already
		var uncertain *wq.UncertainError
		equal(t, errors.As(err, &uncertain) && uncertain.LSN == e.LSN, true)
		is(t, err, context.Canceled)
		equal(t, wq.MaybeCommitted(err), true)
	}
	ok(t, p.Wait(ctx))
	for i := 0; ; i++ { // a deadline that falls into the wait for the device
		short, cancel := context.WithTimeout(ctx, 50*time.Microsecond)
		_, err := q.Enqueue(short, text("x"))
		cancel()
		var uncertain *wq.UncertainError
		if errors.As(err, &uncertain) {
			ok(t, s.WaitDurable(ctx, uncertain.LSN, wq.Power))
			break
		}
		if i == 1000 {
			t.Skip("the device is faster than any context")
		}
	}
}

// A job that can not be given back keeps no others.
func TestJobsOfADeletedQueue(t *testing.T) {
	s := open(t, nil)
	stays, gone := queue(t, s, "stays", nil), queue(t, s, "gone", nil)
	push(t, stays, text("1"), text("2"))
	push(t, gone, text("1"), text("2"))
	for _, err := range s.Jobs(ctx, []*wq.Queue{stays, gone}, wq.LeaseOptions{Max: 4}) {
		ok(t, err)
		ok(t, gone.Delete(ctx))
		break
	}
	stats, err := stays.Stats(ctx)
	ok(t, err)
	equal(t, stats.Ready, 1)
	equal(t, stats.Leased, 1)
}

// The loop over a consumer can be left, and gives back what it did not come to.
func TestConsumer(t *testing.T) {
	_, q := fresh(t, nil)
	push(t, q, text("a"), text("b"), text("c"), text("d"))
	var seen string
	for job, err := range q.Jobs(ctx, wq.LeaseOptions{Max: 4}) {
		ok(t, err)
		seen += string(job.Payload)
		good(t)(job.Ack(ctx))
		if seen == "ab" {
			break
		}
	}
	stats, err := q.Stats(ctx)
	ok(t, err)
	equal(t, stats.Ready, 2)
	equal(t, stats.Leased, 0)
	stop, cancel := context.WithCancel(ctx)
	for job, err := range q.Store().Jobs(stop, []*wq.Queue{q}, wq.LeaseOptions{}) {
		if err != nil {
			is(t, err, context.Canceled)
			break
		}
		equal(t, job.Attempts, 1)
		seen += string(job.Payload)
		good(t)(job.Ack(ctx))
		if seen == "abcd" {
			cancel()
		}
	}
	cancel()
	equal(t, seen, "abcd")
}

// A change at level memory is as durable as it was told to be when the call returns.
func TestPendingOfMemory(t *testing.T) {
	_, q := fresh(t, nil)
	var pending wq.Pending
	_, err := q.Enqueue(ctx, text("a"), wq.Memory, &pending)
	ok(t, err)
	equal(t, pending.LSN() != 0, true)
	select {
	case <-pending.Done():
	default:
		t.Error("it is not done")
	}
	ok(t, pending.Wait(ctx))
}
