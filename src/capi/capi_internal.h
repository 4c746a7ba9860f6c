// What the files of src/capi share: the structs behind opaque handles, and the ways into a call.
//
// Lifetime: every handle but a batch, a list and a cancel token holds a reference to the StoreCore
// of its store. wq_store_close closes the engine, which makes every later call CLOSED; the closed
// engine object goes when the last handle does. So handles may be closed in any order.
//
// Thread model: any thread; see handle.h for how closing and calling are kept apart. Lock order: an
// Interrupts mutex, then CancelToken and what lies below it; the pools' mutexes are leaves.
#pragma once

#include <wq.h>

#include <atomic>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "capi/boundary.h"
#include "capi/handle.h"
#include "capi/sized.h"
#include "engine/engine.h"
#include "io/io.h"

namespace wq {

constexpr size_t queues_per_lease_max = 256;

struct StoreCore {
  std::unique_ptr<Io> io;
  Keyring keyring;
  std::unique_ptr<Engine> engine;  // uses io and keyring; destroyed first
  std::atomic<uint32_t> references{1};
};

inline void hold(StoreCore* core) {
  core->references.fetch_add(1, std::memory_order_relaxed);  // relaxed: made from a live reference
}
inline void drop(StoreCore* core) {
  // acq_rel: all that others did with the engine happens before it is destroyed
  if (core->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete core;
}

// The waits that closing or firing a handle must end. A lease that is about to wait adds its token
// to each handle it was given, and looks at their state after that: either it sees that the handle
// is closed or fired, or the closer finds its token here.
class Interrupts {
 public:
  void add(CancelToken* token) {
    MutexLock lock(mutex_);
    tokens_.push_back(token);
  }
  void remove(CancelToken* token) {
    MutexLock lock(mutex_);
    std::erase(tokens_, token);
  }
  void fire_all() {
    MutexLock lock(mutex_);
    for (CancelToken* token : tokens_) token->fire();
  }

 private:
  Mutex mutex_;  // guards the tokens' being there; before CancelToken's own
  std::vector<CancelToken*> tokens_ WQ_GUARDED_BY(mutex_);
};

// A schedule as wq.h tells it, with what that points to.
struct PublicCron {
  CronView view;  // of a list; an export's is with its visitor
  std::vector<wq_header> headers;
  std::vector<int64_t> backoff_list_ms;
  wq_cron record = WQ_CRON_INIT;

  void fill(const CronState& state, const CronRow& row, const Envelope& job,
            EncryptWish encrypt);  // cron.cc
};

}  // namespace wq

struct wq_store : wq::HandleHead {
  static constexpr wq::HandleKind own_kind = wq::HandleKind::store;
  static constexpr const char* own_name = "store";
  wq_store() : HandleHead(own_kind) {}
  wq::StoreCore* core = nullptr;
};

struct wq_queue : wq::HandleHead {
  static constexpr wq::HandleKind own_kind = wq::HandleKind::queue;
  static constexpr const char* own_name = "queue";
  wq_queue() : HandleHead(own_kind) {}
  wq::StoreCore* core = nullptr;
  wq::QueueId id = 0;
  std::string name;
  wq::Interrupts interrupts;
};

struct wq_cq : wq::HandleHead {
  static constexpr wq::HandleKind own_kind = wq::HandleKind::completion_queue;
  static constexpr const char* own_name = "cq";
  wq_cq() : HandleHead(own_kind) {}
  wq::StoreCore* core = nullptr;
  std::unique_ptr<wq::CompletionQueue> queue;
  wq::Interrupts interrupts;
};

struct wq_cancel : wq::HandleHead {
  static constexpr wq::HandleKind own_kind = wq::HandleKind::cancel;
  static constexpr const char* own_name = "cancel";
  wq_cancel() : HandleHead(own_kind) {}
  std::atomic<bool> fired{false};
  wq::Interrupts interrupts;
};

struct wq_batch : wq::HandleHead {
  static constexpr wq::HandleKind own_kind = wq::HandleKind::batch;
  static constexpr const char* own_name = "batch";
  wq_batch() : HandleHead(own_kind) {}
  std::vector<wq::JobView> jobs;
  std::vector<std::string> queue_names;  // by JobView::queue_index; a job's own name goes first
};

struct wq_list : wq::HandleHead {
  static constexpr wq::HandleKind own_kind = wq::HandleKind::list;
  static constexpr const char* own_name = "list";
  wq_list() : HandleHead(own_kind) {}
  std::vector<std::string> names;
};

struct wq_kv_page : wq::HandleHead {
  static constexpr wq::HandleKind own_kind = wq::HandleKind::kv_page;
  static constexpr const char* own_name = "page";
  wq_kv_page() : HandleHead(own_kind) {}
  wq::KvPage page;
};

struct wq_text : wq::HandleHead {
  static constexpr wq::HandleKind own_kind = wq::HandleKind::text;
  static constexpr const char* own_name = "text";
  wq_text() : HandleHead(own_kind) {}
  std::string bytes;
};

struct wq_crons : wq::HandleHead {
  static constexpr wq::HandleKind own_kind = wq::HandleKind::crons;
  static constexpr const char* own_name = "crons";
  wq_crons() : HandleHead(own_kind) {}
  std::vector<wq::PublicCron> schedules;
};

namespace wq {

// A call inside a handle, for as long as this object lives.
template <typename T>
class Inside {
 public:
  Inside() = default;
  explicit Inside(T* handle) { enter(handle); }
  ~Inside() {
    if (handle_) handle_->gate.leave();
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  Code enter(T* handle) {
    if (!handle || handle->kind != T::own_kind) return code_ = Code::invalid;
    if (!handle->gate.enter()) return code_ = Code::closed;
    if (!same_process(handle->epoch)) {
      handle->gate.leave();
      return code_ = Code::forked;
    }
    handle_ = handle;
    return code_ = Code::ok;
  }
  Code code() const { return code_; }
  T* operator->() const { return handle_; }

 private:
  T* handle_ = nullptr;
  Code code_ = Code::invalid;
};

// Why a handle was refused.
Status handle_refused(Code code, const char* handle_name);
// Stops the store after an exception; the status that the caller gets.
Status stop_after_exception(Engine& engine, bool broken, Status status) noexcept;

// An entry point on a store, queue or completion queue. `body(Engine&)` runs inside the handle's
// gate.
template <typename T, typename Body>
int32_t with_handle(T* handle, wq_error* err, Body&& body) noexcept {
  if (!error_usable(err)) return WQ_E_INVALID;
  const Inside<T> inside(handle);
  if (inside.code() != Code::ok) [[unlikely]] {
    return boundary(err, [&] { return handle_refused(inside.code(), T::own_name); });
  }
  Engine& engine = *handle->core->engine;
  try {
    const Status status = body(engine);
    if (status.ok()) [[likely]]
      return finish_ok(err);
    return finish(err, status);
  } catch (...) {
    bool broken = false;
    Status status = status_of_exception(&broken);
    return finish(err, stop_after_exception(engine, broken, std::move(status)));
  }
}

// The wq_call of one changing call: read and checked by open(), its lsn told on the way out. Holds
// the completion queue open meanwhile.
class Call {
 public:
  Call() = default;
  ~Call() {
    if (call_) call_->lsn = options_.lsn;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

  Status open(wq_call* call, const StoreCore* core) {
    if (!call) return {};
    return open_given(call, core);
  }
  CallOptions& options() { return options_; }
  wq_cq* cq() const { return call_ ? call_->cq : nullptr; }

 private:
  Status open_given(wq_call* call, const StoreCore* core);

  wq_call* call_ = nullptr;
  CallOptions options_;
  Inside<wq_cq> completion_;
};

// Up to `inline_count` elements without the allocator.
template <typename T, size_t inline_count>
class ScratchArray {
 public:
  explicit ScratchArray(size_t count) : count_(count) {
    if (count > inline_count) heap_.resize(count);
  }
  T* data() { return count_ > inline_count ? heap_.data() : inline_; }
  T& operator[](size_t i) { return data()[i]; }
  std::span<T> span() { return {data(), count_}; }

