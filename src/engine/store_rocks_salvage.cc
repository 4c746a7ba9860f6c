// Opening what is left of a RocksDB store, for reading only and without touching it. RocksDB sees
// a scratch directory of symbolic links to the files, so whatever it writes or renames, it does
// there. Three ways are tried, the exact ones first: the database as it is, with damaged tables
// left out of account until they are read; the same by each manifest that is there, for a damaged
// CURRENT; and tables alone, put together by RocksDB's repair. The last one does not know which
// table is newer and what was erased in which order: its rows are doubtful.
//
// Thread model: as store.h says for reads.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

#include <rocksdb/cache.h>
#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include "base/check.h"
#include "base/never_destroyed.h"
#include "engine/exit_gate.h"
#include "engine/store_rocks_internal.h"
#include "engine/thread_room.h"

namespace wq {
namespace {

namespace fs = std::filesystem;

// Greater than every key.
const std::string& end_of_family() {
  static NeverDestroyed<std::string> end(size_t{32}, '\xff');
  return end.get();
}

std::string_view view(const rocksdb::Slice& bytes) {
  return {bytes.data(), bytes.size()};
}

// RocksDB 7.8 frees the range tombstones of one table twice when a walk meets another one that it
// can not open. So a walk goes without them, and each row is asked for by its key as well, which
// heeds them.
class SalvageCursor final : public Cursor {
 public:
  // No handle: the family is not there, or nothing of it.
  SalvageCursor(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* handle, std::string_view lower)
      : db_(db), handle_(handle), upper_(end_of_family()), upper_slice_(upper_) {
    if (!handle) return;
    rocksdb::ReadOptions options;
    options.iterate_upper_bound = &upper_slice_;
    options.total_order_seek = true;
    options.fill_cache = false;
    options.ignore_range_deletions = true;
    iterator_.reset(db->NewIterator(options, handle));
    seek(lower);
  }
  bool valid() const override { return iterator_ && iterator_->Valid(); }
  std::string_view key() const override { return view(iterator_->key()); }
  std::string_view value() const override { return view(iterator_->value()); }
  void next() override {
    iterator_->Next();
    pass_erased();
  }
  void seek(std::string_view target) override {
    if (!iterator_) return;
    iterator_->Seek(rocksdb::Slice(target.data(), target.size()));
    pass_erased();
  }
  Status status() const override {
    return iterator_ ? status_from_rocks(iterator_->status(), "read") : Status();
  }

 private:
  void pass_erased() {
    std::string value;
    while (iterator_->Valid() &&
           db_->Get(rocksdb::ReadOptions(), handle_, iterator_->key(), &value).IsNotFound()) {
      iterator_->Next();
    }
  }

  rocksdb::DB* const db_;
  rocksdb::ColumnFamilyHandle* const handle_;
  const std::string upper_;
  const rocksdb::Slice upper_slice_;
  std::unique_ptr<rocksdb::Iterator> iterator_;
};

struct Table {
  std::string path;
  std::string first;  // key
  std::string last;
};

// The rows of tables that RocksDB's repair has put together. It may give two tables the same number
// for a row, and a walk of RocksDB asserts that there is none such. So each table is walked by
// itself, and by its key the database is asked which of them counts. A table is open only while the
// walk is within its keys: there may be more than a process can have open.
class TablesCursor final : public Cursor {
 public:
  TablesCursor(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* handle,
               const rocksdb::Options& options, std::vector<Table> tables, std::string_view lower)
      : db_(db), handle_(handle), options_(options), tables_(std::move(tables)) {
    std::sort(tables_.begin(), tables_.end(),
              [](const Table& a, const Table& b) { return a.first < b.first; });
    seek(lower);
  }
  bool valid() const override { return valid_; }
  std::string_view key() const override { return key_; }
  std::string_view value() const override { return value_; }
  void next() override {
    for (const Walk& walk : walks_) {
      if (walk.rows->Valid() && walk.rows->key() == key_) walk.rows->Next();
    }
    find();
  }
  void seek(std::string_view target) override {
    key_ = target;
    walks_.clear();
    begun_ = 0;
    status_ = {};
    find();
  }
  Status status() const override { return status_; }

 private:
  struct Walk {
    std::unique_ptr<rocksdb::SstFileReader> reader;  // outlives its rows
    std::unique_ptr<rocksdb::Iterator> rows;
  };

