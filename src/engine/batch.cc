#include "engine/batch.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "engine/chain.h"
#include "engine/observer.h"
#include "engine/record_internal.h"

namespace wq {
namespace {

constexpr char row_mark = 'b';
constexpr char member_mark = 'm';
constexpr char finished_mark = 'x';
constexpr uint32_t flags_all = batch_sealed | batch_cancelled | batch_allows_failures;

// The fixed part of a row; the two jobs follow it.
struct Head {
  uint32_t flags = 0;
  uint32_t on_complete_bytes = 0;
  uint32_t on_failure_bytes = 0;
  uint32_t zero = 0;
  int64_t created_ms = 0;
  int64_t finished_ms = 0;
  uint64_t total = 0;
  uint64_t done = 0;
  uint64_t failed = 0;
  uint64_t cancelled = 0;
  uint64_t follow_up = 0;
};
static_assert(sizeof(Head) == 72);

std::string marked_key(char mark, uint64_t first) {
  std::string key(1, mark);
  put_be64(key, first);
  return key;
}

bool is_sound_next(std::string_view bytes) {
  if (bytes.empty()) return true;
  JobTraits traits;
  return bytes.size() % record_align_bytes == 0 && !check_next(as_bytes(bytes), 0, &traits) &&
         traits.batch == 0;
}

// What may be counted: a finished batch is done with.
std::optional<BatchRow> find_open(const State& state, BatchId batch) {
  std::optional<BatchRow> row = find_batch(state, batch);
  if (row && row->is_finished()) row.reset();
  return row;
}

// With failures or cancelled members the batch has failed, unless it allows that.
bool has_failed(const BatchRow& row) {
  if (row.flags & batch_cancelled) return true;
  return (row.failed != 0 || row.cancelled != 0) && !(row.flags & batch_allows_failures);
}

// Every change of a batch ends here: the last one finishes it.
void keep(State& state, BatchId batch, BatchRow row, int64_t now_ms) {
  SideTable& table = state.side(Family::batch);
  const bool last =
      row.pending == 0 && ((row.flags & batch_sealed) != 0 || WQ_PLANTED(unsealed_batch_finished));
  if (last && !row.is_finished()) {
    row.finished_ms = std::max<int64_t>(1, now_ms);
    const std::string_view next = has_failed(row) ? row.on_failure : row.on_complete;
    const Job* job = next.empty() ? nullptr : start_next(state, nullptr, next, now_ms);
    if (job) row.follow_up = job->id;
    if (state.observer && !WQ_PLANTED(batch_end_untold)) {
      state.observer->batch_finished(batch, row.total);
    }
    table.overwrite(batch_finished_key(row.finished_ms, batch), std::string());
  }
  table.put(batch_row_key(batch), encode_batch_row(row));
}

void put_member(State& state, BatchId batch, const Job& job) {
  ++state.batch_members;
  state.side(Family::batch)
      .overwrite(batch_member_key(batch, job.id), encode_batch_share(1 + job.traits->chain_jobs));
}

void erase_member(State& state, BatchId batch, JobId job) {
  --state.batch_members;
  state.side(Family::batch).overwrite(batch_member_key(batch, job), std::nullopt);
}

Status misfit(const Command& command, const char* what) {
  return Status(Code::corrupt, "log record of batch " + std::to_string(command.batch) +
                                   " does not fit the state: " + what);
}

}  // namespace

// ---- rows

std::string batch_row_key(BatchId batch) {
  return marked_key(row_mark, batch);
}

std::string batch_member_key(BatchId batch, JobId job) {
  std::string key = marked_key(member_mark, batch);
  put_be64(key, job);
  return key;
}

std::string batch_finished_key(int64_t finished_ms, BatchId batch) {
  std::string key = marked_key(finished_mark, static_cast<uint64_t>(finished_ms));
  put_be64(key, batch);
  return key;
}

std::optional<BatchKey> parse_batch_key(std::string_view key) {
  constexpr size_t short_bytes = 1 + sizeof(uint64_t);
  if (key.empty()) return std::nullopt;
  const bool is_row = key.front() == row_mark;
  if (key.size() != (is_row ? short_bytes : short_bytes + sizeof(uint64_t))) return std::nullopt;
  BatchKey out{.kind = key.front()};
  const uint64_t first = get_be64(key.data() + 1);
  const uint64_t second = is_row ? 1 : get_be64(key.data() + short_bytes);
  if (first == 0 || second == 0) return std::nullopt;
  out.batch = first;
  if (is_row) return out;
  if (out.kind == member_mark) {
    out.job = second;
    return out;
  }
  if (out.kind != finished_mark || first > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  out.batch = second;
  out.finished_ms = static_cast<int64_t>(first);
  return out;
}

std::string encode_batch_row(const BatchRow& row) {
  const Head head{.flags = row.flags,
                  .on_complete_bytes = static_cast<uint32_t>(row.on_complete.size()),
                  .on_failure_bytes = static_cast<uint32_t>(row.on_failure.size()),
                  .created_ms = row.created_ms,
                  .finished_ms = row.finished_ms,
                  .total = row.total,
                  .done = row.done,
                  .failed = row.failed,
                  .cancelled = row.cancelled,
                  .follow_up = row.follow_up};
  std::string out(sizeof head, '\0');
  std::memcpy(out.data(), &head, sizeof head);
  out.append(row.on_complete);
  out.append(row.on_failure);
  return out;
}

std::optional<BatchRow> decode_batch_row(std::string_view bytes) {
  Head head;
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  const uint64_t jobs_bytes = uint64_t{head.on_complete_bytes} + head.on_failure_bytes;
  if (head.zero != 0 || (head.flags & ~flags_all) != 0) return std::nullopt;
  if (bytes.size() - sizeof head != jobs_bytes) return std::nullopt;
  if (head.created_ms < 0 || head.finished_ms < 0) return std::nullopt;
  BatchRow row;
  row.flags = head.flags;
  row.created_ms = head.created_ms;
  row.finished_ms = head.finished_ms;
  row.total = head.total;
  row.done = head.done;
  row.failed = head.failed;
  row.cancelled = head.cancelled;
  row.follow_up = head.follow_up;
  uint64_t left = row.total;
  for (const uint64_t part : {row.done, row.failed, row.cancelled}) {
    if (part > left) return std::nullopt;
    left -= part;
  }
  row.pending = left;
  row.on_complete = bytes.substr(sizeof head, head.on_complete_bytes);
  row.on_failure = bytes.substr(sizeof head + head.on_complete_bytes);
  if (!is_sound_next(row.on_complete) || !is_sound_next(row.on_failure)) return std::nullopt;
  return row;
}

std::string encode_batch_share(uint32_t share) {
  std::string out(sizeof share, '\0');
  store_le(reinterpret_cast<std::byte*>(out.data()), share);
  return out;
}

std::optional<uint32_t> decode_batch_share(std::string_view bytes) {
  if (bytes.size() != sizeof(uint32_t)) return std::nullopt;
  const auto share = load_le<uint32_t>(as_bytes(bytes).data());
  if (share == 0 || share > chain_jobs_max + 1) return std::nullopt;
  return share;
}

// ---- members

std::optional<BatchRow> find_batch(const State& state, BatchId batch) {
  const std::optional<std::string>* value = state.side(Family::batch).find(batch_row_key(batch));
  if (!value || !*value) return std::nullopt;
  return decode_batch_row(**value);
}

bool is_batch_cancelled(const State& state, BatchId batch) {
  const std::optional<BatchRow> row = find_open(state, batch);
  return row && (row->flags & batch_cancelled) != 0;
}

void join_batch(State& state, const Job& job) {
  const BatchId batch = job.traits->batch;
  std::optional<BatchRow> row = find_open(state, batch);
  if (!row) return;
  const uint64_t share = 1 + uint64_t{job.traits->chain_jobs};
  row->total += share;
  row->pending += share;
  put_member(state, batch, job);
  keep(state, batch, *row, 0);
}

void fail_in_batch(State& state, const Job& job, int64_t now_ms) {
  const BatchId batch = job.traits->batch;
  std::optional<BatchRow> row = find_open(state, batch);
  if (!row) return;
  // What would have followed never comes to be, or the batch would wait for it for ever.
  const uint32_t rest = WQ_PLANTED(chain_of_the_dead_pending) ? 0 : job.traits->chain_jobs;
  ++row->failed;
  row->cancelled += rest;
  row->pending -= 1 + rest;
  erase_member(state, batch, job.id);
  keep(state, batch, *row, now_ms);
}

void rejoin_batch(State& state, const Job& job) {
  const BatchId batch = job.traits->batch;
  std::optional<BatchRow> row = find_open(state, batch);
  const uint32_t rest = job.traits->chain_jobs;
  if (!row || row->failed == 0 || row->cancelled < rest) return;
  --row->failed;
  row->cancelled -= rest;
  row->pending += 1 + rest;
  put_member(state, batch, job);
  keep(state, batch, *row, 0);
}

void end_in_batch(State& state, const Job& job, EndReason reason, const Job* next, int64_t now_ms) {
  const BatchId batch = job.traits->batch;
  std::optional<BatchRow> row = find_open(state, batch);
  if (!row) return;
  const uint32_t cut = next ? 0 : job.traits->chain_jobs;
  if (reason == EndReason::acked) {
    ++row->done;
  } else {
    ++row->cancelled;
  }
  row->cancelled += cut;
  row->pending -= 1 + cut;
  erase_member(state, batch, job.id);
  if (next) put_member(state, batch, *next);
  keep(state, batch, *row, now_ms);
}

// ---- imports

BatchRow arriving_batch(BatchRow row) {
  row.cancelled += std::exchange(row.pending, 0);
  return row;
}

void adopt_batch(State& state, BatchId batch, const BatchRow& row) {
  SideTable& table = state.side(Family::batch);
  table.overwrite(batch_row_key(batch), encode_batch_row(row));
  if (row.is_finished()) {
    table.overwrite(batch_finished_key(row.finished_ms, batch), std::string());
  }
}

// Not by keep(): whether the batch is finished shows when all of its jobs are there.
void adopt_member(State& state, const Job& job) {
  const BatchId batch = job.traits->batch;
  std::optional<BatchRow> row = find_open(state, batch);
  if (!row) return;
  const uint64_t share = 1 + uint64_t{job.traits->chain_jobs};
  const uint64_t awaited = std::min(share, row->cancelled);
  row->cancelled -= awaited;
  row->total += share - awaited;
  row->pending += share;
  put_member(state, batch, job);
  state.side(Family::batch).put(batch_row_key(batch), encode_batch_row(*row));
}

// ---- commands

namespace {

Status apply_create(State& state, const Command& command) {
  if (command.batch < state.next_job_id) return misfit(command, "its id is taken");
  state.next_job_id = command.batch + 1;
  state.side(Family::batch).load(batch_row_key(command.batch), std::nullopt);
  state.side(Family::batch).put(batch_row_key(command.batch), std::string(as_text(command.row)));
  return {};
}

Status apply_lost(State& state, const Command& command, BatchRow row) {
  SideTable& table = state.side(Family::batch);
  for (const JobId id : command.ids) {
    const std::optional<std::string>* member = table.find(batch_member_key(command.batch, id));
    if (!member || !*member) return misfit(command, "no such member");
    const std::optional<uint32_t> share = decode_batch_share(**member);
    if (!share || *share > row.pending) return misfit(command, "share of a member");
    row.cancelled += *share;
    row.pending -= *share;
    erase_member(state, command.batch, id);
  }
  keep(state, command.batch, row, command.now_ms);
  return {};
}

Status apply_forget(State& state, const Command& command, const BatchRow& row) {
  if (!row.is_finished()) return misfit(command, "it is not finished");
  SideTable& table = state.side(Family::batch);
  table.overwrite(batch_finished_key(row.finished_ms, command.batch), std::nullopt);
  table.erase(batch_row_key(command.batch));
  return {};
}

}  // namespace

Status apply_batch(State& state, const Command& command, Lsn lsn) {
  if (command.type == CommandType::batch_create) return apply_create(state, command);
  std::optional<BatchRow> row = find_batch(state, command.batch);
  if (!row) return misfit(command, "there is no such batch");
  if (command.type == CommandType::batch_forget) return apply_forget(state, command, *row);
  if (row->is_finished()) return misfit(command, "it is finished");
  if (command.type == CommandType::batch_lost) return apply_lost(state, command, *row);
  row->flags |= batch_sealed;
  if (command.type == CommandType::batch_cancel) {
    row->flags |= batch_cancelled;
    state.members_lost = lsn;  // those that did not start are ended one by one
  }
  keep(state, command.batch, *row, command.now_ms);
  return {};
}

}  // namespace wq
