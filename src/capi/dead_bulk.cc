// Bulk changes of dead letters: replay or removal of all that a filter wants.
#include "base/clock.h"
#include "capi/capi_internal.h"

namespace wq {
namespace {

// The filter and the report of one call. Holds the cancel token meanwhile.
class BulkCall {
 public:
  Status open(const wq_dead_filter* filter, wq_dead_report* report) {
    if (report) WQ_TRY(check_out(report, "report"));
    report_ = report;
    if (!filter) return invalid_field("filter", "is NULL");
    WQ_TRY(in_.read(filter, "filter"));
    WQ_TRY(read_filter());
    if (!in_->cancel) return {};
    const Code code = cancel_.enter(in_->cancel);
    return code == Code::ok ? Status() : handle_refused(code, "filter.cancel");
  }

  Status run(Engine& engine, QueueId queue, bool remove, CallOptions& call) {
    bulk_.remove = remove;
    bulk_.progress = [this](uint64_t changed, uint64_t examined) -> Status {
      // acquire: pairs with wq_cancel_fire
      const bool fired = in_->cancel && cancel_->fired.load(std::memory_order_acquire);
      if (fired) return Status(Code::cancelled, "the token was fired");
      if (!in_->progress) return {};
      const int32_t answer = in_->progress(changed, examined, in_->progress_ctx);
      return answer == 0 ? Status() : Status(Code::cancelled, "progress asked to stop");
    };
    return engine.dead_bulk(queue, bulk_, call, told_);
  }

  void tell() const {
    if (!report_) return;
    constexpr int64_t ns_per_ms = 1'000'000;
    wq_dead_report out{};
    out.changed = told_.changed;
    out.examined = told_.examined;
    out.elapsed_ms = (system_clock().mono_ns() - start_ns_) / ns_per_ms;
    write_struct(report_, report_->struct_size, out);
  }

 private:
  Status read_filter() {
    constexpr uint32_t known = WQ_DEAD_ALL | WQ_DEAD_DRY_RUN;
    if (in_->flags & ~known) return unknown_bits("filter.flags", in_->flags & ~known);
    if (in_->reserved_0 != 0) return invalid_field("filter.reserved_0", "is not 0");
    if (in_->reason > WQ_DEAD_UNREADABLE) {
      return Status(Code::unsupported, "filter.reason is not known to this library");
    }
    if (in_->from_ms < 0) return invalid_field("filter.from_ms", "is negative");
    if (in_->until_ms < 0) return invalid_field("filter.until_ms", "is negative");
    Bytes error_part;
    WQ_TRY(read_bytes(in_->error_part.data, in_->error_part.len, "filter.error_part", error_part));
    bulk_.query.reason = static_cast<DeadReason>(in_->reason);
    bulk_.query.from_ms = in_->from_ms;
    bulk_.query.until_ms = in_->until_ms;
    bulk_.query.error_part = as_text(error_part);
    bulk_.limit = in_->limit;
    bulk_.dry_run = in_->flags & WQ_DEAD_DRY_RUN;
    return read_conditions();
  }

  Status read_conditions() {
    const bool conditions =
        in_->reason != 0 || in_->from_ms != 0 || in_->until_ms != 0 || in_->error_part.len != 0;
    const bool all = in_->flags & WQ_DEAD_ALL;
    if (!in_->entries && in_->entries_count == 0) {
      if (conditions || all) return {};
      return invalid_field("filter", "has no condition; give one, entries, or WQ_DEAD_ALL");
    }
    WQ_TRY(check_array(in_->entries, in_->entries_count, "filter.entries"));
    if (conditions || all) return invalid_field("filter.entries", "can not have other conditions");
    for (size_t i = 0; i < in_->entries_count; ++i) {
      entries_.push_back(Token{in_->entries[i].id, in_->entries[i].generation});
    }
    bulk_.entries = entries_;
    return {};
  }

  SizedIn<wq_dead_filter> in_;
  wq_dead_report* report_ = nullptr;
  Inside<wq_cancel> cancel_;
  std::vector<Token> entries_;
  DeadBulk bulk_;
  DeadBulkReport told_;
  const int64_t start_ns_ = system_clock().mono_ns();
};

int32_t change_many(wq_queue* queue, const wq_dead_filter* filter, bool remove, wq_call* call,
                    wq_dead_report* report, wq_error* err) {
  return with_handle(queue, err, [&](Engine& engine) -> Status {
    Call how;
    WQ_TRY(how.open(call, queue->core));
    BulkCall bulk;
    Status status = bulk.open(filter, report);
    if (status.ok()) status = bulk.run(engine, queue->id, remove, how.options());
    bulk.tell();
    return status;
  });
}

}  // namespace
}  // namespace wq

extern "C" {

int32_t wq_dead_replay_many(wq_queue* queue, const wq_dead_filter* filter, wq_call* call,
                            wq_dead_report* report, wq_error* err) {
  return wq::change_many(queue, filter, false, call, report, err);
}

int32_t wq_dead_remove_many(wq_queue* queue, const wq_dead_filter* filter, wq_call* call,
                            wq_dead_report* report, wq_error* err) {
  return wq::change_many(queue, filter, true, call, report, err);
}

}  // extern "C"
