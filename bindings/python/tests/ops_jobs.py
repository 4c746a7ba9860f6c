"""Conformance operations on jobs, dead letters, keys, flows, history and transactions."""

import os
import time

import wq
from conformance import op, outcome
from ops_language import BadScript, key_text, optional
from ops_store import names


@op
def op_enqueue(runner, args, parts):
    queue = runner.queue(args)

    def show(enqueued):
        if enqueued.outcome is wq.Code.DUPLICATE:
            return [f"duplicate job={runner.name(enqueued.id)}"]
        if enqueued.outcome is wq.Code.OK:
            runner.bind(args.get("as"), args["q"], enqueued.id)
        return [outcome(enqueued.outcome)]

    return runner.change(args, queue.enqueue, show, runner.spec(args, parts))


@op
def op_enqueue_many(runner, args, parts):
    queue = runner.queue(args)
    specs = [runner.spec(part) for part in parts]
    if "count" in args:
        specs = [runner.spec(args)] * args.number("count")

    def rows(codes):
        return [] if "count" in args else [f"  {code}" for code in codes]

    def show(many):
        told = []
        for part, (code, job_id) in zip(parts, many.jobs):
            if code is wq.Code.OK:
                runner.bind(part.get("as"), args["q"], job_id)
            told.append(f"duplicate job={runner.name(job_id)}" if code is wq.Code.DUPLICATE
                        else outcome(code))
        return [f"{outcome(many.outcome)} accepted={many.accepted}", *rows(told)]

    try:
        return runner.change(args, queue.enqueue_many, show, specs,
                             partial="partial" in args.words("flags"))
    except wq.WqError as error:
        name = f"error WQ_E_{error.name}"
        return [f"{name} accepted=0", *rows([name] * len(parts))]


@op
def op_get(runner, args, _):
    queue, named = runner.job(args)
    job = queue.get(named.id)
    runner.seen(job)
    return ["ok", runner.row(job)]


@op
def op_until(runner, args, _):
    queue, named = runner.job(args)
    end = time.monotonic() + 60
    while time.monotonic() < end:
        job = queue.get(named.id)
        if job.state.name.lower() == args["state"]:
            runner.seen(job)
            return ["ok", runner.row(job)]
        os.sched_yield()
    raise BadScript("the job did not come into that state")


@op
def op_cancel(runner, args, _):
    queue, named = runner.job(args)
    return [outcome(queue.cancel(named.id, durability=runner.level(args)))]


@op
def op_reprioritise(runner, args, _):
    queue, named = runner.job(args)
    return [outcome(queue.reprioritise(named.id, args.number("priority"),
                                       durability=runner.level(args)))]


@op
def op_progress(runner, args, _):
    queue, named = runner.job(args)
    return [outcome(queue.progress(named.token, args.data("note"),
                                   durability=runner.level(args)))]


@op
def op_explain(runner, args, _):
    queue, named = runner.job(args)
    told = queue.explain_job(named.id)
    return [f"ok state={told.state.name.lower()} causes={names(told.causes)} ahead={told.ahead}"]


# ---- leases -------------------------------------------------------------------------------------

@op
def op_lease(runner, args, _):
    queues = [runner.queue({"q": name}) for name in args.words("q")]
    token = wq.CancelToken()
    if "cancelled" in args:
        token.fire()
    ms = args.number("wait_ms", 0)
    jobs = runner.store.lease(
        queues, args.number("max_jobs", 1), wait=None if ms == -1 else args.ms("wait_ms", 0),
        lease=args.ms("lease_ms"), cancel=token, durability=runner.level(args))
    if jobs.outcome is not wq.Code.OK:
        return [outcome(jobs.outcome)]
    new_names = args.words("as")
    for job in jobs:
        if job.id not in runner.names and new_names:
            runner.bind(new_names.pop(0), runner.handle_of(job.queue), job.id)
        runner.seen(job)
    return ["ok", *(runner.row(job) for job in jobs)]


@op
def op_confirm(runner, args, _):
    queue, named = runner.job(args)
    return [outcome(queue.confirm(named.token, args.ms("run_ms"), durability=runner.level(args)))]


