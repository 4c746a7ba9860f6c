#include "capi/transfer_rows.h"

#include <vector>

#include "engine/payload_seal.h"

namespace wq {
namespace {

wq_bytes view_text(std::string_view text) {
  return {text.data(), text.size()};
}

wq_flow_status status_of(const BatchImage& batch) {
  const BatchRow& row = batch.row;
  wq_flow_status out = WQ_FLOW_STATUS_INIT;
  if (row.flags & batch_sealed) out.flags |= WQ_FLOW_SEALED;
  if (row.flags & batch_cancelled) out.flags |= WQ_FLOW_CANCELLED;
  if (row.is_finished()) out.flags |= WQ_FLOW_FINISHED;
  out.flow = batch.id;
  out.total = row.total;
  out.pending = row.pending;
  out.done = row.done;
  out.failed = row.failed;
  out.cancelled = row.cancelled;
  out.follow_up_id = row.follow_up;
  out.created_ms = row.created_ms;
  out.finished_ms = row.finished_ms;
  return out;
}

wq_done_job done_of(const DoneRow& row) {
  wq_done_job out = WQ_DONE_JOB_INIT;
  out.priority = row.priority;
  out.id = row.id;
  out.generation = row.generation;
  out.flow = row.batch;
  out.attempts = row.attempts;
  out.exceptions = row.exceptions;
  out.replays = row.replays;
  out.enqueued_ms = row.enqueued_ms;
  out.leased_ms = row.leased_ms;
  out.done_ms = row.done_ms;
  out.result = view_text(row.result);
  if (row.sealed) out.key_id = seal_key_id(as_bytes(row.result));
  return out;
}

// ---- in

Status read_flow(const wq_flow_record& in, BatchImage& out) {
  if (in.options & ~WQ_FLOW_ALLOW_FAILURES) {
    return unknown_bits("flow.options", in.options & ~WQ_FLOW_ALLOW_FAILURES);
  }
  if (!in.status) return invalid_field("flow.status", "is NULL");
  SizedIn<wq_flow_status> status;
  WQ_TRY(status.read(in.status, "flow.status"));
  constexpr uint32_t known = WQ_FLOW_SEALED | WQ_FLOW_CANCELLED | WQ_FLOW_FINISHED;
  if (status->flags & ~known) return unknown_bits("flow.status.flags", status->flags & ~known);
  if (((status->flags & WQ_FLOW_FINISHED) != 0) != (status->finished_ms != 0)) {
    return invalid_field("flow.status.finished_ms", "goes with WQ_FLOW_FINISHED");
  }
  out.id = status->flow;
  BatchRow& row = out.row;
  if (status->flags & WQ_FLOW_SEALED) row.flags |= batch_sealed;
  if (status->flags & WQ_FLOW_CANCELLED) row.flags |= batch_cancelled;
  if (in.options & WQ_FLOW_ALLOW_FAILURES) row.flags |= batch_allows_failures;
  row.created_ms = status->created_ms;
  row.finished_ms = status->finished_ms;
  row.total = status->total;
  row.pending = status->pending;
  row.done = status->done;
  row.failed = status->failed;
  row.cancelled = status->cancelled;
  row.follow_up = status->follow_up_id;
  Bytes complete, failure;
  WQ_TRY(read_bytes(in.on_complete.data, in.on_complete.len, "on_complete", complete));
  WQ_TRY(read_bytes(in.on_failure.data, in.on_failure.len, "on_failure", failure));
  row.on_complete = as_text(complete);
  row.on_failure = as_text(failure);
  return {};
}

Status read_key(const wq_key_record& in, KeyImage& out) {
  if (in.reserved_0 != 0) return invalid_field("key.reserved_0", "is not 0");
  Bytes key;
  WQ_TRY(read_bytes(in.key.data, in.key.len, "key", key));
  out = {{}, as_text(key), in.job_id, in.until_ms};
  return {};
}

Status read_done(const wq_done_job& in, DoneImage& out) {
  if (in.reserved_0 != 0) return invalid_field("job.reserved_0", "is not 0");
  if (in.priority > UINT8_MAX) return invalid_field("priority", "is more than 255");
  Bytes result;
  WQ_TRY(read_bytes(in.result.data, in.result.len, "result", result));
  DoneRow& row = out.row;
  row.id = in.id;
  row.generation = in.generation;
  row.enqueued_ms = in.enqueued_ms;
  row.leased_ms = in.leased_ms;
  row.done_ms = in.done_ms;
  row.batch = in.flow;
  row.attempts = in.attempts;
  row.exceptions = in.exceptions;
  row.replays = in.replays;
  row.priority = static_cast<uint8_t>(in.priority);
  row.result = as_text(result);
  row.sealed = in.key_id != 0;
  if (row.sealed && (result.size() <= seal_extra_bytes || seal_key_id(result) != in.key_id)) {
    return invalid_field("key_id", "is not that of the result");
  }
  return {};
}

Status read_rate_key(const wq_rate_key_record& in, RateKeyImage& out) {
  if (in.exceptions_count > throttle_count_max) {
    return invalid_field("exceptions_count", "is more than 100");
  }
  if (in.exceptions_count > 0 && !in.exceptions_ms)
    return invalid_field("exceptions_ms", "is NULL");
  Bytes key;
  WQ_TRY(read_bytes(in.key.data, in.key.len, "key", key));
  out.key = as_text(key);
  out.tat_ns = in.used_ns;
  out.breaker.cool_until_ms = in.cool_until_ms;
  if (in.exceptions_count > 0) {
    out.breaker.failed_ms.assign(in.exceptions_ms, in.exceptions_ms + in.exceptions_count);
  }
  return {};
}

// All of an array, each by `read`.
template <typename Image, typename Record>
Status read_all(const Record* records, size_t n, size_t record_size,
                Status (*read)(const Record&, Image&), std::vector<Image>& images) {
  WQ_TRY(check_array(records, n, "records"));
  WQ_TRY(check_stride<Record>(record_size, "record_size"));
  images.resize(n);
  for (size_t i = 0; i < n; ++i) {
    SizedIn<Record> in;
    WQ_TRY(in.read_element(records, i, record_size, "record"));
    WQ_TRY(read(*in, images[i]));
  }
  return {};
}

CallOptions from_memory() {
  CallOptions call;
  call.durability = static_cast<uint32_t>(Durability::memory);
  return call;
}

}  // namespace

void tell_rows(ExportVisitor& visitor, const std::function<Status(const wq_export_item&)>& tell) {
  visitor.on_batch = [tell](const BatchImage& batch) {
    const wq_flow_status status = status_of(batch);
    wq_flow_record record = WQ_FLOW_RECORD_INIT;
    if (batch.row.flags & batch_allows_failures) record.options = WQ_FLOW_ALLOW_FAILURES;
    record.status = &status;
    record.on_complete = view_text(batch.row.on_complete);
    record.on_failure = view_text(batch.row.on_failure);
    wq_export_item item = WQ_EXPORT_ITEM_INIT;
    item.flow = &record;
    return tell(item);
  };
  visitor.on_key = [tell](const KeyImage& key) {
    wq_key_record record = WQ_KEY_RECORD_INIT;
    record.key = view_text(key.key);
    record.job_id = key.holder;
    record.until_ms = key.until_ms;
    wq_export_item item = WQ_EXPORT_ITEM_INIT;
    item.key = &record;
    item.queue_name = view_text(key.queue_name);
    return tell(item);
  };
  visitor.on_done = [tell](const DoneImage& done) {
    const wq_done_job record = done_of(done.row);
    wq_export_item item = WQ_EXPORT_ITEM_INIT;
    item.done = &record;
    item.queue_name = view_text(done.queue_name);
    return tell(item);
  };
  visitor.on_rate_key = [tell](const RateKeyImage& key) {
    wq_rate_key_record record = WQ_RATE_KEY_RECORD_INIT;
    record.key = view_text(key.key);
    record.used_ns = key.tat_ns;
    record.cool_until_ms = key.breaker.cool_until_ms;
    record.exceptions_ms = key.breaker.failed_ms.data();
    record.exceptions_count = static_cast<uint32_t>(key.breaker.failed_ms.size());
    wq_export_item item = WQ_EXPORT_ITEM_INIT;
    item.rate_key = &record;
    item.queue_name = view_text(key.queue_name);
    return tell(item);
  };
}

}  // namespace wq

