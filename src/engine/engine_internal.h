// Shared by the engine_*.cc files only.
#pragma once

#include <string>

#include "engine/engine.h"

namespace wq {

constexpr int64_t ns_per_ms = 1'000'000;
constexpr int64_t ns_per_us = 1'000;
// Every sleep is capped, so that no step of a clock can freeze anything (SPEC section 7).
constexpr int64_t sleep_ms_max = 1'000;
constexpr int64_t shutdown_poll_ms = 20;
constexpr int64_t flusher_sleep_ms = 100;
constexpr int64_t no_room_poll_ms = 20;
constexpr int64_t no_memory_rest_ms = 20;
// Bounds of one step under the mutex: a few ms at most.
constexpr size_t due_step_max = 1'000;
constexpr size_t evict_step_max = 512;
constexpr size_t refill_rows_min = 16;
// Whoever leases faster than the store is read waits for one page of this size at a time.
constexpr size_t refill_rows_max = 512;
constexpr size_t line_refill_rows_max = 64;
// A checkpoint that freed more than this gives free memory back to the system: the allocator would
// keep it, between blocks that live longer.
constexpr uint64_t memory_returned_min = 8u << 20;
// Rows of a side table that were only read: this many, and this part of the memory budget.
constexpr size_t side_rows_kept_max = 4'096;
constexpr uint64_t side_rows_kept_part = 64;
// Changed ones: from this part of the budget on, a checkpoint takes them away.
constexpr uint64_t side_rows_changed_part = 4;
constexpr size_t drop_step_max = 1'000;
constexpr size_t dead_step_max = 256;
constexpr size_t dead_step_bytes_max = 4u << 20;
constexpr PageLimits page_limits{4096, 4u << 20};

// Counts a call in and out; close() waits for the calls inside.
class Engine::CallGuard {
 public:
  explicit CallGuard(Engine& engine) : engine_(engine), status_(engine.enter()) {}
  ~CallGuard() { engine_.leave(); }
  CallGuard(const CallGuard&) = delete;
  CallGuard& operator=(const CallGuard&) = delete;
  const Status& status() const { return status_; }

 private:
  Engine& engine_;
  Status status_;
};

inline Status import_is_open() {
  return Status(Code::conflict,
                "an import into this store is not finished; if it was interrupted, remove the "
                "store and import again");
}

// What may keep a queue from taking jobs at all (engine_produce.cc).
Status admit_to_queue(const Queue& queue);
// A job of an enqueue, with all choices made (engine_produce.cc).
NewJob new_job_of(const JobSpec& spec, JobId id, Bytes envelope, int64_t now_ms);

// What the engine adds to a settle that was admitted (engine_consume.cc).
void complete_settle(const Queue& queue, const Job& job, SettleItem& item);

inline Status key_is_held(JobId holder) {
  return Status(Code::duplicate, "job " + std::to_string(holder) + " holds the key");
}

inline Status no_such_queue() {
  return Status(Code::not_found, "the queue does not exist (any more)");
}

Status no_room_for_replay();  // engine_dead_bulk.cc
Status batch_is_cancelled(uint64_t batch);
// The batch of a dead letter if that was cancelled and is not finished: no job of it is tried
// again. Else 0. `stored`: what was read of a job that is not resident.
uint64_t cancelled_batch_of(const State& state, JobId id, const StoredJob* stored);
inline Status no_such_job(JobId id) {
  return Status(Code::not_found, "no job " + std::to_string(id) + " in this queue");
}

// Keeps the rows of some batches known, whoever has the lock meanwhile (engine_batch.cc). Made and
// destroyed without the engine's mutex.
class Engine::RowPins {
 public:
  explicit RowPins(Engine& engine, Family family = Family::batch)
      : engine_(engine), family_(family) {}
  ~RowPins();
  RowPins(const RowPins&) = delete;
  RowPins& operator=(const RowPins&) = delete;

  void add(uint64_t batch);  // 0: nothing to keep
  void add_row(std::string key);
  Status take();  // once, with all of them added

 private:
  Engine& engine_;
  const Family family_;
  std::vector<std::string> keys_;
  size_t taken_ = 0;  // of them, from the first on
};

// Jobs that become resident for a command that moves them are in no lane until it is there: whether
// the log has room for it is asked before, and not again while this lives. `status` not ok: leave
// them in the store.
class Engine::LogRoom {
 public:
  static constexpr uint64_t few_jobs_bytes = 256 << 10;  // commands that name a page of jobs

  LogRoom(Engine& engine, uint64_t bytes) WQ_REQUIRES(engine.mutex_);
  ~LogRoom() {
    engine_.mutex_.assert_held();
    engine_.log_room_known_ = false;
  }
  LogRoom(const LogRoom&) = delete;
  LogRoom& operator=(const LogRoom&) = delete;
  const Status& status() const { return status_; }

