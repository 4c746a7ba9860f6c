// The engine's life cycle of a job, on the simulated disk and the memory store.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/engine_harness.h"

namespace wq {
namespace {

TEST(EngineBasic, EnqueueLeaseAckSurvivesReopen) {
  EngineHarness harness;
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  const JobId a = harness.enqueue(q, "a");
  const JobId b = harness.enqueue(q, "b");
  auto jobs = harness.lease(q, 10);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].id, a);
  EXPECT_EQ(payload_of(jobs[0]), "a");
  EXPECT_EQ(jobs[1].id, b);
  EXPECT_EQ(harness.ack(q, a, jobs[0].generation), Code::ok);
  EXPECT_EQ(harness.ack(q, a, jobs[0].generation), Code::stale);
  harness.expect_sound();
  ASSERT_TRUE(harness.close().ok());
  ASSERT_TRUE(harness.open().ok());
  harness.expect_sound();
  auto stats = harness.engine().queue_stats(q);
  ASSERT_TRUE(stats.ok());
  EXPECT_EQ(stats->counts[static_cast<size_t>(JobState::leased)], 1u);
  EXPECT_EQ(harness.ack(q, b, jobs[1].generation), Code::ok);
  harness.expect_sound();
}

TEST(EngineBasic, KilledProcessLosesNothing) {
  for (const StoreKind kind : {StoreKind::memory, StoreKind::rocks}) {
    HarnessOptions options;
    options.store = kind;
    EngineHarness harness(options);
    ASSERT_TRUE(harness.open().ok());
    const QueueId q = harness.queue("q");
    for (int i = 0; i < 100; ++i) harness.enqueue(q, std::to_string(i));
    auto first = harness.lease(q, 10);
    ASSERT_EQ(first.size(), 10u);
    ASSERT_TRUE(harness.engine().checkpoint().ok());
    for (size_t i = 0; i < 5; ++i)
      EXPECT_EQ(harness.ack(q, first[i].id, first[i].generation), Code::ok);
    ASSERT_TRUE(harness.kill_and_open().ok());
    harness.expect_sound();
    harness.advance(60'001);
    int seen = 0;
    for (;;) {
      auto jobs = harness.lease(q, 7);
      if (jobs.empty()) break;
      for (const JobView& job : jobs) {
        EXPECT_EQ(harness.ack(q, job.id, job.generation), Code::ok);
        ++seen;
      }
    }
    EXPECT_EQ(seen, 95);
    harness.expect_sound();
  }
}

TEST(EngineBasic, ColdBacklogDrainsInOrder) {
  for (const StoreKind kind : {StoreKind::memory, StoreKind::rocks}) {
    HarnessOptions options;
    options.store = kind;
    options.engine.memory_budget_bytes = 64 * 1024;
    options.engine.lane_window = 16;
    EngineHarness harness(options);
    ASSERT_TRUE(harness.open().ok());
    QueueConfig config;
    config.durability = Durability::process;  // thousands of calls, and no power cut in this test
    const QueueId q = harness.queue("q", config, config_durability);
    std::vector<JobId> ids;
    for (int i = 0; i < 2000; ++i) ids.push_back(harness.enqueue(q, std::to_string(i)));
    EXPECT_LT(harness.engine().stats().resident_jobs, 600u);
    harness.expect_sound();
    for (int i = 0; i < 2000; ++i) {
      auto jobs = harness.lease(q);
      ASSERT_EQ(jobs.size(), 1u) << i;
      ASSERT_EQ(jobs[0].id, ids[static_cast<size_t>(i)]);
      ASSERT_EQ(payload_of(jobs[0]), std::to_string(i));
      ASSERT_EQ(harness.ack(q, jobs[0].id, jobs[0].generation), Code::ok);
      if (i == 700) {
        ASSERT_TRUE(harness.kill_and_open().ok());
      }
    }
    EXPECT_TRUE(harness.lease(q).empty());
    harness.expect_sound();
  }
}

TEST(EngineBasic, DelayedJobsComeOutInDueOrderHotOrCold) {
  HarnessOptions options;
  options.engine.memory_budget_bytes = 32 * 1024;
  EngineHarness harness(options);
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  for (int i = 0; i < 500; ++i) {
    JobSpec spec;
    spec.delay_ms = 100'000'000 - i * 1000;
    harness.enqueue(q, std::to_string(i), spec);
  }
  ASSERT_TRUE(harness.engine().checkpoint().ok());
  EXPECT_LT(harness.engine().stats().resident_jobs, 500u);
  EXPECT_TRUE(harness.lease(q).empty());
  ASSERT_TRUE(harness.kill_and_open().ok());
  harness.expect_sound();
  harness.advance(100'000'000);
  for (int i = 499; i >= 0; --i) {
    auto jobs = harness.lease(q);
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(payload_of(jobs[0]), std::to_string(i));
  }
  harness.expect_sound();
}

// Found by the model: the cold range of a lane can span rows of an earlier clear.
TEST(EngineBasic, JobPutToTheFrontAfterClearIsFoundAfterReopen) {
  EngineHarness harness;
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  harness.enqueue(q, "cleared");
  ASSERT_TRUE(harness.engine().checkpoint().ok());
  CallOptions call;
  ASSERT_TRUE(harness.engine().clear(q, state_bit(JobState::ready), call).ok());
  harness.enqueue(q, "kept");
  const auto jobs = harness.lease(q);
  ASSERT_EQ(jobs.size(), 1u);
  ASSERT_EQ(harness.nack(q, jobs[0].id, jobs[0].generation, 0, settle_front), Code::ok);
  // The power goes between the checkpoint and the sweep of what was cleared.
  ASSERT_TRUE(harness.close().ok());
  ASSERT_TRUE(harness.open().ok());
  const auto again = harness.lease(q);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(payload_of(again[0]), "kept");
  harness.expect_sound();
}

// Maintenance looks at the free space once a second; a producer can fill the disk in between.
TEST(EngineBasic, ASmallFileSystemHasSmallParts) {
  const EngineOptions large = options_for_disk(UINT64_MAX);
  const EngineOptions standard;
  EXPECT_EQ(large.segment_bytes, standard.segment_bytes);
  EXPECT_EQ(large.checkpoint_log_bytes, standard.checkpoint_log_bytes);
  EXPECT_EQ(large.disk_reserve_bytes, standard.disk_reserve_bytes);
  EXPECT_EQ(large.store_buffer_bytes, standard.store_buffer_bytes);
  for (const uint64_t mib : {4, 16, 100, 511}) {
    const uint64_t capacity_bytes = mib << 20;
    const EngineOptions small = options_for_disk(capacity_bytes);
    EXPECT_EQ(small.segment_bytes % (1 << 20), 0u);
    const uint64_t spares_bytes = small.spare_segments * small.segment_bytes;
    EXPECT_LE(spares_bytes + small.disk_reserve_bytes, capacity_bytes * 3 / 4);
    EXPECT_LE(small.checkpoint_log_bytes, capacity_bytes / 4);
    EXPECT_LE(small.store_buffer_bytes * 2, std::max<uint64_t>(small.disk_reserve_bytes, 1 << 19));
  }
}

TEST(EngineBasic, TheReserveOfTheDiskHoldsBetweenTwoLooks) {
  HarnessOptions options;
  options.engine.disk_reserve_bytes = 8 << 20;
  options.engine.segment_bytes = 1 << 20;
  options.engine.spare_segments = 0;
  EngineHarness harness(options);
  harness.disk().set_capacity(32 << 20);
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  const std::string payload(100'000, 'x');
  JobSpec spec;
  spec.payload = as_bytes(payload);
  CallOptions call;
  JobId id = 0;
  Status status;
  size_t jobs = 0;
  for (; status.ok() && jobs < 1'000; ++jobs) {
    status = harness.engine().enqueue(q, spec, call, id);
  }
  EXPECT_EQ(status.code(), Code::no_space) << jobs << " jobs: " << status.message();
  EXPECT_GT(jobs, 100u);
  const auto leased = harness.lease(q);
  ASSERT_EQ(leased.size(), 1u);
  EXPECT_EQ(harness.ack(q, leased[0].id, leased[0].generation), Code::ok);
}

// RocksDB can not open without room for a new file; the log's spare segments have it.
TEST(EngineBasic, AFullDiskOpensInTheRoomOfASpareSegment) {
  HarnessOptions options;
  options.engine.segment_bytes = 1 << 20;
  options.engine.spare_segments = 2;
  EngineHarness harness(options);
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  harness.enqueue(q, "j");
  while (harness.engine().tick().value() == 0) {
  }
  const auto spares = [&] {
    const std::vector<std::string> files = harness.disk().files();
    return std::count_if(files.begin(), files.end(), [](const std::string& path) {
      return path.find("spare") != std::string::npos;
    });
  };
  for (int i = 0; i < 100 && spares() < 2; ++i) ASSERT_TRUE(harness.engine().tick().ok());
  ASSERT_TRUE(harness.close().ok());
  const auto left = spares();
  ASSERT_GE(left, 1);  // the log may have gone on in one of them
  harness.options().refuse_store = [&] {
    return spares() == left ? Status(Code::no_space, "full") : Status();
  };
  ASSERT_TRUE(harness.open().ok());
  EXPECT_EQ(harness.lease(q).size(), 1u);
}

}  // namespace
}  // namespace wq
