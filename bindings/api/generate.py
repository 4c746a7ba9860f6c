"""Writes the raw layers of the bindings from api.json. They are data and declarations, no more:
what a language makes of them is written by hand beside them.

    python3 bindings/api/generate.py             write the files
    python3 bindings/api/generate.py --check     fail if one is not what would be written
    python3 bindings/api/generate.py --out DIR   write them below another directory

FILES says what is written. The text depends on api.json alone."""

import argparse
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)

import emit_go  # noqa: E402  (the path above comes first)
import emit_node  # noqa: E402
import emit_python  # noqa: E402
import emit_rust  # noqa: E402

API = os.path.join("bindings", "api", "api.json")
FILES = (
    ("bindings/go/constants.go", emit_go.constants),
    ("bindings/rust/wq-sys/src/raw.rs", emit_rust.raw),
    ("bindings/node/lib/constants.js", emit_node.constants),
    ("bindings/node/lib/constants.d.ts", emit_node.types),
    ("bindings/python/cdef.txt", emit_python.cdef),
    ("bindings/python/wq/_constants.py", emit_python.constants),
)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default=ROOT, help="top of the source tree")
    parser.add_argument("--out", help="where to write; default: the root")
    parser.add_argument("--check", action="store_true", help="compare instead of write")
    args = parser.parse_args()
    with open(os.path.join(args.root, API), encoding="utf-8") as file:
        api = json.load(file)
    stale = []
    for name, emit in FILES:
        wanted = emit(api)
        path = os.path.join(args.out or args.root, name)
        if args.check:
            if not os.path.exists(path) or open(path, encoding="utf-8").read() != wanted:
                stale.append(name)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(wanted)
    for name in stale:
        print(f"generate: {name} is not what {API} says; run bindings/api/generate.py",
              file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
