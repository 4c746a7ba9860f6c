#include "cli/import_rows.h"

#include <deque>

namespace wq::cli {

// Lines of one kind, of one queue. The records point into the texts.
struct RowImporter::Group {
  enum Kind : int { none, flow, key, done, rate_key };
  int kind = none;
  wq_queue* queue = nullptr;
  size_t bytes = 0;
  std::deque<std::string> texts;
  std::deque<wq_flow_status> statuses;
  std::deque<std::vector<int64_t>> times;
  std::vector<wq_flow_record> flows;
  std::vector<wq_key_record> keys;
  std::vector<wq_done_job> jobs;
  std::vector<wq_rate_key_record> rate_keys;

  wq_bytes keep(std::string text) {
    bytes += text.size();
    texts.push_back(std::move(text));
    return bytes_of(texts.back());
  }
  size_t count() const { return flows.size() + keys.size() + jobs.size() + rate_keys.size(); }
};

RowImporter::RowImporter(wq_store* store) : store_(store), group_(std::make_unique<Group>()) {}
RowImporter::~RowImporter() = default;

void RowImporter::flush() {
  wq_error err = WQ_ERROR_INIT;
  Group& group = *group_;
  if (!group.flows.empty()) {
    check(wq_import_flows(store_, group.flows.data(), group.flows.size(), sizeof(wq_flow_record),
                          &err),
          err);
  }
  if (!group.keys.empty()) {
    check(wq_import_keys(group.queue, group.keys.data(), group.keys.size(), sizeof(wq_key_record),
                         &err),
          err);
  }
  if (!group.jobs.empty()) {
    check(wq_import_history(group.queue, group.jobs.data(), group.jobs.size(), sizeof(wq_done_job),
                            &err),
          err);
  }
  if (!group.rate_keys.empty()) {
    check(wq_import_rate_keys(group.queue, group.rate_keys.data(), group.rate_keys.size(),
                              sizeof(wq_rate_key_record), &err),
          err);
  }
  group = Group();
}

void RowImporter::room_for(wq_queue* queue, int kind, size_t bytes) {
  const bool other = group_->kind != kind || group_->queue != queue;
  const bool full =
      group_->count() >= import_group_max || group_->bytes + bytes > import_group_bytes_max;
  if (group_->kind != Group::none && (other || full)) flush();
  group_->kind = kind;
  group_->queue = queue;
}

void RowImporter::take_flow(Members& members) {
  wq_flow_status status = WQ_FLOW_STATUS_INIT;
  wq_flow_record record = WQ_FLOW_RECORD_INIT;
  status.flow = members.number("batch_id");
  if (members.flag("sealed")) status.flags |= WQ_FLOW_SEALED;
  if (members.flag("is_cancelled")) status.flags |= WQ_FLOW_CANCELLED;
  if (members.flag("allow_failures")) record.options = WQ_FLOW_ALLOW_FAILURES;
  status.created_ms = members.time("created_ms");
  status.finished_ms = members.time("finished_ms");
  if (status.finished_ms != 0) status.flags |= WQ_FLOW_FINISHED;
  status.total = members.number("total");
  status.pending = members.number("pending");
  status.done = members.number("done");
  status.failed = members.number("failed");
  status.cancelled = members.number("cancelled");
  status.follow_up_id = members.number("follow_up");
  std::string complete, failure;
  if (members.has("on_complete_base64")) complete = members.bytes("on_complete");
  if (members.has("on_failure_base64")) failure = members.bytes("on_failure");
  members.finish();
  room_for(nullptr, Group::flow, complete.size() + failure.size());
  group_->statuses.push_back(status);
  record.status = &group_->statuses.back();
  record.on_complete = group_->keep(std::move(complete));
  record.on_failure = group_->keep(std::move(failure));
  group_->flows.push_back(record);
  ++flows_;
}

void RowImporter::take_key(Members& members) {
  wq_key_record record = WQ_KEY_RECORD_INIT;
  record.key = group_->keep(members.bytes("idempotency_key"));
  record.job_id = members.number("job_id");
  record.until_ms = members.time("until_ms");
  members.finish();
  group_->keys.push_back(record);
}

void RowImporter::take_done(Members& members) {
  wq_done_job record = WQ_DONE_JOB_INIT;
  record.id = members.number("done_job");
  record.generation = members.number("generation");
  record.priority = static_cast<uint32_t>(members.number("priority", 255));
  record.flow = members.number("batch");
  record.attempts = members.small("attempts");
  record.exceptions = members.small("exceptions");
  record.replays = members.small("replays");
  record.enqueued_ms = members.time("enqueued_ms");
  record.leased_ms = members.time("leased_ms");
  record.done_ms = members.time("done_ms");
  if (members.has("key_id")) record.key_id = members.small("key_id");
  record.result = group_->keep(members.bytes("result"));
  members.finish();
  group_->jobs.push_back(record);
}

void RowImporter::take_rate_key(Members& members) {
  wq_rate_key_record record = WQ_RATE_KEY_RECORD_INIT;
  record.key = group_->keep(members.bytes("used_rate_key"));
  record.used_ns = members.time("used_ns");
  record.cool_until_ms = members.time("cool_until_ms");
  std::vector<int64_t>& times = group_->times.emplace_back();
  const Json& list = members.get("exceptions_ms");
  if (!list.is_array() || list.size() > 100) {
    fail_field("exceptions_ms", "must be an array of at most 100");
  }
  for (const Json& entry : list) {
    times.push_back(whole_number("exceptions_ms", entry, 0, std::numeric_limits<int64_t>::max()));
  }
  members.finish();
  record.exceptions_ms = times.data();
  record.exceptions_count = static_cast<uint32_t>(times.size());
  group_->rate_keys.push_back(record);
}

bool RowImporter::take(Members& members,
                       const std::function<wq_queue*(const std::string& name)>& queue_of) {
  if (members.has("batch_id")) {
    take_flow(members);
    return true;
  }
  struct Known {
    const char* name;
    const char* as_base64;
    int kind;
    void (RowImporter::*take)(Members&);
  };
  constexpr Known kinds[] = {
      {"idempotency_key", "idempotency_key_base64", Group::key, &RowImporter::take_key},
      {"done_job", "done_job", Group::done, &RowImporter::take_done},
      {"used_rate_key", "used_rate_key_base64", Group::rate_key, &RowImporter::take_rate_key},
  };
  for (const Known& known : kinds) {
    if (!members.has(known.name) && !members.has(known.as_base64)) continue;
    room_for(queue_of(text_of("queue", members.get("queue"))), known.kind, 0);
    (this->*known.take)(members);
    ++rows_;
    return true;
  }
  return false;
}

}  // namespace wq::cli
