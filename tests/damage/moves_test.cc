// What moves a store keeps all of it: salvage of a damaged one, export and import, backup and
// restore, each compared field by field with where it came from (store_fields.h). And what can not
// be kept is told: rows that are lost, a log that does not fit its database.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "base/prng.h"
#include "damage/store_fields.h"
#include "damage/store_picture.h"
#include "engine/keys.h"
#include "engine/salvage.h"
#include "engine/unique.h"
#include "test_seed.h"

namespace wq {
namespace {

namespace fs = std::filesystem;

constexpr int64_t hour_ms = 3'600'000;

const Keyring& keyring() {
  static const Keyring ring = [] {
    Keyring made;
    const std::string key(seal_key_bytes, 'k');
    EXPECT_TRUE(made.add(1, as_bytes(std::string_view(key))).ok());
    EXPECT_TRUE(made.make_current(1).ok());
    return made;
  }();
  return ring;
}

HarnessOptions options() {
  HarnessOptions options = small_store(StoreKind::rocks);
  options.engine.spare_segments = 0;
  options.keyring = &keyring();
  return options;
}

// One or more of each thing that a row can carry. A store is begun by an import, so that its
// totals and its schedules have all there is to them; the rest happens to it.
class FullStore {
 public:
  explicit FullStore(EngineHarness& harness) : h_(harness) {}

  void begin() {
    ASSERT_TRUE(engine().import_begin(1, 1, call_).ok());
    mail_ = import_queue("mail", full_config());
    QueueConfig other;
    other.backoff = Backoff{BackoffKind::list, 0, 0, {1'000, 2'000}, 0};
    other.status = QueueStatus::disabled;
    other.pause_kept = true;
    import_queue("other", other);
    out_ = import_queue("out", {});
    import_schedule("nightly", Backoff{BackoffKind::list, 0, 0, {7, 8}, 0}, false);
    import_schedule("weekly", Backoff{BackoffKind::exponential, 5, 50, {}, 100}, true);
    ASSERT_TRUE(engine().import_end(call_).ok());
  }

  void first_half() {
    finished_batch();
    batch_ = create_batch();
    result_and_window();
    put_kv();
    dead_letters();
    spec_of_all_traits();
  }

  void second_half() {
    rate_keys();
    retried();
    held();
    waiting();
    ASSERT_TRUE(engine().batch_seal(batch_, call_).ok());
    CallOptions call;
    EXPECT_TRUE(engine().change_status(mail_, Engine::StatusChange::pause, call).ok());
  }

  uint64_t batch() const { return batch_; }
  QueueId mail() const { return mail_; }
  QueueId out() const { return out_; }

 private:
  Engine& engine() { return h_.engine(); }

