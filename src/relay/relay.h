// A relay puts jobs into Redis, and into a queue of wq while Redis can not take them. Three ways:
//
//   fallback  each push goes to Redis; if that fails it is spooled: stored in the queue, durably.
//             A drain brings what is spooled to Redis when it answers again
//   always    each push is spooled, and a drain brings it to Redis (an outbox)
//   shadow    each push goes to Redis, whose answer counts, and a copy to the queue. A drain asks
//             Redis for the copy's id and counts what it knows and what not: a trial, which
//             delivers nothing
//
// Every job has an id, drawn before anything is sent. Redis remembers the ids that it took, in the
// step that takes the job; so a push whose answer was lost on the way is spooled and sent again,
// and applied once. What is left: an id that was forgotten (SeenLimits) or lost with the data of
// Redis, and whatever Redis itself loses after its answer.
//
// Errors of the store are thrown as Error. Thread model: any thread may call any function; those
// that talk to Redis take turns.
#pragma once

#include <wq.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "relay/breaker.h"
#include "relay/job.h"
#include "relay/layout.h"
#include "relay/primary.h"

namespace wq::relay {

class Error : public std::runtime_error {
 public:
  Error(int32_t wq_code, const std::string& message) : std::runtime_error(message), code(wq_code) {}
  const int32_t code;  // of wq.h
};

enum class Mode : uint8_t { fallback, always, shadow };

struct Options {
  std::string queue = "default";  // of wq, and {queue} of the layout
  Layout layout = {};
  Mode mode = Mode::fallback;
  // A push does not overtake what is spooled and due: while there is such a job, pushes are spooled
  // behind it. Jobs go to Redis one by one then, and priorities do not count in the queue.
  bool in_order = false;
  SeenLimits seen = {};
  BreakerOptions breaker = {};
  uint32_t durability = 0;  // of what is spooled: WQ_...; 0: that of the queue, by default WQ_POWER
};

enum class Outcome : uint8_t {
  sent,       // Redis has it
  duplicate,  // Redis had it before
  spooled,    // the queue has it
  refused,    // nobody has it: Redis said no for good; `text` is its answer
  failed,     // shadow only: Redis did not take it, and that is the answer
};

struct Pushed {
  Outcome outcome = Outcome::refused;
  std::string id;
  std::string text;  // why it was spooled, refused or failed
};

// What a drain did. The jobs that Redis refused are dead letters of the queue, with its answer as
// their error.
struct Drained {
  uint64_t sent = 0, duplicate = 0, refused = 0;
  uint64_t missing = 0;     // shadow: ids that Redis does not know
  bool is_stopped = false;  // Redis is not to be had, or the breaker is open
  std::string text;         // why it stopped
};

// What became of all that went through the queue, since it was made. Counts are exact over crashes,
// but for those of direct pushes: what the last half minute before a crash sent is not in them.
struct Report {
  uint64_t direct_sent = 0, direct_duplicate = 0, direct_refused = 0, direct_failed = 0;
  uint64_t spooled = 0;                                         // all that came into the queue
  uint64_t sent = 0, duplicate = 0, missing = 0;                // of the spooled
  uint64_t dead = 0;                                            // refused, and dead letters now
  uint64_t local_ready = 0, local_delayed = 0, local_held = 0;  // still here
  int64_t oldest_ready_age_ms = 0;
};

// Of this process.
struct Health {
  Breaker::State state = Breaker::State::closed;
  uint64_t opened = 0;    // how often the breaker opened
  uint64_t failures = 0;  // calls that Redis could not take
  uint64_t timeouts = 0;  // calls without an answer
  std::string problem;    // the last of either; empty after a success
};

class Relay {
 public:
  using Clock = std::function<int64_t()>;  // milliseconds since 1970

  // `store` must outlive the relay. The queue is made if it is not there.
  Relay(wq_store* store, Options options, std::unique_ptr<Primary> primary, Clock clock = {});
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  // Durable, in Redis or here, when it returns. Blocks for Redis (its time limits) or the device.
  Pushed push(Job job);
  // Sends up to `max_jobs` due jobs of the queue to Redis. Returns when there are no more, or Redis
  // stops taking them: those stay where they are in the queue.
  Drained drain(uint64_t max_jobs = UINT64_MAX);
  // When a drain is worth a try: now, or when the breaker lets the next attempt through.
  int64_t retry_at_ms() const;
  Report report() const;
  Health health() const;

 private:
  struct Direct {
    uint64_t sent = 0, duplicate = 0, refused = 0, failed = 0;
  };

  void identify_store();
  void take_back_held() const;
  bool has_backlog() const;
  std::vector<Answer> ask(std::span<const Request> requests);
  Pushed push_direct(const Job& job);
  void spool(const Job& job) const;
  uint64_t drain_step(uint64_t max_jobs, Drained& total);
  void settle(const std::vector<wq_token>& tokens, const std::vector<Answer>& answers,
              Drained& total) const;
  void commit(const std::vector<wq_settle_item>& items, const Drained& step) const;
  void keep_direct_counts();
  void keep_direct_counts_now_and_then();

  wq_store* const store_;
  const Options options_;
  const Clock clock_;
  wq_queue* queue_ = nullptr;
  std::string store_id_;
  std::mutex drain_mutex_;    // one drain at a time; taken before mutex_
  mutable std::mutex mutex_;  // guards what follows, and the order of pushes
  std::unique_ptr<Primary> primary_;
  Breaker breaker_;
  Health health_;
  Direct direct_, kept_;
  int64_t kept_at_ms_ = 0;
};

// A random id, 26 characters.
std::string draw_id();

// The report of a queue of which this process has no relay.
Report read_report(wq_store* store, wq_queue* queue, const std::string& name);

// Of a report and the health, for Prometheus.
std::string metrics_text(const std::string& queue, const Report& report, const Health& health);

}  // namespace wq::relay
