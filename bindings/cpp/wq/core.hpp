// wq/core.hpp: what all of the C++ binding is made of: bytes, times, codes, errors and results.
//
// Nothing here throws but Result::value(), and that only when there is no value; without exceptions
// (-fno-exceptions) it ends the program instead. Thread model: plain values.
#pragma once

#include <wq.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

// An inline namespace of its own, so that the names of this header and of a library that is linked
// statically can never be mixed up by a linker.
namespace wq {
inline namespace hpp1 {

// ---- bytes and times

// A view of bytes: in, borrowed for the call; out, valid while the object that it came from lives.
// Made from and turned into anything that is a piece of memory of single bytes.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr Bytes(const void* data, std::size_t size) : data_(data), size_(size) {}
  Bytes(wq_bytes raw) : data_(raw.data), size_(raw.len) {}
  template <typename T>
  requires std::convertible_to<const T&, std::string_view> Bytes(const T& text)
      : Bytes(std::string_view(text)) {}
  Bytes(std::string_view text) : data_(text.data()), size_(text.size()) {}
  template <std::ranges::contiguous_range R>
  requires(!std::convertible_to<const R&, std::string_view> && !std::same_as<R, Bytes> &&
           sizeof(std::ranges::range_value_t<R>) == 1) Bytes(const R& range)
      : data_(std::ranges::data(range)), size_(std::ranges::size(range)) {}

  const void* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view view() const { return {static_cast<const char*>(data_), size_}; }
  std::span<const std::byte> span() const { return {static_cast<const std::byte*>(data_), size_}; }
  operator std::string_view() const { return view(); }
  std::string str() const { return std::string(view()); }
  wq_bytes raw() const { return {data_, size_}; }

  friend bool operator==(const Bytes& a, const Bytes& b) { return a.view() == b.view(); }

 private:
  const void* data_ = nullptr;
  std::size_t size_ = 0;
};

struct Header {
  Bytes name;
  Bytes value;
};

using Millis = std::chrono::milliseconds;
using Time = std::chrono::time_point<std::chrono::system_clock, Millis>;
inline constexpr Millis forever{-1};

inline Time to_time(std::int64_t ms) {
  return Time(Millis(ms));
}
// 0 stands for "none" in the C interface.
inline std::optional<Time> to_optional_time(std::int64_t ms) {
  return ms == 0 ? std::nullopt : std::optional<Time>(to_time(ms));
}
inline std::int64_t to_ms(const std::optional<Time>& time) {
  return time ? time->time_since_epoch().count() : 0;
}

// ---- codes

// How a call went that did what it says. Not one of them is an error.
enum class Outcome : std::int32_t {
  ok = WQ_OK,
  empty = WQ_EMPTY,
  timeout = WQ_TIMEOUT,
  stale = WQ_STALE,
  duplicate = WQ_DUPLICATE,
  disabled = WQ_DISABLED,
  paused = WQ_PAUSED,
  cancelled = WQ_CANCELLED,
  conflict = WQ_CONFLICT,
};

enum class Errc : std::int32_t {
  invalid = WQ_E_INVALID,
  too_large = WQ_E_TOO_LARGE,
  unsupported = WQ_E_UNSUPPORTED,
  version = WQ_E_VERSION,
  not_found = WQ_E_NOT_FOUND,
  closed = WQ_E_CLOSED,
  forked = WQ_E_FORKED,
  locked = WQ_E_LOCKED,
  read_only = WQ_E_READ_ONLY,
  no_space = WQ_E_NO_SPACE,
  full = WQ_E_FULL,
  no_memory = WQ_E_NO_MEMORY,
  io = WQ_E_IO,
  corrupt = WQ_E_CORRUPT,
  poisoned = WQ_E_POISONED,
  internal = WQ_E_INTERNAL,
};

// As in wq.h without the prefix: "STALE", "NO_SPACE".
inline std::string_view name_of(Outcome outcome) {
  return wq_error_name(static_cast<std::int32_t>(outcome));
}
inline std::string_view name_of(Errc code) {
  return wq_error_name(static_cast<std::int32_t>(code));
}

// What went wrong. Programs decide by code() and the predicates, people read message().
class Error {
 public:
  // An error of this layer or one that came without its text; `message` is one line.
  explicit Error(Errc code, std::string_view message = {}) {
    raw_.code = static_cast<std::int32_t>(code);
    if (message.empty()) message = wq_strerror(raw_.code);
    const std::size_t size = std::min(message.size(), sizeof raw_.message - 1);
    message.copy(raw_.message, size);
    raw_.message[size] = 0;
    if (wq_error_is_retryable(raw_.code)) raw_.flags |= WQ_ERROR_RETRYABLE;
    if (wq_error_maybe_committed(raw_.code)) raw_.flags |= WQ_ERROR_MAYBE_COMMITTED;
    if (wq_error_is_fatal(raw_.code)) raw_.flags |= WQ_ERROR_FATAL;
  }
  explicit Error(const wq_error& raw) : raw_(raw) {}

