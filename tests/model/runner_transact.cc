// The runner's transactions: enqueues, settles and kv rows in one record, or nothing at all.
#include <deque>

#include "model/engine_spec.h"
#include "model/runner_internal.h"

namespace wq::model {

// All that one transaction asks for, and what has been judged of it.
struct Runner::TxnPlan {
  struct Asked {
    QueueId queue = 0;
    Spec spec;
    Known token;
    Settlement settlement;
    KvAsked kv;
    KvAnswer answer;
  };
  TxnPlan(const Model& model, Now now) : keys(model, now) {}

  std::deque<Asked> asked;
  std::deque<EngineSpec> given;
  std::vector<TxnOp> ops;
  KeyPlan keys;
  std::map<QueueId, Intake> intakes;
  std::set<JobId> settled;
  std::optional<Holder> holder;
  bool writes = false;
};

void Runner::plan_transaction(Prng& dice, TxnPlan& plan) {
  std::set<std::string> named;
  const size_t count = 1 + dice.below(5);
  for (size_t i = 0; i < count; ++i) {
    TxnPlan::Asked asked;
    TxnOp op;
    op.kind = static_cast<TxnOp::Kind>(1 + dice.below(3));
    if (op.kind == TxnOp::Kind::kv) {
      constexpr KvVerb verbs[] = {KvVerb::put, KvVerb::add, KvVerb::erase, KvVerb::check};
      asked.kv = any_kv(dice, verbs[dice.below(4)]);
      if (dice.below(2) == 0 && asked.kv.verb != KvVerb::check) asked.kv.condition = 0;
      if (!named.insert(asked.kv.key).second) continue;
    } else {
      asked.queue = any_queue(dice);
    }
    if (op.kind == TxnOp::Kind::enqueue) asked.spec = random_spec(dice, live_.find(asked.queue));
    if (op.kind == TxnOp::Kind::settle) {
      asked.token = any_token(asked.queue, dice);
      asked.settlement = random_settlement(dice, asked.token);
    }
    op.queue = asked.queue;
    plan.asked.push_back(std::move(asked));
    plan.ops.push_back(op);
  }
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    TxnOp& op = plan.ops[i];
    if (op.kind == TxnOp::Kind::enqueue) {
      op.spec = plan.given.emplace_back(plan.asked[i].spec).spec;
    } else if (op.kind == TxnOp::Kind::settle) {
      op.settle = to_item(plan.asked[i].settlement);
    } else {
      op.kv = plan.asked[i].kv.write();
    }
  }
}

// Each operation is judged by the state before the first; only keys meet those of the operations
// before, and not one whose holder an operation before acks.
Code Runner::txn_code(TxnPlan& plan, size_t i) {
  TxnPlan::Asked& asked = plan.asked[i];
  const Queue* queue = live_.find(asked.queue);
  switch (plan.ops[i].kind) {
    case TxnOp::Kind::enqueue: {
      if (!queue) return Code::not_found;
      if (queue->config.status == QueueStatus::disabled) return Code::disabled;
      if (chain_code(asked.spec) != Code::ok) return Code::not_found;
      if (const Code code = batch_code(asked.spec.flow.batch); code != Code::ok) return code;
      plan.holder = plan.keys.place(asked.queue, asked.spec.keys, i);
      if (plan.holder) return Code::duplicate;
      if (const Code code = txn_room(plan, i); code != Code::ok) return code;
      plan.writes = true;
      return Code::ok;
    }
    case TxnOp::Kind::settle: {
      if (!queue) return Code::not_found;
      const Code code = expected_code(asked.queue, asked.token);
      if (code != Code::ok) return code;
      if (!plan.settled.insert(asked.token.id).second) return Code::stale;
      if (asked.settlement.kind == Settle::ack) plan.keys.end(asked.token.id);
      plan.writes = true;
      return Code::ok;
    }
    default:
      asked.answer = expected_kv(asked.kv, true);
      plan.writes |= asked.answer.writes;
      return asked.answer.code;
  }
}

// A transaction drops no job, whatever the queue does when it is full.
Code Runner::txn_room(TxnPlan& plan, size_t i) {
  const TxnPlan::Asked& asked = plan.asked[i];
  const Queue& queue = *live_.find(asked.queue);
  const bool sized = counts_bytes(queue);
  Intake& in = plan.intakes[asked.queue];
  in.add(sized ? size_of(asked.spec) : 0);
  if (const std::optional<Holder>& before = plan.keys.replaced(); before && !before->fresh) {
    in.replaced.insert(before->id);
  } else if (before) {
    --in.jobs;
    in.bytes -= sized ? size_of(plan.asked[before->index].spec) : 0;
  }
  if (is_over_quota(plan.intakes)) {
    note_rare(Rare::txn_met_quota);
    return Code::full;
  }
  std::vector<JobId> dropped;
  Code code = live_.admit(queue, in, sizes_, &dropped);
  if (!dropped.empty()) code = Code::full;
  if (code != Code::ok) note_rare(Rare::txn_met_full_queue);
  return code;
}

