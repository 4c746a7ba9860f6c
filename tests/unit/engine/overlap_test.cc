// The overlap guard: jobs of a group that do not wait for a slot, but are released for a while or
// skipped when a lease comes to them and the group is full. Behaviour B.6 of the seeds, without its
// defect: the slot ends with the lease, so no guard outlives the process that held it.
#include <gtest/gtest.h>

#include <map>

#include "support/engine_harness.h"

namespace wq {
namespace {

class OverlapTest : public testing::TestWithParam<StoreKind> {
 protected:
  OverlapTest() : harness_(options()) { EXPECT_TRUE(harness_.open().ok()); }
  static HarnessOptions options() {
    HarnessOptions options;
    options.store = GetParam();
    options.engine.segment_bytes = 1u << 20;
    options.engine.spare_segments = 0;
    options.engine.events_max = 64;
    return options;
  }
  Engine& engine() { return harness_.engine(); }
  Status try_push(QueueId q, std::string_view payload, OverlapRule rule, int64_t overlap_ms,
                  std::string_view group = "g", JobId* id = nullptr) {
    JobSpec spec;
    spec.payload = as_bytes(payload);
    spec.traits.group = group;
    spec.traits.overlap = rule;
    spec.traits.overlap_ms = overlap_ms;
    CallOptions call;
    call.durability = static_cast<uint32_t>(Durability::process);
    JobId unused = 0;
    return engine().enqueue(q, spec, call, id ? *id : unused);
  }
  JobId push(QueueId q, std::string_view payload, OverlapRule rule = OverlapRule::park,
             int64_t overlap_ms = 0) {
    JobId id = 0;
    const Status status = try_push(q, payload, rule, overlap_ms, "g", &id);
    EXPECT_TRUE(status.ok()) << status.message();
    return id;
  }
  std::string take(QueueId q) {
    std::string out;
    for (;;) {
      const std::vector<JobView> jobs = harness_.lease(q, 100);
      if (jobs.empty()) return out;
      for (const JobView& job : jobs) {
        out += (out.empty() ? "" : " ") + payload_of(job);
        EXPECT_EQ(job.attempts, 1u);
        held_[payload_of(job)] = Token{job.id, job.generation};
      }
    }
  }
  Code ack(QueueId q, const std::string& payload) {
    return harness_.ack(q, held_.at(payload).id, held_.at(payload).generation);
  }
  QueueStats stats(QueueId q) { return engine().queue_stats(q).value(); }
  void disturb(int how) {
    if (how == 1 || how == 4) {
      ASSERT_TRUE(engine().checkpoint().ok());
    }
    if (how == 2) {
      ASSERT_TRUE(harness_.close().ok());
      ASSERT_TRUE(harness_.open().ok());
    }
    if (how >= 3) {
      ASSERT_TRUE(harness_.kill_and_open().ok());
    }
  }

