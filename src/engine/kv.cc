#include "engine/kv.h"

#include <charconv>

#include "base/check.h"
#include "base/planted.h"
#include "engine/admit.h"

namespace wq {
namespace {

constexpr char row_mark = 'k';
constexpr char expiry_mark = 'x';
constexpr size_t row_head_bytes = 16;

bool holds(const KvCondition& condition, const std::optional<KvRow>& row) {
  if (condition.flags == 0) return true;
  if (!row) return (condition.flags & kv_if_absent) != 0;
  if ((condition.flags & kv_if_version) && row->version == condition.version) return true;
  return (condition.flags & kv_if_value) && row->value == condition.value;
}

Status condition_failed(const std::optional<KvRow>& row) {
  return Status(Code::conflict, row ? "the row has version " + std::to_string(row->version) +
                                          " and does not fit the condition"
                                    : std::string("there is no such row"));
}

Result<int64_t> parse_counter(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc() && end == text.data() + text.size()) return number;
  return Status(Code::conflict, "the value is no whole number");
}

}  // namespace

std::string kv_row_key(std::string_view key) {
  std::string out(1, row_mark);
  out.append(key);
  return out;
}

std::optional<std::string_view> parse_kv_row_key(std::string_view row_key) {
  if (row_key.size() < 2 || row_key.front() != row_mark) return std::nullopt;
  return row_key.substr(1);
}

std::string kv_expiry_key(int64_t expires_ms, std::string_view key) {
  std::string out(1, expiry_mark);
  put_be64(out, static_cast<uint64_t>(expires_ms));
  out.append(key);
  return out;
}

std::optional<KvExpiryKey> parse_kv_expiry_key(std::string_view row_key) {
  constexpr size_t head_bytes = 1 + sizeof(uint64_t);
  if (row_key.size() <= head_bytes || row_key.front() != expiry_mark) return std::nullopt;
  const uint64_t expires_ms = get_be64(row_key.data() + 1);
  if (expires_ms == 0 || expires_ms > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
  return KvExpiryKey{static_cast<int64_t>(expires_ms), row_key.substr(head_bytes)};
}

std::string encode_kv_row(const KvRow& row) {
  std::string out(row_head_bytes, '\0');
  auto* const head = reinterpret_cast<std::byte*>(out.data());
  store_le(head, row.version);
  store_le(head + sizeof row.version, row.expires_ms);
  out.append(row.value);
  return out;
}

std::optional<KvRow> decode_kv_row(std::string_view bytes) {
  if (bytes.size() < row_head_bytes) return std::nullopt;
  const Bytes head = as_bytes(bytes);
  KvRow row;
  row.version = load_le<uint64_t>(head.data());
  row.expires_ms = load_le<int64_t>(head.data() + sizeof row.version);
  row.value = bytes.substr(row_head_bytes);
  if (row.version == 0 || row.expires_ms < 0) return std::nullopt;
  if (row.value.size() > kv_value_bytes_max) return std::nullopt;
  return row;
}

Status admit_kv(const KvWrite& write) {
  WQ_TRY(admit_key("key", write.key));
  WQ_TRY(admit_delay_ms("ttl_ms", write.ttl_ms));
  if (write.verb == KvVerb::check && write.condition.flags == 0) {
    return Status(Code::invalid, "condition: a check without one");
  }
  if (write.value.size() <= kv_value_bytes_max) return {};
  return Status(Code::too_large, "value: " + std::to_string(write.value.size()) +
                                     " bytes, at most " + std::to_string(kv_value_bytes_max));
}

Result<std::optional<KvRow>> live_kv_row(const State& state, std::string_view key, int64_t now_ms) {
  const std::optional<std::string>* value = state.side(Family::kv).find(kv_row_key(key));
  WQ_CHECK(value != nullptr);
  if (!*value) return std::optional<KvRow>();
  const std::optional<KvRow> row = decode_kv_row(**value);
  if (!row) return Status(Code::corrupt, "db: family kv: malformed row; run wq verify");
  const bool live = row->is_live(now_ms) || WQ_PLANTED(kv_expiry_ignored);
  return live ? row : std::optional<KvRow>();
}

Status decide_kv(const KvWrite& write, const std::optional<KvRow>& row, int64_t now_ms,
                 std::string& text, KvDecision& out) {
  if (!holds(write.condition, row) && !WQ_PLANTED(kv_condition_unchecked)) {
    return condition_failed(row);
  }
  out = KvDecision();
  out.change.key = write.key;
  const int64_t new_expiry_ms = write.ttl_ms != 0 ? now_ms + write.ttl_ms : 0;
  switch (write.verb) {
    case KvVerb::check:
      out.is_change = false;
      return {};
    case KvVerb::erase:
      out.change.erase = true;
      out.is_change = row.has_value();
      return {};
    case KvVerb::put:
      out.change.value = write.value;
      out.change.expires_ms = new_expiry_ms;
      return {};
    case KvVerb::add:
      break;
  }
  int64_t before = 0;
  if (row) {
    WQ_TRY_SET(before, parse_counter(row->value));
  }
  if (__builtin_add_overflow(before, write.delta, &out.sum)) {
    return Status(Code::conflict, "the sum does not fit into 64 bits");
  }
  text = std::to_string(out.sum);
  out.change.value = text;
  out.change.expires_ms = row ? row->expires_ms : new_expiry_ms;
  return {};
}

Status apply_kv(State& state, const Command& command, Lsn lsn) {
  SideTable& table = state.side(Family::kv);
  for (const KvChange& change : command.kv) {
    const std::string row_key = kv_row_key(change.key);
    const std::optional<std::string>* old = table.find(row_key);
    if (!old) return Status(Code::corrupt, "log record of kv_write: a row was not read");
    if (*old) {
      const std::optional<KvRow> row = decode_kv_row(**old);
      if (!row) return Status(Code::corrupt, "db: family kv: malformed row");
      if (row->expires_ms != 0) {
        // Known by its row: both are put and erased together.
        const std::string expiry_key = kv_expiry_key(row->expires_ms, change.key);
        table.load(expiry_key, std::string());
        table.erase(expiry_key);
      }
    }
    if (change.erase) {
      table.erase(row_key);
      continue;
    }
    table.put(row_key, encode_kv_row({lsn, change.expires_ms, change.value}));
    if (change.expires_ms != 0) {
      const std::string expiry_key = kv_expiry_key(change.expires_ms, change.key);
      table.load(expiry_key, std::nullopt);
      table.put(expiry_key, std::string());
    }
  }
  return {};
}

}  // namespace wq
