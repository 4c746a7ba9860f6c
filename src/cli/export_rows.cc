#include "cli/export_rows.h"

#include "cli/handles.h"
#include "cli/job_draft.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

void add_flow(const wq_flow_record& flow, Record& record) {
  const wq_flow_status& status = *flow.status;
  record.add("batch_id", status.flow)
      .add("sealed", (status.flags & WQ_FLOW_SEALED) != 0)
      .add("is_cancelled", (status.flags & WQ_FLOW_CANCELLED) != 0)
      .add("allow_failures", (flow.options & WQ_FLOW_ALLOW_FAILURES) != 0)
      .add("created_ms", status.created_ms)
      .add("finished_ms", status.finished_ms)
      .add("total", status.total)
      .add("pending", status.pending)
      .add("done", status.done)
      .add("failed", status.failed)
      .add("cancelled", status.cancelled)
      .add("follow_up", status.follow_up_id);
  if (flow.on_complete.len > 0) {
    record.add("on_complete_base64", base64_encode(view_of(flow.on_complete)));
  }
  if (flow.on_failure.len > 0) {
    record.add("on_failure_base64", base64_encode(view_of(flow.on_failure)));
  }
}

void add_key(const wq_key_record& key, Record& record) {
  record.add_bytes("idempotency_key", view_of(key.key))
      .add("job_id", key.job_id)
      .add("until_ms", key.until_ms);
}

void add_done(const wq_done_job& job, Record& record) {
  record.add("done_job", job.id)
      .add("generation", job.generation)
      .add("priority", job.priority)
      .add("batch", job.flow)
      .add("attempts", job.attempts)
      .add("exceptions", job.exceptions)
      .add("replays", job.replays)
      .add("enqueued_ms", job.enqueued_ms)
      .add("leased_ms", job.leased_ms)
      .add("done_ms", job.done_ms);
  if (job.key_id != 0) record.add("key_id", job.key_id);
  record.add_bytes("result", view_of(job.result));
}

void add_rate_key(const wq_rate_key_record& key, Record& record) {
  record.add_bytes("used_rate_key", view_of(key.key))
      .add("used_ns", key.used_ns)
      .add("cool_until_ms", key.cool_until_ms);
  List times;
  for (uint32_t i = 0; i < key.exceptions_count; ++i) times.emplace_back(key.exceptions_ms[i]);
  record.add("exceptions_ms", std::move(times));
}

}  // namespace

bool row_record(const wq_export_item& item, Record& record) {
  if (item.flow) {
    add_flow(*item.flow, record);
    return true;
  }
  if (!item.key && !item.done && !item.rate_key) return false;
  if (item.key) add_key(*item.key, record);
  if (item.done) add_done(*item.done, record);
  if (item.rate_key) add_rate_key(*item.rate_key, record);
  record.add("queue", view_of(item.queue_name));
  return true;
}

}  // namespace wq::cli
