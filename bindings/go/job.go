package wq

// Jobs as they are told, and what a worker does with one: settle it, confirm it, keep it.

// #include "shim.h"
import "C"

import (
	"context"
	"time"
)

// DeadReason is why a job is dead.
type DeadReason uint32

// Reasons. Workers say DeadFailed, DeadTimeout and those from DeadCancelled on.
const (
	DeadFailed        DeadReason = C.WQ_DEAD_FAILED         // Fail, or Nack with no retry left
	DeadLeaseExpired  DeadReason = C.WQ_DEAD_LEASE_EXPIRED  // its last lease was not settled in time
	DeadTimeout       DeadReason = C.WQ_DEAD_TIMEOUT        // a lease ran out, with FailOnTimeout
	DeadRetryUntil    DeadReason = C.WQ_DEAD_RETRY_UNTIL    // an attempt was lost after RetryUntil
	DeadMaxExceptions DeadReason = C.WQ_DEAD_MAX_EXCEPTIONS // nacked for the MaxExceptions-th time
	DeadCancelled     DeadReason = C.WQ_DEAD_CANCELLED
	DeadExpired       DeadReason = C.WQ_DEAD_EXPIRED
	DeadUnknownType   DeadReason = C.WQ_DEAD_UNKNOWN_TYPE // the worker does not know such a job
	DeadUnreadable    DeadReason = C.WQ_DEAD_UNREADABLE   // its payload did not open when it was leased
)

// String returns the name as in wq.h without prefix, in lower case; "" for none.
func (r DeadReason) String() string {
	names := [...]string{"", "failed", "lease_expired", "timeout", "retry_until", "max_exceptions",
		"cancelled", "expired", "unknown_type", "unreadable"}
	if int(r) < len(names) {
		return names[r]
	}
	return "unknown"
}

// Token is the right to settle a job, and the id of a dead letter.
type Token struct{ ID, Generation uint64 }

// Job is a copy of a job, as it was when it was read. Its methods act on the job itself, under the
// lease (or entry) that it was read with; once that is over they are Stale and change nothing.
type Job struct {
	Token
	State          State
	Queue          string
	Payload        []byte
	Headers        []Header
	Priority       int
	Attempts       int // this one included
	Exceptions     int // nacks that counted
	MaxAttempts    int
	Replays        int // times it came back from the dead letters
	EnqueuedAt     time.Time
	ReadyAt        time.Time // ready: since when; delayed: when it will be
	LeasedAt       time.Time
	Deadline       time.Time     // when its lease may be taken back; zero: not
	LeaseRemaining time.Duration // until Deadline at the time of the call
	DeadAt         time.Time
	DeadReason     DeadReason
	FirstDeadAt    time.Time // kept over replays
	LastError      string
	Timeout        time.Duration
	FailOnTimeout  bool
	ExpiresAt      time.Time
	RetryUntil     time.Time
	MaxExceptions  int
	Progress       []byte // the last note of a worker
	Flow           uint64
	FlowCancelled  bool // its flow was cancelled, it should stop
	ChainCount     int  // jobs that follow it
	Group          string
	Parked         bool // ready, but no slot of its group is free, or its rate key is used up or cools down
	Tenant         string
	RateKey        string
	RateCost       int
	Sealed         bool   // its payload is stored encrypted
	KeyID          uint32 // that it is sealed with; 0: not sealed
	PayloadCode    Code   // 0, or why there is no Payload: ErrNoKey, ErrCorrupt, ErrNoMemory. Never of a leased job

	from *Queue
}

// Header returns the value of the first header of that name; nil if there is none.
func (j *Job) Header(name string) []byte {
	for i := range j.Headers {
		if j.Headers[i].Name == name {
			return j.Headers[i].Value
		}
	}
	return nil
}

// JobOf returns a job of this queue that has nothing but its token, for who kept only that: to settle
// it, extend it and so on.
func (q *Queue) JobOf(t Token) *Job { return &Job{Token: t, Queue: q.name, from: q} }

// From returns the handle of the queue that the job was read by.
func (j *Job) From() *Queue { return j.from }

