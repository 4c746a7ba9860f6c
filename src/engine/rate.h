// RateLimit limits by GCRA (generic cell rate algorithm): one number, the theoretical arrival time
// (TAT), says how much of the limit is used up. It is kept in nanoseconds, so that a million jobs
// in a second are counted as exactly as one in a year, and rounded so that there are never more
// jobs than the limit says. The TAT is never ahead of time by more than `burst` intervals, unless
// the clock was set back or the rate was changed; then it is put right by a command of its own
// (rate_rebase) or by the one that changes it, and from that moment on time counts again.
// A job of a rate key may cost more than one token. One that costs more than the burst waits for a
// full bucket and takes it below empty, so that it may be ahead of time by as much as the window.
// Pure functions, safe from any thread.
#pragma once

#include <cstdint>

namespace wq {

// At most `count` jobs begin within any `window_ms`, evenly spread. After an idle time up to
// `burst` of them may begin at once, so that there may be burst - 1 more in the window that
// follows.
struct RateLimit {
  uint32_t count = 0;     // 0 = no limit; then the others are 0 too
  uint32_t burst = 0;     // 1..count
  int64_t window_ms = 0;  // 1..rate_window_ms_max

  bool operator==(const RateLimit&) const = default;
};

constexpr uint32_t rate_count_max = 1'000'000;
constexpr int64_t rate_window_ms_max = 366ll * 24 * 3600 * 1000;

// How many jobs may begin now; UINT64_MAX without a limit.
uint64_t rate_tokens(const RateLimit& rate, int64_t tat_ns, int64_t now_ms);
// Until the next one may, 0 = now.
int64_t rate_wait_ms(const RateLimit& rate, int64_t tat_ns, int64_t now_ms);
// The TAT without what it is too far ahead of time.
int64_t rate_rebased(const RateLimit& rate, int64_t tat_ns, int64_t now_ms);
// The TAT once `jobs` more have begun.
int64_t rate_charged(const RateLimit& rate, int64_t tat_ns, int64_t now_ms, uint64_t jobs);

// The same for one job with a cost, 1..count; a higher one is count.
int64_t cost_wait_ms(const RateLimit& rate, int64_t tat_ns, int64_t now_ms, uint32_t cost);
int64_t cost_rebased(const RateLimit& rate, int64_t tat_ns, int64_t now_ms);
int64_t cost_charged(const RateLimit& rate, int64_t tat_ns, int64_t now_ms, uint32_t cost);

}  // namespace wq
