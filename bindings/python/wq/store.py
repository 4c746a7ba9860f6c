"""A store: the directory with everything in it, opened by one process at a time.

Thread rule: any method may be called from any number of threads at once. Every method may raise
ClosedError, ForkedError, InvalidError, UnsupportedError, NoMemoryError, StorageError, CorruptError,
PoisonedError and InternalError; a method names what else it raises.

Fork: a child process can not use what was opened before the fork (ForkedError), and can not open a
store once its parent has opened any: fork first and open in the child, or start processes by
spawn."""

from __future__ import annotations

import contextlib
import os
import time
from datetime import timedelta
from typing import (TYPE_CHECKING, Any, Callable, Iterator, List, Mapping, Optional, Sequence,
                    Tuple, Union)

from . import _constants as k
from . import times
from ._lib import (NULL, U64, BytesLike, Handle, call_free, close_at_exit, code_of, data_bytes,
                   error_of, ffi, give_error, lib, name_of, new, new_array, number, path_bytes,
                   take_error, text_from)
from .call import Level, call_of
from .callback import Progress
from .cancel import CancelToken, interruptible, waiting
from .config import ConfigOptions
from .cron import Cron
from .errors import ClosedError, Code, InvalidError, WqError
from .flow import Flows
from .job import Job, Jobs, jobs_from
from .kv import Kv, Locks
from .queue import Queue, open_queue
from .times import Duration
from .transact import Transaction
from .types import (BackupReport, Durability, Event, IoBackend, KeyUse, Recovery, StoreStats,
                    VerifyReport, from_c)

if TYPE_CHECKING:
    from typing_extensions import Unpack

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
_KEY_BYTES = 32
# A call that has no cancel token waits in pieces, so that Ctrl-C and close() are not late.
_PIECE_MS = 200


class Events:
    """A place in the events of a store, from Store.events: poll() goes on where it ended. For one
    thread at a time."""

    def __init__(self, store: Store, from_now: bool) -> None:
        self._store = store
        self._cursor = new("wq_event_cursor")
        self._cursor.flags = k.EVENTS_FROM_NOW if from_now else 0

    @property
    def dropped(self) -> int:
        """Events that the last poll did not find any more, before its first one."""
        return int(self._cursor.dropped)

    def poll(self, max_events: int = 100, *, wait: Optional[Duration] = 0,
             cancel: Optional[CancelToken] = None) -> List[Event]:
        """Up to max_events (1 to 10,000) events; none after the wait, or when `cancel` is fired."""
        room = number(max_events, "max_events", 10_000, 1)
        events, count = new_array("wq_store_event", room), ffi.new("size_t *")
        size, wait_ms = ffi.sizeof("wq_store_event"), times.wait_ms(wait, "wait")

        def poll(wait_ms: int, token: Any) -> int:
            return self._store._do(lib.wq_events_poll, self._cursor, events, room, size, wait_ms,
                                   token, count)

        code = poll(0, NULL)
        if code == k.EMPTY and wait_ms != 0 and not (cancel is not None and cancel.fired):
            with self._store.inside():
                code = waiting([self._store], cancel, lambda token: interruptible(
                    token, lambda: poll(wait_ms, token)))
        if code == k.CANCELLED and not (cancel is not None and cancel.fired):
            raise ClosedError("the store was closed while the poll waited")
        return [from_c(Event, events[i]) for i in range(count[0])]


