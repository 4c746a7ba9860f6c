"""Jobs as they are told: leased ones, dead letters, ones that were read; and how a lease ends.

A Job is a copy. It keeps the memory of the batch that it came with until it is forgotten; the bytes
of its fields are made when they are asked for. It outlives queue and store; only its methods need
them. Thread: any."""

from __future__ import annotations

import contextlib
import dataclasses
import struct
from datetime import datetime, timedelta
from itertools import repeat
from typing import TYPE_CHECKING, Any, Iterable, List, Optional, Sequence, Set, Tuple, Union

from . import _constants as k
from . import times
from ._lib import (U64, BytesLike, bytes_of, code_of, data_bytes, error_bytes, ffi, lib, name_of,
                   number, set_bytes)
from .call import Level
from .errors import Code, make_error
from .times import Duration
from .types import DeadReason, JobExplanation, State

if TYPE_CHECKING:
    from .queue import Queue


# Payloads of a batch that are copied together when it comes, a call each spared.
_TOGETHER_BYTES = 1 << 20
_FORM_BYTES = 8  # of the format of one: up to seven digits and an s


class _Batch:
    """What the jobs of one batch share: all that a job does not need to have of its own, so that a
    batch of a hundred costs little more than one job. ids, generations: made when they are asked
    for. all_settled: by one call, without a place of each."""

    __slots__ = ("owner", "jobs", "queues", "headers", "settled", "all_settled", "ids",
                 "generations")

    def __init__(self, owner: Any, jobs: Any, queues: List[Queue]) -> None:
        self.owner = owner
        self.jobs = jobs
        self.queues = queues
        self.headers: Optional[List[Tuple[Tuple[str, bytes], ...]]] = None
        self.settled: Set[int] = set()  # places of jobs
        self.all_settled = False
        self.ids: Optional[List[int]] = None
        self.generations: Optional[List[int]] = None

    def read_tokens(self) -> None:
        """Make ids and generations."""
        count = len(self.jobs)
        ids, generations = ffi.new("uint64_t[]", count), ffi.new("uint64_t[]", count)
        lib.wqpy_tokens(self.jobs, count, ids, generations)
        self.generations = ffi.unpack(generations, count)  # first: who sees ids sees both
        self.ids = ffi.unpack(ids, count)


class Jobs(List["Job"]):
    """A list of jobs with the outcome of the call that gave them: OK, or why there is none."""

    outcome: Code = Code.OK
    _told: Sequence[Job] = ()  # what it was made of

    def _whole_batch(self) -> Optional[_Batch]:
        """The batch that the list is all of; None if it was changed."""
        return self[0]._batch if self and self == self._told else None


