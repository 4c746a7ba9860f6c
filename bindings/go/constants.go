// Code generated from include/wq.h by bindings/api/generate.py. DO NOT EDIT.

package wq

// Values of the constants of wq.h, under their names without WQ_.

// WQ_VERSION_MAJOR.
const rawVersionMajor = 0

// WQ_VERSION_MINOR.
const rawVersionMinor = 1

// WQ_VERSION_PATCH.
const rawVersionPatch = 0

// What wq_store_open compares: the major and minor version of this header.
const rawAbiVersion = 1

// Outcomes: the call did what it says, and this is how it went.
const rawOk = 0

// nothing there, also after the wait
const rawEmpty = 1

// the time ran out before the wait was over; the wait can be repeated
const rawTimeout = 2

// the lease or entry is held by this generation no more; nothing changed
const rawStale = 3

// the unique key is held by another job
const rawDuplicate = 4

// the queue is disabled
const rawDisabled = 5

// the queue is paused
const rawPaused = 6

// the wait was cancelled, or the flow of the job was; nothing happened
const rawCancelled = 7

// the object changed since it was read, or is in another state
const rawConflict = 8

// an argument or field is invalid; the message names it
const rawEInvalid = -1

// over a size limit; the message names it
const rawETooLarge = -2

// not known to this library or platform
const rawEUnsupported = -3

// header and library, or store and library, do not match
const rawEVersion = -4

// State: the thing named is not there, or not in the right state.
const rawENotFound = -20

// the handle or its store is closed or shutting down
const rawEClosed = -21

// opened before a fork, in another process; see Fork
const rawEForked = -22

// the store is open elsewhere; the message has the process id
const rawELocked = -23

// reserved: no call opens a store for reading only yet
const rawEReadOnly = -24

// no key of the store opens or seals the payload; see ENCRYPTION
const rawENoKey = -25

// the disk is nearly full; leases and settles go on while they can
const rawENoSpace = -40

// the queue or store is at its limit
const rawEFull = -41

// Limits: may go away by itself or by an operator's hand.
const rawENoMemory = -42

// the operating system reported an I/O error; see os_errno
const rawEIo = -60

// stored data is damaged; message and offset say where
const rawECorrupt = -61

// an earlier storage failure stopped this store; close and reopen
const rawEPoisoned = -62

// an internal check failed: a bug in wq; the store is stopped
const rawEInternal = -80

// wq_error.flags: the predicates of the code, for languages that read the struct only.
const rawErrorRetryable = 1

// wq_error.flags: the predicates of the code, for languages that read the struct only.
const rawErrorMaybeCommitted = 2

// wq_error.flags: the predicates of the code, for languages that read the struct only.
const rawErrorFatal = 4

// Durability levels (convention 8). 0 takes the default.
const rawMemory = 1

// Durability levels (convention 8). 0 takes the default.
const rawProcess = 2

// Durability levels (convention 8). 0 takes the default.
const rawPower = 3

// WQ_E_NOT_FOUND if there is no store at the path
const rawOpenNoCreate = 1

// leases of the time before are taken back at once
const rawOpenExpireLeases = 2

// no background threads: wq_store_tick drives everything
const rawOpenNoThreads = 4

// wq_store_options.io_backend and wq_store_stats.io_backend
const rawIoAuto = 0

// wq_store_options.io_backend and wq_store_stats.io_backend
const rawIoUring = 1

// wq_store_options.io_backend and wq_store_stats.io_backend
const rawIoThreads = 2

// wq_store_stats.status
const rawStoreOpen = 1

// wq_store_shutdown was called
const rawStoreDraining = 2

// wq_store_stats.status
const rawStorePoisoned = 3

// Flags of wq_queue_open.
const rawQueueNoCreate = 1

// Queue status.
const rawStatusActive = 0

// no lease; enqueue goes on
const rawStatusPaused = 1

// no lease and no enqueue; delayed jobs stay
const rawStatusDisabled = 2

// backoff_base_ms
const rawBackoffFixed = 1

// backoff_base_ms * 2^(n - 1), at most backoff_max_ms
const rawBackoffExponential = 2

// backoff_list_ms[n - 1]; the last entry repeats
const rawBackoffList = 3

// Delay before the n-th retry (n = 1, 2, ...). 0 in a job: the queue's policy; in a queue: none
const rawBackoffListMax = 32

// WQ_E_FULL
const rawFullRefuse = 0

// ready jobs go for it in the same change, the least urgent first and of those the oldest.
// Delayed, leased and running ones never go: if the ready ones are not enough, WQ_E_FULL
const rawFullDropOldest = 1

// wq_queue_config.fields
const rawConfigMaxRunning = 1

// wq_queue_config.fields
const rawConfigMaxRetries = 2

// wq_queue_config.fields
const rawConfigLeaseMs = 4

// wq_queue_config.fields
const rawConfigDurability = 8

// all backoff_ fields together
const rawConfigBackoff = 16

// change only if the version is still `version`
const rawConfigVersion = 32

// wq_queue_config.fields
const rawConfigJobTtl = 128

// wq_queue_config.fields
const rawConfigMaxDepth = 65536

// wq_queue_config.fields
const rawConfigMaxBytes = 131072

// wq_queue_config.fields
const rawConfigFullPolicy = 262144

// wq_queue_config.fields
const rawConfigDeadMaxCount = 524288

