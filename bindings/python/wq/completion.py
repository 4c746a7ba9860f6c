"""The completion queue of a store: changes that are begun and become durable later, thousands at a
time with no thread each. wq.aio stands on it; it can be used by itself with any event loop:

    pending = wq.Completions(store)
    enqueued, ticket = pending.begin(queue.enqueue, b"hello")     # done, not yet durable
    ...                                                           # pending.fileno() is readable
    for ticket, code in pending.poll(): ...                       # durable, or the store failed

Thread rule: begin from any thread; poll from one at a time."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Tuple, TypeVar

from . import times
from ._lib import Handle, code_of, error_of, ffi, give_error, lib, new_array, take_error
from .call import Call, Level
from .errors import Code
from .times import Duration
from .types import Durability

if TYPE_CHECKING:
    from .store import Store

R = TypeVar("R")
_EVENTS = 256


class Completions(Handle):
    """A completion queue. `with` closes it."""

    __slots__ = ("_numbers", "_events", "_count")

    def __init__(self, store: Store) -> None:
        out = ffi.new("wq_cq **")
        store._do(lib.wq_cq_open, out)
        super().__init__(ffi.gc(out[0], lib.wqpy_cq_close), "completion queue")
        self._numbers = itertools.count(1)
        self._events = new_array("wq_event", _EVENTS)
        self._count = ffi.new("size_t *")

    def __enter__(self) -> Completions:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close it. Events that were not polled are dropped; the changes go their way."""
        self._close()

    def fileno(self) -> int:
        """A descriptor that is readable while events wait. Only poll it."""
        with self.inside() as ptr:
            fd = int(lib.wq_cq_eventfd(ptr))
            if fd < 0:
                raise error_of(fd, None)
            return fd

    def _call(self, durability: Level = None) -> Tuple[Call, int]:
        """A Call that does not wait, and its ticket. If its lsn is not 0 afterwards, poll() tells
        of the ticket once; else there is nothing to wait for. To be used before it is closed."""
        with self.inside() as ptr:
            return self._call_inside(ptr, durability)

    def _call_inside(self, ptr: Any, durability: Level) -> Tuple[Call, int]:
        if isinstance(durability, Call):
            durability = Durability(durability._raw.durability)
        elif type(durability) is not Durability:
            durability = Durability.DEFAULT if durability is None else Durability(durability)
        call, ticket = Call(durability), next(self._numbers)
        raw = call._raw
        raw.cq = ptr
        raw.user_data = ticket
        return call, ticket

    def begin(self, method: Callable[..., R], *args: Any, durability: Level = None,
              **more: Any) -> Tuple[R, Optional[int]]:
        """method(*args, **more) of anything that takes a `durability` (for Queue.configure it is
        `durable`), without waiting for it: what it returns, and the ticket, None if nothing was
        written."""
        name = "durable" if getattr(method, "__name__", "") == "configure" else "durability"
        with self.inside() as ptr:  # it is not closed while the library has it
            call, ticket = self._call_inside(ptr, durability)
            result = method(*args, **{name: call}, **more)
            return result, ticket if call._raw.lsn else None

    def poll(self, wait: Optional[Duration] = 0) -> List[Tuple[int, Code]]:
        """(ticket, code) of up to 256 changes: OK, it is durable, or the error that stopped the
        store (the change may have been kept). Waits up to `wait` for the first."""
        wait_ms = times.wait_ms(wait, "wait")
        with self.inside() as ptr:
            err = take_error()
            code = lib.wq_cq_poll(ptr, self._events, _EVENTS, ffi.sizeof("wq_event"), wait_ms,
                                  self._count, err)
            if code < 0:
                raise error_of(code, err)
            give_error(err)
            return [(int(self._events[i].user_data), code_of(self._events[i].code))
                    for i in range(self._count[0])]
