// What the parts of crash_child share: the lines to the pipe, the store and its queues. Thread
// model: any thread; a Line is written by one write().
#pragma once

#include <unistd.h>
#include <wq.h>

#include <algorithm>
#include <atomic>
#include <climits>
#include <cstdint>
#include <ctime>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "crash/protocol.h"

namespace wq::crash {

inline int64_t now_ms() {
  timespec ts{};
  clock_gettime(CLOCK_REALTIME, &ts);
  return static_cast<int64_t>(ts.tv_sec) * 1'000 + ts.tv_nsec / 1'000'000;
}

inline std::string_view view(const wq_bytes& bytes) {
  return {static_cast<const char*>(bytes.data), bytes.len};
}
inline wq_bytes bytes_of(std::string_view text) {
  return {text.data(), text.size()};
}

// One line, built from words.
class Line {
 public:
  explicit Line(std::string_view head) : text_(head) {}
  template <typename T>
  Line& add(T value) {
    text_ += ' ';
    text_ += std::to_string(value);
    return *this;
  }
  Line& word(std::string_view text) {
    text_ += ' ';
    text_ += text;
    return *this;
  }
  void send() {
    text_.resize(std::min<size_t>(text_.size(), PIPE_BUF - 1));
    text_ += '\n';
    if (write(STDOUT_FILENO, text_.data(), text_.size()) < 0) _exit(3);
  }

 private:
  std::string text_;
};

inline void complain(const char* what, int32_t code, const wq_error& err) {
  Line("!").word(what).word(wq_error_name(code)).word(err.message).send();
}

inline Line intent(uint64_t op, char kind, uint32_t level) {
  return Line("I").add(op).word(std::string(1, kind)).add(level).add(now_ms());
}
inline Line result(uint64_t op, int32_t code, const wq_call& call) {
  return Line("R").add(op).add(code).add(call.lsn).add(now_ms());
}
inline wq_call call_at(uint32_t level) {
  wq_call call = WQ_CALL_INIT;
  call.durability = level;
  return call;
}

struct Token {
  uint32_t queue = 0;
  uint64_t id = 0;
  uint64_t generation = 0;
};

// Tokens of leases that were not settled, or were: for the threads to try on each other.
class Tokens {
 public:
  void add(const Token& token, uint64_t dice) {
    const std::lock_guard lock(mutex_);
    if (tokens_.size() < tokens_max) {
      tokens_.push_back(token);
    } else {
      tokens_[dice % tokens_max] = token;
    }
  }
  bool pick(uint64_t dice, Token* token) {
    const std::lock_guard lock(mutex_);
    if (tokens_.empty()) return false;
    *token = tokens_[dice % tokens_.size()];
    return true;
  }
  std::vector<Token> all() {
    const std::lock_guard lock(mutex_);
    return tokens_;
  }

 private:
  static constexpr size_t tokens_max = 256;
  std::mutex mutex_;
  std::vector<Token> tokens_;
};

// What the threads share.
struct Shared {
  wq_store* store = nullptr;
  wq_queue* queues[queue_count] = {};
  std::atomic<uint64_t> next_op{1};
  std::atomic<uint64_t> next_number{1};
  std::atomic<int64_t> live{0};
  Tokens tokens;
};

inline std::string queue_name(uint32_t index) {
  return "queue-" + std::to_string(index);
}
bool open_queue(Shared& shared, uint32_t index, wq_error* err);

}  // namespace wq::crash
