// A thread of crash_child that works on the queues with numbers: every job is told with its number,
// every call before and after it is made (protocol.h). Thread model: one thread for each Worker.
#pragma once

#include <vector>

#include "base/prng.h"
#include "crash/child.h"

namespace wq::crash {

class Worker {
 public:
  // One of them, at most, has the scratch queue.
  Worker(Shared& shared, uint64_t seed, bool scratch)
      : shared_(shared), prng_(seed), scratch_(scratch) {}

  void step();
  // Takes everything there is. Leases that run are settled with their tokens, or awaited.
  void drain_step();

 private:
  uint32_t pick_level();
  uint32_t any_queue();
  void enqueue(uint32_t queue, size_t n);
  std::vector<Token> lease(uint32_t max_jobs, int64_t wait_ms);
  std::vector<Token> lease_from(const std::vector<uint32_t>& order, uint32_t max_jobs,
                                int64_t wait_ms);
  void lease_and_settle();
  int32_t settle(const Token& token, char kind);
  int32_t settle_call(const Token& token, char kind, int64_t run_ms, wq_call* call, wq_error* err);
  void settle_many(const std::vector<Token>& tokens);
  void settle_some_token();
  std::vector<Token> list_dead(uint32_t queue);
  void visit_dead();
  bool sweep(uint32_t queue, char kind);
  void use_scratch();

  Shared& shared_;
  Prng prng_;
  const bool scratch_;
  uint32_t level_ = 0;  // of every call, if not 0
};

}  // namespace wq::crash