// Ack settles: the job is done and goes.
// Outcomes: OK; Stale (the lease was settled, taken back, cancelled or cleared).
func (j *Job) Ack(ctx context.Context, opts ...CallOption) (Outcome, error) {
	q := j.from
	return q.outcome(ctx, "ack", q.usual(), opts, func(_ *arena, f *C.wqgo_frame) C.int32_t {
		return C.wq_ack(q.handle, C.uint64_t(j.ID), C.uint64_t(j.Generation), &f.call, &f.err)
	})
}

// AckResult is Ack with a result, up to 1 MiB, which the history of the queue keeps if it has one.
func (j *Job) AckResult(ctx context.Context, result []byte, opts ...CallOption) (Outcome, error) {
	return j.from.outcome(ctx, "ack_result", j.from.usual(), opts, func(a *arena, f *C.wqgo_frame) C.int32_t {
		r := a.bytes(result)
		return C.wq_ack_result(j.from.handle, C.uint64_t(j.ID), C.uint64_t(j.Generation), r.data, r.len,
			&f.call, &f.err)
	})
}

// Nack says how an attempt failed. The zero value: try again by the backoff policy, counted as an
// exception.
type Nack struct {
	Error       string         // any bytes, kept up to 4 KiB; empty keeps that of the attempt before
	Delay       *time.Duration // nil: the backoff policy decides
	Priority    *int           // a new priority from then on; nil: as it is
	Front       bool           // without a delay: to the head of its priority
	NoException bool           // do not count it in Exceptions
	Reason      DeadReason     // why the job is dead if no attempt is left; 0: DeadFailed
}

// Nack settles: the attempt failed. With attempts left the job is ready again after its delay, at
// the tail of its priority; without it is dead. Outcomes: OK; Stale.
func (j *Job) Nack(ctx context.Context, how Nack, opts ...CallOption) (Outcome, error) {
	const op = "nack"
	a := getArena()
	defer a.put()
	q := j.from
	o := one[C.wq_nack_options](a)
	o.struct_size = C.sizeof_wq_nack_options
	o.error = a.str(how.Error)
	o.reason = C.uint32_t(how.Reason)
	var err error
	if o.flags, o.delay_ms, o.priority, err = how.flags(op); err != nil {
		return 0, err
	}
	r, err := q.change(ctx, op, q.core.others, q.usual(), a, opts, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_nack(q.handle, C.uint64_t(j.ID), C.uint64_t(j.Generation), o, &f.call, &f.err)
	})
	return r.outcome, err
}

func (n *Nack) flags(op string) (flags C.uint32_t, delay C.int64_t, priority C.uint32_t, err error) {
	if n.Front {
		flags |= C.WQ_NACK_FRONT
	}
	if n.NoException {
		flags |= C.WQ_NACK_NO_EXCEPTION
	}
	if n.Delay != nil {
		flags |= C.WQ_NACK_DELAY
		delay = millis(*n.Delay)
	}
	if n.Priority != nil {
		flags |= C.WQ_NACK_PRIORITY
		priority, err = number(op, "priority", *n.Priority)
	}
	return flags, delay, priority, err
}

// Release is how a job is given back. The zero value: ready at once, at the tail.
type Release struct {
	Delay time.Duration
	Front bool // without a delay: to the head of its priority
}

func (r *Release) flags() C.uint32_t {
	if r.Front {
		return C.WQ_RELEASE_FRONT
	}
	return 0
}

// Release settles: give the job back before it was begun. The attempt is not counted. Outcomes: OK;
// Stale.
func (j *Job) Release(ctx context.Context, how Release, opts ...CallOption) (Outcome, error) {
	q := j.from
	return q.outcome(ctx, "release", q.usual(), opts, func(_ *arena, f *C.wqgo_frame) C.int32_t {
		return C.wq_release(q.handle, C.uint64_t(j.ID), C.uint64_t(j.Generation), millis(how.Delay),
			how.flags(), &f.call, &f.err)
	})
}

// Fail settles: the job failed for good and is dead, whatever attempts are left. Outcomes: OK; Stale.
func (j *Job) Fail(ctx context.Context, text string, opts ...CallOption) (Outcome, error) {
	q := j.from
	return q.outcome(ctx, "fail", q.usual(), opts, func(a *arena, f *C.wqgo_frame) C.int32_t {
		t := a.str(text)
		return C.wq_fail(q.handle, C.uint64_t(j.ID), C.uint64_t(j.Generation), t.data, t.len, &f.call,
			&f.err)
	})
}

