// Reported bugs about calls from several threads: cases 42, 47, 54, 55.
#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <functional>
#include <map>
#include <thread>

#include "base/mutex.h"
#include "base/prng.h"
#include "bugs/real_store.h"
#include "bugs/small_store.h"
#include "test_seed.h"

namespace wq {
namespace {

// Until so many calls are asleep in lease(). No sleeping here: it is a matter of microseconds.
void wait_for_waiters(Engine& engine, uint64_t waiters) {
  while (engine.stats().waiting != waiters) std::this_thread::yield();
}

// ---- 42: a handle used after close, or closed by another thread during a call, kills the host.
// The part of the engine; the handles of the C ABI are in tests/unit/capi.

TEST(BugCase, C42_CloseEndsBlockedLeases) {
  for (int round = 0; round < scaled(20, 200); ++round) {
    RealStore store;
    store.open();
    const QueueId q = store.queue("q");
    std::vector<std::thread> waiters;
    std::atomic<int> left{0};
    std::atomic<int64_t> left_us{0};
    for (int i = 0; i < 3; ++i) {
      waiters.emplace_back([&] {
        LeaseRequest request;
        request.queues = std::span(&q, 1);
        request.wait_ms = 10'000;
        CallOptions call;
        std::vector<JobView> jobs;
        EXPECT_EQ(store.engine().lease(request, call, jobs).code(), Code::closed);
        ++left;
        left_us = now_us();
      });
    }
    wait_for_waiters(store.engine(), 3);
    const int64_t start_us = now_us();
    EXPECT_TRUE(store.engine().close().ok());
    for (std::thread& waiter : waiters) waiter.join();
    EXPECT_EQ(left, 3);
    EXPECT_LT(left_us - start_us, lost_us);  // the bar is 100 ms
  }
}

TEST(BugCase, C42_AfterCloseEveryCallSaysSo) {
  EngineHarness harness(small_store());
  ASSERT_TRUE(harness.open().ok());
  Engine& engine = harness.engine();
  const QueueId q = harness.queue("q");
  const JobId id = harness.enqueue(q, "outlives the store");
  const JobView job = harness.lease(q).at(0);
  ASSERT_TRUE(engine.close().ok());
  EXPECT_EQ(engine.close().code(), Code::closed);

  CallOptions call;
  const Token token{job.id, job.generation};
  std::vector<JobView> jobs;
  LeaseRequest request;
  request.queues = std::span(&q, 1);
  JobId other = 0;
  Code code = Code::internal;
  SettleItem item;
  const std::function<Code()> calls[] = {
      [&] { return engine.open_queue("q", {}, 0, true, call).status().code(); },
      [&] { return engine.configure(q, {}, config_max_running, call).code(); },
      [&] { return engine.change_status(q, Engine::StatusChange::pause, call).code(); },
      [&] { return engine.config(q).status().code(); },
      [&] { return engine.clear(q, 0, call).status().code(); },
      [&] { return engine.remove_queue(q, call).code(); },
      [&] { return engine.queue_stats(q).status().code(); },
      [&] { return engine.queue_names().status().code(); },
      [&] { return engine.enqueue(q, {}, call, other).code(); },
      [&] { return engine.cancel(q, id, call).code(); },
      [&] { return engine.get(q, id).status().code(); },
      [&] { return engine.lease(request, call, jobs).code(); },
      [&] { return engine.confirm(q, token, 0, call).code(); },
      [&] {
        return engine.extend(q, {&token, 1}, 0, call, {&code, 1}).code();
      },
      [&] {
        return engine.settle(q, {&item, 1}, call, {&code, 1}).code();
      },
      [&] { return engine.dead_list(q, {}).status().code(); },
      [&] { return engine.dead_get(q, token).status().code(); },
      [&] { return engine.dead_replay(q, token, call).code(); },
      [&] { return engine.dead_remove(q, token, call).code(); },
      [&] { return engine.tick().status().code(); },
      [&] { return engine.sync().code(); },
      [&] { return engine.checkpoint().code(); },
      [&] { return engine.verify().status().code(); },
      [&] { return engine.shutdown(0).code(); },
      [&] { return engine.open_completion().status().code(); },
  };
  int number = 0;
  for (const auto& run : calls) EXPECT_EQ(run(), Code::closed) << "call " << number++;
  engine.stats();                                       // is always allowed
  ASSERT_TRUE(harness.close().code() == Code::closed);  // and takes the engine away
  EXPECT_EQ(payload_of(job), "outlives the store");
}

// Threads in every kind of call while another one closes: each call has its effect or says CLOSED.
TEST(BugCase, C42_CloseAmidCalls) {
  for (int round = 0; round < scaled(10, 200); ++round) {
    RealStore store;
    store.open();
    const QueueId q = store.queue("q");
    std::atomic<uint64_t> enqueued{0};
    std::atomic<uint64_t> acked{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (;;) {
          JobSpec spec;
          CallOptions call;
          call.durability = static_cast<uint32_t>(Durability::process);
          JobId id = 0;
          Status status = store.engine().enqueue(q, spec, call, id);
          if (status.code() == Code::closed) return;
          EXPECT_TRUE(status.ok()) << status.message();
          ++enqueued;
          LeaseRequest request;
          request.queues = std::span(&q, 1);
          std::vector<JobView> jobs;
          status = store.engine().lease(request, call, jobs);
          if (status.code() == Code::closed) return;
          for (const JobView& job : jobs) {
            const Code code = settle(store.engine(), q, job);
            if (code == Code::closed) return;
            EXPECT_EQ(code, Code::ok);
            ++acked;
          }
        }
      });
    }
    while (acked < 50) std::this_thread::yield();
    EXPECT_TRUE(store.engine().close().ok());
    for (std::thread& thread : threads) thread.join();
    store.open();
    const QueueStats stats = store.engine().queue_stats(q).value();
    // OK means that it happened; CLOSED may mean that it did as well.
    EXPECT_GE(stats.totals.enqueued, enqueued.load());
    EXPECT_LE(stats.totals.enqueued, enqueued + threads.size());
    EXPECT_GE(stats.totals.acked, acked.load());
    EXPECT_LE(stats.totals.acked, acked + threads.size());
    store.expect_sound();
  }
}