class Store(Handle):
    """An open store: `wq.open(path)`. `with` closes it."""

    __slots__ = ("path",)

    def __init__(self, ptr: Any, path: Path) -> None:
        super().__init__(ptr, "store")
        self.path = path
        close_at_exit(self)

    @classmethod
    def open(cls, path: Path, *, create: bool = True, expire_leases: bool = False,
             threads: bool = True, io_backend: IoBackend = IoBackend.AUTO, spare_segments: int = 0,
             memory_budget_bytes: int = 0, payload_bytes_max: int = 0, segment_bytes: int = 0,
             checkpoint_log_bytes: int = 0, disk_reserve_bytes: int = 0,
             memory_window: Optional[Duration] = None, events_max: int = 0,
             quota_bytes: int = 0, keys: Optional[Mapping[int, BytesLike]] = None,
             current_key: int = 0) -> Store:
        """Open the store in a directory, making it if it is not there (unless create=False).

        expire_leases    leases of the time before are taken back at once
        threads          False: no background threads, tick() drives everything
        memory_window    bound of the loss window of MEMORY; default 50 ms
        events_max       events kept for events(); 0: none
        quota_bytes      with more job bytes an enqueue is refused (FullError); 0: no bound
        keys             all keys that something may be sealed with: your number for it, 1 and up,
                         which is stored with each payload, and 32 random bytes (AES-256-GCM), which
                         are never stored
        current_key      number of the one that seals what is new; 0: none does. To rotate, open
                         with a new one and keep the old ones until encryption_keys() counts nothing
                         of theirs
        The other numbers are those of wq_store_options; 0 takes their defaults. Blocks: for
        recovery; recovery() tells what was found. Raises: LockedError (open elsewhere), ForkedError
        (a process that forked from one that had a store open), NotFoundError, VersionError,
        NoSpaceError."""
        options = new("wq_store_options")
        options.flags = ((0 if create else k.OPEN_NO_CREATE) | (0 if threads else k.OPEN_NO_THREADS)
                         | (k.OPEN_EXPIRE_LEASES if expire_leases else 0))
        options.io_backend = number(int(io_backend), "io_backend")
        options.spare_segments = number(spare_segments, "spare_segments")
        options.memory_budget_bytes = number(memory_budget_bytes, "memory_budget_bytes", U64)
        options.payload_bytes_max = number(payload_bytes_max, "payload_bytes_max", U64)
        options.segment_bytes = number(segment_bytes, "segment_bytes", U64)
        options.checkpoint_log_bytes = number(checkpoint_log_bytes, "checkpoint_log_bytes", U64)
        options.disk_reserve_bytes = number(disk_reserve_bytes, "disk_reserve_bytes", U64)
        options.memory_window_ms = times.to_ms(memory_window, "memory_window")
        options.events_max = number(events_max, "events_max")
        options.quota_bytes = number(quota_bytes, "quota_bytes", U64)
        options.current_key = number(current_key, "current_key")
        copies, _kept = _fill_keys(options, keys or {})
        out = ffi.new("wq_store **")
        abi = k.ABI_VERSION
        try:
            call_free(lib.wq_store_open_abi, path_bytes(path), options, abi, out)
        finally:
            for copy in copies:
                ffi.memmove(copy, bytes(_KEY_BYTES), _KEY_BYTES)
        return cls(ffi.gc(out[0], lib.wqpy_store_close), path)

    def __repr__(self) -> str:
        return f"<wq.Store {os.fsdecode(self.path)!r}{' closed' if self.closed else ''}>"

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Wake who waits in it (ClosedError), flush, and give up the directory. Twice does nothing
        more. Leases stay as they are. What can not be flushed is lost without a word: sync()
        before, if you want to know. Not from a callback or signal handler that runs inside a call
        of this store (RuntimeError). Blocks: until the calls inside have left, and for the last
        flush."""
        self._close()

    # ---- queues and jobs ------------------------------------------------------------------------

    def queue(self, name: Union[str, bytes], *, create: bool = True,
              **config: Unpack[ConfigOptions]) -> Queue:
        """A handle on a queue. One that is not there is declared with `config`; one that is there
        keeps its own. create=False: NotFoundError if it is not there. Blocks: for one flush if it
        declares. Raises besides: NoSpaceError."""
        return open_queue(self, name, create, config)

    def queues(self) -> List[str]:
        """Names of all queues, in byte order."""
        out = ffi.new("wq_list **")
        self._do(lib.wq_store_queues, out)
        names, view, found = ffi.gc(out[0], lib.wqpy_list_free), ffi.new("wq_bytes *"), []
        for i in range(lib.wq_list_count(names)):
            lib.wq_list_name(names, i, view)
            found.append(name_of(view))
        ffi.release(names)
        return found

    def lease(self, queues: Sequence[Queue], max_jobs: int = 1, *, wait: Optional[Duration] = 0,
              lease: Optional[Duration] = None, cancel: Optional[CancelToken] = None,
              durability: Level = None) -> Jobs:
        """Take up to max_jobs (1 to 10,000) ready jobs of the queues, in their order, and lease
        each for `lease` (None: timeout of the job, else that of its queue). Takes what is at hand
        and waits up to `wait` for the first one; None waits for ever.

        The list is empty with outcome EMPTY, PAUSED or DISABLED (all of the queues are), or
        CANCELLED (by the token). Ctrl-C ends the wait in the main thread; no job is lost by it.
        Durability: default PROCESS. Blocks: up to `wait`, and for durability. Raises besides:
        NotFoundError, TooLargeError."""
        queues = list(queues)
        options = new("wq_lease_options")
        options.max_jobs = number(max_jobs, "max_jobs", low=1)
        options.lease_ms = times.to_ms(lease, "lease")
        wait_ms = times.wait_ms(wait, "wait")
        outs: List[Any] = []  # what the library fills, known before it does
        try:
            if len(queues) == 1:
                with self.inside() as ptr, queues[0].inside() as handle:
                    return self._lease(ptr, queues, [handle], options, wait_ms, cancel,
                                       durability, outs)
            with contextlib.ExitStack() as stack:
                ptr = stack.enter_context(self.inside())
                handles = [stack.enter_context(queue.inside()) for queue in queues]
                return self._lease(ptr, queues, handles, options, wait_ms, cancel, durability,
                                   outs)
        except BaseException:
            # A signal handler may raise anywhere in here, also when the jobs are leased already.
            for out in outs:
                if out[0]:
                    with contextlib.suppress(WqError):
                        _give_back(jobs_from(queues, out[0], out))
            raise

    def _lease(self, ptr: Any, queues: List[Queue], handles: List[Any], options: Any, wait_ms: int,
               cancel: Optional[CancelToken], durability: Level, outs: List[Any]) -> Jobs:
        """lease() from inside of its handles."""
        def take(wait_ms: int, token: Any) -> Jobs:
            options.wait_ms = wait_ms
            out = ffi.gc(ffi.new("wq_batch **"), lib.wqpy_batch_out_free)
            outs.append(out)
            err = take_error()
            code = lib.wq_lease(ptr, handles, len(handles), options, token, call_of(durability),
                                out, err)
            if code < 0:
                raise error_of(code, err)
            give_error(err)
            jobs = jobs_from(queues, out[0], out) if out[0] else Jobs()
            jobs.outcome = code_of(code)
            return jobs

        return self._take(queues, cancel, wait_ms, take)

    def _take(self, queues: List[Queue], cancel: Optional[CancelToken], wait_ms: int,
              take: Callable[[int, Any], Jobs]) -> Jobs:
        """What is at hand, else a wait that can be ended."""
        handles = [self, *queues]
        if cancel is not None and cancel.fired:
            return waiting(handles, cancel, lambda token: take(wait_ms, token))
        jobs = take(0, NULL)
        if wait_ms == 0 or jobs:
            return jobs
        jobs = waiting(handles, cancel, lambda token: interruptible(
            token, lambda: take(wait_ms, token)))
        if jobs.outcome == Code.CANCELLED and not (cancel is not None and cancel.fired):
            raise ClosedError("the store or a queue was closed while the lease waited")
        return jobs

    def jobs(self, queues: Sequence[Queue], *, batch: int = 1, idle: Optional[Duration] = None,
             lease: Optional[Duration] = None, cancel: Optional[CancelToken] = None,
             durability: Level = None) -> Iterator[Job]:
        """Iterate over jobs as they come. Ends when none came for `idle` (None: never), when
        `cancel` is fired, and when the store is closed or shuts down. `batch` jobs are leased at a
        time; those of them that were not reached when the loop ends are released."""
        while True:
            try:
                leased = self.lease(queues, batch, wait=idle, lease=lease, cancel=cancel,
                                    durability=durability)
            except ClosedError:
                return
            if not leased:
                return
            left = list(reversed(leased))
            try:
                while left:
                    yield left.pop()
            finally:
                _give_back(left[::-1])

    def transaction(self) -> Transaction:
        """Begin to collect the operations of one change."""
        return Transaction(self)

    @property
    def kv(self) -> Kv:
        """Key-value rows."""
        return Kv(self)

    @property
    def locks(self) -> Locks:
        """Locks."""
        return Locks(self)

    @property
    def flows(self) -> Flows:
        """Flows."""
        return Flows(self)

    @property
    def cron(self) -> Cron:
        """Schedules."""
        return Cron(self)

    def events(self, *, from_now: bool = False) -> Events:
        """A reader of what happens, from the opening on or from now on. The store must have been
        opened with events_max, else its poll raises UnsupportedError."""
        return Events(self, from_now)

    # ---- the store itself -----------------------------------------------------------------------

    def shutdown(self, timeout: Optional[Duration] = None) -> Code:
        """Stop in an orderly way: no new leases, wait up to `timeout` (None: for ever) for the open
        ones, flush, checkpoint. OK, or TIMEOUT: jobs are still leased or running. close() follows.
        Raises besides: NoSpaceError."""
        return self._in_pieces(times.wait_ms(timeout, "timeout"),
                               lambda ms: self._do(lib.wq_store_shutdown, ms))

    def wait_durable(self, lsn: int, durability: Durability = Durability.POWER,
                     timeout: Optional[Duration] = None) -> Code:
        """Wait until the change with this LSN has reached a level: OK or TIMEOUT."""
        number(lsn, "lsn", U64)
        level = number(int(durability), "durability")
        return self._in_pieces(times.wait_ms(timeout, "timeout"),
                               lambda ms: self._do(lib.wq_store_wait_durable, lsn, level, ms))

    @staticmethod
    def _in_pieces(wait_ms: int, run: Callable[[int], int]) -> Code:
        """A wait that can be repeated, in pieces: in between signal handlers run."""
        end = time.monotonic() + wait_ms / 1000
        while True:
            left = _PIECE_MS if wait_ms < 0 else max(0, round((end - time.monotonic()) * 1000))
            code = run(min(left, _PIECE_MS))
            if code != k.TIMEOUT or (wait_ms >= 0 and left <= _PIECE_MS):
                return code_of(code)

    def tick(self) -> Optional[timedelta]:
        """Do a bounded piece of maintenance; for threads=False only. How long nothing will be due;
        0: call again at once, None: nothing is planned. Raises besides: NoSpaceError."""
        out = ffi.new("int64_t *")
        self._do(lib.wq_store_tick, out)
        return None if out[0] < 0 else times.duration(out[0])

    def sync(self) -> None:
        """Flush everything that was changed before, at whatever level, to POWER."""
        self._do(lib.wq_store_sync)

    def checkpoint(self) -> None:
        """Move all changes to the settled state on disk. Never needed for safety; it shortens the
        next open. Raises besides: NoSpaceError."""
        self._do(lib.wq_store_checkpoint)

    def stats(self) -> StoreStats:
        """Figures of the store. Works on a poisoned store."""
        stats = new("wq_store_stats")
        self._do(lib.wq_store_get_stats, stats)
        return from_c(StoreStats, stats)

    def recovery(self) -> Recovery:
        """What opening this store found and did."""
        recovery = new("wq_recovery")
        self._do(lib.wq_store_get_recovery, recovery)
        return from_c(Recovery, recovery)

    def encryption_keys(self) -> List[KeyUse]:
        """The encryption keys that the store has and needs, by id: those it was opened with and
        those that something is sealed with. Blocks: for a checkpoint, and to read all that is
        stored. Raises besides: NoSpaceError."""
        room, count = 32, ffi.new("size_t *")
        while True:
            uses = new_array("wq_key_use", room)
            self._do(lib.wq_store_get_keys, uses, room, ffi.sizeof("wq_key_use"), count)
            if count[0] <= room:
                return [from_c(KeyUse, uses[i]) for i in range(count[0])]
            room = int(count[0])

    def metrics(self) -> str:
        """All figures in the text format of Prometheus."""
        return text_from(self, lib.wq_store_metrics)

    def verify(self) -> VerifyReport:
        """Check the whole store; other calls wait meanwhile. CorruptError: it is damaged, the
        message is the first problem."""
        report = new("wq_verify_report")
        self._do(lib.wq_store_verify, report)
        return from_c(VerifyReport, report)

    def backup(self, directory: Path, *, cancel: Optional[CancelToken] = None,
               progress: Optional[Callable[[int, int], object]] = None) -> Optional[BackupReport]:
        """Copy the store into a directory, which is made, or is there and empty; work goes on
        meanwhile. `progress(done_bytes, total_bytes)` may stop it by returning False. None:
        stopped. Raises besides: NotFoundError, NoSpaceError, TooLargeError."""
        data = path_bytes(directory)

        def run(options: Any, report: Any) -> int:
            return self._do(lib.wq_store_backup, data, options, report)

        with self.inside():
            return _backup([self], cancel, progress, run)


def _fill_keys(options: Any, keys: Mapping[int, BytesLike]) -> Tuple[List[Any], Any]:
    """Set keys and keys_count: the copies of the keys, to be wiped, and the array of them, to be
    kept, both until the call has been made."""
    values, copies = ffi.new("wq_key[]", len(keys)), []
    for value, (key_id, data) in zip(values, keys.items()):
        content = data_bytes(data, f"key {key_id}")
        if len(content) != _KEY_BYTES:
            raise InvalidError(f"key {key_id}: {len(content)} bytes, {_KEY_BYTES} are wanted")
        copy = ffi.new("unsigned char[]", content)
        copies.append(copy)
        value.id = number(key_id, "id of a key")
        value.bytes.data, value.bytes.len = copy, len(content)
    options.keys, options.keys_count = values, len(keys)
    return copies, values


def _give_back(jobs: Sequence[Job]) -> None:
    """Release jobs that nobody has seen, the last one first: so the first one is ahead again. Does
    not wait for a disk: if it is lost in a crash, the leases run out instead. So does that of a job
    that can not be released: it keeps neither the others, nor hides what the caller ends with."""
    for job in reversed(list(jobs)):
        with contextlib.suppress(WqError):
            job.release(front=True, durability=Durability.MEMORY)


def _backup(handles: Sequence[Handle], cancel: Optional[CancelToken],
            progress: Optional[Callable[[int, int], object]],
            run: Callable[[Any, Any], int]) -> Optional[BackupReport]:
    options, report = new("wq_backup_options"), new("wq_backup_report")

    def with_token(token: Any) -> int:
        with Progress(progress) as callback:
            options.cancel = token
            options.progress, options.progress_ctx = callback.function, callback.context
            return run(options, report)

    code = waiting(handles, cancel, with_token)
    return from_c(BackupReport, report) if code == 0 else None


def backup_verify(directory: Path, *, cancel: Optional[CancelToken] = None,
                  progress: Optional[Callable[[int, int], object]] = None
                  ) -> Optional[BackupReport]:
    """Check a backup: it is complete, and each byte is as it was written. None: stopped."""
    data = path_bytes(directory)
    return _backup([], cancel, progress, lambda options, report: call_free(
        lib.wq_backup_verify, data, options, report))


def backup_restore(directory: Path, path: Path, *, cancel: Optional[CancelToken] = None,
                   progress: Optional[Callable[[int, int], object]] = None
                   ) -> Optional[BackupReport]:
    """Make the store `path` from the backup in `directory`; a failure leaves no store. None:
    stopped."""
    data, target = path_bytes(directory), path_bytes(path)
    return _backup([], cancel, progress, lambda options, report: call_free(
        lib.wq_backup_restore, data, target, options, report))
