// Linked into crash_point_child, which is crash_child with named places where it kills itself: the
// linker's --wrap puts an Io and a Store around the real ones that wq_store_open makes, so nothing
// of it is in the library. WQ_KILL_POINT names the place, WQ_KILL_HIT says which of its hits (from
// 1). Before it dies the process tells its pipe "D name". The places:
//   write.before write.half write.after       bytes of the log or of a segment's header
//   barrier.before barrier.after              fdatasync, or the write that is its own barrier
//   record.T.before record.T.after            a write with a record of type T in it
//   sync.before sync.after                    fsync of a file
//   create.after resize.after                 a new log file
//   rename.before rename.after                rotation, spare segments, FORMAT
//   unlink.before unlink.after                release of log segments, temp files
//   sync_dir.before sync_dir.after
//   checkpoint.begin checkpoint.before checkpoint.after      commit of a checkpoint to RocksDB
//   reclaim.before reclaim.after              rows of cleared queues
// Thread model: any thread of the store.
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/record.h"
#include "io/frame.h"
#include "io/io.h"
#include "support/store_wrapper.h"

namespace wq {
namespace {

void point(std::string_view name) {
  static const char* const wanted = std::getenv("WQ_KILL_POINT");
  static const char* const hit = std::getenv("WQ_KILL_HIT");
  static std::atomic<long> left{hit ? std::atol(hit) : 1};
  if (!wanted || name != wanted || left.fetch_sub(1) != 1) return;
  const std::string line = "D " + std::string(name) + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) > 0) ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

// The types of the records that a group of frames holds.
std::vector<std::string> record_types(const IoOp& op) {
  std::vector<std::string> types;
  Command command;
  for (size_t at = 0; at + frame_header_bytes <= op.bytes;) {
    const std::byte* const frame = op.data + at;
    const auto body_bytes = load_le<uint32_t>(frame + 8);
    const uint64_t bytes = frame_bytes(body_bytes);
    if (body_bytes == 0 || bytes > op.bytes - at) break;
    if (!decode_command({frame + frame_header_bytes, body_bytes}, command).ok()) break;
    types.emplace_back(command_type_name(command.type));
    at += static_cast<size_t>(bytes);
  }
  return types;
}

class PointFile final : public File {
 public:
  explicit PointFile(std::unique_ptr<File> inner) : inner_(std::move(inner)) {}
  const std::string& path() const override { return inner_->path(); }
  Result<uint64_t> size() override { return inner_->size(); }
  Result<uint64_t> allocated_bytes() override { return inner_->allocated_bytes(); }
  Status resize(uint64_t bytes) override {
    Status status = inner_->resize(bytes);
    point("resize.after");
    return status;
  }
  Status sync() override {
    point("sync.before");
    Status status = inner_->sync();
    point("sync.after");
    return status;
  }
  File* inner() { return inner_.get(); }

 private:
  const std::unique_ptr<File> inner_;
};

class PointQueue final : public IoQueue {
 public:
  explicit PointQueue(std::unique_ptr<IoQueue> inner) : inner_(std::move(inner)) {}

  void submit(IoOp& op) override {
    if (auto* file = dynamic_cast<PointFile*>(op.file)) op.file = file->inner();
    if (op.kind != IoKind::read) {
      before(op);
      pending_.push_back(&op);
    }
    inner_->submit(op);
  }
  void wait(size_t count) override {
    inner_->wait(count);
    std::erase_if(pending_, [this](IoOp* op) {
      if (!op->done) return false;
      after(*op);
      return true;
    });
  }
  size_t in_flight() const override { return inner_->in_flight(); }

 private:
  static bool writes(const IoOp& op) {
    return op.kind == IoKind::write || op.kind == IoKind::write_dsync;
  }
  void before(const IoOp& op) {
    if (writes(op)) {
      point("write.before");
      types_ = record_types(op);
      for (const std::string& type : types_) point("record." + type + ".before");
      tear(op);
    }
    if (op.kind != IoKind::write) point("barrier.before");
  }
  void after(const IoOp& op) {
    if (writes(op)) {
      point("write.after");
      for (const std::string& type : types_) point("record." + type + ".after");
    }
    if (op.kind != IoKind::write) point("barrier.after");
  }
  // The kernel gets the first half of it.
  void tear(const IoOp& op) {
    static const char* const wanted = std::getenv("WQ_KILL_POINT");
    if (!wanted || std::string_view(wanted) != "write.half") return;
    IoOp half = op;
    half.kind = IoKind::write;
    half.bytes = op.bytes / 2 / io_block_bytes * io_block_bytes;
    if (half.bytes == 0 || in_flight() != 0) return;
    inner_->submit(half);
    inner_->wait(1);
    point("write.half");
  }

