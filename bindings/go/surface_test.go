package wq_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wq.internal/wq"
)

// Each operation of the surface is called here or in the files beside it, by its outcomes.

func TestStoreCalls(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, filepath.Join(dir, "a"), nil)
	q := queue(t, s, "q", nil)
	push(t, q, text("one"), text("two"))
	take(t, q, 1)
	ok(t, s.Sync(ctx))
	ok(t, s.Checkpoint(ctx))
	_, err := s.Tick(ctx)
	is(t, err, wq.ErrUnsupported)
	stats, err := s.Stats(ctx)
	ok(t, err)
	equal(t, stats.Status, wq.StoreOpen)
	equal(t, stats.Queues, 1)
	equal(t, stats.Ready, 1)
	equal(t, stats.Leased, 1)
	ok(t, s.WaitDurable(ctx, stats.LastLSN, wq.Power))
	is(t, s.WaitDurable(ctx, stats.LastLSN+1000, wq.Power), wq.ErrInvalid)
	report, err := s.Verify(ctx)
	ok(t, err)
	equal(t, report.Jobs, 2)
	metrics, err := s.Metrics(ctx)
	ok(t, err)
	equal(t, strings.Contains(metrics, `queue="q"`), true)
	names, err := s.Queues(ctx)
	ok(t, err)
	equal(t, strings.Join(names, ","), "q")

	backup := filepath.Join(dir, "backup")
	b, err := s.Backup(ctx, backup)
	ok(t, err)
	equal(t, b.Files > 0 && b.Bytes > 0 && b.LSN > 0, true)
	_, err = s.Backup(ctx, backup)
	is(t, err, wq.ErrInvalid)
	_, err = wq.VerifyBackup(ctx, backup)
	ok(t, err)
	_, err = wq.RestoreBackup(ctx, backup, filepath.Join(dir, "b"))
	ok(t, err)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = wq.VerifyBackup(cancelled, backup)
	is(t, err, context.Canceled)
	_, err = s.Backup(ctx, "a\x00b")
	is(t, err, wq.ErrInvalid)

	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	wants(t, wq.Timeout)(s.Shutdown(short))
	stats, err = s.Stats(ctx)
	ok(t, err)
	equal(t, stats.Status, wq.StoreDraining)
	_, _, err = q.Lease(ctx, wq.LeaseOptions{Wait: wq.Forever})
	is(t, err, wq.ErrClosed)
	ok(t, s.Close())
	ok(t, s.Close())

	r := openAt(t, filepath.Join(dir, "b"), &wq.Options{ExpireLeases: true})
	recovery, err := r.Recovery(ctx)
	ok(t, err)
	equal(t, recovery.LeasesExpired, 1)
	equal(t, recovery.LastLSN > 0, true)
	good(t)(r.Shutdown(ctx))
	equal(t, wq.LibraryVersion() != "" && wq.BuildInfo() != "" && wq.FormatVersion() > 0, true)
}

func TestStoreWithoutThreads(t *testing.T) {
	s := open(t, &wq.Options{NoThreads: true})
	q := queue(t, s, "q", nil)
	_, err := q.Enqueue(ctx, wq.Spec{Delay: time.Hour})
	ok(t, err)
	push(t, q, text("x"))
	var p wq.Pending
	_, err = q.Enqueue(ctx, text("y"), &p)
	ok(t, err)
	ok(t, p.Wait(ctx))
	_, err = s.Tick(ctx)
	ok(t, err)
	for _, job := range take(t, q, 2) {
		good(t)(job.Ack(ctx))
	}
}

