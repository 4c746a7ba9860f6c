// Engine: one open store. Every public call validates, takes the one mutex, builds a Command,
// appends it to the log, applies it to the resident state, releases the mutex and then waits for
// the durability that was asked for. No I/O happens under the mutex. The way of a change through
// the code:
//
//   enqueue() [engine_produce.cc] -> admit -> Encoder::command -> commit() [engine.cc]:
//   Log::append, apply() [apply.cc], wake waiters -> finish(): Log::wait or the caller's completion
//   queue
//
// Thread model: any thread, except open (returns the engine) and destruction (after close(), with
// no call running). Threads of its own (unless options.threads is off): flusher (background log
// flushes), maintenance (timers, refill), checkpointer. Lock order: CancelToken, then the engine's
// mutex, then the completion queues' and the log's own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/prng.h"
#include "base/result.h"
#include "engine/apply.h"
#include "engine/backup.h"
#include "engine/cancel.h"
#include "engine/checkpoint_rows.h"
#include "engine/completion.h"
#include "engine/events.h"
#include "engine/explain.h"
#include "engine/key_plan.h"
#include "engine/kv.h"
#include "engine/observer.h"
#include "engine/packing.h"
#include "engine/record.h"
#include "engine/residency.h"
#include "engine/state.h"
#include "engine/store.h"
#include "engine/transfer.h"
#include "io/io.h"
#include "io/segment_log.h"

namespace wq {

struct EngineOptions {
  std::string directory;
  bool create = true;
  bool expire_leases = false;  // leases of the time before are taken back at open
  bool threads = true;         // false: tick() drives everything
  uint64_t memory_budget_bytes = 64ull << 20;
  uint64_t payload_bytes_max = payload_bytes_default_max;
  uint64_t segment_bytes = 32ull << 20;
  uint32_t spare_segments = 2;
  uint64_t checkpoint_log_bytes = 128ull << 20;
  uint64_t checkpoint_dirty_jobs = 100'000;
  uint32_t checkpoint_step_jobs = 256;  // copied under the mutex in one go: a few ms at most
  uint64_t disk_reserve_bytes = 64ull << 20;
  int64_t memory_window_ms = 50;
  uint64_t store_cache_bytes = 16ull << 20;
  uint64_t store_buffer_bytes = 16ull << 20;  // see StoreOptions
  uint64_t lane_window = 4096;  // resident jobs at the head of each lane, once memory is short
  uint32_t events_max = 0;      // events kept for poll_events(), rounded up to a power of two
  uint64_t quota_bytes = 0;  // of the envelopes of all jobs; over it enqueue is refused; 0 = none
};

// What suits a file system of this size, all in all: on a small one the log's segments, their
// number and the reserve are small enough that most of it is left for jobs.
EngineOptions options_for_disk(uint64_t capacity_bytes);

// What the engine stands on. `open_store` opens the cold side below the given directory.
struct Environment {
  Io* io = nullptr;
  Clock* clock = nullptr;
  std::function<Result<std::unique_ptr<Store>>(const StoreOptions&)> open_store = open_rocks_store;
  // For the identity of a new store, and the seed of what is drawn (the jitter of retries).
  std::function<uint64_t()> entropy = os_entropy;
  RandomBytes random_bytes = os_random_bytes;  // for data keys and nonces; called on any thread
  const Keyring* keyring = nullptr;            // that payloads are sealed with; null = no keys
  // Tests: called where a checkpoint lets callers in between two of its steps, as a caller that
  // gets in just there. No lock is held but the one of checkpoints; it must not run another.
  std::function<void()> between_steps;
  // Tests: called when a page of jobs was read from the store and is about to be merged.
  std::function<void()> page_was_read;
};

struct Recovery {
  LogRecovery log;
  Lsn applied_lsn = 0;
  uint64_t records_replayed = 0;
  uint64_t leases_kept = 0;
  uint64_t leases_expired = 0;
  int64_t replay_ms = 0;
  bool clean = false;  // closed in order: nothing to replay, nothing cut
};

// How one call waits. `durability` 0 takes the default of the operation.
struct CallOptions {
  uint32_t durability = 0;                // 0 or a Durability
  CompletionQueue* completion = nullptr;  // not null: do not wait, post there
  uint64_t user_data = 0;
  // For `completion`: made before the call, so that the change can not be left without its event.
  CompletionTicket ticket = {};
  Lsn lsn = 0;  // out: 0 = nothing was written
};

struct NextSpec;

struct JobSpec {
  Bytes payload;
  std::span<const Header> headers;
  int64_t delay_ms = 0;
  int64_t run_at_ms = 0;
  uint8_t priority = default_priority;
  uint32_t max_attempts = 0;
  Backoff backoff;
  JobTraits traits;         // but for the chain, which is made of the field `chain`
  int64_t debounce_ms = 0;  // with KeyRule::debounce: how long each one puts the start off
  bool dry_run = false;     // only answer what an enqueue would answer; enqueue only
  EncryptWish encrypt = EncryptWish::by_queue;
  std::span<const NextSpec> chain;  // enqueued one after another, each by the ack of the one before
};

// A job of a chain, or one that the end of a batch enqueues. Has no chain, batch or keys of its
// own.
struct NextSpec {
  std::string_view queue;  // empty = that of the job before
  JobSpec job;
};

struct EnqueueOutcome {
  Code code = Code::ok;  // duplicate: `id` is the job that holds the key
  JobId id = 0;
};

// A job as it was when it was read. Shares the body with the engine; needs no lock, outlives the
// store.
struct JobView {
  JobId id = 0;
  Generation generation = 0;
  JobState state = JobState::gone;
  DeadReason reason = DeadReason::none;
  uint8_t priority = 0;
  uint32_t queue_index = 0;
  uint32_t attempts = 0;
  uint32_t exceptions = 0;
  uint32_t max_attempts = 0;
  uint32_t replays = 0;
  int64_t first_dead_ms = 0;  // when it died for the first time; 0 = never
  int64_t since_ms = 0;       // when it entered its state
  int64_t due_ms = 0;         // delayed: when it becomes ready
  int64_t leased_ms = 0;
  int64_t deadline_ms = 0;   // 0 = none
  int64_t remaining_ms = 0;  // of the lease at the time of the call
  uint64_t dead_seq = 0;
  uint64_t ready_seq = 0;  // ready: its place in its lane
  bool parked = false;     // ready, but its group has no slot free
  std::string queue_name;  // only filled by get and dead listings
  std::string last_error;
  std::string progress;
  BodyRef body;  // an Envelope, verified
  // Of the job as it is stored; in the body of a view that a call hands out it is undone.
  Packing packing;
  KeyId key_id = 0;              // that it is sealed with; 0 = it is not
  Code payload_code = Code::ok;  // else why the body has no payload
  uint64_t batch = 0;
  uint32_t chain_jobs = 0;       // that follow it
  bool batch_cancelled = false;  // it should stop
};

struct LeaseRequest {
  std::span<const QueueId> queues;  // in order of preference
  uint32_t max_jobs = 1;
  int64_t wait_ms = 0;   // -1 = for ever
  int64_t lease_ms = 0;  // 0 = the queue's
  CancelToken* cancel = nullptr;
};

struct Token {
  JobId id = 0;
  Generation generation = 0;
};

struct DeadQuery {
  uint64_t cursor = 0;  // 0 = from the start
  uint32_t limit = 100;
  bool oldest_first = false;
  DeadReason reason = DeadReason::none;  // none = any
  int64_t from_ms = 0;
  int64_t until_ms = 0;
  std::string_view error_part = {};  // the last error has it in it

