// Handles: what every opaque type of wq.h begins with. Their memory is type-stable: a closed handle
// goes back to a pool and is never given to the allocator, so a call that comes too late with a
// copied pointer finds a handle that says "closed" and nothing worse.
//
// Gate counts the calls that are inside. Closing shuts the gate, wakes whoever sleeps inside, and
// waits until all have left; after that nobody else looks at the object. A late entry adds one,
// sees the bit and takes it back, also on a pooled handle, so the count is never set, only changed.
// Thread model: any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/mutex.h"
#include "capi/fork_guard.h"

namespace wq {

class Gate {
 public:
  // True: the caller is inside until it calls leave().
  bool enter() {
    // acquire: pairs with the release in open(), so that what the handle holds is seen
    if (!(state_.fetch_add(1, std::memory_order_acquire) & shut_bit)) [[likely]]
      return true;
    leave();
    return false;
  }
  void leave() {
    // release: pairs with the acquire in wait_empty(); the last one out of a shut gate wakes the
    // closer
    if (state_.fetch_sub(1, std::memory_order_release) == (shut_bit | 1)) state_.notify_all();
  }

  void open() { state_.fetch_and(~shut_bit, std::memory_order_release); }
  // False if it was shut already.
  bool shut() { return !(state_.fetch_or(shut_bit, std::memory_order_acq_rel) & shut_bit); }
  bool is_shut() const { return state_.load(std::memory_order_acquire) & shut_bit; }
  void wait_empty() const {
    for (;;) {
      const uint64_t now = state_.load(std::memory_order_acquire);
      if (now == shut_bit) return;
      state_.wait(now, std::memory_order_acquire);
    }
  }

 private:
  static constexpr uint64_t shut_bit = uint64_t{1} << 63;
  std::atomic<uint64_t> state_{shut_bit};
};

// The kind is in the memory of a handle, so a queue passed as a store is noticed.
enum class HandleKind : uint32_t {
  store = 0x57515354,
  queue = 0x57515155,
  batch = 0x57514241,
  list = 0x57514c49,
  completion_queue = 0x57514351,
  cancel = 0x5751434e,
  kv_page = 0x57514b56,
  text = 0x57515458,
  crons = 0x57514352,
};

struct HandleHead {
  explicit HandleHead(HandleKind handle_kind) : kind(handle_kind) {}
  const HandleKind kind;
  Gate gate;
  uint64_t epoch = 0;  // fork_epoch() of the process that opened it; see same_process()
  HandleHead* next_free = nullptr;
};

// Closed handles of one kind, oldest first out, and some of them always kept back, so that an
// address comes back late. What a handle owned must be gone when it is put here.
template <typename T>
class HandlePool {
 public:
  T* take() {
    if (HandleHead* head = take_free()) return static_cast<T*>(head);
    return new T();
  }
  void put(T* handle) {
    MutexLock lock(mutex_);
    handle->next_free = nullptr;
    (last_ ? last_->next_free : first_) = handle;
    last_ = handle;
    count_++;
  }

 private:
  HandleHead* take_free() {
    MutexLock lock(mutex_);
    if (count_ <= quarantine) return nullptr;
    HandleHead* head = first_;
    first_ = head->next_free;
    count_--;
    return head;
  }

  static constexpr size_t quarantine = 16;
  Mutex mutex_;  // guards the list; a leaf, held for a few instructions
  HandleHead* first_ WQ_GUARDED_BY(mutex_) = nullptr;
  HandleHead* last_ WQ_GUARDED_BY(mutex_) = nullptr;
  size_t count_ WQ_GUARDED_BY(mutex_) = 0;
};

// The one pool of a kind. Never destroyed: threads may be inside the library while the process
// exits.
template <typename T>
HandlePool<T>& handle_pool() {
  static auto* pool = new HandlePool<T>();
  return *pool;
}

}  // namespace wq
