// The runner's chains and batches, limits of single jobs, and the configuration that goes with
// them.
#include "model/engine_spec.h"
#include "model/runner_internal.h"

namespace wq::model {
namespace {

constexpr size_t members_max = 150;  // a sweep takes a page of 256 of them in one go

bool has_failed(const Batch& batch) {
  const bool lost_some = batch.failed != 0 || batch.cancelled != 0;
  return batch.cancelled_whole || (lost_some && !batch.allows_failures);
}

}  // namespace

// ---- what jobs use

void Runner::add_flows(Prng& dice, Spec& spec) {
  const Now at = now();
  if (setting_.flows & flow_keys) add_keys(dice, spec);
  if (setting_.flows & flow_limits) {
    const int64_t due_ms = spec.run_at_ms != 0 ? spec.run_at_ms : at.wall_ms + spec.delay_ms;
    add_limits(dice, spec.limits, std::max(due_ms, at.wall_ms));
  }
  if (!(setting_.flows & flow_batches)) return;
  if (dice.below(3) == 0 && live_.members() < members_max) spec.flow.batch = any_batch(dice);
  if (dice.below(4) != 0) return;
  for (size_t i = 0; i <= dice.below(3); ++i) spec.flow.chain.push_back(any_next(dice, true));
  if (dice.below(2) == 0) spec.headers.emplace_back("tags", "t" + std::to_string(made_));
}

// Threads end jobs that did not start whenever they come to them, and so does a lease that walks
// past gates: neither is foretold.
void Runner::add_limits(Prng& dice, Limits& limits, int64_t due_ms) {
  const bool may_expire = !setting_.threads && setting_.gates == 0;
  if (may_expire && dice.below(5) == 0) limits.expires_ms = due_ms + any_ms(dice);
  if (dice.below(6) == 0) limits.retry_until_ms = now().wall_ms + any_ms(dice);
  if (dice.below(6) == 0) limits.timeout_ms = any_ms(dice);
  if (dice.below(6) == 0) limits.max_exceptions = 1 + static_cast<uint32_t>(dice.below(2));
  limits.fail_on_timeout = dice.below(6) == 0;
}

Next Runner::any_next(Prng& dice, bool of_chain) {
  Next next;
  next.payload = "next " + std::to_string(++made_);
  if (!of_chain || dice.below(3) == 0) {
    const Queue* queue = live_.find(any_queue(dice));
    next.queue = queue && dice.below(20) != 0 ? queue->name : "nowhere";
  }
  if (dice.below(4) == 0) next.headers.emplace_back("own", next.payload);
  if (dice.below(6) == 0) next.headers.emplace_back("tags", "of its own");
  if (dice.below(4) == 0) next.delay_ms = any_ms(dice);
  next.priority = any_priority(dice);
  next.max_attempts = static_cast<uint32_t>(dice.below(3));
  if (setting_.flows & flow_limits) add_limits(dice, next.limits, 0);
  next.limits.expires_ms = 0;
  return next;
}

// Mostly one that still takes jobs.
uint64_t Runner::any_batch(Prng& dice) {
  std::vector<uint64_t> open;
  for (const auto& [id, batch] : live_.batches) {
    if (batch.finished_ms == 0) open.push_back(id);
  }
  if (!open.empty() && dice.below(8) != 0) return open[dice.below(open.size())];
  if (live_.batches.empty() || dice.below(20) == 0) return 1 + dice.below(max_id_ + 2);
  auto any = live_.batches.begin();
  std::advance(any, static_cast<ptrdiff_t>(dice.below(live_.batches.size())));
  return any->first;
}

// A batch that ended long ago may be forgotten.
std::string Runner::learn_batch(uint64_t id) {
  constexpr int64_t kept_ms = int64_t{7} * 24 * 3600 * 1000;
  const auto batch = live_.batches.find(id);
  if (batch == live_.batches.end() || batch->second.finished_ms == 0) return {};
  if (!now().may_be_gone(batch->second.finished_ms + kept_ms)) return {};
  const Result<BatchStatus> status = engine().batch_status(id);
  if (status.ok()) return {};
  const Code code = status.status().code();
  if (code != Code::not_found) return wrong_code("batch_status", code, Code::not_found);
  changed(last_lsn(), [id](Model& model) { model.batches.erase(id); });
  return {};
}

Code Runner::chain_code(const Spec& spec) const {
  QueueId id = 0;
  for (const Next& next : spec.flow.chain) {
    if (!next.queue.empty() && !live_.find_name(next.queue, &id)) return Code::not_found;
  }
  return Code::ok;
}

Code Runner::batch_code(uint64_t id) const {
  if (id == 0) return Code::ok;
  const auto batch = live_.batches.find(id);
  if (batch == live_.batches.end()) return Code::not_found;
  const bool open = batch->second.finished_ms == 0 && !batch->second.cancelled_whole;
  return open ? Code::ok : Code::conflict;
}

// ---- operations

std::string Runner::flow_config(Prng& dice) {
  const QueueId id = any_queue(dice);
  QueueConfig config;
  uint32_t fields = 0;
  const bool may_expire = !setting_.threads && setting_.gates == 0;
  if ((setting_.flows & flow_limits) && may_expire && dice.below(2) == 0) {
    fields |= config_job_ttl;
    if (dice.below(2) == 0) config.job_ttl_ms = any_ms(dice);
  }
  if ((setting_.flows & flow_history) && dice.below(3) != 0) {
    fields |= config_keep_done;
    if (dice.below(3) != 0) config.keep_done_count = 1 + static_cast<uint32_t>(dice.below(12));
    if (dice.below(3) == 0) config.keep_done_age_ms = any_ms(dice);
  }
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Queue* queue = live_.find(id);
  const Status status = engine().configure(id, config, fields, call);
  const Code expected = queue ? Code::ok : Code::not_found;
  if (status.code() != expected) return wrong_code("flow_config", status.code(), expected);
  if (!queue) return expect_written(before, 0);
  QueueConfig wanted = queue->config;
  if (fields & config_job_ttl) wanted.job_ttl_ms = config.job_ttl_ms;
  if (fields & config_keep_done) {
    wanted.keep_done_count = config.keep_done_count;
    wanted.keep_done_age_ms = config.keep_done_age_ms;
  }
  if (wanted == queue->config) return expect_written(before, 0);
  acknowledged(call, Durability::power);
  changed(call.lsn, [id, wanted, at = now()](Model& model) {
    model.doubt_history(model.queues.at(id), at);
    model.configure(id, wanted, at);
    model.doubt_history(model.queues.at(id), at);
  });
  return expect_written(before, 1);
}

std::string Runner::progress(Prng& dice) {
  const QueueId id = any_queue(dice);
  const Known token = any_token(id, dice);
  const std::string note = dice.below(4) == 0 ? "" : "at step " + std::to_string(++made_);
  const Code expected = live_.find(id) ? expected_code(id, token) : Code::not_found;
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Code got = engine().set_progress(id, Token{token.id, token.generation}, note, call).code();
  if (!same_code(id, token, got, expected)) return wrong_code("progress", got, expected);
  if (expected != Code::ok) return expect_written(before, 0);
  acknowledged(call, Durability::process);
  changed(call.lsn,
          [id, job = token.id, note](Model& model) { model.note_progress(id, job, note); });
  return expect_written(before, 1);
}

std::string Runner::batch_create(Prng& dice) {
  Batch batch;
  batch.allows_failures = dice.below(3) == 0;
  batch.has_complete = dice.below(3) != 0;
  batch.has_failure = dice.below(3) != 0;
  if (batch.has_complete) batch.on_complete = any_next(dice, false);
  if (batch.has_failure) batch.on_failure = any_next(dice, false);
  const EngineNext complete(batch.on_complete);
  const EngineNext failure(batch.on_failure);
  BatchSpec spec;
  spec.allow_failures = batch.allows_failures;
  if (batch.has_complete) spec.on_complete = &complete.next;
  if (batch.has_failure) spec.on_failure = &failure.next;
  QueueId there = 0;
  const bool known = (!batch.has_complete || live_.find_name(batch.on_complete.queue, &there)) &&
                     (!batch.has_failure || live_.find_name(batch.on_failure.queue, &there));
  const Code expected = known ? Code::ok : Code::not_found;
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Result<uint64_t> id = engine().batch_create(spec, call);
  const Code got = id.ok() ? Code::ok : id.status().code();
  if (got != expected) return wrong_code("batch_create", got, expected);
  if (!known) return expect_written(before, 0);
  if (id.value() <= max_id_) return "the id of a batch was used before";
  batch.created_ms = now().wall_ms;
  acknowledged(call, Durability::power);
  changed(call.lsn, [id = id.value(), batch](Model& model) { model.create_batch(id, batch); });
  return expect_written(before, 1);
}

std::string Runner::batch_seal(Prng& dice) {
  const uint64_t id = any_batch(dice);
  WQ_SAME_OR_SAY(learn_batch(id));
  const auto batch = live_.batches.find(id);
  const Code expected = batch == live_.batches.end() ? Code::not_found : Code::ok;
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Code got = engine().batch_seal(id, call).code();
  if (got != expected) return wrong_code("batch_seal", got, expected);
  if (expected != Code::ok || batch->second.sealed) return expect_written(before, 0);
  acknowledged(call, Durability::power);
  changed(call.lsn, [id, at = now()](Model& model) { model.seal_batch(id, at); });
  return expect_written(before, 1);
}

std::string Runner::batch_cancel(Prng& dice) {
  const uint64_t id = any_batch(dice);
  WQ_SAME_OR_SAY(learn_batch(id));
  const auto batch = live_.batches.find(id);
  Code expected = Code::ok;
  if (batch == live_.batches.end()) {
    expected = Code::not_found;
  } else if (batch->second.finished_ms != 0 && !batch->second.cancelled_whole) {
    expected = Code::conflict;
  }
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Code got = engine().batch_cancel(id, call).code();
  if (got != expected) return wrong_code("batch_cancel", got, expected);
  if (expected != Code::ok || batch->second.cancelled_whole) return expect_written(before, 0);
  acknowledged(call, Durability::power);
  return changed_and_swept(before, [id, at = now()](Model& model) { model.cancel_batch(id, at); });
}

std::string Runner::batch_read(Prng& dice) {
  const uint64_t id = any_batch(dice);
  WQ_SAME_OR_SAY(learn_batch(id));
  const auto batch = live_.batches.find(id);
  const Result<BatchStatus> status = engine().batch_status(id);
  if (batch == live_.batches.end()) {
    const Code code = status.status().code();
    return code == Code::not_found ? std::string()
                                   : wrong_code("batch_status", code, Code::not_found);
  }
  if (!status.ok()) return "batch_status: " + status.status().message();
  WQ_SAME_OR_SAY(compare_batch(status.value(), id, batch->second));
  return compare_batches(engine(), live_, now(), 1 + dice.below(8));
}

// ---- sweeps

// A change that may take members of batches away, or keep them from starting. What it leaves is
// settled before the call returns, in records of their own. `before`: the newest record before it.
std::string Runner::changed_and_swept(Lsn before, Change change) {
  // With threads a checkpoint may have done its part, and nothing is ever lost in the middle.
  const auto lsn_of = [&](Lsn lsn) { return setting_.threads ? last_lsn() : lsn; };
  const Now at = now();
  changed(lsn_of(before + 1), std::move(change));
  const std::vector<Model::Sweep> plan = live_.sweep_plan();
  Lsn lsn = before + 1;
  for (const Model::Sweep& step : plan) {
    changed(lsn_of(++lsn), [step, at](Model& model) { model.sweep(step, at); });
    note_rare(step.queue != 0 ? Rare::member_cancelled : Rare::member_lost, step.jobs.size());
    const bool ended = step.batch != 0 && live_.batches.at(step.batch).finished_ms != 0;
    if (ended) note_rare(Rare::batch_finished_by_clear);
  }
  return expect_written(before, 1 + plan.size());
}

// A crash came between a change and its sweep: the next checkpoint does what is left.
std::string Runner::finish_sweep() {
  const std::vector<Model::Sweep> plan = live_.sweep_plan();
  if (plan.empty()) return {};
  note_rare(Rare::swept_after_crash);
  const Lsn before = last_lsn();
  const Now at = now();
  if (const Status status = engine().checkpoint(); !status.ok()) return status.message();
  changed(Entry{.first = before + 1, .last = last_lsn(), .change = [plan, at](Model& model) {
                  for (const Model::Sweep& step : plan) model.sweep(step, at);
                }});
  acknowledged(last_lsn(), Durability::power);
  fold(engine().stats().durable_lsn);
  return {};
}

void Runner::note_flows() {
  for (const auto& [id, queue] : live_.queues) {
    if (queue.totals.chain_cut != 0) note_rare(Rare::chain_cut);
    if (queue.totals.jobs_expired != 0) note_rare(Rare::job_expired);
    for (const JobId dead : queue.dead) {
      const DeadReason reason = queue.jobs.at(dead).reason;
      if (reason == DeadReason::timeout) note_rare(Rare::died_of_timeout);
      if (reason == DeadReason::max_exceptions) note_rare(Rare::died_of_exceptions);
      if (reason == DeadReason::retry_until) note_rare(Rare::died_of_time);
      if (reason == DeadReason::unknown_type) note_rare(Rare::told_reason);
    }
    for (size_t i = 0; i < queue.done.size(); ++i) {
      note_rare(Model::is_kept(queue, i, now()) ? Rare::history_kept : Rare::history_trimmed);
    }
  }
  for (const auto& [id, batch] : live_.batches) {
    if (batch.finished_ms == 0 || batch.follow_up == 0) continue;
    note_rare(has_failed(batch) ? Rare::batch_failed : Rare::batch_completed);
  }
}

}  // namespace wq::model
