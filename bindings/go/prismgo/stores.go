package prismgo

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"wq.internal/wq"
)

// FailedFields are the fields of a failed job that the store needs.
type FailedFields struct {
	ID, JobID *string
	FailedAt  *time.Time
}

// FailedStore keeps failed jobs of the framework's type F, each for TTL. A job and its place in the
// order change together, so neither is ever there without the other.
type FailedStore[F any] struct {
	TTL    time.Duration // 0: for ever
	store  *wq.Store
	fields func(*F) FailedFields
	empty  error
}

const (
	failedPrefix   = "prismgo:failed:"    // and time, and id: the job
	failedIDPrefix = "prismgo:failed-id:" // and id: the key of the job
	pageSizeUsual  = 50
	pageSizeMax    = 1000
)

// NewFailedStore returns the failed jobs of a store. empty is the error for one that is not there.
func NewFailedStore[F any](store *wq.Store, empty error, fields func(*F) FailedFields) *FailedStore[F] {
	return &FailedStore[F]{store: store, fields: fields, empty: empty}
}

// Record stores a failed job, in place of the one with its id. Without an id it has that of its job,
// and without a time it failed now.
func (s *FailedStore[F]) Record(ctx context.Context, failed F) error {
	f := s.fields(&failed)
	if *f.ID == "" {
		*f.ID = *f.JobID
	}
	if f.FailedAt.IsZero() {
		*f.FailedAt = time.Now()
	}
	text, err := json.Marshal(&failed)
	if err != nil {
		return fmt.Errorf("prismgo: failed job %q: %w", *f.ID, err)
	}
	key := fmt.Sprintf("%s%020d:%s", failedPrefix, f.FailedAt.UnixNano(), *f.ID)
	return again(func() (wq.Outcome, error) {
		index, found, err := s.store.KV().Get(ctx, failedIDPrefix+*f.ID)
		if err != nil {
			return 0, err
		}
		ops := []wq.TxnOp{
			wq.TxnPut(key, text, wq.RowOptions{TTL: s.TTL}),
			wq.TxnPut(failedIDPrefix+*f.ID, []byte(key), unchanged(index, found, s.TTL)),
		}
		if old := string(index.Value); found && old != key {
			ops = append(ops, wq.TxnErase(old, wq.RowOptions{}))
		}
		done, err := s.store.Transact(ctx, ops)
		return done.Outcome, err
	})
}

// unchanged is the condition that a row is as it was read.
func unchanged(row wq.Row, found bool, ttl time.Duration) wq.RowOptions {
	if !found {
		return wq.RowOptions{TTL: ttl, IfAbsent: true}
	}
	return wq.RowOptions{TTL: ttl, IfVersion: &row.Version}
}

// again repeats what another writer was faster with.
func again(change func() (wq.Outcome, error)) error {
	for {
		outcome, err := change()
		if err != nil || outcome != wq.Conflict {
			return err
		}
	}
}

// Find returns the failed job with this id, or the empty error.
func (s *FailedStore[F]) Find(ctx context.Context, id string) (*F, error) {
	for {
		index, found, err := s.store.KV().Get(ctx, failedIDPrefix+id)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, s.empty
		}
		row, found, err := s.store.KV().Get(ctx, string(index.Value))
		if err != nil {
			return nil, err
		}
		if found {
			return decode[F](row)
		}
		// Recorded anew or forgotten between the two looks, or its time to live is just over.
		now, there, err := s.store.KV().Get(ctx, failedIDPrefix+id)
		if err != nil {
			return nil, err
		}
		if !there || now.Version == index.Version {
			return nil, s.empty
		}
	}
}

func decode[F any](row wq.Row) (*F, error) {
	f := new(F)
	if err := json.Unmarshal(row.Value, f); err != nil {
		return nil, fmt.Errorf("prismgo: row %q: %w", row.Key, err)
	}
	return f, nil
}

// PageOf returns a page of failed jobs, the oldest first, and how many there are; pages count from 1,
// and have 50 jobs if `size` is 0 or less, 1,000 at most. It also returns page and size as it took them.
func (s *FailedStore[F]) PageOf(ctx context.Context, page, size int) (items []F, total, p, n int, err error) {
	page = max(page, 1)
	if size <= 0 {
		size = pageSizeUsual
	}
	size = min(size, pageSizeMax)
	items = []F{}
	for row, err := range s.store.KV().All(ctx, failedPrefix) {
		if err != nil {
			return nil, 0, page, size, err
		}
		if total++; (total-1)/size == page-1 {
			f, err := decode[F](row)
			if err != nil {
				return nil, 0, page, size, err
			}
			items = append(items, *f)
		}
	}
	return items, total, page, size, nil
}

// Forget removes a failed job; one that is not there is no error.
func (s *FailedStore[F]) Forget(ctx context.Context, id string) error {
	return again(func() (wq.Outcome, error) {
		index, found, err := s.store.KV().Get(ctx, failedIDPrefix+id)
		if err != nil || !found {
			return wq.OK, err
		}
		done, err := s.store.Transact(ctx, []wq.TxnOp{
			wq.TxnErase(failedIDPrefix+id, unchanged(index, found, 0)),
			wq.TxnErase(string(index.Value), wq.RowOptions{}),
		})
		return done.Outcome, err
	})
}

