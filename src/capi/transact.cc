// Transactions: an array of operations, each with the struct that the single call takes.
#include <deque>

#include "capi/capi_internal.h"
#include "capi/specs.h"
#include "engine/admit.h"

namespace wq {
namespace {

// What is read of the caller's array, and what the engine's operations borrow.
class ReadOps {
 public:
  explicit ReadOps(const wq_store& store) : store_(store) {}

  // `failed` is the operation that can not be read.
  Status read(const wq_txn_op* array, size_t n, size_t stride, size_t& failed) {
    ops_.resize(n);
    queues_ = std::vector<Inside<wq_queue>>(n);
    for (size_t i = 0; i < n; ++i) {
      SizedIn<wq_txn_op> in;
      Status status = in.read_element(array, i, stride, "op");
      if (status.ok()) status = read_op(*in, i);
      if (!status.ok()) {
        failed = i;
        return Status(status.code(), "ops[" + std::to_string(i) + "]: " + status.message());
      }
    }
    return {};
  }
  std::span<const TxnOp> ops() const { return ops_; }

 private:
  Status read_op(const wq_txn_op& in, size_t i) {
    if (in.kind < WQ_TXN_ENQUEUE || in.kind > WQ_TXN_KV_CHECK) {
      return Status(Code::unsupported, "kind is not known to this library");
    }
    const bool is_kv = in.kind >= WQ_TXN_KV_PUT;
    const auto strange = [](const char* field) {
      return invalid_field(field, "does not belong to its kind");
    };
    if (is_kv == (in.queue != nullptr)) {
      return is_kv ? strange("queue") : invalid_field("queue", "is NULL");
    }
    if (in.spec && in.kind != WQ_TXN_ENQUEUE) return strange("spec");
    if (in.settle && in.kind != WQ_TXN_SETTLE) return strange("settle");
    if (in.value.len != 0 && in.kind != WQ_TXN_KV_PUT) return strange("value");
    if (in.delta != 0 && in.kind != WQ_TXN_KV_ADD) return strange("delta");
    if (is_kv) return read_row(in, ops_[i]);
    if (in.key.len != 0) return strange("key");
    if (in.options) return strange("options");
    return read_job(in, i);
  }

  Status read_row(const wq_txn_op& in, TxnOp& out) const {
    constexpr KvVerb verbs[] = {KvVerb::put, KvVerb::add, KvVerb::erase, KvVerb::check};
    out.kind = TxnOp::Kind::kv;
    out.kv.verb = verbs[in.kind - WQ_TXN_KV_PUT];
    WQ_TRY(read_kv(in.key.data, in.key.len, in.options, out.kv));
    Bytes value;
    WQ_TRY(read_bytes(in.value.data, in.value.len, "value", value));
    out.kv.value = as_text(value);
    out.kv.delta = in.delta;
    return {};
  }

  Status read_job(const wq_txn_op& in, size_t i) {
    TxnOp& out = ops_[i];
    if (const Code code = queues_[i].enter(in.queue); code != Code::ok) {
      return handle_refused(code, wq_queue::own_name);
    }
    if (queues_[i]->core != store_.core) return invalid_field("queue", "belongs to another store");
    out.queue = queues_[i]->id;
    if (in.kind == WQ_TXN_SETTLE) {
      out.kind = TxnOp::Kind::settle;
      if (!in.settle) return invalid_field("settle", "is NULL");
      SizedIn<wq_settle_item> item;
      WQ_TRY(item.read(in.settle, "settle"));
      return read_item(*item, out.settle);
    }
    if (!in.spec) return invalid_field("spec", "is NULL");
    SizedIn<wq_job_spec> spec;
    WQ_TRY(spec.read(in.spec, "spec"));
    if (parts_.empty() || !parts_.back().empty()) parts_.emplace_back();
    return read_spec(*spec, parts_.back(), out.spec);
  }

  const wq_store& store_;
  std::vector<TxnOp> ops_;
  std::vector<Inside<wq_queue>> queues_;  // held open until the call is over
  std::deque<SpecParts> parts_;           // of the specs that borrow more than bytes
};

struct TxnOut {
  wq_txn_result* array;
  size_t stride;

  Status check() const {
    return array ? check_stride<wq_txn_result>(stride, "result_size") : Status();
  }
  void tell(size_t i, Code code, const TxnResult& result) const {
    if (!array) return;
    wq_txn_result told{};
    told.code = static_cast<int32_t>(code);
    told.job_id = result.job_id;
    told.sum = result.sum;
    auto* place = reinterpret_cast<wq_txn_result*>(reinterpret_cast<char*>(array) + i * stride);
    write_struct(place, stride, told);
  }
};

Status transact(Engine& engine, const wq_store& store, const wq_txn_op* ops, size_t n,
                size_t op_size, wq_call* call, const TxnOut& out, size_t* failed) {
  WQ_TRY(check_array(ops, n, "ops"));
  WQ_TRY(check_stride<wq_txn_op>(op_size, "op_size"));
  WQ_TRY(out.check());
  Call how;
  WQ_TRY(how.open(call, store.core));
  std::vector<TxnResult> results(n);
  size_t refused = n;
  ReadOps read(store);
  Status status = read.read(ops, n, op_size, refused);
  if (status.ok()) status = engine.transact(read.ops(), how.options(), results, refused);
  for (size_t i = 0; i < n; ++i) out.tell(i, status.code(), results[i]);
  if (failed) *failed = status.ok() ? n : refused;
  return status;
}

}  // namespace
}  // namespace wq

extern "C" int32_t wq_transact(wq_store* store, const wq_txn_op* ops, size_t n, size_t op_size,
                               wq_call* call, wq_txn_result* results, size_t result_size,
                               size_t* failed, wq_error* err) {
  if (failed) *failed = n;
  return wq::with_handle(store, err, [&](wq::Engine& engine) {
    return wq::transact(engine, *store, ops, n, op_size, call, {results, result_size}, failed);
  });
}
