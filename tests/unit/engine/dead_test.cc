// Dead letters: what a replay keeps and what it makes new, bulk changes by a filter, caps by count
// and age. On both stores, resident and cold, with closes and kills in between.
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "support/engine_harness.h"

namespace wq {
namespace {

class DeadTest : public testing::TestWithParam<StoreKind> {
 protected:
  DeadTest() : harness_(options()) {
    EXPECT_TRUE(harness_.open().ok());
    queue_ = harness_.queue("q");
  }

  static HarnessOptions options() {
    HarnessOptions options;
    options.store = GetParam();
    options.engine.memory_budget_bytes = 1u << 20;
    options.engine.segment_bytes = 1u << 20;  // what a kill has to copy
    options.engine.spare_segments = 0;
    options.engine.lane_window = 16;
    return options;
  }
  Engine& engine() { return harness_.engine(); }
  static CallOptions at_process_level() {
    CallOptions call;
    call.durability = static_cast<uint32_t>(Durability::process);
    return call;
  }
  // Dies at once, of a failure with this text or of a lost lease; 10 ms pass.
  Token die(std::string_view error, std::string_view payload = "p") {
    JobSpec spec;
    spec.max_attempts = 1;
    const JobId id = harness_.enqueue(queue_, payload, spec);
    const JobView job = harness_.lease(queue_, 1, 10)[0];
    EXPECT_EQ(job.id, id);
    if (!error.empty()) {
      EXPECT_EQ(harness_.nack(queue_, id, job.generation, 0, 0, error), Code::ok);
    }
    harness_.advance(10);
    return {id, job.generation};
  }
  std::vector<Token> die_many(size_t n, std::string_view error) {
    std::vector<Token> tokens;
    std::vector<JobSpec> specs(n);
    for (JobSpec& spec : specs) spec.max_attempts = 1;
    CallOptions call = at_process_level();
    EXPECT_TRUE(engine().enqueue_many(queue_, specs, false, call, {}).ok());
    for (const JobView& job : harness_.lease(queue_, static_cast<uint32_t>(n))) {
      tokens.push_back({job.id, job.generation});
      EXPECT_EQ(harness_.nack(queue_, job.id, job.generation, 0, 0, error), Code::ok);
    }
    return tokens;
  }
  Code replay(Token entry) {
    CallOptions call = at_process_level();
    return engine().dead_replay(queue_, entry, call).code();
  }
  Code bulk(const DeadBulk& what) {
    CallOptions call = at_process_level();
    const Code code = engine().dead_bulk(queue_, what, call, report_).code();
    last_lsn_ = call.lsn;
    return code;
  }
  uint64_t count(JobState state) {
    return engine().queue_stats(queue_).value().counts[static_cast<size_t>(state)];
  }
  QueueTotals totals() { return engine().queue_stats(queue_).value().totals; }
  std::vector<JobId> dead_ids() {
    std::vector<JobId> ids;
    DeadQuery query;
    query.oldest_first = true;
    do {
      const DeadPage page = engine().dead_list(queue_, query).value();
      for (const JobView& job : page.jobs) ids.push_back(job.id);
      query.cursor = page.next_cursor;
    } while (query.cursor != 0);
    return ids;
  }
  void checkpoint() { ASSERT_TRUE(engine().checkpoint().ok()); }
  void reopen() {
    ASSERT_TRUE(harness_.close().ok());
    ASSERT_TRUE(harness_.open().ok());
  }
  void kill() { ASSERT_TRUE(harness_.kill_and_open().ok()); }
  void configure(const QueueConfig& config, uint32_t fields) {
    CallOptions call = at_process_level();
    ASSERT_TRUE(engine().configure(queue_, config, fields, call).ok());
  }

