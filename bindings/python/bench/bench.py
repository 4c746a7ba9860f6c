"""The whole life of jobs (enqueue, lease, ack) through the Python surface, to be compared with
bench/bindings/life.c by bench/run.sh BUILD_DIR --bindings.

    bench.py LEVEL BATCH JOBS DIRECTORY      one line of JSON; LEVEL: memory or power

32 changes may be under way in the completion queue; leases are at the memory level. Exit 1 if not
every job was delivered with its payload and acked once."""

import json
import sys
import time

import wq

UNDER_WAY_MAX = 32
PAYLOAD = b"x" * 100


class Window:
    """Changes under way."""

    def __init__(self, store, level):
        self.pending, self.level, self.count = wq.Completions(store), level, 0

    def settle_down(self, left):
        """Let changes arrive until so many are left."""
        while self.count > left:
            events = self.pending.poll(wait=None)
            if any(code is not wq.Code.OK for _, code in events):
                raise SystemExit("a change was lost")
            self.count -= len(events)

    def begin(self, method, *args):
        self.settle_down(UNDER_WAY_MAX - 1)
        result, ticket = self.pending.begin(method, *args, durability=self.level)
        self.count += ticket is not None
        if not result:
            raise SystemExit(f"a change did not do what it should: {result}")


def life(queue, window, batch, jobs):
    """How many of `jobs` jobs were delivered."""
    delivered, payloads = 0, [PAYLOAD] * batch
    for _ in range(jobs // batch):
        if batch == 1:
            window.begin(queue.enqueue, PAYLOAD)
        else:
            window.begin(queue.enqueue_many, payloads)
        leased = queue.lease(batch, durability=wq.Durability.MEMORY)
        for job in leased:
            if job.payload != PAYLOAD:
                raise SystemExit("a payload is not what it was")
        delivered += len(leased)
        if batch == 1:
            window.begin(leased[0].ack)
        else:
            window.begin(queue.ack_many, leased)
    window.settle_down(0)
    return delivered


def main():
    if len(sys.argv) != 5 or sys.argv[1] not in ("memory", "power"):
        raise SystemExit(__doc__)
    level, batch, directory = sys.argv[1], int(sys.argv[2]), sys.argv[4]
    jobs = int(sys.argv[3]) // batch * batch
    with wq.open(directory) as store:
        queue = store.queue("life")
        window = Window(store, wq.Durability[level.upper()])
        start = time.perf_counter()
        delivered = life(queue, window, batch, jobs)
        seconds = time.perf_counter() - start
        acked = queue.stats().acked_total
    print(json.dumps({"language": "python", "level": level, "batch": batch, "jobs": jobs,
                      "seconds": seconds, "delivered": delivered, "acked": acked}))
    return 0 if delivered == jobs == acked else 1


if __name__ == "__main__":
    sys.exit(main())
