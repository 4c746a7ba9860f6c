// Reported bugs of full disks, stops under load, and growth: cases 40, 52, 59.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "bugs/real_store.h"
#include "bugs/small_store.h"

namespace wq {
namespace {

// ---- 40: after the disk was full and was freed, resume reports success but the next write fails
// for good, or the next open loops. Here the log's side, on a simulated disk of 16 MiB.

class FullDisk {
 public:
  static constexpr uint64_t mib = 1 << 20;

  FullDisk() : harness_(options()) {
    harness_.disk().set_capacity(16 * mib);
    EXPECT_TRUE(harness_.open().ok());
    q_ = harness_.queue("q");
  }

  void cycle(bool kill) {
    fill();
    if (kill) {
      ASSERT_TRUE(harness_.kill_and_open().ok());
    }
    // The reserve is for this.
    for (const JobView& job : harness_.lease(q_, 40)) {
      if (settled_ % 8 == 7) {
        EXPECT_EQ(harness_.nack(q_, job.id, job.generation), Code::ok);
      } else {
        EXPECT_EQ(harness_.ack(q_, job.id, job.generation), Code::ok);
        EXPECT_EQ(alive_.erase(job.id), 1u);
      }
      ++settled_;
    }
    harness_.disk().set_capacity(32 * mib);  // somebody frees space
    harness_.tick();
    enqueue();
    EXPECT_EQ(last_, Code::ok);
    ASSERT_TRUE(harness_.engine().checkpoint().ok());
    harness_.disk().set_capacity(16 * mib);
    harness_.tick();
    judge();
  }

 private:
  static HarnessOptions options() {
    HarnessOptions options = small_store();
    options.engine.disk_reserve_bytes = 4 * mib;
    options.engine.checkpoint_log_bytes = 1ull << 40;  // the test says when
    options.engine.memory_budget_bytes = 1ull << 30;
    return options;
  }

  void enqueue() {
    static const std::string payload(64 << 10, 'x');
    JobSpec spec;
    spec.payload = as_bytes(payload);
    CallOptions call;
    JobId id = 0;
    last_ = harness_.engine().enqueue(q_, spec, call, id).code();
    if (last_ == Code::ok) alive_.insert(id);
    EXPECT_EQ(call.lsn != 0, last_ == Code::ok);  // no partial effect
  }
  void fill() {
    last_ = Code::ok;
    for (int i = 0; last_ == Code::ok && i < 1'000; ++i) enqueue();
    EXPECT_EQ(last_, Code::no_space);
  }
  void judge() {
    const auto stats = harness_.engine().queue_stats(q_);
    ASSERT_TRUE(stats.ok());
    EXPECT_EQ(stats.value().counts[static_cast<size_t>(JobState::ready)], alive_.size());
    for (const std::string& file : harness_.disk().files()) {
      EXPECT_EQ(file.find(".tmp"), std::string::npos) << file;
    }
    harness_.expect_sound();
    // Room for the next round.
    while (alive_.size() > 20) {
      for (const JobView& job : harness_.lease(q_, 20)) {
        EXPECT_EQ(harness_.ack(q_, job.id, job.generation), Code::ok);
        alive_.erase(job.id);
      }
    }
    ASSERT_TRUE(harness_.engine().checkpoint().ok());
    harness_.tick();
  }

  EngineHarness harness_;
  QueueId q_ = 0;
  std::set<JobId> alive_;
  Code last_ = Code::ok;
  uint64_t settled_ = 0;
};

TEST(BugCase, C40_AFullDiskRefusesJobsAndRecovers) {
  FullDisk disk;
  const int cycles = scaled(6, 200);
  for (int i = 0; i < cycles && !HasFailure(); ++i) {
    SCOPED_TRACE(i);
    disk.cycle(i % 2 == 1);
  }
}

// ---- 52: stopping while jobs run breaks the store; jobs are gone, a gauge is negative.

TEST(BugCase, C52_CloseAmidSettlesLosesNothing) {
  const int rounds = scaled(8, 100);
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    RealStore store;
    store.open();
    const QueueId q = store.queue("q");
    JobId id = 0;
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(enqueue(store.engine(), q, "job", id).ok());
    ASSERT_TRUE(store.engine().sync().ok());
    const std::vector<JobView> held = lease(store.engine(), q, 10, 60'000);
    ASSERT_EQ(held.size(), 10u);

    std::atomic<int> acked{0}, closed{0}, begun{0};
    std::atomic<bool> scraping{true};
    std::vector<std::thread> threads;
    for (const JobView& job : held) {
      threads.emplace_back([&, job] {
        ++begun;
        SettleItem item;
        item.id = job.id;
        item.generation = job.generation;
        CallOptions call;  // at power level
        Code code = Code::internal;
        const Status status =
            store.engine().settle(q, std::span(&item, 1), call, std::span(&code, 1));
        EXPECT_TRUE(status.ok() || status.code() == Code::closed) << status.message();
        ++(status.ok() && code == Code::ok ? acked : closed);
      });
    }
    threads.emplace_back([&] {
      while (scraping.load()) {
        const auto stats = store.engine().queue_stats(q);
        if (!stats.ok()) continue;
        uint64_t sum = 0;
        for (const uint64_t count : stats.value().counts) sum += count;
        EXPECT_LE(sum, 100u);  // a negative gauge would be huge
        EXPECT_GE(sum, 90u);
      }
    });
    while (begun.load() < round % 11) std::this_thread::yield();
    EXPECT_TRUE(store.engine().close().ok());
    scraping.store(false);
    for (std::thread& thread : threads) thread.join();

    store.open();
    const auto stats = store.engine().queue_stats(q);
    ASSERT_TRUE(stats.ok());
    uint64_t sum = 0;
    for (const uint64_t count : stats.value().counts) sum += count;
    // OK is durable; CLOSED may have been done or not.
    EXPECT_LE(sum, 100u - static_cast<unsigned>(acked.load()));
    EXPECT_GE(sum + static_cast<unsigned>(closed.load()),
              100u - static_cast<unsigned>(acked.load()));
    store.expect_sound();
  }
}

// ---- 59: metrics and tables that grow with every job ever seen.

uint64_t resident_set_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") {
      uint64_t kib = 0;
      status >> kib;
      return kib;
    }
  }
  return 0;
}

