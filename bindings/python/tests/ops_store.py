"""Conformance operations on stores, queues, rows, schedules and what is told about them."""

import wq
from conformance import op, outcome
from ops_language import (flag_words, key_text, milliseconds, name_data, optional, queue_name,
                          quoted)


def names(flags):
    """Causes but no_consumer, in the order of the header."""
    found = [why.name.lower() for why in sorted(wq.Why, key=int)
             if why in flags and why != wq.Why.NO_CONSUMER]
    return ",".join(found) or "none"


def open_store(runner, args):
    options = {key: args.number(key) for key in ("events_max", "payload_bytes_max", "quota_bytes",
                                                 "memory_budget_bytes", "segment_bytes")
               if key in args}
    flags = args.words("flags")
    keys = {}
    for key in args.words("keys"):
        key_id, _, byte = key.partition(":")
        if int(key_id) in keys:
            raise wq.InvalidError("a mapping has each key once")
        keys[int(key_id)] = bytes([int(byte or key_id)]) * 32
    return wq.open(runner.path(args.get("store", "store")), create="no_create" not in flags,
                   expire_leases="expire_leases" in flags, keys=keys,
                   current_key=args.number("current_key", 0), **options)


@op
def op_open(runner, args, _):
    runner.store, runner.pending, runner.events = None, None, None
    runner.queues = {}
    runner.store = open_store(runner, args)
    runner.pending = wq.Completions(runner.store)
    runner.events = runner.store.events()
    return ["ok"]


@op
def op_open_again(runner, args, _):
    open_store(runner, args).close()
    return ["ok"]


@op
def op_close(runner, args, _):
    runner.store.close()
    return ["ok"]


@op
def op_shutdown(runner, args, _):
    ms = args.number("timeout_ms", 0)
    return [outcome(runner.store.shutdown(None if ms == -1 else ms / 1000))]


@op
def op_sync(runner, args, _):
    runner.store.sync()
    return ["ok"]


@op
def op_checkpoint(runner, args, _):
    runner.store.checkpoint()
    return ["ok"]


@op
def op_tick(runner, args, _):
    runner.store.tick()
    return ["ok"]


@op
def op_recovery(runner, args, _):
    told = runner.store.recovery()
    return [f"ok leases_kept={told.leases_kept} leases_expired={told.leases_expired}"]


@op
def op_queues(runner, args, _):
    return ["ok"] + [f"  {queue_name(name)}" for name in runner.store.queues()]


@op
def op_store_stats(runner, args, _):
    s = runner.store.stats()
    return [f"ok status={s.status.name.lower()} queues={s.queues} ready={s.ready} "
            f"delayed={s.delayed} leased={s.leased} running={s.running} dead={s.dead}"]


@op
def op_store_keys(runner, args, _):
    return ["ok"] + [f"  {key.id}" + (" payloads=set" if key.payloads else "")
                     + optional(("known", key.known), ("current", key.current))
                     for key in runner.store.encryption_keys()]


@op
def op_metrics(runner, args, _):
    return ["ok" if runner.store.metrics() else "empty"]


@op
def op_verify(runner, args, _):
    report = runner.store.verify()
    return [f"ok jobs={report.jobs} problems={report.problems}"]


@op
def op_backup(runner, args, _):
    report = runner.store.backup(runner.path(args["dir"]))
    return ["ok" if report else "cancelled"]


@op
def op_backup_verify(runner, args, _):
    return ["ok" if wq.backup_verify(runner.path(args["dir"])) else "cancelled"]


@op
def op_restore(runner, args, _):
    report = wq.backup_restore(runner.path(args["dir"]), runner.path(args["store"]))
    return ["ok" if report else "cancelled"]


# ---- queues -------------------------------------------------------------------------------------

@op
def op_queue(runner, args, _):
    name = args.data("q")
    queue = runner.store.queue(name, create="no_create" not in args.words("flags"),
                               **runner.config(args))
    runner.queues[args.get("as", name.decode("utf-8", "surrogateescape"))] = queue
    return ["ok"]


@op
def op_configure(runner, args, _):
    version = runner.versions[args["version"]] if "version" in args else None
    return [outcome(runner.queue(args).configure(version=version, **runner.config(args)))]


