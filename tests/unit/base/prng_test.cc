// Prng: the published SplitMix64 sequence, so that a seed written down today replays for ever.
#include "base/prng.h"

#include <gtest/gtest.h>

#include <array>
#include <set>

#include "base/check.h"

namespace wq {
namespace {

TEST(Prng, PublishedSequence) {
  Prng prng(1234567);
  for (const uint64_t expected : {6457827717110365317u, 3203168211198807973u, 9817491932198370423u,
                                  4593380528125082431u, 16408922859458223821u}) {
    EXPECT_EQ(prng.next(), expected);
  }
}

TEST(Prng, SameSeedSameNumbers) {
  Prng a(42);
  Prng b(42);
  Prng other(43);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const uint64_t value = a.next();
    EXPECT_EQ(value, b.next());
    differs |= value != other.next();
  }
  EXPECT_TRUE(differs);
}

TEST(Prng, BelowStaysBelowAndReachesAll) {
  constexpr uint64_t bound = 10;
  constexpr int draws = 100'000;
  Prng prng(3);
  std::array<int, bound> counts{};
  for (int i = 0; i < draws; ++i) {
    const uint64_t value = prng.below(bound);
    ASSERT_LT(value, bound);
    ++counts[value];
  }
  // 10,000 expected, standard deviation 95: six of them is a broken generator, not bad luck.
  for (const int count : counts) EXPECT_NEAR(count, draws / static_cast<int>(bound), 570);
}

TEST(Prng, BelowAtTheEdges) {
  Prng prng(4);
  EXPECT_EQ(prng.below(1), 0u);
  bool upper_half = false;
  for (int i = 0; i < 64; ++i) upper_half |= prng.below(UINT64_MAX) > UINT64_MAX / 2;
  EXPECT_TRUE(upper_half);
  EXPECT_THROW(prng.below(0), CheckFailed);
}

TEST(Prng, EntropyDoesNotRepeat) {
  std::set<uint64_t> seen;
  for (int i = 0; i < 64; ++i) seen.insert(os_entropy());
  EXPECT_EQ(seen.size(), 64u);
}

}  // namespace
}  // namespace wq