extern "C" {

int32_t wq_import_flows(wq_store* store, const wq_flow_record* flows, size_t n, size_t record_size,
                        wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    std::vector<wq::BatchImage> images;
    WQ_TRY(wq::read_all(flows, n, record_size, wq::read_flow, images));
    wq::CallOptions call = wq::from_memory();
    return engine.import_batches(images, call);
  });
}

int32_t wq_import_keys(wq_queue* queue, const wq_key_record* keys, size_t n, size_t record_size,
                       wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    std::vector<wq::KeyImage> images;
    WQ_TRY(wq::read_all(keys, n, record_size, wq::read_key, images));
    wq::CallOptions call = wq::from_memory();
    return engine.import_keys(queue->id, images, call);
  });
}

int32_t wq_import_history(wq_queue* queue, const wq_done_job* jobs, size_t n, size_t job_size,
                          wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    std::vector<wq::DoneImage> images;
    WQ_TRY(wq::read_all(jobs, n, job_size, wq::read_done, images));
    wq::CallOptions call = wq::from_memory();
    return engine.import_history(queue->id, images, call);
  });
}

int32_t wq_import_rate_keys(wq_queue* queue, const wq_rate_key_record* keys, size_t n,
                            size_t record_size, wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    std::vector<wq::RateKeyImage> images;
    WQ_TRY(wq::read_all(keys, n, record_size, wq::read_rate_key, images));
    wq::CallOptions call = wq::from_memory();
    return engine.import_rate_keys(queue->id, images, call);
  });
}

}  // extern "C"
