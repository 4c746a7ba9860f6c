// What stops the engine, and what it waits for: a checkpoint that fails, a failure in the
// background, memory that is full, and trash that no checkpoint knows of.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "support/engine_harness.h"
#include "support/store_wrapper.h"

namespace wq {
namespace {

Status try_enqueue(EngineHarness& harness, QueueId queue, std::string_view payload = "job") {
  JobSpec spec;
  spec.payload = as_bytes(payload);
  CallOptions call;
  JobId id = 0;
  return harness.engine().enqueue(queue, spec, call, id);
}

// Lets a checkpoint write its rows and fails its commit.
class FailingCheckpoint final : public CheckpointWrapper {
 public:
  using CheckpointWrapper::CheckpointWrapper;
  Status commit() override { return Status(Code::io, "db: the device is gone"); }
};

class FailingStore final : public StoreWrapper {
 public:
  FailingStore(std::unique_ptr<Store> inner, bool* fails)
      : StoreWrapper(std::move(inner)), fails_(fails) {}
  Result<std::unique_ptr<Checkpoint>> begin_checkpoint(uint64_t expected_rows) override {
    auto begun = StoreWrapper::begin_checkpoint(expected_rows);
    if (!begun.ok() || !std::exchange(*fails_, false)) return begun;
    return std::unique_ptr<Checkpoint>(
        std::make_unique<FailingCheckpoint>(std::move(begun).value()));
  }

 private:
  bool* const fails_;
};

// The rows that it captured are clean in memory and not in the store: nothing but a replay can put
// that right, so nothing changes before the store is opened again.
TEST(EngineBarrier, AFailedCheckpointStopsTheStore) {
  bool fails = false;
  HarnessOptions options;
  options.wrap_store = [&fails](std::unique_ptr<Store> store, std::shared_ptr<MemStoreContent>) {
    return std::unique_ptr<Store>(std::make_unique<FailingStore>(std::move(store), &fails));
  };
  EngineHarness harness(options);
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  for (int i = 0; i < 3; ++i) harness.enqueue(q, "job");
  fails = true;
  EXPECT_EQ(harness.engine().checkpoint().code(), Code::io);
  const Status refused = try_enqueue(harness, q);
  EXPECT_EQ(refused.code(), Code::poisoned);
  EXPECT_NE(refused.message().find("the device is gone"), std::string::npos) << refused.message();
  EXPECT_EQ(harness.engine().checkpoint().code(), Code::poisoned);
  EXPECT_TRUE(harness.engine().stats().poisoned);
  EXPECT_TRUE(harness.engine().get(q, 1).ok());  // reads go on
  EXPECT_EQ(harness.close().code(), Code::poisoned);
  ASSERT_TRUE(harness.open().ok());
  EXPECT_EQ(harness.lease(q, 5).size(), 3u);
  harness.expect_sound();
}

TEST(EngineBarrier, TheFirstFailureInTheBackgroundStays) {
  EngineHarness harness;
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  const JobId id = harness.enqueue(q, "job");
  harness.engine().poison("a page is damaged");
  harness.engine().poison("and so is another");
  const Status refused = try_enqueue(harness, q);
  EXPECT_EQ(refused.code(), Code::poisoned);
  EXPECT_NE(refused.message().find("a page is damaged"), std::string::npos) << refused.message();
  EXPECT_TRUE(harness.engine().get(q, id).ok());
  EXPECT_EQ(harness.close().code(), Code::poisoned);
  ASSERT_TRUE(harness.open().ok());
  EXPECT_TRUE(try_enqueue(harness, q).ok());
}

TEST(EngineBarrier, AProducerWaitsForMemory) {
  HarnessOptions options;
  options.engine.memory_budget_bytes = 1 << 20;
  options.engine.lane_window = 4;
  EngineHarness harness(options);
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  const std::string payload(50'000, 'x');
  uint64_t resident_max = 0;
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(try_enqueue(harness, q, payload).ok());
    resident_max = std::max(resident_max, harness.engine().stats().resident_bytes);
  }
  // What is at work, the head of the lane, and the one job that went over.
  EXPECT_LT(resident_max, 2 * options.engine.memory_budget_bytes);
  EXPECT_GT(harness.engine().stats().checkpoints, 0u);
  harness.expect_sound();
}

// Jobs are leased and cleared while a checkpoint runs, which knows of neither. Their rows have to
// outlive it: after a kill the replay starts from this checkpoint and meets the lease first.
TEST(EngineBarrier, TrashWaitsForACheckpointThatKnowsOfTheClear) {
  bool armed = false;
  EngineHarness* store = nullptr;
  QueueId q = 0;
  HarnessOptions options;
  options.between_steps = [&] {
    if (!std::exchange(armed, false)) return;
    EXPECT_EQ(store->lease(q, 2).size(), 2u);
    CallOptions call;
    EXPECT_TRUE(store->engine().clear(q, 0, call).ok());
  };
  EngineHarness harness(options);
  store = &harness;
  ASSERT_TRUE(harness.open().ok());
  q = harness.queue("q");
  for (int i = 0; i < 5; ++i) harness.enqueue(q, "job");
  ASSERT_TRUE(harness.engine().checkpoint().ok());
  harness.enqueue(q, "job");
  armed = true;
  ASSERT_TRUE(harness.engine().checkpoint().ok());
  EXPECT_FALSE(armed);
  const Status status = harness.kill_and_open();
  ASSERT_TRUE(status.ok()) << status.message();
  harness.expect_sound();
  EXPECT_EQ(harness.engine().queue_stats(q).value().counts[static_cast<size_t>(JobState::leased)],
            2u);
}

}  // namespace
}  // namespace wq
