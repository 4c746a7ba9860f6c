package wq

// Why a job or queue does not run, the last errors of a queue, and who holds a key.

// #include "shim.h"
import "C"

import (
	"context"
	"time"
)

// Why is what holds a job or a queue back, as bits. New causes get new bits.
type Why uint32

// Causes.
const (
	WhyDelayed    Why = C.WQ_WHY_DELAYED     // its time has not come
	WhyPaused     Why = C.WQ_WHY_PAUSED      // the queue is paused
	WhyDisabled   Why = C.WQ_WHY_DISABLED    // the queue is disabled
	WhySlots      Why = C.WQ_WHY_SLOTS       // MaxRunning jobs are leased or running
	WhyBehind     Why = C.WQ_WHY_BEHIND      // other ready jobs go first
	WhyNoConsumer Why = C.WQ_WHY_NO_CONSUMER // no call waits for a job of the queue just now
	WhyHeld       Why = C.WQ_WHY_HELD        // a worker has it
	WhyLate       Why = C.WQ_WHY_LATE        // and is past the deadline
	WhyDead       Why = C.WQ_WHY_DEAD        // it is a dead letter
	WhyStopped    Why = C.WQ_WHY_STOPPED     // the store is shutting down, or stopped by a failure
	WhyEmpty      Why = C.WQ_WHY_EMPTY       // queue: no job is ready
	WhyGroup      Why = C.WQ_WHY_GROUP       // its group is full
	WhyRate       Why = C.WQ_WHY_RATE        // the rate of the queue or of its rate key lets no job begin
	WhyCooling    Why = C.WQ_WHY_COOLING     // its rate key cools down after exceptions
)

// JobExplanation is where a job is and why it does not run, as of one moment.
type JobExplanation struct {
	State            State
	Causes           Why // 0: the next lease takes it
	DeadReason       DeadReason
	Until            time.Time // delayed: when it is ready; held: its deadline; WhyRate, WhyCooling: when it may begin
	Ahead            uint64    // ready: jobs of the queue that go before it
	AheadExact       bool      // exactly so many, or at most
	QueueStatus      Status
	SlotsTaken       uint64
	SlotsMax         uint64 // 0: no bound
	ConsumersWaiting uint64 // calls that wait inside the library
	Holder           Token  // of the job that is held longest; zero: none is
	HolderAge        time.Duration
	Text             string // the same for a person
}

// ExplainJob tells where a job of this queue is, and why it does not run.
func (q *Queue) ExplainJob(ctx context.Context, id uint64) (JobExplanation, error) {
	a := getArena()
	defer a.put()
	c, slot := one[C.wq_job_explanation](a), one[*C.wq_text](a)
	c.struct_size = C.sizeof_wq_job_explanation
	_, err := q.read(ctx, "explain", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_job_explain(q.handle, C.uint64_t(id), c, slot, &f.err)
	})
	if err != nil {
		return JobExplanation{}, err
	}
	return JobExplanation{
		State: State(c.state), Causes: Why(c.causes), DeadReason: DeadReason(c.dead_reason),
		Until: fromMillis(c.until_ms), Ahead: uint64(c.ahead), AheadExact: c.ahead_exact != 0,
		QueueStatus: Status(c.queue_status), SlotsTaken: uint64(c.slots_taken),
		SlotsMax: uint64(c.slots_max), ConsumersWaiting: uint64(c.consumers_waiting),
		Holder:    Token{ID: uint64(c.holder_id), Generation: uint64(c.holder_generation)},
		HolderAge: duration(c.holder_age_ms), Text: text(slot),
	}, nil
}

// QueueExplanation is what a queue would hand out now, and what holds it back. Rates are jobs per
// second, means of about the last 1 and 5 minutes.
type QueueExplanation struct {
	Status                       Status
	Causes                       Why
	Leasable                     uint64
	OldestReadyAge               time.Duration
	SlotsTaken, SlotsMax         uint64
	ConsumersWaiting             uint64
	Holder                       Token
	HolderAge                    time.Duration
	EnqueueRate1m, EnqueueRate5m float64
	LeaseRate1m, LeaseRate5m     float64
	AckRate1m, AckRate5m         float64
	Parked                       uint64
	RateWait                     time.Duration
	Text                         string
}

