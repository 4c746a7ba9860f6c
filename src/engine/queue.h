// Queue and Lane: the resident part of one queue. A lane is the ready jobs of one priority, in
// order:
//
//   head list (resident)  <  cold range (only in the store)  <  tail list (resident)
//   seq < cold_low           cold_low .. cold_high              seq > cold_high
//
// With no cold job the tail list is empty and the head list holds all. Thread model: plain data,
// guarded by the engine's mutex.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "engine/job.h"
#include "engine/record.h"
#include "engine/types.h"

namespace wq {

struct Lane;
struct Waiter;

// Lines of groups by the place of their first job; see gate.h.
using LineOrder = std::set<std::pair<uint64_t, Lane*>>;

struct Turns;

// What is known of the tenants of a line of a group or rate key.
enum class LineTenants : uint8_t {
  one = 0,     // all of its jobs are of the tenant that it stands with
  first = 1,   // its first job is, others may not be
  unread = 2,  // nothing: its first job is only in the store
};

struct Lane {
  explicit Lane(uint8_t lane_priority) : priority(lane_priority) {}

  const uint8_t priority;
  PlaceList head;
  PlaceList tail;
  uint64_t count = 0;       // all ready jobs of the lane
  uint64_t cold_count = 0;  // of them, those that are only in the store
  uint64_t head_count = 0;  // of them, those in the head list
  uint64_t cold_low = 0;
  uint64_t cold_high = 0;
  bool refill_wanted = false;  // queued for the maintenance thread
  bool page_coming = false;    // somebody reads its next page: others wait for that one
  KeyGate* gate = nullptr;     // set: it is a line of this group or tenant
  uint64_t listed_at = 0;      // line of a group: its key in one of the two below; 0 = in none
  bool is_open = false;        // line of a group: in which
  Lane* home = nullptr;        // line of a group: of which lane those are
  uint64_t listed_count = 0;   // line of a group: how many of its jobs home->lined counts
  LineTenants tenants = LineTenants::one;
  LineOrder open;      // the lines of this priority and tenant with a free slot
  LineOrder shut;      // and those without
  uint64_t lined = 0;  // jobs of the two
  ListLink in_unread;  // line of a group: of the lane of its priority, see below
  ListLink in_ring;    // see turns.h
  ListLink in_kept;
  ListLink in_size;
  uint64_t turn = 0;             // where it is in the ring
  uint64_t size = 0;             // jobs(), as Turns knows it
  std::unique_ptr<Turns> turns;  // not a line: set while this priority has tenants
  // Not a line: those with a free slot whose tenant has to be read before anything is leased.
  IntrusiveList<Lane, &Lane::in_unread> unread;

  uint64_t jobs() const { return count + lined; }
  bool gives() const { return count > 0 || !open.empty(); }

  bool in_head(const Job* job) const { return cold_count == 0 || job->position < cold_low; }

  // The smallest seq that a ready row of this lane may have.
  uint64_t first_position(uint64_t none) const {
    if (const Job* job = head.front()) return job->position;
    if (cold_count > 0) return cold_low;
    return none;
  }
};

using Lanes = std::vector<std::unique_ptr<Lane>>;  // by priority

// The tenants of one priority. The lane itself is one of them: that of the jobs without a tenant.
struct Turns {
  using Ring = IntrusiveList<Lane, &Lane::in_ring>;
  using Sizes = IntrusiveList<Lane, &Lane::in_size>;
  using Kept = IntrusiveList<Lane, &Lane::in_kept>;
  Ring ring;                 // lanes with a job that may be leased, the next one first
  Kept kept;                 // in it without one: a line that is unread may bring it
  Sizes by_size[65];         // lanes with jobs, by the bits of their number
  uint64_t lanes = 0;        // of tenants
  uint64_t tenant_jobs = 0;  // in them
};

inline Lanes::const_iterator lane_place(const Lanes& lanes, uint8_t priority) {
  return std::lower_bound(
      lanes.begin(), lanes.end(), priority,
      [](const std::unique_ptr<Lane>& lane, uint8_t wanted) { return lane->priority < wanted; });
}

// What a job waits in a line of its own for: its group, its rate key, or the turn of its tenant.
// Owned, as a map key or as the name of a line in the store, it is one text: the kind and then the
// key.
struct GateName {
  static constexpr char group = 'g';
  static constexpr char tenant = 'h';
  static constexpr char rate_key = 'k';

