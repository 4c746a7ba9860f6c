package xygo

import (
	"context"
	"fmt"
	"sync"
	"time"

	"wq.internal/wq"
)

// TopicStats is the state of a topic.
type TopicStats struct {
	Topic     string
	Config    TopicConfig
	Pending   int64   // ready and delayed
	Running   int64   // handled just now
	Dead      int64   // dead letters
	Rate      float64 // messages that were handled in the last full minute
	AvgTakeMs float64 // mean time of those
	Errors    []wq.QueueError
}

// Stats tells the state of every registered topic.
func (s *Service) Stats(ctx context.Context) ([]TopicStats, error) {
	var all []TopicStats
	for _, name := range s.Topics() {
		t := s.topic(name)
		stats, err := t.queue.Stats(ctx)
		if err != nil {
			return nil, err
		}
		dead, err := s.deadCount(ctx, name)
		if err != nil {
			return nil, err
		}
		failures, err := t.queue.Errors(ctx)
		if err != nil {
			return nil, err
		}
		rate, mean := t.rate.last(s.o.Now())
		all = append(all, TopicStats{
			Topic: name, Config: *t.config.Load(), Pending: int64(stats.Ready + stats.Delayed),
			Running: int64(stats.Leased + stats.Running), Dead: dead, Rate: rate, AvgTakeMs: mean, Errors: failures,
		})
	}
	return all, nil
}

// Alert is a topic with more messages than it should have.
type Alert struct {
	Topic string
	What  string // "pending" or "dead"
	Count int64
	Limit int64
}

// String returns one line.
func (a Alert) String() string {
	return fmt.Sprintf("topic %s: %d %s, more than %d", a.Topic, a.Count, a.What, a.Limit)
}

// Alerts tells which topics have more than the limits of Options.
func (s *Service) Alerts(ctx context.Context) ([]Alert, error) {
	stats, err := s.Stats(ctx)
	var alerts []Alert
	for _, t := range stats {
		if t.Pending > s.o.AlertPending {
			alerts = append(alerts, Alert{t.Topic, "pending", t.Pending, s.o.AlertPending})
		}
		if t.Dead > s.o.AlertDead {
			alerts = append(alerts, Alert{t.Topic, "dead", t.Dead, s.o.AlertDead})
		}
	}
	return alerts, err
}

// rate counts by minutes of the clock.
type rate struct {
	mu           sync.Mutex
	minute       int64 // that of `now`
	now, before  int64 // messages in it, and in the one before
	took, tookBe time.Duration
}

func (r *rate) roll(at time.Time) {
	minute := at.Unix() / 60
	switch {
	case minute == r.minute:
		return
	case minute == r.minute+1:
		r.before, r.tookBe = r.now, r.took
	default:
		r.before, r.tookBe = 0, 0
	}
	r.minute, r.now, r.took = minute, 0, 0
}

func (r *rate) add(at time.Time, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.roll(at)
	r.now++
	r.took += took
}

func (r *rate) last(at time.Time) (count, meanMs float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.roll(at)
	if r.before == 0 {
		return 0, 0
	}
	return float64(r.before), float64(r.tookBe.Milliseconds()) / float64(r.before)
}
