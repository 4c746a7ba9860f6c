package xygo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"wq.internal/wq"
)

// Status is whether a topic takes and handles messages.
type Status int

// Status of a topic. The numbers 0 and 1 are those of XYGo.
const (
	Disabled Status = 0 // takes none and handles none; what waits stays
	Active   Status = 1
	Paused   Status = 2 // takes messages, handles none
)

// TopicConfig is how a topic is handled. Save refuses what is out of bounds, and then changes nothing.
type TopicConfig struct {
	Title         string `json:"title"`
	Workers       int    `json:"workers"`       // handlers at once: 1..64
	MaxRetry      int    `json:"maxRetry"`      // 0..20; 0: one execution and no more
	RetryDelaySec int    `json:"retryDelaySec"` // 0..86400, at the moment of the failure
	Status        Status `json:"status"`
	Remark        string `json:"remark"`
}

// DefaultConfig is that of a topic which was never configured.
func DefaultConfig() TopicConfig { return TopicConfig{Workers: 1, MaxRetry: 3, Status: Active} }

const (
	workersMax    = 64
	maxRetryMax   = 20
	retryDelayMax = 86400
	configPrefix  = "xygo:config:"
)

// ErrConfig says what of a configuration is out of bounds.
var ErrConfig = errors.New("xygo: configuration out of bounds")

// ErrUnregistered says that no consumer is registered for the topic.
var ErrUnregistered = errors.New("xygo: the topic is not registered")

func (c *TopicConfig) check() error {
	switch {
	case c.Workers < 1 || c.Workers > workersMax:
		return fmt.Errorf("%w: workers is %d, want 1..%d", ErrConfig, c.Workers, workersMax)
	case c.MaxRetry < 0 || c.MaxRetry > maxRetryMax:
		return fmt.Errorf("%w: maxRetry is %d, want 0..%d", ErrConfig, c.MaxRetry, maxRetryMax)
	case c.RetryDelaySec < 0 || c.RetryDelaySec > retryDelayMax:
		return fmt.Errorf("%w: retryDelaySec is %d, want 0..%d", ErrConfig, c.RetryDelaySec, retryDelayMax)
	case c.Status < Disabled || c.Status > Paused:
		return fmt.Errorf("%w: status is %d, want 0, 1 or 2", ErrConfig, c.Status)
	}
	return nil
}

// Save configures a registered topic, from this moment on, and for good: it is stored with the queue.
// Workers that run are not interrupted; no message is lost or handled twice by it.
func (s *Service) Save(ctx context.Context, topic string, config TopicConfig) error {
	t := s.topic(topic)
	if t == nil {
		return fmt.Errorf("%w: %q", ErrUnregistered, topic)
	}
	if err := config.check(); err != nil {
		return err
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	if _, _, err := s.store.KV().Put(ctx, configPrefix+topic, text, wq.RowOptions{}); err != nil {
		return err
	}
	return t.apply(ctx, config)
}

// load reads the stored configuration of a topic.
func (s *Service) load(ctx context.Context, topic string) (TopicConfig, error) {
	config := DefaultConfig()
	row, found, err := s.store.KV().Get(ctx, configPrefix+topic)
	if err != nil || !found {
		return config, err
	}
	if err := json.Unmarshal(row.Value, &config); err != nil {
		return config, fmt.Errorf("xygo: stored configuration of %q: %w", topic, err)
	}
	return config, config.check()
}

// apply makes the queue do what the configuration says: it bounds what runs by itself.
func (t *topic) apply(ctx context.Context, config TopicConfig) error {
	_, err := t.queue.Configure(ctx, wq.Config{
		MaxRunning: &config.Workers,
		MaxRetries: &config.MaxRetry,
		Backoff:    &wq.Backoff{Kind: wq.BackoffFixed, Base: time.Duration(config.RetryDelaySec) * time.Second},
	})
	// What stops comes first, so that nothing is handed out in between.
	steps := map[Status][2]func(context.Context, ...wq.CallOption) error{
		Active:   {t.queue.Resume, t.queue.Enable},
		Paused:   {t.queue.Pause, t.queue.Enable},
		Disabled: {t.queue.Disable, t.queue.Resume},
	}[config.Status]
	for _, step := range steps {
		if err == nil {
			err = step(ctx)
		}
	}
	if err == nil {
		t.config.Store(&config)
	}
	return err
}
