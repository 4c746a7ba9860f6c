// Watching a store: events, explanations, the last errors, metrics; and the texts that some of
// these are.
#include <algorithm>
#include <cstring>

#include "capi/capi_internal.h"

namespace wq {
namespace {

constexpr size_t rows_per_call_max = 10'000;

static_assert(WQ_EVENT_QUEUED == static_cast<uint32_t>(EventKind::queued) &&
              WQ_EVENT_DROPPED == static_cast<uint32_t>(EventKind::dropped) &&
              WQ_EVENT_FLOW_FINISHED == static_cast<uint32_t>(EventKind::batch_finished) &&
              WQ_EVENT_SKIPPED == static_cast<uint32_t>(EventKind::skipped) &&
              WQ_EVENT_KEY_COOLS == static_cast<uint32_t>(EventKind::key_cools));
static_assert(WQ_WHY_DELAYED == why_delayed && WQ_WHY_SLOTS == why_slots &&
              WQ_WHY_HELD == why_held && WQ_WHY_EMPTY == why_empty && WQ_WHY_GROUP == why_group &&
              WQ_WHY_RATE == why_rate && WQ_WHY_COOLING == why_cooling);
static_assert(sizeof(wq_store_event::queue_name) > queue_name_bytes_max);
static_assert(sizeof(wq_queue_error::text) > queue_error_bytes_max);

uint32_t put_text(char* out, const std::string& text) {
  std::memcpy(out, text.data(), text.size());
  return static_cast<uint32_t>(text.size());
}

wq_store_event to_public(const NamedEvent& in) {
  const Event& event = in.event;
  wq_store_event out = WQ_STORE_EVENT_INIT;
  out.kind = static_cast<uint32_t>(event.kind);
  out.sequence = in.sequence;
  out.lsn = event.lsn;
  out.at_ms = event.at_ms;
  out.time_ms = event.time_ms;
  out.job_id = event.job;
  out.generation = event.generation;
  out.count = event.count;
  out.attempt = event.attempt;
  out.dead_reason = static_cast<uint32_t>(event.reason);
  out.queue_name_len = put_text(out.queue_name, in.queue_name);
  return out;
}

wq_queue_error to_public(const QueueError& in) {
  wq_queue_error out = WQ_QUEUE_ERROR_INIT;
  out.kind = static_cast<uint32_t>(in.kind);
  out.at_ms = in.at_ms;
  out.job_id = in.job;
  out.generation = in.generation;
  out.attempt = in.attempt;
  out.text_len = put_text(out.text, in.text);
  return out;
}

// Row `i` of an array of the caller's.
template <typename T, typename From>
void write_row(T* rows, size_t i, size_t stride, const From& from) {
  auto* place = reinterpret_cast<char*>(rows) + i * stride;
  write_struct(reinterpret_cast<T*>(place), stride, to_public(from));
}

template <typename T>
Status check_rows(const T* rows, size_t n, size_t stride, size_t* count, const char* field,
                  const char* stride_field) {
  if (!count) return invalid_field("count", "is NULL");
  if (!rows || n == 0) return invalid_field(field, "is NULL or n is 0");
  return check_stride<T>(stride, stride_field);
}

// Puts a token in the way of the cancelling thread for as long as a call may wait.
class CancelWait {
 public:
  Status arm(wq_cancel* cancel) {
    if (!cancel) return {};
    if (inside_.enter(cancel) != Code::ok) return handle_refused(inside_.code(), "cancel");
    cancel->interrupts.add(&token_);
    cancel_ = cancel;
    // acquire: pairs with the release in wq_cancel_fire; after the token is in place
    return cancel->fired.load(std::memory_order_acquire) ? Code::cancelled : Code::ok;
  }
  CancelWait() = default;
  ~CancelWait() {
    if (cancel_) cancel_->interrupts.remove(&token_);
  }
  CancelWait(const CancelWait&) = delete;
  CancelWait& operator=(const CancelWait&) = delete;
  CancelToken* token() { return &token_; }