  bool wants(DeadReason died_of, int64_t died_ms, std::string_view error) const;
};

// Which dead letters a bulk change is about: `entries`, or all that `query` wants (its cursor and
// order have no meaning: the oldest come first).
struct DeadBulk {
  bool remove = false;  // for ever; else replay
  DeadQuery query;
  std::span<const Token> entries;
  uint64_t limit = 0;  // 0 = no limit
  bool dry_run = false;
  // Called between two steps, with no lock held; anything but ok stops.
  std::function<Status(uint64_t changed, uint64_t examined)> progress;
};

struct DeadBulkReport {
  uint64_t examined = 0;
  uint64_t changed = 0;  // dry run: would be changed
};

struct DeadPage {
  std::vector<JobView> jobs;
  uint64_t next_cursor = 0;  // 0 = no more
};

// How often, and for how long together, calls had to wait.
struct WaitStats {
  uint64_t for_job = 0;
  int64_t for_job_ms = 0;
  uint64_t for_memory = 0;
  int64_t for_memory_ms = 0;
};

struct QueueStats {
  QueueStatus status = QueueStatus::active;
  uint64_t counts[job_state_count] = {};
  uint64_t bytes[job_state_count] = {};  // of the envelopes
  QueueTotals totals;
  int64_t oldest_ready_age_ms = 0;
  int64_t oldest_held_age_ms = 0;  // leased or running since
  uint64_t max_running = 0;
  uint64_t consumers = 0;  // waiting for a job
  Rates rates;
  Histogram lease_wait_ms;
  AttemptCounts attempts;
  uint64_t parked = 0;       // ready jobs that wait for their group or rate key
  int64_t rate_wait_ms = 0;  // until the rate lets the next job begin; 0 = now
};

struct EngineStats {
  bool draining = false;
  bool poisoned = false;
  const char* io_backend = "";
  uint64_t queues = 0;
  uint64_t counts[job_state_count] = {};
  Lsn last_lsn = 0;
  Lsn process_lsn = 0;
  Lsn durable_lsn = 0;
  Lsn applied_lsn = 0;
  uint64_t job_bytes = 0;  // of the envelopes of all jobs
  uint64_t quota_bytes = 0;
  uint64_t resident_jobs = 0;
  uint64_t resident_bytes = 0;
  uint64_t memory_budget_bytes = 0;
  ResidencyStats residency;
  uint64_t checkpoints = 0;
  int64_t checkpoint_us_last = 0;
  int64_t checkpoint_us_max = 0;
  uint64_t waiting = 0;
  WaitStats waits;
  uint64_t followers = 0;  // waiting for an event
  uint64_t events = 0;
  LogStats log;
  StoreStats store;
};

struct VerifyReport {
  uint64_t jobs = 0;
  uint64_t entries = 0;
  uint64_t problems = 0;
  std::string first_problem;
};

// Fields of a QueueConfig that a configure changes.
enum ConfigField : uint32_t {
  config_max_running = 1,
  config_max_retries = 2,
  config_lease_ms = 4,
  config_durability = 8,
  config_backoff = 16,
  config_version = 32,  // only if the version is still config.version, else CONFLICT
  config_status = 64,
  config_job_ttl = 128,
  config_max_depth = 1u << 16,
  config_max_bytes = 1u << 17,
  config_full_policy = 1u << 18,
  config_dead_max_count = 1u << 19,
  config_dead_max_age_ms = 1u << 20,
  config_keep_done = 2048,  // keep_done_count and keep_done_age_ms together
  config_rate = 1u << 24,
  config_group_limit = 1u << 25,
  config_encrypt = 1u << 26,
  config_compress = 1u << 27,
  config_key_rate = 1u << 28,
  config_throttle = 1u << 29,
};

// One key that is known, or that something in the store is sealed with.
struct KeyUse {
  KeyId id = 0;
  uint64_t payloads = 0;
  bool known = false;  // of the keyring
  bool current = false;
};

class FileCopier;

// One operation of a transaction; `kind` tells which of the members count.
struct TxnOp {
  enum class Kind : uint8_t { enqueue = 1, settle = 2, kv = 3 };
  Kind kind = Kind::enqueue;
  QueueId queue = 0;  // enqueue, settle
  JobSpec spec = {};
  SettleItem settle = {};
  KvWrite kv = {};
};

struct TxnResult {
  JobId job_id = 0;  // enqueue
  int64_t sum = 0;   // kv: add
};

struct BatchSpec {
  bool allow_failures = false;            // on_complete also if members failed or were cancelled
  const NextSpec* on_complete = nullptr;  // each with a queue of its own
  const NextSpec* on_failure = nullptr;
};

struct BatchStatus {
  uint64_t id = 0;
  uint32_t flags = 0;  // BatchFlags
  int64_t created_ms = 0;
  int64_t finished_ms = 0;
  uint64_t total = 0;
  uint64_t pending = 0;
  uint64_t done = 0;
  uint64_t failed = 0;
  uint64_t cancelled = 0;
  JobId follow_up = 0;
};

struct BatchPage {
  std::vector<BatchStatus> batches;  // newest first
  uint64_t next_cursor = 0;          // 0 = no more
};

struct DoneJob {
  uint64_t seq = 0;
  JobId id = 0;
  Generation generation = 0;
  int64_t enqueued_ms = 0;
  int64_t leased_ms = 0;
  int64_t done_ms = 0;
  uint64_t batch = 0;
  uint32_t attempts = 0;
  uint32_t exceptions = 0;
  uint32_t replays = 0;
  uint8_t priority = 0;
  std::string result;
  bool sealed = false;          // as it is stored
  KeyId key_id = 0;             // that it is sealed with; 0 = it is not
  Code result_code = Code::ok;  // else why it is empty
};

struct DonePage {
  std::vector<DoneJob> jobs;  // newest first
  uint64_t next_cursor = 0;   // 0 = no more
};

struct CronPlan;  // cron_plan.h

struct CronSpec {
  std::string_view expression;
  std::string_view zone;  // of the tz database; empty = UTC
  uint32_t catch_up = 1;  // missed slots that run later, the newest ones
  JobSpec job;            // payload, headers, priority, max_attempts, backoff
};

struct CronView {
  std::string name;
  QueueId queue = 0;
  std::string queue_name;
  CronState state;
  std::string problem;  // why the last slots could not be told; empty = none
  std::string row;      // a CronRow, verified
  // Of its payload, if that is packed in the row.
  std::vector<std::byte> payload;
  KeyId key_id = 0;
  Code payload_code = Code::ok;  // else why it is empty
};

struct CronPage {
  std::vector<CronView> schedules;  // by name
  bool more = false;
};

class Engine {
 public:
  static Result<std::unique_ptr<Engine>> open(const EngineOptions& options,
                                              const Environment& environment);
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // ---- store (engine.cc, maintenance.cc, checkpoint.cc, inspect.cc)
  // Wakes all waiting calls with CLOSED, waits until every call has left, flushes, checkpoints if
  // the store is healthy, and lets go of the directory. The first error met; the engine is closed
  // anyway.
  Status close();
  // No new leases; waits until nothing is leased or running, then flushes and checkpoints.
  Status shutdown(int64_t timeout_ms);
  // One bounded piece of maintenance. Returns ms until the next known due time, 0 = more to do now.
  Result<int64_t> tick();
  Status sync();
  Status wait_durable(Lsn lsn, Durability level, int64_t timeout_ms);
  Status checkpoint();
  EngineStats stats();
  const Recovery& recovery() const { return recovery_; }
  Result<VerifyReport> verify();
  // A copy of the store, as of a moment after the call began, in a directory that is empty or not
  // there; others go on meanwhile (backup.cc). A failure leaves the store as it is.
  Result<BackupReport> backup(const std::string& directory, const BackupProgress& progress);
  // Stops the store after a broken invariant or a failed allocation in the middle of a change.
  void poison(std::string_view why) noexcept;
  bool poisoned() noexcept;
  Result<std::unique_ptr<CompletionQueue>> open_completion();

