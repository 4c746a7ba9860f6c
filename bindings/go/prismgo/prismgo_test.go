package prismgo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"wq.internal/wq"
	"wq.internal/wq/internal/check"
	"wq.internal/wq/prismgo"
)

// The framework's interfaces in our own words, with types of their own as it has: what compiles here
// compiles there with the framework's names.

type (
	payload    []byte
	bulkResult struct{ Accepted int }
	waitMode   uint8

	reservedJob interface {
		ID() string
		Name() string
		Payload() payload
		Attempts() int
		Delete(ctx context.Context) error
		Release(ctx context.Context, delay time.Duration) error
	}
	connection interface {
		Push(ctx context.Context, queue string, body payload) error
		Later(ctx context.Context, queue string, body payload, delay time.Duration) error
		Bulk(ctx context.Context, queue string, bodies []payload) (bulkResult, error)
		Pop(ctx context.Context, queues []string, wait ...waitMode) (reservedJob, error)
		Size(ctx context.Context, queue string) (int64, error)
		Clear(ctx context.Context, queue string) error
		Close() error
	}
	restartStore interface {
		RequestRestart(ctx context.Context, at time.Time) error
		RestartRequestedAt(ctx context.Context) (time.Time, error)
	}
	batchStatus struct {
		ID                                string
		Total, Pending, Processed, Failed int
		Cancelled                         bool
		FinishedAt, CancelledAt           time.Time
	}
	batchStore interface {
		CreateBatch(context.Context, batchStatus) error
		GetBatch(context.Context, string) (*batchStatus, error)
		UpdateBatch(context.Context, batchStatus) error
		DeleteBatch(context.Context, string) error
		MarkBatchJob(context.Context, string, bool) (batchStatus, error)
		CancelBatch(context.Context, string) (batchStatus, error)
	}
	failedJob struct {
		ID, JobID, Error string
		FailedAt         time.Time
	}
	pageRequest struct{ Page, PageSize int }
	pageOf      struct {
		Items                 []failedJob
		Total, Page, PageSize int
	}
	failedStore interface {
		Record(context.Context, failedJob) error
		Page(context.Context, pageRequest) (pageOf, error)
		Find(context.Context, string) (*failedJob, error)
		Forget(context.Context, string) error
		Flush(context.Context) error
	}
	cacheStore interface {
		Add(ctx context.Context, key string, value []byte, ttl time.Duration) (bool, error)
		Increment(ctx context.Context, key string, delta int64) (int64, error)
		Pull(ctx context.Context, key string) ([]byte, error)
		Touch(ctx context.Context, key string, ttl time.Duration) (bool, error)
		GetMany(ctx context.Context, keys []string) (map[string][]byte, error)
		PutMany(ctx context.Context, values map[string][]byte, ttl time.Duration) error
		ForgetMany(ctx context.Context, keys []string) error
		Flush(ctx context.Context, prefix string) error
		Acquire(ctx context.Context, key, token string, ttl time.Duration) (bool, error)
		Release(ctx context.Context, key, token string) (bool, error)
		ForceRelease(ctx context.Context, key string) error
		FlushLocks(ctx context.Context, lockPrefix string) error
		Close() error
	}
)

const (
	noWait   waitMode = 0
	waitSome waitMode = 1
)

var (
	errEmpty  = errors.New("queue: empty")
	errPoison = errors.New("queue: poison envelope")
	errClosed = errors.New("queue: connection is closed")
	errMiss   = errors.New("cache: miss")

	_ connection   = (*prismgo.Queue[payload, bulkResult, waitMode, reservedJob])(nil)
	_ restartStore = (*prismgo.RestartStore)(nil)
	_ batchStore   = (*prismgo.BatchStore[batchStatus])(nil)
	_ failedStore  = failed{}
	_ cacheStore   = (*prismgo.Cache)(nil)
)

// failed is the whole adapter that FailedStore needs: pages have types of the framework.
type failed struct {
	*prismgo.FailedStore[failedJob]
}

func (f failed) Page(ctx context.Context, r pageRequest) (pageOf, error) {
	items, total, page, size, err := f.PageOf(ctx, r.Page, r.PageSize)
	return pageOf{items, total, page, size}, err
}

