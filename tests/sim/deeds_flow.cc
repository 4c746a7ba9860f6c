// Deeds with keys, chains, batches, kv rows, transactions and schedules.
#include "model/engine_spec.h"
#include "sim/deeds.h"

namespace wq::sim {
namespace {

using model::Model;

constexpr int64_t key_ms = 3'000;
constexpr int64_t window_ms = 300;
constexpr int64_t slot_ms = 1'000;

}  // namespace

Status Deeds::dispatch_flow(Deed deed, CallOptions& call) {
  switch (deed) {
    case Deed::enqueue_unique:
      return enqueue_keyed(KeyRule::until_done, call);
    case Deed::enqueue_debounced:
      return enqueue_keyed(KeyRule::debounce, call);
    case Deed::enqueue_chain:
      return enqueue_chain(call);
    case Deed::enqueue_member:
      return enqueue_member(call);
    case Deed::seal:
      return seal(call);
    case Deed::write_row:
      return write_row(call);
    case Deed::transact:
      return transact(call);
    case Deed::schedule:
      return schedule(call);
    default:
      return pass(slot_ms);
  }
}

Status Deeds::enqueue_spec(const model::Spec& spec, CallOptions& call) {
  const model::EngineSpec given(spec);
  JobId id = 0;
  if (Status status = engine().enqueue(queue_, given.spec, call, id); !status.ok()) return status;
  if (const std::string wrong = new_job(queue_, id, spec); !wrong.empty()) return differs(wrong);
  acknowledged(call, Durability::power);
  changed(call.lsn, [queue = queue_, id, spec, at = now()](Model& model) {
    model.enqueue(queue, id, spec, at);
  });
  return {};
}

// One key for all: the second one is a duplicate, or takes the place of the first.
Status Deeds::enqueue_keyed(KeyRule rule, CallOptions& call) {
  WQ_TRY(ensure_queue(call));
  model::Spec spec;
  spec.payload = "keyed " + std::to_string(++numbered_);
  spec.keys.rule = rule;
  spec.keys.key = "the key";
  spec.keys.key_ms = key_ms;
  if (rule == KeyRule::debounce) spec.keys.debounce_ms = window_ms;
  return enqueue_spec(spec, call);
}

Status Deeds::enqueue_chain(CallOptions& call) {
  WQ_TRY(ensure_queue(call));
  model::Spec spec;
  spec.payload = "first of a chain " + std::to_string(++numbered_);
  spec.priority = 7;
  for (int i = 0; i < 2; ++i) {
    model::Next& next = spec.flow.chain.emplace_back();
    next.payload = "next of a chain " + std::to_string(i);
    next.priority = 7;
  }
  return enqueue_spec(spec, call);
}

// Of a batch that is made for it if there is none that takes jobs.
Status Deeds::enqueue_member(CallOptions& call) {
  WQ_TRY(ensure_queue(call));
  if (batch_code(batch_) != Code::ok || batch_ == 0) {
    model::Batch batch;
    batch.has_complete = batch.has_failure = true;
    batch.on_complete.queue = batch.on_failure.queue = "deeds";
    batch.on_complete.payload = "all done";
    batch.on_failure.payload = "not all done";
    const model::EngineNext complete(batch.on_complete);
    const model::EngineNext failure(batch.on_failure);
    BatchSpec spec;
    spec.on_complete = &complete.next;
    spec.on_failure = &failure.next;
    WQ_TRY_SET(batch_, engine().batch_create(spec, call));
    batch.created_ms = now().wall_ms;
    acknowledged(call, Durability::power);
    changed(call.lsn, [id = batch_, batch](Model& model) { model.create_batch(id, batch); });
    call.lsn = 0;
  }
  model::Spec spec;
  spec.payload = "member " + std::to_string(++numbered_);
  spec.priority = 7;
  spec.flow.batch = batch_;
  return enqueue_spec(spec, call);
}

Status Deeds::seal(CallOptions& call) {
  WQ_TRY(engine().batch_seal(batch_, call));
  if (call.lsn == 0) return {};
  acknowledged(call, Durability::power);
  changed(call.lsn, [id = batch_, at = now()](Model& model) { model.seal_batch(id, at); });
  return {};
}

Status Deeds::write_row(CallOptions& call) {
  KvPut put;
  const std::string value = "row " + std::to_string(++numbered_);
  put.value = value;
  put.ttl_ms = key_ms;
  WQ_TRY(engine().kv_put("a row", put, call));
  acknowledged(call, Durability::power);
  const model::KvRow row{value, call.lsn, now().wall_ms + key_ms};
  changed(call.lsn, [row](Model& model) { model.kv["a row"] = row; });
  return {};
}

// "Ack this, enqueue that, remember it."
Status Deeds::transact(CallOptions& call) {
  const Known token = held();
  model::Spec spec;
  spec.payload = "of a transaction " + std::to_string(++numbered_);
  const model::EngineSpec given(spec);
  model::Settlement ack;
  ack.id = token.id;
  ack.generation = token.generation;
  std::vector<TxnOp> ops(3);
  ops[0].kind = TxnOp::Kind::settle;
  ops[0].queue = queue_;
  ops[0].settle = to_item(ack);
  ops[1].kind = TxnOp::Kind::enqueue;
  ops[1].queue = queue_;
  ops[1].spec = given.spec;
  ops[2].kind = TxnOp::Kind::kv;
  ops[2].kv.key = "last transaction";
  ops[2].kv.value = spec.payload;
  std::vector<TxnResult> results(ops.size());
  size_t failed = 0;
  const Status status = engine().transact(ops, call, results, failed);
  if (!status.ok()) return status;
  const JobId id = results[1].job_id;
  if (const std::string wrong = new_job(queue_, id, spec); !wrong.empty()) return differs(wrong);
  acknowledged(call, Durability::power);
  changed(call.lsn, [queue = queue_, id, spec, ack, lsn = call.lsn, at = now()](Model& model) {
    model.enqueue(queue, id, spec, at);
    model.settle(queue, ack, at);
    model.kv["last transaction"] = model::KvRow{spec.payload, lsn, 0};
  });
  return {};
}

Status Deeds::schedule(CallOptions& call) {
  WQ_TRY(ensure_queue(call));
  CronSpec spec;
  spec.expression = "@every 1s";
  spec.job.payload = as_bytes(std::string_view("a slot"));
  WQ_TRY(engine().cron_put(queue_, "deeds", spec, call));
  if (call.lsn == 0) return {};  // it was so already
  model::Schedule made;
  made.queue = queue_;
  made.every_ms = slot_ms;
  made.payload = "a slot";
  made.created_ms = now().wall_ms;
  made.next_due_ms = made.slot_after(now().wall_ms);
  acknowledged(call, Durability::power);
  changed(call.lsn, [made](Model& model) { model.schedules["deeds"] = made; });
  return {};
}

}  // namespace wq::sim
