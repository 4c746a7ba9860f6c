// XXH3-64 (xxHash 0.8), the checksum of everything wq writes itself. The value is part of the
// format.
#pragma once

#include <cstdint>

#include "base/codec.h"

namespace wq {

uint64_t hash64(Bytes bytes, uint64_t seed);

}  // namespace wq
