#include "engine/gate.h"

#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "engine/observer.h"
#include "engine/state.h"
#include "engine/turns.h"

namespace wq {
namespace {

constexpr size_t gate_key_head_bytes = 1 + sizeof(QueueId);
size_t row_head_bytes(char kind) {
  return kind == GateName::rate_key ? 26 : 12;
}
constexpr size_t row_line_bytes = 27;  // and the tenant
// A gate, its place in the queue's map, one line and its place among the open ones.
constexpr uint64_t gate_overhead_bytes = 512;

uint64_t bytes_of(const KeyGate& gate) {
  return sizeof(KeyGate) + gate.name.size() + gate_overhead_bytes +
         gate.breaker.failed_ms.size() * sizeof(int64_t);
}

bool is_idle(const KeyGate& gate) {
  return gate.waiting == 0 && gate.running == 0;
}

// A group whose jobs all run: its limit says how many more may.
bool keeps_limit(const KeyGate& gate) {
  return gate.limit != 0 && gate.running > 0;
}

// Of a job that does not wait for its group.
uint64_t limit_for(const KeyGate& gate, const JobTraits& traits) {
  if (gate.limit != 0 && !is_idle(gate)) return gate.limit;
  return traits.group_limit != 0 ? traits.group_limit : gate.queue->config.group_limit;
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
  const std::string_view kinds = "ghk";  // GateName
  if (kinds.find(key.front()) == kinds.npos) return std::nullopt;
  const QueueId queue = get_be32(key.data() + 1);
  const GateName name(key.front(), key.substr(gate_key_head_bytes));
  if (queue == 0 || name.key.size() > key_bytes_max) return std::nullopt;
  return GateKey{queue, name};
}

std::string encode_gate_row(char kind, const GateRow& row) {
  const size_t head_bytes = row_head_bytes(kind);
  const std::vector<int64_t>& failed_ms = row.breaker.failed_ms;
  std::string out(head_bytes + failed_ms.size() * sizeof(int64_t), '\0');
  auto* at = reinterpret_cast<std::byte*>(out.data());
  if (kind == GateName::rate_key) {
    store_le(at, row.tat_ns);
    store_le(at + 8, row.breaker.cool_until_ms);
    store_le(at + 16, static_cast<uint16_t>(failed_ms.size()));
  } else {
    store_le(at, row.limit);
  }
  at += head_bytes;
  store_le(at - sizeof row.number, row.number);
  for (const int64_t at_ms : failed_ms) {
    store_le(at, at_ms);
    at += sizeof at_ms;
  }
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

namespace {

// Answers where they end; null if they can not be.
const std::byte* read_exceptions(const std::byte* at, const std::byte* end, size_t count,
                                 Breaker& out) {
  if (out.cool_until_ms < 0 || count > throttle_count_max) return nullptr;
  if (static_cast<size_t>(end - at) < count * sizeof(int64_t)) return nullptr;
  for (; count > 0; --count, at += sizeof(int64_t)) {
    const auto at_ms = load_le<int64_t>(at);
    if (at_ms < (out.failed_ms.empty() ? 0 : out.failed_ms.back())) return nullptr;
    out.failed_ms.push_back(at_ms);
  }
  return at;
}

// Answers where it ends; null if it can not be.
const std::byte* read_line(const std::byte* at, const std::byte* end, char kind, GateRow& row) {
  const auto left = static_cast<size_t>(end - at);
  if (left < row_line_bytes) return nullptr;
  LineRow line;
  line.lane = {load_le<uint8_t>(at), load_le<uint64_t>(at + 1), load_le<uint64_t>(at + 9)};
  line.turn = load_le<uint64_t>(at + 17);
  const size_t tenant_bytes = load_le<uint16_t>(at + 25);
  if (tenant_bytes > key_bytes_max || tenant_bytes > left - row_line_bytes) return nullptr;
  line.tenant = as_text({at + row_line_bytes, tenant_bytes});
  const bool in_order = row.lines.empty() || row.lines.back().lane.priority < line.lane.priority;
  // A tenant may have a line without jobs of its own, for its turn: lines of groups take it.
  const bool has_jobs = line.lane.count != 0;
  if (!in_order || has_jobs != (line.lane.head_hint != 0)) return nullptr;
  const auto unread = static_cast<uint64_t>(LineTenants::unread);
  if (kind != GateName::tenant && line.turn > unread) return nullptr;
  if (has_jobs ? row.number == 0 : kind != GateName::tenant) return nullptr;
  row.lines.push_back(std::move(line));
  return at + row_line_bytes + tenant_bytes;
}

}  // namespace

std::optional<GateRow> decode_gate_row(char kind, std::string_view bytes) {
  const bool is_rate = kind == GateName::rate_key;
  const size_t head_bytes = row_head_bytes(kind);
  if (bytes.size() < head_bytes) return std::nullopt;
  const std::byte* at = as_bytes(bytes).data();
  const std::byte* end = at + bytes.size();
  GateRow row;
  size_t exceptions = 0;
  if (is_rate) {
    row.tat_ns = load_le<int64_t>(at);
    row.breaker.cool_until_ms = load_le<int64_t>(at + 8);
    exceptions = load_le<uint16_t>(at + 16);
  } else {
    row.limit = load_le<uint32_t>(at);
  }
  at += head_bytes;
  row.number = load_le<uint64_t>(at - sizeof row.number);
  at = read_exceptions(at, end, exceptions, row.breaker);
  while (at && at != end) at = read_line(at, end, kind, row);
  if (!at || row.tat_ns < 0) return std::nullopt;
  // That of a rate key may be of its times alone, that of a group of its limit; any other is of
  // waiting jobs.
  const bool has_lines = !row.lines.empty();
  const bool is_limit = kind == GateName::group && row.limit != 0;
  if (!has_lines && (row.number != 0 || !(is_rate || is_limit))) return std::nullopt;
  if (is_rate && has_lines && row.number == 0) return std::nullopt;
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
  if (!gate.is_tenant()) {
    if (is_idle(gate)) gate.limit = 0;  // what jobs named that have gone
    if (job->traits->group_limit != 0) gate.limit = job->traits->group_limit;
  }
  if (gate.waiting++ == 0) gate.number = job->position;
  job->gate = &gate;
  job->line = gate.number;
  note_tenant(line_of(gate, job->priority), *job);
  touch(gate);
}

// The job comes to the line.
void State::note_tenant(Lane& line, const Job& job) {
  if (line.count == 0 || !line.home || line.tenants != LineTenants::one) return;
  if (tenant_of(*line.home) != job.traits->tenant) line.tenants = LineTenants::first;
}

// The job of the line comes to memory. Rows of versions that did not tell say that all jobs are of
// one tenant.
void State::note_stored(Lane& line, const Job& job) {
  note_tenant(line, job);
  if (line.tenants != LineTenants::one && line.head.empty()) line.tenants = LineTenants::unread;
}

void State::hold_slot(Job* job, bool was_held) {
  if (!job->traits || job->traits->group.empty()) return;
  KeyGate& gate = *gate_of(job->queue, GateName(GateName::group, job->traits->group));
  // It has not named its limit before if it does not wait for the group, and was not held.
  const bool is_first = is_idle(gate) && !job->traits->parks() && !was_held;
  if (is_first || gate.limit == 0) {
    const uint32_t limit = std::exchange(gate.limit, job->traits->group_limit);
    if (limit != gate.limit) touch(gate);
  }
  ++gate.running;
  job->gate = &gate;
  settle_gate(gate);
}

bool State::pick_slot(const Job& job, std::vector<KeyGate*>& picked) {
  KeyGate& gate = *gate_of(job.queue, GateName(GateName::group, job.traits->group));
  if (gate.running + gate.picked >= limit_for(gate, *job.traits)) return false;
  if (gate.picked == 0) picked.push_back(&gate);
  ++gate.picked;
  return true;
}

void State::charge_key(const Job& job) {
  if (job.traits->rate_key.empty()) return;
  KeyGate& gate = *gate_of(job.queue, gate_name_of(job));
  gate.breaker.cool_until_ms = 0;  // it is over, whatever the clock will say
  gate.tat_ns =
      cost_charged(job.queue->config.key_rate, gate.tat_ns, time_ms_, job.traits->rate_cost);
  touch(gate);
  settle_gate(gate);
}

// What is resident grows and shrinks with what is counted.
void State::set_breaker(KeyGate& gate, Breaker breaker) {
  resident_bytes_ -= bytes_of(gate);
  gate.breaker = std::move(breaker);
  resident_bytes_ += bytes_of(gate);
}

void State::note_exception(const Job& job, int64_t now_ms) {
  const Throttle& throttle = job.queue->config.throttle;
  if (throttle.count == 0 || job.traits->rate_key.empty()) return;
  KeyGate& gate = *gate_of(job.queue, gate_name_of(job));
  job.queue->keys_ms = std::max(job.queue->keys_ms, now_ms);
  Breaker breaker = gate.breaker;
  if (breaker.note_exception(throttle, now_ms) && observer) {
    observer->key_cools(job, breaker.cool_until_ms);
  }
  set_breaker(gate, std::move(breaker));
  touch(gate);
  settle_gate(gate);
}

void State::note_success(const Job& job) {
  if (job.queue->config.throttle.count == 0 || job.traits->rate_key.empty()) return;
  const auto found = job.queue->gates.find(gate_name_of(job));
  if (found == job.queue->gates.end() || found->second->breaker.failed_ms.empty()) return;
  if (WQ_PLANTED(throttle_success_ignored)) return;
  KeyGate& gate = *found->second;
  set_breaker(gate, {gate.breaker.cool_until_ms});
  touch(gate);
  settle_gate(gate);
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
// store, it stays where it is: the first job is of the same tenant, or nothing is leased before it
// is read.
Lane& State::home_of(KeyGate& gate, const Lane& line) {
  const Job* first = line.head.front();
  if (!first && line.home) return *line.home;
  const std::string_view tenant = first ? first->traits->tenant : std::string_view();
  if (tenant.empty()) return gate.queue->lane(line.priority);
  return line_of(*gate_of(gate.queue, GateName(GateName::tenant, tenant)), line.priority);
}

void State::unlist(Lane& line) {
  if (line.listed_at == 0) return;
  if (line.in_unread.linked()) {
    line.in_unread.unlink();
    --unread_lines_;
  }
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

// Whether the line is among those that are to be read, once it is listed.
void State::settle_unread(Lane& line) {
  const bool wanted = line.is_open && line.tenants == LineTenants::unread;
  if (wanted == line.in_unread.linked()) return;
  if (wanted) {
    line.gate->queue->lane(line.priority).unread.push_back(&line);
    ++unread_lines_;
  } else {
    line.in_unread.unlink();
    --unread_lines_;
  }
}

// Lists the line anew if that has become another place.
void State::settle_line(KeyGate& gate, Lane& line, bool open) {
  if (line.count == 0) {
    line.tenants = LineTenants::one;
  } else if (line.tenants == LineTenants::unread && !line.head.empty()) {
    line.tenants = LineTenants::first;
  }
  const uint64_t at = line.count > 0 ? line.first_position(0) : 0;
  if (at == 0 && line.listed_at == 0) return;
  Lane* old_home = line.listed_at != 0 ? line.home : nullptr;
  Lane* home = at != 0 ? &home_of(gate, line) : nullptr;
  const bool stays = home == old_home && at == line.listed_at && open == line.is_open;
  if (stays) settle_unread(line);
  if (stays && line.count == line.listed_count) return end_kept_turns(*gate.queue, line.priority);
  if (stays) {
    home->lined += line.count - line.listed_count;
    line.listed_count = line.count;
  } else {
    unlist(line);
    if (home) list(line, *home, open);
    if (home) settle_unread(line);
    // The row of the gate names the tenant; that of a line which was read may be another one now.
    const bool moved = home && old_home && home != old_home;
    if (moved && gate.queue->next_turn != 0 && !WQ_PLANTED(moved_line_not_stored)) touch(gate);
  }
  for (Lane* lane : {old_home, home == old_home ? nullptr : home}) {
    if (lane) settle_home(*gate.queue, *lane);
  }
  end_kept_turns(*gate.queue, line.priority);
}

// When it is to be settled again, for time alone. Keys that nobody waits for are dropped once in a
// second, all together.
void State::set_timer(KeyGate& gate, int64_t wait_ms) {
  int64_t due_ms = 0;
  if (gate.shut) {
    due_ms = time_ms_ + wait_ms;
  } else if (gate.waiting == 0 && gate.kept_until_ms() > time_ms_) {
    due_ms = (gate.kept_until_ms() / 1'000 + 1) * 1'000;
  }
  if (due_ms == gate.due_ms) return;
  if (gate.due_ms != 0) timed_gates_.erase({gate.due_ms, &gate});
  gate.due_ms = due_ms;
  if (due_ms == 0) return;
  const auto at = timed_gates_.emplace(due_ms, &gate).first;
  gate_timer_moved |= at == timed_gates_.begin();
}

void State::pass_time(int64_t now_ms) {
  time_ms_ = now_ms;
  while (!timed_gates_.empty() && timed_gates_.begin()->first <= now_ms) {
    KeyGate& gate = *timed_gates_.begin()->second;
    Queue* queue = gate.queue;
    settle_gate(gate);  // moves its timer, or ends it
    want_wake(queue);
  }
}

void State::settle_gate(KeyGate& gate) {
  if (gate.is_tenant()) return settle_tenant(gate);
  Queue& queue = *gate.queue;
  if (gate.is_rate()) {
    const int64_t wait_ms = gate.waiting > 0 ? gate.wait_ms(time_ms_) : 0;
    gate.shut = wait_ms > 0;
    set_timer(gate, wait_ms);
  }
  const uint64_t free = gate.free_slots();
  const uint64_t parked = gate.waiting > free ? gate.waiting - free : 0;
  queue.parked += parked - gate.parked;
  gate.parked = parked;
  for (const auto& line : gate.lines) settle_line(gate, *line, free > 0);
  if (gate.waiting > 0) return;
  gate.number = 0;
  gate.lines.clear();
  if (gate.running > 0 || gate.kept_until_ms() > time_ms_) return;
  if (gate.stored) touch(gate);  // its row goes
  if (!gate.changed) drop_gate(gate);
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

bool State::keys_ahead(const Queue& queue, int64_t now_ms) const {
  return std::any_of(queue.gates.begin(), queue.gates.end(), [&](const auto& entry) {
    const KeyGate& gate = *entry.second;
    return cost_rebased(queue.config.key_rate, gate.tat_ns, now_ms) != gate.tat_ns ||
           gate.breaker.rebased(queue.config.throttle, now_ms) != gate.breaker;
  });
}

void State::rebase_keys(Queue* queue, int64_t now_ms) {
  time_ms_ = now_ms;
  queue->keys_ms = std::max(queue->keys_ms, now_ms);
  for (const auto& [name, gate] : queue->gates) {
    if (!gate->is_rate()) continue;
    // Without a rate nothing is used up, and is not when there is one again.
    const bool has_rate = queue->config.key_rate.count != 0;
    const int64_t tat_ns =
        has_rate ? cost_rebased(queue->config.key_rate, gate->tat_ns, now_ms) : 0;
    if (std::exchange(gate->tat_ns, tat_ns) != tat_ns) touch(*gate);
    Breaker breaker = gate->breaker.rebased(queue->config.throttle, now_ms);
    if (breaker == gate->breaker) continue;
    set_breaker(*gate, std::move(breaker));
    touch(*gate);
  }
  settle_gates(queue);
}

void State::forget_keys(Queue* queue) {
  for (const auto& [name, gate] : queue->gates) {
    gate->tat_ns = 0;
    set_breaker(*gate, {});
  }
  settle_gates(queue);
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
  const auto row = place ? decode_gate_row(place->name.kind, value) : std::nullopt;
  Queue* queue = row ? find_queue(place->queue) : nullptr;
  const auto known = queue ? queue->gates.find(place->name) : Gates::iterator();
  // A group that was loaded before may have made the gate of its tenant.
  if (!queue || (known != queue->gates.end() && known->second->stored)) {
    return Status(Code::corrupt,
                  "db: family meta: the row of a group, tenant or rate key is out of place; run wq "
                  "verify, then restore a backup");
  }
  KeyGate& gate = *gate_of(queue, place->name);
  gate.limit = row->limit;
  gate.tat_ns = row->tat_ns;
  set_breaker(gate, row->breaker);
  gate.number = row->number;
  gate.stored = true;
  for (const LineRow& line_row : row->lines) {
    Lane& line = line_of(gate, line_row.lane.priority);
    line.count = line.cold_count = line_row.lane.count;
    line.cold_low = line_row.lane.head_hint;
    line.cold_high = queue->next_tail_seq - 1;
    gate.waiting += line.count;
    if (gate.is_tenant()) {
      line.turn = line_row.turn;
      continue;
    }
    line.tenants = static_cast<LineTenants>(line_row.turn);
    if (line_row.tenant.empty()) continue;
    KeyGate* tenant = gate_of(queue, GateName(GateName::tenant, line_row.tenant));
    list(line, line_of(*tenant, line.priority), gate.free_slots() > 0);
    settle_home(*queue, *line.home);
  }
  // One without lines keeps the limit for the leases, which are loaded later.
  if (gate.is_rate() || !row->lines.empty()) settle_gate(gate);
  return {};
}

void State::adopt_rate_key(Queue* queue, std::string_view key, int64_t tat_ns, Breaker breaker) {
  KeyGate& gate = *gate_of(queue, GateName(GateName::rate_key, key));
  gate.tat_ns = tat_ns;
  set_breaker(gate, std::move(breaker));
  touch(gate);
  settle_gate(gate);
}

std::vector<GateChange> State::take_changed_gates() {
  std::vector<GateChange> out;
  for (KeyGate* gate : std::exchange(changed_gates_, {})) {
    gate->changed = false;
    const bool is_kept = gate->kept_until_ms() > time_ms_ && !WQ_PLANTED(key_kept_in_memory_only);
    const bool has_row = gate->has_lines() || is_kept || keeps_limit(*gate);
    std::string key = gate_row_key(gate->queue->id, gate->name);
    if (has_row) {
      GateRow row;
      row.limit = gate->limit;
      row.tat_ns = gate->tat_ns;
      if (!WQ_PLANTED(throttle_lost_by_checkpoint)) row.breaker = gate->breaker;
      row.number = gate->number;
      for (const auto& line : gate->lines) {
        if (line->jobs() == 0) continue;
        LineRow& out_line = row.lines.emplace_back();
        out_line.lane = {line->priority, line->count > 0 ? line->first_position(0) : 0,
                         line->count};
        out_line.turn = gate->is_tenant() ? line->turn : static_cast<uint64_t>(line->tenants);
        if (line->home) out_line.tenant = tenant_of(*line->home);
      }
      out.push_back({std::move(key), encode_gate_row(gate->name[0], row)});
    } else if (gate->stored) {
      out.push_back({std::move(key), std::nullopt});
    }
    gate->stored = has_row;
    const bool is_needed = gate->running > 0 || gate->due_ms != 0 || gate->keeps_turn();
    if (!has_row && !is_needed) drop_gate(*gate);
  }
  return out;
}

Lane* State::find_lane(Queue* queue, const GateName& name, uint8_t priority) const {
  if (name.empty()) return &queue->lane(priority);
  const auto found = queue->gates.find(name);
  return found == queue->gates.end() ? nullptr : found->second->find_line(priority);
}

int64_t KeyGate::wait_ms(int64_t now_ms) const {
  uint32_t cost = 1;  // of a job that is only in the store, until it is read
  for (const auto& line : lines) {
    if (line->count == 0) continue;
    if (const Job* job = line->head.front()) cost = job->traits->rate_cost;
    break;
  }
  const int64_t wait_ms = cost_wait_ms(queue->config.key_rate, tat_ns, now_ms, cost);
  if (WQ_PLANTED(throttle_key_never_cools)) return wait_ms;
  return std::max(wait_ms, breaker.cool_until_ms - now_ms);
}

int64_t KeyGate::kept_until_ms() const {
  constexpr int64_t ns_per_ms = 1'000'000;
  const bool has_rate = tat_ns > 0 && queue->config.key_rate.count != 0;
  const int64_t used_until_ms = has_rate ? tat_ns / ns_per_ms + 1 : 0;
  return std::max(used_until_ms, breaker.kept_until_ms(queue->config.throttle));
}

// ---- picking

bool KeyGate::has_room(const Job* job, int64_t now_ms) {
  if (!is_rate()) return free_slots() > 0;
  if (passed_over || !job) return !passed_over;
  passed_over = cost_wait_ms(queue->config.key_rate, picked > 0 ? picked_tat_ns : tat_ns, now_ms,
                             job->traits->rate_cost) > 0;
  return !passed_over;
}

void KeyGate::pick(const Job& job, int64_t now_ms) {
  if (picked++ == 0) picked_tat_ns = tat_ns;
  if (!is_rate()) return;
  picked_tat_ns =
      cost_charged(queue->config.key_rate, picked_tat_ns, now_ms, job.traits->rate_cost);
}

namespace {

constexpr uint64_t nowhere = UINT64_MAX;

uint64_t place_of(const LineOrder& lines, LineOrder::const_iterator line) {
  return line == lines.end() ? nowhere : line->first;
}

}  // namespace

LanePicker::LanePicker(const Lane& lane)
    : lane_(lane), own_(lane.head.front()), open_(lane.open.begin()), shut_(lane.shut.begin()) {}

LanePicker::LanePicker(const Lane& lane, std::vector<KeyGate*>& picked, int64_t now_ms)
    : LanePicker(lane) {
  picked_ = &picked;
  now_ms_ = now_ms;
  shut_ = lane.shut.end();
}

bool LanePicker::may_give(const Lane* line, const Job* job) {
  if (line->gate->has_room(job, now_ms_)) return true;
  // Memory may run out: what is marked is in the list.
  if (std::exchange(line->gate->passed_over, false)) {
    picked_->push_back(line->gate);
    line->gate->passed_over = true;
  }
  return false;
}

void LanePicker::skip_shut() {
  if (!picked_ || WQ_PLANTED(group_limit_unchecked)) return;
  while (open_ != lane_.open.end() && !may_give(open_->second, open_->second->head.front())) {
    ++open_;
  }
  while (!again_.empty() && !may_give(again_.front().line, again_.front().job)) {
    std::pop_heap(again_.begin(), again_.end(), later);
    again_.pop_back();
  }
}

Job* LanePicker::take(Lane* line, Job* job) {
  if (!job) {
    cold_ = line;
    return nullptr;
  }
  if (picked_) {
    if (line->gate->picked == 0) picked_->push_back(line->gate);
    line->gate->pick(*job, now_ms_);
  }
  Job* following = line->head.next(job);
  const bool is_unread = line->cold_count > 0 && line->tenants != LineTenants::one;
  changes_tenant_ = following ? following->traits->tenant != job->traits->tenant : is_unread;
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
    if (picked_ && lane_.gate) {
      if (lane_.gate->picked == 0) picked_->push_back(lane_.gate);
      ++lane_.gate->picked;
    }
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
