// Export and import of a whole store.
//
// An import is a run of commands between import_begin and import_end; in between every call on a
// queue answers CONFLICT, also after a crash and a reopen: a store that is only half there is never
// worked on. Ids and generations go on behind those of the store it comes from.
#include <algorithm>
#include <utility>

#include "base/planted.h"
#include "engine/admit.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/keys.h"
#include "engine/next_job.h"
#include "engine/unique.h"

namespace wq {
namespace {

Status invalid(std::string what) {
  return Status(Code::invalid, std::move(what));
}

Status admit_import(const JobImage& job, uint64_t payload_bytes_max) {
  const JobRow& row = job.row;
  switch (row.state) {
    case JobState::ready:
    case JobState::delayed:
    case JobState::leased:
    case JobState::running:
    case JobState::dead:
      break;
    default:
      return invalid("state: unknown value");
  }
  const bool dead = row.state == JobState::dead;
  if (dead != (row.reason != DeadReason::none)) {
    return invalid("dead_reason: goes with state dead");
  }
  if (row.reason > dead_reason_last) return invalid("dead_reason: unknown value");
  WQ_TRY(check_time("since_ms", row.since_ms));
  WQ_TRY(check_time("leased_ms", row.leased_ms));
  WQ_TRY(check_time("first_dead_ms", row.first_dead_ms));
  WQ_TRY(check_time("enqueued_ms", job.envelope.enqueued_ms));
  if (row.state == JobState::delayed) {
    WQ_TRY(check_time("due_ms", static_cast<int64_t>(row.position)));
  }
  if (row.last_error.size() > error_bytes_max) {
    return Status(Code::too_large, "last_error: has over 4096 bytes");
  }
  if (row.progress.size() > progress_bytes_max) {
    return Status(Code::too_large, "progress: has over 4096 bytes");
  }
  WQ_TRY(admit_traits(job.envelope.traits));
  WQ_TRY(check_time("expires_at_ms", job.envelope.traits.expires_ms));
  WQ_TRY(check_time("retry_until_ms", job.envelope.traits.retry_until_ms));
  WQ_TRY(admit_keys(job.envelope.traits));
  WQ_TRY(admit_group(job.envelope.traits));
  WQ_TRY(admit_tenant(job.envelope.traits.tenant));
  WQ_TRY(admit_rate_key(job.envelope.traits));
  if (row.key_until_ms < 0) return invalid("key_until_ms: is negative");
  WQ_TRY(admit_packing(job.envelope));
  const JobTraits& traits = job.envelope.traits;
  if (!traits.chain.empty() && chain_length(as_bytes(traits.chain), traits.batch) == 0) {
    return invalid("chain: is no chain of this job");
  }
  JobSpec spec;
  spec.payload = job.envelope.packing.is_packed() ? Bytes() : job.envelope.payload;
  spec.headers = job.envelope.headers;
  spec.max_attempts = row.max_attempts;
  spec.backoff = job.envelope.backoff;
  return admit_job(spec, payload_bytes_max, 0);
}

// Leases do not survive a move. Whoever held one may have been at work: the attempt stays counted.
JobRow imported_row(const JobImage& job, QueueId queue) {
  JobRow row = job.row;
  row.queue = queue;
  row.epoch = 0;
  row.deadline_ms = row.deadline_set_ms = 0;
  if (row.state == JobState::leased || row.state == JobState::running) row.state = JobState::ready;
  if (row.state != JobState::delayed) row.position = 0;
  return row;
}

// As those of an enqueue (admit.h).
uint64_t counted_bytes(const JobImage& job) {
  JobSpec spec;
  spec.payload = job.envelope.payload;
  spec.headers = job.envelope.headers;
  return wq::counted_bytes(spec) + job.envelope.traits.chain.size() + job.row.last_error.size() +
         job.row.progress.size();
}

std::string job_text(JobId id) {
  return "job " + std::to_string(id);
}

}  // namespace

Status check_time(const char* field, int64_t time_ms) {
  if (time_ms >= 0 && time_ms <= imported_time_max) return {};
  return invalid(std::string(field) + ": " + std::to_string(time_ms) + " is no point in time");
}

Status no_import() {
  return Status(Code::conflict, "no import has begun in this store");
}

Status admit_packing(const Envelope& envelope) {
  const Packing& packing = envelope.packing;
  const char* reason = check_packing(envelope.payload, packing);
  if (!reason && packing.is_sealed() && seal_key_id(envelope.payload) == 0) reason = "no key id";
  return reason ? invalid(std::string("packing: ") + reason) : Status();
}

Status Engine::export_store(std::string_view queue, const ExportVisitor& visitor) {
  WQ_ENTER();
  WQ_TRY(run_checkpoint());
  std::unique_ptr<StoreExport> view;
  {
    // No checkpoint comes between the cursors: together they show one moment.
    MutexLock no_checkpoint(checkpoint_mutex_);
    view = std::make_unique<StoreExport>(*store_, keyring());
  }
  return view->run(queue, wall_ms(), visitor);
}

Status Engine::import_begin(JobId next_job_id, Generation next_generation, CallOptions& call) {
  WQ_ENTER();
  if (next_job_id == 0 || next_job_id > imported_id_max) {
    return invalid("next_job_id: is not within 1 and 2^62");
  }
  if (next_generation == 0 || next_generation > imported_id_max) {
    return invalid("next_generation: is not within 1 and 2^62");
  }
  Lsn lsn = 0;
  {
    MutexLock lock(mutex_);
    if (state_.importing) {
      return Status(Code::conflict,
                    "an import into this store was begun and not finished; remove the store and "
                    "import again");
    }
    if (state_.next_queue_id != 1 && !WQ_PLANTED(import_into_a_used_store)) {
      return Status(Code::conflict, "the store is not new: it has or had queues");
    }
    MetaRow row;
    row.next_job_id = next_job_id;
    row.next_generation = next_generation;
    Command& command = begin(CommandType::import_begin);
    command.row = import_encoder_.meta_row(row);
    WQ_TRY_SET(lsn, commit(command));
    imported_id_max_ = 0;
  }
  return finish(lsn, call, level_for(call, Durability::power));
}

Result<QueueId> Engine::import_queue(const QueueRow& queue, CallOptions& call) {
  WQ_ENTER();
  WQ_TRY(admit_queue_name(queue.name));
  WQ_TRY(admit_queue_config(queue.config));
  WQ_TRY(check_time("created_ms", queue.created_ms));
  if (queue.rate_tat_ns < 0) return invalid("rate_tat_ns: is negative");
  if (queue.config.version == 0) return invalid("version: is 0");
  if (queue.config.status > QueueStatus::disabled) return invalid("status: unknown value");
  Lsn lsn = 0;
  QueueId id = 0;
  {
    MutexLock lock(mutex_);
    if (!state_.importing) return no_import();
    if (state_.find_queue(queue.name)) {
      return Status(Code::conflict, "queue '" + queue.name + "' is there already");
    }
    QueueRow row;
    row.id = id = state_.next_queue_id;
    row.name = queue.name;
    row.config = queue.config;
    row.totals = queue.totals;
    row.created_ms = queue.created_ms;
    row.rate_tat_ns = queue.rate_tat_ns;
    Command& command = begin(CommandType::import_queue);
    command.queue = id;
    command.row = import_encoder_.queue_row(row);
    WQ_TRY_SET(lsn, commit(command));
    note_packing(row.config);
  }
  WQ_TRY(finish(lsn, call, level_for(call, Durability::process)));
  return id;
}

// A queue that can not be taken away stops the store: nobody shall find it half there.
Status Engine::import_undo(QueueId id) {
  WQ_ENTER();
  MutexLock lock(mutex_);
  if (!state_.importing) return no_import();
  Status status = caught([&]() -> Status {
    mutex_.assert_held();
    Command& command = begin(CommandType::queue_delete);
    command.queue = id;
    return commit(command).take_status();
  });
  if (status.ok()) return status;
  if (failure_.ok()) set_failure("a queue that was imported in part could not be removed");
  return failure_;
}

// Ids are unique. One above all that came before can not be there; any other is looked up.
Status Engine::refuse_known(std::span<const JobImage> jobs) {
  std::vector<JobId> doubtful;
  {
    MutexLock lock(mutex_);
    JobId highest = imported_id_max_;
    for (const JobImage& job : jobs) {
      if (state_.find(job.id)) return invalid("id: " + job_text(job.id) + " is given twice");
      if (job.id <= highest) doubtful.push_back(job.id);
      highest = std::max(highest, job.id);
    }
  }
  std::vector<JobId> ids;
  for (const JobImage& job : jobs) ids.push_back(job.id);
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) return invalid("id: " + job_text(*twice) + " is given twice");
  for (const JobId id : doubtful) {
    WQ_TRY_SET(const auto row, store_->get(Family::job, job_body_key(id)));
    if (row && !WQ_PLANTED(import_of_a_known_id)) {
      return invalid("id: " + job_text(id) + " is given twice");
    }
  }
  return {};
}

