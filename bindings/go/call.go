package wq

// How a call goes into the library and comes back: gates, slots, durability, and the mapping of
// codes. Every changing call goes through core.change, every other one through core.read.

// #include "shim.h"
import "C"

import (
	"context"
)

// Durability is the level that a changing call waits for.
type Durability uint32

// Levels. The zero value, DefaultDurability, takes the default of the call.
const (
	DefaultDurability Durability = 0
	Memory            Durability = C.WQ_MEMORY  // applied; written within Options.MemoryWindow
	Process           Durability = C.WQ_PROCESS // the kernel has it: survives kill -9
	Power             Durability = C.WQ_POWER   // the device has it: survives power loss
)

// String returns "memory", "process", "power" or "default".
func (d Durability) String() string {
	switch d {
	case Memory:
		return "memory"
	case Process:
		return "process"
	case Power:
		return "power"
	}
	return "default"
}

// CallOption says how one changing call waits for its durability: a Durability, or a *Pending.
type CallOption interface{ apply(*callOptions) }

type callOptions struct {
	durability Durability
	pending    *Pending
}

func (d Durability) apply(o *callOptions) { o.durability = d }

func (p *Pending) apply(o *callOptions) { o.pending = p }

// done tells what became of a call: outcome or error, and the change.
type done struct {
	outcome Outcome
	lsn     uint64
}

// change runs one changing call. `do` is called at most once, inside the library; it finds the
// wq_call prepared in the frame of the arena. `usual` is the level of the call if no option names
// one, and 0 if it is not known.
func (c *core) change(ctx context.Context, op string, pool slots, usual Durability, a *arena,
	opts []CallOption, do func(*C.wqgo_frame) C.int32_t) (done, error) {
	var options callOptions
	for _, o := range opts {
		o.apply(&options)
	}
	if options.durability != 0 {
		usual = options.durability
	}
	if options.pending != nil {
		*options.pending = Pending{op: op} // nothing is pending unless it gets so far
	}
	if err := ctx.Err(); err != nil {
		return done{}, err
	}
	if err := c.enter(ctx, op, pool); err != nil {
		return done{}, err
	}
	call := &a.frame.call
	call.durability = C.uint32_t(options.durability)
	var waiting *completion
	var number uint64
	if c.completer != nil && waits(usual, &options) {
		waiting, number = c.expect(options.pending != nil)
		call.cq, call.user_data = c.completer.cq, C.uint64_t(number)
	}
	code := do(a.frame)
	c.leave(pool)
	a.yield()
	result := done{lsn: uint64(call.lsn)}
	if waiting != nil && result.lsn == 0 {
		c.completer.table.take(number)
		waiting.reuse()
		waiting = nil
	}
	if options.pending != nil {
		*options.pending = Pending{op: op, lsn: result.lsn, done: waiting}
		waiting = nil
	}
	var err error
	if code < 0 {
		err = newError(op, &a.frame.err)
	} else {
		result.outcome = Outcome(code)
	}
	if waiting != nil {
		if late := c.await(ctx, op, waiting, result.lsn); late != nil && err == nil {
			err = late
		}
	}
	return result, err
}

// waits reports whether a change may return before it is as durable as it was told to be. With Memory
// it is when it returns, so that there is nothing to be told later. That of the queue may be out of
// date: a Pending relies on it no more than it must.
func waits(usual Durability, options *callOptions) bool {
	return usual != Memory || options.pending != nil && options.durability != Memory
}

// expect makes a place for the arrival of one change.
func (c *core) expect(many bool) (*completion, uint64) {
	var waiting *completion
	if many {
		waiting = &completion{told: make(chan struct{}), many: true}
	} else {
		waiting = completions.Get().(*completion)
	}
	waiting.from = c.completer
	number, open := c.completer.table.add(waiting)
	if open == untoldMax {
		c.completer.wantPoller() // they do not pile up when nobody waits
	}
	return waiting, number
}

func (c *core) await(ctx context.Context, op string, waiting *completion, lsn uint64) error {
	waiting.from.lead(ctx, waiting)
	select {
	case <-waiting.told:
	case <-ctx.Done():
		select {
		case <-waiting.told: // it was both; the better news counts
		default:
			return &UncertainError{Op: op, LSN: lsn, Err: ctx.Err()}
		}
	}
	err := arrivalError(op, waiting.code)
	waiting.reuse()
	return err
}

// read runs a call that changes nothing, or that has no wq_call.
func (c *core) read(ctx context.Context, op string, a *arena, do func(*C.wqgo_frame) C.int32_t) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := c.enter(ctx, op, c.others); err != nil {
		return 0, err
	}
	code := do(a.frame)
	c.leave(c.others)
	if code < 0 {
		return 0, newError(op, &a.frame.err)
	}
	return Outcome(code), nil
}

func (c *core) enter(ctx context.Context, op string, pool slots) error {
	if c.gate.isShut() { // before the wait for a slot
		return closedError(op)
	}
	if err := pool.take(ctx); err != nil {
		return err
	}
	if !c.gate.enter() {
		pool.give()
		return closedError(op)
	}
	return nil
}

func (c *core) leave(pool slots) {
	c.gate.leave()
	pool.give()
}

func closedError(op string) error { return codeError(op, ErrClosed, "the store or queue is closed") }

// change of a queue: as core.change, with the handle of the queue held.
func (q *Queue) change(ctx context.Context, op string, pool slots, usual Durability, a *arena,
	opts []CallOption, do func(*C.wqgo_frame) C.int32_t) (done, error) {
	if !q.gate.enter() {
		return done{}, closedError(op)
	}
	defer q.gate.leave()
	return q.core.change(ctx, op, pool, usual, a, opts, do)
}

func (q *Queue) read(ctx context.Context, op string, a *arena, do func(*C.wqgo_frame) C.int32_t) (Outcome, error) {
	if !q.gate.enter() {
		return 0, closedError(op)
	}
	defer q.gate.leave()
	return q.core.read(ctx, op, a, do)
}

// outcome is for the many changes of a queue that give nothing but their outcome.
func (q *Queue) outcome(ctx context.Context, op string, usual Durability, opts []CallOption,
	do func(a *arena, f *C.wqgo_frame) C.int32_t) (Outcome, error) {
	a := getArena()
	defer a.put()
	r, err := q.change(ctx, op, q.core.others, usual, a, opts,
		func(f *C.wqgo_frame) C.int32_t { return do(a, f) })
	return r.outcome, err
}

func (s *Store) outcome(ctx context.Context, op string, pool slots, usual Durability, opts []CallOption,
	do func(a *arena, f *C.wqgo_frame) C.int32_t) (Outcome, error) {
	a := getArena()
	defer a.put()
	r, err := s.core.change(ctx, op, pool, usual, a, opts,
		func(f *C.wqgo_frame) C.int32_t { return do(a, f) })
	return r.outcome, err
}
