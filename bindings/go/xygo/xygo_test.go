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
	"wq.internal/wq/xygo"
)

// The scenarios of a topic queue: retries, dead letters, configuration, status, alerts, rates.

var ctx = context.Background()

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("unexpected error: %v", err)
	}
}

func equal[T comparable](t testing.TB, got, want T) {
	t.Helper()
	if got != want {
		t.Fatalf("got %v, want %v", got, want)
	}
}

func is(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

func openAt(t testing.TB, path string) *wq.Store {
	t.Helper()
	s, err := wq.Open(path, &wq.Options{SegmentBytes: 1 << 20, ExpireLeases: true})
	ok(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func open(t testing.TB) *wq.Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "store"))
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
		ok(t, s.Register(ctx, c))
	}
	t.Cleanup(func() { _ = s.Stop() })
	return s
}

func stats(t testing.TB, s *xygo.Service) xygo.TopicStats {
	t.Helper()
	all, err := s.Stats(ctx)
	ok(t, err)
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
			ok(t, s.Save(ctx, "mail", config(func(c *xygo.TopicConfig) { c.MaxRetry = test.maxRetry })))
			_, err := s.Push(ctx, "mail", map[string]bool{"fail": true})
			ok(t, err)
			ok(t, s.Start(ctx))
			until(t, "one dead letter", func() bool { return stats(t, s).Dead == 1 })
			equal(t, executions.Load(), test.executions)
			equal(t, stats(t, s).Pending, 0)
			letters, err := s.Dead(ctx, "mail", 10)
			ok(t, err)
			equal(t, len(letters), 1)
			equal(t, int64(letters[0].Retry), test.executions-1)
			equal(t, strings.Contains(letters[0].Error, map[bool]string{false: "not now", true: "panic: ouch"}[test.panics]), true)
			equal(t, len(stats(t, s).Errors) > 0, true)
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
	ok(t, s.Save(ctx, "mail", config(func(c *xygo.TopicConfig) { c.RetryDelaySec = 60 })))
	id, err := s.Push(ctx, "mail", "x")
	ok(t, err)
	ok(t, s.Start(ctx))
	until(t, "a delayed retry", func() bool { return stats(t, s).Pending == 1 && executions.Load() == 1 && stats(t, s).Running == 0 })
	q, err := store.ExistingQueue(ctx, "xygo:mail")
	ok(t, err)
	defer q.Close()
	job, err := q.Get(ctx, id)
	ok(t, err)
	equal(t, job.State, wq.StateDelayed)
	wait := time.Until(job.ReadyAt)
	equal(t, wait > 50*time.Second && wait <= time.Minute, true)
	equal(t, executions.Load(), 1)
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
	ok(t, s.Start(ctx))
	ok(t, s.Save(ctx, "log", config(func(c *xygo.TopicConfig) { c.Status = xygo.Paused })))
	for i := range 5 {
		_, err := s.Push(ctx, "log", fmt.Sprint(i))
		ok(t, err)
	}
	_, err := s.DelayPush(ctx, "log", "delayed", time.Hour)
	ok(t, err)
	equal(t, stats(t, s).Pending, 6)
	ok(t, s.Save(ctx, "log", config(func(c *xygo.TopicConfig) { c.Status = xygo.Disabled })))
	_, err = s.Push(ctx, "log", "no")
	is(t, err, xygo.ErrDisabled)
	_, err = s.DelayPush(ctx, "log", "no", time.Second)
	is(t, err, xygo.ErrDisabled)
	is(t, s.Check(ctx, "log", "no"), xygo.ErrDisabled)
	equal(t, stats(t, s).Config.Status, xygo.Disabled)
	equal(t, stats(t, s).Pending, 6)
	ok(t, s.Save(ctx, "log", xygo.DefaultConfig())) // without a restart
	until(t, "the backlog is done", func() bool { return stats(t, s).Pending == 1 && stats(t, s).Running == 0 })
	mu.Lock()
	defer mu.Unlock()
	equal(t, strings.Join(seen, ""), "01234")
	ok(t, s.Check(ctx, "log", "yes"))
	equal(t, stats(t, s).Pending, 1)
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
		ok(t, err)
	}
	request, cancel := context.WithCancel(ctx)
	ok(t, s.Start(request))
	cancel() // that of a request which is over: the consumers go on
	until(t, "one handler", func() bool { return running.Load() == 1 })
	ok(t, s.Save(ctx, "work", config(func(c *xygo.TopicConfig) { c.Workers = 4 })))
	until(t, "four handlers", func() bool { return running.Load() == 4 })
	equal(t, most.Load(), 4)
	ok(t, s.Save(ctx, "work", config(func(c *xygo.TopicConfig) { c.Workers = 1 })))
	for range 4 { // those that run end, and make room for one
		gate <- struct{}{}
	}
	until(t, "one handler", func() bool { return running.Load() == 1 && stats(t, s).Running == 1 })
	most.Store(0)
	for range 10 {
		gate <- struct{}{}
	}
	equal(t, most.Load() <= 1, true)
	close(gate)
	until(t, "all done", func() bool { return stats(t, s).Pending == 0 && stats(t, s).Running == 0 })
	n := 0
	seen.Range(func(any, any) bool { n++; return true })
	equal(t, n, 40)
}

