"""Tenants, overlap guard, rate keys, throttle, encryption, compression: each by what it does."""

import os
from datetime import datetime, timedelta, timezone

import pytest

import wq
from conftest import SMALL
from wq import Code

HOUR = timedelta(hours=1)


def payloads(jobs):
    return [job.payload for job in jobs]


def kinds(events):
    return [(event.kind, event.job_id) for event in events.poll(1000)]


def test_tenants_are_served_by_turns(queue):
    queue.enqueue_many([wq.JobSpec(data, tenant=data[:1]) for data in (b"a1", b"a2", b"a3", b"b1")])
    queue.enqueue(b"none")
    jobs = queue.lease(10)
    assert payloads(jobs) == [b"a1", b"b1", b"none", b"a2", b"a3"]
    assert [job.tenant for job in jobs] == [b"a", b"b", b"", b"a", b"a"]
    with pytest.raises(wq.TooLargeError):
        queue.enqueue(b"", tenant="t" * 513)


def test_a_job_of_a_full_group_waits_comes_later_or_ends(queue):
    running = queue.enqueue(b"runs", group="g").id
    assert queue.lease()[0].id == running
    waits = queue.enqueue(b"", group="g").id
    later = queue.enqueue(b"", group="g", overlap=wq.Overlap.RELEASE, overlap_delay=HOUR).id
    skipped = queue.enqueue(b"", group="g", overlap=wq.Overlap.SKIP).id
    events = queue.store.events(from_now=True)
    assert events.poll() == [] and queue.lease(10) == []
    assert queue.get(waits).parked and queue.explain_job(waits).causes & wq.Why.GROUP
    told = queue.explain_job(later)
    assert told.state is wq.State.DELAYED and told.until > datetime.now(timezone.utc) + HOUR / 2
    with pytest.raises(wq.NotFoundError):
        queue.get(skipped)
    stats = queue.stats()
    assert (stats.skipped_total, stats.released_total, stats.parked) == (1, 1, 1)
    assert (wq.EventKind.SKIPPED, skipped) in kinds(events)
    for bad in ({"overlap": wq.Overlap.SKIP}, {"group": "g", "overlap": wq.Overlap.RELEASE},
                {"group": "g", "overlap": wq.Overlap.SKIP, "overlap_delay": 1}):
        with pytest.raises(wq.InvalidError):
            queue.enqueue(b"", **bad)


def test_each_rate_key_has_its_own_rate(store):
    rate = wq.Rate(4, HOUR * 4, 2)
    queue = store.queue("q", key_rate=rate)
    assert queue.config().key_rate == rate and queue.config().throttle is None
    queue.enqueue(b"a1", rate_key="a", rate_cost=2)
    parked = queue.enqueue(b"a2", rate_key="a").id
    queue.enqueue(b"b", rate_key=b"\0\xff")
    jobs = queue.lease(10)
    assert [(job.payload, job.rate_key, job.rate_cost) for job in jobs] == [
        (b"a1", b"a", 2), (b"b", b"\0\xff", 1)]
    assert queue.get(parked).parked and queue.explain_job(parked).causes & wq.Why.RATE
    assert queue.stats().rate_wait > timedelta(minutes=1)
    assert queue.configure(key_rate=None) and queue.config().key_rate is None
    assert payloads(queue.lease(10)) == [b"a2"]
    with pytest.raises(wq.UnsupportedError):
        queue.enqueue(b"", rate_key="k", group="g")
    with pytest.raises(wq.InvalidError):
        queue.enqueue(b"", rate_key="k", rate_cost=-1)
    with pytest.raises(TypeError):
        queue.configure(key_rate=5)


def test_a_rate_key_cools_down_after_exceptions(store):
    throttle = wq.Throttle(2, HOUR, HOUR * 2)
    queue = store.queue("q", max_retries=10, throttle=throttle)
    assert queue.config().throttle == throttle
    job_id = queue.enqueue(b"", rate_key="host").id
    assert queue.lease()[0].nack(count=False, delay=0)
    events = store.events(from_now=True)
    events.poll()
    for _ in range(2):
        assert queue.lease()[0].nack(delay=0)
    assert queue.lease() == []
    told = queue.explain_job(job_id)
    assert told.causes & wq.Why.COOLING
    cools = [event for event in events.poll() if event.kind is wq.EventKind.KEY_COOLS]
    assert [(event.job_id, event.time) for event in cools] == [(job_id, told.until)]
    assert queue.configure(throttle=None) and queue.lease()[0].id == job_id
    with pytest.raises(wq.InvalidError):
        queue.configure(throttle=wq.Throttle(101, HOUR))
    with pytest.raises(TypeError):
        queue.configure(throttle=3)


