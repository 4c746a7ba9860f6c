// The parts of the boundary that are off the hot path: refusals, exceptions, and reading what
// several functions share.
#include <string>

#include "capi/capi_internal.h"
#include "engine/admit.h"

namespace wq {

Status handle_refused(Code code, const char* handle_name) {
  if (code != Code::invalid) return code;
  return Status(Code::invalid, std::string(handle_name) + " is NULL or not a handle of that kind");
}

Status stop_after_exception(Engine& engine, bool broken, Status status) noexcept {
  if (broken) {
    engine.poison(status.text());
  } else if (engine.poisoned()) {
    // Memory ran out between the log and the state: the change is written, whatever the caller
    // sees.
    return status_with_text(Code::poisoned, [] {
      return std::string("out of memory in the middle of a change; close and reopen");
    });
  }
  return status;
}

Status invalid_field(const char* field, const char* why) {
  return Status(Code::invalid, std::string(field) + " " + why);
}

Status unknown_bits(const char* field, uint32_t bits) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (int shift = 28; shift >= 0; shift -= 4) hex += digits[bits >> shift & 15];
  return Status(Code::unsupported,
                std::string(field) + " has bits that this library does not know: 0x" + hex);
}

Status read_bytes(const void* data, size_t size, const char* field, Bytes& out) {
  if (!data && size > 0) return invalid_field(field, "is NULL but has a length");
  out = {static_cast<const std::byte*>(data), size};
  return {};
}

Status check_array(const void* array, size_t n, const char* field, const char* count_field) {
  if (n == 0) return invalid_field(count_field, "is 0");
  if (n > jobs_per_call_max) {
    return Status(Code::too_large,
                  std::string(count_field) + " is " + std::to_string(n) + ", more than 10000");
  }
  if (!array) return invalid_field(field, "is NULL");
  return {};
}

Status read_backoff(uint32_t kind, int64_t base_ms, int64_t max_ms, const int64_t* list_ms,
                    uint32_t count, Backoff& out) {
  if (kind > WQ_BACKOFF_LIST) {
    return Status(Code::unsupported, "backoff_kind is not known to this library");
  }
  if (count > backoff_list_max) {
    return Status(Code::too_large, "backoff_count is " + std::to_string(count) + ", more than 32");
  }
  if (count > 0 && !list_ms) return invalid_field("backoff_list_ms", "is NULL but has a count");
  if (count > 0 && kind != WQ_BACKOFF_LIST) {
    return invalid_field("backoff_count", "is set, but backoff_kind is not WQ_BACKOFF_LIST");
  }
  out.kind = static_cast<BackoffKind>(kind);
  // What the kind does not use is not kept, so a policy reads back the same before and after a
  // restart.
  const bool has_base = kind == WQ_BACKOFF_FIXED || kind == WQ_BACKOFF_EXPONENTIAL;
  out.base_ms = has_base ? base_ms : 0;
  out.max_ms = kind == WQ_BACKOFF_EXPONENTIAL ? max_ms : 0;
  out.list_ms.assign(list_ms, list_ms + count);
  return {};
}

Status Call::open_given(wq_call* call, const StoreCore* core) {
  WQ_TRY(check_struct<wq_call>(call, call->struct_size, "call"));
  call_ = call;  // from here on its lsn is told
  if (call->durability > WQ_POWER)
    return invalid_field("call.durability", "is no durability level");
  options_.durability = call->durability;
  options_.user_data = call->user_data;
  if (!call->cq) return {};
  if (const Code code = completion_.enter(call->cq); code != Code::ok) {
    return handle_refused(code, "call.cq");
  }
  if (completion_->core != core) return invalid_field("call.cq", "belongs to another store");
  options_.completion = completion_->queue.get();
  options_.ticket = make_completion_ticket();
  return {};
}

}  // namespace wq
