// The two roads of a checkpoint into RocksDB (DESIGN D1).
//
// Small: one WriteBatch with RocksDB's own log, synced. Large: sorted SST files in the temp
// directory, then one IngestExternalFiles over all families, which is atomic and durable when it
// returns (files and directory are synced, and the manifest behind them). A batch that outgrows its
// bounds is turned into files. A crash before the last step leaves temp files at most; open removes
// them.
//
// Both roads mix freely under one rule: before an ingestion the memtables are flushed if a batch
// was written since the last flush. So RocksDB's log never holds anything older than an ingested
// file, and damage of that log can lose the newest batches at most, never an old one under newer
// files.
//
// Where files end. A file that overlaps existing ones can not go to the bottom level, and a later
// compaction rewrites all that it overlaps. So a family's rows are cut into several files: where
// the rows behind all existing ones begin (fresh FIFO rows then go straight to the bottom), where a
// gap between two rows spans a whole existing file (erased head, appended tail), and at the target
// size. Files of one checkpoint must not overlap each other, or RocksDB puts all of them on level
// 0; range tombstones are therefore added to the file of the rows around them, which needs them in
// key order. Late ones get a file of their own at the price of that overlap. A range tombstone and
// the rows of one file have the same sequence number, so it covers none of them; nor must it, by
// contract.
#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>
#include <vector>

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/env.h>
#include <rocksdb/experimental.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_writer.h>
#include <rocksdb/write_batch.h>

#include "base/check.h"
#include "base/planted.h"
#include "engine/store_rocks_internal.h"

namespace wq {
namespace {

// Cuts at gaps per family and checkpoint: each is a file to sync.
constexpr uint64_t gap_cuts_max = 16;
// Ranges erased in a family before its leftovers are handed to compaction.
constexpr uint64_t erased_ranges_max = 16;

rocksdb::Slice slice(std::string_view text) {
  return {text.data(), text.size()};
}

// The keys that a family has on disk, as far as cutting needs to know.
class FamilyMap {
 public:
  FamilyMap(rocksdb::DB* db, rocksdb::ColumnFamilyHandle* handle) {
    rocksdb::ColumnFamilyMetaData meta;
    db->GetColumnFamilyMetaData(handle, &meta);
    for (const rocksdb::LevelMetaData& level : meta.levels) {
      if (level.files.empty()) continue;
      for (const rocksdb::SstFileMetaData& file : level.files) {
        newest_ = std::max(newest_, file.largestkey);
      }
      spans_.clear();
      if (level.level == 0) continue;
      for (const rocksdb::SstFileMetaData& file : level.files) {
        spans_.push_back({file.smallestkey, file.largestkey});
      }
    }
  }

  bool is_fresh(std::string_view key) const { return !newest_.empty() && key > newest_; }

  // True if a file of the deepest level lies wholly between the two keys. Calls go up in key order.
  bool gap_spans_file(std::string_view from, std::string_view to) {
    while (next_ < spans_.size() && spans_[next_].begin <= from) ++next_;
    return next_ < spans_.size() && spans_[next_].end < to;
  }

 private:
  std::string newest_;           // greatest key of any file; empty = no file
  std::vector<KeyRange> spans_;  // files of the deepest level, in key order
  size_t next_ = 0;
};

// Writes the rows of one family into files.
class FamilyFiles {
 public:
  FamilyFiles(RocksCore& core, Family family)
      : core_(core), family_(family), map_(core.db, core.handle(family)) {}

  Status put(std::string_view key, std::string_view value) {
    WQ_TRY(make_room(key));
    last_.assign(key);
    return check(writer_->Put(slice(key), slice(value)));
  }
  Status erase(std::string_view key) {
    WQ_TRY(make_room(key));
    last_.assign(key);
    return check(writer_->Delete(slice(key)));
  }
  Status erase_range(std::string_view begin, std::string_view end) {
    if (writer_ && begin < last_) {
      late_.push_back({std::string(begin), std::string(end)});
      return {};
    }
    WQ_TRY(make_room(begin));
    last_.assign(end);
    return check(writer_->DeleteRange(slice(begin), slice(end)));
  }
  Status finish() {
    if (!late_.empty()) {
      WQ_TRY(start_file());
      for (const KeyRange& range : late_) {
        WQ_TRY(check(writer_->DeleteRange(slice(range.begin), slice(range.end))));
      }
    }
    return finish_file();
  }
  const std::vector<std::string>& files() const { return files_; }

