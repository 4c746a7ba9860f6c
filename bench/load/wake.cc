#include "wake.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "payload.h"

namespace wq::bench {

namespace {

constexpr int64_t lease_wait_ms = 10'000;
constexpr uint64_t settle_ns =
    200'000;  // from "waits" to the push: the thread is really asleep then

void let_fall_asleep() {
  const uint64_t until = now_ns() + settle_ns;
  while (now_ns() < until) std::this_thread::yield();
}

void wait_until_blocked(const WqStore& store) {
  while (store.stats().waiting == 0) std::this_thread::yield();
  let_fall_asleep();
}

// When the consumer woke up. Spins, so that only the consumer's processor was asleep.
uint64_t take_time(std::atomic<uint64_t>& woken_ns) {
  uint64_t woken = 0;
  while ((woken = woken_ns.exchange(0, std::memory_order_acquire)) == 0) std::this_thread::yield();
  return woken;
}

// One slot that a producer fills and a consumer waits for.
class Slot {
 public:
  void take_when_full() {
    std::unique_lock<std::mutex> lock(mutex_);
    waiting_ = true;
    filled_.wait(lock, [&] { return full_; });
    full_ = waiting_ = false;
  }
  bool is_waited_for() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return waiting_;
  }
  void fill() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      full_ = true;
    }
    filled_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable filled_;
  bool waiting_ = false;
  bool full_ = false;
};

}  // namespace

LatencySampler measure_raw_wake_ups(size_t samples) {
  Slot slot;
  std::atomic<uint64_t> woken_ns{0};
  std::thread consumer([&] {
    for (size_t i = 0; i < samples; i++) {
      slot.take_when_full();
      woken_ns.store(now_ns(), std::memory_order_release);
    }
  });
  LatencySampler times;
  for (size_t i = 0; i < samples; i++) {
    while (!slot.is_waited_for()) std::this_thread::yield();
    let_fall_asleep();
    const uint64_t start = now_ns();
    slot.fill();
    times.add(take_time(woken_ns) - start);
  }
  consumer.join();
  return times;
}

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
    times.add(take_time(woken_ns) - start);
  }
  consumer.join();
  ledger.finish("wake");
  return times;
}

}  // namespace wq::bench
