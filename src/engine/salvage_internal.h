// Shared by the salvage files: what was read of a checkpoint, and the fold of the log over it.
#pragma once

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/batch.h"
#include "engine/gate.h"
#include "engine/history.h"
#include "engine/kv.h"
#include "engine/residency.h"
#include "engine/salvage.h"
#include "engine/state.h"
#include "engine/store.h"
#include "engine/transfer.h"

namespace wq {

// Queues get a slot each; no real store comes near.
constexpr QueueId salvaged_queue_max = 1u << 22;

// Where a job of the checkpoint is, as long as no record of the log names it.
struct ColdJob {
  uint64_t position = 0;
  QueueId queue = 0;
  JobState state = JobState::gone;
  uint8_t priority = 0;
  uint8_t source = 0;  // index in ColdSide::stores
};

// Ranges of job ids of which the checkpoint's rows could not be read.
class IdGaps {
 public:
  void add(JobId low, JobId high) { ranges_[low] = std::max(high, ranges_[low]); }
  bool empty() const { return ranges_.empty(); }
  bool contains(JobId id) const {
    auto found = ranges_.upper_bound(id);
    return found != ranges_.begin() && std::prev(found)->second >= id;
  }

 private:
  std::map<JobId, JobId> ranges_;
};

// Told of each row; false: it is malformed.
using RowVisit = std::function<bool(std::string_view key, std::string_view value)>;

// Every row of [lower, upper) that can be read, in the order of the keys. `problem` is the first
// damage met.
void walk_rows(const Store& store, Family family, const std::string& lower,
               const std::string& upper, const RowVisit& visit, std::string& problem);

// One line about a family of rows.
Status tell_family(const FindingVisitor& visit, Family family, uint64_t rows,
                   const std::string& problem);

using Counts = std::map<std::pair<QueueId, JobState>, uint64_t>;

constexpr std::string_view no_such_job_why = "they name a job that is not there";

// Changes of the log that do not fit what is known, for one reason.
struct Misfit {
  uint64_t changes = 0;
  uint64_t records = 0;
  Lsn first_lsn = 0;
  Lsn last_lsn = 0;
};

struct ColdSchedule {
  std::string name;
  CronStateRow state;
  std::string row;  // a CronRow
};

// The checkpoint, as far as it can be read.
struct ColdSide {
  SalvagedStore stores[2];  // exact; by its tables
  std::optional<MetaRow> meta;
  std::vector<QueueRow> queues;
  std::unordered_map<JobId, ColdJob> jobs;
  std::unordered_set<JobId> doubtful;
  IdGaps gaps;
  Counts read_counts;  // jobs whose rows were read
  std::vector<ColdSchedule> schedules;
  std::map<std::pair<QueueId, std::string>, GateRow> rate_keys;

  // Nothing is thrown away for a damage; all of it is told to `visit`.
  Status read(Io& io, const SalvageOptions& options, const FindingVisitor& visit);
  // Whether nothing of the family was damaged.
  bool is_whole(Family family) const { return !damaged_[static_cast<size_t>(family)]; }
  // Each row that can be read. salvage_walk.cc
  void each_row(Family family, const std::string& lower, const std::string& upper,
                const RowVisit& visit) const;
  // Whether the checkpoint tells what became of a row.
  bool tells(Family family, std::string_view key) const;

 private:
  void note_whole(Family family, bool whole) { damaged_[static_cast<size_t>(family)] = !whole; }
  Status read_kv(const FindingVisitor& visit);
  Status read_index_families(const FindingVisitor& visit);
  Status read_rows(Family family, const FindingVisitor& visit);  // salvage_rows.cc
  bool read_meta(Store& store, std::string& problem);
  bool take_meta_row(std::string_view key, std::string_view value);
  Status read_schedules(Store& store, const FindingVisitor& visit);
  uint64_t count_unnamed() const;
  uint64_t read_jobs(Store& store, uint8_t source, std::string& problem);
  bool take_job(Cursor& cursor, uint8_t source);
  bool is_wanted(const JobRow& row, uint8_t source) const;

  bool damaged_[family_count] = {};
};

// The state as the log goes on from the checkpoint.
class Salvager {
 public:
  explicit Salvager(ColdSide& cold);

  // Records in the order of their LSNs.
  void record(Lsn lsn, Bytes body);
  // After the last one.
  Status finish(const FindingVisitor& visit, SalvageReport& report);
  Status write(Engine& engine);

  const std::vector<std::pair<Lsn, Lsn>>& missing() const { return missing_; }
  uint64_t unreadable() const { return unreadable_ + unwritten_; }
  uint64_t unwritten() const { return unwritten_; }
  const std::map<std::string_view, Misfit>& misfits() const { return misfits_; }
  Lsn last_lsn() const { return last_lsn_; }

