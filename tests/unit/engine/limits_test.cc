// Limits and status: what a full queue and a full store do to an enqueue and to nothing else, bytes
// that are exact whatever happens, and what each status lets through. On both stores, with closes
// and kills in between and most jobs only in the store.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/engine_harness.h"
#include "test_seed.h"

namespace wq {
namespace {

using Change = Engine::StatusChange;

JobSpec delayed(int64_t delay_ms) {
  JobSpec spec;
  spec.delay_ms = delay_ms;
  return spec;
}
JobSpec of_priority(uint8_t priority) {
  JobSpec spec;
  spec.priority = priority;
  return spec;
}
JobSpec test_push(int64_t delay_ms = 0) {
  JobSpec spec = delayed(delay_ms);
  spec.dry_run = true;
  return spec;
}

class LimitsTest : public testing::TestWithParam<StoreKind> {
 protected:
  LimitsTest() : harness_(options()) { EXPECT_TRUE(harness_.open().ok()); }

  static HarnessOptions options() {
    HarnessOptions options;
    options.store = GetParam();
    options.engine.memory_budget_bytes = 1u << 20;
    options.engine.segment_bytes = 1u << 20;  // what a kill has to copy
    options.engine.spare_segments = 0;
    options.engine.lane_window = 16;  // nearly all is cold after a checkpoint
    return options;
  }
  Engine& engine() { return harness_.engine(); }
  static CallOptions at_process_level() {
    CallOptions call;
    call.durability = static_cast<uint32_t>(Durability::process);
    return call;
  }
  Code push(std::string_view payload, const JobSpec& like = {}, JobId* id = nullptr) {
    JobSpec spec = like;
    spec.payload = as_bytes(payload);
    CallOptions call = at_process_level();
    JobId made = 0;
    const Code code = engine().enqueue(queue_, spec, call, made).code();
    if (id) *id = made;
    return code;
  }
  // Codes of the jobs, as one letter each: ok, full, too large.
  std::string push_many(size_t n, size_t payload_bytes, bool partial) {
    const std::string payload(payload_bytes, 'p');
    std::vector<JobSpec> specs(n);
    for (JobSpec& spec : specs) spec.payload = as_bytes(payload);
    std::vector<EnqueueOutcome> outcomes(n);
    CallOptions call = at_process_level();
    const Result<size_t> accepted = engine().enqueue_many(queue_, specs, partial, call, outcomes);
    if (!accepted.ok()) return accepted.status().code() == Code::full ? "FULL" : "other";
    std::string out;
    for (const EnqueueOutcome& outcome : outcomes) out += outcome.code == Code::ok ? 'o' : 'f';
    EXPECT_EQ(accepted.value(), static_cast<size_t>(std::count(out.begin(), out.end(), 'o')));
    return out;
  }
  Code change(Change change) {
    CallOptions call = at_process_level();
    return engine().change_status(queue_, change, call).code();
  }
  Code configure(const QueueConfig& config, uint32_t fields) {
    CallOptions call = at_process_level();
    return engine().configure(queue_, config, fields, call).code();
  }
  Code lease_code() {
    CallOptions call = at_process_level();
    std::vector<JobView> jobs;
    LeaseRequest request;
    request.queues = {&queue_, 1};
    const Code code = engine().lease(request, call, jobs).code();
    if (code == Code::ok) leased_ = jobs[0];
    return code;
  }
  QueueStats stats() { return engine().queue_stats(queue_).value(); }
  uint64_t count(JobState state) { return stats().counts[static_cast<size_t>(state)]; }
  uint64_t bytes() {
    uint64_t sum = 0;
    for (const uint64_t of_state : stats().bytes) sum += of_state;
    EXPECT_EQ(sum, engine().stats().job_bytes);
    return sum;
  }
  void checkpoint() { ASSERT_TRUE(engine().checkpoint().ok()); }
  void reopen() {
    ASSERT_TRUE(harness_.close().ok());
    ASSERT_TRUE(harness_.open().ok());
  }
  void kill() { ASSERT_TRUE(harness_.kill_and_open().ok()); }
  std::string payloads(uint32_t max_jobs) {
    std::string out;
    for (const JobView& job : harness_.lease(queue_, max_jobs)) out += payload_of(job) + " ";
    return out;
  }

