// The environment that RocksDB's files are touched through. It adds five things.
//
// A barrier of ours. RocksDB syncs a new manifest's bytes, then renames CURRENT to point at it, and
// syncs the directory only after both: a crash may keep the second name and lose the first, since a
// directory's names reach the disk in any order (R7), and the database could not be opened ever
// after. So the directory is synced before CURRENT changes.
//
// Files stay once a manifest has failed. Its last record may be there or not, and RocksDB takes it
// for not there: it removes the files that an ingestion has added. If the record is there after
// all, the next open misses them and takes the database for damaged. What nothing names goes then.
//
// Tables are looked at before RocksDB parses them (rocks_format.h).
//
// What is no file, or none that RocksDB can have made, it does not get to see.
//
// Reads that failed are counted, for the walks (store_rocks.cc).
// Thread model: as RocksDB's own, any thread.
#include <atomic>
#include <filesystem>
#include <memory>
#include <new>
#include <string_view>
#include <utility>
#include <vector>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include "base/planted.h"
#include "engine/rocks_format.h"
#include "engine/store_rocks_internal.h"

namespace wq {
namespace {

class CountedFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  CountedFile(std::unique_ptr<rocksdb::FSRandomAccessFile> file,
              std::shared_ptr<ReadFailures> failures)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), failures_(std::move(failures)) {}

  rocksdb::IOStatus Read(uint64_t offset, size_t bytes, const rocksdb::IOOptions& options,
                         rocksdb::Slice* result, char* scratch,
                         rocksdb::IODebugContext* context) const override {
    return counted(target()->Read(offset, bytes, options, result, scratch, context));
  }
  rocksdb::IOStatus MultiRead(rocksdb::FSReadRequest* requests, size_t count,
                              const rocksdb::IOOptions& options,
                              rocksdb::IODebugContext* context) override {
    rocksdb::IOStatus status = target()->MultiRead(requests, count, options, context);
    for (size_t i = 0; i < count; ++i) {
      if (!requests[i].status.ok()) failures_->add(requests[i].status);
    }
    return counted(std::move(status));
  }

 private:
  rocksdb::IOStatus counted(rocksdb::IOStatus status) const {
    if (!status.ok()) failures_->add(status);
    return status;
  }

  const std::shared_ptr<ReadFailures> failures_;
};

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

// A file that is not there is the target's to tell: it may be a simulated one.
bool is_other_than_file(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status found = std::filesystem::status(path, error);
  return exists(found) && !is_regular_file(found);
}

class NamesFirst final : public rocksdb::FileSystemWrapper {
 public:
  NamesFirst(const std::shared_ptr<rocksdb::FileSystem>& base,
             std::shared_ptr<ReadFailures> failures)
      : FileSystemWrapper(base), failures_(std::move(failures)) {}

  const char* Name() const override { return "wq"; }

