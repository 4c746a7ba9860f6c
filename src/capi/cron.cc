// Schedules: put, remove, pause, read; the preview of an expression.
#include <algorithm>

#include "capi/capi_internal.h"
#include "capi/specs.h"
#include "engine/cron_plan.h"

namespace wq {
namespace {

wq_bytes view_text(std::string_view text) {
  return {text.data(), text.size()};
}

Status read_text(const void* data, size_t size, const char* field, std::string_view& out) {
  Bytes bytes;
  WQ_TRY(read_bytes(data, size, field, bytes));
  out = as_text(bytes);
  return {};
}

Status put(Engine& engine, const wq_queue& queue, std::string_view name, const wq_cron_spec* given,
           CallOptions& call) {
  if (!given) return invalid_field("spec", "is NULL");
  SizedIn<wq_cron_spec> in;
  WQ_TRY(in.read(given, "spec"));
  if (in->flags & ~WQ_CRON_CATCH_UP) {
    return unknown_bits("spec.flags", in->flags & ~WQ_CRON_CATCH_UP);
  }
  if (in->reserved_0 != 0) return invalid_field("spec.reserved_0", "is not 0");
  CronSpec spec;
  WQ_TRY(read_text(in->expression.data, in->expression.len, "expression", spec.expression));
  WQ_TRY(read_text(in->zone.data, in->zone.len, "zone", spec.zone));
  if (in->flags & WQ_CRON_CATCH_UP) spec.catch_up = in->catch_up;
  SpecParts parts;
  SizedIn<wq_job_spec> job;
  WQ_TRY(job.read(in->job, "job"));
  WQ_TRY(read_spec(*job, parts, spec.job));
  return engine.cron_put(queue.id, name, spec, call);
}

int32_t pause(wq_store* store, const void* name, size_t name_len, bool paused, wq_call* call,
              wq_error* err) {
  return with_handle(store, err, [&](Engine& engine) -> Status {
    Call how;
    WQ_TRY(how.open(call, store->core));
    std::string_view text;
    WQ_TRY(read_text(name, name_len, "name", text));
    return engine.cron_pause(text, paused, how.options());
  });
}

// Decoded once; the record points into the view and beside it.
Status fill_view(PublicCron& out, CronView view) {
  out.view = std::move(view);
  WQ_TRY_SET(const CronRow row, decode_cron_row(as_bytes(out.view.row)));
  WQ_TRY_SET(Envelope job, decode_envelope(row.envelope));
  EncryptWish encrypt = EncryptWish::by_queue;
  if (job.packing.is_sealed()) encrypt = EncryptWish::yes;
  if (job.packing.is_packed()) job.payload = out.view.payload;
  job.packing = Packing();
  out.fill(out.view.state, row, job, encrypt);
  out.record.payload_code = static_cast<int32_t>(out.view.payload_code);
  out.record.key_id = out.view.key_id;
  out.record.name = view_text(out.view.name);
  out.record.queue_name = view_text(out.view.queue_name);
  out.record.problem = view_text(out.view.problem);
  return {};
}

Status list_of(std::vector<CronView> views, wq_crons** crons) {
  NewHandle<wq_crons> handle;
  handle->schedules = std::vector<PublicCron>(views.size());
  for (size_t i = 0; i < views.size(); ++i) {
    WQ_TRY(fill_view(handle->schedules[i], std::move(views[i])));
  }
  *crons = handle.release();
  return {};
}

Status list(Engine& engine, wq_queue* queue, std::string_view after, size_t limit,
            wq_crons** crons) {
  if (!crons) return invalid_field("crons", "is NULL");
  Inside<wq_queue> inside;
  if (queue) {
    if (const Code code = inside.enter(queue); code != Code::ok) {
      return handle_refused(code, wq_queue::own_name);
    }
    if (queue->core->engine.get() != &engine) {
      return invalid_field("queue", "belongs to another store");
    }
  }
  WQ_TRY_SET(CronPage page, engine.cron_list(queue ? queue->id : 0, after, limit));
  return list_of(std::move(page.schedules), crons);
}

Status next(std::string_view expression, std::string_view zone_name, int64_t from_ms,
            int64_t* times, size_t n, size_t* count) {
  WQ_TRY(check_array(times, n, "times"));
  if (!count) return invalid_field("count", "is NULL");
  WQ_TRY_SET(const CronExpr expr, parse_cron(expression));
  WQ_TRY_SET(const Zone zone, Zone::load(zone_name));
  for (size_t found = 0; found < n; ++found) {
    WQ_TRY_SET(const std::optional<int64_t> at, cron_next(expr, zone, from_ms));
    if (!at) return {};
    times[found] = from_ms = *at;
    *count = found + 1;
  }
  return {};
}

Status read_image(const wq_cron& in, std::string_view name, CronImage& out) {
  constexpr uint32_t known = WQ_CRON_PAUSED | WQ_JOB_ENCRYPT;
  if (in.flags & ~known) return unknown_bits("flags", in.flags & ~known);
  if (in.packing > UINT8_MAX) return invalid_field("packing", "is not known");
  out.job.packing = {static_cast<uint8_t>(in.packing), in.plain_bytes};
  WQ_TRY(read_encrypt_flags(in.flags, out.encrypt));
  if (in.priority > UINT8_MAX) return invalid_field("priority", "is more than 255");
  out.name = name;
  out.state = {.paused = (in.flags & WQ_CRON_PAUSED) != 0,
               .next_due_ms = in.next_due_ms,
               .last_slot_ms = in.last_slot_ms,
               .created_ms = in.created_ms,
               .fired = in.fired,
               .missed = in.missed};
  out.row.catch_up = in.catch_up;
  out.row.max_attempts = in.max_attempts;
  out.row.priority = static_cast<uint8_t>(in.priority);
  WQ_TRY(read_text(in.expression.data, in.expression.len, "expression", out.row.expression));
  WQ_TRY(read_text(in.zone.data, in.zone.len, "zone", out.row.zone));
  WQ_TRY(read_bytes(in.payload.data, in.payload.len, "payload", out.job.payload));
  if (in.headers_count > 0 && !in.headers) return invalid_field("headers", "is NULL");
  if (in.headers_count > headers_count_max) {
    return Status(Code::too_large, "headers_count is over the limit of 1024");
  }
  for (size_t i = 0; i < in.headers_count; ++i) {
    Header& header = out.job.headers.emplace_back();
    const wq_header& given = in.headers[i];
    WQ_TRY(read_bytes(given.name.data, given.name.len, "header name", header.name));
    WQ_TRY(read_bytes(given.value.data, given.value.len, "header value", header.value));
  }
  out.job.backoff.jitter_permille = in.backoff_jitter_permille;
  return read_backoff(in.backoff_kind, in.backoff_base_ms, in.backoff_max_ms, in.backoff_list_ms,
                      in.backoff_count, out.job.backoff);
}

}  // namespace

void PublicCron::fill(const CronState& state, const CronRow& row, const Envelope& job,
                      EncryptWish encrypt) {
  backoff_list_ms = job.backoff.list_ms;
  headers.clear();
  for (const Header& header : job.headers) {
    headers.push_back({view_bytes(header.name), view_bytes(header.value)});
  }
  record.flags = state.paused ? WQ_CRON_PAUSED : 0;
  if (encrypt == EncryptWish::yes) record.flags |= WQ_JOB_ENCRYPT;
  record.packing = job.packing.flags;
  record.plain_bytes = job.packing.plain_bytes;
  record.expression = view_text(row.expression);
  record.zone = view_text(row.zone);
  record.next_due_ms = state.next_due_ms;
  record.last_slot_ms = state.last_slot_ms;
  record.created_ms = state.created_ms;
  record.fired = state.fired;
  record.missed = state.missed;
  record.catch_up = row.catch_up;
  record.priority = row.priority;
  record.max_attempts = row.max_attempts;
  record.backoff_kind = static_cast<uint32_t>(job.backoff.kind);
  record.backoff_base_ms = job.backoff.base_ms;
  record.backoff_max_ms = job.backoff.max_ms;
  record.backoff_jitter_permille = job.backoff.jitter_permille;
  record.backoff_list_ms = backoff_list_ms.data();
  record.backoff_count = static_cast<uint32_t>(backoff_list_ms.size());
  record.payload = view_bytes(job.payload);
  record.headers = headers.data();
  record.headers_count = headers.size();
}

Status import_schedules(Engine& engine, QueueId queue, const wq_cron* schedules, size_t count) {
  if (count > 0 && !schedules) return invalid_field("record.schedules", "is NULL");
  if (count > cron_schedules_max) {
    return Status(Code::too_large, "record.schedules_count: is over the limit of 10000");
  }
  CallOptions call;
  call.durability = static_cast<uint32_t>(Durability::memory);
  // The first one tells the size of all.
  const size_t stride = count > 0 ? schedules->struct_size : 0;
  for (size_t i = 0; i < count; ++i) {
    SizedIn<wq_cron> in;
    WQ_TRY(in.read_element(schedules, i, stride, "schedule"));
    std::string_view name;
    WQ_TRY(read_text(in->name.data, in->name.len, "name", name));
    CronImage image;
    Status status = read_image(*in, name, image);
    if (status.ok()) status = engine.import_schedule(queue, image, call);
    if (!status.ok()) {
      return Status(status.code(),
                    "schedule '" + std::string(name.substr(0, 255)) + "': " + status.message());
    }
  }
  return {};
}

}  // namespace wq

