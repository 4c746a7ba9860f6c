// Randomness comes in through Prng and nowhere else. Seeded: the same seed gives the same numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace wq {

// SplitMix64 (Steele, Lea, Flood 2014): tiny state, good enough for test schedules and store ids.
class Prng {
 public:
  explicit Prng(uint64_t seed) : state_(seed) {}
  uint64_t next();
  uint64_t below(uint64_t bound);  // uniform in [0, bound); bound > 0

 private:
  uint64_t state_;
};

// 64 bits from the operating system's entropy source.
uint64_t os_entropy();
// Any number of them, good enough for keys.
void os_random_bytes(std::span<std::byte> out);

}  // namespace wq
