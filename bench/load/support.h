// What every part of the load program needs: a clock, a way to fail, latency samples, and figures
// of this process from /proc. A failed check ends the program at once with exit code 1: a benchmark
// whose delivery was wrong has no figures. Thread model: free functions from any thread; a
// LatencySampler belongs to one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace wq::bench {

// Prints one line to stderr and leaves without running destructors: other threads may be at work.
[[noreturn]] void fail(const std::string& message);

uint64_t now_ns();      // monotonic
uint64_t cpu_ns();      // user and system time of the process
double load_average();  // of the last minute

constexpr double ns_per_second = 1e9;

// Collects durations. Memory is 4 bytes a sample.
class LatencySampler {
 public:
  void add(uint64_t ns) {
    samples_.push_back(ns < UINT32_MAX ? static_cast<uint32_t>(ns) : UINT32_MAX);
  }
  void merge(const LatencySampler& other);
  void clear() { samples_.clear(); }
  size_t count() const { return samples_.size(); }

  // Microseconds below which `fraction` (0..1) of the samples lie; 0 without samples.
  double percentile_us(double fraction) const;

 private:
  std::vector<uint32_t> samples_;
};

struct ProcessFigures {
  uint64_t resident_bytes = 0;       // VmRSS
  uint64_t resident_peak_bytes = 0;  // VmHWM
  uint64_t syscall_write_bytes = 0;  // wchar: handed to write calls
};
ProcessFigures process_figures();

// Bytes written so far to the device under `directory`, by whomever: the counter of the block
// device, so nothing else may write meanwhile. write_bytes of /proc/self/io is no help: it counts
// whole folios of the page cache, a megabyte for a write of four kilobytes on newer kernels. Only
// where no block device stands behind the directory that one is told.
uint64_t device_write_bytes(const std::string& directory);

double mebibytes(uint64_t bytes);

}  // namespace wq::bench
