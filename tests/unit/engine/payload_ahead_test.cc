// Sealed payloads of jobs that are only to come (of a chain, of the end of a batch, of a schedule),
// sealed results, and what no file of a store may show of all that; on both stores.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "engine/cron.h"
#include "unit/engine/payload_fixture.h"

namespace wq {
namespace {

namespace fs = std::filesystem;

enum class Between : uint8_t { nothing, checkpoint, reopen, kill };
constexpr Between betweens[] = {Between::nothing, Between::checkpoint, Between::reopen,
                                Between::kill};

class PayloadAheadTest : public PayloadTest {
 protected:
  PayloadAheadTest() {
    plain_ = harness_.queue("plain");
    QueueConfig config;
    config.keep_done_count = 100;
    CallOptions call;
    EXPECT_TRUE(engine().configure(q_, config, config_keep_done, call).ok());
  }
  ~PayloadAheadTest() override { harness_.expect_sound(); }
  Engine& engine() { return harness_.engine(); }
  void pass(Between between) {
    if (between == Between::checkpoint) checkpoint();
    if (between == Between::reopen) reopen(harness_.options().keyring);
    if (between == Between::kill) {
      ASSERT_TRUE(harness_.kill_and_open().ok());
    }
  }
  static NextSpec next_of(std::string_view payload, std::string_view queue = {}) {
    NextSpec next{queue, {}};
    next.job.payload = as_bytes(payload);
    return next;
  }
  JobId push_chain(QueueId queue, std::string_view first, std::span<const NextSpec> chain) {
    JobSpec spec;
    spec.chain = chain;
    return harness_.enqueue(queue, first, spec);
  }
  // The payload of the next job and the key that it was sealed with, and its lease; "-": none.
  std::string take(QueueId queue) {
    const std::vector<JobView> jobs = harness_.lease(queue);
    if (jobs.empty()) return "-";
    job_ = jobs[0];
    return payload_of(job_) + " " + std::to_string(job_.key_id);
  }
  Code ack(QueueId queue, std::string_view result = {}) {
    SettleItem item{.id = job_.id, .generation = job_.generation};
    item.result = result;
    return harness_.settle(queue, item);
  }
  Result<uint64_t> create(std::string_view payload, std::string_view queue) {
    const NextSpec complete = next_of(payload, queue);
    CallOptions call;
    return engine().batch_create({false, &complete, nullptr}, call);
  }
  // Empty: it is there already as given.
  Result<bool> put(QueueId queue, std::string_view payload, EncryptWish wish = {}) {
    CronSpec spec;
    spec.expression = "@every 10s";
    spec.job.payload = as_bytes(payload);
    spec.job.encrypt = wish;
    CallOptions call;
    WQ_TRY(engine().cron_put(queue, "s", spec, call));
    return call.lsn != 0;
  }
  std::string result(QueueId queue, JobId id) {
    const Result<DoneJob> done = engine().history_get(queue, id);
    if (!done.ok()) return "?";
    const Result<DonePage> page = engine().history_list(queue, 0, 10);
    for (const DoneJob& job : page.value().jobs) {
      if (job.id != id) continue;
      EXPECT_EQ(job.result, done.value().result);
    }
    return done.value().result + " " + std::to_string(done.value().key_id) +
           (done.value().result_code == Code::ok ? "" : " unread");
  }

