// Transactions: jobs enqueued, leases settled and kv rows written in one record, all or nothing.
//
// Every operation is judged before the first is applied, by the state as it is then: none sees what
// another one does. That needs no undo, and is sound because operations that could meet are
// refused: a job may be settled once and a key of a kv row be named once. Keys of jobs are the one
// exception: new jobs meet those before them, and not one that is acked before them. In the record
// the new jobs stand first: their ids are the next ones, whatever the settles behind them set off.
#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/planted.h"
#include "engine/admit.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/job_limits.h"
#include "engine/key_plan.h"
#include "engine/kv.h"
#include "engine/next_job.h"

namespace wq {
namespace {

std::string op_text(size_t i) {
  return "ops[" + std::to_string(i) + "]: ";
}

Status of_op(size_t i, const Status& status) {
  return status.ok() ? Status() : Status(status.code(), op_text(i) + status.message());
}

Status admit_op(const TxnOp& op, uint64_t payload_bytes_max, int64_t now_ms) {
  switch (op.kind) {
    case TxnOp::Kind::enqueue:
      if (op.spec.dry_run) return Status(Code::invalid, "a dry run can not be part of one");
      WQ_TRY(admit_job(op.spec, payload_bytes_max, now_ms));
      return admit_chain(op.spec, payload_bytes_max, now_ms);
    case TxnOp::Kind::settle:
      return admit_settle(op.settle);
    case TxnOp::Kind::kv:
      return admit_kv(op.kv);
  }
  return Status(Code::invalid, "kind: unknown value");
}

uint64_t bytes_of(const TxnOp& op) {
  if (op.kind == TxnOp::Kind::enqueue) return counted_bytes(op.spec);
  if (op.kind == TxnOp::Kind::settle) return counted_bytes(op.settle);
  return op.kv.key.size() + op.kv.value.size() + row_beside_bytes;
}

// The part that takes the next operation: the last one if it is of the same queue.
Command& part_of(std::vector<Command>& parts, CommandType type, QueueId queue, int64_t now_ms) {
  if (parts.empty() || parts.back().queue != queue) {
    parts.emplace_back().reset(type, now_ms);
    parts.back().queue = queue;
  }
  return parts.back();
}

void move_behind(std::vector<Command>& parts, std::vector<Command>& more) {
  for (Command& part : more) parts.push_back(std::move(part));
}

}  // namespace

struct Engine::Transaction {
  Transaction(std::span<const TxnOp> all_ops, std::span<TxnResult> all_results, size_t& failed_op,
              const Keyring& keys, const RandomBytes& random)
      : ops(all_ops), results(all_results), failed(failed_op), packer(keys, random) {}

  std::span<const TxnOp> ops;
  std::span<TxnResult> results;
  size_t& failed;

  // Made before the lock.
  Packer packer;                                  // of their payloads
  std::vector<std::byte> arena;                   // the envelopes
  std::vector<std::pair<size_t, size_t>> places;  // by operation: offset and size in the arena
  std::vector<std::string> row_keys;              // of all kv rows
  std::vector<std::string> key_rows;              // of the unique and other keys of new jobs
  std::map<size_t, SettleItem> with_results;      // by operation: acks whose results may be sealed

  std::vector<Command> enqueues, settles, writes;  // the parts of the command
  std::unordered_map<QueueId, Load> loads;         // what comes in
  uint64_t brought_bytes = 0;                      // by all of them
  std::unordered_set<JobId> settled;
  std::map<QueueId, KeyPlan> plans;  // of queues that get jobs with keys
  ColdJobs* cold = nullptr;          // holders of those keys that are only in the store
  JobId holder = 0;                  // that the transaction was refused for
  std::deque<std::string> texts;     // what parts point to: sums, and error texts that were cut
  JobId next_id = 0;
  bool timed = false;  // something may become due
  Durability level = Durability::memory;
  Lsn lsn = 0;