  GateName() = default;
  GateName(char of_kind, std::string_view of_key)
      : kind(of_key.empty() ? '\0' : of_kind), key(of_key) {}
  GateName(const std::string& owned)  // NOLINT(google-explicit-constructor): the same thing
      : GateName(owned.empty() ? '\0' : owned[0], std::string_view(owned).substr(!owned.empty())) {}
  bool empty() const { return key.empty(); }
  std::string owned() const { return empty() ? std::string() : kind + std::string(key); }

  char kind = '\0';
  std::string_view key = {};  // empty = no gate
};

inline bool operator==(const std::string& owned, const GateName& name) {
  return !owned.empty() && owned[0] == name.kind && std::string_view(owned).substr(1) == name.key;
}

// One group, rate key or tenant of a queue; see gate.h.
struct KeyGate {
  Queue* queue = nullptr;
  std::string name;           // owned; see GateName
  uint32_t limit = 0;         // of a group; 0 = the queue's
  uint32_t picked = 0;        // by the lease under construction
  uint64_t running = 0;       // leased and running jobs; none at a rate key
  uint64_t waiting = 0;       // ready jobs
  uint64_t parked = 0;        // ready jobs that no slot is free for, or all of a key that is shut
  uint64_t number = 0;        // of its lines; 0 = it has none
  uint64_t homed = 0;         // of a tenant: lines of groups that take its turns
  int64_t tat_ns = 0;         // of a rate key; see rate.h
  Breaker breaker;            // of a rate key; see throttle.h
  int64_t picked_tat_ns = 0;  // with the jobs of the lease under construction
  int64_t due_ms = 0;        // in State::timed_gates_: when to settle it again; 0 = it is not there
  bool shut = false;         // a rate key: used up or cooling when it was settled last
  bool passed_over = false;  // a rate key: the lease under construction came to a job too dear
  bool changed = false;      // in State::changed_gates_
  bool stored = false;       // the store has a row of it
  Lanes lines;

  bool is_tenant() const { return name[0] == GateName::tenant; }
  bool has_lines() const { return waiting > 0 || homed > 0; }
  bool is_rate() const { return name[0] == GateName::rate_key; }
  bool keeps_turn() const;  // a line of it is in Turns::kept
  uint64_t limit_now() const;
  uint64_t free_slots() const;
  bool has_room(const Job* job, int64_t now_ms);  // for `job`, besides what is picked
  void pick(const Job& job, int64_t now_ms);
  int64_t wait_ms(int64_t now_ms) const;  // a rate key: until its first job may be leased
  int64_t kept_until_ms() const;          // a rate key: from then on it is as good as new
  Lane* find_line(uint8_t priority) const {
    const auto place = lane_place(lines, priority);
    return place != lines.end() && (*place)->priority == priority ? place->get() : nullptr;
  }
  Lane& line(uint8_t priority) {
    if (Lane* found = find_line(priority)) return *found;
    Lane& added = **lines.insert(lane_place(lines, priority), std::make_unique<Lane>(priority));
    added.gate = this;
    return added;
  }
};

struct GateKeyHash {
  using is_transparent = void;
  size_t operator()(const GateName& name) const {
    return hash64(as_bytes(name.key), static_cast<uint64_t>(name.kind));
  }
};
using Gates =
    std::unordered_map<std::string, std::unique_ptr<KeyGate>, GateKeyHash, std::equal_to<>>;

// Ready seqs start in the middle, so that a job can be put in front of the first for ever.
constexpr uint64_t first_tail_seq = 1ull << 62;

struct WaitNode {
  ListLink link;
  Waiter* waiter = nullptr;
};
using WaitList = IntrusiveList<WaitNode, &WaitNode::link>;

struct Queue {
  QueueId id = 0;
  std::string name;
  QueueConfig config;
  QueueTotals totals;
  uint64_t counts[job_state_count] = {};
  uint64_t bytes[job_state_count] = {};  // of the envelopes of the jobs in counts
  // A job is live only while its epoch equals its queue's epoch of its state: clear raises the
  // epoch and thereby ends any number of jobs, resident or not, in constant time.
  uint32_t epochs[job_state_count] = {};
  uint64_t next_tail_seq = first_tail_seq;
  uint64_t next_front_seq = first_tail_seq - 1;
  uint64_t next_dead_seq = 1;
  int64_t created_ms = 0;
  uint64_t history_first = 1;  // done jobs that may be kept have seqs from here, see history.h
  uint64_t history_next = 1;

