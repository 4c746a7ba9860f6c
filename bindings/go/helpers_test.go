package wq_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"wq.internal/wq"
)

var ctx = context.Background()

// long is set by test.sh --long.
var long = os.Getenv("WQ_TEST_LONG") != ""

func openAt(t testing.TB, path string, options *wq.Options) *wq.Store {
	t.Helper()
	if options == nil {
		options = &wq.Options{}
	}
	if options.SegmentBytes == 0 {
		options.SegmentBytes = 1 << 20
	}
	if options.Logger == nil {
		options.Logger = slog.New(slog.NewTextHandler(testWriter{t}, nil))
	}
	s, err := wq.Open(path, options)
	ok(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// testWriter shows log lines of a test that fails.
type testWriter struct{ t testing.TB }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Helper()
	return len(b), nil
}

func open(t testing.TB, options *wq.Options) *wq.Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "store"), options)
}

func queue(t testing.TB, s *wq.Store, name string, config *wq.Config) *wq.Queue {
	t.Helper()
	q, err := s.Queue(ctx, name, config)
	ok(t, err)
	t.Cleanup(func() { _ = q.Close() })
	return q
}

// fresh returns a queue "q" in a store of its own.
func fresh(t testing.TB, config *wq.Config) (*wq.Store, *wq.Queue) {
	t.Helper()
	s := open(t, nil)
	return s, queue(t, s, "q", config)
}

func push(t testing.TB, q *wq.Queue, specs ...wq.Spec) []uint64 {
	t.Helper()
	var ids []uint64
	for _, spec := range specs {
		e, err := q.Enqueue(ctx, spec, wq.Memory)
		ok(t, err)
		equal(t, e.Outcome, wq.OK)
		ids = append(ids, e.ID)
	}
	return ids
}

func text(s string) wq.Spec { return wq.Spec{Payload: []byte(s)} }

func take(t testing.TB, q *wq.Queue, n int) []*wq.Job {
	t.Helper()
	var jobs []*wq.Job
	for len(jobs) < n {
		got, outcome, err := q.Lease(ctx, wq.LeaseOptions{Max: n - len(jobs), Wait: 10 * time.Second})
		ok(t, err)
		equal(t, outcome, wq.OK)
		jobs = append(jobs, got...)
	}
	return jobs
}

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
	if err == nil || !isError(err, want) {
		t.Fatalf("got error %v, want %v", err, want)
	}
}

// good is for calls that return an outcome and an error.
func good(t testing.TB) func(wq.Outcome, error) {
	t.Helper()
	return wants(t, wq.OK)
}

func wants(t testing.TB, want wq.Outcome) func(wq.Outcome, error) {
	t.Helper()
	return func(outcome wq.Outcome, err error) {
		t.Helper()
		ok(t, err)
		equal(t, outcome, want)
	}
}

// seeded returns a generator whose seed is printed; WQ_SEED sets it.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := time.Now().UnixNano()
	if given, err := strconv.ParseInt(os.Getenv("WQ_SEED"), 10, 64); err == nil {
		seed = given
	}
	fmt.Printf("%s: WQ_SEED=%d\n", t.Name(), seed)
	return rand.New(rand.NewSource(seed))
}

// status reads a figure of /proc/self/status.
func status(t testing.TB, field string) int {
	t.Helper()
	data, err := os.ReadFile("/proc/self/status")
	ok(t, err)
	for _, line := range strings.Split(string(data), "\n") {
		if rest, found := strings.CutPrefix(line, field+":"); found {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			ok(t, err)
			return n
		}
	}
	t.Fatalf("no %s in /proc/self/status", field)
	return 0
}

func descriptors(t testing.TB) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	ok(t, err)
	return len(list)
}
