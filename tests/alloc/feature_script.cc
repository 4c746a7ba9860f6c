// Keys, groups, tenants, rate keys, chains, flows, history, sealed payloads, rows, locks,
// transactions, schedules, bulk changes of dead letters, backups.
#include <cstring>
#include <string>
#include <string_view>

#include "alloc/alloc_script.h"

namespace wq {
namespace {

constexpr int64_t minute_ms = 60'000;
constexpr int64_t hour_ms = 60 * minute_ms;

wq_bytes text(std::string_view bytes) {
  return {bytes.data(), bytes.size()};
}
// Of a length that no small-string buffer holds.
constexpr std::string_view long_key =
    "a key that is longer than those that fit into a small string";
constexpr std::string_view counter = "row: a counter with a name of some length, to be allocated";

wq_job_spec spec_of(std::string_view payload) {
  wq_job_spec spec = WQ_JOB_SPEC_INIT;
  spec.payload = text(payload);
  return spec;
}

// ---- opening

int32_t open_store(World& w) {
  return w.open();
}
int32_t open_a(World& w) {
  return wq_queue_open(w.store, "a", 1, nullptr, 0, &w.a, &w.err);
}
int32_t open_b(World& w) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_KEEP_DONE | WQ_CONFIG_ENCRYPT | WQ_CONFIG_COMPRESS |
                  WQ_CONFIG_KEY_RATE | WQ_CONFIG_THROTTLE | WQ_CONFIG_GROUP_LIMIT;
  config.keep_done_count = 5;
  config.encrypt = 1;
  config.compress_min_bytes = 512;
  config.group_limit = 2;
  config.key_rate_count = 2;
  config.key_rate_window_ms = minute_ms;
  config.throttle_count = 1;
  config.throttle_window_ms = minute_ms;
  return wq_queue_open(w.store, "b", 1, &config, 0, &w.b, &w.err);
}

// ---- producing

int32_t enqueue_unique(World& w) {
  wq_job_spec spec = spec_of("unique");
  spec.unique_key = text(long_key);
  spec.unique_ttl_ms = hour_ms;
  spec.idempotency_key = text("request-1");
  spec.idempotency_ms = hour_ms;
  return wq_enqueue(w.a, &spec, nullptr, nullptr, &w.err);
}
int32_t enqueue_again(World& w) {
  wq_job_spec spec = spec_of("met");
  spec.unique_key = text(long_key);
  wq_enqueued out = WQ_ENQUEUED_INIT;
  return wq_enqueue(w.a, &spec, nullptr, &out, &w.err);
}
int32_t enqueue_debounced(World& w) {
  wq_job_spec spec = spec_of("debounced");
  spec.debounce_key = text(long_key);
  spec.debounce_ms = minute_ms;
  return wq_enqueue(w.a, &spec, nullptr, nullptr, &w.err);
}
int32_t enqueue_groups(World& w) {
  wq_job_spec specs[8];
  for (size_t i = 0; i < 8; ++i) {
    specs[i] = spec_of("grouped");
    specs[i].group = i % 2 == 0 ? text(long_key) : text("g");
    specs[i].tenant = i % 3 == 0 ? text("tenant") : wq_bytes{};
  }
  return wq_enqueue_many(w.a, specs, 8, sizeof specs[0], 0, nullptr, nullptr, 0, nullptr, &w.err);
}
int32_t enqueue_rated(World& w) {
  static const std::string large(2'000, 'r');
  wq_job_spec specs[4];
  for (wq_job_spec& spec : specs) {
    spec = spec_of(large);
    spec.rate_key = text(long_key);
  }
  return wq_enqueue_many(w.b, specs, 4, sizeof specs[0], 0, nullptr, nullptr, 0, nullptr, &w.err);
}
int32_t enqueue_sealed(World& w) {
  const wq_job_spec spec = spec_of("a secret");
  return wq_enqueue(w.b, &spec, nullptr, nullptr, &w.err);
}
int32_t enqueue_chain(World& w) {
  const wq_job_spec first = spec_of("second of the chain");
  const wq_job_spec second = spec_of("third of the chain");
  wq_next_job follow[] = {WQ_NEXT_JOB_INIT, WQ_NEXT_JOB_INIT};
  follow[0].spec = &first;
  follow[1].queue_name = text("b");
  follow[1].spec = &second;
  wq_job_spec spec = spec_of("first of the chain");
  spec.flags = WQ_JOB_PRIORITY;
  spec.priority = 1;
  spec.chain = follow;
  spec.chain_count = 2;
  spec.chain_size = sizeof follow[0];
  return wq_enqueue(w.a, &spec, nullptr, nullptr, &w.err);
}
int32_t create_flow(World& w) {
  const wq_job_spec good = spec_of("all done");
  const wq_job_spec bad = spec_of("not all done");
  wq_next_job ends[] = {WQ_NEXT_JOB_INIT, WQ_NEXT_JOB_INIT};
  ends[0].queue_name = text("a");
  ends[0].spec = &good;
  ends[1].queue_name = text("b");
  ends[1].spec = &bad;
  wq_flow_options options = WQ_FLOW_OPTIONS_INIT;
  options.on_complete = &ends[0];
  options.on_failure = &ends[1];
  return wq_flow_create(w.store, &options, &w.flow, nullptr, &w.err);
}
int32_t join_flow(World& w) {
  wq_job_spec specs[2];
  for (wq_job_spec& spec : specs) {
    spec = spec_of("member");
    spec.flow = w.flow;
    spec.flags = WQ_JOB_PRIORITY;
    spec.priority = 2;
  }
  return wq_enqueue_many(w.a, specs, 2, sizeof specs[0], 0, nullptr, nullptr, 0, nullptr, &w.err);
}
int32_t seal_flow(World& w) {
  return wq_flow_seal(w.store, w.flow, nullptr, &w.err);
}
int32_t cancel_flow(World& w) {
  return wq_flow_cancel(w.store, w.flow, nullptr, &w.err);
}
int32_t flow_status(World& w) {
  wq_flow_status status = WQ_FLOW_STATUS_INIT;
  return wq_flow_get_status(w.store, w.flow, &status, &w.err);
}
int32_t flow_list(World& w) {
  wq_flow_status out[2] = {WQ_FLOW_STATUS_INIT, WQ_FLOW_STATUS_INIT};
  uint64_t cursor = 0;
  size_t count = 0;
  return wq_flow_list(w.store, &cursor, out, 2, sizeof out[0], &count, &w.err);
}

// ---- keys

int32_t key_holder(World& w) {
  uint64_t id = 0;
  return wq_key_holder(w.a, WQ_KEY_UNIQUE, long_key.data(), long_key.size(), &id, &w.err);
}
int32_t key_cancel(World& w) {
  uint64_t id = 0;
  return wq_key_cancel(w.a, WQ_KEY_DEBOUNCE, long_key.data(), long_key.size(), nullptr, &id,
                       &w.err);
}

// ---- consuming

// The chain's first job, the members, the one with a key, one of a group. Where tenants have their
// turns a call may end before all is taken.
int32_t lease_jobs(World& w) {
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  options.max_jobs = 12;
  wq_queue* queues[] = {w.a, w.b};
  return wq_lease(w.store, queues, 2, &options, nullptr, nullptr, &w.batch, &w.err);
}
int32_t lease_b(World& w) {
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  options.max_jobs = 3;
  return wq_lease(w.store, &w.b, 1, &options, nullptr, nullptr, &w.batch, &w.err);
}
void take_batch(World& w) {
  w.take_batch();
}
// The leased jobs that are told, as a worker reads them.
int32_t get_job(World& w) {
  return wq_job_get(w.a, w.tokens[0].id, &w.batch, &w.err);
}
int32_t read_batch(World& w) {
  wq_job job = WQ_JOB_INIT;
  wq_header header{};
  for (size_t i = 0; i < wq_batch_count(w.batch); ++i) {
    const int32_t code = wq_batch_job(w.batch, i, &job);
    if (code != WQ_OK) return code;
    for (size_t h = 0; h < job.headers_count; ++h) wq_batch_header(w.batch, i, h, &header);
  }
  return WQ_OK;
}
void free_batch(World& w) {
  wq_batch_free(&w.batch);
}
int32_t progress(World& w) {
  static const std::string note(200, 'n');
  return wq_job_progress(w.a, w.tokens[1].id, w.tokens[1].generation, note.data(), note.size(),
                         nullptr, &w.err);
}
int32_t key_release(World& w) {
  return wq_key_release(w.a, w.tokens[3].id, w.tokens[3].generation, nullptr, &w.err);
}
int32_t ack_chain(World& w) {
  return wq_ack(w.a, w.tokens[0].id, w.tokens[0].generation, nullptr, &w.err);
}
int32_t ack_member(World& w) {
  return wq_ack(w.a, w.tokens[1].id, w.tokens[1].generation, nullptr, &w.err);
}
int32_t ack_last_member(World& w) {
  return wq_ack(w.a, w.tokens[2].id, w.tokens[2].generation, nullptr, &w.err);
}
int32_t nack_grouped(World& w) {
  wq_nack_options options = WQ_NACK_OPTIONS_INIT;
  options.error = text("no luck with this one, and a text of some length to be kept");
  return wq_nack(w.a, w.tokens[4].id, w.tokens[4].generation, &options, nullptr, &w.err);
}
int32_t ack_result(World& w) {
  static const std::string result(900, 'R');
  return wq_ack_result(w.b, w.tokens_b[0].id, w.tokens_b[0].generation, result.data(),
                       result.size(), nullptr, &w.err);
}
int32_t nack_rated(World& w) {
  return wq_nack(w.b, w.tokens_b[1].id, w.tokens_b[1].generation, nullptr, nullptr, &w.err);
}
int32_t fail_one(World& w) {
  return wq_fail(w.b, w.tokens_b[2].id, w.tokens_b[2].generation, "bad", 3, nullptr, &w.err);
}
int32_t reprioritise(World& w) {
  return wq_job_reprioritise(w.a, 2, 7, nullptr, &w.err);
}

// ---- what was done

int32_t history_get(World& w) {
  wq_done_job job = WQ_DONE_JOB_INIT;
  return wq_history_get(w.b, w.tokens_b[0].id, &job, &w.list, &w.err);
}
int32_t history_list(World& w) {
  wq_done_job jobs[3] = {WQ_DONE_JOB_INIT, WQ_DONE_JOB_INIT, WQ_DONE_JOB_INIT};
  uint64_t cursor = 0;
  size_t count = 0;
  return wq_history_list(w.b, &cursor, jobs, 3, sizeof jobs[0], &count, &w.list, &w.err);
}
int32_t read_names(World& w) {
  const int32_t code = wq_store_queues(w.store, &w.list, &w.err);
  wq_bytes name{};
  for (size_t i = 0; i < wq_list_count(w.list); ++i) wq_list_name(w.list, i, &name);
  return code;
}
void free_list(World& w) {
  wq_list_free(&w.list);
}

// ---- dead letters

wq_dead_filter filter_of(uint32_t reason) {
  wq_dead_filter filter = WQ_DEAD_FILTER_INIT;
  filter.reason = reason;
  return filter;
}
int32_t replay_many(World& w) {
  const wq_dead_filter filter = filter_of(WQ_DEAD_FAILED);
  wq_dead_report report = WQ_DEAD_REPORT_INIT;
  return wq_dead_replay_many(w.b, &filter, nullptr, &report, &w.err);
}
int32_t fail_again(World& w) {
  const wq_token token = w.tokens_b.back();
  return wq_fail(w.b, token.id, token.generation, "again", 5, nullptr, &w.err);
}
int32_t remove_many(World& w) {
  const wq_dead_filter filter = filter_of(WQ_DEAD_FAILED);
  wq_dead_report report = WQ_DEAD_REPORT_INIT;
  return wq_dead_remove_many(w.b, &filter, nullptr, &report, &w.err);
}

// ---- rows, locks, transactions

int32_t kv_put(World& w) {
  static const std::string value(1'000, 'v');
  wq_kv_options options = WQ_KV_OPTIONS_INIT;
  options.ttl_ms = hour_ms;
  uint64_t version = 0;
  return wq_kv_put(w.store, long_key.data(), long_key.size(), value.data(), value.size(), &options,
                   nullptr, &version, &w.err);
}
int32_t kv_add(World& w) {
  int64_t sum = 0;
  return wq_kv_add(w.store, counter.data(), counter.size(), 5, nullptr, nullptr, &sum, &w.err);
}
int32_t kv_get(World& w) {
  return wq_kv_get(w.store, long_key.data(), long_key.size(), &w.page, &w.err);
}
int32_t kv_list(World& w) {
  wq_kv_query query = WQ_KV_QUERY_INIT;
  query.limit = 2;
  int32_t more = 0;
  const int32_t code = wq_kv_list(w.store, &query, &w.page, &more, &w.err);
  wq_kv_row row = WQ_KV_ROW_INIT;
  for (size_t i = 0; i < wq_kv_page_count(w.page); ++i) wq_kv_page_row(w.page, i, &row);
  return code;
}
void free_page(World& w) {
  wq_kv_page_free(&w.page);
}
int32_t kv_erase(World& w) {
  return wq_kv_erase(w.store, long_key.data(), long_key.size(), nullptr, nullptr, &w.err);
}
int32_t lock_take(World& w) {
  return wq_lock_take(w.store, "lock", 4, "owner", 5, hour_ms, nullptr, &w.err);
}
int32_t lock_extend(World& w) {
  return wq_lock_extend(w.store, "lock", 4, "owner", 5, 2 * hour_ms, nullptr, &w.err);
}
int32_t lock_release(World& w) {
  return wq_lock_release(w.store, "lock", 4, "owner", 5, nullptr, &w.err);
}
int32_t transact(World& w) {
  const wq_job_spec plain = spec_of("of a transaction");
  const wq_job_spec sealed = spec_of("a secret of a transaction");
  wq_settle_item settle = WQ_SETTLE_ITEM_INIT;
  settle.kind = WQ_SETTLE_ACK;
  settle.id = w.tokens[5].id;
  settle.generation = w.tokens[5].generation;
  wq_kv_options absent = WQ_KV_OPTIONS_INIT;
  absent.flags = WQ_KV_IF_ABSENT;
  wq_txn_op ops[6];
  for (wq_txn_op& op : ops) op = WQ_TXN_OP_INIT;
  ops[0].kind = WQ_TXN_ENQUEUE;
  ops[0].queue = w.a;
  ops[0].spec = &plain;
  ops[1].kind = WQ_TXN_SETTLE;
  ops[1].queue = w.a;
  ops[1].settle = &settle;
  ops[2].kind = WQ_TXN_KV_ADD;
  ops[2].key = text(counter);
  ops[2].delta = -2;
  ops[3].kind = WQ_TXN_KV_PUT;
  ops[3].key = text("written by a transaction, under a name of some length");
  ops[3].value = text("value");
  ops[4].kind = WQ_TXN_KV_CHECK;
  ops[4].key = text("nobody has this one");
  ops[4].options = &absent;
  ops[5].kind = WQ_TXN_ENQUEUE;
  ops[5].queue = w.b;
  ops[5].spec = &sealed;
  wq_txn_result results[6];
  size_t failed = 0;
  return wq_transact(w.store, ops, 6, sizeof ops[0], nullptr, results, sizeof results[0], &failed,
                     &w.err);
}

// ---- schedules

int32_t cron_put(World& w) {
  const wq_job_spec job = spec_of("each hour");
  wq_cron_spec spec = WQ_CRON_SPEC_INIT;
  spec.expression = text("30 * * * *");
  spec.job = &job;
  return wq_cron_put(w.b, "hourly", 6, &spec, nullptr, &w.err);
}
int32_t cron_get(World& w) {
  const int32_t code = wq_cron_get(w.store, "hourly", 6, &w.crons, &w.err);
  wq_cron cron = WQ_CRON_INIT;
  if (wq_crons_count(w.crons) == 1) wq_crons_at(w.crons, 0, &cron);
  return code;
}
int32_t cron_list(World& w) {
  return wq_cron_list(w.store, w.b, nullptr, 0, 10, &w.crons, &w.err);
}
void free_crons(World& w) {
  wq_crons_free(&w.crons);
}
int32_t cron_pause(World& w) {
  return wq_cron_pause(w.store, "hourly", 6, nullptr, &w.err);
}
int32_t cron_resume(World& w) {
  return wq_cron_resume(w.store, "hourly", 6, nullptr, &w.err);
}
int32_t cron_next(World& w) {
  int64_t times[3];
  size_t count = 0;
  return wq_cron_next("0 9 * * MON", 11, "", 0, 0, times, 3, &count, &w.err);
}
int32_t cron_remove(World& w) {
  return wq_cron_remove(w.store, "hourly", 6, nullptr, &w.err);
}
// One tick, one record: the leases run out first.
void pass_leases(World& w) {
  w.clock.advance(minute_ms + 1);
}
void pass_hour(World& w) {
  w.clock.advance(hour_ms);
}
int32_t tick(World& w) {
  int64_t due_ms = 0;
  return wq_store_tick(w.store, &due_ms, &w.err);
}

// ---- the store as a whole

int32_t get_keys(World& w) {
  wq_key_use uses[2] = {WQ_KEY_USE_INIT, WQ_KEY_USE_INIT};
  size_t count = 0;
  return wq_store_get_keys(w.store, uses, 2, sizeof uses[0], &count, &w.err);
}
int32_t wait_durable(World& w) {
  return wq_store_wait_durable(w.store, 1, WQ_POWER, 0, &w.err);
}
int32_t count_item(const wq_export_item* /*item*/, void* context) {
  ++*static_cast<int*>(context);
  return 0;
}
int32_t export_all(World& w) {
  int items = 0;
  return wq_store_export(w.store, nullptr, 0, count_item, &items, &w.err);
}
int32_t backup(World& w) {
  wq_backup_report report = WQ_BACKUP_REPORT_INIT;
  return wq_store_backup(w.store, "backup", nullptr, &report, &w.err);
}
int32_t explain_parked(World& w) {
  wq_job_explanation out = WQ_JOB_EXPLANATION_INIT;
  wq_text* lines = nullptr;
  const int32_t code = wq_job_explain(w.a, 6, &out, &lines, &w.err);
  if (lines != nullptr) static_cast<void>(wq_text_bytes(lines));
  wq_text_free(&lines);
  return code;
}
int32_t checkpoint(World& w) {
  return wq_store_checkpoint(w.store, &w.err);
}
int32_t sync_store(World& w) {
  return wq_store_sync(w.store, &w.err);
}
void close_queues(World& w) {
  wq_queue_close(&w.a);
  wq_queue_close(&w.b);
}
int32_t close_store(World& w) {
  wq_store_close(&w.store);
  return WQ_OK;
}

const Script steps = {
    {"open an empty store", open_store},
    {"open queue a", open_a},
    {"open queue b", open_b},
    {"enqueue with keys", enqueue_unique},
    {"enqueue that meets the holder", enqueue_again},
    {"enqueue debounced", enqueue_debounced},
    {"the debounced one again", enqueue_debounced},
    {"enqueue of groups and tenants", enqueue_groups},
    {"enqueue with a rate key", enqueue_rated},
    {"enqueue sealed", enqueue_sealed},
    {"enqueue sealed, too", enqueue_sealed},
    {"enqueue of a chain", enqueue_chain},
    {"flow create", create_flow},
    {"join a flow", join_flow},
    {"flow seal", seal_flow},
    {"flow status", flow_status},
    {"flow list", flow_list},
    {"key holder", key_holder},
    {"key cancel", key_cancel},
    {"lease", lease_jobs, nullptr, take_batch},
    {"lease of what is left", lease_jobs, nullptr, take_batch, false, true},
    {"lease of b", lease_b, nullptr, take_batch, false, true},
    {"get job", get_job},
    {"read a batch", read_batch, nullptr, free_batch},
    {"progress", progress},
    {"key release", key_release},
    {"explain", explain_parked},
    {"ack of a chain", ack_chain},
    {"ack of a member", ack_member},
    {"ack of the last member", ack_last_member},
    {"nack in a group", nack_grouped},
    {"ack with a result", ack_result},
    {"nack with a rate key", nack_rated},
    {"fail", fail_one},
    {"reprioritise", reprioritise},
    {"history get", history_get, nullptr, free_list},
    {"history list", history_list, nullptr, free_list},
    {"names", read_names, nullptr, free_list},
    {"dead replay many", replay_many},
    {"lease of b", lease_b, nullptr, take_batch, false, true},
    {"fail again", fail_again},
    {"dead remove many", remove_many},
    {"kv put", kv_put},
    {"kv add", kv_add},
    {"kv get", kv_get, nullptr, free_page},
    {"kv list", kv_list, nullptr, free_page},
    {"lock take", lock_take},
    {"lock extend", lock_extend},
    {"lock release", lock_release},
    {"transact", transact},
    {"cron put", cron_put},
    {"cron put again", cron_put},
    {"cron get", cron_get, nullptr, free_crons},
    {"cron list", cron_list, nullptr, free_crons},
    {"cron pause", cron_pause},
    {"cron resume", cron_resume},
    {"cron next", cron_next},
    {"a second flow", create_flow},
    {"join the second flow", join_flow},
    {"flow cancel", cancel_flow, nullptr, nullptr, false, true},
    {"wait durable", wait_durable},
    {"export", export_all},
    {"keys in use", get_keys},
    {"tick: expiry", tick, pass_leases, nullptr, true},
    {"sync after a tick", sync_store, nullptr, nullptr, false, true},
    {"tick: what is due", tick, nullptr, nullptr, true},
    {"sync after a tick", sync_store, nullptr, nullptr, false, true},
    {"tick: slot of a schedule", tick, pass_hour, nullptr, true},
    {"sync after a tick", sync_store, nullptr, nullptr, false, true},
    {"tick: keys and rows whose time is up", tick, nullptr, nullptr, true},
    {"sync after a tick", sync_store, nullptr, nullptr, false, true},
    {"checkpoint", checkpoint},
    {"backup", backup, nullptr, nullptr, false, true},
    {"close", close_store, close_queues},
    {"open with content", open_store},
    {"open queue a again", open_a},
    {"open queue b again", open_b},
    {"flow status, stored", flow_status},
    {"kv list, stored", kv_list, nullptr, free_page},
    {"cron get, stored", cron_get, nullptr, free_crons},
    {"history list, stored", history_list, nullptr, free_list},
    {"lease, stored", lease_jobs, nullptr, take_batch, false, true},
    {"kv add, stored", kv_add},
    {"kv erase", kv_erase},
    {"cron remove", cron_remove},
    {"close at the end", close_store, close_queues},
    {"open at the end", open_store},
};

}  // namespace

const Script& feature_script() {
  return steps;
}

}  // namespace wq
