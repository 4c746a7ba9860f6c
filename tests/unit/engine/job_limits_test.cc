// The limits of a job: jitter, retry-until, exceptions, timeouts, the time to start, the reasons
// that stay with a dead letter; and the changes of single jobs: priority, progress note, cancel.
// On both stores, with closes, kills and checkpoints between the steps, and jobs that are only in
// the store. Scenarios by their numbers are in docs/TESTING.md.
#include "engine/job_limits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/prng.h"
#include "support/engine_harness.h"

namespace wq {
namespace {

constexpr int64_t hour_ms = 3'600'000;

// What happens between two steps of a test.
enum class Break : uint8_t { none, checkpoint, close, kill };
constexpr Break all_breaks[] = {Break::none, Break::checkpoint, Break::close, Break::kill};

class JobLimitsTest : public testing::TestWithParam<StoreKind> {
 protected:
  JobLimitsTest() : harness_(options()) { EXPECT_TRUE(harness_.open().ok()); }
  void TearDown() override { harness_.expect_sound(); }

  static HarnessOptions options() {
    HarnessOptions options;
    options.store = GetParam();
    options.engine.segment_bytes = 1u << 20;  // small files open sooner
    options.engine.spare_segments = 0;
    return options;
  }
  void pass(Break what) {
    if (what == Break::checkpoint) {
      ASSERT_TRUE(harness_.engine().checkpoint().ok());
    }
    if (what == Break::close) {
      ASSERT_TRUE(harness_.close().ok());
      ASSERT_TRUE(harness_.open().ok());
    }
    if (what == Break::kill) {
      // What maintenance did waits for no flush; this is about what has reached the log.
      ASSERT_TRUE(harness_.engine().sync().ok());
      ASSERT_TRUE(harness_.kill_and_open().ok());
    }
  }
  int64_t now_ms() { return harness_.clock().wall_ms(); }
  QueueId queue(const char* name, uint32_t max_retries = 3, const Backoff& backoff = {}) {
    QueueConfig config;
    config.max_retries = max_retries;
    config.backoff = backoff;
    return harness_.queue(name, config, config_max_retries | config_backoff);
  }
  JobId enqueue(QueueId queue, const JobTraits& traits, const JobSpec& spec = {}) {
    JobSpec full = spec;
    full.traits = traits;
    return harness_.enqueue(queue, "payload", full);
  }
  JobView lease_one(QueueId queue, int64_t lease_ms = 0) {
    std::vector<JobView> jobs = harness_.lease(queue, 1, lease_ms);
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? JobView() : std::move(jobs[0]);
  }
  JobView get(QueueId queue, JobId id) {
    Result<JobView> view = harness_.engine().get(queue, id);
    EXPECT_TRUE(view.ok()) << view.status().message();
    return view.ok() ? std::move(view).value() : JobView();
  }
  bool is_gone(QueueId queue, JobId id) {
    return harness_.engine().get(queue, id).status().code() == Code::not_found;
  }
  QueueStats stats(QueueId queue) { return harness_.engine().queue_stats(queue).value(); }
  uint64_t count(QueueId queue, JobState state) {
    return stats(queue).counts[static_cast<size_t>(state)];
  }
  Code settle(QueueId queue, const JobView& job, SettleKind kind, DeadReason reason,
              uint8_t flags = 0) {
    SettleItem item{.id = job.id, .generation = job.generation, .kind = kind, .flags = flags};
    item.delay_ms = kind == SettleKind::nack ? -1 : 0;
    item.reason = reason;
    return harness_.settle(queue, item);
  }
  Code nack(QueueId queue, const JobView& job, uint8_t flags = 0) {
    return settle(queue, job, SettleKind::nack, DeadReason::none, flags);
  }
  Code release(QueueId queue, const JobView& job) {
    return settle(queue, job, SettleKind::release, DeadReason::none);
  }
  Code extend(QueueId queue, const JobView& job, int64_t lease_ms = 0) {
    const Token token{job.id, job.generation};
    CallOptions call;
    Code code = Code::internal;
    const Status status = harness_.engine().extend(queue, {&token, 1}, lease_ms, call, {&code, 1});
    return status.ok() ? code : status.code();
  }
  Code confirm(QueueId queue, const JobView& job) {
    CallOptions call;
    return harness_.engine().confirm(queue, Token{job.id, job.generation}, 0, call).code();
  }
  Code cancel(QueueId queue, JobId id) {
    CallOptions call;
    return harness_.engine().cancel(queue, id, call).code();
  }
  Code reprioritise(QueueId queue, JobId id, uint8_t priority) {
    CallOptions call;
    return harness_.engine().reprioritise(queue, id, priority, call).code();
  }
  Code note(QueueId queue, const JobView& job, std::string_view text) {
    CallOptions call;
    return harness_.engine().set_progress(queue, Token{job.id, job.generation}, text, call).code();
  }
  Status refusal(QueueId queue, const JobTraits& traits, const JobSpec& spec = {}) {
    JobSpec full = spec;
    full.traits = traits;
    CallOptions call;
    JobId id = 0;
    return harness_.engine().enqueue(queue, full, call, id);
  }

