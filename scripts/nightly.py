#!/usr/bin/env python3
"""scripts/nightly.py [--only JOB]... [--parallel N] [--scale X] [--fresh] [--record] [--list]: the
long tests.

JOBS below lists them; a new one is a line there. A job is done in parts, and each finished part is
noted in build/nightly/state.json: what was interrupted goes on there when it is called again.
Another commit, another scale, or --fresh starts anew. A part that failed is tried again. What a
part printed is in build/nightly/<job>-<part>.log. --parallel: so many parts of a job at once.

The table at the end sums up the figures; --record writes the rows of the jobs that ran to
docs/TESTING.md, each with its commit, and leaves the other rows there as they are: the whole may be
run on several days. The exit code is 0 only if every part of every job that was asked for passed.
"""

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import marked

HOME = "build/nightly"
STATE = f"{HOME}/state.json"
TEMP = f"{HOME}/tmp"  # on the disk, where barriers mean something
FUZZ_S = 600
PART_S_MAX = 4 * 3600  # a part that takes longer hangs


@dataclass(frozen=True)
class Job:
    """`command(part, options)` gives the words to run; parts are 1 to `parts`, or the names that
    `parts(preset)` lists once it is built. `figures` are (unit, pattern): the numbers that the
    pattern finds in the logs, added up."""
    name: str
    preset: str
    what: str
    command: object
    parts: object = 1
    env: dict = field(default_factory=dict)
    figures: tuple = ()


# ---- how jobs are run

# Programs are run without ctest, whose time limits are those of short runs.

def program(preset, name, *arguments):
    return lambda part, options: [f"build/{preset}/bin/{name}", *arguments]


def each_program(preset):
    """For parts that are names of programs."""
    return lambda part, options: [f"build/{preset}/bin/{part}"]


def fuzz(part, options):
    seconds = max(1, round(FUZZ_S * options.scale))
    return ["scripts/fuzz.sh", "build/fuzz", str(seconds), part]


def damage(part, options):
    """Parts are kinds of RocksDB's files, and `rest`."""
    test = ["build/release/bin/store_matrix_test"]
    if part == "rest":
        return [*test, "--gtest_filter=-*.FilesOfTheColdStore"]
    return ["env", f"WQ_FILES={part}", *test, "--gtest_filter=*.FilesOfTheColdStore"]


def valgrind(part, options):
    return ["valgrind", "--quiet", "--error-exitcode=9", "--leak-check=full",
            "--errors-for-leak-kinds=definite", f"build/release/bin/{part}"]


def programs_with_labels(labels):
    """Tests that wq_add_test made have the names of their programs."""
    def find(preset):
        shown = subprocess.run(["ctest", "--preset", preset, "-L", f"^({labels})$",
                                "--show-only=json-v1"], capture_output=True, text=True, check=True)
        return [test["name"] for test in json.loads(shown.stdout)["tests"]]
    return find


def fuzz_targets(preset):
    return sorted(name for name in os.listdir(f"build/{preset}/bin") if name.endswith("_fuzz"))


LONG = {"WQ_LONG": "1"}
THREADS = {"WQ_IO": "thread"}  # what the kernel does for io_uring is invisible to these tools
TSAN = dict(THREADS, TSAN_OPTIONS="halt_on_error=1:suppressions=tests/tsan.supp")

