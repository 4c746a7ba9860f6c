package xygo

// Dead letters of a topic: listed, replayed, purged. Those that a Service made are dead letters of the
// topic's queue. Those that were pushed by name, as XYGo does, are dead letters of a side queue.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"wq.internal/wq"
)

// DeadLetter is a message that was given up.
type DeadLetter struct {
	Entry   wq.Token // names it in Replay and Remove
	Topic   string
	Body    []byte // as the driver stored it: of a Service the body, of a Driver the JSON of the message
	Retry   int    // how often it was tried again (of a Service)
	Error   string // the last one
	Reason  wq.DeadReason
	At      time.Time
	Pushed  time.Time
	Replays int

	side bool // of the side queue
}

const (
	burialsPerCall = 100
	pushedError    = "pushed to the dead letters"
)

// bury makes a dead letter in the side queue of the topic. Nobody else leases there, so what a crash
// leaves in between is buried by the next one, and counted meanwhile.
func (s *queueSet) bury(ctx context.Context, topic string, body []byte) error {
	if err := checkTopic(topic); err != nil {
		return err
	}
	q, err := s.handle(ctx, topic+deadSuffix)
	if err != nil {
		return err
	}
	s.burying.Lock()
	defer s.burying.Unlock()
	if _, err := q.Enqueue(ctx, wq.Spec{Payload: body}); err != nil {
		return err
	}
	return s.sweep(ctx, q)
}

// sweep fails everything that is ready in a side queue: new ones, and what a crash has left.
func (s *queueSet) sweep(ctx context.Context, q *wq.Queue) error {
	for {
		jobs, outcome, err := q.Lease(ctx, wq.LeaseOptions{Max: burialsPerCall}, wq.Memory)
		if err != nil || outcome != wq.OK {
			return err
		}
		items := make([]wq.Settlement, len(jobs))
		for i, job := range jobs {
			items[i] = wq.Settlement{Kind: wq.SettleFail, Token: job.Token, Nack: wq.Nack{Error: pushedError}}
		}
		if _, err := q.SettleMany(context.WithoutCancel(ctx), items); err != nil {
			return err
		}
	}
}

// deadCount counts both kinds.
func (s *queueSet) deadCount(ctx context.Context, topic string) (int64, error) {
	q, side, err := s.both(ctx, topic)
	if err != nil {
		return 0, err
	}
	own, err := q.Stats(ctx)
	if err != nil {
		return 0, err
	}
	pushed, err := side.Stats(ctx)
	return int64(own.Dead + pushed.Dead + pushed.Ready + pushed.Leased), err
}

func (s *queueSet) both(ctx context.Context, topic string) (q, side *wq.Queue, err error) {
	if q, err = s.queue(ctx, topic); err != nil {
		return nil, nil, err
	}
	side, err = s.handle(ctx, topic+deadSuffix)
	return q, side, err
}

// Dead returns up to `limit` dead letters of a topic, the oldest first of each kind.
func (s *queueSet) Dead(ctx context.Context, topic string, limit int) ([]DeadLetter, error) {
	q, side, err := s.both(ctx, topic)
	if err != nil {
		return nil, err
	}
	var letters []DeadLetter
	for _, from := range []*wq.Queue{q, side} {
		for job, err := range from.Dead().All(ctx, wq.DeadQuery{OldestFirst: true}) {
			if err != nil {
				return letters, err
			}
			if len(letters) == limit {
				return letters, nil
			}
			letters = append(letters, DeadLetter{
				Entry: job.Token, Topic: topic, Body: job.Payload, Retry: max(job.Attempts-1, 0),
				Error: job.LastError, Reason: job.DeadReason, At: job.DeadAt, Pushed: job.EnqueuedAt,
				Replays: job.Replays, side: from == side,
			})
		}
	}
	return letters, nil
}

// Replay puts a dead letter back into its topic, as if it had not been tried. Of several replays of
// one letter exactly one happens, the others are false.
func (s *queueSet) Replay(ctx context.Context, letter DeadLetter) (bool, error) {
	q, side, err := s.both(ctx, letter.Topic)
	if err != nil {
		return false, err
	}
	if !letter.side {
		return happened(q.Dead().Replay(ctx, letter.Entry))
	}
	s.burying.Lock()
	defer s.burying.Unlock()
	if err := s.sweep(ctx, side); err != nil { // so that the one behind it is the only one
		return false, err
	}
	if done, err := happened(side.Dead().Replay(ctx, letter.Entry, wq.Memory)); !done {
		return false, err
	}
	// Out of the side queue and into the topic in one change: after a crash it is in one of them.
	jobs, outcome, err := side.Lease(ctx, wq.LeaseOptions{}, wq.Memory)
	if err != nil || outcome != wq.OK {
		return false, err
	}
	done, err := s.store.Transact(ctx, []wq.TxnOp{
		wq.TxnAck(jobs[0]), wq.TxnEnqueue(q, wq.Spec{Payload: jobs[0].Payload, Headers: jobs[0].Headers}),
	})
	if err == nil && done.Outcome != wq.OK {
		_, back := jobs[0].Fail(ctx, pushedError)
		return false, fmt.Errorf("xygo: replay: %v (%w)", done.Outcome, orDisabled(back))
	}
	return err == nil, err
}

// happened tells a change from one that came too late: the letter was replayed, and maybe is done by
// now, or was removed.
func happened(outcome wq.Outcome, err error) (bool, error) {
	if errors.Is(err, wq.ErrNotFound) {
		return false, nil
	}
	return outcome == wq.OK && err == nil, err
}

func orDisabled(err error) error {
	if err == nil {
		return ErrDisabled
	}
	return err
}

// Remove removes a dead letter for ever; false if it is there no more.
func (s *queueSet) Remove(ctx context.Context, letter DeadLetter) (bool, error) {
	q, side, err := s.both(ctx, letter.Topic)
	if err != nil {
		return false, err
	}
	if letter.side {
		q = side
	}
	return happened(q.Dead().Remove(ctx, letter.Entry))
}

// Purge removes all dead letters of a topic for ever, and returns how many there were.
func (s *queueSet) Purge(ctx context.Context, topic string) (uint64, error) {
	q, side, err := s.both(ctx, topic)
	if err != nil {
		return 0, err
	}
	own, err := q.Dead().Purge(ctx)
	if err != nil {
		return 0, err
	}
	pushed, err := side.Dead().Purge(ctx)
	return own + pushed, err
}
