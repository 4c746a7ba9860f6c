#!/usr/bin/env python3
"""covers.py MAP EXCEPTIONS SOURCE...: each function of the version script is called by the scripts
of the allocation sweep, or stands in EXCEPTIONS with the reason why it is not. A line of EXCEPTIONS
is "name: reason"."""

import re
import sys


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def exceptions_of(text, problems):
    found = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        name, colon, reason = line.partition(": ")
        if not colon or len(reason.split()) < 3:
            problems.append(f"no reason: {line}")
        if name in found:
            problems.append(f"twice: {name}")
        found[name] = reason
    return found


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    problems = []
    names = re.findall(r"^\s+(wq_\w+);", read(sys.argv[1]), re.MULTILINE)
    exceptions = exceptions_of(read(sys.argv[2]), problems)
    called = set()
    for path in sys.argv[3:]:
        called |= set(re.findall(r"\b(wq_\w+)\s*\(", re.sub(r"//.*", "", read(path))))
    for name in names:
        if name not in called and name not in exceptions:
            problems.append(f"neither called nor excepted: {name}")
        if name in called and name in exceptions:
            problems.append(f"called and excepted: {name}")
    problems += [f"not in the map: {name}" for name in exceptions if name not in names]
    if not names or problems:
        sys.exit("covers.py: the allocation sweep forgets calls of wq.h\n" + "\n".join(problems))
    print(f"{len(names) - len(exceptions)} functions swept, {len(exceptions)} excepted")


if __name__ == "__main__":
    main()
