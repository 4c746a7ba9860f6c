/* ops_store.c: the calls on a store as a whole, on the configuration of queues, and what is looked
 * at: figures, flows, schedules, events. a[i] stands for argument i of the frame; bytes take two
 * arguments, offset and length.
 * Thread model: each runs on the thread of an executor and touches its own op only. */
#include <stdlib.h>
#include <string.h>

#include "wqn.h"

#define ROWS_MAX 1000 /* what the library tells in one page at most */

/* ---- store ---- */

/* a0: timeout */
void wqn_do_shutdown(wqn_op* op) {
  op->rc = wq_store_shutdown(op->s, (int64_t)wqn_arg(op, 0), &op->err);
}

void wqn_do_sync(wqn_op* op) {
  op->rc = wq_store_sync(op->s, &op->err);
}

void wqn_do_checkpoint(wqn_op* op) {
  op->rc = wq_store_checkpoint(op->s, &op->err);
}

void wqn_do_tick(wqn_op* op) {
  int64_t next_due_ms = 0;
  op->rc = wq_store_tick(op->s, &next_due_ms, &op->err);
  wqn_put_u64(&op->out, (uint64_t)next_due_ms);
}

/* a0: LSN, a1: level, a2: timeout, a5: whether it waits */
void wqn_do_wait_durable(wqn_op* op) {
  op->rc = wq_store_wait_durable(op->s, wqn_arg(op, 0), (uint32_t)wqn_arg(op, 1),
                                 (int64_t)wqn_arg(op, 2), &op->err);
}

void wqn_do_store_stats(wqn_op* op) {
  wq_store_stats stats = WQ_STORE_STATS_INIT;
  op->rc = wq_store_get_stats(op->s, &stats, &op->err);
  wqn_put(&op->out, &stats, sizeof stats);
}

void wqn_do_store_keys(wqn_op* op) {
  wq_key_use* uses = NULL;
  size_t room = 0, count = 64;
  while (count > room) { /* a key may come up in between */
    room = count;
    free(uses);
    uses = calloc(room, sizeof *uses);
    if (!uses) {
      wqn_refuse(op, WQ_E_NO_MEMORY, wq_strerror(WQ_E_NO_MEMORY));
      return;
    }
    for (size_t i = 0; i < room; i++) uses[i] = (wq_key_use)WQ_KEY_USE_INIT;
    op->rc = wq_store_get_keys(op->s, uses, room, sizeof *uses, &count, &op->err);
    if (op->rc != WQ_OK) count = 0;
  }
  wqn_put_u64(&op->out, count);
  wqn_put(&op->out, uses, count * sizeof *uses);
  free(uses);
}

void wqn_do_recovery(wqn_op* op) {
  wq_recovery recovery = WQ_RECOVERY_INIT;
  op->rc = wq_store_get_recovery(op->s, &recovery, &op->err);
  wqn_put(&op->out, &recovery, sizeof recovery);
}

void wqn_do_queues(wqn_op* op) {
  wq_list* list = NULL;
  op->rc = wq_store_queues(op->s, &list, &op->err);
  wqn_put_u64(&op->out, wq_list_count(list));
  for (size_t i = 0; i < wq_list_count(list); i++) {
    wq_bytes name = {NULL, 0};
    wq_list_name(list, i, &name);
    wqn_put_bytes(&op->out, name);
  }
  wq_list_free(&list);
}

void wqn_do_metrics(wqn_op* op) {
  wq_text* text = NULL;
  op->rc = wq_store_metrics(op->s, &text, &op->err);
  wqn_put_text(&op->out, text);
  wq_text_free(&text);
}

void wqn_do_verify(wqn_op* op) {
  wq_verify_report report = WQ_VERIFY_REPORT_INIT;
  op->rc = wq_store_verify(op->s, &report, &op->err);
  wqn_put(&op->out, &report, sizeof report);
}

