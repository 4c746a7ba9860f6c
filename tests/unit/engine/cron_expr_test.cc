// Cron expressions: what is read and what is refused, next times across jumps of the clock, days
// that are rare; and random ones against a walk that looks at every minute.
#include "engine/cron_expr.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <string>
#include <vector>

#include "base/prng.h"
#include "engine/cron_plan.h"
#include "support/cron_reference.h"
#include "test_seed.h"

namespace wq {
namespace {

// "2025-03-09 07:00" or with seconds, UTC.
int64_t ms_of(const std::string& text) {
  std::tm tm{};
  const int read = std::sscanf(text.c_str(), "%d-%d-%d %d:%d:%d", &tm.tm_year, &tm.tm_mon,
                               &tm.tm_mday, &tm.tm_hour, &tm.tm_min, &tm.tm_sec);
  EXPECT_GE(read, 3) << text;
  tm.tm_year -= 1900;
  tm.tm_mon -= 1;
  return static_cast<int64_t>(timegm(&tm)) * 1000;
}

std::string text_of(int64_t ms) {
  const auto seconds = static_cast<time_t>(ms / 1000);
  std::tm tm{};
  gmtime_r(&seconds, &tm);
  char out[40];
  std::strftime(out, sizeof out, tm.tm_sec ? "%Y-%m-%d %H:%M:%S" : "%Y-%m-%d %H:%M", &tm);
  return out;
}

CronExpr expr_of(std::string_view text) {
  Result<CronExpr> expr = parse_cron(text);
  EXPECT_TRUE(expr.ok()) << text << ": " << expr.status().message();
  return expr.ok() ? expr.value() : CronExpr();
}

Zone zone_of(std::string_view name) {
  Result<Zone> zone = Zone::load(name);
  EXPECT_TRUE(zone.ok()) << zone.status().message();
  return zone.ok() ? std::move(zone).value() : Zone();
}

// The next `count` times, joined.
std::string next_of(std::string_view text, std::string_view zone_name, const std::string& from,
                    int count) {
  const CronExpr expr = expr_of(text);
  const Zone zone = zone_of(zone_name);
  int64_t at_ms = ms_of(from);
  std::string out;
  for (int i = 0; i < count; ++i) {
    const Result<std::optional<int64_t>> next = cron_next(expr, zone, at_ms);
    EXPECT_TRUE(next.ok()) << next.status().message();
    if (!next.ok() || !next.value()) return out + (i > 0 ? ", never" : "never");
    EXPECT_GT(*next.value(), at_ms);
    at_ms = *next.value();
    if (i > 0) out += ", ";
    out += text_of(at_ms);
  }
  return out;
}

struct NextCase {
  const char* text;
  const char* zone;
  const char* from;
  const char* expected;
};

void expect_next(const std::vector<NextCase>& cases) {
  for (const NextCase& c : cases) {
    const std::string expected(c.expected);
    const auto commas = std::count(expected.begin(), expected.end(), ',');
    EXPECT_EQ(next_of(c.text, c.zone, c.from, static_cast<int>(commas) + 1), expected)
        << c.text << " in " << c.zone << " from " << c.from;
  }
}

// Bug case 30: gaps and folds of the clock.
TEST(CronExpr, Case30ClockJumps) {
  expect_next({
      {"30 2 * * *", "America/New_York", "2025-03-09 05:00", "2025-03-09 07:00, 2025-03-10 06:30"},
      {"30 1 * * *", "America/New_York", "2025-11-02 04:00", "2025-11-02 05:30, 2025-11-03 06:30"},
      {"30 1 * * *", "America/New_York", "2025-11-02 05:45", "2025-11-03 06:30"},
      {"30 1 * * *", "America/New_York", "2025-11-02 06:10", "2025-11-03 06:30"},
      {"0 2 * * *", "America/New_York", "2025-03-09 05:00", "2025-03-09 07:00, 2025-03-10 06:00"},
      {"*/20 2 * * *", "America/New_York", "2025-03-09 05:00",
       "2025-03-09 07:00, 2025-03-10 06:00, 2025-03-10 06:20"},
      {"0 */2 * * *", "America/New_York", "2025-03-09 05:00",
       "2025-03-09 07:00, 2025-03-09 08:00, 2025-03-09 10:00"},
      {"0 0 * * *", "America/Santiago", "2025-09-06 12:00", "2025-09-07 04:00, 2025-09-08 03:00"},
      // Every hour: by the time that passes.
      {"0 * * * *", "America/New_York", "2025-03-09 05:30",
       "2025-03-09 06:00, 2025-03-09 07:00, 2025-03-09 08:00"},
      {"30 * * * *", "America/New_York", "2025-03-09 06:00", "2025-03-09 06:30, 2025-03-09 07:30"},
      {"30 * * * *", "America/New_York", "2025-11-02 05:00",
       "2025-11-02 05:30, 2025-11-02 06:30, 2025-11-02 07:30"},
      {"30 2 * * *", "Europe/Berlin", "2025-03-29 12:00", "2025-03-30 01:00, 2025-03-31 00:30"},
      {"30 2 * * *", "Europe/Berlin", "2025-10-25 12:00", "2025-10-26 00:30, 2025-10-27 01:30"},
      // Half an hour: 2:00 becomes 2:30, and back 1:30.
      {"15 2 * * *", "Australia/Lord_Howe", "2025-10-04 12:00",
       "2025-10-04 15:30, 2025-10-05 15:15"},
      {"45 1 * * *", "Australia/Lord_Howe", "2025-04-05 12:00",
       "2025-04-05 14:45, 2025-04-06 15:15"},
      {"45 * * * *", "Australia/Lord_Howe", "2025-04-05 14:00",
       "2025-04-05 14:45, 2025-04-05 15:15, 2025-04-05 16:15"},
      // A whole day that was not there.
      {"0 12 * * *", "Pacific/Apia", "2011-12-29 21:00",
       "2011-12-29 22:00, 2011-12-30 10:00, 2011-12-30 22:00"},
      // Beyond the table of the database, by its rule.
      {"0 12 * * *", "America/New_York", "2050-07-01 00:00", "2050-07-01 16:00"},
      {"0 12 * * *", "America/New_York", "2050-12-01 00:00", "2050-12-01 17:00"},
      {"@daily", "Asia/Kolkata", "2025-01-01 00:00", "2025-01-01 18:30"},
      {"@daily", "", "2025-01-01 00:00", "2025-01-02 00:00"},
  });
}

// Bug case 32: days that never come, and ones that come rarely.
TEST(CronExpr, Case32RareDays) {
  for (const char* text : {"* * 31 4 *", "0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "0 0 31W 4 *",
                           "0 0 L-30 4,6 *", "0 0 L-29 2 *"}) {
    const auto start = std::chrono::steady_clock::now();
    const Result<CronExpr> expr = parse_cron(text);
    EXPECT_EQ(expr.status().code(), Code::invalid) << text;
    EXPECT_NE(expr.status().message().find("day of month"), std::string::npos);
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500));
  }
  expect_next({
      {"0 0 29 2 *", "UTC", "2097-01-01", "2104-02-29 00:00"},
      {"0 0 29 2 *", "UTC", "2023-03-01", "2024-02-29 00:00, 2028-02-29 00:00"},
      {"0 0 29 2 1", "UTC", "2025-01-01", "2025-02-03 00:00, 2025-02-10 00:00"},
      {"0 0 * 2 6#5", "UTC", "2025-01-01", "2048-02-29 00:00, 2076-02-29 00:00, 2116-02-29 00:00"},
      {"0 0 L-28 2 *", "UTC", "2025-01-01", "2028-02-01 00:00"},
      {"0 0 1 1 *", "UTC", "9998-06-01", "9999-01-01 00:00, never"},
  });
  const CronExpr daily = expr_of("@daily");
  for (const int64_t from_ms : {int64_t{-1}, INT64_MAX, INT64_MIN, ms_of("9999-12-31") * 30}) {
    EXPECT_EQ(cron_next(daily, zone_of("UTC"), from_ms).status().code(), Code::invalid);
  }
}

