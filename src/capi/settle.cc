// Holding and ending leases: confirm, extend, ack, nack, release, fail, settle_many.
#include "capi/capi_internal.h"
#include "capi/specs.h"
#include "engine/admit.h"

namespace wq {
namespace {

constexpr uint32_t nack_bits =
    WQ_NACK_FRONT | WQ_NACK_NO_EXCEPTION | WQ_NACK_PRIORITY | WQ_NACK_DELAY;
static_assert(WQ_NACK_FRONT == settle_front && WQ_NACK_NO_EXCEPTION == settle_no_exception &&
              WQ_NACK_PRIORITY == settle_priority && WQ_RELEASE_FRONT == settle_front);
static_assert(WQ_SETTLE_ACK == static_cast<int>(SettleKind::ack) &&
              WQ_SETTLE_NACK == static_cast<int>(SettleKind::nack) &&
              WQ_SETTLE_FAIL == static_cast<int>(SettleKind::fail) &&
              WQ_SETTLE_RELEASE == static_cast<int>(SettleKind::release));

constexpr size_t inline_items = 16;
constexpr int64_t delay_by_policy = -1;

// One that the library does not know is told apart from one that workers can not give.
Status read_reason(uint32_t reason, SettleItem& out) {
  if (reason > WQ_DEAD_UNREADABLE) {
    return Status(Code::unsupported, "reason is not known to this library");
  }
  out.reason = static_cast<DeadReason>(reason);
  return {};
}

Status read_nack(uint32_t flags, int64_t delay_ms, uint32_t priority, SettleItem& out) {
  if (flags & ~nack_bits) return unknown_bits("flags", flags & ~nack_bits);
  if (flags & WQ_NACK_DELAY) {
    if (delay_ms < 0) return invalid_field("delay_ms", "is negative");
    out.delay_ms = delay_ms;
  } else {
    if (delay_ms != 0) return invalid_field("delay_ms", "is set without WQ_NACK_DELAY");
    out.delay_ms = delay_by_policy;
  }
  if (flags & WQ_NACK_PRIORITY) {
    if (priority > UINT8_MAX) return invalid_field("priority", "is not in 0..255");
    out.priority = static_cast<uint8_t>(priority);
  } else if (priority != 0) {
    return invalid_field("priority", "is set without WQ_NACK_PRIORITY");
  }
  out.flags = static_cast<uint8_t>(flags & ~WQ_NACK_DELAY);
  return {};
}

Status read_release(uint32_t flags, int64_t delay_ms, SettleItem& out) {
  if (flags & ~WQ_RELEASE_FRONT) return unknown_bits("flags", flags & ~WQ_RELEASE_FRONT);
  out.flags = static_cast<uint8_t>(flags);
  out.delay_ms = delay_ms;
  return {};
}

Status read_error(const void* data, size_t size, SettleItem& out) {
  Bytes bytes;
  WQ_TRY(read_bytes(data, size, "error", bytes));
  out.error = as_text(bytes);
  return {};
}

}  // namespace

Status read_result(const void* data, size_t size, SettleItem& out) {
  Bytes bytes;
  WQ_TRY(read_bytes(data, size, "result", bytes));
  out.result = as_text(bytes);
  return {};
}

Status read_item(const wq_settle_item& in, SettleItem& out) {
  if (in.kind < WQ_SETTLE_ACK || in.kind > WQ_SETTLE_RELEASE) {
    return Status(Code::unsupported, "kind is not known to this library");
  }
  out.id = in.id;
  out.generation = in.generation;
  out.kind = static_cast<SettleKind>(in.kind);
  const bool has_error = out.kind == SettleKind::nack || out.kind == SettleKind::fail;
  if (!has_error && in.error.len != 0) return invalid_field("error", "does not belong to its kind");
  if (has_error) WQ_TRY(read_error(in.error.data, in.error.len, out));
  if (in.reserved_0 != 0) return unknown_bits("reserved_0", in.reserved_0);
  if (!has_error && in.reason != 0) return invalid_field("reason", "does not belong to its kind");
  WQ_TRY(read_reason(in.reason, out));
  if (in.result.len != 0) {
    if (out.kind != SettleKind::ack) return invalid_field("result", "does not belong to its kind");
    WQ_TRY(read_result(in.result.data, in.result.len, out));
  }
  if (out.kind == SettleKind::nack) return read_nack(in.flags, in.delay_ms, in.priority, out);
  if (in.priority != 0) return invalid_field("priority", "does not belong to its kind");
  if (out.kind == SettleKind::release) return read_release(in.flags, in.delay_ms, out);
  if (in.delay_ms != 0) return invalid_field("delay_ms", "does not belong to its kind");
  if (in.flags != 0) return unknown_bits("flags", in.flags);
  return {};
}

namespace {

// One settle, after `fill` has completed the item.
template <typename Fill>
int32_t settle_one(wq_queue* queue, uint64_t id, uint64_t generation, SettleKind kind,
                   wq_call* call, wq_error* err, Fill&& fill) {
  return with_handle(queue, err, [&](Engine& engine) -> Status {
    Call how;
    WQ_TRY(how.open(call, queue->core));
    SettleItem item;
    item.id = id;
    item.generation = generation;
    item.kind = kind;
    WQ_TRY(fill(item));
    Code code = Code::ok;
    WQ_TRY(engine.settle(queue->id, {&item, 1}, how.options(), {&code, 1}));
    return code;
  });
}

// Tells the codes to the caller; the first that is not ok, with its place, is the answer.
Status tell_codes(std::span<const Code> codes, int32_t* out) {
  Status first;
  for (size_t i = 0; i < codes.size(); i++) {
    if (out) out[i] = static_cast<int32_t>(codes[i]);
    if (first.ok() && codes[i] != Code::ok) first = codes[i];
  }
  return first;
}

Status settle_all(Engine& engine, const wq_queue& queue, const wq_settle_item* items, size_t n,
                  size_t item_size, int32_t* codes, wq_call* call) {
  Call how;
  WQ_TRY(how.open(call, queue.core));
  WQ_TRY(check_array(items, n, "items"));
  WQ_TRY(check_stride<wq_settle_item>(item_size, "item_size"));
  ScratchArray<SettleItem, inline_items> read(n);
  ScratchArray<Code, inline_items> found(n);
  for (size_t i = 0; i < n; i++) {
    SizedIn<wq_settle_item> in;
    Status status = in.read_element(items, i, item_size, "item");
    if (status.ok()) status = read_item(*in, read[i]);
    if (!status.ok()) {
      return Status(status.code(), "items[" + std::to_string(i) + "]: " + status.message());
    }
  }
  WQ_TRY(engine.settle(queue.id, read.span(), how.options(), found.span()));
  return tell_codes(found.span(), codes);
}

Status extend_all(Engine& engine, const wq_queue& queue, const wq_token* tokens, size_t n,
                  int64_t lease_ms, int32_t* codes, wq_call* call) {
  Call how;
  WQ_TRY(how.open(call, queue.core));
  WQ_TRY(check_array(tokens, n, "tokens"));
  ScratchArray<Token, inline_items> read(n);
  ScratchArray<Code, inline_items> found(n);
  for (size_t i = 0; i < n; i++) read[i] = Token{tokens[i].id, tokens[i].generation};
  WQ_TRY(engine.extend(queue.id, read.span(), lease_ms, how.options(), found.span()));
  return tell_codes(found.span(), codes);
}

}  // namespace
}  // namespace wq

