#!/bin/sh
# scripts/install.sh PRESET PREFIX: installs the built libraries, header and program without debug
# symbols, makes the loader see the library, and says what a compiler or the loader must still be
# told. With DESTDIR (a package is being made) it only copies.
set -eu
preset=$1
prefix=$2
cd "$(dirname "$0")/.."

cmake --install "build/$preset" --prefix "$prefix" --strip
pc=$(find "${DESTDIR:-}$prefix" -name wq.pc | head -n 1)
library_dir=$(dirname "$(dirname "$pc")")
strip --strip-debug "$library_dir/libwq.a"  # CMake strips programs and shared libraries only
[ -z "${DESTDIR:-}" ] || exit 0

echo
echo "installed below $prefix"
if [ "$(id -u)" = 0 ] && command -v ldconfig >/dev/null; then ldconfig; fi
if ! ldconfig -p 2>/dev/null | grep -q "=> $library_dir/libwq.so"; then
  echo "the loader does not look there; for this shell:"
  echo "  export LD_LIBRARY_PATH=$library_dir\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
fi
if ! pkg-config --exists wq 2>/dev/null; then
  echo "nor does pkg-config:"
  echo "  export PKG_CONFIG_PATH=$library_dir/pkgconfig\${PKG_CONFIG_PATH:+:\$PKG_CONFIG_PATH}"
fi
case ":$PATH:" in
  *":$prefix/bin:"*) ;;
  *) echo "nor does this shell, for the program wq:"
     echo "  export PATH=$prefix/bin:\$PATH" ;;
esac
