package wq

// Producing.

// #include "shim.h"
import "C"

import "context"

// Enqueued is what became of one job of an enqueue.
type Enqueued struct {
	ID      uint64  // of the job; with Duplicate that of the job that holds the key; else 0
	LSN     uint64  // of the change that holds it; 0 unless OK
	Outcome Outcome // OK, Duplicate, Disabled, or Conflict (its flow has ended)
	Code    Code    // EnqueueMany: the error of a job that was not taken; else 0
}

// Enqueue enqueues one job; it is ready at once, or delayed until its time. When memory is full of
// unfinished work it waits for room. The level of durability is that of the queue if none is given.
//
// Outcomes: OK; Duplicate (the key is held by job ID, nothing changed); Disabled (the queue);
// Conflict (the flow that it would join has ended).
func (q *Queue) Enqueue(ctx context.Context, job Spec, opts ...CallOption) (Enqueued, error) {
	const op = "enqueue"
	a := getArena()
	defer a.put()
	c := &a.jobSpecs(1)[0]
	if err := job.fill(op, a, c); err != nil {
		return Enqueued{}, err
	}
	out := one[C.wq_enqueued](a)
	out.struct_size = C.sizeof_wq_enqueued
	r, err := q.change(ctx, op, q.core.producers, q.usual(), a, opts, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_enqueue(q.handle, c, &f.call, out, &f.err)
	})
	e := Enqueued{ID: uint64(out.job_id), LSN: uint64(out.lsn), Outcome: r.outcome}
	if job.DryRun && e.Outcome == OK {
		e.ID = 0 // no job was made
	}
	return e, err
}

// EnqueuedMany is what became of the jobs of EnqueueMany.
type EnqueuedMany struct {
	Jobs     []Enqueued // one for each job, in order; nil if the call itself was refused
	Accepted int        // how many were taken
	Outcome  Outcome    // OK; Duplicate (all of them were); else that of the first refused job
}

// EnqueueMany enqueues jobs in one change, in the order given, 1 to 10,000: all or none. One that is
// refused refuses them all, and its outcome or error is returned. A job that meets the holder of a
// key is no refusal: it alone is Duplicate.
func (q *Queue) EnqueueMany(ctx context.Context, jobs []Spec, opts ...CallOption) (EnqueuedMany, error) {
	return q.enqueueMany(ctx, "enqueue_many", jobs, 0, opts)
}

// EnqueueSome is EnqueueMany, but takes the jobs before the first refused one, and returns the
// outcome or error of that one together with what was taken.
func (q *Queue) EnqueueSome(ctx context.Context, jobs []Spec, opts ...CallOption) (EnqueuedMany, error) {
	return q.enqueueMany(ctx, "enqueue_some", jobs, C.WQ_ENQUEUE_PARTIAL, opts)
}

func (q *Queue) enqueueMany(ctx context.Context, op string, jobs []Spec, flags C.uint32_t,
	opts []CallOption) (EnqueuedMany, error) {
	if len(jobs) == 0 {
		return EnqueuedMany{}, codeError(op, ErrInvalid, "there are no jobs")
	}
	if len(jobs) > jobsPerCallMax {
		return EnqueuedMany{}, codeError(op, ErrTooLarge, "more than 10,000 jobs")
	}
	a := getArena()
	defer a.put()
	specs := a.jobSpecs(len(jobs))
	for i := range jobs {
		if err := jobs[i].fill(op, a, &specs[i]); err != nil {
			return EnqueuedMany{}, err
		}
	}
	out := alloc[C.wq_enqueued](a, len(jobs))
	r, err := q.change(ctx, op, q.core.producers, q.usual(), a, opts, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_enqueue_many(q.handle, &specs[0], C.size_t(len(specs)), C.sizeof_wq_job_spec,
			flags, &f.call, &out[0], C.sizeof_wq_enqueued, &f.count, &f.err)
	})
	many := EnqueuedMany{Accepted: int(a.frame.count), Outcome: r.outcome}
	if out[0].struct_size == 0 { // not touched: the call did not get so far
		return many, err
	}
	many.Jobs = make([]Enqueued, len(jobs))
	for i := range out {
		job := &many.Jobs[i]
		job.ID, job.LSN = uint64(out[i].job_id), uint64(out[i].lsn)
		if out[i].code < 0 {
			job.Code = Code(out[i].code)
		} else {
			job.Outcome = Outcome(out[i].code)
		}
	}
	return many, err
}

// jobsPerCallMax bounds the arrays of one call; more is refused by the library as well.
const jobsPerCallMax = 10000
