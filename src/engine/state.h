// State: all that is resident. It offers the transitions of a job between places and keeps every
// index, count and list right while doing so; what a command means is apply.cc's business, what
// enters and leaves memory is residency.cc's. No clock, no I/O, no randomness, no locks.
// Thread model: guarded by the engine's mutex.
//
// Checkpoints (DESIGN D3): freeze() turns the dirty list into the frozen list by a pointer swap.
// capture() copies a frozen job's row as of the freeze; the checkpoint captures all of them in
// bounded steps, and touch(), which every change goes through first, captures a frozen job that is
// about to change. So the captured rows are exactly the state at the freeze.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/command.h"
#include "engine/cron.h"
#include "engine/gate.h"
#include "engine/job_pool.h"
#include "engine/job_table.h"
#include "engine/keys.h"
#include "engine/queue.h"
#include "engine/record.h"
#include "engine/side_table.h"
#include "engine/store.h"
#include "engine/timer_queue.h"

namespace wq {

constexpr DelayKey delay_key_max{INT64_MAX, UINT32_MAX, UINT64_MAX};

// One job as of a freeze, on its way to the store.
struct CapturedJob {
  JobId id = 0;
  JobRow row;            // row.state gone: remove the rows
  std::string error;     // owner of row.last_error
  std::string progress;  // owner of row.progress
  uint64_t line = 0;     // ready jobs of a group: the number of their line
  BodyRef body;          // set when the store does not hold the envelope yet
  StoredPlace before;    // what the store held until now
};

// What moved between memory and the store, since open.
struct ResidencyStats {
  uint64_t loaded[job_state_count] = {};  // jobs read from the store, by their state
  uint64_t evicted = 0;
  uint64_t copied_on_write = 0;  // captured early by a change during a checkpoint
  uint64_t swept_trash = 0;      // finished ranges of cleared or deleted jobs
};

class Observer;

class State {
 public:
  State() = default;
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // ---- queues
  Queue* find_queue(QueueId id) const {
    return id < queues_.size() && queues_[id] && !queues_[id]->deleted ? queues_[id].get()
                                                                       : nullptr;
  }
  Queue* find_queue(std::string_view name) const;
  Queue* add_queue(QueueId id, std::string name);
  Queue* load_queue(
      const QueueRow& row);         // as the store holds it, every ready and delayed job cold
  void remove_queue(Queue* queue);  // its jobs must have been ended or made garbage
  const std::map<std::string, Queue*, std::less<>>& queues() const { return names_; }
  void touch(Queue* queue) {
    if (queue->changed) return;
    queue->changed = true;
    changed_queues_.push_back(queue);
  }

  // ---- jobs
  Job* find(JobId id) const { return jobs_.find(id); }  // also gone and garbage ones
  Job* find_live(JobId id) const {
    Job* job = jobs_.find(id);
    return job && is_live(job) ? job : nullptr;
  }
  static bool is_live(const Job* job) {
    return job->state != JobState::gone && job->epoch == job->queue->epoch(job->state);
  }
  const JobTable& jobs() const { return jobs_; }

  // A new job with no state yet; an enter_ must follow.
  Job* add(Queue* queue, JobId id, BodyRef body);
  // A job as the store holds it: clean, counted already, not yet in a lane, heap or list.
  Job* add_stored(Queue* queue, JobId id, const JobRow& row, BodyRef body, bool has_state_row);
  // Puts a stored leased, running or delayed job into its list and heap.
  void link_stored(Job* job);
  // Removes a clean job from memory only.
  void evict(Job* job);

  // Each change of a job: leave() its place, change it, enter_ a new one, or end().
  void touch(Job* job);
  void leave(Job* job);
  void enter_ready(Job* job, int64_t now_ms, bool front);
  void enter_delayed(Job* job, int64_t now_ms, int64_t due_ms);
  void enter_leased(Job* job, int64_t now_ms, Generation generation, int64_t deadline_ms);
  void enter_running(Job* job, int64_t now_ms, int64_t deadline_ms);
  void enter_dead(Job* job, int64_t now_ms, DeadReason reason);
  void end(Job* job, EndReason reason, int64_t now_ms);  // after leave()
  void set_deadline(Job* job, int64_t now_ms, int64_t deadline_ms);
  void set_error(Job* job, std::string_view error);
  void set_progress(Job* job, std::string_view note);
  // Sets the timer of a ready job that ends if it does not start in time; in a lane only, so that
  // the timer goes when the job leaves it.
  void watch_expiry(Job* job);
  // The same anew for all ready jobs of the queue in memory, once its time to live has changed.
  void renew_expiries(Queue* queue);
  // All of a row that says what happened to the job, nothing of where it is now.
  void set_history(Job* job, const JobRow& row);

