// Circuit breaker: after some failures in a row nothing is tried for a while, so that callers do
// not wait for a server that is gone. Then one attempt goes through; its end decides. Thread model:
// whoever owns it locks.
#pragma once

#include <algorithm>
#include <cstdint>

namespace wq::relay {

struct BreakerOptions {
  uint32_t failures = 3;         // in a row, before it opens; 1 or more
  int64_t cool_ms = 1'000;       // how long it stays open the first time; doubles with each further
  int64_t cool_max_ms = 30'000;  // failure of the attempt after it, up to this
};

class Breaker {
 public:
  enum class State : uint8_t { closed, open, half_open };

  explicit Breaker(BreakerOptions options) : options_(options) {}

  // Whether to try now. In half_open the one attempt is given away by the first call.
  bool allows(int64_t now_ms) {
    if (state_ == State::closed) return true;
    if (state_ == State::half_open || now_ms < until_ms_) return false;
    state_ = State::half_open;
    return true;
  }

  void succeeded() {
    state_ = State::closed;
    in_a_row_ = 0;
    cool_ms_ = 0;
  }

  void failed(int64_t now_ms) {
    ++in_a_row_;
    if (state_ == State::closed && in_a_row_ < options_.failures) return;
    if (state_ != State::open) ++opened_;
    cool_ms_ = cool_ms_ == 0 ? options_.cool_ms : std::min(cool_ms_ * 2, options_.cool_max_ms);
    until_ms_ = now_ms + cool_ms_;
    state_ = State::open;
  }

  State state() const { return state_; }
  uint64_t opened() const { return opened_; }
  // When the next attempt may be made; of use while it is open.
  int64_t until_ms() const { return until_ms_; }

 private:
  const BreakerOptions options_;
  State state_ = State::closed;
  uint32_t in_a_row_ = 0;
  int64_t cool_ms_ = 0;
  int64_t until_ms_ = 0;
  uint64_t opened_ = 0;
};

}  // namespace wq::relay