  // ---- queues (engine_queues.cc)
  Result<QueueId> open_queue(std::string_view name, const QueueConfig& config, uint32_t fields,
                             bool create, CallOptions& call);
  Status configure(QueueId queue, const QueueConfig& config, uint32_t fields, CallOptions& call);
  // pause and resume are about those who lease, disable and enable about those who enqueue; neither
  // undoes the other. A queue that is both is disabled, and enable makes it paused. What holds
  // already is OK and writes nothing.
  enum class StatusChange : uint8_t { pause, resume, disable, enable };
  Status change_status(QueueId queue, StatusChange change, CallOptions& call);
  Result<QueueConfig> config(QueueId queue);
  Result<uint64_t> clear(QueueId queue, uint32_t states, CallOptions& call);
  Status remove_queue(QueueId queue, CallOptions& call);
  Result<QueueStats> queue_stats(QueueId queue);
  Result<std::vector<std::string>> queue_names();

  // ---- produce (engine_produce.cc)
  Status enqueue(QueueId queue, const JobSpec& spec, CallOptions& call, JobId& id);
  // All or nothing, unless `partial`: then up to the first refusal. Returns how many were accepted;
  // outcomes (may be empty) get one entry each.
  Result<size_t> enqueue_many(QueueId queue, std::span<const JobSpec> specs, bool partial,
                              CallOptions& call, std::span<EnqueueOutcome> outcomes);
  Status cancel(QueueId queue, JobId id, CallOptions& call);
  Result<JobView> get(QueueId queue, JobId id);

  // ---- consume (engine_consume.cc)
  Status lease(const LeaseRequest& request, CallOptions& call, std::vector<JobView>& jobs);
  Status confirm(QueueId queue, Token token, int64_t run_ms, CallOptions& call);
  // codes: one per token, OK, STALE or NOT_FOUND. The status is OK if the call as such was right.
  Status extend(QueueId queue, std::span<const Token> tokens, int64_t lease_ms, CallOptions& call,
                std::span<Code> codes);
  Status settle(QueueId queue, std::span<const SettleItem> items, CallOptions& call,
                std::span<Code> codes);

  // ---- single jobs (engine_jobs.cc)
  // CONFLICT: the job is neither ready nor delayed.
  Status reprioritise(QueueId queue, JobId id, uint8_t priority, CallOptions& call);
  // Replaces the note of a held job; an empty one takes it away. It stays with the job until then.
  Status set_progress(QueueId queue, Token token, std::string_view note, CallOptions& call);

  // ---- dead letters (engine_dead.cc)
  Result<DeadPage> dead_list(QueueId queue, const DeadQuery& query);
  Result<JobView> dead_get(QueueId queue, Token entry);
  Status dead_replay(QueueId queue, Token entry, CallOptions& call);
  Status dead_remove(QueueId queue, Token entry, CallOptions& call);
  // dead_purge is clear(queue, state_bit(JobState::dead)).
  // Step by step, others go on in between (engine_dead_bulk.cc). What is done when it stops, by a
  // failure or by the progress, stays done and is told in the report. FULL: a replay found no room.
  Status dead_bulk(QueueId queue, const DeadBulk& bulk, CallOptions& call, DeadBulkReport& report);

  // ---- keys of jobs (engine_unique.cc)
  // The job that holds the key, or that an idempotency key stands for. NOT_FOUND: none.
  Result<JobId> key_holder(QueueId queue, KeyKind kind, std::string_view key);
  // Cancels the job that holds the unique or debounce key. CONFLICT: it is dead.
  Result<JobId> cancel_key(QueueId queue, KeyKind kind, std::string_view key, CallOptions& call);
  // The holder of this lease gives up its unique key. OK as well if it holds none.
  Status release_key(QueueId queue, Token token, CallOptions& call);

