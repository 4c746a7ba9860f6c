// Unique, debounce and idempotency keys: who holds them after each way in which a job can go on,
// with checkpoints, closes and kills between any two steps, on both stores; and random operations
// against a naive model.
#include <gtest/gtest.h>

#include <map>

#include "engine/unique.h"
#include "support/engine_harness.h"
#include "test_seed.h"

namespace wq {
namespace {

// What happens between two steps of a scenario. After a reopen no waiting job is in memory; starved
// is a checkpoint without memory to keep more than the head of a lane in.
enum class Shake : uint8_t { nothing, starved, reopen, kill, checkpoint_and_kill };

struct Mode {
  StoreKind store;
  Shake shake;
};

constexpr KeyRule scopes[] = {KeyRule::until_started, KeyRule::until_done, KeyRule::until_gone};

class UniqueTest : public testing::TestWithParam<Mode> {
 protected:
  UniqueTest() : harness_(options()) {
    EXPECT_TRUE(harness_.open().ok());
    open_queue();
  }

  static HarnessOptions options() {
    HarnessOptions options;
    options.store = GetParam().store;
    options.engine.segment_bytes = 256 * 1024;  // the kills of a test leave many
    if (GetParam().shake == Shake::starved) {
      options.engine.memory_budget_bytes = 1;
      options.engine.lane_window = 1;
    }
    return options;
  }
  void open_queue() {
    QueueConfig config;
    config.max_retries = 1;
    config.lease_ms = 10'000;
    config.durability = Durability::process;
    queue_ = harness_.queue("q", config, config_max_retries | config_lease_ms | config_durability);
  }

  static JobSpec unique(std::string_view key, KeyRule rule, int64_t ttl_ms = 0) {
    JobSpec spec;
    spec.traits.key_rule = rule;
    spec.traits.key = key;
    spec.traits.key_ms = ttl_ms;
    return spec;
  }
  static JobSpec debounced(std::string_view key, int64_t window_ms, int64_t max_ms = 0) {
    JobSpec spec = unique(key, KeyRule::debounce, max_ms);
    spec.debounce_ms = window_ms;
    return spec;
  }
  static JobSpec idempotent(std::string_view key, int64_t window_ms) {
    JobSpec spec;
    spec.traits.idempotency_key = key;
    spec.traits.idempotency_ms = window_ms;
    return spec;
  }

  EnqueueOutcome add(JobSpec spec, std::string_view payload = "x") {
    shake();
    spec.payload = as_bytes(payload);
    CallOptions call;
    EnqueueOutcome out;
    out.code = harness_.engine().enqueue(queue_, spec, call, out.id).code();
    return out;
  }
  // The id of a job that must come in.
  JobId take(const JobSpec& spec, std::string_view payload = "x") {
    const EnqueueOutcome out = add(spec, payload);
    EXPECT_EQ(out.code, Code::ok);
    return out.id;
  }
  void expect_duplicate(const JobSpec& spec, JobId of) {
    const EnqueueOutcome out = add(spec);
    EXPECT_EQ(out.code, Code::duplicate);
    EXPECT_EQ(out.id, of);
  }
  JobView lease_one() {
    shake();
    const std::vector<JobView> jobs = harness_.lease(queue_);
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? JobView() : jobs[0];
  }
  Code settle(const JobView& job, SettleKind kind, int64_t delay_ms = 0) {
    shake();
    SettleItem item{.id = job.id, .generation = job.generation, .kind = kind};
    if (kind == SettleKind::nack || kind == SettleKind::release) item.delay_ms = delay_ms;
    return harness_.settle(queue_, item);
  }
  Code cancel(JobId id) {
    shake();
    CallOptions call;
    return harness_.engine().cancel(queue_, id, call).code();
  }
  Code replay(JobId id, Generation generation) {
    shake();
    CallOptions call;
    return harness_.engine().dead_replay(queue_, {id, generation}, call).code();
  }
  Code discard(JobId id, Generation generation) {
    shake();
    CallOptions call;
    return harness_.engine().dead_remove(queue_, {id, generation}, call).code();
  }
  void clear(uint32_t states) {
    shake();
    CallOptions call;
    EXPECT_TRUE(harness_.engine().clear(queue_, states, call).ok());
  }
  JobId holder(std::string_view key, KeyKind kind = KeyKind::unique) {
    shake();
    const Result<JobId> id = harness_.engine().key_holder(queue_, kind, key);
    if (id.ok()) return id.value();
    EXPECT_EQ(id.status().code(), Code::not_found) << id.status().message();
    return 0;
  }
  int64_t now_ms() { return harness_.clock().wall_ms(); }
  int64_t due_in_ms(JobId id) {
    const Result<JobView> job = harness_.engine().get(queue_, id);
    EXPECT_TRUE(job.ok());
    return job.ok() ? job.value().due_ms - now_ms() : -1;
  }
  Code state_of(JobId id) { return harness_.engine().get(queue_, id).status().code(); }

