#!/bin/sh
# scripts/build.sh PRESET [JOBS [TARGET]...]: configures build/PRESET if that was not done yet, then
# builds it.
set -eu
cd "$(dirname "$0")/.."
preset=$1
jobs=${2:-2}

if [ ! -f "build/$preset/build.ninja" ] ||
  [ CMakePresets.json -nt "build/$preset/CMakeCache.txt" ]; then
  mkdir -p "build/$preset"
  if ! cmake --preset "$preset" >"build/$preset/configure.log" 2>&1; then
    cat "build/$preset/configure.log" >&2
    exit 1
  fi
fi
targets=all
if [ $# -gt 2 ]; then
  shift 2
  targets=$*
fi
# Into a file or a pipe only what matters: all warnings and errors.
quiet=""
[ -t 1 ] || quiet="-- --quiet -k 0"
# shellcheck disable=SC2086  (both are lists of words)
exec cmake --build --preset "$preset" -j "$jobs" --target $targets $quiet
