"""wq: a durable job queue that lives inside your process. There is no server: a directory is a
store, a store holds queues, a queue holds jobs.

    import wq

    with wq.open("store") as store:
        mail = store.queue("mail")
        mail.enqueue(b"hello")                  # returned: it is on the device
        for job in mail.lease(10, wait=1):
            print(job.payload)
            job.ack()

Outcomes are values (Code: OK, STALE, ...), errors are exceptions (WqError and its classes).
Durations are seconds or timedelta, points in time are datetime; see wq.times. Everything may be
used from any number of threads; asyncio is in wq.aio; for processes see wq.store.

Delivery is at least once: make handlers idempotent."""

from . import aio
from ._lib import build_info, format_version, version
from .call import Call
from .cancel import CancelToken
from .completion import Completions
from .config import ConfigOptions, QueueConfig, Rate, Throttle
from .cron import Cron, Schedule, cron_next
from .dead import DeadLetters, DeadPage, DeadReport
from .errors import (ClosedError, Code, CorruptError, ForkedError, FullError, InternalError,
                     InvalidError, LockedError, NoKeyError, NoMemoryError, NoSpaceError,
                     NotFoundError, PoisonedError, ReadOnlyError, StorageError, TooLargeError,
                     UnsupportedError, VersionError, WqError)
from .flow import Flow, Flows
from .history import History
from .job import Job, Jobs, Settle
from .kv import Kv, KvPage, KvPut, KvSum, Locks
from .queue import Enqueued, EnqueuedMany, Queue, SettledMany
from .spec import Backoff, BackoffKind, JobOptions, JobSpec, NextJob
from .store import Events, Store, backup_restore, backup_verify
from .transact import Transacted, Transaction
from .types import (BackupReport, DeadReason, DoneJob, Durability, Event, EventKind, FlowStatus,
                    FullPolicy, IoBackend, JobExplanation, KeyKind, KeyUse, KvRow, Overlap,
                    QueueError, QueueExplanation, QueueStats, Recovery, State, Status, StoreStats,
                    StoreStatus, UniqueUntil, VerifyReport, Why)

open = Store.open

__all__ = [
    "Backoff", "BackoffKind", "BackupReport", "Call", "CancelToken", "ClosedError", "Code",
    "Completions", "ConfigOptions", "CorruptError", "Cron", "DeadLetters", "DeadPage", "DeadReason",
    "DeadReport", "DoneJob", "Durability", "Enqueued", "EnqueuedMany", "Event", "EventKind",
    "Events", "Flow", "FlowStatus", "Flows", "ForkedError", "FullError", "FullPolicy", "History",
    "InternalError", "InvalidError", "IoBackend", "Job", "JobExplanation", "JobOptions", "JobSpec",
    "Jobs", "KeyKind", "KeyUse", "Kv", "KvPage", "KvPut", "KvRow", "KvSum", "LockedError", "Locks",
    "NextJob", "NoKeyError", "NoMemoryError", "NoSpaceError", "NotFoundError", "Overlap",
    "PoisonedError", "Queue", "QueueConfig", "QueueError", "QueueExplanation", "QueueStats", "Rate",
    "ReadOnlyError", "Recovery", "Schedule", "Settle", "SettledMany", "State", "Status",
    "StorageError", "Store", "StoreStats", "StoreStatus", "Throttle", "TooLargeError", "Transacted",
    "Transaction", "UniqueUntil", "UnsupportedError", "VerifyReport", "VersionError", "Why",
    "WqError", "aio", "backup_restore", "backup_verify", "build_info", "cron_next",
    "format_version", "open", "version"]
