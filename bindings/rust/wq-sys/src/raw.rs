// Generated from include/wq.h by bindings/api/generate.py. Do not edit.
//! The declarations of `wq.h`, as they are.

#![allow(non_camel_case_types, rustdoc::all, clippy::all)]

use std::os::raw::{c_char, c_void};

/// `WQ_VERSION_MAJOR`.
pub const WQ_VERSION_MAJOR: u32 = 0;

/// `WQ_VERSION_MINOR`.
pub const WQ_VERSION_MINOR: u32 = 1;

/// `WQ_VERSION_PATCH`.
pub const WQ_VERSION_PATCH: u32 = 0;

/// What wq_store_open compares: the major and minor version of this header.
pub const WQ_ABI_VERSION: u32 = 1;

/// Outcomes: the call did what it says, and this is how it went.
pub const WQ_OK: i32 = 0;

/// nothing there, also after the wait
pub const WQ_EMPTY: i32 = 1;

/// the time ran out before the wait was over; the wait can be repeated
pub const WQ_TIMEOUT: i32 = 2;

/// the lease or entry is held by this generation no more; nothing changed
pub const WQ_STALE: i32 = 3;

/// the unique key is held by another job
pub const WQ_DUPLICATE: i32 = 4;

/// the queue is disabled
pub const WQ_DISABLED: i32 = 5;

/// the queue is paused
pub const WQ_PAUSED: i32 = 6;

/// the wait was cancelled, or the flow of the job was; nothing happened
pub const WQ_CANCELLED: i32 = 7;

/// the object changed since it was read, or is in another state
pub const WQ_CONFLICT: i32 = 8;

/// an argument or field is invalid; the message names it
pub const WQ_E_INVALID: i32 = -1;

/// over a size limit; the message names it
pub const WQ_E_TOO_LARGE: i32 = -2;

/// not known to this library or platform
pub const WQ_E_UNSUPPORTED: i32 = -3;

/// header and library, or store and library, do not match
pub const WQ_E_VERSION: i32 = -4;

/// State: the thing named is not there, or not in the right state.
pub const WQ_E_NOT_FOUND: i32 = -20;

/// the handle or its store is closed or shutting down
pub const WQ_E_CLOSED: i32 = -21;

/// opened before a fork, in another process; see Fork
pub const WQ_E_FORKED: i32 = -22;

/// the store is open elsewhere; the message has the process id
pub const WQ_E_LOCKED: i32 = -23;

/// reserved: no call opens a store for reading only yet
pub const WQ_E_READ_ONLY: i32 = -24;

/// no key of the store opens or seals the payload; see ENCRYPTION
pub const WQ_E_NO_KEY: i32 = -25;

/// the disk is nearly full; leases and settles go on while they can
pub const WQ_E_NO_SPACE: i32 = -40;

/// the queue or store is at its limit
pub const WQ_E_FULL: i32 = -41;

/// Limits: may go away by itself or by an operator's hand.
pub const WQ_E_NO_MEMORY: i32 = -42;

/// the operating system reported an I/O error; see os_errno
pub const WQ_E_IO: i32 = -60;

/// stored data is damaged; message and offset say where
pub const WQ_E_CORRUPT: i32 = -61;

/// an earlier storage failure stopped this store; close and reopen
pub const WQ_E_POISONED: i32 = -62;

/// an internal check failed: a bug in wq; the store is stopped
pub const WQ_E_INTERNAL: i32 = -80;

/// wq_error.flags: the predicates of the code, for languages that read the struct only.
pub const WQ_ERROR_RETRYABLE: u32 = 1;

/// wq_error.flags: the predicates of the code, for languages that read the struct only.
pub const WQ_ERROR_MAYBE_COMMITTED: u32 = 2;

/// wq_error.flags: the predicates of the code, for languages that read the struct only.
pub const WQ_ERROR_FATAL: u32 = 4;

/// Durability levels (convention 8). 0 takes the default.
pub const WQ_MEMORY: u32 = 1;

/// Durability levels (convention 8). 0 takes the default.
pub const WQ_PROCESS: u32 = 2;

/// Durability levels (convention 8). 0 takes the default.
pub const WQ_POWER: u32 = 3;

/// WQ_E_NOT_FOUND if there is no store at the path
pub const WQ_OPEN_NO_CREATE: u32 = 1;

/// leases of the time before are taken back at once
pub const WQ_OPEN_EXPIRE_LEASES: u32 = 2;

/// no background threads: wq_store_tick drives everything
pub const WQ_OPEN_NO_THREADS: u32 = 4;

/// wq_store_options.io_backend and wq_store_stats.io_backend
pub const WQ_IO_AUTO: u32 = 0;

/// wq_store_options.io_backend and wq_store_stats.io_backend
pub const WQ_IO_URING: u32 = 1;

/// wq_store_options.io_backend and wq_store_stats.io_backend
pub const WQ_IO_THREADS: u32 = 2;

/// wq_store_stats.status
pub const WQ_STORE_OPEN: u32 = 1;

/// wq_store_shutdown was called
pub const WQ_STORE_DRAINING: u32 = 2;

/// wq_store_stats.status
pub const WQ_STORE_POISONED: u32 = 3;

/// Flags of wq_queue_open.
pub const WQ_QUEUE_NO_CREATE: u32 = 1;

/// Queue status.
pub const WQ_STATUS_ACTIVE: u32 = 0;

/// no lease; enqueue goes on
pub const WQ_STATUS_PAUSED: u32 = 1;

/// no lease and no enqueue; delayed jobs stay
pub const WQ_STATUS_DISABLED: u32 = 2;

/// backoff_base_ms
pub const WQ_BACKOFF_FIXED: u32 = 1;

/// backoff_base_ms * 2^(n - 1), at most backoff_max_ms
pub const WQ_BACKOFF_EXPONENTIAL: u32 = 2;

/// backoff_list_ms[n - 1]; the last entry repeats
pub const WQ_BACKOFF_LIST: u32 = 3;

/// Delay before the n-th retry (n = 1, 2, ...). 0 in a job: the queue's policy; in a queue: none
pub const WQ_BACKOFF_LIST_MAX: u32 = 32;

/// WQ_E_FULL
pub const WQ_FULL_REFUSE: u32 = 0;

/// ready jobs go for it in the same change, the least urgent first and of those the oldest.
/// Delayed, leased and running ones never go: if the ready ones are not enough, WQ_E_FULL
pub const WQ_FULL_DROP_OLDEST: u32 = 1;

/// wq_queue_config.fields
pub const WQ_CONFIG_MAX_RUNNING: u32 = 1;

/// wq_queue_config.fields
pub const WQ_CONFIG_MAX_RETRIES: u32 = 2;

/// wq_queue_config.fields
pub const WQ_CONFIG_LEASE_MS: u32 = 4;

/// wq_queue_config.fields
pub const WQ_CONFIG_DURABILITY: u32 = 8;

/// all backoff_ fields together
pub const WQ_CONFIG_BACKOFF: u32 = 16;

/// change only if the version is still `version`
pub const WQ_CONFIG_VERSION: u32 = 32;

/// wq_queue_config.fields
pub const WQ_CONFIG_JOB_TTL: u32 = 128;

/// wq_queue_config.fields
pub const WQ_CONFIG_MAX_DEPTH: u32 = 65536;

/// wq_queue_config.fields
pub const WQ_CONFIG_MAX_BYTES: u32 = 131072;

/// wq_queue_config.fields
pub const WQ_CONFIG_FULL_POLICY: u32 = 262144;

/// wq_queue_config.fields
pub const WQ_CONFIG_DEAD_MAX_COUNT: u32 = 524288;

/// wq_queue_config.fields
pub const WQ_CONFIG_DEAD_MAX_AGE: u32 = 1048576;

/// keep_done_count and keep_done_age_ms together
pub const WQ_CONFIG_KEEP_DONE: u32 = 2048;

/// all rate_ fields together
pub const WQ_CONFIG_RATE: u32 = 16777216;

/// wq_queue_config.fields
pub const WQ_CONFIG_GROUP_LIMIT: u32 = 33554432;

/// wq_queue_config.fields
pub const WQ_CONFIG_ENCRYPT: u32 = 67108864;

/// wq_queue_config.fields
pub const WQ_CONFIG_COMPRESS: u32 = 134217728;

/// all three of key_rate_...
pub const WQ_CONFIG_KEY_RATE: u32 = 268435456;

/// all three of throttle_...
pub const WQ_CONFIG_THROTTLE: u32 = 536870912;

/// Job states, and the bit of a state in the masks of wq_queue_clear.
pub const WQ_STATE_READY: u32 = 1;

/// Job states, and the bit of a state in the masks of wq_queue_clear.
pub const WQ_STATE_DELAYED: u32 = 2;

/// Job states, and the bit of a state in the masks of wq_queue_clear.
pub const WQ_STATE_LEASED: u32 = 3;

/// Job states, and the bit of a state in the masks of wq_queue_clear.
pub const WQ_STATE_RUNNING: u32 = 4;

/// Job states, and the bit of a state in the masks of wq_queue_clear.
pub const WQ_STATE_DEAD: u32 = 5;

/// the field `priority` counts; without it the priority is 100
pub const WQ_JOB_PRIORITY: u32 = 1;

/// A lease of the job that runs out is its last: it dies of WQ_DEAD_TIMEOUT, whatever attempts
/// are left. Also when WQ_OPEN_EXPIRE_LEASES takes it back.
pub const WQ_JOB_FAIL_ON_TIMEOUT: u32 = 2;

/// a test push: answer what an enqueue of this job would answer now, and write nothing; ids and
/// LSN are 0. In wq_enqueue_many all specs have it or none
pub const WQ_JOB_DRY_RUN: u32 = 65536;

/// Whether the payload is sealed; with neither as the queue is configured. See ENCRYPTION.
pub const WQ_JOB_ENCRYPT: u32 = 67108864;

/// wq_job_spec.flags
pub const WQ_JOB_PLAIN: u32 = 134217728;

/// its first lease: one job of the key waits, others may be at work
pub const WQ_UNIQUE_STARTED: u32 = 1;

/// its end or its death; a replay takes the key again
pub const WQ_UNIQUE_DONE: u32 = 2;

/// its end: a dead one still holds the key
pub const WQ_UNIQUE_GONE: u32 = 3;

/// wq_job_record.key_rule: one of the three, or: the key is a debounce key
pub const WQ_KEY_RULE_DEBOUNCE: u32 = 4;

/// waits for a slot, the default
pub const WQ_OVERLAP_PARK: u32 = 0;

/// is delayed by overlap_ms
pub const WQ_OVERLAP_RELEASE: u32 = 1;

/// ends without having run
pub const WQ_OVERLAP_SKIP: u32 = 2;

/// take the jobs up to the first refusal; without it all or none
pub const WQ_ENQUEUE_PARTIAL: u32 = 1;

/// without a delay: to the head of its priority, not the tail
pub const WQ_NACK_FRONT: u32 = 1;

/// do not count it in `exceptions`
pub const WQ_NACK_NO_EXCEPTION: u32 = 2;

/// `priority` becomes the job's priority
pub const WQ_NACK_PRIORITY: u32 = 4;

/// `delay_ms` counts; without it the backoff policy decides
pub const WQ_NACK_DELAY: u32 = 8;

/// as WQ_NACK_FRONT
pub const WQ_RELEASE_FRONT: u32 = 1;

/// wq_settle_item.kind
pub const WQ_SETTLE_ACK: u32 = 1;

/// wq_settle_item.kind
pub const WQ_SETTLE_NACK: u32 = 2;

/// wq_settle_item.kind
pub const WQ_SETTLE_FAIL: u32 = 3;

/// wq_settle_item.kind
pub const WQ_SETTLE_RELEASE: u32 = 4;

/// wq_fail, or nacked with no retry left
pub const WQ_DEAD_FAILED: u32 = 1;

/// its last attempt was lost: the lease was not settled in time
pub const WQ_DEAD_LEASE_EXPIRED: u32 = 2;

/// a lease ran out, and the job has WQ_JOB_FAIL_ON_TIMEOUT
pub const WQ_DEAD_TIMEOUT: u32 = 3;

/// an attempt was lost at or after its retry_until_ms
pub const WQ_DEAD_RETRY_UNTIL: u32 = 4;

/// nacked for the max_exceptions-th time
pub const WQ_DEAD_MAX_EXCEPTIONS: u32 = 5;

/// 6 to 8 are said by workers only, who can say 1 and 3 as well
pub const WQ_DEAD_CANCELLED: u32 = 6;

/// see `reason` of wq_nack_options and wq_settle_item
pub const WQ_DEAD_EXPIRED: u32 = 7;

/// the worker does not know what to do with such a job
pub const WQ_DEAD_UNKNOWN_TYPE: u32 = 8;

/// its payload did not open when it was leased; see ENCRYPTION
pub const WQ_DEAD_UNREADABLE: u32 = 9;

/// wq_dead_query.flags
pub const WQ_DEAD_OLDEST_FIRST: u32 = 1;

/// with no other condition: really all dead letters of the queue
pub const WQ_DEAD_ALL: u32 = 1;

/// only count; not whether others hold unique keys of theirs, and of `entries` only which are
/// there
pub const WQ_DEAD_DRY_RUN: u32 = 2;

/// Kinds of keys, for wq_key_holder and wq_key_cancel.
pub const WQ_KEY_UNIQUE: u32 = 1;

/// Kinds of keys, for wq_key_holder and wq_key_cancel.
pub const WQ_KEY_DEBOUNCE: u32 = 2;

/// Kinds of keys, for wq_key_holder and wq_key_cancel.
pub const WQ_KEY_IDEMPOTENCY: u32 = 3;

/// on_complete also if members failed or were cancelled
pub const WQ_FLOW_ALLOW_FAILURES: u32 = 1;

/// wq_flow_status.flags
pub const WQ_FLOW_SEALED: u32 = 1;

/// wq_flow_status.flags
pub const WQ_FLOW_CANCELLED: u32 = 2;

/// wq_flow_status.flags
pub const WQ_FLOW_FINISHED: u32 = 4;

/// `catch_up` counts; without it the newest missed slot runs
pub const WQ_CRON_CATCH_UP: u32 = 1;

/// wq_cron.flags
pub const WQ_CRON_PAUSED: u32 = 1;

/// there is no such row
pub const WQ_KV_IF_ABSENT: u32 = 1;

/// it has this `version`
pub const WQ_KV_IF_VERSION: u32 = 2;

/// it has this `value`
pub const WQ_KV_IF_VALUE: u32 = 4;

/// queue, spec
pub const WQ_TXN_ENQUEUE: u32 = 1;

/// queue, settle
pub const WQ_TXN_SETTLE: u32 = 2;

/// key, value, options
pub const WQ_TXN_KV_PUT: u32 = 3;

/// key, delta, options
pub const WQ_TXN_KV_ADD: u32 = 4;

/// key, options; a row that is not there is no obstacle
pub const WQ_TXN_KV_ERASE: u32 = 5;

/// key, options with a condition; changes nothing
pub const WQ_TXN_KV_CHECK: u32 = 6;

/// the store was opened with it
pub const WQ_KEY_KNOWN: u32 = 1;

/// new payloads are sealed with it
pub const WQ_KEY_CURRENT: u32 = 2;

/// its time has not come
pub const WQ_WHY_DELAYED: u32 = 1;

/// the queue is paused
pub const WQ_WHY_PAUSED: u32 = 2;

/// the queue is disabled
pub const WQ_WHY_DISABLED: u32 = 4;

/// max_running jobs are leased or running
pub const WQ_WHY_SLOTS: u32 = 8;

/// other ready jobs go first
pub const WQ_WHY_BEHIND: u32 = 16;

/// no call waits for a job of the queue just now
pub const WQ_WHY_NO_CONSUMER: u32 = 32;

/// a worker has it
pub const WQ_WHY_HELD: u32 = 64;

/// and is past the deadline: it is taken back any moment
pub const WQ_WHY_LATE: u32 = 128;

/// it is a dead letter
pub const WQ_WHY_DEAD: u32 = 256;

/// the store is shutting down, or stopped by a failure
pub const WQ_WHY_STOPPED: u32 = 512;

/// queue: no job is ready
pub const WQ_WHY_EMPTY: u32 = 1024;

/// job: parked, its group is full; queue: all ready ones are
pub const WQ_WHY_GROUP: u32 = 16777216;

/// the rate of the queue, or of its rate key, lets no job begin; \ job: until `until_ms`
pub const WQ_WHY_RATE: u32 = 33554432;

/// its rate key cools down after exceptions, until `until_ms`
pub const WQ_WHY_COOLING: u32 = 67108864;

/// enqueued [time_ms: when it becomes ready, 0: it is]
pub const WQ_EVENT_QUEUED: u32 = 1;

/// delayed -> ready
pub const WQ_EVENT_PROMOTED: u32 = 2;

/// [time_ms: the deadline]
pub const WQ_EVENT_LEASED: u32 = 3;

/// leased -> running [time_ms: the deadline, 0: none]
pub const WQ_EVENT_CONFIRMED: u32 = 4;

/// succeeded, and gone
pub const WQ_EVENT_ACKED: u32 = 5;

/// [time_ms: when it is ready again, 0: it is, or it died]
pub const WQ_EVENT_NACKED: u32 = 6;

/// given back uncounted, or WQ_OVERLAP_RELEASE [the same]
pub const WQ_EVENT_RELEASED: u32 = 7;

/// its lease was taken back [the same]
pub const WQ_EVENT_EXPIRED: u32 = 8;

/// became a dead letter [dead_reason]
pub const WQ_EVENT_DEAD: u32 = 9;

/// dead -> ready
pub const WQ_EVENT_REPLAYED: u32 = 10;

/// cancelled, and gone
pub const WQ_EVENT_CANCELLED: u32 = 11;

/// removed [job_id 0: `count` jobs of the queue at once]
pub const WQ_EVENT_CLEARED: u32 = 12;

/// wq_store_event.kind: what happened. In brackets what the fields say beside job and queue.
pub const WQ_EVENT_QUEUE_DECLARED: u32 = 13;

/// configuration or status
pub const WQ_EVENT_QUEUE_CHANGED: u32 = 14;

/// with `count` jobs
pub const WQ_EVENT_QUEUE_DELETED: u32 = 15;

/// all changes up to `lsn` are settled on disk
pub const WQ_EVENT_CHECKPOINT: u32 = 16;

/// did not start in time, and gone
pub const WQ_EVENT_JOB_EXPIRED: u32 = 17;

/// went for a newer one, or a dead letter over the caps; gone
pub const WQ_EVENT_DROPPED: u32 = 18;

/// job_id: the flow; `count`: its members
pub const WQ_EVENT_FLOW_FINISHED: u32 = 19;

/// the rate key of the job, by its exception [time_ms: until]
pub const WQ_EVENT_KEY_COOLS: u32 = 20;

/// its group was full, and gone: WQ_OVERLAP_SKIP
pub const WQ_EVENT_SKIPPED: u32 = 21;

/// with epoch 0: skip what has happened so far
pub const WQ_EVENTS_FROM_NOW: u32 = 1;

/// wq_repair_finding.kind
pub const WQ_REPAIR_NOTE: u32 = 0;

/// a file or a family of rows is whole
pub const WQ_REPAIR_INTACT: u32 = 1;

/// it is not; `what` says where
pub const WQ_REPAIR_DAMAGED: u32 = 2;

/// records first_lsn .. last_lsn of the log
pub const WQ_REPAIR_MISSING: u32 = 3;

/// `count` jobs of `queue` in `state` can be read
pub const WQ_REPAIR_FOUND: u32 = 4;

/// the same: they were there, and nothing of them can be read
pub const WQ_REPAIR_LOST: u32 = 5;

/// the same, among those found: they may have gone on or ended
pub const WQ_REPAIR_UNCERTAIN: u32 = 6;

/// Every code: its name and its value.
pub const CODES: &[(&str, i32)] = &[
    ("OK", WQ_OK),
    ("EMPTY", WQ_EMPTY),
    ("TIMEOUT", WQ_TIMEOUT),
    ("STALE", WQ_STALE),
    ("DUPLICATE", WQ_DUPLICATE),
    ("DISABLED", WQ_DISABLED),
    ("PAUSED", WQ_PAUSED),
    ("CANCELLED", WQ_CANCELLED),
    ("CONFLICT", WQ_CONFLICT),
    ("INVALID", WQ_E_INVALID),
    ("TOO_LARGE", WQ_E_TOO_LARGE),
    ("UNSUPPORTED", WQ_E_UNSUPPORTED),
    ("VERSION", WQ_E_VERSION),
    ("NOT_FOUND", WQ_E_NOT_FOUND),
    ("CLOSED", WQ_E_CLOSED),
    ("FORKED", WQ_E_FORKED),
    ("LOCKED", WQ_E_LOCKED),
    ("READ_ONLY", WQ_E_READ_ONLY),
    ("NO_KEY", WQ_E_NO_KEY),
    ("NO_SPACE", WQ_E_NO_SPACE),
    ("FULL", WQ_E_FULL),
    ("NO_MEMORY", WQ_E_NO_MEMORY),
    ("IO", WQ_E_IO),
    ("CORRUPT", WQ_E_CORRUPT),
    ("POISONED", WQ_E_POISONED),
    ("INTERNAL", WQ_E_INTERNAL),
];

/// an open store; ends by `wq_store_close`.
#[repr(C)]
pub struct wq_store {
    _private: [u8; 0],
}

/// one queue of an open store; ends by `wq_queue_close`.
#[repr(C)]
pub struct wq_queue {
    _private: [u8; 0],
}

/// copies of jobs: leased ones, or ones that were read; ends by `wq_batch_free`.
#[repr(C)]
pub struct wq_batch {
    _private: [u8; 0],
}

/// a list of names; ends by `wq_list_free`.
#[repr(C)]
pub struct wq_list {
    _private: [u8; 0],
}

/// a text that was made for you; ends by `wq_text_free`.
#[repr(C)]
pub struct wq_text {
    _private: [u8; 0],
}

/// completion queue: tells when changes became durable; ends by `wq_cq_close`.
#[repr(C)]
pub struct wq_cq {
    _private: [u8; 0],
}

/// ends waits from another thread; ends by `wq_cancel_free`.
#[repr(C)]
pub struct wq_cancel {
    _private: [u8; 0],
}

/// copies of kv rows; ends by `wq_kv_page_free`.
#[repr(C)]
pub struct wq_kv_page {
    _private: [u8; 0],
}

/// a list of schedules, closed by wq_crons_free; ends by `wq_crons_free`.
#[repr(C)]
pub struct wq_crons {
    _private: [u8; 0],
}

/// Called before each step of a bulk change: how many were changed and how many were looked at
/// so
/// far. It may use the store.
pub type wq_dead_progress = Option<unsafe extern "C" fn(changed: u64, examined: u64, ctx: *mut c_void) -> i32>;

/// Called now and then with the bytes done and to do.
pub type wq_progress = Option<unsafe extern "C" fn(done_bytes: u64, total_bytes: u64, ctx: *mut c_void) -> i32>;

/// Called for each item of an export.
pub type wq_export_visit = Option<unsafe extern "C" fn(item: *const wq_export_item, ctx: *mut c_void) -> i32>;

/// Called for each finding.
pub type wq_repair_visit = Option<unsafe extern "C" fn(finding: *const wq_repair_finding, ctx: *mut c_void) -> i32>;

/// Called for each record.
pub type wq_log_visit = Option<unsafe extern "C" fn(record: *const wq_log_record, ctx: *mut c_void) -> i32>;

/// Bytes: in, borrowed for the call; out, a view into a handle.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_bytes {
    pub data: *const c_void,
    pub len: usize,
}

impl wq_bytes {
    /// All defaults.
    pub const fn init() -> Self {
        wq_bytes {
            data: core::ptr::null(),
            len: 0,
        }
    }
}

/// `wq_header`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_header {
    pub name: wq_bytes,
    pub value: wq_bytes,
}

impl wq_header {
    /// All defaults.
    pub const fn init() -> Self {
        wq_header {
            name: wq_bytes::init(),
            value: wq_bytes::init(),
        }
    }
}

/// The right to settle a job.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_token {
    pub id: u64,
    pub generation: u64,
}

impl wq_token {
    /// All defaults.
    pub const fn init() -> Self {
        wq_token {
            id: 0,
            generation: 0,
        }
    }
}

/// A key that payloads are sealed with.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_key {
    /// 1 and up: your number for it, stored with each job
    pub id: u32,
    pub reserved_0: u32,
    /// 32 random ones
    pub bytes: wq_bytes,
}

impl wq_key {
    /// All defaults.
    pub const fn init() -> Self {
        wq_key {
            id: 0,
            reserved_0: 0,
            bytes: wq_bytes::init(),
        }
    }
}

/// What went wrong. Filled by every call that is given one.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_error {
    pub struct_size: u32,
    /// what the call returned
    pub code: i32,
    /// 0 if the operating system had no part in it
    pub os_errno: i32,
    /// WQ_ERROR_...
    pub flags: u32,
    /// byte offset in the file that the message names, else 0
    pub offset: u64,
    /// one line, UTF-8, always ends with NUL; long paths lose their middle
    pub message: [c_char; 232],
}

impl wq_error {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_error {
            struct_size: core::mem::size_of::<wq_error>() as u32,
            code: 0,
            os_errno: 0,
            flags: 0,
            offset: 0,
            message: [0; 232],
        }
    }
}

/// How one changing call waits for its durability. NULL takes the defaults. Belongs to one call
/// at a
/// time. With `cq` the call returns at once with its result (ids and so on), and one event with
/// `user_data` arrives in the completion queue when the level is reached or has become
/// unreachable.
/// There is an event if and only if `lsn` is not 0 when the call returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_call {
    pub struct_size: u32,
    /// 0: the default; WQ_MEMORY, WQ_PROCESS, WQ_POWER
    pub durability: u32,
    /// NULL: wait in the call; must belong to the same store
    pub cq: *mut wq_cq,
    pub user_data: u64,
    /// out: LSN of the record of this call; 0 if it wrote nothing
    pub lsn: u64,
}

impl wq_call {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_call {
            struct_size: core::mem::size_of::<wq_call>() as u32,
            durability: 0,
            cq: core::ptr::null_mut(),
            user_data: 0,
            lsn: 0,
        }
    }
}

/// `wq_store_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_store_options {
    pub struct_size: u32,
    /// WQ_OPEN_...
    pub flags: u32,
    /// WQ_IO_...; 0: io_uring if the kernel lets us, else threads
    pub io_backend: u32,
    /// zero-filled log segments kept ready; 0: 2; up to 64
    pub spare_segments: u32,
    /// bound of jobs held in memory; 0: 64 MiB; from 1 MiB
    pub memory_budget_bytes: u64,
    /// 0: 16 MiB; up to 256 MiB
    pub payload_bytes_max: u64,
    /// of the log; 16 KiB .. 1 GiB, a multiple of 4096; 0: 32 MiB, or a sixteenth of the file
    /// system
    pub segment_bytes: u64,
    /// log bytes that start a checkpoint; 0: 128 MiB, or a quarter of the file system
    pub checkpoint_log_bytes: u64,
    /// with less free, enqueue answers WQ_E_NO_SPACE; up to half of it may be spare segments; 0:
    /// 64 MiB, or an eighth of the file system
    pub disk_reserve_bytes: u64,
    /// bound of the loss window of WQ_MEMORY; 0: 50; up to an hour
    pub memory_window_ms: i64,
    /// events kept for wq_events_poll, 64 bytes each; 0: none; up to 2^24; rounded up to a power
    /// of two
    pub events_max: u32,
    pub reserved_0: u32,
    /// bound of wq_store_stats.job_bytes; with more, enqueue answers WQ_E_FULL, all else goes
    /// on; 0: none. Not stored
    pub quota_bytes: u64,
    /// all that jobs may be sealed with; copied, wiped at the end
    pub keys: *const wq_key,
    /// up to 1,000
    pub keys_count: usize,
    /// id of the one that seals new payloads; 0: none does
    pub current_key: u32,
    pub reserved_1: u32,
}

impl wq_store_options {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_store_options {
            struct_size: core::mem::size_of::<wq_store_options>() as u32,
            flags: 0,
            io_backend: 0,
            spare_segments: 0,
            memory_budget_bytes: 0,
            payload_bytes_max: 0,
            segment_bytes: 0,
            checkpoint_log_bytes: 0,
            disk_reserve_bytes: 0,
            memory_window_ms: 0,
            events_max: 0,
            reserved_0: 0,
            quota_bytes: 0,
            keys: core::ptr::null(),
            keys_count: 0,
            current_key: 0,
            reserved_1: 0,
        }
    }
}

/// What opening found and did. Nothing is repaired silently.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_recovery {
    pub struct_size: u32,
    /// 1: nothing to replay and nothing cut
    pub clean: u32,
    /// LSN of the checkpoint that recovery started from
    pub applied_lsn: u64,
    /// newest LSN found
    pub last_lsn: u64,
    pub records_replayed: u64,
    /// unfinished tail of the log that was cut off
    pub truncated_bytes: u64,
    /// leases that go on with their old deadline
    pub leases_kept: u64,
    /// leases taken back because of WQ_OPEN_EXPIRE_LEASES
    pub leases_expired: u64,
    /// left over by a crash
    pub temp_files_removed: u64,
    pub replay_ms: i64,
    /// file, offset and reason; empty if nothing was cut
    pub truncated_where: [c_char; 200],
}

impl wq_recovery {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_recovery {
            struct_size: core::mem::size_of::<wq_recovery>() as u32,
            clean: 0,
            applied_lsn: 0,
            last_lsn: 0,
            records_replayed: 0,
            truncated_bytes: 0,
            leases_kept: 0,
            leases_expired: 0,
            temp_files_removed: 0,
            replay_ms: 0,
            truncated_where: [0; 200],
        }
    }
}

/// Totals count since open unless they say otherwise.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_store_stats {
    pub struct_size: u32,
    /// WQ_STORE_...
    pub status: u32,
    /// the one that runs: WQ_IO_URING or WQ_IO_THREADS
    pub io_backend: u32,
    pub queues: u32,
    /// jobs, over all queues
    pub ready: u64,
    /// jobs, over all queues
    pub delayed: u64,
    /// jobs, over all queues
    pub leased: u64,
    /// jobs, over all queues
    pub running: u64,
    /// jobs, over all queues
    pub dead: u64,
    /// newest change
    pub last_lsn: u64,
    /// all up to here survive kill -9
    pub process_lsn: u64,
    /// all up to here survive power loss
    pub durable_lsn: u64,
    /// all up to here are in the checkpoint
    pub applied_lsn: u64,
    /// jobs held in memory
    pub resident_jobs: u64,
    /// and what they take, against the budget
    pub resident_bytes: u64,
    pub memory_budget_bytes: u64,
    /// appended
    pub log_records: u64,
    /// appended
    pub log_bytes: u64,
    /// handed to the device, padding included
    pub log_written_bytes: u64,
    /// in the log now, not covered by the checkpoint
    pub log_live_bytes: u64,
    pub log_segments: u64,
    pub log_segments_spare: u64,
    /// groups that ended with a device barrier
    pub flushes: u64,
    pub flush_us_total: u64,
    pub flush_us_max: u64,
    pub checkpoints: u64,
    pub checkpoint_us_last: u64,
    pub checkpoint_us_max: u64,
    /// threads that wait in wq_lease
    pub waiting: u64,
    /// of all jobs in any state: payload, headers, options
    pub job_bytes: u64,
    /// as in wq_store_options
    pub quota_bytes: u64,
}

impl wq_store_stats {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_store_stats {
            struct_size: core::mem::size_of::<wq_store_stats>() as u32,
            status: 0,
            io_backend: 0,
            queues: 0,
            ready: 0,
            delayed: 0,
            leased: 0,
            running: 0,
            dead: 0,
            last_lsn: 0,
            process_lsn: 0,
            durable_lsn: 0,
            applied_lsn: 0,
            resident_jobs: 0,
            resident_bytes: 0,
            memory_budget_bytes: 0,
            log_records: 0,
            log_bytes: 0,
            log_written_bytes: 0,
            log_live_bytes: 0,
            log_segments: 0,
            log_segments_spare: 0,
            flushes: 0,
            flush_us_total: 0,
            flush_us_max: 0,
            checkpoints: 0,
            checkpoint_us_last: 0,
            checkpoint_us_max: 0,
            waiting: 0,
            job_bytes: 0,
            quota_bytes: 0,
        }
    }
}

/// What a full check found.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_verify_report {
    pub struct_size: u32,
    pub reserved_0: u32,
    /// jobs read
    pub jobs: u64,
    /// index entries read
    pub entries: u64,
    /// 0: each job in one state, each entry has its job, counts agree
    pub problems: u64,
    pub elapsed_ms: i64,
    /// empty if there is none
    pub first_problem: [c_char; 216],
}

