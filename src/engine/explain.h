// Explain: where a job is, and why it does not run; what holds up a queue. Causes are bits for
// programs and lines of text for people. Thread model: plain values.
#pragma once

#include <cstdint>
#include <string>

#include "engine/observer.h"
#include "engine/types.h"

namespace wq {

// The values are part of the C ABI.
enum WhyFlag : uint32_t {
  why_delayed = 1u << 0,      // until its time has come
  why_paused = 1u << 1,       // the queue is paused
  why_disabled = 1u << 2,     // the queue is disabled
  why_slots = 1u << 3,        // as many jobs are held as max_running allows
  why_behind = 1u << 4,       // others go first
  why_no_consumer = 1u << 5,  // nobody waits for a job at the moment
  why_held = 1u << 6,         // a worker has it
  why_late = 1u << 7,         // and is past the deadline: it is taken back any moment
  why_dead = 1u << 8,
  why_stopped = 1u << 9,   // the store is shutting down, or stopped after a failure
  why_empty = 1u << 10,    // queue: no job is ready
  why_group = 1u << 24,    // no slot of its group is free; queue: all ready jobs wait for one
  why_rate = 1u << 25,     // the rate of the queue, or of its rate key, lets no job begin
  why_cooling = 1u << 26,  // its rate key cools down after exceptions
};

// What decides whether a queue gives a job now, as of one moment.
struct QueuePicture {
  std::string name;
  QueueStatus status = QueueStatus::active;
  uint64_t counts[job_state_count] = {};
  uint64_t held = 0;  // leased and running
  uint64_t max_running = 0;
  uint64_t parked = 0;
  int64_t rate_wait_ms = 0;
  uint64_t consumers = 0;
  JobId holder = 0;  // the job that is held longest
  Generation holder_generation = 0;
  int64_t holder_age_ms = 0;
  bool stopped = false;
};

struct JobExplanation {
  uint32_t why = 0;
  JobState state = JobState::gone;
  DeadReason reason = DeadReason::none;
  int64_t until_ms = 0;      // delayed: when it is ready; held: the deadline; 0 = none
  uint64_t ahead = 0;        // ready: jobs of the queue that go before it
  bool ahead_exact = false;  // else at most so many
  QueuePicture queue;
  std::string text;  // lines
};

struct QueueExplanation {
  uint32_t why = 0;
  uint64_t leasable = 0;  // jobs that a lease could take now
  int64_t oldest_ready_age_ms = 0;
  QueuePicture queue;
  Rates rates;
  std::string text;
};

// "250 ms", "3.4 s", "5m 03s", "2h 05m", "3d 04h".
std::string duration_text(int64_t duration_ms);

}  // namespace wq