  EngineHarness harness_;
};

// ---- retries

TEST(DrawnDelay, LiesInTheLastPartOfTheDelayAndFillsIt) {
  Backoff policy{.kind = BackoffKind::fixed, .base_ms = 1'000, .jitter_permille = 250};
  Prng prng(1);
  std::set<int64_t> seen;
  for (int i = 0; i < 20'000; ++i) seen.insert(drawn_delay_ms(policy, 1, prng));
  EXPECT_EQ(*seen.begin(), 750);
  EXPECT_EQ(*seen.rbegin(), 1'000);
  EXPECT_EQ(seen.size(), 251u);
  policy = {.kind = BackoffKind::exponential,
            .base_ms = delay_ms_max,
            .max_ms = delay_ms_max,
            .jitter_permille = 1'000};
  for (int i = 0; i < 1'000; ++i) {
    const int64_t delay_ms = drawn_delay_ms(policy, 60, prng);
    EXPECT_TRUE(delay_ms >= 0 && delay_ms <= delay_ms_max);
  }
  EXPECT_EQ(drawn_delay_ms(Backoff(), 3, prng), 0);
}

// The delay is in the record: a replay, which has no dice, comes to the same due time. The first
// half of the jobs is nacked, the second half loses its lease.
TEST_P(JobLimitsTest, JitterIsDrawnOnceForEachRetry) {
  const QueueId q =
      queue("q", 3, {.kind = BackoffKind::fixed, .base_ms = 10'000, .jitter_permille = 500});
  constexpr size_t jobs_max = 60;
  for (size_t i = 0; i < jobs_max; ++i) harness_.enqueue(q, "x");
  JobSpec own;  // its own policy knows no jitter
  own.backoff = {.kind = BackoffKind::fixed, .base_ms = 7'000};
  const JobId steady = harness_.enqueue(q, "x", own);
  const std::vector<JobView> jobs = harness_.lease(q, 100, 1'000);
  ASSERT_EQ(jobs.size(), jobs_max + 1);
  for (size_t i = 0; i < jobs_max / 2; ++i) EXPECT_EQ(nack(q, jobs[i]), Code::ok);
  const int64_t nacked_ms = now_ms();
  harness_.advance(1'000);
  std::map<JobId, int64_t> due_ms;
  std::set<int64_t> delays[2];
  for (size_t i = 0; i < jobs_max; ++i) {
    const JobView job = get(q, jobs[i].id);
    EXPECT_EQ(job.state, JobState::delayed);
    const bool lost = i >= jobs_max / 2;
    due_ms[job.id] = job.due_ms;
    delays[lost].insert(job.due_ms - nacked_ms - (lost ? 1'000 : 0));
  }
  for (const auto& of_kind : delays) {
    EXPECT_GE(*of_kind.begin(), 5'000);
    EXPECT_LE(*of_kind.rbegin(), 10'000);
    EXPECT_GT(of_kind.size(), 20u);
  }
  EXPECT_EQ(get(q, steady).due_ms, nacked_ms + 8'000);
  for (const Break what : {Break::kill, Break::checkpoint, Break::kill, Break::close}) {
    pass(what);
    for (const auto& [id, at_ms] : due_ms) ASSERT_EQ(get(q, id).due_ms, at_ms) << id;
  }
}

// B.9.34: it does not extend the attempts, both must allow.
TEST_P(JobLimitsTest, AfterRetryUntilALostAttemptIsTheLast) {
  const QueueId q = queue("q", 1);
  const int64_t start_ms = now_ms();
  const auto until = [&](int64_t ms) { return enqueue(q, {.retry_until_ms = start_ms + ms}); };
  const JobId by_nack = until(500), by_expiry = until(500), in_time = until(hour_ms);
  const std::vector<JobView> jobs = harness_.lease(q, 3, 1'000);
  ASSERT_EQ(jobs.size(), 3u);
  harness_.clock().advance(499);
  EXPECT_EQ(nack(q, jobs[2]), Code::ok);
  harness_.clock().advance(1);
  EXPECT_EQ(nack(q, jobs[0]), Code::ok);
  harness_.advance(500);
  EXPECT_EQ(get(q, by_nack).reason, DeadReason::retry_until);
  EXPECT_EQ(get(q, by_expiry).reason, DeadReason::retry_until);
  EXPECT_EQ(get(q, in_time).state, JobState::ready);
  pass(Break::kill);
  EXPECT_EQ(nack(q, lease_one(q)), Code::ok);
  EXPECT_EQ(get(q, in_time).reason, DeadReason::failed);  // no attempt was left
  EXPECT_EQ(get(q, by_nack).reason, DeadReason::retry_until);
}

// B.10.1: the counter is kept with the job, whatever happens between two attempts.
TEST_P(JobLimitsTest, ExceptionsAreCountedWithTheJob) {
  const QueueId q = queue("q", 100);
  const JobId id = enqueue(q, {.max_exceptions = 4});
  uint32_t exceptions = 0;
  for (const Break what : all_breaks) {
    EXPECT_EQ(nack(q, lease_one(q), settle_no_exception), Code::ok);  // counts an attempt only
    EXPECT_EQ(release(q, lease_one(q)), Code::ok);
    EXPECT_EQ(nack(q, lease_one(q)), Code::ok);
    pass(what);
    EXPECT_EQ(get(q, id).exceptions, ++exceptions);
    const bool dead = exceptions == 4;
    EXPECT_EQ(get(q, id).state, dead ? JobState::dead : JobState::ready);
    EXPECT_EQ(get(q, id).reason, dead ? DeadReason::max_exceptions : DeadReason::none);
  }
  EXPECT_EQ(get(q, id).attempts, 8u);
  CallOptions call;
  const Token entry{id, get(q, id).generation};
  EXPECT_TRUE(harness_.engine().dead_replay(q, entry, call).ok());
  EXPECT_EQ(get(q, id).exceptions, 0u);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(nack(q, lease_one(q)), Code::ok);
  EXPECT_EQ(get(q, id).state, JobState::ready);
}

// B.9.33, bug case 20: given back before it started, whatever the limits say.
TEST_P(JobLimitsTest, ReleaseCountsNothing) {
  const QueueId q = queue("q", 0);
  const JobId id = enqueue(q, {.retry_until_ms = now_ms() + 1, .max_exceptions = 1});
  harness_.advance(2);
  for (const Break what : all_breaks) {
    const JobView job = lease_one(q);
    EXPECT_EQ(job.attempts, 1u);
    EXPECT_EQ(release(q, job), Code::ok);
    pass(what);
    const JobView after = get(q, id);
    EXPECT_EQ(after.state, JobState::ready);
    EXPECT_EQ(after.attempts, 0u);
    EXPECT_EQ(after.exceptions, 0u);
  }
  EXPECT_EQ(stats(q).totals.released, 4u);
  EXPECT_EQ(stats(q).totals.nacked, 0u);
}

// ---- timeouts

TEST_P(JobLimitsTest, TheTimeoutOfAJobIsTheLengthOfItsLeases) {
  const QueueId q = queue("q");  // 60 s
  const JobId plain = enqueue(q, {}), brief = enqueue(q, {.timeout_ms = 5'000});
  enqueue(q, {.timeout_ms = 5'000});
  enqueue(q, {.timeout_ms = 90'000});
  for (const Break what : {Break::none, Break::close, Break::kill}) {
    std::vector<JobView> jobs = harness_.lease(q, 4);
    while (jobs.size() < 4) jobs.push_back(lease_one(q));  // the store hands out page by page
    std::vector<int64_t> lengths;
    for (const JobView& job : jobs) lengths.push_back(job.deadline_ms - now_ms());
    EXPECT_EQ(lengths, (std::vector<int64_t>{60'000, 5'000, 5'000, 90'000}));
    harness_.clock().advance(1'000);
    std::vector<Token> tokens;
    for (const JobView& job : jobs) tokens.push_back({job.id, job.generation});
    std::vector<Code> codes(4);
    CallOptions call;
    EXPECT_TRUE(harness_.engine().extend(q, tokens, 0, call, codes).ok());
    EXPECT_EQ(codes, std::vector<Code>(4, Code::ok));
    pass(what);
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(get(q, jobs[i].id).deadline_ms - now_ms(), lengths[i]) << i;
      EXPECT_EQ(extend(q, jobs[i], 30'000), Code::ok);  // the call says otherwise
      EXPECT_EQ(get(q, jobs[i].id).deadline_ms - now_ms(), 30'000);
      EXPECT_EQ(release(q, jobs[i]), Code::ok);
    }
  }
  EXPECT_EQ(lease_one(q, 7'000).id, plain);
  const JobView job = lease_one(q, 7'000);
  EXPECT_EQ(job.id, brief);
  EXPECT_EQ(job.deadline_ms - now_ms(), 7'000);
}

// B.9.32: final at the first timeout although attempts remain.
TEST_P(JobLimitsTest, FailOnTimeoutMakesALeaseThatRunsOutTheLast) {
  const QueueId q = queue("q", 5);
  const JobId last = enqueue(q, {.timeout_ms = 1'000, .fail_on_timeout = true});
  const JobId again = enqueue(q, {.timeout_ms = 1'000});
  ASSERT_EQ(harness_.lease(q, 2).size(), 2u);
  for (const Break what : {Break::kill, Break::close}) {
    pass(what);
    harness_.advance(499);
    EXPECT_EQ(get(q, last).state, JobState::leased);
  }
  harness_.advance(2);
  pass(Break::kill);
  EXPECT_EQ(get(q, last).reason, DeadReason::timeout);
  EXPECT_EQ(get(q, again).state, JobState::ready);
  EXPECT_EQ(stats(q).totals.expired, 2u);
  EXPECT_EQ(stats(q).totals.jobs_expired, 0u);
  // What the worker itself gives back has not run out.
  const JobId nacked = enqueue(q, {.timeout_ms = 1'000, .fail_on_timeout = true});
  EXPECT_EQ(nack(q, lease_one(q)), Code::ok);  // of `again`
  EXPECT_EQ(nack(q, lease_one(q)), Code::ok);
  EXPECT_EQ(get(q, nacked).state, JobState::ready);
}

// ---- reasons

TEST_P(JobLimitsTest, WorkersSayWhyAJobIsDead) {
  const QueueId q = queue("q", 1);
  struct Case {
    DeadReason told;
    Code code;
    DeadReason kept;
  };
  constexpr Case cases[] = {
      {DeadReason::none, Code::ok, DeadReason::failed},
      {DeadReason::failed, Code::ok, DeadReason::failed},
      {DeadReason::lease_expired, Code::invalid, {}},
      {DeadReason::timeout, Code::ok, DeadReason::timeout},
      {DeadReason::retry_until, Code::invalid, {}},
      {DeadReason::max_exceptions, Code::invalid, {}},
      {DeadReason::cancelled, Code::ok, DeadReason::cancelled},
      {DeadReason::expired, Code::ok, DeadReason::expired},
      {DeadReason::unknown_type, Code::ok, DeadReason::unknown_type},
      {DeadReason::unreadable, Code::invalid, {}},
      {static_cast<DeadReason>(10), Code::invalid, {}},
  };
  std::map<JobId, DeadReason> kept;
  for (const SettleKind kind : {SettleKind::fail, SettleKind::nack}) {
    for (const Case& one : cases) {
      const JobId id = enqueue(q, {});
      if (kind == SettleKind::nack) {  // bug case 57: a reason counts once no attempt is left
        EXPECT_EQ(settle(q, lease_one(q), kind, DeadReason::unknown_type), Code::ok);
        EXPECT_EQ(get(q, id).reason, DeadReason::none);
      }
      const JobView job = lease_one(q);
      EXPECT_EQ(settle(q, job, kind, one.told), one.code) << static_cast<int>(one.told);
      if (one.code != Code::ok) {
        EXPECT_EQ(get(q, id).state, JobState::leased);
        EXPECT_EQ(harness_.ack(q, id, job.generation), Code::ok);
      } else {
        kept[id] = one.kept;
      }
    }
  }
  for (const Break what : all_breaks) {
    pass(what);
    for (const auto& [id, reason] : kept) EXPECT_EQ(get(q, id).reason, reason);
  }
  DeadQuery query;
  query.reason = DeadReason::unknown_type;
  EXPECT_EQ(harness_.engine().dead_list(q, query).value().jobs.size(), 2u);
}

// ---- the time to start

TEST_P(JobLimitsTest, AJobThatDoesNotStartInTimeEnds) {
  const QueueId q = queue("q");
  const QueueId other = queue("other");
  uint64_t ended = 0;
  for (const Break what : all_breaks) {
    const JobId early = enqueue(q, {.expires_ms = now_ms() + 1'000});
    const JobId late = enqueue(q, {.expires_ms = now_ms() + 5'000});
    const JobId never = enqueue(q, {});
    pass(what);
    harness_.advance(999);
    EXPECT_EQ(count(q, JobState::ready), 3u);
    pass(what);
    harness_.clock().advance(1);
    EXPECT_TRUE(harness_.lease(other).empty());  // any call lets what is due happen
    harness_.advance(0);
    EXPECT_TRUE(is_gone(q, early));
    EXPECT_EQ(lease_one(q).id, late);
    EXPECT_TRUE(is_gone(q, early));
    EXPECT_EQ(lease_one(q).id, never);
    EXPECT_EQ(stats(q).totals.jobs_expired, ++ended);
    CallOptions call;
    EXPECT_TRUE(harness_.engine().clear(q, clearable_states, call).ok());
  }
  EXPECT_EQ(stats(q).totals.expired, 0u);
  EXPECT_EQ(stats(q).totals.dead, 0u);
}

// More of them than one step of the maintenance ends: a lease meets the rest at the head of the
// lane, ends it and finds the job behind it.
TEST_P(JobLimitsTest, AnExpiredJobIsNeverHandedOut) {
  for (const Break what : {Break::none, Break::close}) {
    const QueueId q = queue("q");
    JobSpec spec;
    spec.payload = as_bytes("x");
    spec.traits.expires_ms = now_ms() + 1'000;
    std::vector<JobSpec> specs(3'500, spec);
    for (size_t i = 0; i < specs.size(); i += 100) specs[i].traits.expires_ms = now_ms() + hour_ms;
    CallOptions call;
    ASSERT_TRUE(harness_.engine().enqueue_many(q, specs, false, call, {}).ok());
    pass(what);
    harness_.clock().advance(1'000);
    size_t leased = 0;
    for (;;) {
      const std::vector<JobView> jobs = harness_.lease(q, 100, hour_ms);
      if (jobs.empty()) break;
      for (const JobView& job : jobs) {
        EXPECT_GT(traits_of(job.body.bytes()).expires_ms, now_ms());
        ++leased;
      }
    }
    EXPECT_EQ(leased, 35u);
    EXPECT_EQ(stats(q).totals.jobs_expired, 3'465u);
    EXPECT_TRUE(harness_.engine().remove_queue(q, call).ok());
  }
}

// Nobody asks for them and most are only in the store.
TEST_P(JobLimitsTest, AQueueThatNobodyReadsEmptiesItself) {
  QueueConfig config;
  config.job_ttl_ms = 10'000;
  const QueueId q = harness_.queue("q", config, config_job_ttl);
  std::vector<JobSpec> specs(5'000);
  CallOptions call;
  ASSERT_TRUE(harness_.engine().enqueue_many(q, specs, false, call, {}).ok());
  pass(Break::close);
  // The first call for the queue brings a page of it to memory; the others follow one by one.
  const std::vector<JobView> one = harness_.lease(q);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(harness_.ack(q, one[0].id, one[0].generation), Code::ok);
  harness_.advance(9'999);
  EXPECT_EQ(count(q, JobState::ready), 4'999u);
  harness_.advance(1);
  EXPECT_EQ(count(q, JobState::ready), 0u);
  EXPECT_EQ(stats(q).totals.jobs_expired, 4'999u);
  pass(Break::kill);
  EXPECT_EQ(stats(q).totals.jobs_expired, 4'999u);
  EXPECT_TRUE(harness_.lease(q).empty());
}

// Behind jobs that never end, in a queue that is paused: no lease and no refill comes to them.
TEST_P(JobLimitsTest, JobsThatAreOnlyOnTheDiskEndAsWell) {
  for (const Break what : {Break::close, Break::kill}) {
    const QueueId q = queue("q");
    CallOptions call;
    std::vector<JobSpec> specs(9'000);
    for (size_t i = 1; i < specs.size(); ++i) {
      if (i % 3 == 0) specs[i].traits.group = "g";
      if (i % 7 == 0) specs[i].traits.expires_ms = now_ms() + 5'000;
    }
    specs[9].traits.expires_ms = now_ms() + 60'000;
    ASSERT_TRUE(harness_.engine().enqueue_many(q, specs, false, call, {}).ok());
    ASSERT_TRUE(harness_.engine().checkpoint().ok());
    pass(what);
    ASSERT_TRUE(harness_.engine().change_status(q, Engine::StatusChange::pause, call).ok());
    harness_.advance(4'999);
    EXPECT_EQ(count(q, JobState::ready), 9'000u);
    harness_.advance(10'000);  // no sooner than some seconds after the last look at all of them
    EXPECT_EQ(count(q, JobState::ready), 9'000u - 1'285u);
    EXPECT_EQ(stats(q).totals.jobs_expired, 1'285u);
    pass(Break::kill);
    harness_.expect_sound();
    harness_.advance(60'000);
    EXPECT_EQ(stats(q).totals.jobs_expired, 1'286u);
    EXPECT_TRUE(harness_.engine().remove_queue(q, call).ok());
  }
}

TEST_P(JobLimitsTest, ATimeToLiveHoldsForJobsOnTheDisk) {
  const QueueId q = queue("q");
  const JobView retried = [&] {
    enqueue(q, {});
    return lease_one(q);
  }();
  CallOptions call;
  std::vector<JobSpec> specs(1'000);
  ASSERT_TRUE(harness_.engine().enqueue_many(q, specs, false, call, {}).ok());
  SettleItem back{.id = retried.id, .generation = retried.generation, .kind = SettleKind::nack};
  back.flags = settle_front;
  back.delay_ms = 0;
  EXPECT_EQ(harness_.settle(q, back), Code::ok);  // it has started, and stands before them
  pass(Break::close);
  harness_.advance(20'000);
  EXPECT_EQ(count(q, JobState::ready), 1'001u);
  QueueConfig config;
  config.job_ttl_ms = 20'000;
  ASSERT_TRUE(harness_.engine().configure(q, config, config_job_ttl, call).ok());
  harness_.advance(10'000);  // at once in memory, and else as above
  EXPECT_EQ(count(q, JobState::ready), 1u);
  EXPECT_EQ(stats(q).totals.jobs_expired, 1'000u);
}

TEST_P(JobLimitsTest, WhatHasStartedDoesNotExpire) {
  const QueueId q = queue("q", 0);
  const JobTraits traits{.expires_ms = now_ms() + 1'000};
  const JobId held = enqueue(q, traits), dead = enqueue(q, traits), given_back = enqueue(q, traits);
  JobSpec more;
  more.max_attempts = 2;
  const JobId retried = enqueue(q, traits, more);
  const std::vector<JobView> jobs = harness_.lease(q, 4, hour_ms);
  ASSERT_EQ(jobs.size(), 4u);
  EXPECT_EQ(nack(q, jobs[1]), Code::ok);
  EXPECT_EQ(nack(q, jobs[3]), Code::ok);
  pass(Break::close);
  harness_.advance(2'000);
  CallOptions call;
  EXPECT_TRUE(harness_.engine().dead_replay(q, {dead, jobs[1].generation}, call).ok());
  EXPECT_EQ(release(q, jobs[2]), Code::ok);  // it never started
  harness_.advance(0);
  pass(Break::kill);
  EXPECT_EQ(get(q, held).state, JobState::leased);
  EXPECT_EQ(get(q, dead).state, JobState::ready);
  EXPECT_EQ(get(q, retried).state, JobState::ready);
  EXPECT_TRUE(is_gone(q, given_back));
  EXPECT_EQ(stats(q).totals.jobs_expired, 1u);
}

TEST_P(JobLimitsTest, TheTimeToLiveOfAQueueChangesWhileItRuns) {
  const QueueId q = queue("q");
  const auto set_ttl = [&](int64_t ttl_ms) {
    QueueConfig config;
    config.job_ttl_ms = ttl_ms;
    CallOptions call;
    ASSERT_TRUE(harness_.engine().configure(q, config, config_job_ttl, call).ok());
  };
  JobSpec waits;
  waits.delay_ms = 30'000;
  const JobId delayed = harness_.enqueue(q, "d", waits);
  const JobId own = enqueue(q, {.expires_ms = now_ms() + 3'000});
  const JobId first = harness_.enqueue(q, "a");
  harness_.advance(5'000);
  EXPECT_TRUE(is_gone(q, own));
  EXPECT_EQ(get(q, first).state, JobState::ready);
  set_ttl(20'000);
  const JobId second = harness_.enqueue(q, "b");
  pass(Break::kill);
  harness_.advance(15'000);
  EXPECT_TRUE(is_gone(q, first));
  EXPECT_EQ(get(q, second).state, JobState::ready);
  set_ttl(0);
  harness_.advance(5'000);
  EXPECT_EQ(get(q, second).state, JobState::ready);
  set_ttl(20'000);
  harness_.advance(0);
  EXPECT_TRUE(is_gone(q, second));
  EXPECT_EQ(get(q, delayed).state, JobState::delayed);  // it is looked at when it is due
  harness_.advance(5'000);
  EXPECT_TRUE(is_gone(q, delayed));
  EXPECT_EQ(stats(q).totals.jobs_expired, 4u);
}

TEST_P(JobLimitsTest, ClearedJobsHaveNoTimer) {
  const QueueId q = queue("q"), kept = queue("kept");
  const JobTraits traits{.expires_ms = now_ms() + 1'000};
  for (int i = 0; i < 10; ++i) enqueue(q, traits);
  const JobId other = enqueue(kept, traits);
  CallOptions call;
  EXPECT_EQ(harness_.engine().clear(q, 0, call).value(), 10u);
  enqueue(q, traits);
  EXPECT_TRUE(harness_.engine().remove_queue(q, call).ok());
  harness_.advance(1'000);
  EXPECT_TRUE(is_gone(kept, other));
  EXPECT_EQ(stats(kept).totals.jobs_expired, 1u);
}

TEST_P(JobLimitsTest, LimitsNameTheField) {
  const QueueId q = queue("q");
  const auto expect = [&](const JobTraits& traits, const JobSpec& spec, Code code,
                          const char* field) {
    const Status status = refusal(q, traits, spec);
    EXPECT_EQ(status.code(), code) << field;
    EXPECT_TRUE(code == Code::ok || status.message().starts_with(field)) << status.message();
  };
  const int64_t far_ms = now_ms() + delay_ms_max;
  JobSpec waits;
  waits.delay_ms = 1'000;
  JobSpec shaky;
  shaky.backoff = {.kind = BackoffKind::fixed, .base_ms = 1, .jitter_permille = 1'001};
  expect({.expires_ms = -1}, {}, Code::invalid, "expires_at_ms");
  expect({.expires_ms = far_ms + 1}, {}, Code::invalid, "expires_at_ms");
  expect({.expires_ms = far_ms}, {}, Code::ok, "");
  expect({.expires_ms = 1}, {}, Code::ok, "");  // over, so it ends at once
  expect({.expires_ms = now_ms() + 1'000}, waits, Code::invalid, "expires_at_ms");
  expect({.expires_ms = now_ms() + 1'001}, waits, Code::ok, "");
  expect({.retry_until_ms = -1}, {}, Code::invalid, "retry_until_ms");
  expect({.retry_until_ms = far_ms + 1}, {}, Code::invalid, "retry_until_ms");
  expect({.timeout_ms = -1}, {}, Code::invalid, "timeout_ms");
  expect({.timeout_ms = delay_ms_max + 1}, {}, Code::invalid, "timeout_ms");
  expect({.timeout_ms = delay_ms_max}, {}, Code::ok, "");
  expect({}, shaky, Code::invalid, "backoff_jitter_permille");
  shaky.backoff = {.jitter_permille = 1};
  expect({}, shaky, Code::invalid, "backoff_jitter_permille");
  QueueConfig config;
  CallOptions call;
  for (const int64_t ttl_ms : {int64_t{-1}, delay_ms_max + 1}) {
    config.job_ttl_ms = ttl_ms;
    EXPECT_EQ(harness_.engine().configure(q, config, config_job_ttl, call).code(), Code::invalid);
  }
  harness_.advance(0);
  EXPECT_EQ(stats(q).totals.enqueued, 4u);
  EXPECT_EQ(stats(q).totals.jobs_expired, 1u);
}

// ---- single jobs

// Bug case 11, for a job that waits. It goes to the tail of its new priority.
TEST_P(JobLimitsTest, APriorityChangesWhileTheJobWaits) {
  for (const Break what : all_breaks) {
    const QueueId q = queue("q");
    const JobId first = harness_.enqueue(q, "1"), second = harness_.enqueue(q, "2");
    const JobId third = harness_.enqueue(q, "3"), fourth = harness_.enqueue(q, "4");
    JobSpec waits;
    waits.delay_ms = 1'000;
    const JobId delayed = harness_.enqueue(q, "5", waits);
    pass(what);  // closed: they are in the store only
    EXPECT_EQ(reprioritise(q, third, 10), Code::ok);
    EXPECT_EQ(reprioritise(q, first, 10), Code::ok);
    EXPECT_EQ(reprioritise(q, delayed, 0), Code::ok);
    EXPECT_EQ(reprioritise(q, second, default_priority),
              Code::ok);  // as it was: it keeps its place
    EXPECT_EQ(get(q, second).state, JobState::ready);
    pass(what);
    harness_.advance(1'000);
    std::vector<JobId> order;
    for (;;) {
      const std::vector<JobView> jobs = harness_.lease(q, 1, hour_ms);
      if (jobs.empty()) break;
      order.push_back(jobs[0].id);
    }
    EXPECT_EQ(order, (std::vector<JobId>{delayed, third, first, second, fourth}));
    EXPECT_EQ(reprioritise(q, first, 1), Code::conflict);
    EXPECT_EQ(get(q, first).priority, 10);
    EXPECT_EQ(reprioritise(q, fourth + 100, 1), Code::not_found);
    CallOptions call;
    EXPECT_TRUE(harness_.engine().remove_queue(q, call).ok());
  }
}

TEST_P(JobLimitsTest, AProgressNoteStaysWithTheJobUntilItIsReplaced) {
  const QueueId q = queue("q", 1);
  const JobId id = harness_.enqueue(q, "x");
  const std::string long_note(progress_bytes_max, '\xff');
  JobView job = lease_one(q);
  for (const Break what : all_breaks) {
    EXPECT_EQ(note(q, job, std::string_view("10\0%", 4)), Code::ok);
    EXPECT_EQ(note(q, job, long_note), Code::ok);
    EXPECT_EQ(note(q, job, long_note + "x"), Code::too_large);
    pass(what);
    EXPECT_EQ(get(q, id).progress, long_note);
    EXPECT_EQ(get(q, id).state, JobState::leased);
  }
  EXPECT_EQ(nack(q, job), Code::ok);
  EXPECT_EQ(note(q, job, "late"), Code::stale);
  const Generation old = job.generation;
  job = lease_one(q);
  EXPECT_EQ(job.progress, long_note);  // the next attempt can go on from it
  JobView late = job;
  late.generation = old;
  EXPECT_EQ(note(q, late, "late"), Code::stale);
  EXPECT_EQ(confirm(q, job), Code::ok);
  EXPECT_EQ(note(q, job, ""), Code::ok);
  pass(Break::kill);
  EXPECT_EQ(get(q, id).progress, "");
  EXPECT_EQ(note(q, job, "half"), Code::ok);
  EXPECT_EQ(nack(q, job), Code::ok);
  pass(Break::close);
  EXPECT_EQ(get(q, id).state, JobState::dead);
  EXPECT_EQ(get(q, id).progress, "half");
}

// The worker learns it from its next call, and its slot is free at once.
TEST_P(JobLimitsTest, ACancelledJobIsTakenFromItsWorker) {
  QueueConfig config;
  config.max_running = 1;
  const QueueId q = harness_.queue("q", config, config_max_running);
  for (const bool running : {false, true}) {
    for (const Break what : all_breaks) {
      const JobId id = harness_.enqueue(q, "x");
      const JobView job = lease_one(q);
      if (running) {
        EXPECT_EQ(confirm(q, job), Code::ok);
      }
      pass(what);
      const JobId next = harness_.enqueue(q, "y");
      EXPECT_TRUE(harness_.lease(q).empty());
      EXPECT_EQ(cancel(q, id), Code::ok);
      pass(what);
      EXPECT_EQ(extend(q, job), Code::stale);
      EXPECT_EQ(note(q, job, "x"), Code::stale);
      EXPECT_EQ(confirm(q, job), Code::stale);
      EXPECT_EQ(nack(q, job), Code::stale);
      EXPECT_EQ(harness_.ack(q, id, job.generation), Code::stale);
      EXPECT_EQ(cancel(q, id), Code::not_found);
      EXPECT_TRUE(is_gone(q, id));
      const JobView freed = lease_one(q);
      EXPECT_EQ(freed.id, next);
      EXPECT_EQ(harness_.ack(q, freed.id, freed.generation), Code::ok);
    }
  }
  EXPECT_EQ(stats(q).totals.cancelled, 8u);
  EXPECT_EQ(stats(q).totals.acked, 8u);
}

// ---- moving

struct Moved {
  StoreImage store;
  QueueRow queue;
  std::vector<JobRow> rows;
  std::vector<std::string> texts, notes;
  std::vector<JobTraits> traits;
  std::vector<Backoff> backoffs;
  bool operator==(const Moved& other) const {
    const auto reasons = [](const Moved& moved) {
      std::vector<DeadReason> out;
      for (const JobRow& row : moved.rows) out.push_back(row.reason);
      return out;
    };
    return texts == other.texts && notes == other.notes && traits == other.traits &&
           backoffs == other.backoffs && queue.config == other.queue.config &&
           queue.totals == other.queue.totals && reasons(*this) == reasons(other);
  }
};

TEST_P(JobLimitsTest, AnExportKnowsAllOfIt) {
  QueueConfig config;
  config.job_ttl_ms = hour_ms;
  config.max_retries = 0;
  config.backoff = {.kind = BackoffKind::fixed, .base_ms = 9, .jitter_permille = 10};
  const QueueId q =
      harness_.queue("q", config, config_job_ttl | config_backoff | config_max_retries);
  JobSpec own;
  own.backoff = {.kind = BackoffKind::list, .list_ms = {1, 2}, .jitter_permille = 999};
  enqueue(q, {.expires_ms = now_ms() + 1}, own);
  enqueue(q, {.expires_ms = now_ms() + hour_ms,
              .retry_until_ms = now_ms() + 5,
              .timeout_ms = 77,
              .max_exceptions = 8,
              .fail_on_timeout = true});
  harness_.advance(1);
  const JobView job = lease_one(q);
  EXPECT_EQ(note(q, job, "half"), Code::ok);
  EXPECT_EQ(settle(q, job, SettleKind::fail, DeadReason::unknown_type), Code::ok);
  enqueue(q, {.max_exceptions = 1}, own);
  const auto told = [](Engine& engine) {
    Moved moved;
    ExportVisitor visitor;
    visitor.on_store = [&](const StoreImage& store) -> Status {
      moved.store = store;
      return {};
    };
    visitor.on_queue = [&](const QueueRow& row) -> Status {
      moved.queue = row;
      return {};
    };
    visitor.on_job = [&](const JobImage& image) -> Status {
      moved.rows.push_back(image.row);
      moved.notes.emplace_back(image.row.progress);
      moved.traits.push_back(image.envelope.traits);
      moved.backoffs.push_back(image.envelope.backoff);
      return {};
    };
    EXPECT_TRUE(engine.export_store("", visitor).ok());
    return moved;
  };
  const Moved here = told(harness_.engine());
  ASSERT_EQ(here.rows.size(), 2u);
  EXPECT_EQ(here.queue.totals.jobs_expired, 1u);
  EngineHarness there{options()};
  ASSERT_TRUE(there.open().ok());
  CallOptions call;
  Engine& engine = there.engine();
  ASSERT_TRUE(engine.import_begin(here.store.next_job_id, here.store.next_generation, call).ok());
  QueueId into = 0;
  ExportVisitor visitor;
  visitor.on_store = [](const StoreImage&) -> Status { return {}; };
  visitor.on_queue = [&](const QueueRow& row) -> Status {
    WQ_TRY_SET(into, engine.import_queue(row, call));
    return {};
  };
  visitor.on_job = [&](const JobImage& image) -> Status {
    return engine.import_jobs(into, {&image, 1}, call);
  };
  EXPECT_TRUE(harness_.engine().export_store("", visitor).ok());
  ASSERT_TRUE(engine.import_end(call).ok());
  ASSERT_TRUE(there.kill_and_open().ok());
  EXPECT_TRUE(told(there.engine()) == here);
  there.expect_sound();
}

INSTANTIATE_TEST_SUITE_P(Stores, JobLimitsTest,
                         testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

}  // namespace
}  // namespace wq
