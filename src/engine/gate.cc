#include "engine/gate.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "engine/state.h"

namespace wq {
namespace {

constexpr size_t gate_key_head_bytes = 1 + sizeof(QueueId);
constexpr size_t row_head_bytes = 12;
constexpr size_t row_line_bytes = 27;  // and the tenant
// A gate, its place in the queue's map, one line and its place among the open ones.
constexpr uint64_t gate_overhead_bytes = 512;

uint64_t bytes_of(const KeyGate& gate) {
  return sizeof(KeyGate) + gate.name.size() + gate_overhead_bytes;
}

}  // namespace

// ---- rows

std::string gate_row_key(QueueId queue, const GateName& name) {
  std::string key(1, name.kind);
  put_be32(key, queue);
  key.append(name.key);
  return key;
}

std::optional<GateKey> parse_gate_row_key(std::string_view key) {
  if (key.size() <= gate_key_head_bytes) return std::nullopt;
  if (key.front() != GateName::group && key.front() != GateName::tenant) return std::nullopt;
  const QueueId queue = get_be32(key.data() + 1);
  const GateName name(key.front(), key.substr(gate_key_head_bytes));
  if (queue == 0 || name.key.size() > key_bytes_max) return std::nullopt;
  return GateKey{queue, name};
}

std::string encode_gate_row(const GateRow& row) {
  std::string out(row_head_bytes, '\0');
  auto* at = reinterpret_cast<std::byte*>(out.data());
  store_le(at, row.limit);
  store_le(at + 4, row.number);
  for (const LineRow& line : row.lines) {
    std::byte fixed[row_line_bytes];
    store_le(fixed, line.lane.priority);
    store_le(fixed + 1, line.lane.head_hint);
    store_le(fixed + 9, line.lane.count);
    store_le(fixed + 17, line.turn);
    store_le(fixed + 25, static_cast<uint16_t>(line.tenant.size()));
    out.append(as_text(fixed)).append(line.tenant);
  }
  return out;
}

std::optional<GateRow> decode_gate_row(std::string_view bytes) {
  if (bytes.size() < row_head_bytes + row_line_bytes) return std::nullopt;
  const std::byte* at = as_bytes(bytes).data();
  GateRow row;
  row.limit = load_le<uint32_t>(at);
  row.number = load_le<uint64_t>(at + 4);
  const std::byte* end = at + bytes.size();
  for (at += row_head_bytes; at != end;) {
    const auto left = static_cast<size_t>(end - at);
    if (left < row_line_bytes) return std::nullopt;
    LineRow line;
    line.lane = {load_le<uint8_t>(at), load_le<uint64_t>(at + 1), load_le<uint64_t>(at + 9)};
    line.turn = load_le<uint64_t>(at + 17);
    const size_t tenant_bytes = load_le<uint16_t>(at + 25);
    if (tenant_bytes > key_bytes_max || tenant_bytes > left - row_line_bytes) return std::nullopt;
    line.tenant = as_text({at + row_line_bytes, tenant_bytes});
    const bool in_order = row.lines.empty() || row.lines.back().lane.priority < line.lane.priority;
    // A tenant may have a line without jobs of its own, for its turn: lines of groups take it.
    const bool has_jobs = line.lane.count != 0;
    if (!in_order || has_jobs != (line.lane.head_hint != 0)) return std::nullopt;
    if (has_jobs && row.number == 0) return std::nullopt;
    row.lines.push_back(std::move(line));
    at += row_line_bytes + tenant_bytes;
  }
  return row;
}

// ---- gates

std::string gate_name_of(const BodyRef& body) {
  const auto traits = trusted_traits(body.bytes());
  return traits ? gate_name_of(*traits).owned() : std::string();
}

bool is_parked(const Job& job) {
  const KeyGate* gate = job.gate;
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

KeyGate* State::gate_of(Queue* queue, const GateName& name) {
  if (const auto found = queue->gates.find(name); found != queue->gates.end()) {
    return found->second.get();
  }
  auto gate = std::make_unique<KeyGate>();
  gate->queue = queue;
  gate->name = name.owned();
  resident_bytes_ += bytes_of(*gate);
  return queue->gates.emplace(gate->name, std::move(gate)).first->second.get();
}

void State::touch(KeyGate& gate) {
  if (gate.changed) return;
  gate.changed = true;
  changed_gates_.push_back(&gate);
}

void State::enter_line(Job* job) {
  KeyGate& gate = *gate_of(job->queue, gate_name_of(*job));
  if (!gate.is_tenant() && job->traits->group_limit != 0) gate.limit = job->traits->group_limit;
  if (gate.waiting++ == 0) gate.number = job->position;
  job->gate = &gate;
  job->line = gate.number;
  line_of(gate, job->priority);
  touch(gate);
}

void State::hold_slot(Job* job) {
  if (!job->traits || job->traits->group.empty()) return;
  KeyGate& gate = *gate_of(job->queue, GateName(GateName::group, job->traits->group));
  if (gate.limit == 0) gate.limit = job->traits->group_limit;
  ++gate.running;
  job->gate = &gate;
  settle_gate(gate);
}

bool State::pick_slot(const Job& job, std::vector<KeyGate*>& picked) {
  KeyGate& gate = *gate_of(job.queue, GateName(GateName::group, job.traits->group));
  if (gate.limit == 0) gate.limit = job.traits->group_limit;
  if (gate.free_slots() == 0) return false;
  if (gate.picked++ == 0) picked.push_back(&gate);
  return true;
}

void State::leave_gate(Job* job) {
  KeyGate& gate = *std::exchange(job->gate, nullptr);
  if (std::exchange(job->line, 0) != 0) {
    --gate.waiting;
    touch(gate);
  } else if (!WQ_PLANTED(group_slot_leaks)) {
    --gate.running;
  }
  settle_gate(gate);
}

// Where the line of a group stands: with the tenant of its first job. While that is only in the
// store, it stays where it is.
Lane& State::home_of(KeyGate& gate, const Lane& line) {
  const Job* first = line.head.front();
  if (!first && line.home) return *line.home;
  const std::string_view tenant = first ? first->traits->tenant : std::string_view();
  if (tenant.empty()) return gate.queue->lane(line.priority);
  return line_of(*gate_of(gate.queue, GateName(GateName::tenant, tenant)), line.priority);
}

void State::unlist(Lane& line) {
  if (line.listed_at == 0) return;
  Lane& home = *line.home;
  (line.is_open ? home.open : home.shut).erase({line.listed_at, &line});
  home.lined -= line.listed_count;
  line.listed_at = 0;
  line.home = nullptr;
  if (home.gate) --home.gate->homed;
}

void State::list(Lane& line, Lane& home, bool open) {
  line.listed_at = line.first_position(0);
  line.is_open = open;
  line.home = &home;
  line.listed_count = line.count;
  (open ? home.open : home.shut).emplace(line.listed_at, &line);
  home.lined += line.count;
  if (home.gate) ++home.gate->homed;
}

// Lists the line anew if that has become another place.
void State::settle_line(KeyGate& gate, Lane& line, bool open) {
  const uint64_t at = line.count > 0 ? line.first_position(0) : 0;
  if (at == 0 && line.listed_at == 0) return;
  Lane* old_home = line.listed_at != 0 ? line.home : nullptr;
  Lane* home = at != 0 ? &home_of(gate, line) : nullptr;
  const bool stays = home == old_home && at == line.listed_at && open == line.is_open;
  if (stays && line.count == line.listed_count) return;
  if (stays) {
    home->lined += line.count - line.listed_count;
    line.listed_count = line.count;
  } else {
    unlist(line);
    if (home) list(line, *home, open);
  }
  for (Lane* lane : {old_home, home == old_home ? nullptr : home}) {
    if (lane) settle_home(*gate.queue, *lane);
  }
}

void State::settle_gate(KeyGate& gate) {
  if (gate.is_tenant()) return settle_tenant(gate);
  Queue& queue = *gate.queue;
  const uint64_t free = gate.free_slots();
  const uint64_t parked = gate.waiting > free ? gate.waiting - free : 0;
  queue.parked += parked - gate.parked;
  gate.parked = parked;
  for (const auto& line : gate.lines) settle_line(gate, *line, free > 0);
  if (gate.waiting > 0) return;
  gate.number = 0;
  gate.lines.clear();
  if (gate.running == 0 && !gate.changed) drop_gate(gate);
}

void State::drop_gate(KeyGate& gate) {
  resident_bytes_ -= bytes_of(gate);
  Queue& queue = *gate.queue;
  queue.gates.erase(queue.gates.find(gate.name));
}

void State::settle_gates(Queue* queue) {
  for (const bool tenants : {false, true}) {  // settling may drop one, and a group a tenant
    std::vector<KeyGate*> all;
    for (const auto& [name, gate] : queue->gates) {
      if (gate->is_tenant() == tenants) all.push_back(gate.get());
    }
    for (KeyGate* gate : all) settle_gate(*gate);
  }
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
  const auto place = parse_gate_row_key(key);
  const auto row = decode_gate_row(value);
  Queue* queue = place ? find_queue(place->queue) : nullptr;
  const auto known = queue ? queue->gates.find(place->name) : Gates::iterator();
  // A group that was loaded before may have made the gate of its tenant.
  if (!row || !queue || (known != queue->gates.end() && known->second->stored)) {
    return Status(Code::corrupt,
                  "db: family meta: the row of a group or tenant is out of place; run wq "
                  "verify, then restore a backup");
  }
  KeyGate& gate = *gate_of(queue, place->name);
  gate.limit = row->limit;
  gate.number = row->number;
  gate.stored = true;
  for (const LineRow& line_row : row->lines) {
    Lane& line = line_of(gate, line_row.lane.priority);
    line.count = line.cold_count = line_row.lane.count;
    line.cold_low = line_row.lane.head_hint;
    line.cold_high = queue->next_tail_seq - 1;
    line.turn = line_row.turn;
    gate.waiting += line.count;
    if (gate.is_tenant() || line_row.tenant.empty()) continue;
    KeyGate* tenant = gate_of(queue, GateName(GateName::tenant, line_row.tenant));
    list(line, line_of(*tenant, line.priority), gate.free_slots() > 0);
    settle_home(*queue, *line.home);
  }
  settle_gate(gate);
  return {};
}

std::vector<GateChange> State::take_changed_gates() {
  std::vector<GateChange> out;
  for (KeyGate* gate : std::exchange(changed_gates_, {})) {
    gate->changed = false;
    const bool has_row = gate->has_lines();
    if (has_row) {
      GateRow row;
      row.limit = gate->limit;
      row.number = gate->number;
      for (const auto& line : gate->lines) {
        if (line->jobs() == 0) continue;
        LineRow& out_line = row.lines.emplace_back();
        out_line.lane = {line->priority, line->count > 0 ? line->first_position(0) : 0,
                         line->count};
        out_line.turn = line->turn;
        if (line->home && line->home->gate) {
          out_line.tenant = GateName(line->home->gate->name).key;
        }
      }
      out.push_back({gate_row_key(gate->queue->id, gate->name), encode_gate_row(row)});
    } else if (gate->stored) {
      out.push_back({gate_row_key(gate->queue->id, gate->name), std::nullopt});
    }
    gate->stored = has_row;
    if (!has_row && gate->running == 0) drop_gate(*gate);
  }
  return out;
}

Lane* State::find_lane(Queue* queue, const GateName& name, uint8_t priority) const {
  if (name.empty()) return &queue->lane(priority);
  const auto found = queue->gates.find(name);
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

LanePicker::LanePicker(const Lane& lane, std::vector<KeyGate*>& picked) : LanePicker(lane) {
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
  if (following) changes_tenant_ = following->traits->tenant != job->traits->tenant;
  if (following || line->cold_count > 0) {
    again_.push_back({following ? following->position : line->cold_low, line, following});
    std::push_heap(again_.begin(), again_.end(), later);
  }
  return job;
}

Job* LanePicker::next() {
  changes_tenant_ = false;
  skip_shut();
  const uint64_t own_at = own_ ? own_->position : lane_.cold_count > 0 ? lane_.cold_low : nowhere;
  const uint64_t open_at = place_of(lane_.open, open_);
  const uint64_t shut_at = place_of(lane_.shut, shut_);
  const uint64_t line_at = std::min(open_at, shut_at);
  const uint64_t again_at = again_.empty() ? nowhere : again_.front().position;
  if (own_at < line_at && own_at < again_at) {
    if (!own_) {
      cold_ = &lane_;
      return nullptr;
    }
    if (picked_ && lane_.gate && lane_.gate->picked++ == 0) picked_->push_back(lane_.gate);
    return std::exchange(own_, lane_.head.next(own_));
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