// wq_queue_config.fields
const rawConfigDeadMaxAge = 1048576

// keep_done_count and keep_done_age_ms together
const rawConfigKeepDone = 2048

// all rate_ fields together
const rawConfigRate = 16777216

// wq_queue_config.fields
const rawConfigGroupLimit = 33554432

// wq_queue_config.fields
const rawConfigEncrypt = 67108864

// wq_queue_config.fields
const rawConfigCompress = 134217728

// all three of key_rate_...
const rawConfigKeyRate = 268435456

// all three of throttle_...
const rawConfigThrottle = 536870912

// Job states, and the bit of a state in the masks of wq_queue_clear.
const rawStateReady = 1

// Job states, and the bit of a state in the masks of wq_queue_clear.
const rawStateDelayed = 2

// Job states, and the bit of a state in the masks of wq_queue_clear.
const rawStateLeased = 3

// Job states, and the bit of a state in the masks of wq_queue_clear.
const rawStateRunning = 4

// Job states, and the bit of a state in the masks of wq_queue_clear.
const rawStateDead = 5

// the field `priority` counts; without it the priority is 100
const rawJobPriority = 1

// A lease of the job that runs out is its last: it dies of WQ_DEAD_TIMEOUT, whatever attempts
// are left. Also when WQ_OPEN_EXPIRE_LEASES takes it back.
const rawJobFailOnTimeout = 2

// a test push: answer what an enqueue of this job would answer now, and write nothing; ids and
// LSN are 0. In wq_enqueue_many all specs have it or none
const rawJobDryRun = 65536

// Whether the payload is sealed; with neither as the queue is configured. See ENCRYPTION.
const rawJobEncrypt = 67108864

// wq_job_spec.flags
const rawJobPlain = 134217728

// its first lease: one job of the key waits, others may be at work
const rawUniqueStarted = 1

// its end or its death; a replay takes the key again
const rawUniqueDone = 2

// its end: a dead one still holds the key
const rawUniqueGone = 3

// wq_job_record.key_rule: one of the three, or: the key is a debounce key
const rawKeyRuleDebounce = 4

// waits for a slot, the default
const rawOverlapPark = 0

// is delayed by overlap_ms
const rawOverlapRelease = 1

// ends without having run
const rawOverlapSkip = 2

// take the jobs up to the first refusal; without it all or none
const rawEnqueuePartial = 1

// without a delay: to the head of its priority, not the tail
const rawNackFront = 1

// do not count it in `exceptions`
const rawNackNoException = 2

// `priority` becomes the job's priority
const rawNackPriority = 4

// `delay_ms` counts; without it the backoff policy decides
const rawNackDelay = 8

// as WQ_NACK_FRONT
const rawReleaseFront = 1

// wq_settle_item.kind
const rawSettleAck = 1

// wq_settle_item.kind
const rawSettleNack = 2

// wq_settle_item.kind
const rawSettleFail = 3

// wq_settle_item.kind
const rawSettleRelease = 4

// wq_fail, or nacked with no retry left
const rawDeadFailed = 1

// its last attempt was lost: the lease was not settled in time
const rawDeadLeaseExpired = 2

// a lease ran out, and the job has WQ_JOB_FAIL_ON_TIMEOUT
const rawDeadTimeout = 3

// an attempt was lost at or after its retry_until_ms
const rawDeadRetryUntil = 4

// nacked for the max_exceptions-th time
const rawDeadMaxExceptions = 5

// 6 to 8 are said by workers only, who can say 1 and 3 as well
const rawDeadCancelled = 6

// see `reason` of wq_nack_options and wq_settle_item
const rawDeadExpired = 7

// the worker does not know what to do with such a job
const rawDeadUnknownType = 8

// its payload did not open when it was leased; see ENCRYPTION
const rawDeadUnreadable = 9

// wq_dead_query.flags
const rawDeadOldestFirst = 1

// with no other condition: really all dead letters of the queue
const rawDeadAll = 1

// only count; not whether others hold unique keys of theirs, and of `entries` only which are
// there
const rawDeadDryRun = 2

// Kinds of keys, for wq_key_holder and wq_key_cancel.
const rawKeyUnique = 1

// Kinds of keys, for wq_key_holder and wq_key_cancel.
const rawKeyDebounce = 2

// Kinds of keys, for wq_key_holder and wq_key_cancel.
const rawKeyIdempotency = 3

// on_complete also if members failed or were cancelled
const rawFlowAllowFailures = 1

// wq_flow_status.flags
const rawFlowSealed = 1

// wq_flow_status.flags
const rawFlowCancelled = 2

// wq_flow_status.flags
const rawFlowFinished = 4

// `catch_up` counts; without it the newest missed slot runs
const rawCronCatchUp = 1

// wq_cron.flags
const rawCronPaused = 1

// there is no such row
const rawKvIfAbsent = 1

// it has this `version`
const rawKvIfVersion = 2

// it has this `value`
const rawKvIfValue = 4

// queue, spec
const rawTxnEnqueue = 1

// queue, settle
const rawTxnSettle = 2

// key, value, options
const rawTxnKvPut = 3

// key, delta, options
const rawTxnKvAdd = 4

// key, options; a row that is not there is no obstacle
const rawTxnKvErase = 5

// key, options with a condition; changes nothing
const rawTxnKvCheck = 6

