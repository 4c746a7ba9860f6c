// Checkpoint: freeze, capture, write, forget (DESIGN D3). One at a time. Nothing of it holds the
// engine's mutex longer than one bounded step.
#include <algorithm>

#include "base/memory.h"
#include "base/planted.h"
#include "engine/checkpoint_rows.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/exit_gate.h"

namespace wq {

Status Engine::run_checkpoint() {
  MutexLock one_at_a_time(checkpoint_mutex_);
  const GateStay stay;  // for all of it: cut short by an exit it would look like a failure
  WQ_TRY(stay.status());
  if (frozen_) {  // the one that was postponed
    {
      MutexLock lock(mutex_);
      WQ_TRY(failure_);
    }
    WQ_TRY(write_frozen());
  }
  WQ_TRY(expire_kv());
  WQ_TRY(expire_keys());
  WQ_TRY(look_after_batches());
  Status taken = freeze();
  if (!frozen_) return taken;
  if (environment_.between_steps) environment_.between_steps();
  if (WQ_PLANTED(log_released_early)) WQ_TRY(log_->trim(frozen_->lsn + 1));
  return taken.ok() ? write_frozen() : finish_checkpoint(std::move(taken));
}

Status Engine::write_frozen() {
  Status written = write_with_room();
  if (environment_.between_steps) environment_.between_steps();
  const bool short_of_room = written.code() == Code::no_space && store_->failure().ok();
  if (short_of_room && !WQ_PLANTED(checkpoint_without_room)) {
    return postpone_checkpoint(std::move(written));
  }
  return finish_checkpoint(std::move(written));
}

// Takes what has changed into frozen_, if there is anything: it is gone then from memory's point of
// view.
Status Engine::freeze() {
  MutexLock lock(mutex_);
  checkpoint_wanted_ = false;
  WQ_TRY(failure_);
  WQ_TRY(log_->failure());
  while (state_.sweep_garbage(evict_step_max)) let_callers_in();
  const Lsn frozen_lsn = log_->last_lsn();
  // Nothing changed but whose turn it is, where lines were read; and pages may have been read.
  const bool same_turns = state_.changed_gates().empty() || WQ_PLANTED(read_turns_not_stored);
  if (frozen_lsn == applied_lsn_ && same_turns) {
    if (state_.resident_bytes() > options_.memory_budget_bytes) evict_to_target();
    return {};
  }
  state_.freeze();  // without memory for it nothing is frozen
  frozen_.emplace();
  frozen_->lsn = frozen_lsn;
  frozen_->start_ns = environment_.clock->mono_ns();
  checkpoint_running_ = true;
  log_bytes_since_checkpoint_ = 0;
  return caught([&] {
    mutex_.assert_held();
    checkpoint_mutex_.assert_held();
    return take_frozen(frozen_->content, frozen_lsn);
  });
}

// As often as a spare segment of the log can make room for it.
Status Engine::write_with_room() {
  for (;;) {
    Status written = caught([&] {
      checkpoint_mutex_.assert_held();
      return write_checkpoint(frozen_->content, frozen_->lsn);
    });
    const bool short_of_room = written.code() == Code::no_space && store_->failure().ok();
    if (!short_of_room || !log_->drop_spare()) return written;
  }
}

// Nothing was written, and what is to be written is kept: the next call goes on with it. Until then
// no memory is freed and the log grows, so whoever waits for memory goes on without it.
Status Engine::postpone_checkpoint(Status why) {
  MutexLock lock(mutex_);
  checkpoint_wanted_ = false;
  checkpoint_running_ = false;
  checkpoint_postponed_ = true;
  memory_freed_.notify_all();
  return why;
}

Status Engine::finish_checkpoint(Status written) {
  const Lsn frozen_lsn = frozen_->lsn;
  MutexLock lock(mutex_);
  const uint64_t before_bytes = state_.resident_bytes();
  if (written.ok()) {
    written = caught([&]() -> Status {
      mutex_.assert_held();
      forget_checkpointed(frozen_lsn);
      return {};
    });
    ++checkpoints_;
    checkpoint_us_last_ = (environment_.clock->mono_ns() - frozen_->start_ns) / ns_per_us;
    checkpoint_us_max_ = std::max(checkpoint_us_max_, checkpoint_us_last_);
  }
  if (!written.ok() && !WQ_PLANTED(checkpoint_failure_forgotten)) {
    // The captured rows are gone from memory's point of view: only a replay brings them back.
    const auto text = [&] { return "checkpoint: " + written.message(); };
    set_failure(status_with_text(written.code(), text).text());
    if (written.code() == Code::no_memory) written = failure_;
  }
  checkpoint_running_ = false;
  checkpoint_postponed_ = false;
  memory_freed_.notify_all();
  const uint64_t freed_bytes = before_bytes - std::min(before_bytes, state_.resident_bytes());
  lock.unlock();
  frozen_.reset();
  WQ_TRY(std::move(written));
  if (freed_bytes > memory_returned_min) return_free_memory();
  WQ_TRY(log_->trim(frozen_lsn + 1));
  WQ_TRY(sweep_trash());
  WQ_TRY(sweep_history());
  return give_back_space();
}

// On a disk that is short, what settled jobs leave behind in the store would keep enqueue refused
// although there is next to nothing in it. Each time that half of the jobs are gone is often
// enough.
Status Engine::give_back_space() {
  check_disk_space();
  if (disk_missing_bytes_.load(std::memory_order_relaxed) == 0) {
    jobs_at_shrink_ = UINT64_MAX;
    return {};
  }
  uint64_t jobs = 0;
  uint64_t job_bytes = 0;
  {
    MutexLock lock(mutex_);
    job_bytes = state_.job_bytes();
    for (const auto& [name, queue] : state_.queues()) {
      for (const uint64_t count : queue->counts) jobs += count;
    }
  }
  if (jobs > jobs_at_shrink_ / 2) return {};
  jobs_at_shrink_ = jobs;
  const Result<uint64_t> free = environment_.io->free_bytes(options_.directory);
  if (!free.ok()) return {};
  WQ_TRY(store_->shrink(free.value(), job_bytes));
  check_disk_space();
  return {};
}

// What the checkpoint writes, as of the freeze.
Status Engine::take_frozen(CheckpointContent& content, Lsn frozen_lsn) {
  content.queues = state_.take_changed_queues();
  content.gates = state_.take_changed_gates();
  content.removed_queues = state_.removed_queues();
  for (const Family family : side_families) {
    content.side.push_back(&state_.side(family).frozen());
  }
  content.meta = MetaRow{frozen_lsn,
                         state_.next_job_id,
                         state_.next_generation,
                         state_.next_queue_id,
                         load_le<uint64_t>(uuid_.data()),
                         load_le<uint64_t>(uuid_.data() + sizeof(uint64_t)),
                         state_.trash,
                         state_.importing,
                         state_.batch_members,
                         state_.members_lost};
  while (state_.capture_some(options_.checkpoint_step_jobs)) let_callers_in();
  content.jobs = state_.take_captured();
  return {};
}

void Engine::let_callers_in() {
  const MutexGap gap(mutex_);
  if (environment_.between_steps) environment_.between_steps();
}

// The store must never be ahead of the log: the log is made durable up to the freeze first.
Status Engine::write_checkpoint(CheckpointContent& content, Lsn frozen_lsn) {
  if (!WQ_PLANTED(checkpoint_ahead_of_log)) WQ_TRY(log_->wait(frozen_lsn, Durability::power));
  WQ_TRY_SET(auto checkpoint, store_->begin_checkpoint(estimate_rows(content)));
  WQ_TRY(write_rows(content, row_encoder_, *checkpoint));
  if (WQ_PLANTED(applied_lsn_apart)) {
    WQ_TRY(checkpoint->commit());
    WQ_TRY_SET(checkpoint, store_->begin_checkpoint(1));
  }
  WQ_TRY(write_meta(content, row_encoder_, *checkpoint));
  WQ_TRY(commit_with_room(*checkpoint));
  return store_->failure();
}

// A database that finds no room in the middle of a commit is over. Before that everything can still
// be put off.
Status Engine::commit_with_room(Checkpoint& checkpoint) {
  const uint64_t wanted_bytes = checkpoint.commit_bytes();
  const Result<uint64_t> free = environment_.io->free_bytes(options_.directory);
  if (!free.ok() || free.value() >= wanted_bytes) return checkpoint.commit();
  return Status(Code::no_space, options_.directory + ": a checkpoint needs " +
                                    std::to_string(wanted_bytes) + " bytes of disk space, " +
                                    std::to_string(free.value()) +
                                    " are left; free some, the store then goes on by itself");
}

// The store has everything up to the freeze: ended jobs can be forgotten and clean ones evicted.
// Each step that makes the job table forget something raises the store version, see residency.h.
void Engine::forget_checkpointed(Lsn frozen_lsn) {
  applied_lsn_ = frozen_lsn;
  observer_.checkpoint(frozen_lsn, wall_ms());
  wake_followers();
  ++store_version_;
  while (state_.drop_ended(evict_step_max)) {
    let_callers_in();
    ++store_version_;
  }
  state_.complete();
  evict_to_target();
  note_pressure();
}

// Halves what is resident, or more when the windows of many lanes alone are over the budget: then
// the windows shrink.
void Engine::evict_to_target() {
  constexpr int64_t delay_horizon_ms = 60'000;
  constexpr uint64_t lane_window_min = 16;
  EvictionPolicy policy{options_.memory_budget_bytes / 2, options_.lane_window,
                        wall_ms() + delay_horizon_ms};
  for (;;) {
    while (evict_some(state_, policy, evict_step_max)) {
      ++store_version_;
      let_callers_in();
    }
    ++store_version_;
    if (state_.resident_bytes() <= options_.memory_budget_bytes) break;
    if (policy.lane_window <= lane_window_min) break;
    policy.lane_window = std::max(policy.lane_window / 4, lane_window_min);
  }
  memory_limit_ = std::max(options_.memory_budget_bytes,
                           state_.resident_bytes() + options_.memory_budget_bytes / 2);
}

// ---- trash: rows of cleared or deleted queues that the store still holds

namespace {

constexpr size_t trash_step_rows = 20'000;

struct TrashStep {
  std::vector<std::string> index_keys;
  std::vector<JobId> ids;
  bool complete = false;
};

// Delayed rows lie among those of other queues and of jobs that were delayed after the clear.
Result<bool> is_trash(const Store& store, const TrashRow& row, const DelayKey& key) {
  if (key.queue != row.queue) return false;
  WQ_TRY_SET(const StoredJob job, read_job(store, key.id));
  return job.row.state == JobState::delayed && job.row.epoch < row.epoch_below;
}

// The next rows of this trash. row.seq_low (ready, dead) and `after` (delayed, lines) move on.
Result<TrashStep> find_trash(const Store& store, TrashRow& row, std::string& after) {
  TrashStep step;
  Family family = Family::ready;
  std::string lower = ready_key(row.queue, row.priority, row.seq_low);
  std::string upper = prefix_end(ready_key(row.queue, row.priority, row.seq_high));
  if (row.state == JobState::dead) {
    family = Family::dlq;
    lower = dead_key(row.queue, row.seq_low);
    upper = prefix_end(dead_key(row.queue, row.seq_high));
  } else if (row.state == JobState::delayed) {
    family = Family::delay;
    lower = after;
    upper = std::string();
  } else if (row.lines) {
    lower = after.empty() ? line_key(row.queue, row.seq_low, 0, 0) : after;
    upper = prefix_end(line_key(row.queue, row.seq_high, UINT8_MAX, UINT64_MAX));
  }
  const auto cursor = store.scan(family, lower, upper);
  size_t looked_at = 0;
  for (; cursor->valid(); cursor->next()) {
    if (looked_at++ >= trash_step_rows) return step;
    const std::string key(cursor->key());
    after = key + '\0';
    if (family == Family::delay) {
      const auto delay = parse_delay_key(key);
      if (!delay) return Status(Code::corrupt, "db: family delay: malformed row");
      WQ_TRY_SET(const bool trash, is_trash(store, row, *delay));
      if (!trash) continue;
      step.ids.push_back(delay->id);
    } else {
      const auto id = parse_id_value(cursor->value());
      if (!id) return Status(Code::corrupt, "db: malformed index row");
      step.ids.push_back(*id);
      if (!row.lines) row.seq_low = get_be64(key.data() + key.size() - sizeof(uint64_t)) + 1;
    }
    step.index_keys.push_back(key);
  }
  WQ_TRY(cursor->status());
  step.complete = true;
  return step;
}

Result<std::unique_ptr<Checkpoint>> erase_trash(Store& store, Family family, TrashStep& step) {
  WQ_TRY_SET(auto checkpoint, store.begin_checkpoint(step.ids.size() * 2));
  std::sort(step.ids.begin(), step.ids.end());
  for (size_t i = 0; i < step.ids.size();) {
    size_t end = i + 1;
    while (end < step.ids.size() && step.ids[end] == step.ids[end - 1] + 1) ++end;
    WQ_TRY(checkpoint->erase_range(Family::job, job_body_key(step.ids[i]),
                                   prefix_end(job_state_key(step.ids[end - 1]))));
    i = end;
  }
  for (const std::string& key : step.index_keys) WQ_TRY(checkpoint->erase(family, key));
  return checkpoint;
}

}  // namespace

// Only trash that the checkpoint knows of: a replay from an older state still needs the rows. A
// crash in the middle is harmless, the rest is found again.
Status Engine::sweep_trash() {
  for (;;) {
    TrashRow row;
    {
      MutexLock lock(mutex_);
      const auto found = std::find_if(state_.trash.begin(), state_.trash.end(),
                                      [applied = applied_lsn_](const TrashRow& t) {
                                        return t.lsn <= applied || WQ_PLANTED(trash_swept_early);
                                      });
      if (found == state_.trash.end()) return {};
      row = *found;
    }
    const TrashRow whole = row;
    const Family family = row.state == JobState::dead      ? Family::dlq
                          : row.state == JobState::delayed ? Family::delay
                                                           : Family::ready;
    std::string after;
    for (bool complete = false; !complete;) {
      {
        MutexLock lock(mutex_);
        if (stopping_ || closed_.load()) return {};
      }
      WQ_TRY_SET(TrashStep step, find_trash(*store_, row, after));
      if (!step.ids.empty()) {
        WQ_TRY_SET(const auto erased, erase_trash(*store_, family, step));
        WQ_TRY(commit_with_room(*erased));
      }
      complete = step.complete;
    }
    if (row.state == JobState::ready && !row.lines) {
      WQ_TRY(store_->reclaim(Family::ready, ready_key(whole.queue, whole.priority, whole.seq_low),
                             prefix_end(ready_key(whole.queue, whole.priority, whole.seq_high))));
    }
    const auto same = [&](const TrashRow& t) {
      return t.queue == whole.queue && t.state == whole.state && t.lsn == whole.lsn &&
             t.priority == whole.priority && t.lines == whole.lines;
    };
    bool last_of_queue = true;
    {
      MutexLock lock(mutex_);
      for (const TrashRow& t : state_.trash) last_of_queue &= t.queue != whole.queue || same(t);
    }
    if (last_of_queue) {
      WQ_TRY_SET(const bool all_gone, forget_keys_of_cleared(whole.queue));
      if (!all_gone) return {};
    }
    MutexLock lock(mutex_);
    std::erase_if(state_.trash, same);
    ++state_.residency.swept_trash;
  }
}

}  // namespace wq
