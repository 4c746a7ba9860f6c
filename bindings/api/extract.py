"""Reads include/wq.h into api.json: functions, constants, codes, structs with their layout,
handles, callbacks and macros, each with its documentation. All raw layers of the bindings are made
from that file (generate.py), so none of them is typed by hand.

    python3 bindings/api/extract.py            write bindings/api/api.json
    python3 bindings/api/extract.py --check    fail if the file is not what would be written

The header is read by the helpers that the repo rules and the ABI tests use, and sizes and offsets
are those that tests/abi keeps in layout.txt and compares with a C compiler. What this file cannot
read is an error that names the line, never left out."""

import argparse
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "tidy"))

import wq_header  # noqa: E402  (the path above comes first)
from cpp_scan import line_of  # noqa: E402

HEADER = os.path.join("include", "wq.h")
LAYOUT = os.path.join("tests", "abi", "layout.txt")
CODES = os.path.join("src", "base", "errors.def")
OUTPUT = os.path.join("bindings", "api", "api.json")
PREDICATES = (("retryable", "wq_error_is_retryable"),
              ("maybe_committed", "wq_error_maybe_committed"), ("fatal", "wq_error_is_fatal"))

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_DEFINE = re.compile(r"^#define[ \t]+(\w+)(\([^)]*\))?[ \t]*", re.MULTILINE)
_NUMBER = r"(?:0x[0-9A-Fa-f]+|\d+)"
_PLAIN = re.compile(rf"\(?(-?{_NUMBER})(u?)\)?")
_SHIFT = re.compile(rf"\(({_NUMBER})(u?) << ({_NUMBER})\)")
_STRUCT = re.compile(r"\btypedef\s+struct\s+(wq_\w+)\s*\{(.*?)\}\s*\1\s*;", re.DOTALL)
_HANDLE = re.compile(r"^typedef struct (wq_\w+) \1;", re.MULTILINE)
_CALLBACK = re.compile(r"\btypedef\s+(\w+)\s*\(\*(wq_\w+)\)\((.*?)\)\s*;", re.DOTALL)
_FUNCTION = re.compile(r"^WQ_API\s+([^;{}()]*?)\b(wq_\w+)\s*\((.*?)\)\s*;",
                       re.DOTALL | re.MULTILINE)
_DECLARATOR = re.compile(r"(.*?)(\w+)\s*(?:\[(\w+)\])?$", re.DOTALL)


class Unreadable(Exception):
    """The header has something that this file does not know how to read."""


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8") as file:
        return file.read()


# ---- texts --------------------------------------------------------------------------------------

def comment_text(comment):
    """A comment without its marks; the breaks between its lines stay."""
    body = comment.strip().removeprefix("/*").removesuffix("*/")
    lines = [re.sub(r"^ ?\*(?: |$)", "", line.strip("\n")) for line in body.split("\n")]
    return "\n".join(line.rstrip() for line in lines).strip().removesuffix("\n*").rstrip()


def one_line(text):
    return " ".join(text.split())


def comment_above(text, position):
    """The comment that ends right above `position`, "" if there is none."""
    above = text[:position].rstrip(" \t")
    if not above.endswith("*/\n"):
        return ""
    start = above.rfind("/*")
    return comment_text(above[start:]) if above[above.rfind("\n", 0, start) + 1:start] == "" else ""


def documentation(doc):
    """The documentation block of a function as its text and its sections by name."""
    text = comment_text(doc)
    ends = re.compile("|".join(re.escape(s) for s in wq_header.DOC_SECTIONS))
    marks = list(ends.finditer(text))
    sections = {}
    for i, mark in enumerate(marks):
        end = marks[i + 1].start() if i + 1 < len(marks) else len(text)
        sections[mark.group().rstrip(":").lower()] = one_line(text[mark.end():end]).rstrip(".")
    return {"doc": text[:marks[0].start()].rstrip() if marks else text, **sections}


# ---- constants ----------------------------------------------------------------------------------

def value_of(name, text, known):
    """(C type, value) of the text of a macro, or None if it is no number."""
    plain, shift = _PLAIN.fullmatch(text), _SHIFT.fullmatch(text)
    if plain:
        return ("uint32_t" if plain.group(2) else "int32_t"), int(plain.group(1), 0)
    if shift:
        return "uint32_t", int(shift.group(1), 0) << int(shift.group(3), 0)
    if name == "WQ_ABI_VERSION":
        return "uint32_t", known["WQ_VERSION_MAJOR"] << 16 | known["WQ_VERSION_MINOR"]
    return None


