// Result<T>: a value, or the Status that says why there is none.
#pragma once

#include <optional>
#include <utility>

#include "base/check.h"
#include "base/status.h"

namespace wq {

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    WQ_CHECK(!status_.ok());
  }
  Result(Code code) : Result(Status(code)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  Status take_status() { return std::move(status_); }
  T& value() & {
    WQ_CHECK(value_.has_value());
    return *value_;
  }
  const T& value() const& {
    WQ_CHECK(value_.has_value());
    return *value_;
  }
  T&& value() && {
    WQ_CHECK(value_.has_value());
    return std::move(*value_);
  }
  T* operator->() { return &value(); }
  T& operator*() & { return value(); }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace wq

#define WQ_CONCAT_(a, b) a##b
#define WQ_CONCAT(a, b) WQ_CONCAT_(a, b)
// WQ_TRY_SET(const Lsn lsn, log.append(body)); declares lsn, or returns the failure.
#define WQ_TRY_SET(declaration, expr)                                                              \
  auto WQ_CONCAT(wq_result_, __LINE__) = (expr);                                                   \
  if (!WQ_CONCAT(wq_result_, __LINE__).ok()) return WQ_CONCAT(wq_result_, __LINE__).take_status(); \
  declaration = std::move(WQ_CONCAT(wq_result_, __LINE__)).value()
