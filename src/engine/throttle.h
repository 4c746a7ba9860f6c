// Throttle on exceptions: a circuit breaker for each rate key of a queue. After `count` exceptions
// of its jobs within any `window_ms` the key cools down: for `cool_ms` no job of it begins. Then
// the count begins anew. A job that succeeds sets the count back, but ends no cool-down: it began
// before that. Exceptions during a cool-down are late news of the same trouble and do not count.
// The window slides and is exact, since the times of the exceptions are kept, fewer than `count` of
// them. All times are of the wall clock; one that was set back is put right as for rates (rate.h).
// Pure functions, no thread model.
#pragma once

#include <cstdint>
#include <vector>

namespace wq {

struct Throttle {
  uint32_t count = 0;     // 1..throttle_count_max; 0 = none; then the others are 0 too
  int64_t window_ms = 0;  // 1..rate_window_ms_max
  int64_t cool_ms = 0;    // the same

  bool operator==(const Throttle&) const = default;
};

constexpr uint32_t throttle_count_max = 100;

struct Breaker {
  int64_t cool_until_ms = 0;
  std::vector<int64_t> failed_ms = {};  // the exceptions that count, oldest first

  bool operator==(const Breaker&) const = default;
  bool is_cooling(int64_t now_ms) const { return cool_until_ms > now_ms; }
  // True: it was the last one allowed, from here on the key cools down.
  bool note_exception(const Throttle& throttle, int64_t now_ms);
  // Without what is ahead of time, of a clock that was set back or a configuration of before.
  Breaker rebased(const Throttle& throttle, int64_t now_ms) const;
  // From then on it says nothing any more.
  int64_t kept_until_ms(const Throttle& throttle) const;
};

}  // namespace wq
