package wq

// Dead letters: jobs that failed for good. A dead letter is named by the token of the job, its id and
// last generation; once it was replayed that token is Stale.

// #include "shim.h"
import "C"

import (
	"context"
	"iter"
	"time"
)

// Dead is the dead letters of a queue.
type Dead struct{ q *Queue }

// Dead returns the dead letters of the queue.
func (q *Queue) Dead() Dead { return Dead{q} }

// DeadQuery says which dead letters to list. The zero value: all, the newest first.
type DeadQuery struct {
	OldestFirst bool
	Cursor      uint64 // 0: from the start; else what the page before gave
	Limit       int    // of one page, up to 1,000; 0: 100
	Reason      DeadReason
	From        time.Time // died at or after
	Until       time.Time // died before
	ErrorPart   string    // the last error has it in it
}

// List returns one page of dead letters and the cursor of the next one; 0 when there is no more.
func (d Dead) List(ctx context.Context, query DeadQuery) (page []*Job, next uint64, err error) {
	const op = "dead_list"
	a := getArena()
	defer a.put()
	c := one[C.wq_dead_query](a)
	c.struct_size = C.sizeof_wq_dead_query
	if query.OldestFirst {
		c.flags = C.WQ_DEAD_OLDEST_FIRST
	}
	if c.limit, err = number(op, "limit", query.Limit); err != nil {
		return nil, 0, err
	}
	c.cursor, c.reason = C.uint64_t(query.Cursor), C.uint32_t(query.Reason)
	c.from_ms, c.until_ms = unixMillis(query.From), unixMillis(query.Until)
	c.error_part = a.str(query.ErrorPart)
	outcome, err := d.q.read(ctx, op, a, func(f *C.wqgo_frame) C.int32_t {
		return C.wqgo_dead_list(d.q.handle, c, a.jobsOut(), &f.number, &f.err)
	})
	if err != nil || outcome != OK {
		return nil, 0, err
	}
	return readJobs(a.jobs, []*Queue{d.q}, nil), uint64(a.frame.number), nil
}

// All yields the dead letters page by page. Those that come or go meanwhile do not disturb the others.
func (d Dead) All(ctx context.Context, query DeadQuery) iter.Seq2[*Job, error] {
	return func(yield func(*Job, error) bool) {
		for {
			page, next, err := d.List(ctx, query)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, job := range page {
				if !yield(job, nil) {
					return
				}
			}
			if next == 0 {
				return
			}
			query.Cursor = next
		}
	}
}

// Get reads one dead letter. Outcomes: OK; Stale (that entry is no more: the job was replayed).
func (d Dead) Get(ctx context.Context, entry Token) (*Job, Outcome, error) {
	a := getArena()
	defer a.put()
	outcome, err := d.q.read(ctx, "dead_get", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wqgo_dead_get(d.q.handle, C.uint64_t(entry.ID), C.uint64_t(entry.Generation), a.jobsOut(),
			&f.err)
	})
	if err != nil || outcome != OK {
		return nil, outcome, err
	}
	return readJobs(a.jobs, []*Queue{d.q}, nil)[0], OK, nil
}

// Replay makes a dead job ready again, with attempts, exceptions and backoff from zero. Of several
// replays of one entry exactly one wins. Outcomes: OK; Stale; Duplicate (another job holds its key).
func (d Dead) Replay(ctx context.Context, entry Token, opts ...CallOption) (Outcome, error) {
	return d.q.outcome(ctx, "dead_replay", Power, opts, func(_ *arena, f *C.wqgo_frame) C.int32_t {
		return C.wq_dead_replay(d.q.handle, C.uint64_t(entry.ID), C.uint64_t(entry.Generation), &f.call,
			&f.err)
	})
}

// Remove removes one dead letter for ever. Outcomes: OK; Stale.
func (d Dead) Remove(ctx context.Context, entry Token, opts ...CallOption) (Outcome, error) {
	return d.q.outcome(ctx, "dead_remove", Power, opts, func(_ *arena, f *C.wqgo_frame) C.int32_t {
		return C.wq_dead_remove(d.q.handle, C.uint64_t(entry.ID), C.uint64_t(entry.Generation), &f.call,
			&f.err)
	})
}

// DeadFilter says which dead letters a bulk change is about. At least one condition is mandatory:
// Reason, From, Until, ErrorPart, which must all hold; or Entries alone; or All.
type DeadFilter struct {
	All       bool // with no other condition: really all
	DryRun    bool // only count
	Reason    DeadReason
	From      time.Time
	Until     time.Time
	ErrorPart string
	Entries   []Token // those that are stale are passed over
	Limit     uint64  // at most this many, the oldest first; 0: no limit
}

