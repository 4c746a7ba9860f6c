#include "engine/cron.h"

#include <vector>

#include "base/planted.h"
#include "engine/state.h"

namespace wq {
namespace {

constexpr char row_mark = 'd';
constexpr char state_mark = 't';
constexpr uint32_t paused_flag = 1;
constexpr size_t state_row_bytes = 48;

std::string key_of(char mark, std::string_view name) {
  std::string out(1, mark);
  out.append(name);
  return out;
}

std::optional<std::string_view> name_in(char mark, std::string_view key) {
  if (key.size() < 2 || key.front() != mark) return std::nullopt;
  return key.substr(1);
}

Status misfit(const Command& command, const std::string& what) {
  return Status(Code::corrupt, "log record of type " +
                                   std::to_string(static_cast<int>(command.type)) + ": schedule '" +
                                   std::string(command.name) + "' " + what);
}

// The rows are there exactly if memory has the schedule, so none has to be read to be replaced.
// Only for rows that are about to change: the value is none.
void know_row(SideTable& table, const std::string& key, bool there) {
  table.load(key, there ? std::optional<std::string>(std::string()) : std::nullopt);
}

void write_state(State& state, Schedule* schedule, bool there = true) {
  if (WQ_PLANTED(cron_slot_not_stored) && schedule->state.fired > 0) return;
  SideTable& table = state.side(Family::cron);
  const std::string key = cron_state_key(schedule->name);
  know_row(table, key, there);
  table.put(key, encode_cron_state(schedule->queue, schedule->state));
}

void remove_schedule(State& state, Schedule* schedule) {
  SideTable& table = state.side(Family::cron);
  for (const std::string& key : {cron_row_key(schedule->name), cron_state_key(schedule->name)}) {
    know_row(table, key, true);
    table.erase(key);
  }
  state.cron.erase(schedule);
}

Status apply_put(State& state, const Command& command, Lsn lsn) {
  Schedule* schedule = state.cron.find(command.name);
  const bool there = schedule != nullptr;
  if (!there) schedule = &state.cron.add(command.name);
  schedule->queue = command.queue;
  schedule->put_lsn = lsn;
  schedule->problem.clear();
  state.cron.set(schedule, command.cron.state);
  SideTable& table = state.side(Family::cron);
  const std::string key = cron_row_key(command.name);
  know_row(table, key, there);
  table.put(key, std::string(as_text(command.row)));
  write_state(state, schedule, there);
  return {};
}

Status apply_fire(State& state, const Command& command) {
  Schedule* schedule = state.cron.find(command.name);
  if (!schedule || schedule->queue != command.queue) return misfit(command, "is not there");
  if (schedule->state.next_due_ms != command.cron.slot_ms) {
    return misfit(command, "is not due at this slot");
  }
  schedule->problem.clear();
  state.cron.set(schedule, command.cron.state);
  write_state(state, schedule);
  return {};
}

}  // namespace

// ---- the table

Schedule* CronTable::find(std::string_view name) const {
  const auto found = schedules_.find(name);
  return found == schedules_.end() ? nullptr : found->second.get();
}

Schedule& CronTable::add(std::string_view name) {
  auto fresh = std::make_unique<Schedule>();
  fresh->name = name;
  return *schedules_.emplace(name, std::move(fresh)).first->second;
}

void CronTable::erase(Schedule* schedule) {
  waiting_.erase({schedule->wake_ms, schedule->name});
  schedules_.erase(schedules_.find(schedule->name));
}

void CronTable::set(Schedule* schedule, const CronState& state) {
  schedule->state = state;
  wake_at(schedule, state.paused ? 0 : state.next_due_ms);
}

void CronTable::wake_at(Schedule* schedule, int64_t wake_ms) {
  waiting_.erase({schedule->wake_ms, schedule->name});
  schedule->wake_ms = wake_ms;
  if (wake_ms != 0) waiting_.emplace(wake_ms, schedule->name);
}

void CronTable::end_rests() {
  for (const auto& [name, schedule] : schedules_) set(schedule.get(), CronState(schedule->state));
}

Schedule* CronTable::first() const {
  return waiting_.empty() ? nullptr : find(waiting_.begin()->second);
}

// ---- rows

std::string cron_row_key(std::string_view name) {
  return key_of(row_mark, name);
}

std::string cron_state_key(std::string_view name) {
  return key_of(state_mark, name);
}

std::optional<std::string_view> parse_cron_row_key(std::string_view key) {
  return name_in(row_mark, key);
}

std::optional<std::string_view> parse_cron_state_key(std::string_view key) {
  return name_in(state_mark, key);
}

std::string encode_cron_state(QueueId queue, const CronState& state) {
  std::string out(state_row_bytes, '\0');
  auto* const to = reinterpret_cast<std::byte*>(out.data());
  store_le(to, queue);
  store_le(to + 4, state.paused ? paused_flag : uint32_t{0});
  store_le(to + 8, state.next_due_ms);
  store_le(to + 16, state.last_slot_ms);
  store_le(to + 24, state.created_ms);
  store_le(to + 32, state.fired);
  store_le(to + 40, state.missed);
  return out;
}

std::optional<CronStateRow> decode_cron_state(std::string_view bytes) {
  if (bytes.size() != state_row_bytes) return std::nullopt;
  const std::byte* const from = as_bytes(bytes).data();
  CronStateRow row;
  row.queue = load_le<uint32_t>(from);
  const auto flags = load_le<uint32_t>(from + 4);
  row.state.paused = (flags & paused_flag) != 0;
  row.state.next_due_ms = load_le<int64_t>(from + 8);
  row.state.last_slot_ms = load_le<int64_t>(from + 16);
  row.state.created_ms = load_le<int64_t>(from + 24);
  row.state.fired = load_le<uint64_t>(from + 32);
  row.state.missed = load_le<uint64_t>(from + 40);
  const bool sound = row.queue != 0 && flags <= paused_flag && row.state.next_due_ms >= 0 &&
                     row.state.last_slot_ms >= 0 && row.state.created_ms >= 0;
  return sound ? std::optional<CronStateRow>(row) : std::nullopt;
}

// ---- apply

Status apply_cron(State& state, const Command& command, Lsn lsn) {
  if (command.type == CommandType::cron_put) return apply_put(state, command, lsn);
  if (command.type == CommandType::cron_fire) return apply_fire(state, command);
  Schedule* schedule = state.cron.find(command.name);
  if (!schedule) return misfit(command, "is not there");
  remove_schedule(state, schedule);
  return {};
}

void remove_schedules(State& state, QueueId queue) {
  std::vector<Schedule*> removed;
  for (const auto& [name, schedule] : state.cron.schedules()) {
    if (schedule->queue == queue) removed.push_back(schedule.get());
  }
  for (Schedule* schedule : removed) remove_schedule(state, schedule);
}

}  // namespace wq
