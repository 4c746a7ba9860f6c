// What only the RocksDB store has: two roads, files that are cut and cleaned up, space that comes
// back, read-only opening, damage, and failures in the background.
#include <gtest/gtest.h>

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/status.h>
#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "base/prng.h"
#include "engine/store_rocks_internal.h"
#include "unit/engine/store_harness.h"

namespace wq {
namespace {

namespace fs = std::filesystem;

std::string noise(Prng& prng, size_t size) {
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(prng.next());
  return out;
}

class RocksStoreTest : public testing::Test {
 protected:
  RocksStoreTest() : store_(StoreKind::rocks) {}
  void SetUp() override { ASSERT_TRUE(store_.open().ok()); }

  std::unique_ptr<Checkpoint> begin(uint64_t rows) {
    auto checkpoint = store_->begin_checkpoint(rows);
    EXPECT_TRUE(checkpoint.ok());
    return std::move(checkpoint).value();
  }
  // Rows [first, first + count) of a family, each with `value`.
  void put_rows(Family family, uint64_t first, uint64_t count, std::string_view value,
                uint64_t road = by_files) {
    const auto checkpoint = begin(road);
    for (uint64_t i = first; i < first + count; ++i) {
      ASSERT_TRUE(checkpoint->put(family, row_key(i), value).ok());
    }
    ASSERT_TRUE(checkpoint->commit().ok());
  }
  uint64_t count_rows(Family family) {
    uint64_t count = 0;
    const auto cursor = store_->scan(family, "", "");
    for (; cursor->valid(); cursor->next()) ++count;
    EXPECT_TRUE(cursor->status().ok()) << cursor->status().message();
    return count;
  }
  size_t temp_files() {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(store_.options().temp_directory)) {
      count += entry.exists() ? 1 : 0;
    }
    return count;
  }
  std::vector<fs::path> files_of(const std::string& extension) {
    std::vector<fs::path> paths;
    for (const auto& entry : fs::directory_iterator(store_.directory())) {
      if (entry.path().extension() == extension) paths.push_back(entry.path());
    }
    return paths;
  }

  StoreHarness store_;
};

TEST_F(RocksStoreTest, TheNumberOfRowsChoosesTheRoad) {
  put_rows(Family::kv, 0, 1, "v", StoreOptions().batch_rows_max);
  EXPECT_EQ(store_->stats().checkpoints_written, 1u);
  EXPECT_EQ(store_->stats().checkpoints_ingested, 0u);
  put_rows(Family::kv, 0, 1, "v", StoreOptions().batch_rows_max + 1);
  EXPECT_EQ(store_->stats().checkpoints_written, 1u);
  EXPECT_EQ(store_->stats().checkpoints_ingested, 1u);
}

TEST_F(RocksStoreTest, ABatchThatOutgrowsItsBoundGoesByFiles) {
  put_rows(Family::job, 0, 10, "old", by_batch);
  const std::string large(1 << 20, 'x');
  const auto checkpoint = begin(by_batch);
  ASSERT_TRUE(checkpoint->put(Family::meta, "m", "1").ok());
  ASSERT_TRUE(checkpoint->erase(Family::job, row_key(0)).ok());
  ASSERT_TRUE(checkpoint->erase_range(Family::job, row_key(1), row_key(5)).ok());
  for (uint64_t i = 20; i < 40; ++i) {
    ASSERT_TRUE(checkpoint->put(Family::job, row_key(i), large).ok());
  }
  ASSERT_TRUE(checkpoint->put(Family::meta, "n", "2").ok());
  EXPECT_EQ(count_rows(Family::job), 10u);
  ASSERT_TRUE(checkpoint->commit().ok());
  EXPECT_EQ(store_->stats().checkpoints_ingested, 1u);
  EXPECT_EQ(count_rows(Family::job), 25u);
  EXPECT_EQ(read_row(store_.store(), Family::job, row_key(39)), large);
  EXPECT_EQ(read_row(store_.store(), Family::meta, "m"), "1");
  EXPECT_EQ(read_row(store_.store(), Family::meta, "n"), "2");
}

TEST_F(RocksStoreTest, DroppedCheckpointsLeaveNoFile) {
  const std::string value(1'000, 'v');
  {
    const auto checkpoint = begin(by_files);
    for (uint64_t i = 0; i < 5'000; ++i) {
      ASSERT_TRUE(checkpoint->put(Family::job, row_key(i), value).ok());
    }
    ASSERT_TRUE(checkpoint->put(Family::meta, "m", "1").ok());
    EXPECT_EQ(temp_files(), 2u);
  }
  EXPECT_EQ(temp_files(), 0u);
  EXPECT_EQ(count_rows(Family::job), 0u);
  put_rows(Family::job, 0, 10, "v");
  EXPECT_EQ(temp_files(), 0u);  // moved, not copied
}

// Its logger asserts when the file can not grow: a full disk would abort the host.
TEST_F(RocksStoreTest, RocksDbWritesNoInfoLog) {
  put_rows(Family::kv, 0, 10, "v");
  ASSERT_TRUE(store_.reopen().ok());
  for (const auto& entry : fs::directory_iterator(store_.directory())) {
    EXPECT_NE(entry.path().filename().string().rfind("LOG", 0), 0u) << entry.path();
  }
}

TEST_F(RocksStoreTest, OpenRemovesWhatACrashLeft) {
  const std::string left = store_.options().temp_directory + "/checkpoint-1.sst";
  std::ofstream(left) << "half a file";
  ASSERT_TRUE(store_.reopen().ok());
  EXPECT_FALSE(fs::exists(left));
}

// Levels of a family of a closed store: the number of files on each.
std::map<int, size_t> levels_of(const std::string& directory, const std::string& family) {
  std::vector<std::string> names;
  EXPECT_TRUE(rocksdb::DB::ListColumnFamilies(rocksdb::DBOptions(), directory, &names).ok());
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) {
    families.emplace_back(name, rocksdb::ColumnFamilyOptions());
  }
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  EXPECT_TRUE(
      rocksdb::DB::OpenForReadOnly(rocksdb::DBOptions(), directory, families, &handles, &db).ok());
  std::map<int, size_t> levels;
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    rocksdb::ColumnFamilyMetaData meta;
    db->GetColumnFamilyMetaData(handle, &meta);
    for (const auto& level : meta.levels) {
      if (meta.name == family && !level.files.empty()) levels[level.level] = level.files.size();
    }
    EXPECT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
  }
  delete db;
  return levels;
}

