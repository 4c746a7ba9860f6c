#include "engine/cron_expr.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <span>
#include <string>
#include <vector>

#include "base/planted.h"

namespace wq {
namespace {

constexpr int64_t day_s = 24 * 3600;
constexpr int64_t ms_per_s = 1'000;
constexpr int year_max = 9'999;
constexpr int calendar_years = 400;  // after these the calendar repeats, weekdays and all

struct Field {
  const char* name;
  int min;
  int max;
  std::string_view names;  // of three letters each, the first is that of `first_name`
  int first_name;
};

constexpr Field second_field{"second", 0, 59, "", 0};
constexpr Field minute_field{"minute", 0, 59, "", 0};
constexpr Field hour_field{"hour", 0, 23, "", 0};
constexpr Field day_field{"day of month", 1, 31, "", 0};
constexpr Field month_field{"month", 1, 12, "JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC", 1};
constexpr Field weekday_field{"day of week", 0, 7, "SUNMONTUEWEDTHUFRISAT", 0};

Status invalid(const std::string& what) {
  return Status(Code::invalid, "expression: " + what);
}

Status bad_field(const Field& field, const std::string& what) {
  return invalid(std::string(field.name) + ": " + what);
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c >= ' ' && c < 0x7f ? c : '?';
  return out + "'";
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

std::optional<int> parse_number(std::string_view text) {
  if (text.empty() || text.size() > 4) return std::nullopt;
  int number = 0;
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

std::optional<int> parse_name(const Field& field, std::string_view text) {
  if (text.size() != 3) return std::nullopt;
  for (size_t i = 0; i < field.names.size(); i += 3) {
    const std::string_view name = field.names.substr(i, 3);
    if (name[0] == upper(text[0]) && name[1] == upper(text[1]) && name[2] == upper(text[2])) {
      return field.first_name + static_cast<int>(i / 3);
    }
  }
  return std::nullopt;
}

Result<int> parse_value(const Field& field, std::string_view text) {
  if (text.empty()) return bad_field(field, "a value is missing");
  if (const std::optional<int> named = parse_name(field, text)) return *named;
  const std::optional<int> number = parse_number(text);
  if (!number) return bad_field(field, quoted(text) + " is no value of it");
  if (*number >= field.min && *number <= field.max) return *number;
  return bad_field(field, quoted(text) + " is not within " + std::to_string(field.min) + " and " +
                              std::to_string(field.max));
}

Result<int> parse_step(const Field& field, std::string_view text) {
  const bool weekday = field.max == weekday_field.max && field.min == weekday_field.min;
  const int step_max = weekday ? 7 : field.max - field.min + 1;
  const std::optional<int> step = parse_number(text);
  if (step && *step >= 1 && *step <= step_max) return *step;
  return bad_field(field,
                   "the step " + quoted(text) + " is not within 1 and " + std::to_string(step_max));
}

// * or a or a-b, each with a step if wanted. a/n means from a to the end of the field.
Status parse_range(const Field& field, std::string_view item, uint64_t& values) {
  const bool weekday = field.names == weekday_field.names;
  const size_t slash = item.find('/');
  const bool stepped = slash != std::string_view::npos;
  int step = 1;
  if (stepped) {
    WQ_TRY_SET(step, parse_step(field, item.substr(slash + 1)));
    item = item.substr(0, slash);
  }
  int low = field.min;
  int high = weekday ? 6 : field.max;
  if (item != "*") {
    const size_t dash = item.find('-');
    WQ_TRY_SET(low, parse_value(field, item.substr(0, dash)));
    high = stepped ? field.max : low;
    if (dash != std::string_view::npos) {
      const std::string_view end = item.substr(dash + 1);
      WQ_TRY_SET(high, parse_value(field, end));
      if (weekday && high == 0 && low > 0 && !is_digit(end[0])) high = 7;  // MON-SUN
    }
    if (low > high) {
      return bad_field(field, quoted(item) + " goes backwards");
    }
  }
  for (int value = low; value <= high; value += step) values |= uint64_t{1} << value;
  if (weekday && (values & 0x80)) values = (values | 1) & 0x7f;  // 7 is Sunday too
  return {};
}

template <typename Take>
Status for_each_item(const Field& field, std::string_view text, Take&& take) {
  for (;;) {
    const size_t comma = text.find(',');
    const std::string_view item = text.substr(0, comma);
    if (item.empty()) return bad_field(field, "a value is missing");
    WQ_TRY(take(item));
    if (comma == std::string_view::npos) return {};
    text = text.substr(comma + 1);
  }
}

Status parse_set(const Field& field, std::string_view text, uint64_t& values) {
  return for_each_item(field, text,
                       [&](std::string_view item) { return parse_range(field, item, values); });
}

// L, L-n, LW and nW stand alone.
Status parse_day_rule(std::string_view text, CronExpr& expr) {
  std::string word;
  for (const char c : text) word += upper(c);
  if (word.find(',') != std::string::npos) {
    return bad_field(day_field, "L and W can not stand in a list");
  }
  if (word == "LW") {
    expr.day_rule = CronExpr::DayRule::last_weekday;
    return {};
  }
  if (word.back() == 'W') {
    expr.day_rule = CronExpr::DayRule::nearest_weekday;
    WQ_TRY_SET(expr.day_number, parse_value(day_field, text.substr(0, text.size() - 1)));
    return {};
  }
  expr.day_rule = CronExpr::DayRule::last;
  if (word == "L") return {};
  const std::optional<int> before =
      word.starts_with("L-") ? parse_number(text.substr(2)) : std::nullopt;
  if (!before || *before < 1 || *before > 30) {
    return bad_field(day_field, quoted(text) + " is none of L, L-1 to L-30, LW and 1W to 31W");
  }
  expr.day_number = *before;
  return {};
}

Status parse_days(std::string_view text, CronExpr& expr) {
  expr.any_day = text == "*";
  if (text.find_first_of("LlWw") != std::string_view::npos) return parse_day_rule(text, expr);
  uint64_t days = 0;
  WQ_TRY(parse_set(day_field, text, days));
  expr.days = static_cast<uint32_t>(days);
  return {};
}

Status parse_weekday(std::string_view item, CronExpr& expr) {
  if (const size_t hash = item.find('#'); hash != std::string_view::npos) {
    WQ_TRY_SET(const int weekday, parse_value(weekday_field, item.substr(0, hash)));
    const std::optional<int> nth = parse_number(item.substr(hash + 1));
    if (!nth || *nth < 1 || *nth > 5) {
      return bad_field(weekday_field, quoted(item) + ": the number behind # is not within 1 and 5");
    }
    expr.weekdays_nth[static_cast<size_t>(*nth - 1)] |= 1u << (weekday % 7);
    return {};
  }
  if (upper(item.back()) == 'L') {
    WQ_TRY_SET(const int weekday, parse_value(weekday_field, item.substr(0, item.size() - 1)));
    expr.weekdays_last |= 1u << (weekday % 7);
    return {};
  }
  uint64_t weekdays = expr.weekdays;
  WQ_TRY(parse_range(weekday_field, item, weekdays));
  expr.weekdays = static_cast<uint32_t>(weekdays);
  return {};
}

std::vector<std::string_view> split_fields(std::string_view text) {
  std::vector<std::string_view> fields;
  size_t end = 0;
  for (;;) {
    const size_t begin = text.find_first_not_of(" \t", end);
    if (begin == std::string_view::npos) return fields;
    end = std::min(text.find_first_of(" \t", begin), text.size());
    fields.push_back(text.substr(begin, end - begin));
  }
}

Status parse_fields(std::span<const std::string_view> fields, CronExpr& expr) {
  if (fields.size() != 5 && fields.size() != 6) {
    return invalid("has " + std::to_string(fields.size()) +
                   " fields; give [second] minute hour day-of-month month day-of-week, or one of "
                   "@hourly, @daily, @weekly, @monthly, @yearly, @every 15m");
  }
  expr.seconds = 1;
  if (fields.size() == 6) {
    expr.seconds = 0;
    WQ_TRY(parse_set(second_field, fields[0], expr.seconds));
    fields = fields.subspan(1);
  }
  uint64_t hours = 0;
  uint64_t months = 0;
  WQ_TRY(parse_set(minute_field, fields[0], expr.minutes));
  WQ_TRY(parse_set(hour_field, fields[1], hours));
  WQ_TRY(parse_days(fields[2], expr));
  WQ_TRY(parse_set(month_field, fields[3], months));
  expr.any_weekday = fields[4] == "*";
  WQ_TRY(for_each_item(weekday_field, fields[4],
                       [&](std::string_view item) { return parse_weekday(item, expr); }));
  expr.hours = static_cast<uint32_t>(hours);
  expr.months = static_cast<uint32_t>(months);
  return {};
}

// 1h30m: numbers with units, from ms to w.
Result<int64_t> parse_every(std::string_view text) {
  struct Unit {
    std::string_view name;
    int64_t ms;
  };
  static constexpr Unit units[] = {{"ms", 1},        {"s", ms_per_s},   {"m", 60'000},
                                   {"h", 3'600'000}, {"d", 86'400'000}, {"w", 604'800'000}};
  int64_t total_ms = 0;
  std::string_view rest = text;
  while (!rest.empty()) {
    size_t digits = 0;
    int64_t number = 0;
    while (digits < rest.size() && digits < 13 && is_digit(rest[digits])) {
      number = number * 10 + (rest[digits++] - '0');
    }
    size_t letters = digits;
    while (letters < rest.size() && !is_digit(rest[letters])) ++letters;
    const std::string_view name = rest.substr(digits, letters - digits);
    const Unit* unit = nullptr;
    for (const Unit& known : units) {
      if (known.name == name) unit = &known;
    }
    int64_t part_ms = 0;
    if (digits == 0 || !unit || __builtin_mul_overflow(number, unit->ms, &part_ms) ||
        __builtin_add_overflow(total_ms, part_ms, &total_ms)) {
      return invalid("@every: " + quoted(text) + " is no duration, give one like 90s or 1h30m");
    }
    rest = rest.substr(letters);
  }
  if (total_ms < cron_every_ms_min || total_ms > cron_time_ms_max / 2) {
    return invalid("@every: give 1 second or more");
  }
  return total_ms;
}

Result<CronExpr> parse_word(std::span<const std::string_view> fields) {
  struct Word {
    std::string_view name;
    std::string_view meaning;
  };
  static constexpr Word words[] = {{"@yearly", "0 0 1 1 *"},  {"@annually", "0 0 1 1 *"},
                                   {"@monthly", "0 0 1 * *"}, {"@weekly", "0 0 * * 0"},
                                   {"@daily", "0 0 * * *"},   {"@midnight", "0 0 * * *"},
                                   {"@hourly", "0 * * * *"}};
  CronExpr expr;
  if (fields[0] == "@every") {
    if (fields.size() != 2) return invalid("@every: give one duration, like 90s or 1h30m");
    WQ_TRY_SET(expr.every_ms, parse_every(fields[1]));
    return expr;
  }
  for (const Word& word : words) {
    if (fields.size() != 1 || word.name != fields[0]) continue;
    WQ_TRY(parse_fields(split_fields(word.meaning), expr));
    return expr;
  }
  return invalid(quoted(fields[0]) +
                 " is none of @yearly, @monthly, @weekly, @daily, @hourly, @every");
}

// ---- days

int64_t days_from_civil(int year, unsigned month, unsigned day) {
  const std::chrono::sys_days date =
      std::chrono::year(year) / static_cast<int>(month) / static_cast<int>(day);
  return date.time_since_epoch().count();
}

unsigned days_in_month(int year, unsigned month) {
  const std::chrono::year_month_day_last last =
      std::chrono::year(year) / std::chrono::month(month) / std::chrono::last;
  return static_cast<unsigned>(last.day());
}

unsigned weekday_of(int year, unsigned month, unsigned day) {
  return static_cast<unsigned>((days_from_civil(year, month, day) + 4) % 7);  // 1970: a Thursday
}

// Moved off a Saturday or Sunday, but not into another month.
unsigned nearest_weekday(int year, unsigned month, unsigned day, unsigned last_day) {
  const unsigned weekday = weekday_of(year, month, day);
  if (weekday == 6) return day == 1 ? 3 : day - 1;
  if (weekday == 0) return day == last_day ? day - 2 : day + 1;
  return day;
}

uint32_t days_by_rule(const CronExpr& expr, int year, unsigned month, unsigned last_day) {
  const auto number = static_cast<unsigned>(expr.day_number);
  switch (expr.day_rule) {
    case CronExpr::DayRule::set:
      return expr.days;
    case CronExpr::DayRule::last:
      return number < last_day ? 1u << (last_day - number) : 0;
    case CronExpr::DayRule::nearest_weekday:
      return number <= last_day ? 1u << nearest_weekday(year, month, number, last_day) : 0;
    case CronExpr::DayRule::last_weekday:
      return 1u << nearest_weekday(year, month, last_day, last_day);
  }
  return 0;
}

uint32_t days_by_weekday(const CronExpr& expr, int year, unsigned month, unsigned last_day) {
  uint32_t days = 0;
  unsigned weekday = weekday_of(year, month, 1);
  for (unsigned day = 1; day <= last_day; ++day, weekday = (weekday + 1) % 7) {
    uint32_t counts = expr.weekdays | expr.weekdays_nth[(day - 1) / 7];
    if (day + 7 > last_day) counts |= expr.weekdays_last;
    if ((counts >> weekday) & 1) days |= 1u << day;
  }
  return days;
}

// ---- the search

// The first match at or after a local time. Months are skipped whole, so even a day that comes once
// in forty years is found at once.
std::optional<int64_t> next_local(const CronExpr& expr, int64_t from_s) {
  const std::chrono::sys_days start_day{
      std::chrono::days(from_s >= 0 ? from_s / day_s : -((-from_s + day_s - 1) / day_s))};
  const std::chrono::year_month_day start(start_day);
  int year = static_cast<int>(start.year());
  auto month = static_cast<unsigned>(start.month());
  auto day = static_cast<unsigned>(start.day());
  int64_t second = from_s - start_day.time_since_epoch().count() * day_s;  // of the day
  for (int months = 0; months <= calendar_years * 12 && year <= year_max; ++months) {
    const uint32_t days = (expr.months >> month) & 1 ? cron_days(expr, year, month) : 0;
    for (; day <= 31; ++day, second = 0) {
      if (((days >> day) & 1) == 0) continue;
      for (auto hour = static_cast<int>(second / 3600); hour < 24; second = ++hour * 3600) {
        if (((expr.hours >> hour) & 1) == 0) continue;
        auto minute = static_cast<int>(second / 60 % 60);
        auto after = static_cast<int>(second % 60);
        for (; minute < 60; ++minute, after = 0) {
          if (((expr.minutes >> minute) & 1) == 0) continue;
          const uint64_t left = expr.seconds >> after;
          if (left == 0) continue;
          return (days_from_civil(year, month, day) * 24 + hour) * 3600 + minute * 60 + after +
                 std::countr_zero(left);
        }
      }
    }
    day = 1;
    second = 0;
    if (++month == 13) {
      month = 1;
      ++year;
    }
  }
  return std::nullopt;
}

// The first time of the clock on the wall counts, and what the clock jumps over counts at the end
// of the jump. Later local times never come earlier this way.
std::optional<int64_t> next_by_wall(const CronExpr& expr, const Zone& zone, int64_t from_s) {
  int64_t local_s = zone.local_s(from_s) + 1;
  for (;;) {
    const std::optional<int64_t> match = next_local(expr, local_s);
    if (!match) return std::nullopt;
    const Zone::Instants instants = zone.instants_of(*match);
    const bool passed_over =
        WQ_PLANTED(cron_gap_passed_over) && instants.kind == Zone::Kind::skipped;
    if (instants.first_s > from_s && !passed_over) return instants.first_s;
    if (WQ_PLANTED(cron_fold_runs_twice) && instants.second_s > from_s) return instants.second_s;
    local_s = *match + 1;
  }
}

// Between two jumps local time passes as any other.
std::optional<int64_t> next_by_passing(const CronExpr& expr, const Zone& zone, int64_t from_s) {
  for (int64_t start_s = from_s + 1;;) {
    const int64_t local_s = zone.local_s(start_s);
    const std::optional<int64_t> match = next_local(expr, local_s);
    if (!match) return std::nullopt;
    const int64_t found_s = start_s + (*match - local_s);
    const int64_t jump_s = zone.next_jump_s(start_s);
    if (found_s < jump_s) return found_s;
    start_s = jump_s;
  }
}

}  // namespace

Result<CronExpr> parse_cron(std::string_view text) {
  if (text.size() > cron_expression_bytes_max) {
    return invalid("has " + std::to_string(text.size()) + " bytes, the limit is 256");
  }
  const std::vector<std::string_view> fields = split_fields(text);
  if (fields.empty()) return invalid("is empty");
  if (fields[0][0] == '@') return parse_word(fields);
  CronExpr expr;
  WQ_TRY(parse_fields(fields, expr));
  // One whole cycle of the calendar tells for ever.
  if (!next_local(expr, days_from_civil(2000, 1, 1) * day_s)) {
    return invalid("day of month: these days never come in these months");
  }
  return expr;
}

uint32_t cron_days(const CronExpr& expr, int year, unsigned month) {
  const unsigned last_day = days_in_month(year, month);
  const auto in_month = static_cast<uint32_t>((uint64_t{2} << last_day) - 2);
  if (expr.any_day && expr.any_weekday) return in_month;
  if (expr.any_day) return days_by_weekday(expr, year, month, last_day);
  const uint32_t by_rule = days_by_rule(expr, year, month, last_day) & in_month;
  if (expr.any_weekday) return by_rule;
  return by_rule | days_by_weekday(expr, year, month, last_day);
}

Result<std::optional<int64_t>> cron_next(const CronExpr& expr, const Zone& zone, int64_t from_ms) {
  if (from_ms < 0 || from_ms > cron_time_ms_max) {
    return Status(Code::invalid, "from_ms: is not within the years 1970 and 9999");
  }
  std::optional<int64_t> next_ms;
  if (expr.every_ms != 0) {
    next_ms = (from_ms / expr.every_ms + 1) * expr.every_ms;
  } else {
    const int64_t from_s = from_ms / ms_per_s;
    const std::optional<int64_t> next_s =
        expr.every_hour() ? next_by_passing(expr, zone, from_s) : next_by_wall(expr, zone, from_s);
    if (next_s) next_ms = *next_s * ms_per_s;
  }
  if (next_ms && *next_ms > cron_time_ms_max) next_ms.reset();
  return next_ms;
}

}  // namespace wq
