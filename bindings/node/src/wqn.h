/* wqn.h: the inside of the Node addon. It is a thin pipe: JavaScript writes a request (the images
 * of the structs of wq.h, with offsets where C has pointers), a thread makes the call, and the
 * answer goes back the same way. What the calls are called in JavaScript is decided in lib/.
 *
 * Threads. The JavaScript thread only copies requests and answers and never waits. Calls are made
 * by executors (threads.c): each store has a lane, one thread that begins the changes in the order
 * in which they were asked for and lets a completion queue tell when they are durable; reads share
 * a few threads; what may wait for long (a lease with a wait, a backup) has a thread to itself. A
 * poller per store takes the events of the completion queue. The pool of libuv is not used.
 *
 * Ownership. Stores, queues and ops are counted and freed on the JavaScript thread, or by the
 * teardown, which joins all threads first. An op holds its store and its queues. */
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wq.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || UINTPTR_MAX != UINT64_MAX
#error "requests are images of the structs of a 64-bit little-endian machine"
#endif

/* Agreement of this file and lib/native.js. */
#define WQN_PROTOCOL 1

enum wqn_op_code {
#define WQN_OP(name, route) OP_##name,
#include "ops.def"
#undef WQN_OP
  OP_count
};

/* ---- layouts: build.js makes the tables from wq.h ---- */

enum wqn_kind {
  KIND_U32,
  KIND_I32,
  KIND_U64,
  KIND_I64,
  KIND_F64,
  KIND_BYTES,
  KIND_CHARS,
  KIND_I64S,
  KIND_PTR
};

typedef struct wqn_field {
  const char* name;
  uint32_t offset;
  uint32_t size; /* of the whole field */
  enum wqn_kind kind;
  int target; /* a pointer to structs: their layout; else -1 */
  int count;  /* offset of their number, a size_t; -1: it is a pointer to one, or none */
} wqn_field;

typedef struct wqn_layout {
  const char* name;
  uint32_t size;
  uint32_t fields_count;
  const wqn_field* fields;
} wqn_layout;

typedef struct wqn_constant {
  const char* name;
  int64_t value;
} wqn_constant;

#include "wqn_layout_ids.h" /* enum: LAYOUT_wq_job_spec, ..., LAYOUT_count */

extern const wqn_layout wqn_layouts[];
extern const wqn_constant wqn_constants[];
extern const size_t wqn_constants_count;

/* ---- requests and answers ---- */

/* How a request begins. Offsets count from its first byte; 0 is NULL. */
typedef struct wqn_frame {
  uint32_t code;       /* OP_... */
  uint32_t durability; /* 0: the default */
  uint64_t a[6];       /* arguments, as ops_*.c reads them */
} wqn_frame;

typedef struct wqn_buf {
  char* data;
  size_t len, cap;
  bool failed; /* no memory: the answer becomes WQ_E_NO_MEMORY */
} wqn_buf;

typedef struct wqn_env wqn_env;
typedef struct wqn_op wqn_op;
typedef struct wqn_thread wqn_thread;

typedef struct wqn_executor {
  pthread_mutex_t lock; /* guards all below */
  pthread_cond_t wake;
  wqn_op *head, *tail;
  unsigned queued, idle, live;
  unsigned max, keep; /* threads at most; idle ones that stay */
  bool stop;          /* threads end when nothing is queued */
  wqn_thread* threads;
} wqn_executor;

typedef struct wqn_queue {
  struct wqn_store* store;
  _Atomic(wq_queue*) handle;
  unsigned refs;
  struct wqn_queue *prev, *next; /* in store->queues, guarded by store->lock */
} wqn_queue;

typedef struct wqn_store {
  wqn_env* env;
  _Atomic(wq_store*) handle; /* NULL: not yet open, or closed */
  wq_cq* cq;
  pthread_t poller;
  wqn_executor lane;
  bool
      waits_in_call; /* a store without threads: a sleeping poll would not flush what comes later */
  atomic_bool closing; /* the close is queued: no op comes behind it */
  unsigned refs;
  pthread_mutex_t lock;
  wqn_queue* queues;
  struct wqn_store *prev, *next; /* in env->stores */
} wqn_store;

