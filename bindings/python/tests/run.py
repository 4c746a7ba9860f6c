"""Runs the tests with pytest and ends with the line "N passed, N failed"; skipped ones are printed
with their reasons. The package is the one that PYTHONPATH names."""

import os
import sys

import pytest


class Count:
    """A plugin that counts."""

    def __init__(self):
        self.passed, self.failed = 0, 0

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed += 1
        elif report.passed and report.when == "call":
            self.passed += 1


def main():
    count = Count()
    here = os.path.dirname(os.path.abspath(__file__))
    code = pytest.main(["-q", "-rs", "-p", "no:cacheprovider", "--rootdir", here, here,
                        *sys.argv[1:]], plugins=[count])
    failed = count.failed or (1 if code != 0 else 0)
    print(f"{count.passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
