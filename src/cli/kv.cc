// wq kv: key-value rows and locks, from the command line. Keys and values are bytes; what is told
// to people is made printable, `get --raw` and --json are exact.
#include <unistd.h>

#include <cerrno>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr uint32_t page_rows = 1'000;
constexpr size_t value_columns = 60;

std::string read_standard_input() {
  std::string bytes;
  char buffer[64 << 10];
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_errno("standard input", errno);
    if (count == 0) return bytes;
    bytes.append(buffer, static_cast<size_t>(count));
  }
}

wq_kv_options options_of(const KvOptions& options) {
  wq_kv_options out = WQ_KV_OPTIONS_INIT;
  if (!options.ttl.empty()) out.ttl_ms = parse_duration_ms("--ttl", options.ttl);
  if (options.if_absent) out.flags |= WQ_KV_IF_ABSENT;
  if (options.if_version >= 0) {
    out.flags |= WQ_KV_IF_VERSION;
    out.version = static_cast<uint64_t>(options.if_version);
  }
  if (options.if_value_given) {
    out.flags |= WQ_KV_IF_VALUE;
    out.value = bytes_of(options.if_value);
  }
  return out;
}

wq_kv_row row_at(const KvRows& page, size_t i) {
  wq_kv_row row = WQ_KV_ROW_INIT;
  wq_error err = WQ_ERROR_INIT;
  check(wq_kv_page_row(page.get(), i, &row), err);
  return row;
}

Record record_of(const wq_kv_row& row) {
  Record record;
  record.add_bytes("key", view_of(row.key))
      .add_bytes("value", view_of(row.value))
      .add("version", row.version)
      .add("expires_ms", row.expires_ms);
  return record;
}

int get_row(Context& context, const Store& store, const KvOptions& options) {
  wq_error err = WQ_ERROR_INIT;
  KvRows page;
  const int32_t code =
      wq_kv_get(store.get(), options.key.data(), options.key.size(), page.out(), &err);
  if (code == WQ_EMPTY) {
    context.out().note("there is no row " + printable(options.key, value_columns));
    return exit_empty;
  }
  check(code, err);
  const wq_kv_row row = row_at(page, 0);
  if (context.out().json()) {
    context.out().record(record_of(row));
  } else {
    context.out().raw(options.raw ? std::string(view_of(row.value))
                                  : printable(view_of(row.value)) + "\n");
  }
  return exit_ok;
}

int put_row(Context& context, const Store& store, const KvOptions& options,
            const std::string& value) {
  const wq_kv_options how = options_of(options);
  wq_error err = WQ_ERROR_INIT;
  wq_call call = WQ_CALL_INIT;
  call.durability = durability_of("--durability", options.durability);
  uint64_t version = 0;
  check(wq_kv_put(store.get(), options.key.data(), options.key.size(), value.data(), value.size(),
                  &how, &call, &version, &err),
        err);
  if (context.out().json()) {
    context.out().record(Record().add_bytes("key", options.key).add("version", version));
  }
  return exit_ok;
}

int add_to_row(Context& context, const Store& store, const KvOptions& options) {
  const wq_kv_options how = options_of(options);
  wq_error err = WQ_ERROR_INIT;
  wq_call call = WQ_CALL_INIT;
  call.durability = durability_of("--durability", options.durability);
  int64_t sum = 0;
  check(wq_kv_add(store.get(), options.key.data(), options.key.size(), options.by, &how, &call,
                  &sum, &err),
        err);
  if (context.out().json()) {
    context.out().record(Record().add_bytes("key", options.key).add("value", sum));
  } else {
    context.out().line(std::to_string(sum));
  }
  return exit_ok;
}

int remove_row(Context& context, const Store& store, const KvOptions& options) {
  const wq_kv_options how = options_of(options);
  wq_error err = WQ_ERROR_INIT;
  wq_call call = WQ_CALL_INIT;
  call.durability = durability_of("--durability", options.durability);
  const int32_t code =
      wq_kv_erase(store.get(), options.key.data(), options.key.size(), &how, &call, &err);
  if (code == WQ_EMPTY) {
    context.out().note("there is no row " + printable(options.key, value_columns));
    return exit_empty;
  }
  check(code, err);
  if (context.out().json()) {
    context.out().record(Record().add_bytes("key", options.key).add("removed", true));
  }
  return exit_ok;
}

