// Produce: enqueue, cancel, get.
#include <algorithm>

#include "engine/admit.h"
#include "engine/batch.h"
#include "engine/engine.h"
#include "engine/engine_internal.h"
#include "engine/job_limits.h"
#include "engine/next_job.h"

namespace wq {
namespace {

int64_t due_of(const JobSpec& spec, int64_t now_ms) {
  if (spec.run_at_ms != 0) return spec.run_at_ms > now_ms ? spec.run_at_ms : 0;
  return spec.delay_ms != 0 ? now_ms + spec.delay_ms : 0;
}

std::vector<Bytes> views_of(const std::vector<std::byte>& arena,
                            const std::vector<std::pair<size_t, size_t>>& places) {
  std::vector<Bytes> views;
  views.reserve(places.size());
  for (const auto& [offset, size] : places) views.emplace_back(arena.data() + offset, size);
  return views;
}

void tell_refused(std::span<EnqueueOutcome> outcomes, size_t first, Code code) {
  for (size_t i = first; i < outcomes.size(); ++i) outcomes[i] = EnqueueOutcome{code, 0};
}

}  // namespace

Status admit_to_queue(const Queue& queue) {
  if (queue.config.status == QueueStatus::disabled) return Code::disabled;
  return {};
}

// `accepted`: how many, from the first on, are good. The status is that of the next one.
Status Engine::admit_jobs(std::span<const JobSpec> specs, int64_t now_ms, size_t& accepted) {
  uint64_t bytes = 0;
  for (accepted = 0; accepted < specs.size(); ++accepted) {
    const JobSpec& spec = specs[accepted];
    WQ_TRY(admit_job(spec, options_.payload_bytes_max, now_ms));
    if (!spec.chain.empty()) {
      WQ_TRY(admit_chain(spec, options_.payload_bytes_max, now_ms));
      MutexLock lock(mutex_);
      WQ_TRY(admit_chain_queues(spec));
    }
    bytes += counted_bytes(spec);
    if (bytes > call_payload_bytes_max) {
      return Status(Code::too_large, "payload: the jobs of this call have over 512 MiB together");
    }
  }
  return {};
}

// `accepted`: as that of admit_jobs().
Status Engine::admit_to_batches(std::span<const JobSpec> specs, size_t& accepted) const {
  uint64_t last = 0;
  for (accepted = 0; accepted < specs.size(); ++accepted) {
    const uint64_t batch = specs[accepted].traits.batch;
    if (batch != last) WQ_TRY(admit_to_batch(batch));
    last = batch;
  }
  return {};
}

NewJob new_job_of(const JobSpec& spec, JobId id, Bytes envelope, int64_t now_ms) {
  NewJob job;
  job.id = id;
  job.due_ms = due_of(spec, now_ms);
  job.priority = spec.priority;
  job.max_attempts = spec.max_attempts;
  job.envelope = envelope;
  return job;
}

Command& Engine::begin_enqueue(QueueId id, int64_t now_ms, const std::vector<JobId>& dropped) {
  Command& command =
      begin(dropped.empty() ? CommandType::enqueue : CommandType::drop_oldest, now_ms);
  command.queue = id;
  command.ids = dropped;
  return command;
}

// How many of the jobs, from the first on, may join their batches and have room in the queue: all
// of them, or as many as can if `partial`; then the outcomes of the others say why not.
Result<Engine::Load> Engine::load_of(const Queue& queue, std::span<const JobSpec> specs,
                                     std::span<const std::pair<size_t, size_t>> places,
                                     bool partial, std::span<EnqueueOutcome> outcomes) const {
  size_t joining = 0;
  Status refusal = admit_to_batches(specs, joining);
  Load load;
  if (refusal.ok()) {
    for (const auto& [offset, size] : places) load.add(size);
    refusal = admit_load(queue, load);
    if (refusal.ok()) return load;
  }
  if (!partial) return refusal;
  load = Load{};
  for (const auto& [offset, size] : places.first(joining)) {
    Load more = load;
    more.add(size);
    Status full = admit_load(queue, more);
    if (!full.ok()) {
      refusal = std::move(full);
      break;
    }
    load = more;
  }
  if (load.jobs == 0) return refusal;
  tell_refused(outcomes, load.jobs, refusal.code());
  return load;
}

Status Engine::enqueue(QueueId id, const JobSpec& spec, CallOptions& call, JobId& job_id) {
  WQ_ENTER();
  const bool plain = spec.chain.empty() && spec.traits.batch == 0 && !spec.traits.has_keys();
  if (!plain || !pack_policy(id).leaves(spec.encrypt)) return enqueue_one(id, spec, call, job_id);
  WQ_TRY(admit_job(spec, options_.payload_bytes_max, has_times(spec) ? wall_ms() : 0));
  WQ_TRY(wait_for_space());
  Lsn lsn = 0;
  Durability level = Durability::power;
  {
    MutexLock lock(mutex_);
    const int64_t now_ms = wall_ms();
    std::vector<JobId> dropped;
    Bytes envelope;
    for (bool room = false; !room;) {
      WQ_TRY_SET(Queue * queue, queue_for(id));
      WQ_TRY(admit_to_queue(*queue));
      level = level_for(call, queue->config.durability);
      envelope =
          envelope_encoder_.envelope(spec.headers, spec.payload, spec.backoff, now_ms, spec.traits);
      Load load;
      load.add(envelope.size());
      WQ_TRY(admit_load(*queue, load));
      if (spec.dry_run) return {};
      WQ_TRY_SET(room, make_room(*queue, load, dropped));
    }
    Command& command = begin_enqueue(id, now_ms, dropped);
    job_id = state_.next_job_id;
    command.jobs.push_back(new_job_of(spec, job_id, envelope, now_ms));
    const bool delayed = command.jobs[0].due_ms != 0;
    WQ_TRY_SET(lsn, commit(command));
    if (delayed) wake_for_timers();
  }
  return finish(lsn, call, level);
}

// Jobs with keys. One that meets a holder is left out and told as DUPLICATE; the others come in.
struct Engine::KeyedJobs {
  std::span<const JobSpec> specs;
  std::vector<Bytes> envelopes;
  Packer& packer;
  bool partial = false;
  std::span<EnqueueOutcome> outcomes = {};
  Code refusal = Code::ok;  // of those of the call that are not among `specs`

