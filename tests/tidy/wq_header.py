"""Reads include/wq.h: functions with their documentation, constants, public structs, the example.
The repo rules and the ABI tests share it, so that both see the same header."""

import re
from dataclasses import dataclass, field

from cpp_scan import code_only, line_of, without_directives

DOC_SECTIONS = ("Returns:", "Durability:", "Thread:", "Blocks:", "Owns:", "Since:", "Stability:")
EXAMPLE_BEGIN = "---8<--- example.c"
EXAMPLE_END = "---8<--- end"

_DECLARATION = re.compile(r"\bWQ_API\b([^;{}]*?)\b(wq_\w+)\s*\(", re.DOTALL)
_STRUCT = re.compile(r"\btypedef\s+struct\s+(wq_\w+)\s*\{(.*?)\}\s*(wq_\w+)\s*;", re.DOTALL)
_CONSTANT = re.compile(r"^#define[ \t]+(WQ_\w+)[ \t]+\(?(-?\d+)[uUlL]*\)?[ \t]*(?:/\*.*)?$",
                       re.MULTILINE)
_FIELD_NAME = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$")


@dataclass
class ApiFunction:
    name: str
    line: int
    doc: str


@dataclass
class Struct:
    name: str
    fields: list = field(default_factory=list)


def functions(text):
    """Every WQ_API declaration with the comment that ends right above it ("" = none)."""
    code = without_directives(code_only(text))
    found = []
    for match in _DECLARATION.finditer(code):
        above = text[:match.start()].rstrip()
        doc = above[above.rfind("/*"):] if above.endswith("*/") else ""
        found.append(ApiFunction(match.group(2), line_of(text, match.start()), doc))
    return found


def doc_problem(doc):
    """What is wrong with one documentation block, or None."""
    if not doc:
        return "has no documentation block right above it"
    body = doc.removeprefix("/*").removesuffix("*/")
    summary = body.lstrip(" *\n")
    if not re.match(r"[A-Za-z`]", summary) or summary.startswith(DOC_SECTIONS):
        return "has no summary at the start of its block"
    position = 0
    for section in DOC_SECTIONS:
        at = body.find(section, position)
        if at < 0:
            where = "out of order" if section in body else "missing"
            return f"'{section}' is {where} (order: summary, {' '.join(DOC_SECTIONS)})"
        following = [body.find(other, at) for other in DOC_SECTIONS if body.find(other, at) > at]
        content = body[at + len(section):min(following, default=len(body))]
        if not re.search(r"\w", content):
            return f"'{section}' says nothing"
        position = at + len(section)
    return None


def constants(text):
    """Name -> value of every macro that is a plain integer."""
    return {name: int(value) for name, value in _CONSTANT.findall(text)}


def structs(text):
    """Public structs and their fields, in order. Opaque handles have no body and do not appear."""
    code = code_only(text)
    found = []
    for match in _STRUCT.finditer(code):
        struct = Struct(match.group(3))
        for statement in match.group(2).split(";"):
            for declarator in statement.split(","):
                name = _FIELD_NAME.search(declarator.strip())
                if name:
                    struct.fields.append(name.group(1))
        found.append(struct)
    return found


def example(text):
    """The program between the two marks of the header's first comment, or None."""
    lines = text[:text.index("*/")].split("\n")
    begin = [i for i, line in enumerate(lines) if EXAMPLE_BEGIN in line]
    end = [i for i, line in enumerate(lines) if EXAMPLE_END in line]
    if len(begin) != 1 or len(end) != 1 or end[0] <= begin[0]:
        return None
    program = [re.sub(r"^ ?\*(?: |$)", "", line) for line in lines[begin[0] + 1:end[0]]]
    # The example stands in a comment, so its own comments can only be of the // kind.
    return "\n".join(program) + "\n"


def map_symbols(text):
    """Names that a linker version script exports, in order."""
    code = re.sub(r"/\*.*?\*/|#[^\n]*", " ", text, flags=re.DOTALL)
    names = []
    for node in re.findall(r"\{(.*?)\}", code, flags=re.DOTALL):
        scope = "global"
        for item in re.split(r"(?<=[;:])", node):
            item = item.strip()
            if item in ("global:", "local:"):
                scope = item[:-1]
            elif item.endswith(";") and scope == "global":
                names.append(item[:-1].strip())
    return names
