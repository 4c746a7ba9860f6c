package outbox_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"wq.internal/wq"
	"wq.internal/wq/internal/check"
	"wq.internal/wq/outbox"
)

// fake answers with the verdicts in turn, the last one for ever, and remembers what it was sent.
type fake struct {
	verdicts []outbox.Verdict
	sent     []outbox.Request
	during   func() // called while a call is under way
}

func (f *fake) Send(_ context.Context, requests []outbox.Request) []outbox.Answer {
	if f.during != nil {
		f.during()
	}
	var answers []outbox.Answer
	for _, request := range requests {
		f.sent = append(f.sent, request)
		answer := outbox.Answer{Verdict: f.verdicts[0]}
		if answer.Verdict > outbox.Known {
			answer.Text = "the server said " + map[outbox.Verdict]string{outbox.Rejected: "no",
				outbox.Unavailable: "later", outbox.Unknown: "nothing"}[answer.Verdict]
		}
		answers = append(answers, answer)
		if len(f.verdicts) > 1 {
			f.verdicts = f.verdicts[1:]
		}
	}
	return answers
}

func (f *fake) ids() string {
	var ids []string
	for _, request := range f.sent {
		ids = append(ids, request.Arguments[0])
	}
	return strings.Join(ids, " ")
}

// Each verdict, in each mode: what the push answers, and what is here then.
func TestVerdictsOfPushes(t *testing.T) {
	for _, c := range []struct {
		mode    outbox.Mode
		verdict outbox.Verdict
		outcome outbox.Outcome
		want    outbox.Report
	}{
		{outbox.Fallback, outbox.Applied, outbox.Sent, outbox.Report{DirectSent: 1}},
		{outbox.Fallback, outbox.Known, outbox.Duplicate, outbox.Report{DirectDuplicate: 1}},
		{outbox.Fallback, outbox.Rejected, outbox.Refused, outbox.Report{DirectRefused: 1}},
		{outbox.Fallback, outbox.Unavailable, outbox.Spooled, outbox.Report{Spooled: 1, LocalReady: 1}},
		{outbox.Fallback, outbox.Unknown, outbox.Spooled, outbox.Report{Spooled: 1, LocalReady: 1}},
		{outbox.Always, outbox.Applied, outbox.Spooled, outbox.Report{Spooled: 1, LocalReady: 1}},
		{outbox.Shadow, outbox.Applied, outbox.Sent, outbox.Report{DirectSent: 1, Spooled: 1, LocalReady: 1}},
		{outbox.Shadow, outbox.Unknown, outbox.Failed, outbox.Report{DirectFailed: 1, Spooled: 1, LocalReady: 1}},
	} {
		s := openStore(t)
		f := &fake{verdicts: []outbox.Verdict{c.verdict}}
		r := newRelay(t, s, outbox.Options{Mode: c.mode}, f)
		pushed := push(t, r, "x")
		check.Equal(t, pushed.Outcome, c.outcome)
		check.Equal(t, len(pushed.ID), 26)
		check.Equal(t, pushed.Text != "", c.verdict > outbox.Known)
		check.Equal(t, report(t, r), c.want)
		check.OK(t, r.Close())
		again := newRelay(t, s, outbox.Options{Mode: c.mode}, f) // all counts are in the store
		check.Equal(t, report(t, again), c.want)
	}
}

