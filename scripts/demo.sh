#!/bin/sh
# scripts/demo.sh PROGRAM [FILE]: real work through the queue, with a worker that is killed.
#
# Pushes every line of FILE as a job (default: the log of the package manager), has four handlers
# write each line with its job's id to a file, kills the worker with SIGKILL half way,
# starts it again, and compares what was handled with the input, byte for byte. Exit code 0 only
# if nothing is missing, changed or made up. Works in a directory of its own below
# ${TMPDIR:-/var/tmp} and removes it.
set -eu
wq=$1
input=${2:-}
here=$(cd "$(dirname "$0")" && pwd)
LC_ALL=C
export LC_ALL

say() { printf '%s\n' "$*"; }
die() { printf 'demo.sh: %s\n' "$*" >&2; exit 1; }
# 1234567 -> 1,234,567
commas() { printf '%s\n' "$1" | sed -e :a -e 's/^\([0-9]*[0-9]\)\([0-9]\{3\}\)/\1,\2/' -e ta; }
now_ms() { date +%s%3N; }
# json NAME: the plain value of a field in one line of JSON on standard input.
json() { sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p" | head -n 1; }

[ -x "$wq" ] || die "there is no program '$wq'; run make build"
command -v perl >/dev/null 2>&1 || die "perl is needed for the handler (Debian: package perl-base)"

dir=$(mktemp -d "${TMPDIR:-/var/tmp}/wq-demo.XXXXXX")
worker=""
finish() {
  if [ -n "$worker" ]; then kill -9 "$worker" 2>/dev/null || true; fi
  rm -rf "$dir"
}
trap finish EXIT
trap 'exit 130' INT TERM
unset WQ_STORE
store="$dir/store"

# ---- what to work on

choose_input() {
  for file in /var/log/dpkg.log /var/log/apt/history.log; do
    if [ -r "$file" ] && [ -s "$file" ]; then
      # A copy: the package manager may write on while we work.
      cp "$file" "$dir/input" && from=$file
      return
    fi
  done
  if command -v dpkg >/dev/null 2>&1 && dpkg -l >"$dir/input" 2>/dev/null; then
    from="dpkg -l"
    return
  fi
  from="names of files below /usr"
  find /usr -xdev -type f 2>/dev/null | head -n 5000 >"$dir/input" || true
}

if [ -n "$input" ]; then
  [ ! -d "$input" ] || die "'$input' is a directory; name a file, each line is a job"
  [ -r "$input" ] || die "can not read '$input'"
  cp "$input" "$dir/input"
  from=$input
else
  choose_input
fi
[ -s "$dir/input" ] || die "$from has no lines to work on"

# ---- push

begin=$(now_ms)
"$wq" --store "$store" --quiet push -q demo --file "$dir/input" --ids >"$dir/ids"
push_ms=$(($(now_ms) - begin + 1))
pushed=$(wc -l <"$dir/ids")
durability=$("$wq" --store "$store" --json queue show demo | json durability)
say "$from: $(commas "$pushed") lines"
say "  push   $(commas "$pushed") jobs in $(commas "$push_ms") ms, one per line," \
  "durability '$durability'"

# ---- work, and die half way

work() {
  "$wq" --store "$store" work -q demo --lines tab -n "$handlers" --ahead 64 --stop-when-empty \
    --expire-leases -- perl "$here/demo_handler.pl" "$dir/handled" "$@"
}

# Each handler stops for good when it has handled its share of the first half, and the worker is
# killed when all of them have: with the other half still in the queue.
handlers=4
[ "$pushed" -ge $((2 * handlers)) ] || handlers=1
stop_after=$((pushed / (2 * handlers)))
[ "$stop_after" -ge 1 ] || stop_after=1

# The worker and its handlers hold the writing end of this pipe. At its end all of them are gone.
mkfifo "$dir/alive"
cat "$dir/alive" >"$dir/worker_output" &
all_gone=$!
begin=$(now_ms)
"$wq" --store "$store" --quiet work -q demo --lines tab -n "$handlers" --ahead 64 \
  --stop-when-empty -- perl "$here/demo_handler.pl" "$dir/handled" "$stop_after" "$dir/stopped" \
  >"$dir/alive" 2>&1 &
worker=$!
left=6000
while [ "$(find "$dir" -name 'stopped.*' | wc -l)" -lt "$handlers" ]; do
  kill -0 "$worker" 2>/dev/null || { cat "$dir/worker_output" >&2; die "the worker ended early"; }
  left=$((left - 1))
  [ "$left" -gt 0 ] || die "the handlers did not come half way within a minute"
  sleep 0.01
done
kill -9 "$worker"
wait "$worker" 2>/dev/null || true
worker=""
first_ms=$(($(now_ms) - begin + 1))
handled_before=$(wc -l <"$dir/handled")
wait "$all_gone"
say "  work   $handlers handlers; SIGKILL to the worker after $(commas "$handled_before") lines" \
  "were handled"

# ---- the same again, to the end

begin=$(now_ms)
work 2>"$dir/notes" || { cat "$dir/notes" >&2; die "the second worker failed"; }
second_ms=$(($(now_ms) - begin + 1))
say "  work   started again: $(tr '\n' ';' <"$dir/notes" | sed 's/;$//; s/;/; /g')"

# ---- compare

stats=$("$wq" --store "$store" --json stat -q demo | sed 's/.*"queues"://')
ready=$(printf '%s' "$stats" | json ready)
leased=$(printf '%s' "$stats" | json leased)
dead=$(printf '%s' "$stats" | json dead)
backend=$("$wq" --store "$store" --json stat | json io_backend)
"$wq" --store "$store" verify >"$dir/verify" || { cat "$dir/verify" >&2; die "verify failed"; }
left_over=$((ready + leased + dead))

# Job id and line, of what was pushed and of what was handled.
paste "$dir/ids" "$dir/input" | sort >"$dir/expected"
sort "$dir/handled" >"$dir/sorted"
uniq "$dir/sorted" >"$dir/once"
handled=$(wc -l <"$dir/once")
twice=$(($(wc -l <"$dir/sorted") - handled))
lost=$(comm -23 "$dir/expected" "$dir/once" | wc -l)
foreign=$(comm -13 "$dir/expected" "$dir/once" | wc -l)
work_ms=$((first_ms + second_ms))

say "  check  wq verify finds no problem; jobs left in the store: $left_over"
say ""
row() {
  case "$2" in *[!0-9]*) value=$2 ;; *) value=$(commas "$2") ;; esac
  printf '  %-17s %9s  %s\n' "$1" "$value" "$3" | sed 's/ *$//'
}
row pushed "$pushed" ""
row handled "$handled" "compared with the input byte for byte"
row "handled twice" "$twice" "at least once: handled, but not yet acked when the worker died"
row lost "$lost" ""
row "changed" "$foreign" ""
row dead "$dead" ""
if [ "$pushed" -ge 1000 ]; then
  row "jobs per second" $((pushed * 1000 / work_ms)) \
    "both workers, each line flushed to disk before its ack"
fi
row backend "$backend" "log I/O"
row durability "$durability" "a push or ack that returned survives power loss"

if [ "$lost" -ne 0 ] || [ "$foreign" -ne 0 ] || [ "$dead" -ne 0 ] || [ "$ready" -ne 0 ] ||
  [ "$leased" -ne 0 ] || [ "$handled" -ne "$pushed" ] || ! cmp -s "$dir/expected" "$dir/once"; then
  die "the result is not the input (ready $ready, leased $leased)"
fi
say ""
say "Nothing was lost."
