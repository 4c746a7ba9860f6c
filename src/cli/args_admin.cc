// The commands that look and set: stat, ls, show, dead, queue, verify, backup, restore,
// log, bench, version.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/args.h"
#include "cli/commands.h"

namespace wq::cli {
namespace {

void add_stat(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("stat", "Counts and totals of the queues");
  const auto options = std::make_shared<StatOptions>();
  command.footer(
      R"(The store belongs to one process at a time: --watch opens it for each look
and closes it again, and says who holds it when it can not.

  wq stat
  wq stat -q mail --json
  wq stat --watch 2s)");
  command.add_option("-q,--queue", options->queue, "Only this queue")->type_name("NAME");
  command.add_option("--watch", options->watch, "Look again and again, with this pause")
      ->type_name("DURATION");
  add_number(command, "--count", options->count, "With --watch: so many looks; default: no end",
             at_least_one);
  command.add_flag("--prometheus", options->prometheus, "All figures, as wq metrics prints them");
  command.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_stat(context, *options); };
  });
}

void add_ls(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("ls", "Names of the queues");
  const auto options = std::make_shared<LsOptions>();
  command.footer("  wq ls\n  wq ls -l");
  command.add_flag("-l,--long", options->all, "With status and configuration");
  command.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_ls(context, *options); };
  });
}

void add_show(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("show", "One job, in whatever state");
  const auto options = std::make_shared<ShowOptions>();
  command.footer("  wq show 12\n  wq show 12 --payload - | xxd");
  command.add_option("job", options->job, "Id or token of the job")->required();
  command.add_option("-q,--queue", options->queue, "Queue; default: found by the job")
      ->type_name("NAME");
  command
      .add_option("--payload", options->payload_file,
                  "Write exactly the payload to FILE; - is standard output")
      ->type_name("FILE");
  command.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_show(context, *options); };
  });
}

void add_dead_filters(CLI::App& command, DeadOptions& options) {
  command
      .add_option("--reason", options.reason,
                  "Why: failed, lease_expired, timeout, ... (docs/CLI.md)")
      ->check(CLI::IsMember({"failed", "lease_expired", "timeout", "retry_until", "max_exceptions",
                             "cancelled", "expired", "unknown_type", "unreadable"})
                  .description(""));
  command.add_option("--since", options.since, "Died since: a time, or 2h for two hours ago");
  command.add_option("--until", options.until, "Died before: a time, or 2h for two hours ago");
  command.add_option("--error", options.error, "The last error has this text in it")
      ->type_name("TEXT");
}

void add_dead_bulk(CLI::App& command, DeadOptions& options, const char* verb) {
  add_dead_filters(command, options);
  command.add_flag("--all", options.all, "With no filter: all of them");
  add_number(command, "-n,--limit", options.limit, "At most this many", at_least_one);
  command.add_flag("--dry-run", options.dry_run, std::string("Only count what it would ") + verb);
}

using DeadCommand = int (*)(Context&, const DeadOptions&);

CLI::App& add_dead_command(CLI::App& dead, Command& chosen, const char* name,
                           const char* description, const std::shared_ptr<DeadOptions>& options,
                           DeadCommand run) {
  CLI::App& command = *dead.add_subcommand(name, description);
  command.add_option("-q,--queue", options->queue, "Queue; default: all, or found by the entry")
      ->type_name("NAME");
  command.callback([options, &chosen, run] {
    chosen = [options, run](Context& context) { return run(context, *options); };
  });
  return command;
}

