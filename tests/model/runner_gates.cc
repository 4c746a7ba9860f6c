// The runner's part of what decides which ready job is handed out: groups, the overlap guard, rates
// and rate keys, the throttle, tenants.
#include <algorithm>

#include "model/compare_gates.h"
#include "model/runner_internal.h"

namespace wq::model {

std::string Runner::step_gates(const Op& op, Prng& dice) {
  return op.kind == OpKind::gate_config ? gate_config(dice) : reprioritise(dice);
}

// Few names, so that they meet. Those of one number are of one kind: jobs that do not wait for
// their group are in groups whose jobs all name the same limit or none, since wq.h does not say
// whose counts before a lease comes to them.
void Runner::add_gates(Prng& dice, Spec& spec) {
  GateSpec& gate = spec.gate;
  const uint32_t choice = setting_.gates;
  const auto wants = [&](uint32_t bit, uint64_t one_of) {
    return (choice & bit) != 0 && dice.below(one_of) == 0;
  };
  if (wants(gate_tenants, 2)) gate.tenant = "t" + std::to_string(dice.below(4));
  if (wants(gate_guards, 3)) {
    const uint64_t number = dice.below(2);
    gate.group = "o" + std::to_string(number);
    gate.group_limit = static_cast<uint32_t>(number);
    gate.overlap = static_cast<OverlapRule>(dice.below(3));
    if (gate.overlap == OverlapRule::release) gate.overlap_ms = any_ms(dice);
  } else if (wants(gate_keys, 2)) {
    gate.rate_key = "k" + std::to_string(dice.below(3));
    gate.rate_cost = static_cast<uint32_t>(dice.below(3) == 0 ? 1 + dice.below(6) : 1);
  } else if (wants(gate_groups, 2)) {
    gate.group = "g" + std::to_string(dice.below(3));
    if (dice.below(4) == 0) gate.group_limit = static_cast<uint32_t>(1 + dice.below(4));
  }
}

// Each rate has whole nanoseconds between two jobs, so that the model need not round. The window of
// the throttle stays the same for a stream: exceptions that no longer count are forgotten, or not.
std::string Runner::gate_config(Prng& dice) {
  if (setting_.gates == 0) return {};
  const QueueId id = any_queue(dice);
  const int64_t scale_ms = setting_.time_scale_ms;
  const auto random_rate = [&] {
    constexpr uint32_t counts[] = {1, 2, 4, 5, 10};
    RateLimit rate;
    if (dice.below(3) == 0) return rate;
    rate.count = counts[dice.below(std::size(counts))];
    rate.burst = 1 + static_cast<uint32_t>(dice.below(rate.count));
    rate.window_ms = scale_ms * (dice.below(2) == 0 ? 1 : 5);
    return rate;
  };
  QueueConfig config;
  config.group_limit = 1 + static_cast<uint32_t>(dice.below(4));
  config.rate = dice.below(2) == 0 ? RateLimit() : random_rate();
  config.key_rate = random_rate();
  if (dice.below(3) != 0) {
    config.throttle.count = 1 + static_cast<uint32_t>(dice.below(3));
    config.throttle.window_ms = scale_ms * 2;
    config.throttle.cool_ms = 1 + static_cast<int64_t>(dice.below(4)) * scale_ms / 2;
  }
  constexpr uint32_t choices[] = {config_group_limit, config_rate, config_key_rate,
                                  config_throttle};
  uint32_t fields = 0;
  for (const uint32_t choice : choices) fields |= dice.below(2) == 0 ? choice : 0;
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Status status = engine().configure(id, config, fields, call);
  Queue* queue = live_.find(id);
  const Code expected = queue ? Code::ok : Code::not_found;
  if (status.code() != expected) return wrong_code("gate_config", status.code(), expected);
  if (!queue) return expect_written(before, 0);
  QueueConfig wanted = queue->config;
  if (fields & config_group_limit) wanted.group_limit = config.group_limit;
  if (fields & config_rate) wanted.rate = config.rate;
  if (fields & config_key_rate) wanted.key_rate = config.key_rate;
  if (fields & config_throttle) wanted.throttle = config.throttle;
  if (wanted == queue->config) return expect_written(before, 0);
  acknowledged(call, Durability::power);
  changed(call.lsn, [id, wanted, at = now()](Model& model) { model.configure(id, wanted, at); });
  return expect_written(before, 1);
}

std::string Runner::reprioritise(Prng& dice) {
  const QueueId id = any_queue(dice);
  const Known known = any_job(id, dice);
  const uint8_t priority = any_priority(dice);
  const Job* job = live_.find(id, known.id);
  const bool waits = job && (job->state == JobState::ready || job->state == JobState::delayed);
  const Code expected = !job ? Code::not_found : waits ? Code::ok : Code::conflict;
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Status status = engine().reprioritise(id, known.id, priority, call);
  if (status.code() != expected) return wrong_code("reprioritise", status.code(), expected);
  if (expected != Code::ok || job->spec.priority == priority) return expect_written(before, 0);
  note_rare(Rare::reprioritised);
  acknowledged(call, Durability::power);
  changed(call.lsn, [=, job_id = known.id, at = now()](Model& model) {
    model.reprioritise(id, job_id, priority, at);
  });
  return expect_written(before, 1);
}

// What a key was used up by is forgotten at a moment of the engine's choice once it is over, and so
// are its exceptions and its cool-down. So the wall clock is never set back to before such an end:
// it might begin again, or not.
int64_t Runner::step_back_max_ms() {
  const int64_t now_ms = harness_.clock().wall_ms();
  int64_t most_ms = INT64_MAX;
  const auto not_before = [&](int64_t end_ms) {
    if (end_ms <= now_ms) most_ms = std::min(most_ms, now_ms - end_ms);
  };
  for (const auto& [id, queue] : live_.queues) {
    for (const auto& [name, key] : queue.gates.keys) {
      not_before(key.full_at_ns / 1'000'000 + 1);
      not_before(key.cool_until_ms);
      if (key.failed_ms.empty()) continue;
      not_before(key.failed_ms.back() + queue.config.throttle.window_ms);
    }
  }
  return most_ms;
}

// ---- leases

bool Runner::has_gates(std::span<const QueueId> queues) {
  return std::any_of(queues.begin(), queues.end(), [&](QueueId id) {
    const Queue* queue = live_.find(id);
    return queue && (queue->gates.used || queue->config.rate.count != 0);
  });
}

// Before a lease from queues with jobs that do not wait for their groups: what is due is worked
// off, so that the records of the lease are known to be of these. `leave_out`: that can not be now.
std::string Runner::settle_guards(std::span<const QueueId> from, bool* leave_out) {
  const auto guards = [](const auto& entry) {
    const Job& job = entry.second;
    const bool waits = job.state == JobState::ready || job.state == JobState::delayed;
    return waits && job.spec.gate.guards();
  };
  const bool any = std::any_of(from.begin(), from.end(), [&](QueueId id) {
    const Queue* queue = live_.find(id);
    return queue && std::any_of(queue->jobs.begin(), queue->jobs.end(), guards);
  });
  if (!any || setting_.threads || draining_for_ != 0) return {};
  const Now at = now();
  if (live_.expired(at.run_ms).empty() && live_.due(at.wall_ms).empty()) return {};
  *leave_out = in_checkpoint_;  // a tick may begin another one
  return in_checkpoint_ ? std::string() : settle_time();
}

// What a lease writes: what was due, a record for each queue whose rates were ahead of the clock,
// records of jobs that found their group full, and its own.
std::string Runner::account_gates(std::span<const QueueId> from, Lsn before, uint64_t leases,
                                  const std::vector<Pick>& overlapped, Lsn* first_guarded) {
  const Now at = now();
  std::vector<QueueId> ahead;
  for (const QueueId id : from) {
    Model scratch;
    scratch.queues[id].gates = live_.queues.at(id).gates;
    scratch.queues[id].config = live_.queues.at(id).config;
    if (scratch.rebase(id, at)) ahead.push_back(id);
  }
  note_rare(Rare::rate_rebased, ahead.size());
  const Lsn last = last_lsn() - leases;
  *first_guarded = before + ahead.size() + 1;
  if (overlapped.empty()) return account_due(before, leases, ahead);
  // Nothing was due: settle_guards().
  const uint64_t records = last - ahead.size() - before;
  if (records == 0 || records > overlapped.size()) {
    return differ("records of jobs that found their group full", records, overlapped.size());
  }
  for (const QueueId id : ahead) {
    changed(++before, [id, at](Model& model) { model.rebase(id, at); });
  }
  return {};
}

// Released or skipped one after another, in records that do not tell how they share the jobs.
void Runner::overlapped(const std::vector<Pick>& picks, Lsn first, Lsn last) {
  const Now at = now();
  for (const Pick& pick : picks) {
    const bool skips = live_.find(pick.queue, pick.id)->spec.gate.overlap == OverlapRule::skip;
    note_rare(skips ? Rare::overlap_skipped : Rare::overlap_released);
  }
  Entry entry{first, last, {}, false, at};
  entry.change = [picks, at](Model& model) {
    for (const Pick& pick : picks) model.overlap(pick.queue, pick.id, at);
  };
  entry.part = [picks, at](Model& model, Engine& engine) {
    for (const Pick& pick : picks) {
      const Result<JobView> view = engine.get(pick.queue, pick.id);
      if (view.ok() && view.value().state == JobState::ready) break;
      model.overlap(pick.queue, pick.id, at);
    }
  };
  changed(std::move(entry));
}

// After a lease that is no error: what it did besides, and the jobs that it gave.
std::string Runner::follow_lease(std::span<const QueueId> from, const LeaseRequest& request,
                                 const CallOptions& call, Lsn before,
                                 const std::vector<JobView>& jobs) {
  const std::vector<QueueId> queues(from.begin(), from.end());
  const uint64_t leases = jobs.empty() ? 0 : 1;
  if (!has_gates(from)) {
    WQ_SAME_OR_SAY(account_due(before, leases));
    if (!jobs.empty()) {
      return take_leased(from, request, call, jobs, live_.pick(queues, request.max_jobs, now()));
    }
    WQ_SAME("jobs that could be had", live_.pick(queues, 1, now()).size(), size_t{0});
    return {};
  }
  const std::vector<Pick> guarded = find_overlapped(engine(), live_, from, jobs.size(), &trouble_);
  Lsn first_guarded = 0;
  WQ_SAME_OR_SAY(account_gates(from, before, leases, guarded, &first_guarded));
  note_gates(from);
  Walk walk;
  WQ_SAME_OR_SAY(walk_lease(live_, from, request.max_jobs, jobs, guarded, now(), &walk));
  if (walk.had_choice) note_rare(Rare::turn_among_lines);
  if (!guarded.empty()) overlapped(walk.overlapped, first_guarded, last_lsn() - leases);
  return jobs.empty() ? std::string() : take_leased(from, request, call, jobs, walk.leased);
}

// A lease that failed without poisoning the store: what it has done besides is done.
std::string Runner::follow_failed_lease(std::span<const QueueId> from, Lsn before) {
  const std::vector<Pick> guarded = find_overlapped(engine(), live_, from, 0, &trouble_);
  Lsn first_guarded = 0;
  WQ_SAME_OR_SAY(account_gates(from, before, 0, guarded, &first_guarded));
  if (!guarded.empty()) overlapped(guarded, first_guarded, last_lsn());
  return {};
}

// What stands in the way of the ready jobs.
void Runner::note_gates(std::span<const QueueId> from) {
  const Now at = now();
  for (const QueueId id : from) {
    const Queue& queue = live_.queues.at(id);
    bool any_ready = false;
    for (const auto& [job_id, job] : queue.jobs) {
      if (job.state != JobState::ready) continue;
      any_ready = true;
      const GateSpec& gate = job.spec.gate;
      if (gate.parks() && Model::group_is_full(queue, gate)) {
        note_rare(Rare::group_full);
        if (queue.gates.limits.contains(gate.group)) note_rare(Rare::group_own_limit);
      }
      if (gate.rate_key.empty()) continue;
      const KeyWait wait = Model::key_wait(queue, gate, at);
      if (wait == KeyWait::used_up) note_rare(Rare::key_refused);
      if (wait == KeyWait::cools) note_rare(Rare::key_cooling);
    }
    const bool refused = wait_ns(queue.config.rate, queue.gates.full_at_ns, at.wall_ms, 1) > 0;
    if (any_ready && refused) note_rare(Rare::rate_refused);
    for (const auto& [priority, tenants] : queue.gates.turns) {
      if (queue.gates.tenants && tenants.size() > 1) note_rare(Rare::turn_of_another);
    }
  }
}

}  // namespace wq::model
