package wq_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"wq.internal/wq"
)

func TestDeadLetters(t *testing.T) {
	_, q := fresh(t, nil)
	var entries []wq.Token
	push(t, q, text("0"), text("1"), text("2"), text("3"), text("4"))
	for i, job := range take(t, q, 5) {
		good(t)(job.Fail(ctx, "error "+string(rune('0'+i))))
		entries = append(entries, job.Token)
	}
	var seen []string
	for job, err := range q.Dead().All(ctx, wq.DeadQuery{OldestFirst: true, Limit: 2}) {
		ok(t, err)
		equal(t, job.DeadReason, wq.DeadFailed)
		seen = append(seen, string(job.Payload))
	}
	equal(t, strings.Join(seen, ""), "01234")
	page, next, err := q.Dead().List(ctx, wq.DeadQuery{ErrorPart: "error 3"})
	ok(t, err)
	equal(t, len(page), 1)
	equal(t, next, 0)
	good(t)(q.Dead().Replay(ctx, entries[0]))
	wants(t, wq.Stale)(q.Dead().Replay(ctx, entries[0]))
	_, outcome, err := q.Dead().Get(ctx, entries[0])
	ok(t, err)
	equal(t, outcome, wq.Stale)
	good(t)(q.Dead().Remove(ctx, entries[1]))
	_, err = q.Dead().ReplayMany(ctx, wq.DeadFilter{})
	is(t, err, wq.ErrInvalid)
	report, err := q.Dead().ReplayMany(ctx, wq.DeadFilter{All: true, DryRun: true})
	ok(t, err)
	equal(t, report.Changed, 3)
	report, err = q.Dead().ReplayMany(ctx, wq.DeadFilter{Entries: entries[:3]})
	ok(t, err)
	equal(t, report.Changed, 1)
	report, err = q.Dead().RemoveMany(ctx, wq.DeadFilter{ErrorPart: "error 3"})
	ok(t, err)
	equal(t, report.Changed, 1)
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, err = q.Dead().RemoveMany(cancelled, wq.DeadFilter{All: true})
	is(t, err, context.Canceled)
	n, err := q.Dead().Purge(ctx)
	ok(t, err)
	equal(t, n, 1)
	page, _, err = q.Dead().List(ctx, wq.DeadQuery{})
	ok(t, err)
	equal(t, len(page), 0)
}

func TestKV(t *testing.T) {
	s, _ := fresh(t, nil)
	kv := s.KV()
	_, found, err := kv.Get(ctx, "k")
	ok(t, err)
	equal(t, found, false)
	v1, outcome, err := kv.Put(ctx, "k", []byte("v"), wq.RowOptions{IfAbsent: true})
	ok(t, err)
	equal(t, outcome, wq.OK)
	_, outcome, err = kv.Put(ctx, "k", []byte("w"), wq.RowOptions{IfAbsent: true})
	ok(t, err)
	equal(t, outcome, wq.Conflict)
	v2, outcome, err := kv.Put(ctx, "k", nil, wq.RowOptions{IfVersion: &v1, TTL: time.Hour})
	ok(t, err)
	equal(t, outcome, wq.OK)
	row, found, err := kv.Get(ctx, "k")
	ok(t, err)
	equal(t, found && row.Version == v2 && len(row.Value) == 0 && !row.Expires.IsZero(), true)
	wants(t, wq.Conflict)(kv.Erase(ctx, "k", wq.RowOptions{IfValue: []byte("other")}))
	good(t)(kv.Erase(ctx, "k", wq.RowOptions{IfValue: []byte{}}))
	wants(t, wq.Empty)(kv.Erase(ctx, "k", wq.RowOptions{}))
	for i := range 250 {
		sum, outcome, err := kv.Add(ctx, "n"+string(rune('A'+i%50))+string(rune('A'+i/50)), int64(i), wq.RowOptions{}, wq.Memory)
		ok(t, err)
		equal(t, outcome, wq.OK)
		equal(t, sum, int64(i))
	}
	_, outcome, err = kv.Put(ctx, "text", []byte("x"), wq.RowOptions{})
	ok(t, err)
	_, outcome, err = kv.Add(ctx, "text", 1, wq.RowOptions{})
	ok(t, err)
	equal(t, outcome, wq.Conflict)
	count, last := 0, ""
	for row, err := range kv.All(ctx, "n") {
		ok(t, err)
		equal(t, row.Key > last, true)
		last = row.Key
		count++
	}
	equal(t, count, 250)
	_, more, err := kv.List(ctx, "n", "", 10)
	ok(t, err)
	equal(t, more, true)
	_, _, err = kv.List(ctx, "", "", -1)
	is(t, err, wq.ErrInvalid)
	_, _, err = kv.Put(ctx, "", nil, wq.RowOptions{})
	is(t, err, wq.ErrInvalid)
	_, _, err = kv.Put(ctx, "k", nil, wq.RowOptions{TTL: -time.Second})
	is(t, err, wq.ErrInvalid)

	good(t)(s.Lock(ctx, "lock", "me", time.Hour))
	wants(t, wq.Conflict)(s.Lock(ctx, "lock", "you", time.Hour))
	good(t)(s.ExtendLock(ctx, "lock", "me", 0))
	wants(t, wq.Stale)(s.ExtendLock(ctx, "lock", "you", 0))
	wants(t, wq.Stale)(s.Unlock(ctx, "lock", "you"))
	good(t)(s.Unlock(ctx, "lock", "me"))
}

