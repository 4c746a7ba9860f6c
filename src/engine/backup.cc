// Engine::backup: a copy of the open store while others go on with it.
//
// What has to stand still for it stands still for the length of a directory listing: under the
// checkpoint mutex the files of the store, which are the state as of the last checkpoint, are held,
// and so are the log's records behind it. From then on checkpoints go on: held files are not
// deleted, held segments not recycled. The log is copied first and let go, since it grows; tables
// do not change and only take room longer. The records are written as a log of their own, so every
// one of them has been read and checked, and what the source's segments hold beyond the last
// durable record is left behind.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/planted.h"
#include "engine/backup_internal.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "io/segment.h"

namespace wq {
namespace {

constexpr uint64_t log_segment_bytes_max = 32ull << 20;

// The length of the segments that the copy of the log is written in: one is enough for a short log.
uint64_t segment_bytes_for(uint64_t log_bytes) {
  const uint64_t wanted = log_bytes + log_bytes / 8 + 2 * segment_header_bytes;
  const uint64_t whole = (wanted + io_block_bytes - 1) / io_block_bytes * io_block_bytes;
  return std::clamp(whole, segment_bytes_min, log_segment_bytes_max);
}

// It is the copy's log that stopped, and not that of the store, which a POISONED would be read as.
Status of_the_copy(Status status) {
  if (status.code() != Code::poisoned) return status;
  if (status.os_errno() == ENOMEM) return Code::no_memory;
  const std::string message = status.message();
  return Status(status.os_errno() == ENOSPC ? Code::no_space : Code::io,
                message.substr(0, message.find("; nothing more is written")), status.os_errno(),
                status.offset());
}

// The directory that a backup is made in. Until it is finished it has no manifest.
class NewBackup {
 public:
  NewBackup(Io& io, std::string path) : io_(io), path_(without_end_slashes(std::move(path))) {}
  ~NewBackup() {
    if (!begun_) return;
    caught([this] {
      return remove_tree(io_, path_, existed_);
    }).ignore("an exception is on its way");
  }
  NewBackup(const NewBackup&) = delete;
  NewBackup& operator=(const NewBackup&) = delete;

  const std::string& path() const { return path_; }
  std::string in_db(const std::string& name) const {
    return path_ + "/" + std::string(db_directory_name) + "/" + name;
  }
  Status begin();
  Status finish(FileCopier& copier, BackupManifest& manifest);
  // After a failure: `status` again, with what had to stay behind.
  Status discard(Status status);

 private:
  Io& io_;
  const std::string path_;
  bool existed_ = false;
  bool begun_ = false;
};

Status NewBackup::begin() {
  WQ_TRY_SET(existed_, io_.exists(path_));
  if (existed_) {
    auto names = io_.list(path_);
    if (!names.ok() && names.status().code() == Code::not_found) {
      return Status(Code::invalid, path_ + ": is not a directory");
    }
    if (!names.ok()) return names.take_status();
    if (!names->empty() && !WQ_PLANTED(backup_over_another)) {
      return Status(Code::invalid, path_ + ": is not empty; name a new directory for each backup");
    }
  }
  WQ_TRY(make_store_directory(io_, path_));
  begun_ = true;
  // Refused if somebody else has just begun one here; then nothing in it is ours.
  auto claim = io_.open(path_ + "/" + backup_unfinished_name, OpenMode::create);
  if (!claim.ok()) {
    begun_ = claim.status().os_errno() != EEXIST;
    return claim.take_status();
  }
  return io_.make_dir(path_ + "/" + std::string(db_directory_name));
}

Status NewBackup::finish(FileCopier& copier, BackupManifest& manifest) {
  std::sort(manifest.files.begin(), manifest.files.end(),
            [](const BackupFile& a, const BackupFile& b) { return a.name < b.name; });
  for (const std::string_view name : {log_directory_name, db_directory_name}) {
    if (!WQ_PLANTED(backup_names_unsynced)) {
      WQ_TRY(io_.sync_dir(path_ + "/" + std::string(name)));
    }
  }
  WQ_TRY(io_.sync_dir(path_));
  const std::string unfinished = path_ + "/" + backup_unfinished_name;
  WQ_TRY(io_.unlink(unfinished));
  WQ_TRY(copier.write(encode_manifest(manifest), unfinished));
  WQ_TRY(io_.rename(unfinished, path_ + "/" + backup_manifest_name));
  if (!WQ_PLANTED(backup_name_unsynced)) WQ_TRY(io_.sync_dir(path_));
  begun_ = false;
  return {};
}

Status NewBackup::discard(Status status) {
  if (!std::exchange(begun_, false)) return status;
  if (remove_tree(io_, path_, existed_).ok()) return status;
  return Status(status.code(), status.message() + "; " + path_ + " was left incomplete, remove it",
                status.os_errno(), status.offset());
}

}  // namespace

// What a backup is made of, held together at one moment.
struct Engine::BackupSource {
  std::unique_ptr<HeldFiles> files;
  Lsn checkpoint_lsn = 0;
  uint64_t log_bytes = 0;
  uint64_t store_bytes = 0;

  explicit BackupSource(SegmentLog& log) : log_(log) {}
  ~BackupSource() { let_log_go(); }
  BackupSource(const BackupSource&) = delete;
  BackupSource& operator=(const BackupSource&) = delete;
  void hold_log(Lsn from) {
    log_.hold(from);
    holds_log_ = true;
  }
  void let_log_go() {
    if (std::exchange(holds_log_, false)) log_.let_go();
  }