class Job:
    """A job as it was when it was told.

    id, generation   the token of its lease (or of its death): what settles it
    queue            the queue that it is of
    payload          its payload, a copy"""

    # A payload that was copied when the batch came is an attribute, which costs a tenth of a
    # property. Others are made by __getattr__.
    __slots__ = ("_batch", "_index", "payload")

    _batch: _Batch
    _index: int
    payload: bytes

    if not TYPE_CHECKING:
        def __getattr__(self, name: str) -> bytes:
            if name != "payload":
                raise AttributeError(f"a Job has no {name!r}", name=name, obj=self)
            return bytes_of(self._raw.payload)

    @property
    def id(self) -> int:
        """Its id."""
        batch = self._batch
        if batch.ids is None:
            batch.read_tokens()
        return batch.ids[self._index]  # type: ignore[index]

    @property
    def generation(self) -> int:
        """The generation of its lease, or of its death."""
        batch = self._batch
        if batch.ids is None:
            batch.read_tokens()
        return batch.generations[self._index]  # type: ignore[index]

    @property
    def queue(self) -> Queue:
        """The queue that it is of."""
        queues = self._batch.queues
        return queues[0] if len(queues) == 1 else queues[self._raw.queue_index]

    @property
    def _settled(self) -> bool:
        return self._batch.all_settled or self._index in self._batch.settled

    def _set_settled(self) -> None:
        self._batch.settled.add(self._index)

    @property
    def _raw(self) -> Any:
        return self._batch.jobs[self._index]

    def __repr__(self) -> str:
        return (f"<wq.Job {self.id}:{self.generation} of {self.queue_name!r} {self.state.name} "
                f"attempt {self.attempts}>")

    # ---- what it is -----------------------------------------------------------------------------

    @property
    def headers(self) -> Tuple[Tuple[str, bytes], ...]:
        """Its headers in order, as pairs of name and value."""
        headers = self._batch.headers
        return headers[self._index] if headers is not None else ()

    def header(self, name: str) -> Optional[bytes]:
        """The value of the first header of that name, or None."""
        return next((value for key, value in self.headers if key == name), None)

    @property
    def state(self) -> State:
        """Its state when it was told."""
        return State(self._raw.state)

    @property
    def queue_name(self) -> str:
        """Name of its queue."""
        return name_of(self._raw.queue_name)

    @property
    def priority(self) -> int:
        """0 goes first."""
        return int(self._raw.priority)

    @property
    def attempts(self) -> int:
        """Attempts counted, this one included."""
        return int(self._raw.attempts)

    @property
    def exceptions(self) -> int:
        """Nacks that counted."""
        return int(self._raw.exceptions)

    @property
    def max_attempts(self) -> int:
        """With so many lost attempts it is dead."""
        return int(self._raw.max_attempts)

    @property
    def replays(self) -> int:
        """How many times it came back from the dead letters."""
        return int(self._raw.replays)

    @property
    def enqueued(self) -> Optional[datetime]:
        """When it was enqueued."""
        return times.when(self._raw.enqueued_ms)

    @property
    def ready(self) -> Optional[datetime]:
        """Ready: since when; delayed: when it will be."""
        return times.when(self._raw.ready_ms)

    @property
    def leased(self) -> Optional[datetime]:
        """When its last lease began."""
        return times.when(self._raw.leased_ms)

    @property
    def deadline(self) -> Optional[datetime]:
        """When its lease may be taken back; None: at no time."""
        return times.when(self._raw.deadline_ms)

    @property
    def lease_remaining(self) -> timedelta:
        """How far the deadline was off when the job was told."""
        return times.duration(self._raw.lease_remaining_ms)

    @property
    def died(self) -> Optional[datetime]:
        """When it died."""
        return times.when(self._raw.dead_ms)

    @property
    def first_died(self) -> Optional[datetime]:
        """When it died for the first time; kept over replays."""
        return times.when(self._raw.first_dead_ms)

    @property
    def dead_reason(self) -> DeadReason:
        """Why it is dead; NONE: it is not."""
        return DeadReason(self._raw.dead_reason)

    @property
    def last_error(self) -> str:
        """Text of its last failed attempt. Bytes that are no UTF-8 are shown as U+FFFD."""
        return bytes_of(self._raw.last_error).decode("utf-8", "replace")

    @property
    def last_error_bytes(self) -> bytes:
        """The same, byte for byte."""
        return bytes_of(self._raw.last_error)

    @property
    def timeout(self) -> Optional[timedelta]:
        """How long its handler may take, as it was enqueued."""
        return times.some_duration(self._raw.timeout_ms)

    @property
    def expires_at(self) -> Optional[datetime]:
        """It never starts after this."""
        return times.when(self._raw.expires_at_ms)

    @property
    def retry_until(self) -> Optional[datetime]:
        """An attempt lost at or after this is the last."""
        return times.when(self._raw.retry_until_ms)

    @property
    def max_exceptions(self) -> int:
        """With so many nacks that count it is dead; 0: no limit."""
        return int(self._raw.max_exceptions)

    @property
    def fail_on_timeout(self) -> bool:
        """A lease that runs out is its last."""
        return bool(self._raw.flags & k.JOB_FAIL_ON_TIMEOUT)

    @property
    def note(self) -> bytes:
        """The last note of a worker; see progress()."""
        return bytes_of(self._raw.progress)

    @property
    def flow(self) -> int:
        """Id of the flow that it is a member of; 0: none."""
        return int(self._raw.flow)

    @property
    def flow_cancelled(self) -> bool:
        """Its flow was cancelled: it should stop."""
        return bool(self._raw.flow_cancelled)

    @property
    def chain_count(self) -> int:
        """Jobs that follow it, one after another."""
        return int(self._raw.chain_count)

    @property
    def group(self) -> bytes:
        """Key of its group; empty: none."""
        return bytes_of(self._raw.group)

    @property
    def parked(self) -> bool:
        """Ready, but no slot of its group is free for it, or its rate key is used up or cools
        down."""
        return bool(self._raw.parked)

    @property
    def tenant(self) -> bytes:
        """Its tenant; empty: none."""
        return bytes_of(self._raw.tenant)

    @property
    def rate_key(self) -> bytes:
        """Its rate key; empty: none."""
        return bytes_of(self._raw.rate_key)

    @property
    def rate_cost(self) -> int:
        """How much of the rate of its key it uses up."""
        return int(self._raw.rate_cost)

    @property
    def sealed(self) -> bool:
        """Its payload is stored encrypted."""
        return bool(self._raw.flags & k.JOB_ENCRYPT)

    @property
    def key_id(self) -> int:
        """The key that its payload is sealed with; 0: it is not sealed."""
        return int(self._raw.key_id)

    @property
    def payload_code(self) -> Code:
        """OK, or why `payload` is empty though it has one: NO_KEY, CORRUPT, NO_MEMORY. A job that
        was leased has its payload."""
        return code_of(self._raw.payload_code)

    # ---- settling -------------------------------------------------------------------------------

    def ack(self, result: Optional[BytesLike] = None, *, durability: Level = None) -> Code:
        """Done: the job goes. `result` (up to 1 MiB) is kept if the queue has a history.

        Returns OK, or STALE: the lease is no more, and nothing changed. Durability: default of the
        queue. Blocks: for durability. Raises NotFoundError and the errors of the store."""
        return self.queue.settle(Settle.ack(self, result=result), durability=durability)

    def nack(self, error: Union[str, BytesLike, None] = None, *, delay: Optional[Duration] = None,
             priority: Optional[int] = None, reason: DeadReason = DeadReason.NONE,
             front: bool = False, count: bool = True, durability: Level = None) -> Code:
        """The attempt failed: try again after `delay` (None: by the backoff policy), or be dead if
        no attempt is left, for `reason`. `front`: without a delay to the head of its
        priority. `count`: False does not count it as an exception. Returns and raises as ack()."""
        item = Settle.nack(self, error=error, delay=delay, priority=priority, reason=reason,
                           front=front, count=count)
        return self.queue.settle(item, durability=durability)

    def release(self, *, delay: Optional[Duration] = None, front: bool = False,
                durability: Level = None) -> Code:
        """Give it back before it was begun; the attempt is not counted. Else as nack()."""
        return self.queue.settle(Settle.release(self, delay=delay, front=front),
                                 durability=durability)

    def fail(self, error: Union[str, BytesLike, None] = None, *, durability: Level = None) -> Code:
        """It failed for good: dead, whatever attempts are left. Returns and raises as ack()."""
        return self.queue.settle(Settle.fail(self, error=error), durability=durability)

    def extend(self, lease: Optional[Duration] = None, *, durability: Level = None) -> Code:
        """Set the deadline anew, `lease` from now (None: that of the queue).

        Returns OK, STALE, or CANCELLED: its flow was cancelled, it should stop. Durability: default
        PROCESS. Blocks: for durability."""
        outcome = self.queue.extend([self], lease, durability=durability).outcome
        if outcome.is_error:
            raise make_error(outcome, "no such job in this queue")
        return outcome

    def confirm(self, run: Optional[Duration] = None, *, durability: Level = None) -> Code:
        """It is being worked on: leased -> running, with no deadline, or `run` from now.

        Returns OK or STALE. Durability: default POWER. Blocks: for durability."""
        return self.queue.confirm(self, run, durability=durability)

    def progress(self, note: Union[str, BytesLike], *, durability: Level = None) -> Code:
        """Leave a note with it, up to 4 KiB, in place of the one before; empty takes it away.

        Returns OK or STALE. Durability: default PROCESS. Blocks: for durability."""
        return self.queue.progress(self, note, durability=durability)

    def explain(self) -> JobExplanation:
        """Where it is now, and why it does not run."""
        return self.queue.explain_job(self.id)

    def __enter__(self) -> Job:
        """`with job:` acks it when the block ends, nacks it with the error's text if the block
        raised an Exception, and releases it at anything else (KeyboardInterrupt, SystemExit). The
        exception goes on, with a note if the job could not be settled. A job that was settled in
        the block is left alone."""
        return self

    def __exit__(self, kind: Any, problem: Optional[BaseException], trace: object) -> None:
        if self._settled:
            return
        if problem is None:
            self.ack()
            return
        try:
            if isinstance(problem, Exception):
                self.nack(_told(problem))
            else:
                self.release()
        except Exception as unsettled:  # the exception of the block is what went wrong first
            _note(problem, f"wq: job {self.id} could not be settled: {_told(unsettled)}")


