// Key-value rows, and locks, which are such rows: the value is the owner.
#include "capi/capi_internal.h"
#include "capi/specs.h"

namespace wq {
namespace {

static_assert(WQ_KV_IF_ABSENT == kv_if_absent && WQ_KV_IF_VERSION == kv_if_version &&
              WQ_KV_IF_VALUE == kv_if_value);

constexpr size_t kept_rows_max = 64;  // by a pooled page

bool usable(const wq_kv_page* page) {
  return page && page->kind == wq_kv_page::own_kind && !page->gate.is_shut();
}

wq_kv_page* page_of(KvPage page) {
  NewHandle<wq_kv_page> made;
  made->page = std::move(page);
  return made.release();
}

Status get_row(Engine& engine, const void* key, size_t key_len, wq_kv_page** page) {
  if (!page) return invalid_field("page", "is NULL");
  Bytes name;
  WQ_TRY(read_bytes(key, key_len, "key", name));
  WQ_TRY_SET(KvEntry entry, engine.kv_get(as_text(name)));
  KvPage one;
  one.keys.emplace_back(as_text(name));
  one.entries.push_back(std::move(entry));
  *page = page_of(std::move(one));
  return {};
}

Status list_rows(Engine& engine, const wq_kv_query* query, wq_kv_page** page, int32_t* more) {
  constexpr uint32_t limit_default = 100;
  if (!page) return invalid_field("page", "is NULL");
  SizedIn<wq_kv_query> in;
  WQ_TRY(in.read(query, "query"));
  Bytes prefix, after;
  WQ_TRY(read_bytes(in->prefix.data, in->prefix.len, "query.prefix", prefix));
  WQ_TRY(read_bytes(in->after.data, in->after.len, "query.after", after));
  const uint32_t limit = in->limit == 0 ? limit_default : in->limit;
  WQ_TRY_SET(KvPage found, engine.kv_list(as_text(prefix), as_text(after), limit));
  if (found.keys.empty()) return Code::empty;
  if (more) *more = found.more ? 1 : 0;
  *page = page_of(std::move(found));
  return {};
}

// `told` gets the version of the row.
Status change_row(Engine& engine, const wq_store& store, const KvWrite& write, wq_call* call,
                  uint64_t* told, int64_t* sum) {
  Call how;
  WQ_TRY(how.open(call, store.core));
  WQ_TRY_SET(const int64_t number, engine.kv_change(write, how.options()));
  if (told) *told = how.options().lsn;
  if (sum) *sum = number;
  return {};
}

// A lock in the words of a row. `code` is what a lock that is not ours answers.
template <typename Fill>
Status change_lock(Engine& engine, const wq_store& store, const void* key, size_t key_len,
                   const void* owner, size_t owner_len, Code code, wq_call* call, Fill&& fill) {
  Call how;
  WQ_TRY(how.open(call, store.core));
  if (how.options().durability == 0) {  // as a lease: who holds it dies with the machine
    how.options().durability = static_cast<uint32_t>(Durability::process);
  }
  KvWrite write;
  Bytes bytes;
  WQ_TRY(read_bytes(key, key_len, "key", bytes));
  write.key = as_text(bytes);
  WQ_TRY(read_bytes(owner, owner_len, "owner", bytes));
  if (bytes.empty()) return invalid_field("owner", "is empty");
  write.condition = {.flags = kv_if_value, .value = as_text(bytes)};
  fill(write);
  const Status status = engine.kv_change(write, how.options()).take_status();
  return status.code() == Code::conflict || status.code() == Code::empty ? Status(code) : status;
}

}  // namespace

Status read_kv(const void* key, size_t key_len, const wq_kv_options* options, KvWrite& out) {
  constexpr uint32_t all = kv_condition_flags_all;
  Bytes bytes;
  WQ_TRY(read_bytes(key, key_len, "key", bytes));
  out.key = as_text(bytes);
  SizedIn<wq_kv_options> in;
  WQ_TRY(in.read(options, "options"));
  if (in->flags & ~all) return unknown_bits("options.flags", in->flags & ~all);
  if (in->version != 0 && !(in->flags & WQ_KV_IF_VERSION)) {
    return invalid_field("options.version", "is set without WQ_KV_IF_VERSION");
  }
  if (in->value.len != 0 && !(in->flags & WQ_KV_IF_VALUE)) {
    return invalid_field("options.value", "is set without WQ_KV_IF_VALUE");
  }
  const bool expires = out.verb == KvVerb::put || out.verb == KvVerb::add;
  if (in->ttl_ms != 0 && !expires) return invalid_field("options.ttl_ms", "has no meaning here");
  WQ_TRY(read_bytes(in->value.data, in->value.len, "options.value", bytes));
  out.ttl_ms = in->ttl_ms;
  out.condition = {.flags = in->flags, .version = in->version, .value = as_text(bytes)};
  return {};
}

}  // namespace wq

