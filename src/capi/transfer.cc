// Export and import of a whole store. Records are views both ways: nothing is kept after the call.
#include <algorithm>
#include <string>
#include <vector>

#include "capi/capi_internal.h"
#include "capi/keys.h"
#include "capi/transfer_rows.h"
#include "engine/transfer.h"

namespace wq {
namespace {

wq_bytes view_text(std::string_view text) {
  return {text.data(), text.size()};
}

// ---- out

wq_job_record job_of(const JobImage& job, std::vector<wq_header>& headers) {
  const JobRow& row = job.row;
  const Backoff& backoff = job.envelope.backoff;
  wq_job_record out = WQ_JOB_RECORD_INIT;
  out.state = static_cast<uint32_t>(row.state);
  out.id = job.id;
  out.generation = row.generation;
  out.priority = row.priority;
  out.attempts = row.attempts;
  out.exceptions = row.exceptions;
  out.failures = row.failures;
  out.max_attempts = row.max_attempts;
  out.replays = row.replays;
  out.enqueued_ms = job.envelope.enqueued_ms;
  out.since_ms = row.since_ms;
  out.due_ms = row.state == JobState::delayed ? static_cast<int64_t>(row.position) : 0;
  out.leased_ms = row.leased_ms;
  out.dead_reason = row.state == JobState::dead ? static_cast<uint32_t>(row.reason) : 0;
  out.first_dead_ms = row.first_dead_ms;
  out.backoff_kind = static_cast<uint32_t>(backoff.kind);
  out.backoff_base_ms = backoff.base_ms;
  out.backoff_max_ms = backoff.max_ms;
  out.backoff_list_ms = backoff.list_ms.data();
  out.backoff_count = static_cast<uint32_t>(backoff.list_ms.size());
  headers.clear();
  for (const Header& header : job.envelope.headers) {
    headers.push_back({view_bytes(header.name), view_bytes(header.value)});
  }
  out.headers = headers.data();
  out.headers_count = headers.size();
  out.payload = view_bytes(job.envelope.payload);
  out.last_error = view_text(row.last_error);
  const JobTraits& traits = job.envelope.traits;
  out.expires_at_ms = traits.expires_ms;
  out.retry_until_ms = traits.retry_until_ms;
  out.timeout_ms = traits.timeout_ms;
  out.max_exceptions = traits.max_exceptions;
  out.flags = traits.fail_on_timeout ? WQ_JOB_FAIL_ON_TIMEOUT : 0;
  if (job.encrypt == EncryptWish::yes) out.flags |= WQ_JOB_ENCRYPT;
  out.packing = job.envelope.packing.flags;
  out.plain_bytes = job.envelope.packing.plain_bytes;
  out.backoff_jitter_permille = backoff.jitter_permille;
  out.progress = view_text(row.progress);
  out.queue_name = view_text(job.queue_name);
  tell_record_keys(job, out);
  out.flow = job.envelope.traits.batch;
  out.chain = view_text(job.envelope.traits.chain);
  out.group = view_text(job.envelope.traits.group);
  out.group_limit = job.envelope.traits.group_limit;
  out.overlap = static_cast<uint32_t>(job.envelope.traits.overlap);
  out.overlap_ms = job.envelope.traits.overlap_ms;
  out.tenant = view_text(job.envelope.traits.tenant);
  out.rate_key = view_text(job.envelope.traits.rate_key);
  out.rate_cost = job.envelope.traits.rate_cost;
  return out;
}

Status export_store(Engine& engine, Bytes name, wq_export_visit visit, void* ctx) {
  if (!visit) return invalid_field("visit", "is NULL");
  const auto go_on = [](int32_t answer) -> Status {
    return answer == 0 ? Code::ok : Code::cancelled;
  };
  ExportVisitor visitor;
  visitor.on_store = [&](const StoreImage& store) -> Status {
    wq_store_record record = WQ_STORE_RECORD_INIT;
    record.lsn = store.lsn;
    record.next_job_id = store.next_job_id;
    record.next_generation = store.next_generation;
    record.queues = store.queues;
    record.jobs = store.jobs;
    record.kv_rows = store.kv_rows;
    record.flows = store.batches;
    record.rows = store.rows;
    wq_export_item item = WQ_EXPORT_ITEM_INIT;
    item.store = &record;
    return go_on(visit(&item, ctx));
  };
  std::vector<wq_cron> schedules;
  std::vector<PublicCron> public_schedules;
  visitor.on_schedules = [&](std::span<const CronImage> images) -> Status {
    public_schedules = std::vector<PublicCron>(images.size());
    schedules.clear();
    for (size_t i = 0; i < images.size(); ++i) {
      PublicCron& schedule = public_schedules[i];
      schedule.fill(images[i].state, images[i].row, images[i].job, images[i].encrypt);
      schedule.record.name = view_text(images[i].name);
      schedules.push_back(schedule.record);
    }
    return {};
  };
  visitor.on_queue = [&](const QueueRow& row) -> Status {
    const wq_queue_config config = public_config(row.config);
    const wq_queue_stats stats = public_stats(row.config.status, row.counts, row.totals);
    wq_queue_record record = WQ_QUEUE_RECORD_INIT;
    record.name = view_text(row.name);
    record.created_ms = row.created_ms;
    record.config = &config;
    record.stats = &stats;
    record.schedules = schedules.data();
    record.schedules_count = schedules.size();
    record.rate_used_ns = row.rate_tat_ns;
    wq_export_item item = WQ_EXPORT_ITEM_INIT;
    item.queue = &record;
    return go_on(visit(&item, ctx));
  };
  std::vector<wq_header> headers;
  visitor.on_job = [&](const JobImage& job) -> Status {
    const wq_job_record record = job_of(job, headers);
    wq_export_item item = WQ_EXPORT_ITEM_INIT;
    item.job = &record;
    return go_on(visit(&item, ctx));
  };
  visitor.on_kv = [&](const KvImage& row) -> Status {
    wq_kv_record record = WQ_KV_RECORD_INIT;
    record.expires_ms = row.expires_ms;
    record.key = view_text(row.key);
    record.value = view_text(row.value);
    wq_export_item item = WQ_EXPORT_ITEM_INIT;
    item.kv = &record;
    return go_on(visit(&item, ctx));
  };
  tell_rows(visitor, [&](const wq_export_item& item) { return go_on(visit(&item, ctx)); });
  return engine.export_store(as_text(name), visitor);
}

// ---- in

Status import_begin(Engine& engine, const wq_store_record* given) {
  if (!given) return invalid_field("record", "is NULL");
  SizedIn<wq_store_record> in;
  WQ_TRY(in.read(given, "record"));
  if (in->reserved_0 != 0) return invalid_field("record.reserved_0", "is not 0");
  CallOptions call;
  return engine.import_begin(in->next_job_id, in->next_generation, call);
}

Status read_config(const wq_queue_config* given, QueueConfig& out) {
  if (!given) return invalid_field("record.config", "is NULL");
  SizedIn<wq_queue_config> in;
  WQ_TRY(in.read(given, "record.config"));
  if (in->status > WQ_STATUS_DISABLED) return invalid_field("config.status", "is not known");
  out.max_running = in->max_running;
  out.max_retries = in->max_retries;
  out.lease_ms = in->lease_ms;
  out.durability = static_cast<Durability>(in->durability);
  out.status = static_cast<QueueStatus>(in->status);
  out.pause_kept = in->status == WQ_STATUS_DISABLED && in->consumers_paused != 0;
  out.version = in->version;
  out.job_ttl_ms = in->job_ttl_ms;
  out.backoff.jitter_permille = in->backoff_jitter_permille;
  read_limits(*in, out);
  WQ_TRY(read_packing(*in, out));
  out.keep_done_count = in->keep_done_count;
  out.keep_done_age_ms = in->keep_done_age_ms;
  read_gates(*in, out);
  if (in->group_limit == 0) out.group_limit = 1;  // of a program that knows of no groups
  return read_backoff(in->backoff_kind, in->backoff_base_ms, in->backoff_max_ms,
                      in->backoff_list_ms, in->backoff_count, out.backoff);
}

Status read_totals(const wq_queue_stats* given, QueueTotals& out) {
  if (!given) return {};
  SizedIn<wq_queue_stats> in;
  WQ_TRY(in.read(given, "record.stats"));
  out.enqueued = in->enqueued_total;
  out.leased = in->leased_total;
  out.acked = in->acked_total;
  out.nacked = in->nacked_total;
  out.failed = in->failed_total;
  out.released = in->released_total;
  out.expired = in->expired_total;
  out.dead = in->dead_total;
  out.replayed = in->replayed_total;
  out.cancelled = in->cancelled_total;
  out.cleared = in->cleared_total;
  out.jobs_expired = in->jobs_expired_total;
  out.dropped = in->dropped_total;
  out.dead_dropped = in->dead_dropped_total;
  out.chain_cut = in->chain_cut_total;
  out.skipped = in->skipped_total;
  return {};
}

Status import_queue(Engine& engine, StoreCore* core, const wq_queue_record* given,
                    wq_queue** queue) {
  if (!given) return invalid_field("record", "is NULL");
  SizedIn<wq_queue_record> in;
  WQ_TRY(in.read(given, "record"));
  if (in->reserved_0 != 0) return invalid_field("record.reserved_0", "is not 0");
  Bytes name;
  WQ_TRY(read_bytes(in->name.data, in->name.len, "record.name", name));
  QueueRow row;
  row.name = as_text(name);
  row.created_ms = in->created_ms;
  row.rate_tat_ns = in->rate_used_ns;
  WQ_TRY(read_config(in->config, row.config));
  WQ_TRY(read_totals(in->stats, row.totals));
  NewHandle<wq_queue> handle;
  CallOptions call;
  call.durability = static_cast<uint32_t>(Durability::memory);
  WQ_TRY_SET(handle->id, engine.import_queue(row, call));
  handle->name = row.name;
  Status status = caught(
      [&] { return import_schedules(engine, handle->id, in->schedules, in->schedules_count); });
  if (!status.ok()) {
    WQ_TRY(engine.import_undo(handle->id));
    return status;
  }
  hold(core);
  handle->core = core;
  *queue = handle.release();
  return {};
}

Status read_limits(const wq_job_record& in, Envelope& out) {
  constexpr uint32_t known = WQ_JOB_FAIL_ON_TIMEOUT | WQ_JOB_ENCRYPT;
  if (in.flags & ~known) return unknown_bits("job.flags", in.flags & ~known);
  if (in.reserved_1 != 0) return invalid_field("job.reserved_1", "is not 0");
  out.traits.expires_ms = in.expires_at_ms;
  out.traits.retry_until_ms = in.retry_until_ms;
  out.traits.timeout_ms = in.timeout_ms;
  out.traits.max_exceptions = in.max_exceptions;
  out.traits.fail_on_timeout = (in.flags & WQ_JOB_FAIL_ON_TIMEOUT) != 0;
  out.backoff.jitter_permille = in.backoff_jitter_permille;
  return {};
}

Status read_job(const wq_job_record& in, JobImage& out) {
  if (in.reserved_0 != 0) return invalid_field("job.reserved_0", "is not 0");
  if (in.reserved_4 != 0) return invalid_field("job.reserved_4", "is not 0");
  if (in.state == 0 || in.state >= job_state_count) return invalid_field("state", "is not known");
  if (in.priority > UINT8_MAX) return invalid_field("priority", "is more than 255");
  if (in.dead_reason > WQ_DEAD_UNREADABLE) return invalid_field("dead_reason", "is not known");
  JobRow& row = out.row;
  out.id = in.id;
  row.state = static_cast<JobState>(in.state);
  row.priority = static_cast<uint8_t>(in.priority);
  row.reason = static_cast<DeadReason>(in.dead_reason);
  row.attempts = in.attempts;
  row.exceptions = in.exceptions;
  row.failures = in.failures;
  row.max_attempts = in.max_attempts;
  row.replays = in.replays;
  row.generation = in.generation;
  row.since_ms = in.since_ms;
  row.leased_ms = in.leased_ms;
  row.first_dead_ms = in.first_dead_ms;
  row.position = row.state == JobState::delayed ? static_cast<uint64_t>(in.due_ms) : 0;
  Bytes error;
  WQ_TRY(read_bytes(in.last_error.data, in.last_error.len, "last_error", error));
  row.last_error = as_text(error);
  Bytes progress;
  WQ_TRY(read_bytes(in.progress.data, in.progress.len, "progress", progress));
  row.progress = as_text(progress);
  WQ_TRY(read_record_keys(in, out));
  Envelope& envelope = out.envelope;
  WQ_TRY(read_limits(in, envelope));
  WQ_TRY(read_encrypt_flags(in.flags, out.encrypt));
  if (in.packing > UINT8_MAX) return invalid_field("packing", "is not known");
  envelope.packing = {static_cast<uint8_t>(in.packing), in.plain_bytes};
  envelope.enqueued_ms = in.enqueued_ms;
  WQ_TRY(read_bytes(in.payload.data, in.payload.len, "payload", envelope.payload));
  WQ_TRY(read_gate_traits(in, envelope.traits));
  if (in.headers_count > headers_count_max) {
    return Status(Code::too_large, "headers_count is over the limit of 1024");
  }
  if (in.headers_count > 0 && !in.headers) return invalid_field("headers", "is NULL");
  for (size_t i = 0; i < in.headers_count; ++i) {
    Header& header = envelope.headers.emplace_back();
    const wq_header& given = in.headers[i];
    WQ_TRY(read_bytes(given.name.data, given.name.len, "header name", header.name));
    WQ_TRY(read_bytes(given.value.data, given.value.len, "header value", header.value));
  }
  Bytes chain;
  WQ_TRY(read_bytes(in.chain.data, in.chain.len, "chain", chain));
  envelope.traits.batch = in.flow;
  envelope.traits.chain = as_text(chain);
  return read_backoff(in.backoff_kind, in.backoff_base_ms, in.backoff_max_ms, in.backoff_list_ms,
                      in.backoff_count, envelope.backoff);
}

Status import_kv(Engine& engine, const wq_kv_record* rows, size_t n, size_t row_size) {
  WQ_TRY(check_array(rows, n, "rows"));
  WQ_TRY(check_stride<wq_kv_record>(row_size, "row_size"));
  std::vector<KvImage> images(n);
  for (size_t i = 0; i < n; ++i) {
    SizedIn<wq_kv_record> in;
    WQ_TRY(in.read_element(rows, i, row_size, "row"));
    if (in->reserved_0 != 0) return invalid_field("row.reserved_0", "is not 0");
    Bytes key, value;
    WQ_TRY(read_bytes(in->key.data, in->key.len, "key", key));
    WQ_TRY(read_bytes(in->value.data, in->value.len, "value", value));
    images[i] = {as_text(key), as_text(value), in->expires_ms};
  }
  CallOptions call;
  call.durability = static_cast<uint32_t>(Durability::memory);
  return engine.import_kv(images, call);
}

Status import_jobs(Engine& engine, QueueId queue, const wq_job_record* jobs, size_t n,
                   size_t job_size) {
  WQ_TRY(check_array(jobs, n, "jobs"));
  WQ_TRY(check_stride<wq_job_record>(job_size, "job_size"));
  std::vector<JobImage> images(n);
  for (size_t i = 0; i < n; ++i) {
    SizedIn<wq_job_record> in;
    WQ_TRY(in.read_element(jobs, i, job_size, "job"));
    if (Status status = read_job(*in, images[i]); !status.ok()) {
      return Status(status.code(), "job " + std::to_string(in->id) + ": " + status.message());
    }
  }
  CallOptions call;
  call.durability = static_cast<uint32_t>(Durability::memory);
  return engine.import_jobs(queue, images, call);
}

}  // namespace
}  // namespace wq

