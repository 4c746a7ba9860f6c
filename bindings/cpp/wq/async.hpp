// wq/async.hpp: thousands of changes under way on one thread, through a completion queue.
//
//   wq::Completions completions = wq::Completions::open(store).value();
//   auto pending = completions.begin([&](const wq::Call& call) {
//     return queue.enqueue("hello", {}, call);
//   });
//   ... co_await pending, or pending.wait(), or pending.done() after completions.dispatch()
//
// begin() runs the call at once, up to its durability: what is refused, or writes nothing, is done
// then. A coroutine is resumed by the thread that dispatches: that of dispatch() (call it when fd()
// is readable, or in a loop), or one in wait(). Destroying a Pending forgets the answer; the change
// goes its way. Thread model: any thread; a Pending belongs to one at a time.
#pragma once

#include <condition_variable>
#include <coroutine>
#include <exception>
#include <mutex>
#include <unordered_map>

#include "store.hpp"

namespace wq {
inline namespace hpp1 {
namespace detail {

// One change under way. Guarded by Dispatcher::mutex until it is done.
struct PendingState {
  bool done = false;
  std::int32_t code = WQ_OK;  // of the event
  std::coroutine_handle<> waiter;
};

class Dispatcher {
 public:
  explicit Dispatcher(wq_cq* cq) : cq_(cq) {}
  Dispatcher(const Dispatcher&) = delete;
  Dispatcher& operator=(const Dispatcher&) = delete;
  ~Dispatcher() { close(); }

  wq_cq* raw() const { return cq_.load(); }
  void close() {
    wq_cq* closing = cq_.exchange(nullptr);
    wq_cq_close(&closing);
  }

  std::uint64_t enter(const std::shared_ptr<PendingState>& state) {
    std::lock_guard lock(mutex);
    under_way_.emplace(++last_, state);
    return last_;
  }
  // There will be no event.
  void finish_now(std::uint64_t number, PendingState& state) {
    std::lock_guard lock(mutex);
    under_way_.erase(number);
    state.done = true;
  }

  // Takes events and resumes who waits for them. One thread polls at a time, others wait for it.
  Result<std::size_t> dispatch(Millis timeout) {
    {
      std::unique_lock lock(mutex);
      if (polling_) {
        if (timeout > Millis(0)) turn_.wait_for(lock, timeout, [&] { return !polling_; });
        if (timeout < Millis(0)) turn_.wait(lock, [&] { return !polling_; });
        if (polling_) return std::size_t{0};
      }
      polling_ = true;
    }
    return poll(timeout);
  }

  // Until `state` is done, polling or letting another one poll.
  void wait(const PendingState& state) {
    for (;;) {
      {
        std::unique_lock lock(mutex);
        turn_.wait(lock, [&] { return state.done || !polling_; });
        if (state.done) return;
        polling_ = true;
      }
      if (!poll(forever)) give_up();
    }
  }

  std::mutex mutex;

 private:
  Result<std::size_t> poll(Millis timeout) {
    wq_event events[64];
    std::size_t count = 0;
    wq_cq* raw = cq_.load();
    const Result<Outcome> outcome = outcome_of([&](wq_error* err) -> std::int32_t {
      if (!raw) return closed_error(err, "the completion queue is closed");
      return wq_cq_poll(raw, events, std::size(events), sizeof(wq_event), timeout.count(), &count,
                        err);
    });
    std::vector<std::coroutine_handle<>> ready;
    {
      std::lock_guard lock(mutex);
      for (std::size_t i = 0; i < count; i++) complete(events[i], ready);
      polling_ = false;
    }
    turn_.notify_all();
    resume_all(ready);
    if (!outcome) return outcome.error();
    return count;
  }

  // One that throws keeps no others: they were taken off the list and would never be told. The
  // first exception goes on when all have been resumed.
  static void resume_all(const std::vector<std::coroutine_handle<>>& ready) {
#if defined(__cpp_exceptions)
    std::exception_ptr first;
    for (const std::coroutine_handle<> waiter : ready) {
      try {
        waiter.resume();
      } catch (...) {
        if (!first) first = std::current_exception();
      }
    }
    if (first) std::rethrow_exception(first);
#else
    for (const std::coroutine_handle<> waiter : ready) waiter.resume();
#endif
  }

  void complete(const wq_event& event, std::vector<std::coroutine_handle<>>& ready) {
    const auto found = under_way_.find(event.user_data);
    if (found == under_way_.end()) return;
    PendingState& state = *found->second;
    state.done = true;
    state.code = event.code;
    if (state.waiter) ready.push_back(std::exchange(state.waiter, nullptr));
    under_way_.erase(found);
  }

  // Closed, and no event is left: what is under way will not be told any more.
  void give_up() {
    std::vector<std::coroutine_handle<>> ready;
    {
      std::lock_guard lock(mutex);
      for (auto& [number, state] : under_way_) {
        state->done = true;
        state->code = WQ_E_CLOSED;
        if (state->waiter) ready.push_back(std::exchange(state->waiter, nullptr));
      }
      under_way_.clear();
    }
    turn_.notify_all();
    resume_all(ready);
  }

  std::atomic<wq_cq*> cq_;
  std::condition_variable turn_;
  bool polling_ = false;
  std::uint64_t last_ = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<PendingState>> under_way_;
};

// The answer of a call whose durability failed afterwards.
template <typename T>
void overrule(Result<T>& result, const Error& error) {
  result = error;
}
template <typename T>
requires requires(T& t) {
  t.result = Error(Errc::closed);
}
void overrule(T& many, const Error& error) {
  many.result = error;
}

}  // namespace detail

// The answer `R` (what the call in begin() returns) once its change is durable.
template <typename R>
class Pending {
 public:
  Pending(std::shared_ptr<detail::Dispatcher> dispatcher,
          std::shared_ptr<detail::PendingState> state, R result)
      : dispatcher_(std::move(dispatcher)), state_(std::move(state)), result_(std::move(result)) {}
  Pending(Pending&&) = default;
  Pending& operator=(Pending&&) = delete;
  ~Pending() {
    if (!state_) return;
    std::lock_guard lock(dispatcher_->mutex);
    state_->waiter = nullptr;
  }

  bool done() const {
    std::lock_guard lock(dispatcher_->mutex);
    return state_->done;
  }
  // Blocks until it is durable or has failed; dispatches for others meanwhile.
  R& wait() {
    dispatcher_->wait(*state_);
    return result();
  }
  // Once it is done.
  R& result() {
    if (state_->code < 0) detail::overrule(result_, Error(static_cast<Errc>(state_->code)));
    return result_;
  }

  bool await_ready() const { return done(); }
  bool await_suspend(std::coroutine_handle<> waiter) {
    std::lock_guard lock(dispatcher_->mutex);
    if (state_->done) return false;
    state_->waiter = waiter;
    return true;
  }
  R await_resume() { return std::move(result()); }

 private:
  std::shared_ptr<detail::Dispatcher> dispatcher_;
  std::shared_ptr<detail::PendingState> state_;
  R result_;
};

class Completions {
 public:
  static Result<Completions> open(const Store& store) {
    wq_cq* cq = nullptr;
    return detail::value_of<Completions>(
        detail::on_store(store.handle(),
                         [&](wq_store* raw, wq_error* err) { return wq_cq_open(raw, &cq, err); }),
        [&] { return Completions(std::make_shared<detail::Dispatcher>(cq)); });
  }
  // Whoever waits gets Errc::closed.
  void close() { dispatcher_->close(); }

  // Readable while events wait, for poll and epoll; negative: a code.
  int fd() const { return wq_cq_eventfd(dispatcher_->raw()); }
  // Up to 64 events, waiting up to `timeout` for the first; how many there were.
  Result<std::size_t> dispatch(Millis timeout = {}) const { return dispatcher_->dispatch(timeout); }

  // Any changing call of this binding: call(const Call&), which it must hand on.
  template <typename F, typename R = std::invoke_result_t<F, const Call&>>
  Pending<R> begin(F&& change, Durability durability = Durability::by_default) const {
    auto state = std::make_shared<detail::PendingState>();
    const std::uint64_t number = dispatcher_->enter(state);
    std::uint64_t lsn = 0;
    wq_cq* cq = dispatcher_->raw();
    R result = cq ? std::forward<F>(change)(Call{durability, &lsn, cq, number}) : closed<R>();
    if (lsn == 0) dispatcher_->finish_now(number, *state);
    return Pending<R>(dispatcher_, std::move(state), std::move(result));
  }

  Pending<Result<Enqueued>> enqueue(const Queue& queue, Bytes payload,
                                    const JobOptions& options = {},
                                    Durability durability = Durability::by_default) const {
    return begin([&](const Call& call) { return queue.enqueue(payload, options, call); },
                 durability);
  }
  Pending<Result<Outcome>> ack(const Job& job, Bytes result = {},
                               Durability durability = Durability::by_default) const {
    return begin([&](const Call& call) { return job.ack(result, call); }, durability);
  }
  Pending<Result<Outcome>> nack(const Job& job, const NackOptions& options = {},
                                Durability durability = Durability::by_default) const {
    return begin([&](const Call& call) { return job.nack(options, call); }, durability);
  }

 private:
  explicit Completions(std::shared_ptr<detail::Dispatcher> dispatcher)
      : dispatcher_(std::move(dispatcher)) {}

  template <typename R>
  static R closed() {
    const Error error(Errc::closed, "the completion queue is closed");
    if constexpr (requires { R(error); }) {
      return R(error);
    } else {
      R many;
      detail::overrule(many, error);
      return many;
    }
  }

  std::shared_ptr<detail::Dispatcher> dispatcher_;
};

}  // namespace hpp1
}  // namespace wq
