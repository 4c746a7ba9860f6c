package xygo_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wq.internal/wq"
	"wq.internal/wq/internal/check"
	"wq.internal/wq/xygo"
)

// The scenarios of a topic queue: retries, dead letters, configuration, status, alerts, rates.

var ctx = context.Background()

// options: a store that is opened again has back at once what the one before had leased.
var options = wq.Options{ExpireLeases: true}

func open(t testing.TB) *wq.Store {
	t.Helper()
	return check.Open(t, options)
}

// consumer is a Consumer whose work is a function.
type consumer struct {
	topic string
	do    func(ctx context.Context, m *xygo.Message) error
}

func (c consumer) GetTopic() string { return c.topic }

func (c consumer) Handle(ctx context.Context, m *xygo.Message) error { return c.do(ctx, m) }

func service(t testing.TB, store *wq.Store, o xygo.Options, consumers ...consumer) *xygo.Service {
	t.Helper()
	s := xygo.New(store, o)
	for _, c := range consumers {
		check.OK(t, s.Register(ctx, c))
	}
	t.Cleanup(func() { _ = s.Stop() })
	return s
}

func stats(t testing.TB, s *xygo.Service) xygo.TopicStats {
	t.Helper()
	all, err := s.Stats(ctx)
	check.OK(t, err)
	return all[0]
}

func until(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

func config(change func(*xygo.TopicConfig)) xygo.TopicConfig {
	c := xygo.DefaultConfig()
	change(&c)
	return c
}

func TestRetries(t *testing.T) {
	later := errors.New("not now")
	for _, test := range []struct {
		name       string
		maxRetry   int
		err        error
		panics     bool
		executions int64
	}{
		{"retryable", 3, xygo.NewRetryError(later), false, 4},
		{"retryable, no reason", 1, xygo.NewRetryError(nil), false, 2},
		{"wrapped", 2, fmt.Errorf("while sending: %w", xygo.NewRetryError(later)), false, 3},
		{"no retry", 0, xygo.NewRetryError(later), false, 1},
		{"plain", 3, later, false, 1},
		{"panic", 1, nil, true, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			var executions atomic.Int64
			s := service(t, open(t), xygo.Options{}, consumer{"mail", func(_ context.Context, m *xygo.Message) error {
				if int64(m.Retry) != executions.Add(1)-1 || m.MaxRetry != test.maxRetry || m.Body != `{"fail":true}` {
					t.Errorf("message %+v", m)
				}
				if test.panics {
					panic("ouch")
				}
				return test.err
			}})
			check.OK(t, s.Save(ctx, "mail", config(func(c *xygo.TopicConfig) { c.MaxRetry = test.maxRetry })))
			_, err := s.Push(ctx, "mail", map[string]bool{"fail": true})
			check.OK(t, err)
			check.OK(t, s.Start(ctx))
			until(t, "one dead letter", func() bool { return stats(t, s).Dead == 1 })
			check.Equal(t, executions.Load(), test.executions)
			check.Equal(t, stats(t, s).Pending, 0)
			letters, err := s.Dead(ctx, "mail", 10)
			check.OK(t, err)
			check.Equal(t, len(letters), 1)
			check.Equal(t, int64(letters[0].Retry), test.executions-1)
			text := "panic: ouch"
			if !test.panics {
				text = test.err.Error()
			}
			check.Equal(t, strings.Contains(letters[0].Error, text), true)
			check.Equal(t, len(stats(t, s).Errors) > 0, true)
		})
	}
}

