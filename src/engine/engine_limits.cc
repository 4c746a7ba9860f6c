// Limits and back-pressure: what a queue takes in (max_depth, max_bytes, full_policy) and what the
// whole store does (the quota). Only what comes in from outside is limited: a settle, an expiry or
// a promotion may bring a queue over its limits, and always goes on.
#include "base/planted.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/turns.h"

namespace wq {
namespace {

uint64_t over(uint64_t there, uint64_t more, uint64_t limit) {
  return limit != 0 && there + more > limit ? there + more - limit : 0;
}

std::string of_limit(uint64_t there, uint64_t limit) {
  return std::to_string(there) + " of " + std::to_string(limit);
}

Status full(std::string what) {
  return Status(Code::full, std::move(what));
}

}  // namespace

// What an enqueue of `load` answers as far as limits go; changes nothing.
Status Engine::admit_load(const Queue& queue, const Load& load) const {
  const QueueConfig& config = queue.config;
  const uint64_t quota = options_.quota_bytes;
  if (quota != 0 && state_.job_bytes() + load.bytes > quota && !WQ_PLANTED(quota_ignored)) {
    return full("quota_bytes: the store holds " + of_limit(state_.job_bytes(), quota) +
                " bytes; leases and settles go on");
  }
  if (queue.has_room(load.jobs, load.bytes) || WQ_PLANTED(queue_limit_ignored)) return {};
  if (config.max_bytes != 0 && load.bytes > config.max_bytes) {
    return Status(Code::too_large, "max_bytes: " + std::to_string(load.bytes) +
                                       " bytes are more than the queue ever takes, " +
                                       std::to_string(config.max_bytes));
  }
  const uint64_t jobs_over = over(queue.depth(), load.jobs, config.max_depth);
  const uint64_t bytes_over = over(queue.depth_bytes(), load.bytes, config.max_bytes);
  // Jobs that are ready may go for newer ones, delayed ones wait for their time.
  const bool can_drop = config.full_policy == FullPolicy::drop_oldest &&
                        jobs_over <= queue.count(JobState::ready) &&
                        bytes_over <= queue.bytes[static_cast<size_t>(JobState::ready)];
  if (can_drop) return {};
  if (jobs_over > 0) {
    return full("max_depth: " + of_limit(queue.depth(), config.max_depth) + " jobs wait");
  }
  return full("max_bytes: the jobs that wait have " +
              of_limit(queue.depth_bytes(), config.max_bytes) + " bytes");
}

// Names the jobs that go for `load`, which was admitted: the least urgent first, and of those the
// one that comes first in the queue, parked or not (of the tenant that has the most). False: the
// lock was released meanwhile, look again. A queue that is far over a limit, because that was
// lowered, is brought down in steps of their own.
Result<bool> Engine::make_room(Queue& queue, const Load& load, std::vector<JobId>& dropped) {
  dropped.clear();
  if (queue.has_room(load.jobs, load.bytes)) return true;
  if (queue.config.full_policy != FullPolicy::drop_oldest) return true;  // for a planted bug only
  uint64_t jobs_left = over(queue.depth(), load.jobs, queue.config.max_depth);
  uint64_t bytes_left = over(queue.depth_bytes(), load.bytes, queue.config.max_bytes);
  for (auto lane = queue.lanes.rbegin(); lane != queue.lanes.rend(); ++lane) {
    VictimPicker jobs(**lane);
    while (jobs_left > 0 || bytes_left > 0) {
      const Job* job = jobs.next();
      if (!job) break;
      if (job->gate && !job->gate->is_tenant() && WQ_PLANTED(parked_jobs_unseen)) continue;
      if (dropped.size() == drop_step_max) {
        Command& command = begin(CommandType::drop_oldest);
        command.queue = queue.id;
        command.ids = dropped;
        WQ_TRY(commit(command).take_status());
        const MutexGap let_others_in(mutex_);
        return false;
      }
      dropped.push_back(job->id);
      jobs_left -= std::min<uint64_t>(jobs_left, 1);
      bytes_left -= std::min<uint64_t>(bytes_left, job->body.size());
    }
    if (jobs_left == 0 && bytes_left == 0) return true;
    if (!jobs.cold()) continue;
    WQ_TRY(refill_lane(LaneId(queue, *jobs.cold())));
    return false;
  }
  return true;
}

// Makes room for jobs that come in by a record of their own.
Status Engine::drop_for(QueueId id, const Load& load) {
  MutexLock lock(mutex_);
  std::vector<JobId> dropped;
  for (bool room = false; !room;) {
    WQ_TRY_SET(Queue * queue, queue_for(id));
    WQ_TRY(admit_load(*queue, load));
    WQ_TRY_SET(room, make_room(*queue, load, dropped));
  }
  if (dropped.empty()) return {};
  return commit(begin_enqueue(id, wall_ms(), dropped)).take_status();
}

}  // namespace wq