 private:
  Status check(const rocksdb::Status& status) const {
    if (status.ok()) return {};
    return status_from_rocks(status, std::string("checkpoint file of ") + family_name(family_));
  }

  // Decides whether `key` still belongs to the current file.
  Status make_room(std::string_view key) {
    const bool fresh = map_.is_fresh(key);
    bool cut = !writer_ ||
               writer_->FileSize() >= rocks_file_bytes(family_, core_.options.buffer_bytes) ||
               fresh != fresh_;
    if (!cut && gap_cuts_ < gap_cuts_max && map_.gap_spans_file(last_, key)) {
      ++gap_cuts_;
      cut = true;
    }
    fresh_ = fresh;
    return cut ? start_file() : Status();
  }

  Status start_file() {
    WQ_TRY(finish_file());
    rocksdb::DB* db = core_.db;
    rocksdb::ColumnFamilyHandle* handle = core_.handle(family_);
    writer_ = std::make_unique<rocksdb::SstFileWriter>(rocksdb::EnvOptions(db->GetDBOptions()),
                                                       db->GetOptions(handle), handle,
                                                       /*invalidate_page_cache=*/false);
    std::string path = core_.options.temp_directory + "/checkpoint-" +
                       std::to_string(core_.next_file_number++) + ".sst";
    WQ_TRY(check(writer_->Open(path)));
    files_.push_back(std::move(path));
    return {};
  }

  Status finish_file() {
    if (!writer_) return {};
    const Status status = check(writer_->Finish());  // syncs the file
    writer_.reset();
    return status;
  }

  RocksCore& core_;
  const Family family_;
  FamilyMap map_;
  std::unique_ptr<rocksdb::SstFileWriter> writer_;
  std::vector<std::string> files_;
  std::vector<KeyRange> late_;
  std::string last_;  // where the rows so far end
  bool fresh_ = false;
  uint64_t gap_cuts_ = 0;
};

// The large road. Removes its files unless they were ingested.
class FileRoad {
 public:
  explicit FileRoad(RocksCore& core) : core_(core), env_(rocks_env(core.options)) {}
  ~FileRoad() {
    caught([this]() -> Status {
      remove_files();
      return {};
    }).ignore("the next open removes them as well");
  }
  FileRoad(const FileRoad&) = delete;
  FileRoad& operator=(const FileRoad&) = delete;

  FamilyFiles& of(Family family) {
    auto& files = families_[static_cast<size_t>(family)];
    if (!files) files = std::make_unique<FamilyFiles>(core_, family);
    return *files;
  }

  Status commit() {
    std::vector<rocksdb::IngestExternalFileArg> arguments;
    for (size_t i = 0; i < family_count; ++i) {
      if (!families_[i]) continue;
      WQ_TRY(families_[i]->finish());
      rocksdb::IngestExternalFileArg argument;
      argument.column_family = core_.handles[i];
      argument.external_files = families_[i]->files();
      argument.options.move_files = true;
      argument.options.failed_move_fall_back_to_copy = true;
      argument.options.snapshot_consistency = true;
      argument.options.allow_global_seqno = true;
      argument.options.allow_blocking_flush = true;
      argument.options.write_global_seqno = false;
      arguments.push_back(std::move(argument));
    }
    if (arguments.empty()) return {};
    WQ_TRY(flush_batches());
    WQ_TRY(status_from_rocks(core_.db->IngestExternalFiles(arguments), "ingestion"));
    core_.checkpoints_ingested.fetch_add(1, std::memory_order_relaxed);
    return {};
  }

 private:
  void remove_files() {
    for (auto& family : families_) {
      if (!family) continue;
      const std::vector<std::string> files = family->files();
      family.reset();
      for (const std::string& file : files) env_.DeleteFile(file).PermitUncheckedError();
    }
  }

  // See the rule at the top of this file.
  Status flush_batches() {
    if (!core_.wal_in_use || WQ_PLANTED(ingested_before_older_batches)) return {};
    const std::vector<rocksdb::ColumnFamilyHandle*> handles(std::begin(core_.handles),
                                                            std::end(core_.handles));
    rocksdb::FlushOptions options;
    options.wait = true;
    options.allow_write_stall = true;
    WQ_TRY(status_from_rocks(core_.db->Flush(options, handles), "flush before ingestion"));
    core_.wal_in_use = false;
    return {};
  }

