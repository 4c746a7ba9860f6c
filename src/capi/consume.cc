// Consume: lease from one or more queues, with a wait that closing and cancelling can end.
#include <algorithm>
#include <array>

#include "capi/batch.h"
#include "capi/capi_internal.h"

namespace wq {
namespace {

// The queue handles of one lease, entered for as long as this object lives.
class LeaseQueues {
 public:
  LeaseQueues() = default;
  ~LeaseQueues() {
    for (size_t i = 0; i < entered_; i++) handles_[i]->gate.leave();
  }
  LeaseQueues(const LeaseQueues&) = delete;
  LeaseQueues& operator=(const LeaseQueues&) = delete;

  Status enter(wq_queue* const* queues, size_t n, const StoreCore* core) {
    if (!queues) return invalid_field("queues", "is NULL");
    if (n == 0) return invalid_field("n_queues", "is 0");
    if (n > queues_per_lease_max) {
      return Status(Code::too_large, "n_queues is " + std::to_string(n) + ", more than 256");
    }
    handles_ = queues;
    for (size_t i = 0; i < n; i++) WQ_TRY(enter_one(queues[i], core));
    return {};
  }

  std::span<const QueueId> ids() const { return {ids_.data(), entered_}; }
  size_t count() const { return entered_; }
  wq_queue* operator[](size_t i) const { return handles_[i]; }
  bool any_closed() const {
    for (size_t i = 0; i < entered_; i++) {
      if (handles_[i]->gate.is_shut()) return true;
    }
    return false;
  }

 private:
  Status enter_one(wq_queue* queue, const StoreCore* core) {
    if (!queue || queue->kind != wq_queue::own_kind) return refused(Code::invalid);
    if (!queue->gate.enter()) return refused(Code::closed);
    const size_t place = entered_++;  // it is left by the destructor from here on
    if (!same_process(queue->epoch)) return refused(Code::forked);
    if (queue->core != core) return invalid_field("queues", "has a queue of another store");
    const auto begin = ids_.begin();
    const auto end = begin + static_cast<std::ptrdiff_t>(place);
    if (std::find(begin, end, queue->id) != end) {
      return invalid_field("queues", "has the same queue twice");
    }
    ids_[place] = queue->id;
    return {};
  }
  static Status refused(Code code) { return handle_refused(code, "a handle in queues"); }

  wq_queue* const* handles_ = nullptr;
  size_t entered_ = 0;
  std::array<QueueId, queues_per_lease_max> ids_;
};

// A wait that can be ended through any of the handles that the lease was given.
class InterruptibleWait {
 public:
  InterruptibleWait(const LeaseQueues& queues, wq_cancel* cancel, wq_cq* cq)
      : queues_(queues), cancel_(cancel), cq_(cq) {}
  // Apart from the constructor, so that the destructor also undoes half of it.
  void arm() {
    for (size_t i = 0; i < queues_.count(); i++) queues_[i]->interrupts.add(&token_);
    if (cancel_) cancel_->interrupts.add(&token_);
    if (cq_) cq_->interrupts.add(&token_);
  }
  ~InterruptibleWait() {
    for (size_t i = 0; i < queues_.count(); i++) queues_[i]->interrupts.remove(&token_);
    if (cancel_) cancel_->interrupts.remove(&token_);
    if (cq_) cq_->interrupts.remove(&token_);
  }
  InterruptibleWait(const InterruptibleWait&) = delete;
  InterruptibleWait& operator=(const InterruptibleWait&) = delete;

  CancelToken* token() { return &token_; }
  // Why the wait has to end: closed, cancelled, or ok if it has not.
  Code reason() const {
    if (queues_.any_closed() || (cq_ && cq_->gate.is_shut())) return Code::closed;
    // acquire: pairs with the release in wq_cancel_fire
    if (cancel_ && cancel_->fired.load(std::memory_order_acquire)) return Code::cancelled;
    return Code::ok;
  }

 private:
  const LeaseQueues& queues_;
  wq_cancel* const cancel_;
  wq_cq* const cq_;
  CancelToken token_;
};

Status read_lease_options(const wq_lease_options* given, LeaseRequest& out) {
  SizedIn<wq_lease_options> in;
  WQ_TRY(in.read(given, "options"));
  if (in->flags != 0) return unknown_bits("options.flags", in->flags);
  if (in->reserved_0 != 0) return unknown_bits("options.reserved_0", in->reserved_0);
  if (in->max_jobs != 0) out.max_jobs = in->max_jobs;
  out.wait_ms = in->wait_ms;
  out.lease_ms = in->lease_ms;
  return {};
}

bool may_wait(const Status& status) {
  return !status.ok() && !status.is_error();
}

// Without waiting first: what is there costs no bookkeeping for a wait that does not happen.
Status lease_or_wait(Engine& engine, LeaseRequest request, const LeaseQueues& queues,
                     wq_cancel* cancel, Call& how, std::vector<JobView>& jobs) {
  if (request.wait_ms < -1) return invalid_field("wait_ms", "is below -1");
  if (cancel && cancel->fired.load(std::memory_order_acquire)) return Code::cancelled;
  const int64_t wait_ms = std::exchange(request.wait_ms, 0);
  Status status = engine.lease(request, how.options(), jobs);
  if (wait_ms == 0 || !may_wait(status)) return status;

  InterruptibleWait wait(queues, cancel, how.cq());
  wait.arm();
  // After the tokens are in place: whoever closed or fired before that is seen here.
  if (const Code reason = wait.reason(); reason != Code::ok) return reason;
  request.wait_ms = wait_ms;
  request.cancel = wait.token();
  status = engine.lease(request, how.options(), jobs);
  if (status.code() == Code::cancelled) return wait.reason();
  return status;
}

Status lease(Engine& engine, StoreCore* core, wq_queue* const* queues, size_t n_queues,
             const wq_lease_options* options, wq_cancel* cancel, wq_call* call, wq_batch** batch) {
  if (!batch) return invalid_field("batch", "is NULL");
  Call how;
  WQ_TRY(how.open(call, core));
  LeaseRequest request;
  WQ_TRY(read_lease_options(options, request));
  LeaseQueues entered;
  WQ_TRY(entered.enter(queues, n_queues, core));
  Inside<wq_cancel> inside_cancel;
  if (cancel && inside_cancel.enter(cancel) != Code::ok) {
    return handle_refused(inside_cancel.code(), "cancel");
  }
  request.queues = entered.ids();

  NewHandle<wq_batch> made;
  // Before the lease: what is leased must reach the caller, also when memory is short.
  if (made->queue_names.size() < n_queues) made->queue_names.resize(n_queues);
  for (size_t i = 0; i < n_queues; i++) made->queue_names[i] = entered[i]->name;
  WQ_TRY(lease_or_wait(engine, request, entered, cancel, how, made->jobs));
  *batch = made.release();
  return {};
}

}  // namespace
}  // namespace wq

extern "C" {

int32_t wq_lease(wq_store* store, wq_queue* const* queues, size_t n_queues,
                 const wq_lease_options* options, wq_cancel* cancel, wq_call* call,
                 wq_batch** batch, wq_error* err) {
  if (batch) *batch = nullptr;
  return wq::with_handle(store, err, [&](wq::Engine& engine) {
    return wq::lease(engine, store->core, queues, n_queues, options, cancel, call, batch);
  });
}

}  // extern "C"
