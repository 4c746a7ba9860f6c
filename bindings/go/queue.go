package wq

// Queues: handles, status, clearing and deleting.

// #include "shim.h"
import "C"

import (
	"context"
	"io"
	"runtime"
	"sync/atomic"
	"unsafe"
)

// Queue is a handle on one queue of an open store. Several handles on one queue are fine. All
// methods may be called by any goroutine.
type Queue struct {
	core    *core
	store   *Store // keeps it from being finalized while a queue of it is in use
	handle  *C.wq_queue
	name    string
	gate    gate
	blocked tokenSet
	level   atomic.Uint32 // durability of the queue, as far as this handle knows; 0: it does not
}

var _ io.Closer = (*Queue)(nil)

// Queue returns a handle on a queue, declaring the queue if it is not there. The configuration (nil:
// all defaults) is that of a queue declared by this call; one that is there already keeps its own.
func (s *Store) Queue(ctx context.Context, name string, config *Config) (*Queue, error) {
	return s.openQueue(ctx, name, config, 0)
}

// ExistingQueue returns a handle on a queue that is there; else ErrNotFound.
func (s *Store) ExistingQueue(ctx context.Context, name string) (*Queue, error) {
	return s.openQueue(ctx, name, nil, C.WQ_QUEUE_NO_CREATE)
}

func (s *Store) openQueue(ctx context.Context, name string, config *Config, flags C.uint32_t) (*Queue, error) {
	const op = "queue"
	a := getArena()
	defer a.put()
	var given *C.wq_queue_config
	if config != nil {
		given = one[C.wq_queue_config](a)
		if err := config.fill(op, given); err != nil {
			return nil, err
		}
	}
	slot := one[*C.wq_queue](a)
	n := a.str(name)
	_, err := s.core.read(ctx, op, a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_queue_open(s.core.handle, n.data, n.len, given, flags, slot, &f.err)
	})
	if err != nil {
		return nil, err
	}
	q := &Queue{core: s.core, store: s, handle: *slot, name: name}
	q.gate.empty = make(chan struct{})
	q.learnLevel(a)
	runtime.SetFinalizer(q, func(q *Queue) { go q.close() })
	return q, nil
}

// learnLevel reads the durability of the queue. Should another handle change it later, calls that
// name no level themselves only wait in another way for what they wait for.
func (q *Queue) learnLevel(a *arena) {
	c := one[C.wq_queue_config](a)
	c.struct_size = C.sizeof_wq_queue_config
	if C.wq_queue_get_config(q.handle, c, nil) == C.WQ_OK {
		q.level.Store(uint32(c.durability))
	}
}

func (q *Queue) usual() Durability { return Durability(q.level.Load()) }

// Name returns the name of the queue.
func (q *Queue) Name() string { return q.name }

// Store returns the store that the queue is of.
func (q *Queue) Store() *Store { return q.store }

// Close ends the waits on this handle with ErrClosed and gives the handle up. The queue itself is
// untouched. It never fails, may be called again, and also after the store was closed.
func (q *Queue) Close() error {
	runtime.SetFinalizer(q, nil)
	q.close()
	return nil
}

func (q *Queue) close() {
	first := q.gate.shut()
	q.blocked.fireAll()
	<-q.gate.empty
	if !first {
		return
	}
	a := getArena()
	defer a.put()
	slot := one[*C.wq_queue](a)
	*slot = q.handle
	C.wq_queue_close(slot)
}

// Status is whether a queue takes and gives jobs.
type Status uint32

// Status of a queue.
const (
	StatusActive   Status = C.WQ_STATUS_ACTIVE
	StatusPaused   Status = C.WQ_STATUS_PAUSED   // no lease; enqueue goes on
	StatusDisabled Status = C.WQ_STATUS_DISABLED // no lease and no enqueue; delayed jobs stay
)

// String returns "active", "paused" or "disabled".
func (s Status) String() string {
	switch s {
	case StatusActive:
		return "active"
	case StatusPaused:
		return "paused"
	case StatusDisabled:
		return "disabled"
	}
	return "unknown"
}

