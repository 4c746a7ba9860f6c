// Inspect: the full scan behind verify(). Every job is in exactly one state, every index row has
// its job and every job its index row, and all counts equal what the scan finds. The scan runs
// under the engine's mutex, so that nothing moves: calls wait while it runs. A checkpoint goes
// before it, but what changes between the two is in memory alone and goes over what the store has.
#include <map>

#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/gate.h"
#include "engine/inspect_rows.h"
#include "engine/job_limits.h"
#include "engine/kv.h"
#include "engine/turns.h"
#include "engine/unique.h"
#include "engine/unique_inspect.h"

namespace wq {
namespace {

struct Counts {
  uint64_t by_state[job_state_count] = {};
  uint64_t bytes[job_state_count] = {};
  std::map<uint8_t, uint64_t> by_lane;
  std::map<std::pair<std::string, uint8_t>, uint64_t> by_line;
  std::map<std::string, uint64_t> slots;  // leased and running jobs, by the names of their groups
};

class Scanner {
 public:
  Scanner(const State& state, const Store& store, VerifyReport& report)
      : state_(state), store_(store), jobs_(store), report_(report) {}

  Status run() {
    WQ_TRY(scan_jobs());
    scan_resident();
    for (const Family family : {Family::ready, Family::lease, Family::delay, Family::dlq}) {
      WQ_TRY(scan_index(family));
    }
    WQ_TRY(scan_kv());
    WQ_TRY(inspect_keys(state_, store_, jobs_holding_, report_));
    WQ_TRY(inspect_batches(state_, store_, report_));
    WQ_TRY(inspect_history(state_, store_, report_));
    WQ_TRY(inspect_schedules(state_, store_, report_));
    compare();
    return {};
  }

 private:
  void problem(const std::string& what) {
    if (report_.problems++ == 0) report_.first_problem = what;
  }

  // Jobs that the store alone knows of; what is resident is counted by scan_resident.
  Status scan_jobs() {
    const auto cursor = store_.scan(Family::job, std::string(), std::string());
    JobId last = 0;
    for (; cursor->valid(); cursor->next()) {
      const auto key = parse_job_key(cursor->key());
      if (!key || (key->is_state && key->id != last)) {
        problem("family job: a row without its body row");
        continue;
      }
      if (key->id == last) continue;
      last = key->id;
      if (state_.find(key->id)) continue;
      Result<StoredJob> job = jobs_.read(key->id);
      if (!job.ok()) {
        problem(job.status().message());
        continue;
      }
      const JobRow& row = job.value().row;
      const Queue* queue = state_.find_queue(row.queue);
      if (!queue || !is_live_row(queue, row)) continue;  // trash
      ++report_.jobs;
      count(queue, row.state, row.priority, job.value().body.size(), job.value().body);
      if (row.key_until_ms == key_no_end) ++jobs_holding_;
      ++expected_index_rows_;
      if (row.state == JobState::leased || row.state == JobState::running) {
        problem("job " + std::to_string(key->id) + " is leased but not resident");
      }
    }
    return cursor->status();
  }

  void scan_resident() {
    state_.jobs().for_each([&](const Job* job) {
      if (!State::is_live(job)) return;
      ++report_.jobs;
      count(job->queue, job->state, job->priority, job->body.size(), job->body);
      if (job->key_until_ms == key_no_end) ++jobs_holding_;
      const bool expires = job->state == JobState::ready && expiry_ms(*job) != 0;
      const bool timed = job->state == JobState::delayed || job->deadline_ms != 0 || expires;
      if (job->has_timer() != timed) {
        problem("job " + std::to_string(job->id) + " has a timer that does not fit its state");
      }
      if (job->state != JobState::delayed && !job->place.linked() && job->state != JobState::dead) {
        problem("job " + std::to_string(job->id) + " is in no list");
      }
    });
  }

