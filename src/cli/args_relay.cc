// wq relay and its commands.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/args.h"
#include "cli/commands.h"

namespace wq::cli {
namespace {

void add_queue(CLI::App& command, RelayOptions& options) {
  command.add_option("-q,--queue", options.queue, "Queue that jobs wait in")
      ->type_name("NAME")
      ->capture_default_str();
}

void add_run(CLI::App& relay, Command& chosen) {
  CLI::App& run = *relay.add_subcommand("run", "Bring jobs to Redis, spool them while it is gone");
  const auto options = std::make_shared<RelayOptions>();
  RelayOptions& o = *options;
  run.footer(
      R"(Each line of the input is a job. With --json each is answered: sent, duplicate, spooled or
refused. After the input it drains the queue, waits for Redis if need be, and ends. {queue} in
a layout is the name of the queue.

  produce | wq relay run --redis redis://10.0.0.5:6379 --to list:jobs
  wq relay run -q mail --to stream:mail --in-order --no-input --stay    # drain for ever
  wq relay run -q mail --to prismgo:app --mode shadow < jobs.txt        # a trial)");
  add_queue(run, o);
  run.add_option("--to", o.to, "list:KEY, stream:KEY, prismgo:PREFIX, waitqueue:NS:ID")
      ->type_name("LAYOUT")
      ->required();
  run.add_option("--redis", o.redis, "redis://[USER]:PASSWORD@HOST:PORT/DB, HOST:PORT, unix://PATH")
      ->type_name("ADDRESS")
      ->envname("WQ_REDIS")
      ->capture_default_str();
  run.add_option("--mode", o.mode, "fallback, always (all go through the queue), shadow (a trial)")
      ->check(CLI::IsMember({"fallback", "always", "shadow"}).description(""))
      ->capture_default_str();
  run.add_flag("--in-order", o.in_order, "Nothing overtakes what is spooled; one by one");
  run.add_option("--rate", o.rate, "Of the drain: 100/1s; stays set on the queue");
  run.add_option("--format", o.format, "lines, or jsonl as of wq push")
      ->check(CLI::IsMember({"lines", "jsonl"}).description(""))
      ->capture_default_str();
  run.add_flag("--no-input", o.no_input, "Drain only");
  auto* stay = run.add_flag("--stay", o.stay, "Stay until SIGTERM");
  run.add_flag("--no-wait", o.no_wait, "End when Redis does not take what is left")->excludes(stay);
  run.add_option("--connect-timeout", o.connect_timeout, "Default: 500ms")->type_name("DURATION");
  run.add_option("--timeout", o.timeout, "For an answer of Redis; default: 1s")
      ->type_name("DURATION");
  run.add_option("--keep-ids", o.keep_ids, "How long Redis remembers ids; default: 7d")
      ->type_name("DURATION");
  add_number(run, "--keep-ids-count", o.keep_ids_count, "And how many at most", {1, 1'000'000'000})
      ->capture_default_str();
  run.add_option("--durability", o.durability, "Of what is spooled: power, process or memory");
  run.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_relay(context, *options); };
  });
}

void add_report(CLI::App& relay, Command& chosen) {
  CLI::App& report = *relay.add_subcommand("report", "What became of all jobs of a relay's queue");
  const auto options = std::make_shared<RelayOptions>();
  report.footer("  wq relay report -q mail\n  wq relay report -q mail --prometheus");
  add_queue(report, *options);
  report.add_flag("--prometheus", options->prometheus, "As text for Prometheus");
  report.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_relay_report(context, *options); };
  });
}

}  // namespace

void add_relay_commands(CLI::App& app, Command& chosen) {
  CLI::App& relay = *app.add_subcommand("relay", "Jobs to Redis, and kept here while it is gone");
  relay.require_subcommand(1);
  relay.fallthrough();
  relay.footer(R"(Jobs go to Redis; what it does not take waits in a queue, on disk, until it does.
Redis remembers the ids of the jobs in the step that takes them, so each is applied once.

  produce | wq relay run --redis redis://10.0.0.5:6379 --to list:jobs
  wq relay report)");
  add_run(relay, chosen);
  add_report(relay, chosen);
}

}  // namespace wq::cli
