// Job: one resident job. A job is resident while it is dirty (changed since the last checkpoint),
// leased or running, near the head of its lane, or due soon; every other job is only in the store.
// Thread model: plain data, guarded by the engine's mutex.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/body.h"
#include "engine/intrusive_list.h"
#include "engine/traits.h"
#include "engine/types.h"

namespace wq {

struct KeyGate;
struct Queue;

// Which index row the store holds for a job, as of the last capture by a checkpoint.
struct StoredPlace {
  JobState state = JobState::gone;  // gone = no rows in the store
  uint8_t priority = 0;
  bool has_state_row = false;
  uint64_t position = 0;
  QueueId queue = 0;
  uint64_t line = 0;  // ready jobs of a group: the number of their line
};

constexpr uint32_t not_in_heap = UINT32_MAX;

struct Job {
  ListLink place;    // lane head or tail, the queue's leased or dead list, or the garbage list
  ListLink changed;  // dirty or frozen list
  ListLink timer;    // the ordered part of a TimerQueue: due, deadline or expiry, by the state
  int64_t timer_ms = 0;
  Queue* queue = nullptr;
  KeyGate* gate = nullptr;  // of its group while it is ready, leased or running; of its rate key
                            // while it is ready
  uint64_t line = 0;        // ready jobs of a gate: the number of their line
  JobId id = 0;
  uint64_t position =
      0;  // ready: ready seq; delayed: due ms; leased, running: generation; dead: dead seq
  Generation generation = 0;
  int64_t since_ms = 0;
  int64_t leased_ms = 0;
  int64_t deadline_ms = 0;
  int64_t deadline_set_ms = 0;  // by a confirm or an extend; 0 = by the lease, at leased_ms
  int64_t key_until_ms = 0;     // it holds its unique or debounce key until then; 0 = it does not
  int64_t first_dead_ms = 0;    // when it died for the first time; 0 = never
  uint32_t epoch = 0;
  uint32_t attempts = 0;
  uint32_t exceptions = 0;
  uint32_t failures = 0;
  uint32_t max_attempts = 0;
  uint32_t replays = 0;
  uint32_t heap_index = not_in_heap;
  JobState state = JobState::gone;
  uint8_t priority = default_priority;
  DeadReason reason = DeadReason::none;
  bool packed = false;   // its payload, see packing.h
  bool claimed = false;  // named by the command under construction, so that it is not named twice
  StoredPlace stored;
  uint64_t changed_in = 0;   // number of the latest freeze when it became dirty; see State
  uint64_t captured_in = 0;  // number of the checkpoint that captured it last
  BodyRef body;
  std::unique_ptr<const JobTraits> traits;  // null for most jobs; points into the body
  std::unique_ptr<std::string> last_error;
  std::unique_ptr<std::string> progress;  // note of a worker; null for most jobs

  bool has_timer() const { return timer.linked() || heap_index != not_in_heap; }

  size_t resident_bytes() const {
    constexpr size_t allocator_overhead_bytes = 48;  // two blocks, one hash slot
    return sizeof(Job) + body.size() + allocator_overhead_bytes + (traits ? sizeof(JobTraits) : 0) +
           (last_error ? last_error->size() + sizeof(std::string) : 0) +
           (progress ? progress->size() + sizeof(std::string) : 0);
  }
};

using PlaceList = IntrusiveList<Job, &Job::place>;
using ChangedList = IntrusiveList<Job, &Job::changed>;

}  // namespace wq