@op
def op_extend(runner, args, _):
    named = [runner.named(name) for name in args.words("jobs")]
    queue = runner.queues[args.get("q", named[0].queue)]
    told = queue.extend([n.token for n in named], args.ms("lease_ms"),
                        durability=runner.level(args))
    rows = [f"  {runner.name(n.id)} {outcome(code)}" for n, code in zip(named, told.codes)]
    return [outcome(told.outcome), *(rows if len(rows) > 1 else [])]


def _settle(kind):
    def settle(runner, args, _):
        queue, named = runner.job(args)
        return runner.change(args, queue.settle, lambda code: [outcome(code)],
                             runner.settle(args, named, kind))
    settle.__name__ = kind
    op(settle)


for _kind in ("ack", "nack", "release", "fail"):
    _settle(_kind)


@op
def op_settle_many(runner, args, parts):
    named = [runner.named(part["job"]) for part in parts]
    items = [runner.settle(part, n, part["kind"]) for part, n in zip(parts, named)]

    def show(told):
        return [outcome(told.outcome), *(f"  {runner.name(n.id)} {outcome(code)}"
                                         for n, code in zip(named, told.codes))]

    return runner.change(args, runner.queue(args).settle_many, show, items)


@op
def op_await(runner, args, _):
    return runner.await_call(args["call"])


@op
def op_keep(runner, args, _):
    named = runner.named(args["job"])
    runner.bind(args["as"], named.queue, named.id, named.generation)
    return ["ok"]


@op
def op_forge(runner, args, _):
    runner.bind(args["as"], args["q"], args.number("id"), args.number("generation"))
    return ["ok"]


# ---- dead letters -------------------------------------------------------------------------------

def query(args):
    return {"reason": wq.DeadReason[args.get("reason", "none").upper()],
            "error_part": args.data("error_part", b""), "since": args.when("from_ms"),
            "until": args.when("until_ms")}


@op
def op_dead_list(runner, args, _):
    cursor, rows, pages = 0, [], 0
    while True:
        page = runner.queue(args).dead.page(
            cursor=cursor, limit=args.number("limit", 100),
            oldest_first="oldest_first" in args.words("flags"), **query(args))
        for job in page:
            runner.seen(job)
            rows.append(runner.row(job))
        pages += bool(page)
        cursor = page.cursor
        if cursor == 0:
            return [f"ok pages={pages}", *rows] if rows else ["empty"]


@op
def op_dead_get(runner, args, _):
    queue, named = runner.job(args)
    job = queue.dead.get(named.token)
    if job is None:
        return ["stale"]
    runner.seen(job)
    return ["ok", runner.row(job)]


@op
def op_dead_replay(runner, args, _):
    queue, named = runner.job(args)
    return [outcome(queue.dead.replay(named.token, durability=runner.level(args)))]


@op
def op_dead_remove(runner, args, _):
    queue, named = runner.job(args)
    return [outcome(queue.dead.remove(named.token, durability=runner.level(args)))]


def bulk(runner, args, method):
    flags = args.words("flags")
    report = method(all="all" in flags, dry_run="dry_run" in flags,
                    limit=args.number("limit", 0),
                    entries=[runner.named(name).token for name in args.words("jobs")],
                    durability=runner.level(args), **query(args))
    return [f"ok changed={report.changed}" if report.outcome else outcome(report.outcome)]


@op
def op_dead_replay_many(runner, args, _):
    return bulk(runner, args, runner.queue(args).dead.replay_many)


@op
def op_dead_remove_many(runner, args, _):
    return bulk(runner, args, runner.queue(args).dead.remove_many)


@op
def op_dead_purge(runner, args, _):
    return [f"ok removed={runner.queue(args).dead.purge(durability=runner.level(args))}"]


# ---- keys ---------------------------------------------------------------------------------------

@op
def op_key_holder(runner, args, _):
    holder = runner.queue(args).key_holder(wq.KeyKind[args["kind"].upper()], args.data("key"))
    return [f"ok job={runner.name(holder)}"]


@op
def op_key_cancel(runner, args, _):
    code, job_id = runner.queue(args).key_cancel(wq.KeyKind[args["kind"].upper()],
                                                 args.data("key"), durability=runner.level(args))
    return [f"ok job={runner.name(job_id)}" if code else outcome(code)]


