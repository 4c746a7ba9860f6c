// Builds and parses the keys of keys.h. Builders take any number, 0 included, because they also
// make the bounds of scans; rows have ids and queues from 1 up. A parser meets bytes from disk and
// answers nullopt to anything that is not the key of a row. Pure functions, safe from any thread.
#include "engine/keys.h"

#include <limits>

#include "base/check.h"

namespace wq {
namespace {

constexpr size_t job_key_bytes = 9;
constexpr size_t ready_key_bytes = 13;
constexpr size_t line_key_bytes = 25;
constexpr size_t seq_key_bytes = 12;
constexpr size_t delay_key_bytes = 20;
constexpr size_t queue_row_key_bytes = 5;
constexpr size_t id_value_bytes = 8;

constexpr char job_body_mark = 0x00;
constexpr char job_state_mark = 0x01;
constexpr char queue_row_mark = 'q';
constexpr char meta_row_mark = 'm';

std::string job_key(JobId id, char mark) {
  std::string key;
  put_be64(key, id);
  key.push_back(mark);
  return key;
}

std::string seq_key(QueueId queue, uint64_t seq) {
  std::string key;
  put_be32(key, queue);
  put_be64(key, seq);
  return key;
}

}  // namespace

std::string job_body_key(JobId id) {
  return job_key(id, job_body_mark);
}

std::string job_state_key(JobId id) {
  return job_key(id, job_state_mark);
}

std::optional<JobKey> parse_job_key(std::string_view key) {
  if (key.size() != job_key_bytes) return std::nullopt;
  const JobId id = get_be64(key.data());
  const char mark = key[8];
  if (id == 0) return std::nullopt;
  if (mark != job_body_mark && mark != job_state_mark) return std::nullopt;
  return JobKey{id, mark == job_state_mark};
}

std::string ready_key(QueueId queue, uint8_t priority, uint64_t seq) {
  std::string key;
  put_be32(key, queue);
  key.push_back(static_cast<char>(priority));
  put_be64(key, seq);
  return key;
}

std::string line_key(QueueId queue, uint64_t line, uint8_t priority, uint64_t seq) {
  std::string key;
  key.reserve(line_key_bytes);
  put_be32(key, 0);
  put_be32(key, queue);
  put_be64(key, line);
  key.push_back(static_cast<char>(priority));
  put_be64(key, seq);
  return key;
}

std::string lease_key(QueueId queue, Generation generation) {
  return seq_key(queue, generation);
}

std::string dead_key(QueueId queue, uint64_t seq) {
  return seq_key(queue, seq);
}

std::string delay_key(int64_t due_ms, QueueId queue, JobId id) {
  WQ_CHECK(due_ms >= 0);  // a negative time would sort behind all others
  std::string key;
  key.reserve(delay_key_bytes);
  put_be64(key, static_cast<uint64_t>(due_ms));
  put_be32(key, queue);
  put_be64(key, id);
  return key;
}

std::string queue_row_key(QueueId queue) {
  std::string key(1, queue_row_mark);
  put_be32(key, queue);
  return key;
}

std::string meta_row_key() {
  return std::string(1, meta_row_mark);
}

std::optional<ReadyKey> parse_ready_key(std::string_view key) {
  if (key.size() != ready_key_bytes) return std::nullopt;
  const QueueId queue = get_be32(key.data());
  if (queue == 0) return std::nullopt;
  return ReadyKey{queue, static_cast<uint8_t>(key[4]), get_be64(key.data() + 5)};
}

std::optional<LineKey> parse_line_key(std::string_view key) {
  if (key.size() != line_key_bytes || get_be32(key.data()) != 0) return std::nullopt;
  const QueueId queue = get_be32(key.data() + 4);
  const uint64_t line = get_be64(key.data() + 8);
  if (queue == 0 || line == 0) return std::nullopt;
  return LineKey{queue, line, static_cast<uint8_t>(key[16]), get_be64(key.data() + 17)};
}

std::optional<DelayKey> parse_delay_key(std::string_view key) {
  if (key.size() != delay_key_bytes) return std::nullopt;
  const uint64_t due_ms = get_be64(key.data());
  const QueueId queue = get_be32(key.data() + 8);
  const JobId id = get_be64(key.data() + 12);
  if (due_ms > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
  if (queue == 0 || id == 0) return std::nullopt;
  return DelayKey{static_cast<int64_t>(due_ms), queue, id};
}

std::optional<SeqKey> parse_seq_key(std::string_view key) {
  if (key.size() != seq_key_bytes) return std::nullopt;
  const QueueId queue = get_be32(key.data());
  if (queue == 0) return std::nullopt;
  return SeqKey{queue, get_be64(key.data() + 4)};
}

std::optional<QueueId> parse_queue_row_key(std::string_view key) {
  if (key.size() != queue_row_key_bytes || key[0] != queue_row_mark) return std::nullopt;
  const QueueId queue = get_be32(key.data() + 1);
  if (queue == 0) return std::nullopt;
  return queue;
}

std::string id_value(JobId id) {
  WQ_CHECK(id != 0);
  std::string value;
  put_be64(value, id);
  return value;
}

std::optional<JobId> parse_id_value(std::string_view value) {
  if (value.size() != id_value_bytes) return std::nullopt;
  const JobId id = get_be64(value.data());
  if (id == 0) return std::nullopt;
  return id;
}

std::string prefix_end(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && static_cast<uint8_t>(end.back()) == 0xff) end.pop_back();
  if (end.empty()) return end;
  end.back() = static_cast<char>(static_cast<uint8_t>(end.back()) + 1);
  return end;
}

}  // namespace wq
