#include "cli/args.h"

#include <CLI/CLI.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/failure.h"
#include "cli/text.h"

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
  app.add_flag("--json", global.output.json, "Exact output for programs, one JSON object per line");
  app.add_flag("--quiet", global.output.quiet, "No notes and no progress on standard error");
  app.add_option("--color", global.output.color, "Colours: auto (on a terminal), always, never")
      ->check(CLI::IsMember({"auto", "always", "never"}).description(""))
      ->type_name("WHEN");
  app.add_option("--lock-wait", global.lock_wait,
                 "How long to wait for a store that another process has open")
      ->type_name("DURATION")
      ->capture_default_str();
  app.add_option("--backend", global.backend, "Log I/O: auto, uring, threads")
      ->check(CLI::IsMember({"auto", "uring", "threads"}).description(""))
      ->type_name("NAME");
}

// CLI11 takes a positional "[a,b]" for the list a, b. A mark in front hides the bracket from it,
// and every option takes the mark off again; what begins with the mark by itself is marked as well.
constexpr char mark = '\x01';

std::vector<std::string> marked_arguments(int argc, char** argv) {
  std::vector<std::string> arguments;  // CLI11 wants them in reverse
  for (int i = argc - 1; i >= 1; --i) {
    const std::string text = argv[i];
    const bool is_list = text.size() >= 2 && text.front() == '[' && text.back() == ']';
    arguments.push_back(is_list || text.starts_with(mark) ? mark + text : text);
  }
  return arguments;
}

std::string without_mark(const std::string& text) {
  return text.starts_with(mark) ? text.substr(1) : text;
}

void take_marks_off(CLI::App& app) {
  for (CLI::Option* const option : app.get_options()) {
    if (option->get_items_expected_max() > 0) option->transform(without_mark);  // no flag
  }
  for (CLI::App* const command : app.get_subcommands([](const CLI::App*) { return true; })) {
    take_marks_off(*command);
  }
}

// Help and version are printed by CLI11; anything else is a Failure like all others.
int tell_parse_error(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  // CLI11 says that a command is missing where an unknown one was given.
  std::string path;
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().back();
    path += at->get_name() + " ";
  }
  const std::vector<std::string> unknown = app.remaining(true);
  if (at->get_require_subcommand_min() > 0 && !unknown.empty() && !unknown[0].starts_with('-')) {
    fail_usage("there is no command '" + path + printable(unknown[0], 60) + "'");
  }
  std::string message = error.what();
  std::erase(message, mark);
  throw Failure{exit_usage, 0, std::move(message)};
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
  // Words without a dash go on until there are none; an option takes one word each time it is
  // given.
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
  take_marks_off(app);
  try {
    app.parse(marked_arguments(argc, argv));
  } catch (const CLI::ParseError& error) {
    invocation.command = nullptr;
    invocation.exit_code = tell_parse_error(app, error);
  }
  return invocation;
}

}  // namespace wq::cli
