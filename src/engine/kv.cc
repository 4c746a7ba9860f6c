#include "engine/kv.h"

namespace wq {
namespace {

constexpr char row_mark = 'k';
constexpr char expiry_mark = 'x';
constexpr size_t row_head_bytes = 16;

}  // namespace

std::string kv_row_key(std::string_view key) {
  std::string out(1, row_mark);
  out.append(key);
  return out;
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
