// CompletionQueue: tells an event loop when changes became durable, so that one thread can keep
// thousands of durable operations in flight. A call posts (LSN, level) here in place of waiting;
// each advance of the log moves what is reached to the ready side and signals the eventfd. Thread
// model: any thread. Lock order: after the engine's mutex, before nothing.
#pragma once

#include <cstdint>
#include <list>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "io/log.h"

namespace wq {

struct Completion {
  uint64_t user_data = 0;
  Lsn lsn = 0;
  Code code = Code::ok;  // ok: the level was reached; else the failure that stopped the log
};

// Room for one completion, taken before the change that it will tell of.
using CompletionTicket = std::list<Completion>;
inline CompletionTicket make_completion_ticket() {
  return CompletionTicket(1);
}

class CompletionRegistry;

class CompletionQueue {
 public:
  // `self_driven`: there is no flusher thread, so poll() flushes.
  CompletionQueue(CompletionRegistry& registry, Log& log, bool self_driven);
  ~CompletionQueue();
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  // Exactly one completion follows. At memory level it is there at once. Needs no memory if it is
  // given a ticket.
  void watch(CompletionTicket ticket, Lsn lsn, Durability level, uint64_t user_data);

  // Takes up to out.size() completions, waiting up to timeout_ms (-1: for ever) for the first one.
  // Returns how many; 0 with TIMEOUT status never: a time-out is 0, and may come early. CLOSED when
  // the store is closed and nothing is left to take.
  Result<size_t> poll(std::span<Completion> out, int64_t timeout_ms);

  // Readable while completions are ready. Made at the first call; owned by this object.
  Result<int> event_fd();

  // Called after the log advanced or failed.
  void on_progress();
  void on_closed();

 private:
  // Completions move from list to list with their memory, so that nothing fails on the way.
  using List = std::list<Completion>;
  void settle(List& pending, Lsn reached, Code failure) WQ_REQUIRES(mutex_);
  void push_ready(List& from, Code code) WQ_REQUIRES(mutex_);
  Status drive(int64_t timeout_ms);

  CompletionRegistry& registry_;
  Log& log_;
  const bool self_driven_;
  Mutex mutex_;
  CondVar wake_;
  List process_ WQ_GUARDED_BY(mutex_);  // each in LSN order
  List power_ WQ_GUARDED_BY(mutex_);
  List ready_ WQ_GUARDED_BY(mutex_);
  bool closed_ WQ_GUARDED_BY(mutex_) = false;
  // Self driven: what came since a poll flushed last. Who sleeps in a poll has to flush it.
  bool undriven_ WQ_GUARDED_BY(mutex_) = false;
  int event_fd_ WQ_GUARDED_BY(mutex_) = -1;
};

// The completion queues of one engine.
class CompletionRegistry {
 public:
  void add(CompletionQueue* queue);
  void remove(CompletionQueue* queue);
  void on_progress();
  void on_closed();

 private:
  Mutex mutex_;  // before a completion queue's own
  std::vector<CompletionQueue*> queues_ WQ_GUARDED_BY(mutex_);
};

}  // namespace wq
