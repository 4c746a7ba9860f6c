package wq

// Schedules: jobs that the clock enqueues. The grammar of expressions is at wq_cron_put in wq.h.

// #include "shim.h"
import "C"

import (
	"context"
	"iter"
	"time"
	"unsafe"
)

// Crons is the schedules of a store.
type Crons struct{ s *Store }

// Crons returns the schedules of the store.
func (s *Store) Crons() Crons { return Crons{s} }

// CronSpec says when a schedule runs, and what.
type CronSpec struct {
	Expression string // "0 3 * * MON-FRI", "@every 90s"
	Zone       string // "Europe/Berlin"; empty: UTC
	Job        Spec   // without Delay and RunAt
	CatchUp    *int   // missed slots that run later, 0..1,000; nil: the newest one
}

// Cron is a schedule, as the store has it.
type Cron struct {
	Name        string
	Queue       string
	Expression  string
	Zone        string
	Paused      bool
	NextDue     time.Time // zero: never again
	LastSlot    time.Time // the newest slot that ran or was missed
	CreatedAt   time.Time
	Fired       uint64 // jobs that it enqueued
	Missed      uint64 // slots that no job was enqueued for
	CatchUp     int
	Priority    int
	MaxAttempts int
	Backoff     Backoff
	Payload     []byte
	Headers     []Header
	Problem     string // why its last slots could not be told; empty: none
	Sealed      bool   // its payload is stored encrypted
	KeyID       uint32 // that it is sealed with; 0: not sealed
	PayloadCode Code   // 0, or why there is no Payload
}

// PutCron makes a schedule, or replaces the one of that name: from now on the clock enqueues its job
// into this queue. What is there already as given is left alone, so put all schedules at every start.
func (q *Queue) PutCron(ctx context.Context, name string, spec CronSpec, opts ...CallOption) error {
	const op = "cron_put"
	a := getArena()
	defer a.put()
	c, job := one[C.wq_cron_spec](a), one[C.wq_job_spec](a)
	c.struct_size = C.sizeof_wq_cron_spec
	c.expression, c.zone, c.job = a.str(spec.Expression), a.str(spec.Zone), job
	if err := spec.Job.fill(op, a, job); err != nil {
		return err
	}
	if spec.CatchUp != nil {
		c.flags |= C.WQ_CRON_CATCH_UP
		var err error
		if c.catch_up, err = number(op, "catch_up", *spec.CatchUp); err != nil {
			return err
		}
	}
	n := a.str(name)
	r, err := q.change(ctx, op, q.core.producers, Power, a, opts, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_cron_put(q.handle, n.data, n.len, c, &f.call, &f.err)
	})
	return noConflict(op, r.outcome, err)
}

func noConflict(op string, outcome Outcome, err error) error {
	if err == nil && outcome == Conflict {
		return importError(op)
	}
	return err
}

// Remove removes a schedule. Jobs that it enqueued stay.
func (cr Crons) Remove(ctx context.Context, name string, opts ...CallOption) error {
	o, err := cr.s.outcome(ctx, "cron_remove", cr.s.core.others, Power, opts, func(a *arena, f *C.wqgo_frame) C.int32_t {
		n := a.str(name)
		return C.wq_cron_remove(cr.s.core.handle, n.data, n.len, &f.call, &f.err)
	})
	return noConflict("cron_remove", o, err)
}

// Pause stops a schedule until Resume. It misses nothing: it goes on with the first slot after that.
func (cr Crons) Pause(ctx context.Context, name string, opts ...CallOption) error {
	o, err := cr.s.outcome(ctx, "cron_pause", cr.s.core.others, Power, opts, func(a *arena, f *C.wqgo_frame) C.int32_t {
		n := a.str(name)
		return C.wq_cron_pause(cr.s.core.handle, n.data, n.len, &f.call, &f.err)
	})
	return noConflict("cron_pause", o, err)
}

// Resume lets a paused schedule go on.
func (cr Crons) Resume(ctx context.Context, name string, opts ...CallOption) error {
	o, err := cr.s.outcome(ctx, "cron_resume", cr.s.core.others, Power, opts, func(a *arena, f *C.wqgo_frame) C.int32_t {
		n := a.str(name)
		return C.wq_cron_resume(cr.s.core.handle, n.data, n.len, &f.call, &f.err)
	})
	return noConflict("cron_resume", o, err)
}

