// Takes a fuzzer's bytes apart. What is not there any more reads as zeros. Thread model: one
// thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace wq {

class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  bool empty() const { return left_ == 0; }
  template <typename T>
  T take() {
    T out{};
    const size_t bytes = std::min(left_, sizeof out);
    std::memcpy(&out, data_, bytes);
    skip(bytes);
    return out;
  }
  uint8_t byte() { return take<uint8_t>(); }
  // 0 .. bound - 1
  uint32_t below(uint32_t bound) { return take<uint16_t>() % bound; }
  std::string bytes(size_t count) {
    const size_t taken = std::min(left_, count);
    std::string out(reinterpret_cast<const char*>(data_), taken);
    skip(taken);
    return out;
  }
  std::string rest() { return bytes(left_); }

 private:
  void skip(size_t bytes) {
    data_ += bytes;
    left_ -= bytes;
  }
  const uint8_t* data_;
  size_t left_;
};

}  // namespace wq
