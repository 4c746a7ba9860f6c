"""The part of a document that a script writes: the lines between <!-- NAME: begin --> and
<!-- NAME: end -->."""

DOCUMENT = "docs/TESTING.md"


def _bounds(lines, name):
    return lines.index(f"<!-- {name}: begin -->") + 1, lines.index(f"<!-- {name}: end -->")


def read(name, path=DOCUMENT):
    with open(path, encoding="ascii") as file:
        lines = file.read().split("\n")
    begin, end = _bounds(lines, name)
    return lines[begin:end]


def write(name, new_lines, path=DOCUMENT):
    with open(path, encoding="ascii") as file:
        lines = file.read().split("\n")
    begin, end = _bounds(lines, name)
    lines[begin:end] = new_lines
    with open(path, "w", encoding="ascii") as file:
        file.write("\n".join(lines))
