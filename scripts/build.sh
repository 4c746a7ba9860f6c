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
# shellcheck disable=SC2086  (a list of words)
[ ! -t 1 ] || exec cmake --build --preset "$preset" -j "$jobs" --target $targets

# Into a file or a pipe: all warnings and errors, and of the steps one in ten per cent, so that one
# sees it work.
status="build/$preset/build.status"
{
  code=0
  # shellcheck disable=SC2086  (a list of words)
  cmake --build --preset "$preset" -j "$jobs" --target $targets -- -k 0 || code=$?
  echo "$code" >"$status"
} | awk -v preset="$preset" '
  /^\[[0-9]+\/[0-9]+\] / {
    split(substr($1, 2), step, "[/\\]]")
    tenth = int(step[1] * 10 / step[2])
    if (tenth > told) { print "build.sh: " preset ": " step[1] " of " step[2] " steps"; fflush() }
    if (tenth > told) told = tenth
    next
  }
  /^ninja: no work to do/ { next }
  { print; fflush() }'
exit "$(cat "$status")"
