"""Prints "passed failed" of a ctest JUnit report; names on standard error what is neither: tests
that skipped themselves, and known failures that are switched off. A test that ctest could not start
has failed."""

import re
import sys
import xml.etree.ElementTree as ElementTree

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
            print(f"skipped: {name}", file=sys.stderr)
        elif case.get("status") == "disabled":
            print(f"switched off: {name}: a known failure, see CHANGELOG.md", file=sys.stderr)
        else:
            failed += 1
    return passed, failed


if __name__ == "__main__":
    try:
        print(*totals(sys.argv[1]))
    except (OSError, ElementTree.ParseError) as error:
        sys.exit(f"junit_totals.py: {error}")
