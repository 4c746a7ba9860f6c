// A program of ours in a process of its own, which a test reads from and kills. The program lies
// beside the test's own; its standard output is a pipe to the test, its standard input one from the
// test that ends with it. Thread model: one thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace wq {

class ChildProcess {
 public:
  ChildProcess(const std::string& program, std::vector<std::string> arguments);
  ~ChildProcess();  // kills it
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  bool started() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  int output() const { return output_; }  // ours: at its end once the child is gone and all is read
  // SIGKILL, if it still runs. Both return the status of waitpid(), 0 if it was reaped before.
  int kill_now();
  int reap();

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  int output_ = -1;
};

}  // namespace wq
