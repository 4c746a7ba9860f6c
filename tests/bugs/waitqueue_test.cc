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

}  // namespace
}  // namespace wq
