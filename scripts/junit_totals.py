"""Prints "passed failed" of a ctest JUnit report; names skipped tests on standard error."""

import sys
import xml.etree.ElementTree as ElementTree


def totals(path):
    passed = failed = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.get("status") == "run":
            passed += 1
        elif case.get("status") in ("notrun", "disabled") and case.find("skipped") is not None:
            reason = case.find("skipped").get("message") or "no reason given"
            print(f"skipped: {case.get('name')}: {reason}", file=sys.stderr)
            # A disabled or self-skipped test is told apart from one whose program is missing.
            if reason not in ("Disabled", "SKIP_RETURN_CODE=77"):
                failed += 1
        else:
            failed += 1
    return passed, failed


if __name__ == "__main__":
    try:
        print(*totals(sys.argv[1]))
    except (OSError, ElementTree.ParseError) as error:
        sys.exit(f"junit_totals.py: {error}")
