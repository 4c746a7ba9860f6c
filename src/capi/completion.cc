// Completion queues: their handles, polling, the eventfd.
#include <algorithm>

#include "base/clock.h"
#include "capi/capi_internal.h"

namespace wq {
namespace {

constexpr int64_t ns_per_ms = 1'000'000;
constexpr size_t events_per_round = 64;

// What is left of a wait, by the monotonic clock; -1 stays for ever.
class Deadline {
 public:
  explicit Deadline(int64_t timeout_ms)
      : for_ever_(timeout_ms < 0 || timeout_ms > INT64_MAX / ns_per_ms / 2),
        end_ns_(for_ever_ || timeout_ms == 0 ? 0
                                             : system_clock().mono_ns() + timeout_ms * ns_per_ms) {}
  int64_t left_ms() const {
    if (for_ever_) return -1;
    if (end_ns_ == 0) return 0;
    const int64_t left_ns = end_ns_ - system_clock().mono_ns();
    return left_ns <= 0 ? 0 : (left_ns + ns_per_ms - 1) / ns_per_ms;
  }

 private:
  const bool for_ever_;
  const int64_t end_ns_;
};

Status poll_events(CompletionQueue& queue, wq_event* events, size_t n, size_t stride,
                   int64_t timeout_ms, size_t* count) {
  if (!count) return invalid_field("count", "is NULL");
  if (!events || n == 0) return invalid_field("events", "is NULL or n is 0");
  WQ_TRY(check_stride<wq_event>(stride, "event_size"));
  if (timeout_ms < -1) return invalid_field("timeout_ms", "is below -1");
  Completion found[events_per_round];
  const Deadline deadline(timeout_ms);
  while (*count < n) {
    const int64_t wait_ms = *count == 0 ? deadline.left_ms() : 0;
    const size_t room = std::min(n - *count, events_per_round);
    Result<size_t> taken = queue.poll({found, room}, wait_ms);
    if (!taken.ok()) {
      if (*count > 0) return {};
      return taken.take_status();
    }
    for (size_t i = 0; i < taken.value(); i++) {
      wq_event told{};
      told.code = static_cast<int32_t>(found[i].code);
      told.user_data = found[i].user_data;
      told.lsn = found[i].lsn;
      auto* place = reinterpret_cast<char*>(events) + (*count + i) * stride;
      write_struct(reinterpret_cast<wq_event*>(place), stride, told);
    }
    *count += taken.value();
    // Nothing there: the time is up, or a wake-up came for nothing and there is time left to wait.
    if (taken.value() < room && (*count > 0 || wait_ms == 0)) break;
  }
  return *count > 0 ? Code::ok : Code::empty;
}

}  // namespace
}  // namespace wq

extern "C" {

int32_t wq_cq_open(wq_store* store, wq_cq** cq, wq_error* err) {
  if (cq) *cq = nullptr;
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    if (!cq) return wq::invalid_field("cq", "is NULL");
    wq::NewHandle<wq_cq> handle;
    WQ_TRY_SET(auto queue, engine.open_completion());
    handle->queue = std::move(queue);
    wq::hold(store->core);
    handle->core = store->core;
    *cq = handle.release();
    return {};
  });
}

void wq_cq_close(wq_cq** cq) {
  wq_cq* closing = wq::begin_close(cq);
  if (!closing) return;
  closing->interrupts.fire_all();
  closing->queue->on_closed();
  closing->gate.wait_empty();
  closing->queue.reset();
  wq::drop(std::exchange(closing->core, nullptr));
  wq::handle_pool<wq_cq>().put(closing);
}

int32_t wq_cq_poll(wq_cq* cq, wq_event* events, size_t n, size_t event_size, int64_t timeout_ms,
                   size_t* count, wq_error* err) {
  if (count) *count = 0;
  return wq::with_handle(cq, err, [&](wq::Engine&) {
    return wq::poll_events(*cq->queue, events, n, event_size, timeout_ms, count);
  });
}

int32_t wq_cq_eventfd(wq_cq* cq) {
  int32_t fd = -1;
  const int32_t code = wq::with_handle(cq, nullptr, [&](wq::Engine&) -> wq::Status {
    WQ_TRY_SET(fd, cq->queue->event_fd());
    return {};
  });
  return code == WQ_OK ? fd : code;
}

}  // extern "C"
