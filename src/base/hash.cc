#include "base/hash.h"

#include <xxhash.h>

namespace wq {

uint64_t hash64(Bytes bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace wq