extern "C" {

int32_t wq_store_export(wq_store* store, const void* name, size_t name_len, wq_export_visit visit,
                        void* ctx, wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    wq::Bytes only;
    WQ_TRY(wq::read_bytes(name, name_len, "name", only));
    return wq::export_store(engine, only, visit, ctx);
  });
}

int32_t wq_import_begin(wq_store* store, const wq_store_record* record, wq_error* err) {
  return wq::with_handle(store, err,
                         [&](wq::Engine& engine) { return wq::import_begin(engine, record); });
}

int32_t wq_import_queue(wq_store* store, const wq_queue_record* record, wq_queue** queue,
                        wq_error* err) {
  if (queue) *queue = nullptr;
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    if (!queue) return wq::invalid_field("queue", "is NULL");
    return wq::import_queue(engine, store->core, record, queue);
  });
}

int32_t wq_import_jobs(wq_queue* queue, const wq_job_record* jobs, size_t n, size_t job_size,
                       wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) {
    return wq::import_jobs(engine, queue->id, jobs, n, job_size);
  });
}

int32_t wq_import_kv(wq_store* store, const wq_kv_record* rows, size_t n, size_t row_size,
                     wq_error* err) {
  return wq::with_handle(
      store, err, [&](wq::Engine& engine) { return wq::import_kv(engine, rows, n, row_size); });
}

int32_t wq_import_end(wq_store* store, wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    wq::CallOptions call;
    return engine.import_end(call);
  });
}

}  // extern "C"
