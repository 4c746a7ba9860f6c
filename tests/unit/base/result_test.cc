// Result and the two macros that hand failures up.
#include "base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace wq {
namespace {

Result<int> half_of(int value) {
  if (value % 2 != 0) return Status(Code::invalid, "odd: " + std::to_string(value));
  return value / 2;
}

Result<int> quarter_of(int value) {
  WQ_TRY_SET(const int half, half_of(value));
  WQ_TRY_SET(const int quarter, half_of(half));
  return quarter;
}

Status count_steps(std::vector<Status> steps, int& done) {
  for (Status& step : steps) {
    WQ_TRY(std::move(step));
    ++done;
  }
  return Code::ok;
}

TEST(Result, CarriesAValue) {
  Result<int> result = half_of(6);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result.value(), 3);
  EXPECT_EQ(*result, 3);
  EXPECT_TRUE(result.status().ok());
}

TEST(Result, CarriesTheFailure) {
  Result<int> result = half_of(7);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.status().code(), Code::invalid);
  EXPECT_EQ(result.status().message(), "odd: 7");
  EXPECT_EQ(result.take_status().message(), "odd: 7");
}

TEST(Result, OutcomesAreNoValues) {
  const Result<int> result = Code::empty;
  EXPECT_FALSE(result.ok());
  EXPECT_FALSE(result.status().is_error());
  EXPECT_EQ(result.status().code(), Code::empty);
}

TEST(Result, ReadingTheValueOfAFailureIsACheckedMistake) {
  Result<int> result = half_of(7);
  EXPECT_THROW(result.value(), CheckFailed);
  EXPECT_THROW(std::move(result).value(), CheckFailed);
}

TEST(Result, AnOkStatusIsNoFailure) {
  EXPECT_THROW(const Result<int> result{Status()}, CheckFailed);
  EXPECT_THROW(const Result<int> result{Code::ok}, CheckFailed);
}

TEST(Result, MovesValuesThatCanNotBeCopied) {
  Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> taken = std::move(result).value();
  EXPECT_EQ(*taken, 5);
  Result<std::string> text = std::string("abc");
  EXPECT_EQ(text->size(), 3u);
}

TEST(Try, SetStopsAtTheFirstFailure) {
  EXPECT_EQ(quarter_of(12).value(), 3);
  EXPECT_EQ(quarter_of(11).status().message(), "odd: 11");
  EXPECT_EQ(quarter_of(10).status().message(), "odd: 5");
}

TEST(Try, ReturnsTheFirstStatusThatIsNotOk) {
  int done = 0;
  EXPECT_TRUE(count_steps({Code::ok, Code::ok}, done).ok());
  EXPECT_EQ(done, 2);
  done = 0;
  EXPECT_EQ(count_steps({Code::ok, Code::stale, Code::io}, done).code(), Code::stale);
  EXPECT_EQ(done, 1);
}

}  // namespace
}  // namespace wq
