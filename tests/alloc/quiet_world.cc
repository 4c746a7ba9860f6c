#include "alloc/quiet_world.h"

#include <string>
#include <utility>
#include <vector>

#include "alloc/alloc_fault.h"

namespace wq {
namespace {

class QuietFile final : public File {
 public:
  explicit QuietFile(std::unique_ptr<File> inner) : inner_(std::move(inner)) {}
  ~QuietFile() override {
    const Quiet quiet;
    inner_.reset();
  }
  const std::string& path() const override { return inner_->path(); }
  Result<uint64_t> size() override {
    const Quiet quiet;
    return inner_->size();
  }
  Result<uint64_t> allocated_bytes() override {
    const Quiet quiet;
    return inner_->allocated_bytes();
  }
  Status resize(uint64_t bytes) override {
    const Quiet quiet;
    return inner_->resize(bytes);
  }
  Status sync() override {
    const Quiet quiet;
    return inner_->sync();
  }
  File* inner() { return inner_.get(); }

 private:
  std::unique_ptr<File> inner_;
};

class QuietQueue final : public IoQueue {
 public:
  explicit QuietQueue(std::unique_ptr<IoQueue> inner) : inner_(std::move(inner)) {}
  ~QuietQueue() override {
    const Quiet quiet;
    inner_.reset();
  }
  void submit(IoOp& op) override {
    const Quiet quiet;
    // A retry brings the operation with the inner file in it already.
    if (auto* wrapped = dynamic_cast<QuietFile*>(op.file)) op.file = wrapped->inner();
    inner_->submit(op);
  }
  void wait(size_t count) override {
    const Quiet quiet;
    inner_->wait(count);
  }
  size_t in_flight() const override { return inner_->in_flight(); }

 private:
  std::unique_ptr<IoQueue> inner_;
};

class QuietIo final : public Io {
 public:
  explicit QuietIo(std::unique_ptr<Io> inner) : inner_(std::move(inner)) {}
  const char* name() const override { return inner_->name(); }
  Result<std::unique_ptr<File>> open(const std::string& path, OpenMode mode) override {
    const Quiet quiet;
    auto opened = inner_->open(path, mode);
    if (!opened.ok()) return opened;
    return std::unique_ptr<File>(std::make_unique<QuietFile>(std::move(opened).value()));
  }
  Result<std::unique_ptr<IoQueue>> open_queue() override {
    const Quiet quiet;
    auto opened = inner_->open_queue();
    if (!opened.ok()) return opened;
    return std::unique_ptr<IoQueue>(std::make_unique<QuietQueue>(std::move(opened).value()));
  }
  Status make_dir(const std::string& path) override {
    const Quiet quiet;
    return inner_->make_dir(path);
  }
  Result<std::vector<std::string>> list(const std::string& directory) override {
    const Quiet quiet;
    return inner_->list(directory);
  }
  Result<bool> exists(const std::string& path) override {
    const Quiet quiet;
    return inner_->exists(path);
  }
  Status rename(const std::string& from, const std::string& to) override {
    const Quiet quiet;
    return inner_->rename(from, to);
  }
  Status remove_dir(const std::string& path) override {
    const Quiet quiet;
    return inner_->remove_dir(path);
  }
  Status unlink(const std::string& path) override {
    const Quiet quiet;
    return inner_->unlink(path);
  }
  Status sync_dir(const std::string& directory) override {
    const Quiet quiet;
    return inner_->sync_dir(directory);
  }
  Result<uint64_t> free_bytes(const std::string& path) override {
    const Quiet quiet;
    return inner_->free_bytes(path);
  }
  Result<uint64_t> capacity_bytes(const std::string& path) override {
    const Quiet quiet;
    return inner_->capacity_bytes(path);
  }
  Result<std::string> network_file_system(const std::string& path) override {
    const Quiet quiet;
    return inner_->network_file_system(path);
  }
  Result<std::unique_ptr<DirLock>> lock_dir(const std::string& directory) override {
    const Quiet quiet;
    return inner_->lock_dir(directory);
  }

