// Events: the latest changes of an open store, for whoever wants to follow them. A ring of fixed
// size that the newest event overwrites the oldest of; who reads too slowly is told how many were
// lost. Sequences count from 1 at each open; the epoch, which is the LSN of the record of that
// open, tells one opening from another. Nothing of this is stored. Thread model: guarded by the
// engine's mutex.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/cancel.h"
#include "engine/types.h"

namespace wq {

// The values are part of the C ABI.
enum class EventKind : uint8_t {
  queued = 1,    // enqueued; time_ms: when it becomes ready, 0 = it is
  promoted = 2,  // delayed -> ready
  leased = 3,    // time_ms: the deadline
  confirmed = 4,
  acked = 5,
  nacked = 6,    // time_ms: when it is ready again, 0 = it is, or it is dead
  released = 7,  // the same; also one that never was leased, since its group was full
  expired = 8,   // its lease; the same
  dead = 9,
  replayed = 10,
  cancelled = 11,
  cleared = 12,  // job 0: `count` jobs of the queue
  queue_declared = 13,
  queue_changed = 14,
  queue_deleted = 15,   // with `count` jobs
  checkpoint = 16,      // everything up to the LSN
  job_expired = 17,     // did not start in time
  dropped = 18,         // for a newer one, or over the caps of the dead letters
  batch_finished = 19,  // job: the batch; `count`: its members
  skipped = 21,         // its group was full
  key_cools = 20,       // the rate key of the job, for its exceptions; time_ms: until then
};

struct Event {
  Lsn lsn = 0;
  int64_t at_ms = 0;
  int64_t time_ms = 0;
  JobId job = 0;
  Generation generation = 0;
  uint64_t count = 0;
  QueueId queue = 0;
  uint32_t attempt = 0;
  EventKind kind = EventKind::queued;
  DeadReason reason = DeadReason::none;
};

class EventRing {
 public:
  // Room for `size` events, rounded up to a power of two; 0: none are kept.
  explicit EventRing(uint32_t size);

  bool is_on() const { return !slots_.empty(); }
  uint64_t last() const { return last_; }  // sequence of the newest; 0 = none yet
  uint64_t first() const { return last_ < slots_.size() ? 1 : last_ - slots_.size() + 1; }

  // The ring must be on. What is returned holds an old event until it is overwritten.
  Event& push() { return slots_[++last_ & (slots_.size() - 1)]; }
  Event& newest() { return slots_[last_ & (slots_.size() - 1)]; }
  const Event& at(uint64_t sequence) const { return slots_[sequence & (slots_.size() - 1)]; }

 private:
  std::vector<Event> slots_;
  uint64_t last_ = 0;
};

// Where a reader stands: behind the event `sequence` of the opening `epoch`. Zero: at the start.
struct EventCursor {
  uint64_t epoch = 0;
  uint64_t sequence = 0;
};

struct EventRequest {
  size_t events_max = 0;
  int64_t wait_ms = 0;    // for the first; -1 = for ever
  bool from_now = false;  // a cursor at the start skips what has happened
  CancelToken* cancel = nullptr;
};

struct NamedEvent {
  uint64_t sequence = 0;
  Event event;
  std::string queue_name;  // empty: the event is about no queue
};

struct EventPage {
  std::vector<NamedEvent> events;
  uint64_t dropped = 0;  // between the cursor and the first of them
};

}  // namespace wq
