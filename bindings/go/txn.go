package wq

// Transactions: several operations in one change.

// #include "shim.h"
import "C"

import (
	"context"
)

// TxnOp is one operation of a transaction, made by TxnEnqueue, TxnSettle, TxnPut, TxnAdd, TxnErase or
// TxnCheck.
type TxnOp struct {
	kind       C.uint32_t
	queue      *Queue
	spec       Spec
	settlement Settlement
	key        string
	value      []byte
	delta      int64
	options    RowOptions
}

// TxnEnqueue enqueues a job. A unique or idempotency key that is held
// refuses the transaction with Duplicate; a debounced job takes the place of the one before it.
func TxnEnqueue(q *Queue, job Spec) TxnOp {
	return TxnOp{kind: C.WQ_TXN_ENQUEUE, queue: q, spec: job}
}

// TxnSettle settles a leased job of a queue.
func TxnSettle(q *Queue, s Settlement) TxnOp {
	return TxnOp{kind: C.WQ_TXN_SETTLE, queue: q, settlement: s}
}

// TxnAck settles a leased job as done.
func TxnAck(j *Job) TxnOp { return TxnSettle(j.from, Settlement{Kind: SettleAck, Token: j.Token}) }

// TxnPut writes a row.
func TxnPut(key string, value []byte, o RowOptions) TxnOp {
	return TxnOp{kind: C.WQ_TXN_KV_PUT, key: key, value: value, options: o}
}

// TxnAdd adds to a counter.
func TxnAdd(key string, delta int64, o RowOptions) TxnOp {
	return TxnOp{kind: C.WQ_TXN_KV_ADD, key: key, delta: delta, options: o}
}

// TxnErase removes a row; one that is not there is no obstacle.
func TxnErase(key string, o RowOptions) TxnOp {
	return TxnOp{kind: C.WQ_TXN_KV_ERASE, key: key, options: o}
}

// TxnCheck changes nothing, but the transaction only happens if its condition holds.
func TxnCheck(key string, o RowOptions) TxnOp {
	return TxnOp{kind: C.WQ_TXN_KV_CHECK, key: key, options: o}
}

// TxnResult is what became of one operation.
type TxnResult struct {
	ID  uint64 // enqueue: of the new job
	Sum int64  // add: the new value
}

// Transacted is what became of a transaction.
type Transacted struct {
	Outcome Outcome
	Results []TxnResult // one for each operation, if the outcome is OK
	Failed  int         // index of the operation that was refused; -1 if it was none of them
	LSN     uint64      // 0 if all were checks
	Holder  uint64      // with Duplicate: the job that holds the key
}

// Transact does 1 to 10,000 operations in one change: all of them or, if one is refused, none. Every
// operation is judged by the state before the first.
//
// Outcomes: OK; with nothing changed, by the operation Failed: Stale (a settle), Conflict (a
// condition, no counter, a flow that has ended), Duplicate (an enqueue, by a job Holder), Disabled (an
// enqueue). An error has Failed too.
func (s *Store) Transact(ctx context.Context, ops []TxnOp, opts ...CallOption) (Transacted, error) {
	const op = "transact"
	none := Transacted{Failed: -1}
	if len(ops) == 0 {
		return none, codeError(op, ErrInvalid, "there are no operations")
	}
	if len(ops) > jobsPerCallMax {
		return none, codeError(op, ErrTooLarge, "more than 10,000 operations")
	}
	a := getArena()
	defer a.put()
	list := alloc[C.wq_txn_op](a, len(ops))
	for i := range ops {
		if q := ops[i].queue; q != nil {
			if !q.gate.enter() {
				return Transacted{Failed: i}, closedError(op)
			}
			defer q.gate.leave()
		}
		if err := ops[i].fill(op, a, &list[i]); err != nil {
			return Transacted{Failed: i}, err
		}
	}
	out := alloc[C.wq_txn_result](a, len(ops))
	a.frame.count = C.size_t(len(ops))
	r, err := s.core.change(ctx, op, s.core.producers, 0, a, opts, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_transact(s.core.handle, &list[0], C.size_t(len(list)), C.sizeof_wq_txn_op, &f.call,
			&out[0], C.sizeof_wq_txn_result, &f.count, &f.err)
	})
	result := Transacted{Outcome: r.outcome, Failed: -1, LSN: r.lsn}
	if failed := int(a.frame.count); failed < len(ops) && (err != nil || r.outcome != OK) {
		result.Failed = failed
	}
	if r.outcome == Duplicate && result.Failed >= 0 {
		result.Holder = uint64(out[result.Failed].job_id)
	}
	if r.outcome == OK && r.lsn != 0 || err == nil && r.outcome == OK {
		result.Results = make([]TxnResult, len(ops))
		for i := range out {
			result.Results[i] = TxnResult{ID: uint64(out[i].job_id), Sum: int64(out[i].sum)}
		}
	}
	return result, err
}

func (o *TxnOp) fill(op string, a *arena, c *C.wq_txn_op) error {
	c.struct_size = C.sizeof_wq_txn_op
	c.kind = o.kind
	c.key = a.str(o.key)
	switch o.kind {
	case C.WQ_TXN_ENQUEUE, C.WQ_TXN_SETTLE:
		if o.queue == nil {
			return codeError(op, ErrInvalid, "an operation has no queue")
		}
		c.queue = o.queue.handle
		if o.kind == C.WQ_TXN_ENQUEUE {
			spec := one[C.wq_job_spec](a)
			c.spec = spec
			return o.spec.fill(op, a, spec)
		}
		item := one[C.wq_settle_item](a)
		c.settle = item
		return o.settlement.fill(op, a, item)
	case C.WQ_TXN_KV_PUT:
		c.value = a.bytes(o.value)
	case C.WQ_TXN_KV_ADD:
		c.delta = C.int64_t(o.delta)
	}
	c.options = o.options.fill(a)
	return nil
}