  // The first row from where the walks stand.
  void find() {
    do {
      status_ = settle();
      valid_ = status_.ok() && !walks_.empty();
      if (!valid_) return;
      key_ = walks_.front().rows->key().ToString();
      for (const Walk& walk : walks_) {
        if (walk.rows->key().compare(key_) < 0) key_ = walk.rows->key().ToString();
      }
    } while (!counts());
  }

  // Whether the row of key_ is there; if not, or if that can not be read, it is left behind.
  bool counts() {
    const rocksdb::Status status = db_->Get(rocksdb::ReadOptions(), handle_, key_, &value_);
    if (status.ok()) return true;
    if (!status.IsNotFound()) {
      status_ = status_from_rocks(status, "read");
      valid_ = false;
      return true;
    }
    for (const Walk& walk : walks_) {
      if (walk.rows->key() == key_) walk.rows->Next();
    }
    return false;
  }

  // Ends the walks that have no row any more, and begins those whose turn has come.
  Status settle() {
    for (const Walk& walk : walks_) {
      WQ_TRY(status_from_rocks(walk.rows->status(), "read"));
    }
    std::erase_if(walks_, [](const Walk& walk) { return !walk.rows->Valid(); });
    for (; begun_ < tables_.size(); ++begun_) {
      const Table& table = tables_[begun_];
      if (table.last < key_) continue;
      const bool is_due = table.first <= key_ || walks_.empty() ||
                          std::any_of(walks_.begin(), walks_.end(), [&](const Walk& walk) {
                            return walk.rows->key().compare(table.first) >= 0;
                          });
      if (!is_due) break;
      Walk walk;
      walk.reader = std::make_unique<rocksdb::SstFileReader>(options_);
      WQ_TRY(status_from_rocks(walk.reader->Open(table.path), "open"));
      walk.rows.reset(walk.reader->NewIterator(rocksdb::ReadOptions()));
      walk.rows->Seek(key_);
      WQ_TRY(status_from_rocks(walk.rows->status(), "read"));
      if (walk.rows->Valid()) walks_.push_back(std::move(walk));
    }
    return {};
  }

  rocksdb::DB* const db_;
  rocksdb::ColumnFamilyHandle* const handle_;
  const rocksdb::Options options_;
  std::vector<Table> tables_;  // by their first keys
  size_t begun_ = 0;           // of these
  std::vector<Walk> walks_;    // each at a row, but within find()
  std::string key_;
  std::string value_;
  bool valid_ = false;
  Status status_;
};

std::unique_ptr<rocksdb::Env> make_salvage_env() {
  return make_rocks_env(*rocksdb::Env::Default(), std::make_shared<ReadFailures>());
}

class SalvageStore final : public Store {
 public:
  // `of_tables`: what RocksDB's repair has put together.
  SalvageStore(std::string scratch, bool of_tables)
      : scratch_(std::move(scratch)), of_tables_(of_tables), env_(make_salvage_env()) {}
  ~SalvageStore() override {
    close().ignore("only read");
    std::error_code error;
    fs::remove_all(scratch_, error);
  }

  Status open(rocksdb::DBOptions options, const std::shared_ptr<rocksdb::Cache>& cache);

  Result<std::optional<std::string>> get(Family family, std::string_view key) const override {
    std::string value;
    const auto handle = handles_[static_cast<size_t>(family)];
    if (!handle) return std::optional<std::string>();
    const rocksdb::Status status =
        db_->Get(rocksdb::ReadOptions(), handle, rocksdb::Slice(key.data(), key.size()), &value);
    if (status.IsNotFound()) return std::optional<std::string>();
    if (!status.ok()) return status_from_rocks(status, "read");
    return std::optional<std::string>(std::move(value));
  }
  std::unique_ptr<Cursor> scan(Family family, std::string_view lower, std::string_view /*upper*/,
                               bool /*descending*/) const override {
    const Status& broken = broken_[static_cast<size_t>(family)];
    if (!broken.ok()) return std::make_unique<FailedCursor>(broken);
    rocksdb::ColumnFamilyHandle* const handle = handles_[static_cast<size_t>(family)];
    if (!of_tables_) return std::make_unique<SalvageCursor>(db_, handle, lower);
    return std::make_unique<TablesCursor>(db_, handle, table_options(),
                                          tables_of(family_name(family)), lower);
  }
  Result<std::unique_ptr<Checkpoint>> begin_checkpoint(uint64_t /*rows*/) override {
    return Status(Code::read_only);
  }
  Status reclaim(Family, std::string_view, std::string_view) override { return Code::read_only; }
  Result<std::unique_ptr<HeldFiles>> hold_files() override { return Status(Code::read_only); }
  Status failure() const override { return {}; }
  StoreStats stats() const override { return {}; }
  Status close() override {
    if (!db_) return {};
    for (rocksdb::ColumnFamilyHandle*& handle : all_) {
      db_->DestroyColumnFamilyHandle(std::exchange(handle, nullptr)).PermitUncheckedError();
    }
    const Status status = status_from_rocks(db_->Close(), "close");
    delete std::exchange(db_, nullptr);
    return status;
  }

