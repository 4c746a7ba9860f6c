// What RocksDB does not check of its own files, and must not be handed unchecked.
//
// Tables: the block of properties is parsed before its checksum is looked at, and a flipped bit in
// it can end the process. Manifests: a record whose length goes beyond the end of the file is taken
// for one that was being written, and it and all behind it are dropped without a word; the tables
// that only they name are then removed. Files: a FIFO or a device in the place of a file blocks the
// open or has no end; of a sparse file of zeros all is read; and with the number 0, or one that has
// none behind it, RocksDB ends the process.
//
// The formats: https://github.com/facebook/rocksdb/wiki/Rocksdb-BlockBasedTable-Format and
// https://github.com/facebook/rocksdb/wiki/Write-Ahead-Log-File-Format, as of RocksDB 7.8; the
// checksums as in its table/format.cc and util/crc32c.h. Thread model: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/codec.h"
#include "base/status.h"

namespace wq {

// Puts the `bytes` bytes at `offset` into `out`, whose size tells if there were fewer.
using ReadAt = std::function<Status(uint64_t offset, size_t bytes, std::string& out)>;

// corrupt: the footer, the index of the meta blocks or the block of properties is damaged. Reads
// these only. `size`: of the table, in bytes.
Status check_table(uint64_t size, const ReadAt& read);

// corrupt: the last record is cut off by the end of the file, and there is a whole one inside of
// it. One that was being written when power was lost has nothing behind it.
Status check_manifest(Bytes manifest);

// Whether RocksDB can make a file of this name. One that it can not has to be hidden from it.
bool is_possible_name(std::string_view name);

// A bound for the files that RocksDB reads from their beginning to their end: CURRENT, IDENTITY,
// manifests and its log.
uint64_t file_bytes_max(std::string_view name);

}  // namespace wq
