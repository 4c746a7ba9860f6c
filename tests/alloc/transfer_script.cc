// A store that is made by an import: the head, a queue with a schedule, what stands beside jobs,
// jobs of every kind, rows, the end; and then it is worked on.
#include <string_view>

#include "alloc/alloc_script.h"

namespace wq {
namespace {

constexpr int64_t noon_ms = 1'700'000'000'000;

wq_bytes text(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}

int32_t open_store(World& w) {
  return w.open();
}
int32_t begin(World& w) {
  wq_store_record record = WQ_STORE_RECORD_INIT;
  record.next_job_id = 100;
  record.next_generation = 200;
  return wq_import_begin(w.store, &record, &w.err);
}
int32_t queue(World& w) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.lease_ms = 60'000;
  config.max_retries = 3;
  config.durability = WQ_POWER;
  config.version = 4;
  config.group_limit = 1;
  wq_cron schedule = WQ_CRON_INIT;
  schedule.name = text("a schedule whose name is longer than a small string");
  schedule.expression = text("0 3 * * *");
  schedule.next_due_ms = noon_ms + 86'400'000;
  schedule.created_ms = noon_ms;
  schedule.priority = 100;
  schedule.payload = text("payload of the schedule");
  wq_queue_record record = WQ_QUEUE_RECORD_INIT;
  record.name = text("imported");
  record.created_ms = noon_ms;
  record.config = &config;
  record.schedules = &schedule;
  record.schedules_count = 1;
  return wq_import_queue(w.store, &record, &w.imported, &w.err);
}
int32_t flows(World& w) {
  wq_flow_status status = WQ_FLOW_STATUS_INIT;
  status.flow = 50;
  status.total = status.done = 2;
  status.created_ms = noon_ms;
  wq_flow_record record = WQ_FLOW_RECORD_INIT;
  record.status = &status;
  return wq_import_flows(w.store, &record, 1, sizeof record, &w.err);
}
int32_t keys(World& w) {
  wq_key_record record = WQ_KEY_RECORD_INIT;
  record.key = text("an idempotency key that is longer than a small string");
  record.job_id = 60;
  record.until_ms = noon_ms;
  return wq_import_keys(w.imported, &record, 1, sizeof record, &w.err);
}
int32_t history(World& w) {
  wq_done_job record = WQ_DONE_JOB_INIT;
  record.id = 61;
  record.generation = 5;
  record.priority = 100;
  record.attempts = 1;
  record.enqueued_ms = record.leased_ms = record.done_ms = noon_ms;
  record.result = text("a result that is longer than a small string");
  return wq_import_history(w.imported, &record, 1, sizeof record, &w.err);
}
int32_t rate_keys(World& w) {
  wq_rate_key_record record = WQ_RATE_KEY_RECORD_INIT;
  record.key = text("a rate key that is longer than a small string");
  record.cool_until_ms = noon_ms;
  return wq_import_rate_keys(w.imported, &record, 1, sizeof record, &w.err);
}
int32_t jobs(World& w) {
  const wq_header header = {text("name"), text("value")};
  wq_job_record records[6];
  for (size_t i = 0; i < 6; ++i) {
    records[i] = WQ_JOB_RECORD_INIT;
    records[i].id = 1 + i;
    records[i].state = i == 4 ? WQ_STATE_DEAD : i == 5 ? WQ_STATE_DELAYED : WQ_STATE_READY;
    records[i].priority = 100;
    records[i].enqueued_ms = noon_ms;
    records[i].since_ms = noon_ms;
    records[i].payload = text("a payload of some length, which is copied more than once");
    records[i].headers = &header;
    records[i].headers_count = 1;
  }
  records[1].group = text("group");
  records[2].group = text("group");
  records[3].key = text("key");
  records[3].key_rule = WQ_UNIQUE_DONE;
  records[3].key_until_ms = INT64_MAX;
  records[4].dead_reason = WQ_DEAD_FAILED;
  records[4].generation = 7;
  records[4].attempts = 1;
  records[4].leased_ms = noon_ms;
  records[4].last_error = text("why");
  records[5].due_ms = noon_ms + 1'000'000;
  records[5].flags = WQ_JOB_ENCRYPT;
  return wq_import_jobs(w.imported, records, 6, sizeof records[0], &w.err);
}
int32_t rows(World& w) {
  wq_kv_record records[2] = {WQ_KV_RECORD_INIT, WQ_KV_RECORD_INIT};
  records[0].key = text("row");
  records[0].value = text("a value that does not fit into a small string");
  records[1].key = text("row of some time");
  records[1].expires_ms = noon_ms + 10'000'000'000'000;
  return wq_import_kv(w.store, records, 2, sizeof records[0], &w.err);
}
int32_t end(World& w) {
  return wq_import_end(w.store, &w.err);
}
int32_t count_item(const wq_export_item* /*item*/, void* context) {
  ++*static_cast<int*>(context);
  return 0;
}
int32_t export_all(World& w) {
  int items = 0;
  return wq_store_export(w.store, nullptr, 0, count_item, &items, &w.err);
}
int32_t lease(World& w) {
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  options.max_jobs = 4;
  return wq_lease(w.store, &w.imported, 1, &options, nullptr, nullptr, &w.batch, &w.err);
}
void free_batch(World& w) {
  wq_batch_free(&w.batch);
}
void close_queue(World& w) {
  wq_queue_close(&w.imported);
}
int32_t close_store(World& w) {
  wq_store_close(&w.store);
  return WQ_OK;
}

const Script steps = {
    {"open an empty store", open_store},
    {"import begin", begin},
    {"import queue", queue, nullptr, nullptr, false, true},
    {"import flows", flows},
    {"import keys", keys},
    {"import history", history},
    {"import rate keys", rate_keys},
    {"import jobs", jobs},
    {"import kv", rows},
    {"import end", end},
    {"export", export_all},
    {"lease", lease, nullptr, free_batch},
    {"close", close_store, close_queue},
    {"open at the end", open_store},
};

}  // namespace

const Script& transfer_script() {
  return steps;
}

}  // namespace wq
