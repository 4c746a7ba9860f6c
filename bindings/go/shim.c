#include "shim.h"

#include <string.h>

_Static_assert(sizeof(void *) == 8, "wq is for 64-bit machines");

/* Make room for `n` elements; 0 when memory is out. */
static int reserve(void **array, size_t *cap, size_t n, size_t size) {
  if (n <= *cap) return 1;
  void *bigger = realloc(*array, n * size);
  if (!bigger) return 0;
  *array = bigger;
  *cap = n;
  return 1;
}

static int32_t no_memory(wq_error *err) {
  if (err) {
    err->code = WQ_E_NO_MEMORY;
    err->os_errno = 0;
    err->flags = WQ_ERROR_RETRYABLE;
    err->offset = 0;
    strcpy(err->message, "no memory for the jobs of a batch");
  }
  return WQ_E_NO_MEMORY;
}

static int fill_jobs(wqgo_jobs *out) {
  size_t headers = 0;
  out->count = wq_batch_count(out->batch);
  if (!reserve((void **)&out->jobs, &out->jobs_cap, out->count, sizeof(wq_job))) return 0;
  for (size_t i = 0; i < out->count; i++) {
    wq_job *job = &out->jobs[i];
    job->struct_size = sizeof *job;
    wq_batch_job(out->batch, i, job);
    headers += job->headers_count;
  }
  if (!reserve((void **)&out->headers, &out->headers_cap, headers, sizeof(wq_header))) return 0;
  headers = 0;
  for (size_t i = 0; i < out->count; i++) {
    for (size_t h = 0; h < out->jobs[i].headers_count; h++)
      wq_batch_header(out->batch, i, h, &out->headers[headers++]);
  }
  return 1;
}

static int32_t tell_jobs(int32_t code, wqgo_jobs *out, wq_error *err) {
  out->count = 0;
  if (!out->batch || fill_jobs(out)) return code;
  wqgo_jobs_drop(out);
  return no_memory(err);
}

int32_t wqgo_lease(wq_store *store, wq_queue *const *queues, size_t n_queues,
                   const wq_lease_options *options, wq_cancel *cancel, wq_call *call,
                   wqgo_jobs *out, wq_error *err) {
  /* Before the lease: what is leased should reach the caller, also when memory is short. */
  size_t expected = options->max_jobs < 1024 ? options->max_jobs : 1024;
  if (!reserve((void **)&out->jobs, &out->jobs_cap, expected, sizeof(wq_job)))
    return no_memory(err);
  int32_t code = wq_lease(store, queues, n_queues, options, cancel, call, &out->batch, err);
  return tell_jobs(code, out, err);
}

int32_t wqgo_job_get(wq_queue *queue, uint64_t id, wqgo_jobs *out, wq_error *err) {
  return tell_jobs(wq_job_get(queue, id, &out->batch, err), out, err);
}

int32_t wqgo_dead_get(wq_queue *queue, uint64_t id, uint64_t generation, wqgo_jobs *out,
                      wq_error *err) {
  return tell_jobs(wq_dead_get(queue, id, generation, &out->batch, err), out, err);
}

int32_t wqgo_dead_list(wq_queue *queue, const wq_dead_query *query, wqgo_jobs *out,
                       uint64_t *next_cursor, wq_error *err) {
  return tell_jobs(wq_dead_list(queue, query, &out->batch, next_cursor, err), out, err);
}

static int32_t tell_rows(int32_t code, wqgo_rows *out, wq_error *err) {
  out->count = 0;
  if (!out->page) return code;
  size_t count = wq_kv_page_count(out->page);
  if (!reserve((void **)&out->rows, &out->rows_cap, count, sizeof(wq_kv_row))) {
    wqgo_rows_drop(out);
    return no_memory(err);
  }
  for (; out->count < count; out->count++) {
    out->rows[out->count].struct_size = sizeof(wq_kv_row);
    wq_kv_page_row(out->page, out->count, &out->rows[out->count]);
  }
  return code;
}

int32_t wqgo_kv_get(wq_store *store, const void *key, size_t key_len, wqgo_rows *out,
                    wq_error *err) {
  return tell_rows(wq_kv_get(store, key, key_len, &out->page, err), out, err);
}

int32_t wqgo_kv_list(wq_store *store, const wq_kv_query *query, wqgo_rows *out, int32_t *more,
                     wq_error *err) {
  return tell_rows(wq_kv_list(store, query, &out->page, more, err), out, err);
}

void wqgo_jobs_drop(wqgo_jobs *jobs) {
  wq_batch_free(&jobs->batch);
  jobs->count = 0;
}

void wqgo_rows_drop(wqgo_rows *rows) {
  wq_kv_page_free(&rows->page);
  rows->count = 0;
}

void wqgo_jobs_free(wqgo_jobs *jobs) {
  if (!jobs) return;
  wqgo_jobs_drop(jobs);
  free(jobs->jobs);
  free(jobs->headers);
  free(jobs);
}

void wqgo_rows_free(wqgo_rows *rows) {
  if (!rows) return;
  wqgo_rows_drop(rows);
  free(rows->rows);
  free(rows);
}
