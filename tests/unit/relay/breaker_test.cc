// When the breaker opens, what it lets through then, and for how long.
#include "relay/breaker.h"

#include <gtest/gtest.h>

namespace wq::relay {
namespace {

using State = Breaker::State;

TEST(Breaker, OpensAfterFailuresInARow) {
  Breaker breaker({.failures = 3, .cool_ms = 100, .cool_max_ms = 250});
  breaker.failed(0);
  breaker.failed(0);
  breaker.succeeded();
  breaker.failed(0);
  breaker.failed(0);
  EXPECT_EQ(breaker.state(), State::closed);
  EXPECT_TRUE(breaker.allows(0));
  breaker.failed(1'000);
  EXPECT_EQ(breaker.state(), State::open);
  EXPECT_EQ(breaker.until_ms(), 1'100);
  EXPECT_FALSE(breaker.allows(1'099));
}

TEST(Breaker, LetsOneAttemptThroughAndDoublesItsTime) {
  Breaker breaker({.failures = 1, .cool_ms = 100, .cool_max_ms = 250});
  breaker.failed(0);
  EXPECT_TRUE(breaker.allows(100));
  EXPECT_FALSE(breaker.allows(100));
  breaker.failed(100);
  EXPECT_EQ(breaker.until_ms(), 300);
  EXPECT_TRUE(breaker.allows(300));
  breaker.failed(300);
  EXPECT_EQ(breaker.until_ms(), 550);  // not 700: at most 250
  EXPECT_TRUE(breaker.allows(600));
  breaker.succeeded();
  EXPECT_EQ(breaker.state(), State::closed);
  EXPECT_TRUE(breaker.allows(600));
  breaker.failed(600);
  EXPECT_EQ(breaker.until_ms(), 700);  // as if it had never been open
  EXPECT_EQ(breaker.opened(), 4u);
}

}  // namespace
}  // namespace wq::relay
