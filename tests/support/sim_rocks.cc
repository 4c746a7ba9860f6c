#include "support/sim_rocks.h"

#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/system_clock.h>

#include "base/mutex.h"
#include "support/store_wrapper.h"

namespace wq {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

IOStatus to_rocks(const Status& status) {
  if (status.ok()) return IOStatus::OK();
  switch (status.os_errno()) {
    case ENOSPC:
    case EDQUOT:
      return IOStatus::NoSpace(status.message());
    case ENOENT:
      return IOStatus::PathNotFound(status.message());
    default:
      return IOStatus::IOError(status.message());
  }
}

// RocksDB asks for files and directories that may be missing, and knows that by another code.
IOStatus to_rocks_lookup(const Status& status) {
  return status.os_errno() == ENOENT ? IOStatus::NotFound(status.message()) : to_rocks(status);
}

// RocksDB puts paths together with one slash or two.
std::string tidy(const std::string& path) {
  std::string out;
  for (const char c : path) {
    if (c != '/' || out.empty() || out.back() != '/') out.push_back(c);
  }
  while (out.size() > 1 && out.back() == '/') out.pop_back();
  return out;
}

// An open file. Calls that were interrupted or cut short are gone on with, as RocksDB's own file
// system does.
class OpenFile {
 public:
  OpenFile(std::unique_ptr<IoQueue> queue, std::unique_ptr<File> file,
           const std::function<void()>& before_each)
      : queue_(std::move(queue)), file_(std::move(file)), before_each_(&before_each) {}

  File& file() { return *file_; }

  IOStatus read(uint64_t offset, size_t bytes, Slice* result, char* scratch) {
    size_t done = 0;
    while (done < bytes) {
      IoOp op{IoKind::read, file_.get(), reinterpret_cast<std::byte*>(scratch + done), bytes - done,
              offset + done};
      const int64_t moved = run(op);
      if (moved < 0) return failed(moved, "pread");
      if (moved == 0) break;
      done += static_cast<size_t>(moved);
    }
    *result = Slice(scratch, done);
    return IOStatus::OK();
  }

  IOStatus write(uint64_t offset, const Slice& data) {
    std::vector<std::byte> copy(data.size());
    if (!copy.empty()) std::memcpy(copy.data(), data.data(), copy.size());
    size_t done = 0;
    while (done < copy.size()) {
      IoOp op{IoKind::write, file_.get(), copy.data() + done, copy.size() - done, offset + done};
      const int64_t moved = run(op);
      if (moved < 0) return failed(moved, "pwrite");
      done += static_cast<size_t>(moved);
    }
    return IOStatus::OK();
  }

  IOStatus sync(IoKind kind) {
    (*before_each_)();
    if (kind != IoKind::fdatasync) return to_rocks(file_->sync());
    IoOp op{IoKind::fdatasync, file_.get()};
    const int64_t result = run(op);
    return result < 0 ? failed(result, "fdatasync") : IOStatus::OK();
  }

 private:
  int64_t run(IoOp& op) {
    (*before_each_)();
    do {
      queue_->submit(op);
      queue_->wait(1);
    } while (op.result == -EINTR || op.result == -EAGAIN);
    return op.result;
  }
  IOStatus failed(int64_t result, const char* operation) const {
    return to_rocks(status_from_errno(static_cast<int>(-result), file_->path(), operation));
  }

  std::unique_ptr<IoQueue> queue_;
  std::unique_ptr<File> file_;
  const std::function<void()>* before_each_;
};

class SequentialFile final : public rocksdb::FSSequentialFile {
 public:
  explicit SequentialFile(OpenFile file) : file_(std::move(file)) {}
  IOStatus Read(size_t n, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) override {
    const IOStatus status = file_.read(at_, n, result, scratch);
    if (status.ok()) at_ += result->size();
    return status;
  }
  IOStatus Skip(uint64_t n) override {
    at_ += n;
    return IOStatus::OK();
  }

 private:
  OpenFile file_;
  uint64_t at_ = 0;
};

class RandomFile final : public rocksdb::FSRandomAccessFile {
 public:
  explicit RandomFile(OpenFile file) : file_(std::move(file)) {}
  IOStatus Read(uint64_t offset, size_t n, const IOOptions&, Slice* result, char* scratch,
                IODebugContext*) const override {
    MutexLock lock(mutex_);
    return file_.read(offset, n, result, scratch);
  }

