// Whole transfers over an IoQueue: the one place that knows what short, interrupted and refused
// operations mean. A large transfer is split into pieces that are in flight together.
//
// Write and barrier are never linked: the barrier is submitted after every write's own result was
// checked, because a short write breaks a chain silently. A barrier is never asked for twice: after
// a failed one the kernel holds the pages as clean, and a second answer would be a lie.
#pragma once

#include <cstdint>

#include "base/codec.h"
#include "base/status.h"
#include "io/io.h"

namespace wq {

enum class WriteMode : uint8_t {
  kernel,      // the kernel has the bytes
  dsync,       // these bytes are durable; nothing is said of earlier writes
  sync_after,  // these bytes and all earlier writes to the file are durable
};

constexpr size_t transfer_piece_bytes = size_t{512} << 10;
constexpr size_t transfer_pieces_in_flight = 8;

// Ok only when every byte was written and, if the mode asks for it, the barrier behind them held.
// `data` may be empty: then only the barrier of sync_after is done.
Status write_fully(IoQueue& queue, File& file, Bytes data, uint64_t offset, WriteMode mode);

// Reads until `out` is full or the file ends. `out` and `offset` are block-aligned for a file that
// was opened for direct reads.
Result<size_t> read_fully(IoQueue& queue, File& file, std::span<std::byte> out, uint64_t offset);

// Plain writes of zeros over [offset, offset + bytes).
Status write_zeros(IoQueue& queue, File& file, uint64_t offset, uint64_t bytes);

}  // namespace wq
