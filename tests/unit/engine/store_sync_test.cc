// What the RocksDB store has synced when a call of it returns. This program's own fsync and
// fdatasync come before those of the C library, for RocksDB as well, and write down which file each
// was for: without a power cut nothing else tells a barrier from none.
#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "unit/engine/store_harness.h"

namespace wq {
namespace {

class SyncedFiles {
 public:
  void add(int fd) {
    std::array<char, 4096> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    const ssize_t bytes = ::readlink(link.c_str(), path.data(), path.size());
    MutexLock lock(mutex_);
    const std::string& added =
        paths_.emplace_back(path.data(), bytes > 0 ? static_cast<size_t>(bytes) : 0);
    if (added.ends_with("/db")) ahead_of_current_ |= has_manifest_ahead(added);
  }
  void clear() {
    MutexLock lock(mutex_);
    paths_.clear();
    ahead_of_current_ = false;
  }
  // Whether a database's directory was synced with a manifest in it that CURRENT did not name yet.
  bool ahead_of_current() {
    MutexLock lock(mutex_);
    return ahead_of_current_;
  }
  // Whether a path that ends so was synced.
  bool has(const std::string& end) {
    MutexLock lock(mutex_);
    return std::any_of(paths_.begin(), paths_.end(),
                       [&](const std::string& path) { return path.ends_with(end); });
  }

 private:
  static bool has_manifest_ahead(const std::string& directory) {
    std::string current;
    std::getline(std::ifstream(directory + "/CURRENT"), current);
    const auto ahead = [&](const std::filesystem::directory_entry& entry) {
      const std::string name = entry.path().filename().string();
      return name.starts_with("MANIFEST-") && name > current;
    };
    return std::any_of(std::filesystem::directory_iterator(directory), {}, ahead);
  }

  Mutex mutex_;
  bool ahead_of_current_ WQ_GUARDED_BY(mutex_) = false;
  std::vector<std::string> paths_ WQ_GUARDED_BY(mutex_);
};

// Never destroyed: RocksDB's threads outlive main().
SyncedFiles& synced() {
  static auto* const files = new SyncedFiles;
  return *files;
}

}  // namespace
}  // namespace wq

// Visible, or RocksDB would not find them.
extern "C" __attribute__((visibility("default"))) int fsync(int fd) {
  wq::synced().add(fd);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}
extern "C" __attribute__((visibility("default"))) int fdatasync(int fd) {
  wq::synced().add(fd);
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

namespace wq {
namespace {

void commit_row(StoreHarness& store, uint64_t road) {
  auto checkpoint = store->begin_checkpoint(road);
  ASSERT_TRUE(checkpoint.ok());
  ASSERT_TRUE(checkpoint.value()->put(Family::ready, row_key(1), "row").ok());
  ASSERT_TRUE(checkpoint.value()->commit().ok());
}

TEST(StoreSync, TheNameOfANewDatabase) {
  StoreHarness store(StoreKind::rocks);
  synced().clear();
  ASSERT_TRUE(store.open().ok());
  const std::filesystem::path parent = std::filesystem::path(store.directory()).parent_path();
  EXPECT_TRUE(synced().has("/" + parent.filename().string()));
}

// Or a crash could leave a CURRENT that points nowhere.
TEST(StoreSync, TheManifestBeforeCurrentNamesIt) {
  StoreHarness store(StoreKind::rocks);
  ASSERT_TRUE(store.open().ok());
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(store.close().ok());
    synced().clear();
    ASSERT_TRUE(store.open().ok());
    EXPECT_TRUE(synced().ahead_of_current());
  }
}

TEST(StoreSync, ACheckpointByBatch) {
  StoreHarness store(StoreKind::rocks);
  ASSERT_TRUE(store.open().ok());
  synced().clear();
  commit_row(store, by_batch);
  EXPECT_TRUE(synced().has(".log"));
}

TEST(StoreSync, ACheckpointByFiles) {
  StoreHarness store(StoreKind::rocks);
  ASSERT_TRUE(store.open().ok());
  synced().clear();
  commit_row(store, by_files);
  EXPECT_TRUE(synced().has(".sst"));
  EXPECT_TRUE(synced().has("/db"));  // the directory, with the names of the files
}

TEST(StoreSync, TheTombstoneBeforeFilesAreDropped) {
  StoreHarness store(StoreKind::rocks);
  ASSERT_TRUE(store.open().ok());
  commit_row(store, by_files);
  synced().clear();
  ASSERT_TRUE(store->reclaim(Family::ready, row_key(0), row_key(9)).ok());
  EXPECT_TRUE(synced().has(".log"));
}

}  // namespace
}  // namespace wq
