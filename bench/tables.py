"""The table of a run, as text and as Markdown."""
import dataclasses
import statistics

from bars import PEERS, best_of, median_rate, number, rates, ratios

NAMES = {"wq": "wq", "wq pipelined": "wq, pipelined", "rocksdb": "RocksDB, hand-rolled",
         "sqlite": "SQLite, hand-rolled"}
HEADER = ("workload", "durability", "system", "jobs/s", "spread", "CPU us/job", "disk B/job",
          "vs best peer")
BEGIN = "<!-- measured: begin (bench/run.sh --record writes up to the end mark) -->"
END = "<!-- measured: end -->"


def percent(value, middle):
    return f"{100 * (value / middle - 1):+.0f}"


@dataclasses.dataclass
class Group:
    """Systems that ran against each other in the same rounds."""
    title: str
    durability: str
    batch: int
    results: dict

    def best_peer(self):
        return best_of(self.results, [name for name in PEERS if name in self.results])

    def rows(self):
        peer = self.best_peer()
        for name, records in self.results.items():
            values = rates(records)
            middle = statistics.median(values)
            against = statistics.median(ratios(self.results, name, peer))
            yield (self.title, self.durability, NAMES[name], f"{middle:,.0f}",
                   f"{percent(min(values), middle)}..{percent(max(values), middle)} %",
                   f"{statistics.median(r['cpu_us_per_job'] for r in records):.2f}",
                   f"{statistics.median(r['device_bytes_per_job'] for r in records):,.0f}",
                   f"{number(against)}x" if name not in PEERS else
                   ("best peer" if name == peer else f"{number(against)}x"))

    def as_dict(self):
        return {"title": self.title, "durability": self.durability, "batch": self.batch,
                "best_peer": self.best_peer(),
                "jobs_per_second": {name: median_rate(records)
                                    for name, records in self.results.items()},
                "results": self.results}


def aligned(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) if i < 3 else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        lines.append("  ".join(cells).rstrip())
    return lines


def text(groups):
    lines = aligned([HEADER] + [row for group in groups for row in group.rows()])
    lines.insert(1, "-" * max(map(len, lines)))
    return "\n".join(lines) + "\n"


def micro_text(micro):
    rows = [("micro benchmark", "", "", "time", "CPU")]
    for row in micro:
        unit = row.get("time_unit", "ns")
        rows.append((row["name"], "", "", f"{row.get('real_time', 0):,.1f} {unit}",
                     f"{row.get('cpu_time', 0):,.1f} {unit}"))
    return "\n".join(aligned(rows)) + "\n"


def markdown(groups):
    rows = [HEADER] + [row for group in groups for row in group.rows()]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.insert(1, "|" + "---|" * 3 + "---:|" * (len(HEADER) - 3))
    return "\n".join(lines)


def bars_markdown(verdicts):
    lines = ["| bar | value | bound | | how |", "|---|---:|---:|---|---|"]
    for verdict in verdicts:
        name, value, bound, state = verdict.line().split(" ")
        lines.append(f"| {name} | {value} | {bound} | {state} | {verdict.detail} |")
    return "\n".join(lines)


def record(path, about, groups, verdicts):
    """Puts the tables of this run between the marks of RESULTS.md; the rest of it is for people."""
    import machine
    with open(path) as file:
        before, rest = file.read().split(BEGIN)
        after = rest.split(END)[1]
    parts = [BEGIN, machine.text(about), bars_markdown(verdicts)]
    if groups:
        parts.append(markdown(groups))
    with open(path, "w") as file:
        file.write(before + "\n\n".join(parts) + "\n\n" + END + after)
