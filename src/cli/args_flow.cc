// The commands about jobs that belong together and about jobs that are done: batch, history.
#include <CLI/CLI.hpp>
#include <memory>

#include "cli/args.h"
#include "cli/commands.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

void add_batch_create(CLI::App& batch, Command& chosen) {
  CLI::App& command = *batch.add_subcommand("create", "Make a batch; prints its id");
  const auto options = std::make_shared<BatchCreateOptions>();
  BatchCreateOptions& o = *options;
  command.footer(
      "  wq batch create --complete-queue mail --complete 'all is done'\n"
      "  wq batch create --allow-failures");
  command.add_option("--complete", o.complete, "Payload of the job that its success enqueues");
  command.add_option("--complete-queue", o.complete_queue, "Queue of that job; made if not there")
      ->type_name("NAME");
  command.add_option("--failure", o.failure, "Payload of the job that its failure enqueues");
  command.add_option("--failure-queue", o.failure_queue, "Queue of that job; made if not there")
      ->type_name("NAME");
  command.add_flag("--allow-failures", o.allow_failures,
                   "It succeeds also if jobs failed or were cancelled");
  command.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_batch_create(context, *options); };
  });
}

void add_batch(CLI::App& app, Command& chosen) {
  CLI::App& batch = *app.add_subcommand("batch", "Jobs that are counted together");
  batch.require_subcommand(1);
  batch.fallthrough();
  batch.footer(R"(A batch enqueues one job in the moment in which the last of its jobs settles.

  id=$(wq batch create --complete-queue mail --complete 'all pages are there')
  wq push -q pages --batch "$id" --file pages.txt
  wq batch seal "$id"                    # no more jobs will come: it may end
  wq batch show "$id")");
  add_batch_create(batch, chosen);
  struct Entry {
    const char* name;
    const char* text;
    BatchAction action;
  };
  for (const Entry& entry :
       {Entry{"show", "The counts of a batch", BatchAction::show},
        Entry{"seal", "Say that no more jobs will come from outside", BatchAction::seal},
        Entry{"cancel", "End its jobs that did not start", BatchAction::cancel}}) {
    CLI::App& command = *batch.add_subcommand(entry.name, entry.text);
    const auto id = std::make_shared<std::string>();
    command.footer("  wq batch " + std::string(entry.name) + " 17");
    command.add_option("batch", *id, "Id of the batch")->required();
    command.callback([id, action = entry.action, &chosen] {
      chosen = [id, action](Context& context) {
        return run_batch(context, action, parse_number("batch", *id));
      };
    });
  }
  CLI::App& ls = *batch.add_subcommand("ls", "List batches, newest first");
  const auto limit = std::make_shared<uint32_t>(20);
  ls.footer(
      "Finished batches are kept for seven days. Exit code 4: there is none.\n\n  wq batch ls");
  add_number(ls, "--limit", *limit, "At most so many", {1, 1'000'000})->capture_default_str();
  ls.callback([limit, &chosen] {
    chosen = [limit](Context& context) { return run_batch_ls(context, *limit); };
  });
}

void add_history(CLI::App& app, Command& chosen) {
  CLI::App& command = *app.add_subcommand("history", "Jobs that were acked, with their results");
  const auto options = std::make_shared<HistoryOptions>();
  HistoryOptions& o = *options;
  command.footer(
      "A queue keeps them when it is told to. Exit code 4: there is none.\n\n"
      "  wq queue set mail --keep-done 1000 --keep-done-for 7d\n"
      "  wq ack 12:34 --result 'sent as 5f3a'\n"
      "  wq history -q mail\n"
      "  wq history 12");
  command.add_option("job", o.job, "Id of one job; else the newest");
  command.add_option("-q,--queue", o.queue, "Queue; default: that of JOB, else default")
      ->type_name("NAME");
  add_number(command, "--limit", o.limit, "At most so many", {1, 1'000'000})->capture_default_str();
  command.callback([options, &chosen] {
    chosen = [options](Context& context) { return run_history(context, *options); };
  });
}

}  // namespace

void add_flow_commands(CLI::App& app, Command& chosen) {
  add_batch(app, chosen);
  add_history(app, chosen);
}

}  // namespace wq::cli