// Confirm says that the job was delivered and is being worked on: leased -> running, without a lease
// deadline, or with one that far from now if `run` is not 0. Outcomes: OK; Stale.
func (j *Job) Confirm(ctx context.Context, run time.Duration, opts ...CallOption) (Outcome, error) {
	q := j.from
	return q.outcome(ctx, "confirm", Power, opts, func(_ *arena, f *C.wqgo_frame) C.int32_t {
		return C.wq_confirm(q.handle, C.uint64_t(j.ID), C.uint64_t(j.Generation), millis(run), &f.call,
			&f.err)
	})
}

// SetProgress leaves a note with the job, up to 4 KiB; an empty one takes it away. It stays with the
// job over retries, death and replay. Outcomes: OK; Stale.
func (j *Job) SetProgress(ctx context.Context, note []byte, opts ...CallOption) (Outcome, error) {
	q := j.from
	return q.outcome(ctx, "progress", Process, opts, func(a *arena, f *C.wqgo_frame) C.int32_t {
		n := a.bytes(note)
		return C.wq_job_progress(q.handle, C.uint64_t(j.ID), C.uint64_t(j.Generation), n.data, n.len,
			&f.call, &f.err)
	})
}

// ReleaseKey gives up the unique key of the job before its scope ends. Outcomes: OK; Stale.
func (j *Job) ReleaseKey(ctx context.Context, opts ...CallOption) (Outcome, error) {
	q := j.from
	return q.outcome(ctx, "key_release", Power, opts, func(_ *arena, f *C.wqgo_frame) C.int32_t {
		return C.wq_key_release(q.handle, C.uint64_t(j.ID), C.uint64_t(j.Generation), &f.call, &f.err)
	})
}

// Extend sets the deadline of the job to `lease` from now (0: Lease of the queue). Outcomes: OK;
// Stale; Cancelled (its flow was cancelled, it should stop; the lease stays as it is).
func (j *Job) Extend(ctx context.Context, lease time.Duration, opts ...CallOption) (Outcome, error) {
	outcomes, err := j.from.Extend(ctx, []Token{j.Token}, lease, opts...)
	if err != nil || len(outcomes) == 0 {
		return 0, err
	}
	return outcomes[0].Outcome, outcomes[0].Err("extend")
}

// Reprioritise gives a ready or delayed job another priority, 0..255. Outcomes: OK; Conflict (it is
// held or dead).
func (j *Job) Reprioritise(ctx context.Context, priority int, opts ...CallOption) (Outcome, error) {
	return j.from.Reprioritise(ctx, j.ID, priority, opts...)
}

// Explain tells where the job is now, and why it does not run.
func (j *Job) Explain(ctx context.Context) (JobExplanation, error) {
	return j.from.ExplainJob(ctx, j.ID)
}

// Get reads one job of this queue, in whatever state. ErrNotFound: ended, removed, another queue's.
func (q *Queue) Get(ctx context.Context, id uint64) (*Job, error) {
	a := getArena()
	defer a.put()
	_, err := q.read(ctx, "get", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wqgo_job_get(q.handle, C.uint64_t(id), a.jobsOut(), &f.err)
	})
	if err != nil {
		return nil, err
	}
	return readJobs(a.jobs, []*Queue{q}, nil)[0], nil
}

// Cancel removes a job that is ready, delayed, leased or running. A worker that holds it learns it
// by its next call. Outcomes: OK; Conflict (the job is dead).
func (q *Queue) Cancel(ctx context.Context, id uint64, opts ...CallOption) (Outcome, error) {
	return q.outcome(ctx, "cancel", Power, opts, func(_ *arena, f *C.wqgo_frame) C.int32_t {
		return C.wq_job_cancel(q.handle, C.uint64_t(id), &f.call, &f.err)
	})
}

// Reprioritise is Job.Reprioritise for who has only the id.
func (q *Queue) Reprioritise(ctx context.Context, id uint64, priority int, opts ...CallOption) (Outcome, error) {
	p, err := number("reprioritise", "priority", priority)
	if err != nil {
		return 0, err
	}
	return q.outcome(ctx, "reprioritise", Power, opts, func(_ *arena, f *C.wqgo_frame) C.int32_t {
		return C.wq_job_reprioritise(q.handle, C.uint64_t(id), p, &f.call, &f.err)
	})
}