// Bug case 33: L, W and #.
TEST(CronExpr, Case33DaysOfTheMonth) {
  expect_next({
      {"0 0 * * 6#4", "UTC", "2024-08-02",
       "2024-08-24 00:00, 2024-09-28 00:00, 2024-10-26 00:00, 2024-11-23 00:00, 2024-12-28 00:00"},
      {"0 0 * * 6#5", "UTC", "2024-08-02", "2024-08-31 00:00, 2024-11-30 00:00"},
      {"0 5 LW * *", "UTC", "2023-10-01", "2023-10-31 05:00, 2023-11-30 05:00, 2023-12-29 05:00"},
      {"0 0 1W * *", "UTC", "2025-10-31", "2025-11-03 00:00"},
      {"0 0 31W * *", "UTC", "2025-04-01", "2025-05-30 00:00, 2025-07-31 00:00"},
      {"0 0 30W 11 *", "UTC", "2025-01-01", "2025-11-28 00:00"},
      {"0 0 15W * *", "UTC", "2025-06-01", "2025-06-16 00:00, 2025-07-15 00:00"},
      {"0 0 L-3 2 *", "UTC", "2025-01-01", "2025-02-25 00:00"},
      {"0 0 L * *", "UTC", "2024-02-01", "2024-02-29 00:00, 2024-03-31 00:00"},
      {"0 0 l-30 * *", "UTC", "2025-04-01", "2025-05-01 00:00"},
      {"0 0 * * 5L", "UTC", "2024-07-11", "2024-07-26 00:00, 2024-08-30 00:00"},
      {"0 0 * * FRIL", "UTC", "2024-07-11", "2024-07-26 00:00"},
      {"0 0 * * mon#1,fri#3", "UTC", "2025-06-01", "2025-06-02 00:00, 2025-06-20 00:00"},
      {"0 0 L * 1#1", "UTC", "2025-06-01", "2025-06-02 00:00, 2025-06-30 00:00"},
  });
}

