// The order-preserving key of every row in the store (FORMAT.md draws them). Integers big-endian;
// fixed width, so no name or key can run into a neighbour's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/types.h"

namespace wq {

// job family: one body row (payload, headers and the state at the first checkpoint) and, once the
// state changed later, one state row that overrides it. They are neighbours: a scan meets them in
// turn.
std::string job_body_key(JobId id);   // id:8 0x00
std::string job_state_key(JobId id);  // id:8 0x01
struct JobKey {
  JobId id = 0;
  bool is_state = false;
};
std::optional<JobKey> parse_job_key(std::string_view key);

std::string ready_key(QueueId queue, uint8_t priority,
                      uint64_t seq);  // queue:4 priority:1 seq:8 -> id:8
// The jobs of a group lie in the same family, below the queue 0, which no queue has:
// 0:4 queue:4 line:8 priority:1 seq:8 -> id:8
std::string line_key(QueueId queue, uint64_t line, uint8_t priority, uint64_t seq);
std::string lease_key(QueueId queue, Generation generation);  // queue:4 generation:8     -> id:8
std::string delay_key(int64_t due_ms, QueueId queue,
                      JobId id);                    // due:8 queue:4 id:8       -> (empty)
std::string dead_key(QueueId queue, uint64_t seq);  // queue:4 seq:8            -> id:8
std::string queue_row_key(QueueId queue);           // meta: 'q' queue:4
std::string meta_row_key();                         // meta: 'm'

struct ReadyKey {
  QueueId queue = 0;
  uint8_t priority = 0;
  uint64_t seq = 0;
};
struct LineKey {
  QueueId queue = 0;
  uint64_t line = 0;
  uint8_t priority = 0;
  uint64_t seq = 0;
};
struct DelayKey {
  int64_t due_ms = 0;
  QueueId queue = 0;
  JobId id = 0;
  auto operator<=>(const DelayKey&) const = default;
};
struct SeqKey {  // lease and dead rows
  QueueId queue = 0;
  uint64_t seq = 0;
};
std::optional<ReadyKey> parse_ready_key(std::string_view key);
std::optional<LineKey> parse_line_key(std::string_view key);
std::optional<DelayKey> parse_delay_key(std::string_view key);
std::optional<SeqKey> parse_seq_key(std::string_view key);
std::optional<QueueId> parse_queue_row_key(std::string_view key);

std::string id_value(JobId id);  // id:8 big-endian
std::optional<JobId> parse_id_value(std::string_view value);

// The smallest key that is greater than every key with this prefix; empty if there is none.
std::string prefix_end(std::string_view prefix);

}  // namespace wq
