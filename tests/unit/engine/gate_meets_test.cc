// Groups and rates beside the other things that a job and a queue can have: limits of a queue,
// keys, expiry, priorities, transactions, dead letters, explanations, events and metrics. Between
// any two steps the store is left alone, reopened, killed, or left without memory, so that what is
// parked is only on the disk.
#include <gtest/gtest.h>

#include "support/engine_harness.h"

namespace wq {
namespace {

enum class Shake : uint8_t { nothing, starved, reopen, checkpoint_and_kill };

struct Mode {
  StoreKind store;
  Shake shake;
};

JobSpec of_group(std::string_view group) {
  JobSpec spec;
  spec.traits.group = group;
  return spec;
}

class GateMeets : public testing::TestWithParam<Mode> {
 protected:
  GateMeets() : harness_(options()) {
    EXPECT_TRUE(harness_.open().ok());
    QueueConfig config;
    config.max_retries = 0;
    config.durability = Durability::process;
    queue_ = harness_.queue("q", config, config_max_retries | config_durability);
    call_.durability = static_cast<uint32_t>(Durability::process);
  }
  ~GateMeets() override { harness_.expect_sound(); }

  static HarnessOptions options() {
    HarnessOptions options;
    options.store = GetParam().store;
    options.engine.segment_bytes = 256 * 1024;  // the kills of a test leave many
    options.engine.events_max = 64;
    if (GetParam().shake == Shake::starved) {
      options.engine.memory_budget_bytes = 1;
      options.engine.lane_window = 1;
    }
    return options;
  }
  Engine& engine() { return harness_.engine(); }
  void shake() {
    switch (GetParam().shake) {
      case Shake::nothing:
        return;
      case Shake::starved:
        ASSERT_TRUE(engine().checkpoint().ok());
        return;
      case Shake::reopen:
        ASSERT_TRUE(harness_.close().ok());
        ASSERT_TRUE(harness_.open().ok());
        return;
      case Shake::checkpoint_and_kill:
        ASSERT_TRUE(engine().checkpoint().ok());
        ASSERT_TRUE(harness_.kill_and_open().ok());
        return;
    }
  }
  Code try_push(std::string_view payload, JobSpec spec, JobId& id) {
    shake();
    spec.payload = as_bytes(payload);
    return engine().enqueue(queue_, spec, call_, id).code();
  }
  JobId push(std::string_view payload, const JobSpec& spec) {
    JobId id = 0;
    EXPECT_EQ(try_push(payload, spec, id), Code::ok) << payload;
    return id;
  }
  // Leases all that can be and gives their payloads.
  std::string take() {
    shake();
    std::string out;
    for (;;) {
      const std::vector<JobView> jobs = harness_.lease(queue_, 100);
      if (jobs.empty()) return out;
      for (const JobView& job : jobs) {
        out += (out.empty() ? "" : " ") + payload_of(job);
        held_ = Token{job.id, job.generation};
      }
    }
  }
  Code settle(SettleKind kind = SettleKind::ack) {
    shake();
    return harness_.settle(
        queue_, SettleItem{.id = held_.id, .generation = held_.generation, .kind = kind});
  }
  void configure(const QueueConfig& config, uint32_t fields) {
    shake();
    const Status status = engine().configure(queue_, config, fields, call_);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  QueueStats stats() {
    Result<QueueStats> found = engine().queue_stats(queue_);
    EXPECT_TRUE(found.ok());
    return found.value();
  }
  uint64_t parked() { return stats().parked; }
  uint64_t count(JobState state) { return stats().counts[static_cast<size_t>(state)]; }

  EngineHarness harness_;
  QueueId queue_ = 0;
  CallOptions call_;
  Token held_;  // the last lease
};

TEST_P(GateMeets, ParkedJobsCountAgainstTheLimitsOfTheQueue) {
  for (const char* job : {"1", "2", "3"}) push(job, of_group("g"));
  EXPECT_EQ(take(), "1");
  QueueConfig config;
  config.max_depth = 3;
  configure(config, config_max_depth);
  push("4", of_group("g"));
  JobId id = 0;
  EXPECT_EQ(try_push("5", of_group("g"), id), Code::full);
  EXPECT_EQ(try_push("5", of_group("other"), id), Code::full);
  EXPECT_EQ(try_push("5", {}, id), Code::full);
  config.max_depth = 0;
  config.max_bytes = stats().bytes[static_cast<size_t>(JobState::ready)];
  configure(config, config_max_depth | config_max_bytes);
  EXPECT_EQ(try_push("5", of_group("g"), id), Code::full);
  EXPECT_EQ(settle(), Code::ok);
  EXPECT_EQ(take(), "2");
  push("5", of_group("g"));
}

// The least urgent go, of those the first of the queue: parked or not, of a full group or not.
TEST_P(GateMeets, AFullQueueDropsParkedJobsInTheOrderOfTheQueue) {
  push("running", of_group("g"));
  EXPECT_EQ(take(), "running");
  JobSpec urgent = of_group("g");
  urgent.priority = 50;
  push("g1", of_group("g"));
  push("urgent", urgent);
  push("x1", {});
  push("g2", of_group("g"));
  push("h1", of_group("h"));
  push("h2", of_group("h"));
  push("x2", {});
  QueueConfig config;
  config.max_depth = 7;
  config.full_policy = FullPolicy::drop_oldest;
  configure(config, config_max_depth | config_full_policy);
  push("x3", {});             // for g1
  push("x4", {});             // for x1
  push("h3", of_group("h"));  // for g2
  push("x5", {});             // for h1
  EXPECT_EQ(stats().totals.dropped, 4u);
  EXPECT_EQ(count(JobState::ready), 7u);
  EXPECT_EQ(parked(), 2u);  // urgent, h3
  EXPECT_EQ(take(), "h2 x2 x3 x4 x5");
  shake();
  // Far over: in one step everything but the last.
  config.max_depth = 1;
  configure(config, config_max_depth);
  push("last", of_group("h"));
  EXPECT_EQ(stats().totals.dropped, 6u);
  EXPECT_EQ(parked(), 1u);
}

TEST_P(GateMeets, KeysOfParkedJobs) {
  push("running", of_group("g"));
  EXPECT_EQ(take(), "running");
  JobSpec keyed = of_group("g");
  keyed.traits.key_rule = KeyRule::until_started;
  keyed.traits.key = "k";
  const JobId first = push("first", keyed);
  JobId met = 0;
  EXPECT_EQ(try_push("second", keyed, met), Code::duplicate);
  EXPECT_EQ(met, first);
  shake();
  EXPECT_EQ(engine().cancel_key(queue_, KeyKind::unique, "k", call_).value(), first);
  EXPECT_EQ(parked(), 0u);
  push("third", keyed);
  EXPECT_EQ(parked(), 1u);
  EXPECT_EQ(try_push("second", keyed, met), Code::duplicate) << "parked is not started";
  EXPECT_EQ(settle(), Code::ok);
  EXPECT_EQ(take(), "third");
  push("fourth", keyed);
  EXPECT_EQ(take(), "");
  JobSpec once = of_group("g");
  once.traits.idempotency_key = "i";
  once.traits.idempotency_ms = 60'000;
  const JobId only = push("once", once);
  EXPECT_EQ(try_push("again", once, met), Code::duplicate);
  EXPECT_EQ(met, only);
  EXPECT_EQ(parked(), 2u);
}

// A debounced job whose time has come, but whose group is full, is still replaced by a newer one,
// which may be of another group.
TEST_P(GateMeets, AParkedJobIsDebounced) {
  push("running", of_group("g"));
  EXPECT_EQ(take(), "running");
  const auto debounced = [](std::string_view group) {
    JobSpec spec = of_group(group);
    spec.traits.key_rule = KeyRule::debounce;
    spec.traits.key = "k";
    spec.debounce_ms = 100;
    return spec;
  };
  push("old", debounced("g"));
  harness_.advance(101);
  EXPECT_EQ(parked(), 1u);
  push("newer", debounced("g"));
  EXPECT_EQ(parked(), 0u);
  EXPECT_EQ(count(JobState::delayed), 1u);
  harness_.advance(101);
  EXPECT_EQ(parked(), 1u);
  push("newest", debounced("h"));
  harness_.advance(101);
  EXPECT_EQ(parked(), 0u);
  EXPECT_EQ(take(), "newest");
  EXPECT_EQ(count(JobState::ready), 0u);
}

// Parked jobs end at their time, also when nobody asks for jobs of their group.
TEST_P(GateMeets, ParkedJobsExpire) {
  push("running", of_group("g"));
  EXPECT_EQ(take(), "running");
  for (int i = 0; i < 40; ++i) {
    JobSpec spec = of_group("g");
    spec.traits.expires_ms = harness_.clock().wall_ms() + (i % 2 == 0 ? 500 : 60'000);
    push(std::to_string(i), spec);
  }
  push("stays", of_group("g"));
  harness_.advance(501);
  EXPECT_EQ(settle(), Code::ok);
  EXPECT_EQ(take(), "1");
  // Those that are only on the disk end when they come to the head of the line.
  harness_.advance(60'000);
  EXPECT_EQ(settle(), Code::stale);  // its lease is over, which was its only one
  EXPECT_EQ(take(), "stays");
  EXPECT_EQ(stats().totals.jobs_expired, 39u);
}

// A time to live that the queue gets later holds for parked jobs that are in memory, too.
TEST_P(GateMeets, ParkedJobsHaveTheTimeToLiveOfTheQueue) {
  push("running", of_group("g"));
  EXPECT_EQ(take(), "running");
  push("1", of_group("g"));
  push("2", of_group("g"));
  QueueConfig config;
  config.job_ttl_ms = 1'000;
  ASSERT_TRUE(engine().configure(queue_, config, config_job_ttl, call_).ok());
  harness_.advance(1'001);
  if (GetParam().shake == Shake::nothing) {
    EXPECT_EQ(stats().totals.jobs_expired, 2u);
  }
  EXPECT_EQ(settle(), Code::ok);
  EXPECT_EQ(take(), "");
  EXPECT_EQ(stats().totals.jobs_expired, 2u);
  EXPECT_EQ(parked(), 0u);
}

TEST_P(GateMeets, ParkedJobsChangeTheirPriority) {
  push("running", of_group("g"));
  EXPECT_EQ(take(), "running");
  push("1", of_group("g"));
  const JobId second = push("2", of_group("g"));
  const JobId third = push("3", of_group("g"));
  shake();
  ASSERT_TRUE(engine().reprioritise(queue_, third, 50, call_).ok());
  shake();
  ASSERT_TRUE(engine().reprioritise(queue_, second, default_priority, call_).ok());
  EXPECT_EQ(parked(), 3u);
  for (const char* job : {"3", "1", "2"}) {
    EXPECT_EQ(settle(), Code::ok);
    EXPECT_EQ(take(), job);
  }
}

// One transaction settles a job of a group and puts others into it.
TEST_P(GateMeets, TransactionsWithGroupedJobs) {
  push("1", of_group("g"));
  EXPECT_EQ(take(), "1");
  std::vector<TxnOp> ops(4);
  ops[0].queue = ops[1].queue = ops[2].queue = queue_;
  ops[0].spec = ops[1].spec = of_group("g");
  ops[0].spec.payload = as_bytes("2");
  ops[1].spec.payload = as_bytes("3");
  ops[2].kind = TxnOp::Kind::settle;
  ops[2].settle = {.id = held_.id, .generation = held_.generation + 1};
  ops[3].kind = TxnOp::Kind::kv;
  ops[3].kv.key = "row";
  std::vector<TxnResult> results(ops.size());
  size_t failed = 0;
  shake();
  EXPECT_EQ(engine().transact(ops, call_, results, failed).code(), Code::stale);
  EXPECT_EQ(failed, 2u);
  EXPECT_EQ(count(JobState::ready), 0u);
  EXPECT_EQ(take(), "");
  ops[2].settle.generation = held_.generation;
  ASSERT_TRUE(engine().transact(ops, call_, results, failed).ok());
  EXPECT_EQ(parked(), 1u);
  EXPECT_EQ(take(), "2");
  EXPECT_EQ(settle(), Code::ok);
  EXPECT_EQ(take(), "3");
}

// A replayed dead letter stands in the line of its group like any other job.
TEST_P(GateMeets, DeadLettersComeBackIntoTheirGroup) {
  std::vector<Token> dead;
  for (const char* job : {"1", "2", "3"}) {
    push(job, of_group("g"));
    EXPECT_EQ(take(), job);
    dead.push_back(held_);
    EXPECT_EQ(settle(SettleKind::fail), Code::ok);
  }
  push("running", of_group("g"));
  EXPECT_EQ(take(), "running");
  push("waits", of_group("g"));
  shake();
  ASSERT_TRUE(engine().dead_replay(queue_, dead[1], call_).ok());
  shake();
  DeadBulkReport report;
  ASSERT_TRUE(engine().dead_bulk(queue_, DeadBulk{}, call_, report).ok());
  EXPECT_EQ(report.changed, 2u);
  EXPECT_EQ(parked(), 4u);
  for (const char* job : {"waits", "2", "1", "3"}) {
    EXPECT_EQ(settle(), Code::ok);
    EXPECT_EQ(take(), job);
  }
}

TEST_P(GateMeets, ExplanationsTellOfGroupsAndRates) {
  push("1", of_group("g"));
  const JobId second = push("2", of_group("g"));
  const JobId free = push("3", of_group("h"));
  EXPECT_EQ(take(), "1 3");
  shake();
  JobExplanation job = engine().explain_job(queue_, second).value();
  EXPECT_EQ(job.why, why_group | why_no_consumer);
  EXPECT_NE(job.text.find("its group is full: 1 of 1 are leased or running"), std::string::npos)
      << job.text;
  EXPECT_EQ(job.queue.parked, 1u);
  EXPECT_EQ(engine().explain_job(queue_, free).value().why, why_held);
  QueueExplanation queue = engine().explain_queue(queue_).value();
  EXPECT_EQ(queue.why, why_group | why_no_consumer);
  EXPECT_EQ(queue.leasable, 0u);
  EXPECT_NE(queue.text.find("1 ready job is parked"), std::string::npos) << queue.text;
  QueueConfig config;
  config.rate = {1, 1, 60'000};
  configure(config, config_rate);
  const JobId rated = push("4", {});
  const JobId last = push("5", of_group("i"));
  push("6", of_group("i"));
  EXPECT_EQ(take(), "4");
  EXPECT_EQ(engine().explain_job(queue_, rated).value().why, why_held);
  job = engine().explain_job(queue_, last).value();
  EXPECT_EQ(job.why, why_rate | why_behind | why_no_consumer);
  EXPECT_EQ(job.until_ms, harness_.clock().wall_ms() + 60'000);
  EXPECT_TRUE(job.ahead == 1 || job.ahead == 2) << job.ahead;  // the parked one, and a gap
  EXPECT_FALSE(job.ahead_exact);
  queue = engine().explain_queue(queue_).value();
  EXPECT_EQ(queue.why, why_rate | why_no_consumer);
  EXPECT_EQ(queue.leasable, 0u);
  harness_.advance(60'000);
  queue = engine().explain_queue(queue_).value();
  EXPECT_EQ(queue.leasable, 1u);  // of two that are not parked
  EXPECT_EQ(queue.queue.rate_wait_ms, 0);
}

TEST_P(GateMeets, MetricsAndEventsTellOfGroupsAndRates) {
  if (GetParam().shake != Shake::nothing) GTEST_SKIP() << "events are of one opening";
  const JobId first = push("1", of_group("g"));
  const JobId second = push("2", of_group("g"));
  EXPECT_EQ(take(), "1");
  EXPECT_EQ(settle(), Code::ok);
  QueueConfig config;
  config.rate = {1, 1, 2'500};
  configure(config, config_rate);
  EXPECT_EQ(take(), "2");
  push("3", of_group("g"));
  const std::string metrics = engine().metrics_text().value();
  EXPECT_NE(metrics.find("wq_queue_jobs_parked{queue=\"q\"} 1\n"), std::string::npos) << metrics;
  EXPECT_NE(metrics.find("wq_queue_rate_wait_seconds{queue=\"q\"} 2.5\n"), std::string::npos);
  EventCursor cursor;
  EventRequest request;
  request.events_max = 100;
  EventPage page;
  ASSERT_FALSE(engine().poll_events(cursor, request, page).is_error());
  std::vector<std::pair<EventKind, JobId>> told;
  for (const NamedEvent& event : page.events) {
    if (event.event.job == first || event.event.job == second) {
      told.emplace_back(event.event.kind, event.event.job);
    }
  }
  const std::vector<std::pair<EventKind, JobId>> expected = {
      {EventKind::queued, first}, {EventKind::queued, second}, {EventKind::leased, first},
      {EventKind::acked, first},  {EventKind::leased, second},
  };
  EXPECT_EQ(told, expected);
}

std::string mode_name(const testing::TestParamInfo<Mode>& info) {
  constexpr const char* shakes[] = {"nothing", "starved", "reopen", "checkpoint_and_kill"};
  return (info.param.store == StoreKind::memory ? "memory_" : "rocks_") +
         std::string(shakes[static_cast<size_t>(info.param.shake)]);
}

INSTANTIATE_TEST_SUITE_P(Memory, GateMeets,
                         testing::Values(Mode{StoreKind::memory, Shake::nothing},
                                         Mode{StoreKind::memory, Shake::starved},
                                         Mode{StoreKind::memory, Shake::reopen},
                                         Mode{StoreKind::memory, Shake::checkpoint_and_kill}),
                         mode_name);
INSTANTIATE_TEST_SUITE_P(Rocks, GateMeets,
                         testing::Values(Mode{StoreKind::rocks, Shake::starved},
                                         Mode{StoreKind::rocks, Shake::reopen}),
                         mode_name);

}  // namespace
}  // namespace wq
