// The runner's kv rows, counters and locks, and its transactions.
#include "model/engine_spec.h"
#include "model/runner_internal.h"

namespace wq::model {
namespace {

constexpr size_t kv_names_count = 6;

std::string kv_name(size_t i) {
  constexpr const char* names[kv_names_count] = {"a", "a/1", "a/2", "b", "\xff\xff", "k"};
  return names[i % kv_names_count];
}

// A whole number in decimal, as the row of a counter has it.
std::optional<int64_t> number_of(const std::string& text) {
  const size_t sign = text.starts_with('-') ? 1 : 0;
  if (text.size() == sign || text.size() > 20) return std::nullopt;
  if (text.find_first_not_of("0123456789", sign) != std::string::npos) return std::nullopt;
  errno = 0;
  const long long number = std::strtoll(text.c_str(), nullptr, 10);
  return errno == 0 ? std::optional<int64_t>(number) : std::nullopt;
}

}  // namespace

KvWrite Runner::KvAsked::write() const {
  KvWrite out;
  out.verb = verb;
  out.key = key;
  out.value = value;
  out.delta = delta;
  out.ttl_ms = ttl_ms;
  out.condition = KvCondition{condition, version, wanted};
  return out;
}

Runner::KvAsked Runner::any_kv(Prng& dice, KvVerb verb) {
  KvAsked out;
  out.verb = verb;
  out.key = kv_name(dice.below(kv_names_count));
  if (verb == KvVerb::put) {
    out.value = dice.below(3) == 0 ? "text " + std::to_string(++made_)
                                   : std::to_string(static_cast<int64_t>(dice.below(100)) - 50);
    if (dice.below(12) == 0) out.value.clear();
  }
  if (verb == KvVerb::add) {
    out.delta = static_cast<int64_t>(dice.below(20)) - 10;
    if (dice.below(10) == 0) out.delta = INT64_MAX;
  }
  const bool stays = verb == KvVerb::erase || verb == KvVerb::check;
  if (!stays && dice.below(3) == 0) out.ttl_ms = any_ms(dice);
  if (verb != KvVerb::check && dice.below(2) == 0) return out;
  out.condition = 1 + static_cast<uint32_t>(dice.below(kv_condition_flags_all));
  const KvRow* row = live_.live_row(out.key, now());
  out.version = row && dice.below(3) != 0 ? row->version : dice.below(last_lsn() + 1);
  if (row && dice.below(3) != 0) out.wanted = row->value;
  return out;
}

// A row whose time was up once may be gone although the clock was set back since.
std::string Runner::learn_row(const std::string& key) {
  const KvRow* row = live_.live_row(key, now());
  if (!row || row->expires_ms == 0 || !now().may_be_gone(row->expires_ms)) return {};
  const Result<KvEntry> told = engine().kv_get(key);
  if (told.ok()) return {};
  const Code code = told.status().code();
  if (code != Code::empty) return wrong_code("kv_get", code, Code::empty);
  changed(last_lsn(), [key](Model& model) { model.kv.erase(key); });
  return {};
}

// Judged by the row as it is. In a transaction a row that is not there is no obstacle to an erase.
Runner::KvAnswer Runner::expected_kv(const KvAsked& asked, bool in_transaction) {
  const Now at = now();
  const KvRow* row = live_.live_row(asked.key, at);
  KvAnswer out;
  if (!in_transaction && asked.verb == KvVerb::erase && !row) {
    out.code = Code::empty;
    return out;
  }
  bool holds = asked.condition == 0;
  if (asked.condition & kv_if_absent) holds |= !row;
  if (asked.condition & kv_if_version) holds |= row && row->version == asked.version;
  if (asked.condition & kv_if_value) holds |= row && row->value == asked.wanted;
  if (!holds) {
    out.code = Code::conflict;
    return out;
  }
  if (asked.verb == KvVerb::check) return out;
  out.writes = true;
  if (asked.verb == KvVerb::erase) {
    out.erases = true;
    out.writes = row != nullptr;
    return out;
  }
  out.row.expires_ms = asked.ttl_ms != 0 ? at.wall_ms + asked.ttl_ms : 0;
  out.row.value = asked.value;
  if (asked.verb == KvVerb::put) return out;
  if (row) out.row.expires_ms = row->expires_ms;
  const std::optional<int64_t> counted = row ? number_of(row->value) : int64_t{0};
  if (!counted || __builtin_add_overflow(*counted, asked.delta, &out.sum)) {
    note_rare(Rare::no_counter);
    out = KvAnswer();
    out.code = Code::conflict;
    return out;
  }
  out.row.value = std::to_string(out.sum);
  return out;
}

void Runner::write_kv(Model& model, const KvAsked& asked, KvAnswer answer, Lsn lsn) {
  if (!answer.writes) return;
  if (answer.erases) {
    model.kv.erase(asked.key);
    return;
  }
  answer.row.version = lsn;
  model.kv[asked.key] = answer.row;
}

std::string Runner::kv_write(const KvAsked& asked, Prng& dice) {
  WQ_SAME_OR_SAY(learn_row(asked.key));
  const KvAnswer expected = expected_kv(asked, false);
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Result<int64_t> sum = engine().kv_change(asked.write(), call);
  const Code got = sum.ok() ? Code::ok : sum.status().code();
  if (got != expected.code) return wrong_code("kv", got, expected.code);
  const bool swaps = (asked.condition & (kv_if_version | kv_if_value)) != 0;
  if (swaps && got == Code::conflict) note_rare(Rare::swap_lost);
  if (swaps && got == Code::ok) note_rare(Rare::swap_won);
  if (got != Code::ok) return expect_written(before, 0);
  const auto old = live_.kv.find(asked.key);
  if (old != live_.kv.end() && !old->second.is_live(now())) note_rare(Rare::kv_row_ran_out);
  if (asked.verb == KvVerb::add) WQ_SAME("kv: sum", sum.value(), expected.sum);
  acknowledged(call, Durability::power);
  changed(call.lsn, [asked, expected, lsn = call.lsn](Model& model) {
    write_kv(model, asked, expected, lsn);
  });
  return expect_written(before, 1);
}

std::string Runner::kv_read(Prng& dice) {
  const std::string key = kv_name(dice.below(kv_names_count));
  WQ_SAME_OR_SAY(learn_row(key));
  const KvRow* row = live_.live_row(key, now());
  const Result<KvEntry> told = engine().kv_get(key);
  if (!row) {
    const Code code = told.status().code();
    if (code != Code::empty) return wrong_code("kv_get", code, Code::empty);
  } else {
    if (!told.ok()) return "kv_get: " + told.status().message();
    WQ_SAME("kv_get: value", told.value().value, row->value);
    WQ_SAME("kv_get: version", told.value().version, row->version);
    WQ_SAME("kv_get: expires_ms", told.value().expires_ms, row->expires_ms);
  }
  constexpr const char* prefixes[] = {"", "a", "a/", "b", "zz"};
  return compare_kv(engine(), live_, now(), prefixes[dice.below(std::size(prefixes))],
                    1 + dice.below(4));
}

// A lock is a row whose value is its owner.
std::string Runner::lock(Prng& dice) {
  KvAsked asked;
  asked.key = "lock";
  asked.wanted = "owner " + std::to_string(dice.below(3));
  asked.condition = kv_if_value;
  const uint64_t what = dice.below(4);
  if (what == 0) {  // release
    asked.verb = KvVerb::erase;
  } else {  // take, or extend
    asked.value = asked.wanted;
    if (what != 1) asked.condition |= kv_if_absent;
    asked.ttl_ms = dice.below(3) == 0 ? 0 : any_ms(dice);
  }
  WQ_SAME_OR_SAY(learn_row(asked.key));
  if (expected_kv(asked, false).code == Code::conflict) note_rare(Rare::lock_lost);
  return kv_write(asked, dice);
}

}  // namespace wq::model