  Errc code() const { return static_cast<Errc>(raw_.code); }
  std::string_view name() const { return wq_error_name(raw_.code); }
  std::string_view message() const { return raw_.message; }
  int os_errno() const { return raw_.os_errno; }        // 0: the system had no part in it
  std::uint64_t offset() const { return raw_.offset; }  // in the file of the message, else 0
  bool retryable() const { return raw_.flags & WQ_ERROR_RETRYABLE; }
  bool maybe_committed() const { return raw_.flags & WQ_ERROR_MAYBE_COMMITTED; }
  bool fatal() const { return raw_.flags & WQ_ERROR_FATAL; }
  const wq_error& raw() const { return raw_; }

 private:
  wq_error raw_ = WQ_ERROR_INIT;
};

// What Result::value() throws.
class Exception : public std::exception {
 public:
  explicit Exception(const Error& error) : error_(error) {
    text_ = std::string(error.name()) + ": " + std::string(error.message());
  }
  const char* what() const noexcept override { return text_.c_str(); }
  const Error& error() const { return error_; }

 private:
  Error error_;
  std::string text_;
};

// ---- results

namespace detail {
[[noreturn]] inline void no_value(const Error& error) {
#if defined(__cpp_exceptions)
  throw Exception(error);
#else
  (void)error;
  std::abort();
#endif
}
}  // namespace detail

// A value or an error, like std::expected<T, Error>.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(const Error& error) : state_(std::in_place_index<1>, error) {}
  Result(Errc code, std::string_view message = {}) : Result(Error(code, message)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& operator*() & { return *std::get_if<0>(&state_); }
  const T& operator*() const& { return *std::get_if<0>(&state_); }
  // By value, so that `for (auto& job : *queue.lease())` keeps what it goes over.
  T operator*() && { return std::move(*std::get_if<0>(&state_)); }
  T* operator->() { return std::get_if<0>(&state_); }
  const T* operator->() const { return std::get_if<0>(&state_); }
  const Error& error() const { return *std::get_if<1>(&state_); }

  T& value() & {
    if (!has_value()) detail::no_value(error());
    return **this;
  }
  const T& value() const& {
    if (!has_value()) detail::no_value(error());
    return **this;
  }
  T value() && {
    if (!has_value()) detail::no_value(error());
    return *std::move(*this);
  }
  T value_or(T other) const& { return has_value() ? **this : std::move(other); }

  // f(T) -> Result<U>; an error goes past it.
  template <typename F>
  auto and_then(F&& f) && -> std::invoke_result_t<F, T&&> {
    if (!has_value()) return error();
    return std::forward<F>(f)(*std::move(*this));
  }

 private:
  std::variant<T, Error> state_;
};

// Of calls that have outcomes besides "ok" and then nothing to give: a value if and only if the
// outcome is ok.
template <typename T>
struct Answer {
  Outcome outcome = Outcome::ok;
  std::optional<T> found;

