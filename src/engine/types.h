// The words of the engine (SPEC section 1) as types. Numeric values are stored and never change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/codec.h"
#include "engine/rate.h"
#include "engine/throttle.h"
#include "io/log.h"

namespace wq {

using JobId = uint64_t;       // 1 and up, never reused in a store
using Generation = uint64_t;  // 1 and up, store-wide, monotonic, never reused
using QueueId = uint32_t;     // 1 and up, never reused in a store; the name may be

enum class JobState : uint8_t {
  gone = 0,  // ended or removed; only seen between the end and the next checkpoint
  ready = 1,
  delayed = 2,
  leased = 3,
  running = 4,
  dead = 5,
};
constexpr size_t job_state_count = 6;

// Bits of a set of states, as used by clear.
constexpr uint32_t state_bit(JobState state) {
  return 1u << static_cast<uint32_t>(state);
}
constexpr uint32_t clearable_states = state_bit(JobState::ready) | state_bit(JobState::delayed) |
                                      state_bit(JobState::leased) | state_bit(JobState::running) |
                                      state_bit(JobState::dead);

enum class DeadReason : uint8_t {
  none = 0,
  failed = 1,         // the worker said so, or nacked with no retry left
  lease_expired = 2,  // its last attempt was lost
  timeout = 3,        // a lease ran out, and that is final for this job
  retry_until = 4,    // an attempt was lost after the time for retries
  max_exceptions = 5,
  cancelled = 6,  // 6 to 8 come from workers only
  expired = 7,
  unknown_type = 8,
  unreadable = 9,  // its payload does not open with the keys of the store
};
constexpr DeadReason dead_reason_last = DeadReason::unreadable;

// What a worker can know; the others are the engine's own findings. none = failed.
constexpr bool is_workers_reason(DeadReason reason) {
  return reason == DeadReason::none || reason == DeadReason::failed ||
         reason == DeadReason::timeout || reason == DeadReason::cancelled ||
         reason == DeadReason::expired || reason == DeadReason::unknown_type;
}

// Why a job left the store. Never stored: totals and side tables are told at once.
enum class EndReason : uint8_t { acked, cancelled, cleared, expired, dropped, skipped };

enum class QueueStatus : uint8_t { active = 0, paused = 1, disabled = 2 };

// What an enqueue does to a queue that is at its max_depth or max_bytes.
enum class FullPolicy : uint8_t { refuse = 0, drop_oldest = 1 };

enum class BackoffKind : uint8_t { none = 0, fixed = 1, exponential = 2, list = 3 };

// When a failed attempt may run again. `none` as a job's own policy means "the queue's".
struct Backoff {
  BackoffKind kind = BackoffKind::none;
  int64_t base_ms = 0;  // fixed: the delay; exponential: the first delay, doubled each time
  int64_t max_ms = 0;   // exponential: the cap, >= base_ms
  std::vector<int64_t> list_ms = {};  // list: one delay per failure, the last repeats; 1..32
  uint32_t jitter_permille = 0;       // up to this share of a delay is left off, by chance

  bool operator==(const Backoff&) const = default;
};

// Delay after the `failures`-th failure (1, 2, ...). Never overflows.
int64_t backoff_delay_ms(const Backoff& policy, uint32_t failures);

class Prng;
// The same with the policy's jitter: uniform within the last part of the delay.
int64_t drawn_delay_ms(const Backoff& policy, uint32_t failures, Prng& prng);

struct QueueConfig {
  uint32_t max_running = 0;  // leased + running; 0 = unlimited
  uint32_t max_retries = 3;  // attempts = 1 + this
  int64_t lease_ms = 60'000;
  Durability durability = Durability::power;  // of enqueue and settle
  QueueStatus status = QueueStatus::active;
  Backoff backoff = {};
  uint64_t version = 1;      // raised by each configure
  int64_t job_ttl_ms = 0;    // a job that did not start for so long ends; 0 = never
  RateLimit rate = {};       // of leases
  uint32_t group_limit = 1;  // jobs of one group that run at once, unless the job says otherwise
  RateLimit key_rate = {};   // of the jobs of each rate key
  Throttle throttle = {};    // the same, on exceptions
  // Of the jobs that wait (ready, delayed) and of their envelopes; 0 = no limit.
  uint64_t max_depth = 0;
  uint64_t max_bytes = 0;
  FullPolicy full_policy = FullPolicy::refuse;
  uint64_t dead_max_count = 0;      // of dead letters; the oldest go first; 0 = no limit
  int64_t dead_max_age_ms = 0;      // since they died; 0 = no limit
  bool pause_kept = false;          // disabled: and paused as well, so that enable leads to paused
  bool encrypt = false;             // payloads are sealed; see packing.h
  uint32_t compress_min_bytes = 0;  // payloads from this size on are compressed; 0 = none
  // History of acked jobs: none of the two set = none is kept.
  uint32_t keep_done_count = 0;  // the newest; 0 = as many as the age allows
  int64_t keep_done_age_ms = 0;  // 0 = for ever

