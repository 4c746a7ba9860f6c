"""Reads lines from standard input and enqueues each as a job; prints how many are on the device.

    python3 producer.py STORE QUEUE < lines"""

import sys

import wq


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    count = 0
    with wq.open(sys.argv[1]) as store:
        queue = store.queue(sys.argv[2])
        batch = []
        for line in sys.stdin.buffer:
            batch.append(line.rstrip(b"\n"))
            if len(batch) == 100:
                count += queue.enqueue_many(batch).accepted
                batch = []
        if batch:
            count += queue.enqueue_many(batch).accepted
    print(f"enqueued {count}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
