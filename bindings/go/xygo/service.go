package xygo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"wq.internal/wq"
)

// Message is a message as its consumer gets it.
type Message struct {
	ID        uint64 `json:"id"`
	Topic     string `json:"topic"`
	Body      string `json:"body"`
	Retry     int    `json:"retry"`     // 0 at the first execution
	MaxRetry  int    `json:"maxRetry"`  // as configured when it was pushed
	CreatedAt int64  `json:"createdAt"` // Unix seconds
}

// Consumer handles the messages of a topic. nil: done. An error that is, or wraps, a RetryError: tried
// again, after the delay of the topic, until MaxRetry is used up; then a dead letter. Any other error, or
// one that Handle panics with: a dead letter at once (a panic is tried again as a RetryError is).
type Consumer interface {
	GetTopic() string
	Handle(ctx context.Context, msg *Message) error
}

// RetryError makes a failure one that may pass.
type RetryError struct{ Err error }

// NewRetryError wraps err.
func NewRetryError(err error) *RetryError { return &RetryError{err} }

func (e *RetryError) Error() string {
	if e == nil || e.Err == nil {
		return "xygo: to be tried again"
	}
	return e.Err.Error()
}

// Unwrap returns what it wraps.
func (e *RetryError) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// Options are for New.
type Options struct {
	Logger *slog.Logger
	// Now is the clock of the rates; nil: time.Now.
	Now func() time.Time
	// StopTimeout is how long Stop waits before it ends the contexts of handlers; 0: 30 s.
	StopTimeout time.Duration
	// AlertPending and AlertDead are what Alerts compares with, by "more than"; 0: 100 and 10.
	AlertPending, AlertDead int64
}

// Service is the queue of XYGo Admin with leases: a message stays in the store until its handler is
// done with it. After a crash it is handled again.
type Service struct {
	queueSet
	o       Options
	topics  map[string]*topic
	order   []string
	mu      sync.RWMutex
	saving  sync.Mutex
	running sync.WaitGroup
	stop    context.CancelFunc
	failed  error
}

type topic struct {
	name     string
	queue    *wq.Queue
	consumer Consumer
	config   atomic.Pointer[TopicConfig]
	rate     rate
}

const (
	headerKind = "xygo"
	kindBody   = "body" // the payload is the body itself, and not the JSON of a message
)

// New returns a service on a store. Register consumers, then Start.
func New(store *wq.Store, o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.AlertPending == 0 {
		o.AlertPending = 100
	}
	if o.AlertDead == 0 {
		o.AlertDead = 10
	}
	return &Service{queueSet: queueSet{store: store, open: map[string]*wq.Queue{}}, o: o, topics: map[string]*topic{}}
}

// Register makes a topic known, with the configuration that is stored for it or the default. A topic has
// one consumer.
func (s *Service) Register(ctx context.Context, c Consumer) error {
	name := c.GetTopic()
	q, err := s.queue(ctx, name)
	if err != nil {
		return err
	}
	config, err := s.load(ctx, name)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.topics[name] != nil {
		return fmt.Errorf("xygo: %q is registered already", name)
	}
	if s.stop != nil {
		return fmt.Errorf("xygo: %q: register before Start", name)
	}
	t := &topic{name: name, queue: q, consumer: c}
	if err := t.apply(ctx, config); err != nil {
		return err
	}
	s.topics[name] = t
	s.order = append(s.order, name)
	return nil
}

func (s *Service) topic(name string) *topic {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.topics[name]
}

// Topics returns the registered topics in the order of their registration.
func (s *Service) Topics() []string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return append([]string(nil), s.order...)
}

