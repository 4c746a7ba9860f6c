// The language of README.md, as far as it is about text: lines, values, words for constants, and
// how bytes are printed. For the runner of the C++ binding and for the model; it knows neither
// of their types. Thread model: plain functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conformance {

using Time = std::chrono::time_point<std::chrono::system_clock, std::chrono::milliseconds>;

// A script that can not be run; ends the runner with 2.
struct ScriptError {
  std::string message;
};

// One line, split. Keys may repeat.
struct Line {
  std::string op;  // "+" for a part
  std::vector<std::pair<std::string, std::string>> values;
  std::vector<Line> parts;  // of an operation
  int number = 0;

  bool has(std::string_view key) const;
  // The value, or what stands for one that is left out.
  const std::string& text(std::string_view key, const std::string& other = empty) const;
  const std::string& must(std::string_view key) const;
  std::int64_t number_of(std::string_view key, std::int64_t other = 0) const;
  std::uint32_t u32(std::string_view key, std::uint32_t other = 0) const;
  std::chrono::milliseconds millis(std::string_view key) const {
    return std::chrono::milliseconds(number_of(key));
  }
  std::vector<std::string> list(std::string_view key) const;
  bool flag(std::string_view word) const;  // in flags=
  // +N and -N are from now on.
  std::optional<Time> time(std::string_view key) const;

  static const std::string empty;
};

std::vector<Line> parse_script(const std::string& text);
std::vector<std::string> split(const std::string& text, char at);

// `"a\xff"`, or `bytes(LENGTH,HASH)`.
std::string quoted(std::string_view bytes);
// Without quotes when it is [a-z0-9_]+.
std::string queue_word(std::string_view name);

// Words for constants: the position in the table of a kind is the value.
using Words = std::vector<std::string_view>;
std::uint32_t value_of_word(const Words& words, const std::string& word);
extern const Words states, reasons, backoffs, uniques, overlaps;
extern const Words key_kinds, durabilities, statuses, events;

// Names of the bits that are set, joined by ','.
std::string bit_words(std::uint32_t bits,
                      const std::vector<std::pair<std::uint32_t, std::string_view>>& names);
extern const std::vector<std::pair<std::uint32_t, std::string_view>> causes;

}  // namespace conformance
