// Rows beside the jobs that come in with an import: idempotency keys whose job may have ended, done
// jobs, batches, rate keys that are used up or cool down. One command (import_rows) carries them as
// the store has them: each entry of Command::kv has as its key the number of the family, in one
// byte, and the key of the row behind it.
//
//   unique   an idempotency key ('i'), with an end
//   batch    a batch ('b'); of one that is not finished, nothing is pending (arriving_batch())
//   history  a done job ('d'), with the next seq of its queue
//   meta     a rate key ('k') without lines
//
// Batches come before their jobs, and idempotency keys before the jobs that have them.
// Thread model: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/store.h"

namespace wq {

struct ImportedRowKey {
  Family family = Family::meta;
  std::string_view row_key = {};
};

inline std::string imported_row_key(Family family, std::string_view row_key) {
  return std::string(1, static_cast<char>(family)).append(row_key);
}

// None if it is of no family that such rows are of.
inline std::optional<ImportedRowKey> parse_imported_row_key(std::string_view key) {
  if (key.size() < 2) return std::nullopt;
  const auto family = static_cast<Family>(key.front());
  switch (family) {
    case Family::meta:
    case Family::unique:
    case Family::batch:
    case Family::history:
      return ImportedRowKey{family, key.substr(1)};
    default:
      return std::nullopt;
  }
}

}  // namespace wq
