/* module.c: what JavaScript sees of the addon: submit, cancel, two kinds of handles and the tables
 * of wq.h. Everything here runs on the JavaScript thread and does not wait, but for the end of an
 * environment, which closes what is open.
 * The addon is context-aware: all state hangs on the environment. Its end is told by a cleanup
 * hook, and for the main thread, where process.exit runs no hooks, by end(), which lib/request.js
 * calls from the event `exit`: the threads must be gone before the libraries below are taken down.
 */
#include <stdlib.h>
#include <string.h>

#include "wqn.h"

#define DONE_AT_ONCE 512 /* promises answered before the event loop gets its turn */
#define INLINE_MAX 1024  /* longer answers get a buffer of their own */
#define OWN_THREADS_MAX 4096
#define POOL_THREADS 4

static const napi_type_tag store_tag = {0x77712d73746f7265, 0x6e6f64652d6e6170};
static const napi_type_tag queue_tag = {0x77712d7175657565, 0x6e6f64652d6e6170};

enum route { LANE, POOL, OWN, WAIT };

static const struct {
  const char* name;
  enum route route;
} ops[OP_count] = {
#define WQN_OP(name, route) {#name, route},
#include "ops.def"
#undef WQN_OP
};

static napi_value fail(napi_env napi, const char* message) {
  bool pending = false;
  napi_is_exception_pending(napi, &pending);
  if (!pending) napi_throw_type_error(napi, "ERR_WQ_ADDON", message);
  return NULL;
}

/* ---- answers ---- */

/* How an op is told to JavaScript: this, the error if code is below 0, the answer. */
typedef struct record {
  uint32_t slot;
  int32_t code;
  uint64_t lsn;
  uint32_t error_len; /* with its padding; of the error below */
  uint32_t len;       /* of an answer that is in line */
  int32_t extra;      /* index of the buffer with the answer; -1: it is in line */
  uint32_t reserved;
} record;

typedef struct record_error {
  int32_t os_errno;
  uint32_t flags;
  uint64_t offset;
  uint64_t message_len;
} record_error;

/* The answer as a buffer of its own: its index; -1 if there is no memory for it. */
static int32_t add_extra(napi_env napi, napi_value extras, uint32_t* count, const wqn_buf* out) {
  napi_value buffer;
  if (napi_create_buffer_copy(napi, out->len, out->data, NULL, &buffer) != napi_ok ||
      napi_set_element(napi, extras, *count, buffer) != napi_ok) {
    napi_value exception;
    napi_get_and_clear_last_exception(napi, &exception);
    return -1;
  }
  return (int32_t)(*count)++;
}

static void tell(napi_env napi, wqn_buf* buf, napi_value extras, uint32_t* extras_count,
                 wqn_op* op) {
  record head = {.slot = op->slot, .lsn = op->call.lsn, .extra = -1};
  if (op->out.len && (op->own_buffer || op->out.len > INLINE_MAX)) {
    head.extra = add_extra(napi, extras, extras_count, &op->out);
    if (head.extra < 0) wqn_refuse(op, WQ_E_NO_MEMORY, "there is no memory for the answer");
  } else {
    head.len = (uint32_t)op->out.len;
  }
  record_error error = {op->err.os_errno, op->err.flags, op->err.offset, 0};
  head.code = op->rc;
  if (op->rc < 0) {
    error.message_len = strnlen(op->err.message, sizeof op->err.message);
    head.error_len = (uint32_t)(sizeof error + ((error.message_len + 7) & ~(uint64_t)7));
  }
  wqn_put(buf, &head, sizeof head);
  if (op->rc < 0) {
    wqn_put(buf, &error, sizeof error);
    wqn_put(buf, op->err.message, error.message_len);
  }
  if (head.len) wqn_put(buf, op->out.data, op->out.len);
}

static void call_back(napi_env napi, wqn_env* env, const wqn_buf* buf, napi_value extras,
                      bool more) {
  napi_value callback;
  napi_value receiver;
  napi_value records;
  napi_value more_value;
  if (buf->failed) {
    napi_throw_error(napi, "ERR_WQ_ADDON", "no memory for answers");
    return;
  }
  if (napi_get_reference_value(napi, env->on_done, &callback) != napi_ok ||
      napi_get_undefined(napi, &receiver) != napi_ok ||
      napi_get_boolean(napi, more, &more_value) != napi_ok ||
      napi_create_buffer_copy(napi, buf->len, buf->data, NULL, &records) != napi_ok)
    return;
  const napi_value args[] = {records, extras, more_value};
  napi_call_function(napi, receiver, callback, 3, args, NULL);
}

