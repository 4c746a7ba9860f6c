// Defects that the model and crash tests found, each as the shortest way to see it again.
#include <gtest/gtest.h>

#include "support/engine_harness.h"

namespace wq {
namespace {

HarnessOptions small_memory() {
  HarnessOptions options;
  options.engine.memory_budget_bytes = 16 * 1024;
  options.engine.lane_window = 4;
  options.engine.segment_bytes = 64 * 1024;
  options.engine.spare_segments = 0;
  return options;
}

// The head held only jobs that had been put to the front; the age was told from them alone.
TEST(Found, OldestReadyAgeLooksBehindJobsPutToTheFront) {
  EngineHarness harness(small_memory());
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  for (int i = 0; i < 100; ++i) harness.enqueue(q, "a job");
  const auto jobs = harness.lease(q, 1);
  ASSERT_EQ(jobs.size(), 1u);
  harness.clock().advance(5'000);
  ASSERT_EQ(harness.nack(q, jobs[0].id, jobs[0].generation, 0, settle_front), Code::ok);
  ASSERT_TRUE(harness.kill_and_open().ok());
  EXPECT_EQ(harness.engine().queue_stats(q)->oldest_ready_age_ms, 5'000);
}

}  // namespace
}  // namespace wq