func TestVerdictsOfADrain(t *testing.T) {
	s := openStore(t)
	f := &fake{verdicts: []outbox.Verdict{outbox.Applied, outbox.Known, outbox.Rejected, outbox.Unavailable, outbox.Unknown, outbox.Applied}}
	r := newRelay(t, s, outbox.Options{Mode: outbox.Always}, f)
	for _, id := range []string{"a", "b", "c", "d", "e"} {
		_, err := r.Push(ctx, outbox.Job{ID: id})
		check.OK(t, err)
	}
	did, err := r.Drain(ctx, 0)
	check.OK(t, err)
	check.Equal(t, did, outbox.Drained{Sent: 1, Duplicate: 1, Refused: 1, Stopped: true, Text: "the server said later"})
	check.Equal(t, report(t, r), outbox.Report{Spooled: 5, Sent: 1, Duplicate: 1, Dead: 1, LocalReady: 2})
	f.sent = nil
	did, err = r.Drain(ctx, 1)
	check.OK(t, err)
	check.Equal(t, did.Sent, 1)
	did, err = r.Drain(ctx, 0)
	check.OK(t, err)
	check.Equal(t, did, outbox.Drained{Sent: 1})
	check.Equal(t, f.ids(), "d e") // in their places as before
	q, err := s.ExistingQueue(ctx, "default")
	check.OK(t, err)
	defer q.Close()
	for job, err := range q.Dead().All(ctx, wq.DeadQuery{}) {
		check.OK(t, err)
		check.Equal(t, job.LastError, "the server said no")
	}
	health := r.Health()
	check.Equal(t, health, outbox.Health{Failures: 1, Timeouts: 1})
	text, err := r.Metrics(ctx)
	check.OK(t, err)
	for _, line := range []string{`wq_relay_relayed_total{queue="default",outcome="sent"} 3`, `wq_relay_timeouts_total{queue="default"} 1`,
		"# TYPE wq_relay_breaker_state gauge", `wq_relay_jobs{queue="default",state="dead"} 1`} {
		check.Equal(t, strings.Contains(text, line+"\n"), true)
	}
}

func TestShadowCountsWhatIsMissing(t *testing.T) {
	f := &fake{verdicts: []outbox.Verdict{outbox.Applied, outbox.Unavailable, outbox.Applied, outbox.Known}}
	r := newRelay(t, openStore(t), outbox.Options{Mode: outbox.Shadow}, f)
	check.Equal(t, push(t, r, "x").Outcome, outbox.Sent)
	check.Equal(t, push(t, r, "y").Outcome, outbox.Failed)
	did, err := r.Drain(ctx, 0)
	check.OK(t, err)
	check.Equal(t, did, outbox.Drained{Sent: 1, Missing: 1})
	check.Equal(t, report(t, r), outbox.Report{DirectSent: 1, DirectFailed: 1, Spooled: 2, Sent: 1, Missing: 1})
}

func TestInOrder(t *testing.T) {
	f := &fake{verdicts: []outbox.Verdict{outbox.Unknown, outbox.Applied}}
	s := openStore(t)
	r := newRelay(t, s, outbox.Options{InOrder: true}, f)
	for _, id := range []string{"a", "b"} {
		pushed, err := r.Push(ctx, outbox.Job{ID: id})
		check.OK(t, err)
		check.Equal(t, pushed.Outcome, outbox.Spooled)
	}
	check.Equal(t, f.ids(), "a")
	// A process that held the first one is gone: it goes on in its place.
	q, err := s.ExistingQueue(ctx, "default")
	check.OK(t, err)
	defer q.Close()
	_, outcome, err := q.Lease(ctx, wq.LeaseOptions{})
	check.OK(t, err)
	check.Equal(t, outcome, wq.OK)
	check.OK(t, r.Close())
	r = newRelay(t, s, outbox.Options{InOrder: true}, f)
	drained(t, r)
	pushed, err := r.Push(ctx, outbox.Job{ID: "c"})
	check.OK(t, err)
	check.Equal(t, pushed.Outcome, outbox.Sent)
	check.Equal(t, f.ids(), "a a b c")
}

