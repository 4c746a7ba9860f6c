#include "io/frame.h"

#include <cstring>

#include "base/check.h"
#include "base/hash.h"
#include "base/planted.h"

namespace wq {
namespace {

constexpr size_t at_body_bytes = 8;
constexpr size_t at_type = 12;
constexpr size_t at_reserved = 14;
constexpr size_t at_lsn = 16;
constexpr size_t at_durable_lsn = 24;
constexpr size_t at_body_hash = 32;

uint64_t header_hash(const std::byte* frame, uint64_t seed) {
  return hash64({frame + at_body_bytes, frame_header_bytes - at_body_bytes}, seed);
}

bool known_type(uint16_t type) {
  return type == static_cast<uint16_t>(FrameType::record) ||
         type == static_cast<uint16_t>(FrameType::close);
}

}  // namespace

uint64_t frame_seed(const StoreUuid& uuid, uint64_t segment_seq) {
  // The constant keeps these seeds apart from other uses of the same uuid.
  constexpr uint64_t frame_domain = 0x77712d6672616d65;  // "wq-frame"
  if (WQ_PLANTED(frames_of_any_segment)) segment_seq = 0;
  return hash64({uuid.data(), uuid.size()}, segment_seq ^ frame_domain);
}

void frame_encode(std::byte* out, uint64_t seed, FrameType type, Lsn lsn, Bytes body) {
  WQ_CHECK(body.size() <= frame_body_bytes_max);
  store_le<uint64_t>(out, 0);
  store_le<uint32_t>(out + at_body_bytes, static_cast<uint32_t>(body.size()));
  store_le<uint16_t>(out + at_type, static_cast<uint16_t>(type));
  store_le<uint16_t>(out + at_reserved, 0);
  store_le<uint64_t>(out + at_lsn, lsn);
  store_le<uint64_t>(out + at_durable_lsn, 0);
  std::byte* const data = out + frame_header_bytes;
  if (!body.empty()) std::memcpy(data, body.data(), body.size());
  const size_t padding = frame_bytes(body.size()) - frame_header_bytes - body.size();
  std::memset(data + body.size(), 0, padding);
  // Hashing the copy, not the source: what is checked is what will be written.
  store_le<uint64_t>(out + at_body_hash, hash64({data, body.size()}, seed));
}

uint64_t frame_seal(std::byte* frame, uint64_t seed, Lsn durable_lsn) {
  if (WQ_PLANTED(frames_know_no_durable_lsn)) durable_lsn = 0;
  store_le<uint64_t>(frame + at_durable_lsn, durable_lsn);
  const uint64_t hash = header_hash(frame, seed);
  store_le<uint64_t>(frame, hash);
  return hash;
}

uint64_t frame_encoded_bytes(const std::byte* frame) {
  return frame_bytes(load_le<uint32_t>(frame + at_body_bytes));
}

const char* frame_verdict_text(FrameVerdict verdict) {
  switch (verdict) {
    case FrameVerdict::valid:
      return "valid frame";
    case FrameVerdict::too_short:
      return "end of file inside a frame header";
    case FrameVerdict::bad_header:
      return "no valid frame header";
    case FrameVerdict::cut_body:
      return "end of file inside a frame body";
    case FrameVerdict::bad_body:
      return "frame body does not match its checksum";
  }
  return "unknown verdict";
}

FrameVerdict frame_decode_header(Bytes bytes, uint64_t seed, FrameHeader* header) {
  if (bytes.size() < frame_header_bytes) return FrameVerdict::too_short;
  const std::byte* const frame = bytes.data();
  // Cheap tests first: scanning for a frame asks this question at every eighth byte.
  const auto body_bytes = load_le<uint32_t>(frame + at_body_bytes);
  const auto type = load_le<uint16_t>(frame + at_type);
  if (body_bytes > frame_body_bytes_max || !known_type(type)) return FrameVerdict::bad_header;
  if (load_le<uint16_t>(frame + at_reserved) != 0) return FrameVerdict::bad_header;
  const auto stored = load_le<uint64_t>(frame);
  const bool sound = stored == header_hash(frame, seed) || WQ_PLANTED(frame_header_unchecked);
  if (!sound) return FrameVerdict::bad_header;
  header->body_bytes = body_bytes;
  header->type = static_cast<FrameType>(type);
  header->lsn = load_le<uint64_t>(frame + at_lsn);
  header->durable_lsn = load_le<uint64_t>(frame + at_durable_lsn);
  header->body_hash = load_le<uint64_t>(frame + at_body_hash);
  header->header_hash = stored;
  return FrameVerdict::valid;
}

FrameVerdict frame_decode(Bytes bytes, uint64_t seed, FrameHeader* header) {
  const FrameVerdict verdict = frame_decode_header(bytes, seed, header);
  if (verdict != FrameVerdict::valid) return verdict;
  if (bytes.size() - frame_header_bytes < header->body_bytes) return FrameVerdict::cut_body;
  const Bytes body = bytes.subspan(frame_header_bytes, header->body_bytes);
  const bool sound = hash64(body, seed) == header->body_hash || WQ_PLANTED(frame_body_unchecked);
  return sound ? FrameVerdict::valid : FrameVerdict::bad_body;
}

}  // namespace wq