/* Take some ops that are done. `scheduled` stays while there are more: JavaScript asks for them by
 * answer() when the event loop has turned, so that much at once does not hold it up. */
static wqn_op* take_done(wqn_env* env, bool* more) {
  pthread_mutex_lock(&env->lock);
  wqn_op* first = env->done_head;
  wqn_op* last = first;
  for (int i = 1; last && last->next && i < DONE_AT_ONCE; i++) last = last->next;
  env->done_head = last ? last->next : NULL;
  if (!env->done_head) env->done_tail = NULL;
  if (last) last->next = NULL;
  *more = env->done_head != NULL;
  env->scheduled = *more;
  pthread_mutex_unlock(&env->lock);
  return first;
}

static void answer_some(napi_env napi, wqn_env* env) {
  wqn_buf buf = {0};
  napi_value extras;
  uint32_t extras_count = 0;
  bool more = false;
  if (napi_create_array(napi, &extras) != napi_ok) return;
  wqn_op* op = take_done(env, &more);
  while (op) {
    wqn_op* next = op->next;
    if (op->slot != WQN_NO_SLOT) {
      tell(napi, &buf, extras, &extras_count, op);
      if (--env->pending == 0) napi_unref_threadsafe_function(napi, env->notify);
    }
    wqn_op_free(op);
    op = next;
  }
  if (buf.len || more) call_back(napi, env, &buf, extras, more);
  free(buf.data);
}

/* Called by Node on the JavaScript thread after env->notify. */
static void notified(napi_env napi, napi_value unused, void* context, void* data) {
  (void)unused;
  (void)data;
  if (napi) answer_some(napi, context);
}

/* answer(): the next answers, by onDone. */
static napi_value answer(napi_env napi, napi_callback_info info) {
  void* data = NULL;
  napi_get_cb_info(napi, info, NULL, NULL, NULL, &data);
  wqn_env* env = data;
  if (!env->torn_down) answer_some(napi, env);
  return NULL;
}

/* ---- handles ---- */

static void* handle_of(napi_env napi, napi_value value, const napi_type_tag* tag) {
  bool right = false;
  void* handle = NULL;
  napi_valuetype type;
  if (napi_typeof(napi, value, &type) != napi_ok || type != napi_object) return NULL;
  if (napi_check_object_type_tag(napi, value, tag, &right) != napi_ok || !right) return NULL;
  return napi_unwrap(napi, value, &handle) == napi_ok ? handle : NULL;
}

static void finalize_store(napi_env napi, void* data, void* hint) {
  (void)napi;
  (void)hint;
  wqn_store* store = data;
  if (!atomic_load(&store->closing) && !store->env->torn_down) {
    wqn_op* op = wqn_op_new(store->env, 0, 0);
    if (op) wqn_store_begin_close(store, op);
  }
  wqn_store_unref(store);
}

static void finalize_queue(napi_env napi, void* data, void* hint) {
  (void)napi;
  (void)hint;
  wqn_queue_unref(data);
}

static napi_value wrap(napi_env napi, void* handle, napi_finalize finalize,
                       const napi_type_tag* tag) {
  napi_value object;
  if (napi_create_object(napi, &object) != napi_ok ||
      napi_type_tag_object(napi, object, tag) != napi_ok ||
      napi_wrap(napi, object, handle, finalize, NULL, NULL) != napi_ok)
    return NULL;
  return object;
}

static napi_value new_store(napi_env napi, napi_callback_info info) {
  void* data = NULL;
  napi_get_cb_info(napi, info, NULL, NULL, NULL, &data);
  wqn_store* store = wqn_store_new(data);
  napi_value object = store ? wrap(napi, store, finalize_store, &store_tag) : NULL;
  if (object) return object;
  if (store) wqn_store_unref(store);
  return fail(napi, "no memory for a store");
}

static napi_value new_queue(napi_env napi, napi_callback_info info) {
  napi_value args[1];
  size_t argc = 1;
  napi_get_cb_info(napi, info, &argc, args, NULL, NULL);
  wqn_store* store = argc == 1 ? handle_of(napi, args[0], &store_tag) : NULL;
  if (!store) return fail(napi, "newQueue: not a store");
  wqn_queue* queue = wqn_queue_new(store);
  napi_value object = queue ? wrap(napi, queue, finalize_queue, &queue_tag) : NULL;
  if (object) return object;
  if (queue) wqn_queue_unref(queue);
  return fail(napi, "no memory for a queue");
}

