"""Generated from include/wq.h by bindings/api/generate.py. Do not edit.

Values of the constants of wq.h under their names without WQ_, and the table of codes.
"""

from typing import Dict, NamedTuple

VERSION_MAJOR = 0

VERSION_MINOR = 1

VERSION_PATCH = 0

#: What wq_store_open compares: the major and minor version of this header.
ABI_VERSION = 1

#: Outcomes: the call did what it says, and this is how it went.
OK = 0

#: nothing there, also after the wait
EMPTY = 1

#: the time ran out before the wait was over; the wait can be repeated
TIMEOUT = 2

#: the lease or entry is held by this generation no more; nothing changed
STALE = 3

#: the unique key is held by another job
DUPLICATE = 4

#: the queue is disabled
DISABLED = 5

#: the queue is paused
PAUSED = 6

#: the wait was cancelled, or the flow of the job was; nothing happened
CANCELLED = 7

#: the object changed since it was read, or is in another state
CONFLICT = 8

#: an argument or field is invalid; the message names it
E_INVALID = -1

#: over a size limit; the message names it
E_TOO_LARGE = -2

#: not known to this library or platform
E_UNSUPPORTED = -3

#: header and library, or store and library, do not match
E_VERSION = -4

#: State: the thing named is not there, or not in the right state.
E_NOT_FOUND = -20

#: the handle or its store is closed or shutting down
E_CLOSED = -21

#: opened before a fork, in another process; see Fork
E_FORKED = -22

#: the store is open elsewhere; the message has the process id
E_LOCKED = -23

#: reserved: no call opens a store for reading only yet
E_READ_ONLY = -24

#: no key of the store opens or seals the payload; see ENCRYPTION
E_NO_KEY = -25

#: the disk is nearly full; leases and settles go on while they can
E_NO_SPACE = -40

#: the queue or store is at its limit
E_FULL = -41

#: Limits: may go away by itself or by an operator's hand.
E_NO_MEMORY = -42

#: the operating system reported an I/O error; see os_errno
E_IO = -60

#: stored data is damaged; message and offset say where
E_CORRUPT = -61

#: an earlier storage failure stopped this store; close and reopen
E_POISONED = -62

#: an internal check failed: a bug in wq; the store is stopped
E_INTERNAL = -80

#: wq_error.flags: the predicates of the code, for languages that read the struct only.
ERROR_RETRYABLE = 1

#: wq_error.flags: the predicates of the code, for languages that read the struct only.
ERROR_MAYBE_COMMITTED = 2

#: wq_error.flags: the predicates of the code, for languages that read the struct only.
ERROR_FATAL = 4

#: Durability levels (convention 8). 0 takes the default.
MEMORY = 1

#: Durability levels (convention 8). 0 takes the default.
PROCESS = 2

#: Durability levels (convention 8). 0 takes the default.
POWER = 3

#: WQ_E_NOT_FOUND if there is no store at the path
OPEN_NO_CREATE = 1

#: leases of the time before are taken back at once
OPEN_EXPIRE_LEASES = 2

#: no background threads: wq_store_tick drives everything
OPEN_NO_THREADS = 4

#: wq_store_options.io_backend and wq_store_stats.io_backend
IO_AUTO = 0

#: wq_store_options.io_backend and wq_store_stats.io_backend
IO_URING = 1

#: wq_store_options.io_backend and wq_store_stats.io_backend
IO_THREADS = 2

#: wq_store_stats.status
STORE_OPEN = 1

#: wq_store_shutdown was called
STORE_DRAINING = 2

#: wq_store_stats.status
STORE_POISONED = 3

#: Flags of wq_queue_open.
QUEUE_NO_CREATE = 1

#: Queue status.
STATUS_ACTIVE = 0

#: no lease; enqueue goes on
STATUS_PAUSED = 1

#: no lease and no enqueue; delayed jobs stay
STATUS_DISABLED = 2

#: backoff_base_ms
BACKOFF_FIXED = 1

