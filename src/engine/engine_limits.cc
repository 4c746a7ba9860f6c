// Limits and back-pressure: what a queue takes in (max_depth, max_bytes, full_policy) and what the
// whole store does (the quota). Only what comes in from outside is limited: a settle, an expiry or
// a promotion may bring a queue over its limits, and always goes on.
#include <algorithm>

#include "base/planted.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/turns.h"

namespace wq {
namespace {

uint64_t over(uint64_t there, uint64_t limit) {
  return limit != 0 && there > limit ? there - limit : 0;
}

std::string of_limit(uint64_t there, uint64_t limit) {
  return std::to_string(there) + " of " + std::to_string(limit);
}

Status full(std::string what) {
  return Status(Code::full, std::move(what));
}

struct Excess {
  uint64_t jobs = 0;
  uint64_t bytes = 0;
};

// What would be over the limits of the queue with `load`.
template <typename Load>
Excess excess_of(const Queue& queue, const Load& load) {
  return {over(queue.depth() - load.leaving.jobs + load.jobs, queue.config.max_depth),
          over(queue.depth_bytes() - load.leaving.bytes + load.bytes, queue.config.max_bytes)};
}

}  // namespace

bool Engine::has_room(const Queue& queue, const Load& load) {
  const Excess excess = excess_of(queue, load);
  return excess.jobs == 0 && excess.bytes == 0;
}

// What an enqueue of `load` answers as far as limits go; changes nothing.
Status Engine::admit_load(const Queue& queue, const Load& load) const {
  const QueueConfig& config = queue.config;
  const uint64_t quota = options_.quota_bytes;
  const uint64_t stored = state_.job_bytes() + load.elsewhere_bytes + load.brought_bytes();
  if (quota != 0 && stored > quota && !WQ_PLANTED(quota_ignored)) {
    return full("quota_bytes: the store holds " + of_limit(state_.job_bytes(), quota) +
                " bytes; leases and settles go on");
  }
  if (has_room(queue, load) || WQ_PLANTED(queue_limit_ignored)) return {};
  if (config.max_bytes != 0 && load.largest_bytes > config.max_bytes) {
    return Status(Code::too_large, "max_bytes: " + std::to_string(load.largest_bytes) +
                                       " bytes are more than the queue ever takes, " +
                                       std::to_string(config.max_bytes));
  }
  // Jobs that are ready may go for newer ones, delayed ones wait for their time.
  const Excess excess = excess_of(queue, load);
  const uint64_t ready_bytes = queue.bytes[static_cast<size_t>(JobState::ready)];
  const bool can_drop = config.full_policy == FullPolicy::drop_oldest &&
                        excess.jobs <= queue.count(JobState::ready) - load.leaving.ready_jobs &&
                        excess.bytes <= ready_bytes - load.leaving.ready_bytes;
  if (can_drop) return {};
  if (excess.jobs > 0) {
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
  if (has_room(queue, load)) return true;
  if (queue.config.full_policy != FullPolicy::drop_oldest) return true;  // for a planted bug only
  auto [jobs_left, bytes_left] = excess_of(queue, load);
  for (auto lane = queue.lanes.rbegin(); lane != queue.lanes.rend(); ++lane) {
    VictimPicker jobs(**lane);
    while (jobs_left > 0 || bytes_left > 0) {
      const Job* job = jobs.next();
      if (!job) break;
      if (std::find(load.replaced.begin(), load.replaced.end(), job->id) != load.replaced.end()) {
        continue;  // it goes anyway
      }
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

}  // namespace wq