// Pause stops handing out jobs of this queue: active -> paused. Enqueue, settles, expiry and
// promotion go on. Pausing a paused queue changes nothing. Pause and Resume are about consumers,
// Disable and Enable about producers, and neither undoes the other.
func (q *Queue) Pause(ctx context.Context, opts ...CallOption) error {
	_, err := q.outcome(ctx, "pause", Power, opts, func(_ *arena, f *C.wqgo_frame) C.int32_t {
		return C.wq_queue_pause(q.handle, &f.call, &f.err)
	})
	return err
}

// Resume hands out jobs again: paused -> active. Waiting consumers wake up.
func (q *Queue) Resume(ctx context.Context, opts ...CallOption) error {
	_, err := q.outcome(ctx, "resume", Power, opts, func(_ *arena, f *C.wqgo_frame) C.int32_t {
		return C.wq_queue_resume(q.handle, &f.call, &f.err)
	})
	return err
}

// Disable refuses new jobs and hands out none. Settles, expiry and promotion go on.
func (q *Queue) Disable(ctx context.Context, opts ...CallOption) error {
	_, err := q.outcome(ctx, "disable", Power, opts, func(_ *arena, f *C.wqgo_frame) C.int32_t {
		return C.wq_queue_disable(q.handle, &f.call, &f.err)
	})
	return err
}

// Enable takes jobs again: disabled -> active, or paused if it was paused before or meanwhile.
func (q *Queue) Enable(ctx context.Context, opts ...CallOption) error {
	_, err := q.outcome(ctx, "enable", Power, opts, func(_ *arena, f *C.wqgo_frame) C.int32_t {
		return C.wq_queue_enable(q.handle, &f.call, &f.err)
	})
	return err
}

// State is where a job is.
type State uint32

// States of a job.
const (
	StateReady   State = C.WQ_STATE_READY
	StateDelayed State = C.WQ_STATE_DELAYED
	StateLeased  State = C.WQ_STATE_LEASED
	StateRunning State = C.WQ_STATE_RUNNING
	StateDead    State = C.WQ_STATE_DEAD
)

// String returns "ready", "delayed", "leased", "running" or "dead".
func (s State) String() string {
	switch s {
	case StateReady:
		return "ready"
	case StateDelayed:
		return "delayed"
	case StateLeased:
		return "leased"
	case StateRunning:
		return "running"
	case StateDead:
		return "dead"
	}
	return "unknown"
}

// Clear removes all jobs of the queue that are in one of the states, in one change; with no states
// given those that are ready or delayed. Leased and running jobs lose their lease: a later settle
// is Stale. It returns how many there were.
func (q *Queue) Clear(ctx context.Context, states []State, opts ...CallOption) (uint64, error) {
	a := getArena()
	defer a.put()
	var mask C.uint32_t
	for _, s := range states {
		if s > 31 {
			return 0, codeError("clear", ErrInvalid, "no such state")
		}
		mask |= 1 << s
	}
	_, err := q.change(ctx, "clear", q.core.others, Power, a, opts, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_queue_clear(q.handle, mask, &f.number, &f.call, &f.err)
	})
	return uint64(a.frame.number), err
}

// Delete deletes the queue with all its jobs, dead letters, configuration and totals, in one change.
// Every handle on it is ErrNotFound from then on. The name may be declared again and starts clean.
func (q *Queue) Delete(ctx context.Context, opts ...CallOption) error {
	_, err := q.outcome(ctx, "delete", Power, opts, func(_ *arena, f *C.wqgo_frame) C.int32_t {
		return C.wq_queue_delete(q.handle, &f.call, &f.err)
	})
	return err
}

// Queues returns the names of all queues, in byte order, as of one moment.
func (s *Store) Queues(ctx context.Context) ([]string, error) {
	a := getArena()
	defer a.put()
	slot := one[*C.wq_list](a)
	_, err := s.core.read(ctx, "queues", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_store_queues(s.core.handle, slot, &f.err)
	})
	if err != nil {
		return nil, err
	}
	defer C.wq_list_free(slot)
	names := make([]string, C.wq_list_count(*slot))
	name := one[C.wq_bytes](a)
	for i := range names {
		C.wq_list_name(*slot, C.size_t(i), name)
		names[i] = goString(*name)
	}
	return names, nil
}

// text copies a text of the library and frees it.
func text(slot **C.wq_text) string {
	if *slot == nil {
		return ""
	}
	defer C.wq_text_free(slot)
	b := C.wq_text_bytes(*slot)
	return string(unsafe.Slice((*byte)(b.data), b.len))
}