#: backoff_base_ms * 2^(n - 1), at most backoff_max_ms
BACKOFF_EXPONENTIAL = 2

#: backoff_list_ms[n - 1]; the last entry repeats
BACKOFF_LIST = 3

#: Delay before the n-th retry (n = 1, 2, ...). 0 in a job: the queue's policy; in a queue: none
BACKOFF_LIST_MAX = 32

#: WQ_E_FULL
FULL_REFUSE = 0

#: ready jobs go for it in the same change, the least urgent first and of those the oldest.
#: Delayed, leased and running ones never go: if the ready ones are not enough, WQ_E_FULL
FULL_DROP_OLDEST = 1

#: wq_queue_config.fields
CONFIG_MAX_RUNNING = 1

#: wq_queue_config.fields
CONFIG_MAX_RETRIES = 2

#: wq_queue_config.fields
CONFIG_LEASE_MS = 4

#: wq_queue_config.fields
CONFIG_DURABILITY = 8

#: all backoff_ fields together
CONFIG_BACKOFF = 16

#: change only if the version is still `version`
CONFIG_VERSION = 32

#: wq_queue_config.fields
CONFIG_JOB_TTL = 128

#: wq_queue_config.fields
CONFIG_MAX_DEPTH = 65536

#: wq_queue_config.fields
CONFIG_MAX_BYTES = 131072

#: wq_queue_config.fields
CONFIG_FULL_POLICY = 262144

#: wq_queue_config.fields
CONFIG_DEAD_MAX_COUNT = 524288

#: wq_queue_config.fields
CONFIG_DEAD_MAX_AGE = 1048576

#: keep_done_count and keep_done_age_ms together
CONFIG_KEEP_DONE = 2048

#: all rate_ fields together
CONFIG_RATE = 16777216

#: wq_queue_config.fields
CONFIG_GROUP_LIMIT = 33554432

#: wq_queue_config.fields
CONFIG_ENCRYPT = 67108864

#: wq_queue_config.fields
CONFIG_COMPRESS = 134217728

#: all three of key_rate_...
CONFIG_KEY_RATE = 268435456

#: all three of throttle_...
CONFIG_THROTTLE = 536870912

#: Job states, and the bit of a state in the masks of wq_queue_clear.
STATE_READY = 1

#: Job states, and the bit of a state in the masks of wq_queue_clear.
STATE_DELAYED = 2

#: Job states, and the bit of a state in the masks of wq_queue_clear.
STATE_LEASED = 3

#: Job states, and the bit of a state in the masks of wq_queue_clear.
STATE_RUNNING = 4

#: Job states, and the bit of a state in the masks of wq_queue_clear.
STATE_DEAD = 5

#: the field `priority` counts; without it the priority is 100
JOB_PRIORITY = 1

#: A lease of the job that runs out is its last: it dies of WQ_DEAD_TIMEOUT, whatever attempts
#: are left. Also when WQ_OPEN_EXPIRE_LEASES takes it back.
JOB_FAIL_ON_TIMEOUT = 2

#: a test push: answer what an enqueue of this job would answer now, and write nothing; ids and
#: LSN are 0. In wq_enqueue_many all specs have it or none
JOB_DRY_RUN = 65536

#: Whether the payload is sealed; with neither as the queue is configured. See ENCRYPTION.
JOB_ENCRYPT = 67108864

#: wq_job_spec.flags
JOB_PLAIN = 134217728

#: its first lease: one job of the key waits, others may be at work
UNIQUE_STARTED = 1

#: its end or its death; a replay takes the key again
UNIQUE_DONE = 2

#: its end: a dead one still holds the key
UNIQUE_GONE = 3

#: wq_job_record.key_rule: one of the three, or: the key is a debounce key
KEY_RULE_DEBOUNCE = 4

#: waits for a slot, the default
OVERLAP_PARK = 0

#: is delayed by overlap_ms
OVERLAP_RELEASE = 1

#: ends without having run
OVERLAP_SKIP = 2

