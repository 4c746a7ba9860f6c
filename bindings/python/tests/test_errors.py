"""Codes and exceptions: every code of the header maps, errors say what the library said."""

import json
import os
import pickle

import pytest

import wq
from wq import _constants as k
from wq import errors
from wq._lib import ffi, lib, make_error, text_of

API = os.path.join(os.path.dirname(__file__), "..", "..", "api", "api.json")


def api():
    with open(API, encoding="utf-8") as file:
        return json.load(file)


def test_every_code_of_the_header_maps():
    table = api()["codes"]
    assert {c["value"]: c["short"] for c in table} == {int(c): c.name for c in wq.Code}
    for code in table:
        assert text_of(lib.wq_error_name(code["value"])) == code["short"]
        assert bool(lib.wq_error_is_retryable(code["value"])) == code["retryable"]
        assert bool(lib.wq_error_maybe_committed(code["value"])) == code["maybe_committed"]
        assert bool(lib.wq_error_is_fatal(code["value"])) == code["fatal"]
        if code["value"] < 0:
            error = make_error(code["value"], "text", 5, 7)
            assert type(error) is errors.ERRORS[code["value"]]
            assert type(error) is not wq.WqError
            assert (error.code, error.name) == (code["value"], code["short"])
            assert (error.os_errno, error.offset, error.message) == (5, 7, "text")
            assert (error.retryable, error.maybe_committed, error.fatal) == (
                code["retryable"], code["maybe_committed"], code["fatal"])
            assert str(error) == f"{code['short']}: text"
        assert wq.Code(code["value"]).is_error == (code["value"] < 0)


def test_unknown_codes_are_errors_below_zero_and_outcomes_above():
    assert type(make_error(-77, "new")) is wq.WqError
    assert make_error(-77, "new").code == -77 and make_error(-77, "new").name == "UNKNOWN"
    assert wq.Code(77).name == "UNKNOWN" and not wq.Code(77).is_error and not wq.Code(77)
    assert wq.Code.OK and not wq.Code.STALE
    with pytest.raises(ValueError):
        wq.Code("x")


def test_errors_can_be_pickled():
    error = make_error(-60, "disk", 5, 4096)
    error.failed = 3
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is wq.StorageError
    assert (copy.message, copy.os_errno, copy.offset, copy.failed) == ("disk", 5, 4096, 3)


def test_constants_and_layout_are_those_of_the_compiled_header():
    for constant in api()["constants"]:
        name = constant["name"]
        assert getattr(lib, name) == constant["value"] == getattr(k, name[3:]), name
    for struct in api()["structs"]:
        assert ffi.sizeof(struct["name"]) >= struct["size"]
        for field in struct["fields"]:
            assert ffi.offsetof(struct["name"], field["name"]) == field["offset"]
    assert wq.version() and wq.build_info() and wq.format_version() > 0


def test_a_wrong_version_is_refused(monkeypatch):
    from wq import _lib
    monkeypatch.setattr(_lib.k, "VERSION_MINOR", 99)
    with pytest.raises(wq.VersionError, match=r"made for 0\.99.*library"):
        _lib._check_versions()


def test_an_older_header_is_refused(monkeypatch):
    from wq import _lib
    monkeypatch.setitem(_lib.k.SIZES, "wq_job", 100_000)
    with pytest.raises(wq.VersionError, match="wq_job has"):
        _lib._check_versions()


def test_an_error_names_the_field(queue):
    with pytest.raises(wq.InvalidError, match="delay_ms"):
        queue.enqueue(b"x", delay=-1)
    with pytest.raises(wq.TooLargeError):
        queue.enqueue(b"x", unique_key=b"k" * 513)
    with pytest.raises(LookupError):
        queue.get(4_000_000_000)
    with pytest.raises(wq.WqError):
        queue.store.queue("none", create=False)


@pytest.mark.parametrize("call", [
    lambda q: q.enqueue("text"), lambda q: q.enqueue(5), lambda q: q.enqueue(None),
    lambda q: q.enqueue_many(["text"]), lambda q: q.enqueue(b"x", priority="high"),
    lambda q: q.enqueue(b"x", priority=True), lambda q: q.enqueue(b"x", delay="1s"),
    lambda q: q.enqueue(b"x", delay=True), lambda q: q.enqueue(b"x", colour="red"),
    lambda q: q.enqueue(b"x", headers={1: b"x"}), lambda q: q.enqueue(b"x", headers={"a": 1}),
    lambda q: q.enqueue(b"x", chain=[b"y"]), lambda q: q.enqueue(b"x", unique_key=5),
    lambda q: q.lease("many"), lambda q: q.lease(wait="long"), lambda q: q.get("1"),
    lambda q: q.settle_many([5]), lambda q: q.ack_many([5]), lambda q: q.configure(color=5),
    lambda q: q.configure(rate=5), lambda q: q.configure(backoff=5),
    lambda q: q.enqueue(b"x", durability="power"), lambda q: q.store.kv.put(5, b""),
    lambda q: q.store.kv.add("c", 1.5), lambda q: q.store.queue(5),
    lambda q: wq.open(5.5), lambda q: q.enqueue(b"x", flow="f"),
    lambda q: q.enqueue(b"x", backoff=wq.Backoff(jitter="a lot")),
])
def test_wrong_types_are_type_errors(quiet, call):
    with pytest.raises((TypeError, AttributeError)):
        call(quiet)
    assert quiet.stats().enqueued_total == 0


@pytest.mark.parametrize("call", [
    lambda q: q.enqueue(b"x", priority=-1), lambda q: q.enqueue(b"x", priority=2**40),
    lambda q: q.enqueue(b"x", delay=float("nan")), lambda q: q.enqueue(b"x", delay=float("inf")),
    lambda q: q.enqueue(b"x", delay=1e300), lambda q: q.enqueue(b"x", max_attempts=-1),
    lambda q: q.enqueue(b"x", flow=2**70), lambda q: q.lease(0), lambda q: q.lease(-1),
    lambda q: q.lease(2**40), lambda q: q.lease(10_001), lambda q: q.lease(wait=-1),
    lambda q: q.get(-1), lambda q: q.get(2**64), lambda q: q.enqueue_many([]),
    lambda q: q.enqueue_many([b""] * 10_001), lambda q: q.ack_many([]), lambda q: q.settle_many([]),
    lambda q: q.extend([]), lambda q: q.clear([99]), lambda q: q.history.page(limit=10**9),
    lambda q: q.store.flows.page(limit=10**9), lambda q: q.store.kv.page(limit=2000),
    lambda q: q.dead.page(limit=2**40), lambda q: q.store.kv.add("c", 2**63),
    lambda q: q.store.lease([]), lambda q: q.store.lease([q, q]),
    lambda q: q.store.transaction().commit(), lambda q: q.store.shutdown(-5),
    lambda q: q.store.wait_durable(2**63), lambda q: wq.open(b"a\0b"),
    lambda q: q.enqueue(b"x", durability=7), lambda q: q.store.events().poll(0),
    lambda q: q.enqueue(b"x", backoff=wq.Backoff(jitter=-1)),
    lambda q: q.configure(backoff=wq.Backoff.steps([1] * 33)),
    lambda q: wq.cron_next("* *", after=0), lambda q: wq.cron_next("@daily", 0, after=0),
])
def test_wrong_values_are_errors_of_wq(quiet, call):
    with pytest.raises(wq.WqError):
        call(quiet)
    assert quiet.stats().enqueued_total == 0
