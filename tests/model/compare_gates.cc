#include "model/compare_gates.h"

#include <algorithm>

#include "model/compare.h"

namespace wq::model {

namespace {

// The store can not be asked: as many as are missing, of those whose group is full.
std::vector<Pick> guess_overlapped(Engine& engine, const Model& model,
                                   std::span<const QueueId> from, size_t leased) {
  const uint64_t left = engine.stats().counts[static_cast<size_t>(JobState::ready)];
  const uint64_t missing = model.count(JobState::ready) - leased - left;
  std::vector<Pick> overlapped;
  for (const QueueId id : from) {
    const Queue& queue = model.queues.at(id);
    for (const auto& [priority, line] : queue.ready) {
      for (const JobId job_id : line) {
        const GateSpec& gate = queue.jobs.at(job_id).spec.gate;
        if (overlapped.size() == missing || !gate.guards()) continue;
        if (Model::group_is_full(queue, gate)) overlapped.push_back(Pick{id, job_id});
      }
    }
  }
  return overlapped;
}

}  // namespace

std::vector<Pick> find_overlapped(Engine& engine, Model& model, std::span<const QueueId> from,
                                  size_t leased, Status* trouble) {
  std::vector<Pick> overlapped;
  for (const QueueId id : from) {
    for (const auto& [job_id, job] : model.queues.at(id).jobs) {
      if (job.state != JobState::ready || !job.spec.gate.guards()) continue;
      Result<JobView> view = engine.get(id, job_id);
      const bool gone = view.status().code() == Code::not_found;
      if (!gone && !view.ok()) {
        *trouble = view.take_status();
        return guess_overlapped(engine, model, from, leased);
      }
      if (gone || view.value().state == JobState::delayed) overlapped.push_back(Pick{id, job_id});
    }
  }
  return overlapped;
}

std::string walk_lease(const Model& model, std::span<const QueueId> from, size_t most,
                       const std::vector<JobView>& jobs, std::vector<Pick> overlapped, Now now,
                       Walk* walk) {
  const std::vector<QueueId> queues(from.begin(), from.end());
  Model scratch;
  // A job that is skipped may end its batch, whose follow-up this lease may come to.
  if (!overlapped.empty()) scratch = model;
  for (const QueueId id : queues) scratch.queues[id] = model.queues.at(id);
  const auto is_overlapped = [&](const Pick& pick) {
    return std::find_if(overlapped.begin(), overlapped.end(),
                        [&](const Pick& each) { return each.id == pick.id; }) != overlapped.end();
  };
  const auto goes = [&](const Candidate& each) { return each.blocked && is_overlapped(each.pick); };
  while (walk->leased.size() < most) {
    std::vector<Candidate> next = scratch.next(queues, now);
    const size_t taken = walk->leased.size();
    // Those go before the first job is handed out, several of a queue by one record, and what that
    // brings to another queue comes behind them.
    if (taken == 0 && !walk->overlapped.empty()) {
      std::vector<Candidate> more = scratch.next({walk->overlapped.back().queue}, now);
      if (std::any_of(more.begin(), more.end(), goes)) next = std::move(more);
    }
    if (next.empty()) break;
    const auto guarded = taken == 0 ? std::find_if(next.begin(), next.end(), goes) : next.end();
    const auto wanted = std::find_if(next.begin(), next.end(), [&](const Candidate& each) {
      return !each.blocked && taken < jobs.size() && jobs[taken].id == each.pick.id;
    });
    const auto found = guarded != next.end() ? guarded : wanted;
    walk->had_choice |= next.size() > 1;
    const std::string expected = std::to_string(next.front().pick.id) +
                                 (next.front().blocked ? ", whose group is full" : "") +
                                 (next.size() > 1 ? ", or another" : "");
    if (found == next.end() && taken == jobs.size()) {
      if (taken > 0) break;
      return "a lease gives nothing, expected job " + expected;
    }
    if (found == next.end()) {
      return "leased job " + std::to_string(taken) + ": " + std::to_string(jobs[taken].id) +
             ", expected " + expected;
    }
    if (found->blocked) {
      std::erase_if(overlapped, [&](const Pick& each) { return each.id == found->pick.id; });
      scratch.overlap(found->pick.queue, found->pick.id, now);
      walk->overlapped.push_back(found->pick);
    } else {
      const JobView& job = jobs[taken];
      WQ_SAME("queue of leased job " + std::to_string(taken), from[job.queue_index],
              found->pick.queue);
      scratch.lease(found->pick.queue, job.id, job.generation, 1, now);
      walk->leased.push_back(found->pick);
    }
  }
  if (walk->leased.size() < jobs.size()) {
    return "leased job " + std::to_string(walk->leased.size()) + ": " +
           std::to_string(jobs[walk->leased.size()].id) + ", expected none";
  }
  if (overlapped.empty()) return {};
  // They are taken out together, and the end of a batch may have put a job before the rest of them.
  if (scratch.next_id != model.next_id) {
    walk->overlapped.insert(walk->overlapped.end(), overlapped.begin(), overlapped.end());
    return {};
  }
  return "no lease has come to job " + std::to_string(overlapped.front().id) +
         ", which the overlap guard has ended or put off";
}

std::string compare_gate_traits(const std::string& what, const JobTraits& got,
                                const GateSpec& gate) {
  WQ_SAME(what + "group", got.group, gate.group);
  WQ_SAME(what + "group_limit", got.group_limit, gate.group_limit);
  WQ_SAME(what + "overlap", static_cast<int>(got.overlap), static_cast<int>(gate.overlap));
  WQ_SAME(what + "overlap_ms", got.overlap_ms, gate.overlap_ms);
  WQ_SAME(what + "tenant", got.tenant, gate.tenant);
  WQ_SAME(what + "rate_key", got.rate_key, gate.rate_key);
  WQ_SAME(what + "rate_cost", got.rate_cost, gate.rate_cost);
  return {};
}

// Jobs of groups are counted exactly. A rate key is shut or open as a whole, and is taken to be
// open while its first job is only on the disk, and shut until somebody looks when its time has
// come.
std::string compare_gate_stats(const QueueStats& stats, const Queue& queue, Now now) {
  const std::string what = "queue '" + queue.name + "': ";
  const uint64_t in_groups = Model::parked_in_groups(queue);
  const auto keyed = static_cast<uint64_t>(
      std::count_if(queue.jobs.begin(), queue.jobs.end(), [](const auto& entry) {
        return entry.second.state == JobState::ready && !entry.second.spec.gate.rate_key.empty();
      }));
  if (stats.parked < in_groups || stats.parked > in_groups + keyed) {
    return differ(what + "parked jobs", stats.parked, in_groups) + " and up to " +
           std::to_string(keyed) + " of rate keys";
  }
  if (keyed > 0 || queue.config.rate.count == 0) return {};
  // What was ahead before the clock was set back counts from now.
  const int64_t most_ns =
      now.wall_ms * 1'000'000 + interval_ns(queue.config.rate) * queue.config.rate.burst;
  const int64_t full_at_ns = std::min(queue.gates.full_at_ns, most_ns);
  const int64_t wait = wait_ns(queue.config.rate, full_at_ns, now.wall_ms, 1);
  WQ_SAME(what + "rate_wait_ms", stats.rate_wait_ms, (wait + 999'999) / 1'000'000);
  return {};
}

std::string drain_gates(Engine& engine, Model& model, QueueId id, Now now) {
  constexpr uint32_t held_states = state_bit(JobState::leased) | state_bit(JobState::running);
  const Queue& queue = model.queues.at(id);
  const std::string what = "drain of '" + queue.name + "': ";
  for (;;) {
    LeaseRequest request;
    request.queues = std::span(&id, 1);
    request.max_jobs = 7;
    CallOptions call;
    std::vector<JobView> jobs;
    const Status status = engine.lease(request, call, jobs);
    if (status.is_error()) return what + status.message();
    Walk walk;
    Status trouble;
    const std::vector<Pick> overlapped =
        find_overlapped(engine, model, request.queues, jobs.size(), &trouble);
    if (!trouble.ok()) return what + trouble.message();
    const std::string wrong =
        walk_lease(model, request.queues, request.max_jobs, jobs, overlapped, now, &walk);
    if (!wrong.empty()) return what + wrong;
    for (const Pick& pick : walk.overlapped) model.overlap(id, pick.id, now);
    for (const JobView& job : jobs) {
      const int64_t lease_ms = lease_length_ms(queue, queue.jobs.at(job.id));
      model.lease(id, job.id, job.generation, lease_ms, now);
      WQ_SAME_OR_SAY(compare_view(job, queue, queue.jobs.at(job.id), now));
    }
    if (!jobs.empty()) continue;
    const Result<uint64_t> cleared = engine.clear(id, held_states, call);
    if (!cleared.ok()) return what + cleared.status().message();
    WQ_SAME(what + "held jobs cleared", cleared.value(), queue.running());
    if (cleared.value() > 0) model.clear(id, held_states);
    for (const Model::Sweep& step : model.sweep_plan()) model.sweep(step, now);
    const bool done = queue.count(JobState::ready) == 0;
    if (done) return {};
    if (cleared.value() == 0) return what + "ready jobs cannot be had, and nothing is held";
  }
}

}  // namespace wq::model