  bool operator==(const QueueConfig&) const = default;
};

// Lifetime totals of a queue; they survive reopen.
struct QueueTotals {
  uint64_t enqueued = 0;
  uint64_t leased = 0;
  uint64_t acked = 0;
  uint64_t nacked = 0;
  uint64_t failed = 0;
  uint64_t released = 0;
  uint64_t expired = 0;  // leases reclaimed past their deadline
  uint64_t dead = 0;     // jobs that became dead letters
  uint64_t replayed = 0;
  uint64_t cancelled = 0;
  uint64_t cleared = 0;       // removed by clear, dead-letter remove and purge
  uint64_t jobs_expired = 0;  // ended because they did not start in time
  uint64_t dropped = 0;       // ready jobs that went for newer ones in a full queue
  uint64_t dead_dropped = 0;  // dead letters over the caps of the queue
  uint64_t chain_cut = 0;     // jobs of chains that never came to be, since one before them ended
  uint64_t skipped = 0;       // ended because their group was full: OverlapRule::skip

  bool operator==(const QueueTotals&) const = default;
};

// One line that is safe to show: control characters become spaces, bytes that are no UTF-8 question
// marks; cut at a character after `bytes_max` bytes.
std::string printable_text(std::string_view bytes, size_t bytes_max);

// 1..queue_name_bytes_max bytes of valid UTF-8 without control characters (below 0x20, 0x7f).
bool queue_name_valid(std::string_view name);

constexpr uint8_t default_priority = 100;
constexpr size_t queue_name_bytes_max = 255;
constexpr size_t headers_bytes_max = 64 * 1024;  // all names and values of a job together
constexpr size_t headers_count_max = 1024;
constexpr size_t header_name_bytes_max = 255;
constexpr size_t error_bytes_max = 4 * 1024;
constexpr size_t progress_bytes_max = 4 * 1024;
constexpr uint32_t jitter_permille_max = 1'000;
constexpr size_t key_bytes_max = 512;  // unique, group, rate and kv keys
// Rows of the family `unique`: a mark, the queue, the key.
constexpr size_t unique_row_key_bytes_max = 1 + sizeof(QueueId) + key_bytes_max;
constexpr size_t kv_value_bytes_max = size_t{1} << 20;
constexpr size_t result_bytes_max = size_t{1} << 20;                // as it is given
constexpr size_t imported_row_bytes_max = result_bytes_max + 4096;  // a done job is the longest
constexpr uint32_t chain_jobs_max = 100;
constexpr size_t chain_bytes_max = size_t{16} << 20;  // payloads and headers of a chain together
constexpr size_t batch_job_bytes_max = size_t{60} << 10;  // payload and headers of a follow-up
constexpr size_t backoff_list_max = 32;
constexpr uint32_t group_limit_max = 1'000'000;
constexpr uint32_t max_retries_max = 1'000'000;
constexpr uint64_t payload_bytes_default_max = 16ull << 20;
constexpr uint64_t payload_bytes_absolute_max = 256ull << 20;
constexpr int64_t delay_ms_max = 100ll * 366 * 24 * 3600 * 1000;  // 100 years

}  // namespace wq