#: take the jobs up to the first refusal; without it all or none
ENQUEUE_PARTIAL = 1

#: without a delay: to the head of its priority, not the tail
NACK_FRONT = 1

#: do not count it in `exceptions`
NACK_NO_EXCEPTION = 2

#: `priority` becomes the job's priority
NACK_PRIORITY = 4

#: `delay_ms` counts; without it the backoff policy decides
NACK_DELAY = 8

#: as WQ_NACK_FRONT
RELEASE_FRONT = 1

#: wq_settle_item.kind
SETTLE_ACK = 1

#: wq_settle_item.kind
SETTLE_NACK = 2

#: wq_settle_item.kind
SETTLE_FAIL = 3

#: wq_settle_item.kind
SETTLE_RELEASE = 4

#: wq_fail, or nacked with no retry left
DEAD_FAILED = 1

#: its last attempt was lost: the lease was not settled in time
DEAD_LEASE_EXPIRED = 2

#: a lease ran out, and the job has WQ_JOB_FAIL_ON_TIMEOUT
DEAD_TIMEOUT = 3

#: an attempt was lost at or after its retry_until_ms
DEAD_RETRY_UNTIL = 4

#: nacked for the max_exceptions-th time
DEAD_MAX_EXCEPTIONS = 5

#: 6 to 8 are said by workers only, who can say 1 and 3 as well
DEAD_CANCELLED = 6

#: see `reason` of wq_nack_options and wq_settle_item
DEAD_EXPIRED = 7

#: the worker does not know what to do with such a job
DEAD_UNKNOWN_TYPE = 8

#: its payload did not open when it was leased; see ENCRYPTION
DEAD_UNREADABLE = 9

#: wq_dead_query.flags
DEAD_OLDEST_FIRST = 1

#: with no other condition: really all dead letters of the queue
DEAD_ALL = 1

#: only count; not whether others hold unique keys of theirs, and of `entries` only which are
#: there
DEAD_DRY_RUN = 2

#: Kinds of keys, for wq_key_holder and wq_key_cancel.
KEY_UNIQUE = 1

#: Kinds of keys, for wq_key_holder and wq_key_cancel.
KEY_DEBOUNCE = 2

#: Kinds of keys, for wq_key_holder and wq_key_cancel.
KEY_IDEMPOTENCY = 3

#: on_complete also if members failed or were cancelled
FLOW_ALLOW_FAILURES = 1

#: wq_flow_status.flags
FLOW_SEALED = 1

#: wq_flow_status.flags
FLOW_CANCELLED = 2

#: wq_flow_status.flags
FLOW_FINISHED = 4

#: `catch_up` counts; without it the newest missed slot runs
CRON_CATCH_UP = 1

#: wq_cron.flags
CRON_PAUSED = 1

#: there is no such row
KV_IF_ABSENT = 1

#: it has this `version`
KV_IF_VERSION = 2

#: it has this `value`
KV_IF_VALUE = 4

#: queue, spec
TXN_ENQUEUE = 1

#: queue, settle
TXN_SETTLE = 2

#: key, value, options
TXN_KV_PUT = 3

#: key, delta, options
TXN_KV_ADD = 4

#: key, options; a row that is not there is no obstacle
TXN_KV_ERASE = 5

#: key, options with a condition; changes nothing
TXN_KV_CHECK = 6

#: the store was opened with it
KEY_KNOWN = 1

#: new payloads are sealed with it
KEY_CURRENT = 2

#: its time has not come
WHY_DELAYED = 1

#: the queue is paused
WHY_PAUSED = 2

#: the queue is disabled
WHY_DISABLED = 4

#: max_running jobs are leased or running
WHY_SLOTS = 8

#: other ready jobs go first
WHY_BEHIND = 16

#: no call waits for a job of the queue just now
WHY_NO_CONSUMER = 32

#: a worker has it
WHY_HELD = 64

#: and is past the deadline: it is taken back any moment
WHY_LATE = 128

#: it is a dead letter
WHY_DEAD = 256