 private:
  void find_missing_families();
  void find_broken_tables();

  std::vector<Table> tables_of(const std::string& family) const;
  rocksdb::Options table_options() const;

  const std::string scratch_;
  const bool of_tables_;
  const std::unique_ptr<rocksdb::Env> env_;  // outlives db_
  Status broken_[family_count];
  rocksdb::DB* db_ = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> all_;
  rocksdb::ColumnFamilyHandle* handles_[family_count] = {};
};

// family_count: it is none of ours.
size_t family_number(const std::string& name) {
  size_t number = 0;
  while (number < family_count && name != family_name(static_cast<Family>(number))) ++number;
  return number;
}

// All families that the manifest names: one that is left out would make the opening fail.
Status SalvageStore::open(rocksdb::DBOptions options,
                          const std::shared_ptr<rocksdb::Cache>& cache) {
  options.env = env_.get();
  std::vector<std::string> names;
  WQ_TRY(status_from_rocks(rocksdb::DB::ListColumnFamilies(options, scratch_, &names), "manifest"));
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  for (const std::string& name : names) {
    const size_t number = family_number(name);
    const auto family = number < family_count ? static_cast<Family>(number) : Family::meta;
    families.emplace_back(name, rocks_family_options(family, StoreOptions().buffer_bytes, cache));
  }
  // What an open that failed has put there is not to be trusted.
  rocksdb::DB* db = nullptr;
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  WQ_TRY(status_from_rocks(rocksdb::DB::OpenForReadOnly(options, scratch_, families, &handles, &db),
                           "open"));
  db_ = db;
  all_ = std::move(handles);
  for (size_t i = 0; i < names.size(); ++i) {
    const size_t number = family_number(names[i]);
    if (number < family_count) handles_[number] = all_[i];
  }
  find_missing_families();
  find_broken_tables();
  return {};
}

// RocksDB takes a record of the manifest whose length goes beyond the end of the file for one that
// was being written, and what is behind it, families and tables, for never made. Each store of ours
// has all families from its first open on.
void SalvageStore::find_missing_families() {
  for (size_t i = 0; i < family_count; ++i) {
    if (handles_[i]) continue;
    broken_[i] = Status(Code::corrupt, "the manifest does not name it");
  }
}

rocksdb::Options SalvageStore::table_options() const {
  return rocksdb::Options(db_->GetDBOptions(),
                          rocks_family_options(Family::job, StoreOptions().buffer_bytes, nullptr));
}

std::vector<Table> SalvageStore::tables_of(const std::string& family) const {
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  std::vector<Table> tables;
  for (rocksdb::LiveFileMetaData& file : files) {
    if (file.column_family_name != family) continue;
    tables.push_back({scratch_ + "/" + file.relative_filename, std::move(file.smallestkey),
                      std::move(file.largestkey)});
  }
  return tables;
}

// A walk over a family with a table that can not be opened finds nothing at all.
void SalvageStore::find_broken_tables() {
  std::vector<rocksdb::LiveFileMetaData> files;
  db_->GetLiveFilesMetaData(&files);
  const rocksdb::Options options = table_options();
  for (const rocksdb::LiveFileMetaData& file : files) {
    const size_t number = family_number(file.column_family_name);
    if (number == family_count) continue;
    rocksdb::SstFileReader reader(options);
    const rocksdb::Status status = reader.Open(scratch_ + "/" + file.relative_filename);
    if (status.ok() || !broken_[number].ok()) continue;
    broken_[number] = Status(Code::corrupt, "table " + file.relative_filename +
                                                " can not be opened: " + status.ToString());
  }
}

// A directory of links to the files of `from`, without those that `leave_out` names.
Status link_files(const std::string& from, const std::string& to, bool with_manifests) {
  std::error_code error;
  fs::remove_all(to, error);
  fs::create_directories(to, error);
  if (error) return status_from_errno(error.value(), to, "create");
  for (fs::directory_iterator entry(from, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    // Without an IDENTITY RocksDB goes on, with a damaged one it does not.
    if (name == "LOCK" || name == "IDENTITY") continue;
    if (!with_manifests && (name == "CURRENT" || name.starts_with("MANIFEST"))) continue;
    const fs::path target = fs::absolute(entry->path(), error);
    if (!error) fs::create_symlink(target, fs::path(to) / name, error);
    if (error) return status_from_errno(error.value(), to + "/" + name, "link");
  }
  if (error) return status_from_errno(error.value(), from, "list");
  return {};
}

std::vector<std::string> manifests_of(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with("MANIFEST-")) names.push_back(name);
  }
  std::sort(names.rbegin(), names.rend());
  return names;
}

Status point_current_to(const std::string& scratch, const std::string& manifest) {
  std::error_code error;
  fs::remove(scratch + "/CURRENT", error);
  std::ofstream(scratch + "/CURRENT") << manifest << "\n";
  return {};
}

rocksdb::DBOptions reading_options(const std::string& scratch) {
  StoreOptions options;
  options.directory = scratch;
  options.read_only = true;
  rocksdb::DBOptions db = rocks_db_options(options, std::make_shared<FailureLatch>());
  db.paranoid_checks = false;  // a damaged or missing table stops who reads it, not the rest
  return db;
}

Result<std::unique_ptr<Store>> try_open(const std::string& scratch, bool of_tables,
                                        const std::shared_ptr<rocksdb::Cache>& cache) {
  auto store = std::make_unique<SalvageStore>(scratch, of_tables);
  WQ_TRY(store->open(reading_options(scratch), cache));
  return guarded_store(std::move(store));
}

}  // namespace

