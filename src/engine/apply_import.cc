// The part of apply that builds an imported store. Jobs enter in the order in which they are named,
// at the tail of their place, so the order of the file is the order of the store.
#include <string>

#include "engine/apply.h"
#include "engine/unique.h"

namespace wq {
namespace {

Status misfit(const std::string& what) {
  return Status(Code::corrupt, "log record of an import does not fit the state: " + what);
}

Status apply_begin(State& state, const Command& command) {
  if (state.importing || state.next_queue_id != 1) return misfit("the store is not new");
  WQ_TRY_SET(const MetaRow row, decode_meta_row(command.row));
  // An unclean stop before the import may have raised them, but no queue means that none was used.
  state.next_job_id = row.next_job_id;
  state.next_generation = row.next_generation;
  state.importing = true;
  state.observer = nullptr;  // jobs that come in were enqueued elsewhere
  return {};
}

Status apply_queue(State& state, const Command& command) {
  WQ_TRY_SET(QueueRow row, decode_queue_row(command.row));
  if (command.queue != state.next_queue_id || row.id != command.queue ||
      state.find_queue(row.name)) {
    return misfit("queue " + std::to_string(command.queue) + " exists");
  }
  Queue* queue = state.add_queue(command.queue, row.name);
  queue->config = row.config;
  queue->totals = row.totals;
  queue->created_ms = row.created_ms;
  queue->rate_tat_ns = row.rate_tat_ns;
  state.next_queue_id = command.queue + 1;
  state.touch(queue);
  return {};
}

void enter(State& state, Job* job, const JobRow& row) {
  switch (row.state) {
    case JobState::delayed:
      return state.enter_delayed(job, row.since_ms, static_cast<int64_t>(row.position));
    case JobState::dead:
      state.enter_dead(job, row.since_ms, row.reason);
      --job->queue->totals.dead;  // counted when it died; the totals came with the queue
      return;
    default:
      return state.enter_ready(job, row.since_ms, false);
  }
}

Status apply_jobs(State& state, const Command& command) {
  Queue* queue = state.find_queue(command.queue);
  if (!queue) return misfit("no queue " + std::to_string(command.queue));
  for (const ImportedJob& imported : command.imports) {
    WQ_TRY_SET(const DecodedJobRow decoded, decode_job_row(imported.row));
    const JobRow& row = decoded.row;
    if (imported.id >= state.next_job_id || row.generation >= state.next_generation ||
        state.find(imported.id)) {
      return misfit("job " + std::to_string(imported.id) + " can not come in");
    }
    Job* job = state.add(queue, imported.id, BodyRef(decoded.envelope));
    state.set_history(job, row);
    if (job->traits) WQ_TRY(adopt_keys(state, *job, command.now_ms));
    enter(state, job, row);
  }
  return {};
}

}  // namespace

Status apply_import(State& state, const Command& command) {
  if (command.type == CommandType::import_begin) return apply_begin(state, command);
  if (!state.importing) return misfit("no import has begun");
  if (command.type == CommandType::import_queue) return apply_queue(state, command);
  if (command.type == CommandType::import_jobs) return apply_jobs(state, command);
  state.importing = false;
  return {};
}

}  // namespace wq
