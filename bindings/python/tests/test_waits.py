"""Waits end: by a job, a token, a close, a shutdown, Ctrl-C, cancellation; and threads share
all."""

import os
import signal
import subprocess
import sys
import threading

import pytest

import wq


class InThread:
    """A call in a thread of its own; join() gives its result or raises what it raised."""

    def __init__(self, function, *args, **more):
        self.result, self.problem = None, None

        def body():
            try:
                self.result = function(*args, **more)
            except BaseException as problem:
                self.problem = problem

        self.thread = threading.Thread(target=body, daemon=True)
        self.thread.start()

    def join(self):
        self.thread.join(30)
        assert not self.thread.is_alive(), "the call did not end"
        if self.problem is not None:
            raise self.problem
        return self.result


def wait_for_waiter(store, count=1):
    """Until so many threads wait in a lease of the library."""
    deadline = threading.Event()
    for _ in range(3000):
        if store.stats().waiting >= count:
            return
        deadline.wait(0.01)
    raise AssertionError("nobody waits")


def test_a_job_ends_a_wait(queue):
    waiter = InThread(queue.lease, wait=None)
    wait_for_waiter(queue.store)
    queue.enqueue(b"x")
    assert waiter.join()[0].payload == b"x"


def test_in_the_main_thread_too(queue):
    worker = InThread(lambda: (wait_for_waiter(queue.store), queue.enqueue(b"x")))
    assert queue.lease(wait=60)[0].payload == b"x"
    worker.join()
    assert queue.lease(wait=0.001).outcome is wq.Code.EMPTY


def test_a_token_ends_its_waits_and_no_others(queue):
    token, other = wq.CancelToken(), wq.CancelToken()
    waiters = [InThread(queue.lease, wait=None, cancel=token) for _ in range(3)]
    stays = InThread(queue.lease, wait=None, cancel=other)
    wait_for_waiter(queue.store, 4)
    token.fire()
    token.fire()
    for waiter in waiters:
        assert waiter.join().outcome is wq.Code.CANCELLED
    assert token.fired and not other.fired and stays.thread.is_alive()
    queue.enqueue(b"x")
    assert len(stays.join()) == 1
    queue.enqueue(b"y")
    assert queue.lease(wait=1, cancel=token).outcome is wq.Code.CANCELLED
    assert queue.stats().ready == 1


@pytest.mark.parametrize("close", [lambda q: q.store.close(), lambda q: q.close()])
def test_closing_ends_waits(queue, close):
    store = queue.store
    waiters = [InThread(queue.lease, wait=None) for _ in range(3)]
    waiters.append(InThread(queue.lease, wait=None, cancel=wq.CancelToken()))
    wait_for_waiter(store, 4)
    close(queue)
    for waiter in waiters:
        with pytest.raises(wq.ClosedError):
            waiter.join()


def test_shutdown_ends_waits_and_loops(queue):
    waiter = InThread(queue.lease, wait=None)
    loop = InThread(lambda: list(queue.jobs()))
    wait_for_waiter(queue.store, 2)
    assert queue.store.shutdown(5) is wq.Code.OK
    with pytest.raises(wq.ClosedError):
        waiter.join()
    assert loop.join() == []


def test_events_are_waited_for(queue):
    events = queue.store.events(from_now=True)
    assert events.poll() == []
    waiter = InThread(events.poll, wait=None)
    queue.enqueue(b"x")
    assert waiter.join()[0].kind is wq.EventKind.QUEUED
    waiter = InThread(queue.store.events(from_now=True).poll, wait=None)
    queue.store.close()
    with pytest.raises(wq.ClosedError):
        waiter.join()


def test_a_loop_ends_when_it_is_idle_and_gives_back_what_it_did_not_reach(queue):
    queue.enqueue_many([b"%d" % i for i in range(10)])
    for job in queue.jobs(batch=4, idle=0):
        assert job.ack()
        if job.payload == b"4":
            break
    assert queue.stats().ready == 5 and queue.stats().leased == 0
    rest = [job.payload for job in queue.jobs(batch=4, idle=0) if job.ack()]
    assert rest == [b"5", b"6", b"7", b"8", b"9"]
    token = wq.CancelToken()
    token.fire()
    assert list(queue.jobs(cancel=token)) == []


