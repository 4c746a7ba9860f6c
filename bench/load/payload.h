// The jobs of a run and the proof of their delivery. Each payload carries an id and a body that
// belongs to this id; the Ledger issues ids and sees to it that each comes back exactly once with
// the right bytes. Thread model: Ledger from any thread; a PayloadBatch belongs to one thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace wq::bench {

constexpr size_t payload_bytes = 256;

// Reusable room for the payloads of one call.
class PayloadBatch {
 public:
  explicit PayloadBatch(size_t jobs_max);
  // Payloads of the ids first, first + 1, ...; valid until the next call.
  std::span<const std::string_view> make(uint64_t first_id, size_t jobs);

 private:
  std::vector<char> bytes_;
  std::vector<std::string_view> views_;
};

class Ledger {
 public:
  explicit Ledger(uint64_t ids_max);

  // The first of `n` fresh ids.
  uint64_t issue(uint64_t n);

  // Checks the content, and that this id is out and was not seen before. Fails the run if not.
  void deliver(std::string_view payload);

  uint64_t issued() const { return next_.load(std::memory_order_relaxed); }
  uint64_t delivered() const { return delivered_.load(std::memory_order_relaxed); }

  // Fails the run unless everything issued was delivered.
  void finish(const char* where) const;

 private:
  const uint64_t ids_max_;
  std::atomic<uint64_t> next_{0};
  std::atomic<uint64_t> delivered_{0};
  std::vector<std::atomic<uint64_t>> seen_;  // one bit an id
};

}  // namespace wq::bench
