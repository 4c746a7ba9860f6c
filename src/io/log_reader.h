// Reading a log: which segments belong to it, the walk over their frames, and the verdict at the
// end.
//
// A frame is looked for where the one before ended and, if it is not there, at the next block edge,
// since a barrier pads to it; it must validate and carry the next LSN. Every segment but the newest
// was durable to its last frame before its successor got a name, and the successor's header says
// where that was: anything else is damage. In the newest segment the first place without a frame is
// either the end of the log, or a torn tail, or damage in the middle of acknowledged data. It is
// the last if a sound frame header further on says that more was durable than was found. Thread
// model: one thread; nothing here writes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/frame.h"
#include "io/io.h"
#include "io/segment.h"

namespace wq {

struct LogSegment {
  std::string path;
  SegmentHeader header;
  uint64_t header_hash = 0;
  uint64_t file_bytes = 0;
  // Known from the successor's header, or after walk_segment().
  uint64_t end = 0;        // behind the last frame
  Lsn last_lsn = 0;        // of the last record; first_lsn - 1 if there is none
  uint64_t last_hash = 0;  // of the last frame; of the header block if there is none
};

struct LogChain {
  std::vector<LogSegment> segments;    // oldest first, without gaps
  std::vector<std::string> leftovers;  // paths of segments whose removal by trim() a crash undid
  std::vector<std::string> temp_files;
  std::vector<std::string> spares;
  uint64_t spare_number_max = 0;
};

// Lists the log directory and reads the headers. CORRUPT for a missing, foreign, renamed or damaged
// segment, and for a gap above applied_lsn. A directory that does not exist is an empty chain.
Result<LogChain> load_chain(Io& io, IoQueue& queue, const std::string& directory,
                            const StoreUuid& uuid, Lsn applied_lsn);

struct TornTail {
  uint64_t bytes = 0;  // 0 = the log ends cleanly
  std::string where;   // "log/0000000000000003.seg at 8192: why"
};

using FrameVisitor = std::function<Status(const ScannedFrame&)>;

// Walks the frames and fills in end, last_lsn and last_hash. `next` is the segment's successor,
// null for the newest one; only then `tail` is filled.
Status walk_segment(Io& io, IoQueue& queue, LogSegment& segment, const LogSegment* next,
                    TornTail* tail, const FrameVisitor& visit);

// The frames of one segment up to record `last`, which must be in it and durable; the segment may
// be the one that is written to at the moment.
Status read_segment(Io& io, IoQueue& queue, const std::string& directory, const StoreUuid& uuid,
                    uint64_t seq, Lsn last, const FrameVisitor& visit);

}  // namespace wq
