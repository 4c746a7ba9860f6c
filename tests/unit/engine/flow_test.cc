// Chains and batches: what the end of a job sets off, counted exactly, over checkpoints, closes and
// kills, with jobs in memory and in the store, on both stores.
#include <gtest/gtest.h>

#include <map>

#include "test_seed.h"
#include "unit/engine/flow_fixture.h"

namespace wq {
namespace {

// ---- chains

TEST_P(FlowTest, EachAckOfAChainEnqueuesTheNextInItsRecord) {
  const NextSpec chain[] = {next_of("b", "other"), next_of("c"), next_of("d", "work")};
  for (const Between between :
       {Between::nothing, Between::checkpoint, Between::reopen, Between::kill}) {
    const JobId first = push_chain("a", chain);
    pass(between);
    EXPECT_EQ(take(), "a");
    EXPECT_EQ(job_.id, first);
    EXPECT_EQ(job_.chain_jobs, 3u);
    EXPECT_EQ(take(other_), "-");
    EXPECT_EQ(harness_.lease(queue_).size(), 0u);
    const Lsn before = engine().stats().last_lsn;
    job_ = engine().get(queue_, first).value();
    EXPECT_EQ(ack(), Code::ok);
    EXPECT_EQ(engine().stats().last_lsn, before + 1);
    EXPECT_EQ(ack(), Code::stale);  // a second ack goes on with nothing
    pass(between);
    const std::pair<QueueId, const char*> steps[] = {{other_, "b"}, {other_, "c"}, {queue_, "d"}};
    for (const auto& [queue, payload] : steps) {
      harness_.clock().advance(5);
      EXPECT_EQ(take(queue), payload);
      EXPECT_GT(job_.id, first);
      EXPECT_EQ(trusted_envelope(job_.body.bytes()).enqueued_ms, job_.since_ms - 5);
      pass(between);
      EXPECT_EQ(ack(queue), Code::ok);
      pass(between);
    }
    EXPECT_EQ(take(), "-");
    EXPECT_EQ(take(other_), "-");
  }
  EXPECT_EQ(totals(queue_).chain_cut + totals(other_).chain_cut, 0u);
  EXPECT_EQ(totals(queue_).enqueued + totals(other_).enqueued, 16u);
}

// Scenario B.9 42: A-B-C, B fails for good: C is never pushed; a replay of B goes on with it.
TEST_P(FlowTest, AFailureStopsAChainAndAReplayGoesOn) {
  const Header tags{as_bytes("tags"), as_bytes("red")};
  const Header own{as_bytes("own"), as_bytes("1")};
  const Header both[] = {tags, own};
  NextSpec chain[] = {next_of("B"), next_of("C")};
  chain[0].job.max_attempts = 1;
  JobSpec spec = spec_of("A");
  spec.headers = both;
  spec.chain = chain;
  push(spec);
  EXPECT_EQ(take(), "A");
  EXPECT_EQ(ack(), Code::ok);
  EXPECT_EQ(take(), "B");
  EXPECT_EQ(fail(), Code::ok);
  EXPECT_EQ(take(), "-");
  pass(Between::reopen);
  EXPECT_EQ(take(), "-");
  CallOptions call;
  ASSERT_TRUE(engine().dead_replay(queue_, {job_.id, job_.generation}, call).ok());
  EXPECT_EQ(take(), "B");
  EXPECT_EQ(ack(), Code::ok);
  EXPECT_EQ(take(), "C");
  ASSERT_EQ(trusted_envelope(job_.body.bytes()).headers_count,
            1u);  // inherited twice; `own` is not
  EXPECT_EQ(as_text(trusted_header(job_.body.bytes(), 0).value), "red");
  EXPECT_EQ(ack(), Code::ok);
  EXPECT_EQ(totals(queue_).chain_cut, 0u);
}

TEST_P(FlowTest, ACancelAndAQueueThatIsGoneCutAChain) {
  const NextSpec chain[] = {next_of("b", "other"), next_of("c")};
  const JobId id = push_chain("a", chain);
  CallOptions call;
  ASSERT_TRUE(engine().cancel(queue_, id, call).ok());
  EXPECT_EQ(totals(queue_).chain_cut, 2u);
  push_chain("a", chain);
  ASSERT_TRUE(engine().remove_queue(other_, call).ok());
  pass(Between::kill);
  EXPECT_EQ(take(), "a");
  EXPECT_EQ(ack(), Code::ok);
  EXPECT_EQ(totals(queue_).chain_cut, 4u);
  EXPECT_EQ(take(), "-");
}

// A replay would have gone on with it. A clear looks at no job.
TEST_P(FlowTest, ADeadLetterThatGoesCutsItsChain) {
  const NextSpec chain[] = {next_of("b"), next_of("c")};
  CallOptions call;
  for (int i = 0; i < 3; ++i) {
    push_chain("a", chain);
    EXPECT_EQ(take(), "a");
    EXPECT_EQ(fail(), Code::ok);
  }
  pass(Between::reopen);
  EXPECT_EQ(totals(queue_).chain_cut, 0u);
  ASSERT_TRUE(engine().dead_remove(queue_, {job_.id, job_.generation}, call).ok());
  EXPECT_EQ(totals(queue_).chain_cut, 2u);
  QueueConfig config;
  config.dead_max_count = 1;
  ASSERT_TRUE(engine().configure(queue_, config, config_dead_max_count, call).ok());
  harness_.advance(0);
  EXPECT_EQ(totals(queue_).dead_dropped, 1u);
  EXPECT_EQ(totals(queue_).chain_cut, 4u);
  ASSERT_EQ(engine().clear(queue_, state_bit(JobState::dead), call).value(), 1u);
  push_chain("a", chain);
  ASSERT_EQ(engine().clear(queue_, 0, call).value(), 1u);
  pass(Between::kill);
  EXPECT_EQ(totals(queue_).chain_cut, 4u);
}

TEST_P(FlowTest, DelaysOfAChainCountFromTheAck) {
  NextSpec chain[] = {next_of("b")};
  chain[0].job.delay_ms = 1'000;
  chain[0].job.priority = 7;
  push_chain("a", chain);
  harness_.advance(5'000);
  EXPECT_EQ(take(), "a");
  EXPECT_EQ(ack(), Code::ok);
  EXPECT_EQ(take(), "-");
  harness_.advance(999);
  EXPECT_EQ(take(), "-");
  pass(Between::kill);
  harness_.advance(1);
  EXPECT_EQ(take(), "b");
  EXPECT_EQ(job_.priority, 7);
  EXPECT_EQ(ack(), Code::ok);
}

TEST_P(FlowTest, LimitsOfChainsAndBatchesNameTheField) {
  const auto refused = [&](const JobSpec& spec) {
    CallOptions call;
    JobId id = 0;
    return engine().enqueue(queue_, spec, call, id);
  };
  std::vector<NextSpec> chain(chain_jobs_max + 1, next_of("x"));
  JobSpec spec = spec_of("a");
  spec.chain = chain;
  EXPECT_EQ(refused(spec).code(), Code::too_large);
  chain.pop_back();
  spec.chain = chain;
  EXPECT_TRUE(refused(spec).ok());
  const std::string large(chain_bytes_max / 2 + 1, 'x');
  const NextSpec two[] = {next_of(large), next_of(large)};
  spec.chain = two;
  EXPECT_EQ(refused(spec).code(), Code::too_large);
  const NextSpec nowhere[] = {next_of("x"), next_of("x", "nowhere")};
  spec.chain = nowhere;
  EXPECT_EQ(refused(spec).code(), Code::not_found);
  EXPECT_NE(refused(spec).message().find("chain[1].queue"), std::string::npos);
  EXPECT_EQ(refused(spec_of("a", 77)).code(), Code::not_found);
  CallOptions call;
  const std::string payload(batch_job_bytes_max + 1, 'x');
  const NextSpec complete = next_of(payload, "other");
  EXPECT_EQ(engine().batch_create({false, &complete, nullptr}, call).status().code(),
            Code::too_large);
  const NextSpec lost = next_of("x", "nowhere");
  EXPECT_EQ(engine().batch_create({false, nullptr, &lost}, call).status().code(), Code::not_found);
  EXPECT_EQ(seal(77), Code::not_found);
  EXPECT_EQ(counts(77), "batch: there is no batch 77");
}

// ---- batches

TEST_P(FlowTest, TheLastSettleEnqueuesTheFollowUpInItsRecord) {
  for (const Between between :
       {Between::nothing, Between::checkpoint, Between::reopen, Between::kill}) {
    const uint64_t batch = create();
    for (int i = 0; i < 3; ++i) push(spec_of("m", batch));
    EXPECT_EQ(counts(batch), "3 3 0 0 0 ");
    for (int i = 0; i < 2; ++i) {
      pass(between);
      EXPECT_EQ(take(), "m");
      EXPECT_EQ(job_.batch, batch);
      pass(between);
      EXPECT_EQ(ack(), Code::ok);
      EXPECT_EQ(ack(), Code::stale);
    }
    EXPECT_EQ(counts(batch), "3 1 2 0 0 ");
    EXPECT_EQ(seal(batch), Code::ok);
    EXPECT_EQ(take(), "m");
    push(spec_of("late", batch));  // by a member that runs: the batch can not be finished yet
    EXPECT_EQ(ack(), Code::ok);
    pass(between);
    EXPECT_EQ(take(other_), "-");
    EXPECT_EQ(take(), "late");
    const Lsn before = engine().stats().last_lsn;
    EXPECT_EQ(ack(), Code::ok);
    EXPECT_EQ(engine().stats().last_lsn, before + 1);
    pass(between);
    EXPECT_EQ(counts(batch), "4 0 4 0 0 .");
    EXPECT_EQ(take(other_), "complete");
    EXPECT_EQ(engine().batch_status(batch).value().follow_up, job_.id);
    EXPECT_EQ(as_text(trusted_header(job_.body.bytes(), 0).name), "wq-batch");
    EXPECT_EQ(as_text(trusted_header(job_.body.bytes(), 0).value), std::to_string(batch));
    EXPECT_EQ(ack(other_), Code::ok);
    EXPECT_EQ(take(other_), "-");
    CallOptions call;
    JobId id = 0;
    EXPECT_EQ(engine().enqueue(queue_, spec_of("x", batch), call, id).code(), Code::conflict);
  }
}

TEST_P(FlowTest, AnOpenBatchIsNeverFinished) {
  const uint64_t batch = create();
  push(spec_of("m", batch));
  EXPECT_EQ(take(), "m");
  EXPECT_EQ(ack(), Code::ok);
  EXPECT_EQ(counts(batch), "1 0 1 0 0 ");
  EXPECT_EQ(take(other_), "-");
  EXPECT_EQ(seal(batch), Code::ok);
  EXPECT_EQ(seal(batch), Code::ok);  // once is enough
  EXPECT_EQ(take(other_), "complete");
  const uint64_t empty = create();
  EXPECT_EQ(seal(empty), Code::ok);
  EXPECT_EQ(counts(empty), "0 0 0 0 0 .");
  EXPECT_EQ(take(other_), "complete");
}

// Scenario B.9 41: what a refused enqueue did not take is not counted.
TEST_P(FlowTest, ARefusedEnqueueLeavesTheCountsAsTheyWere) {
  const uint64_t batch = create();
  std::vector<JobSpec> specs(3, spec_of("m", batch));
  specs[1].max_attempts = UINT32_MAX;
  std::vector<EnqueueOutcome> outcomes(3);
  CallOptions call;
  EXPECT_FALSE(engine().enqueue_many(queue_, specs, false, call, outcomes).ok());
  EXPECT_EQ(counts(batch), "0 0 0 0 0 ");
  EXPECT_EQ(engine().enqueue_many(queue_, specs, true, call, outcomes).value(), 1u);
  EXPECT_EQ(counts(batch), "1 1 0 0 0 ");
}

// Bug case 27: a chain in a batch fails at its first job.
TEST_P(FlowTest, AChainThatDiesCountsItsRestAsCancelled) {
  for (const bool allow : {true, false}) {
    const uint64_t batch = create(allow);
    const NextSpec a[] = {next_of("a2")};
    const NextSpec b[] = {next_of("b2")};
    push_chain("a1", a, batch);
    push_chain("b1", b, batch);
    EXPECT_EQ(seal(batch), Code::ok);
    EXPECT_EQ(counts(batch), "4 4 0 0 0 ");
    EXPECT_EQ(take(), "a1");
    EXPECT_EQ(fail(), Code::ok);
    const Token dead{job_.id, job_.generation};
    EXPECT_EQ(counts(batch), "4 2 0 1 1 ");
    pass(Between::kill);
    EXPECT_EQ(take(), "b1");
    EXPECT_EQ(ack(), Code::ok);
    pass(Between::reopen);
    EXPECT_EQ(take(), "b2");
    EXPECT_EQ(ack(), Code::ok);
    EXPECT_EQ(counts(batch), "4 0 2 1 1 .");
    EXPECT_EQ(take(other_), allow ? "complete" : "failure");
    EXPECT_EQ(ack(other_), Code::ok);
    // A replay behind the end runs, and changes nothing of the batch.
    CallOptions call;
    ASSERT_TRUE(engine().dead_replay(queue_, dead, call).ok());
    for (const char* payload : {"a1", "a2"}) {
      EXPECT_EQ(take(), payload);
      EXPECT_EQ(ack(), Code::ok);
    }
    EXPECT_EQ(counts(batch), "4 0 2 1 1 .");
    EXPECT_EQ(take(other_), "-");
  }
}

TEST_P(FlowTest, AReplayBeforeTheEndTakesTheJobBackIn) {
  const uint64_t batch = create();
  const NextSpec chain[] = {next_of("a2")};
  push_chain("a1", chain, batch);
  push(spec_of("b", batch));
  EXPECT_EQ(seal(batch), Code::ok);
  EXPECT_EQ(take(), "a1");
  EXPECT_EQ(fail(), Code::ok);
  EXPECT_EQ(counts(batch), "3 1 0 1 1 ");
  pass(Between::reopen);
  CallOptions call;
  ASSERT_TRUE(engine().dead_replay(queue_, {job_.id, job_.generation}, call).ok());
  pass(Between::kill);
  EXPECT_EQ(counts(batch), "3 3 0 0 0 ");
  for (int i = 0; i < 3; ++i) {
    EXPECT_NE(take(), "-");
    EXPECT_EQ(ack(), Code::ok);
  }
  EXPECT_EQ(counts(batch), "3 0 3 0 0 .");
  EXPECT_EQ(take(other_), "complete");
}

// It would be told to stop, not be tried again, and be gone: the letter stays until the flow is
// finished.
TEST_P(FlowTest, ADeadMemberOfACancelledFlowIsNotReplayed) {
  for (const bool keyed : {false, true}) {
    for (const Between between : {Between::nothing, Between::reopen, Between::kill}) {
      const uint64_t batch = create();
      JobSpec spec = spec_of("dead", batch);
      if (keyed) {
        spec.traits.key_rule = KeyRule::until_done;
        spec.traits.key = "k";
      }
      const NextSpec chain[] = {next_of("next")};
      spec.chain = chain;
      push(spec);
      EXPECT_EQ(take(), "dead");
      EXPECT_EQ(fail(), Code::ok);
      const Token letter{job_.id, job_.generation};
      push(spec_of("runs", batch));
      EXPECT_EQ(take(), "runs");
      EXPECT_EQ(cancel_batch(batch), Code::ok);
      EXPECT_EQ(counts(batch), "3 1 0 1 1 ");
      pass(between);
      CallOptions call;
      const Status refused = engine().dead_replay(queue_, letter, call);
      EXPECT_EQ(refused.code(), Code::conflict);
      EXPECT_NE(refused.message().find("flow " + std::to_string(batch)), std::string::npos);
      DeadBulkReport report;
      DeadBulk bulk;
      bulk.dry_run = true;
      ASSERT_TRUE(engine().dead_bulk(queue_, bulk, call, report).ok());
      EXPECT_EQ(report.changed, 0u);
      ASSERT_TRUE(engine().dead_bulk(queue_, DeadBulk(), call, report).ok());
      EXPECT_EQ(report.changed, 0u);
      EXPECT_EQ(counts(batch), "3 1 0 1 1 ");
      harness_.expect_sound();
      EXPECT_EQ(ack(), Code::ok);
      EXPECT_EQ(counts(batch), "3 0 1 1 1 .");
      EXPECT_EQ(take(other_), "failure");
      EXPECT_EQ(ack(other_), Code::ok);
      pass(between);
      ASSERT_TRUE(engine().dead_replay(queue_, letter, call).ok());
      for (const char* payload : {"dead", "next"}) {
        EXPECT_EQ(take(), payload);
        EXPECT_EQ(ack(), Code::ok);
      }
      EXPECT_EQ(counts(batch), "3 0 1 1 1 .");
    }
  }
}

TEST_P(FlowTest, EveryEndOfAMemberCounts) {
  const uint64_t batch = create(true);
  JobSpec once = spec_of("m", batch);
  once.max_attempts = 1;
  for (int i = 0; i < 5; ++i) push(once);
  EXPECT_EQ(seal(batch), Code::ok);
  CallOptions call;
  EXPECT_EQ(take(), "m");  // nacked with no attempt left
  EXPECT_EQ(harness_.nack(queue_, job_.id, job_.generation), Code::ok);
  EXPECT_EQ(harness_.lease(queue_, 1, 1'000).size(), 1u);  // lost
  EXPECT_EQ(take(), "m");
  EXPECT_EQ(ack(), Code::ok);
  EXPECT_EQ(take(), "m");
  ASSERT_TRUE(engine().cancel(queue_, job_.id, call).ok());  // while it runs
  pass(Between::checkpoint);
  harness_.advance(1'500);
  EXPECT_EQ(counts(batch), "5 1 1 2 1 ");
  EXPECT_EQ(take(), "m");
  EXPECT_EQ(ack(), Code::ok);
  EXPECT_EQ(counts(batch), "5 0 2 2 1 .");
  EXPECT_EQ(take(other_), "complete");
}

// B.10 9: jobs of a cancelled batch must count, or it never finishes.
TEST_P(FlowTest, ACancelEndsWhatDidNotStartAndTellsWhatRuns) {
  for (const Between between :
       {Between::nothing, Between::checkpoint, Between::reopen, Between::kill}) {
    const uint64_t batch = create(true);
    const NextSpec chain[] = {next_of("next")};
    push_chain("runs", chain, batch);
    push(spec_of("retries", batch));
    JobSpec delayed = spec_of("delayed", batch);
    delayed.delay_ms = 10'000;
    push(delayed);
    for (int i = 0; i < 400; ++i) push(spec_of("ready", batch));
    pass(between);
    EXPECT_EQ(take(), "runs");
    const JobView first = job_;
    EXPECT_EQ(take(), "retries");
    pass(between);
    EXPECT_EQ(cancel_batch(batch), Code::ok);
    pass(between);
    EXPECT_EQ(counts(batch), "404 3 0 0 401 ");
    EXPECT_EQ(take(), "-");
    CallOptions call;
    const Token token{first.id, first.generation};
    Code code = Code::ok;
    ASSERT_TRUE(engine().extend(queue_, {&token, 1}, 0, call, {&code, 1}).ok());
    EXPECT_EQ(code, Code::cancelled);
    EXPECT_TRUE(engine().get(queue_, first.id).value().batch_cancelled);
    EXPECT_EQ(harness_.nack(queue_, job_.id, job_.generation), Code::ok);  // no second attempt
    EXPECT_EQ(take(), "-");
    job_ = first;
    pass(between);
    EXPECT_EQ(ack(), Code::ok);  // done, but its chain does not go on
    EXPECT_EQ(counts(batch), "404 0 1 0 403 .");
    EXPECT_EQ(take(other_), "failure");
    EXPECT_EQ(ack(other_), Code::ok);
    JobId id = 0;
    EXPECT_EQ(engine().enqueue(queue_, spec_of("x", batch), call, id).code(), Code::conflict);
  }
}

// A clear and a delete look at no job; what they take from a batch is counted all the same.
TEST_P(FlowTest, ClearAndDeleteSettleTheirMembers) {
  for (const bool remove : {false, true}) {
    for (const Between between :
         {Between::nothing, Between::checkpoint, Between::reopen, Between::kill}) {
      const QueueId queue = harness_.queue("cleared");
      const uint64_t batch = create(true);
      const NextSpec chain[] = {next_of("next")};
      JobSpec spec = spec_of("m", batch);
      spec.chain = chain;
      for (int i = 0; i < 300; ++i) harness_.enqueue(queue, "m", spec);
      push(spec_of("stays", batch));
      EXPECT_EQ(seal(batch), Code::ok);
      const std::vector<JobView> held = harness_.lease(queue, 2);
      ASSERT_EQ(held.size(), 2u);
      pass(between);
      EXPECT_EQ(harness_.settle(
                    queue,
                    {.id = held[0].id, .generation = held[0].generation, .kind = SettleKind::fail}),
                Code::ok);
      EXPECT_EQ(counts(batch), "601 599 0 1 1 ");
      pass(between);
      CallOptions call;
      if (remove) {
        ASSERT_TRUE(engine().remove_queue(queue, call).ok());
      } else {
        EXPECT_EQ(engine().clear(queue, clearable_states, call).value(), 300u);
        EXPECT_EQ(harness_.ack(queue, held[1].id, held[1].generation), Code::stale);
      }
      pass(between);
      EXPECT_EQ(counts(batch), "601 1 0 1 599 ");
      EXPECT_EQ(take(), "stays");
      EXPECT_EQ(ack(), Code::ok);
      EXPECT_EQ(counts(batch), "601 0 1 1 599 .");
      EXPECT_EQ(take(other_), "complete");
      EXPECT_EQ(ack(other_), Code::ok);
    }
  }
}

// Bug case 28 and scenario B.9 40: exact counts, and one follow-up each, whatever the order is and
// whatever comes in between; the memory holds few of the jobs.
TEST_P(FlowTest, RandomBatchesAreCountedExactly) {
  Prng prng(test_seed());
  struct Model {
    uint64_t left = 0;
    uint64_t done = 0;
    uint64_t failed = 0;
  };
  harness_.close().ignore("opened again with less memory");
  harness_.options().engine.memory_budget_bytes = 256 << 10;
  harness_.options().engine.lane_window = 16;
  ASSERT_TRUE(harness_.open().ok());
  std::map<uint64_t, Model> batches;
  const std::string payload(500, 'p');
  JobSpec spec = spec_of(payload);
  spec.max_attempts = 1;
  for (int i = 0; i < 20; ++i) {
    const uint64_t batch = create();
    spec.traits.batch = batch;
    batches[batch].left = 1 + prng.below(60);
    for (uint64_t n = 0; n < batches[batch].left; ++n) push(spec);
    ASSERT_EQ(seal(batch), Code::ok);
    if (prng.below(4) == 0) pass(static_cast<Between>(prng.below(4)));
  }
  size_t follow_ups = 0;
  for (uint64_t left = 1; left != 0;) {
    if (prng.below(20) == 0) pass(static_cast<Between>(prng.below(4)));
    const std::vector<JobView> jobs =
        harness_.lease(queue_, static_cast<uint32_t>(1 + prng.below(10)));
    std::vector<SettleItem> items;
    for (const JobView& job : jobs) {
      const bool fails = prng.below(10) == 0;
      items.push_back({.id = job.id,
                       .generation = job.generation,
                       .kind = fails ? SettleKind::fail : SettleKind::ack});
      Model& model = batches.at(job.batch);
      --model.left;
      ++(fails ? model.failed : model.done);
      follow_ups += model.left == 0;
    }
    std::vector<Code> codes(items.size());
    CallOptions call;
    ASSERT_TRUE(engine().settle(queue_, items, call, codes).ok());
    left = 0;
    for (const auto& [id, model] : batches) left += model.left;
    ASSERT_EQ(engine().queue_stats(other_).value().counts[1], follow_ups);
  }
  for (const auto& [id, model] : batches) {
    const BatchStatus status = engine().batch_status(id).value();
    EXPECT_EQ(status.done, model.done);
    EXPECT_EQ(status.failed, model.failed);
    EXPECT_EQ(status.pending, 0u);
    EXPECT_NE(status.follow_up, 0u);
  }
  EXPECT_EQ(follow_ups, batches.size());
}

TEST_P(FlowTest, FinishedBatchesAreListedAndForgottenAfterAWeek) {
  std::vector<uint64_t> batches;
  for (int i = 0; i < 5; ++i) batches.push_back(create(false, false));
  pass(Between::checkpoint);
  for (int i = 0; i < 5; ++i) batches.push_back(create(false, false));
  for (size_t i = 0; i < batches.size(); i += 2) EXPECT_EQ(seal(batches[i]), Code::ok);
  const auto list = [&](size_t limit) {
    std::vector<uint64_t> found;
    uint64_t cursor = 0;
    do {
      const Result<BatchPage> page = engine().batch_list(cursor, limit);
      EXPECT_TRUE(page.ok()) << page.status().message();
      for (const BatchStatus& status : page.value().batches) found.push_back(status.id);
      cursor = page.value().next_cursor;
    } while (cursor != 0);
    return found;
  };
  const std::vector<uint64_t> newest_first(batches.rbegin(), batches.rend());
  for (const size_t limit : {1u, 3u, 10u, 1000u}) EXPECT_EQ(list(limit), newest_first);
  pass(Between::reopen);
  EXPECT_EQ(list(4), newest_first);
  harness_.advance(int64_t{7} * 24 * 3600 * 1000 + 1);
  push(spec_of("x"));
  pass(Between::checkpoint);
  pass(Between::kill);
  EXPECT_EQ(list(4).size(), 5u);
  EXPECT_EQ(seal(batches[1]), Code::ok);
}

// ---- history

TEST_P(FlowTest, DoneJobsAreKeptByCountAndAge) {
  QueueConfig config;
  config.keep_done_count = 3;
  CallOptions call;
  ASSERT_TRUE(engine().configure(queue_, config, config_keep_done, call).ok());
  const auto list = [&](size_t limit = 1'000) {
    std::string found;
    uint64_t cursor = 0;
    do {
      const Result<DonePage> page = engine().history_list(queue_, cursor, limit);
      EXPECT_TRUE(page.ok()) << page.status().message();
      for (const DoneJob& job : page.value().jobs) found += job.result + " ";
      cursor = page.value().next_cursor;
    } while (cursor != 0);
    return found;
  };
  std::vector<JobId> ids;
  const auto work = [&](std::string_view result) {
    ids.push_back(push(spec_of("job")));
    EXPECT_EQ(take(), "job");
    harness_.advance(10);
    return harness_.settle(queue_,
                           {.id = job_.id, .generation = job_.generation, .result = result});
  };
  for (const char* result : {"r1", "r2", "r3"}) EXPECT_EQ(work(result), Code::ok);
  pass(Between::checkpoint);
  for (const char* result : {"r4", "r5"}) EXPECT_EQ(work(result), Code::ok);
  EXPECT_EQ(list(), "r5 r4 r3 ");
  EXPECT_EQ(list(1), "r5 r4 r3 ");
  for (const Between between : {Between::kill, Between::reopen, Between::checkpoint}) {
    pass(between);
    EXPECT_EQ(list(2), "r5 r4 r3 ");
    EXPECT_EQ(engine().history_get(queue_, ids[1]).status().code(), Code::not_found);
    const DoneJob job = engine().history_get(queue_, ids[2]).value();
    EXPECT_EQ(job.result, "r3");
    EXPECT_EQ(job.attempts, 1u);
    EXPECT_EQ(job.done_ms, job.leased_ms + 10);
  }
  harness_.expect_sound();
  config.keep_done_count = 0;
  config.keep_done_age_ms = 1'000;
  ASSERT_TRUE(engine().configure(queue_, config, config_keep_done, call).ok());
  harness_.advance(500);
  EXPECT_EQ(work("r6"), Code::ok);
  EXPECT_EQ(list(), "r6 r5 r4 r3 ");
  harness_.advance(600);
  EXPECT_EQ(list(), "r6 ");
  pass(Between::checkpoint);
  EXPECT_EQ(engine().verify().value().entries, 2u);  // the row and its id
  EXPECT_EQ(work(std::string(result_bytes_max + 1, 'r')), Code::too_large);
  ASSERT_TRUE(engine().remove_queue(queue_, call).ok());
  pass(Between::checkpoint);
  pass(Between::reopen);
  EXPECT_EQ(engine().verify().value().entries, 0u);
}

INSTANTIATE_TEST_SUITE_P(Stores, FlowTest, testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

}  // namespace
}  // namespace wq
