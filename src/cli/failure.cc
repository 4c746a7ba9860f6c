#include "cli/failure.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace wq::cli {

void fail(int exit_code, std::string message) {
  throw Failure{exit_code, 0, std::move(message)};
}

void fail_usage(std::string message) {
  throw Failure{exit_usage, 0, std::move(message), true};
}

int exit_code_of_errno(int os_errno) {
  switch (os_errno) {
    case ENOENT:
      return exit_not_found;
    case EISDIR:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ELOOP:
      return exit_usage;
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EIO:
    case EROFS:
    case EACCES:
    case EPERM:
      return exit_storage;
    default:
      return exit_other;
  }
}

Failure failure_of_errno(const std::string& what, int os_errno) {
  return Failure{exit_code_of_errno(os_errno), 0, what + ": " + std::strerror(os_errno)};
}

void fail_errno(const std::string& what, int os_errno) {
  throw failure_of_errno(what, os_errno);
}

int exit_code_of(int32_t code) {
  switch (code) {
    case WQ_OK:
      return exit_ok;
    case WQ_EMPTY:
    case WQ_TIMEOUT:
      return exit_empty;
    case WQ_STALE:
      return exit_stale;
    case WQ_DUPLICATE:
    case WQ_DISABLED:
    case WQ_PAUSED:
    case WQ_CONFLICT:
    case WQ_CANCELLED:  // of an extend: the batch of the job was cancelled
    case WQ_E_FULL:
    case WQ_E_READ_ONLY:
    case WQ_E_NO_KEY:
      return exit_refused;
    case WQ_E_INVALID:
    case WQ_E_TOO_LARGE:
      return exit_usage;
    case WQ_E_NOT_FOUND:
      return exit_not_found;
    case WQ_E_LOCKED:
      return exit_locked;
    case WQ_E_NO_SPACE:
    case WQ_E_IO:
    case WQ_E_CORRUPT:
    case WQ_E_POISONED:
      return exit_storage;
    default:
      return exit_other;
  }
}

std::string message_of(int32_t code, const wq_error& err) {
  const std::string message = err.message[0] != '\0' ? err.message : wq_strerror(code);
  if (code != WQ_E_NO_KEY) return message;
  return message + "; --key-file FILE or WQ_KEY_FILE has the keys, see wq help keyring";
}

void check(int32_t code, const wq_error& err) {
  if (code != WQ_OK) throw Failure{exit_code_of(code), code, message_of(code, err)};
}

}  // namespace wq::cli
