// FlatWriter: records of a fixed shape, written straight into their place. A FlatBufferBuilder
// finds out for each record anew where its fields go and writes from its end to its start, which
// costs more than the rest of a small change. Here the head (root, vtable, table) is taken once
// from a builder, then copied and filled in; the vectors follow it.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/codec.h"

namespace wq {

// As FlatBuffers names and places them: offsets of fields in a vtable.
using FieldOffset = uint16_t;

// The start of a record, up to the end of its root table. All of its fields are there, whatever
// their values.
class FlatHead {
 public:
  // Of a whole record, whose builder wrote defaults as well.
  explicit FlatHead(Bytes record);

  Bytes bytes() const { return bytes_; }
  // Where the field stands in the record. It must be one that the table has.
  size_t place(FieldOffset field) const {
    return table_ + load_le<FieldOffset>(bytes_.data() + vtable_ + field);
  }

 private:
  std::vector<std::byte> bytes_;
  size_t table_ = 0;
  size_t vtable_ = 0;
};

// One record at a time, in memory that is kept for the next one unless it was large.
class FlatWriter {
 public:
  // The record and all its vectors, padding included, take `bytes_max` at most behind the head.
  void start(const FlatHead& head, size_t bytes_max);

  template <typename T>
  void set(FieldOffset field, T value) {
    store_le(buffer_.get() + head_->place(field), value);
  }

  // The elements are the caller's to fill in, all of them. Good until the next start().
  template <typename T>
  T* vector(FieldOffset field, size_t count) {
    return reinterpret_cast<T*>(place_vector(field, count, sizeof(T), alignof(T)));
  }

  // Its length is a multiple of 4. Good until the next start().
  Bytes bytes() const { return {buffer_.get(), size_}; }

 private:
  std::byte* place_vector(FieldOffset field, size_t count, size_t element_bytes,
                          size_t element_align);

  const FlatHead* head_ = nullptr;
  std::unique_ptr<std::byte[]> buffer_;
  size_t capacity_ = 0;
  size_t size_ = 0;
};

}  // namespace wq