func TestQueueStatusAndConfig(t *testing.T) {
	s, q := fresh(t, &wq.Config{MaxRetries: wq.Ptr(7), Lease: wq.Ptr(5 * time.Second)})
	c, err := q.Config(ctx)
	ok(t, err)
	equal(t, *c.MaxRetries, 7)
	equal(t, *c.Lease, 5*time.Second)
	equal(t, c.Status, wq.StatusActive)
	change := wq.Config{
		MaxRunning: wq.Ptr(3), Durability: wq.Ptr(wq.Process), JobTTL: wq.Ptr(time.Hour),
		Backoff:  &wq.Backoff{Kind: wq.BackoffList, List: []time.Duration{time.Second, time.Minute}, JitterPermille: 10},
		MaxDepth: wq.Ptr(int64(10)), MaxBytes: wq.Ptr(int64(1 << 20)), FullPolicy: wq.Ptr(wq.FullDropOldest),
		DeadMaxCount: wq.Ptr(int64(5)), DeadMaxAge: wq.Ptr(time.Hour), GroupLimit: wq.Ptr(2),
		History: &wq.History{Count: 4, Age: time.Minute}, Rate: &wq.Rate{Count: 10, Window: time.Second, Burst: 2},
		Version: c.Version,
	}
	good(t)(q.Configure(ctx, change))
	wants(t, wq.Conflict)(q.Configure(ctx, change)) // the version has gone on
	c, err = q.Config(ctx)
	ok(t, err)
	equal(t, *c.MaxRunning, 3)
	equal(t, *c.MaxRetries, 7)
	equal(t, c.Backoff.List[1], time.Minute)
	equal(t, *c.History, wq.History{Count: 4, Age: time.Minute})
	equal(t, *c.Rate, wq.Rate{Count: 10, Window: time.Second, Burst: 2})
	equal(t, *c.FullPolicy, wq.FullDropOldest)
	c.MaxRunning = wq.Ptr(0)
	good(t)(q.Configure(ctx, c))
	_, err = q.Configure(ctx, wq.Config{MaxRetries: wq.Ptr(-1)})
	is(t, err, wq.ErrInvalid)
	_, err = q.Configure(ctx, wq.Config{Lease: wq.Ptr(-time.Second)})
	is(t, err, wq.ErrInvalid)
	_, err = q.Configure(ctx, wq.Config{Backoff: &wq.Backoff{List: make([]time.Duration, 33)}})
	is(t, err, wq.ErrInvalid)

	good(t)(q.Configure(ctx, wq.Config{Rate: &wq.Rate{}}))
	ok(t, q.Pause(ctx))
	wantsLease(t, q, wq.Paused)
	ok(t, q.Resume(ctx))
	ok(t, q.Disable(ctx))
	wantsLease(t, q, wq.Disabled)
	e, err := q.Enqueue(ctx, text("x"))
	ok(t, err)
	equal(t, e.Outcome, wq.Disabled)
	ok(t, q.Enable(ctx))
	wantsLease(t, q, wq.Empty)
	push(t, q, text("a"), wq.Spec{Delay: time.Hour})
	n, err := q.Clear(ctx, []wq.State{wq.StateDelayed})
	ok(t, err)
	equal(t, n, 1)
	n, err = q.Clear(ctx, nil)
	ok(t, err)
	equal(t, n, 1)
	_, err = q.Clear(ctx, []wq.State{20})
	is(t, err, wq.ErrInvalid)

	_, err = s.ExistingQueue(ctx, "other")
	is(t, err, wq.ErrNotFound)
	_, err = s.Queue(ctx, "bad\x01name", nil)
	is(t, err, wq.ErrInvalid)
	again, err := s.ExistingQueue(ctx, "q")
	ok(t, err)
	ok(t, again.Delete(ctx))
	_, err = q.Stats(ctx)
	is(t, err, wq.ErrNotFound)
	ok(t, again.Close())
}

func wantsLease(t *testing.T, q *wq.Queue, want wq.Outcome) {
	t.Helper()
	jobs, outcome, err := q.Lease(ctx, wq.LeaseOptions{})
	ok(t, err)
	equal(t, outcome, want)
	equal(t, len(jobs), 0)
}

