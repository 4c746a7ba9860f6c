/* ops_jobs.c: the calls on jobs, keys, dead letters and rows. a[i] stands for argument i of the
 * frame; bytes take two arguments, offset and length.
 * Thread model: each runs on the thread of an executor and touches its own op only. */
#include <stdlib.h>
#include <string.h>

#include "wqn.h"

/* The library takes so many in one call; more are its to refuse, before we allocate for them. */
#define ITEMS_MAX 10000

/* ---- produce ---- */

/* a0: spec */
void wqn_do_enqueue(wqn_op* op) {
  wq_enqueued out = WQ_ENQUEUED_INIT;
  bool ok = true;
  const wq_job_spec* spec = wqn_image(op, wqn_arg(op, 0), LAYOUT_wq_job_spec, &ok);
  if (ok) op->rc = wq_enqueue(op->q, spec, &op->call, &out, &op->err);
  wqn_put(&op->out, &out, sizeof out);
}

/* a0: specs, a1: how many, a2: flags. The answer: accepted, what became of each. */
void wqn_do_enqueue_many(wqn_op* op) {
  const uint64_t n = wqn_arg(op, 1);
  const uint32_t flags = (uint32_t)wqn_arg(op, 2);
  size_t accepted = 0;
  if (n == 0 || n > ITEMS_MAX) {
    const wq_job_spec none = WQ_JOB_SPEC_INIT;
    op->rc = wq_enqueue_many(op->q, &none, n, sizeof none, flags, NULL, NULL, 0, NULL, &op->err);
    return;
  }
  const wq_job_spec* specs = wqn_images(op, wqn_arg(op, 0), n, LAYOUT_wq_job_spec);
  if (!specs) return;
  wq_enqueued* out = calloc(n, sizeof *out);
  if (!out) {
    wqn_refuse(op, WQ_E_NO_MEMORY, "enqueueMany: no memory");
    return;
  }
  op->rc = wq_enqueue_many(op->q, specs, n, sizeof specs[0], flags, &op->call, out, sizeof *out,
                           &accepted, &op->err);
  wqn_put_u64(&op->out, accepted);
  wqn_put(&op->out, out, n * sizeof *out);
  free(out);
}

void wqn_do_job_cancel(wqn_op* op) {
  op->rc = wq_job_cancel(op->q, wqn_arg(op, 0), &op->call, &op->err);
}

static void put_batch(wqn_op* op, wq_batch** batch) {
  op->own_buffer = true;
  wqn_put_batch(&op->out, *batch);
  wq_batch_free(batch);
}

void wqn_do_job_get(wqn_op* op) {
  wq_batch* batch = NULL;
  op->rc = wq_job_get(op->q, wqn_arg(op, 0), &batch, &op->err);
  if (op->rc == WQ_OK) put_batch(op, &batch);
}

/* a0: id, a1: priority */
void wqn_do_reprioritise(wqn_op* op) {
  op->rc =
      wq_job_reprioritise(op->q, wqn_arg(op, 0), (uint32_t)wqn_arg(op, 1), &op->call, &op->err);
}

/* a0: id, a1: generation; a2, a3: note */
void wqn_do_progress(wqn_op* op) {
  wq_bytes note;
  if (wqn_bytes(op, 2, &note))
    op->rc = wq_job_progress(op->q, wqn_arg(op, 0), wqn_arg(op, 1), note.data, note.len, &op->call,
                             &op->err);
}

void wqn_do_job_explain(wqn_op* op) {
  wq_job_explanation explanation = WQ_JOB_EXPLANATION_INIT;
  wq_text* text = NULL;
  op->rc = wq_job_explain(op->q, wqn_arg(op, 0), &explanation, &text, &op->err);
  wqn_put(&op->out, &explanation, sizeof explanation);
  wqn_put_text(&op->out, text);
  wq_text_free(&text);
}

/* ---- consume ---- */

#define LEASE_QUEUES_MAX 256

/* a0: options, a5: whether it waits */
void wqn_do_lease(wqn_op* op) {
  wq_queue* queues[LEASE_QUEUES_MAX + 1];
  wq_batch* batch = NULL;
  bool ok = true;
  const size_t n = op->queues_count <= LEASE_QUEUES_MAX ? op->queues_count : LEASE_QUEUES_MAX + 1;
  const wq_lease_options* options = wqn_image(op, wqn_arg(op, 0), LAYOUT_wq_lease_options, &ok);
  if (!ok) return;
  for (size_t i = 0; i < n; i++) {
    queues[i] = atomic_load(&op->queues[i]->handle);
    if (!queues[i]) {
      wqn_refuse(op, WQ_E_CLOSED, "queue: its handle is closed");
      return;
    }
  }
  op->rc = wq_lease(op->s, queues, n, options, op->cancel, &op->call, &batch, &op->err);
  if (op->rc == WQ_OK) put_batch(op, &batch);
}

