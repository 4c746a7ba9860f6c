// Tenants: nobody is starved, turns go on over checkpoints, closes and kills, with jobs that are
// only on the disk, and a lease of many is the same as many leases of one; random operations
// against a list.
#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <set>
#include <tuple>

#include "quantity.h"
#include "support/engine_harness.h"
#include "test_seed.h"

namespace wq {
namespace {

struct Spec {
  std::string tenant = {};
  std::string group = {};
  uint8_t priority = default_priority;
  std::string rate_key = {};
};

class TenantTest : public testing::TestWithParam<StoreKind> {
 protected:
  TenantTest() : harness_(options()) { EXPECT_TRUE(harness_.open().ok()); }

  static HarnessOptions options() {
    HarnessOptions options;
    options.store = GetParam();
    options.engine.memory_budget_bytes = 1u << 20;
    options.engine.segment_bytes = 1u << 20;  // what a kill has to copy
    options.engine.spare_segments = 0;
    return options;
  }
  Engine& engine() { return harness_.engine(); }
  JobId push(QueueId q, std::string_view payload, const Spec& what) {
    JobSpec spec;
    spec.payload = as_bytes(payload);
    spec.priority = what.priority;
    spec.traits.tenant = what.tenant;
    spec.traits.group = what.group;
    spec.traits.rate_key = what.rate_key;
    CallOptions call;
    call.durability = static_cast<uint32_t>(Durability::process);  // survives the kills
    JobId id = 0;
    const Status status = engine().enqueue(q, spec, call, id);
    EXPECT_TRUE(status.ok()) << status.message();
    return id;
  }
  void push_many(QueueId q, const std::string& tenant, size_t count) {
    std::vector<std::string> payloads;
    for (size_t i = 0; i < count; ++i) payloads.push_back(tenant + std::to_string(i));
    for (size_t first = 0; first < count; first += 1'000) {
      std::vector<JobSpec> specs(std::min<size_t>(1'000, count - first));
      for (size_t i = 0; i < specs.size(); ++i) {
        specs[i].payload = as_bytes(payloads[first + i]);
        specs[i].traits.tenant = tenant;
      }
      CallOptions call;
      ASSERT_TRUE(engine().enqueue_many(q, specs, false, call, {}).ok());
    }
  }
  // Leases up to `max_jobs`. One call ends where a job comes that is only in the store.
  std::string take(QueueId q, uint32_t max_jobs = 100, uint32_t at_once = 100) {
    std::string out;
    while (max_jobs > 0) {
      const std::vector<JobView> jobs = harness_.lease(q, std::min(max_jobs, at_once));
      if (jobs.empty()) break;
      for (const JobView& job : jobs) {
        out += (out.empty() ? "" : " ") + payload_of(job);
        held_[payload_of(job)] = Token{job.id, job.generation};
        --max_jobs;
      }
    }
    return out;
  }
  Code settle(QueueId q, const std::string& payload, SettleKind kind = SettleKind::ack,
              uint8_t flags = 0) {
    SettleItem item{held_.at(payload).id, held_.at(payload).generation, kind};
    item.flags = flags;
    return harness_.settle(q, item);
  }
  QueueStats stats(QueueId q) { return engine().queue_stats(q).value(); }
  uint64_t ready(QueueId q) { return stats(q).counts[static_cast<size_t>(JobState::ready)]; }
  void checkpoint() { ASSERT_TRUE(engine().checkpoint().ok()); }
  void reopen() {
    const Status closed = harness_.close();
    ASSERT_TRUE(closed.ok()) << closed.message();
    ASSERT_TRUE(harness_.open().ok());
  }
  // Every way in which a store may go on.
  void disturb(int how) {
    if (how == 1 || how == 4) checkpoint();
    if (how == 2) reopen();
    if (how >= 3) {
      const Status opened = harness_.kill_and_open();
      ASSERT_TRUE(opened.ok()) << opened.message();
    }
  }

  EngineHarness harness_;
  std::map<std::string, Token> held_;
};

TEST_P(TenantTest, LimitsNameTheField) {
  const QueueId q = harness_.queue("q");
  JobSpec spec;
  const std::string tenant(key_bytes_max + 1, 't');
  spec.traits.tenant = tenant;
  CallOptions call;
  JobId id = 0;
  const Status status = engine().enqueue(q, spec, call, id);
  EXPECT_EQ(status.code(), Code::too_large);
  EXPECT_TRUE(status.message().starts_with("tenant:")) << status.message();
  push(q, "longest", {std::string(key_bytes_max, '\xff')});
  push(q, "any bytes", {std::string("\0\n", 2)});
  reopen();
  EXPECT_EQ(take(q), "longest any bytes");
}

// The one has 100,000 jobs when the other comes with ten.
TEST_P(TenantTest, NobodyIsStarved) {
  const size_t many = GetParam() == StoreKind::rocks ? 100'000u : 20'000u;
  const QueueId q = harness_.queue("q");
  push_many(q, "A", static_cast<size_t>(scaled(static_cast<int>(many), 1'000'000)));
  push_many(q, "B", 10);
  for (int how = 0; how <= 4; ++how) {
    disturb(how);
    EXPECT_EQ(take(q, 4, how % 2 == 0 ? 1 : 100),
              "A" + std::to_string(2 * how) + " B" + std::to_string(2 * how) + " A" +
                  std::to_string(2 * how + 1) + " B" + std::to_string(2 * how + 1));
  }
  checkpoint();
  EXPECT_LT(engine().stats().resident_bytes, 1u << 20);
  push_many(q, "C", 1);
  EXPECT_EQ(take(q, 3), "A10 C0 A11");
  harness_.expect_sound();
  CallOptions call;
  ASSERT_TRUE(engine().clear(q, state_bit(JobState::ready), call).ok());
  EXPECT_EQ(take(q), "");
  push_many(q, "A", 2);
  push_many(q, "B", 1);
  disturb(4);
  EXPECT_EQ(take(q), "A0 B0 A1");
  harness_.expect_sound();
}

// Many tenants, each with jobs that are only on the disk: one of each in turn.
TEST_P(TenantTest, ManyTenants) {
  const auto count = static_cast<size_t>(scaled(1'000, 20'000));
  const QueueId q = harness_.queue("q");
  std::vector<std::string> tenants;
  for (size_t i = 0; i < count; ++i) tenants.push_back("tenant" + std::to_string(i));
  for (int round = 0; round < 4; ++round) {
    for (size_t first = 0; first < count; first += 1'000) {
      std::vector<JobSpec> specs(1'000);
      for (size_t i = 0; i < specs.size(); ++i) {
        specs[i].payload = as_bytes(tenants[first + i]);
        specs[i].traits.tenant = tenants[first + i];
      }
      CallOptions call;
      ASSERT_TRUE(engine().enqueue_many(q, specs, false, call, {}).ok());
    }
  }
  checkpoint();
  reopen();
  CallOptions call;
  for (int round = 0; round < 4; ++round) {
    for (size_t i = 0; i < count;) {
      const auto left = static_cast<uint32_t>(count - i);
      const std::vector<JobView> jobs = harness_.lease(q, std::min(1'000u, left));
      ASSERT_FALSE(jobs.empty());
      for (const JobView& job : jobs) ASSERT_EQ(payload_of(job), tenants[i++]);
    }
    ASSERT_TRUE(engine().clear(q, state_bit(JobState::leased), call).ok());
    if (round == 0) harness_.expect_sound();
    if (round == 1) checkpoint();
    if (round == 2) reopen();
  }
  harness_.expect_sound();
}

// Each process takes one job: the turn is where the one before left it.
TEST_P(TenantTest, TheTurnIsStored) {
  for (int how = 0; how <= 4; ++how) {
    SCOPED_TRACE(how);
    const QueueId q = harness_.queue("q" + std::to_string(how));
    for (const char* tenant : {"c", "", "a", "b"}) {
      for (int i = 0; i < 3; ++i) push(q, tenant + std::to_string(i), {tenant});
    }
    std::string order;
    for (int i = 0; i < 12; ++i) {
      disturb(how);
      order += take(q, 1) + " ";
    }
    EXPECT_EQ(order, "c0 0 a0 b0 c1 1 a1 b1 c2 2 a2 b2 ");
    harness_.expect_sound();
  }
}

// The tenant's only jobs are of a rate key: it has its turn by the line of that alone.
TEST_P(TenantTest, TheTurnOfARateKeysTenantIsStored) {
  for (int how = 0; how <= 4; ++how) {
    SCOPED_TRACE(how);
    const QueueId q = harness_.queue("q" + std::to_string(how));
    for (const char* job : {"0", "1"}) push(q, job, {});
    push(q, "a0", {"a", "", default_priority, "k"});
    for (const char* job : {"b0", "b1"}) push(q, job, {"b"});
    std::string order;
    for (int i = 0; i < 5; ++i) {
      disturb(how);
      order += take(q, 1) + " ";
    }
    EXPECT_EQ(order, "0 a0 b0 1 b1 ");
    harness_.expect_sound();
  }
}

// Priorities come first; a group is one line in the order of the queue, which takes the turn of the
// tenant of its first job, and none while it is full.
TEST_P(TenantTest, PrioritiesAndGroups) {
  for (int how = 0; how <= 4; ++how) {
    SCOPED_TRACE(how);
    const QueueId q = harness_.queue("q" + std::to_string(how));
    push(q, "low", {"z", "", 200});
    push(q, "a1", {"a", "g"});
    push(q, "a2", {"a", "g"});
    push(q, "b1", {"b", "g"});
    push(q, "a3", {"a"});
    push(q, "b2", {"b"});
    push(q, "b3", {"b"});
    push(q, "first", {"z", "", 5});
    disturb(how);
    EXPECT_EQ(take(q, 4), "first a1 b2 a3");
    EXPECT_EQ(stats(q).parked, 2u);
    disturb(how);
    EXPECT_EQ(settle(q, "a1"), Code::ok);
    disturb(how);
    EXPECT_EQ(take(q, 2), "b3 a2");
    EXPECT_EQ(settle(q, "a2"), Code::ok);
    disturb(how);
    EXPECT_EQ(take(q, 4), "b1 low");
    harness_.expect_sound();
  }
}

// Delayed, nacked and replayed jobs wait in the line of their tenant like any other.
TEST_P(TenantTest, EveryRoadBackLeadsToTheLine) {
  const QueueId q = harness_.queue("q");
  push_many(q, "A", 20);
  JobSpec spec;
  spec.traits.tenant = "B";
  spec.delay_ms = 500;
  harness_.enqueue(q, "late", spec);
  spec.delay_ms = 0;
  spec.max_attempts = 1;
  harness_.enqueue(q, "dead", spec);
  EXPECT_EQ(take(q, 3), "A0 dead A1");
  EXPECT_EQ(settle(q, "dead", SettleKind::fail), Code::ok);
  EXPECT_EQ(settle(q, "A0", SettleKind::nack, settle_front), Code::ok);
  harness_.advance(501);
  disturb(4);
  EXPECT_EQ(take(q, 3), "A0 late A2");
  const DeadPage dead = engine().dead_list(q, {}).value();
  ASSERT_EQ(dead.jobs.size(), 1u);
  CallOptions call;
  ASSERT_TRUE(engine().dead_replay(q, {dead.jobs[0].id, dead.jobs[0].generation}, call).ok());
  disturb(3);
  EXPECT_EQ(take(q, 2), "A3 dead");
  harness_.expect_sound();
}

// A queue that is full drops the jobs of who fills it.
TEST_P(TenantTest, DropOldestTakesFromTheTenantWithTheMost) {
  QueueConfig config;
  config.max_depth = 40;
  config.full_policy = FullPolicy::drop_oldest;
  const QueueId q = harness_.queue("q", config, config_max_depth | config_full_policy);
  for (int how = 0; how <= 4; ++how) {
    SCOPED_TRACE(how);
    push(q, "quiet" + std::to_string(how), {"quiet"});
    for (int i = 0; i < 100; ++i) push(q, "noisy" + std::to_string(i), {"noisy"});
    disturb(how);
    push(q, "group" + std::to_string(how), {"third", "g"});
    EXPECT_EQ(ready(q), 40u);
  }
  EXPECT_EQ(stats(q).totals.dropped, 5u * 102 - 40);
  const std::string left = take(q, 40);
  for (int how = 0; how <= 4; ++how) {
    EXPECT_NE(left.find("quiet" + std::to_string(how)), std::string::npos) << left;
  }
  EXPECT_NE(left.find("group0"), std::string::npos) << "parked ones are of their tenant too";
  EXPECT_EQ(stats(q).parked, 4u);
  harness_.expect_sound();
}

// The jobs that go before it: what a lease of so many would take.
TEST_P(TenantTest, ExplainCountsTurns) {
  const QueueId q = harness_.queue("q");
  push_many(q, "A", 50);
  push_many(q, "B", 3);
  const JobId last = push(q, "last", {"B"});
  for (const int how : {0, 4}) {
    disturb(how);
    const JobExplanation why = engine().explain_job(q, last).value();
    EXPECT_EQ(why.ahead, 7u) << why.text;
    EXPECT_TRUE(why.ahead_exact);
    EXPECT_NE(why.text.find("served by turns"), std::string::npos) << why.text;
  }
  EXPECT_EQ(take(q, 8).substr(15), "B2 A3 last");
}

TEST_P(TenantTest, TheOldestOfAllTenantsIsTold) {
  const QueueId q = harness_.queue("q");
  push(q, "1", {"b"});
  harness_.advance(100);
  push(q, "2", {"a"});
  harness_.advance(10);
  push(q, "3", {});
  for (const int how : {0, 2, 4}) {
    disturb(how);
    EXPECT_EQ(stats(q).oldest_ready_age_ms, 110);
  }
  EXPECT_EQ(take(q, 1), "1");
  EXPECT_EQ(stats(q).oldest_ready_age_ms, 10);
}

// A tenant that has but a job that was put to the front says nothing of the others.
TEST_P(TenantTest, TheOldestIsToldBesideOnesPutToTheFront) {
  const QueueId q = harness_.queue("q");
  for (const char* job : {"b1", "b2", "b3"}) push(q, job, {"b"});
  push(q, "a1", {"a"});
  EXPECT_EQ(take(q, 2), "b1 a1");
  harness_.advance(100);
  EXPECT_EQ(settle(q, "a1", SettleKind::nack, settle_front), Code::ok);
  for (const int how : {0, 2, 4}) {
    disturb(how);
    EXPECT_EQ(stats(q).oldest_ready_age_ms, 100);
  }
}

// The turns begin with a job that comes behind one without a tenant in the line of a rate key.
TEST_P(TenantTest, ALeaseOfManyEndsWhereTurnsBegin) {
  for (const uint32_t at_once : {1u, 100u}) {
    const QueueId q = harness_.queue("q" + std::to_string(at_once));
    push(q, "0", {"", "", default_priority, "k"});
    for (const char* job : {"a0", "a1"}) push(q, job, {"a", "", default_priority, "k"});
    for (const char* job : {"1", "2"}) push(q, job, {});
    EXPECT_EQ(take(q, 5, at_once), "0 1 a0 2 a1");
    harness_.expect_sound();
  }
}

// Reading the first job of a group gives its tenant a turn. That is no change of the group, but the
// row of the group names the tenant.
TEST_P(TenantTest, ATurnThatCameWithAReadOutlivesAReopen) {
  QueueConfig config;
  config.group_limit = 2;
  const QueueId q = harness_.queue("q", config, config_group_limit);
  push(q, "A", {.tenant = "A", .group = "g"});
  push(q, "B", {.tenant = "B", .group = "g"});
  for (const char* payload : {"1", "2", "3"}) push(q, payload, {});
  EXPECT_EQ(take(q, 1), "A");
  reopen();  // B is only on the disk now
  ASSERT_EQ(settle(q, "A", SettleKind::nack, settle_front), Code::ok);
  EXPECT_EQ(take(q, 2, 1), "1 A");
  checkpoint();
  EXPECT_EQ(take(q, 1), "2");  // B was read, and is next
  reopen();
  EXPECT_EQ(take(q, 1), "B");
  harness_.expect_sound();
}

// The first record after the checkpoint is a lease. When it was made, the first job of the group
// was read, and its tenant had a turn; so it has in a replay.
TEST_P(TenantTest, TheFirstLeaseOfAReplayKnowsAllTurns) {
  ASSERT_TRUE(harness_.close().ok());
  harness_.options().engine.lane_window = 4;
  harness_.options().engine.memory_budget_bytes = 1;  // everything that may leave memory does
  ASSERT_TRUE(harness_.open().ok());
  const QueueId q = harness_.queue("q");
  push(q, "g0", {"S", "g"});
  push(q, "g1", {"T", "g"});
  push(q, "g2", {"U", "g"});
  for (int i = 0; i < 10; ++i) push(q, "a" + std::to_string(i), {"A"});
  EXPECT_EQ(take(q, 1), "g0");
  checkpoint();
  ASSERT_EQ(settle(q, "g0"), Code::ok);  // the group has a slot for g1, which is on the disk only
  checkpoint();
  EXPECT_EQ(take(q, 1), "a0");
  ASSERT_TRUE(harness_.kill_and_open().ok());
  EXPECT_EQ(take(q, 2), "g1 a1");
  harness_.expect_sound();
}

// The jobs without a tenant wait since the beginning: first one of their own, and when that is gone
// the one in the group, of which nobody knew that it is theirs before it was read.
TEST_P(TenantTest, ATurnIsKeptWhileALineIsOnTheDisk) {
  ASSERT_TRUE(harness_.close().ok());
  harness_.options().engine.lane_window = 4;
  harness_.options().engine.memory_budget_bytes = 1;  // everything that may leave memory does
  ASSERT_TRUE(harness_.open().ok());
  QueueConfig config;
  config.group_limit = 2;
  for (const bool read_ahead : {false, true}) {
    SCOPED_TRACE(read_ahead);
    const QueueId q = harness_.queue(read_ahead ? "read" : "unread", config, config_group_limit);
    push(q, "a0", {"A"});
    push(q, "g0", {"B", "g"});
    const JobId gone = push(q, "gone", {});
    for (int i = 1; i <= 8; ++i) push(q, "g" + std::to_string(i), {"", "g"});
    checkpoint();
    const JobId between = gone + 1;  // all but the last of the group: the page of the line
    EXPECT_EQ(take(q, 2), "a0 g0");
    for (JobId id = between; id < between + 7; ++id) {
      CallOptions call;
      ASSERT_TRUE(engine().cancel(q, id, call).ok());
    }
    checkpoint();
    CallOptions call;
    ASSERT_TRUE(engine().cancel(q, gone, call).ok());
    push(q, "a1", {"A"});
    harness_.expect_sound();
    if (read_ahead) {  // which is no record
      checkpoint();
      harness_.tick();
      reopen();
    }
    EXPECT_EQ(take(q, 2), "g8 a1");
    harness_.expect_sound();
  }
}

// The second job of the group is another tenant's, and was left to the disk: the turn is known all
// the same, and the many jobs of the tenant before it are no reason to wait.
TEST_P(TenantTest, TheTurnOfAJobOfAGroupIsKnownBeforeItIsRead) {
  ASSERT_TRUE(harness_.close().ok());
  harness_.options().engine.lane_window = 16;
  harness_.options().engine.memory_budget_bytes = 1;  // everything that may leave memory does
  ASSERT_TRUE(harness_.open().ok());
  for (int how = 0; how <= 4; ++how) {
    const QueueId q = harness_.queue("q" + std::to_string(how));
    push(q, "g0", {"S", "g"});
    for (int i = 0; i < 10; ++i) push(q, "s" + std::to_string(i), {"S"});
    for (int i = 1; i < 4; ++i) push(q, "g" + std::to_string(i), {i == 3 ? "" : "T", "g"});
    for (int i = 0; i < 10; ++i) push(q, "o" + std::to_string(i), {"O"});
    checkpoint();
    EXPECT_EQ(take(q, 1), "g0");
    disturb(how);
    EXPECT_EQ(settle(q, "g0"), Code::ok);  // the group has a slot for g1, of T
    EXPECT_EQ(take(q, 3), "o0 s0 g1");
    disturb(how);
    EXPECT_EQ(settle(q, "g1"), Code::ok);
    EXPECT_EQ(take(q, 4), "o1 s1 g2 o2");
    disturb(how);
    EXPECT_EQ(settle(q, "g2"), Code::ok);
    EXPECT_EQ(take(q, 3), "s2 o3 g3");
    harness_.expect_sound();
  }
}

// ---- against a list

// One list of jobs, and of each priority the tenants that have something to give, in their order.
struct Naive {
  struct Item {
    std::string payload;
    Spec spec;
  };
  std::list<Item> ready;  // in the order of the queue, whatever the priority
  std::map<std::string, Item> held;
  std::map<uint8_t, std::list<std::string>> rings;
  // Priority, a tenant that waits for its turn, another: that has had one since.
  std::set<std::tuple<uint8_t, std::string, std::string>> passed;

  // The first job that the tenant may have leased; null: none.
  const Item* first_of(uint8_t priority, const std::string& tenant) const {
    std::set<std::string> met;  // groups that are full, or whose first job was seen
    for (const auto& [payload, item] : held) met.insert(item.spec.group);
    for (const Item& item : ready) {
      if (item.spec.priority != priority) continue;
      const bool blocked = !item.spec.group.empty() && !met.insert(item.spec.group).second;
      if (!blocked && item.spec.tenant == tenant) return &item;
    }
    return nullptr;
  }
  // After each single change.
  void settle() {
    for (const uint8_t priority : {uint8_t{50}, uint8_t{100}}) {
      std::list<std::string>& ring = rings[priority];
      ring.remove_if([&](const std::string& tenant) { return !first_of(priority, tenant); });
      for (const char* tenant : {"", "t0", "t1", "t2", "t3", "t4"}) {
        const bool there = std::find(ring.begin(), ring.end(), tenant) != ring.end();
        if (!there && first_of(priority, tenant)) ring.emplace_back(tenant);
      }
    }
    std::erase_if(passed, [&](const auto& entry) {
      return !first_of(std::get<0>(entry), std::get<1>(entry));
    });
  }
  // Another one has waited for a job of this tenant already.
  bool has_had_its_turn(uint8_t priority, const std::string& tenant) const {
    return std::any_of(passed.begin(), passed.end(), [&](const auto& entry) {
      return std::get<0>(entry) == priority && std::get<2>(entry) == tenant;
    });
  }
  const Item* next() const {
    for (const auto& [priority, ring] : rings) {
      if (!ring.empty()) return first_of(priority, ring.front());
    }
    return nullptr;
  }
  // Whether it is the first job of its line, a group's or a tenant's, and of the most urgent ones.
  bool may_be_next(const std::string& payload) const {
    const Item* expected = next();
    std::set<std::pair<std::string, std::string>> met;  // lines: a group, or a tenant without one
    for (const auto& [held_payload, item] : held) met.emplace(item.spec.group, "");
    for (const Item& item : ready) {
      if (!expected || item.spec.priority != expected->spec.priority) continue;
      const std::string tenant = item.spec.group.empty() ? "of " + item.spec.tenant : "";
      if (met.emplace(item.spec.group, tenant).second && item.payload == payload) return true;
    }
    return false;
  }
  const Item& find(const std::string& payload) const {
    return *std::find_if(ready.begin(), ready.end(),
                         [&](const Item& item) { return item.payload == payload; });
  }
  Item take_ready(const std::string& payload) {
    const auto found = std::find_if(ready.begin(), ready.end(),
                                    [&](const Item& item) { return item.payload == payload; });
    Item item = *found;
    ready.erase(found);
    return item;
  }
  void lease(const std::string& payload) {
    const Item item = take_ready(payload);
    std::list<std::string>& ring = rings[item.spec.priority];
    const auto own = std::find(ring.begin(), ring.end(), item.spec.tenant);
    for (const std::string& other : ring) {
      if (other != *own) passed.emplace(item.spec.priority, other, *own);
    }
    std::erase_if(passed, [&](const auto& entry) {
      return std::get<0>(entry) == item.spec.priority && std::get<1>(entry) == *own;
    });
    ring.splice(ring.end(), ring, own);
    settle();
    held[payload] = item;
    settle();
  }
};

class TenantRandomTest : public TenantTest {
 protected:
  void push_one(QueueId q, const std::string& payload) {
    const uint64_t tenant = prng_.below(6);
    const uint64_t group = prng_.below(6);
    const Spec spec{tenant == 5 ? "" : "t" + std::to_string(tenant),
                    group > 2 ? "" : "g" + std::to_string(group),
                    static_cast<uint8_t>(prng_.below(5) == 0 ? 50 : 100)};
    ids_[payload] = push(q, payload, spec);
    naive_.ready.push_back({payload, spec});
    naive_.settle();
  }
  void lease_some(QueueId q) {
    const auto jobs = harness_.lease(q, static_cast<uint32_t>(1 + prng_.below(6)));
    ASSERT_EQ(jobs.empty(), naive_.next() == nullptr);
    for (const JobView& job : jobs) {
      ASSERT_NE(naive_.next(), nullptr);
      if (cold_) {
        ASSERT_TRUE(naive_.may_be_next(payload_of(job))) << payload_of(job);
        const Spec& spec = naive_.find(payload_of(job)).spec;
        ASSERT_FALSE(naive_.has_had_its_turn(spec.priority, spec.tenant)) << payload_of(job);
      } else {
        ASSERT_EQ(payload_of(job), naive_.next()->payload);
      }
      held_[payload_of(job)] = Token{job.id, job.generation};
      naive_.lease(payload_of(job));
    }
  }
  void settle_one(QueueId q) {
    if (naive_.held.empty()) return;
    auto found = naive_.held.begin();
    std::advance(found, static_cast<long>(prng_.below(naive_.held.size())));
    const Naive::Item item = found->second;
    naive_.held.erase(found);
    naive_.settle();
    const uint64_t how = prng_.below(10);
    const SettleKind kind = how < 6    ? SettleKind::ack
                            : how == 9 ? SettleKind::release
                                       : SettleKind::nack;
    ASSERT_EQ(settle(q, item.payload, kind, how == 8 ? settle_front : 0), Code::ok);
    if (how == 8) naive_.ready.push_front(item);
    if (how == 6 || how == 7 || how == 9) naive_.ready.push_back(item);
    naive_.settle();
  }
  void change_one(QueueId q, bool cancel) {
    if (naive_.ready.empty()) return;
    auto found = naive_.ready.begin();
    std::advance(found, static_cast<long>(prng_.below(naive_.ready.size())));
    Naive::Item item = *found;
    CallOptions call;
    naive_.ready.erase(found);
    naive_.settle();
    if (cancel) {
      ASSERT_TRUE(engine().cancel(q, ids_[item.payload], call).ok());
      return;
    }
    item.spec.priority = item.spec.priority == 50 ? 100 : 50;
    ASSERT_TRUE(engine().reprioritise(q, ids_[item.payload], item.spec.priority, call).ok());
    naive_.ready.push_back(item);
    naive_.settle();
  }
  void clear_ready(QueueId q) {
    CallOptions call;
    ASSERT_EQ(engine().clear(q, state_bit(JobState::ready), call).value(), naive_.ready.size());
    naive_.ready.clear();
    naive_.settle();
  }

  Prng prng_{test_seed()};
  Naive naive_;
  // While the first job of a group is only on the disk, its tenant comes to its turn when it has
  // been read, which is before the next lease (gate.h). So with cold jobs two whose jobs have come
  // to the front between two leases may be in either order; without them all is known exactly.
  const bool cold_ = prng_.below(2) == 0;
  std::map<std::string, JobId> ids_;
};

TEST_P(TenantRandomTest, RandomOperationsGiveWhatAListGives) {
  if (cold_) {
    ASSERT_TRUE(harness_.close().ok());
    harness_.options().engine.lane_window = 16;
    harness_.options().engine.memory_budget_bytes = 1;  // everything that may leave memory does
    ASSERT_TRUE(harness_.open().ok());
  }
  QueueConfig config;
  config.max_retries = 1'000;
  const QueueId q = harness_.queue("q", config, config_max_retries);
  const int rounds = GetParam() == StoreKind::rocks ? scaled(500, 10'000) : scaled(2'000, 50'000);
  for (int i = 0; i < rounds && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    const uint64_t what = prng_.below(100);
    if (what < 42) {
      push_one(q, std::to_string(i));
    } else if (what < 62) {
      lease_some(q);
    } else if (what < 82) {
      settle_one(q);
    } else if (what < 88) {
      change_one(q, what < 85);
    } else if (what == 88) {
      if (prng_.below(4) == 0) clear_ready(q);
    } else if (what < 98) {
      const int how = static_cast<int>(what - 89) / 2;
      disturb(cold_ ? how : how % 2);  // after a restart all are cold
    } else {
      harness_.expect_sound();
    }
    ASSERT_EQ(ready(q), naive_.ready.size());
  }
  harness_.expect_sound();
}

// Two queues get the same; of one many are leased at a time, of the other one.
TEST_P(TenantRandomTest, ALeaseOfManyIsManyLeasesOfOne) {
  const QueueId q = harness_.queue("q");
  const QueueId twin = harness_.queue("twin");
  for (int i = 0; i < 100 && !HasFailure(); ++i) {
    for (uint64_t n = prng_.below(20); n > 0; --n) {
      const uint64_t tenant = prng_.below(5);
      const std::string name = tenant == 4 ? "" : "t" + std::to_string(tenant);
      const uint64_t group = prng_.below(6);
      const Spec spec{name, group > 2 ? "" : "g" + std::to_string(group) + name,
                      static_cast<uint8_t>(prng_.below(5) == 0 ? 50 : 100)};
      const std::string payload = std::to_string(i) + "." + std::to_string(n);
      push(q, payload, spec);
      push(twin, payload, spec);
    }
    const auto jobs = static_cast<uint32_t>(prng_.below(20));
    const std::string taken = take(q, jobs);
    EXPECT_EQ(taken, take(twin, jobs, 1));
    CallOptions call;
    for (const QueueId each : {q, twin}) {
      ASSERT_TRUE(engine().clear(each, state_bit(JobState::leased), call).ok());
    }
    if (i % 10 == 9) disturb(i / 10 % 5);
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, TenantRandomTest,
                         testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

INSTANTIATE_TEST_SUITE_P(Stores, TenantTest, testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

}  // namespace
}  // namespace wq