JOBS = (
    Job("sim", "release", "power cuts at every event of the simulated disk",
        program("release", "sim_crash_points_test"), parts=3, env=LONG,
        figures=(("crash states", r"^all: \d+ images, (\d+) states"),)),
    Job("kills", "release", "kill -9 of a working process",
        program("release", "crash_test"), parts=5,
        figures=(("kills", r"^ *(\d+) kills while"), ("violations", r"^ *(\d+) violations"))),
    Job("drain", "release", "kills, pauses and clock steps, then a drain",
        program("release", "drain_test"), parts=3, env=LONG,
        figures=(("kills", r"^ *(\d+) kills$"), ("lost", r"^ *(\d+) lost"))),
    Job("model", "release", "random operations against the model, simulated disk",
        program("release", "model_test", "--gtest_filter=Model.SimulatedDisk"), parts=20,
        env={"WQ_SEEDS": "500"}, figures=(("seeds", r"^(\d+) streams of"),)),
    Job("model_rocks", "release", "the same on RocksDB and the real disk",
        program("release", "model_test", "--gtest_filter=Model.Rocks*"), parts=4,
        env={"WQ_SEEDS": "50"}, figures=(("seeds", r"^(\d+) streams of"),)),
    Job("bugs", "release", "bug cases of other queues in their whole quantities",
        each_program("release"), parts=programs_with_labels("bugs"), env=LONG),
    Job("damage", "release", "each byte of a store's files, footers and lengths damaged, salvaged",
        damage, parts=lambda preset: [".sst", ".blob", ".log", "MANIFEST", "CURRENT", "OPTIONS",
                                      "rest"], env=LONG,
        figures=(("stores", r": (\d+) salvaged"),)),
    Job("fuzz", "fuzz", f"every fuzz target for {FUZZ_S} s",
        fuzz, parts=fuzz_targets, figures=(("inputs", r"number_of_executed_units: *(\d+)"),)),
    Job("valgrind", "release", "unit tests under valgrind", valgrind,
        parts=programs_with_labels("unit"), env=THREADS),
    Job("tsan", "tsan", "tests with threads under ThreadSanitizer", each_program("tsan"),
        parts=programs_with_labels("unit|bugs"), env=TSAN),
    Job("planted", "planted", "every planted bug is noticed",
        lambda part, options: ["scripts/planted.py"],
        figures=(("caught", r"^planted: (\d+) of \d+ caught"),)),
)


# ---- state

class Progress:
    """What is done, of which commit and scale. Written after each part, as a whole."""

    def __init__(self, identity, fresh):
        self.identity = identity
        self.parts = {}  # "job/part" -> {"ok": bool, "seconds": float}
        self.lock = threading.Lock()
        try:
            with open(STATE, encoding="ascii") as file:
                found = json.load(file)
        except FileNotFoundError:
            return
        if not fresh and found["identity"] == identity:
            self.parts = found["parts"]

    def done(self, job, part, result):
        with self.lock:
            self.parts[f"{job.name}/{part}"] = result
            self.save()
            verdict = "ok" if result["ok"] else f"FAILED, see {log_path(job, part)}"
            print(f"{time.strftime('%H:%M:%S')} {job.name}: {part}: {verdict} "
                  f"({result['seconds']} s)", flush=True)

    def save(self):
        with open(f"{STATE}.new", "w", encoding="ascii") as file:
            json.dump({"identity": self.identity, "parts": self.parts}, file, indent=1)
        os.replace(f"{STATE}.new", STATE)


def log_path(job, part):
    return f"{HOME}/{job.name}-{part}.log"


def run_part(job, part, options):
    start = time.monotonic()
    environment = dict(os.environ, TEST_TMPDIR=os.path.abspath(TEMP), **job.env)
    with open(log_path(job, part), "wb") as log:
        try:
            done = subprocess.run(job.command(part, options), env=environment, stdout=log,
                                  stderr=subprocess.STDOUT, check=False, timeout=PART_S_MAX)
            passed = done.returncode == 0
        except subprocess.TimeoutExpired:
            passed = False
    return {"ok": passed, "seconds": round(time.monotonic() - start, 1)}


def parts_of(job, options):
    if callable(job.parts):
        return job.parts(job.preset)
    return [str(i + 1) for i in range(max(1, round(job.parts * options.scale)))]


