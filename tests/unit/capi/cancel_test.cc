// Ending waits: cancel tokens, closing the queue, the completion queue or the store while a lease
// sleeps (bug case 42 b), and wake-ups that must not get lost (bug case 47). Real clock and
// threads: nothing here waits for a time, every wait ends by what it waits for.
#include <chrono>
#include <thread>

#include "base/prng.h"
#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

using CapiWait = CapiReal;

constexpr int64_t for_ever_ms = -1;
constexpr int64_t ns_per_ms = 1'000'000;

// A lease on its own thread that waits for ever.
class Waiting {
 public:
  Waiting(wq_store* store, wq_queue* queue, wq_cancel* cancel = nullptr, wq_call* call = nullptr)
      : thread_([=, this] {
          wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
          options.wait_ms = for_ever_ms;
          wq_batch* batch = nullptr;
          code_ = wq_lease(store, &queue, 1, &options, cancel, call, &batch, nullptr);
          ended_ns_ = system_clock().mono_ns();
          jobs_ = seen_all(batch);
        }) {}
  ~Waiting() {
    if (thread_.joinable()) thread_.join();
  }
  int32_t join() {
    thread_.join();
    return code_;
  }
  int64_t ended_ns() const { return ended_ns_; }
  const std::vector<SeenJob>& jobs() const { return jobs_; }

 private:
  int32_t code_ = 0;
  int64_t ended_ns_ = 0;
  std::vector<SeenJob> jobs_;
  std::thread thread_;
};

// Until `n` leases sleep.
void until_waiting(wq_store* store, uint64_t n) {
  wq_store_stats stats = WQ_STORE_STATS_INIT;
  do {
    std::this_thread::yield();
    ASSERT_OK(wq_store_get_stats(store, &stats, err()));
  } while (stats.waiting != n);
}

TEST_F(CapiWait, FiringEndsTheWaitAndLaterCalls) {
  wq_cancel* cancel = nullptr;
  ASSERT_OK(wq_cancel_new(&cancel, err()));
  Waiting first(store_, queue_, cancel);
  Waiting second(store_, queue_, cancel);
  Waiting bystander(store_, queue_);
  until_waiting(store_, 3);
  const int64_t fired_ns = system_clock().mono_ns();
  wq_cancel_fire(cancel);
  EXPECT_EQ(first.join(), WQ_CANCELLED);
  EXPECT_EQ(second.join(), WQ_CANCELLED);
  EXPECT_LT(first.ended_ns() - fired_ns, 100 * ns_per_ms);
  wq_cancel_fire(cancel);
  enqueue(queue_, "for the bystander");
  EXPECT_EQ(bystander.join(), WQ_OK);

  enqueue(queue_, "not taken");
  wq_batch* batch = nullptr;
  EXPECT_EQ(wq_lease(store_, &queue_, 1, nullptr, cancel, nullptr, &batch, err()), WQ_CANCELLED);
  EXPECT_EQ(stats_of(queue_).ready, 1u);
  wq_cancel_free(&cancel);
}

TEST_F(CapiWait, ACancelledLeaseTookNothing) {
  // Fire and enqueue race. Whatever wins, the job is either in the batch or still ready.
  for (int round = 0; round < 200; round++) {
    wq_cancel* cancel = nullptr;
    ASSERT_OK(wq_cancel_new(&cancel, err()));
    Waiting waiting(store_, queue_, cancel);
    std::thread firing([&] { wq_cancel_fire(cancel); });
    enqueue(queue_, "x");
    firing.join();
    const int32_t code = waiting.join();
    if (code == WQ_OK) {
      ASSERT_EQ(waiting.jobs().size(), 1u);
      const wq_job& job = waiting.jobs()[0].job;
      ASSERT_OK(wq_ack(queue_, job.id, job.generation, nullptr, err()));
    } else {
      ASSERT_EQ(code, WQ_CANCELLED);
      const std::vector<SeenJob> left = lease(store_, queue_);
      ASSERT_EQ(left.size(), 1u) << "round " << round;
      ASSERT_OK(wq_ack(queue_, left[0].job.id, left[0].job.generation, nullptr, err()));
    }
    wq_cancel_free(&cancel);
  }
  EXPECT_EQ(stats_of(queue_).leased + stats_of(queue_).ready, 0u);
}