// Start begins to handle messages. It goes on when ctx ends: Stop ends it.
func (s *Service) Start(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stop != nil {
		return errors.New("xygo: started already")
	}
	var workers []*wq.Worker
	for _, name := range s.order {
		t := s.topics[name]
		// The queue bounds how many run (MaxRunning), so a change of Workers restarts nothing.
		w, err := wq.NewWorker(wq.WorkerOptions{Queues: []*wq.Queue{t.queue}, Concurrency: workersMax,
			Handler: s.handler(t), StopTimeout: s.o.StopTimeout, Logger: s.o.Logger})
		if err != nil {
			return err
		}
		workers = append(workers, w)
	}
	ctx, s.stop = context.WithCancel(context.WithoutCancel(ctx))
	for _, w := range workers {
		s.running.Add(1)
		go func() {
			defer s.running.Done()
			if err := w.Run(ctx); err != nil && !errors.Is(err, wq.ErrClosed) {
				s.o.Logger.Error("xygo: a worker ended", "error", err)
			}
		}()
	}
	return nil
}

// Stop takes no more messages, waits for the handlers that run, and gives up the queues. The store
// stays open.
func (s *Service) Stop() error {
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	if stop != nil {
		stop()
		s.running.Wait()
	}
	return s.closeAll()
}

func (s *Service) handler(t *topic) wq.Handler {
	return func(ctx context.Context, job *wq.Job) error {
		msg, err := t.message(job)
		if err != nil {
			return wq.Permanent(err)
		}
		begin := s.o.Now()
		defer func() { t.rate.add(s.o.Now(), s.o.Now().Sub(begin)) }()
		err = t.consumer.Handle(ctx, msg)
		var retry *RetryError
		switch {
		case err == nil, context.Cause(ctx) != nil:
			return err
		case errors.As(err, &retry):
			return wq.RetryAfter(time.Duration(t.config.Load().RetryDelaySec)*time.Second, err)
		}
		return wq.Permanent(err)
	}
}

// message tells a job as a message; also one that a Driver has pushed.
func (t *topic) message(job *wq.Job) (*Message, error) {
	msg := &Message{Body: string(job.Payload)}
	if string(job.Header(headerKind)) != kindBody {
		if err := json.Unmarshal(job.Payload, msg); err != nil {
			return nil, fmt.Errorf("not a message: %w", err)
		}
	}
	msg.ID, msg.Topic = job.ID, t.name
	msg.Retry, msg.MaxRetry = job.Attempts-1, job.MaxAttempts-1
	msg.CreatedAt = job.EnqueuedAt.Unix()
	return msg, nil
}

// Push puts a message into a registered topic and returns its id when it survives power loss. Text and
// bytes are the body as they are, everything else is its JSON.
func (s *Service) Push(ctx context.Context, topic string, body any) (uint64, error) {
	return s.push(ctx, topic, body, 0)
}

// DelayPush puts a message into a registered topic that is handled after `delay` or later.
func (s *Service) DelayPush(ctx context.Context, topic string, body any, delay time.Duration) (uint64, error) {
	if delay < 0 {
		return 0, fmt.Errorf("xygo: the delay is negative: %v", delay)
	}
	return s.push(ctx, topic, body, delay)
}

// Check says whether a push of this body would be taken now, and puts nothing in.
func (s *Service) Check(ctx context.Context, topic string, body any) error {
	_, err := s.enqueue(ctx, topic, body, wq.Spec{DryRun: true})
	return err
}

func (s *Service) push(ctx context.Context, topic string, body any, delay time.Duration) (uint64, error) {
	return s.enqueue(ctx, topic, body, wq.Spec{Delay: delay})
}

func (s *Service) enqueue(ctx context.Context, name string, body any, spec wq.Spec) (uint64, error) {
	t := s.topic(name)
	if t == nil {
		return 0, fmt.Errorf("%w: %q", ErrUnregistered, name)
	}
	switch b := body.(type) {
	case string:
		spec.Payload = []byte(b)
	case []byte:
		spec.Payload = b
	default:
		text, err := json.Marshal(body)
		if err != nil {
			return 0, fmt.Errorf("xygo: body for %q: %w", name, err)
		}
		spec.Payload = text
	}
	spec.MaxAttempts = t.config.Load().MaxRetry + 1
	spec.Headers = []wq.Header{{Name: headerKind, Value: []byte(kindBody)}}
	e, err := t.queue.Enqueue(ctx, spec)
	if err == nil && e.Outcome != wq.OK {
		err = fmt.Errorf("%w: %q", ErrDisabled, name)
	}
	return e.ID, err
}