 private:
  Inside<wq_cancel> inside_;
  wq_cancel* cancel_ = nullptr;
  CancelToken token_;
};

Status poll_events(Engine& engine, wq_event_cursor* cursor, wq_store_event* events, size_t n,
                   size_t stride, int64_t wait_ms, wq_cancel* cancel, size_t* count) {
  WQ_TRY(check_rows(events, n, stride, count, "events", "event_size"));
  if (!cursor) return invalid_field("cursor", "is NULL");
  if (wait_ms < -1) return invalid_field("wait_ms", "is below -1");
  SizedIn<wq_event_cursor> in;
  WQ_TRY(in.read(cursor, "cursor"));
  wq_event_cursor told = *in;
  if (told.flags & ~WQ_EVENTS_FROM_NOW) {
    return unknown_bits("cursor.flags", told.flags & ~WQ_EVENTS_FROM_NOW);
  }
  if (told.epoch == 0 && told.sequence != 0) {
    return invalid_field("cursor.sequence", "is set, but cursor.epoch is not");
  }
  EventRequest request;
  request.events_max = std::min(n, rows_per_call_max);
  request.wait_ms = wait_ms;
  request.from_now = told.flags & WQ_EVENTS_FROM_NOW;
  CancelWait wait;
  WQ_TRY(wait.arm(cancel));
  request.cancel = wait.token();
  EventCursor at{told.epoch, told.sequence};
  EventPage page;
  const Status status = engine.poll_events(at, request, page);
  told.epoch = at.epoch;
  told.sequence = at.sequence;
  told.dropped = page.dropped;
  write_struct(cursor, cursor->struct_size, told);
  WQ_TRY(status);
  for (const NamedEvent& event : page.events) write_row(events, (*count)++, stride, event);
  return {};
}

Status get_errors(Engine& engine, const wq_queue& queue, wq_queue_error* errors, size_t n,
                  size_t stride, size_t* count) {
  WQ_TRY(check_rows(errors, n, stride, count, "errors", "error_size"));
  WQ_TRY_SET(const std::vector<QueueError> found, engine.queue_errors(queue.id));
  for (const QueueError& error : found) {
    if (*count == n) break;
    write_row(errors, (*count)++, stride, error);
  }
  return found.empty() ? Code::empty : Code::ok;
}

wq_text* make_text(std::string bytes) {
  NewHandle<wq_text> text;
  text->bytes = std::move(bytes);
  return text.release();
}

// What both explanations say about the queue.
template <typename T>
void put_picture(const QueuePicture& in, T& out) {
  out.slots_taken = in.held;
  out.slots_max = in.max_running;
  out.consumers_waiting = in.consumers;
  out.holder_id = in.holder;
  out.holder_generation = in.holder_generation;
  out.holder_age_ms = in.holder_age_ms;
}

Status explain_job(Engine& engine, const wq_queue& queue, uint64_t id,
                   wq_job_explanation* explanation, wq_text** text) {
  WQ_TRY(check_out(explanation, "explanation"));
  WQ_TRY_SET(JobExplanation found, engine.explain_job(queue.id, id));
  wq_job_explanation out = WQ_JOB_EXPLANATION_INIT;
  out.state = static_cast<uint32_t>(found.state);
  out.causes = found.why;
  out.dead_reason = static_cast<uint32_t>(found.reason);
  out.until_ms = found.until_ms;
  out.ahead = found.ahead;
  out.ahead_exact = found.ahead_exact;
  out.queue_status = static_cast<uint32_t>(found.queue.status);
  put_picture(found.queue, out);
  if (text) *text = make_text(std::move(found.text));
  write_struct(explanation, explanation->struct_size, out);
  return {};
}

Status explain_queue(Engine& engine, const wq_queue& queue, wq_queue_explanation* explanation,
                     wq_text** text) {
  WQ_TRY(check_out(explanation, "explanation"));
  WQ_TRY_SET(QueueExplanation found, engine.explain_queue(queue.id));
  wq_queue_explanation out = WQ_QUEUE_EXPLANATION_INIT;
  out.status = static_cast<uint32_t>(found.queue.status);
  out.causes = found.why;
  out.leasable = found.leasable;
  out.oldest_ready_age_ms = found.oldest_ready_age_ms;
  out.parked = found.queue.parked;
  out.rate_wait_ms = found.queue.rate_wait_ms;
  put_picture(found.queue, out);
  out.enqueue_rate_1m = found.rates.enqueued.per_s_1m;
  out.enqueue_rate_5m = found.rates.enqueued.per_s_5m;
  out.lease_rate_1m = found.rates.leased.per_s_1m;
  out.lease_rate_5m = found.rates.leased.per_s_5m;
  out.ack_rate_1m = found.rates.acked.per_s_1m;
  out.ack_rate_5m = found.rates.acked.per_s_5m;
  if (text) *text = make_text(std::move(found.text));
  write_struct(explanation, explanation->struct_size, out);
  return {};
}

}  // namespace
}  // namespace wq

extern "C" {

int32_t wq_events_poll(wq_store* store, wq_event_cursor* cursor, wq_store_event* events, size_t n,
                       size_t event_size, int64_t wait_ms, wq_cancel* cancel, size_t* count,
                       wq_error* err) {
  if (count) *count = 0;
  return wq::with_handle(store, err, [&](wq::Engine& engine) {
    return wq::poll_events(engine, cursor, events, n, event_size, wait_ms, cancel, count);
  });
}

int32_t wq_queue_get_errors(wq_queue* queue, wq_queue_error* errors, size_t n, size_t error_size,
                            size_t* count, wq_error* err) {
  if (count) *count = 0;
  return wq::with_handle(queue, err, [&](wq::Engine& engine) {
    return wq::get_errors(engine, *queue, errors, n, error_size, count);
  });
}

int32_t wq_job_explain(wq_queue* queue, uint64_t id, wq_job_explanation* explanation,
                       wq_text** text, wq_error* err) {
  if (text) *text = nullptr;
  return wq::with_handle(queue, err, [&](wq::Engine& engine) {
    return wq::explain_job(engine, *queue, id, explanation, text);
  });
}

int32_t wq_queue_explain(wq_queue* queue, wq_queue_explanation* explanation, wq_text** text,
                         wq_error* err) {
  if (text) *text = nullptr;
  return wq::with_handle(queue, err, [&](wq::Engine& engine) {
    return wq::explain_queue(engine, *queue, explanation, text);
  });
}

int32_t wq_store_metrics(wq_store* store, wq_text** text, wq_error* err) {
  if (text) *text = nullptr;
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    if (!text) return wq::invalid_field("text", "is NULL");
    WQ_TRY_SET(std::string bytes, engine.metrics_text());
    *text = wq::make_text(std::move(bytes));
    return {};
  });
}

wq_bytes wq_text_bytes(const wq_text* text) {
  const bool usable = text && text->kind == wq_text::own_kind && !text->gate.is_shut();
  return usable ? wq::view_bytes(wq::bytes_of(text->bytes)) : wq_bytes{nullptr, 0};
}

void wq_text_free(wq_text** text) {
  wq_text* closing = wq::begin_close(text);
  if (!closing) return;
  std::string().swap(closing->bytes);
  wq::handle_pool<wq_text>().put(closing);
}

}  // extern "C"