  static QueueConfig full_config() {
    QueueConfig config;
    config.max_running = 50;
    config.max_retries = 7;
    config.lease_ms = 30'000;
    config.durability = Durability::process;
    config.backoff = Backoff{BackoffKind::exponential, hour_ms, 2 * hour_ms, {}, 250};
    config.version = 11;
    config.job_ttl_ms = 100 * hour_ms;
    config.rate = {1'000'000, 1'000, 10'000};
    config.group_limit = 2;
    config.key_rate = {100, 50, 100 * hour_ms};
    config.throttle = {2, hour_ms, 3 * hour_ms};
    config.max_depth = 1'000;
    config.max_bytes = 1 << 20;
    config.full_policy = FullPolicy::drop_oldest;
    config.dead_max_count = 100;
    config.dead_max_age_ms = 200 * hour_ms;
    config.encrypt = true;
    config.compress_min_bytes = 100;
    config.keep_done_count = 20;
    config.keep_done_age_ms = 50 * hour_ms;
    return config;
  }
  QueueId import_queue(const char* name, const QueueConfig& config) {
    QueueRow row;
    row.name = name;
    row.config = config;
    row.created_ms = h_.clock().wall_ms() - hour_ms;
    QueueTotals& totals = row.totals;
    uint64_t n = 100;
    for (uint64_t* total :
         {&totals.enqueued, &totals.leased, &totals.acked, &totals.nacked, &totals.failed,
          &totals.released, &totals.expired, &totals.dead, &totals.replayed, &totals.cancelled,
          &totals.cleared, &totals.jobs_expired, &totals.dropped, &totals.dead_dropped,
          &totals.chain_cut, &totals.skipped}) {
      *total = n++;
    }
    const Result<QueueId> id = engine().import_queue(row, call_);
    EXPECT_TRUE(id.ok()) << id.status().message();
    return id.ok() ? id.value() : 0;
  }
  void import_schedule(const char* name, const Backoff& backoff, bool paused) {
    const int64_t now_ms = h_.clock().wall_ms();
    CronImage image;
    image.name = name;
    image.state = {paused, now_ms + hour_ms, now_ms - hour_ms, now_ms - 2 * hour_ms, 5, 6};
    image.row.expression = "0 4 * * *";
    image.row.zone = "Europe/Berlin";
    image.row.catch_up = 3;
    image.row.max_attempts = 4;
    image.row.priority = 9;
    image.job.payload = as_bytes(std::string_view("of a schedule"));
    const Header header{as_bytes(std::string_view("h")), as_bytes(std::string_view("v"))};
    image.job.headers.push_back(header);
    image.job.backoff = backoff;
    const Status status = engine().import_schedule(mail_, image, call_);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  JobView take() {
    const std::vector<JobView> jobs = lease_exactly(h_, mail_, 1);
    return jobs[0];
  }
  JobId push(std::string_view payload, const JobTraits& traits = {}, int64_t delay_ms = 0) {
    JobSpec spec;
    spec.traits = traits;
    spec.delay_ms = delay_ms;
    return h_.enqueue(mail_, payload, spec);
  }
  void settle(const JobView& job, SettleKind kind, std::string_view text = {},
              int64_t delay_ms = 0) {
    SettleItem item;
    item.id = job.id;
    item.generation = job.generation;
    item.kind = kind;
    if (kind == SettleKind::ack) {
      item.result = text;
    } else {
      item.error = text;
      item.delay_ms = delay_ms;
    }
    ASSERT_EQ(h_.settle(mail_, item), Code::ok);
  }
  uint64_t create_batch() {
    const NextSpec complete{"out", payload_spec("complete")};
    const NextSpec failure{"out", payload_spec("failure")};
    const BatchSpec spec{true, &complete, &failure};
    const Result<uint64_t> batch = engine().batch_create(spec, call_);
    EXPECT_TRUE(batch.ok()) << batch.status().message();
    return batch.ok() ? batch.value() : 0;
  }
  static JobSpec payload_spec(std::string_view payload) {
    JobSpec spec;
    spec.payload = as_bytes(payload);
    return spec;
  }

  void finished_batch() {
    const uint64_t batch = create_batch();
    JobTraits traits;
    traits.batch = batch;
    push("member", traits);
    settle(take(), SettleKind::ack);
    ASSERT_TRUE(engine().batch_seal(batch, call_).ok());
  }
  // Of the history with all that it can tell; its idempotency key outlives it.
  void result_and_window() {
    JobTraits traits;
    traits.idempotency_key = "request";
    traits.idempotency_ms = 20 * hour_ms;
    traits.batch = batch_;
    push("done", traits);
    settle(take(), SettleKind::nack, "once more");
    settle(take(), SettleKind::fail, "no");
    const DeadPage page = engine().dead_list(mail_, {}).value();
    ASSERT_TRUE(
        engine().dead_replay(mail_, {page.jobs[0].id, page.jobs[0].generation}, call_).ok());
    settle(take(), SettleKind::nack, "once more");
    settle(take(), SettleKind::ack, "the result");
  }
  void put_kv() {
    ASSERT_TRUE(engine().kv_put("plain", {"value", 0, {}}, call_).ok());
    ASSERT_TRUE(engine().kv_put("for a time", {"value", 30 * hour_ms, {}}, call_).ok());
  }
  void dead_letters() {
    JobTraits traits;
    traits.key_rule = KeyRule::until_gone;
    traits.key = "held by the dead";
    push("dead", traits);
    settle(take(), SettleKind::fail, "for ever");
    JobTraits member;
    member.batch = batch_;
    push("failed", member);
    settle(take(), SettleKind::fail, "as well");
    const NextSpec next{"", payload_spec("never")};
    JobSpec spec = payload_spec("chain of the dead");
    spec.traits.batch = batch_;
    spec.chain = {&next, 1};
    h_.enqueue(mail_, "chain of the dead", spec);
    settle(take(), SettleKind::fail, "so is the rest");
  }
  void spec_of_all_traits() {
    const int64_t now_ms = h_.clock().wall_ms();
    const NextSpec chain[] = {{"out", payload_spec("second")}, {"", payload_spec("third")}};
    JobSpec spec;
    JobTraits& traits = spec.traits;
    traits.expires_ms = now_ms + 40 * hour_ms;
    traits.retry_until_ms = now_ms + 50 * hour_ms;
    traits.timeout_ms = 12'345;
    traits.max_exceptions = 6;
    traits.fail_on_timeout = true;
    traits.key_rule = KeyRule::until_done;
    traits.key = std::string_view("a key\0with a zero", 17);
    traits.key_ms = 60 * hour_ms;
    traits.idempotency_key = "another request";
    traits.idempotency_ms = 70 * hour_ms;
    traits.batch = batch_;
    traits.group = "a group";
    traits.group_limit = 4;
    traits.overlap = OverlapRule::release;
    traits.overlap_ms = 5'000;
    traits.tenant = "a tenant";
    spec.chain = chain;
    spec.delay_ms = 2 * hour_ms;
    spec.priority = 42;
    spec.max_attempts = 9;
    spec.backoff = Backoff{BackoffKind::list, 0, 0, {10, 20, 30}, 50};
    const Header headers[] = {{as_bytes(std::string_view("a")), as_bytes(std::string_view("1"))},
                              {as_bytes(std::string_view("b")), Bytes()}};
    spec.headers = headers;
    h_.enqueue(mail_, std::string(500, 'z'), spec);
    spec.traits = {};
    spec.chain = {};
    spec.backoff = Backoff{BackoffKind::exponential, 5, 500, {}, 0};
    h_.enqueue(mail_, "delayed", spec);
  }
  void rate_keys() {
    JobTraits traits;
    traits.rate_key = "counts";
    traits.rate_cost = 3;
    push("exception", traits, 0);
    settle(take(), SettleKind::nack, "first", hour_ms);
    traits.rate_key = "cools";
    for (int i = 0; i < 2; ++i) {
      push("exceptions", traits, 0);
      settle(take(), SettleKind::nack, "again", hour_ms);
    }
  }
  void retried() {
    push("retried");
    settle(take(), SettleKind::nack, "by the policy", -1);  // with a delay that is drawn
  }
  void held() {
    push("running");
    const JobView job = take();
    ASSERT_TRUE(engine().confirm(mail_, {job.id, job.generation}, hour_ms, call_).ok());
    ASSERT_TRUE(engine().set_progress(mail_, {job.id, job.generation}, "half", call_).ok());
    push("leased");
    take();
  }
  void waiting() {
    JobTraits traits;
    traits.key_rule = KeyRule::debounce;
    traits.key = "debounced";
    JobSpec debounced;
    debounced.traits = traits;
    debounced.traits.key_ms = 10 * hour_ms;
    debounced.debounce_ms = hour_ms;
    h_.enqueue(mail_, "debounced", debounced);
    for (const char* group : {"g1", "g2", "g1"}) {
      traits = {};
      traits.group = group;
      traits.tenant = group == std::string_view("g2") ? "t2" : "";
      push(group, traits);
    }
    for (const char* tenant : {"t1", "t2", "t1", "t1"}) {
      traits = {};
      traits.tenant = tenant;
      push(tenant, traits);
    }
    traits = {};
    traits.rate_key = "cools";
    push("waits", traits);
    traits = {};
    traits.group = "g3";
    traits.overlap = OverlapRule::skip;
    push("skips", traits);
    traits = {};
    traits.batch = batch_;
    push("last member", traits);
  }

  EngineHarness& h_;
  CallOptions call_;
  QueueId mail_ = 0;
  QueueId out_ = 0;
  uint64_t batch_ = 0;
};

// ---- stores in directories

class MovesTest : public testing::Test {
 protected:
  MovesTest() : harness_(options()), root_(fast_directory("moves")) {
    harness_.clock().step_wall(1'000 * hour_ms);
  }
  ~MovesTest() override { fs::remove_all(root_); }

  std::string path(const std::string& name) const { return root_ + "/" + name; }
  Environment environment() {
    if (!io_) io_ = std::move(make_io()).value();
    Environment environment;
    environment.io = io_.get();
    environment.clock = &harness_.clock();
    environment.keyring = &keyring();
    return environment;
  }
  EngineOptions engine_options(const std::string& directory, bool create = false) const {
    EngineOptions out = harness_.options().engine;
    out.directory = directory;
    out.create = create;
    return out;
  }
  std::unique_ptr<Engine> open(const std::string& directory, bool create = false) {
    Result<std::unique_ptr<Engine>> engine =
        Engine::open(engine_options(directory, create), environment());
    EXPECT_TRUE(engine.ok()) << engine.status().message();
    return engine.ok() ? std::move(engine).value() : nullptr;
  }
  void expect_sound(Engine& engine) {
    const Result<VerifyReport> report = engine.verify();
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report.value().problems, 0u) << report.value().first_problem;
  }
  // What a store has, from a copy of it that is opened and closed in order.
  StoreFields fields_in(const std::string& directory) {
    const std::string copy = path("copy");
    fs::remove_all(copy);
    fs::copy(directory, copy, fs::copy_options::recursive);
    const std::unique_ptr<Engine> engine = open(copy);
    if (!engine) return {};
    expect_sound(*engine);
    EXPECT_TRUE(engine->close().ok());
    return fields_of(copy, keyring());
  }
  // Stops where it is, with a log that no checkpoint covers. Leaves the store in path("store").
  void stop() {
    harness_.engine().poison("stopped by the test");
    harness_.close().ignore("it was poisoned");
    keep_store();
  }
  void keep_store() { fs::copy(harness_.directory(), path("store"), fs::copy_options::recursive); }
  // Into path("new"). Nobody is asked for a key.
  SalvageReport salvage(const std::string& directory) {
    fs::remove_all(path("new"));
    told_.clear();
    Environment world = environment();
    world.keyring = nullptr;
    const SalvageOptions salvage_options{directory, path("new"), path("scratch"),
                                         engine_options("")};
    const Result<SalvageReport> report =
        salvage_store(salvage_options, world, [&](const SalvageFinding& finding) -> Status {
          told_ += finding.where + " " + finding.queue + ": " + finding.what + "\n";
          return {};
        });
    EXPECT_TRUE(report.ok()) << report.status().message();
    return report.ok() ? report.value() : SalvageReport();
  }
  void expect_moved(const StoreFields& source, const std::string& directory) {
    const StoreFields found = fields_in(directory);
    EXPECT_EQ(difference(as_moved(source), as_moved(found)), "") << told_;
  }

