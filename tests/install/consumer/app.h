// What every consumer does: one job through its whole life, in a store. C and C++ share it.
#pragma once

#include <stdio.h>
#include <string.h>
#include <wq.h>

static int live_one_life(const char* directory) {
  wq_error err = WQ_ERROR_INIT;
  wq_store* store = NULL;
  wq_queue* queue = NULL;
  wq_batch* batch = NULL;
  wq_job_spec spec = WQ_JOB_SPEC_INIT;
  wq_lease_options take = WQ_LEASE_OPTIONS_INIT;
  wq_job job = WQ_JOB_INIT;
  int done = 0;

  spec.payload.data = "payload";
  spec.payload.len = 7;
  take.max_jobs = 1;
  if (wq_store_open(directory, NULL, &store, &err) == WQ_OK &&
      wq_queue_open(store, "q", 1, NULL, 0, &queue, &err) == WQ_OK &&
      wq_enqueue(queue, &spec, NULL, NULL, &err) == WQ_OK &&
      wq_lease(store, &queue, 1, &take, NULL, NULL, &batch, &err) == WQ_OK &&
      wq_batch_job(batch, 0, &job) == WQ_OK && job.payload.len == 7 &&
      memcmp(job.payload.data, "payload", 7) == 0 &&
      wq_ack(queue, job.id, job.generation, NULL, &err) == WQ_OK) {
    done = 1;
  }
  if (done) {
    printf("lived %s\n", wq_version_string());
  } else {
    fprintf(stderr, "%s: %s\n", wq_error_name(err.code), err.message);
  }
  wq_batch_free(&batch);
  wq_queue_close(&queue);
  wq_store_close(&store);
  return done ? 0 : 1;
}
