"""Dead letters of a queue: jobs that failed for good, until they are replayed, removed or purged.

A dead letter is a Job; its entry is the pair (id, generation). Thread rule, errors and `durability`
(default POWER) are those of wq.queue."""

from __future__ import annotations

import dataclasses
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Callable, Iterator, List, Optional, Sequence, Union

from . import _constants as k
from . import times
from ._lib import (U64, BytesLike, code_of, ffi, from_handle, lib, new, number, set_bytes,
                   text_bytes)
from .call import Level, call_of
from .callback import Progress
from .cancel import CancelToken, waiting
from .errors import Code
from .job import Job, Jobs, Token, jobs_from, token_of
from .times import When
from .types import DeadReason

if TYPE_CHECKING:
    from .queue import Queue


@dataclasses.dataclass(frozen=True)
class DeadReport:
    """What a bulk change did. Outcome: OK, or CANCELLED: it was stopped; what was changed stays
    so."""

    outcome: Code
    changed: int
    examined: int
    elapsed: timedelta


class DeadPage(Jobs):
    """A page of dead letters. `cursor` continues the listing; 0: there is no more."""

    cursor: int = 0


class DeadLetters:
    """The dead letters of one queue: `queue.dead`."""

    __slots__ = ("_queue",)

    def __init__(self, queue: Queue) -> None:
        self._queue = queue

    def page(self, *, cursor: int = 0, limit: int = 100, oldest_first: bool = False,
             reason: DeadReason = DeadReason.NONE, error_part: Union[str, BytesLike] = b"",
             since: Optional[When] = None, until: Optional[When] = None) -> DeadPage:
        """One page of at most `limit` (1 to 1,000) letters that fit: died of `reason`, at or after
        `since`, before `until`, with `error_part` in the last error. Blocks: for disk reads."""
        keep: List[Any] = []
        query = new("wq_dead_query")
        query.flags = k.DEAD_OLDEST_FIRST if oldest_first else 0
        query.cursor = number(cursor, "cursor", U64)
        query.limit = number(limit, "limit")
        query.reason = number(int(reason), "reason")
        query.from_ms = times.when_ms(since, "since")
        query.until_ms = times.when_ms(until, "until")
        set_bytes(query.error_part, text_bytes(error_part, "error_part"), keep)
        out, following = ffi.new("wq_batch **"), ffi.new("uint64_t *")
        code = self._queue._do(lib.wq_dead_list, query, out, following)
        page = DeadPage()
        if out[0]:
            page.extend(jobs_from([self._queue], ffi.gc(out[0], lib.wqpy_batch_free)))
        page.outcome, page.cursor = code_of(code), int(following[0])
        return page

    def __iter__(self) -> Iterator[Job]:
        """All dead letters, newest first."""
        return self.find()

    def find(self, *, oldest_first: bool = False, reason: DeadReason = DeadReason.NONE,
             error_part: Union[str, BytesLike] = b"", since: Optional[When] = None,
             until: Optional[When] = None) -> Iterator[Job]:
        """All that fit, page by page. Those that come or go meanwhile do not disturb the others."""
        cursor = 0
        while True:
            page = self.page(cursor=cursor, oldest_first=oldest_first, reason=reason,
                             error_part=error_part, since=since, until=until)
            yield from page
            cursor = page.cursor
            if cursor == 0:
                return

    def get(self, entry: Token) -> Optional[Job]:
        """One dead letter; None: that entry is no more (the job was replayed). NotFoundError: no
        such job in this queue."""
        job_id, generation = token_of(entry)
        _, batch = from_handle(self._queue, "wq_batch", lib.wqpy_batch_free, lib.wq_dead_get,
                               job_id, generation)
        return jobs_from([self._queue], batch)[0] if batch is not None else None

    def replay(self, entry: Token, *, durability: Level = None) -> Code:
        """Make it ready again with attempts from zero: OK, STALE (that entry is no more), DUPLICATE
        (another job holds its key). Raises besides: FullError, NoSpaceError."""
        job_id, generation = token_of(entry)
        return code_of(self._queue._do(lib.wq_dead_replay, job_id, generation,
                                       call_of(durability)))

    def remove(self, entry: Token, *, durability: Level = None) -> Code:
        """Remove it for ever: OK or STALE."""
        job_id, generation = token_of(entry)
        return code_of(self._queue._do(lib.wq_dead_remove, job_id, generation,
                                       call_of(durability)))

    def replay_many(self, *, all: bool = False, reason: DeadReason = DeadReason.NONE,
                    error_part: Union[str, BytesLike] = b"", since: Optional[When] = None,
                    until: Optional[When] = None, entries: Sequence[Token] = (), limit: int = 0,
                    dry_run: bool = False, cancel: Optional[CancelToken] = None,
                    progress: Optional[Callable[[int, int], object]] = None,
                    durability: Level = None) -> DeadReport:
        """Replay all that fit, the oldest first. At least one condition, or entries and nothing
        else, or `all`. `dry_run` only counts. `progress(changed, examined)` is called now and then
        and stops the work by returning False; Ctrl-C stops it too. One flush at the end makes all
        durable.

        Raises besides: FullError (the queue has no room for the next)."""
        return self._bulk(lib.wq_dead_replay_many, all, reason, error_part, since, until, entries,
                          limit, dry_run, cancel, progress, durability)

    def remove_many(self, *, all: bool = False, reason: DeadReason = DeadReason.NONE,
                    error_part: Union[str, BytesLike] = b"", since: Optional[When] = None,
                    until: Optional[When] = None, entries: Sequence[Token] = (), limit: int = 0,
                    dry_run: bool = False, cancel: Optional[CancelToken] = None,
                    progress: Optional[Callable[[int, int], object]] = None,
                    durability: Level = None) -> DeadReport:
        """Remove all that fit for ever; else as replay_many."""
        return self._bulk(lib.wq_dead_remove_many, all, reason, error_part, since, until, entries,
                          limit, dry_run, cancel, progress, durability)

    def _bulk(self, function: Any, all_of_them: bool, reason: DeadReason,
              error_part: Union[str, BytesLike], since: Optional[When], until: Optional[When],
              entries: Sequence[Token], limit: int, dry_run: bool, cancel: Optional[CancelToken],
              progress: Optional[Callable[[int, int], object]], level: Level) -> DeadReport:
        keep: List[Any] = []
        query = new("wq_dead_filter")
        query.flags = ((k.DEAD_ALL if all_of_them else 0) | (k.DEAD_DRY_RUN if dry_run else 0))
        query.reason = number(int(reason), "reason")
        query.from_ms = times.when_ms(since, "since")
        query.until_ms = times.when_ms(until, "until")
        query.limit = number(limit, "limit", U64)
        set_bytes(query.error_part, text_bytes(error_part, "error_part"), keep)
        if entries:
            tokens = ffi.new("wq_token[]", [list(token_of(entry)) for entry in entries])
            query.entries, query.entries_count = tokens, len(entries)
        report = new("wq_dead_report")

        def run(token: Any) -> int:
            with Progress(progress) as callback:
                query.cancel = token
                query.progress, query.progress_ctx = callback.function, callback.context
                return self._queue._do(function, query, call_of(level), report)

        with self._queue.inside():
            code = waiting([self._queue], cancel, run)
        return DeadReport(code_of(code), report.changed, report.examined,
                          times.duration(report.elapsed_ms))

    def purge(self, *, durability: Level = None) -> int:
        """Remove all dead letters for ever, in one change: how many there were."""
        removed = ffi.new("uint64_t *")
        self._queue._do(lib.wq_dead_purge, removed, call_of(durability))
        return int(removed[0])
