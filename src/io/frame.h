// Frames: how one record lies in a segment. Pure functions over bytes, little-endian.
//
//   offset size
//        0    8  header_hash   XXH3-64 of bytes 8..39, seeded with the segment's seed
//        8    4  body_bytes    at most frame_body_bytes_max
//       12    2  type          FrameType
//       14    2  reserved      0
//       16    8  lsn           one more than the frame before; a close frame: the same as it
//       24    8  durable_lsn   known durable when the frame was written ("synced up to")
//       32    8  body_hash     XXH3-64 of the body, seeded alike
//       40    -  body, then zeros up to the next multiple of 8
//
// The seed comes from the store's uuid and the segment's sequence number, which grows for ever:
// what a recycled file still holds of its former life, frames of another store, and zeros never
// validate. The header is hashed apart from the body so that a bad length can not send the reader
// away, and the header hash covers the body hash, so one value stands for the whole frame.
#pragma once

#include <cstdint>

#include "base/codec.h"
#include "io/log.h"
#include "io/segment_log.h"

namespace wq {

constexpr size_t frame_header_bytes = 40;
constexpr size_t frame_align_bytes = 8;
constexpr uint32_t frame_body_bytes_max = uint32_t{512} << 20;

enum class FrameType : uint16_t {
  record = 1,
  close = 2,  // the last frame of a run that ended in order: no body, no LSN of its own
};

struct FrameHeader {
  uint32_t body_bytes = 0;
  FrameType type = FrameType::record;
  Lsn lsn = 0;
  Lsn durable_lsn = 0;
  uint64_t body_hash = 0;
  uint64_t header_hash = 0;
};

uint64_t frame_seed(const StoreUuid& uuid, uint64_t segment_seq);

// Header, body and alignment.
constexpr uint64_t frame_bytes(uint64_t body_bytes) {
  return (frame_header_bytes + body_bytes + frame_align_bytes - 1) & ~(frame_align_bytes - 1);
}

// Writes everything except the durable LSN and the header hash: frame_seal() adds them when the
// frame goes to the device and the newest durable LSN is known. `out` has frame_bytes(body.size()).
void frame_encode(std::byte* out, uint64_t seed, FrameType type, Lsn lsn, Bytes body);

// Completes the header that frame_encode() left open; returns the header hash.
uint64_t frame_seal(std::byte* frame, uint64_t seed, Lsn durable_lsn);

// Length of a frame that frame_encode() wrote, from its header.
uint64_t frame_encoded_bytes(const std::byte* frame);

enum class FrameVerdict : uint8_t {
  valid,
  too_short,   // fewer bytes than a header
  bad_header,  // hash, type, reserved field or length
  cut_body,    // the header is sound, but the body goes beyond the bytes given
  bad_body,    // the header is sound, the body is not
};
const char* frame_verdict_text(FrameVerdict verdict);

// The header alone: valid, too_short or bad_header.
FrameVerdict frame_decode_header(Bytes bytes, uint64_t seed, FrameHeader* header);
// Header and body. `header` is filled for valid, cut_body and bad_body.
FrameVerdict frame_decode(Bytes bytes, uint64_t seed, FrameHeader* header);

}  // namespace wq