impl wq_verify_report {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_verify_report {
            struct_size: core::mem::size_of::<wq_verify_report>() as u32,
            reserved_0: 0,
            jobs: 0,
            entries: 0,
            problems: 0,
            elapsed_ms: 0,
            first_problem: [0; 216],
        }
    }
}

/// Configuration of a queue. For configure and open: only what `fields` names counts.
/// wq_queue_get_config fills everything and sets all bits of `fields`, WQ_CONFIG_VERSION
/// included:
/// change a field, hand the struct back, and the change is refused if somebody else was faster.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_queue_config {
    pub struct_size: u32,
    /// WQ_CONFIG_...
    pub fields: u32,
    /// bound of leased + running jobs; 0: none. Never cuts running ones
    pub max_running: u32,
    /// attempts after the first; default 3
    pub max_retries: u32,
    /// default 60,000
    pub lease_ms: i64,
    /// default of enqueue and settle calls; default WQ_POWER
    pub durability: u32,
    /// out only: WQ_STATUS_...
    pub status: u32,
    /// WQ_BACKOFF_...; default 0: retries are ready at once
    pub backoff_kind: u32,
    /// entries used in backoff_list_ms
    pub backoff_count: u32,
    pub backoff_base_ms: i64,
    pub backoff_max_ms: i64,
    /// grows with each change
    pub version: u64,
    pub backoff_list_ms: [i64; 32],
    pub backoff_jitter_permille: u32,
    pub reserved_0: u32,
    /// a job that did not start so long after it was enqueued ends, as by its expires_at_ms; 0:
    /// never. Holds for jobs that are there, too
    pub job_ttl_ms: i64,
    /// bound of ready + delayed jobs for enqueue and replay; 0: none. A settle, an expiry or a
    /// promotion may bring a queue over it
    pub max_depth: u64,
    /// the same of their bytes, as wq_store_stats.job_bytes counts them
    pub max_bytes: u64,
    /// WQ_FULL_...
    pub full_policy: u32,
    /// out only: 1: paused, also behind WQ_STATUS_DISABLED: then enabling leads to
    /// WQ_STATUS_PAUSED
    pub consumers_paused: u32,
    /// of dead letters: with more, the oldest are dropped soon; 0: none
    pub dead_max_count: u64,
    /// dead letters are dropped this long after they died; 0: never
    pub dead_max_age_ms: i64,
    /// history: how long acked jobs are kept; 0: no bound
    pub keep_done_age_ms: i64,
    /// and how many, the newest; 0: no bound. Both 0, the default: none
    pub keep_done_count: u32,
    /// jobs of one group that run at once; default 1. See GROUPS
    pub group_limit: u32,
    /// jobs that may begin within rate_window_ms; 0: no limit. See RATES
    pub rate_count: u32,
    /// of them, how many at once after an idle time; 0: 1
    pub rate_burst: u32,
    /// 1 ms .. 366 days; 0 without a limit
    pub rate_window_ms: i64,
    /// 1: payloads of new jobs are sealed; 0, the default: they are not
    pub encrypt: u32,
    /// payloads of new jobs from this size on are compressed, if that makes them smaller; 0, the
    /// default: none. Up to 256 MiB
    pub compress_min_bytes: u32,
    /// of the jobs of each rate key, as rate_count; see RATE KEYS
    pub key_rate_count: u32,
    pub key_rate_burst: u32,
    pub key_rate_window_ms: i64,
    /// exceptions that shut a rate key; 0: none. See THROTTLE
    pub throttle_count: u32,
    pub reserved_1: u32,
    /// within which; 0 without a count
    pub throttle_window_ms: i64,
    /// how long it is shut; 0: as the window
    pub throttle_cool_ms: i64,
}

impl wq_queue_config {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_queue_config {
            struct_size: core::mem::size_of::<wq_queue_config>() as u32,
            fields: 0,
            max_running: 0,
            max_retries: 0,
            lease_ms: 0,
            durability: 0,
            status: 0,
            backoff_kind: 0,
            backoff_count: 0,
            backoff_base_ms: 0,
            backoff_max_ms: 0,
            version: 0,
            backoff_list_ms: [0; 32],
            backoff_jitter_permille: 0,
            reserved_0: 0,
            job_ttl_ms: 0,
            max_depth: 0,
            max_bytes: 0,
            full_policy: 0,
            consumers_paused: 0,
            dead_max_count: 0,
            dead_max_age_ms: 0,
            keep_done_age_ms: 0,
            keep_done_count: 0,
            group_limit: 0,
            rate_count: 0,
            rate_burst: 0,
            rate_window_ms: 0,
            encrypt: 0,
            compress_min_bytes: 0,
            key_rate_count: 0,
            key_rate_burst: 0,
            key_rate_window_ms: 0,
            throttle_count: 0,
            reserved_1: 0,
            throttle_window_ms: 0,
            throttle_cool_ms: 0,
        }
    }
}

/// Counts of now, and totals over the life of the queue (kept over reopen).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_queue_stats {
    pub struct_size: u32,
    /// WQ_STATUS_...
    pub status: u32,
    /// A job whose expires_at_ms or job_ttl_ms has passed counts until it is gone: see
    /// expires_at_ms for when that is.
    pub ready: u64,
    /// A job whose expires_at_ms or job_ttl_ms has passed counts until it is gone: see
    /// expires_at_ms for when that is.
    pub delayed: u64,
    /// A job whose expires_at_ms or job_ttl_ms has passed counts until it is gone: see
    /// expires_at_ms for when that is.
    pub leased: u64,
    /// A job whose expires_at_ms or job_ttl_ms has passed counts until it is gone: see
    /// expires_at_ms for when that is.
    pub running: u64,
    /// A job whose expires_at_ms or job_ttl_ms has passed counts until it is gone: see
    /// expires_at_ms for when that is.
    pub dead: u64,
    /// how long the head has been ready; 0 if none is
    pub oldest_ready_age_ms: i64,
    pub enqueued_total: u64,
    pub leased_total: u64,
    pub acked_total: u64,
    pub nacked_total: u64,
    pub failed_total: u64,
    pub released_total: u64,
    /// leases reclaimed
    pub expired_total: u64,
    /// jobs that went to the dead letters, for whatever reason
    pub dead_total: u64,
    pub replayed_total: u64,
    pub cancelled_total: u64,
    /// jobs removed by clear, dead_remove and dead_purge
    pub cleared_total: u64,
    /// jobs that ended because they did not start in time
    pub jobs_expired_total: u64,
    /// ready jobs that went for newer ones: WQ_FULL_DROP_OLDEST
    pub dropped_total: u64,
    /// dead letters over dead_max_count or dead_max_age_ms
    pub dead_dropped_total: u64,
    /// of ready and delayed jobs, against max_bytes
    pub waiting_bytes: u64,
    /// of all jobs in any state
    pub job_bytes: u64,
    /// jobs of chains that never came to be; see CHAINS
    pub chain_cut_total: u64,
    /// of `ready`: jobs that wait for their group or rate key
    pub parked: u64,
    /// until the rate lets the next job begin; 0: it does now. If all ready jobs are parked:
    /// until the first of their rate keys does, if that is later
    pub rate_wait_ms: i64,
    /// jobs that ended because their group was full: WQ_OVERLAP_SKIP
    pub skipped_total: u64,
}

impl wq_queue_stats {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_queue_stats {
            struct_size: core::mem::size_of::<wq_queue_stats>() as u32,
            status: 0,
            ready: 0,
            delayed: 0,
            leased: 0,
            running: 0,
            dead: 0,
            oldest_ready_age_ms: 0,
            enqueued_total: 0,
            leased_total: 0,
            acked_total: 0,
            nacked_total: 0,
            failed_total: 0,
            released_total: 0,
            expired_total: 0,
            dead_total: 0,
            replayed_total: 0,
            cancelled_total: 0,
            cleared_total: 0,
            jobs_expired_total: 0,
            dropped_total: 0,
            dead_dropped_total: 0,
            waiting_bytes: 0,
            job_bytes: 0,
            chain_cut_total: 0,
            parked: 0,
            rate_wait_ms: 0,
            skipped_total: 0,
        }
    }
}

/// A job to enqueue.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_job_spec {
    pub struct_size: u32,
    /// WQ_JOB_...
    pub flags: u32,
    pub payload: wq_bytes,
    pub headers: *const wq_header,
    pub headers_count: usize,
    /// ready after this time; 0: at once
    pub delay_ms: i64,
    /// ready at this time, in the past: at once; 0: none; not together with delay_ms
    pub run_at_ms: i64,
    /// counts with WQ_JOB_PRIORITY
    pub priority: u32,
    /// 0: 1 + max_retries of the queue
    pub max_attempts: u32,
    /// WQ_BACKOFF_...; 0: the queue's
    pub backoff_kind: u32,
    pub backoff_count: u32,
    pub backoff_base_ms: i64,
    pub backoff_max_ms: i64,
    pub backoff_list_ms: *const i64,
    /// a job that was not leased by then is never leased: it ends, counted in
    /// jobs_expired_total. Released ones did not start; retried and replayed ones did. 0: never.
    /// A job that nobody asks for is gone a second later, unless it is delayed (then when it is
    /// due) or only on the disk (then in some ten seconds; in minutes if the queue has millions
    /// of jobs)
    pub expires_at_ms: i64,
    /// an attempt that is lost at or after this time is the last; 0: no such time. It does not
    /// add attempts
    pub retry_until_ms: i64,
    /// told to the worker; also the length of the job's leases where a call names none, before
    /// lease_ms of the queue; 0: none
    pub timeout_ms: i64,
    /// with so many nacks that count the job is dead; 0: no limit
    pub max_exceptions: u32,
    pub backoff_jitter_permille: u32,
    /// Keys: see UNIQUE KEYS. Empty: none. Not together: unique_key and debounce_key.
    pub unique_key: wq_bytes,
    /// the key is held no longer than this; 0: no limit
    pub unique_ttl_ms: i64,
    /// WQ_UNIQUE_...; 0: WQ_UNIQUE_DONE
    pub unique_until: u32,
    pub reserved_0: u32,
    /// goes with debounce_ms; not together with delay_ms or run_at_ms
    pub debounce_key: wq_bytes,
    /// the job is due this long after the last one of its key
    pub debounce_ms: i64,
    /// but no later than this after the first one; 0: no limit
    pub debounce_max_ms: i64,
    pub idempotency_key: wq_bytes,
    /// how long a second job of the key is the first one
    pub idempotency_ms: i64,
    /// the flow that it joins; 0: none
    pub flow: u64,
    /// jobs that follow, each enqueued by the ack before it
    pub chain: *const wq_next_job,
    /// up to 100, 16 MiB of payloads and headers together
    pub chain_count: usize,
    /// sizeof chain[0]; 0 without a chain
    pub chain_size: usize,
    /// key of its group, any bytes; empty: none. See GROUPS
    pub group: wq_bytes,
    /// 0: the queue's
    pub group_limit: u32,
    /// WQ_OVERLAP_...; goes with a group. See OVERLAP GUARD
    pub overlap: u32,
    /// goes with WQ_OVERLAP_RELEASE
    pub overlap_ms: i64,
    /// any bytes; empty: none. See TENANTS
    pub tenant: wq_bytes,
    /// any bytes; empty: none; not together with a group. See RATE KEYS
    pub rate_key: wq_bytes,
    /// 0: 1
    pub rate_cost: u32,
    pub reserved_2: u32,
}

impl wq_job_spec {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_job_spec {
            struct_size: core::mem::size_of::<wq_job_spec>() as u32,
            flags: 0,
            payload: wq_bytes::init(),
            headers: core::ptr::null(),
            headers_count: 0,
            delay_ms: 0,
            run_at_ms: 0,
            priority: 0,
            max_attempts: 0,
            backoff_kind: 0,
            backoff_count: 0,
            backoff_base_ms: 0,
            backoff_max_ms: 0,
            backoff_list_ms: core::ptr::null(),
            expires_at_ms: 0,
            retry_until_ms: 0,
            timeout_ms: 0,
            max_exceptions: 0,
            backoff_jitter_permille: 0,
            unique_key: wq_bytes::init(),
            unique_ttl_ms: 0,
            unique_until: 0,
            reserved_0: 0,
            debounce_key: wq_bytes::init(),
            debounce_ms: 0,
            debounce_max_ms: 0,
            idempotency_key: wq_bytes::init(),
            idempotency_ms: 0,
            flow: 0,
            chain: core::ptr::null(),
            chain_count: 0,
            chain_size: 0,
            group: wq_bytes::init(),
            group_limit: 0,
            overlap: 0,
            overlap_ms: 0,
            tenant: wq_bytes::init(),
            rate_key: wq_bytes::init(),
            rate_cost: 0,
            reserved_2: 0,
        }
    }
}

/// A job that does not exist yet: one of a chain, or what the end of a flow enqueues. The delay
/// of
/// its spec counts from the moment that sets it off. It has no chain, no flow and no key of its
/// own
/// (WQ_E_UNSUPPORTED for a key).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_next_job {
    pub struct_size: u32,
    pub reserved_0: u32,
    /// must exist; empty in a chain: the queue of the job before
    pub queue_name: wq_bytes,
    pub spec: *const wq_job_spec,
}

impl wq_next_job {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_next_job {
            struct_size: core::mem::size_of::<wq_next_job>() as u32,
            reserved_0: 0,
            queue_name: wq_bytes::init(),
            spec: core::ptr::null(),
        }
    }
}

/// What became of one job of an enqueue.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_enqueued {
    pub struct_size: u32,
    /// WQ_OK, or why not
    pub code: i32,
    /// WQ_DUPLICATE: the job that holds the key; else 0 unless WQ_OK
    pub job_id: u64,
    /// LSN of the record that holds it; 0 unless WQ_OK
    pub lsn: u64,
}

impl wq_enqueued {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_enqueued {
            struct_size: core::mem::size_of::<wq_enqueued>() as u32,
            code: 0,
            job_id: 0,
            lsn: 0,
        }
    }
}

/// A job as it is told. The bytes are views into the batch it came from.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_job {
    pub struct_size: u32,
    /// WQ_STATE_...
    pub state: u32,
    pub id: u64,
    /// of its last lease or replay; 0 if there was none
    pub generation: u64,
    /// from wq_lease: index in the array of queues; else 0
    pub queue_index: u32,
    pub priority: u32,
    /// this one included
    pub attempts: u32,
    /// nacks that counted
    pub exceptions: u32,
    pub max_attempts: u32,
    /// times it came back from the dead letters
    pub replays: u32,
    /// when it was enqueued
    pub enqueued_ms: i64,
    /// ready: since when; delayed: when it will be; else 0
    pub ready_ms: i64,
    /// when its last lease began; 0: never
    pub leased_ms: i64,
    /// when its lease may be reclaimed; 0: none
    pub deadline_ms: i64,
    /// until deadline_ms at the time of the call; 0: none or past
    pub lease_remaining_ms: i64,
    /// when it died; 0: not dead
    pub dead_ms: i64,
    /// WQ_DEAD_...; 0: not dead
    pub dead_reason: u32,
    pub headers_count: u32,
    pub payload: wq_bytes,
    pub queue_name: wq_bytes,
    pub last_error: wq_bytes,
    /// as it was enqueued, likewise the next four; 0: none
    pub timeout_ms: i64,
    pub expires_at_ms: i64,
    pub retry_until_ms: i64,
    pub max_exceptions: u32,
    /// WQ_JOB_FAIL_ON_TIMEOUT, WQ_JOB_ENCRYPT if it is sealed
    pub flags: u32,
    /// the last note of a worker; see wq_job_progress
    pub progress: wq_bytes,
    /// when it died for the first time; kept over replays; 0: never
    pub first_dead_ms: i64,
    /// the flow that it is a member of; 0: none
    pub flow: u64,
    /// jobs that follow it, one after another
    pub chain_count: u32,
    /// 1: its flow was cancelled, it should stop
    pub flow_cancelled: u32,
    /// key of its group; empty: none
    pub group: wq_bytes,
    /// 1: ready, but no slot of its group is free for it, or its rate key is used up or cools
    /// down
    pub parked: u32,
    pub reserved_0: u32,
    /// WQ_OK; else why `payload` is empty: WQ_E_NO_KEY, WQ_E_CORRUPT, WQ_E_NO_MEMORY. Never of a
    /// job that was leased
    pub payload_code: i32,
    /// that its payload is sealed with; 0: it is not sealed
    pub key_id: u32,
    /// empty: none
    pub tenant: wq_bytes,
    /// empty: none
    pub rate_key: wq_bytes,
    pub rate_cost: u32,
    pub reserved_1: u32,
}

impl wq_job {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_job {
            struct_size: core::mem::size_of::<wq_job>() as u32,
            state: 0,
            id: 0,
            generation: 0,
            queue_index: 0,
            priority: 0,
            attempts: 0,
            exceptions: 0,
            max_attempts: 0,
            replays: 0,
            enqueued_ms: 0,
            ready_ms: 0,
            leased_ms: 0,
            deadline_ms: 0,
            lease_remaining_ms: 0,
            dead_ms: 0,
            dead_reason: 0,
            headers_count: 0,
            payload: wq_bytes::init(),
            queue_name: wq_bytes::init(),
            last_error: wq_bytes::init(),
            timeout_ms: 0,
            expires_at_ms: 0,
            retry_until_ms: 0,
            max_exceptions: 0,
            flags: 0,
            progress: wq_bytes::init(),
            first_dead_ms: 0,
            flow: 0,
            chain_count: 0,
            flow_cancelled: 0,
            group: wq_bytes::init(),
            parked: 0,
            reserved_0: 0,
            payload_code: 0,
            key_id: 0,
            tenant: wq_bytes::init(),
            rate_key: wq_bytes::init(),
            rate_cost: 0,
            reserved_1: 0,
        }
    }
}

/// `wq_lease_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_lease_options {
    pub struct_size: u32,
    /// 0: 1
    pub max_jobs: u32,
    /// how long to wait for the first job; 0: not at all, -1: for ever
    pub wait_ms: i64,
    /// 0: timeout_ms of the job, or else lease_ms of its queue
    pub lease_ms: i64,
    /// none yet: 0
    pub flags: u32,
    pub reserved_0: u32,
}

impl wq_lease_options {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_lease_options {
            struct_size: core::mem::size_of::<wq_lease_options>() as u32,
            max_jobs: 0,
            wait_ms: 0,
            lease_ms: 0,
            flags: 0,
            reserved_0: 0,
        }
    }
}

/// `wq_nack_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_nack_options {
    pub struct_size: u32,
    /// WQ_NACK_...
    pub flags: u32,
    /// counts with WQ_NACK_DELAY
    pub delay_ms: i64,
    /// counts with WQ_NACK_PRIORITY
    pub priority: u32,
    pub reserved_0: u32,
    /// kept with the job; empty keeps the text of the attempt before
    pub error: wq_bytes,
    /// why the job is dead if no attempt is left: WQ_DEAD_FAILED, TIMEOUT, CANCELLED, EXPIRED or
    /// UNKNOWN_TYPE; 0: FAILED
    pub reason: u32,
    pub reserved_1: u32,
}

impl wq_nack_options {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_nack_options {
            struct_size: core::mem::size_of::<wq_nack_options>() as u32,
            flags: 0,
            delay_ms: 0,
            priority: 0,
            reserved_0: 0,
            error: wq_bytes::init(),
            reason: 0,
            reserved_1: 0,
        }
    }
}

/// One of several settles. Fields that do not belong to its kind must be zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_settle_item {
    pub struct_size: u32,
    /// WQ_SETTLE_...
    pub kind: u32,
    pub id: u64,
    pub generation: u64,
    /// nack with WQ_NACK_DELAY, release
    pub delay_ms: i64,
    /// WQ_NACK_... or WQ_RELEASE_... by kind
    pub flags: u32,
    /// nack with WQ_NACK_PRIORITY
    pub priority: u32,
    /// nack, fail
    pub error: wq_bytes,
    /// nack, fail: as in wq_nack_options
    pub reason: u32,
    pub reserved_0: u32,
    /// ack: kept in the history, if the queue has one; up to 1 MiB
    pub result: wq_bytes,
}

impl wq_settle_item {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_settle_item {
            struct_size: core::mem::size_of::<wq_settle_item>() as u32,
            kind: 0,
            id: 0,
            generation: 0,
            delay_ms: 0,
            flags: 0,
            priority: 0,
            error: wq_bytes::init(),
            reason: 0,
            reserved_0: 0,
            result: wq_bytes::init(),
        }
    }
}

/// Which dead letters to list.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_dead_query {
    pub struct_size: u32,
    /// WQ_DEAD_OLDEST_FIRST; without it newest first
    pub flags: u32,
    /// 0: from the start; else what the call before gave
    pub cursor: u64,
    /// 0: 100
    pub limit: u32,
    /// WQ_DEAD_...; 0: any
    pub reason: u32,
    /// died at or after; 0: no bound
    pub from_ms: i64,
    /// died before; 0: no bound
    pub until_ms: i64,
    /// the last error has these bytes in it; empty: any
    pub error_part: wq_bytes,
}

impl wq_dead_query {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_dead_query {
            struct_size: core::mem::size_of::<wq_dead_query>() as u32,
            flags: 0,
            cursor: 0,
            limit: 0,
            reason: 0,
            from_ms: 0,
            until_ms: 0,
            error_part: wq_bytes::init(),
        }
    }
}

/// Which dead letters a bulk change is about. Conditions are mandatory: at least one of reason,
/// from_ms, until_ms and error_part, which must all hold; or entries, and then none of these; or
/// WQ_DEAD_ALL.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_dead_filter {
    pub struct_size: u32,
    /// WQ_DEAD_ALL, WQ_DEAD_DRY_RUN
    pub flags: u32,
    /// WQ_DEAD_...; 0: any
    pub reason: u32,
    pub reserved_0: u32,
    /// died at or after; 0: no bound
    pub from_ms: i64,
    /// died before; 0: no bound
    pub until_ms: i64,
    /// the last error has these bytes in it; empty: any
    pub error_part: wq_bytes,
    /// these entry ids; those that are stale are passed over
    pub entries: *const wq_token,
    pub entries_count: usize,
    /// at most this many, the oldest first; 0: no limit
    pub limit: u64,
    /// NULL: none; firing it stops the work
    pub cancel: *mut wq_cancel,
    /// NULL: none
    pub progress: wq_dead_progress,
    /// given to `progress`
    pub progress_ctx: *mut c_void,
}

impl wq_dead_filter {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_dead_filter {
            struct_size: core::mem::size_of::<wq_dead_filter>() as u32,
            flags: 0,
            reason: 0,
            reserved_0: 0,
            from_ms: 0,
            until_ms: 0,
            error_part: wq_bytes::init(),
            entries: core::ptr::null(),
            entries_count: 0,
            limit: 0,
            cancel: core::ptr::null_mut(),
            progress: None,
            progress_ctx: core::ptr::null_mut(),
        }
    }
}

/// What a bulk change did, filled whatever the call returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_dead_report {
    pub struct_size: u32,
    pub reserved_0: u32,
    /// replayed or removed; with WQ_DEAD_DRY_RUN: would be
    pub changed: u64,
    /// looked at
    pub examined: u64,
    pub elapsed_ms: i64,
}

impl wq_dead_report {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_dead_report {
            struct_size: core::mem::size_of::<wq_dead_report>() as u32,
            reserved_0: 0,
            changed: 0,
            examined: 0,
            elapsed_ms: 0,
        }
    }
}

/// Arrival of the durability that a call with wq_call.cq asked for.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_event {
    pub struct_size: u32,
    /// WQ_OK: reached; else the error that stopped the store (maybe committed)
    pub code: i32,
    pub user_data: u64,
    pub lsn: u64,
}

impl wq_event {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_event {
            struct_size: core::mem::size_of::<wq_event>() as u32,
            code: 0,
            user_data: 0,
            lsn: 0,
        }
    }
}

/// `wq_flow_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_flow_options {
    pub struct_size: u32,
    /// WQ_FLOW_ALLOW_FAILURES
    pub flags: u32,
    /// NULL: none; payload and headers up to 60 KiB
    pub on_complete: *const wq_next_job,
    /// the same
    pub on_failure: *const wq_next_job,
}

impl wq_flow_options {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_flow_options {
            struct_size: core::mem::size_of::<wq_flow_options>() as u32,
            flags: 0,
            on_complete: core::ptr::null(),
            on_failure: core::ptr::null(),
        }
    }
}

/// total = pending + done + failed + cancelled, at any time.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_flow_status {
    pub struct_size: u32,
    /// WQ_FLOW_...
    pub flags: u32,
    pub flow: u64,
    /// members; the jobs of their chains are some from the start
    pub total: u64,
    pub pending: u64,
    /// acked
    pub done: u64,
    /// dead
    pub failed: u64,
    /// ended otherwise, or never came to be
    pub cancelled: u64,
    /// job that its end has enqueued; 0: none
    pub follow_up_id: u64,
    pub created_ms: i64,
    /// 0: not yet
    pub finished_ms: i64,
}

impl wq_flow_status {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_flow_status {
            struct_size: core::mem::size_of::<wq_flow_status>() as u32,
            flags: 0,
            flow: 0,
            total: 0,
            pending: 0,
            done: 0,
            failed: 0,
            cancelled: 0,
            follow_up_id: 0,
            created_ms: 0,
            finished_ms: 0,
        }
    }
}

/// When a schedule runs, and what.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_cron_spec {
    pub struct_size: u32,
    /// WQ_CRON_CATCH_UP
    pub flags: u32,
    /// see wq_cron_put
    pub expression: wq_bytes,
    /// of the tz database, like Europe/Berlin; empty: UTC
    pub zone: wq_bytes,
    /// without delay_ms and run_at_ms; NULL: a job with no payload
    pub job: *const wq_job_spec,
    /// counts with WQ_CRON_CATCH_UP: missed slots that run later, 0..1,000
    pub catch_up: u32,
    pub reserved_0: u32,
}

impl wq_cron_spec {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_cron_spec {
            struct_size: core::mem::size_of::<wq_cron_spec>() as u32,
            flags: 0,
            expression: wq_bytes::init(),
            zone: wq_bytes::init(),
            job: core::ptr::null(),
            catch_up: 0,
            reserved_0: 0,
        }
    }
}

/// A schedule, as the store has it. In an import `queue_name` and `problem` do not count.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_cron {
    pub struct_size: u32,
    /// WQ_CRON_PAUSED; WQ_JOB_ENCRYPT if its payload is sealed
    pub flags: u32,
    pub name: wq_bytes,
    pub queue_name: wq_bytes,
    pub expression: wq_bytes,
    /// empty: UTC
    pub zone: wq_bytes,
    /// the next slot; 0: never again before the year 10000
    pub next_due_ms: i64,
    /// the newest slot that ran or was missed; 0: none yet
    pub last_slot_ms: i64,
    pub created_ms: i64,
    /// jobs that it enqueued
    pub fired: u64,
    /// slots that no job was enqueued for; of one gap at most about 2,000
    pub missed: u64,
    pub catch_up: u32,
    pub priority: u32,
    /// 0: 1 + max_retries of the queue
    pub max_attempts: u32,
    /// WQ_BACKOFF_...; 0: the queue's
    pub backoff_kind: u32,
    pub backoff_base_ms: i64,
    pub backoff_max_ms: i64,
    pub backoff_list_ms: *const i64,
    pub backoff_count: u32,
    pub backoff_jitter_permille: u32,
    pub payload: wq_bytes,
    pub headers: *const wq_header,
    pub headers_count: usize,
    /// why its last slots could not be told, or that the clock was set back behind the last one;
    /// empty: none
    pub problem: wq_bytes,
    /// as in wq_job
    pub payload_code: i32,
    /// that its payload is sealed with; 0: it is not sealed
    pub key_id: u32,
    /// of an export; as in wq_job_record
    pub packing: u32,
    pub plain_bytes: u32,
}

impl wq_cron {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_cron {
            struct_size: core::mem::size_of::<wq_cron>() as u32,
            flags: 0,
            name: wq_bytes::init(),
            queue_name: wq_bytes::init(),
            expression: wq_bytes::init(),
            zone: wq_bytes::init(),
            next_due_ms: 0,
            last_slot_ms: 0,
            created_ms: 0,
            fired: 0,
            missed: 0,
            catch_up: 0,
            priority: 0,
            max_attempts: 0,
            backoff_kind: 0,
            backoff_base_ms: 0,
            backoff_max_ms: 0,
            backoff_list_ms: core::ptr::null(),
            backoff_count: 0,
            backoff_jitter_permille: 0,
            payload: wq_bytes::init(),
            headers: core::ptr::null(),
            headers_count: 0,
            problem: wq_bytes::init(),
            payload_code: 0,
            key_id: 0,
            packing: 0,
            plain_bytes: 0,
        }
    }
}

/// A job that was acked, as the history of its queue has it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_done_job {
    pub struct_size: u32,
    pub priority: u32,
    pub id: u64,
    /// of the lease that was acked
    pub generation: u64,
    pub flow: u64,
    pub attempts: u32,
    pub exceptions: u32,
    pub replays: u32,
    pub reserved_0: u32,
    pub enqueued_ms: i64,
    pub leased_ms: i64,
    pub done_ms: i64,
    /// a view into the list
    pub result: wq_bytes,
    /// WQ_OK; else why `result` is empty, as wq_job.payload_code
    pub result_code: i32,
    /// that its result is sealed with; 0: it is not sealed
    pub key_id: u32,
}

impl wq_done_job {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_done_job {
            struct_size: core::mem::size_of::<wq_done_job>() as u32,
            priority: 0,
            id: 0,
            generation: 0,
            flow: 0,
            attempts: 0,
            exceptions: 0,
            replays: 0,
            reserved_0: 0,
            enqueued_ms: 0,
            leased_ms: 0,
            done_ms: 0,
            result: wq_bytes::init(),
            result_code: 0,
            key_id: 0,
        }
    }
}

/// Conditions and life of a kv row. NULL where one is taken: no condition, for ever.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_kv_options {
    pub struct_size: u32,
    /// WQ_KV_IF_...
    pub flags: u32,
    /// put, and add where there is no row yet: gone after this time; 0: never
    pub ttl_ms: i64,
    /// with WQ_KV_IF_VERSION
    pub version: u64,
    /// with WQ_KV_IF_VALUE: what must be there now
    pub value: wq_bytes,
}

impl wq_kv_options {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_kv_options {
            struct_size: core::mem::size_of::<wq_kv_options>() as u32,
            flags: 0,
            ttl_ms: 0,
            version: 0,
            value: wq_bytes::init(),
        }
    }
}

/// `wq_kv_query`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_kv_query {
    pub struct_size: u32,
    /// 0: 100; up to 1,000
    pub limit: u32,
    /// only keys that begin with it
    pub prefix: wq_bytes,
    /// only keys behind this one: the last of the page before; empty: all
    pub after: wq_bytes,
}

impl wq_kv_query {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_kv_query {
            struct_size: core::mem::size_of::<wq_kv_query>() as u32,
            limit: 0,
            prefix: wq_bytes::init(),
            after: wq_bytes::init(),
        }
    }
}

/// A kv row as it is told. The bytes are views into the page it came from.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_kv_row {
    pub struct_size: u32,
    pub reserved_0: u32,
    /// LSN of its last change: another one means that it was changed
    pub version: u64,
    /// when it will be gone; 0: never
    pub expires_ms: i64,
    pub key: wq_bytes,
    pub value: wq_bytes,
}

impl wq_kv_row {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_kv_row {
            struct_size: core::mem::size_of::<wq_kv_row>() as u32,
            reserved_0: 0,
            version: 0,
            expires_ms: 0,
            key: wq_bytes::init(),
            value: wq_bytes::init(),
        }
    }
}

/// One operation of a transaction. Fields that do not belong to its kind must be zero.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_txn_op {
    pub struct_size: u32,
    /// WQ_TXN_...
    pub kind: u32,
    /// enqueue, settle: of the same store
    pub queue: *mut wq_queue,
    /// enqueue
    pub spec: *const wq_job_spec,
    /// settle
    pub settle: *const wq_settle_item,
    pub key: wq_bytes,
    /// put
    pub value: wq_bytes,
    /// add
    pub delta: i64,
    /// put, add, erase, check
    pub options: *const wq_kv_options,
}

impl wq_txn_op {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_txn_op {
            struct_size: core::mem::size_of::<wq_txn_op>() as u32,
            kind: 0,
            queue: core::ptr::null_mut(),
            spec: core::ptr::null(),
            settle: core::ptr::null(),
            key: wq_bytes::init(),
            value: wq_bytes::init(),
            delta: 0,
            options: core::ptr::null(),
        }
    }
}

