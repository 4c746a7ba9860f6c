// A store with a queue that encrypts, and what tests of sealed payloads do with it. Thread model:
// one thread.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "engine/packing.h"
#include "support/engine_harness.h"

namespace wq {

inline std::string key_of(char fill) {
  return "key " + std::string(seal_key_bytes - 4, fill);
}

// By id, the key filled with a letter; the last one is current.
inline const Keyring* keyring(const std::vector<std::pair<KeyId, char>>& keys) {
  static std::deque<Keyring> rings;
  Keyring& ring = rings.emplace_back();
  for (const auto& [id, fill] : keys) {
    EXPECT_TRUE(ring.add(id, as_bytes(key_of(fill))).ok());
    EXPECT_TRUE(ring.make_current(id).ok());
  }
  return &ring;
}

inline QueueConfig config_of(bool encrypt, uint32_t compress_min_bytes) {
  QueueConfig config;
  config.encrypt = encrypt;
  config.compress_min_bytes = compress_min_bytes;
  return config;
}
constexpr uint32_t packing_fields = config_encrypt | config_compress;

class PayloadTest : public testing::TestWithParam<StoreKind> {
 protected:
  PayloadTest() : harness_(options()) {
    EXPECT_TRUE(harness_.open().ok());
    q_ = harness_.queue("q", config_of(true, 0), packing_fields);
  }
  static HarnessOptions options() {
    HarnessOptions options;
    options.store = GetParam();
    options.engine.segment_bytes = 64 << 10;  // a kill copies the simulated disk
    options.keyring = keyring({{1, 'a'}});
    return options;
  }
  void reopen(const Keyring* keys) {
    ASSERT_TRUE(harness_.close().ok());
    harness_.options().keyring = keys;
    ASSERT_TRUE(harness_.open().ok());
  }
  void checkpoint() { ASSERT_TRUE(harness_.engine().checkpoint().ok()); }
  JobView get(JobId id) {
    Result<JobView> view = harness_.engine().get(q_, id);
    EXPECT_TRUE(view.ok()) << view.status().message();
    return view.ok() ? view.value() : JobView();
  }
  Code lease_code(QueueId queue) {
    LeaseRequest request;
    request.queues = {&queue, 1};
    CallOptions call;
    std::vector<JobView> jobs;
    return harness_.engine().lease(request, call, jobs).code();
  }
  Code enqueue_code(QueueId queue, const JobSpec& spec) {
    CallOptions call;
    JobId id = 0;
    return harness_.engine().enqueue(queue, spec, call, id).code();
  }
  SettleItem fail(const JobView& job) {
    SettleItem item{.id = job.id, .generation = job.generation, .kind = SettleKind::fail};
    item.error = "no";
    return item;
  }
  std::string keys_in_use() {
    const Result<std::vector<KeyUse>> uses = harness_.engine().key_use();
    EXPECT_TRUE(uses.ok()) << uses.status().message();
    std::string out;
    for (const KeyUse& use : uses.value()) {
      out += std::to_string(use.id) +
             (use.current ? "*"
              : use.known ? ""
                          : "?") +
             ":" + std::to_string(use.payloads) + " ";
    }
    return out;
  }

  EngineHarness harness_;
  QueueId q_ = 0;
};

// Jobs in every way in which a job comes to be; what they hold is the same needle.
inline void enqueue_in_every_way(EngineHarness& harness, QueueId queue, const std::string& needle) {
  Engine& engine = harness.engine();
  harness.enqueue(queue, needle);
  JobSpec delayed;
  delayed.delay_ms = 1'000'000;
  harness.enqueue(queue, needle, delayed);
  JobSpec unique;
  unique.traits.key_rule = KeyRule::until_done;
  unique.traits.key = "u";
  harness.enqueue(queue, needle, unique);
  JobSpec debounced;
  debounced.traits.key_rule = KeyRule::debounce;
  debounced.traits.key = "d";
  debounced.debounce_ms = 1'000;
  harness.enqueue(queue, needle, debounced);
  harness.enqueue(queue, needle, debounced);
  std::vector<JobSpec> specs(3);
  for (JobSpec& spec : specs) spec.payload = as_bytes(needle);
  CallOptions call;
  EXPECT_EQ(engine.enqueue_many(queue, specs, false, call, {}).value(), 3u);
  specs[1].traits.idempotency_key = "i";
  specs[1].traits.idempotency_ms = 1'000;
  EXPECT_EQ(engine.enqueue_many(queue, specs, false, call, {}).value(), 3u);
  std::vector<TxnOp> ops(2);
  for (TxnOp& op : ops) op.queue = queue;
  for (TxnOp& op : ops) op.spec.payload = as_bytes(needle);
  std::vector<TxnResult> results(2);
  size_t failed = 0;
  const Status status = engine.transact(ops, call, results, failed);
  EXPECT_TRUE(status.ok()) << status.message();
}
constexpr size_t ways = 12;  // jobs of it that stay

}  // namespace wq
