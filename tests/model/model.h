// The reference model: what SPEC.md says about jobs and queues, in the most naive form there is.
// Maps and vectors, no log, no store, no clock, no memory limit. It knows ids, generations and
// times only from what it is told, so that it can follow the engine over any history, also through
// a crash. Keys are in model_keys.cc, chains, batches and limits of jobs in
// model_flow.cc, limits of queues in model_limits.cc, kv rows, history
// and schedules in model_rows.cc. It was written from SPEC.md and wq.h alone and shares no code
// with the engine beyond the plain types that name things (engine/types.h). Thread model: plain
// data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/types.h"
#include "model/model_gates.h"
#include "model/model_parts.h"

namespace wq::model {

struct Spec {
  std::string payload;
  std::vector<std::pair<std::string, std::string>> headers;
  int64_t delay_ms = 0;
  int64_t run_at_ms = 0;
  uint8_t priority = default_priority;
  uint32_t max_attempts = 0;  // 0 = the queue's
  Backoff backoff;            // kind none = the queue's
  Limits limits;
  Keys keys;
  FlowSpec flow;
  GateSpec gate;
};

struct Job {
  JobId id = 0;
  Spec spec;  // priority is the current one
  JobState state = JobState::gone;
  DeadReason reason = DeadReason::none;
  uint32_t attempts = 0;
  uint32_t exceptions = 0;
  uint32_t failures = 0;  // lost attempts since the enqueue or replay: the step of the backoff
  uint32_t replays = 0;
  Generation generation = 0;
  int64_t enqueued_ms = 0;
  int64_t since_ms = 0;     // when it became ready, delayed or dead
  int64_t due_ms = 0;       // delayed
  int64_t leased_ms = 0;    // by the wall clock
  int64_t set_ms = 0;       // when the deadline was set, by the wall clock
  int64_t deadline_ms = 0;  // leased, running: as a date; 0 = none
  int64_t expires_ms = 0;   // the same on the clock of this run
  std::string error;
  std::string progress;
  int64_t key_until_ms = 0;  // it holds its unique or debounce key until then; 0 = it does not

  bool waits() const { return state == JobState::ready || state == JobState::delayed; }
};

struct Queue {
  std::string name;
  QueueConfig config;
  QueueTotals totals;
  std::map<JobId, Job> jobs;
  std::map<uint8_t, std::vector<JobId>> ready;  // by priority; the next to be leased is first
  std::vector<JobId> dead;                      // the first to have died is first
  std::vector<Done> done;                       // the first to be acked is first
  bool was_limited = false;                     // it has had a max_depth
  GateState gates;

  uint64_t count(JobState state) const;
  uint64_t running() const { return count(JobState::leased) + count(JobState::running); }
};

struct Pick {
  QueueId queue = 0;
  JobId id = 0;
};

// What comes in by one change, and what leaves for it: jobs that debounced ones take the place of.
struct Intake {
  uint64_t jobs = 0;
  uint64_t bytes = 0;
  uint64_t largest_bytes = 0;
  std::set<JobId> replaced;

  void add(uint64_t size) {
    ++jobs;
    bytes += size;
    largest_bytes = std::max(largest_bytes, size);
  }
};

// The sizes of jobs, as they are told.
using Sizes = std::map<JobId, uint64_t>;

// A job that a lease may come to next. `blocked`: it does not wait for its group, which is full, so
// it is released or skipped, and the next one is looked for.
struct Candidate {
  Pick pick;
  bool blocked = false;
};

enum class KeyWait : uint8_t { none, used_up, cools };

enum class Settle : uint8_t { ack, nack, fail, release };

struct Settlement {
  JobId id = 0;
  Generation generation = 0;
  Settle kind = Settle::ack;
  bool front = false;
  bool no_exception = false;
  int priority = -1;      // nack: the new one; -1 = as it is
  int64_t delay_ms = -1;  // -1 = by the backoff policy (nack only)
  std::string error;
  DeadReason reason = DeadReason::none;
  std::string result;
};

class Model {
 public:
  std::map<QueueId, Queue> queues;
  JobId next_id = 1;               // of the next job or batch
  std::map<KeyName, KeyRow> keys;  // who took a key last
  std::map<uint64_t, Batch> batches;
  std::map<std::string, KvRow> kv;
  std::map<std::string, Schedule> schedules;

