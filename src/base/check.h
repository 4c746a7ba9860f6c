// WQ_CHECK guards our own invariants and stays on in release builds. A broken one throws
// CheckFailed: the C boundary turns it into INTERNAL and poisons the store, so the host process
// lives and nothing more is written; in tests nothing catches it and the test fails. Never use it
// on caller input or on bytes from disk: those get a Status. WQ_INVARIANT is for costly checks, on
// in WQ_INVARIANTS builds.
#pragma once

#include <stdexcept>
#include <string>

namespace wq {

class CheckFailed : public std::logic_error {
 public:
  explicit CheckFailed(const std::string& what) : std::logic_error(what) {}
};

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace wq

#define WQ_CHECK(expression)                               \
  do {                                                     \
    if (!(expression)) [[unlikely]]                        \
      ::wq::check_failed(#expression, __FILE__, __LINE__); \
  } while (0)

#ifdef WQ_INVARIANTS
#define WQ_INVARIANT(expression) WQ_CHECK(expression)
#else
#define WQ_INVARIANT(expression) \
  do {                           \
  } while (0)
#endif
