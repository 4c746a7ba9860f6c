// The wq program: parses, runs one command, and turns how it ended into a message and an exit code.
// It is written over wq.h only, as any other user of the library. Thread model: one thread.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <string_view>

#include "cli/args.h"
#include "cli/failure.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

void tell_failure(Output& out, const Failure& failure, const std::string& command) {
  if (out.json()) {
    Record error;
    error.add("code", failure.code != 0 ? wq_error_name(failure.code) : "")
        .add("exit_code", failure.exit_code);
    error.add_bytes("message", failure.message);
    out.error_bytes(to_json(Record().add("error", std::move(error))) + "\n");
    return;
  }
  const std::string program = "wq" + (command.empty() ? "" : " " + command);
  const std::string hint = failure.help_helps ? "; " + program + " --help shows how" : "";
  // Paths, and words of the library, come as they are.
  out.error_bytes("wq: " + one_line(failure.message) + hint + "\n");
}

// A standard descriptor that is closed would be given to the next file that is opened: results
// would be written into the store. What stands in for it refuses: reads of 0, writes to 1 and 2.
void fill_standard_descriptors() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd) {
    if (::fcntl(fd, F_GETFD) >= 0 || errno != EBADF) continue;
    const int opened = ::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != fd) ::close(opened);
  }
}

int run_command(const Invocation& invocation) {
  Context context(invocation.global);
  try {
    const int exit_code = invocation.command(context);
    context.out().flush();
    return exit_code;
  } catch (const Failure& failure) {
    try {
      context.out().flush();  // what was told before it went wrong
    } catch (const Failure&) {
      // Standard output is gone as well; the first failure is the one to tell.
    }
    tell_failure(context.out(), failure, invocation.name);
    return failure.exit_code;
  }
}

// What is wrong with the arguments may have hidden it from the parser. Behind "--" stand payloads
// and commands of others.
bool asks_for_json(int argc, char** argv) {
  for (int i = 1; i < argc && std::string_view(argv[i]) != "--"; ++i) {
    if (std::string_view(argv[i]) == "--json") return true;
  }
  return false;
}

int run(int argc, char** argv) {
  Invocation invocation;
  Failure failure;
  try {
    parse_arguments(argc, argv, invocation);
    return run_command(invocation);
  } catch (const Failure& wrong_arguments) {
    failure = wrong_arguments;
  } catch (const std::exception& error) {  // out of memory, or a fault of ours
    failure.message = error.what();
  }
  OutputOptions options;
  options.json = asks_for_json(argc, argv);
  Output out{options};
  tell_failure(out, failure, invocation.name);
  return failure.exit_code;
}

}  // namespace
}  // namespace wq::cli

int main(int argc, char** argv) {
  // A closed pipe is an error like others: it must not end the program before the store is closed.
  // So is a file that grows over a limit of the process.
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);
  wq::cli::fill_standard_descriptors();
  try {
    return wq::cli::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "wq: %s\n", error.what());
    return wq::cli::exit_other;
  }
}