 private:
  const std::unique_ptr<Io> inner_;
};

class QuietCheckpoint final : public Checkpoint {
 public:
  explicit QuietCheckpoint(std::unique_ptr<Checkpoint> inner) : inner_(std::move(inner)) {}
  ~QuietCheckpoint() override {
    const Quiet quiet;
    inner_.reset();
  }
  Status put(Family family, std::string_view key, std::string_view value) override {
    const Quiet quiet;
    return inner_->put(family, key, value);
  }
  Status erase(Family family, std::string_view key) override {
    const Quiet quiet;
    return inner_->erase(family, key);
  }
  Status erase_range(Family family, std::string_view begin, std::string_view end) override {
    const Quiet quiet;
    return inner_->erase_range(family, begin, end);
  }
  uint64_t commit_bytes() const override {
    const Quiet quiet;
    return inner_->commit_bytes();
  }
  Status commit() override {
    const Quiet quiet;
    return inner_->commit();
  }

 private:
  std::unique_ptr<Checkpoint> inner_;
};

class QuietCursor final : public Cursor {
 public:
  explicit QuietCursor(std::unique_ptr<Cursor> inner) : inner_(std::move(inner)) {}
  ~QuietCursor() override {
    const Quiet quiet;
    inner_.reset();
  }
  bool valid() const override { return inner_->valid(); }
  std::string_view key() const override { return inner_->key(); }
  std::string_view value() const override { return inner_->value(); }
  void next() override {
    const Quiet quiet;
    inner_->next();
  }
  void seek(std::string_view target) override {
    const Quiet quiet;
    inner_->seek(target);
  }
  Status status() const override { return inner_->status(); }

 private:
  std::unique_ptr<Cursor> inner_;
};

class QuietStore final : public Store {
 public:
  explicit QuietStore(std::unique_ptr<Store> inner) : inner_(std::move(inner)) {}
  ~QuietStore() override {
    const Quiet quiet;
    inner_.reset();
  }
  Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
    const Quiet quiet;
    return inner_->get(family, key);
  }
  std::unique_ptr<Cursor> scan(Family family, std::string_view lower, std::string_view upper,
                               bool descending) const override {
    const Quiet quiet;
    return std::make_unique<QuietCursor>(inner_->scan(family, lower, upper, descending));
  }
  Result<std::unique_ptr<Checkpoint>> begin_checkpoint(uint64_t expected_rows) override {
    const Quiet quiet;
    auto begun = inner_->begin_checkpoint(expected_rows);
    if (!begun.ok()) return begun;
    return std::unique_ptr<Checkpoint>(std::make_unique<QuietCheckpoint>(std::move(begun).value()));
  }
  Status reclaim(Family family, std::string_view begin, std::string_view end) override {
    const Quiet quiet;
    return inner_->reclaim(family, begin, end);
  }
  Status shrink(uint64_t free_bytes, uint64_t job_bytes) override {
    const Quiet quiet;
    return inner_->shrink(free_bytes, job_bytes);
  }
  Result<std::unique_ptr<HeldFiles>> hold_files() override {
    const Quiet quiet;
    return inner_->hold_files();
  }
  Status failure() const override { return inner_->failure(); }
  StoreStats stats() const override {
    const Quiet quiet;
    return inner_->stats();
  }
  Status close() override {
    const Quiet quiet;
    return inner_->close();
  }

 private:
  std::unique_ptr<Store> inner_;
};

}  // namespace

std::unique_ptr<Io> quiet_io(std::unique_ptr<Io> inner) {
  const Quiet quiet;
  return std::make_unique<QuietIo>(std::move(inner));
}

std::unique_ptr<Store> quiet_store(std::unique_ptr<Store> inner) {
  const Quiet quiet;
  return std::make_unique<QuietStore>(std::move(inner));
}

}  // namespace wq
