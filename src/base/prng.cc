#include "base/prng.h"

#include <sys/random.h>

#include <algorithm>

#include "base/check.h"

namespace wq {

__extension__ typedef unsigned __int128 uint128;  // a GNU type: -Wpedantic wants it said

uint64_t Prng::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

uint64_t Prng::below(uint64_t bound) {
  WQ_CHECK(bound > 0);
  return static_cast<uint64_t>((static_cast<uint128>(next()) * bound) >> 64);
}

uint64_t os_entropy() {
  uint64_t value = 0;
  os_random_bytes(std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

void os_random_bytes(std::span<std::byte> out) {
  constexpr size_t whole_max = 256;  // up to here nothing interrupts it
  while (!out.empty()) {
    const std::span<std::byte> step = out.first(std::min(out.size(), whole_max));
    WQ_CHECK(getrandom(step.data(), step.size(), 0) == static_cast<ssize_t>(step.size()));
    out = out.subspan(step.size());
  }
}

}  // namespace wq
