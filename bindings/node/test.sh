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

export WQ_NODE_ADDON="$out/wq.node"
probe=$(node -e 'require(process.argv[1])' "$here" 2>&1) || case $probe in
  *ASan*|*[Ss]anitizer*) skip "the library is built with a sanitizer, node is not" ;;
  *) echo "$probe"; echo "0 passed, 1 failed"; exit 1 ;;
esac

if [ -n "${WQ_BENCH:-}" ]; then # for bench/bindings.py
  echo "bench: env WQ_NODE_ADDON=$WQ_NODE_ADDON node $here/bench/bench.js"
  exit 0
fi
if [ "${WQ_CONFORMANCE_RUNNER:-}" = 1 ]; then # for tests/conformance/pairs.py
  echo "runner: env WQ_NODE_ADDON=$WQ_NODE_ADDON node $here/test/conformance/runner.js"
  exit 0
fi
[ "${1:-}" = --long ] && export WQ_TEST_LONG=1
# Stores of tests go where a flush is cheap, if there is such a place.
[ -w /dev/shm ] && TMPDIR=$(mktemp -d /dev/shm/wq-node-XXXXXX) &&
  export TMPDIR && trap 'rm -rf "$scratch" "$TMPDIR"' EXIT INT TERM

tests="$here/test/*.test.js"
[ "${WQ_CONFORMANCE_ONLY:-}" = 1 ] && tests="$here/test/conformance.test.js"
reporter=
node --help | grep -q -- '--test-reporter=' && reporter=--test-reporter=tap
# shellcheck disable=SC2086
timeout "${WQ_TEST_SECONDS:-3600}" node --test $reporter $tests >"$scratch/tap" 2>&1
status=$?

# Node 18 counts the files as tests, too; each test is a line, indented or not. A file is one only
# if it failed and none of its tests did: it crashed.
grep -E '^ *(not )?ok [0-9]+ - ' "$scratch/tap" |
  awk '/\.test\.js$/ { if (/not ok/ && !bad) print; bad = 0; next } /not ok/ { bad = 1 } 1' \
    >"$scratch/results"
count() { grep -cE "$1" "$scratch/results"; }
failed=$(count '^ *not ok')
passed=$(( $(count '^ *ok') - $(count '# SKIP') ))
grep '# SKIP' "$scratch/results" | sed 's/^ *ok [0-9]* - /skipped: /'
[ "$status" -eq 0 ] && [ "$failed" -eq 0 ] || cat "$scratch/tap"
if grep -q 'conformance: ' "$scratch/results"; then
  sed -n 's/^ *not ok [0-9]* - conformance: /different: /p' "$scratch/results"
  echo "conformance: $(count '^ *ok .*conformance: ') equal," \
    "$(count '^ *not ok .*conformance: ') different"
fi
[ "$status" -ne 0 ] && [ "$failed" -eq 0 ] && failed=1
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
