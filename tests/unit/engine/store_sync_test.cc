// What the RocksDB store has synced when a call of it returns. This program's own fsync and
// fdatasync come before those of the C library, for RocksDB as well, and write down which file each
// was for: without a power cut nothing else tells a barrier from none.
#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
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
    paths_.emplace_back(path.data(), bytes > 0 ? static_cast<size_t>(bytes) : 0);
  }
  void clear() {
    MutexLock lock(mutex_);
    paths_.clear();
  }
  // Whether a path that ends so was synced.
  bool has(const std::string& end) {
    MutexLock lock(mutex_);
    return std::any_of(paths_.begin(), paths_.end(),
                       [&](const std::string& path) { return path.ends_with(end); });
  }

 private:
  Mutex mutex_;
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
