#include "cli/args.h"

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "cli/failure.h"

namespace wq::cli {
namespace {

constexpr const char* description =
    "wq: a durable queue in a directory. No server: the store belongs to the process that has it "
    "open.\n"
    "Delivery is at least once: a job can run again after a crash or a lost lease, so handlers "
    "must\n"
    "bear that.";

constexpr const char* footer = R"(First steps:
  wq push "hello"                        a job into queue 'default' of ./wq-store
  seq 1 1000 | wq push -q numbers        a job per line
  wq stat                                what is where
  wq work -q numbers -n 4 --stop-when-empty -- sh -c 'sleep 0.1; cat'
                                         four at a time, payload on standard input, exit 0 acks
  wq dead ls                             what failed for good, and why

The store: --store DIR, else $WQ_STORE, else ./wq-store.
Exit codes: 0 ok, 1 other error, 2 usage, 3 not found, 4 empty, 5 stale token, 6 store locked,
7 disk full, I/O error or damage, 8 refused (disabled, paused, full, other state), 9 work --strict.
Every command has its own --help with examples. The whole manual: docs/CLI.md.)";

void add_global_options(CLI::App& app, GlobalOptions& global) {
  app.add_option("--store", global.store, "Directory of the store")
      ->envname("WQ_STORE")
      ->type_name("DIR")
      ->capture_default_str();
  app.add_flag("--json", global.output.json,
               "Exact output for programs: one JSON object per line; bytes that are not UTF-8 as "
               "NAME_base64");
  app.add_flag("--quiet", global.output.quiet, "No notes and no progress on standard error");
  app.add_option("--color", global.output.color, "Colours: auto (on a terminal), always, never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");
  app.add_option("--lock-wait", global.lock_wait,
                 "How long to wait for a store that another process has open")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--backend", global.backend, "Log I/O: auto, uring, threads")
      ->check(CLI::IsMember({"auto", "uring", "threads"}))
      ->type_name("NAME");
}

// CLI11's own words, with our exit codes.
int tell_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  const int code = app.exit(error);
  return code == 0 ? exit_ok : exit_usage;
}

}  // namespace

CLI::Option* add_texts(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                       const std::string& description_text) {
  const CLI::callback_t take = [&values](const CLI::results_t& results) {
    values = results;
    return true;
  };
  CLI::Option* const option = command.add_option(name, take, description_text);
  option->type_name("TEXT")->type_size(1)->expected(1, CLI::detail::expected_max_vector_size);
  // Words without a dash go on until there are none; an option takes one word each time it is given.
  option->allow_extra_args(name.front() != '-');
  return option;
}

Invocation parse_arguments(int argc, char** argv) {
  Invocation invocation;
  CLI::App app(description, "wq");
  app.footer(footer);
  app.require_subcommand(1);
  app.fallthrough();  // global options may stand behind the command
  app.set_version_flag("--version", [] { return std::string(wq_version_string()); });
  app.get_formatter()->column_width(32);
  add_global_options(app, invocation.global);
  add_job_commands(app, invocation.command);
  add_admin_commands(app, invocation.command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    invocation.command = nullptr;
    invocation.exit_code = tell_parse_error(app, error);
  }
  return invocation;
}

}  // namespace wq::cli
