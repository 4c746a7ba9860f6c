#include "cli/key_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>

#include "cli/failure.h"

namespace wq::cli {
namespace {

constexpr size_t key_bytes = 32;
constexpr size_t file_bytes_max = 64 << 10;

int digit_of(char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const char lower = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  const size_t at = digits.find(lower);
  return at == digits.npos ? -1 : static_cast<int>(at);
}

// Room is made first: a text that grows leaves its bytes behind.
std::string read_small_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail_errno(path, errno);
  std::string text(file_bytes_max, '\0');
  size_t used = 0;
  for (;;) {
    const ssize_t count = ::read(fd, text.data() + used, text.size() - used);
    if (count < 0 && errno == EINTR) continue;
    const int os_errno = errno;
    if (count <= 0) ::close(fd);
    if (count < 0) fail_errno(path, os_errno);
    if (count == 0) break;
    used += static_cast<size_t>(count);
  }
  text.resize(used);
  if (used == file_bytes_max) fail_usage("--key-file: " + path + " is no file of keys");
  return text;
}

}  // namespace

KeyFile::KeyFile(const std::string& path) {
  if (path.empty()) return;
  std::string text = read_small_file(path);
  bytes_.reserve(text.size());  // more than all keys take: they stay where they are
  std::string_view rest = text;
  try {
    for (size_t number = 1; !rest.empty(); ++number) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      read_line(path + ":" + std::to_string(number) + ": ", rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  } catch (...) {
    ::explicit_bzero(text.data(), text.size());
    ::explicit_bzero(bytes_.data(), bytes_.size());
    throw;
  }
  ::explicit_bzero(text.data(), text.size());
  if (keys_.empty()) fail_usage("--key-file: " + path + " has no key in it");
}

KeyFile::~KeyFile() {
  ::explicit_bzero(bytes_.data(), bytes_.size());
}

void KeyFile::read_line(const std::string& where, std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.find_first_not_of(" \t") == line.npos || line.starts_with('#')) return;
  const size_t blank = line.find(' ');
  uint32_t id = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), id);
  const bool numbered =
      error == std::errc() && id != 0 && blank != line.npos && end == line.data() + blank;
  const std::string_view hex = numbered ? line.substr(blank + 1) : std::string_view();
  const bool is_hex = std::all_of(hex.begin(), hex.end(), [](char c) { return digit_of(c) >= 0; });
  if (!numbered || !is_hex || hex.size() != 2 * key_bytes) {
    fail_usage("--key-file: " + where + "must be a number from 1 on, a blank, and 64 hex digits");
  }
  for (const wq_key& key : keys_) {
    if (key.id == id) {
      fail_usage("--key-file: " + where + "key " + std::to_string(id) + " is there twice");
    }
  }
  const char* const begin = bytes_.data() + bytes_.size();
  for (size_t i = 0; i < hex.size(); i += 2) {
    bytes_.push_back(static_cast<char>(digit_of(hex[i]) * 16 + digit_of(hex[i + 1])));
  }
  keys_.push_back({id, 0, {begin, key_bytes}});
}

void KeyFile::give(wq_store_options& options) const {
  if (keys_.empty()) return;
  options.keys = keys_.data();
  options.keys_count = keys_.size();
  options.current_key = keys_.back().id;
}

}  // namespace wq::cli