  void checkpoint() { ASSERT_TRUE(harness_.engine().checkpoint().ok()); }
  void reopen() {
    ASSERT_TRUE(harness_.close().ok());
    ASSERT_TRUE(harness_.open().ok());
  }
  void shake(Shake how) {
    const bool keep = how == Shake::starved || how == Shake::checkpoint_and_kill;
    if (keep) checkpoint();
    if (how == Shake::reopen) reopen();
    if (how == Shake::kill || how == Shake::checkpoint_and_kill) {
      ASSERT_TRUE(harness_.kill_and_open().ok());
    }
  }
  void shake() { shake(GetParam().shake); }

  // Rows of keys that the store and memory have, after all that can go has gone.
  uint64_t rows_left() {
    for (int i = 0; i < 3; ++i) {
      CallOptions call;
      EXPECT_TRUE(harness_.engine().open_queue("other", {}, 0, true, call).ok());
      EXPECT_TRUE(harness_.engine().remove_queue(harness_.queue("other"), call).ok());
      harness_.tick();
      checkpoint();
    }
    const Result<VerifyReport> report = harness_.engine().verify();
    EXPECT_TRUE(report.ok());
    EXPECT_EQ(report.value().problems, 0u) << report.value().first_problem;
    return report.value().entries - index_rows();
  }
  uint64_t index_rows() {  // each stored job has one
    const EngineStats stats = harness_.engine().stats();
    uint64_t jobs = 0;
    for (const uint64_t count : stats.counts) jobs += count;
    return jobs;
  }

