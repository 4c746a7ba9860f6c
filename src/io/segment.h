// Segments: file names and the header block of a log file. Pure functions over bytes,
// little-endian.
//
// log/<16 hex digits of seq>.seg holds a header block of 4096 bytes and then frames:
//
//   offset size
//        0    8  magic "wqLOGSEG"
//        8    4  format version
//       12    4  header bytes, 4096
//       16   16  store uuid
//       32    8  seq: grows by one per segment, never reused, seeds the checksums of the frames
//       40    8  first_lsn: of the first record here; there may be none yet
//       48    8  prev_seq, 0 for the first segment of a log
//       56    8  prev_end: where the segment before ends, for ever; what lies behind is dead
//       64    8  prev_hash: header hash of its last frame; without frames, of its header block
//       72    8  segment_bytes: length of this file
//       80    8  flags: bit 0 = recycled, so bytes behind the last frame may be stale
//       88 4000  zeros
//     4088    8  XXH3-64 of bytes 0..4087
//
// log/spare-<n>.seg is ready to become a segment; log/<any>.tmp is unfinished and removed at open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/codec.h"
#include "base/status.h"
#include "io/io.h"
#include "io/segment_log.h"

namespace wq {

constexpr uint32_t segment_format_version = 1;
constexpr size_t segment_header_bytes = io_block_bytes;
constexpr uint64_t segment_bytes_min = 4 * io_block_bytes;
constexpr uint64_t segment_bytes_max = uint64_t{1} << 30;
constexpr std::string_view log_directory_name = "log";

struct SegmentHeader {
  StoreUuid uuid{};
  uint64_t seq = 0;
  Lsn first_lsn = 0;
  uint64_t prev_seq = 0;
  uint64_t prev_end = 0;
  uint64_t prev_hash = 0;
  uint64_t segment_bytes = 0;
  bool recycled = false;
};

std::string segment_file_name(uint64_t seq);                        // "0000000000000003.seg"
std::string segment_label(uint64_t seq);                            // "log/0000000000000003.seg"
std::optional<uint64_t> parse_segment_name(std::string_view name);  // empty: not a segment
std::string spare_file_name(uint64_t number);                       // "spare-7.seg"
std::optional<uint64_t> parse_spare_name(std::string_view name);
bool is_temp_name(std::string_view name);

// `out` has segment_header_bytes. Returns the header's hash.
uint64_t segment_header_encode(std::byte* out, const SegmentHeader& header);

// CORRUPT or VERSION, naming the file and what is wrong with it: damage, another store's file, a
// file under another one's name. `hash` gets the header's hash.
Status segment_header_decode(Bytes block, const StoreUuid& uuid, uint64_t seq,
                             SegmentHeader* header, uint64_t* hash);

}  // namespace wq