/* ---- submit ---- */

static bool add_queue(napi_env napi, wqn_op* op, napi_value value) {
  wqn_queue* queue = handle_of(napi, value, &queue_tag);
  if (!queue || (op->store && queue->store != op->store)) return false;
  queue->refs++;
  op->queues[op->queues_count++] = queue;
  return true;
}

static bool add_queues(napi_env napi, wqn_op* op, napi_value value, bool is_array, uint32_t n) {
  if (!is_array) return n == 0 || add_queue(napi, op, value);
  for (uint32_t i = 0; i < n; i++) {
    napi_value element;
    if (napi_get_element(napi, value, i, &element) != napi_ok) return false;
    if (!add_queue(napi, op, element)) return false;
  }
  return true;
}

static void make_cancellable(wqn_op* op) {
  wqn_env* env = op->env;
  if (wq_cancel_new(&op->cancel, NULL) != WQ_OK) return;
  op->cancel_next = env->cancellable;
  if (op->cancel_next) op->cancel_next->cancel_prev = op;
  env->cancellable = op;
}

/* Give the op to who makes its call. It is answered in any case. */
static void dispatch(wqn_op* op) {
  wqn_env* env = op->env;
  const uint32_t code = wqn_frame_of(op)->code;
  enum route route = ops[code].route;
  if (route == WAIT) route = wqn_arg(op, 5) ? OWN : code == OP_lease ? LANE : POOL;
  if (code == OP_store_close && op->store && !atomic_load(&op->store->closing)) {
    wqn_store* store = op->store;
    op->store = NULL; /* it is taken anew */
    wqn_store_begin_close(store, op);
    wqn_store_unref(store);
    return;
  }
  const bool closed = op->store && atomic_load(&op->store->closing);
  bool taken = false;
  if (!closed && route == OWN) {
    make_cancellable(op);
    taken = wqn_executor_push(&env->own, op);
  } else if (!closed && route == LANE && op->store) {
    op->on_lane = true;
    taken = wqn_executor_push(&op->store->lane, op);
  } else if (!closed) {
    taken = wqn_executor_push(&env->pool, op);
  }
  if (taken) return;
  if (closed)
    wqn_refuse(op, WQ_E_CLOSED, "store: it is closed");
  else
    wqn_refuse(op, WQ_E_NO_MEMORY, "the system gives no thread for the call");
  wqn_env_done(env, op, op);
}

typedef struct submission {
  wqn_store* store;
  void* request;
  size_t size;
  uint32_t slot;
  uint32_t queues_count;
  bool is_array;
} submission;

static bool read_submission(napi_env napi, const napi_value* args, submission* in) {
  napi_valuetype type;
  void* bytes = NULL;
  size_t available = 0;
  uint32_t size = 0;
  if (napi_typeof(napi, args[0], &type) != napi_ok) return false;
  if (type != napi_undefined && !(in->store = handle_of(napi, args[0], &store_tag))) return false;
  if (napi_typeof(napi, args[1], &type) != napi_ok) return false;
  if (type != napi_undefined) {
    in->queues_count = 1;
    if (napi_is_array(napi, args[1], &in->is_array) != napi_ok) return false;
    if (in->is_array && napi_get_array_length(napi, args[1], &in->queues_count) != napi_ok)
      return false;
  }
  bool is_buffer = false;
  if (napi_is_buffer(napi, args[2], &is_buffer) != napi_ok || !is_buffer) return false;
  if (napi_get_buffer_info(napi, args[2], &bytes, &available) != napi_ok) return false;
  if (napi_get_value_uint32(napi, args[3], &size) != napi_ok) return false;
  if (napi_get_value_uint32(napi, args[4], &in->slot) != napi_ok) return false;
  if (in->slot == WQN_NO_SLOT) return false;
  in->request = bytes;
  in->size = size;
  return size >= sizeof(wqn_frame) && size <= available;
}

