// Growth and bookkeeping of the append buffer.
#include "io/append_buffer.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace wq {
namespace {

constexpr size_t capacity_min = size_t{256} << 10;
constexpr size_t capacity_kept_max = size_t{4} << 20;

}  // namespace

void AppendBuffer::make_room(size_t bytes) {
  if (capacity_ - used_ >= bytes) return;
  const size_t capacity = std::max({capacity_min, capacity_ * 2, used_ + bytes});
  std::unique_ptr<std::byte[], BlockAligned> memory(
      static_cast<std::byte*>(::operator new[](capacity, std::align_val_t{io_block_bytes})));
  if (used_ > 0) std::memcpy(memory.get(), memory_.get(), used_);
  memory_ = std::move(memory);
  capacity_ = capacity;
}

std::byte* AppendBuffer::take(size_t bytes) {
  WQ_CHECK(capacity_ - used_ >= bytes);
  std::byte* const out = memory_.get() + used_;
  used_ += bytes;
  return out;
}

void AppendBuffer::append(const SegmentPlace& place, FrameType type, Lsn lsn, Bytes body) {
  const auto bytes = static_cast<size_t>(frame_bytes(body.size()));
  // Before anything changes, and for the padding as well: a flush must not run out of memory.
  make_room(bytes + io_block_bytes);
  if (runs_.empty() || runs_.back().place.seq != place.seq) {
    runs_.reserve(std::max<size_t>(2, runs_.size() + 1));
    const Lsn first_lsn = type == FrameType::record ? lsn : lsn + 1;
    runs_.push_back({place, used_, used_, used_, first_lsn, first_lsn - 1});
  }
  std::byte* const out = take(bytes);
  frame_encode(out, place.seed, type, lsn, body);
  AppendRun& run = runs_.back();
  WQ_CHECK(run.place.offset + (run.end - run.begin) == place.offset);
  run.end = run.frames_end = used_;
  run.last_lsn = lsn;
}

void AppendBuffer::pad(size_t bytes) {
  WQ_CHECK(!runs_.empty());
  std::memset(take(bytes), 0, bytes);
  runs_.back().end = used_;
}

void AppendBuffer::clear() {
  used_ = 0;
  runs_.clear();
  if (capacity_ > capacity_kept_max) {
    memory_.reset();
    capacity_ = 0;
  }
}

}  // namespace wq