void add_dead(CLI::App& app, Command& chosen) {
  CLI::App& dead = *app.add_subcommand("dead", "Dead letters: jobs that failed for good");
  dead.require_subcommand(1);
  dead.fallthrough();
  dead.footer(
      R"(An entry is ID:GENERATION, as dead ls prints it; it stands for this death of the
job, so that a second replay of it answers "stale". A bare ID stands for the entry there is now.

  wq dead ls --since 1d
  wq dead show 12:34
  wq dead replay 12:34
  wq dead replay -q mail --reason lease_expired --dry-run
  wq dead purge -q mail --yes)");

  auto options = std::make_shared<DeadOptions>();
  CLI::App& ls =
      add_dead_command(dead, chosen, "ls", "List them, newest first", options, run_dead_ls);
  add_dead_filters(ls, *options);
  ls.add_flag("--oldest", options->oldest_first, "Oldest first");
  add_number(ls, "-n,--limit", options->limit, "At most this many; default 100", at_least_one);
  ls.add_flag("--all", options->all, "All of them");
  add_number(ls, "--cursor", options->cursor, "Go on where a listing of the queue stopped",
             any_uint64);
  ls.footer(
      "With --json a last object {\"queue\":..., \"next_cursor\":N} tells that there is more.\n\n"
      "  wq dead ls -q mail --since 2h\n"
      "  wq dead ls -q mail --oldest -n 1000 --json");

  options = std::make_shared<DeadOptions>();
  CLI::App& show =
      add_dead_command(dead, chosen, "show", "One of them in full", options, run_dead_show);
  add_texts(show, "entry", options->entries, "Entries")->required();
  show.add_option("--payload", options->payload_file,
                  "Write exactly the payload to FILE; - is standard output")
      ->type_name("FILE");
  show.footer("  wq dead show 12:34\n  wq dead show 12:34 --payload -");

  options = std::make_shared<DeadOptions>();
  CLI::App& replay =
      add_dead_command(dead, chosen, "replay", "Make them ready again, attempts from zero", options,
                       run_dead_replay);
  add_texts(replay, "entry", options->entries, "Entries");
  add_dead_bulk(replay, *options, "replay");
  replay.footer(
      R"(With a filter, or --all, the oldest come first; the more there are, the longer it takes,
and it can be stopped at any time (Ctrl-C): what is replayed by then stays so. A full queue takes no
more: exit code 8, and it says how many were replayed.

  wq dead replay 12:34
  wq dead replay -q mail --reason lease_expired --since 2h --limit 1000 --dry-run
  wq dead replay -q mail --error "connection refused"
  wq dead replay --all)");

  options = std::make_shared<DeadOptions>();
  CLI::App& rm = add_dead_command(dead, chosen, "rm", "Remove them for ever", options, run_dead_rm);
  add_texts(rm, "entry", options->entries, "Entries");
  add_dead_bulk(rm, *options, "remove");
  rm.add_flag("--yes", options->yes, "With a filter or --all: really");
  rm.footer(
      "  wq dead rm 12:34\n"
      "  wq dead rm -q mail --until 30d --dry-run\n"
      "  wq dead rm -q mail --until 30d --yes");

  options = std::make_shared<DeadOptions>();
  CLI::App& purge = add_dead_command(dead, chosen, "purge", "Remove all of a queue for ever",
                                     options, run_dead_purge);
  purge.get_option("--queue")->required()->description("Queue");
  purge.add_flag("--yes", options->yes, "Really");
  purge.footer("Exit code 4: there was none.\n\n  wq dead purge -q mail --yes");
}

void add_gates(CLI::App& command, QueueSetOptions& o) {
  command.add_option("--rate", o.rate, "Jobs that may begin: 100/1m, with a burst 100/1m:20, none")
      ->type_name("RATE");
  command.add_option("--key-rate", o.key_rate, "The same for the jobs of each rate key by itself")
      ->type_name("RATE");
  command
      .add_option("--throttle", o.throttle,
                  "Exceptions that shut a rate key: 10/5m, for 1 minute 10/5m:1m, none")
      ->type_name("THROTTLE");
  add_number(command, "--group-limit", o.group_limit,
             "Jobs of one group that run at once; default 1", {1, 1'000'000});
}