def macros(text):
    """(constants, INIT macros by struct, function-like macros) in the order of the header."""
    found, inits, calls, known = [], {}, [], {}
    group, previous_end = "", 0
    for match in _DEFINE.finditer(text):
        name, arguments = match.group(1), match.group(2)
        if name in ("WQ_H_", "WQ_API"):
            continue
        end = match.end()
        while text[text.index("\n", end) - 1] == "\\":
            end = text.index("\n", end) + 1
        end = text.index("\n", end)
        body = text[match.end():end]
        if arguments:
            calls.append({"name": name, "parameters": arguments.strip("()").split(", "),
                          "body": one_line(body.replace("\\\n", " "))})
            continue
        if body.lstrip(" \\\n").startswith("{"):
            inits[name] = one_line(body.replace("\\\n", " "))
            continue
        comment = _COMMENT.search(text, match.end(), len(text)) if "/*" in body else None
        value = value_of(name, body.split("/*")[0].strip(), known)
        if value is None:
            raise Unreadable(f"line {line_of(text, match.start())}: {name} is no number: {body}")
        above = comment_above(text, match.start())
        # A comment behind a blank line speaks of all that follow it, one in between of the next.
        between = text[previous_end:match.start()]
        doc = comment_text(comment.group()) if comment else ""
        if "\n\n" in between:
            group = above
        elif above:
            doc = above
        known[name] = value[1]
        found.append({"name": name, "type": value[0], "value": value[1],
                      "group": one_line(group), "doc": one_line(doc)})
        previous_end = comment.end() if comment else end
    return found, inits, calls


def codes(root, constants, functions):
    """Every code with its class, text and predicates, as the header's manual tells them."""
    values = {c["name"]: c for c in constants}
    docs = {f["name"]: f["doc"] for f in functions}
    true_for = {key: set(re.findall(r"[A-Z_]{2,}",
                                    re.search(r"True for ([^.:]*)", docs[name]).group(1)))
                for key, name in PREDICATES}
    table = re.findall(r'^X\((\w+), (-?\d+), (\w+), "(.*)"\)$', read(root, CODES), re.MULTILINE)
    found = []
    for name, value, kind, text in table:
        short = name.upper()
        macro = ("WQ_E_" if int(value) < 0 else "WQ_") + short
        if macro not in values or values[macro]["value"] != int(value):
            raise Unreadable(f"{CODES}: {macro} is not {value} in {HEADER}")
        found.append({"name": macro, "short": short, "value": int(value), "class": kind,
                      "text": text, "doc": values[macro]["doc"],
                      **{key: short in true_for[key] for key, _ in PREDICATES}})
    known = {code["short"] for code in found}
    for key, names in true_for.items():
        if names - known or not names:
            raise Unreadable(f"{key}: {sorted(names - known)} are no codes")
    return found


# ---- declarations -------------------------------------------------------------------------------

def declarator(text, where):
    """(type, name, array length or None) of one declaration."""
    match = _DECLARATOR.match(one_line(text))
    if not match or not match.group(1).strip():
        raise Unreadable(f"{where}: cannot read '{one_line(text)}'")
    kind = match.group(1).strip().replace("struct ", "")
    return kind, match.group(2), match.group(3)


def parameters(text, where):
    if one_line(text) == "void":
        return []
    return [{"name": name, "type": kind}
            for kind, name, _ in (declarator(part, where) for part in text.split(","))]


def fields_of(name, body, numbers):
    """The fields of a struct with their documentation: behind it, or on lines of its own above."""
    found, pending, statement_end, behind = [], "", None, 0
    for match in re.finditer(r"/\*.*?\*/|[^;/]+;", body, re.DOTALL):
        token = match.group()
        if token.startswith("/*"):
            same_line = statement_end is not None and "\n" not in body[statement_end:match.start()]
            if same_line:
                for field in found[-behind:]:
                    field["doc"] = one_line(comment_text(token))
            else:
                pending = one_line(comment_text(token))
            continue
        first, *others = token.rstrip(";").split(",")
        kind, field_name, length = declarator(first, name)
        names = [(field_name, length)] + [(other.strip(), None) for other in others]
        behind = len(names)
        for field_name, length in names:
            field = {"name": field_name, "type": kind, "doc": pending}
            if length:
                field["array"] = numbers.get(length) or int(length)
            found.append(field)
        pending, statement_end = "", match.end()
    return found


