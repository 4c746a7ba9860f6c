#!/bin/sh
# bench/run.sh BUILD_DIR [--check | --record | ...]: see bench/run.py --help.
set -eu
exec python3 "$(dirname "$0")/run.py" "$@"
