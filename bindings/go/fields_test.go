package wq_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wq.internal/wq"
)

// Fields of jobs and queues, each by what it does.

func explain(t *testing.T, q *wq.Queue, id uint64) wq.JobExplanation {
	t.Helper()
	e, err := q.ExplainJob(ctx, id)
	ok(t, err)
	return e
}

func payloads(jobs []*wq.Job) string {
	var all []string
	for _, job := range jobs {
		all = append(all, string(job.Payload))
	}
	return strings.Join(all, " ")
}

func TestTenantsTakeTurns(t *testing.T) {
	_, q := fresh(t, nil)
	for _, p := range []string{"a1", "a2", "a3", "b1"} {
		push(t, q, wq.Spec{Payload: []byte(p), Tenant: p[:1]})
	}
	jobs := take(t, q, 4)
	equal(t, payloads(jobs), "a1 b1 a2 a3")
	equal(t, jobs[1].Tenant, "b")
}

func TestOverlap(t *testing.T) {
	s := open(t, &wq.Options{EventsMax: 64})
	q := queue(t, s, "q", nil)
	push(t, q, wq.Spec{Group: "g"})
	take(t, q, 1)
	ids := push(t, q, wq.Spec{Group: "g"}, wq.Spec{Group: "g", Overlap: wq.OverlapRelease, OverlapDelay: time.Hour},
		wq.Spec{Group: "g", Overlap: wq.OverlapSkip})
	reader := s.Events(false)
	_, outcome, err := q.Lease(ctx, wq.LeaseOptions{Max: 10})
	ok(t, err)
	equal(t, outcome, wq.Empty)
	equal(t, explain(t, q, ids[0]).Causes&wq.WhyGroup != 0, true)
	later := explain(t, q, ids[1])
	equal(t, later.State == wq.StateDelayed && time.Until(later.Until) > 50*time.Minute, true)
	_, err = q.Get(ctx, ids[2])
	is(t, err, wq.ErrNotFound)
	stats, err := q.Stats(ctx)
	ok(t, err)
	equal(t, stats.Skipped == 1 && stats.Released == 1, true)
	events, _, err := reader.Read(ctx, 0)
	ok(t, err)
	skipped := false
	for _, e := range events {
		skipped = skipped || e.Kind == wq.EventSkipped && e.Job.ID == ids[2]
	}
	equal(t, skipped, true)
	equal(t, wq.EventSkipped.String()+" "+wq.EventKeyCools.String(), "skipped key_cools")
	_, err = q.Enqueue(ctx, wq.Spec{Overlap: wq.OverlapSkip})
	is(t, err, wq.ErrInvalid)
	_, err = q.Enqueue(ctx, wq.Spec{Group: "g", Overlap: wq.OverlapRelease, OverlapDelay: -time.Hour})
	is(t, err, wq.ErrInvalid)
}

func TestRateKeys(t *testing.T) {
	_, q := fresh(t, &wq.Config{KeyRate: &wq.Rate{Count: 4, Window: 4 * time.Hour, Burst: 2}})
	ids := push(t, q, wq.Spec{Payload: []byte("a1"), RateKey: "a", RateCost: 2},
		wq.Spec{Payload: []byte("a2"), RateKey: "a"}, wq.Spec{Payload: []byte("b1"), RateKey: "b"},
		wq.Spec{Payload: []byte("b2"), RateKey: "b"})
	jobs := take(t, q, 3)
	equal(t, payloads(jobs), "a1 b1 b2")
	equal(t, jobs[0].RateKey, "a")
	equal(t, jobs[0].RateCost, 2)
	equal(t, explain(t, q, ids[1]).Causes&wq.WhyRate != 0, true)
	parked, err := q.Get(ctx, ids[1])
	ok(t, err)
	equal(t, parked.Parked, true)
	stats, err := q.Stats(ctx)
	ok(t, err)
	equal(t, stats.Parked == 1 && stats.RateWait > 0, true)
	config, err := q.Config(ctx)
	ok(t, err)
	equal(t, *config.KeyRate, wq.Rate{Count: 4, Window: 4 * time.Hour, Burst: 2})
	good(t)(q.Configure(ctx, wq.Config{KeyRate: &wq.Rate{}}))
	equal(t, payloads(take(t, q, 1)), "a2")
	_, err = q.Enqueue(ctx, wq.Spec{RateKey: "a", RateCost: -1})
	is(t, err, wq.ErrInvalid)
	_, err = q.Enqueue(ctx, wq.Spec{RateKey: "a", Group: "g"})
	is(t, err, wq.ErrUnsupported)
	_, err = q.Configure(ctx, wq.Config{KeyRate: &wq.Rate{Count: -1}})
	is(t, err, wq.ErrInvalid)
}

func TestThrottle(t *testing.T) {
	s := open(t, &wq.Options{EventsMax: 64})
	throttle := wq.Throttle{Count: 2, Window: time.Hour, Cool: 2 * time.Hour}
	q := queue(t, s, "q", &wq.Config{Throttle: &throttle})
	config, err := q.Config(ctx)
	ok(t, err)
	equal(t, *config.Throttle, throttle)
	reader := s.Events(false)
	ids := push(t, q, wq.Spec{RateKey: "k"}, wq.Spec{RateKey: "k"}, wq.Spec{RateKey: "k"})
	for _, job := range take(t, q, 2) {
		good(t)(job.Nack(ctx, wq.Nack{Error: "no"}))
	}
	cools := explain(t, q, ids[2])
	equal(t, cools.Causes&wq.WhyCooling != 0 && time.Until(cools.Until) > 100*time.Minute, true)
	events, _, err := reader.Read(ctx, 0)
	ok(t, err)
	count := 0
	for _, e := range events {
		if e.Kind == wq.EventKeyCools {
			count++
			equal(t, time.Until(e.Time) > 100*time.Minute, true)
		}
	}
	equal(t, count, 1)
	good(t)(q.Configure(ctx, wq.Config{Throttle: &wq.Throttle{}}))
	take(t, q, 1)
	_, err = q.Configure(ctx, wq.Config{Throttle: &wq.Throttle{Count: -1}})
	is(t, err, wq.ErrInvalid)
}

