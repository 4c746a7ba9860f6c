// Backups: what a directory with a backup holds, and how one is checked and restored. How one is
// made of an open store: Engine::backup in backup.cc.
//
//   BACKUP               the manifest: every file with its length and checksum. Written last, under
//                        the name BACKUP.tmp until all else is durable: without it there is none.
//   log/<seq>.seg        the records behind the checkpoint, as a log of their own
//   db/<name>            the files of the store as of the checkpoint
//
// There is no FORMAT file, so nobody opens a backup as a store and changes it by that; what FORMAT
// has to say stands in the manifest. A restore builds the store beside its place, checks every byte
// twice, writes FORMAT last, and then gives it its name. Thread model: any thread; one at a time in
// one directory, which the file BACKUP.tmp and the lock of the new store see to.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "io/format_file.h"
#include "io/io.h"
#include "io/log.h"

namespace wq {

struct BackupFile {
  std::string name;  // "log/0000000000000001.seg", "db/000012.sst"
  uint64_t bytes = 0;
  uint64_t hash = 0;
};

struct BackupManifest {
  StoreFormat format;
  Lsn checkpoint_lsn = 0;  // the files in db/ hold everything up to here
  Lsn last_lsn = 0;        // the log goes up to here
  int64_t created_ms = 0;
  std::vector<BackupFile> files;

  uint64_t bytes() const;
};

std::string encode_manifest(const BackupManifest& manifest);
// CORRUPT for anything that encode_manifest() can not have made, VERSION for a newer one. `path` is
// for the messages.
Result<BackupManifest> decode_manifest(std::string_view text, const std::string& path);

struct BackupReport {
  Lsn last_lsn = 0;
  Lsn checkpoint_lsn = 0;
  uint64_t files = 0;
  uint64_t bytes = 0;
  int64_t created_ms = 0;
};

// Called with the bytes done and to do, at least once per MiB, with no lock held. What is not ok
// ends the work and is returned.
using BackupProgress = std::function<Status(uint64_t done_bytes, uint64_t total_bytes)>;

// Reads every byte and compares. NOT_FOUND if there is nothing, CORRUPT with the file for an
// unfinished or damaged backup.
Result<BackupReport> verify_backup(Io& io, const std::string& directory,
                                   const BackupProgress& progress);

// Checks the whole backup first, then makes the store. INVALID if `store` is there and not empty.
// A failure leaves no store, and says so if it had to leave something else.
Result<BackupReport> restore_backup(Io& io, const std::string& directory, const std::string& store,
                                    const BackupProgress& progress);

}  // namespace wq
