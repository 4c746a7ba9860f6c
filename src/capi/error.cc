// Codes, texts and predicates of wq.h, and the one place that fills a wq_error.
#include <algorithm>
#include <cstring>
#include <new>

#include "base/check.h"
#include "base/status.h"
#include "capi/boundary.h"
#include "capi/message.h"
#include "capi/sized.h"

namespace wq {
namespace {

constexpr uint32_t retryable = WQ_ERROR_RETRYABLE;
constexpr uint32_t maybe_committed = WQ_ERROR_MAYBE_COMMITTED;
constexpr uint32_t fatal = WQ_ERROR_FATAL;

uint32_t predicates(int32_t code) {
  switch (code) {
    case WQ_EMPTY:
    case WQ_TIMEOUT:
    case WQ_DUPLICATE:
    case WQ_DISABLED:
    case WQ_PAUSED:
    case WQ_E_LOCKED:
    case WQ_E_NO_SPACE:
    case WQ_E_FULL:
    case WQ_E_NO_MEMORY:
      return retryable;
    case WQ_E_CLOSED:
    case WQ_E_IO:
      return maybe_committed;
    case WQ_E_POISONED:
    case WQ_E_INTERNAL:
      return maybe_committed | fatal;
    default:
      return 0;
  }
}

// "NO_SPACE" from the table's "no_space".
template <size_t N>
struct UpperName {
  char chars[N] = {};
  constexpr explicit UpperName(const char (&name)[N]) {
    for (size_t i = 0; i < N; i++) {
      chars[i] =
          name[i] >= 'a' && name[i] <= 'z' ? static_cast<char>(name[i] - 'a' + 'A') : name[i];
    }
  }
};

void fill(wq_error* err, int32_t code, std::string_view message, int os_errno, uint64_t offset) {
  err->code = code;
  err->os_errno = os_errno;
  err->flags = predicates(code);
  err->offset = offset;
  copy_message(err->message, sizeof err->message, message);
  // What a newer header has behind the fields of this library.
  if (err->struct_size > sizeof *err) {
    std::memset(reinterpret_cast<char*>(err) + sizeof *err, 0, err->struct_size - sizeof *err);
  }
}

}  // namespace

Status bad_struct_size(const char* what, size_t given, size_t smallest) {
  if (given > smallest) {
    return Status(Code::invalid,
                  std::string(what) + ".struct_size is " + std::to_string(given) +
                      ", more than any release has; initialise it with its WQ_..._INIT macro");
  }
  return Status(Code::invalid,
                std::string(what) + ".struct_size is " + std::to_string(given) +
                    ", less than the " + std::to_string(smallest) +
                    " of its first release; initialise it with its WQ_..._INIT macro");
}

Status bad_stride(const char* field, size_t given, size_t smallest) {
  return Status(Code::invalid,
                std::string(field) + " is " + std::to_string(given) +
                    (given > smallest ? ", more than any release has"
                                      : ", less than the " + std::to_string(smallest) +
                                            " of the first release of its struct") +
                    "; pass the sizeof of one element");
}

Status dirty_struct_tail(const char* what) {
  return Status(
      Code::unsupported,
      std::string(what) + " has fields set that this library does not know; use a newer library");
}

bool error_usable(const wq_error* err) {
  return !err || (err->struct_size >= first_release_bytes<wq_error> &&
                  err->struct_size <= struct_bytes_max);
}

int32_t finish(wq_error* err, const Status& status) noexcept {
  const auto code = static_cast<int32_t>(status.code());
  if (!err) return code;
  if (status.ok()) return finish_ok(err);
  if (const StatusDetail* detail = status.detail()) {
    fill(err, code, detail->message, detail->os_errno, detail->offset);
  } else {
    fill(err, code, code_text(status.code()), 0, 0);
  }
  return code;
}

int32_t finish(wq_error* err, Code code, std::string_view message) noexcept {
  if (err) fill(err, static_cast<int32_t>(code), message, 0, 0);
  return static_cast<int32_t>(code);
}

Status status_of_exception(bool* broken) noexcept {
  *broken = true;
  try {
    throw;
  } catch (const std::bad_alloc&) {
    *broken = false;
    return Code::no_memory;
  } catch (const std::exception& e) {
    try {
      return Status(Code::internal, e.what());
    } catch (...) {
      return Code::internal;
    }
  } catch (...) {
    return Code::internal;
  }
}

}  // namespace wq

extern "C" {

const char* wq_strerror(int32_t code) {
  return wq::code_text(static_cast<wq::Code>(code));
}

const char* wq_error_name(int32_t code) {
  switch (code) {
#define X(name, value, kind, text)                    \
  case value: {                                       \
    static constexpr wq::UpperName upper_name(#name); \
    return upper_name.chars;                          \
  }
#include "base/errors.def"
#undef X
    default:
      return "UNKNOWN";
  }
}

int32_t wq_error_is_retryable(int32_t code) {
  return (wq::predicates(code) & wq::retryable) != 0;
}
int32_t wq_error_maybe_committed(int32_t code) {
  return (wq::predicates(code) & wq::maybe_committed) != 0;
}
int32_t wq_error_is_fatal(int32_t code) {
  return (wq::predicates(code) & wq::fatal) != 0;
}

void wq_struct_init(void* p, size_t size) {
  if (!p || size < 8) return;
  std::memset(p, 0, size);
  const auto struct_size = static_cast<uint32_t>(size);
  std::memcpy(p, &struct_size, sizeof struct_size);
}

}  // extern "C"