  Queue* find(QueueId queue);
  const Queue* find_name(const std::string& name, QueueId* id) const;
  Job* find(QueueId queue, JobId id);
  uint64_t count(JobState state) const;

  // ---- queues
  void declare(QueueId queue, const std::string& name, const QueueConfig& config);
  void configure(QueueId queue, const QueueConfig& config);
  uint64_t clear(QueueId queue, uint32_t states);
  void remove(QueueId queue);

  // ---- jobs
  // Ids that one change tells are taken before it does anything.
  void reserve(JobId last) { next_id = std::max(next_id, last + 1); }
  void enqueue(QueueId queue, JobId id, const Spec& spec, Now now);
  // Of several new jobs in one change all join their batches before the first is enqueued.
  void join(const Spec& spec);
  void enqueue_joined(QueueId queue, JobId id, const Spec& spec, Now now);
  // What a lease of up to `max_jobs` hands out at most, in order.
  std::vector<Pick> pick(const std::vector<QueueId>& from, size_t max_jobs, Now now);
  void lease(QueueId queue, JobId id, Generation generation, int64_t lease_ms, Now now);
  bool holds(QueueId queue, JobId id, Generation generation);
  void confirm(QueueId queue, JobId id, int64_t run_ms, Now now);
  void extend(QueueId queue, JobId id, int64_t lease_ms, Now now);
  void settle(QueueId queue, const Settlement& what, Now now);
  void cancel(QueueId queue, JobId id, Now now);
  void note_progress(QueueId queue, JobId id, const std::string& note);
  void replay(QueueId queue, JobId id, Generation generation, Now now);
  void remove_dead(QueueId queue, JobId id, Now now);

  // ---- limits of a queue (model_limits.cc)
  // Whether there is room, and which jobs go for it. Sizes are only looked at under max_bytes.
  Code admit(const Queue& queue, const Intake& in, const Sizes& sizes,
             std::vector<JobId>* dropped) const;
  void drop(QueueId queue, const std::vector<JobId>& jobs, Now now);
  // The dead letters that are over the caps, in the order in which they go.
  static std::vector<JobId> over_dead_caps(const Queue& queue, Now now);
  void drop_dead(QueueId queue, const std::vector<JobId>& letters, Now now);

  // ---- keys
  // 0: nobody.
  JobId holder(const KeyName& key, Now now) const;
  int64_t key_end_ms(const KeyName& key) const;  // of its holder; INT64_MAX = none
  void release_key(QueueId queue, JobId id);

  // ---- batches
  void create_batch(uint64_t id, const Batch& batch);
  void seal_batch(uint64_t id, Now now);
  void cancel_batch(uint64_t id, Now now);
  bool is_cancelled(uint64_t batch) const;  // and not finished
  size_t members() const;                   // that are not settled, lost ones too
  // What is left to do when members are gone by a clear, or must not start any more: one record
  // each.
  struct Sweep {
    QueueId queue = 0;   // cancel these jobs of it
    uint64_t batch = 0;  // or count them as lost
    std::vector<JobId> jobs;
  };
  std::vector<Sweep> sweep_plan() const;
  void sweep(const Sweep& step, Now now);

  // ---- kv rows, history, schedules
  const KvRow* live_row(const std::string& key, Now now) const;
  static bool is_kept(const Queue& queue, size_t at, Now now);
  void doubt_history(Queue& queue, Now now);
  // The schedules that are due, in the order in which they run.
  std::vector<std::string> due_schedules(int64_t wall_ms) const;
  // Once, as many slots as there is room for; false: for none.
  bool fire(const std::string& name, Now now);

