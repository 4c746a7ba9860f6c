// Batches: create, seal, cancel, status, list; and what has to be looked after: members that a
// clear ended or a cancel has to end, and finished batches whose time is over.
#include <algorithm>
#include <map>

#include "base/planted.h"
#include "engine/admit.h"
#include "engine/batch.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/next_job.h"

namespace wq {
namespace {

constexpr size_t sweep_page_rows = 256;
constexpr size_t batch_list_max = 1'000;
constexpr int64_t batch_kept_ms = int64_t{7} * 24 * 3600 * 1000;  // behind its end

Status no_such_batch(BatchId batch) {
  return Status(Code::not_found, "batch: there is no batch " + std::to_string(batch));
}

Status malformed_row() {
  return Status(Code::corrupt, "db: family batch: malformed row; run wq verify");
}

BatchStatus status_of(BatchId batch, const BatchRow& row) {
  return BatchStatus{.id = batch,
                     .flags = row.flags,
                     .created_ms = row.created_ms,
                     .finished_ms = row.finished_ms,
                     .total = row.total,
                     .pending = row.pending,
                     .done = row.done,
                     .failed = row.failed,
                     .cancelled = row.cancelled,
                     .follow_up = row.follow_up};
}

}  // namespace

// ---- admission

Status Engine::admit_next_queue(const std::string& field, std::string_view queue) const {
  if (state_.find_queue(queue)) return {};
  return Status(Code::not_found,
                field + ".queue: no queue '" + std::string(queue) + "' in this store");
}

Status Engine::admit_chain_queues(const JobSpec& spec) const {
  for (size_t i = 0; i < spec.chain.size(); ++i) {
    if (spec.chain[i].queue.empty()) continue;
    WQ_TRY(admit_next_queue("chain[" + std::to_string(i) + "]", spec.chain[i].queue));
  }
  return {};
}

Status Engine::admit_batch_job(const char* field, const NextSpec* next) {
  if (!next) return {};
  const JobSpec& job = next->job;
  Status status = admit_job(job, options_.payload_bytes_max, wall_ms());
  const bool large =
      text_bytes(job) > batch_job_bytes_max || job.headers.size() >= headers_count_max;
  if (status.ok() && large) {
    status = Status(Code::too_large, "payload and headers have over 60 KiB or 1023 headers");
  }
  if (status.ok()) status = admit_next(job);
  if (!status.ok()) return Status(status.code(), std::string(field) + ": " + status.message());
  MutexLock lock(mutex_);
  return admit_next_queue(field, next->queue);
}

Status Engine::admit_to_batch(BatchId batch) const {
  if (batch == 0) return {};
  const std::optional<BatchRow> row = find_batch(state_, batch);
  if (!row) return no_such_batch(batch);
  if (row->is_finished()) return Status(Code::conflict, "batch: it is finished");
  if (row->flags & batch_cancelled) return Status(Code::conflict, "batch: it is cancelled");
  return {};
}

// ---- rows that a command changes

Engine::RowPins::~RowPins() {
  if (taken_ == 0) return;
  MutexLock lock(engine_.mutex_);
  for (size_t i = 0; i < taken_; ++i) engine_.state_.side(family_).unpin(keys_[i]);
}

void Engine::RowPins::add(BatchId batch) {
  if (batch == 0) return;
  std::string key = batch_row_key(batch);
  if (keys_.empty() || keys_.back() != key) add_row(std::move(key));
}

void Engine::RowPins::add_row(std::string key) {
  keys_.push_back(std::move(key));
}

Status Engine::RowPins::take() {
  if (keys_.empty()) return {};
  const auto pin = [this]() -> Status {
    engine_.mutex_.assert_held();
    for (; taken_ < keys_.size(); ++taken_) engine_.state_.side(family_).pin(keys_[taken_]);
    return {};
  };
  return engine_.with_rows(family_, keys_, pin);
}

// Replay: those of the batches that new jobs join, and those that a command of a batch names.
Status Engine::make_batches_known(const Command& command) {
  for (const NewJob& job : command.jobs) {
    const BatchId batch = trusted_batch(job.envelope);
    if (batch != 0) WQ_TRY(make_row_known(Family::batch, batch_row_key(batch)));
  }
  if (command.batch == 0) return {};
  for (const JobId id : command.ids) {
    WQ_TRY(make_row_known(Family::batch, batch_member_key(command.batch, id)));
  }
  return make_row_known(Family::batch, batch_row_key(command.batch));
}

// ---- calls

Result<uint64_t> Engine::batch_create(const BatchSpec& spec, CallOptions& call) {
  WQ_ENTER();
  WQ_TRY(admit_batch_job("on_complete", spec.on_complete));
  WQ_TRY(admit_batch_job("on_failure", spec.on_failure));
  Packer packer(keyring(), environment_.random_bytes);
  WQ_TRY_SET(const OwnPayload complete, pack_batch_job(packer, spec.on_complete));
  WQ_TRY_SET(const OwnPayload failure, pack_batch_job(packer, spec.on_failure));
  WQ_TRY(wait_for_space());
  Lsn lsn = 0;
  BatchId batch = 0;
  {
    MutexLock lock(mutex_);
    if (state_.importing) return import_is_open();
    Command& command = begin(CommandType::batch_create);
    command.batch = batch = state_.next_job_id;
    BatchRow row;
    row.flags = spec.allow_failures ? uint32_t{batch_allows_failures} : 0;
    row.created_ms = command.now_ms;
    std::string on_complete;
    std::string on_failure;
    if (spec.on_complete) on_complete = encode_batch_job(*spec.on_complete, complete, batch);
    if (spec.on_failure) on_failure = encode_batch_job(*spec.on_failure, failure, batch);
    row.on_complete = on_complete;
    row.on_failure = on_failure;
    const std::string encoded = encode_batch_row(row);
    command.row = as_bytes(encoded);
    WQ_TRY_SET(lsn, commit(command));
  }
  WQ_TRY(finish(lsn, call, level_for(call, Durability::power)));
  return batch;
}

// Runs `body` with the row of the batch known.
template <typename Body>
Status Engine::with_batch(uint64_t batch, Body&& body) {
  const std::string key = batch_row_key(batch);
  return with_rows(Family::batch, {&key, 1}, [&]() WQ_REQUIRES(mutex_) -> Status {
    const std::optional<std::string>& value = *state_.side(Family::batch).find(key);
    if (!value) return no_such_batch(batch);
    const std::optional<BatchRow> row = decode_batch_row(*value);
    return row ? body(*row) : malformed_row();
  });
}

// 0: it was so before.
Result<Lsn> Engine::change_batch(CommandType type, uint64_t batch) {
  Lsn lsn = 0;
  uint32_t wanted = batch_sealed;
  if (type == CommandType::batch_cancel) wanted |= batch_cancelled;
  const auto change = [&](const BatchRow& row) WQ_REQUIRES(mutex_) -> Status {
    if ((row.flags & wanted) == wanted) return {};
    if (row.is_finished()) return Status(Code::conflict, "batch: it is finished");
    Command& command = begin(type);
    command.batch = batch;
    WQ_TRY_SET(lsn, commit(command));
    wake_for_timers();  // what follows it may be delayed
    return {};
  };
  WQ_TRY(with_batch(batch, change));
  return lsn;
}

Status Engine::batch_seal(uint64_t batch, CallOptions& call) {
  WQ_ENTER();
  WQ_TRY_SET(const Lsn lsn, change_batch(CommandType::batch_seal, batch));
  return lsn == 0 ? Status() : finish(lsn, call, level_for(call, Durability::power));
}

Status Engine::batch_cancel(uint64_t batch, CallOptions& call) {
  WQ_ENTER();
  WQ_TRY_SET(Lsn lsn, change_batch(CommandType::batch_cancel, batch));
  sweep_after_change(lsn);
  return lsn == 0 ? Status() : finish(lsn, call, level_for(call, Durability::power));
}

Result<BatchStatus> Engine::batch_status(uint64_t batch) {
  WQ_ENTER();
  BatchStatus out;
  WQ_TRY(with_batch(batch, [&](const BatchRow& row) WQ_REQUIRES(mutex_) -> Status {
    out = status_of(batch, row);
    return {};
  }));
  return out;
}

Result<BatchPage> Engine::batch_list(uint64_t cursor, size_t limit) {
  WQ_ENTER();
  if (limit == 0 || limit > batch_list_max) return Status(Code::invalid, "limit: give 1 to 1000");
  const std::string lower = batch_row_key(1);
  const std::string upper = batch_row_key(cursor == 0 ? UINT64_MAX : cursor);
  for (;;) {
    uint64_t version = 0;
    {
      MutexLock lock(mutex_);
      version = store_version_;
    }
    std::map<std::string, std::optional<std::string>> rows;
    const auto walk = store_->scan(Family::batch, lower, upper, true);
    for (; walk->valid() && rows.size() <= limit; walk->next()) {
      rows.emplace(walk->key(), std::string(walk->value()));
    }
    WQ_TRY(walk->status());
    const std::string end = walk->valid() ? rows.begin()->first : lower;
    MutexLock lock(mutex_);
    if (version != store_version_) continue;
    state_.side(Family::batch)
        .for_each([&](const std::string& key, const std::optional<std::string>& value) {
          if (key >= end && key < upper) rows.insert_or_assign(key, value);
        });
    BatchPage page;
    for (auto at = rows.rbegin(); at != rows.rend(); ++at) {
      if (!at->second) continue;
      const auto key = parse_batch_key(at->first);
      const std::optional<BatchRow> row = decode_batch_row(*at->second);
      if (!key || !row) return malformed_row();
      if (page.batches.size() == limit) {
        page.next_cursor = page.batches.back().id;
        return page;
      }
      page.batches.push_back(status_of(key->batch, *row));
    }
    if (walk->valid()) page.next_cursor = parse_batch_key(end)->batch;
    return page;
  }
}

// Of an import: those that wait for nothing any more. Their last jobs ended unseen, or were not
// brought along.
Status Engine::finish_arrived_batches() {
  {
    MutexLock lock(mutex_);
    if (!state_.importing) return no_import();
  }
  uint64_t cursor = 0;
  do {
    WQ_TRY_SET(const BatchPage page, batch_list(cursor, batch_list_max));
    for (const BatchStatus& batch : page.batches) {
      if (batch.finished_ms != 0 || batch.pending != 0 || (batch.flags & batch_sealed) == 0) {
        continue;
      }
      const auto finish_it = [&](const BatchRow&) WQ_REQUIRES(mutex_) -> Status {
        Command& command = begin(CommandType::batch_seal);
        command.batch = batch.id;
        return commit(command).take_status();
      };
      WQ_TRY(with_batch(batch.id, finish_it));
    }
    cursor = page.next_cursor;
  } while (cursor != 0);
  return {};
}

// ---- members whose jobs are gone, or must not start

// Goes through the rows of all members, page by page, while there is a reason to. Whoever ends its
// walk tells that the reason is gone, unless there is a new one.
Status Engine::sweep_members(Lsn& lsn) {
  Lsn reason = 0;
  uint64_t version = 0;
  std::string after = batch_member_key(1, 1);
  const std::string end = prefix_end(after.substr(0, 1));
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (reason == 0) reason = state_.members_lost;
      if (reason == 0 || !failure_.ok()) return failure_;
      version = store_version_;
    }
    std::map<std::string, bool, std::less<>> rows;
    const auto walk = store_->scan(Family::batch, after, end);
    for (; walk->valid() && rows.size() < sweep_page_rows; walk->next()) {
      rows.emplace(walk->key(), true);
    }
    WQ_TRY(walk->status());
    const bool complete = !walk->valid();
    const std::string page_end = complete ? end : std::string(walk->key());
    {
      MutexLock lock(mutex_);
      if (version != store_version_) continue;
      state_.side(Family::batch)
          .for_each([&](const std::string& key, const std::optional<std::string>& value) {
            if (key >= after && key < page_end) rows.insert_or_assign(key, value.has_value());
          });
    }
    std::vector<BatchMember> page;
    for (const auto& [text, there] : rows) {
      const auto key = parse_batch_key(text);
      if (!key) return malformed_row();
      if (there) page.push_back({key->batch, key->job});
      if (page.size() < sweep_page_rows) continue;
      WQ_TRY(sweep_page(page, lsn));
      page.clear();
    }
    if (!page.empty()) WQ_TRY(sweep_page(page, lsn));
    after = page_end;
    if (!complete) continue;
    MutexLock lock(mutex_);
    if (state_.members_lost == reason) state_.members_lost = 0;
    return {};
  }
}

