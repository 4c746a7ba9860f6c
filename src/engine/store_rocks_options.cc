// How RocksDB is set up (DESIGN D1, D7): flat memory, few files and threads, damage noticed,
// nothing kept running by itself. Also the mapping of its errors and the listener for its
// background ones. RocksDB's virtual classes are subclassed in this file only.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>
#include <rocksdb/write_buffer_manager.h>

#include "engine/store_rocks_internal.h"

#include "base/errno_advice.h"
#include "base/planted.h"

namespace wq {
namespace {

constexpr uint64_t kib = 1024;
constexpr uint64_t mib = 1024 * kib;

constexpr int open_files_max = 256;
constexpr uint64_t manifest_bytes_max = 16 * mib;
constexpr uint64_t blob_bytes_min = 4 * kib;
// A file with this many tombstones among so many neighbours is compacted though it need not be.
constexpr size_t deletion_window = 4'096;
constexpr size_t deletion_trigger = 2'048;

class FailureListener final : public rocksdb::EventListener {
 public:
  explicit FailureListener(std::shared_ptr<FailureLatch> latch) : latch_(std::move(latch)) {}

  void OnBackgroundError(rocksdb::BackgroundErrorReason reason, rocksdb::Status* error) override {
    // A compaction without room leaves everything as it was, and RocksDB tries it again.
    if (reason == rocksdb::BackgroundErrorReason::kCompaction && error->IsNoSpace()) {
      *error = rocksdb::Status::OK();
      return;
    }
    latch_->set(status_from_rocks(*error, "background work"));
  }

 private:
  std::shared_ptr<FailureLatch> latch_;
};

// RocksDB's own logger writes a file, which read-only opening must not do, and asserts when that
// file can not grow: with the assertions of Debian's library a full disk would abort the host. What
// matters reaches us as a status or through the listener.
class SilentLogger final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char* /*format*/, va_list /*arguments*/) override {}
};

bool is_point_heavy(Family family) {
  return family == Family::job || family == Family::ready || family == Family::lease ||
         family == Family::delay;
}

rocksdb::BlockBasedTableOptions table_options(Family family,
                                              const std::shared_ptr<rocksdb::Cache>& cache) {
  rocksdb::BlockBasedTableOptions table;
  table.block_cache = cache;
  table.cache_index_and_filter_blocks = true;
  table.checksum = rocksdb::kXXH3;
  table.format_version = 5;
  table.block_size = 16 * kib;
  // Ids and sequence numbers grow, so the key ranges of files tell more than a filter would: none.
  table.filter_policy = nullptr;
  if (family == Family::job) {
    // 100 million jobs have hundreds of MiB of index: only its top level stays in memory.
    table.index_type = rocksdb::BlockBasedTableOptions::kTwoLevelIndexSearch;
    table.metadata_block_size = 4 * kib;
    table.pin_top_level_index_and_filter = true;
  }
  return table;
}

Code code_of(const rocksdb::Status& status) {
  if (status.IsNoSpace()) return Code::no_space;
  // A file that others of the database name and that is not there is damage, not a failing device.
  if (status.IsCorruption() || status.IsPathNotFound()) return Code::corrupt;
  if (status.IsMemoryLimit()) return Code::no_memory;
  if (status.IsShutdownInProgress()) return Code::closed;
  return Code::io;
}

}  // namespace

// RocksDB repeats its prefix, and joins a file name to a text without a blank. Of an errno it keeps
// the text alone.
std::string readable_rocks_text(std::string text) {
  constexpr std::string_view prefix = "Corruption: ", joint = "sstable";
  while (text.starts_with(std::string(prefix) + std::string(prefix))) text.erase(0, prefix.size());
  const size_t end = text.find(joint) + joint.size();
  if (text.find(joint) != text.npos && end < text.size() && text[end] != ' ') {
    text.insert(end, ": ");
  }
  const char* const too_many = std::strerror(EMFILE);
  if (text.find(too_many) == text.npos) return text;
  // In front: behind the path it may be cut off (wq_error.message).
  return too_many + std::string(advice_on_errno(EMFILE)) + ": " + text;
}

void FailureLatch::set(Status failure) {
  MutexLock lock(mutex_);
  if (failed_.load(std::memory_order_relaxed) || WQ_PLANTED(store_failure_forgotten)) return;
  first_ = std::move(failure);
  failed_.store(true, std::memory_order_release);  // pairs with get()
}

