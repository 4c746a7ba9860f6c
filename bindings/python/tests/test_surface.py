"""Every operation of the surface once, by its outcome."""

from datetime import timedelta

import pytest

import wq
from wq import Code, Durability

ALL_BYTES = bytes(range(256))
SAMPLES = [b"", b"\0", ALL_BYTES, ALL_BYTES * 4096, b"\xff\xfe\xc3", "\u00e9\u20ac".encode(),
           b"\0" * 100, b"line\nline\r\n"]


@pytest.mark.parametrize("data", SAMPLES, ids=lambda d: f"{len(d)} bytes")
def test_bytes_are_intact(quiet, data):
    store = quiet.store
    queue = store.queue(f"bytes {len(data)}", keep_done_count=10)
    job_id = queue.enqueue(data, headers=[("h", data[:5000])]).id
    store.kv.put("k", data)
    assert store.kv.get("k").value == data
    job = queue.lease()[0]
    assert job.id == job_id and job.payload == data and job.header("h") == data[:5000]
    assert queue.progress(job, data[:4096])
    assert queue.get(job.id).note == data[:4096]
    assert job.nack(data[:1000], delay=0)
    job = queue.lease()[0]
    assert job.last_error_bytes == data[:1000]
    assert job.ack(data)
    assert queue.history.get(job.id).result == data
    many = queue.enqueue_many([data, bytearray(data), memoryview(data)])
    assert [j.payload for j in queue.lease(10)] == [data] * 3 and many.accepted == 3


def test_the_life_of_a_job(queue):
    enqueued = queue.enqueue(b"x", headers={"a": "1"}, timeout=30, max_exceptions=9,
                             fail_on_timeout=True, group="g", retry_until=4e9, expires_at=4e9)
    assert enqueued.outcome is Code.OK and enqueued.lsn > 0
    assert queue.store.wait_durable(enqueued.lsn) is Code.OK
    job = queue.lease()[0]
    assert (job.id, job.attempts, job.max_attempts) == (enqueued.id, 1, 3)
    assert (job.timeout, job.max_exceptions, job.fail_on_timeout) == (timedelta(seconds=30), 9,
                                                                      True)
    assert (job.group, job.queue_name, job.priority) == (b"g", "q", 100)
    assert job.expires_at == job.retry_until and job.state is wq.State.LEASED
    assert timedelta(0) < job.lease_remaining <= timedelta(seconds=30)
    assert job.deadline > job.leased >= job.enqueued and job.ready is None
    assert job.extend(60) and job.confirm() and job.progress("half") and job.explain().text
    assert queue.get(job.id).state is wq.State.RUNNING
    assert job.release() and job.ack() is Code.STALE
    job = queue.lease()[0]
    assert job.nack("once", priority=7, front=True, count=False)
    job = queue.lease()[0]
    assert (job.priority, job.last_error, job.exceptions, job.note) == (7, "once", 0, b"half")
    assert "LEASED" in repr(job) and job.fail("for good")
    dead = queue.dead.page()[0]
    assert dead.dead_reason is wq.DeadReason.FAILED and dead.died == dead.first_died
    assert [e.text for e in queue.errors()][0] == "for good"


