// Reading, checking and replacing FORMAT.
#include "io/format_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <string_view>

#include "base/hash.h"
#include "base/planted.h"
#include "io/io_transfer.h"
#include "io/segment.h"

namespace wq {
namespace {

constexpr std::string_view magic = "wqFORMAT";
constexpr size_t format_bytes = 64;
constexpr size_t at_version = 8;
constexpr size_t at_compatible = 16;
constexpr size_t at_read_only = 24;
constexpr size_t at_incompatible = 32;
constexpr size_t at_uuid = 40;
constexpr size_t at_hash = 56;
constexpr uint64_t hash_seed = 0x77712d666f726d61;  // "wq-forma"

using Block = std::array<std::byte, format_bytes>;

std::string format_path(const std::string& directory) {
  return directory + "/FORMAT";
}

Status corrupt(const std::string& path, const std::string& what) {
  return Status(Code::corrupt,
                path + " at 0: " + what +
                    "; restore it from a backup, the log's segment headers have the uuid");
}

Status newer(const std::string& path, const std::string& what) {
  return Status(Code::version, path + ": " + what + "; open the store with a newer library");
}

Block encode(const StoreFormat& format) {
  Block block{};
  std::memcpy(block.data(), magic.data(), magic.size());
  store_le<uint32_t>(block.data() + at_version, format.version);
  store_le<uint64_t>(block.data() + at_compatible, format.compatible);
  store_le<uint64_t>(block.data() + at_read_only, format.read_only_compatible);
  store_le<uint64_t>(block.data() + at_incompatible, format.incompatible);
  std::memcpy(block.data() + at_uuid, format.uuid.data(), format.uuid.size());
  store_le<uint64_t>(block.data() + at_hash, hash64({block.data(), at_hash}, hash_seed));
  return block;
}

Result<StoreFormat> decode(const std::string& path, Bytes bytes) {
  if (bytes.size() < format_bytes) {
    return corrupt(path, "has " + std::to_string(bytes.size()) + " bytes instead of " +
                             std::to_string(format_bytes));
  }
  const std::byte* const in = bytes.data();
  if (std::memcmp(in, magic.data(), magic.size()) != 0) {
    return corrupt(path, "is not a FORMAT file of wq");
  }
  const bool sound = load_le<uint64_t>(in + at_hash) == hash64({in, at_hash}, hash_seed);
  if (!sound && !WQ_PLANTED(format_unchecked)) {
    return corrupt(path, "does not match its checksum");
  }
  StoreFormat format;
  format.version = load_le<uint32_t>(in + at_version);
  format.compatible = load_le<uint64_t>(in + at_compatible);
  format.read_only_compatible = load_le<uint64_t>(in + at_read_only);
  format.incompatible = load_le<uint64_t>(in + at_incompatible);
  std::memcpy(format.uuid.data(), in + at_uuid, format.uuid.size());
  return format;
}

// What an attempt to create a store that was cut off leaves behind, and what each new ext4 has.
constexpr std::array<std::string_view, 3> may_stand_there = {"FORMAT.tmp", "LOCK", "lost+found"};

template <typename Predicate>
Result<bool> any_name(Io& io, const std::string& directory, Predicate&& is_wanted) {
  auto names = io.list(directory);
  if (!names.ok()) {
    if (names.status().code() == Code::not_found) return false;
    return names.take_status();
  }
  return std::any_of(names->begin(), names->end(), is_wanted);
}

// A log without FORMAT was a store once. A fresh uuid would make all of it foreign.
Result<bool> has_segments(Io& io, const std::string& directory) {
  return any_name(io, directory + "/" + std::string(log_directory_name),
                  [](const std::string& name) { return parse_segment_name(name).has_value(); });
}

// So was a database without FORMAT: the tables of RocksDB.
Result<bool> has_tables(Io& io, const std::string& directory) {
  return any_name(io, directory + "/db",
                  [](const std::string& name) { return name.ends_with(".sst"); });
}

}  // namespace

Status check_known(const std::string& path, const StoreFormat& format, Access access) {
  if (format.version > store_format_version && !WQ_PLANTED(newer_format_taken)) {
    return newer(path, "format version " + std::to_string(format.version) +
                           ", this library knows up to " + std::to_string(store_format_version));
  }
  if (format.version == 0) return corrupt(path, "format version 0 does not exist");
  const uint64_t unknown = format.incompatible & ~known_incompatible_features;
  if (unknown != 0 && !WQ_PLANTED(unknown_feature_taken))
    return newer(path, "unknown incompatible features " + std::to_string(unknown));
  const uint64_t unknown_read_only = format.read_only_compatible & ~known_read_only_features;
  if (unknown_read_only != 0 && access == Access::write && !WQ_PLANTED(read_only_feature_taken)) {
    return newer(path, "features " + std::to_string(unknown_read_only) +
                           " that allow this library to read only");
  }
  return Code::ok;
}

Status make_store_directory(Io& io, const std::string& directory) {
  WQ_TRY_SET(const bool there, io.exists(directory));
  if (!there) WQ_TRY(io.make_dir(directory));
  std::filesystem::path path(directory);
  if (!path.has_filename()) path = path.parent_path();  // "a/b/"
  const std::string parent = path.parent_path().string();
  if (WQ_PLANTED(store_name_unsynced)) return Code::ok;
  // Also when it was there: an earlier attempt may have ended between the two.
  return io.sync_dir(parent.empty() ? "." : parent);
}

Status check_place_for_store(Io& io, const std::string& directory) {
  WQ_TRY_SET(const bool is_store, io.exists(format_path(directory)));
  if (is_store) return Code::ok;
  WQ_TRY_SET(const bool has_log, has_segments(io, directory));
  WQ_TRY_SET(const bool has_database, has_tables(io, directory));
  if (has_log || has_database) return Code::ok;  // a damaged store: opening says what is wrong
  WQ_TRY_SET(const std::vector<std::string> names, io.list(directory));
  for (const std::string& name : names) {
    if (std::find(may_stand_there.begin(), may_stand_there.end(), name) == may_stand_there.end()) {
      return Status(Code::invalid, directory + ": is not empty ('" + name +
                                       "') and holds no store; name a new or empty directory");
    }
  }
  return Code::ok;
}

Status refuse_backup(Io& io, const std::string& directory) {
  for (const char* const name : {backup_manifest_name, backup_unfinished_name}) {
    WQ_TRY_SET(const bool there, io.exists(directory + "/" + name));
    if (!there) continue;
    return Status(Code::invalid, directory + ": is a backup and not a store, there is a file " +
                                     name + "; restore it to another directory");
  }
  return Code::ok;
}

Result<StoreFormat> read_format(Io& io, const std::string& directory, Access access) {
  const std::string path = format_path(directory);
  auto opened = io.open(path, OpenMode::read);
  if (!opened.ok()) {
    if (opened.status().code() != Code::not_found) return opened.take_status();
    WQ_TRY(refuse_backup(io, directory));
    WQ_TRY_SET(const bool orphaned, has_segments(io, directory));
    if (orphaned && !WQ_PLANTED(log_without_format_taken))
      return corrupt(path, "is missing, but there is a log");
    return opened.take_status();
  }
  WQ_TRY_SET(const auto queue, io.open_queue());
  Block block{};
  WQ_TRY_SET(const size_t bytes, read_fully(*queue, **opened, block, 0));
  WQ_TRY_SET(const StoreFormat format, decode(path, {block.data(), bytes}));
  WQ_TRY(check_known(path, format, access));
  WQ_TRY_SET(const uint64_t size, (*opened)->size());
  if (size != format_bytes) return corrupt(path, "has " + std::to_string(size) + " bytes");
  return format;
}

Status write_format(Io& io, const std::string& directory, const StoreFormat& format) {
  const std::string path = format_path(directory);
  const std::string temp = path + ".tmp";
  WQ_TRY_SET(const bool left_over, io.exists(temp));
  if (left_over) WQ_TRY(io.unlink(temp));
  {
    WQ_TRY_SET(const auto file, io.open(temp, OpenMode::create));
    WQ_TRY_SET(const auto queue, io.open_queue());
    WQ_TRY(write_fully(*queue, *file, encode(format), 0, WriteMode::kernel));
    if (WQ_PLANTED(format_renamed_early)) WQ_TRY(io.rename(temp, path));
    if (!WQ_PLANTED(format_unsynced)) WQ_TRY(file->sync());
  }
  if (!WQ_PLANTED(format_renamed_early)) WQ_TRY(io.rename(temp, path));
  return WQ_PLANTED(format_name_unsynced) ? Status() : io.sync_dir(directory);
}

Result<StoreFormat> read_or_create_format(Io& io, const std::string& directory,
                                          const StoreUuid& fresh_uuid, bool* created) {
  *created = false;
  auto found = read_format(io, directory, Access::write);
  if (found.ok()) {
    // The rename of the one that created it may be in the kernel only.
    if (!WQ_PLANTED(found_format_unsynced)) WQ_TRY(io.sync_dir(directory));
    return found;
  }
  if (found.status().code() != Code::not_found) return found;
  StoreFormat format;
  format.uuid = fresh_uuid;
  WQ_TRY(write_format(io, directory, format));
  *created = true;
  return format;
}

}  // namespace wq