  EngineHarness harness_;
  QueueId queue_ = 0;
  JobView leased_;
};

// ---- refuse

TEST_P(LimitsTest, DepthIsExactForOneAndForMany) {
  QueueConfig config;
  config.max_depth = 5;
  queue_ = harness_.queue("q", config, config_max_depth);
  EXPECT_EQ(push_many(6, 4, false), "FULL");
  EXPECT_EQ(count(JobState::ready), 0u);
  EXPECT_EQ(push_many(3, 4, false), "ooo");
  EXPECT_EQ(push("d", delayed(60'000)), Code::ok);  // delayed ones count
  EXPECT_EQ(push_many(2, 4, false), "FULL");
  EXPECT_EQ(push_many(3, 4, true), "off");
  EXPECT_EQ(push("x"), Code::full);
  kill();
  EXPECT_EQ(push("x"), Code::full);
  checkpoint();
  reopen();
  EXPECT_EQ(push("x"), Code::full);
  // What is leased waits no more; what comes back is taken although the queue is full again.
  const std::vector<JobView> jobs = harness_.lease(queue_, 2, 1'000);
  EXPECT_EQ(push_many(2, 4, false), "oo");
  EXPECT_EQ(harness_.nack(queue_, jobs[0].id, jobs[0].generation), Code::ok);
  harness_.advance(1'001);  // the other one expires
  EXPECT_EQ(count(JobState::ready) + count(JobState::delayed), 7u);
  EXPECT_EQ(push("x"), Code::full);
  harness_.advance(60'000);  // promoted in a full queue
  EXPECT_EQ(count(JobState::delayed), 0u);
  EXPECT_EQ(harness_.lease(queue_, 10).size(), 7u);
  EXPECT_EQ(push("x"), Code::ok);
  harness_.expect_sound();
}

TEST_P(LimitsTest, BytesAreExactAndAJobThatNeverFitsIsTooLarge) {
  queue_ = harness_.queue("q");
  ASSERT_EQ(push(std::string(1'000, 'a')), Code::ok);
  const uint64_t one = bytes();
  EXPECT_GT(one, 1'000u);
  QueueConfig config;
  config.max_bytes = 3 * one;
  ASSERT_EQ(configure(config, config_max_bytes), Code::ok);
  EXPECT_EQ(push(std::string(3'200, 'a')), Code::too_large);
  EXPECT_EQ(push_many(3, 1'000, true), "oof");
  EXPECT_EQ(bytes(), 3 * one);
  EXPECT_EQ(push(""), Code::full);
  config.max_bytes = 0;
  ASSERT_EQ(configure(config, config_max_bytes), Code::ok);
  EXPECT_EQ(push(""), Code::ok);
  harness_.expect_sound();
}

// The count of bytes through every move, with nearly all jobs only in the store: verify() compares
// it with a full scan.
TEST_P(LimitsTest, BytesStayExactThroughEverything) {
  queue_ = harness_.queue("q");
  const uint64_t seed = test_seed();
  SCOPED_TRACE(seed);
  Prng prng(seed);
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 60; ++i) {
      JobSpec spec;
      spec.priority = static_cast<uint8_t>(prng.below(3));
      if (prng.below(3) == 0) spec.delay_ms = static_cast<int64_t>(prng.below(100'000)) + 1;
      spec.max_attempts = 1;
      ASSERT_EQ(push(std::string(prng.below(300), 'x'), spec), Code::ok);
    }
    checkpoint();
    for (const JobView& job : harness_.lease(queue_, 30, 500)) {
      const uint64_t what = prng.below(4);
      if (what == 0) harness_.ack(queue_, job.id, job.generation);
      if (what == 1) harness_.nack(queue_, job.id, job.generation);
    }
    harness_.advance(static_cast<int64_t>(prng.below(1'000)));
    if (prng.below(2) == 0) kill();
    harness_.expect_sound();
    CallOptions call = at_process_level();
    if (round == 3) {
      ASSERT_TRUE(engine().clear(queue_, 0, call).ok());
    }
    if (prng.below(2) == 0) reopen();
    harness_.expect_sound();
  }
  CallOptions call = at_process_level();
  ASSERT_TRUE(engine().clear(queue_, clearable_states, call).ok());
  EXPECT_EQ(bytes(), 0u);
  harness_.expect_sound();
}

// ---- drop oldest

TEST_P(LimitsTest, ANewJobDropsTheOldestReadyOne) {
  QueueConfig config;
  config.max_depth = 3;
  config.full_policy = FullPolicy::drop_oldest;
  queue_ = harness_.queue("q", config, config_max_depth | config_full_policy);
  for (const char* payload : {"1", "2", "3", "4"}) ASSERT_EQ(push(payload), Code::ok);
  EXPECT_EQ(stats().totals.dropped, 1u);
  kill();
  EXPECT_EQ(count(JobState::ready), 3u);
  // The least urgent go first, whatever their age.
  ASSERT_EQ(push("low", of_priority(200)), Code::ok);
  ASSERT_EQ(push("5"), Code::ok);
  checkpoint();
  reopen();
  EXPECT_EQ(stats().totals.dropped, 3u);
  EXPECT_EQ(push_many(4, 1, false), "FULL");  // more than it ever holds
  EXPECT_EQ(push_many(4, 1, true), "ooof");
  EXPECT_EQ(stats().totals.dropped, 6u);
  EXPECT_EQ(payloads(10), "p p p ");
  // Jobs that run are no part of it, and delayed ones stay.
  for (int i = 0; i < 3; ++i) ASSERT_EQ(push("d", delayed(1'000)), Code::ok);
  EXPECT_EQ(push("6"), Code::full);
  EXPECT_EQ(stats().totals.dropped, 6u);
  harness_.advance(1'000);
  EXPECT_EQ(push("6"), Code::ok);
  EXPECT_EQ(stats().totals.dropped, 7u);
  kill();
  EXPECT_EQ(payloads(10), "d d 6 ");
  harness_.expect_sound();
}

// Cold jobs are dropped as well, and a limit that was lowered far below is reached in steps.
TEST_P(LimitsTest, DropsColdJobsAndManyOfThem) {
  queue_ = harness_.queue("q");
  for (int i = 0; i < 5; ++i) ASSERT_EQ(push_many(500, 600, false).size(), 500u);
  ASSERT_EQ(push("last"), Code::ok);
  checkpoint();
  reopen();
  ASSERT_LT(engine().stats().resident_jobs, 100u);
  QueueConfig config;
  config.max_depth = 2;
  config.full_policy = FullPolicy::drop_oldest;
  ASSERT_EQ(configure(config, config_max_depth | config_full_policy), Code::ok);
  EXPECT_EQ(count(JobState::ready), 2'501u);  // configuring alone drops nothing
  ASSERT_EQ(push("new"), Code::ok);
  EXPECT_EQ(stats().totals.dropped, 2'500u);
  kill();
  EXPECT_EQ(stats().totals.dropped, 2'500u);
  harness_.expect_sound();
  EXPECT_EQ(payloads(10), "last new ");
  const std::string big(100'000, 'b');
  config.max_depth = 0;
  config.max_bytes = 150'000;
  ASSERT_EQ(configure(config, config_max_depth | config_max_bytes), Code::ok);
  ASSERT_EQ(push(big), Code::ok);
  ASSERT_EQ(push(big), Code::ok);
  EXPECT_EQ(count(JobState::ready), 1u);
  EXPECT_EQ(stats().totals.dropped, 2'501u);
  harness_.expect_sound();
}

// ---- quota. Bug case 40 in small: enqueue is refused with no trace, settles go on.

TEST_P(LimitsTest, TheQuotaOfTheStoreRefusesEnqueueOnly) {
  queue_ = harness_.queue("q");
  ASSERT_TRUE(harness_.close().ok());
  harness_.options().engine.quota_bytes = 64 * 1'024;
  ASSERT_TRUE(harness_.open().ok());
  const QueueId other = harness_.queue("other");
  JobSpec spec;
  spec.max_attempts = 2;
  int taken = 0;
  while (push(std::string(4'000, 'q'), spec) == Code::ok) ++taken;
  EXPECT_EQ(taken, 16);
  const uint64_t full_bytes = bytes();
  EXPECT_LE(full_bytes, 64u * 1'024);
  CallOptions call = at_process_level();
  JobId id = 0;
  const std::string large(4'000, 'o');
  JobSpec to_other;
  to_other.payload = as_bytes(large);
  EXPECT_EQ(engine().enqueue(other, to_other, call, id).code(), Code::full);  // one for all queues
  EXPECT_EQ(push_many(3, 4'000, true), "FULL");
  const std::vector<JobView> jobs = harness_.lease(queue_, 16, 1'000);
  ASSERT_EQ(jobs.size(), 16u);
  EXPECT_EQ(push(std::string(4'000, 'q')), Code::full);  // leased ones are in the store as well
  EXPECT_EQ(harness_.nack(queue_, jobs[0].id, jobs[0].generation, 0, 0, std::string(4'000, 'e')),
            Code::ok);
  kill();
  EXPECT_EQ(bytes(), full_bytes);
  harness_.advance(1'001);
  EXPECT_EQ(bytes(), full_bytes);
  const std::vector<JobView> again = harness_.lease(queue_, 16, 1'000);
  ASSERT_EQ(again.size(), 16u);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(harness_.ack(queue_, again[i].id, again[i].generation), Code::ok);
    EXPECT_EQ(push(std::string(4'000, 'n')), Code::ok);
    EXPECT_EQ(push(std::string(4'000, 'n')), Code::full);
    if (i == 5) checkpoint();
  }
  CallOptions clear = at_process_level();
  ASSERT_TRUE(engine().remove_queue(queue_, clear).ok());
  EXPECT_EQ(engine().enqueue(other, to_other, call, id).code(), Code::ok);
  harness_.expect_sound();
}

// ---- status. XYGo C.5 6 and 7, WaitQueue pause and resume; recovery goes on in every status.

TEST_P(LimitsTest, TheTwoSidesOfTheStatusAreApart) {
  queue_ = harness_.queue("q");
  const auto status = [&] { return stats().status; };
  struct Step {
    Change change;
    QueueStatus after;
  };
  const Step steps[] = {
      {Change::resume, QueueStatus::active},    {Change::enable, QueueStatus::active},
      {Change::pause, QueueStatus::paused},     {Change::pause, QueueStatus::paused},
      {Change::enable, QueueStatus::paused},    {Change::disable, QueueStatus::disabled},
      {Change::enable, QueueStatus::paused},    {Change::disable, QueueStatus::disabled},
      {Change::resume, QueueStatus::disabled},  {Change::enable, QueueStatus::active},
      {Change::disable, QueueStatus::disabled}, {Change::pause, QueueStatus::disabled},
      {Change::enable, QueueStatus::paused},    {Change::resume, QueueStatus::active},
  };
  size_t i = 0;
  for (const Step& step : steps) {
    ASSERT_EQ(change(step.change), Code::ok) << i;
    ASSERT_EQ(status(), step.after) << i;
    if (i % 3 == 0) kill();
    if (i % 3 == 1) {
      checkpoint();
      reopen();
    }
    ASSERT_EQ(status(), step.after) << i;
    ++i;
  }
  // A change on the basis of what was read before the status changed is refused.
  QueueConfig config = engine().config(queue_).value();
  ASSERT_EQ(change(Change::pause), Code::ok);
  config.max_depth = 7;
  EXPECT_EQ(configure(config, config_max_depth | config_version), Code::conflict);
  EXPECT_EQ(configure(config, config_max_depth), Code::ok);
  EXPECT_EQ(status(), QueueStatus::paused);  // which a configure leaves alone
  harness_.expect_sound();
}

TEST_P(LimitsTest, WhatEachStatusLetsThrough) {
  for (const bool disabled : {false, true}) {
    SCOPED_TRACE(disabled);
    QueueConfig config;
    config.max_retries = 1;
    queue_ = harness_.queue(disabled ? "disabled" : "paused", config, config_max_retries);
    ASSERT_EQ(push("a"), Code::ok);
    ASSERT_EQ(push("b"), Code::ok);
    ASSERT_EQ(push("c"), Code::ok);
    ASSERT_EQ(push("later", delayed(5'000)), Code::ok);
    const std::vector<JobView> jobs = harness_.lease(queue_, 3, 1'000);
    ASSERT_EQ(jobs.size(), 3u);
    ASSERT_EQ(change(disabled ? Change::disable : Change::pause), Code::ok);
    if (disabled) kill();
    // Producers: only `disabled` shuts them out, the test push as well.
    const Code expected = disabled ? Code::disabled : Code::ok;
    EXPECT_EQ(push("x", test_push()), expected);
    EXPECT_EQ(push("x", test_push(1)), expected);
    EXPECT_EQ(push("x"), expected);
    EXPECT_EQ(push("x", delayed(90'000)), expected);
    EXPECT_EQ(push_many(2, 1, true), disabled ? "other" : "oo");
    // Consumers: settles go on, leases do not.
    EXPECT_EQ(lease_code(), disabled ? Code::disabled : Code::paused);
    EXPECT_EQ(harness_.ack(queue_, jobs[0].id, jobs[0].generation), Code::ok);
    EXPECT_EQ(harness_.nack(queue_, jobs[1].id, jobs[1].generation, 0), Code::ok);
    // Recovery: expiry and promotion.
    const uint64_t ready = count(JobState::ready);
    harness_.advance(1'000);
    EXPECT_EQ(count(JobState::leased), 0u);
    EXPECT_EQ(count(JobState::ready), ready + 1);
    EXPECT_EQ(count(JobState::delayed), disabled ? 1u : 2u);
    harness_.advance(4'000);
    EXPECT_EQ(count(JobState::delayed), disabled ? 0u : 1u);
    EXPECT_EQ(lease_code(), disabled ? Code::disabled : Code::paused);
    // The other side's key does not fit.
    ASSERT_EQ(change(disabled ? Change::resume : Change::enable), Code::ok);
    EXPECT_EQ(lease_code(), disabled ? Code::disabled : Code::paused);
    ASSERT_EQ(change(disabled ? Change::enable : Change::resume), Code::ok);
    const std::vector<JobView> rest = harness_.lease(queue_, 10, 1'000);
    std::string order;
    for (const JobView& job : rest) order += payload_of(job) + " ";
    EXPECT_EQ(order, disabled ? "b c later " : "x p p b c later ");
    // A dead letter comes back in any status, and waits.
    for (const JobView& job : rest) harness_.nack(queue_, job.id, job.generation, 0);
    const std::vector<JobView> last = harness_.lease(queue_, 10, 1'000);
    for (const JobView& job : last) harness_.nack(queue_, job.id, job.generation, 0);
    ASSERT_GE(count(JobState::dead), 2u);
    ASSERT_EQ(change(disabled ? Change::disable : Change::pause), Code::ok);
    const DeadPage dead = engine().dead_list(queue_, DeadQuery()).value();
    CallOptions call = at_process_level();
    const Token entry{dead.jobs[0].id, dead.jobs[0].generation};
    EXPECT_TRUE(engine().dead_replay(queue_, entry, call).ok());
    EXPECT_EQ(engine().get(queue_, entry.id).value().state, JobState::ready);
    EXPECT_EQ(lease_code(), disabled ? Code::disabled : Code::paused);
    harness_.expect_sound();
  }
}

// The dry run answers what an enqueue would, and leaves nothing behind.
TEST_P(LimitsTest, ADryRunAnswersAndWritesNothing) {
  QueueConfig config;
  config.max_depth = 1;
  queue_ = harness_.queue("q", config, config_max_depth);
  const Lsn before = engine().stats().last_lsn;
  JobId id = 7;
  EXPECT_EQ(push("x", test_push(), &id), Code::ok);
  EXPECT_EQ(id, 0u);
  EXPECT_EQ(push("x", test_push(-1)), Code::invalid);
  EXPECT_EQ(push(std::string((16u << 20) + 1, 'x'), test_push()), Code::too_large);
  EXPECT_EQ(engine().stats().last_lsn, before);
  ASSERT_EQ(push("x"), Code::ok);
  EXPECT_EQ(push("x", test_push()), Code::full);
  config.full_policy = FullPolicy::drop_oldest;
  ASSERT_EQ(configure(config, config_full_policy), Code::ok);
  EXPECT_EQ(push("x", test_push()), Code::ok);
  EXPECT_EQ(stats().totals.dropped, 0u);
  EXPECT_EQ(count(JobState::ready), 1u);
  harness_.expect_sound();
}

// XYGo C.5.12: bounds are told by the field, and a refused configuration changes nothing.
TEST_P(LimitsTest, BadConfigurationsChangeNothing) {
  queue_ = harness_.queue("q");
  const QueueConfig before = engine().config(queue_).value();
  QueueConfig config;
  config.dead_max_age_ms = -1;
  EXPECT_EQ(configure(config, config_dead_max_age_ms), Code::invalid);
  config.dead_max_age_ms = delay_ms_max + 1;
  EXPECT_EQ(configure(config, config_dead_max_age_ms), Code::invalid);
  config.full_policy = static_cast<FullPolicy>(2);
  EXPECT_EQ(configure(config, config_full_policy), Code::invalid);
  EXPECT_EQ(engine().config(queue_).value(), before);
  config.dead_max_age_ms = delay_ms_max;
  EXPECT_EQ(configure(config, config_dead_max_age_ms), Code::ok);
}

INSTANTIATE_TEST_SUITE_P(Stores, LimitsTest, testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

}  // namespace
}  // namespace wq
