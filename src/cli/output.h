// Where a command writes. Results go to standard output: lines for people, or one JSON object per
// line with --json. Everything else (notes, warnings, progress) goes to standard error, so that a
// pipe sees results only. Colours are used on a terminal only, and not with NO_COLOR. The status
// line (progress) is drawn on a terminal only and wiped before anything else is written there.
// Thread model: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cli/record.h"

namespace wq::cli {

enum class Color { plain, bold, dim, red, green, yellow };

struct OutputOptions {
  bool json = false;
  bool quiet = false;
  std::string color = "auto";  // auto, always, never
};

class Output {
 public:
  explicit Output(const OutputOptions& options);

  bool json() const { return options_.json; }
  void line(std::string_view text);
  void record(const Record& record);
  void raw(std::string_view bytes);
  // Throws a Failure if standard output does not take it (closed pipe, full disk).
  void flush();
  // Bytes given so far, and how many of them standard output has taken.
  uint64_t given_bytes() const { return given_bytes_; }
  uint64_t taken_bytes() const { return taken_bytes_; }
  // Why a write to standard output would fail, as an errno, as far as it can be seen without one: 0
  // if nothing is known. `after_failure`: something did go wrong, so that a full disk counts too.
  static int standard_output_problem(bool after_failure);

  // One line each, whatever names and paths are in it.
  void note(std::string_view text);          // for people, behind the results so far; not with
                                             // --quiet or --json
  void warning(std::string_view text);       // always
  void error_bytes(std::string_view bytes);  // standard error of a command that runs for us

  void status(std::string_view text);
  void clear_status();
  // Where a terminal can: what comes next begins at its top.
  void clear_screen();
  bool has_status_line() const { return status_enabled_; }

  std::string paint(Color color, std::string_view text) const;

 private:
  OutputOptions options_;
  bool colors_ = false;
  bool status_enabled_ = false;
  bool status_drawn_ = false;
  std::string buffer_;
  uint64_t given_bytes_ = 0, taken_bytes_ = 0;
};

// Rows of cells, printed with columns aligned. The first row is the heading. On a terminal that is
// too narrow each row becomes a block of lines.
class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string heading;
    Align align = Align::left;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  // A colour for one cell of the row added last.
  void paint_last(size_t column, Color color);
  bool empty() const { return rows_.empty(); }
  void print(Output& out) const;

 private:
  struct Paint {
    size_t row, column;
    Color color;
  };
  std::vector<size_t> widths() const;
  Color color_of(size_t row, size_t column) const;
  void print_blocks(Output& out) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<Paint> paints_;
};

// "name   value" lines with the values aligned: the picture of one thing.
class Card {
 public:
  void add(std::string name, std::string value) {
    lines_.emplace_back(std::move(name), std::move(value));
  }
  void print(Output& out) const;

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
};

}  // namespace wq::cli
