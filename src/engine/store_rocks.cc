// The store on RocksDB: opening, reading, reclaiming, closing. Checkpoints are in
// store_rocks_checkpoint.cc, options in store_rocks_options.cc.
//
// Invariants: RocksDB's own log never holds a row that is older than an ingested file (see the
// checkpoint file); every walk has an upper and a lower bound; after a background failure nothing
// is written any more. Thread model: reads from any thread; begin_checkpoint, the checkpoint,
// reclaim and close by one caller at a time.
#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/options.h>

#include "base/check.h"
#include "base/never_destroyed.h"
#include "base/planted.h"
#include "engine/exit_gate.h"
#include "engine/store_rocks_internal.h"
#include "engine/thread_room.h"

namespace wq {
namespace {

rocksdb::Slice slice(std::string_view text) {
  return {text.data(), text.size()};
}
std::string_view view(const rocksdb::Slice& bytes) {
  return {bytes.data(), bytes.size()};
}

// Greater than every key: the longest key has 20 bytes.
const std::string& end_of_family() {
  static NeverDestroyed<std::string> end(size_t{32}, '\xff');
  return end.get();
}

// RocksDB 7.8 takes the range tombstones of one table of level 0 twice into a walk, and frees them
// twice, if a table behind it can not be opened when the walk begins.
// (Version::AddIteratorsForLevel does not reset its variable between two tables; on the other
// levels it does.) A disk that begins to fail, or damage, would so end the process. This walk heeds
// no tombstones and so is safe: if it can begin, all tables of level 0 are open and stay so while
// it lives, and the real one can begin. A table that is added between the two was opened by who
// added it just now.
class TableGuard {
 public:
  TableGuard(const RocksCore& core, Family family) : upper_(end_of_family()), upper_slice_(upper_) {
    rocksdb::ReadOptions options;
    options.iterate_upper_bound = &upper_slice_;
    options.total_order_seek = true;
    options.ignore_range_deletions = true;
    iterator_.reset(core.db->NewIterator(options, core.handle(family)));
    // Behind all keys: no table of the other levels is looked at, no block of rows is read.
    iterator_->Seek(upper_slice_);
  }
  rocksdb::Status status() const { return iterator_->status(); }

 private:
  const std::string upper_;
  const rocksdb::Slice upper_slice_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

// RocksDB 7.8 also forgets that a table could not be read when a walk jumps behind a range
// tombstone, and goes on without its rows. So a walk during which a read failed has failed,
// whoever read.
class RocksCursor final : public Cursor {
 public:
  RocksCursor(const RocksCore& core, Family family, std::string_view lower, std::string_view upper,
              bool descending)
      : family_(family),
        descending_(descending),
        lower_(lower),
        upper_(upper.empty() ? end_of_family() : std::string(upper)),
        lower_slice_(lower_),
        upper_slice_(upper_),
        failures_(core.read_failures),
        failures_before_(failures_->count()) {
    if (lower_ >= upper_) return;
    const TableGuard guard(core, family);
    broken_ = WQ_PLANTED(walk_unguarded) ? rocksdb::Status() : guard.status();
    if (!broken_.ok()) return;
    rocksdb::ReadOptions options;
    options.iterate_lower_bound = &lower_slice_;
    options.iterate_upper_bound = &upper_slice_;
    options.total_order_seek = true;
    // Payloads are read once and would push everything else out of the cache.
    options.fill_cache = family != Family::job;
    iterator_.reset(core.db->NewIterator(options, core.handle(family)));
    if (descending_) {
      iterator_->SeekToLast();
    } else {
      iterator_->Seek(lower_slice_);
    }
  }

  bool valid() const override { return iterator_ && iterator_->Valid(); }
  std::string_view key() const override {
    WQ_CHECK(valid());
    return view(iterator_->key());
  }
  std::string_view value() const override {
    WQ_CHECK(valid());
    return view(iterator_->value());
  }
  void next() override {
    WQ_CHECK(valid());
    if (descending_) {
      iterator_->Prev();
    } else {
      iterator_->Next();
    }
  }
  void seek(std::string_view target) override {
    WQ_CHECK(!descending_);
    if (iterator_) iterator_->Seek(slice(std::max<std::string_view>(target, lower_)));
  }
  Status status() const override {
    const std::string what = std::string("scan of ") + family_name(family_);
    if (!broken_.ok()) return status_from_rocks(broken_, what);
    if (iterator_ && !iterator_->status().ok()) return status_from_rocks(iterator_->status(), what);
    if (failures_->count() == failures_before_ || WQ_PLANTED(failed_read_forgotten)) return {};
    return Status(Code::io, "db: " + what + ": a file could not be read meanwhile: " +
                                readable_rocks_text(failures_->last()));
  }

