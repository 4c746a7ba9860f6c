/* store.c: the life of stores and queues. Opening and closing are the first and the last op of the
 * lane of a store, so that they are in order with all the changes.
 * Handles of the library are read when a call begins. A call that comes just behind the close has
 * the old pointer: the library keeps the memory of closed handles and answers WQ_E_CLOSED. */
#include <stdlib.h>
#include <string.h>

#include "wqn.h"

#define EVENTS_AT_ONCE 256

wqn_store* wqn_store_new(wqn_env* env) {
  wqn_store* store = calloc(1, sizeof *store);
  if (!store) return NULL;
  store->env = env;
  store->refs = 1;
  env->refs++;
  pthread_mutex_init(&store->lock, NULL);
  wqn_executor_init(&store->lane, 1, 1);
  store->next = env->stores;
  if (store->next) store->next->prev = store;
  env->stores = store;
  return store;
}

void wqn_store_unref(wqn_store* store) {
  if (--store->refs) return;
  wqn_env* env = store->env;
  wqn_executor_stop(&store->lane);
  wqn_executor_join(&store->lane);
  wqn_executor_free(&store->lane);
  if (store->prev)
    store->prev->next = store->next;
  else
    env->stores = store->next;
  if (store->next) store->next->prev = store->prev;
  pthread_mutex_destroy(&store->lock);
  free(store);
  wqn_env_unref(env);
}

wqn_queue* wqn_queue_new(wqn_store* store) {
  wqn_queue* queue = calloc(1, sizeof *queue);
  if (!queue) return NULL;
  queue->store = store;
  queue->refs = 1;
  store->refs++;
  pthread_mutex_lock(&store->lock);
  queue->next = store->queues;
  if (queue->next) queue->next->prev = queue;
  store->queues = queue;
  pthread_mutex_unlock(&store->lock);
  return queue;
}

void wqn_queue_unref(wqn_queue* queue) {
  if (--queue->refs) return;
  wqn_store* store = queue->store;
  pthread_mutex_lock(&store->lock);
  if (queue->prev)
    queue->prev->next = queue->next;
  else
    store->queues = queue->next;
  if (queue->next) queue->next->prev = queue->prev;
  pthread_mutex_unlock(&store->lock);
  /* No op uses it any more, so nothing waits here. */
  wq_queue* handle = atomic_exchange(&queue->handle, NULL);
  wq_queue_close(&handle);
  free(queue);
  wqn_store_unref(store);
}

/* Take the events of the completion queue until it is closed and empty. */
static void* poll_events(void* arg) {
  wqn_store* store = arg;
  wq_event events[EVENTS_AT_ONCE];
  for (;;) {
    size_t count = 0;
    const int32_t rc =
        wq_cq_poll(store->cq, events, EVENTS_AT_ONCE, sizeof events[0], -1, &count, NULL);
    if (rc < 0) break;
    wqn_op* first = NULL;
    wqn_op* last = NULL;
    for (size_t i = 0; i < count; i++) {
      wqn_op* op = (wqn_op*)(uintptr_t)events[i].user_data;
      op->event_code = events[i].code;
      if (!wqn_op_part(op, 1)) continue;
      op->next = NULL;
      if (last)
        last->next = op;
      else
        first = op;
      last = op;
    }
    if (first) wqn_env_done(store->env, first, last);
  }
  return NULL;
}

void wqn_do_store_open(wqn_op* op) {
  wqn_store* store = op->store;
  bool ok = true;
  const char* path = wqn_path(op, 0);
  const wq_store_options* options = wqn_image(op, wqn_arg(op, 2), LAYOUT_wq_store_options, &ok);
  if (!path || !ok) return;
  wq_store* handle = NULL;
  store->waits_in_call = options && (options->flags & WQ_OPEN_NO_THREADS);
  op->rc = wq_store_open(path, options, &handle, &op->err);
  /* There may be keys in it. */
  explicit_bzero(op->request + sizeof(wqn_frame), op->size - sizeof(wqn_frame));
  if (op->rc != WQ_OK) return;
  op->rc = wq_cq_open(handle, &store->cq, &op->err);
  if (op->rc == WQ_OK && wqn_thread_start(&store->poller, poll_events, store)) {
    wqn_refuse(op, WQ_E_NO_MEMORY, "open: no thread for the completion queue");
  }
  if (op->rc != WQ_OK) {
    wq_cq_close(&store->cq);
    wq_store_close(&handle);
    return;
  }
  atomic_store(&store->handle, handle);
}

void wqn_do_store_close(wqn_op* op) {
  wqn_store* store = op->store;
  wq_store* handle = atomic_exchange(&store->handle, NULL);
  op->rc = WQ_OK;
  if (!handle) return;
  /* What was begun gets its answer, and then those that wait are woken. */
  wq_store_sync(handle, NULL);
  wq_store_close(&handle);
  pthread_join(store->poller, NULL);
  wq_cq_close(&store->cq);
  pthread_mutex_lock(&store->lock);
  for (wqn_queue* queue = store->queues; queue; queue = queue->next) {
    wq_queue* closing = atomic_exchange(&queue->handle, NULL);
    wq_queue_close(&closing);
  }
  pthread_mutex_unlock(&store->lock);
}

void wqn_store_begin_close(wqn_store* store, wqn_op* op) {
  atomic_store(&store->closing, true);
  for (wqn_op* other = store->env->cancellable; other; other = other->cancel_next) {
    if (other->store == store) wq_cancel_fire(other->cancel);
  }
  wqn_frame_of(op)->code = OP_store_close;
  op->on_lane = true;
  op->store = store;
  store->refs++;
  if (!wqn_executor_push(&store->lane, op)) {
    /* It has no thread, so it was never opened. */
    wqn_do_store_close(op);
    wqn_env_done(store->env, op, op);
  }
  wqn_executor_stop(&store->lane);
}