uint32_t bits(std::initializer_list<int> values) {
  uint32_t out = 0;
  for (const int value : values) out |= 1u << value;
  return out;
}

// Bug case 34: sets of weekdays, and either of two day fields.
TEST(CronExpr, Case34DaysOfTheWeek) {
  const std::pair<const char*, uint32_t> sets[] = {
      {"2/2", bits({2, 4, 6})},
      {"1/2", bits({0, 1, 3, 5})},
      {"6-7", bits({0, 6})},
      {"SAT-SUN", bits({0, 6})},
      {"5-7", bits({0, 5, 6})},
      {"0,7", bits({0})},
      {"MON-SUN", 0x7f},
      {"7", bits({0})},
      {"*/2", bits({0, 2, 4, 6})},
      {"sun", bits({0})},
      {"SUN-TUE", bits({0, 1, 2})},
      {"0-7", 0x7f},
      {"1-5/2", bits({1, 3, 5})},
      {"*/7", bits({0})},
  };
  for (const auto& [text, expected] : sets) {
    EXPECT_EQ(expr_of(std::string("0 0 * * ") + text).weekdays, expected) << text;
  }
  expect_next({
      {"0 9 1 * 1", "UTC", "2025-07-01",
       "2025-07-01 09:00, 2025-07-07 09:00, 2025-07-14 09:00, 2025-07-21 09:00, 2025-07-28 09:00"},
      {"0 9 1 * *", "UTC", "2025-07-01", "2025-07-01 09:00, 2025-08-01 09:00"},
      {"0 9 * * 1", "UTC", "2025-07-01", "2025-07-07 09:00, 2025-07-14 09:00"},
      {"0 0 1 jan,JUL *", "UTC", "2025-02-01", "2025-07-01 00:00, 2026-01-01 00:00"},
      {"*/20 8-9 * * *", "UTC", "2025-02-01 09:30", "2025-02-01 09:40, 2025-02-02 08:00"},
      {"*/25 * * * * *", "UTC", "2025-02-01 09:30:10",
       "2025-02-01 09:30:25, 2025-02-01 09:30:50, 2025-02-01 09:31"},
      {"\t10  4\t* * * ", "UTC", "2025-02-01", "2025-02-01 04:10"},
      {"@hourly", "UTC", "2025-02-01 04:00", "2025-02-01 05:00"},
      {"@weekly", "UTC", "2025-02-01", "2025-02-02 00:00"},
      {"@monthly", "UTC", "2025-02-01", "2025-03-01 00:00"},
      {"@yearly", "UTC", "2025-02-01", "2026-01-01 00:00"},
  });
}

