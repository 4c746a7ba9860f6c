// The parts of the model beside jobs and queues: limits, keys, chains and batches, kv rows,
// history, schedules. What each means is said where the model changes it. Where the engine promises
// less than exactness it is about an end in time: what has once come to its end, by the latest that
// the wall clock ever was, may be gone for good, also if the clock was set back since
// (Now::may_be_gone). Thread model: plain data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "engine/traits.h"
#include "engine/types.h"
#include "engine/unique.h"

namespace wq::model {

// Two clocks: dates are told by the wall clock, leases run on one that never steps.
struct Now {
  int64_t wall_ms = 0;
  int64_t run_ms = 0;
  int64_t wall_max_ms = 0;  // the latest that the wall clock has been

  bool may_be_gone(int64_t end_ms) const { return end_ms <= std::max(wall_ms, wall_max_ms); }
};

using Headers = std::vector<std::pair<std::string, std::string>>;

struct Limits {
  int64_t expires_ms = 0;
  int64_t retry_until_ms = 0;
  int64_t timeout_ms = 0;
  uint32_t max_exceptions = 0;
  bool fail_on_timeout = false;
};

// ---- keys

struct Keys {
  KeyRule rule = KeyRule::none;
  std::string key;
  int64_t key_ms = 0;       // debounce: the maximum wait; 0 = no end
  int64_t debounce_ms = 0;  // debounce only
  std::string idempotency_key;
  int64_t idempotency_ms = 0;

  bool any() const { return rule != KeyRule::none || !idempotency_key.empty(); }
};

using KeyName = std::tuple<QueueId, KeyKind, std::string>;

// Whether the job still holds the key stands in the job, but for idempotency keys, which only time
// ends.
struct KeyRow {
  JobId holder = 0;
  int64_t until_ms = 0;
};

// ---- chains, batches

struct Next {
  std::string queue;  // empty = that of the job before
  std::string payload;
  Headers headers;
  int64_t delay_ms = 0;
  uint8_t priority = default_priority;
  uint32_t max_attempts = 0;
  Limits limits;
};

struct FlowSpec {
  uint64_t batch = 0;
  std::vector<Next> chain;

  uint32_t share() const { return 1 + static_cast<uint32_t>(chain.size()); }
};

struct Batch {
  bool sealed = false;
  bool cancelled_whole = false;
  bool allows_failures = false;
  bool has_complete = false;
  bool has_failure = false;
  Next on_complete;
  Next on_failure;
  int64_t created_ms = 0;
  int64_t finished_ms = 0;
  uint64_t done = 0;
  uint64_t failed = 0;
  uint64_t cancelled = 0;
  uint64_t pending = 0;
  JobId follow_up = 0;
  std::map<JobId, uint32_t> lost;  // shares of members that a clear took away, not counted yet

  uint64_t total() const { return pending + done + failed + cancelled; }
};

// ---- kv rows, history, schedules

struct KvRow {
  std::string value;
  uint64_t version = 0;
  int64_t expires_ms = 0;  // 0 = never

  bool is_live(Now now) const { return expires_ms == 0 || now.wall_ms < expires_ms; }
};

struct Done {
  JobId id = 0;
  Generation generation = 0;
  int64_t enqueued_ms = 0;
  int64_t leased_ms = 0;
  int64_t done_ms = 0;
  uint64_t batch = 0;
  uint32_t attempts = 0;
  uint32_t exceptions = 0;
  uint32_t replays = 0;
  uint8_t priority = 0;
  std::string result;
  bool outside = false;    // over the count when another one was acked: gone for good
  bool uncertain = false;  // the configuration did not keep it for a while: it may be gone
};

// "@every" only: its slots are easily told.
struct Schedule {
  QueueId queue = 0;
  int64_t every_ms = 1000;
  uint32_t catch_up = 1;
  std::string payload;
  uint8_t priority = default_priority;
  uint32_t max_attempts = 0;
  bool paused = false;
  int64_t next_due_ms = 0;
  int64_t last_slot_ms = 0;
  int64_t created_ms = 0;
  uint64_t fired = 0;
  uint64_t missed = 0;

  int64_t slot_after(int64_t ms) const { return (ms / every_ms + 1) * every_ms; }
};

}  // namespace wq::model
