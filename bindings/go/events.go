package wq

// Events: what happens in a store, as it happens.

// #include "shim.h"
import "C"

import (
	"context"
	"iter"
	"time"
)

// EventKind is what happened.
type EventKind uint32

// Kinds of events. In brackets what the fields say beside job and queue.
const (
	EventQueued        EventKind = C.WQ_EVENT_QUEUED    // [Time: when it becomes ready]
	EventPromoted      EventKind = C.WQ_EVENT_PROMOTED  // delayed -> ready
	EventLeased        EventKind = C.WQ_EVENT_LEASED    // [Time: the deadline]
	EventConfirmed     EventKind = C.WQ_EVENT_CONFIRMED // leased -> running [Time: the deadline]
	EventAcked         EventKind = C.WQ_EVENT_ACKED
	EventNacked        EventKind = C.WQ_EVENT_NACKED   // [Time: when it is ready again]
	EventReleased      EventKind = C.WQ_EVENT_RELEASED // given back uncounted [the same]
	EventExpired       EventKind = C.WQ_EVENT_EXPIRED  // its lease was taken back [the same]
	EventDead          EventKind = C.WQ_EVENT_DEAD     // became a dead letter [DeadReason]
	EventReplayed      EventKind = C.WQ_EVENT_REPLAYED
	EventCancelled     EventKind = C.WQ_EVENT_CANCELLED
	EventCleared       EventKind = C.WQ_EVENT_CLEARED // [Job.ID 0: Count jobs of the queue at once]
	EventQueueDeclared EventKind = C.WQ_EVENT_QUEUE_DECLARED
	EventQueueChanged  EventKind = C.WQ_EVENT_QUEUE_CHANGED // configuration or status
	EventQueueDeleted  EventKind = C.WQ_EVENT_QUEUE_DELETED // with Count jobs
	EventCheckpoint    EventKind = C.WQ_EVENT_CHECKPOINT
	EventJobExpired    EventKind = C.WQ_EVENT_JOB_EXPIRED // did not start in time, and gone
	EventDropped       EventKind = C.WQ_EVENT_DROPPED     // went for a newer one; gone
	EventFlowFinished  EventKind = C.WQ_EVENT_FLOW_FINISHED
	EventKeyCools      EventKind = C.WQ_EVENT_KEY_COOLS // the rate key of the job, by its exception [Time: until]
	EventSkipped       EventKind = C.WQ_EVENT_SKIPPED   // its group was full, and gone
)

var eventNames = [...]string{"", "queued", "promoted", "leased", "confirmed", "acked", "nacked", "released",
	"expired", "dead", "replayed", "cancelled", "cleared", "queue_declared", "queue_changed",
	"queue_deleted", "checkpoint", "job_expired", "dropped", "flow_finished", "key_cools", "skipped"}

// String returns the name as in wq.h without prefix, in lower case.
func (k EventKind) String() string {
	if k > 0 && int(k) < len(eventNames) {
		return eventNames[k]
	}
	return "unknown"
}

// Event is one change of the store.
type Event struct {
	Kind       EventKind
	Sequence   uint64 // 1, 2, 3, ... since the store was opened
	LSN        uint64 // of the change; those of one call have the same
	At         time.Time
	Time       time.Time // see the kinds
	Job        Token     // ID 0: about no single job
	Count      uint64    // jobs that it is about
	Attempt    int
	DeadReason DeadReason
	Queue      string
}

// EventReader reads the events of a store in their order. It belongs to one goroutine at a time.
type EventReader struct {
	s       *Store
	flags   uint32
	epoch   uint64
	seq     uint64
	dropped uint64
}

// Events returns a reader that begins with the oldest event that is kept, or with the next one. The
// store must have been opened with Options.EventsMax.
func (s *Store) Events(fromNow bool) *EventReader {
	r := &EventReader{s: s}
	if fromNow {
		r.flags = C.WQ_EVENTS_FROM_NOW
	}
	return r
}

// Dropped returns how many events the last Read did not find any more, before its first one.
func (r *EventReader) Dropped() uint64 { return r.dropped }

const eventsPerRead = 256

// Read takes up to 256 events and waits up to `wait` for the first (0: not at all; Forever). While it
// waits it holds a thread. Outcomes: OK; Empty (after the wait).
func (r *EventReader) Read(ctx context.Context, wait time.Duration) ([]Event, Outcome, error) {
	const op = "events"
	a := getArena()
	defer a.put()
	cursor, list := one[C.wq_event_cursor](a), alloc[C.wq_store_event](a, eventsPerRead)
	*cursor = C.wq_event_cursor{struct_size: C.sizeof_wq_event_cursor, flags: C.uint32_t(r.flags),
		epoch: C.uint64_t(r.epoch), sequence: C.uint64_t(r.seq)}
	c := r.s.core
	outcome, err := c.cancellable(ctx, op, nil, func(cancel *C.wq_cancel) (Outcome, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if wait == 0 {
			return c.read(ctx, op, a, func(f *C.wqgo_frame) C.int32_t {
				return C.wq_events_poll(c.handle, cursor, &list[0], eventsPerRead, C.sizeof_wq_store_event,
					0, cancel, &f.count, &f.err)
			})
		}
		r, err := c.change(ctx, op, c.waiting, Memory, a, nil, func(f *C.wqgo_frame) C.int32_t {
			return C.wq_events_poll(c.handle, cursor, &list[0], eventsPerRead, C.sizeof_wq_store_event,
				millis(wait), cancel, &f.count, &f.err)
		})
		return r.outcome, err
	})
	if outcome == Cancelled && err == nil {
		if err = ctx.Err(); err == nil {
			err = closedError(op)
		}
	}
	if err != nil {
		return nil, 0, err
	}
	r.epoch, r.seq, r.dropped = uint64(cursor.epoch), uint64(cursor.sequence), uint64(cursor.dropped)
	return readEvents(list[:a.frame.count]), outcome, nil
}

func readEvents(list []C.wq_store_event) []Event {
	events := make([]Event, len(list))
	for i := range list {
		c := &list[i]
		events[i] = Event{
			Kind: EventKind(c.kind), Sequence: uint64(c.sequence), LSN: uint64(c.lsn),
			At: fromMillis(c.at_ms), Time: fromMillis(c.time_ms),
			Job:   Token{ID: uint64(c.job_id), Generation: uint64(c.generation)},
			Count: uint64(c.count), Attempt: int(c.attempt), DeadReason: DeadReason(c.dead_reason),
			Queue: C.GoStringN(&c.queue_name[0], C.int(c.queue_name_len)),
		}
	}
	return events
}

// All yields events as they come, until ctx ends or an error is yielded.
func (r *EventReader) All(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			events, _, err := r.Read(ctx, Forever)
			if err != nil {
				yield(Event{}, err)
				return
			}
			for _, event := range events {
				if !yield(event, nil) {
					return
				}
			}
		}
	}
}
