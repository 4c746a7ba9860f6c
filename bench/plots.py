"""Bar charts as plain SVG on a ground of their own; colours follow the reader's light or dark
scheme."""
import os
import statistics
from xml.sax.saxutils import escape

from bars import number, rates

STYLE = """
  .ground { fill: #ffffff; } .text { fill: #24292f; } .quiet { fill: #6e7781; }
  .axis { stroke: #d0d7de; stroke-width: 1; } .whisker { stroke: #24292f; stroke-width: 1.2; }
  .wq { fill: #1f6feb; } .wq2 { fill: #0b3d91; }
  .rocksdb { fill: #bf8700; } .sqlite { fill: #8c959f; }
  .good { fill: #2da44e; } .bad { fill: #cf222e; } .mark { stroke: #24292f; stroke-width: 1.6; }
  text { font-family: -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117; } .text { fill: #e6edf3; } .quiet { fill: #8b949e; }
    .axis { stroke: #30363d; } .whisker { stroke: #e6edf3; } .mark { stroke: #e6edf3; }
    .wq { fill: #58a6ff; } .wq2 { fill: #a5d6ff; } .rocksdb { fill: #d29922; }
    .sqlite { fill: #6e7681; } .good { fill: #3fb950; } .bad { fill: #f85149; }
  }
"""
NAMES = {"wq": "wq", "wq pipelined": "wq, pipelined", "rocksdb": "RocksDB", "sqlite": "SQLite"}
CLASSES = {"wq": "wq", "wq pipelined": "wq2", "rocksdb": "rocksdb", "sqlite": "sqlite"}
PROMISES = {"power": "OK survives power loss", "process": "OK survives kill -9",
            "memory": "flushed in the background every 50 ms"}

WIDTH = 760
LEFT = 130    # names of the systems
RIGHT = 150   # values
BAR = 16
STEP = 22


class Canvas:
    def __init__(self):
        self.parts = []
        self.y = 16

    def text(self, x, y, content, kind="text", size=13, anchor="start", weight="normal"):
        self.parts.append(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" font-size="{size}" '
                          f'text-anchor="{anchor}" font-weight="{weight}">{escape(content)}</text>')

    def rect(self, x, y, width, height, kind):
        self.parts.append(f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" '
                          f'width="{max(width, 1):.1f}" height="{height}" rx="2"/>')

    def line(self, x1, y1, x2, y2, kind):
        self.parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" '
                          f'y2="{y2:.1f}"/>')

    def heading(self, title, subtitle):
        self.y += 8
        self.text(16, self.y, title, size=17, weight="600")
        self.y += 20
        self.text(16, self.y, subtitle, "quiet", 12)
        self.y += 14

    def save(self, path):
        height = self.y + 14
        with open(path, "w") as file:
            file.write(f'<svg xmlns="http://www.w3.org/2000/svg" '
                       f'viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
                       f'height="{height:.0f}" role="img">\n<style>{STYLE}</style>\n'
                       f'<rect class="ground" width="{WIDTH}" height="{height:.0f}" rx="6"/>\n')
            file.write("\n".join(self.parts))
            file.write("\n</svg>\n")


def short(value):
    if value >= 1e6:
        return f"{value / 1e6:.2f}M"
    if value >= 1e4:
        return f"{value / 1e3:.0f}k"
    if value >= 1e3:
        return f"{value / 1e3:.1f}k"
    return f"{value:.0f}"


def panel(canvas, group):
    """One workload with a scale of its own: the rates of batch 1 and batch 1000 lie far apart."""
    peer = statistics.median(rates(group.results[group.best_peer()]))
    top = max(max(rates(records)) for records in group.results.values())
    scale = (WIDTH - LEFT - RIGHT) / top
    canvas.y += 20
    canvas.text(16, canvas.y, group.title, size=13, weight="600")
    canvas.y += 8
    begin = canvas.y
    for name, records in group.results.items():
        values = rates(records)
        middle = statistics.median(values)
        canvas.text(LEFT - 8, canvas.y + 12.5, NAMES[name], anchor="end", size=12)
        canvas.rect(LEFT, canvas.y, middle * scale, BAR, CLASSES[name])
        centre = canvas.y + BAR / 2
        canvas.line(LEFT + min(values) * scale, centre, LEFT + max(values) * scale, centre,
                    "whisker")
        label = f"{short(middle)}/s"
        if name.startswith("wq"):
            label += f"  ({number(middle / peer)}x)"
        canvas.text(LEFT + max(values) * scale + 8, canvas.y + 12.5, label, size=12)
        canvas.y += STEP
    canvas.line(LEFT, begin - 2, LEFT, canvas.y - STEP + BAR + 2, "axis")


def write_lives(path, durability, groups):
    canvas = Canvas()
    canvas.heading(f"Job lives per second, level {durability}",
                   f"{PROMISES[durability]}. Enqueue, lease and ack of 256-byte jobs. "
                   "(x): against the best peer. Lines: all rounds.")
    for group in groups:
        panel(canvas, group)
    canvas.save(path)


def write_bars(path, verdicts):
    """Each bar as a share of its bound: beyond the mark is good, whichever way it counts."""
    canvas = Canvas()
    canvas.heading("The bars", "How far each value is beyond its bound (the mark), on a scale that "
                   "ends at three times the bound.")
    left, scale_end = 290, 3.0
    scale = (WIDTH - left - RIGHT) / scale_end
    canvas.y += 8
    begin = canvas.y
    for verdict in verdicts:
        share = verdict.value / verdict.bar if verdict.at_least else (
            verdict.bar / verdict.value if verdict.value > 0 else scale_end)
        canvas.text(left - 8, canvas.y + 12.5, verdict.name.replace("_", " "), anchor="end",
                    size=12)
        canvas.rect(left, canvas.y, min(share, scale_end) * scale, BAR,
                    "good" if verdict.ok else "bad")
        canvas.text(left + scale_end * scale + 8, canvas.y + 12.5,
                    f"{number(verdict.value)}{verdict.unit}  "
                    f"({'>=' if verdict.at_least else '<='} {number(verdict.bar)})", size=12)
        canvas.y += STEP
    canvas.line(left + scale, begin - 4, left + scale, canvas.y - STEP + BAR + 4, "mark")
    canvas.save(path)


def write_all(directory, groups, verdicts):
    os.makedirs(directory, exist_ok=True)
    for durability in PROMISES:
        chosen = [group for group in groups if group.durability == durability]
        if chosen:
            write_lives(os.path.join(directory, f"lives_{durability}.svg"), durability, chosen)
    write_bars(os.path.join(directory, "bars.svg"), verdicts)
