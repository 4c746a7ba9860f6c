"""Does the package reach all of wq.h? See bindings/api/surface.py for the question.

Fields that are given: calls with every option are made, and whoever makes them is watched: a field
of a struct that goes to the library with another value than its default can be set. Fields that are
told: a struct is filled, read by the package, and read again with one field changed: it is told if
the result is another one."""

import contextlib
import dataclasses
import glob
import os
import re
import sys

import pytest

import wq
from conftest import SMALL
from wq import _constants as k
from wq import aio, call, cancel, completion, config, cron, dead, flow, history, job, kv, queue
from wq import spec, store, transact, types
from wq._lib import ffi, lib, new

HERE = os.path.dirname(os.path.abspath(__file__))
API = os.path.join(HERE, "..", "..", "api")
if not os.path.exists(os.path.join(API, "api.json")):
    pytest.skip("bindings/api is not there", allow_module_level=True)
sys.path.insert(0, API)

import surface  # noqa: E402  (the path above comes first)

SOURCES = os.path.join(HERE, "..", "wq")
MODULES = (aio, call, cancel, completion, config, cron, dead, flow, history, job, kv, queue, spec,
           store, transact, types, wq._lib)
# Small structs that are read in place, not as a whole: the file that does.
READ_IN = {"wq_enqueued": "queue.py", "wq_txn_result": "transact.py",
           "wq_event.code": "completion.py", "wq_event.user_data": "completion.py",
           "wq_error": "_lib.py", "wq_dead_report": "dead.py", "wq_call": "call.py",
           "wq_event_cursor": "store.py", "wq_bytes": "_lib.py",
           "wq_job.queue_index": "job.py", "wq_job.headers_count": "job.py"}


# ---- what is given ------------------------------------------------------------------------------

STRUCTS = {struct["name"] for struct in surface.api()["structs"]}


class Watched:
    """The library, with a look at each argument of each call."""

    def __init__(self):
        self.given = set()

    def __getattr__(self, name):
        value = getattr(lib, name)
        if not name.startswith(("wq_", "wqpy_")) or name.endswith(("_free", "_close")):
            return value

        def watched(*args):
            for arg in args:
                self.look(arg)
            return value(*args)
        return watched if callable(value) else value

    def look(self, value, depth=0):
        """At a pointer to a struct or an array of structs."""
        if not isinstance(value, ffi.CData) or depth > 4:
            return
        kind = ffi.typeof(value)
        if kind.kind not in ("pointer", "array") or kind.item.kind != "struct" or not value:
            return
        if kind.item.cname.replace("struct ", "") not in STRUCTS:  # a handle
            return
        count = len(value) if kind.kind == "array" else 1
        for i in range(min(count, 4)):
            self.fields(value[i], depth)

    def fields(self, struct, depth):
        name = ffi.typeof(struct).cname.replace("struct ", "").rstrip(" &")
        for field, _ in ffi.typeof(struct).fields:
            value = getattr(struct, field)
            if isinstance(value, ffi.CData) and ffi.typeof(value).kind == "struct":
                self.fields(value, depth + 1)
                is_set = value.len != 0 or value.data != ffi.NULL
            elif isinstance(value, ffi.CData) and ffi.typeof(value).kind == "array":
                is_set = any(bytes(ffi.buffer(value)))
            else:
                is_set = value != ffi.NULL if isinstance(value, ffi.CData) else value != 0
                self.look(value, depth + 1)
            if is_set:
                self.given.add(f"{name}.{field}")


FULL = dict(
    headers=[("n", b"v")], delay=5, priority=7, max_attempts=3,
    backoff=wq.Backoff(wq.BackoffKind.LIST, base=1, max=2, delays=[1, 2], jitter=0.5),
    expires_at=4e9, retry_until=4e9, timeout=9, max_exceptions=4, fail_on_timeout=True,
    unique_key="u", unique_ttl=5, unique_until=wq.UniqueUntil.GONE, debounce_key="d", debounce=1,
    debounce_max=2, idempotency_key="i", idempotency=3, flow=1, chain=[wq.NextJob(b"n", "q")],
    group="g", group_limit=2, overlap=wq.Overlap.RELEASE, overlap_delay=2, tenant="t", rate_key="r",
    rate_cost=3, encrypt=True, dry_run=True, run_at=4e9)


