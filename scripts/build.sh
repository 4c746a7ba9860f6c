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
if [ $# -gt 2 ]; then
  shift 2
  exec cmake --build --preset "$preset" -j "$jobs" --target "$@"
fi
exec cmake --build --preset "$preset" -j "$jobs"
