// Defects of the core that were found by reading it, each as the shortest way to see it again.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "engine/keys.h"
#include "engine/record.h"
#include "engine/residency.h"
#include "support/engine_harness.h"

namespace wq {
namespace {

constexpr int64_t year_ms = int64_t{365} * 24 * 3600 * 1000;

class FoundCore : public testing::Test {
 protected:
  // The content of the store is kept, to be looked at and to be damaged.
  FoundCore() : harness_(options()) { EXPECT_TRUE(harness_.open().ok()); }
  HarnessOptions options() {
    HarnessOptions options;
    options.wrap_store = [this](std::unique_ptr<Store> store,
                                std::shared_ptr<MemStoreContent> content) {
      content_ = std::move(content);
      return store;
    };
    return options;
  }
  Engine& engine() { return harness_.engine(); }
  Status push(QueueId q, const JobSpec& spec) {
    CallOptions call;
    JobId id = 0;
    return engine().enqueue(q, spec, call, id);
  }
  Code fail_one(QueueId q) {
    const auto jobs = harness_.lease(q);
    if (jobs.empty()) return Code::empty;
    SettleItem item;
    item.kind = SettleKind::fail;
    item.id = jobs[0].id;
    item.generation = jobs[0].generation;
    return harness_.settle(q, item);
  }
  size_t stored_rows(Family family) {
    const auto store = open_mem_store(content_);
    size_t rows = 0;
    for (auto at = store.value()->scan(family, "", ""); at->valid(); at->next()) ++rows;
    return rows;
  }

