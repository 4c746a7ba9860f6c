// The fold of the log over what was read of the checkpoint. Each record is taken apart into changes
// of one job, those that do not fit are dropped or what must have come before them is made up for,
// and the rest goes through apply().
#include <algorithm>

#include "base/check.h"
#include "engine/apply.h"
#include "engine/keys.h"
#include "engine/salvage_internal.h"
#include "engine/unique.h"

namespace wq {

Salvager::Salvager(ColdSide& cold) : cold_(cold) {
  for (const QueueRow& row : cold.queues) {
    if (state_.find_queue(row.id) || state_.find_queue(row.name)) continue;
    Queue* queue = state_.add_queue(row.id, row.name);
    queue->config = row.config;
    queue->totals = row.totals;
    queue->created_ms = row.created_ms;
    queue->rate_tat_ns = row.rate_tat_ns;
    queue->next_tail_seq = row.next_tail_seq;
    queue->next_front_seq = row.next_front_seq;
    queue->next_dead_seq = row.next_dead_seq;
  }
  if (cold.meta) {
    applied_lsn_ = cold.meta->applied_lsn;
    job_id_limit_ = cold.meta->next_job_id;
    generation_limit_ = cold.meta->next_generation;
  }
  for (const auto& [id, job] : cold.jobs) {
    queue_or_new(job.queue);
    job_id_limit_ = std::max(job_id_limit_, id + 1);
  }
  take_schedules();
}

Queue* Salvager::queue_or_new(QueueId id) {
  if (Queue* queue = state_.find_queue(id)) return queue;
  if (id == 0 || id >= salvaged_queue_max) return nullptr;
  std::string name = "salvaged-queue-" + std::to_string(id);
  while (state_.find_queue(name)) name += "-";
  // A slot of a queue that was deleted can not be used again: its late records have no place.
  if (deleted_.contains(id)) return nullptr;
  return state_.add_queue(id, name);
}

void Salvager::note_missing(Lsn lsn) {
  const Lsn from = std::max(last_lsn_, applied_lsn_) + 1;
  if (lsn <= from) return;
  missing_.emplace_back(from, lsn - 1);
  gap_job_limit_ = job_id_limit_;
  touched_.clear();
}

void Salvager::record(Lsn lsn, Bytes body) {
  if (lsn <= last_lsn_) return;
  note_missing(lsn);
  last_lsn_ = lsn;
  if (lsn <= applied_lsn_ && cold_.gaps.empty() && cold_.kv_whole) return;
  Command command;
  if (!decode_command(body, command).ok()) {
    ++misfits_;
    return;
  }
  take(command, lsn);
}

void Salvager::take(const Command& command, Lsn lsn) {
  switch (command.type) {
    case CommandType::open:
      return on_open(command, lsn);
    case CommandType::close:
      return;
    case CommandType::kv_write:
      return on_kv(command, lsn);
    case CommandType::transact:
      for (const Command& part : command.parts) take(part, lsn);
      return;
    case CommandType::key_forget:
      return;                        // the import builds the rows anew, from the jobs
    case CommandType::batch_create:  // batches stay behind: their jobs go on as jobs without one
      if (command.batch < imported_id_max) {
        job_id_limit_ = std::max(job_id_limit_, command.batch + 1);
      }
      return;
    case CommandType::batch_seal:
    case CommandType::batch_cancel:
    case CommandType::batch_lost:
    case CommandType::batch_forget:
      return;
    case CommandType::cron_put:
    case CommandType::cron_remove:
    case CommandType::cron_fire:
      return on_cron(command, lsn);
    case CommandType::queue_declare:
      return on_declare(command, lsn);
    case CommandType::queue_configure:
    case CommandType::queue_clear:
    case CommandType::queue_delete:
    case CommandType::rate_rebase:
      return on_queue(command, lsn);
    case CommandType::enqueue:
      return on_enqueue(command, lsn);
    case CommandType::lease:
      return on_lease(command, lsn);
    case CommandType::confirm:
    case CommandType::extend:
    case CommandType::settle:
    case CommandType::key_release:
      return on_settle(command, lsn);
    case CommandType::expire:
    case CommandType::promote:
    case CommandType::cancel:
    case CommandType::expire_jobs:
    case CommandType::overlap:
    case CommandType::reprioritise:
      return on_ids(command, lsn);
    case CommandType::progress:
      return on_settle(command, lsn);
    case CommandType::dead_replay:
    case CommandType::dead_remove:
    case CommandType::dead_drop:
      return on_dead(command, lsn);
    case CommandType::drop_oldest:
      on_ids(command, lsn);
      return on_enqueue(command, lsn);
    case CommandType::import_begin:
    case CommandType::import_queue:
    case CommandType::import_jobs:
    case CommandType::import_end:
      return on_import(command, lsn);
  }
}

// What the checkpoint has of the rows of keys that a command names; a debounced job that the
// command ends is made resident.
void Salvager::know_keys(const Command& command) {
  const auto rows = key_rows_of(state_, command);
  if (!rows.ok()) return;
  SideTable& table = state_.side(Family::unique);
  for (const std::string& row_key : rows.value()) {
    std::optional<std::string> value;
    if (!table.find(row_key) && cold_.stores[0].store) {
      auto found = cold_.stores[0].store->get(Family::unique, row_key);
      if (found.ok()) value = std::move(found).value();
    }
    const std::optional<KeyRow> row = value ? decode_key_row(*value) : std::nullopt;
    table.load(row_key, row ? std::move(value) : std::nullopt);
    const auto name = parse_key_row_key(row_key);
    if (row && name && name->kind == KeyKind::debounce) touch(row->holder);
  }
}

void Salvager::change(const Command& command, Lsn lsn) {
  Effects effects;
  know_keys(command);
  if (!apply(state_, command, lsn, effects).ok()) ++misfits_;
  while (state_.sweep_garbage(512)) {
  }
}

// The same command without its items.
Command Salvager::single(const Command& command) const {
  Command out;
  out.reset(command.type, command.now_ms);
  out.queue = command.queue;
  out.deadline_ms = command.deadline_ms;
  out.priority = command.priority;
  out.note = command.note;
  return out;
}

// ---- jobs

Job* Salvager::add_job(Queue* queue, const StoredJob& stored) {
  const JobRow& row = stored.row;
  Job* job = state_.add(queue, stored.id, stored.body);
  state_.set_history(job, stored.full_row());
  const QueueTotals totals = queue->totals;
  switch (row.state) {
    case JobState::delayed:
      state_.enter_delayed(job, row.since_ms, static_cast<int64_t>(row.position));
      break;
    case JobState::leased:
      state_.enter_leased(job, row.leased_ms, row.generation, row.deadline_ms);
      break;
    case JobState::running:
      state_.enter_running(job, row.since_ms, row.deadline_ms);
      break;
    case JobState::dead:
      state_.enter_dead(job, row.since_ms, row.reason);
      break;
    default:
      state_.enter_ready(job, row.since_ms, false);
      break;
  }
  queue->totals = totals;
  job->position = row.position;
  job->since_ms = row.since_ms;
  return job;
}

// Row by row: a damaged neighbour must not be in the way.
Result<StoredJob> Salvager::read(JobId id) {
  const auto found = cold_.jobs.find(id);
  WQ_CHECK(found != cold_.jobs.end());
  const Store& store = *cold_.stores[found->second.source].store;
  StoredJob out;
  out.id = id;
  WQ_TRY_SET(const std::optional<std::string> body, store.get(Family::job, job_body_key(id)));
  if (!body) return Status(Code::corrupt, "db: the job is gone");
  WQ_TRY_SET(const DecodedJobRow decoded, decode_job_row(as_bytes(*body)));
  WQ_TRY(decode_envelope(decoded.envelope).take_status());
  out.body = BodyRef(decoded.envelope);
  out.row = decoded.row;
  out.error = std::string(decoded.row.last_error);
  out.progress = std::string(decoded.row.progress);
  const auto state = store.get(Family::job, job_state_key(id));
  if (state.ok() && state.value()) {
    const auto newer = decode_job_row(as_bytes(*state.value()));
    if (newer.ok()) {
      out.row = newer.value().row;
      out.error = std::string(newer.value().row.last_error);
      out.progress = std::string(newer.value().row.progress);
    }
  }
  out.row.last_error = out.row.progress = {};
  return out;
}

// The job as a resident one; null if there is none, or none that can be read.
Job* Salvager::touch(JobId id) {
  touched_.insert(id);
  if (Job* job = state_.find_live(id)) return job;
  const auto found = cold_.jobs.find(id);
  if (found == cold_.jobs.end()) return nullptr;
  Result<StoredJob> stored = read(id);
  Queue* queue = queue_or_new(found->second.queue);
  cold_.jobs.erase(found);
  if (!stored.ok() || !queue) {
    ++unreadable_;
    return nullptr;
  }
  return add_job(queue, stored.value());
}

void Salvager::make_ready(Job* job, int64_t now_ms) {
  if (job->state == JobState::ready) return;
  state_.leave(job);
  job->reason = DeadReason::none;
  state_.enter_ready(job, now_ms, false);
}

// Its lease is among what is missing.
void Salvager::make_held(Job* job, Generation generation, int64_t now_ms) {
  state_.leave(job);
  ++job->attempts;
  job->reason = DeadReason::none;
  state_.enter_leased(job, now_ms, generation, now_ms);
  generation_limit_ = std::max(generation_limit_, generation + 1);
}

// ---- records

void Salvager::on_open(const Command& command, Lsn lsn) {
  if (!command.unclean || lsn <= applied_lsn_) return;
  job_id_limit_ += unclean_job_id_gap;
  generation_limit_ += unclean_generation_gap;
}

void Salvager::on_declare(const Command& command, Lsn lsn) {
  if (lsn <= applied_lsn_ && cold_.meta) return;
  if (command.queue >= salvaged_queue_max || state_.find_queue(command.queue)) return;
  if (deleted_.contains(command.queue)) return;
  // Names are unique: the one that has it was deleted in what is missing.
  if (const Queue* old = state_.find_queue(command.name)) {
    Command removal;
    removal.reset(CommandType::queue_delete, command.now_ms);
    removal.queue = old->id;
    on_queue(removal, lsn);
  }
  state_.next_queue_id = command.queue;
  change(command, lsn);
}

void Salvager::drop_queue_jobs(QueueId queue, uint32_t states) {
  std::erase_if(cold_.jobs, [&](const auto& entry) {
    return entry.second.queue == queue && (states & state_bit(entry.second.state)) != 0;
  });
}

void Salvager::on_queue(const Command& command, Lsn lsn) {
  if (lsn <= applied_lsn_ && cold_.meta) return;
  if (!queue_or_new(command.queue)) return;
  const bool removed = command.type == CommandType::queue_delete;
  if (removed || command.type == CommandType::queue_clear) {
    drop_queue_jobs(command.queue, removed ? clearable_states : command.states);
  }
  change(command, lsn);
  if (removed) deleted_.insert(command.queue);
}

void Salvager::on_enqueue(const Command& command, Lsn lsn) {
  for (const NewJob& fresh : command.jobs) {
    if (fresh.id >= imported_id_max) continue;
    job_id_limit_ = std::max(job_id_limit_, fresh.id + 1);
    if (!concerns(lsn, fresh.id) || state_.find(fresh.id) || cold_.jobs.contains(fresh.id)) {
      continue;
    }
    if (!queue_or_new(command.queue)) continue;
    Command one = single(command);
    one.jobs.push_back(fresh);
    state_.next_job_id = fresh.id;
    change(one, lsn);
    touched_.insert(fresh.id);
    if (lsn <= applied_lsn_) recovered_.insert(fresh.id);
  }
}

void Salvager::on_lease(const Command& command, Lsn lsn) {
  size_t i = 0;
  for (const LeaseGroup& group : command.groups) {
    for (uint32_t n = 0; n < group.count; ++n, ++i) {
      const JobId id = command.ids[i];
      const Generation generation = command.first_generation + i;
      if (generation >= imported_id_max) continue;
      generation_limit_ = std::max(generation_limit_, generation + 1);
      Job* job = concerns(lsn, id) ? touch(id) : nullptr;
      if (!job || job->generation >= generation || job->queue->id != group.queue) continue;
      make_ready(job, command.now_ms);
      Command one = single(command);
      one.groups.push_back({group.queue, 1, group.deadline_ms});
      one.ids.push_back(id);
      one.first_generation = state_.next_generation = generation;
      change(one, lsn);
    }
  }
}

void Salvager::on_settle(const Command& command, Lsn lsn) {
  for (const SettleItem& item : command.settles) {
    if (item.generation >= imported_id_max) continue;
    Job* job = concerns(lsn, item.id) ? touch(item.id) : nullptr;
    if (!job || job->queue->id != command.queue || item.generation < job->generation) continue;
    const bool held = job->state == JobState::leased || job->state == JobState::running;
    if (item.generation > job->generation) {
      make_held(job, item.generation, command.now_ms);
    } else if (!held) {
      continue;  // the row is of a later moment
    }
    Command one = single(command);
    one.settles.push_back(item);
    // What follows in a chain has the id that it had, unless records are missing.
    state_.next_job_id = std::max(job_id_limit_, item.id + 1);
    if (!missing_.empty()) state_.next_job_id += unclean_job_id_gap;
    const JobId next_id = state_.next_job_id;
    change(one, lsn);
    if (state_.next_job_id != next_id) job_id_limit_ = state_.next_job_id;
  }
}

void Salvager::on_ids(const Command& command, Lsn lsn) {
  for (const JobId id : command.ids) {
    const Job* job = concerns(lsn, id) ? touch(id) : nullptr;
    if (!job) continue;
    const bool held = job->state == JobState::leased || job->state == JobState::running;
    if (command.type == CommandType::expire && (!held || job->deadline_ms == 0)) continue;
    if (command.type == CommandType::promote && job->state != JobState::delayed) continue;
    const bool waits = job->state == JobState::ready || job->state == JobState::delayed;
    if (command.type == CommandType::expire_jobs && !waits) continue;
    if (command.type == CommandType::overlap && (job->state != JobState::ready || !job->traits ||
                                                 job->traits->overlap == OverlapRule::park)) {
      continue;
    }
    if (command.type == CommandType::reprioritise && (!waits || job->queue->id != command.queue)) {
      continue;
    }
    if (command.type == CommandType::drop_oldest &&
        (job->state != JobState::ready || job->queue->id != command.queue)) {
      continue;
    }
    if (command.type == CommandType::cancel &&
        (job->state == JobState::dead || job->queue->id != command.queue)) {
      continue;
    }
    Command one = single(command);
    one.ids.push_back(id);
    change(one, lsn);
  }
}

void Salvager::on_dead(const Command& command, Lsn lsn) {
  Generation next = command.first_generation;  // of a replay; 0: none is given
  for (const SettleItem& entry : command.settles) {
    const Generation fresh = next == 0 || next >= imported_id_max ? 0 : next++;
    if (fresh != 0) generation_limit_ = std::max(generation_limit_, fresh + 1);
    if (entry.generation >= imported_id_max) continue;
    Job* job = concerns(lsn, entry.id) ? touch(entry.id) : nullptr;
    if (!job || job->queue->id != command.queue || entry.generation < job->generation) continue;
    if (job->state != JobState::dead || entry.generation != job->generation) {
      if (lsn <= applied_lsn_) continue;  // the row is of a later moment
      // Its death is among what is missing.
      state_.leave(job);
      job->generation = entry.generation;
      state_.enter_dead(job, command.now_ms, DeadReason::failed);
    }
    Command one = single(command);
    one.settles.push_back(entry);
    if (fresh != 0) one.first_generation = state_.next_generation = fresh;
    change(one, lsn);
  }
}

void Salvager::on_import(const Command& command, Lsn lsn) {
  state_.importing = true;
  if (command.type == CommandType::import_begin) {
    const Result<MetaRow> row = decode_meta_row(command.row);
    if (!row.ok()) return;
    job_id_limit_ = std::max(job_id_limit_, row.value().next_job_id);
    generation_limit_ = std::max(generation_limit_, row.value().next_generation);
  } else if (command.type == CommandType::import_queue) {
    const Result<QueueRow> row = decode_queue_row(command.row);
    if (!row.ok() || (lsn <= applied_lsn_ && cold_.meta)) return;
    if (command.queue >= salvaged_queue_max || state_.find_queue(command.queue) ||
        state_.find_queue(row.value().name)) {
      return;
    }
    state_.next_queue_id = command.queue;
    change(command, lsn);
  } else if (command.type == CommandType::import_jobs && queue_or_new(command.queue)) {
    state_.next_job_id = state_.next_generation = UINT64_MAX;
    for (const ImportedJob& job : command.imports) {
      if (job.id >= imported_id_max || !concerns(lsn, job.id)) continue;
      if (state_.find(job.id) || cold_.jobs.contains(job.id)) continue;
      Command one = single(command);
      one.imports.push_back(job);
      change(one, lsn);
      job_id_limit_ = std::max(job_id_limit_, job.id + 1);
      if (lsn <= applied_lsn_) recovered_.insert(job.id);
    }
  }
}

}  // namespace wq