#: the store is shutting down, or stopped by a failure
WHY_STOPPED = 512

#: queue: no job is ready
WHY_EMPTY = 1024

#: job: parked, its group is full; queue: all ready ones are
WHY_GROUP = 16777216

#: the rate of the queue, or of its rate key, lets no job begin; \ job: until `until_ms`
WHY_RATE = 33554432

#: its rate key cools down after exceptions, until `until_ms`
WHY_COOLING = 67108864

#: enqueued [time_ms: when it becomes ready, 0: it is]
EVENT_QUEUED = 1

#: delayed -> ready
EVENT_PROMOTED = 2

#: [time_ms: the deadline]
EVENT_LEASED = 3

#: leased -> running [time_ms: the deadline, 0: none]
EVENT_CONFIRMED = 4

#: succeeded, and gone
EVENT_ACKED = 5

#: [time_ms: when it is ready again, 0: it is, or it died]
EVENT_NACKED = 6

#: given back uncounted, or WQ_OVERLAP_RELEASE [the same]
EVENT_RELEASED = 7

#: its lease was taken back [the same]
EVENT_EXPIRED = 8

#: became a dead letter [dead_reason]
EVENT_DEAD = 9

#: dead -> ready
EVENT_REPLAYED = 10

#: cancelled, and gone
EVENT_CANCELLED = 11

#: removed [job_id 0: `count` jobs of the queue at once]
EVENT_CLEARED = 12

#: wq_store_event.kind: what happened. In brackets what the fields say beside job and queue.
EVENT_QUEUE_DECLARED = 13

#: configuration or status
EVENT_QUEUE_CHANGED = 14

#: with `count` jobs
EVENT_QUEUE_DELETED = 15

#: all changes up to `lsn` are settled on disk
EVENT_CHECKPOINT = 16

#: did not start in time, and gone
EVENT_JOB_EXPIRED = 17

#: went for a newer one, or a dead letter over the caps; gone
EVENT_DROPPED = 18

#: job_id: the flow; `count`: its members
EVENT_FLOW_FINISHED = 19

#: the rate key of the job, by its exception [time_ms: until]
EVENT_KEY_COOLS = 20

#: its group was full, and gone: WQ_OVERLAP_SKIP
EVENT_SKIPPED = 21

#: with epoch 0: skip what has happened so far
EVENTS_FROM_NOW = 1

#: wq_repair_finding.kind
REPAIR_NOTE = 0

#: a file or a family of rows is whole
REPAIR_INTACT = 1

#: it is not; `what` says where
REPAIR_DAMAGED = 2

#: records first_lsn .. last_lsn of the log
REPAIR_MISSING = 3

#: `count` jobs of `queue` in `state` can be read
REPAIR_FOUND = 4

#: the same: they were there, and nothing of them can be read
REPAIR_LOST = 5

#: the same, among those found: they may have gone on or ended
REPAIR_UNCERTAIN = 6


class CodeInfo(NamedTuple):
    """One code of wq.h."""

    name: str
    value: int
    kind: str
    retryable: bool
    maybe_committed: bool
    fatal: bool
    text: str