 private:
  SegmentLog& log_;
  bool holds_log_ = false;
};

Status Engine::hold_for_backup(BackupSource& source) {
  MutexLock one_at_a_time(checkpoint_mutex_);
  {
    MutexLock lock(mutex_);
    if (!failure_.ok()) return failure_;
    source.checkpoint_lsn = applied_lsn_;
  }
  WQ_TRY(log_->failure());
  WQ_TRY_SET(source.files, store_->hold_files());
  if (!WQ_PLANTED(backup_log_not_held)) source.hold_log(source.checkpoint_lsn);
  for (const StoreFile& file : source.files->files) source.store_bytes += file.bytes;
  source.log_bytes = log_->stats().live_bytes;
  return {};
}

// A log never is without a record, so where the checkpoint holds everything the last record is
// taken once more; a replay begins behind it.
Status Engine::copy_log(BackupSource& source, const std::string& directory, FileCopier& copier,
                        BackupManifest& manifest) {
  if (!WQ_PLANTED(backup_of_the_durable_part)) {
    WQ_TRY(log_->wait(log_->last_lsn(), Durability::power));
  }
  manifest.last_lsn = log_->durable_lsn();
  const Lsn skipped = WQ_PLANTED(backup_misses_a_record) ? 1 : 0;
  const Lsn from = std::min(source.checkpoint_lsn + 1 + skipped, manifest.last_lsn);
  LogOptions options;
  options.directory = directory;
  options.uuid = uuid_;
  options.segment_bytes = segment_bytes_for(source.log_bytes);
  options.spare_segments = 0;
  options.expected_applied_lsn = from - 1;
  WQ_TRY_SET(const auto copy, SegmentLog::open(*environment_.io, *environment_.clock, options));
  uint64_t untold_bytes = 0;
  const auto append = [&](Lsn lsn, Bytes body) -> Status {
    WQ_TRY(of_the_copy(copy->wait_for_room()));
    auto copied = copy->append(body);
    if (!copied.ok()) return of_the_copy(copied.take_status());
    WQ_CHECK(*copied == lsn);
    untold_bytes += body.size();
    if (untold_bytes < log_progress_bytes) return {};
    return copier.advance(std::exchange(untold_bytes, 0));
  };
  WQ_TRY(log_->read(from, manifest.last_lsn, append));
  WQ_TRY(of_the_copy(copy->close()));
  source.let_log_go();
  const std::string log_directory = directory + "/" + std::string(log_directory_name);
  WQ_TRY_SET(const std::vector<std::string> names, environment_.io->list(log_directory));
  for (const std::string& name : names) {
    WQ_TRY_SET(const auto file, environment_.io->open(log_directory + "/" + name, OpenMode::read));
    WQ_TRY_SET(const uint64_t bytes, file->size());
    WQ_TRY_SET(const uint64_t hash, copier.hash(log_directory + "/" + name, bytes));
    manifest.files.push_back({std::string(log_directory_name) + "/" + name, bytes, hash});
  }
  return {};
}

Status Engine::copy_store(const BackupSource& source, const std::string& directory,
                          FileCopier& copier, BackupManifest& manifest) {
  for (const StoreFile& file : source.files->files) {
    BackupFile out{std::string(db_directory_name) + "/" + file.name, file.bytes, 0};
    if (!is_backup_file_name(out.name)) {
      return Status(Code::internal, "backup: no rule for a file called " + out.name);
    }
    const std::string to = directory + "/" + out.name;
    if (file.contents) {
      WQ_TRY(copier.write(*file.contents, to));
      out.hash = hash_of_file(*file.contents);
    } else {
      WQ_TRY_SET(out.hash, copier.copy(file.path, file.bytes, to));
    }
    manifest.files.push_back(std::move(out));
  }
  return {};
}

Result<BackupReport> Engine::backup(const std::string& directory, const BackupProgress& progress) {
  WQ_ENTER();
  MutexLock one_at_a_time(backup_mutex_);
  const BackupProgress step = [&](uint64_t done_bytes, uint64_t total_bytes) -> Status {
    if (closed_.load()) return Code::closed;
    return progress ? progress(done_bytes, total_bytes) : Status();
  };
  WQ_TRY(step(0, 0));
  Io& io = *environment_.io;
  WQ_TRY_SET(auto queue, io.open_queue());
  FileCopier copier(io, std::move(queue), step);
  NewBackup target(io, directory);
  BackupManifest manifest;
  manifest.created_ms = wall_ms();
  const auto run = [&]() -> Status {
    WQ_TRY_SET(manifest.format, read_format(io, options_.directory, Access::read));
    WQ_TRY(target.begin());
    BackupSource source(*log_);
    WQ_TRY(hold_for_backup(source));
    const uint64_t bytes = source.store_bytes + segment_bytes_for(source.log_bytes);
    WQ_TRY(check_room(io, target.path(), bytes + options_.disk_reserve_bytes));
    copier.set_total(source.store_bytes + 2 * source.log_bytes);
    manifest.checkpoint_lsn = source.checkpoint_lsn;
    WQ_TRY(copy_log(source, target.path(), copier, manifest));
    WQ_TRY(copy_store(source, target.path(), copier, manifest));
    return target.finish(copier, manifest);
  };
  Status status = run();
  if (!status.ok()) return target.discard(std::move(status));
  return BackupReport{manifest.last_lsn, manifest.checkpoint_lsn, manifest.files.size(),
                      manifest.bytes(), manifest.created_ms};
}

}  // namespace wq