// Explain tells what this queue would hand out now, and what holds it back.
func (q *Queue) Explain(ctx context.Context) (QueueExplanation, error) {
	a := getArena()
	defer a.put()
	c, slot := one[C.wq_queue_explanation](a), one[*C.wq_text](a)
	c.struct_size = C.sizeof_wq_queue_explanation
	_, err := q.read(ctx, "explain", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_queue_explain(q.handle, c, slot, &f.err)
	})
	if err != nil {
		return QueueExplanation{}, err
	}
	return QueueExplanation{
		Status: Status(c.status), Causes: Why(c.causes), Leasable: uint64(c.leasable),
		OldestReadyAge: duration(c.oldest_ready_age_ms), SlotsTaken: uint64(c.slots_taken),
		SlotsMax: uint64(c.slots_max), ConsumersWaiting: uint64(c.consumers_waiting),
		Holder:        Token{ID: uint64(c.holder_id), Generation: uint64(c.holder_generation)},
		HolderAge:     duration(c.holder_age_ms),
		EnqueueRate1m: float64(c.enqueue_rate_1m), EnqueueRate5m: float64(c.enqueue_rate_5m),
		LeaseRate1m: float64(c.lease_rate_1m), LeaseRate5m: float64(c.lease_rate_5m),
		AckRate1m: float64(c.ack_rate_1m), AckRate5m: float64(c.ack_rate_5m),
		Parked: uint64(c.parked), RateWait: duration(c.rate_wait_ms), Text: text(slot),
	}, nil
}

// QueueError is a failed attempt.
type QueueError struct {
	Kind    EventKind // EventNacked, EventDead (Fail) or EventExpired
	At      time.Time
	Job     Token
	Attempt int
	Text    string // one line, cut to 240 bytes
}

const queueErrorsMax = 16 // the library keeps 10 of a queue

// Errors returns the last failed attempts of the queue, the newest first. They are kept in memory.
func (q *Queue) Errors(ctx context.Context) ([]QueueError, error) {
	a := getArena()
	defer a.put()
	list := alloc[C.wq_queue_error](a, queueErrorsMax)
	_, err := q.read(ctx, "errors", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_queue_get_errors(q.handle, &list[0], queueErrorsMax, C.sizeof_wq_queue_error, &f.count,
			&f.err)
	})
	if err != nil {
		return nil, err
	}
	out := make([]QueueError, a.frame.count)
	for i := range out {
		c := &list[i]
		out[i] = QueueError{Kind: EventKind(c.kind), At: fromMillis(c.at_ms), Attempt: int(c.attempt),
			Job:  Token{ID: uint64(c.job_id), Generation: uint64(c.generation)},
			Text: C.GoStringN(&c.text[0], C.int(c.text_len))}
	}
	return out, nil
}

// KeyKind is a kind of key.
type KeyKind uint32

// Kinds of keys.
const (
	UniqueKey      KeyKind = C.WQ_KEY_UNIQUE
	DebounceKey    KeyKind = C.WQ_KEY_DEBOUNCE
	IdempotencyKey KeyKind = C.WQ_KEY_IDEMPOTENCY
)

// KeyHolder returns the id of the job that holds a key; for an idempotency key that of the job which
// a further enqueue would answer with. ErrNotFound: nobody.
func (q *Queue) KeyHolder(ctx context.Context, kind KeyKind, key string) (uint64, error) {
	a := getArena()
	defer a.put()
	k := a.str(key)
	_, err := q.read(ctx, "key_holder", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_key_holder(q.handle, C.uint32_t(kind), k.data, k.len, &f.number, &f.err)
	})
	return uint64(a.frame.number), err
}

// CancelKey cancels the job that holds this unique or debounce key and returns its id. ErrNotFound:
// nobody does. Outcomes: OK; Conflict (the job is dead).
func (q *Queue) CancelKey(ctx context.Context, kind KeyKind, key string, opts ...CallOption) (uint64, Outcome, error) {
	a := getArena()
	defer a.put()
	k := a.str(key)
	r, err := q.change(ctx, "key_cancel", q.core.others, Power, a, opts, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_key_cancel(q.handle, C.uint32_t(kind), k.data, k.len, &f.call, &f.number, &f.err)
	})
	return uint64(a.frame.number), r.outcome, err
}