TEST_F(RocksStoreTest, FreshRowsGoToTheBottomBesideErasedOnes) {
  put_rows(Family::ready, 0, 1'000, "v");
  const auto checkpoint = begin(by_files);
  ASSERT_TRUE(checkpoint->erase_range(Family::ready, row_key(0), row_key(100)).ok());
  for (uint64_t i = 1'000; i < 2'000; ++i) {
    ASSERT_TRUE(checkpoint->put(Family::ready, row_key(i), "v").ok());
  }
  ASSERT_TRUE(checkpoint->commit().ok());
  EXPECT_EQ(count_rows(Family::ready), 1'900u);
  ASSERT_TRUE(store_.close().ok());
  const auto levels = levels_of(store_.directory(), "ready");
  // Both runs of rows below, the tombstone alone above them.
  EXPECT_EQ(levels, (std::map<int, size_t>{{0, 1}, {6, 2}}));
}

TEST_F(RocksStoreTest, AGapOverAWholeFileCutsTheFile) {
  for (uint64_t i = 0; i < 5; ++i) put_rows(Family::ready, i * 1'000, 1'000, "v");
  const auto checkpoint = begin(by_files);
  // Near both ends, nothing in the three files between.
  ASSERT_TRUE(checkpoint->erase(Family::ready, row_key(10)).ok());
  ASSERT_TRUE(checkpoint->erase(Family::ready, row_key(4'500)).ok());
  ASSERT_TRUE(checkpoint->commit().ok());
  EXPECT_EQ(count_rows(Family::ready), 4'998u);
  ASSERT_TRUE(store_.close().ok());
  EXPECT_EQ(levels_of(store_.directory(), "ready"), (std::map<int, size_t>{{0, 2}, {6, 5}}));
}

TEST_F(RocksStoreTest, ALargeFamilyIsSplitAtTheFileSize) {
  Prng prng(1);
  const std::string value = noise(prng, 256 << 10);
  put_rows(Family::job, 0, 300, value);  // 75 MiB
  EXPECT_EQ(count_rows(Family::job), 300u);
  ASSERT_TRUE(store_.close().ok());
  EXPECT_EQ(levels_of(store_.directory(), "job"), (std::map<int, size_t>{{6, 2}}));
}

TEST_F(RocksStoreTest, SpaceOfErasedFilesComesBackAtOnce) {
  Prng prng(1);
  for (uint64_t i = 0; i < 5; ++i) {
    const auto checkpoint = begin(by_files);
    for (uint64_t row = i * 1'000; row < (i + 1) * 1'000; ++row) {
      ASSERT_TRUE(checkpoint->put(Family::job, row_key(row), noise(prng, 1'000)).ok());
    }
    ASSERT_TRUE(checkpoint->commit().ok());
  }
  const uint64_t before = store_->stats().file_bytes;
  ASSERT_GT(before, 4'900'000u);
  ASSERT_TRUE(store_->reclaim(Family::job, row_key(0), row_key(2'500)).ok());
  EXPECT_LT(store_->stats().file_bytes, before * 7 / 10);
  const auto checkpoint = begin(by_files);
  ASSERT_TRUE(checkpoint->erase_range(Family::job, row_key(2'500), row_key(4'000)).ok());
  ASSERT_TRUE(checkpoint->commit().ok());
  EXPECT_LT(store_->stats().file_bytes, before / 2);
  EXPECT_EQ(count_rows(Family::job), 1'000u);
  ASSERT_TRUE(store_.reopen().ok());
  EXPECT_EQ(count_rows(Family::job), 1'000u);
}

// A queue that stands still in length: each checkpoint erases at the head and appends at the tail.
TEST_F(RocksStoreTest, TombstonesOfASteadyQueueAreCleanedUp) {
  constexpr uint64_t rows_each = 20;
  constexpr uint64_t live = 200;
  put_rows(Family::ready, 0, live, "v");
  uint64_t files_max = 0;
  for (uint64_t head = 0; head < 200 * rows_each; head += rows_each) {
    const auto checkpoint = begin(head % 3 == 0 ? by_batch : by_files);
    ASSERT_TRUE(
        checkpoint->erase_range(Family::ready, row_key(head), row_key(head + rows_each)).ok());
    for (uint64_t i = 0; i < rows_each; ++i) {
      ASSERT_TRUE(checkpoint->put(Family::ready, row_key(head + live + i), "v").ok());
    }
    ASSERT_TRUE(checkpoint->commit().ok());
    files_max = std::max(files_max, store_->stats().files);
  }
  EXPECT_EQ(count_rows(Family::ready), live);
  // The background may lag behind by some rounds; without cleaning there would be hundreds.
  EXPECT_LT(files_max, 120u);
}

// A drain: each checkpoint erases what one file holds. The file is dropped, and with nothing left
// below it the tombstone sinks to the bottom level, where RocksDB looks at it only if it is made
// to.
TEST_F(RocksStoreTest, TombstonesOfADrainedQueueAreCleanedUp) {
  constexpr uint64_t rows_each = 20;
  constexpr uint64_t files = 40;
  for (uint64_t i = 0; i < files; ++i) put_rows(Family::ready, i * rows_each, rows_each, "v");
  ASSERT_GE(store_->stats().files, files);
  const auto erase_step = [&](uint64_t step) {
    const auto checkpoint = begin(by_files);
    const std::string from = row_key(step * rows_each);
    ASSERT_TRUE(checkpoint->erase_range(Family::ready, from, row_key((step + 1) * rows_each)).ok());
    ASSERT_TRUE(checkpoint->commit().ok());
  };
  for (uint64_t step = 0; step < files; ++step) erase_step(step);
  EXPECT_EQ(count_rows(Family::ready), 0u);
  // Some steps more, for the background to come round.
  constexpr uint64_t files_left_max = 20;
  for (uint64_t step = files; step < files + 200; ++step) {
    if (store_->stats().files <= files_left_max) break;
    erase_step(step);
  }
  EXPECT_LE(store_->stats().files, files_left_max);
}

TEST_F(RocksStoreTest, LargePayloadsLiveThroughBothRoadsAndCompaction) {
  Prng prng(1);
  std::map<uint64_t, std::string> expected;
  for (uint64_t i = 0; i < 40; ++i) {
    expected[i] = noise(prng, 5'000 + prng.below(300'000));
    const auto checkpoint = begin(i % 2 == 0 ? by_batch : by_files);
    ASSERT_TRUE(checkpoint->put(Family::job, row_key(i), expected[i]).ok());
    ASSERT_TRUE(checkpoint->commit().ok());
  }
  ASSERT_TRUE(store_.reopen().ok());
  for (const auto& [i, value] : expected) {
    ASSERT_EQ(read_row(store_.store(), Family::job, row_key(i)), value);
  }
  const auto cursor = store_->scan(Family::job, "", "");
  for (const auto& [i, value] : expected) {
    ASSERT_TRUE(cursor->valid());
    ASSERT_EQ(cursor->value(), value);
    cursor->next();
  }
  ASSERT_FALSE(cursor->valid());
}

TEST_F(RocksStoreTest, BlobFilesAreDroppedWithTheirRows) {
  Prng prng(1);
  const std::string value = noise(prng, 64 << 10);
  put_rows(Family::job, 0, 64, value, by_batch);
  ASSERT_TRUE(store_.reopen().ok());  // recovery writes the batch out: the values go to a blob file
  EXPECT_FALSE(files_of(".blob").empty());
  ASSERT_TRUE(store_->reclaim(Family::job, "", "").ok());
  // The blob file goes with the compaction that drops the last row pointing to it.
  for (int i = 0; i < 200 && !files_of(".blob").empty(); ++i) {
    const auto checkpoint = begin(by_files);
    const auto first = row_key(1'000 + static_cast<uint64_t>(i) * 10);
    ASSERT_TRUE(checkpoint->erase_range(Family::job, "", first).ok());
    ASSERT_TRUE(checkpoint->put(Family::job, first, "v").ok());
    ASSERT_TRUE(checkpoint->commit().ok());
  }
  EXPECT_TRUE(files_of(".blob").empty());
  EXPECT_EQ(count_rows(Family::job), 1u);
}

struct FileFacts {
  uint64_t size;
  fs::file_time_type changed;
  bool operator==(const FileFacts&) const = default;
};

std::map<std::string, FileFacts> facts_of(const std::string& directory) {
  std::map<std::string, FileFacts> facts;
  for (const auto& entry : fs::recursive_directory_iterator(directory)) {
    const uint64_t size = entry.is_regular_file() ? entry.file_size() : 0;
    facts[entry.path().string()] = {size, entry.last_write_time()};
  }
  return facts;
}

TEST_F(RocksStoreTest, ReadOnlyWritesNothing) {
  put_rows(Family::ready, 0, 100, "files", by_files);
  put_rows(Family::ready, 50, 100, "batch", by_batch);  // only in RocksDB's log
  ASSERT_TRUE(store_.close().ok());
  const std::string left = store_.options().temp_directory + "/checkpoint-9.sst";
  std::ofstream(left) << "left by a crash";
  const std::string parent = fs::path(store_.directory()).parent_path().string();
  const auto before = facts_of(parent);
  store_.options().read_only = true;
  ASSERT_TRUE(store_.open().ok());
  EXPECT_EQ(count_rows(Family::ready), 150u);
  EXPECT_EQ(read_row(store_.store(), Family::ready, row_key(49)), "files");
  EXPECT_EQ(read_row(store_.store(), Family::ready, row_key(50)), "batch");
  EXPECT_EQ(store_->begin_checkpoint(1).status().code(), Code::read_only);
  EXPECT_EQ(store_->reclaim(Family::ready, "", "").code(), Code::read_only);
  ASSERT_TRUE(store_.close().ok());
  EXPECT_EQ(facts_of(parent), before);
}

TEST_F(RocksStoreTest, ReadOnlyBesideTheOwner) {
  put_rows(Family::ready, 0, 10, "v", by_batch);
  StoreOptions options = store_.options();
  options.read_only = true;
  const auto second = open_rocks_store(options);
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ(read_row(*second.value(), Family::ready, row_key(3)), "v");
}

TEST_F(RocksStoreTest, ASecondOwnerIsRefused) {
  const auto second = open_rocks_store(store_.options());
  EXPECT_EQ(second.status().code(), Code::locked) << second.status().message();
}

TEST_F(RocksStoreTest, AMissingStoreIsNotCreatedUnasked) {
  StoreOptions options = store_.options();
  options.directory += "-elsewhere";
  options.create = false;
  EXPECT_EQ(open_rocks_store(options).status().code(), Code::not_found);
  options.create = true;
  options.read_only = true;
  EXPECT_EQ(open_rocks_store(options).status().code(), Code::not_found);
  EXPECT_FALSE(fs::exists(options.directory));
}

TEST_F(RocksStoreTest, AfterCloseEveryCallAnswersClosed) {
  ASSERT_TRUE(store_->close().ok());
  ASSERT_TRUE(store_->close().ok());
  EXPECT_EQ(store_->get(Family::meta, "m").status().code(), Code::closed);
  EXPECT_EQ(store_->begin_checkpoint(1).status().code(), Code::closed);
  EXPECT_EQ(store_->reclaim(Family::meta, "a", "b").code(), Code::closed);
  const auto cursor = store_->scan(Family::meta, "", "");
  EXPECT_FALSE(cursor->valid());
  EXPECT_EQ(cursor->status().code(), Code::closed);
}

TEST_F(RocksStoreTest, AFamilyOfANewerVersionIsRefused) {
  ASSERT_TRUE(store_.close().ok());
  rocksdb::DB* db = nullptr;
  std::vector<std::string> names;
  ASSERT_TRUE(
      rocksdb::DB::ListColumnFamilies(rocksdb::DBOptions(), store_.directory(), &names).ok());
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const auto& name : names) families.emplace_back(name, rocksdb::ColumnFamilyOptions());
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  ASSERT_TRUE(
      rocksdb::DB::Open(rocksdb::DBOptions(), store_.directory(), families, &handles, &db).ok());
  rocksdb::ColumnFamilyHandle* future = nullptr;
  ASSERT_TRUE(db->CreateColumnFamily(rocksdb::ColumnFamilyOptions(), "future", &future).ok());
  handles.push_back(future);
  for (auto* handle : handles) ASSERT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
  delete db;
  EXPECT_EQ(store_.open().code(), Code::version);
}

// Creation stopped by a crash: some families are missing. The next open makes them.
TEST_F(RocksStoreTest, AHalfCreatedStoreIsCompleted) {
  StoreOptions options = store_.options();
  options.directory += "-half";
  rocksdb::Options plain;
  plain.create_if_missing = true;
  rocksdb::DB* db = nullptr;
  ASSERT_TRUE(rocksdb::DB::Open(plain, options.directory, &db).ok());
  rocksdb::ColumnFamilyHandle* meta = nullptr;
  ASSERT_TRUE(db->CreateColumnFamily(rocksdb::ColumnFamilyOptions(), "meta", &meta).ok());
  ASSERT_TRUE(db->DestroyColumnFamilyHandle(meta).ok());
  delete db;
  options.temp_directory += "-half";
  const auto opened = open_rocks_store(options);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(read_row(*opened.value(), Family::history, "x"), "");
}

void overwrite(const fs::path& path, uint64_t offset, std::string_view bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

TEST_F(RocksStoreTest, DamagedRowsAnswerCorrupt) {
  Prng prng(1);
  put_rows(Family::job, 0, 2'000, noise(prng, 500));
  ASSERT_TRUE(store_.close().ok());
  const auto files = files_of(".sst");
  ASSERT_EQ(files.size(), 1u);
  overwrite(files[0], fs::file_size(files[0]) / 2, "damage");
  ASSERT_TRUE(store_.open().ok());
  const auto cursor = store_->scan(Family::job, "", "");
  uint64_t count = 0;
  for (; cursor->valid(); cursor->next()) ++count;
  EXPECT_EQ(cursor->status().code(), Code::corrupt) << cursor->status().message();
  EXPECT_LT(count, 2'000u);
  uint64_t refused = 0;
  for (uint64_t i = 0; i < 2'000; ++i) {
    const auto row = store_->get(Family::job, row_key(i));
    if (row.ok()) {
      EXPECT_TRUE(row.value().has_value());
    } else {
      EXPECT_EQ(row.status().code(), Code::corrupt);
      ++refused;
    }
  }
  EXPECT_GT(refused, 0u);
}

TEST_F(RocksStoreTest, DamagedCoreFilesRefuseToOpen) {
  put_rows(Family::job, 0, 100, "v");
  ASSERT_TRUE(store_.close().ok());
  const fs::path directory = store_.directory();
  const fs::path copy = directory.string() + "-copy";
  fs::copy(directory, copy, fs::copy_options::recursive);
  for (const auto& entry : fs::directory_iterator(copy)) {
    const std::string name = entry.path().filename().string();
    if (name != "CURRENT" && name.rfind("MANIFEST", 0) != 0 && entry.path().extension() != ".sst") {
      continue;
    }
    for (const bool emptied : {true, false}) {
      fs::remove_all(directory);
      fs::copy(copy, directory, fs::copy_options::recursive);
      const fs::path victim = directory / name;
      const uint64_t size = fs::file_size(victim);
      if (emptied) {
        fs::resize_file(victim, 0);
      } else {
        overwrite(victim, 0, std::string(size, '\0'));
      }
      const Status status = store_.open();
      // An .sst of the right length is only found out when it is read.
      if (status.ok()) {
        EXPECT_EQ(store_->get(Family::job, row_key(1)).status().code(), Code::corrupt) << name;
      } else {
        EXPECT_TRUE(status.code() == Code::corrupt || status.code() == Code::io)
            << name << ": " << status.message();
      }
      ASSERT_TRUE(store_.close().ok());
    }
  }
}

TEST_F(RocksStoreTest, ATornLogOfRocksDbGivesAnEarlierState) {
  for (uint64_t i = 1; i <= 5; ++i) {
    const auto checkpoint = begin(by_batch);
    for (const Family family : {Family::meta, Family::job, Family::ready}) {
      ASSERT_TRUE(checkpoint->put(family, "last", std::to_string(i)).ok());
    }
    ASSERT_TRUE(checkpoint->commit().ok());
  }
  // Copied under the running store, as a crash would leave it.
  const fs::path copy = store_.directory() + "-copy";
  fs::copy(store_.directory(), copy, fs::copy_options::recursive);
  fs::path log;
  for (const auto& entry : fs::directory_iterator(copy)) {
    if (entry.path().extension() == ".log" && entry.file_size() > 0) log = entry.path();
  }
  ASSERT_FALSE(log.empty());
  const uint64_t size = fs::file_size(log);
  std::string seen;
  for (uint64_t left = size; left > 0; left -= std::min<uint64_t>(left, 7)) {
    fs::resize_file(log, left);
    StoreOptions options = store_.options();
    options.directory = copy.string();
    options.read_only = true;
    const auto opened = open_rocks_store(options);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    const std::string last = read_row(*opened.value(), Family::meta, "last");
    EXPECT_EQ(read_row(*opened.value(), Family::job, "last"), last);
    EXPECT_EQ(read_row(*opened.value(), Family::ready, "last"), last);
    if (seen.empty() || seen.back() != (last.empty() ? '-' : last[0])) {
      seen += last.empty() ? "-" : last;
    }
  }
  EXPECT_EQ(seen, "54321-");
}

// The rule of store_rocks_checkpoint.cc: an ingested file never has an older batch in the log
// beside it.
TEST_F(RocksStoreTest, LosingTheLogOfRocksDbCannotMixStates) {
  put_rows(Family::job, 0, 10, "batch", by_batch);
  put_rows(Family::ready, 0, 10, "files", by_files);
  const fs::path copy = store_.directory() + "-copy";
  fs::copy(store_.directory(), copy, fs::copy_options::recursive);
  for (const auto& entry : fs::directory_iterator(copy)) {
    if (entry.path().extension() == ".log") fs::resize_file(entry.path(), 0);
  }
  StoreOptions options = store_.options();
  options.directory = copy.string();
  options.read_only = true;
  const auto opened = open_rocks_store(options);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  EXPECT_EQ(read_row(*opened.value(), Family::job, row_key(9)), "batch");
  EXPECT_EQ(read_row(*opened.value(), Family::ready, row_key(9)), "files");
}

// The largest file that this process may write, for a while.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(RocksStoreTest, AFailedLogWriteStopsTheStore) {
  put_rows(Family::kv, 0, 10, "v", by_batch);
  {
    const FileSizeLimit limit(64 << 10);
    const auto checkpoint = begin(by_batch);
    ASSERT_TRUE(checkpoint->put(Family::kv, "large", std::string(1 << 20, 'x')).ok());
    const Status status = checkpoint->commit();
    EXPECT_TRUE(status.is_error());
    EXPECT_NE(status.message().find("db: "), std::string::npos) << status.message();
  }
  // The cause is gone, the failure stays.
  const Status failure = store_->failure();
  EXPECT_TRUE(failure.is_error());
  EXPECT_EQ(store_->begin_checkpoint(by_files).status().code(), failure.code());
  EXPECT_EQ(store_->reclaim(Family::kv, "a", "b").code(), failure.code());
  EXPECT_EQ(read_row(store_.store(), Family::kv, row_key(3)), "v");
  EXPECT_EQ(read_row(store_.store(), Family::kv, "large"), "");
  store_.close().ignore("it may repeat the failure");
  ASSERT_TRUE(store_.open().ok());
  EXPECT_TRUE(store_->failure().ok());
  EXPECT_EQ(count_rows(Family::kv), 10u);
  put_rows(Family::kv, 10, 10, "v", by_batch);
}

TEST_F(RocksStoreTest, AFailedFileLeavesTheStoreUsable) {
  Prng prng(1);
  const std::string value = noise(prng, 100'000);
  {
    const FileSizeLimit limit(1 << 20);
    const auto checkpoint = begin(by_files);
    Status status;
    for (uint64_t i = 0; i < 100 && status.ok(); ++i) {
      status = checkpoint->put(Family::job, row_key(i), value);
    }
    if (status.ok()) status = checkpoint->commit();
    EXPECT_TRUE(status.is_error());
  }
  EXPECT_EQ(temp_files(), 0u);
  EXPECT_TRUE(store_->failure().ok());
  EXPECT_EQ(count_rows(Family::job), 0u);
  put_rows(Family::job, 0, 10, "v");
  EXPECT_EQ(count_rows(Family::job), 10u);
}

TEST(RocksErrors, KeepTheirMeaning) {
  EXPECT_TRUE(status_from_rocks(rocksdb::Status::OK(), "x").ok());
  const Status full = status_from_rocks(rocksdb::Status::NoSpace("a", "b"), "flush");
  EXPECT_EQ(full.code(), Code::no_space);
  EXPECT_EQ(full.os_errno(), ENOSPC);
  EXPECT_EQ(status_from_rocks(rocksdb::Status::Corruption("bad"), "read").code(), Code::corrupt);
  EXPECT_EQ(status_from_rocks(rocksdb::Status::IOError("bad"), "read").code(), Code::io);
  EXPECT_EQ(status_from_rocks(rocksdb::Status::MemoryLimit("m"), "read").code(), Code::no_memory);
  EXPECT_EQ(full.message().find("db: flush: "), 0u) << full.message();
}

TEST(RocksErrors, ReadAsOneSentenceAndSayWhatHelps) {
  const auto status = rocksdb::Status::Corruption(
      "Corruption: IO error: file is too short (5 bytes) to be an sstabled/db/000011.sst");
  EXPECT_EQ(status_from_rocks(status, "open").message(),
            "db: open: the settled state is damaged, restore the store from a backup: Corruption: "
            "IO error: file is too short (5 bytes) to be an sstable: d/db/000011.sst");
  EXPECT_EQ(status_from_rocks(rocksdb::Status::IOError("an sstable is open"), "open").message(),
            "db: open: IO error: an sstable is open");
}

TEST(RocksErrors, TheFirstFailureStays) {
  FailureLatch latch;
  EXPECT_TRUE(latch.get().ok());
  latch.set(Status(Code::no_space, "first"));
  latch.set(Status(Code::corrupt, "second"));
  EXPECT_EQ(latch.get().code(), Code::no_space);
  EXPECT_EQ(latch.get().message(), "first");
}

TEST(RocksOpen, SeveralStoresInOneProcess) {
  StoreHarness a(StoreKind::rocks);
  StoreHarness b(StoreKind::rocks);
  ASSERT_TRUE(a.open().ok());
  ASSERT_TRUE(b.open().ok());
  auto checkpoint = a->begin_checkpoint(1);
  ASSERT_TRUE(checkpoint.ok());
  ASSERT_TRUE(checkpoint.value()->put(Family::kv, "k", "a").ok());
  ASSERT_TRUE(checkpoint.value()->commit().ok());
  EXPECT_EQ(read_row(b.store(), Family::kv, "k"), "");
  EXPECT_EQ(read_row(a.store(), Family::kv, "k"), "a");
}

}  // namespace
}  // namespace wq
