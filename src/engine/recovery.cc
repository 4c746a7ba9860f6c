// Recovery: lock, format, a look at the store, log, replay, store, run; always the same road, after
// an orderly close as after a crash. Interrupted anywhere, it can be done again.
#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/planted.h"
#include "engine/batch.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/kv.h"
#include "io/format_file.h"

namespace wq {
namespace {

Status bad_store(const std::string& what) {
  return Status(Code::corrupt, "db: " + what + "; run wq verify, then restore a backup");
}

StoreUuid fresh_uuid(const std::function<uint64_t()>& entropy) {
  StoreUuid uuid{};
  store_le(uuid.data(), entropy());
  store_le(uuid.data() + sizeof(uint64_t), entropy());
  return uuid;
}

// Of the jobs of a queue whose row was written before it told them.
Status count_bytes(const Store& store, QueueRow& queue) {
  const auto cursor = store.scan(Family::job, std::string(), std::string());
  JobId last = 0;
  for (; cursor->valid(); cursor->next()) {
    const auto key = parse_job_key(cursor->key());
    if (!key || key->is_state || key->id == last) continue;
    last = key->id;
    WQ_TRY_SET(const StoredJob job, read_job(store, key->id));
    const auto state = static_cast<size_t>(job.row.state);
    if (job.row.queue != queue.id || job.row.epoch != queue.epochs[state]) continue;
    queue.bytes[state] += job.body.size();
  }
  return cursor->status();
}

// What failed is not yet a store that could be poisoned: the caller is told the cause.
Status cause_of(Status status) {
  if (status.code() != Code::poisoned) return status;
  Code code = Code::io;
  // Without a detail it is one that there was no memory for.
  if (!status.detail() || status.os_errno() == ENOMEM) code = Code::no_memory;
  if (status.os_errno() == ENOSPC || status.os_errno() == EDQUOT) code = Code::no_space;
  return Status(code, status.message(), status.os_errno(), status.offset());
}

// What this library must not open it must not touch either, not even the text in LOCK. So this
// looks before the lock is taken; FORMAT is only ever replaced as a whole.
Status refuse_foreign(Io& io, const std::string& directory, bool create) {
  WQ_TRY(refuse_backup(io, directory));
  auto format = read_format(io, directory, Access::write);
  const Code code = format.status().code();
  // Nor is a file to be left where there is no store: without a LOCK nobody is creating one.
  if (code == Code::not_found && !create) {
    WQ_TRY_SET(const bool locked_once, io.exists(directory + "/LOCK"));
    if (!locked_once) return format.take_status();
  }
  // These two are judged under the lock, when nobody is just creating the store.
  if (code == Code::not_found || code == Code::corrupt) return {};
  return format.take_status();
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::open(const EngineOptions& options,
                                             const Environment& environment) {
  std::unique_ptr<Engine> engine(new Engine(options, environment));
  Status status = caught([&]() -> Status {
    WQ_TRY(engine->open_parts());
    return engine->start_run();
  });
  if (!status.ok()) {
    engine->abandon();
    return cause_of(std::move(status));
  }
  engine->start_threads();
  return engine;
}

// Lets go of everything without writing: what was found stays as it was found.
void Engine::abandon() {
  closed_.store(true);
  log_.reset();
  if (store_) store_->close().ignore("the failure that brought us here is the one to tell");
  directory_lock_.reset();
}

Status Engine::open_parts() {
  Io& io = *environment_.io;
  const std::string& directory = options_.directory;
  WQ_TRY_SET(const bool exists, io.exists(directory));
  if (!exists && !options_.create) {
    return Status(Code::not_found, directory + ": there is no store");
  }
  WQ_TRY(refuse_foreign(io, directory, options_.create));
  if (options_.create) {
    WQ_TRY(make_store_directory(io, directory));
    WQ_TRY(check_place_for_store(io, directory));
  }
  WQ_TRY_SET(directory_lock_, io.lock_dir(directory));

  StoreFormat format;
  bool created = false;
  if (options_.create) {
    const StoreUuid fresh = fresh_uuid(environment_.entropy);
    WQ_TRY_SET(format, read_or_create_format(io, directory, fresh, &created));
  } else {
    WQ_TRY_SET(format, read_format(io, directory, Access::write));
  }
  uuid_ = format.uuid;

  MutexLock lock(mutex_);
  WQ_TRY(look_at_store());

  LogOptions log_options;
  log_options.directory = directory;
  log_options.uuid = uuid_;
  log_options.segment_bytes = options_.segment_bytes;
  log_options.spare_segments = options_.spare_segments;
  log_options.memory_window_ms = options_.memory_window_ms;
  log_options.expected_applied_lsn = applied_lsn_;
  log_options.create = applied_lsn_ == 0;
  WQ_TRY_SET(log_, SegmentLog::open(io, *environment_.clock, log_options));
  recovery_.log = log_->recovery();
  const bool has_database = store_ != nullptr;
  if (!has_database) WQ_TRY(open_store());
  WQ_TRY(replay_log());
  return has_database ? open_store() : Status();
}

// RocksDB writes new files when it opens. On a full disk the spare segments make room for them, or
// a store that could be settled and cleared, and so made smaller, could not be opened.
Status Engine::open_store() {
  if (store_) WQ_TRY(store_->close());
  store_.reset();
  Result<std::unique_ptr<Store>> opened = environment_.open_store(store_options());
  while (!opened.ok() && opened.status().code() == Code::no_space && log_->drop_spare()) {
    opened = environment_.open_store(store_options());
  }
  if (opened.status().code() == Code::no_space) {
    return Status(Code::no_space, opened.status().message() + "; free some space, then open again");
  }
  if (!opened.ok()) return opened.take_status();
  store_ = std::move(opened).value();
  return {};
}

StoreOptions Engine::store_options() const {
  StoreOptions store_options;
  store_options.directory = options_.directory + "/db";
  store_options.temp_directory = options_.directory + "/tmp";
  store_options.cache_bytes = options_.store_cache_bytes;
  store_options.buffer_bytes = options_.store_buffer_bytes;
  return store_options;
}

// Reads the store without a write, so that the log can be checked against it and replayed on it
// before anything is changed. Opening RocksDB for writing rewrites its manifest and drops what that
// does not name: a file that is only missing for now, and comes back after a refused open, would
// find no use for itself. Without a database all of the state must be in the log, which the log
// checks.
Status Engine::look_at_store() {
  StoreOptions read_only = store_options();
  read_only.read_only = true;
  Result<std::unique_ptr<Store>> found = environment_.open_store(read_only);
  if (!found.ok()) {
    if (found.status().code() == Code::not_found) return {};
    return found.take_status();
  }
  store_ = std::move(found).value();
  return load_store();
}

Status Engine::load_store() {
  WQ_TRY_SET(const std::optional<std::string> row, store_->get(Family::meta, meta_row_key()));
  if (!row) return {};  // before the first checkpoint everything is in the log
  WQ_TRY_SET(MetaRow meta, decode_meta_row(as_bytes(*row)));
  const bool ours = meta.uuid_low == load_le<uint64_t>(uuid_.data()) &&
                    meta.uuid_high == load_le<uint64_t>(uuid_.data() + sizeof(uint64_t));
  if (!ours && !WQ_PLANTED(foreign_database_taken)) {
    return bad_store("belongs to another store than the FORMAT file beside it");
  }
  applied_lsn_ = recovery_.applied_lsn = meta.applied_lsn;
  state_.next_job_id = meta.next_job_id;
  state_.next_generation = meta.next_generation;
  state_.next_queue_id = meta.next_queue_id;
  state_.trash = std::move(meta.trash);
  state_.importing = meta.importing;
  state_.batch_members = meta.batch_members;
  state_.members_lost = meta.members_lost;

  const std::string first = queue_row_key(0);
  const auto cursor = store_->scan(Family::meta, first, prefix_end(first.substr(0, 1)));
  for (; cursor->valid(); cursor->next()) {
    WQ_TRY_SET(QueueRow queue, decode_queue_row(as_bytes(cursor->value())));
    if (!queue.bytes_known) WQ_TRY(count_bytes(*store_, queue));
    if (queue.id == 0 || queue.id >= state_.next_queue_id || state_.find_queue(queue.id) ||
        state_.find_queue(queue.name)) {
      return bad_store("queue row " + std::to_string(queue.id) + " is out of place");
    }
    state_.load_queue(queue);
  }
  WQ_TRY(cursor->status());
  WQ_TRY(load_schedules());
  WQ_TRY(load_gates());
  WQ_TRY(load_leases());
  // The first record may be a lease, which was made when all turns were known.
  return WQ_PLANTED(first_turn_unread) ? Status() : read_turns();
}

Status Engine::load_schedules() {
  const std::string first = cron_state_key(std::string_view());
  const auto cursor = store_->scan(Family::cron, first, prefix_end(first));
  for (; cursor->valid(); cursor->next()) {
    const auto name = parse_cron_state_key(cursor->key());
    const auto row = decode_cron_state(cursor->value());
    if (!name || !row || !state_.find_queue(row->queue)) {
      return bad_store("family cron: malformed row");
    }
    Schedule& schedule = state_.cron.add(*name);
    schedule.queue = row->queue;
    state_.cron.set(&schedule, row->state);
  }
  return cursor->status();
}

// Groups and tenants with waiting jobs are always known, and rate keys that are in use. Tenants
// come last: one may have nothing but lines of groups and rate keys that take its turns.
Status Engine::load_gates() {
  for (const char kind : {GateName::group, GateName::rate_key, GateName::tenant}) {
    const std::string first(1, kind);
    const auto cursor = store_->scan(Family::meta, first, prefix_end(first));
    for (; cursor->valid(); cursor->next()) {
      WQ_TRY(state_.load_gate(cursor->key(), cursor->value()));
    }
    WQ_TRY(cursor->status());
  }
  state_.order_turns();
  return {};
}

// Leased and running jobs are always resident.
Status Engine::load_leases() {
  const auto cursor = store_->scan(Family::lease, std::string(), std::string());
  std::vector<Job*> loaded;
  for (; cursor->valid(); cursor->next()) {
    const auto key = parse_seq_key(cursor->key());
    const auto id = parse_id_value(cursor->value());
    if (!key || !id) return bad_store("family lease: malformed row");
    Queue* queue = state_.find_queue(key->queue);
    if (!queue) return bad_store("family lease: row of queue " + std::to_string(key->queue));
    WQ_TRY_SET(StoredJob stored, read_job(*store_, *id));
    const bool held = stored.row.state == JobState::leased || stored.row.state == JobState::running;
    if (!held || !is_live_row(queue, stored.row) || stored.row.position != key->seq ||
        state_.find(*id)) {
      return bad_store("family lease: job " + std::to_string(*id) + " is not where its row says");
    }
    load_rows(state_, stored);
    loaded.push_back(state_.add_stored(queue, *id, stored.full_row(), std::move(stored.body),
                                       stored.has_state_row));
  }
  WQ_TRY(cursor->status());
  // As before the reopen, who has held longest is the first.
  std::stable_sort(loaded.begin(), loaded.end(),
                   [](const Job* a, const Job* b) { return a->since_ms < b->since_ms; });
  for (Job* job : loaded) state_.link_stored(job);
  uint64_t counted = 0;
  for (const auto& [name, queue] : state_.queues()) counted += queue->running_count();
  if (counted != loaded.size()) {
    return bad_store("family lease: " + std::to_string(loaded.size()) + " rows, " +
                     std::to_string(counted) + " counted");
  }
  return {};
}

// ---- replay

Status Engine::replay_log() {
  const int64_t start_ns = environment_.clock->mono_ns();
  if (WQ_PLANTED(events_of_a_replay)) state_.observer = &observer_;
  Command command;
  bool closed_in_order = recovery_.log.last_lsn == 0;
  const auto visit = [&](Lsn lsn, Bytes body) WQ_REQUIRES(mutex_) -> Status {
    const Status status = replay_record(lsn, body, command);
    closed_in_order = command.type == CommandType::close;
    return status;
  };
  WQ_TRY(log_->replay(applied_lsn_ + 1, visit));
  recovery_.clean = closed_in_order && recovery_.log.truncated_bytes == 0;
  recovery_.replay_ms = (environment_.clock->mono_ns() - start_ns) / ns_per_ms;
  return {};
}

Status Engine::replay_record(Lsn lsn, Bytes body, Command& command) {
  const auto at_lsn = [lsn](Status status) {
    return Status(status.code(), "log record " + std::to_string(lsn) + ": " + status.message(),
                  status.os_errno(), status.offset());
  };
  if (Status status = decode_command(body, command); !status.ok()) return at_lsn(status);
  if (Status status = make_resident(command); !status.ok()) return at_lsn(status);
  Effects effects;
  if (Status status = apply(state_, command, lsn, effects); !status.ok()) return at_lsn(status);
  while (state_.sweep_garbage(evict_step_max)) {
  }
  if (Status status = read_turns(); !status.ok()) return at_lsn(status);
  for (const Family family : side_families) drop_clean_rows(family);
  log_bytes_since_checkpoint_ += body.size();
  ++recovery_.records_replayed;
  return {};
}

// Whose turn comes is known before the next lease, as it was when that was made: see Lane::unread.
Status Engine::read_turns() {
  constexpr PageLimits first_job{1, 1};
  while (const Lane* line = state_.unread_line()) {
    const LaneRange range(*line->gate->queue, *line);
    WQ_TRY_SET(LanePage page, read_lane(*store_, range, first_job));
    WQ_TRY(merge_lane(state_, std::move(page)).take_status());
  }
  return {};
}

// Live, whoever makes a command has its jobs resident; a replay has to fetch them.
Status Engine::make_resident(const Command& command) {
  switch (command.type) {
    case CommandType::lease:
    case CommandType::promote:
    case CommandType::cancel:
    case CommandType::expire_jobs:
    case CommandType::overlap:
    case CommandType::reprioritise:
      for (const JobId id : command.ids) WQ_TRY(make_job_resident(id));
      return make_batches_known(command);
    case CommandType::drop_oldest:
    case CommandType::cron_fire:
      for (const JobId id : command.ids) WQ_TRY(make_job_resident(id));
      WQ_TRY(make_batches_known(command));
      return make_keys_known(command);
    case CommandType::dead_replay:
    case CommandType::dead_remove:
    case CommandType::dead_drop:
      for (const SettleItem& entry : command.settles) WQ_TRY(make_job_resident(entry.id));
      return make_keys_known(command);
    case CommandType::enqueue:
      WQ_TRY(make_batches_known(command));
      return make_keys_known(command);
    case CommandType::import_jobs:
      for (const ImportedJob& job : command.imports) {
        WQ_TRY_SET(const DecodedJobRow row, decode_job_row(job.row));
        const uint64_t batch = trusted_batch(row.envelope);
        if (batch != 0) WQ_TRY(make_row_known(Family::batch, batch_row_key(batch)));
      }
      return make_keys_known(command);
    case CommandType::import_rows:
    case CommandType::key_forget:
      return make_keys_known(command);
    case CommandType::kv_write:
      for (const KvChange& change : command.kv) {
        WQ_TRY(make_row_known(Family::kv, kv_row_key(change.key)));
      }
      return {};
    case CommandType::transact:
      for (const Command& part : command.parts) WQ_TRY(make_resident(part));
      return {};
    case CommandType::batch_seal:
    case CommandType::batch_cancel:
    case CommandType::batch_lost:
    case CommandType::batch_forget:
      return make_batches_known(command);
    default:
      return {};
  }
}

Status Engine::make_row_known(Family family, const std::string& key) {
  SideTable& table = state_.side(family);
  if (table.find(key)) return {};
  WQ_TRY_SET(std::optional<std::string> value, store_->get(family, key));
  table.load(key, std::move(value));
  return {};
}

Status Engine::make_job_resident(JobId id) {
  if (state_.find(id)) return {};
  WQ_TRY_SET(StoredJob stored, read_job(*store_, id));
  Queue* queue = state_.find_queue(stored.row.queue);
  if (!queue || !is_live_row(queue, stored.row)) return {};  // apply says what is wrong with it
  if (stored.row.state == JobState::ready) {
    // Leases come in lane order: a page of neighbours now saves a read for each of them.
    const Lane* lane = state_.find_lane(queue, gate_name_of(stored.body), stored.row.priority);
    if (lane && lane->cold_count > 0) {
      WQ_TRY_SET(LanePage page, read_lane(*store_, LaneRange(*queue, *lane), page_limits));
      WQ_TRY(merge_lane(state_, std::move(page)).take_status());
    }
  } else if (stored.row.state == JobState::delayed && state_.cold_delayed_count() > 0) {
    WQ_TRY_SET(DelayPage page, read_delays(*store_, state_.delay_cursor, page_limits));
    WQ_TRY(merge_delays(state_, std::move(page)).take_status());
  }
  if (state_.find(id)) return {};
  return materialize(state_, std::move(stored)).take_status();
}

// ---- the new run

// A lease goes on with its old deadline. If the wall clock was set back while the store was closed,
// it never gets more than its whole length again (R12), which is counted from when the deadline was
// set: a lease that is extended all the time may have begun long ago.
Status Engine::start_run() {
  MutexLock lock(mutex_);
  opened_wall_ms_ = wall_ms();
  opened_mono_ns_ = environment_.clock->mono_ns();
  for (const auto& [name, queue] : state_.queues()) {
    note_packing(queue->config);
    for (Job* job = queue->leased.front(); job; job = queue->leased.next(job)) {
      ++recovery_.leases_kept;
      const int64_t set_ms = job->deadline_set_ms != 0 ? job->deadline_set_ms : job->leased_ms;
      const int64_t length_ms = job->deadline_ms - set_ms;
      if (job->deadline_ms != 0 && opened_wall_ms_ < set_ms &&
          !WQ_PLANTED(lease_grows_with_a_clock_step)) {
        state_.leases().move(job, opened_wall_ms_ + length_ms);
      }
    }
  }
  Command& command = begin(CommandType::open);
  command.unclean = !recovery_.clean;
  WQ_TRY_SET(Lsn lsn, commit(command));
  epoch_ = lsn;
  if (!state_.importing) state_.observer = &observer_;
  if (options_.expire_leases) {
    WQ_TRY(expire_all_leases());
    lsn = log_->last_lsn();
  }
  log_->set_listener([this] { on_log_progress(); });
  lock.unlock();
  // Before this is durable no id or generation of this run may be handed out.
  if (!WQ_PLANTED(open_record_unsynced)) WQ_TRY(log_->wait(lsn, Durability::power));
  check_disk_space();
  return {};
}

}  // namespace wq
