#!/bin/sh
# Builds the package and runs its tests: bindings/python/test.sh [--long] [arguments of pytest]
# The library is that of $WQ_BUILD_DIR (a CMake build tree), else that of pkg-config. All that is
# made goes to $WQ_BUILD_DIR/bindings/python or a temporary directory. The last line is
# "N passed, N failed".
# Exit code 77 after "skipped: why" when something that is needed is not there.
set -eu
here=$(cd "$(dirname "$0")" && pwd)

skip() {
  echo "skipped: $1"
  exit 77
}

works() {  # an interpreter that can build the extension module and run the tests
  command -v "$1" >/dev/null 2>&1 &&
    "$1" -c 'import sys, cffi, pytest; assert sys.version_info >= (3, 10)
if sys.version_info >= (3, 12): import setuptools' >/dev/null 2>&1
}

if [ -n "${WQ_BUILD_DIR:-}" ]; then
  WQ_BUILD_DIR=$(cd "$WQ_BUILD_DIR" && pwd)
  export WQ_BUILD_DIR
  [ -e "$WQ_BUILD_DIR/lib/libwq.so" ] || skip "$WQ_BUILD_DIR has no lib/libwq.so"
  out=$WQ_BUILD_DIR/bindings/python
  mkdir -p "$out"
else
  pkg-config --exists wq 2>/dev/null || skip "libwq: neither WQ_BUILD_DIR nor pkg-config knows it"
  out=$(mktemp -d)
  trap 'rm -rf "$out"' EXIT
fi
command -v "${CC:-cc}" >/dev/null 2>&1 || skip "no C compiler"

python=
for name in ${PYTHON:-python3 /usr/bin/python3 python3.13 python3.12 python3.11 python3.10}; do
  if works "$name"; then
    python=$name
    break
  fi
done
if [ -z "$python" ]; then
  # None has cffi and pytest: an environment of our own, if a package index can be reached.
  python=$out/venv/bin/python3
  works "$python" || {
    python3 -m venv "$out/venv" >/dev/null 2>&1 || skip "no python3 with cffi and pytest, no venv"
    "$python" -m pip install -q --disable-pip-version-check --retries 1 --timeout 10 \
      'cffi==1.17.1' 'pytest==8.3.4' 'setuptools==75.6.0' >/dev/null 2>&1 ||
      skip "no python3 with cffi and pytest (Debian: python3-cffi python3-pytest python3-dev)"
  }
fi
"$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
  skip "$python has no Python.h (Debian: python3-dev)"

export PYTHONDONTWRITEBYTECODE=1
rm -rf "$out/package"
mkdir -p "$out/package/wq"
"$python" "$here/wq_build.py" "$out/package"
cp "$here"/wq/*.py "$here/wq/py.typed" "$out/package/wq/"
export PYTHONPATH="$out/package:$here/tests"

if [ -n "${WQ_BENCH:-}" ]; then # for bench/bindings.py
  echo "bench: env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PYTHONPATH $python $here/bench/bench.py"
  exit 0
fi
if [ "${WQ_CONFORMANCE_RUNNER:-}" = 1 ]; then # for tests/conformance/pairs.py
  environment="env PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$PYTHONPATH"
  echo "runner: $environment $python $here/tests/conformance.py"
  exit 0
fi

# Stores of tests in memory where there is some: what a disk adds is not what is tested here.
tests=$out/stores
[ -d /dev/shm ] && [ -w /dev/shm ] && tests=$(mktemp -d /dev/shm/wq-python.XXXXXX)
mkdir -p "$tests"
status=0
(cd "$out" && "$python" "$here/tests/run.py" --basetemp "$tests/run" "$@") || status=$?
rm -rf "$tests"
exit $status
