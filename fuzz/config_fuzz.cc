// Configuring a queue with anything: refused, and the configuration is as it was; or taken, and it
// reads back as given, one version on, also after a reopen.
#include <cstring>

#include "fuzz_check.h"
#include "input.h"
#include "sim_store.h"

namespace wq {
namespace {

wq_queue_config read(wq_queue* queue) {
  wq_queue_config out = WQ_QUEUE_CONFIG_INIT;
  FUZZ_CHECK(wq_queue_get_config(queue, &out, nullptr) == WQ_OK);
  return out;
}

void open_queue(FuzzStore& store, wq_queue** queue) {
  FUZZ_CHECK(store.open() == WQ_OK);
  FUZZ_CHECK(wq_queue_open(store.store, "q", 1, nullptr, 0, queue, nullptr) == WQ_OK);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  FuzzStore store;
  wq_queue* queue = nullptr;
  open_queue(store, &queue);
  for (int i = 0; i < 4 && !input.empty(); ++i) {
    const wq_queue_config before = read(queue);
    auto wanted = input.take<wq_queue_config>();
    wanted.struct_size = sizeof wanted;
    const int32_t code = wq_queue_configure(queue, &wanted, nullptr, nullptr);
    const wq_queue_config after = read(queue);
    if (code != WQ_OK) {
      FUZZ_CHECK(std::memcmp(&before, &after, sizeof before) == 0);
      FUZZ_CHECK(code == WQ_E_INVALID || code == WQ_E_TOO_LARGE || code == WQ_E_UNSUPPORTED ||
                 code == WQ_CONFLICT);
      continue;
    }
    FUZZ_CHECK(after.version == before.version || after.version == before.version + 1);
    if (wanted.fields & WQ_CONFIG_MAX_RUNNING) FUZZ_CHECK(after.max_running == wanted.max_running);
    if (wanted.fields & WQ_CONFIG_MAX_RETRIES) FUZZ_CHECK(after.max_retries == wanted.max_retries);
    if (wanted.fields & WQ_CONFIG_LEASE_MS) FUZZ_CHECK(after.lease_ms == wanted.lease_ms);
    if (wanted.fields & WQ_CONFIG_DURABILITY) FUZZ_CHECK(after.durability == wanted.durability);
    if (wanted.fields & WQ_CONFIG_BACKOFF) FUZZ_CHECK(after.backoff_kind == wanted.backoff_kind);
  }
  const wq_queue_config kept = read(queue);
  wq_queue_close(&queue);
  wq_store_close(&store.store);
  open_queue(store, &queue);
  const wq_queue_config found = read(queue);
  FUZZ_CHECK(std::memcmp(&kept, &found, sizeof kept) == 0);
  wq_queue_close(&queue);
  return 0;
}

}  // namespace wq
