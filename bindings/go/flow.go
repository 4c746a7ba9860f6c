package wq

// Flows: jobs that are counted together, and a job at their end. And the history of acked jobs.

// #include "shim.h"
import "C"

import (
	"context"
	"iter"
	"time"
)

// Flows is the flows of a store. A job joins one by Spec.Flow.
type Flows struct{ s *Store }

// Flows returns the flows of the store.
func (s *Store) Flows() Flows { return Flows{s} }

// FlowOptions say what the end of a flow enqueues, exactly once: OnComplete, or OnFailure if a member
// failed or was cancelled and failures are not allowed, or if the flow was cancelled.
type FlowOptions struct {
	OnComplete    *Next
	OnFailure     *Next
	AllowFailures bool // OnComplete also if members failed or were cancelled
}

// Create creates a flow and returns its id.
func (fl Flows) Create(ctx context.Context, o FlowOptions, opts ...CallOption) (uint64, error) {
	const op = "flow_create"
	a := getArena()
	defer a.put()
	c := one[C.wq_flow_options](a)
	c.struct_size = C.sizeof_wq_flow_options
	if o.AllowFailures {
		c.flags = C.WQ_FLOW_ALLOW_FAILURES
	}
	ends := []struct {
		next *Next
		to   **C.wq_next_job
	}{{o.OnComplete, &c.on_complete}, {o.OnFailure, &c.on_failure}}
	for _, end := range ends {
		if end.next == nil {
			continue
		}
		next := one[C.wq_next_job](a)
		if err := end.next.fill(op, a, next); err != nil {
			return 0, err
		}
		*end.to = next
	}
	r, err := fl.s.core.change(ctx, op, fl.s.core.producers, Power, a, opts, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_flow_create(fl.s.core.handle, c, &f.number, &f.call, &f.err)
	})
	if err == nil && r.outcome == Conflict {
		err = importError(op)
	}
	return uint64(a.frame.number), err
}

// Seal says that no more jobs come from outside: the flow is finished as soon as nothing is pending.
func (fl Flows) Seal(ctx context.Context, flow uint64, opts ...CallOption) error {
	_, err := fl.s.outcome(ctx, "flow_seal", fl.s.core.others, Power, opts, func(_ *arena, f *C.wqgo_frame) C.int32_t {
		return C.wq_flow_seal(fl.s.core.handle, C.uint64_t(flow), &f.call, &f.err)
	})
	return err
}

// Cancel cancels a flow. Members that did not start end before it returns; those that run learn it
// by Job.FlowCancelled and from Extend. Outcomes: OK; Conflict (it is finished).
func (fl Flows) Cancel(ctx context.Context, flow uint64, opts ...CallOption) (Outcome, error) {
	return fl.s.outcome(ctx, "flow_cancel", fl.s.core.others, Power, opts, func(_ *arena, f *C.wqgo_frame) C.int32_t {
		return C.wq_flow_cancel(fl.s.core.handle, C.uint64_t(flow), &f.call, &f.err)
	})
}

// FlowStatus is the counts of a flow. Total = Pending + Done + Failed + Cancelled at any time.
type FlowStatus struct {
	ID            uint64
	Sealed        bool
	WasCancelled  bool // Flows.Cancel was called
	Finished      bool
	Total         uint64 // members; the jobs of their chains are some from the start
	Pending, Done uint64
	Failed        uint64 // dead
	Cancelled     uint64 // ended otherwise, or never came to be
	FollowUp      uint64 // job that its end has enqueued; 0: none
	CreatedAt     time.Time
	FinishedAt    time.Time
}

func readFlow(c *C.wq_flow_status) FlowStatus {
	return FlowStatus{
		ID: uint64(c.flow), Sealed: c.flags&C.WQ_FLOW_SEALED != 0,
		WasCancelled: c.flags&C.WQ_FLOW_CANCELLED != 0, Finished: c.flags&C.WQ_FLOW_FINISHED != 0,
		Total: uint64(c.total), Pending: uint64(c.pending), Done: uint64(c.done),
		Failed: uint64(c.failed), Cancelled: uint64(c.cancelled), FollowUp: uint64(c.follow_up_id),
		CreatedAt: fromMillis(c.created_ms), FinishedAt: fromMillis(c.finished_ms),
	}
}

// Status reads the counts of a flow. It can be read until seven days after its end.
func (fl Flows) Status(ctx context.Context, flow uint64) (FlowStatus, error) {
	a := getArena()
	defer a.put()
	c := one[C.wq_flow_status](a)
	c.struct_size = C.sizeof_wq_flow_status
	_, err := fl.s.core.read(ctx, "flow_status", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_flow_get_status(fl.s.core.handle, C.uint64_t(flow), c, &f.err)
	})
	if err != nil {
		return FlowStatus{}, err
	}
	return readFlow(c), nil
}