Status Engine::import_jobs(QueueId id, std::span<const JobImage> jobs, CallOptions& call) {
  WQ_ENTER();
  if (jobs.empty() || jobs.size() > jobs_per_call_max) {
    return invalid("n: " + std::to_string(jobs.size()) + " jobs in one call, give 1 to 10000");
  }
  uint64_t bytes = 0;
  for (const JobImage& job : jobs) {
    if (Status status = admit_import(job, options_.payload_bytes_max); !status.ok()) {
      return Status(status.code(), job_text(job.id) + ": " + status.message());
    }
    bytes += counted_bytes(job);
  }
  if (bytes > call_payload_bytes_max) {
    return Status(Code::too_large, "payload: the jobs of this call have over 512 MiB together");
  }
  WQ_TRY(wait_for_space());
  MutexLock one_at_a_time(import_mutex_);
  WQ_TRY(refuse_known(jobs));
  std::vector<std::byte> arena;
  std::vector<std::pair<size_t, size_t>> places;
  std::vector<std::string> key_rows;
  Encoder encoder;
  Packer packer(keyring(), environment_.random_bytes);
  const PackTarget target = pack_target(id);
  RowPins batches(*this);
  for (const JobImage& job : jobs) {
    batches.add(job.envelope.traits.batch);
    add_key_rows(id, job.envelope.traits, key_rows);
    WQ_TRY_SET(const Bytes envelope, imported_envelope(packer, encoder, job, target));
    const Bytes row = encoder.job_row(imported_row(job, id), envelope);
    places.emplace_back(arena.size(), row.size());
    arena.insert(arena.end(), row.begin(), row.end());
    arena.resize((arena.size() + 7) & ~size_t{7});
  }
  WQ_TRY(batches.take());
  Lsn lsn = 0;
  const auto change = [&]() WQ_REQUIRES(mutex_) -> Status {
    if (!state_.importing) return no_import();
    if (!state_.find_queue(id)) return no_such_queue();
    Command& command = begin(CommandType::import_jobs);
    command.queue = id;
    for (size_t i = 0; i < jobs.size(); ++i) {
      const JobImage& job = jobs[i];
      if (job.id == 0 || (job.id >= state_.next_job_id && !WQ_PLANTED(import_of_any_id))) {
        return invalid("id: " + job_text(job.id) + " is not below next_job_id");
      }
      if (job.row.generation >= state_.next_generation && !WQ_PLANTED(import_of_any_generation)) {
        return invalid("generation: of " + job_text(job.id) + " is not below next_generation");
      }
      command.imports.push_back({job.id, Bytes(arena.data() + places[i].first, places[i].second)});
      imported_id_max_ = std::max(imported_id_max_, job.id);
    }
    WQ_TRY_SET(lsn, commit(command));
    return {};
  };
  WQ_TRY(with_rows(Family::unique, key_rows, change));
  return finish(lsn, call, level_for(call, Durability::process));
}

