// The simulated disk itself: a test is worth no more than the faults that it can really meet.
#include "support/sim_io.h"

#include <gtest/gtest.h>

#include <string>

#include "io/io_transfer.h"
#include "log_test_util.h"

namespace wq {
namespace {

class SimIoTest : public testing::Test {
 protected:
  void SetUp() override {
    disk_ = make_store_disk();
    io_ = disk_.mount();
    queue_ = io_->open_queue().value();
  }
  std::unique_ptr<File> create(const std::string& path) {
    return io_->open(path, OpenMode::create).value();
  }
  Status write(File& file, const std::string& text, uint64_t offset, WriteMode mode) {
    return write_fully(*queue_, file, as_bytes(text), offset, mode);
  }
  static std::string text(const SimDisk& disk, const std::string& path) {
    if (!disk.has_file(path)) return "(none)";
    return std::string(as_text(disk.read_file(path)));
  }
  std::string direct(const std::string& path) {
    const auto file = io_->open(path, OpenMode::read_direct).value();
    // Not on the stack: frames of ASan hold no alignment that large.
    alignas(4096) static std::byte block[4096];
    const size_t bytes = read_fully(*queue_, *file, block, 0).value();
    return std::string(as_text({block, bytes}));
  }

  SimDisk disk_;
  std::unique_ptr<Io> io_;
  std::unique_ptr<IoQueue> queue_;
};

TEST_F(SimIoTest, NothingSurvivesWithoutABarrier) {
  auto file = create("store/f");
  ASSERT_TRUE(write(*file, "abc", 0, WriteMode::kernel).ok());
  EXPECT_EQ(text(disk_, "store/f"), "abc");
  EXPECT_EQ(text(disk_.image({}), "store/f"), "(none)");
  ASSERT_TRUE(io_->sync_dir("store").ok());
  EXPECT_EQ(text(disk_.image({}), "store/f"), "");
  EXPECT_EQ(text(disk_.image({CrashData::all}), "store/f"), "abc");
  ASSERT_TRUE(file->sync().ok());
  EXPECT_EQ(text(disk_.image({}), "store/f"), "abc");
}

TEST_F(SimIoTest, ANameNeedsItsDirectorySynced) {
  auto file = create("store/f");
  ASSERT_TRUE(file->sync().ok());  // the file's barrier does nothing for its name
  EXPECT_EQ(text(disk_.image({}), "store/f"), "(none)");
  ASSERT_TRUE(io_->sync_dir("store").ok());
  ASSERT_TRUE(io_->rename("store/f", "store/g").ok());
  const SimDisk before = disk_.image({});
  EXPECT_TRUE(before.has_file("store/f"));
  EXPECT_FALSE(before.has_file("store/g"));
  ASSERT_TRUE(io_->sync_dir("store").ok());
  EXPECT_TRUE(disk_.image({}).has_file("store/g"));
  ASSERT_TRUE(io_->unlink("store/g").ok());
  EXPECT_TRUE(disk_.image({}).has_file("store/g"));
  EXPECT_FALSE(disk_.image({CrashData::none, CrashNames::all}).has_file("store/g"));
}

TEST_F(SimIoTest, DsyncCoversOnlyItself) {
  auto file = create("store/f");
  ASSERT_TRUE(io_->sync_dir("store").ok());
  ASSERT_TRUE(write(*file, "aaaa", 0, WriteMode::kernel).ok());
  ASSERT_TRUE(write(*file, "bb", 4, WriteMode::dsync).ok());
  EXPECT_EQ(text(disk_.image({}), "store/f"), std::string("\0\0\0\0bb", 6));
  // An older write never comes after a newer one of the same bytes.
  ASSERT_TRUE(write(*file, "X", 1, WriteMode::dsync).ok());
  ASSERT_TRUE(file->sync().ok());
  EXPECT_EQ(text(disk_.image({}), "store/f"), "aXaabb");
}

TEST_F(SimIoTest, AFailedBarrierDropsWhatTheCacheStillShows) {
  auto file = create("store/f");
  ASSERT_TRUE(io_->sync_dir("store").ok());
  ASSERT_TRUE(write(*file, "old", 0, WriteMode::sync_after).ok());
  ASSERT_TRUE(write(*file, "new", 0, WriteMode::kernel).ok());
  disk_.inject({.ops = sim_fdatasync});
  EXPECT_FALSE(write(*file, "", 0, WriteMode::sync_after).ok());
  EXPECT_TRUE(write(*file, "", 0, WriteMode::sync_after).ok()) << "the second one lies";
  EXPECT_EQ(text(disk_, "store/f"), "new");
  EXPECT_EQ(direct("store/f"), "old");
  EXPECT_EQ(text(disk_.image({CrashData::all}), "store/f"), "old");
}

TEST_F(SimIoTest, ImagesTearAtSectors) {
  auto file = create("store/f");
  ASSERT_TRUE(io_->sync_dir("store").ok());
  ASSERT_TRUE(write(*file, std::string(4096, 'o'), 0, WriteMode::sync_after).ok());
  ASSERT_TRUE(write(*file, std::string(4096, 'n'), 0, WriteMode::kernel).ok());
  int mixed = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    const CrashData data = seed % 2 == 0 ? CrashData::random : CrashData::torn;
    const std::string bytes = text(disk_.image({data, CrashNames::none, 512, seed}), "store/f");
    ASSERT_EQ(bytes.size(), 4096u);
    for (size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_EQ(bytes[i], bytes[i / 512 * 512]) << "a sector is whole";
    }
    const bool has_old = bytes.find('o') != std::string::npos;
    const bool has_new = bytes.find('n') != std::string::npos;
    mixed += has_old && has_new;
    EXPECT_EQ(bytes, text(disk_.image({data, CrashNames::none, 512, seed}), "store/f"));
  }
  EXPECT_GT(mixed, 20);
}

TEST_F(SimIoTest, FaultsStrikeWhereTheyShall) {
  auto a = create("store/a");
  auto b = create("store/b");
  const size_t once = disk_.inject({.ops = sim_write, .path = "/a", .skip = 1});
  const size_t sticky =
      disk_.inject({.ops = sim_write, .path = "/b", .sticky = true, .error = ENOSPC});
  EXPECT_TRUE(write(*a, "1", 0, WriteMode::kernel).ok());
  EXPECT_EQ(write(*a, "2", 0, WriteMode::kernel).os_errno(), EIO);
  EXPECT_TRUE(write(*a, "3", 0, WriteMode::kernel).ok());
  EXPECT_EQ(write(*b, "1", 0, WriteMode::kernel).os_errno(), ENOSPC);
  EXPECT_EQ(write(*b, "2", 0, WriteMode::kernel).os_errno(), ENOSPC);
  EXPECT_EQ(disk_.fault_hits(once), 1u);
  EXPECT_EQ(disk_.fault_hits(sticky), 2u);
  disk_.clear_faults();
  EXPECT_TRUE(write(*b, "3", 0, WriteMode::kernel).ok());
}

TEST_F(SimIoTest, AFullDiskTakesWhatFits) {
  auto file = create("store/f");
  disk_.set_capacity(8192);
  EXPECT_EQ(write(*file, std::string(10'000, 'x'), 0, WriteMode::kernel).code(), Code::no_space);
  EXPECT_EQ(text(disk_, "store/f").size(), 8192u);
  EXPECT_EQ(io_->free_bytes("store").value(), 0u);
  EXPECT_TRUE(write(*file, "y", 100, WriteMode::kernel).ok()) << "overwriting takes no room";
  ASSERT_TRUE(io_->unlink("store/f").ok());
  EXPECT_EQ(io_->free_bytes("store").value(), 8192u);
}

TEST_F(SimIoTest, StopAfterIsTheEnd) {
  auto file = create("store/f");
  disk_.stop_after(disk_.events() + 1);
  EXPECT_TRUE(write(*file, "1", 0, WriteMode::kernel).ok());
  EXPECT_FALSE(write(*file, "2", 0, WriteMode::kernel).ok());
  EXPECT_FALSE(file->sync().ok());
  EXPECT_FALSE(io_->sync_dir("store").ok());
  EXPECT_FALSE(io_->open("store/g", OpenMode::create).ok());
  EXPECT_EQ(text(disk_, "store/f"), "1");
}

TEST_F(SimIoTest, HistoryRepeatsWhatHappened) {
  disk_.start_recording();
  auto file = create("store/f");
  ASSERT_TRUE(write(*file, "abc", 0, WriteMode::sync_after).ok());
  ASSERT_TRUE(io_->sync_dir("store").ok());
  ASSERT_TRUE(io_->rename("store/f", "store/g").ok());
  SimHistory history(disk_);
  EXPECT_FALSE(history.disk().has_file("store/f"));
  std::string seen;
  while (history.step()) {
    const SimDisk image = history.disk().image({});
    seen += text(image, "store/f") + " ";
  }
  EXPECT_EQ(seen, "(none) (none) (none) abc abc ");
  EXPECT_TRUE(history.disk().has_file("store/g"));
}

TEST_F(SimIoTest, LocksBelongToTheDirectory) {
  auto lock = io_->lock_dir("store");
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(disk_.mount()->lock_dir("store").status().code(), Code::locked);
  std::move(lock).value().reset();
  EXPECT_TRUE(io_->lock_dir("store").ok());
}

}  // namespace
}  // namespace wq
