// Reading of wq_job_spec and wq_next_job.
#include "capi/capi_internal.h"
#include "capi/keys.h"
#include "capi/specs.h"
#include "engine/admit.h"

namespace wq {

Status SpecParts::read_headers(const wq_header* headers, size_t count,
                               std::span<const Header>& out) {
  if (count > 0 && !headers) return invalid_field("headers", "is NULL but has a count");
  if (count > headers_count_max) {
    return Status(Code::too_large,
                  "headers_count is " + std::to_string(count) + ", more than 1024");
  }
  headers_.reserve(count);
  for (size_t i = 0; i < count; i++) {
    Header& view = headers_.emplace_back();
    WQ_TRY(read_bytes(headers[i].name.data, headers[i].name.len, "header name", view.name));
    WQ_TRY(read_bytes(headers[i].value.data, headers[i].value.len, "header value", view.value));
  }
  out = headers_;
  return {};
}

Status SpecParts::read_next(const wq_next_job& in, NextSpec& out) {
  if (in.reserved_0 != 0) return invalid_field("reserved_0", "is not 0");
  if (!in.spec) return invalid_field("spec", "is NULL");
  Bytes queue;
  WQ_TRY(read_bytes(in.queue_name.data, in.queue_name.len, "queue_name", queue));
  out.queue = as_text(queue);
  if (!out.queue.empty()) WQ_TRY(admit_queue_name(out.queue));
  SizedIn<wq_job_spec> spec;
  WQ_TRY(spec.read(in.spec, "spec"));
  // Not read at all: a chain in a chain in a chain has no end.
  if (spec->chain_count != 0) return invalid_field("chain", "of a job that follows another");
  return read_spec(*spec, *this, out.job);
}

Status SpecParts::read_chain(const wq_job_spec& in, std::span<const NextSpec>& out) {
  WQ_TRY(check_array(in.chain, in.chain_count, "chain", "chain_count"));
  WQ_TRY(check_stride<wq_next_job>(in.chain_size, "chain_size"));
  if (in.chain_count > chain_jobs_max) {
    return Status(Code::too_large,
                  "chain_count is " + std::to_string(in.chain_count) + ", more than 100");
  }
  chain_.reserve(in.chain_count);
  for (size_t i = 0; i < in.chain_count; i++) {
    SizedIn<wq_next_job> next;
    Status status = next.read_element(in.chain, i, in.chain_size, "next job");
    if (status.ok()) status = chain_parts_.emplace_back().read_next(*next, chain_.emplace_back());
    if (!status.ok()) {
      return Status(status.code(), "chain[" + std::to_string(i) + "]: " + status.message());
    }
  }
  out = chain_;
  return {};
}

Status read_spec(const wq_job_spec& in, SpecParts& parts, JobSpec& out) {
  constexpr uint32_t known =
      WQ_JOB_PRIORITY | WQ_JOB_FAIL_ON_TIMEOUT | WQ_JOB_DRY_RUN | WQ_JOB_ENCRYPT | WQ_JOB_PLAIN;
  if (in.flags & ~known) return unknown_bits("spec.flags", in.flags & ~known);
  out.dry_run = in.flags & WQ_JOB_DRY_RUN;
  WQ_TRY(read_encrypt_flags(in.flags, out.encrypt));
  WQ_TRY(read_bytes(in.payload.data, in.payload.len, "payload", out.payload));
  if (in.flags & WQ_JOB_PRIORITY) {
    if (in.priority > UINT8_MAX) return invalid_field("priority", "is not in 0..255");
    out.priority = static_cast<uint8_t>(in.priority);
  }
  out.delay_ms = in.delay_ms;
  out.run_at_ms = in.run_at_ms;
  out.max_attempts = in.max_attempts;
  if (in.backoff_kind != 0 || in.backoff_count != 0) {
    WQ_TRY(read_backoff(in.backoff_kind, in.backoff_base_ms, in.backoff_max_ms, in.backoff_list_ms,
                        in.backoff_count, out.backoff));
  }
  out.backoff.jitter_permille = in.backoff_jitter_permille;
  out.traits.expires_ms = in.expires_at_ms;
  out.traits.retry_until_ms = in.retry_until_ms;
  out.traits.timeout_ms = in.timeout_ms;
  out.traits.max_exceptions = in.max_exceptions;
  out.traits.fail_on_timeout = (in.flags & WQ_JOB_FAIL_ON_TIMEOUT) != 0;
  if (in.reserved_2 != 0) return invalid_field("spec.reserved_2", "is not 0");
  WQ_TRY(read_gate_traits(in, out.traits));
  out.traits.batch = in.flow;
  if (in.headers_count > 0) WQ_TRY(parts.read_headers(in.headers, in.headers_count, out.headers));
  if (in.chain_count > 0) WQ_TRY(parts.read_chain(in, out.chain));
  return read_spec_keys(in, out);
}

}  // namespace wq
