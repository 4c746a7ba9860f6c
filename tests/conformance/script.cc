#include "script.h"

#include <wq.h>

#include <charconv>
#include <cstdio>
#include <stdexcept>

namespace conformance {
namespace {

[[noreturn]] void broken(int line, const std::string& what) {
  throw ScriptError{"line " + std::to_string(line) + ": " + what};
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

// `at` is behind the opening quote, and then behind the closing one.
std::string parse_quoted(std::string_view line, std::size_t& at, int number) {
  std::string bytes;
  while (at < line.size() && line[at] != '"') {
    if (line[at] != '\\') {
      bytes += line[at++];
      continue;
    }
    const char kind = at + 1 < line.size() ? line[at + 1] : 0;
    if (kind == '"' || kind == '\\') {
      bytes += kind;
      at += 2;
    } else if (kind == 'x' && at + 3 < line.size() && hex_digit(line[at + 2]) >= 0 &&
               hex_digit(line[at + 3]) >= 0) {
      bytes += static_cast<char>(hex_digit(line[at + 2]) * 16 + hex_digit(line[at + 3]));
      at += 4;
    } else {
      broken(number, "an escape that is none");
    }
  }
  if (at == line.size()) broken(number, "a quote that does not end");
  at++;
  return bytes;
}

std::string parse_value(std::string_view line, std::size_t& at, int number) {
  if (at == line.size() || line[at] != '"') {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    return std::string(line.substr(std::exchange(at, end), end - at));
  }
  const std::string once = parse_quoted(line, ++at, number);
  if (at == line.size() || line[at] != '*') return once;
  std::size_t times = 0;
  const auto [end, error] = std::from_chars(line.data() + at + 1, line.data() + line.size(), times);
  if (error != std::errc()) broken(number, "a number must follow *");
  at = static_cast<std::size_t>(end - line.data());
  std::string all;
  all.reserve(once.size() * times);
  for (std::size_t i = 0; i < times; i++) all += once;
  return all;
}

Line parse_line(std::string_view text, int number) {
  Line line;
  line.number = number;
  std::size_t at = 0;
  const auto skip_blanks = [&] { at = std::min(text.find_first_not_of(' ', at), text.size()); };
  const std::size_t end = std::min(text.find(' '), text.size());
  line.op = text.substr(0, end);
  at = end;
  for (skip_blanks(); at < text.size(); skip_blanks()) {
    const std::size_t equals = text.find('=', at);
    if (equals == std::string_view::npos) broken(number, "key=value is missing");
    std::string key(text.substr(at, equals - at));
    at = equals + 1;
    std::string value = parse_value(text, at, number);
    line.values.emplace_back(std::move(key), std::move(value));
  }
  return line;
}

}  // namespace

const std::string Line::empty;

bool Line::has(std::string_view key) const {
  for (const auto& [name, value] : values) {
    if (name == key) return true;
  }
  return false;
}

const std::string& Line::text(std::string_view key, const std::string& other) const {
  for (const auto& [name, value] : values) {
    if (name == key) return value;
  }
  return other;
}

const std::string& Line::must(std::string_view key) const {
  if (!has(key)) broken(number, op + ": " + std::string(key) + "= is missing");
  return text(key);
}

std::int64_t Line::number_of(std::string_view key, std::int64_t other) const {
  if (!has(key)) return other;
  const std::string& value = text(key);
  std::int64_t parsed = 0;
  const char* begin = value.data() + (value.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(begin, value.data() + value.size(), parsed);
  if (error != std::errc() || end != value.data() + value.size()) {
    broken(number, std::string(key) + ": no number: " + value);
  }
  return parsed;
}

std::uint32_t Line::u32(std::string_view key, std::uint32_t other) const {
  return static_cast<std::uint32_t>(number_of(key, other));
}

std::vector<std::string> Line::list(std::string_view key) const {
  return split(text(key), ',');
}

bool Line::flag(std::string_view word) const {
  for (const std::string& flag : list("flags")) {
    if (flag == word) return true;
  }
  return false;
}

std::optional<Time> Line::time(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  const std::string& value = text(key);
  if (value.empty() || (value[0] != '+' && value[0] != '-')) return Time(millis(key));
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return Time(std::chrono::duration_cast<std::chrono::milliseconds>(now) + millis(key));
}

std::vector<Line> parse_script(const std::string& text) {
  std::vector<Line> script;
  std::vector<Line> parts;
  int number = 0;
  for (const std::string& row : split(text, '\n')) {
    number++;
    if (row.empty() || row[0] == '#') continue;
    Line line = parse_line(row, number);
    if (line.op == "+") {
      parts.push_back(std::move(line));
    } else {
      line.parts = std::exchange(parts, {});
      script.push_back(std::move(line));
    }
  }
  if (!parts.empty()) broken(number, "parts without an operation");
  return script;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> pieces;
  if (text.empty()) return pieces;
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find(at, begin)) != std::string::npos; begin = end + 1) {
    pieces.push_back(text.substr(begin, end - begin));
  }
  if (begin < text.size()) pieces.push_back(text.substr(begin));
  return pieces;
}

std::string quoted(std::string_view bytes) {
  char text[40];
  if (bytes.size() > 64) {
    std::uint32_t hash = 2166136261u;
    for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    std::snprintf(text, sizeof text, "bytes(%zu,%08x)", bytes.size(), hash);
    return text;
  }
  std::string out = "\"";
  for (const char c : bytes) {
    if (c == '"' || c == '\\') {
      (out += '\\') += c;
    } else if (c >= 0x20 && c <= 0x7e) {
      out += c;
    } else {
      std::snprintf(text, sizeof text, "\\x%02x", static_cast<unsigned char>(c));
      out += text;
    }
  }
  return out + "\"";
}

std::string queue_word(std::string_view name) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyz0123456789_";
  const bool as_it_is = !name.empty() && name.find_first_not_of(plain) == std::string_view::npos;
  return as_it_is ? std::string(name) : quoted(name);
}