TEST(BugCase, C59_JobsThatAreDoneLeaveNothingBehind) {
  RealStore store;
  store.open();
  std::vector<QueueId> queues;
  for (int i = 0; i < 10; ++i) queues.push_back(store.queue("q" + std::to_string(i)));
  const int per_step = scaled(4'000, 100'000);
  std::vector<uint64_t> kib;
  for (int step = 0; step < 10; ++step) {
    for (int i = 0; i < per_step; ++i) {
      const QueueId q = queues[static_cast<size_t>(i) % queues.size()];
      const std::string name = std::to_string(step) + "." + std::to_string(i);
      JobId id = 0;
      ASSERT_TRUE(enqueue(store.engine(), q, name, id, i % 7 == 0 ? 3'600'000 : 0).ok());
      if (i % 7 == 0) {  // a timer that never rings
        CallOptions call = in_memory();
        ASSERT_TRUE(store.engine().cancel(q, id, call).ok());
        continue;
      }
      const std::vector<JobView> jobs = lease(store.engine(), q, 1, 60'000);
      ASSERT_EQ(jobs.size(), 1u);
      if (i % 5 == 0) {
        SettleItem item;
        item.id = jobs[0].id;
        item.generation = jobs[0].generation;
        item.kind = SettleKind::fail;
        item.error = name;
        CallOptions call = in_memory();
        Code code = Code::internal;
        ASSERT_TRUE(store.engine().settle(q, std::span(&item, 1), call, std::span(&code, 1)).ok());
        ASSERT_TRUE(store.engine().dead_remove(q, Token{item.id, item.generation}, call).ok());
      } else {
        ASSERT_EQ(settle(store.engine(), q, jobs[0]), Code::ok);
      }
    }
    ASSERT_TRUE(store.engine().checkpoint().ok());
    kib.push_back(resident_set_kib());
    const EngineStats stats = store.engine().stats();
    EXPECT_EQ(stats.resident_jobs, 0u);
    EXPECT_EQ(stats.resident_bytes, 0u);
    EXPECT_EQ(stats.queues, 10u);
    for (const uint64_t count : stats.counts) EXPECT_EQ(count, 0u);
    EXPECT_LE(stats.log.segments_live, 4u);
  }
  std::printf("resident set: %llu KiB after %d jobs, %llu KiB after %d\n",
              static_cast<unsigned long long>(kib[2]), 3 * per_step,
              static_cast<unsigned long long>(kib.back()), 10 * per_step);
  if (!long_run()) return;
  EXPECT_LT(kib.back(), kib[2] + kib[2] * 7 / 100);
}

// A name is a label: any bytes that are allowed come back as they were, in each listing.
TEST(BugCase, C59_AQueueNameOfQuotes) {
  RealStore store;
  store.open();
  std::string name;
  while (name.size() < 255) name += "\"'\\{}=,"[name.size() % 7];
  store.queue(name);
  const auto names = store.engine().queue_names();
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(names.value(), std::vector<std::string>{name});
  CallOptions call;
  EXPECT_EQ(store.engine().open_queue("a\nb", {}, 0, true, call).status().code(), Code::invalid);
}

}  // namespace
}  // namespace wq
