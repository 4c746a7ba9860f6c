"""Runner of tests/conformance for the Python binding: does the operations of a script through the
public surface of wq and prints the results.

    conformance.py DIRECTORY FILE.ops     exit 0: run to its end; 2: it could not be"""

import os
import sys

import wq
from ops_language import (BadScript, flag_words, key_text, name_data, optional, queue_name, quoted,
                          read_script)

OPS = {}


def op(function):
    OPS[function.__name__.removeprefix("op_")] = function
    return function


def outcome(code):
    return f"error WQ_E_{code.name}" if code.is_error else code.name.lower()


def flags_text(names):
    return f" flags={','.join(names)}" if names else ""


class Named:
    """What a name of a script stands for."""

    def __init__(self, queue, job_id, generation=0):
        self.queue, self.id, self.generation = queue, job_id, generation

    @property
    def token(self):
        return self.id, self.generation


class Runner:
    """State of a script: handles and names."""

    def __init__(self, directory):
        self.directory = directory
        self.store, self.pending = None, None
        self.queues, self.jobs, self.names = {}, {}, {}
        self.flows, self.flow_names, self.versions, self.calls = {}, {}, {}, {}
        self.events = None
        self.arrived = {}

    def path(self, name):
        return os.path.join(self.directory, name)

    # ---- names ----------------------------------------------------------------------------------

    def queue(self, args, key="q"):
        name = args[key]
        name = name if isinstance(name, str) else name.decode("utf-8", "surrogateescape")
        if name not in self.queues:
            raise BadScript(f"{name} is no handle")
        return self.queues[name]

    def handle_of(self, queue):
        return next(name for name, value in self.queues.items() if value is queue)

    def named(self, name):
        if name not in self.jobs:
            raise BadScript(f"{name} is no job")
        return self.jobs[name]

    def job(self, args):
        """(queue, what the name stands for) of an op with job=."""
        named = self.named(args["job"])
        name = args.get("q", named.queue)
        if name not in self.queues:
            raise BadScript(f"{name} is no handle")
        return self.queues[name], named

    def bind(self, name, queue, job_id, generation=0):
        if name and job_id:
            self.jobs[name] = Named(queue, job_id, generation)
            self.names.setdefault(job_id, name)

    def seen(self, job):
        """A job was told: its names have its generation from now on."""
        first = self.names.get(job.id)
        for name, named in self.jobs.items():
            if named.id == job.id and name == first:
                named.generation = job.generation

    def name(self, job_id):
        return self.names.get(job_id, "?")

    # ---- arguments ------------------------------------------------------------------------------

    def level(self, args):
        word = args.get("durability")
        return wq.Durability[word.upper()] if word else None

    def backoff(self, args):
        keys = ("backoff_kind", "backoff_base_ms", "backoff_max_ms", "backoff_list_ms",
                "backoff_jitter_permille")
        if not any(key in args for key in keys):
            return None
        kind = wq.BackoffKind[args.get("backoff_kind", "none").upper()]
        delays = tuple(int(word) / 1000 for word in args.words("backoff_list_ms"))
        return wq.Backoff(kind, args.ms("backoff_base_ms"), args.ms("backoff_max_ms"), delays,
                          args.number("backoff_jitter_permille", 0) / 1000)

    def spec(self, args, chain=()):
        flags = args.words("flags")
        flow = args.get("flow")
        return wq.JobSpec(
            args.data("payload", b""), args.headers, delay=args.ms("delay_ms"),
            run_at=args.when("run_at_ms"), priority=args.number("priority"),
            max_attempts=args.number("max_attempts"), backoff=self.backoff(args),
            expires_at=args.when("expires_at_ms"), retry_until=args.when("retry_until_ms"),
            timeout=args.ms("timeout_ms"), max_exceptions=args.number("max_exceptions"),
            fail_on_timeout="fail_on_timeout" in flags, unique_key=args.data("unique_key"),
            unique_ttl=args.ms("unique_ttl_ms"),
            unique_until=wq.UniqueUntil[args.get("unique_until", "default").upper()],
            debounce_key=args.data("debounce_key"), debounce=args.ms("debounce_ms"),
            debounce_max=args.ms("debounce_max_ms"),
            idempotency_key=args.data("idempotency_key"), idempotency=args.ms("idempotency_ms"),
            flow=self.flows[flow] if flow else None, group=args.data("group"),
            group_limit=args.number("group_limit"), dry_run="dry_run" in flags,
            overlap=wq.Overlap[args.get("overlap", "park").upper()],
            overlap_delay=args.ms("overlap_ms"), tenant=args.data("tenant"),
            rate_key=args.data("rate_key"), rate_cost=args.number("rate_cost"),
            encrypt=True if "encrypt" in flags else False if "plain" in flags else None,
            chain=[self.next_job(part) for part in chain])

    def next_job(self, part):
        return wq.NextJob(self.spec(part), part.data("q"))

    def config(self, args):
        """Options of a queue that the script gives."""
        options = {}
        for key in ("max_running", "max_retries", "max_depth", "max_bytes", "dead_max_count",
                    "keep_done_count", "group_limit", "compress_min_bytes"):
            if key in args:
                options[key] = args.number(key)
        for key in ("lease", "job_ttl", "dead_max_age", "keep_done_age"):
            if key + "_ms" in args:
                options[key] = args.ms(key + "_ms")
        if "durability" in args:
            options["durability"] = self.level(args)
        if "full_policy" in args:
            options["full_policy"] = wq.FullPolicy[args["full_policy"].upper()]
        if self.backoff(args) is not None:
            options["backoff"] = self.backoff(args)
        for name in ("rate", "key_rate"):
            if any(key.startswith(name + "_") for key in args):
                options[name] = wq.Rate(args.number(name + "_count", 0),
                                        args.ms(name + "_window_ms", 0),
                                        args.number(name + "_burst", 0))
        if any(key.startswith("throttle_") for key in args):
            options["throttle"] = wq.Throttle(args.number("throttle_count", 0),
                                              args.ms("throttle_window_ms", 0),
                                              args.ms("throttle_cool_ms"))
        if "encrypt" in args:
            options["encrypt"] = args["encrypt"] == "1"
        return options

    def settle(self, args, named, kind):
        """A Settle out of the arguments of ack, nack, release or fail."""
        flags = args.words("flags")
        reason = wq.DeadReason[args.get("reason", "none").upper()]
        if kind == "ack":
            return wq.Settle.ack(named.token, result=args.data("result"))
        if kind == "nack":
            return wq.Settle.nack(named.token, error=args.data("error"), delay=args.ms("delay_ms"),
                                  priority=args.number("priority"), reason=reason,
                                  front="front" in flags, count="no_exception" not in flags)
        if kind == "release":
            return wq.Settle.release(named.token, delay=args.ms("delay_ms"),
                                     front="front" in flags)
        return wq.Settle.fail(named.token, error=args.data("error"), reason=reason)

    def kv(self, args):
        options = {"ttl": args.ms("ttl_ms"), "if_absent": "if_absent" in args.words("flags"),
                   "if_value": args.data("if_value")}
        if "version" in args:
            options["if_version"] = self.versions[args["version"]]
        return options

    # ---- printing -------------------------------------------------------------------------------

    def header_text(self, headers):
        out = ""
        for name, value in headers:
            if name == "wq-batch" and value.isdigit() and int(value) in self.flow_names:
                value = self.flow_names[int(value)].encode()
            if name == "wq-slot-ms":
                value = b"*"
            out += f" header={quoted(name_data(name) + b'=' + value)}"
        return out

    def row(self, job):
        reason = job.dead_reason
        return (f"  {self.name(job.id)} queue={queue_name(job.queue_name)} "
                f"state={job.state.name.lower()} priority={job.priority} attempts={job.attempts} "
                f"max_attempts={job.max_attempts} payload={quoted(job.payload)}"
                + optional(("exceptions", job.exceptions), ("replays", job.replays),
                           ("dead_reason", reason.name.lower() if reason else ""),
                           ("deadline_ms", job.deadline), ("dead_ms", job.died),
                           ("first_dead_ms", job.first_died))
                + self.header_text(job.headers)
                + optional(("last_error", "*" if job.last_error.startswith("the payload of job")
                            else job.last_error_bytes), ("timeout_ms", job.timeout),
                           ("expires_at_ms", job.expires_at), ("retry_until_ms", job.retry_until),
                           ("max_exceptions", job.max_exceptions),
                           ("flags", flag_words(fail_on_timeout=job.fail_on_timeout,
                                                encrypt=job.sealed)),
                           ("progress", job.note), ("flow", self.flow_names.get(job.flow, "?")
                                                    if job.flow else ""),
                           ("chain_count", job.chain_count),
                           ("flow_cancelled", job.flow_cancelled), ("group", job.group),
                           ("parked", job.parked), ("tenant", job.tenant),
                           ("rate_key", job.rate_key),
                           ("rate_cost", job.rate_cost if job.rate_key else 0))
                + key_text(job.key_id, "payload_code", job.payload_code))

    # ---- running --------------------------------------------------------------------------------

    def change(self, args, method, show, *values, **more):
        """A change, at once or, with async=, begun: `show` makes the lines of its result."""
        key = "durable" if method.__name__ == "configure" else "durability"
        if "async" not in args:
            return show(method(*values, **{key: self.level(args)}, **more))
        try:
            result, ticket = self.pending.begin(method, *values, durability=self.level(args),
                                                **more)
            self.calls[args["async"]] = (ticket, lambda: show(result))
        except wq.WqError as error:
            lines = self.refused(args, error)
            self.calls[args["async"]] = (None, lambda: lines)
        return ["begun"]

    def refused(self, args, error):
        return [f"error WQ_E_{error.name}"]

    def await_call(self, name):
        ticket, show = self.calls.pop(name)
        while ticket is not None and ticket not in self.arrived:
            self.arrived.update(self.pending.poll(wait=60))
        if ticket is not None and self.arrived[ticket].is_error:
            return [outcome(self.arrived[ticket])]
        return show()

    def run(self, script):
        for name, args, parts in read_script(script):
            if name not in OPS:
                raise BadScript(f"{name}: no such operation")
            try:
                lines = OPS[name](self, args, parts)
            except wq.WqError as error:
                lines = self.refused(args, error)
            print("\n".join(lines))


def main():
    import ops_jobs  # noqa: F401  (they register themselves)
    import ops_store  # noqa: F401
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    runner = Runner(sys.argv[1])
    try:
        runner.run(sys.argv[2])
    except BadScript as problem:
        print(f"{sys.argv[2]}: {problem}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.modules["conformance"] = sys.modules["__main__"]
    sys.exit(main())
