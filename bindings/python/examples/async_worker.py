"""The same with asyncio: a producer and three workers in one event loop.

    python3 async_worker.py STORE QUEUE COUNT"""

import asyncio
import sys

import wq


async def produce(queue: wq.aio.AsyncQueue, count: int) -> None:
    await asyncio.gather(*(queue.enqueue(b"%d" % i) for i in range(count)))


async def work(queue: wq.aio.AsyncQueue) -> int:
    done = 0
    async for job in queue.jobs(batch=10, idle=1):
        done += bool(await queue.ack(job))
    return done


async def run(path: str, name: str, count: int) -> int:
    async with await wq.aio.open(path) as store:
        queue = await store.queue(name)
        _, *done = await asyncio.gather(produce(queue, count), *(work(queue) for _ in range(3)))
        return sum(done)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    print(f"done {asyncio.run(run(sys.argv[1], sys.argv[2], int(sys.argv[3])))}")
