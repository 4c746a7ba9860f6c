// wq/kv.hpp: small values under keys in the log of the jobs, and locks, which are rows with an
// owner. Durability: of power, for locks of the process. Thread model: any thread.
#pragma once

#include "settle.hpp"

namespace wq {
inline namespace hpp1 {

// A row is changed only if all that is set here holds.
struct KvOptions {
  Millis ttl{};  // gone after this time; 0: never
  bool if_absent = false;
  std::optional<std::uint64_t> if_version = {};
  std::optional<Bytes> if_value = {};
};

struct KvRow {
  std::string key;
  std::string value;
  std::uint64_t version = 0;
  std::optional<Time> expires = {};
};

struct KvPage {
  std::vector<KvRow> rows;
  bool more = false;  // go on with after = the last key
};

namespace detail {

inline wq_kv_options to_raw(const KvOptions& options) {
  wq_kv_options raw = WQ_KV_OPTIONS_INIT;
  raw.ttl_ms = options.ttl.count();
  if (options.if_absent) raw.flags |= WQ_KV_IF_ABSENT;
  if (options.if_version) raw.flags |= WQ_KV_IF_VERSION;
  if (options.if_value) raw.flags |= WQ_KV_IF_VALUE;
  raw.version = options.if_version.value_or(0);
  raw.value = options.if_value.value_or(Bytes()).raw();
  return raw;
}

using PageOwner = Owned<wq_kv_page, wq_kv_page_free>;

inline KvRow row_of(const PageOwner& page, std::size_t i) {
  wq_kv_row raw = WQ_KV_ROW_INIT;
  wq_kv_page_row(page.get(), i, &raw);
  return {Bytes(raw.key).str(), Bytes(raw.value).str(), raw.version,
          to_optional_time(raw.expires_ms)};
}

}  // namespace detail

class Kv {
 public:
  explicit Kv(detail::StorePtr store) : store_(std::move(store)) {}

  // Outcome::empty: no such row.
  Result<Answer<KvRow>> get(Bytes key) const {
    detail::PageOwner page;
    return detail::answer_of<KvRow>(detail::on_store(store_,
                                                     [&](wq_store* raw, wq_error* err) {
                                                       return wq_kv_get(raw, key.data(), key.size(),
                                                                        page.out(), err);
                                                     }),
                                    [&] { return detail::row_of(page, 0); });
  }
  // The version of the new row; Outcome::conflict: the condition does not hold.
  Result<Answer<std::uint64_t>> put(Bytes key, Bytes value, const KvOptions& options = {},
                                    const Call& call = {}) const {
    const wq_kv_options how = detail::to_raw(options);
    std::uint64_t version = 0;
    detail::CallScope scope(call);
    return detail::answer_of<std::uint64_t>(
        detail::on_store(store_,
                         [&](wq_store* raw, wq_error* err) {
                           return wq_kv_put(raw, key.data(), key.size(), value.data(), value.size(),
                                            &how, scope.get(), &version, err);
                         }),
        [&] { return version; });
  }
  // The new value of the counter.
  Result<Answer<std::int64_t>> add(Bytes key, std::int64_t delta, const KvOptions& options = {},
                                   const Call& call = {}) const {
    const wq_kv_options how = detail::to_raw(options);
    std::int64_t sum = 0;
    detail::CallScope scope(call);
    return detail::answer_of<std::int64_t>(
        detail::on_store(store_,
                         [&](wq_store* raw, wq_error* err) {
                           return wq_kv_add(raw, key.data(), key.size(), delta, &how, scope.get(),
                                            &sum, err);
                         }),
        [&] { return sum; });
  }
  Result<Outcome> erase(Bytes key, const KvOptions& options = {}, const Call& call = {}) const {
    const wq_kv_options how = detail::to_raw(options);
    return detail::change_store(store_, call, [&](wq_store* raw, wq_call* c, wq_error* err) {
      return wq_kv_erase(raw, key.data(), key.size(), &how, c, err);
    });
  }
  // In the order of the keys, those behind `after` that begin with `prefix`.
  Result<KvPage> list(Bytes prefix = {}, Bytes after = {}, std::uint32_t limit = 0) const {
    wq_kv_query query = WQ_KV_QUERY_INIT;
    query.prefix = prefix.raw();
    query.after = after.raw();
    query.limit = limit;
    detail::PageOwner page;
    std::int32_t more = 0;
    return detail::value_of<KvPage>(detail::on_store(store_,
                                                     [&](wq_store* raw, wq_error* err) {
                                                       return wq_kv_list(raw, &query, page.out(),
                                                                         &more, err);
                                                     }),
                                    [&] {
                                      KvPage told{{}, more != 0};
                                      const std::size_t count = wq_kv_page_count(page.get());
                                      for (std::size_t i = 0; i < count; i++)
                                        told.rows.push_back(detail::row_of(page, i));
                                      return told;
                                    });
  }

 private:
  detail::StorePtr store_;
};

// A lock is nobody's until taken, and is not given up by ~Lock: its time ends it, or release().
class Lock {
 public:
  Lock(detail::StorePtr store, Bytes key, Bytes owner)
      : store_(std::move(store)), key_(key.str()), owner_(owner.str()) {}

  // For `ttl` (0: until released); by its owner any number of times. Outcome::conflict: another's.
  Result<Outcome> take(Millis ttl, const Call& call = {}) const {
    return detail::change_store(store_, call, [&](wq_store* raw, wq_call* c, wq_error* err) {
      return wq_lock_take(raw, key_.data(), key_.size(), owner_.data(), owner_.size(), ttl.count(),
                          c, err);
    });
  }
  // Outcome::stale: the owner does not have it.
  Result<Outcome> extend(Millis ttl, const Call& call = {}) const {
    return detail::change_store(store_, call, [&](wq_store* raw, wq_call* c, wq_error* err) {
      return wq_lock_extend(raw, key_.data(), key_.size(), owner_.data(), owner_.size(),
                            ttl.count(), c, err);
    });
  }
  Result<Outcome> release(const Call& call = {}) const {
    return detail::change_store(store_, call, [&](wq_store* raw, wq_call* c, wq_error* err) {
      return wq_lock_release(raw, key_.data(), key_.size(), owner_.data(), owner_.size(), c, err);
    });
  }

 private:
  detail::StorePtr store_;
  std::string key_;
  std::string owner_;
};

}  // namespace hpp1
}  // namespace wq
