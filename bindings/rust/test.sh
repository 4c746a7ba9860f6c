#!/bin/sh
# Builds and tests the Rust crates: unit tests, documentation, examples, conformance scripts.
#
#   test.sh [--long]
#
# WQ_BUILD_DIR       build tree of wq to test against; without it pkg-config must know wq
# WQ_CONFORMANCE_ONLY=1   only the conformance scripts
#
# Last line: "N passed, N failed". Exit 0 or 1; 77 after "skipped: why".
set -u

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
scripts=$here/../../tests/conformance
passed=0
failed=0

skip() {
  echo "skipped: $1"
  exit 77
}

for argument in "$@"; do
  case $argument in
    --long) export WQ_TEST_LONG=1 ;;
    *) echo "usage: test.sh [--long]" >&2; exit 2 ;;
  esac
done

# A cargo without a tool chain, as rustup leaves it, is none.
cargo --version > /dev/null 2>&1 || skip "no cargo"
command -v cc > /dev/null 2>&1 || skip "no C compiler to link with"

made=
if [ -n "${WQ_BUILD_DIR:-}" ]; then
  [ -e "$WQ_BUILD_DIR/lib/libwq.so" ] || skip "no lib/libwq.so in $WQ_BUILD_DIR"
  library=$WQ_BUILD_DIR/lib
  target=$WQ_BUILD_DIR/bindings/rust
else
  pkg-config --exists wq 2> /dev/null || skip "WQ_BUILD_DIR is not set, and pkg-config knows no wq"
  library=$(pkg-config --variable=libdir wq)
  if [ -n "${CARGO_TARGET_DIR:-}" ]; then
    target=$CARGO_TARGET_DIR
  else
    target=$(mktemp -d) && made=$target
  fi
fi
export CARGO_TARGET_DIR="$target"
export LD_LIBRARY_PATH="$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
work=$(mktemp -d)
trap 'rm -rf "$work" ${made:+"$made"}' EXIT
trap 'exit 1' HUP INT TERM

run_cargo() {
  cargo "$@" --locked --manifest-path "$here/Cargo.toml"
}

# Cargo wants to have what Cargo.lock names, that of optional features as well.
if ! run_cargo fetch > "$work/fetch" 2>&1; then
  run_cargo fetch --offline > /dev/null 2>&1 ||
    skip "cargo can not get the crates of Cargo.lock: $(tail -1 "$work/fetch")"
  export CARGO_NET_OFFLINE=true
fi

# Runs cargo test, shows what matters, and adds the counts of all test programs.
run_tests() {
  run_cargo test "$@" > "$work/log" 2>&1
  code=$?
  ok=$(awk '/^test result:/ { n += $4 } END { print n + 0 }' "$work/log")
  bad=$(awk '/^test result:/ { n += $6 } END { print n + 0 }' "$work/log")
  if [ "$code" -ne 0 ]; then
    cat "$work/log"
    [ "$bad" -gt 0 ] || bad=1
  else
    grep -E '^(     Running|   Doc-tests|test result:)|WQ_TEST_SEED=' "$work/log"
  fi
  passed=$((passed + ok))
  failed=$((failed + bad))
}

run_conformance() {
  if ! ls "$scripts"/*.ops > /dev/null 2>&1; then
    [ -z "${WQ_CONFORMANCE_ONLY:-}" ] || skip "no scripts in tests/conformance"
    echo "conformance: not run, there are no scripts in tests/conformance"
    return
  fi
  if ! run_cargo build -q -p wq-conformance; then
    failed=$((failed + 1))
    return
  fi
  equal=0
  different=0
  for ops in "$scripts"/*.ops; do
    name=$(basename "$ops" .ops)
    mkdir "$work/$name"
    if "$target/debug/wq-conformance" "$work/$name" "$ops" > "$work/$name.got" 2> "$work/err" &&
      cmp -s "$work/$name.got" "$scripts/$name.out"; then
      equal=$((equal + 1))
    else
      different=$((different + 1))
      echo "different: $name.ops"
      cat "$work/err"
      diff "$scripts/$name.out" "$work/$name.got" | head -20
    fi
    rm -rf "${work:?}/$name"
  done
  echo "conformance: $equal equal, $different different"
  passed=$((passed + equal))
  failed=$((failed + different))
}

# The parts without the library, where an interpreter looks at every access.
run_miri() {
  if ! cargo +nightly miri --version > /dev/null 2>&1; then
    echo "miri is not at hand: not run"
  elif cargo +nightly miri test --locked --manifest-path "$here/Cargo.toml" -p wq --lib \
    --target-dir "$target/miri" > "$work/log" 2>&1; then
    passed=$((passed + 1))
  else
    cat "$work/log"
    failed=$((failed + 1))
  fi
}

if [ -n "${WQ_BENCH:-}" ]; then # for bench/bindings.py
  run_cargo build -q --release -p wq-bench || exit 1
  echo "bench: env LD_LIBRARY_PATH=$LD_LIBRARY_PATH $target/release/wq-bench"
  exit 0
fi
if [ -n "${WQ_CONFORMANCE_RUNNER:-}" ]; then # for tests/conformance/pairs.py
  run_cargo build -q -p wq-conformance || exit 1
  echo "runner: env LD_LIBRARY_PATH=$LD_LIBRARY_PATH $target/debug/wq-conformance"
  exit 0
fi
# Does the crate reach all of wq.h?
run_surface() {
  if ! command -v python3 > /dev/null 2>&1; then
    echo "surface: not asked, there is no python3"
  elif python3 "$here/surface.py" "$target/surface"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
}

if [ -z "${WQ_CONFORMANCE_ONLY:-}" ]; then
  run_surface
  run_tests -p wq-sys -p wq --all-features --no-fail-fast
  [ -z "${WQ_TEST_LONG:-}" ] || run_miri
fi
run_conformance
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
