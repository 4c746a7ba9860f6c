// The script of the allocation sweep: one step for each call of wq.h that can run out of memory, in
// an order that gives each of them something to do. Thread model: one thread.
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
};

const std::vector<Step>& script();

}  // namespace wq
