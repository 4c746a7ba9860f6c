// Delays of the retry policies, and the rule for queue names.
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "base/prng.h"
#include "engine/types.h"

namespace wq {
namespace {

constexpr uint32_t failures_max = std::numeric_limits<uint32_t>::max();
constexpr int64_t time_max = std::numeric_limits<int64_t>::max();

Backoff fixed(int64_t base_ms) {
  return {.kind = BackoffKind::fixed, .base_ms = base_ms};
}
Backoff exponential(int64_t base_ms, int64_t max_ms) {
  return {.kind = BackoffKind::exponential, .base_ms = base_ms, .max_ms = max_ms};
}
Backoff list(std::vector<int64_t> delays) {
  return {.kind = BackoffKind::list, .list_ms = std::move(delays)};
}

TEST(Backoff, NoneNeverWaits) {
  EXPECT_EQ(backoff_delay_ms(Backoff(), 1), 0);
  EXPECT_EQ(backoff_delay_ms(Backoff(), failures_max), 0);
}

TEST(Backoff, FixedIsAlwaysTheBase) {
  EXPECT_EQ(backoff_delay_ms(fixed(250), 1), 250);
  EXPECT_EQ(backoff_delay_ms(fixed(250), 2), 250);
  EXPECT_EQ(backoff_delay_ms(fixed(250), failures_max), 250);
  EXPECT_EQ(backoff_delay_ms(fixed(0), 3), 0);
}

TEST(Backoff, ExponentialDoublesUpToTheCap) {
  const Backoff policy = exponential(100, 1'500);
  const std::vector<int64_t> expected = {100, 200, 400, 800, 1'500, 1'500};
  for (uint32_t failures = 1; failures <= expected.size(); ++failures) {
    EXPECT_EQ(backoff_delay_ms(policy, failures), expected[failures - 1]) << failures;
  }
  EXPECT_EQ(backoff_delay_ms(exponential(100, 1'600), 5), 1'600);
  EXPECT_EQ(backoff_delay_ms(exponential(0, 1'000), 40), 0);
}

TEST(Backoff, ExponentialNeverOverflows) {
  for (const uint32_t failures : {62u, 63u, 64u, 65u, 1'000u, failures_max}) {
    EXPECT_EQ(backoff_delay_ms(exponential(1, delay_ms_max), failures), delay_ms_max) << failures;
    EXPECT_EQ(backoff_delay_ms(exponential(time_max, time_max), failures), delay_ms_max);
  }
}

TEST(Backoff, ExponentialNeverShrinks) {
  const uint64_t seed = os_entropy();
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Prng prng(seed);
  for (int i = 0; i < 2'000; ++i) {
    const auto base_ms = static_cast<int64_t>(prng.below(uint64_t{1} << (1 + prng.below(62))));
    const int64_t max_ms = base_ms + static_cast<int64_t>(prng.below(uint64_t{1} << 61));
    const Backoff policy = exponential(base_ms, max_ms);
    int64_t last_ms = 0;
    for (uint32_t failures = 1; failures < 80; ++failures) {
      const int64_t delay_ms = backoff_delay_ms(policy, failures);
      ASSERT_GE(delay_ms, last_ms);
      ASSERT_LE(delay_ms, std::min(max_ms, delay_ms_max));
      last_ms = delay_ms;
    }
  }
}

TEST(Backoff, ListRepeatsItsLastEntry) {
  const Backoff policy = list({10, 0, 30});
  EXPECT_EQ(backoff_delay_ms(policy, 1), 10);
  EXPECT_EQ(backoff_delay_ms(policy, 2), 0);
  EXPECT_EQ(backoff_delay_ms(policy, 3), 30);
  EXPECT_EQ(backoff_delay_ms(policy, 4), 30);
  EXPECT_EQ(backoff_delay_ms(policy, failures_max), 30);
}

TEST(Backoff, OddPoliciesStayInRange) {
  EXPECT_EQ(backoff_delay_ms(list({}), 1), 0);
  EXPECT_EQ(backoff_delay_ms(fixed(-5), 1), 0);
  EXPECT_EQ(backoff_delay_ms(fixed(time_max), 1), delay_ms_max);
  EXPECT_EQ(backoff_delay_ms(list({time_max}), 9), delay_ms_max);
  EXPECT_EQ(backoff_delay_ms(fixed(100), 0), 0);
  EXPECT_EQ(backoff_delay_ms(exponential(100, 50), 1), 50);
  EXPECT_EQ(backoff_delay_ms({.kind = static_cast<BackoffKind>(99), .base_ms = 7}, 1), 0);
}

TEST(QueueName, AcceptsUtf8) {
  EXPECT_TRUE(queue_name_valid("a"));
  EXPECT_TRUE(queue_name_valid("mail/out: high \xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"));
  EXPECT_TRUE(queue_name_valid(std::string(255, 'x')));
  EXPECT_TRUE(queue_name_valid("\xf4\x8f\xbf\xbf"));  // U+10FFFF
  EXPECT_TRUE(queue_name_valid("\xee\x80\x80"));      // U+E000
}

TEST(QueueName, RefusesTheRest) {
  EXPECT_FALSE(queue_name_valid(""));
  EXPECT_FALSE(queue_name_valid(std::string(256, 'x')));
  EXPECT_FALSE(queue_name_valid(std::string("a\0b", 3)));
  EXPECT_FALSE(queue_name_valid("a\nb"));
  EXPECT_FALSE(queue_name_valid("a\x7f"));
  EXPECT_FALSE(queue_name_valid("\x80"));              // continuation without a lead
  EXPECT_FALSE(queue_name_valid("\xc3"));              // cut short
  EXPECT_FALSE(queue_name_valid("\xe2\x82"));          // cut short
  EXPECT_FALSE(queue_name_valid("\xc0\xaf"));          // overlong
  EXPECT_FALSE(queue_name_valid("\xe0\x80\xaf"));      // overlong
  EXPECT_FALSE(queue_name_valid("\xf0\x80\x80\xaf"));  // overlong
  EXPECT_FALSE(queue_name_valid("\xed\xa0\x80"));      // surrogate
  EXPECT_FALSE(queue_name_valid("\xf4\x90\x80\x80"));  // above U+10FFFF
  EXPECT_FALSE(queue_name_valid("\xff"));
}

}  // namespace
}  // namespace wq
