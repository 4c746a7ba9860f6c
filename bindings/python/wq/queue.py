"""A queue of an open store: enqueue, lease, settle, configure, read.

Thread rule: any method may be called from any number of threads at once. Every method may raise
ClosedError (queue or store closed), ForkedError (opened before a fork), NotFoundError (queue
deleted, or what is named is not there), InvalidError, TooLargeError, UnsupportedError,
NoMemoryError, StorageError, CorruptError, PoisonedError and InternalError; a method names what else
it raises. `durability` is for the change of the one call: a Durability, a Call, or None for the
default, which is POWER where nothing else is said."""

from __future__ import annotations

import dataclasses
import operator
from array import array
from typing import (TYPE_CHECKING, Any, Iterable, Iterator, List, Optional, Sequence, Tuple, Union)

from . import _constants as k
from . import times
from ._lib import (NULL, U64, BytesLike, Handle, code_of, data_bytes, error_of, ffi, from_handle,
                   chars_text, give_error, lib, name_bytes, name_of, new, new_array, number,
                   take_error, text_bytes)
from .call import Level, call_of
from .cancel import CancelToken
from .config import ConfigOptions, QueueConfig, config_from, config_struct
from .errors import Code
from .job import Job, Jobs, Settle, Token, jobs_from, token_of
from .spec import JobOptions, JobSpec, Key, fill_spec, spec_of
from .times import Duration
from .types import (JobExplanation, KeyKind, QueueError, QueueExplanation, QueueStats, State,
                    from_c)

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .dead import DeadLetters
    from .history import History
    from .store import Store

_BATCH, _INDEX = operator.attrgetter("_batch"), operator.attrgetter("_index")
_PLAIN = {bytes, bytearray, memoryview}  # payloads without options
_UNFILLED = 0x7fffffff  # no code: what the library has not written


def _codes_of(values: Sequence[int]) -> List[Code]:
    """The Code of each; mostly all are OK."""
    return list(map(code_of, values)) if any(values) else [Code.OK] * len(values)


@dataclasses.dataclass(frozen=True)
class Enqueued:
    """What became of an enqueue: OK with the new id; DUPLICATE with the id of the job that holds
    the key; DISABLED (queue) or CONFLICT (flow has ended) with id 0. `lsn` is for
    Store.wait_durable."""

    outcome: Code
    id: int
    lsn: int


@dataclasses.dataclass(frozen=True)
class EnqueuedMany:
    """What became of many: the outcome of the call, how many were taken, and (code, id) of each."""

    outcome: Code
    accepted: int
    jobs: Sequence[Tuple[Code, int]]

    @classmethod
    def _all(cls, count: int, ids: bytes) -> EnqueuedMany:
        """All `count` were taken. Few look at each: `jobs` is made when it is asked for."""
        many = cls.__new__(cls)
        many.__dict__.update(outcome=Code.OK, accepted=count, _ids=ids)
        return many

    if not TYPE_CHECKING:
        def __getattr__(self, name: str) -> Sequence[Tuple[Code, int]]:
            ids = self.__dict__.get("_ids")
            if name != "jobs" or ids is None:
                raise AttributeError(f"an EnqueuedMany has no {name!r}", name=name, obj=self)
            jobs = self.__dict__["jobs"] = [(Code.OK, number) for number in array("Q", ids)]
            return jobs


@dataclasses.dataclass(frozen=True)
class SettledMany:
    """Outcome of the first that was refused, or OK; and the code of each: OK, STALE, NOT_FOUND, and
    for extend CANCELLED. True if all are OK."""

    outcome: Code
    codes: Sequence[Code]

    def __bool__(self) -> bool:
        return bool(self.outcome)


