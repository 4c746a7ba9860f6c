// Backup and restore on a simulated disk: what comes back, a crash after every event, each
// operation failing in turn, a disk of every size, and damage of each file.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>

#include "backup/backup_world.h"
#include "base/hash.h"
#include "test_seed.h"

namespace wq {
namespace {

constexpr CrashImage images[] = {
    {CrashData::none, CrashNames::none},
    {CrashData::all, CrashNames::all},
    {CrashData::none, CrashNames::all},
    {CrashData::torn, CrashNames::prefix, 512, 3},
    {CrashData::random, CrashNames::random, 512, 5},
};

class BackupSim : public testing::Test {
 protected:
  void SetUp() override {
    auto opened = world_.open_source(content_);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    engine_ = std::move(opened).value();
    last_id_ = fill_store(world_, *engine_);
    ASSERT_TRUE(engine_->sync().ok());
    expected_ = dump(*engine_, last_id_);
  }

  void make_backup() {
    auto made = engine_->backup("backup", {});
    ASSERT_TRUE(made.ok()) << made.status().message();
    report_ = *made;
  }

  // The store in `directory` is the source as it was.
  void expect_restored(BackupWorld& world, const std::string& directory) {
    auto opened = world.open_restored(directory);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    EXPECT_EQ(dump(*opened.value(), last_id_), expected_);
    Result<VerifyReport> found = (*opened)->verify();
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->problems, 0u) << found->first_problem;
  }

  // The source goes on as if nothing had been.
  void expect_source_works(Engine& engine) {
    EXPECT_EQ(dump(engine, last_id_), expected_);
    EXPECT_FALSE(engine.stats().poisoned);
    CallOptions call;
    EXPECT_TRUE(engine.open_queue("after", {}, 0, true, call).ok());
    EXPECT_TRUE(engine.checkpoint().ok());
  }

