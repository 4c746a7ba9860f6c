#include "engine/key_plan.h"

#include <algorithm>

#include "base/planted.h"
#include "engine/engine.h"

namespace wq {
namespace {

// None if there is no such row.
Result<KeyRow> read_row(const State& state, const std::string& row_key) {
  const std::optional<std::string>* value = state.side(Family::unique).find(row_key);
  WQ_CHECK(value != nullptr);
  if (!*value) return KeyRow{};
  const std::optional<KeyRow> row = decode_key_row(**value);
  if (row) return *row;
  return Status(Code::corrupt, "db: family unique: malformed row; run wq verify");
}

bool is_idempotency(const std::string& row_key) {
  const std::optional<KeyName> name = parse_key_row_key(row_key);
  return name && name->kind == KeyKind::idempotency;
}

}  // namespace

JobGlance glance(const State& state, ColdJobs& cold, JobId id) {
  if (const Job* job = state.find(id)) {
    return {State::is_live(job), job->queue->id, job->state, job->generation, job->key_until_ms};
  }
  const StoredJob* stored = cold.find(id);
  WQ_CHECK(stored != nullptr);
  const JobRow& row = stored->row;
  const Queue* queue = state.find_queue(row.queue);
  return {queue && is_live_row(queue, row), row.queue, row.state, row.generation, row.key_until_ms};
}

Result<JobId> named_holder(const State& state, const std::string& row_key) {
  if (is_idempotency(row_key)) return JobId{0};
  WQ_TRY_SET(const KeyRow row, read_row(state, row_key));
  return row.holder;
}

Result<KeyRow> holder_of(const State& state, ColdJobs& cold, const std::string& row_key,
                         int64_t now_ms) {
  WQ_TRY_SET(KeyRow row, read_row(state, row_key));
  if (row.holder == 0) return row;
  if (is_idempotency(row_key)) return now_ms < row.until_ms ? row : KeyRow{};
  const JobGlance job = glance(state, cold, row.holder);
  const bool live = job.live || WQ_PLANTED(cleared_job_holds_its_key);
  row.until_ms = job.key_until_ms;
  return live && now_ms < row.until_ms ? row : KeyRow{};
}

Result<KeyRow> KeyPlan::holder(const std::string& row_key) {
  const auto taken = taken_.find(row_key);
  if (taken != taken_.end()) return taken->second;
  return holder_of(state_, cold_, row_key, now_ms_);
}

// The holder of a debounce key: it waits, or would not hold it any more.
void KeyPlan::replace(JobId id) {
  ++leaving_.jobs;
  if (const auto own = debounced_bytes_.find(id); own != debounced_bytes_.end()) {
    leaving_.bytes += own->second;
    return;
  }
  replaced_.push_back(id);
  const Job* job = state_.find(id);
  const uint64_t bytes = job ? job->body.size() : cold_.find(id)->body.size();
  leaving_.bytes += bytes;
  if (glance(state_, cold_, id).state != JobState::ready) return;
  ++leaving_.ready_jobs;
  leaving_.ready_bytes += bytes;
}

Result<JobId> KeyPlan::place(const JobSpec& spec, JobId id, uint64_t bytes, int64_t& due_ms) {
  const JobTraits& traits = spec.traits;
  std::string idempotency_row;
  if (!traits.idempotency_key.empty()) {
    idempotency_row = key_row_key(KeyKind::idempotency, queue_, traits.idempotency_key);
    WQ_TRY_SET(const KeyRow first, holder(idempotency_row));
    if (first.holder != 0) return first.holder;
  }
  if (traits.key_rule != KeyRule::none) {
    std::string row_key = key_row_key(kind_of(traits.key_rule), queue_, traits.key);
    WQ_TRY_SET(const KeyRow before, holder(row_key));
    KeyRow mine{id, key_end_ms(now_ms_, traits.key_ms)};
    if (traits.key_rule == KeyRule::debounce) {
      if (before.holder != 0) mine.until_ms = before.until_ms;
      due_ms = std::min(now_ms_ + spec.debounce_ms, mine.until_ms);
      if (before.holder != 0) replace(before.holder);
      debounced_bytes_[id] = bytes;
    } else if (before.holder != 0 && !ending_.contains(before.holder)) {
      return before.holder;
    }
    taken_.insert_or_assign(std::move(row_key), mine);
  }
  if (!idempotency_row.empty()) {
    taken_.insert_or_assign(std::move(idempotency_row),
                            KeyRow{id, key_end_ms(now_ms_, traits.idempotency_ms)});
  }
  return JobId{0};
}

}  // namespace wq
