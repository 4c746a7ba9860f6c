// The kv family: small values of the caller, beside the jobs and changed in the same log. Two kinds
// of rows:
//
//   'k' key                  -> version:8 expires_ms:8 value     (little-endian; expires_ms 0 =
//   never) 'x' expires_ms:8 key     -> (empty), for each row that expires (big-endian: in time
//   order)
//
// The version is the LSN of the row's last change. A row past its time counts as absent at once; it
// is taken away later, by the checkpoint that finds it. Pure functions; thread model as State's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/command.h"
#include "engine/state.h"

namespace wq {

struct KvRow {
  uint64_t version = 0;
  int64_t expires_ms = 0;
  std::string_view value = {};

  bool is_live(int64_t now_ms) const { return expires_ms == 0 || now_ms < expires_ms; }
};

std::string kv_row_key(std::string_view key);
std::string kv_expiry_key(int64_t expires_ms, std::string_view key);
struct KvExpiryKey {
  int64_t expires_ms = 0;
  std::string_view key = {};
};
std::optional<KvExpiryKey> parse_kv_expiry_key(std::string_view row_key);

std::string encode_kv_row(const KvRow& row);
std::optional<KvRow> decode_kv_row(std::string_view bytes);  // a view into `bytes`

// Every row that the command names must be known to the side table.
Status apply_kv(State& state, const Command& command, Lsn lsn);

}  // namespace wq