/* a0, a1: directory; a2, a3: path of the new store */
static void backup_call(wqn_op* op) {
  wq_backup_options options = WQ_BACKUP_OPTIONS_INIT;
  wq_backup_report report = WQ_BACKUP_REPORT_INIT;
  const char* directory = wqn_path(op, 0);
  const uint32_t code = wqn_frame_of(op)->code;
  options.cancel = op->cancel;
  if (!directory) return;
  if (code == OP_backup) {
    op->rc = wq_store_backup(op->s, directory, &options, &report, &op->err);
  } else if (code == OP_backup_verify) {
    op->rc = wq_backup_verify(directory, &options, &report, &op->err);
  } else {
    const char* path = wqn_path(op, 2);
    if (!path) return;
    op->rc = wq_backup_restore(directory, path, &options, &report, &op->err);
  }
  wqn_put(&op->out, &report, sizeof report);
}

void wqn_do_backup(wqn_op* op) {
  backup_call(op);
}

void wqn_do_backup_verify(wqn_op* op) {
  backup_call(op);
}

void wqn_do_backup_restore(wqn_op* op) {
  backup_call(op);
}

/* ---- queues ---- */

/* a0, a1: name; a2: config; a3: flags */
void wqn_do_queue_open(wqn_op* op) {
  wq_bytes name;
  bool ok = true;
  if (!wqn_bytes(op, 0, &name)) return;
  const wq_queue_config* config = wqn_image(op, wqn_arg(op, 2), LAYOUT_wq_queue_config, &ok);
  if (!ok) return;
  wq_queue* handle = NULL;
  op->rc = wq_queue_open(op->s, name.data, name.len, config, (uint32_t)wqn_arg(op, 3), &handle,
                         &op->err);
  if (op->rc == WQ_OK) atomic_store(&op->queues[0]->handle, handle);
}

void wqn_do_queue_close(wqn_op* op) {
  wq_queue* handle = atomic_exchange(&op->queues[0]->handle, NULL);
  wq_queue_close(&handle);
  op->rc = WQ_OK;
}

/* a0: config */
void wqn_do_configure(wqn_op* op) {
  bool ok = true;
  const wq_queue_config* config = wqn_image(op, wqn_arg(op, 0), LAYOUT_wq_queue_config, &ok);
  if (ok) op->rc = wq_queue_configure(op->q, config, &op->call, &op->err);
}

void wqn_do_get_config(wqn_op* op) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  op->rc = wq_queue_get_config(op->q, &config, &op->err);
  wqn_put(&op->out, &config, sizeof config);
}

void wqn_do_pause(wqn_op* op) {
  op->rc = wq_queue_pause(op->q, &op->call, &op->err);
}

void wqn_do_resume(wqn_op* op) {
  op->rc = wq_queue_resume(op->q, &op->call, &op->err);
}

void wqn_do_disable(wqn_op* op) {
  op->rc = wq_queue_disable(op->q, &op->call, &op->err);
}

void wqn_do_enable(wqn_op* op) {
  op->rc = wq_queue_enable(op->q, &op->call, &op->err);
}

void wqn_do_queue_delete(wqn_op* op) {
  op->rc = wq_queue_delete(op->q, &op->call, &op->err);
}

/* a0: states */
void wqn_do_clear(wqn_op* op) {
  uint64_t removed = 0;
  op->rc = wq_queue_clear(op->q, (uint32_t)wqn_arg(op, 0), &removed, &op->call, &op->err);
  wqn_put_u64(&op->out, removed);
}

void wqn_do_queue_stats(wqn_op* op) {
  wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
  op->rc = wq_queue_get_stats(op->q, &stats, &op->err);
  wqn_put(&op->out, &stats, sizeof stats);
}

void wqn_do_queue_explain(wqn_op* op) {
  wq_queue_explanation explanation = WQ_QUEUE_EXPLANATION_INIT;
  wq_text* text = NULL;
  op->rc = wq_queue_explain(op->q, &explanation, &text, &op->err);
  wqn_put(&op->out, &explanation, sizeof explanation);
  wqn_put_text(&op->out, text);
  wq_text_free(&text);
}

void wqn_do_queue_errors(wqn_op* op) {
  wq_queue_error errors[16]; /* the library keeps 10 */
  size_t count = 0;
  memset(errors, 0, sizeof errors);
  op->rc = wq_queue_get_errors(op->q, errors, sizeof errors / sizeof errors[0], sizeof errors[0],
                               &count, &op->err);
  wqn_put_u64(&op->out, count);
  wqn_put(&op->out, errors, count * sizeof errors[0]);
}

