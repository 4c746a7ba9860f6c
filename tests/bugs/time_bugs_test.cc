// Reported bugs about delays and timers: cases 06, 07, 09.
#include <gtest/gtest.h>

#include <climits>
#include <set>
#include <thread>

#include "bugs/real_store.h"
#include "bugs/small_store.h"
#include "test_seed.h"

namespace wq {
namespace {

// ---- 06: a delay over 2^31-1 ms fires at once.

constexpr int64_t long_delays_ms[] = {2'147'483'646, 2'147'483'647, 2'147'483'648,
                                      2'592'000'000, 4'294'967'297, 315'360'000'000};

TEST(BugCase, C06_LongDelaysAreExact) {
  for (const StoreKind kind : {StoreKind::memory, StoreKind::rocks}) {
    EngineHarness harness(small_store(kind));
    ASSERT_TRUE(harness.open().ok());
    const QueueId q = harness.queue("q");
    const int64_t start_ms = harness.clock().wall_ms();
    for (const int64_t delay_ms : long_delays_ms) {
      JobSpec spec;
      spec.delay_ms = delay_ms;
      harness.enqueue(q, std::to_string(delay_ms), spec);
    }
    harness.advance(10);
    EXPECT_TRUE(harness.lease(q, 10).empty());
    for (const int64_t delay_ms : long_delays_ms) {
      ASSERT_TRUE(harness.close().ok());  // the distant ones are only in the store from now on
      ASSERT_TRUE(harness.open().ok());
      harness.advance(start_ms + delay_ms - 1 - harness.clock().wall_ms());
      EXPECT_TRUE(harness.lease(q, 10).empty()) << delay_ms << " is too early";
      harness.advance(1);
      const std::vector<JobView> jobs = harness.lease(q, 10);
      ASSERT_EQ(jobs.size(), 1u) << delay_ms << " is not there in time";
      EXPECT_EQ(payload_of(jobs[0]), std::to_string(delay_ms));
      EXPECT_EQ(harness.ack(q, jobs[0].id, jobs[0].generation), Code::ok);
    }
    harness.expect_sound();
  }
}

TEST(BugCase, C06_ImpossibleDelaysAreInvalid) {
  EngineHarness harness(small_store());
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  const int64_t now_ms = harness.clock().wall_ms();
  const auto code_of = [&](int64_t delay_ms, int64_t run_at_ms) {
    JobSpec spec;
    spec.delay_ms = delay_ms;
    spec.run_at_ms = run_at_ms;
    CallOptions call;
    JobId id = 0;
    return harness.engine().enqueue(q, spec, call, id).code();
  };
  for (const int64_t delay_ms : {int64_t{-1}, INT64_MIN, INT64_MAX, INT64_MAX - now_ms,
                                 INT64_MAX - now_ms + 1, delay_ms_max + 1}) {
    EXPECT_EQ(code_of(delay_ms, 0), Code::invalid) << delay_ms;
  }
  for (const int64_t run_at_ms : {int64_t{-1}, INT64_MIN, INT64_MAX, now_ms + delay_ms_max + 1}) {
    EXPECT_EQ(code_of(0, run_at_ms), Code::invalid) << run_at_ms;
  }
  EXPECT_EQ(code_of(delay_ms_max, 0), Code::ok);
  EXPECT_EQ(code_of(0, now_ms + delay_ms_max), Code::ok);
  EXPECT_TRUE(harness.lease(q, 10).empty());
  harness.expect_sound();
}

// ---- 07: replay of a large log restarts delays from the start of the process.

// Lets 60 s pass at the first look at the monotonic clock: while the log is read.
class SlowReplayClock final : public Clock {
 public:
  explicit SlowReplayClock(ManualClock& clock) : clock_(clock) {}
  int64_t wall_ms() override { return clock_.wall_ms(); }
  int64_t mono_ns() override {
    const int64_t now_ns = clock_.mono_ns();
    if (!replayed_) clock_.advance(60'000);
    replayed_ = true;
    return now_ns;
  }

 private:
  ManualClock& clock_;
  bool replayed_ = false;
};

struct OpenedAfterKill {
  std::unique_ptr<Io> io;
  std::unique_ptr<SlowReplayClock> clock;
  std::unique_ptr<Engine> engine;
};

void open_slowly(EngineHarness& harness, SimDisk& disk, OpenedAfterKill& out) {
  out.io = disk.mount();
  out.clock = std::make_unique<SlowReplayClock>(harness.clock());
  Result<std::unique_ptr<Engine>> opened =
      Engine::open(harness.options().engine, log_only(*out.io, *out.clock));
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  out.engine = std::move(opened).value();
  EXPECT_EQ(out.engine->recovery().replay_ms, 60'000);
}

std::vector<std::string> take_all(Engine& engine, QueueId q) {
  for (;;) {
    Result<int64_t> next = engine.tick();
    EXPECT_TRUE(next.ok());
    if (!next.ok() || next.value() > 0) break;
  }
  std::vector<std::string> payloads;
  for (;;) {
    const std::vector<JobView> jobs = lease(engine, q, 10, 600'000'000);
    if (jobs.empty()) return payloads;
    for (const JobView& job : jobs) payloads.push_back(payload_of(job));
  }
}

TEST(BugCase, C07_ReplayTimeDelaysNothing) {
  EngineHarness harness(small_store());
  ASSERT_TRUE(harness.open().ok());
  QueueConfig config;
  config.lease_ms = 600'000'000;
  config.backoff.kind = BackoffKind::fixed;
  config.backoff.base_ms = 64'700'000;
  const QueueId q = harness.queue("q", config, config_backoff | config_lease_ms);
  JobSpec spec;
  harness.enqueue(q, "nacked");
  harness.enqueue(q, "retried");
  const std::vector<JobView> jobs = harness.lease(q, 2);
  harness.nack(q, jobs[0].id, jobs[0].generation, 64'750'000);
  harness.nack(q, jobs[1].id, jobs[1].generation);  // by the policy, at 64,700,000
  for (const auto& [name, delay_ms] :
       {std::pair{"j1", 64'800'000}, {"passed", 64'010'000}, {"earlier", 64'005'000}}) {
    spec.delay_ms = delay_ms;
    harness.enqueue(q, name, spec);
  }
  harness.clock().advance(64'000'000);
  SimDisk killed = harness.disk().image({CrashData::all, CrashNames::all, 512, 1});
  OpenedAfterKill after;
  open_slowly(harness, killed, after);

  // It is 64,060,000 now.
  using Names = std::vector<std::string>;
  EXPECT_EQ(take_all(*after.engine, q), (Names{"earlier", "passed"}));
  harness.clock().advance(639'999);
  EXPECT_EQ(take_all(*after.engine, q), Names{});
  harness.clock().advance(1);
  EXPECT_EQ(take_all(*after.engine, q), Names{"retried"});
  harness.clock().advance(50'000);
  EXPECT_EQ(take_all(*after.engine, q), Names{"nacked"});
  harness.clock().advance(49'999);
  EXPECT_EQ(take_all(*after.engine, q), Names{});
  harness.clock().advance(1);
  EXPECT_EQ(take_all(*after.engine, q), Names{"j1"});
}

// ---- 09: promotion is "remove, then push", and what dies in between is lost.

uint64_t count_of(Engine& engine, QueueId q, JobState state) {
  return engine.queue_stats(q).value().counts[static_cast<size_t>(state)];
}

void expect_all_waiting(Engine& engine, QueueId q, uint64_t jobs) {
  EXPECT_EQ(count_of(engine, q, JobState::ready) + count_of(engine, q, JobState::delayed), jobs);
}

void enqueue_delayed(Engine& engine, QueueId q, uint64_t jobs, int64_t delay_ms) {
  std::vector<JobSpec> specs(std::min<uint64_t>(jobs, 1'000));
  for (JobSpec& spec : specs) spec.delay_ms = delay_ms;
  for (uint64_t i = 0; i < jobs; i += specs.size()) {
    CallOptions call = in_memory();
    ASSERT_TRUE(engine.enqueue_many(q, specs, false, call, {}).ok());
  }
  ASSERT_TRUE(engine.sync().ok());
}

TEST(BugCase, C09_PowerCutAfterEachIoEventOfAPromotion) {
  constexpr uint64_t jobs = 1'000;
  EngineHarness harness(small_store());
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  enqueue_delayed(harness.engine(), q, jobs, 1'000);
  harness.clock().advance(1'000);
  harness.disk().start_recording();
  harness.tick();
  ASSERT_TRUE(harness.engine().sync().ok());
  ASSERT_EQ(count_of(harness.engine(), q, JobState::ready), jobs);

  uint64_t states = 0;
  for (SimHistory history(harness.disk()); history.step();) {
    for (const CrashData data :
         {CrashData::none, CrashData::all, CrashData::random, CrashData::torn}) {
      SimDisk crashed = history.disk().image({data, CrashNames::random, 512, history.event()});
      const std::unique_ptr<Io> io = crashed.mount();
      Result<std::unique_ptr<Engine>> opened =
          Engine::open(harness.options().engine, log_only(*io, harness.clock()));
      ASSERT_TRUE(opened.ok()) << opened.status().message();
      expect_all_waiting(*opened.value(), q, jobs);
      const VerifyReport report = opened.value()->verify().value();
      EXPECT_EQ(report.problems, 0u) << report.first_problem;
      EXPECT_EQ(report.jobs, jobs);
      ++states;
    }
  }
  std::printf("%llu states after a power cut\n", static_cast<unsigned long long>(states));
  EXPECT_GE(states, 4u);
}

// 1,000,000 with WQ_LONG, 100,000 in CI: many times the budget. The memory that it takes is bounded
// by that and one page of jobs from the store, promotion by 1,000 for each step.
TEST(BugCase, C09_AFloodOfDueJobsIsPromotedInBoundedSteps) {
  const auto jobs = static_cast<uint64_t>(scaled(100'000, 1'000'000));
  HarnessOptions options = small_store();
  options.engine.segment_bytes = 4 << 20;
  options.engine.memory_budget_bytes = 2 << 20;
  EngineHarness harness(options);
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  enqueue_delayed(harness.engine(), q, jobs, 1'000'000);
  ASSERT_TRUE(harness.engine().checkpoint().ok());
  harness.clock().advance(1'000'000);
  uint64_t promoted = 0;
  uint64_t steps = 0;
  uint64_t resident_max = 0;
  while (promoted < jobs) {
    ASSERT_TRUE(harness.engine().tick().ok());
    const uint64_t now = count_of(harness.engine(), q, JobState::ready);
    EXPECT_LE(now - promoted, 1'000u);
    promoted = now;
    if (steps % 7 == 0) {  // this store counts its rows for it
      resident_max = std::max(resident_max, harness.engine().stats().resident_bytes);
    }
    if (++steps % 100 == 0) {
      harness.clock().advance(50);
      ASSERT_TRUE(harness.kill_and_open().ok());
      promoted = count_of(harness.engine(), q, JobState::ready);
      expect_all_waiting(harness.engine(), q, jobs);
    }
    ASSERT_LT(steps, jobs) << "promotion does not come forward";
  }
  EXPECT_LT(resident_max, options.engine.memory_budget_bytes + (2u << 20));
  harness.expect_sound();
}

TEST(BugCase, C09_TwoSweepersPromoteEachJobOnce) {
  constexpr uint64_t jobs = 20'000;
  EngineHarness harness(small_store());
  ASSERT_TRUE(harness.open().ok());
  Engine& engine = harness.engine();
  const QueueId q = harness.queue("q");
  enqueue_delayed(engine, q, jobs, 1'000);
  harness.clock().advance(1'000);
  const auto sweep = [&] {
    while (count_of(engine, q, JobState::delayed) > 0) {
      EXPECT_TRUE(engine.tick().ok());
    }
  };
  std::thread one(sweep);
  std::thread two(sweep);
  one.join();
  two.join();
  EXPECT_EQ(count_of(engine, q, JobState::ready), jobs);
  std::set<JobId> seen;
  for (;;) {
    const std::vector<JobView> taken = lease(engine, q, 1'000, 60'000);
    if (taken.empty()) break;
    for (const JobView& job : taken) EXPECT_TRUE(seen.insert(job.id).second);
  }
  EXPECT_EQ(seen.size(), jobs);
  harness.expect_sound();
}

}  // namespace
}  // namespace wq
