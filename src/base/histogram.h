// Histogram: how often values of each size came. Log-linear: each power of two is cut in half, so a
// value is known within a third of itself; a count is one increment. Bounds are inclusive, so that
// "at most 2^k" is exact. Thread model: plain data, guarded by its owner.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace wq {

class Histogram {
 public:
  static constexpr unsigned exponent_max = 30;  // what is above 2^30 is in the last bucket

  void add(uint64_t value) {
    ++buckets_[bucket_of(value)];
    ++count_;
    sum_ += value;
  }

  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }
  // How many values were at most 2^exponent; exponent < exponent_max.
  uint64_t count_up_to(unsigned exponent) const {
    uint64_t total = 0;
    for (size_t i = 0; i <= 2 * exponent; ++i) total += buckets_[i];
    return total;
  }

 private:
  static constexpr size_t bucket_count = 2 * exponent_max + 1;

  // Bucket 0 is 0 and 1; from then on 2e - 1 and 2e are the halves of ]2^(e-1), 2^e].
  static size_t bucket_of(uint64_t value) {
    if (value <= 1) return 0;
    const uint64_t below = value - 1;
    const auto exponent = static_cast<unsigned>(std::bit_width(below));
    const size_t upper_half = exponent < 2 ? 1 : (below >> (exponent - 2)) & 1;
    return std::min<size_t>(2 * exponent - 1 + upper_half, bucket_count - 1);
  }

  uint64_t buckets_[bucket_count] = {};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
};

}  // namespace wq
