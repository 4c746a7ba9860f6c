/* exit_child.c: main returns while other threads are inside the library.
 *
 *   exit_child DIRECTORY ROUNDS      the process must end with 0, and soon
 *
 * Threads wait in wq_lease and wq_cq_poll; others work, make checkpoints, open and
 * close stores.
 * The destructor below runs when exit() has called all that C++ and the libraries registered with
 * it: there the others go on for ROUNDS, if that is not 0, which is where a thread meets what is
 * destroyed; then they are joined, and the store is closed. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wq.h>

#define WAITING 3
#define KINDS 4

static wq_store *store;
static wq_queue *jobs, *secrets, *empty;
static wq_cq *cq;
static char directory[4096];
static atomic_int rounds_done[KINDS];
static atomic_int waiting;
static atomic_int exiting, stop;
static pthread_t workers[KINDS];
static int rounds_at_end;

/* Whether it is done. While the process exits a call may be told that the store is closed. */
static int check(int32_t code, const wq_error *err) {
  if (code == WQ_OK) return 1;
  if (code == WQ_E_CLOSED && atomic_load(&exiting)) return 0;
  fprintf(stderr, "exit_child: %s: %s\n", wq_error_name(code), code < 0 ? err->message : "");
  _Exit(2);
  return 0;
}

static void *wait_in_lease(void *unused) {
  wq_error err = WQ_ERROR_INIT;
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  wq_batch *batch = NULL;
  (void)unused;
  options.wait_ms = -1;
  atomic_fetch_add(&waiting, 1);
  check(wq_lease(store, &empty, 1, &options, NULL, NULL, &batch, &err), &err);
  return NULL;
}

static void *wait_in_poll(void *unused) {
  wq_error err = WQ_ERROR_INIT;
  wq_event event = WQ_EVENT_INIT;
  size_t count = 0;
  (void)unused;
  atomic_fetch_add(&waiting, 1);
  check(wq_cq_poll(cq, &event, 1, sizeof event, -1, &count, &err), &err);
  return NULL;
}

/* Enqueue, lease, ack, with a barrier each. */
static void life(uint32_t flags, wq_queue *queue) {
  wq_error err = WQ_ERROR_INIT;
  wq_job_spec spec = WQ_JOB_SPEC_INIT;
  wq_enqueued made = WQ_ENQUEUED_INIT;
  wq_batch *batch = NULL;
  wq_job job = WQ_JOB_INIT;
  char payload[4000];
  memset(payload, 'p', sizeof payload);
  spec.flags = flags;
  spec.payload.data = payload;
  spec.payload.len = sizeof payload;
  if (!check(wq_enqueue(queue, &spec, NULL, &made, &err), &err)) return;
  if (!check(wq_lease(store, &queue, 1, NULL, NULL, NULL, &batch, &err), &err)) return;
  if (wq_batch_count(batch) > 0 && check(wq_batch_job(batch, 0, &job), &err)) {
    check(wq_ack(queue, job.id, job.generation, NULL, &err), &err);
  }
  wq_batch_free(&batch);
}

static void work(void) { life(0, jobs); }
static void work_sealed(void) { life(WQ_JOB_ENCRYPT, secrets); }

static void checkpoint(void) {
  wq_error err = WQ_ERROR_INIT;
  wq_job_spec spec = WQ_JOB_SPEC_INIT;
  wq_enqueued made = WQ_ENQUEUED_INIT;
  wq_batch *batch = NULL;
  spec.payload.data = "kept";
  spec.payload.len = 4;
  spec.delay_ms = 3600000;
  if (!check(wq_enqueue(jobs, &spec, NULL, &made, &err), &err)) return;
  if (!check(wq_store_checkpoint(store, &err), &err)) return;
  check(wq_job_get(jobs, made.job_id, &batch, &err), &err);
  wq_batch_free(&batch);
}

static void open_and_close(void) {
  wq_error err = WQ_ERROR_INIT;
  wq_store *other = NULL;
  char path[4200];
  snprintf(path, sizeof path, "%s/other", directory);
  check(wq_store_open(path, NULL, &other, &err), &err);
  wq_store_close(&other);
}

static void (*const rounds[KINDS])(void) = {work, work_sealed, checkpoint,
                                            open_and_close};

static void *go_on(void *number) {
  const int kind = *(const int *)number;
  while (!atomic_load(&stop)) {
    rounds[kind]();
    atomic_fetch_add(&rounds_done[kind], 1);
  }
  return NULL;
}

static void until_done(int count) {
  int kind;
  for (kind = 0; kind < KINDS; kind++) {
    int end = atomic_load(&rounds_done[kind]) + count;
    while (atomic_load(&rounds_done[kind]) < end) sched_yield();
  }
}

__attribute__((destructor)) static void after_all_others(void) {
  int kind;
  if (rounds_at_end == 0) return;
  until_done(rounds_at_end);
  atomic_store(&stop, 1);
  for (kind = 0; kind < KINDS; kind++) pthread_join(workers[kind], NULL);
  wq_store_close(&store);
}

static pthread_t start(void *(*function)(void *), void *argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, function, argument) != 0) _Exit(2);
  return thread;
}

int main(int argc, char **argv) {
  static int kinds[KINDS];
  static const uint8_t secret[32] = {1};
  wq_error err = WQ_ERROR_INIT;
  wq_store_options options = WQ_STORE_OPTIONS_INIT;
  wq_key key = {1, 0, {NULL, 0}};
  char path[4200];
  int i;
  if (argc != 3) {
    fprintf(stderr, "usage: exit_child DIRECTORY ROUNDS\n");
    return 2;
  }
  snprintf(directory, sizeof directory, "%s", argv[1]);
  snprintf(path, sizeof path, "%s/store", directory);
  key.bytes.data = secret;
  key.bytes.len = sizeof secret;
  options.keys = &key;
  options.keys_count = 1;
  options.current_key = 1;
  check(wq_store_open(path, &options, &store, &err), &err);
  check(wq_queue_open(store, "jobs", 4, NULL, 0, &jobs, &err), &err);
  check(wq_queue_open(store, "secrets", 7, NULL, 0, &secrets, &err), &err);
  check(wq_queue_open(store, "empty", 5, NULL, 0, &empty, &err), &err);
  check(wq_cq_open(store, &cq, &err), &err);
  for (i = 0; i < WAITING; i++) start(wait_in_lease, NULL);
  for (i = 0; i < WAITING; i++) start(wait_in_poll, NULL);
  for (i = 0; i < KINDS; i++) {
    kinds[i] = i;
    workers[i] = start(go_on, &kinds[i]);
  }
  while (atomic_load(&waiting) < 2 * WAITING) sched_yield();
  until_done(1);
  rounds_at_end = atoi(argv[2]);
  atomic_store(&exiting, 1);
  return 0;
}
