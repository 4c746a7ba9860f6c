// Key-value rows: get, put under conditions, add, erase, list; and the removal of expired ones.
#include <map>

#include "engine/admit.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/kv.h"

namespace wq {
namespace {

constexpr size_t kv_list_max = 1'000;
constexpr size_t kv_expire_step_rows = 1'000;

Status malformed_row() {
  return Status(Code::corrupt, "db: family kv: malformed row; run wq verify");
}

KvEntry entry_of(const KvRow& row) {
  return KvEntry{std::string(row.value), row.version, row.expires_ms};
}

}  // namespace

void Engine::drop_clean_rows(Family family) {
  state_.side(family).drop_clean(side_rows_kept_max,
                                 options_.memory_budget_bytes / side_rows_kept_part);
}

Result<KvEntry> Engine::kv_get(std::string_view key) {
  WQ_ENTER();
  WQ_TRY(admit_key("key", key));
  KvEntry out;
  const std::string row_key = kv_row_key(key);
  const auto read = [&]() WQ_REQUIRES(mutex_) -> Status {
    if (state_.importing) return import_is_open();
    WQ_TRY_SET(const std::optional<KvRow> row, live_kv_row(state_, key, wall_ms()));
    if (!row) return Code::empty;
    out = entry_of(*row);
    return {};
  };
  WQ_TRY(with_rows(Family::kv, {&row_key, 1}, read));
  return out;
}

Result<int64_t> Engine::kv_change(const KvWrite& write, CallOptions& call) {
  WQ_ENTER();
  WQ_TRY(admit_kv(write));
  // What makes room goes on when there is none.
  if (write.verb != KvVerb::erase) WQ_TRY(wait_for_space());
  Lsn lsn = 0;
  KvDecision decision;
  std::string text;
  const std::string row_key = kv_row_key(write.key);
  const auto change = [&]() WQ_REQUIRES(mutex_) -> Status {
    if (state_.importing) return import_is_open();
    Command& command = begin(CommandType::kv_write);
    WQ_TRY_SET(const std::optional<KvRow> row, live_kv_row(state_, write.key, command.now_ms));
    if (write.verb == KvVerb::erase && !row) return Code::empty;
    WQ_TRY(decide_kv(write, row, command.now_ms, text, decision));
    command.kv.push_back(decision.change);
    WQ_TRY_SET(lsn, commit(command));
    return {};
  };
  WQ_TRY(with_rows(Family::kv, {&row_key, 1}, change));
  WQ_TRY(finish(lsn, call, level_for(call, Durability::power)));
  return decision.sum;
}

Status Engine::kv_put(std::string_view key, const KvPut& put, CallOptions& call) {
  KvWrite write{.verb = KvVerb::put, .key = key, .value = put.value};
  write.ttl_ms = put.ttl_ms;
  write.condition = put.condition;
  return kv_change(write, call).take_status();
}

Result<int64_t> Engine::kv_add(std::string_view key, int64_t delta, int64_t ttl_ms,
                               CallOptions& call) {
  return kv_change({.verb = KvVerb::add, .key = key, .delta = delta, .ttl_ms = ttl_ms}, call);
}

Status Engine::kv_erase(std::string_view key, const KvCondition& condition, CallOptions& call) {
  return kv_change({.verb = KvVerb::erase, .key = key, .condition = condition}, call).take_status();
}

// ---- listing

namespace {

// Up to limit + 1 live rows of the store behind `after`, with what memory knows put over them.
struct KvScan {
  std::map<std::string, std::optional<std::string>, std::less<>> rows;
  bool complete = false;  // up to the end of the prefix
};

Result<KvScan> scan_kv(const Store& store, const std::string& lower, const std::string& upper,
                       size_t limit) {
  KvScan scan;
  const auto cursor = store.scan(Family::kv, lower, upper);
  for (; cursor->valid(); cursor->next()) {
    if (scan.rows.size() > limit) return scan;
    scan.rows.emplace(cursor->key(), std::string(cursor->value()));
  }
  WQ_TRY(cursor->status());
  scan.complete = true;
  return scan;
}

void put_memory_over(const SideTable& table, const std::string& lower, const std::string& upper,
                     KvScan& scan) {
  // Rows of memory behind the last one read may have others of the store before them.
  const std::string end = scan.complete ? upper : scan.rows.rbegin()->first + '\0';
  table.for_each([&](const std::string& key, const std::optional<std::string>& value) {
    if (key >= lower && key < end) scan.rows.insert_or_assign(key, value);
  });
}

}  // namespace

Result<KvPage> Engine::kv_list(std::string_view prefix, std::string_view after, size_t limit) {
  WQ_ENTER();
  if (prefix.size() > key_bytes_max || after.size() > key_bytes_max) {
    return Status(Code::too_large, "prefix, after: at most " + std::to_string(key_bytes_max));
  }
  if (limit == 0 || limit > kv_list_max) return Status(Code::invalid, "limit: give 1 to 1000");
  const std::string first = kv_row_key(prefix);
  const std::string upper = prefix_end(first);
  std::string lower = std::max(first, kv_row_key(after) + '\0');
  if (after.empty()) lower = first;
  KvPage page;
  for (;;) {
    uint64_t version = 0;
    {
      MutexLock lock(mutex_);
      version = store_version_;
    }
    WQ_TRY_SET(KvScan scan, scan_kv(*store_, lower, upper, limit));
    MutexLock lock(mutex_);
    if (state_.importing) return import_is_open();
    if (version != store_version_) continue;
    put_memory_over(state_.side(Family::kv), lower, upper, scan);
    const int64_t now_ms = wall_ms();
    for (const auto& [key, value] : scan.rows) {
      lower = key + '\0';
      if (!value) continue;
      const std::optional<KvRow> row = decode_kv_row(*value);
      if (!row) return malformed_row();
      if (!row->is_live(now_ms)) continue;
      if (page.keys.size() == limit) {
        page.more = true;
        return page;
      }
      page.keys.push_back(key.substr(1));
      page.entries.push_back(entry_of(*row));
    }
    if (scan.complete) return page;
  }
}

// ---- expiry

// Takes away the rows that expired and that a checkpoint has brought to the store; those that only
// memory knows are found by a later one. Absent they count already, so nobody waits for this.
Status Engine::expire_kv() {
  std::string after = kv_expiry_key(0, std::string_view());
  for (;;) {
    const int64_t now_ms = wall_ms();
    const std::string end = kv_expiry_key(now_ms, std::string_view());
    if (after >= end) return {};
    std::vector<std::string> keys;
    std::vector<std::string> row_keys;
    const auto cursor = store_->scan(Family::kv, after, end);
    for (; cursor->valid() && keys.size() < kv_expire_step_rows; cursor->next()) {
      const auto expiry = parse_kv_expiry_key(cursor->key());
      if (!expiry) return malformed_row();
      keys.emplace_back(expiry->key);
      row_keys.push_back(kv_row_key(expiry->key));
      after = std::string(cursor->key()) + '\0';
    }
    WQ_TRY(cursor->status());
    if (keys.empty()) return {};
    const auto erase = [&]() WQ_REQUIRES(mutex_) -> Status {
      Command& command = begin(CommandType::kv_write, now_ms);
      for (size_t i = 0; i < keys.size(); ++i) {
        const std::optional<std::string>& value = *state_.side(Family::kv).find(row_keys[i]);
        if (!value) continue;
        const std::optional<KvRow> row = decode_kv_row(*value);
        if (!row) return malformed_row();
        if (row->is_live(now_ms)) continue;
        command.kv.push_back({.key = keys[i], .erase = true});
      }
      return command.kv.empty() ? Status() : commit(command).take_status();
    };
    WQ_TRY(with_rows(Family::kv, row_keys, erase));
  }
}

}  // namespace wq