  const std::unique_ptr<IoQueue> inner_;
  std::vector<IoOp*> pending_;
  std::vector<std::string> types_;
};

class PointIo final : public Io {
 public:
  explicit PointIo(std::unique_ptr<Io> inner) : inner_(std::move(inner)) {}
  const char* name() const override { return inner_->name(); }
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    auto opened = inner_->open(path, mode);
    if (!opened.ok()) return opened;
    if (mode == OpenMode::create) point("create.after");
    return std::unique_ptr<File>(std::make_unique<PointFile>(std::move(opened).value()));
  }
  Result<std::unique_ptr<IoQueue>> open_queue() override {
    auto opened = inner_->open_queue();
    if (!opened.ok()) return opened;
    return std::unique_ptr<IoQueue>(std::make_unique<PointQueue>(std::move(opened).value()));
  }
  Status make_dir(const std::string& path) override { return inner_->make_dir(path); }
  Result<std::vector<std::string>> list(const std::string& directory) override {
    return inner_->list(directory);
  }
  Result<bool> exists(const std::string& path) override { return inner_->exists(path); }
  Status rename(const std::string& from, const std::string& to) override {
    point("rename.before");
    Status status = inner_->rename(from, to);
    point("rename.after");
    return status;
  }
  Status remove_dir(const std::string& path) override { return inner_->remove_dir(path); }
  Status unlink(const std::string& path) override {
    point("unlink.before");
    Status status = inner_->unlink(path);
    point("unlink.after");
    return status;
  }
  Status sync_dir(const std::string& directory) override {
    point("sync_dir.before");
    Status status = inner_->sync_dir(directory);
    point("sync_dir.after");
    return status;
  }
  Result<uint64_t> free_bytes(const std::string& path) override { return inner_->free_bytes(path); }
  Result<uint64_t> capacity_bytes(const std::string& path) override {
    return inner_->capacity_bytes(path);
  }
  Result<std::string> network_file_system(const std::string& path) override {
    return inner_->network_file_system(path);
  }
  Result<std::unique_ptr<DirLock>> lock_dir(const std::string& directory) override {
    return inner_->lock_dir(directory);
  }

 private:
  const std::unique_ptr<Io> inner_;
};

class PointCheckpoint final : public CheckpointWrapper {
 public:
  using CheckpointWrapper::CheckpointWrapper;
  Status commit() override {
    point("checkpoint.before");
    Status status = CheckpointWrapper::commit();
    point("checkpoint.after");
    return status;
  }
};

class PointStore final : public StoreWrapper {
 public:
  using StoreWrapper::StoreWrapper;
  Result<std::unique_ptr<Checkpoint>> begin_checkpoint(uint64_t expected_rows) override {
    point("checkpoint.begin");
    WQ_TRY_SET(auto begun, StoreWrapper::begin_checkpoint(expected_rows));
    return std::unique_ptr<Checkpoint>(std::make_unique<PointCheckpoint>(std::move(begun)));
  }
  Status reclaim(Family family, std::string_view begin, std::string_view end) override {
    point("reclaim.before");
    Status status = StoreWrapper::reclaim(family, begin, end);
    point("reclaim.after");
    return status;
  }
};

using OpenedIo = Result<std::unique_ptr<Io>>;
using OpenedStore = Result<std::unique_ptr<Store>>;

}  // namespace

OpenedIo real_make_io(IoBackend backend) asm("__real__ZN2wq7make_ioENS_9IoBackendE");
OpenedStore real_open_store(const StoreOptions& options) asm(
    "__real__ZN2wq16open_rocks_storeERKNS_12StoreOptionsE");

OpenedIo point_make_io(IoBackend backend) asm("__wrap__ZN2wq7make_ioENS_9IoBackendE");
OpenedIo point_make_io(IoBackend backend) {
  OpenedIo made = real_make_io(backend);
  if (!made.ok()) return made;
  return std::unique_ptr<Io>(std::make_unique<PointIo>(std::move(made).value()));
}

OpenedStore point_open_store(const StoreOptions& options) asm(
    "__wrap__ZN2wq16open_rocks_storeERKNS_12StoreOptionsE");
OpenedStore point_open_store(const StoreOptions& options) {
  OpenedStore opened = real_open_store(options);
  if (!opened.ok()) return opened;
  return std::unique_ptr<Store>(std::make_unique<PointStore>(std::move(opened).value()));
}

}  // namespace wq
