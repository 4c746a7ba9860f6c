#include "model/model_gates.h"

#include <algorithm>
#include <set>
#include <utility>

#include "model/model.h"

namespace wq::model {
namespace {

constexpr int64_t ns_per_ms = 1'000'000;

bool is_held(const Job& job) {
  return job.state == JobState::leased || job.state == JobState::running;
}

void use_up(const RateLimit& rate, int64_t& full_at_ns, int64_t now_ms, uint32_t tokens) {
  if (rate.count == 0) return;
  full_at_ns =
      std::max(full_at_ns, now_ms * ns_per_ms) + interval_ns(rate) * std::min(tokens, rate.count);
}

uint64_t held_of_group(const Queue& queue, const std::string& group) {
  return static_cast<uint64_t>(
      std::count_if(queue.jobs.begin(), queue.jobs.end(), [&](const auto& entry) {
        return is_held(entry.second) && entry.second.spec.gate.group == group;
      }));
}

// A limit that jobs of the group have named holds until all of them have gone: the first one that
// comes after that begins anew.
void forget_limit_of_others(Queue& queue, const Job& first) {
  const std::string& group = first.spec.gate.group;
  const bool has_others = std::any_of(queue.jobs.begin(), queue.jobs.end(), [&](const auto& entry) {
    const Job& job = entry.second;
    const bool waits = job.state == JobState::ready && job.spec.gate.parks();
    return job.id != first.id && job.spec.gate.group == group && (waits || is_held(job));
  });
  if (!has_others) queue.gates.limits.erase(group);
}

// Whose jobs of a priority may be had, but for the turns of others: those with jobs of their own,
// and with the first job of a group that has a slot for it. Jobs that are `going` do not count.
std::set<std::string> waiting_tenants(const Queue& queue, uint8_t priority,
                                      const std::set<JobId>& going = {}) {
  std::set<std::string> tenants;
  std::set<std::string> groups;
  const auto line = queue.ready.find(priority);
  if (line == queue.ready.end()) return tenants;
  for (const JobId id : line->second) {
    const GateSpec& gate = queue.jobs.at(id).spec.gate;
    if (!gate.rate_key.empty()) continue;                             // may begin when time says so
    if (gate.parks() && !groups.insert(gate.group).second) continue;  // behind another one
    if (gate.parks() && Model::group_is_full(queue, gate)) continue;
    if (!going.contains(id)) tenants.insert(gate.tenant);
  }
  return tenants;
}

// Who does not wait for a turn now waits for a whole round from when it does again.
void forget_waits(Queue& queue, const std::set<JobId>& going = {}) {
  std::map<uint8_t, std::set<std::string>> waiting;
  std::erase_if(queue.gates.passed, [&](const auto& entry) {
    const auto& [priority, tenant, other] = entry.first;
    const auto [known, added] = waiting.try_emplace(priority);
    if (added) known->second = waiting_tenants(queue, priority, going);
    return !known->second.contains(tenant);
  });
}

}  // namespace

int64_t interval_ns(const RateLimit& rate) {
  return rate.window_ms * ns_per_ms / rate.count;
}

int64_t wait_ns(const RateLimit& rate, int64_t full_at_ns, int64_t now_ms, uint32_t tokens) {
  if (rate.count == 0) return 0;
  const int64_t used_ns = std::max<int64_t>(0, full_at_ns - now_ms * ns_per_ms);
  const int64_t room_ns = interval_ns(rate) * (rate.burst - std::min(tokens, rate.burst));
  return std::max<int64_t>(0, used_ns - room_ns);
}

// ---- what changes it

// A job that names this is on its way in. Whoever was ready before is of no tenant.
void Model::use_gates(Queue& queue, const GateSpec& gate) {
  if (gate.any() && !std::exchange(queue.gates.used, true)) {
    for (const auto& [priority, line] : queue.ready) {
      if (!line.empty()) queue.gates.turns[priority].emplace_back();
    }
  }
  queue.gates.tenants |= !gate.tenant.empty();
  queue.gates.lines |= gate.has_line();
}

// The job has become ready, and stands in its place.
void Model::gate_ready(Queue& queue, const Job& job) {
  const GateSpec& gate = job.spec.gate;
  if (gate.parks()) {
    forget_limit_of_others(queue, job);
    if (gate.group_limit != 0) queue.gates.limits[gate.group] = gate.group_limit;
  }
  forget_waits(queue);
  if (gate.has_line()) return;
  std::vector<std::string>& turns = queue.gates.turns[job.spec.priority];
  const bool there = std::find(turns.begin(), turns.end(), gate.tenant) != turns.end();
  if (!there) turns.push_back(gate.tenant);
}

// The job has left its state.
void Model::gate_left(Queue& queue, const Job& job, JobState from) {
  const GateSpec& gate = job.spec.gate;
  forget_waits(queue);
  if (from != JobState::ready || gate.has_line()) return;
  const std::vector<JobId>& line = queue.ready[job.spec.priority];
  const bool has_more = std::any_of(line.begin(), line.end(), [&](JobId id) {
    const GateSpec& other = queue.jobs.at(id).spec.gate;
    return !other.has_line() && other.tenant == gate.tenant;
  });
  if (!has_more) std::erase(queue.gates.turns[job.spec.priority], gate.tenant);
}

// These are about to go together, in whatever order: who waits by none but these may be without a
// job for a moment, before the one behind them is the first of its group.
void Model::gate_drop(Queue& queue, const std::vector<JobId>& jobs) {
  forget_waits(queue, {jobs.begin(), jobs.end()});
}

// The ready job is leased: its tenant goes to the end, and the others have waited for it.
void Model::gate_turn(Queue& queue, const Job& job) {
  const uint8_t priority = job.spec.priority;
  const std::string& tenant = job.spec.gate.tenant;
  std::vector<std::string>& turns = queue.gates.turns[priority];
  if (queue.gates.tenants && queue.gates.lines) {
    for (const std::string& other : waiting_tenants(queue, priority)) {
      if (other != tenant) ++queue.gates.passed[{priority, other, tenant}];
    }
  }
  std::erase_if(queue.gates.passed, [&](const auto& entry) {
    return std::get<0>(entry.first) == priority && std::get<1>(entry.first) == tenant;
  });
  const auto own = std::find(turns.begin(), turns.end(), tenant);
  if (own != turns.end()) std::rotate(own, own + 1, turns.end());
}

// A job that is leased uses up a share of its rates, and that its key cooled down once is over. One
// that did not wait for its group comes to it only now.
void Model::gate_charge(Queue& queue, const Job& job, Now now) {
  use_up(queue.config.rate, queue.gates.full_at_ns, now.wall_ms, 1);
  const GateSpec& gate = job.spec.gate;
  if (gate.guards()) {
    forget_limit_of_others(queue, job);
    if (gate.group_limit != 0) queue.gates.limits.emplace(gate.group, gate.group_limit);
  }
  forget_waits(queue);
  if (gate.rate_key.empty()) return;
  RateKey& key = queue.gates.keys[gate.rate_key];
  key.cool_until_ms = 0;
  use_up(queue.config.key_rate, key.full_at_ns, now.wall_ms, gate.rate_cost);
}

void Model::gate_exception(Queue& queue, const Job& job, Now now) {
  const Throttle& throttle = queue.config.throttle;
  if (throttle.count == 0 || job.spec.gate.rate_key.empty()) return;
  RateKey& key = queue.gates.keys[job.spec.gate.rate_key];
  if (now.wall_ms < key.cool_until_ms) return;  // of a job that began before that
  key.cool_until_ms = 0;
  for (int64_t& at_ms : key.failed_ms) at_ms = std::min(at_ms, now.wall_ms);
  key.failed_ms.push_back(now.wall_ms);
  std::erase_if(key.failed_ms,
                [&](int64_t at_ms) { return at_ms <= now.wall_ms - throttle.window_ms; });
  if (key.failed_ms.size() < throttle.count) return;
  key.failed_ms.clear();
  key.cool_until_ms = now.wall_ms + throttle.cool_ms;
}

void Model::gate_success(Queue& queue, const Job& job) {
  const auto key = queue.gates.keys.find(job.spec.gate.rate_key);
  if (key != queue.gates.keys.end()) key->second.failed_ms.clear();
}

// After a step back of the clock nothing is further ahead than it can come to from now. Also said
// by each change of the configuration, which holds at once. True: there was something.
bool Model::rebase(QueueId queue_id, Now now) {
  Queue& queue = queues.at(queue_id);
  const QueueConfig& config = queue.config;
  const GateState before = queue.gates;
  const int64_t now_ns = now.wall_ms * ns_per_ms;
  if (config.rate.count != 0) {
    const int64_t most_ns = now_ns + interval_ns(config.rate) * config.rate.burst;
    queue.gates.full_at_ns = std::min(queue.gates.full_at_ns, most_ns);
  }
  for (auto& [name, key] : queue.gates.keys) {
    const int64_t most_ns =
        config.key_rate.count == 0 ? 0 : now_ns + config.key_rate.window_ms * ns_per_ms;
    key.full_at_ns = std::min(key.full_at_ns, most_ns);
    key.cool_until_ms = std::min(key.cool_until_ms, now.wall_ms + config.throttle.cool_ms);
    for (int64_t& at_ms : key.failed_ms) at_ms = std::min(at_ms, now.wall_ms);
    if (config.throttle.count != 0) continue;
    key.cool_until_ms = 0;
    key.failed_ms.clear();
  }
  return before != queue.gates;
}

void Model::configure(QueueId queue, const QueueConfig& config, Now now) {
  configure(queue, config);
  rebase(queue, now);
  forget_waits(queues.at(queue));
}

// A lease came to the job while its group was full.
void Model::overlap(QueueId queue_id, JobId id, Now now) {
  Queue& queue = queues.at(queue_id);
  Job& job = queue.jobs.at(id);
  if (job.spec.gate.overlap == OverlapRule::skip) {
    ++queue.totals.skipped;
    end(queue, job, EndReason::skipped, now);
    return;
  }
  ++queue.totals.released;
  leave(queue, job);
  make_ready_after(queue, job, now, job.spec.gate.overlap_ms, false);
}

void Model::reprioritise(QueueId queue_id, JobId id, uint8_t priority, Now now) {
  Queue& queue = queues.at(queue_id);
  Job& job = queue.jobs.at(id);
  if (job.state == JobState::delayed) {
    job.spec.priority = priority;
    return;
  }
  leave(queue, job);
  job.spec.priority = priority;
  make_ready(queue, job, now.wall_ms, false);
}

// ---- what is asked

bool Model::group_is_full(const Queue& queue, const GateSpec& gate) {
  const auto own = queue.gates.limits.find(gate.group);
  uint64_t limit = gate.group_limit != 0 ? gate.group_limit : queue.config.group_limit;
  if (gate.parks()) limit = queue.config.group_limit;  // what it named counted when it became ready
  if (own != queue.gates.limits.end()) limit = own->second;
  return held_of_group(queue, gate.group) >= limit;
}

KeyWait Model::key_wait(const Queue& queue, const GateSpec& gate, Now now) {
  const auto found = queue.gates.keys.find(gate.rate_key);
  if (found == queue.gates.keys.end()) return KeyWait::none;
  const RateKey& key = found->second;
  if (now.wall_ms < key.cool_until_ms) return KeyWait::cools;
  const RateLimit& rate = queue.config.key_rate;
  return wait_ns(rate, key.full_at_ns, now.wall_ms, gate.rate_cost) > 0 ? KeyWait::used_up
                                                                        : KeyWait::none;
}

namespace {

// The first jobs of all lines of a priority that may be had, in the order of the queue. `shut`: the
// rate keys of which a job was met that may not begin; none is overtaken by others of its key.
std::vector<Candidate> first_of_lines(QueueId id, const Queue& queue,
                                      const std::vector<JobId>& line, std::set<std::string>& shut,
                                      Now now) {
  std::vector<Candidate> firsts;
  std::set<std::pair<char, std::string>> met;
  for (const JobId job_id : line) {
    const GateSpec& gate = queue.jobs.at(job_id).spec.gate;
    const char kind = gate.parks() ? 'g' : gate.has_line() ? 'k' : 't';
    const std::string& name = kind == 'g' ? gate.group : kind == 'k' ? gate.rate_key : gate.tenant;
    if (!met.emplace(kind, name).second) continue;  // behind another one
    if (kind == 'g' && Model::group_is_full(queue, gate)) continue;
    if (kind == 'k' && shut.contains(name)) continue;
    if (kind == 'k' && Model::key_wait(queue, gate, now) != KeyWait::none) {
      shut.insert(name);
      continue;
    }
    firsts.push_back({Pick{id, job_id}, gate.guards() && Model::group_is_full(queue, gate)});
  }
  return firsts;
}

constexpr uint32_t passed_max = 1;  // by jobs of one other tenant

// Which of these it can be: exactly one, unless it is open whose turn it is.
//
// wq.h promises that nobody waits for more than one job of each other tenant. Where there are
// neither groups nor rate keys in the queue it is known exactly whose turn it is. Else two whose
// jobs have become such that may be had between the same two leases may come in either order: that
// of a group's first job is known when it is read.
std::vector<Candidate> by_turns(const Queue& queue, uint8_t priority,
                                std::vector<Candidate> firsts) {
  const auto tenant_of = [&](const Candidate& each) -> const std::string& {
    return queue.jobs.at(each.pick.id).spec.gate.tenant;
  };
  const GateState& gates = queue.gates;
  if (!gates.tenants) {
    firsts.resize(1);
    return firsts;
  }
  if (!gates.lines) {
    const std::string& turn = gates.turns.at(priority).front();
    std::erase_if(firsts, [&](const Candidate& each) { return tenant_of(each) != turn; });
    return firsts;
  }
  std::erase_if(firsts, [&](const Candidate& each) {
    return std::any_of(gates.passed.begin(), gates.passed.end(), [&](const auto& entry) {
      return entry.second >= passed_max && std::get<0>(entry.first) == priority &&
             std::get<2>(entry.first) == tenant_of(each);
    });
  });
  return firsts;
}

}  // namespace

std::vector<Candidate> Model::next(const std::vector<QueueId>& from, Now now) const {
  for (const QueueId id : from) {
    const Queue& queue = queues.at(id);
    const QueueConfig& config = queue.config;
    if (config.status != QueueStatus::active) continue;
    if (config.max_running != 0 && queue.running() >= config.max_running) continue;
    if (wait_ns(config.rate, queue.gates.full_at_ns, now.wall_ms, 1) > 0) continue;
    std::set<std::string> shut;
    for (const auto& [priority, line] : queue.ready) {
      std::vector<Candidate> firsts = first_of_lines(id, queue, line, shut, now);
      if (!firsts.empty()) return by_turns(queue, priority, std::move(firsts));
    }
  }
  return {};
}

// Ready jobs that no slot of their group is free for.
uint64_t Model::parked_in_groups(const Queue& queue) {
  std::map<std::string, uint64_t> waiting;
  std::map<std::string, const GateSpec*> specs;
  for (const auto& [id, job] : queue.jobs) {
    if (job.state != JobState::ready || !job.spec.gate.parks()) continue;
    ++waiting[job.spec.gate.group];
    specs[job.spec.gate.group] = &job.spec.gate;
  }
  uint64_t parked = 0;
  for (const auto& [group, jobs] : waiting) {
    const auto own = queue.gates.limits.find(group);
    const uint64_t limit = own != queue.gates.limits.end() ? own->second : queue.config.group_limit;
    const uint64_t held = held_of_group(queue, group);
    const uint64_t free = held >= limit ? 0 : limit - held;
    parked += jobs > free ? jobs - free : 0;
  }
  return parked;
}

}  // namespace wq::model