def test_outcomes_of_an_enqueue(queue):
    first = queue.enqueue(b"x", unique_key="k")
    again = queue.enqueue(b"x", unique_key=b"k", unique_until=wq.UniqueUntil.GONE)
    assert again.outcome is Code.DUPLICATE and again.id == first.id
    assert queue.key_holder(wq.KeyKind.UNIQUE, "k") == first.id
    assert queue.key_cancel(wq.KeyKind.UNIQUE, "k") == (Code.OK, first.id)
    assert queue.enqueue(b"x", dry_run=True).id == 0
    idem = queue.enqueue(b"x", idempotency_key="i", idempotency=60)
    assert queue.enqueue(b"x", idempotency_key="i", idempotency=60).id == idem.id
    waits = queue.enqueue(b"x", debounce_key="d", debounce=60, debounce_max=600)
    assert queue.enqueue(b"y", debounce_key="d", debounce=60).id != waits.id
    many = queue.enqueue_many([b"a", wq.JobSpec(b"b", priority=1)])
    assert many.outcome is Code.OK and many.accepted == 2 and len(many.jobs) == 2
    part = queue.enqueue_many([b"a", wq.JobSpec(b"b", delay=-1), b"c"], partial=True)
    assert part.accepted == 1 and part.outcome is Code.INVALID
    assert [code for code, _ in part.jobs] == [Code.OK, Code.INVALID, Code.INVALID]
    with pytest.raises(wq.InvalidError):
        queue.enqueue_many([b"a", wq.JobSpec(b"b", delay=-1)])
    queue.disable()
    assert queue.enqueue(b"x").outcome is Code.DISABLED
    assert queue.lease().outcome is Code.DISABLED
    queue.enable()
    queue.pause()
    assert queue.lease().outcome is Code.PAUSED and queue.config().consumers_paused
    queue.resume()
    assert queue.cancel(idem.id) and queue.reprioritise(many.jobs[0][1], 3)
    assert queue.clear([wq.State.READY, wq.State.DELAYED]) > 0
    assert queue.lease().outcome is Code.EMPTY
    queue.configure(max_depth=1)
    queue.enqueue(b"1")
    with pytest.raises(wq.FullError) as caught:
        queue.enqueue(b"2")
    assert caught.value.retryable


def test_settling_many(queue):
    queue.enqueue_many([b"1", b"2", b"3", b"4", b"5"])
    jobs = queue.lease(5)
    told = queue.settle_many([wq.Settle.ack(jobs[0], result=b"r"), wq.Settle.nack(jobs[1]),
                              wq.Settle.fail(jobs[2], error="no"),
                              wq.Settle.release((jobs[3].id, jobs[3].generation), delay=60)])
    assert told and told.codes == [Code.OK] * 4
    told = queue.settle_many([wq.Settle.ack(jobs[0]), wq.Settle.ack(jobs[4])])
    assert not told and told.codes == [Code.STALE, Code.OK]
    told = queue.ack_many([(4_000_000_000, 1), jobs[1]])
    assert told.codes == [Code.NOT_FOUND, Code.STALE]
    with pytest.raises(wq.NotFoundError):
        queue.settle(wq.Settle.ack((4_000_000_000, 1)))
    assert queue.extend([(4_000_000_000, 1)]).outcome is Code.NOT_FOUND
    with pytest.raises(wq.InvalidError):
        queue.settle_many([wq.Settle.nack(jobs[0], delay=-1)])
    s = queue.stats()
    assert (s.acked_total, s.nacked_total, s.failed_total, s.released_total) == (2, 1, 1, 1)
    queue.delete()
    with pytest.raises(wq.NotFoundError):
        queue.ack_many(jobs)


def test_a_job_as_a_context(queue):
    queue.enqueue_many([b"1", b"2", b"3", b"4"])
    done, failed, stopped, settled = queue.lease(4)
    with done:
        pass
    with pytest.raises(KeyError), failed:
        raise KeyError("what")
    with pytest.raises(KeyboardInterrupt), stopped:
        raise KeyboardInterrupt
    with settled:
        assert settled.fail()
    s = queue.stats()
    assert (s.acked_total, s.nacked_total, s.released_total, s.failed_total) == (1, 1, 1, 1)
    assert queue.lease(2)[0].last_error == "KeyError: 'what'"


class Untold(Exception):
    def __str__(self):
        raise RuntimeError("no text")


@pytest.mark.parametrize("problem, told", [
    (RuntimeError("no such user: \ud83d"), b"RuntimeError: no such user: \\ud83d"),
    (RuntimeError("no such file: \udcff"), b"RuntimeError: no such file: \xff"),
    (Untold(), b"Untold, whose text raised RuntimeError"),
], ids=["surrogate", "escaped byte", "no text"])
def test_any_exception_of_a_block_settles_its_job(queue, problem, told):
    queue.enqueue(b"x")
    job, = queue.lease()
    with pytest.raises(type(problem)) as raised, job:
        raise problem
    assert raised.value is problem
    found = queue.get(job.id)
    assert found.state is not wq.State.LEASED and found.last_error_bytes == told


