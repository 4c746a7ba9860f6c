package wq

import (
	"context"
	"path/filepath"
	"testing"
)

// Items that the library refuses are parted from the others of their call.
func TestSettlerPartsWhatIsRefused(t *testing.T) {
	ctx := context.Background()
	s, err := Open(filepath.Join(t.TempDir(), "store"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	q, err := s.Queue(ctx, "q", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer q.Close()
	const n, wrong, unknown = 9, 5, 6
	if _, err := q.EnqueueMany(ctx, make([]Spec, n)); err != nil {
		t.Fatal(err)
	}
	jobs, _, err := q.Lease(ctx, LeaseOptions{Max: n})
	if err != nil || len(jobs) != n {
		t.Fatalf("got %d jobs, %v", len(jobs), err)
	}
	w, err := NewWorker(WorkerOptions{Queues: []*Queue{q}, Handler: func(context.Context, *Job) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	var all []ended
	for i, job := range jobs {
		held := &heldJob{job: job}
		w.hold(held)
		how := Settlement{Kind: SettleAck, Token: job.Token}
		switch i {
		case wrong:
			how.Kind, how.Release.Delay = SettleRelease, -1
		case unknown:
			how.Kind = 99
		}
		all = append(all, ended{held, how})
	}
	w.settler.settleAll(q, all)
	if got := w.Stats().Acked; got != n-2 {
		t.Errorf("%d jobs were acked, not %d", got, n-2)
	}
	if len(w.held[q]) != 0 {
		t.Errorf("%d jobs are still held", len(w.held[q]))
	}
	if stats, err := q.Stats(ctx); err != nil || stats.Leased != 2 {
		t.Errorf("%d jobs are leased, %v", stats.Leased, err)
	}
}
