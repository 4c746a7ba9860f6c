#include "engine/completion.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/planted.h"

namespace wq {

CompletionQueue::CompletionQueue(CompletionRegistry& registry, Log& log, bool self_driven)
    : registry_(registry), log_(log), self_driven_(self_driven) {
  registry_.add(this);
}

CompletionQueue::~CompletionQueue() {
  registry_.remove(this);
  MutexLock lock(mutex_);
  if (event_fd_ >= 0) ::close(event_fd_);
}

void CompletionQueue::watch(CompletionTicket ticket, Lsn lsn, Durability level,
                            uint64_t user_data) {
  if (ticket.empty()) ticket = make_completion_ticket();
  ticket.front() = Completion{user_data, lsn, Code::ok};
  {
    // The log publishes its LSNs before it calls on_progress, and both sides look under this lock:
    // either this sees the LSN reached, or on_progress finds the entry.
    MutexLock lock(mutex_);
    const bool reached =
        level == Durability::memory || WQ_PLANTED(completion_before_barrier) ||
        (level == Durability::process ? log_.process_lsn() : log_.durable_lsn()) >= lsn;
    if (reached) {
      // What was reached before this one goes first.
      settle(process_, log_.process_lsn(), Code::ok);
      settle(power_, log_.durable_lsn(), Code::ok);
      push_ready(ticket, Code::ok);
      return;
    }
    // Callers race between their append and this call: keep each side in LSN order.
    List& pending = level == Durability::process ? process_ : power_;
    auto place = pending.end();
    while (place != pending.begin() && std::prev(place)->lsn > lsn) --place;
    pending.splice(place, ticket);
    if (self_driven_) {
      undriven_ = true;
      wake_.notify_one();
    }
  }
  log_.request(lsn, level);
  if (!log_.failure().ok()) on_progress();
}

void CompletionQueue::settle(List& pending, Lsn reached, Code failure) {
  while (!pending.empty() && pending.front().lsn <= reached) push_ready(pending, Code::ok);
  if (failure == Code::ok) return;
  while (!pending.empty()) push_ready(pending, failure);
}

// The first one of `from`.
void CompletionQueue::push_ready(List& from, Code code) {
  if (ready_.empty()) {
    wake_.notify_one();
    if (event_fd_ >= 0) {
      const uint64_t one = 1;
      // Can only fail when the counter is full, and then the descriptor is readable already.
      [[maybe_unused]] const ssize_t written = ::write(event_fd_, &one, sizeof one);
    }
  }
  from.front().code = code;
  ready_.splice(ready_.end(), from, from.begin());
}

void CompletionQueue::on_progress() {
  const Code failure = log_.failure().code();
  MutexLock lock(mutex_);
  settle(process_, log_.process_lsn(), failure);
  settle(power_, log_.durable_lsn(), failure);
}

void CompletionQueue::on_closed() {
  MutexLock lock(mutex_);
  settle(process_, 0, Code::closed);
  settle(power_, 0, Code::closed);
  closed_ = true;
  wake_.notify_all();
}

// Without a flusher thread the caller flushes what it waits for.
Status CompletionQueue::drive(int64_t timeout_ms) {
  Lsn process = 0;
  Lsn power = 0;
  {
    MutexLock lock(mutex_);
    undriven_ = false;
    if (!ready_.empty() || closed_) return {};
    if (!process_.empty()) process = process_.back().lsn;
    if (!power_.empty()) power = power_.back().lsn;
  }
  if (process != 0) log_.wait(process, Durability::process, timeout_ms).ignore("told by events");
  if (power != 0) log_.wait(power, Durability::power, timeout_ms).ignore("told by events");
  return {};
}

Result<size_t> CompletionQueue::poll(std::span<Completion> out, int64_t timeout_ms) {
  if (self_driven_ && timeout_ms != 0) WQ_TRY(drive(timeout_ms));
  List told;  // outlives the lock: what callers and the log wait for is not held while memory is
              // freed
  MutexLock lock(mutex_);
  if (ready_.empty() && !closed_ && !undriven_ && timeout_ms > 0) {
    constexpr int64_t ns_per_ms = 1'000'000;
    // One wait is enough: a wake-up without a completion (a spurious one, or that of a change that
    // is to be flushed here) is answered like an early time-out by the loop of the caller.
    wake_.wait_for_ns(mutex_,
                      timeout_ms > INT64_MAX / ns_per_ms ? INT64_MAX : timeout_ms * ns_per_ms);
  }
  while (ready_.empty() && !closed_ && !undriven_ && timeout_ms < 0) wake_.wait(mutex_);
  size_t taken = 0;
  while (taken < out.size() && !ready_.empty()) {
    out[taken++] = ready_.front();
    told.splice(told.end(), ready_, ready_.begin());
  }
  if (taken == 0 && closed_) return Code::closed;
  if (!ready_.empty()) wake_.notify_one();  // whoever signalled woke one of several pollers
  if (ready_.empty() && event_fd_ >= 0) {
    uint64_t drained = 0;
    // EAGAIN: nothing was signalled since the last drain.
    [[maybe_unused]] const ssize_t got = ::read(event_fd_, &drained, sizeof drained);
  }
  return taken;
}

Result<int> CompletionQueue::event_fd() {
  MutexLock lock(mutex_);
  if (event_fd_ < 0) {
    event_fd_ = ::eventfd(ready_.empty() ? 0 : 1, EFD_CLOEXEC | EFD_NONBLOCK);
    if (event_fd_ < 0) return status_from_errno(errno, "completion queue", "eventfd");
  }
  return event_fd_;
}

void CompletionRegistry::add(CompletionQueue* queue) {
  MutexLock lock(mutex_);
  queues_.push_back(queue);
}

void CompletionRegistry::remove(CompletionQueue* queue) {
  MutexLock lock(mutex_);
  std::erase(queues_, queue);
}

void CompletionRegistry::on_progress() {
  MutexLock lock(mutex_);
  for (CompletionQueue* queue : queues_) queue->on_progress();
}

void CompletionRegistry::on_closed() {
  MutexLock lock(mutex_);
  for (CompletionQueue* queue : queues_) queue->on_closed();
}

}  // namespace wq
