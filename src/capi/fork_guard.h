// ForkGuard: tells in one load whether this process still is the one that opened a handle. A page
// that the kernel wipes in a forked child (MADV_WIPEONFORK) holds the number of the process within
// its line of forks; getpid() would cost a system call per operation, and pids are used again.
// Thread model: any thread.
#pragma once

#include <atomic>
#include <cstdint>

namespace wq {

namespace internal {
extern std::atomic<const std::atomic<uint64_t>*> fork_page;  // null until the first handle
}

// The number of this process, never 0. Called where handles are opened.
uint64_t fork_epoch();

// Whether `epoch`, which fork_epoch() gave when a handle was opened, is this process.
inline bool same_process(uint64_t epoch) {
  // relaxed: who holds a handle got it after the page was made, and only a fork changes the number
  const auto* page = internal::fork_page.load(std::memory_order_relaxed);
  return page && page->load(std::memory_order_relaxed) == epoch;
}

}  // namespace wq