func batches(s *wq.Store) batchStore {
	return prismgo.NewBatchStore(s, errEmpty, func(b *batchStatus) prismgo.BatchFields {
		return prismgo.BatchFields{ID: &b.ID, Total: &b.Total, Pending: &b.Pending, Processed: &b.Processed,
			Failed: &b.Failed, Cancelled: &b.Cancelled, FinishedAt: &b.FinishedAt, CancelledAt: &b.CancelledAt}
	})
}

func failures(s *wq.Store) failed {
	return failed{prismgo.NewFailedStore(s, errEmpty, func(f *failedJob) prismgo.FailedFields {
		return prismgo.FailedFields{ID: &f.ID, JobID: &f.JobID, FailedAt: &f.FailedAt}
	})}
}

func connect(s *wq.Store, o prismgo.Options) connection {
	o.Errors = prismgo.Errors{Empty: errEmpty, Poison: errPoison, Closed: errClosed}
	return prismgo.NewQueue[payload, bulkResult, waitMode, reservedJob](s, o, func(p payload) (h prismgo.Header, err error) {
		return h, json.Unmarshal(p, &h)
	})
}

var ctx = context.Background()

func open(t testing.TB) *wq.Store {
	t.Helper()
	return check.Open(t, wq.Options{})
}

func job(id string) payload { return payload(fmt.Sprintf(`{"ID":%q,"Name":"job.%s"}`, id, id)) }

func size(t testing.TB, q connection, name string) int64 {
	t.Helper()
	n, err := q.Size(ctx, name)
	check.OK(t, err)
	return n
}

func pop(t testing.TB, q connection, queues ...string) reservedJob {
	t.Helper()
	j, err := q.Pop(ctx, queues)
	check.OK(t, err)
	return j
}

func TestPushLaterBulkPop(t *testing.T) {
	q := connect(open(t), prismgo.Options{})
	check.OK(t, q.Push(ctx, "low", job("a")))
	check.OK(t, q.Later(ctx, "high", job("b"), -time.Second)) // due already
	r, err := q.Bulk(ctx, "low", []payload{job("c"), job("d")})
	check.OK(t, err)
	check.Equal(t, r.Accepted, 2)
	check.Equal(t, size(t, q, "low"), 3)
	for _, want := range []string{"b", "a", "c", "d"} { // high first, then in order
		j := pop(t, q, "high", "low")
		check.Equal(t, j.ID(), want)
		check.Equal(t, j.Name(), "job."+want)
		check.Equal(t, j.Attempts(), 1)
		check.OK(t, j.Delete(ctx))
	}
	_, err = q.Pop(ctx, []string{"high", "low"})
	check.Is(t, err, errEmpty)
	r, err = q.Bulk(ctx, "never", nil)
	check.OK(t, err)
	check.Equal(t, r.Accepted, 0)
	check.Equal(t, size(t, q, "never"), 0)
	check.OK(t, q.Clear(ctx, "never"))
	check.OK(t, q.Push(ctx, "other", job("x")))
	_, err = q.Pop(ctx, []string{"low"}, noWait) // only what was asked for
	check.Is(t, err, errEmpty)
	check.OK(t, q.Push(ctx, "low", job("y")))
	check.OK(t, q.Later(ctx, "low", job("z"), time.Hour))
	check.Equal(t, size(t, q, "low"), 2)
	check.OK(t, q.Clear(ctx, "low"))
	check.Equal(t, size(t, q, "low"), 0)
	check.Equal(t, size(t, q, "other"), 1)
}

func TestBulkIsAllOrNothing(t *testing.T) {
	s := open(t)
	q := connect(s, prismgo.Options{})
	check.OK(t, q.Push(ctx, "q", job("a")))
	handle, err := s.ExistingQueue(ctx, "prismgo:q")
	check.OK(t, err)
	_, err = handle.Configure(ctx, wq.Config{MaxDepth: wq.Ptr(int64(3))})
	check.OK(t, err)
	r, err := q.Bulk(ctx, "q", []payload{job("b"), job("c"), job("d")})
	check.Is(t, err, wq.ErrFull)
	check.Equal(t, r.Accepted, 0)
	check.Equal(t, size(t, q, "q"), 1)
	check.OK(t, handle.Close())
}