  rocksdb::IOStatus NewSequentialFile(const std::string& name, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      rocksdb::IODebugContext* context) override {
    rocksdb::IOStatus status = check_kind(name);
    uint64_t size = 0;
    if (status.ok()) status = target()->GetFileSize(name, options.io_options, &size, context);
    if (status.ok() && size > file_bytes_max(base_name(name))) {
      status = damaged(name, "is larger than such a file can be");
    }
    return status.ok() ? target()->NewSequentialFile(name, options, file, context) : status;
  }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& name,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* out,
                                        rocksdb::IODebugContext* context) override {
    std::unique_ptr<rocksdb::FSRandomAccessFile> file;
    rocksdb::IOStatus status = check_kind(name);
    if (status.ok()) status = target()->NewRandomAccessFile(name, options, &file, context);
    if (status.ok() && name.ends_with(".sst")) status = check(name, *file, options, context);
    if (status.ok()) {
      *out = std::make_unique<CountedFile>(std::move(file), failures_);
    } else {
      failures_->add(status);
    }
    return status;
  }

  rocksdb::IOStatus GetChildren(const std::string& directory, const rocksdb::IOOptions& options,
                                std::vector<std::string>* names,
                                rocksdb::IODebugContext* context) override {
    rocksdb::IOStatus status = target()->GetChildren(directory, options, names, context);
    // Left-over tables it would want to remove, and fail. That a log is none it has to tell.
    std::erase_if(*names, [&](const std::string& name) {
      if (!is_possible_name(name)) return true;
      return name.ends_with(".sst") && is_other_than_file(directory + "/" + name);
    });
    return status;
  }

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
  static std::string_view base_name(std::string_view path) {
    return path.substr(path.rfind('/') + 1);
  }

  static rocksdb::IOStatus check_kind(const std::string& name) {
    return is_other_than_file(name) ? damaged(name, "is no regular file") : rocksdb::IOStatus::OK();
  }

  // Both are told as damage (code_of); of IDENTITY RocksDB asserts that nothing but I/O can fail.
  static rocksdb::IOStatus damaged(const std::string& name, const char* what) {
    if (base_name(name) == "IDENTITY") return rocksdb::IOStatus::PathNotFound(name, what);
    return rocksdb::IOStatus::Corruption(name, what);
  }

  rocksdb::IOStatus check(const std::string& name, const rocksdb::FSRandomAccessFile& file,
                          const rocksdb::FileOptions& options, rocksdb::IODebugContext* context) {
    uint64_t size = 0;
    rocksdb::IOStatus io = target()->GetFileSize(name, options.io_options, &size, context);
    if (!io.ok()) return io;
    const auto read = [&](uint64_t offset, size_t bytes, std::string& out) -> Status {
      out.resize(bytes);
      rocksdb::Slice got;
      io = file.Read(offset, bytes, options.io_options, &got, out.data(), context);
      if (!io.ok()) return Status(Code::io);
      out.assign(got.data(), got.size());  // it may lie elsewhere
      return {};
    };
    const Status status = check_table(size, read);
    if (!io.ok() || status.ok()) return io;
    return rocksdb::IOStatus::Corruption(name, status.message());
  }

  const std::shared_ptr<std::atomic<bool>> manifest_failed_ =
      std::make_shared<std::atomic<bool>>(false);
  const std::shared_ptr<ReadFailures> failures_;
};

class NamesFirstEnv final : public rocksdb::EnvWrapper {
 public:
  NamesFirstEnv(rocksdb::Env* base, std::shared_ptr<ReadFailures> failures) : EnvWrapper(base) {
    file_system_ = std::make_shared<NamesFirst>(base->GetFileSystem(), std::move(failures));
    system_clock_ = base->GetSystemClock();
  }

  // RocksDB asks both.
  rocksdb::Status GetChildren(const std::string& directory,
                              std::vector<std::string>* names) override {
    return file_system_->GetChildren(directory, rocksdb::IOOptions(), names, nullptr);
  }
};

}  // namespace

void ReadFailures::add(const rocksdb::Status& failure) noexcept {
  count_.fetch_add(1, std::memory_order_relaxed);
  MutexLock lock(mutex_);
  try {
    last_ = failure.ToString();
  } catch (const std::bad_alloc&) {
    last_.clear();
  }
}

std::string ReadFailures::last() const {
  MutexLock lock(mutex_);
  return last_;
}

Status check_current_manifest(rocksdb::Env& env, const std::string& directory) {
  std::string name;
  std::string bytes;
  if (!rocksdb::ReadFileToString(&env, directory + "/CURRENT", &name).ok()) return {};
  if (name.ends_with('\n')) name.pop_back();
  if (!rocksdb::ReadFileToString(&env, directory + "/" + name, &bytes).ok()) return {};
  const Status status = check_manifest(as_bytes(bytes));
  return status.ok() ? status : Status(status.code(), "db: " + name + ": " + status.message());
}

std::unique_ptr<rocksdb::Env> make_rocks_env(rocksdb::Env& base,
                                             std::shared_ptr<ReadFailures> failures) {
  return std::make_unique<NamesFirstEnv>(&base, std::move(failures));
}

}  // namespace wq
