// A store that is filled until the disk is full, settled in the reserve, and emptied, over and
// over, with a book on the jobs that it was given: none may be lost, none come back. Thread model:
// one thread.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/prng.h"
#include "quantity.h"
#include "support/engine_harness.h"

namespace wq::sim {

inline int cycles() {
  return scaled(4, 200);
}

class Filling {
 public:
  Filling(const HarnessOptions& options, uint64_t seed, size_t payload_bytes)
      : prng_(seed), harness_(options), payload_bytes_(payload_bytes) {}

  EngineHarness& harness() { return harness_; }
  size_t held() const { return jobs_.size(); }

  void open() {
    const Status status = harness_.open();
    ASSERT_TRUE(status.ok()) << status.message();
    queue_ = harness_.queue("full");
  }

  Code enqueue() {
    std::string payload(payload_bytes_, ' ');
    for (char& c : payload) c = static_cast<char>(prng_.next());  // not to be compressed
    JobSpec spec;
    spec.payload = as_bytes(payload);
    CallOptions call;
    JobId id = 0;
    const Status status = harness_.engine().enqueue(queue_, spec, call, id);
    if (status.ok()) {
      jobs_.insert(id);
    } else {
      EXPECT_EQ(status.code(), Code::no_space) << status.message();
    }
    return status.code();
  }

  // Until there is no room; the maintenance has its turn in between, if it shall.
  bool tick_while_filling = true;
  void fill() {
    constexpr int enqueues_max = 100'000;
    for (int i = 0; i < enqueues_max; ++i) {
      if (enqueue() != Code::ok) return;
      if (tick_while_filling && i % 16 == 0) tick();
    }
    FAIL() << "the disk does not get full";
  }

  // Half of the jobs taken come back once; the others end.
  void settle(uint32_t most) {
    const std::vector<JobView> jobs = harness_.lease(queue_, most);
    for (const JobView& job : jobs) {
      ASSERT_TRUE(jobs_.contains(job.id)) << "job " << job.id << " was never given or has ended";
      if (job.attempts == 1 && job.id % 2 == 0) {
        ASSERT_EQ(harness_.nack(queue_, job.id, job.generation, 0), Code::ok);
      } else {
        ASSERT_EQ(harness_.ack(queue_, job.id, job.generation), Code::ok);
        jobs_.erase(job.id);
      }
    }
  }

  void tick() {
    const Result<int64_t> next = harness_.engine().tick();
    ASSERT_TRUE(next.ok()) << next.status().message();
  }

  void expect_all_there() {
    EXPECT_FALSE(harness_.engine().stats().poisoned);
    const Result<QueueStats> stats = harness_.engine().queue_stats(queue_);
    ASSERT_TRUE(stats.ok());
    uint64_t there = 0;
    for (size_t i = 1; i < job_state_count; ++i) there += stats.value().counts[i];
    EXPECT_EQ(there, jobs_.size());
    harness_.expect_sound();
  }

 private:
  Prng prng_;
  EngineHarness harness_;
  const size_t payload_bytes_;
  QueueId queue_ = 0;
  std::set<JobId> jobs_;  // accepted and not acknowledged
};

// `more_room`: called in every other cycle in place of emptying the store.
inline void run_cycles(Filling& filling, const std::function<void(bool)>& more_room) {
  filling.open();
  for (int cycle = 0; cycle < cycles() && !testing::Test::HasFatalFailure(); ++cycle) {
    SCOPED_TRACE("cycle " + std::to_string(cycle));
    filling.fill();
    const size_t held = filling.held();
    ASSERT_GT(held, 0u);
    for (int i = 0; i < 20; ++i) filling.settle(2);
    filling.expect_all_there();
    if (cycle % 3 == 2) {  // and opened on a full disk
      ASSERT_TRUE(filling.harness().close().ok());
      filling.open();
    }
    if (more_room && cycle % 2 == 1) {
      more_room(true);
      filling.tick();
      EXPECT_EQ(filling.enqueue(), Code::ok);
      more_room(false);
    }
    while (filling.held() > 0 && !testing::Test::HasFatalFailure()) {
      filling.settle(20);
      filling.tick();
    }
    const Status checkpoint = filling.harness().engine().checkpoint();
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.message();
    filling.tick();
    EXPECT_EQ(filling.enqueue(), Code::ok) << "the store is empty, and there is no room";
    filling.expect_all_there();
    if (cycle % 50 == 0) {
      std::printf("cycle %d: %zu jobs filled the disk\n", cycle, held);
      std::fflush(stdout);
    }
  }
}

inline HarnessOptions options_of(StoreKind store, uint64_t segment_bytes, uint64_t reserve_bytes) {
  HarnessOptions options;
  options.store = store;
  options.engine.segment_bytes = segment_bytes;
  options.engine.spare_segments = 1;
  options.engine.disk_reserve_bytes = reserve_bytes;
  options.engine.memory_budget_bytes = 1 << 20;
  options.engine.checkpoint_log_bytes = segment_bytes * 2;
  return options;
}

}  // namespace wq::sim
