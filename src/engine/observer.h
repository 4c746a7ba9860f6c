// Observer: what an open store notes of the moves of jobs, beside the moves: events, rates, waiting
// times, the last errors. State calls it at each move, so a feature that moves jobs is observed
// without knowing of it. It only listens: nothing in the state depends on it, nothing of it is
// stored, and a replay has none. Hot path: one pointer test, and with an observer one counter and,
// if events are on, one slot of the ring; no clock, no allocation but the first of a queue.
// Thread model: guarded by the engine's mutex.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/histogram.h"
#include "engine/events.h"
#include "engine/intrusive_list.h"
#include "engine/types.h"

namespace wq {

struct Job;
struct Queue;
struct QueueMeter;

constexpr size_t queue_errors_max = 10;        // per queue
constexpr size_t store_errors_max = 4'096;     // of all queues together
constexpr size_t queue_error_bytes_max = 240;  // of a text
constexpr int64_t rate_tick_ms = 5'000;

// A failed attempt.
struct QueueError {
  int64_t at_ms = 0;
  JobId job = 0;
  Generation generation = 0;
  uint32_t attempt = 0;
  EventKind kind = EventKind::nacked;  // nacked, dead (a fail) or expired
  std::string text;                    // one printable line; empty if none was given
};

// Jobs per second, as means in which newer seconds weigh more: after 1 and 5 minutes of another
// rate, two thirds of the way are gone.
struct Rate {
  double per_s_1m = 0;
  double per_s_5m = 0;
};

struct Rates {
  Rate enqueued, leased, acked;
};

struct AttemptCounts {
  static constexpr uint32_t bounds[] = {1, 2, 3, 5, 10, 20, 50};
  uint64_t up_to[std::size(bounds) + 1] = {};  // not cumulative; the last one is what is above
  uint64_t sum = 0;

  void add(uint32_t attempts);
};

// What is kept of one queue, since open.
struct QueueMeter {
  QueueMeter() = default;
  ~QueueMeter();
  QueueMeter(const QueueMeter&) = delete;
  QueueMeter& operator=(const QueueMeter&) = delete;

  struct KeptError {
    ListLink of_queue;
    ListLink of_store;
    QueueMeter* meter = nullptr;
    QueueError error;
  };

  // Ends the ticks that are over; what was counted belongs to the first of them.
  void roll(int64_t now_ms);
  Rates rates_at(int64_t now_ms) const;

  enum : size_t { enqueued, leased, acked, kinds };
  int64_t tick_start_ms = 0;  // 0: nothing was counted yet
  uint64_t counted[kinds] = {};
  Rate rate[kinds];
  bool has_rate = false;  // a tick has ended
  Histogram lease_wait_ms;
  AttemptCounts attempts;
  IntrusiveList<KeptError, &KeptError::of_queue> errors;  // oldest first
  size_t error_count = 0;
};

class Observer {
 public:
  explicit Observer(uint32_t events_max) : ring(events_max) {}
  ~Observer();
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  EventRing ring;

  // Before a command is applied: what happens until the next one is part of it.
  void begin(Lsn lsn, int64_t now_ms) {
    lsn_ = lsn;
    now_ms_ = now_ms;
    counting_ = nullptr;
  }

  // ---- why the job that leaves its lease next does so; told just before it moves
  void nacked(const Job& job, std::string_view error, bool counts);
  void failed(const Job& job, std::string_view error);
  void released() { cause_ = EventKind::released; }
  void expired(const Job& job);

  // ---- moves, told while the job still shows where it comes from
  void entering(const Job& job, JobState state, int64_t due_ms);  // ready or delayed
  void leasing(const Job& job, Generation generation, int64_t deadline_ms);
  void confirming(const Job& job, int64_t deadline_ms);
  void dying(const Job& job, DeadReason reason);
  void ending(const Job& job, EndReason reason);

  void batch_finished(uint64_t batch, uint64_t members);
  void key_cools(const Job& job, int64_t until_ms) { tell(EventKind::key_cools, job, until_ms); }

  // ---- queues
  void queue_event(EventKind kind, QueueId queue, uint64_t count);
  void deleting(const Queue& queue);
  void checkpoint(Lsn lsn, int64_t now_ms);

  const QueueMeter* find_meter(QueueId queue) const {
    return queue < meters_.size() ? meters_[queue].get() : nullptr;
  }
  // Of a queue that is gone, as long as an event may name it.
  std::string_view deleted_name(QueueId queue) const;

 private:
  QueueMeter* meter(QueueId queue);
  QueueMeter* counting(QueueId queue);  // what the jobs of one command have in common is kept
  Event* tell(EventKind kind, const Job& job, int64_t time_ms = 0);
  void tell_cause(const Job& job, int64_t time_ms);
  void keep_error(const Job& job, EventKind kind, std::string_view text);

  struct DeletedName {
    QueueId queue = 0;
    uint64_t sequence = 0;  // of the event that tells of the end
    std::string name;
  };

  Lsn lsn_ = 0;
  int64_t now_ms_ = 0;
  EventKind cause_ = EventKind::released;
  QueueMeter* counting_ = nullptr;  // of counting_queue_, rolled to now; null: ask
  QueueId counting_queue_ = 0;
  std::vector<std::unique_ptr<QueueMeter>> meters_;                                // by id
  IntrusiveList<QueueMeter::KeptError, &QueueMeter::KeptError::of_store> errors_;  // oldest first
  size_t error_count_ = 0;
  std::deque<DeletedName> deleted_;
};

}  // namespace wq