SalvagedStore open_damaged_rocks_store(const std::string& directory, const std::string& scratch) {
  SalvagedStore out;
  const GateStay stay;
  if (const Status ready = stay.ok() ? check_thread_room() : stay.status(); !ready.ok()) {
    out.problem = ready.message();
    return out;
  }
  const auto cache = make_rocks_cache(16ull << 20);
  std::vector<std::string> currents = manifests_of(directory);
  currents.insert(currents.begin(), std::string());  // as CURRENT says
  for (const std::string& manifest : currents) {
    Status status = link_files(directory, scratch, true);
    if (status.ok() && !manifest.empty()) status = point_current_to(scratch, manifest);
    if (status.ok()) {
      Result<std::unique_ptr<Store>> opened = try_open(scratch, false, cache);
      if (opened.ok()) {
        out.store = std::move(opened).value();
        if (!manifest.empty()) out.note = "read by " + manifest + ", CURRENT is damaged";
        const Status cut = check_current_manifest(*make_salvage_env(), scratch);
        out.is_cut = !cut.ok();
        if (out.is_cut) out.note = cut.message();
        return out;
      }
      status = opened.take_status();
    }
    if (out.problem.empty()) out.problem = status.message();
  }
  std::error_code error;
  fs::remove_all(scratch, error);
  return out;
}

SalvagedStore open_tables_of_rocks_store(const std::string& directory, const std::string& scratch) {
  SalvagedStore out;
  const GateStay stay;
  if (const Status ready = stay.ok() ? check_thread_room() : stay.status(); !ready.ok()) {
    out.problem = ready.message();
    return out;
  }
  const auto cache = make_rocks_cache(16ull << 20);
  const auto run = [&]() -> Status {
    WQ_TRY(link_files(directory, scratch, false));
    const std::unique_ptr<rocksdb::Env> env = make_salvage_env();
    rocksdb::DBOptions options = reading_options(scratch);
    options.env = env.get();
    options.create_if_missing = true;
    std::vector<rocksdb::ColumnFamilyDescriptor> families;
    for (size_t i = 0; i < family_count; ++i) {
      const auto family = static_cast<Family>(i);
      families.emplace_back(family_name(family),
                            rocks_family_options(family, StoreOptions().buffer_bytes, cache));
    }
    families.emplace_back(rocksdb::kDefaultColumnFamilyName,
                          rocks_family_options(Family::meta, StoreOptions().buffer_bytes, cache));
    WQ_TRY(status_from_rocks(rocksdb::RepairDB(scratch, options, families), "repair"));
    WQ_TRY_SET(out.store, try_open(scratch, true, cache));
    return {};
  };
  const Status status = run();
  out.problem = status.ok() ? std::string() : status.message();
  if (!status.ok()) {
    std::error_code error;
    fs::remove_all(scratch, error);
  }
  return out;
}

}  // namespace wq
