#!/usr/bin/env python3
"""scripts/planted.py [--only NAME]... [--record] [--skip-control]: do the tests notice bugs?

Builds the preset "planted", in which WQ_PLANTED=name breaks one barrier or check of
src/base/planted.def. With nothing broken the suite must pass; with each plant in turn it must fail,
and the first test that does is named. Tried first is the test that the table in docs/TESTING.md
names, then everything quick, then everything. The last line is "planted: K of N caught"; the exit
code is 0 only if nothing survived. --record writes the table.
"""

import argparse
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass

import marked

PRESET = "planted"
BUILD = f"build/{PRESET}"
DEFINITIONS = "src/base/planted.def"
QUICK_S = 3  # tests that take no longer with nothing planted are tried before the others


@dataclass
class Plant:
    name: str
    breaks: str
    rule: str


@dataclass
class Caught:
    test: str
    case: str  # of the test program; empty if its output names none
    seconds: float

    def __str__(self):
        return f"{self.test}: {self.case}" if self.case else self.test


def read_plants():
    with open(DEFINITIONS, encoding="ascii") as file:
        found = re.findall(r'^X\((\w+),\s*"([^"]*)",\s*"([^"]*)"\)', file.read(), re.MULTILINE)
    return [Plant(*row) for row in found]


def read_hints():
    """Plant -> (test, case) that caught it last, from the table."""
    hints = {}
    for line in marked.read("planted"):
        match = re.match(r"\| `(\w+)` \|.*\| `(\w+)`(?: `(.+)`)? \|$", line)
        if match:
            hints[match[1]] = (match[2], match[3] or "")
    return hints


def failing_case(output):
    """The first case that failed, as GoogleTest or unittest name it."""
    match = (re.search(r"\[  FAILED  \] ([A-Za-z]\S*?)[,\s]", output) or
             re.search(r"^(?:FAIL|ERROR): (\w+)", output, re.MULTILINE))
    if match:
        return match[1]
    started = re.findall(r"\[ RUN      \] (\S+)", output)  # it died or hung in the last one
    return started[-1] if started else ""


def run_group(command, environment):
    """Runs it, and ends what it leaves: a test that dies half way may have children that wait."""
    group = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        group.wait()
    finally:
        try:
            os.killpg(group.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def run_tests(tests, plant="", case="", go_on=False):
    """Runs these tests of the preset; returns what failed and the seconds that each one took."""
    report = os.path.abspath(f"{BUILD}/planted.xml")
    if os.path.exists(report):
        os.remove(report)
    command = ["ctest", "--preset", PRESET, "-R", f"^({'|'.join(tests)})$",
               "--output-junit", report] + ([] if go_on else ["--stop-on-failure"])
    environment = dict(os.environ, WQ_PLANTED=plant)
    if not go_on:
        environment["GTEST_FAIL_FAST"] = "1"
    if case:
        environment["GTEST_FILTER"] = case
    run_group(command, environment)
    failed, seconds = [], {}
    for row in ElementTree.parse(report).getroot().iter("testcase"):
        took = float(row.get("time", 0))
        if row.get("status") == "run":
            seconds[row.get("name")] = took
        elif row.get("status") == "fail":
            output = row.findtext("system-out") or ""
            failed.append(Caught(row.get("name"), failing_case(output), took))
    shutil.rmtree(f"{BUILD}/tmp", ignore_errors=True)  # failing tests keep their files
    return failed, seconds


def list_tests():
    listed = subprocess.run(["ctest", "--preset", PRESET, "--show-only=json-v1"],
                            capture_output=True, text=True, check=True)
    return [test["name"] for test in json.loads(listed.stdout)["tests"]]


def control(tests):
    """Nothing is planted: everything passes. Returns the tests, quick ones apart."""
    print("planted: the suite with nothing planted", flush=True)
    failed, seconds = run_tests(tests, go_on=True)
    for failure in failed:
        print(f"  FAILED {failure}", flush=True)
    if failed or len(seconds) != len(tests):
        sys.exit(f"planted: the control failed ({len(seconds)} of {len(tests)} tests passed)")
    with open(f"{BUILD}/control.json", "w", encoding="ascii") as file:
        json.dump(seconds, file)


def read_control(tests):
    try:
        with open(f"{BUILD}/control.json", encoding="ascii") as file:
            seconds = json.load(file)
    except FileNotFoundError:
        seconds = {}
    return [test for test in tests if seconds.get(test, QUICK_S + 1) <= QUICK_S]


def attempts(hint, tests, quick):
    """Sets of tests to try in turn, each with the one case to run, or all."""
    test, case = hint
    if test in tests:
        if case:
            yield [test], case
        yield [test], ""
    if quick:
        yield quick, ""
    yield tests, ""


def try_plant(plant, hint, tests, quick):
    start = time.monotonic()
    for names, case in attempts(hint, tests, quick):
        failed, _ = run_tests(names, plant.name, case)
        if failed:
            spent = time.monotonic() - start
            print(f"{plant.name}: caught by {failed[0]} in {spent:.1f} s", flush=True)
            return failed[0]
    print(f"{plant.name}: SURVIVED ({plant.breaks})", flush=True)
    return None


def table(plants, hints):
    yield "| Plant | What it breaks | Rule | Caught by |"
    yield "|---|---|---|---|"
    for plant in plants:
        test, case = hints.get(plant.name, ("", ""))
        by = f"`{test}` `{case}`" if case else f"`{test}`" if test else "nothing yet"
        yield f"| `{plant.name}` | {plant.breaks} | {plant.rule} | {by} |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--record", action="store_true", help="write the table")
    parser.add_argument("--skip-control", action="store_true", help="it has passed before")
    options = parser.parse_args()
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    plants = read_plants()
    unknown = set(options.only) - {plant.name for plant in plants}
    if unknown:
        sys.exit(f"planted: not in {DEFINITIONS}: {', '.join(sorted(unknown))}")
    subprocess.run(["scripts/build.sh", PRESET], check=True)
    tests = list_tests()
    if not options.skip_control:
        control(tests)
    quick = read_control(tests)

    hints = read_hints()
    chosen = [plant for plant in plants if not options.only or plant.name in options.only]
    survived = []
    for plant in chosen:
        caught = try_plant(plant, hints.get(plant.name, ("", "")), tests, quick)
        if caught:
            hints[plant.name] = (caught.test, caught.case)
        else:
            hints.pop(plant.name, None)
            survived.append(plant.name)
    if options.record:
        marked.write("planted", list(table(plants, hints)))
    if survived:
        print(f"planted: survived: {', '.join(survived)}")
    print(f"planted: {len(chosen) - len(survived)} of {len(chosen)} caught")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