/* a0: id, a1: generation, a2: run_ms */
void wqn_do_confirm(wqn_op* op) {
  op->rc = wq_confirm(op->q, wqn_arg(op, 0), wqn_arg(op, 1), (int64_t)wqn_arg(op, 2), &op->call,
                      &op->err);
}

/* The codes of the items, if the call got as far as that: else none was touched. */
static void put_codes(wqn_op* op, const int32_t* codes, uint64_t n) {
  if (codes[0] == INT32_MIN) return;
  wqn_put_u64(&op->out, n);
  wqn_put(&op->out, codes, n * sizeof codes[0]);
}

static int32_t* new_codes(wqn_op* op, uint64_t n) {
  int32_t* codes = malloc(n * sizeof *codes);
  if (!codes) {
    wqn_refuse(op, WQ_E_NO_MEMORY, "no memory for the outcomes");
    return NULL;
  }
  for (uint64_t i = 0; i < n; i++) codes[i] = INT32_MIN;
  return codes;
}

/* a0: offset of the tokens, a1: how many, a2: lease_ms */
void wqn_do_extend(wqn_op* op) {
  const uint64_t n = wqn_arg(op, 1);
  const int64_t lease_ms = (int64_t)wqn_arg(op, 2);
  const uint64_t offset = wqn_arg(op, 0);
  const wq_token none = {0, 0};
  if (n == 0 || n > ITEMS_MAX) {
    op->rc = wq_extend(op->q, &none, n, lease_ms, NULL, NULL, &op->err);
    return;
  }
  if (offset % 8 || offset > op->size || n * sizeof(wq_token) > op->size - offset) {
    wqn_refuse(op, WQ_E_INVALID, "request: malformed");
    return;
  }
  const wq_token* tokens = (const wq_token*)(const void*)(op->request + offset);
  int32_t* codes = new_codes(op, n);
  if (!codes) return;
  op->rc = wq_extend(op->q, tokens, n, lease_ms, codes, &op->call, &op->err);
  put_codes(op, codes, n);
  free(codes);
}

/* a0: id, a1: generation; a2, a3: result; a4: whether there is one */
void wqn_do_ack(wqn_op* op) {
  wq_bytes result;
  if (!wqn_arg(op, 4))
    op->rc = wq_ack(op->q, wqn_arg(op, 0), wqn_arg(op, 1), &op->call, &op->err);
  else if (wqn_bytes(op, 2, &result))
    op->rc = wq_ack_result(op->q, wqn_arg(op, 0), wqn_arg(op, 1), result.data, result.len,
                           &op->call, &op->err);
}

/* a0: id, a1: generation, a2: options */
void wqn_do_nack(wqn_op* op) {
  bool ok = true;
  const wq_nack_options* options = wqn_image(op, wqn_arg(op, 2), LAYOUT_wq_nack_options, &ok);
  if (ok) op->rc = wq_nack(op->q, wqn_arg(op, 0), wqn_arg(op, 1), options, &op->call, &op->err);
}

/* a0: id, a1: generation, a2: delay_ms, a3: flags */
void wqn_do_release(wqn_op* op) {
  op->rc = wq_release(op->q, wqn_arg(op, 0), wqn_arg(op, 1), (int64_t)wqn_arg(op, 2),
                      (uint32_t)wqn_arg(op, 3), &op->call, &op->err);
}

/* a0: id, a1: generation; a2, a3: error */
void wqn_do_fail(wqn_op* op) {
  wq_bytes error;
  if (wqn_bytes(op, 2, &error))
    op->rc =
        wq_fail(op->q, wqn_arg(op, 0), wqn_arg(op, 1), error.data, error.len, &op->call, &op->err);
}

/* a0: items, a1: how many */
void wqn_do_settle_many(wqn_op* op) {
  const uint64_t n = wqn_arg(op, 1);
  if (n == 0 || n > ITEMS_MAX) {
    const wq_settle_item none = WQ_SETTLE_ITEM_INIT;
    op->rc = wq_settle_many(op->q, &none, n, sizeof none, NULL, NULL, &op->err);
    return;
  }
  const wq_settle_item* items = wqn_images(op, wqn_arg(op, 0), n, LAYOUT_wq_settle_item);
  int32_t* codes = items ? new_codes(op, n) : NULL;
  if (!codes) return;
  op->rc = wq_settle_many(op->q, items, n, sizeof items[0], codes, &op->call, &op->err);
  put_codes(op, codes, n);
  free(codes);
}

