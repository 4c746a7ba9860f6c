// The thread of crash_child that keeps a ledger: chains, flows, rows that count, transactions and a
// schedule, each with a queue of its own. It makes one call after another, so that what it told
// before a kill is the order in which all of it happened (protocol.h, ledger.h). Thread model: one
// thread.
#pragma once

#include <string>
#include <vector>

#include "base/prng.h"
#include "crash/child.h"

namespace wq::crash {

class Ledger {
 public:
  // What it makes has numbers from `first` on.
  Ledger(Shared& shared, uint64_t seed, uint64_t first)
      : shared_(shared), prng_(seed), next_(first) {}

  // `path` has lines "f flow id" and "t n id". Makes the schedule, if it is not there.
  void tell_known(const std::string& path);
  void step();
  // From here on nothing new comes: no slot of the schedule either.
  void begin_drain();
  void drain_step();
  void tell_flows();

 private:
  struct Flow {
    uint64_t number = 0;
    uint64_t id = 0;
    bool sealed = false;
  };
  struct Held {
    uint64_t a = 0;
    uint64_t b = 0;
    Token token;
  };

  uint32_t pick_level();
  bool has_room(uint32_t queue, uint64_t jobs_max);
  void tell_rows();
  void put_schedule();
  void start_chain();
  void start_flow();
  void work_on_flow();
  void join_flow(Flow& flow);
  void seal_flow(Flow& flow);
  void add_to_counter();
  void transact();
  std::vector<Held> lease(uint32_t queue, uint32_t max_jobs);
  void ack(const Held& held);

  Shared& shared_;
  Prng prng_;
  uint64_t next_;
  uint32_t level_ = 0;             // of every call, if not 0
  std::vector<Flow> flows_;        // not sealed yet
  std::vector<Flow> known_flows_;  // to be told of; id 0: it is not there
};

}  // namespace wq::crash