// The caller's change is made, whatever becomes of this: what is left the next checkpoint does, and
// it tells of the failure if there is still one.
void Engine::sweep_after_change(Lsn& lsn) noexcept {
  try {
    sweep_members(lsn).ignore("the checkpoint meets it again");
  } catch (const std::bad_alloc&) {
    return;
  }
}

Status Engine::sweep_page(std::span<const BatchMember> page, Lsn& lsn) {
  std::vector<std::string> keys;
  for (const BatchMember& member : page) {
    keys.push_back(batch_member_key(member.batch, member.job));
    if (&member == page.data() || member.batch != (&member)[-1].batch) {
      keys.push_back(batch_row_key(member.batch));
    }
  }
  for (;;) {
    uint64_t version = 0;
    std::vector<bool> resident;
    {
      MutexLock lock(mutex_);
      version = store_version_;
      for (const BatchMember& member : page) resident.push_back(state_.find(member.job) != nullptr);
    }
    std::vector<StoredJob> stored(page.size());
    StoredJobReader jobs(*store_);
    for (size_t i = 0; i < page.size(); ++i) {
      if (resident[i]) continue;
      WQ_TRY_SET(stored[i], jobs.read(page[i].job));
    }
    bool again = false;
    const auto settle = [&]() WQ_REQUIRES(mutex_) -> Status {
      again = version != store_version_;
      return again ? Status() : settle_swept(page, stored, lsn);
    };
    WQ_TRY(with_rows(Family::batch, keys, settle));
    if (!again) return {};
  }
}

