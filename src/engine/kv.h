// The kv family: small values of the caller, beside the jobs and changed in the same log. Two kinds
// of rows:
//
//   'k' key             -> version:8 expires_ms:8 value   (little-endian; expires_ms 0 = never)
//   'x' expires_ms:8 key -> (empty), for each row that expires (big-endian: in time order)
//
// The version is the LSN of the row's last change. A row past its time counts as absent at once; it
// is taken away later, by the checkpoint that finds it. A lock is a row like others: its value is
// the owner, its expiry the end of the lock. Pure functions; thread model as State's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/command.h"
#include "engine/state.h"

namespace wq {

// ---- what callers say and get

// When a row may be changed; with several flags, one that holds is enough.
enum KvConditionFlag : uint32_t { kv_if_absent = 1, kv_if_version = 2, kv_if_value = 4 };
constexpr uint32_t kv_condition_flags_all = kv_if_absent | kv_if_version | kv_if_value;

struct KvCondition {
  uint32_t flags = 0;  // 0 = always
  uint64_t version = 0;
  std::string_view value = {};
};

struct KvPut {
  std::string_view value;
  int64_t ttl_ms = 0;  // 0 = for ever
  KvCondition condition;
};

struct KvEntry {
  std::string value;
  uint64_t version = 0;
  int64_t expires_ms = 0;  // 0 = never
};

struct KvPage {
  std::vector<std::string> keys;  // ascending
  std::vector<KvEntry> entries;   // of the keys
  bool more = false;
};

// A row on the way from one store to another. Its version stays behind.
struct KvImage {
  std::string_view key = {};
  std::string_view value = {};
  int64_t expires_ms = 0;  // 0 = never
};

// A change that is wanted, if its condition holds. `check` changes nothing.
enum class KvVerb : uint8_t { put, add, erase, check };
struct KvWrite {
  KvVerb verb = KvVerb::put;
  std::string_view key = {};
  std::string_view value = {};  // put
  int64_t delta = 0;            // add: the value is a whole number in decimal, an absent row is 0
  int64_t ttl_ms = 0;           // put, and add where there is no row yet; 0 = for ever
  KvCondition condition = {};
};

// ---- rows

struct KvRow {
  uint64_t version = 0;
  int64_t expires_ms = 0;
  std::string_view value = {};

  bool is_live(int64_t now_ms) const { return expires_ms == 0 || now_ms < expires_ms; }
};

// All rows lie between these two, in the order of their keys.
constexpr std::string_view kv_rows_begin = "k";
constexpr std::string_view kv_rows_end = "l";
std::string kv_row_key(std::string_view key);
std::optional<std::string_view> parse_kv_row_key(std::string_view row_key);
std::string kv_expiry_key(int64_t expires_ms, std::string_view key);
struct KvExpiryKey {
  int64_t expires_ms = 0;
  std::string_view key = {};
};
std::optional<KvExpiryKey> parse_kv_expiry_key(std::string_view row_key);

std::string encode_kv_row(const KvRow& row);
std::optional<KvRow> decode_kv_row(std::string_view bytes);  // a view into `bytes`

// ---- changes

Status admit_kv(const KvWrite& write);

// The live row of a key that is known to the table; none if there is no such row (any more).
Result<std::optional<KvRow>> live_kv_row(const State& state, std::string_view key, int64_t now_ms);

struct KvDecision {
  KvChange change;
  bool is_change = true;  // false: only checked, or there is nothing to erase
  int64_t sum = 0;        // add
};
// What a write that was admitted makes of the row as it is. CONFLICT: its condition does not hold,
// or the row is no counter. `text` owns what `change` may point to.
Status decide_kv(const KvWrite& write, const std::optional<KvRow>& row, int64_t now_ms,
                 std::string& text, KvDecision& out);

// Every row that the command names must be known to the side table.
Status apply_kv(State& state, const Command& command, Lsn lsn);

}  // namespace wq
