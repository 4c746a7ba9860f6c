// Histogram: bounds are exact, whatever the value, and nothing falls out at either end.
#include "base/histogram.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/prng.h"
#include "test_seed.h"

namespace wq {
namespace {

TEST(Histogram, CountsUpToEachPowerOfTwo) {
  Prng prng(test_seed());
  Histogram histogram;
  std::vector<uint64_t> values = {0, 1, 2, 3, 4, 5, 1ull << 30, (1ull << 30) + 1, UINT64_MAX >> 8};
  for (unsigned k = 1; k < 40; ++k) {
    for (const uint64_t near : {(1ull << k) - 1, 1ull << k, (1ull << k) + 1})
      values.push_back(near);
  }
  for (int i = 0; i < 10'000; ++i) values.push_back(prng.below(1ull << prng.below(40)));
  uint64_t sum = 0;
  for (const uint64_t value : values) {
    histogram.add(value);
    sum += value;
  }
  EXPECT_EQ(histogram.count(), values.size());
  EXPECT_EQ(histogram.sum(), sum);
  for (unsigned k = 0; k < Histogram::exponent_max; ++k) {
    uint64_t expected = 0;
    for (const uint64_t value : values) expected += value <= 1ull << k;
    EXPECT_EQ(histogram.count_up_to(k), expected) << k;
  }
}

}  // namespace
}  // namespace wq