 private:
  const Family family_;
  const bool descending_;
  const std::string lower_;
  const std::string upper_;
  const rocksdb::Slice lower_slice_;  // the iterator keeps pointers to these two
  const rocksdb::Slice upper_slice_;
  const std::shared_ptr<const ReadFailures> failures_;
  const uint64_t failures_before_;
  rocksdb::Status broken_;  // it could not begin
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

// All that are open: their compactions are stopped when the process exits.
struct OpenDatabases {
  Mutex mutex;  // leaf, but for what RocksDB locks when its work is stopped
  std::set<rocksdb::DB*> open WQ_GUARDED_BY(mutex);
};

OpenDatabases& open_databases() {
  static NeverDestroyed<OpenDatabases> databases;
  return databases.get();
}

void stop_background_work() {
  MutexLock lock(open_databases().mutex);
  for (rocksdb::DB* db : open_databases().open) rocksdb::CancelAllBackgroundWork(db, true);
}

class RocksStore final : public Store {
 public:
  explicit RocksStore(StoreOptions options) { core_.options = std::move(options); }
  ~RocksStore() override {
    caught([this] { return close(); }).ignore("a destructor has nobody to tell");
  }

  Status open();

  Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
    if (!core_.db) return Status(Code::closed);
    std::string value;
    const rocksdb::Status status =
        core_.db->Get(rocksdb::ReadOptions(), core_.handle(family), slice(key), &value);
    if (status.IsNotFound()) return std::optional<std::string>();
    if (!status.ok())
      return status_from_rocks(status, std::string("read of ") + family_name(family));
    return std::optional<std::string>(std::move(value));
  }

  std::unique_ptr<Cursor> scan(Family family, std::string_view lower, std::string_view upper,
                               bool descending) const override {
    if (!core_.db) return std::make_unique<FailedCursor>(Status(Code::closed));
    return std::make_unique<RocksCursor>(core_, family, lower, upper, descending);
  }

  Result<std::unique_ptr<Checkpoint>> begin_checkpoint(uint64_t expected_rows) override {
    WQ_TRY(writable());
    return make_rocks_checkpoint(core_, expected_rows);
  }

  Status reclaim(Family family, std::string_view begin, std::string_view end) override;
  Result<std::unique_ptr<HeldFiles>> hold_files() override;
  Status shrink(uint64_t free_bytes, uint64_t job_bytes) override;
  uint64_t file_bytes(Family family) const;
  uint64_t memtable_bytes() const;
  Status failure() const override { return core_.latch->get(); }
  StoreStats stats() const override;
  Status close() override;

 private:
  Status writable() const {
    if (!core_.db) return Code::closed;
    if (core_.options.read_only) return Code::read_only;
    return core_.latch->get();
  }
  Status refuse_tables() const;
  Status check_families(const rocksdb::DBOptions& db_options, bool& exists) const;
  Status create_database(const rocksdb::DBOptions& db_options);
  Status open_database(const rocksdb::DBOptions& db_options);
  Status sync_parent() const;
  std::vector<rocksdb::ColumnFamilyDescriptor> family_descriptors() const;
  Status keep_database(const rocksdb::Status& opened);

