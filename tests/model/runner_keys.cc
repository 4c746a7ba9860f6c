// The runner's operations on keys of jobs, and what an enqueue must be answered that names some.
#include "model/runner_internal.h"

namespace wq::model {

std::string Runner::step_flows(const Op& op, Prng& dice) {
  switch (op.kind) {
    case OpKind::key_holder:
      return key_holder(dice);
    case OpKind::key_cancel:
      return key_cancel(dice);
    case OpKind::key_release:
      return key_release(dice);
    case OpKind::progress:
      return progress(dice);
    case OpKind::flow_config:
      return flow_config(dice);
    case OpKind::batch_create:
      return batch_create(dice);
    case OpKind::batch_seal:
      return batch_seal(dice);
    case OpKind::batch_cancel:
      return batch_cancel(dice);
    case OpKind::batch_read:
      return batch_read(dice);
    case OpKind::kv_put:
      return kv_write(any_kv(dice, KvVerb::put), dice);
    case OpKind::kv_add:
      return kv_write(any_kv(dice, KvVerb::add), dice);
    case OpKind::kv_erase:
      return kv_write(any_kv(dice, KvVerb::erase), dice);
    case OpKind::kv_read:
      return kv_read(dice);
    case OpKind::lock:
      return lock(dice);
    case OpKind::transact:
      return transact(dice);
    case OpKind::history:
      return history(dice);
    case OpKind::cron_put:
      return cron_put(dice);
    case OpKind::cron_remove:
      return cron_remove(dice);
    case OpKind::limit_config:
      return limit_config(dice);
    default:
      return cron_pause(dice);
  }
}

void Runner::add_keys(Prng& dice, Spec& spec) {
  Keys& keys = spec.keys;
  if (dice.below(6) == 0) {
    keys.idempotency_key = key_name(dice.below(key_names_count));
    keys.idempotency_ms = any_ms(dice);
  }
  if (dice.below(2) == 0) return;
  keys.rule = static_cast<KeyRule>(1 + dice.below(4));
  keys.key = key_name(dice.below(key_names_count));
  if (dice.below(2) == 0) keys.key_ms = any_ms(dice);
  if (keys.rule != KeyRule::debounce) return;
  spec.delay_ms = spec.run_at_ms = 0;
  keys.debounce_ms = any_ms(dice);
  if (keys.key_ms != 0) keys.key_ms = keys.debounce_ms + (dice.below(2) == 0 ? 0 : any_ms(dice));
}

KeyName Runner::any_key(Prng& dice) {
  const QueueId queue = any_queue(dice);
  return KeyName{queue, static_cast<KeyKind>(1 + dice.below(3)),
                 key_name(dice.below(key_names_count))};
}

// A key whose time was up once may be forgotten although the clock was set back since. Asked just
// before a call it is certain: the clock stands.
std::string Runner::learn_key(const KeyName& key) {
  const JobId held = live_.holder(key, now());
  if (held == 0 || !now().may_be_gone(live_.key_end_ms(key))) return {};
  const auto& [queue, kind, name] = key;
  const Result<JobId> told = engine().key_holder(queue, kind, name);
  if (told.ok()) {
    WQ_SAME("holder of an old key", told.value(), held);
    return {};
  }
  const Code code = told.status().code();
  if (code != Code::not_found) return wrong_code("key_holder", code, Code::not_found);
  // Some record up to the newest one did it, and what is opened again has it too.
  changed(last_lsn(), [key](Model& model) { model.keys.erase(key); });
  return {};
}

std::string Runner::learn_keys(QueueId queue, const Keys& keys) {
  if (!keys.idempotency_key.empty()) {
    WQ_SAME_OR_SAY(learn_key(KeyName{queue, KeyKind::idempotency, keys.idempotency_key}));
  }
  if (keys.rule == KeyRule::none) return {};
  const KeyKind kind = keys.rule == KeyRule::debounce ? KeyKind::debounce : KeyKind::unique;
  return learn_key(KeyName{queue, kind, keys.key});
}

// ---- what a new job meets

std::optional<Runner::Holder> Runner::KeyPlan::holder(const KeyName& key) const {
  if (const auto taken = taken_.find(key); taken != taken_.end()) return taken->second;
  const JobId id = model_.holder(key, now_);
  return id == 0 ? std::nullopt : std::optional<Holder>(Holder{id, 0, false});
}

// The holder that refuses it; none: it comes in, and takes its keys.
std::optional<Runner::Holder> Runner::KeyPlan::place(QueueId queue, const Keys& keys,
                                                     size_t index) {
  replaced_.reset();
  const KeyName again{queue, KeyKind::idempotency, keys.idempotency_key};
  if (!keys.idempotency_key.empty()) {
    if (const auto first = holder(again)) return first;
  }
  if (keys.rule == KeyRule::debounce) {
    const KeyName name{queue, KeyKind::debounce, keys.key};
    replaced_ = holder(name);
    taken_[name] = Holder{0, index, true};
  } else if (keys.rule != KeyRule::none) {
    const KeyName name{queue, KeyKind::unique, keys.key};
    const auto other = holder(name);
    if (other && (other->fresh || !ending_.contains(other->id))) return other;
    taken_[name] = Holder{0, index, true};
  }
  if (!keys.idempotency_key.empty()) taken_[again] = Holder{0, index, true};
  return std::nullopt;
}

void Runner::note_duplicate(const Keys& keys, const Holder& holder) {
  note_rare(Rare::duplicate);
  if (holder.fresh) note_rare(Rare::duplicate_within_call);
  if (keys.rule == KeyRule::none) note_rare(Rare::repeated_request);
}

// Before it comes in.
void Runner::note_debounced(QueueId queue, const Spec& spec) {
  if (spec.keys.rule == KeyRule::none) return;
  const bool debounces = spec.keys.rule == KeyRule::debounce;
  const KeyName name{queue, debounces ? KeyKind::debounce : KeyKind::unique, spec.keys.key};
  const JobId before = live_.holder(name, now());
  if (debounces && before != 0) {
    note_rare(Rare::debounced);
    const int64_t end_ms = live_.key_end_ms(name);
    if (end_ms < now().wall_ms + spec.keys.debounce_ms) note_rare(Rare::debounced_to_the_end);
  }
  if (before != 0) return;
  const auto row = live_.keys.find(name);
  if (row == live_.keys.end()) return;
  const Job* job = live_.find(queue, row->second.holder);
  if (job && job->key_until_ms != 0) note_rare(Rare::key_time_is_up);
}

// ---- operations

std::string Runner::key_holder(Prng& dice) {
  const KeyName key = any_key(dice);
  const auto& [queue, kind, name] = key;
  WQ_SAME_OR_SAY(learn_key(key));
  const Result<JobId> told = engine().key_holder(queue, kind, name);
  const JobId expected = live_.find(queue) ? live_.holder(key, now()) : 0;
  if (!told.ok() && told.status().code() != Code::not_found) return told.status().message();
  WQ_SAME("holder of a key", told.ok() ? told.value() : 0, expected);
  return {};
}

std::string Runner::key_cancel(Prng& dice) {
  const KeyName key = any_key(dice);
  const auto& [queue, kind, name] = key;
  WQ_SAME_OR_SAY(learn_key(key));
  const JobId held = live_.find(queue) ? live_.holder(key, now()) : 0;
  const Job* job = live_.find(queue, held);
  Code expected = held == 0 ? Code::not_found : Code::ok;
  if (kind == KeyKind::idempotency) {
    expected = Code::invalid;
  } else if (job && job->state == JobState::dead) {
    expected = Code::conflict;
  }
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Result<JobId> told = engine().cancel_key(queue, kind, name, call);
  const Code got = told.ok() ? Code::ok : told.status().code();
  if (got != expected) return wrong_code("cancel by key", got, expected);
  if (expected != Code::ok) return expect_written(before, 0);
  WQ_SAME("job cancelled by its key", told.value(), held);
  acknowledged(call, Durability::power);
  const Now at = now();
  changed(call.lsn, [id = queue, held, at](Model& model) { model.cancel(id, held, at); });
  return expect_written(before, 1);
}

std::string Runner::key_release(Prng& dice) {
  const QueueId id = any_queue(dice);
  const Known token = any_token(id, dice);
  const Code expected = live_.find(id) ? expected_code(id, token) : Code::not_found;
  const Job* job = live_.find(id, token.id);
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Code got = engine().release_key(id, Token{token.id, token.generation}, call).code();
  if (!same_code(id, token, got, expected)) return wrong_code("key_release", got, expected);
  if (expected != Code::ok || job->key_until_ms == 0) return expect_written(before, 0);
  note_rare(Rare::key_released);
  acknowledged(call, Durability::power);
  changed(call.lsn, [id, job_id = token.id](Model& model) { model.release_key(id, job_id); });
  return expect_written(before, 1);
}

}  // namespace wq::model