/* submit(store or undefined, queue, array of queues or undefined, request, its length, slot) */
static napi_value submit(napi_env napi, napi_callback_info info) {
  napi_value args[5];
  size_t argc = 5;
  void* data = NULL;
  submission in = {0};
  napi_get_cb_info(napi, info, &argc, args, NULL, &data);
  wqn_env* env = data;
  if (argc != 5 || !read_submission(napi, args, &in)) return fail(napi, "submit: arguments");
  if (env->torn_down) return fail(napi, "submit: the environment has ended");
  wqn_op* op = wqn_op_new(env, in.size, in.queues_count);
  if (!op) return fail(napi, "submit: no memory");
  memcpy(op->request, in.request, in.size);
  if (in.store) {
    op->store = in.store;
    in.store->refs++;
  }
  if (wqn_frame_of(op)->code >= OP_count ||
      !add_queues(napi, op, args[1], in.is_array, in.queues_count)) {
    wqn_op_free(op);
    return fail(napi, "submit: operation or queues");
  }
  op->slot = in.slot;
  if (env->pending++ == 0) napi_ref_threadsafe_function(napi, env->notify);
  dispatch(op);
  return NULL;
}

/* cancel(slot): fire the token of the op, if it has one and is not done. */
static napi_value cancel(napi_env napi, napi_callback_info info) {
  napi_value args[1];
  size_t argc = 1;
  void* data = NULL;
  uint32_t slot = 0;
  napi_get_cb_info(napi, info, &argc, args, NULL, &data);
  wqn_env* env = data;
  if (argc != 1 || napi_get_value_uint32(napi, args[0], &slot) != napi_ok)
    return fail(napi, "cancel: arguments");
  for (wqn_op* op = env->cancellable; op; op = op->cancel_next) {
    if (op->slot == slot) wq_cancel_fire(op->cancel);
  }
  return NULL;
}

/* ---- tables ---- */

static void set_number(napi_env napi, napi_value object, const char* name, double value) {
  napi_value number;
  if (napi_create_double(napi, value, &number) == napi_ok)
    napi_set_named_property(napi, object, name, number);
}

static void set_string(napi_env napi, napi_value object, const char* name, const char* value) {
  napi_value string;
  if (napi_create_string_utf8(napi, value, NAPI_AUTO_LENGTH, &string) == napi_ok)
    napi_set_named_property(napi, object, name, string);
}

static napi_value layout_table(napi_env napi) {
  napi_value table;
  napi_create_object(napi, &table);
  for (int i = 0; i < LAYOUT_count; i++) {
    const wqn_layout* shape = &wqn_layouts[i];
    napi_value fields;
    napi_value one;
    napi_create_object(napi, &one);
    napi_create_object(napi, &fields);
    set_number(napi, one, "size", shape->size);
    for (uint32_t f = 0; f < shape->fields_count; f++) {
      napi_value field;
      napi_create_object(napi, &field);
      set_number(napi, field, "offset", shape->fields[f].offset);
      set_number(napi, field, "size", shape->fields[f].size);
      set_number(napi, field, "kind", shape->fields[f].kind);
      set_number(napi, field, "count", shape->fields[f].count);
      if (shape->fields[f].target >= 0)
        set_string(napi, field, "target", wqn_layouts[shape->fields[f].target].name);
      napi_set_named_property(napi, fields, shape->fields[f].name, field);
    }
    napi_set_named_property(napi, one, "fields", fields);
    napi_set_named_property(napi, table, shape->name, one);
  }
  return table;
}

static napi_value code_table(napi_env napi) {
  napi_value table;
  napi_create_object(napi, &table);
  for (int i = 0; i < OP_count; i++) set_number(napi, table, ops[i].name, i);
  return table;
}

static napi_value constant_table(napi_env napi) {
  napi_value table;
  napi_create_object(napi, &table);
  for (size_t i = 0; i < wqn_constants_count; i++)
    set_number(napi, table, wqn_constants[i].name, (double)wqn_constants[i].value);
  return table;
}

/* errorInfo(code): [name, text, flags], as the library has it. */
static napi_value error_info(napi_env napi, napi_callback_info info) {
  napi_value args[1];
  size_t argc = 1;
  int32_t code = 0;
  napi_value result;
  napi_value value;
  napi_get_cb_info(napi, info, &argc, args, NULL, NULL);
  if (argc != 1 || napi_get_value_int32(napi, args[0], &code) != napi_ok)
    return fail(napi, "errorInfo: arguments");
  const uint32_t flags = (wq_error_is_retryable(code) ? WQ_ERROR_RETRYABLE : 0) |
                         (wq_error_maybe_committed(code) ? WQ_ERROR_MAYBE_COMMITTED : 0) |
                         (wq_error_is_fatal(code) ? WQ_ERROR_FATAL : 0);
  if (napi_create_array(napi, &result) != napi_ok) return NULL;
  napi_create_string_utf8(napi, wq_error_name(code), NAPI_AUTO_LENGTH, &value);
  napi_set_element(napi, result, 0, value);
  napi_create_string_utf8(napi, wq_strerror(code), NAPI_AUTO_LENGTH, &value);
  napi_set_element(napi, result, 1, value);
  napi_create_uint32(napi, flags, &value);
  napi_set_element(napi, result, 2, value);
  return result;
}

