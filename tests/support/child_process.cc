#include "support/child_process.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <utility>

namespace wq {

ChildProcess::ChildProcess(const std::string& program, std::vector<std::string> arguments) {
  const std::string path =
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / program).string();
  std::vector<char*> argv{const_cast<char*>(path.c_str())};
  for (std::string& one : arguments) argv.push_back(one.data());
  argv.push_back(nullptr);
  std::array<int, 2> in{}, out{};
  if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) {
    ADD_FAILURE() << "no pipe";
    return;
  }
  pid_ = fork();
  if (pid_ == 0) {
    dup2(in[0], STDIN_FILENO);
    dup2(out[1], STDOUT_FILENO);
    execv(path.c_str(), argv.data());
    _exit(127);
  }
  close(in[0]);
  close(out[1]);
  input_ = in[1];
  output_ = out[0];
}

ChildProcess::~ChildProcess() {
  kill_now();
  if (input_ >= 0) close(input_);
  if (output_ >= 0) close(output_);
}

int ChildProcess::kill_now() {
  if (pid_ > 0) kill(pid_, SIGKILL);
  return reap();
}

int ChildProcess::reap() {
  int status = 0;
  if (pid_ > 0) waitpid(std::exchange(pid_, -1), &status, 0);
  return status;
}

}  // namespace wq
