#include "capi/fork_guard.h"

#include <pthread.h>
#include <sys/mman.h>

#include <new>

#include "base/mutex.h"
#include "base/planted.h"

namespace wq {
namespace internal {

std::atomic<const std::atomic<uint64_t>*> fork_page{nullptr};

}  // namespace internal

namespace {

constexpr size_t page_bytes = 4096;

// Ordinary memory, so a child inherits it and counts on. A child has one thread and takes its
// number before it makes others, so the wiped page and this never race.
std::atomic<uint64_t> last_epoch{0};
std::atomic<std::atomic<uint64_t>*> page{nullptr};

void wipe_in_child() {
  page.load(std::memory_order_relaxed)->store(0, std::memory_order_relaxed);
}

std::atomic<uint64_t>* make_page() {
  void* memory =
      mmap(nullptr, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  auto* made = new (memory) std::atomic<uint64_t>(0);
  page.store(made, std::memory_order_relaxed);
  // Kernels before 4.14 do not know it; then at least fork() itself is noticed.
  if (WQ_PLANTED(fork_unnoticed)) return made;
  if (madvise(memory, page_bytes, MADV_WIPEONFORK) != 0)
    pthread_atfork(nullptr, nullptr, wipe_in_child);
  return made;
}

}  // namespace

uint64_t fork_epoch() {
  static std::atomic<uint64_t>* const own_page =
      make_page();  // never unmapped: lives with the process
  uint64_t epoch = own_page->load(std::memory_order_relaxed);
  if (epoch == 0) {
    const uint64_t fresh = last_epoch.fetch_add(1, std::memory_order_relaxed) + 1;
    // Two first handles at once: the loser takes the winner's number.
    if (own_page->compare_exchange_strong(epoch, fresh, std::memory_order_relaxed)) epoch = fresh;
    internal::fork_page.store(own_page, std::memory_order_relaxed);
  }
  return epoch;
}

}  // namespace wq