  RocksCore& core_;
  rocksdb::Env& env_;  // outlives the store, as a committed checkpoint may
  std::array<std::unique_ptr<FamilyFiles>, family_count> families_;
};

// Replays a batch into files, row by row in the order it was filled.
class BatchToFiles final : public rocksdb::WriteBatch::Handler {
 public:
  BatchToFiles(const RocksCore& core, FileRoad& road) : core_(core), road_(road) {}

  rocksdb::Status PutCF(uint32_t id, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    return note(road_.of(family_of(id)).put(key.ToStringView(), value.ToStringView()));
  }
  rocksdb::Status DeleteCF(uint32_t id, const rocksdb::Slice& key) override {
    return note(road_.of(family_of(id)).erase(key.ToStringView()));
  }
  rocksdb::Status DeleteRangeCF(uint32_t id, const rocksdb::Slice& begin,
                                const rocksdb::Slice& end) override {
    return note(road_.of(family_of(id)).erase_range(begin.ToStringView(), end.ToStringView()));
  }
  Status take_status() { return std::move(status_); }

 private:
  Family family_of(uint32_t id) const {
    for (size_t i = 0; i < family_count; ++i) {
      if (core_.handles[i]->GetID() == id) return static_cast<Family>(i);
    }
    check_failed("a batch of known families", __FILE__, __LINE__);
  }
  rocksdb::Status note(Status status) {
    if (status.ok()) return rocksdb::Status::OK();
    status_ = std::move(status);
    return rocksdb::Status::Aborted();
  }

  const RocksCore& core_;
  FileRoad& road_;
  Status status_;
};

class RocksCheckpoint final : public Checkpoint {
 public:
  RocksCheckpoint(RocksCore& core, uint64_t expected_rows) : core_(core) {
    if (expected_rows > core.options.batch_rows_max) road_ = std::make_unique<FileRoad>(core_);
  }

  Status put(Family family, std::string_view key, std::string_view value) override {
    note_key(family, key);
    if (road_) return road_->of(family).put(key, value);
    WQ_TRY(check(batch_.Put(core_.handle(family), slice(key), slice(value))));
    return spill_if_large();
  }
  Status erase(Family family, std::string_view key) override {
    note_key(family, key);
    if (road_) return road_->of(family).erase(key);
    WQ_TRY(check(batch_.Delete(core_.handle(family), slice(key))));
    return spill_if_large();
  }
  Status erase_range(Family family, std::string_view begin, std::string_view end) override {
    WQ_CHECK(!committed_);
    WQ_CHECK(begin < end);
    ranges_[static_cast<size_t>(family)].push_back({std::string(begin), std::string(end)});
    if (road_) return road_->of(family).erase_range(begin, end);
    WQ_TRY(check(batch_.DeleteRange(core_.handle(family), slice(begin), slice(end))));
    return spill_if_large();
  }

  // A batch goes into RocksDB's log; before files are ingested the memtables are flushed. Both
  // write a little to the manifest and may begin a new file.
  uint64_t commit_bytes() const override {
    constexpr uint64_t slack_bytes = 1u << 20;
    if (!road_) return batch_.Count() == 0 ? 0 : 2 * batch_.GetDataSize() + slack_bytes;
    uint64_t memtables_bytes = 0;
    if (core_.wal_in_use) {
      core_.db->GetAggregatedIntProperty(rocksdb::DB::Properties::kSizeAllMemTables,
                                         &memtables_bytes);
    }
    return memtables_bytes + slack_bytes;
  }

  Status commit() override {
    WQ_CHECK(!committed_);
    committed_ = true;
    WQ_TRY(core_.latch->get());
    WQ_TRY(road_ ? road_->commit() : commit_batch());
    for (size_t i = 0; i < family_count; ++i) {
      if (ranges_[i].empty()) continue;
      drop_covered_files(core_, static_cast<Family>(i), ranges_[i])
          .ignore("the checkpoint is durable; a failed manifest is latched by the listener");
    }
    return {};
  }

 private:
  static Status check(const rocksdb::Status& status) {
    return status_from_rocks(status, "checkpoint batch");
  }

  void note_key(Family family, std::string_view key) {
    WQ_CHECK(!committed_);
    std::optional<std::string>& last = last_keys_[static_cast<size_t>(family)];
    const bool ascending = !last || *last < key;
    WQ_CHECK(ascending);
    if (last) {
      last->assign(key);
    } else {
      last.emplace(key);
    }
  }