void add_queue_set(CLI::App& queue, Command& chosen) {
  CLI::App& command = *queue.add_subcommand("set", "Change the configuration; make the queue");
  const auto options = std::make_shared<QueueSetOptions>();
  QueueSetOptions& o = *options;
  command.footer(
      R"(A queue at --max-depth or --max-bytes refuses pushes (exit code 8), or drops its oldest
ready jobs for them; settles, retries and delayed jobs whose time has come always go on. Dead
letters over --dead-max or --dead-age are dropped, the oldest first. wq stat --json counts what was
dropped.

  wq queue set mail --max-running 8 --max-retries 5 --backoff exponential:1s..10m
  wq queue set mail --rate 100/1m            # evenly spread: one in 600 ms
  wq queue set mail --rate 100/1m:20         # 20 at once after an idle time
  wq queue set mail --rate none --group-limit 2
  wq queue set mail --key-rate 10/1s:5       # of each key of wq push --rate-key
  wq queue set mail --throttle 10/5m:1m      # a key with 10 exceptions in 5 minutes rests for 1
  wq queue set mail --max-depth 100000 --max-bytes 1GiB --full-policy refuse
  wq queue set mail --dead-max 10000 --dead-age 30d
  wq queue set mail --encrypt on --compress 4KiB   # new payloads; keys: wq help keyring)");
  command.add_option("queue", o.queue, "Name")->required();
  add_number(command, "--max-running", o.max_running, "Bound of leased and running jobs; 0: none",
             any_uint32);
  add_number(command, "--max-retries", o.max_retries, "Attempts after the first", {0, 1'000'000});
  command.add_option("--lease", o.lease, "Lease of its jobs")->type_name("DURATION");
  command.add_option("--backoff", o.backoff,
                     "fixed:5s, exponential:1s..10m, list:1s,5s, none; ~20%: jitter");
  command
      .add_option("--job-ttl", o.job_ttl, "A job that did not begin for so long is gone; 0: never")
      ->type_name("DURATION");
  add_number(command, "--keep-done", o.keep_done,
             "History: how many acked jobs are kept; 0: no bound", any_uint32);
  command
      .add_option("--keep-done-for", o.keep_done_for,
                  "History: how long; 0: for ever. None of the two: no history")
      ->type_name("DURATION");
  command.add_option("--durability", o.durability, "Of push and settle: power, process, memory")
      ->check(CLI::IsMember({"power", "process", "memory"}).description(""))
      ->type_name("LEVEL");
  add_number(command, "--max-depth", o.max_depth, "Bound of ready and delayed jobs; 0: none",
             any_uint63);
  command.add_option("--max-bytes", o.max_bytes, "Bound of what they take; 0: none")
      ->type_name("SIZE");
  command.add_option("--full-policy", o.full_policy, "At a bound: refuse, drop-oldest")
      ->check(CLI::IsMember({"refuse", "drop-oldest"}).description(""))
      ->type_name("POLICY");
  add_number(command, "--dead-max", o.dead_max, "Bound of dead letters; 0: none", any_uint63);
  command
      .add_option("--dead-age", o.dead_age,
                  "Drop dead letters this long after their death; 0: never")
      ->type_name("DURATION");
  command.add_option("--encrypt", o.encrypt, "Seal payloads: on, off")
      ->check(CLI::IsMember({"on", "off"}).description(""))
      ->type_name("on|off");
  command.add_option("--compress", o.compress, "Compress payloads from this size on, or off")
      ->type_name("SIZE");
  add_gates(command, o);
  add_number(command, "--if-version", o.version, "Only if the configuration still has this version",
             any_uint63);
  command.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_queue_set(context, *options); };
  });
}

CLI::App& add_queue_command(CLI::App& queue, Command& chosen, const char* name,
                            const char* description, QueueAction action,
                            const std::shared_ptr<QueueOptions>& options) {
  CLI::App& command = *queue.add_subcommand(name, description);
  command.add_option("queue", options->queue, "Name")->required();
  command.callback([options, &chosen, action] {
    chosen = [options, action](Context& context) { return run_queue(context, action, *options); };
  });
  return command;
}

