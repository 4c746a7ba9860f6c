// Keys of jobs: who holds one, cancel by key, release by the holder, replay of a dead job that
// takes its key again; and the removal of rows that say nothing any more.
#include "base/planted.h"
#include "engine/admit.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"

namespace wq {
namespace {

constexpr size_t key_forget_step_rows = 1'000;

Status malformed_row() {
  return Status(Code::corrupt, "db: family unique: malformed row; run wq verify");
}

Status admit_key_name(KeyKind kind, std::string_view key) {
  if (kind != KeyKind::unique && kind != KeyKind::debounce && kind != KeyKind::idempotency) {
    return Status(Code::invalid, "kind: unknown value");
  }
  return admit_key("key", key);
}

Status key_is_free() {
  return Status(Code::not_found, "no job holds this key");
}

}  // namespace

Result<JobId> Engine::key_holder(QueueId id, KeyKind kind, std::string_view key) {
  WQ_ENTER();
  WQ_TRY(admit_key_name(kind, key));
  const std::string row_key = key_row_key(kind, id, key);
  JobId holder = 0;
  const auto look = [&](ColdJobs& cold) WQ_REQUIRES(mutex_) -> Status {
    WQ_TRY(queue_for(id).take_status());
    WQ_TRY_SET(const KeyRow row, holder_of(state_, cold, row_key, wall_ms()));
    holder = row.holder;
    return holder == 0 ? key_is_free() : Status();
  };
  WQ_TRY(with_holders({&row_key, 1}, 0, look));
  return holder;
}

// Makes one of several jobs resident for a command that moves them all: in no lane or list, so the
// command must follow under this lock. If it can not, the store stops.
Status Engine::bring_in(StoredJob stored) {
  const Result<Job*> job = materialize(state_, std::move(stored));
  if (!job.ok()) set_failure(job.status().text());
  return job.status();
}

// Commits a command that moves these jobs. Those that are only in the store become resident for it.
Result<Lsn> Engine::commit_resident(Command& command, std::span<const JobId> ids, ColdJobs& cold) {
  const LogRoom room(*this, command_bytes_bound(command));
  WQ_TRY(room.status());
  try {
    for (const JobId id : ids) {
      StoredJob* stored = cold.find(id);
      if (!stored || state_.find(id)) continue;
      WQ_TRY(bring_in(std::move(*stored)));
    }
    return commit(command);
  } catch (...) {
    set_failure("a stored job could not be changed");
    throw;
  }
}

Result<JobId> Engine::cancel_key(QueueId id, KeyKind kind, std::string_view key,
                                 CallOptions& call) {
  WQ_ENTER();
  WQ_TRY(admit_key_name(kind, key));
  if (kind == KeyKind::idempotency) {
    return Status(Code::invalid,
                  "kind: an idempotency key stands for a job that may have ended; "
                  "cancel the job by its id");
  }
  const std::string row_key = key_row_key(kind, id, key);
  JobId holder = 0;
  Lsn lsn = 0;
  const auto change = [&](ColdJobs& cold) WQ_REQUIRES(mutex_) -> Status {
    WQ_TRY(queue_for(id).take_status());
    Command& command = begin(CommandType::cancel);
    WQ_TRY_SET(const KeyRow row, holder_of(state_, cold, row_key, command.now_ms));
    if (row.holder == 0) return key_is_free();
    holder = row.holder;
    if (glance(state_, cold, holder).state == JobState::dead) {
      return Status(Code::conflict, "job " + std::to_string(holder) +
                                        " is a dead letter; replay or remove it as one");
    }
    command.queue = id;
    command.ids.push_back(holder);
    WQ_TRY_SET(lsn, commit_resident(command, {&holder, 1}, cold));
    return {};
  };
  WQ_TRY(with_holders({&row_key, 1}, 0, change));
  WQ_TRY(finish(lsn, call, level_for(call, Durability::power)));
  return holder;
}

Status Engine::release_key(QueueId id, Token token, CallOptions& call) {
  WQ_ENTER();
  Lsn lsn = 0;
  {
    MutexLock lock(mutex_);
    WQ_TRY_SET(const Queue* queue, queue_for(id));
    WQ_TRY(check_lease(state_, queue, token.id, token.generation));
    if (state_.find(token.id)->key_until_ms == 0) return {};
    Command& command = begin(CommandType::key_release);
    command.queue = id;
    SettleItem& item = command.settles.emplace_back();
    item.id = token.id;
    item.generation = token.generation;
    WQ_TRY_SET(lsn, commit(command));
  }
  return finish(lsn, call, level_for(call, Durability::power));
}

// The replay of a dead job whose death freed its key.
Status Engine::replay_keyed(QueueId id, Token entry, const JobTraits& traits, CallOptions& call) {
  WQ_ENTER();
  const std::string row_key = key_row_key(KeyKind::unique, id, traits.key);
  Lsn lsn = 0;
  const auto change = [&](ColdJobs& cold) WQ_REQUIRES(mutex_) -> Status {
    WQ_TRY_SET(const Queue* queue, queue_for(id));
    const JobGlance job = glance(state_, cold, entry.id);
    if (!job.live || job.queue != id) return no_such_job(entry.id);
    if (job.state != JobState::dead || job.generation != entry.generation) return Code::stale;
    Command& command = begin(CommandType::dead_replay);
    command.first_generation = state_.next_generation;
    WQ_TRY_SET(const KeyRow row, holder_of(state_, cold, row_key, command.now_ms));
    if (row.holder != 0 && !WQ_PLANTED(replay_takes_a_held_key)) return key_is_held(row.holder);
    const uint64_t batch = cancelled_batch_of(state_, entry.id, cold.find(entry.id));
    if (batch != 0) return batch_is_cancelled(batch);
    const Job* resident = state_.find(entry.id);
    const uint64_t bytes = resident ? resident->body.size() : cold.find(entry.id)->body.size();
    if (!queue->has_room(1, bytes) && !WQ_PLANTED(queue_limit_ignored)) return no_room_for_replay();
    command.queue = id;
    SettleItem& item = command.settles.emplace_back();
    item.id = entry.id;
    item.generation = entry.generation;
    WQ_TRY_SET(lsn, commit_resident(command, {&entry.id, 1}, cold));
    return {};
  };
  WQ_TRY(with_holders({&row_key, 1}, entry.id, change));
  return finish(lsn, call, level_for(call, Durability::power));
}

// ---- replay: what a record names, as the call that made it had it

Status Engine::make_keys_known(const Command& command) {
  WQ_TRY_SET(const std::vector<std::string> rows, key_rows_of(state_, command));
  for (const std::string& row_key : rows) WQ_TRY(make_row_known(Family::unique, row_key));
  const bool new_jobs =
      command.type == CommandType::enqueue || command.type == CommandType::drop_oldest;
  if (!new_jobs) return {};
  for (const std::string& row_key : rows) {
    if (parse_key_row_key(row_key)->kind != KeyKind::debounce) continue;
    WQ_TRY(make_waiting_holder_resident(row_key, command.now_ms));
  }
  return {};
}

// Only one that apply() will move: a ready job that becomes resident alone is in no lane.
Status Engine::make_waiting_holder_resident(const std::string& row_key, int64_t now_ms) {
  WQ_TRY_SET(const JobId holder, named_holder(state_, row_key));
  if (holder == 0 || state_.find(holder)) return {};
  ColdJobs cold;
  WQ_TRY_SET(StoredJob stored, read_job(*store_, holder));
  cold.put(std::move(stored));
  const JobGlance job = glance(state_, cold, holder);
  return job.live && now_ms < job.key_until_ms ? make_job_resident(holder) : Status();
}

// ---- rows that say nothing any more

// Takes away those of the given rows that name nobody who holds the key.
Status Engine::forget_keys(std::span<const std::string> rows) {
  const int64_t now_ms = wall_ms();
  const auto forget = [&](ColdJobs& cold) WQ_REQUIRES(mutex_) -> Status {
    Command& command = begin(CommandType::key_forget, now_ms);
    for (const std::string& row_key : rows) {
      if (!*state_.side(Family::unique).find(row_key)) continue;
      WQ_TRY_SET(const KeyRow row, holder_of(state_, cold, row_key, now_ms));
      const std::optional<KeyName> name = parse_key_row_key(row_key);
      if (row.holder != 0 && name && state_.find_queue(name->queue)) continue;
      command.kv.push_back({.key = row_key, .erase = true});
    }
    return command.kv.empty() ? Status() : commit(command).take_status();
  };
  return with_holders(rows, 0, forget);
}

// Rows whose time is up and that a checkpoint has brought to the store. Those count already as
// absent, so nobody waits for this.
Status Engine::expire_keys() {
  std::string after = key_expiry_key(0, std::string_view());
  for (;;) {
    const std::string end = key_expiry_key(wall_ms(), std::string_view());
    if (after >= end) return {};
    std::vector<std::string> rows;
    const auto cursor = store_->scan(Family::unique, after, end);
    for (; cursor->valid() && rows.size() < key_forget_step_rows; cursor->next()) {
      const auto expiry = parse_key_expiry_key(cursor->key());
      if (!expiry) return malformed_row();
      rows.emplace_back(expiry->row_key);
      after = std::string(cursor->key()) + '\0';
    }
    WQ_TRY(cursor->status());
    if (rows.empty()) return {};
    WQ_TRY(forget_keys(rows));
  }
}

// A clear or delete ends jobs without looking at them: their rows are found by the queue. False if
// the store is closing.
Result<bool> Engine::forget_keys_of_cleared(QueueId queue) {
  for (const KeyKind kind : {KeyKind::unique, KeyKind::debounce, KeyKind::idempotency}) {
    const std::string first = key_row_key(kind, queue, std::string_view());
    std::string after = first;
    for (bool more = true; more;) {
      {
        MutexLock lock(mutex_);
        if (stopping_ || closed_.load()) return false;
      }
      std::vector<std::string> rows;
      const auto cursor = store_->scan(Family::unique, after, prefix_end(first));
      for (; cursor->valid() && rows.size() < key_forget_step_rows; cursor->next()) {
        rows.emplace_back(cursor->key());
        after = rows.back() + '\0';
      }
      WQ_TRY(cursor->status());
      more = !rows.empty();
      if (more) WQ_TRY(forget_keys(rows));
    }
  }
  return true;
}

}  // namespace wq