// ---- 47: a wake-up between "it is empty" and "I wait" is lost.

// 20,000 rounds with WQ_LONG, 3,000 in CI.
TEST(BugCase, C47_NoWakeUpIsLost) {
  Prng prng(test_seed());
  RealStore store;
  store.open();
  const QueueId q = store.queue("q");
  const int rounds = scaled(3'000, 20'000);
  std::atomic<int64_t> put_us{0};
  std::atomic<int> taken{0};
  Latencies pick_up;
  std::thread consumer([&] {
    for (int i = 0; i < rounds; ++i) {
      const std::vector<JobView> jobs = lease(store.engine(), q, 1, 60'000, 10'000);
      pick_up.add(now_us() - put_us.load());
      if (jobs.size() != 1) ADD_FAILURE() << "nothing after ten seconds";
      for (const JobView& job : jobs) EXPECT_EQ(settle(store.engine(), q, job), Code::ok);
      taken.store(i + 1);
    }
  });
  for (int i = 0; i < rounds; ++i) {
    spin_us(prng.below(300));
    JobId id = 0;
    put_us.store(now_us());
    EXPECT_TRUE(enqueue(store.engine(), q, "j", id).ok());
    while (taken.load() <= i) std::this_thread::yield();
  }
  consumer.join();
  pick_up.print("pick-up by a waiting consumer");
  EXPECT_LT(pick_up.max(), lost_us);  // the bar is p99.9 < 20 ms, max 100 ms
}

