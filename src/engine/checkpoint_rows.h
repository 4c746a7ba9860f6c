// checkpoint_rows: turns captured jobs into the sorted rows of one store checkpoint. No locks, no
// knowledge of the engine. Thread model: one thread per call.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "engine/record.h"
#include "engine/state.h"
#include "engine/store.h"

namespace wq {

struct CheckpointContent {
  std::vector<CapturedJob> jobs;  // sorted by write_rows, as the gates are by write_meta
  std::vector<QueueRow> queues;
  std::vector<GateChange> gates;
  std::vector<QueueId> removed_queues;       // as of the freeze
  std::vector<const SideTable::Rows*> side;  // as of the freeze, by side_families
  MetaRow meta;
};

struct FrozenCheckpoint {
  CheckpointContent content;
  Lsn lsn = 0;           // everything up to here is in it
  int64_t start_ns = 0;  // of the monotonic clock
};

// Rows that write_rows will write, about: decides between ingestion and a write batch.
uint64_t estimate_rows(const CheckpointContent& content);

// The rows of the jobs, then those of the queues and the store, with its applied_lsn. Both belong
// into one checkpoint; the commit is left to the caller. May be done again for another checkpoint.
Status write_rows(CheckpointContent& content, Encoder& encoder, Checkpoint& checkpoint);
Status write_meta(CheckpointContent& content, Encoder& encoder, Checkpoint& checkpoint);

}  // namespace wq
