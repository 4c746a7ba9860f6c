package wq

// Figures of stores and queues, what opening found, verification and metrics.

// #include "shim.h"
import "C"

import (
	"context"
	"time"
)

// StoreStatus is whether a store takes calls.
type StoreStatus uint32

// Status of a store.
const (
	StoreOpen     StoreStatus = C.WQ_STORE_OPEN
	StoreDraining StoreStatus = C.WQ_STORE_DRAINING // Shutdown was called
	StorePoisoned StoreStatus = C.WQ_STORE_POISONED
)

// String returns "open", "draining" or "poisoned".
func (s StoreStatus) String() string {
	switch s {
	case StoreOpen:
		return "open"
	case StoreDraining:
		return "draining"
	case StorePoisoned:
		return "poisoned"
	}
	return "unknown"
}

// StoreStats are the figures of a store. Totals count since it was opened.
type StoreStats struct {
	Status                          StoreStatus
	IOThreads                       bool // a thread pool does the I/O, not io_uring
	Queues                          uint64
	Ready, Delayed, Leased, Running uint64 // jobs, over all queues
	Dead                            uint64
	LastLSN                         uint64 // newest change
	ProcessLSN                      uint64 // all up to here survive kill -9
	DurableLSN                      uint64 // all up to here survive power loss
	AppliedLSN                      uint64 // all up to here are in the checkpoint
	ResidentJobs, ResidentBytes     uint64 // held in memory
	MemoryBudget                    uint64
	LogRecords, LogBytes            uint64 // appended
	LogWrittenBytes                 uint64 // handed to the device, padding included
	LogLiveBytes                    uint64 // not covered by the checkpoint
	LogSegments, LogSegmentsSpare   uint64
	Flushes                         uint64
	FlushTotal, FlushMax            time.Duration
	Checkpoints                     uint64
	CheckpointLast, CheckpointMax   time.Duration
	Waiting                         uint64 // threads that wait in the library for a job
	JobBytes                        uint64 // of all jobs in any state
	Quota                           uint64
}

func micros(n C.uint64_t) time.Duration { return time.Duration(n) * time.Microsecond }

// Stats reads the figures of the store. It works on a poisoned store.
func (s *Store) Stats(ctx context.Context) (StoreStats, error) {
	a := getArena()
	defer a.put()
	c := one[C.wq_store_stats](a)
	c.struct_size = C.sizeof_wq_store_stats
	_, err := s.core.read(ctx, "stats", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_store_get_stats(s.core.handle, c, &f.err)
	})
	if err != nil {
		return StoreStats{}, err
	}
	return StoreStats{
		Status: StoreStatus(c.status), IOThreads: c.io_backend == C.WQ_IO_THREADS,
		Queues: uint64(c.queues), Ready: uint64(c.ready), Delayed: uint64(c.delayed),
		Leased: uint64(c.leased), Running: uint64(c.running), Dead: uint64(c.dead),
		LastLSN: uint64(c.last_lsn), ProcessLSN: uint64(c.process_lsn),
		DurableLSN: uint64(c.durable_lsn), AppliedLSN: uint64(c.applied_lsn),
		ResidentJobs: uint64(c.resident_jobs), ResidentBytes: uint64(c.resident_bytes),
		MemoryBudget: uint64(c.memory_budget_bytes),
		LogRecords:   uint64(c.log_records), LogBytes: uint64(c.log_bytes),
		LogWrittenBytes: uint64(c.log_written_bytes), LogLiveBytes: uint64(c.log_live_bytes),
		LogSegments: uint64(c.log_segments), LogSegmentsSpare: uint64(c.log_segments_spare),
		Flushes: uint64(c.flushes), FlushTotal: micros(c.flush_us_total), FlushMax: micros(c.flush_us_max),
		Checkpoints: uint64(c.checkpoints), CheckpointLast: micros(c.checkpoint_us_last),
		CheckpointMax: micros(c.checkpoint_us_max), Waiting: uint64(c.waiting),
		JobBytes: uint64(c.job_bytes), Quota: uint64(c.quota_bytes),
	}, nil
}

// QueueStats are the counts of a queue, and its totals over its life (kept over reopen).
type QueueStats struct {
	Status                                Status
	Ready, Delayed, Leased, Running, Dead uint64
	OldestReadyAge                        time.Duration // 0 if none is ready
	Enqueued, LeasedTotal, Acked, Nacked  uint64
	Failed, Released                      uint64
	Expired                               uint64 // leases taken back
	DeadTotal                             uint64 // jobs that went to the dead letters
	Replayed, CancelledTotal              uint64
	Cleared                               uint64 // removed by Clear, Dead.Remove and Dead.Purge
	JobsExpired                           uint64 // ended because they did not start in time
	Dropped                               uint64 // ready jobs that went for newer ones
	DeadDropped                           uint64 // dead letters over the caps
	WaitingBytes                          uint64 // of ready and delayed jobs
	JobBytes                              uint64 // of all jobs in any state
	ChainCut                              uint64 // jobs of chains that never came to be
	Parked                                uint64 // of Ready: jobs that wait for their group or rate key
	Skipped                               uint64 // ended because their group was full: OverlapSkip
	RateWait                              time.Duration
}

