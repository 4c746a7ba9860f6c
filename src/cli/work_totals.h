// What a worker did, counted settle by settle, and how it is told at the end. Thread model: plain
// values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/record.h"
#include "cli/runner.h"

namespace wq::cli {

// Whether this verdict sends the job to the dead letters: it says so, or no attempt is left.
bool is_deadly(const Verdict& verdict);

struct WorkTotals {
  uint64_t leased = 0, acked = 0;
  uint64_t nacked = 0;  // attempts that failed, the last one of a job too
  uint64_t failed = 0;  // jobs that were said to fail for good
  uint64_t dead = 0;    // jobs that went to the dead letters, by a last nack or a fail
  uint64_t released = 0, stale = 0, fed = 0;

  void count(const Verdict& verdict, int32_t code);
  Record record(double seconds) const;
  // "worked: 1 job done, 1 dead (wq dead ls -q mail), 3 retries in 656 ms"
  std::string text(double seconds, const std::vector<std::string>& queues) const;
};

}  // namespace wq::cli
