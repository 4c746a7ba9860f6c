// The parts of apply() that end jobs which did not start in time, move a waiting job to another
// priority, and keep the progress note of a held one.
#include <string>

#include "engine/apply.h"

namespace wq {
namespace {

Status misfit_job(JobId id, const char* what) {
  return Status(Code::corrupt,
                "log record does not fit the state: job " + std::to_string(id) + " " + what);
}

bool is_waiting(const Job* job) {
  return job->state == JobState::ready || job->state == JobState::delayed;
}

}  // namespace

Status apply_expire_jobs(State& state, const Command& command) {
  for (const JobId id : command.ids) {
    Job* job = state.find_live(id);
    if (!job || !is_waiting(job)) return misfit_job(id, "does not wait");
    state.leave(job);
    ++job->queue->totals.jobs_expired;
    state.end(job, EndReason::expired, command.now_ms);
  }
  return {};
}

// It is decided when the lease comes to them, so they never were leased and no attempt is counted.
Status apply_overlap(State& state, const Command& command) {
  for (const JobId id : command.ids) {
    Job* job = state.find_live(id);
    const bool fits = job && job->state == JobState::ready && job->traits &&
                      job->traits->overlap != OverlapRule::park;
    if (!fits) return misfit_job(id, "waits for its group");
    state.leave(job);
    if (job->traits->overlap == OverlapRule::skip) {
      ++job->queue->totals.skipped;
      state.end(job, EndReason::skipped, command.now_ms);
    } else {
      ++job->queue->totals.released;
      state.enter_delayed(job, command.now_ms, command.now_ms + job->traits->overlap_ms);
    }
  }
  return {};
}

// To the tail of its new priority, also if that is the old one: the job may have come from the
// store for this, and then it stands in no lane yet. It counts as ready from now on, so that a lane
// stays in the order of that moment.
Status apply_reprioritise(State& state, const Command& command, Queue* queue) {
  const JobId id = command.ids[0];
  Job* job = state.find_live(id);
  if (!job || job->queue != queue || !is_waiting(job)) return misfit_job(id, "does not wait");
  if (job->state == JobState::delayed) {
    state.touch(job);
    job->priority = command.priority;
    return {};
  }
  state.leave(job);
  job->priority = command.priority;
  state.enter_ready(job, command.now_ms, false);
  return {};
}

Status apply_progress(State& state, const Command& command, Queue* queue) {
  const SettleItem& token = command.settles[0];
  if (!check_lease(state, queue, token.id, token.generation).ok()) {
    return misfit_job(token.id, "is not leased");
  }
  Job* job = state.find_live(token.id);
  state.touch(job);
  state.set_progress(job, command.note);
  return {};
}

}  // namespace wq
