// Unique, debounce and idempotency keys: in specs and records, and the calls on them.
#include "capi/keys.h"

namespace wq {
namespace {

Status read_text(const wq_bytes& in, const char* what, std::string_view& out) {
  Bytes bytes;
  WQ_TRY(read_bytes(in.data, in.len, what, bytes));
  out = as_text(bytes);
  return {};
}

wq_bytes view_text(std::string_view text) {
  return {text.data(), text.size()};
}

Status read_kind(uint32_t given, KeyKind& kind) {
  if (given < WQ_KEY_UNIQUE || given > WQ_KEY_IDEMPOTENCY) {
    return invalid_field("kind", "is not known");
  }
  kind = static_cast<KeyKind>(given);
  return {};
}

Status read_unique(const wq_job_spec& in, JobTraits& out) {
  if (in.unique_until > WQ_UNIQUE_GONE) return invalid_field("unique_until", "is not known");
  WQ_TRY(read_text(in.unique_key, "unique_key", out.key));
  if (out.key.empty()) {
    if (in.unique_until == 0 && in.unique_ttl_ms == 0) return {};
    return invalid_field("unique_key", "is empty, but unique_until or unique_ttl_ms is set");
  }
  out.key_rule = in.unique_until == 0 ? KeyRule::until_done : static_cast<KeyRule>(in.unique_until);
  out.key_ms = in.unique_ttl_ms;
  return {};
}

Status read_debounce(const wq_job_spec& in, JobSpec& out) {
  if (in.debounce_key.len == 0) {
    if (in.debounce_ms == 0 && in.debounce_max_ms == 0) return {};
    return invalid_field("debounce_key", "is empty, but debounce_ms or debounce_max_ms is set");
  }
  if (out.traits.key_rule != KeyRule::none) {
    return invalid_field("debounce_key", "can not be set together with unique_key");
  }
  WQ_TRY(read_text(in.debounce_key, "debounce_key", out.traits.key));
  out.traits.key_rule = KeyRule::debounce;
  out.traits.key_ms = in.debounce_max_ms;
  out.debounce_ms = in.debounce_ms;
  return {};
}

}  // namespace

Status read_spec_keys(const wq_job_spec& in, JobSpec& out) {
  if (in.reserved_0 != 0) return invalid_field("spec.reserved_0", "is not 0");
  const bool has_key = (in.unique_key.len | in.debounce_key.len | in.idempotency_key.len) != 0;
  const int64_t times_ms =
      in.unique_ttl_ms | in.debounce_ms | in.debounce_max_ms | in.idempotency_ms;
  if (!has_key && times_ms == 0 && in.unique_until == 0) return {};
  WQ_TRY(read_unique(in, out.traits));
  WQ_TRY(read_debounce(in, out));
  out.traits.idempotency_ms = in.idempotency_ms;
  return read_text(in.idempotency_key, "idempotency_key", out.traits.idempotency_key);
}

void tell_record_keys(const JobImage& job, wq_job_record& out) {
  const JobTraits& traits = job.envelope.traits;
  out.key = view_text(traits.key);
  out.key_rule = static_cast<uint32_t>(traits.key_rule);
  out.key_ms = traits.key_ms;
  out.key_until_ms = job.row.key_until_ms;
  out.idempotency_key = view_text(traits.idempotency_key);
  out.idempotency_ms = traits.idempotency_ms;
}

Status read_record_keys(const wq_job_record& in, JobImage& out) {
  if (in.reserved_2 != 0) return invalid_field("job.reserved_2", "is not 0");
  if (in.key_rule > WQ_KEY_RULE_DEBOUNCE) return invalid_field("key_rule", "is not known");
  JobTraits& traits = out.envelope.traits;
  traits.key_rule = static_cast<KeyRule>(in.key_rule);
  WQ_TRY(read_text(in.key, "key", traits.key));
  traits.key_ms = in.key_ms;
  out.row.key_until_ms = in.key_until_ms;
  traits.idempotency_ms = in.idempotency_ms;
  return read_text(in.idempotency_key, "idempotency_key", traits.idempotency_key);
}

}  // namespace wq

extern "C" {

int32_t wq_key_holder(wq_queue* queue, uint32_t kind, const void* key, size_t key_len,
                      uint64_t* job_id, wq_error* err) {
  if (job_id) *job_id = 0;
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    if (!job_id) return wq::invalid_field("job_id", "is NULL");
    wq::KeyKind which{};
    wq::Bytes name;
    WQ_TRY(wq::read_kind(kind, which));
    WQ_TRY(wq::read_bytes(key, key_len, "key", name));
    WQ_TRY_SET(*job_id, engine.key_holder(queue->id, which, wq::as_text(name)));
    return {};
  });
}

int32_t wq_key_cancel(wq_queue* queue, uint32_t kind, const void* key, size_t key_len,
                      wq_call* call, uint64_t* job_id, wq_error* err) {
  if (job_id) *job_id = 0;
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    wq::Call how;
    wq::KeyKind which{};
    wq::Bytes name;
    WQ_TRY(how.open(call, queue->core));
    WQ_TRY(wq::read_kind(kind, which));
    WQ_TRY(wq::read_bytes(key, key_len, "key", name));
    WQ_TRY_SET(const wq::JobId id,
               engine.cancel_key(queue->id, which, wq::as_text(name), how.options()));
    if (job_id) *job_id = id;
    return {};
  });
}

int32_t wq_key_release(wq_queue* queue, uint64_t id, uint64_t generation, wq_call* call,
                       wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    wq::Call how;
    WQ_TRY(how.open(call, queue->core));
    return engine.release_key(queue->id, {id, generation}, how.options());
  });
}

}  // extern "C"
