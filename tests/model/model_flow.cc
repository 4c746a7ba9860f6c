// The model's chains and batches, and the limits of single jobs.
#include "model/model.h"

namespace wq::model {
namespace {

// What tells where work comes from goes on along a chain.
bool is_inherited(const std::string& name) {
  return name == "tags" || name == "traceparent" || name == "tracestate" || name == "baggage";
}

bool has_header(const Headers& headers, const std::string& name) {
  return std::any_of(headers.begin(), headers.end(),
                     [&](const auto& header) { return header.first == name; });
}

bool is_member(const Job& job, uint64_t batch) {
  return job.spec.flow.batch == batch && job.state != JobState::dead && job.state != JobState::gone;
}

}  // namespace

// ---- limits

int64_t lease_length_ms(const Queue& queue, const Job& job) {
  return job.spec.limits.timeout_ms != 0 ? job.spec.limits.timeout_ms : queue.config.lease_ms;
}

// Only one that did not start; a replayed one did.
int64_t expiry_ms(const Queue& queue, const Job& job) {
  if (job.attempts != 0 || job.replays != 0) return 0;
  const int64_t own_ms = job.spec.limits.expires_ms;
  if (queue.config.job_ttl_ms == 0) return own_ms;
  const int64_t by_queue_ms = job.enqueued_ms + queue.config.job_ttl_ms;
  return own_ms == 0 ? by_queue_ms : std::min(own_ms, by_queue_ms);
}

// Why no attempt follows; none = one does.
DeadReason Model::last_reason(const Queue& queue, const Job& job, DeadReason cause, Now now) const {
  const Limits& limits = job.spec.limits;
  if (limits.fail_on_timeout && cause == DeadReason::lease_expired) return DeadReason::timeout;
  if (limits.max_exceptions != 0 && job.exceptions >= limits.max_exceptions) {
    return DeadReason::max_exceptions;
  }
  if (job.attempts >= attempts_allowed(queue, job)) return cause;
  if (limits.retry_until_ms != 0 && now.wall_ms >= limits.retry_until_ms) {
    return DeadReason::retry_until;
  }
  return DeadReason::none;
}

void Model::end_overdue(const std::vector<Pick>& jobs, Now now) {
  for (const Pick& pick : jobs) {
    Queue& queue = queues.at(pick.queue);
    ++queue.totals.jobs_expired;
    end(queue, queue.jobs.at(pick.id), EndReason::expired, now);
  }
}

// ---- ends

// What ends with a clear settles nothing: what it leaves in batches is found by a sweep.
void Model::end(Queue& queue, Job& job, EndReason reason, Now now) {
  const bool was_dead = job.state == JobState::dead;
  leave(queue, job);
  free_key(id_of(queue), job);
  if (reason == EndReason::cleared && !was_dead) {
    if (Batch* batch = open_batch(job.spec.flow.batch)) batch->lost[job.id] = job.spec.flow.share();
  }
  if (reason != EndReason::cleared && !was_dead) {
    const bool goes_on = reason == EndReason::acked && go_on(queue, job, now) != nullptr;
    if (!goes_on) queue.totals.chain_cut += job.spec.flow.chain.size();
    end_in_batch(job, reason, goes_on, now);
  }
  queue.jobs.erase(job.id);
}

// Of a batch that was cancelled no job is tried again.
void Model::again(Queue& queue, Job& job, Now now, int64_t delay_ms, bool front) {
  if (is_cancelled(job.spec.flow.batch)) {
    ++queue.totals.cancelled;
    end(queue, job, EndReason::cancelled, now);
    return;
  }
  make_ready_after(queue, job, now, delay_ms, front);
}

// ---- what follows

// `before` is the job that sets it off: of a chain, with what is left of it; or none, of a batch.
Job* Model::start_next(const Queue* from, const Next& next, Spec before, Now now) {
  QueueId queue_id = 0;
  if (next.queue.empty()) {
    if (from) queue_id = id_of(*from);
  } else {
    find_name(next.queue, &queue_id);
  }
  if (queue_id == 0) return nullptr;
  Spec spec;
  spec.payload = next.payload;
  spec.headers = next.headers;
  spec.delay_ms = next.delay_ms;
  spec.priority = next.priority;
  spec.max_attempts = next.max_attempts;
  spec.limits = next.limits;
  spec.flow = std::move(before.flow);
  for (const auto& header : before.headers) {
    if (is_inherited(header.first) && !has_header(next.headers, header.first)) {
      spec.headers.push_back(header);
    }
  }
  Queue& queue = queues.at(queue_id);
  Job& job = queue.jobs[next_id];
  job.id = next_id++;
  job.spec = std::move(spec);
  job.enqueued_ms = now.wall_ms;
  ++queue.totals.enqueued;
  make_ready_after(queue, job, now, next.delay_ms, false);
  return &job;
}

// The next one of the chain of a job that was acked; null: there is none, or it can not be.
Job* Model::go_on(const Queue& queue, const Job& job, Now now) {
  const FlowSpec& flow = job.spec.flow;
  if (flow.chain.empty() || is_cancelled(flow.batch)) return nullptr;
  Spec before = job.spec;
  before.flow.chain.erase(before.flow.chain.begin());
  return start_next(&queue, flow.chain.front(), std::move(before), now);
}

// ---- batches

void Model::create_batch(uint64_t id, const Batch& batch) {
  reserve(id);
  batches[id] = batch;
}

Batch* Model::open_batch(uint64_t id) {
  const auto found = batches.find(id);
  if (found == batches.end() || found->second.finished_ms != 0) return nullptr;
  return &found->second;
}

bool Model::is_cancelled(uint64_t id) const {
  const auto found = batches.find(id);
  return found != batches.end() && found->second.finished_ms == 0 && found->second.cancelled_whole;
}

// Every change of a batch ends here: the last one finishes it.
void Model::look_at(uint64_t id, Now now) {
  Batch& batch = batches.at(id);
  if (!batch.sealed || batch.pending != 0) return;
  batch.finished_ms = std::max<int64_t>(1, now.wall_ms);
  const bool lost_some = batch.failed != 0 || batch.cancelled != 0;
  const bool failed = batch.cancelled_whole || (lost_some && !batch.allows_failures);
  if (!(failed ? batch.has_failure : batch.has_complete)) return;
  Next next = failed ? batch.on_failure : batch.on_complete;
  next.headers.emplace_back("wq-batch", std::to_string(id));
  if (const Job* job = start_next(nullptr, next, Spec(), now)) batch.follow_up = job->id;
}

void Model::join(const Spec& spec) {
  if (Batch* batch = open_batch(spec.flow.batch)) batch->pending += spec.flow.share();
}

void Model::fail_in_batch(const Job& job, Now now) {
  Batch* batch = open_batch(job.spec.flow.batch);
  if (!batch) return;
  ++batch->failed;
  batch->cancelled += job.spec.flow.chain.size();
  batch->pending -= job.spec.flow.share();
  look_at(job.spec.flow.batch, now);
}

void Model::rejoin(const Job& job, Now now) {
  Batch* batch = open_batch(job.spec.flow.batch);
  if (!batch) return;
  --batch->failed;
  batch->cancelled -= job.spec.flow.chain.size();
  batch->pending += job.spec.flow.share();
  look_at(job.spec.flow.batch, now);
}

void Model::end_in_batch(const Job& job, EndReason reason, bool goes_on, Now now) {
  Batch* batch = open_batch(job.spec.flow.batch);
  if (!batch) return;
  const uint64_t cut = goes_on ? 0 : job.spec.flow.chain.size();
  ++(reason == EndReason::acked ? batch->done : batch->cancelled);
  batch->cancelled += cut;
  batch->pending -= 1 + cut;
  look_at(job.spec.flow.batch, now);
}

void Model::seal_batch(uint64_t id, Now now) {
  batches.at(id).sealed = true;
  look_at(id, now);
}

void Model::cancel_batch(uint64_t id, Now now) {
  batches.at(id).sealed = batches.at(id).cancelled_whole = true;
  look_at(id, now);
}

size_t Model::members() const {
  size_t count = 0;
  for (const auto& [id, batch] : batches) {
    if (batch.finished_ms != 0) continue;
    count += batch.lost.size();
    for (const auto& [queue_id, queue] : queues) {
      for (const auto& [job_id, job] : queue.jobs) count += is_member(job, id);
    }
  }
  return count;
}

// In the order in which the engine does it: jobs to cancel by queue, then the lost ones by batch.
std::vector<Model::Sweep> Model::sweep_plan() const {
  std::map<QueueId, std::vector<JobId>> unstarted;
  std::vector<Sweep> plan;
  for (const auto& [id, batch] : batches) {
    if (batch.finished_ms != 0 || !batch.cancelled_whole) continue;
    std::map<JobId, QueueId> waiting;  // in the order of their ids
    for (const auto& [queue_id, queue] : queues) {
      for (const auto& [job_id, job] : queue.jobs) {
        if (is_member(job, id) && job.waits()) waiting[job_id] = queue_id;
      }
    }
    for (const auto& [job, queue] : waiting) unstarted[queue].push_back(job);
  }
  for (auto& [queue, jobs] : unstarted) plan.push_back(Sweep{queue, 0, std::move(jobs)});
  for (const auto& [id, batch] : batches) {
    if (batch.finished_ms != 0 || batch.lost.empty()) continue;
    Sweep& step = plan.emplace_back(Sweep{0, id, {}});
    for (const auto& [job, share] : batch.lost) step.jobs.push_back(job);
  }
  return plan;
}

void Model::sweep(const Sweep& step, Now now) {
  if (step.queue != 0) {
    for (const JobId job : step.jobs) cancel(step.queue, job, now);
    return;
  }
  Batch& batch = batches.at(step.batch);
  for (const JobId job : step.jobs) {
    batch.cancelled += batch.lost.at(job);
    batch.pending -= batch.lost.at(job);
    batch.lost.erase(job);
  }
  look_at(step.batch, now);
}

}  // namespace wq::model