  Status spill_if_large() {
    if (batch_.GetDataSize() <= batch_bytes_max) return {};
    road_ = std::make_unique<FileRoad>(core_);
    BatchToFiles handler(core_, *road_);
    const rocksdb::Status iterated = batch_.Iterate(&handler);
    WQ_TRY(handler.take_status());
    WQ_TRY(check(iterated));
    batch_ = rocksdb::WriteBatch();
    return {};
  }

  Status commit_batch() {
    if (batch_.Count() == 0) return {};
    rocksdb::WriteOptions options;
    options.sync = !WQ_PLANTED(checkpoint_unsynced);
    core_.wal_in_use = true;
    WQ_TRY(check(core_.db->Write(options, &batch_)));
    core_.checkpoints_written.fetch_add(1, std::memory_order_relaxed);
    return {};
  }

  RocksCore& core_;
  std::unique_ptr<FileRoad> road_;  // null = by batch
  rocksdb::WriteBatch batch_;
  std::array<std::vector<KeyRange>, family_count> ranges_;
  std::array<std::optional<std::string>, family_count> last_keys_;
  bool committed_ = false;
};

}  // namespace

std::unique_ptr<Checkpoint> make_rocks_checkpoint(RocksCore& core, uint64_t expected_rows) {
  return std::make_unique<RocksCheckpoint>(core, expected_rows);
}

// RocksDB drops no range tombstone by itself before other reasons compact its file, and a job may
// be long in coming. Suggesting does not wait: the background thread takes the marked files in
// turn.
Status drop_covered_files(RocksCore& core, Family family, const std::vector<KeyRange>& ranges) {
  const std::string what = std::string("space of ") + family_name(family);
  rocksdb::ColumnFamilyHandle* handle = core.handle(family);
  ErasedSpan& erased = core.erased[static_cast<size_t>(family)];
  std::vector<rocksdb::Slice> bounds;
  bounds.reserve(ranges.size() * 2);  // RangePtr keeps pointers into it
  std::vector<rocksdb::RangePtr> pointers;
  for (const KeyRange& range : ranges) {
    bounds.emplace_back(range.begin);
    bounds.emplace_back(range.end);
    pointers.emplace_back(&bounds[bounds.size() - 2], &bounds.back());
    erased.begin = erased.ranges == 0 ? range.begin : std::min(erased.begin, range.begin);
    erased.end = erased.ranges == 0 ? range.end : std::max(erased.end, range.end);
    ++erased.ranges;
  }
  WQ_TRY(status_from_rocks(rocksdb::DeleteFilesInRanges(core.db, handle, pointers.data(),
                                                        pointers.size(), /*include_end=*/false),
                           what));
  // RocksDB looks for tombstones on the bottom level when a snapshot is released, and only then.
  core.db->ReleaseSnapshot(core.db->GetSnapshot());
  if (erased.ranges < erased_ranges_max) return {};
  erased.ranges = 0;
  const rocksdb::Slice begin(erased.begin);
  const rocksdb::Slice end(erased.end);
  return status_from_rocks(
      rocksdb::experimental::SuggestCompactRange(core.db, handle, &begin, &end), what);
}

// As the directory of the log: nothing for others. RocksDB makes its files readable for all, but
// nobody else comes to them.
Status make_private_directory(const StoreOptions& options, const std::string& directory) {
  namespace fs = std::filesystem;
  rocksdb::Env& env = rocks_env(options);
  if (env.FileExists(directory).ok()) return {};
  WQ_TRY(status_from_rocks(env.CreateDirIfMissing(directory), "mkdir"));
  if (options.env) return {};  // a disk of a test, without permissions
  std::error_code error;
  fs::permissions(directory, fs::perms::others_all | fs::perms::group_write,
                  fs::perm_options::remove, error);
  if (error) return status_from_errno(error.value(), directory, "chmod");
  return {};
}

Status remove_temp_files(const StoreOptions& options) {
  rocksdb::Env& env = rocks_env(options);
  const std::string& directory = options.temp_directory;
  WQ_TRY(make_private_directory(options, directory));
  std::vector<std::string> names;
  WQ_TRY(status_from_rocks(env.GetChildren(directory, &names), "list"));
  for (const std::string& name : names) {
    if (name == "." || name == "..") continue;
    WQ_TRY(status_from_rocks(env.DeleteFile(directory + "/" + name), "unlink"));
  }
  return {};
}

}  // namespace wq