func TestReservedJob(t *testing.T) {
	s := open(t)
	q := connect(s, prismgo.Options{})
	check.OK(t, q.Push(ctx, "q", job("a")))
	j := pop(t, q, "q")
	j.Payload()[0] = 'x' // a copy
	check.Equal(t, string(j.Payload()), string(job("a")))
	check.OK(t, j.Release(ctx, time.Hour))
	_, err := q.Pop(ctx, []string{"q"})
	check.Is(t, err, errEmpty)
	check.Equal(t, size(t, q, "q"), 1)
	check.OK(t, q.Clear(ctx, "q"))

	check.OK(t, q.Push(ctx, "q", job("b")))
	check.OK(t, q.Push(ctx, "q", job("c")))
	j = pop(t, q, "q")
	check.OK(t, j.Release(ctx, 0)) // to the tail
	check.Equal(t, pop(t, q, "q").ID(), "c")
	again := pop(t, q, "q")
	check.Equal(t, again.ID(), "b")
	check.Equal(t, again.Attempts(), 2)
	check.OK(t, again.Delete(ctx))
	check.OK(t, again.Delete(ctx)) // stale: told as done
}

// A job that is not deleted in time comes back, and the late worker changes nothing.
func TestRetryAfterAndFencing(t *testing.T) {
	var stale atomic.Int64
	q := connect(open(t), prismgo.Options{RetryAfter: time.Millisecond, BlockFor: time.Minute,
		OnStale: func(c prismgo.StaleCall) {
			if c.Queue == "q" && c.ID == "a" {
				stale.Add(1)
			}
		}})
	check.OK(t, q.Push(ctx, "q", job("a")))
	late := pop(t, q, "q")
	again := pop(t, q, "q") // waits for the lease of the first to end
	check.Equal(t, again.ID(), "a")
	check.Equal(t, again.Attempts(), 2)
	check.OK(t, late.Delete(ctx))
	check.OK(t, late.Release(ctx, 0))
	check.Equal(t, stale.Load(), 2)
	third := pop(t, q, "q")
	check.Equal(t, third.Attempts(), 3)
	for third.Delete(ctx); size(t, q, "q") > 0; { // unless it was late as well
		check.OK(t, pop(t, q, "q").Delete(ctx))
	}
}

func TestDelayed(t *testing.T) {
	q := connect(open(t), prismgo.Options{BlockFor: time.Minute})
	check.OK(t, q.Later(ctx, "q", job("a"), time.Second))
	_, err := q.Pop(ctx, []string{"q"}, noWait)
	check.Is(t, err, errEmpty)
	var got, empty atomic.Int64
	var all sync.WaitGroup
	j := pop(t, q, "q") // woken when it is due
	check.Equal(t, j.ID(), "a")
	check.OK(t, j.Release(ctx, 0))
	for range 8 { // of many at once one gets it
		all.Add(1)
		go func() {
			defer all.Done()
			switch _, err := q.Pop(ctx, []string{"q"}, noWait); {
			case err == nil:
				got.Add(1)
			case errors.Is(err, errEmpty):
				empty.Add(1)
			}
		}()
	}
	all.Wait()
	check.Equal(t, got.Load(), 1)
	check.Equal(t, empty.Load(), 7)
}

func TestWaits(t *testing.T) {
	q := connect(open(t), prismgo.Options{BlockFor: time.Minute})
	for _, wait := range [][]waitMode{nil, {waitSome}} {
		woken := make(chan reservedJob)
		go func() {
			j, err := q.Pop(ctx, []string{"high", "low"}, wait...)
			if err != nil {
				t.Error(err)
			}
			woken <- j
		}()
		check.OK(t, q.Push(ctx, "low", job("a"))) // the second of the two wakes as well
		check.OK(t, (<-woken).Delete(ctx))
	}
	short := connect(open(t), prismgo.Options{BlockFor: time.Millisecond})
	_, err := short.Pop(ctx, []string{"q"})
	check.Is(t, err, errEmpty)
	stop, cancel := context.WithCancel(ctx)
	ended := make(chan error)
	go func() {
		_, err := q.Pop(stop, []string{"high"})
		ended <- err
	}()
	cancel()
	check.Is(t, <-ended, context.Canceled)
}

