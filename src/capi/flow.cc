// Flows (batches of the engine: wq_batch is what a lease gives) and the history of done jobs.
#include "capi/capi_internal.h"
#include "capi/specs.h"
#include "engine/batch.h"

namespace wq {
namespace {

constexpr size_t page_max = 1'000;

wq_flow_status public_status(const BatchStatus& in) {
  wq_flow_status out = WQ_FLOW_STATUS_INIT;
  if (in.flags & batch_sealed) out.flags |= WQ_FLOW_SEALED;
  if (in.flags & batch_cancelled) out.flags |= WQ_FLOW_CANCELLED;
  if (in.finished_ms != 0) out.flags |= WQ_FLOW_FINISHED;
  out.flow = in.id;
  out.total = in.total;
  out.pending = in.pending;
  out.done = in.done;
  out.failed = in.failed;
  out.cancelled = in.cancelled;
  out.follow_up_id = in.follow_up;
  out.created_ms = in.created_ms;
  out.finished_ms = in.finished_ms;
  return out;
}

wq_done_job public_done(const DoneJob& in, const std::string& result) {
  wq_done_job out = WQ_DONE_JOB_INIT;
  out.priority = in.priority;
  out.id = in.id;
  out.generation = in.generation;
  out.flow = in.batch;
  out.attempts = in.attempts;
  out.exceptions = in.exceptions;
  out.replays = in.replays;
  out.enqueued_ms = in.enqueued_ms;
  out.leased_ms = in.leased_ms;
  out.done_ms = in.done_ms;
  out.result = view_bytes(bytes_of(result));
  out.result_code = static_cast<int32_t>(in.result_code);
  out.key_id = in.key_id;
  return out;
}

// A follow-up of a flow, if there is one.
Status read_follow_up(const char* field, const wq_next_job* given, SpecParts& parts, NextSpec& out,
                      const NextSpec*& place) {
  if (!given) return {};
  SizedIn<wq_next_job> in;
  Status status = in.read(given, field);
  if (status.ok()) status = parts.read_next(*in, out);
  if (status.ok() && out.queue.empty()) status = invalid_field("queue_name", "is empty");
  if (!status.ok()) return Status(status.code(), std::string(field) + ": " + status.message());
  place = &out;
  return {};
}

Status create_flow(Engine& engine, StoreCore* core, const wq_flow_options* given, uint64_t* flow,
                   wq_call* call) {
  if (!flow) return invalid_field("flow", "is NULL");
  Call how;
  WQ_TRY(how.open(call, core));
  SizedIn<wq_flow_options> in;
  WQ_TRY(in.read(given, "options"));
  if (in->flags & ~WQ_FLOW_ALLOW_FAILURES) {
    return unknown_bits("options.flags", in->flags & ~WQ_FLOW_ALLOW_FAILURES);
  }
  SpecParts parts[2];
  NextSpec follow_ups[2];
  BatchSpec spec;
  spec.allow_failures = in->flags & WQ_FLOW_ALLOW_FAILURES;
  WQ_TRY(read_follow_up("on_complete", in->on_complete, parts[0], follow_ups[0], spec.on_complete));
  WQ_TRY(read_follow_up("on_failure", in->on_failure, parts[1], follow_ups[1], spec.on_failure));
  WQ_TRY_SET(*flow, engine.batch_create(spec, how.options()));
  return {};
}

// A page into an array of the caller's. `tell(item)` gives the public form of one.
template <typename Public, typename Item, typename Tell>
void write_page(const std::vector<Item>& items, Public* array, size_t stride, Tell&& tell) {
  for (size_t i = 0; i < items.size(); i++) {
    auto* place = reinterpret_cast<Public*>(reinterpret_cast<char*>(array) + i * stride);
    write_struct(place, stride, tell(items[i], i));
  }
}

template <typename Public>
Status check_page(const uint64_t* cursor, const Public* array, size_t n, size_t stride,
                  const size_t* count, const char* array_field, const char* stride_field) {
  if (!cursor) return invalid_field("cursor", "is NULL");
  if (!count) return invalid_field("count", "is NULL");
  if (n > page_max) return invalid_field("n", "is more than 1000");
  WQ_TRY(check_array(array, n, array_field));
  return check_stride<Public>(stride, stride_field);
}

Status list_flows(Engine& engine, uint64_t* cursor, wq_flow_status* statuses, size_t n,
                  size_t stride, size_t* count) {
  WQ_TRY(check_page(cursor, statuses, n, stride, count, "statuses", "status_size"));
  WQ_TRY_SET(const BatchPage page, engine.batch_list(*cursor, n));
  write_page(page.batches, statuses, stride,
             [](const BatchStatus& status, size_t) { return public_status(status); });
  *count = page.batches.size();
  *cursor = page.next_cursor;
  return {};
}

Status get_done(Engine& engine, const wq_queue& queue, JobId id, wq_done_job* job,
                wq_list** result) {
  if (!result) return invalid_field("result", "is NULL");
  WQ_TRY(check_out(job, "job"));
  NewHandle<wq_list> list;
  WQ_TRY_SET(DoneJob done, engine.history_get(queue.id, id));
  list->names.clear();
  list->names.push_back(std::move(done.result));
  write_struct(job, job->struct_size, public_done(done, list->names[0]));
  *result = list.release();
  return {};
}

Status list_done(Engine& engine, const wq_queue& queue, uint64_t* cursor, wq_done_job* jobs,
                 size_t n, size_t stride, size_t* count, wq_list** results) {
  if (!results) return invalid_field("results", "is NULL");
  WQ_TRY(check_page(cursor, jobs, n, stride, count, "jobs", "job_size"));
  NewHandle<wq_list> list;
  WQ_TRY_SET(DonePage page, engine.history_list(queue.id, *cursor, n));
  list->names.clear();
  for (DoneJob& done : page.jobs) list->names.push_back(std::move(done.result));
  write_page(page.jobs, jobs, stride,
             [&](const DoneJob& done, size_t i) { return public_done(done, list->names[i]); });
  *count = page.jobs.size();
  *cursor = page.next_cursor;
  *results = list.release();
  return {};
}

}  // namespace
}  // namespace wq

