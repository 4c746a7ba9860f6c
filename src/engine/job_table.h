// JobTable: id -> resident job. Open addressing with linear probing and backward-shift deletion:
// ids come and go at the rate of the queue, so tombstones would pile up in a table that keeps them.
// Does not own the jobs. Thread model: guarded by the engine's mutex.
#pragma once

#include <cstdint>
#include <new>
#include <vector>

#include "base/check.h"
#include "engine/job.h"

namespace wq {

class JobTable {
 public:
  JobTable() : slots_(initial_slots) {}

  size_t size() const { return size_; }

  Job* find(JobId id) const {
    for (size_t i = home(id);; i = next(i)) {
      if (slots_[i].id == id) return slots_[i].job;
      if (slots_[i].job == nullptr) return nullptr;
    }
  }

  void insert(Job* job) {
    if ((size_ + 1) * 4 > slots_.size() * 3) rehash(slots_.size() * 2);
    place(job);
    ++size_;
  }

  void erase(JobId id) {
    size_t hole = home(id);
    while (slots_[hole].id != id) {
      WQ_CHECK(slots_[hole].job != nullptr);
      hole = next(hole);
    }
    for (size_t i = next(hole); slots_[i].job != nullptr; i = next(i)) {
      // a slot may move back into the hole unless its home lies behind the hole
      const size_t distance_to_home = (i - home(slots_[i].id)) & mask();
      const size_t distance_to_hole = (i - hole) & mask();
      if (distance_to_home >= distance_to_hole) {
        slots_[hole] = slots_[i];
        hole = i;
      }
    }
    slots_[hole] = Slot{};
    --size_;
    if (slots_.size() > initial_slots && size_ * 8 < slots_.size()) shrink();
  }

  template <typename Visit>
  void for_each(Visit&& visit) const {
    for (const Slot& slot : slots_) {
      if (slot.job) visit(slot.job);
    }
  }

 private:
  struct Slot {
    JobId id = 0;
    Job* job = nullptr;
  };
  static constexpr size_t initial_slots = 1024;  // power of two

  size_t mask() const { return slots_.size() - 1; }
  size_t next(size_t i) const { return (i + 1) & mask(); }
  // Ids are handed out in sequence: runs of eight stay neighbours for the cache, and the runs are
  // spread by a multiplicative hash, so that two windows of ids never pile up on the same slots.
  size_t home(JobId id) const {
    const uint64_t spread = (id >> 3) * 0x9e3779b97f4a7c15ULL;
    return ((static_cast<size_t>(spread >> 32) << 3) | (id & 7)) & mask();
  }

  void place(Job* job) {
    size_t i = home(job->id);
    while (slots_[i].job != nullptr) {
      WQ_INVARIANT(slots_[i].id != job->id);
      i = next(i);
    }
    slots_[i] = Slot{job->id, job};
  }

  void shrink() {
    try {
      rehash(slots_.size() / 2);
    } catch (const std::bad_alloc&) {
      // a table that is too large serves as well
    }
  }

  void rehash(size_t slot_count) {
    std::vector<Slot> old(slot_count);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.job) place(slot.job);
    }
  }

  std::vector<Slot> slots_;
  size_t size_ = 0;
};

}  // namespace wq
