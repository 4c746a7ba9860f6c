#include "engine/thread_room.h"

#include <array>
#include <string>
#include <system_error>
#include <thread>

#include "base/mutex.h"

namespace wq {
namespace {

// Three of the engine, two for RocksDB's background work, its timer, two of the log's I/O.
constexpr size_t store_threads = 8;

class Starter {
 public:
  ~Starter() {
    {
      MutexLock lock(mutex_);
      over_ = true;
      over_changed_.notify_all();
    }
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  void start_all() {
    for (std::thread& thread : threads_) thread = std::thread([this] { stay(); });
  }

 private:
  void stay() {
    MutexLock lock(mutex_);
    while (!over_) over_changed_.wait(mutex_);
  }

  Mutex mutex_;
  CondVar over_changed_;
  bool over_ WQ_GUARDED_BY(mutex_) = false;
  std::array<std::thread, store_threads> threads_;
};

}  // namespace

Status check_thread_room() noexcept {
  std::string refused;
  const Status status = caught([&]() -> Status {
    try {
      Starter().start_all();
    } catch (const std::system_error& error) {
      refused = error.code().message();
    }
    return {};
  });
  if (!status.ok() || refused.empty()) return status;
  return Status(Code::no_memory, "a thread can not be started: " + refused +
                                     "; raise the limit of processes or of address space "
                                     "(ulimit -u, ulimit -v)");
}

}  // namespace wq
