// A store behind the exit gate: each call into RocksDB is a stay inside, and what is made by it is
// destroyed inside or, when the process is exiting, not at all.
// Thread model: as the store's.
#include <utility>

#include "engine/exit_gate.h"
#include "engine/store_rocks_internal.h"

namespace wq {
namespace {

// Destroys what it points to inside the gate.
template <typename T>
class Guarded {
 public:
  explicit Guarded(std::unique_ptr<T> owned) : owned_(std::move(owned)) {}
  Guarded(Guarded&&) = delete;
  Guarded& operator=(Guarded&&) = delete;
  ~Guarded() {
    const GateStay stay;
    if (stay.ok()) owned_.reset();
    static_cast<void>(owned_.release());  // who takes RocksDB down does not look
  }
  T* operator->() const { return owned_.get(); }

 private:
  std::unique_ptr<T> owned_;
};

class GuardedCursor final : public Cursor {
 public:
  explicit GuardedCursor(std::unique_ptr<Cursor> cursor) : cursor_(std::move(cursor)) {}

  bool valid() const override { return refused_.ok() && cursor_->valid(); }
  std::string_view key() const override { return cursor_->key(); }
  std::string_view value() const override { return cursor_->value(); }
  void next() override {
    const GateStay stay;
    refused_ = stay.status();
    if (stay.ok()) cursor_->next();
  }
  void seek(std::string_view target) override {
    const GateStay stay;
    refused_ = stay.status();
    if (stay.ok()) cursor_->seek(target);
  }
  Status status() const override { return refused_.ok() ? cursor_->status() : refused_; }

 private:
  Guarded<Cursor> cursor_;
  Status refused_;  // once the process is exiting
};

class GuardedCheckpoint final : public Checkpoint {
 public:
  explicit GuardedCheckpoint(std::unique_ptr<Checkpoint> checkpoint)
      : checkpoint_(std::move(checkpoint)) {}

  Status put(Family family, std::string_view key, std::string_view value) override {
    const GateStay stay;
    return stay.ok() ? checkpoint_->put(family, key, value) : stay.status();
  }
  Status erase(Family family, std::string_view key) override {
    const GateStay stay;
    return stay.ok() ? checkpoint_->erase(family, key) : stay.status();
  }
  Status erase_range(Family family, std::string_view begin, std::string_view end) override {
    const GateStay stay;
    return stay.ok() ? checkpoint_->erase_range(family, begin, end) : stay.status();
  }
  uint64_t commit_bytes() const override {
    const GateStay stay;
    return stay.ok() ? checkpoint_->commit_bytes() : 0;
  }
  Status commit() override {
    const GateStay stay;
    return stay.ok() ? checkpoint_->commit() : stay.status();
  }

 private:
  Guarded<Checkpoint> checkpoint_;
};

class GuardedFiles final : public HeldFiles {
 public:
  explicit GuardedFiles(std::unique_ptr<HeldFiles> held) : held_(std::move(held)) {
    files = std::move(held_->files);
  }

 private:
  Guarded<HeldFiles> held_;
};

class GuardedStore final : public Store {
 public:
  explicit GuardedStore(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
    const GateStay stay;
    WQ_TRY(stay.status());
    return store_->get(family, key);
  }
  std::unique_ptr<Cursor> scan(Family family, std::string_view lower, std::string_view upper,
                               bool descending) const override {
    const GateStay stay;
    if (!stay.ok()) return std::make_unique<FailedCursor>(stay.status());
    return std::make_unique<GuardedCursor>(store_->scan(family, lower, upper, descending));
  }
  Result<std::unique_ptr<Checkpoint>> begin_checkpoint(uint64_t expected_rows) override {
    const GateStay stay;
    WQ_TRY(stay.status());
    WQ_TRY_SET(std::unique_ptr<Checkpoint> begun, store_->begin_checkpoint(expected_rows));
    return std::unique_ptr<Checkpoint>(std::make_unique<GuardedCheckpoint>(std::move(begun)));
  }
  Status reclaim(Family family, std::string_view begin, std::string_view end) override {
    const GateStay stay;
    return stay.ok() ? store_->reclaim(family, begin, end) : stay.status();
  }
  Result<std::unique_ptr<HeldFiles>> hold_files() override {
    const GateStay stay;
    WQ_TRY(stay.status());
    WQ_TRY_SET(std::unique_ptr<HeldFiles> held, store_->hold_files());
    return std::unique_ptr<HeldFiles>(std::make_unique<GuardedFiles>(std::move(held)));
  }
  Status shrink(uint64_t free_bytes, uint64_t job_bytes) override {
    const GateStay stay;
    return stay.ok() ? store_->shrink(free_bytes, job_bytes) : stay.status();
  }
  Status failure() const override { return store_->failure(); }
  StoreStats stats() const override {
    const GateStay stay;
    return stay.ok() ? store_->stats() : StoreStats();
  }
  Status close() override {
    const GateStay stay;
    return stay.ok() ? store_->close() : stay.status();
  }

 private:
  Guarded<Store> store_;
};

}  // namespace

std::unique_ptr<Store> guarded_store(std::unique_ptr<Store> store) {
  return std::make_unique<GuardedStore>(std::move(store));
}

}  // namespace wq