// DeadReport is what a bulk change did, also when it ended early.
type DeadReport struct {
	Changed  uint64 // replayed or removed; with DryRun: would be
	Examined uint64
	Elapsed  time.Duration
}

// ReplayMany replays all dead letters that the filter wants, the oldest first, in steps: when ctx
// ends it stops with the error of ctx, and what was done stays done. ErrFull: the queue has no room.
func (d Dead) ReplayMany(ctx context.Context, filter DeadFilter, opts ...CallOption) (DeadReport, error) {
	return d.many(ctx, "dead_replay_many", filter, opts, func(c *C.wq_dead_filter, r *C.wq_dead_report, f *C.wqgo_frame) C.int32_t {
		return C.wq_dead_replay_many(d.q.handle, c, &f.call, r, &f.err)
	})
}

// RemoveMany removes all dead letters that the filter wants for ever; else as ReplayMany.
func (d Dead) RemoveMany(ctx context.Context, filter DeadFilter, opts ...CallOption) (DeadReport, error) {
	return d.many(ctx, "dead_remove_many", filter, opts, func(c *C.wq_dead_filter, r *C.wq_dead_report, f *C.wqgo_frame) C.int32_t {
		return C.wq_dead_remove_many(d.q.handle, c, &f.call, r, &f.err)
	})
}

func (d Dead) many(ctx context.Context, op string, filter DeadFilter, opts []CallOption,
	do func(*C.wq_dead_filter, *C.wq_dead_report, *C.wqgo_frame) C.int32_t) (DeadReport, error) {
	a := getArena()
	defer a.put()
	c, report := one[C.wq_dead_filter](a), one[C.wq_dead_report](a)
	filter.fill(a, c)
	report.struct_size = C.sizeof_wq_dead_report
	outcome, err := d.q.core.cancellable(ctx, op, []*tokenSet{&d.q.blocked}, func(cancel *C.wq_cancel) (Outcome, error) {
		c.cancel = cancel
		r, err := d.q.change(ctx, op, d.q.core.others, Power, a, opts, func(f *C.wqgo_frame) C.int32_t {
			return do(c, report, f)
		})
		return r.outcome, err
	})
	if outcome == Cancelled {
		if err = ctx.Err(); err == nil {
			err = closedError(op)
		}
	}
	return DeadReport{
		Changed: uint64(report.changed), Examined: uint64(report.examined),
		Elapsed: duration(report.elapsed_ms),
	}, err
}

func (filter *DeadFilter) fill(a *arena, c *C.wq_dead_filter) {
	c.struct_size = C.sizeof_wq_dead_filter
	if filter.All {
		c.flags |= C.WQ_DEAD_ALL
	}
	if filter.DryRun {
		c.flags |= C.WQ_DEAD_DRY_RUN
	}
	c.reason = C.uint32_t(filter.Reason)
	c.from_ms, c.until_ms = unixMillis(filter.From), unixMillis(filter.Until)
	c.error_part = a.str(filter.ErrorPart)
	c.entries, c.entries_count = a.tokens(filter.Entries), C.size_t(len(filter.Entries))
	c.limit = C.uint64_t(filter.Limit)
}

// Purge removes all dead letters of the queue for ever, in one change, and returns how many.
func (d Dead) Purge(ctx context.Context, opts ...CallOption) (uint64, error) {
	a := getArena()
	defer a.put()
	_, err := d.q.change(ctx, "dead_purge", d.q.core.others, Power, a, opts, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_dead_purge(d.q.handle, &f.number, &f.call, &f.err)
	})
	return uint64(a.frame.number), err
}

// cancellable runs a long call that takes a cancel token: the end of ctx and closing end it.
func (c *core) cancellable(ctx context.Context, op string, sets []*tokenSet, do func(*C.wq_cancel) (Outcome, error)) (Outcome, error) {
	token := newToken()
	for _, set := range append(sets, &c.blocked) {
		if !set.add(token) {
			return 0, closedError(op)
		}
		defer set.remove(token)
	}
	cancel, err := token.arm(op)
	if err != nil {
		return 0, err
	}
	defer token.disarm()
	stop := context.AfterFunc(ctx, token.fire)
	defer stop()
	return do(cancel)
}
