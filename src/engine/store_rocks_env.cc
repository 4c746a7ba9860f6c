// The environment that RocksDB's files are touched through. It adds two things.
//
// A barrier of ours. RocksDB syncs a new manifest's bytes, then renames CURRENT to point at it, and
// syncs the directory only after both: a crash may keep the second name and lose the first, since a
// directory's names reach the disk in any order (R7), and the database could not be opened ever
// after. So the directory is synced before CURRENT changes.
//
// Files stay once a manifest has failed. Its last record may be there or not, and RocksDB takes it
// for not there: it removes the files that an ingestion has added. If the record is there after
// all, the next open misses them and takes the database for damaged. What nothing names goes then.
// Thread model: as RocksDB's own, any thread.
#include <atomic>
#include <memory>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "engine/store_rocks_internal.h"

#include "base/planted.h"

namespace wq {
namespace {

class WatchedManifest final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WatchedManifest(std::unique_ptr<rocksdb::FSWritableFile> file,
                  std::shared_ptr<std::atomic<bool>> failed)
      : FSWritableFileOwnerWrapper(std::move(file)), failed_(std::move(failed)) {}

  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           rocksdb::IODebugContext* context) override {
    return watch(target()->Append(data, options, context));
  }
  rocksdb::IOStatus Append(const rocksdb::Slice& data, const rocksdb::IOOptions& options,
                           const rocksdb::DataVerificationInfo& checksum,
                           rocksdb::IODebugContext* context) override {
    return watch(target()->Append(data, options, checksum, context));
  }
  rocksdb::IOStatus Flush(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* context) override {
    return watch(target()->Flush(options, context));
  }
  rocksdb::IOStatus Sync(const rocksdb::IOOptions& options,
                         rocksdb::IODebugContext* context) override {
    return watch(target()->Sync(options, context));
  }
  rocksdb::IOStatus Fsync(const rocksdb::IOOptions& options,
                          rocksdb::IODebugContext* context) override {
    return watch(target()->Fsync(options, context));
  }

 private:
  rocksdb::IOStatus watch(rocksdb::IOStatus status) {
    if (!status.ok()) failed_->store(true, std::memory_order_relaxed);
    return status;
  }

  // Read by DeleteFile() of the thread that was told of the failure, or later.
  std::shared_ptr<std::atomic<bool>> failed_;
};

class NamesFirst final : public rocksdb::FileSystemWrapper {
 public:
  using FileSystemWrapper::FileSystemWrapper;

  const char* Name() const override { return "wq"; }

  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override {
    if (to.ends_with("/CURRENT") && !WQ_PLANTED(manifest_name_unsynced)) {
      std::unique_ptr<rocksdb::FSDirectory> directory;
      rocksdb::IOStatus synced =
          target()->NewDirectory(to.substr(0, to.rfind('/')), options, &directory, context);
      if (synced.ok()) synced = directory->Fsync(options, context);
      if (!synced.ok()) return synced;
    }
    return target()->RenameFile(from, to, options, context);
  }

  rocksdb::IOStatus NewWritableFile(const std::string& name, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* context) override {
    rocksdb::IOStatus made = target()->NewWritableFile(name, options, file, context);
    if (made.ok() && name.find("/MANIFEST-") != name.npos) {
      *file = std::make_unique<WatchedManifest>(std::move(*file), manifest_failed_);
    }
    return made;
  }

  rocksdb::IOStatus DeleteFile(const std::string& name, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* context) override {
    if (manifest_failed_->load(std::memory_order_relaxed)) {
      return rocksdb::IOStatus::IOError(name, "kept, since a manifest failed that may name it");
    }
    return target()->DeleteFile(name, options, context);
  }

 private:
  const std::shared_ptr<std::atomic<bool>> manifest_failed_ =
      std::make_shared<std::atomic<bool>>(false);
};

class NamesFirstEnv final : public rocksdb::EnvWrapper {
 public:
  explicit NamesFirstEnv(rocksdb::Env* base) : EnvWrapper(base) {
    file_system_ = std::make_shared<NamesFirst>(base->GetFileSystem());
    system_clock_ = base->GetSystemClock();
  }
};

}  // namespace

std::unique_ptr<rocksdb::Env> make_rocks_env(rocksdb::Env& base) {
  return std::make_unique<NamesFirstEnv>(&base);
}

}  // namespace wq