/* ---- dead letters ---- */

/* a0: query. The answer: cursor, batch. */
void wqn_do_dead_list(wqn_op* op) {
  wq_batch* batch = NULL;
  uint64_t cursor = 0;
  bool ok = true;
  const wq_dead_query* query = wqn_image(op, wqn_arg(op, 0), LAYOUT_wq_dead_query, &ok);
  if (!ok) return;
  op->rc = wq_dead_list(op->q, query, &batch, &cursor, &op->err);
  if (op->rc != WQ_OK) return;
  put_batch(op, &batch);
  wqn_put_u64(&op->out, cursor); /* the last eight bytes */
}

void wqn_do_dead_get(wqn_op* op) {
  wq_batch* batch = NULL;
  op->rc = wq_dead_get(op->q, wqn_arg(op, 0), wqn_arg(op, 1), &batch, &op->err);
  if (op->rc == WQ_OK) put_batch(op, &batch);
}

void wqn_do_dead_replay(wqn_op* op) {
  op->rc = wq_dead_replay(op->q, wqn_arg(op, 0), wqn_arg(op, 1), &op->call, &op->err);
}

void wqn_do_dead_remove(wqn_op* op) {
  op->rc = wq_dead_remove(op->q, wqn_arg(op, 0), wqn_arg(op, 1), &op->call, &op->err);
}

/* a0: filter */
static void dead_many(wqn_op* op, int32_t (*call)(wq_queue*, const wq_dead_filter*, wq_call*,
                                                  wq_dead_report*, wq_error*)) {
  wq_dead_report report = WQ_DEAD_REPORT_INIT;
  bool ok = true;
  const wq_dead_filter* filter = wqn_image(op, wqn_arg(op, 0), LAYOUT_wq_dead_filter, &ok);
  if (ok) op->rc = call(op->q, filter, &op->call, &report, &op->err);
  wqn_put(&op->out, &report, sizeof report);
}

void wqn_do_dead_replay_many(wqn_op* op) {
  dead_many(op, wq_dead_replay_many);
}

void wqn_do_dead_remove_many(wqn_op* op) {
  dead_many(op, wq_dead_remove_many);
}

void wqn_do_dead_purge(wqn_op* op) {
  uint64_t removed = 0;
  op->rc = wq_dead_purge(op->q, &removed, &op->call, &op->err);
  wqn_put_u64(&op->out, removed);
}

/* ---- keys ---- */

/* a0: kind; a1, a2: key */
void wqn_do_key_holder(wqn_op* op) {
  wq_bytes key;
  uint64_t id = 0;
  if (wqn_bytes(op, 1, &key))
    op->rc = wq_key_holder(op->q, (uint32_t)wqn_arg(op, 0), key.data, key.len, &id, &op->err);
  wqn_put_u64(&op->out, id);
}

void wqn_do_key_cancel(wqn_op* op) {
  wq_bytes key;
  uint64_t id = 0;
  if (wqn_bytes(op, 1, &key))
    op->rc =
        wq_key_cancel(op->q, (uint32_t)wqn_arg(op, 0), key.data, key.len, &op->call, &id, &op->err);
  wqn_put_u64(&op->out, id);
}

void wqn_do_key_release(wqn_op* op) {
  op->rc = wq_key_release(op->q, wqn_arg(op, 0), wqn_arg(op, 1), &op->call, &op->err);
}

/* ---- rows ---- */

/* The answer: 1 if there are more, how many, the rows. */
static void put_page(wqn_op* op, wq_kv_page** page, int32_t more) {
  const size_t n = wq_kv_page_count(*page);
  wq_kv_row* rows = calloc(n ? n : 1, sizeof *rows);
  if (!rows) {
    op->out.failed = true;
  } else {
    for (size_t i = 0; i < n; i++) {
      rows[i].struct_size = sizeof rows[i];
      wq_kv_page_row(*page, i, &rows[i]);
    }
    wqn_put_u64(&op->out, (uint64_t)more);
    wqn_put_u64(&op->out, n);
    wqn_put_images(&op->out, LAYOUT_wq_kv_row, rows, n);
    free(rows);
  }
  wq_kv_page_free(page);
}

/* a0, a1: key */
void wqn_do_kv_get(wqn_op* op) {
  wq_bytes key;
  wq_kv_page* page = NULL;
  if (!wqn_bytes(op, 0, &key)) return;
  op->rc = wq_kv_get(op->s, key.data, key.len, &page, &op->err);
  put_page(op, &page, 0);
}

