#include "engine/history.h"

#include <algorithm>

#include "base/planted.h"

namespace wq {
namespace {

constexpr char row_mark = 'd';
constexpr char id_mark = 'i';
constexpr size_t key_bytes = 1 + sizeof(QueueId) + sizeof(uint64_t);

// The fixed part of a row; the result follows it.
struct Head {
  uint64_t id = 0;
  uint64_t generation = 0;
  int64_t enqueued_ms = 0;
  int64_t leased_ms = 0;
  int64_t done_ms = 0;
  uint64_t batch = 0;
  uint32_t attempts = 0;
  uint32_t exceptions = 0;
  uint32_t replays = 0;
  uint8_t priority = 0;
  uint8_t sealed = 0;  // 1 = the result is
  uint16_t zero = 0;
};
static_assert(sizeof(Head) == 64);

std::string history_key(char mark, QueueId queue, uint64_t number) {
  std::string key(1, mark);
  put_be32(key, queue);
  put_be64(key, number);
  return key;
}

}  // namespace

std::string done_row_key(QueueId queue, uint64_t seq) {
  return history_key(row_mark, queue, seq);
}

std::string done_id_key(QueueId queue, JobId id) {
  return history_key(id_mark, queue, id);
}

std::optional<HistoryKey> parse_history_key(std::string_view key) {
  if (key.size() != key_bytes) return std::nullopt;
  if (key.front() != row_mark && key.front() != id_mark) return std::nullopt;
  const HistoryKey out{key.front() == id_mark, get_be32(key.data() + 1),
                       get_be64(key.data() + 1 + sizeof(QueueId))};
  if (out.queue == 0 || out.number == 0) return std::nullopt;
  return out;
}

std::string encode_done_row(const DoneRow& row) {
  const Head head{row.id,      row.generation, row.enqueued_ms, row.leased_ms,
                  row.done_ms, row.batch,      row.attempts,    row.exceptions,
                  row.replays, row.priority,   row.sealed};
  std::string out(sizeof head, '\0');
  std::memcpy(out.data(), &head, sizeof head);
  out.append(row.result);
  return out;
}

std::optional<DoneRow> decode_done_row(std::string_view bytes) {
  Head head;
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  if (head.id == 0 || head.generation == 0) return std::nullopt;
  if (head.sealed > 1 || head.zero != 0) return std::nullopt;
  if (!check_result(bytes.substr(sizeof head), head.sealed == 1)) return std::nullopt;
  if (head.enqueued_ms < 0 || head.leased_ms < 0 || head.done_ms < 0) return std::nullopt;
  return DoneRow{.id = head.id,
                 .generation = head.generation,
                 .enqueued_ms = head.enqueued_ms,
                 .leased_ms = head.leased_ms,
                 .done_ms = head.done_ms,
                 .batch = head.batch,
                 .attempts = head.attempts,
                 .exceptions = head.exceptions,
                 .replays = head.replays,
                 .priority = head.priority,
                 .result = bytes.substr(sizeof head),
                 .sealed = head.sealed == 1};
}

std::optional<uint64_t> decode_done_seq(std::string_view bytes) {
  if (bytes.size() != sizeof(uint64_t)) return std::nullopt;
  const auto seq = load_le<uint64_t>(as_bytes(bytes).data());
  if (seq == 0) return std::nullopt;
  return seq;
}

void keep_done(State& state, const Job& job, const SettleItem& item, int64_t now_ms) {
  put_done(state, *job.queue,
           {.id = job.id,
            .generation = job.generation,
            .enqueued_ms = trusted_envelope(job.body.bytes()).enqueued_ms,
            .leased_ms = job.leased_ms,
            .done_ms = now_ms,
            .batch = job.traits ? job.traits->batch : 0,
            .attempts = job.attempts,
            .exceptions = job.exceptions,
            .replays = job.replays,
            .priority = job.priority,
            .result = item.result,
            .sealed = (item.flags & settle_sealed) != 0});
}

void put_done(State& state, Queue& queue, const DoneRow& row) {
  SideTable& table = state.side(Family::history);
  const uint64_t seq = queue.history_next++;
  table.overwrite(done_row_key(queue.id, seq), encode_done_row(row));
  std::string seq_value(sizeof seq, '\0');
  store_le(reinterpret_cast<std::byte*>(seq_value.data()), seq);
  table.overwrite(done_id_key(queue.id, row.id), std::move(seq_value));
  const uint64_t count = queue.config.keep_done_count;
  if (count == 0 || WQ_PLANTED(history_untrimmed)) return;
  if (queue.history_next - queue.history_first > count) {
    queue.history_first = queue.history_next - count;
  }
}

namespace {

bool is_kept(const QueueConfig& config, uint64_t history_first, uint64_t history_next, uint64_t seq,
             const DoneRow& row, int64_t now_ms) {
  const uint64_t count = config.keep_done_count;
  if (count == 0 && config.keep_done_age_ms == 0) return false;
  // The window moves with the acks, so right after a smaller count was set it is still too wide.
  const uint64_t kept = history_next - history_first;
  const uint64_t first = count == 0 || kept <= count ? history_first : history_next - count;
  if (seq < first) return false;
  const int64_t age_ms = config.keep_done_age_ms;
  return age_ms == 0 || now_ms - row.done_ms < age_ms;
}

}  // namespace

bool is_kept(const Queue& queue, uint64_t seq, const DoneRow& row, int64_t now_ms) {
  return is_kept(queue.config, queue.history_first, queue.history_next, seq, row, now_ms);
}

bool is_kept(const QueueRow& queue, uint64_t seq, const DoneRow& row, int64_t now_ms) {
  return is_kept(queue.config, queue.history_first, queue.history_next, seq, row, now_ms);
}

}  // namespace wq
