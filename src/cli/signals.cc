#include "cli/signals.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "cli/failure.h"

namespace wq::cli {
namespace {

// Written by the handler, read by the command: lock-free atomics and a pipe are all it touches.
std::atomic<int> stop_count{0};
std::atomic<int> stop_signal{0};
std::array<int, 2> wake_pipe = {-1, -1};

constexpr std::array<int, 4> handled = {SIGINT, SIGTERM, SIGHUP, SIGCHLD};
std::array<struct sigaction, handled.size()> actions_before;

// A terminal that closes sends SIGHUP, and its shell once more: that is one wish, and not the one
// to stop at once.
void on_hangup() {
  int none = 0;
  if (stop_signal.compare_exchange_strong(none, SIGHUP)) stop_count.fetch_add(1);
}

void on_signal(int signal) {
  const int saved_errno = errno;
  if (signal == SIGHUP) {
    on_hangup();
  } else if (signal != SIGCHLD) {
    stop_signal.store(signal);
    stop_count.fetch_add(1);
  }
  const char byte = 0;
  (void)!::write(wake_pipe[1], &byte, 1);  // full: it is readable already
  errno = saved_errno;
}

}  // namespace

StopSignals::StopSignals() {
  if (::pipe2(wake_pipe.data(), O_CLOEXEC | O_NONBLOCK) != 0) fail_errno("pipe", errno);
  for (size_t i = 0; i < handled.size(); ++i) {
    ::sigaction(handled[i], nullptr, &actions_before[i]);
    if (handled[i] == SIGHUP && actions_before[i].sa_handler == SIG_IGN) continue;  // nohup
    struct sigaction action {};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    ::sigemptyset(&action.sa_mask);
    ::sigaction(handled[i], &action, nullptr);
  }
}

StopSignals::~StopSignals() {
  for (size_t i = 0; i < handled.size(); ++i) {
    ::sigaction(handled[i], &actions_before[i], nullptr);
  }
  for (const int fd : wake_pipe) ::close(fd);
}

int StopSignals::count() const {
  return stop_count.load();
}
int StopSignals::last_signal() const {
  return stop_signal.load();
}
int StopSignals::fd() const {
  return wake_pipe[0];
}

void StopSignals::drain() const {
  std::array<char, 64> bytes;
  while (::read(wake_pipe[0], bytes.data(), bytes.size()) > 0) {
  }
}

const char* StopSignals::last_signal_name() const {
  switch (last_signal()) {
    case SIGINT:
      return "SIGINT";
    case SIGHUP:
      return "SIGHUP";
    default:
      return "SIGTERM";
  }
}

bool StopSignals::wait_ms(int64_t timeout_ms) const {
  if (count() == 0) {
    pollfd ready{wake_pipe[0], POLLIN, 0};
    ::poll(&ready, 1, static_cast<int>(std::min<int64_t>(timeout_ms, 1 << 30)));
  }
  return count() > 0;
}

}  // namespace wq::cli
