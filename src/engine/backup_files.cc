// Files of backups: read, copied, checked, removed; all through Io.
#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "base/planted.h"
#include "engine/backup_internal.h"
#include "io/io_transfer.h"
#include "io/segment.h"

namespace wq {

std::string without_end_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

std::string parent_directory(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

uint64_t hash_of_file(std::string_view contents) {
  return hash64(as_bytes(contents), backup_hash_seed);
}

Status FileCopier::advance(uint64_t bytes) {
  done_bytes_ += bytes;
  return progress_ ? progress_(done_bytes_, std::max(done_bytes_, total_bytes_)) : Status();
}

Result<uint64_t> FileCopier::pump(const std::string& from, uint64_t bytes, File* to) {
  WQ_TRY_SET(const auto source, io_.open(from, OpenMode::read));
  StreamHash hash(backup_hash_seed);
  for (uint64_t at = 0; at < bytes;) {
    const size_t want = static_cast<size_t>(std::min<uint64_t>(step_bytes, bytes - at));
    WQ_TRY_SET(const size_t got, read_fully(*queue_, *source, {buffer_.data(), want}, at));
    if (got < want) {
      return Status(Code::corrupt,
                    from + ": has " + std::to_string(at + got) + " bytes, " +
                        std::to_string(bytes) + " were expected",
                    0, at + got);
    }
    hash.update({buffer_.data(), got});
    if (to != nullptr) {
      WQ_TRY(write_fully(*queue_, *to, {buffer_.data(), got}, at, WriteMode::kernel));
    }
    at += got;
    WQ_TRY(advance(got));
  }
  return hash.value();
}

Result<uint64_t> FileCopier::hash(const std::string& path, uint64_t bytes) {
  return pump(path, bytes, nullptr);
}

Result<uint64_t> FileCopier::copy(const std::string& from, uint64_t bytes, const std::string& to) {
  WQ_TRY_SET(const auto target, io_.open(to, OpenMode::create));
  WQ_TRY_SET(const uint64_t hash, pump(from, bytes, target.get()));
  if (!WQ_PLANTED(copied_file_unsynced)) WQ_TRY(target->sync());
  return hash;
}

Status FileCopier::write(std::string_view contents, const std::string& to) {
  WQ_TRY_SET(const auto target, io_.open(to, OpenMode::create));
  WQ_TRY(write_fully(*queue_, *target, as_bytes(contents), 0, WriteMode::kernel));
  if (!WQ_PLANTED(manifest_unsynced)) WQ_TRY(target->sync());
  return advance(contents.size());
}

Result<std::string> FileCopier::read_text(const std::string& path, uint64_t bytes_max) {
  WQ_TRY_SET(const auto file, io_.open(path, OpenMode::read));
  WQ_TRY_SET(const uint64_t bytes, file->size());
  if (bytes > bytes_max) {
    return Status(Code::corrupt, path + ": has " + std::to_string(bytes) +
                                     " bytes, which no manifest has; take another backup");
  }
  std::string text(static_cast<size_t>(bytes), '\0');
  const std::span<std::byte> out{reinterpret_cast<std::byte*>(text.data()), text.size()};
  WQ_TRY_SET(const size_t got, read_fully(*queue_, *file, out, 0));
  text.resize(got);
  return text;
}

Status check_room(Io& io, const std::string& directory, uint64_t bytes) {
  WQ_TRY_SET(const uint64_t free, io.free_bytes(directory));
  if (free >= bytes || WQ_PLANTED(room_unchecked)) return {};
  return Status(Code::no_space,
                directory + ": needs " + std::to_string(bytes) + " bytes, the disk has " +
                    std::to_string(free) + " free; nothing was written",
                0);
}

namespace {

// What a backup, or a store that a restore did not finish, has in its own directory, but for what
// guards it.
bool is_own_name(std::string_view name) {
  return name == backup_manifest_name || name == backup_unfinished_name || name == "FORMAT" ||
         name == "FORMAT.tmp";
}

Status remove_files(Io& io, const std::string& directory, std::string_view label) {
  auto names = io.list(directory);
  if (!names.ok() && names.status().code() == Code::not_found) return {};
  if (!names.ok()) return names.take_status();
  for (const std::string& name : *names) {
    const bool ours = is_backup_file_name(std::string(label) + "/" + name) ||
                      (label == log_directory_name && is_temp_name(name));
    if (ours) WQ_TRY(io.unlink(directory + "/" + name));
  }
  return io.remove_dir(directory);
}

}  // namespace

bool is_guard_name(std::string_view name) {
  return name == lock_name || name == restoring_name;
}

// The manifest goes first: from then on nobody takes the rest for a backup. BACKUP.tmp goes last:
// until then it says what this was.
Status remove_contents(Io& io, const std::string& directory) {
  WQ_TRY_SET(const bool whole, io.exists(directory + "/" + backup_manifest_name));
  if (whole) WQ_TRY(io.unlink(directory + "/" + backup_manifest_name));
  for (const std::string_view name : {log_directory_name, db_directory_name}) {
    WQ_TRY(remove_files(io, directory + "/" + std::string(name), name));
  }
  WQ_TRY_SET(const std::vector<std::string> names, io.list(directory));
  for (const std::string& name : names) {
    if (is_own_name(name)) WQ_TRY(io.unlink(directory + "/" + name));
  }
  return io.sync_dir(directory);
}

Status remove_tree(Io& io, const std::string& directory, bool keep) {
  WQ_TRY(remove_contents(io, directory));
  WQ_TRY_SET(const std::vector<std::string> names, io.list(directory));
  for (const std::string& name : names) {
    if (is_guard_name(name)) WQ_TRY(io.unlink(directory + "/" + name));
  }
  if (!keep) WQ_TRY(io.remove_dir(directory));
  return io.sync_dir(keep ? directory : parent_directory(directory));
}

}  // namespace wq
