// Checking and restoring a backup.
#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "engine/backup_internal.h"
#include "io/segment.h"
#include "io/segment_log.h"

namespace wq {
namespace {

constexpr uint64_t manifest_bytes_max = 64ull << 20;

BackupReport report_of(const BackupManifest& manifest) {
  return {manifest.last_lsn, manifest.checkpoint_lsn, manifest.files.size(), manifest.bytes(),
          manifest.created_ms};
}

Status damaged(const std::string& path, const std::string& what) {
  return Status(Code::corrupt, path + ": " + what + "; take another backup");
}

Result<BackupManifest> read_manifest(Io& io, FileCopier& copier, const std::string& backup) {
  const std::string path = backup + "/" + backup_manifest_name;
  auto text = copier.read_text(path, manifest_bytes_max);
  if (text.ok()) return decode_manifest(*text, path);
  if (text.status().code() != Code::not_found) return text.take_status();
  WQ_TRY_SET(const bool unfinished, io.exists(backup + "/" + backup_unfinished_name));
  if (unfinished) return damaged(backup, "the backup was never finished, or is being made");
  return Status(Code::not_found, backup + ": there is no backup");
}

// The log has every record that the manifest promises. Checksums of files do not show that: they
// are right also if the backup was made wrong, or by somebody else.
Status verify_log(Io& io, FileCopier& copier, const BackupManifest& manifest,
                  const std::string& backup) {
  uint64_t untold_bytes = 0;
  const auto may_go_on = [&](const ScannedFrame& frame) -> Status {
    untold_bytes += frame.body.size();
    if (untold_bytes < log_progress_bytes) return {};
    untold_bytes = 0;
    return copier.advance(0);  // the bytes of the files were counted
  };
  LogScan log = scan_log(io, backup, manifest.format.uuid, manifest.checkpoint_lsn, may_go_on);
  if (log.status.code() == Code::corrupt) {
    const std::string& told = log.status.message();  // of a segment, or of all with the directory
    const bool of_segment = told.starts_with(log_directory_name);
    return Status(Code::corrupt, (of_segment ? backup + "/" : "") + told + "; take another backup",
                  0, log.status.offset());
  }
  WQ_TRY(std::move(log.status));
  if (log.found.last_lsn == manifest.last_lsn && log.found.truncated_bytes == 0) return {};
  return damaged(backup + "/" + std::string(log_directory_name),
                 "goes up to record " + std::to_string(log.found.last_lsn) +
                     ", the manifest says " + std::to_string(manifest.last_lsn));
}

Status verify_files(Io& io, FileCopier& copier, const BackupManifest& manifest,
                    const std::string& backup) {
  for (const BackupFile& file : manifest.files) {
    const std::string path = backup + "/" + file.name;
    auto opened = io.open(path, OpenMode::read);
    if (!opened.ok() && opened.status().code() == Code::not_found) {
      return damaged(path, "the file is missing");
    }
    if (!opened.ok()) return opened.take_status();
    WQ_TRY_SET(const uint64_t bytes, (*opened)->size());
    if (bytes != file.bytes && !WQ_PLANTED(backup_size_unchecked)) {
      return damaged(path, "has " + std::to_string(bytes) + " bytes, the manifest says " +
                               std::to_string(file.bytes));
    }
    WQ_TRY_SET(const uint64_t hash, copier.hash(path, std::min(bytes, file.bytes)));
    if (hash != file.hash && !WQ_PLANTED(backup_hash_unchecked))
      return damaged(path, "does not match its checksum");
  }
  if (WQ_PLANTED(backup_log_unchecked)) return {};
  return verify_log(io, copier, manifest, backup);
}

// The store under construction. Unless it was given its name it goes away again.
class NewStore {
 public:
  NewStore(Io& io, std::string path)
      : io_(io), path_(without_end_slashes(std::move(path))), temp_(path_ + ".restoring") {}
  ~NewStore() {
    if (!made_) return;
    caught([this] { return remove_tree(io_, left(), false); }).ignore("an exception is on its way");
  }
  NewStore(const NewStore&) = delete;
  NewStore& operator=(const NewStore&) = delete;

  Status begin();
  Status fill(FileCopier& copier, const BackupManifest& manifest, const std::string& backup);
  Status finish();
  // After a failure: `status` again, with what had to stay behind.
  Status discard(Status status);

 private:
  Status check_target() const;
  Status check_leavings() const;
  Status mark();
  const std::string& left() const { return named_ ? path_ : temp_; }