func TestBreaker(t *testing.T) {
	now := time.UnixMilli(1_000_000)
	f := &fake{verdicts: []outbox.Verdict{outbox.Unavailable}}
	r := newRelay(t, openStore(t), outbox.Options{Clock: func() time.Time { return now },
		Breaker: outbox.BreakerOptions{Failures: 2, Cool: time.Second, CoolMax: 3 * time.Second}}, f)
	tries := func(count int, state outbox.BreakerState, opened uint64) {
		t.Helper()
		before := len(f.sent)
		push(t, r, "x")
		check.Equal(t, len(f.sent)-before, count)
		check.Equal(t, r.Health().State, state)
		check.Equal(t, r.Health().Opened, opened)
	}
	tries(1, outbox.Closed, 0)
	tries(1, outbox.Open, 1)
	tries(0, outbox.Open, 1)
	check.Equal(t, r.RetryAt(), now.Add(time.Second))
	did, err := r.Drain(ctx, 0)
	check.OK(t, err)
	check.Equal(t, did.Stopped && did.Text == "not tried again yet: the server said later", true)
	for _, cool := range []time.Duration{2 * time.Second, 3 * time.Second, 3 * time.Second} {
		now = r.RetryAt()
		before := r.Health().Opened
		tries(1, outbox.Open, before+1)
		check.Equal(t, r.RetryAt(), now.Add(cool))
	}
	now = r.RetryAt()
	f.during = func() { check.Equal(t, r.Health().State, outbox.HalfOpen) }
	f.verdicts = []outbox.Verdict{outbox.Applied}
	tries(1, outbox.Closed, 4)
	check.Equal(t, r.Health().Problem, "")
}

// The form of a spooled job, and the rows, are those of the relay in C++.
func TestSpooledForm(t *testing.T) {
	s := openStore(t)
	r := newRelay(t, s, outbox.Options{Mode: outbox.Always, Queue: "mail", Layout: outbox.Layout{Kind: outbox.Stream, Key: "k"}},
		&fake{verdicts: []outbox.Verdict{outbox.Applied}})
	at := time.UnixMilli(5_000)
	given := outbox.Job{ID: "id", Payload: []byte("p\x00\xff"), Headers: []wq.Header{{Name: "own", Value: []byte("h")}}, RunAt: at,
		Priority: wq.Ptr(0), MaxAttempts: 7, Attempts: 2, UniqueKey: "u", Group: "g"}
	_, err := r.Push(ctx, given)
	check.OK(t, err)
	q, err := s.ExistingQueue(ctx, "mail")
	check.OK(t, err)
	defer q.Close()
	jobs, _, err := q.Lease(ctx, wq.LeaseOptions{})
	check.OK(t, err)
	var headers []string
	for _, h := range jobs[0].Headers {
		headers = append(headers, h.Name+"="+string(h.Value))
	}
	check.Equal(t, strings.Join(headers, " "), "own=h wq-relay-id=id wq-relay-run-at-ms=5000 wq-relay-priority=1 wq-relay-max-attempts=7 wq-relay-attempts=2 wq-relay-unique=u wq-relay-group=g")
	check.Equal(t, jobs[0].MaxAttempts == 1_000_001 && jobs[0].Priority == 0 && string(jobs[0].Payload) == "p\x00\xff", true)
	_, err = jobs[0].Release(ctx, wq.Release{})
	check.OK(t, err)
	_, err = q.Enqueue(ctx, wq.Spec{Payload: []byte("foreign"), Priority: wq.Ptr(200), Group: "g"})
	check.OK(t, err)
	f := &fake{verdicts: []outbox.Verdict{outbox.Applied}}
	second := newRelay(t, s, outbox.Options{Queue: "mail", Layout: outbox.Layout{Kind: outbox.Stream, Key: "k"}}, f)
	drained(t, second)
	check.Equal(t, strings.Join(f.sent[0].Arguments, "|"), "id|604800000|1000000|id|id|payload|p\x00\xff|priority|0|max_attempts|7|attempts|2|run_at_ms|5000|unique|u|group|g|header:own|h")
	store, found, err := s.KV().Get(ctx, "wq-relay/store")
	check.OK(t, err)
	check.Equal(t, found, true)
	check.Equal(t, strings.HasPrefix(f.sent[1].Arguments[0], string(store.Value)+":"), true)
	check.Equal(t, strings.Join(f.sent[1].Arguments[5:], "|"), "payload|foreign|priority|200|group|g")
	row, _, err := s.KV().Get(ctx, "wq-relay/mail/sent")
	check.OK(t, err)
	check.Equal(t, string(row.Value), "2")
}

