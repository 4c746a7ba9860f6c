"""Prints "passed failed" of a ctest JUnit report, and names what was skipped on standard error. A
test that ctest could not start, or that is disabled, has failed: only a program that says so
itself is skipped."""

import re
import sys
import xml.etree.ElementTree as ElementTree

# A script says so in a line of its own, before it ends with the code for it.
SCRIPT_SKIP = re.compile(r"^skipped: (.*)$", re.MULTILINE)
# GoogleTest prints where and why, an empty line, and then the test.
GTEST_SKIP = re.compile(r"^\S+:\d+: Skipped\n(.*?)\n*\[  SKIPPED \] (\S+) \(",
                        re.MULTILINE | re.DOTALL)


def totals(path):
    passed = failed = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name, skipped = case.get("name"), case.find("skipped")
        if case.get("status") == "run":
            passed += 1
            for reason, test in GTEST_SKIP.findall(case.findtext("system-out") or ""):
                print(f"skipped: {name}: {test}: {reason.strip()}", file=sys.stderr)
        elif skipped is not None and skipped.get("message", "").startswith("SKIP_"):
            reasons = SCRIPT_SKIP.findall(case.findtext("system-out") or "")
            print(": ".join(["skipped", name] + reasons[-1:]), file=sys.stderr)
        else:
            failed += 1
    return passed, failed


if __name__ == "__main__":
    try:
        print(*totals(sys.argv[1]))
    except (OSError, ElementTree.ParseError) as error:
        sys.exit(f"junit_totals.py: {error}")
