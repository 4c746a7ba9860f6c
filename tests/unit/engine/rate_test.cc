// RateLimit limits: the arithmetic by itself, and as a lease, a waiting consumer and tick() meet
// it.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <map>
#include <thread>
#include <utility>

#include "engine/rate.h"
#include "support/engine_harness.h"
#include "test_seed.h"

namespace wq {
namespace {

// ---- arithmetic

struct RateCase {
  RateLimit rate;
  int64_t at_ms;       // when everything is used up at once
  uint64_t burst;      // how many that are
  int64_t next_ms;     // until the next one
  uint64_t in_window;  // how many more begin within the window that follows, if all wait
};

TEST(RateLimit, Table) {
  const RateCase cases[] = {
      {{1, 1, 1'000}, 5'000, 1, 1'000, 1},
      {{100, 1, 60'000}, 5'000, 1, 600, 100},
      {{3, 1, 1'000}, 5'000, 1, 334, 2},  // rounded up: never a fourth within the second
      {{2, 2, 1'000}, 0, 2, 500, 2},
      {{10, 10, 1'000}, 5'000, 10, 100, 10},
      {{1'000'000, 1'000, 1'000}, 5'000, 1'000, 1, 1'000'000},
      {{1, 1, rate_window_ms_max}, 5'000, 1, rate_window_ms_max, 1},
      {{2, 1, 1'000}, INT64_MAX, 1, 500, 2},  // a clock that is beyond all reason
  };
  for (const RateCase& test : cases) {
    SCOPED_TRACE(std::to_string(test.rate.count) + " in " + std::to_string(test.rate.window_ms));
    EXPECT_EQ(rate_tokens(test.rate, 0, test.at_ms), test.burst);
    EXPECT_EQ(rate_wait_ms(test.rate, 0, test.at_ms), 0);
    int64_t tat_ns = rate_charged(test.rate, 0, test.at_ms, test.burst);
    EXPECT_EQ(rate_tokens(test.rate, tat_ns, test.at_ms), 0u);
    EXPECT_EQ(rate_wait_ms(test.rate, tat_ns, test.at_ms), test.next_ms);
    EXPECT_EQ(rate_charged(test.rate, tat_ns, test.at_ms, 7), tat_ns)
        << "nothing is left to charge";
    EXPECT_EQ(rate_rebased(test.rate, tat_ns, test.at_ms), tat_ns);
    EXPECT_EQ(rate_rebased(test.rate, INT64_MAX, test.at_ms), tat_ns);
    if (test.at_ms == INT64_MAX) continue;
    EXPECT_EQ(rate_tokens(test.rate, tat_ns, test.at_ms + test.next_ms - 1), 0u);
    uint64_t more = 0;
    int64_t now_ms = test.at_ms;
    for (;;) {
      now_ms += rate_wait_ms(test.rate, tat_ns, now_ms);
      if (now_ms > test.at_ms + test.rate.window_ms) break;
      const uint64_t taken = rate_tokens(test.rate, tat_ns, now_ms);
      more += taken;
      ASSERT_LE(more, test.in_window);
      tat_ns = rate_charged(test.rate, tat_ns, now_ms, taken);
    }
    EXPECT_EQ(more, test.in_window);
  }
  EXPECT_EQ(rate_tokens(RateLimit(), 5, 5), UINT64_MAX);
  EXPECT_EQ(rate_charged(RateLimit(), 5, 5, 1), 5);
  EXPECT_EQ(rate_wait_ms(RateLimit(), INT64_MAX, 5), 0);
}

// The limit holds in each window, wherever it begins; a clock that goes back hands out nothing.
TEST(RateLimit, NoWindowEverHoldsMore) {
  Prng prng(test_seed());
  for (int round = 0; round < 300; ++round) {
    RateLimit rate;
    rate.count = 1 + static_cast<uint32_t>(prng.below(12));
    rate.burst = 1 + static_cast<uint32_t>(prng.below(rate.count));
    rate.window_ms = 1 + static_cast<int64_t>(prng.below(500));
    int64_t tat_ns = 0;
    int64_t wall_ms = 1'000'000;
    int64_t real_ms = 0;
    std::deque<int64_t> starts;
    for (int i = 0; i < 400; ++i) {
      const auto step_ms = static_cast<int64_t>(prng.below(40));
      real_ms += step_ms;
      wall_ms += step_ms;
      if (prng.below(50) == 0) wall_ms -= static_cast<int64_t>(prng.below(5'000));
      tat_ns = rate_rebased(rate, tat_ns, wall_ms);
      const uint64_t tokens = rate_tokens(rate, tat_ns, wall_ms);
      EXPECT_EQ(tokens == 0, rate_wait_ms(rate, tat_ns, wall_ms) > 0);
      const uint64_t taken = prng.below(tokens + 1);
      tat_ns = rate_charged(rate, tat_ns, wall_ms, taken);
      for (uint64_t n = 0; n < taken; ++n) starts.push_back(real_ms);
      while (!starts.empty() && starts.front() <= real_ms - rate.window_ms) starts.pop_front();
      ASSERT_LE(starts.size(), rate.count + rate.burst - 1)
          << rate.count << " in " << rate.window_ms << ", burst " << rate.burst;
    }
  }
}

// ---- leases

class RateTest : public testing::TestWithParam<StoreKind> {
 protected:
  RateTest() : harness_(options()) { EXPECT_TRUE(harness_.open().ok()); }
  static HarnessOptions options() {
    HarnessOptions options;
    options.store = GetParam();
    return options;
  }
  QueueId queue(const RateLimit& rate) {
    QueueConfig config;
    config.rate = rate;
    return harness_.queue("q", config, config_rate);
  }
  void push(QueueId q, int count) {
    for (int i = 0; i < count; ++i) harness_.enqueue(q, "job " + std::to_string(i));
  }
  Code configure(QueueId q, const RateLimit& rate) {
    QueueConfig config;
    config.rate = rate;
    CallOptions call;
    return harness_.engine().configure(q, config, config_rate, call).code();
  }
  int64_t wait_ms(QueueId q) { return harness_.engine().queue_stats(q).value().rate_wait_ms; }

  EngineHarness harness_;
};

TEST_P(RateTest, LimitsNameTheField) {
  const QueueId q = queue({});
  const auto refused = [&](const RateLimit& rate, const char* field) {
    QueueConfig config;
    config.rate = rate;
    CallOptions call;
    const Status status = harness_.engine().configure(q, config, config_rate, call);
    EXPECT_EQ(status.code(), Code::invalid);
    EXPECT_TRUE(status.message().starts_with(field)) << status.message();
  };
  refused({rate_count_max + 1, 1, 1'000}, "rate_count:");
  refused({0, 1, 0}, "rate_count:");
  refused({1, 1, 0}, "rate_window_ms:");
  refused({1, 1, rate_window_ms_max + 1}, "rate_window_ms:");
  refused({2, 0, 1'000}, "rate_burst:");
  refused({2, 3, 1'000}, "rate_burst:");
  EXPECT_EQ(configure(q, {2, 2, 1'000}), Code::ok);
}

// Case 25. With a burst of 1 no window ever holds more than the limit.
TEST_P(RateTest, C25_WaitingCostsNoAttemptAndNoWindowHoldsMore) {
  for (const uint32_t burst : {1u, 2u}) {
    SCOPED_TRACE(burst);
    const QueueId q = queue({2, burst, 1'000});
    ASSERT_EQ(configure(q, {2, burst, 1'000}), Code::ok);
    harness_.advance(10'000);
    const int64_t start_ms = harness_.clock().wall_ms();
    push(q, 10);
    std::vector<int64_t> starts;
    std::map<std::string, uint32_t> attempts;
    bool killed = false;
    while (harness_.clock().wall_ms() < start_ms + 10'000) {
      for (const JobView& job : harness_.lease(q, 10)) {
        starts.push_back(harness_.clock().wall_ms() - start_ms);
        EXPECT_EQ(job.attempts, ++attempts[payload_of(job)]);
        const bool fails = payload_of(job) == "job 0" && job.attempts < 3;
        EXPECT_EQ(fails ? harness_.nack(q, job.id, job.generation, 0)
                        : harness_.ack(q, job.id, job.generation),
                  Code::ok);
      }
      if (starts.size() == 5 && !std::exchange(killed, true)) {
        ASSERT_TRUE(harness_.kill_and_open().ok());
      }
      harness_.advance(100);
    }
    ASSERT_EQ(starts.size(), 12u);  // two of them were repeated
    EXPECT_EQ(starts[9], burst == 1 ? 4'500 : 4'000);
    for (size_t i = 0; i + 2 < starts.size(); ++i) {
      if (burst == 1) {
        EXPECT_GE(starts[i + 2] - starts[i], 1'000);
      }
    }
    const QueueStats stats = harness_.engine().queue_stats(q).value();
    EXPECT_EQ(stats.counts[static_cast<size_t>(JobState::dead)], 0u);
  }
  harness_.expect_sound();
}

// What is used up stays used up, over a close, a crash, a checkpoint and a clock that is set back.
TEST_P(RateTest, ExactAcrossRestartAndClockSteps) {
  const QueueId q = queue({10, 10, 10'000});
  push(q, 100);
  EXPECT_EQ(harness_.lease(q, 100).size(), 10u);
  for (int round = 0; round < 6; ++round) {
    SCOPED_TRACE(round);
    if (round % 3 == 1) {
      ASSERT_TRUE(harness_.engine().checkpoint().ok());
    }
    if (round % 2 == 0) {
      ASSERT_TRUE(harness_.close().ok());
    }
    if (round == 4) harness_.clock().step_wall(-300'000);
    if (round % 2 == 0) {
      ASSERT_TRUE(harness_.open().ok());
    }
    if (round % 2 == 1) {
      ASSERT_TRUE(harness_.kill_and_open().ok());
    }
    if (round == 5) harness_.clock().step_wall(-100'000);
    EXPECT_TRUE(harness_.lease(q, 100).empty());
    EXPECT_EQ(wait_ms(q), 1'000);
    harness_.advance(999);
    EXPECT_TRUE(harness_.lease(q, 100).empty());
    harness_.advance(1);
    EXPECT_EQ(harness_.lease(q, 100).size(), 1u);
  }
  harness_.advance(3'000);
  EXPECT_EQ(harness_.lease(q, 100).size(), 3u);
  harness_.expect_sound();
}

TEST_P(RateTest, ChangesWhileItRuns) {
  const QueueId q = queue({1, 1, 3'600'000});
  push(q, 30);
  EXPECT_EQ(harness_.lease(q, 100).size(), 1u);
  EXPECT_TRUE(harness_.lease(q, 100).empty());
  EXPECT_EQ(configure(q, {10, 1, 1'000}), Code::ok);  // faster: no need to wait out the hour
  EXPECT_EQ(wait_ms(q), 100);
  harness_.advance(100);
  EXPECT_EQ(harness_.lease(q, 100).size(), 1u);
  EXPECT_EQ(configure(q, {1, 1, 10'000}), Code::ok);  // slower: from now on
  harness_.advance(100);
  EXPECT_EQ(harness_.lease(q, 100).size(), 1u);
  EXPECT_EQ(wait_ms(q), 10'000);
  EXPECT_EQ(configure(q, {}), Code::ok);
  EXPECT_EQ(harness_.lease(q, 100).size(), 27u);
}

// The rate of one queue holds back no other, and what is left over goes to whoever asks next.
TEST_P(RateTest, OtherQueuesGoOn) {
  const QueueId slow = queue({2, 2, 1'000});
  const QueueId fast = harness_.queue("fast");
  push(slow, 5);
  push(fast, 5);
  const QueueId both[] = {slow, fast};
  LeaseRequest request;
  request.queues = both;
  request.max_jobs = 4;
  CallOptions call;
  std::vector<JobView> jobs;
  ASSERT_TRUE(harness_.engine().lease(request, call, jobs).ok());
  ASSERT_EQ(jobs.size(), 4u);
  EXPECT_EQ(jobs[1].queue_index, 0u);
  EXPECT_EQ(jobs[2].queue_index, 1u);
  ASSERT_TRUE(harness_.engine().lease(request, call, jobs).ok());
  EXPECT_EQ(jobs.size(), 3u);
  EXPECT_EQ(harness_.engine().lease(request, call, jobs).code(), Code::empty);
}

// tick() tells when to come again: a caller without threads sleeps exactly until the next job.
TEST_P(RateTest, TickTellsTheTimeOfTheNextJob) {
  HarnessOptions& harness_options = harness_.options();
  ASSERT_TRUE(harness_.close().ok());
  harness_options.engine.memory_window_ms = 60'000;
  harness_options.engine.spare_segments = 0;
  ASSERT_TRUE(harness_.open().ok());
  const QueueId q = queue({4, 1, 1'000});
  push(q, 3);
  EXPECT_EQ(harness_.lease(q).size(), 1u);
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(harness_.lease(q).empty());
    harness_.tick();
    EXPECT_EQ(harness_.engine().tick().value(), 250);
    harness_.advance(250);
    EXPECT_EQ(harness_.lease(q).size(), 1u);
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, RateTest, testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

// ---- waiting consumers, in real time: nobody would look again before the cap of all sleeps, 1 s

int64_t elapsed_ms(int64_t since_ns) {
  return (system_clock().mono_ns() - since_ns) / 1'000'000;
}

class WaitingRate : public testing::TestWithParam<bool> {};

TEST_P(WaitingRate, ConsumersWakeWhenTheNextJobMayBegin) {
  HarnessOptions options;
  options.engine.threads = GetParam();
  options.clock = &system_clock();
  EngineHarness harness(options);
  ASSERT_TRUE(harness.open().ok());
  QueueConfig config;
  config.rate = {5, 1, 1'000};
  const QueueId q = harness.queue("q", config, config_rate);
  const int64_t start_ns = system_clock().mono_ns();
  std::atomic<int> taken = 0;
  const auto consume = [&] {
    while (taken.load() < 4) {
      LeaseRequest request;
      request.queues = {&q, 1};
      request.wait_ms = 3'000;
      CallOptions call;
      std::vector<JobView> jobs;
      if (!harness.engine().lease(request, call, jobs).ok()) return;
      taken += static_cast<int>(jobs.size());
    }
  };
  std::thread one(consume);
  if (GetParam()) {  // it waits before there is anything
    while (harness.engine().stats().waiting == 0) std::this_thread::yield();
  }
  CallOptions call;  // all at once: another job that comes would wake it too
  EXPECT_TRUE(harness.engine().enqueue_many(q, std::vector<JobSpec>(5), false, call, {}).ok());
  one.join();
  EXPECT_EQ(taken.load(), 4);
  EXPECT_GE(elapsed_ms(start_ns), 598);    // three intervals; the first begins within a millisecond
  EXPECT_LT(elapsed_ms(start_ns), 2'500);  // nobody woke: three seconds
}

INSTANTIATE_TEST_SUITE_P(Threads, WaitingRate, testing::Bool(),
                         [](const auto& threads) { return threads.param ? "own" : "none"; });

}  // namespace
}  // namespace wq
