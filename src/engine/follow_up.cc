#include "engine/follow_up.h"

#include "engine/batch.h"
#include "engine/chain.h"
#include "engine/state.h"
#include "engine/unique.h"

namespace wq {

void on_enqueued(State& state, Job& job) {
  if (job.traits->batch != 0) join_batch(state, job);
}

void on_replayed(State& state, Job& job) {
  if (job.traits->batch != 0) rejoin_batch(state, job);
}

void on_leased(State& state, Job& job, int64_t) {
  free_key_of_started(state, job);
}

void on_dead(State& state, Job& job, int64_t now_ms) {
  free_key_of_dead(state, job);
  // A dead job that comes in with an import was counted when it died.
  if (job.traits->batch != 0 && !state.importing) fail_in_batch(state, job, now_ms);
}

void on_end(State& state, Job& job, EndReason reason, int64_t now_ms) {
  free_key(state, job);
  const bool was_dead = job.state == JobState::dead;
  // A clear looks at no job: what it leaves in batches is settled as that of jobs that are gone.
  if (reason == EndReason::cleared && !was_dead) return;
  if (reason == EndReason::acked) state.note_success(job);
  const Job* next = reason == EndReason::acked ? go_on_with_chain(state, job, now_ms) : nullptr;
  const uint32_t cut = next ? 0 : job.traits->chain_jobs;
  job.queue->totals.chain_cut += cut;
  // What died has failed in its batch, and what would have followed is cancelled there.
  if (job.traits->batch != 0 && !was_dead) end_in_batch(state, job, reason, next, now_ms);
}

void on_exception(State& state, const Job& job, int64_t now_ms) {
  state.note_exception(job, now_ms);
}

bool may_run_again(const State& state, const Job& job) {
  return job.traits->batch == 0 || !is_batch_cancelled(state, job.traits->batch);
}

}  // namespace wq