 private:
  const size_t count_;
  T inline_[inline_count] = {};
  std::vector<T> heap_;
};

Status invalid_field(const char* field, const char* why);
Status unknown_bits(const char* field, uint32_t bits);
// Bytes that a caller hands in: NULL is allowed for none only.
Status read_bytes(const void* data, size_t size, const char* field, Bytes& out);
// An array of 1..10,000 things; `count_field` is the parameter or field that says how many.
Status check_array(const void* array, size_t n, const char* field, const char* count_field = "n");
// The size of one element of an array, as the caller's header has it.
template <typename T>
Status check_stride(size_t stride, const char* field) {
  if (stride >= first_release_bytes<T> && stride <= struct_bytes_max) return {};
  return bad_stride(field, stride, first_release_bytes<T>);
}
wq_queue_config public_config(const QueueConfig& in);  // queue.cc
// Limits of a queue, its caps of dead letters, and the pause behind its status. limits.cc
constexpr uint32_t limit_config_bits = WQ_CONFIG_MAX_DEPTH | WQ_CONFIG_MAX_BYTES |
                                       WQ_CONFIG_FULL_POLICY | WQ_CONFIG_DEAD_MAX_COUNT |
                                       WQ_CONFIG_DEAD_MAX_AGE;
void read_limits(const wq_queue_config& in, QueueConfig& out);
void write_limits(const QueueConfig& in, wq_queue_config& out);
// What is done to payloads. payload.cc
Status read_keys(const wq_store_options& in, Keyring& out);
Status read_packing(const wq_queue_config& in, QueueConfig& out);
Status read_encrypt_flags(uint32_t flags, EncryptWish& out);
// Group, overlap, tenant and rate key of a wq_job_spec or a wq_job_record.
template <typename Public>
Status read_gate_traits(const Public& in, JobTraits& out) {
  const bool has_text = (in.group.len | in.tenant.len | in.rate_key.len) != 0;
  const bool has_rule = (in.overlap | in.group_limit | in.rate_cost) != 0 || in.overlap_ms != 0;
  if (!has_text && !has_rule) return {};
  Bytes group;
  Bytes tenant;
  Bytes rate_key;
  WQ_TRY(read_bytes(in.group.data, in.group.len, "group", group));
  WQ_TRY(read_bytes(in.tenant.data, in.tenant.len, "tenant", tenant));
  WQ_TRY(read_bytes(in.rate_key.data, in.rate_key.len, "rate_key", rate_key));
  if (in.overlap > WQ_OVERLAP_SKIP) return invalid_field("overlap", "is not known");
  out.group = as_text(group);
  out.group_limit = in.group_limit;
  out.overlap = static_cast<OverlapRule>(in.overlap);
  out.overlap_ms = in.overlap_ms;
  out.tenant = as_text(tenant);
  out.rate_key = as_text(rate_key);
  if (in.rate_cost != 0) out.rate_cost = in.rate_cost;
  return {};
}
void read_gates(const wq_queue_config& in, QueueConfig& out);
// Without the age of the oldest job, which only an open store knows. queue.cc
wq_queue_stats public_stats(QueueStatus status, std::span<const uint64_t> counts,
                            const QueueTotals& totals);
// The schedules of a queue that is imported. cron.cc
Status import_schedules(Engine& engine, QueueId queue, const wq_cron* schedules, size_t count);
// The backoff_ fields of a queue configuration or a job.
Status read_backoff(uint32_t kind, int64_t base_ms, int64_t max_ms, const int64_t* list_ms,
                    uint32_t count, Backoff& out);

inline Bytes bytes_of(const std::string& text) {
  return as_bytes(std::string_view(text));
}
inline wq_bytes view_bytes(Bytes bytes) {
  return {bytes.data(), bytes.size()};
}

// Lets go of what a handle holds that never became the caller's.
inline void forget(HandleHead&) {}
inline void forget(wq_batch& batch) {
  batch.jobs.clear();
}
inline void forget(wq_crons& crons) {
  crons.schedules.clear();
}
inline void forget(wq_cq& cq) {
  cq.queue.reset();
}

// A fresh handle from its pool, with its gate still shut. Put back unless released.
template <typename T>
class NewHandle {
 public:
  NewHandle() : handle_(handle_pool<T>().take()) {}
  ~NewHandle() {
    if (!handle_) return;
    forget(*handle_);
    handle_pool<T>().put(handle_);
  }
  NewHandle(const NewHandle&) = delete;
  NewHandle& operator=(const NewHandle&) = delete;
  T* operator->() const { return handle_; }
  // Opens the gate: from here on the handle is the caller's.
  T* release() {
    handle_->epoch = fork_epoch();
    handle_->gate.open();
    return std::exchange(handle_, nullptr);
  }

 private:
  T* handle_;
};

// The handle of an opened engine. Tests give it engines on clocks and disks of their own.
wq_store* make_store_handle(std::unique_ptr<StoreCore> core);

// The common part of all closing calls: takes the caller's pointer and shuts the gate. Null when
// there is nothing to do: NULL, another kind, closed already, or of another process, where the
// handle is only forgotten (its locks may be held by threads that the child does not have).
template <typename T>
T* begin_close(T** handle) noexcept {
  if (!handle || !*handle) return nullptr;
  T* const closing = std::exchange(*handle, nullptr);
  if (closing->kind != T::own_kind || !same_process(closing->epoch)) return nullptr;
  return closing->gate.shut() ? closing : nullptr;
}

}  // namespace wq
