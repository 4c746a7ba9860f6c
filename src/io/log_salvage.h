// Reading a damaged log: every record that is still sound, in the order of their LSNs, whatever
// lies between them. Unlike the reader of an open (log_reader.h) it judges nothing and refuses
// nothing; what it can not read it tells. Frames carry the store's uuid and the segment's number in
// their checksums, so a frame that validates was written there. Frames that an open cut off are
// left out: a later segment begins with or before their LSN. Thread model: one thread; nothing here
// writes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/io.h"
#include "io/segment_log.h"

namespace wq {

struct DamagedSegment {
  std::string label;    // "log/0000000000000003.seg"
  std::string problem;  // of its header or of reading it; empty = none
  StoreUuid uuid{};     // as its header says; only if that is sound
  bool header_sound = false;
  uint64_t seq = 0;
  Lsn first_lsn = 0;  // of the sound records taken; 0 = none
  Lsn last_lsn = 0;
  uint64_t records = 0;
  uint64_t bad_bodies = 0;    // frames with a sound header and a damaged body
  uint64_t first_bad_at = 0;  // offset of the first of them
};

struct DamagedLog {
  std::vector<DamagedSegment> segments;  // oldest first
  std::optional<StoreUuid> uuid;         // what most sound headers say
  std::string problem;                   // the directory could not be listed
};

// Lists the segments and reads their headers.
DamagedLog list_damaged_log(Io& io, const std::string& directory);

// Calls `visit` for each sound record and fills in what the segments gave. Only an error of `visit`
// ends it early.
Status read_damaged_log(Io& io, const std::string& directory, const StoreUuid& uuid,
                        DamagedLog& log, const std::function<Status(Lsn, Bytes)>& visit);

}  // namespace wq