 private:
  mutable Mutex mutex_;
  mutable OpenFile file_ WQ_GUARDED_BY(mutex_);
};

// When the machine has stopped nobody sees what RocksDB still does in memory, and a table whose
// barrier fails would end the test: RocksDB 7.8 asserts that each table of a compaction that failed
// has a key (SubcompactionState::SmallestUserKey), also one that was to be left out as empty.
class WritableFile final : public rocksdb::FSWritableFile {
 public:
  WritableFile(OpenFile file, uint64_t bytes, const SimDisk& disk)
      : file_(std::move(file)),
        bytes_(bytes),
        disk_(disk),
        is_table_(file_.file().path().ends_with(".sst")) {}
  using FSWritableFile::Append;
  IOStatus Append(const Slice& data, const IOOptions&, IODebugContext*) override {
    const IOStatus status = file_.write(bytes_, data);
    if (status.ok()) bytes_ += data.size();
    return status;
  }
  IOStatus Truncate(uint64_t bytes, const IOOptions&, IODebugContext*) override {
    const IOStatus status = to_rocks(file_.file().resize(bytes));
    if (status.ok()) bytes_ = bytes;
    return status;
  }
  IOStatus Close(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Flush(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    const IOStatus status = file_.sync(IoKind::fdatasync);
    return is_table_ && disk_.has_stopped() ? IOStatus::OK() : status;
  }
  IOStatus Fsync(const IOOptions&, IODebugContext*) override { return file_.sync(IoKind::write); }
  uint64_t GetFileSize(const IOOptions&, IODebugContext*) override { return bytes_; }
  IOStatus Allocate(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override {
    return IOStatus::OK();
  }

 private:
  OpenFile file_;
  uint64_t bytes_;
  const SimDisk& disk_;
  const bool is_table_;
};

class Directory final : public rocksdb::FSDirectory {
 public:
  Directory(Io& io, std::string path, const std::function<void()>& before_each)
      : io_(io), path_(std::move(path)), before_each_(before_each) {}
  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    before_each_();
    return to_rocks(io_.sync_dir(path_));
  }
  IOStatus Close(const IOOptions&, IODebugContext*) override { return IOStatus::OK(); }

 private:
  Io& io_;
  const std::string path_;
  const std::function<void()>& before_each_;
};

class Lock final : public rocksdb::FileLock {
 public:
  explicit Lock(std::string name) : path(std::move(name)) {}
  const std::string path;
};

// No file has a date of its own, and nobody sleeps.
class FixedClock final : public rocksdb::SystemClockWrapper {
 public:
  FixedClock() : SystemClockWrapper(rocksdb::SystemClock::Default()) {}
  const char* Name() const override { return "wq.FixedClock"; }
  rocksdb::Status GetCurrentTime(int64_t* seconds) override {
    *seconds = 1'700'000'000;
    return rocksdb::Status::OK();
  }
  void SleepForMicroseconds(int) override {}
};

}  // namespace

// The file system. `before_each` is called before anything of the disk is touched.
class SimRocks::Files final : public rocksdb::FileSystem {
 public:
  explicit Files(SimDisk& disk) : disk_(disk), io_(disk.mount()) {}
  const char* Name() const override { return "wq.SimRocks"; }
  void set_before_each(std::function<void()> before) { before_each_ = std::move(before); }

