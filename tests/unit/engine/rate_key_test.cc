// Rate keys: the arithmetic of costs, what a lease takes and leaves, what is parked, what a
// restart, a crash and a clock that is set back leave of it, and who is woken.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "engine/rate.h"
#include "test_seed.h"
#include "unit/engine/rate_key_fixture.h"

namespace wq {
namespace {

// ---- arithmetic

struct CostCase {
  uint32_t cost;
  int64_t next_ms;   // until the same may begin again, at once after the first
  int64_t cheap_ms;  // until one with cost 1 may
};

TEST(RateCost, Table) {
  const RateLimit rate{10, 4, 1'000};
  const CostCase cases[] = {
      {1, 0, 0},        {2, 0, 0},
      {3, 200, 0},      {4, 400, 100},
      {5, 500, 200},  // more than the burst: needs all of it, and is paid in full
      {10, 1'000, 700}, {1'000'000, 1'000, 700},  // counts as 10
  };
  for (const CostCase& test : cases) {
    SCOPED_TRACE(test.cost);
    const int64_t now_ms = 5'000;
    EXPECT_EQ(cost_wait_ms(rate, 0, now_ms, test.cost), 0);
    const int64_t tat_ns = cost_charged(rate, 0, now_ms, test.cost);
    EXPECT_EQ(cost_wait_ms(rate, tat_ns, now_ms, test.cost), test.next_ms);
    EXPECT_EQ(cost_wait_ms(rate, tat_ns, now_ms, 1), test.cheap_ms);
    EXPECT_EQ(cost_rebased(rate, tat_ns, now_ms), tat_ns);
    EXPECT_EQ(cost_rebased(rate, INT64_MAX, now_ms), 6'000'000'000);
  }
  EXPECT_EQ(cost_wait_ms(RateLimit(), INT64_MAX, 5, 9), 0);
  EXPECT_EQ(cost_charged(RateLimit(), 7, 5, 9), 7);
  EXPECT_EQ(cost_rebased(RateLimit(), 7, 5), 7);
}

// With a cost of 1 it is the same limit.
TEST(RateCost, OneCostsWhatAJobOfAQueueDoes) {
  Prng prng(test_seed());
  for (int round = 0; round < 1'000; ++round) {
    RateLimit rate;
    rate.count = 1 + static_cast<uint32_t>(prng.below(1'000));
    rate.burst = 1 + static_cast<uint32_t>(prng.below(rate.count));
    rate.window_ms = 1 + static_cast<int64_t>(prng.below(100'000));
    int64_t tat_ns = 0;
    int64_t now_ms = 1'000'000;
    for (int i = 0; i < 20; ++i) {
      now_ms += static_cast<int64_t>(prng.below(1'000));
      ASSERT_EQ(cost_wait_ms(rate, tat_ns, now_ms, 1), rate_wait_ms(rate, tat_ns, now_ms));
      if (rate_tokens(rate, tat_ns, now_ms) == 0) continue;
      ASSERT_EQ(cost_charged(rate, tat_ns, now_ms, 1), rate_charged(rate, tat_ns, now_ms, 1));
      tat_ns = rate_charged(rate, tat_ns, now_ms, 1);
    }
  }
}

// ---- leases

class RateKeyTest : public RateKeyFixture {
 protected:
  QueueId queue(const RateLimit& rate) {
    QueueConfig config;
    config.key_rate = rate;
    return harness_.queue("q", config, config_key_rate);
  }
  void configure(QueueId q, const RateLimit& rate) {
    QueueConfig config;
    config.key_rate = rate;
    CallOptions call;
    ASSERT_TRUE(engine().configure(q, config, config_key_rate, call).ok());
  }
};

TEST_P(RateKeyTest, LimitsNameTheField) {
  const QueueId q = queue({});
  const auto refused = [&](const JobTraits& traits, Code code, const char* field) {
    JobSpec spec;
    spec.traits = traits;
    CallOptions call;
    JobId id = 0;
    const Status status = engine().enqueue(q, spec, call, id);
    EXPECT_EQ(status.code(), code);
    EXPECT_TRUE(status.message().starts_with(field)) << status.message();
  };
  JobTraits traits;
  const std::string long_key(key_bytes_max + 1, 'k');
  traits.rate_key = long_key;
  refused(traits, Code::too_large, "rate_key:");
  traits.rate_key = "k";
  traits.rate_cost = 0;
  refused(traits, Code::invalid, "rate_cost:");
  traits.rate_cost = rate_count_max + 1;
  refused(traits, Code::invalid, "rate_cost:");
  traits.rate_key = {};
  traits.rate_cost = 2;
  refused(traits, Code::invalid, "rate_cost:");
  traits.rate_key = "k";
  traits.group = "g";
  refused(traits, Code::unsupported, "rate_key:");
  QueueConfig config;
  config.key_rate = {2, 3, 1'000};
  CallOptions call;
  const Status status = engine().configure(q, config, config_key_rate, call);
  EXPECT_EQ(status.code(), Code::invalid);
  EXPECT_TRUE(status.message().starts_with("key_rate_burst:")) << status.message();
  push(q, "longest", std::string(key_bytes_max, '\xff'));
  push(q, "any bytes", std::string_view("\0\n", 2));
  reopen();
  EXPECT_EQ(take(q), "longest any bytes");
}

// Case 25 for keys: each has a rate by itself, what waits keeps its place and loses no attempt.
TEST_P(RateKeyTest, C25_EachKeyByItself) {
  for (int how = 0; how <= 4; ++how) {
    SCOPED_TRACE(how);
    const QueueId q = queue({2, 1, 1'000});
    for (const char* job : {"a1", "b1", "x1", "a2", "b2", "x2", "a3"}) {
      push(q, job, job[0] == 'x' ? "" : std::string_view(job, 1));
    }
    EXPECT_EQ(stats(q).parked, 0u) << "nothing is used up yet";
    EXPECT_EQ(take(q), "a1 b1 x1 x2");
    EXPECT_EQ(stats(q).parked, 3u);
    EXPECT_EQ(stats(q).rate_wait_ms, 500);
    disturb(how);
    harness_.advance(499);
    EXPECT_EQ(take(q), "");
    harness_.advance(1);
    EXPECT_EQ(stats(q).parked, 0u);
    EXPECT_EQ(stats(q).rate_wait_ms, 0);
    disturb(how);
    EXPECT_EQ(take(q), "a2 b2");
    harness_.advance(500);
    const std::vector<JobView> last = harness_.lease(q, 10);
    ASSERT_EQ(last.size(), 1u);
    EXPECT_EQ(payload_of(last[0]), "a3");
    EXPECT_EQ(last[0].attempts, 1u);
    harness_.expect_sound();
    CallOptions call;
    ASSERT_TRUE(engine().remove_queue(q, call).ok());
  }
}

TEST_P(RateKeyTest, GetAndExplainTellWhatIsParked) {
  const QueueId q = queue({1, 1, 1'000});
  push(q, "1", "k");
  const JobId second = push(q, "2", "k");
  EXPECT_FALSE(engine().get(q, second).value().parked);
  EXPECT_EQ(take(q), "1");
  for (const int how : {0, 1, 2, 3}) {
    disturb(how);
    EXPECT_TRUE(engine().get(q, second).value().parked);
    const JobExplanation told = engine().explain_job(q, second).value();
    EXPECT_TRUE(told.why & why_rate);
    EXPECT_EQ(told.until_ms, harness_.clock().wall_ms() + 1'000);
    EXPECT_TRUE(engine().explain_queue(q).value().why & why_rate);
  }
  harness_.advance(1'000);
  EXPECT_FALSE(engine().get(q, second).value().parked);
  EXPECT_FALSE(engine().explain_job(q, second).value().why & why_rate);
}

// The jobs of a key keep their order, by priority first, whatever they cost.
TEST_P(RateKeyTest, ADearJobIsNotOvertaken) {
  const QueueId q = queue({10, 4, 1'000});
  push(q, "low", "k", 1, 200);
  push(q, "2", "k", 2);
  push(q, "4", "k", 4);
  push(q, "1", "k", 1);
  push(q, "x", "");
  EXPECT_EQ(take(q), "2 x");
  reopen();
  harness_.advance(199);
  EXPECT_EQ(take(q), "");
  harness_.advance(1);
  EXPECT_EQ(take(q), "4");
  harness_.advance(100);
  EXPECT_EQ(take(q), "1");
  harness_.advance(100);
  EXPECT_EQ(take(q), "low");
  harness_.advance(10'000);
  push(q, "9", "k", 9);
  push(q, "then", "k");
  EXPECT_EQ(take(q), "9") << "more than the burst needs no more than a full one";
  harness_.advance(599);
  EXPECT_EQ(take(q), "");
  harness_.advance(1);
  EXPECT_EQ(take(q), "then");
  harness_.expect_sound();
}

// What is used up stays so without a waiting job, too, over anything but time.
TEST_P(RateKeyTest, ExactAcrossRestartAndClockSteps) {
  for (int how = 0; how <= 4; ++how) {
    SCOPED_TRACE(how);
    const QueueId q = queue({10, 10, 10'000});
    push(q, "all", "k", 10);
    EXPECT_EQ(take(q), "all");
    disturb(how);
    disturb(4 - how);
    push(q, "1", "k");
    push(q, "2", "k");
    EXPECT_EQ(take(q), "");
    EXPECT_EQ(stats(q).rate_wait_ms, 1'000);
    harness_.advance(1'000);
    EXPECT_EQ(take(q), "1");
    // The clock is set back, by less than a round takes, so that it stays after 1970: the wait is
    // counted from now, never longer than the window.
    push(q, "3", "k", 10);
    harness_.clock().step_wall(-60'000);
    disturb(how);
    EXPECT_EQ(take(q), "");
    disturb(4 - how);
    EXPECT_EQ(take(q), "") << "a kill takes the record with it, so the wait begins anew";
    EXPECT_EQ(stats(q).rate_wait_ms, 1'000);
    harness_.advance(1'000);
    EXPECT_EQ(take(q), "2");
    harness_.advance(9'999);
    EXPECT_EQ(take(q), "");
    harness_.advance(1);
    EXPECT_EQ(take(q), "3");
    EXPECT_EQ(stats(q).counts[static_cast<size_t>(JobState::ready)], 0u);
    harness_.advance(60'000);
    harness_.expect_sound();
    CallOptions call;
    ASSERT_TRUE(engine().remove_queue(q, call).ok());
  }
}

// Whether the key was still in memory or not.
TEST_P(RateKeyTest, ARateThatIsGivenAnewBeginsUnused) {
  for (int how = 0; how <= 4; ++how) {
    SCOPED_TRACE(how);
    const QueueId q = queue({2, 2, 3'600'000});
    push(q, "1", "k", 2);
    EXPECT_EQ(take(q), "1");
    push(q, "2", "k", 2);
    EXPECT_EQ(take(q), "");
    configure(q, {});
    disturb(how);
    configure(q, {2, 2, 3'600'000});
    disturb(4 - how);
    EXPECT_EQ(take(q), "2");
    CallOptions call;
    ASSERT_TRUE(engine().remove_queue(q, call).ok());
  }
}

TEST_P(RateKeyTest, TheRateChangesWhileItRuns) {
  const QueueId q = queue({1, 1, 3'600'000});
  for (const char* job : {"1", "2", "3", "4"}) push(q, job, "k");
  EXPECT_EQ(take(q), "1");
  configure(q, {10, 1, 1'000});  // faster: no need to wait out the hour
  EXPECT_LE(stats(q).rate_wait_ms, 1'000);
  harness_.advance(1'000);
  EXPECT_EQ(take(q), "2");
  configure(q, {});
  EXPECT_EQ(take(q), "3 4");
  EXPECT_EQ(stats(q).parked, 0u);
  harness_.expect_sound();
}

// A clear gives no tokens back; a deleted queue leaves nothing.
TEST_P(RateKeyTest, ClearAndDelete) {
  const QueueId q = queue({1, 1, 60'000});
  for (const char* job : {"1", "2", "3"}) push(q, job, "k");
  EXPECT_EQ(take(q), "1");
  checkpoint();
  CallOptions call;
  EXPECT_EQ(engine().clear(q, state_bit(JobState::ready), call).value(), 2u);
  EXPECT_EQ(stats(q).parked, 0u);
  kill();
  push(q, "4", "k");
  EXPECT_EQ(take(q), "");
  harness_.advance(60'000);
  EXPECT_EQ(take(q), "4");
  checkpoint();
  ASSERT_TRUE(engine().remove_queue(q, call).ok());
  harness_.advance(60'000);
  harness_.tick();
  reopen();
  checkpoint();
  harness_.expect_sound();
  const QueueId again = queue({1, 1, 60'000});
  push(again, "5", "k");
  EXPECT_EQ(take(again), "5");
}

// A key takes memory and a row only until it is unused.
TEST_P(RateKeyTest, UnusedKeysAreForgotten) {
  const QueueId q = queue({1, 1, 10'000});
  const auto run = [&](int first) {
    for (int i = first; i < first + 500; ++i) push(q, "x", "key " + std::to_string(i));
    for (const JobView& job : harness_.lease(q, 1'000)) {
      EXPECT_EQ(harness_.ack(q, job.id, job.generation), Code::ok);
    }
  };
  run(0);
  checkpoint();
  const uint64_t used = engine().stats().resident_bytes;
  reopen();
  push(q, "y", "key 7");
  EXPECT_EQ(take(q), "") << "its row came back";
  harness_.advance(12'000);
  EXPECT_EQ(take(q), "y");
  checkpoint();
  EXPECT_LT(engine().stats().resident_bytes, used / 20);
  harness_.expect_sound();
}

// Jobs that are only on the disk: their cost is known once they are read.
TEST_P(RateKeyTest, ManyParkedJobs) {
  ASSERT_TRUE(harness_.close().ok());
  harness_.options().engine.memory_budget_bytes = 1;
  harness_.options().engine.lane_window = 16;
  ASSERT_TRUE(harness_.open().ok());
  const QueueId q = queue({10, 2, 1'000});
  for (int i = 0; i < 300; ++i) push(q, std::to_string(i), "k", 2);
  checkpoint();
  for (int i = 0; i < 300; ++i) {
    if (i % 50 == 10) disturb(1 + i / 50 % 4);
    ASSERT_EQ(take(q), std::to_string(i));
    harness_.advance(199);
    ASSERT_EQ(take(q), "");
    harness_.advance(1);
  }
  harness_.expect_sound();
}

// A store that moved has the keys and their rate; what was used up stays behind.
TEST_P(RateKeyTest, ExportAndImport) {
  const QueueId q = queue({10, 4, 1'000});
  push(q, "1", "k", 4);
  push(q, "2", "k", 4);
  EngineHarness copy(options());
  ASSERT_TRUE(copy.open().ok());
  CallOptions call;
  ExportVisitor visitor;
  QueueId there = 0;
  visitor.on_store = [&](const StoreImage& image) {
    return copy.engine().import_begin(image.next_job_id, image.next_generation, call);
  };
  visitor.on_queue = [&](const QueueRow& row) -> Status {
    WQ_TRY_SET(there, copy.engine().import_queue(row, call));
    return {};
  };
  visitor.on_job = [&](const JobImage& job) {
    return copy.engine().import_jobs(there, {&job, 1}, call);
  };
  ASSERT_TRUE(engine().export_store({}, visitor).ok());
  ASSERT_TRUE(copy.engine().import_end(call).ok());
  EXPECT_EQ(copy.lease(there, 10).size(), 1u);
  copy.advance(399);
  EXPECT_TRUE(copy.lease(there, 10).empty());
  copy.advance(1);
  EXPECT_EQ(copy.lease(there, 10).size(), 1u);
  copy.expect_sound();
}

// tick() tells when to come again: a caller without threads sleeps exactly until the next job.
TEST_P(RateKeyTest, TickTellsTheTimeOfTheNextJob) {
  ASSERT_TRUE(harness_.close().ok());
  harness_.options().engine.memory_window_ms = 60'000;
  ASSERT_TRUE(harness_.open().ok());
  const QueueId q = queue({4, 1, 1'000});
  for (const char* job : {"1", "2", "3"}) push(q, job, "k");
  EXPECT_EQ(take(q), "1");
  for (const char* job : {"2", "3"}) {
    harness_.tick();
    EXPECT_EQ(engine().tick().value(), 250);
    harness_.advance(250);
    EXPECT_EQ(take(q), job);
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, RateKeyTest, testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

// ---- waiting consumers, in real time: nobody would look again before the cap of all sleeps, 1 s

class WaitingForAKey : public testing::TestWithParam<bool> {};

TEST_P(WaitingForAKey, ConsumersWakeWhenTheNextJobMayBegin) {
  HarnessOptions options;
  options.engine.threads = GetParam();
  options.clock = &system_clock();
  EngineHarness harness(options);
  ASSERT_TRUE(harness.open().ok());
  QueueConfig config;
  config.key_rate = {5, 1, 1'000};
  const QueueId q = harness.queue("q", config, config_key_rate);
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
  const int64_t start_ns = system_clock().mono_ns();
  std::thread one(consume);
  if (GetParam()) {  // it waits before there is anything
    while (harness.engine().stats().waiting == 0) std::this_thread::yield();
  }
  std::vector<JobSpec> specs(5);
  for (JobSpec& spec : specs) spec.traits.rate_key = "k";
  CallOptions call;  // all at once: another job that comes would wake it too
  EXPECT_TRUE(harness.engine().enqueue_many(q, specs, false, call, {}).ok());
  one.join();
  EXPECT_EQ(taken.load(), 4);
  const int64_t elapsed_ms = (system_clock().mono_ns() - start_ns) / 1'000'000;
  EXPECT_GE(elapsed_ms, 598);    // three intervals; the first begins within a millisecond
  EXPECT_LT(elapsed_ms, 2'500);  // nobody woke: three seconds
}

INSTANTIATE_TEST_SUITE_P(Threads, WaitingForAKey, testing::Bool(),
                         [](const auto& threads) { return threads.param ? "own" : "none"; });

}  // namespace
}  // namespace wq