/// What became of one operation of a transaction.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_txn_result {
    pub struct_size: u32,
    /// what the call returned: all were done, or none
    pub code: i32,
    /// enqueue: of the new job; WQ_DUPLICATE: of the holder of its key
    pub job_id: u64,
    /// add: the new value
    pub sum: i64,
}

impl wq_txn_result {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_txn_result {
            struct_size: core::mem::size_of::<wq_txn_result>() as u32,
            code: 0,
            job_id: 0,
            sum: 0,
        }
    }
}

/// One key that the store was given, or that something in it is sealed with.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_key_use {
    pub struct_size: u32,
    pub id: u32,
    /// and results that it has sealed; some may be gone since just now
    pub payloads: u64,
    /// WQ_KEY_...
    pub flags: u32,
    pub reserved_0: u32,
}

impl wq_key_use {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_key_use {
            struct_size: core::mem::size_of::<wq_key_use>() as u32,
            id: 0,
            payloads: 0,
            flags: 0,
            reserved_0: 0,
        }
    }
}

/// Where a job is and why it does not run, as of one moment.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_job_explanation {
    pub struct_size: u32,
    /// WQ_STATE_...
    pub state: u32,
    /// WQ_WHY_...; 0: the next wq_lease takes it
    pub causes: u32,
    /// WQ_DEAD_...; 0: not dead
    pub dead_reason: u32,
    /// delayed: when it is ready; held: its deadline; WQ_WHY_RATE, WQ_WHY_COOLING: when a job
    /// may begin; 0: none
    pub until_ms: i64,
    /// ready: jobs of the queue that go before it
    pub ahead: u64,
    /// 1: exactly so many; 0: at most
    pub ahead_exact: u32,
    /// WQ_STATUS_...
    pub queue_status: u32,
    /// leased and running jobs of the queue
    pub slots_taken: u64,
    /// max_running; 0: no bound
    pub slots_max: u64,
    /// calls of wq_lease that wait for a job of the queue
    pub consumers_waiting: u64,
    /// the job that is leased or running longest; 0: none is
    pub holder_id: u64,
    pub holder_generation: u64,
    pub holder_age_ms: i64,
}

impl wq_job_explanation {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_job_explanation {
            struct_size: core::mem::size_of::<wq_job_explanation>() as u32,
            state: 0,
            causes: 0,
            dead_reason: 0,
            until_ms: 0,
            ahead: 0,
            ahead_exact: 0,
            queue_status: 0,
            slots_taken: 0,
            slots_max: 0,
            consumers_waiting: 0,
            holder_id: 0,
            holder_generation: 0,
            holder_age_ms: 0,
        }
    }
}

/// What holds a queue back, as of one moment. Rates are jobs per second, means of about the last
/// 1
/// and 5 minutes since open.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_queue_explanation {
    pub struct_size: u32,
    /// WQ_STATUS_...
    pub status: u32,
    /// WQ_WHY_...
    pub causes: u32,
    pub reserved_0: u32,
    /// jobs that could be leased now
    pub leasable: u64,
    /// 0: none is ready
    pub oldest_ready_age_ms: i64,
    /// leased and running jobs
    pub slots_taken: u64,
    /// max_running; 0: no bound
    pub slots_max: u64,
    /// calls of wq_lease that wait for a job of the queue
    pub consumers_waiting: u64,
    /// the job that is leased or running longest; 0: none is
    pub holder_id: u64,
    pub holder_generation: u64,
    pub holder_age_ms: i64,
    pub enqueue_rate_1m: f64,
    pub enqueue_rate_5m: f64,
    pub lease_rate_1m: f64,
    pub lease_rate_5m: f64,
    pub ack_rate_1m: f64,
    pub ack_rate_5m: f64,
    /// ready jobs that wait for their group or rate key
    pub parked: u64,
    /// until the rate lets the next job begin; 0: it does now
    pub rate_wait_ms: i64,
}

impl wq_queue_explanation {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_queue_explanation {
            struct_size: core::mem::size_of::<wq_queue_explanation>() as u32,
            status: 0,
            causes: 0,
            reserved_0: 0,
            leasable: 0,
            oldest_ready_age_ms: 0,
            slots_taken: 0,
            slots_max: 0,
            consumers_waiting: 0,
            holder_id: 0,
            holder_generation: 0,
            holder_age_ms: 0,
            enqueue_rate_1m: 0.0,
            enqueue_rate_5m: 0.0,
            lease_rate_1m: 0.0,
            lease_rate_5m: 0.0,
            ack_rate_1m: 0.0,
            ack_rate_5m: 0.0,
            parked: 0,
            rate_wait_ms: 0,
        }
    }
}

/// A failed attempt.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_queue_error {
    pub struct_size: u32,
    /// WQ_EVENT_NACKED, WQ_EVENT_DEAD (wq_fail), WQ_EVENT_EXPIRED
    pub kind: u32,
    pub at_ms: i64,
    pub job_id: u64,
    pub generation: u64,
    pub attempt: u32,
    /// 0: no text was given
    pub text_len: u32,
    /// one line of UTF-8, cut to 240 bytes, ends with NUL
    pub text: [c_char; 256],
}

impl wq_queue_error {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_queue_error {
            struct_size: core::mem::size_of::<wq_queue_error>() as u32,
            kind: 0,
            at_ms: 0,
            job_id: 0,
            generation: 0,
            attempt: 0,
            text_len: 0,
            text: [0; 256],
        }
    }
}

/// Where a reader of events stands. Begin with WQ_EVENT_CURSOR_INIT and hand it back each time.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_event_cursor {
    pub struct_size: u32,
    /// WQ_EVENTS_...
    pub flags: u32,
    /// the opening of the store that `sequence` counts in; 0: begin
    pub epoch: u64,
    /// of the last event that was read
    pub sequence: u64,
    /// out: events that this call did not find any more, before its first one
    pub dropped: u64,
}

impl wq_event_cursor {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_event_cursor {
            struct_size: core::mem::size_of::<wq_event_cursor>() as u32,
            flags: 0,
            epoch: 0,
            sequence: 0,
            dropped: 0,
        }
    }
}

/// One change. Not to be mixed up with wq_event, which tells that a call became durable.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_store_event {
    pub struct_size: u32,
    /// WQ_EVENT_...
    pub kind: u32,
    /// 1, 2, 3, ... since the store was opened
    pub sequence: u64,
    /// of the change; those of one call have the same
    pub lsn: u64,
    /// when it happened
    pub at_ms: i64,
    /// see the kinds
    pub time_ms: i64,
    /// 0: about no single job
    pub job_id: u64,
    /// of its last lease; 0: never leased
    pub generation: u64,
    /// jobs that it is about
    pub count: u64,
    /// attempts counted so far
    pub attempt: u32,
    /// WQ_DEAD_...; 0: not dead
    pub dead_reason: u32,
    /// 0: about no queue
    pub queue_name_len: u32,
    pub reserved_0: u32,
    /// ends with NUL
    pub queue_name: [c_char; 256],
}

impl wq_store_event {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_store_event {
            struct_size: core::mem::size_of::<wq_store_event>() as u32,
            kind: 0,
            sequence: 0,
            lsn: 0,
            at_ms: 0,
            time_ms: 0,
            job_id: 0,
            generation: 0,
            count: 0,
            attempt: 0,
            dead_reason: 0,
            queue_name_len: 0,
            reserved_0: 0,
            queue_name: [0; 256],
        }
    }
}

/// `wq_backup_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_backup_options {
    pub struct_size: u32,
    /// none yet: 0
    pub flags: u32,
    /// NULL: none; firing it stops the work
    pub cancel: *mut wq_cancel,
    /// NULL: none
    pub progress: wq_progress,
    /// given to `progress`
    pub progress_ctx: *mut c_void,
}

impl wq_backup_options {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_backup_options {
            struct_size: core::mem::size_of::<wq_backup_options>() as u32,
            flags: 0,
            cancel: core::ptr::null_mut(),
            progress: None,
            progress_ctx: core::ptr::null_mut(),
        }
    }
}

/// `wq_backup_report`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_backup_report {
    pub struct_size: u32,
    pub reserved_0: u32,
    /// the backup has every change up to here, and none behind
    pub lsn: u64,
    /// up to here in tables, from there on as log to be replayed
    pub checkpoint_lsn: u64,
    pub files: u64,
    pub bytes: u64,
    /// when the backup was made
    pub created_ms: i64,
    /// how long this call took
    pub elapsed_ms: i64,
}

impl wq_backup_report {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_backup_report {
            struct_size: core::mem::size_of::<wq_backup_report>() as u32,
            reserved_0: 0,
            lsn: 0,
            checkpoint_lsn: 0,
            files: 0,
            bytes: 0,
            created_ms: 0,
            elapsed_ms: 0,
        }
    }
}

/// A store on the way from one place to another: what its ids must go on behind.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_store_record {
    pub struct_size: u32,
    pub reserved_0: u32,
    /// export: of the moment that it shows; import: 0
    pub lsn: u64,
    /// above all ids that were handed out; up to 2^62
    pub next_job_id: u64,
    /// above all generations; up to 2^62
    pub next_generation: u64,
    /// export: how many follow; import: not read
    pub queues: u64,
    pub jobs: u64,
    pub kv_rows: u64,
    pub flows: u64,
    /// keys, done jobs and rate keys together
    pub rows: u64,
}

impl wq_store_record {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_store_record {
            struct_size: core::mem::size_of::<wq_store_record>() as u32,
            reserved_0: 0,
            lsn: 0,
            next_job_id: 0,
            next_generation: 0,
            queues: 0,
            jobs: 0,
            kv_rows: 0,
            flows: 0,
            rows: 0,
        }
    }
}

/// A queue on the way. `config` and `stats` count as a whole, whatever config->fields says; of
/// the
/// stats only the totals are imported.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_queue_record {
    pub struct_size: u32,
    pub reserved_0: u32,
    pub name: wq_bytes,
    pub created_ms: i64,
    pub config: *const wq_queue_config,
    /// import: NULL is all zero
    pub stats: *const wq_queue_stats,
    /// an array, one behind the other
    pub schedules: *const wq_cron,
    pub schedules_count: usize,
    /// how far the rate is used up, as a point in time in ns; 0: not at all
    pub rate_used_ns: i64,
}

impl wq_queue_record {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_queue_record {
            struct_size: core::mem::size_of::<wq_queue_record>() as u32,
            reserved_0: 0,
            name: wq_bytes::init(),
            created_ms: 0,
            config: core::ptr::null(),
            stats: core::ptr::null(),
            schedules: core::ptr::null(),
            schedules_count: 0,
            rate_used_ns: 0,
        }
    }
}

/// A job on the way, with all that the store knows of it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_job_record {
    pub struct_size: u32,
    /// WQ_STATE_...; an import makes leased and running jobs ready
    pub state: u32,
    pub id: u64,
    /// of its last lease; 0: never leased
    pub generation: u64,
    pub priority: u32,
    pub attempts: u32,
    pub exceptions: u32,
    /// step of the backoff policy
    pub failures: u32,
    /// its own; 0: the queue's
    pub max_attempts: u32,
    pub replays: u32,
    pub enqueued_ms: i64,
    /// when it entered its state
    pub since_ms: i64,
    /// delayed: when it becomes ready
    pub due_ms: i64,
    /// when its last lease began; 0: never
    pub leased_ms: i64,
    /// WQ_DEAD_...; 0: not dead
    pub dead_reason: u32,
    /// its own; 0: the queue's
    pub backoff_kind: u32,
    pub backoff_base_ms: i64,
    pub backoff_max_ms: i64,
    pub backoff_list_ms: *const i64,
    pub backoff_count: u32,
    pub reserved_0: u32,
    pub headers: *const wq_header,
    pub headers_count: usize,
    pub payload: wq_bytes,
    /// up to 4 KiB
    pub last_error: wq_bytes,
    /// export only
    pub queue_name: wq_bytes,
    /// these as in wq_job_spec
    pub expires_at_ms: i64,
    pub retry_until_ms: i64,
    pub timeout_ms: i64,
    pub max_exceptions: u32,
    /// WQ_JOB_FAIL_ON_TIMEOUT; WQ_JOB_ENCRYPT: it was sealed, an import seals it
    pub flags: u32,
    pub backoff_jitter_permille: u32,
    pub reserved_1: u32,
    pub progress: wq_bytes,
    /// its unique or debounce key
    pub key: wq_bytes,
    /// WQ_UNIQUE_... or WQ_KEY_RULE_DEBOUNCE; 0: it has no key
    pub key_rule: u32,
    pub reserved_2: u32,
    /// its unique_ttl_ms or debounce_max_ms
    pub key_ms: i64,
    /// it holds its key until then, INT64_MAX: with no end; 0: it does not
    pub key_until_ms: i64,
    pub idempotency_key: wq_bytes,
    pub idempotency_ms: i64,
    /// when it died for the first time; 0: never, or since_ms if it is dead
    pub first_dead_ms: i64,
    /// 0: none. Counts if the flow came in before
    pub flow: u64,
    /// opaque; what follows the job, as docs/FORMAT.md has it
    pub chain: wq_bytes,
    /// key of its group; empty: none
    pub group: wq_bytes,
    /// its own; 0: the queue's
    pub group_limit: u32,
    /// as in wq_job_spec, likewise overlap_ms and tenant
    pub overlap: u32,
    /// not 0: `payload` is as the store has it, since no key of the store opened it. An import
    /// takes it so, and any store with the key opens it as that of the same job id in a queue of
    /// the same name
    pub packing: u32,
    /// with packing: size of the payload as it was given
    pub plain_bytes: u32,
    pub overlap_ms: i64,
    pub tenant: wq_bytes,
    /// empty: none
    pub rate_key: wq_bytes,
    /// 0: 1
    pub rate_cost: u32,
    pub reserved_4: u32,
}

impl wq_job_record {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_job_record {
            struct_size: core::mem::size_of::<wq_job_record>() as u32,
            state: 0,
            id: 0,
            generation: 0,
            priority: 0,
            attempts: 0,
            exceptions: 0,
            failures: 0,
            max_attempts: 0,
            replays: 0,
            enqueued_ms: 0,
            since_ms: 0,
            due_ms: 0,
            leased_ms: 0,
            dead_reason: 0,
            backoff_kind: 0,
            backoff_base_ms: 0,
            backoff_max_ms: 0,
            backoff_list_ms: core::ptr::null(),
            backoff_count: 0,
            reserved_0: 0,
            headers: core::ptr::null(),
            headers_count: 0,
            payload: wq_bytes::init(),
            last_error: wq_bytes::init(),
            queue_name: wq_bytes::init(),
            expires_at_ms: 0,
            retry_until_ms: 0,
            timeout_ms: 0,
            max_exceptions: 0,
            flags: 0,
            backoff_jitter_permille: 0,
            reserved_1: 0,
            progress: wq_bytes::init(),
            key: wq_bytes::init(),
            key_rule: 0,
            reserved_2: 0,
            key_ms: 0,
            key_until_ms: 0,
            idempotency_key: wq_bytes::init(),
            idempotency_ms: 0,
            first_dead_ms: 0,
            flow: 0,
            chain: wq_bytes::init(),
            group: wq_bytes::init(),
            group_limit: 0,
            overlap: 0,
            packing: 0,
            plain_bytes: 0,
            overlap_ms: 0,
            tenant: wq_bytes::init(),
            rate_key: wq_bytes::init(),
            rate_cost: 0,
            reserved_4: 0,
        }
    }
}

/// A kv row on the way. Its version stays behind: it gets a new one.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_kv_record {
    pub struct_size: u32,
    pub reserved_0: u32,
    /// 0: never
    pub expires_ms: i64,
    pub key: wq_bytes,
    pub value: wq_bytes,
}

impl wq_kv_record {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_kv_record {
            struct_size: core::mem::size_of::<wq_kv_record>() as u32,
            reserved_0: 0,
            expires_ms: 0,
            key: wq_bytes::init(),
            value: wq_bytes::init(),
        }
    }
}

/// A flow on the way.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_flow_record {
    pub struct_size: u32,
    /// WQ_FLOW_ALLOW_FAILURES
    pub options: u32,
    /// what is pending is what its jobs bring along: an import counts as cancelled what has not
    /// come in by its end
    pub status: *const wq_flow_status,
    /// opaque, like wq_job_record.chain; empty: none
    pub on_complete: wq_bytes,
    pub on_failure: wq_bytes,
}

impl wq_flow_record {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_flow_record {
            struct_size: core::mem::size_of::<wq_flow_record>() as u32,
            options: 0,
            status: core::ptr::null(),
            on_complete: wq_bytes::init(),
            on_failure: wq_bytes::init(),
        }
    }
}

/// An idempotency key on the way: until then a second request of it is the first one, also if
/// the
/// job of that has ended.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_key_record {
    pub struct_size: u32,
    pub reserved_0: u32,
    pub key: wq_bytes,
    /// of the first request
    pub job_id: u64,
    /// end of the window
    pub until_ms: i64,
}

impl wq_key_record {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_key_record {
            struct_size: core::mem::size_of::<wq_key_record>() as u32,
            reserved_0: 0,
            key: wq_bytes::init(),
            job_id: 0,
            until_ms: 0,
        }
    }
}

/// A rate key on the way: one that is used up, cools down, or counts exceptions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_rate_key_record {
    pub struct_size: u32,
    pub exceptions_count: u32,
    pub key: wq_bytes,
    /// how far it is used up, as a point in time in ns; 0: not at all
    pub used_ns: i64,
    /// 0: it does not cool down
    pub cool_until_ms: i64,
    /// the exceptions that count, oldest first; up to 100
    pub exceptions_ms: *const i64,
}

impl wq_rate_key_record {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_rate_key_record {
            struct_size: core::mem::size_of::<wq_rate_key_record>() as u32,
            exceptions_count: 0,
            key: wq_bytes::init(),
            used_ns: 0,
            cool_until_ms: 0,
            exceptions_ms: core::ptr::null(),
        }
    }
}

/// One item of an export: exactly one of the pointers is set. An item in which none is set that
/// you
/// know is of a newer library.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_export_item {
    pub struct_size: u32,
    pub reserved_0: u32,
    pub store: *const wq_store_record,
    pub queue: *const wq_queue_record,
    pub job: *const wq_job_record,
    pub kv: *const wq_kv_record,
    pub flow: *const wq_flow_record,
    pub key: *const wq_key_record,
    /// of the history, `result` as it is stored: sealed if key_id is not 0
    pub done: *const wq_done_job,
    pub rate_key: *const wq_rate_key_record,
    /// of a key, a done job, a rate key
    pub queue_name: wq_bytes,
}

impl wq_export_item {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_export_item {
            struct_size: core::mem::size_of::<wq_export_item>() as u32,
            reserved_0: 0,
            store: core::ptr::null(),
            queue: core::ptr::null(),
            job: core::ptr::null(),
            kv: core::ptr::null(),
            flow: core::ptr::null(),
            key: core::ptr::null(),
            done: core::ptr::null(),
            rate_key: core::ptr::null(),
            queue_name: wq_bytes::init(),
        }
    }
}

/// One thing that a look at a damaged store has found.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_repair_finding {
    pub struct_size: u32,
    /// WQ_REPAIR_...
    pub kind: u32,
    /// WQ_STATE_...; 0: none
    pub state: u32,
    pub reserved_0: u32,
    /// in the file, 0 if there is none to tell
    pub offset: u64,
    pub first_lsn: u64,
    pub last_lsn: u64,
    pub count: u64,
    /// file or family
    pub r#where: wq_bytes,
    pub queue: wq_bytes,
    /// one line for people
    pub what: wq_bytes,
}

impl wq_repair_finding {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_repair_finding {
            struct_size: core::mem::size_of::<wq_repair_finding>() as u32,
            kind: 0,
            state: 0,
            reserved_0: 0,
            offset: 0,
            first_lsn: 0,
            last_lsn: 0,
            count: 0,
            r#where: wq_bytes::init(),
            queue: wq_bytes::init(),
            what: wq_bytes::init(),
        }
    }
}

/// `wq_repair_report`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_repair_report {
    pub struct_size: u32,
    pub reserved_0: u32,
    /// findings of kind WQ_REPAIR_DAMAGED and WQ_REPAIR_MISSING
    pub damages: u64,
    pub jobs_found: u64,
    pub jobs_lost: u64,
    pub jobs_uncertain: u64,
    /// of the log
    pub records: u64,
    /// of the log
    pub records_missing: u64,
}

impl wq_repair_report {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_repair_report {
            struct_size: core::mem::size_of::<wq_repair_report>() as u32,
            reserved_0: 0,
            damages: 0,
            jobs_found: 0,
            jobs_lost: 0,
            jobs_uncertain: 0,
            records: 0,
            records_missing: 0,
        }
    }
}

/// One record of the log, for inspection.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct wq_log_record {
    pub struct_size: u32,
    pub reserved_0: u32,
    pub lsn: u64,
    /// what was durable when the record was written
    pub durable_lsn: u64,
    /// of its frame in the segment
    pub offset: u64,
    /// of its body
    pub size_bytes: u64,
    /// file name, relative to the store
    pub segment: wq_bytes,
    /// kind of command, as in docs/FORMAT.md
    pub r#type: wq_bytes,
    /// the record as one JSON object, UTF-8
    pub text: wq_bytes,
}

impl wq_log_record {
    /// All defaults, and `struct_size` set.
    pub const fn init() -> Self {
        wq_log_record {
            struct_size: core::mem::size_of::<wq_log_record>() as u32,
            reserved_0: 0,
            lsn: 0,
            durable_lsn: 0,
            offset: 0,
            size_bytes: 0,
            segment: wq_bytes::init(),
            r#type: wq_bytes::init(),
            text: wq_bytes::init(),
        }
    }
}

