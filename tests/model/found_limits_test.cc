// Defects in the limits of queues that the model found, each as the shortest way to see it again.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/engine_harness.h"

namespace wq {
namespace {

class FoundLimits : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(harness_.open().ok()); }

  Engine& engine() { return harness_.engine(); }
  QueueId queue(uint64_t max_depth, uint64_t max_bytes = 0,
                FullPolicy policy = FullPolicy::refuse) {
    const std::string name = "q" + std::to_string(++queues_);
    QueueConfig config;
    config.max_depth = max_depth;
    config.max_bytes = max_bytes;
    config.full_policy = policy;
    return harness_.queue(name, config, config_max_depth | config_max_bytes | config_full_policy);
  }
  static JobSpec spec(std::string_view payload, KeyRule rule = KeyRule::none,
                      std::string_view key = {}) {
    JobSpec out;
    out.payload = as_bytes(payload);
    out.traits.key_rule = rule;
    out.traits.key = key;
    if (rule == KeyRule::debounce) out.debounce_ms = 1'000;
    return out;
  }
  Code push(QueueId id, const JobSpec& spec) {
    CallOptions call;
    JobId job = 0;
    return engine().enqueue(id, spec, call, job).code();
  }
  // The codes of all of them.
  std::vector<Code> push_part(QueueId id, const std::vector<JobSpec>& specs) {
    CallOptions call;
    std::vector<EnqueueOutcome> outcomes(specs.size());
    const auto taken = engine().enqueue_many(id, specs, true, call, outcomes);
    std::vector<Code> codes;
    if (!taken.ok()) return {taken.status().code()};
    for (const EnqueueOutcome& outcome : outcomes) codes.push_back(outcome.code);
    return codes;
  }
  Code transact(QueueId id, const JobSpec& spec) {
    TxnOp op;
    op.kind = TxnOp::Kind::enqueue;
    op.queue = id;
    op.spec = spec;
    CallOptions call;
    TxnResult result;
    size_t failed = 0;
    return engine().transact({&op, 1}, call, {&result, 1}, failed).code();
  }
  uint64_t batch() {
    CallOptions call;
    return engine().batch_create(BatchSpec(), call).value();
  }
  QueueStats stats(QueueId id) { return engine().queue_stats(id).value(); }
  uint64_t waiting(QueueId id) {
    const QueueStats told = stats(id);
    return told.counts[static_cast<size_t>(JobState::ready)] +
           told.counts[static_cast<size_t>(JobState::delayed)];
  }

  EngineHarness harness_;
  int queues_ = 0;
};

using Codes = std::vector<Code>;

// The flow of one of them refused all of a call that takes the jobs before the first refusal.
TEST_F(FoundLimits, APartTakesTheJobsBeforeOneWhoseFlowIsNotThere) {
  const QueueId q = queue(0);
  for (const bool keyed : {false, true}) {
    JobSpec stray = spec("stray");
    stray.traits.batch = 77;
    const JobSpec first = keyed ? spec("1", KeyRule::until_done, "k") : spec("1");
    EXPECT_EQ(push_part(q, {first, stray, spec("3")}),
              (Codes{Code::ok, Code::not_found, Code::not_found}));
  }
  EXPECT_EQ(waiting(q), 2u);
}

// With keys a call that takes what there is room for was refused as a whole.
TEST_F(FoundLimits, APartWithKeysTakesWhatThereIsRoomFor) {
  const QueueId q = queue(2);
  const std::vector<JobSpec> specs = {
      spec("1", KeyRule::until_done, "a"), spec("2", KeyRule::until_done, "a"),
      spec("3", KeyRule::until_done, "b"), spec("4", KeyRule::until_done, "c")};
  EXPECT_EQ(push_part(q, specs), (Codes{Code::ok, Code::duplicate, Code::ok, Code::full}));
  EXPECT_EQ(waiting(q), 2u);
}

