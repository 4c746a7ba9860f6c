#include "data/transcript.h"

#include <climits>
#include <cstdint>
#include <cstdlib>

namespace wq {
namespace {

constexpr std::string_view separator = "----";

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

void read_directive(const std::string& line, Transcript& transcript) {
  if (line.starts_with("#! as-written:")) transcript.as_written = true;
  if (line.starts_with("#! no-checkpoints:")) transcript.no_checkpoints = true;
  if (line.starts_with("#! memory:")) transcript.memory_only = true;
}

// Appends what the quoted text at `line[at]` stands for and moves behind it.
void take_quoted(std::string_view line, size_t& at, std::string& out) {
  std::string text;
  for (++at; at < line.size() && line[at] != '"'; ++at) {
    if (line[at] != '\\' || at + 1 == line.size()) {
      text += line[at];
    } else if (line[++at] == 'x') {
      text += static_cast<char>(std::stoi(std::string(line.substr(at + 1, 2)), nullptr, 16));
      at += 2;
    } else {
      text += line[at] == 'n' ? '\n' : line[at];
    }
  }
  if (at < line.size()) ++at;
  size_t times = 1;
  if (at < line.size() && line[at] == '*') {
    size_t digits = 0;
    times = std::stoul(std::string(line.substr(at + 1)), &digits);
    at += 1 + digits;
  }
  for (size_t i = 0; i < times; ++i) out += text;
}

// One word up to a blank (or `stop`) outside of quotes and braces. `equals` is where its name ends,
// if it is an option.
std::string take_word(std::string_view line, size_t& at, char stop, size_t& equals) {
  std::string word;
  int depth = 0;
  equals = std::string::npos;
  while (at < line.size() && (depth > 0 || line[at] != stop)) {
    if (line[at] == '"' && depth == 0) {
      take_quoted(line, at, word);
      continue;
    }
    if (line[at] == '{') ++depth;
    if (line[at] == '}') --depth;
    if (line[at] == '=' && depth == 0 && equals == std::string::npos) equals = word.size();
    word += line[at++];
  }
  return word;
}

void take_words(std::string_view line, char stop, Arguments& arguments) {
  for (size_t at = 0; at < line.size();) {
    if (line[at] == stop) {
      ++at;
      continue;
    }
    size_t equals = 0;
    std::string word = take_word(line, at, stop, equals);
    if (equals != std::string::npos && equals > 0) {
      arguments.options[word.substr(0, equals)] = word.substr(equals + 1);
    } else {
      arguments.words.push_back(std::move(word));
    }
  }
}

}  // namespace

std::string parse_transcript(std::string_view text, Transcript& transcript) {
  Block block;
  enum class Place { before, input, output } place = Place::before;
  size_t number = 0;
  for (const std::string& line : lines_of(text)) {
    ++number;
    if (place == Place::before && (line.empty() || line[0] == '#')) {
      read_directive(line, transcript);
      block.before += line + "\n";
    } else if (place == Place::output) {
      if (line.empty()) {
        transcript.blocks.push_back(std::move(block));
        block = Block();
        place = Place::before;
      } else {
        block.expected += line + "\n";
      }
    } else if (line == separator && place == Place::input) {
      place = Place::output;
    } else if (line.empty() || line == separator) {
      return "line " + std::to_string(number) + ": a block is commands, ----, output, empty line";
    } else {
      if (place == Place::before) block.line = number;
      place = Place::input;
      block.input.push_back(line);
    }
  }
  if (place == Place::input) return "the last block has no ----";
  if (place == Place::output) {
    transcript.blocks.push_back(std::move(block));
  } else {
    transcript.after = block.before;
  }
  return transcript.blocks.empty() ? "there is no block" : std::string();
}

std::string format_transcript(const Transcript& transcript,
                              const std::vector<std::string>& outputs) {
  std::string text;
  for (size_t i = 0; i < transcript.blocks.size(); ++i) {
    const Block& block = transcript.blocks[i];
    if (i > 0) text += "\n";
    text += block.before;
    for (const std::string& line : block.input) text += line + "\n";
    text += std::string(separator) + "\n" + outputs[i];
  }
  if (!transcript.after.empty()) text += "\n" + transcript.after;
  return text;
}

Arguments parse_arguments(std::string_view line) {
  Arguments arguments;
  take_words(line, ' ', arguments);
  if (!arguments.words.empty()) {
    arguments.verb = arguments.words.front();
    arguments.words.erase(arguments.words.begin());
  }
  return arguments;
}

Arguments parse_job_word(const std::string& word) {
  Arguments job;
  const size_t brace = word.find('{');
  job.verb = word.substr(0, brace);
  if (brace != std::string::npos) {
    take_words(std::string_view(word).substr(brace + 1, word.size() - brace - 2), ',', job);
  }
  return job;
}

int64_t parse_duration_ms(const std::string& text) {
  if (text == "max") return INT64_MAX;
  if (text == "min") return INT64_MIN;
  size_t digits = 0;
  const int64_t value = std::stoll(text, &digits);
  const std::string unit = text.substr(digits);
  if (unit.empty() || unit == "ms") return value;
  if (unit == "s") return value * 1'000;
  if (unit == "m") return value * 60'000;
  if (unit == "h") return value * 3'600'000;
  if (unit == "d") return value * 86'400'000;
  if (unit == "y") return value * 365 * 86'400'000;
  return INT64_MIN;
}

std::string Arguments::text(const std::string& name, const std::string& fallback) const {
  const auto found = options.find(name);
  return found == options.end() ? fallback : found->second;
}

int64_t Arguments::number(const std::string& name, int64_t fallback) const {
  return has(name) ? std::stoll(text(name)) : fallback;
}

int64_t Arguments::duration_ms(const std::string& name, int64_t fallback) const {
  return has(name) ? parse_duration_ms(text(name)) : fallback;
}

}  // namespace wq
