package xygo_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"wq.internal/wq"
	"wq.internal/wq/internal/check"
	"wq.internal/wq/xygo"
)

// upstream is a message as another package has it.
type upstream struct {
	Topic     string `json:"topic"`
	Body      string `json:"body"`
	Retry     int    `json:"retry"`
	MaxRetry  int    `json:"maxRetry"`
	CreatedAt int64  `json:"createdAt"`
}

// driver and delayDriver are the methods that such a package asks for.
type driver interface {
	Push(ctx context.Context, topic string, msg *upstream) error
	Pop(ctx context.Context, topic string, timeout time.Duration) (*upstream, error)
	Len(ctx context.Context, topic string) (int64, error)
	Close() error
}

type delayDriver interface {
	driver
	DelayPush(ctx context.Context, topic string, msg *upstream, executeAt int64) error
	PollDelay(ctx context.Context, topic string) (*upstream, error)
}

var _ delayDriver = (*xygo.Driver[upstream])(nil)

func TestDriver(t *testing.T) {
	store := open(t)
	d := xygo.NewDriver[upstream](store)
	big := upstream{Topic: "t", Body: strings.Repeat("x", 100<<10), Retry: 1, MaxRetry: 3, CreatedAt: 5}
	check.OK(t, d.Push(ctx, "t", &big))
	check.OK(t, d.Push(ctx, "t", &upstream{Body: "second"}))
	check.OK(t, d.DelayPush(ctx, "t", &upstream{Body: "due"}, time.Now().Unix()-5))
	check.OK(t, d.DelayPush(ctx, "t", &upstream{Body: "later"}, time.Now().Unix()+300))
	n, err := d.Len(ctx, "t")
	check.OK(t, err)
	check.Equal(t, n, 4)
	for _, want := range []upstream{big, {Body: "second"}, {Body: "due"}} {
		got, err := d.Pop(ctx, "t", time.Minute)
		check.OK(t, err)
		check.Equal(t, *got, want)
	}
	got, err := d.Pop(ctx, "t", time.Millisecond)
	check.OK(t, err)
	check.Equal(t, got == nil, true)
	got, err = d.PollDelay(ctx, "t")
	check.OK(t, err)
	check.Equal(t, got == nil, true)

	waited := make(chan *upstream)
	go func() {
		got, err := d.Pop(ctx, "wake", time.Minute)
		if err != nil {
			t.Error(err)
		}
		waited <- got
	}()
	check.OK(t, d.Push(ctx, "wake", &upstream{Body: "up"}))
	check.Equal(t, (<-waited).Body, "up")
	stop, cancel := context.WithCancel(ctx)
	cancel()
	_, err = d.Pop(stop, "t", time.Minute)
	check.Is(t, err, context.Canceled)

	// A job that is no message is dead, and does not stop the others.
	q, err := store.Queue(ctx, "xygo:t", nil)
	check.OK(t, err)
	_, err = q.Enqueue(ctx, wq.Spec{Payload: []byte("{")})
	check.OK(t, err)
	check.OK(t, d.Push(ctx, "t", &upstream{Body: "behind"}))
	_, err = d.Pop(ctx, "t", 0)
	check.Equal(t, err != nil, true)
	got, err = d.Pop(ctx, "t", 0)
	check.OK(t, err)
	check.Equal(t, got.Body, "behind")
	for _, name := range []string{"", ":dead", "x:dead:dead", "a\x00"} {
		if err := d.Push(ctx, name, &big); err == nil {
			t.Errorf("%q is a topic", name)
		}
	}
	check.OK(t, d.Close())
	check.Is(t, d.Push(ctx, "t", &big), wq.ErrClosed)
	_, err = d.Pop(ctx, "t", 0)
	check.Is(t, err, wq.ErrClosed)
	_, err = d.Len(ctx, "t")
	check.Is(t, err, wq.ErrClosed)
}

// What is pushed to the dead letters by name is one of them, and can be replayed.
func TestDriverDeadLetters(t *testing.T) {
	d := xygo.NewDriver[upstream](open(t))
	check.OK(t, d.Push(ctx, "t:dead", &upstream{Topic: "t", Body: "given up", Retry: 3}))
	n, err := d.Len(ctx, "t:dead")
	check.OK(t, err)
	check.Equal(t, n, 1)
	letters, err := d.Dead(ctx, "t", 10)
	check.OK(t, err)
	check.Equal(t, len(letters), 1)
	check.Equal(t, strings.Contains(string(letters[0].Body), "given up"), true)
	done, err := d.Replay(ctx, letters[0])
	check.OK(t, err)
	check.Equal(t, done, true)
	done, err = d.Replay(ctx, letters[0])
	check.OK(t, err)
	check.Equal(t, done, false)
	got, err := d.Pop(ctx, "t", 0)
	check.OK(t, err)
	check.Equal(t, got.Body, "given up")
}

// What a Driver pushed a Service handles.
func TestDriverFeedsService(t *testing.T) {
	store := open(t)
	d := xygo.NewDriver[upstream](store)
	check.OK(t, d.Push(ctx, "mail", &upstream{Topic: "mail", Body: "hello"}))
	got := make(chan xygo.Message, 1)
	s := service(t, store, xygo.Options{}, consumer{"mail", func(_ context.Context, m *xygo.Message) error { got <- *m; return nil }})
	check.OK(t, s.Start(ctx))
	m := <-got
	check.Equal(t, m.Body, "hello")
	check.Equal(t, m.Topic, "mail")
	check.OK(t, d.Close())
}