/* a0, a1: key; a2, a3: value; a4: options */
void wqn_do_kv_put(wqn_op* op) {
  wq_bytes key;
  wq_bytes value;
  uint64_t version = 0;
  bool ok = true;
  if (!wqn_bytes(op, 0, &key) || !wqn_bytes(op, 2, &value)) return;
  const wq_kv_options* options = wqn_image(op, wqn_arg(op, 4), LAYOUT_wq_kv_options, &ok);
  if (ok)
    op->rc = wq_kv_put(op->s, key.data, key.len, value.data, value.len, options, &op->call,
                       &version, &op->err);
  wqn_put_u64(&op->out, version);
}

/* a0, a1: key; a2: delta; a4: options */
void wqn_do_kv_add(wqn_op* op) {
  wq_bytes key;
  int64_t sum = 0;
  bool ok = true;
  if (!wqn_bytes(op, 0, &key)) return;
  const wq_kv_options* options = wqn_image(op, wqn_arg(op, 4), LAYOUT_wq_kv_options, &ok);
  if (ok)
    op->rc = wq_kv_add(op->s, key.data, key.len, (int64_t)wqn_arg(op, 2), options, &op->call, &sum,
                       &op->err);
  wqn_put_u64(&op->out, (uint64_t)sum);
}

/* a0, a1: key; a4: options */
void wqn_do_kv_erase(wqn_op* op) {
  wq_bytes key;
  bool ok = true;
  if (!wqn_bytes(op, 0, &key)) return;
  const wq_kv_options* options = wqn_image(op, wqn_arg(op, 4), LAYOUT_wq_kv_options, &ok);
  if (ok) op->rc = wq_kv_erase(op->s, key.data, key.len, options, &op->call, &op->err);
}

/* a0: query */
void wqn_do_kv_list(wqn_op* op) {
  wq_kv_page* page = NULL;
  int32_t more = 0;
  bool ok = true;
  const wq_kv_query* query = wqn_image(op, wqn_arg(op, 0), LAYOUT_wq_kv_query, &ok);
  if (!ok) return;
  op->rc = wq_kv_list(op->s, query, &page, &more, &op->err);
  put_page(op, &page, more);
}

/* a0, a1: key; a2, a3: owner; a4: ttl_ms */
void wqn_do_lock_take(wqn_op* op) {
  wq_bytes key;
  wq_bytes owner;
  if (wqn_bytes(op, 0, &key) && wqn_bytes(op, 2, &owner))
    op->rc = wq_lock_take(op->s, key.data, key.len, owner.data, owner.len, (int64_t)wqn_arg(op, 4),
                          &op->call, &op->err);
}

void wqn_do_lock_extend(wqn_op* op) {
  wq_bytes key;
  wq_bytes owner;
  if (wqn_bytes(op, 0, &key) && wqn_bytes(op, 2, &owner))
    op->rc = wq_lock_extend(op->s, key.data, key.len, owner.data, owner.len,
                            (int64_t)wqn_arg(op, 4), &op->call, &op->err);
}

void wqn_do_lock_release(wqn_op* op) {
  wq_bytes key;
  wq_bytes owner;
  if (wqn_bytes(op, 0, &key) && wqn_bytes(op, 2, &owner))
    op->rc = wq_lock_release(op->s, key.data, key.len, owner.data, owner.len, &op->call, &op->err);
}

/* ---- transactions ---- */

/* a0: operations, a1: how many. The answer: which failed, what became of each. */
void wqn_do_transact(wqn_op* op) {
  const uint64_t n = wqn_arg(op, 1);
  size_t failed = n;
  if (n == 0 || n > ITEMS_MAX) {
    const wq_txn_op none = WQ_TXN_OP_INIT;
    op->rc = wq_transact(op->s, &none, n, sizeof none, NULL, NULL, 0, &failed, &op->err);
    return;
  }
  const wq_txn_op* ops = wqn_images(op, wqn_arg(op, 0), n, LAYOUT_wq_txn_op);
  if (!ops) return;
  wq_txn_result* results = calloc(n, sizeof *results);
  if (!results) {
    wqn_refuse(op, WQ_E_NO_MEMORY, "transact: no memory");
    return;
  }
  op->rc = wq_transact(op->s, ops, n, sizeof ops[0], &op->call, results, sizeof *results, &failed,
                       &op->err);
  wqn_put_u64(&op->out, failed);
  wqn_put(&op->out, results, n * sizeof *results);
  free(results);
}
