// The commands that move jobs: push, work, pull, ack, nack, release, extend, cancel.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/args.h"
#include "cli/commands.h"

namespace wq::cli {
namespace {

constexpr const char* durability_help = "power (on the device), process (survives kill -9), memory";

void add_durability(CLI::App& command, std::string& durability) {
  CLI::Option* const option = command.add_option("--durability", durability, durability_help);
  option->check(CLI::IsMember({"power", "process", "memory"}).description(""))->type_name("LEVEL");
}

void add_group(CLI::App& command, PushOptions& o) {
  command.add_option("--group", o.group, "Of the jobs of one group one runs at a time")
      ->type_name("KEY");
  add_number(command, "--group-limit", o.group_limit, "That many at a time; else the queue's",
             {1, 1'000'000})
      ->needs("--group");
  command.add_option("--overlap", o.overlap, "If its group is full: skip, or a time to be delayed")
      ->type_name("RULE")
      ->needs("--group");
  command.add_option("--tenant", o.tenant, "Tenants of a queue are served by turns")
      ->type_name("KEY");
  command.add_option("--rate-key", o.rate_key, "The jobs of a key share the queue's --key-rate")
      ->type_name("KEY")
      ->excludes("--group");
  add_number(command, "--rate-cost", o.rate_cost, "What the job uses up of it; default 1",
             {1, 1'000'000})
      ->needs("--rate-key");
}

void add_key_options(CLI::App& command, KeyOptions& o) {
  command.add_option("--unique", o.unique, "Only if no job of the queue holds this key")
      ->type_name("KEY");
  command.add_option("--until", o.until, "What frees the key: started, done (default), gone")
      ->check(CLI::IsMember({"started", "done", "gone"}).description(""))
      ->needs("--unique");
  command.add_option("--unique-ttl", o.unique_ttl, "Hold the key no longer than this")
      ->type_name("DURATION")
      ->needs("--unique");
  command.add_option("--debounce", o.debounce, "Take the place of the waiting job of this key")
      ->type_name("KEY")
      ->excludes("--unique")
      ->excludes("--delay")
      ->excludes("--at");
  command
      .add_option("--window", o.debounce_window, "Ready this long after the last job of the key")
      ->type_name("DURATION")
      ->needs("--debounce");
  command.add_option("--max-wait", o.debounce_max, "But no later than this after the first")
      ->type_name("DURATION")
      ->needs("--debounce");
  command.add_option("--once", o.idempotency, "Nothing if a job of this key came within --within")
      ->type_name("KEY");
  command.add_option("--within", o.idempotency_window, "Window of --once; default 1d")
      ->type_name("DURATION")
      ->needs("--once");
}

constexpr const char* push_footer =
    R"(Each argument is a job. Without arguments, or with - alone, each line of standard
input or of --file is one, byte for byte: empty lines are jobs, a last line without newline is
one, carriage returns stay. Prints the ids of argument jobs; --ids prints them for lines too.

