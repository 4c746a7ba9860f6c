// The command line. args.cc has the program and its global options, args_jobs.cc the commands that
// move jobs, args_flow.cc batches and history, args_admin.cc those that look and set,
// args_observe.cc those that watch, args_help.cc how help looks. These are the only
// files that see CLI11.
// Thread model: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cli/context.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace wq::cli {

using Command = std::function<int(Context&)>;

// What the arguments ask for.
struct Invocation {
  GlobalOptions global;
  Command command;
  std::string name;  // of the command: "dead ls"; empty if none was given
};

// Fills `invocation`, and its name also if it throws: what is wrong is told with the command's
// help.
void parse_arguments(int argc, char** argv, Invocation& invocation);

// For args_*.cc: each adds its commands to `app`; the callback of the one that was given sets
// `chosen`.
void add_job_commands(CLI::App& app, Command& chosen);
void add_admin_commands(CLI::App& app, Command& chosen);
void add_kv_commands(CLI::App& app, Command& chosen);
void add_observe_commands(CLI::App& app, Command& chosen);
void add_key_commands(CLI::App& app, Command& chosen);
void add_keyring_command(CLI::App& app, Command& chosen);
void add_flow_commands(CLI::App& app, Command& chosen);
void add_cron_commands(CLI::App& app, Command& chosen);
void add_relay_commands(CLI::App& app, Command& chosen);

// For args.cc and args_help.cc. CLI11 takes a positional "[a,b]" for the list a, b. A mark in front
// hides the bracket from it, and every option takes the mark off again; what begins with the mark
// by itself is marked as well.
constexpr char argument_mark = '\x01';
std::string without_mark(const std::string& text);
// Sets up help and the checks of all options, once all commands are there.
void polish_commands(CLI::App& app);

// A repeated option or a list of arguments, taken byte for byte: CLI11 would read "{}"
// as lists.
CLI::Option* add_texts(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                       const std::string& description);

// A whole number, refused with the range where it is outside. The only way to one: see
// args_number.cc.
struct NumberRange {
  int64_t min = 0;
  uint64_t max = 0;
};
constexpr NumberRange any_uint32{0, UINT32_MAX};
constexpr NumberRange any_uint63{0, INT64_MAX};
constexpr NumberRange any_uint64{0, UINT64_MAX};
constexpr NumberRange any_int64{INT64_MIN, INT64_MAX};
// Of --limit and --count; what has no bound leaves the option out.
constexpr NumberRange at_least_one{1, UINT32_MAX};
CLI::Option* add_number(CLI::App& command, const std::string& names, uint32_t& value,
                        const std::string& description, NumberRange range);
CLI::Option* add_number(CLI::App& command, const std::string& names, uint64_t& value,
                        const std::string& description, NumberRange range);
CLI::Option* add_number(CLI::App& command, const std::string& names, int64_t& value,
                        const std::string& description, NumberRange range);

}  // namespace wq::cli