extern "C" {

int32_t wq_cron_put(wq_queue* queue, const void* name, size_t name_len, const wq_cron_spec* spec,
                    wq_call* call, wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    wq::Call how;
    WQ_TRY(how.open(call, queue->core));
    std::string_view text;
    WQ_TRY(wq::read_text(name, name_len, "name", text));
    return wq::put(engine, *queue, text, spec, how.options());
  });
}

int32_t wq_cron_remove(wq_store* store, const void* name, size_t name_len, wq_call* call,
                       wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    wq::Call how;
    WQ_TRY(how.open(call, store->core));
    std::string_view text;
    WQ_TRY(wq::read_text(name, name_len, "name", text));
    return engine.cron_remove(text, how.options());
  });
}

int32_t wq_cron_pause(wq_store* store, const void* name, size_t name_len, wq_call* call,
                      wq_error* err) {
  return wq::pause(store, name, name_len, true, call, err);
}

int32_t wq_cron_resume(wq_store* store, const void* name, size_t name_len, wq_call* call,
                       wq_error* err) {
  return wq::pause(store, name, name_len, false, call, err);
}

int32_t wq_cron_get(wq_store* store, const void* name, size_t name_len, wq_crons** crons,
                    wq_error* err) {
  if (crons) *crons = nullptr;
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    if (!crons) return wq::invalid_field("crons", "is NULL");
    std::string_view text;
    WQ_TRY(wq::read_text(name, name_len, "name", text));
    std::vector<wq::CronView> views(1);
    WQ_TRY_SET(views[0], engine.cron_get(text));
    return wq::list_of(std::move(views), crons);
  });
}

