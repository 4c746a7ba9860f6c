/* wire.c: requests and answers. A request is a frame and, behind it, images of structs of wq.h in
 * which offsets from the first byte of the request stand for pointers, 0 for NULL; all that is
 * pointed to is in the request as well. Offsets are checked here before they become pointers, so a
 * malformed request is an error and nothing worse. Fields of the type wq_bytes and pointers to
 * structs are found by the tables that build.js makes from the header; others are named below.
 * An answer is made of images in the same way; its offsets count from the first byte of it. */
#include <stdlib.h>
#include <string.h>

#include "wqn.h"

/* ---- requests ---- */

int32_t wqn_refuse(wqn_op* op, int32_t code, const char* message) {
  op->rc = code;
  op->err = (wq_error)WQ_ERROR_INIT;
  op->err.code = code;
  if (wq_error_is_retryable(code)) op->err.flags |= WQ_ERROR_RETRYABLE;
  if (wq_error_maybe_committed(code)) op->err.flags |= WQ_ERROR_MAYBE_COMMITTED;
  if (wq_error_is_fatal(code)) op->err.flags |= WQ_ERROR_FATAL;
  strncpy(op->err.message, message, sizeof op->err.message - 1);
  return code;
}

static bool malformed(wqn_op* op) {
  wqn_refuse(op, WQ_E_INVALID, "request: malformed");
  return false;
}

wqn_frame* wqn_frame_of(wqn_op* op) {
  return (wqn_frame*)(void*)op->request;
}

uint64_t wqn_arg(wqn_op* op, int i) {
  return wqn_frame_of(op)->a[i];
}

static bool inside(const wqn_op* op, uint64_t offset, uint64_t len) {
  return offset >= sizeof(wqn_frame) && offset <= op->size && len <= op->size - offset;
}

bool wqn_bytes(wqn_op* op, int i, wq_bytes* bytes) {
  const uint64_t offset = wqn_arg(op, i);
  const uint64_t len = wqn_arg(op, i + 1);
  *bytes = (wq_bytes){NULL, 0};
  if (offset == 0 && len == 0) return true;
  if (!inside(op, offset, len)) return malformed(op);
  *bytes = (wq_bytes){op->request + offset, len};
  return true;
}

const char* wqn_path(wqn_op* op, int i) {
  wq_bytes path;
  if (!wqn_bytes(op, i, &path)) return NULL;
  /* JavaScript writes the NUL behind it and counts it. */
  if (path.len == 0 || memchr(path.data, 0, path.len) != (const char*)path.data + path.len - 1) {
    wqn_refuse(op, WQ_E_INVALID, "path: has a NUL in it");
    return NULL;
  }
  return path.data;
}

/* Turn the offset in *slot into a pointer to `n` elements of `size` bytes. */
static bool relocate(wqn_op* op, void* slot, uint64_t n, size_t size) {
  uint64_t offset;
  memcpy(&offset, slot, sizeof offset);
  void* target = NULL;
  if (offset != 0 || n != 0) {
    if (n > op->size || offset % 8 || !inside(op, offset, n * size)) return malformed(op);
    target = op->request + offset;
  }
  memcpy(slot, &target, sizeof target);
  return true;
}

static bool relocate_bytes(wqn_op* op, wq_bytes* bytes) {
  const uint64_t offset = (uint64_t)(uintptr_t)bytes->data;
  if (offset == 0 && bytes->len == 0) return true;
  if (!inside(op, offset, bytes->len)) return malformed(op);
  bytes->data = op->request + offset;
  return true;
}

static bool fix(wqn_op* op, void* image, int layout, int depth);

/* A pointer to structs: to one, or to as many as another field says. */
static bool fix_pointer(wqn_op* op, char* image, const wqn_field* field, int depth) {
  const size_t size = wqn_layouts[field->target].size;
  char* slot = image + field->offset;
  uint64_t n = 1;
  char* first;
  if (field->count >= 0) {
    memcpy(&n, image + field->count, sizeof n);
  } else {
    memcpy(&first, slot, sizeof first);
    if (!first) return true;
  }
  if (!relocate(op, slot, n, size)) return false;
  memcpy(&first, slot, sizeof first);
  for (uint64_t i = 0; i < n; i++) {
    if (!fix(op, first + i * size, field->target, depth + 1)) return false;
  }
  return true;
}

