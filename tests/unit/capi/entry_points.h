// Every function of wq.h that takes a store, a queue or a completion queue and can fail, in a form
// that a test can loop over. Each lambda passes arguments that are right, so that what is returned
// is about the handle alone.
#pragma once

#include "unit/capi/capi_test.h"

namespace wq::capi_test {

struct StoreCall {
  const char* name;
  int32_t (*call)(wq_store* store, wq_queue* queue, wq_error* err);
};

inline const std::vector<StoreCall>& row_calls() {
  static const std::vector<StoreCall> calls = {
      {"wq_kv_put",
       [](wq_store* s, wq_queue*, wq_error* e) {
         return wq_kv_put(s, "k", 1, "1", 1, nullptr, nullptr, nullptr, e);
       }},
      {"wq_kv_get",
       [](wq_store* s, wq_queue*, wq_error* e) {
         wq_kv_page* page = nullptr;
         const int32_t code = wq_kv_get(s, "k", 1, &page, e);
         wq_kv_page_free(&page);
         return code;
       }},
      {"wq_kv_add",
       [](wq_store* s, wq_queue*, wq_error* e) {
         return wq_kv_add(s, "k", 1, 1, nullptr, nullptr, nullptr, e);
       }},
      {"wq_kv_list",
       [](wq_store* s, wq_queue*, wq_error* e) {
         wq_kv_page* page = nullptr;
         const int32_t code = wq_kv_list(s, nullptr, &page, nullptr, e);
         wq_kv_page_free(&page);
         return code;
       }},
      {"wq_store_get_keys",
       [](wq_store* s, wq_queue*, wq_error* e) {
         size_t count = 0;
         return wq_store_get_keys(s, nullptr, 0, sizeof(wq_key_use), &count, e);
       }},
      {"wq_kv_erase", [](wq_store* s, wq_queue*,
                         wq_error* e) { return wq_kv_erase(s, "k", 1, nullptr, nullptr, e); }},
      {"wq_lock_take",
       [](wq_store* s, wq_queue*, wq_error* e) {
         return wq_lock_take(s, "l", 1, "o", 1, 1'000'000, nullptr, e);
       }},
      {"wq_lock_extend",
       [](wq_store* s, wq_queue*, wq_error* e) {
         return wq_lock_extend(s, "l", 1, "o", 1, 1'000'000, nullptr, e);
       }},
      {"wq_lock_release",
       [](wq_store* s, wq_queue*, wq_error* e) {
         return wq_lock_release(s, "l", 1, "o", 1, nullptr, e);
       }},
      {"wq_transact",
       [](wq_store* s, wq_queue*, wq_error* e) {
         wq_txn_op op = WQ_TXN_OP_INIT;
         op.kind = WQ_TXN_KV_PUT;
         op.key = {"t", 1};
         return wq_transact(s, &op, 1, sizeof op, nullptr, nullptr, 0, nullptr, e);
       }},
  };
  return calls;
}

inline std::vector<StoreCall> store_reading_calls() {
  return {
      {"wq_store_tick",
       [](wq_store* s, wq_queue*, wq_error* e) { return wq_store_tick(s, nullptr, e); }},
      {"wq_store_sync", [](wq_store* s, wq_queue*, wq_error* e) { return wq_store_sync(s, e); }},
      {"wq_store_wait_durable",
       [](wq_store* s, wq_queue*, wq_error* e) {
         return wq_store_wait_durable(s, 0, WQ_POWER, 0, e);
       }},
      {"wq_store_checkpoint",
       [](wq_store* s, wq_queue*, wq_error* e) { return wq_store_checkpoint(s, e); }},
      {"wq_store_get_stats",
       [](wq_store* s, wq_queue*, wq_error* e) {
         wq_store_stats stats = WQ_STORE_STATS_INIT;
         return wq_store_get_stats(s, &stats, e);
       }},
      {"wq_store_get_recovery",
       [](wq_store* s, wq_queue*, wq_error* e) {
         wq_recovery recovery = WQ_RECOVERY_INIT;
         return wq_store_get_recovery(s, &recovery, e);
       }},
      {"wq_store_queues",
       [](wq_store* s, wq_queue*, wq_error* e) {
         wq_list* list = nullptr;
         const int32_t code = wq_store_queues(s, &list, e);
         wq_list_free(&list);
         return code;
       }},
      {"wq_store_metrics",
       [](wq_store* s, wq_queue*, wq_error* e) {
         wq_text* text = nullptr;
         const int32_t code = wq_store_metrics(s, &text, e);
         wq_text_free(&text);
         return code;
       }},
      {"wq_events_poll",
       [](wq_store* s, wq_queue*, wq_error* e) {
         wq_event_cursor cursor = WQ_EVENT_CURSOR_INIT;
         wq_store_event event = WQ_STORE_EVENT_INIT;
         size_t count = 0;
         const int32_t code =
             wq_events_poll(s, &cursor, &event, 1, sizeof event, 0, nullptr, &count, e);
         return code == WQ_E_UNSUPPORTED ? WQ_OK : code;  // no events_max
       }},
  };
}

inline const std::vector<StoreCall>& store_calls() {
  static const std::vector<StoreCall> working = {
      {"wq_store_verify",
       [](wq_store* s, wq_queue*, wq_error* e) {
         wq_verify_report report = WQ_VERIFY_REPORT_INIT;
         return wq_store_verify(s, &report, e);
       }},
      {"wq_store_backup",
       [](wq_store* s, wq_queue*, wq_error* e) {
         static std::atomic<int> number{0};
         const std::string directory = "backup-" + std::to_string(++number);
         return wq_store_backup(s, directory.c_str(), nullptr, nullptr, e);
       }},
      {"wq_queue_open",
       [](wq_store* s, wq_queue*, wq_error* e) {
         wq_queue* queue = nullptr;
         const int32_t code = wq_queue_open(s, "q", 1, nullptr, 0, &queue, e);
         wq_queue_close(&queue);
         return code;
       }},
      {"wq_lease",
       [](wq_store* s, wq_queue* q, wq_error* e) {
         wq_batch* batch = nullptr;
         const int32_t code = wq_lease(s, &q, 1, nullptr, nullptr, nullptr, &batch, e);
         wq_batch_free(&batch);
         return code == WQ_EMPTY ? WQ_OK : code;
       }},
      {"wq_flow_create",
       [](wq_store* s, wq_queue*, wq_error* e) {
         uint64_t flow = 0;
         return wq_flow_create(s, nullptr, &flow, nullptr, e);
       }},
      {"wq_cq_open",
       [](wq_store* s, wq_queue*, wq_error* e) {
         wq_cq* cq = nullptr;
         const int32_t code = wq_cq_open(s, &cq, e);
         wq_cq_close(&cq);
         return code;
       }},
      {"wq_cron_list",
       [](wq_store* s, wq_queue*, wq_error* e) {
         wq_crons* crons = nullptr;
         const int32_t code = wq_cron_list(s, nullptr, nullptr, 0, 10, &crons, e);
         wq_crons_free(&crons);
         return code;
       }},
      // The last one: it changes what the others answer.
      {"wq_store_shutdown",
       [](wq_store* s, wq_queue*, wq_error* e) { return wq_store_shutdown(s, 0, e); }},
  };
  static const std::vector<StoreCall> calls = [] {
    std::vector<StoreCall> all = store_reading_calls();
    all.insert(all.end(), row_calls().begin(), row_calls().end());
    all.insert(all.end(), working.begin(), working.end());
    return all;
  }();
  return calls;
}

// What a queue call answers on a healthy queue that has no job: `fresh`.
struct QueueCall {
  const char* name;
  int32_t fresh;
  int32_t (*call)(wq_queue* queue, wq_call* how, wq_error* err);
};

inline std::vector<QueueCall> queue_admin_calls() {
  return {
      {"wq_queue_configure", WQ_OK,
       [](wq_queue* q, wq_call* c, wq_error* e) {
         wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
         return wq_queue_configure(q, &config, c, e);
       }},
      {"wq_queue_get_config", WQ_OK,
       [](wq_queue* q, wq_call*, wq_error* e) {
         wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
         return wq_queue_get_config(q, &config, e);
       }},
      {"wq_queue_pause", WQ_OK,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_queue_pause(q, c, e); }},
      {"wq_queue_resume", WQ_OK,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_queue_resume(q, c, e); }},
      {"wq_queue_disable", WQ_OK,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_queue_disable(q, c, e); }},
      {"wq_queue_enable", WQ_OK,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_queue_enable(q, c, e); }},
      {"wq_queue_clear", WQ_OK,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_queue_clear(q, 0, nullptr, c, e); }},
      {"wq_queue_get_stats", WQ_OK,
       [](wq_queue* q, wq_call*, wq_error* e) {
         wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
         return wq_queue_get_stats(q, &stats, e);
       }},
      {"wq_queue_explain", WQ_OK,
       [](wq_queue* q, wq_call*, wq_error* e) {
         wq_queue_explanation explanation = WQ_QUEUE_EXPLANATION_INIT;
         return wq_queue_explain(q, &explanation, nullptr, e);
       }},
      {"wq_queue_get_errors", WQ_EMPTY,
       [](wq_queue* q, wq_call*, wq_error* e) {
         wq_queue_error error = WQ_QUEUE_ERROR_INIT;
         size_t count = 0;
         return wq_queue_get_errors(q, &error, 1, sizeof error, &count, e);
       }},
  };
}