  Io& io_;
  const std::string path_;
  const std::string temp_;
  std::unique_ptr<DirLock> lock_;
  bool made_ = false;
  bool named_ = false;
};

Status NewStore::check_target() const {
  auto names = io_.list(path_);
  if (!names.ok() && names.status().code() == Code::not_found) {
    WQ_TRY_SET(const bool there, io_.exists(path_));
    if (!there) return {};
    return Status(Code::invalid, path_ + ": is not a directory; name one that is not there yet");
  }
  if (!names.ok()) return names.take_status();
  if (names->empty() || WQ_PLANTED(restore_over_another)) return {};
  return Status(Code::invalid, path_ +
                                   ": is not empty; restore to a directory that is not there "
                                   "yet, or move this one away");
}

// What is there may be somebody's store or backup of that name, such as the one to be restored.
Status NewStore::check_leavings() const {
  WQ_TRY_SET(const std::vector<std::string> names, io_.list(temp_));
  const bool marked = std::find(names.begin(), names.end(), restoring_name) != names.end();
  const auto other = std::find_if_not(names.begin(), names.end(), is_guard_name);
  if (marked || other == names.end() || WQ_PLANTED(restore_over_unmarked)) return {};
  return Status(Code::invalid, temp_ + ": is where the store is built, and has files that no " +
                                   "restore made, such as " + *other + "; move it away");
}

// Durable before anything is made or removed.
Status NewStore::mark() {
  const std::string path = temp_ + "/" + std::string(restoring_name);
  WQ_TRY_SET(const bool there, io_.exists(path));
  if (!there) WQ_TRY(io_.open(path, OpenMode::create).take_status());
  return io_.sync_dir(temp_);
}

Status NewStore::begin() {
  WQ_TRY(check_target());
  WQ_TRY_SET(const bool existed, io_.exists(temp_));
  if (existed) WQ_TRY(check_leavings());  // the lock writes
  WQ_TRY(make_store_directory(io_, temp_));
  WQ_TRY_SET(lock_, io_.lock_dir(temp_));
  made_ = !existed;
  WQ_TRY(check_leavings());  // again: it may be another one than before
  made_ = true;
  WQ_TRY(mark());
  // Of a restore that was killed. The lock file stays: without it the next one would not be kept
  // out.
  if (!WQ_PLANTED(restore_leavings_kept)) WQ_TRY(remove_contents(io_, temp_));
  WQ_TRY_SET(const std::vector<std::string> names, io_.list(temp_));
  const auto other = std::find_if_not(names.begin(), names.end(), is_guard_name);
  if (other == names.end()) return {};
  made_ = false;
  return Status(Code::invalid,
                temp_ + ": has files that no restore made, such as " + *other + "; move it away");
}

Status NewStore::fill(FileCopier& copier, const BackupManifest& manifest,
                      const std::string& backup) {
  WQ_TRY(check_room(io_, temp_, manifest.bytes()));
  for (const std::string_view name : {log_directory_name, db_directory_name}) {
    WQ_TRY(io_.make_dir(temp_ + "/" + std::string(name)));
  }
  for (const BackupFile& file : manifest.files) {
    const std::string from = backup + "/" + file.name;
    WQ_TRY_SET(const uint64_t hash, copier.copy(from, file.bytes, temp_ + "/" + file.name));
    if (hash != file.hash && !WQ_PLANTED(restore_copy_unchecked)) {
      return damaged(from, "changed while it was copied");
    }
  }
  for (const std::string_view name : {log_directory_name, db_directory_name}) {
    if (!WQ_PLANTED(restore_names_unsynced)) {
      WQ_TRY(io_.sync_dir(temp_ + "/" + std::string(name)));
    }
  }
  return write_format(io_, temp_, manifest.format);
}

// The mark goes when the name is durable: until then the next restore may have to remove all this.
Status NewStore::finish() {
  WQ_TRY(io_.rename(temp_, path_));
  named_ = true;
  if (!WQ_PLANTED(restored_name_unsynced)) WQ_TRY(io_.sync_dir(parent_directory(path_)));
  WQ_TRY(io_.unlink(path_ + "/" + std::string(restoring_name)));
  WQ_TRY(io_.sync_dir(path_));
  made_ = false;
  return {};
}

Status NewStore::discard(Status status) {
  if (!std::exchange(made_, false)) return status;
  if (remove_tree(io_, left(), false).ok()) return status;
  return Status(status.code(), status.message() + "; " + left() + " was left behind, remove it",
                status.os_errno(), status.offset());
}

}  // namespace

Result<BackupReport> verify_backup(Io& io, const std::string& directory,
                                   const BackupProgress& progress) {
  const std::string backup = without_end_slashes(directory);
  WQ_TRY_SET(auto queue, io.open_queue());
  FileCopier copier(io, std::move(queue), progress);
  WQ_TRY_SET(const BackupManifest manifest, read_manifest(io, copier, backup));
  copier.set_total(manifest.bytes());
  WQ_TRY(verify_files(io, copier, manifest, backup));
  return report_of(manifest);
}

Result<BackupReport> restore_backup(Io& io, const std::string& directory, const std::string& store,
                                    const BackupProgress& progress) {
  const std::string backup = without_end_slashes(directory);
  WQ_TRY_SET(auto queue, io.open_queue());
  FileCopier copier(io, std::move(queue), progress);
  WQ_TRY_SET(const BackupManifest manifest, read_manifest(io, copier, backup));
  copier.set_total(2 * manifest.bytes());
  WQ_TRY(verify_files(io, copier, manifest, backup));
  NewStore target(io, store);
  Status status = target.begin();
  if (status.ok()) status = target.fill(copier, manifest, backup);
  if (status.ok()) status = target.finish();
  if (!status.ok()) return target.discard(std::move(status));
  return report_of(manifest);
}

}  // namespace wq