static bool fix_txn_queue(wqn_op* op, wq_txn_op* txn) {
  const uint64_t queue = (uint64_t)(uintptr_t)txn->queue; /* index + 1 in op->queues */
  if (queue > op->queues_count) return malformed(op);
  txn->queue = NULL;
  if (!queue) return true;
  txn->queue = atomic_load(&op->queues[queue - 1]->handle);
  if (!txn->queue) wqn_refuse(op, WQ_E_CLOSED, "queue: its handle is closed");
  return txn->queue != NULL;
}

/* Other pointers (callbacks, handles) are none that JavaScript can give. */
static void drop_pointer(void* slot, int layout, size_t offset) {
  if (layout == LAYOUT_wq_job_spec && offset == offsetof(wq_job_spec, backoff_list_ms)) return;
  if (layout == LAYOUT_wq_txn_op && offset == offsetof(wq_txn_op, queue)) return;
  memset(slot, 0, sizeof(void*));
}

/* What is called for: a transaction has a spec, that has a chain, that has specs with headers. */
#define DEPTH_MAX 5

static bool fix(wqn_op* op, void* image, int layout, int depth) {
  const wqn_layout* shape = &wqn_layouts[layout];
  if (depth > DEPTH_MAX) return malformed(op);
  for (uint32_t i = 0; i < shape->fields_count; i++) {
    const wqn_field* field = &shape->fields[i];
    void* at = (char*)image + field->offset;
    if (field->kind == KIND_BYTES && !relocate_bytes(op, at)) return false;
    if (field->kind != KIND_PTR) continue;
    if (field->target < 0)
      drop_pointer(at, layout, field->offset);
    else if (!fix_pointer(op, image, field, depth))
      return false;
  }
  switch (layout) {
    case LAYOUT_wq_job_spec: {
      wq_job_spec* spec = image;
      return relocate(op, &spec->backoff_list_ms, spec->backoff_count, sizeof(int64_t));
    }
    case LAYOUT_wq_txn_op:
      return fix_txn_queue(op, image);
    case LAYOUT_wq_dead_filter:
      ((wq_dead_filter*)image)->cancel = op->cancel;
      return true;
    default:
      return true;
  }
}

void* wqn_images(wqn_op* op, uint64_t offset, size_t n, int layout) {
  const size_t size = wqn_layouts[layout].size;
  if (n == 0 || n > op->size || offset % 8 || !inside(op, offset, n * size)) {
    malformed(op);
    return NULL;
  }
  char* first = op->request + offset;
  for (size_t i = 0; i < n; i++) {
    if (!fix(op, first + i * size, layout, 0)) return NULL;
  }
  return first;
}

void* wqn_image(wqn_op* op, uint64_t offset, int layout, bool* ok) {
  if (offset == 0) return NULL;
  void* image = wqn_images(op, offset, 1, layout);
  if (!image) *ok = false;
  return image;
}

/* ---- answers ---- */

static void* grow(wqn_buf* buf, size_t len) {
  const size_t padded = (len + 7) & ~(size_t)7;
  if (buf->failed) return NULL;
  if (padded > buf->cap - buf->len) {
    size_t cap = buf->cap ? buf->cap * 2 : 256;
    while (cap < buf->len + padded) cap *= 2;
    char* data = realloc(buf->data, cap);
    if (!data) {
      buf->failed = true;
      return NULL;
    }
    buf->data = data;
    buf->cap = cap;
  }
  char* at = buf->data + buf->len;
  if (padded > len) memset(at + len, 0, padded - len);
  buf->len += padded;
  return at;
}

void wqn_buf_free(wqn_buf* buf) {
  free(buf->data);
  *buf = (wqn_buf){0};
}

size_t wqn_put(wqn_buf* buf, const void* data, size_t len) {
  const size_t where = buf->len;
  void* at = grow(buf, len);
  if (at && len) memcpy(at, data, len);
  return where;
}

void wqn_put_u64(wqn_buf* buf, uint64_t value) {
  wqn_put(buf, &value, sizeof value);
}

void wqn_put_bytes(wqn_buf* buf, wq_bytes bytes) {
  wqn_put_u64(buf, bytes.len);
  wqn_put(buf, bytes.data, bytes.len);
}

