// Chains and batches where they meet the rest: keys, transactions, limits, times of expiry, bulk
// changes of dead letters, events, explanations.
#include "engine/dead_scan.h"
#include "unit/engine/flow_fixture.h"

namespace wq {
namespace {

class FlowMixTest : public FlowTest {
 protected:
  static HarnessOptions with_events() {
    HarnessOptions options = FlowTest::options();
    options.engine.events_max = 256;
    return options;
  }
  FlowMixTest() : FlowTest(with_events()) {}

  JobSpec keyed(std::string_view payload, std::string_view key, uint64_t batch = 0,
                KeyRule rule = KeyRule::until_done) const {
    JobSpec spec = spec_of(payload, batch);
    spec.traits.key_rule = rule;
    spec.traits.key = key;
    if (rule == KeyRule::debounce) spec.debounce_ms = 1'000;
    return spec;
  }
  Status enqueue(QueueId queue, const JobSpec& spec, JobId* id = nullptr) {
    CallOptions call;
    JobId unused = 0;
    return engine().enqueue(queue, spec, call, id ? *id : unused);
  }
  Status limit(QueueId queue, uint64_t max_depth, FullPolicy policy = FullPolicy::refuse) {
    QueueConfig config;
    config.max_depth = max_depth;
    config.full_policy = policy;
    CallOptions call;
    return engine().configure(queue, config, config_max_depth | config_full_policy, call);
  }
  TxnOp enqueue_op(const JobSpec& spec) const {
    TxnOp op;
    op.kind = TxnOp::Kind::enqueue;
    op.queue = queue_;
    op.spec = spec;
    return op;
  }
  TxnOp ack_op(const JobView& job, std::string_view result = {}) const {
    TxnOp op;
    op.kind = TxnOp::Kind::settle;
    op.queue = queue_;
    op.settle = {.id = job.id, .generation = job.generation, .result = result};
    return op;
  }
  Status transact(const std::vector<TxnOp>& ops, size_t* failed = nullptr) {
    CallOptions call;
    std::vector<TxnResult> results(ops.size());
    size_t unused = 0;
    return engine().transact(ops, call, results, failed ? *failed : unused);
  }
  // Kinds of all events since the last call that are about the job or batch.
  std::vector<EventKind> events_of(uint64_t id) {
    EventRequest request;
    request.events_max = 1'000;
    EventPage page;
    EXPECT_FALSE(engine().poll_events(cursor_, request, page).is_error());
    std::vector<EventKind> kinds;
    for (const NamedEvent& named : page.events) {
      if (named.event.job == id) kinds.push_back(named.event.kind);
      if (named.event.kind == EventKind::batch_finished) members_ = named.event.count;
    }
    return kinds;
  }

