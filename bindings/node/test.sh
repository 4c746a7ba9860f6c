#!/bin/sh
# test.sh [--long]: builds the addon outside of the sources and runs all tests of this binding.
# The last line is "N passed, N failed". Exit 0: all passed; 1: some failed; 77: skipped, and why.
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 1

skip() {
  echo "skipped: $1"
  exit 77
}

command -v node >/dev/null || skip "no node"
major=$(node -p 'process.versions.node.split(".")[0]') || exit 1
[ "$major" -ge 18 ] || skip "node $(node --version) is older than 18"
command -v "${CC:-cc}" >/dev/null || skip "no C compiler"
headers=$(node "$here/build.js" --headers 2>/dev/null) || skip "no headers of node (libnode-dev)"
[ -n "${WQ_BUILD_DIR:-}" ] || pkg-config --exists wq 2>/dev/null ||
  skip "no library: WQ_BUILD_DIR is not set and pkg-config does not know wq"

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT INT TERM
out=${WQ_BUILD_DIR:+$WQ_BUILD_DIR/bindings/node}
out=${out:-$scratch/addon}
echo "node $(node --version), headers in $headers"
node "$here/build.js" --out "$out" --strict || { echo "0 passed, 1 failed"; exit 1; }

[ "${1:-}" = --long ] && export WQ_TEST_LONG=1
export WQ_NODE_ADDON="$out/wq.node"
# Stores of tests go where a flush is cheap, if there is such a place.
[ -w /dev/shm ] && TMPDIR=$(mktemp -d /dev/shm/wq-node-XXXXXX) &&
  export TMPDIR && trap 'rm -rf "$scratch" "$TMPDIR"' EXIT INT TERM

reporter=
node --help | grep -q -- '--test-reporter=' && reporter=--test-reporter=tap
# shellcheck disable=SC2086
node --test $reporter "$here"/test/*.test.js >"$scratch/tap" 2>&1
status=$?
count() { sed -n "s/^# $1 \([0-9]*\)\$/\1/p" "$scratch/tap" | tail -n 1; }
passed=$(count pass)
failed=$(( $(count fail) + $(count cancelled) ))
grep '^ *# SKIP\|^ok .* # SKIP' "$scratch/tap"
[ "$status" -eq 0 ] && [ "$failed" -eq 0 ] || cat "$scratch/tap"
echo "${passed:-0} passed, ${failed:-1} failed"
[ "$status" -eq 0 ] && [ "$failed" -eq 0 ] && [ "${passed:-0}" -gt 0 ]