  void count(const Queue* queue, JobState state, uint8_t priority, uint64_t bytes,
             const BodyRef& body) {
    Counts& counts = counts_[queue->id];
    ++counts.by_state[static_cast<size_t>(state)];
    counts.bytes[static_cast<size_t>(state)] += bytes;
    bytes_ += bytes;
    const auto traits = trusted_traits(body.bytes());
    const bool held = state == JobState::leased || state == JobState::running;
    if (held && traits && !traits->group.empty()) {
      ++counts.slots[GateName(GateName::group, traits->group).owned()];
    }
    if (state != JobState::ready) return;
    const std::string gate = traits ? gate_name_of(*traits).owned() : std::string();
    if (gate.empty()) {
      ++counts.by_lane[priority];
    } else {
      ++counts.by_line[{gate, priority}];
    }
  }

  // Every live index row leads to a job that is where the row says.
  Status scan_index(Family family) {
    const auto cursor = store_.scan(family, std::string(), std::string());
    for (; cursor->valid(); cursor->next()) {
      ++report_.entries;
      WQ_TRY(check_index_row(family, cursor->key(), cursor->value()));
    }
    return cursor->status();
  }

  Status check_index_row(Family family, std::string_view key, std::string_view value) {
    const auto delay = family == Family::delay ? parse_delay_key(key) : std::nullopt;
    const auto id = family == Family::delay
                        ? (delay ? std::optional<JobId>(delay->id) : std::nullopt)
                        : parse_id_value(value);
    if (!id) {
      problem(std::string("family ") + family_name(family) + ": malformed row");
      return {};
    }
    if (state_.find(*id)) return {};  // overridden by what is resident
    Result<StoredJob> job = jobs_.read(*id);
    if (!job.ok()) return {};  // told by scan_jobs
    const JobRow& row = job.value().row;
    const Queue* queue = state_.find_queue(row.queue);
    if (!queue || !is_live_row(queue, row)) return {};
    std::string expected;
    if (row.state == JobState::ready) {
      const auto gate = queue->gates.find(gate_name_of(job.value().body));
      expected = gate == queue->gates.end()
                     ? ready_key(row.queue, row.priority, row.position)
                     : line_key(row.queue, gate->second->number, row.priority, row.position);
    }
    if (row.state == JobState::dead) expected = dead_key(row.queue, row.position);
    if (row.state == JobState::delayed) {
      expected = delay_key(static_cast<int64_t>(row.position), row.queue, *id);
    }
    if (expected != key) {
      problem(std::string("family ") + family_name(family) + ": job " + std::to_string(*id) +
              " is not where its row says");
      return {};
    }
    ++found_index_rows_;
    return {};
  }

  // Every row that expires has its place in the order of expiry, and every place its row. What
  // memory knows goes over what the store holds.
  Status scan_kv() {
    const SideTable& table = state_.side(Family::kv);
    const auto cursor = store_.scan(Family::kv, std::string(), std::string());
    for (; cursor->valid(); cursor->next()) {
      if (!table.find(cursor->key())) WQ_TRY(check_kv_row(cursor->key(), cursor->value()));
    }
    WQ_TRY(cursor->status());
    Status status;
    table.for_each([&](const std::string& key, const std::optional<std::string>& value) {
      if (value && status.ok()) status = check_kv_row(key, *value);
    });
    WQ_TRY(std::move(status));
    if (kv_expiring_ != kv_expiries_) {
      problem("family kv: " + std::to_string(kv_expiring_) + " rows expire, " +
              std::to_string(kv_expiries_) + " have a place in the order of expiry");
    }
    return {};
  }

  Status check_kv_row(std::string_view key, std::string_view value) {
    ++report_.entries;
    if (const auto expiry = parse_kv_expiry_key(key)) {
      ++kv_expiries_;
      const std::string row_key = kv_row_key(expiry->key);
      std::optional<std::string> stored;
      const std::optional<std::string>* row = state_.side(Family::kv).find(row_key);
      if (!row) {
        WQ_TRY_SET(stored, store_.get(Family::kv, row_key));
        row = &stored;
      }
      const std::optional<KvRow> found = *row ? decode_kv_row(**row) : std::nullopt;
      if (!found || found->expires_ms != expiry->expires_ms) {
        problem("family kv: a place in the order of expiry without its row");
      }
      return {};
    }
    const std::optional<KvRow> row = decode_kv_row(value);
    if (!row || key.size() < 2 || key != kv_row_key(key.substr(1))) {
      problem("family kv: malformed row");
    } else if (row->expires_ms != 0) {
      ++kv_expiring_;
    }
    return {};
  }