// TOO_LARGE says that it can never be taken; these can, one after the other.
TEST_F(FoundLimits, JobsThatAreOnlyTogetherOverTheBytesAreNotTooLarge) {
  const QueueId q = queue(0, 1'500);
  const std::string kilobyte(1'000, 'x');
  EXPECT_EQ(push_part(q, {spec(kilobyte), spec(kilobyte)}), (Codes{Code::ok, Code::full}));
  const std::string larger(1'500, 'x');
  EXPECT_EQ(push(q, spec(larger)), Code::too_large);
}

// It takes the place of one that waits, in memory or not: nothing goes for it, in count or bytes.
TEST_F(FoundLimits, ADebouncedJobNeedsNoRoomInAFullQueue) {
  for (const FullPolicy policy : {FullPolicy::refuse, FullPolicy::drop_oldest}) {
    for (const bool by_bytes : {false, true}) {
      SCOPED_TRACE(by_bytes);
      const std::string payload(600, 'x');
      const JobSpec debounced = spec(payload, KeyRule::debounce, "k");
      const QueueId q = by_bytes ? queue(0, 1'500, policy) : queue(2, 0, policy);
      ASSERT_EQ(push(q, spec(payload)), Code::ok);
      ASSERT_EQ(push(q, debounced), Code::ok);
      EXPECT_EQ(push(q, debounced), Code::ok);
      EXPECT_EQ(push_part(q, {debounced, debounced}), (Codes{Code::ok, Code::ok}));
      EXPECT_EQ(transact(q, debounced), Code::ok);
      ASSERT_TRUE(engine().checkpoint().ok());
      ASSERT_TRUE(harness_.kill_and_open().ok());
      EXPECT_EQ(push(q, debounced), Code::ok);
      EXPECT_EQ(waiting(q), 2u);
      EXPECT_EQ(stats(q).totals.dropped, 0u);
      EXPECT_EQ(stats(q).totals.cancelled, 5u);
      harness_.expect_sound();
    }
  }
}

// Jobs with keys had others dropped by a record before their own: the drop ended the flow that the
// new one was to join, which then was refused, and the old one was lost for nothing.
TEST_F(FoundLimits, AKeyedJobAndWhatGoesForItAreOneChange) {
  const QueueId q = queue(1, 0, FullPolicy::drop_oldest);
  const uint64_t flow = batch();
  JobSpec member = spec("old");
  member.traits.batch = flow;
  ASSERT_EQ(push(q, member), Code::ok);
  CallOptions call;
  ASSERT_TRUE(engine().batch_seal(flow, call).ok());
  const Lsn before = engine().stats().last_lsn;
  JobSpec newer = spec("new", KeyRule::until_done, "k");
  newer.traits.batch = flow;
  EXPECT_EQ(push(q, newer), Code::ok);
  EXPECT_EQ(engine().stats().last_lsn, before + 1);
  ASSERT_TRUE(harness_.kill_and_open().ok());
  EXPECT_EQ(stats(q).totals.dropped, 1u);
  EXPECT_EQ(engine().batch_status(flow).value().pending, 1u);
  EXPECT_EQ(push(q, newer), Code::duplicate);
  // A debounced one whose place another takes meanwhile, while both are only in the store.
  QueueConfig two;
  two.max_depth = 2;
  ASSERT_TRUE(engine().configure(q, two, config_max_depth, call).ok());
  ASSERT_EQ(push(q, spec("d", KeyRule::debounce, "k")), Code::ok);
  ASSERT_TRUE(harness_.close().ok());
  ASSERT_TRUE(harness_.open().ok());
  const std::vector<JobSpec> both = {spec("e", KeyRule::debounce, "k"), spec("f")};
  EXPECT_EQ(push_part(q, both), (Codes{Code::ok, Code::ok}));
  ASSERT_TRUE(harness_.kill_and_open().ok());
  EXPECT_EQ(waiting(q), 2u);
  EXPECT_EQ(stats(q).totals.dropped, 2u);
  EXPECT_EQ(stats(q).totals.cancelled, 1u);
  harness_.expect_sound();
}

// The same answer whichever way it is asked: who sends it again learns of the holder.
TEST_F(FoundLimits, AHeldKeyIsToldOfAFullQueueToo) {
  const QueueId q = queue(1);
  ASSERT_EQ(push(q, spec("1", KeyRule::until_done, "k")), Code::ok);
  EXPECT_EQ(push(q, spec("1", KeyRule::until_done, "k")), Code::duplicate);
  EXPECT_EQ(transact(q, spec("1", KeyRule::until_done, "k")), Code::duplicate);
  EXPECT_EQ(transact(q, spec("2", KeyRule::until_done, "l")), Code::full);
}

// Of a queue over its limit jobs were dropped for a schedule that had missed its slots and ran
// none.
TEST_F(FoundLimits, MissedSlotsDropNothing) {
  const QueueId q = queue(0, 0, FullPolicy::drop_oldest);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(push(q, spec("a job")), Code::ok);
  CronSpec cron;
  cron.expression = "@every 60s";
  cron.catch_up = 0;
  CallOptions call;
  ASSERT_TRUE(engine().cron_put(q, "s", cron, call).ok());
  QueueConfig one;
  one.max_depth = 1;
  ASSERT_TRUE(engine().configure(q, one, config_max_depth, call).ok());
  const int64_t due_ms = engine().cron_get("s").value().state.next_due_ms;
  harness_.advance(due_ms - harness_.clock().wall_ms() + 30'000);  // too late to run
  EXPECT_EQ(engine().cron_get("s").value().state.missed, 1u);
  EXPECT_EQ(stats(q).totals.dropped, 0u);
  EXPECT_EQ(waiting(q), 3u);
}

// Each queue was held to the quota by itself, so that together they went over it.
TEST_F(FoundLimits, ATransactionIsHeldToTheQuotaAsAWhole) {
  ASSERT_TRUE(harness_.close().ok());
  harness_.options().engine.quota_bytes = 10'000;
  ASSERT_TRUE(harness_.open().ok());
  const std::string payload(3'000, 'x');
  std::vector<TxnOp> ops(4);
  for (size_t i = 0; i < ops.size(); ++i) {
    ops[i].kind = TxnOp::Kind::enqueue;
    if (i % 2 == 0) ops[i].queue = queue(0);
    if (i % 2 == 1) ops[i].queue = ops[i - 1].queue;
    ops[i].spec = spec(payload);
  }
  std::vector<TxnResult> results(ops.size());
  size_t failed = 0;
  CallOptions call;
  EXPECT_EQ(engine().transact(ops, call, results, failed).code(), Code::full);
  EXPECT_EQ(failed, 3u);
  ops.pop_back();
  EXPECT_TRUE(engine().transact(ops, call, {results.data(), 3}, failed).ok());
  EXPECT_LE(engine().stats().job_bytes, 10'000u);
}

// A letter that takes a unique key again was replayed behind younger ones, or not at all.
TEST_F(FoundLimits, ABulkReplayTakesTheOldestFirstAlsoIfItHasAKey) {
  const QueueId q = queue(2);
  ASSERT_EQ(push(q, spec("oldest", KeyRule::until_done, "k")), Code::ok);
  ASSERT_EQ(push(q, spec("younger")), Code::ok);
  for (const JobView& job : harness_.lease(q, 2)) {
    SettleItem fail;
    fail.kind = SettleKind::fail;
    fail.id = job.id;
    fail.generation = job.generation;
    ASSERT_EQ(harness_.settle(q, fail), Code::ok);
  }
  ASSERT_EQ(push(q, spec("waits")), Code::ok);
  CallOptions call;
  DeadBulkReport report;
  EXPECT_EQ(engine().dead_bulk(q, DeadBulk(), call, report).code(), Code::full);
  EXPECT_EQ(report.changed, 1u);
  std::vector<std::string> left;
  for (const JobView& job : harness_.lease(q, 2)) left.push_back(payload_of(job));
  EXPECT_EQ(left, (std::vector<std::string>{"waits", "oldest"}));
  harness_.expect_sound();
}

// A letter that died while the maintenance read others was not noted: its time never came.
TEST(FoundLimitsOfTheDead, OneThatDiesWhileOthersAreReadGoesInTime) {
  EngineHarness* running = nullptr;
  QueueId q = 0;
  bool armed = false;
  HarnessOptions options;
  const auto fail_one = [&] {
    const auto jobs = running->lease(q);
    ASSERT_EQ(jobs.size(), 1u);
    SettleItem fail;
    fail.kind = SettleKind::fail;
    fail.id = jobs[0].id;
    fail.generation = jobs[0].generation;
    ASSERT_EQ(running->settle(q, fail), Code::ok);
  };
  options.page_was_read = [&] {
    if (!std::exchange(armed, false)) return;
    CallOptions call;
    const auto dead = running->engine().dead_list(q, DeadQuery());
    const JobView& letter = dead.value().jobs.at(0);
    ASSERT_TRUE(running->engine().dead_replay(q, Token{letter.id, letter.generation}, call).ok());
    fail_one();
  };
  EngineHarness harness(options);
  running = &harness;
  ASSERT_TRUE(harness.open().ok());
  QueueConfig config;
  config.dead_max_age_ms = 1'000;
  q = harness.queue("q", config, config_dead_max_age_ms);
  harness.enqueue(q, "a job");
  fail_one();
  armed = true;
  harness.tick();
  ASSERT_FALSE(armed);
  harness.advance(2'000);
  EXPECT_EQ(harness.engine().queue_stats(q).value().totals.dead_dropped, 1u);
}

}  // namespace
}  // namespace wq
