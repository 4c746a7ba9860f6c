// Command: one logical change of the store, with every choice already made (ids, generations,
// times), so that applying it needs no clock, no randomness and no I/O. One command is one log
// record. One struct serves all types: the engine keeps one and reuses its vectors, so that the hot
// path does not allocate. Only the members named beside a type have a meaning for it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/types.h"

namespace wq {

enum class CommandType : uint16_t {
  open = 1,             // now_ms, unclean
  close = 2,            // now_ms
  queue_declare = 3,    // now_ms, queue, name, config
  queue_configure = 4,  // now_ms, queue, config (the whole new one)
  queue_clear = 5,      // now_ms, queue, states
  queue_delete = 6,     // now_ms, queue
  enqueue = 7,          // now_ms, queue, jobs
  lease = 8,            // now_ms, first_generation, groups, ids (concatenated in group order)
  confirm = 9,          // now_ms, queue, deadline_ms (0 = none), settles[0].{id,generation}
  extend = 10,          // now_ms, queue, deadline_ms, settles[i].{id,generation}
  settle = 11,          // now_ms, queue, settles
  expire = 12,          // now_ms, ids: leases past their deadline; delays_ms
  promote = 13,         // now_ms, ids: delayed jobs that are due, in due order
  cancel = 14,          // now_ms, queue, ids
  dead_replay = 15,     // now_ms, queue, settles[i].{id,generation}, first_generation
  dead_remove = 16,     // now_ms, queue, settles[i].{id,generation}
  import_begin = 17,    // now_ms, row (a MetaRow: the next ids)
  import_queue = 18,    // now_ms, queue, row (a QueueRow: name, configuration, totals)
  import_jobs = 19,     // now_ms, queue, imports
  import_end = 20,      // now_ms
  kv_write = 21,        // now_ms, kv
  transact = 22,        // now_ms, parts: enqueue, settle and kv_write, each of the same now_ms
  expire_jobs = 25,     // now_ms, ids: ready jobs that did not start in time
  reprioritise = 26,    // now_ms, queue, ids[0], priority
  progress = 27,        // now_ms, queue, settles[0].{id,generation}, note
  key_release = 23,     // now_ms, queue, settles[i].{id,generation}: jobs that give up their keys
  key_forget = 24,      // now_ms, kv: rows of the family `unique` that are to go
  batch_create = 30,    // now_ms, batch, row (of the family batch)
  batch_seal = 31,      // now_ms, batch
  batch_cancel = 32,    // now_ms, batch
  batch_lost = 33,      // now_ms, batch, ids: members that ended without being looked at
  batch_forget = 34,    // now_ms, batch
  cron_put = 35,        // now_ms, queue, name, row (a CronRow), cron.state
  cron_remove = 36,     // now_ms, name
  cron_fire = 37,       // now_ms, queue, name, cron, jobs (of its slots), ids (that go for them)
  dead_drop = 38,       // now_ms, queue, settles[i].{id,generation}: over the caps of the queue
  drop_oldest = 39,     // now_ms, queue, ids (ready jobs that go), jobs (that come in for them)
  rate_rebase = 28,     // now_ms, queue: its rate has seen a clock that was set back
  overlap = 29,         // now_ms, ids: ready jobs whose group is full and that do not wait for it
  import_rows = 40,     // now_ms, kv: rows beside the jobs; see imported_rows.h
};

struct NewJob {
  JobId id = 0;
  int64_t due_ms = 0;         // 0 = ready at once
  uint32_t max_attempts = 0;  // 0 = the queue's
  uint8_t priority = default_priority;
  Bytes envelope = {};  // encoded Envelope; see record.h
};

struct LeaseGroup {
  QueueId queue = 0;
  uint32_t count = 0;  // how many of `ids` belong to this group
  int64_t deadline_ms = 0;
};

enum class SettleKind : uint8_t { ack = 1, nack = 2, fail = 3, release = 4 };

enum SettleFlags : uint8_t {
  settle_front = 1,         // nack, release: to the head instead of the tail
  settle_no_exception = 2,  // nack: does not count as an exception
  settle_priority = 4,      // nack: `priority` replaces the job's
  // ack: a chain goes on. It says nothing that apply() does not know, but the record is longer for
  // it: what is lost with the unsynced end of the log can not have used up the gap of the ids.
  settle_chain = 8,
  settle_sealed = 16,  // ack: `result` is sealed
};

struct SettleItem {
  JobId id = 0;
  Generation generation = 0;
  SettleKind kind = SettleKind::ack;
  uint8_t flags = 0;
  uint8_t priority = 0;
  int64_t delay_ms = 0;                  // nack, release; -1 = by the retry policy (nack only)
  std::string_view error = {};           // nack, fail; already cut to error_bytes_max
  DeadReason reason = DeadReason::none;  // nack, fail: why it is dead, if it is; none = failed
  std::string_view result = {};          // ack: for the history
};

// A job as another store held it: ready, delayed or dead.
struct ImportedJob {
  JobId id = 0;
  Bytes row = {};  // encoded JobRow with its envelope; see record.h
};

// One change of the kv family. Its conditions were checked before: this is what holds afterwards.
struct KvChange {
  std::string_view key = {};
  std::string_view value = {};
  int64_t expires_ms = 0;  // 0 = never
  bool erase = false;      // then without value and expiry
};

// What changes with each run of a schedule; see cron.h.
struct CronState {
  bool paused = false;
  int64_t next_due_ms = 0;   // 0 = never again
  int64_t last_slot_ms = 0;  // the newest slot that ran or was missed
  int64_t created_ms = 0;
  uint64_t fired = 0;   // jobs enqueued
  uint64_t missed = 0;  // slots that no job was enqueued for

  bool operator==(const CronState&) const = default;
};

struct CronChange {
  int64_t slot_ms = 0;  // cron_fire: the time the schedule was due, the first of its slots
  CronState state;      // afterwards
};

struct Command {
  CommandType type = CommandType::open;
  bool unclean = false;
  QueueId queue = 0;
  uint64_t batch = 0;
  uint32_t states = 0;
  int64_t now_ms = 0;
  int64_t deadline_ms = 0;
  Generation first_generation = 0;
  std::string_view name;
  QueueConfig config;
  std::vector<NewJob> jobs;
  std::vector<LeaseGroup> groups;
  std::vector<JobId> ids;
  std::vector<SettleItem> settles;
  std::vector<ImportedJob> imports;
  std::vector<KvChange> kv;
  std::vector<Command> parts;
  Bytes row;  // encoded MetaRow, QueueRow, CronRow or BatchRow
  // expire: the delay of each retry, by place in `ids`; -1 = by the policy. Empty = all so.
  std::vector<int64_t> delays_ms;
  uint8_t priority = 0;
  std::string_view note;  // at most progress_bytes_max
  CronChange cron;

  // Empties the vectors but keeps their memory.
  void reset(CommandType new_type, int64_t new_now_ms) {
    type = new_type;
    now_ms = new_now_ms;
    unclean = false;
    queue = 0;
    batch = 0;
    states = 0;
    deadline_ms = 0;
    first_generation = 0;
    name = {};
    jobs.clear();
    groups.clear();
    ids.clear();
    settles.clear();
    kv.clear();
    parts.clear();
    imports.clear();
    row = {};
    delays_ms.clear();
    priority = 0;
    note = {};
    cron = {};
  }
};

}  // namespace wq
