// JobTraits: what a job uses beyond the core: limits in time, keys, chains. Stands in the job's
// envelope, is decoded once when the job becomes resident, and never changes. A job that uses none
// of it has no traits object: each place that asks for one is a test of a pointer on the hot path.
#pragma once

#include <cstdint>
#include <string_view>

namespace wq {

// What a job's key is for, and which moment of its life frees it. Numeric values are stored.
enum class KeyRule : uint8_t {
  none = 0,
  until_started = 1,  // unique among the jobs that wait for their first start
  until_done = 2,     // unique until the job ends or dies
  until_gone = 3,     // unique until the job ends: a dead one still holds it
  debounce = 4,       // a later job of the key takes the place of one that did not start
};

// What happens to a job of a group when it would be leased and its group has no free slot. Numeric
// values are stored.
enum class OverlapRule : uint8_t {
  park = 0,     // it waits for a slot, out of the way of others
  release = 1,  // it is delayed, and no attempt is counted
  skip = 2,     // it ends without having run
};
constexpr OverlapRule overlap_rule_last = OverlapRule::skip;

struct JobTraits {
  int64_t expires_ms = 0;      // wall time at which a job that did not start ends; 0 = never
  int64_t retry_until_ms = 0;  // wall time after which a lost attempt is the last; 0 = no such time
  int64_t timeout_ms = 0;      // length of its leases, unless a call says another; 0 = the queue's
  uint32_t max_exceptions = 0;   // the exception with this number is the last; 0 = no limit
  bool fail_on_timeout = false;  // a lease that runs out is the last
  KeyRule key_rule = KeyRule::none;
  std::string_view key = {};  // goes with the rule
  int64_t key_ms = 0;         // held no longer than this; debounce: the maximum wait; 0 = no end
  std::string_view idempotency_key = {};
  int64_t idempotency_ms = 0;  // how long a second job of that key is the first one

  uint64_t batch = 0;           // the batch that it is a member of; 0 = none
  std::string_view chain = {};  // an encoded NextJob that follows its ack; empty = none
  uint32_t chain_jobs = 0;      // how many jobs that is, one after another

  std::string_view group = {};  // no more than a limit of one group run at once; empty = none
  uint32_t group_limit = 0;     // 0 = the queue's
  OverlapRule overlap = OverlapRule::park;  // what becomes of it if the group has no free slot
  int64_t overlap_ms = 0;                   // OverlapRule::release: it is ready again after that

  std::string_view tenant = {};  // tenants of a queue are served by turns; empty = the common one

  std::string_view rate_key = {};  // jobs of one key share a rate; empty = none
  uint32_t rate_cost = 1;          // of it; goes with the key

  bool operator==(const JobTraits&) const = default;
  // By hand, and not by comparing: each plain job is asked several times.
  bool empty() const {
    const int64_t times_ms =
        expires_ms | retry_until_ms | timeout_ms | key_ms | idempotency_ms | overlap_ms;
    const size_t texts = key.size() | idempotency_key.size() | chain.size() | group.size() |
                         tenant.size() | rate_key.size();
    const bool rules = fail_on_timeout || key_rule != KeyRule::none || overlap != OverlapRule::park;
    return times_ms == 0 && texts == 0 && !rules &&
           (batch | max_exceptions | chain_jobs | group_limit) == 0 && rate_cost == 1;
  }
  // Whether it stands in the line of its group while it is ready.
  bool parks() const { return !group.empty() && overlap == OverlapRule::park; }
  bool has_keys() const { return key_rule != KeyRule::none || !idempotency_key.empty(); }
};

}  // namespace wq