/* ---- flows ---- */

/* a0: options */
void wqn_do_flow_create(wqn_op* op) {
  uint64_t flow = 0;
  bool ok = true;
  const wq_flow_options* options = wqn_image(op, wqn_arg(op, 0), LAYOUT_wq_flow_options, &ok);
  if (ok) op->rc = wq_flow_create(op->s, options, &flow, &op->call, &op->err);
  wqn_put_u64(&op->out, flow);
}

void wqn_do_flow_seal(wqn_op* op) {
  op->rc = wq_flow_seal(op->s, wqn_arg(op, 0), &op->call, &op->err);
}

void wqn_do_flow_cancel(wqn_op* op) {
  op->rc = wq_flow_cancel(op->s, wqn_arg(op, 0), &op->call, &op->err);
}

void wqn_do_flow_status(wqn_op* op) {
  wq_flow_status status = WQ_FLOW_STATUS_INIT;
  op->rc = wq_flow_get_status(op->s, wqn_arg(op, 0), &status, &op->err);
  wqn_put(&op->out, &status, sizeof status);
}

/* Room for the rows of a page, in the answer: cursor, count, rows. NULL: refused. */
static char* page_room(wqn_op* op, uint64_t n, size_t row_size) {
  const uint64_t rows = n > ROWS_MAX ? 0 : n;
  wqn_put_u64(&op->out, 0);
  wqn_put_u64(&op->out, 0);
  for (uint64_t i = 0; i < rows; i++) {
    char row[sizeof(wq_store_event)] = {0};
    wqn_put(&op->out, row, row_size);
  }
  if (n > ROWS_MAX) wqn_refuse(op, WQ_E_INVALID, "limit: over 1,000");
  return op->out.failed || n > ROWS_MAX ? NULL : op->out.data + 16;
}

/* Fill in the head of a page, and drop the rows that were not used. */
static void page_end(wqn_op* op, uint64_t cursor, uint64_t count, size_t row_size) {
  memcpy(op->out.data, &cursor, sizeof cursor);
  memcpy(op->out.data + 8, &count, sizeof count);
  op->out.len = 16 + count * row_size;
}

/* a0: cursor, a1: rows at most */
void wqn_do_flow_list(wqn_op* op) {
  uint64_t cursor = wqn_arg(op, 0);
  size_t count = 0;
  const uint64_t n = wqn_arg(op, 1);
  char* rows = page_room(op, n, sizeof(wq_flow_status));
  if (!rows) return;
  op->rc = wq_flow_list(op->s, &cursor, (wq_flow_status*)(void*)rows, n, sizeof(wq_flow_status),
                        &count, &op->err);
  page_end(op, cursor, count, sizeof(wq_flow_status));
}

/* ---- history ---- */

void wqn_do_history_get(wqn_op* op) {
  wq_done_job job = WQ_DONE_JOB_INIT;
  wq_list* result = NULL;
  op->rc = wq_history_get(op->q, wqn_arg(op, 0), &job, &result, &op->err);
  wqn_put_images(&op->out, LAYOUT_wq_done_job, &job, 1);
  wq_list_free(&result);
}

/* a0: cursor, a1: rows at most */
void wqn_do_history_list(wqn_op* op) {
  uint64_t cursor = wqn_arg(op, 0);
  size_t count = 0;
  const uint64_t n = wqn_arg(op, 1);
  wq_list* results = NULL;
  wqn_buf rows = {0};
  if (!page_room(op, n, sizeof(wq_done_job))) return;
  /* The rows move to a place of their own: their bytes follow them in the answer. */
  rows = op->out;
  op->out = (wqn_buf){0};
  wq_done_job* jobs = (wq_done_job*)(void*)(rows.data + 16);
  op->rc = wq_history_list(op->q, &cursor, jobs, n, sizeof jobs[0], &count, &results, &op->err);
  wqn_put_u64(&op->out, cursor);
  wqn_put_u64(&op->out, count);
  wqn_put_images(&op->out, LAYOUT_wq_done_job, jobs, count);
  wq_list_free(&results);
  wqn_buf_free(&rows);
}

/* ---- schedules ---- */