// Several times: a maintenance that nobody wakes may be about to look up by itself, but not each
// time, since it falls asleep for a second when a round is over.
TEST(BugCase, C47_AnEarlierDueJobWakesTheSleeper) {
  RealStore store;
  store.open();
  const QueueId q = store.queue("q");
  JobId id = 0;
  ASSERT_TRUE(enqueue(store.engine(), q, "far", id, 60'000).ok());
  for (int round = 0; round < 4; ++round) {
    std::vector<JobView> jobs;
    std::atomic<int64_t> picked_us{0};
    std::thread consumer([&] {
      jobs = lease(store.engine(), q, 1, 60'000, 20'000);
      picked_us = now_us();
    });
    wait_for_waiters(store.engine(), 1);
    const int64_t put_us = now_us();
    ASSERT_TRUE(enqueue(store.engine(), q, "near", id, 50).ok());
    consumer.join();
    ASSERT_EQ(jobs.size(), 1u);
    EXPECT_EQ(payload_of(jobs[0]), "near");
    std::printf("a job with a delay of 50 ms was there after %lld us\n",
                static_cast<long long>(picked_us - put_us));
    EXPECT_GE(picked_us - put_us, 48'000);  // never early; the clocks are whole milliseconds
    EXPECT_LT(picked_us - put_us, lost_us);
  }
}

TEST(BugCase, C47_OneJobWakesOneOfEight) {
  constexpr int waiters = 8;
  RealStore store;
  store.open();
  const QueueId q = store.queue("q");
  std::vector<std::thread> threads;
  std::atomic<int> got{0};
  for (int i = 0; i < waiters; ++i) {
    threads.emplace_back([&] {
      EXPECT_EQ(lease(store.engine(), q, 1, 60'000, 30'000).size(), 1u);
      ++got;
    });
  }
  wait_for_waiters(store.engine(), waiters);
  const std::clock_t cpu_before = std::clock();
  const int64_t start_us = now_us();
  for (int i = 0; i < waiters; ++i) {
    JobId id = 0;
    ASSERT_TRUE(enqueue(store.engine(), q, "j", id).ok());
    while (got.load() <= i) std::this_thread::yield();
    EXPECT_EQ(got.load(), i + 1);
    wait_for_waiters(store.engine(), static_cast<uint64_t>(waiters - i - 1));
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%d wake-ups in %lld us, %lld us of processor time\n", waiters,
              static_cast<long long>(now_us() - start_us),
              static_cast<long long>((std::clock() - cpu_before) * us_per_s / CLOCKS_PER_SEC));
  EXPECT_LT(now_us() - start_us, lost_us * waiters);
}

TEST(BugCase, C47_SleepersUseNoProcessor) {
  RealStore store;
  store.open();
  const QueueId q = store.queue("q");
  JobId id = 0;
  ASSERT_TRUE(enqueue(store.engine(), q, "far", id, 3'600'000).ok());
  std::vector<std::thread> threads;
  const std::clock_t cpu_before = std::clock();
  const int64_t start_us = now_us();
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] { lease(store.engine(), q, 1, 60'000, scaled(2'000, 10'000)); });
  }
  for (std::thread& thread : threads) thread.join();
  const int64_t wall_us = now_us() - start_us;
  const int64_t cpu_us = (std::clock() - cpu_before) * us_per_s / CLOCKS_PER_SEC;
  std::printf("8 waiters for %lld ms: %lld us of processor time\n",
              static_cast<long long>(wall_us / 1'000), static_cast<long long>(cpu_us));
  EXPECT_LT(cpu_us, wall_us / 5);  // the bar is 1 %; spinning would be 100 % and more
}

// Everything that makes a job available wakes a waiter.
class WakeCase {
 public:
  explicit WakeCase(RealStore& store) : store_(store) {
    QueueConfig config;
    config.max_running = 2;
    config.max_retries = 5;
    queue_ = store.queue("q" + std::to_string(number()++), config,
                         config_max_running | config_max_retries);
  }

  void expect_wake(const char* what, const std::function<void()>& action) {
    SCOPED_TRACE(what);
    std::vector<JobView> jobs;
    std::atomic<int64_t> woken_us{0};
    std::thread waiter([&] {
      jobs = lease(store_.engine(), queue_, 1, 60'000, 30'000);
      woken_us = now_us();
    });
    wait_for_waiters(store_.engine(), 1);
    const int64_t start_us = now_us();
    action();
    waiter.join();
    EXPECT_EQ(jobs.size(), 1u);
    std::printf("%s: %lld us\n", what, static_cast<long long>(woken_us - start_us));
    EXPECT_LT(woken_us - start_us, lost_us);
  }

  QueueId queue() const { return queue_; }
  JobId put(int64_t delay_ms = 0) {
    JobId id = 0;
    EXPECT_TRUE(enqueue(store_.engine(), queue_, "j", id, delay_ms).ok());
    return id;
  }
  JobView take(int64_t lease_ms = 60'000) {
    return lease(store_.engine(), queue_, 1, lease_ms).at(0);
  }
  void fill() {  // both slots are taken, and one more job is ready
    put();
    put();
    held_ = take();
    take();
    put();
  }
  const JobView& held() const { return held_; }

 private:
  static int& number() {
    static int number = 0;
    return number;
  }
  RealStore& store_;
  QueueId queue_ = 0;
  JobView held_;
};

TEST(BugCase, C47_JobsThatComeBackWakeAWaiter) {
  RealStore store;
  store.open();
  Engine& engine = store.engine();
  CallOptions call = in_memory();
  for (const SettleKind kind : {SettleKind::nack, SettleKind::release}) {
    WakeCase wake(store);
    wake.put();
    const JobView job = wake.take();
    wake.expect_wake(kind == SettleKind::nack ? "nack" : "release",
                     [&] { EXPECT_EQ(settle(engine, wake.queue(), job, kind), Code::ok); });
  }
  {
    WakeCase wake(store);
    wake.put();
    wake.take(50);
    wake.expect_wake("expiry, of a lease of 50 ms", [] {});
  }
  {
    WakeCase wake(store);
    wake.put(50);
    wake.expect_wake("promotion, after 50 ms", [] {});
  }
  {
    WakeCase wake(store);
    wake.put();
    const JobView job = wake.take();
    EXPECT_EQ(settle(engine, wake.queue(), job, SettleKind::fail), Code::ok);
    wake.expect_wake("replay", [&] {
      EXPECT_TRUE(engine.dead_replay(wake.queue(), Token{job.id, job.generation}, call).ok());
    });
  }
  {
    WakeCase wake(store);
    std::vector<JobSpec> specs(3);
    wake.expect_wake("enqueue_many", [&] {
      EXPECT_TRUE(engine.enqueue_many(wake.queue(), specs, false, call, {}).ok());
    });
  }
}

TEST(BugCase, C47_SlotsThatBecomeFreeWakeAWaiter) {
  RealStore store;
  store.open();
  Engine& engine = store.engine();
  CallOptions call = in_memory();
  for (const SettleKind kind : {SettleKind::ack, SettleKind::fail}) {
    WakeCase wake(store);
    wake.fill();
    wake.expect_wake(kind == SettleKind::ack ? "slot freed by ack" : "slot freed by fail",
                     [&] { EXPECT_EQ(settle(engine, wake.queue(), wake.held(), kind), Code::ok); });
  }
  {
    WakeCase wake(store);
    wake.fill();
    wake.expect_wake("slot freed by cancel",
                     [&] { EXPECT_TRUE(engine.cancel(wake.queue(), wake.held().id, call).ok()); });
  }
  {
    WakeCase wake(store);
    wake.fill();
    wake.expect_wake("slot freed by clear", [&] {
      EXPECT_TRUE(engine.clear(wake.queue(), state_bit(JobState::leased), call).ok());
    });
  }
  {
    WakeCase wake(store);
    wake.fill();
    QueueConfig config;
    config.max_running = 3;
    wake.expect_wake("raised limit", [&] {
      EXPECT_TRUE(engine.configure(wake.queue(), config, config_max_running, call).ok());
    });
  }
  for (const bool disabled : {false, true}) {
    using Change = Engine::StatusChange;
    WakeCase wake(store);
    wake.put();
    const Change off = disabled ? Change::disable : Change::pause;
    const Change on = disabled ? Change::enable : Change::resume;
    EXPECT_TRUE(engine.change_status(wake.queue(), off, call).ok());
    wake.expect_wake(disabled ? "enable" : "resume",
                     [&] { EXPECT_TRUE(engine.change_status(wake.queue(), on, call).ok()); });
  }
}

// ---- 54: ids are of the whole store, and the queue in the call is not looked at.

TEST(BugCase, C54_NoCallReachesAJobOfAnotherQueue) {
  EngineHarness harness(small_store());
  ASSERT_TRUE(harness.open().ok());
  QueueConfig once;
  once.max_retries = 0;
  const QueueId a = harness.queue("a");
  const QueueId b = harness.queue("b", once, config_max_retries);
  harness.enqueue(a, "j1");
  harness.enqueue(b, "dead");
  const JobView dead = harness.lease(b).at(0);
  ASSERT_EQ(harness.nack(b, dead.id, dead.generation), Code::ok);
  harness.enqueue(b, "j2");
  const JobView j2 = harness.lease(b).at(0);
  const Token token{j2.id, j2.generation};
  const Token entry{dead.id, dead.generation};
  CallOptions call;
  for (const bool cold : {false, true}) {
    if (cold) {
      ASSERT_TRUE(harness.close().ok());
      ASSERT_TRUE(harness.open().ok());
    }
    Engine& now = harness.engine();
    EXPECT_EQ(now.cancel(a, j2.id, call).code(), Code::not_found);
    EXPECT_EQ(now.cancel(a, dead.id, call).code(), Code::not_found);
    EXPECT_EQ(now.get(a, j2.id).status().code(), Code::not_found);
    EXPECT_EQ(now.get(a, dead.id).status().code(), Code::not_found);
    EXPECT_EQ(harness.ack(a, j2.id, j2.generation), Code::not_found);
    EXPECT_EQ(harness.nack(a, j2.id, j2.generation), Code::not_found);
    EXPECT_EQ(now.confirm(a, token, 0, call).code(), Code::not_found);
    EXPECT_EQ(now.dead_get(a, entry).status().code(), Code::not_found);
    EXPECT_EQ(now.dead_replay(a, entry, call).code(), Code::not_found);
    EXPECT_EQ(now.dead_remove(a, entry, call).code(), Code::not_found);
    EXPECT_TRUE(now.dead_list(a, {}).value().jobs.empty());
    EXPECT_EQ(now.get(b, j2.id).value().state, JobState::leased);
    EXPECT_EQ(now.dead_get(b, entry).value().state, JobState::dead);
  }
  Engine& last = harness.engine();
  EXPECT_EQ(harness.ack(b, j2.id, j2.generation), Code::ok);
  using Change = Engine::StatusChange;
  for (const Change change : {Change::pause, Change::resume, Change::disable, Change::enable}) {
    EXPECT_TRUE(last.change_status(a, change, call).ok());
    EXPECT_TRUE(last.change_status(a, change, call).ok()) << "twice is OK twice";
  }
  // The name may come back, the ids do not.
  ASSERT_TRUE(last.remove_queue(b, call).ok());
  const QueueId fresh = harness.queue("b");
  EXPECT_NE(fresh, b);
  const JobId next = harness.enqueue(fresh, "j3");
  EXPECT_GT(next, j2.id);
  EXPECT_EQ(last.get(fresh, j2.id).status().code(), Code::not_found);
  EXPECT_EQ(last.get(b, next).status().code(), Code::not_found);
  harness.expect_sound();
}

// ---- 55: "if it is empty, delete it" races with an enqueue in between, and the job vanishes.

// Every job that was enqueued, by LSN: it is delivered, or a clear or delete of its queue came
// after it. 100,000 jobs with WQ_LONG, 15,000 in CI.
class ClearRace {
 public:
  ClearRace(RealStore& store, int jobs, uint64_t seed)
      : engine_(store.engine()), jobs_(jobs), seed_(seed) {}

  void run() {
    std::thread producer([&] { produce(); });
    std::thread consumer([&] { consume(); });
    std::thread sweeper([&] { sweep(); });
    producer.join();
    producing_ = false;
    consumer.join();
    sweeper.join();
    check();
  }

 private:
  struct Life {
    QueueId queue = 0;
    Lsn enqueued = 0;
    Lsn leased = 0;
    bool acked = false;
  };

  QueueId find_queue() {
    CallOptions call = in_memory();
    Result<QueueId> id = engine_.open_queue("q", {}, 0, true, call);
    EXPECT_TRUE(id.ok()) << id.status().message();
    return id.value();
  }

  void produce() {
    Prng prng(seed_);
    QueueId queue = find_queue();
    for (int i = 0; i < jobs_;) {
      spin_us(prng.below(60));
      JobSpec spec;
      CallOptions call = in_memory();
      JobId id = 0;
      const Status status = engine_.enqueue(queue, spec, call, id);
      if (status.code() == Code::not_found) {
        queue = find_queue();
        continue;
      }
      ASSERT_TRUE(status.ok()) << status.message();
      ++i;
      MutexLock lock(mutex_);
      lives_[id].queue = queue;
      lives_[id].enqueued = call.lsn;
    }
  }

  void consume() {
    QueueId queue = find_queue();
    for (;;) {
      const bool last_round = !producing_;
      LeaseRequest request;
      request.queues = std::span(&queue, 1);
      request.max_jobs = 5;
      request.wait_ms = 5;
      CallOptions call = in_memory();
      std::vector<JobView> jobs;
      const Status status = engine_.lease(request, call, jobs);
      if (status.code() == Code::not_found) {
        queue = find_queue();
        continue;
      }
      ASSERT_FALSE(status.is_error()) << status.message();
      if (jobs.empty() && last_round && !sweeping_) return;
      for (const JobView& job : jobs) {
        const Code code = settle(engine_, queue, job);
        MutexLock lock(mutex_);
        Life& life = lives_[job.id];
        EXPECT_EQ(life.leased, 0u) << "delivered twice";
        life.leased = call.lsn;
        life.acked = code == Code::ok;
        // A delete revokes what is leased; then the settle says so.
        EXPECT_TRUE(code == Code::ok || code == Code::stale || code == Code::not_found);
      }
    }
  }

  void sweep() {
    Prng prng(seed_ + 1);
    while (producing_) {
      const QueueId queue = find_queue();
      spin_us(prng.below(500));
      CallOptions call = in_memory();
      const bool remove = prng.below(2) == 0;
      const Status status =
          remove ? engine_.remove_queue(queue, call) : engine_.clear(queue, 0, call).take_status();
      ASSERT_TRUE(status.ok()) << status.message();
      if (call.lsn == 0) continue;  // nothing was there to clear
      MutexLock lock(mutex_);
      ends_[queue].push_back(call.lsn);
    }
    sweeping_ = false;
  }

  void check() {
    MutexLock lock(mutex_);
    uint64_t gone = 0;
    for (const auto& [id, life] : lives_) {
      Lsn end = 0;  // the first clear or delete behind its enqueue
      for (const Lsn lsn : ends_[life.queue]) {
        if (lsn > life.enqueued && (end == 0 || lsn < end)) end = lsn;
      }
      if (life.leased != 0) {
        EXPECT_GT(life.leased, life.enqueued);
        EXPECT_TRUE(end == 0 || life.leased < end) << "job " << id << " came back from a clear";
        EXPECT_TRUE(life.acked || end != 0) << "job " << id << " was taken away by nobody";
      } else {
        EXPECT_NE(end, 0u) << "job " << id << " vanished";
        ++gone;
      }
    }
    EXPECT_EQ(lives_.size(), static_cast<size_t>(jobs_));
    std::printf("%zu jobs, %llu cleared or deleted\n", lives_.size(),
                static_cast<unsigned long long>(gone));
  }

  Engine& engine_;
  const int jobs_;
  const uint64_t seed_;
  std::atomic<bool> producing_{true};
  std::atomic<bool> sweeping_{true};
  Mutex mutex_;
  std::map<JobId, Life> lives_ WQ_GUARDED_BY(mutex_);
  std::map<QueueId, std::vector<Lsn>> ends_ WQ_GUARDED_BY(mutex_);
};

TEST(BugCase, C55_ClearAndDeleteRaceEnqueue) {
  const uint64_t seed = test_seed();
  RealStore store;
  store.open();
  ClearRace race(store, scaled(15'000, 100'000), seed);
  race.run();
  store.expect_sound();
}

}  // namespace
}  // namespace wq
