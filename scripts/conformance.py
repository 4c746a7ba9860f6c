#!/usr/bin/env python3
"""scripts/conformance.py BUILD_DIR: runs the scripts of tests/conformance through the model and
through each binding that this machine has a toolchain for, then lets each language read what each
other one wrote (tests/conformance/pairs.py), and prints a table: equal, different, skipped and why.
Exit code 1 if anything is different or broken."""

import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LANGUAGES = ("cpp", "go", "python", "rust", "node")
PAIRS = os.path.join(ROOT, "tests", "conformance", "pairs.py")
SECONDS_MAX = 1800


def run(command, build):
    environment = {**os.environ, "WQ_BUILD_DIR": build, "WQ_CONFORMANCE_ONLY": "1"}
    try:
        result = subprocess.run(command, env=environment, capture_output=True, check=False,
                                timeout=SECONDS_MAX)
    except (OSError, subprocess.TimeoutExpired) as error:
        return -1, str(error)
    return result.returncode, (result.stdout + result.stderr).decode("utf-8", "replace")


def verdict(code, output):
    """What the table says, and whether all is well."""
    if code == 77:
        reasons = re.findall(r"^skipped: (.*)$", output, re.MULTILINE)
        return "skipped: " + (reasons[-1] if reasons else "it does not say why"), True
    counts = re.findall(r"^conformance: (\d+) equal, (\d+) different(.*)$", output, re.MULTILINE)
    if not counts:
        return f"broken: exit code {code}, and no line 'conformance: ...'", False
    equal, different, more = counts[-1]
    if different != "0":
        names = re.findall(r"^different: (\S+)$", output, re.MULTILINE)
        return f"different: {', '.join(names) or different} ({equal} equal)", False
    if code != 0:
        return f"broken: {equal} equal, but exit code {code}", False
    return f"equal ({equal} scripts{more})", equal != "0"


def programs(build):
    yield "model", [os.path.join(build, "bin", "conformance_model_test"),
                    os.path.join(ROOT, "tests", "conformance")]
    for language in LANGUAGES:
        yield language, [os.path.join(ROOT, "bindings", language, "test.sh")]


def main(build):
    build = os.path.abspath(build)
    rows, broken = [], []
    for name, command in programs(build):
        if not os.path.exists(command[0]):
            rows.append((name, "skipped: it is not in this tree"))
            continue
        print(f"conformance.py: {name}", file=sys.stderr, flush=True)
        code, output = run(command, build)
        text, well = verdict(code, output)
        rows.append((name, text))
        if not well:
            broken.append(name)
            print(output, file=sys.stderr)
    print("conformance.py: pairs", file=sys.stderr, flush=True)
    code, output = run([PAIRS, build], build)
    rows.append(("pairs", output.strip().rsplit("\n", 1)[-1]))
    if code != 0:
        broken.append("pairs")
        print(output, file=sys.stderr)
    for name, text in rows:
        print(f"{name:8} {text}")
    return 1 if broken else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: scripts/conformance.py BUILD_DIR")
    sys.exit(main(sys.argv[1]))