  RocksCore core_;
  rocksdb::ColumnFamilyHandle* default_handle_ = nullptr;  // RocksDB insists on it; always empty
};

// RocksDB would make a new database and remove the tables that are there: those of a database
// without its CURRENT file, or somebody else's. What a crash leaves of a creation has no tables.
Status RocksStore::refuse_tables() const {
  std::vector<std::string> names;
  const rocksdb::Status listed =
      rocks_env(core_.options).GetChildren(core_.options.directory, &names);
  if (listed.IsNotFound()) return {};
  WQ_TRY(status_from_rocks(listed, "list"));
  for (const std::string& name : names) {
    if (!name.ends_with(".sst") && !name.ends_with(".blob")) continue;
    if (WQ_PLANTED(tables_without_current_taken)) continue;
    return Status(Code::corrupt, "db: CURRENT is missing, but there is " + name +
                                     "; put it back or restore a backup");
  }
  return {};
}

// A family that this library does not know was made by a newer one. One that is missing was left
// out when a crash cut the creation short: nothing was written to any of them yet, so a reader
// finds no database, and the next writer makes the rest.
Status RocksStore::check_families(const rocksdb::DBOptions& db_options, bool& exists) const {
  const rocksdb::Status found =
      rocks_env(core_.options).FileExists(core_.options.directory + "/CURRENT");
  exists = found.ok();
  if (!exists) {
    if (!found.IsNotFound()) return status_from_rocks(found, "look for CURRENT");
    WQ_TRY(refuse_tables());
    if (db_options.create_if_missing) return {};
    return Status(Code::not_found, "db: no database in " + core_.options.directory);
  }
  WQ_TRY(check_current_manifest(*core_.env, core_.options.directory));
  std::vector<std::string> names;
  WQ_TRY(status_from_rocks(
      rocksdb::DB::ListColumnFamilies(db_options, core_.options.directory, &names), "open"));
  size_t ours = 0;
  for (const std::string& name : names) {
    if (name == rocksdb::kDefaultColumnFamilyName) continue;
    bool known = false;
    for (size_t i = 0; i < family_count; ++i) {
      known = known || name == family_name(static_cast<Family>(i));
    }
    if (!known && !WQ_PLANTED(unknown_family_taken)) {
      return Status(Code::version, "db: unknown family '" + name +
                                       "'; the store was written by a newer version of wq");
    }
    ++ours;
  }
  if (ours < family_count && core_.options.read_only && refuse_tables().ok()) {
    return Status(Code::not_found, "db: the creation of the database was cut short");
  }
  return {};
}

std::vector<rocksdb::ColumnFamilyDescriptor> RocksStore::family_descriptors() const {
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (size_t i = 0; i < family_count; ++i) {
    const auto family = static_cast<Family>(i);
    families.emplace_back(family_name(family),
                          rocks_family_options(family, core_.options.buffer_bytes, core_.cache));
  }
  return families;
}

// The pointer that Open() fills is only to be trusted if it succeeded.
Status RocksStore::keep_database(const rocksdb::Status& opened) {
  if (opened.ok()) return {};
  core_.db = nullptr;
  const bool lock = opened.IsIOError() && opened.ToString().find("LOCK") != std::string::npos;
  if (lock) return Status(Code::locked, "db: open: " + opened.ToString());
  return status_from_rocks(opened, "open");
}

// All families in one call: made one by one on the way of Open, each would rewrite the options
// file.
Status RocksStore::create_database(const rocksdb::DBOptions& db_options) {
  WQ_TRY(make_private_directory(core_.options, core_.options.directory));
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  const rocksdb::ColumnFamilyDescriptor default_family(
      rocksdb::kDefaultColumnFamilyName,
      rocks_family_options(Family::meta, core_.options.buffer_bytes, core_.cache));
  WQ_TRY(keep_database(rocksdb::DB::Open(db_options, core_.options.directory, {default_family},
                                         &handles, &core_.db)));
  default_handle_ = handles.front();
  handles.clear();
  const rocksdb::Status created = core_.db->CreateColumnFamilies(family_descriptors(), &handles);
  std::copy(handles.begin(), handles.end(), core_.handles);
  WQ_TRY(status_from_rocks(created, "create"));
  return WQ_PLANTED(database_name_unsynced) ? Status() : sync_parent();
}

// RocksDB syncs its directory, but not the one that holds the new directory's name.
Status RocksStore::sync_parent() const {
  const std::string parent =
      std::filesystem::path(core_.options.directory).lexically_normal().parent_path().string();
  std::unique_ptr<rocksdb::Directory> directory;
  rocksdb::Env* env = core_.db->GetEnv();
  WQ_TRY(status_from_rocks(env->NewDirectory(parent.empty() ? "." : parent, &directory),
                           "open of the parent directory"));
  return status_from_rocks(directory->Fsync(), "sync of the parent directory");
}

// Families that a crash left out of the creation are made here.
Status RocksStore::open_database(const rocksdb::DBOptions& db_options) {
  std::vector<rocksdb::ColumnFamilyDescriptor> families = family_descriptors();
  families.emplace_back(
      rocksdb::kDefaultColumnFamilyName,
      rocks_family_options(Family::meta, core_.options.buffer_bytes, core_.cache));
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  const std::string& directory = core_.options.directory;
  WQ_TRY(keep_database(
      core_.options.read_only
          ? rocksdb::DB::OpenForReadOnly(db_options, directory, families, &handles, &core_.db)
          : rocksdb::DB::Open(db_options, directory, families, &handles, &core_.db)));
  std::copy_n(handles.begin(), family_count, core_.handles);
  default_handle_ = handles.back();
  return {};
}

Status RocksStore::open() {
  core_.cache = make_rocks_cache(core_.options.cache_bytes);
  core_.env = make_rocks_env(rocks_env(core_.options), core_.read_failures);
  rocksdb::DBOptions db_options = rocks_db_options(core_.options, core_.latch);
  db_options.env = core_.env.get();
  bool exists = false;
  WQ_TRY(check_families(db_options, exists));
  if (!core_.options.read_only) WQ_TRY(remove_temp_files(core_.options));
  WQ_TRY(exists ? open_database(db_options) : create_database(db_options));
  core_.wal_in_use = exists;  // whatever the last process left there
  {
    MutexLock lock(open_databases().mutex);
    open_databases().open.insert(core_.db);
  }
  // Work in the background that has met damage by now would have met it later, too: it is told by
  // failure(), and no reason to refuse an open that has already written.
  return {};
}

// The tombstone first and durably, then the files: a crash in between leaves rows that are erased.
Status RocksStore::reclaim(Family family, std::string_view begin, std::string_view end) {
  WQ_TRY(writable());
  const std::string from(begin);
  const std::string to = end.empty() ? end_of_family() : std::string(end);
  WQ_CHECK(from < to);
  rocksdb::WriteOptions options;
  options.sync = !WQ_PLANTED(reclaim_unsynced);
  WQ_TRY(status_from_rocks(core_.db->DeleteRange(options, core_.handle(family), from, to),
                           std::string("reclaim of ") + family_name(family)));
  core_.wal_in_use = true;
  return drop_covered_files(core_, family, {{from, to}});
}

// While one lives RocksDB deletes no file, so that those listed stay. The engine drops it before it
// closes the store.
class RocksHeldFiles final : public HeldFiles {
 public:
  explicit RocksHeldFiles(rocksdb::DB* db) : db_(db) {}
  ~RocksHeldFiles() override {
    if (held_) db_->EnableFileDeletions(/*force=*/false).PermitUncheckedError();
  }
  Status hold() {
    WQ_TRY(status_from_rocks(db_->DisableFileDeletions(), "hold of files"));
    held_ = true;
    return {};
  }