func TestConfigIsChecked(t *testing.T) {
	store := open(t)
	nothing := func(context.Context, *xygo.Message) error { return nil }
	s := service(t, store, xygo.Options{}, consumer{"a", nothing})
	want := config(func(c *xygo.TopicConfig) { c.Workers, c.MaxRetry, c.RetryDelaySec = 64, 20, 86400 })
	ok(t, s.Save(ctx, "a", want))
	for _, bad := range []func(*xygo.TopicConfig){
		func(c *xygo.TopicConfig) { c.Workers = 0 }, func(c *xygo.TopicConfig) { c.Workers = 65 },
		func(c *xygo.TopicConfig) { c.MaxRetry = -1 }, func(c *xygo.TopicConfig) { c.MaxRetry = 21 },
		func(c *xygo.TopicConfig) { c.RetryDelaySec = -1 }, func(c *xygo.TopicConfig) { c.RetryDelaySec = 86401 },
		func(c *xygo.TopicConfig) { c.Status = 3 }, func(c *xygo.TopicConfig) { c.Status = -1 },
	} {
		is(t, s.Save(ctx, "a", config(bad)), xygo.ErrConfig)
	}
	is(t, s.Save(ctx, "b", xygo.DefaultConfig()), xygo.ErrUnregistered)
	is(t, s.Save(ctx, "", xygo.DefaultConfig()), xygo.ErrUnregistered)
	equal(t, stats(t, s).Config, want)
	ok(t, s.Save(ctx, "a", config(func(c *xygo.TopicConfig) { c.Workers, c.MaxRetry = 1, 0 })))
	_, err := s.Push(ctx, "b", "x")
	is(t, err, xygo.ErrUnregistered)
	is(t, s.Check(ctx, "b", "x"), xygo.ErrUnregistered)
	_, err = s.DelayPush(ctx, "a", "x", -time.Second)
	equal(t, err != nil, true)
	_, err = s.Push(ctx, "a", func() {})
	equal(t, err != nil, true)
	if err := s.Register(ctx, consumer{"a", nothing}); err == nil {
		t.Fatal("a topic twice")
	}
	for _, name := range []string{"", "x:dead", strings.Repeat("x", 201), "nul\x00", "\xff"} {
		if err := s.Register(ctx, consumer{name, nothing}); err == nil {
			t.Errorf("%q is a topic", name)
		}
	}
	for _, name := range []string{"a/b", "..", "x:delay", "mail:dead:x"} {
		ok(t, s.Register(ctx, consumer{name, nothing}))
	}
	_, err = s.Push(ctx, "..", "up")
	ok(t, err)
	equal(t, stats(t, s).Pending, 0)

	// It is there after a restart, and edited values are kept.
	again := service(t, store, xygo.Options{}, consumer{"a", nothing})
	equal(t, stats(t, again).Config.MaxRetry, 0)
}

