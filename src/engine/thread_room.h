// Whether the system lets this process start threads. RocksDB's code can not cope with a thread
// that does not start: it ends the process, or leaves a lock taken for ever.
#pragma once

#include "base/status.h"

namespace wq {

// no_memory: a limit of the process or of the machine is in the way. Starts as many threads as a
// store has, all at once, and ends them again: less than a millisecond. Thread rule: any thread.
Status check_thread_room() noexcept;

}  // namespace wq