  // ---- moving a store (engine_import.cc)
  // The store as of one moment, queue by queue; an empty name takes all. Other calls go on
  // meanwhile; no lock is held while the visitor runs.
  Status export_store(std::string_view queue, const ExportVisitor& visitor);
  // CONFLICT unless no queue was ever declared here. Until import_end every call on a queue answers
  // CONFLICT, also after a reopen. The ids must be above all that the jobs have.
  Status import_begin(JobId next_job_id, Generation next_generation, CallOptions& call);
  Result<QueueId> import_queue(const QueueRow& queue, CallOptions& call);
  // Takes a queue of an unfinished import away again, with its schedules.
  Status import_undo(QueueId queue);
  // All or nothing. Leased and running jobs become ready, with their attempts.
  Status import_jobs(QueueId queue, std::span<const JobImage> jobs, CallOptions& call);
  Status import_kv(std::span<const KvImage> rows, CallOptions& call);
  // What is beside the jobs (engine_import_rows.cc). All or nothing. Batches come before their
  // jobs, what a batch waits for counts as cancelled if it has not come by the end; idempotency
  // keys before the jobs that have them, the history in its order. Keys that are over are left out.
  Status import_batches(std::span<const BatchImage> batches, CallOptions& call);
  Status import_keys(QueueId queue, std::span<const KeyImage> keys, CallOptions& call);
  Status import_history(QueueId queue, std::span<const DoneImage> jobs, CallOptions& call);
  Status import_rate_keys(QueueId queue, std::span<const RateKeyImage> keys, CallOptions& call);
  Status import_end(CallOptions& call);

  // ---- kv (engine_kv.cc). EMPTY: no such row. CONFLICT: the condition does not hold.
  Result<KvEntry> kv_get(std::string_view key);
  // Any of the writes below but `check`. The sum, if it is an addition.
  Result<int64_t> kv_change(const KvWrite& write, CallOptions& call);
  Status kv_put(std::string_view key, const KvPut& put, CallOptions& call);
  // The value is a whole number in decimal; an absent row counts as 0 and gets the ttl.
  Result<int64_t> kv_add(std::string_view key, int64_t delta, int64_t ttl_ms, CallOptions& call);
  Status kv_erase(std::string_view key, const KvCondition& condition, CallOptions& call);
  // Rows whose keys begin with `prefix` and are greater than `after`, in order of the keys.
  Result<KvPage> kv_list(std::string_view prefix, std::string_view after, size_t limit);

  // ---- keys of payloads (engine_payload.cc)
  // By id. As of a moment after the call began; jobs that have ended may still be counted.
  Result<std::vector<KeyUse>> key_use();

  // ---- transactions (engine_transact.cc)
  // All of the operations in one record, or none: then `failed` is the index of the one that was
  // refused (ops.size(): it was none of them), and the status says why. All are judged by the state
  // before the first. A key may be named once, and a job be settled once. One result for each.
  Status transact(std::span<const TxnOp> ops, CallOptions& call, std::span<TxnResult> results,
                  size_t& failed);

  // ---- observation (engine_observe.cc, explain.cc, metrics.cc)
  // Events behind the cursor, which moves on; waits for the first. EMPTY after the wait. STALE: the
  // cursor is of an earlier opening, and stands at the start of this one now.
  Status poll_events(EventCursor& cursor, const EventRequest& request, EventPage& page);
  Result<std::vector<QueueError>> queue_errors(QueueId queue);  // newest first
  Result<JobExplanation> explain_job(QueueId queue, JobId id);
  Result<QueueExplanation> explain_queue(QueueId queue);
  Result<std::string> metrics_text();  // in the text format of Prometheus

  // ---- batches (engine_batch.cc). A job joins by JobSpec::traits.batch, while its batch is not
  // finished and not cancelled: else CONFLICT.
  Result<uint64_t> batch_create(const BatchSpec& spec, CallOptions& call);
  // No more jobs are to come from outside: once nothing is pending, the batch is finished.
  Status batch_seal(uint64_t batch, CallOptions& call);
  // Seals it; members that did not start end as cancelled, those that run learn it by extend.
  Status batch_cancel(uint64_t batch, CallOptions& call);
  Result<BatchStatus> batch_status(uint64_t batch);
  Result<BatchPage> batch_list(uint64_t cursor, size_t limit);

  // ---- history (engine_history.cc)
  Result<DoneJob> history_get(QueueId queue, JobId id);
  Result<DonePage> history_list(QueueId queue, uint64_t cursor, size_t limit);

  // ---- schedules (engine_cron.cc). NOT_FOUND: no such schedule.
  // Makes or replaces. What is there already as given is left alone and writes nothing; a new
  // expression or zone moves the next slot, anything else does not. FULL: too many.
  Status cron_put(QueueId queue, std::string_view name, const CronSpec& spec, CallOptions& call);
  Status cron_remove(std::string_view name, CallOptions& call);
  // A paused schedule misses nothing: it goes on with the first slot after it was resumed.
  Status cron_pause(std::string_view name, bool paused, CallOptions& call);
  Result<CronView> cron_get(std::string_view name);
  // Those behind `after` in the order of their names; of all queues if `queue` is 0.
  Result<CronPage> cron_list(QueueId queue, std::string_view after, size_t limit);
  // As import_jobs. Slots that came due on the way are caught up with.
  Status import_schedule(QueueId queue, const CronImage& schedule, CallOptions& call);

 private:
  class CallGuard;
  class LogRoom;
  struct WaitScope;
  class FollowScope;

  Engine(const EngineOptions& options, const Environment& environment);

