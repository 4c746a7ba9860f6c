// One process that runs for us: started with pipes, in a process group of its own (so that Ctrl-C
// reaches wq only and a kill reaches the whole group), fed and read without ever waiting for it.
// Its standard error is passed on to ours, and its tail is kept. If wq itself is killed the process
// lives on; it sees the end of its standard input. Thread model: one thread.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cli/output.h"

namespace wq::cli {

using SteadyTime = std::chrono::steady_clock::time_point;

class Child {
 public:
  enum class Stdout { inherit, to_stderr, pipe };
  struct Options {
    bool pipe_stdin = true;  // else it is /dev/null
    Stdout out = Stdout::inherit;
    std::vector<std::string> environment;    // NAME=VALUE, on top of ours
    std::vector<std::string> not_inherited;  // what of ours begins so is left out
  };

  Child() = default;
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // 0, or the errno of the first step that failed; then nothing runs.
  int start(const std::vector<std::string>& command, const Options& options);
  bool running() const { return pid_ > 0; }

  // Writes as much of the input as fits and drops it from the front. Input that the process does
  // not want (it closed its end) is dropped, and stdin_refused() tells so.
  void write_some(std::string& input);
  bool stdin_refused() const { return stdin_refused_; }
  void close_stdin();
  bool stdin_open() const { return stdin_fd_ >= 0; }
  // Bytes in the pipe that the process has not read yet; 0 once its standard input is closed.
  size_t stdin_unread() const;

  // Appends what is there. False once the process has closed its standard output.
  bool read_stdout(std::string& output);
  void pass_stderr(Output& out);
  const std::string& stderr_tail() const { return stderr_tail_; }

  void add_polls(std::vector<pollfd>& polls, bool wants_write) const;

  // True once it has ended; then `status` is that of waitpid. Asks without waiting.
  bool reap(int& status);

  // SIGTERM to the group, and SIGKILL after a grace period, which tick() sees to.
  void terminate();
  void tick();
  void kill_now();
  bool terminating() const { return terminating_; }

 private:
  void close_all();

  pid_t pid_ = -1;
  int stdin_fd_ = -1, stdout_fd_ = -1, stderr_fd_ = -1;
  bool stdin_refused_ = false;
  bool terminating_ = false;
  SteadyTime kill_at_{};
  std::string stderr_tail_;
};

// Whether a program can be run: a path, or a name to look up in PATH.
bool program_exists(const std::string& program);
// Whether there is a file that would be it if it were executable.
bool program_is_a_file(const std::string& program);

// "exit status 3", "killed by signal 9 (Killed)"
std::string describe_exit(int status);

}  // namespace wq::cli