def use_everything(path):
    """Calls with every option. What they answer is not the question."""
    def use(function, *args, **more):
        with contextlib.suppress(wq.WqError):
            return function(*args, **more)

    wq.open(f"{path}1", events_max=9, **SMALL).close()
    with wq.open(f"{path}2", create=True, expire_leases=True, io_backend=wq.IoBackend.THREADS,
                 spare_segments=1, memory_budget_bytes=1 << 20, payload_bytes_max=1 << 20,
                 segment_bytes=1 << 20, checkpoint_log_bytes=1 << 20, disk_reserve_bytes=1 << 20,
                 memory_window=1, events_max=99, quota_bytes=1 << 30, keys={3: b"k" * 32},
                 current_key=3) as opened:
        q = opened.queue("q", keep_done_count=9)
        use(q.configure, version=7, max_running=9, max_retries=2, lease=9,
            durability=wq.Durability.POWER, backoff=FULL["backoff"], job_ttl=9, max_depth=9,
            max_bytes=9, full_policy=wq.FullPolicy.DROP_OLDEST, dead_max_count=9, dead_max_age=9,
            keep_done_count=9, keep_done_age=9, group_limit=2, rate=wq.Rate(9, 9, 9),
            key_rate=wq.Rate(9, 9, 9), throttle=wq.Throttle(9, 9, 9), encrypt=True,
            compress_min_bytes=9)
        assert set(FULL) == {f.name for f in dataclasses.fields(wq.JobSpec)} - {"payload"}
        use(q.enqueue, b"x", **FULL)
        use(q.enqueue_many, [wq.JobSpec(b"x", **FULL), b"y"])
        q.enqueue(b"x")
        leased = use(q.lease, 5, lease=9)[0]
        use(q.lease, wait=0.001)
        item = wq.Settle(k.SETTLE_NACK, leased, delay=1, priority=3, error="e",
                         reason=wq.DeadReason.FAILED, flags=15, result=b"r")
        use(q.settle_many, [item])
        use(q.extend, [(1, 2), (3, 4)], 9)
        use(opened.transaction().settle(item).enqueue(q, b"x").kv_put("k", "v").kv_add(
            "s", 2, ttl=9, if_absent=True, if_version=3, if_value="v").commit)
        use(opened.kv.put, "k", "v", ttl=9, if_absent=True, if_version=3, if_value="v")
        use(opened.kv.page, prefix="p", after="a", limit=9)
        use(q.dead.page, cursor=1, limit=9, oldest_first=True, reason=wq.DeadReason.FAILED,
            error_part="e", since=1, until=2)
        use(q.dead.replay_many, all=True, reason=wq.DeadReason.FAILED, error_part="e", since=1,
            until=2, entries=[(1, 2)], limit=9, dry_run=True, progress=print)
        use(opened.flows.create, on_complete=wq.NextJob(b"", "q"), on_failure=wq.NextJob(b"", "q"),
            allow_failures=True)
        use(opened.cron.put, q, "c", "@daily", b"x", zone="UTC", catch_up=3)
        use(opened.backup, f"{path}3", progress=lambda done, total: True)
        use(wq.Completions(opened).begin, q.enqueue, b"x", durability=wq.Durability.MEMORY)
        use(opened.events(from_now=True).poll)
        events = opened.events()
        use(events.poll)
        use(events.poll)


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """The fields that can be set."""
    watched, path = Watched(), tmp_path_factory.mktemp("api") / "s"
    before = [(module, module.lib) for module in MODULES if hasattr(module, "lib")]
    for module, _ in before:
        module.lib = watched
    try:
        use_everything(path)
    finally:
        for module, original in before:
            module.lib = original
    return watched.given


# ---- what is told -------------------------------------------------------------------------------

def job_of(struct):
    """All that a Job tells of itself."""
    array = ffi.new("wq_job[1]")
    array[0] = struct[0]
    (told,) = job._make_jobs(job._Batch(None, array, [None]), [None])
    return repr({name: getattr(told, name) for name, value in vars(wq.Job).items()
                 if isinstance(value, property)})


def dataclass_of(cls, **more):
    return lambda struct: repr(types.from_c(cls, struct, **more))


