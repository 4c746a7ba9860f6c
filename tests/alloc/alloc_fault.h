// Allocations that fail on demand. alloc_fault.cc replaces operator new and delete of the whole
// test program; while an AllocFault lives, the allocations of its thread (or of all threads) are
// counted and the k-th one throws std::bad_alloc, once or from then on.
//
// Quiet marks a scope whose allocations neither count nor fail: the simulated disk and what else
// stands in for the world around wq. Thread model: one AllocFault at a time; any thread allocates.
#pragma once

#include <cstdint>

namespace wq {

struct AllocFaultPlan {
  uint64_t fail_at = 0;      // 1 = the next allocation; 0 = count only
  bool sticky = false;       // all later ones fail as well
  bool all_threads = false;  // else only those of the thread that made the AllocFault
};

class AllocFault {
 public:
  explicit AllocFault(const AllocFaultPlan& plan);
  ~AllocFault();
  AllocFault(const AllocFault&) = delete;
  AllocFault& operator=(const AllocFault&) = delete;

  uint64_t seen() const;  // allocations until now
  bool struck() const;    // at least one of them failed
};

class Quiet {
 public:
  Quiet();
  ~Quiet();
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
};

}  // namespace wq
