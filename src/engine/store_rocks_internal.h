// What the parts of the RocksDB store share. RocksDB's types are only named here; its headers are
// included by the three store_rocks files alone.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "engine/store.h"

namespace rocksdb {
class Cache;
class ColumnFamilyHandle;
class DB;
class Env;
class EventListener;
class Logger;
class Status;
struct ColumnFamilyOptions;
struct DBOptions;
}  // namespace rocksdb

namespace wq {

// A batch stands in memory twice, as batch and in the memtables, so one that grows past this is
// turned into files.
constexpr uint64_t batch_bytes_max = 8ull << 20;

// The first failure that makes the store unusable, kept for ever.
class FailureLatch {
 public:
  void set(Status failure);
  Status get() const;

 private:
  std::atomic<bool> failed_{false};  // mirrors first_ for the quick check; set under the mutex
  mutable Mutex mutex_;              // leaf
  Status first_ WQ_GUARDED_BY(mutex_);
};

// How many reads of RocksDB's tables and blob files have failed, and what was said of the last one.
// Any thread.
class ReadFailures {
 public:
  void add(const rocksdb::Status& failure) noexcept;
  uint64_t count() const { return count_.load(std::memory_order_relaxed); }
  std::string last() const;  // of whatever thread; empty if there was no memory for it

 private:
  // Relaxed: a walk that is misled is so by a read of its own thread.
  std::atomic<uint64_t> count_{0};
  mutable Mutex mutex_;  // leaf
  std::string last_ WQ_GUARDED_BY(mutex_);
};

// In place of a walk that could not begin.
class FailedCursor final : public Cursor {
 public:
  explicit FailedCursor(Status status) : status_(std::move(status)) {}
  bool valid() const override { return false; }
  std::string_view key() const override { return {}; }
  std::string_view value() const override { return {}; }
  void next() override {}
  void seek(std::string_view /*target*/) override {}
  Status status() const override { return status_; }

 private:
  Status status_;
};

struct KeyRange {
  std::string begin;
  std::string end;
};

// What range erases have left for compaction to clean up in one family.
struct ErasedSpan {
  uint64_t ranges = 0;
  std::string begin;
  std::string end;
};

// The open database. The handles and the DB belong to RocksStore; checkpoints borrow them.
// Everything that is not atomic or const is touched by the one checkpoint or reclaim at a time
// only.
struct RocksCore {
  StoreOptions options;
  std::unique_ptr<rocksdb::Env> env;  // what db works through; outlives it
  rocksdb::DB* db = nullptr;
  rocksdb::ColumnFamilyHandle* handles[family_count] = {};
  std::shared_ptr<rocksdb::Cache> cache;
  std::shared_ptr<FailureLatch> latch = std::make_shared<FailureLatch>();
  std::shared_ptr<ReadFailures> read_failures = std::make_shared<ReadFailures>();
  std::atomic<uint64_t> checkpoints_ingested{0};
  std::atomic<uint64_t> checkpoints_written{0};
  uint64_t next_file_number = 1;  // of files under construction
  bool wal_in_use = false;        // a batch was written since the last flush
  ErasedSpan erased[family_count];

  rocksdb::ColumnFamilyHandle* handle(Family family) const {
    return handles[static_cast<size_t>(family)];
  }
};

// ---- store_rocks_options.cc

Status status_from_rocks(const rocksdb::Status& status, std::string_view what) noexcept;
std::string readable_rocks_text(std::string text);
// Our own files are touched through it; RocksDB's through make_rocks_env() of it.
rocksdb::Env& rocks_env(const StoreOptions& options);
rocksdb::DBOptions rocks_db_options(const StoreOptions& options,
                                    const std::shared_ptr<FailureLatch>& latch);
rocksdb::ColumnFamilyOptions rocks_family_options(Family family, uint64_t buffer_bytes,
                                                  const std::shared_ptr<rocksdb::Cache>& cache);
// ---- store_guarded.cc

// Made from inside the exit gate.
std::unique_ptr<Store> guarded_store(std::unique_ptr<Store> store);

// ---- store_rocks_env.cc

std::unique_ptr<rocksdb::Env> make_rocks_env(rocksdb::Env& base,
                                             std::shared_ptr<ReadFailures> failures);
// check_manifest() of the manifest that CURRENT names. Other damage of the two is RocksDB's to
// find.
Status check_current_manifest(rocksdb::Env& env, const std::string& directory);

// ---- store_rocks_options.cc

std::shared_ptr<rocksdb::Cache> make_rocks_cache(uint64_t cache_bytes);
// Where one file of a family ends and the next begins.
uint64_t rocks_file_bytes(Family family, uint64_t buffer_bytes);

// ---- store_rocks_checkpoint.cc

std::unique_ptr<Checkpoint> make_rocks_checkpoint(RocksCore& core, uint64_t expected_rows);
// Gives back the space of ranges that range tombstones already cover durably: whole files inside
// them at once, the rest by compaction now and then.
Status drop_covered_files(RocksCore& core, Family family, const std::vector<KeyRange>& ranges);
Status make_private_directory(const StoreOptions& options, const std::string& directory);
Status remove_temp_files(const StoreOptions& options);

}  // namespace wq
