"""Values of the surface: enumerations, and dataclasses of what wq tells about stores, queues, flows
and schedules. All are plain data: they stay valid when everything is closed. Numbers that the
header counts are ints; times follow wq.times.

`from_c` of a dataclass reads a struct of the library by the C names in the fields' metadata."""

from __future__ import annotations

import dataclasses
import enum
from datetime import datetime, timedelta
from typing import Any, Callable, Optional, Type, TypeVar

from . import _constants as k
from . import times
from ._lib import bytes_of, code_of, ffi, text_of
from .errors import Code

D = TypeVar("D")


class _Known(enum.IntEnum):
    """An enumeration of the library; a value of a newer one becomes a member named UNKNOWN."""

    @classmethod
    def _missing_(cls, value: object) -> Any:
        if not isinstance(value, int):
            raise ValueError(f"{value!r} is not a {cls.__name__}")
        member = int.__new__(cls, value)
        member._name_ = "UNKNOWN"
        member._value_ = value
        return member


class Durability(_Known):
    """What a call waits for. DEFAULT: what wq.h names with each call, mostly POWER."""

    DEFAULT = 0
    MEMORY = k.MEMORY
    PROCESS = k.PROCESS
    POWER = k.POWER


class State(_Known):
    """State of a job."""

    READY = k.STATE_READY
    DELAYED = k.STATE_DELAYED
    LEASED = k.STATE_LEASED
    RUNNING = k.STATE_RUNNING
    DEAD = k.STATE_DEAD


class Status(_Known):
    """Status of a queue."""

    ACTIVE = k.STATUS_ACTIVE
    PAUSED = k.STATUS_PAUSED
    DISABLED = k.STATUS_DISABLED


class StoreStatus(_Known):
    """Status of a store."""

    OPEN = k.STORE_OPEN
    DRAINING = k.STORE_DRAINING
    POISONED = k.STORE_POISONED


class IoBackend(_Known):
    """How a store does its I/O."""

    AUTO = k.IO_AUTO
    URING = k.IO_URING
    THREADS = k.IO_THREADS


class FullPolicy(_Known):
    """What an enqueue does when the queue is full."""

    REFUSE = k.FULL_REFUSE
    DROP_OLDEST = k.FULL_DROP_OLDEST


class DeadReason(_Known):
    """Why a job is dead. NONE: it is not, or (asked for) any reason."""

    NONE = 0
    FAILED = k.DEAD_FAILED
    LEASE_EXPIRED = k.DEAD_LEASE_EXPIRED
    TIMEOUT = k.DEAD_TIMEOUT
    RETRY_UNTIL = k.DEAD_RETRY_UNTIL
    MAX_EXCEPTIONS = k.DEAD_MAX_EXCEPTIONS
    CANCELLED = k.DEAD_CANCELLED
    EXPIRED = k.DEAD_EXPIRED
    UNKNOWN_TYPE = k.DEAD_UNKNOWN_TYPE
    UNREADABLE = k.DEAD_UNREADABLE


class UniqueUntil(_Known):
    """Which moment in the life of a job frees its unique key. DEFAULT is DONE."""

    DEFAULT = 0
    STARTED = k.UNIQUE_STARTED
    DONE = k.UNIQUE_DONE
    GONE = k.UNIQUE_GONE


class Overlap(_Known):
    """What becomes of a job whose group is full when a lease comes to it: it waits for a slot, is
    delayed by `overlap_delay`, or ends without having run."""

    PARK = k.OVERLAP_PARK
    RELEASE = k.OVERLAP_RELEASE
    SKIP = k.OVERLAP_SKIP


class KeyKind(_Known):
    """Kinds of keys."""

    UNIQUE = k.KEY_UNIQUE
    DEBOUNCE = k.KEY_DEBOUNCE
    IDEMPOTENCY = k.KEY_IDEMPOTENCY


class EventKind(_Known):
    """What happened to a store."""

    QUEUED = k.EVENT_QUEUED
    PROMOTED = k.EVENT_PROMOTED
    LEASED = k.EVENT_LEASED
    CONFIRMED = k.EVENT_CONFIRMED
    ACKED = k.EVENT_ACKED
    NACKED = k.EVENT_NACKED
    RELEASED = k.EVENT_RELEASED
    EXPIRED = k.EVENT_EXPIRED
    DEAD = k.EVENT_DEAD
    REPLAYED = k.EVENT_REPLAYED
    CANCELLED = k.EVENT_CANCELLED
    CLEARED = k.EVENT_CLEARED
    QUEUE_DECLARED = k.EVENT_QUEUE_DECLARED
    QUEUE_CHANGED = k.EVENT_QUEUE_CHANGED
    QUEUE_DELETED = k.EVENT_QUEUE_DELETED
    CHECKPOINT = k.EVENT_CHECKPOINT
    JOB_EXPIRED = k.EVENT_JOB_EXPIRED
    DROPPED = k.EVENT_DROPPED
    FLOW_FINISHED = k.EVENT_FLOW_FINISHED
    KEY_COOLS = k.EVENT_KEY_COOLS
    SKIPPED = k.EVENT_SKIPPED


