// Batches: jobs that belong together, counted exactly, and one job that is enqueued in the same
// record as the last of them settles. Rows of the family batch:
//
//   'b' batch:8              -> BatchRow, see encode_batch_row()
//   'm' batch:8 job:8        -> share:4, for each member that is not settled
//   'x' finished_ms:8 batch:8 -> (empty), for each batch that is finished
//
// Numbers of keys are big-endian, those of values little-endian. The share of a member is the job
// itself and the jobs of its chain, which are members from the start. A batch has its id from the
// counter of the jobs.
//
// The 'b' row of a batch is known to the side table while one of its members is resident (State
// pins it; residency.cc reads it with the job), so whatever changes a job can count. A member that
// a clear ended, which looks at no job, still has its 'm' row: Engine::look_after_batches finds it.
// A batch that is not there (any more) counts nothing. Pure functions; thread model as State's.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/command.h"
#include "engine/state.h"

namespace wq {

using BatchId = uint64_t;

enum BatchFlags : uint32_t {
  batch_sealed = 1,     // it is finished once nothing is pending
  batch_cancelled = 2,  // no member starts any more
  batch_allows_failures = 4,
};

struct BatchRow {
  uint32_t flags = 0;
  int64_t created_ms = 0;
  int64_t finished_ms = 0;  // 0 = not yet
  uint64_t total = 0;       // = pending + done + failed + cancelled
  uint64_t pending = 0;
  uint64_t done = 0;
  uint64_t failed = 0;                // dead
  uint64_t cancelled = 0;             // ended without success otherwise, or never came to be
  JobId follow_up = 0;                // what its end has enqueued
  std::string_view on_complete = {};  // encoded NextJobs; empty = none
  std::string_view on_failure = {};

  bool is_finished() const { return finished_ms != 0; }
};

std::string batch_row_key(BatchId batch);
std::string batch_member_key(BatchId batch, JobId job);
std::string batch_finished_key(int64_t finished_ms, BatchId batch);
struct BatchKey {
  char kind = 0;  // 'b', 'm' or 'x'
  BatchId batch = 0;
  JobId job = 0;            // m
  int64_t finished_ms = 0;  // x
};
std::optional<BatchKey> parse_batch_key(std::string_view key);

std::string encode_batch_row(const BatchRow& row);
std::optional<BatchRow> decode_batch_row(std::string_view bytes);  // views into `bytes`, checked
std::string encode_batch_share(uint32_t share);
std::optional<uint32_t> decode_batch_share(std::string_view bytes);

// None if there is no such batch, or none that is known.
std::optional<BatchRow> find_batch(const State& state, BatchId batch);
bool is_batch_cancelled(const State& state, BatchId batch);

// ---- what becomes of a member
void join_batch(State& state, const Job& job);
void fail_in_batch(State& state, const Job& job, int64_t now_ms);
void rejoin_batch(State& state, const Job& job);
// `next`: the job that goes on with its chain.
void end_in_batch(State& state, const Job& job, EndReason reason, const Job* next, int64_t now_ms);

// ---- imports
// What is pending counts as cancelled until the jobs come in; those that do not come stay so.
BatchRow arriving_batch(BatchRow row);
void adopt_batch(State& state, BatchId batch, const BatchRow& row);
// Of a job that is not dead. The row of the batch, if there is one, must be known.
void adopt_member(State& state, const Job& job);

// Commands 30 to 34.
Status apply_batch(State& state, const Command& command, Lsn lsn);

}  // namespace wq
