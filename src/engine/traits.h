// JobTraits: what a job uses beyond the core: limits in time, keys, chains. Stands in the job's
// envelope, is decoded once when the job becomes resident, and never changes. A job that uses none
// of it has no traits object: each place that asks for one is a test of a pointer on the hot path.
#pragma once

#include <cstdint>
#include <string_view>

namespace wq {

struct JobTraits {
  int64_t expires_ms = 0;      // wall time at which a job that did not start ends; 0 = never
  int64_t retry_until_ms = 0;  // wall time after which a lost attempt is the last; 0 = no such time

  uint64_t batch = 0;           // the batch that it is a member of; 0 = none
  std::string_view chain = {};  // an encoded NextJob that follows its ack; empty = none
  uint32_t chain_jobs = 0;      // how many jobs that is, one after another

  bool operator==(const JobTraits&) const = default;
  bool empty() const { return *this == JobTraits(); }
};

}  // namespace wq
