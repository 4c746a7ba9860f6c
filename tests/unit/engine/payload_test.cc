// Sealed and compressed payloads of jobs: what comes out, which keys open it, and what becomes of a
// job that none of them opens; on both stores.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "engine/packing.h"
#include "engine/payload_compress.h"
#include "engine/salvage.h"
#include "unit/engine/payload_fixture.h"

namespace wq {
namespace {

TEST_P(PayloadTest, EveryWayOutIsPlain) {
  enqueue_in_every_way(harness_, q_, "secret");
  harness_.advance(1'000);  // the debounced one is due
  EXPECT_EQ(harness_.engine().queue_stats(q_).value().counts[1], ways - 1);
  const std::vector<JobView> jobs = harness_.lease(q_, 3);
  ASSERT_EQ(jobs.size(), 3u);
  for (const JobView& job : jobs) EXPECT_EQ(payload_of(job), "secret");
  EXPECT_EQ(harness_.settle(q_, fail(jobs[0])), Code::ok);
  EXPECT_EQ(harness_.nack(q_, jobs[1].id, jobs[1].generation, 0), Code::ok);
  for (int round = 0; round < 3; ++round) {  // hot, on disk only, replayed from the log
    for (const JobView& job : jobs) EXPECT_EQ(payload_of(get(job.id)), "secret") << round;
    EXPECT_EQ(get(jobs[0].id).key_id, 1u);
    const Result<DeadPage> page = harness_.engine().dead_list(q_, {});
    ASSERT_EQ(page.value().jobs.size(), 1u);
    EXPECT_EQ(payload_of(page.value().jobs[0]), "secret");
    if (round == 0) checkpoint();
    if (round == 0) reopen(keyring({{1, 'a'}}));
    if (round == 1) {
      ASSERT_TRUE(harness_.kill_and_open().ok());
    }
  }
  CallOptions call;
  ASSERT_TRUE(harness_.engine().dead_replay(q_, {jobs[0].id, jobs[0].generation}, call).ok());
  std::set<JobId> seen;
  for (const JobView& job : harness_.lease(q_, 100)) {
    EXPECT_EQ(payload_of(job), "secret");
    seen.insert(job.id);
  }
  EXPECT_TRUE(seen.contains(jobs[0].id) && seen.contains(jobs[1].id));
  harness_.expect_sound();
}

TEST_P(PayloadTest, AnOldKeyReadsOldJobsAndAMissingOneBuriesThemAlone) {
  const JobId old_job = harness_.enqueue(q_, "old");
  reopen(keyring({{1, 'a'}, {2, 'b'}}));
  const JobId new_job = harness_.enqueue(q_, "new");
  EXPECT_EQ(keys_in_use(), "1:1 2*:1 ");
  EXPECT_EQ(payload_of(get(old_job)), "old");

  reopen(keyring({{2, 'b'}}));
  EXPECT_EQ(keys_in_use(), "1?:1 2*:1 ");
  const JobView unread = get(old_job);
  EXPECT_EQ(unread.payload_code, Code::no_key);
  EXPECT_EQ(payload_of(unread), "");
  EXPECT_EQ(unread.key_id, 1u);
  std::vector<JobView> jobs = harness_.lease(q_, 10);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].id, new_job);
  EXPECT_EQ(payload_of(jobs[0]), "new");
  JobView dead = get(old_job);
  EXPECT_EQ(dead.state, JobState::dead);
  EXPECT_EQ(dead.reason, DeadReason::unreadable);
  EXPECT_EQ(dead.last_error, "the payload of job " + std::to_string(old_job) +
                                 " is sealed with key 1, which the store was not given");
  EXPECT_EQ(lease_code(q_), Code::empty);
  ASSERT_TRUE(harness_.kill_and_open().ok());