TEST_F(CapiWait, ClosingTheQueueHandleEndsItsWaits) {
  wq_queue* other = open_queue(store_, "q");
  Waiting on_other(store_, other);
  Waiting on_queue(store_, queue_);
  until_waiting(store_, 2);
  const int64_t closed_ns = system_clock().mono_ns();
  wq_queue_close(&other);  // returns after the lease has left
  EXPECT_EQ(on_other.join(), WQ_E_CLOSED);
  EXPECT_LT(on_other.ended_ns() - closed_ns, 100 * ns_per_ms);
  enqueue(queue_, "x");
  EXPECT_EQ(on_queue.join(), WQ_OK) << "the other handle's wait goes on";
}

TEST_F(CapiWait, ClosingTheCompletionQueueEndsTheLeaseThatUsesIt) {
  wq_cq* cq = nullptr;
  ASSERT_OK(wq_cq_open(store_, &cq, err()));
  wq_call call = WQ_CALL_INIT;
  call.cq = cq;
  Waiting waiting(store_, queue_, nullptr, &call);
  until_waiting(store_, 1);
  wq_cq_close(&cq);
  EXPECT_EQ(waiting.join(), WQ_E_CLOSED);
  EXPECT_EQ(call.lsn, 0u);
}

TEST_F(CapiWait, BugCase42ClosingTheStoreEndsEveryWait) {
  wq_cancel* cancel = nullptr;
  ASSERT_OK(wq_cancel_new(&cancel, err()));
  wq_queue* other = open_queue(store_, "other");
  wq_cq* cq = nullptr;
  ASSERT_OK(wq_cq_open(store_, &cq, err()));
  Waiting first(store_, queue_);
  Waiting second(store_, other, cancel);
  int32_t poll_code = 0;
  std::thread poller([&] {
    wq_event event = WQ_EVENT_INIT;
    size_t count = 0;
    poll_code = wq_cq_poll(cq, &event, 1, sizeof event, for_ever_ms, &count, nullptr);
  });
  until_waiting(store_, 2);
  const int64_t closing_ns = system_clock().mono_ns();
  wq_store_close(&store_);
  const int64_t closed_ns = system_clock().mono_ns();
  EXPECT_EQ(first.join(), WQ_E_CLOSED);
  EXPECT_EQ(second.join(), WQ_E_CLOSED);
  EXPECT_LT(first.ended_ns() - closing_ns, 100 * ns_per_ms);
  EXPECT_LT(second.ended_ns() - closing_ns, 100 * ns_per_ms);
  EXPECT_GE(closed_ns, first.ended_ns()) << "close returns after the callers have left";
  poller.join();
  EXPECT_EQ(poll_code, WQ_E_CLOSED);
  wq_cq_close(&cq);
  wq_queue_close(&other);
  wq_cancel_free(&cancel);
}

TEST_F(CapiWait, ClosingWhileManyThreadsCall) {
  std::atomic<int> odd{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; i++) {
    threads.emplace_back([&, i] {
      wq_call call = WQ_CALL_INIT;
      call.durability = WQ_MEMORY;
      const wq_job_spec spec = spec_of("x");
      for (;;) {
        wq_batch* batch = nullptr;
        const int32_t code =
            i == 0 ? wq_enqueue(queue_, &spec, &call, nullptr, nullptr)
                   : wq_lease(store_, &queue_, 1, nullptr, nullptr, &call, &batch, nullptr);
        wq_batch_free(&batch);
        if (code == WQ_E_CLOSED || code == WQ_E_INVALID) break;  // invalid: store_ is NULL by now
        if (code != WQ_OK && code != WQ_EMPTY) odd++;
      }
    });
  }
  while (stats_of(queue_).leased_total < 100) std::this_thread::yield();
  wq_store* closing = store_;
  wq_store_close(&closing);  // a copy: the threads go on reading store_
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(odd, 0);
  store_ = nullptr;
}

TEST_F(CapiWait, DeletingTheQueueEndsItsWaits) {
  Waiting waiting(store_, queue_);
  until_waiting(store_, 1);
  ASSERT_OK(wq_queue_delete(queue_, nullptr, err()));
  EXPECT_EQ(waiting.join(), WQ_E_NOT_FOUND);
}

