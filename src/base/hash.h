// XXH3-64 (xxHash 0.8), the checksum of everything wq writes itself. The value is part of the
// format.
#pragma once

#include <cstdint>

#include "base/codec.h"

namespace wq {

uint64_t hash64(Bytes bytes, uint64_t seed);

// The same value over bytes that come in pieces.
class StreamHash {
 public:
  explicit StreamHash(uint64_t seed);
  ~StreamHash();
  StreamHash(const StreamHash&) = delete;
  StreamHash& operator=(const StreamHash&) = delete;

  void update(Bytes bytes);
  uint64_t value() const;

 private:
  void* const state_;  // of xxHash, which only hash.cc sees
};

}  // namespace wq
