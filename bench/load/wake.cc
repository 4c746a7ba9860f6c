#include "wake.h"

#include <atomic>
#include <thread>

#include "payload.h"

namespace wq::bench {

namespace {

constexpr int64_t lease_wait_ms = 10'000;
constexpr uint64_t settle_ns =
    200'000;  // from "waits" to the push: the thread is really asleep then

void wait_until_blocked(const WqStore& store) {
  while (store.stats().waiting == 0) std::this_thread::yield();
  const uint64_t until = now_ns() + settle_ns;
  while (now_ns() < until) std::this_thread::yield();
}

}  // namespace

LatencySampler measure_wake_ups(const WqStore& store, size_t samples) {
  Ledger ledger(samples);
  std::atomic<uint64_t> woken_ns{0};  // 0: the consumer has not finished its job yet
  std::thread consumer([&] {
    WqCalls calls(store);
    for (size_t i = 0; i < samples; i++) {
      WqBatch batch;
      const bool leased = calls.lease(1, lease_wait_ms, nullptr, &batch);
      const uint64_t now = now_ns();
      if (!leased) fail("a blocked lease was not woken up");
      const wq_job job = batch.job(0);
      ledger.deliver(payload_of(job));
      const wq_token token{job.id, job.generation};
      wq_call ack = WQ_CALL_INIT;
      ack.durability = WQ_MEMORY;
      calls.ack({&token, 1}, &ack);
      woken_ns.store(now, std::memory_order_release);
    }
  });
  WqCalls calls(store);
  PayloadBatch payloads(1);
  LatencySampler times;
  for (size_t i = 0; i < samples; i++) {
    wait_until_blocked(store);
    const auto payload = payloads.make(ledger.issue(1), 1);
    wq_call call = WQ_CALL_INIT;
    call.durability = WQ_MEMORY;
    const uint64_t start = now_ns();
    calls.enqueue(payload, &call);
    uint64_t woken = 0;
    while ((woken = woken_ns.exchange(0, std::memory_order_acquire)) == 0) {
      std::this_thread::yield();
    }
    times.add(woken - start);
  }
  consumer.join();
  ledger.finish("wake");
  return times;
}

}  // namespace wq::bench
