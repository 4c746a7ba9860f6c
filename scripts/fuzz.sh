#!/bin/sh
# scripts/fuzz.sh BUILD_DIR SECONDS [TARGET]: runs every fuzz target of BUILD_DIR, or the one that
# is named, for SECONDS, starting from the corpus in fuzz/corpus/<target>. New inputs stay in the
# build directory; a crash leaves its input there and is an error.
set -eu
build=$1
seconds=$2
root=$(cd "$(dirname "$0")/.." && pwd)
ran=0
for program in "$build"/bin/${3:-*_fuzz}; do
  [ -x "$program" ] || continue
  name=$(basename "$program")
  found="$build/corpus/$name"
  mkdir -p "$found" "$build/crashes"
  seeds="$root/fuzz/corpus/$name"
  [ -d "$seeds" ] || seeds=""
  echo "== $name: $seconds s"
  "$program" -max_total_time="$seconds" -print_final_stats=1 \
    -artifact_prefix="$build/crashes/$name-" "$found" ${seeds:+"$seeds"}
  ran=$((ran + 1))
done
if [ "$ran" -eq 0 ]; then
  echo "fuzz.sh: no ${3:-*_fuzz} program in $build/bin" >&2
  exit 1
fi
echo "$ran fuzz targets, no crash"
