/* The few C functions that the Python package has of its own: closing calls that take the handle
 * instead of its address, for cffi's garbage collection, and loops over whole batches, so that a
 * batch of a hundred jobs costs one call instead of a hundred. No state, any thread. */
#pragma once

#include <stdlib.h>
#include <string.h>
#include <wq.h>

static void wqpy_store_close(wq_store *store) { wq_store_close(&store); }
static void wqpy_queue_close(wq_queue *queue) { wq_queue_close(&queue); }
static void wqpy_batch_free(wq_batch *batch) { wq_batch_free(&batch); }
/* Frees what a wq_lease has filled, if anything: its owner is there before the call is. */
static void wqpy_batch_out_free(wq_batch **out) { wq_batch_free(out); }
static void wqpy_list_free(wq_list *list) { wq_list_free(&list); }
static void wqpy_text_free(wq_text *text) { wq_text_free(&text); }
static void wqpy_cq_close(wq_cq *cq) { wq_cq_close(&cq); }
static void wqpy_cancel_free(wq_cancel *cancel) { wq_cancel_free(&cancel); }
static void wqpy_kv_page_free(wq_kv_page *page) { wq_kv_page_free(&page); }
static void wqpy_crons_free(wq_crons *crons) { wq_crons_free(&crons); }

/* A job with a payload and no options. */
static int32_t wqpy_enqueue(wq_queue *queue, const char *data, size_t len, wq_call *call,
                            wq_enqueued *out, wq_error *err) {
  wq_job_spec spec = WQ_JOB_SPEC_INIT;
  spec.payload.data = data;
  spec.payload.len = len;
  return wq_enqueue(queue, &spec, call, out, err);
}

/* `n` jobs with payloads that stand one behind another in `data`, and no options. ids and codes are
 * arrays of n. */
static int32_t wqpy_enqueue_payloads(wq_queue *queue, const char *data, const size_t *lens,
                                     size_t n, uint32_t flags, wq_call *call, uint64_t *ids,
                                     int32_t *codes, size_t *accepted, wq_error *err) {
  const wq_job_spec spec = WQ_JOB_SPEC_INIT;
  wq_job_spec *specs = calloc(n + 1, sizeof *specs);
  wq_enqueued *out = calloc(n + 1, sizeof *out);
  int32_t code;
  size_t i;
  if (specs == NULL || out == NULL) {
    code = WQ_E_NO_MEMORY;
  } else {
    for (i = 0; i < n; i++) {
      specs[i] = spec;
      specs[i].payload.data = data;
      specs[i].payload.len = lens[i];
      data += lens[i];
    }
    code = wq_enqueue_many(queue, specs, n, sizeof *specs, flags, call, out, sizeof *out, accepted,
                           err);
    for (i = 0; i < n; i++) {
      ids[i] = out[i].job_id;
      codes[i] = out[i].code;
    }
  }
  free(specs);
  free(out);
  return code;
}

/* All jobs of a batch, which has `n`; and how many bytes their payloads have together. Returns how
 * many headers they have together. */
static size_t wqpy_batch_jobs(const wq_batch *batch, wq_job *jobs, size_t *bytes, size_t n) {
  size_t i, headers = 0;
  *bytes = 0;
  for (i = 0; i < n; i++) {
    jobs[i].struct_size = (uint32_t)sizeof jobs[i];
    if (wq_batch_job(batch, i, &jobs[i]) != WQ_OK) jobs[i].headers_count = 0;
    *bytes += jobs[i].payload.len;
    headers += jobs[i].headers_count;
  }
  return headers;
}

static void wqpy_tokens(const wq_job *jobs, size_t n, uint64_t *ids, uint64_t *generations) {
  size_t i;
  for (i = 0; i < n; i++) {
    ids[i] = jobs[i].id;
    generations[i] = jobs[i].generation;
  }
}

static void wqpy_fill(int32_t *values, size_t n, int32_t with) {
  size_t i;
  for (i = 0; i < n; i++) values[i] = with;
}

/* "100s" for 100: what Python's struct calls that many bytes. Returns the end of it. */
static char *wqpy_form(size_t len, char *form) {
  char digits[24];
  int n = 0;
  do {
    digits[n++] = (char)('0' + len % 10);
    len /= 10;
  } while (len != 0);
  while (n != 0) *form++ = digits[--n];
  *form++ = 's';
  return form;
}

/* The payloads of `n` jobs, one behind another, and the format by which Python's struct tells them
 * apart. Returns the length of the format: up to 8 for each job if they have 1 MiB together. */
static size_t wqpy_payloads(const wq_job *jobs, size_t n, char *to, char *form) {
  const char *begin = form;
  size_t i;
  for (i = 0; i < n; i++) {
    if (jobs[i].payload.len) memcpy(to, jobs[i].payload.data, jobs[i].payload.len);
    to += jobs[i].payload.len;
    form = wqpy_form(jobs[i].payload.len, form);
  }
  return (size_t)(form - begin);
}

/* `n` acks without a job; for free(). */
static wq_settle_item *wqpy_acks(size_t n) {
  const wq_settle_item item = WQ_SETTLE_ITEM_INIT;
  wq_settle_item *items = calloc(n + 1, sizeof *items);
  size_t i;
  for (i = 0; items != NULL && i < n; i++) {
    items[i] = item;
    items[i].kind = WQ_SETTLE_ACK;
  }
  return items;
}

/* Settles and frees what wqpy_acks() made. */
static int32_t wqpy_settle(wq_queue *queue, wq_settle_item *items, size_t n, int32_t *codes,
                           wq_call *call, wq_error *err) {
  const int32_t code = wq_settle_many(queue, items, n, sizeof *items, codes, call, err);
  free(items);
  return code;
}

/* Ack `n` jobs of one queue in one change. */
static int32_t wqpy_ack_tokens(wq_queue *queue, const uint64_t *ids, const uint64_t *generations,
                               size_t n, int32_t *codes, wq_call *call, wq_error *err) {
  wq_settle_item *items = wqpy_acks(n);
  size_t i;
  if (items == NULL) return WQ_E_NO_MEMORY;
  for (i = 0; i < n; i++) {
    items[i].id = ids[i];
    items[i].generation = generations[i];
  }
  return wqpy_settle(queue, items, n, codes, call, err);
}

/* Ack the jobs at `n` places of an array, which are of one queue, in one change. Places NULL: the
 * first n. */
static int32_t wqpy_ack_jobs(wq_queue *queue, const wq_job *jobs, const size_t *places, size_t n,
                             int32_t *codes, wq_call *call, wq_error *err) {
  wq_settle_item *items = wqpy_acks(n);
  size_t i;
  if (items == NULL) return WQ_E_NO_MEMORY;
  for (i = 0; i < n; i++) {
    const wq_job *job = &jobs[places == NULL ? i : places[i]];
    items[i].id = job->id;
    items[i].generation = job->generation;
  }
  return wqpy_settle(queue, items, n, codes, call, err);
}
