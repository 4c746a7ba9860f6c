// The yardstick of serial durability: one 4 KiB write after the other, each on the device before
// the next, into a file that was filled with zeros before (no metadata to journal). Nothing that
// promises power-loss durability per call can be faster with one caller.
#pragma once

#include <string>

#include "support.h"

namespace wq::bench {

struct RawSettings {
  std::string directory;
  bool direct = true;  // O_DIRECT, or through the page cache
  double seconds = 1;
  double warmup_seconds = 0.2;
};

struct RawFigures {
  uint64_t writes = 0;
  double seconds = 0;
  LatencySampler times;
};

RawFigures run_raw_writes(const RawSettings& settings);

}  // namespace wq::bench