  BackupWorld world_;
  std::shared_ptr<MemStoreContent> content_ = make_mem_store_content();
  std::unique_ptr<Engine> engine_;
  JobId last_id_ = 0;
  std::string expected_;
  BackupReport report_;
};

std::vector<std::string> files_below(const SimDisk& disk, const std::string& directory) {
  std::vector<std::string> found;
  for (const std::string& path : disk.files()) {
    if (path.starts_with(directory + "/")) found.push_back(path);
  }
  return found;
}

TEST_F(BackupSim, EveryStateComesBack) {
  make_backup();
  EXPECT_EQ(report_.last_lsn, engine_->stats().last_lsn);
  EXPECT_EQ(report_.checkpoint_lsn, engine_->stats().applied_lsn);
  EXPECT_GT(report_.last_lsn, report_.checkpoint_lsn);
  auto checked = verify_backup(world_.io(), "backup", {});
  ASSERT_TRUE(checked.ok()) << checked.status().message();
  EXPECT_EQ(checked->bytes, report_.bytes);
  auto restored = restore_backup(world_.io(), "backup/", "restored/", {});
  ASSERT_TRUE(restored.ok()) << restored.status().message();
  EXPECT_EQ(restored->last_lsn, report_.last_lsn);
  expect_restored(world_, "restored");
  expect_source_works(*engine_);
  EXPECT_TRUE(verify_backup(world_.io(), "backup", {}).ok()) << "it must not have been touched";
}

// Also of the jobs that nobody has waited for yet.
TEST_F(BackupSim, HasWhatIsNotDurableYet) {
  CallOptions call;
  call.durability = static_cast<uint32_t>(Durability::memory);
  const Result<QueueId> queue = engine_->open_queue("bulk", {}, 0, false, call);
  JobSpec spec;
  spec.payload = as_bytes(std::string_view("in memory"));
  JobId id = 0;
  ASSERT_TRUE(engine_->enqueue(queue.value(), spec, call, id).ok());
  make_backup();
  EXPECT_EQ(report_.last_lsn, engine_->stats().last_lsn);
  ASSERT_TRUE(restore_backup(world_.io(), "backup", "restored", {}).ok());
  auto opened = world_.open_restored("restored");
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  CallOptions again;
  const Result<QueueId> restored = (*opened)->open_queue("bulk", {}, 0, false, again);
  EXPECT_TRUE((*opened)->get(restored.value(), id).ok());
}

// Where the checkpoint holds everything the log has nothing to add, and still must be one.
TEST_F(BackupSim, OfACheckpointedStore) {
  ASSERT_TRUE(engine_->checkpoint().ok());
  make_backup();
  EXPECT_EQ(report_.checkpoint_lsn, report_.last_lsn);
  ASSERT_TRUE(restore_backup(world_.io(), "backup", "restored", {}).ok());
  expect_restored(world_, "restored");
}

// The first one that opens it must not hand out what the source handed out behind the backup.
TEST_F(BackupSim, TokensOfTheLostTimeAreRefused) {
  make_backup();
  CallOptions call;
  Result<QueueId> queue = engine_->open_queue("bulk", {}, 0, false, call);
  LeaseRequest request;
  request.queues = std::span(&*queue, 1);
  std::vector<JobView> lost;
  ASSERT_TRUE(engine_->lease(request, call, lost).ok());
  ASSERT_TRUE(restore_backup(world_.io(), "backup", "restored", {}).ok());
  auto opened = world_.open_restored("restored");
  ASSERT_TRUE(opened.ok());
  queue = (*opened)->open_queue("bulk", {}, 0, false, call);
  std::vector<JobView> again;
  ASSERT_TRUE((*opened)->lease(request, call, again).ok());
  EXPECT_EQ(again.front().id, lost.front().id);
  EXPECT_GT(again.front().generation, lost.front().generation);
}

// While a backup copies tables, checkpoints must not take away the log or the files that it needs.
TEST_F(BackupSim, CheckpointsGoOnMeanwhile) {
  CallOptions big_call;
  const Result<QueueId> big = engine_->open_queue("big", {}, 0, true, big_call);
  const std::string payload(50'000, 'b');
  for (int i = 0; i < 60; ++i) {  // so much log that there is a step in the middle of it
    JobSpec spec;
    spec.payload = as_bytes(payload);
    JobId id = 0;
    ASSERT_TRUE(engine_->enqueue(big.value(), spec, big_call, id).ok());
  }
  int calls = 0;
  const auto progress = [&](uint64_t done_bytes, uint64_t) -> Status {
    if (done_bytes == 0) return {};  // nothing is held yet
    CallOptions call;
    const std::string name = "during" + std::to_string(++calls);
    EXPECT_TRUE(engine_->open_queue(name, {}, 0, true, call).ok());
    return engine_->checkpoint();
  };
  auto made = engine_->backup("backup", progress);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_GE(calls, 3);
  ASSERT_TRUE(restore_backup(world_.io(), "backup", "restored", {}).ok());
  auto opened = world_.open_restored("restored");
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  const uint64_t held_bytes = engine_->stats().log.live_bytes;
  ASSERT_TRUE(engine_->checkpoint().ok());
  EXPECT_LE(engine_->stats().log.live_bytes, held_bytes) << "the log is still held";
  EXPECT_EQ(engine_->stats().log.segments_live, 1u);
}

TEST_F(BackupSim, NothingIsOverwritten) {
  make_backup();
  auto again = engine_->backup("backup", {});
  EXPECT_EQ(again.status().code(), Code::invalid) << again.status().message();
  EXPECT_TRUE(verify_backup(world_.io(), "backup", {}).ok());
  EXPECT_EQ(restore_backup(world_.io(), "backup", "source", {}).status().code(), Code::invalid);
  ASSERT_TRUE(restore_backup(world_.io(), "backup", "restored", {}).ok());
  EXPECT_EQ(restore_backup(world_.io(), "backup", "restored", {}).status().code(), Code::invalid);
  expect_restored(world_, "restored");
  ASSERT_TRUE(world_.io().make_dir("empty").ok());
  EXPECT_TRUE(restore_backup(world_.io(), "backup", "empty", {}).ok());
  expect_source_works(*engine_);
}

// The place where a restore builds may be taken: by the backup itself, by another, by a store, by
// files of somebody. None of them is touched.
TEST_F(BackupSim, WhatStandsWhereAStoreIsBuiltIsKept) {
  make_backup();
  const auto make_both = [&](const std::string& name) {
    ASSERT_TRUE(engine_->backup(name + ".restoring", {}).ok());
  };
  make_both("own");
  make_both("other");
  ASSERT_TRUE(restore_backup(world_.io(), "backup", "kept", {}).ok());
  ASSERT_TRUE(world_.io().rename("kept", "store.restoring").ok());
  ASSERT_TRUE(world_.io().make_dir("files.restoring").ok());
  world_.disk.write_file("files.restoring/notes", {std::byte{1}});
  const std::vector<std::string> before = world_.disk.files();
  const auto refused = [&](const std::string& backup, const std::string& store) {
    SCOPED_TRACE(store);
    const Status status = restore_backup(world_.io(), backup, store, {}).status();
    EXPECT_EQ(status.code(), Code::invalid) << status.message();
    EXPECT_NE(status.message().find("move it away"), std::string::npos) << status.message();
    EXPECT_FALSE(world_.has(store));
    EXPECT_EQ(world_.disk.files(), before);
  };
  refused("own.restoring", "own");
  refused("backup", "other");
  refused("backup", "store");
  refused("backup", "files");
  EXPECT_TRUE(verify_backup(world_.io(), "own.restoring", {}).ok());
  expect_restored(world_, "store.restoring");
}

// The second finds the first at work, and leaves it alone. The lock's file stays: another process
// would make a new one, and lock that.
TEST_F(BackupSim, TwoRestoresAtOnce) {
  make_backup();
  ASSERT_TRUE(world_.io().make_dir("restored.restoring").ok());
  world_.disk.write_file("restored.restoring/LOCK", {});
  int tried = 0;
  const auto second = [&](uint64_t, uint64_t) -> Status {
    if (!world_.has("restored.restoring/RESTORING")) return {};  // it verifies the backup yet
    ++tried;
    EXPECT_TRUE(world_.has("restored.restoring/LOCK"));
    const std::vector<std::string> before = world_.disk.files();
    EXPECT_EQ(restore_backup(world_.io(), "backup", "restored", {}).status().code(), Code::locked);
    EXPECT_EQ(world_.disk.files(), before);
    return {};
  };
  ASSERT_TRUE(restore_backup(world_.io(), "backup", "restored", second).ok());
  EXPECT_GT(tried, 0);
  expect_restored(world_, "restored");
  EXPECT_FALSE(world_.has("restored/RESTORING"));
}

TEST_F(BackupSim, ABackupIsNoStore) {
  make_backup();
  const std::vector<std::string> before = world_.disk.files();
  auto opened = world_.open_restored("backup");
  EXPECT_EQ(opened.status().code(), Code::invalid);
  EXPECT_NE(opened.status().message().find("restore"), std::string::npos);
  EXPECT_EQ(world_.disk.files(), before);
}

TEST_F(BackupSim, CancelAnywhereLeavesNothing) {
  const std::vector<std::string> before = world_.disk.files();
  int calls = 0;
  for (int stop_at = 1;; ++stop_at) {
    calls = 0;
    const auto progress = [&](uint64_t, uint64_t) -> Status {
      return ++calls == stop_at ? Code::cancelled : Code::ok;
    };
    auto made = engine_->backup("backup", progress);
    if (made.ok()) break;
    EXPECT_EQ(made.status().code(), Code::cancelled);
    EXPECT_EQ(world_.disk.files(), before);
    EXPECT_FALSE(world_.has("backup"));
  }
  EXPECT_GE(calls, 4);
  expect_source_works(*engine_);
}

// Also while it reads the records of a long log, whose bytes are counted by then.
TEST_F(BackupSim, ACheckCanBeStoppedAnywhere) {
  CallOptions call;
  auto queue = engine_->open_queue("long", {}, 0, true, call);
  ASSERT_TRUE(queue.ok());
  const std::string payload(512 << 10, 'x');
  JobSpec spec;
  spec.payload = as_bytes(payload);
  for (int i = 0; i < 6; ++i) {
    JobId id = 0;
    ASSERT_TRUE(engine_->enqueue(*queue, spec, call, id).ok());
  }
  make_backup();
  int calls = 0;
  int at_the_end = 0;
  for (int stop_at = 1;; ++stop_at) {
    calls = at_the_end = 0;
    const auto progress = [&](uint64_t done_bytes, uint64_t total_bytes) -> Status {
      if (done_bytes == total_bytes) ++at_the_end;
      return ++calls == stop_at ? Code::cancelled : Code::ok;
    };
    const auto checked = verify_backup(world_.io(), "backup", progress);
    if (checked.ok()) break;
    EXPECT_EQ(checked.status().code(), Code::cancelled) << checked.status().message();
  }
  EXPECT_GE(calls, 6);
  EXPECT_GE(at_the_end, 3) << "nobody was asked while the records were read";
}

// ---- crashes

// After each event of the backup: the source is what it was, and the backup is whole or refused.
TEST_F(BackupSim, CrashAfterEachEventOfABackup) {
  world_.disk.start_recording();
  make_backup();
  int whole = 0;
  int refused = 0;
  SimHistory history(world_.disk);
  while (history.step()) {
    std::vector<CrashImage> all(std::begin(images), std::end(images));
    if (history.disk().has_file("backup/BACKUP")) {  // its name, but of the others any
      for (uint64_t seed = 10; seed < 30; ++seed) {
        all.push_back({CrashData::all, CrashNames::random, 512, seed});
      }
    }
    for (const CrashImage& image : all) {
      auto world = world_.after(history.disk().image(image));
      SCOPED_TRACE("event " + std::to_string(history.event()));
      {
        auto source = world->open_source(copy_mem_store_content(*content_));
        ASSERT_TRUE(source.ok()) << source.status().message();
        ASSERT_EQ(dump(*source.value(), last_id_), expected_);
      }
      auto restored = restore_backup(world->io(), "backup", "restored", {});
      if (restored.ok()) {
        ++whole;
        ASSERT_EQ(restored->last_lsn, report_.last_lsn);
        expect_restored(*world, "restored");
      } else {
        ++refused;
        // The manifest gets its name last: where it is, everything is.
        ASSERT_FALSE(world->has("backup/BACKUP")) << restored.status().message();
        const Code code = restored.status().code();
        ASSERT_TRUE(code == Code::not_found || code == Code::corrupt)
            << restored.status().message();
        ASSERT_FALSE(world->has("restored"));
      }
      if (HasFailure()) return;
    }
  }
  for (const CrashImage& image : images) {  // OK was said: now nothing of it may be lost
    auto world = world_.after(world_.disk.image(image));
    ASSERT_TRUE(verify_backup(world->io(), "backup", {}).ok());
  }
  std::printf("%d images with a whole backup, %d refused\n", whole, refused);
  EXPECT_GT(whole, 0);
  EXPECT_GT(refused, 50);
}

// After each event of the restore: no store, or the whole one; and the next restore does it.
TEST_F(BackupSim, CrashAfterEachEventOfARestore) {
  make_backup();
  ASSERT_TRUE(engine_->close().ok());
  world_.disk.start_recording();
  ASSERT_TRUE(restore_backup(world_.io(), "backup", "restored", {}).ok());
  int whole = 0;
  int absent = 0;
  SimHistory history(world_.disk);
  while (history.step()) {
    for (const CrashImage& image : images) {
      auto world = world_.after(history.disk().image(image));
      SCOPED_TRACE("event " + std::to_string(history.event()));
      const bool there = world->has("restored");
      if (!there) {
        ++absent;
        auto restored = restore_backup(world->io(), "backup", "restored", {});
        ASSERT_TRUE(restored.ok()) << restored.status().message();
        ASSERT_FALSE(world->has("restored.restoring"));
      } else {
        ++whole;
      }
      expect_restored(*world, "restored");
      if (HasFailure()) return;
    }
  }
  for (const CrashImage& image : images) {
    auto world = world_.after(world_.disk.image(image));
    ASSERT_TRUE(world->has("restored"));
    expect_restored(*world, "restored");
  }
  std::printf("%d images with a whole store, %d without\n", whole, absent);
  EXPECT_GT(whole, 0);
  EXPECT_GT(absent, 50);
}

// ---- failures

// Fails the k-th operation, k = 1, 2, ..., until `work` gets through; each once and sticky.
void fail_each(SimDisk& disk, uint32_t ops, const std::string& path,
               const std::function<Status(bool sticky)>& work) {
  int failed = 0;
  for (const bool sticky : {false, true}) {
    for (uint64_t k = 0;; ++k) {
      SimFault fault;
      fault.ops = ops;
      fault.path = path;
      fault.skip = k;
      fault.sticky = sticky;
      const size_t number = disk.inject(fault);
      const Status status = work(sticky);
      const bool struck = disk.fault_hits(number) > 0;
      disk.clear_faults();
      if (!struck) {
        EXPECT_TRUE(status.ok()) << status.message();
        break;
      }
      ++failed;
      ASSERT_EQ(status.code(), Code::io) << "operation " << k << ": " << status.message();
    }
  }
  std::printf("%d failures\n", failed);
  EXPECT_GT(failed, 20);
}

TEST_F(BackupSim, EachOperationOfABackupFails) {
  int number = 0;
  fail_each(world_.disk, sim_all, "backup", [&](bool sticky) -> Status {
    const std::string target = "backup" + std::to_string(++number);
    auto made = engine_->backup(target, {});
    if (made.ok()) return {};
    EXPECT_FALSE(engine_->stats().poisoned);
    const bool left = world_.has(target);
    EXPECT_EQ(left, made.status().message().find("left incomplete") != std::string::npos)
        << made.status().message();
    EXPECT_TRUE(sticky || !left) << made.status().message();
    EXPECT_FALSE(verify_backup(world_.io(), target, {}).ok());
    return made.status();
  });
  expect_source_works(*engine_);
}

// The source can not be read: its log and its FORMAT.
TEST_F(BackupSim, EachReadOfTheSourceFails) {
  int number = 0;
  fail_each(world_.disk, sim_read | sim_open | sim_list, "source/", [&](bool) -> Status {
    const std::string target = "backup" + std::to_string(++number);
    auto made = engine_->backup(target, {});
    if (made.ok()) return {};
    EXPECT_FALSE(world_.has(target));
    return made.status();
  });
  expect_source_works(*engine_);
}

TEST_F(BackupSim, EachOperationOfARestoreFails) {
  make_backup();
  std::vector<std::string> whole;
  int number = 0;
  fail_each(world_.disk, sim_all, "restored", [&](bool sticky) -> Status {
    const std::string target = "restored" + std::to_string(++number);
    auto made = restore_backup(world_.io(), "backup", target, {});
    if (made.ok()) {
      whole.push_back(target);
      return {};
    }
    const bool told = made.status().message().find("left behind") != std::string::npos;
    EXPECT_TRUE(sticky || !told) << made.status().message();
    const bool left = world_.has(target) || world_.has(target + ".restoring");
    if (left && !told) ADD_FAILURE() << "left without a word: " << made.status().message();
    return made.status();
  });
  EXPECT_EQ(whole.size(), 2u);
  for (const std::string& target : whole) expect_restored(world_, target);
  EXPECT_TRUE(verify_backup(world_.io(), "backup", {}).ok());
}

// From a disk with no room at all to one that is just large enough.
TEST_F(BackupSim, AFullDisk) {
  const auto used_bytes = [&] {
    uint64_t sum = 0;
    for (const std::string& path : world_.disk.files()) sum += world_.disk.read_file(path).size();
    return sum;
  };
  const uint64_t base = used_bytes();
  const std::vector<std::string> before = world_.disk.files();
  int refused = 0;
  for (uint64_t room = 0;; room += 4096) {
    world_.disk.set_capacity(base + room);
    auto made = engine_->backup("backup", {});
    if (made.ok()) break;
    ++refused;
    ASSERT_EQ(made.status().code(), Code::no_space) << made.status().message();
    ASSERT_EQ(world_.disk.files(), before);
    ASSERT_FALSE(engine_->stats().poisoned);
    ASSERT_LT(room, 64u << 20);
  }
  EXPECT_GT(refused, 10);
  const std::vector<std::string> with_backup = world_.disk.files();
  refused = 0;
  bool looked = false;  // before anything was copied
  for (uint64_t room = 0;; room += 4096) {
    world_.disk.set_capacity(used_bytes() + room);
    auto made = restore_backup(world_.io(), "backup", "restored", {});
    if (made.ok()) break;
    ++refused;
    ASSERT_EQ(made.status().code(), Code::no_space) << made.status().message();
    looked |= made.status().message().find("nothing was written") != std::string::npos;
    ASSERT_EQ(world_.disk.files(), with_backup);
  }
  EXPECT_GT(refused, 3);
  EXPECT_TRUE(looked);
  world_.disk.set_capacity(UINT64_MAX);
  expect_restored(world_, "restored");
  expect_source_works(*engine_);
}

// The room goes while the backup is being made.
TEST_F(BackupSim, TheDiskFillsUpMeanwhile) {
  const std::vector<std::string> before = world_.disk.files();
  SimFault fault;
  fault.ops = sim_writes;
  fault.path = "backup/";
  fault.error = ENOSPC;
  fault.sticky = true;
  for (fault.skip = 0;; ++fault.skip) {
    const size_t number = world_.disk.inject(fault);
    auto made = engine_->backup("backup", {});
    const bool struck = world_.disk.fault_hits(number) > 0;
    world_.disk.clear_faults();
    if (!struck) break;
    ASSERT_EQ(made.status().code(), Code::no_space) << made.status().message();
    ASSERT_EQ(world_.disk.files(), before);
  }
  EXPECT_GT(fault.skip, 2u);
  expect_source_works(*engine_);
}

// ---- damage

TEST_F(BackupSim, DamageOfEachFileIsFoundFirst) {
  make_backup();
  const auto refuse = [&](const std::string& path, const std::string& what) {
    SCOPED_TRACE(path + " " + what);
    auto checked = verify_backup(world_.io(), "backup", {});
    ASSERT_FALSE(checked.ok());
    EXPECT_EQ(checked.status().code(), Code::corrupt) << checked.status().message();
    EXPECT_NE(checked.status().message().find(path), std::string::npos)
        << checked.status().message();
    auto restored = restore_backup(world_.io(), "backup", "restored", {});
    EXPECT_EQ(restored.status().code(), Code::corrupt);
    EXPECT_FALSE(world_.has("restored"));
    EXPECT_FALSE(world_.has("restored.restoring"));
  };
  const std::vector<std::string> files = files_below(world_.disk, "backup");
  ASSERT_GE(files.size(), 3u);
  for (const std::string& path : files) {
    const std::vector<std::byte> good = world_.disk.read_file(path);
    const bool manifest = path == "backup/BACKUP";
    const size_t step = manifest ? 1 : std::max<size_t>(1, good.size() / 40);
    for (size_t at = 0; at < good.size() && !HasFailure(); at += step) {
      std::vector<std::byte> bad = good;
      bad[at] ^= static_cast<std::byte>(1u << at % 8);
      world_.disk.write_file(path, bad);
      // A version that looks newer is told as such, before anything behind it is believed.
      if (manifest && verify_backup(world_.io(), "backup", {}).status().code() == Code::version) {
        continue;
      }
      refuse(path, "bit of byte " + std::to_string(at));
    }
    std::vector<std::byte> other = good;
    other.pop_back();
    world_.disk.write_file(path, other);
    refuse(path, "shorter");
    other = good;
    other.push_back(std::byte{0});
    world_.disk.write_file(path, other);
    refuse(path, "longer");
    if (!manifest) {
      world_.disk.remove_file(path);
      refuse(path, "missing");
    }
    world_.disk.write_file(path, good);
  }
  EXPECT_TRUE(verify_backup(world_.io(), "backup", {}).ok());
}

// Every checksum is right, and yet records are missing.
TEST_F(BackupSim, AManifestThatPromisesMoreThanTheLogHas) {
  make_backup();
  const std::vector<std::byte> good = world_.disk.read_file("backup/BACKUP");
  auto decoded = decode_manifest(as_text(good), "backup/BACKUP");
  ASSERT_TRUE(decoded.ok()) << decoded.status().message();
  const auto refuse = [&](const char* what, const BackupManifest& manifest) {
    SCOPED_TRACE(what);
    const std::string text = encode_manifest(manifest);
    const Bytes bytes = as_bytes(text);
    world_.disk.write_file("backup/BACKUP", {bytes.begin(), bytes.end()});
    for (const Status& told : {verify_backup(world_.io(), "backup", {}).take_status(),
                               restore_backup(world_.io(), "backup", "new", {}).take_status()}) {
      EXPECT_EQ(told.code(), Code::corrupt) << told.message();
      EXPECT_NE(told.message().find("backup/log"), std::string::npos) << told.message();
    }
    EXPECT_FALSE(world_.has("new"));
  };
  BackupManifest manifest = *decoded;
  manifest.last_lsn++;
  refuse("one record more", manifest);
  manifest.last_lsn -= 2;
  refuse("one record less", manifest);
  manifest = *decoded;
  ASSERT_TRUE(manifest.files.back().name.starts_with("log/"));
  const std::string path = "backup/" + manifest.files.back().name;
  const std::vector<std::byte> segment = world_.disk.read_file(path);
  world_.disk.remove_file(path);
  manifest.files.pop_back();
  refuse("no segment", manifest);
  world_.disk.write_file(path, segment);
  world_.disk.write_file("backup/BACKUP", good);
  EXPECT_TRUE(verify_backup(world_.io(), "backup", {}).ok());
}

// A file that changes between the check and the copy of it, on a medium that is not at rest.
TEST_F(BackupSim, AChangeBetweenTheCheckAndTheCopyIsNoticed) {
  make_backup();
  const uint64_t checked_bytes = report_.bytes;
  for (const std::string& path : files_below(world_.disk, "backup")) {
    if (path == "backup/BACKUP") continue;
    SCOPED_TRACE(path);
    const std::vector<std::byte> good = world_.disk.read_file(path);
    bool changed = false;
    const auto change = [&](uint64_t done_bytes, uint64_t) -> Status {
      if (done_bytes < checked_bytes || std::exchange(changed, true)) return {};
      std::vector<std::byte> bad = good;
      bad[bad.size() / 2] ^= std::byte{1};
      world_.disk.write_file(path, bad);
      return {};
    };
    auto restored = restore_backup(world_.io(), "backup", "restored", change);
    EXPECT_TRUE(changed);
    EXPECT_EQ(restored.status().code(), Code::corrupt);
    EXPECT_NE(restored.status().message().find(path), std::string::npos);
    EXPECT_FALSE(world_.has("restored"));
    world_.disk.write_file(path, good);
  }
}

// Damage of the source that a backup meets is not carried on as if it were right.
TEST_F(BackupSim, DamageOfTheSourcesLogIsTold) {
  const std::vector<std::string> segments = files_below(world_.disk, "source/log");
  ASSERT_FALSE(segments.empty());
  std::vector<std::byte> bytes = world_.disk.read_file(segments.back());
  bytes[4096 + 100] ^= std::byte{1};
  world_.disk.write_file(segments.back(), bytes);
  auto made = engine_->backup("backup", {});
  EXPECT_EQ(made.status().code(), Code::corrupt) << made.status().message();
  EXPECT_FALSE(world_.has("backup"));
}

// ---- manifests that nobody of ours wrote

BackupManifest sample_manifest() {
  BackupManifest manifest;
  manifest.checkpoint_lsn = 3;
  manifest.last_lsn = 9;
  manifest.created_ms = 1'000;
  manifest.files = {{"db/000012.sst", 5, 6}, {"log/0000000000000001.seg", 7, 8}};
  return manifest;
}

TEST(BackupManifestText, GoldenBytes) {
  EXPECT_EQ(encode_manifest(sample_manifest()),
            "wq backup 1\n"
            "format 1 0000000000000000 0000000000000000 0000000000000000\n"
            "uuid 0000000000000000 0000000000000000\n"
            "checkpoint_lsn 3\n"
            "last_lsn 9\n"
            "created_ms 1000\n"
            "file 5 0000000000000006 db/000012.sst\n"
            "file 7 0000000000000008 log/0000000000000001.seg\n"
            "end 2 38ea3bf7a7fb86a4\n");
}

TEST(BackupManifestText, NamesThatLeadElsewhereAreRefused) {
  EXPECT_TRUE(decode_manifest(encode_manifest(sample_manifest()), "m").ok());
  for (const char* const name :
       {"../x", "db/../x", "db/..", "db/.x", "db/", "/etc/x", "db//x", "db/a/b", "FORMAT", "x",
        "log/x.seg", "log/spare-1.seg", "db/a b", "tmp/x", "db/x\n", ""}) {
    BackupManifest manifest = sample_manifest();
    manifest.files.front().name = name;
    auto decoded = decode_manifest(encode_manifest(manifest), "m");
    EXPECT_EQ(decoded.status().code(), Code::corrupt) << name;
  }
}

// Under a checksum that is right.
TEST(BackupManifestText, ImpossibleLinesAreRefused) {
  const auto code_of = [](const std::function<void(BackupManifest&)>& change) {
    BackupManifest manifest = sample_manifest();
    change(manifest);
    return decode_manifest(encode_manifest(manifest), "m").status().code();
  };
  EXPECT_EQ(code_of([](BackupManifest&) {}), Code::ok);
  EXPECT_EQ(code_of([](BackupManifest& m) { std::swap(m.files[0], m.files[1]); }), Code::corrupt);
  EXPECT_EQ(code_of([](BackupManifest& m) { m.files[1] = m.files[0]; }), Code::corrupt);
  EXPECT_EQ(code_of([](BackupManifest& m) { m.checkpoint_lsn = m.last_lsn + 1; }), Code::corrupt);
  EXPECT_EQ(code_of([](BackupManifest& m) { m.checkpoint_lsn = m.last_lsn = 0; }), Code::corrupt);
  EXPECT_EQ(code_of([](BackupManifest& m) { m.created_ms = -1; }), Code::corrupt);
  // Fewer files than it says.
  const std::string good = encode_manifest(sample_manifest());
  const size_t first = good.find("file ");
  const size_t second = good.find("file ", first + 1);
  const std::string fewer = good.substr(0, first) + good.substr(second, good.find("end ") - second);
  char end[40];
  constexpr uint64_t manifest_seed = 0x77712d6261636b75;  // as docs/FORMAT.md has it
  std::snprintf(end, sizeof end, "end 2 %016llx\n",
                static_cast<unsigned long long>(hash64(as_bytes(fewer), manifest_seed)));
  EXPECT_EQ(decode_manifest(fewer + end, "m").status().code(), Code::corrupt);
  end[4] = '1';
  EXPECT_TRUE(decode_manifest(fewer + end, "m").ok());
}

TEST(BackupManifestText, NewerOnesAreRefused) {
  BackupManifest manifest = sample_manifest();
  manifest.format.version = store_format_version + 1;
  EXPECT_EQ(decode_manifest(encode_manifest(manifest), "m").status().code(), Code::version);
  manifest = sample_manifest();
  manifest.format.incompatible = 1;
  EXPECT_EQ(decode_manifest(encode_manifest(manifest), "m").status().code(), Code::version);
  std::string newer = encode_manifest(sample_manifest());
  newer[newer.find('1')] = '2';
  EXPECT_EQ(decode_manifest(newer, "m").status().code(), Code::version);
  auto next = decode_manifest("wq backup 2\nwhatever", "m");
  EXPECT_EQ(next.status().code(), Code::version);
  EXPECT_NE(next.status().message().find("newer library"), std::string::npos);
}

}  // namespace
}  // namespace wq