func TestEnqueueWithEverything(t *testing.T) {
	s, q := fresh(t, nil)
	queue(t, s, "after", nil)
	flow, err := s.Flows().Create(ctx, wq.FlowOptions{OnComplete: &wq.Next{Queue: "after", Spec: text("end")}})
	ok(t, err)
	until := time.Now().Add(time.Hour).Truncate(time.Millisecond)
	spec := wq.Spec{
		Payload: []byte("all"), Headers: []wq.Header{{"a", []byte("1")}, {"b", nil}}, Priority: wq.Ptr(3),
		MaxAttempts: 9, Backoff: wq.Backoff{Kind: wq.BackoffFixed, Base: time.Second}, ExpiresAt: until,
		RetryUntil: until, Timeout: time.Minute, FailOnTimeout: true, MaxExceptions: 4,
		UniqueKey: "u", UniqueTTL: time.Hour, UniqueUntil: wq.UntilGone, IdempotencyKey: "i",
		Idempotency: time.Hour, Flow: flow, Chain: []wq.Next{{Spec: text("2")}, {Queue: "after", Spec: text("3")}},
		Group: "g", GroupLimit: 2, RunAt: time.Unix(0, 0),
	}
	spec.DryRun = true
	e, err := q.Enqueue(ctx, spec)
	ok(t, err)
	equal(t, e, wq.Enqueued{})
	spec.DryRun = false
	e, err = q.Enqueue(ctx, spec)
	ok(t, err)
	equal(t, e.ID != 0 && e.LSN != 0, true)
	second := spec
	second.IdempotencyKey, second.Idempotency = "", 0
	d, err := q.Enqueue(ctx, second)
	ok(t, err)
	equal(t, d, wq.Enqueued{ID: e.ID, Outcome: wq.Duplicate})
	holder, err := q.KeyHolder(ctx, wq.UniqueKey, "u")
	ok(t, err)
	equal(t, holder, e.ID)
	holder, err = q.KeyHolder(ctx, wq.IdempotencyKey, "i")
	ok(t, err)
	equal(t, holder, e.ID)
	_, err = q.KeyHolder(ctx, wq.UniqueKey, "nobody")
	is(t, err, wq.ErrNotFound)

	job := take(t, q, 1)[0]
	equal(t, job.ID, e.ID)
	equal(t, string(job.Payload), "all")
	equal(t, string(job.Header("a")), "1")
	equal(t, len(job.Headers), 2)
	equal(t, job.Header("none") == nil, true)
	equal(t, job.Priority, 3)
	equal(t, job.Attempts, 1)
	equal(t, job.MaxAttempts, 9)
	equal(t, job.State, wq.StateLeased)
	equal(t, job.Timeout, time.Minute)
	equal(t, job.FailOnTimeout, true)
	equal(t, job.MaxExceptions, 4)
	equal(t, job.ExpiresAt.Equal(until) && job.RetryUntil.Equal(until), true)
	equal(t, job.Flow, flow)
	equal(t, job.ChainCount, 2)
	equal(t, job.Group, "g")
	equal(t, job.LeaseRemaining > 50*time.Second && job.LeaseRemaining <= time.Minute, true)
	good(t)(job.ReleaseKey(ctx))
	_, err = q.KeyHolder(ctx, wq.UniqueKey, "u")
	is(t, err, wq.ErrNotFound)
	good(t)(job.Ack(ctx))
	next := take(t, q, 1)[0]
	equal(t, string(next.Payload), "2")
	good(t)(next.Ack(ctx))
	status, err := s.Flows().Status(ctx, flow)
	ok(t, err)
	equal(t, status.Total, 3)
	equal(t, status.Done, 2)
}

func TestEnqueueRefusals(t *testing.T) {
	_, q := fresh(t, nil)
	for _, bad := range []wq.Spec{
		{Delay: -time.Second}, {Priority: wq.Ptr(256)}, {Priority: wq.Ptr(-1)}, {MaxAttempts: -1},
		{GroupLimit: -2}, {MaxExceptions: 1 << 40}, {Delay: time.Second, RunAt: time.Now()},
		{Headers: []wq.Header{{"", nil}}}, {UniqueTTL: time.Second}, {Backoff: wq.Backoff{JitterPermille: -1}},
		{Chain: []wq.Next{{Spec: wq.Spec{Delay: -1}}}}, {RunAt: time.Unix(-5, 0)},
	} {
		_, err := q.Enqueue(ctx, bad)
		is(t, err, wq.ErrInvalid)
	}
	_, err := q.Enqueue(ctx, wq.Spec{Payload: make([]byte, 17<<20)})
	is(t, err, wq.ErrTooLarge)
	_, err = q.Enqueue(ctx, wq.Spec{Chain: []wq.Next{{Spec: wq.Spec{Chain: []wq.Next{{}}}}}})
	is(t, err, wq.ErrUnsupported)
	_, err = q.Enqueue(ctx, wq.Spec{Flow: 12345})
	is(t, err, wq.ErrNotFound)
}

func TestDebounceAndCancelKey(t *testing.T) {
	_, q := fresh(t, nil)
	for _, word := range []string{"1", "2", "3"} {
		e, err := q.Enqueue(ctx, wq.Spec{Payload: []byte(word), DebounceKey: "k", Debounce: time.Hour, DebounceMax: 2 * time.Hour})
		ok(t, err)
		equal(t, e.Outcome, wq.OK)
	}
	stats, err := q.Stats(ctx)
	ok(t, err)
	equal(t, stats.Delayed, 1)
	id, outcome, err := q.CancelKey(ctx, wq.DebounceKey, "k")
	ok(t, err)
	equal(t, outcome, wq.OK)
	equal(t, id != 0, true)
	_, _, err = q.CancelKey(ctx, wq.UniqueKey, "k")
	is(t, err, wq.ErrNotFound)
}

