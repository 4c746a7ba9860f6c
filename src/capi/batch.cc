#include "capi/batch.h"

#include "engine/record.h"

namespace wq {
namespace {

// What a pooled batch may keep.
constexpr size_t kept_jobs_max = 1024;
constexpr size_t kept_names_max = 16;

bool usable(const wq_batch* batch) {
  return batch && batch->kind == wq_batch::own_kind && !batch->gate.is_shut();
}

const JobView* job_at(const wq_batch* batch, size_t i) {
  return usable(batch) && i < batch->jobs.size() ? &batch->jobs[i] : nullptr;
}

Bytes name_of(const wq_batch& batch, const JobView& view) {
  if (!view.queue_name.empty()) return bytes_of(view.queue_name);
  return view.queue_index < batch.queue_names.size() ? bytes_of(batch.queue_names[view.queue_index])
                                                     : Bytes();
}

int64_t ready_ms_of(const JobView& view) {
  if (view.state == JobState::ready) return view.since_ms;
  return view.state == JobState::delayed ? view.due_ms : 0;
}

wq_job to_public(const wq_batch& batch, const JobView& view) {
  const EnvelopeView envelope = trusted_envelope(view.body.bytes());
  const bool dead = view.state == JobState::dead;
  wq_job out{};
  out.state = static_cast<uint32_t>(view.state);
  out.id = view.id;
  out.generation = view.generation;
  out.queue_index = view.queue_index;
  out.priority = view.priority;
  out.attempts = view.attempts;
  out.exceptions = view.exceptions;
  out.max_attempts = view.max_attempts;
  out.replays = view.replays;
  out.enqueued_ms = envelope.enqueued_ms;
  out.ready_ms = ready_ms_of(view);
  out.leased_ms = view.leased_ms;
  out.deadline_ms = view.deadline_ms;
  out.lease_remaining_ms = view.remaining_ms;
  out.dead_ms = dead ? view.since_ms : 0;
  out.dead_reason = dead ? static_cast<uint32_t>(view.reason) : 0;
  out.headers_count = envelope.headers_count;
  out.payload = view_bytes(envelope.payload);
  out.queue_name = view_bytes(name_of(batch, view));
  out.last_error = view_bytes(bytes_of(view.last_error));
  if (trusted_has_traits(view.body.bytes())) {
    const JobTraits traits = traits_of(view.body.bytes());
    out.timeout_ms = traits.timeout_ms;
    out.expires_at_ms = traits.expires_ms;
    out.retry_until_ms = traits.retry_until_ms;
    out.max_exceptions = traits.max_exceptions;
    out.flags = traits.fail_on_timeout ? WQ_JOB_FAIL_ON_TIMEOUT : 0;
  }
  out.progress = view_bytes(bytes_of(view.progress));
  out.first_dead_ms = view.first_dead_ms;
  if (view.packing.is_sealed()) out.flags |= WQ_JOB_ENCRYPT;
  out.payload_code = static_cast<int32_t>(view.payload_code);
  out.key_id = view.key_id;
  out.flow = view.batch;
  out.chain_count = view.chain_jobs;
  out.flow_cancelled = view.batch_cancelled ? 1 : 0;
  out.group = view_bytes(envelope.group);
  out.rate_key = view_bytes(envelope.rate_key);
  out.rate_cost = envelope.rate_cost;
  out.parked = view.parked ? 1 : 0;
  out.tenant = view_bytes(envelope.tenant);
  return out;
}

}  // namespace

wq_batch* batch_of_one(JobView view, const std::string& queue_name) {
  NewHandle<wq_batch> batch;
  if (view.queue_name.empty()) view.queue_name = queue_name;
  batch->jobs.clear();
  batch->jobs.push_back(std::move(view));
  return batch.release();
}

void recycle(wq_batch* batch) noexcept {
  batch->jobs.clear();
  if (batch->jobs.capacity() > kept_jobs_max) std::vector<JobView>().swap(batch->jobs);
  if (batch->queue_names.size() > kept_names_max) {
    std::vector<std::string>().swap(batch->queue_names);
  }
  handle_pool<wq_batch>().put(batch);
}

}  // namespace wq

extern "C" {

size_t wq_batch_count(const wq_batch* batch) {
  return wq::usable(batch) ? batch->jobs.size() : 0;
}

int32_t wq_batch_job(const wq_batch* batch, size_t i, wq_job* job) {
  if (!job || job->struct_size < wq::first_release_bytes<wq_job> ||
      job->struct_size > wq::struct_bytes_max) {
    return WQ_E_INVALID;
  }
  const wq::JobView* view = wq::job_at(batch, i);
  if (!view) return WQ_E_INVALID;
  wq::write_struct(job, job->struct_size, wq::to_public(*batch, *view));
  return WQ_OK;
}

int32_t wq_batch_header(const wq_batch* batch, size_t i, size_t h, wq_header* header) {
  if (!header) return WQ_E_INVALID;
  *header = {{nullptr, 0}, {nullptr, 0}};
  const wq::JobView* view = wq::job_at(batch, i);
  if (!view || h >= wq::trusted_envelope(view->body.bytes()).headers_count) return WQ_E_INVALID;
  const wq::Header found = wq::trusted_header(view->body.bytes(), h);
  *header = {wq::view_bytes(found.name), wq::view_bytes(found.value)};
  return WQ_OK;
}

void wq_batch_free(wq_batch** batch) {
  if (wq_batch* closing = wq::begin_close(batch)) wq::recycle(closing);
}

}  // extern "C"