  EngineHarness harness_;
  QueueId queue_ = 0;
};

// ---- unique

// A letter per step of what becomes of a job, so that the table below reads as one.
class UniqueFate : public UniqueTest {
 public:
  void run(const std::string& steps, JobId id) {
    JobView job;
    job.id = id;
    for (const char step : steps) {
      switch (step) {
        case 'l':
          job = lease_one();
          break;
        case 'a':
          EXPECT_EQ(settle(job, SettleKind::ack), Code::ok);
          break;
        case 'n':
          EXPECT_EQ(settle(job, SettleKind::nack, 5'000), Code::ok);
          break;
        case 'r':
          EXPECT_EQ(settle(job, SettleKind::release), Code::ok);
          break;
        case 'f':
          EXPECT_EQ(settle(job, SettleKind::fail), Code::ok);
          break;
        case 'x':
          shake();
          harness_.advance(10'001);
          EXPECT_TRUE(harness_.engine().sync().ok());  // nobody waited for the expiry
          break;
        case 'c':
          EXPECT_EQ(cancel(job.id), Code::ok);
          break;
        case 'R':
          EXPECT_EQ(replay(job.id, job.generation), Code::ok);
          break;
        case 'D':
          EXPECT_EQ(discard(job.id, job.generation), Code::ok);
          break;
        case 'C':
          clear(clearable_states);
          break;
        case 'Q': {
          shake();
          CallOptions call;
          EXPECT_TRUE(harness_.engine().remove_queue(queue_, call).ok());
          open_queue();
          break;
        }
        default:
          FAIL() << step;
      }
    }
  }
};

TEST_P(UniqueFate, TheScopeDecidesWhichEndFreesTheKey) {
  struct Row {
    const char* name;
    const char* steps;
    bool held[3];
  };
  const Row rows[] = {
      {"waits", "", {true, true, true}},
      {"runs", "l", {false, true, true}},
      {"waits for its retry", "ln", {false, true, true}},
      {"runs again", "lnxl", {false, true, true}},
      {"was released", "lr", {false, true, true}},
      {"was taken back", "lx", {false, true, true}},
      {"is done", "la", {false, false, false}},
      {"is dead", "lf", {false, false, true}},
      {"is dead of its leases", "lxlx", {false, false, true}},
      {"was replayed", "lfR", {false, true, true}},
      {"was replayed and is done", "lfRla", {false, false, false}},
      {"dead, removed", "lfD", {false, false, false}},
      {"dead, purged", "lfC", {false, false, false}},
      {"cancelled", "c", {false, false, false}},
      {"cancelled while it runs", "lc", {false, false, false}},
      {"cleared", "C", {false, false, false}},
      {"cleared while it waits for its retry", "lnC", {false, false, false}},
      {"cleared while it runs", "lC", {false, false, false}},
      {"gone with its queue", "Q", {false, false, false}},
  };
  for (const Row& row : rows) {
    for (size_t i = 0; i < 3; ++i) {
      SCOPED_TRACE(std::string(row.name) + ", scope " + std::to_string(i + 1));
      const JobSpec spec = unique("key", scopes[i]);
      const JobId first = take(spec);
      expect_duplicate(spec, first);
      run(row.steps, first);
      if (row.held[i]) {
        expect_duplicate(spec, first);
        EXPECT_EQ(holder("key"), first);
      } else {
        EXPECT_EQ(holder("key"), 0u);
        const JobId second = take(spec);
        expect_duplicate(spec, second);
      }
      clear(clearable_states);
    }
    checkpoint();
  }
  harness_.expect_sound();
  EXPECT_EQ(rows_left(), 0u);
}

TEST_P(UniqueTest, KeysAreOfTheirQueueAndOfTheirKind) {
  const JobId first = take(unique("k", KeyRule::until_gone));
  expect_duplicate(unique("k", KeyRule::until_started), first);  // scopes share their keys
  take(debounced("k", 1'000));
  take(idempotent("k", 1'000));
  take(unique("k2", KeyRule::until_gone));
  take(JobSpec());
  queue_ = harness_.queue("another");
  take(unique("k", KeyRule::until_gone));
  EXPECT_EQ(rows_left(), 6u);  // the window has a place in the order of ends besides
}

// Bug case 16: only the holder's end frees the key, and every end does.
TEST_P(UniqueTest, Case16_DeletingADelayedJobFreesItsKeyAtOnce) {
  JobSpec spec = unique("k", KeyRule::until_done, 120'000);
  spec.delay_ms = 3'600'000;
  const JobId first = take(spec);
  expect_duplicate(spec, first);
  EXPECT_EQ(cancel(first), Code::ok);
  const JobId second = take(unique("k", KeyRule::until_done));
  const JobView job = lease_one();
  EXPECT_EQ(job.id, second);
  EXPECT_EQ(cancel(second), Code::ok);
  const JobId third = take(spec);
  EXPECT_EQ(settle(job, SettleKind::ack), Code::stale);
  expect_duplicate(spec, third);
}

// Bug case 17: a retry does not free what the first start has freed already.
TEST_P(UniqueTest, Case17_ARetryNeverFreesTheKeyOfAnother) {
  const JobSpec spec = unique("k", KeyRule::until_started);
  for (int i = 0; i < (GetParam().shake == Shake::nothing ? 50 : 5); ++i) {
    const JobId first = take(spec);
    JobView job = lease_one();
    ASSERT_EQ(job.id, first);
    const JobId second = take(spec);
    EXPECT_EQ(settle(job, SettleKind::nack), Code::ok);
    job = lease_one();
    ASSERT_EQ(job.id, second);  // the retry is behind it: put it there again
    EXPECT_EQ(settle(job, SettleKind::release), Code::ok);
    job = lease_one();
    ASSERT_EQ(job.id, first);
    const JobId third = take(spec);  // the second has started once
    EXPECT_EQ(settle(job, SettleKind::ack), Code::ok);
    expect_duplicate(spec, third);
    clear(clearable_states);
  }
  EXPECT_EQ(rows_left(), 0u);
}

// Bug case 19: jobs that wait for a retry become ready whatever holds their key meanwhile.
TEST_P(UniqueTest, Case19_UniquenessBlocksNoRetry) {
  take(unique("k", KeyRule::until_started));
  std::vector<JobView> jobs = {lease_one()};
  for (int i = 0; i < 5; ++i) take(JobSpec());
  for (int i = 0; i < 5; ++i) jobs.push_back(lease_one());
  for (const JobView& job : jobs) EXPECT_EQ(settle(job, SettleKind::nack, 1'000), Code::ok);
  const JobId second = take(unique("k", KeyRule::until_started));
  shake();
  harness_.advance(1'000);
  EXPECT_EQ(harness_.engine().queue_stats(queue_).value().counts[1], 7u);
  expect_duplicate(unique("k", KeyRule::until_started), second);
}

// Bug case 59, and the leak of 15 million lock keys: nothing of a key outlives its holder.
TEST_P(UniqueTest, Case59_NoRowOutlivesItsHolder) {
  for (int i = 0; i < 200; ++i) {
    const std::string key = "key" + std::to_string(i);
    JobSpec spec = unique(key, scopes[i % 3], i % 2 == 0 ? 0 : 60'000);
    spec.payload = as_bytes("x");
    CallOptions call;
    JobId id = 0;
    ASSERT_TRUE(harness_.engine().enqueue(queue_, spec, call, id).ok());
  }
  shake();
  for (const JobView& job : harness_.lease(queue_, 100)) {
    EXPECT_EQ(harness_.ack(queue_, job.id, job.generation), Code::ok);
  }
  shake();
  // With an end there is a second row, which may outlive its job if that was only on disk.
  const uint64_t left = rows_left();
  EXPECT_GE(left, 150u);
  if (GetParam().shake == Shake::nothing) {
    EXPECT_EQ(left, 150u);
  }
  clear(clearable_states);
  harness_.advance(60'001);
  EXPECT_EQ(rows_left(), 0u);
}

// WaitQueue A: an id is refused in every state, dead included, until it was replayed and finished.
TEST_P(UniqueTest, WaitQueueA_ADeadIdStaysRefused) {
  const JobSpec spec = unique("task-1", KeyRule::until_gone);
  const JobId id = take(spec);
  JobView job = lease_one();
  expect_duplicate(spec, id);
  EXPECT_EQ(settle(job, SettleKind::fail), Code::ok);
  expect_duplicate(spec, id);
  EXPECT_EQ(replay(id, job.generation), Code::ok);
  expect_duplicate(spec, id);
  job = lease_one();
  EXPECT_EQ(settle(job, SettleKind::ack), Code::ok);
  take(spec);
}

// PrismGo B.9 38.
TEST_P(UniqueTest, PrismGo38_ASecondDispatchIsRefusedUntilSuccess) {
  const JobSpec spec = unique("k", KeyRule::until_done);
  const JobId first = take(spec);
  expect_duplicate(spec, first);
  EXPECT_EQ(harness_.engine().queue_stats(queue_).value().counts[1], 1u);
  EXPECT_EQ(settle(lease_one(), SettleKind::ack), Code::ok);
  take(spec);
  const JobSpec processing = unique("p", KeyRule::until_started);
  take(processing);
  lease_one();
  lease_one();
  take(processing);
}

TEST_P(UniqueTest, AKeyIsHeldNoLongerThanItsTime) {
  const JobSpec spec = unique("k", KeyRule::until_done, 1'000);
  const JobId first = take(spec);
  const JobView job = lease_one();
  harness_.advance(999);
  expect_duplicate(spec, first);
  harness_.advance(1);
  EXPECT_EQ(holder("k"), 0u);
  const JobId second = take(unique("k", KeyRule::until_done));
  EXPECT_EQ(settle(job, SettleKind::ack), Code::ok);  // not its key any more
  expect_duplicate(spec, second);
  EXPECT_EQ(settle(lease_one(), SettleKind::ack), Code::ok);
  take(spec);
  harness_.advance(1'001);
  EXPECT_EQ(holder("k"), 0u);
  EXPECT_EQ(rows_left(), 0u);  // though the job waits on
}

TEST_P(UniqueTest, AReplayTakesTheKeyAgainOrMeetsItsHolder) {
  const JobSpec spec = unique("k", KeyRule::until_done);
  const JobId first = take(spec);
  const JobView job = lease_one();
  EXPECT_EQ(settle(job, SettleKind::fail), Code::ok);
  const JobId second = take(spec);
  EXPECT_EQ(replay(first, job.generation), Code::duplicate);
  EXPECT_EQ(replay(first, job.generation + 1), Code::stale);
  EXPECT_EQ(replay(999'999'999, 1), Code::not_found);
  expect_duplicate(spec, second);
  EXPECT_EQ(cancel(second), Code::ok);
  EXPECT_EQ(replay(first, job.generation), Code::ok);
  expect_duplicate(spec, first);
  EXPECT_EQ(replay(first, job.generation), Code::stale);
  const JobView again = lease_one();
  EXPECT_EQ(again.id, first);
  EXPECT_EQ(settle(again, SettleKind::ack), Code::ok);
  EXPECT_EQ(rows_left(), 0u);
}

TEST_P(UniqueTest, OnlyTheHolderOfTheLeaseReleasesItsKey) {
  const JobSpec spec = unique("k", KeyRule::until_gone);
  const JobId first = take(spec);
  const JobView job = lease_one();
  const auto release = [&](Generation generation) {
    shake();
    CallOptions call;
    return harness_.engine().release_key(queue_, {first, generation}, call).code();
  };
  EXPECT_EQ(release(job.generation + 1), Code::stale);
  expect_duplicate(spec, first);
  EXPECT_EQ(release(job.generation), Code::ok);
  const JobId second = take(spec);
  EXPECT_EQ(release(job.generation), Code::ok);  // holds none any more
  EXPECT_EQ(settle(job, SettleKind::ack), Code::ok);
  EXPECT_EQ(release(job.generation), Code::stale);
  expect_duplicate(spec, second);
}

TEST_P(UniqueTest, AJobIsCancelledByItsKey) {
  const auto cancel_key = [&](KeyKind kind, std::string_view key) {
    shake();
    CallOptions call;
    const Result<JobId> id = harness_.engine().cancel_key(queue_, kind, key, call);
    return std::pair(id.status().code(), id.ok() ? id.value() : 0);
  };
  using Answer = std::pair<Code, JobId>;
  EXPECT_EQ(cancel_key(KeyKind::unique, "k"), Answer(Code::not_found, 0));
  const JobId before = take(JobSpec());
  const JobId first = take(unique("k", KeyRule::until_gone));
  const JobId late = take(debounced("k", 5'000));
  EXPECT_EQ(cancel_key(KeyKind::unique, "k"), Answer(Code::ok, first));
  EXPECT_EQ(cancel_key(KeyKind::unique, "k"), Answer(Code::not_found, 0));
  EXPECT_EQ(cancel_key(KeyKind::debounce, "k"), Answer(Code::ok, late));
  EXPECT_EQ(cancel_key(KeyKind::idempotency, "k").first, Code::invalid);
  EXPECT_EQ(cancel_key(KeyKind::unique, "").first, Code::invalid);
  EXPECT_EQ(lease_one().id, before);
  take(unique("k", KeyRule::until_gone));
  EXPECT_EQ(settle(lease_one(), SettleKind::fail), Code::ok);
  EXPECT_EQ(cancel_key(KeyKind::unique, "k").first, Code::conflict);
}

TEST_P(UniqueTest, ManyAtOnceAreToldOneByOne) {
  const JobId held = take(unique("held", KeyRule::until_done));
  const JobSpec specs[] = {unique("a", KeyRule::until_done),
                           JobSpec(),
                           unique("held", KeyRule::until_done),
                           unique("a", KeyRule::until_done),
                           idempotent("i", 1'000),
                           idempotent("i", 1'000),
                           debounced("d", 1'000),
                           debounced("d", 2'000)};
  EnqueueOutcome out[8];
  shake();
  CallOptions call;
  EXPECT_EQ(harness_.engine().enqueue_many(queue_, specs, false, call, out).value(), 8u);
  const Code codes[] = {Code::ok, Code::ok,        Code::duplicate, Code::duplicate,
                        Code::ok, Code::duplicate, Code::ok,        Code::ok};
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(out[i].code, codes[i]) << i;
  EXPECT_EQ(out[2].id, held);
  EXPECT_EQ(out[3].id, out[0].id);
  EXPECT_EQ(out[5].id, out[4].id);
  EXPECT_EQ(state_of(out[6].id), Code::not_found);  // the last took its place
  EXPECT_EQ(due_in_ms(out[7].id), 2'000);
  EXPECT_NE(call.lsn, 0u);
  call = CallOptions();
  shake();
  EXPECT_EQ(harness_.engine().enqueue_many(queue_, {specs + 2, 2}, true, call, {out, 2}).value(),
            2u);
  EXPECT_EQ(call.lsn, 0u);  // nothing to write
  EXPECT_EQ(harness_.engine().queue_stats(queue_).value().totals.enqueued, 6u);
  harness_.expect_sound();
}

// ---- debounce

// PrismGo B.9 39, and how it looks to a consumer.
TEST_P(UniqueTest, PrismGo39_OnlyTheLastOfTheWindowRuns) {
  const JobSpec spec = debounced("k", 1'000);
  const JobId one = take(spec, "one");
  harness_.advance(600);
  const JobId two = take(spec, "two");
  harness_.advance(600);
  EXPECT_TRUE(harness_.lease(queue_).empty());
  const JobId three = take(spec, "three");
  EXPECT_EQ(holder("k", KeyKind::debounce), three);
  harness_.advance(999);
  EXPECT_TRUE(harness_.lease(queue_).empty());
  harness_.advance(1);
  const JobView job = lease_one();
  EXPECT_EQ(job.id, three);
  EXPECT_EQ(payload_of(job), "three");
  EXPECT_EQ(state_of(one), Code::not_found);
  EXPECT_EQ(state_of(two), Code::not_found);
  EXPECT_EQ(harness_.engine().queue_stats(queue_).value().totals.cancelled, 2u);
  // It has started: the next one is for itself.
  const JobId four = take(spec, "four");
  EXPECT_EQ(settle(job, SettleKind::ack), Code::ok);
  EXPECT_EQ(due_in_ms(four), 1'000);
  clear(clearable_states);
  EXPECT_EQ(rows_left(), 0u);
}

TEST_P(UniqueTest, TheStartIsPutOffUpToTheMaximumWaitOfTheFirst) {
  const JobId first = take(debounced("k", 1'000, 2'500));
  EXPECT_EQ(due_in_ms(first), 1'000);
  harness_.advance(900);
  EXPECT_EQ(due_in_ms(take(debounced("k", 1'000, 9'000))), 1'000);
  harness_.advance(900);
  EXPECT_EQ(due_in_ms(take(debounced("k", 1'000, 9'000))), 700);
  harness_.advance(600);
  const JobId last = take(debounced("k", 1'000), "last");
  EXPECT_EQ(due_in_ms(last), 100);
  harness_.advance(100);
  // Its time has come: it runs, whatever is enqueued before somebody takes it.
  const JobId next = take(debounced("k", 1'000), "next");
  EXPECT_EQ(due_in_ms(next), 1'000);
  EXPECT_EQ(lease_one().id, last);
  EXPECT_EQ(holder("k", KeyKind::debounce), next);
  harness_.expect_sound();
}

// Ready, but nobody took it: still the one that a later job replaces.
TEST_P(UniqueTest, AReadyDebouncedJobIsReplacedInTheMiddleOfItsLane) {
  const JobId before = take(JobSpec());
  const JobId first = take(debounced("k", 1'000));
  harness_.advance(1'000);
  const JobId behind = take(JobSpec());
  const JobId second = take(debounced("k", 1'000));
  EXPECT_EQ(lease_one().id, before);
  EXPECT_EQ(lease_one().id, behind);
  EXPECT_EQ(state_of(first), Code::not_found);
  harness_.advance(1'000);
  EXPECT_EQ(lease_one().id, second);
  harness_.expect_sound();
}

TEST_P(UniqueTest, ARetriedDebouncedJobIsLeftAlone) {
  const JobSpec spec = debounced("k", 1'000);
  const JobId first = take(spec);
  harness_.advance(1'000);
  EXPECT_EQ(settle(lease_one(), SettleKind::nack, 3'000), Code::ok);
  const JobId second = take(spec);
  harness_.advance(3'000);
  EXPECT_EQ(state_of(first), Code::ok);
  EXPECT_EQ(state_of(second), Code::ok);
}

// ---- idempotency

TEST_P(UniqueTest, TheSameRequestWithinTheWindowIsTheFirstJob) {
  const JobSpec spec = idempotent("request", 10'000);
  const JobId first = take(spec);
  expect_duplicate(spec, first);
  EXPECT_EQ(settle(lease_one(), SettleKind::ack), Code::ok);
  expect_duplicate(spec, first);  // ended, and still the answer
  clear(clearable_states);
  harness_.advance(9'999);
  EXPECT_EQ(holder("request", KeyKind::idempotency), first);
  expect_duplicate(spec, first);
  harness_.advance(1);
  const JobId second = take(spec);
  expect_duplicate(spec, second);
  harness_.advance(10'001);
  EXPECT_EQ(settle(lease_one(), SettleKind::ack), Code::ok);
  EXPECT_EQ(rows_left(), 0u);
}

// The window is asked first: a request that is repeated is no attempt to get the unique key.
TEST_P(UniqueTest, IdempotencyGoesWithTheOtherKeys) {
  JobSpec spec = unique("k", KeyRule::until_done);
  spec.traits.idempotency_key = "r1";
  spec.traits.idempotency_ms = 5'000;
  const JobId first = take(spec);
  EXPECT_EQ(settle(lease_one(), SettleKind::ack), Code::ok);
  const JobId second = take(unique("k", KeyRule::until_done));
  expect_duplicate(spec, first);
  spec.traits.idempotency_key = "r2";
  expect_duplicate(spec, second);
  EXPECT_EQ(holder("r2", KeyKind::idempotency), 0u);  // it was refused: nothing is remembered
}

// ---- all of it

TEST_P(UniqueTest, ExportAndImportKeepWhatIsHeld) {
  take(unique("wait", KeyRule::until_started, 60'000));
  take(unique("dead", KeyRule::until_gone));
  take(unique("freed", KeyRule::until_done));
  const JobId once = take(idempotent("once", 60'000));
  const JobId late = take(debounced("late", 1'000, 5'000));
  const JobView jobs[] = {lease_one(), lease_one(), lease_one()};  // "wait" gives its key up
  EXPECT_EQ(settle(jobs[1], SettleKind::fail), Code::ok);
  EXPECT_EQ(settle(jobs[2], SettleKind::fail), Code::ok);
  const JobId wait = take(unique("wait", KeyRule::until_started, 60'000));
  EngineHarness other(options());
  ASSERT_TRUE(other.open().ok());
  QueueId there = 0;
  ExportVisitor visitor;
  CallOptions call;
  visitor.on_store = [&](const StoreImage& image) {
    return other.engine().import_begin(image.next_job_id, image.next_generation, call);
  };
  visitor.on_queue = [&](const QueueRow& row) -> Status {
    WQ_TRY_SET(there, other.engine().import_queue(row, call));
    return {};
  };
  visitor.on_job = [&](const JobImage& image) {
    return other.engine().import_jobs(there, {&image, 1}, call);
  };
  ASSERT_TRUE(harness_.engine().export_store("", visitor).ok());
  ASSERT_TRUE(other.engine().import_end(call).ok());
  ASSERT_TRUE(other.kill_and_open().ok());
  const auto holder_there = [&](KeyKind kind, std::string_view key) {
    const Result<JobId> id = other.engine().key_holder(there, kind, key);
    return id.ok() ? id.value() : 0;
  };
  EXPECT_EQ(holder_there(KeyKind::unique, "wait"), wait);
  EXPECT_EQ(holder_there(KeyKind::unique, "dead"), jobs[1].id);
  EXPECT_EQ(holder_there(KeyKind::unique, "freed"), 0u);
  EXPECT_EQ(holder_there(KeyKind::idempotency, "once"), once);
  EXPECT_EQ(holder_there(KeyKind::debounce, "late"), late);
  other.expect_sound();
}

TEST_P(UniqueTest, LimitsNameTheField) {
  const auto refused = [&](const JobSpec& spec) {
    CallOptions call;
    JobId id = 0;
    const Status status = harness_.engine().enqueue(queue_, spec, call, id);
    EXPECT_TRUE(status.is_error());
    return status.message().substr(0, status.message().find(':'));
  };
  const std::string long_key(513, 'k');
  EXPECT_EQ(refused(unique("", KeyRule::until_done)), "unique_key");
  EXPECT_EQ(refused(unique(long_key, KeyRule::until_done)), "unique_key");
  EXPECT_EQ(refused(unique("k", KeyRule::until_done, -1)), "unique_ttl_ms");
  EXPECT_EQ(refused(unique("k", static_cast<KeyRule>(5))), "unique_until");
  EXPECT_EQ(refused(unique("k", KeyRule::none)), "unique_until");
  EXPECT_EQ(refused(debounced("", 1)), "debounce_key");
  EXPECT_EQ(refused(debounced("k", 0)), "debounce_ms");
  EXPECT_EQ(refused(debounced("k", 10, 9)), "debounce_max_ms");
  JobSpec both = debounced("k", 10);
  both.delay_ms = 1;
  EXPECT_EQ(refused(both), "debounce_key");
  EXPECT_EQ(refused(idempotent("k", 0)), "idempotency_ms");
  EXPECT_EQ(refused(idempotent("", 1)), "idempotency_ms");
  EXPECT_EQ(refused(idempotent(long_key, 1)), "idempotency_key");
  JobSpec no_key;
  no_key.debounce_ms = 1;
  EXPECT_EQ(refused(no_key), "debounce_ms");
  take(unique(long_key.substr(1), KeyRule::until_done, delay_ms_max));
}

// ---- random operations against a model

struct ModelJob {
  KeyRule rule = KeyRule::none;
  std::string key;
  int64_t until_ms = 0;  // holds its key; 0 = does not
  enum class Place : uint8_t { waits, runs, dead, gone } place = Place::waits;
  Generation generation = 0;
};

class UniqueModel : public UniqueTest {
 protected:
  JobId model_holder(KeyKind kind, const std::string& key) {
    for (const auto& [id, job] : jobs_) {
      const bool held = job.place != ModelJob::Place::gone && now_ms() < job.until_ms;
      if (held && job.key == key && kind_of(job.rule) == kind) return id;
    }
    return 0;
  }
  JobId some(ModelJob::Place place) {
    std::vector<JobId> ids;
    for (const auto& [id, job] : jobs_) {
      if (job.place == place) ids.push_back(id);
    }
    return ids.empty() ? 0 : ids[prng_.below(ids.size())];
  }
  void model_end(JobId id) {
    jobs_[id].place = ModelJob::Place::gone;
    jobs_[id].until_ms = 0;
  }
  void model_death(JobId id) {
    jobs_[id].place = ModelJob::Place::dead;
    if (jobs_[id].rule != KeyRule::until_gone) jobs_[id].until_ms = 0;
  }

  void random_add() {
    ModelJob job;
    job.rule = static_cast<KeyRule>(1 + prng_.below(4));
    job.key = std::string(1, static_cast<char>('a' + prng_.below(5)));
    const int64_t time_ms = prng_.below(2) == 0 ? 0 : static_cast<int64_t>(200 + prng_.below(900));
    const bool debounce = job.rule == KeyRule::debounce;
    JobSpec spec = unique(job.key, job.rule, time_ms);
    if (debounce) spec.debounce_ms = static_cast<int64_t>(1 + prng_.below(200));
    if (!debounce && prng_.below(3) == 0) spec.delay_ms = 100;
    const JobId held = model_holder(kind_of(job.rule), job.key);
    CallOptions call;
    JobId id = 0;
    const Code code = harness_.engine().enqueue(queue_, spec, call, id).code();
    if (held != 0 && !debounce) {
      ASSERT_EQ(code, Code::duplicate);
      ASSERT_EQ(id, held);
      return;
    }
    ASSERT_EQ(code, Code::ok);
    job.until_ms = key_end_ms(now_ms(), time_ms);
    if (held != 0) {
      job.until_ms = jobs_[held].until_ms;
      model_end(held);
    }
    jobs_[id] = job;
  }
  void random_lease() {
    for (const JobView& job : harness_.lease(queue_, 1, 1'000'000'000)) {
      ModelJob& known = jobs_[job.id];
      ASSERT_EQ(known.place, ModelJob::Place::waits) << job.id;
      known.place = ModelJob::Place::runs;
      known.generation = job.generation;
      if (known.rule == KeyRule::until_started || known.rule == KeyRule::debounce) {
        known.until_ms = 0;
      }
    }
  }
  void random_settle() {
    const JobId id = some(ModelJob::Place::runs);
    if (id == 0) return;
    ModelJob& job = jobs_[id];
    SettleItem item{.id = id, .generation = job.generation};
    item.kind = static_cast<SettleKind>(1 + prng_.below(4));
    if (item.kind == SettleKind::nack) item.delay_ms = 10;
    const uint32_t attempts = harness_.engine().get(queue_, id).value().attempts;
    ASSERT_EQ(harness_.settle(queue_, item), Code::ok);
    if (item.kind == SettleKind::ack) return model_end(id);
    const bool lost = item.kind == SettleKind::nack && attempts >= 2;
    if (lost || item.kind == SettleKind::fail) return model_death(id);
    job.place = ModelJob::Place::waits;
  }
  void random_dead() {
    const JobId id = some(ModelJob::Place::dead);
    if (id == 0) return;
    ModelJob& job = jobs_[id];
    CallOptions call;
    if (prng_.below(3) == 0) {
      ASSERT_TRUE(harness_.engine().dead_remove(queue_, {id, job.generation}, call).ok());
      return model_end(id);
    }
    const bool retake = job.rule == KeyRule::until_done;
    const bool blocked = retake && model_holder(KeyKind::unique, job.key) != 0;
    const Result<JobView> view = harness_.engine().get(queue_, id);
    const int64_t ttl_ms = trusted_traits(view.value().body.bytes())->key_ms;
    ASSERT_EQ(harness_.engine().dead_replay(queue_, {id, job.generation}, call).code(),
              blocked ? Code::duplicate : Code::ok);
    if (blocked) return;
    job.place = ModelJob::Place::waits;
    if (retake) job.until_ms = key_end_ms(now_ms(), ttl_ms);
  }
  void random_end() {
    CallOptions call;
    switch (prng_.below(6)) {
      case 0: {
        uint32_t states = 1u << (1 + prng_.below(5));
        ASSERT_TRUE(harness_.engine().clear(queue_, states, call).ok());
        for (auto& [id, job] : jobs_) {
          if (job.place == ModelJob::Place::gone) continue;
          if (harness_.engine().get(queue_, id).ok()) continue;
          model_end(id);
        }
        return;
      }
      case 1: {
        const std::string key(1, static_cast<char>('a' + prng_.below(5)));
        const KeyKind kind = prng_.below(2) == 0 ? KeyKind::unique : KeyKind::debounce;
        const JobId held = model_holder(kind, key);
        const Result<JobId> id = harness_.engine().cancel_key(queue_, kind, key, call);
        if (held != 0 && jobs_[held].place == ModelJob::Place::dead) {
          ASSERT_EQ(id.status().code(), Code::conflict);
        } else {
          ASSERT_EQ(id.ok() ? id.value() : 0, held);
          if (held != 0) model_end(held);
        }
        return;
      }
      default: {
        const JobId id = some(prng_.below(2) == 0 ? ModelJob::Place::waits : ModelJob::Place::runs);
        if (id == 0) return;
        ASSERT_EQ(harness_.engine().cancel(queue_, id, call).code(), Code::ok);
        return model_end(id);
      }
    }
  }

  Prng prng_{test_seed()};
  std::map<JobId, ModelJob> jobs_;
};

TEST_P(UniqueModel, RandomOperationsKeepEachKeyWithOneHolder) {
  const int rounds = GetParam().store == StoreKind::rocks ? 700 : 3'000;
  for (int i = 0; i < rounds && !HasFatalFailure(); ++i) {
    SCOPED_TRACE("round " + std::to_string(i));
    switch (prng_.below(12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        random_add();
        break;
      case 4:
      case 5:
        random_lease();
        break;
      case 6:
      case 7:
        random_settle();
        break;
      case 8:
        random_dead();
        break;
      case 9:
        random_end();
        break;
      case 10:
        harness_.advance(static_cast<int64_t>(prng_.below(150)));
        break;
      default:
        if (prng_.below(GetParam().store == StoreKind::rocks ? 20 : 4) == 0) shake();
        break;
    }
  }
  harness_.expect_sound();
  clear(clearable_states);
  harness_.advance(10'000);
  EXPECT_EQ(rows_left(), 0u);
}

constexpr Mode modes[] = {{StoreKind::memory, Shake::nothing},
                          {StoreKind::memory, Shake::starved},
                          {StoreKind::memory, Shake::reopen},
                          {StoreKind::memory, Shake::kill},
                          {StoreKind::memory, Shake::checkpoint_and_kill}};

std::string mode_name(const testing::TestParamInfo<Mode>& mode) {
  const char* const names[] = {"nothing", "starved", "reopen", "kill", "checkpoint_and_kill"};
  return std::string(mode.param.store == StoreKind::memory ? "memory_" : "rocks_") +
         names[static_cast<size_t>(mode.param.shake)];
}

INSTANTIATE_TEST_SUITE_P(Memory, UniqueTest, testing::ValuesIn(modes), mode_name);
INSTANTIATE_TEST_SUITE_P(Memory, UniqueFate, testing::ValuesIn(modes), mode_name);
INSTANTIATE_TEST_SUITE_P(Memory, UniqueModel, testing::ValuesIn(modes), mode_name);
constexpr Mode rocks_mode[] = {{StoreKind::rocks, Shake::checkpoint_and_kill}};
INSTANTIATE_TEST_SUITE_P(Rocks, UniqueTest, testing::ValuesIn(rocks_mode), mode_name);
INSTANTIATE_TEST_SUITE_P(Rocks, UniqueModel, testing::ValuesIn(rocks_mode), mode_name);

}  // namespace
}  // namespace wq