extern "C" {

int32_t wq_flow_create(wq_store* store, const wq_flow_options* options, uint64_t* flow,
                       wq_call* call, wq_error* err) {
  if (flow) *flow = 0;
  return wq::with_handle(store, err, [&](wq::Engine& engine) {
    return wq::create_flow(engine, store->core, options, flow, call);
  });
}

int32_t wq_flow_seal(wq_store* store, uint64_t flow, wq_call* call, wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    wq::Call how;
    WQ_TRY(how.open(call, store->core));
    return engine.batch_seal(flow, how.options());
  });
}

int32_t wq_flow_cancel(wq_store* store, uint64_t flow, wq_call* call, wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    wq::Call how;
    WQ_TRY(how.open(call, store->core));
    return engine.batch_cancel(flow, how.options());
  });
}

int32_t wq_flow_get_status(wq_store* store, uint64_t flow, wq_flow_status* status, wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    WQ_TRY(wq::check_out(status, "status"));
    WQ_TRY_SET(const wq::BatchStatus found, engine.batch_status(flow));
    wq::write_struct(status, status->struct_size, wq::public_status(found));
    return {};
  });
}

int32_t wq_flow_list(wq_store* store, uint64_t* cursor, wq_flow_status* statuses, size_t n,
                     size_t status_size, size_t* count, wq_error* err) {
  if (count) *count = 0;
  return wq::with_handle(store, err, [&](wq::Engine& engine) {
    return wq::list_flows(engine, cursor, statuses, n, status_size, count);
  });
}

int32_t wq_history_get(wq_queue* queue, uint64_t id, wq_done_job* job, wq_list** result,
                       wq_error* err) {
  if (result) *result = nullptr;
  return wq::with_handle(queue, err, [&](wq::Engine& engine) {
    return wq::get_done(engine, *queue, id, job, result);
  });
}

int32_t wq_history_list(wq_queue* queue, uint64_t* cursor, wq_done_job* jobs, size_t n,
                        size_t job_size, size_t* count, wq_list** results, wq_error* err) {
  if (count) *count = 0;
  if (results) *results = nullptr;
  return wq::with_handle(queue, err, [&](wq::Engine& engine) {
    return wq::list_done(engine, *queue, cursor, jobs, n, job_size, count, results);
  });
}

}  // extern "C"
