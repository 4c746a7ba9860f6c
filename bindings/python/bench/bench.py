"""How much the Python surface costs, as one line of JSON.

    bench.py [--jobs N] [--batch N] [--payload BYTES] [--level LEVEL] [--dir DIRECTORY]

jobs_per_s is a whole life (enqueue, lease, ack) with so many jobs per call; ns_per_* are single
calls at the level memory, to be compared with those of C. Counts are checked: all that was enqueued
was delivered and acked once."""

import argparse
import json
import shutil
import tempfile
import time

import wq


def whole_lives(queue, jobs, batch, payload, level):
    """(seconds, delivered) of `jobs` jobs."""
    seen = set()
    begin = time.perf_counter()
    for _ in range(jobs // batch):
        queue.enqueue_many([payload] * batch, durability=level)
        leased = queue.lease(batch, durability=level)
        while leased:
            seen.update(job.id for job in leased)
            if sum(len(job.payload) for job in leased) != len(leased) * len(payload):
                raise SystemExit("a payload is not what it was")
            if not queue.ack_many(leased, durability=level):
                raise SystemExit("an ack was refused")
            leased = queue.lease(batch, durability=level)
    return time.perf_counter() - begin, len(seen)


def single_calls(queue, count, payload):
    """ns per enqueue, lease and ack, one job each."""
    level = wq.Durability.MEMORY
    result, begin = {}, time.perf_counter()
    for _ in range(count):
        queue.enqueue(payload, durability=level)
    result["ns_per_enqueue"] = (time.perf_counter() - begin) / count * 1e9
    jobs, begin = [], time.perf_counter()
    for _ in range(count):
        jobs += queue.lease(durability=level)
    result["ns_per_lease"] = (time.perf_counter() - begin) / count * 1e9
    begin = time.perf_counter()
    acked = sum(bool(job.ack(durability=level)) for job in jobs)
    result["ns_per_ack"] = (time.perf_counter() - begin) / count * 1e9
    if acked != count:
        raise SystemExit(f"{acked} of {count} jobs were acked")
    return {name: round(value) for name, value in result.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=20_000)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--payload", type=int, default=100)
    parser.add_argument("--level", choices=("memory", "process", "power"), default="memory")
    parser.add_argument("--dir", help="where the store is made; default: a temporary directory")
    args = parser.parse_args()
    directory = tempfile.mkdtemp(dir=args.dir)
    try:
        with wq.open(f"{directory}/store") as store:
            queue = store.queue("bench")
            payload = b"x" * args.payload
            jobs = args.jobs // args.batch * args.batch
            single = single_calls(queue, min(jobs, 5000), payload)
            seconds, delivered = whole_lives(queue, jobs, args.batch, payload,
                                             wq.Durability[args.level.upper()])
            stats = queue.stats()
            if delivered != jobs or stats.acked_total != stats.enqueued_total:
                raise SystemExit(f"{delivered} of {jobs} jobs were delivered")
            print(json.dumps({"binding": "python", "level": args.level, "batch": args.batch,
                              "payload_bytes": args.payload, "enqueued": jobs,
                              "delivered": delivered, "jobs_per_s": round(jobs / seconds),
                              **single}))
    finally:
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
