// Options of a harness for tests that open many stores: small segments, a small cache.
#pragma once

#include "support/engine_harness.h"

namespace wq {

inline HarnessOptions small_store(StoreKind kind = StoreKind::memory) {
  HarnessOptions options;
  options.store = kind;
  options.engine.segment_bytes = 256 * 1024;
  options.engine.spare_segments = 1;
  options.engine.store_cache_bytes = 1 << 20;
  return options;
}

}  // namespace wq
