// JobPool: where the jobs of a State come from. A job that goes leaves its memory to the next one:
// in a queue that is worked off as it is filled, half of the allocator's work was for this one
// size. Keeps no more than a bound of free blocks; the rest goes back to the allocator.
// Thread model: guarded by the engine's mutex.
#pragma once

#include <memory>
#include <new>

#include "engine/job.h"

// A block that is used again would hide from AddressSanitizer who still points to the old job.
#if defined(__SANITIZE_ADDRESS__)
#define WQ_JOB_BLOCKS_KEPT 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WQ_JOB_BLOCKS_KEPT 0
#endif
#endif
#ifndef WQ_JOB_BLOCKS_KEPT
#define WQ_JOB_BLOCKS_KEPT 4096
#endif

namespace wq {

class JobPool {
 public:
  JobPool() = default;
  JobPool(const JobPool&) = delete;
  JobPool& operator=(const JobPool&) = delete;
  ~JobPool() {
    while (Free* const block = free_) {
      free_ = block->next;
      ::operator delete(block);
    }
  }

  struct Deleter {
    JobPool* pool;
    void operator()(Job* job) const { pool->free(job); }
  };
  using Owner = std::unique_ptr<Job, Deleter>;

  Owner make() {
    void* block = free_;
    if (block != nullptr) {
      free_ = free_->next;
      --count_;
    } else {
      block = ::operator new(sizeof(Job));
    }
    return Owner(new (block) Job(), Deleter{this});
  }

  void free(Job* job) {
    job->~Job();
    if (count_ == WQ_JOB_BLOCKS_KEPT) {
      ::operator delete(job);
      return;
    }
    free_ = new (job) Free{free_};
    ++count_;
  }

 private:
  struct Free {
    Free* next;
  };
  Free* free_ = nullptr;
  size_t count_ = 0;
};

}  // namespace wq
