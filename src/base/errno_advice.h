// What can be done about an errno, to be put behind its text; empty where nothing is known. Thread
// model: any thread.
#pragma once

#include <cerrno>

namespace wq {

inline const char* advice_on_errno(int os_errno) {
  return os_errno == EMFILE ? "; raise the limit of open files (ulimit -n)" : "";
}

}  // namespace wq
