// The command line. args.cc has the program and its global options, args_jobs.cc the commands that
// move jobs, args_admin.cc those that look and set. These are the only files that see CLI11.
// Thread model: one thread.
#pragma once

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

// What the arguments ask for. Without a command (help was printed, or the arguments are wrong)
// `exit_code` is all there is to do.
struct Invocation {
  GlobalOptions global;
  Command command;
  int exit_code = 0;
};

Invocation parse_arguments(int argc, char** argv);

// For args_*.cc: each adds its commands to `app`; the callback of the one that was given sets
// `chosen`.
void add_job_commands(CLI::App& app, Command& chosen);
void add_admin_commands(CLI::App& app, Command& chosen);

// A repeated option or a list of arguments, taken byte for byte: CLI11 would read "{}"
// as lists.
CLI::Option* add_texts(CLI::App& command, const std::string& name, std::vector<std::string>& values,
                       const std::string& description);

}  // namespace wq::cli