std::uint32_t value_of_word(const Words& words, const std::string& word) {
  for (std::size_t i = 0; i < words.size(); i++) {
    if (words[i] == word) return static_cast<std::uint32_t>(i);
  }
  throw ScriptError{"no constant has the name " + word};
}

const Words states{"none", "ready", "delayed", "leased", "running", "dead"};
const Words reasons{"none",           "failed",    "lease_expired", "timeout",     "retry_until",
                    "max_exceptions", "cancelled", "expired",       "unknown_type", "unreadable"};
const Words backoffs{"none", "fixed", "exponential", "list"};
const Words uniques{"none", "started", "done", "gone"};
const Words overlaps{"park", "release", "skip"};
const Words key_kinds{"none", "unique", "debounce", "idempotency"};
const Words durabilities{"none", "memory", "process", "power"};
const Words statuses{"active", "paused", "disabled"};
const Words events{"none",          "queued",     "promoted",    "leased",         "confirmed",
                   "acked",         "nacked",     "released",    "expired",        "dead",
                   "replayed",      "cancelled",  "cleared",     "queue_declared", "queue_changed",
                   "queue_deleted", "checkpoint", "job_expired", "dropped",        "flow_finished",
                   "key_cools",     "skipped"};

std::string bit_words(std::uint32_t bits,
                      const std::vector<std::pair<std::uint32_t, std::string_view>>& names) {
  std::string words;
  for (const auto& [bit, name] : names) {
    if (!(bits & bit)) continue;
    if (!words.empty()) words += ',';
    words += name;
  }
  return words;
}

const std::vector<std::pair<std::uint32_t, std::string_view>> causes{
    {WQ_WHY_DELAYED, "delayed"}, {WQ_WHY_PAUSED, "paused"}, {WQ_WHY_DISABLED, "disabled"},
    {WQ_WHY_SLOTS, "slots"},     {WQ_WHY_BEHIND, "behind"}, {WQ_WHY_HELD, "held"},
    {WQ_WHY_LATE, "late"},       {WQ_WHY_DEAD, "dead"},     {WQ_WHY_STOPPED, "stopped"},
    {WQ_WHY_EMPTY, "empty"},     {WQ_WHY_GROUP, "group"},   {WQ_WHY_RATE, "rate"},
    {WQ_WHY_COOLING, "cooling"}};

}  // namespace conformance