class Why(enum.IntFlag):
    """What holds a job or a queue back. A bit that has no name here is a cause of a newer
    library."""

    DELAYED = k.WHY_DELAYED
    PAUSED = k.WHY_PAUSED
    DISABLED = k.WHY_DISABLED
    SLOTS = k.WHY_SLOTS
    BEHIND = k.WHY_BEHIND
    NO_CONSUMER = k.WHY_NO_CONSUMER
    HELD = k.WHY_HELD
    LATE = k.WHY_LATE
    DEAD = k.WHY_DEAD
    STOPPED = k.WHY_STOPPED
    EMPTY = k.WHY_EMPTY
    GROUP = k.WHY_GROUP
    RATE = k.WHY_RATE
    COOLING = k.WHY_COOLING


# ---- reading structs ----------------------------------------------------------------------------

def _c(name: str, read: Callable[[Any], Any] = lambda value: value) -> Any:
    """A field that is read from the C field `name`."""
    return dataclasses.field(metadata={"c": (name, read)})


def _name_of_chars(chars: Any) -> str:
    """A name in a field of chars that ends with NUL."""
    return str(ffi.string(chars).decode("utf-8", "surrogateescape"))


def from_c(cls: Type[D], struct: Any, **more: Any) -> D:
    """A dataclass out of a struct; `more` are fields that do not come from it."""
    values = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        if field.name not in more:
            name, read = field.metadata.get("c") or (field.name, None)
            value = getattr(struct, name)
            values[field.name] = read(value) if read is not None else value
    return cls(**values, **more)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recovery:
    """What opening a store found and did. Nothing is repaired silently."""

    clean: bool = _c("clean", bool)
    applied_lsn: int
    last_lsn: int
    records_replayed: int
    truncated_bytes: int
    leases_kept: int
    leases_expired: int
    temp_files_removed: int
    replay_time: timedelta = _c("replay_ms", times.duration)
    truncated_where: str = _c("truncated_where", text_of)


@dataclasses.dataclass(frozen=True, kw_only=True)
class StoreStats:
    """Figures of a store. Totals count since open."""

    status: StoreStatus = _c("status", StoreStatus)
    io_backend: IoBackend = _c("io_backend", IoBackend)
    queues: int
    ready: int
    delayed: int
    leased: int
    running: int
    dead: int
    last_lsn: int
    process_lsn: int
    durable_lsn: int
    applied_lsn: int
    resident_jobs: int
    resident_bytes: int
    memory_budget_bytes: int
    log_records: int
    log_bytes: int
    log_written_bytes: int
    log_live_bytes: int
    log_segments: int
    log_segments_spare: int
    flushes: int
    flush_us_total: int
    flush_us_max: int
    checkpoints: int
    checkpoint_us_last: int
    checkpoint_us_max: int
    waiting: int
    job_bytes: int
    quota_bytes: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class VerifyReport:
    """What a full check found: problems is 0, or the check was raised as CorruptError."""

    jobs: int
    entries: int
    problems: int
    elapsed: timedelta = _c("elapsed_ms", times.duration)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BackupReport:
    """A backup that was made, checked or restored. It has every change up to `lsn`, none behind."""

    lsn: int
    checkpoint_lsn: int
    files: int
    bytes: int
    created: Optional[datetime] = _c("created_ms", times.when)
    elapsed: timedelta = _c("elapsed_ms", times.duration)