  void compare() {
    if (bytes_ != state_.job_bytes()) {
      problem("the store counts " + std::to_string(state_.job_bytes()) +
              " bytes of jobs, the scan found " + std::to_string(bytes_));
    }
    if (found_index_rows_ != expected_index_rows_) {
      problem(std::to_string(expected_index_rows_) + " stored jobs have " +
              std::to_string(found_index_rows_) + " index rows");
    }
    for (const auto& [name, queue] : state_.queues()) {
      Counts& counts = counts_[queue->id];
      for (size_t i = 1; i < job_state_count; ++i) {
        compare_bytes(*queue, i, counts.bytes[i]);
        if (counts.by_state[i] == queue->counts[i]) continue;
        problem("queue '" + name + "' counts " + std::to_string(queue->counts[i]) +
                " jobs in state " + std::to_string(i) + ", the scan found " +
                std::to_string(counts.by_state[i]));
      }
      for (const auto& lane : queue->lanes) {
        if (lane->count == counts.by_lane[lane->priority]) continue;
        problem("queue '" + name + "' priority " + std::to_string(lane->priority) + " counts " +
                std::to_string(lane->count) + " ready jobs, the scan found " +
                std::to_string(counts.by_lane[lane->priority]));
      }
      compare_groups(*queue, counts);
      if (!turns_add_up(*queue))
        problem("queue '" + name + "': the turns of tenants do not add up");
    }
  }

  // Each group has the jobs that its gate counts, and the gate is open if it has a free slot.
  void compare_groups(const Queue& queue, Counts& counts) {
    uint64_t parked = 0;
    for (const auto& [key, gate] : queue.gates) {
      uint64_t waiting = 0;
      for (const auto& line : gate->lines) {
        waiting += line->count;
        uint64_t& found = counts.by_line[{key, line->priority}];
        if (found != line->count) {
          problem("queue '" + queue.name + "' counts " + std::to_string(line->count) +
                  " ready jobs of a group, the scan found " + std::to_string(found));
        }
        found = 0;
        const bool listed = line->count > 0 && !gate->is_tenant();
        const uint64_t first_at = listed ? line->first_position(0) : 0;
        const bool open = gate->free_slots() > 0;
        if (line->listed_at != first_at || (first_at != 0 && line->is_open != open)) {
          problem("queue '" + queue.name + "': a group is shut with a free slot, or open without");
        }
      }
      if (waiting != gate->waiting || counts.slots[key] != gate->running) {
        problem("queue '" + queue.name + "': the jobs of a group do not add up");
      }
      counts.slots[key] = 0;
      parked += gate->parked;
    }
    for (const auto& [line, found] : counts.by_line) {
      if (found != 0) problem("queue '" + queue.name + "': ready jobs of an unknown group");
    }
    for (const auto& [group, found] : counts.slots) {
      if (found != 0) problem("queue '" + queue.name + "': leases of an unknown group");
    }
    if (parked != queue.parked) problem("queue '" + queue.name + "': parked jobs do not add up");
  }

  void compare_bytes(const Queue& queue, size_t state, uint64_t found) {
    if (queue.bytes[state] == found) return;
    problem("queue '" + queue.name + "' counts " + std::to_string(queue.bytes[state]) +
            " bytes of jobs in state " + std::to_string(state) + ", the scan found " +
            std::to_string(found));
  }

  const State& state_;
  const Store& store_;
  StoredJobReader jobs_;
  VerifyReport& report_;
  std::map<QueueId, Counts> counts_;
  uint64_t jobs_holding_ = 0;
  uint64_t kv_expiring_ = 0;
  uint64_t kv_expiries_ = 0;
  uint64_t expected_index_rows_ = 0;
  uint64_t found_index_rows_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace

Result<VerifyReport> Engine::verify() {
  WQ_ENTER();
  WQ_TRY(run_checkpoint());
  MutexLock no_checkpoint(checkpoint_mutex_);
  MutexLock lock(mutex_);
  VerifyReport report;
  WQ_TRY(Scanner(state_, *store_, report).run());
  return report;
}

}  // namespace wq