struct wqn_op {
  wqn_op* next; /* in an executor, or in env->done */
  wqn_env* env;
  wqn_store* store;   /* NULL: a call without a store */
  wqn_queue** queues; /* behind the request */
  size_t queues_count;
  uint32_t slot; /* of the promise; WQN_NO_SLOT: nobody waits */
  int32_t rc;
  int32_t event_code;                /* of its event in the completion queue */
  atomic_int parts;                  /* what must happen before it is done: the call, the event */
  wq_cancel* cancel;                 /* of those that may wait */
  wqn_op *cancel_prev, *cancel_next; /* in env->cancellable, by the JavaScript thread */
  bool on_lane;
  bool own_buffer; /* the answer goes into a buffer of its own */
  wq_store* s;     /* what the handles were when the call began */
  wq_queue* q;
  wq_call call;
  wq_error err;
  wqn_buf out;
  size_t size;
  _Alignas(16) char request[];
};
#define WQN_NO_SLOT UINT32_MAX

struct wqn_env {
  napi_threadsafe_function notify;
  napi_ref on_done;
  pthread_mutex_t lock; /* guards done, scheduled, closing */
  wqn_op *done_head, *done_tail;
  bool scheduled; /* notify was called and has not run yet */
  bool closing;   /* notify may not be called any more */
  size_t pending; /* ops with a promise. From here on: JavaScript thread only */
  bool torn_down;
  unsigned refs;
  wqn_op* cancellable;
  wqn_store* stores;
  wqn_executor pool, own;
};

/* threads.c */
void wqn_executor_init(wqn_executor* ex, unsigned max, unsigned keep);
/* False: no thread to be had, the op was not taken. */
bool wqn_executor_push(wqn_executor* ex, wqn_op* op);
/* No op may be pushed any more; the threads end behind the last one. */
void wqn_executor_stop(wqn_executor* ex);
void wqn_executor_join(wqn_executor* ex);
void wqn_executor_free(wqn_executor* ex); /* after the join */
/* With all signals blocked: they are for the threads of Node. */
int wqn_thread_start(pthread_t* thread, void* (*run)(void*), void* arg);

/* store.c: life of stores and queues */
wqn_store* wqn_store_new(wqn_env* env);
void wqn_store_unref(wqn_store* store);
wqn_queue* wqn_queue_new(wqn_store* store);
void wqn_queue_unref(wqn_queue* queue);
/* Queue the close behind all that was asked for; no op comes later. */
void wqn_store_begin_close(wqn_store* store, wqn_op* op);

/* op.c */
wqn_op* wqn_op_new(wqn_env* env, size_t request_size, size_t queues_count);
void wqn_op_free(wqn_op* op);
/* Make the call; on the thread of an executor. */
void wqn_op_run(wqn_op* op);
/* One of op->parts has happened. Returns the op if that was the last. */
wqn_op* wqn_op_part(wqn_op* op, int parts);
/* Hand over a list of ops that are done, linked by next. */
void wqn_env_done(wqn_env* env, wqn_op* first, wqn_op* last);
/* Close all stores and join all threads. */
void wqn_env_teardown(wqn_env* env);
void wqn_env_unref(wqn_env* env);

/* wire.c: requests. All set op->err and return NULL or false when the request is malformed. */
int32_t wqn_refuse(wqn_op* op, int32_t code, const char* message);
wqn_frame* wqn_frame_of(wqn_op* op);
uint64_t wqn_arg(wqn_op* op, int i);
bool wqn_bytes(wqn_op* op, int i, wq_bytes* bytes); /* from the arguments i (offset), i + 1 */
const char* wqn_path(wqn_op* op, int i);            /* the same, as a C string */
/* An array of n structs at `offset`, its offsets made pointers. n is 1 or more. */
void* wqn_images(wqn_op* op, uint64_t offset, size_t n, int layout);
/* The same of one struct; offset 0 is NULL with *ok kept. */
void* wqn_image(wqn_op* op, uint64_t offset, int layout, bool* ok);

/* wire.c: answers */
void wqn_buf_free(wqn_buf* buf);
size_t wqn_put(wqn_buf* buf, const void* data, size_t len); /* returns where; aligned to 8 */
void wqn_put_u64(wqn_buf* buf, uint64_t value);
void wqn_put_bytes(wqn_buf* buf, wq_bytes bytes); /* length, data */
/* The images of n structs, one behind the other, then their bytes. */
void wqn_put_images(wqn_buf* buf, int layout, const void* structs, size_t n);
void wqn_put_batch(wqn_buf* buf, const wq_batch* batch);
void wqn_put_crons(wqn_buf* buf, const wq_crons* crons);
void wqn_put_text(wqn_buf* buf, const wq_text* text);

/* ops_*.c: one function for each operation; it sets op->rc. */
#define WQN_OP(name, route) void wqn_do_##name(wqn_op* op);
#include "ops.def"
#undef WQN_OP