// the store was opened with it
const rawKeyKnown = 1

// new payloads are sealed with it
const rawKeyCurrent = 2

// its time has not come
const rawWhyDelayed = 1

// the queue is paused
const rawWhyPaused = 2

// the queue is disabled
const rawWhyDisabled = 4

// max_running jobs are leased or running
const rawWhySlots = 8

// other ready jobs go first
const rawWhyBehind = 16

// no call waits for a job of the queue just now
const rawWhyNoConsumer = 32

// a worker has it
const rawWhyHeld = 64

// and is past the deadline: it is taken back any moment
const rawWhyLate = 128

// it is a dead letter
const rawWhyDead = 256

// the store is shutting down, or stopped by a failure
const rawWhyStopped = 512

// queue: no job is ready
const rawWhyEmpty = 1024

// job: parked, its group is full; queue: all ready ones are
const rawWhyGroup = 16777216

// the rate of the queue, or of its rate key, lets no job begin; \ job: until `until_ms`
const rawWhyRate = 33554432

// its rate key cools down after exceptions, until `until_ms`
const rawWhyCooling = 67108864

// enqueued [time_ms: when it becomes ready, 0: it is]
const rawEventQueued = 1

// delayed -> ready
const rawEventPromoted = 2

// [time_ms: the deadline]
const rawEventLeased = 3

// leased -> running [time_ms: the deadline, 0: none]
const rawEventConfirmed = 4

// succeeded, and gone
const rawEventAcked = 5

// [time_ms: when it is ready again, 0: it is, or it died]
const rawEventNacked = 6

// given back uncounted, or WQ_OVERLAP_RELEASE [the same]
const rawEventReleased = 7

// its lease was taken back [the same]
const rawEventExpired = 8

// became a dead letter [dead_reason]
const rawEventDead = 9

// dead -> ready
const rawEventReplayed = 10

// cancelled, and gone
const rawEventCancelled = 11

// removed [job_id 0: `count` jobs of the queue at once]
const rawEventCleared = 12

// wq_store_event.kind: what happened. In brackets what the fields say beside job and queue.
const rawEventQueueDeclared = 13

// configuration or status
const rawEventQueueChanged = 14

// with `count` jobs
const rawEventQueueDeleted = 15

// all changes up to `lsn` are settled on disk
const rawEventCheckpoint = 16

// did not start in time, and gone
const rawEventJobExpired = 17

// went for a newer one, or a dead letter over the caps; gone
const rawEventDropped = 18

// job_id: the flow; `count`: its members
const rawEventFlowFinished = 19

// the rate key of the job, by its exception [time_ms: until]
const rawEventKeyCools = 20

// its group was full, and gone: WQ_OVERLAP_SKIP
const rawEventSkipped = 21

// with epoch 0: skip what has happened so far
const rawEventsFromNow = 1

// wq_repair_finding.kind
const rawRepairNote = 0

// a file or a family of rows is whole
const rawRepairIntact = 1

// it is not; `what` says where
const rawRepairDamaged = 2

// records first_lsn .. last_lsn of the log
const rawRepairMissing = 3

// `count` jobs of `queue` in `state` can be read
const rawRepairFound = 4

// the same: they were there, and nothing of them can be read
const rawRepairLost = 5

// the same, among those found: they may have gone on or ended
const rawRepairUncertain = 6

// rawCode is one line of the table of codes.
type rawCode struct {
	name           string
	value          int32
	class          string
	retryable      bool
	maybeCommitted bool
	fatal          bool
	text           string
}

// rawCodes are all codes that wq.h knows.
var rawCodes = [...]rawCode{
	{"OK", 0, "outcome", false, false, false, "ok"},
	{"EMPTY", 1, "outcome", true, false, false, "no job is ready"},
	{"TIMEOUT", 2, "outcome", true, false, false, "the time ran out before the wait was over"},
	{"STALE", 3, "outcome", false, false, false, "the lease or entry is no longer held by this generation"},
	{"DUPLICATE", 4, "outcome", true, false, false, "the unique key is held by another job"},
	{"DISABLED", 5, "outcome", true, false, false, "the queue is disabled"},
	{"PAUSED", 6, "outcome", true, false, false, "the queue is paused"},
	{"CANCELLED", 7, "outcome", false, false, false, "cancelled: the wait, or the batch that the job is in"},
	{"CONFLICT", 8, "outcome", false, false, false, "the object changed since it was read"},
	{"INVALID", -1, "usage", false, false, false, "invalid argument"},
	{"TOO_LARGE", -2, "usage", false, false, false, "over a size limit"},
	{"UNSUPPORTED", -3, "usage", false, false, false, "not supported by this library or platform"},
	{"VERSION", -4, "usage", false, false, false, "the header and the library, or the store and the library, do not match"},
	{"NOT_FOUND", -20, "state", false, false, false, "not found"},
	{"CLOSED", -21, "state", false, true, false, "the handle or its store is closed"},
	{"FORKED", -22, "state", false, false, false, "the handle was opened before a fork, in another process"},
	{"LOCKED", -23, "state", true, false, false, "the store is open in another process or handle"},
	{"READ_ONLY", -24, "state", false, false, false, "the store is open for reading only"},
	{"NO_KEY", -25, "state", false, false, false, "no key of this store opens or seals the payload"},
	{"NO_SPACE", -40, "limit", true, false, false, "the disk is full or nearly full"},
	{"FULL", -41, "limit", true, false, false, "the queue or store is at its limit"},
	{"NO_MEMORY", -42, "limit", true, false, false, "out of memory"},
	{"IO", -60, "storage", false, true, false, "the operating system reported an I/O error"},
	{"CORRUPT", -61, "storage", false, false, false, "stored data is damaged"},
	{"POISONED", -62, "storage", false, true, true, "an earlier storage failure stopped this store; reopen it"},
	{"INTERNAL", -80, "internal", false, true, true, "an internal check failed; this is a bug in wq"},
}

