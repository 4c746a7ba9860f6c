#!/usr/bin/env python3
"""surface.py [DIRECTORY]: does the crate wq reach all of wq.h? See bindings/api/surface.py for the
question.
A copy of the crates has each field of wq-sys deprecated; one `cargo check` of it tells which of
them the crate wq uses. WQ_BUILD_DIR or pkg-config as for test.sh. The copy is made in
DIRECTORY, which spares a later run the compiling of what others wrote."""

import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "api"))

import surface  # noqa: E402  (the path above comes first)


def marked_raw(text):
    """raw.rs with each field of a struct deprecated; the crate itself may use them."""
    lines, struct = ["#![allow(deprecated)]"], None
    for line in text.split("\n"):
        begin = re.match(r"pub struct (wq_\w+)", line)
        field = re.match(r"    pub (?:r#)?(\w+): ", line)
        if begin:
            struct = begin.group(1)
        elif line.startswith("}"):
            struct = None
        elif struct and field:
            lines.append(f'    #[deprecated(note = "{surface.MARK}{struct}.{field.group(1)}")]')
        lines.append(line)
    return "\n".join(lines)


def mark(path):
    """Mark raw.rs. Attributes of a module stand before all else, behind its own comment."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    head = re.match(r"(?:(?://[^\n]*)?\n|#!\[[^\n]*\n)*", text).group(0)
    with open(path, "w", encoding="utf-8") as file:
        file.write(head + marked_raw(text[len(head):]))


def used_fields(directory):
    copy = os.path.join(directory, "rust")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("target"))
    mark(os.path.join(copy, "wq-sys", "src", "raw.rs"))
    done = subprocess.run(
        ["cargo", "check", "--offline", "--locked", "-p", "wq", "--all-features",
         "--message-format=json", "--manifest-path", os.path.join(copy, "Cargo.toml"),
         "--target-dir", os.path.join(directory, "target")],
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr[-4000:])
    text = "".join(json.loads(line).get("message", {}).get("message", "") + "\n"
                   for line in done.stdout.splitlines() if '"compiler-message"' in line)
    return surface.fields_in_warnings(text)


def main():
    names = surface.all_names()
    sources = glob.glob(os.path.join(HERE, "wq", "src", "*.rs"))
    with tempfile.TemporaryDirectory() as temporary:
        directory = sys.argv[1] if len(sys.argv) > 1 else temporary
        reached = names & (surface.words_of(sources) | used_fields(directory))
    wrong = surface.problems("rust", reached)
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
