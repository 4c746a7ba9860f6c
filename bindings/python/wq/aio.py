"""asyncio: the store without a thread per waiting change.

    async with await wq.aio.open("store") as store:
        mail = await store.queue("mail")
        await mail.enqueue(b"hello")                    # returns when it is on the device
        async for job in mail.jobs():
            await mail.ack(job)

Changes are made at once in the event loop and their durability is awaited through the completion
queue and its eventfd: ten thousand tasks that wait for it hold no thread. A lease that has to wait
holds one thread; cancelling its task ends it, and no job is lost by that. What has no form of its
own here: `await store.submit(method, ...)` for all that takes a `durability`, `await
store.run(function, ...)` for all that reads or blocks, on the objects in `.sync`.

Thread rule: one event loop, the one that opened it."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import threading
from typing import (TYPE_CHECKING, Any, AsyncIterator, Callable, Dict, Iterable, Optional, Sequence,
                    Tuple, TypeVar, Union)

from ._lib import BytesLike
from .call import Level
from .cancel import CancelToken
from .completion import Completions
from .errors import ClosedError, Code, WqError, make_error
from .job import Job, Jobs, Settle, Token
from .queue import Enqueued, EnqueuedMany, Queue, SettledMany
from .spec import JobOptions, JobSpec
from .store import Path, Store, _give_back
from .times import Duration
from .types import DeadReason

if TYPE_CHECKING:
    from typing_extensions import ParamSpec, Unpack

    from .config import ConfigOptions
    P = ParamSpec("P")

R = TypeVar("R")


async def open(path: Path, **options: Any) -> AsyncStore:
    """Open a store for this event loop; options as Store.open."""
    store = await asyncio.to_thread(functools.partial(Store.open, path, **options))
    try:
        return AsyncStore(store)
    except BaseException:
        store.close()
        raise


class AsyncStore:
    """A store for one event loop. `sync` is the Store itself."""

    def __init__(self, store: Store) -> None:
        self.sync = store
        self._loop = asyncio.get_running_loop()
        self._completions = Completions(store)
        self._fd = self._completions.fileno()
        self._pending: Dict[int, asyncio.Future[None]] = {}
        self._loop.add_reader(self._fd, self._arrived)
        self._closed = False

    async def __aenter__(self) -> AsyncStore:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the store: flush, and answer everybody who still waits. Twice does nothing more."""
        if self._closed:
            return
        self._closed = True
        self._loop.remove_reader(self._fd)
        try:
            await asyncio.to_thread(self.sync.close)
        finally:
            self._arrived()
            for future in self._pending.values():
                if not future.done():
                    future.set_exception(ClosedError("the store was closed"))
            self._pending.clear()
            self._completions.close()

    def _arrived(self) -> None:
        """The eventfd is readable: answer those whose changes are durable."""
        while True:
            try:
                events = self._completions.poll()
            except ClosedError:
                return
            for ticket, code in events:
                future = self._pending.pop(ticket, None)
                if future is None or future.done():
                    continue
                if code.is_error:
                    future.set_exception(make_error(code, "the store stopped before the change was "
                                                    "durable; it may have been kept"))
                else:
                    future.set_result(None)
            if not events:
                return

    async def submit(self, method: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """method(*args, **kwargs) of any method of the sync objects that takes a `durability`: what
        it returns, when it is durable. It is done at once: a task that is cancelled while it waits
        has made the change all the same."""
        result, future = self._begin(method, *args, **kwargs)
        if future is not None:
            await future
        return result

    def _begin(self, method: Callable[P, R], *args: P.args, **kwargs: P.kwargs
               ) -> Tuple[R, Optional[asyncio.Future[None]]]:
        """What submit does before it waits; the future ends when the change is durable."""
        if self._closed:
            raise ClosedError("the store is closed")
        key = "durable" if getattr(method, "__name__", "") == "configure" else "durability"
        more: Dict[str, Any] = dict(kwargs)
        call, ticket = self._completions._call(more.pop(key, None))
        more[key] = call
        result = method(*args, **more)
        if not call.lsn:
            return result, None
        future = self._pending[ticket] = self._loop.create_future()
        return result, future

    async def run(self, function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """function(*args, **kwargs) in a thread of the loop's pool: for all that reads or
        blocks."""
        return await asyncio.to_thread(function, *args, **kwargs)

    async def queue(self, name: Union[str, bytes], *, create: bool = True,
                    **config: Unpack[ConfigOptions]) -> AsyncQueue:
        """A handle on a queue; see Store.queue."""
        make = functools.partial(self.sync.queue, name, create=create, **config)
        return AsyncQueue(self, await asyncio.to_thread(make))

    async def lease(self, queues: Sequence[AsyncQueue], max_jobs: int = 1, *,
                    wait: Optional[Duration] = 0, lease: Optional[Duration] = None,
                    durability: Level = None) -> Jobs:
        """See Store.lease. A cancelled task gives back what it may have got."""
        plain = [queue.sync for queue in queues]
        jobs, durable = self._begin(self.sync.lease, plain, max_jobs, lease=lease,
                                    durability=durability)
        try:
            if durable is not None:
                await durable
        except asyncio.CancelledError:
            _give_back(jobs)
            raise
        if jobs or wait == 0:
            return jobs
        token = CancelToken()
        take = functools.partial(self.sync.lease, plain, max_jobs, wait=wait, lease=lease,
                                 cancel=token, durability=durability)
        future = self._in_thread(take)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            token.fire()
            with contextlib.suppress(WqError):
                _give_back(await future)
            raise

    def _in_thread(self, function: Callable[[], R]) -> asyncio.Future[R]:
        """In a thread of its own: waits of any number must not use up the loop's pool."""
        future: asyncio.Future[R] = self._loop.create_future()

        def answer(result: Optional[R], problem: Optional[BaseException]) -> None:
            if not future.done():
                if problem is not None:
                    future.set_exception(problem)
                else:
                    future.set_result(result)  # type: ignore[arg-type]

        def body() -> None:
            result, problem = None, None
            try:
                result = function()
            except BaseException as raised:
                problem = raised
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                self._loop.call_soon_threadsafe(answer, result, problem)

        threading.Thread(target=body, name="wq-lease", daemon=True).start()
        return future

    async def jobs(self, queues: Sequence[AsyncQueue], *, batch: int = 1,
                   idle: Optional[Duration] = None,
                   lease: Optional[Duration] = None) -> AsyncIterator[Job]:
        """Iterate over jobs as they come; see Store.jobs. Cancelling the task ends it."""
        while True:
            try:
                leased = await self.lease(queues, batch, wait=idle, lease=lease)
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


class AsyncQueue:
    """A handle on a queue for one event loop. `sync` is the Queue itself."""

    def __init__(self, store: AsyncStore, queue: Queue) -> None:
        self.store = store
        self.sync = queue

    def close(self) -> None:
        """Close the handle; see Queue.close."""
        self.sync.close()

    async def enqueue(self, payload: Union[JobSpec, BytesLike], *, durability: Level = None,
                      **options: Unpack[JobOptions]) -> Enqueued:
        """See Queue.enqueue."""
        return await self.store.submit(self.sync.enqueue, payload, durability=durability, **options)

    async def enqueue_many(self, jobs: Iterable[Union[JobSpec, BytesLike]], *,
                           partial: bool = False, durability: Level = None) -> EnqueuedMany:
        """See Queue.enqueue_many."""
        return await self.store.submit(self.sync.enqueue_many, jobs, partial=partial,
                                       durability=durability)

    async def lease(self, max_jobs: int = 1, *, wait: Optional[Duration] = 0,
                    lease: Optional[Duration] = None, durability: Level = None) -> Jobs:
        """See Store.lease."""
        return await self.store.lease([self], max_jobs, wait=wait, lease=lease,
                                      durability=durability)

    def jobs(self, *, batch: int = 1, idle: Optional[Duration] = None,
             lease: Optional[Duration] = None) -> AsyncIterator[Job]:
        """See Store.jobs."""
        return self.store.jobs([self], batch=batch, idle=idle, lease=lease)

    async def settle(self, item: Settle, *, durability: Level = None) -> Code:
        """See Queue.settle."""
        return await self.store.submit(self.sync.settle, item, durability=durability)

    async def settle_many(self, items: Iterable[Settle], *,
                          durability: Level = None) -> SettledMany:
        """See Queue.settle_many."""
        return await self.store.submit(self.sync.settle_many, items, durability=durability)

    async def ack_many(self, jobs: Iterable[Token], *, durability: Level = None) -> SettledMany:
        """See Queue.ack_many."""
        return await self.store.submit(self.sync.ack_many, jobs, durability=durability)

    async def ack(self, job: Token, result: Optional[BytesLike] = None, *,
                  durability: Level = None) -> Code:
        """See Job.ack."""
        return await self.settle(Settle.ack(job, result=result), durability=durability)

    async def nack(self, job: Token, error: Union[str, BytesLike, None] = None, *,
                   delay: Optional[Duration] = None, priority: Optional[int] = None,
                   reason: DeadReason = DeadReason.NONE, front: bool = False, count: bool = True,
                   durability: Level = None) -> Code:
        """See Job.nack."""
        item = Settle.nack(job, error=error, delay=delay, priority=priority, reason=reason,
                           front=front, count=count)
        return await self.settle(item, durability=durability)

    async def release(self, job: Token, *, delay: Optional[Duration] = None, front: bool = False,
                      durability: Level = None) -> Code:
        """See Job.release."""
        return await self.settle(Settle.release(job, delay=delay, front=front),
                                 durability=durability)

    async def fail(self, job: Token, error: Union[str, BytesLike, None] = None, *,
                   durability: Level = None) -> Code:
        """See Job.fail."""
        return await self.settle(Settle.fail(job, error=error), durability=durability)

    async def extend(self, jobs: Sequence[Token], lease: Optional[Duration] = None, *,
                     durability: Level = None) -> SettledMany:
        """See Queue.extend."""
        return await self.store.submit(self.sync.extend, jobs, lease, durability=durability)
