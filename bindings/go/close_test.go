package wq_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"wq.internal/wq"
)

// Opening and closing leaves neither memory nor descriptors nor threads behind.
func TestOpenCloseIsFlat(t *testing.T) {
	rounds := 60
	if long {
		rounds = 10000
	}
	path := filepath.Join(t.TempDir(), "store")
	round := func(i int) {
		s, err := wq.Open(path, &wq.Options{SegmentBytes: 1 << 16})
		ok(t, err)
		q, err := s.Queue(ctx, "q", nil)
		ok(t, err)
		push(t, q, text("x"))
		good(t)(take(t, q, 1)[0].Ack(ctx, wq.Memory))
		if i%2 == 0 {
			ok(t, q.Close())
			ok(t, s.Close())
		} else {
			ok(t, s.Close())
			ok(t, q.Close())
		}
	}
	warm := rounds / 4
	for i := range warm {
		round(i)
	}
	runtime.GC()
	files, memory, threads := descriptors(t), status(t, "VmRSS"), status(t, "Threads")
	for i := range rounds - warm {
		round(i)
	}
	runtime.GC()
	equal(t, descriptors(t), files)
	grown := status(t, "VmRSS") - memory
	t.Logf("%d rounds: %d KiB more, %d threads more", rounds, grown, status(t, "Threads")-threads)
	if grown > 32<<10 {
		t.Fatalf("%d KiB more after %d rounds", grown, rounds-warm)
	}
	if more := status(t, "Threads") - threads; more > 20 {
		t.Fatalf("%d threads more", more)
	}
}

// What nobody closes is closed by finalizers, in any order.
func TestFinalizers(t *testing.T) {
	const stores = 8
	random := seeded(t)
	dir := t.TempDir()
	for round := range stores {
		func() {
			s, err := wq.Open(filepath.Join(dir, fmt.Sprint(round)), &wq.Options{SegmentBytes: 1 << 16})
			ok(t, err)
			var keep []*wq.Queue
			for i := range 4 {
				q, err := s.Queue(ctx, fmt.Sprint("q", i), nil)
				ok(t, err)
				keep = append(keep, q)
			}
			random.Shuffle(len(keep), func(i, j int) { keep[i], keep[j] = keep[j], keep[i] })
			if round%3 == 0 {
				ok(t, s.Close())
			}
			if round%3 != 0 {
				push(t, keep[0], text("x"))
			}
		}()
		if round%5 == 0 {
			runtime.GC()
		}
	}
	// All locks are given up sooner or later: every store can be opened again.
	for round := range stores {
		path := filepath.Join(dir, fmt.Sprint(round))
		for {
			runtime.GC()
			s, err := wq.Open(path, &wq.Options{SegmentBytes: 1 << 16})
			if err == nil {
				ok(t, s.Close())
				break
			}
			is(t, err, wq.ErrLocked)
			runtime.Gosched()
		}
	}
}

// Every use after the close is an error, whatever the order.
func TestUseAfterClose(t *testing.T) {
	s, q := fresh(t, nil)
	push(t, q, text("x"))
	job := take(t, q, 1)[0]
	var p wq.Pending
	_, err := q.Enqueue(ctx, text("y"), &p)
	ok(t, err)
	reader := s.Events(false)
	ok(t, s.Close())
	<-p.Done() // told by the close at the latest
	calls := map[string]func() error{
		"enqueue":      func() error { _, err := q.Enqueue(ctx, text("x")); return err },
		"enqueue many": func() error { _, err := q.EnqueueMany(ctx, []wq.Spec{{}}); return err },
		"lease":        func() error { _, _, err := q.Lease(ctx, wq.LeaseOptions{Wait: wq.Forever}); return err },
		"ack":          func() error { _, err := job.Ack(ctx); return err },
		"nack":         func() error { _, err := job.Nack(ctx, wq.Nack{}); return err },
		"extend":       func() error { _, err := job.Extend(ctx, 0); return err },
		"get":          func() error { _, err := q.Get(ctx, 1); return err },
		"stats":        func() error { _, err := q.Stats(ctx); return err },
		"store stats":  func() error { _, err := s.Stats(ctx); return err },
		"config":       func() error { _, err := q.Config(ctx); return err },
		"queue":        func() error { _, err := s.Queue(ctx, "q", nil); return err },
		"queues":       func() error { _, err := s.Queues(ctx); return err },
		"dead":         func() error { _, _, err := q.Dead().List(ctx, wq.DeadQuery{}); return err },
		"kv":           func() error { _, _, err := s.KV().Get(ctx, "k"); return err },
		"lock":         func() error { _, err := s.Lock(ctx, "k", "o", 0); return err },
		"transact":     func() error { _, err := s.Transact(ctx, []wq.TxnOp{wq.TxnAck(job)}); return err },
		"flows":        func() error { _, err := s.Flows().Create(ctx, wq.FlowOptions{}); return err },
		"crons":        func() error { _, err := s.Crons().List(ctx, q, "", 1); return err },
		"events":       func() error { _, _, err := reader.Read(ctx, wq.Forever); return err },
		"sync":         func() error { return s.Sync(ctx) },
		"wait":         func() error { return s.WaitDurable(ctx, 1, wq.Power) },
		"shutdown":     func() error { _, err := s.Shutdown(ctx); return err },
		"backup":       func() error { _, err := s.Backup(ctx, t.TempDir()); return err },
		"verify":       func() error { _, err := s.Verify(ctx); return err },
		"metrics":      func() error { _, err := s.Metrics(ctx); return err },
	}
	for range 2 { // with the queue open, and closed
		for name, call := range calls {
			if err := call(); !isError(err, wq.ErrClosed) {
				t.Errorf("%s: %v", name, err)
			}
		}
		ok(t, q.Close())
	}
	ok(t, q.Close())
}

