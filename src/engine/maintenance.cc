// Maintenance: expiry, promotion, refill, and the loops of the engine's threads. Every step under
// the mutex is bounded; what is left over is done by the next step.
#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/job_limits.h"

namespace wq {

// Takes the timers of `command`'s jobs, up to `limit`, and commits it. They are set again if no
// record came of it, which needs no memory: the queue still has the room.
template <typename MayTake>
Status Engine::commit_due(Command& command, TimerQueue& timers, size_t limit, MayTake&& may_take) {
  const auto give_back = [&]() WQ_REQUIRES(mutex_) {
    if (!failure_.ok()) return;  // nothing is due in a store that has stopped
    for (const JobId id : command.ids) {
      Job* job = state_.find(id);
      if (!job->has_timer()) timers.add(job, job->timer_ms);
    }
  };
  try {
    while (command.ids.size() < limit && may_take()) {
      Job* job = timers.first();
      command.ids.push_back(job->id);
      timers.remove(job);  // apply leaves its place for good
    }
    if (command.type == CommandType::expire) draw_retry_delays(command);
    Status status = commit(command).take_status();
    if (!status.ok()) give_back();
    return status;
  } catch (...) {
    give_back();
    throw;
  }
}

// Only written if there is anything to draw.
void Engine::draw_retry_delays(Command& command) {
  bool drawn = false;
  for (const JobId id : command.ids) {
    command.delays_ms.push_back(drawn_retry_delay_ms(*state_.find(id), prng_));
    drawn |= command.delays_ms.back() >= 0;
  }
  if (!drawn || WQ_PLANTED(expiry_without_jitter)) command.delays_ms.clear();
}

// The jobs behind a cold range that has come to the head of its lane may have to end as well. Of
// the lines, those are looked at that have changed.
void Engine::refill_empty_heads() {
  const auto look_at = [&](Queue* queue, const Lanes& lanes) WQ_REQUIRES(mutex_) {
    for (const auto& lane : lanes) {
      if (lane->cold_count > 0 && lane->head.empty()) want_refill(queue, *lane);
    }
  };
  for (const auto& [name, queue] : state_.queues()) look_at(queue, queue->lanes);
  for (const KeyGate* gate : state_.changed_gates()) look_at(gate->queue, gate->lines);
}

// Takes back expired leases, promotes due jobs, then ends jobs that did not start in time, in the
// order of their times, up to `limit` each. A delayed job is looked at when it is due, and one that
// is only in the store when it comes to the head of its lane, or by expire_cold(): neither can be
// leased before. Also called by lease, so that a job whose time has come is never late for a caller
// who asks.
Result<Engine::Due> Engine::run_due(const Now& now, size_t limit) {
  Due due;
  const int64_t lease_now_ms = WQ_PLANTED(leases_on_the_wall_clock) ? now.wall_ms : now.run_ms;
  TimerQueue& leases = state_.leases();
  const auto expired = [&] { return !leases.empty() && leases.first_ms() <= lease_now_ms; };
  if (expired()) {
    Command& command = begin(CommandType::expire, now.wall_ms);
    WQ_TRY(commit_due(command, leases, limit, expired));
    due.handled += command.ids.size();
    due.more = expired();
    if (draining_) idle_.notify_all();
  }
  TimerQueue& delays = state_.delays();
  const bool has_cold = state_.cold_delayed_count() > 0;
  const auto promotable = [&]() WQ_REQUIRES(mutex_) {
    return !delays.empty() && delays.first_ms() <= now.wall_ms && first_delay_is_first(has_cold);
  };
  if (promotable()) {
    Command& command = begin(CommandType::promote, now.wall_ms);
    WQ_TRY(commit_due(command, delays, limit, promotable));
    due.handled += command.ids.size();
    due.more |= promotable();
  }
  TimerQueue& expiries = state_.expiries();
  const auto over = [&] { return !expiries.empty() && expiries.first_ms() <= now.wall_ms; };
  if (over() && !WQ_PLANTED(expiry_timers_ignored)) {
    Command& command = begin(CommandType::expire_jobs, now.wall_ms);
    WQ_TRY(commit_due(command, expiries, limit, over));
    due.handled += command.ids.size();
    due.more |= over();
    refill_empty_heads();
  }
  open_gates(now.wall_ms);
  wake_rated(now.wall_ms);
  return due;
}

// Rate keys whose time has come.
void Engine::open_gates(int64_t now_ms) {
  state_.pass_time(now_ms);
  if (!state_.wake_queue.empty()) wake_waiters(CommandType::rate_rebase);
}

void Engine::watch_rate(Queue* queue) {
  if (queue->rate_watched || WQ_PLANTED(rate_wakes_nobody)) return;
  rate_watch_.push_back(queue->id);
  queue->rate_watched = true;
  wake_for_timers();
}

// Whoever waits for a job that its queue's rate may let begin by now. A lease that finds it used up
// again has it watched again.
void Engine::wake_rated(int64_t now_ms) {
  for (size_t i = 0; i < rate_watch_.size();) {
    Queue* queue = state_.find_queue(rate_watch_[i]);
    if (queue && queue->rate_tokens(now_ms) == 0) {
      ++i;
      continue;
    }
    rate_watch_[i] = rate_watch_.back();
    rate_watch_.pop_back();
    if (!queue) continue;
    queue->rate_watched = false;
    wake_queue(queue);
  }
}

// A resident job behind the cursor may have an earlier one before it that is not loaded yet.
bool Engine::first_delay_is_first(bool has_cold) const {
  const Job* job = state_.delays().first();
  return !has_cold || DelayKey{job->timer_ms, job->queue->id, job->id} <= state_.delay_cursor;
}

bool Engine::delays_wanted(int64_t now_ms) const {
  constexpr int64_t load_ahead_ms = 5'000;
  return state_.cold_delayed_count() > 0 && state_.delay_cursor.due_ms <= now_ms + load_ahead_ms;
}

// Memory comes first. Over the budget, what is in memory is promoted before more is loaded: due
// jobs are never evicted, so that loading ahead would only raise the limit. Over the limit, a flood
// is loaded as fast as checkpoints free room for it; one that can free nothing raises the limit, so
// this never stays false.
bool Engine::has_room_for_pages() const {
  const uint64_t resident = state_.resident_bytes();
  if (resident <= options_.memory_budget_bytes || WQ_PLANTED(due_jobs_loaded_ahead)) return true;
  const bool has_first = !state_.delays().empty() && first_delay_is_first(true);
  return !has_first && resident <= memory_limit_;
}

// A store under import is left alone.
bool Engine::trim_wanted(int64_t now_ms) const {
  return !state_.importing && (trim_queue_ != 0 || state_.dead_trim_ms <= now_ms);
}

// Milliseconds until the next timer, at most sleep_ms_max; 0 when something is due.
int64_t Engine::next_due_wait_ms() {
  int64_t wait_ms = sleep_ms_max;
  if (!state_.leases().empty()) {
    wait_ms = std::min(wait_ms, state_.leases().first_ms() - run_ms());
  }
  const int64_t now_ms = wall_ms();
  // The first one has to wait, due or not, while an earlier one may be only in the store.
  if (!state_.delays().empty() && first_delay_is_first(state_.cold_delayed_count() > 0)) {
    wait_ms = std::min(wait_ms, state_.delays().first_ms() - now_ms);
  }
  if (!state_.expiries().empty() && !WQ_PLANTED(expiry_timers_ignored)) {
    wait_ms = std::min(wait_ms, state_.expiries().first_ms() - now_ms);
  }
  for (const QueueId id : rate_watch_) {
    const Queue* queue = state_.find_queue(id);
    if (!queue) continue;
    wait_ms = std::min(wait_ms, queue->rate_wait_ms(now_ms));
  }
  if (!WQ_PLANTED(key_wakes_nobody)) wait_ms = std::min(wait_ms, state_.gate_due_ms() - now_ms);
  if (delays_wanted(now_ms)) {
    wait_ms = has_room_for_pages() ? 0 : std::min(wait_ms, no_room_poll_ms);
  }
  return std::max<int64_t>(0, wait_ms);
}

// The same for the maintenance, which has more to do than a caller who waits for a job helps with.
int64_t Engine::next_work_wait_ms() {
  int64_t wait_ms = next_due_wait_ms();
  const int64_t now_ms = wall_ms();
  if (const Schedule* first = state_.cron.first(); first && cron_may_run()) {
    wait_ms = std::clamp<int64_t>(first->wake_ms - now_ms, 0, wait_ms);
  }
  if (state_.importing) return wait_ms;
  wait_ms = std::min(wait_ms, cold_expiry_wait_ms());
  if (!trim_wanted(now_ms)) return std::min(wait_ms, state_.dead_trim_ms - now_ms);
  return state_.resident_bytes() <= memory_limit_ ? 0 : std::min(wait_ms, no_room_poll_ms);
}

// After a change that may have made a timer the first: the maintenance thread is woken only if it
// would sleep past it.
void Engine::wake_for_timers() {
  if (maintenance_due_ns_ == 0) return;  // awake: it looks before it sleeps
  if (WQ_PLANTED(timer_wakes_nobody)) return;
  const int64_t due_ns = environment_.clock->mono_ns() + next_work_wait_ms() * ns_per_ms;
  if (due_ns < maintenance_due_ns_) maintenance_wake_.notify_one();
}

Lane* Engine::find_lane(const LaneId& id) const {
  Queue* queue = state_.find_queue(id.queue);
  return queue ? state_.find_lane(queue, id.gate, id.priority) : nullptr;
}

// Marks the lane while its next page is read. The lane may be gone by the end.
struct Engine::ComingPage {
  ComingPage(Engine& of, const LaneId& which, Lane& lane) : engine(of), id(which) {
    lane.page_coming = true;
  }
  ~ComingPage() {
    engine.mutex_.assert_held();
    if (Lane* lane = engine.find_lane(id)) lane->page_coming = false;
    engine.page_came_.notify_all();
  }
  ComingPage(const ComingPage&) = delete;
  ComingPage& operator=(const ComingPage&) = delete;

