"""Runs the tests with pytest and ends with the line "N passed, N failed"; skipped ones are printed
with their reasons, conformance scripts are counted in a line of their own. With the environment
variable WQ_CONFORMANCE_ONLY=1 those alone are run. The package is the one that PYTHONPATH names."""

import os
import re
import sys

import pytest


class Count:
    """A plugin that counts."""

    def __init__(self):
        self.passed, self.failed, self.equal, self.different = 0, 0, 0, []

    def pytest_runtest_logreport(self, report):
        script = re.search(r"::test_conformance\[(.*)\]$", report.nodeid)
        if report.failed:
            self.failed += 1
            self.different += [script.group(1)] if script else []
        elif report.passed and report.when == "call":
            self.passed += 1
            self.equal += bool(script)


def main():
    count = Count()
    here = os.path.dirname(os.path.abspath(__file__))
    what = here
    if os.environ.get("WQ_CONFORMANCE_ONLY") == "1":
        what = os.path.join(here, "test_docs.py") + "::test_conformance"
    code = pytest.main(["-q", "-rs", "-p", "no:cacheprovider", "--rootdir", here, what,
                        *sys.argv[1:]], plugins=[count])
    failed = count.failed or (1 if code != 0 else 0)
    print(f"conformance: {count.equal} equal, {len(count.different)} different")
    for name in count.different:
        print(f"different: {name}")
    print(f"{count.passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
