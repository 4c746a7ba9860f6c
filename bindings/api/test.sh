#!/bin/sh
# Checks that api.json and the raw layers are what include/wq.h says. Last line: N passed, N failed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
if ! command -v python3 >/dev/null 2>&1; then
  echo "skipped: python3 is not installed"
  exit 77
fi
PYTHONDONTWRITEBYTECODE=1 exec python3 "$here/api_test.py"
