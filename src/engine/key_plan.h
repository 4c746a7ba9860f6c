// KeyPlan: what becomes of the keys of new jobs, decided before their command is committed: which
// of them meets a holder, when a debounced one is due, and which stored jobs have to be resident
// because apply() will end them. The same rules as in unique.cc, with the jobs that are only in the
// store beside those of the state.
// Thread model: under the engine's mutex; ColdJobs is filled outside of it.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/result.h"
#include "engine/residency.h"
#include "engine/state.h"
#include "engine/unique.h"

namespace wq {

struct JobSpec;

// Jobs as the store has them, which counts for those that are not resident, while the store version
// does not change (see residency.h).
class ColdJobs {
 public:
  void clear() { jobs_.clear(); }
  void put(StoredJob job) {
    const JobId id = job.id;
    jobs_.insert_or_assign(id, std::move(job));
  }
  // Appends the id if the job has to be read.
  void add_unknown(const State& state, JobId id, std::vector<JobId>& unknown) const {
    if (!state.find(id) && !jobs_.contains(id)) unknown.push_back(id);
  }
  StoredJob* find(JobId id) {
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<JobId, StoredJob> jobs_;
};

// One job, resident or not, as far as a decision needs it.
struct JobGlance {
  bool live = false;
  QueueId queue = 0;
  JobState state = JobState::gone;
  Generation generation = 0;
  int64_t key_until_ms = 0;
};
JobGlance glance(const State& state, ColdJobs& cold, JobId id);

// The job that a row of a unique or debounce key names, whether it holds the key or not; 0 = none.
// The row must be known.
Result<JobId> named_holder(const State& state, const std::string& row_key);
// Who holds the key of this row, and until when; holder 0 = nobody. The row and its job must be
// known.
Result<KeyRow> holder_of(const State& state, ColdJobs& cold, const std::string& row_key,
                         int64_t now_ms);

// Jobs that wait, and leave with the same command.
struct Leaving {
  uint64_t jobs = 0;
  uint64_t bytes = 0;
  uint64_t ready_jobs = 0;  // of them, ready ones
  uint64_t ready_bytes = 0;
};

class KeyPlan {
 public:
  KeyPlan(const State& state, ColdJobs& cold, QueueId queue, int64_t now_ms)
      : state_(state), cold_(cold), queue_(queue), now_ms_(now_ms) {}

  // The job that holds a key of this one; 0: it may come in as `id`, and takes its keys. Sets the
  // due time of a debounced one. `bytes`: of its envelope.
  Result<JobId> place(const JobSpec& spec, JobId id, uint64_t bytes, int64_t& due_ms);
  // The job is acked by the same record, behind the new jobs: its unique key is free for them.
  void end(JobId id) { ending_.insert(id); }
  // Jobs that wait and whose place is taken.
  const std::vector<JobId>& replaced() const { return replaced_; }
  // What leaves the queue with them, and with jobs of this command that others of it replace.
  const Leaving& leaving() const { return leaving_; }

 private:
  Result<KeyRow> holder(const std::string& row_key);
  void replace(JobId id);

  const State& state_;
  ColdJobs& cold_;
  QueueId queue_;
  int64_t now_ms_;
  std::unordered_map<std::string, KeyRow> taken_;  // by jobs of this command
  std::vector<JobId> replaced_;
  std::unordered_map<JobId, uint64_t> debounced_bytes_;  // of jobs of this command
  Leaving leaving_;
  std::unordered_set<JobId> ending_;
};

}  // namespace wq