  EngineHarness harness_;
  QueueId queue_ = 0;
  DeadBulkReport report_;
  Lsn last_lsn_ = 0;
};

// ---- replay of one

// Bug case 13: counters begin anew, history stays. At each step once resident, once cold.
TEST_P(DeadTest, ReplayBeginsAnewAndKeepsTheLineage) {
  JobSpec spec;
  spec.max_attempts = 2;
  const JobId id = harness_.enqueue(queue_, "bytes", spec);
  const int64_t enqueued_ms = harness_.clock().wall_ms();
  const auto lose_twice = [&] {
    for (int i = 0; i < 2; ++i) {
      ASSERT_EQ(harness_.lease(queue_, 1, 100).size(), 1u);
      harness_.advance(100);
    }
  };
  lose_twice();
  JobView job = engine().get(queue_, id).value();
  ASSERT_EQ(job.state, JobState::dead);
  EXPECT_EQ(job.reason, DeadReason::lease_expired);
  const int64_t first_dead_ms = job.since_ms;
  EXPECT_EQ(job.first_dead_ms, first_dead_ms);
  const Token first{id, job.generation};
  for (uint32_t i = 1; i <= 3; ++i) {
    if (i == 2) reopen();
    if (i == 3) kill();
    harness_.advance(1'000);
    const Token entry{id, engine().get(queue_, id).value().generation};
    ASSERT_EQ(replay(entry), Code::ok);
    if (i == 2) kill();
    if (i == 3) reopen();
    job = engine().get(queue_, id).value();
    EXPECT_EQ(job.state, JobState::ready);
    EXPECT_EQ(job.attempts, 0u);
    EXPECT_EQ(job.exceptions, 0u);
    EXPECT_EQ(job.replays, i);
    EXPECT_GT(job.generation, entry.generation);
    EXPECT_EQ(job.first_dead_ms, first_dead_ms);
    EXPECT_EQ(trusted_envelope(job.body.bytes()).enqueued_ms, enqueued_ms);
    EXPECT_EQ(payload_of(job), "bytes");
    // Entries and leases of before are nothing any more.
    EXPECT_EQ(replay(entry), Code::stale);
    EXPECT_EQ(harness_.ack(queue_, id, entry.generation), Code::stale);
    EXPECT_EQ(harness_.nack(queue_, id, first.generation), Code::stale);
    lose_twice();  // two more attempts, as at first
    job = engine().get(queue_, id).value();
    ASSERT_EQ(job.state, JobState::dead);
    EXPECT_NE(job.generation, entry.generation);
    EXPECT_EQ(job.first_dead_ms, first_dead_ms);
    EXPECT_GT(job.since_ms, first_dead_ms);
    EXPECT_EQ(replay(entry), Code::stale);
  }
  EXPECT_EQ(totals().replayed, 3u);
  harness_.expect_sound();
}

// The worker of before the replay is late: whatever it says while the job waits or runs again, it
// changes nothing. WaitQueue A.7 6 and 7.
TEST_P(DeadTest, AWorkerFromBeforeTheReplayCanDoNothing) {
  const Token old = die("");
  ASSERT_EQ(replay(old), Code::ok);
  for (const bool leased_again : {false, true}) {
    Generation now = 0;
    if (leased_again) now = harness_.lease(queue_)[0].generation;
    CallOptions call = at_process_level();
    Code code = Code::ok;
    EXPECT_EQ(harness_.ack(queue_, old.id, old.generation), Code::stale);
    EXPECT_EQ(harness_.nack(queue_, old.id, old.generation), Code::stale);
    EXPECT_EQ(engine().confirm(queue_, old, 0, call).code(), Code::stale);
    EXPECT_TRUE(engine().extend(queue_, {&old, 1}, 1'000, call, {&code, 1}).ok());
    EXPECT_EQ(code, Code::stale);
    EXPECT_EQ(replay(old), Code::stale);
    CallOptions removal = at_process_level();
    EXPECT_EQ(engine().dead_remove(queue_, old, removal).code(), Code::stale);
    if (leased_again) {
      EXPECT_GT(now, old.generation + 1);  // the replay took one in between
      EXPECT_EQ(harness_.ack(queue_, old.id, now), Code::ok);
    }
  }
  harness_.expect_sound();
}

// A full queue takes no replay, whatever its policy, and the letter stays what it was.
TEST_P(DeadTest, ReplayIntoAFullQueueIsRefused) {
  const Token one = die("e");
  const Token two = die("e");
  QueueConfig config;
  config.max_depth = 1;
  config.full_policy = FullPolicy::drop_oldest;
  configure(config, config_max_depth | config_full_policy);
  checkpoint();
  reopen();
  ASSERT_EQ(replay(one), Code::ok);
  const uint64_t resident = engine().stats().resident_jobs;
  EXPECT_EQ(replay(two), Code::full);
  EXPECT_EQ(engine().stats().resident_jobs, resident);
  EXPECT_EQ(dead_ids(), std::vector<JobId>{two.id});
  EXPECT_EQ(totals().dropped, 0u);
  DeadBulk all;
  EXPECT_EQ(bulk(all), Code::full);
  EXPECT_EQ(report_.changed, 0u);
  EXPECT_EQ(last_lsn_, 0u);
  harness_.expect_sound();
  ASSERT_EQ(harness_.lease(queue_).size(), 1u);
  EXPECT_EQ(replay(two), Code::ok);
  harness_.expect_sound();
}

// ---- many

TEST_P(DeadTest, BulkReplayByEachFilter) {
  std::vector<Token> tokens;
  std::vector<int64_t> times;
  struct Case {
    std::function<void(DeadBulk&)> set;
    std::vector<size_t> wanted;  // in the order in which they died
  };
  std::vector<Token> named;
  const Case cases[] = {
      {[](DeadBulk& b) { b.query.reason = DeadReason::lease_expired; }, {1, 4}},
      {[](DeadBulk& b) { b.query.error_part = "timeout at"; }, {0, 2}},
      {[&](DeadBulk& b) { b.query.from_ms = times[3], b.query.until_ms = times[4] + 1; },
       {3, 4, 5}},
      {[](DeadBulk& b) { b.limit = 2; }, {0, 1}},
      {[](DeadBulk& b) { b.query.error_part = "no such error"; }, {}},
      {[&](DeadBulk& b) { b.entries = named; }, {2, 4}},
      {[](DeadBulk&) {}, {0, 1, 2, 3, 4, 5, 6}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(&c - cases);
    CallOptions call = at_process_level();
    ASSERT_TRUE(engine().clear(queue_, clearable_states, call).ok());
    tokens.clear();
    times.clear();
    for (const char* error :
         {"timeout at a", "", "timeout at b", "no such user", "", "timeout", "timeout, resident"}) {
      if (tokens.size() == 6) checkpoint();
      tokens.push_back(die(error));
      times.push_back(engine().get(queue_, tokens.back().id).value().since_ms);
    }
    named = {tokens[2], {tokens[1].id, tokens[1].generation + 7}, {999'999, 1}, tokens[4]};
    DeadBulk what;
    c.set(what);
    what.dry_run = true;
    ASSERT_EQ(bulk(what), Code::ok);
    EXPECT_EQ(report_.changed, c.wanted.size());
    EXPECT_EQ(last_lsn_, 0u);
    EXPECT_EQ(dead_ids().size(), tokens.size());
    what.dry_run = false;
    ASSERT_EQ(bulk(what), Code::ok);
    EXPECT_EQ(report_.changed, c.wanted.size());
    EXPECT_EQ(last_lsn_ != 0, !c.wanted.empty());
    if (c.wanted.size() == 2) kill();
    std::vector<JobId> wanted, found;
    for (const size_t i : c.wanted) wanted.push_back(tokens[i].id);
    for (const JobView& job : harness_.lease(queue_, 10)) found.push_back(job.id);
    EXPECT_EQ(found, wanted);
    harness_.expect_sound();
  }
}

// More than a step can hold, half of them cold: each letter once, others work in between, and one
// that dies again meanwhile is not taken a second time.
TEST_P(DeadTest, ManyLettersInSteps) {
  die_many(700, "old");
  checkpoint();
  reopen();
  die_many(300, "new");
  DeadBulk what;
  uint64_t calls = 0;
  uint64_t said = 0;
  what.progress = [&](uint64_t changed, uint64_t examined) -> Status {
    EXPECT_GE(examined, changed);
    EXPECT_GE(changed, said);
    said = changed;
    if (++calls == 2) {  // one of the replayed is leased and dies again
      const JobView job = harness_.lease(queue_, 1)[0];
      EXPECT_EQ(harness_.nack(queue_, job.id, job.generation, 0, 0, "again"), Code::ok);
    }
    return {};
  };
  ASSERT_EQ(bulk(what), Code::ok);
  EXPECT_GE(calls, 4u);
  EXPECT_EQ(report_.changed, 1'000u);
  EXPECT_EQ(count(JobState::ready), 999u);
  EXPECT_EQ(count(JobState::dead), 1u);
  kill();
  EXPECT_EQ(count(JobState::ready), 999u);
  EXPECT_EQ(totals().replayed, 1'000u);
  harness_.expect_sound();
}

// Stopped, or out of room: what is done stays done and is told.
TEST_P(DeadTest, ABulkChangeThatStops) {
  die_many(600, "e");
  checkpoint();
  DeadBulk what;
  what.progress = [](uint64_t changed, uint64_t) -> Status {
    return changed == 0 ? Code::ok : Code::cancelled;
  };
  EXPECT_EQ(bulk(what), Code::cancelled);
  EXPECT_EQ(report_.changed, 256u);
  EXPECT_NE(last_lsn_, 0u);
  kill();
  EXPECT_EQ(count(JobState::ready), 256u);
  QueueConfig config;
  config.max_depth = 300;
  configure(config, config_max_depth);
  what = DeadBulk();
  what.dry_run = true;
  EXPECT_EQ(bulk(what), Code::full);
  EXPECT_EQ(report_.changed, 44u);
  what.dry_run = false;
  EXPECT_EQ(bulk(what), Code::full);
  EXPECT_EQ(report_.changed, 44u);
  EXPECT_EQ(count(JobState::dead), 300u);
  what.remove = true;  // needs no room
  what.limit = 290;
  EXPECT_EQ(bulk(what), Code::ok);
  EXPECT_EQ(report_.changed, 290u);
  EXPECT_EQ(count(JobState::dead), 10u);
  EXPECT_EQ(totals().cleared, 290u);
  kill();
  EXPECT_EQ(count(JobState::dead), 10u);
  harness_.expect_sound();
}

// Two bulk replays at once, one inside the other: each letter is replayed by one of them.
TEST_P(DeadTest, TwoBulkReplaysShareTheLetters) {
  die_many(600, "e");
  checkpoint();
  reopen();
  DeadBulk outer;
  DeadBulkReport inner;
  outer.progress = [&](uint64_t changed, uint64_t) -> Status {
    if (changed != 256) return {};
    DeadBulk what;
    what.limit = 100;
    CallOptions call = at_process_level();
    return engine().dead_bulk(queue_, what, call, inner);
  };
  ASSERT_EQ(bulk(outer), Code::ok);
  EXPECT_EQ(inner.changed, 100u);
  EXPECT_EQ(report_.changed, 500u);
  EXPECT_EQ(totals().replayed, 600u);
  harness_.expect_sound();
}

// ---- caps

TEST_P(DeadTest, TheCapByCountDropsTheOldest) {
  QueueConfig config;
  config.dead_max_count = 3;
  configure(config, config_dead_max_count);
  std::vector<JobId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(die("e").id);
  EXPECT_EQ(dead_ids(), (std::vector<JobId>{ids[2], ids[3], ids[4]}));
  EXPECT_EQ(totals().dead_dropped, 2u);
  EXPECT_EQ(totals().dead, 5u);
  kill();  // the drops need no durability of their own: what is lost is done again
  harness_.tick();
  EXPECT_EQ(totals().dead_dropped, 2u);
  EXPECT_EQ(engine().get(queue_, ids[0]).status().code(), Code::not_found);
  // Cold ones, and a cap that comes later and is far below.
  config.dead_max_count = 0;
  configure(config, config_dead_max_count);
  die_many(600, "e");
  checkpoint();
  reopen();
  ASSERT_EQ(count(JobState::dead), 603u);
  config.dead_max_count = 2;
  configure(config, config_dead_max_count);
  harness_.tick();
  EXPECT_EQ(count(JobState::dead), 2u);
  EXPECT_EQ(totals().dead_dropped, 603u);
  reopen();
  EXPECT_EQ(dead_ids().size(), 2u);
  const Token last = die("e");
  EXPECT_EQ(dead_ids().back(), last.id);
  EXPECT_EQ(dead_ids().size(), 2u);
  harness_.expect_sound();
}

TEST_P(DeadTest, TheCapByAgeHoldsAcrossReopen) {
  QueueConfig config;
  config.dead_max_age_ms = 10'000;
  configure(config, config_dead_max_age_ms);
  const Token one = die("e");
  checkpoint();
  harness_.advance(5'000);
  const Token two = die("e");
  harness_.advance(4'900);
  EXPECT_EQ(dead_ids().size(), 2u);
  harness_.advance(100);
  EXPECT_EQ(dead_ids(), std::vector<JobId>{two.id});
  kill();
  harness_.tick();
  EXPECT_EQ(dead_ids(), std::vector<JobId>{two.id});
  EXPECT_EQ(totals().dead_dropped, 1u);
  checkpoint();
  reopen();  // cold, and its time runs out while nobody looks
  harness_.advance(10'000);
  EXPECT_TRUE(dead_ids().empty());
  EXPECT_EQ(totals().dead_dropped, 2u);
  EXPECT_EQ(engine().get(queue_, one.id).status().code(), Code::not_found);
  // A replayed job that dies again is a new letter with its whole time before it.
  const Token three = die("e");
  harness_.advance(9'000);
  ASSERT_EQ(replay(three), Code::ok);
  const JobView again = harness_.lease(queue_)[0];
  EXPECT_EQ(harness_.nack(queue_, again.id, again.generation, 0), Code::ok);
  harness_.advance(9'000);
  EXPECT_EQ(dead_ids(), std::vector<JobId>{three.id});
  harness_.advance(1'000);
  EXPECT_TRUE(dead_ids().empty());
  harness_.expect_sound();
}

INSTANTIATE_TEST_SUITE_P(Stores, DeadTest, testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

}  // namespace
}  // namespace wq