  wq push hello "how are you"              # two jobs; prints their ids
  wq push -q mail --file list.txt          # a job per line
  find . -print0 | wq push --format null   # names with newlines are no problem
  wq push --format whole < image.png       # one job with all of it
  wq push --delay 10m --priority 5 "later, but before others"
  wq push --group user-7 a b c             # one after the other, others go on meanwhile
  wq push --group report --overlap skip x  # not at all while another one runs; or --overlap 30s
  wq push --tenant acme a b c              # other tenants wait for one of them, not for all
  wq push -- -x                            # -- before payloads that begin with -
  wq push -q mail --test x                 # exit code 0, or 8: the queue is disabled or full
  wq push --format jsonl < jobs.jsonl      # options per job:
    {"payload":"hello","delay_ms":60000,"priority":5,"max_attempts":3}
    {"payload_base64":"/wAB","headers":{"type":"image"},"run_at_ms":1893456000000}
    {"payload":"x","backoff":{"kind":"exponential","base_ms":1000,"max_ms":60000}}
    {"payload":"x","timeout_ms":5000,"fail_on_timeout":true,"expires_at_ms":1893456000000}
    {"payload":"x","unique":{"key":"user:5","until":"done","ttl_ms":60000}}
    {"payload":"x","debounce":{"key":"user:5","window_ms":5000,"max_ms":60000}}
    {"payload":"x","idempotency":{"key":"request-17","window_ms":86400000}}
    {"payload":"a","chain":[{"payload":"b"},{"payload":"c","queue":"mail","delay_ms":1000}]}
    {"payload":"x","group":"user-7","group_limit":2,"overlap":"release","overlap_ms":30000}
    {"payload":"x","tenant":"acme"}
    {"payload":"x","rate_key":"api.example.com","rate_cost":5}
  wq push --unique user:5 "sync user 5"    # not while another job of that key is there
  wq push --debounce user:5 --window 5s x  # one job 5s after the last of several pushes
  wq push --once request-17 x              # pushed again within a day it is the same job
  wq push --chain resize --chain publish fetch
                                           # the ack of 'fetch' enqueues 'resize', and so on

A job that meets another one of its key is not pushed: the id of that one is printed, and if it was
so with all of them the exit code is 8.

A bad line in a file, or in JSON from a pipe, is told with its number and field, and nothing is
pushed; with --partial the jobs before it are. Lines of a pipe are pushed as they come.)";

void add_push(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("push", "Put jobs into a queue");
  const auto options = std::make_shared<PushOptions>();
  PushOptions& o = *options;
  command.footer(push_footer);

  add_texts(command, "payload", o.payloads, "Payloads, one job each");
  command.add_option("-q,--queue", o.queue, "Queue; made if it is not there")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("-f,--file", o.file, "Read jobs from FILE; - is standard input")
      ->type_name("FILE");
  command
      .add_option("--format", o.format, "lines, null (NUL between jobs), jsonl, whole (one job)")
      ->check(CLI::IsMember({"lines", "null", "jsonl", "whole"}).description(""))
      ->capture_default_str();
  add_texts(command, "-H,--header", o.headers, "Header NAME=VALUE; may be repeated");
  command.add_option("--delay", o.delay, "Ready after this time (30s, 5m, 1h30m)")
      ->type_name("DURATION");
  command.add_option("--at", o.at, "Ready at this time (2026-05-01T12:00:00Z, ms since 1970)")
      ->type_name("TIME")
      ->excludes("--delay");
  add_number(command, "--priority", o.priority, "0 goes first; default 100", {0, 255});
  add_number(command, "--max-attempts", o.max_attempts, "Default: 1 + retries of the queue",
             {1, 1'000'001});
  command.add_option("--backoff", o.backoff,
                     "fixed:5s, exponential:1s..10m, list:1s,5s, none; ~20%: jitter");
  command.add_option("--timeout", o.timeout, "Length of a lease of the job; wq work kills it then")
      ->type_name("DURATION");
  command.add_flag("--fail-on-timeout", o.fail_on_timeout, "The first timeout is the last attempt");
  command
      .add_option("--retry-until", o.retry_until, "Not tried again after: 2h from now, or a time")
      ->type_name("TIME");
  add_number(command, "--max-exceptions", o.max_exceptions, "Dead after so many counted failures",
             any_uint32);
  command.add_option("--expires", o.expires, "Gone if not begun by: 10m from now, or a time")
      ->type_name("TIME");
  add_texts(command, "--chain", o.chain, "Payload of a job that the ack enqueues; repeat for more");
  add_number(command, "--batch", o.batch, "The jobs join this batch (wq batch create)",
             {1, INT64_MAX})
      ->type_name("ID");
  add_group(command, o);
  command.add_option("--payload-max", o.payload_max, "Limit of one payload, up to 256MiB")
      ->type_name("SIZE");
  CLI::Option* const encrypt =
      command.add_flag("--encrypt", o.encrypt, "Seal the payload, whatever the queue says");
  command.add_flag("--plain", o.plain, "Do not seal it, whatever the queue says")
      ->excludes(encrypt);
  command.add_flag("--partial", o.partial, "Push the jobs before the first bad line");
  command.add_flag("--ids", o.ids, "Print the id of every job");
  add_key_options(command, o.keys);
  command.add_flag("--test", o.test,
                   "Push nothing: only say whether the queue would take the jobs");
  add_durability(command, o.durability);
  command.callback([options, &chosen, &command] {
    options->file_given = command.count("--file") > 0;
    chosen = [options](Context& context) { return run_push(context, *options); };
  });
}

constexpr const char* work_footer =
    R"(Behind -- stands the command. Without --lines it runs once per job:
  payload     on its standard input, or in place of {} in its arguments
  WQ_JOB_ID WQ_GENERATION WQ_TOKEN WQ_ATTEMPT WQ_MAX_ATTEMPTS WQ_PRIORITY WQ_QUEUE WQ_HEADER_<NAME>
  WQ_TIMEOUT_MS if the job has a timeout: it is killed then, whatever --timeout says
  exit 0      ack: the job is done and gone
  exit 65     fail: it can never work; it is dead at once
  any other   nack: it is tried again by the queue's policy; the tail of its standard error is kept
The lease is kept alive while it runs.

With --lines, -n long-lived handlers get one line per job and answer with one line, in order:
  job     --lines json: the object that wq pull --json prints
          --lines tab:  ID <tab> GENERATION <tab> ATTEMPT <tab> PAYLOAD
  answer  ok | retry TEXT | fail TEXT | release
Answers must not stay in a buffer, and a last line without newline is cut: ignore it.

