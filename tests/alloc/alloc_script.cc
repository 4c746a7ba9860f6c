#include "alloc/alloc_script.h"

#include <array>
#include <cstring>
#include <string>

namespace wq {
namespace {

constexpr int64_t minute_ms = 60'000;

wq_bytes bytes_of_text(const std::string& text) {
  return {text.data(), text.size()};
}

wq_job_spec spec_of(const std::string& payload) {
  wq_job_spec spec = WQ_JOB_SPEC_INIT;
  spec.payload = bytes_of_text(payload);
  return spec;
}

const std::string& small_payload() {
  static const std::string text = "payload";
  return text;
}
const std::string& large_payload() {
  static const std::string text(300'000, 'x');
  return text;
}
const std::string& long_error() {
  static const std::string text(9'000, 'e');
  return text;
}

wq_queue_config busy_config() {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_MAX_RETRIES | WQ_CONFIG_BACKOFF | WQ_CONFIG_MAX_RUNNING;
  config.max_retries = 1;
  config.max_running = 50;
  config.backoff_kind = WQ_BACKOFF_LIST;
  config.backoff_count = 3;
  config.backoff_list_ms[0] = 1'000;
  config.backoff_list_ms[1] = 2'000;
  config.backoff_list_ms[2] = 3'000;
  return config;
}

// ---- opening

int32_t open_store(World& w) {
  return w.open();
}
int32_t open_a(World& w) {
  return wq_queue_open(w.store, "a", 1, nullptr, 0, &w.a, &w.err);
}
int32_t open_b(World& w) {
  const wq_queue_config config = busy_config();
  // A name that no small-string buffer holds.
  static const char name[] = "a queue whose name is longer than most names of queues are";
  return wq_queue_open(w.store, name, sizeof name - 1, &config, 0, &w.b, &w.err);
}
int32_t configure_a(World& w) {
  wq_queue_config config = busy_config();
  return wq_queue_configure(w.a, &config, nullptr, &w.err);
}
int32_t configure_again(World& w) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_LEASE_MS;
  config.lease_ms = minute_ms;
  return wq_queue_configure(w.a, &config, nullptr, &w.err);
}
int32_t get_config(World& w) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  return wq_queue_get_config(w.a, &config, &w.err);
}

// ---- producing

int32_t enqueue_small(World& w) {
  const wq_header headers[] = {{{"name", 4}, {"value", 5}}, {{"other", 5}, {"", 0}}};
  const int64_t backoff[] = {10, 20};
  wq_job_spec spec = spec_of(small_payload());
  spec.headers = headers;
  spec.headers_count = 2;
  spec.backoff_kind = WQ_BACKOFF_LIST;
  spec.backoff_count = 2;
  spec.backoff_list_ms = backoff;
  wq_enqueued out = WQ_ENQUEUED_INIT;
  return wq_enqueue(w.a, &spec, nullptr, &out, &w.err);
}
int32_t enqueue_large(World& w) {
  wq_job_spec spec = spec_of(large_payload());
  spec.flags = WQ_JOB_PRIORITY;
  spec.priority = 200;
  return wq_enqueue(w.a, &spec, nullptr, nullptr, &w.err);
}
int32_t enqueue_delayed(World& w) {
  wq_job_spec spec = spec_of(small_payload());
  spec.delay_ms = 500;
  return wq_enqueue(w.a, &spec, nullptr, nullptr, &w.err);
}
// Of several priorities, every fifth one delayed, timers out of order.
int32_t enqueue_batch(World& w) {
  std::array<wq_job_spec, 40> specs;
  std::array<wq_enqueued, 40> out;
  for (size_t i = 0; i < specs.size(); ++i) {
    specs[i] = spec_of(small_payload());
    specs[i].flags = WQ_JOB_PRIORITY;
    specs[i].priority = 100 + static_cast<uint32_t>(i % 3);
    if (i % 5 == 4) specs[i].delay_ms = 10'000 - static_cast<int64_t>(i);
    out[i] = WQ_ENQUEUED_INIT;
  }
  size_t accepted = 0;
  return wq_enqueue_many(w.a, specs.data(), specs.size(), sizeof specs[0], 0, nullptr, out.data(),
                         sizeof out[0], &accepted, &w.err);
}
int32_t enqueue_partly(World& w) {
  std::array<wq_job_spec, 3> specs;
  for (wq_job_spec& spec : specs) spec = spec_of(small_payload());
  specs[2].delay_ms = -1;
  size_t accepted = 0;
  return wq_enqueue_many(w.b, specs.data(), specs.size(), sizeof specs[0], WQ_ENQUEUE_PARTIAL,
                         nullptr, nullptr, 0, &accepted, &w.err);
}
int32_t cancel_job(World& w) {
  return wq_job_cancel(w.a, 40, nullptr, &w.err);
}
int32_t get_job(World& w) {
  return wq_job_get(w.a, 1, &w.batch, &w.err);
}
void free_batch(World& w) {
  wq_batch_free(&w.batch);
}

// ---- consuming

int32_t lease_jobs(World& w) {
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  options.max_jobs = 20;
  wq_queue* queues[] = {w.a, w.b};
  return wq_lease(w.store, queues, 2, &options, nullptr, nullptr, &w.batch, &w.err);
}
int32_t lease_shortly(World& w) {
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  options.max_jobs = 4;
  options.lease_ms = 100;
  return wq_lease(w.store, &w.a, 1, &options, nullptr, nullptr, &w.batch, &w.err);
}
void take_batch(World& w) {
  w.take_batch();
}
int32_t confirm(World& w) {
  return wq_confirm(w.a, w.tokens[0].id, w.tokens[0].generation, 0, nullptr, &w.err);
}
int32_t confirm_with_deadline(World& w) {
  return wq_confirm(w.a, w.tokens[1].id, w.tokens[1].generation, minute_ms, nullptr, &w.err);
}
int32_t extend(World& w) {
  int32_t codes[4];
  return wq_extend(w.a, &w.tokens[1], 4, 2 * minute_ms, codes, nullptr, &w.err);
}
int32_t ack(World& w) {
  return wq_ack(w.a, w.tokens[2].id, w.tokens[2].generation, nullptr, &w.err);
}
int32_t nack(World& w) {
  wq_nack_options options = WQ_NACK_OPTIONS_INIT;
  options.flags = WQ_NACK_PRIORITY;
  options.priority = 7;
  options.error = bytes_of_text(long_error());
  return wq_nack(w.a, w.tokens[3].id, w.tokens[3].generation, &options, nullptr, &w.err);
}
int32_t release(World& w) {
  return wq_release(w.a, w.tokens[4].id, w.tokens[4].generation, 0, WQ_RELEASE_FRONT, nullptr,
                    &w.err);
}
int32_t fail(World& w) {
  return wq_fail(w.a, w.tokens[5].id, w.tokens[5].generation, "no", 2, nullptr, &w.err);
}
wq_settle_item item_of(World& w, size_t token, uint32_t kind) {
  wq_settle_item item = WQ_SETTLE_ITEM_INIT;
  item.kind = kind;
  item.id = w.tokens[token].id;
  item.generation = w.tokens[token].generation;
  if (kind == WQ_SETTLE_NACK || kind == WQ_SETTLE_FAIL) item.error = bytes_of_text(long_error());
  return item;
}
int32_t settle_many(World& w) {
  const wq_settle_item items[] = {item_of(w, 6, WQ_SETTLE_ACK), item_of(w, 7, WQ_SETTLE_NACK),
                                  item_of(w, 8, WQ_SETTLE_FAIL), item_of(w, 9, WQ_SETTLE_RELEASE),
                                  item_of(w, 6, WQ_SETTLE_ACK)};
  int32_t codes[5];
  return wq_settle_many(w.a, items, 5, sizeof items[0], codes, nullptr, &w.err);
}
int32_t fail_more(World& w) {
  const wq_settle_item items[] = {item_of(w, 10, WQ_SETTLE_FAIL), item_of(w, 11, WQ_SETTLE_FAIL),
                                  item_of(w, 12, WQ_SETTLE_FAIL)};
  return wq_settle_many(w.a, items, 3, sizeof items[0], nullptr, nullptr, &w.err);
}
// What a tick does is promised to nobody before a sync, so one follows each. One tick, one record:
// first the short leases run out, then delayed jobs are due.
void pass_short_leases(World& w) {
  w.clock.advance(200);
}
void pass_delays(World& w) {
  w.clock.advance(1'300);
}
int32_t tick(World& w) {
  int64_t due_ms = 0;
  return wq_store_tick(w.store, &due_ms, &w.err);
}

// ---- dead letters

int32_t dead_list(World& w) {
  uint64_t cursor = 0;
  wq_dead_query query = WQ_DEAD_QUERY_INIT;
  query.limit = 3;
  return wq_dead_list(w.a, &query, &w.batch, &cursor, &w.err);
}
int32_t dead_get(World& w) {
  return wq_dead_get(w.a, w.tokens[5].id, w.tokens[5].generation, &w.batch, &w.err);
}
int32_t dead_replay(World& w) {
  return wq_dead_replay(w.a, w.tokens[5].id, w.tokens[5].generation, nullptr, &w.err);
}
int32_t dead_remove(World& w) {
  return wq_dead_remove(w.a, w.tokens[8].id, w.tokens[8].generation, nullptr, &w.err);
}
int32_t dead_replay_stored(World& w) {
  return wq_dead_replay(w.a, w.tokens[10].id, w.tokens[10].generation, nullptr, &w.err);
}
int32_t dead_purge(World& w) {
  uint64_t removed = 0;
  return wq_dead_purge(w.a, &removed, nullptr, &w.err);
}

// ---- status

int32_t pause(World& w) {
  return wq_queue_pause(w.a, nullptr, &w.err);
}
int32_t resume(World& w) {
  return wq_queue_resume(w.a, nullptr, &w.err);
}
int32_t disable(World& w) {
  return wq_queue_disable(w.a, nullptr, &w.err);
}
int32_t enable(World& w) {
  return wq_queue_enable(w.a, nullptr, &w.err);
}
int32_t stats(World& w) {
  wq_store_stats out = WQ_STORE_STATS_INIT;
  return wq_store_get_stats(w.store, &out, &w.err);
}
int32_t queue_stats(World& w) {
  wq_queue_stats out = WQ_QUEUE_STATS_INIT;
  return wq_queue_get_stats(w.a, &out, &w.err);
}
int32_t explain_job(World& w) {
  wq_job_explanation out = WQ_JOB_EXPLANATION_INIT;
  wq_text* text = nullptr;
  const int32_t code = wq_job_explain(w.a, w.tokens[14].id, &out, &text, &w.err);
  wq_text_free(&text);
  return code;
}
int32_t explain_queue(World& w) {
  wq_queue_explanation out = WQ_QUEUE_EXPLANATION_INIT;
  wq_text* text = nullptr;
  const int32_t code = wq_queue_explain(w.a, &out, &text, &w.err);
  wq_text_free(&text);
  return code;
}
int32_t queue_errors(World& w) {
  wq_queue_error out = WQ_QUEUE_ERROR_INIT;
  size_t count = 0;
  return wq_queue_get_errors(w.a, &out, 1, sizeof out, &count, &w.err);
}
int32_t metrics(World& w) {
  wq_text* text = nullptr;
  const int32_t code = wq_store_metrics(w.store, &text, &w.err);
  wq_text_free(&text);
  return code;
}
int32_t poll_events(World& w) {
  wq_event_cursor cursor = WQ_EVENT_CURSOR_INIT;
  wq_store_event event = WQ_STORE_EVENT_INIT;
  size_t count = 0;
  return wq_events_poll(w.store, &cursor, &event, 1, sizeof event, 0, nullptr, &count, &w.err);
}
int32_t recovery(World& w) {
  wq_recovery out = WQ_RECOVERY_INIT;
  return wq_store_get_recovery(w.store, &out, &w.err);
}
int32_t names(World& w) {
  return wq_store_queues(w.store, &w.list, &w.err);
}
void free_names(World& w) {
  wq_list_free(&w.list);
}
int32_t verify(World& w) {
  wq_verify_report report = WQ_VERIFY_REPORT_INIT;
  return wq_store_verify(w.store, &report, &w.err);
}

// ---- completion queues, cancel tokens

int32_t open_cq(World& w) {
  return wq_cq_open(w.store, &w.cq, &w.err);
}
int32_t enqueue_to_cq(World& w) {
  wq_call call = WQ_CALL_INIT;
  call.cq = w.cq;
  call.user_data = 7;
  const wq_job_spec spec = spec_of(small_payload());
  return wq_enqueue(w.b, &spec, &call, nullptr, &w.err);
}
int32_t ack_to_cq(World& w) {
  wq_call call = WQ_CALL_INIT;
  call.cq = w.cq;
  call.durability = WQ_PROCESS;
  return wq_ack(w.a, w.tokens[13].id, w.tokens[13].generation, &call, &w.err);
}
int32_t poll_cq(World& w) {
  wq_event events[4] = {WQ_EVENT_INIT, WQ_EVENT_INIT, WQ_EVENT_INIT, WQ_EVENT_INIT};
  size_t count = 0;
  return wq_cq_poll(w.cq, events, 4, sizeof events[0], 1, &count, &w.err);
}
int32_t cq_eventfd(World& w) {
  const int32_t fd = wq_cq_eventfd(w.cq);
  return fd >= 0 ? WQ_OK : fd;
}
int32_t new_cancel(World& w) {
  return wq_cancel_new(&w.cancel, &w.err);
}
// With a wait that ends at once, as the token is fired.
int32_t lease_cancelled(World& w) {
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  options.wait_ms = 1'000;
  wq_cancel_fire(w.cancel);
  return wq_lease(w.store, &w.b, 1, &options, w.cancel, nullptr, &w.batch, &w.err);
}

// ---- the store as a whole

int32_t checkpoint(World& w) {
  return wq_store_checkpoint(w.store, &w.err);
}
int32_t sync_store(World& w) {
  return wq_store_sync(w.store, &w.err);
}
int32_t clear(World& w) {
  uint64_t removed = 0;
  return wq_queue_clear(w.a, WQ_STATE_BIT(WQ_STATE_READY) | WQ_STATE_BIT(WQ_STATE_DELAYED),
                        &removed, nullptr, &w.err);
}
int32_t delete_b(World& w) {
  return wq_queue_delete(w.b, nullptr, &w.err);
}
void close_queues(World& w) {
  wq_cancel_free(&w.cancel);
  wq_cq_close(&w.cq);
  wq_queue_close(&w.a);
  wq_queue_close(&w.b);
}
int32_t close_store(World& w) {
  wq_store_close(&w.store);
  return WQ_OK;
}
int32_t shutdown(World& w) {
  return wq_store_shutdown(w.store, 0, &w.err);
}

// A table, kept out of the function that hands it out.
const Script steps = {
    {"open an empty store", open_store},
    {"open queue a", open_a},
    {"open queue b", open_b},
    {"configure", configure_a},
    {"get config", get_config},
    {"enqueue", enqueue_small},
    {"enqueue a large one", enqueue_large},
    {"enqueue with delay", enqueue_delayed},
    {"enqueue many", enqueue_batch},
    {"enqueue many, partly", enqueue_partly},
    {"lease", lease_jobs, nullptr, take_batch},
    {"get job", get_job, nullptr, free_batch},
    {"cancel job", cancel_job},
    {"confirm", confirm},
    {"confirm with a deadline", confirm_with_deadline},
    {"extend", extend},
    {"ack", ack},
    {"nack", nack},
    {"release", release},
    {"fail", fail},
    {"settle many", settle_many},
    {"lease shortly", lease_shortly, nullptr, take_batch},
    {"tick: expiry", tick, pass_short_leases, nullptr, true},
    {"sync after a tick", sync_store},
    {"tick: promotion", tick, pass_delays, nullptr, true},
    {"sync after a tick", sync_store},
    {"fail more", fail_more},
    {"dead list", dead_list, nullptr, free_batch},
    {"dead get", dead_get, nullptr, free_batch},
    {"dead replay", dead_replay},
    {"dead remove", dead_remove},
    {"pause", pause},
    {"resume", resume},
    {"disable", disable},
    {"enable", enable},
    {"store stats", stats},
    {"queue stats", queue_stats},
    {"explain a job", explain_job},
    {"explain a queue", explain_queue},
    {"errors of a queue", queue_errors},
    {"metrics", metrics},
    {"poll events", poll_events},
    {"recovery", recovery},
    {"names of queues", names, nullptr, free_names},
    {"open cq", open_cq},
    {"enqueue to cq", enqueue_to_cq, nullptr, nullptr, true},
    {"ack to cq", ack_to_cq, nullptr, nullptr, true},
    {"cq eventfd", cq_eventfd},
    {"poll cq", poll_cq},
    {"new cancel", new_cancel},
    {"lease, cancelled", lease_cancelled},
    {"checkpoint", checkpoint},
    {"verify", verify},
    {"sync", sync_store},
    {"enqueue after the checkpoint", enqueue_small},
    {"nack of a stored job",
     [](World& w) {
       return wq_nack(w.a, w.tokens[14].id, w.tokens[14].generation, nullptr, nullptr, &w.err);
     }},
    {"close", close_store, close_queues},
    {"open with content", open_store},
    {"open queue a again", open_a},
    {"open queue b again", open_b},
    {"dead list, stored", dead_list, nullptr, free_batch},
    {"get job, stored", get_job, nullptr, free_batch},
    {"dead replay, stored", dead_replay_stored},
    {"lease, stored", lease_shortly, nullptr, take_batch},
    {"tick: expiry after reopening", tick, pass_short_leases, nullptr, true},
    {"sync after a tick", sync_store},
    {"tick: promotion after reopening", tick, pass_delays, nullptr, true},
    {"sync after a tick", sync_store},
    {"clear", clear},
    {"tick: sweep", tick, nullptr, nullptr, true},
    {"sync after a tick", sync_store},
    {"dead purge", dead_purge},
    {"delete queue b", delete_b},
    {"checkpoint after the clears", checkpoint},
    {"configure again", configure_again},
    {"sync again", sync_store},
    {"shutdown", shutdown},
    {"close at the end", close_store, close_queues},
    {"open at the end", open_store},
};

}  // namespace

const Script& basic_script() {
  return steps;
}

}  // namespace wq
