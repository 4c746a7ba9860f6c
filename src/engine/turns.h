// Turns: fairness among the tenants of a queue. The jobs of one priority are leased one of each
// tenant in turn (deficit round robin in which each job costs what a turn is worth), so that no
// tenant waits for more than one job of each of the others, however many they have. Jobs without a
// tenant are one tenant more, whose lane is that of the priority itself. That holds for what is
// only on the disk as well: whose turn a line of a group takes is read before anything is leased,
// unless it is known.
//
// A lane is in Turns::ring while it has a job that may be leased: its own ones, and the lines of
// groups whose first job is of its tenant (gate.h). It stays there while such a line is to be read,
// which may be one of its own: it would wait for a whole round again. The lease of a job puts its
// lane to the end, and so does whatever brings a lane back. The number of the turn is stored with
// the tenant, so a store that is opened anew goes on where it was. A queue without tenants has no
// Turns. Thread model: as State's, which it is a part of.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/gate.h"

namespace wq {

// The lanes of one priority that have jobs, in no order.
template <typename Visit>
void each_lane(const Lane& level, Visit&& visit) {
  if (!level.turns) return visit(level);
  for (const Turns::Sizes& lanes : level.turns->by_size) {
    for (const Lane* lane = lanes.front(); lane; lane = lanes.next(lane)) visit(*lane);
  }
}

// The tenant whose lane it is; empty: that of the jobs without one.
inline std::string_view tenant_of(const Lane& lane) {
  return lane.gate ? GateName(lane.gate->name).key : std::string_view();
}

// The smallest place of a job of the lane and of the lines that it lists; UINT64_MAX: it has none.
uint64_t first_place(const Lane& lane);

// The jobs of one priority that may be leased, in the order of the leases. Changes what LanePicker
// does.
class TurnPicker {
 public:
  TurnPicker(const Lane& level, std::vector<KeyGate*>& picked, int64_t now_ms);
  Job* next();                                // null: there is no more in memory
  const Lane* cold() const { return cold_; }  // its first job comes next
  // The order of what follows is known once the jobs so far are leased.
  bool ended() const { return ended_; }

 private:
  Job* take(LanePicker& picker);

  std::vector<KeyGate*>& picked_;
  const int64_t now_ms_;
  LanePicker level_;  // if there are no turns
  const Turns* turns_;
  const Lane* at_ = nullptr;       // the next one of the ring
  std::vector<LanePicker> again_;  // those that have given a job, in order
  size_t again_at_ = 0;
  const Lane* cold_ = nullptr;
  bool ended_ = false;
};

// The jobs of one priority, parked or not, in the order in which a full queue drops them: the first
// ones of a tenant that has at least half as many as any other.
class VictimPicker {
 public:
  explicit VictimPicker(const Lane& level);
  Job* next();  // as that of TurnPicker
  const Lane* cold() const {
    return current_ < victims_.size() ? victims_[current_].jobs.cold() : nullptr;
  }

 private:
  struct Victim {
    LanePicker jobs;
    uint64_t left = 0;
  };
  bool choose();  // false: there is none left

  const Turns* turns_;
  const Lane* at_ = nullptr;  // the next one of its size
  size_t bits_ = 64;
  std::vector<Victim> victims_;
  size_t current_ = 0;
};

// How many jobs the lease takes before it comes to one with `before` others of its own lane ahead.
uint64_t jobs_before_turn(const Lane& level, const Lane& own, uint64_t before);

// Whether what is kept of turns is what the lanes say; for verify.
bool turns_add_up(const Queue& queue);

}  // namespace wq
