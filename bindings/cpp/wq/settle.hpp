// wq/settle.hpp: the shared ends of handles, and the calls that carry a lease token. Job and Queue
// offer them to the user; here they are written once.
//
// A handle can be closed while others are in a call: they get Errc::closed, and so does every later
// call. Thread model: any thread.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "options.hpp"

namespace wq {
inline namespace hpp1 {

// The right to settle a job: wq_token{id, generation}.
using Token = wq_token;

struct NackOptions {
  std::optional<Millis> delay = {};            // else the backoff policy decides
  std::optional<std::uint32_t> priority = {};  // becomes the job's
  Bytes error = {};                            // empty keeps the text of the attempt before
  std::uint32_t reason = 0;                    // WQ_DEAD_..., if no attempt is left; 0: FAILED
  bool front = false;                          // later to the head of its priority
  bool exception = true;                       // counts as one
};

struct ReleaseOptions {
  Millis delay{};
  bool front = false;
};

// Of several settles or extends: one code per item, WQ_OK, WQ_STALE, WQ_CANCELLED (extend) or
// WQ_E_NOT_FOUND; none if the call itself was refused. `result` is that of the first that was not
// WQ_OK.
struct ManySettled {
  Result<Outcome> result = Outcome::ok;
  std::vector<std::int32_t> codes = {};
};

namespace detail {

struct StoreHandle {
  std::atomic<wq_store*> raw{nullptr};

  ~StoreHandle() { close(); }
  void close() {
    wq_store* closing = raw.exchange(nullptr);
    wq_store_close(&closing);
  }
};
using StorePtr = std::shared_ptr<StoreHandle>;

struct QueueHandle {
  std::atomic<wq_queue*> raw{nullptr};
  StorePtr store;
  std::string name;

  ~QueueHandle() { close(); }
  void close() {
    wq_queue* closing = raw.exchange(nullptr);
    wq_queue_close(&closing);
  }
};
using QueuePtr = std::shared_ptr<QueueHandle>;

inline std::int32_t closed_error(wq_error* err, std::string_view what) {
  *err = Error(Errc::closed, what).raw();
  return WQ_E_CLOSED;
}

// f(wq_store*, wq_error*) as an outcome; Errc::closed once the handle is closed.
template <typename F>
auto on_store(const StorePtr& store, F f) {
  return [&store, f](wq_error* err) -> std::int32_t {
    wq_store* raw = store ? store->raw.load() : nullptr;
    return raw ? f(raw, err) : closed_error(err, "the store is closed");
  };
}
template <typename F>
auto on_queue(const QueuePtr& queue, F f) {
  return [&queue, f](wq_error* err) -> std::int32_t {
    wq_queue* raw = queue ? queue->raw.load() : nullptr;
    return raw ? f(raw, err) : closed_error(err, "the queue is closed");
  };
}
// The same with a wq_call in the middle: f(wq_store*, wq_call*, wq_error*).
template <typename F>
Result<Outcome> change_store(const StorePtr& store, const Call& call, F f) {
  CallScope scope(call);
  return outcome_of(
      on_store(store, [&](wq_store* raw, wq_error* err) { return f(raw, scope.get(), err); }));
}
template <typename F>
Result<Outcome> change_queue(const QueuePtr& queue, const Call& call, F f) {
  CallScope scope(call);
  return outcome_of(
      on_queue(queue, [&](wq_queue* raw, wq_error* err) { return f(raw, scope.get(), err); }));
}

inline Result<Outcome> ack(const QueuePtr& queue, Token token, Bytes result, const Call& call) {
  return change_queue(queue, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
    if (result.empty()) return wq_ack(raw, token.id, token.generation, c, err);
    return wq_ack_result(raw, token.id, token.generation, result.data(), result.size(), c, err);
  });
}

inline wq_nack_options to_raw(const NackOptions& options) {
  wq_nack_options raw = WQ_NACK_OPTIONS_INIT;
  if (options.front) raw.flags |= WQ_NACK_FRONT;
  if (!options.exception) raw.flags |= WQ_NACK_NO_EXCEPTION;
  if (options.delay) raw.flags |= WQ_NACK_DELAY;
  if (options.priority) raw.flags |= WQ_NACK_PRIORITY;
  raw.delay_ms = options.delay.value_or(Millis(0)).count();
  raw.priority = options.priority.value_or(0);
  raw.error = options.error.raw();
  raw.reason = options.reason;
  return raw;
}

inline Result<Outcome> nack(const QueuePtr& queue, Token token, const NackOptions& options,
                            const Call& call) {
  const wq_nack_options raw_options = to_raw(options);
  return change_queue(queue, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
    return wq_nack(raw, token.id, token.generation, &raw_options, c, err);
  });
}

inline Result<Outcome> release(const QueuePtr& queue, Token token, const ReleaseOptions& options,
                               const Call& call) {
  return change_queue(queue, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
    return wq_release(raw, token.id, token.generation, options.delay.count(),
                      options.front ? WQ_RELEASE_FRONT : 0, c, err);
  });
}

