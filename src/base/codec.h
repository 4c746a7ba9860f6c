// Fixed-width integer codecs. Big-endian for keys, so that byte order is number order;
// little-endian for headers in files. Callers check lengths; these never read past what they are
// given.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

namespace wq {

static_assert(std::endian::native == std::endian::little,
              "wq stores little-endian headers by plain copies; a big-endian port swaps here");

using Bytes = std::span<const std::byte>;

inline Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

template <typename T>
void store_le(std::byte* out, T value) {
  std::memcpy(out, &value, sizeof value);
}
template <typename T>
T load_le(const std::byte* in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  return value;
}

inline void put_be32(std::string& out, uint32_t value) {
  value = __builtin_bswap32(value);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
inline void put_be64(std::string& out, uint64_t value) {
  value = __builtin_bswap64(value);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}
inline uint32_t get_be32(const char* in) {
  uint32_t value;
  std::memcpy(&value, in, sizeof value);
  return __builtin_bswap32(value);
}
inline uint64_t get_be64(const char* in) {
  uint64_t value;
  std::memcpy(&value, in, sizeof value);
  return __builtin_bswap64(value);
}

}  // namespace wq
