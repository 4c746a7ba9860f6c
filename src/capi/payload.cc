// Encryption and compression of payloads: the keys of a store, which of them are in use, and what
// queues and jobs say about it.
#include "capi/capi_internal.h"

namespace wq {
namespace {

static_assert(config_encrypt == WQ_CONFIG_ENCRYPT && config_compress == WQ_CONFIG_COMPRESS);

constexpr size_t keys_max = 1'000;

Status get_keys(Engine& engine, wq_key_use* uses, size_t n, size_t use_size, size_t* count) {
  if (!count) return invalid_field("count", "is NULL");
  if (n > 0 && !uses) return invalid_field("uses", "is NULL but has a length");
  if (n > 0) WQ_TRY(check_stride<wq_key_use>(use_size, "use_size"));
  WQ_TRY_SET(const std::vector<KeyUse> found, engine.key_use());
  *count = found.size();
  for (size_t i = 0; i < found.size() && i < n; i++) {
    wq_key_use out = WQ_KEY_USE_INIT;
    out.id = found[i].id;
    out.payloads = found[i].payloads;
    if (found[i].known) out.flags |= WQ_KEY_KNOWN;
    if (found[i].current) out.flags |= WQ_KEY_CURRENT;
    auto* place = reinterpret_cast<wq_key_use*>(reinterpret_cast<char*>(uses) + i * use_size);
    write_struct(place, use_size, out);
  }
  return {};
}

}  // namespace

Status read_keys(const wq_store_options& in, Keyring& out) {
  if (in.reserved_1 != 0) return unknown_bits("options.reserved_1", in.reserved_1);
  if (in.keys_count > keys_max) {
    return Status(Code::too_large, "options.keys_count is over the limit of 1000");
  }
  if (in.keys_count > 0 && !in.keys) return invalid_field("options.keys", "is NULL");
  for (size_t i = 0; i < in.keys_count; i++) {
    const wq_key& key = in.keys[i];
    if (key.reserved_0 != 0) return unknown_bits("options.keys.reserved_0", key.reserved_0);
    Bytes bytes;
    WQ_TRY(read_bytes(key.bytes.data, key.bytes.len, "options.keys", bytes));
    WQ_TRY(out.add(key.id, bytes));
  }
  return out.make_current(in.current_key);
}

Status read_packing(const wq_queue_config& in, QueueConfig& out) {
  if (in.encrypt > 1) return invalid_field("config.encrypt", "is neither 0 nor 1");
  out.encrypt = in.encrypt == 1;
  out.compress_min_bytes = in.compress_min_bytes;
  return {};
}

Status read_encrypt_flags(uint32_t flags, EncryptWish& out) {
  const bool encrypt = flags & WQ_JOB_ENCRYPT;
  const bool plain = flags & WQ_JOB_PLAIN;
  if (encrypt && plain) return invalid_field("flags", "has WQ_JOB_ENCRYPT and WQ_JOB_PLAIN");
  out = encrypt ? EncryptWish::yes : plain ? EncryptWish::no : EncryptWish::by_queue;
  return {};
}

}  // namespace wq

extern "C" {

int32_t wq_store_get_keys(wq_store* store, wq_key_use* uses, size_t n, size_t use_size,
                          size_t* count, wq_error* err) {
  if (count) *count = 0;
  return wq::with_handle(store, err, [&](wq::Engine& engine) {
    return wq::get_keys(engine, uses, n, use_size, count);
  });
}

}  // extern "C"