  Lanes lanes;
  Gates gates;  // groups with ready, leased or running jobs, rate keys in use, tenants with ready
  uint64_t tenant_lanes = 0;  // 0: nobody takes turns
  uint64_t next_turn = 1;     // 0 while rows are loaded: turns are as stored
  uint64_t parked = 0;        // ready jobs that wait for their group or rate key
  uint64_t expiring = 0;      // ready jobs with expires_ms
  // When its rate keys were looked at or changed last: a lease that comes before that rebases them.
  int64_t keys_ms = INT64_MAX;
  int64_t rate_tat_ns = 0;  // see rate.h
  PlaceList leased;         // leased and running, in lease order
  PlaceList dead;           // resident dead jobs, by dead seq
  WaitList waiters;         // first come, first woken
  bool changed = false;     // in State::changed_queues
  bool deleted = false;
  bool wake_wanted = false;   // in State::wake_queue
  int64_t dead_due_ms = 0;    // no dead letter is over a cap before; 0 = to be looked at
  uint64_t dead_low_seq = 0;  // no dead letter is left up to here
  bool rate_watched = false;  // in Engine::rate_watch_

  uint64_t& count(JobState state) { return counts[static_cast<size_t>(state)]; }
  uint64_t count(JobState state) const { return counts[static_cast<size_t>(state)]; }
  uint32_t& epoch(JobState state) { return epochs[static_cast<size_t>(state)]; }
  uint32_t epoch(JobState state) const { return epochs[static_cast<size_t>(state)]; }
  // What max_depth and max_bytes are about: jobs that wait.
  uint64_t depth() const { return count(JobState::ready) + count(JobState::delayed); }
  uint64_t depth_bytes() const {
    return bytes[static_cast<size_t>(JobState::ready)] +
           bytes[static_cast<size_t>(JobState::delayed)];
  }
  bool has_room(uint64_t jobs, uint64_t more_bytes) const {
    return (config.max_depth == 0 || depth() + jobs <= config.max_depth) &&
           (config.max_bytes == 0 || depth_bytes() + more_bytes <= config.max_bytes);
  }
  uint64_t running_count() const { return count(JobState::leased) + count(JobState::running); }
  bool consumable() const { return !deleted && config.status == QueueStatus::active; }

  bool keeps_done() const { return config.keep_done_count != 0 || config.keep_done_age_ms != 0; }

  // How many jobs may be leased now; a lowered limit never cuts what runs.
  uint64_t free_slots() const {
    if (config.max_running == 0) return UINT64_MAX;
    const uint64_t running = running_count();
    return running >= config.max_running ? 0 : config.max_running - running;
  }

  // Ready jobs that may be leased, as far as their groups are concerned.
  uint64_t eligible() const { return count(JobState::ready) - parked; }
  uint64_t rate_tokens(int64_t now_ms) const {
    return wq::rate_tokens(config.rate, rate_tat_ns, now_ms);
  }
  int64_t rate_wait_ms(int64_t now_ms) const {
    return wq::rate_wait_ms(config.rate, rate_tat_ns, now_ms);
  }

  Lane& lane(uint8_t priority) {
    const auto place = lane_place(lanes, priority);
    if (place != lanes.end() && (*place)->priority == priority) return **place;
    return **lanes.insert(place, std::make_unique<Lane>(priority));
  }
};

// A lowered limit never cuts what runs.
inline uint64_t KeyGate::free_slots() const {
  if (is_tenant()) return UINT64_MAX;
  if (is_rate()) return shut ? 0 : UINT64_MAX;
  const uint64_t held = running + picked;
  return held >= limit_now() ? 0 : limit_now() - held;
}

inline uint64_t KeyGate::limit_now() const {
  return limit != 0 ? limit : queue->config.group_limit;
}

}  // namespace wq