// Flush removes all failed jobs.
func (s *FailedStore[F]) Flush(ctx context.Context) error {
	for _, prefix := range []string{failedIDPrefix, failedPrefix} {
		if err := eraseAll(ctx, s.store, prefix); err != nil {
			return err
		}
	}
	return nil
}

func eraseAll(ctx context.Context, store *wq.Store, prefix string) error {
	for row, err := range store.KV().All(ctx, prefix) {
		if err != nil {
			return err
		}
		if _, err := store.KV().Erase(ctx, row.Key, wq.RowOptions{}, wq.Memory); err != nil {
			return err
		}
	}
	return store.Sync(ctx)
}

// BatchFields are the fields of the status of a batch that the store counts.
type BatchFields struct {
	ID                                *string
	Total, Pending, Processed, Failed *int
	Cancelled                         *bool
	FinishedAt, CancelledAt           *time.Time
}

// BatchStore keeps the status of batches, of the framework's type S. Marks of many workers at once are
// all counted.
type BatchStore[S any] struct {
	TTL    time.Duration // 0: for ever
	store  *wq.Store
	fields func(*S) BatchFields
	empty  error
}

const batchPrefix = "prismgo:batch:"

// NewBatchStore returns the batches of a store. empty is the error for one that is not there.
func NewBatchStore[S any](store *wq.Store, empty error, fields func(*S) BatchFields) *BatchStore[S] {
	return &BatchStore[S]{store: store, fields: fields, empty: empty}
}

// CreateBatch stores a batch.
func (s *BatchStore[S]) CreateBatch(ctx context.Context, status S) error {
	text, err := json.Marshal(&status)
	if err != nil {
		return fmt.Errorf("prismgo: batch: %w", err)
	}
	_, _, err = s.store.KV().Put(ctx, batchPrefix+*s.fields(&status).ID, text, wq.RowOptions{TTL: s.TTL})
	return err
}

// UpdateBatch stores a batch in place of what is there.
func (s *BatchStore[S]) UpdateBatch(ctx context.Context, status S) error {
	return s.CreateBatch(ctx, status)
}

// GetBatch returns a batch, or the empty error.
func (s *BatchStore[S]) GetBatch(ctx context.Context, id string) (*S, error) {
	row, found, err := s.store.KV().Get(ctx, batchPrefix+id)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, s.empty
	}
	return decode[S](row)
}

// DeleteBatch removes a batch; one that is not there is no error.
func (s *BatchStore[S]) DeleteBatch(ctx context.Context, id string) error {
	_, err := s.store.KV().Erase(ctx, batchPrefix+id, wq.RowOptions{})
	return err
}

// MarkBatchJob counts the end of one job of a batch, and returns the batch. A mark beyond its total
// changes nothing.
func (s *BatchStore[S]) MarkBatchJob(ctx context.Context, id string, success bool) (S, error) {
	return s.change(ctx, id, func(f BatchFields) bool {
		if *f.Processed >= *f.Total && *f.Total > 0 {
			return false
		}
		*f.Pending = max(*f.Pending-1, 0)
		*f.Processed++
		if !success {
			*f.Failed++
		}
		if *f.Pending == 0 && f.FinishedAt.IsZero() {
			*f.FinishedAt = time.Now()
		}
		return true
	})
}

// CancelBatch says that a batch is cancelled, and returns it.
func (s *BatchStore[S]) CancelBatch(ctx context.Context, id string) (S, error) {
	return s.change(ctx, id, func(f BatchFields) bool {
		if *f.Cancelled {
			return false
		}
		*f.Cancelled, *f.CancelledAt = true, time.Now()
		return true
	})
}

// change reads, changes and writes a batch until nobody was faster.
func (s *BatchStore[S]) change(ctx context.Context, id string, do func(BatchFields) bool) (S, error) {
	var status S
	err := again(func() (wq.Outcome, error) {
		row, found, err := s.store.KV().Get(ctx, batchPrefix+id)
		if err != nil {
			return 0, err
		}
		if !found {
			return 0, s.empty
		}
		read, err := decode[S](row)
		if err != nil {
			return 0, err
		}
		status = *read
		if !do(s.fields(&status)) {
			return wq.OK, nil
		}
		text, err := json.Marshal(&status)
		if err != nil {
			return 0, err
		}
		_, outcome, err := s.store.KV().Put(ctx, row.Key, text, unchanged(row, true, s.TTL))
		return outcome, err
	})
	return status, err
}

// RestartStore keeps when workers were asked to restart: over processes, since it is on disk.
type RestartStore struct{ store *wq.Store }

const restartKey = "prismgo:restart"

// NewRestartStore returns the restart signal of a store.
func NewRestartStore(store *wq.Store) *RestartStore { return &RestartStore{store} }

// RequestRestart asks all workers that began before `at` to stop after their job.
func (s *RestartStore) RequestRestart(ctx context.Context, at time.Time) error {
	_, _, err := s.store.KV().Put(ctx, restartKey, strconv.AppendInt(nil, at.UnixNano(), 10), wq.RowOptions{})
	return err
}

// RestartRequestedAt returns when that was asked last; the zero time if never.
func (s *RestartStore) RestartRequestedAt(ctx context.Context) (time.Time, error) {
	row, found, err := s.store.KV().Get(ctx, restartKey)
	if err != nil || !found {
		return time.Time{}, err
	}
	ns, err := strconv.ParseInt(string(row.Value), 10, 64)
	return time.Unix(0, ns), err
}
