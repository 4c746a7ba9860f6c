#include "cli/text.h"

#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>

#include "cli/failure.h"

namespace wq::cli {
namespace {

constexpr std::string_view base64_alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr int64_t ms_per_second = 1000;
constexpr int64_t ms_per_minute = 60 * ms_per_second;
constexpr int64_t ms_per_hour = 60 * ms_per_minute;
constexpr int64_t ms_per_day = 24 * ms_per_hour;

// Length of the UTF-8 sequence at the start of `text`, 0 if there is none. Overlong forms,
// surrogates and values above 10FFFF are none.
size_t utf8_length(std::string_view text) {
  const auto at = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = at(0);
  if (first < 0x80) return 1;
  size_t length = 0;
  unsigned low = 0x80, high = 0xbf;  // bounds of the second byte
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    if (first == 0xe0) low = 0xa0;
    if (first == 0xed) high = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    if (first == 0xf0) low = 0x90;
    if (first == 0xf4) high = 0x8f;
  }
  if (length == 0 || text.size() < length || at(1) < low || at(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if (at(i) < 0x80 || at(i) > 0xbf) return 0;
  }
  return length;
}

// C1 controls (U+0080..U+009F) steer terminals too.
bool is_c1_control(std::string_view sequence) {
  return sequence.size() == 2 && sequence[0] == '\xc2' &&
         static_cast<unsigned char>(sequence[1]) < 0xa0;
}

std::string escaped_byte(char byte) {
  switch (byte) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    case '\\':
      return "\\\\";
    default: {
      std::array<char, 8> text{};
      std::snprintf(text.data(), text.size(), "\\x%02x", static_cast<unsigned char>(byte));
      return text.data();
    }
  }
}

template <typename T>
bool parse_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

[[noreturn]] void fail_value(std::string_view option, std::string_view text,
                             std::string_view expected) {
  fail_usage(std::string(option) + ": '" + printable(text, 60) + "' is not " +
             std::string(expected));
}

struct Unit {
  std::string_view name;
  uint64_t factor;
};

constexpr Unit duration_units[] = {
    {"d", ms_per_day},    {"h", ms_per_hour}, {"m", ms_per_minute},
    {"s", ms_per_second}, {"ms", 1},          {"min", ms_per_minute}};
constexpr size_t plain_duration_units = 5;  // those that format_exact_duration uses, largest first
constexpr Unit size_units[] = {{"", 1},           {"B", 1},         {"K", 1u << 10},
                               {"KiB", 1u << 10}, {"M", 1u << 20},  {"MiB", 1u << 20},
                               {"G", 1u << 30},   {"GiB", 1u << 30}};

template <size_t n>
std::optional<uint64_t> factor_of(std::string_view name, const Unit (&units)[n]) {
  for (const Unit& unit : units) {
    if (unit.name == name) return unit.factor;
  }
  return std::nullopt;
}

// Takes digits from the front of `text`.
std::string_view take_digits(std::string_view& text) {
  const std::string_view digits = text.substr(0, text.find_first_not_of("0123456789"));
  text.remove_prefix(digits.size());
  return digits;
}

std::optional<uint64_t> parse_size_bytes(std::string_view text) {
  uint64_t value = 0;
  if (!parse_whole(take_digits(text), value)) return std::nullopt;
  const std::optional<uint64_t> factor = factor_of(text, size_units);
  if (!factor || value > static_cast<uint64_t>(INT64_MAX) / *factor) return std::nullopt;
  return value * *factor;
}

// "1.5" of a unit in milliseconds; what is below a millisecond must be zero.
std::optional<uint64_t> scaled_ms(std::string_view whole, std::string_view decimals,
                                  uint64_t factor) {
  constexpr size_t decimals_max = 9;
  uint64_t value = 0, part = 0, scale = 1;
  if (!parse_whole(whole, value) || value > static_cast<uint64_t>(INT64_MAX) / factor ||
      decimals.size() > decimals_max) {
    return std::nullopt;
  }
  for (size_t i = 0; i < decimals.size(); ++i) scale *= 10;
  if (!decimals.empty()) parse_whole(decimals, part);
  if (part * factor % scale != 0) return std::nullopt;
  return value * factor + part * factor / scale;
}

// "30s", "1.5s", "1h30m": parts whose units get smaller.
std::optional<int64_t> parse_duration_parts(std::string_view text) {
  uint64_t total_ms = 0, factor_before = UINT64_MAX;
  while (!text.empty()) {
    const std::string_view whole = take_digits(text);
    std::string_view decimals;
    if (text.starts_with('.')) {
      text.remove_prefix(1);
      decimals = take_digits(text);
      if (decimals.empty()) return std::nullopt;
    }
    const std::string_view unit = text.substr(0, text.find_first_of("0123456789"));
    text.remove_prefix(unit.size());
    const std::optional<uint64_t> factor = factor_of(unit, duration_units);
    if (!factor || *factor >= factor_before) return std::nullopt;
    const std::optional<uint64_t> part_ms = scaled_ms(whole, decimals, *factor);
    if (!part_ms || *part_ms > static_cast<uint64_t>(INT64_MAX) - total_ms) return std::nullopt;
    total_ms += *part_ms;
    factor_before = *factor;
  }
  return static_cast<int64_t>(total_ms);
}

// Offset of a zone in minutes: "Z", "+02:00", "-0530".
std::optional<int> parse_zone_minutes(std::string_view zone) {
  if (zone == "Z" || zone == "z") return 0;
  if (zone.size() < 5 || (zone[0] != '+' && zone[0] != '-')) return std::nullopt;
  unsigned hours = 0, minutes = 0;
  const std::string_view rest = zone.substr(zone[3] == ':' ? 4 : 3);
  if (!parse_whole(zone.substr(1, 2), hours) || rest.size() != 2 || !parse_whole(rest, minutes) ||
      hours > 23 || minutes > 59) {
    return std::nullopt;
  }
  const int total = static_cast<int>(hours * 60 + minutes);
  return zone[0] == '-' ? -total : total;
}

// ".123456" -> 123, and what follows it.
std::optional<int64_t> take_fraction_ms(std::string_view& rest) {
  if (rest.empty() || rest[0] != '.') return 0;
  const size_t end = rest.find_first_not_of("0123456789", 1);
  std::string digits(rest.substr(1, end == rest.npos ? rest.npos : end - 1));
  if (digits.empty()) return std::nullopt;
  digits.resize(3, '0');
  rest = end == rest.npos ? std::string_view{} : rest.substr(end);
  int64_t value = 0;
  parse_whole(std::string_view(digits), value);
  return value;
}

std::optional<int64_t> parse_rfc3339_ms(std::string_view text) {
  constexpr size_t date_length = 19;
  if (text.size() <= date_length) return std::nullopt;
  const std::string date(text.substr(0, date_length));
  std::tm parts{};
  char separator = 0;
  int used = 0;
  if (std::sscanf(date.c_str(), "%4d-%2d-%2d%c%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon,
                  &parts.tm_mday, &separator, &parts.tm_hour, &parts.tm_min, &parts.tm_sec,
                  &used) != 7 ||
      used != static_cast<int>(date_length) || (separator != 'T' && separator != ' ')) {
    return std::nullopt;
  }
  const std::tm wanted = parts;
  parts.tm_year -= 1900;
  parts.tm_mon -= 1;
  const std::time_t seconds = ::timegm(&parts);  // also brings 2026-02-31 into shape, so compare
  if (parts.tm_mday != wanted.tm_mday || parts.tm_mon + 1 != wanted.tm_mon ||
      parts.tm_hour != wanted.tm_hour || parts.tm_min != wanted.tm_min ||
      parts.tm_sec != wanted.tm_sec) {
    return std::nullopt;
  }
  std::string_view rest = text.substr(date_length);
  const std::optional<int64_t> fraction_ms = take_fraction_ms(rest);
  const std::optional<int> zone = parse_zone_minutes(rest);
  if (!fraction_ms || !zone) return std::nullopt;
  return int64_t{seconds} * ms_per_second + *fraction_ms - *zone * ms_per_minute;
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string base64_encode(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t k = 0; k < 3; ++k) {
      group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (size_t k = 0; k < 4; ++k) {
      text += k <= count ? base64_alphabet[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

std::optional<std::string> base64_decode(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    std::string_view quad = text.substr(i, 4);
    const bool is_last = i + 4 == text.size();
    while (is_last && quad.size() > 2 && quad.back() == '=') quad.remove_suffix(1);
    uint32_t group = 0;
    for (size_t k = 0; k < 4; ++k) {
      const size_t digit = k < quad.size() ? base64_alphabet.find(quad[k]) : 0;
      if (digit == base64_alphabet.npos) return std::nullopt;
      group = group << 6 | static_cast<uint32_t>(digit);
    }
    const size_t count = quad.size() - 1;
    if ((group & ((1u << (8 * (3 - count))) - 1)) != 0) return std::nullopt;  // not canonical
    for (size_t k = 0; k < count; ++k) bytes += static_cast<char>(group >> (16 - 8 * k) & 0xff);
  }
  return bytes;
}

namespace {

std::string escaped(std::string_view bytes, size_t columns_max, bool backslashes) {
  std::string text;
  size_t columns = 0;
  while (!bytes.empty()) {
    const size_t length = utf8_length(bytes);
    const std::string_view sequence = bytes.substr(0, length == 0 ? 1 : length);
    const auto first = static_cast<unsigned char>(sequence[0]);
    std::string piece(sequence);
    if (length == 0 || first < 0x20 || first == 0x7f || (backslashes && first == '\\')) {
      piece = escaped_byte(sequence[0]);
    } else if (is_c1_control(sequence)) {
      piece = escaped_byte(sequence[0]) + escaped_byte(sequence[1]);
    }
    columns += columns_of(piece);
    if (columns_max != 0 && columns > columns_max) return text + "...";
    text += piece;
    bytes.remove_prefix(sequence.size());
  }
  return text;
}

}  // namespace

std::string printable(std::string_view bytes, size_t columns_max) {
  return escaped(bytes, columns_max, true);
}

std::string one_line(std::string_view text) {
  return escaped(text, 0, false);
}

size_t columns_of(std::string_view text) {
  size_t columns = 0;
  for (const char byte : text) columns += (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
  return columns;
}

int64_t parse_duration_ms(std::string_view option, std::string_view text, bool forever_allowed) {
  if (forever_allowed && text == "forever") return -1;
  if (text == "0") return 0;
  const std::optional<int64_t> value = parse_duration_parts(text);
  if (value && !text.empty()) return *value;
  uint64_t bare = 0;
  if (parse_whole(text, bare)) {
    const std::string number(text);
    fail_usage(std::string(option) + ": " + number + " needs a unit: " + number + "ms, " + number +
               "s, " + number + "m, " + number + "h or " + number + "d");
  }
  fail_value(option, text,
             forever_allowed ? "a duration (500ms, 30s, 5m, 1h30m, 7d, 0, forever)"
                             : "a duration (500ms, 30s, 5m, 1h30m, 7d, 0)");
}

int64_t parse_lease_ms(std::string_view text) {
  if (text.empty()) return 0;
  const int64_t lease_ms = parse_duration_ms("--lease", text);
  if (lease_ms == 0) fail_usage("--lease: must be above 0; leave it out for that of the queue");
  return lease_ms;
}

uint64_t parse_size(std::string_view option, std::string_view text) {
  const std::optional<uint64_t> value = parse_size_bytes(text);
  if (!value) fail_value(option, text, "a size (512, 64KiB, 16MiB, 1GiB)");
  return *value;
}

int64_t parse_time_ms(std::string_view option, std::string_view text) {
  int64_t unix_ms = 0;
  if (parse_whole(text, unix_ms) && unix_ms >= 0) return unix_ms;
  const std::optional<int64_t> time = parse_rfc3339_ms(text);
  if (!time) fail_value(option, text, "a time (2026-05-01T12:00:00Z, or ms since 1970)");
  return *time;
}

int64_t parse_ahead_ms(std::string_view option, std::string_view text) {
  if (const std::optional<int64_t> ahead_ms = parse_duration_parts(text)) {
    return wall_clock_ms() + *ahead_ms;
  }
  return parse_time_ms(option, text);
}

int64_t parse_bound_ms(std::string_view option, std::string_view text) {
  if (text.empty()) return 0;
  if (text == "0") return wall_clock_ms();
  if (const std::optional<int64_t> ago_ms = parse_duration_parts(text)) {
    return wall_clock_ms() - *ago_ms;
  }
  // Small numbers are no times since 1970 but durations without a unit.
  constexpr int64_t time_ms_min = 10'000'000'000;
  int64_t unix_ms = 0;
  if (parse_whole(text, unix_ms) && unix_ms >= time_ms_min) return unix_ms;
  const std::optional<int64_t> time = parse_rfc3339_ms(text);
  if (!time) {
    fail_value(option, text,
               "a time (2026-05-01T12:00:00Z, ms since 1970) or how long ago (30m, 2h, 7d)");
  }
  return *time;
}

uint64_t parse_number(std::string_view what, std::string_view text) {
  uint64_t value = 0;
  if (!parse_whole(text, value)) fail_value(what, text, "a whole number");
  return value;
}

wq_token parse_token(std::string_view text) {
  const size_t colon = text.find(':');
  wq_token token{};
  if (colon == text.npos || !parse_whole(text.substr(0, colon), token.id) ||
      !parse_whole(text.substr(colon + 1), token.generation)) {
    fail_value("token", text, "ID:GENERATION, as pull and dead ls print it");
  }
  return token;
}

uint64_t parse_job_id(std::string_view text) {
  if (text.find(':') != text.npos) return parse_token(text).id;
  return parse_number("job", text);
}

int64_t wall_clock_ms() {
  using std::chrono::duration_cast, std::chrono::milliseconds, std::chrono::system_clock;
  return duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
}

std::string token_text(uint64_t id, uint64_t generation) {
  return std::to_string(id) + ":" + std::to_string(generation);
}

std::string format_count(uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string text;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) text += ',';
    text += digits[i];
  }
  return text;
}

std::string format_bytes(uint64_t bytes) {
  constexpr std::array<const char*, 4> units = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes);
  size_t unit = 0;
  for (value /= 1024; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f %s", value, units[unit]);
  return text.data();
}

std::string format_duration(int64_t duration_ms) {
  std::array<char, 48> text{};
  const int64_t ms = duration_ms < 0 ? -duration_ms : duration_ms;
  const char* const sign = duration_ms < 0 ? "-" : "";
  const auto two_units = [&](int64_t whole, const char* big, int64_t part, const char* small) {
    std::snprintf(text.data(), text.size(), "%s%lld%s %02lld%s", sign,
                  static_cast<long long>(whole), big, static_cast<long long>(part), small);
  };
  if (ms < ms_per_second) {
    std::snprintf(text.data(), text.size(), "%s%lld ms", sign, static_cast<long long>(ms));
  } else if (ms < ms_per_minute) {
    std::snprintf(text.data(), text.size(), "%s%.1f s", sign, static_cast<double>(ms) / 1000);
  } else if (ms < ms_per_hour) {
    two_units(ms / ms_per_minute, "m", ms % ms_per_minute / ms_per_second, "s");
  } else if (ms < ms_per_day) {
    two_units(ms / ms_per_hour, "h", ms % ms_per_hour / ms_per_minute, "m");
  } else {
    two_units(ms / ms_per_day, "d", ms % ms_per_day / ms_per_hour, "h");
  }
  return text.data();
}

std::string format_exact_duration(int64_t duration_ms) {
  if (duration_ms <= 0 || duration_ms % ms_per_second != 0) {
    return duration_ms == 0 ? "0" : std::to_string(duration_ms) + "ms";
  }
  std::string text;
  int64_t rest_ms = duration_ms;
  for (size_t i = 0; i < plain_duration_units; ++i) {
    const auto factor = static_cast<int64_t>(duration_units[i].factor);
    if (rest_ms / factor == 0) continue;
    text += std::to_string(rest_ms / factor) + std::string(duration_units[i].name);
    rest_ms %= factor;
  }
  return text;
}

std::string format_time(int64_t time_ms) {
  if (time_ms == 0) return "-";
  const std::time_t seconds = static_cast<std::time_t>(time_ms / ms_per_second);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> date{};
  std::strftime(date.data(), date.size(), "%Y-%m-%d %H:%M:%S", &parts);
  std::array<char, 48> text{};
  std::snprintf(text.data(), text.size(), "%s.%03dZ", date.data(),
                static_cast<int>(time_ms % ms_per_second));
  return text.data();
}

std::string format_rate(double per_second) {
  if (per_second >= 10) return format_count(static_cast<uint64_t>(per_second + 0.5)) + "/s";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f/s", per_second);
  return text.data();
}

std::string rate_of(uint64_t count, double seconds) {
  constexpr uint64_t count_min = 100;
  if (count < count_min || seconds < 1) return "";
  return format_rate(static_cast<double>(count) / seconds);
}

std::string plural(uint64_t count, std::string_view noun, std::string_view nouns) {
  const std::string many = nouns.empty() ? std::string(noun) + "s" : std::string(nouns);
  return format_count(count) + " " + (count == 1 ? std::string(noun) : many);
}

}  // namespace wq::cli