TEST(CronExpr, EveryCountsFrom1970) {
  const CronExpr expr = expr_of("@every 3m");
  EXPECT_EQ(expr.every_ms, 180'000);
  EXPECT_EQ(*cron_next(expr, zone_of("UTC"), 60'000).value(), 180'000);
  EXPECT_EQ(*cron_next(expr, zone_of("UTC"), 180'000).value(), 360'000);
  EXPECT_EQ(expr_of("@every 1h30m5s250ms").every_ms, 5'405'250);
  EXPECT_EQ(expr_of("@every 1w2d").every_ms, 9 * 86'400'000LL);
}

TEST(CronExpr, RefusalsNameTheField) {
  struct Refused {
    std::string text;
    const char* part;
  };
  const Refused refused[] = {
      {"", "expression: is empty"},
      {"   ", "expression: is empty"},
      {"* * * *", "has 4 fields"},
      {"* * * * * * *", "has 7 fields"},
      {"*/0 * * * *", "minute: the step '0'"},
      {"*/61 * * * *", "minute: the step '61'"},
      {"5-1 * * * *", "minute: '5-1' goes backwards"},
      {"60 * * * *", "minute: '60' is not within 0 and 59"},
      {"0 24 * * *", "hour: '24' is not within 0 and 23"},
      {"60 0 0 * * *", "second: '60'"},
      {"0 0 0 * *", "day of month: '0'"},
      {"0 0 32 * *", "day of month: '32'"},
      {"0 0 * 13 *", "month: '13'"},
      {"0 0 * * 8", "day of week: '8' is not within 0 and 7"},
      {"0 0 * * FRI-MON", "day of week: 'FRI-MON' goes backwards"},
      {"1,,2 * * * *", "minute: a value is missing"},
      {"1, * * * *", "minute: a value is missing"},
      {"-5 * * * *", "minute: a value is missing"},
      {"1- * * * *", "minute: a value is missing"},
      {"1/ * * * *", "minute: the step ''"},
      {"1//2 * * * *", "minute: the step '/2'"},
      {"+1 * * * *", "minute: '+1' is no value"},
      {"1.5 * * * *", "minute: '1.5' is no value"},
      {"? * * * *", "minute: '?' is no value"},
      {"\xd9\xa1 * * * *", "' is no value"},
      {"0 0 * foo *", "month: 'foo' is no value"},
      {"0 0 * MONDAY *", "month: 'MONDAY' is no value"},
      {"0 0 * * 6#0", "day of week: '6#0'"},
      {"0 0 * * 6#6", "day of week: '6#6'"},
      {"0 0 * * L", "day of week: a value is missing"},
      {"0 0 W * *", "day of month: a value is missing"},
      {"0 0 15W,20W * *", "day of month: L and W can not stand in a list"},
      {"0 0 L,15 * *", "day of month: L and W can not stand in a list"},
      {"0 0 L-31 * *", "day of month: 'L-31'"},
      {"0 0 L-0 * *", "day of month: 'L-0'"},
      {"0 0 WL * *", "day of month: 'WL'"},
      {"0 0 32W * *", "day of month: '32'"},
      {"0 9 */40 * *", "day of month: the step '40'"},
      {"@reboot", "'@reboot' is none of"},
      {"@daily x", "'@daily' is none of"},
      {"@every", "@every: give one duration"},
      {"@every 0s", "@every: give 1 second or more"},
      {"@every 999ms", "@every: give 1 second or more"},
      {"@every 5", "@every: '5' is no duration"},
      {"@every h", "@every: 'h' is no duration"},
      {"@every 9999999999999w", "is no duration"},
      {"@every 1h -5m", "@every: give one duration"},
      {std::string(10'000, '1'), "has 10000 bytes"},
      {"CRON_TZ=UTC 0 0 * * *", "second: 'CRON_TZ=UTC'"},
  };
  for (const Refused& r : refused) {
    const Result<CronExpr> expr = parse_cron(r.text);
    EXPECT_EQ(expr.status().code(), Code::invalid) << r.text;
    EXPECT_NE(expr.status().message().find(r.part), std::string::npos)
        << r.text << " -> " << expr.status().message();
  }
}

TEST(CronExpr, ZonesAreNamesOfTheDatabase) {
  for (const char* name :
       {"Mars/Phobos", "/etc/localtime", "../zoneinfo/UTC", "file:Europe/Berlin", "Europe",
        "zone.tab", "Europe/Berlin ", "Fixed/UTC+01:00:00", "libc:x"}) {
    const Result<Zone> zone = Zone::load(name);
    EXPECT_EQ(zone.status().code(), Code::invalid) << name;
    EXPECT_NE(zone.status().message().find("zone:"), std::string::npos);
  }
  EXPECT_EQ(Zone::load(std::string(65, 'x')).status().code(), Code::invalid);
  EXPECT_TRUE(Zone::load("Etc/GMT+5").ok());
}

// A random expression of few minutes and hours, so that the walk meets jumps and slots.
std::string random_field(Prng& prng, int low, int high, bool often_all) {
  const auto value = [&] {
    return low + static_cast<int>(prng.below(static_cast<uint64_t>(high - low + 1)));
  };
  switch (prng.below(often_all ? 2 : 5)) {
    case 0:
      return "*";
    case 1:
      return "*/" + std::to_string(1 + prng.below(static_cast<uint64_t>(high - low)));
    case 2: {
      const int a = value();
      const int b = value();
      return std::to_string(std::min(a, b)) + "-" + std::to_string(std::max(a, b));
    }
    case 3:
      return std::to_string(value()) + "," + std::to_string(value());
    default:
      return std::to_string(value());
  }
}

std::string random_expression(Prng& prng) {
  static constexpr const char* days[] = {"*", "*", "L", "LW", "1W", "15W", "L-2", "6,7", "*/3"};
  static constexpr const char* weekdays[] = {"*", "*", "SUN", "0#1", "6L", "MON-SAT/2", "7#5,3"};
  return random_field(prng, 0, 59, false) + " " + random_field(prng, 0, 23, prng.below(2) == 0) +
         " " + days[prng.below(9)] + " " + random_field(prng, 1, 12, true) + " " +
         weekdays[prng.below(7)];
}

TEST(CronExpr, RandomOnesAreDueWhenAWalkSaysSo) {
  struct Window {
    const char* zone;
    const char* from;
  };
  static constexpr Window windows[] = {
      {"America/New_York", "2025-03-08 20:00"},
      {"America/New_York", "2025-11-01 20:00"},
      {"Europe/Berlin", "2024-03-30 12:00"},
      {"Europe/Berlin", "2026-10-24 18:00"},
      {"Australia/Lord_Howe", "2025-10-04 06:00"},
      {"Australia/Lord_Howe", "2025-04-05 06:00"},
      {"America/Santiago", "2025-09-06 18:00"},
      {"Pacific/Apia", "2011-12-29 20:00"},
      {"UTC", "2024-02-28 12:00"},
      {"Asia/Kathmandu", "2025-06-29 00:00"},
  };
  Prng prng(test_seed());
  uint64_t slots = 0;
  for (int round = 0; round < 150; ++round) {
    const Window& window = windows[prng.below(std::size(windows))];
    const std::string text = random_expression(prng);
    const Result<CronExpr> expr = parse_cron(text);
    if (!expr.ok()) continue;  // a day that never comes
    const Zone zone = zone_of(window.zone);
    const CronReference reference(expr.value(), zone);
    const int64_t from_s = ms_of(window.from) / 1000;
    const int64_t until_s = from_s + 30 * 3600;
    int64_t next_ms = cron_next(expr.value(), zone, (from_s - 1) * 1000).value().value_or(0);
    for (int64_t at_s = from_s; at_s < until_s; at_s += 60) {
      const bool due = next_ms == at_s * 1000;
      ASSERT_EQ(due, reference.is_due(at_s))
          << text << " in " << window.zone << " at " << text_of(at_s * 1000);
      if (!due) continue;
      ++slots;
      next_ms = cron_next(expr.value(), zone, next_ms).value().value_or(0);
    }
  }
  EXPECT_GT(slots, 500u);
}

// ---- which of the slots that are due run

TEST(CronPlan, CatchUpTakesTheNewestAndCountsTheRest) {
  const CronExpr minutes = expr_of("* * * * *");
  const Zone utc = zone_of("UTC");
  const int64_t due_ms = ms_of("2025-01-01 00:01");
  const auto plan = [&](int64_t now_ms, uint32_t catch_up) {
    return plan_cron(minutes, utc, due_ms, now_ms, catch_up).value();
  };
  for (const uint32_t catch_up : {0u, 1u, 5u}) {  // on time: the policy does not matter
    const CronPlan one = plan(due_ms + 900, catch_up);
    EXPECT_EQ(one.slots, std::vector<int64_t>{due_ms});
    EXPECT_EQ(one.missed, 0u);
    EXPECT_EQ(one.next_due_ms, due_ms + 60'000);
  }
  const int64_t late_ms = due_ms + 9 * 60'000 + 30'000;  // ten slots, the last 30 s ago
  EXPECT_TRUE(plan(late_ms, 0).slots.empty());
  EXPECT_EQ(plan(late_ms, 0).missed, 10u);
  EXPECT_EQ(plan(late_ms, 1).slots, std::vector<int64_t>{due_ms + 9 * 60'000});
  EXPECT_EQ(plan(late_ms, 1).missed, 9u);
  EXPECT_EQ(plan(late_ms, 4).slots.front(), due_ms + 6 * 60'000);
  EXPECT_EQ(plan(late_ms, 4).missed, 6u);
  EXPECT_EQ(plan(late_ms, 1000).slots.size(), 10u);
  EXPECT_EQ(plan(late_ms, 1000).missed, 0u);
  EXPECT_EQ(plan(late_ms, 0).next_due_ms, due_ms + 10 * 60'000);
  EXPECT_EQ(plan(late_ms, 0).last_ms, due_ms + 9 * 60'000);
}

TEST(CronPlan, YearsOfSecondsAreLookedAtFromTheirEnd) {
  const CronExpr seconds = expr_of("* * * * * *");
  const int64_t due_ms = ms_of("2020-01-01");
  const int64_t now_ms = ms_of("2025-01-01");
  const CronPlan plan = plan_cron(seconds, zone_of("America/New_York"), due_ms, now_ms, 50).value();
  ASSERT_EQ(plan.slots.size(), 50u);
  EXPECT_EQ(plan.slots.back(), now_ms);
  EXPECT_EQ(plan.slots.front(), now_ms - 49'000);
  EXPECT_EQ(plan.next_due_ms, now_ms + 1'000);
  EXPECT_GE(plan.missed, cron_count_max - 50);
}

}  // namespace
}  // namespace wq
