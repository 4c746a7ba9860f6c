#include "model/isolate.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

namespace wq::model {
namespace {

Outcome run_here(const Stream& stream) {
  try {
    return run_stream(stream);
  } catch (const std::exception& thrown) {
    Outcome outcome;
    outcome.ok = false;
    outcome.message = std::string("exception: ") + thrown.what();
    return outcome;
  }
}

void write_all(int fd, const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(fd, at, bytes);
    if (written <= 0) return;  // the reader is gone
    at += written;
    bytes -= static_cast<size_t>(written);
  }
}

std::string read_all(int fd) {
  std::string bytes;
  char room[4096];
  for (;;) {
    const ssize_t got = ::read(fd, room, sizeof room);
    if (got <= 0) return bytes;
    bytes.append(room, static_cast<size_t>(got));
  }
}

// ok, op and the counters as they lie in memory, then the message.
struct Head {
  uint64_t ok;
  uint64_t op;
  std::array<uint64_t, rare_count> rare;
  std::array<uint64_t, op_kind_count> ops;
};

[[noreturn]] void child(const Stream& stream, int fd, unsigned seconds) {
  ::signal(SIGALRM, SIG_DFL);
  ::alarm(seconds);
  const Outcome outcome = run_here(stream);
  const Head head{outcome.ok, outcome.op, outcome.rare, outcome.ops};
  write_all(fd, &head, sizeof head);
  write_all(fd, outcome.message.data(), outcome.message.size());
  std::fflush(nullptr);
  ::_exit(0);
}

}  // namespace

Outcome run_isolated(const Stream& stream, unsigned seconds) {
  if (std::getenv("WQ_MODEL_IN_PROCESS") != nullptr) return run_here(stream);
  Outcome outcome;
  outcome.ok = false;
  int ends[2] = {-1, -1};
  if (::pipe(ends) != 0) {
    outcome.message = "pipe failed";
    return outcome;
  }
  std::fflush(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    child(stream, ends[1], seconds);
  }
  ::close(ends[1]);
  const std::string told = read_all(ends[0]);
  ::close(ends[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  if (told.size() < sizeof(Head)) {
    const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    outcome.op = stream.ops.size();
    outcome.message =
        signal == SIGALRM ? "does not end" : "died of signal " + std::to_string(signal);
    return outcome;
  }
  Head head;
  std::memcpy(&head, told.data(), sizeof head);
  outcome.ok = head.ok != 0;
  outcome.op = head.op;
  outcome.rare = head.rare;
  outcome.ops = head.ops;
  outcome.message = told.substr(sizeof head);
  return outcome;
}

namespace {

class Shrinker {
 public:
  Shrinker(Stream stream, size_t runs, unsigned seconds)
      : best_(std::move(stream)), runs_(runs), seconds_(seconds) {}

  Stream run() {
    for (size_t parts = 2; parts <= std::max<size_t>(best_.ops.size(), 1) * 2; parts *= 2) {
      while (remove_parts(parts)) {
      }
      if (runs_ == 0) return best_;
    }
    plainer_setting();
    while (remove_parts(best_.ops.size())) {
    }
    return best_;
  }

 private:
  bool fails(const Stream& stream) {
    if (runs_ == 0) return false;
    --runs_;
    if (std::chrono::steady_clock::now() > end_) runs_ = 0;
    const Outcome outcome = run_isolated(stream, seconds_);
    if (outcome.ok) return false;
    best_ = stream;
    // What follows the failing operation has no part in it.
    if (outcome.op + 1 < best_.ops.size()) best_.ops.resize(outcome.op + 1);
    return true;
  }

  // True if something could go.
  bool remove_parts(size_t parts) {
    bool removed = false;
    const size_t size = std::max<size_t>(1, best_.ops.size() / std::max<size_t>(1, parts));
    for (size_t end = best_.ops.size(); end > 0;) {
      const size_t begin = end > size ? end - size : 0;
      Stream without = best_;
      without.ops.erase(without.ops.begin() + static_cast<ptrdiff_t>(begin),
                        without.ops.begin() + static_cast<ptrdiff_t>(end));
      removed |= fails(without);
      end = std::min(begin, best_.ops.size());
    }
    return removed;
  }

  void plainer_setting() {
    const Setting plain;
#define X(name, standard)                 \
  if (best_.setting.name != plain.name) { \
    Stream plainer = best_;               \
    plainer.setting.name = plain.name;    \
    fails(plainer);                       \
  }
    WQ_MODEL_SETTING(X)
#undef X
  }

  Stream best_;
  size_t runs_;
  const unsigned seconds_;
  const std::chrono::steady_clock::time_point end_ =
      std::chrono::steady_clock::now() + std::chrono::minutes(2);
};

}  // namespace

Stream shrink(const Stream& failing, size_t runs, unsigned seconds) {
  return Shrinker(failing, runs, seconds).run();
}

}  // namespace wq::model
