// What the parts of backup and restore share: names, and the copying of files with their checksums.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backup.h"

namespace wq {

constexpr std::string_view db_directory_name = "db";
constexpr std::string_view lock_name = "LOCK";
// Stands in a store under construction from before its first file until it has its name: only what
// has it is taken for the remains of a restore, and removed.
constexpr std::string_view restoring_name = "RESTORING";
// A log that is read record by record tells how far it is each time it has come this far.
constexpr uint64_t log_progress_bytes = 1ull << 20;
constexpr uint64_t backup_hash_seed = 0x77712d66696c6573;  // "wq-files"

bool is_backup_file_name(std::string_view name);
uint64_t hash_of_file(std::string_view contents);

// "a/b/" and "a/b" are the same place, also for what is made beside it.
std::string without_end_slashes(std::string path);
std::string parent_directory(const std::string& path);

// Reads, copies and checks files, and tells how far it is.
class FileCopier {
 public:
  FileCopier(Io& io, std::unique_ptr<IoQueue> queue, const BackupProgress& progress)
      : io_(io), queue_(std::move(queue)), progress_(progress), buffer_(step_bytes) {}

  void set_total(uint64_t total_bytes) { total_bytes_ = total_bytes; }
  // So many bytes were dealt with elsewhere.
  Status advance(uint64_t bytes);

  // The first `bytes` of a file, which must have them. Returns the checksum.
  Result<uint64_t> hash(const std::string& path, uint64_t bytes);
  // The same into a new file, which is durable afterwards, but for its name.
  Result<uint64_t> copy(const std::string& from, uint64_t bytes, const std::string& to);
  Status write(std::string_view contents, const std::string& to);
  Result<std::string> read_text(const std::string& path, uint64_t bytes_max);

 private:
  static constexpr size_t step_bytes = size_t{1} << 20;

  Result<uint64_t> pump(const std::string& from, uint64_t bytes, File* to);

  Io& io_;
  const std::unique_ptr<IoQueue> queue_;
  const BackupProgress& progress_;
  std::vector<std::byte> buffer_;
  uint64_t done_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

// NO_SPACE, naming both figures, if `directory` has no room for so many bytes.
Status check_room(Io& io, const std::string& directory, uint64_t bytes);

// The lock and the mark of a restore, which stay while somebody works in the directory.
bool is_guard_name(std::string_view name);

// Empties `directory` of what a backup or a store under construction consists of, but for these.
Status remove_contents(Io& io, const std::string& directory);

// These as well, last and behind a barrier; and the directory itself, if nothing else was in it.
// `keep`: the directory stays.
Status remove_tree(Io& io, const std::string& directory, bool keep);

}  // namespace wq