/* Overwrite a pointer of an image in the buffer by the offset of what it points to. */
static void patch(wqn_buf* buf, size_t at, size_t target) {
  const uint64_t offset = target;
  if (!buf->failed) memcpy(buf->data + at, &offset, sizeof offset);
}

static void put_fields(wqn_buf* buf, int layout, size_t at, const void* image) {
  const wqn_layout* shape = &wqn_layouts[layout];
  for (uint32_t i = 0; i < shape->fields_count; i++) {
    const wqn_field* field = &shape->fields[i];
    if (field->kind != KIND_BYTES) continue;
    wq_bytes bytes;
    memcpy(&bytes, (const char*)image + field->offset, sizeof bytes);
    patch(buf, at + field->offset, wqn_put(buf, bytes.data, bytes.len));
  }
}

void wqn_put_images(wqn_buf* buf, int layout, const void* structs, size_t n) {
  const size_t size = wqn_layouts[layout].size;
  const size_t at = wqn_put(buf, structs, n * size);
  for (size_t i = 0; i < n; i++)
    put_fields(buf, layout, at + i * size, (const char*)structs + i * size);
}

static size_t put_headers(wqn_buf* buf, const wq_header* headers, size_t n) {
  const size_t at = wqn_put(buf, headers, n * sizeof headers[0]);
  for (size_t i = 0; i < n; i++) {
    const size_t one = at + i * sizeof headers[0];
    patch(buf, one + offsetof(wq_header, name),
          wqn_put(buf, headers[i].name.data, headers[i].name.len));
    patch(buf, one + offsetof(wq_header, value),
          wqn_put(buf, headers[i].value.data, headers[i].value.len));
  }
  return at;
}

/* The number of jobs; for each where its headers are; the images; all that they name. */
void wqn_put_batch(wqn_buf* buf, const wq_batch* batch) {
  const size_t n = wq_batch_count(batch);
  wqn_put_u64(buf, n);
  const size_t headers_at = buf->len;
  if (!grow(buf, n * sizeof(uint64_t))) return;
  const size_t jobs_at = buf->len;
  if (!grow(buf, n * sizeof(wq_job))) return;
  for (size_t i = 0; i < n; i++) {
    wq_job job = WQ_JOB_INIT;
    wq_batch_job(batch, i, &job);
    const size_t at = jobs_at + i * sizeof job;
    if (buf->failed) return;
    memcpy(buf->data + at, &job, sizeof job);
    put_fields(buf, LAYOUT_wq_job, at, &job);
    const size_t list_at = buf->len;
    if (!grow(buf, job.headers_count * sizeof(wq_header))) return;
    patch(buf, headers_at + i * sizeof(uint64_t), list_at);
    for (size_t h = 0; h < job.headers_count; h++) {
      wq_header header = {{NULL, 0}, {NULL, 0}};
      wq_batch_header(batch, i, h, &header);
      const size_t one = list_at + h * sizeof header;
      if (buf->failed) return;
      memcpy(buf->data + one, &header, sizeof header);
      patch(buf, one + offsetof(wq_header, name), wqn_put(buf, header.name.data, header.name.len));
      patch(buf, one + offsetof(wq_header, value),
            wqn_put(buf, header.value.data, header.value.len));
    }
  }
}

void wqn_put_crons(wqn_buf* buf, const wq_crons* crons) {
  const size_t n = wq_crons_count(crons);
  wqn_put_u64(buf, n);
  const size_t first = buf->len;
  if (!grow(buf, n * sizeof(wq_cron))) return;
  for (size_t i = 0; i < n; i++) {
    wq_cron cron = WQ_CRON_INIT;
    wq_crons_at(crons, i, &cron);
    const size_t at = first + i * sizeof cron;
    if (buf->failed) return;
    memcpy(buf->data + at, &cron, sizeof cron);
    put_fields(buf, LAYOUT_wq_cron, at, &cron);
    patch(buf, at + offsetof(wq_cron, headers), put_headers(buf, cron.headers, cron.headers_count));
    patch(buf, at + offsetof(wq_cron, backoff_list_ms),
          wqn_put(buf, cron.backoff_list_ms, cron.backoff_count * sizeof(int64_t)));
  }
}

void wqn_put_text(wqn_buf* buf, const wq_text* text) {
  wqn_put_bytes(buf, wq_text_bytes(text));
}
