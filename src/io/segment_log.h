// SegmentLog: the Log on segments of the local file system (docs/FORMAT.md has every byte).
//
// Invariants, in the order in which they are relied on:
//   - a segment has its final name only after its header is durable, and only after the segment
//   before
//     it is durable to its last frame; so a bad header, a gap, or an early end of any but the
//     newest segment is damage, never the trace of a crash;
//   - opening never writes into a segment that it found: the first append goes to a new one, whose
//     header says where the one before ended, so bytes behind a cut can never come back;
//   - one thread at a time is the flusher; it alone touches files, and it publishes LSNs in order;
//   - one failed write or barrier is the end: everything behind it is POISONED.
// Thread model: append() one caller at a time; everything else from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "io/io.h"
#include "io/log.h"

namespace wq {

using StoreUuid = std::array<std::byte, 16>;

struct LogOptions {
  std::string directory;  // of the store; segments live in directory + "/log", which open() creates
  StoreUuid uuid{};
  uint64_t segment_bytes = uint64_t{32} << 20;  // a multiple of 4096, at least 16 KiB
  uint32_t spare_segments = 2;                  // zero-filled ahead of need by prepare_spares()
  uint32_t recycled_segments_max = 4;           // trimmed ones kept; the others are deleted
  int64_t memory_window_ms = 50;
  uint64_t early_flush_bytes = uint64_t{1} << 20;     // run_flusher does not wait for the window
  uint64_t unflushed_bytes_max = uint64_t{32} << 20;  // wait_for_room() waits above this
  // The LSN up to which the store's checkpoint holds everything; 0 = no checkpoint. A log that ends
  // before it, or that begins after the record behind it, is CORRUPT.
  Lsn expected_applied_lsn = 0;
  // A directory without any segment becomes a fresh log whose first record gets
  // expected_applied_lsn +
  // 1. Without it that is CORRUPT: the log of a store that had one is missing.
  bool create = true;
};

class SegmentLog : public Log {
 public:
  // Verifies the chain and every record above expected_applied_lsn, cuts a torn tail, makes what is
  // left durable. Errors: CORRUPT (file and offset), VERSION, IO, NO_SPACE.
  static Result<std::unique_ptr<SegmentLog>> open(Io& io, Clock& clock, const LogOptions& options);

  virtual const LogRecovery& recovery() const = 0;
};

// What a read-only scan met. Strings and spans live for the call.
struct ScannedFrame {
  const std::string& segment;  // "log/0000000000000003.seg"
  uint64_t offset;
  Lsn lsn;
  Lsn durable_lsn;  // known durable when the frame was written
  uint16_t type;
  Bytes body;
};

// The verdict is in `status`: ok (a torn tail is described in `found`), CORRUPT or VERSION with
// file and offset, IO. A failure of `visit` ends the scan and is returned as it is.
struct LogScan {
  Status status;
  LogRecovery found;
  uint64_t frames = 0;
};

// Reads a log and writes nothing, for `wq log dump` and `wq verify`. The caller keeps others from
// writing meanwhile. `applied_lsn` as in LogOptions::expected_applied_lsn.
LogScan scan_log(Io& io, const std::string& directory, const StoreUuid& uuid, Lsn applied_lsn,
                 const std::function<Status(const ScannedFrame&)>& visit);

}  // namespace wq