// List returns a page of up to `limit` flows (1..1,000), the newest first, and the cursor of the next
// one; 0 when there is no more. A page may be empty though there are more.
func (fl Flows) List(ctx context.Context, cursor uint64, limit int) (page []FlowStatus, next uint64, err error) {
	const op = "flow_list"
	if limit < 1 || limit > pageMax {
		return nil, 0, codeError(op, ErrInvalid, "limit is outside 1..1,000")
	}
	a := getArena()
	defer a.put()
	list := alloc[C.wq_flow_status](a, limit)
	a.frame.number = C.uint64_t(cursor)
	_, err = fl.s.core.read(ctx, op, a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_flow_list(fl.s.core.handle, &f.number, &list[0], C.size_t(limit),
			C.sizeof_wq_flow_status, &f.count, &f.err)
	})
	if err != nil {
		return nil, 0, err
	}
	for i := range list[:a.frame.count] {
		page = append(page, readFlow(&list[i]))
	}
	return page, uint64(a.frame.number), nil
}

const (
	pageMax     = 1000
	pageDefault = 100
)

// All yields the flows, the newest first.
func (fl Flows) All(ctx context.Context) iter.Seq2[FlowStatus, error] {
	return pages(func(cursor uint64) ([]FlowStatus, uint64, error) { return fl.List(ctx, cursor, pageDefault) })
}

// pages yields what is listed page by page.
func pages[T any](list func(cursor uint64) ([]T, uint64, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var cursor uint64
		for {
			page, next, err := list(cursor)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page {
				if !yield(item, nil) {
					return
				}
			}
			if next == 0 {
				return
			}
			cursor = next
		}
	}
}

// DoneJob is a job that was acked, as the history of its queue has it.
type DoneJob struct {
	Token
	Priority   int
	Flow       uint64
	Attempts   int
	Exceptions int
	Replays    int
	EnqueuedAt time.Time
	LeasedAt   time.Time
	DoneAt     time.Time
	Result     []byte
	ResultCode Code   // 0, or why there is no Result, as Job.PayloadCode
	KeyID      uint32 // that the result is sealed with; 0: not sealed
}

func readDone(c *C.wq_done_job) DoneJob {
	return DoneJob{
		Token: Token{ID: uint64(c.id), Generation: uint64(c.generation)}, Priority: int(c.priority),
		Flow: uint64(c.flow), Attempts: int(c.attempts), Exceptions: int(c.exceptions),
		Replays: int(c.replays), EnqueuedAt: fromMillis(c.enqueued_ms), LeasedAt: fromMillis(c.leased_ms),
		DoneAt: fromMillis(c.done_ms), Result: goBytes(c.result),
		ResultCode: Code(c.result_code), KeyID: uint32(c.key_id),
	}
}

// Done reads one acked job of this queue from its history (Config.History). ErrNotFound: not acked,
// or not kept.
func (q *Queue) Done(ctx context.Context, id uint64) (DoneJob, error) {
	a := getArena()
	defer a.put()
	c, slot := one[C.wq_done_job](a), one[*C.wq_list](a)
	c.struct_size = C.sizeof_wq_done_job
	_, err := q.read(ctx, "history_get", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_history_get(q.handle, C.uint64_t(id), c, slot, &f.err)
	})
	if err != nil {
		return DoneJob{}, err
	}
	defer C.wq_list_free(slot)
	return readDone(c), nil
}

// ListDone returns a page of up to `limit` acked jobs (1..1,000), the newest first, and the cursor of
// the next one; 0 when there is no more. A page may be empty though there are more.
func (q *Queue) ListDone(ctx context.Context, cursor uint64, limit int) (page []DoneJob, next uint64, err error) {
	const op = "history_list"
	if limit < 1 || limit > pageMax {
		return nil, 0, codeError(op, ErrInvalid, "limit is outside 1..1,000")
	}
	a := getArena()
	defer a.put()
	list, slot := alloc[C.wq_done_job](a, limit), one[*C.wq_list](a)
	a.frame.number = C.uint64_t(cursor)
	_, err = q.read(ctx, op, a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_history_list(q.handle, &f.number, &list[0], C.size_t(limit), C.sizeof_wq_done_job,
			&f.count, slot, &f.err)
	})
	if err != nil {
		return nil, 0, err
	}
	defer C.wq_list_free(slot)
	for i := range list[:a.frame.count] {
		page = append(page, readDone(&list[i]))
	}
	return page, uint64(a.frame.number), nil
}

// AllDone yields the acked jobs that the history has, the newest first.
func (q *Queue) AllDone(ctx context.Context) iter.Seq2[DoneJob, error] {
	return pages(func(cursor uint64) ([]DoneJob, uint64, error) { return q.ListDone(ctx, cursor, pageDefault) })
}
