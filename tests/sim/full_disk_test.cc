// A full disk in the simulation, by a quota: enqueue is refused with NO_SPACE before the log can
// fail, everything that makes the store smaller goes on in the reserve, and when there is room
// again so does enqueue. full_disk_real_test.cc does it to a real file system.
//
//   WQ_LONG=1    200 cycles instead of a few
#include <gtest/gtest.h>

#include "sim/filling.h"
#include "test_seed.h"

namespace wq::sim {
namespace {

// The memory store takes no room: here the log fills the disk, and a checkpoint empties it.
TEST(FullDisk, OfTheLog) {
  HarnessOptions options = options_of(StoreKind::memory, 64 << 10, 1 << 20);
  options.engine.memory_budget_bytes = 1 << 30;
  options.engine.checkpoint_log_bytes = 1 << 30;
  Filling filling(options, test_seed(), 3'000);
  filling.tick_while_filling = false;  // a checkpoint would make room each time
  constexpr uint64_t capacity_bytes = 4 << 20;
  filling.harness().disk().set_capacity(capacity_bytes);
  run_cycles(filling, [&](bool more) {
    filling.harness().disk().set_capacity(more ? capacity_bytes * 2 : capacity_bytes);
  });
}

TEST(FullDisk, OfTheLogAndRocksDb) {
  Filling filling(options_of(StoreKind::sim_rocks, 1 << 20, 64 << 20), test_seed(), 100'000);
  constexpr uint64_t capacity_bytes = 96 << 20;
  filling.harness().disk().set_capacity(capacity_bytes);
  run_cycles(filling, [&](bool more) {
    filling.harness().disk().set_capacity(more ? capacity_bytes * 2 : capacity_bytes);
  });
}

// Somebody else takes all that is left, the reserve too. What is held is settled all the same: each
// checkpoint that has no room for itself takes a spare segment of the log, or waits.
TEST(FullDisk, OfSomebodyElsesFile) {
  HarnessOptions options = options_of(StoreKind::sim_rocks, 4 << 20, 8 << 20);
  options.engine.spare_segments = 2;
  options.engine.checkpoint_log_bytes = 256 << 10;
  Filling filling(options, test_seed(), 2'000);
  SimDisk& disk = filling.harness().disk();
  constexpr uint64_t capacity_bytes = 96 << 20;
  disk.set_capacity(capacity_bytes);
  filling.open();
  for (int i = 0; i < 2'000; ++i) {
    ASSERT_EQ(filling.enqueue(), Code::ok);
    if (i % 100 == 0) filling.tick();
  }
  // What the store gives up for its own sake is taken as well.
  for (uint64_t left_bytes = capacity_bytes, i = 0; i < 5; ++i) {
    left_bytes -= disk.mount()->free_bytes(filling.harness().directory()).value();
    disk.set_capacity(left_bytes);
    filling.tick();
  }
  EXPECT_EQ(filling.enqueue(), Code::no_space);
  while (filling.held() > 0 && !HasFatalFailure()) {
    filling.settle(20);
    filling.tick();
  }
  filling.expect_all_there();
  disk.set_capacity(capacity_bytes);
  filling.tick();
  EXPECT_EQ(filling.enqueue(), Code::ok);
  const Status checkpoint = filling.harness().engine().checkpoint();
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.message();
  filling.expect_all_there();
}

// Somebody else takes the last byte of a disk on which no spare segment was ever made. Changes are
// refused before the log has them, whatever they are, and go on when there is room again.
TEST(FullDisk, OfALogThatGrows) {
  HarnessOptions options = options_of(StoreKind::memory, 4 << 20, 0);
  options.engine.spare_segments = 0;
  EngineHarness harness(options);
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  for (int i = 0; i < 10; ++i) harness.enqueue(q, "ready");
  JobSpec later;
  later.delay_ms = 1'000;
  harness.enqueue(q, "delayed", later);
  const auto leased = harness.lease(q, 2);
  ASSERT_EQ(leased.size(), 2u);
  ASSERT_TRUE(harness.engine().sync().ok());
  SimDisk& disk = harness.disk();
  constexpr uint64_t capacity_bytes = 96 << 20;
  disk.set_capacity(capacity_bytes);
  disk.set_capacity(capacity_bytes - disk.mount()->free_bytes(harness.directory()).value());
  CallOptions call;
  JobId id = 0;
  EXPECT_EQ(harness.engine().enqueue(q, JobSpec(), call, id).code(), Code::no_space);
  EXPECT_EQ(harness.ack(q, leased[0].id, leased[0].generation), Code::no_space);
  LeaseRequest request;
  request.queues = std::span(&q, 1);
  std::vector<JobView> jobs;
  EXPECT_EQ(harness.engine().lease(request, call, jobs).code(), Code::no_space);
  harness.clock().advance(2'000);
  EXPECT_EQ(harness.engine().tick().status().code(), Code::no_space);
  EXPECT_FALSE(harness.engine().stats().poisoned);
  EXPECT_TRUE(harness.engine().get(q, leased[1].id).ok());
  harness.expect_sound();
  disk.set_capacity(capacity_bytes);
  harness.tick();
  EXPECT_EQ(harness.ack(q, leased[0].id, leased[0].generation), Code::ok);
  EXPECT_EQ(harness.lease(q, 100).size(), 9u);
  ASSERT_TRUE(harness.kill_and_open().ok());
  EXPECT_EQ(harness.engine().queue_stats(q).value().totals.acked, 1u);
  harness.expect_sound();
}

// What is refused because the log has no room leaves the jobs of the store where they were.
TEST(FullDisk, StoredJobsStayWhereTheyWere) {
  HarnessOptions options = options_of(StoreKind::memory, 4 << 20, 0);
  options.engine.spare_segments = 0;
  options.engine.memory_budget_bytes = 16 << 10;
  options.engine.lane_window = 4;
  EngineHarness harness(options);
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  constexpr size_t jobs = 100;
  std::vector<JobId> ids;
  for (size_t i = 0; i < jobs; ++i) ids.push_back(harness.enqueue(q, std::string(500, 'x')));
  const auto dying = harness.lease(q, 20);
  for (const JobView& job : dying) {
    SettleItem fail;
    fail.kind = SettleKind::fail;
    fail.id = job.id;
    fail.generation = job.generation;
    ASSERT_EQ(harness.settle(q, fail), Code::ok);
  }
  Engine& engine = harness.engine();
  ASSERT_TRUE(engine.checkpoint().ok());
  ASSERT_LT(engine.stats().resident_jobs, jobs / 2);
  SimDisk& disk = harness.disk();
  constexpr uint64_t capacity_bytes = 96 << 20;
  disk.set_capacity(capacity_bytes);
  disk.set_capacity(capacity_bytes - disk.mount()->free_bytes(harness.directory()).value());
  CallOptions call;
  EXPECT_EQ(engine.cancel(q, ids.back(), call).code(), Code::no_space);
  EXPECT_EQ(engine.reprioritise(q, ids[60], 3, call).code(), Code::no_space);
  const Token token{dying[0].id, dying[0].generation};
  EXPECT_EQ(engine.dead_replay(q, token, call).code(), Code::no_space);
  DeadBulkReport report;
  EXPECT_EQ(engine.dead_bulk(q, DeadBulk(), call, report).code(), Code::no_space);
  harness.expect_sound();
  disk.set_capacity(capacity_bytes);
  EXPECT_TRUE(engine.dead_replay(q, token, call).ok());
  size_t leased = 0;
  for (size_t more = 1; more != 0; leased += more) more = harness.lease(q, 10).size();
  EXPECT_EQ(leased, jobs - dying.size() + 1);
  harness.expect_sound();
}

// Half of the reserve may be spare segments, and those above that are given up: a store does not
// keep itself from taking jobs.
TEST(FullDisk, ItsOwnSparesAreAPartOfTheReserve) {
  HarnessOptions options = options_of(StoreKind::memory, 4 << 20, 16 << 20);
  options.engine.spare_segments = 4;
  EngineHarness harness(options);
  SimDisk& disk = harness.disk();
  disk.set_capacity(30 << 20);
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  while (harness.engine().tick().value() == 0) {
  }
  for (int i = 0; i < 10; ++i) harness.tick();
  const uint64_t spares = harness.engine().stats().log.segments_spare;
  EXPECT_GE(spares, 2u);
  harness.enqueue(q, "there is room");
  const uint64_t free_bytes = disk.mount()->free_bytes(harness.directory()).value();
  EXPECT_LT(free_bytes, 16u << 20);
  EXPECT_GE(free_bytes, 8u << 20);
  disk.set_capacity((30 << 20) - free_bytes + (7 << 20));  // a MiB short, if it kept all of them
  harness.tick();
  EXPECT_LT(harness.engine().stats().log.segments_spare, spares);
}

// Not even a spare segment makes room: the checkpoint waits, settling goes on, and when there is
// room again the same checkpoint is made, then one of what came after it.
TEST(FullDisk, ACheckpointWaitsForRoom) {
  HarnessOptions options = options_of(StoreKind::sim_rocks, 1 << 20, 4 << 20);
  options.engine.spare_segments = 1;
  Filling filling(options, test_seed(), 2'000);
  SimDisk& disk = filling.harness().disk();
  constexpr uint64_t capacity_bytes = 96 << 20;
  disk.set_capacity(capacity_bytes);
  filling.open();
  Engine& engine = filling.harness().engine();
  for (int i = 0; i < 10; ++i) filling.tick();  // the log goes on in a segment of whole length
  for (int i = 0; i < 100; ++i) ASSERT_EQ(filling.enqueue(), Code::ok);
  const uint64_t free_bytes = disk.mount()->free_bytes(filling.harness().directory()).value();
  disk.set_capacity(capacity_bytes - free_bytes);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(engine.checkpoint().code(), Code::no_space);
    filling.settle(10);
    filling.tick();
    EXPECT_FALSE(engine.stats().poisoned);
  }
  disk.set_capacity(capacity_bytes);
  const Status checkpoint = engine.checkpoint();
  ASSERT_TRUE(checkpoint.ok()) << checkpoint.message();
  EXPECT_EQ(engine.stats().log.segments_live, 1u);
  filling.expect_all_there();
  ASSERT_TRUE(filling.harness().kill_and_open().ok());
  EXPECT_EQ(filling.harness().engine().recovery().records_replayed, 0u);
  filling.expect_all_there();
}

}  // namespace
}  // namespace wq::sim
