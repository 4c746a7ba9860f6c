// Status: the checked result of everything that can fail or can end in an expected other way.
// A code below zero is an error, zero is ok, above zero an outcome. Detail (where, errno, offset)
// is built once, at the lowest layer that knows it, and never reworded upward. The ok and outcome
// paths never allocate. Making and copying a Status never throws: short of memory it loses the
// detail, never the code. Only putting a text together may throw; see status_with_text().
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace wq {

enum class Code : int32_t {
#define X(name, value, kind, text) name = (value),
#include "base/errors.def"
#undef X
};

enum class CodeClass : uint8_t { outcome, usage, state, limit, storage, internal };

const char* code_name(Code code);  // "STALE"; a generic name for a value that is not in the table
const char* code_text(Code code);  // one line of English, never null
CodeClass code_class(Code code);
bool code_known(int32_t value);

struct StatusDetail {
  std::string message;  // one line: what, where, what to do
  int os_errno = 0;     // 0 = none
  uint64_t offset = 0;  // byte offset in the file that `message` names, if any
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code) : code_(code) {}  // NOLINT(google-explicit-constructor): `return Code::stale;`
  Status(Code code, std::string message, int os_errno = 0, uint64_t offset = 0) noexcept
      : code_(code),
        detail_(new (std::nothrow) StatusDetail{std::move(message), os_errno, offset}) {}

  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  Status(const Status& other) noexcept : code_(other.code_) {
    if (!other.detail_) return;
    try {
      detail_ = std::make_unique<StatusDetail>(*other.detail_);
    } catch (const std::bad_alloc&) {
      // the code alone has to do
    }
  }
  Status& operator=(const Status& other) noexcept {
    if (this != &other) *this = Status(other);
    return *this;
  }

  bool ok() const { return code_ == Code::ok; }
  bool is_error() const { return static_cast<int32_t>(code_) < 0; }
  Code code() const { return code_; }
  int os_errno() const { return detail_ ? detail_->os_errno : 0; }
  uint64_t offset() const { return detail_ ? detail_->offset : 0; }
  std::string message() const { return std::string(text()); }
  std::string_view text() const noexcept {
    return detail_ ? std::string_view(detail_->message) : std::string_view(code_text(code_));
  }
  const StatusDetail* detail() const { return detail_.get(); }  // null: nothing but the code

  // Drops a status on purpose; the reason stands in the source.
  void ignore(const char* /*reason*/) const {}

 private:
  Code code_ = Code::ok;
  std::unique_ptr<StatusDetail> detail_;
};

// For failures that must be told whatever happens, after a change was logged for one: a text that
// there is no memory for is left out.
template <typename Text>
Status status_with_text(Code code, Text&& text, int os_errno = 0, uint64_t offset = 0) noexcept {
  try {
    return Status(code, std::forward<Text>(text)(), os_errno, offset);
  } catch (const std::bad_alloc&) {
    return code;
  }
}

// What `body` answers; what it throws becomes a status, no_memory or internal. For threads of ours,
// and where something has to be done whatever happened before.
template <typename Body>
Status caught(Body&& body) noexcept {
  try {
    return std::forward<Body>(body)();
  } catch (const std::bad_alloc&) {
    return Code::no_memory;
  } catch (const std::exception& error) {
    return status_with_text(Code::internal, [&] { return std::string(error.what()); });
  }
}

// "log/0001.seg: pwrite: No space left on device": ENOSPC and EDQUOT become no_space, ENOMEM
// no_memory.
Status status_from_errno(int os_errno, const std::string& where, const char* operation,
                         uint64_t offset = 0);

}  // namespace wq

#define WQ_TRY(expr)                                                     \
  do {                                                                   \
    if (::wq::Status wq_try_s = (expr); !wq_try_s.ok()) return wq_try_s; \
  } while (0)