 private:
  struct Place {
    QueueId queue = 0;
    uint8_t section = 0;  // ready, dead, delayed
    uint8_t priority = 0;
    bool is_free = false;  // not leased: behind those that are
    uint64_t position = 0;
    JobId id = 0;
    JobState state = JobState::gone;
    auto operator<=>(const Place&) const = default;
  };

  bool concerns(Lsn lsn, JobId id) const { return lsn > applied_lsn_ || cold_.gaps.contains(id); }
  void note_missing(Lsn lsn);
  void misfit(Lsn lsn, std::string_view why);
  Queue* queue_or_new(QueueId id);
  Queue* queue_of_record(QueueId id, Lsn lsn);
  uint64_t drop_queue_jobs(QueueId queue, uint32_t states);
  Job* touch(JobId id);
  Job* add_job(Queue* queue, const StoredJob& stored);
  void make_ready(Job* job, int64_t now_ms);
  void make_held(Job* job, Generation generation, int64_t now_ms);
  bool change(const Command& command, Lsn lsn);
  void change_and_follow(const Command& command, Lsn lsn, JobId below = 0);
  bool fits(const Command& command, const Job& job) const;
  void know_keys(const Command& command);
  void on_open(const Command& command, Lsn lsn);
  void on_declare(const Command& command, Lsn lsn);
  void on_queue(const Command& command, Lsn lsn);
  void on_enqueue(const Command& command, Lsn lsn);
  bool enqueue_all(const Command& command, Lsn lsn);
  void on_lease(const Command& command, Lsn lsn);
  void on_settle(const Command& command, Lsn lsn);
  void on_ids(const Command& command, Lsn lsn);
  void on_dead(const Command& command, Lsn lsn);
  void on_import(const Command& command, Lsn lsn);
  void take_import(const Command& command, Lsn lsn);
  // salvage_kv.cc
  void on_kv(const Command& command, Lsn lsn);
  Status each_kv(const std::function<Status(const KvImage&)>& visit) const;
  Status tell_kv(const FindingVisitor& visit) const;
  Status write_kv(Engine& engine) const;
  // salvage_rows.cc
  void know_batches();
  void on_batch(const Command& command, Lsn lsn);
  void forget_keys(const Command& command, Lsn lsn);
  void on_import_row(const KvChange& row, const Command& command, Lsn lsn);
  void each_batch(const std::function<void(const BatchImage&)>& visit) const;
  void each_key(const std::function<void(QueueId, const KeyImage&)>& visit) const;
  void each_done(const std::function<void(QueueId, const DoneRow&)>& visit) const;
  void each_rate_key(const std::function<void(QueueId, const RateKeyImage&)>& visit) const;
  Status tell_rows(const FindingVisitor& visit);
  Status write_rows(Engine& engine, const std::map<QueueId, QueueId>& ids) const;
  void take(const Command& command, Lsn lsn);
  void take_schedules();
  void on_cron(const Command& command, Lsn lsn);
  Status write_schedules(Engine& engine, const std::map<QueueId, QueueId>& ids);
  Command single(const Command& command) const;
  bool is_uncertain(JobId id) const;
  std::vector<Place> places() const;
  Place place_of(JobId id, QueueId queue, JobState state, uint8_t priority,
                 uint64_t position) const;
  Result<StoredJob> read(JobId id);

  ColdSide& cold_;
  State state_;
  Lsn applied_lsn_ = 0;
  Lsn last_lsn_ = 0;
  JobId job_id_limit_ = 1;  // above all that are known to have been handed out
  Generation generation_limit_ = 1;
  JobId gap_job_limit_ = 0;            // jobs below it were there when records are missing
  std::unordered_set<JobId> touched_;  // named by a record behind the last gap
  std::vector<std::pair<Lsn, Lsn>> missing_;
  std::unordered_set<JobId> recovered_;  // jobs of a gap in the rows that the log still had
  std::unordered_set<QueueId> deleted_;
  struct ChangedKv {
    std::optional<std::string> value;  // none: erased
    int64_t expires_ms = 0;
  };
  std::map<std::string, ChangedKv, std::less<>> kv_;  // as the log leaves them
  std::map<std::string_view, Misfit> misfits_;        // by the reason, a literal
  bool import_open_ = false;                          // begun and not ended
  bool batches_known_ = false;  // from the first record behind the checkpoint on
  uint64_t unreadable_ = 0;     // when a record named them
  uint64_t unwritten_ = 0;      // when they were about to go into the new store
};

}  // namespace wq
