#include "support.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>

namespace wq::bench {

void fail(const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "wq_load: %s\n", message.c_str());
  std::fflush(stderr);
  std::_Exit(1);
}

uint64_t now_ns() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

uint64_t cpu_ns() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto ns = [](const timeval& t) {
    return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 +
           static_cast<uint64_t>(t.tv_usec) * 1'000;
  };
  return ns(usage.ru_utime) + ns(usage.ru_stime);
}

double load_average() {
  double loads[1] = {0};
  return getloadavg(loads, 1) == 1 ? loads[0] : -1;
}

void LatencySampler::merge(const LatencySampler& other) {
  samples_.insert(samples_.end(), other.samples_.begin(), other.samples_.end());
}

double LatencySampler::percentile_us(double fraction) const {
  if (samples_.empty()) return 0;
  std::vector<uint32_t> sorted = samples_;
  const auto last = static_cast<double>(sorted.size() - 1);
  const auto rank = static_cast<std::ptrdiff_t>(fraction * last);
  std::nth_element(sorted.begin(), sorted.begin() + rank, sorted.end());
  return static_cast<double>(sorted[static_cast<size_t>(rank)]) / 1e3;
}

namespace {

// The number behind `label` in a file of "label: number" lines, times `unit`.
uint64_t proc_number(const char* path, const std::string& label, uint64_t unit) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    uint64_t number = 0;
    if (word == label && file >> number) return number * unit;
  }
  fail(std::string(path) + ": no " + label);
}

}  // namespace

ProcessFigures process_figures() {
  ProcessFigures figures;
  figures.resident_bytes = proc_number("/proc/self/status", "VmRSS:", 1024);
  figures.resident_peak_bytes = proc_number("/proc/self/status", "VmHWM:", 1024);
  figures.syscall_write_bytes = proc_number("/proc/self/io", "wchar:", 1);
  return figures;
}

uint64_t device_write_bytes(const std::string& directory) {
  constexpr uint64_t sector_bytes = 512;
  constexpr int fields_before = 6;  // reads, merges, sectors, ms, writes, merges
  struct stat status {};
  if (stat(directory.c_str(), &status) != 0) fail("can not stat " + directory);
  std::ifstream counters("/sys/dev/block/" + std::to_string(major(status.st_dev)) + ":" +
                         std::to_string(minor(status.st_dev)) + "/stat");
  uint64_t field = 0;
  for (int i = 0; i < fields_before; ++i) counters >> field;
  if (counters >> field) return field * sector_bytes;
  return proc_number("/proc/self/io", "write_bytes:", 1);
}

double mebibytes(uint64_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

}  // namespace wq::bench
