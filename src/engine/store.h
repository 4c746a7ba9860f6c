// Store: the cold side. Ordered families of rows, changed only by atomic durable checkpoints. Two
// implementations with the same tests: store_rocks (RocksDB column families) and store_mem (ordered
// maps, for the simulator and the model). Thread rule: reads from any thread at any time, one
// checkpoint or reclaim at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/status.h"

namespace rocksdb {
class Env;
}

namespace wq {

// Names and order are part of the format. The last five have their place here and no rows yet.
enum class Family : uint8_t {
  meta,
  job,
  ready,
  lease,
  delay,
  dlq,
  unique,
  batch,
  cron,
  kv,
  history
};
constexpr size_t family_count = 11;
const char* family_name(Family family);

// Families of plain rows that change with the jobs; see side_table.h.
constexpr Family side_families[] = {Family::unique, Family::batch, Family::cron, Family::kv,
                                    Family::history};

// One consistent ascending or descending walk over [lower, upper) of a family; an empty upper is
// the end of the family. Keep it short-lived, and drop it before the store is closed.
class Cursor {
 public:
  virtual ~Cursor() = default;
  virtual bool valid() const = 0;
  virtual std::string_view key() const = 0;    // until the next move
  virtual std::string_view value() const = 0;  // until the next move
  virtual void next() = 0;
  virtual void seek(
      std::string_view target) = 0;  // ascending walks: first key >= target, inside the bounds
  virtual Status status()
      const = 0;  // check when valid() turns false: a read error also ends the walk
};

// The changes of one checkpoint. Within a family, put and erase come in strictly ascending key
// order; erase_range in any order, and it must not cover a key that the same checkpoint puts.
// Ranges that come in key order with the rows around them cost least; each one is met by later
// reads until it is compacted away, so a run of a few keys is better erased one by one. Nothing is
// visible, and nothing survives a crash, before commit() returned ok.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;  // without commit: leaves no trace
  virtual Status put(Family family, std::string_view key, std::string_view value) = 0;
  virtual Status erase(Family family, std::string_view key) = 0;
  virtual Status erase_range(Family family, std::string_view begin, std::string_view end) = 0;
  // Room on the disk that a commit takes, about and rather too much.
  virtual uint64_t commit_bytes() const = 0;
  // A failure before anything has reached the store, as of a file that could not grow, leaves
  // failure() of that alone; the same checkpoint may be made again.
  virtual Status commit() = 0;
};

struct StoreStats {
  uint64_t files = 0;
  uint64_t file_bytes = 0;
  uint64_t checkpoints_ingested = 0;  // large, by SST ingestion
  uint64_t checkpoints_written = 0;   // small, by a synced WriteBatch
  uint64_t memory_bytes = 0;          // block cache, table readers and memtables
};

// One file that a store consists of, as of one moment: the first `bytes` of the file at `path`, or
// `contents`, where the file itself may hold something else by now.
struct StoreFile {
  std::string name;  // in the directory of the store
  std::string path;
  uint64_t bytes = 0;
  std::optional<std::string> contents;
};

// All files of one moment. None of them goes away or changes before this object does.
class HeldFiles {
 public:
  virtual ~HeldFiles() = default;
  std::vector<StoreFile> files;
};

class Store {
 public:
  virtual ~Store() = default;

  virtual Result<std::optional<std::string>> get(Family family, std::string_view key) const = 0;
  virtual std::unique_ptr<Cursor> scan(Family family, std::string_view lower,
                                       std::string_view upper, bool descending = false) const = 0;

  // `expected_rows` chooses the road: SST ingestion for large ones, one synced WriteBatch for
  // small.
  virtual Result<std::unique_ptr<Checkpoint>> begin_checkpoint(uint64_t expected_rows) = 0;

  // Removes rows that nothing refers to any more, and gives their disk space back where whole files
  // are covered. Not ordered with checkpoints; doing it twice is harmless.
  virtual Status reclaim(Family family, std::string_view begin, std::string_view end) = 0;

  // For a backup. As of the last commit, so not while a checkpoint or reclaim runs.
  virtual Result<std::unique_ptr<HeldFiles>> hold_files() = 0;

  // For a disk that is short: gives back what rows that are gone still occupy, if no more than a
  // part of `free_bytes` is needed for it meanwhile. Costs a rewrite of what is left, of which jobs
  // are about `job_bytes`.
  virtual Status shrink(uint64_t /*free_bytes*/, uint64_t /*job_bytes*/) { return {}; }

  // The first background failure, for ever after; ok before.
  virtual Status failure() const = 0;
  virtual StoreStats stats() const = 0;
  virtual Status close() = 0;
};

struct StoreOptions {
  std::string directory;       // "<store>/db"
  std::string temp_directory;  // "<store>/tmp": SST files under construction; emptied at open
  uint64_t cache_bytes = 16ull << 20;  // all blocks, indexes and filters together
  // Rows in memory until they become files; the sizes of files and of RocksDB's log follow from it.
  uint64_t buffer_bytes = 16ull << 20;
  bool create = true;
  bool read_only = false;  // no write of any kind, also no LOG or LOCK file
  // A checkpoint of more rows goes by ingestion, a smaller one by a batch; measured in
  // docs/design/0002-checkpoint-cutover.md.
  uint64_t batch_rows_max = 16'384;
  rocksdb::Env* env = nullptr;  // tests: files and background work of RocksDB; null = its own
};

Result<std::unique_ptr<Store>> open_rocks_store(const StoreOptions& options);

// What is left of a damaged store, for reading only; nothing below `directory` is changed.
// `scratch` is a directory of links that the store removes again. No store: `problem` says why.
struct SalvagedStore {
  std::unique_ptr<Store> store;
  std::string note;
  std::string problem;
  bool is_cut = false;  // there are tables that it does not know
};
// By a manifest: exact where it can be read at all. Walks begin at their lower bound and have no
// upper one.
SalvagedStore open_damaged_rocks_store(const std::string& directory, const std::string& scratch);
// By the tables alone: rows may be older than the newest, or of jobs that have ended.
SalvagedStore open_tables_of_rocks_store(const std::string& directory, const std::string& scratch);

// The content of a memory store, kept by its owner so that it survives a simulated crash: reopening
// the same content gives what the last commit left.
struct MemStoreContent;
std::shared_ptr<MemStoreContent> make_mem_store_content();
// What a crash at this moment would leave.
std::shared_ptr<MemStoreContent> copy_mem_store_content(MemStoreContent& from);
// The one file that hold_files() of a memory store gives, as a content again.
Result<std::shared_ptr<MemStoreContent>> read_mem_store_content(std::string_view file);
Result<std::unique_ptr<Store>> open_mem_store(std::shared_ptr<MemStoreContent> content);

}  // namespace wq
