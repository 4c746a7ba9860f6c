// TimerQueue: jobs by time, earliest first, ties by id. Timers are mostly set in the order in which
// they run out (each lease of a queue is as long as the last), so those form a list, in which
// adding and removing touch nothing but neighbours. Whatever would break the list's order goes to a
// binary heap in which each job knows its slot. Either way nothing cancelled stays behind. Thread
// model: guarded by the engine's mutex.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "engine/job.h"

namespace wq {

class TimerQueue {
 public:
  bool empty() const { return run_.empty() && heap_.empty(); }
  size_t size() const { return run_size_ + heap_.size(); }

  // The job whose timer runs out first; there must be one.
  Job* first() const {
    if (heap_.empty()) return run_.front();
    if (run_.empty()) return heap_.front();
    return before(run_.front(), heap_.front()) ? run_.front() : heap_.front();
  }
  int64_t first_ms() const { return first()->timer_ms; }

  // The next add() needs no memory.
  void make_room() {
    if (heap_.size() == heap_.capacity()) heap_.reserve(heap_.empty() ? 16 : heap_.size() * 2);
  }

  void add(Job* job, int64_t time_ms) {
    WQ_CHECK(!job->has_timer());
    job->timer_ms = time_ms;
    const Job* last = run_.back();
    if (!last || before(last, job)) {
      run_.push_back(job);
      ++run_size_;
      return;
    }
    heap_.push_back(job);
    sift_up(heap_.size() - 1);
  }

  void remove(Job* job) {
    if (job->timer.linked()) {
      job->timer.unlink();
      --run_size_;
      return;
    }
    const size_t hole = job->heap_index;
    WQ_CHECK(hole < heap_.size() && heap_[hole] == job);
    job->heap_index = not_in_heap;
    Job* last = heap_.back();
    heap_.pop_back();
    if (hole == heap_.size()) return;
    set(hole, last);
    if (hole > 0 && before(last, heap_[parent(hole)])) {
      sift_up(hole);
    } else {
      sift_down(hole);
    }
  }

  void move(Job* job, int64_t time_ms) {
    remove(job);
    add(job, time_ms);
  }

  // In no particular order; `visit` must not add or remove.
  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (Job* job = run_.front(); job; job = run_.next(job)) visit(job);
    for (Job* job : heap_) visit(job);
  }

 private:
  static size_t parent(size_t i) { return (i - 1) / 2; }
  static bool before(const Job* a, const Job* b) {
    return a->timer_ms != b->timer_ms ? a->timer_ms < b->timer_ms : a->id < b->id;
  }
  void set(size_t i, Job* job) {
    heap_[i] = job;
    job->heap_index = static_cast<uint32_t>(i);
  }

  void sift_up(size_t i) {
    Job* moving = heap_[i];
    while (i > 0 && before(moving, heap_[parent(i)])) {
      set(i, heap_[parent(i)]);
      i = parent(i);
    }
    set(i, moving);
  }

  void sift_down(size_t i) {
    Job* moving = heap_[i];
    for (;;) {
      size_t child = 2 * i + 1;
      if (child >= heap_.size()) break;
      if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
      if (!before(heap_[child], moving)) break;
      set(i, heap_[child]);
      i = child;
    }
    set(i, moving);
  }

  IntrusiveList<Job, &Job::timer> run_;
  size_t run_size_ = 0;
  std::vector<Job*> heap_;
};

}  // namespace wq
