// Salvage of the kv family: its rows as the checkpoint has them, walked around what can not be
// read, and what the log says over them.
#include <algorithm>

#include "engine/salvage_internal.h"

namespace wq {
namespace {

// Damaged places that are walked around; a store has no more blocks worth the time.
constexpr size_t holes_max = 100'000;
constexpr size_t batch_rows_max = 1'000;
constexpr size_t batch_bytes_max = 4u << 20;

using KvVisit = std::function<Status(std::string_view key, const KvRow& row)>;

// Keys are fractions to the base 256: the one in the middle of two, with `digits` digits.
std::string middle_of(const std::string& low, const std::string& high, size_t digits) {
  const auto digit = [](const std::string& key, size_t i) {
    return i < key.size() ? static_cast<unsigned char>(key[i]) : 0u;
  };
  std::string sum(digits, '\0');
  unsigned carry = 0;
  for (size_t i = digits; i-- > 0;) {
    const unsigned both = digit(low, i) + digit(high, i) + carry;
    sum[i] = static_cast<char>(both & 0xff);
    carry = both >> 8;
  }
  for (size_t i = 0; i < digits; ++i) {
    const unsigned here = (carry << 8) | static_cast<unsigned char>(sum[i]);
    sum[i] = static_cast<char>(here >> 1);
    carry = here & 1;
  }
  return sum;
}

// The first key at or behind `from` at which a walk can begin again: one that is far enough, then
// the edge between what can be read and what can not. None: nothing more can be read.
std::optional<std::string> next_readable(const Store& store, const std::string& from) {
  const auto works = [&](const std::string& key) {
    const auto cursor = store.scan(Family::kv, key, kv_rows_end);
    return cursor->valid() || cursor->status().ok();
  };
  std::string good;
  for (size_t length = from.size(); length > 0; --length) {
    good = prefix_end(from.substr(0, length));
    if (works(good)) break;
  }
  if (good >= kv_rows_end) return std::nullopt;
  std::string bad = from;
  const size_t digits = std::max(bad.size(), good.size()) + 2;
  for (size_t step = 0; step < 8 * digits; ++step) {
    std::string middle = middle_of(bad, good, digits);
    if (middle <= bad || middle >= good) break;
    (works(middle) ? good : bad) = middle;
  }
  return good;
}

// Every row that can be read, in the order of the keys. `problem` is the first damage met.
Status walk(const Store& store, const KvVisit& visit, std::string& problem) {
  std::string next(kv_rows_begin);
  for (size_t holes = 0; holes < holes_max; ++holes) {
    const auto cursor = store.scan(Family::kv, next, std::string(kv_rows_end));
    for (; cursor->valid(); cursor->next()) {
      if (cursor->key() >= kv_rows_end) break;  // a damaged store knows no upper bound
      next = std::string(cursor->key()) + '\0';
      const auto key = parse_kv_row_key(cursor->key());
      const std::optional<KvRow> row = decode_kv_row(cursor->value());
      if (key && row) {
        WQ_TRY(visit(*key, *row));
      } else if (problem.empty()) {
        problem = "a malformed row";
      }
    }
    const Status status = cursor->status();
    if (status.ok()) return {};
    if (problem.empty()) problem = status.message();
    std::optional<std::string> behind = next_readable(store, next);
    if (!behind) return {};
    next = std::move(*behind);
  }
  return {};
}

}  // namespace

Status ColdSide::read_kv(const FindingVisitor& visit) {
  uint64_t rows = 0;
  std::string problem;
  const auto count = [&](std::string_view, const KvRow&) -> Status {
    ++rows;
    return {};
  };
  WQ_TRY(walk(*stores[0].store, count, problem));
  kv_whole = problem.empty();
  return tell_family(visit, Family::kv, rows, problem);
}

// Whether the checkpoint tells what became of a row.
bool ColdSide::tells_kv(std::string_view key) const {
  return stores[0].store && stores[0].store->get(Family::kv, kv_row_key(key)).ok();
}

// Where it does not, what its tables have must do, though it may be of an earlier moment.
Status ColdSide::each_kv(const KvVisit& visit) const {
  std::string ignored;
  if (stores[0].store) WQ_TRY(walk(*stores[0].store, visit, ignored));
  if (kv_whole || !stores[1].store) return {};
  const auto missing = [&](std::string_view key, const KvRow& row) -> Status {
    return tells_kv(key) ? Status() : visit(key, row);
  };
  return walk(*stores[1].store, missing, ignored);
}

// ---- the log over it

void Salvager::on_kv(const Command& command, Lsn lsn) {
  if (lsn <= applied_lsn_ && cold_.kv_whole) return;
  for (const KvChange& change : command.kv) {
    if (lsn <= applied_lsn_ && cold_.tells_kv(change.key)) continue;
    ChangedKv& row = kv_[std::string(change.key)];
    row.value.reset();
    if (!change.erase) row.value = change.value;
    row.expires_ms = change.expires_ms;
  }
}

Status Salvager::each_kv(const std::function<Status(const KvImage&)>& visit) const {
  const auto unless_changed = [&](std::string_view key, const KvRow& row) -> Status {
    return kv_.contains(key) ? Status() : visit({key, row.value, row.expires_ms});
  };
  WQ_TRY(cold_.each_kv(unless_changed));
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