// Closing a queue, the store, or shutting it down ends the waits of everybody.
func TestCloseWhileBlocked(t *testing.T) {
	for name, end := range map[string]func(*wq.Store, *wq.Queue) error{
		"queue":    func(_ *wq.Store, q *wq.Queue) error { return q.Close() },
		"store":    func(s *wq.Store, _ *wq.Queue) error { return s.Close() },
		"shutdown": func(s *wq.Store, _ *wq.Queue) error { _, err := s.Shutdown(ctx); return err },
	} {
		t.Run(name, func(t *testing.T) {
			s, q := fresh(t, nil)
			other := queue(t, s, "other", nil)
			results := make(chan error)
			for i := range 20 {
				queues := []*wq.Queue{q}
				if i%2 == 0 {
					queues = []*wq.Queue{q, other}
				}
				go func() {
					_, _, err := s.Lease(ctx, queues, wq.LeaseOptions{Wait: wq.Forever})
					results <- err
				}()
			}
			for waiting := uint64(0); waiting < 2; { // both sets are inside the library
				stats, err := s.Stats(ctx)
				ok(t, err)
				waiting = stats.Waiting
			}
			ok(t, end(s, q))
			for range 20 {
				is(t, <-results, wq.ErrClosed)
			}
		})
	}
}

// Calls that race with the close either happen or are refused; nothing crashes.
func TestCloseWhileBusy(t *testing.T) {
	random := seeded(t)
	rounds := 5
	if long {
		rounds = 500
	}
	for range rounds {
		s, err := wq.Open(filepath.Join(t.TempDir(), "store"), &wq.Options{SegmentBytes: 1 << 16, EventsMax: 64})
		ok(t, err)
		q, err := s.Queue(ctx, "q", nil)
		ok(t, err)
		var all sync.WaitGroup
		for i := range 16 {
			all.Add(1)
			go func() {
				defer all.Done()
				for {
					var err error
					switch i % 5 {
					case 0:
						_, err = q.Enqueue(ctx, text("x"))
					case 1:
						var jobs []*wq.Job
						if jobs, _, err = q.Lease(ctx, wq.LeaseOptions{Max: 3, Wait: wq.Forever}); err == nil {
							_, err = jobs[0].Ack(ctx)
						}
					case 2:
						_, err = s.Stats(ctx)
					case 3:
						_, _, err = s.Events(true).Read(ctx, wq.Forever)
					case 4:
						_, _, err = s.KV().Add(ctx, "n", 1, wq.RowOptions{})
					}
					if err != nil {
						if !isError(err, wq.ErrClosed) {
							t.Error(err)
						}
						return
					}
				}
			}()
		}
		time.AfterFunc(time.Duration(random.Intn(20))*time.Millisecond, func() { _ = s.Close() })
		all.Wait()
		ok(t, s.Close())
		ok(t, q.Close())
	}
}

// Signals during waits inside the library end nothing and break nothing.
func TestSignalsWhileBlocked(t *testing.T) {
	caught := make(chan os.Signal, 1000)
	signal.Notify(caught, syscall.SIGUSR1)
	defer signal.Stop(caught)
	_, q := fresh(t, nil)
	stop, cancel := context.WithCancel(ctx)
	waited := make(chan error, 1)
	go func() {
		_, _, err := q.Lease(stop, wq.LeaseOptions{Wait: wq.Forever})
		waited <- err
	}()
	for i := range 200 {
		ok(t, syscall.Kill(os.Getpid(), syscall.SIGUSR1))
		_, err := q.Enqueue(ctx, wq.Spec{Delay: time.Hour}, wq.Process)
		ok(t, err)
		if i%10 == 0 {
			runtime.GC()
		}
	}
	cancel()
	is(t, <-waited, context.Canceled)
	<-caught
}

// Arguments may move and die while the collector runs: large ones are pinned.
func TestGarbageWhileCalling(t *testing.T) {
	_, q := fresh(t, &wq.Config{Durability: wq.Ptr(wq.Memory)})
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 50 {
			runtime.GC()
		}
	}()
	for i := range 300 {
		b := make([]byte, 1+i*331)
		for j := range b {
			b[j] = byte(i + j)
		}
		push(t, q, wq.Spec{Payload: b, Headers: []wq.Header{{fmt.Sprint(i), b[:min(len(b), 60000)]}}})
		job := take(t, q, 1)[0]
		equal(t, string(job.Payload), string(b))
		equal(t, string(job.Headers[0].Value), string(b[:min(len(b), 60000)]))
		good(t)(job.Ack(ctx))
	}
	<-done
}
