"""Checks the repository's own rules: python3 tests/tidy/tidy.py --root . (ctest label: tidy).
The rules are in rules.py. Exceptions are lines "path rule reason" in allow.txt; one that is no
longer needed is a problem too."""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import rules  # noqa: E402  (the path above comes first)

ALLOW_FILE = "tests/tidy/allow.txt"


def read_allowed(tree):
    """(path, rule) -> line number, and problems of the file itself."""
    allowed, problems = {}, []
    for number, line in enumerate(tree.files.get(ALLOW_FILE, "").split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = line.split(None, 2)
        if len(words) < 3:
            problems.append(rules.Problem(ALLOW_FILE, number, "allow", "want: path rule reason"))
        else:
            allowed[(words[0], words[1])] = number
    return allowed, problems


def check(root):
    """Every problem of the tree below `root`, in order."""
    tree = rules.Tree(root).load()
    allowed, problems = read_allowed(tree)
    used = set()
    for rule in rules.RULES:
        for problem in rule(tree):
            key = (problem.path, problem.rule)
            if key in allowed:
                used.add(key)
            else:
                problems.append(problem)
    for key, number in allowed.items():
        if key not in used:
            problems.append(rules.Problem(ALLOW_FILE, number, "allow",
                                          f"{' '.join(key)}: no longer needed"))
    return sorted(problems, key=lambda p: (p.path, p.line, p.rule))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True, help="top of the source tree")
    problems = check(parser.parse_args().root)
    for problem in problems:
        print(problem)
    print(f"tidy: {len(problems)} problems" if problems else "tidy: clean")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