  EngineHarness harness_;
  std::string root_;
  std::unique_ptr<Io> io_;
  std::string told_;
};

// ---- every field

TEST_F(MovesTest, TheStoreOfTheseTestsHasEveryField) {
  ASSERT_TRUE(harness_.open().ok());
  FullStore store(harness_);
  store.begin();
  store.first_half();
  store.second_half();
  stop();
  std::vector<std::string> unused = unused_fields(fields_in(path("store")));
  std::erase_if(unused, is_given_anew);
  EXPECT_EQ(testing::PrintToString(unused), "{}");
}

enum class Damage : uint8_t { all_in_the_database, half_in_the_log, all_in_the_log, none };

class SalvageTest : public MovesTest, public testing::WithParamInterface<Damage> {};

TEST_P(SalvageTest, KeepsEveryField) {
  ASSERT_TRUE(harness_.open().ok());
  FullStore store(harness_);
  store.begin();
  store.first_half();
  if (GetParam() != Damage::all_in_the_log) {
    ASSERT_TRUE(harness_.engine().checkpoint().ok());
  }
  store.second_half();
  if (GetParam() == Damage::all_in_the_database) {
    ASSERT_TRUE(harness_.close().ok());
    keep_store();
  } else {
    stop();
  }
  const StoreFields source = fields_in(path("store"));
  const std::string store_path = path("store");
  if (GetParam() == Damage::all_in_the_database) {
    fs::remove(store_path + "/db/CURRENT");
  } else if (GetParam() != Damage::none) {
    std::ofstream(store_path + "/FORMAT", std::ios::binary) << "no format";
  }
  const SalvageReport report = salvage(store_path);
  EXPECT_EQ(report.damages, GetParam() == Damage::none ? 0u : 1u) << told_;
  EXPECT_EQ(report.jobs_lost, 0u) << told_;
  expect_moved(source, path("new"));
}

INSTANTIATE_TEST_SUITE_P(Places, SalvageTest,
                         testing::Values(Damage::all_in_the_database, Damage::half_in_the_log,
                                         Damage::all_in_the_log, Damage::none),
                         [](const auto& info) {
                           constexpr const char* names[] = {
                               "all_in_the_database", "half_in_the_log", "all_in_the_log", "whole"};
                           return names[static_cast<size_t>(info.param)];
                         });

// The calls of an import of all that an export tells, each with what it needs of its own.
using ImportedQueues = std::map<std::string, QueueId, std::less<>>;
using ImportCall = std::function<Status(Engine& to, ImportedQueues& queues)>;

ImportCall call_of(const JobImage& job) {
  Encoder encoder;
  const Envelope& in = job.envelope;
  const Bytes bytes =
      encoder.envelope(in.headers, in.payload, in.backoff, in.enqueued_ms, in.traits, in.packing);
  JobRow row = job.row;
  if (row.state != JobState::dead) row.reason = DeadReason::none;
  return [=, envelope = std::vector<std::byte>(bytes.begin(), bytes.end()),
          queue = std::string(job.queue_name), error = std::string(row.last_error),
          progress = std::string(row.progress), id = job.id,
          encrypt = job.encrypt](Engine& to, ImportedQueues& queues) -> Status {
    JobImage image;
    image.id = id;
    image.row = row;
    image.row.last_error = error;
    image.row.progress = progress;
    image.encrypt = encrypt;
    WQ_TRY_SET(image.envelope, decode_envelope(envelope));
    CallOptions call;
    return to.import_jobs(queues.at(queue), {&image, 1}, call);
  };
}

ImportCall call_of(const BatchImage& batch) {
  return [id = batch.id, bytes = encode_batch_row(batch.row)](Engine& to, ImportedQueues&) {
    const BatchImage image{id, *decode_batch_row(bytes)};
    CallOptions call;
    return to.import_batches({&image, 1}, call);
  };
}

ImportCall call_of(const DoneImage& done) {
  return [queue = std::string(done.queue_name), bytes = encode_done_row(done.row)](
             Engine& to, ImportedQueues& queues) {
    const DoneImage image{queue, *decode_done_row(bytes)};
    CallOptions call;
    return to.import_history(queues.at(queue), {&image, 1}, call);
  };
}

ImportCall call_of(const KeyImage& in) {
  return [in, queue = std::string(in.queue_name), key = std::string(in.key)](
             Engine& to, ImportedQueues& queues) {
    KeyImage image = in;
    image.key = key;
    CallOptions call;
    return to.import_keys(queues.at(queue), {&image, 1}, call);
  };
}

ImportCall call_of(const RateKeyImage& in) {
  return [in, queue = std::string(in.queue_name), key = std::string(in.key)](
             Engine& to, ImportedQueues& queues) {
    RateKeyImage image = in;
    image.key = key;
    CallOptions call;
    return to.import_rate_keys(queues.at(queue), {&image, 1}, call);
  };
}

ImportCall call_of(const KvImage& in) {
  return
      [in, key = std::string(in.key), value = std::string(in.value)](Engine& to, ImportedQueues&) {
        KvImage image = in;
        image.key = key;
        image.value = value;
        CallOptions call;
        return to.import_kv({&image, 1}, call);
      };
}

ImportCall call_of(const CronImage& in, const std::string& queue) {
  Encoder encoder;
  const Envelope& job = in.job;
  const Bytes bytes = encoder.envelope(job.headers, job.payload, job.backoff, 0, {}, job.packing);
  return [in, queue, name = std::string(in.name), expression = std::string(in.row.expression),
          zone = std::string(in.row.zone),
          envelope = std::vector<std::byte>(bytes.begin(), bytes.end())](
             Engine& to, ImportedQueues& queues) -> Status {
    CronImage image = in;
    image.name = name;
    image.row.expression = expression;
    image.row.zone = zone;
    WQ_TRY_SET(image.job, decode_envelope(envelope));
    CallOptions call;
    return to.import_schedule(queues.at(queue), image, call);
  };
}

std::vector<ImportCall> import_calls(Engine& from) {
  std::vector<ImportCall> calls;
  const auto add = [&](const auto& image) -> Status {
    calls.push_back(call_of(image));
    return {};
  };
  std::vector<const CronImage*> images;
  ExportVisitor visitor;
  visitor.on_store = [&](const StoreImage& store) -> Status {
    calls.push_back([store](Engine& to, ImportedQueues&) {
      CallOptions call;
      return to.import_begin(store.next_job_id, store.next_generation, call);
    });
    return {};
  };
  visitor.on_schedules = [&](std::span<const CronImage> of_queue) -> Status {
    images.clear();
    for (const CronImage& image : of_queue) images.push_back(&image);
    return {};
  };
  visitor.on_queue = [&](const QueueRow& queue) -> Status {
    calls.push_back([queue](Engine& to, ImportedQueues& queues) -> Status {
      CallOptions call;
      WQ_TRY_SET(queues[queue.name], to.import_queue(queue, call));
      return {};
    });
    for (const CronImage* image : images) calls.push_back(call_of(*image, queue.name));
    return {};
  };
  visitor.on_kv = add;
  visitor.on_batch = add;
  visitor.on_key = add;
  visitor.on_done = add;
  visitor.on_rate_key = add;
  visitor.on_job = add;
  const Status status = from.export_store({}, visitor);
  EXPECT_TRUE(status.ok()) << status.message();
  calls.push_back([](Engine& to, ImportedQueues&) {
    CallOptions call;
    return to.import_end(call);
  });
  return calls;
}

TEST_F(MovesTest, ExportAndImportKeepEveryField) {
  ASSERT_TRUE(harness_.open().ok());
  FullStore store(harness_);
  store.begin();
  store.first_half();
  ASSERT_TRUE(harness_.engine().checkpoint().ok());
  store.second_half();
  const std::unique_ptr<Engine> target = open(path("new"), true);
  ImportedQueues queues;
  for (const ImportCall& import : import_calls(harness_.engine())) {
    const Status status = import(*target, queues);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  expect_sound(*target);
  ASSERT_TRUE(target->close().ok());
  stop();
  expect_moved(fields_in(path("store")), path("new"));
}

TEST_F(MovesTest, BackupAndRestoreKeepEveryRow) {
  ASSERT_TRUE(harness_.open().ok());
  FullStore store(harness_);
  store.begin();
  store.first_half();
  ASSERT_TRUE(harness_.engine().checkpoint().ok());
  store.second_half();
  const Result<BackupReport> made = harness_.engine().backup(path("backup"), {});
  ASSERT_TRUE(made.ok()) << made.status().message();
  environment();
  ASSERT_TRUE(restore_backup(*io_, path("backup"), path("new"), {}).ok());
  stop();
  EXPECT_EQ(difference(fields_in(path("store")), fields_in(path("new"))), "");
}

// A crash behind each call of an import: what is there by then is kept (a kill), or at least never
// half of a change (a power cut), the store is seen to be unfinished, and whoever goes on with the
// rest comes to the same store.
TEST_F(MovesTest, AnImportSurvivesACrashAfterEachCall) {
  ASSERT_TRUE(harness_.open().ok());
  FullStore store(harness_);
  store.begin();
  store.first_half();
  ASSERT_TRUE(harness_.engine().checkpoint().ok());
  store.second_half();
  const std::vector<ImportCall> calls = import_calls(harness_.engine());
  stop();
  const StoreFields source = as_moved(fields_in(path("store")));
  Prng prng(test_seed());
  for (size_t crash_at = 1; crash_at <= calls.size() && !HasFailure(); ++crash_at) {
    SCOPED_TRACE("crash behind call " + std::to_string(crash_at) + " of " +
                 std::to_string(calls.size()));
    std::shared_ptr<MemStoreContent> content;
    HarnessOptions memory = small_store();
    memory.keyring = &keyring();
    memory.wrap_store = [&](std::unique_ptr<Store> inner, std::shared_ptr<MemStoreContent> of) {
      content = std::move(of);
      return inner;
    };
    EngineHarness target(memory);
    target.clock().step_wall(harness_.clock().wall_ms() - target.clock().wall_ms());
    ASSERT_TRUE(target.open().ok());
    const size_t checkpoint_at = 1 + prng.below(calls.size());
    ImportedQueues queues;
    const auto run = [&](size_t from, size_t to) {
      for (size_t i = from; i < to; ++i) {
        const Status status = calls[i](target.engine(), queues);
        ASSERT_TRUE(status.ok()) << i << ": " << status.message();
        if (i == checkpoint_at) {
          ASSERT_TRUE(target.engine().checkpoint().ok());
        }
      }
    };
    run(0, crash_at);
    const bool cut = prng.below(2) == 0;
    const CrashImage image{CrashData::none, CrashNames::none};
    ASSERT_TRUE((cut ? target.cut_and_open(image) : target.kill_and_open()).ok());
    target.expect_sound();
    CallOptions call;
    const bool ended = crash_at == calls.size();
    const Status opened = target.engine().open_queue("mail", {}, 0, false, call).status();
    EXPECT_EQ(opened.code(), ended ? Code::ok : Code::conflict) << opened.message();
    if (cut && !ended) continue;  // what was lost has to be imported anew
    run(crash_at, calls.size());
    target.expect_sound();
    ASSERT_TRUE(target.engine().checkpoint().ok());
    const auto rows = open_mem_store(content);
    ASSERT_TRUE(rows.ok());
    EXPECT_EQ(difference(source, as_moved(fields_of(*rows.value(), keyring()))), "");
  }
}

// ---- what can not be kept

// Takes a job out of the database as if it had never been in it.
void forget_job(const std::string& directory, JobId id, bool counted) {
  StoreOptions store_options;
  store_options.directory = directory + "/db";
  store_options.temp_directory = directory + "/tmp";
  const std::unique_ptr<Store> store = std::move(open_rocks_store(store_options)).value();
  const std::optional<std::string> body = store->get(Family::job, job_body_key(id)).value();
  ASSERT_TRUE(body);
  const DecodedJobRow row = decode_job_row(as_bytes(*body)).value();
  ASSERT_EQ(row.row.state, JobState::ready);
  const auto checkpoint = std::move(store->begin_checkpoint(10)).value();
  if (counted) {
    const std::string key = queue_row_key(row.row.queue);
    const std::optional<std::string> bytes = store->get(Family::meta, key).value();
    QueueRow queue = decode_queue_row(as_bytes(*bytes)).value();
    --queue.counts[static_cast<size_t>(JobState::ready)];
    for (LaneRow& lane : queue.lanes) {
      if (lane.priority == row.row.priority) --lane.count;
    }
    Encoder encoder;
    ASSERT_TRUE(checkpoint->put(Family::meta, key, as_text(encoder.queue_row(queue))).ok());
  }
  ASSERT_TRUE(checkpoint->erase(Family::job, job_body_key(id)).ok());
  ASSERT_TRUE(
      checkpoint->erase(Family::ready, ready_key(row.row.queue, row.row.priority, row.row.position))
          .ok());
  ASSERT_TRUE(checkpoint->commit().ok());
  ASSERT_TRUE(store->close().ok());
}

// Such a store does not open, and nothing in it is damaged by itself.
TEST_F(MovesTest, ALogThatDoesNotFitItsDatabaseIsTold) {
  ASSERT_TRUE(harness_.open().ok());
  const QueueId q = harness_.queue("q");
  const JobId id = harness_.enqueue(q, "one");
  harness_.enqueue(q, "two");
  ASSERT_TRUE(harness_.engine().checkpoint().ok());
  const Lsn covered = harness_.engine().stats().last_lsn;
  const std::vector<JobView> jobs = harness_.lease(q, 2);
  EXPECT_EQ(jobs[0].id, id);
  harness_.ack(q, id, jobs[0].generation);
  stop();
  forget_job(path("store"), id, true);
  EXPECT_EQ(Engine::open(engine_options(path("store")), environment()).status().code(),
            Code::corrupt);
  const SalvageReport report = salvage(path("store"));
  EXPECT_EQ(report.damages, 1u) << told_;
  EXPECT_EQ(report.jobs_lost, 0u) << told_;
  EXPECT_EQ(report.jobs_found, 1u) << told_;
  const std::string records = "2 changes in 2 of the records " + std::to_string(covered + 1) +
                              " to " + std::to_string(covered + 2);
  EXPECT_NE(told_.find(records + " do not fit the database: they name a job that is not there"),
            std::string::npos)
      << told_;
}

// A batch whose jobs are lost does not wait for them for ever.
TEST_F(MovesTest, ABatchDoesNotWaitForJobsThatAreLost) {
  ASSERT_TRUE(harness_.open().ok());
  const QueueId q = harness_.queue("q");
  NextSpec failure;
  failure.queue = "q";
  failure.job.payload = as_bytes(std::string_view("failure"));
  CallOptions call;
  uint64_t batches[2] = {};
  JobId members[3] = {};
  for (uint64_t& batch : batches) {
    batch = harness_.engine().batch_create({false, nullptr, &failure}, call).value();
  }
  JobSpec spec;
  for (int i = 0; i < 3; ++i) {  // two of the first one, one of the other
    spec.traits.batch = batches[i / 2];
    members[i] = harness_.enqueue(q, "member " + std::to_string(i), spec);
  }
  for (const uint64_t batch : batches) {
    ASSERT_TRUE(harness_.engine().batch_seal(batch, call).ok());
  }
  ASSERT_TRUE(harness_.engine().checkpoint().ok());
  stop();
  forget_job(path("store"), members[0], false);
  forget_job(path("store"), members[2], false);
  // Without the log, which has them still.
  fs::remove_all(path("store") + "/log");
  fs::create_directory(path("store") + "/log");
  const SalvageReport report = salvage(path("store"));
  EXPECT_EQ(report.jobs_lost, 2u) << told_;
  const std::unique_ptr<Engine> engine = open(path("new"));
  const BatchStatus first = engine->batch_status(batches[0]).value();
  EXPECT_EQ(first.pending, 1u);
  EXPECT_EQ(first.cancelled, 1u);
  EXPECT_EQ(first.finished_ms, 0);
  const BatchStatus other = engine->batch_status(batches[1]).value();
  EXPECT_EQ(other.cancelled, 1u);
  EXPECT_NE(other.finished_ms, 0);
  const QueueId queue = engine->open_queue("q", {}, 0, false, call).value();
  EXPECT_EQ(payload_of(engine->get(queue, other.follow_up).value()), "failure");
  expect_sound(*engine);
}

// A job that was never sealed, in a queue that encrypts, is salvaged without a key.
TEST_F(MovesTest, ClearJobsOfAnEncryptingQueueAreSalvagedWithoutAKey) {
  ASSERT_TRUE(harness_.open().ok());
  QueueConfig config;
  config.encrypt = true;
  const QueueId q = harness_.queue("q", config, config_encrypt);
  JobSpec spec;
  spec.encrypt = EncryptWish::no;
  harness_.enqueue(q, "clear", spec);
  stop();
  const StoreFields source = fields_in(path("store"));
  const SalvageReport report = salvage(path("store"));
  EXPECT_EQ(report.jobs_found, 1u);
  expect_moved(source, path("new"));
}

// ---- random stores

// Calls in any order, over all that a job can have; what is refused is refused.
class RandomCalls {
 public:
  RandomCalls(EngineHarness& harness, Prng& prng) : h_(harness), prng_(prng) {
    QueueConfig config;
    config.keep_done_count = 8;
    config.max_depth = 60;
    config.full_policy = FullPolicy::drop_oldest;
    config.key_rate = {3, 3, 1'000};
    config.throttle = {2, 1'000, 500};
    config.backoff = Backoff{BackoffKind::fixed, 300, 0, {}, 500};
    config.dead_max_count = 6;
    const uint32_t fields = config_keep_done | config_max_depth | config_full_policy |
                            config_key_rate | config_throttle | config_backoff |
                            config_dead_max_count;
    queues_[0] = h_.queue("a", config, fields);
    queues_[1] = h_.queue("b");
  }

  void step() {
    const QueueId q = queues_[prng_.below(2)];
    switch (prng_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return enqueue(q);
      case 4:
      case 5:
        return lease(q);
      case 6:
      case 7:
      case 8:
        return settle();
      case 9:
        return h_.advance(static_cast<int64_t>(prng_.below(200)));
      case 10:
        h_.engine().cancel(q, 1 + prng_.below(last_ + 1), call_).ignore("it may be gone");
        return;
      case 11:
        return replay(q);
      case 12:
        return batch();
      case 13:
        if (prng_.below(6) != 0) return;
        h_.engine().clear(q, clearable_states, call_).status().ignore("nothing to ask");
        return;
      case 14:
        h_.engine()
            .reprioritise(q, 1 + prng_.below(last_ + 1), static_cast<uint8_t>(prng_.below(4)),
                          call_)
            .ignore("it may be gone");
        return;
      default:
        h_.tick();
    }
  }

 private:
  std::string_view pick(std::initializer_list<std::string_view> names) {
    return *(names.begin() + prng_.below(names.size()));
  }
  void enqueue(QueueId q) {
    JobSpec spec;
    JobTraits& traits = spec.traits;
    const NextSpec next{pick({"", "b"}), {}};
    spec.payload = as_bytes(std::string_view("payload"));
    spec.priority = static_cast<uint8_t>(prng_.below(3));
    if (prng_.below(4) == 0) spec.delay_ms = 1 + static_cast<int64_t>(prng_.below(400));
    if (prng_.below(4) == 0) spec.chain = {&next, 1};
    if (prng_.below(3) == 0) traits.batch = batch_;
    if (prng_.below(3) == 0) traits.tenant = pick({"t1", "t2"});
    if (prng_.below(5) == 0) traits.max_exceptions = 2;
    if (prng_.below(5) == 0) traits.expires_ms = h_.clock().wall_ms() + 600;
    switch (prng_.below(6)) {
      case 0:
        traits.group = pick({"g1", "g2"});
        traits.overlap = static_cast<OverlapRule>(prng_.below(3));
        if (traits.overlap == OverlapRule::release) traits.overlap_ms = 50;
        break;
      case 1:
        traits.rate_key = pick({"r1", "r2"});
        break;
      case 2:
        traits.key_rule = static_cast<KeyRule>(1 + prng_.below(4));
        traits.key = pick({"k1", "k2", "k3"});
        if (traits.key_rule == KeyRule::debounce) spec.debounce_ms = 100;
        break;
      case 3:
        traits.idempotency_key = pick({"i1", "i2", "i3"});
        traits.idempotency_ms = 700;
        break;
      default:
        break;
    }
    JobId id = 0;
    if (h_.engine().enqueue(q, spec, call_, id).ok()) last_ = std::max(last_, id);
  }
  void lease(QueueId q) {
    LeaseRequest request;
    request.queues = {&q, 1};
    request.max_jobs = 1 + static_cast<uint32_t>(prng_.below(4));
    request.lease_ms = 150;
    std::vector<JobView> jobs;
    if (!h_.engine().lease(request, call_, jobs).ok()) return;
    for (const JobView& job : jobs) held_.push_back({q, {job.id, job.generation}});
  }
  void settle() {
    if (held_.empty()) return;
    const size_t at = prng_.below(held_.size());
    const auto [q, token] = held_[at];
    if (prng_.below(5) == 0) {
      h_.engine().confirm(q, token, 300, call_).ignore("it may be gone");
      return;
    }
    held_.erase(held_.begin() + static_cast<ptrdiff_t>(at));
    SettleItem item;
    item.id = token.id;
    item.generation = token.generation;
    item.kind = prng_.below(2) == 0 ? SettleKind::ack : static_cast<SettleKind>(1 + prng_.below(4));
    if (item.kind == SettleKind::nack) item.delay_ms = -1;
    if (item.kind == SettleKind::ack) item.result = "r";
    Code code = Code::ok;
    h_.engine().settle(q, {&item, 1}, call_, {&code, 1}).ignore("it may be gone");
  }
  void replay(QueueId q) {
    const Result<DeadPage> page = h_.engine().dead_list(q, {});
    if (!page.ok() || page.value().jobs.empty()) return;
    const JobView& job = page.value().jobs[prng_.below(page.value().jobs.size())];
    const Token entry{job.id, job.generation};
    if (prng_.below(3) == 0) {
      h_.engine().dead_remove(q, entry, call_).ignore("nothing to ask");
    } else {
      h_.engine().dead_replay(q, entry, call_).ignore("its key may be held");
    }
  }
  void batch() {
    if (batch_ != 0 && prng_.below(3) != 0) {
      const bool cancels = prng_.below(4) == 0;
      (cancels ? h_.engine().batch_cancel(batch_, call_) : h_.engine().batch_seal(batch_, call_))
          .ignore("it may be finished");
      batch_ = 0;
      return;
    }
    NextSpec follows{"b", {}};
    follows.job.payload = as_bytes(std::string_view("follows"));
    batch_ = h_.engine().batch_create({prng_.below(2) == 0, &follows, &follows}, call_).value();
  }

  EngineHarness& h_;
  Prng& prng_;
  CallOptions call_;
  QueueId queues_[2] = {};
  JobId last_ = 0;
  uint64_t batch_ = 0;
  std::vector<std::pair<QueueId, Token>> held_;
};

// Nothing in it is damaged: all of it comes along, and nothing is told of that would not fit.
TEST_F(MovesTest, RandomStoresAreSalvagedWhole) {
  Prng prng(test_seed());
  for (int round = 0; round < 4 && !HasFailure(); ++round) {
    SCOPED_TRACE(round);
    EngineHarness harness(options());
    ASSERT_TRUE(harness.open().ok());
    RandomCalls calls(harness, prng);
    const uint64_t steps = 50 + prng.below(600);
    const uint64_t checkpoint_at = prng.below(2 * steps);
    for (uint64_t i = 0; i < steps; ++i) {
      if (i == checkpoint_at) ASSERT_TRUE(harness.engine().checkpoint().ok());
      calls.step();
    }
    harness.engine().poison("stopped by the test");
    harness.close().ignore("it was poisoned");
    fs::remove_all(path("store"));
    fs::copy(harness.directory(), path("store"), fs::copy_options::recursive);
    harness_.clock().step_wall(harness.clock().wall_ms() - harness_.clock().wall_ms());
    const StoreFields source = fields_in(path("store"));
    const SalvageReport report = salvage(path("store"));
    EXPECT_EQ(report.damages, 0u) << told_;
    EXPECT_EQ(report.jobs_lost + report.jobs_uncertain, 0u) << told_;
    expect_moved(source, path("new"));
  }
}

}  // namespace
}  // namespace wq
