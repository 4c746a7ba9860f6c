// Runs a stream on the engine and on the model side by side. After each operation the outcome is
// compared, at intervals and at the end everything is; the store is closed, killed and cut off from
// power in between. Thread model: one thread drives; the engine has threads of its own if the
// stream says so.
#pragma once

#include <array>
#include <string>

#include "model/stream.h"

namespace wq::model {

// Of keys, limits, chains, batches, kv rows, transactions, history and schedules.
// clang-format off
#define WQ_MODEL_FLOW_RARE(X) \
  X(duplicate) X(duplicate_within_call) X(repeated_request) X(debounced) \
  X(debounced_to_the_end) X(key_time_is_up) X(key_released) X(replay_met_holder) \
  X(job_expired) X(delayed_job_expired) X(expired_job_stays_cold) X(died_of_timeout) \
  X(died_of_exceptions) X(died_of_time) X(cancelled_held) X(told_reason) X(chain_went_on) \
  X(chain_cut) X(batch_completed) X(batch_failed) X(batch_refused) \
  X(batch_finished_by_clear) X(member_lost) X(member_cancelled) X(worker_told_to_stop) \
  X(swept_after_crash) X(swap_lost) X(swap_won) X(kv_row_ran_out) X(no_counter) \
  X(lock_lost) X(txn_done) X(txn_refused) X(txn_freed_a_key) X(history_kept) \
  X(history_trimmed) X(slot_ran) X(slot_caught_up) X(slot_missed) \
  X(due_work_recovered_in_part)
// Of limits of queues.
#define WQ_MODEL_LIMIT_RARE(X) \
  X(queue_full) X(over_the_bytes) X(too_large_for_queue) X(ready_job_dropped) \
  X(ready_jobs_not_enough) X(dropped_for_bytes) X(drop_ended_a_batch) X(drop_freed_a_key) \
  X(drop_cut_a_chain) X(dropped_of_a_tenant) X(taken_up_to_the_limit) X(taken_up_to_a_batch) \
  X(debounced_in_full_queue) X(txn_met_full_queue) X(replay_met_full_queue) \
  X(brought_over_limit) X(slot_waited_for_room) X(slot_dropped_a_job) X(dead_over_count) \
  X(dead_over_age) X(dead_changed_in_bulk) X(bulk_met_holder) \
  X(store_at_quota) X(txn_met_quota)
// clang-format on

// States that are hard to reach, counted: a test proves by them that it went there.
#define WQ_MODEL_RARE(X)                                                                         \
  X(evicted)                                                                                     \
  X(cold_refill)                                                                                 \
  X(cold_promotion)                                                                              \
  X(cold_get)                                                                                    \
  X(cold_cancel)                                                                                 \
  X(cold_dead_replay)                                                                            \
  X(front_before_cold)                                                                           \
  X(copied_on_write)                                                                             \
  X(swept_trash) X(cleared_cold) X(removed_cold_queue) X(expired) X(expired_after_reopen)        \
      X(died_by_expiry) X(died_by_nack) X(stale_settle) X(settled_past_deadline)                 \
          X(retried_with_delay) X(slots_full) X(partial_lease) X(wall_back) X(partial_promotion) \
              X(replayed_from_checkpoint) X(replayed_all) X(kill_lost_a_tail) X(cut_lost_a_tail) \
                  X(cut_kept_the_unpromised) X(torn_tail) X(log_recycled) X(rebuilt)             \
                      X(expired_at_open) X(completed_later) X(drained) /* gates */ X(group_full) \
                          X(group_own_limit) X(rate_refused) X(key_refused) X(key_cooling)       \
                              X(overlap_released) X(overlap_skipped) X(turn_of_another)          \
                                  X(turn_among_lines) X(rate_rebased)                            \
                                      X(reprioritised) /* flows */ WQ_MODEL_FLOW_RARE(X)         \
                                          WQ_MODEL_LIMIT_RARE(X)

enum class Rare : uint8_t {
#define X(name) name,
  WQ_MODEL_RARE(X)
#undef X
};
constexpr size_t rare_count = 0
#define X(name) +1
    WQ_MODEL_RARE(X);
#undef X
const char* rare_name(size_t rare);

struct Outcome {
  bool ok = true;
  size_t op = 0;  // the operation that failed; their number: the final checks
  std::string message;
  std::array<uint64_t, rare_count> rare{};
  std::array<uint64_t, op_kind_count> ops{};  // how often each was done
};

// `trace` prints each operation before it runs.
Outcome run_stream(const Stream& stream, bool trace = false);

}  // namespace wq::model