@pytest.mark.parametrize("problem", [KeyError("what"), KeyboardInterrupt()], ids=repr)
def test_a_settle_that_fails_does_not_hide_what_a_block_raised(queue, problem):
    queue.enqueue(b"x")
    job, = queue.lease()
    with pytest.raises(type(problem)) as raised, job:
        queue.delete()
        raise problem
    assert raised.value is problem
    note, = problem.__notes__
    assert note.startswith(f"wq: job {job.id} could not be settled: NotFoundError: ")


def test_a_job_that_can_not_be_given_back_keeps_no_others(store):
    gone, stays = store.queue("gone"), store.queue("stays")
    for queue in (stays, gone):
        queue.enqueue_many([b"1", b"2"])
    jobs = store.jobs([stays, gone], batch=4)
    next(jobs)
    gone.delete()
    jobs.close()
    assert (stays.stats().ready, stays.stats().leased) == (1, 1)


def test_dead_letters(store):
    queue = store.queue("d", max_retries=0)
    queue.enqueue_many([b"%d" % i for i in range(8)])
    for job in queue.lease(8):
        job.nack(f"e{job.payload.decode()}", reason=wq.DeadReason.TIMEOUT)
    assert [j.last_error for j in queue.dead] == [f"e{i}" for i in range(7, -1, -1)]
    page = queue.dead.page(limit=3, oldest_first=True, error_part="e")
    assert len(page) == 3 and page.cursor
    assert queue.dead.page(reason=wq.DeadReason.FAILED).outcome is Code.EMPTY
    entry = queue.dead.get(page[0])
    assert entry.payload == b"0" and queue.dead.replay(entry)
    assert queue.dead.replay(entry) is Code.STALE and queue.dead.get(entry) is None
    assert queue.dead.remove(page[1])
    with pytest.raises(wq.InvalidError):
        queue.dead.remove_many()
    assert queue.dead.remove_many(all=True, dry_run=True).changed == 6
    assert queue.dead.remove_many(entries=[page[1], page[2]]).changed == 1
    calls = []
    report = queue.dead.replay_many(all=True, limit=2, progress=lambda *a: calls.append(a))
    assert report.outcome is Code.OK and report.changed == 2 and calls
    report = queue.dead.replay_many(all=True, progress=lambda *a: False)
    assert report.outcome is Code.CANCELLED and report.changed == 0
    with pytest.raises(ZeroDivisionError):
        queue.dead.replay_many(all=True, progress=lambda *a: 1 // 0)
    token = wq.CancelToken()
    token.fire()
    assert queue.dead.remove_many(all=True, cancel=token).outcome is Code.CANCELLED
    assert queue.dead.purge() == 3


def test_rows_and_locks(store):
    kv = store.kv
    put = kv.put("a", "1", ttl=3600)
    assert put and kv.get("a").version == put.version and kv.get("a").expires
    assert kv.put("a", b"2", if_absent=True).outcome is Code.CONFLICT
    assert kv.put("a", b"2", if_version=put.version) and not kv.put("a", "", if_value="1")
    assert kv.add("n", -5).value == -5 and kv.add("a", 1).value == 3
    assert kv.add("x" * 3, ttl=60).value == 1
    kv.put("text", "no number")
    assert kv.add("text").outcome is Code.CONFLICT and kv.get("none") is None
    assert [row.key for row in kv.list()] == [b"a", b"n", b"text", b"xxx"]
    page = kv.page(limit=2)
    assert page.more and len(kv.page(after=page.rows[-1].key).rows) == 2
    assert kv.erase("a", if_value="0") is Code.CONFLICT and kv.erase("a")
    assert kv.erase("a") is Code.EMPTY
    store.transaction().kv_put("p", "").kv_put("q", "").commit()
    assert len(list(kv.list("p"))) == 1
    locks = store.locks
    assert locks.take("l", "me", 60) and locks.take("l", "you") is Code.CONFLICT
    assert locks.extend("l", "me") and locks.extend("l", "you") is Code.STALE
    assert locks.release("l", "me") and locks.release("l", "me") is Code.STALE


def test_transactions(store, queue):
    queue.enqueue(b"in")
    job = queue.lease()[0]
    done = (store.transaction().ack(job).enqueue(queue, wq.JobSpec(b"out", priority=1))
            .kv_put("seen", "1", if_absent=True).kv_add("n", 2).kv_erase("none")
            .kv_check("gone", if_absent=True).commit())
    assert done and done.failed is None and done.results[3] == 2
    assert queue.get(done.results[1]).payload == b"out"
    refused = store.transaction().kv_add("n").ack(job).commit()
    assert refused.outcome is Code.STALE and refused.failed == 1
    assert store.kv.get("n").value == b"2"
    with pytest.raises(wq.InvalidError) as caught:
        store.transaction().kv_add("n").enqueue(queue, wq.JobSpec(b"", delay=-1)).commit()
    assert caught.value.failed == 1
    with pytest.raises(TypeError):
        store.transaction().ack((1, 1))


def test_chains_and_flows(store, queue):
    flow = store.flows.create(on_complete=wq.NextJob(b"end", "q"))
    queue.enqueue(b"1", flow=flow, chain=[wq.NextJob(wq.JobSpec(b"2", priority=3))])
    assert flow.seal() and flow.status().pending == 2 and flow.status().sealed
    first = queue.lease()[0]
    assert first.chain_count == 1 and first.flow == flow.id and first.ack()
    second = queue.lease()[0]
    assert second.payload == b"2" and second.ack()
    end = queue.lease()[0]
    assert end.payload == b"end" and end.header("wq-batch") == b"%d" % flow.id
    status = flow.status()
    assert status.finished and status.done == 2 and status.follow_up_id == end.id
    assert flow.cancel() is Code.CONFLICT
    other = store.flows.create(allow_failures=True)
    queue.enqueue(b"x", flow=other.id)
    running = queue.lease()[0]
    assert other.cancel() and running.extend() is Code.CANCELLED
    assert queue.get(running.id).flow_cancelled
    assert [s.flow for s in store.flows] == [other.id, flow.id]
    with pytest.raises(wq.NotFoundError):
        store.flows.get(2**40).status()
    assert queue.enqueue(b"x", flow=flow).outcome is Code.CONFLICT


def test_schedules(store, queue):
    cron = store.cron
    job = wq.JobSpec(b"p", {"h": "v"}, priority=5, backoff=wq.Backoff.fixed(3))
    assert cron.put(queue, "nightly", "0 3 * * *", job, zone="Europe/Berlin", catch_up=2)
    told = cron.get("nightly")
    assert (told.queue, told.zone, told.payload, told.catch_up) == ("q", "Europe/Berlin", b"p", 2)
    assert told.headers == (("h", b"v"),) and told.next_due and told.backoff.kind == 1
    assert cron.pause("nightly") and cron.get("nightly").paused and cron.resume("nightly")
    for i in range(3):
        cron.put(queue, f"n{i}", "@daily")
    assert [c.name for c in cron.list()] == ["n0", "n1", "n2", "nightly"]
    assert len(list(cron.list(queue))) == 4 and cron.remove("n0")
    with pytest.raises(wq.NotFoundError):
        cron.get("n0")
    due = wq.cron_next("@every 90s", 2, after=0)
    assert [d.timestamp() for d in due] == [90, 180]


def test_history(store):
    queue = store.queue("h", keep_done_count=150)
    queue.enqueue_many([b"%d" % i for i in range(120)])
    for job in queue.lease(120, durability=Durability.MEMORY):
        job.ack(job.payload, durability=Durability.MEMORY)
    assert [d.result for d in queue.history] == [b"%d" % i for i in range(119, -1, -1)]
    jobs, cursor = queue.history.page(limit=5)
    assert len(jobs) == 5 and cursor and jobs[0].attempts == 1 and jobs[0].done
    with pytest.raises(wq.NotFoundError):
        queue.history.get(1 << 40)


def test_configuration(store):
    queue = store.queue(
        "c", max_running=3, lease=5, durability=Durability.PROCESS, job_ttl=100, max_bytes=10**6,
        full_policy=wq.FullPolicy.DROP_OLDEST, dead_max_count=7, dead_max_age=timedelta(days=1),
        keep_done_age=60, group_limit=2, rate=wq.Rate(10, 60, 3),
        backoff=wq.Backoff.exponential(0.5, 60, jitter=0.25))
    c = queue.config()
    assert (c.max_running, c.lease, c.durability) == (3, timedelta(seconds=5), Durability.PROCESS)
    assert (c.job_ttl, c.max_bytes) == (timedelta(seconds=100), 10**6)
    assert c.full_policy is wq.FullPolicy.DROP_OLDEST and c.dead_max_age == timedelta(days=1)
    assert c.rate == wq.Rate(10, timedelta(seconds=60), 3)
    assert c.backoff == wq.Backoff(wq.BackoffKind.EXPONENTIAL, timedelta(seconds=0.5),
                                   timedelta(seconds=60), (), 0.25)
    call = wq.Call(Durability.POWER)
    assert queue.configure(version=c.version, durable=call, max_running=4) and call.lsn
    assert queue.configure(version=c.version, max_running=5) is Code.CONFLICT
    assert queue.configure(backoff=None, rate=None, job_ttl=None)
    c = queue.config()
    assert c.backoff is None and c.rate is None and c.job_ttl is None and c.max_running == 4
    assert queue.configure(backoff=wq.Backoff.steps([0, 1, timedelta(minutes=1)]))
    assert queue.config().backoff.delays == (timedelta(0), timedelta(seconds=1),
                                             timedelta(minutes=1))
    assert queue.explain().slots_max == 4 and store.queue("c", create=False).name == "c"


def test_the_store(tmp_path, store, queue):
    queue.enqueue(b"x")
    assert store.queues() == ["q"] and store.stats().ready == 1 and store.recovery().clean
    assert "wq_" in store.metrics() and store.verify().problems == 0
    store.sync()
    store.checkpoint()
    with pytest.raises(wq.UnsupportedError):
        store.tick()
    with pytest.raises(wq.LockedError):
        wq.open(store.path)
    seen = []
    report = store.backup(tmp_path / "copy", progress=lambda *a: seen.append(a))
    assert report.files > 0 and report.created and seen
    assert wq.backup_verify(tmp_path / "copy").bytes == report.bytes
    assert store.backup(tmp_path / "stopped", progress=lambda *a: False) is None
    assert wq.backup_restore(tmp_path / "copy", str(tmp_path / "second")).lsn == report.lsn
    with wq.open(os_path(tmp_path / "second"), create=False) as second:
        assert second.queue("q").lease()[0].payload == b"x"
    events = store.events()
    kinds = [e.kind for e in events.poll() if e.kind != wq.EventKind.CHECKPOINT]
    assert kinds == [wq.EventKind.QUEUE_DECLARED, wq.EventKind.QUEUED]
    assert store.events(from_now=True).poll() == [] and events.dropped == 0
    held = queue.lease()[0]
    assert store.shutdown(0) is Code.TIMEOUT
    with pytest.raises(wq.ClosedError):
        queue.lease()
    assert held.ack() and store.shutdown() is Code.OK


def os_path(path):
    return str(path).encode()


def test_a_store_without_threads(tmp_path):
    with wq.open(tmp_path / "s", threads=False, memory_window=1) as store:
        queue = store.queue("q")
        queue.enqueue(b"x", durability=Durability.MEMORY)
        assert isinstance(store.tick(), (timedelta, type(None)))


def test_names_of_any_kind(store):
    for name in ("caf\u00e9 \U0001f600", "a b", "x" * 255):
        assert store.queue(name).name == name
        assert name in store.queues()
    with pytest.raises(wq.InvalidError):
        store.queue(b"bad\xff")
    with pytest.raises(wq.InvalidError):
        store.queue("")
    job_id = store.queue("h").enqueue(b"", headers=[("n\udcff", b""), ("n\udcff", "two")]).id
    assert store.queue("h").get(job_id).headers == (("n\udcff", b""), ("n\udcff", b"two"))