/// The layout in C: struct, size, and (field, offset, size) of its fields.
pub const LAYOUT: &[(&str, usize, &[(&str, usize, usize)])] = &[
    (
        "wq_bytes",
        16,
        &[
            ("data", 0, 8),
            ("len", 8, 8),
        ],
    ),
    (
        "wq_header",
        32,
        &[
            ("name", 0, 16),
            ("value", 16, 16),
        ],
    ),
    (
        "wq_token",
        16,
        &[
            ("id", 0, 8),
            ("generation", 8, 8),
        ],
    ),
    (
        "wq_key",
        24,
        &[
            ("id", 0, 4),
            ("reserved_0", 4, 4),
            ("bytes", 8, 16),
        ],
    ),
    (
        "wq_error",
        256,
        &[
            ("struct_size", 0, 4),
            ("code", 4, 4),
            ("os_errno", 8, 4),
            ("flags", 12, 4),
            ("offset", 16, 8),
            ("message", 24, 232),
        ],
    ),
    (
        "wq_call",
        32,
        &[
            ("struct_size", 0, 4),
            ("durability", 4, 4),
            ("cq", 8, 8),
            ("user_data", 16, 8),
            ("lsn", 24, 8),
        ],
    ),
    (
        "wq_store_options",
        104,
        &[
            ("struct_size", 0, 4),
            ("flags", 4, 4),
            ("io_backend", 8, 4),
            ("spare_segments", 12, 4),
            ("memory_budget_bytes", 16, 8),
            ("payload_bytes_max", 24, 8),
            ("segment_bytes", 32, 8),
            ("checkpoint_log_bytes", 40, 8),
            ("disk_reserve_bytes", 48, 8),
            ("memory_window_ms", 56, 8),
            ("events_max", 64, 4),
            ("reserved_0", 68, 4),
            ("quota_bytes", 72, 8),
            ("keys", 80, 8),
            ("keys_count", 88, 8),
            ("current_key", 96, 4),
            ("reserved_1", 100, 4),
        ],
    ),
    (
        "wq_recovery",
        272,
        &[
            ("struct_size", 0, 4),
            ("clean", 4, 4),
            ("applied_lsn", 8, 8),
            ("last_lsn", 16, 8),
            ("records_replayed", 24, 8),
            ("truncated_bytes", 32, 8),
            ("leases_kept", 40, 8),
            ("leases_expired", 48, 8),
            ("temp_files_removed", 56, 8),
            ("replay_ms", 64, 8),
            ("truncated_where", 72, 200),
        ],
    ),
    (
        "wq_store_stats",
        232,
        &[
            ("struct_size", 0, 4),
            ("status", 4, 4),
            ("io_backend", 8, 4),
            ("queues", 12, 4),
            ("ready", 16, 8),
            ("delayed", 24, 8),
            ("leased", 32, 8),
            ("running", 40, 8),
            ("dead", 48, 8),
            ("last_lsn", 56, 8),
            ("process_lsn", 64, 8),
            ("durable_lsn", 72, 8),
            ("applied_lsn", 80, 8),
            ("resident_jobs", 88, 8),
            ("resident_bytes", 96, 8),
            ("memory_budget_bytes", 104, 8),
            ("log_records", 112, 8),
            ("log_bytes", 120, 8),
            ("log_written_bytes", 128, 8),
            ("log_live_bytes", 136, 8),
            ("log_segments", 144, 8),
            ("log_segments_spare", 152, 8),
            ("flushes", 160, 8),
            ("flush_us_total", 168, 8),
            ("flush_us_max", 176, 8),
            ("checkpoints", 184, 8),
            ("checkpoint_us_last", 192, 8),
            ("checkpoint_us_max", 200, 8),
            ("waiting", 208, 8),
            ("job_bytes", 216, 8),
            ("quota_bytes", 224, 8),
        ],
    ),
    (
        "wq_verify_report",
        256,
        &[
            ("struct_size", 0, 4),
            ("reserved_0", 4, 4),
            ("jobs", 8, 8),
            ("entries", 16, 8),
            ("problems", 24, 8),
            ("elapsed_ms", 32, 8),
            ("first_problem", 40, 216),
        ],
    ),
    (
        "wq_queue_config",
        456,
        &[
            ("struct_size", 0, 4),
            ("fields", 4, 4),
            ("max_running", 8, 4),
            ("max_retries", 12, 4),
            ("lease_ms", 16, 8),
            ("durability", 24, 4),
            ("status", 28, 4),
            ("backoff_kind", 32, 4),
            ("backoff_count", 36, 4),
            ("backoff_base_ms", 40, 8),
            ("backoff_max_ms", 48, 8),
            ("version", 56, 8),
            ("backoff_list_ms", 64, 256),
            ("backoff_jitter_permille", 320, 4),
            ("reserved_0", 324, 4),
            ("job_ttl_ms", 328, 8),
            ("max_depth", 336, 8),
            ("max_bytes", 344, 8),
            ("full_policy", 352, 4),
            ("consumers_paused", 356, 4),
            ("dead_max_count", 360, 8),
            ("dead_max_age_ms", 368, 8),
            ("keep_done_age_ms", 376, 8),
            ("keep_done_count", 384, 4),
            ("group_limit", 388, 4),
            ("rate_count", 392, 4),
            ("rate_burst", 396, 4),
            ("rate_window_ms", 400, 8),
            ("encrypt", 408, 4),
            ("compress_min_bytes", 412, 4),
            ("key_rate_count", 416, 4),
            ("key_rate_burst", 420, 4),
            ("key_rate_window_ms", 424, 8),
            ("throttle_count", 432, 4),
            ("reserved_1", 436, 4),
            ("throttle_window_ms", 440, 8),
            ("throttle_cool_ms", 448, 8),
        ],
    ),
    (
        "wq_queue_stats",
        216,
        &[
            ("struct_size", 0, 4),
            ("status", 4, 4),
            ("ready", 8, 8),
            ("delayed", 16, 8),
            ("leased", 24, 8),
            ("running", 32, 8),
            ("dead", 40, 8),
            ("oldest_ready_age_ms", 48, 8),
            ("enqueued_total", 56, 8),
            ("leased_total", 64, 8),
            ("acked_total", 72, 8),
            ("nacked_total", 80, 8),
            ("failed_total", 88, 8),
            ("released_total", 96, 8),
            ("expired_total", 104, 8),
            ("dead_total", 112, 8),
            ("replayed_total", 120, 8),
            ("cancelled_total", 128, 8),
            ("cleared_total", 136, 8),
            ("jobs_expired_total", 144, 8),
            ("dropped_total", 152, 8),
            ("dead_dropped_total", 160, 8),
            ("waiting_bytes", 168, 8),
            ("job_bytes", 176, 8),
            ("chain_cut_total", 184, 8),
            ("parked", 192, 8),
            ("rate_wait_ms", 200, 8),
            ("skipped_total", 208, 8),
        ],
    ),
    (
        "wq_job_spec",
        320,
        &[
            ("struct_size", 0, 4),
            ("flags", 4, 4),
            ("payload", 8, 16),
            ("headers", 24, 8),
            ("headers_count", 32, 8),
            ("delay_ms", 40, 8),
            ("run_at_ms", 48, 8),
            ("priority", 56, 4),
            ("max_attempts", 60, 4),
            ("backoff_kind", 64, 4),
            ("backoff_count", 68, 4),
            ("backoff_base_ms", 72, 8),
            ("backoff_max_ms", 80, 8),
            ("backoff_list_ms", 88, 8),
            ("expires_at_ms", 96, 8),
            ("retry_until_ms", 104, 8),
            ("timeout_ms", 112, 8),
            ("max_exceptions", 120, 4),
            ("backoff_jitter_permille", 124, 4),
            ("unique_key", 128, 16),
            ("unique_ttl_ms", 144, 8),
            ("unique_until", 152, 4),
            ("reserved_0", 156, 4),
            ("debounce_key", 160, 16),
            ("debounce_ms", 176, 8),
            ("debounce_max_ms", 184, 8),
            ("idempotency_key", 192, 16),
            ("idempotency_ms", 208, 8),
            ("flow", 216, 8),
            ("chain", 224, 8),
            ("chain_count", 232, 8),
            ("chain_size", 240, 8),
            ("group", 248, 16),
            ("group_limit", 264, 4),
            ("overlap", 268, 4),
            ("overlap_ms", 272, 8),
            ("tenant", 280, 16),
            ("rate_key", 296, 16),
            ("rate_cost", 312, 4),
            ("reserved_2", 316, 4),
        ],
    ),
    (
        "wq_next_job",
        32,
        &[
            ("struct_size", 0, 4),
            ("reserved_0", 4, 4),
            ("queue_name", 8, 16),
            ("spec", 24, 8),
        ],
    ),
    (
        "wq_enqueued",
        24,
        &[
            ("struct_size", 0, 4),
            ("code", 4, 4),
            ("job_id", 8, 8),
            ("lsn", 16, 8),
        ],
    ),
    (
        "wq_job",
        296,
        &[
            ("struct_size", 0, 4),
            ("state", 4, 4),
            ("id", 8, 8),
            ("generation", 16, 8),
            ("queue_index", 24, 4),
            ("priority", 28, 4),
            ("attempts", 32, 4),
            ("exceptions", 36, 4),
            ("max_attempts", 40, 4),
            ("replays", 44, 4),
            ("enqueued_ms", 48, 8),
            ("ready_ms", 56, 8),
            ("leased_ms", 64, 8),
            ("deadline_ms", 72, 8),
            ("lease_remaining_ms", 80, 8),
            ("dead_ms", 88, 8),
            ("dead_reason", 96, 4),
            ("headers_count", 100, 4),
            ("payload", 104, 16),
            ("queue_name", 120, 16),
            ("last_error", 136, 16),
            ("timeout_ms", 152, 8),
            ("expires_at_ms", 160, 8),
            ("retry_until_ms", 168, 8),
            ("max_exceptions", 176, 4),
            ("flags", 180, 4),
            ("progress", 184, 16),
            ("first_dead_ms", 200, 8),
            ("flow", 208, 8),
            ("chain_count", 216, 4),
            ("flow_cancelled", 220, 4),
            ("group", 224, 16),
            ("parked", 240, 4),
            ("reserved_0", 244, 4),
            ("payload_code", 248, 4),
            ("key_id", 252, 4),
            ("tenant", 256, 16),
            ("rate_key", 272, 16),
            ("rate_cost", 288, 4),
            ("reserved_1", 292, 4),
        ],
    ),
    (
        "wq_lease_options",
        32,
        &[
            ("struct_size", 0, 4),
            ("max_jobs", 4, 4),
            ("wait_ms", 8, 8),
            ("lease_ms", 16, 8),
            ("flags", 24, 4),
            ("reserved_0", 28, 4),
        ],
    ),
    (
        "wq_nack_options",
        48,
        &[
            ("struct_size", 0, 4),
            ("flags", 4, 4),
            ("delay_ms", 8, 8),
            ("priority", 16, 4),
            ("reserved_0", 20, 4),
            ("error", 24, 16),
            ("reason", 40, 4),
            ("reserved_1", 44, 4),
        ],
    ),
    (
        "wq_settle_item",
        80,
        &[
            ("struct_size", 0, 4),
            ("kind", 4, 4),
            ("id", 8, 8),
            ("generation", 16, 8),
            ("delay_ms", 24, 8),
            ("flags", 32, 4),
            ("priority", 36, 4),
            ("error", 40, 16),
            ("reason", 56, 4),
            ("reserved_0", 60, 4),
            ("result", 64, 16),
        ],
    ),
    (
        "wq_dead_query",
        56,
        &[
            ("struct_size", 0, 4),
            ("flags", 4, 4),
            ("cursor", 8, 8),
            ("limit", 16, 4),
            ("reason", 20, 4),
            ("from_ms", 24, 8),
            ("until_ms", 32, 8),
            ("error_part", 40, 16),
        ],
    ),
    (
        "wq_dead_filter",
        96,
        &[
            ("struct_size", 0, 4),
            ("flags", 4, 4),
            ("reason", 8, 4),
            ("reserved_0", 12, 4),
            ("from_ms", 16, 8),
            ("until_ms", 24, 8),
            ("error_part", 32, 16),
            ("entries", 48, 8),
            ("entries_count", 56, 8),
            ("limit", 64, 8),
            ("cancel", 72, 8),
            ("progress", 80, 8),
            ("progress_ctx", 88, 8),
        ],
    ),
    (
        "wq_dead_report",
        32,
        &[
            ("struct_size", 0, 4),
            ("reserved_0", 4, 4),
            ("changed", 8, 8),
            ("examined", 16, 8),
            ("elapsed_ms", 24, 8),
        ],
    ),
    (
        "wq_event",
        24,
        &[
            ("struct_size", 0, 4),
            ("code", 4, 4),
            ("user_data", 8, 8),
            ("lsn", 16, 8),
        ],
    ),
    (
        "wq_flow_options",
        24,
        &[
            ("struct_size", 0, 4),
            ("flags", 4, 4),
            ("on_complete", 8, 8),
            ("on_failure", 16, 8),
        ],
    ),
    (
        "wq_flow_status",
        80,
        &[
            ("struct_size", 0, 4),
            ("flags", 4, 4),
            ("flow", 8, 8),
            ("total", 16, 8),
            ("pending", 24, 8),
            ("done", 32, 8),
            ("failed", 40, 8),
            ("cancelled", 48, 8),
            ("follow_up_id", 56, 8),
            ("created_ms", 64, 8),
            ("finished_ms", 72, 8),
        ],
    ),
    (
        "wq_cron_spec",
        56,
        &[
            ("struct_size", 0, 4),
            ("flags", 4, 4),
            ("expression", 8, 16),
            ("zone", 24, 16),
            ("job", 40, 8),
            ("catch_up", 48, 4),
            ("reserved_0", 52, 4),
        ],
    ),
    (
        "wq_cron",
        224,
        &[
            ("struct_size", 0, 4),
            ("flags", 4, 4),
            ("name", 8, 16),
            ("queue_name", 24, 16),
            ("expression", 40, 16),
            ("zone", 56, 16),
            ("next_due_ms", 72, 8),
            ("last_slot_ms", 80, 8),
            ("created_ms", 88, 8),
            ("fired", 96, 8),
            ("missed", 104, 8),
            ("catch_up", 112, 4),
            ("priority", 116, 4),
            ("max_attempts", 120, 4),
            ("backoff_kind", 124, 4),
            ("backoff_base_ms", 128, 8),
            ("backoff_max_ms", 136, 8),
            ("backoff_list_ms", 144, 8),
            ("backoff_count", 152, 4),
            ("backoff_jitter_permille", 156, 4),
            ("payload", 160, 16),
            ("headers", 176, 8),
            ("headers_count", 184, 8),
            ("problem", 192, 16),
            ("payload_code", 208, 4),
            ("key_id", 212, 4),
            ("packing", 216, 4),
            ("plain_bytes", 220, 4),
        ],
    ),
    (
        "wq_done_job",
        96,
        &[
            ("struct_size", 0, 4),
            ("priority", 4, 4),
            ("id", 8, 8),
            ("generation", 16, 8),
            ("flow", 24, 8),
            ("attempts", 32, 4),
            ("exceptions", 36, 4),
            ("replays", 40, 4),
            ("reserved_0", 44, 4),
            ("enqueued_ms", 48, 8),
            ("leased_ms", 56, 8),
            ("done_ms", 64, 8),
            ("result", 72, 16),
            ("result_code", 88, 4),
            ("key_id", 92, 4),
        ],
    ),
    (
        "wq_kv_options",
        40,
        &[
            ("struct_size", 0, 4),
            ("flags", 4, 4),
            ("ttl_ms", 8, 8),
            ("version", 16, 8),
            ("value", 24, 16),
        ],
    ),
    (
        "wq_kv_query",
        40,
        &[
            ("struct_size", 0, 4),
            ("limit", 4, 4),
            ("prefix", 8, 16),
            ("after", 24, 16),
        ],
    ),
    (
        "wq_kv_row",
        56,
        &[
            ("struct_size", 0, 4),
            ("reserved_0", 4, 4),
            ("version", 8, 8),
            ("expires_ms", 16, 8),
            ("key", 24, 16),
            ("value", 40, 16),
        ],
    ),
    (
        "wq_txn_op",
        80,
        &[
            ("struct_size", 0, 4),
            ("kind", 4, 4),
            ("queue", 8, 8),
            ("spec", 16, 8),
            ("settle", 24, 8),
            ("key", 32, 16),
            ("value", 48, 16),
            ("delta", 64, 8),
            ("options", 72, 8),
        ],
    ),
    (
        "wq_txn_result",
        24,
        &[
            ("struct_size", 0, 4),
            ("code", 4, 4),
            ("job_id", 8, 8),
            ("sum", 16, 8),
        ],
    ),
    (
        "wq_key_use",
        24,
        &[
            ("struct_size", 0, 4),
            ("id", 4, 4),
            ("payloads", 8, 8),
            ("flags", 16, 4),
            ("reserved_0", 20, 4),
        ],
    ),
    (
        "wq_job_explanation",
        88,
        &[
            ("struct_size", 0, 4),
            ("state", 4, 4),
            ("causes", 8, 4),
            ("dead_reason", 12, 4),
            ("until_ms", 16, 8),
            ("ahead", 24, 8),
            ("ahead_exact", 32, 4),
            ("queue_status", 36, 4),
            ("slots_taken", 40, 8),
            ("slots_max", 48, 8),
            ("consumers_waiting", 56, 8),
            ("holder_id", 64, 8),
            ("holder_generation", 72, 8),
            ("holder_age_ms", 80, 8),
        ],
    ),
    (
        "wq_queue_explanation",
        144,
        &[
            ("struct_size", 0, 4),
            ("status", 4, 4),
            ("causes", 8, 4),
            ("reserved_0", 12, 4),
            ("leasable", 16, 8),
            ("oldest_ready_age_ms", 24, 8),
            ("slots_taken", 32, 8),
            ("slots_max", 40, 8),
            ("consumers_waiting", 48, 8),
            ("holder_id", 56, 8),
            ("holder_generation", 64, 8),
            ("holder_age_ms", 72, 8),
            ("enqueue_rate_1m", 80, 8),
            ("enqueue_rate_5m", 88, 8),
            ("lease_rate_1m", 96, 8),
            ("lease_rate_5m", 104, 8),
            ("ack_rate_1m", 112, 8),
            ("ack_rate_5m", 120, 8),
            ("parked", 128, 8),
            ("rate_wait_ms", 136, 8),
        ],
    ),
    (
        "wq_queue_error",
        296,
        &[
            ("struct_size", 0, 4),
            ("kind", 4, 4),
            ("at_ms", 8, 8),
            ("job_id", 16, 8),
            ("generation", 24, 8),
            ("attempt", 32, 4),
            ("text_len", 36, 4),
            ("text", 40, 256),
        ],
    ),
    (
        "wq_event_cursor",
        32,
        &[
            ("struct_size", 0, 4),
            ("flags", 4, 4),
            ("epoch", 8, 8),
            ("sequence", 16, 8),
            ("dropped", 24, 8),
        ],
    ),
    (
        "wq_store_event",
        336,
        &[
            ("struct_size", 0, 4),
            ("kind", 4, 4),
            ("sequence", 8, 8),
            ("lsn", 16, 8),
            ("at_ms", 24, 8),
            ("time_ms", 32, 8),
            ("job_id", 40, 8),
            ("generation", 48, 8),
            ("count", 56, 8),
            ("attempt", 64, 4),
            ("dead_reason", 68, 4),
            ("queue_name_len", 72, 4),
            ("reserved_0", 76, 4),
            ("queue_name", 80, 256),
        ],
    ),
    (
        "wq_backup_options",
        32,
        &[
            ("struct_size", 0, 4),
            ("flags", 4, 4),
            ("cancel", 8, 8),
            ("progress", 16, 8),
            ("progress_ctx", 24, 8),
        ],
    ),
    (
        "wq_backup_report",
        56,
        &[
            ("struct_size", 0, 4),
            ("reserved_0", 4, 4),
            ("lsn", 8, 8),
            ("checkpoint_lsn", 16, 8),
            ("files", 24, 8),
            ("bytes", 32, 8),
            ("created_ms", 40, 8),
            ("elapsed_ms", 48, 8),
        ],
    ),
    (
        "wq_store_record",
        72,
        &[
            ("struct_size", 0, 4),
            ("reserved_0", 4, 4),
            ("lsn", 8, 8),
            ("next_job_id", 16, 8),
            ("next_generation", 24, 8),
            ("queues", 32, 8),
            ("jobs", 40, 8),
            ("kv_rows", 48, 8),
            ("flows", 56, 8),
            ("rows", 64, 8),
        ],
    ),
    (
        "wq_queue_record",
        72,
        &[
            ("struct_size", 0, 4),
            ("reserved_0", 4, 4),
            ("name", 8, 16),
            ("created_ms", 24, 8),
            ("config", 32, 8),
            ("stats", 40, 8),
            ("schedules", 48, 8),
            ("schedules_count", 56, 8),
            ("rate_used_ns", 64, 8),
        ],
    ),
    (
        "wq_job_record",
        416,
        &[
            ("struct_size", 0, 4),
            ("state", 4, 4),
            ("id", 8, 8),
            ("generation", 16, 8),
            ("priority", 24, 4),
            ("attempts", 28, 4),
            ("exceptions", 32, 4),
            ("failures", 36, 4),
            ("max_attempts", 40, 4),
            ("replays", 44, 4),
            ("enqueued_ms", 48, 8),
            ("since_ms", 56, 8),
            ("due_ms", 64, 8),
            ("leased_ms", 72, 8),
            ("dead_reason", 80, 4),
            ("backoff_kind", 84, 4),
            ("backoff_base_ms", 88, 8),
            ("backoff_max_ms", 96, 8),
            ("backoff_list_ms", 104, 8),
            ("backoff_count", 112, 4),
            ("reserved_0", 116, 4),
            ("headers", 120, 8),
            ("headers_count", 128, 8),
            ("payload", 136, 16),
            ("last_error", 152, 16),
            ("queue_name", 168, 16),
            ("expires_at_ms", 184, 8),
            ("retry_until_ms", 192, 8),
            ("timeout_ms", 200, 8),
            ("max_exceptions", 208, 4),
            ("flags", 212, 4),
            ("backoff_jitter_permille", 216, 4),
            ("reserved_1", 220, 4),
            ("progress", 224, 16),
            ("key", 240, 16),
            ("key_rule", 256, 4),
            ("reserved_2", 260, 4),
            ("key_ms", 264, 8),
            ("key_until_ms", 272, 8),
            ("idempotency_key", 280, 16),
            ("idempotency_ms", 296, 8),
            ("first_dead_ms", 304, 8),
            ("flow", 312, 8),
            ("chain", 320, 16),
            ("group", 336, 16),
            ("group_limit", 352, 4),
            ("overlap", 356, 4),
            ("packing", 360, 4),
            ("plain_bytes", 364, 4),
            ("overlap_ms", 368, 8),
            ("tenant", 376, 16),
            ("rate_key", 392, 16),
            ("rate_cost", 408, 4),
            ("reserved_4", 412, 4),
        ],
    ),
    (
        "wq_kv_record",
        48,
        &[
            ("struct_size", 0, 4),
            ("reserved_0", 4, 4),
            ("expires_ms", 8, 8),
            ("key", 16, 16),
            ("value", 32, 16),
        ],
    ),
    (
        "wq_flow_record",
        48,
        &[
            ("struct_size", 0, 4),
            ("options", 4, 4),
            ("status", 8, 8),
            ("on_complete", 16, 16),
            ("on_failure", 32, 16),
        ],
    ),
    (
        "wq_key_record",
        40,
        &[
            ("struct_size", 0, 4),
            ("reserved_0", 4, 4),
            ("key", 8, 16),
            ("job_id", 24, 8),
            ("until_ms", 32, 8),
        ],
    ),
    (
        "wq_rate_key_record",
        48,
        &[
            ("struct_size", 0, 4),
            ("exceptions_count", 4, 4),
            ("key", 8, 16),
            ("used_ns", 24, 8),
            ("cool_until_ms", 32, 8),
            ("exceptions_ms", 40, 8),
        ],
    ),
    (
        "wq_export_item",
        88,
        &[
            ("struct_size", 0, 4),
            ("reserved_0", 4, 4),
            ("store", 8, 8),
            ("queue", 16, 8),
            ("job", 24, 8),
            ("kv", 32, 8),
            ("flow", 40, 8),
            ("key", 48, 8),
            ("done", 56, 8),
            ("rate_key", 64, 8),
            ("queue_name", 72, 16),
        ],
    ),
    (
        "wq_repair_finding",
        96,
        &[
            ("struct_size", 0, 4),
            ("kind", 4, 4),
            ("state", 8, 4),
            ("reserved_0", 12, 4),
            ("offset", 16, 8),
            ("first_lsn", 24, 8),
            ("last_lsn", 32, 8),
            ("count", 40, 8),
            ("where", 48, 16),
            ("queue", 64, 16),
            ("what", 80, 16),
        ],
    ),
    (
        "wq_repair_report",
        56,
        &[
            ("struct_size", 0, 4),
            ("reserved_0", 4, 4),
            ("damages", 8, 8),
            ("jobs_found", 16, 8),
            ("jobs_lost", 24, 8),
            ("jobs_uncertain", 32, 8),
            ("records", 40, 8),
            ("records_missing", 48, 8),
        ],
    ),
    (
        "wq_log_record",
        88,
        &[
            ("struct_size", 0, 4),
            ("reserved_0", 4, 4),
            ("lsn", 8, 8),
            ("durable_lsn", 16, 8),
            ("offset", 24, 8),
            ("size_bytes", 32, 8),
            ("segment", 40, 16),
            ("type", 56, 16),
            ("text", 72, 16),
        ],
    ),
];

