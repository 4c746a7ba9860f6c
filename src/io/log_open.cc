// Opening a log, and the read-only scan.
//
// Everything is read and judged before anything is changed. What is changed then (temp files and
// left-overs of a trim removed) can be interrupted anywhere and done again: the cut of a torn tail
// is not written here at all, it stands in the header of the segment that the first append begins.
#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "io/io_transfer.h"
#include "io/segment_log_impl.h"

namespace wq {
namespace {

Status check_options(const LogOptions& options) {
  if (options.segment_bytes % io_block_bytes != 0 || options.segment_bytes < segment_bytes_min) {
    return Status(Code::invalid,
                  "log: segment_bytes must be a multiple of 4096 and at least 16384");
  }
  if (options.memory_window_ms < 0) {
    return Status(Code::invalid, "log: memory_window_ms must not be negative");
  }
  return Code::ok;
}

// What is read afterwards is durable, so that a power cut can not take back what recovery has told.
Status make_durable(Io& io, IoQueue& queue, const LogSegment& segment) {
  WQ_TRY_SET(const auto file, io.open(segment.path, OpenMode::read_write));
  return write_fully(queue, *file, {}, 0, WriteMode::sync_after);
}

struct Verified {
  LogRecovery recovery;
  Lsn last_lsn = 0;  // 0 = there is no segment
};

// Walks what the checkpoint does not hold.
Status verify_records(Io& io, IoQueue& queue, LogChain& chain, Lsn applied_lsn, bool sync,
                      const FrameVisitor& visit, Verified* out) {
  std::vector<LogSegment>& segments = chain.segments;
  out->recovery.segments = segments.size();
  for (size_t i = 0; i < segments.size(); ++i) {
    const LogSegment* const next = i + 1 < segments.size() ? &segments[i + 1] : nullptr;
    if (next != nullptr && segments[i].last_lsn <= applied_lsn && !visit) continue;
    if (sync && !WQ_PLANTED(found_log_unsynced)) WQ_TRY(make_durable(io, queue, segments[i]));
    TornTail tail;
    WQ_TRY(walk_segment(io, queue, segments[i], next, next == nullptr ? &tail : nullptr, visit));
    out->last_lsn = segments[i].last_lsn;
    out->recovery.truncated_bytes = tail.bytes;
    out->recovery.truncated_where = tail.where;
  }
  if (segments.empty()) return Code::ok;
  out->recovery.last_lsn = out->last_lsn;
  const Lsn first = segments.front().header.first_lsn;
  out->recovery.first_lsn = first <= out->last_lsn ? first : 0;
  if (out->last_lsn < applied_lsn && !WQ_PLANTED(short_log_taken)) {
    const LogSegment& newest = segments.back();
    return Status(Code::corrupt,
                  segment_label(newest.header.seq) + " at " + std::to_string(newest.end) +
                      ": the log ends with record " + std::to_string(out->last_lsn) +
                      ", but the checkpoint holds records up to " + std::to_string(applied_lsn),
                  0, newest.end);
  }
  return Code::ok;
}

Status no_segments(const std::string& directory, Lsn applied_lsn) {
  return Status(Code::corrupt, directory + "/log: there is no segment; the log behind record " +
                                   std::to_string(applied_lsn) + " is missing");
}

Status remove_remains(Io& io, const LogChain& chain, SparePool& spares, LogRecovery* recovery) {
  for (const std::string& path : chain.temp_files) {
    if (WQ_PLANTED(log_temp_file_kept)) break;
    WQ_TRY(io.unlink(path));
    ++recovery->temp_files_removed;
  }
  WQ_TRY(spares.adopt(chain.spares, chain.spare_number_max));
  return spares.recycle(chain.leftovers);
}

}  // namespace

Result<std::unique_ptr<SegmentLog>> SegmentLog::open(Io& io, Clock& clock,
                                                     const LogOptions& options) {
  WQ_TRY(check_options(options));
  OpenedLog opened;
  WQ_TRY_SET(opened.queue, io.open_queue());
  WQ_TRY_SET(opened.barrier_queue, io.open_queue());
  WQ_TRY_SET(LogChain chain, load_chain(io, *opened.queue, options.directory, options.uuid,
                                        options.expected_applied_lsn));
  const std::string log_directory = options.directory + "/" + std::string(log_directory_name);
  if (chain.segments.empty()) {
    if (!options.create) return no_segments(options.directory, options.expected_applied_lsn);
    WQ_TRY(io.make_dir(log_directory));
    if (!WQ_PLANTED(log_directory_unsynced)) WQ_TRY(io.sync_dir(options.directory));
  }
  Verified verified;
  WQ_TRY(
      verify_records(io, *opened.queue, chain, options.expected_applied_lsn, true, {}, &verified));
  opened.recovery = std::move(verified.recovery);
  opened.next_lsn =
      chain.segments.empty() ? options.expected_applied_lsn + 1 : verified.last_lsn + 1;
  opened.recovery.last_lsn = opened.next_lsn - 1;
  opened.spares = std::make_unique<SparePool>(
      io, SparePool::Options{log_directory, options.segment_bytes, options.spare_segments,
                             std::max(options.spare_segments, options.recycled_segments_max)});
  WQ_TRY(remove_remains(io, chain, *opened.spares, &opened.recovery));
  // The newest segment's own name may be in the kernel only.
  if (!WQ_PLANTED(found_names_unsynced)) WQ_TRY(io.sync_dir(log_directory));
  opened.segments = std::move(chain.segments);
  return std::unique_ptr<SegmentLog>(
      std::make_unique<SegmentLogImpl>(io, clock, options, std::move(opened)));
}

LogScan scan_log(Io& io, const std::string& directory, const StoreUuid& uuid, Lsn applied_lsn,
                 const std::function<Status(const ScannedFrame&)>& visit) {
  LogScan scan;
  const auto run = [&]() -> Status {
    WQ_TRY_SET(const auto queue, io.open_queue());
    WQ_TRY_SET(LogChain chain, load_chain(io, *queue, directory, uuid, applied_lsn));
    if (chain.segments.empty()) return no_segments(directory, applied_lsn);
    const FrameVisitor counting = [&](const ScannedFrame& frame) -> Status {
      ++scan.frames;
      return visit ? visit(frame) : Status(Code::ok);
    };
    Verified verified;
    Status status = verify_records(io, *queue, chain, applied_lsn, false, counting, &verified);
    scan.found = std::move(verified.recovery);
    return status;
  };
  scan.status = run();
  return scan;
}

}  // namespace wq