  QueueId plain_ = 0;
  JobView job_;
};

// The queue in which a job runs says whether it is sealed.
TEST_P(PayloadAheadTest, JobsOfAChainAreSealedAsTheirQueuesAre) {
  for (const Between between : betweens) {
    const NextSpec chain[] = {next_of("b", "q"), next_of("c"), next_of("d", "plain")};
    push_chain(plain_, "a", chain);
    EXPECT_EQ(keys_in_use(), "1*:2 ");
    pass(between);
    EXPECT_EQ(take(plain_), "a 0");
    EXPECT_EQ(ack(plain_), Code::ok);
    pass(between);
    EXPECT_EQ(take(q_), "b 1");
    EXPECT_EQ(keys_in_use(), "1*:2 ");
    EXPECT_EQ(ack(q_), Code::ok);
    EXPECT_EQ(take(q_), "c 1");
    pass(between);
    EXPECT_EQ(payload_of(get(job_.id)), "c");
    EXPECT_EQ(ack(q_), Code::ok);
    EXPECT_EQ(take(plain_), "d 0");
    EXPECT_EQ(ack(plain_), Code::ok);
    EXPECT_EQ(keys_in_use(), "1*:0 ");
  }
}

TEST_P(PayloadAheadTest, AJobOfAChainSaysForItselfWhetherItIsSealed) {
  NextSpec chain[] = {next_of("b"), next_of("c")};
  chain[0].job.encrypt = EncryptWish::yes;
  push_chain(plain_, "a", chain);
  chain[0].job.encrypt = EncryptWish::no;
  push_chain(q_, "a", chain);
  for (const char* const seen : {"a 0", "b 1", "c 0"}) {
    EXPECT_EQ(take(plain_), seen);
    EXPECT_EQ(ack(plain_), Code::ok);
  }
  for (const char* const seen : {"a 1", "b 0", "c 1"}) {
    EXPECT_EQ(take(q_), seen);
    EXPECT_EQ(ack(q_), Code::ok);
  }
}

TEST_P(PayloadAheadTest, WhatEndsABatchIsSealed) {
  for (const Between between : betweens) {
    const Result<uint64_t> batch = create("done", "q");
    ASSERT_TRUE(batch.ok()) << batch.status().message();
    EXPECT_EQ(keys_in_use(), "1*:1 ");
    pass(between);
    CallOptions call;
    ASSERT_TRUE(engine().batch_seal(batch.value(), call).ok());
    pass(between);
    EXPECT_EQ(take(q_), "done 1");
    EXPECT_EQ(ack(q_), Code::ok);
  }
}

TEST_P(PayloadAheadTest, ASchedulesPayloadIsSealedAndWhatIsThereAlreadyIsLeftAlone) {
  EXPECT_TRUE(put(q_, "tick").value());
  for (const Between between : betweens) {
    EXPECT_FALSE(put(q_, "tick").value()) << "the same was written again";
    pass(between);
    EXPECT_EQ(as_text(engine().cron_get("s").value().payload), "tick");
    EXPECT_EQ(engine().cron_get("s").value().key_id, 1u);
    harness_.advance(10'000);
    EXPECT_EQ(take(q_), "tick 1");
    EXPECT_EQ(ack(q_), Code::ok);
  }
  EXPECT_TRUE(put(q_, "tack").value());
  EXPECT_TRUE(put(q_, "tack", EncryptWish::no).value());
  EXPECT_FALSE(put(q_, "tack", EncryptWish::no).value());
  EXPECT_EQ(keys_in_use(), "1*:0 ");
  EXPECT_TRUE(put(plain_, "tack", EncryptWish::yes).value());
  // The next key: the same put seals it anew, so that the old one is not needed any more.
  reopen(keyring({{1, 'a'}, {2, 'b'}}));
  EXPECT_TRUE(put(plain_, "tack", EncryptWish::yes).value());
  EXPECT_FALSE(put(plain_, "tack", EncryptWish::yes).value());
  EXPECT_EQ(keys_in_use(), "1:0 2*:1 ");
}

TEST_P(PayloadAheadTest, AMissingKeyConcernsWhatItHasSealedAlone) {
  const NextSpec chain[] = {next_of("b")};
  push_chain(plain_, "a", chain);  // plain
  const NextSpec sealed[] = {next_of("s", "q")};
  push_chain(plain_, "a", sealed);
  ASSERT_TRUE(put(q_, "tick").ok());
  const JobId done = harness_.enqueue(q_, "x");
  EXPECT_EQ(take(q_), "x 1");
  EXPECT_EQ(ack(q_, "result"), Code::ok);
  reopen(keyring({{2, 'b'}}));
  EXPECT_EQ(keys_in_use(), "1?:3 2*:0 ");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(take(plain_), "a 0");
    EXPECT_EQ(ack(plain_), Code::ok);
  }
  EXPECT_EQ(take(plain_), "b 0");
  EXPECT_EQ(ack(plain_), Code::ok);
  EXPECT_EQ(take(q_), "-");
  const CronView view = engine().cron_get("s").value();
  EXPECT_EQ(view.payload_code, Code::no_key);
  EXPECT_TRUE(view.payload.empty());
  EXPECT_EQ(result(q_, done), " 1 unread");
  harness_.advance(10'000);
  EXPECT_EQ(engine().cron_get("s").value().state.fired, 1u);
  EXPECT_EQ(take(q_), "-");

  reopen(keyring({{1, 'a'}}));
  EXPECT_EQ(result(q_, done), "result 1");
  DeadBulk bulk;
  bulk.query.reason = DeadReason::unreadable;
  CallOptions call;
  DeadBulkReport report;
  ASSERT_TRUE(engine().dead_bulk(q_, bulk, call, report).ok());
  EXPECT_EQ(take(q_), "s 1");
  EXPECT_EQ(take(q_), "tick 1");
}

TEST_P(PayloadAheadTest, WithoutACurrentKeyNothingThatIsToBeSealedIsTaken) {
  harness_.enqueue(q_, "x");
  harness_.enqueue(q_, "y");
  static Keyring opens_only;
  ASSERT_TRUE(opens_only.find(1) || opens_only.add(1, as_bytes(key_of('a'))).ok());
  reopen(&opens_only);
  const uint64_t lsn = engine().stats().last_lsn;
  JobSpec spec;
  const NextSpec chain[] = {next_of("b"), next_of("c", "q")};
  spec.chain = chain;
  CallOptions call;
  JobId id = 0;
  const Status refused = engine().enqueue(plain_, spec, call, id);
  EXPECT_EQ(refused.code(), Code::no_key);
  EXPECT_TRUE(refused.message().starts_with("chain[1]: ")) << refused.message();
  EXPECT_EQ(create("done", "q").status().code(), Code::no_key);
  EXPECT_EQ(put(q_, "tick").status().code(), Code::no_key);
  EXPECT_EQ(engine().stats().last_lsn, lsn);
  EXPECT_EQ(take(q_), "x 1");
  EXPECT_EQ(ack(q_, "result"), Code::no_key);
  TxnOp op;
  op.kind = TxnOp::Kind::settle;
  op.queue = q_;
  op.settle = {.id = job_.id, .generation = job_.generation, .result = "result"};
  TxnResult out;
  size_t failed = 7;
  EXPECT_EQ(engine().transact({&op, 1}, call, {&out, 1}, failed).code(), Code::no_key);
  EXPECT_EQ(failed, 0u);
  EXPECT_EQ(ack(q_), Code::ok);
}

TEST_P(PayloadAheadTest, ResultsOfAHistoryAreSealedAsTheirJobs) {
  QueueConfig config;
  config.keep_done_count = 100;
  CallOptions call;
  ASSERT_TRUE(engine().configure(plain_, config, config_keep_done, call).ok());
  JobSpec wish;
  wish.encrypt = EncryptWish::yes;
  const std::string largest(result_bytes_max, 'r');
  const JobId ids[] = {harness_.enqueue(q_, "1"), harness_.enqueue(plain_, "2", wish),
                       harness_.enqueue(plain_, "3")};
  EXPECT_EQ(take(q_), "1 1");
  EXPECT_EQ(ack(q_, "one"), Code::ok);
  EXPECT_EQ(take(plain_), "2 1");
  TxnOp op;
  op.kind = TxnOp::Kind::settle;
  op.queue = plain_;
  op.settle = {.id = job_.id, .generation = job_.generation, .result = largest};
  TxnResult out;
  size_t failed = 0;
  ASSERT_TRUE(engine().transact({&op, 1}, call, {&out, 1}, failed).ok());
  EXPECT_EQ(take(plain_), "3 0");
  EXPECT_EQ(ack(plain_, "three"), Code::ok);
  for (const Between between : betweens) {
    pass(between);
    EXPECT_EQ(result(q_, ids[0]), "one 1");
    EXPECT_EQ(result(plain_, ids[1]), largest + " 1");
    EXPECT_EQ(result(plain_, ids[2]), "three 0");
    EXPECT_EQ(keys_in_use(), "1*:2 ");
  }
}

TEST_P(PayloadAheadTest, TheLargestAreSealedToo) {
  const std::string end(batch_job_bytes_max, 'e');
  const std::string tick(cron_payload_bytes_max, 't');
  const std::string next(chain_bytes_max / 2, 'n');
  const Result<uint64_t> batch = create(end, "q");
  ASSERT_TRUE(batch.ok()) << batch.status().message();
  CallOptions call;
  ASSERT_TRUE(engine().batch_seal(batch.value(), call).ok());
  ASSERT_TRUE(put(q_, tick).ok());
  harness_.advance(10'000);
  const NextSpec chain[] = {next_of(next), next_of(next)};
  push_chain(q_, "first", chain);
  for (const std::string& seen : {end, tick, std::string("first"), next, next}) {
    EXPECT_TRUE(take(q_) == seen + " 1") << seen.size();
    EXPECT_EQ(ack(q_), Code::ok);
  }
}

// ---- what the files show

bool is_in_a_file(const std::string& directory, const std::string& needle) {
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (!entry.is_regular_file()) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    if (bytes.find(needle) != std::string::npos) return true;
  }
  return false;
}

TEST_P(PayloadAheadTest, NoFileHasThePlaintextOrAKey) {
  if (GetParam() != StoreKind::rocks) GTEST_SKIP() << "there are no files";
  // Neither may be compressible: RocksDB's own compression must not hide what is looked for.
  const std::string secret = "Dw8x#kQ2!vB7@mZ4$hT9%cY1^rL6&nP3";
  const std::string open_text = "Fj5~gS0)eX8(uA2_iK7+oV4=wN9-yM1|";
  const QueueId both = harness_.queue("both", config_of(true, 16), packing_fields);
  const auto expect_hidden = [&](const std::string& directory, const char* when) {
    EXPECT_FALSE(is_in_a_file(directory, secret)) << when;
    EXPECT_FALSE(is_in_a_file(directory, key_of('a'))) << when;
    EXPECT_TRUE(is_in_a_file(directory, open_text)) << "the search finds nothing " << when;
  };
  const auto expect_hidden_now = [&](const char* when) {
    ASSERT_TRUE(engine().sync().ok());
    expect_hidden(harness_.directory(), when);
  };
  enqueue_in_every_way(harness_, q_, secret);
  enqueue_in_every_way(harness_, both, secret + secret + secret);
  const NextSpec chain[] = {next_of(secret), next_of(secret, "both")};
  push_chain(q_, secret, chain);
  const NextSpec to_q[] = {next_of(secret, "q")};
  push_chain(plain_, "first", to_q);
  CallOptions call;
  const NextSpec end = next_of(secret, "q");
  const Result<uint64_t> batch = engine().batch_create({false, &end, &end}, call);
  ASSERT_TRUE(batch.ok());
  ASSERT_TRUE(put(q_, secret).ok());
  JobSpec wish;
  wish.encrypt = EncryptWish::yes;
  harness_.enqueue(plain_, secret, wish);
  harness_.enqueue(plain_, open_text);
  expect_hidden_now("after the enqueue");
  checkpoint();
  expect_hidden_now("after a checkpoint");
  for (const JobView& job : harness_.lease(q_, 4)) {
    EXPECT_EQ(payload_of(job), secret);
    EXPECT_EQ(harness_.settle(q_, fail(job)), Code::ok);
  }
  ASSERT_TRUE(engine().batch_seal(batch.value(), call).ok());
  EXPECT_EQ(take(plain_), "first 0");
  EXPECT_EQ(ack(plain_), Code::ok);
  size_t acked = 0;
  for (; take(q_) == secret + " 1"; ++acked) EXPECT_EQ(ack(q_, secret), Code::ok);
  EXPECT_EQ(acked, ways - 2 - 4 + 4);  // those that wait and those that died; two chains, a batch
  harness_.advance(10'000);
  EXPECT_EQ(engine().cron_get("s").value().state.fired, 1u);
  expect_hidden_now("after deaths, results and what they set off");
  checkpoint();
  expect_hidden_now("in the database");
  const std::string backup = harness_.directory() + "-backup";
  ASSERT_TRUE(engine().backup(backup, {}).ok());
  expect_hidden(backup, "in a backup");
  ASSERT_TRUE(harness_.kill_and_open().ok());
  expect_hidden_now("after a kill");
  ASSERT_TRUE(harness_.close().ok());
  expect_hidden(harness_.directory(), "after the close");
  ASSERT_TRUE(harness_.open().ok());
  EXPECT_EQ(harness_.lease(both).size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(Stores, PayloadAheadTest,
                         testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& store) {
                           return store.param == StoreKind::memory ? "memory" : "rocks";
                         });

// ---- what it is bound to

class SealAheadTest : public testing::Test {
 protected:
  SealAheadTest() : packer_(*keys_, random_) {}
  std::string opened(const Packer::Packed& packed, std::string_view queue, JobId id) {
    Envelope envelope{packed.payload, {}, {}, 1, {}, packed.packing};
    std::vector<std::byte> storage;
    const Result<Bytes> payload = unpack_payload(*keys_, envelope, queue, id, storage);
    return payload.ok() ? std::string(as_text(payload.value())) : "-";
  }

  const Keyring* keys_ = keyring({{1, 'a'}});
  RandomBytes random_ = os_random_bytes;
  Packer packer_;
};

TEST_F(SealAheadTest, AJobToComeIsBoundToItsQueueAndAResultIsNoPayload) {
  const PackTarget target{"q", {true, 0}};
  const Packer::Packed ahead =
      packer_.pack_ahead(as_bytes("ahead"), target, EncryptWish::by_queue).value();
  EXPECT_EQ(opened(ahead, "q", 5), "ahead");
  EXPECT_EQ(opened(ahead, "q", 6), "ahead");
  EXPECT_EQ(opened(ahead, "p", 5), "-");
  std::vector<std::byte> claimed(ahead.payload.begin(), ahead.payload.end());
  store_le<uint64_t>(claimed.data() + 4 + seal_nonce_bytes, 5);
  EXPECT_EQ(opened({claimed, ahead.packing}, "q", 5), "-");

  const Bytes sealed = packer_.seal_result(as_bytes("result"), "q", 5).value();
  EXPECT_EQ(open_result(*keys_, sealed, "q", 5).value(), "result");
  EXPECT_FALSE(open_result(*keys_, sealed, "q", 6).ok());
  EXPECT_FALSE(open_result(*keys_, sealed, "p", 5).ok());
  EXPECT_EQ(opened({sealed, {packing_sealed, 6}}, "q", 5), "-") << "a result opens as a payload";
  // One that was for a job does not become one for any.
  std::vector<std::byte> freed(sealed.begin(), sealed.end());
  store_le<uint64_t>(freed.data() + 4 + seal_nonce_bytes, sealed_for_any_job);
  EXPECT_FALSE(open_result(*keys_, freed, "q", 5).ok());
}

}  // namespace
}  // namespace wq
