#include "engine/turns.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/planted.h"
#include "engine/state.h"

namespace wq {

// ---- kept by State

// A line of the gate, made if need be.
Lane& State::line_of(KeyGate& gate, uint8_t priority) {
  if (Lane* found = gate.find_line(priority)) return *found;
  Lane& added = gate.line(priority);
  if (!gate.is_tenant()) return added;
  Queue& queue = *gate.queue;
  Lane& level = queue.lane(priority);
  if (!level.turns) {
    level.turns = std::make_unique<Turns>();
    settle_turn(queue, level);
  }
  ++level.turns->lanes;
  ++queue.tenant_lanes;
  return added;
}

// After each change of what the lane has; it is that of a priority, or a line of a tenant.
void State::settle_turn(Queue& queue, Lane& lane) {
  Turns& turns = *queue.lane(lane.priority).turns;
  const uint64_t jobs = lane.jobs();
  if (std::bit_width(jobs) != std::bit_width(lane.size)) {
    if (lane.in_size.linked()) lane.in_size.unlink();
    if (jobs > 0) turns.by_size[std::bit_width(jobs)].push_back(&lane);
  }
  if (lane.gate) turns.tenant_jobs += jobs - lane.size;
  lane.size = jobs;
  if (lane.gives()) {
    if (lane.in_kept.linked()) lane.in_kept.unlink();
    if (!lane.in_ring.linked()) give_turn(queue, lane);
  } else if (lane.in_ring.linked() && !lane.in_kept.linked()) {
    const bool some_unread = !queue.lane(lane.priority).unread.empty();
    if (some_unread && !WQ_PLANTED(turn_lost_unread)) {
      turns.kept.push_back(&lane);
    } else {
      lane.in_ring.unlink();
    }
  }
}

bool KeyGate::keeps_turn() const {
  return std::any_of(lines.begin(), lines.end(),
                     [](const auto& line) { return line->in_kept.linked(); });
}

// No line is unread any more: who has no job by now has none.
void State::end_kept_turns(Queue& queue, uint8_t priority) {
  const Lane& level = queue.lane(priority);
  while (level.turns && level.unread.empty()) {
    Lane* lane = level.turns->kept.front();
    if (!lane) return;
    lane->in_kept.unlink();
    lane->in_ring.unlink();
    if (lane->gate) settle_tenant(*lane->gate);
  }
}

void State::give_turn(Queue& queue, Lane& lane) {
  queue.lane(lane.priority).turns->ring.push_back(&lane);
  if (queue.next_turn == 0) return;  // it is as it was stored
  lane.turn = queue.next_turn++;
  if (lane.gate) {
    touch(*lane.gate);
  } else {
    touch(&queue);
  }
}

// The job is being leased: it is the turn of the others.
void State::take_turn(const Job& job) {
  Queue& queue = *job.queue;
  if (queue.tenant_lanes == 0) return;
  Lane* lane = &lane_of(&job);
  if (lane->home) lane = lane->home;
  // A replay takes jobs out of lines that it has not read.
  const std::string_view tenant = job.traits ? job.traits->tenant : std::string_view();
  if (tenant_of(*lane) != tenant) {
    lane = find_lane(&queue, GateName(GateName::tenant, tenant), job.priority);
  }
  if (!lane || !lane->in_ring.linked() || WQ_PLANTED(turn_kept)) return;
  lane->in_ring.unlink();
  give_turn(queue, *lane);
}

// A lane that lists lines of groups, after a change of that.
void State::settle_home(Queue& queue, Lane& lane) {
  if (lane.gate) {
    if (queue.next_turn != 0) touch(*lane.gate);
    settle_tenant(*lane.gate);
  } else if (lane.turns) {
    settle_turn(queue, lane);
  }
}

void State::settle_tenant(KeyGate& gate) {
  Queue& queue = *gate.queue;
  for (const auto& line : gate.lines) settle_turn(queue, *line);
  if (gate.waiting > 0) return;
  gate.number = 0;
  if (gate.homed > 0 || queue.next_turn == 0) return;  // order_turns() comes to it
  if (gate.keeps_turn()) return;
  for (const auto& line : gate.lines) {
    Lane& level = queue.lane(line->priority);
    --queue.tenant_lanes;
    if (--level.turns->lanes > 0) continue;
    if (level.in_ring.linked()) level.in_ring.unlink();
    if (level.in_kept.linked()) level.in_kept.unlink();
    if (level.in_size.linked()) level.in_size.unlink();
    level.turns.reset();
    level.size = level.turn = 0;
  }
  gate.lines.clear();
  if (gate.stored) touch(gate);  // its row goes as well
  if (!gate.changed) drop_gate(gate);
}

// Once all rows are loaded: the rings in the order of the turns that were stored.
void State::order_turns() {
  for (const auto& [name, queue] : names_) {
    uint64_t last = 0;
    for (const auto& level : queue->lanes) {
      if (!level->turns) continue;
      Turns::Ring& ring = level->turns->ring;
      std::vector<Lane*> lanes;
      while (Lane* lane = ring.pop_front()) lanes.push_back(lane);
      if (!WQ_PLANTED(turns_forgotten)) {
        std::stable_sort(lanes.begin(), lanes.end(),
                         [](const Lane* a, const Lane* b) { return a->turn < b->turn; });
      }
      for (Lane* lane : lanes) {
        ring.push_back(lane);
        last = std::max(last, lane->turn);
      }
    }
    queue->next_turn = last + 1;
    std::vector<KeyGate*> tenants;  // settling may drop one, of which no line is left
    for (const auto& [key, gate] : queue->gates) {
      if (gate->is_tenant()) tenants.push_back(gate.get());
    }
    for (KeyGate* tenant : tenants) settle_tenant(*tenant);
  }
}

Lane* State::unread_line() const {
  if (unread_lines_ == 0) return nullptr;
  for (const auto& [name, queue] : names_) {
    for (const auto& level : queue->lanes) {
      if (Lane* line = level->unread.front()) return line;
    }
  }
  return nullptr;
}

// ---- picking

uint64_t first_place(const Lane& lane) {
  uint64_t place = lane.first_position(UINT64_MAX);
  for (const LineOrder* lines : {&lane.open, &lane.shut}) {
    if (!lines->empty()) place = std::min(place, lines->begin()->first);
  }
  return place;
}

TurnPicker::TurnPicker(const Lane& level, std::vector<KeyGate*>& picked, int64_t now_ms)
    : picked_(picked), now_ms_(now_ms), level_(level, picked, now_ms), turns_(level.turns.get()) {
  if (turns_) at_ = turns_->ring.front();
  if (!WQ_PLANTED(unread_line_passed)) cold_ = level.unread.front();
  ended_ = cold_ != nullptr;
}

Job* TurnPicker::take(LanePicker& picker) {
  Job* job = picker.next();
  if (!job && picker.cold()) {
    cold_ = picker.cold();
    ended_ = true;
  }
  return job;
}

Job* TurnPicker::next() {
  if (!turns_) {
    if (ended_) return nullptr;
    Job* job = take(level_);
    ended_ |= level_.changes_tenant();  // with the next job there are turns
    return job;
  }
  while (!ended_) {
    if (!at_ && again_at_ == again_.size()) return nullptr;
    LanePicker picker =
        at_ ? LanePicker(*at_, picked_, now_ms_) : LanePicker(std::move(again_[again_at_++]));
    if (at_) at_ = turns_->ring.next(at_);
    Job* job = take(picker);
    if (!job) continue;
    ended_ = picker.changes_tenant();
    again_.push_back(std::move(picker));
    return job;
  }
  return nullptr;
}

VictimPicker::VictimPicker(const Lane& level)
    : turns_(WQ_PLANTED(tenants_unseen) ? nullptr : level.turns.get()) {
  if (!turns_) victims_.push_back({LanePicker(level), level.jobs()});
}

bool VictimPicker::choose() {
  while (bits_ > 0) {
    for (current_ = 0; current_ < victims_.size(); ++current_) {
      if (static_cast<size_t>(std::bit_width(victims_[current_].left)) == bits_) return true;
    }
    if (at_) {
      const Lane& lane = *std::exchange(at_, turns_->by_size[bits_].next(at_));
      victims_.push_back({LanePicker(lane), lane.jobs()});
      return true;
    }
    --bits_;
    at_ = turns_->by_size[bits_].front();
  }
  return false;
}

Job* VictimPicker::next() {
  if (!turns_) return victims_.front().jobs.next();
  while (choose()) {
    Victim& victim = victims_[current_];
    if (Job* job = victim.jobs.next()) {
      --victim.left;
      return job;
    }
    if (victim.jobs.cold()) return nullptr;
    victim.left = 0;
  }
  return nullptr;
}

uint64_t jobs_before_turn(const Lane& level, const Lane& own, uint64_t before) {
  const Turns& turns = *level.turns;
  uint64_t jobs = before;
  bool is_behind = false;  // of the job's own lane, which gives one more before
  for (const Lane* lane = turns.ring.front(); lane; lane = turns.ring.next(lane)) {
    if (lane == &own) {
      is_behind = true;
    } else {
      jobs += std::min(lane->jobs(), before + (is_behind ? 0 : 1));
    }
  }
  return jobs;
}

bool turns_add_up(const Queue& queue) {
  uint64_t lanes = 0;
  const auto fits = [&](const Lane& lane) {
    const Lane& level =
        lane.gate
            ? *std::find_if(queue.lanes.begin(), queue.lanes.end(),
                            [&](const auto& other) { return other->priority == lane.priority; })
                   ->get()
            : lane;
    if (!level.turns) return !lane.gate;
    return lane.size == lane.jobs() && lane.in_size.linked() == (lane.jobs() > 0) &&
           lane.in_ring.linked() == (lane.gives() || lane.in_kept.linked()) &&
           !(lane.in_kept.linked() && (lane.gives() || level.unread.empty()));
  };
  for (const auto& [name, gate] : queue.gates) {
    if (!gate->is_tenant()) continue;
    lanes += gate->lines.size();
    for (const auto& line : gate->lines) {
      if (!fits(*line)) return false;
    }
  }
  const bool levels_fit = std::all_of(queue.lanes.begin(), queue.lanes.end(),
                                      [&](const auto& level) { return fits(*level); });
  return levels_fit && lanes == queue.tenant_lanes;
}

}  // namespace wq