/* ---- environments ---- */

/* Before the hook of the threadsafe function: from here on nobody calls it. */
static void cleanup(void* data) {
  wqn_env* env = data;
  wqn_env_teardown(env);
  napi_release_threadsafe_function(env->notify, napi_tsfn_abort);
  wqn_env_unref(env);
}

static wqn_env* env_new(napi_env napi, napi_value on_done) {
  wqn_env* env = calloc(1, sizeof *env);
  if (!env) return NULL;
  napi_value name;
  env->refs = 1;
  pthread_mutex_init(&env->lock, NULL);
  wqn_executor_init(&env->pool, POOL_THREADS, POOL_THREADS);
  wqn_executor_init(&env->own, OWN_THREADS_MAX, POOL_THREADS);
  if (napi_create_reference(napi, on_done, 1, &env->on_done) != napi_ok ||
      napi_create_string_utf8(napi, "wq", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_threadsafe_function(napi, NULL, NULL, name, 0, 1, NULL, NULL, env, notified,
                                      &env->notify) != napi_ok) {
    wqn_env_unref(env);
    return NULL;
  }
  napi_unref_threadsafe_function(napi, env->notify);
  napi_add_env_cleanup_hook(napi, cleanup, env);
  return env;
}

/* end(): close what is open and join all threads. Nothing can be submitted any more. */
static napi_value end(napi_env napi, napi_callback_info info) {
  void* data = NULL;
  napi_get_cb_info(napi, info, NULL, NULL, NULL, &data);
  wqn_env_teardown(data);
  return NULL;
}

/* start(onDone): the calls, for this environment. onDone(records, buffers, more) gets the answers;
 * if there are more it must call answer() soon. */
static napi_value start(napi_env napi, napi_callback_info info) {
  napi_value args[1];
  size_t argc = 1;
  napi_value result;
  napi_valuetype type;
  napi_get_cb_info(napi, info, &argc, args, NULL, NULL);
  if (argc != 1 || napi_typeof(napi, args[0], &type) != napi_ok || type != napi_function)
    return fail(napi, "start: arguments");
  wqn_env* env = env_new(napi, args[0]);
  if (!env) return fail(napi, "start: no memory");
  const napi_property_descriptor properties[] = {
      {"submit", NULL, submit, NULL, NULL, NULL, napi_enumerable, env},
      {"cancel", NULL, cancel, NULL, NULL, NULL, napi_enumerable, env},
      {"answer", NULL, answer, NULL, NULL, NULL, napi_enumerable, env},
      {"end", NULL, end, NULL, NULL, NULL, napi_enumerable, env},
      {"newStore", NULL, new_store, NULL, NULL, NULL, napi_enumerable, env},
      {"newQueue", NULL, new_queue, NULL, NULL, NULL, napi_enumerable, env},
  };
  napi_create_object(napi, &result);
  napi_define_properties(napi, result, sizeof properties / sizeof properties[0], properties);
  return result;
}

NAPI_MODULE_INIT() {
  const napi_property_descriptor properties[] = {
      {"start", NULL, start, NULL, NULL, NULL, napi_enumerable, NULL},
      {"errorInfo", NULL, error_info, NULL, NULL, NULL, napi_enumerable, NULL},
      {"layouts", NULL, NULL, NULL, NULL, layout_table(env), napi_enumerable, NULL},
      {"ops", NULL, NULL, NULL, NULL, code_table(env), napi_enumerable, NULL},
      {"constants", NULL, NULL, NULL, NULL, constant_table(env), napi_enumerable, NULL},
  };
  napi_define_properties(env, exports, sizeof properties / sizeof properties[0], properties);
  set_number(env, exports, "protocol", WQN_PROTOCOL);
  set_number(env, exports, "libraryVersion", wq_version());
  set_number(env, exports, "headerVersion",
             (double)(WQ_ABI_VERSION << 8 | (uint32_t)WQ_VERSION_PATCH));
  set_string(env, exports, "buildInfo", wq_build_info());
  set_number(env, exports, "formatVersion", wq_format_version());
  return exports;
}
