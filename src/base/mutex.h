// Mutex, MutexLock and CondVar: std::mutex and std::condition_variable with the annotations that
// let clang prove which lock guards what. Waits take relative times and run on the monotonic clock;
// a wake-up may be spurious, so every wait stands in a loop that checks its condition.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/thread_annotations.h"

namespace wq {

class WQ_CAPABILITY("mutex") Mutex {
 public:
  Mutex() = default;
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;

  void lock() WQ_ACQUIRE() { mutex_.lock(); }
  void unlock() WQ_RELEASE() { mutex_.unlock(); }
  bool try_lock() WQ_TRY_ACQUIRE(true) { return mutex_.try_lock(); }
  // Tells the analysis, not the machine: for callbacks that are known to run under the lock.
  void assert_held() const WQ_ASSERT_CAPABILITY(this) {}

 private:
  friend class CondVar;
  std::mutex mutex_;
};

// Holds the mutex for a scope. unlock() and lock() open a gap in it, for I/O or callbacks.
class WQ_SCOPED_CAPABILITY MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) WQ_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~MutexLock() WQ_RELEASE() {
    if (held_) mutex_.unlock();
  }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

  void unlock() WQ_RELEASE() {
    held_ = false;
    mutex_.unlock();
  }
  void lock() WQ_ACQUIRE() {
    mutex_.lock();
    held_ = true;
  }

 private:
  Mutex& mutex_;
  bool held_ = true;
};

// The reverse: opens a gap in a held mutex for a scope, for I/O in the middle of a locked function.
// The analysis of clang 14 has no word for it and takes the mutex as held throughout: what stands
// in such a scope must not touch what the mutex guards.
class MutexGap {
 public:
  explicit MutexGap(Mutex& mutex) WQ_NO_THREAD_SAFETY_ANALYSIS : mutex_(mutex) { mutex_.unlock(); }
  ~MutexGap() WQ_NO_THREAD_SAFETY_ANALYSIS { mutex_.lock(); }
  MutexGap(const MutexGap&) = delete;
  MutexGap& operator=(const MutexGap&) = delete;

 private:
  Mutex& mutex_;
};

class CondVar {
 public:
  CondVar() = default;
  CondVar(const CondVar&) = delete;
  CondVar& operator=(const CondVar&) = delete;

  // Gives the mutex up while asleep and holds it again on return.
  void wait(Mutex& mutex) WQ_REQUIRES(mutex) {
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    condition_.wait(lock);
    lock.release();
  }

  // False when the time ran out. One call sleeps at most a day, so no sum can overflow.
  bool wait_for_ns(Mutex& mutex, int64_t timeout_ns) WQ_REQUIRES(mutex) {
    constexpr int64_t day_ns = 86'400'000'000'000;
    const int64_t bounded_ns = timeout_ns < 0 ? 0 : (timeout_ns > day_ns ? day_ns : timeout_ns);
    std::unique_lock<std::mutex> lock(mutex.mutex_, std::adopt_lock);
    const auto outcome = condition_.wait_for(lock, std::chrono::nanoseconds(bounded_ns));
    lock.release();
    return outcome == std::cv_status::no_timeout;
  }

  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable condition_;
};

}  // namespace wq