  IOStatus NewSequentialFile(const std::string& name, const FileOptions&,
                             std::unique_ptr<rocksdb::FSSequentialFile>* out,
                             IODebugContext*) override {
    return open<SequentialFile>(name, OpenMode::read, out);
  }
  IOStatus NewRandomAccessFile(const std::string& name, const FileOptions&,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* out,
                               IODebugContext*) override {
    return open<RandomFile>(name, OpenMode::read, out);
  }
  IOStatus NewWritableFile(const std::string& name, const FileOptions&,
                           std::unique_ptr<rocksdb::FSWritableFile>* out,
                           IODebugContext*) override {
    return open_to_write(name, true, out);
  }
  IOStatus ReopenWritableFile(const std::string& name, const FileOptions&,
                              std::unique_ptr<rocksdb::FSWritableFile>* out,
                              IODebugContext*) override {
    return open_to_write(name, false, out);
  }
  IOStatus NewDirectory(const std::string& name, const IOOptions&,
                        std::unique_ptr<rocksdb::FSDirectory>* out, IODebugContext*) override {
    out->reset(new Directory(*io_, tidy(name), before_each_));
    return IOStatus::OK();
  }
  IOStatus FileExists(const std::string& name, const IOOptions&, IODebugContext*) override {
    const Result<bool> found = io_->exists(tidy(name));
    if (!found.ok()) return to_rocks(found.status());
    return found.value() ? IOStatus::OK() : IOStatus::NotFound(name);
  }
  IOStatus GetChildren(const std::string& name, const IOOptions&, std::vector<std::string>* out,
                       IODebugContext*) override {
    before_each_();
    Result<std::vector<std::string>> names = io_->list(tidy(name));
    if (!names.ok()) return to_rocks_lookup(names.status());
    *out = std::move(names).value();
    return IOStatus::OK();
  }
  IOStatus DeleteFile(const std::string& name, const IOOptions&, IODebugContext*) override {
    before_each_();
    return to_rocks(io_->unlink(tidy(name)));
  }
  IOStatus CreateDir(const std::string& name, const IOOptions& options,
                     IODebugContext* context) override {
    return CreateDirIfMissing(name, options, context);
  }
  IOStatus CreateDirIfMissing(const std::string& name, const IOOptions&, IODebugContext*) override {
    before_each_();
    return to_rocks(io_->make_dir(tidy(name)));
  }
  IOStatus DeleteDir(const std::string& name, const IOOptions&, IODebugContext*) override {
    return IOStatus::NotSupported(name);
  }
  IOStatus GetFileSize(const std::string& name, const IOOptions&, uint64_t* bytes,
                       IODebugContext*) override {
    before_each_();
    const auto file = io_->open(tidy(name), OpenMode::read);
    if (!file.ok()) return to_rocks(file.status());
    const Result<uint64_t> size = file.value()->size();
    if (!size.ok()) return to_rocks(size.status());
    *bytes = size.value();
    return IOStatus::OK();
  }
  IOStatus GetFileModificationTime(const std::string&, const IOOptions&, uint64_t* seconds,
                                   IODebugContext*) override {
    *seconds = 1'700'000'000;
    return IOStatus::OK();
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions&,
                      IODebugContext*) override {
    before_each_();
    return to_rocks(io_->rename(tidy(from), tidy(to)));
  }
  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions&,
                    IODebugContext*) override {
    before_each_();
    return to_rocks(disk_.link(tidy(from), tidy(to)));
  }
  IOStatus LockFile(const std::string& name, const IOOptions&, rocksdb::FileLock** out,
                    IODebugContext*) override {
    before_each_();
    const std::string path = tidy(name);
    if (!locks_.insert(path).second) return IOStatus::IOError("lock " + path + ": held");
    Result<std::unique_ptr<File>> file = io_->open(path, OpenMode::read_write);
    if (!file.ok()) file = io_->open(path, OpenMode::create);
    if (!file.ok()) {
      locks_.erase(path);
      return to_rocks(file.status());
    }
    *out = new Lock(path);
    return IOStatus::OK();
  }
  IOStatus UnlockFile(rocksdb::FileLock* lock, const IOOptions&, IODebugContext*) override {
    const std::unique_ptr<Lock> held(static_cast<Lock*>(lock));
    locks_.erase(held->path);
    return IOStatus::OK();
  }
  IOStatus GetTestDirectory(const IOOptions&, std::string*, IODebugContext*) override {
    return IOStatus::NotSupported("a directory for tests");
  }
  IOStatus GetAbsolutePath(const std::string& name, const IOOptions&, std::string* out,
                           IODebugContext*) override {
    *out = tidy(name);
    return IOStatus::OK();
  }
  IOStatus IsDirectory(const std::string& name, const IOOptions&, bool* is_directory,
                       IODebugContext*) override {
    const Result<std::vector<std::string>> names = io_->list(tidy(name));
    *is_directory = names.ok();
    return IOStatus::OK();
  }
  IOStatus GetFreeSpace(const std::string& name, const IOOptions&, uint64_t* bytes,
                        IODebugContext*) override {
    const Result<uint64_t> free = io_->free_bytes(tidy(name));
    *bytes = free.ok() ? free.value() : 0;
    return to_rocks(free.status());
  }

