// Groups: the limit and its slots at every end that a job can have, the order, what is parked and
// what is in memory of it; and random operations against a list, with checkpoints, closes and
// kills.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <list>
#include <map>
#include <set>

#include "engine/gate.h"
#include "quantity.h"
#include "support/engine_harness.h"
#include "test_seed.h"

namespace wq {
namespace {

constexpr uint64_t small_budget_bytes = 1u << 20;

class GateTest : public testing::TestWithParam<StoreKind> {
 protected:
  GateTest() : harness_(options()) { EXPECT_TRUE(harness_.open().ok()); }

  static HarnessOptions options() {
    HarnessOptions options;
    options.store = GetParam();
    options.engine.memory_budget_bytes = small_budget_bytes;
    options.engine.segment_bytes = 1u << 20;  // what a kill has to copy
    options.engine.spare_segments = 0;
    return options;
  }
  Engine& engine() { return harness_.engine(); }
  JobId push(QueueId q, std::string_view payload, std::string_view group = {}, uint32_t limit = 0,
             uint8_t priority = default_priority, JobSpec spec = {}) {
    spec.payload = as_bytes(payload);
    spec.priority = priority;
    spec.traits.group = group;
    spec.traits.group_limit = limit;
    CallOptions call;
    call.durability = static_cast<uint32_t>(Durability::process);  // survives the kills
    JobId id = 0;
    const Status status = engine().enqueue(q, spec, call, id);
    EXPECT_TRUE(status.ok()) << status.message();
    return id;
  }
  // Leases up to `max_jobs` and gives their payloads. One call ends where a job comes that is only
  // in the store.
  std::string take(QueueId q, uint32_t max_jobs = 100) {
    std::string out;
    while (max_jobs > 0) {
      const std::vector<JobView> jobs = harness_.lease(q, max_jobs);
      if (jobs.empty()) break;
      for (const JobView& job : jobs) {
        out += (out.empty() ? "" : " ") + payload_of(job);
        held_[payload_of(job)] = Token{job.id, job.generation};
        --max_jobs;
      }
    }
    return out;
  }
  Code settle(QueueId q, const std::string& payload, SettleKind kind = SettleKind::ack) {
    SettleItem item;
    item.id = held_.at(payload).id;
    item.generation = held_.at(payload).generation;
    item.kind = kind;
    return harness_.settle(q, item);
  }
  uint64_t parked(QueueId q) { return engine().queue_stats(q).value().parked; }
  uint64_t ready(QueueId q) {
    return engine().queue_stats(q).value().counts[static_cast<size_t>(JobState::ready)];
  }
  void configure(QueueId q, uint32_t group_limit) {
    QueueConfig config;
    config.group_limit = group_limit;
    CallOptions call;
    ASSERT_TRUE(engine().configure(q, config, config_group_limit, call).ok());
  }
  void checkpoint() { ASSERT_TRUE(engine().checkpoint().ok()); }
  void reopen() {
    ASSERT_TRUE(harness_.close().ok());
    ASSERT_TRUE(harness_.open().ok());
  }
  void kill() { ASSERT_TRUE(harness_.kill_and_open().ok()); }
  // Every way in which a store may go on.
  void disturb(int how) {
    if (how == 1) checkpoint();
    if (how == 2) reopen();
    if (how == 3) kill();
    if (how == 4) {
      checkpoint();
      kill();
    }
  }

