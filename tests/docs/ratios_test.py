"""The table of costs in docs/guides/durability.md is that of bench/RESULTS.md, which is measured
anew now and then on machines that differ (ctest label: tidy): each ratio within a factor of three.
--write puts in what was measured."""

import argparse
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
GUIDE = os.path.join(ROOT, "docs", "guides", "durability.md")
RESULTS = os.path.join(ROOT, "bench", "RESULTS.md")
FACTOR = 3
LEVELS = ("power", "process", "memory")
# First cell of a row of the guide -> workload and system of the results.
ROWS = {
    "1 job per call": ("one caller, batch 1", "wq"),
    "10 jobs per call": ("one caller, batch 10", "wq"),
    "100 jobs per call": ("one caller, batch 100", "wq"),
    "1000 jobs per call": ("one caller, batch 1000", "wq"),
    "1 job per call, pipelined": ("one caller, batch 1", "wq, pipelined"),
    "100 jobs per call, pipelined": ("one caller, batch 100", "wq, pipelined"),
    "64 callers, 1 job per call": ("64 callers, batch 1", "wq"),
}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def measured(text):
    """(workload, level, system) -> jobs per second"""
    found = {}
    for line in text.split("\n"):
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) >= 4 and cells[1] in LEVELS and re.fullmatch(r"[\d,]+", cells[3]):
            found[(cells[0], cells[1], cells[2])] = int(cells[3].replace(",", ""))
    return found


def wanted(rates):
    """Row -> ratios by level, None where nothing was measured; power with one job is 1."""
    one = rates[(ROWS["1 job per call"][0], "power", "wq")]
    return {row: [rates[key] / one if (key := (workload, level, system)) in rates else None
                  for level in LEVELS] for row, (workload, system) in ROWS.items()}


def cell(ratio):
    if ratio is None:
        return ""
    return "1" if abs(ratio - 1) < 0.05 else f"{ratio:.0f} x"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table anew")
    args = parser.parse_args()
    guide, problems = read(GUIDE), []
    for row, ratios in wanted(measured(read(RESULTS))).items():
        line = re.search(rf"^\| {re.escape(row)} \|.*$", guide, re.M)
        if line is None:
            problems.append(f"durability.md: no row '{row}'")
            continue
        told = [c.strip() for c in line.group().strip("|").split("|")][1:]
        for level, ratio, text in zip(LEVELS, ratios, told):
            number = float(text.removesuffix(" x")) if text else None
            if (number is None) != (ratio is None) or \
                    (ratio and not 1 / FACTOR <= number / ratio <= FACTOR):
                problems.append(f"durability.md: '{row}', {level}: '{text}', measured "
                                f"'{cell(ratio)}' (tests/docs/ratios_test.py --write)")
        if args.write:
            new = f"| {row} | " + " | ".join(map(cell, ratios)) + " |"
            guide = guide.replace(line.group(), new.replace("|  ", "| "))
    if args.write:
        with open(GUIDE, "w", encoding="utf-8") as file:
            file.write(guide)
        return 0
    print("\n".join(problems) if problems else "the ratios are those that were measured")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
