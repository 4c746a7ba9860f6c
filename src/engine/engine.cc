#include "engine/engine.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "engine/engine_internal.h"

namespace wq {
namespace {

// Planted bugs: a change of this kind wakes nobody who waits for a job.
bool wake_is_lost(CommandType type) {
  return (WQ_PLANTED(push_wakes_nobody) && type == CommandType::enqueue) ||
         (WQ_PLANTED(promotion_wakes_nobody) && type == CommandType::promote) ||
         (WQ_PLANTED(expiry_wakes_nobody) && type == CommandType::expire) ||
         (WQ_PLANTED(settle_wakes_nobody) && type == CommandType::settle) ||
         (WQ_PLANTED(resume_wakes_nobody) && type == CommandType::queue_configure) ||
         (WQ_PLANTED(replay_wakes_nobody) && type == CommandType::dead_replay);
}

}  // namespace

Engine::Engine(const EngineOptions& options, const Environment& environment)
    : options_(options),
      environment_(environment),
      observer_(options.events_max),
      prng_(environment.entropy()),
      memory_limit_(options.memory_budget_bytes) {}

Engine::~Engine() {
  if (!closed_.load()) close().ignore("nobody is left to tell; close() reports it");
}

// ---- calls

Status Engine::enter() {
  calls_.fetch_add(1);
  return closed_.load() ? Code::closed : Code::ok;
}

void Engine::leave() {
  if (calls_.fetch_sub(1) == 1 && closed_.load()) {
    MutexLock lock(mutex_);
    idle_.notify_all();
  }
}

void Engine::poison(std::string_view why) noexcept {
  MutexLock lock(mutex_);
  if (WQ_PLANTED(engine_failure_forgotten)) return;
  set_failure(why);
  maintenance_wake_.notify_all();
  checkpoint_wake_.notify_all();
  memory_freed_.notify_all();
}

// The first failure stays. It is one even if there is no memory for its text.
void Engine::set_failure(std::string_view why) noexcept {
  if (!failure_.ok()) return;
  failure_ = status_with_text(
      Code::poisoned, [&] { return std::string(why) + "; close the store and open it again"; });
}

bool Engine::poisoned() noexcept {
  MutexLock lock(mutex_);
  return !failure_.ok() || !log_->failure().ok();
}

Status Engine::note_failure(Status status) {
  if (status.code() == Code::io || status.code() == Code::corrupt ||
      status.code() == Code::poisoned || status.code() == Code::internal) {
    poison(status.text());
  }
  return status;
}

// ---- the write path

Command& Engine::begin(CommandType type, int64_t now_ms) {
  command_.reset(type, now_ms);
  return command_;
}

Result<Queue*> Engine::queue_for(QueueId id) {
  if (state_.importing && !WQ_PLANTED(unfinished_import_used)) return import_is_open();
  if (Queue* queue = state_.find_queue(id)) return queue;
  return no_such_queue();
}

// Until append() has the record an exception means that nothing happened. After that it means that
// the state lacks what the log has, and the store stops: all that a call needs memory for besides
// is taken before (views of jobs, the ticket of a completion) or can be put back (timers, claims).
Result<Lsn> Engine::commit(Command& command, Effects* effects) {
  if (!failure_.ok()) return failure_;  // reads go on, changes do not
  const Bytes body = encoder_.command(command);
  if (!log_room_known_) WQ_TRY(check_log_room(body.size()));
  WQ_TRY_SET(const Lsn lsn, log_->append(body));
  log_bytes_since_checkpoint_ += body.size();
  // Written under the mutex only, but for the reset; one that is lost costs a look.
  log_bytes_since_look_.store(log_bytes_since_look_.load(std::memory_order_relaxed) + body.size(),
                              std::memory_order_relaxed);
  Effects own;
  if (!effects) effects = &own;
  observer_.begin(lsn, command.now_ms);
  try {
    const Status applied = apply(state_, command, lsn, *effects);
    if (!applied.ok()) check_failed(applied.message().c_str(), __FILE__, __LINE__);
  } catch (...) {
    // The record is in the log but not in the state: only a replay can put that right.
    set_failure("a change could not be applied");
    throw;
  }
  tell_queue_event(command, effects->count);
  if (!followers_.empty()) wake_followers();
  if (!state_.wake_queue.empty()) wake_waiters(command.type);
  if (std::exchange(state_.gate_timer_moved, false)) wake_for_timers();
  if (state_.dead_trim_ms == 0 && maintenance_due_ns_ != 0) maintenance_wake_.notify_one();
  note_pressure();
  return lsn;
}

Status Engine::finish(Lsn lsn, CallOptions& call, Durability level) {
  call.lsn = lsn;
  if (call.completion) {
    call.completion->watch(std::move(call.ticket), lsn, level, call.user_data);
    return {};
  }
  if (level == Durability::memory) return {};
  return log_->wait(lsn, level);
}

void Engine::on_log_progress() {
  completions_.on_progress();
}

// ---- waking

void Engine::wake_waiters(CommandType cause) {
  for (Queue* queue : state_.wake_queue) {
    queue->wake_wanted = false;
    if (!wake_is_lost(cause)) wake_queue(queue);
  }
  state_.wake_queue.clear();
}

// Wakes as many waiters as can be served, longest waiting first; the others sleep on.
void Engine::wake_queue(Queue* queue) {
  if (queue->waiters.empty()) return;
  uint64_t servable = 0;
  if (queue->deleted) {
    servable = UINT64_MAX;
  } else if (queue->consumable()) {
    servable = may_lease(queue, wall_ms(), std::min(queue->eligible(), queue->free_slots()));
  }
  for (WaitNode* node = queue->waiters.front(); node && servable > 0;
       node = queue->waiters.next(node)) {
    --servable;
    if (node->waiter->signaled) continue;
    node->waiter->signaled = true;
    node->waiter->wake.notify_one();
  }
}

// ---- memory

// Called after each change: asks for a checkpoint in time and tells enqueue when memory is short.
void Engine::note_pressure() {
  const uint64_t budget = options_.memory_budget_bytes;
  const uint64_t resident = state_.resident_bytes();
  const bool wanted = log_bytes_since_checkpoint_ > options_.checkpoint_log_bytes ||
                      state_.dirty_count() > options_.checkpoint_dirty_jobs ||
                      (resident > budget / 2 && state_.dirty_count() * 4 > state_.jobs().size()) ||
                      state_.side_changed_bytes() > budget / side_rows_changed_part;
  if (wanted && !checkpoint_wanted_) {
    checkpoint_wanted_ = true;
    checkpoint_wake_.notify_one();
  }
  const bool full = resident > memory_limit_;
  if (full != memory_full_.load(std::memory_order_relaxed)) memory_full_.store(full);
}

// Back-pressure (DESIGN D2): waits while memory is over the limit and a checkpoint can still free
// some. What is leased stays whatever a checkpoint does, so the limit is the budget or, if more,
// what the last checkpoint could not free and half a budget to work in: enqueue goes on.
Status Engine::wait_for_memory() {
  if (!options_.threads) {
    Status done = run_checkpoint();
    return done.code() == Code::no_space ? Status() : done;
  }
  const int64_t start_ns = environment_.clock->mono_ns();
  MutexLock lock(mutex_);
  if (state_.resident_bytes() <= memory_limit_) return {};
  ++waits_.for_memory;
  const uint64_t before = checkpoints_;
  while (state_.resident_bytes() > memory_limit_) {
    if (closed_.load()) return Code::closed;
    if (!failure_.ok()) return failure_;
    if (checkpoint_postponed_) break;
    // the one that was running at the start may have frozen too early to help; the next one helps
    if (checkpoints_ >= before + 2) break;
    if (!checkpoint_wanted_ && !checkpoint_running_) {
      checkpoint_wanted_ = true;
      checkpoint_wake_.notify_one();
    }
    memory_freed_.wait_for_ns(mutex_, sleep_ms_max * ns_per_ms);
  }
  waits_.for_memory_ms += (environment_.clock->mono_ns() - start_ns) / ns_per_ms;
  return {};
}

// The same for changes that may go on when the disk is short.
Status Engine::wait_for_room() {
  if (memory_full_.load(std::memory_order_relaxed)) WQ_TRY(wait_for_memory());
  return log_->wait_for_room();
}

int64_t Engine::run_ms() const {
  return opened_wall_ms_ + (environment_.clock->mono_ns() - opened_mono_ns_) / ns_per_ms;
}

// ---- store-wide calls

Status Engine::sync() {
  WQ_ENTER();
  return log_->wait(log_->last_lsn(), Durability::power);
}

Status Engine::wait_durable(Lsn lsn, Durability level, int64_t timeout_ms) {
  WQ_ENTER();
  if (lsn > log_->last_lsn()) {
    return Status(Code::invalid, "lsn: " + std::to_string(lsn) + " was never handed out");
  }
  if (level == Durability::memory || lsn == 0) return {};
  return log_->wait(lsn, level, timeout_ms);
}

Status Engine::checkpoint() {
  WQ_ENTER();
  return run_checkpoint();
}

Result<std::unique_ptr<CompletionQueue>> Engine::open_completion() {
  WQ_ENTER();
  return std::make_unique<CompletionQueue>(completions_, *log_, !options_.threads);
}

EngineStats Engine::stats() {
  EngineStats out;
  MutexLock lock(mutex_);
  out.draining = draining_;
  out.poisoned = !failure_.ok() || !log_->failure().ok();
  out.io_backend = environment_.io->name();
  out.queues = state_.queues().size();
  for (const auto& [name, queue] : state_.queues()) {
    for (size_t i = 0; i < job_state_count; ++i) out.counts[i] += queue->counts[i];
  }
  out.applied_lsn = applied_lsn_;
  out.job_bytes = state_.job_bytes();
  out.quota_bytes = options_.quota_bytes;
  out.resident_jobs = state_.jobs().size();
  out.resident_bytes = state_.resident_bytes();
  out.residency = state_.residency;
  out.memory_budget_bytes = options_.memory_budget_bytes;
  out.checkpoints = checkpoints_;
  out.checkpoint_us_last = checkpoint_us_last_;
  out.checkpoint_us_max = checkpoint_us_max_;
  out.waiting = waiting_;
  out.waits = waits_;
  out.followers = followers_.size();
  out.events = observer_.ring.last();
  lock.unlock();
  out.last_lsn = log_->last_lsn();
  out.process_lsn = log_->process_lsn();
  out.durable_lsn = log_->durable_lsn();
  out.log = log_->stats();
  out.store = store_->stats();
  return out;
}

// ---- stopping

Status Engine::shutdown(int64_t timeout_ms) {
  WQ_ENTER();
  const int64_t start_ns = environment_.clock->mono_ns();
  {
    MutexLock lock(mutex_);
    draining_ = true;
    for (const auto& [name, queue] : state_.queues()) {
      for (WaitNode* node = queue->waiters.front(); node; node = queue->waiters.next(node)) {
        node->waiter->wake.notify_one();
      }
    }
    for (;;) {
      if (closed_.load()) return Code::closed;
      if (!failure_.ok()) return failure_;
      uint64_t busy = 0;
      for (const auto& [name, queue] : state_.queues()) busy += queue->running_count();
      if (busy == 0) break;
      const int64_t waited_ms = (environment_.clock->mono_ns() - start_ns) / ns_per_ms;
      if (timeout_ms >= 0 && waited_ms >= timeout_ms) {
        return Status(Code::timeout, std::to_string(busy) + " jobs are still leased or running");
      }
      const int64_t left_ms = timeout_ms < 0 ? sleep_ms_max : timeout_ms - waited_ms;
      idle_.wait_for_ns(mutex_, std::min(left_ms, shutdown_poll_ms) * ns_per_ms);
    }
  }
  WQ_TRY(log_->wait(log_->last_lsn(), Durability::power));
  return run_checkpoint();
}

Status Engine::close() {
  {
    MutexLock lock(mutex_);
    if (closed_.exchange(true)) return Code::closed;
    for (const auto& [name, queue] : state_.queues()) {
      for (WaitNode* node = queue->waiters.front(); node; node = queue->waiters.next(node)) {
        node->waiter->wake.notify_all();
      }
    }
    wake_followers();
    memory_freed_.notify_all();
    idle_.notify_all();
    while (calls_.load() > 0) idle_.wait_for_ns(mutex_, sleep_ms_max * ns_per_ms);
  }
  stop_threads();
  // Each part is closed, whatever became of the one before.
  Status result = caught([this] { return settle_down(); });
  const auto then = [&result](Status status) {
    if (result.ok()) result = std::move(status);
  };
  if (log_) then(caught([this] { return log_->close(); }));
  completions_.on_closed();
  if (store_) then(caught([this] { return store_->close(); }));
  directory_lock_.reset();
  return result;
}

// Leaves nothing to replay, if the store is healthy.
Status Engine::settle_down() {
  {
    MutexLock lock(mutex_);
    WQ_TRY(failure_);
  }
  if (!log_ || !store_ || !log_->failure().ok()) return {};
  WQ_TRY(run_checkpoint());
  MutexLock lock(mutex_);
  return commit(begin(CommandType::close)).take_status();
}

// ---- threads: the only place that starts any

void Engine::start_threads() {
  if (!options_.threads) return;
  maintenance_thread_ = std::thread([this] { run_thread(&Engine::maintenance_loop); });
  checkpoint_thread_ = std::thread([this] { run_thread(&Engine::checkpoint_loop); });
  flusher_thread_ = std::thread([this] { run_thread(&Engine::flusher_loop); });
}

// A thread of ours, until it is told to stop. Out of memory it rests and goes on: the step that
// threw has changed nothing, or has stopped the store already. A broken invariant stops the store,
// not the process.
void Engine::run_thread(void (Engine::*loop)()) {
  for (;;) {
    const Status status = caught([&]() -> Status {
      (this->*loop)();
      return {};
    });
    if (status.ok()) return;
    if (status.code() != Code::no_memory) poison(status.text());
    MutexLock lock(mutex_);
    if (stopping_) return;
    maintenance_wake_.wait_for_ns(mutex_, no_memory_rest_ms * ns_per_ms);
  }
}

void Engine::stop_threads() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
    maintenance_wake_.notify_all();
    checkpoint_wake_.notify_all();
  }
  if (flusher_thread_.joinable()) log_->release_flusher();
  for (std::thread* thread : {&maintenance_thread_, &checkpoint_thread_, &flusher_thread_}) {
    if (thread->joinable()) thread->join();
  }
}

}  // namespace wq
