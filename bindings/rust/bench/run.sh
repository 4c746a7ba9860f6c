#!/bin/sh
# Builds and runs the benchmark of the Rust crate: one line of JSON per level and size of batch.
#
#   run.sh [JOBS]        WQ_BUILD_DIR, or what pkg-config knows, is the library
set -eu

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
if [ -n "${WQ_BUILD_DIR:-}" ]; then
  library=$WQ_BUILD_DIR/lib
  target=$WQ_BUILD_DIR/bindings/rust
else
  library=$(pkg-config --variable=libdir wq)
  target=${CARGO_TARGET_DIR:-${TMPDIR:-/tmp}/wq-rust-bench}
fi
export CARGO_TARGET_DIR="$target"
export LD_LIBRARY_PATH="$library${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
cargo build -q --release --locked --manifest-path "$here/../Cargo.toml" -p wq-bench
exec "$target/release/wq-bench" "$@"