TOLD = {
    "wq_recovery": dataclass_of(wq.Recovery), "wq_store_stats": dataclass_of(wq.StoreStats),
    "wq_verify_report": dataclass_of(wq.VerifyReport),
    "wq_backup_report": dataclass_of(wq.BackupReport),
    "wq_queue_stats": dataclass_of(wq.QueueStats), "wq_queue_error": lambda struct: repr(
        types.from_c(wq.QueueError, struct, text=wq._lib.chars_text(struct.text, struct.text_len))),
    "wq_flow_status": dataclass_of(wq.FlowStatus), "wq_done_job": dataclass_of(wq.DoneJob),
    "wq_kv_row": dataclass_of(wq.KvRow), "wq_store_event": dataclass_of(wq.Event),
    "wq_key_use": dataclass_of(wq.KeyUse),
    "wq_job_explanation": dataclass_of(wq.JobExplanation, text=""),
    "wq_queue_explanation": dataclass_of(wq.QueueExplanation, text=""),
    "wq_queue_config": lambda struct: repr(config.config_from(struct)),
    "wq_job": job_of, "wq_cron": lambda struct: repr(cron._schedule(struct)),
}
INTS = (3, 2, 1, 0, 4_000_000, 0xffffffff)


def values_for(kind, keep):
    """Values of a field, the first of them that of a filled struct."""
    if kind.kind == "primitive":
        return [float(n) for n in INTS] if kind.cname == "double" else INTS
    if kind.kind == "struct":
        found = []
        for data in (b"abc", b"xy"):
            keep.append(ffi.from_buffer(data))
            found.append({"data": keep[-1], "len": len(data)})
        return found
    if kind.kind == "array":
        if kind.item.cname == "char":
            return [b"abc", b"xy"]
        return [[3] * kind.length, [2] * kind.length]
    found = []
    for n in (3, 2):
        target = kind.item
        if target.kind == "struct":
            value = ffi.new(f"{target.cname}[4]")
            for i in range(4):
                value[i].name.data, value[i].name.len = ffi.from_buffer(b"abcd"), n
        else:
            value = ffi.new(f"{target.cname}[4]", [n] * 4)
        keep.append(value)
        found.append(value)
    return found


def told_fields(struct, tell):
    """The fields of a struct that make a difference."""
    keep = []
    fields = {name: field.type for name, field in ffi.typeof(struct).fields}
    values = {name: values_for(kind, keep) for name, kind in fields.items()
              if surface.is_asked(name)}
    for name in values:
        if name.endswith(("_count", "_len")):  # of the arrays that values_for makes
            values[name] = (3, 2)

    def filled(**other):
        value = new(struct)
        for name in values:
            setattr(value, name, other.get(name, values[name][0]))
        return value

    usual = tell(filled())
    found = set()
    for name, choices in values.items():
        for choice in choices[1:]:
            with contextlib.suppress(ValueError, OverflowError):
                if tell(filled(**{name: choice})) != usual:
                    found.add(f"{struct}.{name}")
    return found


def told():
    found = set()
    for struct, tell in TOLD.items():
        found |= told_fields(struct, tell)
    for name in surface.all_names():
        struct, _, field = name.partition(".")
        if struct in READ_IN or name in READ_IN:
            source = READ_IN.get(name) or READ_IN[struct]
            with open(os.path.join(SOURCES, source), encoding="utf-8") as file:
                if re.search(rf"\.{field}\b", file.read()):
                    found.add(name)
    return found


# ---- the question -------------------------------------------------------------------------------

def words():
    """Functions and constants that the package names."""
    text = ""
    for path in [*glob.glob(os.path.join(SOURCES, "*.py")), os.path.join(SOURCES, "../glue.h")]:
        if not path.endswith("_constants.py"):
            with open(path, encoding="utf-8") as file:
                text += file.read()
    text = surface.without_comments(text)
    found = set(re.findall(r"\bwq_\w+", text))
    found |= {f"WQ_{name}" for name in re.findall(r"\bk\.([A-Z]\w+)", text)}
    for code in wq.Code:
        found.add(f"WQ_E_{code.name}" if code.is_error else f"WQ_{code.name}")
    return found


def test_all_of_the_header_is_here_or_left_out_for_a_reason(given):
    wrong = surface.problems("python", (given | told() | words()) & surface.all_names())
    assert not wrong, "\n".join(wrong)


def test_it_would_notice(given):
    """Not all that is asked for is found by itself."""
    found = given | told()
    assert "wq_job_spec.tenant" in found and "wq_queue_stats.skipped_total" in found
    without = (found | words()) - {"wq_job_spec.tenant", "wq_lease"}
    names = {line.split(":")[0] for line in surface.problems("python", without)}
    assert {"wq_job_spec.tenant", "wq_lease"} <= names
    assert "wq_queue_stats.parked" not in told_fields(
        "wq_queue_stats", lambda struct: str(struct.ready))
