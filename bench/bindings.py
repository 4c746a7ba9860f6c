"""What the bindings cost over C: run.py BUILD_DIR --bindings.

bench/bindings/life.c and the bench program of each language do the same: the whole life of jobs
(enqueue, lease, ack), with changes under way, on a store of their own, in a process of their own.
Within a round each language runs once, one after the other; a ratio to C is formed within the
round, and the median of the rounds counts. Each program checks what it delivered, and a failed
check ends everything.

Bars (DESIGN, issue 5): at batch 100 jobs/s of Go and Rust are at least 80% of C, of Python and Node
40%."""

import json
import os
import re
import shlex
import shutil
import statistics
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
LANGUAGES = ("cpp", "go", "rust", "python", "node")
BARS = {"go": 0.8, "rust": 0.8, "python": 0.4, "node": 0.4}
BAR_BATCH = 100
# Jobs of one run: about a second of C, and enough of the slowest.
JOBS = {("memory", 1): 100_000, ("memory", 100): 600_000, ("power", 1): 20_000,
        ("power", 100): 400_000}


class BindingsFailed(Exception):
    pass


def program_of_c(build):
    program = os.path.join(os.path.abspath(build), "bin", "wq_life")
    if not os.path.exists(program):
        raise BindingsFailed(f"{program} is not there: scripts/build.sh bench 2 wq_shared wq_life")
    return [program]


def program_of(language, build):
    """The command of the bench of a language; None, and why is printed, if it can not be had."""
    environment = {**os.environ, "WQ_BUILD_DIR": os.path.abspath(build), "WQ_BENCH": "1"}
    done = subprocess.run([os.path.join(ROOT, "bindings", language, "test.sh")], env=environment,
                          capture_output=True, text=True, check=False)
    if done.returncode == 77:
        print(done.stdout.strip().rsplit("\n", 1)[-1] + f" ({language})")
        return None
    command = re.findall(r"^bench: (.*)$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or not command:
        raise BindingsFailed(f"no bench of {language}:\n{done.stdout}{done.stderr}")
    return shlex.split(command[-1])


def measure(command, level, batch, jobs, directory):
    """ns per job of one run."""
    store = os.path.join(directory, "bindings")
    shutil.rmtree(store, ignore_errors=True)
    done = subprocess.run([*command, level, str(batch), str(jobs), store], capture_output=True,
                          text=True, check=False)
    shutil.rmtree(store, ignore_errors=True)
    if done.returncode != 0:
        raise BindingsFailed(f"{' '.join(command)} {level} {batch}: {done.stdout}{done.stderr}")
    told = json.loads(done.stdout)
    if not told["delivered"] == told["acked"] == told["jobs"]:
        raise BindingsFailed(f"{told['language']}: not every job was delivered: {told}")
    return told["seconds"] / told["jobs"] * 1e9


def rows_of(programs, level, batch, rounds, scale, directory, progress):
    """One row per language: its medians."""
    jobs = max(batch * 10, int(JOBS[level, batch] * scale))
    times = {name: [] for name in programs}
    for number in range(rounds):
        for name, command in programs.items():
            progress(f"{level}, batch {batch}: round {number + 1} of {rounds}: {name}")
            times[name].append(measure(command, level, batch, jobs, directory))
    calls = 3 if batch == 1 else 3 / batch
    rows = []
    for name, own in times.items():
        ratios = [c / mine for c, mine in zip(times["c"], own)]
        over = [(mine - c) / calls for c, mine in zip(times["c"], own)]
        bar = BARS.get(name) if batch == BAR_BATCH else None
        rows.append({"language": name, "level": level, "batch": batch,
                     "jobs_per_s": round(1e9 / statistics.median(own)),
                     "ns_per_job": round(statistics.median(own)),
                     "ns_per_call_over_c": round(statistics.median(over)),
                     "ratio": statistics.median(ratios), "ratio_min": min(ratios),
                     "ratio_max": max(ratios), "bar": bar,
                     "ok": bar is None or statistics.median(ratios) >= bar})
    return rows


def text(rows):
    """The rows as tables of Markdown."""
    lines = []
    for level, batch in sorted({(row["level"], row["batch"]) for row in rows}):
        lines += ["", f"Level {level}, batch {batch}:", "",
                  "| | jobs/s | ns per job | ns per call over C | of C | rounds | bar |",
                  "|---|---|---|---|---|---|---|"]
        for row in rows:
            if (row["level"], row["batch"]) != (level, batch):
                continue
            bar = "" if row["bar"] is None else (
                f"{row['bar']:.0%} {'ok' if row['ok'] else 'SHORT'}")
            over = "" if row["language"] == "c" else f"{row['ns_per_call_over_c']:,}"
            lines.append(f"| {row['language']} | {row['jobs_per_s']:,} | {row['ns_per_job']:,} | "
                         f"{over} | {row['ratio']:.0%} | {row['ratio_min']:.0%} .. "
                         f"{row['ratio_max']:.0%} | {bar} |")
    return "\n".join(lines[1:])


def run(build, directory, rounds, scale, only, progress):
    """All rows; languages without a toolchain are left out."""
    programs = {"c": program_of_c(build)}
    for language in LANGUAGES:
        command = program_of(language, build) if not only or language in only else None
        if command:
            programs[language] = command
    rows = []
    for level, batch in JOBS:
        rows += rows_of(programs, level, batch, rounds, scale, directory, progress)
    return rows