  EngineHarness harness_;
  std::map<std::string, Token> held_;
};

TEST_P(GateTest, LimitsNameTheField) {
  const QueueId q = harness_.queue("q");
  const auto refused = [&](std::string_view group, uint32_t limit, Code code, const char* field) {
    JobSpec spec;
    spec.traits.group = group;
    spec.traits.group_limit = limit;
    CallOptions call;
    JobId id = 0;
    const Status status = engine().enqueue(q, spec, call, id);
    EXPECT_EQ(status.code(), code);
    EXPECT_TRUE(status.message().starts_with(field)) << status.message();
  };
  refused(std::string(key_bytes_max + 1, 'g'), 0, Code::too_large, "group:");
  refused("g", group_limit_max + 1, Code::invalid, "group_limit:");
  refused("", 1, Code::invalid, "group_limit:");
  QueueConfig config;
  config.group_limit = 0;
  CallOptions call;
  EXPECT_EQ(engine().configure(q, config, config_group_limit, call).code(), Code::invalid);
  push(q, "longest", std::string(key_bytes_max, '\xff'));
  push(q, "any bytes", std::string_view("\0\n", 2));
  reopen();
  EXPECT_EQ(take(q), "longest any bytes");
}

// One job of a group at a time, in order; the others of the queue go on in their order.
TEST_P(GateTest, OneAtATimeInTheOrderOfTheQueue) {
  const QueueId q = harness_.queue("q");
  for (const char* job : {"a1", "b1", "x1", "a2", "b2", "x2", "a3", "x3"}) {
    push(q, job, job[0] == 'x' ? "" : std::string_view(job, 1));
  }
  EXPECT_EQ(parked(q), 3u);
  EXPECT_EQ(take(q, 2), "a1 b1");
  EXPECT_EQ(take(q), "x1 x2 x3");
  EXPECT_EQ(take(q), "");
  EXPECT_EQ(ready(q), 3u);
  EXPECT_EQ(parked(q), 3u);
  push(q, "x4");
  EXPECT_EQ(settle(q, "b1"), Code::ok);
  EXPECT_EQ(settle(q, "a1"), Code::ok);
  EXPECT_EQ(parked(q), 1u);
  EXPECT_EQ(take(q), "a2 b2 x4") << "what was parked has kept its place";
  EXPECT_EQ(settle(q, "a2"), Code::ok);
  EXPECT_EQ(settle(q, "a2"), Code::stale);
  EXPECT_EQ(take(q), "a3");
  EXPECT_EQ(parked(q), 0u);
  harness_.expect_sound();
}

TEST_P(GateTest, GetTellsWhatIsParked) {
  const QueueId q = harness_.queue("q");
  const JobId first = push(q, "1", "g", 2);
  const JobId second = push(q, "2", "g", 2);
  const JobId third = push(q, "3", "g", 2);
  const JobId other = push(q, "x");
  const auto is_parked = [&](JobId id) {
    const JobView view = engine().get(q, id).value();
    EXPECT_EQ(view.state == JobState::leased, payload_of(view) == "1" && held_.contains("1"));
    return view.parked;
  };
  for (const int how : {0, 1, 2}) {
    disturb(how);
    if (how == 2) {
      EXPECT_EQ(take(q, 1), "1");  // brings the line into memory
    }
    EXPECT_FALSE(is_parked(first));
    EXPECT_FALSE(is_parked(second));
    EXPECT_TRUE(is_parked(third));
    EXPECT_FALSE(is_parked(other));
  }
}

// Cases 22 and 23: the slot goes with the lease, by whatever road, and never twice.
TEST_P(GateTest, C22_C23_EveryEndFreesTheSlotOnce) {
  struct End {
    const char* name;
    std::function<void(QueueId, Token)> run;
    const char* next;  // what is leased then
  };
  CallOptions call;
  const auto settle_as = [&](SettleKind kind, uint8_t flags = 0) {
    return [=, this](QueueId q, Token token) {
      SettleItem item;
      item.id = token.id;
      item.generation = token.generation;
      item.kind = kind;
      item.flags = flags;
      ASSERT_EQ(harness_.settle(q, item), Code::ok);
      ASSERT_EQ(harness_.settle(q, item), Code::stale);
    };
  };
  const End ends[] = {
      {"ack", settle_as(SettleKind::ack), "2"},
      {"nack", settle_as(SettleKind::nack), "2"},
      {"nack to the front", settle_as(SettleKind::nack, settle_front), "1"},
      {"fail", settle_as(SettleKind::fail), "2"},
      {"release", settle_as(SettleKind::release), "2"},
      {"expiry", [&](QueueId, Token) { harness_.advance(1'001); }, "2"},
      {"cancel",
       [&](QueueId q, Token token) { ASSERT_TRUE(engine().cancel(q, token.id, call).ok()); }, "2"},
      {"clear",
       [&](QueueId q, Token) {
         ASSERT_TRUE(engine().clear(q, state_bit(JobState::leased), call).ok());
       },
       "2"},
      {"confirm and ack",
       [&](QueueId q, Token token) {
         ASSERT_TRUE(engine().confirm(q, token, 0, call).ok());
         EXPECT_EQ(take(q), "") << "a running job holds the slot";
         ASSERT_EQ(harness_.ack(q, token.id, token.generation), Code::ok);
       },
       "2"},
  };
  int round = 0;
  for (const End& end : ends) {
    for (int how = 0; how <= 4; ++how) {
      SCOPED_TRACE(std::string(end.name) + ", " + std::to_string(how));
      const QueueId q = harness_.queue("q" + std::to_string(round++));
      push(q, "1", "g");
      push(q, "2", "g");
      push(q, "3", "g");
      const std::vector<JobView> first = harness_.lease(q, 10, 1'000);
      ASSERT_EQ(first.size(), 1u);
      disturb(how);
      EXPECT_EQ(take(q), "");
      end.run(q, Token{first[0].id, first[0].generation});
      disturb(4 - how);
      EXPECT_EQ(take(q, 10), end.next);
      EXPECT_EQ(take(q, 10), "");
      EXPECT_EQ(harness_.ack(q, first[0].id, first[0].generation), Code::stale);
      EXPECT_EQ(take(q, 10), "");
    }
  }
  harness_.expect_sound();
}

// The worker of a job with one attempt is killed: dead letter and free slot in one.
TEST_P(GateTest, C22_TheLastAttemptFreesTheSlotToo) {
  const QueueId q = harness_.queue("q");
  JobSpec spec;
  spec.max_attempts = 1;
  spec.traits.group = "k";
  harness_.enqueue(q, "1", spec);
  harness_.enqueue(q, "2", spec);
  ASSERT_EQ(harness_.lease(q, 10, 1'000).size(), 1u);
  kill();
  EXPECT_EQ(take(q), "");
  harness_.advance(1'001);
  EXPECT_EQ(take(q), "2");
  const DeadPage dead = engine().dead_list(q, {}).value();
  ASSERT_EQ(dead.jobs.size(), 1u);
  CallOptions call;
  ASSERT_TRUE(engine().dead_replay(q, {dead.jobs[0].id, dead.jobs[0].generation}, call).ok());
  EXPECT_EQ(take(q), "") << "a replayed job waits for its group like any other";
  EXPECT_EQ(settle(q, "2"), Code::ok);
  EXPECT_EQ(take(q), "1");
  harness_.expect_sound();
}

// Case 23: a lowered limit never cuts what runs; no new one until there is room.
TEST_P(GateTest, C23_TheLimitChangesWhileItRuns) {
  const QueueId q = harness_.queue("q");
  configure(q, 3);
  for (const char* job : {"1", "2", "3", "4", "5", "6"}) push(q, job, "g");
  EXPECT_EQ(parked(q), 3u);
  EXPECT_EQ(take(q), "1 2 3");
  configure(q, 1);
  reopen();
  for (const char* job : {"2", "1"}) {
    EXPECT_EQ(settle(q, job), Code::ok);
    EXPECT_EQ(take(q), "");
  }
  EXPECT_EQ(settle(q, "3"), Code::ok);
  EXPECT_EQ(take(q), "4");
  configure(q, 5);
  EXPECT_EQ(take(q), "5 6");
  // The latest job that names a limit of its own sets that of the group.
  for (const char* job : {"7", "8", "9"}) push(q, job, "own", 2);
  kill();
  EXPECT_EQ(take(q), "7 8");
  push(q, "10", "own", 3);
  EXPECT_EQ(take(q), "9");
  harness_.expect_sound();
}

// A limit that jobs have named is that of their group until all of it has gone, and no longer, with
// or without a restart, and whether the gate was still in memory or not.
TEST_P(GateTest, ALimitOfItsOwnLastsAsLongAsTheGroup) {
  for (int how = 0; how <= 4; ++how) {
    SCOPED_TRACE(how);
    const QueueId q = harness_.queue("q" + std::to_string(how));
    push(q, "1", "g", 2);
    push(q, "2", "g", 2);
    push(q, "3", "g");
    EXPECT_EQ(take(q), "1 2");
    EXPECT_EQ(settle(q, "1"), Code::ok);
    EXPECT_EQ(take(q), "3");
    EXPECT_EQ(settle(q, "2"), Code::ok);
    disturb(how);  // the jobs that named it have gone
    push(q, "4", "g");
    push(q, "5", "g");
    disturb(4 - how);
    EXPECT_EQ(take(q), "4");
    EXPECT_EQ(settle(q, "3"), Code::ok);
    EXPECT_EQ(settle(q, "4"), Code::ok);
    EXPECT_EQ(take(q), "5");
    EXPECT_EQ(settle(q, "5"), Code::ok);
    disturb(how);
    push(q, "6", "g");
    push(q, "7", "g");
    disturb(4 - how);
    EXPECT_EQ(take(q), "6");
    EXPECT_EQ(settle(q, "6"), Code::ok);
    EXPECT_EQ(take(q), "7");
    EXPECT_EQ(settle(q, "7"), Code::ok);
    harness_.expect_sound();
  }
}

TEST_P(GateTest, PrioritiesWithinAGroup) {
  const QueueId q = harness_.queue("q");
  push(q, "low", "g", 0, 200);
  push(q, "x", "", 0, 150);
  push(q, "high", "g", 0, 5);
  disturb(2);
  EXPECT_EQ(take(q), "high x");
  EXPECT_EQ(settle(q, "high"), Code::ok);
  EXPECT_EQ(take(q), "low");
}

// A waiting job of a group is cancelled; delayed ones wait for their time first.
TEST_P(GateTest, CancelAndDelay) {
  const QueueId q = harness_.queue("q");
  push(q, "1", "g");
  const JobId second = push(q, "2", "g");
  JobSpec spec;
  spec.traits.group = "g";
  spec.delay_ms = 500;
  harness_.enqueue(q, "late", spec);
  push(q, "3", "g");
  reopen();
  CallOptions call;
  ASSERT_TRUE(engine().cancel(q, second, call).ok());
  EXPECT_EQ(take(q), "1");
  harness_.advance(501);
  EXPECT_EQ(take(q), "");
  EXPECT_EQ(settle(q, "1"), Code::ok);
  EXPECT_EQ(take(q), "3");
  EXPECT_EQ(settle(q, "3"), Code::ok);
  EXPECT_EQ(take(q), "late");
  harness_.expect_sound();
}

// Clear and delete leave nothing of the lines behind, in memory or on the disk, and nothing that a
// later line of the same group could be mistaken for.
TEST_P(GateTest, ClearAndDeleteTakeTheLinesWithThem) {
  const auto entries = [&] {
    reopen();
    checkpoint();
    const Result<VerifyReport> report = engine().verify();
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report.value().problems, 0u) << report.value().first_problem;
    return report.value().entries;
  };
  for (int how = 0; how <= 4; ++how) {
    SCOPED_TRACE(how);
    const QueueId q = harness_.queue("q");
    for (int i = 0; i < 50; ++i) {
      push(q, "old", "g" + std::to_string(i % 5));
      push(q, "old");
    }
    disturb(how);
    EXPECT_EQ(take(q, 3), "old old old");  // two of groups, which go on
    CallOptions call;
    EXPECT_EQ(engine().clear(q, state_bit(JobState::ready), call).value(), 97u);
    EXPECT_EQ(parked(q), 0u);
    for (const char* job : {"1", "2"}) {
      push(q, job, "g0");
      push(q, job + std::string("x"), "g4");
    }
    disturb(4 - how);
    EXPECT_EQ(take(q), "1x") << "the slot of g0 is still held";
    EXPECT_EQ(parked(q), 3u);
    EXPECT_EQ(settle(q, "1x"), Code::ok);
    disturb(how);
    EXPECT_EQ(take(q), "2x");
    harness_.tick();
    EXPECT_EQ(entries(), 2u + 4u);  // waiting, and leased
    ASSERT_TRUE(engine().remove_queue(q, call).ok());
    disturb(how);
    harness_.tick();
    EXPECT_EQ(entries(), 0u);
  }
}

// Many jobs of one group: they leave memory, they cost other jobs nothing, and they come in order.
TEST_P(GateTest, ManyParkedJobsAreOnlyOnTheDisk) {
  const int count = GetParam() == StoreKind::rocks ? scaled(20'000, 1'000'000) : 20'000;
  const QueueId q = harness_.queue("q");
  std::vector<std::string> payloads;
  for (int i = 0; i < count; ++i) payloads.push_back(std::to_string(i));
  for (int first = 0; first < count; first += 1'000) {
    std::vector<JobSpec> specs(1'000);
    for (int i = 0; i < 1'000; ++i) {
      specs[static_cast<size_t>(i)].payload = as_bytes(payloads[static_cast<size_t>(first + i)]);
      specs[static_cast<size_t>(i)].traits.group = "g";
    }
    CallOptions call;
    ASSERT_TRUE(engine().enqueue_many(q, specs, false, call, {}).ok());
  }
  push(q, "other");
  checkpoint();
  EXPECT_LT(engine().stats().resident_bytes, small_budget_bytes);
  EXPECT_EQ(parked(q), static_cast<uint64_t>(count) - 1);
  const uint64_t loaded = engine().stats().residency.loaded[static_cast<size_t>(JobState::ready)];
  EXPECT_EQ(take(q), "0 other");
  EXPECT_LE(engine().stats().residency.loaded[static_cast<size_t>(JobState::ready)], loaded + 64);
  for (int i = 0; i < 300; ++i) {
    if (i == 100) reopen();
    if (i == 200) kill();
    ASSERT_EQ(settle(q, std::to_string(i)), Code::ok);
    ASSERT_EQ(take(q), std::to_string(i + 1));
  }
  EXPECT_EQ(ready(q), static_cast<uint64_t>(count) - 301);
  harness_.expect_sound();
  CallOptions call;
  EXPECT_EQ(engine().clear(q, state_bit(JobState::ready), call).value(),
            static_cast<uint64_t>(count) - 301);
  harness_.tick();
  checkpoint();
  harness_.expect_sound();
}

// A store that moved has the groups, their order among all jobs, and the rate.
TEST_P(GateTest, ExportAndImport) {
  QueueConfig config;
  config.group_limit = 2;
  config.rate = {100, 50, 1'000};
  const QueueId q = harness_.queue("q", config, config_group_limit | config_rate);
  for (const char* job : {"a1", "x1", "a2", "b1", "a3", "x2", "b2", "b3"}) {
    push(q, job, job[0] == 'x' ? "" : std::string_view(job, 1));
  }
  EXPECT_EQ(take(q, 1), "a1");
  EngineHarness copy(options());
  ASSERT_TRUE(copy.open().ok());
  CallOptions call;
  ExportVisitor visitor;
  QueueId there = 0;
  visitor.on_store = [&](const StoreImage& image) {
    return copy.engine().import_begin(image.next_job_id, image.next_generation, call);
  };
  visitor.on_queue = [&](const QueueRow& row) -> Status {
    WQ_TRY_SET(there, copy.engine().import_queue(row, call));
    return {};
  };
  visitor.on_job = [&](const JobImage& job) {
    return copy.engine().import_jobs(there, {&job, 1}, call);
  };
  ASSERT_TRUE(engine().export_store({}, visitor).ok());
  ASSERT_TRUE(copy.engine().import_end(call).ok());
  ASSERT_TRUE(copy.kill_and_open().ok());
  std::string order;
  for (int i = 0; i < 10; ++i) {
    for (const JobView& job : copy.lease(there, 100)) order += payload_of(job) + " ";
  }
  EXPECT_EQ(order, "a1 x1 a2 b1 x2 b2 ");
  EXPECT_EQ(copy.engine().queue_stats(there).value().parked, 2u);
  EXPECT_EQ(copy.engine().config(there).value().rate, config.rate);
  copy.expect_sound();
}

// ---- against a list

struct Naive {
  struct Item {
    std::string payload;
    std::string group;
    uint8_t priority = default_priority;
    std::string key;  // a rate key
    uint32_t cost = 1;
  };
  static constexpr RateLimit key_rate{10, 3, 1'000};
  static constexpr int64_t interval_ms = 100;
  static constexpr Throttle throttle{2, 500, 300};

  std::list<Item> ready;  // in the order of the queue, whatever the priority
  std::map<std::string, Item> held;
  uint32_t limit = 1;
  std::map<std::string, int64_t> tat_ms;  // by rate key
  std::map<std::string, int64_t> cool_until_ms;
  std::map<std::string, std::vector<int64_t>> failed_ms;  // since the last success or cool-down
  int64_t now_ms = 0;

  static bool may_begin(const Item& item, int64_t tat_ms, int64_t now_ms) {
    const int64_t needs = std::min(item.cost, key_rate.burst);
    return std::max(tat_ms, now_ms) + needs * interval_ms <= now_ms + key_rate.burst * interval_ms;
  }
  static void charge(const Item& item, std::map<std::string, int64_t>& tat_ms, int64_t now_ms) {
    if (item.key.empty()) return;
    int64_t& tat = tat_ms[item.key];
    tat = std::max(tat, now_ms) + item.cost * interval_ms;
  }

  void note_exception(const Item& item) {
    if (item.key.empty() || now_ms < cool_until_ms[item.key]) return;
    std::vector<int64_t>& all = failed_ms[item.key];
    all.push_back(now_ms);
    const size_t allowed = throttle.count - 1;
    if (all.size() <= allowed || all[all.size() - 1 - allowed] <= now_ms - throttle.window_ms)
      return;
    all.clear();
    cool_until_ms[item.key] = now_ms + throttle.cool_ms;
  }

  // What a lease would take, in order.
  std::vector<std::string> next() const {
    std::map<std::string, uint32_t> running;
    for (const auto& [payload, item] : held) ++running[item.group];
    std::vector<const Item*> order;
    for (const Item& item : ready) order.push_back(&item);
    std::stable_sort(order.begin(), order.end(),
                     [](const Item* a, const Item* b) { return a->priority < b->priority; });
    std::map<std::string, int64_t> tats = tat_ms;
    std::set<std::string> shut;
    for (const auto& [key, until_ms] : cool_until_ms) {
      if (until_ms > now_ms) shut.insert(key);
    }
    std::vector<std::string> out;
    for (const Item* item : order) {
      if (shut.contains(item->key)) continue;
      if (!item->key.empty() && !may_begin(*item, tats[item->key], now_ms)) {
        shut.insert(item->key);
        continue;
      }
      charge(*item, tats, now_ms);
      if (!item->group.empty() && running[item->group] >= limit) continue;
      ++running[item->group];
      out.push_back(item->payload);
    }
    return out;
  }
  Item remove_ready(const std::string& payload) {
    const auto found = std::find_if(ready.begin(), ready.end(),
                                    [&](const Item& item) { return item.payload == payload; });
    Item item = *found;
    ready.erase(found);
    return item;
  }
};

// The same on the store and on the list, one operation at a time.
class GateRandomTest : public GateTest {
 protected:
  void push_one(QueueId q, const std::string& payload) {
    const uint64_t group = prng_.below(8);
    Naive::Item item{payload, group < 2 || group > 5 ? "" : "g" + std::to_string(group),
                     static_cast<uint8_t>(prng_.below(5) == 0 ? 50 : 100), "", 1};
    JobSpec spec;
    if (group > 5) {  // the same keys as those of groups
      item.key = "g" + std::to_string(group - 2);
      item.cost = 1 + static_cast<uint32_t>(prng_.below(4));
      spec.traits.rate_key = item.key;
      spec.traits.rate_cost = item.cost;
    }
    ids_[payload] = push(q, payload, item.group, 0, item.priority, spec);
    naive_.ready.push_back(item);
  }
  void lease_some(QueueId q) {
    naive_.now_ms = harness_.clock().wall_ms();
    const std::vector<std::string> expected = naive_.next();
    const auto jobs = harness_.lease(q, static_cast<uint32_t>(1 + prng_.below(6)));
    ASSERT_EQ(jobs.empty(), expected.empty());
    for (size_t n = 0; n < jobs.size(); ++n) {
      ASSERT_EQ(payload_of(jobs[n]), expected[n]);
      held_[expected[n]] = Token{jobs[n].id, jobs[n].generation};
      naive_.held[expected[n]] = naive_.remove_ready(expected[n]);
      Naive::charge(naive_.held[expected[n]], naive_.tat_ms, naive_.now_ms);
    }
  }
  void settle_one(QueueId q) {
    if (naive_.held.empty()) return;
    auto found = naive_.held.begin();
    std::advance(found, static_cast<long>(prng_.below(naive_.held.size())));
    const Naive::Item item = found->second;
    naive_.held.erase(found);
    const uint64_t how = prng_.below(10);
    SettleItem settle{held_[item.payload].id, held_[item.payload].generation};
    if (how >= 6) settle.kind = how == 9 ? SettleKind::release : SettleKind::nack;
    if (how == 8) settle.flags = settle_front;
    ASSERT_EQ(harness_.settle(q, settle), Code::ok);
    naive_.now_ms = harness_.clock().wall_ms();
    if (settle.kind == SettleKind::ack) naive_.failed_ms.erase(item.key);
    if (settle.kind == SettleKind::nack) naive_.note_exception(item);
    if (how == 8) naive_.ready.push_front(item);
    if (how == 6 || how == 7 || how == 9) naive_.ready.push_back(item);
  }
  void cancel_one(QueueId q) {
    if (naive_.ready.empty()) return;
    auto found = naive_.ready.begin();
    std::advance(found, static_cast<long>(prng_.below(naive_.ready.size())));
    CallOptions call;
    ASSERT_TRUE(engine().cancel(q, ids_[found->payload], call).ok());
    naive_.ready.erase(found);
  }
  void reprioritise_one(QueueId q) {
    if (naive_.ready.empty()) return;
    auto found = naive_.ready.begin();
    std::advance(found, static_cast<long>(prng_.below(naive_.ready.size())));
    Naive::Item item = *found;
    item.priority = item.priority == 50 ? 100 : 50;
    CallOptions call;
    ASSERT_TRUE(engine().reprioritise(q, ids_[item.payload], item.priority, call).ok());
    naive_.ready.erase(found);
    naive_.ready.push_back(item);
  }
  // One comes in for others: the first of those of the least urgent priority.
  void push_into_a_full_queue(QueueId q, const std::string& payload) {
    const uint64_t drops = std::min<uint64_t>(naive_.ready.size(), prng_.below(8));
    QueueConfig config;
    config.max_depth = naive_.ready.size() + 1 - drops;
    config.full_policy = FullPolicy::drop_oldest;
    CallOptions call;
    ASSERT_TRUE(engine().configure(q, config, config_max_depth | config_full_policy, call).ok());
    for (uint64_t i = 0; i < drops; ++i) {
      naive_.ready.erase(std::max_element(
          naive_.ready.begin(), naive_.ready.end(),
          [](const Naive::Item& a, const Naive::Item& b) { return a.priority < b.priority; }));
    }
    push_one(q, payload);
    config.max_depth = 0;
    ASSERT_TRUE(engine().configure(q, config, config_max_depth, call).ok());
  }
  void clear_ready(QueueId q) {
    CallOptions call;
    ASSERT_EQ(engine().clear(q, state_bit(JobState::ready), call).value(), naive_.ready.size());
    naive_.ready.clear();
  }
  void change_limit(QueueId q) {
    naive_.limit = 1 + static_cast<uint32_t>(prng_.below(3));
    configure(q, naive_.limit);
  }
  // A key is shut or open as a whole, and open while its first job is only in the store.
  void compare(QueueId q) {
    naive_.now_ms = harness_.clock().wall_ms();
    const auto is_of_key = [](const Naive::Item& item) { return !item.key.empty(); };
    const auto keyed = std::count_if(naive_.ready.begin(), naive_.ready.end(), is_of_key);
    Naive groups = naive_;
    groups.ready.remove_if(is_of_key);
    const uint64_t least = groups.ready.size() - groups.next().size();
    ASSERT_GE(parked(q), least);
    ASSERT_LE(parked(q), least + static_cast<uint64_t>(keyed));
    harness_.expect_sound();
  }

  Prng prng_{test_seed()};
  Naive naive_;
  std::map<std::string, JobId> ids_;
};

TEST_P(GateRandomTest, C23_RandomOperationsGiveWhatAListGives) {
  ASSERT_TRUE(harness_.close().ok());
  harness_.options().engine.lane_window = 16;
  harness_.options().engine.memory_budget_bytes = 1;  // everything that may leave memory does
  ASSERT_TRUE(harness_.open().ok());
  QueueConfig config;
  config.max_retries = 1'000;
  config.lease_ms = 24 * 3'600'000;
  config.key_rate = Naive::key_rate;
  config.throttle = Naive::throttle;
  const QueueId q = harness_.queue(
      "q", config, config_max_retries | config_lease_ms | config_key_rate | config_throttle);
  const int rounds = GetParam() == StoreKind::rocks ? scaled(500, 10'000) : scaled(2'000, 50'000);
  for (int i = 0; i < rounds && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const uint64_t what = prng_.below(100);
    if (what < 38) {
      push_one(q, std::to_string(i));
    } else if (what < 40) {
      push_into_a_full_queue(q, std::to_string(i));
    } else if (what < 58) {
      lease_some(q);
    } else if (what < 60) {
      harness_.advance(static_cast<int64_t>(prng_.below(300)));
    } else if (what < 82) {
      settle_one(q);
    } else if (what < 84) {
      reprioritise_one(q);
    } else if (what < 87) {
      cancel_one(q);
    } else if (what == 87) {
      change_limit(q);
    } else if (what == 88) {
      if (prng_.below(4) == 0) clear_ready(q);
    } else if (what < 98) {
      disturb(static_cast<int>(what - 89) / 2);
    } else {
      compare(q);
    }
    ASSERT_EQ(ready(q), naive_.ready.size());
  }
  compare(q);
}

INSTANTIATE_TEST_SUITE_P(Stores, GateRandomTest,
                         testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

INSTANTIATE_TEST_SUITE_P(Stores, GateTest, testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

}  // namespace
}  // namespace wq
