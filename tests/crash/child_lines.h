// A running child of the crash tests and the lines that it wrote so far. Thread model: one thread.
#pragma once

#include <unistd.h>

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/child_process.h"

namespace wq::crash {

class Child : public ChildProcess {
 public:
  explicit Child(std::vector<std::string> arguments, const char* program = "crash_child")
      : ChildProcess(program, std::move(arguments)) {}

  // Reads until there are `count` lines more than there are now. False at the end of the pipe.
  bool read_lines(size_t count) {
    const size_t wanted = lines_.size() + count;
    while (lines_.size() < wanted) {
      if (!read_some()) return false;
    }
    return true;
  }
  // Reads until there is a line that begins with `type`.
  bool read_until(char type) {
    for (size_t next = 0;; ++next) {
      while (next == lines_.size()) {
        if (!read_some()) return false;
      }
      if (lines_[next][0] == type) return true;
    }
  }
  // After the child's end.
  const std::vector<std::string>& all_lines() {
    while (read_some()) {
    }
    return lines_;
  }

 private:
  bool read_some() {
    std::array<char, 1 << 16> bytes;
    const ssize_t got = read(output(), bytes.data(), bytes.size());
    if (got <= 0) return false;
    for (const char c : std::string_view(bytes.data(), static_cast<size_t>(got))) {
      if (c != '\n') {
        part_ += c;
      } else {
        lines_.push_back(std::exchange(part_, {}));
      }
    }
    return true;
  }

  std::vector<std::string> lines_;
  std::string part_;
};

}  // namespace wq::crash
