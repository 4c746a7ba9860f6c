// Reported bugs about batches whose last jobs end at the same moment: case 28, and scenario 40 of
// PrismGo. What needs no threads and no power cut is in tests/unit/engine/flow_test.cc.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "bugs/real_store.h"
#include "bugs/small_store.h"
#include "engine/batch.h"

namespace wq {
namespace {

uint64_t make_batch(Engine& engine, std::string_view queue, bool allow_failures) {
  NextSpec complete{queue, {}};
  complete.job.payload = as_bytes("complete");
  NextSpec failure{queue, {}};
  failure.job.payload = as_bytes("failure");
  const BatchSpec spec{allow_failures, &complete, &failure};
  CallOptions call = in_memory();
  const Result<uint64_t> batch = engine.batch_create(spec, call);
  EXPECT_TRUE(batch.ok()) << batch.status().message();
  return batch.ok() ? batch.value() : 0;
}

void fill(Engine& engine, QueueId queue, uint64_t batch, int members) {
  for (int i = 0; i < members; ++i) {
    JobSpec spec;
    spec.payload = as_bytes("m");
    spec.traits.batch = batch;
    CallOptions call = in_memory();
    JobId id = 0;
    ASSERT_TRUE(engine.enqueue(queue, spec, call, id).ok());
  }
  CallOptions call = in_memory();
  ASSERT_TRUE(engine.batch_seal(batch, call).ok());
}

uint64_t ready_in(Engine& engine, QueueId queue) {
  return engine.queue_stats(queue).value().counts[static_cast<size_t>(JobState::ready)];
}

// Settles jobs[who], jobs[who + step], ... when all threads have come; `failures` of the first
// ones fail.
void settle_at_once(Engine& engine, QueueId queue, const std::vector<JobView>& jobs,
                    size_t threads, size_t failures) {
  std::atomic<size_t> arrived{0};
  const auto work = [&](size_t who) {
    arrived.fetch_add(1);
    while (arrived.load() < threads) std::this_thread::yield();
    for (size_t i = who; i < jobs.size(); i += threads) {
      const SettleKind kind = i < failures ? SettleKind::fail : SettleKind::ack;
      EXPECT_EQ(settle(engine, queue, jobs[i], kind), Code::ok);
      EXPECT_EQ(settle(engine, queue, jobs[i], SettleKind::ack), Code::stale);  // counts nothing
    }
  };
  std::vector<std::thread> others;
  for (size_t who = 1; who < threads; ++who) others.emplace_back(work, who);
  work(0);
  for (std::thread& other : others) other.join();
}

// ---- 28: "am I the last?" is read and then acted on: the follow-up runs twice, or never.

TEST(BugCase, C28_OfFiveThatEndAtOnceOneIsTheLast) {
  const int rounds = scaled(200, 2'000, 50);
  constexpr size_t members = 5;
  RealStore store;
  store.open();
  Engine& engine = store.engine();
  const QueueId work = store.queue("work");
  const QueueId ends = store.queue("ends");
  for (int round = 0; round < rounds; ++round) {
    const uint64_t batch = make_batch(engine, "ends", false);
    fill(engine, work, batch, members);
    const std::vector<JobView> jobs = lease(engine, work, members, 60'000);
    ASSERT_EQ(jobs.size(), members);
    settle_at_once(engine, work, jobs, members, 0);
    const BatchStatus status = engine.batch_status(batch).value();
    ASSERT_EQ(status.done, members);
    ASSERT_EQ(status.pending, 0u);
    ASSERT_NE(status.follow_up, 0u);
    ASSERT_EQ(ready_in(engine, ends), 1u);
    const std::vector<JobView> end = lease(engine, ends, 9, 60'000);
    ASSERT_EQ(end.size(), 1u);
    ASSERT_EQ(end[0].id, status.follow_up);
    ASSERT_EQ(payload_of(end[0]), "complete");
    ASSERT_EQ(settle(engine, ends, end[0], SettleKind::ack), Code::ok);
  }
  store.expect_sound();
}

TEST(BugCase, C28_PowerCutAroundTheLastAck) {
  constexpr int members = 5;
  EngineHarness harness(small_store());
  ASSERT_TRUE(harness.open().ok());
  Engine& engine = harness.engine();
  const QueueId work = harness.queue("work");
  const QueueId ends = harness.queue("ends");
  const uint64_t batch = make_batch(engine, "ends", false);
  fill(engine, work, batch, members);
  const std::vector<JobView> jobs = harness.lease(work, members);
  ASSERT_EQ(jobs.size(), static_cast<size_t>(members));
  for (int i = 1; i < members; ++i) {
    ASSERT_EQ(harness.ack(work, jobs[i].id, jobs[i].generation), Code::ok);
  }
  ASSERT_TRUE(engine.sync().ok());
  harness.disk().start_recording();
  ASSERT_EQ(harness.ack(work, jobs[0].id, jobs[0].generation), Code::ok);

  uint64_t before = 0;
  uint64_t after = 0;
  for (SimHistory history(harness.disk()); history.step();) {
    for (const CrashData data :
         {CrashData::none, CrashData::all, CrashData::random, CrashData::torn}) {
      SimDisk crashed = history.disk().image({data, CrashNames::random, 512, history.event()});
      const std::unique_ptr<Io> io = crashed.mount();
      Result<std::unique_ptr<Engine>> opened =
          Engine::open(harness.options().engine, log_only(*io, harness.clock()));
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      const BatchStatus status = opened.value()->batch_status(batch).value();
      ASSERT_EQ(status.done + status.pending, static_cast<uint64_t>(members));
      ASSERT_LE(status.pending, 1u);
      // Both or none: the end of the last job, and the job that it sets off.
      ASSERT_EQ(ready_in(*opened.value(), ends), status.pending == 0 ? 1u : 0u);
      ASSERT_EQ(status.follow_up != 0, status.pending == 0);
      ++(status.pending == 0 ? after : before);
      EXPECT_EQ(opened.value()->verify().value().problems, 0u);
    }
  }
  EXPECT_GE(before, 1u);
  EXPECT_GE(after, 1u);
}

// B.9 case 40: a hundred ends at once, ten of them failures, are counted one by one; what comes
// after the last counts nothing.
TEST(BugCase, PrismGo40_AHundredEndsAtOnce) {
  const int rounds = scaled(20, 200, 5);
  constexpr size_t members = 100;
  constexpr size_t failures = 10;
  RealStore store;
  store.open();
  Engine& engine = store.engine();
  const QueueId work = store.queue("work");
  const QueueId ends = store.queue("ends");
  for (int round = 0; round < rounds; ++round) {
    const uint64_t batch = make_batch(engine, "ends", round % 2 == 0);
    fill(engine, work, batch, members);
    std::vector<JobView> jobs;
    while (jobs.size() < members) {
      for (JobView& job : lease(engine, work, members, 60'000)) jobs.push_back(std::move(job));
    }
    settle_at_once(engine, work, jobs, 4, failures);
    const BatchStatus status = engine.batch_status(batch).value();
    ASSERT_EQ(status.total, members);
    ASSERT_EQ(status.done, members - failures);
    ASSERT_EQ(status.failed, failures);
    ASSERT_EQ(status.pending, 0u);
    const std::vector<JobView> end = lease(engine, ends, 9, 60'000);
    ASSERT_EQ(end.size(), 1u);
    ASSERT_EQ(payload_of(end[0]), round % 2 == 0 ? "complete" : "failure");
    ASSERT_EQ(settle(engine, ends, end[0], SettleKind::ack), Code::ok);
    CallOptions call = in_memory();
    ASSERT_EQ(engine.clear(work, state_bit(JobState::dead), call).value(), failures);
    ASSERT_EQ(engine.batch_status(batch).value().failed, failures);
  }
  store.expect_sound();
}

}  // namespace
}  // namespace wq
