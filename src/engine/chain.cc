#include "engine/chain.h"

#include <algorithm>

#include "base/planted.h"
#include "engine/batch.h"

namespace wq {

Job* start_next(State& state, Queue* from, std::string_view bytes, int64_t now_ms) {
  const NextJob next = trusted_next(as_bytes(bytes));
  Queue* queue = next.queue.empty() ? from : state.find_queue(next.queue);
  if (!queue) return nullptr;
  const auto envelope = started_envelope(next.envelope, std::max(now_ms, next_enqueued_ms));
  Job* job = state.add(queue, state.next_job_id++, BodyRef(envelope));
  job->priority = next.priority;
  job->max_attempts = next.max_attempts;
  int64_t due_ms = next.run_at_ms;
  if (next.delay_ms != 0) due_ms = now_ms + next.delay_ms;
  if (due_ms > now_ms) {
    state.enter_delayed(job, now_ms, due_ms);
  } else {
    state.enter_ready(job, now_ms, false);
  }
  ++queue->totals.enqueued;
  return job;
}

Job* go_on_with_chain(State& state, const Job& job, int64_t now_ms) {
  const JobTraits& traits = *job.traits;
  if (traits.chain.empty() || WQ_PLANTED(chain_forgotten)) return nullptr;
  if (traits.batch != 0 && is_batch_cancelled(state, traits.batch)) return nullptr;
  return start_next(state, job.queue, traits.chain, now_ms);
}

}  // namespace wq
