#include "cli/progress.h"

#include <algorithm>
#include <utility>

#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr double seconds_between_draws = 0.1;
constexpr size_t bar_columns = 24;
constexpr double rate_cap_per_second = 1e12;

}  // namespace

double per_second(uint64_t count, double seconds) {
  if (seconds <= 0) return 0;
  return std::min(static_cast<double>(count) / seconds, rate_cap_per_second);
}

Progress::Progress(Output& out, std::string label, uint64_t total, std::string unit)
    : out_(out), label_(std::move(label)), unit_(std::move(unit)), total_(total) {}

void Progress::update(uint64_t done, const std::string& extra) {
  if (!out_.has_status_line()) return;
  const double now = watch_.seconds();
  if (now - drawn_at_seconds_ < seconds_between_draws) return;
  drawn_at_seconds_ = now;
  out_.status(text(done, now, extra));
}

std::string Progress::text(uint64_t done, double seconds, const std::string& extra) const {
  const bool in_bytes = unit_ == "bytes";
  const double rate = per_second(done, seconds);
  std::string line = label_ + " ";
  if (total_ > 0) {
    const double part = std::min(1.0, static_cast<double>(done) / static_cast<double>(total_));
    const auto filled = static_cast<size_t>(part * static_cast<double>(bar_columns));
    line += "[" + std::string(filled, '#') + std::string(bar_columns - filled, '-') + "] " +
            std::to_string(static_cast<int>(part * 100)) + "%  ";
  }
  line += in_bytes ? format_bytes(done) : format_count(done) + " " + unit_;
  line += "  " + (in_bytes ? format_bytes(static_cast<uint64_t>(rate)) + "/s" : format_rate(rate));
  if (total_ > done && rate > 0) {
    const double left_ms = static_cast<double>(total_ - done) / rate * 1000;
    line += "  " + format_duration(static_cast<int64_t>(left_ms)) + " left";
  }
  if (!extra.empty()) line += "  " + extra;
  return line;
}

}  // namespace wq::cli
