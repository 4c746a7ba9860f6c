// The path of a store as the caller gives it.
#pragma once

#include <cstring>
#include <string>

#include "base/status.h"
#include "io/io.h"

namespace wq {

constexpr size_t store_path_bytes_max = 4095;

inline Status read_store_path(const char* path, std::string& out) {
  if (!path || path[0] == '\0') return Status(Code::invalid, "path is NULL or empty");
  const size_t length = strnlen(path, store_path_bytes_max + 1);
  if (length > store_path_bytes_max) {
    return Status(Code::too_large, "path is longer than 4095 bytes");
  }
  out.assign(path, length);
  return {};
}

// Of a store that stays open, and of a call that takes long or calls back. The files that it makes
// and removes later on must be of the same directory, and not of another one of that name, wherever
// the working directory is by then.
inline Status read_lasting_path(const char* path, std::string& out) {
  WQ_TRY(read_store_path(path, out));
  WQ_TRY_SET(out, absolute_path(out));
  return {};
}

}  // namespace wq