int32_t wq_cron_list(wq_store* store, wq_queue* queue, const void* after, size_t after_len,
                     size_t limit, wq_crons** crons, wq_error* err) {
  if (crons) *crons = nullptr;
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    std::string_view text;
    WQ_TRY(wq::read_text(after, after_len, "after", text));
    return wq::list(engine, queue, text, limit, crons);
  });
}

size_t wq_crons_count(const wq_crons* crons) {
  const bool usable = crons && crons->kind == wq_crons::own_kind && !crons->gate.is_shut();
  return usable ? crons->schedules.size() : 0;
}

int32_t wq_crons_at(const wq_crons* crons, size_t i, wq_cron* cron) {
  if (!cron || cron->struct_size < wq::first_release_bytes<wq_cron> ||
      cron->struct_size > wq::struct_bytes_max || i >= wq_crons_count(crons)) {
    return WQ_E_INVALID;
  }
  wq::write_struct(cron, cron->struct_size, crons->schedules[i].record);
  return WQ_OK;
}

void wq_crons_free(wq_crons** crons) {
  wq_crons* closing = wq::begin_close(crons);
  if (!closing) return;
  std::vector<wq::PublicCron>().swap(closing->schedules);
  wq::handle_pool<wq_crons>().put(closing);
}

int32_t wq_cron_next(const void* expression, size_t expression_len, const void* zone,
                     size_t zone_len, int64_t from_ms, int64_t* times, size_t n, size_t* count,
                     wq_error* err) {
  if (count) *count = 0;
  return wq::boundary(err, [&]() -> wq::Status {
    std::string_view text;
    std::string_view zone_name;
    WQ_TRY(wq::read_text(expression, expression_len, "expression", text));
    WQ_TRY(wq::read_text(zone, zone_len, "zone", zone_name));
    const wq::Status status = wq::next(text, zone_name, from_ms, times, n, count);
    if (!status.ok() && count) *count = 0;
    return status;
  });
}

}  // extern "C"