  // Ends all ready, delayed or dead jobs of a queue, resident or not, in one step; the resident
  // ones become garbage, the stored ones trash. Returns how many.
  uint64_t clear_state(Queue* queue, JobState state, Lsn lsn);
  // Ends up to `limit` garbage jobs; true = more to do.
  bool sweep_garbage(size_t limit);

  // ---- lanes
  // Moves the tail list behind the head list once no cold job is between them.
  static void join_lane(Lane& lane);

  // The lane or line of a ready job.
  static Lane& lane_of(const Job* job) {
    return job->line != 0 ? job->gate->line(job->priority) : job->queue->lane(job->priority);
  }
  // The same by what a row says; null if the group has no such line.
  Lane* find_lane(Queue* queue, const GateName& name, uint8_t priority) const;

  // ---- groups, rate keys and tenants (gate.cc, turns.cc)
  void settle_gate(KeyGate& gate);  // after each change of it; may end it
  void settle_gates(Queue* queue);
  // For a job that stands in no line of its group: whether it may be leased with what is picked.
  bool pick_slot(const Job& job, std::vector<KeyGate*>& picked);
  void take_turn(const Job& job);  // before it leaves its place for a lease
  // Time has come to `now_ms`: rate keys open and end. Must come before jobs are picked and before
  // a lease is applied, with the time that it is to be charged at.
  void pass_time(int64_t now_ms);
  // When that will be next; INT64_MAX = never.
  int64_t gate_due_ms() const {
    return timed_gates_.empty() ? INT64_MAX : timed_gates_.begin()->first;
  }
  bool gate_timer_moved = false;  // it is sooner than when this was set back
  // Whether the clock was set back or the rate was changed so that a key has to be rebased.
  bool keys_ahead(const Queue& queue, int64_t now_ms) const;
  void rebase_keys(Queue* queue, int64_t now_ms);
  void forget_keys(Queue* queue);
  // Of a job with traits, for the throttle of its rate key.
  void note_exception(const Job& job, int64_t now_ms);
  // As another store held it.
  void adopt_rate_key(Queue* queue, std::string_view key, int64_t tat_ns, Breaker breaker);
  void note_success(const Job& job);
  Status load_gate(std::string_view key, std::string_view value);
  void order_turns();  // after the last of them
  // One whose first job decides whose turn comes, and is only in the store; null: there is none.
  Lane* unread_line() const;
  const std::vector<KeyGate*>& changed_gates() const { return changed_gates_; }
  std::vector<GateChange> take_changed_gates();  // at the freeze only

  // ---- timers
  TimerQueue& delays() { return delays_; }
  TimerQueue& leases() { return leases_; }
  const TimerQueue& delays() const { return delays_; }
  const TimerQueue& leases() const { return leases_; }
  // Ready jobs in memory, by the wall clock time at which they end unless they started. Others are
  // watched from when they come to memory, which is before anybody can lease them.
  TimerQueue& expiries() { return expiries_; }
  const TimerQueue& expiries() const { return expiries_; }
  // No ready job that is only in the store is to end before, as far as is known.
  int64_t cold_expiry_ms = INT64_MAX;
  uint64_t delayed_count() const { return delayed_count_; }
  // Delayed jobs that are only in the store. All of them lie behind delay_cursor in key order.
  uint64_t cold_delayed_count() const { return delayed_count_ - delays_.size(); }
  DelayKey delay_cursor = delay_key_max;

  // Run clock minus wall clock, at the command that sets deadlines. A deadline is wall time, as it
  // is stored; its timer is of the clock that never steps. At open both clocks agree.
  int64_t lease_shift_ms = 0;

  // ---- counters of the store
  JobId next_job_id = 1;
  Generation next_generation = 1;
  QueueId next_queue_id = 1;
  std::vector<TrashRow> trash;
  bool importing = false;      // between import_begin and import_end
  uint64_t batch_members = 0;  // rows of members in the family batch; see batch.h
  Lsn members_lost = 0;        // not 0: some of them may name jobs that are gone

  // When a dead letter of some queue may be over the caps of its queue; 0 = to be looked at.
  int64_t dead_trim_ms = 0;

  ResidencyStats residency;

  // Told of each move; null in a replay and an import. See observer.h.
  Observer* observer = nullptr;

  // ---- rows that are no jobs
  SideTable& side(Family family) { return side_[static_cast<size_t>(family)]; }
  const SideTable& side(Family family) const { return side_[static_cast<size_t>(family)]; }
  uint64_t side_bytes() const {
    uint64_t bytes = 0;
    for (const Family family : side_families) bytes += side(family).bytes();
    return bytes;
  }