  Status admit(uint64_t payload_bytes_max, int64_t now_ms);
  Status encode_envelopes(Engine& engine, int64_t now_ms);
  bool takes_space() const;
};

Status Engine::Transaction::admit(uint64_t payload_bytes_max, int64_t now_ms) {
  if (ops.empty() || ops.size() > jobs_per_call_max) {
    return Status(Code::invalid,
                  "n: " + std::to_string(ops.size()) + " operations, give 1 to 10000");
  }
  WQ_CHECK(results.size() == ops.size());
  std::unordered_set<std::string_view> keys;
  uint64_t bytes = 0;
  for (failed = 0; failed < ops.size(); ++failed) {
    const TxnOp& op = ops[failed];
    WQ_TRY(of_op(failed, admit_op(op, payload_bytes_max, now_ms)));
    if (op.kind == TxnOp::Kind::enqueue) add_key_rows(op.queue, op.spec.traits, key_rows);
    bytes += bytes_of(op);
    if (bytes > call_payload_bytes_max) {
      return Status(Code::too_large, op_text(failed) + "payloads and values over 512 MiB together");
    }
    if (op.kind != TxnOp::Kind::kv) continue;
    if (!keys.insert(op.kv.key).second) {
      return Status(Code::invalid, op_text(failed) + "key: is named twice");
    }
    row_keys.push_back(kv_row_key(op.kv.key));
  }
  return {};
}

// Before the lock: many or large ones must not hold it for long.
Status Engine::Transaction::encode_envelopes(Engine& engine, int64_t now_ms) {
  Encoder encoder;
  for (failed = 0; failed < ops.size(); ++failed) {
    const TxnOp& op = ops[failed];
    places.emplace_back(arena.size(), 0);
    if (op.kind == TxnOp::Kind::settle && !op.settle.result.empty()) {
      SettleItem& item = with_results.emplace(failed, op.settle).first->second;
      WQ_TRY(of_op(failed, engine.seal_result(op.queue, item, texts.emplace_back())));
    }
    if (op.kind != TxnOp::Kind::enqueue) continue;
    Result<Bytes> packed = engine.job_envelope(packer, encoder, op.queue, op.spec, now_ms);
    if (!packed.ok()) return of_op(failed, packed.status());
    const Bytes envelope = packed.value();
    places.back().second = envelope.size();
    arena.insert(arena.end(), envelope.begin(), envelope.end());
    arena.resize((arena.size() + 7) & ~size_t{7});
  }
  return {};
}

// What settles and what makes room goes on when the disk is full.
bool Engine::Transaction::takes_space() const {
  for (const TxnOp& op : ops) {
    if (op.kind == TxnOp::Kind::enqueue) return true;
    if (op.kind != TxnOp::Kind::kv) continue;
    if (op.kv.verb == KvVerb::put || op.kv.verb == KvVerb::add) return true;
  }
  return false;
}

KeyPlan& Engine::plan_of(Transaction& txn, QueueId queue, int64_t now_ms) {
  return txn.plans.try_emplace(queue, state_, *txn.cold, queue, now_ms).first->second;
}

Status Engine::build_enqueue(Transaction& txn, size_t i, int64_t now_ms) {
  const TxnOp& op = txn.ops[i];
  WQ_TRY_SET(const Queue* queue, queue_for(op.queue));
  WQ_TRY(admit_to_queue(*queue));
  WQ_TRY(admit_chain_queues(op.spec));
  WQ_TRY(admit_to_batch(op.spec.traits.batch));
  const Bytes envelope(txn.arena.data() + txn.places[i].first, txn.places[i].second);
  NewJob job = new_job_of(op.spec, txn.next_id++, envelope, now_ms);
  Load& load = txn.loads[op.queue];
  load.elsewhere_bytes = txn.brought_bytes - load.brought_bytes();
  if (WQ_PLANTED(txn_quota_apart)) load.elsewhere_bytes = 0;
  if (op.spec.traits.has_keys()) {
    KeyPlan& plan = plan_of(txn, op.queue, now_ms);
    WQ_TRY_SET(txn.holder, plan.place(op.spec, job.id, envelope.size(), job.due_ms));
    if (txn.holder != 0 && !WQ_PLANTED(txn_key_unchecked)) return key_is_held(txn.holder);
    load.leaving = plan.leaving();
  }
  // A transaction drops no job of somebody else's.
  load.add(envelope.size());
  WQ_TRY(admit_load(*queue, load));
  if (!has_room(*queue, load)) {
    return Status(Code::full, "the queue has no room, and a transaction drops no job");
  }
  txn.brought_bytes = load.elsewhere_bytes + load.brought_bytes();
  part_of(txn.enqueues, CommandType::enqueue, op.queue, now_ms).jobs.push_back(job);
  txn.results[i].job_id = job.id;
  txn.timed |= job.due_ms != 0;
  txn.level = std::max(txn.level, queue->config.durability);
  return {};
}

Status Engine::build_settle(Transaction& txn, size_t i, int64_t now_ms) {
  const TxnOp& op = txn.ops[i];
  const auto with_result = txn.with_results.find(i);
  SettleItem item = with_result != txn.with_results.end() ? with_result->second : op.settle;
  WQ_TRY_SET(const Queue* queue, queue_for(op.queue));
  const Status held = check_lease(state_, queue, item.id, item.generation);
  if (held.code() == Code::not_found) return no_such_job(item.id);
  if (!held.ok() && !WQ_PLANTED(txn_token_unchecked)) {
    return Status(held.code(), "job " + std::to_string(item.id) + " is not held by generation " +
                                   std::to_string(item.generation));
  }
  if (!txn.settled.insert(item.id).second) {
    return Status(Code::stale, "job " + std::to_string(item.id) + " is settled twice");
  }
  Command& part = part_of(txn.settles, CommandType::settle, op.queue, now_ms);
  const Job& job = *state_.find_live(item.id);
  if (item.kind == SettleKind::nack && item.delay_ms < 0) {
    item.delay_ms = drawn_retry_delay_ms(job, prng_);
  }
  complete_settle(*queue, job, item);
  if (item.kind == SettleKind::ack && !txn.key_rows.empty()) {
    plan_of(txn, op.queue, now_ms).end(item.id);
  }
  part.settles.push_back(item);
  if (item.error.size() > error_bytes_max) {
    part.settles.back().error = cut_error(item.error, txn.texts.emplace_back());
  }
  txn.timed |= item.kind != SettleKind::ack || job.traits;
  txn.level = std::max(txn.level, queue->config.durability);
  return {};
}

Status Engine::build_kv(Transaction& txn, size_t i, int64_t now_ms) {
  const KvWrite& write = txn.ops[i].kv;
  WQ_TRY_SET(const std::optional<KvRow> row, live_kv_row(state_, write.key, now_ms));
  KvDecision decision;
  WQ_TRY(decide_kv(write, row, now_ms, txn.texts.emplace_back(), decision));
  txn.results[i].sum = decision.sum;
  if (!decision.is_change) return {};
  part_of(txn.writes, CommandType::kv_write, 0, now_ms).kv.push_back(decision.change);
  txn.level = Durability::power;
  return {};
}

Status Engine::build_op(Transaction& txn, size_t i, int64_t now_ms) {
  switch (txn.ops[i].kind) {
    case TxnOp::Kind::enqueue:
      return build_enqueue(txn, i, now_ms);
    case TxnOp::Kind::settle:
      return build_settle(txn, i, now_ms);
    case TxnOp::Kind::kv:
      return build_kv(txn, i, now_ms);
  }
  return Status(Code::internal, "unknown kind of operation");
}

// With every row known: checks all, then commits all.
Status Engine::build(Transaction& txn) {
  if (state_.importing) return import_is_open();
  Command& command = begin(CommandType::transact);
  txn.next_id = state_.next_job_id;
  for (txn.failed = 0; txn.failed < txn.ops.size(); ++txn.failed) {
    Status status = build_op(txn, txn.failed, command.now_ms);
    if (status.ok()) continue;
    if (WQ_PLANTED(txn_in_part)) break;
    return of_op(txn.failed, status);
  }
  for (const Command& part : txn.enqueues) {
    WQ_TRY(txn.packer.bind(part.jobs, state_.find_queue(part.queue)->name));
  }
  move_behind(command.parts, txn.enqueues);
  move_behind(command.parts, txn.settles);
  move_behind(command.parts, txn.writes);
  if (command.parts.empty()) return {};  // conditions only, and all of them hold
  std::vector<JobId> replaced;           // by debounced jobs
  for (const auto& [queue, plan] : txn.plans) {
    replaced.insert(replaced.end(), plan.replaced().begin(), plan.replaced().end());
  }
  WQ_TRY_SET(txn.lsn, commit_resident(command, replaced, *txn.cold));
  if (txn.timed) wake_for_timers();
  if (draining_) idle_.notify_all();
  return {};
}

Status Engine::transact(std::span<const TxnOp> ops, CallOptions& call, std::span<TxnResult> results,
                        size_t& failed) {
  WQ_ENTER();
  failed = ops.size();
  Transaction txn(ops, results, failed, keyring(), environment_.random_bytes);
  const int64_t now_ms = wall_ms();
  WQ_TRY(txn.admit(options_.payload_bytes_max, now_ms));
  WQ_TRY(txn.encode_envelopes(*this, now_ms));
  if (txn.takes_space()) WQ_TRY(wait_for_space());
  RowPins batches(*this);
  for (const TxnOp& op : ops) batches.add(op.spec.traits.batch);
  WQ_TRY(batches.take());
  RowPins kv_rows(*this, Family::kv);
  for (const std::string& key : txn.row_keys) kv_rows.add_row(key);
  WQ_TRY(kv_rows.take());
  const auto all = [&](ColdJobs& cold) WQ_REQUIRES(mutex_) {
    txn.cold = &cold;
    return build(txn);
  };
  Status status = with_holders(txn.key_rows, 0, all);
  if (!status.ok()) {
    std::fill(results.begin(), results.end(), TxnResult());
    if (txn.holder != 0) results[failed].job_id = txn.holder;
    return status;
  }
  return txn.lsn == 0 ? Status() : finish(txn.lsn, call, level_for(call, txn.level));
}

}  // namespace wq
