// A Store around another one, which hands every call on: a test overrides the calls that it wants
// to watch, count or fail, and a call that Store gains one day is handed on without being asked.
// Thread model: that of the store within.
#pragma once

#include <memory>
#include <utility>

#include "engine/store.h"

namespace wq {

class CheckpointWrapper : public Checkpoint {
 public:
  explicit CheckpointWrapper(std::unique_ptr<Checkpoint> inner) : inner_(std::move(inner)) {}
  Status put(Family family, std::string_view key, std::string_view value) override {
    return inner_->put(family, key, value);
  }
  Status erase(Family family, std::string_view key) override { return inner_->erase(family, key); }
  Status erase_range(Family family, std::string_view begin, std::string_view end) override {
    return inner_->erase_range(family, begin, end);
  }
  uint64_t commit_bytes() const override { return inner_->commit_bytes(); }
  Status commit() override { return inner_->commit(); }

 private:
  std::unique_ptr<Checkpoint> inner_;
};

class StoreWrapper : public Store {
 public:
  explicit StoreWrapper(std::unique_ptr<Store> inner) : inner_(std::move(inner)) {}
  Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
    return inner_->get(family, key);
  }
  std::unique_ptr<Cursor> scan(Family family, std::string_view lower, std::string_view upper,
                               bool descending) const override {
    return inner_->scan(family, lower, upper, descending);
  }
  Result<std::unique_ptr<Checkpoint>> begin_checkpoint(uint64_t expected_rows) override {
    return inner_->begin_checkpoint(expected_rows);
  }
  Status reclaim(Family family, std::string_view begin, std::string_view end) override {
    return inner_->reclaim(family, begin, end);
  }
  Result<std::unique_ptr<HeldFiles>> hold_files() override { return inner_->hold_files(); }
  Status shrink(uint64_t free_bytes, uint64_t job_bytes) override {
    return inner_->shrink(free_bytes, job_bytes);
  }
  Status failure() const override { return inner_->failure(); }
  StoreStats stats() const override { return inner_->stats(); }
  Status close() override { return inner_->close(); }

 private:
  std::unique_ptr<Store> inner_;
};

}  // namespace wq