  uint64_t side_changed_bytes() const {  // since the last freeze, with what was only read
    uint64_t bytes = 0;
    for (const Family family : side_families) bytes += side(family).unfrozen_bytes();
    return bytes;
  }

  CronTable cron;

  uint64_t job_bytes() const { return job_bytes_; }  // of all envelopes, resident or not
  uint64_t resident_bytes() const { return resident_bytes_ + side_bytes(); }
  uint64_t dirty_count() const { return dirty_count_; }

  // ---- waking: queues whose jobs or slots may serve a waiter since the list was last emptied
  std::vector<Queue*> wake_queue;
  void want_wake(Queue* queue) {
    if (queue->wake_wanted || queue->waiters.empty()) return;
    queue->wake_wanted = true;
    wake_queue.push_back(queue);
  }

  // ---- checkpoint
  bool freezing() const { return freezing_; }
  void freeze();                    // garbage must be swept
  bool capture_some(size_t limit);  // true = more to do
  std::vector<CapturedJob> take_captured();
  std::vector<QueueRow> take_changed_queues();  // at the freeze only
  const std::vector<QueueId>& removed_queues() const {
    return removing_queues_;
  }  // as of the freeze
  // After the commit: frees up to `limit` ended jobs; true = more to do. complete() ends the
  // checkpoint.
  bool drop_ended(size_t limit);
  void complete();
  bool is_stored(const Job* job) const {  // clean, and the store has it
    return !job->changed.linked() && job->captured_in <= completed_checkpoint_;
  }

 private:
  SideTable side_[family_count];  // only those of side_families hold anything
  // Changed before the latest freeze and not captured since. Freezing is a swap of lists, so the
  // state of a job is told by when it was linked, not by a mark of its own.
  bool is_frozen(const Job* job) const {
    return job->changed.linked() && job->changed_in != checkpoint_number_;
  }
  void link_dirty(Job* job);
  void capture(Job* job);
  void count_in(Job* job);
  void count_out(Job* job);
  void note_dead(Queue* queue, int64_t now_ms);
  void discard(Job* job);
  void drop_expiries(Queue* queue);
  void free_job(Job* job);
  void hold_rows(const Job& job);
  void let_rows_go(const Job& job);
  KeyGate* gate_of(Queue* queue, const GateName& name);
  Lane& line_of(KeyGate& gate, uint8_t priority);
  Lane& home_of(KeyGate& gate, const Lane& line);
  void list(Lane& line, Lane& home, bool open);
  void unlist(Lane& line);
  void note_tenant(Lane& line, const Job& job);
  void note_stored(Lane& line, const Job& job);
  void settle_unread(Lane& line);
  void end_kept_turns(Queue& queue, uint8_t priority);
  void settle_line(KeyGate& gate, Lane& line, bool open);
  void settle_home(Queue& queue, Lane& lane);
  void settle_turn(Queue& queue, Lane& lane);
  void give_turn(Queue& queue, Lane& lane);
  void settle_tenant(KeyGate& gate);
  void touch(KeyGate& gate);
  void enter_line(Job* job);
  void hold_slot(Job* job, bool was_held);
  void charge_key(const Job& job);
  void set_timer(KeyGate& gate, int64_t wait_ms);
  void set_breaker(KeyGate& gate, Breaker breaker);
  void leave_gate(Job* job);
  void drop_gate(KeyGate& gate);
  void clear_lines(Queue* queue);

  JobPool pool_;
  JobTable jobs_;
  std::vector<std::unique_ptr<Queue>> queues_;  // by id
  std::map<std::string, Queue*, std::less<>> names_;
  std::vector<Queue*> changed_queues_;
  std::vector<KeyGate*> changed_gates_;
  std::set<std::pair<int64_t, KeyGate*>> timed_gates_;  // by KeyGate::due_ms
  uint64_t unread_lines_ = 0;                           // in Lane::unread of all queues
  int64_t time_ms_ = 0;                                 // as it was told last
  std::vector<QueueId> removed_queues_;                 // since the last freeze
  std::vector<QueueId> removing_queues_;                // in the running checkpoint
  TimerQueue delays_;                                   // by wall clock due time
  TimerQueue leases_;                                   // by deadline
  TimerQueue expiries_;                                 // by wall clock time
  uint64_t delayed_count_ = 0;
  uint64_t resident_bytes_ = 0;
  uint64_t job_bytes_ = 0;
  uint64_t dirty_count_ = 0;
  ChangedList dirty_;
  ChangedList frozen_;
  PlaceList garbage_;
  bool freezing_ = false;
  uint64_t checkpoint_number_ = 0;
  uint64_t completed_checkpoint_ = 0;
  std::vector<CapturedJob> captured_;
  std::vector<Job*> ended_;  // captured as gone; freed once the checkpoint is complete
};

}  // namespace wq
