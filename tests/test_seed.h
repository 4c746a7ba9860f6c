// The seed of a random test. Fresh for each call, or the one that --seed=N (or WQ_TEST_SEED=N in
// the environment) names, to replay a failure. It is printed before the test uses it, so that a
// crash leaves it in the log too.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/prng.h"

namespace wq {

inline uint64_t test_seed() {
  const char* given = std::getenv("WQ_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 0) : os_entropy();
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  std::printf("seed: --gtest_filter=%s.%s --seed=%llu\n", test ? test->test_suite_name() : "*",
              test ? test->name() : "*", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

}  // namespace wq