class Queue(Handle):
    """A handle on a queue. Got by Store.queue. Several on one queue are fine. `with` closes it."""

    __slots__ = ("store", "name")

    def __init__(self, store: Store, ptr: Any, name: Union[str, bytes]) -> None:
        super().__init__(ptr, "queue")
        self.store = store
        self.name = name if isinstance(name, str) else name.decode("utf-8", "surrogateescape")

    def __repr__(self) -> str:
        return f"<wq.Queue {self.name!r}{' closed' if self.closed else ''}>"

    def __enter__(self) -> Queue:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the handle; the queue itself is untouched. Twice does nothing more. Those who wait
        in a lease on this handle get ClosedError. Blocks: until the calls inside have left."""
        self._close()

    # ---- produce --------------------------------------------------------------------------------

    def enqueue(self, payload: Union[JobSpec, BytesLike], *, durability: Level = None,
                **options: Unpack[JobOptions]) -> Enqueued:
        """Enqueue one job: a payload with the options of a JobSpec, or a JobSpec.

        OK means that it has reached the durability. Default: that of the queue (POWER). Blocks: for
        durability, and for room when memory is full of unfinished work. Raises besides:
        NoSpaceError, FullError, TooLargeError (both also of the queue's bounds)."""
        out = new("wq_enqueued")
        call = call_of(durability)
        if options:
            payload = dataclasses.replace(spec_of(payload), **options)
        if isinstance(payload, JobSpec):
            keep: List[Any] = []
            spec = new("wq_job_spec")
            fill_spec(spec, payload, keep)
            code = self._do(lib.wq_enqueue, spec, call, out)
        else:
            data = data_bytes(payload, "payload")
            code = self._do(lib.wqpy_enqueue, data, len(data), call, out)
        return Enqueued(code_of(code), out.job_id, out.lsn)

    def enqueue_many(self, jobs: Iterable[Union[JobSpec, BytesLike]], *, partial: bool = False,
                     durability: Level = None) -> EnqueuedMany:
        """Enqueue 1 to 10,000 jobs in one change, in the order given: all or, if one is refused,
        none; with `partial` those before the first refused one. A job that meets the holder of a
        key is no refusal. What refuses is raised, or with `partial` told as the code of the jobs
        not taken.

        Durability, blocks and errors: as enqueue."""
        items = list(jobs)
        accepted = ffi.new("size_t *")
        call = call_of(durability)
        flags = k.ENQUEUE_PARTIAL if partial else 0
        kinds = set(map(type, items))
        if kinds <= _PLAIN:
            payloads: List[Any] = items
            if kinds != {bytes}:
                payloads = [data_bytes(item, "payload") for item in payloads]
            return self._enqueue_payloads(payloads, flags, call, accepted)
        keep: List[Any] = []
        specs = new_array("wq_job_spec", len(items))
        for i, item in enumerate(items):
            fill_spec(specs[i], spec_of(item), keep)
        out = new_array("wq_enqueued", len(items))
        code = self._many(partial, lib.wq_enqueue_many, specs, len(items),
                          ffi.sizeof("wq_job_spec"), flags, call, out, ffi.sizeof("wq_enqueued"),
                          accepted)
        codes = _codes_of([o.code for o in out])
        return EnqueuedMany(code_of(code), int(accepted[0]),
                            list(zip(codes, [o.job_id for o in out])))

    def _enqueue_payloads(self, items: List[Any], flags: int, call: Any,
                          accepted: Any) -> EnqueuedMany:
        """The quick way of enqueue_many: payloads alone, all in one piece. They have no keys that
        another job could hold, so that all are taken if the call says OK."""
        count = len(items)
        ids, codes = ffi.new("uint64_t[]", count), ffi.new("int32_t[]", count)
        lens = ffi.from_buffer("size_t[]", array("Q", map(len, items)))
        code = self._many(bool(flags), lib.wqpy_enqueue_payloads, b"".join(items), lens, count,
                          flags, call, ids, codes, accepted)
        if code == 0:
            return EnqueuedMany._all(count, bytes(ffi.buffer(ids)))
        jobs = list(zip(_codes_of(ffi.unpack(codes, count)), ffi.unpack(ids, count)))
        return EnqueuedMany(code_of(code), int(accepted[0]), jobs)

    def _many(self, partial: bool, function: Any, *args: Any) -> int:
        """As _do. With `partial` an error is a value if some jobs were taken before it."""
        with self.inside() as ptr:
            err = take_error()
            code = int(function(ptr, *args, err))
            if code < 0 and not (partial and args[-1][0] > 0):
                raise error_of(code, err)
            give_error(err)
            return code

    # ---- consume --------------------------------------------------------------------------------

    def lease(self, max_jobs: int = 1, *, wait: Optional[Duration] = 0,
              lease: Optional[Duration] = None, cancel: Optional[CancelToken] = None,
              durability: Level = None) -> Jobs:
        """Take up to max_jobs ready jobs and lease each; see Store.lease."""
        return self.store.lease([self], max_jobs, wait=wait, lease=lease, cancel=cancel,
                                durability=durability)

    def jobs(self, *, batch: int = 1, idle: Optional[Duration] = None,
             lease: Optional[Duration] = None, cancel: Optional[CancelToken] = None,
             durability: Level = None) -> Iterator[Job]:
        """Iterate over jobs as they come; see Store.jobs."""
        return self.store.jobs([self], batch=batch, idle=idle, lease=lease, cancel=cancel,
                               durability=durability)

    # ---- settle ---------------------------------------------------------------------------------

    def settle(self, item: Settle, *, durability: Level = None) -> Code:
        """Settle one job of this queue: OK or STALE. Job.ack and its kin come here."""
        if item.kind == k.SETTLE_ACK and item.result is None:
            job_id, generation = token_of(item.job)
            code = self._do(lib.wq_ack, job_id, generation, call_of(durability))
        else:
            keep: List[Any] = []
            struct = new("wq_settle_item")
            item.fill(struct, keep)
            code = self._do(lib.wq_settle_many, struct, 1, ffi.sizeof("wq_settle_item"), NULL,
                            call_of(durability))
        if isinstance(item.job, Job):
            item.job._set_settled()
        return code_of(code)

    def settle_many(self, items: Iterable[Settle], *, durability: Level = None) -> SettledMany:
        """Settle 1 to 10,000 jobs of this queue in one change. One that is refused does not stop
        the others; an invalid one refuses the whole call and is raised.

        Durability: default of the queue. Blocks: for durability."""
        settles = list(items)
        keep: List[Any] = []
        structs = new_array("wq_settle_item", len(settles))
        for i, item in enumerate(settles):
            item.fill(structs[i], keep)
        codes = ffi.new("int32_t[]", [_UNFILLED] * len(settles))
        result = self._items(codes, lib.wq_settle_many, structs, len(settles),
                             ffi.sizeof("wq_settle_item"), codes, call_of(durability))
        for item in settles:
            if isinstance(item.job, Job):
                item.job._set_settled()
        return result

    def ack_many(self, jobs: Iterable[Token], *, durability: Level = None) -> SettledMany:
        """Ack many jobs of this queue in one change: settle_many for the most frequent case."""
        whole = jobs._whole_batch() if type(jobs) is Jobs else None
        if whole is not None:  # as they were leased
            return self._ack_batch(whole, NULL, len(whole.jobs), durability)
        tokens = list(jobs)
        if set(map(type, tokens)) == {Job}:
            batches = set(map(_BATCH, tokens))
            if len(batches) == 1:
                places = list(map(_INDEX, tokens))
                return self._ack_batch(batches.pop(), places, len(places), durability)
        pairs = [token_of(token) for token in tokens]
        codes = ffi.new("int32_t[]", [_UNFILLED] * len(tokens))
        result = self._items(codes, lib.wqpy_ack_tokens, [pair[0] for pair in pairs],
                             [pair[1] for pair in pairs], len(pairs), codes, call_of(durability))
        for token in tokens:
            if isinstance(token, Job):
                token._set_settled()
        return result

    def _ack_batch(self, batch: Any, places: Any, count: int, durability: Level) -> SettledMany:
        """Ack the jobs at these places of a batch; NULL: all."""
        codes = ffi.new("int32_t[]", count)
        lib.wqpy_fill(codes, count, _UNFILLED)
        result = self._items(codes, lib.wqpy_ack_jobs, batch.jobs, places, count, codes,
                             call_of(durability))
        if places is NULL:
            batch.all_settled = True
        else:
            batch.settled.update(places)
        return result

    def extend(self, jobs: Sequence[Token], lease: Optional[Duration] = None, *,
               durability: Level = None) -> SettledMany:
        """Set the deadlines of jobs to `lease` from now (None: that of the queue), in one change.

        Durability: default PROCESS. Blocks: for durability."""
        pairs = [token_of(job) for job in jobs]
        tokens = ffi.new("wq_token[]", [list(pair) for pair in pairs])
        codes = ffi.new("int32_t[]", [_UNFILLED] * len(pairs))
        return self._items(codes, lib.wq_extend, tokens, len(pairs), times.to_ms(lease, "lease"),
                           codes, call_of(durability))

    def _items(self, codes: Any, function: Any, *args: Any) -> SettledMany:
        """A call that judges each item: its code below zero is a value if the library got so far as
        to say something about each."""
        with self.inside() as ptr:
            err = take_error()
            code = int(function(ptr, *args, err))
            if code == 0:  # so is each of them
                give_error(err)
                return SettledMany(Code.OK, [Code.OK] * len(codes))
            told = ffi.unpack(codes, len(codes)) if len(codes) else []
            if code < 0 and (not told or _UNFILLED in told or code not in told):
                raise error_of(code, err)
            give_error(err)
        return SettledMany(code_of(code), _codes_of(told))

    def confirm(self, job: Token, run: Optional[Duration] = None, *,
                durability: Level = None) -> Code:
        """See Job.confirm."""
        job_id, generation = token_of(job)
        return code_of(self._do(lib.wq_confirm, job_id, generation, times.to_ms(run, "run"),
                                call_of(durability)))

    def progress(self, job: Token, note: Union[str, BytesLike], *,
                 durability: Level = None) -> Code:
        """See Job.progress."""
        job_id, generation = token_of(job)
        data = text_bytes(note, "note")
        return code_of(self._do(lib.wq_job_progress, job_id, generation, data, len(data),
                                call_of(durability)))

    # ---- single jobs ----------------------------------------------------------------------------

    def get(self, job_id: int) -> Job:
        """Read one job of this queue, in whatever state. NotFoundError: it is not there (any
        more)."""
        _, batch = from_handle(self, "wq_batch", lib.wqpy_batch_free, lib.wq_job_get,
                               number(job_id, "job_id", U64))
        return jobs_from([self], batch)[0]

    def cancel(self, job_id: int, *, durability: Level = None) -> Code:
        """Remove a job that is not dead; who holds its lease learns it by STALE. OK, or CONFLICT:
        it is dead. NotFoundError: no such job."""
        return code_of(self._do(lib.wq_job_cancel, number(job_id, "job_id", U64),
                                call_of(durability)))

    def reprioritise(self, job_id: int, priority: int, *, durability: Level = None) -> Code:
        """Give a ready or delayed job another priority. OK, or CONFLICT: it is leased, running or
        dead. NotFoundError: no such job."""
        return code_of(self._do(lib.wq_job_reprioritise, number(job_id, "job_id", U64),
                                number(priority, "priority"), call_of(durability)))

    def explain_job(self, job_id: int) -> JobExplanation:
        """Tell where a job is, and why it does not run."""
        told = new("wq_job_explanation")
        _, text = from_handle(self, "wq_text", lib.wqpy_text_free, lib.wq_job_explain,
                              number(job_id, "job_id", U64), told)
        return from_c(JobExplanation, told, text=name_of(lib.wq_text_bytes(text)))

    # ---- keys -----------------------------------------------------------------------------------

    def key_holder(self, kind: KeyKind, key: Key) -> int:
        """Id of the job that holds the key. NotFoundError: nobody."""
        data, out = text_bytes(key, "key"), ffi.new("uint64_t *")
        self._do(lib.wq_key_holder, number(int(kind), "kind"), data, len(data), out)
        return int(out[0])

    def key_cancel(self, kind: KeyKind, key: Key, *,
                   durability: Level = None) -> Tuple[Code, int]:
        """Cancel the job that holds a unique or debounce key: (OK, its id), or (CONFLICT, 0): it is
        dead. NotFoundError: nobody holds it."""
        data, out = text_bytes(key, "key"), ffi.new("uint64_t *")
        code = self._do(lib.wq_key_cancel, number(int(kind), "kind"), data, len(data),
                        call_of(durability), out)
        return code_of(code), int(out[0])

    def key_release(self, job: Token, *, durability: Level = None) -> Code:
        """Give up the unique key of a leased job before its scope ends: OK or STALE."""
        job_id, generation = token_of(job)
        return code_of(self._do(lib.wq_key_release, job_id, generation, call_of(durability)))

    # ---- the queue itself -----------------------------------------------------------------------

    def config(self) -> QueueConfig:
        """Its configuration, as of one moment."""
        config = new("wq_queue_config")
        self._do(lib.wq_queue_get_config, config)
        return config_from(config)

    def configure(self, *, version: Optional[int] = None, durable: Level = None,
                  **options: Unpack[ConfigOptions]) -> Code:
        """Change what is given, all together; the rest stays. OK, or CONFLICT: `version` (of
        config()) is not the version any more. `durable` is the level of this
        change; `durability` is a field of the configuration, as ConfigOptions tells."""
        keep: List[Any] = []
        config = config_struct(options, version, keep)
        return code_of(self._do(lib.wq_queue_configure, config, call_of(durable)))

    def pause(self, *, durability: Level = None) -> Code:
        """Hand out no jobs; enqueue goes on."""
        return code_of(self._do(lib.wq_queue_pause, call_of(durability)))

    def resume(self, *, durability: Level = None) -> Code:
        """Hand out jobs again."""
        return code_of(self._do(lib.wq_queue_resume, call_of(durability)))

    def disable(self, *, durability: Level = None) -> Code:
        """Refuse new jobs and hand out none."""
        return code_of(self._do(lib.wq_queue_disable, call_of(durability)))

    def enable(self, *, durability: Level = None) -> Code:
        """Take jobs again; it is paused afterwards if it was paused before or meanwhile."""
        return code_of(self._do(lib.wq_queue_enable, call_of(durability)))

    def clear(self, states: Iterable[State] = (), *, durability: Level = None) -> int:
        """Remove all jobs in these states (none given: ready and delayed) in one change: how
        many."""
        mask, removed = 0, ffi.new("uint64_t *")
        for state in states:
            mask |= 1 << number(int(state), "state", 31)
        self._do(lib.wq_queue_clear, mask, removed, call_of(durability))
        return int(removed[0])

    def delete(self, *, durability: Level = None) -> Code:
        """Delete the queue with all its jobs in one change. Handles on it answer NotFoundError."""
        return code_of(self._do(lib.wq_queue_delete, call_of(durability)))

    def stats(self) -> QueueStats:
        """Counts and totals, exact, as of one moment."""
        stats = new("wq_queue_stats")
        self._do(lib.wq_queue_get_stats, stats)
        return from_c(QueueStats, stats)

    def explain(self) -> QueueExplanation:
        """Tell what the queue would hand out now, and what holds it back."""
        told = new("wq_queue_explanation")
        _, text = from_handle(self, "wq_text", lib.wqpy_text_free, lib.wq_queue_explain, told)
        return from_c(QueueExplanation, told, text=name_of(lib.wq_text_bytes(text)))

    def errors(self) -> List[QueueError]:
        """The last failed attempts, newest first; kept in memory, since open."""
        count, room = ffi.new("size_t *"), 64
        errors = new_array("wq_queue_error", room)
        self._do(lib.wq_queue_get_errors, errors, room, ffi.sizeof("wq_queue_error"), count)
        return [from_c(QueueError, one, text=chars_text(one.text, one.text_len))
                for one in errors[0:count[0]]]

    @property
    def dead(self) -> DeadLetters:
        """Its dead letters."""
        from .dead import DeadLetters
        return DeadLetters(self)

    @property
    def history(self) -> History:
        """Its acked jobs, as far as it keeps them."""
        from .history import History
        return History(self)


def open_queue(store: Store, name: Union[str, bytes], create: bool,
               options: ConfigOptions) -> Queue:
    """See Store.queue."""
    keep: List[Any] = []
    config = config_struct(options, None, keep) if options else NULL
    data = name_bytes(name, "queue")
    out = ffi.new("wq_queue **")
    store._do(lib.wq_queue_open, data, len(data), config, 0 if create else k.QUEUE_NO_CREATE, out)
    return Queue(store, ffi.gc(out[0], lib.wqpy_queue_close), name)
