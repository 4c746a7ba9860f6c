"""What the generators of all languages share: the mark of a file, types taken apart, names."""

import re
import textwrap
from dataclasses import dataclass

MARK = "Generated from include/wq.h by bindings/api/generate.py. Do not edit."


@dataclass
class Type:
    """A C type: its base, and for each pointer from the inside out whether its target is const."""
    base: str
    targets: tuple


def parse_type(text):
    """Type of "const wq_header *", "wq_queue *const *" and the like."""
    words = re.findall(r"\w+|\*", text)
    is_const, base, targets = False, None, []
    for word in words:
        if word == "const":
            is_const = True
        elif word == "*":
            targets.append(is_const)
            is_const = False
        else:
            base = word
    return Type(base, tuple(targets))


def camel(name):
    """struct_size -> structSize."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def pascal(name):
    """MAYBE_COMMITTED -> MaybeCommitted."""
    return "".join(word.capitalize() for word in name.lower().split("_"))


def doc_lines(text, prefix, width=96):
    """`text` as comment lines; its own breaks are kept, longer lines are wrapped."""
    lines = []
    for line in text.split("\n"):
        lines += textwrap.wrap(line, width - len(prefix), break_long_words=False) or [""]
    return [(prefix + " " + line).rstrip() for line in lines]


def constant_doc(constant):
    return constant["doc"] or constant["group"]


def function_doc(function):
    """The whole documentation of a function, section by section."""
    parts = [function["doc"], ""]
    for section in ("returns", "durability", "thread", "blocks", "owns", "since", "stability"):
        parts.append(f"{section.capitalize()}: {function[section]}.")
    return "\n".join(parts)
