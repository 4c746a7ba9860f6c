// What the parts of the oracle know of the kinds of calls (protocol.h).
#pragma once

#include <cstdint>
#include <limits>

namespace wq::crash {

constexpr int64_t for_ever = std::numeric_limits<int64_t>::max();
// Deadlines run on the monotonic clock and are told by the wall clock, both in whole milliseconds.
constexpr int64_t slack_ms = 2;

inline bool removes(char kind) {
  return kind == 'A' || kind == 'X' || kind == 'Z';
}
inline bool needs_lease(char kind) {
  return kind == 'A' || kind == 'N' || kind == 'F' || kind == 'B' || kind == 'K' || kind == 'W';
}
inline bool sweeps(char kind) {
  return kind == 'Q' || kind == 'D' || kind == 'U';
}
inline bool of_ledger(char kind) {
  return kind >= 'a' && kind <= 'z';
}

}  // namespace wq::crash