  EventCursor cursor_;
  uint64_t members_ = 0;  // of the last batch that was told to be finished
};

// One that meets the holder of its key joins nothing; the key is free before the chain goes on.
TEST_P(FlowMixTest, KeysGoWithBatchesAndWithTheFirstOfAChain) {
  const uint64_t batch = create();
  const NextSpec chain[] = {next_of("next")};
  JobSpec spec = keyed("first", "k", batch);
  spec.chain = chain;
  JobId first = 0;
  ASSERT_TRUE(enqueue(queue_, spec, &first).ok());
  for (const Between between : {Between::nothing, Between::checkpoint, Between::kill}) {
    pass(between);
    JobId holder = 0;
    EXPECT_EQ(enqueue(queue_, spec, &holder).code(), Code::duplicate);
    EXPECT_EQ(holder, first);
    EXPECT_EQ(counts(batch), "2 2 0 0 0 ");
  }
  EXPECT_EQ(take(), "first");
  EXPECT_EQ(ack(), Code::ok);
  EXPECT_EQ(engine().key_holder(queue_, KeyKind::unique, "k").status().code(), Code::not_found);
  EXPECT_EQ(take(), "next");
  EXPECT_EQ(ack(), Code::ok);
  // A debounced one that gives way to the next has ended, as by a cancel.
  ASSERT_TRUE(enqueue(queue_, keyed("old", "d", batch, KeyRule::debounce)).ok());
  pass(Between::reopen);
  ASSERT_TRUE(enqueue(queue_, keyed("new", "d", batch, KeyRule::debounce)).ok());
  EXPECT_EQ(counts(batch), "4 1 2 0 1 ");
  pass(Between::kill);
  harness_.advance(1'000);
  EXPECT_EQ(seal(batch), Code::ok);
  EXPECT_EQ(take(), "new");
  EXPECT_EQ(ack(), Code::ok);
  EXPECT_EQ(counts(batch), "4 0 3 0 1 .");
  // Who asks again is told of the job that it was, not of the end of the batch.
  JobSpec once = spec_of("once", create());
  once.traits.idempotency_key = "i";
  once.traits.idempotency_ms = 60'000;
  ASSERT_TRUE(enqueue(queue_, once, &first).ok());
  EXPECT_EQ(cancel_batch(once.traits.batch), Code::ok);
  JobId again = 0;
  EXPECT_EQ(enqueue(queue_, once, &again).code(), Code::duplicate);
  EXPECT_EQ(again, first);
  once.traits.idempotency_key = "j";
  EXPECT_EQ(enqueue(queue_, once).code(), Code::conflict);
}

TEST_P(FlowMixTest, WhatFollowsHasNoKeyAndIsNoQuestion) {
  NextSpec chain[] = {next_of("x")};
  chain[0].job = keyed("x", "k");
  JobSpec spec = spec_of("a");
  spec.chain = chain;
  const Status refusal = enqueue(queue_, spec);
  EXPECT_EQ(refusal.code(), Code::unsupported);
  EXPECT_NE(refusal.message().find("chain[0]"), std::string::npos);
  NextSpec complete = next_of("x", "other");
  complete.job.traits.idempotency_key = "k";
  complete.job.traits.idempotency_ms = 1'000;
  CallOptions call;
  EXPECT_EQ(engine().batch_create({false, &complete, nullptr}, call).status().code(),
            Code::unsupported);
  chain[0] = next_of("x");
  chain[0].job.dry_run = true;
  EXPECT_EQ(enqueue(queue_, spec).code(), Code::invalid);
  // A whole chain may be one.
  chain[0] = next_of("x");
  spec.dry_run = true;
  spec.traits.batch = create();
  EXPECT_TRUE(enqueue(queue_, spec).ok());
  EXPECT_EQ(counts(spec.traits.batch), "0 0 0 0 0 ");
  EXPECT_EQ(take(), "-");
}

TEST_P(FlowMixTest, ATransactionJoinsABatchAndGoesOnWithChains) {
  QueueConfig config;
  config.keep_done_count = 10;
  CallOptions call;
  ASSERT_TRUE(engine().configure(queue_, config, config_keep_done, call).ok());
  for (const Between between : {Between::nothing, Between::checkpoint, Between::kill}) {
    const uint64_t batch = create();
    const NextSpec chain[] = {next_of("next", "work")};
    push_chain("first", chain, batch);
    pass(between);
    EXPECT_EQ(take(), "first");
    const JobView first = job_;
    pass(between);
    size_t failed = 0;
    EXPECT_EQ(transact({ack_op(first), enqueue_op(spec_of("x", 1'000'000))}, &failed).code(),
              Code::not_found);
    EXPECT_EQ(failed, 1u);
    EXPECT_EQ(counts(batch), "2 2 0 0 0 ");
    const Lsn before = engine().stats().last_lsn;
    ASSERT_TRUE(transact({ack_op(first, "it went"), enqueue_op(spec_of("more", batch))}).ok());
    EXPECT_EQ(engine().stats().last_lsn, before + 1);
    pass(between);
    EXPECT_EQ(counts(batch), "3 2 1 0 0 ");
    EXPECT_EQ(engine().history_get(queue_, first.id).value().result, "it went");
    EXPECT_EQ(take(), "more");  // it came first: its id was given before that of the next
    const JobView more = job_;
    EXPECT_EQ(take(), "next");
    EXPECT_GT(job_.id, more.id);
    EXPECT_EQ(seal(batch), Code::ok);
    ASSERT_TRUE(transact({ack_op(more), ack_op(job_)}).ok());
    pass(between);
    EXPECT_EQ(counts(batch), "3 0 3 0 0 .");
    EXPECT_EQ(take(other_), "complete");
    EXPECT_EQ(ack(other_), Code::ok);
  }
}

// Whoever acks can not be refused: what follows comes in over the limit, and counts.
TEST_P(FlowMixTest, AFullQueueTakesWhatFollows) {
  const uint64_t batch = create();
  const NextSpec chain[] = {next_of("next", "other")};
  push_chain("first", chain, batch);
  EXPECT_EQ(seal(batch), Code::ok);
  ASSERT_TRUE(limit(other_, 1).ok());
  const JobId there = harness_.enqueue(other_, "there");
  EXPECT_EQ(enqueue(other_, spec_of("x")).code(), Code::full);
  EXPECT_EQ(take(), "first");
  EXPECT_EQ(ack(), Code::ok);
  pass(Between::kill);
  const QueueStats stats = engine().queue_stats(other_).value();
  EXPECT_EQ(stats.counts[static_cast<size_t>(JobState::ready)], 2u);
  EXPECT_EQ(stats.totals.enqueued, 2u);
  EXPECT_GT(stats.bytes[static_cast<size_t>(JobState::ready)],
            engine().get(other_, there).value().body.size());
  EXPECT_EQ(take(other_), "there");
  EXPECT_EQ(ack(other_), Code::ok);
  EXPECT_EQ(enqueue(other_, spec_of("x")).code(), Code::full);
  EXPECT_EQ(take(other_), "next");
  EXPECT_EQ(ack(other_), Code::ok);
  EXPECT_EQ(take(other_), "complete");
}

// Members that go for newer ones, or do not start in time, have ended; some are only in the store.
TEST_P(FlowMixTest, DroppedAndExpiredMembersCount) {
  for (const Between between :
       {Between::nothing, Between::checkpoint, Between::reopen, Between::kill}) {
    const uint64_t batch = create(true);
    const NextSpec chain[] = {next_of("next")};
    for (int i = 0; i < 3; ++i) push_chain("m", chain, batch);
    JobSpec late = spec_of("late", batch);
    late.traits.expires_ms = harness_.clock().wall_ms() + 1'000;
    late.delay_ms = 500;
    push(late);
    pass(between);
    ASSERT_TRUE(limit(queue_, 4, FullPolicy::drop_oldest).ok());
    push(spec_of("newer", batch));
    EXPECT_EQ(counts(batch), "8 6 0 0 2 ");
    pass(between);
    harness_.advance(500);
    harness_.advance(2'000);
    EXPECT_EQ(counts(batch), "8 5 0 0 3 ");
    EXPECT_EQ(seal(batch), Code::ok);
    ASSERT_TRUE(limit(queue_, 0).ok());
    pass(between);
    for (int i = 0; i < 5; ++i) {
      EXPECT_NE(take(), "-");
      EXPECT_EQ(ack(), Code::ok);
    }
    EXPECT_EQ(counts(batch), "8 0 5 0 3 .");
    EXPECT_EQ(take(other_), "complete");
    EXPECT_EQ(ack(other_), Code::ok);
  }
}

// The record has the id of the new job, and the drop in it makes another one.
TEST_P(FlowMixTest, ADropThatEndsABatch) {
  for (const Between between : {Between::nothing, Between::checkpoint, Between::kill}) {
    ASSERT_TRUE(limit(queue_, 1, FullPolicy::drop_oldest).ok());
    const uint64_t batch = create();
    push(spec_of("member", batch));
    ASSERT_EQ(seal(batch), Code::ok);
    pass(between);
    push(spec_of("newer"));
    pass(between);
    EXPECT_EQ(take(), "newer");
    EXPECT_EQ(ack(), Code::ok);
    EXPECT_EQ(take(other_), "failure");
    EXPECT_EQ(ack(other_), Code::ok);
    EXPECT_EQ(counts(batch), "1 0 0 0 1 .");
    pass(Between::kill);
  }
}

// The record has the ids of the new jobs; the first of them takes the place of a member, and the
// end of the batch makes another job.
TEST_P(FlowMixTest, ADebouncedJobThatEndsABatch) {
  for (const Between between : {Between::nothing, Between::checkpoint, Between::kill}) {
    const uint64_t batch = create();
    JobSpec debounced = spec_of("member", batch);
    debounced.traits.key_rule = KeyRule::debounce;
    debounced.traits.key = "k";
    debounced.debounce_ms = 1'000;
    ASSERT_TRUE(enqueue(queue_, debounced).ok());
    ASSERT_EQ(seal(batch), Code::ok);
    pass(between);
    debounced.traits.batch = 0;
    const JobSpec specs[] = {debounced, spec_of("other")};
    CallOptions call;
    ASSERT_TRUE(engine().enqueue_many(queue_, specs, false, call, {}).ok());
    pass(Between::kill);
    EXPECT_EQ(take(), "other");
    EXPECT_EQ(ack(), Code::ok);
    EXPECT_EQ(take(other_), "failure");
    EXPECT_EQ(ack(other_), Code::ok);
    harness_.advance(1'001);
    EXPECT_EQ(take(), "member");
    EXPECT_EQ(ack(), Code::ok);
  }
}

// A new job of a flow joins it before the one that it takes the place of leaves: else the flow
// would end in between, and the job be a member of nothing. So do the other jobs of its call.
TEST_P(FlowMixTest, ADebouncedJobKeepsItsFlowOpen) {
  for (const Between between : {Between::nothing, Between::checkpoint, Between::kill}) {
    const uint64_t batch = create(true);
    const JobSpec debounced = keyed("member", "k", batch, KeyRule::debounce);
    ASSERT_TRUE(enqueue(queue_, debounced).ok());
    ASSERT_EQ(seal(batch), Code::ok);
    pass(between);
    ASSERT_TRUE(enqueue(queue_, debounced).ok());
    pass(between);
    EXPECT_EQ(counts(batch), "2 1 0 0 1 ");
    EXPECT_EQ(take(other_), "-");
    JobSpec of_none = debounced;
    of_none.traits.batch = 0;
    const JobSpec specs[] = {of_none, spec_of("other", batch)};
    CallOptions call;
    ASSERT_TRUE(engine().enqueue_many(queue_, specs, false, call, {}).ok());
    EXPECT_EQ(counts(batch), "3 1 0 0 2 ");
    EXPECT_EQ(take(), "other");
    TxnOp elsewhere = enqueue_op(spec_of("last", batch));
    elsewhere.queue = other_;
    ASSERT_TRUE(enqueue(queue_, keyed("held", "l", batch, KeyRule::debounce)).ok());
    EXPECT_EQ(ack(), Code::ok);
    EXPECT_EQ(counts(batch), "4 1 1 0 2 ");
    ASSERT_TRUE(transact({enqueue_op(keyed("new", "l", 0, KeyRule::debounce)), elsewhere}).ok());
    pass(Between::kill);
    EXPECT_EQ(counts(batch), "5 1 1 0 3 ");
    EXPECT_EQ(take(other_), "last");
    EXPECT_EQ(ack(other_), Code::ok);
    EXPECT_EQ(counts(batch), "5 0 2 0 3 .");
    EXPECT_EQ(take(other_), "complete");
    EXPECT_EQ(ack(other_), Code::ok);
    ASSERT_TRUE(engine().clear(queue_, clearable_states, call).ok());
  }
}

TEST_P(FlowMixTest, BulkChangesOfDeadMembersCountEach) {
  for (const Between between : {Between::reopen, Between::kill}) {
    const uint64_t batch = create();
    const NextSpec chain[] = {next_of("next")};
    JobSpec spec = spec_of("m", batch);
    spec.chain = chain;
    CallOptions call;
    const std::vector<JobSpec> specs(300, spec);
    ASSERT_EQ(engine().enqueue_many(queue_, specs, false, call, {}).value(), specs.size());
    std::vector<SettleItem> items;
    for (const JobView& job : harness_.lease(queue_, 300)) {
      items.push_back({.id = job.id, .generation = job.generation, .kind = SettleKind::fail});
    }
    std::vector<Code> codes(items.size());
    ASSERT_TRUE(engine().settle(queue_, items, call, codes).ok());
    EXPECT_EQ(counts(batch), "600 0 0 300 300 ");
    pass(between);
    DeadBulkReport report;
    DeadBulk bulk;
    bulk.remove = true;
    bulk.limit = 20;
    ASSERT_TRUE(engine().dead_bulk(queue_, bulk, call, report).ok());
    EXPECT_EQ(counts(batch), "600 0 0 300 300 ");  // dead is what they were
    ASSERT_TRUE(engine().dead_bulk(queue_, DeadBulk(), call, report).ok());
    EXPECT_EQ(report.changed, 280u);
    pass(between);
    EXPECT_EQ(counts(batch), "600 560 0 20 20 ");
    EXPECT_EQ(cancel_batch(batch), Code::ok);
    EXPECT_EQ(counts(batch), "600 0 0 20 580 .");
    EXPECT_EQ(take(other_), "failure");
    EXPECT_EQ(ack(other_), Code::ok);
  }
}

TEST_P(FlowMixTest, EventsAndExplanationsTellOfThem) {
  const uint64_t batch = create();
  const NextSpec chain[] = {next_of("b"), next_of("c")};
  const JobId id = push_chain("a", chain, batch);
  const auto explanation = [&] { return engine().explain_job(queue_, id).value().text; };
  EXPECT_NE(explanation().find("2 jobs of its chain follow its ack\n"), std::string::npos);
  EXPECT_NE(explanation().find("member of batch " + std::to_string(batch) + "\n"),
            std::string::npos);
  EXPECT_EQ(take(), "a");
  EXPECT_EQ(events_of(id), (std::vector{EventKind::queued, EventKind::leased}));
  EXPECT_EQ(cancel_batch(batch), Code::ok);
  EXPECT_NE(explanation().find("was cancelled: it should stop"), std::string::npos);
  EXPECT_TRUE(events_of(batch).empty());
  // No second attempt, so it ends at its nack.
  EXPECT_EQ(harness_.nack(queue_, job_.id, job_.generation), Code::ok);
  const EventCursor here = cursor_;
  EXPECT_EQ(events_of(id), (std::vector{EventKind::nacked, EventKind::cancelled}));
  cursor_ = here;
  EXPECT_EQ(events_of(batch), std::vector{EventKind::batch_finished});
  EXPECT_EQ(members_, 3u);
  EXPECT_EQ(take(other_), "failure");
  EXPECT_EQ(ack(other_), Code::ok);
}

INSTANTIATE_TEST_SUITE_P(Stores, FlowMixTest, testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

}  // namespace
}  // namespace wq
