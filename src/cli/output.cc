#include "cli/output.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <numeric>

#include "cli/failure.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr size_t buffer_bytes_max = 64 << 10;

bool want_colors(const std::string& mode) {
  if (mode == "always") return true;
  if (mode == "never") return false;
  const char* const no_color = std::getenv("NO_COLOR");
  if (no_color != nullptr && no_color[0] != '\0') return false;
  const char* const terminal = std::getenv("TERM");
  if (terminal != nullptr && std::string_view(terminal) == "dumb") return false;
  return ::isatty(STDOUT_FILENO) == 1;
}

// 0 if standard output is no terminal, or one that does not tell.
size_t terminal_columns() {
  winsize size{};
  if (::isatty(STDOUT_FILENO) != 1 || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) return 0;
  return size.ws_col;
}

bool can_redraw() {
  const char* const terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

// Returns 0 or the errno that stopped it, and leaves in `bytes` what was not written.
int write_all(int fd, std::string_view& bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) return errno;
    if (count > 0) bytes.remove_prefix(static_cast<size_t>(count));
  }
  return 0;
}

// For standard error.
void write_or_drop(std::string_view bytes) {
  (void)write_all(STDERR_FILENO, bytes);
}

// /dev/full, or a file on a disk without a free block. What the superuser alone may still use is no
// hint for others. A file system that counts no blocks at all says nothing.
bool is_full(int fd) {
  constexpr unsigned memory_devices = 1, full_device = 7;
  struct stat info {};
  if (::fstat(fd, &info) != 0) return false;
  if (S_ISCHR(info.st_mode)) return info.st_rdev == makedev(memory_devices, full_device);
  struct statvfs disk {};
  if (!S_ISREG(info.st_mode) || ::fstatvfs(fd, &disk) != 0 || disk.f_blocks == 0) return false;
  return (::geteuid() == 0 ? disk.f_bfree : disk.f_bavail) == 0;
}

const char* code_of(Color color) {
  switch (color) {
    case Color::bold:
      return "\033[1m";
    case Color::dim:
      return "\033[2m";
    case Color::red:
      return "\033[31m";
    case Color::green:
      return "\033[32m";
    case Color::yellow:
      return "\033[33m";
    case Color::plain:
      break;
  }
  return "";
}

}  // namespace

Output::Output(const OutputOptions& options)
    : options_(options),
      colors_(want_colors(options.color)),
      status_enabled_(!options.quiet && ::isatty(STDERR_FILENO) == 1) {}

void Output::line(std::string_view text) {
  raw(text);
  raw("\n");
}

void Output::record(const Record& record) {
  line(to_json(record));
}

void Output::raw(std::string_view bytes) {
  buffer_ += bytes;
  given_bytes_ += bytes.size();
  if (buffer_.size() >= buffer_bytes_max) flush();
}

void Output::flush() {
  if (buffer_.empty()) return;
  clear_status();
  std::string_view rest = buffer_;
  const int failed = write_all(STDOUT_FILENO, rest);
  taken_bytes_ += buffer_.size() - rest.size();
  buffer_.clear();
  if (failed != 0) fail_errno("standard output", failed);
}

int Output::standard_output_problem(bool after_failure) {
  const int flags = ::fcntl(STDOUT_FILENO, F_GETFL);
  if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY) return EBADF;
  pollfd look{STDOUT_FILENO, 0, 0};
  if (::poll(&look, 1, 0) > 0 && (look.revents & (POLLERR | POLLHUP)) != 0) return EPIPE;
  return after_failure && is_full(STDOUT_FILENO) ? ENOSPC : 0;
}

// Standard error is the last resort: if it does not take a text there is nobody left to tell.
void Output::note(std::string_view text) {
  if (options_.quiet || options_.json) return;
  flush();  // on a terminal both are read in the order in which they were told
  error_bytes(one_line(text) + "\n");
}

void Output::warning(std::string_view text) {
  error_bytes("wq: warning: " + one_line(text) + "\n");
}

void Output::error_bytes(std::string_view bytes) {
  clear_status();
  write_or_drop(bytes);
}

void Output::clear_screen() {
  if (!options_.json && can_redraw()) raw("\033[H\033[J");
}

void Output::status(std::string_view text) {
  if (!status_enabled_) return;
  write_or_drop("\r\033[K" + std::string(text));
  status_drawn_ = true;
}

void Output::clear_status() {
  if (!status_drawn_) return;
  write_or_drop("\r\033[K");
  status_drawn_ = false;
}

std::string Output::paint(Color color, std::string_view text) const {
  if (!colors_ || color == Color::plain) return std::string(text);
  return code_of(color) + std::string(text) + "\033[0m";
}

void Table::paint_last(size_t column, Color color) {
  paints_.push_back({rows_.size() - 1, column, color});
}

std::vector<size_t> Table::widths() const {
  std::vector<size_t> widths;
  for (const Column& column : columns_) widths.push_back(columns_of(column.heading));
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], columns_of(row[i]));
  }
  return widths;
}

Color Table::color_of(size_t row, size_t column) const {
  const auto paint = std::find_if(paints_.begin(), paints_.end(), [&](const Paint& p) {
    return p.row == row && p.column == column;
  });
  return paint == paints_.end() ? Color::plain : paint->color;
}

void Table::print(Output& out) const {
  const std::vector<size_t> wide = widths();
  const size_t total = std::accumulate(wide.begin(), wide.end(), 2 * (wide.size() - 1));
  const size_t room = terminal_columns();
  if (room != 0 && total > room) return print_blocks(out);
  const auto print_row = [&](const std::vector<std::string>& cells, const auto& color_of_column) {
    std::string text;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string pad(wide[i] - columns_of(cells[i]), ' ');
      const std::string cell = out.paint(color_of_column(i), cells[i]);
      if (i > 0) text += "  ";
      if (columns_[i].align == Align::right) {
        text += pad + cell;
      } else {
        text += i + 1 < cells.size() ? cell + pad : cell;
      }
    }
    out.line(text);
  };
  std::vector<std::string> headings;
  for (const Column& column : columns_) headings.push_back(column.heading);
  print_row(headings, [](size_t) { return Color::bold; });
  for (size_t r = 0; r < rows_.size(); ++r) {
    print_row(rows_[r], [&](size_t column) { return color_of(r, column); });
  }
}

void Table::print_blocks(Output& out) const {
  for (size_t r = 0; r < rows_.size(); ++r) {
    out.line(columns_[0].heading + " " + out.paint(Color::bold, rows_[r][0]));
    Card card;
    for (size_t i = 1; i < columns_.size(); ++i) {
      card.add("  " + columns_[i].heading, out.paint(color_of(r, i), rows_[r][i]));
    }
    card.print(out);
  }
}

void Card::print(Output& out) const {
  size_t width = 0;
  for (const auto& [name, value] : lines_) width = std::max(width, columns_of(name));
  for (const auto& [name, value] : lines_) {
    const std::string pad(width - columns_of(name), ' ');
    out.line(out.paint(Color::dim, name) + pad + "  " + value);
  }
}

}  // namespace wq::cli