func TestTransact(t *testing.T) {
	s, q := fresh(t, nil)
	push(t, q, text("in"))
	job := take(t, q, 1)[0]
	done, err := s.Transact(ctx, []wq.TxnOp{
		wq.TxnAck(job), wq.TxnEnqueue(q, text("out")), wq.TxnPut("k", []byte("v"), wq.RowOptions{}),
		wq.TxnAdd("n", 5, wq.RowOptions{}), wq.TxnErase("none", wq.RowOptions{}),
		wq.TxnCheck("absent", wq.RowOptions{IfAbsent: true}),
	})
	ok(t, err)
	equal(t, done.Outcome, wq.OK)
	equal(t, done.Failed, -1)
	equal(t, done.Results[1].ID != 0 && done.Results[3].Sum == 5 && done.LSN != 0, true)
	done, err = s.Transact(ctx, []wq.TxnOp{wq.TxnPut("a", nil, wq.RowOptions{}), wq.TxnAck(job)})
	ok(t, err)
	equal(t, done.Outcome, wq.Stale)
	equal(t, done.Failed, 1)
	equal(t, done.Results == nil, true)
	_, found, err := s.KV().Get(ctx, "a")
	ok(t, err)
	equal(t, found, false)
	done, err = s.Transact(ctx, []wq.TxnOp{wq.TxnEnqueue(q, wq.Spec{UniqueKey: "u"})})
	ok(t, err)
	holder := done.Results[0].ID
	done, err = s.Transact(ctx, []wq.TxnOp{wq.TxnEnqueue(q, text("")), wq.TxnEnqueue(q, wq.Spec{UniqueKey: "u"})})
	ok(t, err)
	equal(t, done.Outcome, wq.Duplicate)
	equal(t, done.Failed == 1 && done.Holder == holder, true)
	_, err = s.Transact(ctx, []wq.TxnOp{wq.TxnEnqueue(nil, text(""))})
	is(t, err, wq.ErrInvalid)
	_, err = s.Transact(ctx, nil)
	is(t, err, wq.ErrInvalid)
}

func TestFlows(t *testing.T) {
	s, q := fresh(t, nil)
	flows := s.Flows()
	flow, err := flows.Create(ctx, wq.FlowOptions{OnComplete: &wq.Next{Queue: "q", Spec: text("complete")},
		OnFailure: &wq.Next{Queue: "q", Spec: text("failure")}})
	ok(t, err)
	push(t, q, wq.Spec{Flow: flow}, wq.Spec{Flow: flow})
	ok(t, flows.Seal(ctx, flow))
	jobs := take(t, q, 2)
	good(t)(jobs[0].Ack(ctx))
	good(t)(jobs[1].Fail(ctx, "no"))
	last := take(t, q, 1)[0]
	equal(t, string(last.Payload), "failure")
	status, err := flows.Status(ctx, flow)
	ok(t, err)
	equal(t, status.Finished && status.Sealed && status.FollowUp == last.ID && status.Failed == 1, true)
	wants(t, wq.Conflict)(flows.Cancel(ctx, flow))
	e, err := q.Enqueue(ctx, wq.Spec{Flow: flow})
	ok(t, err)
	equal(t, e.Outcome, wq.Conflict)

	second, err := flows.Create(ctx, wq.FlowOptions{})
	ok(t, err)
	push(t, q, wq.Spec{Flow: second})
	job := take(t, q, 1)[0]
	good(t)(flows.Cancel(ctx, second))
	wants(t, wq.Cancelled)(job.Extend(ctx, time.Minute))
	var ids []uint64
	for f, err := range flows.All(ctx) {
		ok(t, err)
		ids = append(ids, f.ID)
	}
	equal(t, len(ids) == 2 && ids[0] == second, true)
	_, err = flows.Status(ctx, 1<<50)
	is(t, err, wq.ErrNotFound)
	_, _, err = flows.List(ctx, 0, 1001)
	is(t, err, wq.ErrInvalid)
}

