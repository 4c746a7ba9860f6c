// What a schedule means, minute by minute and with the C library's calendar: slow, and too simple
// to be wrong. The tests and the fuzzer compare cron_next() with it. Thread model: pure functions.
#pragma once

#include <cstdint>
#include <ctime>

#include "engine/cron_expr.h"

namespace wq {

class CronReference {
 public:
  CronReference(const CronExpr& expr, const Zone& zone) : expr_(expr), zone_(zone) {}

  // Is the schedule due at this second?
  bool is_due(int64_t utc_s) const {
    const int64_t local_s = zone_.local_s(utc_s);
    const int64_t before_s = zone_.local_s(utc_s - 1);
    if (expr_.every_hour()) return matches(local_s);
    if (matches(local_s) && zone_.instants_of(local_s).first_s == utc_s) return true;
    for (int64_t skipped_s = before_s + 1; skipped_s < local_s; ++skipped_s) {
      if (matches(skipped_s)) return true;
    }
    return false;
  }

  bool matches(int64_t local_s) const {
    const auto seconds = static_cast<time_t>(local_s);
    std::tm tm{};
    gmtime_r(&seconds, &tm);
    return ((expr_.seconds >> tm.tm_sec) & 1) && ((expr_.minutes >> tm.tm_min) & 1) &&
           ((expr_.hours >> tm.tm_hour) & 1) && ((expr_.months >> (tm.tm_mon + 1)) & 1) &&
           matches_day(tm);
  }

 private:
  static int weekday(int year, int month, int day) {
    std::tm tm{};
    tm.tm_year = year;
    tm.tm_mon = month;
    tm.tm_mday = day;
    const time_t at = timegm(&tm);
    gmtime_r(&at, &tm);
    return tm.tm_wday;
  }
  static int last_day(int year, int month) {
    std::tm tm{};
    tm.tm_year = year;
    tm.tm_mon = month + 1;
    tm.tm_mday = 0;
    timegm(&tm);
    return tm.tm_mday;
  }
  // The working day of the month that is nearest to `day`.
  static int nearest(int year, int month, int day, int last) {
    for (const int off : {0, -1, 1, 2, -2}) {
      const int at = day + off;
      if (at < 1 || at > last) continue;
      const int of_week = weekday(year, month, at);
      if (of_week != 0 && of_week != 6) return at;
    }
    return 0;
  }
  bool matches_day(const std::tm& tm) const {
    const int last = last_day(tm.tm_year, tm.tm_mon);
    bool by_day = false;
    switch (expr_.day_rule) {
      case CronExpr::DayRule::set:
        by_day = (expr_.days >> tm.tm_mday) & 1;
        break;
      case CronExpr::DayRule::last:
        by_day = tm.tm_mday == last - expr_.day_number;
        break;
      case CronExpr::DayRule::nearest_weekday:
        by_day = expr_.day_number <= last &&
                 tm.tm_mday == nearest(tm.tm_year, tm.tm_mon, expr_.day_number, last);
        break;
      case CronExpr::DayRule::last_weekday:
        by_day = tm.tm_mday == nearest(tm.tm_year, tm.tm_mon, last, last);
        break;
    }
    const auto nth = static_cast<size_t>((tm.tm_mday - 1) / 7);
    const bool by_weekday = ((expr_.weekdays | expr_.weekdays_nth[nth]) >> tm.tm_wday) & 1 ||
                            (tm.tm_mday > last - 7 && ((expr_.weekdays_last >> tm.tm_wday) & 1));
    if (expr_.any_day) return by_weekday;
    return expr_.any_weekday ? by_day : by_day || by_weekday;
  }

  const CronExpr& expr_;
  const Zone& zone_;
};

}  // namespace wq