TEST_F(CapiWait, ShutdownEndsWaitsAndTellsOfWhatIsStillOut) {
  enqueue(queue_, "x");
  const SeenJob job = lease(store_, queue_)[0];
  Waiting waiting(store_, queue_);
  until_waiting(store_, 1);
  EXPECT_CODE(WQ_TIMEOUT, wq_store_shutdown(store_, 0, err()));
  EXPECT_EQ(waiting.join(), WQ_E_CLOSED);
  wq_store_stats stats = WQ_STORE_STATS_INIT;
  ASSERT_OK(wq_store_get_stats(store_, &stats, err()));
  EXPECT_EQ(stats.status, WQ_STORE_DRAINING);
  EXPECT_EQ(stats.durable_lsn, stats.last_lsn);
  enqueue(queue_, "still taken");
  wq_batch* batch = nullptr;
  EXPECT_CODE(WQ_E_CLOSED, wq_lease(store_, &queue_, 1, nullptr, nullptr, nullptr, &batch, err()));
  std::thread settling([&] { wq_ack(queue_, job.job.id, job.job.generation, nullptr, nullptr); });
  EXPECT_OK(wq_store_shutdown(store_, for_ever_ms, err()));
  settling.join();
  EXPECT_CODE(WQ_E_INVALID, wq_store_shutdown(store_, -2, err()));
}

