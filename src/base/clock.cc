#include "base/clock.h"

#include <ctime>

#include "base/never_destroyed.h"

namespace wq {
namespace {

constexpr int64_t ns_per_s = 1'000'000'000;
constexpr int64_t ns_per_ms = 1'000'000;

int64_t read_ns(clockid_t id) {
  timespec ts{};
  clock_gettime(id, &ts);
  return static_cast<int64_t>(ts.tv_sec) * ns_per_s + ts.tv_nsec;
}

class SystemClock final : public Clock {
 public:
  int64_t wall_ms() override { return read_ns(CLOCK_REALTIME) / ns_per_ms; }
  int64_t mono_ns() override { return read_ns(CLOCK_MONOTONIC); }
};

}  // namespace

Clock& system_clock() {
  static NeverDestroyed<SystemClock> clock;
  return clock.get();
}

}  // namespace wq