inline std::vector<QueueCall> job_calls() {
  return {
      {"wq_job_cancel", WQ_E_NOT_FOUND,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_job_cancel(q, 1, c, e); }},
      {"wq_job_get", WQ_E_NOT_FOUND,
       [](wq_queue* q, wq_call*, wq_error* e) {
         wq_batch* batch = nullptr;
         return wq_job_get(q, 1, &batch, e);
       }},
      {"wq_job_explain", WQ_E_NOT_FOUND,
       [](wq_queue* q, wq_call*, wq_error* e) {
         wq_job_explanation explanation = WQ_JOB_EXPLANATION_INIT;
         return wq_job_explain(q, 1, &explanation, nullptr, e);
       }},
      {"wq_job_reprioritise", WQ_E_NOT_FOUND,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_job_reprioritise(q, 1, 5, c, e); }},
      {"wq_job_progress", WQ_STALE,
       [](wq_queue* q, wq_call* c, wq_error* e) {
         return wq_job_progress(q, 1, 1, "half", 4, c, e);
       }},
      {"wq_key_holder", WQ_E_NOT_FOUND,
       [](wq_queue* q, wq_call*, wq_error* e) {
         uint64_t id = 0;
         return wq_key_holder(q, WQ_KEY_UNIQUE, "k", 1, &id, e);
       }},
      {"wq_key_cancel", WQ_E_NOT_FOUND,
       [](wq_queue* q, wq_call* c, wq_error* e) {
         return wq_key_cancel(q, WQ_KEY_UNIQUE, "k", 1, c, nullptr, e);
       }},
      {"wq_key_release", WQ_STALE,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_key_release(q, 1, 1, c, e); }},
      {"wq_confirm", WQ_STALE,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_confirm(q, 1, 1, 0, c, e); }},
      {"wq_extend", WQ_STALE,
       [](wq_queue* q, wq_call* c, wq_error* e) {
         const wq_token token = {1, 1};
         return wq_extend(q, &token, 1, 0, nullptr, c, e);
       }},
      {"wq_ack", WQ_STALE,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_ack(q, 1, 1, c, e); }},
      {"wq_ack_result", WQ_STALE,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_ack_result(q, 1, 1, "x", 1, c, e); }},
      {"wq_history_get", WQ_E_NOT_FOUND,
       [](wq_queue* q, wq_call*, wq_error* e) {
         wq_done_job job = WQ_DONE_JOB_INIT;
         wq_list* result = nullptr;
         return wq_history_get(q, 1, &job, &result, e);
       }},
      {"wq_nack", WQ_STALE,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_nack(q, 1, 1, nullptr, c, e); }},
      {"wq_release", WQ_STALE,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_release(q, 1, 1, 0, 0, c, e); }},
      {"wq_fail", WQ_STALE,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_fail(q, 1, 1, "x", 1, c, e); }},
      {"wq_settle_many", WQ_STALE,
       [](wq_queue* q, wq_call* c, wq_error* e) {
         wq_settle_item item = WQ_SETTLE_ITEM_INIT;
         item.kind = WQ_SETTLE_ACK;
         item.id = item.generation = 1;
         return wq_settle_many(q, &item, 1, sizeof item, nullptr, c, e);
       }},
  };
}

