// Following an open store: its events, and the last errors of a queue.
#include <algorithm>

#include "base/planted.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"

namespace wq {
namespace {

constexpr size_t events_per_page_max = 10'000;

Status admit_events(const EventRequest& request) {
  if (request.events_max == 0 || request.events_max > events_per_page_max) {
    return Status(Code::invalid, "n: give 1 to 10000");
  }
  if (request.wait_ms < -1) return Status(Code::invalid, "wait_ms: give -1, 0 or more");
  return {};
}

}  // namespace

// The token can wake the waiter, and commits find it, while this object lives. Made and destroyed
// without the engine's mutex.
class Engine::FollowScope {
 public:
  FollowScope(Engine& engine, CancelToken* token, Waiter& waiter)
      : engine_(engine), token_(token), waiter_(waiter) {
    {
      MutexLock lock(engine_.mutex_);
      engine_.followers_.push_back(&waiter_);
    }
    try {
      if (token_) token_->attach(&waiter_);
    } catch (...) {
      leave();
      throw;
    }
  }
  ~FollowScope() {
    if (token_) token_->detach(&waiter_);
    leave();
  }
  FollowScope(const FollowScope&) = delete;
  FollowScope& operator=(const FollowScope&) = delete;

 private:
  void leave() {
    MutexLock lock(engine_.mutex_);
    std::erase(engine_.followers_, &waiter_);
  }

  Engine& engine_;
  CancelToken* const token_;
  Waiter& waiter_;
};

// After a command that is about a whole queue; those about jobs were told job by job.
void Engine::tell_queue_event(const Command& command, uint64_t count) {
  switch (command.type) {
    case CommandType::queue_declare:
      return observer_.queue_event(EventKind::queue_declared, command.queue, 0);
    case CommandType::queue_configure:
      return observer_.queue_event(EventKind::queue_changed, command.queue, 0);
    case CommandType::queue_clear:
      return observer_.queue_event(EventKind::cleared, command.queue, count);
    case CommandType::queue_delete:
      return observer_.queue_event(EventKind::queue_deleted, command.queue, count);
    default:
      return;
  }
}

void Engine::wake_followers() {
  if (WQ_PLANTED(event_wakes_nobody)) return;
  for (Waiter* follower : followers_) {
    follower->signaled = true;
    follower->wake.notify_one();
  }
}

void Engine::fill_page(EventCursor& cursor, size_t events_max, EventPage& page) {
  const EventRing& ring = observer_.ring;
  const uint64_t first = std::max(cursor.sequence + 1, ring.first());
  page.dropped = first - cursor.sequence - 1;
  if (WQ_PLANTED(dropped_events_untold)) page.dropped = 0;
  const uint64_t end = std::min(ring.last() + 1, first + events_max);
  for (uint64_t sequence = first; sequence < end; ++sequence) {
    NamedEvent& named = page.events.emplace_back();
    named.sequence = sequence;
    named.event = ring.at(sequence);
    if (named.event.queue == 0) continue;
    const Queue* queue = state_.find_queue(named.event.queue);
    named.queue_name = queue ? queue->name : std::string(observer_.deleted_name(named.event.queue));
  }
  cursor.sequence = end - 1;
}

// Sleeps until there is an event behind the cursor, the time is up, or the token or the store says
// stop.
Status Engine::wait_for_event(const EventCursor& cursor, const EventRequest& request,
                              Waiter& waiter, int64_t deadline_ns) {
  while (observer_.ring.last() == cursor.sequence) {
    if (closed_.load()) return Code::closed;
    if (request.cancel && request.cancel->fired()) return Code::cancelled;
    int64_t sleep_ns = sleep_ms_max * ns_per_ms;
    if (deadline_ns >= 0) {
      sleep_ns = std::min(sleep_ns, deadline_ns - environment_.clock->mono_ns());
    }
    if (sleep_ns <= 0) return Code::empty;
    waiter.signaled = false;
    waiter.wake.wait_for_ns(mutex_, sleep_ns);
  }
  return {};
}

Status Engine::poll_events(EventCursor& cursor, const EventRequest& request, EventPage& page) {
  WQ_ENTER();
  WQ_TRY(admit_events(request));
  page.events.clear();
  page.dropped = 0;
  const bool for_ever = request.wait_ms < 0 || request.wait_ms > INT64_MAX / ns_per_ms / 2;
  {
    MutexLock lock(mutex_);
    const EventRing& ring = observer_.ring;
    if (!ring.is_on()) {
      return Status(Code::unsupported,
                    "events are off; open the store with events_max, the number to be kept");
    }
    if (cursor.epoch == 0) {
      cursor = EventCursor{epoch_, request.from_now ? ring.last() : 0};
    } else if (cursor.epoch != epoch_ && !WQ_PLANTED(old_event_cursor_taken)) {
      cursor = EventCursor{epoch_, 0};
      return Status(Code::stale,
                    "the cursor is of an earlier opening of the store; what came between is not "
                    "known, the next call goes on with this one");
    }
    if (cursor.sequence > ring.last()) {
      return Status(Code::invalid, "cursor: is ahead of the newest event");
    }
    if (ring.last() > cursor.sequence) {
      fill_page(cursor, request.events_max, page);
      return {};
    }
  }
  if (request.wait_ms == 0) return Code::empty;
  const int64_t deadline_ns =
      for_ever ? -1 : environment_.clock->mono_ns() + request.wait_ms * ns_per_ms;
  Waiter waiter;
  waiter.mutex = &mutex_;
  const FollowScope scope(*this, request.cancel, waiter);
  MutexLock lock(mutex_);
  WQ_TRY(wait_for_event(cursor, request, waiter, deadline_ns));
  fill_page(cursor, request.events_max, page);
  return {};
}

Result<std::vector<QueueError>> Engine::queue_errors(QueueId id) {
  WQ_ENTER();
  MutexLock lock(mutex_);
  WQ_TRY(queue_for(id).take_status());
  std::vector<QueueError> out;
  if (const QueueMeter* meter = observer_.find_meter(id)) {
    const auto* kept = meter->errors.front();
    for (; kept; kept = meter->errors.next(kept)) out.push_back(kept->error);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace wq