def run_job(job, options, progress):
    """Runs what is left of it. Returns the names of all its parts."""
    subprocess.run(["scripts/build.sh", job.preset], check=True)
    parts = parts_of(job, options)
    left = [part for part in parts if not progress.parts.get(f"{job.name}/{part}", {}).get("ok")]
    print(f"{time.strftime('%H:%M:%S')} {job.name}: {len(left)} of {len(parts)} parts to do",
          flush=True)
    with ThreadPoolExecutor(options.parallel) as pool:
        for _ in pool.map(lambda part: progress.done(job, part, run_part(job, part, options)),
                          left):
            pass
    return parts


# ---- the table

def figures_of(job, parts):
    out = []
    for unit, pattern in job.figures:
        total = 0
        for part in parts:
            with open(log_path(job, part), encoding="utf-8", errors="replace") as log:
                text = re.sub(r"^\d+: ", "", log.read(), flags=re.MULTILINE)  # ctest's numbers
            total += sum(int(n) for n in re.findall(pattern, text, re.MULTILINE))
        out.append(f"{total:,} {unit}")
    return ", ".join(out)


HEAD = ("| Job | What | Parts | Failed | Figures | Time | Run |", "|---|---|---|---|---|---|---|")


def rows(ran, progress, run):
    """The row of each job that ran, by its name. `run`: commit and day."""
    made = {}
    for job, parts in ran:
        results = [progress.parts[f"{job.name}/{part}"] for part in parts]
        failed = sum(not result["ok"] for result in results)
        minutes = sum(result["seconds"] for result in results) / 60
        made[job.name] = (f"| `{job.name}` | {job.what} | {len(parts)} | {failed} "
                          f"| {figures_of(job, parts)} | {minutes:.1f} min | {run} |")
    return made


def record(made):
    """Puts these rows into the document, in the order of JOBS, with those that it has of others."""
    known = {}
    for line in marked.read("nightly"):
        name = re.match(r"\| `(\w+)` \|", line)
        if name:
            known[name.group(1)] = line
    known.update(made)
    marked.write("nightly", [*HEAD, *(known[job.name] for job in JOBS if job.name in known)])


def machine():
    cores = os.cpu_count()
    kind = subprocess.run(["stat", "-f", "-c", "%T", HOME], capture_output=True, text=True,
                          check=False).stdout.strip()
    return f"{platform.system()} {platform.release()}, {cores} cores, {kind}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", action="append", default=[], metavar="JOB")
    parser.add_argument("--parallel", type=int, default=1, metavar="N", help="parts at once")
    parser.add_argument("--scale", type=float, default=1.0, help="0.1: a tenth of it")
    parser.add_argument("--fresh", action="store_true", help="forget what was done")
    parser.add_argument("--record", action="store_true", help="write the table")
    parser.add_argument("--list", action="store_true", help="name the jobs and do nothing")
    options = parser.parse_args()
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

    unknown = set(options.only) - {job.name for job in JOBS}
    if unknown:
        sys.exit(f"nightly: no such job: {', '.join(sorted(unknown))}; --list names them")
    if options.list:
        for job in JOBS:
            print(f"{job.name:12} {job.what}")
        return 0
    os.makedirs(TEMP, exist_ok=True)
    commit = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True,
                            text=True, check=True).stdout.strip()
    progress = Progress([commit, options.scale], options.fresh)
    ran = []
    for job in JOBS:
        if not options.only or job.name in options.only:
            ran.append((job, run_job(job, options, progress)))

    scale = "" if options.scale == 1 else f", scale {options.scale}"
    made = rows(ran, progress, f"{commit}, {time.strftime('%Y-%m-%d')}, {machine()}{scale}")
    print("\n".join([*HEAD, *made.values()]))
    if options.record:
        record(made)
    failed = [key for job, parts in ran for key in (f"{job.name}/{part}" for part in parts)
              if not progress.parts[key]["ok"]]
    print(f"nightly: {len(failed)} parts failed" + (f": {', '.join(failed)}" if failed else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