extern "C" {

int32_t wq_confirm(wq_queue* queue, uint64_t id, uint64_t generation, int64_t run_ms, wq_call* call,
                   wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) -> wq::Status {
    wq::Call how;
    WQ_TRY(how.open(call, queue->core));
    return engine.confirm(queue->id, wq::Token{id, generation}, run_ms, how.options());
  });
}

int32_t wq_extend(wq_queue* queue, const wq_token* tokens, size_t n, int64_t lease_ms,
                  int32_t* codes, wq_call* call, wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) {
    return wq::extend_all(engine, *queue, tokens, n, lease_ms, codes, call);
  });
}

int32_t wq_ack(wq_queue* queue, uint64_t id, uint64_t generation, wq_call* call, wq_error* err) {
  return wq::settle_one(queue, id, generation, wq::SettleKind::ack, call, err,
                        [](wq::SettleItem&) { return wq::Status(); });
}

int32_t wq_ack_result(wq_queue* queue, uint64_t id, uint64_t generation, const void* result,
                      size_t result_len, wq_call* call, wq_error* err) {
  return wq::settle_one(
      queue, id, generation, wq::SettleKind::ack, call, err,
      [&](wq::SettleItem& item) { return wq::read_result(result, result_len, item); });
}

int32_t wq_nack(wq_queue* queue, uint64_t id, uint64_t generation, const wq_nack_options* options,
                wq_call* call, wq_error* err) {
  return wq::settle_one(queue, id, generation, wq::SettleKind::nack, call, err,
                        [&](wq::SettleItem& item) -> wq::Status {
                          wq::SizedIn<wq_nack_options> in;
                          WQ_TRY(in.read(options, "options"));
                          if (in->reserved_0 != 0) {
                            return wq::unknown_bits("options.reserved_0", in->reserved_0);
                          }
                          if (in->reserved_1 != 0) {
                            return wq::unknown_bits("options.reserved_1", in->reserved_1);
                          }
                          WQ_TRY(wq::read_reason(in->reason, item));
                          WQ_TRY(wq::read_error(in->error.data, in->error.len, item));
                          return wq::read_nack(in->flags, in->delay_ms, in->priority, item);
                        });
}

int32_t wq_release(wq_queue* queue, uint64_t id, uint64_t generation, int64_t delay_ms,
                   uint32_t flags, wq_call* call, wq_error* err) {
  return wq::settle_one(
      queue, id, generation, wq::SettleKind::release, call, err,
      [&](wq::SettleItem& item) { return wq::read_release(flags, delay_ms, item); });
}

int32_t wq_fail(wq_queue* queue, uint64_t id, uint64_t generation, const void* error,
                size_t error_len, wq_call* call, wq_error* err) {
  return wq::settle_one(
      queue, id, generation, wq::SettleKind::fail, call, err,
      [&](wq::SettleItem& item) { return wq::read_error(error, error_len, item); });
}

int32_t wq_settle_many(wq_queue* queue, const wq_settle_item* items, size_t n, size_t item_size,
                       int32_t* codes, wq_call* call, wq_error* err) {
  return wq::with_handle(queue, err, [&](wq::Engine& engine) {
    return wq::settle_all(engine, *queue, items, n, item_size, codes, call);
  });
}

}  // extern "C"