  wq work -q mail -n 4 -- ./send-mail
  wq work -q urls --stop-when-empty -- curl -fsS -o /dev/null {}
  wq work -q high -q low -- ./handle     # 'low' only when 'high' has nothing
  wq work -q mail --lines json -n 2 -- python3 handler.py
  producer | wq work -q new --feed -n 8 -- ./handle
                                         # push the lines of a pipe and work on them; nothing is
                                         # lost if this is killed: start it again
  wq work -q a --stop-when-empty -- ./handle > new.txt && wq push -q b --file new.txt
                                         # new jobs in the same store: the store is open in wq work
                                         # until it ends, so the command can not push them itself

SIGTERM, SIGINT or SIGHUP: no new jobs, those in work end, those not begun go back. SIGTERM or
SIGINT again: kill them.
After kill -9: start again; --expire-leases takes back at once what the dead worker held (not if
jobs of wq pull are still being worked on). The commands it ran may still run: at-least-once.)";

void add_work(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("work", "Run a command for each job");
  const auto options = std::make_shared<WorkOptions>();
  WorkOptions& o = *options;
  o.queues = {"default"};
  command.footer(work_footer);
  add_texts(command, "command", o.command, "Command and arguments, behind --");
  add_texts(command, "-q,--queue", o.queues, "Queue; repeat for more, best first")
      ->type_name("NAME");
  add_number(command, "-n,--slots", o.slots, "Jobs (or handlers) at once", {1, 1'000})
      ->capture_default_str();
  command.add_option("--lines", o.lines, "Long-lived handlers; jobs as lines of json or tab")
      ->check(CLI::IsMember({"json", "tab"}).description(""))
      ->type_name("FORM");
  add_number(command, "--ahead", o.ahead, "Jobs given to a handler before it answers", {1, 10'000})
      ->capture_default_str();
  command.add_option("--lease", o.lease, "Lease; kept alive. Default: the queue's")
      ->type_name("DURATION");
  command.add_option("--timeout", o.timeout, "Kill and retry a job that takes longer")
      ->type_name("DURATION");
  command.add_flag("--once", o.once, "One job, if one is ready; exit 4 if none is");
  command.add_flag("--stop-when-empty", o.stop_when_empty,
                   "End when no job is ready and none is in work");
  command.add_flag("--expire-leases", o.expire_leases,
                   "Take back at once what workers before held");
  command.add_flag("--feed", o.feed,
                   "Push the lines of standard input to the first queue meanwhile");
  command.add_flag("--strict", o.strict, "Exit 9 if an attempt failed");
  command.add_option("--events", o.events, "Append what happens to FILE, a JSON object per line")
      ->type_name("FILE");
  add_durability(command, o.durability);
  command.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_work(context, *options); };
  });
}

void add_pull(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("pull", "Lease jobs and print them with their tokens");
  const auto options = std::make_shared<PullOptions>();
  PullOptions& o = *options;
  o.queues = {"default"};
  command.footer(
      R"(Prints TOKEN <tab> PAYLOAD (control characters escaped). Exact bytes: --json, or
--payload FILE, which prints the token alone. Settle it before the lease ends: wq ack, nack,
release, or hold it: extend. Exit code 4: no job is ready.

  token=$(wq pull -q mail --payload job.bin) && ./send-mail < job.bin && wq ack "$token"
  wq pull -n 100 --lease 10m --json
  wq pull --wait forever)");
  add_texts(command, "-q,--queue", o.queues, "Queue; repeat for more, best first")
      ->type_name("NAME");
  add_number(command, "-n,--count", o.count, "At most this many jobs", {1, 10'000})
      ->capture_default_str();
  command.add_option("--wait", o.wait, "How long to wait for the first job; forever is allowed")
      ->type_name("DURATION")
      ->capture_default_str();
  command.add_option("--lease", o.lease, "Lease; default: the queue's")->type_name("DURATION");
  command
      .add_option("--payload", o.payload_file, "Write the payload to FILE, print the token only")
      ->type_name("FILE");
  command.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_pull(context, *options); };
  });
}

CLI::App& add_settle(CLI::App& app, Command& chosen, SettleKind kind, const char* name,
                     const char* description, const std::shared_ptr<SettleOptions>& options) {
  CLI::App& command = *app.add_subcommand(name, description);
  add_texts(command, "token", options->tokens, "Tokens as wq pull prints them (ID:GENERATION)")
      ->required();
  command.add_option("-q,--queue", options->queue, "Queue; default: found by the job")
      ->type_name("NAME");
  add_durability(command, options->durability);
  command.callback([options, &chosen, kind] {
    chosen = [options, kind](Context& context) { return run_settle(context, kind, *options); };
  });
  return command;
}

