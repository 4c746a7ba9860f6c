//! Figures and reports of the library, under the names of the header.

use std::time::{Duration, SystemTime};

use wq_sys as sys;

use crate::error::text_of;
use crate::words::{mirror, IoBackend, QueueStatus, StoreStatus};

mirror! {
    /// The figures of a store. Totals count since open.
    StoreStats of wq_store_stats {
        /// Whether it takes changes.
        status: StoreStatus = status,
        /// The way of reading and writing that runs.
        io_backend: IoBackend = io_backend,
        /// Queues there are.
        queues: u32 = queues,
        /// Jobs of this state, over all queues.
        ready: u64 = ready,
        /// Jobs of this state, over all queues.
        delayed: u64 = delayed,
        /// Jobs of this state, over all queues.
        leased: u64 = leased,
        /// Jobs of this state, over all queues.
        running: u64 = running,
        /// Jobs of this state, over all queues.
        dead: u64 = dead,
        /// The newest change.
        last_lsn: u64 = last_lsn,
        /// All up to here survive `kill -9`.
        process_lsn: u64 = process_lsn,
        /// All up to here survive power loss.
        durable_lsn: u64 = durable_lsn,
        /// All up to here are in the checkpoint.
        applied_lsn: u64 = applied_lsn,
        /// Jobs held in memory.
        resident_jobs: u64 = resident_jobs,
        /// And what they take, against the budget.
        resident_bytes: u64 = resident_bytes,
        /// The budget.
        memory_budget_bytes: u64 = memory_budget_bytes,
        /// Records appended to the log.
        log_records: u64 = log_records,
        /// Bytes appended to the log.
        log_bytes: u64 = log_bytes,
        /// Bytes handed to the device, padding included.
        log_written_bytes: u64 = log_written_bytes,
        /// In the log now, not covered by the checkpoint.
        log_live_bytes: u64 = log_live_bytes,
        /// Segments of the log.
        log_segments: u64 = log_segments,
        /// Segments kept ready.
        log_segments_spare: u64 = log_segments_spare,
        /// Groups of changes that ended with a device barrier.
        flushes: u64 = flushes,
        /// Microseconds spent in flushes.
        flush_us_total: u64 = flush_us_total,
        /// Microseconds of the longest flush.
        flush_us_max: u64 = flush_us_max,
        /// Checkpoints made.
        checkpoints: u64 = checkpoints,
        /// Microseconds of the last checkpoint.
        checkpoint_us_last: u64 = checkpoint_us_last,
        /// Microseconds of the longest checkpoint.
        checkpoint_us_max: u64 = checkpoint_us_max,
        /// Threads that wait in a lease.
        waiting: u64 = waiting,
        /// Bytes of all jobs in any state: payload, headers, options.
        job_bytes: u64 = job_bytes,
        /// As in [`OpenOptions`](crate::OpenOptions).
        quota_bytes: u64 = quota_bytes,
    }
}

