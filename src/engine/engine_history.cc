// The history of a queue: read by id and page by page; and the removal of what is not kept any
// more.
#include <algorithm>
#include <map>

#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/history.h"

namespace wq {
namespace {

constexpr size_t history_list_max = 1'000;
constexpr size_t sweep_step_rows = 4'096;

Status malformed_row() {
  return Status(Code::corrupt, "db: family history: malformed row; run wq verify");
}

DoneJob job_of(uint64_t seq, const DoneRow& row) {
  return DoneJob{.seq = seq,
                 .id = row.id,
                 .generation = row.generation,
                 .enqueued_ms = row.enqueued_ms,
                 .leased_ms = row.leased_ms,
                 .done_ms = row.done_ms,
                 .batch = row.batch,
                 .attempts = row.attempts,
                 .exceptions = row.exceptions,
                 .replays = row.replays,
                 .priority = row.priority,
                 .result = std::string(row.result),
                 .sealed = row.sealed};
}

}  // namespace

Result<DoneJob> Engine::history_get(QueueId id, JobId job_id) {
  WQ_ENTER();
  const Status none(Code::not_found,
                    "job " + std::to_string(job_id) + " is not in the history of this queue");
  const std::string id_key = done_id_key(id, job_id);
  uint64_t seq = 0;
  const auto find_seq = [&]() WQ_REQUIRES(mutex_) -> Status {
    WQ_TRY(queue_for(id).take_status());
    const std::optional<std::string>& value = *state_.side(Family::history).find(id_key);
    if (!value) return none;
    const auto found = decode_done_seq(*value);
    if (!found) return malformed_row();
    seq = *found;
    return {};
  };
  WQ_TRY(with_rows(Family::history, {&id_key, 1}, find_seq));
  DoneJob out;
  std::string queue_name;
  const std::string row_key = done_row_key(id, seq);
  const auto read = [&]() WQ_REQUIRES(mutex_) -> Status {
    WQ_TRY_SET(const Queue* queue, queue_for(id));
    const std::optional<std::string>& value = *state_.side(Family::history).find(row_key);
    if (!value) return none;
    const std::optional<DoneRow> row = decode_done_row(*value);
    if (!row) return malformed_row();
    if (row->id != job_id || !is_kept(*queue, seq, *row, wall_ms())) return none;
    out = job_of(seq, *row);
    queue_name = queue->name;
    return {};
  };
  WQ_TRY(with_rows(Family::history, {&row_key, 1}, read));
  open_done(out, queue_name);
  return out;
}

Result<DonePage> Engine::history_list(QueueId id, uint64_t cursor, size_t limit) {
  WQ_ENTER();
  std::string queue_name;
  WQ_TRY_SET(DonePage page, done_page(id, cursor, limit, queue_name));
  for (DoneJob& job : page.jobs) open_done(job, queue_name);
  return page;
}

// Results as they are stored.
Result<DonePage> Engine::done_page(QueueId id, uint64_t cursor, size_t limit,
                                   std::string& queue_name) {
  if (limit == 0 || limit > history_list_max) return Status(Code::invalid, "limit: give 1 to 1000");
  const std::string upper = done_row_key(id, cursor == 0 ? UINT64_MAX : cursor);
  for (;;) {
    uint64_t version = 0;
    std::string lower;
    {
      MutexLock lock(mutex_);
      WQ_TRY_SET(const Queue* queue, queue_for(id));
      lower = done_row_key(id, queue->history_first);
      version = store_version_;
    }
    std::map<std::string, std::optional<std::string>> rows;
    const auto walk = store_->scan(Family::history, lower, upper, true);
    for (; walk->valid() && rows.size() <= limit; walk->next()) {
      rows.emplace(walk->key(), std::string(walk->value()));
    }
    WQ_TRY(walk->status());
    const std::string end = walk->valid() ? rows.begin()->first : lower;
    MutexLock lock(mutex_);
    if (version != store_version_) continue;
    WQ_TRY_SET(const Queue* queue, queue_for(id));
    state_.side(Family::history)
        .for_each([&](const std::string& key, const std::optional<std::string>& value) {
          if (key >= end && key < upper) rows.insert_or_assign(key, value);
        });
    queue_name = queue->name;
    DonePage page;
    for (auto at = rows.rbegin(); at != rows.rend(); ++at) {
      if (!at->second) continue;
      const auto key = parse_history_key(at->first);
      const std::optional<DoneRow> row = decode_done_row(*at->second);
      if (!key || !row) return malformed_row();
      if (!is_kept(*queue, key->number, *row, wall_ms())) continue;
      if (page.jobs.size() == limit) {
        page.next_cursor = page.jobs.back().seq;
        return page;
      }
      page.jobs.push_back(job_of(key->number, *row));
    }
    if (walk->valid()) page.next_cursor = parse_history_key(end)->number;
    return page;
  }
}

// ---- trimming

namespace {

// Rows of one queue that go, from its oldest on.
struct Trim {
  std::vector<std::string> row_keys;
  std::vector<std::string> id_keys;
  std::string next;  // where the rows of the next queue begin
  bool complete = false;
};

// What a row says of itself and of those behind it.
enum class Trimming : uint8_t { goes, stays, all_stay };

template <typename Look>
Status find_trim(const Store& store, QueueId queue, Look&& look, Trim& trim) {
  const std::string lower = done_row_key(queue, 0);
  trim.next = prefix_end(done_row_key(queue, UINT64_MAX));
  const auto walk = store.scan(Family::history, lower, trim.next);
  for (; walk->valid() && trim.row_keys.size() < sweep_step_rows; walk->next()) {
    const auto key = parse_history_key(walk->key());
    const std::optional<DoneRow> row = decode_done_row(walk->value());
    if (!key || !row) return malformed_row();
    const Trimming what = look(key->number, *row);
    if (what == Trimming::all_stay) break;
    if (what == Trimming::stays) continue;
    trim.row_keys.emplace_back(walk->key());
    trim.id_keys.push_back(done_id_key(queue, row->id));
  }
  trim.complete = trim.row_keys.size() < sweep_step_rows;
  return walk->status();
}

Result<std::unique_ptr<Checkpoint>> erase_trim(Store& store, Trim& trim) {
  WQ_TRY_SET(auto checkpoint, store.begin_checkpoint(trim.row_keys.size() * 2));
  std::sort(trim.id_keys.begin(), trim.id_keys.end());
  for (const std::string& key : trim.row_keys) WQ_TRY(checkpoint->erase(Family::history, key));
  for (const std::string& key : trim.id_keys) WQ_TRY(checkpoint->erase(Family::history, key));
  return checkpoint;
}

}  // namespace

// Takes the rows out of the store that nobody can see any more, queue by queue. Right after a
// checkpoint, with no record: what a replay puts again is found by the next sweep.
Status Engine::sweep_history() {
  std::string at = done_row_key(0, 0);
  const std::string end = prefix_end(at.substr(0, 1));
  for (;;) {
    QueueId queue_id = 0;
    {
      const auto walk = store_->scan(Family::history, at, end);
      if (!walk->valid()) return walk->status();
      const auto key = parse_history_key(walk->key());
      if (!key) return malformed_row();
      queue_id = key->queue;
    }
    // One that was done while the clock was ahead has its age later than those behind it.
    const auto look = [&](uint64_t seq, const DoneRow& row) {
      MutexLock lock(mutex_);
      const Queue* queue = state_.find_queue(queue_id);
      const int64_t now_ms = wall_ms();
      if (!queue || !is_kept(*queue, seq, row, now_ms)) return Trimming::goes;
      const bool ahead = queue->config.keep_done_age_ms != 0 && row.done_ms > now_ms;
      return ahead ? Trimming::stays : Trimming::all_stay;
    };
    Trim trim;
    WQ_TRY(find_trim(*store_, queue_id, look, trim));
    if (!trim.row_keys.empty()) {
      WQ_TRY_SET(const auto erased, erase_trim(*store_, trim));
      WQ_TRY(commit_with_room(*erased));
    }
    {
      MutexLock lock(mutex_);
      if (stopping_ || closed_.load()) return {};
      ++store_version_;  // a row that was read may be gone
    }
    if (trim.complete) at = trim.next;
  }
}

}  // namespace wq