@dataclasses.dataclass(frozen=True, kw_only=True)
class QueueStats:
    """Counts of now, and totals over the life of a queue (kept over reopen)."""

    status: Status = _c("status", Status)
    ready: int
    delayed: int
    leased: int
    running: int
    dead: int
    oldest_ready_age: timedelta = _c("oldest_ready_age_ms", times.duration)
    enqueued_total: int
    leased_total: int
    acked_total: int
    nacked_total: int
    failed_total: int
    released_total: int
    expired_total: int
    dead_total: int
    replayed_total: int
    cancelled_total: int
    cleared_total: int
    jobs_expired_total: int
    dropped_total: int
    dead_dropped_total: int
    waiting_bytes: int
    job_bytes: int
    chain_cut_total: int
    parked: int
    rate_wait: timedelta = _c("rate_wait_ms", times.duration)
    skipped_total: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class QueueError:
    """A failed attempt: NACKED, DEAD (failed) or EXPIRED."""

    kind: EventKind = _c("kind", EventKind)
    at: Optional[datetime] = _c("at_ms", times.when)
    job_id: int
    generation: int
    attempt: int
    text: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class JobExplanation:
    """Where a job is and why it does not run. `text` says the same in lines for a person."""

    state: State = _c("state", State)
    causes: Why = _c("causes", Why)
    dead_reason: DeadReason = _c("dead_reason", DeadReason)
    until: Optional[datetime] = _c("until_ms", times.when)
    ahead: int
    ahead_exact: bool = _c("ahead_exact", bool)
    queue_status: Status = _c("queue_status", Status)
    slots_taken: int
    slots_max: int
    consumers_waiting: int
    holder_id: int
    holder_generation: int
    holder_age: timedelta = _c("holder_age_ms", times.duration)
    text: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class QueueExplanation:
    """What holds a queue back. Rates are jobs per second. `text` says the same for a person."""

    status: Status = _c("status", Status)
    causes: Why = _c("causes", Why)
    leasable: int
    oldest_ready_age: timedelta = _c("oldest_ready_age_ms", times.duration)
    slots_taken: int
    slots_max: int
    consumers_waiting: int
    holder_id: int
    holder_generation: int
    holder_age: timedelta = _c("holder_age_ms", times.duration)
    enqueue_rate_1m: float
    enqueue_rate_5m: float
    lease_rate_1m: float
    lease_rate_5m: float
    ack_rate_1m: float
    ack_rate_5m: float
    parked: int
    rate_wait: timedelta = _c("rate_wait_ms", times.duration)
    text: str


@dataclasses.dataclass(frozen=True, kw_only=True)
class FlowStatus:
    """Counts of a flow: total = pending + done + failed + cancelled, at any time."""

    flow: int
    total: int
    pending: int
    done: int
    failed: int
    cancelled: int
    follow_up_id: int
    created: Optional[datetime] = _c("created_ms", times.when)
    finished_at: Optional[datetime] = _c("finished_ms", times.when)
    sealed: bool = _c("flags", lambda flags: bool(flags & k.FLOW_SEALED))
    was_cancelled: bool = _c("flags", lambda flags: bool(flags & k.FLOW_CANCELLED))
    finished: bool = _c("flags", lambda flags: bool(flags & k.FLOW_FINISHED))


@dataclasses.dataclass(frozen=True, kw_only=True)
class DoneJob:
    """A job that was acked, as the history of its queue has it. `result_code` is OK, or says why
    `result` is empty though it has one: NO_KEY, CORRUPT, NO_MEMORY. `key_id` is that of the key
    that its result is sealed with; 0: it is not sealed."""

    id: int
    generation: int
    flow: int
    priority: int
    attempts: int
    exceptions: int
    replays: int
    enqueued: Optional[datetime] = _c("enqueued_ms", times.when)
    leased: Optional[datetime] = _c("leased_ms", times.when)
    done: Optional[datetime] = _c("done_ms", times.when)
    result: bytes = _c("result", bytes_of)
    result_code: Code = _c("result_code", code_of)
    key_id: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class KeyUse:
    """A key of encryption that the store was given, or that something in it is sealed with.
    `payloads` and results are sealed with it (some may be gone since just now); `known`: the store
    was opened with it; `current`: it seals what is new."""

    id: int
    payloads: int
    known: bool = _c("flags", lambda flags: bool(flags & k.KEY_KNOWN))
    current: bool = _c("flags", lambda flags: bool(flags & k.KEY_CURRENT))


@dataclasses.dataclass(frozen=True, kw_only=True)
class KvRow:
    """A key-value row. `version` is another one after each change."""

    key: bytes = _c("key", bytes_of)
    value: bytes = _c("value", bytes_of)
    version: int
    expires: Optional[datetime] = _c("expires_ms", times.when)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Event:
    """One change of a store, as Store.events tells it."""

    kind: EventKind = _c("kind", EventKind)
    sequence: int
    lsn: int
    at: Optional[datetime] = _c("at_ms", times.when)
    time: Optional[datetime] = _c("time_ms", times.when)
    job_id: int
    generation: int
    count: int
    attempt: int
    dead_reason: DeadReason = _c("dead_reason", DeadReason)
    queue: str = _c("queue_name", _name_of_chars)


__all__ = [
    "BackupReport", "DeadReason", "DoneJob", "Durability", "Event", "EventKind", "FlowStatus",
    "FullPolicy", "IoBackend", "JobExplanation", "KeyKind", "KeyUse", "KvRow", "Overlap",
    "QueueError", "QueueExplanation", "QueueStats", "Recovery", "State", "Status", "StoreStats",
    "StoreStatus", "UniqueUntil", "VerifyReport", "Why"]
