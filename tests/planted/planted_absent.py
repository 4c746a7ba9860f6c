#!/usr/bin/env python3
"""planted_absent.py LIBRARY...: no planted bug, and no way to ask for one, is in these files."""

import os
import re
import sys

DEFINITIONS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                           "../../src/base/planted.def")


def main():
    with open(DEFINITIONS, encoding="ascii") as file:
        names = re.findall(r"^X\((\w+)", file.read(), re.MULTILINE)
    if not names or len(sys.argv) < 2:
        sys.exit("planted_absent: no names, or no libraries, to look for")
    found = []
    for path in sys.argv[1:]:
        with open(path, "rb") as file:
            library = file.read()
        found += [f"{path}: {name}" for name in ["WQ_PLANTED"] + names
                  if name.encode() in library]
    if found:
        sys.exit("planted_absent: in a build without WQ_PLANTED:\n" + "\n".join(found))
    print(f"{len(names)} plants, none in {len(sys.argv) - 1} libraries")


if __name__ == "__main__":
    main()