 private:
  Engine& engine_;
  const Status status_;
};

// Commits one change of one job, wherever the job is. `check(state, generation)` says whether the
// job may be changed so; `change()` builds and commits the command. NOT_FOUND when the queue has no
// such job.
template <typename Check, typename Change>
Status Engine::with_job(QueueId id, JobId job_id, Check&& check, Change&& change) {
  CallGuard guard(*this);
  if (!guard.status().ok()) return guard.status();
  for (;;) {
    uint64_t version = 0;
    {
      MutexLock lock(mutex_);
      WQ_TRY_SET(const Queue* queue, queue_for(id));
      if (const Job* job = state_.find(job_id)) {
        if (!State::is_live(job) || job->queue != queue) return no_such_job(job_id);
        WQ_TRY(check(job->state, job->generation));
        return change();
      }
      if (job_id == 0 || job_id >= state_.next_job_id) return no_such_job(job_id);
      version = store_version_;
    }
    WQ_TRY_SET(StoredJob stored, read_job(*store_, job_id));
    MutexLock lock(mutex_);
    if (version != store_version_ || state_.find(job_id)) continue;
    WQ_TRY_SET(const Queue* queue, queue_for(id));
    if (!is_live_row(queue, stored.row)) return no_such_job(job_id);
    WQ_TRY(check(stored.row.state, stored.row.generation));
    const LogRoom room(*this, LogRoom::few_jobs_bytes);
    WQ_TRY(room.status());
    // Resident but in no lane from here on, so the command has to follow under this lock. If the
    // log has failed no change follows at all; if there is no memory for it, none may.
    WQ_TRY_SET([[maybe_unused]] Job * job, materialize(state_, std::move(stored)));
    try {
      return change();
    } catch (...) {
      set_failure("a stored job could not be changed");
      throw;
    }
  }
}

// Runs `body` under the mutex with the rows of these keys known to the side table of `family`. What
// was read becomes known in the same critical section: others that forget clean rows never come in
// between.
template <typename Body>
Status Engine::with_rows(Family family, std::span<const std::string> keys, Body&& body) {
  std::vector<const std::string*> unknown;
  std::vector<std::optional<std::string>> values;  // of `unknown`
  uint64_t version = 0;
  for (;;) {
    {
      MutexLock lock(mutex_);
      SideTable& table = state_.side(family);
      for (size_t i = 0; i < values.size() && version == store_version_; ++i) {
        table.load(*unknown[i], std::move(values[i]));
      }
      unknown.clear();
      values.clear();
      for (const std::string& key : keys) {
        if (!table.find(key)) unknown.push_back(&key);
      }
      if (unknown.empty()) {
        const Status status = body();
        drop_clean_rows(family);
        return status;
      }
      version = store_version_;
    }
    for (const std::string* key : unknown) {
      WQ_TRY_SET(std::optional<std::string> value, store_->get(family, *key));
      values.push_back(std::move(value));
    }
  }
}

// Runs `body(cold)` under the mutex with these rows of the family `unique` known, and with the jobs
// that they name, and job `also` if not 0, either resident or in `cold`, as the store has them.
template <typename Body>
Status Engine::with_holders(std::span<const std::string> rows, JobId also, Body&& body) {
  ColdJobs cold;
  uint64_t version = 0;
  for (;;) {
    std::vector<JobId> unknown;
    const auto look = [&]() WQ_REQUIRES(mutex_) -> Status {
      if (version != store_version_) cold.clear();
      version = store_version_;
      if (also != 0) cold.add_unknown(state_, also, unknown);
      for (const std::string& row_key : rows) {
        WQ_TRY_SET(const JobId holder, named_holder(state_, row_key));
        if (holder != 0) cold.add_unknown(state_, holder, unknown);
      }
      return unknown.empty() ? body(cold) : Status();
    };
    WQ_TRY(with_rows(Family::unique, rows, look));
    if (unknown.empty()) return {};
    for (const JobId id : unknown) {
      WQ_TRY_SET(StoredJob job, read_job(*store_, id));
      cold.put(std::move(job));
    }
  }
}

// Of an import: whether a time of it can be one; what is said if there is none.
Status check_time(const char* field, int64_t time_ms);
Status no_import();
// Of a payload that an import leaves as it was packed elsewhere.
Status admit_packing(const Envelope& envelope);

}  // namespace wq

#define WQ_ENTER()            \
  CallGuard wq_guard_(*this); \
  if (!wq_guard_.status().ok()) return wq_guard_.status()