func TestPoison(t *testing.T) {
	s := open(t)
	var seen []prismgo.Poison
	q := connect(s, prismgo.Options{OnPoison: func(p prismgo.Poison) { seen = append(seen, p) }})
	check.OK(t, q.Push(ctx, "q", payload("{not json")))
	check.OK(t, q.Push(ctx, "q", job("good")))
	_, err := q.Pop(ctx, []string{"q"})
	check.Is(t, err, errPoison)
	check.Equal(t, len(seen), 1)
	check.Equal(t, seen[0].Queue, "q")
	check.Equal(t, string(seen[0].Payload), "{not json")
	check.Equal(t, pop(t, q, "q").ID(), "good")
	handle, err := s.ExistingQueue(ctx, "prismgo:q")
	check.OK(t, err)
	letters, _, err := handle.Dead().List(ctx, wq.DeadQuery{})
	check.OK(t, err)
	check.Equal(t, len(letters), 1)
	check.Equal(t, strings.HasPrefix(letters[0].LastError, "poison: "), true)
	check.OK(t, handle.Close())
}

func TestClose(t *testing.T) {
	s := open(t)
	q := connect(s, prismgo.Options{BlockFor: time.Minute})
	check.OK(t, q.Push(ctx, "q", job("a")))
	ended := make(chan error)
	go func() {
		_, err := q.Pop(ctx, []string{"empty"})
		ended <- err
	}()
	for waiting := uint64(0); waiting == 0; {
		stats, err := s.Stats(ctx)
		check.OK(t, err)
		waiting = stats.Waiting
	}
	check.OK(t, q.Close())
	check.Is(t, <-ended, errClosed)
	check.OK(t, q.Close())
	check.Is(t, q.Push(ctx, "q", job("b")), errClosed)
	check.Is(t, q.Later(ctx, "q", job("b"), time.Second), errClosed)
	_, err := q.Bulk(ctx, "q", []payload{job("b")})
	check.Is(t, err, errClosed)
	_, err = q.Pop(ctx, []string{"q"})
	check.Is(t, err, errClosed)
	_, err = q.Size(ctx, "q")
	check.Is(t, err, errClosed)
	check.Is(t, q.Clear(ctx, "q"), errClosed)
	var none *prismgo.Queue[payload, bulkResult, waitMode, reservedJob]
	check.OK(t, none.Close())

	second := connect(s, prismgo.Options{}) // the store is open, and all is there
	check.Equal(t, size(t, second, "q"), 1)
	j := pop(t, second, "q")
	check.OK(t, s.Close())
	check.Is(t, second.Push(ctx, "q", job("c")), errClosed)
	check.Is(t, j.Delete(ctx), errClosed)
}

func TestNames(t *testing.T) {
	for _, test := range []struct {
		queues []string
		usual  string
		want   string
	}{
		{[]string{" a ", "", "a", "b"}, "", "a,b"}, {nil, " x ", "x"}, {nil, "", "default"},
	} {
		check.Equal(t, strings.Join(prismgo.NormalizeQueues(test.queues, test.usual), ","), test.want)
	}
	q := connect(open(t), prismgo.Options{DefaultQueue: "mine"})
	check.OK(t, q.Push(ctx, "", job("a")))
	check.Equal(t, size(t, q, "mine"), 1)
	check.OK(t, q.Push(ctx, "mine:delayed", job("b"))) // a name like any other
	check.Equal(t, size(t, q, "mine"), 1)
	check.Equal(t, pop(t, q).ID(), "a")
	defer func() {
		if recover() == nil {
			t.Error("a type that is no reserved job was taken")
		}
	}()
	prismgo.NewQueue[payload, bulkResult, waitMode, interface{ Other() }](open(t), prismgo.Options{}, nil)
}

