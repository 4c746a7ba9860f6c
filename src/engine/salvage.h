// Salvage: what can still be read of a damaged store, told in findings and, if asked for, written
// into a new one. The damaged store is only read. Rows of the last checkpoint come first, then each
// sound record of the log through the same apply() as always; where records before it are missing,
// a record tells by itself how its job must have been. In doubt a job is kept: it may run again, it
// is not lost (delivery is at least once). What is beside the jobs comes along the same way. A
// batch counts as its row and the records behind it say; those of its jobs that can not be found
// count as cancelled, and if no other is left it ends with that, and enqueues what follows. Thread
// model: one thread.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "engine/engine.h"

namespace wq {

enum class FindingKind : uint8_t {
  note = 0,
  intact = 1,     // a file or a family that is whole
  damaged = 2,    // a file or a family, and where
  missing = 3,    // records first_lsn .. last_lsn of the log
  found = 4,      // `count` jobs of `queue` in `state`
  lost = 5,       // the same: the checkpoint counts them, but nothing of them can be read
  uncertain = 6,  // the same: among those found; they may have gone on or ended in what is missing
};

struct SalvageFinding {
  FindingKind kind = FindingKind::note;
  std::string where = {};  // file or family
  std::string what = {};   // one line for people
  uint64_t offset = 0;
  Lsn first_lsn = 0;
  Lsn last_lsn = 0;
  uint64_t count = 0;
  JobState state = JobState::gone;
  std::string queue = {};
};

struct SalvageReport {
  uint64_t damages = 0;  // findings that are damaged or missing
  uint64_t jobs_found = 0;
  uint64_t jobs_lost = 0;
  uint64_t jobs_uncertain = 0;
  uint64_t records = 0;  // of the log, read
  uint64_t records_missing = 0;
};

struct SalvageOptions {
  std::string directory;      // of the damaged store
  std::string new_directory;  // empty: only look; else it must not exist
  std::string scratch;        // a directory that may be made and removed
  EngineOptions engine = {};  // how the new store is written; its directory and threads are set
};

using FindingVisitor = std::function<Status(const SalvageFinding&)>;

// An error only if nothing could be read, the new store could not be written, or `visit` said so.
Result<SalvageReport> salvage_store(const SalvageOptions& options, const Environment& environment,
                                    const FindingVisitor& visit);

}  // namespace wq
