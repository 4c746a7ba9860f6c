#!/bin/sh
# Installs what a group of targets needs, from the distribution's packages only.
#   scripts/setup.sh [build|test|bench|fuzz|lint|nightly|metrics]...      (default: build)
# A call with nothing to install takes no network and no rights, and returns at once.
set -eu

build_packages="make gcc g++ cmake ninja-build pkg-config ccache librocksdb-dev liburing-dev \
libxxhash-dev libssl-dev libzstd-dev libcctz-dev tzdata libflatbuffers-dev flatbuffers-compiler \
libcli11-dev nlohmann-json3-dev libarchive-dev libhiredis-dev libgtest-dev python3"
# redis-tools: the server that wq relay is tested with, without the service of redis-server.
test_packages="clang git redis-tools"
bench_packages="libbenchmark-dev libsqlite3-dev"
lint_packages="clang-format clang-tidy git"

packages="$build_packages"
for group in "${@:-build}"; do
  case "$group" in
    build) ;;
    test) packages="$packages $test_packages $bench_packages" ;;  # clang compiles bench/ too
    bench) packages="$packages $bench_packages" ;;
    fuzz) packages="$packages clang" ;;
    nightly) packages="$packages valgrind" ;;
    # promtool, for one test that does without it too: it comes with a server, over 100 MB together.
    metrics) packages="$packages prometheus" ;;
    lint) packages="$packages $test_packages $bench_packages $lint_packages" ;;
    *)
      echo "setup.sh: unknown group '$group';" \
        "use build, test, bench, fuzz, lint, nightly or metrics" >&2
      exit 2
      ;;
  esac
done

as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null 2>&1; then
    sudo "$@"
  else
    echo "setup.sh: these packages are missing and installing them needs root (no sudo here):" >&2
    echo "  apt-get install $missing" >&2
    exit 1
  fi
}

# What of $packages is not installed, into $missing.
find_missing() {
  missing=""
  installed=" $(dpkg-query -W -f '${db:Status-Abbrev}${Package} ' $packages 2>/dev/null |
    tr -s ' ' '\n' | sed -n '/^ii$/{n;p;}' | tr '\n' ' ')"
  for package in $packages; do
    case "$installed" in
      *" $package "*) ;;
      *) missing="$missing $package" ;;
    esac
  done
}

install_missing() {
  find_missing
  if [ -z "$missing" ]; then
    return 0
  fi
  echo "setup.sh: installing$missing"
  as_root apt-get update -qq
  # --no-install-recommends: compilers recommend much that a build does not use.
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing
}

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
  absent=""
  for tool in cc c++ cmake ninja pkg-config flatc; do
    command -v "$tool" >/dev/null 2>&1 || absent="$absent $tool"
  done
  if [ -n "$absent" ]; then
    echo "setup.sh: this is no Debian or Ubuntu, and these tools are missing:$absent" >&2
    cat >&2 <<'END'
  Needed: a C++20 compiler (gcc 12, clang 14 or newer), CMake 3.25, Ninja, pkg-config, flatc,
  and the libraries listed in vcpkg.json, from your package manager or from vcpkg:
  cmake --preset release -DCMAKE_TOOLCHAIN_FILE=<vcpkg>/scripts/buildsystems/vcpkg.cmake
END
    exit 1
  fi
  exit 0
fi

install_missing

# clang's run-time libraries (libFuzzer, sanitizers) are a package that carries clang's version.
for group in "$@"; do
  if [ "$group" = fuzz ]; then
    version=$(clang --version | sed -n 's/.*version \([0-9]*\).*/\1/p' | head -n 1)
    packages="libclang-rt-$version-dev"
    install_missing
  fi
done
