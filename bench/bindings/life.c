/* life.c: the whole life of jobs (enqueue, lease, ack) through wq.h alone: what the programs in
 * bindings/NAME/bench are compared with (see bindings.py).
 *
 *   life LEVEL BATCH JOBS DIRECTORY      one line of JSON; LEVEL: memory or power
 *
 * One thread. 32 changes may be under way in the completion queue; leases are at the memory level.
 * With BATCH 1 the calls are wq_enqueue, wq_lease, wq_ack, else those for many. Exit 1 if not every
 * job was delivered with its payload and acked once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wq.h>

#define UNDER_WAY 32
#define BATCH_MAX 10000
#define PAYLOAD_BYTES 100

static wq_store *store;
static wq_queue *queue;
static wq_cq *cq;
static uint32_t level;
static int under_way;
static char payload[PAYLOAD_BYTES];
static wq_job_spec specs[BATCH_MAX];
static wq_enqueued enqueued[BATCH_MAX];
static wq_settle_item items[BATCH_MAX];

static void check(int32_t code, const wq_error *err) {
  if (code == WQ_OK) return;
  fprintf(stderr, "life: %s: %s\n", wq_error_name(code), code < 0 ? err->message : "");
  exit(1);
}

/* Let all but `left` changes arrive. */
static void settle_down(int left) {
  wq_error err = WQ_ERROR_INIT;
  wq_event events[2 * UNDER_WAY];
  size_t count = 0, i;
  while (under_way > left) {
    for (i = 0; i < 2 * UNDER_WAY; i++) events[i] = (wq_event)WQ_EVENT_INIT;
    check(wq_cq_poll(cq, events, 2 * UNDER_WAY, sizeof events[0], -1, &count, &err), &err);
    for (i = 0; i < count; i++) check(events[i].code, &err);
    under_way -= (int)count;
  }
}

static wq_call begin(void) {
  wq_call call = WQ_CALL_INIT;
  settle_down(UNDER_WAY - 1);
  call.durability = level;
  call.cq = cq;
  return call;
}

static void begun(const wq_call *call) {
  if (call->lsn != 0) under_way++;
}

static void enqueue(size_t batch) {
  wq_error err = WQ_ERROR_INIT;
  wq_call call = begin();
  if (batch == 1) {
    check(wq_enqueue(queue, &specs[0], &call, &enqueued[0], &err), &err);
  } else {
    check(wq_enqueue_many(queue, specs, batch, sizeof specs[0], 0, &call, enqueued,
                          sizeof enqueued[0], NULL, &err), &err);
  }
  begun(&call);
}

/* Lease, look at each job, ack: how many there were. */
static size_t consume(size_t batch) {
  wq_error err = WQ_ERROR_INIT;
  wq_call take = WQ_CALL_INIT, call;
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  wq_batch *jobs = NULL;
  wq_job job = WQ_JOB_INIT;
  size_t count, i;
  take.durability = WQ_MEMORY;
  options.max_jobs = (uint32_t)batch;
  check(wq_lease(store, &queue, 1, &options, NULL, &take, &jobs, &err), &err);
  count = wq_batch_count(jobs);
  for (i = 0; i < count; i++) {
    wq_batch_job(jobs, i, &job);
    if (job.payload.len != PAYLOAD_BYTES || memcmp(job.payload.data, payload, PAYLOAD_BYTES)) {
      fprintf(stderr, "life: a payload is not what it was\n");
      exit(1);
    }
    items[i].id = job.id;
    items[i].generation = job.generation;
  }
  wq_batch_free(&jobs);
  call = begin();
  if (batch == 1) {
    check(wq_ack(queue, items[0].id, items[0].generation, &call, &err), &err);
  } else {
    check(wq_settle_many(queue, items, count, sizeof items[0], NULL, &call, &err), &err);
  }
  begun(&call);
  return count;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
  wq_error err = WQ_ERROR_INIT;
  wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
  size_t batch, jobs, made = 0, delivered = 0, i;
  double start, seconds;
  if (argc != 5) {
    fprintf(stderr, "usage: life memory|power BATCH JOBS DIRECTORY\n");
    return 2;
  }
  level = strcmp(argv[1], "power") == 0 ? WQ_POWER : WQ_MEMORY;
  batch = (size_t)atoll(argv[2]);
  jobs = (size_t)atoll(argv[3]) / batch * batch;
  if (batch > BATCH_MAX) return 2;
  memset(payload, 'x', sizeof payload);
  for (i = 0; i < batch; i++) {
    specs[i] = (wq_job_spec)WQ_JOB_SPEC_INIT;
    specs[i].payload.data = payload;
    specs[i].payload.len = sizeof payload;
    enqueued[i] = (wq_enqueued)WQ_ENQUEUED_INIT;
    items[i] = (wq_settle_item)WQ_SETTLE_ITEM_INIT;
    items[i].kind = WQ_SETTLE_ACK;
  }
  check(wq_store_open(argv[4], NULL, &store, &err), &err);
  check(wq_queue_open(store, "life", 4, NULL, 0, &queue, &err), &err);
  check(wq_cq_open(store, &cq, &err), &err);
  start = now();
  for (; made < jobs; made += batch) {
    enqueue(batch);
    delivered += consume(batch);
  }
  settle_down(0);
  seconds = now() - start;
  check(wq_queue_get_stats(queue, &stats, &err), &err);
  printf("{\"language\": \"c\", \"level\": \"%s\", \"batch\": %zu, \"jobs\": %zu, "
         "\"seconds\": %.6f, \"delivered\": %zu, \"acked\": %llu}\n", argv[1], batch, jobs,
         seconds, delivered, (unsigned long long)stats.acked_total);
  wq_cq_close(&cq);
  wq_queue_close(&queue);
  wq_store_close(&store);
  return delivered == jobs && stats.acked_total == jobs ? 0 : 1;
}
