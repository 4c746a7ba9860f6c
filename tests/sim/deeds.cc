#include "sim/deeds.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "model/engine_spec.h"

namespace wq::sim {

Status differs(const std::string& what) {
  return Status(Code::internal, "engine and model differ: " + what);
}

namespace {

using model::Model;

constexpr const char* names[] = {
#define X(name) #name,
    WQ_SIM_DEEDS(X)
#undef X
};

constexpr int64_t lease_ms = 1'000;
constexpr int64_t delay_ms = 400;
constexpr size_t large_payload_bytes = 7'000;  // two of them are more than a segment

}  // namespace

const char* deed_name(Deed deed) {
  return names[static_cast<size_t>(deed)];
}

model::Stream Deeds::setting() {
  model::Stream stream;
  stream.setting.segment_kib = 16;
  stream.setting.spare_segments = 1;
  stream.setting.budget_kib = 64;
  stream.setting.lane_window = 4;
  stream.setting.flows = model::flow_all;
  return stream;
}

const std::vector<Deed>& Deeds::prelude() {
  static const std::vector<Deed> deeds = {
      Deed::enqueue, Deed::enqueue, Deed::enqueue, Deed::lease,           Deed::fail,
      Deed::lease,   Deed::confirm, Deed::lease,   Deed::enqueue_delayed, Deed::enqueue};
  return deeds;
}

std::vector<Deed> Deeds::long_script() {
  using enum Deed;
  const std::vector<Deed> round = {enqueue,      enqueue,      enqueue_first, enqueue_delayed,
                                   enqueue_many, lease,        ack,           lease,
                                   nack,         lease_many,   confirm,       extend,
                                   ack,          lease,        nack_delay,    lease,
                                   release,      lease,        fail,          remove_dead,
                                   lease,        fail,         replay,        checkpoint,
                                   lease_many,   expire,       enqueue,       cancel,
                                   pause,        lease,        resume,        configure,
                                   rotate,       lease,        checkpoint,    ack,
                                   promote,      lease_many,   expire,        lease_many,
                                   expire,       sync,         purge,         lease,
                                   checkpoint,   nack,         clear,         enqueue_many,
                                   checkpoint,   delete_queue, enqueue,       checkpoint};
  // Each kind waits, is leased in part over a checkpoint, and goes on.
  const std::vector<Deed> gates = {enqueue_grouped,
                                   enqueue_rated,
                                   enqueue_tenants,
                                   lease_many,
                                   checkpoint,
                                   enqueue_guarded,
                                   ack,
                                   lease_many,
                                   nack,
                                   lease,
                                   enqueue_rated,
                                   expire,
                                   lease_many,
                                   nack,
                                   checkpoint,
                                   lease,
                                   enqueue_guarded,
                                   enqueue_grouped,
                                   lease_many,
                                   release,
                                   promote,
                                   lease_many,
                                   clear};
  std::vector<Deed> script;
  const std::vector<Deed> flows = {enqueue_unique,
                                   enqueue_unique,
                                   enqueue_debounced,
                                   schedule,
                                   enqueue_chain,
                                   enqueue_member,
                                   write_row,
                                   enqueue_debounced,
                                   lease_many,
                                   seal,
                                   ack,
                                   ack,
                                   checkpoint,
                                   ack,
                                   transact,
                                   slot,
                                   lease_many,
                                   ack,
                                   enqueue_member,
                                   write_row,
                                   seal,
                                   slot,
                                   clear};
  for (int i = 0; i < 4; ++i) {
    script.insert(script.end(), gates.begin(), gates.end());
    script.insert(script.end(), round.begin(), round.end());
    if (i == 1) script.insert(script.end(), flows.begin(), flows.end());
  }
  return script;
}

Status Deeds::begin_and_open() {
  begin();
  WQ_TRY(harness_.open());
  if (const std::string failure = recovered(0, 0, true); !failure.empty()) return differs(failure);
  mark();
  return {};
}

Status Deeds::act(Deed deed) {
  CallOptions call;
  const Lsn before = last_lsn();
  Status status = dispatch(deed, call);
  if (status.is_error()) return status;
  const EngineStats stats = engine().stats();
  for (size_t i = 1; i < job_state_count; ++i) {
    if (stats.counts[i] != live_.count(static_cast<JobState>(i))) {
      return differs(std::string(deed_name(deed)) + ": jobs in state " + std::to_string(i));
    }
  }
  if (!status.ok() && call.lsn == 0 && deed != Deed::lease && deed != Deed::lease_many &&
      stats.last_lsn != before) {
    return differs("a refusal wrote a record");
  }
  fold(stats.durable_lsn);
  mark();
  return status;
}

std::string Deeds::compare_now() {
  return compare_state(engine(), live_, now(), model::CompareOptions{});
}

Lsn Deeds::promised() {
  return std::max(acked_power_, engine().stats().durable_lsn);
}

Lsn Deeds::last_change() {
  return history_->empty() ? 0 : history_->back().last;
}

Deeds::Known Deeds::held() const {
  Known first{queue_, 1, 1};
  const auto queue = live_.queues.find(queue_);
  if (queue == live_.queues.end()) return first;
  for (const auto& [id, job] : queue->second.jobs) {
    if (job.state == JobState::leased) return Known{queue_, id, job.generation};
    if (job.state == JobState::running) first = Known{queue_, id, job.generation};
  }
  return first;
}

Status Deeds::dispatch(Deed deed, CallOptions& call) {
  switch (deed) {
    case Deed::enqueue:
      return enqueue(0, 20, default_priority, call);
    case Deed::enqueue_first:
      return enqueue(0, 20, 7, call);
    case Deed::enqueue_delayed:
      return enqueue(delay_ms, 20, default_priority, call);
    case Deed::rotate:
      WQ_TRY(enqueue(0, large_payload_bytes, default_priority, call));
      return enqueue(0, large_payload_bytes, default_priority, call);
    case Deed::enqueue_many:
      return enqueue_some(call);
    case Deed::enqueue_grouped:
    case Deed::enqueue_rated:
    case Deed::enqueue_tenants:
    case Deed::enqueue_guarded:
      return enqueue_gated(deed, call);
    case Deed::lease:
      return lease(1, call);
    case Deed::lease_many:
      return lease(4, call);
    case Deed::expire:
      return pass(lease_ms + 1);
    case Deed::promote:
      return pass(delay_ms + 1);
    case Deed::replay:
    case Deed::remove_dead:
      return on_dead(deed == Deed::replay, call);
    case Deed::checkpoint: {
      const Lsn last = last_lsn();
      WQ_TRY(engine().checkpoint());
      acknowledged(last, Durability::power);
      return {};
    }
    case Deed::sync: {
      const Lsn last = last_lsn();
      WQ_TRY(engine().sync());
      acknowledged(last, Durability::power);
      return {};
    }
    case Deed::clear:
    case Deed::purge:
    case Deed::delete_queue:
    case Deed::pause:
    case Deed::resume:
    case Deed::configure:
    case Deed::cancel:
      return on_queue(deed, call);
    case Deed::ack:
    case Deed::nack:
    case Deed::nack_delay:
    case Deed::fail:
    case Deed::release:
    case Deed::confirm:
    case Deed::extend:
      return on_token(deed, call);
    default:
      return dispatch_flow(deed, call);
  }
}

// A queue that was deleted is made again under its name.
Status Deeds::ensure_queue(CallOptions& call) {
  if (live_.find(queue_)) return {};
  QueueConfig config;
  config.lease_ms = lease_ms;
  config.max_retries = 2;
  config.key_rate = {2, 1, lease_ms};
  config.throttle = {1, delay_ms, delay_ms};
  constexpr uint32_t fields =
      config_lease_ms | config_max_retries | config_key_rate | config_throttle;
  WQ_TRY_SET(queue_, engine().open_queue("deeds", config, fields, true, call));
  acknowledged(call, Durability::power);
  changed(call.lsn, [id = queue_, config](Model& model) { model.declare(id, "deeds", config); });
  call.lsn = 0;
  return {};
}

Status Deeds::enqueue(int64_t delay, size_t bytes, uint8_t priority, CallOptions& call) {
  WQ_TRY(ensure_queue(call));
  model::Spec spec;
  spec.payload = "job " + std::to_string(++numbered_);
  spec.payload.resize(bytes, '.');
  spec.delay_ms = delay;
  spec.priority = priority;
  return enqueue_spec(spec, call);
}

Status Deeds::enqueue_some(CallOptions& call) {
  constexpr size_t count = 12;
  std::vector<model::Spec> specs(count);
  for (size_t i = 0; i < count; ++i) {
    specs[i].payload = "one of many " + std::to_string(++numbered_);
    specs[i].priority = i % 3 == 0 ? 7 : default_priority;
  }
  return enqueue_all(specs, call);
}

// Three jobs of a group; of a rate key, with costs; of tenants, of which one has two; of a group
// that they do not wait for.
Status Deeds::enqueue_gated(Deed deed, CallOptions& call) {
  std::vector<model::Spec> specs(3);
  for (size_t i = 0; i < specs.size(); ++i) {
    specs[i].payload = "gated " + std::to_string(++numbered_);
    model::GateSpec& gate = specs[i].gate;
    if (deed == Deed::enqueue_rated) {
      gate.rate_key = "key";
      gate.rate_cost = static_cast<uint32_t>(1 + i % 2);
    } else if (deed == Deed::enqueue_tenants) {
      gate.tenant = i == 2 ? "other" : "tenant";
    } else {
      gate.group = "group";
    }
    if (deed != Deed::enqueue_guarded || i == 0) continue;
    gate.overlap = i == 1 ? OverlapRule::skip : OverlapRule::release;
    gate.overlap_ms = i == 1 ? 0 : delay_ms;
  }
  return enqueue_all(specs, call);
}

Status Deeds::enqueue_all(const std::vector<model::Spec>& specs, CallOptions& call) {
  WQ_TRY(ensure_queue(call));
  std::deque<model::EngineSpec> kept;
  std::vector<JobSpec> given;
  for (const model::Spec& spec : specs) given.push_back(kept.emplace_back(spec).spec);
  std::vector<EnqueueOutcome> outcomes(specs.size());
  WQ_TRY(engine().enqueue_many(queue_, given, false, call, outcomes).take_status());
  std::vector<JobId> ids;
  for (size_t i = 0; i < specs.size(); ++i) {
    ids.push_back(outcomes[i].id);
    if (const std::string wrong = new_job(queue_, ids[i], specs[i]); !wrong.empty()) {
      return differs(wrong);
    }
  }
  acknowledged(call, Durability::power);
  changed(call.lsn, [queue = queue_, ids, specs, at = now()](Model& model) {
    for (size_t i = 0; i < ids.size(); ++i) model.enqueue(queue, ids[i], specs[i], at);
  });
  return {};
}

Status Deeds::lease(uint32_t most, CallOptions& call) {
  LeaseRequest request;
  request.queues = std::span(&queue_, 1);
  request.max_jobs = most;
  std::vector<JobView> jobs;
  const Lsn before = last_lsn();
  Status status = engine().lease(request, call, jobs);
  const EngineStats stats = engine().stats();
  // One that fails may have released or skipped jobs before.
  if (status.is_error() && (stats.poisoned || stats.last_lsn == before)) return status;
  const std::string wrong = status.is_error()
                                ? follow_failed_lease(request.queues, before)
                                : follow_lease(request.queues, request, call, before, jobs);
  if (!trouble_.ok()) return std::exchange(trouble_, Status());
  if (!wrong.empty()) return differs(wrong);
  return status;
}

Status Deeds::on_token(Deed deed, CallOptions& call) {
  using model::Settle;
  switch (deed) {
    case Deed::ack:
      return settle(Settle::ack, -1, call);
    case Deed::nack:
      return settle(Settle::nack, 0, call);
    case Deed::nack_delay:
      return settle(Settle::nack, delay_ms, call);
    case Deed::fail:
      return settle(Settle::fail, -1, call);
    case Deed::release:
      return settle(Settle::release, 0, call);
    default:
      break;
  }
  const Known token = held();
  if (deed == Deed::confirm) {
    WQ_TRY(engine().confirm(queue_, Token{token.id, token.generation}, 0, call));
    acknowledged(call, Durability::power);
    changed(call.lsn,
            [token, at = now()](Model& model) { model.confirm(token.queue, token.id, 0, at); });
    return {};
  }
  const Token asked{token.id, token.generation};
  Code code = Code::internal;
  WQ_TRY(engine().extend(queue_, std::span(&asked, 1), 0, call, std::span(&code, 1)));
  if (code != Code::ok) return code;
  acknowledged(call, Durability::process);
  changed(call.lsn,
          [token, at = now()](Model& model) { model.extend(token.queue, token.id, lease_ms, at); });
  return {};
}

Status Deeds::settle(model::Settle kind, int64_t delay, CallOptions& call) {
  const Known token = held();
  model::Settlement what;
  what.id = token.id;
  what.generation = token.generation;
  what.kind = kind;
  what.delay_ms = delay;
  SettleItem item;
  item.id = token.id;
  item.generation = token.generation;
  item.kind = static_cast<SettleKind>(1 + static_cast<int>(kind));
  item.delay_ms = kind == model::Settle::ack || kind == model::Settle::fail ? 0 : delay;
  if (kind == model::Settle::fail) item.error = what.error = "no use";
  Code code = Code::internal;
  WQ_TRY(engine().settle(queue_, std::span(&item, 1), call, std::span(&code, 1)));
  if (code != Code::ok) return code;
  acknowledged(call, live_.find(queue_)->config.durability);
  changed(call.lsn,
          [token, what, at = now()](Model& model) { model.settle(token.queue, what, at); });
  return {};
}

Status Deeds::on_dead(bool replay, CallOptions& call) {
  Token entry{1, 1};
  const model::Queue* queue = live_.find(queue_);
  if (queue && !queue->dead.empty()) {
    entry.id = queue->dead.front();
    entry.generation = queue->jobs.at(entry.id).generation;
  }
  WQ_TRY(replay ? engine().dead_replay(queue_, entry, call)
                : engine().dead_remove(queue_, entry, call));
  acknowledged(call, Durability::power);
  Generation fresh = 0;
  if (replay) {
    WQ_TRY_SET(const JobView view, engine().get(queue_, entry.id));
    fresh = view.generation;
  }
  changed(call.lsn, [queue_id = queue_, id = entry.id, replay, fresh, at = now()](Model& model) {
    replay ? model.replay(queue_id, id, fresh, at) : model.remove_dead(queue_id, id, at);
  });
  return {};
}

Status Deeds::on_queue(Deed deed, CallOptions& call) {
  const QueueId id = queue_;
  std::function<void(Model&)> change;
  const model::Queue* queue = live_.find(id);
  const Lsn before = last_lsn();
  const bool sweeps = deed == Deed::clear || deed == Deed::purge || deed == Deed::delete_queue;
  if (deed == Deed::clear || deed == Deed::purge) {
    const uint32_t states = deed == Deed::purge ? state_bit(JobState::dead) : clearable_states;
    WQ_TRY(engine().clear(id, states, call).take_status());
    change = [id, states](Model& model) { model.clear(id, states); };
  } else if (deed == Deed::delete_queue) {
    WQ_TRY(engine().remove_queue(id, call));
    change = [id](Model& model) { model.remove(id); };
  } else if (deed == Deed::cancel) {
    const JobId job = queue && !queue->jobs.empty() ? queue->jobs.rbegin()->first : 1;
    WQ_TRY(engine().cancel(id, job, call));
    change = [id, job, at = now()](Model& model) { model.cancel(id, job, at); };
  } else if (deed == Deed::configure) {
    QueueConfig config = queue ? queue->config : QueueConfig{};
    config.max_retries = 2 + static_cast<uint32_t>(numbered_ % 5);
    WQ_TRY(engine().configure(id, config, config_max_retries, call));
    change = [id, config, at = now()](Model& model) { model.configure(id, config, at); };
  } else {
    const bool pause = deed == Deed::pause;
    WQ_TRY(engine().change_status(
        id, pause ? Engine::StatusChange::pause : Engine::StatusChange::resume, call));
    change = [id, pause, at = now()](Model& model) {
      QueueConfig config = model.queues.at(id).config;
      config.status = pause ? QueueStatus::paused : QueueStatus::active;
      model.configure(id, config, at);
    };
  }
  if (call.lsn == 0) return {};  // it was so already
  acknowledged(call, Durability::power);
  if (sweeps) {
    const std::string wrong = changed_and_swept(before, std::move(change));
    return wrong.empty() ? Status() : differs(wrong);
  }
  changed(call.lsn, std::move(change));
  return {};
}

// Time passes, and what has become due is done.
Status Deeds::pass(int64_t ms) {
  harness_.clock().advance(ms);
  for (int64_t wait_ms = 0; wait_ms == 0;) {
    const Lsn before = last_lsn();
    Result<int64_t> next = engine().tick();
    if (!next.ok()) return next.take_status();
    wait_ms = next.value();
    if (const std::string wrong = account_due(before, 0); !wrong.empty()) return differs(wrong);
  }
  return {};
}

}  // namespace wq::sim
