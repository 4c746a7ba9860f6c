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
  wq push "hello"                        # a job into queue 'default' of ./wq-store
  seq 1 1000 | wq push -q numbers        # a job per line
  wq stat                                # what is where
  wq work -q numbers -n 4 --stop-when-empty -- sh -c 'sleep 0.1; cat'
                                         # four at a time, payload on standard input, exit 0 acks
  wq dead ls                             # what failed for good, and why

The store: --store DIR, else $WQ_STORE, else ./wq-store.
Exit codes: 0 ok, 1 other error, 2 usage, 3 not found, 4 empty, 5 stale token, 6 store locked,
7 disk full, I/O error or damage, 8 refused (disabled, paused, full, other state), 9 work --strict.
wq help COMMAND shows its options and examples. The whole manual: docs/CLI.md.)";

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
  app.add_option("--key-file", global.key_file, "Keys of encrypted payloads; see wq help keyring")
      ->envname("WQ_KEY_FILE")
      ->type_name("FILE");
  app.add_option("--backend", global.backend, "Log I/O: auto, uring, threads")
      ->check(CLI::IsMember({"auto", "uring", "threads", "thread"}).description(""))
      ->type_name("NAME");
}

// "wq help dead ls" is "wq dead ls --help".
std::vector<std::string> marked_arguments(int argc, char** argv) {
  std::vector<std::string> arguments;  // CLI11 wants them in reverse
  const bool help = argc > 1 && std::string_view(argv[1]) == "help";
  if (help) arguments.emplace_back("--help");
  for (int i = argc - 1; i >= (help ? 2 : 1); --i) {
    const std::string text = argv[i];
    const bool is_list = text.size() >= 2 && text.front() == '[' && text.back() == ']';
    arguments.push_back(is_list || text.starts_with(argument_mark) ? argument_mark + text : text);
  }
  return arguments;
}

// The command that was given, and its name.
const CLI::App& chosen_command(const CLI::App& app, std::string& name) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) {
    at = at->get_subcommands().back();
    name += (name.empty() ? "" : " ") + at->get_name();
  }
  return *at;
}

// CLI11 says that a command is missing where an unknown one was given, and speaks of arguments
// where it means an option.
void explain_extras(const CLI::App& app, const CLI::App& command, const std::string& name,
                    bool asks_for_help) {
  std::vector<std::string> extras = app.remaining(true);
  std::erase(extras, "--");
  if (extras.empty()) return;
  const std::string extra = printable(without_mark(extras[0]), 60);
  if (extra.starts_with('-')) {
    if (asks_for_help) return;
    fail_usage("there is no option " + extra +
               (name == "push" ? "; put -- before payloads that begin with -" : ""));
  }
  if (command.get_require_subcommand_min() > 0) {
    fail_usage("there is no command '" + name + (name.empty() ? "" : " ") + extra + "'");
  }
}

// Help and version are results like others; what is wrong is a Failure like all others.
void tell_parse_error(const CLI::App& app, const CLI::ParseError& error, Invocation& invocation) {
  const CLI::App& command = chosen_command(app, invocation.name);
  const bool is_help = error.get_name() == "CallForHelp";
  const auto kind = static_cast<CLI::ExitCodes>(error.get_exit_code());
  if (is_help || kind == CLI::ExitCodes::ExtrasError || kind == CLI::ExitCodes::RequiredError) {
    explain_extras(app, command, invocation.name, is_help);
  }
  if (error.get_exit_code() == 0) {
    const std::string text = is_help ? app.help() : std::string("wq ") + wq_version_string() + "\n";
    invocation.command = [text](Context& context) {
      context.out().raw(text);
      return exit_ok;
    };
    return;
  }
  std::string message = error.what();
  std::erase(message, argument_mark);
  fail_usage(std::move(message));
}

}  // namespace

std::string without_mark(const std::string& text) {
  return text.starts_with(argument_mark) ? text.substr(1) : text;
}

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

void parse_arguments(int argc, char** argv, Invocation& invocation) {
  CLI::App app(description, "wq");
  app.footer(footer);
  app.require_subcommand(1);
  app.fallthrough();  // global options may stand behind the command
  app.set_version_flag("-V,--version", "", "Print the version");
  add_global_options(app, invocation.global);
  add_job_commands(app, invocation.command);
  add_flow_commands(app, invocation.command);
  add_admin_commands(app, invocation.command);
  add_kv_commands(app, invocation.command);
  add_observe_commands(app, invocation.command);
  add_key_commands(app, invocation.command);
  add_keyring_command(app, invocation.command);
  add_cron_commands(app, invocation.command);
  add_relay_commands(app, invocation.command);
  polish_commands(app);
  try {
    app.parse(marked_arguments(argc, argv));
    chosen_command(app, invocation.name);
  } catch (const CLI::ParseError& error) {
    tell_parse_error(app, error, invocation);
  }
}

}  // namespace wq::cli
