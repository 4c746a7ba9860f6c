// The scripts of the allocation sweep: one step for each call of wq.h that can run out of memory,
// in an order that gives each of them something to do. alloc_covers.py sees to it that no function
// is forgotten. Thread model: one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "alloc/alloc_world.h"

namespace wq {

struct Step {
  const char* name;
  // The call under test and nothing else. Made again after it answered WQ_E_NO_MEMORY.
  int32_t (*call)(World&);
  void (*before)(World&) = nullptr;  // once, before the first try
  void (*after)(World&) = nullptr;   // after the call went as it should
  bool unpromised = false;           // what it does is not promised to anybody before a later step
  // A refusal may have left something, in a store that is sound: an import is made of parts, a
  // lease gives back what it has leased and could not open, a cancelled flow ends its jobs in
  // steps, a tick that was not synced is done again at another time, and a
  // backup that has no memory to clean up leaves what it has begun.
  bool inexact = false;
};

using Script = std::vector<Step>;

const Script& basic_script();     // queues, jobs, leases, dead letters, the store as a whole
const Script& feature_script();   // keys, groups, chains, flows, rows, transactions, schedules, ...
const Script& transfer_script();  // an import, and what can be read of it

}  // namespace wq
