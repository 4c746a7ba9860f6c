// wq/transact.hpp: several operations in one change, all or none. Thread model: a Transaction is
// put together by one thread at a time.
#pragma once

#include "kv.hpp"
#include "queue.hpp"

namespace wq {
inline namespace hpp1 {

// `failed`: index of the operation that was refused, or the number of them if it was none.
struct TransactReport {
  Result<Outcome> result = Outcome::ok;
  std::size_t failed = 0;
  std::vector<wq_txn_result> results = {};  // one per operation: job_id of enqueues, sum of adds
};

// Operations in the order in which they are added. Bytes and queues are borrowed until
// Store::transact has returned.
class Transaction {
 public:
  Transaction& enqueue(const Queue& queue, Bytes payload, const JobOptions& options = {}) {
    wq_txn_op& op = add(WQ_TXN_ENQUEUE, queue.handle());
    op.spec = &job_specs_.emplace_back(specs_.make(payload, options));
    return *this;
  }
  Transaction& settle(const Queue& queue, const Settle& settle) {
    wq_txn_op& op = add(WQ_TXN_SETTLE, queue.handle());
    op.settle = &settles_.emplace_back(settle.raw());
    return *this;
  }
  Transaction& kv_put(Bytes key, Bytes value, const KvOptions& options = {}) {
    add_kv(WQ_TXN_KV_PUT, key, options).value = value.raw();
    return *this;
  }
  Transaction& kv_add(Bytes key, std::int64_t delta, const KvOptions& options = {}) {
    add_kv(WQ_TXN_KV_ADD, key, options).delta = delta;
    return *this;
  }
  Transaction& kv_erase(Bytes key, const KvOptions& options = {}) {
    add_kv(WQ_TXN_KV_ERASE, key, options);
    return *this;
  }
  // Changes nothing: the transaction happens only while the condition holds.
  Transaction& kv_check(Bytes key, const KvOptions& options) {
    add_kv(WQ_TXN_KV_CHECK, key, options);
    return *this;
  }
  std::size_t size() const { return ops_.size(); }

  TransactReport run(const detail::StorePtr& store, const Call& call) const {
    TransactReport report;
    report.failed = ops_.size();
    for (std::size_t i = 0; i < ops_.size(); i++) {
      if (queues_[i] && !(ops_[i].queue = queues_[i]->raw.load())) {
        report.failed = i;
        report.result = Error(Errc::closed, "the queue of an operation is closed");
        return report;
      }
    }
    report.results.assign(ops_.size(), wq_txn_result WQ_TXN_RESULT_INIT);
    report.result = detail::change_store(store, call, [&](wq_store* raw, wq_call* c, wq_error* e) {
      return wq_transact(raw, ops_.data(), ops_.size(), sizeof(wq_txn_op), c, report.results.data(),
                         sizeof(wq_txn_result), &report.failed, e);
    });
    return report;
  }

 private:
  wq_txn_op& add(std::uint32_t kind, detail::QueuePtr queue) {
    wq_txn_op& op = ops_.emplace_back(wq_txn_op WQ_TXN_OP_INIT);
    op.kind = kind;
    queues_.push_back(std::move(queue));
    return op;
  }
  wq_txn_op& add_kv(std::uint32_t kind, Bytes key, const KvOptions& options) {
    wq_txn_op& op = add(kind, nullptr);
    op.key = key.raw();
    op.options = &kv_options_.emplace_back(detail::to_raw(options));
    return op;
  }

  mutable std::vector<wq_txn_op> ops_;  // the queues in them are filled in by run()
  std::vector<detail::QueuePtr> queues_;
  detail::SpecArray specs_;
  std::list<wq_job_spec> job_specs_;
  std::list<wq_settle_item> settles_;
  std::list<wq_kv_options> kv_options_;
};

}  // namespace hpp1
}  // namespace wq
