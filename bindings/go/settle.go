package wq

// Settling and extending many jobs with one call.

// #include "shim.h"
import "C"

import (
	"context"
	"time"
	"unsafe"
)

// SettleKind is what a Settlement does.
type SettleKind uint32

// Kinds.
const (
	SettleAck     SettleKind = C.WQ_SETTLE_ACK     // Result
	SettleNack    SettleKind = C.WQ_SETTLE_NACK    // Nack
	SettleFail    SettleKind = C.WQ_SETTLE_FAIL    // Nack.Error and Nack.Reason
	SettleRelease SettleKind = C.WQ_SETTLE_RELEASE // Release
)

// Settlement is one of several settles. Only what belongs to its kind counts.
type Settlement struct {
	Kind    SettleKind
	Token   Token
	Result  []byte  // ack: kept in the history
	Nack    Nack    // nack; of a fail only Error and Reason
	Release Release // release
}

// JobOutcome is what became of one of several jobs.
type JobOutcome struct {
	Outcome Outcome
	Code    Code // ErrNotFound, or 0
}

// Err returns the error of this job; nil if there is none.
func (o JobOutcome) Err(op string) error {
	if o.Code == 0 {
		return nil
	}
	return codeError(op, o.Code, "")
}

// SettleMany settles up to 10,000 jobs of this queue in one change. One that is refused (Stale, or
// ErrNotFound in its Code) does not stop the others and is no error of the call; an invalid one
// refuses the whole call.
func (q *Queue) SettleMany(ctx context.Context, items []Settlement, opts ...CallOption) ([]JobOutcome, error) {
	const op = "settle_many"
	a := getArena()
	defer a.put()
	if len(items) == 0 {
		return nil, codeError(op, ErrInvalid, "there are no items")
	}
	if len(items) > jobsPerCallMax {
		return nil, codeError(op, ErrTooLarge, "more than 10,000 items")
	}
	list := alloc[C.wq_settle_item](a, len(items))
	for i := range items {
		if err := items[i].fill(op, a, &list[i]); err != nil {
			return nil, err
		}
	}
	return q.settle(ctx, op, a, list, opts)
}

// AckMany acks up to 10,000 jobs of this queue in one change, as SettleMany does it.
func (q *Queue) AckMany(ctx context.Context, jobs []*Job, opts ...CallOption) ([]JobOutcome, error) {
	const op = "ack_many"
	a := getArena()
	defer a.put()
	if len(jobs) == 0 {
		return nil, codeError(op, ErrInvalid, "there are no jobs")
	}
	if len(jobs) > jobsPerCallMax {
		return nil, codeError(op, ErrTooLarge, "more than 10,000 jobs")
	}
	list := alloc[C.wq_settle_item](a, len(jobs))
	for i, j := range jobs {
		item := &list[i]
		item.struct_size, item.kind = C.sizeof_wq_settle_item, C.WQ_SETTLE_ACK
		item.id, item.generation = C.uint64_t(j.ID), C.uint64_t(j.Generation)
	}
	return q.settle(ctx, op, a, list, opts)
}

func (q *Queue) settle(ctx context.Context, op string, a *arena, list []C.wq_settle_item,
	opts []CallOption) ([]JobOutcome, error) {
	codes := untouched(a, len(list))
	_, err := q.change(ctx, op, q.core.others, q.usual(), a, opts, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_settle_many(q.handle, &list[0], C.size_t(len(list)), C.sizeof_wq_settle_item,
			&codes[0], &f.call, &f.err)
	})
	return each(codes, err)
}

func (s *Settlement) fill(op string, a *arena, c *C.wq_settle_item) (err error) {
	c.struct_size = C.sizeof_wq_settle_item
	c.kind = C.uint32_t(s.Kind)
	c.id, c.generation = C.uint64_t(s.Token.ID), C.uint64_t(s.Token.Generation)
	switch s.Kind {
	case SettleAck:
		c.result = a.bytes(s.Result)
	case SettleNack:
		c.error, c.reason = a.str(s.Nack.Error), C.uint32_t(s.Nack.Reason)
		c.flags, c.delay_ms, c.priority, err = s.Nack.flags(op)
	case SettleFail:
		c.error, c.reason = a.str(s.Nack.Error), C.uint32_t(s.Nack.Reason)
	case SettleRelease:
		c.delay_ms, c.flags = millis(s.Release.Delay), s.Release.flags()
	}
	return err
}

// Extend sets the deadlines of up to 10,000 jobs to `lease` from now (0: Lease of the queue), in one
// change. One that is refused (Stale, Cancelled, ErrNotFound) does not stop the others.
func (q *Queue) Extend(ctx context.Context, tokens []Token, lease time.Duration, opts ...CallOption) ([]JobOutcome, error) {
	const op = "extend"
	a := getArena()
	defer a.put()
	if len(tokens) == 0 {
		return nil, codeError(op, ErrInvalid, "there are no tokens")
	}
	if len(tokens) > jobsPerCallMax {
		return nil, codeError(op, ErrTooLarge, "more than 10,000 tokens")
	}
	list := a.tokens(tokens)
	codes := untouched(a, len(tokens))
	_, err := q.change(ctx, op, q.core.others, Process, a, opts, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_extend(q.handle, list, C.size_t(len(tokens)), millis(lease), &codes[0], &f.call,
			&f.err)
	})
	return each(codes, err)
}

func (a *arena) tokens(tokens []Token) *C.wq_token {
	if len(tokens) == 0 {
		return nil
	}
	list := alloc[C.wq_token](a, len(tokens))
	for i, t := range tokens {
		list[i] = C.wq_token{id: C.uint64_t(t.ID), generation: C.uint64_t(t.Generation)}
	}
	return &list[0]
}

const untouchedCode = 1 << 30 // no code of the library

func untouched(a *arena, n int) []C.int32_t {
	codes := unsafe.Slice((*C.int32_t)(a.raw(uintptr(n)*4)), n)
	for i := range codes {
		codes[i] = untouchedCode
	}
	return codes
}

// each tells single refusals apart from a call that was refused: the error of the first item is that
// of the call, as far as C is concerned.
func each(codes []C.int32_t, err error) ([]JobOutcome, error) {
	if codes[0] == untouchedCode {
		return nil, err
	}
	out := make([]JobOutcome, len(codes))
	refused := false
	for i, code := range codes {
		if code < 0 {
			out[i].Code = Code(code)
			refused = true
		} else {
			out[i].Outcome = Outcome(code)
		}
	}
	var e *Error
	if refused && asError(err, &e) && e.Code == ErrNotFound {
		err = nil
	}
	return out, err
}

func asError(err error, to **Error) bool {
	e, ok := err.(*Error)
	*to = e
	return ok
}
