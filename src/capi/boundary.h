// The boundary: nothing thrown crosses it, and wq_error is filled in one place. Each function of
// wq.h that can fail is `return boundary(err, [&]() -> Status {...})` or one of the with_ functions
// of capi_internal.h, which also enter the handle's gate and stop the store after a broken
// invariant. Thread model: free functions.
#pragma once

#include <wq.h>

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/status.h"

namespace wq {

// True if `err` can be written: NULL, or initialised.
bool error_usable(const wq_error* err);
// Tells `status` to the caller; returns its code.
int32_t finish(wq_error* err, const Status& status) noexcept;
int32_t finish(wq_error* err, Code code, std::string_view message) noexcept;
// The status of the exception in flight: no_memory or internal. Called from a catch block only.
Status status_of_exception(bool* broken) noexcept;

inline int32_t finish_ok(wq_error* err) noexcept {
  if (!err) return WQ_OK;
  err->code = WQ_OK;
  err->os_errno = 0;
  err->flags = 0;
  err->offset = 0;
  err->message[0] = '\0';
  return WQ_OK;
}

// `on_broken()` runs after an exception that is not about memory.
template <typename Body, typename OnBroken>
int32_t boundary(wq_error* err, Body&& body, OnBroken&& on_broken) noexcept {
  if (!error_usable(err)) return WQ_E_INVALID;
  try {
    const Status status = std::forward<Body>(body)();
    if (status.ok()) [[likely]]
      return finish_ok(err);
    return finish(err, status);
  } catch (...) {
    bool broken = false;
    const Status status = status_of_exception(&broken);
    if (broken) on_broken(status);
    return finish(err, status);
  }
}

template <typename Body>
int32_t boundary(wq_error* err, Body&& body) noexcept {
  return boundary(err, std::forward<Body>(body), [](const Status&) {});
}

}  // namespace wq
