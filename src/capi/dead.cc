// Dead letters: list, get, replay, remove. Purging is clearing, see queue.cc.
#include "capi/batch.h"
#include "capi/capi_internal.h"

namespace wq {
namespace {

static_assert(WQ_DEAD_FAILED == static_cast<int>(DeadReason::failed) &&
              WQ_DEAD_LEASE_EXPIRED == static_cast<int>(DeadReason::lease_expired) &&
              WQ_DEAD_TIMEOUT == static_cast<int>(DeadReason::timeout) &&
              WQ_DEAD_RETRY_UNTIL == static_cast<int>(DeadReason::retry_until) &&
              WQ_DEAD_MAX_EXCEPTIONS == static_cast<int>(DeadReason::max_exceptions) &&
              WQ_DEAD_CANCELLED == static_cast<int>(DeadReason::cancelled) &&
              WQ_DEAD_EXPIRED == static_cast<int>(DeadReason::expired) &&
              WQ_DEAD_UNKNOWN_TYPE == static_cast<int>(DeadReason::unknown_type) &&
              WQ_DEAD_UNREADABLE == static_cast<int>(dead_reason_last));

Status read_query(const wq_dead_query* given, DeadQuery& out) {
  SizedIn<wq_dead_query> in;
  WQ_TRY(in.read(given, "query"));
  if (in->flags & ~WQ_DEAD_OLDEST_FIRST) {
    return unknown_bits("query.flags", in->flags & ~WQ_DEAD_OLDEST_FIRST);
  }
  if (in->reason > WQ_DEAD_UNREADABLE) {
    return Status(Code::unsupported, "query.reason is not known to this library");
  }
  if (in->from_ms < 0) return invalid_field("query.from_ms", "is negative");
  if (in->until_ms < 0) return invalid_field("query.until_ms", "is negative");
  out.cursor = in->cursor;
  if (in->limit != 0) out.limit = in->limit;
  out.oldest_first = in->flags & WQ_DEAD_OLDEST_FIRST;
  out.reason = static_cast<DeadReason>(in->reason);
  out.from_ms = in->from_ms;
  out.until_ms = in->until_ms;
  Bytes error_part;
  WQ_TRY(read_bytes(in->error_part.data, in->error_part.len, "query.error_part", error_part));
  out.error_part = as_text(error_part);
  return {};
}

Status list_dead(Engine& engine, const wq_queue& queue, const wq_dead_query* given,
                 wq_batch** batch, uint64_t* next_cursor) {
  if (!batch) return invalid_field("batch", "is NULL");
  DeadQuery query;
  WQ_TRY(read_query(given, query));
  for (;;) {
    WQ_TRY_SET(DeadPage page, engine.dead_list(queue.id, query));
    if (page.jobs.empty()) {
      // A filter may leave a page empty long before the end. The cursor moves on with each page.
      if (page.next_cursor == 0) return Code::empty;
      query.cursor = page.next_cursor;
      continue;
    }
    NewHandle<wq_batch> made;
    made->jobs = std::move(page.jobs);
    if (next_cursor) *next_cursor = page.next_cursor;
    *batch = made.release();
    return {};
  }
}

}  // namespace
}  // namespace wq

extern "C" {

int32_t wq_dead_list(wq_queue* queue, const wq_dead_query* query, wq_batch** batch,
                     uint64_t* next_cursor, wq_error* err) {
  if (batch) *batch = nullptr;
  if (next_cursor) *next_cursor = 0;
  return wq::with_handle(queue, err, [&](wq::Engine& engine) {
    return wq::list_dead(engine, *queue, query, batch, next_cursor);
  });
}

int32_t wq_dead_get(wq_queue* queue, uint64_t id, uint64_t generation, wq_batch** batch,
                    wq_error* err) {
  if (batch) *batch = nullptr;
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    if (!batch) return wq::invalid_field("batch", "is NULL");
    WQ_TRY_SET(wq::JobView view, engine.dead_get(queue->id, wq::Token{id, generation}));
    *batch = wq::batch_of_one(std::move(view), queue->name);
    return {};
  });
}

int32_t wq_dead_replay(wq_queue* queue, uint64_t id, uint64_t generation, wq_call* call,
                       wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    wq::Call how;
    WQ_TRY(how.open(call, queue->core));
    return engine.dead_replay(queue->id, wq::Token{id, generation}, how.options());
  });
}

int32_t wq_dead_remove(wq_queue* queue, uint64_t id, uint64_t generation, wq_call* call,
                       wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    wq::Call how;
    WQ_TRY(how.open(call, queue->core));
    return engine.dead_remove(queue->id, wq::Token{id, generation}, how.options());
  });
}

}  // extern "C"
