#include "engine/unique.h"

#include <algorithm>

#include "base/planted.h"
#include "engine/apply.h"
#include "engine/imported_rows.h"

namespace wq {
namespace {

constexpr char expiry_mark = 'x';
constexpr size_t row_head_bytes = 1 + sizeof(QueueId);
constexpr size_t row_value_bytes = 16;

char mark_of(KeyKind kind) {
  switch (kind) {
    case KeyKind::unique:
      return 'u';
    case KeyKind::debounce:
      return 'd';
    case KeyKind::idempotency:
      return 'i';
  }
  return 0;
}

Status malformed_row() {
  return Status(Code::corrupt, "db: family unique: malformed row");
}

// None if there is no such row; CORRUPT if the command came without having it read.
Result<std::optional<KeyRow>> known_row(const SideTable& table, const std::string& row_key) {
  const std::optional<std::string>* value = table.find(row_key);
  if (!value) return Status(Code::corrupt, "log record: the row of a key was not read");
  if (!*value) return std::optional<KeyRow>();
  const std::optional<KeyRow> row = decode_key_row(**value);
  if (!row) return malformed_row();
  return row;
}

// The place in the order of ends of a row that is known.
void erase_expiry(SideTable& table, const std::string& row_key, const KeyRow& row) {
  if (row.until_ms == key_no_end) return;
  const std::string expiry_key = key_expiry_key(row.until_ms, row_key);
  table.load(expiry_key, std::string());  // known by its row: both are put and erased together
  table.erase(expiry_key);
}

void put_row(SideTable& table, const std::string& row_key, const std::optional<KeyRow>& old,
             const KeyRow& row) {
  if (old) erase_expiry(table, row_key, *old);
  table.put(row_key, encode_key_row(row));
  if (row.until_ms == key_no_end) return;
  const std::string expiry_key = key_expiry_key(row.until_ms, row_key);
  table.load(expiry_key, std::nullopt);
  table.put(expiry_key, std::string());
}

std::string row_key_of(const Job& job) {
  return key_row_key(kind_of(job.traits->key_rule), job.queue->id, job.traits->key);
}

// The job that holds the debounce key of this row, if there is one: it has not started.
Job* waiting_holder(State& state, const std::optional<KeyRow>& row, int64_t now_ms) {
  Job* job = row ? state.find_live(row->holder) : nullptr;
  return job && now_ms < job->key_until_ms ? job : nullptr;
}

}  // namespace

// ---- rows

std::string key_row_key(KeyKind kind, QueueId queue, std::string_view key) {
  std::string out(1, mark_of(kind));
  out.reserve(row_head_bytes + key.size());
  put_be32(out, queue);
  out.append(key);
  return out;
}

std::optional<KeyName> parse_key_row_key(std::string_view row_key) {
  if (row_key.size() <= row_head_bytes || row_key.size() > unique_row_key_bytes_max) {
    return std::nullopt;
  }
  KeyName name{KeyKind::unique, get_be32(row_key.data() + 1), row_key.substr(row_head_bytes)};
  for (const KeyKind kind : {KeyKind::unique, KeyKind::debounce, KeyKind::idempotency}) {
    name.kind = kind;
    if (row_key.front() == mark_of(kind) && name.queue != 0) return name;
  }
  return std::nullopt;
}

std::string key_expiry_key(int64_t until_ms, std::string_view row_key) {
  std::string out(1, expiry_mark);
  out.reserve(1 + sizeof until_ms + row_key.size());
  put_be64(out, static_cast<uint64_t>(until_ms));
  out.append(row_key);
  return out;
}

std::optional<KeyExpiry> parse_key_expiry_key(std::string_view row_key) {
  constexpr size_t head_bytes = 1 + sizeof(uint64_t);
  if (row_key.size() <= head_bytes || row_key.front() != expiry_mark) return std::nullopt;
  const uint64_t until_ms = get_be64(row_key.data() + 1);
  const std::string_view named = row_key.substr(head_bytes);
  if (until_ms == 0 || until_ms >= static_cast<uint64_t>(key_no_end)) return std::nullopt;
  if (!parse_key_row_key(named)) return std::nullopt;
  return KeyExpiry{static_cast<int64_t>(until_ms), named};
}

std::string encode_key_row(const KeyRow& row) {
  std::string out(row_value_bytes, '\0');
  auto* const bytes = reinterpret_cast<std::byte*>(out.data());
  store_le(bytes, row.holder);
  store_le(bytes + sizeof row.holder, row.until_ms);
  return out;
}

std::optional<KeyRow> decode_key_row(std::string_view bytes) {
  if (bytes.size() != row_value_bytes) return std::nullopt;
  KeyRow row;
  row.holder = load_le<uint64_t>(as_bytes(bytes).data());
  row.until_ms = load_le<int64_t>(as_bytes(bytes).data() + sizeof row.holder);
  if (row.holder == 0 || row.until_ms <= 0) return std::nullopt;
  return row;
}

KeyKind kind_of(KeyRule rule) {
  return rule == KeyRule::debounce ? KeyKind::debounce : KeyKind::unique;
}

int64_t key_end_ms(int64_t now_ms, int64_t key_ms) {
  return key_ms == 0 ? key_no_end : now_ms + key_ms;
}

void add_key_rows(QueueId queue, const JobTraits& traits, std::vector<std::string>& rows) {
  if (traits.key_rule != KeyRule::none) {
    rows.push_back(key_row_key(kind_of(traits.key_rule), queue, traits.key));
  }
  if (!traits.idempotency_key.empty()) {
    rows.push_back(key_row_key(KeyKind::idempotency, queue, traits.idempotency_key));
  }
}

Result<std::vector<std::string>> key_rows_of(const State& state, const Command& command) {
  std::vector<std::string> rows;
  const auto add = [&](Bytes envelope) -> Status {
    if (!trusted_has_traits(envelope)) return {};
    WQ_TRY_SET(const Envelope decoded, decode_envelope(envelope));
    add_key_rows(command.queue, decoded.traits, rows);
    return {};
  };
  switch (command.type) {
    case CommandType::enqueue:
    case CommandType::drop_oldest:
      for (const NewJob& job : command.jobs) WQ_TRY(add(job.envelope));
      break;
    case CommandType::import_jobs:
      for (const ImportedJob& job : command.imports) {
        WQ_TRY_SET(const DecodedJobRow row, decode_job_row(job.row));
        WQ_TRY(add(row.envelope));
      }
      break;
    case CommandType::dead_replay:
      for (const SettleItem& entry : command.settles) {
        const Job* job = state.find_live(entry.id);
        if (job && job->traits) add_key_rows(command.queue, *job->traits, rows);
      }
      break;
    case CommandType::key_forget:
      for (const KvChange& change : command.kv) rows.emplace_back(change.key);
      break;
    case CommandType::import_rows:
      for (const KvChange& row : command.kv) {
        const auto key = parse_imported_row_key(row.key);
        if (key && key->family == Family::unique) rows.emplace_back(key->row_key);
      }
      break;
    default:
      break;
  }
  return rows;
}

// ---- taking

Status take_keys(State& state, Job& job, int64_t now_ms) {
  const JobTraits& traits = *job.traits;
  SideTable& table = state.side(Family::unique);
  if (!traits.idempotency_key.empty()) {
    const std::string row_key =
        key_row_key(KeyKind::idempotency, job.queue->id, traits.idempotency_key);
    WQ_TRY_SET(const std::optional<KeyRow> old, known_row(table, row_key));
    put_row(table, row_key, old, {job.id, key_end_ms(now_ms, traits.idempotency_ms)});
  }
  if (traits.key_rule == KeyRule::none) return {};
  const std::string row_key = row_key_of(job);
  WQ_TRY_SET(std::optional<KeyRow> old, known_row(table, row_key));
  job.key_until_ms = key_end_ms(now_ms, traits.key_ms);
  if (traits.key_rule == KeyRule::debounce) {
    if (Job* before = waiting_holder(state, old, now_ms)) {
      // The first of them says how long the start can be put off.
      job.key_until_ms = before->key_until_ms;
      if (!WQ_PLANTED(debounced_job_kept)) {
        state.leave(before);
        ++before->queue->totals.cancelled;
        state.end(before, EndReason::cancelled, now_ms);
        WQ_TRY_SET(old, known_row(table, row_key));
      }
    }
  }
  put_row(table, row_key, old, {job.id, job.key_until_ms});
  return {};
}

Status adopt_keys(State& state, Job& job, int64_t now_ms) {
  const JobTraits& traits = *job.traits;
  SideTable& table = state.side(Family::unique);
  if (!traits.idempotency_key.empty()) {
    const std::string row_key =
        key_row_key(KeyKind::idempotency, job.queue->id, traits.idempotency_key);
    WQ_TRY_SET(const Envelope envelope, decode_envelope(job.body.bytes()));
    const int64_t until_ms = key_end_ms(envelope.enqueued_ms, traits.idempotency_ms);
    WQ_TRY_SET(const std::optional<KeyRow> old, known_row(table, row_key));
    if (!old && now_ms < until_ms) put_row(table, row_key, old, {job.id, until_ms});
  }
  if (traits.key_rule == KeyRule::none) job.key_until_ms = 0;
  // One whose time is up may have another holder by now, who comes in later.
  if (job.key_until_ms <= now_ms && !WQ_PLANTED(import_of_a_key_that_is_over)) return {};
  const std::string row_key = row_key_of(job);
  WQ_TRY_SET(const std::optional<KeyRow> old, known_row(table, row_key));
  if (old) {
    job.key_until_ms = 0;
  } else {
    put_row(table, row_key, old, {job.id, job.key_until_ms});
  }
  return {};
}

Status adopt_window(State& state, std::string_view row_key, const KeyRow& row) {
  SideTable& table = state.side(Family::unique);
  const std::string key(row_key);
  WQ_TRY_SET(const std::optional<KeyRow> old, known_row(table, key));
  put_row(table, key, old, row);
  return {};
}

Status retake_key(State& state, Job& job, int64_t now_ms) {
  if (job.traits->key_rule != KeyRule::until_done || job.key_until_ms != 0) return {};
  SideTable& table = state.side(Family::unique);
  const std::string row_key = row_key_of(job);
  WQ_TRY_SET(const std::optional<KeyRow> old, known_row(table, row_key));
  job.key_until_ms = key_end_ms(now_ms, job.traits->key_ms);
  put_row(table, row_key, old, {job.id, job.key_until_ms});
  return {};
}

// ---- freeing

void free_key(State& state, Job& job) {
  if (job.key_until_ms == 0) return;
  const bool endless = job.key_until_ms == key_no_end;
  job.key_until_ms = 0;
  if (WQ_PLANTED(unique_key_leaked)) return;
  SideTable& table = state.side(Family::unique);
  const std::string row_key = row_key_of(job);
  if (!table.find(row_key)) {
    if (!endless) return;
    table.load(row_key, encode_key_row({job.id, key_no_end}));
  }
  const std::optional<std::string>& value = *table.find(row_key);
  const std::optional<KeyRow> row = value ? decode_key_row(*value) : std::nullopt;
  if (!row || (row->holder != job.id && !WQ_PLANTED(unique_key_freed_by_name))) return;
  erase_expiry(table, row_key, *row);
  table.erase(row_key);
}

void free_key_of_started(State& state, Job& job) {
  const KeyRule rule = job.traits->key_rule;
  if (rule == KeyRule::until_started || rule == KeyRule::debounce) free_key(state, job);
}

void free_key_of_dead(State& state, Job& job) {
  const bool held = job.traits->key_rule == KeyRule::until_gone;
  if (!held || WQ_PLANTED(dead_job_frees_its_key)) free_key(state, job);
}

Status apply_key_release(State& state, const Command& command, const Queue* queue) {
  for (const SettleItem& token : command.settles) {
    if (!check_lease(state, queue, token.id, token.generation).ok()) {
      return Status(Code::corrupt, "log record of key_release: job is not leased");
    }
    Job* job = state.find_live(token.id);
    if (!job->traits) continue;
    state.touch(job);
    free_key(state, *job);
  }
  return {};
}

Status apply_key_forget(State& state, const Command& command) {
  SideTable& table = state.side(Family::unique);
  for (const KvChange& change : command.kv) {
    const std::string row_key(change.key);
    WQ_TRY_SET(const std::optional<KeyRow> row, known_row(table, row_key));
    if (!row) continue;
    erase_expiry(table, row_key, *row);
    table.erase(row_key);
  }
  return {};
}

}  // namespace wq
