// A clock that moves only when a test says so. Thread model: any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace wq {

class ManualClock final : public Clock {
 public:
  explicit ManualClock(int64_t wall_ms = 1'000'000) : wall_ms_(wall_ms) {}

  int64_t wall_ms() override { return wall_ms_.load(); }
  int64_t mono_ns() override { return mono_ms_.load() * 1'000'000; }

  // Time passes: both clocks move.
  void advance(int64_t ms) {
    wall_ms_ += ms;
    mono_ms_ += ms;
  }
  // Somebody sets the wall clock: the monotonic one does not notice.
  void step_wall(int64_t ms) { wall_ms_ += ms; }
  // The other one. Who reads both clocks while advance() runs may see one of them moved; a test
  // that must know what a thread saw moves them one after the other.
  void advance_mono(int64_t ms) { mono_ms_ += ms; }

 private:
  std::atomic<int64_t> wall_ms_;
  std::atomic<int64_t> mono_ms_{5'000};
};

}  // namespace wq