  EngineHarness harness_;
  std::map<std::string, Token> held_;
};

TEST_P(OverlapTest, LimitsNameTheField) {
  const QueueId q = harness_.queue("q");
  const auto refused = [&](OverlapRule rule, int64_t ms, std::string_view group,
                           const char* field) {
    const Status status = try_push(q, "", rule, ms, group);
    EXPECT_EQ(status.code(), Code::invalid);
    EXPECT_TRUE(status.message().starts_with(field)) << status.message();
  };
  refused(OverlapRule::skip, 0, "", "overlap:");
  refused(static_cast<OverlapRule>(3), 0, "g", "overlap:");
  refused(OverlapRule::release, 0, "g", "overlap_ms:");
  refused(OverlapRule::skip, 1, "g", "overlap_ms:");
  refused(OverlapRule::park, 1, "g", "overlap_ms:");
  refused(OverlapRule::release, delay_ms_max + 1, "g", "overlap_ms:");
}

// Whatever comes between: the job waits its time, no attempt is counted, and the next one is
// skipped.
TEST_P(OverlapTest, ReleasedOrSkippedWhenTheLeaseComesToThem) {
  for (int how = 0; how <= 4; ++how) {
    SCOPED_TRACE(how);
    const QueueId q = harness_.queue("q" + std::to_string(how));
    push(q, "runs", OverlapRule::skip);
    push(q, "later", OverlapRule::release, 500);
    push(q, "never", OverlapRule::skip);
    push(q, "parked");
    ASSERT_TRUE(try_push(q, "other", OverlapRule::skip, 0, "h").ok());
    disturb(how);
    EXPECT_EQ(take(q), "runs other") << "within one lease too";
    EXPECT_EQ(stats(q).totals.released, 1u);
    EXPECT_EQ(stats(q).totals.skipped, 1u);
    EXPECT_EQ(stats(q).parked, 1u);
    EXPECT_EQ(stats(q).counts[static_cast<size_t>(JobState::delayed)], 1u);
    disturb(how);
    harness_.advance(499);
    EXPECT_EQ(take(q), "");
    EXPECT_EQ(ack(q, "runs"), Code::ok);
    EXPECT_EQ(take(q), "parked");
    disturb(4 - how);
    harness_.advance(2);
    EXPECT_EQ(take(q), "") << "the group is taken again";
    EXPECT_EQ(stats(q).totals.released, 2u);
    EXPECT_EQ(ack(q, "parked"), Code::ok);
    harness_.advance(501);
    disturb(how);
    EXPECT_EQ(take(q), "later");
    EXPECT_EQ(stats(q).totals.skipped, 1u);
    harness_.expect_sound();
  }
}

// Until a lease comes to it, a guarded job stays: nobody asks, or nobody may have it.
TEST_P(OverlapTest, NothingHappensBeforeThat) {
  QueueConfig config;
  config.max_running = 1;
  const QueueId q = harness_.queue("q", config, config_max_running);
  push(q, "1", OverlapRule::skip);
  push(q, "2", OverlapRule::skip);
  EXPECT_EQ(take(q), "1");
  EXPECT_EQ(stats(q).totals.skipped, 0u) << "the queue has no slot to give";
  EXPECT_EQ(ack(q, "1"), Code::ok);
  EXPECT_EQ(take(q), "2");
  harness_.expect_sound();
}

// A lease of one job comes no further than to that job, whatever stands in its line.
TEST_P(OverlapTest, NothingHappensBehindTheJobThatIsLeased) {
  for (int how = 0; how <= 4; ++how) {
    SCOPED_TRACE(how);
    const QueueId q = harness_.queue("q" + std::to_string(how));
    push(q, "runs");
    EXPECT_EQ(take(q), "runs");
    push(q, "never", OverlapRule::skip);
    ASSERT_TRUE(try_push(q, "other", OverlapRule::park, 0, "h").ok());
    push(q, "later", OverlapRule::skip);
    disturb(how);
    const std::vector<JobView> jobs = harness_.lease(q, 1);
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(payload_of(jobs[0]), "other");
    EXPECT_EQ(stats(q).totals.skipped, 1u);
    EXPECT_EQ(ack(q, "runs"), Code::ok);
    EXPECT_EQ(take(q), "later");
    harness_.expect_sound();
  }
}

// The limit is that of the group, and as many as fit run.
TEST_P(OverlapTest, AGroupWithALimit) {
  QueueConfig config;
  config.group_limit = 2;
  const QueueId q = harness_.queue("q", config, config_group_limit);
  for (const char* job : {"1", "2", "3"}) push(q, job, OverlapRule::skip);
  disturb(4);
  EXPECT_EQ(take(q), "1 2");
  EXPECT_EQ(stats(q).totals.skipped, 1u);
  // A slot ends with its lease, however that ends.
  ASSERT_TRUE(harness_.kill_and_open().ok());
  push(q, "4", OverlapRule::skip);
  EXPECT_EQ(take(q), "");
  harness_.advance(60'001);
  push(q, "5", OverlapRule::skip);
  EXPECT_EQ(harness_.lease(q, 100).size(), 2u);
  EXPECT_EQ(harness_.lease(q, 100).size(), 0u);
  EXPECT_EQ(stats(q).totals.skipped, 3u) << "one of those whose lease ran out";
  harness_.expect_sound();
}

TEST_P(OverlapTest, EventsTell) {
  const QueueId q = harness_.queue("q");
  push(q, "1", OverlapRule::skip);
  const JobId skipped = push(q, "2", OverlapRule::skip);
  const JobId released = push(q, "3", OverlapRule::release, 700);
  EXPECT_EQ(take(q), "1");
  EventCursor cursor;
  EventPage page;
  EventRequest request;
  request.events_max = 100;
  ASSERT_TRUE(engine().poll_events(cursor, request, page).ok());
  std::map<JobId, std::vector<EventKind>> told;
  for (const NamedEvent& named : page.events) told[named.event.job].push_back(named.event.kind);
  EXPECT_EQ(told[skipped], (std::vector{EventKind::queued, EventKind::skipped}));
  EXPECT_EQ(told[released], (std::vector{EventKind::queued, EventKind::released}));
}

INSTANTIATE_TEST_SUITE_P(Stores, OverlapTest, testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

}  // namespace
}  // namespace wq
