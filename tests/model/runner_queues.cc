// The runner's operations on queues and on the store as a whole.
#include <algorithm>
#include <utility>

#include "model/runner_internal.h"

namespace wq::model {

std::string Runner::step_queue(const Op& op, Prng& dice) {
  switch (op.kind) {
    case OpKind::declare:
      return declare(dice);
    case OpKind::remove_queue:
      return remove_queue(dice);
    case OpKind::configure:
      return configure(dice);
    case OpKind::status:
      return change_status(dice);
    case OpKind::clear:
      return clear(dice);
    case OpKind::sync: {
      const Lsn last = last_lsn();
      const Status status = engine().sync();
      if (!status.ok()) return status.message();
      acknowledged(last, Durability::power);
      if (may_have_kept_house()) return {};
      WQ_SAME("durable LSN after sync", engine().stats().durable_lsn, last_lsn());
      return {};
    }
    case OpKind::wait_durable:
      return wait_durable(dice);
    case OpKind::poll:
      return poll(dice);
    case OpKind::checkpoint:
      return checkpoint(dice);
    case OpKind::shutdown:
      return shutdown();
    case OpKind::bad_input:
      return bad_input(dice);
    default:
      return check(dice.below(3) == 0);
  }
}

// ---- queues

QueueConfig Runner::random_config(Prng& dice) {
  QueueConfig config;
  config.max_running = static_cast<uint32_t>(dice.below(2) * dice.below(30));
  config.max_retries = static_cast<uint32_t>(dice.below(4));
  config.lease_ms = any_ms(dice);
  config.durability = static_cast<Durability>(setting_.weak_levels ? 1 + dice.below(3) : 3);
  config.backoff.kind = static_cast<BackoffKind>(dice.below(4));
  config.backoff.base_ms = config.backoff.kind == BackoffKind::none ? 0 : any_ms(dice);
  if (config.backoff.kind == BackoffKind::list) {
    config.backoff.base_ms = 0;
    for (size_t i = 0; i <= dice.below(3); ++i) {
      config.backoff.list_ms.push_back(dice.below(3) == 0 ? 0 : any_ms(dice));
    }
  }
  if (config.backoff.kind == BackoffKind::exponential) {
    config.backoff.max_ms = config.backoff.base_ms * static_cast<int64_t>(1 + dice.below(6));
  }
  return config;
}

std::string Runner::declare(Prng& dice) {
  std::string name = "q" + std::to_string(dice.below(setting_.queues));
  if (name == "q4") name = "\xc3\xa4 \"'\\/%\xe2\x82\xac";  // legal, and hard on naive keys
  const QueueConfig config = random_config(dice);
  const uint32_t fields = dice.below(2) == 0 ? 0u : 31u;
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  QueueId existing = 0;
  const bool there = live_.find_name(name, &existing) != nullptr;
  const Result<QueueId> opened = engine().open_queue(name, config, fields, true, call);
  if (!opened.ok()) return opened.status().message();
  if (there) {
    WQ_SAME("id of an open queue", opened.value(), existing);
    return expect_written(before, 0);
  }
  if (opened.value() <= max_queue_) return "a queue id was used again";
  max_queue_ = opened.value();
  all_queues_.push_back(max_queue_);
  acknowledged(call, Durability::power);
  changed(call.lsn, [=, id = max_queue_](Model& model) {
    model.declare(id, name, fields == 0 ? QueueConfig{} : config);
  });
  return expect_written(before, 1);
}

std::string Runner::remove_queue(Prng& dice) {
  const QueueId id = any_queue(dice);
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const bool there = live_.find(id) != nullptr;
  const bool cold = engine().stats().resident_jobs == 0 && there && !live_.find(id)->jobs.empty();
  const Status status = engine().remove_queue(id, call);
  if (!there) {
    if (status.code() != Code::not_found) return wrong_code("gone", status.code(), Code::not_found);
    return expect_written(before, 0);
  }
  if (!status.ok()) return status.message();
  if (cold) note_rare(Rare::removed_cold_queue);
  acknowledged(call, Durability::power);
  return changed_and_swept(before, [id](Model& model) { model.remove(id); });
}

std::string Runner::configure(Prng& dice) {
  const QueueId id = any_queue(dice);
  QueueConfig config = random_config(dice);
  uint32_t fields = static_cast<uint32_t>(dice.below(32));
  Queue* queue = live_.find(id);
  if (dice.below(4) == 0) {
    fields |= config_version;
    config.version = queue ? queue->config.version + dice.below(2) : 1;
  }
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Status status = engine().configure(id, config, fields, call);
  Code expected = Code::ok;
  if (!queue) {
    expected = Code::not_found;
  } else if ((fields & config_version) && config.version != queue->config.version) {
    expected = Code::conflict;
  }
  if (status.code() != expected) return wrong_code("configure", status.code(), expected);
  if (expected != Code::ok) return expect_written(before, 0);
  QueueConfig wanted = queue->config;
  if (fields & config_max_running) wanted.max_running = config.max_running;
  if (fields & config_max_retries) wanted.max_retries = config.max_retries;
  if (fields & config_lease_ms) wanted.lease_ms = config.lease_ms;
  if (fields & config_durability) wanted.durability = config.durability;
  if (fields & config_backoff) wanted.backoff = config.backoff;
  if (wanted == queue->config) return expect_written(before, 0);
  acknowledged(call, Durability::power);
  changed(call.lsn, [id, wanted, at = now()](Model& model) { model.configure(id, wanted, at); });
  return expect_written(before, 1);
}

std::string Runner::change_status(Prng& dice) {
  using To = Engine::StatusChange;
  const QueueId id = any_queue(dice);
  // Mostly back to where work goes on.
  constexpr To choices[] = {To::pause, To::resume, To::resume, To::disable, To::enable, To::enable};
  const To change = choices[dice.below(std::size(choices))];
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  Queue* queue = live_.find(id);
  const Status status = engine().change_status(id, change, call);
  if (!queue) {
    if (status.code() != Code::not_found) return wrong_code("gone", status.code(), Code::not_found);
    return expect_written(before, 0);
  }
  if (!status.ok()) return wrong_code("status", status.code(), Code::ok);
  // Two sides: who leases, who enqueues.
  QueueConfig wanted = queue->config;
  const bool was_disabled = wanted.status == QueueStatus::disabled;
  const bool was_paused = wanted.status == QueueStatus::paused || wanted.pause_kept;
  const bool disabled = change == To::disable || (was_disabled && change != To::enable);
  const bool paused = change == To::pause || (was_paused && change != To::resume);
  wanted.status = disabled ? QueueStatus::disabled
                  : paused ? QueueStatus::paused
                           : QueueStatus::active;
  wanted.pause_kept = disabled && paused;
  if (wanted == queue->config) return expect_written(before, 0);
  acknowledged(call, Durability::power);
  changed(call.lsn, [id, wanted, at = now()](Model& model) { model.configure(id, wanted, at); });
  return expect_written(before, 1);
}

std::string Runner::clear(Prng& dice) {
  const QueueId id = any_queue(dice);
  const auto asked = static_cast<uint32_t>(dice.below(32) << 1) & clearable_states;
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  Queue* queue = live_.find(id);
  const bool cold = engine().stats().resident_jobs < live_.count(JobState::ready) / 2;
  const Result<uint64_t> cleared = engine().clear(id, asked, call);
  if (!queue) {
    if (cleared.status().code() != Code::not_found) {
      return wrong_code("gone", cleared.status().code(), Code::not_found);
    }
    return expect_written(before, 0);
  }
  if (!cleared.ok()) return cleared.status().message();
  const uint32_t states =
      asked != 0 ? asked : state_bit(JobState::ready) | state_bit(JobState::delayed);
  uint64_t present = 0;
  for (const auto& [job_id, job] : queue->jobs) present += (states & state_bit(job.state)) != 0;
  WQ_SAME("jobs cleared", cleared.value(), present);
  if (present == 0) return expect_written(before, 0);
  if (cold) note_rare(Rare::cleared_cold);
  acknowledged(call, Durability::power);
  return changed_and_swept(before, [id, states](Model& model) { model.clear(id, states); });
}

// ---- the store

// Other changes get in between its steps. Without threads they are made from there, so that a seed
// repeats them.
std::string Runner::checkpoint(Prng& dice) {
  const Lsn last = last_lsn();
  between_steps_ = Prng(dice.next());
  between_failure_.clear();
  in_checkpoint_ = true;
  const Status status = engine().checkpoint();
  in_checkpoint_ = false;
  between_steps_.reset();
  if (!between_failure_.empty()) return "between the steps of a checkpoint: " + between_failure_;
  if (!status.ok()) return status.message();
  acknowledged(last, Durability::power);
  const EngineStats after = engine().stats();
  if (after.applied_lsn < last || after.applied_lsn > after.last_lsn) {
    return differ("applied LSN", after.applied_lsn, last);
  }
  return {};
}

// A checkpoint while a page is on its way from the store to memory: it may tell of jobs that the
// checkpoint made the table forget, and must be read again.
void Runner::outdate_page() {
  if (in_checkpoint_) return;
  if (setting_.gates != 0 && setting_.flows != 0) return;  // see account_gates()
  // Further apart each time within an operation: one that needs many pages at once ends at last.
  if (--pages_left_ > 0) return;
  pages_left_ = ++page_gap_;
  in_checkpoint_ = true;
  engine().checkpoint().ignore("a failure poisons the store, and that is seen");
  in_checkpoint_ = false;
}

// Nothing that could begin another checkpoint: enqueue does when memory is short.
void Runner::change_between_steps() {
  if (!between_steps_ || !between_failure_.empty()) return;
  Prng dice = *std::exchange(between_steps_, std::nullopt);  // nor one within itself
  constexpr OpKind kinds[] = {
      OpKind::lease,       OpKind::settle,       OpKind::settle,      OpKind::confirm,
      OpKind::extend,      OpKind::cancel,       OpKind::dead_replay, OpKind::dead_remove,
      OpKind::get,         OpKind::reprioritise, OpKind::gate_config, OpKind::key_cancel,
      OpKind::key_release, OpKind::kv_erase,     OpKind::batch_seal,  OpKind::batch_cancel,
      OpKind::cron_remove, OpKind::clear,        OpKind::remove_queue};
  // Few of the last two: what they end no other change can meet.
  const size_t choices = std::size(kinds) - (dice.below(20) == 0 ? 0 : 2);
  if (dice.below(3) == 0) {
    Op op;
    op.kind = kinds[dice.below(choices)];
    for (uint32_t& arg : op.arg) arg = static_cast<uint32_t>(dice.below(1u << 20));
    between_failure_ = step(op);
    if (!between_failure_.empty()) between_failure_ = to_text(op) + ": " + between_failure_;
  }
  between_steps_ = dice;
}

std::string Runner::wait_durable(Prng& dice) {
  const EngineStats stats = engine().stats();
  const Lsn lsn = dice.below(stats.last_lsn + 3);
  const Durability level = dice.below(2) == 0 ? Durability::process : Durability::power;
  const int64_t timeout_ms = dice.below(2) == 0 ? 0 : -1;
  const Lsn reached = level == Durability::process ? stats.process_lsn : stats.durable_lsn;
  Code expected = lsn <= reached || timeout_ms < 0 ? Code::ok : Code::timeout;
  if (lsn > stats.last_lsn) expected = Code::invalid;
  const Status status = engine().wait_durable(lsn, level, timeout_ms);
  const bool early = setting_.threads && status.ok() && expected == Code::timeout;
  if (status.code() != expected && !early) {
    return wrong_code("wait_durable", status.code(), expected);
  }
  if (status.ok()) acknowledged(lsn, level);
  return {};
}

std::string Runner::take_completions(std::span<const Completion> completions) {
  const EngineStats stats = engine().stats();
  for (const Completion& completion : completions) {
    const auto found = awaited_.find(completion.user_data);
    if (found == awaited_.end()) return "a completion that nobody waits for";
    const Awaited awaited = found->second;
    awaited_.erase(found);
    if (completion.code != Code::ok) return wrong_code("completion", completion.code, Code::ok);
    WQ_SAME("completion: lsn", completion.lsn, awaited.lsn);
    const Lsn reached = awaited.level == Durability::power ? stats.durable_lsn : stats.process_lsn;
    if (awaited.level != Durability::memory && reached < awaited.lsn) {
      return "a completion came before its level was reached";
    }
    acknowledged(awaited.lsn, awaited.level);
    note_rare(Rare::completed_later);
  }
  return {};
}

std::string Runner::poll(Prng& dice) {
  if (!completions_) return {};
  const int64_t timeout_ms = dice.below(2) == 0 || awaited_.empty() ? 0 : -1;
  std::array<Completion, 16> room;
  const Result<size_t> taken = completions_->poll(room, timeout_ms);
  if (!taken.ok()) return "poll: " + taken.status().message();
  if (timeout_ms < 0 && taken.value() == 0) return "poll came back with nothing";
  return take_completions(std::span(room).first(taken.value()));
}

// After the close: each change that was under way has to have arrived.
std::string Runner::poll_all() {
  std::array<Completion, 16> room;
  for (;;) {
    const Result<size_t> taken = completions_->poll(room, 0);
    if (!taken.ok()) {
      if (taken.status().code() != Code::closed) return "poll: " + taken.status().message();
      break;
    }
    WQ_SAME_OR_SAY(take_completions(std::span(room).first(taken.value())));
  }
  WQ_SAME("completions missing after close", awaited_.size(), size_t{0});
  return {};
}

std::string Runner::shutdown() {
  if (draining_for_ != 0) return {};
  const uint64_t busy = live_.count(JobState::leased) + live_.count(JobState::running);
  const Status status = engine().shutdown(0);
  const Code expected = busy == 0 ? Code::ok : Code::timeout;
  if (status.code() != expected) return wrong_code("shutdown", status.code(), expected);
  draining_for_ = 1;
  return {};
}

std::string Runner::check(bool verify) {
  CompareOptions options;
  options.ages = !wall_was_set_back_;
  note_flows();
  WQ_SAME_OR_SAY(compare_state(engine(), live_, now(), options));
  if (!verify) return {};
  const Result<VerifyReport> report = engine().verify();
  if (!report.ok()) return "verify: " + report.status().message();
  if (report.value().problems != 0) return "verify: " + report.value().first_problem;
  uint64_t jobs = 0;
  for (const auto& [id, queue] : live_.queues) jobs += queue.jobs.size();
  WQ_SAME("verify: jobs", report.value().jobs, jobs);
  return {};
}

// Refused before anything changes.
std::string Runner::bad_input(Prng& dice) {
  const QueueId id = any_queue(dice);
  const Lsn before = last_lsn();
  CallOptions call;
  JobId job = 0;
  JobSpec spec;
  const std::string large(8193, 'x');
  Header unnamed;
  Code expected = Code::invalid;
  Status status;
  SettleItem item;
  Code code = Code::ok;
  switch (dice.below(10)) {
    case 0:
      spec.delay_ms = 1;
      spec.run_at_ms = 1;
      status = engine().enqueue(id, spec, call, job);
      break;
    case 1:
      spec.delay_ms = -1;
      status = engine().enqueue(id, spec, call, job);
      break;
    case 2:
      spec.payload = as_bytes(large);
      expected = Code::too_large;
      status = engine().enqueue(id, spec, call, job);
      break;
    case 3:
      spec.headers = std::span(&unnamed, 1);
      status = engine().enqueue(id, spec, call, job);
      break;
    case 4:
      status = engine().open_queue("tab\there", {}, 0, true, call).take_status();
      break;
    case 5:
      status = engine().clear(id, 1u << 9, call).take_status();
      break;
    case 6:
      item.kind = SettleKind::release;
      item.delay_ms = -2;
      status = engine().settle(id, std::span(&item, 1), call, std::span(&code, 1));
      break;
    case 7:
      status = engine().enqueue_many(id, {}, false, call, {}).take_status();
      break;
    case 8:
      status = engine().confirm(id, Token{1, 1}, -5, call);
      break;
    default:
      status = engine().dead_list(id, DeadQuery{0, 0}).take_status();
      break;
  }
  if (status.code() != expected) return wrong_code("bad input", status.code(), expected);
  return expect_written(before, 0);
}

}  // namespace wq::model