// A job that is not resident is as `stored` says.
Status Engine::settle_swept(std::span<const BatchMember> page, std::span<StoredJob> stored,
                            Lsn& lsn) {
  std::map<BatchId, std::vector<JobId>> lost;
  std::map<QueueId, std::vector<JobId>> unstarted;
  std::vector<StoredJob*> coming;
  const SideTable& table = state_.side(Family::batch);
  for (size_t i = 0; i < page.size(); ++i) {
    const auto [batch, id] = page[i];
    if (!table.find(batch_member_key(batch, id))->has_value()) continue;  // settled meanwhile
    const Job* job = state_.find(id);
    const Queue* queue = job ? job->queue : state_.find_queue(stored[i].row.queue);
    const bool live = job ? State::is_live(job) : queue && is_live_row(queue, stored[i].row);
    const JobState state = job ? job->state : stored[i].row.state;
    const bool waits = state == JobState::ready || state == JobState::delayed;
    if (!live) {
      lost[batch].push_back(id);
    } else if (waits && is_batch_cancelled(state_, batch)) {
      if (!job) coming.push_back(&stored[i]);
      unstarted[queue->id].push_back(id);
    }
  }
  const LogRoom room(*this, LogRoom::few_jobs_bytes);
  WQ_TRY(room.status());
  try {
    for (StoredJob* job : coming) WQ_TRY(bring_in(std::move(*job)));
    for (const auto& [queue, ids] : unstarted) {
      Command& command = begin(CommandType::cancel);
      command.queue = queue;
      command.ids = ids;
      WQ_TRY_SET(lsn, commit(command));
    }
    for (const auto& [batch, ids] : lost) {
      Command& command = begin(CommandType::batch_lost);
      command.batch = batch;
      command.ids = ids;
      WQ_TRY_SET(lsn, commit(command));
    }
  } catch (...) {
    set_failure("a stored job could not be changed");
    throw;
  }
  wake_for_timers();
  return {};
}

// ---- the end of batches

Status Engine::forget_batches() {
  const int64_t now_ms = wall_ms();
  if (now_ms <= batch_kept_ms) return {};
  const std::string end = batch_finished_key(now_ms - batch_kept_ms, 0);
  std::vector<BatchId> old;
  const auto walk = store_->scan(Family::batch, batch_finished_key(0, 0), end);
  for (; walk->valid(); walk->next()) {
    const auto key = parse_batch_key(walk->key());
    if (!key) return malformed_row();
    old.push_back(key->batch);
  }
  WQ_TRY(walk->status());
  for (const BatchId batch : old) {
    const Status status = with_batch(batch, [&](const BatchRow&) WQ_REQUIRES(mutex_) -> Status {
      Command& command = begin(CommandType::batch_forget);
      command.batch = batch;
      return commit(command).take_status();
    });
    if (!status.ok() && status.code() != Code::not_found) return status;  // forgotten already
  }
  return {};
}

Status Engine::look_after_batches() {
  Lsn ignored = 0;
  WQ_TRY(sweep_members(ignored));
  return forget_batches();
}

}  // namespace wq
