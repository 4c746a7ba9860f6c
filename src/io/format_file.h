// The FORMAT file: what a directory holds and which libraries may touch it. Little-endian, 64
// bytes:
//
//   offset size
//        0    8  magic "wqFORMAT"
//        8    4  format version
//       12    4  reserved, 0
//       16    8  compatible features: whoever does not know one may ignore it
//       24    8  read-only compatible features: whoever does not know one may read, not write
//       32    8  incompatible features: whoever does not know one keeps away
//       40   16  uuid of the store; it seeds every checksum of the log
//       56    8  XXH3-64 of bytes 0..55
//
// These 64 bytes stay as they are in every later version, which may add more behind them. The file
// is replaced as a whole: written under another name, synced, renamed, and the directory synced, so
// that no power cut leaves a part of it. A damaged one is CORRUPT, never rebuilt by guess: the uuid
// in it is also in the header of each segment, from where a person can restore it. Thread model:
// one thread, which holds the directory lock.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "io/io.h"
#include "io/segment_log.h"

namespace wq {

constexpr uint32_t store_format_version = 1;
constexpr uint64_t known_compatible_features = 0;
constexpr uint64_t known_read_only_features = 0;
constexpr uint64_t known_incompatible_features = 0;

struct StoreFormat {
  uint32_t version = store_format_version;
  uint64_t compatible = 0;
  uint64_t read_only_compatible = 0;
  uint64_t incompatible = 0;
  StoreUuid uuid{};
};

enum class Access : uint8_t { read, write };

// Makes the directory, and its name durable in its parent. Ok if it is there already.
Status make_store_directory(Io& io, const std::string& directory);

// INVALID if the directory holds no store, but something else: a store would mix its files with
// those. Writes nothing.
Status check_place_for_store(Io& io, const std::string& directory);

// What the manifest of a backup is called (engine/backup.h). A backup has no FORMAT.
constexpr const char* backup_manifest_name = "BACKUP";
constexpr const char* backup_unfinished_name = "BACKUP.tmp";
// INVALID if the directory holds a backup, or what is left of one that was not finished. Opened as
// a store it would be changed, and a backup no more.
Status refuse_backup(Io& io, const std::string& directory);

// NOT_FOUND when there is none and the directory holds no log either. VERSION for a newer version
// or an unknown feature that forbids this access; CORRUPT for anything that is not a whole FORMAT
// file, or for a log without one. Writes nothing.
Result<StoreFormat> read_format(Io& io, const std::string& directory, Access access);

// The same verdict on what stands in `path`: VERSION, or CORRUPT for a version that never was.
Status check_known(const std::string& path, const StoreFormat& format, Access access);

// Creates or replaces the file.
Status write_format(Io& io, const std::string& directory, const StoreFormat& format);

// What read_format() finds; where it finds nothing, a new file with `fresh_uuid` and `*created` =
// true.
Result<StoreFormat> read_or_create_format(Io& io, const std::string& directory,
                                          const StoreUuid& fresh_uuid, bool* created);

}  // namespace wq
