// Progress of long work on the status line: bar, count, rate, time left. Draws at most ten times a
// second and only where standard error is a terminal. Thread model: one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "cli/output.h"

namespace wq::cli {

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }
  int64_t ms() const { return static_cast<int64_t>(seconds() * 1000); }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Never divides by nothing: work that took no measurable time has no rate worth telling.
double per_second(uint64_t count, double seconds);

class Progress {
 public:
  // `total` 0: not known. `unit` is "jobs" or "bytes"; bytes are shown as MiB.
  Progress(Output& out, std::string label, uint64_t total, std::string unit = "jobs");
  ~Progress() { out_.clear_status(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(uint64_t done, const std::string& extra = "");
  void set_total(uint64_t total) { total_ = total; }

 private:
  std::string text(uint64_t done, double seconds, const std::string& extra) const;

  Output& out_;
  const std::string label_, unit_;
  uint64_t total_;
  Stopwatch watch_;
  double drawn_at_seconds_ = 0;
};

}  // namespace wq::cli