func TestFailedStore(t *testing.T) {
	f := failures(open(t))
	_, err := f.Find(ctx, "a")
	check.Is(t, err, errEmpty)
	begin := time.Unix(1000, 0)
	for i := range 7 {
		check.OK(t, f.Record(ctx, failedJob{JobID: fmt.Sprint("job", i), Error: "e", FailedAt: begin.Add(time.Duration(7-i) * time.Second)}))
	}
	got, err := f.Find(ctx, "job3")
	check.OK(t, err)
	check.Equal(t, got.ID, "job3")
	page, err := f.Page(ctx, pageRequest{Page: 2, PageSize: 3})
	check.OK(t, err)
	check.Equal(t, page.Total, 7)
	check.Equal(t, len(page.Items), 3)
	check.Equal(t, page.Items[0].ID, "job3") // the oldest first
	page, err = f.Page(ctx, pageRequest{})
	check.OK(t, err)
	check.Equal(t, page.PageSize, 50)
	check.Equal(t, page.Items[0].ID, "job6")
	page, err = f.Page(ctx, pageRequest{PageSize: 5000, Page: 9})
	check.OK(t, err)
	check.Equal(t, page.PageSize, 1000)
	check.Equal(t, len(page.Items), 0)
	check.OK(t, f.Record(ctx, failedJob{ID: "job3", Error: "again"})) // in its place, with the time of now
	got, err = f.Find(ctx, "job3")
	check.OK(t, err)
	check.Equal(t, got.Error, "again")
	check.Equal(t, got.FailedAt.IsZero(), false)
	page, err = f.Page(ctx, pageRequest{})
	check.OK(t, err)
	check.Equal(t, page.Total, 7)
	check.Equal(t, page.Items[6].ID, "job3")
	check.OK(t, f.Forget(ctx, "job3"))
	check.OK(t, f.Forget(ctx, "job3"))
	_, err = f.Find(ctx, "job3")
	check.Is(t, err, errEmpty)
	check.OK(t, f.Flush(ctx))
	page, err = f.Page(ctx, pageRequest{})
	check.OK(t, err)
	check.Equal(t, page.Total, 0)
}

// A hundred marks at once, ten of them failures: all are counted, and the next is not.
func TestBatchStore(t *testing.T) {
	b := batches(open(t))
	_, err := b.GetBatch(ctx, "x")
	check.Is(t, err, errEmpty)
	_, err = b.MarkBatchJob(ctx, "x", true)
	check.Is(t, err, errEmpty)
	check.OK(t, b.CreateBatch(ctx, batchStatus{ID: "x", Total: 100, Pending: 100}))
	var all sync.WaitGroup
	for i := range 100 {
		all.Add(1)
		go func() {
			defer all.Done()
			if _, err := b.MarkBatchJob(ctx, "x", i%10 != 0); err != nil {
				t.Error(err)
			}
		}()
	}
	all.Wait()
	s, err := b.GetBatch(ctx, "x")
	check.OK(t, err)
	check.Equal(t, *s, batchStatus{ID: "x", Total: 100, Processed: 100, Failed: 10, FinishedAt: s.FinishedAt})
	check.Equal(t, s.FinishedAt.IsZero(), false)
	after, err := b.MarkBatchJob(ctx, "x", false)
	check.OK(t, err)
	check.Equal(t, after.Processed, 100)
	after, err = b.CancelBatch(ctx, "x")
	check.OK(t, err)
	check.Equal(t, after.Cancelled && !after.CancelledAt.IsZero(), true)
	check.OK(t, b.UpdateBatch(ctx, batchStatus{ID: "x", Total: 3, Pending: 1, Processed: 2, Failed: 2}))
	check.OK(t, b.DeleteBatch(ctx, "x"))
	check.OK(t, b.DeleteBatch(ctx, "x"))
	_, err = b.CancelBatch(ctx, "x")
	check.Is(t, err, errEmpty)
}

func TestRestartStore(t *testing.T) {
	r := prismgo.NewRestartStore(open(t))
	at, err := r.RestartRequestedAt(ctx)
	check.OK(t, err)
	check.Equal(t, at.IsZero(), true)
	now := time.Now()
	check.OK(t, r.RequestRestart(ctx, now))
	at, err = r.RestartRequestedAt(ctx)
	check.OK(t, err)
	check.Equal(t, at.Equal(now), true)
}

