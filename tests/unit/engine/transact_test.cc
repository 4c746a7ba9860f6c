// Transactions: all or nothing, whatever refuses them and wherever the machine stops; what they do
// is what the single calls do; and replay gives the same state.
#include <gtest/gtest.h>

#include <map>

#include "support/engine_harness.h"
#include "test_seed.h"

namespace wq {
namespace {

TxnOp enqueue_op(QueueId queue, std::string_view payload, int64_t delay_ms = 0) {
  TxnOp op;
  op.kind = TxnOp::Kind::enqueue;
  op.queue = queue;
  op.spec.payload = as_bytes(payload);
  op.spec.delay_ms = delay_ms;
  return op;
}

TxnOp keyed_op(QueueId queue, std::string_view payload, KeyRule rule, std::string_view key) {
  TxnOp op = enqueue_op(queue, payload);
  op.spec.traits.key_rule = rule;
  op.spec.traits.key = key;
  return op;
}

TxnOp settle_op(QueueId queue, const SettleItem& item) {
  TxnOp op;
  op.kind = TxnOp::Kind::settle;
  op.queue = queue;
  op.settle = item;
  return op;
}

TxnOp ack_op(QueueId queue, JobId id, Generation generation) {
  return settle_op(queue, {.id = id, .generation = generation});
}

TxnOp kv_op(KvVerb verb, std::string_view key, std::string_view value = {},
            const KvCondition& condition = {}) {
  TxnOp op;
  op.kind = TxnOp::Kind::kv;
  op.kv.verb = verb;
  op.kv.key = key;
  op.kv.value = value;
  op.kv.condition = condition;
  return op;
}

TxnOp add_op(std::string_view key, int64_t delta) {
  TxnOp op = kv_op(KvVerb::add, key);
  op.kv.delta = delta;
  return op;
}

struct Answer {
  Status status;
  size_t failed = 0;
  std::vector<TxnResult> results;
  Lsn lsn = 0;
};

Answer transact(Engine& engine, const std::vector<TxnOp>& ops,
                Durability level = Durability::process) {
  Answer out;
  out.results.resize(ops.size());
  CallOptions call;
  call.durability = static_cast<uint32_t>(level);
  out.status = engine.transact(ops, call, out.results, out.failed);
  out.lsn = call.lsn;
  return out;
}

// All that a transaction may touch, as text.
std::string picture(Engine& engine) {
  std::string out;
  const std::vector<std::string> names = engine.queue_names().value();
  for (const std::string& name : names) {
    CallOptions call;
    const QueueId id = engine.open_queue(name, {}, 0, false, call).value();
    const QueueStats stats = engine.queue_stats(id).value();
    const QueueTotals& t = stats.totals;
    out += name + ":";
    for (size_t i = 1; i < job_state_count; ++i) out += " " + std::to_string(stats.counts[i]);
    for (const uint64_t total : {t.enqueued, t.acked, t.nacked, t.failed, t.released, t.dead}) {
      out += " " + std::to_string(total);
    }
    out += "\n";
  }
  const KvPage page = engine.kv_list("", "", 1000).value();
  for (size_t i = 0; i < page.keys.size(); ++i) {
    const KvEntry& entry = page.entries[i];
    out += page.keys[i] + "=" + entry.value + " @" + std::to_string(entry.version) + " until " +
           std::to_string(entry.expires_ms) + "\n";
  }
  return out;
}

class TransactTest : public testing::TestWithParam<StoreKind> {
 protected:
  TransactTest() : harness_(options()) {
    EXPECT_TRUE(harness_.open().ok());
    a_ = harness_.queue("a");
    b_ = harness_.queue("b");
  }
  static HarnessOptions options() {
    HarnessOptions options;
    options.store = GetParam();
    options.engine.segment_bytes = 64 << 10;  // a kill copies the simulated disk
    return options;
  }
  Engine& engine() { return harness_.engine(); }
  Answer run(const std::vector<TxnOp>& ops) { return transact(engine(), ops); }
  JobView leased(QueueId queue, std::string_view payload = "job") {
    harness_.enqueue(queue, payload);
    std::vector<JobView> jobs = harness_.lease(queue);
    EXPECT_EQ(jobs.size(), 1u);
    return std::move(jobs[0]);
  }
  std::string get(std::string_view key) {
    const Result<KvEntry> entry = engine().kv_get(key);
    return entry.ok() ? entry.value().value : "-";
  }
  void put(std::string_view key, std::string_view value) {
    CallOptions call;
    call.durability = static_cast<uint32_t>(Durability::process);
    ASSERT_TRUE(engine().kv_put(key, KvPut{value, 0, {}}, call).ok());
  }
  void checkpoint() { ASSERT_TRUE(engine().checkpoint().ok()); }
  void reopen() {
    ASSERT_TRUE(harness_.close().ok());
    ASSERT_TRUE(harness_.open().ok());
  }
  void expect_same_after_kill() {
    const std::string before = picture(engine());
    const Status status = harness_.kill_and_open();
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(picture(engine()), before);
  }

