// AppendBuffer: frames on their way to the device, encoded in place, with the places where they go.
//
// A run is a stretch of frames that lie one behind another in one segment; a second run begins only
// where the log goes on in a new segment. SegmentLog has two of these: one takes appends while the
// other one is being written. Not thread-safe; whoever holds it owns it.
#pragma once

#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "base/codec.h"
#include "io/frame.h"
#include "io/io.h"

namespace wq {

struct SegmentPlace {
  uint64_t seq = 0;
  uint64_t seed = 0;           // frame_seed() of seq
  uint64_t segment_bytes = 0;  // length of the segment's file
  uint64_t offset = 0;         // where the next frame goes
};

struct AppendRun {
  SegmentPlace place;  // of the first byte
  size_t begin = 0;    // in the buffer
  size_t end = 0;
  size_t frames_end = 0;  // `end` without the padding
  Lsn first_lsn = 0;
  Lsn last_lsn = 0;  // first_lsn - 1 if there is only a close frame
};

class AppendBuffer {
 public:
  // Adds a frame at `place`. The run before ends if the place is in another segment. Without memory
  // for it (std::bad_alloc) nothing has changed.
  void append(const SegmentPlace& place, FrameType type, Lsn lsn, Bytes body);
  // Adds zeros to the last run, less than a block of them. There is room for that, always.
  void pad(size_t bytes);
  // Forgets the contents, and memory that only a large group needed.
  void clear();

  bool empty() const { return used_ == 0; }
  size_t bytes() const { return used_; }
  const std::vector<AppendRun>& runs() const { return runs_; }
  std::byte* data(const AppendRun& run) { return memory_.get() + run.begin; }

 private:
  // Direct writes want block-aligned memory, so that is what the first run of a buffer has.
  struct BlockAligned {
    void operator()(std::byte* memory) const {
      ::operator delete[](memory, std::align_val_t{io_block_bytes});
    }
  };

  void make_room(size_t bytes);
  std::byte* take(size_t bytes);

  std::unique_ptr<std::byte[], BlockAligned> memory_;
  size_t capacity_ = 0;
  size_t used_ = 0;
  std::vector<AppendRun> runs_;
};

}  // namespace wq