/// The layout as rustc has it, in the form of `LAYOUT`.
#[cfg(test)]
#[allow(clippy::type_complexity)]
pub(crate) fn layout() -> Vec<(&'static str, usize, Vec<(&'static str, usize, usize)>)> {
    let mut all = Vec::new();
    {
        let s = wq_bytes::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_bytes",
            core::mem::size_of_val(&s),
            vec![
                ("data", core::ptr::addr_of!(s.data) as usize - base, core::mem::size_of_val(&s.data)),
                ("len", core::ptr::addr_of!(s.len) as usize - base, core::mem::size_of_val(&s.len)),
            ],
        ));
    }
    {
        let s = wq_header::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_header",
            core::mem::size_of_val(&s),
            vec![
                ("name", core::ptr::addr_of!(s.name) as usize - base, core::mem::size_of_val(&s.name)),
                ("value", core::ptr::addr_of!(s.value) as usize - base, core::mem::size_of_val(&s.value)),
            ],
        ));
    }
    {
        let s = wq_token::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_token",
            core::mem::size_of_val(&s),
            vec![
                ("id", core::ptr::addr_of!(s.id) as usize - base, core::mem::size_of_val(&s.id)),
                ("generation", core::ptr::addr_of!(s.generation) as usize - base, core::mem::size_of_val(&s.generation)),
            ],
        ));
    }
    {
        let s = wq_key::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_key",
            core::mem::size_of_val(&s),
            vec![
                ("id", core::ptr::addr_of!(s.id) as usize - base, core::mem::size_of_val(&s.id)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("bytes", core::ptr::addr_of!(s.bytes) as usize - base, core::mem::size_of_val(&s.bytes)),
            ],
        ));
    }
    {
        let s = wq_error::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_error",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("code", core::ptr::addr_of!(s.code) as usize - base, core::mem::size_of_val(&s.code)),
                ("os_errno", core::ptr::addr_of!(s.os_errno) as usize - base, core::mem::size_of_val(&s.os_errno)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("offset", core::ptr::addr_of!(s.offset) as usize - base, core::mem::size_of_val(&s.offset)),
                ("message", core::ptr::addr_of!(s.message) as usize - base, core::mem::size_of_val(&s.message)),
            ],
        ));
    }
    {
        let s = wq_call::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_call",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("durability", core::ptr::addr_of!(s.durability) as usize - base, core::mem::size_of_val(&s.durability)),
                ("cq", core::ptr::addr_of!(s.cq) as usize - base, core::mem::size_of_val(&s.cq)),
                ("user_data", core::ptr::addr_of!(s.user_data) as usize - base, core::mem::size_of_val(&s.user_data)),
                ("lsn", core::ptr::addr_of!(s.lsn) as usize - base, core::mem::size_of_val(&s.lsn)),
            ],
        ));
    }
    {
        let s = wq_store_options::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_store_options",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("io_backend", core::ptr::addr_of!(s.io_backend) as usize - base, core::mem::size_of_val(&s.io_backend)),
                ("spare_segments", core::ptr::addr_of!(s.spare_segments) as usize - base, core::mem::size_of_val(&s.spare_segments)),
                ("memory_budget_bytes", core::ptr::addr_of!(s.memory_budget_bytes) as usize - base, core::mem::size_of_val(&s.memory_budget_bytes)),
                ("payload_bytes_max", core::ptr::addr_of!(s.payload_bytes_max) as usize - base, core::mem::size_of_val(&s.payload_bytes_max)),
                ("segment_bytes", core::ptr::addr_of!(s.segment_bytes) as usize - base, core::mem::size_of_val(&s.segment_bytes)),
                ("checkpoint_log_bytes", core::ptr::addr_of!(s.checkpoint_log_bytes) as usize - base, core::mem::size_of_val(&s.checkpoint_log_bytes)),
                ("disk_reserve_bytes", core::ptr::addr_of!(s.disk_reserve_bytes) as usize - base, core::mem::size_of_val(&s.disk_reserve_bytes)),
                ("memory_window_ms", core::ptr::addr_of!(s.memory_window_ms) as usize - base, core::mem::size_of_val(&s.memory_window_ms)),
                ("events_max", core::ptr::addr_of!(s.events_max) as usize - base, core::mem::size_of_val(&s.events_max)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("quota_bytes", core::ptr::addr_of!(s.quota_bytes) as usize - base, core::mem::size_of_val(&s.quota_bytes)),
                ("keys", core::ptr::addr_of!(s.keys) as usize - base, core::mem::size_of_val(&s.keys)),
                ("keys_count", core::ptr::addr_of!(s.keys_count) as usize - base, core::mem::size_of_val(&s.keys_count)),
                ("current_key", core::ptr::addr_of!(s.current_key) as usize - base, core::mem::size_of_val(&s.current_key)),
                ("reserved_1", core::ptr::addr_of!(s.reserved_1) as usize - base, core::mem::size_of_val(&s.reserved_1)),
            ],
        ));
    }
    {
        let s = wq_recovery::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_recovery",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("clean", core::ptr::addr_of!(s.clean) as usize - base, core::mem::size_of_val(&s.clean)),
                ("applied_lsn", core::ptr::addr_of!(s.applied_lsn) as usize - base, core::mem::size_of_val(&s.applied_lsn)),
                ("last_lsn", core::ptr::addr_of!(s.last_lsn) as usize - base, core::mem::size_of_val(&s.last_lsn)),
                ("records_replayed", core::ptr::addr_of!(s.records_replayed) as usize - base, core::mem::size_of_val(&s.records_replayed)),
                ("truncated_bytes", core::ptr::addr_of!(s.truncated_bytes) as usize - base, core::mem::size_of_val(&s.truncated_bytes)),
                ("leases_kept", core::ptr::addr_of!(s.leases_kept) as usize - base, core::mem::size_of_val(&s.leases_kept)),
                ("leases_expired", core::ptr::addr_of!(s.leases_expired) as usize - base, core::mem::size_of_val(&s.leases_expired)),
                ("temp_files_removed", core::ptr::addr_of!(s.temp_files_removed) as usize - base, core::mem::size_of_val(&s.temp_files_removed)),
                ("replay_ms", core::ptr::addr_of!(s.replay_ms) as usize - base, core::mem::size_of_val(&s.replay_ms)),
                ("truncated_where", core::ptr::addr_of!(s.truncated_where) as usize - base, core::mem::size_of_val(&s.truncated_where)),
            ],
        ));
    }
    {
        let s = wq_store_stats::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_store_stats",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("status", core::ptr::addr_of!(s.status) as usize - base, core::mem::size_of_val(&s.status)),
                ("io_backend", core::ptr::addr_of!(s.io_backend) as usize - base, core::mem::size_of_val(&s.io_backend)),
                ("queues", core::ptr::addr_of!(s.queues) as usize - base, core::mem::size_of_val(&s.queues)),
                ("ready", core::ptr::addr_of!(s.ready) as usize - base, core::mem::size_of_val(&s.ready)),
                ("delayed", core::ptr::addr_of!(s.delayed) as usize - base, core::mem::size_of_val(&s.delayed)),
                ("leased", core::ptr::addr_of!(s.leased) as usize - base, core::mem::size_of_val(&s.leased)),
                ("running", core::ptr::addr_of!(s.running) as usize - base, core::mem::size_of_val(&s.running)),
                ("dead", core::ptr::addr_of!(s.dead) as usize - base, core::mem::size_of_val(&s.dead)),
                ("last_lsn", core::ptr::addr_of!(s.last_lsn) as usize - base, core::mem::size_of_val(&s.last_lsn)),
                ("process_lsn", core::ptr::addr_of!(s.process_lsn) as usize - base, core::mem::size_of_val(&s.process_lsn)),
                ("durable_lsn", core::ptr::addr_of!(s.durable_lsn) as usize - base, core::mem::size_of_val(&s.durable_lsn)),
                ("applied_lsn", core::ptr::addr_of!(s.applied_lsn) as usize - base, core::mem::size_of_val(&s.applied_lsn)),
                ("resident_jobs", core::ptr::addr_of!(s.resident_jobs) as usize - base, core::mem::size_of_val(&s.resident_jobs)),
                ("resident_bytes", core::ptr::addr_of!(s.resident_bytes) as usize - base, core::mem::size_of_val(&s.resident_bytes)),
                ("memory_budget_bytes", core::ptr::addr_of!(s.memory_budget_bytes) as usize - base, core::mem::size_of_val(&s.memory_budget_bytes)),
                ("log_records", core::ptr::addr_of!(s.log_records) as usize - base, core::mem::size_of_val(&s.log_records)),
                ("log_bytes", core::ptr::addr_of!(s.log_bytes) as usize - base, core::mem::size_of_val(&s.log_bytes)),
                ("log_written_bytes", core::ptr::addr_of!(s.log_written_bytes) as usize - base, core::mem::size_of_val(&s.log_written_bytes)),
                ("log_live_bytes", core::ptr::addr_of!(s.log_live_bytes) as usize - base, core::mem::size_of_val(&s.log_live_bytes)),
                ("log_segments", core::ptr::addr_of!(s.log_segments) as usize - base, core::mem::size_of_val(&s.log_segments)),
                ("log_segments_spare", core::ptr::addr_of!(s.log_segments_spare) as usize - base, core::mem::size_of_val(&s.log_segments_spare)),
                ("flushes", core::ptr::addr_of!(s.flushes) as usize - base, core::mem::size_of_val(&s.flushes)),
                ("flush_us_total", core::ptr::addr_of!(s.flush_us_total) as usize - base, core::mem::size_of_val(&s.flush_us_total)),
                ("flush_us_max", core::ptr::addr_of!(s.flush_us_max) as usize - base, core::mem::size_of_val(&s.flush_us_max)),
                ("checkpoints", core::ptr::addr_of!(s.checkpoints) as usize - base, core::mem::size_of_val(&s.checkpoints)),
                ("checkpoint_us_last", core::ptr::addr_of!(s.checkpoint_us_last) as usize - base, core::mem::size_of_val(&s.checkpoint_us_last)),
                ("checkpoint_us_max", core::ptr::addr_of!(s.checkpoint_us_max) as usize - base, core::mem::size_of_val(&s.checkpoint_us_max)),
                ("waiting", core::ptr::addr_of!(s.waiting) as usize - base, core::mem::size_of_val(&s.waiting)),
                ("job_bytes", core::ptr::addr_of!(s.job_bytes) as usize - base, core::mem::size_of_val(&s.job_bytes)),
                ("quota_bytes", core::ptr::addr_of!(s.quota_bytes) as usize - base, core::mem::size_of_val(&s.quota_bytes)),
            ],
        ));
    }
    {
        let s = wq_verify_report::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_verify_report",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("jobs", core::ptr::addr_of!(s.jobs) as usize - base, core::mem::size_of_val(&s.jobs)),
                ("entries", core::ptr::addr_of!(s.entries) as usize - base, core::mem::size_of_val(&s.entries)),
                ("problems", core::ptr::addr_of!(s.problems) as usize - base, core::mem::size_of_val(&s.problems)),
                ("elapsed_ms", core::ptr::addr_of!(s.elapsed_ms) as usize - base, core::mem::size_of_val(&s.elapsed_ms)),
                ("first_problem", core::ptr::addr_of!(s.first_problem) as usize - base, core::mem::size_of_val(&s.first_problem)),
            ],
        ));
    }
    {
        let s = wq_queue_config::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_queue_config",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("fields", core::ptr::addr_of!(s.fields) as usize - base, core::mem::size_of_val(&s.fields)),
                ("max_running", core::ptr::addr_of!(s.max_running) as usize - base, core::mem::size_of_val(&s.max_running)),
                ("max_retries", core::ptr::addr_of!(s.max_retries) as usize - base, core::mem::size_of_val(&s.max_retries)),
                ("lease_ms", core::ptr::addr_of!(s.lease_ms) as usize - base, core::mem::size_of_val(&s.lease_ms)),
                ("durability", core::ptr::addr_of!(s.durability) as usize - base, core::mem::size_of_val(&s.durability)),
                ("status", core::ptr::addr_of!(s.status) as usize - base, core::mem::size_of_val(&s.status)),
                ("backoff_kind", core::ptr::addr_of!(s.backoff_kind) as usize - base, core::mem::size_of_val(&s.backoff_kind)),
                ("backoff_count", core::ptr::addr_of!(s.backoff_count) as usize - base, core::mem::size_of_val(&s.backoff_count)),
                ("backoff_base_ms", core::ptr::addr_of!(s.backoff_base_ms) as usize - base, core::mem::size_of_val(&s.backoff_base_ms)),
                ("backoff_max_ms", core::ptr::addr_of!(s.backoff_max_ms) as usize - base, core::mem::size_of_val(&s.backoff_max_ms)),
                ("version", core::ptr::addr_of!(s.version) as usize - base, core::mem::size_of_val(&s.version)),
                ("backoff_list_ms", core::ptr::addr_of!(s.backoff_list_ms) as usize - base, core::mem::size_of_val(&s.backoff_list_ms)),
                ("backoff_jitter_permille", core::ptr::addr_of!(s.backoff_jitter_permille) as usize - base, core::mem::size_of_val(&s.backoff_jitter_permille)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("job_ttl_ms", core::ptr::addr_of!(s.job_ttl_ms) as usize - base, core::mem::size_of_val(&s.job_ttl_ms)),
                ("max_depth", core::ptr::addr_of!(s.max_depth) as usize - base, core::mem::size_of_val(&s.max_depth)),
                ("max_bytes", core::ptr::addr_of!(s.max_bytes) as usize - base, core::mem::size_of_val(&s.max_bytes)),
                ("full_policy", core::ptr::addr_of!(s.full_policy) as usize - base, core::mem::size_of_val(&s.full_policy)),
                ("consumers_paused", core::ptr::addr_of!(s.consumers_paused) as usize - base, core::mem::size_of_val(&s.consumers_paused)),
                ("dead_max_count", core::ptr::addr_of!(s.dead_max_count) as usize - base, core::mem::size_of_val(&s.dead_max_count)),
                ("dead_max_age_ms", core::ptr::addr_of!(s.dead_max_age_ms) as usize - base, core::mem::size_of_val(&s.dead_max_age_ms)),
                ("keep_done_age_ms", core::ptr::addr_of!(s.keep_done_age_ms) as usize - base, core::mem::size_of_val(&s.keep_done_age_ms)),
                ("keep_done_count", core::ptr::addr_of!(s.keep_done_count) as usize - base, core::mem::size_of_val(&s.keep_done_count)),
                ("group_limit", core::ptr::addr_of!(s.group_limit) as usize - base, core::mem::size_of_val(&s.group_limit)),
                ("rate_count", core::ptr::addr_of!(s.rate_count) as usize - base, core::mem::size_of_val(&s.rate_count)),
                ("rate_burst", core::ptr::addr_of!(s.rate_burst) as usize - base, core::mem::size_of_val(&s.rate_burst)),
                ("rate_window_ms", core::ptr::addr_of!(s.rate_window_ms) as usize - base, core::mem::size_of_val(&s.rate_window_ms)),
                ("encrypt", core::ptr::addr_of!(s.encrypt) as usize - base, core::mem::size_of_val(&s.encrypt)),
                ("compress_min_bytes", core::ptr::addr_of!(s.compress_min_bytes) as usize - base, core::mem::size_of_val(&s.compress_min_bytes)),
                ("key_rate_count", core::ptr::addr_of!(s.key_rate_count) as usize - base, core::mem::size_of_val(&s.key_rate_count)),
                ("key_rate_burst", core::ptr::addr_of!(s.key_rate_burst) as usize - base, core::mem::size_of_val(&s.key_rate_burst)),
                ("key_rate_window_ms", core::ptr::addr_of!(s.key_rate_window_ms) as usize - base, core::mem::size_of_val(&s.key_rate_window_ms)),
                ("throttle_count", core::ptr::addr_of!(s.throttle_count) as usize - base, core::mem::size_of_val(&s.throttle_count)),
                ("reserved_1", core::ptr::addr_of!(s.reserved_1) as usize - base, core::mem::size_of_val(&s.reserved_1)),
                ("throttle_window_ms", core::ptr::addr_of!(s.throttle_window_ms) as usize - base, core::mem::size_of_val(&s.throttle_window_ms)),
                ("throttle_cool_ms", core::ptr::addr_of!(s.throttle_cool_ms) as usize - base, core::mem::size_of_val(&s.throttle_cool_ms)),
            ],
        ));
    }
    {
        let s = wq_queue_stats::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_queue_stats",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("status", core::ptr::addr_of!(s.status) as usize - base, core::mem::size_of_val(&s.status)),
                ("ready", core::ptr::addr_of!(s.ready) as usize - base, core::mem::size_of_val(&s.ready)),
                ("delayed", core::ptr::addr_of!(s.delayed) as usize - base, core::mem::size_of_val(&s.delayed)),
                ("leased", core::ptr::addr_of!(s.leased) as usize - base, core::mem::size_of_val(&s.leased)),
                ("running", core::ptr::addr_of!(s.running) as usize - base, core::mem::size_of_val(&s.running)),
                ("dead", core::ptr::addr_of!(s.dead) as usize - base, core::mem::size_of_val(&s.dead)),
                ("oldest_ready_age_ms", core::ptr::addr_of!(s.oldest_ready_age_ms) as usize - base, core::mem::size_of_val(&s.oldest_ready_age_ms)),
                ("enqueued_total", core::ptr::addr_of!(s.enqueued_total) as usize - base, core::mem::size_of_val(&s.enqueued_total)),
                ("leased_total", core::ptr::addr_of!(s.leased_total) as usize - base, core::mem::size_of_val(&s.leased_total)),
                ("acked_total", core::ptr::addr_of!(s.acked_total) as usize - base, core::mem::size_of_val(&s.acked_total)),
                ("nacked_total", core::ptr::addr_of!(s.nacked_total) as usize - base, core::mem::size_of_val(&s.nacked_total)),
                ("failed_total", core::ptr::addr_of!(s.failed_total) as usize - base, core::mem::size_of_val(&s.failed_total)),
                ("released_total", core::ptr::addr_of!(s.released_total) as usize - base, core::mem::size_of_val(&s.released_total)),
                ("expired_total", core::ptr::addr_of!(s.expired_total) as usize - base, core::mem::size_of_val(&s.expired_total)),
                ("dead_total", core::ptr::addr_of!(s.dead_total) as usize - base, core::mem::size_of_val(&s.dead_total)),
                ("replayed_total", core::ptr::addr_of!(s.replayed_total) as usize - base, core::mem::size_of_val(&s.replayed_total)),
                ("cancelled_total", core::ptr::addr_of!(s.cancelled_total) as usize - base, core::mem::size_of_val(&s.cancelled_total)),
                ("cleared_total", core::ptr::addr_of!(s.cleared_total) as usize - base, core::mem::size_of_val(&s.cleared_total)),
                ("jobs_expired_total", core::ptr::addr_of!(s.jobs_expired_total) as usize - base, core::mem::size_of_val(&s.jobs_expired_total)),
                ("dropped_total", core::ptr::addr_of!(s.dropped_total) as usize - base, core::mem::size_of_val(&s.dropped_total)),
                ("dead_dropped_total", core::ptr::addr_of!(s.dead_dropped_total) as usize - base, core::mem::size_of_val(&s.dead_dropped_total)),
                ("waiting_bytes", core::ptr::addr_of!(s.waiting_bytes) as usize - base, core::mem::size_of_val(&s.waiting_bytes)),
                ("job_bytes", core::ptr::addr_of!(s.job_bytes) as usize - base, core::mem::size_of_val(&s.job_bytes)),
                ("chain_cut_total", core::ptr::addr_of!(s.chain_cut_total) as usize - base, core::mem::size_of_val(&s.chain_cut_total)),
                ("parked", core::ptr::addr_of!(s.parked) as usize - base, core::mem::size_of_val(&s.parked)),
                ("rate_wait_ms", core::ptr::addr_of!(s.rate_wait_ms) as usize - base, core::mem::size_of_val(&s.rate_wait_ms)),
                ("skipped_total", core::ptr::addr_of!(s.skipped_total) as usize - base, core::mem::size_of_val(&s.skipped_total)),
            ],
        ));
    }
    {
        let s = wq_job_spec::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_job_spec",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("payload", core::ptr::addr_of!(s.payload) as usize - base, core::mem::size_of_val(&s.payload)),
                ("headers", core::ptr::addr_of!(s.headers) as usize - base, core::mem::size_of_val(&s.headers)),
                ("headers_count", core::ptr::addr_of!(s.headers_count) as usize - base, core::mem::size_of_val(&s.headers_count)),
                ("delay_ms", core::ptr::addr_of!(s.delay_ms) as usize - base, core::mem::size_of_val(&s.delay_ms)),
                ("run_at_ms", core::ptr::addr_of!(s.run_at_ms) as usize - base, core::mem::size_of_val(&s.run_at_ms)),
                ("priority", core::ptr::addr_of!(s.priority) as usize - base, core::mem::size_of_val(&s.priority)),
                ("max_attempts", core::ptr::addr_of!(s.max_attempts) as usize - base, core::mem::size_of_val(&s.max_attempts)),
                ("backoff_kind", core::ptr::addr_of!(s.backoff_kind) as usize - base, core::mem::size_of_val(&s.backoff_kind)),
                ("backoff_count", core::ptr::addr_of!(s.backoff_count) as usize - base, core::mem::size_of_val(&s.backoff_count)),
                ("backoff_base_ms", core::ptr::addr_of!(s.backoff_base_ms) as usize - base, core::mem::size_of_val(&s.backoff_base_ms)),
                ("backoff_max_ms", core::ptr::addr_of!(s.backoff_max_ms) as usize - base, core::mem::size_of_val(&s.backoff_max_ms)),
                ("backoff_list_ms", core::ptr::addr_of!(s.backoff_list_ms) as usize - base, core::mem::size_of_val(&s.backoff_list_ms)),
                ("expires_at_ms", core::ptr::addr_of!(s.expires_at_ms) as usize - base, core::mem::size_of_val(&s.expires_at_ms)),
                ("retry_until_ms", core::ptr::addr_of!(s.retry_until_ms) as usize - base, core::mem::size_of_val(&s.retry_until_ms)),
                ("timeout_ms", core::ptr::addr_of!(s.timeout_ms) as usize - base, core::mem::size_of_val(&s.timeout_ms)),
                ("max_exceptions", core::ptr::addr_of!(s.max_exceptions) as usize - base, core::mem::size_of_val(&s.max_exceptions)),
                ("backoff_jitter_permille", core::ptr::addr_of!(s.backoff_jitter_permille) as usize - base, core::mem::size_of_val(&s.backoff_jitter_permille)),
                ("unique_key", core::ptr::addr_of!(s.unique_key) as usize - base, core::mem::size_of_val(&s.unique_key)),
                ("unique_ttl_ms", core::ptr::addr_of!(s.unique_ttl_ms) as usize - base, core::mem::size_of_val(&s.unique_ttl_ms)),
                ("unique_until", core::ptr::addr_of!(s.unique_until) as usize - base, core::mem::size_of_val(&s.unique_until)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("debounce_key", core::ptr::addr_of!(s.debounce_key) as usize - base, core::mem::size_of_val(&s.debounce_key)),
                ("debounce_ms", core::ptr::addr_of!(s.debounce_ms) as usize - base, core::mem::size_of_val(&s.debounce_ms)),
                ("debounce_max_ms", core::ptr::addr_of!(s.debounce_max_ms) as usize - base, core::mem::size_of_val(&s.debounce_max_ms)),
                ("idempotency_key", core::ptr::addr_of!(s.idempotency_key) as usize - base, core::mem::size_of_val(&s.idempotency_key)),
                ("idempotency_ms", core::ptr::addr_of!(s.idempotency_ms) as usize - base, core::mem::size_of_val(&s.idempotency_ms)),
                ("flow", core::ptr::addr_of!(s.flow) as usize - base, core::mem::size_of_val(&s.flow)),
                ("chain", core::ptr::addr_of!(s.chain) as usize - base, core::mem::size_of_val(&s.chain)),
                ("chain_count", core::ptr::addr_of!(s.chain_count) as usize - base, core::mem::size_of_val(&s.chain_count)),
                ("chain_size", core::ptr::addr_of!(s.chain_size) as usize - base, core::mem::size_of_val(&s.chain_size)),
                ("group", core::ptr::addr_of!(s.group) as usize - base, core::mem::size_of_val(&s.group)),
                ("group_limit", core::ptr::addr_of!(s.group_limit) as usize - base, core::mem::size_of_val(&s.group_limit)),
                ("overlap", core::ptr::addr_of!(s.overlap) as usize - base, core::mem::size_of_val(&s.overlap)),
                ("overlap_ms", core::ptr::addr_of!(s.overlap_ms) as usize - base, core::mem::size_of_val(&s.overlap_ms)),
                ("tenant", core::ptr::addr_of!(s.tenant) as usize - base, core::mem::size_of_val(&s.tenant)),
                ("rate_key", core::ptr::addr_of!(s.rate_key) as usize - base, core::mem::size_of_val(&s.rate_key)),
                ("rate_cost", core::ptr::addr_of!(s.rate_cost) as usize - base, core::mem::size_of_val(&s.rate_cost)),
                ("reserved_2", core::ptr::addr_of!(s.reserved_2) as usize - base, core::mem::size_of_val(&s.reserved_2)),
            ],
        ));
    }
    {
        let s = wq_next_job::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_next_job",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("queue_name", core::ptr::addr_of!(s.queue_name) as usize - base, core::mem::size_of_val(&s.queue_name)),
                ("spec", core::ptr::addr_of!(s.spec) as usize - base, core::mem::size_of_val(&s.spec)),
            ],
        ));
    }
    {
        let s = wq_enqueued::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_enqueued",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("code", core::ptr::addr_of!(s.code) as usize - base, core::mem::size_of_val(&s.code)),
                ("job_id", core::ptr::addr_of!(s.job_id) as usize - base, core::mem::size_of_val(&s.job_id)),
                ("lsn", core::ptr::addr_of!(s.lsn) as usize - base, core::mem::size_of_val(&s.lsn)),
            ],
        ));
    }
    {
        let s = wq_job::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_job",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("state", core::ptr::addr_of!(s.state) as usize - base, core::mem::size_of_val(&s.state)),
                ("id", core::ptr::addr_of!(s.id) as usize - base, core::mem::size_of_val(&s.id)),
                ("generation", core::ptr::addr_of!(s.generation) as usize - base, core::mem::size_of_val(&s.generation)),
                ("queue_index", core::ptr::addr_of!(s.queue_index) as usize - base, core::mem::size_of_val(&s.queue_index)),
                ("priority", core::ptr::addr_of!(s.priority) as usize - base, core::mem::size_of_val(&s.priority)),
                ("attempts", core::ptr::addr_of!(s.attempts) as usize - base, core::mem::size_of_val(&s.attempts)),
                ("exceptions", core::ptr::addr_of!(s.exceptions) as usize - base, core::mem::size_of_val(&s.exceptions)),
                ("max_attempts", core::ptr::addr_of!(s.max_attempts) as usize - base, core::mem::size_of_val(&s.max_attempts)),
                ("replays", core::ptr::addr_of!(s.replays) as usize - base, core::mem::size_of_val(&s.replays)),
                ("enqueued_ms", core::ptr::addr_of!(s.enqueued_ms) as usize - base, core::mem::size_of_val(&s.enqueued_ms)),
                ("ready_ms", core::ptr::addr_of!(s.ready_ms) as usize - base, core::mem::size_of_val(&s.ready_ms)),
                ("leased_ms", core::ptr::addr_of!(s.leased_ms) as usize - base, core::mem::size_of_val(&s.leased_ms)),
                ("deadline_ms", core::ptr::addr_of!(s.deadline_ms) as usize - base, core::mem::size_of_val(&s.deadline_ms)),
                ("lease_remaining_ms", core::ptr::addr_of!(s.lease_remaining_ms) as usize - base, core::mem::size_of_val(&s.lease_remaining_ms)),
                ("dead_ms", core::ptr::addr_of!(s.dead_ms) as usize - base, core::mem::size_of_val(&s.dead_ms)),
                ("dead_reason", core::ptr::addr_of!(s.dead_reason) as usize - base, core::mem::size_of_val(&s.dead_reason)),
                ("headers_count", core::ptr::addr_of!(s.headers_count) as usize - base, core::mem::size_of_val(&s.headers_count)),
                ("payload", core::ptr::addr_of!(s.payload) as usize - base, core::mem::size_of_val(&s.payload)),
                ("queue_name", core::ptr::addr_of!(s.queue_name) as usize - base, core::mem::size_of_val(&s.queue_name)),
                ("last_error", core::ptr::addr_of!(s.last_error) as usize - base, core::mem::size_of_val(&s.last_error)),
                ("timeout_ms", core::ptr::addr_of!(s.timeout_ms) as usize - base, core::mem::size_of_val(&s.timeout_ms)),
                ("expires_at_ms", core::ptr::addr_of!(s.expires_at_ms) as usize - base, core::mem::size_of_val(&s.expires_at_ms)),
                ("retry_until_ms", core::ptr::addr_of!(s.retry_until_ms) as usize - base, core::mem::size_of_val(&s.retry_until_ms)),
                ("max_exceptions", core::ptr::addr_of!(s.max_exceptions) as usize - base, core::mem::size_of_val(&s.max_exceptions)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("progress", core::ptr::addr_of!(s.progress) as usize - base, core::mem::size_of_val(&s.progress)),
                ("first_dead_ms", core::ptr::addr_of!(s.first_dead_ms) as usize - base, core::mem::size_of_val(&s.first_dead_ms)),
                ("flow", core::ptr::addr_of!(s.flow) as usize - base, core::mem::size_of_val(&s.flow)),
                ("chain_count", core::ptr::addr_of!(s.chain_count) as usize - base, core::mem::size_of_val(&s.chain_count)),
                ("flow_cancelled", core::ptr::addr_of!(s.flow_cancelled) as usize - base, core::mem::size_of_val(&s.flow_cancelled)),
                ("group", core::ptr::addr_of!(s.group) as usize - base, core::mem::size_of_val(&s.group)),
                ("parked", core::ptr::addr_of!(s.parked) as usize - base, core::mem::size_of_val(&s.parked)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("payload_code", core::ptr::addr_of!(s.payload_code) as usize - base, core::mem::size_of_val(&s.payload_code)),
                ("key_id", core::ptr::addr_of!(s.key_id) as usize - base, core::mem::size_of_val(&s.key_id)),
                ("tenant", core::ptr::addr_of!(s.tenant) as usize - base, core::mem::size_of_val(&s.tenant)),
                ("rate_key", core::ptr::addr_of!(s.rate_key) as usize - base, core::mem::size_of_val(&s.rate_key)),
                ("rate_cost", core::ptr::addr_of!(s.rate_cost) as usize - base, core::mem::size_of_val(&s.rate_cost)),
                ("reserved_1", core::ptr::addr_of!(s.reserved_1) as usize - base, core::mem::size_of_val(&s.reserved_1)),
            ],
        ));
    }
    {
        let s = wq_lease_options::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_lease_options",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("max_jobs", core::ptr::addr_of!(s.max_jobs) as usize - base, core::mem::size_of_val(&s.max_jobs)),
                ("wait_ms", core::ptr::addr_of!(s.wait_ms) as usize - base, core::mem::size_of_val(&s.wait_ms)),
                ("lease_ms", core::ptr::addr_of!(s.lease_ms) as usize - base, core::mem::size_of_val(&s.lease_ms)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
            ],
        ));
    }
    {
        let s = wq_nack_options::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_nack_options",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("delay_ms", core::ptr::addr_of!(s.delay_ms) as usize - base, core::mem::size_of_val(&s.delay_ms)),
                ("priority", core::ptr::addr_of!(s.priority) as usize - base, core::mem::size_of_val(&s.priority)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("error", core::ptr::addr_of!(s.error) as usize - base, core::mem::size_of_val(&s.error)),
                ("reason", core::ptr::addr_of!(s.reason) as usize - base, core::mem::size_of_val(&s.reason)),
                ("reserved_1", core::ptr::addr_of!(s.reserved_1) as usize - base, core::mem::size_of_val(&s.reserved_1)),
            ],
        ));
    }
    {
        let s = wq_settle_item::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_settle_item",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("kind", core::ptr::addr_of!(s.kind) as usize - base, core::mem::size_of_val(&s.kind)),
                ("id", core::ptr::addr_of!(s.id) as usize - base, core::mem::size_of_val(&s.id)),
                ("generation", core::ptr::addr_of!(s.generation) as usize - base, core::mem::size_of_val(&s.generation)),
                ("delay_ms", core::ptr::addr_of!(s.delay_ms) as usize - base, core::mem::size_of_val(&s.delay_ms)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("priority", core::ptr::addr_of!(s.priority) as usize - base, core::mem::size_of_val(&s.priority)),
                ("error", core::ptr::addr_of!(s.error) as usize - base, core::mem::size_of_val(&s.error)),
                ("reason", core::ptr::addr_of!(s.reason) as usize - base, core::mem::size_of_val(&s.reason)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("result", core::ptr::addr_of!(s.result) as usize - base, core::mem::size_of_val(&s.result)),
            ],
        ));
    }
    {
        let s = wq_dead_query::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_dead_query",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("cursor", core::ptr::addr_of!(s.cursor) as usize - base, core::mem::size_of_val(&s.cursor)),
                ("limit", core::ptr::addr_of!(s.limit) as usize - base, core::mem::size_of_val(&s.limit)),
                ("reason", core::ptr::addr_of!(s.reason) as usize - base, core::mem::size_of_val(&s.reason)),
                ("from_ms", core::ptr::addr_of!(s.from_ms) as usize - base, core::mem::size_of_val(&s.from_ms)),
                ("until_ms", core::ptr::addr_of!(s.until_ms) as usize - base, core::mem::size_of_val(&s.until_ms)),
                ("error_part", core::ptr::addr_of!(s.error_part) as usize - base, core::mem::size_of_val(&s.error_part)),
            ],
        ));
    }
    {
        let s = wq_dead_filter::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_dead_filter",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("reason", core::ptr::addr_of!(s.reason) as usize - base, core::mem::size_of_val(&s.reason)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("from_ms", core::ptr::addr_of!(s.from_ms) as usize - base, core::mem::size_of_val(&s.from_ms)),
                ("until_ms", core::ptr::addr_of!(s.until_ms) as usize - base, core::mem::size_of_val(&s.until_ms)),
                ("error_part", core::ptr::addr_of!(s.error_part) as usize - base, core::mem::size_of_val(&s.error_part)),
                ("entries", core::ptr::addr_of!(s.entries) as usize - base, core::mem::size_of_val(&s.entries)),
                ("entries_count", core::ptr::addr_of!(s.entries_count) as usize - base, core::mem::size_of_val(&s.entries_count)),
                ("limit", core::ptr::addr_of!(s.limit) as usize - base, core::mem::size_of_val(&s.limit)),
                ("cancel", core::ptr::addr_of!(s.cancel) as usize - base, core::mem::size_of_val(&s.cancel)),
                ("progress", core::ptr::addr_of!(s.progress) as usize - base, core::mem::size_of_val(&s.progress)),
                ("progress_ctx", core::ptr::addr_of!(s.progress_ctx) as usize - base, core::mem::size_of_val(&s.progress_ctx)),
            ],
        ));
    }
    {
        let s = wq_dead_report::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_dead_report",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("changed", core::ptr::addr_of!(s.changed) as usize - base, core::mem::size_of_val(&s.changed)),
                ("examined", core::ptr::addr_of!(s.examined) as usize - base, core::mem::size_of_val(&s.examined)),
                ("elapsed_ms", core::ptr::addr_of!(s.elapsed_ms) as usize - base, core::mem::size_of_val(&s.elapsed_ms)),
            ],
        ));
    }
    {
        let s = wq_event::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_event",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("code", core::ptr::addr_of!(s.code) as usize - base, core::mem::size_of_val(&s.code)),
                ("user_data", core::ptr::addr_of!(s.user_data) as usize - base, core::mem::size_of_val(&s.user_data)),
                ("lsn", core::ptr::addr_of!(s.lsn) as usize - base, core::mem::size_of_val(&s.lsn)),
            ],
        ));
    }
    {
        let s = wq_flow_options::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_flow_options",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("on_complete", core::ptr::addr_of!(s.on_complete) as usize - base, core::mem::size_of_val(&s.on_complete)),
                ("on_failure", core::ptr::addr_of!(s.on_failure) as usize - base, core::mem::size_of_val(&s.on_failure)),
            ],
        ));
    }
    {
        let s = wq_flow_status::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_flow_status",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("flow", core::ptr::addr_of!(s.flow) as usize - base, core::mem::size_of_val(&s.flow)),
                ("total", core::ptr::addr_of!(s.total) as usize - base, core::mem::size_of_val(&s.total)),
                ("pending", core::ptr::addr_of!(s.pending) as usize - base, core::mem::size_of_val(&s.pending)),
                ("done", core::ptr::addr_of!(s.done) as usize - base, core::mem::size_of_val(&s.done)),
                ("failed", core::ptr::addr_of!(s.failed) as usize - base, core::mem::size_of_val(&s.failed)),
                ("cancelled", core::ptr::addr_of!(s.cancelled) as usize - base, core::mem::size_of_val(&s.cancelled)),
                ("follow_up_id", core::ptr::addr_of!(s.follow_up_id) as usize - base, core::mem::size_of_val(&s.follow_up_id)),
                ("created_ms", core::ptr::addr_of!(s.created_ms) as usize - base, core::mem::size_of_val(&s.created_ms)),
                ("finished_ms", core::ptr::addr_of!(s.finished_ms) as usize - base, core::mem::size_of_val(&s.finished_ms)),
            ],
        ));
    }
    {
        let s = wq_cron_spec::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_cron_spec",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("expression", core::ptr::addr_of!(s.expression) as usize - base, core::mem::size_of_val(&s.expression)),
                ("zone", core::ptr::addr_of!(s.zone) as usize - base, core::mem::size_of_val(&s.zone)),
                ("job", core::ptr::addr_of!(s.job) as usize - base, core::mem::size_of_val(&s.job)),
                ("catch_up", core::ptr::addr_of!(s.catch_up) as usize - base, core::mem::size_of_val(&s.catch_up)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
            ],
        ));
    }
    {
        let s = wq_cron::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_cron",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("name", core::ptr::addr_of!(s.name) as usize - base, core::mem::size_of_val(&s.name)),
                ("queue_name", core::ptr::addr_of!(s.queue_name) as usize - base, core::mem::size_of_val(&s.queue_name)),
                ("expression", core::ptr::addr_of!(s.expression) as usize - base, core::mem::size_of_val(&s.expression)),
                ("zone", core::ptr::addr_of!(s.zone) as usize - base, core::mem::size_of_val(&s.zone)),
                ("next_due_ms", core::ptr::addr_of!(s.next_due_ms) as usize - base, core::mem::size_of_val(&s.next_due_ms)),
                ("last_slot_ms", core::ptr::addr_of!(s.last_slot_ms) as usize - base, core::mem::size_of_val(&s.last_slot_ms)),
                ("created_ms", core::ptr::addr_of!(s.created_ms) as usize - base, core::mem::size_of_val(&s.created_ms)),
                ("fired", core::ptr::addr_of!(s.fired) as usize - base, core::mem::size_of_val(&s.fired)),
                ("missed", core::ptr::addr_of!(s.missed) as usize - base, core::mem::size_of_val(&s.missed)),
                ("catch_up", core::ptr::addr_of!(s.catch_up) as usize - base, core::mem::size_of_val(&s.catch_up)),
                ("priority", core::ptr::addr_of!(s.priority) as usize - base, core::mem::size_of_val(&s.priority)),
                ("max_attempts", core::ptr::addr_of!(s.max_attempts) as usize - base, core::mem::size_of_val(&s.max_attempts)),
                ("backoff_kind", core::ptr::addr_of!(s.backoff_kind) as usize - base, core::mem::size_of_val(&s.backoff_kind)),
                ("backoff_base_ms", core::ptr::addr_of!(s.backoff_base_ms) as usize - base, core::mem::size_of_val(&s.backoff_base_ms)),
                ("backoff_max_ms", core::ptr::addr_of!(s.backoff_max_ms) as usize - base, core::mem::size_of_val(&s.backoff_max_ms)),
                ("backoff_list_ms", core::ptr::addr_of!(s.backoff_list_ms) as usize - base, core::mem::size_of_val(&s.backoff_list_ms)),
                ("backoff_count", core::ptr::addr_of!(s.backoff_count) as usize - base, core::mem::size_of_val(&s.backoff_count)),
                ("backoff_jitter_permille", core::ptr::addr_of!(s.backoff_jitter_permille) as usize - base, core::mem::size_of_val(&s.backoff_jitter_permille)),
                ("payload", core::ptr::addr_of!(s.payload) as usize - base, core::mem::size_of_val(&s.payload)),
                ("headers", core::ptr::addr_of!(s.headers) as usize - base, core::mem::size_of_val(&s.headers)),
                ("headers_count", core::ptr::addr_of!(s.headers_count) as usize - base, core::mem::size_of_val(&s.headers_count)),
                ("problem", core::ptr::addr_of!(s.problem) as usize - base, core::mem::size_of_val(&s.problem)),
                ("payload_code", core::ptr::addr_of!(s.payload_code) as usize - base, core::mem::size_of_val(&s.payload_code)),
                ("key_id", core::ptr::addr_of!(s.key_id) as usize - base, core::mem::size_of_val(&s.key_id)),
                ("packing", core::ptr::addr_of!(s.packing) as usize - base, core::mem::size_of_val(&s.packing)),
                ("plain_bytes", core::ptr::addr_of!(s.plain_bytes) as usize - base, core::mem::size_of_val(&s.plain_bytes)),
            ],
        ));
    }
    {
        let s = wq_done_job::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_done_job",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("priority", core::ptr::addr_of!(s.priority) as usize - base, core::mem::size_of_val(&s.priority)),
                ("id", core::ptr::addr_of!(s.id) as usize - base, core::mem::size_of_val(&s.id)),
                ("generation", core::ptr::addr_of!(s.generation) as usize - base, core::mem::size_of_val(&s.generation)),
                ("flow", core::ptr::addr_of!(s.flow) as usize - base, core::mem::size_of_val(&s.flow)),
                ("attempts", core::ptr::addr_of!(s.attempts) as usize - base, core::mem::size_of_val(&s.attempts)),
                ("exceptions", core::ptr::addr_of!(s.exceptions) as usize - base, core::mem::size_of_val(&s.exceptions)),
                ("replays", core::ptr::addr_of!(s.replays) as usize - base, core::mem::size_of_val(&s.replays)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("enqueued_ms", core::ptr::addr_of!(s.enqueued_ms) as usize - base, core::mem::size_of_val(&s.enqueued_ms)),
                ("leased_ms", core::ptr::addr_of!(s.leased_ms) as usize - base, core::mem::size_of_val(&s.leased_ms)),
                ("done_ms", core::ptr::addr_of!(s.done_ms) as usize - base, core::mem::size_of_val(&s.done_ms)),
                ("result", core::ptr::addr_of!(s.result) as usize - base, core::mem::size_of_val(&s.result)),
                ("result_code", core::ptr::addr_of!(s.result_code) as usize - base, core::mem::size_of_val(&s.result_code)),
                ("key_id", core::ptr::addr_of!(s.key_id) as usize - base, core::mem::size_of_val(&s.key_id)),
            ],
        ));
    }
    {
        let s = wq_kv_options::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_kv_options",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("ttl_ms", core::ptr::addr_of!(s.ttl_ms) as usize - base, core::mem::size_of_val(&s.ttl_ms)),
                ("version", core::ptr::addr_of!(s.version) as usize - base, core::mem::size_of_val(&s.version)),
                ("value", core::ptr::addr_of!(s.value) as usize - base, core::mem::size_of_val(&s.value)),
            ],
        ));
    }
    {
        let s = wq_kv_query::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_kv_query",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("limit", core::ptr::addr_of!(s.limit) as usize - base, core::mem::size_of_val(&s.limit)),
                ("prefix", core::ptr::addr_of!(s.prefix) as usize - base, core::mem::size_of_val(&s.prefix)),
                ("after", core::ptr::addr_of!(s.after) as usize - base, core::mem::size_of_val(&s.after)),
            ],
        ));
    }
    {
        let s = wq_kv_row::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_kv_row",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("version", core::ptr::addr_of!(s.version) as usize - base, core::mem::size_of_val(&s.version)),
                ("expires_ms", core::ptr::addr_of!(s.expires_ms) as usize - base, core::mem::size_of_val(&s.expires_ms)),
                ("key", core::ptr::addr_of!(s.key) as usize - base, core::mem::size_of_val(&s.key)),
                ("value", core::ptr::addr_of!(s.value) as usize - base, core::mem::size_of_val(&s.value)),
            ],
        ));
    }
    {
        let s = wq_txn_op::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_txn_op",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("kind", core::ptr::addr_of!(s.kind) as usize - base, core::mem::size_of_val(&s.kind)),
                ("queue", core::ptr::addr_of!(s.queue) as usize - base, core::mem::size_of_val(&s.queue)),
                ("spec", core::ptr::addr_of!(s.spec) as usize - base, core::mem::size_of_val(&s.spec)),
                ("settle", core::ptr::addr_of!(s.settle) as usize - base, core::mem::size_of_val(&s.settle)),
                ("key", core::ptr::addr_of!(s.key) as usize - base, core::mem::size_of_val(&s.key)),
                ("value", core::ptr::addr_of!(s.value) as usize - base, core::mem::size_of_val(&s.value)),
                ("delta", core::ptr::addr_of!(s.delta) as usize - base, core::mem::size_of_val(&s.delta)),
                ("options", core::ptr::addr_of!(s.options) as usize - base, core::mem::size_of_val(&s.options)),
            ],
        ));
    }
    {
        let s = wq_txn_result::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_txn_result",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("code", core::ptr::addr_of!(s.code) as usize - base, core::mem::size_of_val(&s.code)),
                ("job_id", core::ptr::addr_of!(s.job_id) as usize - base, core::mem::size_of_val(&s.job_id)),
                ("sum", core::ptr::addr_of!(s.sum) as usize - base, core::mem::size_of_val(&s.sum)),
            ],
        ));
    }
    {
        let s = wq_key_use::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_key_use",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("id", core::ptr::addr_of!(s.id) as usize - base, core::mem::size_of_val(&s.id)),
                ("payloads", core::ptr::addr_of!(s.payloads) as usize - base, core::mem::size_of_val(&s.payloads)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
            ],
        ));
    }
    {
        let s = wq_job_explanation::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_job_explanation",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("state", core::ptr::addr_of!(s.state) as usize - base, core::mem::size_of_val(&s.state)),
                ("causes", core::ptr::addr_of!(s.causes) as usize - base, core::mem::size_of_val(&s.causes)),
                ("dead_reason", core::ptr::addr_of!(s.dead_reason) as usize - base, core::mem::size_of_val(&s.dead_reason)),
                ("until_ms", core::ptr::addr_of!(s.until_ms) as usize - base, core::mem::size_of_val(&s.until_ms)),
                ("ahead", core::ptr::addr_of!(s.ahead) as usize - base, core::mem::size_of_val(&s.ahead)),
                ("ahead_exact", core::ptr::addr_of!(s.ahead_exact) as usize - base, core::mem::size_of_val(&s.ahead_exact)),
                ("queue_status", core::ptr::addr_of!(s.queue_status) as usize - base, core::mem::size_of_val(&s.queue_status)),
                ("slots_taken", core::ptr::addr_of!(s.slots_taken) as usize - base, core::mem::size_of_val(&s.slots_taken)),
                ("slots_max", core::ptr::addr_of!(s.slots_max) as usize - base, core::mem::size_of_val(&s.slots_max)),
                ("consumers_waiting", core::ptr::addr_of!(s.consumers_waiting) as usize - base, core::mem::size_of_val(&s.consumers_waiting)),
                ("holder_id", core::ptr::addr_of!(s.holder_id) as usize - base, core::mem::size_of_val(&s.holder_id)),
                ("holder_generation", core::ptr::addr_of!(s.holder_generation) as usize - base, core::mem::size_of_val(&s.holder_generation)),
                ("holder_age_ms", core::ptr::addr_of!(s.holder_age_ms) as usize - base, core::mem::size_of_val(&s.holder_age_ms)),
            ],
        ));
    }
    {
        let s = wq_queue_explanation::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_queue_explanation",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("status", core::ptr::addr_of!(s.status) as usize - base, core::mem::size_of_val(&s.status)),
                ("causes", core::ptr::addr_of!(s.causes) as usize - base, core::mem::size_of_val(&s.causes)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("leasable", core::ptr::addr_of!(s.leasable) as usize - base, core::mem::size_of_val(&s.leasable)),
                ("oldest_ready_age_ms", core::ptr::addr_of!(s.oldest_ready_age_ms) as usize - base, core::mem::size_of_val(&s.oldest_ready_age_ms)),
                ("slots_taken", core::ptr::addr_of!(s.slots_taken) as usize - base, core::mem::size_of_val(&s.slots_taken)),
                ("slots_max", core::ptr::addr_of!(s.slots_max) as usize - base, core::mem::size_of_val(&s.slots_max)),
                ("consumers_waiting", core::ptr::addr_of!(s.consumers_waiting) as usize - base, core::mem::size_of_val(&s.consumers_waiting)),
                ("holder_id", core::ptr::addr_of!(s.holder_id) as usize - base, core::mem::size_of_val(&s.holder_id)),
                ("holder_generation", core::ptr::addr_of!(s.holder_generation) as usize - base, core::mem::size_of_val(&s.holder_generation)),
                ("holder_age_ms", core::ptr::addr_of!(s.holder_age_ms) as usize - base, core::mem::size_of_val(&s.holder_age_ms)),
                ("enqueue_rate_1m", core::ptr::addr_of!(s.enqueue_rate_1m) as usize - base, core::mem::size_of_val(&s.enqueue_rate_1m)),
                ("enqueue_rate_5m", core::ptr::addr_of!(s.enqueue_rate_5m) as usize - base, core::mem::size_of_val(&s.enqueue_rate_5m)),
                ("lease_rate_1m", core::ptr::addr_of!(s.lease_rate_1m) as usize - base, core::mem::size_of_val(&s.lease_rate_1m)),
                ("lease_rate_5m", core::ptr::addr_of!(s.lease_rate_5m) as usize - base, core::mem::size_of_val(&s.lease_rate_5m)),
                ("ack_rate_1m", core::ptr::addr_of!(s.ack_rate_1m) as usize - base, core::mem::size_of_val(&s.ack_rate_1m)),
                ("ack_rate_5m", core::ptr::addr_of!(s.ack_rate_5m) as usize - base, core::mem::size_of_val(&s.ack_rate_5m)),
                ("parked", core::ptr::addr_of!(s.parked) as usize - base, core::mem::size_of_val(&s.parked)),
                ("rate_wait_ms", core::ptr::addr_of!(s.rate_wait_ms) as usize - base, core::mem::size_of_val(&s.rate_wait_ms)),
            ],
        ));
    }
    {
        let s = wq_queue_error::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_queue_error",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("kind", core::ptr::addr_of!(s.kind) as usize - base, core::mem::size_of_val(&s.kind)),
                ("at_ms", core::ptr::addr_of!(s.at_ms) as usize - base, core::mem::size_of_val(&s.at_ms)),
                ("job_id", core::ptr::addr_of!(s.job_id) as usize - base, core::mem::size_of_val(&s.job_id)),
                ("generation", core::ptr::addr_of!(s.generation) as usize - base, core::mem::size_of_val(&s.generation)),
                ("attempt", core::ptr::addr_of!(s.attempt) as usize - base, core::mem::size_of_val(&s.attempt)),
                ("text_len", core::ptr::addr_of!(s.text_len) as usize - base, core::mem::size_of_val(&s.text_len)),
                ("text", core::ptr::addr_of!(s.text) as usize - base, core::mem::size_of_val(&s.text)),
            ],
        ));
    }
    {
        let s = wq_event_cursor::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_event_cursor",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("epoch", core::ptr::addr_of!(s.epoch) as usize - base, core::mem::size_of_val(&s.epoch)),
                ("sequence", core::ptr::addr_of!(s.sequence) as usize - base, core::mem::size_of_val(&s.sequence)),
                ("dropped", core::ptr::addr_of!(s.dropped) as usize - base, core::mem::size_of_val(&s.dropped)),
            ],
        ));
    }
    {
        let s = wq_store_event::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_store_event",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("kind", core::ptr::addr_of!(s.kind) as usize - base, core::mem::size_of_val(&s.kind)),
                ("sequence", core::ptr::addr_of!(s.sequence) as usize - base, core::mem::size_of_val(&s.sequence)),
                ("lsn", core::ptr::addr_of!(s.lsn) as usize - base, core::mem::size_of_val(&s.lsn)),
                ("at_ms", core::ptr::addr_of!(s.at_ms) as usize - base, core::mem::size_of_val(&s.at_ms)),
                ("time_ms", core::ptr::addr_of!(s.time_ms) as usize - base, core::mem::size_of_val(&s.time_ms)),
                ("job_id", core::ptr::addr_of!(s.job_id) as usize - base, core::mem::size_of_val(&s.job_id)),
                ("generation", core::ptr::addr_of!(s.generation) as usize - base, core::mem::size_of_val(&s.generation)),
                ("count", core::ptr::addr_of!(s.count) as usize - base, core::mem::size_of_val(&s.count)),
                ("attempt", core::ptr::addr_of!(s.attempt) as usize - base, core::mem::size_of_val(&s.attempt)),
                ("dead_reason", core::ptr::addr_of!(s.dead_reason) as usize - base, core::mem::size_of_val(&s.dead_reason)),
                ("queue_name_len", core::ptr::addr_of!(s.queue_name_len) as usize - base, core::mem::size_of_val(&s.queue_name_len)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("queue_name", core::ptr::addr_of!(s.queue_name) as usize - base, core::mem::size_of_val(&s.queue_name)),
            ],
        ));
    }
    {
        let s = wq_backup_options::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_backup_options",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("cancel", core::ptr::addr_of!(s.cancel) as usize - base, core::mem::size_of_val(&s.cancel)),
                ("progress", core::ptr::addr_of!(s.progress) as usize - base, core::mem::size_of_val(&s.progress)),
                ("progress_ctx", core::ptr::addr_of!(s.progress_ctx) as usize - base, core::mem::size_of_val(&s.progress_ctx)),
            ],
        ));
    }
    {
        let s = wq_backup_report::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_backup_report",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("lsn", core::ptr::addr_of!(s.lsn) as usize - base, core::mem::size_of_val(&s.lsn)),
                ("checkpoint_lsn", core::ptr::addr_of!(s.checkpoint_lsn) as usize - base, core::mem::size_of_val(&s.checkpoint_lsn)),
                ("files", core::ptr::addr_of!(s.files) as usize - base, core::mem::size_of_val(&s.files)),
                ("bytes", core::ptr::addr_of!(s.bytes) as usize - base, core::mem::size_of_val(&s.bytes)),
                ("created_ms", core::ptr::addr_of!(s.created_ms) as usize - base, core::mem::size_of_val(&s.created_ms)),
                ("elapsed_ms", core::ptr::addr_of!(s.elapsed_ms) as usize - base, core::mem::size_of_val(&s.elapsed_ms)),
            ],
        ));
    }
    {
        let s = wq_store_record::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_store_record",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("lsn", core::ptr::addr_of!(s.lsn) as usize - base, core::mem::size_of_val(&s.lsn)),
                ("next_job_id", core::ptr::addr_of!(s.next_job_id) as usize - base, core::mem::size_of_val(&s.next_job_id)),
                ("next_generation", core::ptr::addr_of!(s.next_generation) as usize - base, core::mem::size_of_val(&s.next_generation)),
                ("queues", core::ptr::addr_of!(s.queues) as usize - base, core::mem::size_of_val(&s.queues)),
                ("jobs", core::ptr::addr_of!(s.jobs) as usize - base, core::mem::size_of_val(&s.jobs)),
                ("kv_rows", core::ptr::addr_of!(s.kv_rows) as usize - base, core::mem::size_of_val(&s.kv_rows)),
                ("flows", core::ptr::addr_of!(s.flows) as usize - base, core::mem::size_of_val(&s.flows)),
                ("rows", core::ptr::addr_of!(s.rows) as usize - base, core::mem::size_of_val(&s.rows)),
            ],
        ));
    }
    {
        let s = wq_queue_record::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_queue_record",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("name", core::ptr::addr_of!(s.name) as usize - base, core::mem::size_of_val(&s.name)),
                ("created_ms", core::ptr::addr_of!(s.created_ms) as usize - base, core::mem::size_of_val(&s.created_ms)),
                ("config", core::ptr::addr_of!(s.config) as usize - base, core::mem::size_of_val(&s.config)),
                ("stats", core::ptr::addr_of!(s.stats) as usize - base, core::mem::size_of_val(&s.stats)),
                ("schedules", core::ptr::addr_of!(s.schedules) as usize - base, core::mem::size_of_val(&s.schedules)),
                ("schedules_count", core::ptr::addr_of!(s.schedules_count) as usize - base, core::mem::size_of_val(&s.schedules_count)),
                ("rate_used_ns", core::ptr::addr_of!(s.rate_used_ns) as usize - base, core::mem::size_of_val(&s.rate_used_ns)),
            ],
        ));
    }
    {
        let s = wq_job_record::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_job_record",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("state", core::ptr::addr_of!(s.state) as usize - base, core::mem::size_of_val(&s.state)),
                ("id", core::ptr::addr_of!(s.id) as usize - base, core::mem::size_of_val(&s.id)),
                ("generation", core::ptr::addr_of!(s.generation) as usize - base, core::mem::size_of_val(&s.generation)),
                ("priority", core::ptr::addr_of!(s.priority) as usize - base, core::mem::size_of_val(&s.priority)),
                ("attempts", core::ptr::addr_of!(s.attempts) as usize - base, core::mem::size_of_val(&s.attempts)),
                ("exceptions", core::ptr::addr_of!(s.exceptions) as usize - base, core::mem::size_of_val(&s.exceptions)),
                ("failures", core::ptr::addr_of!(s.failures) as usize - base, core::mem::size_of_val(&s.failures)),
                ("max_attempts", core::ptr::addr_of!(s.max_attempts) as usize - base, core::mem::size_of_val(&s.max_attempts)),
                ("replays", core::ptr::addr_of!(s.replays) as usize - base, core::mem::size_of_val(&s.replays)),
                ("enqueued_ms", core::ptr::addr_of!(s.enqueued_ms) as usize - base, core::mem::size_of_val(&s.enqueued_ms)),
                ("since_ms", core::ptr::addr_of!(s.since_ms) as usize - base, core::mem::size_of_val(&s.since_ms)),
                ("due_ms", core::ptr::addr_of!(s.due_ms) as usize - base, core::mem::size_of_val(&s.due_ms)),
                ("leased_ms", core::ptr::addr_of!(s.leased_ms) as usize - base, core::mem::size_of_val(&s.leased_ms)),
                ("dead_reason", core::ptr::addr_of!(s.dead_reason) as usize - base, core::mem::size_of_val(&s.dead_reason)),
                ("backoff_kind", core::ptr::addr_of!(s.backoff_kind) as usize - base, core::mem::size_of_val(&s.backoff_kind)),
                ("backoff_base_ms", core::ptr::addr_of!(s.backoff_base_ms) as usize - base, core::mem::size_of_val(&s.backoff_base_ms)),
                ("backoff_max_ms", core::ptr::addr_of!(s.backoff_max_ms) as usize - base, core::mem::size_of_val(&s.backoff_max_ms)),
                ("backoff_list_ms", core::ptr::addr_of!(s.backoff_list_ms) as usize - base, core::mem::size_of_val(&s.backoff_list_ms)),
                ("backoff_count", core::ptr::addr_of!(s.backoff_count) as usize - base, core::mem::size_of_val(&s.backoff_count)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("headers", core::ptr::addr_of!(s.headers) as usize - base, core::mem::size_of_val(&s.headers)),
                ("headers_count", core::ptr::addr_of!(s.headers_count) as usize - base, core::mem::size_of_val(&s.headers_count)),
                ("payload", core::ptr::addr_of!(s.payload) as usize - base, core::mem::size_of_val(&s.payload)),
                ("last_error", core::ptr::addr_of!(s.last_error) as usize - base, core::mem::size_of_val(&s.last_error)),
                ("queue_name", core::ptr::addr_of!(s.queue_name) as usize - base, core::mem::size_of_val(&s.queue_name)),
                ("expires_at_ms", core::ptr::addr_of!(s.expires_at_ms) as usize - base, core::mem::size_of_val(&s.expires_at_ms)),
                ("retry_until_ms", core::ptr::addr_of!(s.retry_until_ms) as usize - base, core::mem::size_of_val(&s.retry_until_ms)),
                ("timeout_ms", core::ptr::addr_of!(s.timeout_ms) as usize - base, core::mem::size_of_val(&s.timeout_ms)),
                ("max_exceptions", core::ptr::addr_of!(s.max_exceptions) as usize - base, core::mem::size_of_val(&s.max_exceptions)),
                ("flags", core::ptr::addr_of!(s.flags) as usize - base, core::mem::size_of_val(&s.flags)),
                ("backoff_jitter_permille", core::ptr::addr_of!(s.backoff_jitter_permille) as usize - base, core::mem::size_of_val(&s.backoff_jitter_permille)),
                ("reserved_1", core::ptr::addr_of!(s.reserved_1) as usize - base, core::mem::size_of_val(&s.reserved_1)),
                ("progress", core::ptr::addr_of!(s.progress) as usize - base, core::mem::size_of_val(&s.progress)),
                ("key", core::ptr::addr_of!(s.key) as usize - base, core::mem::size_of_val(&s.key)),
                ("key_rule", core::ptr::addr_of!(s.key_rule) as usize - base, core::mem::size_of_val(&s.key_rule)),
                ("reserved_2", core::ptr::addr_of!(s.reserved_2) as usize - base, core::mem::size_of_val(&s.reserved_2)),
                ("key_ms", core::ptr::addr_of!(s.key_ms) as usize - base, core::mem::size_of_val(&s.key_ms)),
                ("key_until_ms", core::ptr::addr_of!(s.key_until_ms) as usize - base, core::mem::size_of_val(&s.key_until_ms)),
                ("idempotency_key", core::ptr::addr_of!(s.idempotency_key) as usize - base, core::mem::size_of_val(&s.idempotency_key)),
                ("idempotency_ms", core::ptr::addr_of!(s.idempotency_ms) as usize - base, core::mem::size_of_val(&s.idempotency_ms)),
                ("first_dead_ms", core::ptr::addr_of!(s.first_dead_ms) as usize - base, core::mem::size_of_val(&s.first_dead_ms)),
                ("flow", core::ptr::addr_of!(s.flow) as usize - base, core::mem::size_of_val(&s.flow)),
                ("chain", core::ptr::addr_of!(s.chain) as usize - base, core::mem::size_of_val(&s.chain)),
                ("group", core::ptr::addr_of!(s.group) as usize - base, core::mem::size_of_val(&s.group)),
                ("group_limit", core::ptr::addr_of!(s.group_limit) as usize - base, core::mem::size_of_val(&s.group_limit)),
                ("overlap", core::ptr::addr_of!(s.overlap) as usize - base, core::mem::size_of_val(&s.overlap)),
                ("packing", core::ptr::addr_of!(s.packing) as usize - base, core::mem::size_of_val(&s.packing)),
                ("plain_bytes", core::ptr::addr_of!(s.plain_bytes) as usize - base, core::mem::size_of_val(&s.plain_bytes)),
                ("overlap_ms", core::ptr::addr_of!(s.overlap_ms) as usize - base, core::mem::size_of_val(&s.overlap_ms)),
                ("tenant", core::ptr::addr_of!(s.tenant) as usize - base, core::mem::size_of_val(&s.tenant)),
                ("rate_key", core::ptr::addr_of!(s.rate_key) as usize - base, core::mem::size_of_val(&s.rate_key)),
                ("rate_cost", core::ptr::addr_of!(s.rate_cost) as usize - base, core::mem::size_of_val(&s.rate_cost)),
                ("reserved_4", core::ptr::addr_of!(s.reserved_4) as usize - base, core::mem::size_of_val(&s.reserved_4)),
            ],
        ));
    }
    {
        let s = wq_kv_record::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_kv_record",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("expires_ms", core::ptr::addr_of!(s.expires_ms) as usize - base, core::mem::size_of_val(&s.expires_ms)),
                ("key", core::ptr::addr_of!(s.key) as usize - base, core::mem::size_of_val(&s.key)),
                ("value", core::ptr::addr_of!(s.value) as usize - base, core::mem::size_of_val(&s.value)),
            ],
        ));
    }
    {
        let s = wq_flow_record::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_flow_record",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("options", core::ptr::addr_of!(s.options) as usize - base, core::mem::size_of_val(&s.options)),
                ("status", core::ptr::addr_of!(s.status) as usize - base, core::mem::size_of_val(&s.status)),
                ("on_complete", core::ptr::addr_of!(s.on_complete) as usize - base, core::mem::size_of_val(&s.on_complete)),
                ("on_failure", core::ptr::addr_of!(s.on_failure) as usize - base, core::mem::size_of_val(&s.on_failure)),
            ],
        ));
    }
    {
        let s = wq_key_record::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_key_record",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("key", core::ptr::addr_of!(s.key) as usize - base, core::mem::size_of_val(&s.key)),
                ("job_id", core::ptr::addr_of!(s.job_id) as usize - base, core::mem::size_of_val(&s.job_id)),
                ("until_ms", core::ptr::addr_of!(s.until_ms) as usize - base, core::mem::size_of_val(&s.until_ms)),
            ],
        ));
    }
    {
        let s = wq_rate_key_record::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_rate_key_record",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("exceptions_count", core::ptr::addr_of!(s.exceptions_count) as usize - base, core::mem::size_of_val(&s.exceptions_count)),
                ("key", core::ptr::addr_of!(s.key) as usize - base, core::mem::size_of_val(&s.key)),
                ("used_ns", core::ptr::addr_of!(s.used_ns) as usize - base, core::mem::size_of_val(&s.used_ns)),
                ("cool_until_ms", core::ptr::addr_of!(s.cool_until_ms) as usize - base, core::mem::size_of_val(&s.cool_until_ms)),
                ("exceptions_ms", core::ptr::addr_of!(s.exceptions_ms) as usize - base, core::mem::size_of_val(&s.exceptions_ms)),
            ],
        ));
    }
    {
        let s = wq_export_item::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_export_item",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("store", core::ptr::addr_of!(s.store) as usize - base, core::mem::size_of_val(&s.store)),
                ("queue", core::ptr::addr_of!(s.queue) as usize - base, core::mem::size_of_val(&s.queue)),
                ("job", core::ptr::addr_of!(s.job) as usize - base, core::mem::size_of_val(&s.job)),
                ("kv", core::ptr::addr_of!(s.kv) as usize - base, core::mem::size_of_val(&s.kv)),
                ("flow", core::ptr::addr_of!(s.flow) as usize - base, core::mem::size_of_val(&s.flow)),
                ("key", core::ptr::addr_of!(s.key) as usize - base, core::mem::size_of_val(&s.key)),
                ("done", core::ptr::addr_of!(s.done) as usize - base, core::mem::size_of_val(&s.done)),
                ("rate_key", core::ptr::addr_of!(s.rate_key) as usize - base, core::mem::size_of_val(&s.rate_key)),
                ("queue_name", core::ptr::addr_of!(s.queue_name) as usize - base, core::mem::size_of_val(&s.queue_name)),
            ],
        ));
    }
    {
        let s = wq_repair_finding::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_repair_finding",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("kind", core::ptr::addr_of!(s.kind) as usize - base, core::mem::size_of_val(&s.kind)),
                ("state", core::ptr::addr_of!(s.state) as usize - base, core::mem::size_of_val(&s.state)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("offset", core::ptr::addr_of!(s.offset) as usize - base, core::mem::size_of_val(&s.offset)),
                ("first_lsn", core::ptr::addr_of!(s.first_lsn) as usize - base, core::mem::size_of_val(&s.first_lsn)),
                ("last_lsn", core::ptr::addr_of!(s.last_lsn) as usize - base, core::mem::size_of_val(&s.last_lsn)),
                ("count", core::ptr::addr_of!(s.count) as usize - base, core::mem::size_of_val(&s.count)),
                ("where", core::ptr::addr_of!(s.r#where) as usize - base, core::mem::size_of_val(&s.r#where)),
                ("queue", core::ptr::addr_of!(s.queue) as usize - base, core::mem::size_of_val(&s.queue)),
                ("what", core::ptr::addr_of!(s.what) as usize - base, core::mem::size_of_val(&s.what)),
            ],
        ));
    }
    {
        let s = wq_repair_report::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_repair_report",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("damages", core::ptr::addr_of!(s.damages) as usize - base, core::mem::size_of_val(&s.damages)),
                ("jobs_found", core::ptr::addr_of!(s.jobs_found) as usize - base, core::mem::size_of_val(&s.jobs_found)),
                ("jobs_lost", core::ptr::addr_of!(s.jobs_lost) as usize - base, core::mem::size_of_val(&s.jobs_lost)),
                ("jobs_uncertain", core::ptr::addr_of!(s.jobs_uncertain) as usize - base, core::mem::size_of_val(&s.jobs_uncertain)),
                ("records", core::ptr::addr_of!(s.records) as usize - base, core::mem::size_of_val(&s.records)),
                ("records_missing", core::ptr::addr_of!(s.records_missing) as usize - base, core::mem::size_of_val(&s.records_missing)),
            ],
        ));
    }
    {
        let s = wq_log_record::init();
        let base = core::ptr::addr_of!(s) as usize;
        all.push((
            "wq_log_record",
            core::mem::size_of_val(&s),
            vec![
                ("struct_size", core::ptr::addr_of!(s.struct_size) as usize - base, core::mem::size_of_val(&s.struct_size)),
                ("reserved_0", core::ptr::addr_of!(s.reserved_0) as usize - base, core::mem::size_of_val(&s.reserved_0)),
                ("lsn", core::ptr::addr_of!(s.lsn) as usize - base, core::mem::size_of_val(&s.lsn)),
                ("durable_lsn", core::ptr::addr_of!(s.durable_lsn) as usize - base, core::mem::size_of_val(&s.durable_lsn)),
                ("offset", core::ptr::addr_of!(s.offset) as usize - base, core::mem::size_of_val(&s.offset)),
                ("size_bytes", core::ptr::addr_of!(s.size_bytes) as usize - base, core::mem::size_of_val(&s.size_bytes)),
                ("segment", core::ptr::addr_of!(s.segment) as usize - base, core::mem::size_of_val(&s.segment)),
                ("type", core::ptr::addr_of!(s.r#type) as usize - base, core::mem::size_of_val(&s.r#type)),
                ("text", core::ptr::addr_of!(s.text) as usize - base, core::mem::size_of_val(&s.text)),
            ],
        ));
    }
    all
}

extern "C" {

    /// Initialise any sized struct: `size` zero bytes, and struct_size = size. For languages
    /// that cannot
    /// use the WQ_X_INIT macros: wq_struct_init(&spec, sizeof spec).
    /// NULL, or a size below 8, is ignored.
    ///
    /// Returns: nothing.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_struct_init(
        p: *mut c_void,
        size: usize,
    );

    /// One line of English about a code.
    /// A code that the library does not know gives a generic text.
    ///
    /// Returns: a constant string, never NULL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: the library; never free it.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_strerror(
        code: i32,
    ) -> *const c_char;

    /// Name of a code as in this header, without the prefix: "OK", "STALE", "NO_SPACE".
    ///
    /// Returns: a constant string, never NULL; "UNKNOWN" for a code that is not in the table.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: the library; never free it.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_error_name(
        code: i32,
    ) -> *const c_char;

    /// Whether the same call may succeed later, with no change by the caller.
    /// True for EMPTY, TIMEOUT, DUPLICATE, DISABLED, PAUSED, LOCKED, NO_SPACE, FULL, NO_MEMORY.
    ///
    /// Returns: 1 or 0.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_error_is_retryable(
        code: i32,
    ) -> i32;

    /// Whether a call that ended with this code may have changed the store all the same.
    /// True for IO, POISONED, INTERNAL and CLOSED: the wait for durability was cut short.
    /// After reopening look before you repeat: wq_job_get, wq_queue_get_stats.
    ///
    /// Returns: 1 or 0.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_error_maybe_committed(
        code: i32,
    ) -> i32;

    /// Whether the open store is of no more use for changes and must be closed and reopened.
    /// True for POISONED and INTERNAL.
    ///
    /// Returns: 1 or 0.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_error_is_fatal(
        code: i32,
    ) -> i32;

    /// Version of the library as major << 16 | minor << 8 | patch.
    /// Differs from the header's macros when program and library were built apart.
    ///
    /// Returns: the number.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_version(
    ) -> u32;

    /// Version of the library as text, "0.1.0".
    ///
    /// Returns: a constant string, never NULL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: the library; never free it.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_version_string(
    ) -> *const c_char;

    /// Version of the format on disk that the library writes (docs/FORMAT.md). A store of a
    /// newer format
    /// is WQ_E_VERSION.
    ///
    /// Returns: the number.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_format_version(
    ) -> u32;

    /// One line on how the library was built: version, commit, compiler, versions of its
    /// libraries.
    /// For people and bug reports; the form may change.
    ///
    /// Returns: a constant string, never NULL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: the library; never free it.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_build_info(
    ) -> *const c_char;

    /// Open the store in directory `path`, creating it if it is not there. Use the macro
    /// wq_store_open,
    /// which passes the version of this header; bindings pass the WQ_ABI_VERSION they were made
    /// from.
    /// Recovers from whatever happened before; wq_store_get_recovery tells what was found.
    /// A damaged log or checkpoint is refused, with file and offset; only an unfinished tail is
    /// cut.
    /// A refused open writes nothing.
    ///
    /// Returns: WQ_OK with *store set; else *store is NULL: WQ_E_INVALID (path, option),
    /// WQ_E_UNSUPPORTED (option, flag, kernel), WQ_E_VERSION (header newer than the library, or
    /// format newer than the library), WQ_E_NOT_FOUND (no store there and WQ_OPEN_NO_CREATE, or
    /// no parent directory), WQ_E_LOCKED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO,
    /// WQ_E_CORRUPT, WQ_E_INTERNAL.
    /// Durability: OK means that everything recovered is on the device.
    /// Thread: any.
    /// Blocks: yes, for recovery.
    /// Owns: the caller closes *store with wq_store_close.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_store_open_abi(
        path: *const c_char,
        options: *const wq_store_options,
        abi_version: u32,
        store: *mut *mut wq_store,
        err: *mut wq_error,
    ) -> i32;

    /// Close the store and set *store to NULL.
    /// Callers blocked in the store return WQ_E_CLOSED, then everything is flushed and the lock
    /// on the
    /// directory is given up. Leases stay as they are and go on after the next open.
    /// Handles of the store that are still open answer WQ_E_CLOSED; close them too, before or
    /// after.
    /// What was not yet durable and cannot be flushed is lost without a word: call
    /// wq_store_shutdown or
    /// wq_store_sync before if you want to know.
    ///
    /// Returns: nothing.
    /// Durability: flushes to WQ_POWER, if the disk lets it.
    /// Thread: any; not from a callback.
    /// Blocks: yes, for the last flush.
    /// Owns: frees *store.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_store_close(
        store: *mut *mut wq_store,
    );

    /// Stop in an orderly way: no new leases, wait for the open ones, flush, checkpoint.
    /// From the call on wq_lease answers WQ_E_CLOSED, also to those who wait in it; enqueue and
    /// settle
    /// go on, so that running handlers can end. It cannot be undone; wq_store_close follows.
    /// Waits at most timeout_ms (0: not at all, -1: for ever) until no job is leased or running,
    /// and
    /// then flushes and checkpoints in any case, so that the next open has nothing to replay.
    ///
    /// Returns: WQ_OK; WQ_TIMEOUT (jobs are still leased or running; the rest was done);
    /// WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_IO, WQ_E_POISONED,
    /// WQ_E_INTERNAL.
    /// Durability: OK and TIMEOUT mean that everything before the call is on the device.
    /// Thread: any.
    /// Blocks: yes, up to timeout_ms, then for flush and checkpoint.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_store_shutdown(
        store: *mut wq_store,
        timeout_ms: i64,
        err: *mut wq_error,
    ) -> i32;

    /// Flush everything that was changed before the call, at whatever level, to WQ_POWER.
    ///
    /// Returns: WQ_OK; WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_IO, WQ_E_POISONED,
    /// WQ_E_INTERNAL.
    /// Durability: OK means that every change before the call survives power loss.
    /// Thread: any.
    /// Blocks: for one or two flushes.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_store_sync(
        store: *mut wq_store,
        err: *mut wq_error,
    ) -> i32;

    /// Wait until the change with this LSN (wq_call.lsn, wq_enqueued.lsn) has reached a level.
    /// `lsn` 0 is there already; one that was not yet given out is WQ_E_INVALID. `durability` is
    /// WQ_PROCESS or WQ_POWER. timeout_ms: 0 asks only, -1 waits for ever.
    ///
    /// Returns: WQ_OK; WQ_TIMEOUT; WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_IO,
    /// WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: OK means that this change and all before it survive what the level says.
    /// Thread: any.
    /// Blocks: up to timeout_ms.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_store_wait_durable(
        store: *mut wq_store,
        lsn: u64,
        durability: u32,
        timeout_ms: i64,
        err: *mut wq_error,
    ) -> i32;

    /// Make a checkpoint now: everything changed before the call goes to the settled state on
    /// disk, and
    /// the log behind it is recycled.
    /// Never needed for safety; it shortens the next open.
    ///
    /// Returns: WQ_OK; WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_NO_SPACE,
    /// WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: OK means that every change before the call survives power loss.
    /// Thread: any; other calls go on meanwhile.
    /// Blocks: for the checkpoint.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_store_checkpoint(
        store: *mut wq_store,
        err: *mut wq_error,
    ) -> i32;

    /// Do a bounded piece of maintenance: reclaim expired leases, promote due jobs, flush,
    /// checkpoint.
    /// Needed with WQ_OPEN_NO_THREADS; without it the store does all that by itself, and the
    /// answer is
    /// WQ_E_UNSUPPORTED.
    /// *next_due_ms (may be NULL) tells how long nothing will be due: 0 means call again at
    /// once, -1
    /// that nothing is planned. A change by another call can make something due earlier.
    ///
    /// Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY,
    /// WQ_E_NO_SPACE, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: none promised; what it flushes is told by wq_store_get_stats.
    /// Thread: any.
    /// Blocks: for disk I/O only.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_store_tick(
        store: *mut wq_store,
        next_due_ms: *mut i64,
        err: *mut wq_error,
    ) -> i32;

    /// What opening this store found and did.
    /// Does not change while the store is open.
    ///
    /// Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_store_get_recovery(
        store: *mut wq_store,
        recovery: *mut wq_recovery,
        err: *mut wq_error,
    ) -> i32;

    /// Read the figures of the store.
    /// All figures of one call belong to one moment, except those of the log.
    /// Works on a poisoned store.
    ///
    /// Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_store_get_stats(
        store: *mut wq_store,
        stats: *mut wq_store_stats,
        err: *mut wq_error,
    ) -> i32;

    /// Check the whole open store: each job is in one state, each index entry has its job and
    /// each job
    /// its entries, all counts equal what is there, all checksums are right.
    /// Makes a checkpoint first, so that all is read from where the next open reads it. Repairs
    /// nothing.
    /// Other calls on the store wait meanwhile.
    ///
    /// Returns: WQ_OK; WQ_E_CORRUPT (report->problems is not 0; the message is the first);
    /// WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO,
    /// WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: as long as it takes to read all.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_store_verify(
        store: *mut wq_store,
        report: *mut wq_verify_report,
        err: *mut wq_error,
    ) -> i32;

    /// List the names of all queues, in byte order, as of one moment.
    ///
    /// Returns: WQ_OK with *list set (it may be of length 0); else *list is NULL: WQ_E_INVALID,
    /// WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: the caller frees *list with wq_list_free.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_store_queues(
        store: *mut wq_store,
        list: *mut *mut wq_list,
        err: *mut wq_error,
    ) -> i32;

    /// Number of names in a list. NULL has none.
    ///
    /// Returns: the number.
    /// Durability: none.
    /// Thread: one at a time.
    /// Blocks: no.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_list_count(
        list: *const wq_list,
    ) -> usize;

    /// The name with index `i`, counted from 0.
    ///
    /// Returns: WQ_OK with *name set; WQ_E_INVALID (NULL, index) with *name empty.
    /// Durability: none.
    /// Thread: one at a time.
    /// Blocks: no.
    /// Owns: the list owns the bytes.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_list_name(
        list: *const wq_list,
        i: usize,
        name: *mut wq_bytes,
    ) -> i32;

    /// Free a list and set *list to NULL.
    ///
    /// Returns: nothing.
    /// Durability: none.
    /// Thread: one at a time.
    /// Blocks: no.
    /// Owns: frees *list.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_list_free(
        list: *mut *mut wq_list,
    );

    /// Get a handle on a queue, declaring the queue if it is not there.
    /// `config` (NULL: all defaults) sets the fields that it names in a queue that is declared
    /// by this
    /// call; a queue that is there already keeps its configuration, and the answer is WQ_OK.
    /// With WQ_QUEUE_NO_CREATE in `flags` nothing is declared. Handles are cheap; several on one
    /// queue
    /// are fine.
    ///
    /// Returns: WQ_OK with *queue set; else *queue is NULL: WQ_E_INVALID (name, field),
    /// WQ_E_UNSUPPORTED (flag), WQ_E_NOT_FOUND (WQ_QUEUE_NO_CREATE), WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: OK means that the declaration survives power loss.
    /// Thread: any.
    /// Blocks: for one flush if it declares.
    /// Owns: the caller closes *queue.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_queue_open(
        store: *mut wq_store,
        name: *const c_void,
        name_len: usize,
        config: *const wq_queue_config,
        flags: u32,
        queue: *mut *mut wq_queue,
        err: *mut wq_error,
    ) -> i32;

    /// Close a queue handle and set *queue to NULL. The queue itself is untouched.
    /// A thread that waits in wq_lease on this handle returns WQ_E_CLOSED.
    ///
    /// Returns: nothing.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: until blocked leases have left.
    /// Owns: frees *queue.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_queue_close(
        queue: *mut *mut wq_queue,
    );

    /// Change the fields that config->fields names, all together; the rest stays.
    /// Holds for what happens from now on; leases that run keep their deadlines, a lower
    /// max_running
    /// cuts nobody. Waiting consumers see it at once.
    /// With WQ_CONFIG_VERSION: only if the version is still config->version. The status is
    /// changed by
    /// pause, resume, disable and enable, not here.
    ///
    /// Returns: WQ_OK (also when no field differs; then call->lsn is 0); WQ_CONFLICT (other
    /// version); WQ_E_INVALID (field; nothing changed), WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (queue
    /// deleted), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO,
    /// WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_queue_configure(
        queue: *mut wq_queue,
        config: *const wq_queue_config,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Read the configuration, with status and version, as of one moment.
    ///
    /// Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (queue deleted),
    /// WQ_E_CLOSED, WQ_E_FORKED, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_queue_get_config(
        queue: *mut wq_queue,
        config: *mut wq_queue_config,
        err: *mut wq_error,
    ) -> i32;

    /// Stop handing out jobs of this queue: active -> paused. Enqueue, settles, expiry and
    /// promotion go
    /// on. Pausing a paused queue is WQ_OK and changes nothing.
    /// The status has two sides: pause and resume are about consumers, disable and enable about
    /// producers, and neither undoes the other. A disabled queue hands out nothing either way
    /// and stays
    /// disabled; paused as well, it is paused once it is enabled
    /// (wq_queue_config.consumers_paused).
    ///
    /// Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND, WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_queue_pause(
        queue: *mut wq_queue,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Hand out jobs again: paused -> active. Waiting consumers wake up.
    /// Resuming an active queue is WQ_OK and changes nothing; of a disabled one it ends a pause
    /// that
    /// lies behind, and it stays disabled.
    ///
    /// Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND, WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_queue_resume(
        queue: *mut wq_queue,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Refuse new jobs and hand out none: any status -> disabled. Settles, expiry and promotion
    /// go on,
    /// and dead letters may be replayed: they wait.
    /// Disabling a disabled queue is WQ_OK and changes nothing.
    ///
    /// Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND, WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_queue_disable(
        queue: *mut wq_queue,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Take jobs again: disabled -> active, or paused if it was paused before or meanwhile.
    /// Waiting
    /// consumers wake up. Enabling a queue that is not disabled is WQ_OK and changes nothing.
    ///
    /// Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND, WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_queue_enable(
        queue: *mut wq_queue,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Remove all jobs of the queue that are in one of the states of `states`, in one change.
    /// `states` is an OR of WQ_STATE_BIT(WQ_STATE_...); 0 means ready and delayed.
    /// Leased and running jobs lose their lease: a later settle answers WQ_STALE. The cost does
    /// not grow
    /// with the number of jobs. *removed (may be NULL) is how many there were.
    ///
    /// Returns: WQ_OK (also if there was none; then call->lsn is 0); WQ_E_INVALID (unknown bit),
    /// WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (queue deleted), WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_queue_clear(
        queue: *mut wq_queue,
        states: u32,
        removed: *mut u64,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Delete the queue with all its jobs, dead letters, configuration and totals, in one
    /// change.
    /// Every handle on it answers WQ_E_NOT_FOUND from then on and remains to be closed. The name
    /// may be
    /// declared again and starts clean; job ids and generations are not used again.
    ///
    /// Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (deleted already),
    /// WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED,
    /// WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: the handle stays the caller's to close.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_queue_delete(
        queue: *mut wq_queue,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Read counts and totals of the queue, as of one moment. They are exact.
    ///
    /// Returns: WQ_OK; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (queue deleted),
    /// WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: rarely, for one disk read.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_queue_get_stats(
        queue: *mut wq_queue,
        stats: *mut wq_queue_stats,
        err: *mut wq_error,
    ) -> i32;

    /// Enqueue one job. It is ready at once, or delayed until its time.
    /// Payload and headers are copied; any byte is legal and comes back as given.
    /// `out` (may be NULL) gets the job's id. With keys it may meet a job that holds one:
    /// WQ_DUPLICATE,
    /// `out` gets that job's id, and nothing changed. It is told when the record of that job has
    /// reached
    /// the durability asked for, also with `call->cq`: no event follows.
    /// When memory is full of unfinished work it waits for the checkpoint that makes room.
    /// WQ_E_FULL:
    /// the queue is at its max_depth or max_bytes, or the store at its quota; a job that alone
    /// is over
    /// max_bytes is WQ_E_TOO_LARGE.
    ///
    /// Returns: WQ_OK; WQ_DISABLED (queue disabled); WQ_DUPLICATE; WQ_CONFLICT (the flow that it
    /// would join is finished or cancelled); WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED (all
    /// three name the field), WQ_E_NOT_FOUND (queue deleted, no such flow, no queue of that name
    /// for a job of the chain), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_FULL,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL, WQ_E_NO_KEY
    /// (ENCRYPTION).
    /// Durability: by `call`; default that of the queue.
    /// Thread: any.
    /// Blocks: for durability and room.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_enqueue(
        queue: *mut wq_queue,
        spec: *const wq_job_spec,
        call: *mut wq_call,
        out: *mut wq_enqueued,
        err: *mut wq_error,
    ) -> i32;

    /// Enqueue `n` jobs in one change, in the order given; spec_size is sizeof specs[0].
    /// Without WQ_ENQUEUE_PARTIAL all or none: one job that is refused refuses them all, and its
    /// code is
    /// returned. With it the jobs before the first refused one are taken, and the code of that
    /// one is
    /// returned. *accepted (may be NULL) is how many were taken.
    /// `out` (may be NULL) is an array of n, out_size is sizeof out[0]: taken jobs have WQ_OK
    /// and an id,
    /// all others the code that is returned. Payloads and headers of one call, those of its
    /// chains too,
    /// have at most 512 MiB together.
    /// A job that meets the holder of a key (maybe an earlier job of this call) is no refusal:
    /// it alone
    /// has WQ_DUPLICATE and the holder's id in `out`, and *accepted does not count it.
    ///
    /// Returns: WQ_OK (no refusal, at least one taken); WQ_DUPLICATE (all n, nothing changed, no
    /// event); WQ_DISABLED; WQ_CONFLICT (flow); WQ_E_INVALID (also n = 0), WQ_E_TOO_LARGE (also
    /// n), WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (queue deleted, flow, chain), WQ_E_CLOSED,
    /// WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_FULL, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT,
    /// WQ_E_POISONED, WQ_E_INTERNAL, WQ_E_NO_KEY (ENCRYPTION).
    /// Durability: by `call`; default that of the queue. Holds for the taken ones also when a
    /// refusal is returned.
    /// Thread: any.
    /// Blocks: for durability and room.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_enqueue_many(
        queue: *mut wq_queue,
        specs: *const wq_job_spec,
        n: usize,
        spec_size: usize,
        flags: u32,
        call: *mut wq_call,
        out: *mut wq_enqueued,
        out_size: usize,
        accepted: *mut usize,
        err: *mut wq_error,
    ) -> i32;

    /// Take up to max_jobs ready jobs from the given queues, and lease each.
    /// The queues are asked in the order given: a later one only gives what the earlier ones
    /// left.
    /// Within a queue the order is priority, then the moment the job became ready. A job is in
    /// one valid
    /// lease at most. Each lease counts an attempt and has a new generation.
    /// Takes what is at hand without waiting for max_jobs; waits up to wait_ms for the first
    /// one. A
    /// batch of fewer jobs does not mean that no more are ready, since part of a long queue is
    /// only on
    /// disk: WQ_EMPTY does. Paused and disabled queues, and those at max_running, count as
    /// empty.
    /// `cancel` (may be NULL) ends the wait. `options` NULL: one job, no wait.
    ///
    /// Returns: WQ_OK with 1..max_jobs jobs in *batch; else *batch is NULL: WQ_EMPTY (after the
    /// wait); WQ_PAUSED, WQ_DISABLED (likewise, and every queue is); WQ_CANCELLED; WQ_E_INVALID
    /// (also queues of another store), WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (a queue
    /// is deleted), WQ_E_CLOSED (closed or shutting down), WQ_E_FORKED, WQ_E_NO_SPACE,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL, WQ_E_NO_KEY
    /// (ENCRYPTION).
    /// Durability: by `call`; default WQ_PROCESS, so that attempts are counted when a worker
    /// kills its process.
    /// Thread: any.
    /// Blocks: up to wait_ms, and for durability.
    /// Owns: the caller frees *batch with wq_batch_free. Freeing it does not settle anything.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_lease(
        store: *mut wq_store,
        queues: *const *mut wq_queue,
        n_queues: usize,
        options: *const wq_lease_options,
        cancel: *mut wq_cancel,
        call: *mut wq_call,
        batch: *mut *mut wq_batch,
        err: *mut wq_error,
    ) -> i32;

    /// Number of jobs in a batch. NULL has none.
    ///
    /// Returns: the number.
    /// Durability: none.
    /// Thread: one at a time.
    /// Blocks: no.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_batch_count(
        batch: *const wq_batch,
    ) -> usize;

    /// Describe the job with index `i`, counted from 0, as it was when the batch was made.
    /// The bytes in it are valid until wq_batch_free. `job` must be initialised (struct_size).
    ///
    /// Returns: WQ_OK; WQ_E_INVALID (NULL, index, struct_size).
    /// Durability: none.
    /// Thread: one at a time.
    /// Blocks: no.
    /// Owns: the batch owns the bytes.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_batch_job(
        batch: *const wq_batch,
        i: usize,
        job: *mut wq_job,
    ) -> i32;

    /// Header `h` of the job with index `i`, both counted from 0, in the order they were given.
    ///
    /// Returns: WQ_OK with *header set; WQ_E_INVALID (NULL, index) with *header empty.
    /// Durability: none.
    /// Thread: one at a time.
    /// Blocks: no.
    /// Owns: the batch owns the bytes.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_batch_header(
        batch: *const wq_batch,
        i: usize,
        h: usize,
        header: *mut wq_header,
    ) -> i32;

    /// Free a batch and set *batch to NULL. Leases are not touched.
    ///
    /// Returns: nothing.
    /// Durability: none.
    /// Thread: one at a time.
    /// Blocks: no.
    /// Owns: frees *batch.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_batch_free(
        batch: *mut *mut wq_batch,
    );

    /// Settle: the job is done and goes.
    ///
    /// Returns: WQ_OK; WQ_STALE (the lease was settled, reclaimed, cancelled or cleared; nothing
    /// changed); WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (no such id, another queue's
    /// job, or queue deleted), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO,
    /// WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default that of the queue. Lost with the machine at a weaker level
    /// than WQ_POWER, the job runs again.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_ack(
        queue: *mut wq_queue,
        id: u64,
        generation: u64,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Settle: the attempt failed. With attempts left the job is ready again at the tail of its
    /// priority, after the delay of its backoff policy; without, it is dead with reason
    /// WQ_DEAD_FAILED.
    /// `options` NULL: by policy, counted as an exception, no error text. A new priority holds
    /// from then
    /// on, also after reopen.
    ///
    /// Returns: WQ_OK; WQ_STALE (nothing changed); WQ_E_INVALID, WQ_E_UNSUPPORTED,
    /// WQ_E_NOT_FOUND (no such id, another queue's job, or queue deleted), WQ_E_CLOSED,
    /// WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default that of the queue.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_nack(
        queue: *mut wq_queue,
        id: u64,
        generation: u64,
        options: *const wq_nack_options,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Settle: the job failed for good and is dead with reason WQ_DEAD_FAILED, whatever attempts
    /// are
    /// left. The error text is any bytes; it is cut to the limit and kept.
    ///
    /// Returns: WQ_OK; WQ_STALE (nothing changed); WQ_E_INVALID, WQ_E_UNSUPPORTED,
    /// WQ_E_NOT_FOUND (no such id, another queue's job, or queue deleted), WQ_E_CLOSED,
    /// WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default that of the queue.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_fail(
        queue: *mut wq_queue,
        id: u64,
        generation: u64,
        error: *const c_void,
        error_len: usize,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Settle: give the job back before it was begun (shutdown, rate limit). The attempt is not
    /// counted.
    /// It is ready again after delay_ms, at the tail of its priority; with WQ_RELEASE_FRONT in
    /// `flags`
    /// and a delay of 0 at the head.
    ///
    /// Returns: WQ_OK; WQ_STALE (nothing changed); WQ_E_INVALID, WQ_E_UNSUPPORTED,
    /// WQ_E_NOT_FOUND (no such id, another queue's job, or queue deleted), WQ_E_CLOSED,
    /// WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default that of the queue.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_release(
        queue: *mut wq_queue,
        id: u64,
        generation: u64,
        delay_ms: i64,
        flags: u32,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Set the deadlines of `n` leased or running jobs to lease_ms from now, in one change. With
    /// a
    /// lease_ms of 0 each gets the timeout_ms of its job, or else lease_ms of its queue, and
    /// jobs with
    /// the same one are a change.
    /// A lease past its deadline that was not reclaimed yet is extended like any other. A
    /// running job
    /// without a deadline stays without one.
    /// codes (may be NULL) is an array of n: WQ_OK, WQ_STALE, WQ_CANCELLED (its flow was
    /// cancelled, it
    /// should stop; the lease stays as it is) or WQ_E_NOT_FOUND for each token. One that is
    /// refused does
    /// not stop the others.
    ///
    /// Returns: WQ_OK (all extended); else the code of the first token that was not, the others
    /// being extended: WQ_STALE, WQ_CANCELLED, WQ_E_NOT_FOUND (no such id, another queue's job);
    /// or with nothing changed: WQ_E_NOT_FOUND (queue deleted), WQ_E_INVALID (also n = 0),
    /// WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_PROCESS.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_extend(
        queue: *mut wq_queue,
        tokens: *const wq_token,
        n: usize,
        lease_ms: i64,
        codes: *mut i32,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Say that a leased job has been delivered and is being worked on: leased -> running.
    /// A running job has no lease deadline; with run_ms > 0 it has one, that far from now. It
    /// keeps its
    /// place in max_running. Confirming a running job again sets its deadline anew.
    ///
    /// Returns: WQ_OK; WQ_STALE; WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (no such id,
    /// another queue's job, or queue deleted), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_confirm(
        queue: *mut wq_queue,
        id: u64,
        generation: u64,
        run_ms: i64,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Settle `n` jobs of this queue in one change; item_size is sizeof items[0].
    /// Results and error texts of one call have at most 512 MiB together (WQ_E_TOO_LARGE).
    /// codes (may be NULL) is an array of n: WQ_OK, WQ_STALE or WQ_E_NOT_FOUND for each item.
    /// One that
    /// is refused does not stop the others. An invalid item refuses the whole call.
    ///
    /// Returns: WQ_OK (all settled); else the code of the first item that was not, the others
    /// being settled: WQ_STALE, WQ_E_NOT_FOUND (no such id, another queue's job); or with
    /// nothing changed: WQ_E_NOT_FOUND (queue deleted), WQ_E_INVALID (also n = 0),
    /// WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL, WQ_E_NO_KEY (a result).
    /// Durability: by `call`; default that of the queue.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_settle_many(
        queue: *mut wq_queue,
        items: *const wq_settle_item,
        n: usize,
        item_size: usize,
        codes: *mut i32,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Make a cancel token. One token may serve any number of calls, of any store, at the same
    /// time.
    ///
    /// Returns: WQ_OK with *cancel set; else *cancel is NULL: WQ_E_INVALID, WQ_E_NO_MEMORY,
    /// WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: the caller frees it with wq_cancel_free.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_cancel_new(
        cancel: *mut *mut wq_cancel,
        err: *mut wq_error,
    ) -> i32;

    /// Fire the token: calls that wait with it return WQ_CANCELLED, and so does each later one
    /// before it
    /// does anything. Takes locks: a signal handler leaves it to a thread (self-pipe, signalfd).
    /// A call
    /// that has its jobs already returns them. It stays fired. Firing NULL or twice does nothing
    /// more.
    ///
    /// Returns: nothing.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_cancel_fire(
        cancel: *mut wq_cancel,
    );

    /// Free a token and set *cancel to NULL. Does not fire it.
    ///
    /// Returns: nothing.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: until the calls that use it have returned.
    /// Owns: frees *cancel.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_cancel_free(
        cancel: *mut *mut wq_cancel,
    );

    /// Read one job of this queue, in whatever state, as a batch of one.
    ///
    /// Returns: WQ_OK with *batch set; else *batch is NULL: WQ_E_NOT_FOUND (no such job in this
    /// queue: ended, removed, another queue's, or queue deleted), WQ_E_INVALID, WQ_E_CLOSED,
    /// WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: for a disk read if the job is not in memory.
    /// Owns: the caller frees *batch with wq_batch_free.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_job_get(
        queue: *mut wq_queue,
        id: u64,
        batch: *mut *mut wq_batch,
        err: *mut wq_error,
    ) -> i32;

    /// Remove a job of this queue that is ready, delayed, leased or running.
    /// A leased or running one loses its lease and frees its place in max_running: the worker
    /// learns it
    /// from its next call, where extend, confirm, progress and every settle answer WQ_STALE (and
    /// wq_job_get WQ_E_NOT_FOUND, while after a lease that ran out it still finds the job). Dead
    /// letters
    /// are left to wq_dead_remove.
    ///
    /// Returns: WQ_OK; WQ_CONFLICT (the job is dead); WQ_E_NOT_FOUND (no such job in this queue:
    /// ended, removed, another queue's, or queue deleted); WQ_E_INVALID, WQ_E_UNSUPPORTED,
    /// WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT,
    /// WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability, and for a disk read if the job is not in memory.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_job_cancel(
        queue: *mut wq_queue,
        id: u64,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Give a ready or delayed job another priority, 0..255. A ready one goes to the tail of the
    /// new
    /// priority, as if it became ready now; one that has that priority already keeps its place.
    ///
    /// Returns: WQ_OK (also if nothing changed; then call->lsn is 0); WQ_CONFLICT (leased,
    /// running or dead; a nack with WQ_NACK_PRIORITY changes a held one); WQ_E_NOT_FOUND (no
    /// such job in this queue: ended, removed, another queue's, or queue deleted); WQ_E_INVALID
    /// (priority), WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY,
    /// WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability, and for a disk read if the job is not in memory.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_job_reprioritise(
        queue: *mut wq_queue,
        id: u64,
        priority: u32,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Leave a note with a job that is held: how far it is, or where the next attempt should go
    /// on. Any
    /// bytes, up to 4 KiB. It replaces the note before; an empty one takes it away. Read as
    /// `progress`
    /// of wq_job, it stays with the job over retries, death and replay until it is replaced.
    ///
    /// Returns: WQ_OK; WQ_STALE; WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND
    /// (no such id, another queue's job, or queue deleted), WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_PROCESS.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_job_progress(
        queue: *mut wq_queue,
        id: u64,
        generation: u64,
        note: *const c_void,
        note_len: usize,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// List dead letters of the queue, newest or oldest first, page by page.
    /// `query` NULL: the newest 100. *next_cursor (may be NULL) continues the listing; it is 0
    /// when
    /// there is no more. Entries that come or go between two pages do not disturb the others.
    ///
    /// Returns: WQ_OK with *batch set; else *batch is NULL: WQ_EMPTY (no more, *next_cursor 0);
    /// WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (queue deleted), WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: for disk reads.
    /// Owns: the caller frees *batch with wq_batch_free.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_dead_list(
        queue: *mut wq_queue,
        query: *const wq_dead_query,
        batch: *mut *mut wq_batch,
        next_cursor: *mut u64,
        err: *mut wq_error,
    ) -> i32;

    /// Read one dead letter as a batch of one. Its entry id is the job's id and its last
    /// generation.
    ///
    /// Returns: WQ_OK with *batch set; else *batch is NULL: WQ_STALE (that entry is no more: the
    /// job was replayed, and is alive or died again); WQ_E_NOT_FOUND (no such job in this
    /// queue), WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT,
    /// WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: for a disk read if the job is not in memory.
    /// Owns: the caller frees *batch with wq_batch_free.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_dead_get(
        queue: *mut wq_queue,
        id: u64,
        generation: u64,
        batch: *mut *mut wq_batch,
        err: *mut wq_error,
    ) -> i32;

    /// Make a dead job ready again, at the tail, with attempts, exceptions and backoff from zero
    /// and a
    /// generation of its own. Payload, time of enqueue, last error, number of replays and the
    /// time of
    /// its first death stay with it. A unique key that its death freed (WQ_UNIQUE_DONE) is taken
    /// again.
    /// Of several replays of one entry exactly one wins; the others answer WQ_STALE. The status
    /// of the
    /// queue does not matter, but its max_depth and max_bytes do, whatever its policy:
    /// WQ_E_FULL.
    ///
    /// Returns: WQ_OK; WQ_STALE (that entry is no more); WQ_DUPLICATE (another job holds its
    /// key; the message names it, the dead letter stays); WQ_CONFLICT (its flow was cancelled
    /// and is not finished; it stays); WQ_E_FULL; WQ_E_NOT_FOUND (no such job in this queue),
    /// WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY,
    /// WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability, and for a disk read if the job is not in memory.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_dead_replay(
        queue: *mut wq_queue,
        id: u64,
        generation: u64,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Remove one dead letter for ever.
    ///
    /// Returns: WQ_OK; WQ_STALE (that entry is no more); WQ_E_NOT_FOUND (no such job in this
    /// queue), WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability, and for a disk read if the job is not in memory.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_dead_remove(
        queue: *mut wq_queue,
        id: u64,
        generation: u64,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Remove all dead letters of the queue for ever, in one change.
    /// The same as wq_queue_clear with WQ_STATE_BIT(WQ_STATE_DEAD). *removed (may be NULL): how
    /// many.
    ///
    /// Returns: WQ_OK (also if there was none; then call->lsn is 0); WQ_E_INVALID,
    /// WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (queue deleted), WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_dead_purge(
        queue: *mut wq_queue,
        removed: *mut u64,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Replay all dead letters that the filter wants, the oldest first, each as wq_dead_replay
    /// does;
    /// those that it would refuse, but for a full queue, are passed over.
    /// Works in steps of some hundred, others go on meanwhile; a letter that dies after the call
    /// began
    /// is not taken, also not a second time. Stopped by the token, the callback, a full queue or
    /// a
    /// failure, what is replayed by then stays so and is told in `report` (may be NULL).
    /// One flush at the end makes all of it durable; call->lsn is the last of its records.
    ///
    /// Returns: WQ_OK (also if none was found; then call->lsn is 0); WQ_CANCELLED (stopped by
    /// the token or the callback); WQ_E_FULL (the queue has no room for the next; it drops no
    /// job for a replay); WQ_E_INVALID (also a filter without a condition), WQ_E_TOO_LARGE,
    /// WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (queue deleted), WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for disk reads and durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_dead_replay_many(
        queue: *mut wq_queue,
        filter: *const wq_dead_filter,
        call: *mut wq_call,
        report: *mut wq_dead_report,
        err: *mut wq_error,
    ) -> i32;

    /// Remove all dead letters that the filter wants for ever, the oldest first; else as
    /// wq_dead_replay_many, but needs no room.
    ///
    /// Returns: as wq_dead_replay_many, without WQ_E_FULL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for disk reads and durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_dead_remove_many(
        queue: *mut wq_queue,
        filter: *const wq_dead_filter,
        call: *mut wq_call,
        report: *mut wq_dead_report,
        err: *mut wq_error,
    ) -> i32;

    /// Open a completion queue. Calls with wq_call.cq do not wait for durability; their arrival
    /// is
    /// polled here, so that one thread can have thousands of changes under way.
    ///
    /// Returns: WQ_OK with *cq set; else *cq is NULL: WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_MEMORY, WQ_E_IO (no file descriptor left), WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: the caller closes *cq with wq_cq_close.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_cq_open(
        store: *mut wq_store,
        cq: *mut *mut wq_cq,
        err: *mut wq_error,
    ) -> i32;

    /// Close a completion queue and set *cq to NULL. Events not polled are dropped; the changes
    /// they
    /// tell of go their way. A thread in wq_cq_poll returns WQ_E_CLOSED.
    ///
    /// Returns: nothing.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: until pollers have left.
    /// Owns: frees *cq.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_cq_close(
        cq: *mut *mut wq_cq,
    );

    /// Take up to `n` events; event_size is sizeof events[0]. Waits up to timeout_ms for the
    /// first.
    /// Each change gives exactly one event. Events of changes that were made one after another
    /// at the
    /// same level come in that order. When the store fails or closes, changes that are not
    /// durable by
    /// then give their events with the error. *count is how many were taken.
    /// With WQ_OPEN_NO_THREADS a poll that has to wait does the flushing itself.
    ///
    /// Returns: WQ_OK with *count > 0; else *count is 0: WQ_EMPTY (after the wait);
    /// WQ_E_INVALID, WQ_E_CLOSED (closed, and no event left), WQ_E_FORKED, WQ_E_INTERNAL.
    /// Durability: an event with WQ_OK means that its change has reached the level its call
    /// asked for.
    /// Thread: any.
    /// Blocks: up to timeout_ms.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_cq_poll(
        cq: *mut wq_cq,
        events: *mut wq_event,
        n: usize,
        event_size: usize,
        timeout_ms: i64,
        count: *mut usize,
        err: *mut wq_error,
    ) -> i32;

    /// A file descriptor that is readable while events wait, for poll, epoll and event loops.
    /// wq_cq_poll makes it unreadable when it takes the last event. Do not read, write or close
    /// it; it
    /// ends with wq_cq_close.
    ///
    /// Returns: the descriptor, 0 or more; WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: the completion queue owns it.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_cq_eventfd(
        cq: *mut wq_cq,
    ) -> i32;

    /// Which job holds this key; for an idempotency key: which job a further enqueue would
    /// answer with.
    ///
    /// Returns: WQ_OK with *job_id set; else *job_id is 0: WQ_E_NOT_FOUND (nobody, or queue
    /// deleted); WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY,
    /// WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: for disk reads if it is not in memory.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_key_holder(
        queue: *mut wq_queue,
        kind: u32,
        key: *const c_void,
        key_len: usize,
        job_id: *mut u64,
        err: *mut wq_error,
    ) -> i32;

    /// Cancel the job that holds this unique or debounce key, as wq_job_cancel does. *job_id
    /// (may be
    /// NULL) is that job.
    ///
    /// Returns: WQ_OK; else *job_id is 0: WQ_CONFLICT (it is dead: replay or remove it);
    /// WQ_E_NOT_FOUND (nobody holds it, or queue deleted); WQ_E_INVALID (also
    /// WQ_KEY_IDEMPOTENCY), WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability, and for disk reads if it is not in memory.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_key_cancel(
        queue: *mut wq_queue,
        kind: u32,
        key: *const c_void,
        key_len: usize,
        call: *mut wq_call,
        job_id: *mut u64,
        err: *mut wq_error,
    ) -> i32;

    /// Give up the unique key of a job before its scope ends; by the holder of its lease only.
    /// WQ_OK as well if it holds none (any more); then call->lsn is 0.
    ///
    /// Returns: WQ_OK; WQ_STALE (the lease is held by this generation no more); WQ_E_NOT_FOUND
    /// (no such id, another queue's, or queue deleted); WQ_E_INVALID, WQ_E_UNSUPPORTED,
    /// WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED,
    /// WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_key_release(
        queue: *mut wq_queue,
        id: u64,
        generation: u64,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Create a flow. *flow is its id, which no job and no other flow of the store ever has.
    /// At its end `on_complete` is enqueued, or `on_failure` if a member failed or was cancelled
    /// and
    /// failures are not allowed, or if the flow was cancelled. The job has the id of the flow in
    /// its
    /// header wq-batch. If its queue was deleted by then, none is enqueued. `options` NULL:
    /// neither.
    ///
    /// Returns: WQ_OK; WQ_CONFLICT (an unfinished import); WQ_E_INVALID, WQ_E_TOO_LARGE,
    /// WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (no such queue), WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL,
    /// WQ_E_NO_KEY (ENCRYPTION).
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability, and for room.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_flow_create(
        store: *mut wq_store,
        options: *const wq_flow_options,
        flow: *mut u64,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Say that no more jobs come from outside: the flow is finished as soon as nothing is
    /// pending, at
    /// once if nothing is. A second time changes nothing.
    ///
    /// Returns: WQ_OK; WQ_E_NOT_FOUND (no such flow), WQ_E_INVALID, WQ_E_UNSUPPORTED,
    /// WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT,
    /// WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability, and for a disk read.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_flow_seal(
        store: *mut wq_store,
        flow: u64,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Cancel a flow. Members that did not start end as cancelled before this returns; after a
    /// crash in
    /// between the rest follows at the next checkpoint. Those that run go on until they are
    /// settled:
    /// they learn it by wq_job.flow_cancelled and from wq_extend, which answers WQ_CANCELLED and
    /// leaves
    /// their lease as it is. Whatever becomes of them, they are not tried again and their chains
    /// end.
    ///
    /// Returns: WQ_OK (also if it was cancelled before); WQ_CONFLICT (it is finished);
    /// WQ_E_NOT_FOUND (no such flow), WQ_E_INVALID, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability, and for disk reads.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_flow_cancel(
        store: *mut wq_store,
        flow: u64,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Read the counts of a flow. It can be read until seven days after its end.
    ///
    /// Returns: WQ_OK; WQ_E_NOT_FOUND (no such flow), WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: for a disk read.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_flow_get_status(
        store: *mut wq_store,
        flow: u64,
        status: *mut wq_flow_status,
        err: *mut wq_error,
    ) -> i32;

    /// List flows, newest first, page by page: up to n into `statuses`, status_size is
    /// sizeof statuses[0]. *cursor is 0 for the first page; it is moved on, and 0 when there is
    /// no more.
    /// *count is how many were told, which may be none though there are more.
    ///
    /// Returns: WQ_OK; WQ_E_INVALID (also n over 1,000), WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: for disk reads.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_flow_list(
        store: *mut wq_store,
        cursor: *mut u64,
        statuses: *mut wq_flow_status,
        n: usize,
        status_size: usize,
        count: *mut usize,
        err: *mut wq_error,
    ) -> i32;

    /// Make a schedule, or replace the one of that name: from now on the clock enqueues its job
    /// into
    /// this queue. Names are of the whole store: 1..255 bytes, UTF-8, no control characters.
    /// What is there already as given is left alone, and nothing is written (call->lsn is 0):
    /// put all
    /// your schedules at every start. A new expression or zone moves the next slot; a new job,
    /// queue or
    /// catch-up does not. A paused one stays paused. At most 10,000 in a store; payload up to 1
    /// MiB.
    ///
    ///   second   0-59 (only with six fields)   * , - /       minute   0-59   * , - /
    ///   hour     0-23   * , - /                              month    1-12 or JAN-DEC   * , - /
    ///   day of month   1-31   * , - /   alone: L (last day), L-3 (three before it), 15W
    /// (weekday
    ///                                   nearest to the 15th, in the same month), LW (last
    /// weekday)
    ///   day of week    0-7 or SUN-SAT (0 and 7 are Sunday)   * , - /   5L (last Friday), 1#2
    /// (second
    ///                                   Monday)
    ///   @yearly @monthly @weekly @daily @hourly             @every 90s, @every 1h30m (1s and
    /// more)
    ///
    /// If both day fields are other than *, a day that either of them names counts. a/n goes
    /// from a to
    /// the end of its field. @every counts from 1970 UTC. Where the zone's clock jumps ahead,
    /// what it
    /// jumps over runs once, at the end of the jump; a time that comes twice runs the first
    /// time. An
    /// expression of every hour goes by the time that passes instead: each time of both hours.
    ///
    /// A slot (schedule and due time) runs once or never: its job and the next slot are one
    /// record, also
    /// over a crash or a clock that is set back: behind a slot that ran while the clock was
    /// ahead the
    /// schedule goes on when that time has really come (wq_cron.problem says so); removed and
    /// put again
    /// it begins anew. A slot that could not run in time, because the store was closed or the
    /// clock was
    /// set ahead, was missed if it is over 10 s late; then the newest `catch_up` of the missed
    /// ones run
    /// at once (0: none). A disabled queue misses its slots, a paused one takes the jobs, a full
    /// one
    /// takes them once it has room (wq_cron.problem says so meanwhile). Deleting a queue removes
    /// its
    /// schedules. A zone that the system does not have any more stops its own schedule:
    /// wq_cron.problem
    /// says so, and the slots are caught up with when a process opens the store that has it.
    /// Each job
    /// carries the headers wq-schedule (the name) and wq-slot-ms (the due time in decimal),
    /// behind those
    /// of `spec`.
    ///
    /// Returns: WQ_OK; WQ_E_INVALID (the message names the field of the expression),
    /// WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_FULL (10,000 schedules), WQ_E_NOT_FOUND (queue
    /// deleted), WQ_CONFLICT (an unfinished import), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL, WQ_E_NO_KEY
    /// (ENCRYPTION).
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability, for a disk read of the zone or of the old schedule.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_cron_put(
        queue: *mut wq_queue,
        name: *const c_void,
        name_len: usize,
        spec: *const wq_cron_spec,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Remove a schedule. Jobs that it enqueued stay.
    ///
    /// Returns: WQ_OK; WQ_E_NOT_FOUND, WQ_CONFLICT (an unfinished import), WQ_E_INVALID,
    /// WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_cron_remove(
        store: *mut wq_store,
        name: *const c_void,
        name_len: usize,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Stop a schedule until wq_cron_resume. It misses nothing: it goes on with the first slot
    /// after it
    /// was resumed. Already so is WQ_OK and writes nothing.
    ///
    /// Returns: WQ_OK; as wq_cron_remove, WQ_E_CORRUPT.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability and a disk read.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_cron_pause(
        store: *mut wq_store,
        name: *const c_void,
        name_len: usize,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Let a paused schedule go on.
    ///
    /// Returns: WQ_OK; as wq_cron_remove, WQ_E_CORRUPT; WQ_E_INVALID (its zone is not there any
    /// more).
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability and a disk read.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_cron_resume(
        store: *mut wq_store,
        name: *const c_void,
        name_len: usize,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Read one schedule, as a list of one.
    ///
    /// Returns: WQ_OK with *crons set; else *crons is NULL: WQ_E_NOT_FOUND, WQ_E_INVALID,
    /// WQ_E_TOO_LARGE, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT,
    /// WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: for a disk read.
    /// Owns: the caller frees *crons with wq_crons_free.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_cron_get(
        store: *mut wq_store,
        name: *const c_void,
        name_len: usize,
        crons: *mut *mut wq_crons,
        err: *mut wq_error,
    ) -> i32;

    /// List schedules in the byte order of their names: up to `limit` (1..1,000) behind `after`;
    /// those
    /// of one queue if `queue` is not NULL. A list shorter than `limit` is the last one.
    ///
    /// Returns: WQ_OK with *crons set (it may be of length 0); else *crons is NULL:
    /// WQ_E_NOT_FOUND (queue deleted), WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY,
    /// WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: for disk reads.
    /// Owns: the caller frees *crons with wq_crons_free.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_cron_list(
        store: *mut wq_store,
        queue: *mut wq_queue,
        after: *const c_void,
        after_len: usize,
        limit: usize,
        crons: *mut *mut wq_crons,
        err: *mut wq_error,
    ) -> i32;

    /// Number of schedules in a list. NULL has none.
    ///
    /// Returns: the number.
    /// Durability: none.
    /// Thread: one at a time.
    /// Blocks: no.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_crons_count(
        crons: *const wq_crons,
    ) -> usize;

    /// The schedule with index `i`, counted from 0.
    ///
    /// Returns: WQ_OK with *cron filled; WQ_E_INVALID (NULL, index, struct_size).
    /// Durability: none.
    /// Thread: one at a time.
    /// Blocks: no.
    /// Owns: the list owns the bytes.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_crons_at(
        crons: *const wq_crons,
        i: usize,
        cron: *mut wq_cron,
    ) -> i32;

    /// Free a list and set *crons to NULL.
    ///
    /// Returns: nothing.
    /// Durability: none.
    /// Thread: one at a time.
    /// Blocks: no.
    /// Owns: frees *crons.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_crons_free(
        crons: *mut *mut wq_crons,
    );

    /// When an expression is due: the first `n` (1..10,000) times after `from_ms`, with no
    /// store.
    /// *count is less than n if it is due no more often before the year 10000.
    ///
    /// Returns: WQ_OK with *count times in `times`; else *count is 0: WQ_E_INVALID (the message
    /// names the field), WQ_E_NO_MEMORY, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: for a disk read of the zone.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_cron_next(
        expression: *const c_void,
        expression_len: usize,
        zone: *const c_void,
        zone_len: usize,
        from_ms: i64,
        times: *mut i64,
        n: usize,
        count: *mut usize,
        err: *mut wq_error,
    ) -> i32;

    /// Settle a job as done, with a result that is kept in the history of the queue. A queue
    /// that keeps
    /// no history (wq_queue_config.keep_done_count, keep_done_age_ms) drops it.
    ///
    /// Returns: as wq_ack, and WQ_E_TOO_LARGE (over 1 MiB), WQ_E_NO_KEY (a result that can not
    /// be sealed).
    /// Durability: by `call`; default that of the queue.
    /// Thread: any.
    /// Blocks: for durability.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_ack_result(
        queue: *mut wq_queue,
        id: u64,
        generation: u64,
        result: *const c_void,
        result_len: usize,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Read one acked job of this queue. *result is a copy of the view in *job: free it with
    /// wq_list_free.
    ///
    /// Returns: WQ_OK; else *result is NULL: WQ_E_NOT_FOUND (not acked, not kept (any more), or
    /// queue deleted), WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO,
    /// WQ_E_CORRUPT, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: for disk reads.
    /// Owns: the caller frees *result with wq_list_free; job->result is a view into it.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_history_get(
        queue: *mut wq_queue,
        id: u64,
        job: *mut wq_done_job,
        result: *mut *mut wq_list,
        err: *mut wq_error,
    ) -> i32;

    /// List the acked jobs of this queue, newest first, page by page: up to n into `jobs`,
    /// job_size is
    /// sizeof jobs[0]. *cursor is 0 for the first page; it is moved on, and 0 when there is no
    /// more.
    /// *count is how many were told, which may be none though there are more.
    ///
    /// Returns: WQ_OK; else *results is NULL: WQ_E_INVALID (also n over 1,000), WQ_E_NOT_FOUND
    /// (queue deleted), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT,
    /// WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: for disk reads.
    /// Owns: the caller frees *results with wq_list_free; each job's result is a view into it.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_history_list(
        queue: *mut wq_queue,
        cursor: *mut u64,
        jobs: *mut wq_done_job,
        n: usize,
        job_size: usize,
        count: *mut usize,
        results: *mut *mut wq_list,
        err: *mut wq_error,
    ) -> i32;

    /// Read one row, as a page of one.
    ///
    /// Returns: WQ_OK with *page set; else *page is NULL: WQ_EMPTY (no such row); WQ_CONFLICT
    /// (an unfinished import); WQ_E_INVALID, WQ_E_TOO_LARGE (key), WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: for a disk read if the row is not in memory.
    /// Owns: the caller frees *page with wq_kv_page_free.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_kv_get(
        store: *mut wq_store,
        key: *const c_void,
        key_len: usize,
        page: *mut *mut wq_kv_page,
        err: *mut wq_error,
    ) -> i32;

    /// Write a row: new, or in place of the one that is there, with the time to live of this
    /// call.
    /// WQ_KV_IF_ABSENT adds; WQ_KV_IF_VERSION, with what a read told, is compare-and-swap.
    /// *version (may be NULL): that of the new row.
    ///
    /// Returns: WQ_OK; WQ_CONFLICT (the condition does not hold, or an unfinished import), with
    /// nothing changed; WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED,
    /// WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED,
    /// WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability, for memory, and for a disk read if the row is not in memory.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_kv_put(
        store: *mut wq_store,
        key: *const c_void,
        key_len: usize,
        value: *const c_void,
        value_len: usize,
        options: *const wq_kv_options,
        call: *mut wq_call,
        version: *mut u64,
        err: *mut wq_error,
    ) -> i32;

    /// Add `delta` to a counter: a row whose value is a whole number of 64 bits in decimal. A
    /// row that
    /// is not there counts as 0, and gets options->ttl_ms; one that is there keeps its end.
    /// *sum (may be NULL): the new value. A fixed window of a rate: add 1 with ttl_ms of the
    /// window.
    ///
    /// Returns: WQ_OK; WQ_CONFLICT (no number, the sum does not fit, a condition that does not
    /// hold, or an unfinished import), with nothing changed; WQ_E_INVALID, WQ_E_TOO_LARGE,
    /// WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO,
    /// WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: as wq_kv_put.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_kv_add(
        store: *mut wq_store,
        key: *const c_void,
        key_len: usize,
        delta: i64,
        options: *const wq_kv_options,
        call: *mut wq_call,
        sum: *mut i64,
        err: *mut wq_error,
    ) -> i32;

    /// Remove a row, if the condition of `options` holds. Goes on when the disk is full.
    ///
    /// Returns: WQ_OK; WQ_EMPTY (no such row); WQ_CONFLICT (the condition does not hold, or an
    /// unfinished import); WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED,
    /// WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED,
    /// WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_POWER.
    /// Thread: any.
    /// Blocks: for durability, and for a disk read if the row is not in memory.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_kv_erase(
        store: *mut wq_store,
        key: *const c_void,
        key_len: usize,
        options: *const wq_kv_options,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// List rows in the order of the bytes of their keys, page by page. `query` NULL: the first
    /// 100.
    /// *more (may be NULL): 1 if there are more behind the page; go on with query->after = its
    /// last key.
    /// Rows that come or go between two pages do not disturb the others.
    ///
    /// Returns: WQ_OK with *page set; else *page is NULL: WQ_EMPTY (no such row); WQ_CONFLICT
    /// (an unfinished import); WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED,
    /// WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: for disk reads.
    /// Owns: the caller frees *page with wq_kv_page_free.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_kv_list(
        store: *mut wq_store,
        query: *const wq_kv_query,
        page: *mut *mut wq_kv_page,
        more: *mut i32,
        err: *mut wq_error,
    ) -> i32;

    /// Number of rows in a page. NULL has none.
    ///
    /// Returns: the number.
    /// Durability: none.
    /// Thread: one at a time.
    /// Blocks: no.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_kv_page_count(
        page: *const wq_kv_page,
    ) -> usize;

    /// The row with index `i`, counted from 0.
    ///
    /// Returns: WQ_OK with *row filled; WQ_E_INVALID (NULL, index, struct_size).
    /// Durability: none.
    /// Thread: one at a time.
    /// Blocks: no.
    /// Owns: the page owns the bytes.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_kv_page_row(
        page: *const wq_kv_page,
        i: usize,
        row: *mut wq_kv_row,
    ) -> i32;

    /// Free a page and set *page to NULL.
    ///
    /// Returns: nothing.
    /// Durability: none.
    /// Thread: one at a time.
    /// Blocks: no.
    /// Owns: frees *page.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_kv_page_free(
        page: *mut *mut wq_kv_page,
    );

    /// Take the lock for ttl_ms (0: until it is released). The owner that has it already gets it
    /// again,
    /// for this time from now on; so the call can be repeated when its answer was lost.
    ///
    /// Returns: WQ_OK; WQ_CONFLICT (another owner has it, or an unfinished import);
    /// WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_PROCESS.
    /// Thread: any.
    /// Blocks: as wq_kv_put.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_lock_take(
        store: *mut wq_store,
        key: *const c_void,
        key_len: usize,
        owner: *const c_void,
        owner_len: usize,
        ttl_ms: i64,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Keep the lock for ttl_ms from now on (0: until it is released).
    ///
    /// Returns: WQ_OK; WQ_STALE (the owner does not have it: released, run out, or another's);
    /// WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_PROCESS.
    /// Thread: any.
    /// Blocks: as wq_kv_put.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_lock_extend(
        store: *mut wq_store,
        key: *const c_void,
        key_len: usize,
        owner: *const c_void,
        owner_len: usize,
        ttl_ms: i64,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Give the lock up.
    ///
    /// Returns: WQ_OK; WQ_STALE (the owner does not have it; nothing changed); WQ_E_INVALID,
    /// WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: by `call`; default WQ_PROCESS.
    /// Thread: any.
    /// Blocks: as wq_kv_erase.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_lock_release(
        store: *mut wq_store,
        key: *const c_void,
        key_len: usize,
        owner: *const c_void,
        owner_len: usize,
        call: *mut wq_call,
        err: *mut wq_error,
    ) -> i32;

    /// Do `n` operations in one change: enqueue, settle and write kv rows, on any queues of the
    /// store;
    /// op_size is sizeof ops[0]. All of them or, if one is refused, none: "ack this, enqueue
    /// these,
    /// remember that". There is no state in between, for nobody, and none after a crash.
    /// Every operation is judged by the state before the first: none sees what another one does.
    /// A key
    /// may be named by one operation only, and a job be settled by one. New jobs get their ids
    /// in the
    /// order of the operations. A full queue is WQ_E_FULL, also if it drops its oldest.
    /// A unique or idempotency key that is held refuses all with WQ_DUPLICATE; the holder is
    /// told in
    /// results[*failed].job_id. A new job meets those of the operations before it, and not one
    /// that an
    /// operation before it acks: "ack this, enqueue the next one of its key". A debounced job
    /// takes the
    /// place of the one before it.
    /// results (may be NULL) is an array of n with result_size bytes each. *failed (may be
    /// NULL): index
    /// of the operation that was refused, which the message names as well; n if it was none of
    /// them.
    ///
    /// Returns: WQ_OK (all done; call->lsn is 0 if all were checks); or with nothing changed, by
    /// the operation *failed: WQ_STALE (settle), WQ_DUPLICATE (enqueue), WQ_CONFLICT (condition
    /// of a row, no counter, flow that has ended), WQ_DISABLED, WQ_E_FULL (enqueue),
    /// WQ_E_NOT_FOUND (queue, job or flow), WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED,
    /// WQ_E_CLOSED; by the call: WQ_CONFLICT (an unfinished import), WQ_E_INVALID (n = 0),
    /// WQ_E_FORKED, WQ_E_NO_SPACE (only if it enqueues, puts or adds), WQ_E_NO_MEMORY, WQ_E_IO,
    /// WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL, WQ_E_NO_KEY (enqueue, result).
    /// Durability: by `call`; default the strongest of its operations (queue of an enqueue or
    /// settle; WQ_POWER for a row).
    /// Thread: any.
    /// Blocks: for durability, for memory, and for disk reads of rows.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_transact(
        store: *mut wq_store,
        ops: *const wq_txn_op,
        n: usize,
        op_size: usize,
        call: *mut wq_call,
        results: *mut wq_txn_result,
        result_size: usize,
        failed: *mut usize,
        err: *mut wq_error,
    ) -> i32;

    /// Tell which keys the store has and needs, by id. Reads all that is stored, after a
    /// checkpoint.
    /// *count is how many there are; the first `n` of them are written to `uses`, which may be
    /// NULL for
    /// none. use_size is sizeof uses[0].
    ///
    /// Returns: WQ_OK, WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_CORRUPT, WQ_E_IO,
    /// WQ_E_NO_SPACE, WQ_E_POISONED, WQ_E_NO_MEMORY, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: for the checkpoint and the reading.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_store_get_keys(
        store: *mut wq_store,
        uses: *mut wq_key_use,
        n: usize,
        use_size: usize,
        count: *mut usize,
        err: *mut wq_error,
    ) -> i32;

    /// Tell where a job of this queue is, and why it does not run.
    /// `text` (may be NULL) gets the same as lines for a person, its last error among them;
    /// their
    /// wording may change, programs go by `causes`.
    ///
    /// Returns: WQ_OK; else *text is NULL: WQ_E_NOT_FOUND (no such job in this queue: ended,
    /// removed, another queue's, or queue deleted), WQ_E_INVALID, WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: for a disk read if the job is not in memory.
    /// Owns: the caller frees *text with wq_text_free.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_job_explain(
        queue: *mut wq_queue,
        id: u64,
        explanation: *mut wq_job_explanation,
        text: *mut *mut wq_text,
        err: *mut wq_error,
    ) -> i32;

    /// Tell what this queue would hand out now, and what holds it back.
    /// `text` (may be NULL) gets the same as lines for a person.
    ///
    /// Returns: WQ_OK; else *text is NULL: WQ_E_NOT_FOUND (queue deleted), WQ_E_INVALID,
    /// WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: rarely, for one disk read.
    /// Owns: the caller frees *text with wq_text_free.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_queue_explain(
        queue: *mut wq_queue,
        explanation: *mut wq_queue_explanation,
        text: *mut *mut wq_text,
        err: *mut wq_error,
    ) -> i32;

    /// The last failed attempts of the queue, newest first: nacks (those that count as an
    /// exception, or
    /// have a text), fails, and leases that expired. error_size is sizeof errors[0]. *count is
    /// how many
    /// were told, `n` at most. 10 of a queue are kept, in memory, since open; of all queues
    /// together the
    /// newest 4,096.
    ///
    /// Returns: WQ_OK with *count > 0; else *count is 0: WQ_EMPTY (none); WQ_E_INVALID,
    /// WQ_E_NOT_FOUND (queue deleted), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: no.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_queue_get_errors(
        queue: *mut wq_queue,
        errors: *mut wq_queue_error,
        n: usize,
        error_size: usize,
        count: *mut usize,
        err: *mut wq_error,
    ) -> i32;

    /// Take up to `n` events behind the cursor, in the order of their changes (of the log);
    /// event_size is sizeof events[0]. Waits up to wait_ms for the first. *count is how many
    /// were taken.
    /// The store must have been opened with events_max. That many are kept, in memory; who reads
    /// too
    /// slowly is told in cursor->dropped how many it has missed. An event is there as soon as
    /// its change
    /// is: whether that survives a power cut, wq_store_wait_durable with its `lsn` tells.
    /// Each opening of a store begins with no event and an epoch of its own. A cursor of an
    /// earlier one
    /// is answered with WQ_STALE once, and then stands at the start of this one: what happened
    /// in
    /// between is not known, so look at the queues again. Changes that an open replays are no
    /// events.
    /// `cancel` (may be NULL) ends the wait.
    ///
    /// Returns: WQ_OK with *count > 0; else *count is 0: WQ_EMPTY (after the wait), WQ_STALE,
    /// WQ_CANCELLED; WQ_E_INVALID, WQ_E_UNSUPPORTED (also: no events_max), WQ_E_CLOSED,
    /// WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any; a cursor one at a time.
    /// Blocks: up to wait_ms.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_events_poll(
        store: *mut wq_store,
        cursor: *mut wq_event_cursor,
        events: *mut wq_store_event,
        n: usize,
        event_size: usize,
        wait_ms: i64,
        cancel: *mut wq_cancel,
        count: *mut usize,
        err: *mut wq_error,
    ) -> i32;

    /// All figures of the store and its queues, in the text format of Prometheus (0.0.4).
    /// docs/METRICS.md explains each. The only label is the name of the queue, escaped; ids,
    /// keys and
    /// texts of jobs never come in. Each queue is shown as of a moment of its own.
    /// Works on a poisoned store.
    ///
    /// Returns: WQ_OK with *text set; else *text is NULL: WQ_E_INVALID, WQ_E_CLOSED,
    /// WQ_E_FORKED, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: rarely, for one disk read per queue.
    /// Owns: the caller frees *text with wq_text_free.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_store_metrics(
        store: *mut wq_store,
        text: *mut *mut wq_text,
        err: *mut wq_error,
    ) -> i32;

    /// The bytes of a text, UTF-8; no NUL follows. NULL has none.
    ///
    /// Returns: a view into it, valid until it is freed.
    /// Durability: none.
    /// Thread: one at a time.
    /// Blocks: no.
    /// Owns: the text owns the bytes.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_text_bytes(
        text: *const wq_text,
    ) -> wq_bytes;

    /// Free a text and set *text to NULL.
    ///
    /// Returns: nothing.
    /// Durability: none.
    /// Thread: one at a time.
    /// Blocks: no.
    /// Owns: frees *text.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_text_free(
        text: *mut *mut wq_text,
    );

    /// Copy the open store into `directory`, which is made, or is there and empty. Producers and
    /// workers
    /// go on meanwhile. The backup is the store as of one moment after the call began:
    /// report->lsn.
    /// What was acknowledged at WQ_POWER before the call is in it, also all else that was
    /// applied
    /// before. A backup that is not finished has no manifest and is refused by all that read it;
    /// after a
    /// failure the directory is as it was, or the message says what was left.
    /// Whatever goes wrong, the store is not harmed. It keeps replaced tables until the end, and
    /// needs
    /// room for them. One backup at a time runs, others wait. `report` may be NULL.
    ///
    /// Returns: WQ_OK; WQ_CANCELLED (options->cancel, or options->progress said so);
    /// WQ_E_INVALID (path, directory not empty), WQ_E_TOO_LARGE (path), WQ_E_UNSUPPORTED,
    /// WQ_E_NOT_FOUND (no parent directory), WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE (no room
    /// for it beside disk_reserve_bytes), WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED,
    /// WQ_E_INTERNAL.
    /// Durability: OK means that the whole backup is on its device.
    /// Thread: any.
    /// Blocks: as long as it takes to copy.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_store_backup(
        store: *mut wq_store,
        directory: *const c_char,
        options: *const wq_backup_options,
        report: *mut wq_backup_report,
        err: *mut wq_error,
    ) -> i32;

    /// Check the backup in `directory`: it is complete, each byte is as it was written, and the
    /// log in
    /// it has every record up to report->lsn.
    /// Reads only. `report` may be NULL.
    ///
    /// Returns: WQ_OK; WQ_CANCELLED; WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED,
    /// WQ_E_NOT_FOUND (no backup there), WQ_E_VERSION (of a newer library), WQ_E_CORRUPT
    /// (damaged or unfinished; the message names the file), WQ_E_NO_MEMORY, WQ_E_IO,
    /// WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: any.
    /// Blocks: as long as it takes to read all.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_backup_verify(
        directory: *const c_char,
        options: *const wq_backup_options,
        report: *mut wq_backup_report,
        err: *mut wq_error,
    ) -> i32;

    /// Make the store `path` from the backup in `directory`. The path must not be there, or be
    /// an empty
    /// directory. First the whole backup is checked; then the store is built in PATH.restoring
    /// and gets
    /// its name when it is complete and on the device. A failure leaves no store; what a killed
    /// restore
    /// left in PATH.restoring is removed by the next one. What else stands there is kept, and
    /// the call
    /// refused with WQ_E_INVALID.
    /// The store is as of report->lsn. Leases of then go on with their old deadlines. Tokens
    /// handed out
    /// later than the backup are refused there. Job ids behind the backup may be given out a
    /// second
    /// time. The backup stays as it is. `report` may be NULL.
    ///
    /// Returns: WQ_OK; WQ_CANCELLED; WQ_E_INVALID (path, or path in use), WQ_E_TOO_LARGE,
    /// WQ_E_UNSUPPORTED, WQ_E_NOT_FOUND (no backup there, no parent directory), WQ_E_VERSION,
    /// WQ_E_CORRUPT (the backup is damaged or unfinished; nothing was made), WQ_E_LOCKED
    /// (another restore is at it), WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_INTERNAL.
    /// Durability: OK means that the whole store is on the device.
    /// Thread: any.
    /// Blocks: as long as it takes to copy.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_backup_restore(
        directory: *const c_char,
        path: *const c_char,
        options: *const wq_backup_options,
        report: *mut wq_backup_report,
        err: *mut wq_error,
    ) -> i32;

    /// Tell the whole store, or one queue of it (name_len not 0), as of one moment: first the
    /// store,
    /// then its queues, then the kv rows by key and the flows (both of a whole store only), then
    /// of each
    /// queue its idempotency keys, its history (oldest first) and its rate keys, then the jobs.
    /// The
    /// leased, running, ready and dead jobs of each queue come in their order, those with a
    /// lease in
    /// front of the ready ones of their priority; the delayed jobs of all queues come last, by
    /// due time.
    /// Makes a checkpoint first. Other calls go on meanwhile; the disk space of what they remove
    /// comes
    /// back when the export has ended.
    ///
    /// Returns: WQ_OK; WQ_CANCELLED (visit returned other than 0); WQ_CONFLICT (an unfinished
    /// import); WQ_E_INVALID, WQ_E_NOT_FOUND (no such queue), WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_MEMORY, WQ_E_NO_SPACE, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: OK means that what was told is on the device.
    /// Thread: callback; `visit` runs on the calling thread and may call anything but close the
    /// store.
    /// Blocks: for disk reads and for `visit`.
    /// Owns: the records are valid during the callback only.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_store_export(
        store: *mut wq_store,
        name: *const c_void,
        name_len: usize,
        visit: wq_export_visit,
        ctx: *mut c_void,
        err: *mut wq_error,
    ) -> i32;

    /// Begin an import into a store that never had a queue.
    /// Until wq_import_end every call on a queue answers WQ_CONFLICT, also after a crash and a
    /// reopen:
    /// a store that is only half there is of no use, remove it and import again.
    ///
    /// Returns: WQ_OK; WQ_CONFLICT (it has or had queues, or an import has begun); WQ_E_INVALID,
    /// WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO,
    /// WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: OK means that it survives power loss.
    /// Thread: any.
    /// Blocks: for one flush.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_import_begin(
        store: *mut wq_store,
        record: *const wq_store_record,
        err: *mut wq_error,
    ) -> i32;

    /// Bring a queue in with its schedules, all or none. (If memory runs out while those before
    /// one that
    /// is refused are taken away again, the store stops: WQ_E_POISONED.)
    /// The handle serves wq_import_jobs at once and all else after wq_import_end.
    ///
    /// Returns: WQ_OK with *queue set; else *queue is NULL: WQ_CONFLICT (no import has begun, or
    /// the name is there); WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED,
    /// WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL,
    /// WQ_E_NO_KEY (a schedule).
    /// Durability: that of wq_import_end.
    /// Thread: any.
    /// Blocks: for disk I/O only.
    /// Owns: the caller closes *queue.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_import_queue(
        store: *mut wq_store,
        record: *const wq_queue_record,
        queue: *mut *mut wq_queue,
        err: *mut wq_error,
    ) -> i32;

    /// Bring `n` flows in, in one change; record_size is sizeof flows[0]. All or none. They come
    /// in
    /// before the jobs that belong to them. A flow that is sealed, and none of whose jobs is
    /// pending
    /// when the import ends, is finished by that and enqueues what follows.
    ///
    /// Returns: WQ_OK; WQ_CONFLICT (no import has begun); WQ_E_INVALID (also a flow that is
    /// there, or is not below next_job_id), WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: that of wq_import_end.
    /// Thread: any.
    /// Blocks: for disk I/O, and for room.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_import_flows(
        store: *mut wq_store,
        flows: *const wq_flow_record,
        n: usize,
        record_size: usize,
        err: *mut wq_error,
    ) -> i32;

    /// Bring `n` idempotency keys in, in one change; record_size is sizeof keys[0]. All or none.
    /// Those
    /// whose time has come are left out. They come in before the jobs of their queue: a job that
    /// has
    /// such a key and comes in without it gets one from its own times.
    ///
    /// Returns: WQ_OK; WQ_CONFLICT (no import has begun); WQ_E_INVALID (also a key that is
    /// there), WQ_E_TOO_LARGE, WQ_E_NOT_FOUND, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: that of wq_import_end.
    /// Thread: any.
    /// Blocks: for disk I/O, and for room.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_import_keys(
        queue: *mut wq_queue,
        keys: *const wq_key_record,
        n: usize,
        record_size: usize,
        err: *mut wq_error,
    ) -> i32;

    /// Bring `n` jobs of the history in, oldest first, in one change; job_size is sizeof
    /// jobs[0]. All or
    /// none. result_code does not count. What the configuration of the queue does not keep goes
    /// again.
    ///
    /// Returns: WQ_OK; WQ_CONFLICT (no import has begun); WQ_E_INVALID (also a job that is
    /// there), WQ_E_TOO_LARGE, WQ_E_NOT_FOUND, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: that of wq_import_end.
    /// Thread: any.
    /// Blocks: for disk I/O, and for room.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_import_history(
        queue: *mut wq_queue,
        jobs: *const wq_done_job,
        n: usize,
        job_size: usize,
        err: *mut wq_error,
    ) -> i32;

    /// Bring `n` rate keys in, in one change; record_size is sizeof keys[0]. All or none.
    ///
    /// Returns: WQ_OK; WQ_CONFLICT (no import has begun); WQ_E_INVALID (also a key that is given
    /// twice), WQ_E_TOO_LARGE, WQ_E_NOT_FOUND, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED,
    /// WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: that of wq_import_end.
    /// Thread: any.
    /// Blocks: for disk I/O, and for room.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_import_rate_keys(
        queue: *mut wq_queue,
        keys: *const wq_rate_key_record,
        n: usize,
        record_size: usize,
        err: *mut wq_error,
    ) -> i32;

    /// Bring `n` jobs in behind those that are there, in one change; job_size is sizeof jobs[0].
    /// All or
    /// none. They keep their ids, generations, counts and times. Jobs that were leased or
    /// running become
    /// ready with their attempts: no lease survives a move.
    ///
    /// Returns: WQ_OK; WQ_CONFLICT (no import has begun); WQ_E_INVALID (also an id that is
    /// there, or is not below next_job_id), WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED,
    /// WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED,
    /// WQ_E_INTERNAL, WQ_E_NO_KEY (ENCRYPTION).
    /// Durability: that of wq_import_end.
    /// Thread: any.
    /// Blocks: for disk I/O, and for room.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_import_jobs(
        queue: *mut wq_queue,
        jobs: *const wq_job_record,
        n: usize,
        job_size: usize,
        err: *mut wq_error,
    ) -> i32;

    /// Bring `n` kv rows in, in one change; row_size is sizeof rows[0]. All or none. A row whose
    /// time
    /// has come counts as not there.
    ///
    /// Returns: WQ_OK; WQ_CONFLICT (no import has begun); WQ_E_INVALID (also a key that is
    /// there), WQ_E_TOO_LARGE, WQ_E_UNSUPPORTED, WQ_E_CLOSED, WQ_E_FORKED, WQ_E_NO_SPACE,
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: that of wq_import_end.
    /// Thread: any.
    /// Blocks: for disk I/O, and for room.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_import_kv(
        store: *mut wq_store,
        rows: *const wq_kv_record,
        n: usize,
        row_size: usize,
        err: *mut wq_error,
    ) -> i32;

    /// End the import: the store is open for use.
    ///
    /// Returns: WQ_OK; WQ_CONFLICT (no import has begun); WQ_E_INVALID, WQ_E_CLOSED,
    /// WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_IO, WQ_E_POISONED, WQ_E_INTERNAL.
    /// Durability: OK means that all of the import survives power loss.
    /// Thread: any.
    /// Blocks: for one flush.
    /// Owns: nothing.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_import_end(
        store: *mut wq_store,
        err: *mut wq_error,
    ) -> i32;

    /// Look at the store in directory `path`, however damaged, and tell what is whole, what is
    /// damaged
    /// and how many jobs can be read. With a `new_path` all of them are written into a new store
    /// there.
    /// The damaged store is only read, and locked meanwhile; nothing may be at new_path. Jobs of
    /// which
    /// the last records are missing are kept as they were before: they may run again.
    /// `visit` and `report` may be NULL. A temporary directory of the system is used for links.
    ///
    /// Returns: WQ_OK; WQ_CANCELLED (visit returned other than 0); WQ_CONFLICT (something is at
    /// new_path); WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_NOT_FOUND (nothing at path), WQ_E_LOCKED
    /// (open), WQ_E_VERSION, WQ_E_FORKED, WQ_E_NO_SPACE, WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_CORRUPT,
    /// WQ_E_INTERNAL.
    /// Durability: OK means that the new store is on the device.
    /// Thread: callback; `visit` runs on the calling thread and may call anything, but not open
    /// this store.
    /// Blocks: for disk I/O and for `visit`.
    /// Owns: the finding is valid during the callback only.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_store_repair(
        path: *const c_char,
        new_path: *const c_char,
        visit: wq_repair_visit,
        ctx: *mut c_void,
        report: *mut wq_repair_report,
        err: *mut wq_error,
    ) -> i32;

    /// Read the log of the store in directory `path` from its oldest record, and call `visit`
    /// for each.
    /// Reads only. Holds the lock of the store meanwhile, so the store must not be open.
    /// An unfinished tail, which the next open would cut off, ends the scan like the end of the
    /// log.
    ///
    /// Returns: WQ_OK (end of the log); WQ_CANCELLED (visit returned other than 0);
    /// WQ_E_INVALID, WQ_E_TOO_LARGE, WQ_E_NOT_FOUND (no store there), WQ_E_LOCKED (open),
    /// WQ_E_VERSION, WQ_E_CORRUPT (damage that is no unfinished tail; the message says where),
    /// WQ_E_NO_MEMORY, WQ_E_IO, WQ_E_INTERNAL.
    /// Durability: none.
    /// Thread: callback; `visit` runs on the calling thread and may call anything, but not open
    /// this store.
    /// Blocks: for disk reads and for `visit`.
    /// Owns: the record is valid during the callback only.
    /// Since: 0.1.
    /// Stability: stable.
    pub fn wq_log_scan(
        path: *const c_char,
        visit: wq_log_visit,
        ctx: *mut c_void,
        err: *mut wq_error,
    ) -> i32;
}