// A crash in the middle of a handler: the message is handled again, one that is delayed is there once.
func TestCrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	store := openAt(t, path)
	started := make(chan struct{})
	s := service(t, store, xygo.Options{StopTimeout: time.Millisecond}, consumer{"mail", func(ctx context.Context, _ *xygo.Message) error {
		close(started)
		<-ctx.Done()
		return ctx.Err()
	}})
	_, err := s.Push(ctx, "mail", "again")
	ok(t, err)
	for range 2 { // equal ones in one second stay two
		_, err = s.DelayPush(ctx, "mail", "same", 1500*time.Millisecond)
		ok(t, err)
	}
	ok(t, s.Start(ctx))
	<-started
	ok(t, store.Close()) // under the handler, as by a crash: nothing of it is settled

	store = openAt(t, path)
	var mu sync.Mutex
	seen := map[string]int{}
	s = service(t, store, xygo.Options{}, consumer{"mail", func(_ context.Context, m *xygo.Message) error {
		mu.Lock()
		defer mu.Unlock()
		seen[m.Body]++
		return nil
	}})
	ok(t, s.Start(ctx))
	until(t, "all done", func() bool { return stats(t, s).Pending == 0 && stats(t, s).Running == 0 })
	mu.Lock()
	defer mu.Unlock()
	equal(t, seen["again"], 1)
	equal(t, seen["same"], 2)
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
		ok(t, err)
	}
	ok(t, s.Start(ctx))
	until(t, "three dead letters", func() bool { return stats(t, s).Dead == 3 })
	letters, err := s.Dead(ctx, "mail", 2)
	ok(t, err)
	equal(t, len(letters), 2)
	equal(t, string(letters[0].Body), "0")
	good.Store(true)
	var won atomic.Int64
	var all sync.WaitGroup
	for range 8 { // of several replays one happens
		all.Add(1)
		go func() {
			defer all.Done()
			done, err := s.Replay(ctx, letters[0])
			ok(t, err)
			if done {
				won.Add(1)
			}
		}()
	}
	all.Wait()
	equal(t, won.Load(), 1)
	until(t, "it is handled", func() bool { return handled.Load() == 1 && stats(t, s).Running == 0 })
	done, err := s.Remove(ctx, letters[1])
	ok(t, err)
	equal(t, done, true)
	done, err = s.Remove(ctx, letters[1]) // gone already
	ok(t, err)
	equal(t, done, false)
	n, err := s.Purge(ctx, "mail")
	ok(t, err)
	equal(t, n, 1)
	equal(t, stats(t, s).Dead, 0)
}

func TestAlerts(t *testing.T) {
	s := service(t, open(t), xygo.Options{AlertPending: 3, AlertDead: 1}, consumer{"mail", func(context.Context, *xygo.Message) error { return nil }})
	count := func() int {
		alerts, err := s.Alerts(ctx)
		ok(t, err)
		return len(alerts)
	}
	for range 3 {
		_, err := s.Push(ctx, "mail", "x")
		ok(t, err)
	}
	equal(t, count(), 0)
	_, err := s.Push(ctx, "mail", "x")
	ok(t, err)
	equal(t, count(), 1)
	alerts, err := s.Alerts(ctx)
	ok(t, err)
	equal(t, alerts[0].String(), "topic mail: 4 pending, more than 3")
}

// Thirty messages of a minute are a rate of thirty in the next, and none after an idle one.
func TestRate(t *testing.T) {
	var now atomic.Int64
	now.Store(600)
	s := service(t, open(t), xygo.Options{Now: func() time.Time { return time.Unix(now.Load(), 0) }},
		consumer{"mail", func(context.Context, *xygo.Message) error { return nil }})
	ok(t, s.Start(ctx))
	for range 30 {
		_, err := s.Push(ctx, "mail", "x")
		ok(t, err)
	}
	until(t, "all done", func() bool { return stats(t, s).Pending == 0 && stats(t, s).Running == 0 })
	equal(t, stats(t, s).Rate, 0)
	now.Add(60)
	equal(t, stats(t, s).Rate, 30)
	now.Add(60)
	equal(t, stats(t, s).Rate, 0)
}