  // ---- opening (recovery.cc)
  Status open_parts();
  void abandon();
  Status look_at_store() WQ_REQUIRES(mutex_);
  Status open_store() WQ_REQUIRES(mutex_);
  StoreOptions store_options() const;
  Status load_store() WQ_REQUIRES(mutex_);
  Status replay_log() WQ_REQUIRES(mutex_);
  Status load_gates() WQ_REQUIRES(mutex_);
  Status load_leases() WQ_REQUIRES(mutex_);
  Status load_schedules() WQ_REQUIRES(mutex_);
  Status replay_record(Lsn lsn, Bytes body, Command& command) WQ_REQUIRES(mutex_);
  Status read_turns() WQ_REQUIRES(mutex_);
  Status make_resident(const Command& command) WQ_REQUIRES(mutex_);
  Status make_job_resident(JobId id) WQ_REQUIRES(mutex_);
  Status make_row_known(Family family, const std::string& key) WQ_REQUIRES(mutex_);
  Status make_keys_known(const Command& command) WQ_REQUIRES(mutex_);
  Status make_waiting_holder_resident(const std::string& row_key, int64_t now_ms)
      WQ_REQUIRES(mutex_);
  Status start_run();
  Status expire_all_leases() WQ_REQUIRES(mutex_);

  // ---- the write path (engine.cc)
  Status enter();  // CLOSED or ok; counts the call in either way
  void leave();
  Result<Lsn> commit(Command& command, Effects* effects = nullptr) WQ_REQUIRES(mutex_);
  Status check_log_room(uint64_t record_bytes);
  void set_failure(std::string_view why) noexcept WQ_REQUIRES(mutex_);
  Status finish(Lsn lsn, CallOptions& call, Durability level);
  Durability level_for(const CallOptions& call, Durability standard) const {
    return call.durability == 0 ? standard : static_cast<Durability>(call.durability);
  }
  Command& begin(CommandType type, int64_t now_ms) WQ_REQUIRES(mutex_);
  Command& begin(CommandType type) WQ_REQUIRES(mutex_) { return begin(type, wall_ms()); }
  Result<Queue*> queue_for(QueueId id) WQ_REQUIRES(mutex_);
  void wake_waiters(CommandType cause) WQ_REQUIRES(mutex_);
  void wake_queue(Queue* queue) WQ_REQUIRES(mutex_);
  void note_pressure() WQ_REQUIRES(mutex_);
  Status wait_for_memory();
  Status wait_for_space();
  // The clocks cost more than most of what a call does: the hot calls read each of them once.
  struct Now {
    int64_t wall_ms = 0;
    int64_t run_ms = 0;
  };
  Now now() const { return Now{wall_ms(), run_ms()}; }
  // A clock that stands before 1970 is one without a battery, and as good as one that says 1970.
  int64_t wall_ms() const { return std::max<int64_t>(0, environment_.clock->wall_ms()); }
  int64_t run_ms() const;  // wall time at open + monotonic time since: never steps
  void start_threads();
  void stop_threads();
  Status settle_down();
  void on_log_progress();

  // ---- consume
  struct LaneId {
    QueueId queue = 0;
    uint8_t priority = 0;
    std::string gate;  // set: the line of this group, rate key or tenant

    LaneId() = default;
    LaneId(const Queue& of, const Lane& lane)
        : queue(of.id), priority(lane.priority), gate(lane.gate ? lane.gate->name : "") {}
  };
  enum class Selection : uint8_t { found, none, refill, expired, blocked };
  Selection select(const LeaseRequest& request, std::span<Queue* const> queues, const Now& now,
                   LaneId& cold) WQ_REQUIRES(mutex_);
  Selection select_expired(const Lane& lane, const Now& now) WQ_REQUIRES(mutex_);
  Selection select_blocked(const Lane& lane, const Now& now) WQ_REQUIRES(mutex_);
  struct PickEnd {
    const Lane* cold = nullptr;
    const Lane* expired = nullptr;
    const Lane* blocked = nullptr;
    bool stop = false;  // no job of another priority may follow
  };
  uint32_t pick(const LeaseRequest& request, Lane& lane, uint32_t most, const Now& now,
                PickEnd& end) WQ_REQUIRES(mutex_);
  void let_picked_go() WQ_REQUIRES(mutex_);
  Status rebase_rates(std::span<Queue* const> queues, int64_t now_ms) WQ_REQUIRES(mutex_);
  uint64_t may_lease(Queue* queue, int64_t now_ms, uint64_t most) WQ_REQUIRES(mutex_);
  void want_refill(Queue* queue, Lane& lane) WQ_REQUIRES(mutex_);
  Status resolve(const LeaseRequest& request, std::span<Queue*> queues) WQ_REQUIRES(mutex_);
  Code blocked_code(std::span<Queue* const> queues) const;
  Status take_selected(const LeaseRequest& request, std::span<Queue* const> queues, const Now& now,
                       std::vector<JobView>& jobs, Lsn& lsn) WQ_REQUIRES(mutex_);
  Status look_for_jobs(const LeaseRequest& request, Waiter& waiter, int64_t deadline_ns,
                       std::vector<JobView>& jobs, Lsn& lsn) WQ_REQUIRES(mutex_);
  Status wait_for_job(const LeaseRequest& request, std::span<Queue* const> queues, Waiter& waiter,
                      int64_t deadline_ns) WQ_REQUIRES(mutex_);
  void view_of(const Job& job, const Now& now, JobView& view) const;
  JobView view_of_stored(StoredJob stored, const Queue& queue) const WQ_REQUIRES(mutex_);
  Status change_dead(CommandType type, QueueId queue, Token entry, CallOptions& call);
  Status refuse_replay(const Queue& queue, Job* job) WQ_REQUIRES(mutex_);
  struct DeadStep;
  Status find_dead(const DeadQuery& query, DeadStep& step) WQ_REQUIRES(mutex_);
  Status change_found(CommandType type, DeadStep& step, Lsn& lsn) WQ_REQUIRES(mutex_);
  std::vector<Token> take_from_keyed(DeadStep& step) WQ_REQUIRES(mutex_);
  Status replay_each(QueueId queue, std::span<const Token> entries, DeadBulkReport& report,
                     Lsn& lsn);
  Status bulk_step(const DeadBulk& bulk, DeadStep& step, DeadBulkReport& report, Lsn& lsn);
  Status bulk_records(const DeadBulk& bulk, DeadStep& step, std::vector<Token>& one_by_one,
                      DeadBulkReport& report, Lsn& lsn);
  Status bulk_entries(QueueId queue, const DeadBulk& bulk, DeadBulkReport& report, Lsn& lsn);
  Status bulk_query(QueueId queue, const DeadBulk& bulk, DeadBulkReport& report, Lsn& lsn);
  bool trim_wanted(int64_t now_ms) const WQ_REQUIRES(mutex_);
  Result<bool> trim_dead(int64_t now_ms) WQ_REQUIRES(mutex_);
  Status trim_queue(QueueId queue, int64_t now_ms) WQ_REQUIRES(mutex_);
  bool leave_over_caps(Queue& queue, int64_t now_ms, DeadStep& step, bool& none_kept,
                       uint64_t& low_seq) WQ_REQUIRES(mutex_);

