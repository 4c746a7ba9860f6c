// The runner's operations on jobs that nobody holds: enqueue, cancel, get.
#include <algorithm>

#include "model/engine_spec.h"
#include "model/runner_internal.h"

namespace wq::model {
namespace {

constexpr size_t delayed_jobs_max = 700;  // below the engine's bound of one step
constexpr size_t known_max = 4'000;

}  // namespace

std::string Runner::step_job(const Op& op, Prng& dice) {
  switch (op.kind) {
    case OpKind::enqueue:
      return enqueue(dice);
    case OpKind::enqueue_many:
      return enqueue_many(dice);
    case OpKind::cancel:
      return cancel(dice);
    case OpKind::get:
      return get(dice);
    case OpKind::dead_list:
      return dead_list(dice);
    case OpKind::dead_replay:
      return change_dead(dice, true);
    case OpKind::dead_remove:
      return change_dead(dice, false);
    case OpKind::dead_many:
      return change_many_dead(dice);
    case OpKind::lease:
      return lease(dice);
    case OpKind::confirm:
      return confirm(dice);
    case OpKind::extend:
      return extend(dice);
    default:
      return settle(dice);
  }
}

Spec Runner::random_spec(Prng& dice, const Queue* queue) {
  Spec spec;
  spec.payload = "job " + std::to_string(++made_);
  const size_t size = dice.below(uint64_t{setting_.payload_max} + 1);
  while (spec.payload.size() < size) spec.payload += static_cast<char>(made_ + spec.payload.size());
  if (dice.below(12) == 0) spec.payload.clear();
  if (dice.below(6) == 0) {
    for (size_t i = 0; i <= dice.below(3); ++i) {
      spec.headers.emplace_back("h" + std::to_string(i), std::string(dice.below(9), '\0'));
    }
  }
  const bool may_wait = live_.count(JobState::delayed) < delayed_jobs_max;
  const uint64_t when = dice.below(8);
  if (may_wait && when < 2) spec.delay_ms = any_ms(dice);
  if (may_wait && when == 2) spec.run_at_ms = harness_.clock().wall_ms() + any_ms(dice);
  if (when == 3) spec.run_at_ms = std::max<int64_t>(1, harness_.clock().wall_ms() - any_ms(dice));
  spec.priority = any_priority(dice);
  spec.max_attempts = static_cast<uint32_t>(dice.below(5) < 3 ? 0 : 1 + dice.below(3));
  if (dice.below(5) == 0) spec.backoff = random_config(dice).backoff;
  if (queue && setting_.gates != 0) add_gates(dice, spec);
  if (setting_.flows != 0) add_flows(dice, spec);
  // The size of one with a chain is not known beforehand.
  if (queue && counts_bytes(*queue)) spec.flow.chain.clear();
  return spec;
}

// An id that was never seen before, as the engine gave it.
std::string Runner::new_job(QueueId queue, JobId id, const Spec& /*spec*/) {
  if (id <= max_id_) return "job id " + std::to_string(id) + " was used before";
  max_id_ = id;
  if (all_jobs_.size() == known_max) all_jobs_.erase(all_jobs_.begin());
  all_jobs_.push_back(Known{queue, id, 0});
  return {};
}

// What a call with these jobs is answered with. `coming`: what becomes of each of them.
Code Runner::expected_enqueue(QueueId id, std::span<const Spec> specs, bool partial,
                              Coming& coming) {
  const Queue* queue = live_.find(id);
  for (const Spec& spec : specs) {
    if (chain_code(spec) != Code::ok) return Code::not_found;
  }
  if (!queue) return Code::not_found;
  if (queue->config.status == QueueStatus::disabled) return Code::disabled;
  KeyPlan plan(live_, now());
  bool all_met = true;
  for (size_t i = 0; i < specs.size(); ++i) {
    coming.holders.push_back(plan.place(id, specs[i].keys, i));
    coming.replaced.push_back(plan.replaced());
    if (coming.holders.back()) continue;
    if (const Code code = batch_code(specs[i].flow.batch); code != Code::ok) {
      note_rare(Rare::batch_refused);
      if (!partial || i == 0) return code;
      note_rare(Rare::taken_up_to_a_batch);
      coming.refusal = code;
      specs = specs.first(i);
      break;
    }
    all_met = false;
  }
  coming.good = specs.size();
  return all_met ? Code::duplicate : find_room(id, specs, partial, coming);
}

// Nothing was written, but the record of the holder is as durable as was asked for.
void Runner::told_of_holder(const CallOptions& call, Durability standard, Lsn last) {
  acknowledged(last, call.durability == 0 ? standard : static_cast<Durability>(call.durability));
}

std::string Runner::enqueue(Prng& dice) {
  const QueueId id = any_queue(dice);
  const Spec spec = random_spec(dice, live_.find(id));
  WQ_SAME_OR_SAY(learn_keys(id, spec.keys));
  WQ_SAME_OR_SAY(learn_batch(spec.flow.batch));
  learn_sizes(id);
  const EngineSpec given(spec);
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  Queue* queue = live_.find(id);
  JobId job = 0;
  const Status status = engine().enqueue(id, given.spec, call, job);
  Coming coming;
  const Code expected = expected_enqueue(id, std::span(&spec, 1), false, coming);
  if (status.code() != expected) return wrong_code("enqueue", status.code(), expected);
  if (expected == Code::duplicate) {
    WQ_SAME("holder of the key", job, coming.holders[0]->id);
    note_duplicate(spec.keys, *coming.holders[0]);
    told_of_holder(call, queue->config.durability, before);
  }
  if (expected != Code::ok) return expect_written(before, 0);
  WQ_SAME_OR_SAY(new_job(id, job, spec));
  note_debounced(id, spec);
  acknowledged(call, queue->config.durability);
  return came_in(id, call.lsn, before, {job}, {spec}, coming);
}

std::string Runner::enqueue_many(Prng& dice) {
  const QueueId id = any_queue(dice);
  const size_t count = 1 + dice.below(setting_.many_max);
  const bool partial = dice.below(3) == 0;
  // One of them may be refused.
  const size_t bad = dice.below(4) == 0 ? dice.below(count) : count;
  learn_sizes(id);
  std::vector<Spec> specs;
  specs.reserve(count);  // what is given points into it
  std::deque<EngineSpec> given;
  std::vector<JobSpec> passed;
  for (size_t i = 0; i < count; ++i) {
    specs.push_back(random_spec(dice, live_.find(id)));
    WQ_SAME_OR_SAY(learn_keys(id, specs.back().keys));
    WQ_SAME_OR_SAY(learn_batch(specs.back().flow.batch));
    given.emplace_back(specs.back());
    passed.push_back(given.back().spec);
  }
  if (bad < count) passed[bad].delay_ms = -7;
  size_t good = 0;  // before the first refusal
  while (good < bad && good < count && chain_code(specs[good]) == Code::ok) ++good;
  Code refusal = good < bad ? Code::not_found : Code::invalid;
  std::vector<EnqueueOutcome> outcomes(count);
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  Queue* queue = live_.find(id);
  const Result<size_t> accepted = engine().enqueue_many(id, passed, partial, call, outcomes);
  Coming coming;
  Code expected = refusal;
  if (good == count || (partial && good > 0)) {
    expected = expected_enqueue(id, std::span(specs).first(good), partial, coming);
    if (coming.good < good) refusal = coming.refusal;
    good = coming.good;
  }
  if (expected == Code::duplicate) expected = Code::ok;  // each of them is told so
  const Code got = accepted.ok() ? Code::ok : accepted.status().code();
  if (got != expected) return wrong_code("enqueue_many", got, expected);
  if (expected != Code::ok) return expect_written(before, 0);
  WQ_SAME("jobs accepted", accepted.value(), good);
  std::vector<JobId> ids;
  std::vector<Spec> taken;
  for (size_t i = 0; i < count; ++i) {
    const bool met = i < good && coming.holders[i];
    const Code each = met ? Code::duplicate : i < good ? Code::ok : refusal;
    if (outcomes[i].code != each) return wrong_code("one of many", outcomes[i].code, each);
    if (met) {
      const Holder& holder = *coming.holders[i];
      WQ_SAME("holder of a key", outcomes[i].id,
              holder.fresh ? outcomes[holder.index].id : holder.id);
      note_duplicate(specs[i].keys, holder);
    }
    if (each != Code::ok) continue;
    ids.push_back(outcomes[i].id);
    taken.push_back(specs[i]);
    WQ_SAME_OR_SAY(new_job(id, ids.back(), specs[i]));
  }
  if (ids.empty()) {
    told_of_holder(call, queue->config.durability, before);
    return expect_written(before, 0);
  }
  acknowledged(call, queue->config.durability);
  return came_in(id, call.lsn, before, ids, taken, coming);
}

// New jobs are there. What goes for them goes in the same change, behind them.
std::string Runner::came_in(QueueId id, Lsn lsn, Lsn before, const std::vector<JobId>& ids,
                            const std::vector<Spec>& taken, Coming& coming) {
  WQ_SAME_OR_SAY(learn_dropped(id, coming));
  note_dropped(id, coming.dropped);
  changed(lsn, [id, ids, taken, dropped = coming.dropped, at = now()](Model& model) {
    model.reserve(ids.back());
    for (const Spec& spec : taken) model.join(spec);
    for (size_t i = 0; i < ids.size(); ++i) model.enqueue_joined(id, ids[i], taken[i], at);
    model.drop(id, dropped, at);
  });
  learn_sizes(id);
  for (size_t i = 0; i < ids.size() && live_.find(id)->config.max_bytes != 0; ++i) {
    const bool there = live_.find(id, ids[i]) != nullptr;
    if (there) WQ_SAME("size of a job", sizes_.at(ids[i]), size_of(taken[i]));
  }
  return expect_written(before, 1);
}

std::string Runner::cancel(Prng& dice) {
  const QueueId queue = any_queue(dice);
  const Known known = any_job(queue, dice);
  const Job* job = live_.find(queue, known.id);
  const Code expected = !job                           ? Code::not_found
                        : job->state == JobState::dead ? Code::conflict
                                                       : Code::ok;
  CallOptions call = make_call(dice);
  const EngineStats before = engine().stats();
  const Status status = engine().cancel(queue, known.id, call);
  if (status.code() != expected) return wrong_code("cancel", status.code(), expected);
  if (expected != Code::ok) return expect_written(before.last_lsn, 0);
  if (engine().stats().resident_jobs > before.resident_jobs) note_rare(Rare::cold_cancel);
  if (!job->waits()) note_rare(Rare::cancelled_held);
  acknowledged(call, Durability::power);
  changed(call.lsn,
          [queue, id = known.id, at = now()](Model& model) { model.cancel(queue, id, at); });
  return expect_written(before.last_lsn, 1);
}

std::string Runner::get(Prng& dice) {
  const QueueId id = any_queue(dice);
  const Known known = any_job(id, dice);
  Queue* queue = live_.find(id);
  const Job* job = live_.find(id, known.id);
  uint64_t in_memory_at_most = 0;
  for (const auto& [queue_id, each] : live_.queues) in_memory_at_most += each.jobs.size();
  if (job && engine().stats().resident_jobs * 2 < in_memory_at_most) note_rare(Rare::cold_get);
  const Result<JobView> view = engine().get(id, known.id);
  if (!job) {
    const Code got = view.status().code();
    return got == Code::not_found ? std::string() : wrong_code("get", got, Code::not_found);
  }
  if (!view.ok()) return view.status().message();
  WQ_SAME_OR_SAY(compare_view(view.value(), *queue, *job, now()));
  const Token entry{known.id, dice.below(3) == 0 ? job->generation + 1 : job->generation};
  const bool is_entry = job->state == JobState::dead && entry.generation == job->generation;
  const Code expected = is_entry ? Code::ok : Code::stale;
  const Code got = engine().dead_get(id, entry).status().code();
  return got == expected ? std::string() : wrong_code("dead_get", got, expected);
}

}  // namespace wq::model