void add_queue(CLI::App& app, Command& chosen) {
  CLI::App& queue = *app.add_subcommand("queue", "Configuration and status of a queue");
  queue.require_subcommand(1);
  queue.fallthrough();
  queue.footer(R"(  wq queue set mail --max-retries 5 --backoff exponential:1s..10m
  wq queue pause mail                    # no job is handed out; pushes go on
  wq queue disable mail                  # pushes are refused too (exit code 8)
  wq queue enable mail                   # pushes go on; if it was paused, it still is
  wq queue clear mail --state delayed --yes
  wq queue rm mail --yes)");
  add_queue_set(queue, chosen);
  struct Entry {
    const char* name;
    const char* description;
    QueueAction action;
  };
  constexpr Entry entries[] = {
      {"show", "Show status and configuration", QueueAction::show},
      {"pause", "Hand out no jobs; take pushes", QueueAction::pause},
      {"resume", "End a pause", QueueAction::resume},
      {"disable", "Hand out no jobs and refuse pushes", QueueAction::disable},
      {"enable", "Take pushes again; a pause goes on", QueueAction::enable},
  };
  for (const Entry& entry : entries) {
    add_queue_command(queue, chosen, entry.name, entry.description, entry.action,
                      std::make_shared<QueueOptions>())
        .footer(std::string("  wq queue ") + entry.name + " mail");
  }
  auto options = std::make_shared<QueueOptions>();
  CLI::App& clear = add_queue_command(queue, chosen, "clear", "Remove jobs for ever",
                                      QueueAction::clear, options);
  add_texts(clear, "--state", options->states,
            "ready, delayed, leased, running, dead; may be repeated")
      ->type_name("STATE");
  clear.add_flag("--yes", options->yes, "Really");
  clear.footer(
      "Without --state: ready and delayed jobs.\n\n  wq queue clear mail --state delayed --yes");
  options = std::make_shared<QueueOptions>();
  CLI::App& rm = add_queue_command(queue, chosen, "rm", "Delete the queue and all its jobs",
                                   QueueAction::remove, options);
  rm.add_flag("--yes", options->yes, "Really");
  rm.footer("  wq queue rm mail --yes");
}

void add_log(CLI::App& app, Command& chosen) {
  CLI::App& log = *app.add_subcommand("log", "The log of changes");
  log.footer("  wq log dump --from 1000 --limit 20");
  log.require_subcommand(1);
  log.fallthrough();
  CLI::App& dump = *log.add_subcommand("dump", "Print its records, oldest first");
  const auto options = std::make_shared<LogDumpOptions>();
  dump.footer(
      "Reads only; no other process may have the store open.\n"
      "Prints LSN <tab> type <tab> segment+offset <tab> record as JSON.\n\n"
      "  wq log dump --from 1000 --limit 20");
  add_number(dump, "--from", options->from_lsn, "First LSN to print", any_uint64);
  add_number(dump, "-n,--limit", options->limit, "At most this many", at_least_one);
  dump.add_option("--type", options->type, "Only records of this type");
  dump.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_log_dump(context, *options); };
  });
}

