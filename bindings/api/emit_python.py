"""Python: cdef.txt, what cffi is told of wq.h, and _constants.py. Structs end with "...": a header
with more fields at their ends compiles, and their sizes are those of the header at hand."""

from emit_common import MARK, constant_doc, doc_lines


def _declaration(kind, name):
    return kind + name if kind.endswith("*") else f"{kind} {name}"


def _parameters(parameters):
    return ", ".join(_declaration(p["type"], p["name"]) for p in parameters) or "void"


def cdef(api):
    lines = [f"// {MARK}"]
    lines += [f"#define {c['name']} ..." for c in api["constants"]]
    lines += [f"typedef struct {h['name']} {h['name']};" for h in api["handles"]]
    lines += [f"typedef struct {s['name']} {s['name']};" for s in api["structs"]]
    lines += [f"typedef {c['result']} (*{c['name']})({_parameters(c['parameters'])});"
              for c in api["callbacks"]]
    for struct in api["structs"]:
        lines.append(f"struct {struct['name']} {{")
        for field in struct["fields"]:
            array = f"[{field['array']}]" if "array" in field else ""
            lines.append(f"  {_declaration(field['type'], field['name'])}{array};")
        lines += (["  ...;"] if struct["sized"] else []) + ["};"]
    lines += [f"{_declaration(f['result'], f['name'])}({_parameters(f['parameters'])});"
              for f in api["functions"]]
    return "\n".join(lines + [""])


def constants(api):
    lines = [f'"""{MARK}', "", "Values of the constants of wq.h under their names without WQ_, and "
             "the table of codes.", '"""', "",
             "from typing import Dict, NamedTuple"]
    for constant in api["constants"]:
        doc = constant_doc(constant)
        lines += ["", *(doc_lines(doc, "#:") if doc else [])]
        lines.append(f"{constant['name'][3:]} = {constant['value']}")
    lines += ["", "", "class CodeInfo(NamedTuple):", '    """One code of wq.h."""', "",
              "    name: str", "    value: int", "    kind: str", "    retryable: bool",
              "    maybe_committed: bool", "    fatal: bool", "    text: str", "", "",
              "#: Every code, by its value.", "CODES: Dict[int, CodeInfo] = {info.value: info for "
              "info in ("]
    for c in api["codes"]:
        lines.append(f"    CodeInfo({c['short']!r}, {c['value']}, {c['class']!r}, "
                     f"{c['retryable']}, {c['maybe_committed']}, {c['fatal']},")
        lines.append(f"             {c['text']!r}),")
    lines += [")}", "", "#: Bytes of each struct in the header that this was made from.",
              "SIZES: Dict[str, int] = {"]
    lines += [f"    {s['name']!r}: {s['size']}," for s in api["structs"]]
    return "\n".join(lines + ["}", ""])
