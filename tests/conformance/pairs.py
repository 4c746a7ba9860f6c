#!/usr/bin/env python3
"""pairs.py BUILD_DIR: case 45, bytes intact in every pair of languages. Each language writes into
one store (pairs/write.ops) by its runner of the conformance scripts, and then each reads what each
of the others has written (pairs/read.ops), and itself. What it must print stands in pairs/write.out
and pairs/read.out; "@" in these files is the language that wrote.

A binding builds its runner for this when test.sh is run with WQ_CONFORMANCE_RUNNER=1, and says its
command in a line "runner: ...". Languages without a toolchain are named and passed over; the last
line is "pairs: N equal, N different". Exit code 1 if anything differs."""

import difflib
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LANGUAGES = ("cpp", "go", "python", "rust", "node")
SECONDS_MAX = 1800


def runner_of(language, build):
    """The command of the runner; None, and why is printed, if it can not be had here."""
    environment = {**os.environ, "WQ_BUILD_DIR": build, "WQ_CONFORMANCE_RUNNER": "1"}
    done = subprocess.run([os.path.join(ROOT, "bindings", language, "test.sh")], env=environment,
                          capture_output=True, text=True, check=False, timeout=SECONDS_MAX)
    if done.returncode == 77:
        reason = re.findall(r"^skipped: (.*)$", done.stdout, re.MULTILINE)
        print(f"skipped: {language}: {reason[-1] if reason else 'it does not say why'}")
        return None
    command = re.findall(r"^runner: (.*)$", done.stdout, re.MULTILINE)
    if done.returncode != 0 or not command:
        raise SystemExit(f"pairs.py: no runner of {language}:\n{done.stdout}{done.stderr}")
    return shlex.split(command[-1])


def text_of(name, writer):
    with open(os.path.join(HERE, "pairs", name), encoding="ascii") as file:
        return file.read().replace("@", writer)


def differs(command, directory, kind, writer):
    """What a runner prints otherwise than it should; empty: nothing."""
    script = os.path.join(directory, f"{kind}.ops")
    with open(script, "w", encoding="ascii") as file:
        file.write(text_of(f"{kind}.ops", writer))
    done = subprocess.run([*command, directory, script], capture_output=True, text=True,
                          check=False, timeout=SECONDS_MAX)
    if done.returncode != 0:
        return f"exit code {done.returncode}: {done.stderr}"
    return "\n".join(difflib.unified_diff(text_of(f"{kind}.out", writer).splitlines(),
                                          done.stdout.splitlines(), "wanted", "printed",
                                          lineterm="", n=0))


def main(build):
    runners = {}
    for language in LANGUAGES:
        command = runner_of(language, build)
        if command:
            runners[language] = command
    equal, different = 0, 0
    with tempfile.TemporaryDirectory() as directory:
        steps = [(name, "write", name) for name in runners]
        steps += [(reader, "read", writer) for reader in runners for writer in runners]
        for name, kind, writer in steps:
            wrong = differs(runners[name], directory, kind, writer)
            equal, different = equal + (not wrong), different + bool(wrong)
            if wrong:
                whose = "" if kind == "write" else f" what {writer} wrote"
                print(f"different: {name} {kind}s{whose}\n{wrong}")
    print(f"languages: {' '.join(runners)}")
    print(f"pairs: {equal} equal, {different} different")
    return 1 if different or not equal else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: pairs.py BUILD_DIR")
    sys.exit(main(os.path.abspath(sys.argv[1])))
