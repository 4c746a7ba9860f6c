// A walk over the stored dead letters of a queue, in the order in which they died or the other way
// round. Bounded in every respect; whoever walks goes on from last_seq. Needs no lock: what it
// finds is merged with the resident state by the caller, by the rules of residency.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "engine/residency.h"
#include "engine/store.h"

namespace wq {

struct DeadRange {
  QueueId queue = 0;
  uint64_t low = 0;  // dead seqs, [low, high)
  uint64_t high = UINT64_MAX;
  bool descending = false;
};

struct ScannedDead {
  uint64_t seq = 0;
  uint64_t examined = 0;  // rows up to this one, itself included
  StoredJob job;
};

struct DeadScan {
  std::vector<ScannedDead> rows;  // those that the query wants
  uint64_t last_seq = 0;          // where a scan that stopped early has come to
  uint64_t examined = 0;
  bool complete = false;
};

Result<DeadScan> scan_dead(const Store& store, const DeadRange& range, const DeadQuery& query,
                           const PageLimits& limits);

}  // namespace wq
