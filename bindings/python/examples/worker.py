"""Takes jobs until none has come for a second, or until SIGTERM or Ctrl-C: prints the payload in
upper case and acks. A payload that is no text fails for good; whatever else goes wrong is tried
again.

    python3 worker.py STORE QUEUE"""

import signal
import sys

import wq


def handle(job: wq.Job) -> None:
    try:
        print(job.payload.decode("utf-8").upper(), flush=True)
    except UnicodeDecodeError as problem:
        job.fail(f"no text: {problem}")


def main() -> int:
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    stop = wq.CancelToken()
    signal.signal(signal.SIGTERM, lambda *_: stop.fire())
    signal.signal(signal.SIGINT, lambda *_: stop.fire())
    with wq.open(sys.argv[1]) as store:
        queue = store.queue(sys.argv[2])
        for job in queue.jobs(batch=10, idle=1, cancel=stop):
            with job:  # acks at the end; nacks if handle raises, and the exception goes on
                handle(job)
    return 0


if __name__ == "__main__":
    sys.exit(main())
