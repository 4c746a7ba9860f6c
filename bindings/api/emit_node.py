"""Node: constants.js (values, codes, sizes of structs) and its types, constants.d.ts. Names are
those of wq.h without WQ_."""

import json

from emit_common import MARK, camel, constant_doc, doc_lines


def _code(code):
    return {"name": code["short"], "value": code["value"], "class": code["class"],
            "retryable": code["retryable"], "maybeCommitted": code["maybe_committed"],
            "fatal": code["fatal"], "text": code["text"]}


def constants(api):
    lines = [f"// {MARK}", "'use strict';", "", "/** Values of the constants of wq.h. */",
             "const constants = Object.freeze({"]
    lines += [f"  {c['name'][3:]}: {c['value']}," for c in api["constants"]]
    lines += ["});", "", "/** Every code, by its value. */", "const codes = new Map(["]
    lines += [f"  [{code['value']}, Object.freeze({json.dumps(_code(code))})],"
              for code in api["codes"]]
    lines += ["]);", "", "/** Bytes of each struct, and of its fields the offsets. */",
              "const structs = Object.freeze({"]
    for struct in api["structs"]:
        offsets = ", ".join(f"{camel(f['name'])}: {f['offset']}" for f in struct["fields"])
        lines.append(f"  {struct['name']}: {{ size: {struct['size']}, offsets: {{ {offsets} }} }},")
    return "\n".join(lines + ["});", "", "module.exports = { constants, codes, structs };", ""])


def types(api):
    lines = [f"// {MARK}", "", "/** Values of the constants of wq.h. */",
             "export declare const constants: Readonly<{"]
    for constant in api["constants"]:
        doc = constant_doc(constant)
        if doc:
            lines += ["  /**", *doc_lines(doc.replace("*/", "* /"), "   *"), "   */"]
        lines.append(f"  {constant['name'][3:]}: {constant['value']};")
    kinds = " | ".join(f"'{kind}'" for kind in dict.fromkeys(c["class"] for c in api["codes"]))
    names = " | ".join(f"'{code['short']}'" for code in api["codes"])
    lines += ["}>;", "", "/** Name of a code of wq.h. */", f"export type CodeName = {names};", "",
              "/** What a code is about. */", f"export type CodeClass = {kinds};", "",
              "/** One code of wq.h. */", "export interface CodeInfo {",
              "  readonly name: CodeName;", "  readonly value: number;",
              "  readonly class: CodeClass;", "  readonly retryable: boolean;",
              "  readonly maybeCommitted: boolean;", "  readonly fatal: boolean;",
              "  readonly text: string;", "}", "", "/** Every code, by its value. */",
              "export declare const codes: ReadonlyMap<number, CodeInfo>;", "",
              "/** Bytes of each struct, and of its fields the offsets. */",
              "export declare const structs: Readonly<Record<string, "
              "{ size: number; offsets: Record<string, number> }>>;", ""]
    return "\n".join(lines)
