#include "engine/rocks_format.h"

#include <array>
#include <charconv>
#include <optional>

#include "base/hash.h"
#include "base/planted.h"

namespace wq {
namespace {

Status corrupt(std::string_view what) {
  return Status(Code::corrupt, std::string(what));
}

// ---- tables

constexpr size_t footer_bytes = 53;  // checksum type, two handles, zeros, version, magic number
constexpr size_t handles_bytes = 40;
constexpr uint64_t table_magic = 0x88e241b785f4cff7;
constexpr uint32_t table_version = 5;
constexpr std::byte xxh3_type{4};
constexpr size_t trailer_bytes = 5;  // compression type, checksum
constexpr uint64_t meta_block_bytes_max = 16u << 20;

struct Handle {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

// Takes a number of seven bits a byte, the lowest first, from the front of `from`.
std::optional<uint64_t> take_varint(Bytes& from) {
  uint64_t value = 0;
  for (size_t i = 0; i < from.size() && i < 10; ++i) {
    const auto bits = std::to_integer<uint64_t>(from[i]);
    value |= (bits & 0x7f) << (7 * i);
    if (bits < 0x80) {
      from = from.subspan(i + 1);
      return value;
    }
  }
  return std::nullopt;
}

std::optional<Handle> take_handle(Bytes& from) {
  const auto offset = take_varint(from);
  const auto bytes = offset ? take_varint(from) : std::nullopt;
  if (!bytes) return std::nullopt;
  return Handle{*offset, *bytes};
}

bool lies_in_file(uint64_t file_bytes, const Handle& handle) {
  return handle.offset <= file_bytes && file_bytes - handle.offset >= trailer_bytes &&
         handle.bytes <= file_bytes - handle.offset - trailer_bytes;
}

// The block without its trailer.
Status read_block(uint64_t file_bytes, const Handle& handle, const ReadAt& read, std::string& out) {
  if (handle.bytes > meta_block_bytes_max || !lies_in_file(file_bytes, handle)) {
    return corrupt("a meta block does not lie in the file");
  }
  const auto bytes = static_cast<size_t>(handle.bytes);
  WQ_TRY(read(handle.offset, bytes + trailer_bytes, out));
  if (out.size() != bytes + trailer_bytes) return corrupt("a meta block ends early");
  const Bytes block = as_bytes(out);
  constexpr uint32_t factor = 0x6b9083d9;  // the compression type is mixed into the checksum
  const uint32_t sum = static_cast<uint32_t>(hash64(block.first(bytes), 0)) ^
                       (std::to_integer<uint32_t>(block[bytes]) * factor);
  if (load_le<uint32_t>(block.data() + bytes + 1) != sum) {
    return corrupt("a meta block does not match its checksum");
  }
  out.resize(bytes);
  return {};
}

// Where the index of the meta blocks says that the one called `name` is. Keys are stored as how
// many bytes they share with the one before, how many follow, and those.
std::optional<Handle> find_meta_block(Bytes index, std::string_view name) {
  std::string key;
  while (!index.empty()) {
    const auto shared = take_varint(index);
    const auto fresh = shared ? take_varint(index) : std::nullopt;
    const auto value = fresh ? take_varint(index) : std::nullopt;
    if (!value || *shared > key.size() || *fresh > index.size() ||
        *value > index.size() - static_cast<size_t>(*fresh)) {
      return std::nullopt;
    }
    key.resize(static_cast<size_t>(*shared));
    key += as_text(index.first(static_cast<size_t>(*fresh)));
    index = index.subspan(static_cast<size_t>(*fresh));
    Bytes handle = index.first(static_cast<size_t>(*value));
    if (key == name) return take_handle(handle);
    index = index.subspan(static_cast<size_t>(*value));
  }
  return std::nullopt;
}

// ---- manifests

constexpr size_t record_header_bytes = 7;  // checksum, length, type
constexpr size_t log_block_bytes = 32 * 1024;
constexpr uint8_t record_type_max = 4;

constexpr std::array<uint32_t, 256> crc_table = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < table.size(); ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (0x82f63b78 & (0 - (crc & 1)));
    table[i] = crc;
  }
  return table;
}();

uint32_t crc32c(Bytes bytes) {
  uint32_t crc = ~uint32_t{0};
  for (const std::byte byte : bytes) {
    crc = (crc >> 8) ^ crc_table[(crc ^ std::to_integer<uint32_t>(byte)) & 0xff];
  }
  return ~crc;
}

// Whether a whole record lies at the beginning of `bytes`.
bool is_record(Bytes bytes) {
  if (bytes.size() < record_header_bytes) return false;
  const size_t length = load_le<uint16_t>(bytes.data() + 4);
  const auto type = std::to_integer<uint8_t>(bytes[6]);
  if (type == 0 || type > record_type_max) return false;
  if (length > bytes.size() - record_header_bytes) return false;
  const uint32_t crc = crc32c(bytes.subspan(6, 1 + length));
  return load_le<uint32_t>(bytes.data()) == ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

}  // namespace

Status check_table(uint64_t size, const ReadAt& read) {
  if (WQ_PLANTED(table_tail_unchecked)) return {};
  if (size < footer_bytes) return corrupt("is too short for a table");
  std::string tail;
  WQ_TRY(read(size - footer_bytes, footer_bytes, tail));
  if (tail.size() != footer_bytes) return corrupt("ends early");
  const Bytes footer = as_bytes(tail);
  if (load_le<uint64_t>(footer.data() + footer_bytes - sizeof table_magic) != table_magic ||
      load_le<uint32_t>(footer.data() + 1 + handles_bytes) != table_version ||
      footer[0] != xxh3_type) {
    return corrupt("has a damaged footer");
  }
  Bytes handles = footer.subspan(1, handles_bytes);
  const auto meta_index = take_handle(handles);
  const auto row_index = meta_index ? take_handle(handles) : std::nullopt;
  // RocksDB makes room for the index of rows before it looks where the file ends.
  if (!row_index || !lies_in_file(size, *row_index)) return corrupt("has a damaged footer");
  std::string block;
  WQ_TRY(read_block(size, *meta_index, read, block));
  const Bytes entries = as_bytes(block);
  if (entries.size() < sizeof(uint32_t))
    return corrupt("has an index of meta blocks that is empty");
  const uint64_t restarts = load_le<uint32_t>(entries.data() + entries.size() - sizeof(uint32_t));
  const uint64_t array_bytes = (restarts + 1) * sizeof(uint32_t);
  if (array_bytes > entries.size()) return corrupt("has a damaged index of meta blocks");
  const auto properties = find_meta_block(
      entries.first(entries.size() - static_cast<size_t>(array_bytes)), "rocksdb.properties");
  if (!properties) return corrupt("names no properties");
  return read_block(size, *properties, read, block);
}

Status check_manifest(Bytes manifest) {
  // What is before the last block RocksDB does check.
  const size_t last_block = manifest.size() / log_block_bytes * log_block_bytes;
  size_t at = last_block;
  while (manifest.size() - at >= record_header_bytes) {
    const size_t length = load_le<uint16_t>(manifest.data() + at + 4);
    if (length > manifest.size() - at - record_header_bytes) break;
    at += record_header_bytes + length;
  }
  if (WQ_PLANTED(manifest_cut_unchecked)) return {};
  for (size_t inside = at + 1; inside < manifest.size(); ++inside) {
    if (!is_record(manifest.subspan(inside))) continue;
    return corrupt("the record at " + std::to_string(at) +
                   " goes beyond the end, and there are whole ones behind it");
  }
  return {};
}

bool is_possible_name(std::string_view name) {
  constexpr uint64_t number_max = uint64_t{1} << 62;
  for (const std::string_view prefix : {"MANIFEST-", "OPTIONS-"}) {
    if (name.starts_with(prefix)) name.remove_prefix(prefix.size());
  }
  uint64_t number = 1;
  const auto end = std::from_chars(name.data(), name.data() + name.size(), number);
  return end.ec == std::errc::invalid_argument ||
         (end.ec == std::errc() && number > 0 && number < number_max);
}

// RocksDB begins a new manifest at 16 MiB and a new log at 32 MiB (store_rocks_options.cc).
uint64_t file_bytes_max(std::string_view name) {
  if (name == "CURRENT" || name == "IDENTITY") return 4096;
  return uint64_t{256} << 20;
}

}  // namespace wq
