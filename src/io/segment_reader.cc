// The moving window over a segment file.
#include "io/segment_reader.h"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <utility>

#include "base/check.h"
#include "base/planted.h"
#include "io/io_transfer.h"

namespace wq {
namespace {

// Small first: a segment is often asked for its header only, or closed in order after a few frames.
constexpr size_t read_ahead_bytes_min = size_t{64} << 10;
constexpr size_t read_ahead_bytes_max = size_t{2} << 20;

constexpr uint64_t align_up(uint64_t value) {
  return (value + io_block_bytes - 1) / io_block_bytes * io_block_bytes;
}

}  // namespace

void SegmentReader::Free::operator()(std::byte* memory) const {
  std::free(memory);
}

Result<std::unique_ptr<SegmentReader>> SegmentReader::open(Io& io, IoQueue& queue,
                                                           const std::string& path,
                                                           uint64_t bytes_max) {
  auto opened =
      io.open(path, WQ_PLANTED(recovery_reads_page_cache) ? OpenMode::read : OpenMode::read_direct);
  if (!opened.ok() && opened.status().code() == Code::unsupported) {
    opened = io.open(path, OpenMode::read);
  }
  if (!opened.ok()) return opened.take_status();
  WQ_TRY_SET(const uint64_t bytes, (*opened)->size());
  return std::unique_ptr<SegmentReader>(
      new SegmentReader(queue, std::move(opened).value(), std::min(bytes, bytes_max)));
}

Result<Bytes> SegmentReader::view(uint64_t offset, uint64_t bytes) {
  if (offset >= file_bytes_) return Bytes{};
  bytes = std::min(bytes, file_bytes_ - offset);
  const bool inside = offset >= window_offset_ && offset + bytes <= window_offset_ + window_bytes_;
  if (!inside) WQ_TRY(load(offset, bytes));
  return Bytes{window_.get() + (offset - window_offset_), static_cast<size_t>(bytes)};
}

Status SegmentReader::load(uint64_t offset, uint64_t bytes) {
  read_ahead_bytes_ = std::clamp(read_ahead_bytes_ * 2, read_ahead_bytes_min, read_ahead_bytes_max);
  const uint64_t begin = offset - offset % io_block_bytes;
  const uint64_t end = std::min(align_up(file_bytes_),
                                align_up(std::max(offset + bytes, begin + read_ahead_bytes_)));
  const auto need = static_cast<size_t>(end - begin);
  window_bytes_ = 0;
  if (need > window_capacity_) {
    auto* const memory = static_cast<std::byte*>(std::aligned_alloc(io_block_bytes, need));
    if (memory == nullptr) throw std::bad_alloc();
    window_.reset(memory);
    window_capacity_ = need;
  }
  WQ_TRY_SET(const size_t got, read_fully(queue_, *file_, {window_.get(), need}, begin));
  // A file that shrinks while it is read is in somebody else's hands.
  if (begin + got < std::min(file_bytes_, end)) {
    return Status(Code::io, file_->path() + ": read: the file became shorter", 0, begin + got);
  }
  window_offset_ = begin;
  window_bytes_ = got;
  return Code::ok;
}

}  // namespace wq
