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
  std::vector<CapturedJob> jobs;  // sorted by write_rows
  std::vector<QueueRow> queues;
  std::vector<QueueId> removed_queues;       // as of the freeze
  std::vector<const SideTable::Rows*> side;  // as of the freeze, by side_families
  MetaRow meta;
};

// Rows that write_rows will write, about: decides between ingestion and a write batch.
uint64_t estimate_rows(const CheckpointContent& content);

// Everything but the commit.
Status write_rows(CheckpointContent& content, Encoder& encoder, Checkpoint& checkpoint);

}  // namespace wq