void add_verify(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("verify", "Check the whole store; changes nothing");
  const auto backup = std::make_shared<std::string>();
  const auto crash = std::make_shared<CrashOptions>();
  command.footer(
      R"(Exit code 7: a problem was found.
--crash is a drill: a process that pushes and acks is killed over and over in a
store of its own below DIR, at each durability level, and the disk is looked at.

  wq verify
  wq verify --backup /backups/monday
  wq verify --crash /var/lib/jobs --seconds 30)");
  command.add_option("--crash", crash->directory, "Drill on the disk of this directory instead")
      ->type_name("DIR");
  add_number(command, "--seconds", crash->seconds, "With --crash: how long the kills go on",
             {1, 86'400})
      ->capture_default_str();
  command.add_option("--backup", *backup, "Check this backup instead: a directory, a .tar, or -")
      ->type_name("BACKUP");
  command.callback([backup, crash, &chosen] {
    chosen = [backup, crash](Context& context) {
      if (!crash->directory.empty()) return run_crash(context, *crash);
      return backup->empty() ? run_verify(context) : run_verify_backup(context, *backup);
    };
  });
  CLI::App& child = *app.add_subcommand("crash-child", "What --crash kills")->group("");
  const auto level = std::make_shared<std::string>();
  const auto first = std::make_shared<uint64_t>(0);
  child.add_option("level", *level)->required();
  add_number(child, "first", *first, "", any_uint64)->required();
  child.callback([level, first, &chosen] {
    chosen = [level, first](Context& context) { return run_crash_child(context, *level, *first); };
  });
}

void add_backup(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("backup", "Copy the store, checked and complete");
  const auto target = std::make_shared<std::string>();
  command.footer(
      R"(The store must not be open in another process; a program that has it open
makes backups by itself while it goes on (wq_store_backup in wq.h).
TARGET is a directory that is not there yet or empty, a file whose name ends in
.tar, or - for a tar on standard output. Without its last file, BACKUP, a backup is
unfinished, and refused.

  wq backup /backups/monday
  wq backup - | zstd > monday.tar.zst)");
  command.add_option("target", *target, "Directory, file.tar or -")->required();
  command.callback([target, &chosen] {
    chosen = [target](Context& context) { return run_backup(context, *target); };
  });
}

void add_restore(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("restore", "Make a store from a backup");
  const auto backup = std::make_shared<std::string>();
  command.footer(
      R"(The store of --store must not be there yet. All of the backup is checked before
anything is made, and the store gets its name when it is complete.

  wq restore --store /var/lib/jobs /backups/monday
  zstd -d < monday.tar.zst | wq restore -)");
  command.add_option("backup", *backup, "Directory, tar file or -")->required();
  command.callback([backup, &chosen] {
    chosen = [backup](Context& context) { return run_restore(context, *backup); };
  });
}

void add_bench(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("bench", "What this disk gives, measured through wq.h");
  const auto options = std::make_shared<BenchOptions>();
  BenchOptions& o = *options;
  command.footer(
      R"(Works in a store of its own below --dir and removes it. Takes about five times
--time. A queue on tmpfs is no durable queue: name a directory on the disk you mean.

  wq bench --dir /var/tmp
  wq bench --batch 1000 --durability process)");
  command.add_option("--dir", o.directory, "Directory on the disk to measure")
      ->type_name("DIR")
      ->capture_default_str();
  command.add_option("--time", o.seconds, "How long each step runs")
      ->type_name("DURATION")
      ->capture_default_str();
  add_number(command, "--batch", o.batch, "Jobs per call", {1, 10'000})->capture_default_str();
  command.add_option("--payload-size", o.payload_size, "Bytes of a payload")
      ->type_name("SIZE")
      ->capture_default_str();
  command.add_option("--durability", o.durability, "power, process, memory")
      ->check(CLI::IsMember({"power", "process", "memory"}).description(""))
      ->capture_default_str();
  command.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_bench(context, *options); };
  });
}

void add_moving(CLI::App& app, Command& chosen) {
  CLI::App& exporting = *app.add_subcommand("export", "The whole store as JSON lines");
  const auto export_options = std::make_shared<ExportOptions>();
  exporting.footer(
      "Lossless: wq import makes the same store of it.\n\n"
      "  wq export > jobs.jsonl\n  wq import --store new < jobs.jsonl");
  exporting.add_option("-q,--queue", export_options->queue, "Only this queue")->type_name("NAME");
  exporting.callback([export_options, &chosen] {
    chosen = [export_options](Context& context) { return run_export(context, *export_options); };
  });
  CLI::App& importing = *app.add_subcommand("import", "Make a new store of an export");
  const auto import_options = std::make_shared<ImportOptions>();
  importing.footer(
      "Reads standard input. Only into a store that never had a queue.\n\n"
      "  wq import --store new < jobs.jsonl");
  importing.add_option("--payload-max", import_options->payload_max, "Bound of a payload")
      ->type_name("SIZE")
      ->capture_default_str();
  importing.callback([import_options, &chosen] {
    chosen = [import_options](Context& context) { return run_import(context, *import_options); };
  });
  CLI::App& repair = *app.add_subcommand("repair", "What is left of a damaged store");
  const auto repair_options = std::make_shared<RepairOptions>();
  repair.footer(
      "Reads only, and says what is whole, damaged and lost. Exit code 7: damage.\n"
      "With --salvage all that can be read goes into a new store.\n\n"
      "  wq repair\n  wq repair --salvage ./saved");
  repair.add_option("--salvage", repair_options->salvage, "Directory of the new store")
      ->type_name("DIR");
  repair.callback([repair_options, &chosen] {
    chosen = [repair_options](Context& context) { return run_repair(context, *repair_options); };
  });
}

}  // namespace

void add_admin_commands(CLI::App& app, Command& chosen) {
  add_stat(app, chosen);
  add_ls(app, chosen);
  add_show(app, chosen);
  add_dead(app, chosen);
  add_queue(app, chosen);
  add_verify(app, chosen);
  add_backup(app, chosen);
  add_restore(app, chosen);
  add_log(app, chosen);
  add_moving(app, chosen);
  add_bench(app, chosen);
  app.add_subcommand("version", "Versions of program and library, and how they were built")
      ->footer("  wq version --json")
      ->callback([&chosen] { chosen = [](Context& context) { return run_version(context); }; });
}

}  // namespace wq::cli
