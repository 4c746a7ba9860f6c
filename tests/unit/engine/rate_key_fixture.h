// What the tests of rate keys and of their throttle share: jobs of a key, leases, and what may come
// in between.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/engine_harness.h"

namespace wq {

class RateKeyFixture : public testing::TestWithParam<StoreKind> {
 protected:
  RateKeyFixture() : harness_(options()) { EXPECT_TRUE(harness_.open().ok()); }
  static HarnessOptions options() {
    HarnessOptions options;
    options.store = GetParam();
    options.engine.segment_bytes = 1u << 20;  // what a kill has to copy
    options.engine.spare_segments = 0;
    return options;
  }
  Engine& engine() { return harness_.engine(); }
  JobId push(QueueId q, std::string_view payload, std::string_view key, uint32_t cost = 1,
             uint8_t priority = default_priority) {
    JobSpec spec;
    spec.payload = as_bytes(payload);
    spec.priority = priority;
    spec.traits.rate_key = key;
    spec.traits.rate_cost = cost;
    CallOptions call;
    call.durability = static_cast<uint32_t>(Durability::process);  // survives the kills
    JobId id = 0;
    const Status status = engine().enqueue(q, spec, call, id);
    EXPECT_TRUE(status.ok()) << status.message();
    return id;
  }
  // Leases all that can be and gives their payloads; one call ends at a job only in the store.
  std::string take(QueueId q) {
    std::string out;
    for (;;) {
      const std::vector<JobView> jobs = harness_.lease(q, 100, 3'600'000);
      if (jobs.empty()) return out;
      for (const JobView& job : jobs) out += (out.empty() ? "" : " ") + payload_of(job);
    }
  }
  QueueStats stats(QueueId q) { return engine().queue_stats(q).value(); }
  void checkpoint() { ASSERT_TRUE(engine().checkpoint().ok()); }
  void reopen() {
    ASSERT_TRUE(harness_.close().ok());
    ASSERT_TRUE(harness_.open().ok());
  }
  void kill() { ASSERT_TRUE(harness_.kill_and_open().ok()); }
  void disturb(int how) {
    if (how == 1 || how == 4) checkpoint();
    if (how == 2) reopen();
    if (how >= 3) kill();
  }

  EngineHarness harness_;
};

}  // namespace wq
