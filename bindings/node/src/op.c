/* op.c: the life of an op, from the request to the answer, and the end of an environment.
 * An op is made and freed on the JavaScript thread. In between it belongs to the executor that has
 * it, and to the completion queue if it waits for an event; the last of the two hands it over to
 * env->done, from where module.c takes it. */
#include <stdlib.h>
#include <string.h>

#include "wqn.h"

static void (*const calls[OP_count])(wqn_op*) = {
#define WQN_OP(name, route) wqn_do_##name,
#include "ops.def"
#undef WQN_OP
};

wqn_op* wqn_op_new(wqn_env* env, size_t request_size, size_t queues_count) {
  const size_t size = request_size < sizeof(wqn_frame) ? sizeof(wqn_frame) : request_size;
  const size_t padded = (size + 15) & ~(size_t)15;
  wqn_op* op = malloc(sizeof *op + padded + queues_count * sizeof(wqn_queue*));
  if (!op) return NULL;
  memset(op, 0, sizeof *op);
  if (request_size < size) memset(op->request, 0, size);
  op->env = env;
  op->slot = WQN_NO_SLOT;
  op->size = size;
  op->queues = (wqn_queue**)(void*)(op->request + padded);
  op->queues_count = 0; /* the caller adds them */
  atomic_init(&op->parts, 2);
  op->err.struct_size = sizeof op->err;
  op->call.struct_size = sizeof op->call;
  return op;
}

void wqn_op_free(wqn_op* op) {
  if (op->cancel) {
    if (op->cancel_prev)
      op->cancel_prev->cancel_next = op->cancel_next;
    else
      op->env->cancellable = op->cancel_next;
    if (op->cancel_next) op->cancel_next->cancel_prev = op->cancel_prev;
    wq_cancel_free(&op->cancel); /* its call has returned: no wait */
  }
  for (size_t i = 0; i < op->queues_count; i++) wqn_queue_unref(op->queues[i]);
  if (op->store) wqn_store_unref(op->store);
  free(op->out.data);
  free(op);
}

wqn_op* wqn_op_part(wqn_op* op, int parts) {
  if (atomic_fetch_sub(&op->parts, parts) != parts) return NULL;
  if (op->event_code != WQ_OK)
    wqn_refuse(op, op->event_code, wq_strerror(op->event_code));
  else if (op->out.failed)
    wqn_refuse(op, WQ_E_NO_MEMORY, "the call was made, but there is no memory for its answer");
  return op;
}

static bool take_handles(wqn_op* op) {
  if (op->store) {
    op->s = atomic_load(&op->store->handle);
    if (!op->s) {
      wqn_refuse(op, WQ_E_CLOSED, "store: it is closed");
      return false;
    }
  }
  if (op->queues_count) {
    op->q = atomic_load(&op->queues[0]->handle);
    if (!op->q && wqn_frame_of(op)->code != OP_queue_open) {
      wqn_refuse(op, WQ_E_CLOSED, "queue: its handle is closed");
      return false;
    }
  }
  return true;
}

void wqn_op_run(wqn_op* op) {
  const wqn_frame* frame = wqn_frame_of(op);
  const bool opens = frame->code == OP_store_open || frame->code == OP_store_close;
  op->call.durability = frame->durability;
  op->call.user_data = (uint64_t)(uintptr_t)op;
  if (opens || take_handles(op)) {
    if (op->on_lane && !opens && !op->store->waits_in_call) op->call.cq = op->store->cq;
    calls[frame->code](op);
  }
  if (op->rc == WQ_CANCELLED && op->store && atomic_load(&op->store->closing))
    wqn_refuse(op, WQ_E_CLOSED, "store: it is closed");
  const bool event_follows = op->call.cq && op->call.lsn;
  if (wqn_op_part(op, event_follows ? 1 : 2)) wqn_env_done(op->env, op, op);
}

void wqn_env_done(wqn_env* env, wqn_op* first, wqn_op* last) {
  pthread_mutex_lock(&env->lock);
  last->next = NULL;
  if (env->done_tail)
    env->done_tail->next = first;
  else
    env->done_head = first;
  env->done_tail = last;
  if (!env->scheduled && !env->closing) {
    env->scheduled = true;
    napi_call_threadsafe_function(env->notify, NULL, napi_tsfn_nonblocking);
  }
  pthread_mutex_unlock(&env->lock);
}

void wqn_env_teardown(wqn_env* env) {
  if (env->torn_down) return;
  env->torn_down = true;
  pthread_mutex_lock(&env->lock);
  env->closing = true;
  pthread_mutex_unlock(&env->lock);
  for (wqn_op* op = env->cancellable; op; op = op->cancel_next) wq_cancel_fire(op->cancel);
  for (wqn_store* store = env->stores; store; store = store->next) {
    wqn_op* op = atomic_load(&store->closing) ? NULL : wqn_op_new(env, 0, 0);
    if (op) wqn_store_begin_close(store, op);
  }
  for (wqn_store* store = env->stores; store; store = store->next) wqn_executor_join(&store->lane);
  wqn_executor_stop(&env->pool);
  wqn_executor_stop(&env->own);
  wqn_executor_join(&env->pool);
  wqn_executor_join(&env->own);
  while (env->done_head) {
    wqn_op* op = env->done_head;
    env->done_head = op->next;
    wqn_op_free(op);
  }
  env->done_tail = NULL;
}

void wqn_env_unref(wqn_env* env) {
  if (--env->refs) return;
  wqn_executor_free(&env->pool);
  wqn_executor_free(&env->own);
  pthread_mutex_destroy(&env->lock);
  free(env);
}
