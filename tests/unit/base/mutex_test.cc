// Mutex, MutexLock and CondVar. Time-outs that are awaited here are the ones that must end at once.
#include "base/mutex.h"

#include <gtest/gtest.h>

#include <future>

namespace wq {
namespace {

// try_lock of a mutex that the same thread holds is undefined, so another thread asks.
bool is_free(Mutex& mutex) {
  return std::async(std::launch::async,
                    [&mutex] {
                      if (!mutex.try_lock()) return false;
                      mutex.unlock();
                      return true;
                    })
      .get();
}

TEST(MutexLock, HoldsForItsScopeAndOpensGaps) {
  Mutex mutex;
  {
    MutexLock lock(mutex);
    EXPECT_FALSE(is_free(mutex));
    lock.unlock();
    EXPECT_TRUE(is_free(mutex));
    lock.lock();
    EXPECT_FALSE(is_free(mutex));
  }
  EXPECT_TRUE(is_free(mutex));
}

// The analysis takes the end of a scope for a release, whatever happened in the scope.
void take_in_a_gap(Mutex& mutex) WQ_NO_THREAD_SAFETY_ANALYSIS {
  MutexLock lock(mutex);
  lock.unlock();
  mutex.lock();
}

void give_back(Mutex& mutex) WQ_NO_THREAD_SAFETY_ANALYSIS {
  mutex.unlock();
}

TEST(MutexLock, UnlocksOnceOnly) {
  Mutex mutex;
  take_in_a_gap(mutex);
  EXPECT_FALSE(is_free(mutex)) << "the end of the scope unlocked what was not its own any more";
  give_back(mutex);
}

TEST(CondVar, WakesTheWaiter) {
  Mutex mutex;
  CondVar condition;
  bool ready = false;
  auto waiter = std::async(std::launch::async, [&] {
    MutexLock lock(mutex);
    while (!ready) condition.wait(mutex);
    return ready;
  });
  {
    MutexLock lock(mutex);
    ready = true;
  }
  condition.notify_one();
  EXPECT_TRUE(waiter.get());
}

TEST(CondVar, NotifyAllWakesAll) {
  constexpr int waiters = 4;
  Mutex mutex;
  CondVar condition;
  int asleep = 0;
  bool go = false;
  std::future<void> threads[waiters];
  for (auto& thread : threads) {
    thread = std::async(std::launch::async, [&] {
      MutexLock lock(mutex);
      ++asleep;
      condition.notify_all();
      while (!go) condition.wait(mutex);
    });
  }
  {
    MutexLock lock(mutex);
    while (asleep < waiters) condition.wait(mutex);
    go = true;
    condition.notify_all();
  }
  for (auto& thread : threads) thread.get();
}

TEST(CondVar, TimedWaitEndsAndHoldsTheLockAgain) {
  Mutex mutex;
  CondVar condition;
  MutexLock lock(mutex);
  for (const int64_t timeout_ns : {int64_t{-1}, int64_t{0}, int64_t{1000}}) {
    // Wake-ups may be spurious: only an unbroken row of them would be wrong.
    bool timed_out = false;
    for (int i = 0; i < 100 && !timed_out; ++i) {
      timed_out = !condition.wait_for_ns(mutex, timeout_ns);
    }
    EXPECT_TRUE(timed_out) << timeout_ns;
    EXPECT_FALSE(is_free(mutex));
  }
}

TEST(CondVar, LongestWaitDoesNotOverflow) {
  Mutex mutex;
  CondVar condition;
  bool waiting = false;
  bool ready = false;
  auto waiter = std::async(std::launch::async, [&] {
    MutexLock lock(mutex);
    waiting = true;
    condition.notify_all();
    bool in_time = true;
    while (!ready && in_time) in_time = condition.wait_for_ns(mutex, INT64_MAX);
    return in_time;
  });
  {
    MutexLock lock(mutex);
    while (!waiting) condition.wait(mutex);
    ready = true;
    condition.notify_all();
  }
  EXPECT_TRUE(waiter.get());
}

}  // namespace
}  // namespace wq
