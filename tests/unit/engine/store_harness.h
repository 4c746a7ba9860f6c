// Opens a store of either kind in a fresh place and closes and reopens it there.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "base/codec.h"
#include "engine/store.h"

namespace wq {

enum class StoreKind { mem, rocks };

inline std::string store_kind_name(const testing::TestParamInfo<StoreKind>& info) {
  return info.param == StoreKind::mem ? "Mem" : "Rocks";
}

// Forces a road whatever the rows turn out to be; the memory store does not care.
constexpr uint64_t by_batch = 1;
constexpr uint64_t by_files = uint64_t{1} << 32;

class StoreHarness {
 public:
  // An empty name takes a directory of its own.
  explicit StoreHarness(StoreKind kind, std::string directory = {}) : kind_(kind) {
    if (directory.empty()) {
      static int number = 0;
      directory = testing::TempDir() + "/store-" + std::to_string(++number);
    }
    std::filesystem::create_directories(directory);
    options_.directory = directory + "/db";
    options_.temp_directory = directory + "/tmp";
  }

  StoreOptions& options() { return options_; }
  const std::string& directory() const { return options_.directory; }
  Store& store() { return *store_; }
  Store* operator->() { return store_.get(); }

  Status open() {
    auto opened = kind_ == StoreKind::mem ? open_mem_store(content_) : open_rocks_store(options_);
    if (!opened.ok()) return opened.take_status();
    store_ = std::move(opened).value();
    return {};
  }
  Status close() {
    Status status = store_ ? store_->close() : Status();
    store_.reset();
    return status;
  }
  Status reopen() {
    WQ_TRY(close());
    return open();
  }

 private:
  const StoreKind kind_;
  StoreOptions options_;
  std::shared_ptr<MemStoreContent> content_ = make_mem_store_content();
  std::unique_ptr<Store> store_;
};

// "" if there is no such row; the tests write no empty values where they use it.
inline std::string read_row(const Store& store, Family family, std::string_view key) {
  const auto row = store.get(family, key);
  if (!row.ok()) return "error: " + row.status().message();
  return row.value().value_or("");
}

inline std::string row_key(uint64_t number) {
  std::string key = "r";
  put_be64(key, number);
  return key;
}

}  // namespace wq