mirror! {
    /// Counts of a queue as of one moment, and totals over its life.
    QueueStats of wq_queue_stats {
        /// Whether it takes and hands out jobs.
        status: QueueStatus = status,
        /// Jobs of this state.
        ready: u64 = ready,
        /// Jobs of this state.
        delayed: u64 = delayed,
        /// Jobs of this state.
        leased: u64 = leased,
        /// Jobs of this state.
        running: u64 = running,
        /// Jobs of this state.
        dead: u64 = dead,
        /// How long the head has been ready.
        oldest_ready_age: Duration = oldest_ready_age_ms,
        /// Jobs enqueued.
        enqueued_total: u64 = enqueued_total,
        /// Leases.
        leased_total: u64 = leased_total,
        /// Acks.
        acked_total: u64 = acked_total,
        /// Nacks.
        nacked_total: u64 = nacked_total,
        /// Fails.
        failed_total: u64 = failed_total,
        /// Releases.
        released_total: u64 = released_total,
        /// Leases reclaimed.
        expired_total: u64 = expired_total,
        /// Jobs that went to the dead letters, for whatever reason.
        dead_total: u64 = dead_total,
        /// Replays.
        replayed_total: u64 = replayed_total,
        /// Jobs cancelled.
        cancelled_total: u64 = cancelled_total,
        /// Jobs removed by clear, and by removing and purging dead letters.
        cleared_total: u64 = cleared_total,
        /// Jobs that ended because they did not start in time.
        jobs_expired_total: u64 = jobs_expired_total,
        /// Ready jobs that went for newer ones.
        dropped_total: u64 = dropped_total,
        /// Dead letters over the caps.
        dead_dropped_total: u64 = dead_dropped_total,
        /// Bytes of ready and delayed jobs, against `max_bytes`.
        waiting_bytes: u64 = waiting_bytes,
        /// Bytes of all jobs in any state.
        job_bytes: u64 = job_bytes,
        /// Jobs of chains that never came to be.
        chain_cut_total: u64 = chain_cut_total,
        /// Of the ready ones: jobs that wait for a slot of their group.
        parked: u64 = parked,
        /// Until the rate lets the next job begin; zero: it does now.
        rate_wait: Duration = rate_wait_ms,
    }
}

mirror! {
    /// What a backup or restore did.
    BackupReport of wq_backup_report {
        /// The backup has every change up to here, and none behind.
        lsn: u64 = lsn,
        /// Up to here in tables, from there on as log to be replayed.
        checkpoint_lsn: u64 = checkpoint_lsn,
        /// Files of it.
        files: u64 = files,
        /// Bytes of it.
        bytes: u64 = bytes,
        /// When the backup was made.
        created: Option<SystemTime> = created_ms,
        /// How long the call took.
        elapsed: Duration = elapsed_ms,
    }
}

/// What opening a store found and did. Nothing is repaired silently.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovery {
    /// Nothing to replay and nothing cut.
    pub clean: bool,
    /// LSN of the checkpoint that recovery started from.
    pub applied_lsn: u64,
    /// Newest LSN found.
    pub last_lsn: u64,
    /// Records replayed.
    pub records_replayed: u64,
    /// Unfinished tail of the log that was cut off.
    pub truncated_bytes: u64,
    /// Leases that go on with their old deadline.
    pub leases_kept: u64,
    /// Leases taken back because of `expire_leases`.
    pub leases_expired: u64,
    /// Left over by a crash.
    pub temp_files_removed: u64,
    /// How long the replay took.
    pub replay: Duration,
    /// File, offset and reason of what was cut; empty if nothing was.
    pub truncated_where: String,
}

impl Recovery {
    pub(crate) fn of_raw(raw: &sys::wq_recovery) -> Recovery {
        Recovery {
            clean: raw.clean != 0,
            applied_lsn: raw.applied_lsn,
            last_lsn: raw.last_lsn,
            records_replayed: raw.records_replayed,
            truncated_bytes: raw.truncated_bytes,
            leases_kept: raw.leases_kept,
            leases_expired: raw.leases_expired,
            temp_files_removed: raw.temp_files_removed,
            replay: crate::time::from_ms(raw.replay_ms),
            truncated_where: text_of(&raw.truncated_where),
        }
    }
}

/// What a full check of a store found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct VerifyReport {
    /// Jobs read.
    pub jobs: u64,
    /// Index entries read.
    pub entries: u64,
    /// 0: each job in one state, each entry has its job, counts agree.
    pub problems: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// Empty if there is none.
    pub first_problem: String,
}

impl VerifyReport {
    pub(crate) fn of_raw(raw: &sys::wq_verify_report) -> VerifyReport {
        VerifyReport {
            jobs: raw.jobs,
            entries: raw.entries,
            problems: raw.problems,
            elapsed: crate::time::from_ms(raw.elapsed_ms),
            first_problem: text_of(&raw.first_problem),
        }
    }
}