// What else must wake a sleeping lease: nack, release, resume, enable, a cleared slot, replay.
TEST_F(CapiWait, EverythingThatMakesAJobAvailableWakes) {
  const auto wakes = [&](const char* what, auto act) {
    SCOPED_TRACE(what);
    Waiting waiting(store_, queue_);
    until_waiting(store_, 1);
    const int64_t begin_ns = system_clock().mono_ns();
    act();
    ASSERT_EQ(waiting.join(), WQ_OK);
    EXPECT_LT(waiting.ended_ns() - begin_ns, 500 * ns_per_ms);
    const wq_job& job = waiting.jobs()[0].job;
    ASSERT_OK(wq_ack(queue_, job.id, job.generation, nullptr, err()));
  };
  wakes("enqueue", [&] { enqueue(queue_, "x"); });
  wakes("a delayed job", [&] {
    wq_job_spec spec = spec_of("x");
    spec.delay_ms = 20;
    ASSERT_OK(wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
  });
  enqueue(queue_, "x");
  SeenJob job = lease(store_, queue_)[0];
  wakes("nack", [&] {
    ASSERT_OK(wq_nack(queue_, job.job.id, job.job.generation, nullptr, nullptr, err()));
  });
  enqueue(queue_, "x");
  job = lease(store_, queue_)[0];
  wakes("release", [&] {
    ASSERT_OK(wq_release(queue_, job.job.id, job.job.generation, 0, 0, nullptr, err()));
  });
  enqueue(queue_, "x");
  lease(store_, queue_, 1, 30);
  wakes("lease expiry", [] {});
  enqueue(queue_, "x");
  job = lease(store_, queue_)[0];
  ASSERT_OK(wq_fail(queue_, job.job.id, job.job.generation, "x", 1, nullptr, err()));
  wakes("replay",
        [&] { ASSERT_OK(wq_dead_replay(queue_, job.job.id, job.job.generation, nullptr, err())); });
  ASSERT_OK(wq_queue_pause(queue_, nullptr, err()));
  enqueue(queue_, "x");
  wakes("resume", [&] { ASSERT_OK(wq_queue_resume(queue_, nullptr, err())); });
  enqueue(queue_, "x");
  ASSERT_OK(wq_queue_disable(queue_, nullptr, err()));
  wakes("enable", [&] { ASSERT_OK(wq_queue_enable(queue_, nullptr, err())); });

  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_MAX_RUNNING;
  config.max_running = 1;
  ASSERT_OK(wq_queue_configure(queue_, &config, nullptr, err()));
  enqueue(queue_, "first");
  enqueue(queue_, "second");
  job = lease(store_, queue_)[0];
  wakes("a freed slot",
        [&] { ASSERT_OK(wq_ack(queue_, job.job.id, job.job.generation, nullptr, err())); });
  enqueue(queue_, "first");
  enqueue(queue_, "second");
  job = lease(store_, queue_)[0];
  wakes("a raised limit", [&] {
    config.max_running = 2;
    ASSERT_OK(wq_queue_configure(queue_, &config, nullptr, err()));
  });
}

// Bug case 47: a job that comes between "the queue is empty" and "I am waiting".
TEST_F(CapiWait, BugCase47NoWakeUpIsLost) {
  const uint64_t seed = os_entropy();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Prng prng(seed);
  constexpr int rounds = 5'000;
  std::atomic<int64_t> enqueued_ns{0};
  std::atomic<int> turn{0};
  std::vector<int64_t> pick_up_ns;
  std::thread consumer([&] {
    wq_call call = WQ_CALL_INIT;
    call.durability = WQ_MEMORY;
    for (int round = 0; round < rounds; round++) {
      turn = round + 1;
      wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
      options.wait_ms = 10'000;
      wq_batch* batch = nullptr;
      if (wq_lease(store_, &queue_, 1, &options, nullptr, &call, &batch, nullptr) != WQ_OK) break;
      pick_up_ns.push_back(system_clock().mono_ns() - enqueued_ns);
      const SeenJob job = seen_all(batch)[0];
      wq_ack(queue_, job.job.id, job.job.generation, &call, nullptr);
    }
    turn = rounds + 1;
  });
  wq_call call = WQ_CALL_INIT;
  call.durability = WQ_MEMORY;
  const wq_job_spec spec = spec_of("x");
  for (int round = 0; round < rounds; round++) {
    while (turn < round + 1) std::this_thread::yield();
    const int64_t until_ns = system_clock().mono_ns() + static_cast<int64_t>(prng.below(300'000));
    while (system_clock().mono_ns() < until_ns) {
    }
    enqueued_ns = system_clock().mono_ns();
    ASSERT_OK(wq_enqueue(queue_, &spec, &call, nullptr, err()));
  }
  consumer.join();
  ASSERT_EQ(pick_up_ns.size(), static_cast<size_t>(rounds));
  std::sort(pick_up_ns.begin(), pick_up_ns.end());
  // The machine may be busy with other tests; a lost wake-up costs a second, the cap of a sleep.
  EXPECT_LT(pick_up_ns[rounds * 999 / 1000], 100 * ns_per_ms);
  EXPECT_LT(pick_up_ns.back(), 800 * ns_per_ms);
}

TEST_F(CapiWait, BugCase47OneJobForEightWaitersEach) {
  std::vector<std::unique_ptr<Waiting>> waiting;
  for (int i = 0; i < 8; i++) waiting.push_back(std::make_unique<Waiting>(store_, queue_));
  until_waiting(store_, 8);
  for (uint64_t left = 8; left > 0; left--) {
    enqueue(queue_, "x");
    until_waiting(store_, left - 1);
  }
  for (const auto& one : waiting) {
    EXPECT_EQ(one->join(), WQ_OK);
    EXPECT_EQ(one->jobs().size(), 1u);
  }
}

TEST_F(CapiWait, BugCase47EarlierDueJobWakesTheSleeper) {
  wq_job_spec spec = spec_of("late");
  spec.delay_ms = 60'000;
  ASSERT_OK(wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
  Waiting waiting(store_, queue_);
  until_waiting(store_, 1);
  spec = spec_of("soon");
  spec.delay_ms = 50;
  const int64_t begin_ns = system_clock().mono_ns();
  ASSERT_OK(wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
  EXPECT_EQ(waiting.join(), WQ_OK);
  EXPECT_EQ(waiting.jobs()[0].payload, "soon");
  EXPECT_GE(waiting.ended_ns() - begin_ns, 48 * ns_per_ms);
  EXPECT_LT(waiting.ended_ns() - begin_ns, 500 * ns_per_ms);
}

TEST_F(CapiWait, AWaitThatRunsOutIsEmptyOrSaysWhyNot) {
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  options.wait_ms = 20;
  wq_batch* batch = nullptr;
  const int64_t begin_ns = system_clock().mono_ns();
  EXPECT_CODE(WQ_EMPTY, wq_lease(store_, &queue_, 1, &options, nullptr, nullptr, &batch, err()));
  EXPECT_GE(system_clock().mono_ns() - begin_ns, 20 * ns_per_ms);
  ASSERT_OK(wq_queue_pause(queue_, nullptr, err()));
  EXPECT_CODE(WQ_PAUSED, wq_lease(store_, &queue_, 1, &options, nullptr, nullptr, &batch, err()));
}

}  // namespace
}  // namespace wq::capi_test
