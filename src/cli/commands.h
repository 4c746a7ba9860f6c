// The commands: what each can be told, and the function that runs it. args_*.cc fills the options
// from the command line; each group of commands has a file of its own. A command returns its exit
// code or throws a Failure. Thread model: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/context.h"
#include "cli/job_keys.h"

namespace wq::cli {

// ---- push.cc
struct PushOptions {
  bool file_given = false;
  std::string queue = "default";
  std::vector<std::string> payloads;  // one job each; none: read `file`
  std::string file = "-";
  std::string format = "lines";  // lines, null, jsonl, whole
  std::vector<std::string> headers;
  std::string delay, at, backoff, durability, payload_max, group, overlap, tenant, rate_key;
  std::vector<std::string> chain;  // payloads of the jobs that follow each job
  uint64_t batch = 0;
  int64_t priority = -1;  // -1: not given
  uint32_t max_attempts = 0;
  std::string expires, retry_until, timeout;
  uint32_t max_exceptions = 0;
  bool fail_on_timeout = false;
  uint32_t group_limit = 0;
  uint32_t rate_cost = 0;  // 0: 1
  bool partial = false;
  bool ids = false;
  KeyOptions keys;
  bool test = false;
  bool encrypt = false;
  bool plain = false;
};
int run_push(Context& context, const PushOptions& options);

// ---- work.cc
struct WorkOptions {
  std::vector<std::string> queues;   // in order of preference
  std::vector<std::string> command;  // program and arguments
  uint32_t slots = 1;
  std::string lines;  // empty: a process per job; json or tab: long-lived handlers
  uint32_t ahead = 16;
  std::string lease, timeout, durability, events;
  bool once = false;
  bool stop_when_empty = false;
  bool expire_leases = false;
  bool strict = false;
  bool feed = false;
};
int run_work(Context& context, const WorkOptions& options);

// ---- pull.cc
struct PullOptions {
  std::vector<std::string> queues;
  uint32_t count = 1;
  std::string wait = "0", lease, payload_file;
};
int run_pull(Context& context, const PullOptions& options);

// ---- settle.cc
enum class SettleKind { ack, nack, release, extend };
struct SettleOptions {
  std::vector<std::string> tokens;
  std::string queue;  // empty: found by the job
  std::string error, reason, delay, lease, durability, result;
  int64_t priority = -1;
  bool front = false;
  bool no_exception = false;
  bool dead = false;
};
int run_settle(Context& context, SettleKind kind, const SettleOptions& options);

// ---- jobs.cc
struct CancelOptions {
  std::vector<std::string> jobs;
  std::string queue;  // empty: found by the job
};
int run_cancel(Context& context, const CancelOptions& options);

struct ReprioritiseOptions {
  std::vector<std::string> jobs;
  std::string queue;  // empty: found by the job
  uint32_t priority = 0;
};
int run_reprioritise(Context& context, const ReprioritiseOptions& options);

struct ProgressOptions {
  std::string token, note, queue, durability;
};
int run_progress(Context& context, const ProgressOptions& options);

// ---- key.cc
struct KeyCommandOptions {
  std::string queue = "default";
  std::string kind = "unique";
  std::string key;  // release: a token
};
int run_key_show(Context& context, const KeyCommandOptions& options);
int run_key_cancel(Context& context, const KeyCommandOptions& options);
int run_key_release(Context& context, const KeyCommandOptions& options);

// ---- keyring.cc
int run_keyring(Context& context);

// ---- inspect.cc
struct StatOptions {
  std::string queue;  // empty: all
  std::string watch;  // empty: once; else the time between two looks
  uint32_t count = 0;
  bool prometheus = false;
};
int run_stat(Context& context, const StatOptions& options);

struct LsOptions {
  bool all = false;  // with configuration
};
int run_ls(Context& context, const LsOptions& options);

struct ShowOptions {
  std::string job, queue, payload_file;
};
int run_show(Context& context, const ShowOptions& options);

// ---- dead.cc
struct DeadOptions {
  std::string queue;  // empty: found by the entry
  std::vector<std::string> entries;
  std::string reason, since, until, error, payload_file;
  uint64_t cursor = 0;
  uint32_t limit = 0;
  bool oldest_first = false;
  bool all = false;
  bool dry_run = false;
  bool yes = false;
};
int run_dead_ls(Context& context, const DeadOptions& options);
int run_dead_show(Context& context, const DeadOptions& options);
int run_dead_replay(Context& context, const DeadOptions& options);
int run_dead_rm(Context& context, const DeadOptions& options);
int run_dead_purge(Context& context, const DeadOptions& options);

// ---- queue.cc
struct QueueSetOptions {
  std::string queue;
  std::string lease, backoff, durability, job_ttl, rate, key_rate, throttle;
  std::string max_bytes, full_policy, dead_age;  // empty: not given
  std::string encrypt, compress;                 // on, off; a size, off; empty: not given
  int64_t max_depth = -1, dead_max = -1;
  int64_t max_running = -1, max_retries = -1, version = -1, group_limit = -1;
  int64_t keep_done = -1;
  std::string keep_done_for;
};
int run_queue_set(Context& context, const QueueSetOptions& options);

enum class QueueAction { show, pause, resume, disable, enable, clear, remove };
struct QueueOptions {
  std::string queue;
  std::vector<std::string> states;  // clear: ready, delayed, leased, running, dead
  bool yes = false;
};
int run_queue(Context& context, QueueAction action, const QueueOptions& options);

// ---- flow.cc
struct BatchCreateOptions {
  std::string complete_queue, complete, failure_queue, failure;
  bool allow_failures = false;
};
int run_batch_create(Context& context, const BatchCreateOptions& options);

enum class BatchAction { show, seal, cancel };
int run_batch(Context& context, BatchAction action, uint64_t batch);
int run_batch_ls(Context& context, uint32_t limit);

struct HistoryOptions {
  std::string queue;  // empty: found by the job; without a job the queue "default"
  std::string job;    // empty: the newest
  uint32_t limit = 20;
};
int run_history(Context& context, const HistoryOptions& options);

// ---- relay.cc
struct RelayOptions {
  std::string queue = "default", to, redis = "127.0.0.1:6379";
  std::string mode = "fallback", format = "lines";
  std::string rate, connect_timeout, timeout, keep_ids, durability;
  uint64_t keep_ids_count = 1'000'000;
  bool in_order = false, no_input = false, stay = false, no_wait = false;
  bool prometheus = false;
};
int run_relay(Context& context, const RelayOptions& options);
int run_relay_report(Context& context, const RelayOptions& options);

// ---- cron.cc
struct CronOptions {
  std::string name, expression, payload, queue;
  std::string zone = "UTC";
  std::string catch_up, backoff, from;
  std::vector<std::string> headers;
  int64_t priority = -1;
  uint32_t max_attempts = 0;
  uint32_t count = 5;
  bool encrypt = false;
  bool plain = false;
};
// A schedule as an export has it; `zone` as it is to be shown. export.cc
Record cron_record(const wq_cron& cron, std::string_view zone);
int run_cron_add(Context& context, const CronOptions& options);
int run_cron_rm(Context& context, const CronOptions& options);
int run_cron_pause(Context& context, const CronOptions& options);
int run_cron_resume(Context& context, const CronOptions& options);
int run_cron_show(Context& context, const CronOptions& options);
int run_cron_ls(Context& context, const CronOptions& options);
int run_cron_next(Context& context, const CronOptions& options);

// ---- maintain.cc
int run_verify(Context& context);

struct LogDumpOptions {
  uint64_t from_lsn = 0, limit = 0;
  std::string type;
};
int run_log_dump(Context& context, const LogDumpOptions& options);
int run_version(Context& context);

// ---- export.cc, import.cc, repair.cc
struct ExportOptions {
  std::string queue;  // empty: all
};
int run_export(Context& context, const ExportOptions& options);

struct ImportOptions {
  std::string payload_max = "16MiB";
};
int run_import(Context& context, const ImportOptions& options);

struct RepairOptions {
  std::string salvage;  // directory of the new store; empty: only look
};
int run_repair(Context& context, const RepairOptions& options);

// ---- backup.cc
// Each is a directory, a file whose name ends in .tar, or "-" for a tar on a standard stream.
int run_backup(Context& context, const std::string& target);
int run_restore(Context& context, const std::string& backup);
int run_verify_backup(Context& context, const std::string& backup);

// ---- crash.cc
struct CrashOptions {
  std::string directory;  // of the drill; it makes and removes one below
  uint32_t seconds = 10;
};
int run_crash(Context& context, const CrashOptions& options);
// The process that run_crash() starts and kills.
[[noreturn]] int run_crash_child(Context& context, const std::string& level, uint64_t first_number);

// ---- kv.cc
enum class KvAction { get, put, add, remove, list, lock, extend, unlock };
struct KvOptions {
  std::string key;  // list: the prefix
  std::string value, if_value, ttl, owner, durability;
  int64_t by = 1, if_version = -1;
  uint64_t limit = 0;  // 0: all
  bool value_given = false;
  bool if_value_given = false;
  bool if_absent = false;
  bool raw = false;
};
int run_kv(Context& context, KvAction action, const KvOptions& options);

// ---- txn.cc
struct TxnOptions {
  std::string file = "-";
  std::string durability;
};
int run_txn(Context& context, const TxnOptions& options);

// ---- observe.cc
struct ExplainOptions {
  std::string target;  // a job, or the name of a queue
  std::string queue;
};
int run_explain(Context& context, const ExplainOptions& options);

struct EventsOptions {
  std::string time = "1s";  // without --follow
  bool follow = false;
  bool expire_leases = false;
};
int run_events(Context& context, const EventsOptions& options);
int run_metrics(Context& context);

// ---- bench.cc
struct BenchOptions {
  std::string directory = ".";
  std::string payload_size = "256";
  std::string seconds = "2s";
  uint32_t batch = 100;
  std::string durability = "power";
};
int run_bench(Context& context, const BenchOptions& options);

}  // namespace wq::cli
