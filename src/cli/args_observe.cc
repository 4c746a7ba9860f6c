// The commands that watch: explain, events, metrics.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/args.h"
#include "cli/commands.h"

namespace wq::cli {
namespace {

void add_explain(CLI::App& app, Command& chosen) {
  CLI::App& command =
      *app.add_subcommand("explain", "Why a job does not run, or what holds a queue");
  const auto options = std::make_shared<ExplainOptions>();
  command.footer(
      R"(Says where the job is and names every cause that holds it back, each with the
command that does something about it. A number is a job; -q names a queue that
looks like one.

  wq explain 12
  wq explain mail
  wq explain 12 -q mail --json)");
  command.add_option("target", options->target, "Id or token of a job, or name of a queue");
  command.add_option("-q,--queue", options->queue, "Queue of the job; alone: the queue to explain")
      ->type_name("NAME");
  command.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_explain(context, *options); };
  });
}

void add_events(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("events", "What happens while this has the store open");
  const auto options = std::make_shared<EventsOptions>();
  command.footer(
      R"(The store belongs to one process at a time, and this is that process: it shows what
the store does by itself, that is leases taken back, delayed jobs that become ready,
checkpoints. What a worker does is told by wq work --events; a program reads its own
events by wq_events_poll; wq log dump shows the changes of the past.

  wq events --follow
  wq events --for 10s --json)");
  auto* const follow = command.add_flag("--follow", options->follow, "Go on until interrupted");
  command.add_option("--for", options->time, "How long to look")
      ->type_name("DURATION")
      ->capture_default_str()
      ->excludes(follow);
  command.add_flag("--expire-leases", options->expire_leases,
                   "Take all leases of the time before back at once");
  command.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_events(context, *options); };
  });
}

void add_metrics(CLI::App& app, Command& chosen) {
  app.add_subcommand("metrics", "All figures, in the text format of Prometheus")
      ->footer(
          R"(docs/METRICS.md explains each. The only label is the queue. What counts since open is
zero here, as this opens the store; a program serves its own by wq_store_metrics.

  wq metrics > /var/lib/node_exporter/wq.prom)")
      ->callback([&chosen] { chosen = [](Context& context) { return run_metrics(context); }; });
}

}  // namespace

void add_observe_commands(CLI::App& app, Command& chosen) {
  add_explain(app, chosen);
  add_events(app, chosen);
  add_metrics(app, chosen);
}

}  // namespace wq::cli