Status Engine::import_kv(std::span<const KvImage> rows, CallOptions& call) {
  WQ_ENTER();
  if (rows.empty() || rows.size() > jobs_per_call_max) {
    return invalid("n: " + std::to_string(rows.size()) + " rows in one call, give 1 to 10000");
  }
  std::vector<std::string> row_keys;
  uint64_t bytes = 0;
  for (const KvImage& row : rows) {
    WQ_TRY(admit_kv({.verb = KvVerb::put, .key = row.key, .value = row.value}));
    WQ_TRY(check_time("expires_ms", row.expires_ms));
    row_keys.push_back(kv_row_key(row.key));
    bytes += row.key.size() + row.value.size() + row_beside_bytes;
  }
  if (bytes > call_payload_bytes_max) {
    return Status(Code::too_large, "value: the rows of this call have over 512 MiB together");
  }
  std::vector<std::string> sorted = row_keys;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    return invalid("key: is given twice");
  }
  WQ_TRY(wait_for_space());
  Lsn lsn = 0;
  const auto put = [&]() WQ_REQUIRES(mutex_) -> Status {
    if (!state_.importing) return no_import();
    Command& command = begin(CommandType::kv_write);
    for (size_t i = 0; i < rows.size(); ++i) {
      if (*state_.side(Family::kv).find(row_keys[i])) return invalid("key: is given twice");
      command.kv.push_back(
          {.key = rows[i].key, .value = rows[i].value, .expires_ms = rows[i].expires_ms});
    }
    WQ_TRY_SET(lsn, commit(command));
    return {};
  };
  WQ_TRY(with_rows(Family::kv, row_keys, put));
  return finish(lsn, call, level_for(call, Durability::process));
}

Status Engine::import_end(CallOptions& call) {
  WQ_ENTER();
  if (!WQ_PLANTED(import_ends_no_batch)) WQ_TRY(finish_arrived_batches());
  Lsn lsn = 0;
  {
    MutexLock lock(mutex_);
    if (!state_.importing) return no_import();
    WQ_TRY_SET(lsn, commit(begin(CommandType::import_end)));
    state_.observer = &observer_;
    wake_for_timers();
  }
  sweep_after_change(lsn);
  const Durability level = WQ_PLANTED(import_end_unsynced) ? Durability::memory : Durability::power;
  return finish(lsn, call, level_for(call, level));
}

}  // namespace wq
