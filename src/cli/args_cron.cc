// wq cron and its commands.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/args.h"
#include "cli/commands.h"

namespace wq::cli {
namespace {

using CronCommand = int (*)(Context&, const CronOptions&);
using Options = std::shared_ptr<CronOptions>;

CLI::App& add_one(CLI::App& cron, Command& chosen, const char* name, const char* description,
                  const Options& options, CronCommand run) {
  CLI::App& command = *cron.add_subcommand(name, description);
  command.callback([options, &chosen, run] {
    chosen = [options, run](Context& context) { return run(context, *options); };
  });
  return command;
}

void add_zone(CLI::App& command, CronOptions& options) {
  command.add_option("-z,--zone", options.zone, "Time zone, like Europe/Berlin")
      ->type_name("ZONE")
      ->capture_default_str();
}

void add_add(CLI::App& cron, Command& chosen) {
  const auto options = std::make_shared<CronOptions>();
  options->queue = "default";
  CLI::App& add = add_one(cron, chosen, "add", "Make a schedule, or replace the one of that name",
                          options, run_cron_add);
  add.footer(
      R"(What is there already as given stays as it is: run it at every start. Each job has the
headers wq-schedule (the name) and wq-slot-ms (the time it was due).

  wq cron add report -q mail --zone Europe/Berlin "30 7 * * MON-FRI" '{"kind":"daily"}'
  wq cron add tidy "@every 15m" --catch-up none)");
  add.add_option("name", options->name, "Name, of the whole store")->required();
  add.add_option("expression", options->expression, "When; see wq cron --help")->required();
  add.add_option("payload", options->payload, "Payload of its jobs; default: empty");
  add.add_option("-q,--queue", options->queue, "Queue of its jobs; made if it is not there")
      ->type_name("NAME")
      ->capture_default_str();
  add_zone(add, *options);
  add.add_option("--catch-up", options->catch_up,
                 "Missed slots that run later: none, one (default), all, or a number")
      ->type_name("N");
  add_texts(add, "-H,--header", options->headers, "Header NAME=VALUE; may be repeated");
  add_number(add, "--priority", options->priority, "0 goes first; default 100", {0, 255});
  add_number(add, "--max-attempts", options->max_attempts, "Default: 1 + retries of the queue",
             {1, 1'000'001});
  add.add_option("--backoff", options->backoff,
                 "fixed:5s, exponential:1s..10m, list:1s,5s or none; else the queue's");
  CLI::Option* const encrypt =
      add.add_flag("--encrypt", options->encrypt, "Seal the payload, whatever the queue says");
  add.add_flag("--plain", options->plain, "Do not seal it, whatever the queue says")
      ->excludes(encrypt);
}

void add_named(CLI::App& cron, Command& chosen, const char* name, const char* description,
               CronCommand run) {
  const auto options = std::make_shared<CronOptions>();
  CLI::App& command = add_one(cron, chosen, name, description, options, run);
  command.footer(std::string("  wq cron ") + name + " report");
  command.add_option("name", options->name, "Name of the schedule")->required();
}

}  // namespace

void add_cron_commands(CLI::App& app, Command& chosen) {
  CLI::App& cron = *app.add_subcommand("cron", "Schedules: jobs by the clock");
  cron.require_subcommand(1);
  cron.fallthrough();
  cron.footer(
      R"(An expression has five fields, or six with seconds in front:

  minute 0-59   hour 0-23   day of month 1-31   month 1-12 JAN-DEC   day of week 0-7 SUN-SAT
  *  any     1,5  these     1-5  from to     */15  each 15th     9/2  from 9 on, each second
  day of month: L last day   L-2 two before it   15W weekday nearest to the 15th   LW last weekday
  day of week:  5L last Friday   1#2 second Monday      0 and 7 are Sunday
  @yearly @monthly @weekly @daily @hourly    @every 90s, @every 1h30m

If both day fields are set, a day that either names counts. The clock runs while a process has the
store open (wq work, or a program with the library); slots missed meanwhile follow --catch-up.

  wq cron next "0 9 L * *" --zone America/New_York
  wq cron add backup "0 3 * * *" -q ops
  wq cron ls
  wq cron pause backup
  wq cron rm backup)");
  add_add(cron, chosen);
  add_named(cron, chosen, "rm", "Remove a schedule; its jobs stay", run_cron_rm);
  add_named(cron, chosen, "pause", "Stop a schedule; it misses nothing meanwhile", run_cron_pause);
  add_named(cron, chosen, "resume", "Let it go on with its next slot", run_cron_resume);
  add_named(cron, chosen, "show", "One schedule in full", run_cron_show);
  auto options = std::make_shared<CronOptions>();
  CLI::App& ls = add_one(cron, chosen, "ls", "List the schedules", options, run_cron_ls);
  ls.footer("  wq cron ls\n  wq cron ls -q mail --json");
  ls.add_option("-q,--queue", options->queue, "Only those of this queue")->type_name("NAME");
  options = std::make_shared<CronOptions>();
  CLI::App& next = add_one(cron, chosen, "next", "When an expression is due; needs no store",
                           options, run_cron_next);
  next.footer(
      "  wq cron next \"*/20 8-9 * * *\" -n 3\n  wq cron next \"0 0 29 2 *\" --from "
      "2097-01-01T00:00:00Z");
  next.add_option("expression", options->expression, "When")->required();
  add_zone(next, *options);
  add_number(next, "-n,--count", options->count, "How many times", {1, 10'000})
      ->capture_default_str();
  next.add_option("--from", options->from, "After this time; default: now")->type_name("TIME");
}

}  // namespace wq::cli
