#!/bin/sh
# scripts/lint.sh: format, repo rules, clang-tidy. Everything is checked before it says no.
set -u
cd "$(dirname "$0")/.." || exit 2
bad=0
git ls-files '*.cc' '*.h' '*.c' | xargs clang-format --dry-run -Werror || bad=1
python3 tests/tidy/tidy.py --root . || bad=1
scripts/build.sh clang || bad=1
git ls-files 'src/*.cc' | xargs -n 4 -P 2 clang-tidy --quiet -p build/clang || bad=1
exit "$bad"