  explicit operator bool() const { return found.has_value(); }
  T& operator*() { return *found; }
  const T& operator*() const { return *found; }
  T* operator->() { return &*found; }
  const T* operator->() const { return &*found; }
};

// ---- durability

enum class Durability : std::uint32_t {
  by_default = 0,
  memory = WQ_MEMORY,    // applied; written within memory_window
  process = WQ_PROCESS,  // survives kill -9
  power = WQ_POWER,      // survives power loss
};

// How one changing call waits. With `cq` it does not: one event with `user_data` comes when the
// level is reached, if and only if the LSN is not 0 (see wq/async.hpp, which does that for you).
struct Call {
  Durability durability = Durability::by_default;
  std::uint64_t* lsn = nullptr;  // gets the LSN of the change; 0 if nothing was written
  wq_cq* cq = nullptr;
  std::uint64_t user_data = 0;
};

namespace detail {

// A wq_call for the time of one call.
class CallScope {
 public:
  explicit CallScope(const Call& call) : lsn_(call.lsn) {
    raw_.durability = static_cast<std::uint32_t>(call.durability);
    raw_.cq = call.cq;
    raw_.user_data = call.user_data;
  }
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;
  ~CallScope() {
    if (lsn_) *lsn_ = raw_.lsn;
  }
  wq_call* get() { return &raw_; }

 private:
  wq_call raw_ = WQ_CALL_INIT;
  std::uint64_t* lsn_;
};

// Runs a call of the C interface, f(wq_error*), and tells its outcome.
template <typename F>
Result<Outcome> outcome_of(F&& f) {
  wq_error err = WQ_ERROR_INIT;
  const std::int32_t code = std::forward<F>(f)(&err);
  if (code < 0) return Error(err);
  return static_cast<Outcome>(code);
}

// The same for calls whose other outcomes leave nothing to tell; `make` gives the value.
template <typename T, typename F, typename M>
Result<Answer<T>> answer_of(F&& f, M&& make) {
  Result<Outcome> outcome = outcome_of(std::forward<F>(f));
  if (!outcome) return outcome.error();
  if (*outcome != Outcome::ok) return Answer<T>{*outcome, std::nullopt};
  return Answer<T>{Outcome::ok, std::forward<M>(make)()};
}

// The same for calls that have no other outcome.
template <typename T, typename F, typename M>
Result<T> value_of(F&& f, M&& make) {
  Result<Outcome> outcome = outcome_of(std::forward<F>(f));
  if (!outcome) return outcome.error();
  return std::forward<M>(make)();
}

// An owned handle of the C interface; `Close` takes the address of the pointer.
template <typename H, void (*Close)(H**)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(H* handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() { Close(&handle_); }
  H* get() const { return handle_; }
  H** out() { return &handle_; }

 private:
  H* handle_ = nullptr;
};

}  // namespace detail

// Ends waits from another thread: give it to the calls that wait, and fire it. Copies are the same
// token. It stays fired. Made without memory it is empty, and calls are not ended by it.
class Cancel {
 public:
  static Cancel make() {
    Cancel token;
    token.state_ = std::make_shared<State>();
    wq_cancel_new(token.state_->handle.out(), nullptr);
    return token;
  }
  void fire() const {
    state_->fired.store(true);
    wq_cancel_fire(get());
  }
  bool fired() const { return state_->fired.load(); }
  wq_cancel* get() const { return state_->handle.get(); }

 private:
  struct State {
    detail::Owned<wq_cancel, wq_cancel_free> handle;
    std::atomic<bool> fired{false};
  };
  Cancel() = default;
  std::shared_ptr<State> state_;
};

}  // namespace hpp1
}  // namespace wq
