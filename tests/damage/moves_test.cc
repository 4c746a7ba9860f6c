// What moves a store keeps all of it: salvage of a damaged one, export and import, backup and
// restore, each compared field by field with where it came from (store_fields.h). And what can not
// be kept is told: rows that are lost, a log that does not fit its database.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>

#include "base/prng.h"
#include "damage/full_store.h"
#include "damage/import_calls.h"
#include "damage/random_calls.h"
#include "damage/store_fields.h"
#include "damage/store_picture.h"
#include "engine/keys.h"
#include "engine/salvage.h"
#include "engine/unique.h"
#include "test_seed.h"

namespace wq {
namespace {

namespace fs = std::filesystem;

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
  EngineOptions engine_options(const std::string& directory, bool create = false) {
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
    return fields_of(copy, keyring(), harness_.clock().wall_ms());
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
                                         engine_options("", true)};
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

const char* name_of(Damage damage) {
  switch (damage) {
    case Damage::all_in_the_database:
      return "all_in_the_database";
    case Damage::half_in_the_log:
      return "half_in_the_log";
    case Damage::all_in_the_log:
      return "all_in_the_log";
    case Damage::none:
      break;
  }
  return "whole";
}

INSTANTIATE_TEST_SUITE_P(Places, SalvageTest,
                         testing::Values(Damage::all_in_the_database, Damage::half_in_the_log,
                                         Damage::all_in_the_log, Damage::none),
                         [](const auto& param) { return name_of(param.param); });

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
    EXPECT_EQ(
        difference(source, as_moved(fields_of(*rows.value(), keyring(), target.clock().wall_ms()))),
        "");
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

// The end of a batch sets off a job, whose id comes after that of the job which took the place.
TEST_F(MovesTest, WhatADropSetsOffIsSalvaged) {
  ASSERT_TRUE(harness_.open().ok());
  QueueConfig config;
  config.max_depth = 1;
  config.full_policy = FullPolicy::drop_oldest;
  const QueueId q = harness_.queue("q", config, config_max_depth | config_full_policy);
  harness_.queue("after");
  NextSpec failure;
  failure.queue = "after";
  failure.job.payload = as_bytes(std::string_view("failure"));
  CallOptions call;
  JobSpec member;
  member.traits.batch = harness_.engine().batch_create({false, nullptr, &failure}, call).value();
  harness_.enqueue(q, "dropped", member);
  ASSERT_TRUE(harness_.engine().batch_seal(member.traits.batch, call).ok());
  const JobId came = harness_.enqueue(q, "came");
  EXPECT_EQ(harness_.engine().batch_status(member.traits.batch).value().follow_up, came + 1);
  stop();
  const StoreFields source = fields_in(path("store"));
  const SalvageReport report = salvage(path("store"));
  EXPECT_EQ(report.jobs_found, 2u) << told_;
  EXPECT_EQ(report.jobs_lost + report.jobs_uncertain, 0u) << told_;
  EXPECT_EQ(report.damages, 0u) << told_;
  expect_moved(source, path("new"));
}

// The job that takes the place is of the batch that ends without it.
TEST_F(MovesTest, ADropDoesNotEndABatchThatGoesOnInTheSameRecord) {
  ASSERT_TRUE(harness_.open().ok());
  QueueConfig config;
  config.max_depth = 1;
  config.full_policy = FullPolicy::drop_oldest;
  const QueueId q = harness_.queue("q", config, config_max_depth | config_full_policy);
  CallOptions call;
  JobSpec member;
  member.traits.batch = harness_.engine().batch_create({}, call).value();
  harness_.enqueue(q, "dropped", member);
  ASSERT_TRUE(harness_.engine().batch_seal(member.traits.batch, call).ok());
  harness_.enqueue(q, "came", member);
  EXPECT_EQ(harness_.engine().batch_status(member.traits.batch).value().pending, 1u);
  stop();
  const StoreFields source = fields_in(path("store"));
  const SalvageReport report = salvage(path("store"));
  EXPECT_EQ(report.damages, 0u) << told_;
  expect_moved(source, path("new"));
}

TEST_F(MovesTest, AStoreThatIsOpenIsNotSalvaged) {
  ASSERT_TRUE(harness_.open().ok());
  const SalvageOptions salvage_options{harness_.directory(), "", path("scratch"),
                                       engine_options("", true)};
  EXPECT_EQ(salvage_store(salvage_options, environment(), {}).status().code(), Code::locked);
}

// Segments of the log are gone, one in the middle and the newest.
TEST_F(MovesTest, MissingRecordsAreToldAndTheirIdsNotGivenAgain) {
  ASSERT_TRUE(harness_.open().ok());
  const QueueId q = harness_.queue("q");
  JobId last = 0;
  for (int i = 0; i < 60; ++i) last = harness_.enqueue(q, std::string(30'000, 'x'));
  stop();
  std::vector<fs::path> segments;
  for (const auto& entry : fs::directory_iterator(path("store") + "/log")) {
    if (entry.path().extension() == ".seg") segments.push_back(entry.path());
  }
  std::sort(segments.begin(), segments.end());
  ASSERT_GE(segments.size(), 5u);
  fs::remove(segments[2]);
  fs::remove(segments.back());
  const SalvageReport report = salvage(path("store"));
  EXPECT_GT(report.records_missing, 1u) << told_;
  EXPECT_GT(report.damages, 0u) << told_;
  EXPECT_GT(report.jobs_found, 20u) << told_;
  EXPECT_GT(report.jobs_uncertain, 1u) << told_;
  EXPECT_NE(told_.find("are missing"), std::string::npos) << told_;
  const std::unique_ptr<Engine> engine = open(path("new"));
  CallOptions call;
  const QueueId queue = engine->open_queue("q", {}, 0, false, call).value();
  JobId id = 0;
  ASSERT_TRUE(engine->enqueue(queue, {}, call, id).ok());
  EXPECT_GT(id, last);
}

// ---- rows of an import

class RowsTest : public MovesTest {
 protected:
  RowsTest() {
    EXPECT_TRUE(harness_.open().ok());
    EXPECT_TRUE(engine().import_begin(100, 100, call_).ok());
    QueueRow row;
    row.name = "q";
    row.config.keep_done_count = 10;
    queue_ = engine().import_queue(row, call_).value();
  }
  Engine& engine() { return harness_.engine(); }
  Code put(const BatchImage& batch) { return engine().import_batches({&batch, 1}, call_).code(); }
  Code put(const KeyImage& key) { return engine().import_keys(queue_, {&key, 1}, call_).code(); }
  Code put(const DoneImage& job) {
    return engine().import_history(queue_, {&job, 1}, call_).code();
  }
  Code put(const RateKeyImage& key) {
    return engine().import_rate_keys(queue_, {&key, 1}, call_).code();
  }
  Code put_job(JobId id, uint64_t batch) {
    JobImage job;
    job.id = id;
    job.row.state = JobState::ready;
    job.envelope.traits.batch = batch;
    return engine().import_jobs(queue_, {&job, 1}, call_).code();
  }

  CallOptions call_;
  QueueId queue_ = 0;
};

TEST_F(RowsTest, WhatCanNotBeIsRefused) {
  const int64_t later_ms = harness_.clock().wall_ms() + hour_ms;
  EXPECT_EQ(put(KeyImage{{}, "k", 5, later_ms}), Code::ok);
  EXPECT_EQ(put(KeyImage{{}, "k", 6, later_ms}), Code::invalid) << "it is there";
  EXPECT_EQ(put(KeyImage{{}, "j", 100, later_ms}), Code::invalid) << "not given yet";
  EXPECT_EQ(put(KeyImage{{}, "j", 0, later_ms}), Code::invalid);
  EXPECT_EQ(put(KeyImage{{}, "", 5, later_ms}), Code::invalid);
  EXPECT_EQ(put(KeyImage{{}, "j", 5, -1}), Code::invalid);
  EXPECT_EQ(put(KeyImage{{}, "over", 5, 1}), Code::ok) << "and left out";
  EXPECT_EQ(engine().key_holder(queue_, KeyKind::idempotency, "over").status().code(),
            Code::conflict);

  DoneImage done;
  done.row = {.id = 7, .generation = 8, .done_ms = 1};
  EXPECT_EQ(put(done), Code::ok);
  EXPECT_EQ(put(done), Code::invalid) << "it is there";
  const auto refused_done = [&](const std::function<void(DoneRow&)>& change) {
    DoneImage other;
    other.row = {.id = 9, .generation = 9, .done_ms = 1};
    change(other.row);
    return put(other) == Code::invalid;
  };
  EXPECT_TRUE(refused_done([](DoneRow& row) { row.id = 100; }));
  EXPECT_TRUE(refused_done([](DoneRow& row) { row.id = 0; }));
  EXPECT_TRUE(refused_done([](DoneRow& row) { row.generation = 100; }));
  EXPECT_TRUE(refused_done([](DoneRow& row) { row.generation = 0; }));
  EXPECT_TRUE(refused_done([](DoneRow& row) { row.done_ms = -1; }));
  EXPECT_TRUE(refused_done([](DoneRow& row) { row.sealed = true; }));

  BatchImage batch{20, {}};
  batch.row.total = batch.row.pending = 2;
  EXPECT_EQ(put(batch), Code::ok);
  EXPECT_EQ(put(batch), Code::invalid) << "it is there";
  const auto refused_batch = [&](const std::function<void(BatchImage&)>& change) {
    BatchImage other{21, {}};
    change(other);
    return put(other) == Code::invalid;
  };
  EXPECT_TRUE(refused_batch([](BatchImage& b) { b.id = 0; }));
  EXPECT_TRUE(refused_batch([](BatchImage& b) { b.id = 100; }));
  EXPECT_TRUE(refused_batch([](BatchImage& b) { b.row.total = 1; }));
  EXPECT_TRUE(refused_batch([](BatchImage& b) { b.row.flags = 1u << 20; }));
  EXPECT_TRUE(refused_batch([](BatchImage& b) { b.row.on_complete = "no job"; }));
  EXPECT_TRUE(refused_batch([](BatchImage& b) {
    b.row.total = b.row.pending = 1;
    b.row.finished_ms = 5;
  }));

  EXPECT_EQ(put(RateKeyImage{{}, "r", 1, {0, {1, 2}}}), Code::ok);
  EXPECT_EQ(put(RateKeyImage{{}, "s", -1, {}}), Code::invalid);
  EXPECT_EQ(put(RateKeyImage{{}, "s", 0, {-1, {}}}), Code::invalid);
  EXPECT_EQ(put(RateKeyImage{{}, "s", 0, {0, {2, 1}}}), Code::invalid);
  EXPECT_EQ(put(RateKeyImage{{}, "s", 0, {0, std::vector<int64_t>(101)}}), Code::invalid);
  ASSERT_TRUE(engine().import_end(call_).ok());
  EXPECT_EQ(put(KeyImage{{}, "late", 5, later_ms}), Code::conflict) << "the import has ended";
  EXPECT_EQ(engine().key_holder(queue_, KeyKind::idempotency, "over").status().code(),
            Code::not_found);
  EXPECT_EQ(engine().key_holder(queue_, KeyKind::idempotency, "k").value(), 5u);
  harness_.expect_sound();
}

// A cancel that had not come to its members yet does so where it moved to.
TEST_F(RowsTest, ACancelledBatchEndsWhatDidNotStart) {
  BatchImage batch{20, {}};
  batch.row.flags = batch_sealed | batch_cancelled;
  batch.row.total = batch.row.pending = 1;
  ASSERT_EQ(put(batch), Code::ok);
  ASSERT_EQ(put_job(30, 20), Code::ok);
  ASSERT_TRUE(engine().import_end(call_).ok());
  const BatchStatus status = engine().batch_status(20).value();
  EXPECT_EQ(status.cancelled, 1u);
  EXPECT_NE(status.finished_ms, 0);
  EXPECT_EQ(engine().get(queue_, 30).status().code(), Code::not_found);
  harness_.expect_sound();
}

// Of two jobs with one unique key the time of the first is up; it comes in first.
TEST_F(RowsTest, AKeyThatIsOverStaysWithItsHolder) {
  const int64_t now_ms = harness_.clock().wall_ms();
  for (const JobId id : {30, 31}) {
    JobImage job;
    job.id = id;
    job.row.state = JobState::ready;
    job.row.key_until_ms = id == 30 ? now_ms - 1 : now_ms + hour_ms;
    job.envelope.traits.key_rule = KeyRule::until_done;
    job.envelope.traits.key = "k";
    job.envelope.traits.key_ms = hour_ms;
    ASSERT_TRUE(engine().import_jobs(queue_, {&job, 1}, call_).ok());
  }
  ASSERT_TRUE(engine().import_end(call_).ok());
  EXPECT_EQ(engine().key_holder(queue_, KeyKind::unique, "k").value(), 31u);
  harness_.expect_sound();
}

// More jobs come in than the batch waited for: each of them counts.
TEST_F(RowsTest, ABatchCountsAllOfItsJobs) {
  BatchImage batch{20, {}};
  batch.row.flags = batch_sealed;
  batch.row.total = 2;
  batch.row.done = batch.row.pending = 1;
  ASSERT_EQ(put(batch), Code::ok);
  ASSERT_EQ(put_job(30, 20), Code::ok);
  ASSERT_EQ(put_job(31, 20), Code::ok);
  ASSERT_EQ(put_job(32, 21), Code::ok) << "of a batch that is not there";
  ASSERT_TRUE(engine().import_end(call_).ok());
  const BatchStatus status = engine().batch_status(20).value();
  EXPECT_EQ(status.total, 3u);
  EXPECT_EQ(status.pending, 2u);
  EXPECT_EQ(status.finished_ms, 0);
  harness_.expect_sound();
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
      if (i == checkpoint_at) {
        ASSERT_TRUE(harness.engine().checkpoint().ok());
      }
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