@op
def op_key_release(runner, args, _):
    queue, named = runner.job(args)
    return [outcome(queue.key_release(named.token, durability=runner.level(args)))]


# ---- flows --------------------------------------------------------------------------------------

@op
def op_flow_create(runner, args, parts):
    ends = {"on_" + part["when"]: runner.next_job(part) for part in parts}
    flow = runner.store.flows.create(
        allow_failures="allow_failures" in args.words("flags"),
        durability=runner.level(args), **ends)
    if "as" in args:
        runner.flows[args["as"]] = flow
        runner.flow_names.setdefault(flow.id, args["as"])
    return ["ok"]


def flow_of(runner, args):
    return runner.store.flows.get(runner.flows[args["flow"]].id)


@op
def op_flow_seal(runner, args, _):
    return [outcome(flow_of(runner, args).seal(durability=runner.level(args)))]


@op
def op_flow_cancel(runner, args, _):
    return [outcome(flow_of(runner, args).cancel(durability=runner.level(args)))]


@op
def op_flow_status(runner, args, _):
    s = flow_of(runner, args).status()
    flags = [name for name, there in (("sealed", s.sealed), ("cancelled", s.was_cancelled),
                                      ("finished", s.finished)) if there]
    return [f"ok total={s.total} pending={s.pending} done={s.done} failed={s.failed} "
            f"cancelled={s.cancelled}"
            + optional(("flags", ",".join(flags)), ("follow_up", "yes" if s.follow_up_id else ""))]


@op
def op_flow_list(runner, args, _):
    rows, cursor = [], 0
    while True:
        flows, cursor = runner.store.flows.page(cursor=cursor, limit=args.number("limit", 100))
        rows += [f"  {runner.flow_names.get(s.flow, '?')} total={s.total} pending={s.pending}"
                 for s in flows]
        if cursor == 0:
            return ["ok", *rows]


# ---- history ------------------------------------------------------------------------------------

def done_row(runner, job):
    return (f"  {runner.name(job.id)} attempts={job.attempts} priority={job.priority}"
            + optional(("exceptions", job.exceptions), ("replays", job.replays),
                       ("flow", runner.flow_names.get(job.flow, "?") if job.flow else ""),
                       ("result", job.result))
            + key_text(job.key_id, "result_code", job.result_code))


@op
def op_history_get(runner, args, _):
    queue, named = runner.job(args)
    return ["ok", done_row(runner, queue.history.get(named.id))]


@op
def op_history_list(runner, args, _):
    rows, cursor = [], 0
    while True:
        jobs, cursor = runner.queue(args).history.page(cursor=cursor,
                                                       limit=args.number("limit", 100))
        rows += [done_row(runner, job) for job in jobs]
        if cursor == 0:
            return ["ok", *rows]


# ---- transactions -------------------------------------------------------------------------------

@op
def op_transact(runner, args, parts):
    transaction = runner.store.transaction()
    for part in parts:
        kind = part["kind"]
        if kind == "enqueue":
            transaction.enqueue(runner.queue(part), runner.spec(part))
        elif kind == "settle":
            transaction.settle(runner.settle(part, runner.named(part["job"]), part["settle"]),
                               runner.queue(part))
        else:
            options = runner.kv(part)
            values = {"kv_put": [part.data("value")], "kv_add": [part.number("delta")]}
            if kind in ("kv_erase", "kv_check"):
                del options["ttl"]
            if kind == "kv_erase":
                del options["if_absent"]
            getattr(transaction, kind)(part.data("key"), *values.get(kind, []), **options)
    try:
        done = transaction.commit(durability=runner.level(args))
    except wq.WqError as error:
        failed = "" if error.failed is None else f" failed={error.failed}"
        return [f"error WQ_E_{error.name}{failed}"]
    if not done:
        return [outcome(done.outcome) + ("" if done.failed is None else f" failed={done.failed}")]
    rows = []
    for part, result in zip(parts, done.results):
        if part["kind"] == "enqueue":
            runner.bind(part.get("as"), part["q"], result)
        if part["kind"] == "kv_add":
            rows.append(f"  sum={result}")
    return ["ok", *rows]

