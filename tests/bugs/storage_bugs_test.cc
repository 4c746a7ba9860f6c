// Reported bugs about files: cases 36, 38, 43. The log alone is tested for them in tests/unit/io;
// here the whole store is.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "bugs/real_store.h"
#include "bugs/small_store.h"
#include "support/child_process.h"

namespace wq {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> drain(EngineHarness& harness, QueueId q) {
  std::vector<std::string> payloads;
  for (;;) {
    const std::vector<JobView> jobs = harness.lease(q, 100);
    if (jobs.empty()) return payloads;
    for (const JobView& job : jobs) {
      payloads.push_back(payload_of(job));
      EXPECT_EQ(harness.ack(q, job.id, job.generation), Code::ok);
    }
  }
}

std::vector<std::byte> zeros(size_t bytes) {
  return std::vector<std::byte>(bytes);
}

// ---- 36: a position file lags behind the data after a kill, and unread jobs are overwritten.

TEST(BugCase, C36_TheEndOfTheLogIsFoundByReadingIt) {
  for (const StoreKind kind : {StoreKind::memory, StoreKind::rocks}) {
    EngineHarness harness(small_store(kind));
    ASSERT_TRUE(harness.open().ok());
    const QueueId q = harness.queue("q");
    std::vector<std::string> expected;
    const auto put = [&](size_t bytes) {
      expected.push_back(std::to_string(expected.size()) + std::string(bytes, 'x'));
      harness.enqueue(q, expected.back());
    };
    for (int i = 0; i < 10; ++i) put(100);
    ASSERT_TRUE(harness.engine().checkpoint().ok());
    for (int i = 0; i < 3; ++i) put(100);
    ASSERT_TRUE(harness.kill_and_open().ok());
    for (int i = 0; i < 3; ++i) put(1'000);
    ASSERT_TRUE(harness.kill_and_open().ok());
    EXPECT_EQ(drain(harness, q), expected);
    harness.expect_sound();
  }
}

TEST(BugCase, C36_ACheckpointAheadOfTheLogIsCorrupt) {
  EngineHarness harness(small_store());
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  for (int i = 0; i < 10; ++i) harness.enqueue(q, "j");
  ASSERT_TRUE(harness.close().ok());
  for (const std::string& path : harness.disk().files()) {
    if (path.find(".seg") != std::string::npos) harness.disk().remove_file(path);
  }
  const Status status = harness.open();
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_NE(status.message().find("log"), std::string::npos) << status.message();
}

// ---- 38: after a power cut a small file is all zeros, or the last record is cut, and nothing
// opens.

TEST(BugCase, C38_ADamagedFormatFileIsNamedAndNothingIsTouched) {
  for (const size_t bytes : {size_t{0}, size_t{64}}) {
    EngineHarness harness(small_store());
    ASSERT_TRUE(harness.open().ok());
    const QueueId q = harness.queue("q");
    harness.enqueue(q, "j");
    ASSERT_TRUE(harness.close().ok());
    const std::vector<std::byte> good = harness.disk().read_file("store/FORMAT");
    ASSERT_EQ(good.size(), 64u);
    harness.disk().write_file("store/FORMAT", zeros(bytes));
    const std::vector<std::string> files = harness.disk().files();
    const Status status = harness.open();
    EXPECT_EQ(status.code(), Code::corrupt);
    EXPECT_NE(status.message().find("FORMAT"), std::string::npos) << status.message();
    EXPECT_EQ(harness.disk().files(), files);
    // With the file put back the store is as it was.
    harness.disk().write_file("store/FORMAT", good);
    ASSERT_TRUE(harness.open().ok());
    EXPECT_EQ(drain(harness, q), std::vector<std::string>{"j"});
  }
}

TEST(BugCase, C38_AMissingFormatFileIsNoEmptyStore) {
  EngineHarness harness(small_store());
  ASSERT_TRUE(harness.open().ok());
  harness.enqueue(harness.queue("q"), "j");
  ASSERT_TRUE(harness.close().ok());
  harness.disk().remove_file("store/FORMAT");
  EXPECT_EQ(harness.open().code(), Code::corrupt);
}

// The record of an enqueue that was never acknowledged, cut at every length.
TEST(BugCase, C38_TheLastRecordCutAtEveryLength) {
  EngineHarness harness(small_store());
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  std::vector<std::string> acked;
  for (int i = 0; i < 5; ++i) {
    acked.push_back("job " + std::to_string(i));
    harness.enqueue(q, acked.back());
  }
  std::map<std::string, std::vector<std::byte>> before;
  for (const std::string& path : harness.disk().files()) {
    before[path] = harness.disk().read_file(path);
  }
  harness.enqueue(q, "the last one");
  // Where the record went: what is different now.
  std::string path;
  size_t from = 0;
  size_t until = 0;
  std::vector<std::byte> after;
  for (const auto& [name, old] : before) {
    const std::vector<std::byte> now = harness.disk().read_file(name);
    if (now == old) continue;
    ASSERT_TRUE(path.empty()) << "one file changes";
    path = name;
    after = now;
    std::vector<std::byte> padded = old;  // a file that grew was as good as zero there
    padded.resize(now.size());
    for (from = 0; now[from] == padded[from];) ++from;
    for (until = now.size(); now[until - 1] == padded[until - 1];) --until;
  }
  ASSERT_FALSE(path.empty());
  ASSERT_GT(until, from);
  std::printf("cut at %zu lengths\n", until - from);
  for (size_t kept = 0; kept <= until - from; ++kept) {
    std::vector<std::byte> bytes = after;
    std::fill(bytes.begin() + static_cast<ptrdiff_t>(from + kept), bytes.end(), std::byte{0});
    SimDisk disk = harness.disk().copy();
    disk.write_file(path, bytes);
    const std::unique_ptr<Io> io = disk.mount();
    Result<std::unique_ptr<Engine>> opened =
        Engine::open(harness.options().engine, log_only(*io, harness.clock()));
    ASSERT_TRUE(opened.ok()) << kept << ": " << opened.status().message();
    const Recovery& found = opened.value()->recovery();
    EXPECT_FALSE(found.clean);
    std::vector<std::string> expected = acked;
    if (kept == until - from) expected.push_back("the last one");
    // Something of it was there and is gone: that is told.
    const bool cut = kept > 0 && kept < until - from;
    EXPECT_EQ(found.log.truncated_bytes > 0, cut) << kept;
    EXPECT_EQ(found.log.truncated_where.empty(), !cut) << kept;
    std::vector<std::string> payloads;
    for (const JobView& job : lease(*opened.value(), q, 100, 60'000)) {
      payloads.push_back(payload_of(job));
    }
    EXPECT_EQ(payloads, expected) << kept;
  }
}

TEST(BugCase, C38_ZerosBehindTheLogAreNothing) {
  EngineHarness harness(small_store());
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  harness.enqueue(q, "a");
  harness.enqueue(q, "b");
  SimDisk disk = harness.disk().image({CrashData::all, CrashNames::all, 512, 1});
  for (const std::string& path : disk.files()) {
    if (path.find("log/") == std::string::npos) continue;
    std::vector<std::byte> bytes = disk.read_file(path);
    bytes.resize(bytes.size() + 4'096);
    disk.write_file(path, bytes);
  }
  const std::unique_ptr<Io> io = disk.mount();
  Result<std::unique_ptr<Engine>> opened =
      Engine::open(harness.options().engine, log_only(*io, harness.clock()));
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(lease(*opened.value(), q, 10, 60'000).size(), 2u);
}

// No cut of the power leaves a file of ours that stops the store: the first open, a queue and a
// job, cut after each event. What was acknowledged before the cut is there.
TEST(BugCase, C38_NoPowerCutDamagesASmallFile) {
  EngineHarness harness(small_store());
  harness.disk().start_recording();
  ASSERT_TRUE(harness.open().ok());
  const QueueId q = harness.queue("q");
  const uint64_t queue_event = harness.disk().events();
  harness.enqueue(q, "j");
  const uint64_t job_event = harness.disk().events();
  harness.tick();
  for (SimHistory history(harness.disk()); history.step();) {
    for (uint64_t seed = 0; seed < 6; ++seed) {
      const CrashData data = seed == 0   ? CrashData::none
                             : seed == 1 ? CrashData::all
                             : seed == 2 ? CrashData::torn
                                         : CrashData::random;
      const CrashNames names = seed == 1 ? CrashNames::all : CrashNames::random;
      SimDisk disk = history.disk().image({data, names, 512, seed * 1'000 + history.event()});
      const std::unique_ptr<Io> io = disk.mount();
      Result<std::unique_ptr<Engine>> opened =
          Engine::open(harness.options().engine, log_only(*io, harness.clock()));
      ASSERT_TRUE(opened.ok()) << "event " << history.event() << " seed " << seed << ": "
                               << opened.status().message();
      CallOptions call;
      const Result<QueueId> found = opened.value()->open_queue("q", {}, 0, false, call);
      EXPECT_TRUE(found.ok() || history.event() < queue_event);
      if (history.event() >= job_event) {
        EXPECT_EQ(lease(*opened.value(), found.value(), 10, 60'000).size(), 1u);
      }
    }
  }
}

// RocksDB's own small files. It must come back with every job or say CORRUPT; never as an empty
// store.
enum class Damage : uint8_t { zeros, empty, missing };

TEST(BugCase, C38_DamagedFilesOfTheColdStore) {
  for (const std::string name : {"CURRENT", "MANIFEST"}) {
    for (const Damage damage : {Damage::zeros, Damage::empty, Damage::missing}) {
      EngineHarness harness(small_store(StoreKind::rocks));
      ASSERT_TRUE(harness.open().ok());
      const QueueId q = harness.queue("q");
      for (int i = 0; i < 5; ++i) harness.enqueue(q, "j");
      ASSERT_TRUE(harness.engine().checkpoint().ok());
      ASSERT_TRUE(harness.close().ok());
      int damaged = 0;
      for (const auto& entry : fs::directory_iterator(harness.directory() + "/db")) {
        if (!entry.path().filename().string().starts_with(name)) continue;
        ++damaged;
        const uintmax_t bytes = fs::file_size(entry.path());
        if (damage == Damage::missing) fs::remove(entry.path());
        if (damage == Damage::empty) fs::resize_file(entry.path(), 0);
        if (damage == Damage::zeros) {
          std::ofstream(entry.path(), std::ios::binary) << std::string(bytes, '\0');
        }
      }
      ASSERT_GE(damaged, 1);
      const Status status = harness.open();
      const std::string what = name + " " + std::to_string(static_cast<int>(damage));
      if (status.ok()) {
        EXPECT_EQ(harness.lease(q, 10).size(), 5u) << what;
        harness.expect_sound();
      } else {
        EXPECT_EQ(status.code(), Code::corrupt) << what << ": " << status.message();
      }
    }
  }
}

std::map<std::string, std::string> contents_of(const std::string& directory) {
  std::map<std::string, std::string> contents;
  for (const auto& entry : fs::directory_iterator(directory)) {
    std::ifstream in(entry.path(), std::ios::binary);
    contents[entry.path().filename().string()] = {std::istreambuf_iterator<char>(in), {}};
  }
  return contents;
}

constexpr size_t kept_jobs = 60;

// A store whose log was trimmed, so that its state is in the database alone.
void make_old_store(EngineHarness& harness) {
  for (size_t round = 0; round < 3; ++round) {
    ASSERT_TRUE(harness.open().ok());
    const QueueId q = harness.queue("q");
    for (size_t i = 0; i < kept_jobs / 3; ++i) harness.enqueue(q, std::string(2'000, 'j'));
    ASSERT_TRUE(harness.engine().checkpoint().ok());
    ASSERT_TRUE(harness.close().ok());
  }
}

// A file that is missing for now (a backup half restored, a disk not mounted) must find its place
// again: the open that was refused has not changed, removed or made anything.
TEST(BugCase, C38_AMissingFileOfTheColdStoreCanBePutBack) {
  bool more = true;
  size_t refused = 0;
  for (size_t which = 0; more; ++which) {
    EngineHarness harness(small_store(StoreKind::rocks));
    make_old_store(harness);
    const std::string directory = harness.directory() + "/db";
    const std::map<std::string, std::string> before = contents_of(directory);
    const auto victim = std::next(before.begin(), static_cast<std::ptrdiff_t>(which));
    more = std::next(victim) != before.end();
    SCOPED_TRACE(victim->first);
    fs::remove(directory + "/" + victim->first);
    std::map<std::string, std::string> rest = before;
    rest.erase(victim->first);
    Status status = harness.open();
    if (!status.ok()) {
      ++refused;
      EXPECT_EQ(status.code(), Code::corrupt) << status.message();
      EXPECT_EQ(harness.open().code(), status.code());
      EXPECT_TRUE(contents_of(directory) == rest);
      std::ofstream(directory + "/" + victim->first, std::ios::binary) << victim->second;
      status = harness.open();
    }
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(drain(harness, harness.queue("q")).size(), kept_jobs);
    harness.expect_sound();
  }
  EXPECT_GE(refused, 3u);  // CURRENT, MANIFEST, and what holds the rows
}

// Two stores with records of the same numbers: nothing but the identity tells their halves apart.
TEST(BugCase, C38_TheColdSideOfAnotherStoreIsRefused) {
  EngineHarness ours(small_store(StoreKind::rocks));
  EngineHarness theirs(small_store(StoreKind::rocks));
  make_old_store(ours);
  make_old_store(theirs);
  const std::string ours_db = ours.directory() + "/db";
  fs::rename(ours_db, ours_db + ".kept");
  fs::copy(theirs.directory() + "/db", ours_db);
  const Status status = ours.open();
  EXPECT_EQ(status.code(), Code::corrupt);
  EXPECT_NE(status.message().find("another store"), std::string::npos) << status.message();
  fs::remove_all(ours_db);
  fs::rename(ours_db + ".kept", ours_db);
  ASSERT_TRUE(ours.open().ok());
  EXPECT_EQ(drain(ours, ours.queue("q")).size(), kept_jobs);
}

TEST(BugCase, C38_TablesWithoutADatabaseAreNotRemoved) {
  EngineHarness harness(small_store(StoreKind::rocks));
  const std::string path = harness.directory() + "/db/000123.sst";
  fs::create_directories(harness.directory() + "/db");
  std::ofstream(path) << "somebody else's";
  EXPECT_EQ(harness.open().code(), Code::corrupt);
  EXPECT_TRUE(fs::exists(path));
}

// ---- 43: two processes share a directory, and their writes race.

std::map<std::string, fs::file_time_type> times_of(const std::string& directory) {
  std::map<std::string, fs::file_time_type> times;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    if (entry.path().string().find("/log") != std::string::npos) continue;  // the owner may write
    times[entry.path().string()] = fs::last_write_time(entry.path());
  }
  return times;
}

Result<std::unique_ptr<Engine>> open_real(Io& io, const std::string& directory) {
  EngineOptions options = small_store().engine;
  options.directory = directory;
  Environment environment;
  environment.io = &io;
  environment.clock = &system_clock();
  return Engine::open(options, environment);
}

TEST(BugCase, C43_AStoreBelongsToOneProcess) {
  const std::string root = testing::TempDir() + "/case43";
  const std::string directory = root + "/store";
  fs::create_directories(root);
  const std::unique_ptr<Io> io = make_io().value();
  ChildProcess holder("store_holder", {directory});
  std::string said(5, '\0');
  ASSERT_EQ(read(holder.output(), said.data(), said.size()), 5);
  ASSERT_EQ(said, "open\n");
  fs::create_symlink(directory, root + "/link");
  const auto before = times_of(directory);
  const fs::path cwd = fs::current_path();
  fs::current_path(root);
  for (const std::string& path : {directory, root + "/link", std::string("store"),
                                  std::string("./link/../store"), directory + "/"}) {
    const int64_t start_us = now_us();
    const auto opened = open_real(*io, path);
    ASSERT_FALSE(opened.ok()) << path;
    EXPECT_EQ(opened.status().code(), Code::locked) << path;
    EXPECT_NE(opened.status().message().find(std::to_string(holder.pid())), std::string::npos)
        << opened.status().message();
    EXPECT_LT(now_us() - start_us, lost_us);  // the bar is 100 ms
  }
  fs::current_path(cwd);
  EXPECT_EQ(times_of(directory), before) << "a refused open writes nothing";
  holder.kill_now();
  {
    const auto opened = open_real(*io, root + "/link");
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    CallOptions call;
    const QueueId q = opened.value()->open_queue("q", {}, 0, false, call).value();
    EXPECT_EQ(lease(*opened.value(), q, 10, 60'000).size(), 1u) << "what the killed one put in";
    // Within one process as well, by whatever name.
    const auto again = open_real(*io, directory);
    ASSERT_FALSE(again.ok());
    EXPECT_EQ(again.status().code(), Code::locked);
    EXPECT_NE(again.status().message().find(std::to_string(getpid())), std::string::npos)
        << again.status().message();
  }
  // What is left of the lock blocks nothing.
  EXPECT_TRUE(open_real(*io, directory).ok());
}

}  // namespace
}  // namespace wq