def _told(problem: BaseException) -> str:
    """An exception as a line; what its __str__ raises does not matter."""
    name = type(problem).__name__
    try:
        return f"{name}: {problem}"
    except Exception as untold:
        return f"{name}, whose text raised {type(untold).__name__}"


def _note(problem: BaseException, text: str) -> None:
    """What add_note of Python 3.11 does. A class may refuse attributes."""
    with contextlib.suppress(Exception):
        problem.__notes__ = [*getattr(problem, "__notes__", ()), text]  # type: ignore[attr-defined]


Token = Union[Job, Tuple[int, int]]


def token_of(job: Token) -> Tuple[int, int]:
    """(id, generation) of a job, or of such a pair."""
    if isinstance(job, Job):
        return job.id, job.generation
    job_id, generation = job
    return number(job_id, "id", U64), number(generation, "generation", U64)


@dataclasses.dataclass(frozen=True)
class Settle:
    """One settle, for Queue.settle_many and transactions. Made by ack, nack, release and fail,
    which take a Job or a pair (id, generation), and the arguments of the methods of Job."""

    kind: int
    job: Token
    delay: Optional[Duration] = None
    priority: Optional[int] = None
    error: Union[str, BytesLike, None] = None
    reason: DeadReason = DeadReason.NONE
    flags: int = 0
    result: Optional[BytesLike] = None

    @classmethod
    def ack(cls, job: Token, *, result: Optional[BytesLike] = None) -> Settle:
        """Done."""
        return cls(k.SETTLE_ACK, job, result=result)

    @classmethod
    def nack(cls, job: Token, *, error: Union[str, BytesLike, None] = None,
             delay: Optional[Duration] = None, priority: Optional[int] = None,
             reason: DeadReason = DeadReason.NONE, front: bool = False,
             count: bool = True) -> Settle:
        """Try again, or be dead."""
        flags = ((k.NACK_FRONT if front else 0) | (0 if count else k.NACK_NO_EXCEPTION)
                 | (k.NACK_PRIORITY if priority is not None else 0)
                 | (k.NACK_DELAY if delay is not None else 0))
        return cls(k.SETTLE_NACK, job, delay, priority, error, reason, flags)

    @classmethod
    def release(cls, job: Token, *, delay: Optional[Duration] = None,
                front: bool = False) -> Settle:
        """Give it back."""
        return cls(k.SETTLE_RELEASE, job, delay, flags=k.RELEASE_FRONT if front else 0)

    @classmethod
    def fail(cls, job: Token, *, error: Union[str, BytesLike, None] = None,
             reason: DeadReason = DeadReason.NONE) -> Settle:
        """Dead."""
        return cls(k.SETTLE_FAIL, job, error=error, reason=reason)

    def fill(self, item: Any, keep: List[Any]) -> None:
        """Fill an initialised wq_settle_item."""
        item.kind = number(self.kind, "kind")
        item.id, item.generation = token_of(self.job)
        item.delay_ms = times.to_ms(self.delay, "delay")
        item.flags = self.flags
        item.priority = number(self.priority or 0, "priority")
        item.reason = number(int(self.reason), "reason")
        if self.error is not None:
            set_bytes(item.error, error_bytes(self.error), keep)
        if self.result is not None:
            set_bytes(item.result, data_bytes(self.result, "result"), keep)