  Engine& engine;
  const LaneId& id;
};

// Short of memory, a lane gets just enough to go on with, and a checkpoint is due that evicts.
PageLimits Engine::refill_limits(const LaneId& id) {
  PageLimits limits = page_limits;
  limits.rows = options_.lane_window;
  if (state_.resident_bytes() > options_.memory_budget_bytes / 2) limits.rows /= 8;
  if (state_.resident_bytes() > options_.memory_budget_bytes) {
    limits.rows = refill_rows_min;
    checkpoint_wanted_ = true;
    checkpoint_wake_.notify_one();
  }
  const size_t rows_max = id.gate.empty() ? refill_rows_max : line_refill_rows_max;
  limits.rows = std::clamp(limits.rows, refill_rows_min, rows_max);
  return limits;
}

// Reads the next page of a lane into its head, or waits for who does so. On return the lane may
// still be empty: look again.
Status Engine::refill_lane(const LaneId& id) {
  Lane* const lane = find_lane(id);
  if (!lane || lane->cold_count == 0) return {};
  if (lane->page_coming) {
    page_came_.wait_for_ns(mutex_, sleep_ms_max * ns_per_ms);
    return {};
  }
  const LaneRange range(*state_.find_queue(id.queue), *lane);
  const uint64_t version = store_version_;
  const PageLimits limits = refill_limits(id);
  const ComingPage coming(*this, id, *lane);
  const auto read = [&] {
    MutexGap gap(mutex_);
    Result<LanePage> page = read_lane(*store_, range, limits);
    if (environment_.page_was_read) environment_.page_was_read();
    return page;
  };
  Result<LanePage> page = read();
  if (!page.ok()) return page.take_status();
  if (version != store_version_ && !WQ_PLANTED(old_page_merged)) return {};
  return merge_lane(state_, std::move(page).value()).take_status();
}

// Of a lane that a lease found short of jobs in memory: page by page, until it is not.
Status Engine::refill_wanted() {
  const LaneId id = std::move(refills_.back());
  refills_.pop_back();
  if (Lane* lane = find_lane(id)) lane->refill_wanted = false;
  WQ_TRY(refill_lane(id));
  Lane* const lane = find_lane(id);
  if (!lane || lane->gate || lane->cold_count == 0) return {};
  const bool has_room = state_.resident_bytes() <= options_.memory_budget_bytes / 2;
  if (has_room && lane->head_count < options_.lane_window) {
    want_refill(state_.find_queue(id.queue), *lane);
  }
  return {};
}

Status Engine::load_delays() {
  const DelayKey after = state_.delay_cursor;
  const uint64_t version = store_version_;
  const auto read = [&] {
    MutexGap gap(mutex_);
    Result<DelayPage> page = read_delays(*store_, after, page_limits);
    if (environment_.page_was_read) environment_.page_was_read();
    return page;
  };
  Result<DelayPage> page = read();
  if (!page.ok()) return page.take_status();
  if (version != store_version_ && !WQ_PLANTED(old_page_merged)) return {};
  return merge_delays(state_, std::move(page).value()).take_status();
}

// One round of what needs the mutex; true = there is more to do at once.
Result<bool> Engine::maintain() {
  WQ_TRY_SET(const Due due, run_due(now(), due_step_max));
  bool more = due.more || state_.sweep_garbage(evict_step_max);
  if (trim_wanted(wall_ms())) {
    WQ_TRY_SET(const bool trimmed, trim_dead(wall_ms()));
    more |= trimmed;
  }
  // After what has a timer, so that jobs end in the order of their times as far as may be.
  if (due.handled == 0 && cold_expiry_wanted()) {
    WQ_TRY_SET(const bool left, expire_cold());
    more |= left;
  }
  if (delays_wanted(wall_ms())) {
    if (has_room_for_pages()) {
      WQ_TRY(load_delays());
      more = true;
    } else if (state_.resident_bytes() > memory_limit_ && !checkpoint_wanted_) {
      checkpoint_wanted_ = true;
      checkpoint_wake_.notify_one();
    }
  }
  if (!refills_.empty()) {
    WQ_TRY(refill_wanted());
    more = true;
  }
  return more;
}

void Engine::maintenance_loop() {
  MutexLock lock(mutex_);
  int64_t next_disk_check_ns = 0;
  while (!stopping_) {
    const int64_t now_ns = environment_.clock->mono_ns();
    if (now_ns >= next_disk_check_ns) {
      next_disk_check_ns = now_ns + sleep_ms_max * ns_per_ms;
      lock.unlock();
      check_disk_space();
      bool more_spares = true;
      while (more_spares) {
        more_spares = prepare_spares();
        const MutexLock look(mutex_);
        more_spares &= !stopping_;
      }
      lock.lock();
      continue;
    }
    if (!failure_.ok() || !log_->failure().ok()) {
      maintenance_wake_.wait_for_ns(mutex_, sleep_ms_max * ns_per_ms);
      continue;
    }
    if (cron_is_due()) {
      lock.unlock();
      const Status status = run_schedules();
      if (!status.ok()) note_failure(status).ignore("kept as the state of the store");
      lock.lock();
      if (stopping_) return;
    }
    const Result<bool> more = maintain();
    if (!more.ok()) {
      lock.unlock();
      note_failure(more.status()).ignore("kept as the state of the store");
      lock.lock();
      // Short of room or memory: that does not change at once.
      if (!stopping_) maintenance_wake_.wait_for_ns(mutex_, sleep_ms_max * ns_per_ms);
      continue;
    }
    if (more.value()) {
      const MutexGap gap(mutex_);
      continue;
    }
    const int64_t wait_ms = next_work_wait_ms();
    if (stopping_) return;
    if (wait_ms == 0) {  // just now
      const MutexGap let_callers_in(mutex_);
      continue;
    }
    maintenance_due_ns_ = environment_.clock->mono_ns() + wait_ms * ns_per_ms;
    maintenance_wake_.wait_for_ns(mutex_, wait_ms * ns_per_ms);
    maintenance_due_ns_ = 0;
  }
}

void Engine::flusher_loop() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      if (stopping_) return;
    }
    const Status status = log_->run_flusher(flusher_sleep_ms);
    if (!status.ok()) {  // the log has failed for good; waiters and completions were told by it
      MutexLock lock(mutex_);
      while (!stopping_) maintenance_wake_.wait_for_ns(mutex_, flusher_sleep_ms * ns_per_ms);
      return;
    }
  }
}