inline Result<Outcome> fail(const QueuePtr& queue, Token token, Bytes error, const Call& call) {
  return change_queue(queue, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
    return wq_fail(raw, token.id, token.generation, error.data(), error.size(), c, err);
  });
}

inline Result<Outcome> confirm(const QueuePtr& queue, Token token, Millis run, const Call& call) {
  return change_queue(queue, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
    return wq_confirm(raw, token.id, token.generation, run.count(), c, err);
  });
}

inline Result<Outcome> progress(const QueuePtr& queue, Token token, Bytes note, const Call& call) {
  return change_queue(queue, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
    return wq_job_progress(raw, token.id, token.generation, note.data(), note.size(), c, err);
  });
}

inline Result<Outcome> release_key(const QueuePtr& queue, Token token, const Call& call) {
  return change_queue(queue, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
    return wq_key_release(raw, token.id, token.generation, c, err);
  });
}

// No code of its own: what stands in `codes` before the call tells that the call was refused.
inline constexpr std::int32_t untouched = INT32_MIN;

inline void drop_untouched(ManySettled& many) {
  if (!many.codes.empty() && many.codes.front() == untouched) many.codes.clear();
}

inline ManySettled extend(const QueuePtr& queue, std::span<const Token> tokens, Millis lease,
                          const Call& call) {
  ManySettled many;
  many.codes.assign(tokens.size(), untouched);
  many.result = change_queue(queue, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
    return wq_extend(raw, tokens.data(), tokens.size(), lease.count(), many.codes.data(), c, err);
  });
  drop_untouched(many);
  return many;
}

inline ManySettled settle_many(const QueuePtr& queue, std::span<const wq_settle_item> items,
                               const Call& call) {
  ManySettled many;
  many.codes.assign(items.size(), untouched);
  many.result = change_queue(queue, call, [&](wq_queue* raw, wq_call* c, wq_error* err) {
    return wq_settle_many(raw, items.data(), items.size(), sizeof(wq_settle_item),
                          many.codes.data(), c, err);
  });
  drop_untouched(many);
  return many;
}

}  // namespace detail

// One of several settles, for Queue::settle_many and Transaction::settle.
class Settle {
 public:
  static Settle ack(Token token, Bytes result = {}) {
    Settle item(WQ_SETTLE_ACK, token);
    item.raw_.result = result.raw();
    return item;
  }
  static Settle nack(Token token, const NackOptions& options = {}) {
    const wq_nack_options from = detail::to_raw(options);
    Settle item(WQ_SETTLE_NACK, token);
    item.raw_.flags = from.flags;
    item.raw_.delay_ms = from.delay_ms;
    item.raw_.priority = from.priority;
    item.raw_.error = from.error;
    item.raw_.reason = from.reason;
    return item;
  }
  static Settle release(Token token, const ReleaseOptions& options = {}) {
    Settle item(WQ_SETTLE_RELEASE, token);
    item.raw_.delay_ms = options.delay.count();
    item.raw_.flags = options.front ? WQ_RELEASE_FRONT : 0;
    return item;
  }
  // `reason`: WQ_DEAD_...; 0: FAILED.
  static Settle fail(Token token, Bytes error = {}, std::uint32_t reason = 0) {
    Settle item(WQ_SETTLE_FAIL, token);
    item.raw_.error = error.raw();
    item.raw_.reason = reason;
    return item;
  }
  const wq_settle_item& raw() const { return raw_; }

 private:
  Settle(std::uint32_t kind, Token token) {
    raw_.kind = kind;
    raw_.id = token.id;
    raw_.generation = token.generation;
  }
  wq_settle_item raw_ = WQ_SETTLE_ITEM_INIT;
};

}  // namespace hpp1
}  // namespace wq
