// How a command ends badly: exit codes, and the one exception of the program.
//
// The program (not the library) uses exceptions: a command that can not go on throws a Failure, and
// main() prints it and leaves with its exit code. Nothing else is thrown on purpose. The exit codes
// are a promise to scripts and stand in docs/CLI.md. Thread model: any thread.
#pragma once

#include <wq.h>

#include <cstdint>
#include <string>

namespace wq::cli {

enum ExitCode : int {
  exit_ok = 0,
  exit_other = 1,
  exit_usage = 2,       // an argument, an option or an input line is wrong
  exit_not_found = 3,   // no such store, queue, job or dead letter
  exit_empty = 4,       // nothing there to take or to list
  exit_stale = 5,       // the token is no longer valid; nothing changed
  exit_locked = 6,      // another process has the store open
  exit_storage = 7,     // disk full, I/O error, damage, or a check that found problems
  exit_refused = 8,     // the queue is disabled, paused or full, or the job is in another state
  exit_job_failed = 9,  // work --strict: an attempt failed
};

struct Failure {
  int exit_code = exit_other;
  int32_t code = 0;  // of wq.h; 0 if the program itself found the fault
  std::string message;
  bool help_helps = false;  // the message ends with a pointer to the command's --help
};

[[noreturn]] void fail(int exit_code, std::string message);
// The arguments are wrong. Where --help would not help, fail() with exit_usage.
[[noreturn]] void fail_usage(std::string message);
// A place that can not be one is the fault of the arguments; a disk that is full, broken or not to
// be written is one of the storage, whether it is that of the store or that of an output.
int exit_code_of_errno(int os_errno);
Failure failure_of_errno(const std::string& what, int os_errno);
[[noreturn]] void fail_errno(const std::string& what, int os_errno);

int exit_code_of(int32_t code);

// The line of `err`, or the text of the code where a call left none.
std::string message_of(int32_t code, const wq_error& err);

// Throws unless `code` is WQ_OK.
void check(int32_t code, const wq_error& err);

}  // namespace wq::cli