// rawField is where a field lies in its struct, in bytes.
type rawField struct {
	name   string
	offset uintptr
	size   uintptr
}

// rawStruct is the layout of a struct of wq.h.
type rawStruct struct {
	name   string
	size   uintptr
	fields []rawField
}

// rawStructs are the layouts that the library was made with.
var rawStructs = [...]rawStruct{
	{"wq_bytes", 16, []rawField{
		{"data", 0, 8},
		{"len", 8, 8},
	}},
	{"wq_header", 32, []rawField{
		{"name", 0, 16},
		{"value", 16, 16},
	}},
	{"wq_token", 16, []rawField{
		{"id", 0, 8},
		{"generation", 8, 8},
	}},
	{"wq_key", 24, []rawField{
		{"id", 0, 4},
		{"reserved_0", 4, 4},
		{"bytes", 8, 16},
	}},
	{"wq_error", 256, []rawField{
		{"struct_size", 0, 4},
		{"code", 4, 4},
		{"os_errno", 8, 4},
		{"flags", 12, 4},
		{"offset", 16, 8},
		{"message", 24, 232},
	}},
	{"wq_call", 32, []rawField{
		{"struct_size", 0, 4},
		{"durability", 4, 4},
		{"cq", 8, 8},
		{"user_data", 16, 8},
		{"lsn", 24, 8},
	}},
	{"wq_store_options", 104, []rawField{
		{"struct_size", 0, 4},
		{"flags", 4, 4},
		{"io_backend", 8, 4},
		{"spare_segments", 12, 4},
		{"memory_budget_bytes", 16, 8},
		{"payload_bytes_max", 24, 8},
		{"segment_bytes", 32, 8},
		{"checkpoint_log_bytes", 40, 8},
		{"disk_reserve_bytes", 48, 8},
		{"memory_window_ms", 56, 8},
		{"events_max", 64, 4},
		{"reserved_0", 68, 4},
		{"quota_bytes", 72, 8},
		{"keys", 80, 8},
		{"keys_count", 88, 8},
		{"current_key", 96, 4},
		{"reserved_1", 100, 4},
	}},
	{"wq_recovery", 272, []rawField{
		{"struct_size", 0, 4},
		{"clean", 4, 4},
		{"applied_lsn", 8, 8},
		{"last_lsn", 16, 8},
		{"records_replayed", 24, 8},
		{"truncated_bytes", 32, 8},
		{"leases_kept", 40, 8},
		{"leases_expired", 48, 8},
		{"temp_files_removed", 56, 8},
		{"replay_ms", 64, 8},
		{"truncated_where", 72, 200},
	}},
	{"wq_store_stats", 232, []rawField{
		{"struct_size", 0, 4},
		{"status", 4, 4},
		{"io_backend", 8, 4},
		{"queues", 12, 4},
		{"ready", 16, 8},
		{"delayed", 24, 8},
		{"leased", 32, 8},
		{"running", 40, 8},
		{"dead", 48, 8},
		{"last_lsn", 56, 8},
		{"process_lsn", 64, 8},
		{"durable_lsn", 72, 8},
		{"applied_lsn", 80, 8},
		{"resident_jobs", 88, 8},
		{"resident_bytes", 96, 8},
		{"memory_budget_bytes", 104, 8},
		{"log_records", 112, 8},
		{"log_bytes", 120, 8},
		{"log_written_bytes", 128, 8},
		{"log_live_bytes", 136, 8},
		{"log_segments", 144, 8},
		{"log_segments_spare", 152, 8},
		{"flushes", 160, 8},
		{"flush_us_total", 168, 8},
		{"flush_us_max", 176, 8},
		{"checkpoints", 184, 8},
		{"checkpoint_us_last", 192, 8},
		{"checkpoint_us_max", 200, 8},
		{"waiting", 208, 8},
		{"job_bytes", 216, 8},
		{"quota_bytes", 224, 8},
	}},
	{"wq_verify_report", 256, []rawField{
		{"struct_size", 0, 4},
		{"reserved_0", 4, 4},
		{"jobs", 8, 8},
		{"entries", 16, 8},
		{"problems", 24, 8},
		{"elapsed_ms", 32, 8},
		{"first_problem", 40, 216},
	}},
	{"wq_queue_config", 456, []rawField{
		{"struct_size", 0, 4},
		{"fields", 4, 4},
		{"max_running", 8, 4},
		{"max_retries", 12, 4},
		{"lease_ms", 16, 8},
		{"durability", 24, 4},
		{"status", 28, 4},
		{"backoff_kind", 32, 4},
		{"backoff_count", 36, 4},
		{"backoff_base_ms", 40, 8},
		{"backoff_max_ms", 48, 8},
		{"version", 56, 8},
		{"backoff_list_ms", 64, 256},
		{"backoff_jitter_permille", 320, 4},
		{"reserved_0", 324, 4},
		{"job_ttl_ms", 328, 8},
		{"max_depth", 336, 8},
		{"max_bytes", 344, 8},
		{"full_policy", 352, 4},
		{"consumers_paused", 356, 4},
		{"dead_max_count", 360, 8},
		{"dead_max_age_ms", 368, 8},
		{"keep_done_age_ms", 376, 8},
		{"keep_done_count", 384, 4},
		{"group_limit", 388, 4},
		{"rate_count", 392, 4},
		{"rate_burst", 396, 4},
		{"rate_window_ms", 400, 8},
		{"encrypt", 408, 4},
		{"compress_min_bytes", 412, 4},
		{"key_rate_count", 416, 4},
		{"key_rate_burst", 420, 4},
		{"key_rate_window_ms", 424, 8},
		{"throttle_count", 432, 4},
		{"reserved_1", 436, 4},
		{"throttle_window_ms", 440, 8},
		{"throttle_cool_ms", 448, 8},
	}},
	{"wq_queue_stats", 216, []rawField{
		{"struct_size", 0, 4},
		{"status", 4, 4},
		{"ready", 8, 8},
		{"delayed", 16, 8},
		{"leased", 24, 8},
		{"running", 32, 8},
		{"dead", 40, 8},
		{"oldest_ready_age_ms", 48, 8},
		{"enqueued_total", 56, 8},
		{"leased_total", 64, 8},
		{"acked_total", 72, 8},
		{"nacked_total", 80, 8},
		{"failed_total", 88, 8},
		{"released_total", 96, 8},
		{"expired_total", 104, 8},
		{"dead_total", 112, 8},
		{"replayed_total", 120, 8},
		{"cancelled_total", 128, 8},
		{"cleared_total", 136, 8},
		{"jobs_expired_total", 144, 8},
		{"dropped_total", 152, 8},
		{"dead_dropped_total", 160, 8},
		{"waiting_bytes", 168, 8},
		{"job_bytes", 176, 8},
		{"chain_cut_total", 184, 8},
		{"parked", 192, 8},
		{"rate_wait_ms", 200, 8},
		{"skipped_total", 208, 8},
	}},
	{"wq_job_spec", 320, []rawField{
		{"struct_size", 0, 4},
		{"flags", 4, 4},
		{"payload", 8, 16},
		{"headers", 24, 8},
		{"headers_count", 32, 8},
		{"delay_ms", 40, 8},
		{"run_at_ms", 48, 8},
		{"priority", 56, 4},
		{"max_attempts", 60, 4},
		{"backoff_kind", 64, 4},
		{"backoff_count", 68, 4},
		{"backoff_base_ms", 72, 8},
		{"backoff_max_ms", 80, 8},
		{"backoff_list_ms", 88, 8},
		{"expires_at_ms", 96, 8},
		{"retry_until_ms", 104, 8},
		{"timeout_ms", 112, 8},
		{"max_exceptions", 120, 4},
		{"backoff_jitter_permille", 124, 4},
		{"unique_key", 128, 16},
		{"unique_ttl_ms", 144, 8},
		{"unique_until", 152, 4},
		{"reserved_0", 156, 4},
		{"debounce_key", 160, 16},
		{"debounce_ms", 176, 8},
		{"debounce_max_ms", 184, 8},
		{"idempotency_key", 192, 16},
		{"idempotency_ms", 208, 8},
		{"flow", 216, 8},
		{"chain", 224, 8},
		{"chain_count", 232, 8},
		{"chain_size", 240, 8},
		{"group", 248, 16},
		{"group_limit", 264, 4},
		{"overlap", 268, 4},
		{"overlap_ms", 272, 8},
		{"tenant", 280, 16},
		{"rate_key", 296, 16},
		{"rate_cost", 312, 4},
		{"reserved_2", 316, 4},
	}},
	{"wq_next_job", 32, []rawField{
		{"struct_size", 0, 4},
		{"reserved_0", 4, 4},
		{"queue_name", 8, 16},
		{"spec", 24, 8},
	}},
	{"wq_enqueued", 24, []rawField{
		{"struct_size", 0, 4},
		{"code", 4, 4},
		{"job_id", 8, 8},
		{"lsn", 16, 8},
	}},
	{"wq_job", 296, []rawField{
		{"struct_size", 0, 4},
		{"state", 4, 4},
		{"id", 8, 8},
		{"generation", 16, 8},
		{"queue_index", 24, 4},
		{"priority", 28, 4},
		{"attempts", 32, 4},
		{"exceptions", 36, 4},
		{"max_attempts", 40, 4},
		{"replays", 44, 4},
		{"enqueued_ms", 48, 8},
		{"ready_ms", 56, 8},
		{"leased_ms", 64, 8},
		{"deadline_ms", 72, 8},
		{"lease_remaining_ms", 80, 8},
		{"dead_ms", 88, 8},
		{"dead_reason", 96, 4},
		{"headers_count", 100, 4},
		{"payload", 104, 16},
		{"queue_name", 120, 16},
		{"last_error", 136, 16},
		{"timeout_ms", 152, 8},
		{"expires_at_ms", 160, 8},
		{"retry_until_ms", 168, 8},
		{"max_exceptions", 176, 4},
		{"flags", 180, 4},
		{"progress", 184, 16},
		{"first_dead_ms", 200, 8},
		{"flow", 208, 8},
		{"chain_count", 216, 4},
		{"flow_cancelled", 220, 4},
		{"group", 224, 16},
		{"parked", 240, 4},
		{"reserved_0", 244, 4},
		{"payload_code", 248, 4},
		{"key_id", 252, 4},
		{"tenant", 256, 16},
		{"rate_key", 272, 16},
		{"rate_cost", 288, 4},
		{"reserved_1", 292, 4},
	}},
	{"wq_lease_options", 32, []rawField{
		{"struct_size", 0, 4},
		{"max_jobs", 4, 4},
		{"wait_ms", 8, 8},
		{"lease_ms", 16, 8},
		{"flags", 24, 4},
		{"reserved_0", 28, 4},
	}},
	{"wq_nack_options", 48, []rawField{
		{"struct_size", 0, 4},
		{"flags", 4, 4},
		{"delay_ms", 8, 8},
		{"priority", 16, 4},
		{"reserved_0", 20, 4},
		{"error", 24, 16},
		{"reason", 40, 4},
		{"reserved_1", 44, 4},
	}},
	{"wq_settle_item", 80, []rawField{
		{"struct_size", 0, 4},
		{"kind", 4, 4},
		{"id", 8, 8},
		{"generation", 16, 8},
		{"delay_ms", 24, 8},
		{"flags", 32, 4},
		{"priority", 36, 4},
		{"error", 40, 16},
		{"reason", 56, 4},
		{"reserved_0", 60, 4},
		{"result", 64, 16},
	}},
	{"wq_dead_query", 56, []rawField{
		{"struct_size", 0, 4},
		{"flags", 4, 4},
		{"cursor", 8, 8},
		{"limit", 16, 4},
		{"reason", 20, 4},
		{"from_ms", 24, 8},
		{"until_ms", 32, 8},
		{"error_part", 40, 16},
	}},
	{"wq_dead_filter", 96, []rawField{
		{"struct_size", 0, 4},
		{"flags", 4, 4},
		{"reason", 8, 4},
		{"reserved_0", 12, 4},
		{"from_ms", 16, 8},
		{"until_ms", 24, 8},
		{"error_part", 32, 16},
		{"entries", 48, 8},
		{"entries_count", 56, 8},
		{"limit", 64, 8},
		{"cancel", 72, 8},
		{"progress", 80, 8},
		{"progress_ctx", 88, 8},
	}},
	{"wq_dead_report", 32, []rawField{
		{"struct_size", 0, 4},
		{"reserved_0", 4, 4},
		{"changed", 8, 8},
		{"examined", 16, 8},
		{"elapsed_ms", 24, 8},
	}},
	{"wq_event", 24, []rawField{
		{"struct_size", 0, 4},
		{"code", 4, 4},
		{"user_data", 8, 8},
		{"lsn", 16, 8},
	}},
	{"wq_flow_options", 24, []rawField{
		{"struct_size", 0, 4},
		{"flags", 4, 4},
		{"on_complete", 8, 8},
		{"on_failure", 16, 8},
	}},
	{"wq_flow_status", 80, []rawField{
		{"struct_size", 0, 4},
		{"flags", 4, 4},
		{"flow", 8, 8},
		{"total", 16, 8},
		{"pending", 24, 8},
		{"done", 32, 8},
		{"failed", 40, 8},
		{"cancelled", 48, 8},
		{"follow_up_id", 56, 8},
		{"created_ms", 64, 8},
		{"finished_ms", 72, 8},
	}},
	{"wq_cron_spec", 56, []rawField{
		{"struct_size", 0, 4},
		{"flags", 4, 4},
		{"expression", 8, 16},
		{"zone", 24, 16},
		{"job", 40, 8},
		{"catch_up", 48, 4},
		{"reserved_0", 52, 4},
	}},
	{"wq_cron", 224, []rawField{
		{"struct_size", 0, 4},
		{"flags", 4, 4},
		{"name", 8, 16},
		{"queue_name", 24, 16},
		{"expression", 40, 16},
		{"zone", 56, 16},
		{"next_due_ms", 72, 8},
		{"last_slot_ms", 80, 8},
		{"created_ms", 88, 8},
		{"fired", 96, 8},
		{"missed", 104, 8},
		{"catch_up", 112, 4},
		{"priority", 116, 4},
		{"max_attempts", 120, 4},
		{"backoff_kind", 124, 4},
		{"backoff_base_ms", 128, 8},
		{"backoff_max_ms", 136, 8},
		{"backoff_list_ms", 144, 8},
		{"backoff_count", 152, 4},
		{"backoff_jitter_permille", 156, 4},
		{"payload", 160, 16},
		{"headers", 176, 8},
		{"headers_count", 184, 8},
		{"problem", 192, 16},
		{"payload_code", 208, 4},
		{"key_id", 212, 4},
		{"packing", 216, 4},
		{"plain_bytes", 220, 4},
	}},
	{"wq_done_job", 96, []rawField{
		{"struct_size", 0, 4},
		{"priority", 4, 4},
		{"id", 8, 8},
		{"generation", 16, 8},
		{"flow", 24, 8},
		{"attempts", 32, 4},
		{"exceptions", 36, 4},
		{"replays", 40, 4},
		{"reserved_0", 44, 4},
		{"enqueued_ms", 48, 8},
		{"leased_ms", 56, 8},
		{"done_ms", 64, 8},
		{"result", 72, 16},
		{"result_code", 88, 4},
		{"key_id", 92, 4},
	}},
	{"wq_kv_options", 40, []rawField{
		{"struct_size", 0, 4},
		{"flags", 4, 4},
		{"ttl_ms", 8, 8},
		{"version", 16, 8},
		{"value", 24, 16},
	}},
	{"wq_kv_query", 40, []rawField{
		{"struct_size", 0, 4},
		{"limit", 4, 4},
		{"prefix", 8, 16},
		{"after", 24, 16},
	}},
	{"wq_kv_row", 56, []rawField{
		{"struct_size", 0, 4},
		{"reserved_0", 4, 4},
		{"version", 8, 8},
		{"expires_ms", 16, 8},
		{"key", 24, 16},
		{"value", 40, 16},
	}},
	{"wq_txn_op", 80, []rawField{
		{"struct_size", 0, 4},
		{"kind", 4, 4},
		{"queue", 8, 8},
		{"spec", 16, 8},
		{"settle", 24, 8},
		{"key", 32, 16},
		{"value", 48, 16},
		{"delta", 64, 8},
		{"options", 72, 8},
	}},
	{"wq_txn_result", 24, []rawField{
		{"struct_size", 0, 4},
		{"code", 4, 4},
		{"job_id", 8, 8},
		{"sum", 16, 8},
	}},
	{"wq_key_use", 24, []rawField{
		{"struct_size", 0, 4},
		{"id", 4, 4},
		{"payloads", 8, 8},
		{"flags", 16, 4},
		{"reserved_0", 20, 4},
	}},
	{"wq_job_explanation", 88, []rawField{
		{"struct_size", 0, 4},
		{"state", 4, 4},
		{"causes", 8, 4},
		{"dead_reason", 12, 4},
		{"until_ms", 16, 8},
		{"ahead", 24, 8},
		{"ahead_exact", 32, 4},
		{"queue_status", 36, 4},
		{"slots_taken", 40, 8},
		{"slots_max", 48, 8},
		{"consumers_waiting", 56, 8},
		{"holder_id", 64, 8},
		{"holder_generation", 72, 8},
		{"holder_age_ms", 80, 8},
	}},
	{"wq_queue_explanation", 144, []rawField{
		{"struct_size", 0, 4},
		{"status", 4, 4},
		{"causes", 8, 4},
		{"reserved_0", 12, 4},
		{"leasable", 16, 8},
		{"oldest_ready_age_ms", 24, 8},
		{"slots_taken", 32, 8},
		{"slots_max", 40, 8},
		{"consumers_waiting", 48, 8},
		{"holder_id", 56, 8},
		{"holder_generation", 64, 8},
		{"holder_age_ms", 72, 8},
		{"enqueue_rate_1m", 80, 8},
		{"enqueue_rate_5m", 88, 8},
		{"lease_rate_1m", 96, 8},
		{"lease_rate_5m", 104, 8},
		{"ack_rate_1m", 112, 8},
		{"ack_rate_5m", 120, 8},
		{"parked", 128, 8},
		{"rate_wait_ms", 136, 8},
	}},
	{"wq_queue_error", 296, []rawField{
		{"struct_size", 0, 4},
		{"kind", 4, 4},
		{"at_ms", 8, 8},
		{"job_id", 16, 8},
		{"generation", 24, 8},
		{"attempt", 32, 4},
		{"text_len", 36, 4},
		{"text", 40, 256},
	}},
	{"wq_event_cursor", 32, []rawField{
		{"struct_size", 0, 4},
		{"flags", 4, 4},
		{"epoch", 8, 8},
		{"sequence", 16, 8},
		{"dropped", 24, 8},
	}},
	{"wq_store_event", 336, []rawField{
		{"struct_size", 0, 4},
		{"kind", 4, 4},
		{"sequence", 8, 8},
		{"lsn", 16, 8},
		{"at_ms", 24, 8},
		{"time_ms", 32, 8},
		{"job_id", 40, 8},
		{"generation", 48, 8},
		{"count", 56, 8},
		{"attempt", 64, 4},
		{"dead_reason", 68, 4},
		{"queue_name_len", 72, 4},
		{"reserved_0", 76, 4},
		{"queue_name", 80, 256},
	}},
	{"wq_backup_options", 32, []rawField{
		{"struct_size", 0, 4},
		{"flags", 4, 4},
		{"cancel", 8, 8},
		{"progress", 16, 8},
		{"progress_ctx", 24, 8},
	}},
	{"wq_backup_report", 56, []rawField{
		{"struct_size", 0, 4},
		{"reserved_0", 4, 4},
		{"lsn", 8, 8},
		{"checkpoint_lsn", 16, 8},
		{"files", 24, 8},
		{"bytes", 32, 8},
		{"created_ms", 40, 8},
		{"elapsed_ms", 48, 8},
	}},
	{"wq_store_record", 72, []rawField{
		{"struct_size", 0, 4},
		{"reserved_0", 4, 4},
		{"lsn", 8, 8},
		{"next_job_id", 16, 8},
		{"next_generation", 24, 8},
		{"queues", 32, 8},
		{"jobs", 40, 8},
		{"kv_rows", 48, 8},
		{"flows", 56, 8},
		{"rows", 64, 8},
	}},
	{"wq_queue_record", 72, []rawField{
		{"struct_size", 0, 4},
		{"reserved_0", 4, 4},
		{"name", 8, 16},
		{"created_ms", 24, 8},
		{"config", 32, 8},
		{"stats", 40, 8},
		{"schedules", 48, 8},
		{"schedules_count", 56, 8},
		{"rate_used_ns", 64, 8},
	}},
	{"wq_job_record", 416, []rawField{
		{"struct_size", 0, 4},
		{"state", 4, 4},
		{"id", 8, 8},
		{"generation", 16, 8},
		{"priority", 24, 4},
		{"attempts", 28, 4},
		{"exceptions", 32, 4},
		{"failures", 36, 4},
		{"max_attempts", 40, 4},
		{"replays", 44, 4},
		{"enqueued_ms", 48, 8},
		{"since_ms", 56, 8},
		{"due_ms", 64, 8},
		{"leased_ms", 72, 8},
		{"dead_reason", 80, 4},
		{"backoff_kind", 84, 4},
		{"backoff_base_ms", 88, 8},
		{"backoff_max_ms", 96, 8},
		{"backoff_list_ms", 104, 8},
		{"backoff_count", 112, 4},
		{"reserved_0", 116, 4},
		{"headers", 120, 8},
		{"headers_count", 128, 8},
		{"payload", 136, 16},
		{"last_error", 152, 16},
		{"queue_name", 168, 16},
		{"expires_at_ms", 184, 8},
		{"retry_until_ms", 192, 8},
		{"timeout_ms", 200, 8},
		{"max_exceptions", 208, 4},
		{"flags", 212, 4},
		{"backoff_jitter_permille", 216, 4},
		{"reserved_1", 220, 4},
		{"progress", 224, 16},
		{"key", 240, 16},
		{"key_rule", 256, 4},
		{"reserved_2", 260, 4},
		{"key_ms", 264, 8},
		{"key_until_ms", 272, 8},
		{"idempotency_key", 280, 16},
		{"idempotency_ms", 296, 8},
		{"first_dead_ms", 304, 8},
		{"flow", 312, 8},
		{"chain", 320, 16},
		{"group", 336, 16},
		{"group_limit", 352, 4},
		{"overlap", 356, 4},
		{"packing", 360, 4},
		{"plain_bytes", 364, 4},
		{"overlap_ms", 368, 8},
		{"tenant", 376, 16},
		{"rate_key", 392, 16},
		{"rate_cost", 408, 4},
		{"reserved_4", 412, 4},
	}},
	{"wq_kv_record", 48, []rawField{
		{"struct_size", 0, 4},
		{"reserved_0", 4, 4},
		{"expires_ms", 8, 8},
		{"key", 16, 16},
		{"value", 32, 16},
	}},
	{"wq_flow_record", 48, []rawField{
		{"struct_size", 0, 4},
		{"options", 4, 4},
		{"status", 8, 8},
		{"on_complete", 16, 16},
		{"on_failure", 32, 16},
	}},
	{"wq_key_record", 40, []rawField{
		{"struct_size", 0, 4},
		{"reserved_0", 4, 4},
		{"key", 8, 16},
		{"job_id", 24, 8},
		{"until_ms", 32, 8},
	}},
	{"wq_rate_key_record", 48, []rawField{
		{"struct_size", 0, 4},
		{"exceptions_count", 4, 4},
		{"key", 8, 16},
		{"used_ns", 24, 8},
		{"cool_until_ms", 32, 8},
		{"exceptions_ms", 40, 8},
	}},
	{"wq_export_item", 88, []rawField{
		{"struct_size", 0, 4},
		{"reserved_0", 4, 4},
		{"store", 8, 8},
		{"queue", 16, 8},
		{"job", 24, 8},
		{"kv", 32, 8},
		{"flow", 40, 8},
		{"key", 48, 8},
		{"done", 56, 8},
		{"rate_key", 64, 8},
		{"queue_name", 72, 16},
	}},
	{"wq_repair_finding", 96, []rawField{
		{"struct_size", 0, 4},
		{"kind", 4, 4},
		{"state", 8, 4},
		{"reserved_0", 12, 4},
		{"offset", 16, 8},
		{"first_lsn", 24, 8},
		{"last_lsn", 32, 8},
		{"count", 40, 8},
		{"where", 48, 16},
		{"queue", 64, 16},
		{"what", 80, 16},
	}},
	{"wq_repair_report", 56, []rawField{
		{"struct_size", 0, 4},
		{"reserved_0", 4, 4},
		{"damages", 8, 8},
		{"jobs_found", 16, 8},
		{"jobs_lost", 24, 8},
		{"jobs_uncertain", 32, 8},
		{"records", 40, 8},
		{"records_missing", 48, 8},
	}},
	{"wq_log_record", 88, []rawField{
		{"struct_size", 0, 4},
		{"reserved_0", 4, 4},
		{"lsn", 8, 8},
		{"durable_lsn", 16, 8},
		{"offset", 24, 8},
		{"size_bytes", 32, 8},
		{"segment", 40, 16},
		{"type", 56, 16},
		{"text", 72, 16},
	}},
}
