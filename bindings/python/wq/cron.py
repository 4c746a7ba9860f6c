"""Schedules: the clock of the store enqueues a job into a queue at each due time, once or never.
Thread rule and errors are those of wq.queue; `durability` defaults to POWER."""

from __future__ import annotations

import dataclasses
from datetime import datetime
from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Tuple, Union

from . import _constants as k
from . import times
from ._lib import (NULL, BytesLike, bytes_of, call_free, code_of, ffi, lib, name_bytes, name_of,
                   new, number, set_bytes)
from .call import Level, call_of
from .errors import Code
from .queue import Queue
from .spec import Backoff, BackoffKind, JobSpec, new_spec, spec_of
from .times import When

if TYPE_CHECKING:
    from .store import Store


@dataclasses.dataclass(frozen=True)
class Schedule:
    """A schedule as the store has it. `problem` says why its last slots could not be told.
    `payload_code` is OK, or why `payload` is empty though it has one: NO_KEY, CORRUPT, NO_MEMORY;
    `key_id` is that of the key that it is sealed with, 0: it is not `sealed`."""

    name: str
    queue: str
    expression: str
    zone: str
    paused: bool
    next_due: Optional[datetime]
    last_slot: Optional[datetime]
    created: Optional[datetime]
    fired: int
    missed: int
    catch_up: int
    priority: int
    max_attempts: int
    backoff: Optional[Backoff]
    payload: bytes
    headers: Tuple[Tuple[str, bytes], ...]
    problem: str
    sealed: bool
    key_id: int
    payload_code: Code


def _schedule(cron: Any) -> Schedule:
    backoff = None
    if cron.backoff_kind:
        backoff = Backoff(
            BackoffKind(cron.backoff_kind), times.some_duration(cron.backoff_base_ms),
            times.some_duration(cron.backoff_max_ms),
            tuple(times.duration(cron.backoff_list_ms[i]) for i in range(cron.backoff_count)),
            cron.backoff_jitter_permille / 1000)
    headers = tuple((name_of(cron.headers[i].name), bytes_of(cron.headers[i].value))
                    for i in range(cron.headers_count))
    return Schedule(
        name=name_of(cron.name), queue=name_of(cron.queue_name),
        expression=name_of(cron.expression), zone=name_of(cron.zone),
        paused=bool(cron.flags & k.CRON_PAUSED), next_due=times.when(cron.next_due_ms),
        last_slot=times.when(cron.last_slot_ms), created=times.when(cron.created_ms),
        fired=cron.fired, missed=cron.missed, catch_up=cron.catch_up, priority=cron.priority,
        max_attempts=cron.max_attempts, backoff=backoff, payload=bytes_of(cron.payload),
        headers=headers, problem=name_of(cron.problem), sealed=bool(cron.flags & k.JOB_ENCRYPT),
        key_id=cron.key_id, payload_code=code_of(cron.payload_code))


class Cron:
    """The schedules of a store: `store.cron`."""

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(self, queue: Queue, name: str, expression: str, job: Union[JobSpec, BytesLike] = b"",
            *, zone: str = "", catch_up: Optional[int] = None, durability: Level = None) -> Code:
        """Make the schedule `name`, or replace it: its job goes to `queue`. What is there already
        as given is left alone, so put all your schedules at every start. `expression` is that of
        wq.h (five or six fields, @daily, @every 90s); `zone` of the tz database, default UTC;
        `catch_up` missed slots run later (default: the newest). Raises besides: FullError,
        NoSpaceError."""
        keep: List[Any] = []
        spec = new("wq_cron_spec")
        set_bytes(spec.expression, name_bytes(expression, "expression"), keep)
        set_bytes(spec.zone, name_bytes(zone, "zone"), keep)
        spec.job = new_spec(spec_of(job), keep)
        if catch_up is not None:
            spec.flags = k.CRON_CATCH_UP
            spec.catch_up = number(catch_up, "catch_up")
        data = name_bytes(name)
        return code_of(queue._do(lib.wq_cron_put, data, len(data), spec, call_of(durability)))

    def _by_name(self, function: Any, name: str, level: Level) -> Code:
        data = name_bytes(name)
        return code_of(self._store._do(function, data, len(data), call_of(level)))

    def remove(self, name: str, *, durability: Level = None) -> Code:
        """Remove a schedule; jobs that it enqueued stay. NotFoundError: there is none."""
        return self._by_name(lib.wq_cron_remove, name, durability)

    def pause(self, name: str, *, durability: Level = None) -> Code:
        """Stop it until resume(); it misses nothing meanwhile."""
        return self._by_name(lib.wq_cron_pause, name, durability)

    def resume(self, name: str, *, durability: Level = None) -> Code:
        """Let it go on."""
        return self._by_name(lib.wq_cron_resume, name, durability)

    def get(self, name: str) -> Schedule:
        """One schedule. NotFoundError: there is none."""
        data, out = name_bytes(name), ffi.new("wq_crons **")
        self._store._do(lib.wq_cron_get, data, len(data), out)
        return self._all(out[0])[0]

    def page(self, *, queue: Optional[Queue] = None, after: str = "",
             limit: int = 100) -> List[Schedule]:
        """Up to `limit` (1 to 1,000) schedules behind `after` in the order of their names; those of
        one queue if it is given. A page shorter than `limit` is the last one."""
        data, out = name_bytes(after, "after"), ffi.new("wq_crons **")
        room = number(limit, "limit")
        if queue is None:
            self._store._do(lib.wq_cron_list, NULL, data, len(data), room, out)
        else:
            with queue.inside() as ptr:
                self._store._do(lib.wq_cron_list, ptr, data, len(data), room, out)
        return self._all(out[0])

    def list(self, queue: Optional[Queue] = None) -> Iterator[Schedule]:
        """All schedules, or those of one queue, page by page."""
        after = ""
        while True:
            page = self.page(queue=queue, after=after)
            yield from page
            if len(page) < 100:
                return
            after = page[-1].name

    @staticmethod
    def _all(handle: Any) -> List[Schedule]:
        crons, cron, found = ffi.gc(handle, lib.wqpy_crons_free), new("wq_cron"), []
        for i in range(lib.wq_crons_count(crons)):
            lib.wq_crons_at(crons, i, cron)
            found.append(_schedule(cron))
        ffi.release(crons)
        return found


def cron_next(expression: str, count: int = 1, *, zone: str = "",
              after: When) -> List[datetime]:
    """When an expression is due: the first `count` (1 to 10,000) times behind `after`, with no
    store. Fewer if it is due no more often before the year 10000. InvalidError names the field that
    is wrong."""
    text, place = name_bytes(expression, "expression"), name_bytes(zone, "zone")
    room, found = number(count, "count", 1_000_000), ffi.new("size_t *")
    due = ffi.new("int64_t[]", room)
    call_free(lib.wq_cron_next, text, len(text), place, len(place), times.when_ms(after, "after"),
              due, room, found)
    return [times.moment(ms) for ms in ffi.unpack(due, found[0])] if found[0] else []
