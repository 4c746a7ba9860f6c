#!/usr/bin/env bash
# bindings/cpp/test.sh [--long]: builds and runs the tests, the examples and the conformance
# scripts.
# Takes the library of $WQ_BUILD_DIR (a build tree) if that is set, else an installed one. The last
# line is "N passed, N failed"; exit code 77 after "skipped: why".
set -u
if [ -n "${WQ_BUILD_DIR:-}" ]; then
  WQ_BUILD_DIR=$(cd "$WQ_BUILD_DIR" && pwd) || exit 2
fi
cd "$(dirname "$0")" || exit 2
source_dir=$PWD
scripts=$source_dir/../../tests/conformance
skip() {
  echo "skipped: $1"
  exit 77
}
command -v cmake >/dev/null || skip "cmake is not installed"
command -v "${CXX:-g++}" >/dev/null || skip "there is no C++ compiler"
options=()
if [ -n "${WQ_BUILD_DIR:-}" ]; then
  build=$WQ_BUILD_DIR/bindings/cpp
  library=$WQ_BUILD_DIR/lib/libwq.so
  [ -e "$library" ] || skip "there is no $library"
  options=(-DWQ_LIBRARY="$library" -DWQ_INCLUDE_DIR="$source_dir/../../include")
else
  pkg-config --exists wq 2>/dev/null || skip "no WQ_BUILD_DIR, and pkg-config knows no wq"
  build=$(mktemp -d)
fi
work=$(mktemp -d)
cleanup() {
  rm -rf "$work"
  [ -n "${WQ_BUILD_DIR:-}" ] || rm -rf "$build"
}
trap cleanup EXIT
[ "${1:-}" != --long ] || export WQ_TEST_ROUNDS=10000
command -v ccache >/dev/null && options+=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)

passed=0
failed=0
check() { # NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$work/log" 2>&1; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    cat "$work/log"
    echo "failed: $name"
  fi
}

if ! cmake -S . -B "$build" "${options[@]}" >"$work/log" 2>&1; then
  ! grep -q "Could NOT find GTest" "$work/log" || skip "GoogleTest is not installed (libgtest-dev)"
  cat "$work/log"
  echo "0 passed, 1 failed"
  exit 1
fi
targets=()
[ -z "${WQ_CONFORMANCE_ONLY:-}${WQ_CONFORMANCE_RUNNER:-}" ] || targets=(--target conformance_runner)
[ -z "${WQ_BENCH:-}" ] || targets=(--target bench)
if ! cmake --build "$build" -j 2 "${targets[@]}" >"$work/log" 2>&1; then
  cat "$work/log"
  echo "0 passed, 1 failed"
  exit 1
fi

if [ -n "${WQ_BENCH:-}" ]; then # for bench/bindings.py
  echo "bench: $build/bench"
  exit 0
fi
if [ -n "${WQ_CONFORMANCE_RUNNER:-}" ]; then # for tests/conformance/pairs.py
  echo "runner: $build/conformance_runner"
  exit 0
fi

conformance() {
  local file name equal=0 different=0
  for file in "$scripts"/*.ops; do
    name=$(basename "$file")
    rm -rf "$work/store"
    mkdir "$work/store"
    if timeout 120 "$build/conformance_runner" "$work/store" "$file" >"$work/out" 2>"$work/err" &&
      diff -u "${file%.ops}.out" "$work/out" >"$work/diff"; then
      equal=$((equal + 1))
    else
      different=$((different + 1))
      head -20 "$work/err" "$work/diff"
      echo "different: $name"
    fi
  done
  echo "conformance: $equal equal, $different different"
  passed=$((passed + equal))
  failed=$((failed + different))
}

unit_tests() {
  "$build/wq_cpp_test" --gtest_output="json:$work/tests.json" >"$work/log" 2>&1
  local code=$? tests failures
  grep WQ_TEST_SEED "$work/log"
  tests=$(sed -n 's/^  "tests": \([0-9]*\),/\1/p' "$work/tests.json")
  failures=$(sed -n 's/^  "failures": \([0-9]*\),/\1/p' "$work/tests.json")
  if [ "$code" -ne 0 ] || [ "${failures:-1}" -ne 0 ]; then
    cat "$work/log"
    [ "${failures:-0}" -ne 0 ] || failures=1
  fi
  passed=$((passed + ${tests:-0} - failures))
  failed=$((failed + failures))
}

examples() {
  local store=$work/example
  printf 'one\ntwo\nbad\n\xff\n' | "$build/producer" "$store" jobs >"$work/made" &&
    grep -qx "4 jobs" "$work/made" &&
    "$build/worker" "$store" jobs --drain >"$work/done" &&
    printf 'one\ntwo\n\xff\n' | cmp - "$work/done" || return 1
  # Without --drain it waits for more until it is told to stop.
  echo more | "$build/producer" "$store" jobs >/dev/null || return 1
  local line
  coproc WORKER { exec "$build/worker" "$store" jobs; }
  local worker=$WORKER_PID
  read -r line <&"${WORKER[0]}" && [ "$line" = more ] && kill -TERM "$worker" && wait "$worker"
}

conformance
if [ -z "${WQ_CONFORMANCE_ONLY:-}" ]; then
  unit_tests
  check "wq.hpp in two units without exceptions" "$build/wq_cpp_headers_test"
  check "example of the README" sh -c \
    "'$build/readme_example' '$work/readme' | grep -qx 'hello for you'"
  check "producer and worker" examples
  check "surface" python3 "$source_dir/tests/surface.py" "${CXX:-g++}"
  check "bench" "$build/bench" memory 10 1000 "$work/bench"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
