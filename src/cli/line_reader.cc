#include "cli/line_reader.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "cli/failure.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr size_t read_bytes = 256 << 10;

// Appends up to read_bytes to `buffer`; 0 at the end of the file.
size_t read_some(int fd, const std::string& name, std::string& buffer) {
  const size_t size = buffer.size();
  buffer.resize(size + read_bytes);
  ssize_t count = 0;
  do {
    count = ::read(fd, buffer.data() + size, read_bytes);
  } while (count < 0 && errno == EINTR);
  if (count < 0) fail_errno(name, errno);
  buffer.resize(size + static_cast<size_t>(count));
  return static_cast<size_t>(count);
}

}  // namespace

LineReader::LineReader(int fd, std::string name, char separator, uint64_t line_bytes_max)
    : fd_(fd), name_(std::move(name)), separator_(separator), line_bytes_max_(line_bytes_max) {}

LineReader::LineReader(std::string text, char separator, uint64_t line_bytes_max)
    : fd_(-1),
      separator_(separator),
      line_bytes_max_(line_bytes_max),
      buffer_(std::move(text)),
      at_end_(true) {}

LineReader::Next LineReader::take(std::string_view& line, bool may_wait) {
  for (;;) {
    const size_t end = buffer_.find(separator_, scanned_);
    if (end != buffer_.npos) {
      check_length(end - begin_);
      line = std::string_view(buffer_).substr(begin_, end - begin_);
      begin_ = scanned_ = end + 1;
      break;
    }
    scanned_ = buffer_.size();
    check_length(scanned_ - begin_);
    if (!may_wait && !at_end_ && !readable()) return Next::wait;
    if (read_more()) continue;
    if (begin_ == buffer_.size()) return Next::end;
    line = std::string_view(buffer_).substr(begin_);
    begin_ = scanned_ = buffer_.size();
    break;
  }
  ++line_number_;
  return Next::line;
}

bool LineReader::readable() const {
  pollfd ready{fd_, POLLIN, 0};
  return ::poll(&ready, 1, 0) != 0;
}

bool LineReader::would_wait() const {
  return !at_end_ && buffer_.find(separator_, scanned_) == buffer_.npos && !readable();
}

bool LineReader::read_more() {
  if (at_end_) return false;
  buffer_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  const size_t count = read_some(fd_, name_, buffer_);
  bytes_read_ += count;
  at_end_ = count == 0;
  return !at_end_;
}

void LineReader::check_length(size_t bytes) const {
  if (bytes <= line_bytes_max_) return;
  fail_usage("line " + std::to_string(line_number_ + 1) + ": longer than the limit of " +
             format_bytes(line_bytes_max_) + "; --payload-max raises it");
}

std::string read_all(int fd, const std::string& name, uint64_t bytes_max) {
  std::string text;
  while (read_some(fd, name, text) > 0) {
    if (text.size() > bytes_max) {
      fail_usage(name + ": longer than the limit of " + format_bytes(bytes_max) +
                 "; --payload-max raises it");
    }
  }
  return text;
}

}  // namespace wq::cli
