// Both real backends on the real file system, with the same tests.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "io/io_transfer.h"
#include "io_test_util.h"
#include "log_test_util.h"

namespace wq {
namespace {

namespace fs = std::filesystem;

class IoBackendTest : public BackendTest {};

INSTANTIATE_TEST_SUITE_P(Real, IoBackendTest, testing::Values("uring", "thread"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(IoBackendTest, OpenModes) {
  const std::string path = directory_ + "/file";
  EXPECT_EQ(io_->open(path, OpenMode::read).status().code(), Code::not_found);
  EXPECT_EQ(io_->open(path, OpenMode::read_write).status().code(), Code::not_found);
  EXPECT_TRUE(io_->open(path, OpenMode::create).ok());
  const auto again = io_->open(path, OpenMode::create);
  EXPECT_EQ(again.status().os_errno(), EEXIST);
  EXPECT_TRUE(io_->open(path, OpenMode::read_write).ok());
  EXPECT_EQ(io_->open(directory_ + "/no/file", OpenMode::create).status().code(), Code::not_found);
}

// The open of a FIFO waits for somebody at its other end.
TEST_P(IoBackendTest, OnlyRegularFilesAreOpened) {
  const std::string path = directory_ + "/fifo";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  for (const OpenMode mode : {OpenMode::read, OpenMode::read_direct, OpenMode::read_write}) {
    for (const std::string& other : {path, directory_, std::string("/dev/zero")}) {
      EXPECT_EQ(io_->open(other, mode).status().code(), Code::corrupt) << other;
    }
  }
  make_file("real", "x");
  fs::create_symlink(directory_ + "/real", directory_ + "/link");
  EXPECT_TRUE(io_->open(directory_ + "/link", OpenMode::read).ok());
}

TEST_P(IoBackendTest, NamesAndDirectories) {
  EXPECT_TRUE(io_->make_dir(directory_ + "/d").ok());
  EXPECT_TRUE(io_->make_dir(directory_ + "/d").ok());
  make_file("d/b", "1");
  make_file("d/a", "2");
  EXPECT_EQ(io_->list(directory_ + "/d").value(), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(io_->rename(directory_ + "/d/a", directory_ + "/d/b").ok());
  EXPECT_EQ(io_->list(directory_ + "/d").value(), (std::vector<std::string>{"b"}));
  EXPECT_EQ(read_file("d/b"), "2");
  EXPECT_TRUE(io_->sync_dir(directory_ + "/d").ok());
  EXPECT_TRUE(io_->exists(directory_ + "/d/b").value());
  EXPECT_TRUE(io_->unlink(directory_ + "/d/b").ok());
  EXPECT_FALSE(io_->exists(directory_ + "/d/b").value());
  EXPECT_EQ(io_->unlink(directory_ + "/d/b").code(), Code::not_found);
  EXPECT_EQ(io_->list(directory_ + "/none").status().code(), Code::not_found);
  EXPECT_EQ(io_->sync_dir(directory_ + "/none").code(), Code::not_found);
  make_file("plain", "x");
  EXPECT_EQ(io_->make_dir(directory_ + "/plain").code(), Code::io);
}

TEST_P(IoBackendTest, FreeBytesAndFileSystem) {
  EXPECT_GT(io_->free_bytes(directory_).value(), 0u);
  EXPECT_TRUE(io_->network_file_system(directory_).ok());
  EXPECT_EQ(io_->free_bytes(directory_ + "/none").status().code(), Code::not_found);
}

TEST_P(IoBackendTest, LocksADirectory) {
  const auto lock = io_->lock_dir(directory_);
  ASSERT_TRUE(lock.ok());
  EXPECT_EQ(io_->lock_dir(directory_).status().code(), Code::locked);
}

TEST_P(IoBackendTest, ManyMoreOperationsThanTheRingHolds) {
  auto file = make_file("many", "");
  constexpr size_t count = 500;
  std::vector<std::string> data(count);
  std::vector<IoOp> ops(count);
  for (size_t i = 0; i < count; ++i) {
    data[i] = std::string(100, static_cast<char>('a' + i % 26));
    ops[i] = {IoKind::write, file.get(), reinterpret_cast<std::byte*>(data[i].data()),
              data[i].size(), i * 100};
    queue_->submit(ops[i]);
  }
  EXPECT_EQ(queue_->in_flight(), count);
  queue_->wait(10);
  const auto done = [&] {
    return std::count_if(ops.begin(), ops.end(), [](const IoOp& op) { return op.done; });
  };
  EXPECT_GE(done(), 10);
  queue_->wait(count);
  EXPECT_EQ(done(), static_cast<ptrdiff_t>(count));
  EXPECT_EQ(queue_->in_flight(), 0u);
  for (const IoOp& op : ops) EXPECT_EQ(op.result, 100);
  std::string expected;
  for (const std::string& part : data) expected += part;
  EXPECT_EQ(read_file("many"), expected);
}

TEST_P(IoBackendTest, DestructionWaitsForWhatIsInFlight) {
  auto file = make_file("left", "");
  std::string data(1 << 20, 'x');
  std::vector<IoOp> ops(40);
  for (size_t i = 0; i < ops.size(); ++i) {
    ops[i] = {IoKind::write, file.get(), reinterpret_cast<std::byte*>(data.data()), data.size(),
              i << 20};
    queue_->submit(ops[i]);
  }
  queue_.reset();
  for (const IoOp& op : ops) EXPECT_TRUE(op.done);
  EXPECT_EQ(file->size().value(), uint64_t{40} << 20);
}

TEST_P(IoBackendTest, ErrorsComeBackAsErrno) {
  auto file = make_file("file", "text");
  const auto read_only = io_->open(directory_ + "/file", OpenMode::read);
  std::byte byte{};
  IoOp write{IoKind::write, read_only.value().get(), &byte, 1, 0};
  queue_->submit(write);
  IoOp read{IoKind::read, file.get(), &byte, 1, 100};
  queue_->submit(read);
  IoOp sync{IoKind::fdatasync, file.get(), nullptr, 0, 0};
  queue_->submit(sync);
  queue_->wait(3);
  EXPECT_EQ(write.result, -EBADF);
  EXPECT_EQ(read.result, 0);
  EXPECT_EQ(sync.result, 0);
}

TEST_P(IoBackendTest, DirectReads) {
  std::string data(3 * 4096 + 100, '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 31);
  auto file = make_file("direct", data);
  auto direct = io_->open(directory_ + "/direct", OpenMode::read_direct);
  if (!direct.ok()) {
    EXPECT_EQ(direct.status().code(), Code::unsupported) << direct.status().message();
    GTEST_SKIP() << "the file system has no direct reads";
  }
  std::unique_ptr<std::byte, decltype(&std::free)> memory(
      static_cast<std::byte*>(std::aligned_alloc(4096, 16384)), &std::free);
  const auto got = read_fully(*queue_, **direct, {memory.get(), 16384}, 0);
  ASSERT_TRUE(got.ok()) << got.status().message();
  EXPECT_EQ(got.value(), data.size());
  EXPECT_TRUE(as_text({memory.get(), data.size()}) == data);
}

// The barrier itself can not be seen from here, but its first half can: a direct read that must not
// wait is refused as long as the page cache has something to write for its range.
TEST_P(IoBackendTest, DsyncWritesAndFdatasyncLeaveNothingDirty) {
  std::string block(4096, 'd');
  auto file = make_file("dirty", block);
  ASSERT_TRUE(file->sync().ok());
  const int fd = ::open((directory_ + "/dirty").c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  if (fd < 0) GTEST_SKIP() << "the file system has no direct reads";
  alignas(4096) static std::byte buffer[4096];
  const iovec part{buffer, sizeof buffer};
  const auto dirty = [&] { return ::preadv2(fd, &part, 1, 0, RWF_NOWAIT) < 0; };
  ASSERT_TRUE(write_fully(*queue_, *file, as_bytes(block), 0, WriteMode::kernel).ok());
  if (!dirty()) {
    ::close(fd);
    GTEST_SKIP() << "this file system does not tell";
  }
  ASSERT_TRUE(write_fully(*queue_, *file, {}, 0, WriteMode::sync_after).ok());
  EXPECT_FALSE(dirty());
  ASSERT_TRUE(write_fully(*queue_, *file, as_bytes(block), 0, WriteMode::dsync).ok());
  EXPECT_FALSE(dirty());
  ::close(fd);
}

TEST_P(IoBackendTest, DirectWrites) {
  make_file("direct", std::string(64 << 10, 'o'));
  auto direct = io_->open(directory_ + "/direct", OpenMode::read_write_direct);
  if (!direct.ok()) {
    EXPECT_EQ(direct.status().code(), Code::unsupported) << direct.status().message();
    GTEST_SKIP() << "the file system has no direct writes";
  }
  alignas(4096) static std::byte block[8192];
  std::fill(std::begin(block), std::end(block), std::byte{'n'});
  ASSERT_TRUE(write_fully(*queue_, **direct, block, 4096, WriteMode::dsync).ok());
  std::string expected(64 << 10, 'o');
  expected.replace(4096, 8192, 8192, 'n');
  EXPECT_TRUE(read_file("direct") == expected) << "buffered reads see direct writes";
}

// A timer signal without SA_RESTART hits system calls while data moves.
TEST_P(IoBackendTest, SignalsInterruptNothingForGood) {
  static std::atomic<int> signals{0};
  signals = 0;
  struct sigaction action {};
  struct sigaction old {};
  action.sa_handler = [](int) { ++signals; };
  ASSERT_EQ(::sigaction(SIGALRM, &action, &old), 0);
  const itimerval often{{0, 200}, {0, 200}};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
  auto file = make_file("signals", "");
  std::string data(2 << 20, 's');
  int rounds = 0;
  while (signals < 200 && rounds < 2000) {
    const Status status = write_fully(*queue_, *file, as_bytes(data), 0,
                                      rounds % 2 == 0 ? WriteMode::sync_after : WriteMode::kernel);
    EXPECT_TRUE(status.ok()) << status.message();
    ++rounds;
  }
  const itimerval never{};
  ::setitimer(ITIMER_REAL, &never, nullptr);
  ::sigaction(SIGALRM, &old, nullptr);
  EXPECT_GE(signals, 200);
  EXPECT_TRUE(read_file("signals") == data);
}

TEST_P(IoBackendTest, LogOnTheRealFileSystem) {
  LogOptions options = small_options(directory_);
  options.segment_bytes = 64 << 10;
  for (int life = 0; life < 3; ++life) {
    auto log = SegmentLog::open(*io_, system_clock(), options);
    ASSERT_TRUE(log.ok()) << log.status().message();
    EXPECT_EQ((*log)->last_lsn(), Lsn(life) * 260);
    EXPECT_EQ(check_records(**log, 1), Lsn(life) * 260);
    append_records(**log, 200);
    for (int i = 0; i < 20; ++i) {
      append_records(**log, 1);
      append_records(**log, 1, Durability::process);
    }
    const auto more = (*log)->prepare_spares();
    ASSERT_TRUE(more.ok()) << more.status().message();
    const Lsn jumbo = append_record(**log, 1 << 20);
    ASSERT_TRUE((*log)->wait(jumbo, Durability::power).ok());
    append_records(**log, 19);
    if (life == 1) {
      ASSERT_TRUE((*log)->close().ok());
    }
  }
  const LogScan scan = scan_log(*io_, directory_, options.uuid, 0, {});
  EXPECT_TRUE(scan.status.ok()) << scan.status.message();
  EXPECT_EQ(scan.found.last_lsn, 780u);
}

TEST_P(IoBackendTest, ASegmentWithHolesIsNoSpare) {
  LogOptions options = small_options(directory_);
  options.segment_bytes = 256 << 10;
  auto log = SegmentLog::open(*io_, system_clock(), options);
  ASSERT_TRUE(log.ok()) << log.status().message();
  append_records(**log, 1);
  ASSERT_TRUE((*log)->close().ok());
  log->reset();
  log = SegmentLog::open(*io_, system_clock(), options);
  ASSERT_TRUE(log.ok()) << log.status().message();
  append_records(**log, 1);
  ASSERT_TRUE((*log)->trim(2).ok());
  EXPECT_EQ((*log)->stats().segments_spare, 0u) << "256 KiB of which 8 KiB have a place";
  const auto write_three = [&] {
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE((*log)->wait(append_record(**log, 240 << 10), Durability::power).ok());
    }
    EXPECT_EQ((*log)->stats().segments_spare, 0u);
    ASSERT_TRUE((*log)->trim((*log)->last_lsn()).ok());
  };
  write_three();
  EXPECT_EQ((*log)->stats().segments_spare, 0u) << "full but for a bit, which needs room as well";
  while ((*log)->prepare_spares().value()) {
  }
  write_three();
  EXPECT_GT((*log)->stats().segments_spare, 0u);
}

TEST(MakeIo, EnvironmentOverridesTheAutomaticChoice) {
  const char* const before = std::getenv("WQ_IO");
  const std::string saved = before != nullptr ? before : "";
  for (const char* const name : {"threads", "thread"}) {
    ::setenv("WQ_IO", name, 1);
    EXPECT_STREQ(make_io().value()->name(), "thread");
  }
  ::setenv("WQ_IO", "nonsense", 1);
  EXPECT_EQ(make_io().status().code(), Code::invalid);
  EXPECT_STREQ(make_io(IoBackend::thread).value()->name(), "thread");
  if (before != nullptr) {
    ::setenv("WQ_IO", saved.c_str(), 1);
  } else {
    ::unsetenv("WQ_IO");
  }
}

}  // namespace
}  // namespace wq