@op
def op_config(runner, args, _):
    c = runner.queue(args).config()
    if "as" in args:
        runner.versions[args["as"]] = c.version
    b, r = c.backoff or wq.Backoff(), c.rate or wq.Rate(0, 0)
    key_rate, throttle = c.key_rate or wq.Rate(0, 0), c.throttle or wq.Throttle(0, 0)
    return [f"ok status={c.status.name.lower()} max_running={c.max_running} "
            f"max_retries={c.max_retries} lease_ms={milliseconds(c.lease)} "
            f"durability={c.durability.name.lower()}"
            + optional(("backoff_kind", b.kind.name.lower() if b.kind else ""),
                       ("backoff_base_ms", b.base), ("backoff_max_ms", b.max),
                       ("backoff_list_ms", ",".join(str(milliseconds(d)) for d in b.delays)),
                       ("backoff_jitter_permille", round(b.jitter * 1000)),
                       ("job_ttl_ms", c.job_ttl), ("max_depth", c.max_depth),
                       ("max_bytes", c.max_bytes),
                       ("full_policy", c.full_policy.name.lower() if c.full_policy else ""),
                       ("dead_max_count", c.dead_max_count), ("dead_max_age_ms", c.dead_max_age),
                       ("keep_done_age_ms", c.keep_done_age),
                       ("keep_done_count", c.keep_done_count), ("group_limit", c.group_limit),
                       ("rate_count", r.count), ("rate_burst", r.burst),
                       ("rate_window_ms", r.window),
                       ("encrypt", c.encrypt), ("compress_min_bytes", c.compress_min_bytes),
                       ("key_rate_count", key_rate.count), ("key_rate_burst", key_rate.burst),
                       ("key_rate_window_ms", key_rate.window),
                       ("throttle_count", throttle.count), ("throttle_window_ms", throttle.window),
                       ("throttle_cool_ms", throttle.cool),
                       ("consumers_paused", c.consumers_paused))]


def _status(name):
    def change(runner, args, _):
        method = getattr(runner.queue(args), name)
        return [outcome(method(durability=runner.level(args)))]
    change.__name__ = name
    op(change)


for _name in ("pause", "resume", "disable", "enable", "delete"):
    _status(_name)


@op
def op_clear(runner, args, _):
    states = [wq.State[word.upper()] for word in args.words("states")]
    return [f"ok removed={runner.queue(args).clear(states, durability=runner.level(args))}"]


@op
def op_stats(runner, args, _):
    s = runner.queue(args).stats()
    more = ("enqueued_total", "leased_total", "acked_total", "nacked_total", "failed_total",
            "released_total", "expired_total", "dead_total", "replayed_total", "cancelled_total",
            "cleared_total", "jobs_expired_total", "dropped_total", "dead_dropped_total",
            "chain_cut_total", "parked", "skipped_total")
    return [f"ok status={s.status.name.lower()} ready={s.ready} delayed={s.delayed} "
            f"leased={s.leased} running={s.running} dead={s.dead}"
            + optional(*((key, getattr(s, key)) for key in more))]


@op
def op_queue_explain(runner, args, _):
    e = runner.queue(args).explain()
    return [f"ok status={e.status.name.lower()} causes={names(e.causes)} leasable={e.leasable} "
            f"slots_taken={e.slots_taken} slots_max={e.slots_max} parked={e.parked}"]


@op
def op_errors(runner, args, _):
    errors = runner.queue(args).errors()
    rows = [f"  {runner.name(e.job_id)} kind={e.kind.name.lower()} attempt={e.attempt} "
            f"text={quoted(name_data(e.text))}" for e in errors]
    return ["ok", *rows] if rows else ["empty"]


@op
def op_queue_close(runner, args, _):
    runner.queue(args).close()
    return ["ok"]


# ---- rows and locks -----------------------------------------------------------------------------

@op
def op_kv_get(runner, args, _):
    row = runner.store.kv.get(args.data("key"))
    if row is None:
        return ["empty"]
    if "as" in args:
        runner.versions[args["as"]] = row.version
    return [f"ok value={quoted(row.value)}" + optional(("expires_ms", row.expires))]


@op
def op_kv_put(runner, args, _):
    put = runner.store.kv.put(args.data("key"), args.data("value"), **runner.kv(args),
                              durability=runner.level(args))
    if put and "as" in args:
        runner.versions[args["as"]] = put.version
    return [outcome(put.outcome)]


@op
def op_kv_add(runner, args, _):
    added = runner.store.kv.add(args.data("key"), args.number("delta"), **runner.kv(args),
                                durability=runner.level(args))
    return [f"ok sum={added.value}" if added else outcome(added.outcome)]


