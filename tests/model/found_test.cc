// Defects that the model and crash tests found, each as the shortest way to see it again.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

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

// Short of memory, with the earliest due jobs only in the store and later ones in memory: the
// maintenance thread could neither promote nor load, took the later ones for due, and went round
// without letting the mutex go, which the checkpoint needed to free memory.
TEST(Found, DueJobsBehindColdOnesDoNotStopTheStore) {
  constexpr size_t jobs = 200;
  const std::string payload(500, 'x');
  std::vector<JobSpec> specs(jobs);
  for (JobSpec& spec : specs) spec.payload = as_bytes(payload);
  for (int round = 0; round < 5; ++round) {
    std::atomic<bool> armed{false};
    EngineHarness* holding = nullptr;
    HarnessOptions options = small_memory();
    options.engine.threads = true;
    // Between the steps of the checkpoint that the second lot asks for: its time comes, and the
    // maintenance thread wakes up for it.
    options.between_steps = [&] {
      if (!armed.exchange(false)) return;
      holding->clock().step_wall(1);
      for (int i = 0; i < 3'000; ++i) {
        holding->engine().stats();
        std::this_thread::yield();
      }
    };
    EngineHarness harness(options);
    holding = &harness;
    ASSERT_TRUE(harness.open().ok());
    const QueueId q = harness.queue("q");
    CallOptions call;
    for (JobSpec& spec : specs) spec.delay_ms = 70'000;
    ASSERT_TRUE(harness.engine().enqueue_many(q, specs, false, call, {}).ok());
    ASSERT_TRUE(harness.engine().checkpoint().ok());  // now they are only in the store
    harness.clock().step_wall(80'000);
    for (JobSpec& spec : specs) spec.delay_ms = 1;
    armed = true;
    ASSERT_TRUE(harness.engine().enqueue_many(q, specs, false, call, {}).ok());
    ASSERT_TRUE(harness.engine().checkpoint().ok());
    harness.clock().step_wall(1);  // a checkpoint of the first lot may have taken the step
    for (size_t i = 0; i < jobs * 2; ++i) {
      const auto got = harness.lease(q);
      ASSERT_EQ(got.size(), 1u) << "round " << round << " job " << i;
      ASSERT_EQ(harness.ack(q, got[0].id, got[0].generation), Code::ok);
    }
    ASSERT_TRUE(harness.close().ok());
  }
}

// The barrier of RocksDB's manifest failed, the record was there all the same, and RocksDB had
// removed the files that it names: the store could not be opened any more.
TEST(Found, FilesThatAFailedManifestMayNameAreKept) {
  for (uint64_t skip = 0;; ++skip) {
    SCOPED_TRACE(skip);
    HarnessOptions options;
    options.store = StoreKind::sim_rocks;
    options.batch_rows_max = 4;  // files, not a batch
    EngineHarness harness(options);
    ASSERT_TRUE(harness.open().ok());
    const QueueId q = harness.queue("q");
    for (int i = 0; i < 20; ++i) harness.enqueue(q, "a job");
    SimFault fault{.ops = sim_syncs, .path = "MANIFEST", .skip = skip, .keep_data = true};
    const size_t number = harness.disk().inject(fault);
    const Status status = harness.engine().checkpoint();
    if (harness.disk().fault_hits(number) == 0) {
      ASSERT_GT(skip, 0u);
      break;
    }
    EXPECT_FALSE(status.ok());
    EXPECT_FALSE(harness.close().ok());
    harness.disk().clear_faults();
    const Status opened = harness.open();
    ASSERT_TRUE(opened.ok()) << opened.message();
    EXPECT_EQ(harness.lease(q, 100).size(), 20u);
    harness.expect_sound();
  }
}

}  // namespace
}  // namespace wq