std::string Runner::transact(Prng& dice) {
  TxnPlan plan(live_, now());
  plan_transaction(dice, plan);
  if (plan.ops.empty()) return {};
  for (const TxnPlan::Asked& asked : plan.asked) {
    WQ_SAME_OR_SAY(learn_keys(asked.queue, asked.spec.keys));
    WQ_SAME_OR_SAY(learn_batch(asked.spec.flow.batch));
    learn_sizes(asked.queue);
    if (!asked.kv.key.empty()) WQ_SAME_OR_SAY(learn_row(asked.kv.key));
  }
  size_t refused = 0;
  Code expected = Code::ok;
  for (; refused < plan.ops.size(); ++refused) {
    if (expected = txn_code(plan, refused); expected != Code::ok) break;
  }
  std::vector<TxnResult> results(plan.ops.size());
  size_t failed = 0;
  CallOptions call = make_call(dice);
  const Lsn before = last_lsn();
  const Status status = engine().transact(plan.ops, call, results, failed);
  const bool settles = refused < plan.ops.size() && plan.ops[refused].kind == TxnOp::Kind::settle;
  const bool same = status.code() == expected ||
                    (settles && same_code(plan.ops[refused].queue, plan.asked[refused].token,
                                          status.code(), expected));
  if (!same) return wrong_code("transact: " + status.message(), status.code(), expected);
  WQ_SAME("transact: refused operation", failed, refused);
  if (expected != Code::ok) {
    note_rare(Rare::txn_refused);
    if (plan.holder && !plan.holder->fresh) {
      WQ_SAME("transact: holder", results[refused].job_id, plan.holder->id);
    }
    return expect_written(before, 0);
  }
  if (!plan.writes) return expect_written(before, 0);
  WQ_SAME_OR_SAY(commit_transaction(plan, call, results));
  return expect_written(before, 1);
}

// The new jobs come first, then what is settled, then the rows.
std::string Runner::commit_transaction(TxnPlan& plan, const CallOptions& call,
                                       std::span<const TxnResult> results) {
  note_rare(Rare::txn_done);
  Durability level = Durability::memory;
  JobId last = 0;
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    const bool in_queue = plan.ops[i].kind != TxnOp::Kind::kv;
    if (in_queue) level = std::max(level, live_.find(plan.ops[i].queue)->config.durability);
    if (plan.asked[i].answer.writes) level = Durability::power;
    if (plan.ops[i].kind == TxnOp::Kind::kv && plan.asked[i].kv.verb == KvVerb::add) {
      WQ_SAME("transact: sum", results[i].sum, plan.asked[i].answer.sum);
    }
    if (plan.ops[i].kind != TxnOp::Kind::enqueue) continue;
    last = results[i].job_id;
    WQ_SAME_OR_SAY(new_job(plan.ops[i].queue, last, plan.asked[i].spec));
    if (!plan.settled.empty() && plan.asked[i].spec.keys.any()) note_rare(Rare::txn_freed_a_key);
  }
  acknowledged(call, level);
  std::vector<JobId> ids;
  std::vector<TxnOp::Kind> kinds;
  for (size_t i = 0; i < plan.ops.size(); ++i) {
    ids.push_back(results[i].job_id);
    kinds.push_back(plan.ops[i].kind);
  }
  changed(call.lsn, [asked = plan.asked, ids, kinds, last, lsn = call.lsn,
                     at = now()](Model& model) {
    if (last != 0) model.reserve(last);
    for (size_t i = 0; i < asked.size(); ++i) {
      if (kinds[i] == TxnOp::Kind::enqueue) model.join(asked[i].spec);
    }
    for (const TxnOp::Kind kind : {TxnOp::Kind::enqueue, TxnOp::Kind::settle, TxnOp::Kind::kv}) {
      for (size_t i = 0; i < asked.size(); ++i) {
        if (kinds[i] != kind) continue;
        const TxnPlan::Asked& each = asked[i];
        if (kind == TxnOp::Kind::enqueue) model.enqueue_joined(each.queue, ids[i], each.spec, at);
        if (kind == TxnOp::Kind::settle) model.settle(each.queue, each.settlement, at);
        if (kind == TxnOp::Kind::kv) write_kv(model, each.kv, each.answer, lsn);
      }
    }
  });
  return {};
}

}  // namespace wq::model
