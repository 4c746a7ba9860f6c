#include "engine/gate.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "engine/state.h"

namespace wq {
namespace {

constexpr char gate_row_mark = 'g';
constexpr size_t gate_key_head_bytes = 1 + sizeof(QueueId);
constexpr size_t row_head_bytes = 12;
constexpr size_t row_line_bytes = 17;
// A gate, its place in the queue's map, one line and its place among the open ones.
constexpr uint64_t gate_overhead_bytes = 512;

uint64_t bytes_of(const GroupGate& gate) {
  return sizeof(GroupGate) + gate.key.size() + gate_overhead_bytes;
}

}  // namespace

// ---- rows

std::string gate_row_key(QueueId queue, std::string_view group) {
  std::string key(1, gate_row_mark);
  put_be32(key, queue);
  key.append(group);
  return key;
}

std::optional<GateKey> parse_gate_row_key(std::string_view key) {
  if (key.size() <= gate_key_head_bytes || key.front() != gate_row_mark) return std::nullopt;
  const QueueId queue = get_be32(key.data() + 1);
  const std::string_view group = key.substr(gate_key_head_bytes);
  if (queue == 0 || group.size() > key_bytes_max) return std::nullopt;
  return GateKey{queue, group};
}

std::string encode_gate_row(const GateRow& row) {
  std::string out(row_head_bytes + row.lines.size() * row_line_bytes, '\0');
  auto* at = reinterpret_cast<std::byte*>(out.data());
  store_le(at, row.limit);
  store_le(at + 4, row.number);
  at += row_head_bytes;
  for (const LaneRow& line : row.lines) {
    store_le(at, line.priority);
    store_le(at + 1, line.head_hint);
    store_le(at + 9, line.count);
    at += row_line_bytes;
  }
  return out;
}

std::optional<GateRow> decode_gate_row(std::string_view bytes) {
  if (bytes.size() < row_head_bytes + row_line_bytes) return std::nullopt;
  if ((bytes.size() - row_head_bytes) % row_line_bytes != 0) return std::nullopt;
  const std::byte* at = as_bytes(bytes).data();
  GateRow row;
  row.limit = load_le<uint32_t>(at);
  row.number = load_le<uint64_t>(at + 4);
  if (row.number == 0) return std::nullopt;
  const std::byte* end = at + bytes.size();
  for (at += row_head_bytes; at != end; at += row_line_bytes) {
    const LaneRow line{load_le<uint8_t>(at), load_le<uint64_t>(at + 1), load_le<uint64_t>(at + 9)};
    const bool in_order = row.lines.empty() || row.lines.back().priority < line.priority;
    if (!in_order || line.count == 0 || line.head_hint == 0) return std::nullopt;
    row.lines.push_back(line);
  }
  return row;
}

// ---- gates

std::string group_of(const BodyRef& body) {
  const auto traits = trusted_traits(body.bytes());
  return traits ? std::string(traits->group) : std::string();
}

bool is_parked(const Job& job) {
  const GroupGate* gate = job.gate;
  if (job.state != JobState::ready || !gate || gate->parked == 0) return false;
  uint64_t free = gate->free_slots();
  for (const auto& line : gate->lines) {
    for (const Job* first = line->head.front(); first && free > 0; first = line->head.next(first)) {
      if (first == &job) return false;
      --free;
    }
  }
  return true;
}

GroupGate* State::gate_of(Queue* queue, std::string_view group) {
  if (const auto found = queue->gates.find(group); found != queue->gates.end()) {
    return found->second.get();
  }
  auto gate = std::make_unique<GroupGate>();
  gate->queue = queue;
  gate->key = group;
  resident_bytes_ += bytes_of(*gate);
  return queue->gates.emplace(group, std::move(gate)).first->second.get();
}

void State::touch(GroupGate& gate) {
  if (gate.changed) return;
  gate.changed = true;
  changed_gates_.push_back(&gate);
}

void State::enter_line(Job* job) {
  GroupGate& gate = *gate_of(job->queue, group_of(*job));
  if (job->traits->group_limit != 0) gate.limit = job->traits->group_limit;
  if (gate.waiting++ == 0) gate.number = job->position;
  job->gate = &gate;
  job->line = gate.number;
  gate.line(job->priority);
  touch(gate);
}

void State::hold_slot(Job* job) {
  if (group_of(*job).empty()) return;
  GroupGate& gate = *gate_of(job->queue, group_of(*job));
  if (gate.limit == 0) gate.limit = job->traits->group_limit;
  ++gate.running;
  job->gate = &gate;
  settle_gate(gate);
}

void State::leave_gate(Job* job) {
  GroupGate& gate = *std::exchange(job->gate, nullptr);
  if (std::exchange(job->line, 0) != 0) {
    --gate.waiting;
    touch(gate);
  } else if (!WQ_PLANTED(group_slot_leaks)) {
    --gate.running;
  }
  settle_gate(gate);
}

void State::settle_gate(GroupGate& gate) {
  Queue& queue = *gate.queue;
  const uint64_t free = gate.free_slots();
  const uint64_t parked = gate.waiting > free ? gate.waiting - free : 0;
  queue.parked += parked - gate.parked;
  gate.parked = parked;
  for (const auto& line : gate.lines) {
    const uint64_t at = line->count > 0 ? line->first_position(0) : 0;
    if (at == line->listed_at && (free > 0) == line->is_open) continue;
    Lane& lane = queue.lane(line->priority);
    if (line->listed_at != 0) {
      (line->is_open ? lane.open : lane.shut).erase({line->listed_at, line.get()});
    }
    line->listed_at = at;
    line->is_open = free > 0;
    if (at != 0) (line->is_open ? lane.open : lane.shut).emplace(at, line.get());
  }
  if (gate.waiting > 0) return;
  gate.number = 0;
  gate.lines.clear();
  if (gate.running == 0 && !gate.changed) drop_gate(gate);
}

void State::drop_gate(GroupGate& gate) {
  resident_bytes_ -= bytes_of(gate);
  Queue& queue = *gate.queue;
  queue.gates.erase(queue.gates.find(gate.key));
}

void State::settle_gates(Queue* queue) {
  std::vector<GroupGate*> all;  // settling may drop one
  for (const auto& [key, gate] : queue->gates) all.push_back(gate.get());
  for (GroupGate* gate : all) settle_gate(*gate);
}

// Every job that waits in a line; they are garbage from here on.
void State::clear_lines(Queue* queue) {
  for (const auto& [key, gate] : queue->gates) {
    if (gate->waiting == 0) continue;
    for (const auto& line : gate->lines) {
      garbage_.splice_back(line->head);
      garbage_.splice_back(line->tail);
      line->count = line->cold_count = line->head_count = 0;
    }
    gate->waiting = 0;
    touch(*gate);
  }
  settle_gates(queue);
}

Status State::load_gate(std::string_view key, std::string_view value) {
  const auto name = parse_gate_row_key(key);
  const auto row = decode_gate_row(value);
  Queue* queue = name ? find_queue(name->queue) : nullptr;
  if (!row || !queue || queue->gates.contains(name->group)) {
    return Status(Code::corrupt,
                  "db: family meta: the row of a group is out of place; run wq "
                  "verify, then restore a backup");
  }
  GroupGate& gate = *gate_of(queue, name->group);
  gate.limit = row->limit;
  gate.number = row->number;
  gate.stored = true;
  for (const LaneRow& line_row : row->lines) {
    Lane& line = gate.line(line_row.priority);
    line.count = line.cold_count = line_row.count;
    line.cold_low = line_row.head_hint;
    line.cold_high = queue->next_tail_seq - 1;
    gate.waiting += line_row.count;
  }
  settle_gate(gate);
  return {};
}

std::vector<GateChange> State::take_changed_gates() {
  std::vector<GateChange> out;
  for (GroupGate* gate : std::exchange(changed_gates_, {})) {
    gate->changed = false;
    const bool has_row = gate->waiting > 0;
    if (has_row) {
      GateRow row;
      row.limit = gate->limit;
      row.number = gate->number;
      for (const auto& line : gate->lines) {
        if (line->count == 0) continue;
        row.lines.push_back(LaneRow{line->priority, line->first_position(0), line->count});
      }
      out.push_back({gate_row_key(gate->queue->id, gate->key), encode_gate_row(row)});
    } else if (gate->stored) {
      out.push_back({gate_row_key(gate->queue->id, gate->key), std::nullopt});
    }
    gate->stored = has_row;
    if (!has_row && gate->running == 0) drop_gate(*gate);
  }
  return out;
}

Lane* State::find_lane(Queue* queue, std::string_view group, uint8_t priority) const {
  if (group.empty()) return &queue->lane(priority);
  const auto found = queue->gates.find(group);
  return found == queue->gates.end() ? nullptr : found->second->find_line(priority);
}

// ---- picking

namespace {

constexpr uint64_t nowhere = UINT64_MAX;

uint64_t place_of(const LineOrder& lines, LineOrder::const_iterator line) {
  return line == lines.end() ? nowhere : line->first;
}

}  // namespace

LanePicker::LanePicker(const Lane& lane)
    : lane_(lane), own_(lane.head.front()), open_(lane.open.begin()), shut_(lane.shut.begin()) {}

LanePicker::LanePicker(const Lane& lane, std::vector<GroupGate*>& picked) : LanePicker(lane) {
  picked_ = &picked;
  shut_ = lane.shut.end();
}

void LanePicker::skip_shut() {
  if (!picked_ || WQ_PLANTED(group_limit_unchecked)) return;
  while (open_ != lane_.open.end() && open_->second->gate->free_slots() == 0) ++open_;
  while (!again_.empty() && again_.front().line->gate->free_slots() == 0) {
    std::pop_heap(again_.begin(), again_.end(), later);
    again_.pop_back();
  }
}

Job* LanePicker::take(Lane* line, Job* job) {
  if (!job) {
    cold_ = line;
    return nullptr;
  }
  if (picked_ && line->gate->picked++ == 0) picked_->push_back(line->gate);
  Job* following = line->head.next(job);
  if (following || line->cold_count > 0) {
    again_.push_back({following ? following->position : line->cold_low, line, following});
    std::push_heap(again_.begin(), again_.end(), later);
  }
  return job;
}

Job* LanePicker::next() {
  skip_shut();
  const uint64_t own_at = own_ ? own_->position : lane_.cold_count > 0 ? lane_.cold_low : nowhere;
  const uint64_t open_at = place_of(lane_.open, open_);
  const uint64_t shut_at = place_of(lane_.shut, shut_);
  const uint64_t line_at = std::min(open_at, shut_at);
  const uint64_t again_at = again_.empty() ? nowhere : again_.front().position;
  if (own_at < line_at && own_at < again_at) {
    if (!own_) cold_ = &lane_;
    return own_ ? std::exchange(own_, lane_.head.next(own_)) : nullptr;
  }
  if (line_at < again_at) {
    Lane* line = (open_at < shut_at ? open_ : shut_)++->second;
    return take(line, line->head.front());
  }
  if (again_at == nowhere) return nullptr;
  std::pop_heap(again_.begin(), again_.end(), later);
  const Again found = again_.back();
  again_.pop_back();
  return take(found.line, found.job);
}

}  // namespace wq
