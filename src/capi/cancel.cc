// Cancel tokens. Firing takes locks (the waiters sleep on the engine's mutex), so it is not for
// signal handlers. Lock order: Interrupts, CancelToken, engine.
#include "capi/capi_internal.h"

extern "C" {

int32_t wq_cancel_new(wq_cancel** cancel, wq_error* err) {
  if (cancel) *cancel = nullptr;
  return wq::boundary(err, [&]() -> wq::Status {
    if (!cancel) return wq::invalid_field("cancel", "is NULL");
    wq::NewHandle<wq_cancel> handle;
    handle->fired.store(false,
                        std::memory_order_relaxed);  // relaxed: the gate's opening publishes it
    *cancel = handle.release();
    return {};
  });
}

void wq_cancel_fire(wq_cancel* cancel) {
  const wq::Inside<wq_cancel> inside(cancel);
  if (inside.code() != wq::Code::ok) return;
  // release: pairs with the acquire of those who look before and after they began to wait
  if (cancel->fired.exchange(true, std::memory_order_release)) return;
  cancel->interrupts.fire_all();
}

void wq_cancel_free(wq_cancel** cancel) {
  wq_cancel* closing = wq::begin_close(cancel);
  if (!closing) return;
  closing->gate.wait_empty();
  wq::handle_pool<wq_cancel>().put(closing);
}

}  // extern "C"
