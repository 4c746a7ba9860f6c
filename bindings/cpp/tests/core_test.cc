// core_test.cc: bytes, times, results, errors, and that no code of wq.h is missing here.
#include <array>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "store_fixture.hpp"

namespace {

using wq::Bytes;
using wq::Errc;
using wq::Outcome;

TEST(Bytes, AreMadeOfAnythingWithSingleBytes) {
  EXPECT_EQ(Bytes("abc").size(), 3u);
  EXPECT_EQ(Bytes(std::string("a\0b", 3)).size(), 3u);
  EXPECT_EQ(Bytes(std::string_view("ab")), Bytes("ab"));
  const std::vector<unsigned char> bytes{0, 255};
  EXPECT_EQ(Bytes(bytes).view(), std::string_view("\0\xff", 2));
  const std::array<std::byte, 2> array{std::byte{1}, std::byte{2}};
  EXPECT_EQ(Bytes(array).span()[1], std::byte{2});
  EXPECT_TRUE(Bytes().empty());
  EXPECT_EQ(Bytes().view(), "");
  EXPECT_FALSE(Bytes("a") == Bytes("b"));
}

// Each #define of a code in the header has a name here.
TEST(Codes, AreThoseOfTheHeader) {
  std::ifstream file(WQ_HEADER);
  std::stringstream text;
  text << file.rdbuf();
  const std::string header = text.str();
  const std::regex line(R"(\n#define WQ_(E_)?([A-Z_]+) \(?(-?\d+)\)?(?= |\n))");
  std::set<std::int32_t> seen;
  const std::size_t begin = header.find("= codes */");
  const std::size_t end = header.find("/* ====", begin);
  ASSERT_NE(end, std::string::npos);
  const std::string codes = header.substr(begin, end - begin);
  for (std::sregex_iterator it(codes.begin(), codes.end(), line), last; it != last; ++it) {
    const std::int32_t code = std::stoi((*it)[3]);
    const std::string name = (*it)[2];
    seen.insert(code);
    if (code < 0) {
      EXPECT_EQ(wq::name_of(static_cast<Errc>(code)), name);
    } else {
      EXPECT_EQ(wq::name_of(static_cast<Outcome>(code)), name);
    }
  }
  const std::set<std::int32_t> here{0,
                                    1,
                                    2,
                                    3,
                                    4,
                                    5,
                                    6,
                                    7,
                                    8,
                                    static_cast<std::int32_t>(Errc::invalid),
                                    static_cast<std::int32_t>(Errc::too_large),
                                    static_cast<std::int32_t>(Errc::unsupported),
                                    static_cast<std::int32_t>(Errc::version),
                                    static_cast<std::int32_t>(Errc::not_found),
                                    static_cast<std::int32_t>(Errc::closed),
                                    static_cast<std::int32_t>(Errc::forked),
                                    static_cast<std::int32_t>(Errc::locked),
                                    static_cast<std::int32_t>(Errc::read_only),
                                    static_cast<std::int32_t>(Errc::no_key),
                                    static_cast<std::int32_t>(Errc::no_space),
                                    static_cast<std::int32_t>(Errc::full),
                                    static_cast<std::int32_t>(Errc::no_memory),
                                    static_cast<std::int32_t>(Errc::io),
                                    static_cast<std::int32_t>(Errc::corrupt),
                                    static_cast<std::int32_t>(Errc::poisoned),
                                    static_cast<std::int32_t>(Errc::internal)};
  EXPECT_EQ(seen, here);
}

TEST(Error, HasThePredicatesOfItsCode) {
  for (const Errc code : {Errc::invalid, Errc::full, Errc::io, Errc::poisoned, Errc::internal}) {
    const wq::Error error(code);
    const auto raw = static_cast<std::int32_t>(code);
    EXPECT_EQ(error.code(), code);
    EXPECT_EQ(error.retryable(), wq_error_is_retryable(raw) == 1);
    EXPECT_EQ(error.maybe_committed(), wq_error_maybe_committed(raw) == 1);
    EXPECT_EQ(error.fatal(), wq_error_is_fatal(raw) == 1);
    EXPECT_EQ(error.message(), wq_strerror(raw));
  }
  const std::string long_text(1000, 'x');
  EXPECT_EQ(wq::Error(Errc::io, long_text).message(), long_text.substr(0, 231));
}

TEST(Result, IsAValueOrAnError) {
  wq::Result<int> good = 7;
  wq::Result<int> bad = wq::Error(Errc::full, "no room");
  EXPECT_TRUE(good);
  EXPECT_EQ(*good, 7);
  EXPECT_EQ(good.value(), 7);
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.value_or(3), 3);
  EXPECT_EQ(bad.error().code(), Errc::full);
  const auto twice = [](int n) -> wq::Result<int> { return 2 * n; };
  EXPECT_EQ(std::move(good).and_then(twice).value(), 14);
  EXPECT_EQ(wq_test::error_of(wq::Result<int>(bad).and_then(twice)), Errc::full);
  try {
    (void)bad.value();
    FAIL() << "value() of an error came back";
  } catch (const wq::Exception& exception) {
    EXPECT_STREQ(exception.what(), "FULL: no room");
    EXPECT_EQ(exception.error().code(), Errc::full);
  }
}

TEST(Result, HoldsWhatCanOnlyBeMoved) {
  wq::Result<std::unique_ptr<int>> result = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = *std::move(result);
  EXPECT_EQ(*taken, 5);
}

TEST(Library, HasTheVersionOfTheHeader) {
  EXPECT_EQ(wq_version() >> 8, WQ_ABI_VERSION) << wq_build_info();
}

TEST(Open, TellsWhatIsWrong) {
  const wq_test::Directory directory;
  EXPECT_EQ(wq_test::error_of(wq::Store::open(directory / "none", {.create = false})),
            Errc::not_found);
  const auto bad = wq::Store::open(directory / "a/b/c");
  EXPECT_EQ(wq_test::error_of(bad), Errc::not_found);
  EXPECT_NE(bad.error().message().find("a/b"), std::string_view::npos);
  EXPECT_EQ(wq_test::error_of(wq::Store::open("")), Errc::invalid);
  EXPECT_EQ(wq_test::error_of(wq::Store::open(directory / "x", {.segment_bytes = 1})),
            Errc::invalid);
  EXPECT_EQ(wq_test::error_of(wq::Store::open(directory / "x", {.memory_window = wq::Millis(-5)})),
            Errc::invalid);
}

TEST(Cron, NextWithoutAStore) {
  const auto due = wq::cron_next("0 0 * * *", "", wq::to_time(0), 2);
  ASSERT_TRUE(due);
  EXPECT_EQ((*due)[0], wq::Time(wq_test::hours(24)));
  EXPECT_EQ(wq_test::error_of(wq::cron_next("nonsense", "", wq::to_time(0), 1)), Errc::invalid);
  EXPECT_EQ(wq_test::error_of(wq::cron_next("@daily", "", wq::to_time(0), SIZE_MAX)),
            Errc::too_large);
}

}  // namespace