 private:
  Result<OpenFile> open_file(const std::string& name, OpenMode mode) {
    before_each_();
    WQ_TRY_SET(std::unique_ptr<File> file, io_->open(tidy(name), mode));
    WQ_TRY_SET(std::unique_ptr<IoQueue> queue, io_->open_queue());
    return OpenFile(std::move(queue), std::move(file), before_each_);
  }
  template <typename Kind, typename Base>
  IOStatus open(const std::string& name, OpenMode mode, std::unique_ptr<Base>* out) {
    Result<OpenFile> file = open_file(name, mode);
    if (!file.ok()) return to_rocks(file.status());
    out->reset(new Kind(std::move(file).value()));
    return IOStatus::OK();
  }
  IOStatus open_to_write(const std::string& name, bool empty,
                         std::unique_ptr<rocksdb::FSWritableFile>* out) {
    const Result<bool> exists = io_->exists(tidy(name));
    if (!exists.ok()) return to_rocks(exists.status());
    Result<OpenFile> file =
        open_file(name, exists.value() ? OpenMode::read_write : OpenMode::create);
    if (!file.ok()) return to_rocks(file.status());
    const Result<uint64_t> size = file.value().file().size();
    if (!size.ok()) return to_rocks(size.status());
    if (empty && size.value() > 0) {
      if (const Status cut = file.value().file().resize(0); !cut.ok()) return to_rocks(cut);
    }
    out->reset(new WritableFile(std::move(file).value(), empty ? 0 : size.value(), disk_));
    return IOStatus::OK();
  }

  SimDisk& disk_;
  const std::unique_ptr<Io> io_;
  std::function<void()> before_each_ = [] {};
  std::set<std::string> locks_;
};

// Where RocksDB's background work goes.
class SimRocks::Background final : public rocksdb::EnvWrapper {
 public:
  explicit Background(std::shared_ptr<Files> files) : EnvWrapper(rocksdb::NewCompositeEnv(files)) {
    files->set_before_each([this] { wait_for_flushes(); });
    file_system_ = std::move(files);
    system_clock_ = std::make_shared<FixedClock>();
    flusher_ = std::thread([this] { run_flushes(); });
  }
  ~Background() override {
    {
      MutexLock lock(mutex_);
      stopping_ = true;
      changed_.notify_all();
    }
    flusher_.join();
  }

  void Schedule(void (*run)(void*), void* argument, Priority priority, void* tag,
                void (*unschedule)(void*)) override {
    MutexLock lock(mutex_);
    (priority == HIGH || waiting_ ? flushes_ : later_)
        .push_back({run, argument, priority, tag, unschedule});
    changed_.notify_all();
  }
  int UnSchedule(void* tag, Priority priority) override {
    std::deque<Work> dropped;
    {
      MutexLock lock(mutex_);
      for (std::deque<Work>* works : {&flushes_, &later_}) {
        for (auto work = works->begin(); work != works->end();) {
          const bool drop = work->tag == tag && work->priority == priority;
          if (drop) dropped.push_back(*work);
          work = drop ? works->erase(work) : work + 1;
        }
      }
    }
    for (const Work& work : dropped) {
      if (work.unschedule) work.unschedule(work.argument);
    }
    return static_cast<int>(dropped.size());
  }
  rocksdb::Status GetHostName(char* name, uint64_t bytes) override {
    std::strncpy(name, "host", bytes);
    return rocksdb::Status::OK();
  }

  // The caller is going to wait for compactions, so they can not wait for the caller.
  void set_waiting(bool waiting) {
    MutexLock lock(mutex_);
    waiting_ = waiting;
  }

  // Carries out what was asked for. A compaction that finds no room asks for itself again, for
  // ever; RocksDB would sleep in between, here the rest waits for the next call of the store.
  void run_all() {
    constexpr int works_max = 64;
    for (int works = 0; works < works_max; ++works) {
      wait_for_flushes();
      Work work;
      {
        MutexLock lock(mutex_);
        if (later_.empty()) return;
        work = later_.front();
        later_.pop_front();
      }
      work.run(work.argument);
    }
  }

 private:
  struct Work {
    void (*run)(void*) = nullptr;
    void* argument = nullptr;
    Priority priority = LOW;
    void* tag = nullptr;
    void (*unschedule)(void*) = nullptr;
  };