  // ---- limits (engine_limits.cc)
  // What comes in by one change, and what leaves by the same one.
  struct Load {
    uint64_t jobs = 0;
    uint64_t bytes = 0;
    uint64_t largest_bytes = 0;  // one job of them
    Leaving leaving = {};
    std::span<const JobId> replaced = {};  // of `leaving`, those that were there before
    uint64_t elsewhere_bytes = 0;  // that the same call brings to other queues; may be less than 0

    uint64_t brought_bytes() const { return bytes - leaving.bytes; }
    void add(uint64_t size) {
      ++jobs;
      bytes += size;
      largest_bytes = std::max(largest_bytes, size);
    }
  };
  static bool has_room(const Queue& queue, const Load& load);
  Status admit_load(const Queue& queue, const Load& load) const WQ_REQUIRES(mutex_);
  Result<bool> make_room(Queue& queue, const Load& load, std::vector<JobId>& dropped)
      WQ_REQUIRES(mutex_);
  Status wait_for_room();
  Command& begin_enqueue(QueueId queue, int64_t now_ms, const std::vector<JobId>& dropped)
      WQ_REQUIRES(mutex_);
  Result<Load> load_of(const Queue& queue, std::span<const JobSpec> specs,
                       std::span<const std::pair<size_t, size_t>> places, bool partial,
                       std::span<EnqueueOutcome> outcomes) const WQ_REQUIRES(mutex_);

  template <typename Check, typename Change>
  Status with_job(QueueId queue, JobId id, Check&& check, Change&& change);

  Status refuse_known(std::span<const JobImage> jobs) WQ_REQUIRES(import_mutex_);
  struct ArrivingRows;
  Status import_rows(const ArrivingRows& rows, CallOptions& call);
  Status add_arriving(const ArrivingRows& rows, Command& command) WQ_REQUIRES(mutex_);
  Status finish_arrived_batches();

  // ---- packed payloads (engine_payload.cc)
  const Keyring& keyring() const;
  PackPolicy pack_policy(QueueId id);
  PackTarget pack_target(QueueId id);
  std::vector<PackTarget> chain_targets(QueueId id, const JobSpec& spec);
  Result<Bytes> job_envelope(Packer& packer, Encoder& encoder, QueueId id, const JobSpec& spec,
                             int64_t now_ms);
  Result<OwnPayload> pack_batch_job(Packer& packer, const NextSpec* next);
  Status seal_result(QueueId id, SettleItem& item, std::string& storage);
  void note_packing(const QueueConfig& config);
  Status refuse_without_keys(const Queue& queue) const;
  Result<Bytes> imported_envelope(Packer& packer, Encoder& encoder, const JobImage& job,
                                  const PackTarget& target);
  Status open_view(JobView& view) const;
  void open_schedule(CronView& view) const;
  std::string plain_schedule(std::string_view stored, std::string_view queue_name) const;
  void open_done(DoneJob& job, std::string_view queue_name) const;
  Status give_up(QueueId queue, const JobView& job, const Status& why);
  Status open_leased(std::span<const QueueId> queues, std::vector<JobView>& jobs);
  // get(), dead_list() and lease(), with payloads as they are stored.
  Result<JobView> find_job(QueueId queue, JobId id);
  Result<DeadPage> dead_page(QueueId queue, const DeadQuery& query);
  Result<DonePage> done_page(QueueId queue, uint64_t cursor, size_t limit, std::string& queue_name);
  Status take(const LeaseRequest& request, std::vector<JobView>& jobs, Lsn& lsn);

  // ---- side tables (engine_internal.h, engine_kv.cc)
  void drop_clean_rows(Family family) WQ_REQUIRES(mutex_);
  template <typename Body>
  Status with_rows(Family family, std::span<const std::string> keys, Body&& body);
  Status expire_kv() WQ_REQUIRES(checkpoint_mutex_);

  // ---- transactions (engine_transact.cc)
  struct Transaction;
  Status build(Transaction& txn) WQ_REQUIRES(mutex_);
  KeyPlan& plan_of(Transaction& txn, QueueId queue, int64_t now_ms) WQ_REQUIRES(mutex_);
  Status build_op(Transaction& txn, size_t i, int64_t now_ms) WQ_REQUIRES(mutex_);
  Status build_enqueue(Transaction& txn, size_t i, int64_t now_ms) WQ_REQUIRES(mutex_);
  Status build_settle(Transaction& txn, size_t i, int64_t now_ms) WQ_REQUIRES(mutex_);
  Status build_kv(Transaction& txn, size_t i, int64_t now_ms) WQ_REQUIRES(mutex_);

  // ---- observation
  void tell_queue_event(const Command& command, uint64_t count) WQ_REQUIRES(mutex_);
  void wake_followers() WQ_REQUIRES(mutex_);
  Status wait_for_event(const EventCursor& cursor, const EventRequest& request, Waiter& waiter,
                        int64_t deadline_ns) WQ_REQUIRES(mutex_);
  void fill_page(EventCursor& cursor, size_t events_max, EventPage& page) WQ_REQUIRES(mutex_);
  QueuePicture picture_of(const Queue& queue, const Now& now) const WQ_REQUIRES(mutex_);

  // ---- keys of jobs (engine_unique.cc, engine_produce.cc)
  template <typename Body>
  Status with_holders(std::span<const std::string> rows, JobId also, Body&& body);
  Status bring_in(StoredJob stored) WQ_REQUIRES(mutex_);
  Result<Lsn> commit_resident(Command& command, std::span<const JobId> ids, ColdJobs& cold)
      WQ_REQUIRES(mutex_);
  struct KeyedJobs;
  Result<size_t> enqueue_keyed(QueueId queue, KeyedJobs& coming, CallOptions& call);
  Status place_keyed(const Queue& queue, KeyPlan& plan, KeyedJobs& coming, size_t count,
                     bool each_alone, int64_t now_ms) WQ_REQUIRES(mutex_);
  Status admit_keyed(Queue& queue, ColdJobs& cold, KeyedJobs& coming) WQ_REQUIRES(mutex_);
  Status admit_jobs(std::span<const JobSpec> specs, int64_t now_ms, size_t& accepted);
  Status enqueue_one(QueueId queue, const JobSpec& spec, CallOptions& call, JobId& id);
  Status replay_keyed(QueueId queue, Token entry, const JobTraits& traits, CallOptions& call);
  Status forget_keys(std::span<const std::string> rows) WQ_REQUIRES(checkpoint_mutex_);
  Status expire_keys() WQ_REQUIRES(checkpoint_mutex_);
  Result<bool> forget_keys_of_cleared(QueueId queue) WQ_REQUIRES(checkpoint_mutex_);