// After a failure the message waits for the delay of the topic, and then has Retry 1.
func TestRetryDelay(t *testing.T) {
	var executions atomic.Int64
	store := open(t)
	s := service(t, store, xygo.Options{}, consumer{"mail", func(context.Context, *xygo.Message) error {
		executions.Add(1)
		return xygo.NewRetryError(errors.New("busy"))
	}})
	check.OK(t, s.Save(ctx, "mail", config(func(c *xygo.TopicConfig) { c.RetryDelaySec = 60 })))
	id, err := s.Push(ctx, "mail", "x")
	check.OK(t, err)
	check.OK(t, s.Start(ctx))
	until(t, "a delayed retry", func() bool { return stats(t, s).Pending == 1 && executions.Load() == 1 && stats(t, s).Running == 0 })
	q, err := store.ExistingQueue(ctx, "xygo:mail")
	check.OK(t, err)
	defer q.Close()
	job, err := q.Get(ctx, id)
	check.OK(t, err)
	check.Equal(t, job.State, wq.StateDelayed)
	wait := time.Until(job.ReadyAt)
	check.Equal(t, wait > 50*time.Second && wait <= time.Minute, true)
	check.Equal(t, executions.Load(), 1)
}

func TestStatus(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	s := service(t, open(t), xygo.Options{}, consumer{"log", func(_ context.Context, m *xygo.Message) error {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, m.Body)
		return nil
	}})
	check.OK(t, s.Start(ctx))
	check.OK(t, s.Save(ctx, "log", config(func(c *xygo.TopicConfig) { c.Status = xygo.Paused })))
	for i := range 5 {
		_, err := s.Push(ctx, "log", fmt.Sprint(i))
		check.OK(t, err)
	}
	_, err := s.DelayPush(ctx, "log", "delayed", time.Hour)
	check.OK(t, err)
	check.Equal(t, stats(t, s).Pending, 6)
	check.OK(t, s.Save(ctx, "log", config(func(c *xygo.TopicConfig) { c.Status = xygo.Disabled })))
	_, err = s.Push(ctx, "log", "no")
	check.Is(t, err, xygo.ErrDisabled)
	_, err = s.DelayPush(ctx, "log", "no", time.Second)
	check.Is(t, err, xygo.ErrDisabled)
	check.Is(t, s.Check(ctx, "log", "no"), xygo.ErrDisabled)
	check.Equal(t, stats(t, s).Config.Status, xygo.Disabled)
	check.Equal(t, stats(t, s).Pending, 6)
	check.OK(t, s.Save(ctx, "log", xygo.DefaultConfig())) // without a restart
	until(t, "the backlog is done", func() bool { return stats(t, s).Pending == 1 && stats(t, s).Running == 0 })
	mu.Lock()
	defer mu.Unlock()
	check.Equal(t, strings.Join(seen, ""), "01234")
	check.OK(t, s.Check(ctx, "log", "yes"))
	check.Equal(t, stats(t, s).Pending, 1)
}

// More workers work at once after a change, fewer after the next, and every message once.
func TestWorkersChange(t *testing.T) {
	var running, most atomic.Int64
	var seen sync.Map
	gate := make(chan struct{})
	s := service(t, open(t), xygo.Options{}, consumer{"work", func(_ context.Context, m *xygo.Message) error {
		now := running.Add(1)
		defer running.Add(-1)
		most.Store(max(most.Load(), now))
		if _, twice := seen.LoadOrStore(m.Body, true); twice {
			t.Errorf("%s twice", m.Body)
		}
		<-gate
		return nil
	}})
	for i := range 40 {
		_, err := s.Push(ctx, "work", fmt.Sprint(i))
		check.OK(t, err)
	}
	request, cancel := context.WithCancel(ctx)
	check.OK(t, s.Start(request))
	cancel() // that of a request which is over: the consumers go on
	until(t, "one handler", func() bool { return running.Load() == 1 })
	check.OK(t, s.Save(ctx, "work", config(func(c *xygo.TopicConfig) { c.Workers = 4 })))
	until(t, "four handlers", func() bool { return running.Load() == 4 })
	check.Equal(t, most.Load(), 4)
	check.OK(t, s.Save(ctx, "work", config(func(c *xygo.TopicConfig) { c.Workers = 1 })))
	for range 4 { // those that run end, and make room for one
		gate <- struct{}{}
	}
	until(t, "one handler", func() bool { return running.Load() == 1 && stats(t, s).Running == 1 })
	most.Store(0)
	for range 10 {
		gate <- struct{}{}
	}
	check.Equal(t, most.Load() <= 1, true)
	close(gate)
	until(t, "all done", func() bool { return stats(t, s).Pending == 0 && stats(t, s).Running == 0 })
	n := 0
	seen.Range(func(any, any) bool { n++; return true })
	check.Equal(t, n, 40)
}

