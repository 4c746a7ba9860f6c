#!/usr/bin/env python3
"""Runs the benchmarks: make bench and make bench-check.

Every figure is the median of several rounds. Within a round each system runs once, one after the
other, and each in a fresh process and directory (A B C A B C ...), so that a noisy machine is noisy
for all; a ratio is formed within the round, and the median of these ratios is what counts.
Deliveries are checked in every run; a failed check ends everything with exit code 2.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import bars
import bindings
import machine
import plots
import tables

BATCHES = (1, 10, 100, 1000)
PEERS = ("rocksdb", "sqlite")
IN_MEMORY_FILE_SYSTEMS = ("tmpfs", "ramfs")


class Failed(Exception):
    pass


class Bench:
    """Starts wq_load and keeps what it said."""

    def __init__(self, build, directory):
        self.program = os.path.join(build, "bin", "wq_load")
        self.directory = directory
        self.records = []
        if not os.path.exists(self.program):
            raise Failed(f"{self.program} is not there: build it first (make bench does)")
        os.makedirs(directory, exist_ok=True)

    def command(self, *arguments):
        return [self.program, *map(str, arguments), "--dir", self.directory]

    def measure(self, *arguments):
        """One measurement in a process of its own."""
        done = subprocess.run(self.command(*arguments), capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"wq_load {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return self.parsed(done.stdout)

    def parsed(self, line):
        record = json.loads(line)
        self.records.append(record)
        return record

    def rounds(self, title, variants, count):
        """Runs all variants `count` times in turn; gives one list of records for each variant."""
        results = {name: [] for name in variants}
        for number in range(count):
            for name, arguments in variants.items():
                progress(f"{title}: round {number + 1} of {count}: {name}")
                results[name].append(self.measure(*arguments))
        return results


def progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def life(system, durability, batch, seconds, *more):
    return ("life", "--system", system, "--durability", durability, "--batch", batch,
            "--seconds", seconds, *more)


def pipelined(batch, seconds, durability="power"):
    return ("pipelined", "--durability", durability, "--batch", batch, "--seconds", seconds)


def systems_for(durability):
    # SQLite has no level below "in the kernel".
    return ("wq", "rocksdb") if durability == "memory" else ("wq", *PEERS)


# ------------------------------------------------------------------------------ the tables of bench


def run_lives(bench, rounds, seconds):
    groups = []
    for durability in ("power", "process", "memory"):
        for batch in BATCHES:
            variants = {s: life(s, durability, batch, seconds)
                        for s in systems_for(durability)}
            if durability == "power":
                variants["wq pipelined"] = pipelined(batch, seconds)
            title = f"one caller, batch {batch}"
            groups.append(tables.Group(title, durability, batch,
                                       bench.rounds(f"{durability}, {title}", variants, rounds)))
    return groups


def run_callers(bench, rounds, seconds):
    groups = []
    for durability in ("power", "process", "memory"):
        title = "64 callers, batch 1"
        variants = {s: life(s, durability, 1, seconds, "--callers", 64)
                    for s in systems_for(durability)}
        groups.append(tables.Group(title, durability, 1,
                                   bench.rounds(f"{durability}, {title}", variants, rounds)))
    return groups


def run_backlog(bench, rounds, seconds, backlog=200_000):
    title = f"one caller, batch 100, {backlog:,} waiting"
    variants = {s: life(s, "power", 100, seconds, "--backlog", backlog) for s in ("wq", *PEERS)}
    return [tables.Group(title, "power", 100, bench.rounds(title, variants, rounds))]


# --------------------------------------------------------------------------------- behind the bars


def run_serial(bench, rounds):
    # The warm-up lasts until a fresh store has its spare segments: zeroing them takes the device.
    enqueue = ("enqueue", "--durability", "power", "--batch", 1, "--seconds", 1.5, "--warmup", 2)
    return bench.rounds("serial durable enqueue", {
        "raw direct": ("raw", "--seconds", 1.5),
        "wq": (*enqueue, "--system", "wq"),
        "raw buffered": ("raw", "--buffered", "--seconds", 1.5),
    }, rounds)


def run_batch100(bench, rounds):
    variants = {s: life(s, "power", 100, 2, "--warmup", 2) for s in ("wq", *PEERS)}
    variants["wq pipelined"] = pipelined(100, 2)
    return bench.rounds("batch 100, power", variants, rounds)


def run_memory_level(bench, rounds):
    return bench.rounds("memory level", {"wq": life("wq", "memory", 1, 1.5)}, rounds)


def run_traits(bench):
    words = "unique,group,rate"
    return bench.rounds(words, {"wq": (*pipelined(100, 2), "--traits", words)}, 3)


def run_device_bytes(bench):
    progress("device bytes")
    # The warm-up lasts until segments are recycled: they are zero-filled once in a store's life.
    return bench.measure(*life("wq", "power", 100, 8, "--warmup", 4))


def run_waiting(bench, jobs):
    """Fill, kill -9, open, drain: the store outlives its process."""
    progress(f"{jobs:,} waiting: fill")
    store = os.path.join(bench.directory, "waiting")
    shutil.rmtree(store, ignore_errors=True)
    place = ("--dir", store)
    command = [bench.program, "fill", "--jobs", str(jobs), "--hold", *place]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as child:
        line = child.stdout.readline()
        if not line:
            raise Failed(f"wq_load fill: {child.stderr.read().strip()}")
        child.send_signal(signal.SIGKILL)
    fill = bench.parsed(line)
    progress(f"{jobs:,} waiting: open and drain")
    done = subprocess.run([bench.program, "drain", "--jobs", str(jobs), "--batch", "100", *place],
                          capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"wq_load drain: {done.stderr.strip()}")
    shutil.rmtree(store, ignore_errors=True)
    return fill, bench.parsed(done.stdout)


def run_bars(bench, options):
    """All bars of DESIGN section 5 that a single machine can answer."""
    results = bars.Results()
    results.serial = run_serial(bench, 5)
    results.batch100 = run_batch100(bench, 5)
    results.memory_level = run_memory_level(bench, 3)
    results.traits = run_traits(bench)
    results.device = run_device_bytes(bench)
    progress("wake-up")
    results.wake = [bench.measure("wake", "--jobs", 2000) for _ in range(3)]
    progress(f"lease at the head after {options.head_jobs:,} jobs")
    results.head = bench.measure("head", "--jobs", options.head_jobs)
    results.fill, results.drain = run_waiting(bench, options.waiting_jobs)
    return results


def run_micro(build):
    """The Google Benchmark programs, short; their JSON goes to one file."""
    listing = os.path.join(build, "micro.list")
    programs = open(listing).read().split() if os.path.exists(listing) else []
    rows = []
    for name in programs:
        progress(f"micro: {name}")
        done = subprocess.run([os.path.join(build, "bin", name), "--benchmark_min_time=0.05",
                               "--benchmark_format=json"], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"{name}: {done.stderr.strip()}")
        for row in json.loads(done.stdout)["benchmarks"]:
            rows.append({"program": name, **row})
    return rows


def write_json(build, name, content):
    path = os.path.join(build, name)
    with open(path, "w") as file:
        json.dump(content, file, indent=1)
        file.write("\n")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", help="build directory of the preset bench")
    parser.add_argument("--check", action="store_true",
                        help="only what the bars need; exit code 1 if one is short")
    parser.add_argument("--long", action="store_true",
                        help="50 million jobs before the head lease, 100 million waiting")
    parser.add_argument("--record", action="store_true",
                        help="also renew bench/plots and the tables in bench/RESULTS.md")
    parser.add_argument("--bindings", action="store_true",
                        help="only what each language costs over C")
    parser.add_argument("--rounds", type=int, default=7, help="with --bindings; default 7")
    parser.add_argument("--scale", type=float, default=1.0,
                        help="with --bindings: so many times the usual jobs")
    parser.add_argument("--only", default="", help="with --bindings: cpp,go,rust,python,node")
    parser.add_argument("--dir", help="where the stores go (default: in the build directory)")
    options = parser.parse_args()
    options.head_jobs = 50_000_000 if options.long else 5_000_000
    options.waiting_jobs = 100_000_000 if options.long else 10_000_000
    return options


def run_bindings(options, here, directory):
    """The tables of the bindings; exit code 1 if a bar is short and --check was given."""
    os.makedirs(directory, exist_ok=True)
    about = machine.describe(here, directory)
    try:
        rows = bindings.run(options.build, directory, options.rounds, options.scale,
                            [word for word in options.only.split(",") if word], progress)
    except bindings.BindingsFailed as failure:
        print(f"\nbench: {failure}", file=sys.stderr)
        return 2
    progress("")
    write_json(options.build, "bindings.json", {"machine": about, "rows": rows})
    print(machine.text(about))
    print(bindings.text(rows))
    return 1 if options.check and not all(row["ok"] for row in rows) else 0


def main():
    options = parse_arguments()
    directory = os.path.abspath(options.dir or os.path.join(options.build, "stores"))
    started = time.time()
    here = os.path.dirname(os.path.abspath(__file__))
    if options.bindings:
        return run_bindings(options, here, directory)
    try:
        bench = Bench(options.build, directory)
        about = machine.describe(here, directory)
        if about["file_system"] in IN_MEMORY_FILE_SYSTEMS:
            raise Failed(f"{directory} is on {about['file_system']}: nothing is durable there; "
                         "give a directory on a disk with --dir")
        groups, micro = [], []
        if not options.check:
            groups = run_lives(bench, 3, 1.2) + run_callers(bench, 3, 1.5)
            groups += run_backlog(bench, 3, 2)
            micro = run_micro(options.build)
        verdicts = bars.judge(run_bars(bench, options), options)
    except Failed as failure:
        print(f"\nbench: {failure}", file=sys.stderr)
        return 2
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    progress("")
    about["seconds"] = round(time.time() - started)
    about["load_average_end"] = os.getloadavg()[0]
    report(options, here, about, bench, groups, micro, verdicts)
    short = [v.name for v in verdicts if not v.ok]
    return 1 if options.check and short else 0


def report(options, here, about, bench, groups, micro, verdicts):
    build = options.build
    write_json(build, "check.json" if options.check else "bench.json",
               {"machine": about, "bars": [v.as_dict() for v in verdicts],
                "records": bench.records})
    if micro:
        write_json(build, "micro.json", {"machine": about, "benchmarks": micro})
        print(tables.micro_text(micro))
    if groups:
        write_json(build, "lives.json", {"machine": about, "groups": [g.as_dict() for g in groups]})
        print(tables.text(groups))
        plots.write_all(os.path.join(build, "plots"), groups, verdicts)
    print(machine.text(about))
    print()
    for verdict in verdicts:
        print(verdict.detail_line())
    print()
    for verdict in verdicts:
        print(verdict.line())
    if options.record:
        tables.record(os.path.join(here, "RESULTS.md"), about, groups, verdicts)
        if groups:
            plots.write_all(os.path.join(here, "plots"), groups, verdicts)


if __name__ == "__main__":
    sys.exit(main())
