"""Tests of the C ABI as a consumer meets it (ctest label: abi).
  header   wq.h compiles alone, as every C and C++ that we promise, without padding in its structs
  example  its program compiles as C99, runs against the library and prints what it should
  symbols  libwq.so exports what the version script lists and symbols.txt records, and nothing else
  layout   sizes and offsets of the public structs are those of layout.txt
`symbols` and `layout` take --write, which records today's state: a change of an existing line
breaks programs that are already compiled (docs/ABI.md)."""

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "tidy"))

import wq_header  # noqa: E402

HEADER = os.path.join(ROOT, "include", "wq.h")
MAP = os.path.join(ROOT, "src", "capi", "libwq.map")
STRICT = ["-Wall", "-Wextra", "-pedantic", "-Werror"]
C_STANDARDS = ("c99", "c11", "c17")
CXX_STANDARDS = ("c++11", "c++17", "c++20")
# Passed by value or in arrays whose element can never grow; all others start with struct_size.
UNSIZED_STRUCTS = ("wq_bytes", "wq_header", "wq_key", "wq_token")


class Failed(Exception):
    pass


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def run(command, **options):
    result = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if result.returncode != 0:
        raise Failed(f"{shlex.join(command)}: exit code {result.returncode}\n"
                     f"{result.stdout}{result.stderr}")
    return result.stdout


def has_compiler(name):
    try:
        subprocess.run([name, "--version"], capture_output=True, check=True)
        return True
    except (OSError, subprocess.CalledProcessError):
        print(f"skipped: {name} is not installed")
        return False


def test_header(_args):
    compiled = 0
    with tempfile.TemporaryDirectory() as directory:
        for suffix, standards, compilers in (("c", C_STANDARDS, ("gcc", "clang")),
                                             ("cc", CXX_STANDARDS, ("g++", "clang++"))):
            source = os.path.join(directory, f"alone.{suffix}")
            with open(source, "w", encoding="utf-8") as file:
                file.write('#include "wq.h"\n#include "wq.h"\nint main(void) { return WQ_OK; }\n')
            for compiler in filter(has_compiler, compilers):
                for standard in standards:
                    run([compiler, f"-std={standard}", *STRICT, "-Wpadded", "-fsyntax-only",
                         "-I", os.path.dirname(HEADER), source])
                    compiled += 1
    if compiled == 0:
        raise Failed("no compiler found")
    print(f"wq.h compiles alone in {compiled} ways")


def test_example(args):
    program_text = wq_header.example(read(HEADER))
    if program_text is None:
        raise Failed("wq.h has no example between its marks")
    library_directory = os.path.dirname(os.path.abspath(args.library))
    with tempfile.TemporaryDirectory() as directory:
        source, program = os.path.join(directory, "example.c"), os.path.join(directory, "example")
        with open(source, "w", encoding="utf-8") as file:
            file.write(program_text)
        run([args.cc, "-std=c99", *STRICT, *shlex.split(args.flags), "-I", os.path.dirname(HEADER),
             source, "-o", program, "-L", library_directory, "-lwq",
             f"-Wl,-rpath,{library_directory}"])
        # Twice: the second run opens the store that the first one left, empty again.
        for _ in range(2):
            output = run([program, os.path.join(directory, "store")])
            if output != "hello\n":
                raise Failed(f"the example printed {output!r}")
        if subprocess.run([program], capture_output=True, check=False).returncode == 0:
            raise Failed("the example succeeds without a store directory")


def exported_symbols(library):
    """Lines "name version" of every defined dynamic symbol; the nodes themselves are left out."""
    output = run(["nm", "-D", "--defined-only", "--with-symbol-versions", library])
    lines = []
    for line in output.splitlines():
        kind, name = line.split()[-2:]
        if kind != "A":
            lines.append(re.sub(r"@+", " ", name))
    return sorted(lines)


