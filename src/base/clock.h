// Time comes in through Clock and nowhere else.
#pragma once

#include <cstdint>

namespace wq {

class Clock {
 public:
  virtual ~Clock() = default;
  // Unix time in ms. May step in either direction.
  virtual int64_t wall_ms() = 0;
  // Nanoseconds that only grow, from an arbitrary origin.
  virtual int64_t mono_ns() = 0;
};

// The operating system's clocks. Lives for the whole process.
Clock& system_clock();

}  // namespace wq