  // ---- chains, batches (engine_batch.cc)
  class RowPins;
  Status admit_next_queue(const std::string& field, std::string_view queue) const
      WQ_REQUIRES(mutex_);
  Status admit_chain_queues(const JobSpec& spec) const WQ_REQUIRES(mutex_);
  Status admit_batch_job(const char* field, const NextSpec* next);
  // The row of the batch must be known. Batch 0: it joins none.
  Status admit_to_batch(uint64_t batch) const WQ_REQUIRES(mutex_);
  Status admit_to_batches(std::span<const JobSpec> specs, size_t& accepted) const
      WQ_REQUIRES(mutex_);
  Status make_batches_known(const Command& command) WQ_REQUIRES(mutex_);
  template <typename Body>
  Status with_batch(uint64_t batch, Body&& body);
  Result<Lsn> change_batch(CommandType type, uint64_t batch);
  struct BatchMember {
    uint64_t batch = 0;
    JobId job = 0;
  };
  // `lsn` becomes that of the last record that it commits, if any.
  Status sweep_members(Lsn& lsn);
  void sweep_after_change(Lsn& lsn) noexcept;
  Status sweep_page(std::span<const BatchMember> page, Lsn& lsn);
  Status settle_swept(std::span<const BatchMember> page, std::span<StoredJob> stored, Lsn& lsn)
      WQ_REQUIRES(mutex_);
  Status forget_batches();
  Status look_after_batches() WQ_REQUIRES(checkpoint_mutex_);

  // ---- history (engine_history.cc)
  Status sweep_history() WQ_REQUIRES(checkpoint_mutex_);

  // ---- schedules (engine_cron.cc)
  struct CronSnapshot {
    std::string name;
    QueueId queue = 0;
    std::string queue_name;
    CronState state;
    Lsn put_lsn = 0;
    std::string problem;
    std::string row;
  };
  Result<CronSnapshot> cron_snapshot(std::string_view name);
  bool cron_may_run() const WQ_REQUIRES(mutex_);
  bool cron_is_due() WQ_REQUIRES(mutex_);
  Status run_schedules();
  Status fire_schedule(std::string_view name, int64_t now_ms);
  Status commit_fire(const CronSnapshot& seen, const CronPlan& plan, const CronRow& row,
                     std::span<const std::string> envelopes, const std::vector<JobId>& dropped,
                     int64_t now_ms) WQ_REQUIRES(mutex_);

  // ---- timers, refill, checkpoint (maintenance.cc, checkpoint.cc)
  struct Due {
    size_t handled = 0;
    bool more = false;
  };
  Result<Due> run_due(const Now& now, size_t limit) WQ_REQUIRES(mutex_);
  template <typename MayTake>
  Status commit_due(Command& command, TimerQueue& timers, size_t limit, MayTake&& may_take)
      WQ_REQUIRES(mutex_);
  void draw_retry_delays(Command& command) WQ_REQUIRES(mutex_);
  void refill_empty_heads() WQ_REQUIRES(mutex_);
  bool cold_expiry_wanted() WQ_REQUIRES(mutex_);  // expire_cold.cc
  int64_t cold_expiry_wait_ms() WQ_REQUIRES(mutex_);
  void end_cold_pass() WQ_REQUIRES(mutex_);
  Result<bool> expire_cold() WQ_REQUIRES(mutex_);
  Result<bool> expire_page() WQ_REQUIRES(mutex_);
  int64_t next_due_wait_ms() WQ_REQUIRES(mutex_);
  int64_t next_work_wait_ms() WQ_REQUIRES(mutex_);
  void wake_for_timers() WQ_REQUIRES(mutex_);
  struct ComingPage;
  Lane* find_lane(const LaneId& id) const WQ_REQUIRES(mutex_);
  PageLimits refill_limits(const LaneId& id) WQ_REQUIRES(mutex_);
  Status refill_lane(const LaneId& id) WQ_REQUIRES(mutex_);
  Status refill_wanted() WQ_REQUIRES(mutex_);
  void open_gates(int64_t now_ms) WQ_REQUIRES(mutex_);
  void watch_rate(Queue* queue) WQ_REQUIRES(mutex_);
  void wake_rated(int64_t now_ms) WQ_REQUIRES(mutex_);
  Status load_delays() WQ_REQUIRES(mutex_);
  bool delays_wanted(int64_t now_ms) const WQ_REQUIRES(mutex_);
  bool first_delay_is_first(bool has_cold) const WQ_REQUIRES(mutex_);
  bool has_room_for_pages() const WQ_REQUIRES(mutex_);
  void run_thread(void (Engine::*loop)());
  void maintenance_loop();
  void checkpoint_loop();
  void flusher_loop();
  Result<bool> maintain() WQ_REQUIRES(mutex_);
  Status run_checkpoint();
  Status take_frozen(CheckpointContent& content, Lsn frozen_lsn) WQ_REQUIRES(mutex_);
  Status freeze() WQ_REQUIRES(checkpoint_mutex_);
  Status write_frozen() WQ_REQUIRES(checkpoint_mutex_);
  Status write_with_room() WQ_REQUIRES(checkpoint_mutex_);
  Status postpone_checkpoint(Status why) WQ_REQUIRES(checkpoint_mutex_);
  Status finish_checkpoint(Status written) WQ_REQUIRES(checkpoint_mutex_);
  Status commit_with_room(Checkpoint& checkpoint);
  Status write_checkpoint(CheckpointContent& content, Lsn frozen_lsn)
      WQ_REQUIRES(checkpoint_mutex_);
  void forget_checkpointed(Lsn frozen_lsn) WQ_REQUIRES(mutex_);
  void let_callers_in() WQ_REQUIRES(mutex_);
  void evict_to_target() WQ_REQUIRES(mutex_);
  Status sweep_trash() WQ_REQUIRES(checkpoint_mutex_);
  Status give_back_space() WQ_REQUIRES(checkpoint_mutex_);
  void check_disk_space();
  bool prepare_spares();
  uint64_t room_left(uint64_t free_bytes);
  struct BackupSource;
  Status hold_for_backup(BackupSource& source);
  Status copy_log(BackupSource& source, const std::string& directory, FileCopier& copier,
                  BackupManifest& manifest);
  static Status copy_store(const BackupSource& source, const std::string& directory,
                           FileCopier& copier, BackupManifest& manifest);
  Status note_failure(Status status);  // poisons the engine on storage errors

