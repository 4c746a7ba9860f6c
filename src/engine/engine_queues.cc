// Queues: declare, configure, status, clear, delete, counts.
#include <algorithm>

#include "base/planted.h"
#include "engine/admit.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/turns.h"

namespace wq {
namespace {

void merge_config(QueueConfig& into, const QueueConfig& from, uint32_t fields) {
  if (fields & config_max_running) into.max_running = from.max_running;
  if (fields & config_max_retries) into.max_retries = from.max_retries;
  if (fields & config_lease_ms) into.lease_ms = from.lease_ms;
  if (fields & config_durability) into.durability = from.durability;
  if (fields & config_backoff) into.backoff = from.backoff;
  if (fields & config_max_depth) into.max_depth = from.max_depth;
  if (fields & config_max_bytes) into.max_bytes = from.max_bytes;
  if (fields & config_full_policy) into.full_policy = from.full_policy;
  if (fields & config_dead_max_count) into.dead_max_count = from.dead_max_count;
  if (fields & config_dead_max_age_ms) into.dead_max_age_ms = from.dead_max_age_ms;
  if (fields & config_encrypt) into.encrypt = from.encrypt;
  if (fields & config_compress) into.compress_min_bytes = from.compress_min_bytes;
  if (fields & config_status) {
    into.status = from.status;
    into.pause_kept = from.pause_kept;
  }
  if (fields & config_job_ttl) into.job_ttl_ms = from.job_ttl_ms;
  if (fields & config_keep_done) {
    into.keep_done_count = from.keep_done_count;
    into.keep_done_age_ms = from.keep_done_age_ms;
  }
  if (fields & config_rate) into.rate = from.rate;
  if (fields & config_group_limit) into.group_limit = from.group_limit;
  if (fields & config_key_rate) into.key_rate = from.key_rate;
  if (fields & config_throttle) into.throttle = from.throttle;
}

// Until the first of the rate keys that are shut lets a job begin; 0 = there is none.
int64_t key_wait_ms(const Queue& queue, int64_t now_ms) {
  int64_t due_ms = INT64_MAX;
  for (const auto& [name, gate] : queue.gates) {
    if (gate->shut) due_ms = std::min(due_ms, gate->due_ms);
  }
  return due_ms == INT64_MAX ? 0 : due_ms - now_ms;
}

// The moment the oldest ready job became ready; INT64_MAX: none is. Behind the jobs that were put
// to the front, a lane and its lines are in the order of that moment, so the first of those is the
// oldest of them. Answers what has to be read before that can be told, else null.
const Lane* find_oldest(const Queue& queue, int64_t& since_ms) {
  since_ms = INT64_MAX;
  const Lane* cold = nullptr;
  for (const auto& level : queue.lanes) {
    uint64_t oldest_at = UINT64_MAX;
    each_lane(*level, [&](const Lane& lane) {
      if (cold || first_place(lane) >= oldest_at) return;
      LanePicker jobs(lane);
      while (const Job* job = jobs.next()) {
        since_ms = std::min(since_ms, job->since_ms);
        if (job->position < first_tail_seq) continue;  // put to the front: says nothing of others
        oldest_at = std::min(oldest_at, job->position);
        break;
      }
      cold = jobs.cold();
    });
  }
  return cold;
}

}  // namespace

Result<QueueId> Engine::open_queue(std::string_view name, const QueueConfig& config,
                                   uint32_t fields, bool create, CallOptions& call) {
  WQ_ENTER();
  WQ_TRY(admit_queue_name(name));
  QueueConfig wanted;
  merge_config(wanted, config, fields);
  WQ_TRY(admit_queue_config(wanted));
  Lsn lsn = 0;
  QueueId id = 0;
  {
    MutexLock lock(mutex_);
    if (state_.importing) return import_is_open();
    if (Queue* queue = state_.find_queue(name)) return queue->id;
    if (!create) {
      return Status(Code::not_found, "no queue '" + std::string(name) + "' in this store");
    }
    id = state_.next_queue_id;
    Command& command = begin(CommandType::queue_declare);
    command.queue = id;
    command.name = name;
    command.config = wanted;
    WQ_TRY_SET(lsn, commit(command));
    note_packing(wanted);
  }
  WQ_TRY(finish(lsn, call, level_for(call, Durability::power)));
  return id;
}

Status Engine::configure(QueueId id, const QueueConfig& config, uint32_t fields,
                         CallOptions& call) {
  WQ_ENTER();
  Lsn lsn = 0;
  {
    MutexLock lock(mutex_);
    WQ_TRY_SET(Queue * queue, queue_for(id));
    if ((fields & config_version) && config.version != queue->config.version) {
      return Status(Code::conflict,
                    "the queue is at version " + std::to_string(queue->config.version) + " by now");
    }
    QueueConfig wanted = queue->config;
    merge_config(wanted, config, fields);
    WQ_TRY(admit_queue_config(wanted));
    if (wanted == queue->config) return {};
    ++wanted.version;
    Command& command = begin(CommandType::queue_configure);
    command.queue = id;
    command.config = wanted;
    WQ_TRY_SET(lsn, commit(command));
    note_packing(wanted);
  }
  return finish(lsn, call, level_for(call, Durability::power));
}

namespace {

// The side that is not asked for stays as it is.
QueueConfig changed_status(QueueConfig config, Engine::StatusChange change) {
  bool disabled = config.status == QueueStatus::disabled;
  bool paused = config.status == QueueStatus::paused || config.pause_kept;
  if (change == Engine::StatusChange::pause) paused = true;
  if (change == Engine::StatusChange::resume) paused = false;
  if (change == Engine::StatusChange::disable) disabled = true;
  if (change == Engine::StatusChange::enable) disabled = false;
  if (WQ_PLANTED(enable_ends_pause) && change == Engine::StatusChange::enable) paused = false;
  config.status = disabled ? QueueStatus::disabled
                  : paused ? QueueStatus::paused
                           : QueueStatus::active;
  config.pause_kept = disabled && paused;
  return config;
}

}  // namespace

Status Engine::change_status(QueueId id, StatusChange change, CallOptions& call) {
  WQ_ENTER();
  Lsn lsn = 0;
  {
    MutexLock lock(mutex_);
    WQ_TRY_SET(Queue * queue, queue_for(id));
    const QueueConfig wanted = changed_status(queue->config, change);
    if (wanted == queue->config) return {};
    Command& command = begin(CommandType::queue_configure);
    command.queue = id;
    command.config = wanted;
    ++command.config.version;
    WQ_TRY_SET(lsn, commit(command));
  }
  return finish(lsn, call, level_for(call, Durability::power));
}

Result<QueueConfig> Engine::config(QueueId id) {
  WQ_ENTER();
  MutexLock lock(mutex_);
  WQ_TRY_SET(Queue * queue, queue_for(id));
  return queue->config;
}

Result<uint64_t> Engine::clear(QueueId id, uint32_t states, CallOptions& call) {
  WQ_ENTER();
  if (states == 0) states = state_bit(JobState::ready) | state_bit(JobState::delayed);
  if (states & ~clearable_states) {
    return Status(Code::invalid, "states: unknown bits, use the bits of the job states");
  }
  Lsn lsn = 0;
  Effects effects;
  {
    MutexLock lock(mutex_);
    WQ_TRY_SET(Queue * queue, queue_for(id));
    uint64_t present = 0;
    for (size_t i = 1; i < job_state_count; ++i) {
      if (states & (1u << i)) present += queue->counts[i];
    }
    if (present == 0) return uint64_t{0};
    Command& command = begin(CommandType::queue_clear);
    command.queue = id;
    command.states = states;
    WQ_TRY_SET(lsn, commit(command, &effects));
    maintenance_wake_.notify_one();  // sweeps the garbage
  }
  sweep_after_change(lsn);
  WQ_TRY(finish(lsn, call, level_for(call, Durability::power)));
  return effects.count;
}

Status Engine::remove_queue(QueueId id, CallOptions& call) {
  WQ_ENTER();
  Lsn lsn = 0;
  {
    MutexLock lock(mutex_);
    WQ_TRY_SET(Queue * queue, queue_for(id));
    Command& command = begin(CommandType::queue_delete);
    command.queue = id;
    WQ_TRY_SET(lsn, commit(command));
    // Waiters look the queue up again when they wake; nothing may point into it from here on.
    while (WaitNode* node = queue->waiters.front()) node->link.unlink();
    maintenance_wake_.notify_one();
  }
  sweep_after_change(lsn);
  return finish(lsn, call, level_for(call, Durability::power));
}

Result<QueueStats> Engine::queue_stats(QueueId id) {
  WQ_ENTER();
  MutexLock lock(mutex_);
  for (;;) {
    WQ_TRY_SET(Queue * queue, queue_for(id));
    int64_t since_ms = 0;
    if (const Lane* cold = find_oldest(*queue, since_ms)) {
      WQ_TRY(refill_lane(LaneId(*queue, *cold)));
      continue;
    }
    QueueStats out;
    out.status = queue->config.status;
    for (size_t i = 0; i < job_state_count; ++i) {
      out.counts[i] = queue->counts[i];
      out.bytes[i] = queue->bytes[i];
    }
    out.totals = queue->totals;
    const int64_t now_ms = wall_ms();
    open_gates(now_ms);
    out.parked = queue->parked;
    out.rate_wait_ms = queue->rate_wait_ms(now_ms);
    if (queue->eligible() == 0) {
      out.rate_wait_ms = std::max(out.rate_wait_ms, key_wait_ms(*queue, now_ms));
    }
    if (since_ms != INT64_MAX) out.oldest_ready_age_ms = std::max<int64_t>(0, now_ms - since_ms);
    if (const Job* oldest = queue->leased.front()) {
      out.oldest_held_age_ms = std::max<int64_t>(0, now_ms - oldest->since_ms);
    }
    out.max_running = queue->config.max_running;
    for (const WaitNode* node = queue->waiters.front(); node; node = queue->waiters.next(node)) {
      ++out.consumers;
    }
    if (const QueueMeter* meter = observer_.find_meter(id)) {
      out.rates = meter->rates_at(now_ms);
      out.lease_wait_ms = meter->lease_wait_ms;
      out.attempts = meter->attempts;
    }
    return out;
  }
}

Result<std::vector<std::string>> Engine::queue_names() {
  WQ_ENTER();
  MutexLock lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, queue] : state_.queues()) names.push_back(name);
  return names;
}

}  // namespace wq
