"""Rust: raw.rs of the crate wq-sys: constants, tables, handles, structs, callbacks and functions as
wq.h has them, for rustc 1.63 and later."""

from emit_common import MARK, constant_doc, doc_lines, function_doc, parse_type

_TYPES = {"int32_t": "i32", "uint32_t": "u32", "int64_t": "i64", "uint64_t": "u64",
          "size_t": "usize", "double": "f64", "char": "c_char", "void": "c_void"}
_KEYWORDS = {"where", "type", "match", "ref", "move", "in", "loop", "use"}
_ZERO = {"c_char": "0", "f64": "0.0"}


def _name(name):
    return f"r#{name}" if name in _KEYWORDS else name


def _type(text, callbacks):
    kind = parse_type(text)
    rust = _TYPES.get(kind.base, kind.base)
    if kind.base in callbacks and not kind.targets:
        return rust
    for is_const in kind.targets:
        rust = ("*const " if is_const else "*mut ") + rust
    return rust


def _field_type(field, callbacks):
    rust = _type(field["type"], callbacks)
    return f"[{rust}; {field['array']}]" if "array" in field else rust


def _zero(field, structs, callbacks):
    rust = _type(field["type"], callbacks)
    if rust.startswith("*const"):
        value = "core::ptr::null()"
    elif rust.startswith("*mut"):
        value = "core::ptr::null_mut()"
    elif rust in callbacks:
        value = "None"
    elif rust in structs:
        value = f"{rust}::init()"
    else:
        value = _ZERO.get(rust, "0")
    return f"[{value}; {field['array']}]" if "array" in field else value


def _constants(api):
    lines, codes = [], {code["name"] for code in api["codes"]}
    for constant in api["constants"]:
        kind = "i32" if constant["name"] in codes else "u32"
        lines += ["", *doc_lines(constant_doc(constant) or f"`{constant['name']}`.", "///")]
        lines.append(f"pub const {constant['name']}: {kind} = {constant['value']};")
    lines += ["", "/// Every code: its name and its value.",
              "pub const CODES: &[(&str, i32)] = &["]
    lines += [f'    ("{code["short"]}", {code["name"]}),' for code in api["codes"]]
    return lines + ["];"]


def _struct(struct, structs, callbacks):
    name = struct["name"]
    lines = ["", *doc_lines(struct["doc"] or f"`{name}`.", "///"), "#[repr(C)]",
             "#[derive(Clone, Copy)]", f"pub struct {name} {{"]
    for field in struct["fields"]:
        if field["doc"]:
            lines += doc_lines(field["doc"], "    ///")
        lines.append(f"    pub {_name(field['name'])}: {_field_type(field, callbacks)},")
    lines += ["}", "", f"impl {name} {{",
              "    /// All defaults" + (", and `struct_size` set." if struct["sized"] else "."),
              "    pub const fn init() -> Self {", f"        {name} {{"]
    for field in struct["fields"]:
        value = _zero(field, structs, callbacks)
        if field["name"] == "struct_size":
            value = f"core::mem::size_of::<{name}>() as u32"
        lines.append(f"            {_name(field['name'])}: {value},")
    return lines + ["        }", "    }", "}"]


def _layout(api):
    lines = ["", "/// The layout in C: struct, size, and (field, offset, size) of its fields.",
             "pub const LAYOUT: &[(&str, usize, &[(&str, usize, usize)])] = &["]
    for struct in api["structs"]:
        lines += ["    (", f'        "{struct["name"]}",', f"        {struct['size']},",
                  "        &["]
        lines += [f'            ("{f["name"]}", {f["offset"]}, {f["size"]}),'
                  for f in struct["fields"]]
        lines += ["        ],", "    ),"]
    lines += ["];", "", "/// The layout as rustc has it, in the form of `LAYOUT`.",
              "#[cfg(test)]", "#[allow(clippy::type_complexity)]",
              "pub(crate) fn layout() -> Vec<(&'static str, usize, Vec<(&'static str, usize, "
              "usize)>)> {", "    let mut all = Vec::new();"]
    for struct in api["structs"]:
        lines += ["    {", f"        let s = {struct['name']}::init();",
                  "        let base = core::ptr::addr_of!(s) as usize;",
                  "        all.push((", f'            "{struct["name"]}",',
                  "            core::mem::size_of_val(&s),", "            vec!["]
        for field in struct["fields"]:
            place = f"s.{_name(field['name'])}"
            lines.append(f'                ("{field["name"]}", core::ptr::addr_of!({place}) as '
                         f"usize - base, core::mem::size_of_val(&{place})),")
        lines += ["            ],", "        ));", "    }"]
    return lines + ["    all", "}"]


def _parameters(function, callbacks, indent):
    return [f"{indent}{_name(p['name'])}: {_type(p['type'], callbacks)},"
            for p in function["parameters"]]


def _functions(api, callbacks):
    lines = ["", 'extern "C" {']
    for function in api["functions"]:
        result = _type(function["result"], callbacks)
        lines += ["", *doc_lines(function_doc(function), "    ///"),
                  f"    pub fn {function['name']}("]
        lines += _parameters(function, callbacks, "        ")
        lines.append("    );" if result == "c_void" else f"    ) -> {result};")
    return lines + ["}"]


def raw(api):
    callbacks = {c["name"] for c in api["callbacks"]}
    structs = {s["name"] for s in api["structs"]}
    lines = [f"// {MARK}", "//! The declarations of `wq.h`, as they are.", "",
             "#![allow(non_camel_case_types, rustdoc::all, clippy::all)]", "",
             "use std::os::raw::{c_char, c_void};"]
    lines += _constants(api)
    for handle in api["handles"]:
        lines += ["", *doc_lines(f"{handle['doc'] or handle['name']}; ends by "
                                 f"`{handle['end']}`.", "///"),
                  "#[repr(C)]", f"pub struct {handle['name']} {{", "    _private: [u8; 0],", "}"]
    for callback in api["callbacks"]:
        arguments = ", ".join(f"{_name(p['name'])}: {_type(p['type'], callbacks)}"
                              for p in callback["parameters"])
        lines += ["", *doc_lines(callback["doc"], "///"),
                  f"pub type {callback['name']} = Option<unsafe extern \"C\" fn({arguments}) -> "
                  f"{_type(callback['result'], callbacks)}>;"]
    for struct in api["structs"]:
        lines += _struct(struct, structs, callbacks)
    lines += _layout(api) + _functions(api, callbacks)
    return "\n".join(lines + [""])