func TestCrons(t *testing.T) {
	s, q := fresh(t, nil)
	spec := wq.CronSpec{Expression: "0 3 * * *", Zone: "Europe/Berlin", CatchUp: wq.Ptr(2),
		Job: wq.Spec{Payload: []byte("p"), Headers: []wq.Header{{"h", []byte("v")}}, MaxAttempts: 2,
			Backoff: wq.Backoff{Kind: wq.BackoffList, List: []time.Duration{time.Second}}}}
	ok(t, q.PutCron(ctx, "nightly", spec))
	ok(t, q.PutCron(ctx, "b", wq.CronSpec{Expression: "@every 90s"}))
	ok(t, s.Crons().Pause(ctx, "nightly"))
	c, err := s.Crons().Get(ctx, "nightly")
	ok(t, err)
	equal(t, c.Paused && c.Queue == "q" && c.CatchUp == 2 && string(c.Payload) == "p", true)
	equal(t, c.Backoff.List[0], time.Second)
	equal(t, string(c.Headers[0].Value), "v")
	ok(t, s.Crons().Resume(ctx, "nightly"))
	var names []string
	for c, err := range s.Crons().All(ctx, q) {
		ok(t, err)
		names = append(names, c.Name)
	}
	equal(t, strings.Join(names, ","), "b,nightly")
	ok(t, s.Crons().Remove(ctx, "b"))
	is(t, s.Crons().Remove(ctx, "b"), wq.ErrNotFound)
	_, err = s.Crons().Get(ctx, "b")
	is(t, err, wq.ErrNotFound)
	is(t, q.PutCron(ctx, "bad", wq.CronSpec{Expression: "61 * * * *"}), wq.ErrInvalid)
	is(t, q.PutCron(ctx, "bad", wq.CronSpec{Expression: "@daily", CatchUp: wq.Ptr(-1)}), wq.ErrInvalid)
	due, err := wq.NextDue("@hourly", "", time.Unix(0, 0), 3)
	ok(t, err)
	equal(t, len(due) == 3 && due[2].Unix() == 3*3600, true)
	_, err = wq.NextDue("x", "", time.Now(), 1)
	is(t, err, wq.ErrInvalid)
	_, err = wq.NextDue("@hourly", "", time.Now(), 0)
	is(t, err, wq.ErrInvalid)
}

func TestEvents(t *testing.T) {
	s := open(t, &wq.Options{EventsMax: 1024})
	reader := s.Events(false)
	q := queue(t, s, "q", nil)
	push(t, q, text("x"))
	good(t)(take(t, q, 1)[0].Fail(ctx, "no"))
	events, outcome, err := reader.Read(ctx, 0)
	ok(t, err)
	equal(t, outcome, wq.OK)
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, e.Kind.String())
	}
	equal(t, strings.Join(kinds, " "), "queue_declared queued leased dead")
	equal(t, events[3].DeadReason, wq.DeadFailed)
	equal(t, events[3].Queue, "q")
	equal(t, reader.Dropped(), 0)
	_, outcome, err = reader.Read(ctx, 0)
	ok(t, err)
	equal(t, outcome, wq.Empty)

	stop, cancel := context.WithCancel(ctx)
	got := make(chan wq.Event)
	go func() {
		defer close(got)
		for e, err := range reader.All(stop) {
			if err != nil {
				return
			}
			got <- e
		}
	}()
	push(t, q, text("y"))
	equal(t, (<-got).Kind, wq.EventQueued)
	cancel()
	_, more := <-got
	equal(t, more, false)
	_, _, err = open(t, nil).Events(true).Read(ctx, 0)
	is(t, err, wq.ErrUnsupported)
}

// Every value of a byte, nothing, a megabyte, NUL and broken UTF-8 come back as they were given.
func TestBytesIntact(t *testing.T) {
	s, q := fresh(t, &wq.Config{History: &wq.History{Count: 100}})
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	megabyte := make([]byte, 1<<20)
	seeded(t).Read(megabyte)
	for _, b := range [][]byte{every, {}, megabyte, {0}, []byte("a\x00b"), []byte("\xff\xfe\xc3\x28"), bytes.Repeat([]byte("x"), 40000)} {
		small := b[:min(len(b), 4000)]
		push(t, q, wq.Spec{Payload: b, Headers: []wq.Header{{"h", small}}})
		job := take(t, q, 1)[0]
		equal(t, bytes.Equal(job.Payload, b) && bytes.Equal(job.Header("h"), small), true)
		good(t)(job.SetProgress(ctx, small))
		good(t)(job.Nack(ctx, wq.Nack{Error: string(small), Delay: wq.Ptr(time.Duration(0))}))
		job = take(t, q, 1)[0]
		equal(t, job.LastError, string(small))
		equal(t, bytes.Equal(job.Progress, small), true)
		good(t)(job.AckResult(ctx, b))
		done, err := q.Done(ctx, job.ID)
		ok(t, err)
		equal(t, bytes.Equal(done.Result, b), true)
		_, outcome, err := s.KV().Put(ctx, "k"+string(small[:min(len(small), 500)]), b, wq.RowOptions{})
		ok(t, err)
		equal(t, outcome, wq.OK)
		row, found, err := s.KV().Get(ctx, "k"+string(small[:min(len(small), 500)]))
		ok(t, err)
		equal(t, found && bytes.Equal(row.Value, b), true)
	}
}
