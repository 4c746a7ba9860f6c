// Produce: enqueue one or many, cancel, read one job.
#include <list>

#include "capi/batch.h"
#include "capi/capi_internal.h"
#include "capi/specs.h"
#include "engine/admit.h"

namespace wq {

namespace {

// `told` gets id and LSN.
Status read_and_enqueue(Engine& engine, const wq_queue& queue, const wq_job_spec* given,
                        wq_call* call, wq_enqueued& told) {
  Call how;
  WQ_TRY(how.open(call, queue.core));
  if (!given) return invalid_field("spec", "is NULL");
  SizedIn<wq_job_spec> in;
  WQ_TRY(in.read(given, "spec"));
  JobSpec spec;
  SpecParts parts;
  WQ_TRY(read_spec(*in, parts, spec));
  JobId id = 0;
  Status status = engine.enqueue(queue.id, spec, how.options(), id);
  if (!status.is_error()) told.job_id = id;  // WQ_DUPLICATE: the holder
  if (status.ok()) told.lsn = how.options().lsn;
  return status;
}

Status enqueue_one(Engine& engine, const wq_queue& queue, const wq_job_spec* given, wq_call* call,
                   wq_enqueued* out) {
  if (out) WQ_TRY(check_out(out, "out"));
  wq_enqueued told{};
  Status status = read_and_enqueue(engine, queue, given, call, told);
  told.code = static_cast<int32_t>(status.code());
  if (out) write_struct(out, out->struct_size, told);
  return status;
}

// The specs as the engine takes them. A spec that can not be read ends them: `refusal` is why.
struct ReadSpecs {
  std::vector<JobSpec> specs;
  std::list<SpecParts> parts;  // of the specs that borrow more than bytes of the caller
  Status refusal;

  void read(const wq_job_spec* array, size_t n, size_t stride) {
    specs.reserve(n);
    for (size_t i = 0; i < n && refusal.ok(); i++) {
      SizedIn<wq_job_spec> in;
      JobSpec& spec = specs.emplace_back();
      refusal = in.read_element(array, i, stride, "spec");
      if (refusal.ok()) {
        if (parts.empty() || !parts.back().empty()) parts.emplace_back();
        refusal = read_spec(*in, parts.back(), spec);
      }
      if (refusal.ok() && spec.dry_run != specs[0].dry_run) {
        refusal = invalid_field("spec.flags", "has WQ_JOB_DRY_RUN in some jobs of the call only");
      }
      if (!refusal.ok()) specs.pop_back();
    }
  }
};

struct ManyOut {
  wq_enqueued* array;
  size_t stride;
  size_t n;

  Status check() const {
    if (array && (stride < first_release_bytes<wq_enqueued> || stride > struct_bytes_max)) {
      return bad_stride("out_size", stride, first_release_bytes<wq_enqueued>);
    }
    return {};
  }
  void tell(size_t i, Code code, JobId id, Lsn lsn) const {
    if (!array) return;
    wq_enqueued told{};
    told.code = static_cast<int32_t>(code);
    told.job_id = id;
    told.lsn = lsn;
    auto* place = reinterpret_cast<wq_enqueued*>(reinterpret_cast<char*>(array) + i * stride);
    write_struct(place, stride, told);
  }
};

// Codes and ids for all n: the first `taken` have theirs in `outcomes`, the rest was refused.
void tell_many(const ManyOut& out, std::span<const EnqueueOutcome> outcomes, size_t taken,
               Code refusal, Lsn lsn) {
  for (size_t i = 0; i < taken; i++) {
    const bool ok = outcomes[i].code == Code::ok;
    out.tell(i, outcomes[i].code, outcomes[i].id, ok ? lsn : 0);
  }
  for (size_t i = taken; i < out.n; i++) out.tell(i, refusal, 0, 0);
}

Status check_many(Call& how, wq_call* call, const wq_queue& queue, uint32_t flags,
                  size_t spec_size) {
  WQ_TRY(how.open(call, queue.core));
  if (flags & ~WQ_ENQUEUE_PARTIAL) return unknown_bits("flags", flags & ~WQ_ENQUEUE_PARTIAL);
  return check_stride<wq_job_spec>(spec_size, "spec_size");
}

Status enqueue_all(Engine& engine, const wq_queue& queue, ReadSpecs& read, bool partial, Call& how,
                   const ManyOut& out, size_t* accepted) {
  std::vector<EnqueueOutcome> outcomes(read.specs.size());
  size_t taken = 0;
  Status status;
  if (!read.specs.empty() && (partial || read.refusal.ok())) {
    Result<size_t> result =
        engine.enqueue_many(queue.id, read.specs, partial, how.options(), outcomes);
    if (!result.ok()) {
      status = result.take_status();
    } else {
      taken = result.value();
    }
  }
  if (status.ok() && taken < outcomes.size() && outcomes[taken].code != Code::ok) {
    const Code code = outcomes[taken].code;
    // Some are enqueued by now, so this must be told one way or another.
    status = status_with_text(code, [&] {
      return "specs[" + std::to_string(taken) + "] was refused: " + code_text(code);
    });
  }
  if (status.ok()) status = read.refusal;
  size_t duplicates = 0;
  for (size_t i = 0; i < taken; i++) duplicates += outcomes[i].code == Code::duplicate;
  if (status.ok() && duplicates > 0 && duplicates == taken) status = Code::duplicate;
  if (accepted) *accepted = taken - duplicates;
  tell_many(out, outcomes, taken, status.code(), how.options().lsn);
  return status;
}

}  // namespace
}  // namespace wq

extern "C" {

int32_t wq_enqueue(wq_queue* queue, const wq_job_spec* spec, wq_call* call, wq_enqueued* out,
                   wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) {
    return wq::enqueue_one(engine, *queue, spec, call, out);
  });
}

int32_t wq_enqueue_many(wq_queue* queue, const wq_job_spec* specs, size_t n, size_t spec_size,
                        uint32_t flags, wq_call* call, wq_enqueued* out, size_t out_size,
                        size_t* accepted, wq_error* err) {
  if (accepted) *accepted = 0;
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    WQ_TRY(wq::check_array(specs, n, "specs"));
    const wq::ManyOut told{out, out_size, n};
    WQ_TRY(told.check());
    wq::Call how;
    wq::Status status = wq::check_many(how, call, *queue, flags, spec_size);
    if (!status.ok()) {
      wq::tell_many(told, {}, 0, status.code(), 0);
      return status;
    }
    wq::ReadSpecs read;
    read.read(specs, n, spec_size);
    return wq::enqueue_all(engine, *queue, read, flags & WQ_ENQUEUE_PARTIAL, how, told, accepted);
  });
}

int32_t wq_job_cancel(wq_queue* queue, uint64_t id, wq_call* call, wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    wq::Call how;
    WQ_TRY(how.open(call, queue->core));
    return engine.cancel(queue->id, id, how.options());
  });
}

int32_t wq_job_get(wq_queue* queue, uint64_t id, wq_batch** batch, wq_error* err) {
  if (batch) *batch = nullptr;
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    if (!batch) return wq::invalid_field("batch", "is NULL");
    WQ_TRY_SET(wq::JobView view, engine.get(queue->id, id));
    *batch = wq::batch_of_one(std::move(view), queue->name);
    return {};
  });
}

}  // extern "C"
