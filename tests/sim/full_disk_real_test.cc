// A full disk, for real: a tmpfs of 64 MiB, mounted for this process alone in namespaces of its
// own. Where the system does not allow that, the test is skipped and says so. A program of its own:
// the threads that RocksDB has started before would not see the mount.
//
//   WQ_LONG=1    200 cycles instead of a few
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>
#include <wq.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "sim/filling.h"
#include "test_seed.h"

namespace wq::sim {
namespace {

bool write_text(const char* path, const std::string& text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return written;
}

// Why not, or nothing.
std::string mount_for_this_process(const std::string& directory) {
  const uid_t user = getuid();
  const gid_t group = getgid();
  if (unshare(CLONE_NEWNS) != 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0)
      return "unshare: " + std::string(strerror(errno));
    write_text("/proc/self/setgroups", "deny");
    if (!write_text("/proc/self/uid_map", "0 " + std::to_string(user) + " 1") ||
        !write_text("/proc/self/gid_map", "0 " + std::to_string(group) + " 1")) {
      return "the user can not be mapped";
    }
  }
  if (mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return "private mounts";
  if (mount("tmpfs", directory.c_str(), "tmpfs", 0, "size=64m") != 0) {
    return "mount: " + std::string(strerror(errno));
  }
  return {};
}

// What who says nothing gets on a disk of that size, but for the memory.
HarnessOptions default_options(uint64_t capacity_bytes) {
  HarnessOptions options;
  options.store = StoreKind::rocks;
  options.engine = options_for_disk(capacity_bytes);
  options.engine.threads = false;
  options.engine.memory_budget_bytes = 1 << 20;
  return options;
}

void fill_disk(const std::string& mounted, const HarnessOptions& options) {
  const uint64_t seed = test_seed();
  setenv("TEST_TMPDIR", mounted.c_str(), 1);
  Filling filling(options, seed, 30'000);
  run_cycles(filling, nullptr);
  if (!testing::Test::HasFailure()) return;
  EXPECT_EQ(std::system(("ls -lR " + mounted).c_str()), 0);
}

// wq.h asks the file system that the store will be on, whose directory is not there yet.
void open_by_default(const std::string& directory, uint64_t capacity_bytes) {
  wq_store* store = nullptr;
  wq_queue* queue = nullptr;
  wq_error err = WQ_ERROR_INIT;
  ASSERT_EQ(wq_store_open(directory.c_str(), nullptr, &store, &err), WQ_OK) << err.message;
  ASSERT_EQ(wq_queue_open(store, "q", 1, nullptr, 0, &queue, &err), WQ_OK) << err.message;
  wq_job_spec spec = WQ_JOB_SPEC_INIT;
  EXPECT_EQ(wq_enqueue(queue, &spec, nullptr, nullptr, &err), WQ_OK) << err.message;
  wq_queue_close(&queue);
  wq_store_close(&store);
  size_t segments = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory + "/log")) {
    EXPECT_EQ(entry.file_size(), capacity_bytes / 16) << entry.path();
    ++segments;
  }
  EXPECT_GT(segments, 0u);
}

TEST(FullDisk, OfAFileSystemOfItsOwn) {
  const std::filesystem::path base = std::getenv("TEST_TMPDIR")
                                         ? std::filesystem::path(std::getenv("TEST_TMPDIR"))
                                         : std::filesystem::temp_directory_path();
  const std::string mounted = base / "small";
  std::filesystem::create_directories(mounted);
  if (const std::string reason = mount_for_this_process(mounted); !reason.empty()) {
    GTEST_SKIP() << "no file system of its own: " << reason;
  }
  const uint64_t capacity_bytes = make_io().value()->capacity_bytes(mounted).value();
  EXPECT_EQ(capacity_bytes, 64u << 20);
  open_by_default(mounted + "/default", capacity_bytes);
  std::filesystem::remove_all(mounted + "/default");
  fill_disk(mounted, options_of(StoreKind::rocks, 1 << 20, 40 << 20));
  fill_disk(mounted, default_options(capacity_bytes));
  setenv("TEST_TMPDIR", base.c_str(), 1);
  EXPECT_EQ(umount2(mounted.c_str(), MNT_DETACH), 0);
}

}  // namespace
}  // namespace wq::sim
