// Residency: what moves between the store and memory. Reading (read_*) needs no lock and may meet a
// checkpoint half way; merging (merge_*, materialize) happens under the engine's mutex and is right
// because of two rules that the engine keeps: a job that changed since the last complete checkpoint
// is in the job table, where it overrides whatever was read; and pages read before the table last
// forgot a job (the store version changed) are thrown away and read again.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "engine/state.h"
#include "engine/store.h"

namespace wq {

// One job as the store holds it. row.state is gone if it holds none.
struct StoredJob {
  JobId id = 0;
  JobRow row;  // its texts are empty here: they stand beside it
  std::string error;
  std::string progress;
  // The row with its texts, which it borrows.
  JobRow full_row() const {
    JobRow full = row;
    full.last_error = error;
    full.progress = progress;
    return full;
  }
  BodyRef body;
  bool has_state_row = false;
  uint64_t batch = 0;  // its batch, and the row of that, which is known while the job is resident
  std::optional<std::string> batch_row;
};

Result<StoredJob> read_job(const Store& store, JobId id);
// The same from a cursor over the whole family `job`; neighbours in turn cost no seek. Without rows
// of other families: for those who only read.
Result<StoredJob> read_job(Cursor& jobs, JobId id);

// Many of them, from one view of the store. In roughly ascending id order neighbours cost no seek.
class StoredJobReader {
 public:
  explicit StoredJobReader(const Store& store);
  Result<StoredJob> read(JobId id);

 private:
  const Store& store_;
  std::unique_ptr<Cursor> cursor_;
};

// Before the job is added to the state.
void load_rows(State& state, StoredJob& stored);

// Whether a row of this queue still counts: clear and delete end jobs without touching their rows.
bool is_live_row(const Queue* queue, const JobRow& row);

// ---- lanes

struct LanePage {
  QueueId queue = 0;
  uint8_t priority = 0;
  std::string gate;   // set: of the line of this group, rate key or tenant
  uint64_t line = 0;  // and its number
  uint64_t low = 0;   // where the page starts and ends, as ready seqs
  uint64_t next_low = 0;
  bool reached_high = false;
  uint64_t high = 0;  // the cold range's end when the page was read
  std::vector<uint64_t> positions;
  std::vector<StoredJob> jobs;
};

struct LaneRange {
  QueueId queue = 0;
  uint8_t priority = 0;
  uint64_t low = 0;
  uint64_t high = 0;
  std::string gate = {};
  uint64_t line = 0;

  LaneRange(const Queue& of, const Lane& lane)
      : queue(of.id), priority(lane.priority), low(lane.cold_low), high(lane.cold_high) {
    if (!lane.gate) return;
    gate = lane.gate->name;
    line = lane.gate->number;
  }
  std::string key(uint64_t seq) const {
    return line == 0 ? ready_key(queue, priority, seq) : line_key(queue, line, priority, seq);
  }
};

struct PageLimits {
  size_t rows = 0;
  size_t bytes = 0;  // of envelopes; the last job may go over
};

Result<LanePage> read_lane(const Store& store, const LaneRange& range, const PageLimits& limits);
// False if the lane moved on since the page was read: read again.
Result<bool> merge_lane(State& state, LanePage page);

// ---- delayed jobs

struct DelayPage {
  DelayKey after;
  DelayKey last;
  bool reached_end = false;
  std::vector<DelayKey> keys;
  std::vector<StoredJob> jobs;
};

Result<DelayPage> read_delays(const Store& store, const DelayKey& after, const PageLimits& limits);
Result<bool> merge_delays(State& state, DelayPage page);

// ---- single jobs

// Makes a stored job resident so that a command can name it. The command must follow in the same
// critical section. Null if the job is not live any more.
Result<Job*> materialize(State& state, StoredJob stored);

// ---- eviction

struct EvictionPolicy {
  uint64_t resident_bytes_target = 0;  // stop when below
  uint64_t lane_window = 0;            // jobs kept at the head of each lane; of a line a part of it
  int64_t delay_horizon_ms = 0;        // delayed jobs due up to here are kept
};

// Drops up to `limit` clean jobs from memory; true = there may be more to drop.
bool evict_some(State& state, const EvictionPolicy& policy, size_t limit);

}  // namespace wq
