// CancelToken: ends waits from another thread. It takes locks, so a signal handler must not fire
// it: it hands over to a thread. Lock order: a token's mutex comes before the engine's.
#pragma once

#include <atomic>
#include <vector>

#include "base/mutex.h"
#include "engine/intrusive_list.h"
#include "engine/queue.h"

namespace wq {

// One blocked lease. Lives on the waiting thread's stack; guarded by its engine's mutex.
struct Waiter {
  Mutex* mutex = nullptr;  // of the engine
  CondVar wake;
  bool signaled = false;        // a job or slot was meant for this waiter
  std::vector<WaitNode> nodes;  // one per queue, linked in the queues' lists
};

class CancelToken {
 public:
  void fire() {
    fired_.store(true, std::memory_order_release);  // pairs with fired()
    MutexLock lock(mutex_);
    for (Waiter* waiter : waiters_) {
      MutexLock engine_lock(*waiter->mutex);
      waiter->wake.notify_all();
    }
  }
  bool fired() const { return fired_.load(std::memory_order_acquire); }

  void attach(Waiter* waiter) {
    MutexLock lock(mutex_);
    waiters_.push_back(waiter);
  }
  void detach(Waiter* waiter) {
    MutexLock lock(mutex_);
    std::erase(waiters_, waiter);
  }

 private:
  std::atomic<bool> fired_{false};
  Mutex mutex_;
  std::vector<Waiter*> waiters_ WQ_GUARDED_BY(mutex_);
};

}  // namespace wq