int list_rows(Context& context, const Store& store, const KvOptions& options) {
  Table table({{"key"}, {"value"}, {"version", Table::Align::right}, {"expires"}});
  wq_error err = WQ_ERROR_INIT;
  std::string after;
  uint64_t told = 0;
  for (int32_t more = 1; more != 0 && (options.limit == 0 || told < options.limit);) {
    wq_kv_query query = WQ_KV_QUERY_INIT;
    const uint64_t left = options.limit == 0 ? page_rows : options.limit - told;
    query.limit = static_cast<uint32_t>(left < page_rows ? left : page_rows);
    query.prefix = bytes_of(options.key);
    query.after = bytes_of(after);
    KvRows page;
    const int32_t code = wq_kv_list(store.get(), &query, page.out(), &more, &err);
    if (code == WQ_EMPTY) break;
    check(code, err);
    for (size_t i = 0; i < wq_kv_page_count(page.get()); ++i, ++told) {
      const wq_kv_row row = row_at(page, i);
      after = view_of(row.key);
      if (context.out().json()) {
        context.out().record(record_of(row));
        continue;
      }
      table.add({printable(after, value_columns), printable(view_of(row.value), value_columns),
                 std::to_string(row.version), format_time(row.expires_ms)});
    }
  }
  if (told == 0) {
    context.out().note("there is no row");
    return exit_empty;
  }
  if (!context.out().json()) table.print(context.out());
  return exit_ok;
}

// Who has the lock, which the refusal itself does not tell.
std::string lock_problem(const Store& store, const std::string& key) {
  const std::string name = "the lock '" + printable(key, value_columns) + "'";
  wq_error err = WQ_ERROR_INIT;
  KvRows page;
  const int32_t code = wq_kv_get(store.get(), key.data(), key.size(), page.out(), &err);
  if (code == WQ_EMPTY) return "nobody holds " + name + " (any more)";
  check(code, err);
  const wq_kv_row row = row_at(page, 0);
  return name + " is held by '" + printable(view_of(row.value), value_columns) + "' " +
         (row.expires_ms == 0 ? "without an end; wq kv rm breaks it"
                              : "until " + format_time(row.expires_ms));
}

void check_lock(int32_t code, const wq_error& err, const Store& store, const std::string& key) {
  if (code != WQ_CONFLICT && code != WQ_STALE) return check(code, err);
  throw Failure{exit_code_of(code), code, lock_problem(store, key)};
}

int change_lock(Context& context, const Store& store, KvAction action, const KvOptions& options) {
  const std::string& key = options.key;
  const std::string& owner = options.owner;
  const int64_t ttl_ms = options.ttl.empty() ? 0 : parse_duration_ms("--ttl", options.ttl);
  wq_error err = WQ_ERROR_INIT;
  wq_call call = WQ_CALL_INIT;
  call.durability = durability_of("--durability", options.durability);
  if (action == KvAction::unlock) {
    check_lock(wq_lock_release(store.get(), key.data(), key.size(), owner.data(), owner.size(),
                               &call, &err),
               err, store, key);
  } else {
    const auto change = action == KvAction::lock ? wq_lock_take : wq_lock_extend;
    check_lock(change(store.get(), key.data(), key.size(), owner.data(), owner.size(), ttl_ms,
                      &call, &err),
               err, store, key);
  }
  if (context.out().json()) {
    Record record;
    record.add_bytes("key", key).add_bytes("owner", owner).add("held", action != KvAction::unlock);
    context.out().record(record);
  }
  return exit_ok;
}

}  // namespace

int run_kv(Context& context, KvAction action, const KvOptions& options) {
  const bool makes = action == KvAction::put || action == KvAction::add || action == KvAction::lock;
  const std::string value =
      action == KvAction::put && !options.value_given ? read_standard_input() : options.value;
  const Store store =
      context.open_store({makes ? OpenMode::create : OpenMode::must_exist, false, 0});
  switch (action) {
    case KvAction::get:
      return get_row(context, store, options);
    case KvAction::put:
      return put_row(context, store, options, value);
    case KvAction::add:
      return add_to_row(context, store, options);
    case KvAction::remove:
      return remove_row(context, store, options);
    case KvAction::list:
      return list_rows(context, store, options);
    default:
      return change_lock(context, store, action, options);
  }
}

}  // namespace wq::cli