inline std::vector<QueueCall> dead_letter_calls() {
  return {
      {"wq_dead_list", WQ_EMPTY,
       [](wq_queue* q, wq_call*, wq_error* e) {
         wq_batch* batch = nullptr;
         return wq_dead_list(q, nullptr, &batch, nullptr, e);
       }},
      {"wq_dead_get", WQ_E_NOT_FOUND,
       [](wq_queue* q, wq_call*, wq_error* e) {
         wq_batch* batch = nullptr;
         return wq_dead_get(q, 1, 1, &batch, e);
       }},
      {"wq_dead_replay", WQ_E_NOT_FOUND,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_dead_replay(q, 1, 1, c, e); }},
      {"wq_dead_remove", WQ_E_NOT_FOUND,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_dead_remove(q, 1, 1, c, e); }},
      {"wq_dead_replay_many", WQ_OK,
       [](wq_queue* q, wq_call* c, wq_error* e) {
         wq_dead_filter filter = WQ_DEAD_FILTER_INIT;
         filter.flags = WQ_DEAD_ALL;
         return wq_dead_replay_many(q, &filter, c, nullptr, e);
       }},
      {"wq_dead_remove_many", WQ_OK,
       [](wq_queue* q, wq_call* c, wq_error* e) {
         wq_dead_filter filter = WQ_DEAD_FILTER_INIT;
         filter.flags = WQ_DEAD_ALL;
         return wq_dead_remove_many(q, &filter, c, nullptr, e);
       }},
      {"wq_dead_purge", WQ_OK,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_dead_purge(q, nullptr, c, e); }},
  };
}

// These leave something behind, so they come last.
inline std::vector<QueueCall> lasting_calls() {
  return {
      {"wq_enqueue", WQ_OK,
       [](wq_queue* q, wq_call* c, wq_error* e) {
         const wq_job_spec spec = WQ_JOB_SPEC_INIT;
         return wq_enqueue(q, &spec, c, nullptr, e);
       }},
      {"wq_enqueue_many", WQ_OK,
       [](wq_queue* q, wq_call* c, wq_error* e) {
         const wq_job_spec spec = WQ_JOB_SPEC_INIT;
         return wq_enqueue_many(q, &spec, 1, sizeof spec, 0, c, nullptr, 0, nullptr, e);
       }},
      {"wq_queue_delete", WQ_OK,
       [](wq_queue* q, wq_call* c, wq_error* e) { return wq_queue_delete(q, c, e); }},
  };
}

inline const std::vector<QueueCall>& queue_calls() {
  static const std::vector<QueueCall> calls = [] {
    std::vector<QueueCall> all;
    for (const auto& group :
         {queue_admin_calls(), job_calls(), dead_letter_calls(), lasting_calls()}) {
      all.insert(all.end(), group.begin(), group.end());
    }
    return all;
  }();
  return calls;
}

}  // namespace wq::capi_test
