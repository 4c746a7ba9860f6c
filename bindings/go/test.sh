#!/bin/sh
# Tests of the Go binding: bindings/go/test.sh [--long]
#
# Finds the library in $WQ_BUILD_DIR (a build tree of CMake), or else by pkg-config. What is built
# goes to $WQ_BUILD_DIR/bindings/go or a temporary directory. The last line is "N passed, N failed";
# exit 0 or 1, or 77 when a tool or the library is not there. With WQ_CONFORMANCE_ONLY=1 only the
# scripts of tests/conformance are run. The module outbox has dependencies: if they are neither in
# the module cache nor to be had, it is skipped with a line that says so.
set -u

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
passed=0
failed=0

skip() {
  echo "skipped: $1"
  exit 77
}

count() { # name, result
  if [ "$2" -eq 0 ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $1"
  fi
}

long=0
case "${1:-}" in
  "") ;;
  --long) long=1 ;;
  *)
    echo "usage: bindings/go/test.sh [--long]" >&2
    exit 2
    ;;
esac

command -v go >/dev/null 2>&1 || skip "there is no go"
command -v pkg-config >/dev/null 2>&1 || skip "there is no pkg-config"
command -v "${CC:-cc}" >/dev/null 2>&1 || skip "there is no C compiler for cgo"
proxy=$(go env GOPROXY)
export GOTOOLCHAIN=local GOPROXY=off GOWORK=off
version=$(go env GOVERSION | sed 's/^go//; s/[^0-9.].*//')
major=${version%%.*}
rest=${version#*.}
minor=${rest%%.*}
if [ "$major" -lt 1 ] || { [ "$major" -eq 1 ] && [ "$minor" -lt 23 ]; }; then
  skip "go $version is older than 1.23"
fi

if [ -n "${WQ_BUILD_DIR:-}" ]; then
  build=$(cd "$WQ_BUILD_DIR" && pwd) || skip "WQ_BUILD_DIR is no directory"
  library=
  for directory in "$build/lib" "$build/src"; do
    [ -e "$directory/libwq.so" ] && library=$directory && break
  done
  [ -n "$library" ] || skip "no libwq.so in WQ_BUILD_DIR"
  out=$build/bindings/go
  mkdir -p "$out"
  cat >"$out/wq.pc" <<PC
includedir=$root/include
Name: wq
Description: wq of a build tree
Version: 0
Cflags: -I$root/include
Libs: -L$library -lwq
PC
  export PKG_CONFIG_PATH="$out${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}"
  export LD_LIBRARY_PATH="$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  temporary=
else
  pkg-config --exists wq || skip "pkg-config does not find wq, and WQ_BUILD_DIR is not set"
  directory=$(pkg-config --variable=libdir wq)
  export LD_LIBRARY_PATH="$directory${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  out=$(mktemp -d)
  temporary=$out
fi
trap '[ -z "$temporary" ] || rm -rf "$temporary"' EXIT

cd "$here" || exit 1
run() { # packages and flags of go test
  log=$out/test.log
  go test -count=1 -timeout 240m -v "$@" >"$log" 2>&1
  result=$?
  grep -E '^(--- |FAIL|panic:|.*WQ_SEED=)|_test\.go:|skipped:|WARNING: DATA RACE' "$log" |
    grep -v -e '^--- PASS' -e threads || :
  good=$(grep -c '^--- PASS' "$log")
  bad=$(grep -c '^--- FAIL' "$log")
  if [ "$result" -ne 0 ] && [ "$bad" -eq 0 ]; then # did not build, or ended in the middle
    tail -n 40 "$log"
    bad=1
  fi
  passed=$((passed + good))
  failed=$((failed + bad))
  sed -n 's/^ *--- FAIL: TestConformance\/\([a-z0-9_]*\) .*/different: \1.ops/p' "$log"
  equal=$(grep -c '^ *--- PASS: TestConformance/' "$log")
  different=$(grep -c '^ *--- FAIL: TestConformance/' "$log")
  [ "$equal$different" = 00 ] || echo "conformance: $equal equal, $different different"
}

outbox() { # flags of go test
  cd "$here/outbox" || exit 1
  if ! go list -deps -test ./... >/dev/null 2>&1 &&
    ! GOPROXY=$proxy timeout 120 go mod download >"$out/download.log" 2>&1; then
    echo "skipped: outbox: its modules could not be had: $(tail -n 1 "$out/download.log")"
    return
  fi
  go vet ./...
  count "go vet of outbox" $?
  run "$@" ./...
}

if [ -n "${WQ_BENCH:-}" ]; then # for bench/bindings.py
  go build -o "$out/bench" ./bench || exit 1
  echo "bench: env LD_LIBRARY_PATH=$LD_LIBRARY_PATH $out/bench"
  exit 0
fi
if [ "${WQ_CONFORMANCE_RUNNER:-}" = 1 ]; then # for tests/conformance/pairs.py
  go build -o "$out/conformance_runner" ./conformance || exit 1
  echo "runner: env LD_LIBRARY_PATH=$LD_LIBRARY_PATH $out/conformance_runner"
  exit 0
fi
if [ "${WQ_CONFORMANCE_ONLY:-}" = 1 ]; then
  run ./conformance
else
  [ -z "$(gofmt -l .)" ]
  count "gofmt" $?
  go vet ./...
  count "go vet" $?
  if [ "$long" -eq 1 ]; then
    WQ_TEST_LONG=1 run ./...
    run -race ./...
    outbox -race
  else
    run ./...
    outbox
  fi
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
