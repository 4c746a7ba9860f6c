// A broken invariant must throw CheckFailed with its text and place, and a whole one must do
// nothing.
#include "base/check.h"

#include <gtest/gtest.h>

#include <string>

namespace wq {
namespace {

TEST(Check, PassesQuietlyAndEvaluatesOnce) {
  int evaluations = 0;
  WQ_CHECK(++evaluations == 1);
  EXPECT_EQ(evaluations, 1);
  EXPECT_THROW(WQ_CHECK(++evaluations < 0), CheckFailed);
  EXPECT_EQ(evaluations, 2);
}

TEST(Check, FailureNamesExpressionFileAndLine) {
  const int line = __LINE__ + 2;
  try {
    WQ_CHECK(1 + 1 == 3);
    FAIL() << "WQ_CHECK let a false condition pass";
  } catch (const CheckFailed& failure) {
    const std::string text = failure.what();
    EXPECT_NE(text.find("check failed: 1 + 1 == 3"), std::string::npos) << text;
    EXPECT_NE(text.find("check_test.cc:" + std::to_string(line) + ":"), std::string::npos) << text;
  }
}

TEST(Check, StandsUnbracedInIfElse) {
  bool reached_else = false;
  if (reached_else)
    WQ_CHECK(false);
  else
    reached_else = true;
  EXPECT_TRUE(reached_else);
}

TEST(Check, InvariantFollowsTheBuild) {
  int evaluations = 0;
  WQ_INVARIANT(++evaluations > 0);
#ifdef WQ_INVARIANTS
  EXPECT_EQ(evaluations, 1);
  EXPECT_THROW(WQ_INVARIANT(evaluations == 0), CheckFailed);
#else
  EXPECT_EQ(evaluations, 0);
#endif
}

}  // namespace
}  // namespace wq
