// SparePool: files that are ready to become segments, made ahead of need or recycled by trim().
//
// A write into zeros that are on the disk already changes no file metadata, which makes a barrier
// cheaper than one after an extending write; and a spare is room that a full disk can not take
// away. A file counts as ready only when its bytes, its length and its name are durable. Thread
// model: any thread. Failures of a spare's own bytes cost that spare only; a failed directory sync
// is told by directory_failure(), and nothing on that directory can be relied on any more.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "io/io.h"

namespace wq {

struct SpareFile {
  std::string path;
  bool recycled = false;  // may hold bytes of a former life
};

class SparePool {
 public:
  struct Options {
    std::string log_directory;
    uint64_t segment_bytes = 0;
    uint32_t prepared_max = 0;  // prepare_step() goes on until so many are ready
    uint32_t kept_max = 0;      // recycle() deletes what is over this
  };
  SparePool(Io& io, Options options) : io_(io), options_(std::move(options)) {}

  // Takes over the spare files found at open; those of another length are deleted.
  Status adopt(const std::vector<std::string>& paths, uint64_t number_max);

  // A ready file, removed from the pool. Empty: none. Its old name is the caller's to rename.
  std::optional<SpareFile> take();

  // Turns trimmed segment files into spares, or deletes them.
  Status recycle(const std::vector<std::string>& paths);

  // Writes the next few MiB of zeros; true = more to do. NO_SPACE gives back what was begun.
  Result<bool> prepare_step(uint64_t room_bytes);

  uint64_t segment_bytes() const { return options_.segment_bytes; }
  uint64_t ready() const;
  Status directory_failure() const;

 private:
  Result<bool> fit_for_spare(const std::string& path);
  Result<bool> zero_step(IoQueue& queue) WQ_REQUIRES(work_mutex_);
  Status finish_spare() WQ_REQUIRES(work_mutex_);
  Status begin_spare() WQ_REQUIRES(work_mutex_);
  void drop_unfinished() WQ_REQUIRES(work_mutex_);
  Status sync_directory();
  std::string next_path(const char* suffix);

  Io& io_;
  const Options options_;

  // Rank: before mutex_. Lets one thread at a time make spares; held over I/O, so take() never
  // needs it.
  Mutex work_mutex_;
  std::unique_ptr<File> unfinished_ WQ_GUARDED_BY(work_mutex_);
  uint64_t zeroed_bytes_ WQ_GUARDED_BY(work_mutex_) = 0;

  // Rank: leaf.
  mutable Mutex mutex_;
  std::vector<SpareFile> ready_ WQ_GUARDED_BY(mutex_);
  uint64_t next_number_ WQ_GUARDED_BY(mutex_) = 1;
  Status directory_failure_ WQ_GUARDED_BY(mutex_);
};

}  // namespace wq
