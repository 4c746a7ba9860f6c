"""The table of contents of include/wq.h (ctest label: tidy): each part of the header stands in it,
in order, with one line, and it names no other."""

import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BANNER = re.compile(r"^/\* =+ (.+?) \*/$", re.MULTILINE)


def contents(text):
    """The names in the table of contents, and lines of it that are no entries."""
    begin, end = text.index("   CONTENTS\n"), text.index("   1. A COMPLETE PROGRAM")
    names, others = [], []
    for line in text[begin:end].split("\n"):
        if line.startswith("     "):
            entry = re.fullmatch(r" {5}(\S+(?: \S+)*) {2,}(\S.*)", line)
            (names.append(entry.group(1)) if entry else others.append(line.strip()))
    return names, others


def main():
    with open(os.path.join(ROOT, "include", "wq.h"), encoding="utf-8") as file:
        text = file.read()
    listed, others = contents(text)
    parts = BANNER.findall(text)
    problems = [f"'{line}': a part has one line" for line in others]
    problems += [f"'{part}': not in the contents" for part in parts if part not in listed]
    problems += [f"'{name}': there is no such part" for name in listed if name not in parts]
    if not problems and listed != parts:
        problems.append(f"the order of the contents is not that of the parts: {parts}")
    if not parts:
        problems.append("there are no parts")
    print("\n".join("include/wq.h: " + p for p in problems) if problems else
          f"the contents name all {len(parts)} parts, in order")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
