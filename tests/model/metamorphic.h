// What metamorphic tests share: the ways in which the same operations are run. Each must give the
// same answers. Thread model: one thread.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "base/prng.h"
#include "quantity.h"
#include "support/engine_harness.h"
#include "test_seed.h"

namespace wq::metamorphic {

enum class Between : uint8_t { nothing, checkpoint, reopen, kill };

struct Way {
  const char* name;
  StoreKind store = StoreKind::memory;
  IoBackend backend = IoBackend::automatic;
  bool starved = false;
  Between between = Between::nothing;
  uint64_t every = 1;   // so many operations
  bool singly = false;  // one job in a call
};

inline constexpr Way memory_ways[] = {
    {.name = "memory"},
    {.name = "starved", .starved = true, .between = Between::checkpoint, .every = 3},
    {.name = "checkpoints", .between = Between::checkpoint},
    {.name = "reopened", .starved = true, .between = Between::reopen, .every = 4},
    {.name = "killed", .between = Between::kill, .every = 5},
    {.name = "killed, starved, singly",
     .starved = true,
     .between = Between::kill,
     .every = 7,
     .singly = true},
    {.name = "singly", .singly = true},
};
inline constexpr Way rocks_ways[] = {
    {.name = "memory"},
    {.name = "rocks, threads, starved",
     .store = StoreKind::rocks,
     .backend = IoBackend::thread,
     .starved = true,
     .between = Between::checkpoint,
     .every = 9},
    {.name = "rocks, reopened",
     .store = StoreKind::rocks,
     .starved = true,
     .between = Between::reopen,
     .every = 40},
};

inline HarnessOptions options_of(const Way& way) {
  HarnessOptions options;
  options.store = way.store;
  options.backend = way.backend;
  options.engine.segment_bytes = 256 * 1024;
  options.engine.spare_segments = 0;
  if (way.starved) {
    options.engine.memory_budget_bytes = 1;  // what may leave memory does
    options.engine.lane_window = 4;
  }
  return options;
}

// Between two operations.
inline void disturb(EngineHarness& harness, const Way& way) {
  if (way.between == Between::checkpoint) {
    EXPECT_TRUE(harness.engine().checkpoint().ok());
  } else if (way.between == Between::reopen) {
    EXPECT_TRUE(harness.close().ok());
    EXPECT_TRUE(harness.open().ok());
  } else if (way.between == Between::kill) {
    EXPECT_TRUE(harness.engine().sync().ok());  // nobody was promised what else a kill takes
    EXPECT_TRUE(harness.kill_and_open().ok());
  }
}

// `Run` has a seed and a way, and gives all answers.
template <typename Run>
void compare_ways(std::span<const Way> ways, size_t streams, int operations) {
  const uint64_t first_seed = test_seed();
  Prng seeds(first_seed);
  for (size_t i = 0; i < streams && !testing::Test::HasFailure(); ++i) {
    const uint64_t seed = i == 0 ? first_seed : seeds.next();
    const std::vector<std::string> expected = Run(seed, ways[0]).all(operations);
    for (const Way& way : ways.subspan(1)) {
      SCOPED_TRACE(std::string(way.name) + ", WQ_SEEDS=1 --seed=" + std::to_string(seed));
      const std::vector<std::string> got = Run(seed, way).all(operations);
      for (size_t n = 0; n < std::max(got.size(), expected.size()); ++n) {
        ASSERT_LT(n, got.size());
        ASSERT_LT(n, expected.size());
        ASSERT_EQ(got[n], expected[n]) << "after " << n << " answers";
      }
    }
  }
}

inline size_t streams_to_run(size_t standard) {
  if (const char* given = std::getenv("WQ_SEEDS")) return std::strtoull(given, nullptr, 0);
  return scaled(standard, standard * 50, (standard + 2) / 3);
}

}  // namespace wq::metamorphic