  std::shared_ptr<MemStoreContent> content_;
  EngineHarness harness_;
};

// Results had no limit together: over 1 GiB of them broke a check of the record, which stopped the
// store.
TEST_F(FoundCore, TooManyResultsForOneRecordAreRefused) {
  constexpr uint32_t count = 1'100;
  const std::string result(result_bytes_max, 'r');
  QueueConfig config;
  config.keep_done_count = 1;
  const QueueId q = harness_.queue("q", config, config_keep_done);
  for (uint32_t i = 0; i < count; ++i) harness_.enqueue(q, "");
  const auto jobs = harness_.lease(q, count);
  ASSERT_EQ(jobs.size(), count);
  std::vector<SettleItem> items(count);
  std::vector<Code> codes(count);
  for (uint32_t i = 0; i < count; ++i) {
    items[i].kind = SettleKind::ack;
    items[i].id = jobs[i].id;
    items[i].generation = jobs[i].generation;
    items[i].result = result;
  }
  CallOptions call;
  const Status status = engine().settle(q, items, call, codes);
  EXPECT_EQ(status.code(), Code::too_large);
  EXPECT_TRUE(status.message().starts_with("result:")) << status.message();
  EXPECT_EQ(engine().settle(q, {items.data(), 1}, call, {codes.data(), 1}).code(), Code::ok);
  EXPECT_EQ(codes[0], Code::ok);
}

// Headers of the jobs of chains counted for next to nothing: a call of over 1 GiB of them broke the
// same check.
TEST_F(FoundCore, TooManyHeadersForOneRecordAreRefused) {
  const QueueId q = harness_.queue("q");
  const std::string value(60'000, 'v');
  const Header header{as_bytes("h"), as_bytes(value)};
  std::vector<NextSpec> chain(100);
  for (NextSpec& next : chain) next.job.headers = {&header, 1};
  std::vector<JobSpec> specs(200);
  for (JobSpec& spec : specs) spec.chain = chain;
  CallOptions call;
  const auto told = engine().enqueue_many(q, specs, false, call, {});
  EXPECT_EQ(told.status().code(), Code::too_large);
  EXPECT_EQ(engine().enqueue_many(q, {specs.data(), 2}, false, call, {}).value(), 2u);
}

// The limit of a guarded job that runs was taken for that of the group, once its rows were read.
TEST_F(FoundCore, AGroupThatOnlyRunsKeepsItsLimitOverAReopen) {
  const auto guarded = [](uint32_t limit) {
    JobSpec spec;
    spec.traits.group = "g";
    spec.traits.group_limit = limit;
    spec.traits.overlap = OverlapRule::skip;
    return spec;
  };
  for (const bool reopens : {false, true}) {
    const QueueId q = harness_.queue(reopens ? "reopened" : "stays");
    ASSERT_TRUE(push(q, guarded(2)).ok());
    ASSERT_TRUE(push(q, guarded(5)).ok());
    const auto jobs = harness_.lease(q, 2);
    ASSERT_EQ(jobs.size(), 2u);
    ASSERT_EQ(harness_.ack(q, jobs[0].id, jobs[0].generation), Code::ok);
    if (reopens) {
      ASSERT_TRUE(harness_.close().ok());
      ASSERT_TRUE(harness_.open().ok());
    }
    for (int i = 0; i < 4; ++i) ASSERT_TRUE(push(q, guarded(5)).ok());
    EXPECT_EQ(harness_.lease(q, 10).size(), 1u) << "two run at once";
  }
}

// A letter that died while the clock was ahead kept all that died after it from their age.
TEST_F(FoundCore, ALetterOfAnotherTimeHoldsUpNoOther) {
  QueueConfig config;
  config.dead_max_age_ms = 1'000;
  const QueueId q = harness_.queue("q", config, config_dead_max_age_ms);
  for (int i = 0; i < 3; ++i) harness_.enqueue(q, "");
  harness_.clock().step_wall(year_ms);
  ASSERT_EQ(fail_one(q), Code::ok);
  harness_.clock().step_wall(-year_ms);
  ASSERT_EQ(fail_one(q), Code::ok);
  harness_.advance(500);
  ASSERT_EQ(fail_one(q), Code::ok);
  harness_.advance(500);
  harness_.tick();
  EXPECT_EQ(engine().queue_stats(q).value().totals.dead_dropped, 1u);
  harness_.advance(500);
  harness_.tick();
  EXPECT_EQ(engine().queue_stats(q).value().totals.dead_dropped, 2u);
  harness_.advance(year_ms);
  harness_.tick();
  EXPECT_EQ(engine().queue_stats(q).value().totals.dead_dropped, 3u);
  harness_.expect_sound();
}

// And a job that was done then kept the rows of all behind it in the store.
TEST_F(FoundCore, ADoneJobOfAnotherTimeKeepsNoOther) {
  QueueConfig config;
  config.keep_done_age_ms = 1'000;
  const QueueId q = harness_.queue("q", config, config_keep_done);
  const auto work = [&] {
    harness_.enqueue(q, "");
    const auto jobs = harness_.lease(q);
    ASSERT_EQ(harness_.ack(q, jobs.at(0).id, jobs.at(0).generation), Code::ok);
  };
  harness_.clock().step_wall(year_ms);
  work();
  harness_.clock().step_wall(-year_ms);
  for (int i = 0; i < 5; ++i) work();
  ASSERT_TRUE(engine().checkpoint().ok());
  EXPECT_EQ(stored_rows(Family::history), 12u);
  harness_.advance(1'000);
  harness_.enqueue(q, "");
  ASSERT_TRUE(engine().checkpoint().ok());
  EXPECT_EQ(stored_rows(Family::history), 2u);
  harness_.expect_sound();
}

// A dead member that was only in the store did not tell that its flow was cancelled.
TEST_F(FoundCore, ADeadMemberTellsOfItsCancelledFlowFromTheStoreToo) {
  const QueueId q = harness_.queue("q");
  CallOptions call;
  const uint64_t flow = engine().batch_create(BatchSpec(), call).value();
  JobSpec member;
  member.traits.batch = flow;
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(push(q, member).ok());
  const auto held = harness_.lease(q);
  ASSERT_EQ(fail_one(q), Code::ok);
  const auto letters = engine().dead_list(q, DeadQuery());
  const JobId dead = letters.value().jobs.at(0).id;
  for (const bool cancelled : {false, true}) {
    if (cancelled) {
      ASSERT_TRUE(engine().batch_cancel(flow, call).ok());
    }
    EXPECT_EQ(engine().get(q, dead)->batch_cancelled, cancelled);
    ASSERT_TRUE(harness_.close().ok());
    ASSERT_TRUE(harness_.open().ok());
    EXPECT_EQ(engine().get(q, dead)->batch_cancelled, cancelled);
    EXPECT_EQ(engine().dead_list(q, DeadQuery())->jobs.at(0).batch_cancelled, cancelled);
  }
  ASSERT_EQ(harness_.ack(q, held.at(0).id, held.at(0).generation), Code::ok);
  EXPECT_FALSE(engine().get(q, dead)->batch_cancelled) << "it is finished";
}

// The length of a lease was counted from its begin, so that one which had been extended for hours
// got hours more when the clock was set back before a restart, and its job waited all of them.
TEST_F(FoundCore, AnExtendedLeaseGetsNoMoreThanItsLengthAfterAStepBack) {
  constexpr int64_t hour_ms = 3'600'000;
  for (const bool confirms : {false, true}) {
    for (const bool from_log : {false, true}) {
      harness_.clock().advance(10 * hour_ms);
      const QueueId q = harness_.queue("q" + std::to_string(2 * confirms + from_log));
      harness_.enqueue(q, "");
      const auto jobs = harness_.lease(q, 1, 2 * hour_ms);
      ASSERT_EQ(jobs.size(), 1u);
      harness_.advance(hour_ms);
      const Token token{jobs[0].id, jobs[0].generation};
      CallOptions call;
      Code code = Code::ok;
      if (confirms) {
        ASSERT_TRUE(engine().confirm(q, token, 60'000, call).ok());
      } else {
        ASSERT_TRUE(engine().extend(q, {&token, 1}, 60'000, call, {&code, 1}).ok());
      }
      if (from_log) {
        ASSERT_TRUE(harness_.kill_and_open().ok());
      }
      ASSERT_TRUE(harness_.close().ok());
      harness_.clock().step_wall(-hour_ms / 2);
      ASSERT_TRUE(harness_.open().ok());
      harness_.advance(59'999);
      EXPECT_EQ(engine().queue_stats(q).value().totals.expired, 0u);
      harness_.advance(1);
      EXPECT_EQ(engine().queue_stats(q).value().totals.expired, 1u);
    }
  }
}

// A lease that was woken and left for another reason, here since another of its queues was deleted,
// took the wake-up along: who waited behind it slept on, up to a second, beside a ready job.
TEST(FoundCoreWaits, AWakeUpThatIsNotUsedGoesToTheNext) {
  using std::chrono::steady_clock;
  constexpr int rounds = 8;
  int slow = 0;
  for (int round = 0; round < rounds; ++round) {
    EngineHarness harness;
    ASSERT_TRUE(harness.open().ok());
    const QueueId gone = harness.queue("gone");
    const QueueId q = harness.queue("q");
    const auto wait_on = [&](std::vector<QueueId> queues) {
      LeaseRequest request;
      request.queues = queues;
      request.wait_ms = -1;
      CallOptions call;
      std::vector<JobView> jobs;
      return harness.engine().lease(request, call, jobs).code();
    };
    const auto sleep_of = [&](uint64_t waiting) {
      while (harness.engine().stats().waiting < waiting) std::this_thread::yield();
    };
    auto first = std::async(std::launch::async, wait_on, std::vector<QueueId>{q, gone});
    sleep_of(1);
    auto second = std::async(std::launch::async, wait_on, std::vector<QueueId>{q});
    sleep_of(2);
    CallOptions call;
    call.durability = static_cast<uint32_t>(Durability::memory);
    const auto began = steady_clock::now();
    ASSERT_TRUE(harness.engine().remove_queue(gone, call).ok());
    JobId id = 0;
    ASSERT_TRUE(harness.engine().enqueue(q, JobSpec(), call, id).ok());
    EXPECT_EQ(second.get(), Code::ok);
    if (steady_clock::now() - began > std::chrono::milliseconds(700)) ++slow;
    EXPECT_EQ(first.get(), Code::not_found);
  }
  EXPECT_LT(slow, rounds / 2);
}

// Of two jobs that a command was to move one was damaged: the other was in no line any more, and
// the store went on without it.
TEST_F(FoundCore, AStoreThatCanNotMoveWhatItReadStops) {
  const QueueId q = harness_.queue("q");
  CallOptions call;
  const uint64_t flow = engine().batch_create(BatchSpec(), call).value();
  JobSpec member;
  member.traits.batch = flow;
  JobId ids[2];
  for (JobId& id : ids) ASSERT_TRUE(engine().enqueue(q, member, call, id).ok());
  ASSERT_TRUE(harness_.close().ok());
  {
    const auto store = open_mem_store(content_);
    StoredJob job = read_job(*store.value(), ids[1]).value();
    job.row.priority = 7;
    Encoder encoder;
    auto change = store.value()->begin_checkpoint(1);
    ASSERT_TRUE(change.value()
                    ->put(Family::job, job_body_key(ids[1]),
                          as_text(encoder.job_row(job.row, job.body.bytes())))
                    .ok());
    ASSERT_TRUE(change.value()->commit().ok());
  }
  ASSERT_TRUE(harness_.open().ok());
  ASSERT_TRUE(engine().batch_cancel(flow, call).ok());
  EXPECT_EQ(push(q, JobSpec()).code(), Code::poisoned);
}

}  // namespace
}  // namespace wq