func TestRunDrainsInTheBackground(t *testing.T) {
	f := &fake{verdicts: []outbox.Verdict{outbox.Unavailable, outbox.Applied}}
	got := make(chan bool, 10)
	f.during = func() { got <- true }
	s := openStore(t)
	r := newRelay(t, s, outbox.Options{Mode: outbox.Always, Poll: time.Hour,
		Breaker: outbox.BreakerOptions{Failures: 1, Cool: time.Millisecond}}, f)
	run, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- r.Run(run) }()
	push(t, r, "x")
	<-got // unavailable: the breaker opens
	<-got // and lets one through again
	push(t, r, "y")
	<-got
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	check.Equal(t, report(t, r), outbox.Report{Spooled: 2, Sent: 2})
	_, err := r.Drain(run, 0)
	check.Equal(t, errors.Is(err, context.Canceled), true)
}

// A context that ends while Redis is asked leaves the job spooled, and says nothing about Redis.
func TestContextEndsDuringAPush(t *testing.T) {
	f := &fake{verdicts: []outbox.Verdict{outbox.Unknown, outbox.Applied}}
	r := newRelay(t, openStore(t), outbox.Options{Breaker: outbox.BreakerOptions{Failures: 1}}, f)
	ending, cancel := context.WithCancel(ctx)
	f.during = cancel
	pushed, err := r.Push(ending, outbox.Job{})
	check.OK(t, err)
	check.Equal(t, pushed.Outcome, outbox.Spooled)
	check.Equal(t, r.Health().State, outbox.Closed)
	_, err = r.Push(ending, outbox.Job{})
	check.Equal(t, errors.Is(err, context.Canceled), true)
	check.Equal(t, report(t, r), outbox.Report{Spooled: 1, LocalReady: 1})
}

func TestRefusals(t *testing.T) {
	s := openStore(t)
	f := &fake{verdicts: []outbox.Verdict{outbox.Applied}}
	r := newRelay(t, s, outbox.Options{}, f)
	for _, job := range []outbox.Job{{Headers: []wq.Header{{}}}, {UniqueKey: "u"}, {Group: "g"}, {Priority: wq.Ptr(1)}, {Attempts: 1}} {
		pushed, err := r.Push(ctx, job)
		check.OK(t, err)
		check.Equal(t, pushed.Outcome == outbox.Refused && strings.HasPrefix(pushed.Text, "the layout has no place for "), true)
	}
	later, err := r.Push(ctx, outbox.Job{RunAt: time.Now().Add(time.Hour)}) // a list can not hold it back
	check.OK(t, err)
	check.Equal(t, later.Outcome, outbox.Spooled)
	check.Equal(t, report(t, r), outbox.Report{Spooled: 1, LocalDelayed: 1})
	check.Equal(t, len(f.sent), 0)
	_, err = outbox.New(ctx, s, outbox.Options{}, f)
	check.Equal(t, err != nil, true)
	_, err = outbox.New(ctx, s, outbox.Options{Layout: outbox.Layout{Key: "k"}}, nil)
	check.Equal(t, err != nil, true)
	q, err := s.ExistingQueue(ctx, "default")
	check.OK(t, err)
	defer q.Close()
	check.OK(t, q.Disable(ctx))
	f.verdicts = []outbox.Verdict{outbox.Unavailable}
	_, err = r.Push(ctx, outbox.Job{}) // a job that is nowhere is an error
	check.Equal(t, err != nil, true)
}
