// TimerHeap: jobs by time, earliest first, ties by id. A binary heap in which each job knows its slot,
// so that removing any job is O(log n) and nothing cancelled stays behind. The usual lease, with the
// latest deadline of all, is added and removed without moving anything.
// Thread model: guarded by the engine's mutex.
#pragma once

#include <cstdint>
#include <vector>

#include "base/check.h"
#include "engine/job.h"

namespace wq {

class TimerHeap {
 public:
  struct Entry {
    int64_t time_ms = 0;
    Job* job = nullptr;
  };

  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  const Entry& top() const { return entries_.front(); }
  const std::vector<Entry>& entries() const { return entries_; }

  void add(Job* job, int64_t time_ms) {
    WQ_CHECK(job->heap_index == not_in_heap);
    entries_.push_back(Entry{time_ms, job});
    sift_up(entries_.size() - 1);
  }

  void remove(Job* job) {
    const size_t hole = job->heap_index;
    WQ_CHECK(hole < entries_.size() && entries_[hole].job == job);
    job->heap_index = not_in_heap;
    const Entry last = entries_.back();
    entries_.pop_back();
    if (hole == entries_.size()) return;
    set(hole, last);
    if (hole > 0 && before(last, entries_[parent(hole)])) {
      sift_up(hole);
    } else {
      sift_down(hole);
    }
  }

  void move(Job* job, int64_t time_ms) {
    remove(job);
    add(job, time_ms);
  }

 private:
  static size_t parent(size_t i) { return (i - 1) / 2; }
  static bool before(const Entry& a, const Entry& b) {
    return a.time_ms != b.time_ms ? a.time_ms < b.time_ms : a.job->id < b.job->id;
  }
  void set(size_t i, const Entry& entry) {
    entries_[i] = entry;
    entry.job->heap_index = static_cast<uint32_t>(i);
  }

  void sift_up(size_t i) {
    const Entry moving = entries_[i];
    while (i > 0 && before(moving, entries_[parent(i)])) {
      set(i, entries_[parent(i)]);
      i = parent(i);
    }
    set(i, moving);
  }

  void sift_down(size_t i) {
    const Entry moving = entries_[i];
    for (;;) {
      size_t child = 2 * i + 1;
      if (child >= entries_.size()) break;
      if (child + 1 < entries_.size() && before(entries_[child + 1], entries_[child])) ++child;
      if (!before(entries_[child], moving)) break;
      set(i, entries_[child]);
      i = child;
    }
    set(i, moving);
  }

  std::vector<Entry> entries_;
};

}  // namespace wq
