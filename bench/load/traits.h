// What the jobs of a run use of the engine besides being queued, so that the price of it shows.
#pragma once

#include <wq.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace wq::bench {

struct Traits {
  bool unique = false;    // a key of its own for each job, held until it is done
  bool group = false;     // one of 1,000 groups, of each of which 64 jobs run at once
  bool rate = false;      // a rate of the queue that no run comes near
  bool rate_key = false;  // the same for each of 1,000 keys; not together with a group
  bool tenant = false;    // one of 100,000 tenants

  bool any() const { return unique || group || rate || rate_key || tenant; }
  // Jobs may have to wait though they are ready.
  bool may_wait() const { return group || rate || rate_key; }
};

// From words with commas between them: "unique,group,rate". Fails the run at an unknown one.
Traits parse_traits(const std::string& words);

// The configuration of a queue that goes with them.
wq_queue_config traits_config(const Traits& traits);

// Gives jobs their keys. The keys of a call are valid until the next one.
class TraitMaker {
 public:
  explicit TraitMaker(const Traits& traits) : traits_(traits) {}
  // `specs` are those of the jobs first_id, first_id + 1, ... Without traits nothing is touched.
  void set(std::span<wq_job_spec> specs, uint64_t first_id);

 private:
  struct Keys {
    uint64_t unique, group, rate_key, tenant;
  };
  const Traits traits_;
  std::vector<Keys> keys_;
};

}  // namespace wq::bench
