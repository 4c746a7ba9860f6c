// Throttle on exceptions: which exceptions of a rate key make it cool down, for how long, what a
// restart, a crash and a clock that is set back leave of it, who is told and who is woken.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/prng.h"
#include "engine/gate.h"
#include "engine/throttle.h"
#include "test_seed.h"
#include "unit/engine/rate_key_fixture.h"

namespace wq {
namespace {

// ---- arithmetic

TEST(Breaker, TheWindowSlides) {
  const Throttle throttle{3, 10'000, 5'000};
  Breaker breaker;
  EXPECT_FALSE(breaker.note_exception(throttle, 1'000));
  EXPECT_FALSE(breaker.note_exception(throttle, 5'000));
  EXPECT_FALSE(breaker.note_exception(throttle, 11'000)) << "the first is out of the window";
  EXPECT_TRUE(breaker.note_exception(throttle, 14'999));
  EXPECT_EQ(breaker.cool_until_ms, 19'999);
  EXPECT_TRUE(breaker.is_cooling(19'998));
  EXPECT_FALSE(breaker.note_exception(throttle, 19'998)) << "late news do not count";
  EXPECT_EQ(breaker, Breaker{19'999});
  EXPECT_FALSE(breaker.note_exception(throttle, 19'999)) << "the first of a new count";
  EXPECT_EQ(breaker.kept_until_ms(throttle), 29'999);
  EXPECT_FALSE(Breaker().note_exception(Throttle(), 1'000));
}

TEST(Breaker, RebasedIsNeverAheadOfTime) {
  const Throttle throttle{3, 10'000, 5'000};
  const Breaker breaker{90'000, {10'000, 20'000}};
  EXPECT_EQ(breaker.rebased(throttle, 90'000), breaker);
  EXPECT_EQ(breaker.rebased(throttle, 15'000), (Breaker{20'000, {10'000, 15'000}}));
  EXPECT_EQ(breaker.rebased(Throttle(), 15'000), Breaker());
}

// Against one that keeps every exception.
TEST(Breaker, Random) {
  Prng prng(test_seed());
  for (int round = 0; round < 200; ++round) {
    const Throttle throttle{1 + static_cast<uint32_t>(prng.below(6)),
                            1 + static_cast<int64_t>(prng.below(50)),
                            1 + static_cast<int64_t>(prng.below(50))};
    Breaker breaker;
    std::vector<int64_t> all;
    int64_t cool_until_ms = 0;
    int64_t now_ms = 1'000;
    for (int i = 0; i < 200; ++i) {
      now_ms += static_cast<int64_t>(prng.below(20));
      bool cools = false;
      if (now_ms >= cool_until_ms) {
        all.push_back(now_ms);
        const auto in_window = std::count_if(all.begin(), all.end(), [&](int64_t at_ms) {
          return at_ms > now_ms - throttle.window_ms;
        });
        cools = in_window >= throttle.count;
      }
      ASSERT_EQ(breaker.note_exception(throttle, now_ms), cools);
      if (cools) {
        cool_until_ms = now_ms + throttle.cool_ms;
        all.clear();
      }
      ASSERT_EQ(breaker.is_cooling(now_ms), now_ms < cool_until_ms);
      ASSERT_LT(breaker.failed_ms.size(), throttle.count);
    }
  }
}

TEST(Breaker, ItsRowIsReadBackOrRefused) {
  GateRow row;
  row.tat_ns = 5;
  row.breaker = {7, {1, 2, 2}};
  row.number = 9;
  row.lines = {{.lane = {default_priority, 3, 4}}};
  const std::string bytes = encode_gate_row(GateName::rate_key, row);
  const auto read = decode_gate_row(GateName::rate_key, bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->tat_ns, 5);
  EXPECT_EQ(read->breaker, row.breaker);
  EXPECT_EQ(read->number, 9u);
  ASSERT_EQ(read->lines.size(), 1u);
  EXPECT_EQ(read->lines[0].lane.head_hint, 3u);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_gate_row(GateName::rate_key, bytes.substr(0, size))) << size;
  }
  for (const Breaker& bad : {Breaker{-1}, Breaker{7, {2, 1}}, Breaker{7, {-1}},
                             Breaker{7, std::vector<int64_t>(throttle_count_max + 1, 3)}}) {
    row.breaker = bad;
    EXPECT_FALSE(decode_gate_row(GateName::rate_key, encode_gate_row(GateName::rate_key, row)));
  }
}

// ---- leases

class ThrottleTest : public RateKeyFixture {
 protected:
  QueueId queue(const Throttle& throttle, const RateLimit& rate = {}) {
    QueueConfig config;
    config.throttle = throttle;
    config.key_rate = rate;
    config.max_retries = 100;
    return harness_.queue("q", config, config_throttle | config_key_rate | config_max_retries);
  }
  void configure(QueueId q, const Throttle& throttle) {
    QueueConfig config;
    config.throttle = throttle;
    CallOptions call;
    ASSERT_TRUE(engine().configure(q, config, config_throttle, call).ok());
  }
  JobView lease_one(QueueId q) {
    const std::vector<JobView> jobs = harness_.lease(q, 1, 3'600'000);
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? JobView() : jobs[0];
  }
  Code nack(QueueId q, const JobView& job, uint8_t flags = 0) {
    return harness_.nack(q, job.id, job.generation, -1, flags);
  }
  // The next job begins and fails.
  void fail_one(QueueId q) { EXPECT_EQ(nack(q, lease_one(q)), Code::ok); }
};

TEST_P(ThrottleTest, LimitsNameTheField) {
  const QueueId q = queue({});
  const auto refused = [&](const Throttle& throttle, const char* field) {
    QueueConfig config;
    config.throttle = throttle;
    CallOptions call;
    const Status status = engine().configure(q, config, config_throttle, call);
    EXPECT_EQ(status.code(), Code::invalid);
    EXPECT_TRUE(status.message().starts_with(field)) << status.message();
  };
  refused({0, 1, 0}, "throttle_count:");
  refused({101, 1, 1}, "throttle_count:");
  refused({1, 0, 1}, "throttle_window_ms:");
  refused({1, rate_window_ms_max + 1, 1}, "throttle_window_ms:");
  refused({1, 1, 0}, "throttle_cool_ms:");
  configure(q, {100, rate_window_ms_max, rate_window_ms_max});
}

TEST_P(ThrottleTest, NoJobOfTheKeyBeginsWhileItCools) {
  for (int how = 0; how <= 4; ++how) {
    SCOPED_TRACE(how);
    const QueueId q = queue({3, 60'000, 30'000});
    const JobId first = push(q, "1", "k");
    push(q, "2", "k");
    for (int i = 0; i < 2; ++i) {
      fail_one(q);
      disturb(how);
      harness_.advance(10'000);
    }
    EXPECT_EQ(stats(q).parked, 0u);
    fail_one(q);
    push(q, "3", "k");
    push(q, "other", "o");
    push(q, "none", "");
    disturb(how);
    EXPECT_EQ(stats(q).parked, 3u);
    EXPECT_TRUE(engine().get(q, first).value().parked);
    EXPECT_EQ(take(q), "other none");
    disturb(4 - how);
    const JobExplanation told = engine().explain_job(q, first).value();
    EXPECT_TRUE(told.why & why_cooling);
    EXPECT_FALSE(told.why & why_rate);
    EXPECT_EQ(told.until_ms, harness_.clock().wall_ms() + 30'000);
    EXPECT_TRUE(engine().explain_queue(q).value().why & why_cooling);
    EXPECT_EQ(engine().explain_queue(q).value().queue.rate_wait_ms, 30'000);
    EXPECT_EQ(stats(q).rate_wait_ms, 30'000);
    harness_.advance(29'999);
    EXPECT_EQ(take(q), "");
    disturb(how);
    harness_.advance(1);
    EXPECT_EQ(stats(q).parked, 0u);
    EXPECT_FALSE(engine().explain_job(q, first).value().why & why_cooling);
    const std::vector<JobView> jobs = harness_.lease(q, 1);
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(payload_of(jobs[0]), "2");
    EXPECT_EQ(jobs[0].attempts, 2u) << "waiting costs no attempt";
    EXPECT_EQ(take(q), "1 3");
    harness_.expect_sound();
    CallOptions call;
    ASSERT_TRUE(engine().remove_queue(q, call).ok());
  }
}

// What counts is what JobView::exceptions counts, within a window that slides; a success sets it
// back.
TEST_P(ThrottleTest, OnlyExceptionsInARowCount) {
  for (int how = 0; how <= 4; ++how) {
    SCOPED_TRACE(how);
    const QueueId q = queue({2, 10'000, 60'000});
    for (int i = 0; i < 9; ++i) push(q, std::to_string(i), "k");
    fail_one(q);
    disturb(how);
    const JobView done = lease_one(q);
    EXPECT_EQ(harness_.ack(q, done.id, done.generation), Code::ok);
    disturb(how);
    fail_one(q);
    EXPECT_EQ(stats(q).parked, 0u) << "the success came between";
    disturb(how);
    harness_.advance(10'000);
    fail_one(q);
    EXPECT_EQ(stats(q).parked, 0u) << "the window has slid on";
    EXPECT_EQ(nack(q, lease_one(q), settle_no_exception), Code::ok);
    for (const SettleKind kind : {SettleKind::release, SettleKind::fail}) {
      const JobView job = lease_one(q);
      SettleItem item;
      item.id = job.id;
      item.generation = job.generation;
      item.kind = kind;
      EXPECT_EQ(harness_.settle(q, item), Code::ok);
    }
    EXPECT_EQ(harness_.lease(q, 1, 1'000).size(), 1u);
    harness_.advance(1'000);  // it expires
    EXPECT_EQ(stats(q).parked, 0u) << "none of them is an exception";
    disturb(how);
    fail_one(q);
    EXPECT_EQ(stats(q).parked, stats(q).counts[static_cast<size_t>(JobState::ready)]);
    CallOptions call;
    ASSERT_TRUE(engine().remove_queue(q, call).ok());
  }
}

// Jobs that began before: what becomes of them says nothing about the time since.
TEST_P(ThrottleTest, LateNewsChangeNoCoolDown) {
  const QueueId q = queue({1, 10'000, 20'000});
  for (const char* job : {"1", "2", "3", "4"}) push(q, job, "k");
  const std::vector<JobView> jobs = harness_.lease(q, 3, 3'600'000);
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_EQ(nack(q, jobs[0]), Code::ok);
  harness_.advance(15'000);
  EXPECT_EQ(nack(q, jobs[1]), Code::ok);
  EXPECT_EQ(harness_.ack(q, jobs[2].id, jobs[2].generation), Code::ok);
  EXPECT_EQ(take(q), "");
  kill();
  harness_.advance(4'999);
  EXPECT_EQ(take(q), "");
  harness_.advance(1);
  EXPECT_EQ(take(q), "4 1 2");
  harness_.expect_sound();
}

TEST_P(ThrottleTest, ExactOverClockSteps) {
  for (int how = 0; how <= 4; ++how) {
    SCOPED_TRACE(how);
    const QueueId q = queue({2, 10'000, 20'000});
    push(q, "1", "k");
    push(q, "2", "k");
    harness_.advance(60'000);  // so that the clock stays after 1970
    fail_one(q);
    disturb(how);
    harness_.clock().step_wall(-30'000);
    EXPECT_EQ(stats(q).parked, 0u);
    harness_.advance(9'999);
    fail_one(q);  // the first counts as of the step, at which nobody looked: as of now
    EXPECT_EQ(stats(q).parked, 2u);
    disturb(how);
    harness_.clock().step_wall(-30'000);
    EXPECT_EQ(take(q), "");
    disturb(4 - how);
    EXPECT_EQ(take(q), "");
    EXPECT_EQ(stats(q).rate_wait_ms, 20'000) << "counted from the step";
    harness_.advance(19'999);
    EXPECT_EQ(take(q), "");
    harness_.advance(1);
    const JobView job = lease_one(q);
    disturb(how);
    harness_.clock().step_wall(-10'000);
    EXPECT_EQ(stats(q).parked, 0u) << "a key that has opened stays open";
    EXPECT_EQ(harness_.ack(q, job.id, job.generation), Code::ok);
    EXPECT_EQ(take(q).size(), 1u);
    harness_.expect_sound();
    CallOptions call;
    ASSERT_TRUE(engine().remove_queue(q, call).ok());
  }
}

// The key was judged by the time before the step, which is behind the whole cool-down.
TEST_P(ThrottleTest, AKeyThatCoolsSinceAStepBackIsShut) {
  const QueueId q = queue({1, 10'000, 20'000});
  for (const char* payload : {"1", "2"}) push(q, payload, "k");
  const JobView job = lease_one(q);
  harness_.clock().step_wall(-40'000);
  EXPECT_EQ(nack(q, job), Code::ok);
  EXPECT_EQ(take(q), "");
  harness_.advance(19'999);
  EXPECT_EQ(take(q), "");
  harness_.advance(1);
  EXPECT_EQ(take(q), "2 1");
  harness_.expect_sound();
}

// The exception comes later than any lease, so the first lease after the step is no earlier than
// the last one was, and the clock went back all the same.
TEST_P(ThrottleTest, AStepBackBehindTheExceptionCountsToo) {
  for (int how = 0; how <= 4; ++how) {
    SCOPED_TRACE(how);
    const QueueId q = queue({1, 10'000, 20'000});
    push(q, "1", "k");
    harness_.advance(60'000);
    const JobView job = lease_one(q);
    disturb(how);
    EXPECT_EQ(take(q), "");  // somebody looks
    harness_.advance(50'000);
    EXPECT_EQ(nack(q, job), Code::ok);
    harness_.clock().step_wall(-40'000);
    EXPECT_EQ(take(q), "");
    harness_.advance(19'999);
    EXPECT_EQ(take(q), "");
    harness_.advance(1);
    EXPECT_EQ(take(q), "1") << "cools no longer than it may";
    harness_.expect_sound();
    CallOptions call;
    ASSERT_TRUE(engine().remove_queue(q, call).ok());
  }
}

TEST_P(ThrottleTest, TheConfigurationChangesWhileItCools) {
  const QueueId q = queue({1, 10'000, 3'600'000});
  push(q, "1", "k");
  push(q, "2", "k");
  fail_one(q);
  configure(q, {1, 10'000, 5'000});
  EXPECT_EQ(stats(q).rate_wait_ms, 5'000);
  reopen();
  harness_.advance(4'999);
  EXPECT_EQ(take(q), "");
  harness_.advance(1);
  fail_one(q);
  EXPECT_EQ(take(q), "");
  configure(q, {});
  kill();
  EXPECT_EQ(take(q), "1 2");
  harness_.expect_sound();
}

// A key has a rate and cools down: the later of the two counts, and the explanation says which.
TEST_P(ThrottleTest, TogetherWithARate) {
  const QueueId q = queue({1, 1'000, 2'000}, {1, 1, 5'000});
  push(q, "1", "k");
  const JobId second = push(q, "2", "k");
  fail_one(q);
  EXPECT_EQ(stats(q).rate_wait_ms, 5'000);
  EXPECT_TRUE(engine().explain_job(q, second).value().why & why_rate);
  harness_.advance(4'000);
  EXPECT_EQ(take(q), "");
  harness_.advance(1'000);
  fail_one(q);
  configure(q, {1, 1'000, 9'000});
  harness_.advance(5'000);
  fail_one(q);
  EXPECT_EQ(stats(q).rate_wait_ms, 9'000);
  EXPECT_TRUE(engine().explain_job(q, second).value().why & why_cooling);
  reopen();
  harness_.advance(9'000);
  EXPECT_EQ(take(q).size(), 1u) << "and the rate goes on";
  harness_.expect_sound();
}

TEST_P(ThrottleTest, ClearAndDelete) {
  const QueueId q = queue({1, 1'000, 60'000});
  push(q, "1", "k");
  fail_one(q);
  CallOptions call;
  EXPECT_EQ(engine().clear(q, state_bit(JobState::ready), call).value(), 1u);
  checkpoint();
  kill();
  push(q, "2", "k");
  EXPECT_EQ(take(q), "") << "a clear ends no cool-down";
  ASSERT_TRUE(engine().remove_queue(q, call).ok());
  kill();
  checkpoint();
  const QueueId again = queue({1, 1'000, 60'000});
  push(again, "3", "k");
  EXPECT_EQ(take(again), "3");
  harness_.expect_sound();
}

// A key takes memory and a row only until its exceptions are out of the window.
TEST_P(ThrottleTest, UnusedKeysAreForgotten) {
  const QueueId q = queue({100, 10'000, 1'000});
  QueueConfig config;
  config.max_retries = 0;
  CallOptions call;
  ASSERT_TRUE(engine().configure(q, config, config_max_retries, call).ok());
  for (int i = 0; i < 300; ++i) push(q, "x", "key " + std::to_string(i));
  for (const JobView& job : harness_.lease(q, 1'000)) EXPECT_EQ(nack(q, job), Code::ok);
  EXPECT_EQ(engine().clear(q, state_bit(JobState::dead), call).value(), 300u);
  checkpoint();
  const uint64_t used = engine().stats().resident_bytes;
  reopen();
  EXPECT_GT(engine().stats().resident_bytes, used / 2) << "their rows came back";
  harness_.advance(12'000);
  checkpoint();
  EXPECT_LT(engine().stats().resident_bytes, used / 20);
  harness_.expect_sound();
}

// Jobs that are only on the disk.
TEST_P(ThrottleTest, ManyParkedJobs) {
  ASSERT_TRUE(harness_.close().ok());
  harness_.options().engine.memory_budget_bytes = 1;
  harness_.options().engine.lane_window = 16;
  ASSERT_TRUE(harness_.open().ok());
  const QueueId q = queue({2, 60'000, 10'000});
  for (int i = 0; i < 100; ++i) push(q, std::to_string(i), "k");
  for (int round = 0; round < 8; ++round) {
    disturb(round % 5);
    fail_one(q);
    disturb(1 + round % 4);
    fail_one(q);
    ASSERT_EQ(stats(q).parked, 100u);
    disturb(round % 5);
    ASSERT_EQ(take(q), "");
    harness_.advance(10'000);
  }
  harness_.expect_sound();
}

TEST_P(ThrottleTest, AnEventTellsOfIt) {
  ASSERT_TRUE(harness_.close().ok());
  harness_.options().engine.events_max = 64;
  harness_.options().engine.memory_window_ms = 60'000;
  ASSERT_TRUE(harness_.open().ok());
  const QueueId q = queue({2, 1'000, 250});
  const JobId id = push(q, "1", "k");
  fail_one(q);
  fail_one(q);
  EventCursor cursor;
  EventRequest request;
  request.events_max = 64;
  EventPage page;
  ASSERT_FALSE(engine().poll_events(cursor, request, page).is_error());
  std::vector<EventKind> kinds;
  for (const NamedEvent& named : page.events) {
    kinds.push_back(named.event.kind);
    if (named.event.kind != EventKind::key_cools) continue;
    EXPECT_EQ(named.event.job, id);
    EXPECT_EQ(named.event.time_ms, harness_.clock().wall_ms() + 250);
  }
  EXPECT_EQ(std::count(kinds.begin(), kinds.end(), EventKind::key_cools), 1);
  // A caller without threads sleeps exactly until the key opens.
  harness_.tick();
  EXPECT_EQ(engine().tick().value(), 250);
}

INSTANTIATE_TEST_SUITE_P(Stores, ThrottleTest, testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

// ---- waiting consumers, in real time: nobody would look again before the cap of all sleeps, 1 s

class WaitingForACoolDown : public testing::TestWithParam<bool> {};

TEST_P(WaitingForACoolDown, ConsumersWakeWhenTheKeyOpens) {
  HarnessOptions options;
  options.engine.threads = GetParam();
  options.clock = &system_clock();
  EngineHarness harness(options);
  ASSERT_TRUE(harness.open().ok());
  QueueConfig config;
  config.throttle = {1, 1'000, 300};
  const QueueId q = harness.queue("q", config, config_throttle);
  JobSpec spec;
  spec.traits.rate_key = "k";
  harness.enqueue(q, "1", spec);
  const std::vector<JobView> first = harness.lease(q);
  ASSERT_EQ(first.size(), 1u);
  std::atomic<bool> taken = false;
  std::thread consumer([&] {
    LeaseRequest request;
    request.queues = {&q, 1};
    request.wait_ms = 10'000;
    CallOptions call;
    std::vector<JobView> jobs;
    taken = harness.engine().lease(request, call, jobs).ok() && jobs.size() == 1;
  });
  while (harness.engine().stats().waiting == 0) std::this_thread::yield();
  const int64_t start_ns = system_clock().mono_ns();
  EXPECT_EQ(harness.nack(q, first[0].id, first[0].generation), Code::ok);
  consumer.join();
  EXPECT_TRUE(taken.load());
  const int64_t elapsed_ms = (system_clock().mono_ns() - start_ns) / 1'000'000;
  EXPECT_GE(elapsed_ms, 298);
  EXPECT_LT(elapsed_ms, 5'000);  // nobody woke: ten seconds
}

INSTANTIATE_TEST_SUITE_P(Threads, WaitingForACoolDown, testing::Bool(),
                         [](const auto& threads) { return threads.param ? "own" : "none"; });

}  // namespace
}  // namespace wq