void Engine::checkpoint_loop() {
  for (;;) {
    {
      MutexLock lock(mutex_);
      while (!stopping_ && (!checkpoint_wanted_ || !failure_.ok())) {
        checkpoint_wake_.wait_for_ns(mutex_, sleep_ms_max * ns_per_ms);
      }
      if (stopping_) return;
    }
    const Status status = run_checkpoint();
    if (!status.ok()) note_failure(status).ignore("kept as the state of the store");
  }
}

Result<int64_t> Engine::tick() {
  WQ_ENTER();
  if (options_.threads) {
    return Status(Code::unsupported, "the store runs its own threads; open it with no threads");
  }
  check_disk_space();
  bool more = false;
  bool checkpoint_due = false;
  {
    MutexLock lock(mutex_);
    WQ_TRY_SET(more, maintain());
    checkpoint_due = checkpoint_wanted_;
  }
  WQ_TRY(run_schedules());
  WQ_TRY(log_->run_flusher(0));
  const bool spares_left = prepare_spares();
  if (checkpoint_due) {
    Status done = run_checkpoint();
    if (done.code() != Code::no_space) WQ_TRY(std::move(done));  // it goes on when there is room
  }
  if (more) return int64_t{0};
  MutexLock lock(mutex_);
  const int64_t wait_ms = next_work_wait_ms();
  return spares_left ? std::min<int64_t>(wait_ms, 1) : std::min(wait_ms, options_.memory_window_ms);
}

// At open, when the leases of the time before are not to go on.
Status Engine::expire_all_leases() {
  TimerQueue& leases = state_.leases();
  const auto any = [&] { return !leases.empty(); };
  while (any()) {
    Command& command = begin(CommandType::expire);
    WQ_TRY(commit_due(command, leases, due_step_max, any));
    recovery_.leases_expired += command.ids.size();
    recovery_.leases_kept -= command.ids.size();
  }
  return {};
}

}  // namespace wq
