#include "engine/flat_writer.h"

#include "base/check.h"
#include "engine/record_internal.h"

namespace wq {
namespace {

using TableOffset = int32_t;    // from a table back to its vtable
using VectorOffset = uint32_t;  // from a field to its vector; also the count of that

constexpr size_t buffer_keep_bytes = 1u << 20;
constexpr size_t buffer_min_bytes = 4096;
constexpr size_t padding_max = sizeof(uint64_t);

}  // namespace

FlatHead::FlatHead(Bytes record) {
  table_ = load_le<uint32_t>(record.data());
  vtable_ = table_ - static_cast<size_t>(load_le<TableOffset>(record.data() + table_));
  const auto table_bytes = load_le<FieldOffset>(record.data() + vtable_ + sizeof(FieldOffset));
  const Bytes head = record.first(table_ + table_bytes);
  bytes_.assign(head.begin(), head.end());
}

void FlatWriter::start(const FlatHead& head, size_t bytes_max) {
  const size_t head_bytes = head.bytes().size();
  const size_t wanted = head_bytes + bytes_max + padding_max;
  if (wanted > capacity_ || capacity_ > buffer_keep_bytes) {
    capacity_ = 0;  // also if there is no memory for the new one
    buffer_.reset();
    const size_t bytes = wanted > buffer_min_bytes ? wanted : buffer_min_bytes;
    buffer_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    capacity_ = bytes;
  }
  head_ = &head;
  size_ = head_bytes;
  std::memcpy(buffer_.get(), head.bytes().data(), head_bytes);
}

std::byte* FlatWriter::place_vector(FieldOffset field, size_t count, size_t element_bytes,
                                    size_t element_align) {
  // The elements are aligned, and so is the count that stands right before them.
  const size_t align = element_align > sizeof(VectorOffset) ? element_align : sizeof(VectorOffset);
  const size_t elements = (size_ + sizeof(VectorOffset) + align - 1) & ~(align - 1);
  const size_t vector = elements - sizeof(VectorOffset);
  const size_t end = elements + count * element_bytes;
  WQ_CHECK(align <= padding_max && end + padding_max <= capacity_);
  // Whole words of zeros cost less than as many bytes as are needed.
  store_le(buffer_.get() + size_, uint64_t{0});
  store_le(buffer_.get() + end, uint64_t{0});
  const size_t place = head_->place(field);
  store_le(buffer_.get() + place, static_cast<VectorOffset>(vector - place));
  store_le(buffer_.get() + vector, static_cast<VectorOffset>(count));
  size_ = (end + record_align_bytes - 1) & ~(record_align_bytes - 1);
  return buffer_.get() + elements;
}

}  // namespace wq
