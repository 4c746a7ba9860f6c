// Lines of a file, a pipe or a string, byte for byte: whatever stands between two separators, empty
// lines too, carriage returns and NULs included. A last line without separator is a line; nothing
// after the last separator is none. Thread model: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wq::cli {

class LineReader {
 public:
  // Reads from `fd`, which stays the caller's. A line over `line_bytes_max` is a usage Failure.
  LineReader(int fd, std::string name, char separator, uint64_t line_bytes_max);
  // Reads from memory.
  LineReader(std::string text, char separator, uint64_t line_bytes_max);

  // The next line, valid until the next call. False at the end.
  bool next(std::string_view& line) { return take(line, true) == Next::line; }

  // The same without waiting for whoever writes the pipe.
  enum class Next { line, wait, end };
  Next try_next(std::string_view& line) { return take(line, false); }

  int fd() const { return fd_; }
  // True if next() would have to wait.
  bool would_wait() const;

  uint64_t line_number() const { return line_number_; }  // of the last line, counted from 1
  uint64_t bytes_read() const { return bytes_read_; }

 private:
  Next take(std::string_view& line, bool may_wait);
  bool readable() const;
  bool read_more();
  void check_length(size_t bytes) const;

  const int fd_;
  const std::string name_;
  const char separator_;
  const uint64_t line_bytes_max_;
  std::string buffer_;
  size_t begin_ = 0;    // of the line to come
  size_t scanned_ = 0;  // no separator between begin_ and here
  bool at_end_ = false;
  uint64_t line_number_ = 0;
  uint64_t bytes_read_ = 0;
};

// Everything that `fd` has, at most `bytes_max`.
std::string read_all(int fd, const std::string& name, uint64_t bytes_max);

}  // namespace wq::cli