extern "C" {

int32_t wq_kv_get(wq_store* store, const void* key, size_t key_len, wq_kv_page** page,
                  wq_error* err) {
  if (page) *page = nullptr;
  return wq::with_handle(
      store, err, [&](wq::Engine& engine) { return wq::get_row(engine, key, key_len, page); });
}

int32_t wq_kv_list(wq_store* store, const wq_kv_query* query, wq_kv_page** page, int32_t* more,
                   wq_error* err) {
  if (page) *page = nullptr;
  if (more) *more = 0;
  return wq::with_handle(
      store, err, [&](wq::Engine& engine) { return wq::list_rows(engine, query, page, more); });
}

size_t wq_kv_page_count(const wq_kv_page* page) {
  return wq::usable(page) ? page->page.keys.size() : 0;
}

int32_t wq_kv_page_row(const wq_kv_page* page, size_t i, wq_kv_row* row) {
  if (!row || row->struct_size < wq::first_release_bytes<wq_kv_row> ||
      row->struct_size > wq::struct_bytes_max || i >= wq_kv_page_count(page)) {
    return WQ_E_INVALID;
  }
  const wq::KvEntry& entry = page->page.entries[i];
  wq_kv_row out{};
  out.version = entry.version;
  out.expires_ms = entry.expires_ms;
  out.key = wq::view_bytes(wq::bytes_of(page->page.keys[i]));
  out.value = wq::view_bytes(wq::bytes_of(entry.value));
  wq::write_struct(row, row->struct_size, out);
  return WQ_OK;
}

void wq_kv_page_free(wq_kv_page** page) {
  wq_kv_page* closing = wq::begin_close(page);
  if (!closing) return;
  closing->page.keys.clear();
  closing->page.entries.clear();
  if (closing->page.keys.capacity() > wq::kept_rows_max) closing->page = wq::KvPage();
  wq::handle_pool<wq_kv_page>().put(closing);
}

int32_t wq_kv_put(wq_store* store, const void* key, size_t key_len, const void* value,
                  size_t value_len, const wq_kv_options* options, wq_call* call, uint64_t* version,
                  wq_error* err) {
  if (version) *version = 0;
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    wq::KvWrite write{.verb = wq::KvVerb::put};
    WQ_TRY(wq::read_kv(key, key_len, options, write));
    wq::Bytes bytes;
    WQ_TRY(wq::read_bytes(value, value_len, "value", bytes));
    write.value = wq::as_text(bytes);
    return wq::change_row(engine, *store, write, call, version, nullptr);
  });
}

int32_t wq_kv_add(wq_store* store, const void* key, size_t key_len, int64_t delta,
                  const wq_kv_options* options, wq_call* call, int64_t* sum, wq_error* err) {
  if (sum) *sum = 0;
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    wq::KvWrite write{.verb = wq::KvVerb::add};
    WQ_TRY(wq::read_kv(key, key_len, options, write));
    write.delta = delta;
    return wq::change_row(engine, *store, write, call, nullptr, sum);
  });
}

int32_t wq_kv_erase(wq_store* store, const void* key, size_t key_len, const wq_kv_options* options,
                    wq_call* call, wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) -> wq::Status {
    wq::KvWrite write{.verb = wq::KvVerb::erase};
    WQ_TRY(wq::read_kv(key, key_len, options, write));
    return wq::change_row(engine, *store, write, call, nullptr, nullptr);
  });
}

int32_t wq_lock_take(wq_store* store, const void* key, size_t key_len, const void* owner,
                     size_t owner_len, int64_t ttl_ms, wq_call* call, wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) {
    return wq::change_lock(engine, *store, key, key_len, owner, owner_len, wq::Code::conflict, call,
                           [&](wq::KvWrite& write) {
                             write.condition.flags |= wq::kv_if_absent;
                             write.value = write.condition.value;
                             write.ttl_ms = ttl_ms;
                           });
  });
}

int32_t wq_lock_extend(wq_store* store, const void* key, size_t key_len, const void* owner,
                       size_t owner_len, int64_t ttl_ms, wq_call* call, wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) {
    return wq::change_lock(engine, *store, key, key_len, owner, owner_len, wq::Code::stale, call,
                           [&](wq::KvWrite& write) {
                             write.value = write.condition.value;
                             write.ttl_ms = ttl_ms;
                           });
  });
}

int32_t wq_lock_release(wq_store* store, const void* key, size_t key_len, const void* owner,
                        size_t owner_len, wq_call* call, wq_error* err) {
  return wq::with_handle(store, err, [&](wq::Engine& engine) {
    return wq::change_lock(engine, *store, key, key_len, owner, owner_len, wq::Code::stale, call,
                           [](wq::KvWrite& write) { write.verb = wq::KvVerb::erase; });
  });
}

}  // extern "C"