def jobs_from(queues: List[Queue], handle: Any, owner: Any = None) -> Jobs:
    """The jobs of a wq_batch, which is freed with the last of them: they keep its owner, the handle
    itself if none is given. queue_index says of which queue each is."""
    jobs = Jobs()
    count = lib.wq_batch_count(handle)
    structs = ffi.new("wq_job[]", count)
    size = ffi.new("size_t *")
    has_headers = lib.wqpy_batch_jobs(handle, structs, size, count)
    batch = _Batch(owner or handle, structs, queues)
    if has_headers:
        batch.headers = [_headers_of(handle, i, structs[i].headers_count) for i in range(count)]
    together = count > 1 and size[0] <= _TOGETHER_BYTES
    made = _make_jobs(batch, _payloads_of(structs, size[0], count) if together
                      else repeat(None, count))
    jobs.extend(made)
    jobs._told = made
    return jobs


def _make_jobs(batch: _Batch, payloads: Iterable[Optional[bytes]]) -> List[Job]:
    """A Job for each place of a batch. There is no Job.__init__: to call it would cost half as much
    again as all that is done here."""
    made: List[Job] = []
    make, index = object.__new__, 0
    for payload in payloads:
        job = make(Job)
        job._batch = batch
        job._index = index
        if payload is not None:
            job.payload = payload
        made.append(job)
        index += 1
    return made


def _payloads_of(structs: Any, size: int, count: int) -> Tuple[bytes, ...]:
    """All payloads, which have `size` bytes together: copied by one call, and told apart by
    another. A Struct of its own: a format is seldom seen again, and struct.unpack keeps them."""
    data, form = ffi.new("char[]", size), ffi.new("char[]", _FORM_BYTES * count)
    length = lib.wqpy_payloads(structs, count, data, form)
    return struct.Struct(bytes(ffi.buffer(form, length))).unpack(ffi.buffer(data, size))


def _headers_of(handle: Any, index: int, count: int) -> Tuple[Tuple[str, bytes], ...]:
    """Read at once: a batch may be asked by one thread at a time, and its jobs go to many."""
    header = ffi.new("wq_header *")
    found = []
    for h in range(count):
        lib.wq_batch_header(handle, index, h, header)
        found.append((name_of(header.name), bytes_of(header.value)))
    return tuple(found)