Status FailureLatch::get() const {
  if (!failed_.load(std::memory_order_acquire)) return {};
  MutexLock lock(mutex_);
  return first_;
}

Status status_from_rocks(const rocksdb::Status& status, std::string_view what) noexcept {
  if (status.ok()) return {};
  const Code code = code_of(status);
  const char* const advice = code == Code::corrupt
                                 ? "the settled state is damaged, restore the store from a backup: "
                                 : "";
  return status_with_text(
      code,
      [&] {
        return "db: " + std::string(what) + ": " + advice + readable_rocks_text(status.ToString());
      },
      code == Code::no_space ? ENOSPC : 0);
}

rocksdb::Env& rocks_env(const StoreOptions& options) {
  return options.env ? *options.env : *rocksdb::Env::Default();
}

std::shared_ptr<rocksdb::Cache> make_rocks_cache(uint64_t cache_bytes) {
  rocksdb::LRUCacheOptions options;
  options.capacity = cache_bytes;
  options.num_shard_bits = 2;
  options.high_pri_pool_ratio = 0.5;  // indexes before rows
  return rocksdb::NewLRUCache(options);
}

uint64_t rocks_file_bytes(Family family, uint64_t buffer_bytes) {
  return family == Family::job ? buffer_bytes * 4 : buffer_bytes / 2;
}

rocksdb::DBOptions rocks_db_options(const StoreOptions& options,
                                    const std::shared_ptr<FailureLatch>& latch) {
  rocksdb::DBOptions db;
  db.env = &rocks_env(options);
  // The caller's: RocksDB ends the process when it can not start one of its own. And reads have one
  // order.
  db.max_file_opening_threads = 1;
  db.create_if_missing = options.create && !options.read_only;
  db.create_missing_column_families = db.create_if_missing;
  db.paranoid_checks = true;
  db.max_open_files = open_files_max;
  db.max_background_jobs = 2;
  db.max_subcompactions = 1;
  db.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(options.buffer_bytes);
  db.max_total_wal_size = options.buffer_bytes * 2;
  db.max_manifest_file_size = manifest_bytes_max;
  db.bytes_per_sync = 1 * mib;
  db.compaction_readahead_size = 256 * kib;
  db.skip_stats_update_on_db_open = true;  // would read the properties of many files
  db.max_bgerror_resume_count = 0;         // a failure stays until the store is opened again
  db.stats_dump_period_sec = 0;
  db.stats_persist_period_sec = 0;
  db.info_log = std::make_shared<SilentLogger>();
  db.info_log_level = rocksdb::FATAL_LEVEL;  // spares the formatting
  db.listeners.push_back(std::make_shared<FailureListener>(latch));
  return db;
}

rocksdb::ColumnFamilyOptions rocks_family_options(Family family, uint64_t buffer_bytes,
                                                  const std::shared_ptr<rocksdb::Cache>& cache) {
  const bool job = family == Family::job;
  rocksdb::ColumnFamilyOptions options;
  options.compaction_style = rocksdb::kCompactionStyleLevel;
  options.level_compaction_dynamic_level_bytes = true;
  options.write_buffer_size = buffer_bytes / (job ? 2 : 4);
  options.arena_block_size = 64 * kib;  // eleven families: small ones shall stay small
  options.target_file_size_base = rocks_file_bytes(family, buffer_bytes);
  options.max_bytes_for_level_base = 4 * rocks_file_bytes(family, buffer_bytes);
  options.compression = rocksdb::kLZ4Compression;
  options.bottommost_compression = rocksdb::kLZ4Compression;
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table_options(family, cache)));
  if (is_point_heavy(family)) {
    options.table_properties_collector_factories.push_back(
        rocksdb::NewCompactOnDeletionCollectorFactory(deletion_window, deletion_trigger));
  }
  if (job) {
    // Compaction moves a large payload out of its way once, and never again.
    options.enable_blob_files = true;
    options.min_blob_size = blob_bytes_min;
    options.blob_file_size = rocks_file_bytes(family, buffer_bytes);
    options.blob_compression_type = rocksdb::kLZ4Compression;
    options.enable_blob_garbage_collection = true;
  }
  return options;
}

}  // namespace wq