/* a0, a1: name; a2: spec */
void wqn_do_cron_put(wqn_op* op) {
  wq_bytes name;
  bool ok = true;
  if (!wqn_bytes(op, 0, &name)) return;
  const wq_cron_spec* spec = wqn_image(op, wqn_arg(op, 2), LAYOUT_wq_cron_spec, &ok);
  if (ok) op->rc = wq_cron_put(op->q, name.data, name.len, spec, &op->call, &op->err);
}

void wqn_do_cron_remove(wqn_op* op) {
  wq_bytes name;
  if (wqn_bytes(op, 0, &name))
    op->rc = wq_cron_remove(op->s, name.data, name.len, &op->call, &op->err);
}

void wqn_do_cron_pause(wqn_op* op) {
  wq_bytes name;
  if (wqn_bytes(op, 0, &name))
    op->rc = wq_cron_pause(op->s, name.data, name.len, &op->call, &op->err);
}

void wqn_do_cron_resume(wqn_op* op) {
  wq_bytes name;
  if (wqn_bytes(op, 0, &name))
    op->rc = wq_cron_resume(op->s, name.data, name.len, &op->call, &op->err);
}

void wqn_do_cron_get(wqn_op* op) {
  wq_bytes name;
  wq_crons* crons = NULL;
  if (!wqn_bytes(op, 0, &name)) return;
  op->rc = wq_cron_get(op->s, name.data, name.len, &crons, &op->err);
  wqn_put_crons(&op->out, crons);
  wq_crons_free(&crons);
}

/* a0, a1: after; a2: limit; the queue, if one is given */
void wqn_do_cron_list(wqn_op* op) {
  wq_bytes after;
  wq_crons* crons = NULL;
  if (!wqn_bytes(op, 0, &after)) return;
  op->rc = wq_cron_list(op->s, op->q, after.data, after.len, wqn_arg(op, 2), &crons, &op->err);
  wqn_put_crons(&op->out, crons);
  wq_crons_free(&crons);
}

#define TIMES_MAX 10000

/* a0, a1: expression; a2, a3: zone; a4: from; a5: how many */
void wqn_do_cron_next(wqn_op* op) {
  wq_bytes expression;
  wq_bytes zone;
  static const char zeros[4096];
  const uint64_t n = wqn_arg(op, 5);
  size_t count = 0;
  if (!wqn_bytes(op, 0, &expression) || !wqn_bytes(op, 2, &zone)) return;
  if (n < 1 || n > TIMES_MAX) {
    wqn_refuse(op, WQ_E_INVALID, "count: is not within 1..10,000");
    return;
  }
  wqn_put_u64(&op->out, 0);
  for (uint64_t left = n * sizeof(int64_t); left;) {
    const size_t part = left < sizeof zeros ? left : sizeof zeros;
    wqn_put(&op->out, zeros, part);
    left -= part;
  }
  if (op->out.failed) return;
  int64_t* times = (int64_t*)(void*)(op->out.data + 8);
  op->rc = wq_cron_next(expression.data, expression.len, zone.data, zone.len,
                        (int64_t)wqn_arg(op, 4), times, n, &count, &op->err);
  const uint64_t told = count;
  memcpy(op->out.data, &told, sizeof told);
  op->out.len = 8 + count * sizeof(int64_t);
}

/* ---- events ---- */

/* a0: cursor, a1: events at most, a2: wait, a5: whether it waits. The answer has the cursor, and
 * the events as a page. */
void wqn_do_events_poll(wqn_op* op) {
  bool ok = true;
  size_t count = 0;
  const uint64_t n = wqn_arg(op, 1);
  wq_event_cursor* cursor = wqn_image(op, wqn_arg(op, 0), LAYOUT_wq_event_cursor, &ok);
  char* rows = ok ? page_room(op, n, sizeof(wq_store_event)) : NULL;
  if (!rows || !cursor) return;
  op->rc = wq_events_poll(op->s, cursor, (wq_store_event*)(void*)rows, n, sizeof(wq_store_event),
                          (int64_t)wqn_arg(op, 2), op->cancel, &count, &op->err);
  page_end(op, 0, count, sizeof(wq_store_event));
  wqn_put(&op->out, cursor, sizeof *cursor);
}