  // ---- time
  std::vector<Pick> expired(int64_t run_ms);  // leases past their deadline, earliest first
  // Ready jobs that did not start in time, likewise; also of those that are promoted first.
  std::vector<Pick> overdue(int64_t wall_ms, size_t promoted);
  std::vector<Pick> due(int64_t wall_ms);  // delayed jobs whose time has come, likewise
  void expire(const std::vector<Pick>& leases, Now now);
  void promote(size_t count, Now now);  // the first `count` of those that are due
  void end_overdue(const std::vector<Pick>& jobs, Now now);
  void reopen(Now now);  // leases go on with their deadlines

  // ---- gates (model_gates.cc)
  // Any of which a lease may come to next; none: there is nothing to have. For queues without gates
  // pick() says the same.
  std::vector<Candidate> next(const std::vector<QueueId>& from, Now now) const;
  void configure(QueueId queue, const QueueConfig& config, Now now);
  bool rebase(QueueId queue, Now now);
  void overlap(QueueId queue, JobId id, Now now);
  void reprioritise(QueueId queue, JobId id, uint8_t priority, Now now);
  static bool group_is_full(const Queue& queue, const GateSpec& gate);
  static KeyWait key_wait(const Queue& queue, const GateSpec& gate, Now now);
  static uint64_t parked_in_groups(const Queue& queue);

 private:
  static void use_gates(Queue& queue, const GateSpec& gate);
  static void gate_ready(Queue& queue, const Job& job);
  static void gate_left(Queue& queue, const Job& job, JobState from);
  static void gate_drop(Queue& queue, const std::vector<JobId>& jobs);
  static void gate_turn(Queue& queue, const Job& job);
  static void gate_charge(Queue& queue, const Job& job, Now now);
  static void gate_exception(Queue& queue, const Job& job, Now now);
  static void gate_success(Queue& queue, const Job& job);

  void leave(Queue& queue, Job& job);
  void make_ready(Queue& queue, Job& job, int64_t now_ms, bool front);
  void make_ready_after(Queue& queue, Job& job, Now now, int64_t delay_ms, bool front);
  void bury(Queue& queue, Job& job, int64_t now_ms, DeadReason reason);
  void lose_attempt(Queue& queue, Job& job, Now now, DeadReason reason, int64_t delay_ms,
                    bool front);
  void end(Queue& queue, Job& job, EndReason reason, Now now);
  void again(Queue& queue, Job& job, Now now, int64_t delay_ms, bool front);
  DeadReason last_reason(const Queue& queue, const Job& job, DeadReason cause, Now now) const;

  void take_keys(QueueId queue, Job& job, Now now);
  void retake_key(QueueId queue, Job& job, Now now);
  void free_key(QueueId queue, Job& job);
  QueueId id_of(const Queue& queue) const;

  Job* start_next(const Queue* from, const Next& next, Spec inherited, Now now);
  Job* go_on(const Queue& queue, const Job& job, Now now);
  Batch* open_batch(uint64_t id);
  void rejoin(const Job& job, Now now);
  void fail_in_batch(const Job& job, Now now);
  void end_in_batch(const Job& job, EndReason reason, bool goes_on, Now now);
  void look_at(uint64_t id, Now now);
  void keep_done(Queue& queue, const Job& job, const Settlement& what, Now now);
};

// The n-th delay (1, 2, ...) of a backoff policy.
int64_t backoff_ms(const Backoff& policy, uint32_t n);
uint32_t attempts_allowed(const Queue& queue, const Job& job);
int64_t lease_length_ms(const Queue& queue, const Job& job);
int64_t expiry_ms(const Queue& queue, const Job& job);  // 0 = it does not end by itself

}  // namespace wq::model
