// Whole transfers over queues that cut short, interrupt, refuse and reorder, in front of both real
// backends and on the simulated disk.
#include "io/io_transfer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "io_test_util.h"
#include "log_test_util.h"
#include "test_seed.h"

namespace wq {
namespace {

class IoTransferTest : public BackendTest {
 protected:
  static std::string pattern(size_t bytes) {
    std::string text(bytes, '\0');
    Prng prng(bytes);
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
      const uint64_t word = prng.next();
      std::memcpy(text.data() + at, &word, std::min(sizeof word, bytes - at));
    }
    return text;
  }
};

INSTANTIATE_TEST_SUITE_P(Real, IoTransferTest, testing::Values("uring", "thread"),
                         [](const auto& test) { return std::string(test.param); });

constexpr size_t sizes[] = {0, 1, 4096, 524'288, 524'289, 3'000'000, 5'000'001};

TEST_P(IoTransferTest, AllModesAndSizes) {
  for (const WriteMode mode : {WriteMode::kernel, WriteMode::dsync, WriteMode::sync_after}) {
    for (const size_t bytes : sizes) {
      auto file = make_file("file", "");
      const std::string data = pattern(bytes);
      const Status status = write_fully(*queue_, *file, as_bytes(data), 100, mode);
      ASSERT_TRUE(status.ok()) << status.message();
      std::string expected = data;
      if (bytes > 0) expected.insert(0, 100, '\0');
      EXPECT_TRUE(read_file("file") == expected) << bytes;
      std::string back(bytes + 50, 'z');
      const auto got = read_fully(*queue_, *file,
                                  std::as_writable_bytes(std::span(back.data(), back.size())), 100);
      ASSERT_TRUE(got.ok());
      EXPECT_EQ(got.value(), bytes);
      EXPECT_TRUE(back.substr(0, bytes) == data);
    }
  }
}

TEST_P(IoTransferTest, OneDsyncWriteIsOneOperation) {
  auto file = make_file("file", "");
  MeddlingQueue queue(*queue_, [](IoOp&) {});
  ASSERT_TRUE(write_fully(queue, *file, as_bytes(pattern(5000)), 0, WriteMode::dsync).ok());
  EXPECT_EQ(queue.kinds(), (std::vector<IoKind>{IoKind::write_dsync}));
}

TEST_P(IoTransferTest, LargeDsyncIsPlainWritesAndOneBarrierAtTheEnd) {
  auto file = make_file("file", "");
  MeddlingQueue queue(*queue_, [](IoOp&) {});
  ASSERT_TRUE(write_fully(queue, *file, as_bytes(pattern(2'000'000)), 0, WriteMode::dsync).ok());
  EXPECT_EQ(queue.kinds(), (std::vector<IoKind>{IoKind::write, IoKind::write, IoKind::write,
                                                IoKind::write, IoKind::fdatasync}));
}

TEST_P(IoTransferTest, ShortWritesAreCompleted) {
  Prng prng(test_seed());
  for (const size_t bytes : sizes) {
    auto file = make_file("file", "");
    const std::string data = pattern(bytes);
    MeddlingQueue queue(*queue_, [&](IoOp& op) {
      if (op.bytes > 1 && prng.below(2) == 0) op.bytes = 1 + prng.below(op.bytes - 1);
    });
    ASSERT_TRUE(write_fully(queue, *file, as_bytes(data), 0, WriteMode::kernel).ok());
    EXPECT_TRUE(read_file("file") == data);
    std::string back(bytes, 'z');
    const auto got =
        read_fully(queue, *file, std::as_writable_bytes(std::span(back.data(), back.size())), 0);
    ASSERT_TRUE(got.ok()) << got.status().message();
    EXPECT_EQ(got.value(), bytes);
    EXPECT_TRUE(back == data);
  }
}

TEST_P(IoTransferTest, AShortDsyncWriteIsFollowedByARealBarrier) {
  auto file = make_file("file", "");
  bool first = true;
  MeddlingQueue queue(*queue_, [&](IoOp& op) {
    if (first) op.bytes = 1000;
    first = false;
  });
  ASSERT_TRUE(write_fully(queue, *file, as_bytes(pattern(5000)), 0, WriteMode::dsync).ok());
  EXPECT_EQ(queue.kinds(),
            (std::vector<IoKind>{IoKind::write_dsync, IoKind::write_dsync, IoKind::fdatasync}));
}

TEST_P(IoTransferTest, InterruptedOperationsAreRepeatedUntilABound) {
  for (const int error : {EINTR, EAGAIN}) {
    auto file = make_file("file", "");
    const std::string data = pattern(3'000'000);
    int left = 20;
    MeddlingQueue queue(*queue_, [&](IoOp& op) {
      if (op.kind != IoKind::write || left-- <= 0) return;
      op.result = -error;
      op.done = true;
    });
    ASSERT_TRUE(write_fully(queue, *file, as_bytes(data), 0, WriteMode::sync_after).ok());
    EXPECT_TRUE(read_file("file") == data);
    left = INT32_MAX;
    const Status status = write_fully(queue, *file, as_bytes(data), 0, WriteMode::kernel);
    EXPECT_EQ(status.code(), Code::io);
  }
}

TEST_P(IoTransferTest, AnErrorStopsTheTransferAndSkipsTheBarrier) {
  auto file = make_file("file", "");
  int count = 0;
  MeddlingQueue queue(*queue_, [&](IoOp& op) {
    if (++count != 3) return;
    op.result = -EIO;
    op.done = true;
  });
  const Status status =
      write_fully(queue, *file, as_bytes(pattern(5'000'001)), 0, WriteMode::sync_after);
  EXPECT_EQ(status.code(), Code::io);
  EXPECT_EQ(status.os_errno(), EIO);
  EXPECT_EQ(status.offset(), 2 * transfer_piece_bytes);
  EXPECT_NE(status.message().find(file->path()), std::string::npos);
  EXPECT_EQ(queue.in_flight(), 0u) << "the buffer must not be in use any more";
  EXPECT_EQ(std::count(queue.kinds().begin(), queue.kinds().end(), IoKind::fdatasync), 0);
}

TEST_P(IoTransferTest, AFailedBarrierIsNotAskedForAgain) {
  for (const int error : {EIO, EINTR, EAGAIN, ENOSPC}) {
    auto file = make_file("file", "");
    MeddlingQueue queue(*queue_, [&](IoOp& op) {
      if (op.kind != IoKind::fdatasync) return;
      op.result = -error;
      op.done = true;
    });
    const Status status =
        write_fully(queue, *file, as_bytes(pattern(100)), 0, WriteMode::sync_after);
    EXPECT_FALSE(status.ok());
    EXPECT_EQ(status.os_errno(), error);
    EXPECT_EQ(std::count(queue.kinds().begin(), queue.kinds().end(), IoKind::fdatasync), 1);
  }
}

TEST_P(IoTransferTest, FullDiskIsNoSpace) {
  auto file = make_file("file", "");
  MeddlingQueue queue(*queue_, [&](IoOp& op) {
    op.result = -ENOSPC;
    op.done = true;
  });
  EXPECT_EQ(write_fully(queue, *file, as_bytes("x"), 0, WriteMode::kernel).code(), Code::no_space);
}

TEST_P(IoTransferTest, AWriteThatMovesNothingEndsInAnError) {
  auto file = make_file("file", "");
  MeddlingQueue queue(*queue_, [&](IoOp& op) {
    op.result = 0;
    op.done = true;
  });
  EXPECT_EQ(write_fully(queue, *file, as_bytes("x"), 0, WriteMode::kernel).code(), Code::io);
}

TEST(IoTransferSim, ReorderedCompletionsAndABarrierBehindThem) {
  const uint64_t seed = test_seed();
  for (uint64_t round = 0; round < 20; ++round) {
    SimDisk disk = make_store_disk(seed + round);
    const auto io = disk.mount();
    const auto file = io->open("store/file", OpenMode::create).value();
    ASSERT_TRUE(io->sync_dir("store").ok());
    const auto queue = io->open_queue().value();
    const std::string data(2'000'000, static_cast<char>('a' + round % 26));
    disk.inject({.ops = sim_write, .skip = round % 4, .sticky = false, .error = 0});
    ASSERT_TRUE(write_fully(*queue, *file, as_bytes(data), 0, WriteMode::dsync).ok());
    const SimDisk cut = disk.image({});
    EXPECT_TRUE(as_text(cut.read_file("store/file")) == data);
  }
}

TEST(IoTransferSim, AFailedTransferLeavesNothingInFlight) {
  for (uint64_t seed = 1; seed < 20; ++seed) {
    SimDisk disk = make_store_disk(seed);
    const auto io = disk.mount();
    const auto file = io->open("store/file", OpenMode::create).value();
    const auto queue = io->open_queue().value();
    disk.inject({.ops = sim_write, .skip = seed % 4});
    const std::string data(8 * transfer_piece_bytes, 'x');
    EXPECT_FALSE(write_fully(*queue, *file, as_bytes(data), 0, WriteMode::kernel).ok());
    EXPECT_EQ(queue->in_flight(), 0u) << "the kernel may still read the buffer";
  }
}

TEST(IoTransferSim, ZerosAreZeros) {
  SimDisk disk = make_store_disk();
  const auto io = disk.mount();
  const auto file = io->open("store/file", OpenMode::create).value();
  const auto queue = io->open_queue().value();
  ASSERT_TRUE(
      write_fully(*queue, *file, as_bytes(std::string(2000, 'x')), 0, WriteMode::kernel).ok());
  ASSERT_TRUE(write_zeros(*queue, *file, 500, 1'000'000).ok());
  const auto bytes = disk.read_file("store/file");
  ASSERT_EQ(bytes.size(), 1'000'500u);
  for (size_t i = 0; i < bytes.size(); ++i) {
    ASSERT_EQ(bytes[i], i < 500 ? std::byte{'x'} : std::byte{0}) << i;
  }
}

}  // namespace
}  // namespace wq