 private:
  rocksdb::DB* const db_;
  bool held_ = false;
};

// RocksDB's own log is taken as it is: a flush would write files, and one that fails on a full disk
// would stop the store that is only to be copied.
Result<std::unique_ptr<HeldFiles>> RocksStore::hold_files() {
  WQ_TRY(writable());
  auto held = std::make_unique<RocksHeldFiles>(core_.db);
  WQ_TRY(held->hold());
  rocksdb::LiveFilesStorageInfoOptions options;
  options.wal_size_for_flush = UINT64_MAX;
  std::vector<rocksdb::LiveFileStorageInfo> files;
  WQ_TRY(status_from_rocks(core_.db->GetLiveFilesStorageInfo(options, &files), "list of files"));
  for (rocksdb::LiveFileStorageInfo& file : files) {
    StoreFile out{file.relative_filename, file.directory + "/" + file.relative_filename, file.size,
                  std::nullopt};
    if (!file.replacement_contents.empty()) out.contents = std::move(file.replacement_contents);
    held->files.push_back(std::move(out));
  }
  return std::unique_ptr<HeldFiles>(std::move(held));
}

uint64_t RocksStore::file_bytes(Family family) const {
  rocksdb::ColumnFamilyMetaData meta;
  core_.db->GetColumnFamilyMetaData(core_.handle(family), &meta);
  return meta.size + meta.blob_file_size;
}

uint64_t RocksStore::memtable_bytes() const {
  uint64_t sum = 0;
  core_.db->GetAggregatedIntProperty(rocksdb::DB::Properties::kSizeAllMemTables, &sum);
  return sum;
}

// RocksDB keeps its log until the memtables are full, and blobs until a compaction meets the
// tombstones of their rows: on a disk that is short neither may ever come. What is to be written
// has to fit with ease, as a failing flush is the end of the database.
Status RocksStore::shrink(uint64_t free_bytes, uint64_t job_bytes) {
  WQ_TRY(writable());
  if (memtable_bytes() > free_bytes / 2) return {};
  const std::vector<rocksdb::ColumnFamilyHandle*> handles(std::begin(core_.handles),
                                                          std::end(core_.handles));
  WQ_TRY(status_from_rocks(core_.db->Flush(rocksdb::FlushOptions(), handles), "flush"));
  core_.wal_in_use = false;
  const uint64_t live_bytes = stats().file_bytes - file_bytes(Family::job) + job_bytes;
  if (live_bytes > free_bytes / 2) return {};
  rocksdb::CompactRangeOptions options;
  options.bottommost_level_compaction = rocksdb::BottommostLevelCompaction::kForce;
  options.blob_garbage_collection_policy = rocksdb::BlobGarbageCollectionPolicy::kForce;
  options.blob_garbage_collection_age_cutoff = 1.0;
  for (rocksdb::ColumnFamilyHandle* handle : handles) {
    WQ_TRY(
        status_from_rocks(core_.db->CompactRange(options, handle, nullptr, nullptr), "compaction"));
  }
  return core_.latch->get();
}

StoreStats RocksStore::stats() const {
  StoreStats stats;
  stats.checkpoints_ingested = core_.checkpoints_ingested.load(std::memory_order_relaxed);
  stats.checkpoints_written = core_.checkpoints_written.load(std::memory_order_relaxed);
  if (!core_.db) return stats;
  for (rocksdb::ColumnFamilyHandle* handle : core_.handles) {
    rocksdb::ColumnFamilyMetaData meta;
    core_.db->GetColumnFamilyMetaData(handle, &meta);
    stats.files += meta.file_count + meta.blob_file_count;
    stats.file_bytes += meta.size + meta.blob_file_size;
    for (const std::string* property : {&rocksdb::DB::Properties::kEstimateTableReadersMem,
                                        &rocksdb::DB::Properties::kSizeAllMemTables}) {
      uint64_t bytes = 0;
      core_.db->GetIntProperty(handle, *property, &bytes);
      stats.memory_bytes += bytes;
    }
  }
  stats.memory_bytes += core_.cache->GetUsage();
  return stats;
}

Status RocksStore::close() {
  if (!core_.db) return {};
  {
    MutexLock lock(open_databases().mutex);
    open_databases().open.erase(core_.db);
  }
  for (rocksdb::ColumnFamilyHandle*& handle : core_.handles) {
    if (!handle) continue;  // creation stopped half way
    core_.db->DestroyColumnFamilyHandle(std::exchange(handle, nullptr)).PermitUncheckedError();
  }
  if (default_handle_) {
    core_.db->DestroyColumnFamilyHandle(std::exchange(default_handle_, nullptr))
        .PermitUncheckedError();
  }
  const Status status = status_from_rocks(core_.db->Close(), "close");
  delete std::exchange(core_.db, nullptr);
  return status;
}

}  // namespace

Result<std::unique_ptr<Store>> open_rocks_store(const StoreOptions& options) {
  const GateStay stay;
  WQ_TRY(stay.status());
  if (!options.env) WQ_TRY(check_thread_room());
  auto store = std::make_unique<RocksStore>(options);
  WQ_TRY(store->open());
  [[maybe_unused]] static const bool armed = (arm_exit_gate(stop_background_work), true);
  return guarded_store(std::move(store));
}

}  // namespace wq
