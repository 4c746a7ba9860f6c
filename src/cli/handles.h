// Owners of the handles of wq.h: each closes its handle when it goes. Closing can not fail, and a
// closed or never opened one is empty. Thread model: an owner belongs to one thread.
#pragma once

#include <wq.h>

#include <string_view>
#include <utility>

namespace wq::cli {

template <typename T, void (*close)(T**)>
class Handle {
 public:
  Handle() = default;
  Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    if (this != &other) {
      reset();
      handle_ = std::exchange(other.handle_, nullptr);
    }
    return *this;
  }
  ~Handle() { reset(); }

  T* get() const { return handle_; }
  // For the out parameter of the opening call; what was held is closed.
  T** out() {
    reset();
    return &handle_;
  }
  void reset() {
    if (handle_ != nullptr) close(&handle_);
  }

 private:
  T* handle_ = nullptr;
};

using Store = Handle<wq_store, wq_store_close>;
using Queue = Handle<wq_queue, wq_queue_close>;
using Batch = Handle<wq_batch, wq_batch_free>;
using KvRows = Handle<wq_kv_page, wq_kv_page_free>;
using NameList = Handle<wq_list, wq_list_free>;
using CompletionQueue = Handle<wq_cq, wq_cq_close>;

inline std::string_view view_of(const wq_bytes& bytes) {
  return {static_cast<const char*>(bytes.data), bytes.len};
}

inline wq_bytes bytes_of(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace wq::cli
