/* What Go calls instead of wq.h where one crossing of the language border can do the work of many:
 * a batch is told as two flat arrays of C structs, which Go reads as memory. No bytes are copied;
 * they stay in the batch (or page) until the Go side has copied them and calls ..._drop.
 * Thread model: an object belongs to one call at a time. */
#ifndef WQGO_SHIM_H_
#define WQGO_SHIM_H_

#include <stdlib.h>
#include <wq.h>

/* Result and parameters of one call; lives in memory of C, so that no Go memory crosses. */
typedef struct wqgo_frame {
  wq_error err;
  wq_call call;
  uint64_t number;
  int64_t sum;
  size_t count;
  int32_t flag;
  int32_t reserved_0;
} wqgo_frame;

/* Jobs of one batch, as arrays. headers are those of all jobs, one job's after the other's. */
typedef struct wqgo_jobs {
  wq_job *jobs;
  size_t jobs_cap;
  size_t count;
  wq_header *headers;
  size_t headers_cap;
  wq_batch *batch;
} wqgo_jobs;

/* Rows of one page. */
typedef struct wqgo_rows {
  wq_kv_row *rows;
  size_t rows_cap;
  size_t count;
  wq_kv_page *page;
} wqgo_rows;

/* Like the calls of wq.h with the same names; the jobs are in `out` when the answer is WQ_OK. */
int32_t wqgo_lease(wq_store *store, wq_queue *const *queues, size_t n_queues,
                   const wq_lease_options *options, wq_cancel *cancel, wq_call *call,
                   wqgo_jobs *out, wq_error *err);
int32_t wqgo_job_get(wq_queue *queue, uint64_t id, wqgo_jobs *out, wq_error *err);
int32_t wqgo_dead_get(wq_queue *queue, uint64_t id, uint64_t generation, wqgo_jobs *out,
                      wq_error *err);
int32_t wqgo_dead_list(wq_queue *queue, const wq_dead_query *query, wqgo_jobs *out,
                       uint64_t *next_cursor, wq_error *err);
int32_t wqgo_kv_get(wq_store *store, const void *key, size_t key_len, wqgo_rows *out,
                    wq_error *err);
int32_t wqgo_kv_list(wq_store *store, const wq_kv_query *query, wqgo_rows *out, int32_t *more,
                     wq_error *err);

/* Free what the last call put there; the arrays are kept for the next. */
void wqgo_jobs_drop(wqgo_jobs *jobs);
void wqgo_rows_drop(wqgo_rows *rows);
/* Free everything. */
void wqgo_jobs_free(wqgo_jobs *jobs);
void wqgo_rows_free(wqgo_rows *rows);

#endif
