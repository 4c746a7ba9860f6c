"""asyncio: thousands of pending changes, cancellation, closing."""

import asyncio
import threading

import pytest

import wq
from conftest import SMALL


def run(path, main):
    async def body():
        async with await wq.aio.open(path, **SMALL) as store:
            await asyncio.wait_for(main(store), 60)

    asyncio.run(body())


def test_ten_thousand_pending(tmp_path):
    async def main(store):
        queue = await store.queue("q")
        before = threading.active_count()
        tasks = [asyncio.ensure_future(queue.enqueue(b"%d" % i)) for i in range(10_000)]
        await asyncio.sleep(0)
        assert threading.active_count() == before  # no thread each
        done = await asyncio.gather(*tasks)
        assert len({e.id for e in done}) == 10_000 and all(e.outcome for e in done)
        stats = store.sync.stats()
        assert stats.durable_lsn >= max(e.lsn for e in done)
        jobs = await queue.lease(10_000)
        codes = await asyncio.gather(*(queue.ack(job) for job in jobs))
        total = len(jobs)
        while total < 10_000:
            jobs = await queue.lease(10_000)
            codes += (await queue.ack_many(jobs)).codes
            total += len(jobs)
        assert len(codes) == 10_000 and all(codes)
        assert queue.sync.stats().acked_total == 10_000

    run(tmp_path / "s", main)


def test_every_form(tmp_path):
    async def main(store):
        queue = await store.queue("q", max_retries=5)
        assert (await queue.enqueue(b"a", unique_key="k")).outcome
        assert (await queue.enqueue(b"a", unique_key="k")).outcome is wq.Code.DUPLICATE
        assert (await queue.enqueue_many([b"b", b"c"])).accepted == 2
        with pytest.raises(wq.InvalidError):
            await queue.enqueue(b"x", delay=-1)
        with pytest.raises(TypeError):
            await queue.enqueue("x")
        first, second, third = await queue.lease(3)
        assert (await queue.extend([first, second], 60)).codes == [wq.Code.OK] * 2
        assert await queue.nack(first, "no", delay=60) and await queue.release(second, delay=60)
        assert await queue.ack(third, b"r") and await queue.ack(third) is wq.Code.STALE
        await queue.enqueue(b"d")
        job = (await queue.lease())[0]
        assert await queue.fail(job, "for good")
        told = await queue.settle_many([wq.Settle.ack(job)])
        assert told.codes == [wq.Code.STALE]
        put = await store.submit(store.sync.kv.put, "k", "v", durability=wq.Durability.POWER)
        assert put and (await store.run(store.sync.kv.get, "k")).value == b"v"
        assert await store.submit(queue.sync.configure, max_running=3)
        assert (await store.run(queue.sync.config)).max_running == 3
        assert await store.submit(store.sync.transaction().kv_add("n").commit)
        assert await queue.lease() == [] and await queue.lease(wait=0.001) == []
        seen = []
        await queue.enqueue_many([b"%d" % i for i in range(25)])
        store.sync.queue("q").configure(max_running=0)
        async for job in queue.jobs(batch=10, idle=0):
            seen.append(job.payload)
            await queue.ack(job)
            if len(seen) == 22:
                break
        assert seen == [b"%d" % i for i in range(22)]

    run(tmp_path / "s", main)


def test_a_cancelled_lease_is_cancelled_also_if_its_jobs_are_gone(tmp_path):
    async def main(store):
        queue = await store.queue("q")
        await queue.enqueue(b"x")
        task = asyncio.ensure_future(queue.lease(durability=wq.Durability.POWER))
        await asyncio.sleep(0)  # it has the job, and waits until that is durable
        queue.sync.delete()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(tmp_path, main)


def test_cancelling_a_waiting_lease_loses_no_job(tmp_path, prng):
    async def main(store):
        queue = await store.queue("q")
        for turn in range(20):
            task = asyncio.ensure_future(queue.lease(wait=None))
            for _ in range(prng.randrange(8)):
                await asyncio.sleep(0)
            await queue.enqueue(b"x", durability=wq.Durability.MEMORY)
            task.cancel()
            try:
                assert await queue.ack((await task)[0])
            except asyncio.CancelledError:
                assert queue.sync.stats().ready == 1
                assert queue.sync.clear() == 1
            assert queue.sync.stats().leased == 0, turn

    run(tmp_path / "s", main)


def test_many_waiting_leases(tmp_path):
    async def main(store):
        queue = await store.queue("q")
        tasks = [asyncio.ensure_future(queue.lease(wait=None)) for _ in range(50)]
        while store.sync.stats().waiting < 50:
            await asyncio.sleep(0.005)
        await queue.enqueue_many([b"%d" % i for i in range(50)])
        jobs = [(await task)[0].payload for task in tasks]
        assert sorted(jobs) == sorted(b"%d" % i for i in range(50))

    run(tmp_path / "s", main)


def test_closing_answers_everybody(tmp_path):
    async def main():
        store = await wq.aio.open(tmp_path / "s", **SMALL)
        queue = await store.queue("q")
        waiting = [asyncio.ensure_future(queue.lease(wait=None)) for _ in range(3)]
        while store.sync.stats().waiting < 3:
            await asyncio.sleep(0.005)
        pending = [asyncio.ensure_future(queue.enqueue(b"x")) for _ in range(100)]
        await asyncio.sleep(0)
        await store.close()
        await store.close()
        results = await asyncio.gather(*pending, return_exceptions=True)
        for result in results:
            assert isinstance(result, (wq.Enqueued, wq.ClosedError)), result
        for task in waiting:
            with pytest.raises(wq.ClosedError):
                jobs = await task
                assert jobs, "a lease got a job before the close"
                raise wq.ClosedError("it did")
        with pytest.raises(wq.ClosedError):
            await queue.enqueue(b"x")

    asyncio.run(main())


def test_completions_by_themselves(queue):
    with wq.Completions(queue.store) as pending:
        assert pending.fileno() >= 0 and pending.poll() == []
        tickets = set()
        for i in range(600):
            enqueued, ticket = pending.begin(queue.enqueue, b"%d" % i)
            assert enqueued.outcome and ticket is not None
            tickets.add(ticket)
        while tickets:
            for ticket, code in pending.poll(wait=None):
                assert code is wq.Code.OK
                tickets.remove(ticket)
        code, ticket = pending.begin(queue.resume)
        assert code is wq.Code.OK and ticket is None  # nothing was written
    with pytest.raises(wq.ClosedError):
        pending.poll()