  reopen(keyring({{1, 'a'}, {2, 'b'}}));
  DeadBulk bulk;
  bulk.query.reason = DeadReason::unreadable;
  CallOptions call;
  DeadBulkReport report;
  ASSERT_TRUE(harness_.engine().dead_bulk(q_, bulk, call, report).ok());
  jobs = harness_.lease(q_);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(payload_of(jobs[0]), "old");
  EXPECT_EQ(jobs[0].id, old_job);
  harness_.expect_sound();
}

// Another key under the known id. Nothing readable stands behind: the lease comes to the end.
TEST_P(PayloadTest, AWrongKeyOpensNothing) {
  for (int i = 0; i < 3; ++i) harness_.enqueue(q_, "secret");
  reopen(keyring({{1, 'x'}}));
  EXPECT_EQ(lease_code(q_), Code::empty);
  const Result<DeadPage> page = harness_.engine().dead_list(q_, {});
  ASSERT_EQ(page.value().jobs.size(), 3u);
  for (const JobView& job : page.value().jobs) {
    EXPECT_EQ(job.payload_code, Code::no_key);
    EXPECT_EQ(job.reason, DeadReason::unreadable);
    EXPECT_EQ(payload_of(job), "");
    EXPECT_EQ(job.last_error.find("key x"), std::string::npos);
  }
  harness_.expect_sound();
}

TEST_P(PayloadTest, WithoutKeysAQueueThatEncryptsIsShutAndNoJobIsLost) {
  harness_.enqueue(q_, "secret");
  const QueueId plain = harness_.queue("plain");
  reopen(nullptr);
  JobSpec spec;
  EXPECT_EQ(enqueue_code(q_, spec), Code::no_key);
  spec.traits.key_rule = KeyRule::until_done;
  spec.traits.key = "k";
  EXPECT_EQ(enqueue_code(q_, spec), Code::no_key);
  EXPECT_EQ(lease_code(q_), Code::no_key);
  std::vector<TxnOp> ops(2);
  ops[0].queue = plain;
  ops[1].queue = q_;
  std::vector<TxnResult> results(2);
  size_t failed = 0;
  CallOptions call;
  EXPECT_EQ(harness_.engine().transact(ops, call, results, failed).code(), Code::no_key);
  EXPECT_EQ(failed, 1u);
  JobSpec dry;
  dry.dry_run = true;
  EXPECT_EQ(enqueue_code(q_, dry), Code::no_key);
  // The job decides for itself, either way.
  JobSpec sealed;
  sealed.encrypt = EncryptWish::yes;
  EXPECT_EQ(enqueue_code(plain, sealed), Code::no_key);
  JobSpec open;
  open.encrypt = EncryptWish::no;
  EXPECT_EQ(enqueue_code(q_, open), Code::ok);
  EXPECT_EQ(enqueue_code(plain, {}), Code::ok);
  reopen(keyring({{1, 'a'}}));
  EXPECT_EQ(enqueue_code(plain, sealed), Code::ok);
  EXPECT_EQ(keys_in_use(), "1*:2 ");
  EXPECT_EQ(harness_.lease(q_, 10).size(), 2u);
  EXPECT_EQ(harness_.lease(plain, 10).size(), 2u);
  harness_.expect_sound();
}

TEST_P(PayloadTest, LargePayloadsAreCompressedIfThatMakesThemSmaller) {
  const QueueId queue = harness_.queue("large", config_of(false, 1'000), packing_fields);
  std::string noise(2'000, '\0');
  os_random_bytes(std::as_writable_bytes(std::span(noise)));
  struct Case {
    std::string payload;
    bool packed;
  };
  const Case cases[] = {{std::string(999, 'x'), false},
                        {std::string(1'000, 'x'), true},
                        {noise, false},
                        {std::string(3'000'000, 'y'), true}};
  for (const Case& c : cases) {
    const uint64_t before = harness_.engine().stats().job_bytes;
    harness_.enqueue(queue, c.payload);
    const uint64_t stored = harness_.engine().stats().job_bytes - before;
    EXPECT_EQ(stored < c.payload.size() / 2, c.packed) << c.payload.size();
    checkpoint();
    const std::vector<JobView> jobs = harness_.lease(queue);
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(payload_of(jobs[0]), c.payload);
    EXPECT_EQ(jobs[0].packing.is_packed(), c.packed);
    EXPECT_EQ(harness_.ack(queue, jobs[0].id, jobs[0].generation), Code::ok);
  }
  QueueConfig config = config_of(false, payload_bytes_absolute_max + 1);
  CallOptions call;
  EXPECT_EQ(harness_.engine().configure(queue, config, config_compress, call).code(),
            Code::invalid);
  harness_.expect_sound();
}

// ---- on the way to another store

struct Moved {
  JobRow row;
  JobId id;
  std::string payload;
  Packing packing;
  EncryptWish encrypt;
};

std::vector<Moved> exported(Engine& engine) {
  std::vector<Moved> out;
  ExportVisitor visitor;
  visitor.on_store = [](const StoreImage&) -> Status { return {}; };
  visitor.on_queue = [](const QueueRow&) -> Status { return {}; };
  visitor.on_kv = [](const KvImage&) -> Status { return {}; };
  visitor.on_job = [&](const JobImage& job) -> Status {
    Moved& moved =
        out.emplace_back(Moved{job.row, job.id, std::string(as_text(job.envelope.payload)),
                               job.envelope.packing, job.encrypt});
    moved.row.last_error = moved.row.progress = {};
    return {};
  };
  EXPECT_TRUE(engine.export_store({}, visitor).ok());
  return out;
}

Status imported(Engine& engine, const std::vector<Moved>& jobs) {
  CallOptions call;
  WQ_TRY(engine.import_begin(100, 100, call));
  QueueRow before, row;  // so that the number of the queue is another one
  before.name = "before";
  row.name = "q";
  WQ_TRY(engine.import_queue(before, call).take_status());
  WQ_TRY_SET(const QueueId queue, engine.import_queue(row, call));
  std::vector<JobImage> images;
  for (const Moved& job : jobs) {
    JobImage& image = images.emplace_back();
    image.id = job.id;
    image.row = job.row;
    image.envelope.payload = as_bytes(job.payload);
    image.envelope.packing = job.packing;
    image.encrypt = job.encrypt;
  }
  WQ_TRY(engine.import_jobs(queue, images, call));
  return engine.import_end(call);
}

TEST_P(PayloadTest, AnExportIsPlainAndWithoutTheKeyStaysSealed) {
  harness_.enqueue(q_, "secret");
  for (const bool with_key : {true, false}) {
    reopen(with_key ? keyring({{1, 'a'}}) : nullptr);
    std::vector<Moved> jobs = exported(harness_.engine());
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(jobs[0].payload == "secret", with_key);
    EXPECT_EQ(jobs[0].packing.is_sealed(), !with_key);
    EXPECT_EQ(jobs[0].encrypt, EncryptWish::yes);

    HarnessOptions options = PayloadTest::options();
    options.keyring = keyring({{1, 'a'}, {7, 'g'}});
    EngineHarness other(options);
    ASSERT_TRUE(other.open().ok());
    const Status status = imported(other.engine(), jobs);
    ASSERT_TRUE(status.ok()) << status.message();
    // Sealed anew where it could be read, as it was where not.
    const QueueId queue = other.queue("q");
    const std::vector<JobView> leased = other.lease(queue);
    ASSERT_EQ(leased.size(), 1u);
    EXPECT_EQ(payload_of(leased[0]), "secret");
    EXPECT_EQ(leased[0].key_id, with_key ? 7u : 1u);
    other.expect_sound();

    EngineHarness third(options);
    ASSERT_TRUE(third.open().ok());
    jobs[0].packing = {packing_sealed, 5};
    EXPECT_EQ(imported(third.engine(), jobs).code(), Code::invalid);  // sizes do not fit
  }
}

TEST_P(PayloadTest, SalvageNeedsNoKey) {
  if (GetParam() != StoreKind::rocks) GTEST_SKIP() << "salvage is for directories";
  harness_.enqueue(q_, "in the checkpoint");
  checkpoint();
  harness_.enqueue(q_, "in the log");
  ASSERT_TRUE(harness_.close().ok());
  Result<std::unique_ptr<Io>> io = make_io();
  Environment environment;
  environment.io = io.value().get();
  environment.clock = &harness_.clock();
  const std::string base = harness_.directory();
  const SalvageOptions options{base, base + "-new", base + "-scratch", harness_.options().engine};
  const auto ignore = [](const SalvageFinding&) -> Status { return {}; };
  const Result<SalvageReport> report = salvage_store(options, environment, ignore);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EngineOptions salvaged = harness_.options().engine;
  salvaged.directory = base + "-new";
  environment.keyring = harness_.options().keyring;
  Result<std::unique_ptr<Engine>> engine = Engine::open(salvaged, environment);
  ASSERT_TRUE(engine.ok()) << engine.status().message();
  CallOptions call;
  const QueueId queue = engine.value()->open_queue("q", {}, 0, false, call).value();
  LeaseRequest request;
  request.queues = {&queue, 1};
  request.max_jobs = 10;
  std::vector<JobView> jobs;
  ASSERT_TRUE(engine.value()->lease(request, call, jobs).ok());
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(payload_of(jobs[0]), "in the checkpoint");
  EXPECT_EQ(payload_of(jobs[1]), "in the log");
  ASSERT_TRUE(engine.value()->close().ok());
  ASSERT_TRUE(harness_.open().ok());
}

INSTANTIATE_TEST_SUITE_P(Stores, PayloadTest, testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& store) {
                           return store.param == StoreKind::memory ? "memory" : "rocks";
                         });

// ---- the parts alone

class SealTest : public testing::Test {
 protected:
  std::vector<std::byte> sealed(std::string_view payload, const SealPlace& place) {
    PayloadSealer sealer(*keys_, random_);
    std::vector<std::byte> out;
    EXPECT_TRUE(sealer.seal(as_bytes(payload), out).ok());
    EXPECT_EQ(seal_key_id(out), 0u) << "bound before it is bound";
    EXPECT_TRUE(sealer.bind(out.data(), place).ok());
    return out;
  }
  // "-" = it does not open.
  std::string opened(Bytes bytes, const SealPlace& place) {
    std::vector<std::byte> payload;
    const Status status = open_payload(*keys_, bytes, place, payload);
    if (status.ok()) return std::string(as_text(payload));
    EXPECT_EQ(status.code(), Code::no_key);
    EXPECT_TRUE(payload.empty());
    return "-";
  }

  const Keyring* keys_ = keyring({{3, 'c'}});
  RandomBytes random_ = os_random_bytes;
  const SealPlace place_{"queue", 42, packing_sealed, 7};
};

TEST_F(SealTest, OpensInItsPlaceOnlyAndUnalteredOnly) {
  const std::vector<std::byte> bytes = sealed("payload", place_);
  ASSERT_EQ(bytes.size(), 7 + seal_extra_bytes);
  EXPECT_EQ(seal_key_id(bytes), 3u);
  EXPECT_EQ(opened(bytes, place_), "payload");
  SealPlace other = place_;
  other.queue_name = "queues";
  EXPECT_EQ(opened(bytes, other), "-");
  other = place_;
  other.packing |= packing_compressed;
  EXPECT_EQ(opened(bytes, other), "-");
  other = place_;
  other.plain_bytes = 8;
  EXPECT_EQ(opened(bytes, other), "-");
  other = place_;
  other.job = 43;
  EXPECT_EQ(opened(bytes, other), "-");
  std::vector<std::byte> moved = bytes;
  store_le<uint64_t>(moved.data() + 4 + seal_nonce_bytes, 43);
  EXPECT_EQ(opened(moved, other), "-") << "a payload that was moved to another job opens";
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<std::byte> altered = bytes;
    altered[i] ^= std::byte{0x10};
    EXPECT_EQ(opened(altered, place_), "-") << "byte " << i;
  }
  EXPECT_EQ(opened(sealed("", {"q", 1, packing_sealed, 0}), {"q", 1, packing_sealed, 0}), "");
}

TEST_F(SealTest, NoNonceAndNoDataKeyServesTwice) {
  PayloadSealer sealer(*keys_, random_);
  std::vector<std::vector<std::byte>> all(200);
  std::set<std::string> nonces, bodies;
  for (std::vector<std::byte>& one : all) ASSERT_TRUE(sealer.seal(as_bytes("same"), one).ok());
  for (size_t i = all.size(); i-- > 0;) {  // in any order
    ASSERT_TRUE(sealer.bind(all[i].data(), {"q", i + 1, packing_sealed, 4}).ok());
    nonces.emplace(as_text(Bytes(all[i]).subspan(4, seal_nonce_bytes)));
    bodies.emplace(as_text(Bytes(all[i]).subspan(seal_head_bytes)));
  }
  EXPECT_EQ(nonces.size(), all.size());
  EXPECT_EQ(bodies.size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(opened(all[i], {"q", i + 1, packing_sealed, 4}), "same");
  }
}

TEST_F(SealTest, KeysAreCheckedAndWiped) {
  Keyring ring;
  EXPECT_EQ(ring.add(0, as_bytes(key_of('a'))).code(), Code::invalid);
  EXPECT_EQ(ring.add(1, as_bytes("short")).code(), Code::invalid);
  EXPECT_TRUE(ring.add(1, as_bytes(key_of('a'))).ok());
  EXPECT_EQ(ring.add(1, as_bytes(key_of('a'))).code(), Code::invalid);
  EXPECT_EQ(ring.make_current(2).code(), Code::invalid);
  EXPECT_EQ(ring.current(), 0u);

  alignas(SecretKey) unsigned char memory[sizeof(SecretKey)];
  auto* key = new (memory) SecretKey;
  const std::string bytes = key_of('w');
  std::copy_n(as_bytes(bytes).data(), bytes.size(), key->bytes().data());
  key->~SecretKey();
  const std::string left(reinterpret_cast<const char*>(memory), sizeof memory);
  EXPECT_EQ(left.find("www"), std::string::npos) << "a key is left in memory";
}

TEST(CompressTest, UnpacksToItsRecordedSizeOrNotAtAll) {
  const std::string text(100'000, 'z');
  std::vector<std::byte> packed, out;
  ASSERT_TRUE(compress_payload(as_bytes(text), packed));
  EXPECT_LT(packed.size(), 1'000u);
  ASSERT_TRUE(decompress_payload(packed, text.size(), out).ok());
  EXPECT_EQ(as_text(out), text);
  for (const size_t wrong : {size_t{0}, text.size() - 1, text.size() + 1, size_t{1} << 20}) {
    EXPECT_EQ(decompress_payload(packed, wrong, out).code(), Code::corrupt) << wrong;
    EXPECT_TRUE(out.empty());
  }
  for (size_t i = 0; i < packed.size(); ++i) {
    std::vector<std::byte> cut(packed.begin(), packed.begin() + static_cast<ptrdiff_t>(i));
    EXPECT_FALSE(decompress_payload(cut, text.size(), out).ok());
  }
  EXPECT_FALSE(compress_payload(as_bytes("short"), packed));
  EXPECT_FALSE(compress_payload({}, packed));
}

TEST(PackingRules, OfARecord) {
  struct Case {
    Packing packing;
    size_t bytes;
    bool good;
  };
  constexpr uint8_t both = packing_compressed | packing_sealed;
  const Case cases[] = {
      {{0, 0}, 10, true},
      {{0, 1}, 10, false},
      {{4, 20}, 10, false},
      {{packing_compressed, 11}, 10, true},
      {{packing_compressed, 10}, 10, false},
      {{packing_compressed, payload_bytes_absolute_max + 1}, 10, false},
      {{packing_sealed, 10}, 10 + seal_extra_bytes, true},
      {{packing_sealed, 9}, 10 + seal_extra_bytes, false},
      {{packing_sealed, 0}, seal_extra_bytes - 1, false},
      {{both, 11}, 10 + seal_extra_bytes, true},
      {{both, 10}, 10 + seal_extra_bytes, false},
  };
  for (const Case& c : cases) {
    const std::vector<std::byte> payload(c.bytes, std::byte{1});
    EXPECT_EQ(check_packing(payload, c.packing) == nullptr, c.good)
        << int{c.packing.flags} << " " << c.packing.plain_bytes << " " << c.bytes;
  }
  // Sealed, but not bound to a job.
  Encoder encoder;
  std::vector<std::byte> payload(10 + seal_extra_bytes, std::byte{1});
  const auto decoded = [&] {
    return decode_envelope(encoder.envelope({}, payload, {}, 1, {}, {packing_sealed, 10})).ok();
  };
  EXPECT_TRUE(decoded());
  store_le<uint32_t>(payload.data(), 0);
  EXPECT_FALSE(decoded());
}

}  // namespace
}  // namespace wq
