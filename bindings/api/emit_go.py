"""Go: constants.go. cgo reads the header by itself, so only values and tables are needed: constants
as untyped rawX, the table of codes, and the layout of the structs for a test."""

from emit_common import MARK, constant_doc, doc_lines, pascal


def _bool(value):
    return "true" if value else "false"


def constants(api):
    lines = [f"// Code {MARK[0].lower()}{MARK[1:].replace('Do not edit.', 'DO NOT EDIT.')}", "",
             "package wq", "",
             "// Values of the constants of wq.h, under their names without WQ_."]
    for constant in api["constants"]:
        lines.append("")
        lines += doc_lines(constant_doc(constant) or constant["name"] + ".", "//")
        lines.append(f"const raw{pascal(constant['name'][3:])} = {constant['value']}")
    lines += ["", "// rawCode is one line of the table of codes.", "type rawCode struct {",
              "\tname           string", "\tvalue          int32", "\tclass          string",
              "\tretryable      bool", "\tmaybeCommitted bool", "\tfatal          bool",
              "\ttext           string", "}", "",
              "// rawCodes are all codes that wq.h knows.", "var rawCodes = [...]rawCode{"]
    for code in api["codes"]:
        lines.append(f'\t{{"{code["short"]}", {code["value"]}, "{code["class"]}", '
                     f'{_bool(code["retryable"])}, {_bool(code["maybe_committed"])}, '
                     f'{_bool(code["fatal"])}, "{code["text"]}"}},')
    lines += ["}", "", "// rawField is where a field lies in its struct, in bytes.",
              "type rawField struct {", "\tname   string", "\toffset uintptr",
              "\tsize   uintptr", "}", "", "// rawStruct is the layout of a struct of wq.h.",
              "type rawStruct struct {", "\tname   string", "\tsize   uintptr",
              "\tfields []rawField", "}", "",
              "// rawStructs are the layouts that the library was made with.",
              "var rawStructs = [...]rawStruct{"]
    for struct in api["structs"]:
        lines.append(f'\t{{"{struct["name"]}", {struct["size"]}, []rawField{{')
        for field in struct["fields"]:
            lines.append(f'\t\t{{"{field["name"]}", {field["offset"]}, {field["size"]}}},')
        lines.append("\t}},")
    return "\n".join(lines + ["}", ""])
