#include "relay/store_calls.h"

#include <charconv>

namespace wq::relay {

std::string count_key(const std::string& queue, const char* name) {
  return "wq-relay/" + queue + "/" + name;
}

wq_queue_stats stats_of(wq_queue* queue) {
  wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
  CallError err;
  err.check(wq_queue_get_stats(queue, &stats, err.get()));
  return stats;
}

std::string kv_value(wq_store* store, const std::string& key) {
  wq_kv_page* page = nullptr;
  wq_kv_row row = WQ_KV_ROW_INIT;
  CallError err;
  const int32_t code = wq_kv_get(store, key.data(), key.size(), &page, err.get());
  if (code == WQ_E_NOT_FOUND || code == WQ_EMPTY) return "";
  err.check(code);
  std::string value;
  if (wq_kv_page_row(page, 0, &row) == WQ_OK) {
    value.assign(static_cast<const char*>(row.value.data), row.value.len);
  }
  wq_kv_page_free(&page);
  return value;
}

int64_t kv_number(wq_store* store, const std::string& key) {
  const std::string text = kv_value(store, key);
  int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

void kv_add(wq_store* store, const std::string& key, int64_t by) {
  CallError err;
  err.check(wq_kv_add(store, key.data(), key.size(), by, nullptr, nullptr, nullptr, err.get()));
}

}  // namespace wq::relay
