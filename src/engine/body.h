// Body: the immutable bytes of one job (its encoded Envelope), shared by the resident job, by
// batches in the hands of callers and by a running checkpoint, without copying. Thread rule: the
// count is atomic, so a reference may be dropped on any thread with no lock held.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <utility>

#include "base/codec.h"

namespace wq {

class BodyRef {
 public:
  BodyRef() = default;
  explicit BodyRef(Bytes bytes) {
    void* memory = ::operator new(sizeof(Block) + bytes.size());
    block_ = new (memory) Block{{1}, bytes.size()};
    if (!bytes.empty()) std::memcpy(block_->data(), bytes.data(), bytes.size());
  }
  BodyRef(const BodyRef& other) : block_(other.block_) {
    // relaxed: the new reference is made from one that is alive, so nothing needs ordering
    if (block_) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  BodyRef(BodyRef&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}
  BodyRef& operator=(BodyRef other) noexcept {
    std::swap(block_, other.block_);
    return *this;
  }
  ~BodyRef() {
    if (!block_) return;
    // acq_rel: pairs with the other droppers, so that all their reads happen before the free
    if (block_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      block_->~Block();
      ::operator delete(block_);
    }
  }

  explicit operator bool() const { return block_ != nullptr; }
  Bytes bytes() const { return block_ ? Bytes(block_->data(), block_->size) : Bytes(); }
  size_t size() const { return block_ ? block_->size : 0; }

 private:
  struct Block {
    std::atomic<uint32_t> references;
    size_t size;
    std::byte* data() { return reinterpret_cast<std::byte*>(this + 1); }
  };
  Block* block_ = nullptr;
};

}  // namespace wq
