"""History of a queue: its acked jobs with their results, as long as its configuration keeps them.
Thread rule and errors are those of wq.queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Iterator, List, Tuple

from ._lib import U64, ffi, lib, new, new_array, number
from .types import DoneJob, from_c

if TYPE_CHECKING:
    from .queue import Queue


class History:
    """The acked jobs of one queue: `queue.history`."""

    __slots__ = ("_queue",)

    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    def get(self, job_id: int) -> DoneJob:
        """One acked job. NotFoundError: not acked, or not kept. Blocks: for disk reads."""
        told, out = new("wq_done_job"), ffi.new("wq_list **")
        self._queue._do(lib.wq_history_get, number(job_id, "job_id", U64), told, out)
        text = ffi.gc(out[0], lib.wqpy_list_free)
        job = from_c(DoneJob, told)
        ffi.release(text)
        return job

    def page(self, *, cursor: int = 0, limit: int = 100) -> Tuple[List[DoneJob], int]:
        """Up to `limit` (1 to 1,000) acked jobs, newest first, and the cursor of the next page, 0
        if there is no more. A page may be empty though there are more."""
        room = number(limit, "limit", 10_000)
        place = ffi.new("uint64_t *", number(cursor, "cursor", U64))
        count, out = ffi.new("size_t *"), ffi.new("wq_list **")
        structs = new_array("wq_done_job", room)
        self._queue._do(lib.wq_history_list, place, structs, room, ffi.sizeof("wq_done_job"),
                        count, out)
        results = ffi.gc(out[0], lib.wqpy_list_free) if out[0] else None
        jobs = [from_c(DoneJob, structs[i]) for i in range(count[0])]
        if results is not None:
            ffi.release(results)
        return jobs, int(place[0])

    def __iter__(self) -> Iterator[DoneJob]:
        """All that are kept, newest first."""
        jobs, cursor = self.page()
        yield from jobs
        while cursor:
            jobs, cursor = self.page(cursor=cursor)
            yield from jobs
