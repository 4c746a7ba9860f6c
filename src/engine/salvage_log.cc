// The fold of the log over what was read of the checkpoint. Each record is taken apart into changes
// of one job, those that do not fit are dropped or what must have come before them is made up for,
// and the rest goes through apply().
#include <algorithm>

#include "base/check.h"
#include "base/planted.h"
#include "engine/apply.h"
#include "engine/keys.h"
#include "engine/salvage_internal.h"
#include "engine/unique.h"

namespace wq {
Salvager::Salvager(ColdSide& cold) : cold_(cold), import_open_(cold.meta && cold.meta->importing) {
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
    queue->history_first = row.history_first;
    queue->history_next = row.history_next;
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
  for (const auto& [key, row] : cold.rate_keys) {
    Queue* queue = state_.find_queue(key.first);
    if (queue) state_.adopt_rate_key(queue, key.second, row.tat_ns, row.breaker);
  }
  take_schedules();
}

// Records that the checkpoint covers are older than its rows, and need not fit them.
void Salvager::misfit(Lsn lsn, std::string_view why) {
  if (lsn <= applied_lsn_ || WQ_PLANTED(salvage_misfits_untold)) return;
  Misfit& found = misfits_[why];
  ++found.changes;
  if (found.last_lsn != lsn) ++found.records;
  if (found.first_lsn == 0) found.first_lsn = lsn;
  found.last_lsn = lsn;
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

// The queue that a record names. If it has to be made up, that is told.
Queue* Salvager::queue_of_record(QueueId id, Lsn lsn) {
  if (!state_.find_queue(id)) misfit(lsn, "they name a queue that is not there");
  return queue_or_new(id);
}

void Salvager::note_missing(Lsn lsn) {
  const Lsn from = std::max(last_lsn_, applied_lsn_) + 1;
  if (lsn <= from || WQ_PLANTED(salvage_gap_untold)) return;
  missing_.emplace_back(from, lsn - 1);
  gap_job_limit_ = job_id_limit_;
  touched_.clear();
}

void Salvager::record(Lsn lsn, Bytes body) {
  if (lsn <= last_lsn_) return;
  note_missing(lsn);
  last_lsn_ = lsn;
  const bool tells_more =
      !cold_.gaps.empty() || !cold_.is_whole(Family::kv) || !cold_.is_whole(Family::cron);
  if (lsn <= applied_lsn_ && !tells_more) return;
  Command command;
  if (!decode_command(body, command).ok()) return misfit(lsn, "they can not be decoded");
  if (lsn > applied_lsn_) know_batches();
  for (const NewJob& fresh : command.jobs) {
    if (fresh.id < imported_id_max) job_id_limit_ = std::max(job_id_limit_, fresh.id + 1);
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
      return forget_keys(command, lsn);
    case CommandType::batch_create:
    case CommandType::batch_seal:
    case CommandType::batch_cancel:
    case CommandType::batch_lost:
    case CommandType::batch_forget:
      return on_batch(command, lsn);
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
      if (WQ_PLANTED(salvaged_drop_first)) {
        on_ids(command, lsn);
        return on_enqueue(command, lsn);
      }
      on_enqueue(command, lsn);  // first, as in apply: what a drop sets off has a later id
      return on_ids(command, lsn);
    case CommandType::import_begin:
    case CommandType::import_queue:
    case CommandType::import_jobs:
    case CommandType::import_rows:
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

bool Salvager::change(const Command& command, Lsn lsn) {
  Effects effects;
  know_keys(command);
  const bool fits = apply(state_, command, lsn, effects).ok();
  if (!fits) misfit(lsn, "they do not fit what is known");
  while (state_.sweep_garbage(512)) {
  }
  return fits;
}

// The same for what may set off other jobs: the next one of a chain, what the end of a batch
// enqueues. They get the ids that they had, unless records are missing.
void Salvager::change_and_follow(const Command& command, Lsn lsn, JobId below) {
  state_.next_job_id = std::max(job_id_limit_, below + 1);
  if (!missing_.empty()) state_.next_job_id += unclean_job_id_gap;
  const JobId next_id = state_.next_job_id;
  change(command, lsn);
  if (state_.next_job_id != next_id) job_id_limit_ = state_.next_job_id;
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
  // What befell it was counted then, and its lease charged.
  const std::string_view rate_key = job->traits ? job->traits->rate_key : std::string_view();
  GateRow charged;
  const auto gate = queue->gates.find(GateName(GateName::rate_key, rate_key));
  if (gate != queue->gates.end()) {
    charged.tat_ns = gate->second->tat_ns;
    charged.breaker = gate->second->breaker;
  }
  state_.importing = true;
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
  state_.importing = false;
  if (row.state == JobState::leased && !rate_key.empty()) {
    state_.adopt_rate_key(queue, rate_key, charged.tat_ns, charged.breaker);
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
  if (command.queue >= salvaged_queue_max || state_.find_queue(command.queue) ||
      deleted_.contains(command.queue)) {
    return misfit(lsn, "they declare a queue that is or was there");
  }
  // Names are unique: the one that has it was deleted in what is missing.
  if (const Queue* old = state_.find_queue(command.name)) {
    misfit(lsn, "they declare a queue that is or was there");
    Command removal;
    removal.reset(CommandType::queue_delete, command.now_ms);
    removal.queue = old->id;
    on_queue(removal, lsn);
  }
  state_.next_queue_id = command.queue;
  change(command, lsn);
}

uint64_t Salvager::drop_queue_jobs(QueueId queue, uint32_t states) {
  return std::erase_if(cold_.jobs, [&](const auto& entry) {
    return entry.second.queue == queue && (states & state_bit(entry.second.state)) != 0;
  });
}

void Salvager::on_queue(const Command& command, Lsn lsn) {
  if (lsn <= applied_lsn_ && cold_.meta) return;
  Queue* queue = queue_of_record(command.queue, lsn);
  if (!queue) return;
  const bool removed = command.type == CommandType::queue_delete;
  if (removed || command.type == CommandType::queue_clear) {
    queue->totals.cleared +=
        drop_queue_jobs(command.queue, removed ? clearable_states : command.states);
  }
  change(command, lsn);
  if (removed) deleted_.insert(command.queue);
}

// As one change, as it was made, if each job is new: what it sets off (a debounced job may end a
// batch) gets its ids behind all of them.
bool Salvager::enqueue_all(const Command& command, Lsn lsn) {
  if (lsn <= applied_lsn_ || command.jobs.empty()) return false;
  JobId last = 0;
  for (const NewJob& fresh : command.jobs) {
    if (fresh.id <= last || fresh.id >= imported_id_max || state_.find(fresh.id) ||
        cold_.jobs.contains(fresh.id)) {
      return false;
    }
    last = fresh.id;
  }
  if (!queue_of_record(command.queue, lsn)) return false;
  Command all = single(command);
  all.jobs = command.jobs;
  state_.next_job_id = command.jobs.front().id;
  if (!change(all, lsn)) return false;
  job_id_limit_ = std::max(job_id_limit_, state_.next_job_id);
  for (const NewJob& fresh : command.jobs) touched_.insert(fresh.id);
  return true;
}

void Salvager::on_enqueue(const Command& command, Lsn lsn) {
  if (enqueue_all(command, lsn)) return;
  for (const NewJob& fresh : command.jobs) {
    if (fresh.id >= imported_id_max || !concerns(lsn, fresh.id)) continue;
    if (state_.find(fresh.id) || cold_.jobs.contains(fresh.id)) {
      misfit(lsn, "they enqueue a job that is there already");
      continue;
    }
    if (!queue_of_record(command.queue, lsn)) continue;
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
      if (!concerns(lsn, id)) continue;
      Job* job = touch(id);
      if (!job || job->generation >= generation || job->queue->id != group.queue) {
        misfit(lsn,
               job ? std::string_view("they lease a job that is another one") : no_such_job_why);
        continue;
      }
      if (job->state != JobState::ready) misfit(lsn, "they lease a job that is not ready");
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
    if (item.generation >= imported_id_max || !concerns(lsn, item.id)) continue;
    Job* job = touch(item.id);
    if (!job || job->queue->id != command.queue || item.generation < job->generation) {
      misfit(lsn, job ? std::string_view("they are of a lease that was not the last one")
                      : no_such_job_why);
      continue;
    }
    const bool held = job->state == JobState::leased || job->state == JobState::running;
    if (!held || item.generation > job->generation) {
      misfit(lsn, "they are of a lease that is not known");
      if (item.generation <= job->generation) continue;  // the row is of a later moment
      make_held(job, item.generation, command.now_ms);
    }
    Command one = single(command);
    one.settles.push_back(item);
    change_and_follow(one, lsn, item.id);
  }
}

// Whether a command that names jobs by their ids can be about this one.
bool Salvager::fits(const Command& command, const Job& job) const {
  const bool held = job.state == JobState::leased || job.state == JobState::running;
  const bool waits = job.state == JobState::ready || job.state == JobState::delayed;
  const bool of_queue = job.queue->id == command.queue;
  switch (command.type) {
    case CommandType::expire:
      return held && job.deadline_ms != 0;
    case CommandType::promote:
      return job.state == JobState::delayed;
    case CommandType::expire_jobs:
      return waits;
    case CommandType::overlap:
      return job.state == JobState::ready && job.traits && job.traits->overlap != OverlapRule::park;
    case CommandType::reprioritise:
      return waits && of_queue;
    case CommandType::drop_oldest:
      return job.state == JobState::ready && of_queue;
    default:  // cancel
      return job.state != JobState::dead && of_queue;
  }
}

void Salvager::on_ids(const Command& command, Lsn lsn) {
  for (size_t i = 0; i < command.ids.size(); ++i) {
    const JobId id = command.ids[i];
    if (!concerns(lsn, id)) continue;
    const Job* job = touch(id);
    if (!job || !fits(command, *job)) {
      misfit(lsn, job ? std::string_view("they name a job in another state") : no_such_job_why);
      continue;
    }
    Command one = single(command);
    one.ids.push_back(id);
    if (!command.delays_ms.empty()) one.delays_ms.push_back(command.delays_ms[i]);
    change_and_follow(one, lsn);
  }
}

void Salvager::on_dead(const Command& command, Lsn lsn) {
  Generation next = command.first_generation;  // of a replay; 0: none is given
  for (const SettleItem& entry : command.settles) {
    const Generation fresh = next == 0 || next >= imported_id_max ? 0 : next++;
    if (fresh != 0) generation_limit_ = std::max(generation_limit_, fresh + 1);
    if (entry.generation >= imported_id_max || !concerns(lsn, entry.id)) continue;
    Job* job = touch(entry.id);
    if (!job || job->queue->id != command.queue || entry.generation < job->generation) {
      misfit(lsn, job ? std::string_view("they name a dead letter that is another one")
                      : no_such_job_why);
      continue;
    }
    if (job->state != JobState::dead || entry.generation != job->generation) {
      misfit(lsn, "they name a job that is not dead");
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
  take_import(command, lsn);
  state_.importing = false;
}

void Salvager::take_import(const Command& command, Lsn lsn) {
  if (lsn > applied_lsn_ && !WQ_PLANTED(salvage_of_half_an_import)) {
    import_open_ = command.type != CommandType::import_end;
  }
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
      return misfit(lsn, "they declare a queue that is or was there");
    }
    state_.next_queue_id = command.queue;
    change(command, lsn);
  } else if (command.type == CommandType::import_rows) {
    for (const KvChange& row : command.kv) on_import_row(row, command, lsn);
  } else if (command.type == CommandType::import_jobs) {
    if (command.imports.empty() || !queue_of_record(command.queue, lsn)) return;
    state_.next_job_id = state_.next_generation = UINT64_MAX;
    for (const ImportedJob& job : command.imports) {
      if (job.id >= imported_id_max || !concerns(lsn, job.id)) continue;
      if (state_.find(job.id) || cold_.jobs.contains(job.id)) {
        misfit(lsn, "they enqueue a job that is there already");
        continue;
      }
      Command one = single(command);
      one.imports.push_back(job);
      change(one, lsn);
      job_id_limit_ = std::max(job_id_limit_, job.id + 1);
      if (lsn <= applied_lsn_) recovered_.insert(job.id);
    }
  }
}

}  // namespace wq
