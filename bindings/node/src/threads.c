/* threads.c: executors. An executor is a queue of ops and the threads that make their calls; it
 * starts a thread when an op would have to wait for one and it may have more, and lets idle ones
 * go. With max 1 it is a lane: ops are made in the order in which they came.
 * Thread model: push, stop and join by one thread at a time (the JavaScript thread, or a teardown);
 * all else is guarded by the lock. Threads are joined, never detached: the addon may not have code
 * running when its environment is gone. */
#include <signal.h>
#include <stdlib.h>

#include "wqn.h"

struct wqn_thread {
  pthread_t id;
  wqn_executor* ex;
  bool ended; /* its last act on the lock */
  wqn_thread* next;
};

#define STACK_BYTES ((size_t)1 << 20)

int wqn_thread_start(pthread_t* thread, void* (*run)(void*), void* arg) {
  sigset_t all;
  sigset_t before;
  pthread_attr_t attr;
  int rc = pthread_attr_init(&attr);
  if (rc) return rc;
  pthread_attr_setstacksize(&attr, STACK_BYTES);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  rc = pthread_create(thread, &attr, run, arg);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
  return rc;
}

void wqn_executor_init(wqn_executor* ex, unsigned max, unsigned keep) {
  *ex = (wqn_executor){.max = max, .keep = keep};
  pthread_mutex_init(&ex->lock, NULL);
  pthread_cond_init(&ex->wake, NULL);
}

static void* run_thread(void* arg) {
  wqn_thread* self = arg;
  wqn_executor* ex = self->ex;
  pthread_mutex_lock(&ex->lock);
  for (;;) {
    while (!ex->head && !ex->stop && ex->idle < ex->keep) {
      ex->idle++;
      pthread_cond_wait(&ex->wake, &ex->lock);
      ex->idle--;
    }
    wqn_op* op = ex->head;
    if (!op) break;
    ex->head = op->next;
    if (!ex->head) ex->tail = NULL;
    ex->queued--;
    pthread_mutex_unlock(&ex->lock);
    op->next = NULL;
    wqn_op_run(op);
    pthread_mutex_lock(&ex->lock);
  }
  ex->live--;
  self->ended = true;
  pthread_mutex_unlock(&ex->lock);
  return NULL;
}

/* Join the threads that have ended. Called with the lock held, which they need no more. */
static void reap(wqn_executor* ex) {
  wqn_thread** link = &ex->threads;
  while (*link) {
    wqn_thread* thread = *link;
    if (!thread->ended) {
      link = &thread->next;
      continue;
    }
    *link = thread->next;
    pthread_join(thread->id, NULL);
    free(thread);
  }
}

static bool start_thread(wqn_executor* ex) {
  wqn_thread* thread = calloc(1, sizeof *thread);
  if (!thread) return false;
  thread->ex = ex;
  if (wqn_thread_start(&thread->id, run_thread, thread)) {
    free(thread);
    return false;
  }
  thread->next = ex->threads;
  ex->threads = thread;
  ex->live++;
  return true;
}

bool wqn_executor_push(wqn_executor* ex, wqn_op* op) {
  pthread_mutex_lock(&ex->lock);
  /* Threads that were woken and did not run yet count as idle, and their ops as queued. */
  if (ex->queued >= ex->idle && ex->live < ex->max) {
    reap(ex);
    if (!start_thread(ex) && ex->live == 0) {
      pthread_mutex_unlock(&ex->lock);
      return false;
    }
  }
  op->next = NULL;
  if (ex->tail)
    ex->tail->next = op;
  else
    ex->head = op;
  ex->tail = op;
  ex->queued++;
  pthread_cond_signal(&ex->wake);
  pthread_mutex_unlock(&ex->lock);
  return true;
}

void wqn_executor_stop(wqn_executor* ex) {
  pthread_mutex_lock(&ex->lock);
  ex->stop = true;
  pthread_cond_broadcast(&ex->wake);
  pthread_mutex_unlock(&ex->lock);
}

void wqn_executor_join(wqn_executor* ex) {
  for (;;) {
    pthread_mutex_lock(&ex->lock);
    wqn_thread* thread = ex->threads;
    if (thread) ex->threads = thread->next;
    pthread_mutex_unlock(&ex->lock);
    if (!thread) break;
    pthread_join(thread->id, NULL);
    free(thread);
  }
}

void wqn_executor_free(wqn_executor* ex) {
  pthread_mutex_destroy(&ex->lock);
  pthread_cond_destroy(&ex->wake);
}
