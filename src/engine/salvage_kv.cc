// Salvage of the kv family: its rows as the checkpoint has them, walked around what can not be
// read, and what the log says over them.
#include "engine/salvage_internal.h"

namespace wq {
namespace {

constexpr size_t batch_rows_max = 1'000;
constexpr size_t batch_bytes_max = 4u << 20;

}  // namespace

Status ColdSide::read_kv(const FindingVisitor& visit) {
  uint64_t rows = 0;
  std::string problem;
  const auto count = [&](std::string_view key, std::string_view value) {
    const bool sound = parse_kv_row_key(key) && decode_kv_row(value);
    rows += sound ? 1 : 0;
    return sound;
  };
  walk_rows(*stores[0].store, Family::kv, std::string(kv_rows_begin), std::string(kv_rows_end),
            count, problem);
  note_whole(Family::kv, problem.empty());
  return tell_family(visit, Family::kv, rows, problem);
}

// ---- the log over it

void Salvager::on_kv(const Command& command, Lsn lsn) {
  if (lsn <= applied_lsn_ && cold_.is_whole(Family::kv)) return;
  for (const KvChange& change : command.kv) {
    if (lsn <= applied_lsn_ && cold_.tells(Family::kv, kv_row_key(change.key))) continue;
    ChangedKv& row = kv_[std::string(change.key)];
    row.value.reset();
    if (!change.erase) row.value = change.value;
    row.expires_ms = change.expires_ms;
  }
}

Status Salvager::each_kv(const std::function<Status(const KvImage&)>& visit) const {
  Status told;
  const auto unless_changed = [&](std::string_view row_key, std::string_view value) {
    const auto key = parse_kv_row_key(row_key);
    const std::optional<KvRow> row = decode_kv_row(value);
    if (!key || !row) return false;
    if (told.ok() && !kv_.contains(*key)) told = visit({*key, row->value, row->expires_ms});
    return true;
  };
  cold_.each_row(Family::kv, std::string(kv_rows_begin), std::string(kv_rows_end), unless_changed);
  WQ_TRY(told);
  for (const auto& [key, row] : kv_) {
    if (row.value) WQ_TRY(visit({key, *row.value, row.expires_ms}));
  }
  return {};
}

Status Salvager::tell_kv(const FindingVisitor& visit) const {
  SalvageFinding finding;
  const auto count = [&](const KvImage&) -> Status {
    ++finding.count;
    return {};
  };
  WQ_TRY(each_kv(count));
  if (finding.count == 0) return {};
  finding.where = "kv";
  finding.what = std::to_string(finding.count) + " key-value rows can be read";
  return visit(finding);
}

Status Salvager::write_kv(Engine& engine) const {
  std::vector<std::pair<std::string, std::string>> owned;  // keys and values
  std::vector<int64_t> expiries;
  size_t bytes = 0;
  const auto flush = [&]() -> Status {
    std::vector<KvImage> rows;
    for (size_t i = 0; i < owned.size(); ++i) {
      rows.push_back({owned[i].first, owned[i].second, expiries[i]});
    }
    CallOptions call;
    call.durability = static_cast<uint32_t>(Durability::memory);
    if (!rows.empty()) WQ_TRY(engine.import_kv(rows, call));
    owned.clear();
    expiries.clear();
    bytes = 0;
    return {};
  };
  WQ_TRY(each_kv([&](const KvImage& row) -> Status {
    owned.emplace_back(row.key, row.value);
    expiries.push_back(row.expires_ms);
    bytes += row.value.size();
    return owned.size() < batch_rows_max && bytes < batch_bytes_max ? Status() : flush();
  }));
  return flush();
}

}  // namespace wq
