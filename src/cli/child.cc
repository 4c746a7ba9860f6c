#include "cli/child.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>

namespace wq::cli {
namespace {

constexpr std::chrono::seconds grace{5};
constexpr size_t stderr_tail_bytes_max = 3500;  // wq keeps 4 KiB of error text, from its start
constexpr size_t read_bytes = 64 << 10;

struct Pipe {
  int read_fd = -1, write_fd = -1;
  int open() {
    std::array<int, 2> fds{};
    if (::pipe2(fds.data(), O_CLOEXEC) != 0) return errno;
    read_fd = fds[0];
    write_fd = fds[1];
    return 0;
  }
  ~Pipe() {
    if (read_fd >= 0) ::close(read_fd);
    if (write_fd >= 0) ::close(write_fd);
  }
};

// Takes our end out of the pipe and makes it one that never waits.
int take_end(int& end) {
  const int fd = end;
  end = -1;
  ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return fd;
}

void close_fd(int& fd) {
  if (fd >= 0) ::close(fd);
  fd = -1;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// What is given, then ours without what that sets anew and what is not inherited.
std::vector<std::string> environment_of(const Child::Options& options) {
  std::vector<std::string> all = options.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('=') + 1);
    bool left_out = false;
    for (const std::string& given : options.environment) {
      left_out = left_out || given.starts_with(name);
    }
    for (const std::string& prefix : options.not_inherited) {
      left_out = left_out || text.starts_with(prefix);
    }
    if (!left_out) all.emplace_back(text);
  }
  return all;
}

// posix_spawn's two attribute objects, freed together.
struct SpawnPlan {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  SpawnPlan() {
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawnattr_init(&attributes);
    sigset_t defaults, none;
    ::sigemptyset(&none);
    ::sigemptyset(&defaults);
    ::sigaddset(&defaults, SIGPIPE);  // ignored by us, and ignoring is inherited
    ::sigaddset(&defaults, SIGXFSZ);
    ::posix_spawnattr_setsigdefault(&attributes, &defaults);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    ::posix_spawnattr_setflags(
        &attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnPlan() {
    ::posix_spawn_file_actions_destroy(&actions);
    ::posix_spawnattr_destroy(&attributes);
  }
  SpawnPlan(const SpawnPlan&) = delete;
  SpawnPlan& operator=(const SpawnPlan&) = delete;
};

}  // namespace

Child::~Child() {
  if (pid_ > 0) {
    kill_now();
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
  }
  close_all();
}

int Child::start(const std::vector<std::string>& command, const Options& options) {
  Pipe in, out, err;
  int failed = options.pipe_stdin ? in.open() : 0;
  if (failed == 0 && options.out == Stdout::pipe) failed = out.open();
  if (failed == 0) failed = err.open();
  if (failed != 0) return failed;

  SpawnPlan plan;
  auto* const actions = &plan.actions;
  if (options.pipe_stdin) {
    ::posix_spawn_file_actions_adddup2(actions, in.read_fd, STDIN_FILENO);
  } else {
    ::posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  }
  if (options.out == Stdout::pipe) {
    ::posix_spawn_file_actions_adddup2(actions, out.write_fd, STDOUT_FILENO);
  } else if (options.out == Stdout::to_stderr) {
    ::posix_spawn_file_actions_adddup2(actions, err.write_fd, STDOUT_FILENO);
  }
  ::posix_spawn_file_actions_adddup2(actions, err.write_fd, STDERR_FILENO);

  const std::vector<std::string> environment = environment_of(options);
  const std::vector<char*> argv = pointers_to(command), envp = pointers_to(environment);
  failed = ::posix_spawnp(&pid_, argv[0], actions, &plan.attributes, argv.data(), envp.data());
  if (failed != 0) {
    pid_ = -1;
    return failed;
  }
  if (options.pipe_stdin) stdin_fd_ = take_end(in.write_fd);
  if (options.out == Stdout::pipe) stdout_fd_ = take_end(out.read_fd);
  stderr_fd_ = take_end(err.read_fd);
  stderr_tail_.clear();
  stdin_refused_ = terminating_ = false;
  return 0;
}

void Child::write_some(std::string& input) {
  size_t written = 0;
  while (stdin_fd_ >= 0 && written < input.size()) {
    const ssize_t count = ::write(stdin_fd_, input.data() + written, input.size() - written);
    if (count >= 0) {
      written += static_cast<size_t>(count);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      stdin_refused_ = true;
      close_stdin();
    }
  }
  input.erase(0, stdin_fd_ >= 0 ? written : input.npos);
}

void Child::close_stdin() {
  close_fd(stdin_fd_);
}

size_t Child::stdin_unread() const {
  int unread = 0;
  if (stdin_fd_ < 0 || ::ioctl(stdin_fd_, FIONREAD, &unread) != 0 || unread < 0) return 0;
  return static_cast<size_t>(unread);
}

bool Child::read_stdout(std::string& output) {
  std::array<char, read_bytes> bytes;
  while (stdout_fd_ >= 0) {
    const ssize_t count = ::read(stdout_fd_, bytes.data(), bytes.size());
    if (count > 0) {
      output.append(bytes.data(), static_cast<size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      return true;
    } else if (count == 0 || errno != EINTR) {
      close_fd(stdout_fd_);
    }
  }
  return false;
}

void Child::pass_stderr(Output& out) {
  std::array<char, read_bytes> bytes;
  while (stderr_fd_ >= 0) {
    const ssize_t count = ::read(stderr_fd_, bytes.data(), bytes.size());
    if (count > 0) {
      const std::string_view text(bytes.data(), static_cast<size_t>(count));
      out.error_bytes(text);
      stderr_tail_ += text;
      if (stderr_tail_.size() > stderr_tail_bytes_max) {
        stderr_tail_.erase(0, stderr_tail_.size() - stderr_tail_bytes_max);
      }
    } else if (count < 0 && errno == EAGAIN) {
      return;
    } else if (count == 0 || errno != EINTR) {
      close_fd(stderr_fd_);
    }
  }
}

void Child::add_polls(std::vector<pollfd>& polls, bool wants_write) const {
  if (stdin_fd_ >= 0 && wants_write) polls.push_back({stdin_fd_, POLLOUT, 0});
  if (stdout_fd_ >= 0) polls.push_back({stdout_fd_, POLLIN, 0});
  if (stderr_fd_ >= 0) polls.push_back({stderr_fd_, POLLIN, 0});
}

bool Child::reap(int& status) {
  if (pid_ <= 0 || ::waitpid(pid_, &status, WNOHANG) != pid_) return false;
  pid_ = -1;
  return true;
}

void Child::terminate() {
  if (pid_ <= 0 || terminating_) return;
  terminating_ = true;
  kill_at_ = std::chrono::steady_clock::now() + grace;
  ::kill(-pid_, SIGTERM);
}

void Child::tick() {
  if (terminating_ && std::chrono::steady_clock::now() >= kill_at_) kill_now();
}

void Child::kill_now() {
  if (pid_ > 0) ::kill(-pid_, SIGKILL);
}

void Child::close_all() {
  close_fd(stdin_fd_);
  close_fd(stdout_fd_);
  close_fd(stderr_fd_);
}

bool program_exists(const std::string& program) {
  const auto runnable = [](const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
           ::access(path.c_str(), X_OK) == 0;
  };
  if (program.find('/') != program.npos) return runnable(program);
  const char* const path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/bin:/bin";
  for (;;) {
    const size_t colon = rest.find(':');
    const std::string directory(rest.substr(0, colon));
    if (runnable((directory.empty() ? "." : directory) + "/" + program)) return true;
    if (colon == rest.npos) return false;
    rest.remove_prefix(colon + 1);
  }
}

bool program_is_a_file(const std::string& program) {
  struct stat info {};
  return program.find('/') != program.npos && ::stat(program.c_str(), &info) == 0;
}

std::string describe_exit(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return "killed by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
  }
  return "exit status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace wq::cli
