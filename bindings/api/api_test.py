"""Tests of bindings/api: the files in the tree are what the header says, a C compiler agrees with
them, and both checks are seen to fail on a header or a file that was changed.

    python3 bindings/api/api_test.py [--cc cc]

The last line is "N passed, N failed"."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
INPUTS = ("include/wq.h", "tests/abi/layout.txt", "src/base/errors.def", "bindings/api/api.json")
sys.path.insert(0, HERE)

import extract  # noqa: E402  (the path above comes first)
import generate  # noqa: E402

# What is changed in the header, and a word of the answer. "" means that the files differ, no more.
CHANGES = (
    ("value of a constant", "#define WQ_STATE_READY 1u", "#define WQ_STATE_READY 9u", ""),
    ("text of a constant", "the queue is paused */", "the queue is asleep */", ""),
    ("new constant", "#define WQ_STATE_READY 1u", "#define WQ_STATE_OTHER 7u\n"
     "#define WQ_STATE_READY 1u", ""),
    ("name of a parameter", "wq_job_cancel(wq_queue *queue", "wq_job_cancel(wq_queue *line", ""),
    ("documentation", "/* Read one job of this queue", "/* Look at one job of this queue", ""),
    ("type of a field", "  uint32_t max_jobs;", "  int32_t max_jobs;", ""),
    ("field without a place", "  uint32_t max_jobs;", "  uint32_t more_jobs; uint32_t max_jobs;",
     "layout.txt"),
    ("macro that is no number", "#define WQ_STATE_READY 1u", "#define WQ_STATE_READY sizeof(int)",
     "WQ_STATE_READY is no number"),
    ("value of a code", "#define WQ_E_CLOSED (-21)", "#define WQ_E_CLOSED (-29)", "WQ_E_CLOSED"),
    ("predicate of an unknown code", "True for POISONED and INTERNAL",
     "True for POISONED and BROKEN", "BROKEN"),
)


class Tally:
    def __init__(self):
        self.passed, self.failed = 0, 0

    def check(self, name, good, detail=""):
        self.passed, self.failed = self.passed + bool(good), self.failed + (not good)
        if not good:
            print(f"FAILED {name}\n{detail}")


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


def script(name, *arguments):
    return run(sys.executable, os.path.join(HERE, name), *arguments)


def copy_tree(directory):
    names = INPUTS + tuple(name for name, _ in generate.FILES)
    for name in names:
        target = os.path.join(directory, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(ROOT, name), target)


def test_tree(tally):
    """The tree is clean: writing everything again would change nothing."""
    for name in ("extract.py", "generate.py"):
        result = script(name, "--check")
        tally.check(f"{name} --check", result.returncode == 0, result.stderr)
    first, second = extract.extract(ROOT), extract.extract(ROOT)
    tally.check("same header, same api.json", json.dumps(first) == json.dumps(second))


def test_changed_header(tally):
    with tempfile.TemporaryDirectory() as directory:
        copy_tree(directory)
        header = os.path.join(directory, "include/wq.h")
        with open(header, encoding="utf-8") as file:
            text = file.read()
        result = script("extract.py", "--check", "--root", directory)
        tally.check("a copy of the tree is clean", result.returncode == 0, result.stderr)
        for name, old, new, answer in CHANGES:
            tally.check(f"{name}: is in the header", text.count(old) >= 1)
            with open(header, "w", encoding="utf-8") as file:
                file.write(text.replace(old, new, 1))
            result = script("extract.py", "--check", "--root", directory)
            tally.check(f"{name}: is noticed", result.returncode == 1 and
                        (answer or "api.json is not what") in result.stderr, result.stderr)


def test_changed_files(tally):
    with tempfile.TemporaryDirectory() as directory:
        copy_tree(directory)
        for name, _ in generate.FILES:
            path = os.path.join(directory, name)
            with open(path, "a", encoding="utf-8") as file:
                file.write("\n")
            result = script("generate.py", "--check", "--root", directory)
            tally.check(f"{name}: a change is noticed", result.returncode == 1 and
                        name in result.stderr, result.stderr)
            shutil.copyfile(os.path.join(ROOT, name), path)
            os.makedirs(os.path.join(directory, "away"), exist_ok=True)
            shutil.move(path, os.path.join(directory, "away", "file"))
            result = script("generate.py", "--check", "--root", directory)
            tally.check(f"{name}: its absence is noticed", result.returncode == 1 and
                        name in result.stderr, result.stderr)
            shutil.move(os.path.join(directory, "away", "file"), path)


def probe_program(api):
    """A C program that fails to compile where api.json and the header differ."""
    lines = ["#include <stddef.h>", "#include <wq.h>"]
    for constant in api["constants"]:
        lines.append(f"_Static_assert(({constant['type']})({constant['name']}) == "
                     f"({constant['type']})({constant['value']}), \"{constant['name']}\");")
    for struct in api["structs"]:
        name = struct["name"]
        lines.append(f"_Static_assert(sizeof({name}) == {struct['size']}, \"{name}\");")
        for field in struct["fields"]:
            lines.append(f"_Static_assert(offsetof({name}, {field['name']}) == {field['offset']}"
                         f", \"{name}.{field['name']}\");")
            array = f"[{field['array']}]" if "array" in field else ""
            # A pointer to the field as api.json types it: a wrong type is a warning, so an error.
            lines.append(f"static {field['type']} (*f_{name}_{field['name']}({name} *p)){array} "
                         f"{{ return &p->{field['name']}; }}" if not field["type"].endswith("*")
                         else f"static {field['type']} *f_{name}_{field['name']}({name} *p) "
                         f"{{ return &p->{field['name']}; }}")
    for function in api["functions"]:
        types = ", ".join(p["type"] for p in function["parameters"]) or "void"
        lines.append(f"static {function['result']} (*const p_{function['name']})({types}) = "
                     f"{function['name']};")
    return "\n".join(lines + ["int main(void) { return 0; }", ""])


def test_probe(tally, compiler):
    if shutil.which(compiler) is None:
        print(f"skipped: the C compiler {compiler} is not installed")
        return
    with open(os.path.join(ROOT, "bindings/api/api.json"), encoding="utf-8") as file:
        api = json.load(file)
    with tempfile.TemporaryDirectory() as directory:
        source = os.path.join(directory, "probe.c")

        def compiles(value):
            with open(source, "w", encoding="utf-8") as file:
                file.write(probe_program(value))
            return run(compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-Wno-unused",
                       "-fsyntax-only", "-I", os.path.join(ROOT, "include"), source)

        result = compiles(api)
        tally.check("C agrees with api.json", result.returncode == 0, result.stderr[:2000])
        api["constants"][-1]["value"] += 1
        tally.check("C notices a wrong value", compiles(api).returncode != 0)
        api["constants"][-1]["value"] -= 1
        api["structs"][-1]["fields"][2]["type"] = "int64_t"
        tally.check("C notices a wrong type", compiles(api).returncode != 0)


def test_languages(tally):
    """Each generated file is a valid one in its language, as far as this machine has it."""
    checks = (("gofmt", ["-l"], "bindings/go/constants.go"),
              ("node", ["--check"], "bindings/node/lib/constants.js"),
              (sys.executable, ["-m", "py_compile"], "bindings/python/wq/_constants.py"))
    for program, arguments, name in checks:
        if shutil.which(program) is None:
            print(f"skipped: {program} is not installed")
            continue
        with tempfile.TemporaryDirectory() as directory:
            copy = shutil.copy(os.path.join(ROOT, name), directory)
            result = run(program, *arguments, copy)
            tally.check(f"{name}: {os.path.basename(program)} takes it",
                        result.returncode == 0 and not result.stdout,
                        result.stdout + result.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cc", default="cc", help="C compiler for the probe")
    args = parser.parse_args()
    tally = Tally()
    test_tree(tally)
    test_changed_header(tally)
    test_changed_files(tally)
    test_probe(tally, args.cc)
    test_languages(tally)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
