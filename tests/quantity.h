// How much of a test runs: a share of it in CI, all of it with WQ_LONG=1 (make nightly), and less
// of it in a sanitizer build, which is slower by a factor of five to ten and looks for something
// else.
#pragma once

#include <cstdlib>

namespace wq {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized_build = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool sanitized_build = true;
#else
constexpr bool sanitized_build = false;
#endif
#else
constexpr bool sanitized_build = false;
#endif

inline bool long_run() {
  return std::getenv("WQ_LONG") != nullptr;
}

template <typename Number>
Number scaled(Number in_ci, Number in_long_runs) {
  return long_run() ? in_long_runs : in_ci;
}

// The same, for what a sanitizer build need not do as often.
template <typename Number>
Number scaled(Number in_ci, Number in_long_runs, Number sanitized) {
  if (long_run()) return in_long_runs;
  return sanitized_build ? sanitized : in_ci;
}

}  // namespace wq
