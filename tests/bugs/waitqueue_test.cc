// The WaitQueue scenarios that need threads; the others are the transcripts a7_*.txt in tests/data.
#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "bugs/real_store.h"
#include "bugs/small_store.h"

namespace wq {
namespace {

// Lets both threads go at the same moment.
class StartLine {
 public:
  void wait(int round) {
    arrived_.fetch_add(1);
    while (arrived_.load() < 2 * (round + 1)) std::this_thread::yield();
  }

 private:
  std::atomic<int> arrived_{0};
};

// A.7 case 1: five jobs, room for three; two clients claim three each at the same moment.
TEST(A7, C01_TwoClientsShareTheSlots) {
  constexpr int rounds = 300;
  RealStore store;
  store.open();
  Engine& engine = store.engine();
  QueueConfig config;
  config.max_running = 3;
  const QueueId q = store.queue("q", config, config_max_running);
  StartLine line;
  std::vector<JobView> claims[2];
  const auto claim = [&](int who, int round) {
    line.wait(round);
    claims[who] = lease(engine, q, 3, 60'000);
  };
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 5; ++i) {
      JobId id = 0;
      ASSERT_TRUE(enqueue(engine, q, "j", id).ok());
    }
    std::thread other([&] { claim(1, round); });
    claim(0, round);
    other.join();
    std::set<JobId> ids;
    std::set<Generation> tokens;
    for (const auto& claimed : claims) {
      for (const JobView& job : claimed) {
        ids.insert(job.id);
        tokens.insert(job.generation);
      }
    }
    ASSERT_EQ(claims[0].size() + claims[1].size(), 3u);
    ASSERT_EQ(ids.size(), 3u);
    ASSERT_EQ(tokens.size(), 3u);
    const QueueStats stats = engine.queue_stats(q).value();
    ASSERT_EQ(stats.counts[static_cast<size_t>(JobState::leased)], 3u);
    ASSERT_EQ(stats.counts[static_cast<size_t>(JobState::ready)], 2u);
    CallOptions call = in_memory();
    ASSERT_EQ(engine.clear(q, clearable_states, call).value(), 5u);
  }
  store.expect_sound();
}

// A.7 case 6: two replays of the same entry at the same moment: one replays, the other finds it
// stale.
TEST(A7, C06_OneOfTwoReplaysWins) {
  constexpr int rounds = 300;
  RealStore store;
  store.open();
  Engine& engine = store.engine();
  const QueueId q = store.queue("q");
  StartLine line;
  Code codes[2] = {};
  Token entry;
  const auto replay = [&](int who, int round) {
    line.wait(round);
    CallOptions call = in_memory();
    codes[who] = engine.dead_replay(q, entry, call).code();
  };
  JobId id = 0;
  ASSERT_TRUE(enqueue(engine, q, "j", id).ok());
  for (int round = 0; round < rounds; ++round) {
    const JobView job = lease(engine, q, 1, 60'000).at(0);
    ASSERT_EQ(settle(engine, q, job, SettleKind::fail), Code::ok);
    entry = Token{job.id, job.generation};
    if (round % 10 == 0) {  // from the store as well
      ASSERT_TRUE(engine.checkpoint().ok());
    }
    std::thread other([&] { replay(1, round); });
    replay(0, round);
    other.join();
    ASSERT_TRUE((codes[0] == Code::ok && codes[1] == Code::stale) ||
                (codes[1] == Code::ok && codes[0] == Code::stale))
        << code_name(codes[0]) << " and " << code_name(codes[1]);
    ASSERT_EQ(engine.queue_stats(q).value().counts[static_cast<size_t>(JobState::ready)], 1u);
    ASSERT_EQ(engine.get(q, id).value().attempts, 0u);
  }
  EXPECT_EQ(engine.queue_stats(q).value().totals.replayed, static_cast<uint64_t>(rounds));
  store.expect_sound();
}

// A.7 case 11: two sweeps at the same moment take a lease back once, and the retry is due when the
// policy says. There a late release with the old token removes the retry; here it is stale.
TEST(A7, C11_TwoSweepsTakeALeaseBackOnce) {
  constexpr uint64_t rounds = 300;
  EngineHarness harness(small_store());
  ASSERT_TRUE(harness.open().ok());
  Engine& engine = harness.engine();
  QueueConfig config;
  config.lease_ms = 1'000;
  config.max_retries = 1'000;
  config.backoff = Backoff{};
  config.backoff.kind = BackoffKind::fixed;
  config.backoff.base_ms = 100;
  const QueueId q =
      harness.queue("q", config, config_lease_ms | config_max_retries | config_backoff);
  const JobId id = harness.enqueue(q, "j");
  StartLine line;
  const auto sweep = [&](int round) {
    line.wait(round);
    EXPECT_TRUE(engine.tick().ok());
  };
  for (uint64_t round = 0; round < rounds; ++round) {
    const JobView held = harness.lease(q).at(0);
    harness.clock().advance(1'000);
    std::thread other([&] { sweep(static_cast<int>(round)); });
    sweep(static_cast<int>(round));
    other.join();
    ASSERT_EQ(engine.queue_stats(q).value().totals.expired, round + 1);
    ASSERT_EQ(harness.ack(q, id, held.generation), Code::stale);
    ASSERT_EQ(harness.nack(q, id, held.generation), Code::stale);
    const JobView waits = engine.get(q, id).value();
    ASSERT_EQ(waits.state, JobState::delayed);
    ASSERT_EQ(waits.attempts, round + 1);
    ASSERT_EQ(waits.due_ms, harness.clock().wall_ms() + 100);
    harness.clock().advance(100);
  }
  harness.expect_sound();
}

}  // namespace
}  // namespace wq