@op
def op_kv_erase(runner, args, _):
    options = runner.kv(args)
    return [outcome(runner.store.kv.erase(args.data("key"), if_version=options.get("if_version"),
                                          if_value=options["if_value"],
                                          durability=runner.level(args)))]


@op
def op_kv_list(runner, args, _):
    after, rows, pages = args.data("after", b""), [], 0
    while True:
        page = runner.store.kv.page(prefix=args.data("prefix", b""), after=after,
                                    limit=args.number("limit", 100))
        rows += [f"  {quoted(row.key)} value={quoted(row.value)}" for row in page.rows]
        pages += bool(page.rows)
        if not page.more:
            return [f"ok pages={pages}", *rows] if rows else ["empty"]
        after = page.rows[-1].key


@op
def op_lock_take(runner, args, _):
    return [outcome(runner.store.locks.take(args.data("key"), args.data("owner"),
                                            args.ms("ttl_ms"), durability=runner.level(args)))]


@op
def op_lock_extend(runner, args, _):
    return [outcome(runner.store.locks.extend(args.data("key"), args.data("owner"),
                                              args.ms("ttl_ms"), durability=runner.level(args)))]


@op
def op_lock_release(runner, args, _):
    return [outcome(runner.store.locks.release(args.data("key"), args.data("owner"),
                                               durability=runner.level(args)))]


# ---- schedules ----------------------------------------------------------------------------------

def text(args, key, default=b""):
    return args.data(key, default).decode("utf-8", "surrogateescape")


@op
def op_cron_put(runner, args, _):
    return [outcome(runner.store.cron.put(
        runner.queue(args), text(args, "name"), text(args, "expression"), runner.spec(args),
        zone=text(args, "zone"), catch_up=args.number("catch_up"),
        durability=runner.level(args)))]


def cron_row(runner, cron):
    return (f"  {quoted(name_data(cron.name))} queue={queue_name(cron.queue)} "
            f"expression={quoted(name_data(cron.expression))}"
            + optional(("zone", name_data(cron.zone)), ("flags", flag_words(paused=cron.paused,
                                                                          encrypt=cron.sealed)),
                       ("catch_up", cron.catch_up),
                       ("priority", str(cron.priority) if cron.priority != 100 else ""),
                       ("max_attempts", cron.max_attempts), ("payload", cron.payload))
            + runner.header_text(cron.headers)
            + key_text(cron.key_id, "payload_code", cron.payload_code))


@op
def op_cron_get(runner, args, _):
    return ["ok", cron_row(runner, runner.store.cron.get(text(args, "name")))]


@op
def op_cron_list(runner, args, _):
    queue = runner.queue(args) if "q" in args else None
    limit, after, rows = args.number("limit", 100), "", []
    while True:
        page = runner.store.cron.page(queue=queue, after=after, limit=limit)
        rows += [cron_row(runner, cron) for cron in page]
        if len(page) < limit:
            return ["ok", *rows]
        after = page[-1].name


def _schedule(name):
    def change(runner, args, _):
        method = getattr(runner.store.cron, name)
        return [outcome(method(text(args, "name"), durability=runner.level(args)))]
    change.__name__ = "cron_" + name
    op(change)


for _name in ("remove", "pause", "resume"):
    _schedule(_name)


@op
def op_cron_next(runner, args, _):
    times = wq.cron_next(text(args, "expression"), args.number("count"), zone=text(args, "zone"),
                         after=args.number("from_ms") / 1000)
    return ["ok times=" + (",".join(str(round(t.timestamp() * 1000)) for t in times) or "none")]


# ---- events -------------------------------------------------------------------------------------

@op
def op_events(runner, args, _):
    rows = []
    while True:
        events = runner.events.poll(100)
        for event in events:
            if event.kind == wq.EventKind.CHECKPOINT:
                continue
            flow = event.kind == wq.EventKind.FLOW_FINISHED
            rows.append(f"  {event.kind.name.lower()}" + optional(
                ("queue", queue_name(event.queue) if event.queue else ""),
                ("flow", runner.flow_names.get(event.job_id, "?") if flow else ""),
                ("job", "" if flow or not event.job_id else runner.name(event.job_id)),
                ("count", event.count),
                ("dead_reason", event.dead_reason.name.lower() if event.dead_reason else "")))
        if not events:
            return ["ok", *rows] if rows else ["empty"]
