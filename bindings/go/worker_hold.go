package wq

// What a Worker does beside its handlers: it keeps the leases of running jobs alive, with one call
// per queue and beat, and settles jobs that ended, as many as there are with one call.

import (
	"context"
	"errors"
	"sync"
	"time"
)

func (w *Worker) hold(held *heldJob) {
	w.mu.Lock()
	defer w.mu.Unlock()
	q := held.job.from
	if w.held[q] == nil {
		w.held[q] = map[Token]*heldJob{}
	}
	w.held[q][held.job.Token] = held
}

func (w *Worker) drop(held *heldJob) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.held[held.job.from], held.job.Token)
}

// chooseLease finds the length of leases and how often they are kept alive.
func (w *Worker) chooseLease(ctx context.Context) {
	w.lease, w.beat = w.o.Lease, w.o.Heartbeat
	for _, q := range w.o.Queues {
		if w.o.Lease > 0 {
			break
		}
		config, err := q.Config(context.WithoutCancel(ctx))
		if err == nil && (w.lease == 0 || *config.Lease < w.lease) {
			w.lease = *config.Lease
		}
	}
	if w.beat <= 0 {
		w.beat = min(w.lease/3, 20*time.Second)
	}
	w.beat = max(w.beat, time.Millisecond)
}

// keepAlive beats until stop is closed.
func (w *Worker) keepAlive(stop <-chan struct{}, done chan<- struct{}) {
	defer close(done)
	ticker := time.NewTicker(w.beat)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			w.extendAll()
		}
	}
}

// extendAll keeps the leases of all jobs whose handlers run and are not late.
func (w *Worker) extendAll() {
	w.mu.Lock()
	byQueue := make(map[*Queue][]*heldJob, len(w.held))
	for q, jobs := range w.held {
		for _, held := range jobs {
			if !held.late.Load() {
				byQueue[q] = append(byQueue[q], held)
			}
		}
	}
	w.mu.Unlock()
	for q, jobs := range byQueue {
		for len(jobs) > 0 {
			n := min(len(jobs), jobsPerCallMax)
			w.extend(q, jobs[:n])
			jobs = jobs[n:]
		}
	}
}

func (w *Worker) extend(q *Queue, jobs []*heldJob) {
	tokens := make([]Token, len(jobs))
	for i, held := range jobs {
		tokens[i] = held.job.Token
	}
	outcomes, err := q.Extend(context.Background(), tokens, w.lease)
	if err != nil && !errors.Is(err, ErrClosed) {
		w.o.Logger.Error("wq: leases were not kept", "queue", q.name, "jobs", len(jobs), "error", err)
	}
	for i, o := range outcomes {
		switch {
		case o.Outcome == Stale || o.Code == ErrNotFound:
			jobs[i].cancel(ErrLeaseLost)
		case o.Outcome == Cancelled:
			jobs[i].cancel(ErrFlowCancelled)
		}
	}
}

// settler settles jobs. While one call waits to become durable, the next ones gather.
type settler struct {
	w     *Worker
	queue chan ended
	done  chan struct{}
}

// ended is a job whose handler has returned.
type ended struct {
	held       *heldJob
	settlement Settlement
}

const settlesGathered = 1024

func newSettler(w *Worker) *settler {
	return &settler{w: w, queue: make(chan ended, settlesGathered), done: make(chan struct{})}
}

func (s *settler) settle(held *heldJob, settlement Settlement) {
	s.queue <- ended{held, settlement}
}

// stop waits until everything that was given is settled.
func (s *settler) stop() {
	close(s.queue)
	<-s.done
}

func (s *settler) run() {
	defer close(s.done)
	for first := range s.queue {
		byQueue := map[*Queue][]ended{first.held.job.from: {first}}
	gather:
		for range settlesGathered {
			select {
			case next, open := <-s.queue:
				if !open {
					break gather
				}
				q := next.held.job.from
				byQueue[q] = append(byQueue[q], next)
			default:
				break gather
			}
		}
		var all sync.WaitGroup
		for q, jobs := range byQueue {
			all.Add(1)
			go func() {
				defer all.Done()
				s.settleAll(q, jobs)
			}()
		}
		all.Wait()
	}
}

// settleAll settles jobs of one queue. What can not be settled is delivered again when its lease ends;
// an item that the library does not take refuses its whole call, so it is parted from the others.
func (s *settler) settleAll(q *Queue, jobs []ended) {
	items := make([]Settlement, len(jobs))
	for i, job := range jobs {
		items[i] = job.settlement
	}
	outcomes, err := q.SettleMany(context.Background(), items, s.w.o.Durability)
	if len(jobs) > 1 && refusedForItem(err) {
		half := len(jobs) / 2
		s.settleAll(q, jobs[:half])
		s.settleAll(q, jobs[half:])
		return
	}
	for _, job := range jobs {
		s.w.drop(job.held)
	}
	if err != nil {
		s.w.o.Logger.Error("wq: jobs were not settled", "queue", q.name, "jobs", len(jobs),
			"first", jobs[0].held.job.ID, "error", err)
	}
	for i, o := range outcomes {
		s.w.count(jobs[i], o)
	}
}

func refusedForItem(err error) bool {
	return errors.Is(err, ErrInvalid) || errors.Is(err, ErrTooLarge) || errors.Is(err, ErrUnsupported)
}

// count tells how a settle went.
func (w *Worker) count(job ended, o JobOutcome) {
	if o.Outcome != OK || o.Code != 0 {
		w.lost.Add(1)
		w.o.Logger.Warn("wq: a job was settled too late", "queue", job.held.job.Queue,
			"id", job.held.job.ID, "outcome", o.Outcome)
		return
	}
	switch job.settlement.Kind {
	case SettleAck:
		w.acked.Add(1)
	case SettleNack:
		w.nacked.Add(1)
	case SettleFail:
		w.failed.Add(1)
	case SettleRelease:
		w.released.Add(1)
	}
}
