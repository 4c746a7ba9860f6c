"""docs/guides/wq.rules.yml (ctest label: tidy): its alerts go by metrics that docs/METRICS.md has,
operating.md says what to do about each, and, where promtool is installed, each fires when it should
and is quiet else (alerts_test.yml)."""

import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RULES = os.path.join(ROOT, "docs", "guides", "wq.rules.yml")
CASES = os.path.join(HERE, "alerts_test.yml")


def read(*parts):
    with open(os.path.join(ROOT, *parts), encoding="utf-8") as file:
        return file.read()


def problems():
    rules, cases = read(RULES), read(CASES)
    metrics = set(re.findall(r"^\| `(wq_\w+)`", read("docs", "METRICS.md"), re.M))
    used = {re.sub(r"_(?:bucket|sum|count)$", "", name)
            for expression in re.findall(r"^ +expr: (.*)", rules, re.M)
            for name in re.findall(r"\bwq_\w+", expression)}
    yield from (f"{name}: not in docs/METRICS.md" for name in sorted(used - metrics))
    alerts = re.findall(r"- alert: (\w+)", rules)
    if len(alerts) < 5 or not used:
        yield "wq.rules.yml: has hardly any alerts"
    told = read("docs", "guides", "operating.md")
    for alert in alerts:
        if f"`{alert}`" not in told:
            yield f"{alert}: operating.md does not say what to do"
        if cases.count(f"alertname: {alert}\n") < 2:
            yield f"{alert}: alerts_test.yml has no case in which it fires and one in which not"


def promtool():
    """None if all cases are as they should be, or there is no promtool; else what it said."""
    if not shutil.which("promtool"):
        print("skipped: promtool is not installed (scripts/setup.sh metrics)")
        return None
    with tempfile.TemporaryDirectory() as directory:
        shutil.copy(CASES, directory)
        # The texts are checked, and not compared: the cases have none.
        silent = re.sub(r"^ +annotations:\n(?: {10}\S.*\n)+", "", read(RULES), flags=re.M)
        with open(os.path.join(directory, "wq.rules.yml"), "w", encoding="utf-8") as file:
            file.write(silent)
        for command in (["check", "rules", RULES], ["test", "rules", "alerts_test.yml"]):
            done = subprocess.run(["promtool", *command], cwd=directory, capture_output=True,
                                  text=True, check=False)
            if done.returncode != 0:
                return done.stdout + done.stderr
    return None


def main():
    found = list(problems())
    said = promtool()
    if said:
        found.append(said)
    print("\n".join(found) if found else "the alerts are as they should be")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