#: Every code, by its value.
CODES: Dict[int, CodeInfo] = {info.value: info for info in (
    CodeInfo('OK', 0, 'outcome', False, False, False,
             'ok'),
    CodeInfo('EMPTY', 1, 'outcome', True, False, False,
             'no job is ready'),
    CodeInfo('TIMEOUT', 2, 'outcome', True, False, False,
             'the time ran out before the wait was over'),
    CodeInfo('STALE', 3, 'outcome', False, False, False,
             'the lease or entry is no longer held by this generation'),
    CodeInfo('DUPLICATE', 4, 'outcome', True, False, False,
             'the unique key is held by another job'),
    CodeInfo('DISABLED', 5, 'outcome', True, False, False,
             'the queue is disabled'),
    CodeInfo('PAUSED', 6, 'outcome', True, False, False,
             'the queue is paused'),
    CodeInfo('CANCELLED', 7, 'outcome', False, False, False,
             'cancelled: the wait, or the batch that the job is in'),
    CodeInfo('CONFLICT', 8, 'outcome', False, False, False,
             'the object changed since it was read'),
    CodeInfo('INVALID', -1, 'usage', False, False, False,
             'invalid argument'),
    CodeInfo('TOO_LARGE', -2, 'usage', False, False, False,
             'over a size limit'),
    CodeInfo('UNSUPPORTED', -3, 'usage', False, False, False,
             'not supported by this library or platform'),
    CodeInfo('VERSION', -4, 'usage', False, False, False,
             'the header and the library, or the store and the library, do not match'),
    CodeInfo('NOT_FOUND', -20, 'state', False, False, False,
             'not found'),
    CodeInfo('CLOSED', -21, 'state', False, True, False,
             'the handle or its store is closed'),
    CodeInfo('FORKED', -22, 'state', False, False, False,
             'the handle was opened before a fork, in another process'),
    CodeInfo('LOCKED', -23, 'state', True, False, False,
             'the store is open in another process or handle'),
    CodeInfo('READ_ONLY', -24, 'state', False, False, False,
             'the store is open for reading only'),
    CodeInfo('NO_KEY', -25, 'state', False, False, False,
             'no key of this store opens or seals the payload'),
    CodeInfo('NO_SPACE', -40, 'limit', True, False, False,
             'the disk is full or nearly full'),
    CodeInfo('FULL', -41, 'limit', True, False, False,
             'the queue or store is at its limit'),
    CodeInfo('NO_MEMORY', -42, 'limit', True, False, False,
             'out of memory'),
    CodeInfo('IO', -60, 'storage', False, True, False,
             'the operating system reported an I/O error'),
    CodeInfo('CORRUPT', -61, 'storage', False, False, False,
             'stored data is damaged'),
    CodeInfo('POISONED', -62, 'storage', False, True, True,
             'an earlier storage failure stopped this store; reopen it'),
    CodeInfo('INTERNAL', -80, 'internal', False, True, True,
             'an internal check failed; this is a bug in wq'),
)}

#: Bytes of each struct in the header that this was made from.
SIZES: Dict[str, int] = {
    'wq_bytes': 16,
    'wq_header': 32,
    'wq_token': 16,
    'wq_key': 24,
    'wq_error': 256,
    'wq_call': 32,
    'wq_store_options': 104,
    'wq_recovery': 272,
    'wq_store_stats': 232,
    'wq_verify_report': 256,
    'wq_queue_config': 456,
    'wq_queue_stats': 216,
    'wq_job_spec': 320,
    'wq_next_job': 32,
    'wq_enqueued': 24,
    'wq_job': 296,
    'wq_lease_options': 32,
    'wq_nack_options': 48,
    'wq_settle_item': 80,
    'wq_dead_query': 56,
    'wq_dead_filter': 96,
    'wq_dead_report': 32,
    'wq_event': 24,
    'wq_flow_options': 24,
    'wq_flow_status': 80,
    'wq_cron_spec': 56,
    'wq_cron': 224,
    'wq_done_job': 96,
    'wq_kv_options': 40,
    'wq_kv_query': 40,
    'wq_kv_row': 56,
    'wq_txn_op': 80,
    'wq_txn_result': 24,
    'wq_key_use': 24,
    'wq_job_explanation': 88,
    'wq_queue_explanation': 144,
    'wq_queue_error': 296,
    'wq_event_cursor': 32,
    'wq_store_event': 336,
    'wq_backup_options': 32,
    'wq_backup_report': 56,
    'wq_store_record': 72,
    'wq_queue_record': 72,
    'wq_job_record': 416,
    'wq_kv_record': 48,
    'wq_flow_record': 48,
    'wq_key_record': 40,
    'wq_rate_key_record': 48,
    'wq_export_item': 88,
    'wq_repair_finding': 96,
    'wq_repair_report': 56,
    'wq_log_record': 88,
}
