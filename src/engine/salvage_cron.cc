// Schedules in a salvage: those of the checkpoint that have both rows, and what the log did to
// them. One whose record of a run is missing may run that slot again.
#include "engine/salvage_internal.h"

namespace wq {

Status ColdSide::read_schedules(Store& store, const FindingVisitor& visit) {
  std::map<std::string, CronStateRow> states;
  std::map<std::string, std::string> rows;
  uint64_t damaged = 0;
  const auto cursor = store.scan(Family::cron, std::string(), std::string());
  for (; cursor->valid(); cursor->next()) {
    if (const auto name = parse_cron_row_key(cursor->key())) {
      if (decode_cron_row(as_bytes(cursor->value())).ok()) {
        rows.emplace(*name, cursor->value());
        continue;
      }
    } else if (const auto of = parse_cron_state_key(cursor->key())) {
      if (const auto state = decode_cron_state(cursor->value())) {
        states.emplace(*of, *state);
        continue;
      }
    }
    ++damaged;
  }
  const Status status = cursor->status();
  note_whole(Family::cron, status.ok() && damaged == 0);
  for (auto& [name, state] : states) {
    const auto row = rows.find(name);
    if (row == rows.end() || state.queue >= salvaged_queue_max) continue;
    schedules.push_back({name, state, std::move(row->second)});
  }
  SalvageFinding finding;
  finding.kind = is_whole(Family::cron) ? FindingKind::intact : FindingKind::damaged;
  finding.where = "db: family cron";
  finding.what = std::to_string(schedules.size()) + " schedules can be read";
  if (damaged > 0) finding.what += "; " + std::to_string(damaged) + " rows are damaged";
  if (!status.ok()) finding.what += "; " + status.message();
  finding.count = schedules.size();
  return visit(finding);
}

void Salvager::take_schedules() {
  for (const ColdSchedule& cold : cold_.schedules) {
    if (!queue_or_new(cold.state.queue)) continue;
    Command put;
    put.reset(CommandType::cron_put, 0);
    put.queue = cold.state.queue;
    put.name = cold.name;
    put.row = as_bytes(cold.row);
    put.cron.state = cold.state.state;
    change(put, 0);
  }
}

void Salvager::on_cron(const Command& command, Lsn lsn) {
  const bool known = state_.cron.find(command.name) != nullptr;
  if (command.type == CommandType::cron_fire && !(command.jobs.empty() && command.ids.empty())) {
    Command jobs = single(command);
    jobs.type = command.ids.empty() ? CommandType::enqueue : CommandType::drop_oldest;
    jobs.jobs = command.jobs;
    jobs.ids = command.ids;
    take(jobs, lsn);
  }
  if (lsn <= applied_lsn_ && cold_.is_whole(Family::cron)) return;
  if (command.type == CommandType::cron_put) {
    if (queue_of_record(command.queue, lsn)) change(command, lsn);
    return;
  }
  if (!known) return misfit(lsn, "they name a schedule that is not there");
  if (command.type == CommandType::cron_remove) {
    change(command, lsn);
    return;
  }
  const Schedule* schedule = state_.cron.find(command.name);
  if (!queue_of_record(command.queue, lsn)) return;
  if (schedule->queue != command.queue) {
    return misfit(lsn, "they run a schedule of another queue");
  }
  Command fire = single(command);
  fire.name = command.name;
  fire.cron = command.cron;
  fire.cron.slot_ms = schedule->state.next_due_ms;  // records between may be missing
  change(fire, lsn);
}

Status Salvager::write_schedules(Engine& engine, const std::map<QueueId, QueueId>& ids) {
  CallOptions call;
  for (const auto& [name, schedule] : state_.cron.schedules()) {
    const auto* row = state_.side(Family::cron).find(cron_row_key(name));
    if (!row || !*row) continue;
    CronImage image;
    image.name = name;
    image.state = schedule->state;
    WQ_TRY_SET(image.row, decode_cron_row(as_bytes(**row)));
    WQ_TRY_SET(image.job, decode_envelope(image.row.envelope));
    image.encrypt = EncryptWish::no;  // as for jobs
    WQ_TRY(engine.import_schedule(ids.at(schedule->queue), image, call));
  }
  return {};
}

}  // namespace wq
