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

// For a disk whose store was never checkpointed: everything is in the log.
inline Environment log_only(Io& io, Clock& clock) {
  Environment environment;
  environment.io = &io;
  environment.clock = &clock;
  environment.open_store = [](const StoreOptions&) {
    return open_mem_store(make_mem_store_content());
  };
  return environment;
}

}  // namespace wq