func TestConfigIsChecked(t *testing.T) {
	store := open(t)
	nothing := func(context.Context, *xygo.Message) error { return nil }
	s := service(t, store, xygo.Options{}, consumer{"a", nothing})
	want := config(func(c *xygo.TopicConfig) { c.Workers, c.MaxRetry, c.RetryDelaySec = 64, 20, 86400 })
	check.OK(t, s.Save(ctx, "a", want))
	for _, bad := range []func(*xygo.TopicConfig){
		func(c *xygo.TopicConfig) { c.Workers = 0 }, func(c *xygo.TopicConfig) { c.Workers = 65 },
		func(c *xygo.TopicConfig) { c.MaxRetry = -1 }, func(c *xygo.TopicConfig) { c.MaxRetry = 21 },
		func(c *xygo.TopicConfig) { c.RetryDelaySec = -1 }, func(c *xygo.TopicConfig) { c.RetryDelaySec = 86401 },
		func(c *xygo.TopicConfig) { c.Status = 3 }, func(c *xygo.TopicConfig) { c.Status = -1 },
	} {
		check.Is(t, s.Save(ctx, "a", config(bad)), xygo.ErrConfig)
	}
	check.Is(t, s.Save(ctx, "b", xygo.DefaultConfig()), xygo.ErrUnregistered)
	check.Is(t, s.Save(ctx, "", xygo.DefaultConfig()), xygo.ErrUnregistered)
	check.Equal(t, stats(t, s).Config, want)
	check.OK(t, s.Save(ctx, "a", config(func(c *xygo.TopicConfig) { c.Workers, c.MaxRetry = 1, 0 })))
	_, err := s.Push(ctx, "b", "x")
	check.Is(t, err, xygo.ErrUnregistered)
	check.Is(t, s.Check(ctx, "b", "x"), xygo.ErrUnregistered)
	_, err = s.DelayPush(ctx, "a", "x", -time.Second)
	check.Equal(t, err != nil, true)
	_, err = s.Push(ctx, "a", func() {})
	check.Equal(t, err != nil, true)
	if err := s.Register(ctx, consumer{"a", nothing}); err == nil {
		t.Fatal("a topic twice")
	}
	for _, name := range []string{"", "x:dead", strings.Repeat("x", 201), "nul\x00", "\xff"} {
		if err := s.Register(ctx, consumer{name, nothing}); err == nil {
			t.Errorf("%q is a topic", name)
		}
	}
	for _, name := range []string{"a/b", "..", "x:delay", "mail:dead:x"} {
		check.OK(t, s.Register(ctx, consumer{name, nothing}))
	}
	_, err = s.Push(ctx, "..", "up")
	check.OK(t, err)
	check.Equal(t, stats(t, s).Pending, 0)

	// It is there after a restart, and edited values are kept.
	again := service(t, store, xygo.Options{}, consumer{"a", nothing})
	check.Equal(t, stats(t, again).Config.MaxRetry, 0)
}

// A crash in the middle of a handler: the message is handled again, one that is delayed is there once.
func TestCrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	store := check.OpenAt(t, path, options)
	started := make(chan struct{})
	s := service(t, store, xygo.Options{StopTimeout: time.Millisecond}, consumer{"mail", func(ctx context.Context, _ *xygo.Message) error {
		close(started)
		<-ctx.Done()
		return ctx.Err()
	}})
	_, err := s.Push(ctx, "mail", "again")
	check.OK(t, err)
	for range 2 { // equal ones in one second stay two
		_, err = s.DelayPush(ctx, "mail", "same", 1500*time.Millisecond)
		check.OK(t, err)
	}
	check.OK(t, s.Start(ctx))
	<-started
	check.OK(t, store.Close()) // under the handler, as by a crash: nothing of it is settled

	store = check.OpenAt(t, path, options)
	var mu sync.Mutex
	seen := map[string]int{}
	s = service(t, store, xygo.Options{}, consumer{"mail", func(_ context.Context, m *xygo.Message) error {
		mu.Lock()
		defer mu.Unlock()
		seen[m.Body]++
		return nil
	}})
	check.OK(t, s.Start(ctx))
	until(t, "all done", func() bool { return stats(t, s).Pending == 0 && stats(t, s).Running == 0 })
	mu.Lock()
	defer mu.Unlock()
	check.Equal(t, seen["again"], 1)
	check.Equal(t, seen["same"], 2)
}