func TestCompression(t *testing.T) {
	_, q := fresh(t, &wq.Config{CompressMinBytes: wq.Ptr(1000)})
	config, err := q.Config(ctx)
	ok(t, err)
	equal(t, *config.CompressMinBytes, 1000)
	big := bytes.Repeat([]byte("x"), 100_000)
	push(t, q, wq.Spec{Payload: big})
	stats, err := q.Stats(ctx)
	ok(t, err)
	equal(t, stats.JobBytes < 10_000, true)
	equal(t, bytes.Equal(take(t, q, 1)[0].Payload, big), true)
	_, err = q.Configure(ctx, wq.Config{CompressMinBytes: wq.Ptr(-1)})
	is(t, err, wq.ErrInvalid)
}

// stored reports whether a file of the store has the text in it.
func stored(t *testing.T, dir, text string) bool {
	t.Helper()
	found := false
	ok(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		found = found || bytes.Contains(data, []byte(text))
		return err
	}))
	return found
}

func TestEncryption(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store")
	keys := []wq.Key{{ID: 1, Bytes: bytes.Repeat([]byte{1}, 32)}, {ID: 7, Bytes: bytes.Repeat([]byte{7}, 32)}}
	s := openAt(t, path, &wq.Options{Keys: keys, CurrentKey: 7})
	q := queue(t, s, "q", &wq.Config{Encrypt: wq.Ptr(true), History: &wq.History{Count: 10}})
	config, err := q.Config(ctx)
	ok(t, err)
	equal(t, *config.Encrypt, true)
	open := queue(t, s, "open", nil)
	push(t, open, wq.Spec{Payload: []byte("sealed by its spec"), Encrypt: wq.Ptr(true)})
	ids := push(t, q, text("done by this key"), text("sealed by its queue"),
		wq.Spec{Payload: []byte("in the clear here"), Encrypt: wq.Ptr(false)})
	job := take(t, q, 1)[0]
	equal(t, string(job.Payload), "done by this key")
	equal(t, job.Sealed && job.KeyID == 7 && job.PayloadCode == 0, true)
	good(t)(job.AckResult(ctx, []byte("a sealed result")))
	done, err := q.Done(ctx, job.ID)
	ok(t, err)
	equal(t, string(done.Result) == "a sealed result" && done.KeyID == 7, true)
	ok(t, q.PutCron(ctx, "nightly", wq.CronSpec{Expression: "@daily", Job: text("sealed schedule")}))
	uses, err := s.Keys(ctx)
	ok(t, err)
	equal(t, len(uses), 2)
	equal(t, uses[0], wq.KeyUse{ID: 1, Known: true})
	equal(t, uses[1].ID == 7 && uses[1].Payloads >= 4 && uses[1].Known && uses[1].Current, true)
	ok(t, s.Close())
	for _, secret := range []string{"done by this key", "sealed by its queue", "sealed by its spec", "a sealed result", "sealed schedule"} {
		equal(t, stored(t, path, secret), false)
	}
	equal(t, stored(t, path, "in the clear here"), true)

	s = openAt(t, path, nil) // without its key
	q = queue(t, s, "q", nil)
	job, err = q.Get(ctx, ids[1])
	ok(t, err)
	equal(t, job.Payload == nil && job.PayloadCode == wq.ErrNoKey && job.KeyID == 7, true)
	done, err = q.Done(ctx, ids[0])
	ok(t, err)
	equal(t, done.Result == nil && done.ResultCode == wq.ErrNoKey, true)
	cron, err := s.Crons().Get(ctx, "nightly")
	ok(t, err)
	equal(t, cron.Sealed && cron.KeyID == 7 && cron.PayloadCode == wq.ErrNoKey, true)
	_, err = q.Enqueue(ctx, text("x"))
	is(t, err, wq.ErrNoKey)
	_, _, err = q.Lease(ctx, wq.LeaseOptions{})
	is(t, err, wq.ErrNoKey)
	uses, err = s.Keys(ctx)
	ok(t, err)
	equal(t, len(uses) == 1 && uses[0].ID == 7 && !uses[0].Known && !uses[0].Current, true)
	ok(t, s.Close())

	s = openAt(t, path, &wq.Options{Keys: keys[:1], CurrentKey: 1}) // with another one
	q = queue(t, s, "q", nil)
	equal(t, payloads(take(t, q, 1)), "in the clear here")
	letter := dead(t, q)[0]
	equal(t, letter.ID == ids[1] && letter.DeadReason == wq.DeadUnreadable && letter.DeadReason.String() == "unreadable", true)
	ok(t, s.Close())

	for _, bad := range []wq.Options{{Keys: []wq.Key{{ID: 1, Bytes: []byte("short")}}}, {Keys: []wq.Key{{Bytes: keys[0].Bytes}}},
		{CurrentKey: 3}, {Keys: []wq.Key{keys[0], keys[0]}}} {
		_, err = wq.Open(path, &bad)
		is(t, err, wq.ErrInvalid)
	}
}