// Get reads one schedule.
func (cr Crons) Get(ctx context.Context, name string) (Cron, error) {
	a := getArena()
	defer a.put()
	slot, n := one[*C.wq_crons](a), a.str(name)
	_, err := cr.s.core.read(ctx, "cron_get", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_cron_get(cr.s.core.handle, n.data, n.len, slot, &f.err)
	})
	if err != nil {
		return Cron{}, err
	}
	return readCrons(a, slot)[0], nil
}

// List returns up to `limit` schedules (1..1,000) behind `after`, in the byte order of their names;
// those of one queue if it is not nil. A list shorter than limit is the last one.
func (cr Crons) List(ctx context.Context, queue *Queue, after string, limit int) ([]Cron, error) {
	const op = "cron_list"
	if limit < 0 {
		return nil, codeError(op, ErrInvalid, "limit is negative")
	}
	a := getArena()
	defer a.put()
	slot, n := one[*C.wq_crons](a), a.str(after)
	var handle *C.wq_queue
	if queue != nil {
		if !queue.gate.enter() {
			return nil, closedError(op)
		}
		defer queue.gate.leave()
		handle = queue.handle
	}
	_, err := cr.s.core.read(ctx, op, a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_cron_list(cr.s.core.handle, handle, n.data, n.len, C.size_t(limit), slot, &f.err)
	})
	if err != nil {
		return nil, err
	}
	return readCrons(a, slot), nil
}

// All yields the schedules in the byte order of their names; those of one queue if it is not nil.
func (cr Crons) All(ctx context.Context, queue *Queue) iter.Seq2[Cron, error] {
	return func(yield func(Cron, error) bool) {
		after := ""
		for {
			page, err := cr.List(ctx, queue, after, pageDefault)
			if err != nil {
				yield(Cron{}, err)
				return
			}
			for _, cron := range page {
				if !yield(cron, nil) {
					return
				}
				after = cron.Name
			}
			if len(page) < pageDefault {
				return
			}
		}
	}
}

// readCrons copies a list and frees it.
func readCrons(a *arena, slot **C.wq_crons) []Cron {
	defer C.wq_crons_free(slot)
	c := one[C.wq_cron](a)
	list := make([]Cron, C.wq_crons_count(*slot))
	for i := range list {
		c.struct_size = C.sizeof_wq_cron
		C.wq_crons_at(*slot, C.size_t(i), c)
		list[i] = Cron{
			Name: goString(c.name), Queue: goString(c.queue_name), Expression: goString(c.expression),
			Zone: goString(c.zone), Paused: c.flags&C.WQ_CRON_PAUSED != 0,
			NextDue: fromMillis(c.next_due_ms), LastSlot: fromMillis(c.last_slot_ms),
			CreatedAt: fromMillis(c.created_ms), Fired: uint64(c.fired), Missed: uint64(c.missed),
			CatchUp: int(c.catch_up), Priority: int(c.priority), MaxAttempts: int(c.max_attempts),
			Backoff: Backoff{Kind: BackoffKind(c.backoff_kind), Base: duration(c.backoff_base_ms),
				Max: duration(c.backoff_max_ms), JitterPermille: int(c.backoff_jitter_permille)},
			Payload: goBytes(c.payload), Problem: goString(c.problem),
			Sealed: c.flags&C.WQ_JOB_ENCRYPT != 0, KeyID: uint32(c.key_id), PayloadCode: Code(c.payload_code),
		}
		for _, ms := range unsafe.Slice(c.backoff_list_ms, c.backoff_count) {
			list[i].Backoff.List = append(list[i].Backoff.List, duration(ms))
		}
		for _, h := range unsafe.Slice(c.headers, c.headers_count) {
			list[i].Headers = append(list[i].Headers, Header{Name: goString(h.name), Value: goBytes(h.value)})
		}
	}
	return list
}

// NextDue returns the first n times (1..10,000) after `from` that an expression is due, with no
// store; fewer if it is due no more often.
func NextDue(expression, zone string, from time.Time, n int) ([]time.Time, error) {
	const op = "cron_next"
	if n < 1 || n > jobsPerCallMax {
		return nil, codeError(op, ErrInvalid, "n is outside 1..10,000")
	}
	a := getArena()
	defer a.put()
	e, z, times := a.str(expression), a.str(zone), alloc[C.int64_t](a, n)
	code := C.wq_cron_next(e.data, e.len, z.data, z.len, C.int64_t(from.UnixMilli()), &times[0], C.size_t(n),
		&a.frame.count, &a.frame.err)
	if code != C.WQ_OK {
		return nil, newError(op, &a.frame.err)
	}
	out := make([]time.Time, a.frame.count)
	for i := range out {
		out[i] = time.UnixMilli(int64(times[i]))
	}
	return out, nil
}