def mapped_symbols():
    nodes = re.findall(r"^(WQ_\w+(?:\.\d+)*)\s*(\{.*?\})", read(MAP), re.DOTALL | re.MULTILINE)
    return sorted(f"{name} {node}" for node, body in nodes for name in wq_header.map_symbols(body))


def compare(what, found, expected):
    missing = sorted(set(expected) - set(found))
    extra = sorted(set(found) - set(expected))
    if missing or extra:
        raise Failed(f"{what}\n" + "".join(f"  missing: {m}\n" for m in missing)
                     + "".join(f"  extra:   {e}\n" for e in extra))


def record_or_compare(args, name, lines):
    path = os.path.join(HERE, name)
    if args.write:
        with open(path, "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in lines))
        print(f"wrote {len(lines)} lines")
    else:
        compare(f"{name} differs (docs/ABI.md says what may change)", lines,
                read(path).splitlines())
        print(f"{len(lines)} lines as recorded")


def test_symbols(args):
    exported = exported_symbols(args.library)
    compare("libwq.so and src/capi/libwq.map differ", exported, mapped_symbols())
    foreign = [line for line in exported if not line.startswith("wq_")]
    if foreign:
        raise Failed(f"symbols that are not ours are visible: {foreign}")
    version = {part: wq_header.constants(read(HEADER))[f"WQ_VERSION_{part}"]
               for part in ("MAJOR", "MINOR")}
    want = f"libwq.so.{version['MAJOR']}" if version["MAJOR"] else f"libwq.so.0.{version['MINOR']}"
    soname = re.search(r"SONAME.*\[(.*)\]", run(["readelf", "-d", args.library]))
    if not soname or soname.group(1) != want:
        raise Failed(f"soname is {soname and soname.group(1)}, want {want}")
    record_or_compare(args, "symbols.txt", exported)


def layout_program(structs):
    """A C program that prints size and offsets of every public struct."""
    lines = ["#include <stddef.h>", "#include <stdio.h>", "#include <wq.h>", "int main(void) {"]
    for struct in structs:
        lines.append(f'  printf("{struct.name} size %zu\\n", sizeof({struct.name}));')
        for field in struct.fields:
            lines.append(f'  printf("{struct.name}.{field} offset %zu size %zu\\n",')
            lines.append(f"         offsetof({struct.name}, {field}),")
            lines.append(f"         sizeof((({struct.name} *)0)->{field}));")
    return "\n".join(lines + ["  return 0;", "}"]) + "\n"


def test_layout(args):
    structs = wq_header.structs(read(HEADER))
    if not structs:
        raise Failed("found no public struct in wq.h")
    for struct in structs:
        sized = struct.fields[0] == "struct_size"
        if sized == (struct.name in UNSIZED_STRUCTS):
            raise Failed(f"{struct.name}: all but {UNSIZED_STRUCTS} start with struct_size")
    with tempfile.TemporaryDirectory() as directory:
        source, program = os.path.join(directory, "layout.c"), os.path.join(directory, "layout")
        with open(source, "w", encoding="utf-8") as file:
            file.write(layout_program(structs))
        run([args.cc, "-std=c99", *STRICT, "-I", os.path.dirname(HEADER), source, "-o", program])
        record_or_compare(args, "layout.txt", run([program]).splitlines())


def main():
    tests = {"header": test_header, "example": test_example, "symbols": test_symbols,
             "layout": test_layout}
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("test", choices=tests)
    parser.add_argument("--cc", default="cc", help="C compiler for programs that are run")
    parser.add_argument("--flags", default="", help="more flags to compile the example with")
    parser.add_argument("--library", help="path of libwq.so")
    parser.add_argument("--write", action="store_true", help="record instead of compare")
    args = parser.parse_args()
    if args.test in ("example", "symbols") and not args.library:
        parser.error(f"{args.test} needs --library")
    try:
        tests[args.test](args)
    except Failed as failure:
        print(f"{args.test}: {failure}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
