// LogWriter: puts groups of frames into segment files, with the barrier they ask for, and goes on
// to new segments. It belongs to the flusher: one thread at a time. After the first failure it must
// not be used again; SegmentLog sees to that.
//
// Order at a rotation, each step durable before the next: last frame of the old segment; header of
// the new one, still under its spare or temp name; the new name. Only then frames follow, so a
// segment that has its name has a sound header and a complete predecessor, always.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "io/append_buffer.h"
#include "io/io.h"
#include "io/log_reader.h"
#include "io/spare_pool.h"

namespace wq {

// A segment that trim() has not released.
struct LiveSegment {
  std::string path;
  uint64_t seq = 0;
  Lsn first_lsn = 0;
  uint64_t frame_bytes = 0;
  bool grows = false;  // made without a spare: each barrier has to keep metadata of the file, too
};

struct WriteOutcome {
  Lsn durable_lsn = 0;  // may have grown even without a barrier, by a rotation
  // The barrier that is left to do: a sync of this file covers all that was written. Null: none.
  // It stays open until a write goes on to another segment, which waits for the barrier.
  File* unsynced = nullptr;
  uint64_t written_bytes = 0;      // headers and padding included
  std::vector<LiveSegment> begun;  // the group went on to these
};

class LogWriter {
 public:
  // `previous` is the newest segment found at open, with its end known; null for a fresh log.
  LogWriter(Io& io, std::unique_ptr<IoQueue> queue, SparePool& spares, std::string log_directory,
            const StoreUuid& uuid, const LogSegment* previous);

  // Seals and writes all runs. With `barrier`, they are durable afterwards; but where earlier calls
  // left more in the kernel than `durable_lsn`, one barrier has to cover all of it, and that is
  // left to the caller, who need not keep others from writing meanwhile: see
  // WriteOutcome::unsynced.
  Status write(AppendBuffer& group, bool barrier, Lsn durable_lsn, WriteOutcome* outcome);
  // The segment that the last group went to; a group for another one begins with a barrier.
  uint64_t segment() const { return seq_; }

 private:
  Status begin_segment(const AppendRun& run, WriteOutcome* outcome);
  Result<std::string> write_header(const SegmentHeader& header, std::optional<SpareFile> spare);
  Status write_run(AppendBuffer& group, const AppendRun& run, bool barrier, WriteOutcome* outcome);
  // Some write to file_ is covered by no barrier.
  bool unsynced(const WriteOutcome& outcome) const { return last_lsn_ > outcome.durable_lsn; }
  Status sync_written(WriteOutcome* outcome);
  Status open_direct(const std::string& path);
  File& barrier_file(const AppendRun& run, bool plain);

  Io& io_;
  const std::unique_ptr<IoQueue> queue_;
  SparePool& spares_;
  const std::string log_directory_;
  const StoreUuid uuid_;

  std::unique_ptr<File> file_;  // null until the first write of this run
  // The same file once more, past the page cache; null where the file system has no such thing.
  std::unique_ptr<File> direct_;
  uint32_t plain_barriers_ = 0;  // groups in a row that found nothing unsynced before them
  uint64_t seq_ = 0;             // of file_, or of the segment that precedes the first one
  uint64_t end_ = 0;             // behind the last frame
  uint64_t last_hash_ = 0;
  Lsn last_lsn_ = 0;
};

}  // namespace wq