func TestEnqueueMany(t *testing.T) {
	_, q := fresh(t, &wq.Config{MaxDepth: wq.Ptr(int64(3))})
	many, err := q.EnqueueMany(ctx, []wq.Spec{{UniqueKey: "a"}, {UniqueKey: "a"}, text("b")})
	ok(t, err)
	equal(t, many.Accepted, 2)
	equal(t, many.Outcome, wq.OK)
	equal(t, many.Jobs[1], wq.Enqueued{ID: many.Jobs[0].ID, Outcome: wq.Duplicate})
	equal(t, many.Jobs[2].ID, many.Jobs[0].ID+1)
	many, err = q.EnqueueMany(ctx, []wq.Spec{{}, {}})
	is(t, err, wq.ErrFull)
	equal(t, many.Accepted, 0)
	many, err = q.EnqueueSome(ctx, []wq.Spec{{}, {}})
	is(t, err, wq.ErrFull)
	equal(t, many.Accepted, 1)
	equal(t, many.Jobs[0].ID != 0, true)
	equal(t, many.Jobs[1].Code, wq.ErrFull)
	_, err = q.EnqueueMany(ctx, nil)
	is(t, err, wq.ErrInvalid)
	_, err = q.EnqueueMany(ctx, make([]wq.Spec, 10001))
	is(t, err, wq.ErrTooLarge)
	_, most := fresh(t, nil) // as many as may be, each as it was given
	specs := make([]wq.Spec, 10000)
	for i := range specs {
		specs[i] = wq.Spec{Payload: fmt.Append(nil, i), Headers: []wq.Header{{"n", bytes.Repeat([]byte{byte(i)}, i%200)}}}
	}
	many, err = most.EnqueueMany(ctx, specs, wq.Memory)
	ok(t, err)
	equal(t, many.Accepted, 10000)
	for i, job := range take(t, most, 10000) {
		equal(t, string(job.Payload), string(specs[i].Payload))
		equal(t, string(job.Header("n")), string(specs[i].Headers[0].Value))
	}
	many, err = q.EnqueueMany(ctx, []wq.Spec{{UniqueKey: "a"}})
	ok(t, err)
	equal(t, many.Outcome, wq.Duplicate)
}

func TestSettles(t *testing.T) {
	_, q := fresh(t, &wq.Config{History: &wq.History{Count: 10}, MaxRetries: wq.Ptr(2)})
	push(t, q, text("a"), text("b"), text("c"), text("d"), text("e"))
	jobs := take(t, q, 5)
	good(t)(jobs[0].AckResult(ctx, []byte("result")))
	wants(t, wq.Stale)(q.JobOf(wq.Token{ID: jobs[1].ID, Generation: 1}).Ack(ctx))
	good(t)(jobs[1].Nack(ctx, wq.Nack{Error: "later", Delay: wq.Ptr(time.Hour), Priority: wq.Ptr(7), NoException: true}))
	good(t)(jobs[2].Release(ctx, wq.Release{Front: true}))
	good(t)(jobs[3].Fail(ctx, "no good"))
	good(t)(jobs[4].Confirm(ctx, 0))
	good(t)(jobs[4].SetProgress(ctx, []byte("half")))
	good(t)(jobs[4].Extend(ctx, time.Minute))
	got, err := q.Get(ctx, jobs[4].ID)
	ok(t, err)
	equal(t, got.State, wq.StateRunning)
	equal(t, string(got.Progress), "half")
	got, err = q.Get(ctx, jobs[1].ID)
	ok(t, err)
	equal(t, got.State, wq.StateDelayed)
	equal(t, got.LastError, "later")
	equal(t, got.Priority, 7)
	equal(t, got.Exceptions, 0)
	_, err = q.Get(ctx, jobs[0].ID)
	is(t, err, wq.ErrNotFound)

	done, err := q.Done(ctx, jobs[0].ID)
	ok(t, err)
	equal(t, string(done.Result), "result")
	for d, err := range q.AllDone(ctx) {
		ok(t, err)
		equal(t, d.ID, jobs[0].ID)
	}
	_, err = q.Done(ctx, jobs[4].ID)
	is(t, err, wq.ErrNotFound)
	_, _, err = q.ListDone(ctx, 0, 0)
	is(t, err, wq.ErrInvalid)

	wants(t, wq.Stale)(jobs[0].Extend(ctx, time.Minute))
	good(t)(jobs[2].Reprioritise(ctx, 200))
	wants(t, wq.Conflict)(q.Reprioritise(ctx, jobs[4].ID, 1))
	_, err = q.Reprioritise(ctx, jobs[4].ID, 300)
	is(t, err, wq.ErrInvalid)
	good(t)(q.Cancel(ctx, jobs[2].ID))
	wants(t, wq.Conflict)(q.Cancel(ctx, jobs[3].ID))
	why, err := jobs[4].Explain(ctx)
	ok(t, err)
	equal(t, why.Causes&wq.WhyHeld != 0 && why.Text != "", true)
	queueWhy, err := q.Explain(ctx)
	ok(t, err)
	equal(t, queueWhy.Causes&wq.WhyEmpty != 0 && queueWhy.Text != "", true)
	failures, err := q.Errors(ctx)
	ok(t, err)
	equal(t, failures[0].Text, "no good")
	equal(t, failures[1].Kind, wq.EventNacked)
}