  EngineHarness harness_;
  QueueId a_ = 0, b_ = 0;
};

// "Ack this, enqueue these, remember that."
TEST_P(TransactTest, DoesAllThatTheSingleCallsDoInOneRecord) {
  const JobView one = leased(a_), two = leased(a_), three = leased(b_);
  put("gone", "x");
  put("n", "40");
  const Lsn before = engine().stats().last_lsn;
  const std::string long_error(error_bytes_max + 100, 'e');
  const Answer answer = run({
      ack_op(a_, one.id, one.generation),
      enqueue_op(b_, "first"),
      kv_op(KvVerb::put, "seen", "yes"),
      settle_op(a_, {.id = two.id,
                     .generation = two.generation,
                     .kind = SettleKind::fail,
                     .error = long_error}),
      enqueue_op(a_, "later", 5'000),
      enqueue_op(b_, "second"),
      add_op("n", 2),
      kv_op(KvVerb::erase, "gone"),
      kv_op(KvVerb::erase, "never there"),
      settle_op(b_, {.id = three.id,
                     .generation = three.generation,
                     .kind = SettleKind::nack,
                     .delay_ms = 0}),
  });
  ASSERT_TRUE(answer.status.ok()) << answer.status.message();
  EXPECT_EQ(answer.lsn, before + 1);
  EXPECT_EQ(engine().stats().last_lsn, before + 1);
  EXPECT_EQ(answer.results[1].job_id, three.id + 1);
  EXPECT_EQ(answer.results[4].job_id, three.id + 2);
  EXPECT_EQ(answer.results[5].job_id, three.id + 3);
  EXPECT_EQ(answer.results[6].sum, 42);
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(get("seen"), "yes");
    EXPECT_EQ(engine().kv_get("seen").value().version, answer.lsn);
    EXPECT_EQ(get("n"), "42");
    EXPECT_EQ(get("gone"), "-");
    EXPECT_EQ(engine().get(a_, one.id).status().code(), Code::not_found);
    EXPECT_EQ(engine().get(a_, two.id).value().last_error.size(), error_bytes_max);
    EXPECT_EQ(engine().get(b_, three.id).value().state, JobState::ready);
    EXPECT_EQ(engine().get(a_, answer.results[4].job_id).value().state, JobState::delayed);
    if (round == 0) expect_same_after_kill();
    if (round == 1) reopen();
  }
  harness_.advance(5'000);
  const std::vector<JobView> later = harness_.lease(a_);
  ASSERT_EQ(later.size(), 1u);
  EXPECT_EQ(payload_of(later[0]), "later");
  std::string order;
  for (const JobView& job : harness_.lease(b_, 10)) order += payload_of(job) + " ";
  EXPECT_EQ(order, "first second job ");
  harness_.expect_sound();
}

// Whatever refuses one operation, wherever it stands: its index is told, and nothing has happened,
// not even a record.
TEST_P(TransactTest, OneRefusalUndoesNothingSinceNothingWasDone) {
  const JobView held = leased(a_);
  const JobView lost = leased(a_);
  harness_.advance(60'001);  // both leases ran out
  const std::vector<JobView> again = harness_.lease(a_, 2);
  ASSERT_EQ(again.size(), 2u);
  const JobView& now = again[0];
  put("k", "value");
  put("word", "no number");
  const QueueId off = harness_.queue("off");
  CallOptions call;
  ASSERT_TRUE(engine().change_status(off, Engine::StatusChange::disable, call).ok());
  const QueueId gone = harness_.queue("gone");
  ASSERT_TRUE(engine().remove_queue(gone, call).ok());
  struct Case {
    const char* what;
    TxnOp op;
    Code code;
  };
  const std::string long_key(key_bytes_max + 1, 'k');
  const std::string big(kv_value_bytes_max + 1, 'v');
  const Case cases[] = {
      {"stale token", ack_op(a_, held.id, held.generation), Code::stale},
      {"token of another queue", ack_op(b_, now.id, now.generation), Code::not_found},
      {"no such job", ack_op(a_, 999'999, 1), Code::not_found},
      {"token named twice", ack_op(a_, now.id, now.generation), Code::stale},
      {"disabled queue", enqueue_op(off, "x"), Code::disabled},
      {"deleted queue", enqueue_op(gone, "x"), Code::not_found},
      {"settle in a deleted queue", ack_op(gone, now.id, now.generation), Code::not_found},
      {"bad delay", enqueue_op(a_, "x", -1), Code::invalid},
      {"version", kv_op(KvVerb::put, "k", "2", {.flags = kv_if_version, .version = 1}),
       Code::conflict},
      {"absent", kv_op(KvVerb::put, "k", "2", {.flags = kv_if_absent}), Code::conflict},
      {"value", kv_op(KvVerb::erase, "k", "", {.flags = kv_if_value, .value = "x"}),
       Code::conflict},
      {"check", kv_op(KvVerb::check, "k", "", {.flags = kv_if_value, .value = "x"}),
       Code::conflict},
      {"check of nothing", kv_op(KvVerb::check, "none", "", {.flags = kv_if_version}),
       Code::conflict},
      {"no counter", add_op("word", 1), Code::conflict},
      {"key named twice", kv_op(KvVerb::put, "first", "2"), Code::invalid},
      {"long key", kv_op(KvVerb::put, long_key, "2"), Code::too_large},
      {"big value", kv_op(KvVerb::put, "k", big), Code::too_large},
      {"check without a condition", kv_op(KvVerb::check, "k"), Code::invalid},
  };
  const std::string before = picture(engine());
  const Lsn lsn = engine().stats().last_lsn;
  for (const Case& c : cases) {
    for (size_t place = 3; place <= 4; ++place) {
      std::vector<TxnOp> ops = {enqueue_op(b_, "x"), ack_op(a_, now.id, now.generation),
                                kv_op(KvVerb::put, "first", "1"), enqueue_op(a_, "y")};
      ops.insert(ops.begin() + static_cast<ptrdiff_t>(place), c.op);
      const Answer answer = run(ops);
      EXPECT_EQ(answer.status.code(), c.code) << c.what << ": " << answer.status.message();
      EXPECT_EQ(answer.failed, place) << c.what;
      EXPECT_NE(answer.status.message().find("ops[" + std::to_string(place) + "]"),
                std::string::npos)
          << c.what << ": " << answer.status.message();
      for (const TxnResult& result : answer.results) EXPECT_EQ(result.job_id, 0u) << c.what;
      EXPECT_EQ(picture(engine()), before) << c.what;
    }
  }
  EXPECT_EQ(engine().stats().last_lsn, lsn);
  EXPECT_EQ(run({}).status.code(), Code::invalid);
  expect_same_after_kill();
  // The token is still good, and so is the same transaction without the offender.
  EXPECT_TRUE(run({enqueue_op(b_, "x"), ack_op(a_, now.id, now.generation)}).status.ok());
  harness_.expect_sound();
}

// An enqueue alone may drop another job, or be a question only.
TEST_P(TransactTest, TakesNoPartOfWhatDependsOnOtherJobs) {
  CallOptions call;
  QueueConfig small;
  small.max_depth = 1;
  small.full_policy = FullPolicy::drop_oldest;
  const QueueId full =
      engine().open_queue("full", small, config_max_depth | config_full_policy, true, call).value();
  harness_.enqueue(full, "stays");
  TxnOp dry = enqueue_op(a_, "x");
  dry.spec.dry_run = true;
  const std::pair<TxnOp, Code> cases[] = {{enqueue_op(full, "x"), Code::full},
                                          {dry, Code::invalid}};
  const std::string before = picture(engine());
  for (const auto& [op, code] : cases) {
    const Answer answer = run({enqueue_op(b_, "x"), op});
    EXPECT_EQ(answer.status.code(), code) << answer.status.message();
    EXPECT_EQ(answer.failed, 1u);
    EXPECT_EQ(picture(engine()), before);
  }
}

// A unique key that is held refuses all, wherever the holder is and whether it is older or new.
TEST_P(TransactTest, AHeldKeyRefusesAll) {
  const TxnOp keyed = keyed_op(a_, "x", KeyRule::until_done, "k");
  TxnOp once = enqueue_op(b_, "x");
  once.spec.traits.idempotency_key = "k";
  once.spec.traits.idempotency_ms = 60'000;
  Answer answer = run({kv_op(KvVerb::put, "n", "1"), keyed, once});
  ASSERT_TRUE(answer.status.ok()) << answer.status.message();
  const JobId holder = answer.results[1].job_id;
  const JobId first = answer.results[2].job_id;
  for (int how = 0; how < 4; ++how) {
    SCOPED_TRACE(how);
    if (how == 1) checkpoint();
    if (how == 2) reopen();  // both are only in the store
    if (how == 3) expect_same_after_kill();
    const std::string before = picture(engine());
    for (const auto& [op, id] : {std::pair{keyed, holder}, {once, first}}) {
      answer = run({enqueue_op(b_, "y"), kv_op(KvVerb::put, "n", "2"), op, enqueue_op(a_, "y")});
      EXPECT_EQ(answer.status.code(), Code::duplicate);
      EXPECT_EQ(answer.failed, 2u);
      EXPECT_EQ(answer.results[2].job_id, id);
      EXPECT_EQ(answer.results[0].job_id, 0u);
      EXPECT_EQ(picture(engine()), before);
    }
  }
  const TxnOp other = keyed_op(a_, "x", KeyRule::until_done, "other");
  EXPECT_EQ(run({other, other}).status.code(), Code::duplicate);
  EXPECT_TRUE(run({other, keyed_op(b_, "x", KeyRule::until_done, "other")}).status.ok())
      << "keys are of a queue";
  expect_same_after_kill();
  EXPECT_EQ(run({other}).status.code(), Code::duplicate);
  harness_.expect_sound();
}

// "Ack this and enqueue the next one of its key": the key goes from the one to the other.
TEST_P(TransactTest, TheKeyOfAnAckedJobIsFreeForTheNext) {
  const TxnOp keyed = keyed_op(a_, "x", KeyRule::until_done, "k");
  JobId holder = run({keyed}).results[0].job_id;
  for (int how = 0; how < 3; ++how) {
    SCOPED_TRACE(how);
    const std::vector<JobView> jobs = harness_.lease(a_);
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(jobs[0].id, holder);
    const TxnOp ack = ack_op(a_, jobs[0].id, jobs[0].generation);
    TxnOp nack = ack;
    nack.settle.kind = SettleKind::nack;
    EXPECT_EQ(run({nack, keyed}).status.code(), Code::duplicate) << "it goes on holding it";
    EXPECT_EQ(run({keyed, ack}).status.code(), Code::duplicate) << "the ack comes later";
    if (how == 1) checkpoint();
    const Answer answer = run({ack, keyed});
    ASSERT_TRUE(answer.status.ok()) << answer.status.message();
    holder = answer.results[1].job_id;
    if (how == 2) checkpoint();
    expect_same_after_kill();
    EXPECT_EQ(run({keyed}).status.code(), Code::duplicate);
    harness_.expect_sound();
  }
}

// A debounced job takes the place of the one before it, which may be only in the store.
TEST_P(TransactTest, DebouncedJobsTakePlaces) {
  TxnOp debounced = keyed_op(a_, "old", KeyRule::debounce, "k");
  debounced.spec.debounce_ms = 1'000;
  ASSERT_TRUE(run({debounced}).status.ok());
  checkpoint();
  reopen();
  harness_.advance(500);
  debounced.spec.payload = as_bytes("newer");
  TxnOp last = debounced;
  last.spec.payload = as_bytes("last");
  ASSERT_TRUE(run({debounced, enqueue_op(b_, "x"), last}).status.ok());
  expect_same_after_kill();
  harness_.advance(999);
  EXPECT_EQ(harness_.lease(a_, 10).size(), 0u);
  harness_.advance(1);
  const std::vector<JobView> jobs = harness_.lease(a_, 10);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(payload_of(jobs[0]), "last");
  EXPECT_EQ(engine().queue_stats(a_).value().totals.cancelled, 2u);
  harness_.expect_sound();
}

TEST_P(TransactTest, ConditionsAloneWriteNothing) {
  put("k", "v");
  const Lsn before = engine().stats().last_lsn;
  const Answer answer = run({kv_op(KvVerb::check, "k", "", {.flags = kv_if_value, .value = "v"}),
                             kv_op(KvVerb::check, "none", "", {.flags = kv_if_absent})});
  EXPECT_TRUE(answer.status.ok());
  EXPECT_EQ(answer.lsn, 0u);
  EXPECT_EQ(engine().stats().last_lsn, before);
}

// A lock is a row: work is only recorded by who still holds it.
TEST_P(TransactTest, ALockFencesASettle) {
  const JobView job = leased(a_);
  CallOptions call;
  ASSERT_TRUE(engine().kv_put("lock", KvPut{"me", 1'000, {}}, call).ok());
  const std::vector<TxnOp> ops = {
      kv_op(KvVerb::check, "lock", "", {.flags = kv_if_value, .value = "me"}),
      ack_op(a_, job.id, job.generation)};
  harness_.advance(1'000);
  EXPECT_EQ(run(ops).status.code(), Code::conflict);
  ASSERT_TRUE(engine().kv_put("lock", KvPut{"me", 1'000, {}}, call).ok());
  EXPECT_TRUE(run(ops).status.ok());
}

TEST_P(TransactTest, EndsWhatAShutdownWaitsFor) {
  const JobView job = leased(a_);
  EXPECT_EQ(engine().shutdown(0).code(), Code::timeout);
  EXPECT_TRUE(run({ack_op(a_, job.id, job.generation), enqueue_op(b_, "x")}).status.ok());
  EXPECT_TRUE(engine().shutdown(0).ok());
}

// Random transactions against a map of the rows, with kills, closes and checkpoints between.
TEST_P(TransactTest, RandomTransactionsAndReplaysAgree) {
  Prng prng(test_seed());
  std::map<std::string, std::string> rows;
  const int rounds = GetParam() == StoreKind::rocks ? 120 : 600;
  for (int i = 0; i < rounds; ++i) {
    std::vector<JobView> held = harness_.lease(a_, static_cast<uint32_t>(1 + prng.below(3)));
    std::vector<TxnOp> ops;
    std::map<std::string, std::string> next = rows;
    std::vector<std::string> keys;
    keys.reserve(8);
    bool refused = false;
    for (const JobView& job : held) {
      SettleItem item{.id = job.id, .generation = job.generation};
      item.kind = static_cast<SettleKind>(1 + prng.below(4));
      if (prng.below(20) == 0) item.generation += 1'000;
      refused |= item.generation != job.generation;
      ops.push_back(settle_op(a_, item));
    }
    for (uint64_t n = prng.below(4); n > 0; --n) ops.push_back(enqueue_op(a_, "job"));
    const uint64_t first = prng.below(10);
    for (uint64_t n = 0; n < prng.below(4); ++n) {
      keys.push_back("k" + std::to_string((first + n) % 10));
      const std::string& key = keys.back();
      const bool there = rows.contains(key);
      switch (prng.below(4)) {
        case 0:
          ops.push_back(kv_op(KvVerb::put, key, "7", {.flags = prng.below(2) ? kv_if_absent : 0u}));
          refused |= there && ops.back().kv.condition.flags != 0;
          next[key] = "7";
          break;
        case 1:
          ops.push_back(kv_op(KvVerb::erase, key));
          next.erase(key);
          break;
        default:
          ops.push_back(add_op(key, 3));
          next[key] = std::to_string((there ? std::stoi(rows[key]) : 0) + 3);
          break;
      }
    }
    if (ops.empty()) continue;
    const std::string before = picture(engine());
    const Answer answer = run(ops);
    ASSERT_EQ(answer.status.ok(), !refused) << i << ": " << answer.status.message();
    if (refused) {
      ASSERT_EQ(picture(engine()), before) << i;
    } else {
      rows = next;
    }
    for (const auto& [key, value] : rows) ASSERT_EQ(get(key), value) << i;
    const uint64_t turn = prng.below(20);
    if (turn < 2) checkpoint();
    if (turn == 2 || turn == 3) expect_same_after_kill();
    if (turn == 4) reopen();
  }
  harness_.expect_sound();
}

INSTANTIATE_TEST_SUITE_P(Stores, TransactTest, testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

// A transaction comes between two steps of a checkpoint, which knows nothing of it.
TEST(Transact, InTheMiddleOfACheckpoint) {
  EngineHarness* store = nullptr;
  bool armed = false;
  QueueId q = 0;
  JobView job;
  HarnessOptions options;
  options.between_steps = [&] {
    if (!std::exchange(armed, false)) return;
    const Answer answer =
        transact(store->engine(), {ack_op(q, job.id, job.generation), enqueue_op(q, "next"),
                                   kv_op(KvVerb::put, "new", "1"), kv_op(KvVerb::put, "old", "2"),
                                   kv_op(KvVerb::erase, "gone")});
    EXPECT_TRUE(answer.status.ok()) << answer.status.message();
  };
  EngineHarness harness(options);
  store = &harness;
  ASSERT_TRUE(harness.open().ok());
  q = harness.queue("q");
  harness.enqueue(q, "job");
  ASSERT_TRUE(
      transact(harness.engine(), {kv_op(KvVerb::put, "old", "1"), kv_op(KvVerb::put, "gone", "1")})
          .status.ok());
  job = harness.lease(q).at(0);
  armed = true;
  ASSERT_TRUE(harness.engine().checkpoint().ok());
  EXPECT_FALSE(armed);
  const std::string before = picture(harness.engine());
  ASSERT_TRUE(harness.kill_and_open().ok());
  EXPECT_EQ(picture(harness.engine()), before);
  EXPECT_EQ(harness.engine().kv_get("old").value().value, "2");
  EXPECT_EQ(harness.engine().kv_get("gone").status().code(), Code::empty);
  harness.expect_sound();
}

// The power goes at each event of the disk while a transaction is written: afterwards all of it is
// there or nothing, and all of it once it was acknowledged.
TEST(Transact, IsWholeOrNotThereWhereverThePowerGoes) {
  EngineHarness harness;
  harness.options().engine.segment_bytes = 64 << 10;
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  harness.enqueue(q, "job");
  const JobView job = harness.lease(q).at(0);
  ASSERT_TRUE(harness.engine().sync().ok());
  const std::string before = picture(harness.engine());
  harness.disk().start_recording();
  const std::string payload(20'000, 'p');  // over several sectors and blocks
  const Answer answer = transact(harness.engine(),
                                 {enqueue_op(q, payload), ack_op(q, job.id, job.generation),
                                  kv_op(KvVerb::put, "k", payload), enqueue_op(q, "small")},
                                 Durability::power);
  ASSERT_TRUE(answer.status.ok()) << answer.status.message();
  const std::string after = picture(harness.engine());
  int whole = 0, none = 0;
  for (SimHistory history(harness.disk()); history.step();) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
      CrashImage crash;
      crash.data = seed == 0   ? CrashData::none
                   : seed == 1 ? CrashData::all
                   : seed == 2 ? CrashData::torn
                               : CrashData::random;
      crash.names = seed == 1 ? CrashNames::all : CrashNames::none;
      crash.seed = seed;
      SimDisk disk = history.disk().image(crash);
      const std::unique_ptr<Io> io = disk.mount();
      ManualClock clock;
      Environment environment;
      environment.io = io.get();
      environment.clock = &clock;
      environment.open_store = [content = make_mem_store_content()](const StoreOptions&) {
        return open_mem_store(content);
      };
      EngineOptions options = harness.options().engine;
      options.directory = harness.directory();
      Result<std::unique_ptr<Engine>> engine = Engine::open(options, environment);
      ASSERT_TRUE(engine.ok()) << engine.status().message();
      const std::string found = picture(*engine.value());
      ASSERT_TRUE(found == before || found == after) << found;
      (found == after ? whole : none) += 1;
    }
  }
  EXPECT_GT(whole, 0);
  EXPECT_GT(none, 0);
  ASSERT_TRUE(harness.cut_and_open(CrashImage{}).ok());
  EXPECT_EQ(picture(harness.engine()), after);
}

}  // namespace
}  // namespace wq
