package outbox

// The drain: jobs of the queue go to Redis in order, and leave the queue in one change with the
// counts of what became of them.

import (
	"context"
	"math"
	"time"

	"wq.internal/wq"
)

// Drained is what a drain did. The jobs that Redis refused are dead letters of the queue, with its
// answer as their error.
type Drained struct {
	Sent, Duplicate, Refused uint64
	Missing                  uint64 // Shadow: ids that Redis does not know
	Stopped                  bool   // Redis is not to be had, or the breaker is open
	Text                     string // why it stopped
}

const (
	stepJobs = 100
	// Far longer than a step takes: Redis is given up on long before.
	stepLease = 10 * time.Minute
	// Between drains that stop: another call may be the one attempt of the breaker.
	pauseMin = 10 * time.Millisecond
)

// Drain sends up to max (0: all) due jobs of the queue to Redis. It returns when there are no more,
// or Redis stops taking them: those stay where they are in the queue. When ctx ends it returns its
// error, with what was done until then.
func (r *Relay) Drain(ctx context.Context, max int) (Drained, error) {
	var total Drained
	if max <= 0 {
		max = math.MaxInt
	}
	if err := r.draining.take(ctx); err != nil {
		return total, err
	}
	defer r.draining.give()
	for max > 0 && !total.Stopped {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		if at := r.RetryAt(); r.options.Clock().Before(at) {
			total.Stopped, total.Text = true, "not tried again yet: "+r.Health().Problem
			break
		}
		step := min(max, stepJobs)
		if r.options.InOrder {
			step = 1
		}
		taken, err := r.drainStep(ctx, step, &total)
		if err != nil {
			return total, err
		}
		if taken == 0 {
			break
		}
		max -= taken
	}
	return total, r.keepDirectCountsNowAndThen(ctx)
}

// Run drains in the background until ctx ends, and returns its error then, or earlier one of the
// store. It drains when a job was spooled, when the breaker lets the next attempt through, and each
// Options.Poll.
func (r *Relay) Run(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		did, err := r.Drain(ctx, 0)
		if err != nil {
			return err
		}
		wait, wake := r.options.Poll, r.wake
		if did.Stopped { // what is spooled meanwhile would not be sent either
			wait, wake = max(r.RetryAt().Sub(r.options.Clock()), pauseMin), nil
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
		case <-timer.C:
		}
	}
}

func (r *Relay) drainStep(ctx context.Context, most int, total *Drained) (int, error) {
	jobs, outcome, err := r.queue.Lease(ctx, wq.LeaseOptions{Max: most, Lease: stepLease})
	if err != nil || outcome != wq.OK {
		return 0, err
	}
	requests := make([]Request, len(jobs))
	for i, stored := range jobs {
		job := fromSpool(stored, r.storeID)
		if r.options.Mode == Shadow {
			requests[i] = r.options.Layout.known(r.options.Queue, job.ID)
		} else {
			requests[i] = r.options.Layout.apply(r.options.Queue, &job, r.options.Seen)
		}
	}
	var answers []Answer
	if err := r.talking.take(ctx); err == nil {
		answers = r.ask(ctx, requests)
		r.talking.give()
	} else { // nothing was sent
		answers = make([]Answer, len(requests))
		for i := range answers {
			answers[i] = Answer{Unavailable, err.Error()}
		}
	}
	// What is held is settled also when ctx has ended: nobody else would.
	return len(jobs), r.settle(context.WithoutCancel(ctx), jobs, answers, total)
}

// settle gives jobs that Redis did not take back to the head of the queue, the last one first, so
// that they stand there as before.
func (r *Relay) settle(ctx context.Context, jobs []*wq.Job, answers []Answer, total *Drained) error {
	var step Drained
	var items []wq.Settlement
	for i := len(jobs) - 1; i >= 0; i-- {
		item := wq.Settlement{Kind: wq.SettleAck, Token: jobs[i].Token}
		switch answer := answers[i]; {
		case answer.Verdict.isPassing():
			item.Kind, item.Release = wq.SettleRelease, wq.Release{Front: true}
			step.Stopped, step.Text = true, answer.Text
		case answer.Verdict == Rejected:
			item.Kind, item.Nack.Error = wq.SettleFail, answer.Text[:min(len(answer.Text), 4096)]
			step.Refused++
		case r.options.Mode == Shadow && answer.Verdict == Known:
			step.Missing++
		case answer.Verdict == Known:
			step.Duplicate++
		default:
			step.Sent++
		}
		items = append(items, item)
	}
	if err := r.commit(ctx, items, &step); err != nil {
		return err
	}
	total.Sent += step.Sent
	total.Duplicate += step.Duplicate
	total.Refused += step.Refused
	total.Missing += step.Missing
	if total.Stopped = step.Stopped; step.Stopped {
		total.Text = step.Text
	}
	return nil
}

func (r *Relay) commit(ctx context.Context, items []wq.Settlement, step *Drained) error {
	var ops []wq.TxnOp
	for _, item := range items {
		ops = append(ops, wq.TxnSettle(r.queue, item))
	}
	for _, count := range []struct {
		name string
		by   uint64
	}{{"sent", step.Sent}, {"duplicate", step.Duplicate}, {"missing", step.Missing}} {
		if count.by != 0 {
			ops = append(ops, wq.TxnAdd(countKey(r.options.Queue, count.name), int64(count.by), wq.RowOptions{}))
		}
	}
	done, err := r.store.Transact(ctx, ops)
	if err != nil || done.Outcome == wq.OK {
		return err
	}
	// Somebody settled a job of the relay's queue, a clear perhaps. The others leave one by one;
	// what this step sent is then not in the counts.
	_, err = r.queue.SettleMany(ctx, items)
	return err
}