void add_settles(CLI::App& app, Command& chosen) {
  auto options = std::make_shared<SettleOptions>();
  CLI::App& ack =
      add_settle(app, chosen, SettleKind::ack, "ack", "Settle leased jobs: done", options);
  ack.footer(
      "Exit code 5: the lease was lost or the job is settled already; nothing changed.\n\n"
      "  wq ack 12:34 13:35\n"
      "  wq ack 12:34 --result 'sent as 5f3a'");
  ack.add_option("--result", options->result, "Kept in the history of the queue (wq history)");

  options = std::make_shared<SettleOptions>();
  CLI::App& nack = add_settle(app, chosen, SettleKind::nack, "nack",
                              "Settle leased jobs: this attempt failed", options);
  nack.footer(
      "With attempts left the job is tried again, without it is dead.\n\n"
      "  wq nack 12:34 --error 'server said 503' --delay 5m\n"
      "  wq nack 12:34 --dead --error 'no such address'");
  nack.add_option("--error", options->error, "Error text, kept with the job");
  nack.add_option("--reason", options->reason,
                  "If dead: failed, timeout, cancelled, expired, unknown_type")
      ->check(CLI::IsMember({"failed", "timeout", "cancelled", "expired", "unknown_type"})
                  .description(""));
  nack.add_option("--delay", options->delay, "Ready after this; default: by backoff policy")
      ->type_name("DURATION");
  add_number(nack, "--priority", options->priority, "New priority", {0, 255});
  nack.add_flag("--front", options->front, "Without a delay: to the head of its priority");
  nack.add_flag("--no-exception", options->no_exception, "Do not count it as an exception");
  nack.add_flag("--dead", options->dead, "No further attempt: to the dead letters")
      ->excludes("--delay")
      ->excludes("--priority")
      ->excludes("--front")
      ->excludes("--no-exception");

  options = std::make_shared<SettleOptions>();
  CLI::App& release = add_settle(app, chosen, SettleKind::release, "release",
                                 "Give leased jobs back; the attempt does not count", options);
  release.footer("  wq release 12:34 --delay 1m");
  release.add_option("--delay", options->delay, "Ready after this; default: at once")
      ->type_name("DURATION");
  release.add_flag("--front", options->front, "Without a delay: to the head of its priority");

  options = std::make_shared<SettleOptions>();
  CLI::App& extend =
      add_settle(app, chosen, SettleKind::extend, "extend", "Hold leased jobs for longer", options);
  extend.footer("  wq extend 12:34 --lease 10m");
  extend.add_option("--lease", options->lease, "From now; default: the queue's")
      ->type_name("DURATION");
}

void add_cancel(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("cancel", "Remove jobs that are not dead");
  const auto options = std::make_shared<CancelOptions>();
  command.footer(
      "A leased job loses its lease: its worker can settle it no more.\n\n"
      "  wq cancel 12 13");
  add_texts(command, "job", options->jobs, "Ids of jobs")->required();
  command.add_option("-q,--queue", options->queue, "Queue; default: found by the job")
      ->type_name("NAME");
  command.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_cancel(context, *options); };
  });
}

void add_reprioritise(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("reprioritise", "Change the priority of waiting jobs");
  const auto options = std::make_shared<ReprioritiseOptions>();
  command.footer(
      "Ready and delayed jobs only; nack --priority changes a leased one. A ready job goes to the\n"
      "tail of its new priority.\n\n"
      "  wq reprioritise --priority 0 12 13");
  add_texts(command, "job", options->jobs, "Ids of jobs")->required();
  add_number(command, "--priority", options->priority, "0 goes first", {0, 255})
      ->required()
      ->check(CLI::Range(0, 255).description(""));
  command.add_option("-q,--queue", options->queue, "Queue; default: found by the job")
      ->type_name("NAME");
  command.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_reprioritise(context, *options); };
  });
}

void add_progress(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("progress", "Leave a note with a leased job");
  const auto options = std::make_shared<ProgressOptions>();
  command.footer(
      "Up to 4 KiB; it replaces the note before, and wq show tells it. The next attempt gets it\n"
      "with the job. Exit code 5: the lease was lost.\n\n"
      "  wq progress 12:34 'page 3 of 7'");
  command.add_option("token", options->token, "Token as wq pull prints it (ID:GENERATION)")
      ->required();
  command.add_option("note", options->note, "The note; an empty one takes it away")->required();
  command.add_option("-q,--queue", options->queue, "Queue; default: found by the job")
      ->type_name("NAME");
  add_durability(command, options->durability);
  command.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_progress(context, *options); };
  });
}

}  // namespace

void add_job_commands(CLI::App& app, Command& chosen) {
  add_push(app, chosen);
  add_work(app, chosen);
  add_pull(app, chosen);
  add_settles(app, chosen);
  add_cancel(app, chosen);
  add_reprioritise(app, chosen);
  add_progress(app, chosen);
}

}  // namespace wq::cli