func TestCache(t *testing.T) {
	c := prismgo.NewCache(open(t), errMiss, wq.Memory)
	_, err := c.Get(ctx, "k")
	check.Is(t, err, errMiss)
	check.OK(t, c.Put(ctx, "k", []byte("v"), 0))
	value, ttl, err := c.GetWithTTL(ctx, "k")
	check.OK(t, err)
	check.Equal(t, string(value) == "v" && ttl == 0, true)
	there, err := c.Touch(ctx, "k", time.Hour)
	check.OK(t, err)
	check.Equal(t, there, true)
	_, ttl, err = c.GetWithTTL(ctx, "k")
	check.OK(t, err)
	check.Equal(t, ttl > 59*time.Minute && ttl <= time.Hour, true)
	there, err = c.Touch(ctx, "none", time.Hour)
	check.OK(t, err)
	check.Equal(t, there, false)
	check.OK(t, c.PutMany(ctx, map[string][]byte{"a:1": []byte("1"), "a:2": []byte("2")}, time.Hour))
	many, err := c.GetMany(ctx, []string{"a:1", "a:2", "a:3"})
	check.OK(t, err)
	check.Equal(t, len(many) == 2 && string(many["a:2"]) == "2", true)
	check.OK(t, c.ForgetMany(ctx, []string{"a:1", "a:1", "none"}))
	check.OK(t, c.Flush(ctx, "a:"))
	_, err = c.Get(ctx, "a:2")
	check.Is(t, err, errMiss)
	_, err = c.Get(ctx, "k")
	check.OK(t, err)
	check.OK(t, c.Forget(ctx, "k"))
	check.OK(t, c.Forget(ctx, "k"))
	for _, key := range []string{"n", "window"} {
		var all sync.WaitGroup
		for range 50 {
			all.Add(1)
			go func() {
				defer all.Done()
				var err error
				if key == "n" {
					_, err = c.Increment(ctx, key, 2)
				} else {
					_, err = c.Hit(ctx, key, time.Hour)
				}
				if err != nil {
					t.Error(err)
				}
			}()
		}
		all.Wait()
	}
	n, err := c.Increment(ctx, "n", 0)
	check.OK(t, err)
	check.Equal(t, n, 100)
	n, err = c.Hit(ctx, "window", time.Hour) // a rate: the fifty-first of its window
	check.OK(t, err)
	check.Equal(t, n, 51)
	_, ttl, err = c.GetWithTTL(ctx, "window")
	check.OK(t, err)
	check.Equal(t, ttl > 0 && ttl <= time.Hour, true)
	check.OK(t, c.Put(ctx, "text", []byte("x"), 0))
	_, err = c.Increment(ctx, "text", 1)
	check.Equal(t, err != nil, true)
	check.OK(t, c.Clear(ctx))
	_, err = c.Get(ctx, "n")
	check.Is(t, err, errMiss)
}

// Of many that add, pull or lock at once exactly one does.
func TestCacheIsAtomic(t *testing.T) {
	c := prismgo.NewCache(open(t), errMiss, wq.Memory)
	check.OK(t, c.Put(ctx, "pulled", []byte("v"), 0))
	var added, pulled, locked atomic.Int64
	var all sync.WaitGroup
	for i := range 20 {
		all.Add(1)
		go func() {
			defer all.Done()
			if done, err := c.Add(ctx, "unique", []byte(fmt.Sprint(i)), time.Minute); err != nil {
				t.Error(err)
			} else if done {
				added.Add(1)
			}
			if _, err := c.Pull(ctx, "pulled"); err == nil {
				pulled.Add(1)
			} else if !errors.Is(err, errMiss) {
				t.Error(err)
			}
			if done, err := c.Acquire(ctx, "overlap", fmt.Sprint(i), time.Minute); err != nil {
				t.Error(err)
			} else if done {
				locked.Add(1)
			}
		}()
	}
	all.Wait()
	check.Equal(t, added.Load(), 1)
	check.Equal(t, pulled.Load(), 1)
	check.Equal(t, locked.Load(), 1)
	released, err := c.Release(ctx, "overlap", "nobody")
	check.OK(t, err)
	check.Equal(t, released, false)
	check.OK(t, c.ForceRelease(ctx, "overlap"))
	done, err := c.Acquire(ctx, "overlap", "me", 0)
	check.OK(t, err)
	check.Equal(t, done, true)
	released, err = c.Release(ctx, "overlap", "me")
	check.OK(t, err)
	check.Equal(t, released, true)
	_, err = c.Acquire(ctx, "other", "me", time.Minute)
	check.OK(t, err)
	check.OK(t, c.FlushLocks(ctx, ""))
	done, err = c.Acquire(ctx, "other", "you", time.Minute)
	check.OK(t, err)
	check.Equal(t, done, true)

	// Unique until done, then free again; debounced: the last id counts.
	check.OK(t, c.Forget(ctx, "unique"))
	done, err = c.Add(ctx, "unique", []byte("next"), time.Minute)
	check.OK(t, err)
	check.Equal(t, done, true)
	for _, id := range []string{"1", "2", "3"} {
		check.OK(t, c.Put(ctx, "debounce", []byte(id), time.Minute))
	}
	latest, err := c.Get(ctx, "debounce")
	check.OK(t, err)
	check.Equal(t, string(latest), "3")
	check.OK(t, c.Close())
}