func TestDeadLetters(t *testing.T) {
	var good atomic.Bool
	var handled atomic.Int64
	s := service(t, open(t), xygo.Options{}, consumer{"mail", func(context.Context, *xygo.Message) error {
		if good.Load() {
			handled.Add(1)
			return nil
		}
		return errors.New("no")
	}})
	for i := range 3 {
		_, err := s.Push(ctx, "mail", fmt.Sprint(i))
		check.OK(t, err)
	}
	check.OK(t, s.Start(ctx))
	until(t, "three dead letters", func() bool { return stats(t, s).Dead == 3 })
	letters, err := s.Dead(ctx, "mail", 2)
	check.OK(t, err)
	check.Equal(t, len(letters), 2)
	check.Equal(t, string(letters[0].Body), "0")
	good.Store(true)
	var won atomic.Int64
	var all sync.WaitGroup
	for range 8 { // of several replays one happens
		all.Add(1)
		go func() {
			defer all.Done()
			done, err := s.Replay(ctx, letters[0])
			check.OK(t, err)
			if done {
				won.Add(1)
			}
		}()
	}
	all.Wait()
	check.Equal(t, won.Load(), 1)
	until(t, "it is handled", func() bool { return handled.Load() == 1 && stats(t, s).Running == 0 })
	done, err := s.Remove(ctx, letters[1])
	check.OK(t, err)
	check.Equal(t, done, true)
	done, err = s.Remove(ctx, letters[1]) // gone already
	check.OK(t, err)
	check.Equal(t, done, false)
	n, err := s.Purge(ctx, "mail")
	check.OK(t, err)
	check.Equal(t, n, 1)
	check.Equal(t, stats(t, s).Dead, 0)
}

func TestAlerts(t *testing.T) {
	s := service(t, open(t), xygo.Options{AlertPending: 3, AlertDead: 1}, consumer{"mail", func(context.Context, *xygo.Message) error { return nil }})
	count := func() int {
		alerts, err := s.Alerts(ctx)
		check.OK(t, err)
		return len(alerts)
	}
	for range 3 {
		_, err := s.Push(ctx, "mail", "x")
		check.OK(t, err)
	}
	check.Equal(t, count(), 0)
	_, err := s.Push(ctx, "mail", "x")
	check.OK(t, err)
	check.Equal(t, count(), 1)
	alerts, err := s.Alerts(ctx)
	check.OK(t, err)
	check.Equal(t, alerts[0].String(), "topic mail: 4 pending, more than 3")
}

// Thirty messages of a minute are a rate of thirty in the next, and none after an idle one.
func TestRate(t *testing.T) {
	var now atomic.Int64
	now.Store(600)
	s := service(t, open(t), xygo.Options{Now: func() time.Time { return time.Unix(now.Load(), 0) }},
		consumer{"mail", func(context.Context, *xygo.Message) error { return nil }})
	check.OK(t, s.Start(ctx))
	for range 30 {
		_, err := s.Push(ctx, "mail", "x")
		check.OK(t, err)
	}
	until(t, "all done", func() bool { return stats(t, s).Pending == 0 && stats(t, s).Running == 0 })
	check.Equal(t, stats(t, s).Rate, 0)
	now.Add(60)
	check.Equal(t, stats(t, s).Rate, 30)
	now.Add(60)
	check.Equal(t, stats(t, s).Rate, 0)
}
