#include "base/prng.h"

#include <sys/random.h>

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
  WQ_CHECK(getrandom(&value, sizeof value, 0) == static_cast<ssize_t>(sizeof value));
  return value;
}

}  // namespace wq
