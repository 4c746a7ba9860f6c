// History: what became of the jobs that were acked, for queues that keep it. Rows of the family
// history:
//
//   'd' queue:4 seq:8 -> DoneRow, see encode_done_row()
//   'i' queue:4 job:8 -> seq:8
//
// Numbers of keys are big-endian, those of values little-endian. The ack puts both rows and moves
// the window [history_first, history_next) of the queue, so what the count does not let be kept is
// gone at once, as is what is too old for the reader's clock. Their rows are taken out of the store
// by sweep_history, with no record: nobody can see them. Pure functions; thread model as State's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/command.h"
#include "engine/state.h"

namespace wq {

struct DoneRow {
  JobId id = 0;
  Generation generation = 0;  // of the lease that was acked
  int64_t enqueued_ms = 0;
  int64_t leased_ms = 0;
  int64_t done_ms = 0;
  uint64_t batch = 0;
  uint32_t attempts = 0;
  uint32_t exceptions = 0;
  uint32_t replays = 0;
  uint8_t priority = 0;
  std::string_view result = {};
  bool sealed = false;  // the result
};

std::string done_row_key(QueueId queue, uint64_t seq);
std::string done_id_key(QueueId queue, JobId id);
struct HistoryKey {
  bool by_id = false;
  QueueId queue = 0;
  uint64_t number = 0;  // seq, or id
};
std::optional<HistoryKey> parse_history_key(std::string_view key);

std::string encode_done_row(const DoneRow& row);
std::optional<DoneRow> decode_done_row(std::string_view bytes);  // a view into `bytes`
std::optional<uint64_t> decode_done_seq(std::string_view bytes);

// Of a job that is acked right now, in a queue that keeps done jobs.
void keep_done(State& state, const Job& job, const SettleItem& item, int64_t now_ms);

// The next row of the history of a queue, with what its count does not let be kept any more.
void put_done(State& state, Queue& queue, const DoneRow& row);

// Whether a row of the queue still counts.
bool is_kept(const Queue& queue, uint64_t seq, const DoneRow& row, int64_t now_ms);
// The same of a queue whose row tells where its history begins and ends.
bool is_kept(const QueueRow& queue, uint64_t seq, const DoneRow& row, int64_t now_ms);

}  // namespace wq
