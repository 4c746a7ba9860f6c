// The system clock: right units, right origin, never backwards.
#include "base/clock.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>

namespace wq {
namespace {

// An independent witness of the wall clock: the time that the file system gives a file just
// written.
int64_t file_time_ms() {
  const std::string path = testing::TempDir() + "/clock_witness";
  std::ofstream(path) << "x";
  struct stat info {};
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  return static_cast<int64_t>(info.st_mtim.tv_sec) * 1000 + info.st_mtim.tv_nsec / 1'000'000;
}

TEST(SystemClock, WallTimeIsUnixMilliseconds) {
  constexpr int64_t tick_ms = 20;  // file times lag by up to a kernel tick
  const int64_t before_ms = system_clock().wall_ms();
  const int64_t file_ms = file_time_ms();
  const int64_t after_ms = system_clock().wall_ms();
  EXPECT_GE(file_ms, before_ms - tick_ms);
  EXPECT_LE(file_ms, after_ms + tick_ms);
}

TEST(SystemClock, MonotonicTimeNeverStepsBackAndMoves) {
  Clock& clock = system_clock();
  const int64_t start_ns = clock.mono_ns();
  int64_t last_ns = start_ns;
  for (int i = 0; i < 100'000; ++i) {
    const int64_t now_ns = clock.mono_ns();
    ASSERT_GE(now_ns, last_ns);
    last_ns = now_ns;
  }
  EXPECT_GT(last_ns, start_ns);
}

TEST(SystemClock, IsOneObject) {
  EXPECT_EQ(&system_clock(), &system_clock());
}

}  // namespace
}  // namespace wq