// Stats reads counts and totals of the queue, as of one moment. They are exact.
func (q *Queue) Stats(ctx context.Context) (QueueStats, error) {
	a := getArena()
	defer a.put()
	c := one[C.wq_queue_stats](a)
	c.struct_size = C.sizeof_wq_queue_stats
	_, err := q.read(ctx, "stats", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_queue_get_stats(q.handle, c, &f.err)
	})
	if err != nil {
		return QueueStats{}, err
	}
	return QueueStats{
		Status: Status(c.status), Ready: uint64(c.ready), Delayed: uint64(c.delayed),
		Leased: uint64(c.leased), Running: uint64(c.running), Dead: uint64(c.dead),
		OldestReadyAge: duration(c.oldest_ready_age_ms),
		Enqueued:       uint64(c.enqueued_total), LeasedTotal: uint64(c.leased_total),
		Acked: uint64(c.acked_total), Nacked: uint64(c.nacked_total), Failed: uint64(c.failed_total),
		Released: uint64(c.released_total), Expired: uint64(c.expired_total),
		DeadTotal: uint64(c.dead_total), Replayed: uint64(c.replayed_total),
		CancelledTotal: uint64(c.cancelled_total), Cleared: uint64(c.cleared_total),
		JobsExpired: uint64(c.jobs_expired_total), Dropped: uint64(c.dropped_total),
		DeadDropped: uint64(c.dead_dropped_total), WaitingBytes: uint64(c.waiting_bytes),
		JobBytes: uint64(c.job_bytes), ChainCut: uint64(c.chain_cut_total),
		Parked: uint64(c.parked), RateWait: duration(c.rate_wait_ms), Skipped: uint64(c.skipped_total),
	}, nil
}

// Recovery is what opening found and did.
type Recovery struct {
	Clean            bool   // nothing to replay and nothing cut
	AppliedLSN       uint64 // of the checkpoint that recovery started from
	LastLSN          uint64 // newest found
	RecordsReplayed  uint64
	TruncatedBytes   uint64 // unfinished tail of the log that was cut off
	TruncatedWhere   string // file, offset and reason; empty if nothing was cut
	LeasesKept       uint64
	LeasesExpired    uint64 // taken back because of ExpireLeases
	TempFilesRemoved uint64
	Replay           time.Duration
}

// Recovery tells what opening this store found and did. Nothing is repaired silently.
func (s *Store) Recovery(ctx context.Context) (Recovery, error) {
	a := getArena()
	defer a.put()
	c := one[C.wq_recovery](a)
	c.struct_size = C.sizeof_wq_recovery
	_, err := s.core.read(ctx, "recovery", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_store_get_recovery(s.core.handle, c, &f.err)
	})
	if err != nil {
		return Recovery{}, err
	}
	return Recovery{
		Clean: c.clean != 0, AppliedLSN: uint64(c.applied_lsn), LastLSN: uint64(c.last_lsn),
		RecordsReplayed: uint64(c.records_replayed), TruncatedBytes: uint64(c.truncated_bytes),
		TruncatedWhere: C.GoString(&c.truncated_where[0]), LeasesKept: uint64(c.leases_kept),
		LeasesExpired: uint64(c.leases_expired), TempFilesRemoved: uint64(c.temp_files_removed),
		Replay: duration(c.replay_ms),
	}, nil
}

// VerifyReport is what a full check found.
type VerifyReport struct {
	Jobs, Entries uint64 // read
	Problems      uint64
	FirstProblem  string
	Elapsed       time.Duration
}

// Verify checks the whole open store: each job is in one state, all counts equal what is there, all
// checksums are right. Other calls on the store wait meanwhile. With problems the error is
// ErrCorrupt, and the report is filled all the same.
func (s *Store) Verify(ctx context.Context) (VerifyReport, error) {
	a := getArena()
	defer a.put()
	c := one[C.wq_verify_report](a)
	c.struct_size = C.sizeof_wq_verify_report
	_, err := s.core.read(ctx, "verify", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_store_verify(s.core.handle, c, &f.err)
	})
	return VerifyReport{
		Jobs: uint64(c.jobs), Entries: uint64(c.entries), Problems: uint64(c.problems),
		FirstProblem: C.GoString(&c.first_problem[0]), Elapsed: duration(c.elapsed_ms),
	}, err
}

// Metrics returns all figures of the store and its queues in the text format of Prometheus.
func (s *Store) Metrics(ctx context.Context) (string, error) {
	a := getArena()
	defer a.put()
	slot := one[*C.wq_text](a)
	_, err := s.core.read(ctx, "metrics", a, func(f *C.wqgo_frame) C.int32_t {
		return C.wq_store_metrics(s.core.handle, slot, &f.err)
	})
	return text(slot), err
}