  std::vector<NewJob> jobs = {};
  Load load = {};
  size_t accepted = 0;  // of `specs`: those before the first that was refused
  std::vector<JobId> dropped = {};
  Lsn lsn = 0;
  bool again = false;  // the lock was released to make room
};

Result<size_t> Engine::enqueue_many(QueueId id, std::span<const JobSpec> specs, bool partial,
                                    CallOptions& call, std::span<EnqueueOutcome> outcomes) {
  WQ_ENTER();
  if (specs.empty() || specs.size() > jobs_per_call_max) {
    return Status(Code::invalid,
                  "n: " + std::to_string(specs.size()) + " jobs in one call, give 1 to 10000");
  }
  const int64_t now_ms = wall_ms();
  size_t accepted = 0;
  const Status refusal = admit_jobs(specs, now_ms, accepted);
  tell_refused(outcomes, 0, refusal.code());
  if (!refusal.ok() && (!partial || accepted == 0)) return refusal;
  WQ_TRY(wait_for_space());

  // Envelopes are built before the lock: a large batch must not hold it for long.
  std::vector<std::byte> arena;
  std::vector<std::pair<size_t, size_t>> places;  // offset and size in the arena
  places.reserve(accepted);
  Encoder encoder;
  Packer packer(keyring(), environment_.random_bytes);
  RowPins batches(*this);
  bool keyed = false;
  for (size_t i = 0; i < accepted; ++i) {
    const JobSpec& spec = specs[i];
    keyed |= spec.traits.has_keys();
    WQ_TRY_SET(const Bytes envelope, job_envelope(packer, encoder, id, spec, now_ms));
    batches.add(spec.traits.batch);
    places.emplace_back(arena.size(), envelope.size());
    arena.insert(arena.end(), envelope.begin(), envelope.end());
    arena.resize((arena.size() + 7) & ~size_t{7});
  }
  WQ_TRY(batches.take());
  if (keyed) {
    KeyedJobs coming{specs.first(accepted), views_of(arena, places), packer, partial, outcomes,
                     refusal.code()};
    return enqueue_keyed(id, coming, call);
  }
  Lsn lsn = 0;
  Durability level = Durability::power;
  {
    MutexLock lock(mutex_);
    std::vector<JobId> dropped;
    for (bool room = false; !room;) {
      WQ_TRY_SET(Queue * queue, queue_for(id));
      WQ_TRY(admit_to_queue(*queue));
      level = level_for(call, queue->config.durability);
      tell_refused(outcomes, places.size(), refusal.code());  // also if it was told others before
      const auto good = specs.first(places.size());
      WQ_TRY_SET(const Load load, load_of(*queue, good, places, partial, outcomes));
      accepted = load.jobs;
      if (specs[0].dry_run) return accepted;
      WQ_TRY_SET(room, make_room(*queue, load, dropped));
    }
    Command& command = begin_enqueue(id, wall_ms(), dropped);
    bool delayed = false;
    for (size_t i = 0; i < accepted; ++i) {
      const Bytes envelope(arena.data() + places[i].first, places[i].second);
      const NewJob& job = command.jobs.emplace_back(
          new_job_of(specs[i], state_.next_job_id + i, envelope, command.now_ms));
      delayed |= job.due_ms != 0;
      if (i < outcomes.size()) outcomes[i] = EnqueueOutcome{Code::ok, job.id};
    }
    WQ_TRY(packer.bind(command.jobs, state_.find_queue(id)->name));
    WQ_TRY_SET(lsn, commit(command));
    if (delayed) wake_for_timers();
  }
  WQ_TRY(finish(lsn, call, level));
  return accepted;
}

// What becomes of the first `count` of them. `each_alone`: the status is that of the first one that
// there is no room for, which ends it; else of all of them together.
Status Engine::place_keyed(const Queue& queue, KeyPlan& plan, KeyedJobs& coming, size_t count,
                           bool each_alone, int64_t now_ms) {
  coming.jobs.clear();
  coming.load = Load();
  const auto admit = [&]() WQ_REQUIRES(mutex_) {
    coming.load.leaving = plan.leaving();
    coming.load.replaced = plan.replaced();
    return admit_load(queue, coming.load);
  };
  // A dry run makes no job, so the ids of its own ones are those of nobody.
  const JobId told_below = coming.specs[0].dry_run ? state_.next_job_id : UINT64_MAX;
  const auto told = [&](JobId job_id) { return job_id < told_below ? job_id : 0; };
  size_t& i = coming.accepted;
  for (i = 0; i < count; ++i) {
    const JobSpec& spec = coming.specs[i];
    const Bytes envelope = coming.envelopes[i];
    NewJob job = new_job_of(spec, state_.next_job_id + coming.jobs.size(), envelope, now_ms);
    WQ_TRY_SET(const JobId holder, plan.place(spec, job.id, envelope.size(), job.due_ms));
    if (i < coming.outcomes.size()) {
      coming.outcomes[i] = holder != 0 ? EnqueueOutcome{Code::duplicate, told(holder)}
                                       : EnqueueOutcome{Code::ok, told(job.id)};
    }
    if (holder != 0) continue;  // also if its batch has ended by now
    WQ_TRY(admit_to_batch(spec.traits.batch));
    coming.load.add(envelope.size());
    if (each_alone) WQ_TRY(admit());
    coming.jobs.push_back(job);
  }
  return coming.jobs.empty() ? Status() : admit();
}

// All of them, or if asked those before the first refusal: they are looked at once more then,
// without what the refused one would have taken.
Status Engine::admit_keyed(Queue& queue, ColdJobs& cold, KeyedJobs& coming) {
  const int64_t now_ms = wall_ms();
  tell_refused(coming.outcomes, coming.specs.size(), coming.refusal);
  size_t count = coming.specs.size();
  for (bool each_alone = false;;) {
    KeyPlan plan(state_, cold, queue.id, now_ms);
    const Status refusal = place_keyed(queue, plan, coming, count, each_alone, now_ms);
    if (!refusal.ok()) {
      if (!coming.partial) return refusal;
      if (coming.accepted == count) {  // no room for all of them together
        each_alone = true;
        continue;
      }
      if (coming.accepted == 0) return refusal;
      count = coming.accepted;
      tell_refused(coming.outcomes, count, refusal.code());
      continue;
    }
    if (coming.jobs.empty() || coming.specs[0].dry_run) return {};
    WQ_TRY_SET(const bool room, make_room(queue, coming.load, coming.dropped));
    coming.again = !room;
    if (!room) return {};
    Command& command = begin_enqueue(queue.id, now_ms, coming.dropped);
    command.jobs.assign(coming.jobs.begin(), coming.jobs.end());
    WQ_TRY(coming.packer.bind(command.jobs, queue.name));
    WQ_TRY_SET(coming.lsn, commit_resident(command, plan.replaced(), cold));
    wake_for_timers();
    return {};
  }
}

Result<size_t> Engine::enqueue_keyed(QueueId id, KeyedJobs& coming, CallOptions& call) {
  std::vector<std::string> rows;
  for (const JobSpec& spec : coming.specs) add_key_rows(id, spec.traits, rows);
  Durability level = Durability::power;
  const auto add = [&](ColdJobs& cold) WQ_REQUIRES(mutex_) -> Status {
    coming.again = false;
    WQ_TRY_SET(Queue * queue, queue_for(id));
    WQ_TRY(admit_to_queue(*queue));
    level = level_for(call, queue->config.durability);
    return admit_keyed(*queue, cold, coming);
  };
  do {
    WQ_TRY(with_holders(rows, 0, add));
  } while (coming.again);
  if (coming.lsn != 0) {
    WQ_TRY(finish(coming.lsn, call, level));
    return coming.accepted;
  }
  // Nothing to write, but whoever is told of a holder may rely on it: its record comes first.
  const bool waits = level != Durability::memory && !coming.specs[0].dry_run;
  if (waits) WQ_TRY(log_->wait(log_->last_lsn(), level));
  return coming.accepted;
}

// One that needs more than the plain path has.
Status Engine::enqueue_one(QueueId id, const JobSpec& spec, CallOptions& call, JobId& job_id) {
  EnqueueOutcome outcome;
  WQ_TRY(enqueue_many(id, {&spec, 1}, false, call, {&outcome, 1}).take_status());
  job_id = outcome.id;
  return outcome.code == Code::duplicate ? key_is_held(job_id) : Status();
}

Status Engine::cancel(QueueId id, JobId job_id, CallOptions& call) {
  Lsn lsn = 0;
  const auto check = [&](JobState state, Generation) -> Status {
    if (state != JobState::dead) return {};
    return Status(Code::conflict, "job " + std::to_string(job_id) +
                                      " is a dead letter; replay or remove it as one");
  };
  const auto change = [&]() WQ_REQUIRES(mutex_) -> Status {
    Command& command = begin(CommandType::cancel);
    command.queue = id;
    command.ids.push_back(job_id);
    WQ_TRY_SET(lsn, commit(command));
    return {};
  };
  WQ_TRY(with_job(id, job_id, check, change));
  return finish(lsn, call, level_for(call, Durability::power));
}

Result<JobView> Engine::find_job(QueueId id, JobId job_id) {
  WQ_ENTER();
  for (;;) {
    uint64_t version = 0;
    {
      MutexLock lock(mutex_);
      WQ_TRY_SET(Queue * queue, queue_for(id));
      if (const Job* job = state_.find(job_id)) {
        if (!State::is_live(job) || job->queue != queue) return no_such_job(job_id);
        JobView view;
        const Now at = now();
        open_gates(at.wall_ms);
        view_of(*job, at, view);
        view.queue_name = queue->name;
        return view;
      }
      if (job_id == 0 || job_id >= state_.next_job_id) return no_such_job(job_id);
      version = store_version_;
    }
    WQ_TRY_SET(StoredJob stored, read_job(*store_, job_id));
    MutexLock lock(mutex_);
    if (version != store_version_ || state_.find(job_id)) continue;
    WQ_TRY_SET(Queue * queue, queue_for(id));
    if (!is_live_row(queue, stored.row)) return no_such_job(job_id);
    open_gates(wall_ms());
    return view_of_stored(std::move(stored), *queue);
  }
}

// ---- reading jobs

void Engine::view_of(const Job& job, const Now& now, JobView& view) const {
  view.id = job.id;
  view.generation = job.generation;
  view.state = job.state;
  view.reason = job.reason;
  view.priority = job.priority;
  view.attempts = job.attempts;
  view.exceptions = job.exceptions;
  view.max_attempts = attempts_allowed(job);
  view.replays = job.replays;
  view.first_dead_ms = job.first_dead_ms;
  view.since_ms = job.since_ms;
  view.due_ms = job.state == JobState::delayed ? static_cast<int64_t>(job.position) : 0;
  view.leased_ms = job.leased_ms;
  view.dead_seq = job.state == JobState::dead ? job.position : 0;
  view.ready_seq = job.state == JobState::ready ? job.position : 0;
  if (job.deadline_ms != 0) {
    // The timer is of the clock that never steps; people read the wall clock. Unless that one was
    // set meanwhile, the deadline is the one of the lease: two clocks read one after the other
    // would make it wander.
    constexpr int64_t clock_step_ms = 1000;
    const int64_t remaining_ms = job.timer_ms - now.run_ms;
    view.remaining_ms = remaining_ms > 0 ? remaining_ms : 0;
    view.deadline_ms = now.wall_ms + remaining_ms;
    const int64_t difference_ms = view.deadline_ms - job.deadline_ms;
    if (difference_ms > -clock_step_ms && difference_ms < clock_step_ms) {
      view.deadline_ms = job.deadline_ms;
    }
  }
  view.parked = is_parked(job);
  if (job.last_error) view.last_error = *job.last_error;
  if (job.progress) view.progress = *job.progress;
  view.body = job.body;
  if (job.packed) view.packing = trusted_packing(job.body.bytes());
  if (!job.traits) return;
  mutex_.assert_held();
  view.batch = job.traits->batch;
  view.chain_jobs = job.traits->chain_jobs;
  view.batch_cancelled = view.batch != 0 && is_batch_cancelled(state_, view.batch);
}

namespace {

// is_parked() of a job that is only in the store; it may be true as well for the second and later
// ones of a line that find a slot.
bool is_parked_in_store(const Queue& queue, const StoredJob& stored) {
  const auto found = queue.gates.find(gate_name_of(stored.body));
  if (found == queue.gates.end()) return false;
  const KeyGate& gate = *found->second;
  uint64_t free = gate.free_slots();
  for (const auto& line : gate.lines) {
    if (line->priority == stored.row.priority) {
      // No more jobs of the line are before it than there are places.
      const uint64_t position = stored.row.position;
      const uint64_t before = position - std::min(position, line->first_position(position));
      return gate.parked > 0 && before >= free;
    }
    free -= std::min(free, line->count);
  }
  return false;
}

}  // namespace

JobView Engine::view_of_stored(StoredJob stored, const Queue& queue) const {
  const JobRow& row = stored.row;
  JobView view;
  view.batch_cancelled = cancelled_batch_of(state_, stored.id, &stored) != 0;
  view.id = stored.id;
  view.generation = row.generation;
  view.state = row.state;
  view.reason = row.reason;
  view.priority = row.priority;
  view.attempts = row.attempts;
  view.exceptions = row.exceptions;
  view.max_attempts = row.max_attempts != 0 ? row.max_attempts : queue.config.max_retries + 1;
  view.replays = row.replays;
  view.first_dead_ms = row.first_dead_ms;
  view.since_ms = row.since_ms;
  view.due_ms = row.state == JobState::delayed ? static_cast<int64_t>(row.position) : 0;
  view.leased_ms = row.leased_ms;
  view.dead_seq = row.state == JobState::dead ? row.position : 0;
  view.ready_seq = row.state == JobState::ready ? row.position : 0;
  view.parked = row.state == JobState::ready && is_parked_in_store(queue, stored);
  view.queue_name = queue.name;
  view.last_error = std::move(stored.error);
  view.progress = std::move(stored.progress);
  view.body = std::move(stored.body);
  view.packing = trusted_packing(view.body.bytes());
  if (const auto traits = trusted_traits(view.body.bytes())) {
    view.batch = traits->batch;
    view.chain_jobs = traits->chain_jobs;
  }
  return view;
}

}  // namespace wq
