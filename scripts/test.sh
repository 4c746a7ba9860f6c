#!/usr/bin/env bash
# scripts/test.sh [SUITE]...: builds and runs what a change must pass; suites are presets (default:
# release asan clang). clang compiles the library and the program only: its thread-safety analysis
# is the test. A build that fails counts as one failure. The last line of standard output is always
# "N passed, N failed", and the exit code is 0 only if nothing failed.
set -u
cd "$(dirname "$0")/.." || exit 2
suites=("$@")
[ ${#suites[@]} -gt 0 ] || suites=(release asan clang)
passed=0
failed=0
finished=no

# Also when this script is interrupted or breaks: then what was not run has failed.
finish() {
  [ "$finished" = yes ] || failed=$((failed + 1))
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ] || exit 1
  exit 0
}
trap finish EXIT
trap 'exit 130' INT TERM

run_ctest() {
  local suite=$1 totals report="$PWD/build/$1/junit.xml"
  rm -f "$report"
  ctest --preset "$suite" --output-junit "$report"
  if ! totals=$(python3 scripts/junit_totals.py "$report"); then
    echo "test.sh: $suite: ctest left no readable report" >&2
    failed=$((failed + 1))
    return
  fi
  read -r suite_passed suite_failed <<<"$totals"
  passed=$((passed + suite_passed))
  failed=$((failed + suite_failed))
}

for suite in "${suites[@]}"; do
  echo "== $suite: build"
  targets=()
  [ "$suite" != clang ] || targets=(2 wq_shared wq_cli)
  if ! scripts/build.sh "$suite" "${targets[@]}"; then
    echo "test.sh: $suite: the build failed" >&2
    failed=$((failed + 1))
    continue
  fi
  if [ "$suite" = clang ]; then
    passed=$((passed + 1))
  else
    echo "== $suite: test"
    run_ctest "$suite"
  fi
done
finished=yes