def test_compression(store):
    queue = store.queue("q", compress_min_bytes=1000)
    assert queue.config().compress_min_bytes == 1000
    queue.enqueue(b"x" * 100_000)
    assert queue.stats().job_bytes < 10_000
    assert queue.lease()[0].payload == b"x" * 100_000


def stored(path, word):
    """Whether a file of a store has the word in it."""
    for directory, _, names in os.walk(path):
        for name in names:
            with open(os.path.join(directory, name), "rb") as file:
                if word in file.read():
                    return True
    return False


KEYS = {1: b"\x01" * 32, 7: bytes(range(32))}


def test_what_is_sealed_is_in_no_file(tmp_path):
    path = tmp_path / "s"
    with wq.open(path, keys=KEYS, current_key=7, **SMALL) as store:
        queue = store.queue("q", encrypt=True, keep_done_count=10)
        plain = store.queue("plain")
        assert queue.config().encrypt and not plain.config().encrypt
        queue.enqueue_many([wq.JobSpec(b"done by this key"), b"sealed by its queue",
                            wq.JobSpec(b"in the clear here", encrypt=False)])
        plain.enqueue(b"sealed by its spec", encrypt=True)
        store.cron.put(queue, "nightly", "@daily", b"sealed schedule")
        job = queue.lease()[0]
        assert (job.payload, job.sealed, job.key_id, job.payload_code) == (
            b"done by this key", True, 7, Code.OK)
        assert job.ack(b"a sealed result")
        done = queue.history.get(job.id)
        assert (done.result, done.key_id, done.result_code) == (b"a sealed result", 7, Code.OK)
        uses = store.encryption_keys()
        assert uses[0] == wq.KeyUse(id=1, payloads=0, known=True, current=False)
        assert (uses[1].id, uses[1].known, uses[1].current) == (7, True, True)
        assert uses[1].payloads >= 4
        store.checkpoint()
    for word in (b"done by this key", b"sealed by its queue", b"sealed by its spec",
                 b"a sealed result", b"sealed schedule"):
        assert not stored(path, word)
    assert stored(path, b"in the clear here")


def test_what_becomes_of_it_without_its_key(tmp_path):
    path = tmp_path / "s"
    with wq.open(path, keys=KEYS, current_key=7, **SMALL) as store:
        queue = store.queue("q", encrypt=True, keep_done_count=10)
        done = queue.enqueue(b"done").id
        assert queue.lease()[0].ack(b"result")
        job_id = queue.enqueue(b"secret").id
        store.cron.put(queue, "nightly", "@daily", b"sealed schedule")
    with wq.open(path, **SMALL) as store:  # none at all
        queue = store.queue("q")
        job = queue.get(job_id)
        assert (job.payload, job.payload_code, job.key_id) == (b"", Code.NO_KEY, 7)
        assert queue.history.get(done).result_code is Code.NO_KEY
        cron = store.cron.get("nightly")
        assert (cron.sealed, cron.key_id, cron.payload_code) == (True, 7, Code.NO_KEY)
        for refused in (queue.lease, lambda: queue.enqueue(b"x")):
            with pytest.raises(wq.NoKeyError):
                refused()
        assert store.encryption_keys()[0].known is False
    with wq.open(path, keys={1: KEYS[1]}, current_key=1, **SMALL) as store:  # another one
        queue = store.queue("q")
        assert queue.lease(10) == []
        letter = next(iter(queue.dead))
        assert (letter.id, letter.dead_reason) == (job_id, wq.DeadReason.UNREADABLE)
    with wq.open(path, keys=KEYS, **SMALL) as store:
        queue = store.queue("q")
        assert queue.dead.replay_many(reason=wq.DeadReason.UNREADABLE).changed == 1
        assert queue.lease()[0].payload == b"secret"


def test_keys_are_checked(tmp_path):
    path = tmp_path / "s"
    for bad in ({"keys": {1: b"short"}}, {"keys": {0: b"k" * 32}}, {"current_key": 3},
                {"keys": {1: b"k" * 32}, "current_key": 2}):
        with pytest.raises(wq.InvalidError):
            wq.open(path, **bad)
    with pytest.raises(TypeError):
        wq.open(path, keys={1: "k" * 32})
    assert not path.exists()


def test_many_keys(tmp_path):
    """More than fit into the first answer."""
    keys = {i: bytes([i]) * 32 for i in range(1, 101)}
    with wq.open(tmp_path / "s", keys=keys, current_key=5, **SMALL) as store:
        assert [use.id for use in store.encryption_keys()] == list(keys)
