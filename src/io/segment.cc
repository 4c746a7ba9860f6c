// Names and header block of segments.
#include "io/segment.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

#include "base/check.h"
#include "base/hash.h"
#include "base/planted.h"

namespace wq {
namespace {

constexpr std::string_view magic = "wqLOGSEG";
constexpr std::string_view segment_suffix = ".seg";
constexpr std::string_view spare_prefix = "spare-";
constexpr std::string_view temp_suffix = ".tmp";
constexpr size_t seq_digits = 16;

constexpr size_t at_version = 8;
constexpr size_t at_header_bytes = 12;
constexpr size_t at_uuid = 16;
constexpr size_t at_seq = 32;
constexpr size_t at_first_lsn = 40;
constexpr size_t at_prev_seq = 48;
constexpr size_t at_prev_end = 56;
constexpr size_t at_prev_hash = 64;
constexpr size_t at_segment_bytes = 72;
constexpr size_t at_flags = 80;
constexpr size_t at_hash = segment_header_bytes - 8;
constexpr uint64_t flag_recycled = 1;
constexpr uint64_t header_hash_seed = 0x77712d7365676d74;  // "wq-segmt"

uint64_t block_hash(const std::byte* block) {
  return hash64({block, at_hash}, header_hash_seed);
}

std::optional<uint64_t> parse_number(std::string_view text, int base) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stop != end || text.empty()) return std::nullopt;
  return value;
}

Status corrupt(uint64_t seq, const std::string& what) {
  return Status(Code::corrupt, segment_label(seq) + " at 0: " + what);
}

}  // namespace

std::string segment_file_name(uint64_t seq) {
  char text[seq_digits + segment_suffix.size() + 1];
  std::snprintf(text, sizeof text, "%016llx.seg", static_cast<unsigned long long>(seq));
  return text;
}

std::string segment_label(uint64_t seq) {
  return std::string(log_directory_name) + "/" + segment_file_name(seq);
}

std::optional<uint64_t> parse_segment_name(std::string_view name) {
  if (name.size() != seq_digits + segment_suffix.size()) return std::nullopt;
  const auto seq = parse_number(name.substr(0, seq_digits), 16);
  // One name per number: "00000000000000AB.seg" is not ours.
  if (!seq || *seq == 0 || segment_file_name(*seq) != name) return std::nullopt;
  return seq;
}

std::string spare_file_name(uint64_t number) {
  return std::string(spare_prefix) + std::to_string(number) + std::string(segment_suffix);
}

std::optional<uint64_t> parse_spare_name(std::string_view name) {
  if (!name.starts_with(spare_prefix) || !name.ends_with(segment_suffix)) return std::nullopt;
  if (name.size() < spare_prefix.size() + segment_suffix.size()) return std::nullopt;
  name.remove_prefix(spare_prefix.size());
  name.remove_suffix(segment_suffix.size());
  const auto number = parse_number(name, 10);
  // With the last number of all the next spare would get one that is taken.
  if (number && *number == UINT64_MAX) return std::nullopt;
  return number;
}

bool is_temp_name(std::string_view name) {
  return name.ends_with(temp_suffix);
}

uint64_t segment_header_encode(std::byte* out, const SegmentHeader& header) {
  WQ_CHECK(header.seq > header.prev_seq);
  WQ_CHECK(header.first_lsn > 0);
  WQ_CHECK(header.segment_bytes % io_block_bytes == 0);
  std::memset(out, 0, segment_header_bytes);
  std::memcpy(out, magic.data(), magic.size());
  store_le<uint32_t>(out + at_version, segment_format_version);
  store_le<uint32_t>(out + at_header_bytes, segment_header_bytes);
  std::memcpy(out + at_uuid, header.uuid.data(), header.uuid.size());
  store_le<uint64_t>(out + at_seq, header.seq);
  store_le<uint64_t>(out + at_first_lsn, header.first_lsn);
  store_le<uint64_t>(out + at_prev_seq, header.prev_seq);
  store_le<uint64_t>(out + at_prev_end, header.prev_end);
  store_le<uint64_t>(out + at_prev_hash, header.prev_hash);
  store_le<uint64_t>(out + at_segment_bytes, header.segment_bytes);
  store_le<uint64_t>(out + at_flags, header.recycled ? flag_recycled : 0);
  const uint64_t hash = block_hash(out);
  store_le<uint64_t>(out + at_hash, hash);
  return hash;
}

Status segment_header_decode(Bytes block, const StoreUuid& uuid, uint64_t seq,
                             SegmentHeader* header, uint64_t* hash) {
  if (block.size() < segment_header_bytes) {
    return corrupt(seq, "the file ends inside its header, at " + std::to_string(block.size()));
  }
  const std::byte* const in = block.data();
  if (std::memcmp(in, magic.data(), magic.size()) != 0) {
    const bool zeros = std::all_of(in, in + segment_header_bytes,
                                   [](std::byte value) { return value == std::byte{0}; });
    return corrupt(seq, zeros ? "the header is all zeros" : "no segment header");
  }
  *hash = load_le<uint64_t>(in + at_hash);
  if (*hash != block_hash(in) && !WQ_PLANTED(segment_header_unchecked))
    return corrupt(seq, "the header does not match its checksum");
  const auto version = load_le<uint32_t>(in + at_version);
  if (version != segment_format_version) {
    return Status(Code::version, segment_label(seq) + ": written in log format " +
                                     std::to_string(version) + ", this library knows " +
                                     std::to_string(segment_format_version));
  }
  std::memcpy(header->uuid.data(), in + at_uuid, header->uuid.size());
  header->seq = load_le<uint64_t>(in + at_seq);
  header->first_lsn = load_le<uint64_t>(in + at_first_lsn);
  header->prev_seq = load_le<uint64_t>(in + at_prev_seq);
  header->prev_end = load_le<uint64_t>(in + at_prev_end);
  header->prev_hash = load_le<uint64_t>(in + at_prev_hash);
  header->segment_bytes = load_le<uint64_t>(in + at_segment_bytes);
  header->recycled = (load_le<uint64_t>(in + at_flags) & flag_recycled) != 0;
  if (header->uuid != uuid && !WQ_PLANTED(foreign_segment_taken))
    return corrupt(seq, "the segment belongs to another store");
  if (header->seq != seq && !WQ_PLANTED(renamed_segment_taken)) {
    return corrupt(
        seq, "the file is segment " + segment_file_name(header->seq) + " under another one's name");
  }
  constexpr uint64_t number_max = uint64_t{1} << 62;  // others come behind it
  const bool possible = header->first_lsn > 0 && header->first_lsn < number_max &&
                        header->prev_seq < seq && seq < number_max &&
                        header->segment_bytes <= segment_bytes_max;
  if (!possible) {
    return corrupt(seq, "impossible numbers in a header with a good checksum");
  }
  return Code::ok;
}

}  // namespace wq
