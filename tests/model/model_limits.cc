// The model's limits of queues: max_depth and max_bytes with what a full queue does, and the caps
// of dead letters. Written from wq.h: a limit bounds the jobs that wait, for what comes in by an
// enqueue, a replay or a schedule. What a settle, an expiry, a promotion, a chain or a flow brings
// may go over it.
#include "model/model.h"

namespace wq::model {
namespace {

uint64_t over(uint64_t there, uint64_t limit) {
  return limit != 0 && there > limit ? there - limit : 0;
}

}  // namespace

// The least urgent ready jobs go first, and of those the oldest; delayed ones never do. Nothing
// goes if that does not make room.
Code Model::admit(const Queue& queue, const Intake& in, const Sizes& sizes,
                  std::vector<JobId>* dropped) const {
  const QueueConfig& config = queue.config;
  const auto size_of = [&](JobId id) { return config.max_bytes != 0 ? sizes.at(id) : 0; };
  if (config.max_bytes != 0 && in.largest_bytes > config.max_bytes) return Code::too_large;
  uint64_t jobs = in.jobs;
  uint64_t bytes = in.bytes;
  for (const auto& [id, job] : queue.jobs) {
    if (!job.waits() || in.replaced.contains(id)) continue;
    ++jobs;
    bytes += size_of(id);
  }
  const auto is_over = [&] {
    return over(jobs, config.max_depth) != 0 || over(bytes, config.max_bytes) != 0;
  };
  std::vector<JobId> going;
  for (auto line = queue.ready.rbegin(); line != queue.ready.rend(); ++line) {
    for (const JobId id : line->second) {
      if (!is_over() || config.full_policy == FullPolicy::refuse) break;
      if (in.replaced.contains(id)) continue;
      --jobs;
      bytes -= size_of(id);
      going.push_back(id);
    }
  }
  if (is_over()) return Code::full;
  *dropped = std::move(going);
  return Code::ok;
}

void Model::drop(QueueId queue, const std::vector<JobId>& jobs, Now now) {
  gate_drop(queues.at(queue), jobs);
  for (const JobId id : jobs) {
    ++queues.at(queue).totals.dropped;
    end(queues.at(queue), *find(queue, id), EndReason::dropped, now);
  }
}

// ---- dead letters

// The first ones of the list: one that is too old behind one that is not, because the clock was set
// back in between, waits for that.
std::vector<JobId> Model::over_dead_caps(const Queue& queue, Now now) {
  const QueueConfig& config = queue.config;
  const auto too_many = over(queue.dead.size(), config.dead_max_count);
  std::vector<JobId> going;
  for (const JobId id : queue.dead) {
    const int64_t died_ms = queue.jobs.at(id).since_ms;
    const bool ages = config.dead_max_age_ms != 0;
    if (going.size() < too_many || (ages && died_ms + config.dead_max_age_ms <= now.wall_ms)) {
      going.push_back(id);
    } else if (!ages || died_ms <= now.wall_ms) {
      break;  // one that died while the clock was ahead says nothing of those behind it
    }
  }
  return going;
}

void Model::drop_dead(QueueId queue, const std::vector<JobId>& letters, Now now) {
  for (const JobId id : letters) {
    QueueTotals& totals = queues.at(queue).totals;
    ++totals.dead_dropped;
    totals.chain_cut += find(queue, id)->spec.flow.chain.size();
    end(queues.at(queue), *find(queue, id), EndReason::dropped, now);
  }
}

}  // namespace wq::model