func TestSettleMany(t *testing.T) {
	s, q := fresh(t, nil)
	push(t, q, text("a"), text("b"), text("c"), text("d"))
	jobs := take(t, q, 4)
	items := []wq.Settlement{
		{Kind: wq.SettleAck, Token: jobs[0].Token, Result: []byte("r")},
		{Kind: wq.SettleNack, Token: jobs[1].Token, Nack: wq.Nack{Error: "e", Front: true}},
		{Kind: wq.SettleFail, Token: jobs[2].Token, Nack: wq.Nack{Error: "f", Reason: wq.DeadUnknownType}},
		{Kind: wq.SettleRelease, Token: jobs[3].Token, Release: wq.Release{Delay: time.Hour}},
		{Kind: wq.SettleAck, Token: wq.Token{ID: jobs[3].ID, Generation: 1}},
		{Kind: wq.SettleAck, Token: wq.Token{ID: 1 << 50, Generation: 1}},
	}
	outcomes, err := q.SettleMany(ctx, items)
	ok(t, err)
	for i := range 4 {
		equal(t, outcomes[i], wq.JobOutcome{})
	}
	equal(t, outcomes[4].Outcome, wq.Stale)
	is(t, outcomes[5].Err("ack"), wq.ErrNotFound)
	_, err = q.SettleMany(ctx, []wq.Settlement{{Kind: 9}})
	is(t, err, wq.ErrUnsupported)
	_, err = q.SettleMany(ctx, nil)
	is(t, err, wq.ErrInvalid)
	_, err = q.Extend(ctx, nil, 0)
	is(t, err, wq.ErrInvalid)

	dead, _, err := q.Dead().Get(ctx, jobs[2].Token)
	ok(t, err)
	equal(t, dead.DeadReason, wq.DeadUnknownType)
	ok(t, q.Delete(ctx))
	_, err = q.SettleMany(ctx, items[:1])
	is(t, err, wq.ErrNotFound)
	_, err = q.Extend(ctx, []wq.Token{jobs[0].Token}, 0)
	is(t, err, wq.ErrNotFound)
	_ = s
}

func TestAckMany(t *testing.T) {
	_, q := fresh(t, nil)
	push(t, q, text("a"), text("b"), text("c"))
	jobs := take(t, q, 3)
	good(t)(jobs[1].Release(ctx, wq.Release{}, wq.Memory))
	outcomes, err := q.AckMany(ctx, append(jobs, q.JobOf(wq.Token{ID: 1 << 50, Generation: 1})))
	ok(t, err)
	equal(t, outcomes[0], wq.JobOutcome{})
	equal(t, outcomes[1].Outcome, wq.Stale)
	equal(t, outcomes[2], wq.JobOutcome{})
	is(t, outcomes[3].Err("ack"), wq.ErrNotFound)
	_, err = q.AckMany(ctx, nil)
	is(t, err, wq.ErrInvalid)
	_, err = q.AckMany(ctx, make([]*wq.Job, 10001))
	is(t, err, wq.ErrTooLarge)
}
