// The part of apply that builds an imported store. Jobs enter in the order in which they are named,
// at the tail of their place, so the order of the file is the order of the store.
#include <string>

#include "base/planted.h"
#include "engine/apply.h"
#include "engine/batch.h"
#include "engine/gate.h"
#include "engine/history.h"
#include "engine/imported_rows.h"
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
    const bool is_member = job->traits && job->traits->batch != 0 && row.state != JobState::dead;
    if (is_member && !WQ_PLANTED(imported_job_in_no_batch)) {
      adopt_member(state, *job);
    }
  }
  return {};
}

Status apply_row(State& state, const KvChange& change) {
  const auto key = parse_imported_row_key(change.key);
  if (!key) return misfit("a row of no family");
  switch (key->family) {
    case Family::unique: {
      const auto name = parse_key_row_key(key->row_key);
      const auto row = decode_key_row(change.value);
      const bool sound = name && name->kind == KeyKind::idempotency && row &&
                         row->until_ms != key_no_end && state.find_queue(name->queue);
      if (!sound) return misfit("row of an idempotency key");
      return adopt_window(state, key->row_key, *row);
    }
    case Family::batch: {
      const auto name = parse_batch_key(key->row_key);
      const auto row = decode_batch_row(change.value);
      if (!name || name->kind != 'b' || !row || (row->pending != 0 && !row->is_finished())) {
        return misfit("row of a batch");
      }
      if (name->batch >= state.next_job_id) return misfit("id of a batch");
      adopt_batch(state, name->batch, *row);
      return {};
    }
    case Family::history: {
      const auto name = parse_history_key(key->row_key);
      const auto row = decode_done_row(change.value);
      Queue* queue = name && !name->by_id && row ? state.find_queue(name->queue) : nullptr;
      if (!queue || name->number != queue->history_next) return misfit("row of a done job");
      put_done(state, *queue, *row);
      state.touch(queue);
      return {};
    }
    default: {  // meta
      const auto name = parse_gate_row_key(key->row_key);
      const bool is_rate = name && name->name.kind == GateName::rate_key;
      const auto row = is_rate ? decode_gate_row(GateName::rate_key, change.value) : std::nullopt;
      Queue* queue = row && row->number == 0 ? state.find_queue(name->queue) : nullptr;
      if (!queue) return misfit("row of a rate key");
      state.adopt_rate_key(queue, name->name.key, row->tat_ns, row->breaker);
      return {};
    }
  }
}

// Batches that a cancel was about to end the members of are looked after from here on.
void apply_end(State& state, Lsn lsn) {
  state.importing = false;
  if (state.batch_members != 0 && !WQ_PLANTED(imported_cancel_forgotten)) state.members_lost = lsn;
}

}  // namespace

Status apply_import(State& state, const Command& command, Lsn lsn) {
  if (command.type == CommandType::import_begin) return apply_begin(state, command);
  if (!state.importing) return misfit("no import has begun");
  if (command.type == CommandType::import_queue) return apply_queue(state, command);
  if (command.type == CommandType::import_jobs) return apply_jobs(state, command);
  if (command.type == CommandType::import_end) {
    apply_end(state, lsn);
    return {};
  }
  for (const KvChange& row : command.kv) WQ_TRY(apply_row(state, row));
  return {};
}

}  // namespace wq