def layout(root):
    """Sizes of the structs, and offset and size of their fields, as tests/abi keeps them."""
    sizes, places = {}, {}
    for line in read(root, LAYOUT).splitlines():
        name, *words = line.split()
        if words[0] == "size":
            sizes[name] = int(words[1])
        else:
            places[name] = (int(words[1]), int(words[3]))
    return sizes, places


def structs(root, text, numbers, inits):
    sizes, places = layout(root)
    want = {s.name: s.fields for s in wq_header.structs(text)}
    found = []
    for match in _STRUCT.finditer(text):
        name = match.group(1)
        fields = fields_of(name, match.group(2), numbers)
        if want.get(name) != [f["name"] for f in fields]:
            raise Unreadable(f"{name}: fields differ from those that tests/abi sees")
        for field in fields:
            place = places.get(f"{name}.{field['name']}")
            if place is None:
                raise Unreadable(f"{name}.{field['name']} is not in {LAYOUT}: record it first "
                                 "(python3 tests/abi/abi.py layout --write)")
            field["offset"], field["size"] = place
        init = name.upper() + "_INIT"
        found.append({"name": name, "size": sizes[name], "doc": comment_above(text, match.start()),
                      "sized": fields[0]["name"] == "struct_size",
                      "init": init if init in inits else None, "fields": fields})
    missing = set(want) - {s["name"] for s in found}
    if missing:
        raise Unreadable(f"structs {sorted(missing)} were not read")
    return found


def functions(text):
    docs = {f.name: f.doc for f in wq_header.functions(text)}
    found = []
    for match in _FUNCTION.finditer(text):
        result, name, arguments = match.groups()
        found.append({"name": name, "result": one_line(result),
                      "parameters": parameters(arguments, name), **documentation(docs[name])})
    missing = set(docs) - {f["name"] for f in found}
    if missing:
        raise Unreadable(f"functions {sorted(missing)} were not read")
    return found


def handles(text, api_functions):
    """Opaque types, each with the one function that ends it."""
    ends = {f["parameters"][0]["type"].removesuffix(" **"): f["name"] for f in api_functions
            if f["result"] == "void" and len(f["parameters"]) == 1
            and f["parameters"][0]["type"].endswith(" **")}
    found = []
    for match in _HANDLE.finditer(text):
        name = match.group(1)
        comment = re.match(r"[ \t]*(/\*.*?\*/)", text[match.end():], re.DOTALL)
        if name not in ends:
            raise Unreadable(f"{name}: no function ends it")
        found.append({"name": name, "end": ends[name],
                      "doc": one_line(comment_text(comment.group(1))) if comment else ""})
    return found


def callbacks(text):
    return [{"name": m.group(2), "result": m.group(1),
             "parameters": parameters(m.group(3), m.group(2)),
             "doc": comment_above(text, m.start())} for m in _CALLBACK.finditer(text)]


def extract(root):
    """The whole interface as one value; the same header gives the same value."""
    text = read(root, HEADER)
    text = text[text.index("#ifndef WQ_H_"):]
    constants, inits, calls = macros(text)
    numbers = {c["name"]: c["value"] for c in constants}
    api_functions = functions(text)
    return {
        "generated": "by bindings/api/extract.py from include/wq.h; do not edit",
        "version": {part: numbers[f"WQ_VERSION_{part.upper()}"]
                    for part in ("major", "minor", "patch")},
        "abi_version": numbers["WQ_ABI_VERSION"],
        "constants": constants,
        "codes": codes(root, constants, api_functions),
        "handles": handles(text, api_functions),
        "callbacks": callbacks(text),
        "structs": structs(root, text, numbers, inits),
        "functions": api_functions,
        "macros": calls,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=ROOT, help="top of the source tree")
    parser.add_argument("--check", action="store_true", help="compare instead of write")
    args = parser.parse_args()
    try:
        wanted = json.dumps(extract(args.root), indent=1) + "\n"
    except Unreadable as problem:
        print(f"extract: {problem}", file=sys.stderr)
        return 1
    path = os.path.join(args.root, OUTPUT)
    if args.check:
        if not os.path.exists(path) or read(args.root, OUTPUT) != wanted:
            print(f"extract: {OUTPUT} is not what {HEADER} says; run bindings/api/extract.py",
                  file=sys.stderr)
            return 1
        return 0
    with open(path, "w", encoding="utf-8") as file:
        file.write(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main())
