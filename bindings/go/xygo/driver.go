// Package xygo is the queue of XYGo Admin on wq.
//
// [Driver] has the methods of the Driver and DelayDriver interfaces of that project's queue package,
// for its own Message type, so that its queue runs on a wq store by one line of set-up. Those
// interfaces have no acknowledgement: a message that was popped is gone, and a crash of the handler
// loses it. [Service] is the same queue with leases: workers per topic, retries, topic configuration
// and dead letters, where a message leaves the store when its handler is done with it.
package xygo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"wq.internal/wq"
)

// ErrTopic says that a name can not be a topic: 1 to 200 bytes of UTF-8, no control characters, and
// not the name of the dead letters of another one.
var ErrTopic = errors.New("xygo: not a topic name")

const (
	queuePrefix = "xygo:"
	deadSuffix  = ":dead"
	topicMax    = 200
)

// ErrDisabled says that a topic is disabled: it takes no messages.
var ErrDisabled = errors.New("xygo: the topic is disabled")

// Driver is a driver for the queue of XYGo Admin, where M is its Message type: *Driver[queue.Message]
// is a queue.Driver and a queue.DelayDriver. A message is stored as its JSON text. Messages pushed to
// "TOPIC:dead" become dead letters of the topic, see Dead.
type Driver[M any] struct {
	store *wq.Store
	queueSet
}

// NewDriver returns a driver on a store. Close of the driver leaves the store open.
func NewDriver[M any](store *wq.Store) *Driver[M] {
	return &Driver[M]{store: store, queueSet: queueSet{store: store, open: map[string]*wq.Queue{}}}
}

// Push puts a message at the tail of a topic. It returns when the message survives power loss.
func (d *Driver[M]) Push(ctx context.Context, topic string, msg *M) error {
	if base, dead := strings.CutSuffix(topic, deadSuffix); dead && base != "" {
		return d.bury(ctx, base, msg)
	}
	return d.enqueue(ctx, topic, msg, time.Time{})
}

// DelayPush puts a message into a topic that is popped at executeAt (Unix seconds) or later. Messages
// that are equal stay two.
func (d *Driver[M]) DelayPush(ctx context.Context, topic string, msg *M, executeAt int64) error {
	return d.enqueue(ctx, topic, msg, time.Unix(executeAt, 0))
}

func (d *Driver[M]) enqueue(ctx context.Context, topic string, msg *M, at time.Time) error {
	q, err := d.queue(ctx, topic)
	if err != nil {
		return err
	}
	body, err := json.Marshal(msg)
	if err != nil {
		return fmt.Errorf("xygo: message of %q: %w", topic, err)
	}
	e, err := q.Enqueue(ctx, wq.Spec{Payload: body, RunAt: at})
	if err == nil && e.Outcome != wq.OK {
		err = fmt.Errorf("%w: %q", ErrDisabled, topic)
	}
	return err
}

// Pop takes the message at the head of a topic, and waits up to `timeout` for one; (nil, nil) when
// there is none. The message is removed for good before it is returned.
func (d *Driver[M]) Pop(ctx context.Context, topic string, timeout time.Duration) (*M, error) {
	q, err := d.queue(ctx, topic)
	if err != nil {
		return nil, err
	}
	jobs, _, err := q.Lease(ctx, wq.LeaseOptions{Wait: max(timeout, 0)}, wq.Memory)
	if err != nil || len(jobs) == 0 {
		return nil, err
	}
	msg := new(M)
	if err := json.Unmarshal(jobs[0].Payload, msg); err != nil {
		_, failed := jobs[0].Fail(ctx, "not a message: "+err.Error())
		return nil, errors.Join(fmt.Errorf("xygo: %q has a job that is no message, it is dead now: %w", topic, err), failed)
	}
	// Not ctx: a message that is taken is taken.
	outcome, err := jobs[0].Ack(context.WithoutCancel(ctx))
	if err != nil || outcome != wq.OK {
		return nil, err
	}
	return msg, nil
}

// PollDelay returns (nil, nil): wq makes due messages ready by itself, at their time and in the order
// of their times, and Pop finds them.
func (d *Driver[M]) PollDelay(context.Context, string) (*M, error) { return nil, nil }

// Len returns how many messages of a topic wait, delayed ones included; of "TOPIC:dead" the dead
// letters. An error is told, and never shown as 0.
func (d *Driver[M]) Len(ctx context.Context, topic string) (int64, error) {
	if base, dead := strings.CutSuffix(topic, deadSuffix); dead && base != "" {
		return d.deadCount(ctx, base)
	}
	q, err := d.queue(ctx, topic)
	if err != nil {
		return 0, err
	}
	stats, err := q.Stats(ctx)
	return int64(stats.Ready + stats.Delayed), err
}

func (d *Driver[M]) bury(ctx context.Context, topic string, msg *M) error {
	body, err := json.Marshal(msg)
	if err != nil {
		return fmt.Errorf("xygo: message of %q: %w", topic, err)
	}
	return d.queueSet.bury(ctx, topic, body)
}

// Close gives up the queues of the driver; Push and Pop are wq.ErrClosed from then on.
func (d *Driver[M]) Close() error { return d.closeAll() }

// queueSet is the queues that are open, by topic.
type queueSet struct {
	store   *wq.Store
	mu      sync.Mutex
	burying sync.Mutex
	open    map[string]*wq.Queue
	closed  bool
}

func (s *queueSet) queue(ctx context.Context, topic string) (*wq.Queue, error) {
	if err := checkTopic(topic); err != nil {
		return nil, err
	}
	return s.handle(ctx, topic)
}

// handle opens the queue of a topic, or of its dead letters.
func (s *queueSet) handle(ctx context.Context, topic string) (*wq.Queue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("xygo: %w", wq.ErrClosed)
	}
	if q := s.open[topic]; q != nil {
		return q, nil
	}
	q, err := s.store.Queue(ctx, queuePrefix+topic, nil)
	if err != nil {
		return nil, err
	}
	s.open[topic] = q
	return q, nil
}

func (s *queueSet) closeAll() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, q := range s.open {
		_ = q.Close()
	}
	return nil
}

func checkTopic(topic string) error {
	if topic == "" || len(topic) > topicMax || strings.HasSuffix(topic, deadSuffix) {
		return fmt.Errorf("%w: %q", ErrTopic, topic)
	}
	return nil // wq refuses the rest: control characters, broken UTF-8
}
