"""The tables of docs/TESTING.md that say which test answers for what (ctest label: tidy): each test
that they name exists, each row names one, and no number is missing that wq has promised to cover.

    tables_test.py            all tables
    tables_test.py --self     the checks themselves, on tables that are wrong

What a table names stands between backticks, in a column whose head begins with "Test": a
transcript, a test program, `Suite.Test` with * for any text, the name of a test behind its program,
a method of a Python test, a test in Go, a path."""

import argparse
import fnmatch
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DOCUMENT = os.path.join("docs", "TESTING.md")
# Heading -> what its first column must have, if that is a list of numbers.
NUMBERS = {
    "WaitQueue scenario -> test": set(range(1, 16)),
    "PrismGo scenario -> test":
        set(range(1, 5)) | set(range(7, 13)) | set(range(27, 37)) | set(range(38, 43)),
    "XYGo scenario -> test": set(range(1, 9)) | set(range(10, 14)) | {16, 17, 18, 21, 24},
    "Bug case -> test":
        {1, 2, 3, 5, 6, 7, 9, 10, 11, 13, 14, 16, 17, 19, 20, 22, 23, 25, 27, 28, 30, 32, 33, 34,
         35, 36, 38, 40, 41, 42, 43, 45, 47, 52, 54, 55, 57, 59},
    "SPEC -> test": set(range(1, 10)),
}
# Other tables of tests: only what they name is looked at.
OTHERS = ("Dead letters, limits, status -> test", "PrismGo middleware -> test", "Backup -> test")
OUTSIDE = ("promtool",)
TICKED = re.compile(r"`([^`]+)`")


class Known:
    """Every name that a table may use."""

    def __init__(self, root):
        self.root = root
        self.tests, self.suites, self.names = set(), set(), set()
        for top in ("tests", "fuzz", "bindings", "bench"):
            for directory, below, files in os.walk(os.path.join(root, top)):
                below[:] = [d for d in below if d not in ("target", "node_modules", "__pycache__")]
                for name in files:
                    self._take(os.path.join(directory, name), name)

    def _take(self, path, name):
        stem, suffix = os.path.splitext(name)
        if suffix == ".txt" and path.startswith(os.path.join(self.root, "tests", "data")):
            self.names.add(stem)
        if suffix == ".ops":
            self.names.add(name)
        if suffix not in (".cc", ".py", ".go", ".c") and name != "CMakeLists.txt":
            return
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if stem.endswith("_test"):  # what ctest calls it, where its CMakeLists.txt makes the name
            place = os.path.basename(os.path.dirname(path))
            self.names |= {f"{place}_{stem}", f"{place}_{stem.removesuffix('_test')}"}
        if suffix == ".cc":
            self.names |= {stem, name}
            for suite, test in re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", text, re.M):
                self.tests.add(f"{suite}.{test}")
                self.suites.add(suite)
        elif suffix == ".py":
            self.names |= {stem, name} | set(re.findall(r"^\s+def (test_\w+)", text, re.M))
        elif suffix == ".go":
            self.names |= set(re.findall(r"^func (Test\w+)", text, re.M))
        elif name == "CMakeLists.txt":
            self.names |= set(re.findall(r"\bNAME \"?(\w+)", text))

    def has(self, word):
        if word in OUTSIDE:
            return True
        if "/" in word:
            return os.path.exists(os.path.join(self.root, word))
        if "." in word and not word.endswith((".py", ".cc", ".ops")):
            return any(fnmatch.fnmatchcase(test, word) for test in self.tests)
        if word in self.names or word in self.suites:
            return True
        own_names = (test.split(".", 1)[1] for test in self.tests)
        return any(fnmatch.fnmatchcase(name, word) for name in own_names) or \
            any(fnmatch.fnmatchcase(name, word) for name in self.names)

    def numbered(self, number):
        marks = (f"C{number:02}_", f"Case{number:02}", f"C{number:02}B")
        return any(mark in test for test in self.tests for mark in marks)


def tables(text):
    """heading -> [(head cells, rows as (line, cells))] of all tables below it."""
    found, heading, rows = {}, "", None
    for number, line in enumerate(text.split("\n"), 1):
        if line.startswith("#"):
            heading, rows = line.lstrip("# "), None
        elif line.startswith("|"):
            cells = [cell.strip() for cell in
                     re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))]
            if rows is None:
                rows = []
                found.setdefault(heading, []).append((cells, rows))
            elif not all(re.fullmatch(r":?-+:?", cell) for cell in cells):
                rows.append((number, cells))
        else:
            rows = None
    return found


def numbers_of(cell):
    """The numbers that a first column begins with: "2, 3, 4", "8", "5 limits of names"."""
    match = re.match(r"\d+(?:(?:, | to )\d+)*", cell)
    return {int(n) for n in re.findall(r"\d+", match.group())} if match else set()


def problems_of(text, known):
    found = tables(text)
    for heading in list(NUMBERS) + list(OTHERS):
        if heading not in found:
            yield f"{DOCUMENT}: no table below '{heading}'"
            continue
        seen = set()
        for head, rows in found[heading]:
            column = next((i for i, cell in enumerate(head) if cell.startswith("Test")), None)
            if column is None:
                yield f"{DOCUMENT}: '{heading}': no column of tests"
                continue
            for line, cells in rows:
                yield from row_problems(heading, line, cells, column, known)
                seen |= numbers_of(cells[0])
        missing = sorted(NUMBERS.get(heading, set()) - seen)
        if missing:
            yield f"{DOCUMENT}: '{heading}': nothing about {missing}"


def row_problems(heading, line, cells, column, known):
    words = TICKED.findall(cells[column]) if column < len(cells) else []
    if not words:
        yield f"{DOCUMENT}:{line}: names no test"
    for word in words:
        if not known.has(word):
            yield f"{DOCUMENT}:{line}: there is no test '{word}'"
    if heading == "Bug case -> test":
        for number in numbers_of(cells[0]):
            if not known.numbered(number) and not any("." in word for word in words):
                yield f"{DOCUMENT}:{line}: no test has the number {number}, and none is named"


WRONG = """
## Bug case -> test

| Case | Test |
|---|---|
| 01 x | `lease_bugs_test` C01 |
| 02 x | `no_such_test` |
| 03 x | nothing |
| 48 x | `lease_bugs_test` |

## SPEC -> test

| SPEC | Tests |
|---|---|
| 1, 2 x | `BugCase.C01_*`, `BugCase.C99_*` |
"""


def self_test(known):
    found = list(problems_of(WRONG, known))
    for part in ("'no_such_test'", "names no test", "the number 48", "'BugCase.C99_*'",
                 "'SPEC -> test': nothing about [3, 4, 5", "'Bug case -> test': nothing about [5",
                 "no table below 'XYGo scenario -> test'"):
        if not any(part in problem for problem in found):
            print(f"not noticed: {part}", file=sys.stderr)
            return 1
    if any("C01_*" in problem or "'lease_bugs_test'" in problem for problem in found):
        print("\n".join(found), file=sys.stderr)
        return 1
    print("what is wrong is noticed")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--self", action="store_true", help="check the checks")
    args = parser.parse_args()
    known = Known(ROOT)
    if args.self:
        return self_test(known)
    with open(os.path.join(ROOT, DOCUMENT), encoding="utf-8") as file:
        found = list(problems_of(file.read(), known))
    for problem in found:
        print(problem, file=sys.stderr)
    print(f"{len(found)} problems" if found else
          f"the tables are whole; {len(known.tests)} tests in C++ are known by name")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