  static bool& is_flusher() {
    thread_local bool flusher = false;
    return flusher;
  }
  // A flush may itself wait for the caller: for the barrier of a batch that is being written, say.
  // As nobody else is there, one that sleeps waits for the caller, who then goes on.
  void wait_for_flushes() {
    if (is_flusher()) return;
    constexpr int64_t look_again_ns = 200'000;
    MutexLock lock(mutex_);
    while (flushing_ || !flushes_.empty()) {
      if (flushing_ && flusher_sleeps()) return;
      changed_.wait_for_ns(mutex_, look_again_ns);
    }
  }
  bool flusher_sleeps() WQ_REQUIRES(mutex_) {
    const pid_t thread = flusher_id_;
    const MutexGap gap(mutex_);  // or it would sleep for want of it
    return sleeps(thread);
  }
  static bool sleeps(pid_t thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(file, text);
    const size_t name_end = text.rfind(") ");
    return name_end != std::string::npos && text.substr(name_end + 2, 1) == "S";
  }
  void run_flushes() {
    is_flusher() = true;
    MutexLock lock(mutex_);
    flusher_id_ = gettid();
    for (;;) {
      while (flushes_.empty() && !stopping_) changed_.wait(mutex_);
      if (stopping_) return;
      const Work work = flushes_.front();
      flushes_.pop_front();
      flushing_ = true;
      {
        const MutexGap gap(mutex_);
        work.run(work.argument);
      }
      flushing_ = false;
      changed_.notify_all();
    }
  }

  Mutex mutex_;
  CondVar changed_;
  std::deque<Work> flushes_ WQ_GUARDED_BY(mutex_);
  std::deque<Work> later_ WQ_GUARDED_BY(mutex_);
  bool flushing_ WQ_GUARDED_BY(mutex_) = false;
  pid_t flusher_id_ WQ_GUARDED_BY(mutex_) = 0;
  bool waiting_ WQ_GUARDED_BY(mutex_) = false;
  bool stopping_ WQ_GUARDED_BY(mutex_) = false;
  std::thread flusher_;
};

class SimRocks::SteppedCheckpoint final : public CheckpointWrapper {
 public:
  SteppedCheckpoint(std::unique_ptr<Checkpoint> inner, Background& background)
      : CheckpointWrapper(std::move(inner)), background_(background) {}
  Status commit() override {
    Status status = CheckpointWrapper::commit();
    background_.run_all();
    return status;
  }

 private:
  Background& background_;
};

class SimRocks::SteppedStore final : public StoreWrapper {
 public:
  SteppedStore(std::unique_ptr<Store> inner, Background& background)
      : StoreWrapper(std::move(inner)), background_(background) {
    background_.run_all();
  }
  ~SteppedStore() override { close().ignore("a destructor has nobody to tell"); }
  Result<std::unique_ptr<Checkpoint>> begin_checkpoint(uint64_t expected_rows) override {
    WQ_TRY_SET(std::unique_ptr<Checkpoint> begun, StoreWrapper::begin_checkpoint(expected_rows));
    return std::unique_ptr<Checkpoint>(
        std::make_unique<SteppedCheckpoint>(std::move(begun), background_));
  }
  Status reclaim(Family family, std::string_view begin, std::string_view end) override {
    Status status = StoreWrapper::reclaim(family, begin, end);
    background_.run_all();
    return status;
  }
  Status shrink(uint64_t free_bytes, uint64_t job_bytes) override {
    background_.set_waiting(true);  // it waits for compactions
    Status status = StoreWrapper::shrink(free_bytes, job_bytes);
    background_.set_waiting(false);
    background_.run_all();
    return status;
  }
  Status close() override {
    background_.run_all();
    return StoreWrapper::close();
  }

 private:
  Background& background_;
};

SimRocks::SimRocks(SimDisk& disk)
    : background_(std::make_unique<Background>(std::make_shared<Files>(disk))) {}
SimRocks::~SimRocks() = default;

Result<std::unique_ptr<Store>> SimRocks::open(const StoreOptions& options) {
  StoreOptions with_env = options;
  with_env.env = background_.get();
  WQ_TRY_SET(std::unique_ptr<Store> store, open_rocks_store(with_env));
  return std::unique_ptr<Store>(std::make_unique<SteppedStore>(std::move(store), *background_));
}

}  // namespace wq
