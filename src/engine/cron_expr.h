// CronExpr: when a schedule runs. Reads the texts that cron users know and tells the next time, in
// a time zone:
//
//   [second] minute hour day-of-month month day-of-week     * , - / and names (JAN, MON)
//   day-of-month also: L  L-n  LW  nW (alone in the field)  day-of-week also: nL  n#k
//   @yearly @annually @monthly @weekly @daily @midnight @hourly    @every 1h30m
//
// If both day fields say something (other than *), a day that either of them names counts. Days
// that never come (30 February) are refused when the text is read, so a search always ends.
//
// Where the clock of the zone jumps: a time that the jump leaves out runs once, at the end of the
// jump; a time that comes twice runs the first time. A schedule of every hour goes by the time that
// passes instead: nothing extra after a jump forward, each time of an hour that comes twice.
// @every counts from 1970 UTC in any zone, so it is the same wherever and whenever it is put.
// Pure functions, no clock. Thread model: any.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/result.h"
#include "engine/cron_zone.h"

namespace wq {

constexpr size_t cron_expression_bytes_max = 256;
constexpr int64_t cron_every_ms_min = 1'000;
constexpr int64_t cron_time_ms_max = 253'402'300'799'999;  // the end of the year 9999

struct CronExpr {
  enum class DayRule : uint8_t { set, last, nearest_weekday, last_weekday };

  int64_t every_ms = 0;  // @every; then nothing else counts
  uint64_t seconds = 0;  // a bit for each value of a field
  uint64_t minutes = 0;
  uint32_t hours = 0;
  uint32_t days = 0;
  uint32_t months = 0;
  DayRule day_rule = DayRule::set;
  int day_number = 0;          // last: days before the last one; nearest_weekday: the day
  uint32_t weekdays = 0;       // 0 = Sunday
  uint32_t weekdays_last = 0;  // the last such day of the month
  std::array<uint32_t, 5> weekdays_nth = {};  // the first, second, ... such day of the month
  bool any_day = false;                       // day-of-month is *
  bool any_weekday = false;                   // day-of-week is *

  bool every_hour() const { return hours == (1u << 24) - 1; }

  bool operator==(const CronExpr&) const = default;
};

// INVALID names the field and what is wrong with it.
Result<CronExpr> parse_cron(std::string_view text);

// The days of a month that count, a bit for each (bit 1 = the first).
uint32_t cron_days(const CronExpr& expr, int year, unsigned month);

// The first time after `from_ms`; none if there is none until the year 9999. INVALID: `from_ms`
// itself is not within 1970 and 9999.
Result<std::optional<int64_t>> cron_next(const CronExpr& expr, const Zone& zone, int64_t from_ms);

}  // namespace wq