CTRL_C = """
import os, signal, sys, threading
import wq
what = sys.argv[2]
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
store = wq.open(sys.argv[1], events_max=10, segment_bytes=4 << 20)
queue = store.queue("q")
if what == "shutdown":
    queue.enqueue(b"x")
    queue.lease()
events = store.events(from_now=True)
events.poll()
calls = {"lease": lambda: queue.lease(wait=None), "events": lambda: events.poll(wait=None),
         "shutdown": lambda: store.shutdown(),
         "jobs": lambda: list(queue.jobs()), "long": lambda: queue.lease(wait=1000)}
def fire_when_blocked():
    while store.stats().waiting == 0:
        pause.wait(0.005)
    os.kill(os.getpid(), signal.SIGINT)
pause = threading.Event()
if what in ("lease", "jobs", "long"):
    threading.Thread(target=fire_when_blocked, daemon=True).start()
try:
    print("ready", flush=True)
    calls[what]()
    print("it returned")
except KeyboardInterrupt:
    store.close()
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("what", ["lease", "events", "shutdown", "jobs", "long"])
def test_ctrl_c_ends_a_blocked_call(tmp_path, what):
    child = subprocess.Popen([sys.executable, "-c", CTRL_C, str(tmp_path / "s"), what],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout.readline() == b"ready\n"
    if what in ("events", "shutdown"):  # may come before the call blocks or while it does
        child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=30)
    assert (out, child.returncode) == (b"interrupted\n", 0), err.decode()


def test_a_handler_that_raises_loses_no_job(queue):
    """The signal and the job come together: the job is either handed out or ready again."""
    class Stop(Exception):
        pass

    def stop(*_):
        raise Stop

    before = signal.signal(signal.SIGUSR1, stop)
    try:
        for _ in range(20):
            helper = InThread(lambda: (wait_for_waiter(queue.store), queue.enqueue(b"x"),
                                       os.kill(os.getpid(), signal.SIGUSR1)))
            held = None
            with pytest.raises(Stop):
                held = queue.lease(wait=60)
                threading.Event().wait(30)
            helper.join()
            for job in held or ():
                job.release()
            assert queue.stats().ready == 1 and queue.stats().leased == 0
            queue.clear()
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_closing_from_inside_a_call_is_an_error(store, tmp_path):
    problems = []

    def close(*_):
        try:
            store.close()
        except RuntimeError as problem:
            problems.append(problem)

    store.backup(tmp_path / "copy", progress=close)
    assert problems and not store.closed


def test_threads_share_a_queue(queue):
    """Eight threads produce and consume; each job is delivered once."""
    count, seen, lock = 400, [], threading.Lock()

    def produce(start):
        for i in range(start, start + count // 4):
            queue.enqueue(b"%d" % i, durability=wq.Durability.MEMORY)

    def consume():
        while len(seen) < count:
            for job in queue.lease(10, wait=0.05, durability=wq.Durability.MEMORY):
                assert job.ack(durability=wq.Durability.MEMORY)
                with lock:
                    seen.append(int(job.payload))

    threads = [InThread(produce, i * count // 4) for i in range(4)]
    threads += [InThread(consume) for _ in range(4)]
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(count))


def test_closing_while_threads_call(tmp_path, prng):
    """Calls that race with close end with an outcome or ClosedError; nothing crashes."""
    for turn in range(5):
        store = wq.open(tmp_path / f"s{turn}", segment_bytes=4 << 20, spare_segments=1)
        queue, start = store.queue("q"), threading.Barrier(7)

        def work():
            start.wait()
            try:
                while True:
                    queue.enqueue(b"x", durability=wq.Durability.MEMORY)
                    for job in queue.lease(3, wait=0.01):
                        job.ack()
                    store.kv.get("k")
            except wq.ClosedError:
                pass

        threads = [InThread(work) for _ in range(6)]
        start.wait()
        threading.Event().wait(prng.random() / 50)
        closers = [InThread((queue if turn % 2 else store).close) for _ in range(2)]
        for thread in closers + threads:
            thread.join()
        store.close()
