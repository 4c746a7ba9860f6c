#include "model/model.h"

#include <algorithm>
#include <utility>

namespace wq::model {
namespace {

void take_out(std::vector<JobId>& ids, JobId id) {
  std::erase(ids, id);
}

bool is_held(const Job& job) {
  return job.state == JobState::leased || job.state == JobState::running;
}

void set_deadline(Job& job, int64_t length_ms, Now now) {
  job.set_ms = now.wall_ms;
  job.deadline_ms = now.wall_ms + length_ms;
  job.expires_ms = now.run_ms + length_ms;
}

bool is_among(const std::vector<Pick>& picks, QueueId queue, JobId id) {
  return std::any_of(picks.begin(), picks.end(),
                     [&](const Pick& pick) { return pick.queue == queue && pick.id == id; });
}

struct Timed {
  int64_t time_ms;
  Pick pick;
};

std::vector<Pick> in_time_order(std::vector<Timed> timed) {
  std::stable_sort(timed.begin(), timed.end(), [](const Timed& a, const Timed& b) {
    return a.time_ms != b.time_ms ? a.time_ms < b.time_ms : a.pick.id < b.pick.id;
  });
  std::vector<Pick> picks;
  for (const Timed& each : timed) picks.push_back(each.pick);
  return picks;
}

}  // namespace

int64_t backoff_ms(const Backoff& policy, uint32_t n) {
  switch (policy.kind) {
    case BackoffKind::none:
      return 0;
    case BackoffKind::fixed:
      return policy.base_ms;
    case BackoffKind::list:
      return policy.list_ms[std::min<size_t>(n, policy.list_ms.size()) - 1];
    case BackoffKind::exponential: {
      int64_t delay_ms = policy.base_ms;
      for (uint32_t i = 1; i < n && delay_ms < policy.max_ms; ++i) {
        if (delay_ms == 0) break;
        delay_ms *= 2;
      }
      return std::min(delay_ms, policy.max_ms);
    }
  }
  return 0;
}

uint32_t attempts_allowed(const Queue& queue, const Job& job) {
  return job.spec.max_attempts != 0 ? job.spec.max_attempts : queue.config.max_retries + 1;
}

uint64_t Queue::count(JobState state) const {
  return static_cast<uint64_t>(std::count_if(
      jobs.begin(), jobs.end(), [&](const auto& entry) { return entry.second.state == state; }));
}

uint64_t Model::count(JobState state) const {
  uint64_t sum = 0;
  for (const auto& [id, queue] : queues) sum += queue.count(state);
  return sum;
}

Queue* Model::find(QueueId queue) {
  const auto found = queues.find(queue);
  return found == queues.end() ? nullptr : &found->second;
}

const Queue* Model::find_name(const std::string& name, QueueId* id) const {
  for (const auto& [queue_id, queue] : queues) {
    if (queue.name != name) continue;
    *id = queue_id;
    return &queue;
  }
  return nullptr;
}

Job* Model::find(QueueId queue, JobId id) {
  Queue* in = find(queue);
  if (!in) return nullptr;
  const auto found = in->jobs.find(id);
  return found == in->jobs.end() ? nullptr : &found->second;
}

// ---- queues

void Model::declare(QueueId queue, const std::string& name, const QueueConfig& config) {
  queues[queue].name = name;
  queues[queue].config = config;
}

void Model::configure(QueueId queue, const QueueConfig& config) {
  const uint64_t version = queues.at(queue).config.version;
  queues.at(queue).config = config;
  queues.at(queue).config.version = version + 1;
  queues.at(queue).was_limited |= config.max_depth != 0;
}

QueueId Model::id_of(const Queue& queue) const {
  for (const auto& [id, each] : queues) {
    if (&each == &queue) return id;
  }
  return 0;
}

uint64_t Model::clear(QueueId queue_id, uint32_t states) {
  Queue& queue = queues.at(queue_id);
  std::vector<JobId> ids;
  for (const auto& [id, job] : queue.jobs) {
    if (states & state_bit(job.state)) ids.push_back(id);
  }
  for (const JobId id : ids) end(queue, queue.jobs.at(id), EndReason::cleared, Now());
  queue.totals.cleared += ids.size();
  return ids.size();
}

void Model::remove(QueueId queue) {
  clear(queue, clearable_states);
  std::erase_if(schedules, [&](const auto& entry) { return entry.second.queue == queue; });
  queues.erase(queue);
}

// ---- between the states

void Model::leave(Queue& queue, Job& job) {
  if (job.state == JobState::ready) take_out(queue.ready[job.spec.priority], job.id);
  if (job.state == JobState::dead) take_out(queue.dead, job.id);
  const JobState from = std::exchange(job.state, JobState::gone);
  job.due_ms = job.deadline_ms = job.expires_ms = 0;
  if (queue.gates.used) gate_left(queue, job, from);
}

void Model::make_ready(Queue& queue, Job& job, int64_t now_ms, bool front) {
  std::vector<JobId>& line = queue.ready[job.spec.priority];
  line.insert(front ? line.begin() : line.end(), job.id);
  job.state = JobState::ready;
  job.since_ms = now_ms;
  if (queue.gates.used) gate_ready(queue, job);
}

void Model::make_ready_after(Queue& queue, Job& job, Now now, int64_t delay_ms, bool front) {
  if (delay_ms == 0) {
    make_ready(queue, job, now.wall_ms, front);
    return;
  }
  job.state = JobState::delayed;
  job.since_ms = now.wall_ms;
  job.due_ms = now.wall_ms + delay_ms;
}

void Model::bury(Queue& queue, Job& job, int64_t now_ms, DeadReason reason) {
  queue.dead.push_back(job.id);
  job.state = JobState::dead;
  job.since_ms = now_ms;
  job.reason = reason;
  ++queue.totals.dead;
  if (job.spec.keys.rule != KeyRule::until_gone) free_key(id_of(queue), job);
  fail_in_batch(job, Now{now_ms, 0});
}

void Model::lose_attempt(Queue& queue, Job& job, Now now, DeadReason reason, int64_t delay_ms,
                         bool front) {
  leave(queue, job);
  const DeadReason last = last_reason(queue, job, reason, now);
  if (last != DeadReason::none) {
    bury(queue, job, now.wall_ms, last);
    return;
  }
  ++job.failures;
  const bool own = job.spec.backoff.kind != BackoffKind::none;
  if (delay_ms < 0) {
    delay_ms = backoff_ms(own ? job.spec.backoff : queue.config.backoff, job.failures);
  }
  again(queue, job, now, delay_ms, front);
}

// ---- jobs

void Model::enqueue(QueueId queue, JobId id, const Spec& spec, Now now) {
  join(spec);
  enqueue_joined(queue, id, spec, now);
}

void Model::enqueue_joined(QueueId queue_id, JobId id, const Spec& spec, Now now) {
  reserve(id);
  Queue& queue = queues.at(queue_id);
  Job& job = queue.jobs[id];
  job.id = id;
  job.spec = spec;
  job.enqueued_ms = now.wall_ms;
  use_gates(queue, spec.gate);
  take_keys(queue_id, job, now);  // sets the time of a debounced one
  int64_t delay_ms = job.spec.delay_ms;
  if (spec.run_at_ms != 0) delay_ms = spec.run_at_ms - now.wall_ms;
  make_ready_after(queue, job, now, std::max<int64_t>(0, delay_ms), false);
  ++queue.totals.enqueued;
}

// One that did not start in time is never leased.
std::vector<Pick> Model::pick(const std::vector<QueueId>& from, size_t max_jobs, Now now) {
  std::vector<Pick> picks;
  for (const QueueId id : from) {
    const Queue& queue = queues.at(id);
    if (queue.config.status != QueueStatus::active) continue;
    size_t slots = max_jobs - picks.size();
    if (queue.config.max_running != 0) {
      const uint64_t running = queue.running();
      const uint64_t limit = queue.config.max_running;
      slots = std::min<size_t>(slots, running >= limit ? 0 : limit - running);
    }
    for (const auto& [priority, line] : queue.ready) {
      for (const JobId job : line) {
        if (slots == 0) break;
        const int64_t end_ms = expiry_ms(queue, queue.jobs.at(job));
        if (end_ms != 0 && end_ms <= now.wall_ms) continue;
        picks.push_back(Pick{id, job});
        --slots;
      }
    }
  }
  return picks;
}

void Model::lease(QueueId queue_id, JobId id, Generation generation, int64_t lease_ms, Now now) {
  Queue& queue = queues.at(queue_id);
  Job& job = queue.jobs.at(id);
  if (queue.gates.used) gate_turn(queue, job);
  leave(queue, job);
  job.state = JobState::leased;
  gate_charge(queue, job, now);
  ++job.attempts;
  job.generation = generation;
  job.leased_ms = now.wall_ms;
  set_deadline(job, lease_ms, now);
  ++queue.totals.leased;
  const KeyRule rule = job.spec.keys.rule;
  if (rule == KeyRule::until_started || rule == KeyRule::debounce) free_key(queue_id, job);
}

bool Model::holds(QueueId queue, JobId id, Generation generation) {
  const Job* job = find(queue, id);
  return job && is_held(*job) && job->generation == generation;
}

void Model::confirm(QueueId queue, JobId id, int64_t run_ms, Now now) {
  Job& job = *find(queue, id);
  job.state = JobState::running;
  job.deadline_ms = job.expires_ms = 0;
  if (run_ms != 0) set_deadline(job, run_ms, now);
}

void Model::extend(QueueId queue, JobId id, int64_t lease_ms, Now now) {
  Job& job = *find(queue, id);
  if (job.deadline_ms != 0) set_deadline(job, lease_ms, now);
}

void Model::settle(QueueId queue_id, const Settlement& what, Now now) {
  Queue& queue = queues.at(queue_id);
  Job& job = queue.jobs.at(what.id);
  if (!what.error.empty()) job.error = what.error;
  const DeadReason told = what.reason != DeadReason::none ? what.reason : DeadReason::failed;
  switch (what.kind) {
    case Settle::ack:
      ++queue.totals.acked;
      gate_success(queue, job);
      keep_done(queue, job, what, now);
      end(queue, job, EndReason::acked, now);
      break;
    case Settle::nack:
      ++queue.totals.nacked;
      if (!what.no_exception) {
        ++job.exceptions;
        gate_exception(queue, job, now);
      }
      if (what.priority >= 0) job.spec.priority = static_cast<uint8_t>(what.priority);
      lose_attempt(queue, job, now, told, what.delay_ms, what.front);
      break;
    case Settle::fail:
      ++queue.totals.failed;
      leave(queue, job);
      bury(queue, job, now.wall_ms, told);
      break;
    case Settle::release:
      ++queue.totals.released;
      --job.attempts;
      leave(queue, job);
      again(queue, job, now, what.delay_ms, what.front);
      break;
  }
}

void Model::cancel(QueueId queue, JobId id, Now now) {
  end(queues.at(queue), *find(queue, id), EndReason::cancelled, now);
  ++queues.at(queue).totals.cancelled;
}

void Model::note_progress(QueueId queue, JobId id, const std::string& note) {
  find(queue, id)->progress = note;
}

void Model::replay(QueueId queue, JobId id, Generation generation, Now now) {
  Job& job = *find(queue, id);
  leave(queues.at(queue), job);
  job.attempts = job.exceptions = job.failures = 0;
  job.reason = DeadReason::none;
  job.generation = generation;
  ++job.replays;
  ++queues.at(queue).totals.replayed;
  retake_key(queue, job, now);
  make_ready(queues.at(queue), job, now.wall_ms, false);
  rejoin(job, now);
}

void Model::remove_dead(QueueId queue, JobId id, Now now) {
  queues.at(queue).totals.chain_cut += find(queue, id)->spec.flow.chain.size();
  end(queues.at(queue), *find(queue, id), EndReason::cleared, now);
  ++queues.at(queue).totals.cleared;
}

// ---- time

std::vector<Pick> Model::expired(int64_t run_ms) {
  std::vector<Timed> timed;
  for (const auto& [queue_id, queue] : queues) {
    for (const auto& [id, job] : queue.jobs) {
      if (!is_held(job) || job.deadline_ms == 0 || job.expires_ms > run_ms) continue;
      timed.push_back(Timed{job.expires_ms, Pick{queue_id, id}});
    }
  }
  return in_time_order(std::move(timed));
}

std::vector<Pick> Model::due(int64_t wall_ms) {
  std::vector<Timed> timed;
  for (const auto& [queue_id, queue] : queues) {
    for (const auto& [id, job] : queue.jobs) {
      if (job.state != JobState::delayed || job.due_ms > wall_ms) continue;
      timed.push_back(Timed{job.due_ms, Pick{queue_id, id}});
    }
  }
  return in_time_order(std::move(timed));
}

std::vector<Pick> Model::overdue(int64_t wall_ms, size_t promoted) {
  std::vector<Timed> timed;
  std::vector<Pick> soon_ready = due(wall_ms);
  soon_ready.resize(std::min(promoted, soon_ready.size()));
  for (const auto& [queue_id, queue] : queues) {
    for (const auto& [id, job] : queue.jobs) {
      const bool ready = job.state == JobState::ready || is_among(soon_ready, queue_id, id);
      const int64_t end_ms = ready ? expiry_ms(queue, job) : 0;
      if (end_ms == 0 || end_ms > wall_ms) continue;
      timed.push_back(Timed{end_ms, Pick{queue_id, id}});
    }
  }
  return in_time_order(std::move(timed));
}

void Model::expire(const std::vector<Pick>& leases, Now now) {
  for (const Pick& lease : leases) {
    Queue& queue = queues.at(lease.queue);
    ++queue.totals.expired;
    lose_attempt(queue, queue.jobs.at(lease.id), now, DeadReason::lease_expired, -1, false);
  }
}

void Model::promote(size_t count, Now now) {
  const std::vector<Pick> picks = due(now.wall_ms);
  for (size_t i = 0; i < count && i < picks.size(); ++i) {
    Queue& queue = queues.at(picks[i].queue);
    Job& job = queue.jobs.at(picks[i].id);
    leave(queue, job);
    make_ready(queue, job, now.wall_ms, false);
  }
}

// A wall clock that was set back in between never makes a lease longer than it was.
void Model::reopen(Now now) {
  for (auto& [queue_id, queue] : queues) {
    for (auto& [id, job] : queue.jobs) {
      if (job.deadline_ms == 0 || !is_held(job)) continue;
      const bool set_back = now.wall_ms < job.set_ms;
      job.expires_ms = set_back ? now.run_ms + (job.deadline_ms - job.set_ms) : job.deadline_ms;
    }
  }
}

}  // namespace wq::model
