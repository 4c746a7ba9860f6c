// SegmentReader: a window over a segment file that moves forward as bytes are asked for. Reads
// bypass the page cache where the file system allows it: after a failed write the cache may show
// bytes that the device never got, and a recovery must not believe them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/codec.h"
#include "base/result.h"
#include "io/io.h"

namespace wq {

class SegmentReader {
 public:
  // `bytes_max`: the file is taken for no longer than this. Nothing was ever written behind the
  // length in its header, but it may be a hole of many TiB.
  static Result<std::unique_ptr<SegmentReader>> open(Io& io, IoQueue& queue,
                                                     const std::string& path, uint64_t bytes_max);

  uint64_t file_bytes() const { return file_bytes_; }
  // [offset, offset + bytes) or what the file has of it. Valid until the next call.
  Result<Bytes> view(uint64_t offset, uint64_t bytes);

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };

  SegmentReader(IoQueue& queue, std::unique_ptr<File> file, uint64_t file_bytes)
      : queue_(queue), file_(std::move(file)), file_bytes_(file_bytes) {}
  Status load(uint64_t offset, uint64_t bytes);

  IoQueue& queue_;
  const std::unique_ptr<File> file_;
  const uint64_t file_bytes_;
  std::unique_ptr<std::byte, Free> window_;  // block-aligned
  size_t window_capacity_ = 0;
  uint64_t window_offset_ = 0;
  size_t window_bytes_ = 0;
  size_t read_ahead_bytes_ = 0;
};

}  // namespace wq
