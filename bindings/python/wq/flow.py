"""Flows: jobs that are counted together, and a job that the end of the last of them enqueues.
Thread rule and errors are those of wq.queue; `durability` defaults to POWER."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Iterator, List, Optional, Tuple

from . import _constants as k
from ._lib import U64, code_of, ffi, lib, new, new_array, number
from .call import Level, call_of
from .errors import Code, WqError
from .spec import NextJob, next_jobs
from .types import FlowStatus, from_c

if TYPE_CHECKING:
    from .store import Store


class Flow:
    """One flow, by its id. Jobs join it by JobSpec.flow while it is neither finished nor
    cancelled."""

    __slots__ = ("_store", "id")

    def __init__(self, store: Store, flow: int) -> None:
        self._store = store
        self.id = number(flow, "flow", U64)

    def __index__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"<wq.Flow {self.id}>"

    def seal(self, *, durability: Level = None) -> Code:
        """No more jobs come from outside: it is finished as soon as nothing is pending."""
        return code_of(self._store._do(lib.wq_flow_seal, self.id, call_of(durability)))

    def cancel(self, *, durability: Level = None) -> Code:
        """End the members that did not start; those that run learn it. OK, or CONFLICT:
        finished."""
        return code_of(self._store._do(lib.wq_flow_cancel, self.id, call_of(durability)))

    def status(self) -> FlowStatus:
        """Its counts; they can be read until seven days after its end."""
        status = new("wq_flow_status")
        self._store._do(lib.wq_flow_get_status, self.id, status)
        return from_c(FlowStatus, status)


class Flows:
    """The flows of a store: `store.flows`."""

    __slots__ = ("_store",)

    def __init__(self, store: Store) -> None:
        self._store = store

    def create(self, *, on_complete: Optional[NextJob] = None,
               on_failure: Optional[NextJob] = None, allow_failures: bool = False,
               durability: Level = None) -> Flow:
        """Make a flow. At its end `on_complete` is enqueued, or `on_failure` if a member failed or
        was cancelled (and failures are not allowed), or if the flow was cancelled."""
        keep: List[Any] = []
        options = new("wq_flow_options")
        options.flags = k.FLOW_ALLOW_FAILURES if allow_failures else 0
        if on_complete is not None:
            options.on_complete = next_jobs([on_complete], keep)
        if on_failure is not None:
            options.on_failure = next_jobs([on_failure], keep)
        out = ffi.new("uint64_t *")
        code = code_of(self._store._do(lib.wq_flow_create, options, out, call_of(durability)))
        if not code:
            raise WqError("an import is not finished", code)
        return Flow(self._store, int(out[0]))

    def get(self, flow: int) -> Flow:
        """A flow by its id, unread: status() tells whether it is there."""
        return Flow(self._store, flow)

    def page(self, *, cursor: int = 0, limit: int = 100) -> Tuple[List[FlowStatus], int]:
        """Up to `limit` (1 to 1,000) flows, newest first, and the cursor of the next page, 0 if
        there is no more. A page may be empty though there are more."""
        room = number(limit, "limit", 10_000)
        place = ffi.new("uint64_t *", number(cursor, "cursor", U64))
        count, structs = ffi.new("size_t *"), new_array("wq_flow_status", room)
        self._store._do(lib.wq_flow_list, place, structs, room, ffi.sizeof("wq_flow_status"),
                        count)
        return [from_c(FlowStatus, structs[i]) for i in range(count[0])], int(place[0])

    def __iter__(self) -> Iterator[FlowStatus]:
        """All flows that can be read, newest first."""
        flows, cursor = self.page()
        yield from flows
        while cursor:
            flows, cursor = self.page(cursor=cursor)
            yield from flows
