"""Handles: opening and closing often, finalizers in any order, use after close, processes."""

import gc
import multiprocessing
import os
import pickle
import subprocess
import sys

import pytest

import wq
from conftest import SMALL


def resident_kib():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def open_files():
    return len(os.listdir("/proc/self/fd"))


def test_open_and_close_often(tmp_path, is_long):
    """Memory and descriptors stay flat."""
    turns = 10_000 if is_long else 160

    def turn(i):
        with wq.open(tmp_path / "s", segment_bytes=16384, spare_segments=1) as store:
            queue = store.queue("q")
            if i % 10 == 0:
                queue.enqueue(b"x" * 100, durability=wq.Durability.MEMORY)
                for job in queue.lease(5, durability=wq.Durability.MEMORY):
                    job.ack(durability=wq.Durability.MEMORY)
                wq.Completions(store).fileno()

    for i in range(turns // 4):
        turn(i)
    gc.collect()
    files, memory = open_files(), resident_kib()
    for i in range(turns):
        turn(i)
    gc.collect()
    assert open_files() == files
    assert resident_kib() - memory < 20_000


def test_finalizers_in_any_order(tmp_path, prng):
    for turn in range(8):
        store = wq.open(tmp_path / f"s{turn % 2}", **SMALL)
        queue, second = store.queue("q"), store.queue("q")
        queue.enqueue(b"x")
        things = [store, queue, second, *queue.lease(), wq.Completions(store), wq.CancelToken(),
                  store.events(), store.kv, queue.dead, store.transaction()]
        del store, queue, second
        prng.shuffle(things)
        while things:
            thing = things.pop()
            if prng.random() < 0.3 and hasattr(thing, "close"):
                thing.close()
            del thing
            if prng.random() < 0.3:
                gc.collect()
        gc.collect()


def test_a_store_that_is_forgotten_is_closed(tmp_path):
    store = wq.open(tmp_path / "s", **SMALL)
    job = None
    store.queue("q").enqueue(b"kept" * 1000)
    job = store.queue("q").lease()[0]
    job_id = job.id
    del store
    gc.collect()
    assert job.payload == b"kept" * 1000  # a job keeps its queue and its store
    del job
    gc.collect()
    with wq.open(tmp_path / "s", **SMALL) as store:
        assert store.queue("q").get(job_id).state is wq.State.LEASED


def test_use_after_close_is_an_error(tmp_path):
    store = wq.open(tmp_path / "s", **SMALL)
    queue, other = store.queue("q"), store.queue("other")
    queue.enqueue(b"x", headers={"a": b"b"})
    job, events = queue.lease()[0], store.events()
    other.close()
    other.close()
    assert other.closed and not queue.closed
    with pytest.raises(wq.ClosedError):
        other.enqueue(b"x")
    store.close()
    store.close()
    calls = [store.stats, store.sync, store.queues, lambda: store.queue("q"), store.metrics,
             lambda: store.kv.get("k"), lambda: store.kv.put("k", "v"), store.flows.create,
             lambda: store.cron.get("n"), lambda: store.locks.take("l", "o"), queue.stats,
             lambda: queue.enqueue(b"x"), lambda: queue.lease(wait=None), job.ack, job.extend,
             lambda: queue.enqueue_many([b"x"]), lambda: queue.ack_many([job]), queue.config,
             lambda: store.shutdown(0), lambda: store.backup(tmp_path / "b"), events.poll,
             lambda: events.poll(wait=None), lambda: list(queue.dead), lambda: queue.get(1),
             lambda: list(queue.history), lambda: store.transaction().kv_add("k").commit(),
             lambda: wq.Completions(store), lambda: store.wait_durable(1), queue.explain]
    for call in calls:
        with pytest.raises(wq.ClosedError):
            call()
    assert list(queue.jobs()) == []
    assert job.payload == b"x" and job.headers == (("a", b"b"),) and "closed" in repr(store)
    queue.close()


def test_jobs_keep_their_bytes_under_garbage_collection(queue):
    queue.enqueue_many([bytes([i]) * 1000 for i in range(100)])
    jobs = queue.lease(100)
    kept = jobs[::7]
    del jobs
    for _ in range(3):
        gc.collect()
        bytearray(10_000_000)
    assert [job.payload for job in kept] == [bytes([i]) * 1000 for i in range(0, 100, 7)]


@pytest.mark.parametrize("sizes", [[100] * 50, [0], [0, 0], [1, 0, 99, 1000, 0, 12345, 7, 99_999],
                                   [1 << 19] * 2, [1 << 19, 1, 1 << 19], [3 << 20]])
def test_payloads_come_back_whole(queue, sizes):
    payloads = [bytes([i + 1]) * size for i, size in enumerate(sizes)]
    queue.enqueue_many(payloads)
    jobs = queue.lease(100)
    for _ in range(2):
        assert [job.payload for job in jobs] == payloads
    assert {type(job.payload) for job in jobs} == {bytes}
    assert not hasattr(jobs[0], "payloads")


def test_what_became_of_many(queue):
    quick = queue.enqueue_many([b"x"] * 3)
    slow = wq.EnqueuedMany(quick.outcome, quick.accepted, list(quick.jobs))
    assert quick == slow and repr(quick) == repr(slow) and quick.jobs is quick.jobs
    assert [job.id for job in queue.lease(9)] == [job_id for _, job_id in quick.jobs]
    assert pickle.loads(pickle.dumps(queue.enqueue_many([b"y"]))).jobs[0][0] is wq.Code.OK
    assert not hasattr(quick, "job") and not hasattr(object.__new__(wq.EnqueuedMany), "jobs")


def test_ack_many_of_a_list_that_was_changed(queue):
    def leased():
        queue.enqueue_many([b"x"] * 5)
        return queue.lease(5)

    def left_of(jobs):
        return [not job._settled for job in jobs]
    whole, less, turned = leased(), leased(), leased()
    assert queue.ack_many(whole) and not any(left_of(whole))
    assert queue.ack_many(whole).codes == [wq.Code.STALE] * 5
    kept = less.pop(2)
    assert queue.ack_many(less) and kept.ack() is wq.Code.OK
    turned.reverse()
    turned.extend(less)
    assert queue.ack_many(turned).codes == [wq.Code.OK] * 5 + [wq.Code.STALE] * 4
    other = leased()
    other[0], other[1] = other[1], other[0]
    del other[3:]
    assert queue.ack_many(other) and left_of(other) == [False] * 3
    assert queue.stats().leased == 2


EXIT = """
import asyncio, sys, threading
import wq
what, path = sys.argv[1:]
store = wq.open(path, segment_bytes=4 << 20)
queue = store.queue("q")
if what == "blocked":
    for _ in range(3):
        threading.Thread(target=lambda: queue.lease(wait=None), daemon=True).start()
    while store.stats().waiting < 3:
        pass
elif what == "jobs":
    queue.enqueue(b"x")
    sys.jobs, sys.pending = queue.lease(10), wq.Completions(store)
    sys.pending.begin(queue.enqueue, b"y")
elif what == "cycle":
    class Cycle:
        pass
    cycle = Cycle()
    cycle.all = cycle, store, queue, store.events(), queue.dead
    del store, queue
elif what == "loop":
    queue.enqueue_many([b"1"] * 5)
    sys.loop = queue.jobs(batch=3)
    next(sys.loop)
elif what == "aio":
    async def main():
        sys.store = await wq.aio.open(path + "2", segment_bytes=4 << 20)
        q = await sys.store.queue("q")
        sys.tasks = [asyncio.ensure_future(q.lease(wait=None))]
        sys.tasks += [asyncio.ensure_future(q.enqueue(b"x")) for _ in range(10)]
        await asyncio.sleep(0)
    asyncio.run(main())
print("end")
"""


@pytest.mark.parametrize("what", ["blocked", "jobs", "cycle", "loop", "aio"])
def test_a_process_may_end_with_everything_open(tmp_path, what):
    done = subprocess.run([sys.executable, "-c", EXIT, what, str(tmp_path / "s")],
                          capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.returncode) == ("end\n", 0), done.stderr


CHILD_OF_FORK = """
import os, sys
import wq
store = wq.open(sys.argv[1], segment_bytes=4 << 20)
queue = store.queue("q")
queue.enqueue(b"x")
job = queue.lease()[0]
pid = os.fork()
if pid == 0:
    bad = []
    for call in (store.stats, lambda: queue.enqueue(b"y"), job.ack, lambda: queue.lease(wait=None),
                 lambda: wq.open(sys.argv[1]), lambda: wq.open(sys.argv[1] + "2")):
        try:
            call()
            bad.append("no error")
        except wq.ForkedError as error:
            assert error.code is wq.Code.FORKED
        except BaseException as error:
            bad.append(repr(error))
    queue.close()
    store.close()
    assert job.payload == b"x"
    print(bad, flush=True)
    os._exit(1 if bad else 0)
assert os.waitpid(pid, 0)[1] == 0
assert job.ack()
store.close()
print("parent fine")
"""


def test_a_forked_child_can_not_use_what_was_open(tmp_path):
    done = subprocess.run([sys.executable, "-c", CHILD_OF_FORK, str(tmp_path / "s")],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and "parent fine" in done.stdout, done.stdout + done.stderr


def produce(path):
    """In another process: open, enqueue, close."""
    with wq.open(path, **SMALL) as store:
        return store.queue("q").enqueue(b"from a child").id


FORK_FIRST = """
import multiprocessing, sys
sys.path.insert(0, sys.argv[2])
from test_life import produce
import wq
with multiprocessing.get_context(sys.argv[3]).Pool(1) as pool:
    job_id = pool.apply(produce, (sys.argv[1],))
with wq.open(sys.argv[1]) as store:
    assert store.queue("q").lease()[0].id == job_id
print("fine")
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_that_open_a_store_themselves(tmp_path, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"no {method} here")
    done = subprocess.run([sys.executable, "-c", FORK_FIRST, str(tmp_path / "s"),
                           os.path.dirname(__file__), method],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "fine\n", done.stdout + done.stderr


def test_spawn_works_while_a_store_is_open(store, tmp_path):
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(produce, (str(tmp_path / "other"),)) > 0
        with pytest.raises(wq.LockedError):
            pool.apply(produce, (os.fspath(store.path),))


CLOSING = """
import sys, threading
import wq
store = wq.open(sys.argv[1], segment_bytes=4 << 20)
queue = store.queue("q")
for _ in range(4):
    queue.enqueue_many([b"x" * 500] * 5000, durability=wq.Durability.MEMORY)
begun = threading.Event()

def work():
    begun.set()
    try:
        {"close": store.close, "verify": store.verify}[sys.argv[2]]()
    except wq.ClosedError:
        pass

threading.Thread(target=work, daemon=True).start()
begun.wait()
print("end")
"""


@pytest.mark.parametrize("what", ["close", "verify"])
def test_a_process_may_end_while_a_thread_is_in_the_library(tmp_path, what):
    """The end waits for it: exit() would destroy what the thread still uses."""
    done = subprocess.run([sys.executable, "-c", CLOSING, str(tmp_path / "s"), what],
                          capture_output=True, text=True, timeout=120, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("end\n", "", 0)
    with wq.open(tmp_path / "s") as store:  # and it was closed in good order
        assert store.recovery().clean and store.queue("q").stats().ready == 20_000


STUCK = """
import sys, threading
import wq
from wq import _lib
_lib._PATIENCE_S = 0.2
store = wq.open(sys.argv[1], segment_bytes=4 << 20)
begun, never = threading.Event(), threading.Event()

def progress(done, total):
    begun.set()
    never.wait()

threading.Thread(target=lambda: store.backup(sys.argv[1] + "-copy", progress=progress),
                 daemon=True).start()
begun.wait()
print("end", flush=True)
"""


def test_a_callback_that_hangs_does_not_keep_the_process(tmp_path):
    done = subprocess.run([sys.executable, "-c", STUCK, str(tmp_path / "s")],
                          capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "end\n"