  const EngineOptions options_;
  const Environment environment_;
  StoreUuid uuid_{};
  Recovery recovery_;
  int64_t opened_wall_ms_ = 0;
  int64_t opened_mono_ns_ = 0;

  // Released last: the directory is ours until everything else is gone.
  std::unique_ptr<DirLock> directory_lock_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<SegmentLog> log_;

  Mutex mutex_;  // guards state_ and everything marked below; never held across I/O
  Observer observer_ WQ_GUARDED_BY(mutex_);  // outlives the state, which points to it
  State state_ WQ_GUARDED_BY(mutex_);
  Command command_ WQ_GUARDED_BY(mutex_);
  Encoder encoder_ WQ_GUARDED_BY(mutex_);
  Encoder envelope_encoder_ WQ_GUARDED_BY(mutex_);
  Encoder import_encoder_ WQ_GUARDED_BY(mutex_);
  Prng prng_ WQ_GUARDED_BY(mutex_);  // what it gives is written into commands
  JobId imported_id_max_ WQ_GUARDED_BY(mutex_) = UINT64_MAX;  // no imported job has a higher id
  uint64_t store_version_ WQ_GUARDED_BY(mutex_) = 0;  // raised when the job table forgets jobs
  Lsn applied_lsn_ WQ_GUARDED_BY(mutex_) = 0;
  uint64_t log_bytes_since_checkpoint_ WQ_GUARDED_BY(mutex_) = 0;
  uint64_t memory_limit_ WQ_GUARDED_BY(mutex_);  // above it enqueue waits; see wait_for_memory()
  bool checkpoint_wanted_ WQ_GUARDED_BY(mutex_) = false;
  bool checkpoint_running_ WQ_GUARDED_BY(mutex_) = false;
  bool checkpoint_postponed_ WQ_GUARDED_BY(mutex_) = false;  // the disk had no room for it
  bool draining_ WQ_GUARDED_BY(mutex_) = false;
  bool stopping_ WQ_GUARDED_BY(mutex_) = false;
  uint64_t waiting_ WQ_GUARDED_BY(mutex_) = 0;
  WaitStats waits_ WQ_GUARDED_BY(mutex_);
  uint64_t epoch_ WQ_GUARDED_BY(mutex_) = 0;              // LSN of the record of this open
  std::vector<Waiter*> followers_ WQ_GUARDED_BY(mutex_);  // calls that wait for an event
  int64_t maintenance_due_ns_ WQ_GUARDED_BY(mutex_) =
      0;  // when it wakes by itself; 0 = it is awake
  uint64_t checkpoints_ WQ_GUARDED_BY(mutex_) = 0;
  int64_t checkpoint_us_last_ WQ_GUARDED_BY(mutex_) = 0;
  int64_t checkpoint_us_max_ WQ_GUARDED_BY(mutex_) = 0;
  std::vector<LaneId> refills_ WQ_GUARDED_BY(mutex_);
  struct ColdPass {
    bool running = false;
    QueueId queue = 0;
    bool lines = false;                 // among those of groups, rate keys and tenants
    std::string after = {};             // the key that comes next; empty: the first
    int64_t first_ms = INT64_MAX;       // when the next of those that were looked at is to end
    int64_t began_ms = 0;               // on the run clock
    int64_t not_before_ms = INT64_MIN;  // the next pass
  };
  ColdPass cold_pass_ WQ_GUARDED_BY(mutex_);
  int64_t cron_seen_ms_ WQ_GUARDED_BY(mutex_) = 0;  // the wall clock, when it was asked last
  QueueId trim_queue_ WQ_GUARDED_BY(mutex_) = 0;    // where trim_dead() is in its pass; 0 = in none
  std::vector<KeyGate*> picked_ WQ_GUARDED_BY(mutex_);  // empty but inside of select()
  // Queues with jobs that only their rate holds back: somebody is told when it no longer does.
  std::vector<QueueId> rate_watch_ WQ_GUARDED_BY(mutex_);
  CondVar maintenance_wake_;
  CondVar checkpoint_wake_;
  CondVar page_came_;     // see Lane::page_coming
  CondVar memory_freed_;  // a checkpoint ended
  CondVar idle_;          // the last call left, or nothing is leased any more
  bool log_room_known_ WQ_GUARDED_BY(mutex_) = false;  // see LogRoom
  Status failure_ WQ_GUARDED_BY(mutex_);  // first fatal failure that the log does not know of

  Mutex import_mutex_;  // one import_jobs at a time; taken before mutex_
  Mutex backup_mutex_;  // one backup at a time; taken before all others

  Mutex checkpoint_mutex_;  // one checkpoint or sweep at a time; taken before mutex_
  std::optional<FrozenCheckpoint> frozen_
      WQ_GUARDED_BY(checkpoint_mutex_);  // taken, but not yet in the store
  Encoder row_encoder_ WQ_GUARDED_BY(checkpoint_mutex_);
  uint64_t jobs_at_shrink_ WQ_GUARDED_BY(checkpoint_mutex_) = UINT64_MAX;  // see give_back_space()

  // Pairs with close(): calls enter by an increment and then look at closed_; close() sets closed_
  // and then waits for zero. Both seq_cst, so one of the two sees the other.
  std::atomic<uint32_t> calls_{0};
  std::atomic<bool> closed_{false};
  std::atomic<bool> packs_{false};               // a queue is, or was, configured to pack payloads
  std::atomic<bool> memory_full_{false};         // hint: enqueue must look at the budget
  std::atomic<uint64_t> disk_missing_bytes_{0};  // of the reserve: what has to become free
  std::atomic<uint64_t> log_bytes_since_look_{0};  // at the free space

  CompletionRegistry completions_;

  std::thread maintenance_thread_;
  std::thread checkpoint_thread_;
  std::thread flusher_thread_;
};

}  // namespace wq
