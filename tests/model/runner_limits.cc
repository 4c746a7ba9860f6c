// The runner's limits of queues: the operation that sets them, and what an enqueue, a transaction
// or a replay must be answered at a full queue.
#include <algorithm>

#include "model/engine_spec.h"
#include "model/runner_internal.h"

namespace wq::model {
namespace {

constexpr size_t waiting_max = 900;  // below what one record drops

// Jobs of one line are dropped in its order: of a group, of a rate key, of a tenant.
std::pair<char, std::string> line_of(const GateSpec& gate) {
  if (gate.parks()) return {'g', gate.group};
  return gate.has_line() ? std::pair('k', gate.rate_key) : std::pair('t', gate.tenant);
}

size_t dropped_of(const std::vector<JobId>& line, const std::vector<JobId>& dropped) {
  return static_cast<size_t>(std::count_if(line.begin(), line.end(), [&](JobId id) {
    return std::find(dropped.begin(), dropped.end(), id) != dropped.end();
  }));
}

}  // namespace

std::string Runner::limit_config(Prng& dice) {
  const QueueId id = any_queue(dice);
  const Queue* queue = live_.find(id);
  if (queue && queue->count(JobState::ready) > waiting_max) return {};
  QueueConfig config;
  uint32_t fields = 0;
  if ((setting_.limits & limit_depth) && dice.below(3) != 0) {
    fields |= config_max_depth;
    if (dice.below(4) != 0) config.max_depth = 1 + dice.below(dice.below(3) == 0 ? 40 : 6);
  }
  if ((setting_.limits & limit_bytes) && dice.below(3) != 0) {
    fields |= config_max_bytes;
    const uint64_t scale = 300 + uint64_t{setting_.payload_max};
    if (dice.below(4) != 0) config.max_bytes = 100 + dice.below(scale * (1 + dice.below(5)));
  }
  if ((setting_.limits & (limit_depth | limit_bytes)) && dice.below(3) != 0) {
    fields |= config_full_policy;
    config.full_policy = dice.below(4) != 0 ? FullPolicy::drop_oldest : FullPolicy::refuse;
  }
  if ((setting_.limits & limit_dead) && dice.below(2) == 0) {
    fields |= config_dead_max_count;
    if (dice.below(4) != 0) config.dead_max_count = 1 + dice.below(6);
  }
  if ((setting_.limits & limit_dead) && dice.below(2) == 0) {
    fields |= config_dead_max_age_ms;
    if (dice.below(4) != 0) config.dead_max_age_ms = any_ms(dice);
  }
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Status status = engine().configure(id, config, fields, call);
  const Code expected = queue ? Code::ok : Code::not_found;
  if (status.code() != expected) return wrong_code("limit_config", status.code(), expected);
  if (!queue) return expect_written(before, 0);
  QueueConfig wanted = queue->config;
  if (fields & config_max_depth) wanted.max_depth = config.max_depth;
  if (fields & config_max_bytes) wanted.max_bytes = config.max_bytes;
  if (fields & config_full_policy) wanted.full_policy = config.full_policy;
  if (fields & config_dead_max_count) wanted.dead_max_count = config.dead_max_count;
  if (fields & config_dead_max_age_ms) wanted.dead_max_age_ms = config.dead_max_age_ms;
  if (wanted == queue->config) return expect_written(before, 0);
  acknowledged(call, Durability::power);
  changed(call.lsn, [id, wanted, at = now()](Model& model) { model.configure(id, wanted, at); });
  return expect_written(before, 1);
}

// ---- sizes

// As it will be written: how many bytes that are is no decision of the engine.
uint64_t Runner::size_of(const Spec& spec) {
  const EngineSpec given(spec);
  Encoder encoder;
  return encoder
      .envelope(given.spec.headers, given.spec.payload, given.spec.backoff, now().wall_ms,
                given.spec.traits)
      .size();
}

// Before a call that may drop some of them.
void Runner::learn_sizes(QueueId id) {
  stored_bytes_ = engine().stats().job_bytes;
  const Queue* queue = live_.find(id);
  if (!queue || !counts_bytes(*queue)) return;
  for (const auto& [job, known] : queue->jobs) {
    if (sizes_.contains(job)) continue;
    const Result<JobView> view = engine().get(id, job);
    if (view.ok()) sizes_[job] = view.value().body.size();
  }
}

// ---- what a full queue says

// Of the jobs that meet no holder. One that a debounced job takes the place of makes room for it,
// also if it came in by the same call.
Intake Runner::intake_of(QueueId queue, std::span<const Spec> specs, const Coming& coming) {
  const bool sized = counts_bytes(*live_.find(queue));
  Intake in;
  for (size_t i = 0; i < specs.size(); ++i) {
    if (coming.holders[i]) continue;
    in.add(sized ? size_of(specs[i]) : 0);
    const std::optional<Holder>& before = coming.replaced[i];
    if (before && before->fresh) {
      --in.jobs;
      in.bytes -= sized ? size_of(specs[before->index]) : 0;
    } else if (before) {
      in.replaced.insert(before->id);
    }
  }
  return in;
}

// The store with what comes to each queue. What is dropped for it makes no room here.
bool Runner::is_over_quota(const std::map<QueueId, Intake>& coming) const {
  if (setting_.quota_kib == 0) return false;
  int64_t bytes = static_cast<int64_t>(stored_bytes_);
  for (const auto& [id, in] : coming) {
    bytes += static_cast<int64_t>(in.bytes);
    for (const JobId job : in.replaced) bytes -= static_cast<int64_t>(sizes_.at(job));
  }
  return bytes > int64_t{setting_.quota_kib} << 10;
}

Code Runner::admit(QueueId id, const Intake& in, Coming& coming) {
  if (!is_over_quota({{id, in}})) return live_.admit(*live_.find(id), in, sizes_, &coming.dropped);
  note_rare(Rare::store_at_quota);
  return Code::full;
}

// All of them, or if asked those before the first that there is no room for.
Code Runner::find_room(QueueId id, std::span<const Spec> specs, bool partial, Coming& coming) {
  const Queue& queue = *live_.find(id);
  if (queue.config.max_depth == 0 && !counts_bytes(queue)) return Code::ok;
  const Intake all = intake_of(id, specs, coming);
  Code code = admit(id, all, coming);
  if (code == Code::ok && !all.replaced.empty() && queue.config.max_depth != 0) {
    const uint64_t waiting = queue.count(JobState::ready) + queue.count(JobState::delayed);
    if (waiting >= queue.config.max_depth) note_rare(Rare::debounced_in_full_queue);
  }
  if (code == Code::ok) return code;
  note_full(queue, code);
  if (!partial) return code;
  coming.good = 0;
  for (; coming.good < specs.size(); ++coming.good) {
    if (coming.holders[coming.good]) continue;  // brings nothing
    const Intake some = intake_of(id, specs.first(coming.good + 1), coming);
    code = admit(id, some, coming);
    if (code != Code::ok) break;
  }
  coming.refusal = code;
  if (coming.good == 0) return code;
  note_rare(Rare::taken_up_to_the_limit);
  return Code::ok;
}

bool Runner::has_room_for_replay(const Model& model, QueueId id, JobId job) {
  const Queue& queue = model.queues.at(id);
  const bool sized = queue.config.max_bytes != 0;
  Intake in;
  in.add(sized ? sizes_.at(job) : 0);
  std::vector<JobId> dropped;
  const Code code = model.admit(queue, in, sizes_, &dropped);
  if (code == Code::ok && dropped.empty()) return true;
  note_rare(Rare::replay_met_full_queue);
  return false;
}

void Runner::note_full(const Queue& queue, Code code) {
  const uint64_t waiting = queue.count(JobState::ready) + queue.count(JobState::delayed);
  if (code == Code::too_large) note_rare(Rare::too_large_for_queue);
  if (code != Code::full) return;
  note_rare(Rare::queue_full);
  if (queue.config.max_depth != 0 && waiting > queue.config.max_depth) {
    note_rare(Rare::brought_over_limit);
  }
  if (queue.config.max_bytes != 0) note_rare(Rare::over_the_bytes);
  if (queue.config.full_policy == FullPolicy::drop_oldest) note_rare(Rare::ready_jobs_not_enough);
}

// Before they are dropped.
void Runner::note_dropped(QueueId id, const std::vector<JobId>& dropped) {
  const Queue& queue = *live_.find(id);
  note_rare(Rare::ready_job_dropped, dropped.size());
  for (const JobId job_id : dropped) {
    const Job& job = queue.jobs.at(job_id);
    if (queue.config.max_depth == 0) note_rare(Rare::dropped_for_bytes);
    if (job.key_until_ms != 0) note_rare(Rare::drop_freed_a_key);
    if (!job.spec.flow.chain.empty()) note_rare(Rare::drop_cut_a_chain);
    const auto batch = live_.batches.find(job.spec.flow.batch);
    if (batch == live_.batches.end()) continue;
    const Batch& flow = batch->second;
    if (flow.sealed && flow.pending == job.spec.flow.share()) note_rare(Rare::drop_ended_a_batch);
  }
}

// Among tenants it is not foretold whose jobs go: one who has the most, or at least half as many.
// Each loses his oldest ones.
std::string Runner::learn_dropped(QueueId id, Coming& coming) {
  const Queue& queue = *live_.find(id);
  if (coming.dropped.empty() || !queue.gates.tenants) return {};
  note_rare(Rare::dropped_of_a_tenant);
  std::set<JobId> replaced;
  for (const std::optional<Holder>& each : coming.replaced) {
    if (each && !each->fresh) replaced.insert(each->id);
  }
  std::vector<JobId> gone;
  for (const auto& [priority, line] : queue.ready) {
    std::set<std::pair<char, std::string>> kept;
    std::map<std::string, uint64_t> jobs, going;
    size_t before = gone.size();
    for (const JobId job_id : line) {
      if (replaced.contains(job_id)) continue;
      const GateSpec& gate = queue.jobs.at(job_id).spec.gate;
      ++jobs[gate.tenant];
      if (engine().get(id, job_id).status().code() != Code::not_found) {
        kept.insert(line_of(gate));
        continue;
      }
      gone.push_back(job_id);
      ++going[gate.tenant];
      if (kept.contains(line_of(gate))) return "an older job of the line stayed";
    }
    WQ_SAME("dropped of priority " + std::to_string(priority), gone.size() - before,
            dropped_of(line, coming.dropped));
    if (queue.gates.lines || !replaced.empty()) continue;
    for (; before < gone.size(); ++before) {  // those of the greatest first: then each may go
      const auto fewer = [&](const auto& a, const auto& b) {
        return (going[a.first] != 0 ? a.second : 0) < (going[b.first] != 0 ? b.second : 0);
      };
      const auto next = std::max_element(jobs.begin(), jobs.end(), fewer);
      for (const auto& [tenant, count] : jobs) {
        if (count > 2 * next->second) return "a job of a tenant with few was dropped";
      }
      --next->second;
      --going[next->first];
    }
  }
  coming.dropped = std::move(gone);
  return {};
}

// ---- maintenance

// Nothing more is due: what is over the caps is gone, unless memory is short.
std::string Runner::at_rest() {
  const EngineStats stats = engine().stats();
  if (stats.resident_bytes > stats.memory_budget_bytes) return {};
  for (const auto& [id, queue] : live_.queues) {
    WQ_SAME("dead letters left over the caps", Model::over_dead_caps(queue, now()).size(),
            size_t{0});
  }
  for (const std::string& name : live_.due_schedules(now().wall_ms)) {
    const Result<CronView> view = engine().cron_get(name);
    if (view.ok() && view.value().problem.empty()) return "a slot was left past its time";
  }
  return {};
}

}  // namespace wq::model
