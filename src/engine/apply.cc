#include "engine/apply.h"

#include <algorithm>
#include <string>

#include "base/planted.h"
#include "engine/batch.h"
#include "engine/cron.h"
#include "engine/follow_up.h"
#include "engine/history.h"
#include "engine/job_limits.h"
#include "engine/kv.h"
#include "engine/observer.h"
#include "engine/unique.h"

namespace wq {
namespace {

Status misfit(const Command& command, const std::string& what) {
  return Status(Code::corrupt, "log record of type " +
                                   std::to_string(static_cast<int>(command.type)) +
                                   " does not fit the state: " + what);
}

Status misfit_job(const Command& command, JobId id, const char* what) {
  return misfit(command, "job " + std::to_string(id) + " " + what);
}

void enter_ready_or_delayed(State& state, Job* job, int64_t now_ms, int64_t delay_ms, bool front) {
  if (job->traits && !may_run_again(state, *job)) {
    ++job->queue->totals.cancelled;
    state.end(job, EndReason::cancelled, now_ms);
    return;
  }
  if (delay_ms > 0) {
    state.enter_delayed(job, now_ms, now_ms + delay_ms);
  } else {
    state.enter_ready(job, now_ms, front);
  }
}

// A lost attempt: again if one is left, else to the dead letters. The job has left its place.
void retry_or_bury(State& state, Job* job, int64_t now_ms, DeadReason cause, int64_t delay_ms,
                   bool front) {
  if (WQ_PLANTED(attempt_counted_late)) ++job->attempts;
  const DeadReason reason = last_attempt_reason(*job, cause, now_ms);
  if (reason != DeadReason::none) {
    state.enter_dead(job, now_ms, reason);
    return;
  }
  const int64_t wait_ms = delay_ms >= 0 ? delay_ms : retry_delay_ms(*job);
  ++job->failures;
  enter_ready_or_delayed(state, job, now_ms, wait_ms, front);
}

Status apply_open(State& state, const Command& command) {
  if (command.unclean) {
    if (!WQ_PLANTED(job_ids_reused)) state.next_job_id += unclean_job_id_gap;
    if (!WQ_PLANTED(generations_reused)) state.next_generation += unclean_generation_gap;
  }
  return {};
}

Status apply_declare(State& state, const Command& command) {
  if (command.queue != state.next_queue_id || state.find_queue(command.name)) {
    return misfit(command, "queue " + std::to_string(command.queue) + " exists");
  }
  Queue* queue = state.add_queue(command.queue, std::string(command.name));
  queue->config = command.config;
  queue->created_ms = command.now_ms;
  state.next_queue_id = command.queue + 1;
  state.touch(queue);
  return {};
}

Status apply_configure(State& state, const Command& command, Queue* queue) {
  const bool other_ttl = queue->config.job_ttl_ms != command.config.job_ttl_ms;
  queue->config = command.config;
  if (other_ttl) {
    state.renew_expiries(queue);
    state.cold_expiry_ms = 0;
  }
  queue->dead_due_ms = state.dead_trim_ms = 0;  // lower caps may be among it
  state.touch(queue);
  queue->rate_tat_ns = rate_rebased(queue->config.rate, queue->rate_tat_ns, command.now_ms);
  state.rebase_keys(queue, command.now_ms);
  state.want_wake(queue);  // resumed, or a higher limit
  return {};
}

uint64_t revoke_leases(State& state, Queue* queue, JobState which, int64_t now_ms) {
  uint64_t revoked = 0;
  for (Job* job = queue->leased.front(); job != nullptr;) {
    Job* following = queue->leased.next(job);
    if (job->state == which) {
      state.leave(job);
      state.end(job, EndReason::cleared, now_ms);
      ++revoked;
    }
    job = following;
  }
  return revoked;
}

Status apply_clear(State& state, const Command& command, Queue* queue, Lsn lsn, Effects& effects) {
  for (const JobState which : {JobState::ready, JobState::delayed, JobState::dead}) {
    if (command.states & state_bit(which)) effects.count += state.clear_state(queue, which, lsn);
  }
  for (const JobState which : {JobState::leased, JobState::running}) {
    if (command.states & state_bit(which)) {
      effects.count += revoke_leases(state, queue, which, command.now_ms);
    }
  }
  queue->totals.cleared += effects.count;
  if (state.batch_members != 0 && effects.count != 0) state.members_lost = lsn;
  return {};
}

Status apply_delete(State& state, const Command& command, Queue* queue, Lsn lsn, Effects& effects) {
  Command clear = command;
  clear.states = clearable_states;
  WQ_TRY(apply_clear(state, clear, queue, lsn, effects));
  state.want_wake(queue);
  remove_schedules(state, queue->id);
  state.remove_queue(queue);
  return {};
}

Status apply_part(State& state, const Command& command, Lsn lsn, Effects& effects);

// All new jobs of a record take their ids, which are in it, and join their batches before anything
// else is done: the job that a debounced one takes the place of, or that is dropped, may be the
// last that a batch waits for, and the end of a batch makes another job.
Status add_jobs(State& state, const Command& command) {
  Queue* queue = command.jobs.empty() ? nullptr : state.find_queue(command.queue);
  for (const NewJob& fresh : command.jobs) {
    if (!queue) return misfit(command, "no queue " + std::to_string(command.queue));
    if (fresh.id < state.next_job_id) return misfit_job(command, fresh.id, "exists already");
    state.next_job_id = fresh.id + 1;
    Job* job = state.add(queue, fresh.id, BodyRef(fresh.envelope));
    job->priority = fresh.priority;
    job->max_attempts = fresh.max_attempts;
    if (job->traits) on_enqueued(state, *job);
  }
  for (const Command& part : command.parts) WQ_TRY(add_jobs(state, part));
  return {};
}

Status apply_enqueue(State& state, const Command& command, Queue* queue) {
  for (const NewJob& fresh : command.jobs) {
    Job* job = state.find(fresh.id);
    if (job->traits) WQ_TRY(take_keys(state, *job, command.now_ms));
    if (fresh.due_ms > command.now_ms) {
      state.enter_delayed(job, command.now_ms, fresh.due_ms);
    } else {
      state.enter_ready(job, command.now_ms, false);
    }
  }
  queue->totals.enqueued += command.jobs.size();
  return {};
}

Status apply_drop(State& state, const Command& command, Queue* queue) {
  WQ_TRY(apply_enqueue(state, command, queue));
  for (const JobId id : command.ids) {
    Job* job = state.find_live(id);
    if (!job || job->queue != queue || job->state != JobState::ready) {
      return misfit_job(command, id, "can not be dropped");
    }
    state.leave(job);
    state.end(job, EndReason::dropped, command.now_ms);
    if (!WQ_PLANTED(drop_uncounted)) ++queue->totals.dropped;
  }
  return {};
}

Status apply_lease(State& state, const Command& command) {
  if (command.first_generation < state.next_generation) return misfit(command, "old generation");
  state.pass_time(command.now_ms);
  Generation generation = command.first_generation;
  size_t i = 0;
  for (const LeaseGroup& group : command.groups) {
    Queue* queue = state.find_queue(group.queue);
    if (!queue) return misfit(command, "no queue " + std::to_string(group.queue));
    queue->rate_tat_ns =
        rate_charged(queue->config.rate, queue->rate_tat_ns, command.now_ms, group.count);
    for (uint32_t n = 0; n < group.count; ++n, ++i) {
      Job* job = state.find_live(command.ids[i]);
      if (!job || job->queue != queue || job->state != JobState::ready) {
        return misfit_job(command, command.ids[i], "is not ready");
      }
      state.take_turn(*job);
      state.leave(job);
      if (!WQ_PLANTED(attempt_counted_late)) ++job->attempts;
      const bool keep = WQ_PLANTED(replay_keeps_generation) && job->replays > 0;
      state.enter_leased(job, command.now_ms, keep ? job->generation : generation,
                         group.deadline_ms);
      ++generation;
    }
    queue->totals.leased += group.count;
  }
  state.next_generation = generation;
  return {};
}

Status apply_confirm(State& state, const Command& command, Queue* queue) {
  const SettleItem& token = command.settles[0];
  if (!check_lease(state, queue, token.id, token.generation).ok()) {
    return misfit_job(command, token.id, "is not leased");
  }
  Job* job = state.find_live(token.id);
  state.leave(job);
  state.enter_running(job, command.now_ms, command.deadline_ms);
  return {};
}

Status apply_extend(State& state, const Command& command, Queue* queue) {
  for (const SettleItem& token : command.settles) {
    if (!check_lease(state, queue, token.id, token.generation).ok()) {
      return misfit_job(command, token.id, "is not leased");
    }
    Job* job = state.find_live(token.id);
    if (job->deadline_ms != 0) state.set_deadline(job, command.now_ms, command.deadline_ms);
  }
  return {};
}

// The reason that the worker gave for the end of the job.
DeadReason told_reason(const SettleItem& item) {
  return item.reason != DeadReason::none ? item.reason : DeadReason::failed;
}

void apply_nack(State& state, Job* job, const SettleItem& item, int64_t now_ms) {
  Queue* queue = job->queue;
  if (state.observer) {
    state.observer->nacked(*job, item.error, !(item.flags & settle_no_exception));
  }
  ++queue->totals.nacked;
  if (!(item.flags & settle_no_exception)) {
    ++job->exceptions;
    if (job->traits) on_exception(state, *job, now_ms);
  }
  if (item.flags & settle_priority) job->priority = item.priority;
  if (!item.error.empty()) state.set_error(job, item.error);
  retry_or_bury(state, job, now_ms, told_reason(item), item.delay_ms,
                (item.flags & settle_front) != 0);
}

Status apply_settle(State& state, const Command& command, Queue* queue) {
  for (const SettleItem& item : command.settles) {
    if (!check_lease(state, queue, item.id, item.generation).ok()) {
      return misfit_job(command, item.id, "is not leased");
    }
    Job* job = state.find_live(item.id);
    job->claimed = false;
    state.leave(job);
    switch (item.kind) {
      case SettleKind::ack:
        ++queue->totals.acked;
        if (queue->keeps_done()) keep_done(state, *job, item, command.now_ms);
        state.end(job, EndReason::acked, command.now_ms);
        break;
      case SettleKind::nack:
        apply_nack(state, job, item, command.now_ms);
        break;
      case SettleKind::fail:
        if (state.observer) state.observer->failed(*job, item.error);
        ++queue->totals.failed;
        if (!item.error.empty()) state.set_error(job, item.error);
        state.enter_dead(job, command.now_ms, told_reason(item));
        break;
      case SettleKind::release:
        if (state.observer) state.observer->released();
        ++queue->totals.released;
        --job->attempts;  // counted at lease; it never started
        enter_ready_or_delayed(state, job, command.now_ms, item.delay_ms,
                               (item.flags & settle_front) != 0);
        break;
    }
  }
  return {};
}

Status apply_expire(State& state, const Command& command) {
  for (size_t i = 0; i < command.ids.size(); ++i) {
    const JobId id = command.ids[i];
    Job* job = state.find_live(id);
    if (!job || job->deadline_ms == 0 ||
        (job->state != JobState::leased && job->state != JobState::running)) {
      return misfit_job(command, id, "has no lease to expire");
    }
    state.leave(job);
    if (state.observer) state.observer->expired(*job);
    ++job->queue->totals.expired;
    const int64_t delay_ms = command.delays_ms.empty() ? -1 : command.delays_ms[i];
    retry_or_bury(state, job, command.now_ms, DeadReason::lease_expired, delay_ms, false);
  }
  return {};
}

Status apply_promote(State& state, const Command& command) {
  for (const JobId id : command.ids) {
    Job* job = state.find_live(id);
    if (!job || job->state != JobState::delayed) return misfit_job(command, id, "is not delayed");
    state.leave(job);
    state.enter_ready(job, command.now_ms, false);
  }
  return {};
}

Status apply_cancel(State& state, const Command& command, Queue* queue) {
  for (const JobId id : command.ids) {
    Job* job = state.find_live(id);
    if (!job || job->queue != queue || job->state == JobState::dead) {
      return misfit_job(command, id, "can not be cancelled");
    }
    state.leave(job);
    state.end(job, EndReason::cancelled, command.now_ms);
    ++queue->totals.cancelled;
  }
  return {};
}

// A replayed job gets a generation of its own, although nobody holds it: entries and tokens of the
// time before name another one for ever, also if it dies again without a lease.
Status replay(State& state, Job* job, int64_t now_ms, Generation generation) {
  job->attempts = job->exceptions = job->failures = 0;
  job->reason = DeadReason::none;
  if (generation != 0 && !WQ_PLANTED(replay_keeps_generation)) job->generation = generation;
  ++job->replays;
  ++job->queue->totals.replayed;
  if (job->traits) WQ_TRY(retake_key(state, *job, now_ms));
  state.enter_ready(job, now_ms, false);
  if (job->traits) on_replayed(state, *job);
  return {};
}

Status apply_dead(State& state, const Command& command, Queue* queue) {
  Generation generation = command.first_generation;  // 0: a record from before they were given
  if (generation != 0 && generation < state.next_generation) {
    return misfit(command, "old generation");
  }
  for (const SettleItem& entry : command.settles) {
    Job* job = state.find_live(entry.id);
    if (!job || job->queue != queue || job->state != JobState::dead ||
        (job->generation != entry.generation && !WQ_PLANTED(dead_entry_unchecked))) {
      return misfit_job(command, entry.id, "is no such dead letter");
    }
    job->claimed = false;
    state.leave(job);
    if (command.type == CommandType::dead_remove) {
      state.end(job, EndReason::cleared, command.now_ms);
      ++queue->totals.cleared;
    } else if (command.type == CommandType::dead_drop) {
      state.end(job, EndReason::dropped, command.now_ms);
      ++queue->totals.dead_dropped;
    } else {
      WQ_TRY(replay(state, job, command.now_ms, generation));
      if (generation != 0) state.next_generation = ++generation;
    }
  }
  return {};
}

Status apply_to_queue(State& state, const Command& command, Lsn lsn, Effects& effects) {
  Queue* queue = state.find_queue(command.queue);
  if (!queue) return misfit(command, "no queue " + std::to_string(command.queue));
  state.touch(queue);
  switch (command.type) {
    case CommandType::queue_configure:
      return apply_configure(state, command, queue);
    case CommandType::queue_clear:
      return apply_clear(state, command, queue, lsn, effects);
    case CommandType::queue_delete:
      return apply_delete(state, command, queue, lsn, effects);
    case CommandType::enqueue:
      return apply_enqueue(state, command, queue);
    case CommandType::confirm:
      return apply_confirm(state, command, queue);
    case CommandType::extend:
      return apply_extend(state, command, queue);
    case CommandType::settle:
      return apply_settle(state, command, queue);
    case CommandType::cancel:
      return apply_cancel(state, command, queue);
    case CommandType::dead_replay:
    case CommandType::dead_remove:
    case CommandType::dead_drop:
      return apply_dead(state, command, queue);
    case CommandType::reprioritise:
      return apply_reprioritise(state, command, queue);
    case CommandType::progress:
      return apply_progress(state, command, queue);
    case CommandType::key_release:
      return apply_key_release(state, command, queue);
    case CommandType::cron_put:
      return apply_cron(state, command, lsn);
    case CommandType::cron_fire:
      WQ_TRY(apply_cron(state, command, lsn));
      return apply_drop(state, command, queue);
    case CommandType::drop_oldest:
      return apply_drop(state, command, queue);
    case CommandType::rate_rebase:
      queue->rate_tat_ns = rate_rebased(queue->config.rate, queue->rate_tat_ns, command.now_ms);
      state.rebase_keys(queue, command.now_ms);
      return {};
    default:
      return misfit(command, "unknown type");
  }
}

}  // namespace

Status check_lease(const State& state, const Queue* queue, JobId id, Generation generation) {
  if (id == 0 || id >= state.next_job_id) return Code::not_found;
  const Job* job = state.find_live(id);
  if (!job) return Code::stale;
  if (job->queue != queue) return Code::not_found;
  const bool held = job->state == JobState::leased || job->state == JobState::running;
  return held && job->generation == generation ? Code::ok : Code::stale;
}

Status apply(State& state, const Command& command, Lsn lsn, Effects& effects) {
  if (!command.jobs.empty() || !command.parts.empty()) WQ_TRY(add_jobs(state, command));
  return apply_part(state, command, lsn, effects);
}

namespace {

Status apply_part(State& state, const Command& command, Lsn lsn, Effects& effects) {
  switch (command.type) {
    case CommandType::open:
      return apply_open(state, command);
    case CommandType::close:
      return {};
    case CommandType::queue_declare:
      return apply_declare(state, command);
    case CommandType::lease:
      return apply_lease(state, command);
    case CommandType::expire:
      return apply_expire(state, command);
    case CommandType::promote:
      return apply_promote(state, command);
    case CommandType::import_begin:
    case CommandType::import_queue:
    case CommandType::import_jobs:
    case CommandType::import_rows:
    case CommandType::import_end:
      return apply_import(state, command, lsn);
    case CommandType::kv_write:
      return apply_kv(state, command, lsn);
    case CommandType::transact:  // whoever made it has checked all of them before
      for (const Command& part : command.parts) WQ_TRY(apply_part(state, part, lsn, effects));
      return {};
    case CommandType::expire_jobs:
      return apply_expire_jobs(state, command);
    case CommandType::overlap:
      return apply_overlap(state, command);
    case CommandType::key_forget:
      return apply_key_forget(state, command);
    case CommandType::batch_create:
    case CommandType::batch_seal:
    case CommandType::batch_cancel:
    case CommandType::batch_lost:
    case CommandType::batch_forget:
      return apply_batch(state, command, lsn);
    case CommandType::cron_remove:
      return apply_cron(state, command, lsn);
    default:
      return apply_to_queue(state, command, lsn, effects);
  }
}

}  // namespace

}  // namespace wq
