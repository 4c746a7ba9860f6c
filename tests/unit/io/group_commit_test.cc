// Group commit with real threads on the simulated disk: who flushes, who waits, who fails.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "log_test_util.h"

namespace wq {
namespace {

// The engine's lock: append is one caller at a time.
struct Producer {
  Mutex mutex;
  SegmentLog& log;

  Lsn append() {
    MutexLock lock(mutex);
    const auto lsn = log.append(as_bytes(record_body(log.last_lsn() + 1)));
    return lsn.ok() ? lsn.value() : 0;
  }
};

// Returns when so many threads sleep in the log. They have given its lock up then, so none can miss
// what comes next.
void wait_until_asleep(const SegmentLog& log, uint64_t threads) {
  while (log.stats().waiters < threads) std::this_thread::yield();
}

LogOptions large_options() {
  LogOptions options = small_options();
  options.segment_bytes = 256 << 10;
  return options;
}

TEST(GroupCommit, ManyThreadsShareFlushesAndLoseNothing) {
  SimDisk disk = make_store_disk();
  constexpr int threads = 8;
  constexpr int records = 200;
  {
    OpenLog log = open_log(disk, large_options());
    Producer producer{{}, *log.log};
    std::atomic<int> failures{0};
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&, t] {
        for (int i = 0; i < records; ++i) {
          const Lsn lsn = producer.append();
          const auto level = (t + i) % 3 == 0 ? Durability::process : Durability::power;
          if (lsn == 0 || !log->wait(lsn, level).ok()) ++failures;
          if (level == Durability::power && log->durable_lsn() < lsn) ++failures;
          if (log->process_lsn() < lsn) ++failures;
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    EXPECT_EQ(failures, 0);
    EXPECT_EQ(log->last_lsn(), Lsn{threads * records});
    ASSERT_TRUE(log->wait(threads * records, Durability::power).ok());
  }
  SimDisk cut = disk.image({});
  OpenLog again = open_log(cut, large_options());
  ASSERT_TRUE(again.ok()) << again.status.message();
  EXPECT_EQ(check_records(*again.log, 1), Lsn{threads * records});
}

TEST(GroupCommit, AppendDoesNotWaitForTheDevice) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk, large_options());
  append_records(*log.log, 1);
  SimGate gate(disk, sim_write_dsync, ".seg");
  append_record(*log.log);
  std::thread flusher([&] { EXPECT_TRUE(log->wait(2, Durability::power).ok()); });
  gate.wait_until_held();
  // The flusher is in the device. Everything that needs no device goes on.
  for (int i = 0; i < 100; ++i) append_record(*log.log);
  EXPECT_EQ(log->durable_lsn(), 1u);
  EXPECT_TRUE(log->wait(102, Durability::memory).ok());
  EXPECT_EQ(log->wait(102, Durability::power, 0).code(), Code::timeout);
  EXPECT_EQ(log->wait(102, Durability::power, 5).code(), Code::timeout);
  EXPECT_EQ(log->stats().flushes, 1u);
  gate.open();
  flusher.join();
  EXPECT_EQ(log->durable_lsn(), 2u);
  EXPECT_TRUE(log->wait(102, Durability::power).ok());
}

TEST(GroupCommit, WaitersOfOneGroupAreServedByOneFlush) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk, large_options());
  append_records(*log.log, 1);
  SimGate gate(disk, sim_write_dsync, ".seg");
  append_record(*log.log);
  std::thread first([&] { EXPECT_TRUE(log->wait(2, Durability::power).ok()); });
  gate.wait_until_held();
  constexpr uint64_t waiters = 6;
  for (uint64_t i = 0; i < waiters; ++i) append_record(*log.log);
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < waiters; ++i) {
    threads.emplace_back([&, i] { EXPECT_TRUE(log->wait(3 + i, Durability::power).ok()); });
  }
  wait_until_asleep(*log.log, waiters);
  gate.open();
  first.join();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(log->stats().flushes, 3u) << "record 1, record 2, and all others together";
}

TEST(GroupCommit, OneFailureFailsTheGroupAndEverythingBehindIt) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk, large_options());
  append_records(*log.log, 1);
  std::atomic<int> heard{0};
  log->set_listener([&] { ++heard; });
  SimGate gate(disk, sim_write_dsync, ".seg");
  const size_t fault = disk.inject({.ops = sim_write_dsync, .path = ".seg", .error = EIO});
  append_record(*log.log);
  std::atomic<int> poisoned{0};
  const auto wait_for = [&](Lsn lsn, Durability level) {
    const Status status = log->wait(lsn, level);
    if (status.code() == Code::poisoned && status.os_errno() == EIO) ++poisoned;
  };
  std::vector<std::thread> threads;
  threads.emplace_back([&] { wait_for(2, Durability::power); });
  gate.wait_until_held();
  for (int i = 0; i < 4; ++i) append_record(*log.log);
  threads.emplace_back([&] { wait_for(2, Durability::process); });  // in the failing group
  for (Lsn lsn = 3; lsn <= 6; ++lsn) {
    threads.emplace_back([&, lsn] { wait_for(lsn, Durability::power); });  // behind it
  }
  wait_until_asleep(*log.log, 5);
  gate.open();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(poisoned, 6);
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(disk.fault_hits(fault), 1u);
  EXPECT_EQ(log->durable_lsn(), 1u);
  EXPECT_EQ(log->failure().code(), Code::poisoned);
  EXPECT_EQ(log->append({}).status().code(), Code::poisoned);
  EXPECT_EQ(log->run_flusher(0).code(), Code::poisoned);
  EXPECT_EQ(log->wait(3, Durability::memory).code(), Code::poisoned);
  EXPECT_TRUE(log->wait(1, Durability::power).ok()) << "what was durable stays so";
  EXPECT_EQ(log->close().code(), Code::poisoned);
}

TEST(GroupCommit, BackgroundFlusherServesRequestsWithoutWaiters) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk, large_options());
  Mutex mutex;
  CondVar progress;
  log->set_listener([&] {
    MutexLock lock(mutex);
    progress.notify_all();
  });
  std::atomic<bool> stop{false};
  std::thread flusher([&] {
    while (!stop) EXPECT_TRUE(log->run_flusher(1000).ok());
  });
  for (int i = 0; i < 200; ++i) {
    const Lsn lsn = append_record(*log.log);
    log->request(lsn, i % 2 == 0 ? Durability::power : Durability::process);
    if (i % 10 != 0) continue;
    MutexLock lock(mutex);
    while (log->process_lsn() < lsn) progress.wait(mutex);
  }
  log->request(200, Durability::power);
  {
    MutexLock lock(mutex);
    while (log->durable_lsn() < 200) progress.wait(mutex);
  }
  stop = true;
  log->request(append_record(*log.log), Durability::power);  // wakes it if it sleeps
  flusher.join();
}

// Else each close of a store would wait for the flusher's sleep to end.
TEST(GroupCommit, ReleasedFlusherNeitherSleepsOnNorFallsAsleepAgain) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk, large_options());
  constexpr int64_t very_long_ms = 3'600'000;
  std::thread flusher([&] { EXPECT_TRUE(log->run_flusher(very_long_ms).ok()); });
  for (int i = 0; i < 40; ++i) std::this_thread::yield();  // lets it fall asleep, mostly
  log->release_flusher();
  flusher.join();
  EXPECT_TRUE(log->run_flusher(very_long_ms).ok());
  log->request(append_record(*log.log), Durability::power);
  EXPECT_TRUE(log->run_flusher(very_long_ms).ok());
  EXPECT_EQ(log->durable_lsn(), 1u) << "what is wanted is still flushed";
}

TEST(GroupCommit, FlusherThatWaitsForTheDeviceIsWokenForRequests) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk, large_options());
  append_records(*log.log, 1);
  for (int round = 0; round < 10; ++round) {
    SimGate gate(disk, sim_write_dsync, ".seg");
    const Lsn in_flight = append_record(*log.log);
    std::thread waiter([&] { EXPECT_TRUE(log->wait(in_flight, Durability::power).ok()); });
    gate.wait_until_held();
    const Lsn requested = append_record(*log.log);
    log->request(requested, Durability::power);
    constexpr int64_t very_long_ms = 3'600'000;
    std::thread flusher([&] { EXPECT_TRUE(log->run_flusher(very_long_ms).ok()); });
    for (int i = 0; i < 40; ++i) std::this_thread::yield();  // lets it fall asleep, mostly
    gate.open();
    waiter.join();
    flusher.join();
    EXPECT_EQ(log->durable_lsn(), requested);
  }
}

TEST(GroupCommit, MemoryWindowIsKeptByASleepingFlusher) {
  SimDisk disk = make_store_disk();
  LogOptions options = large_options();
  options.memory_window_ms = 5;
  OpenLog log = open_log(disk, options);
  Mutex mutex;
  CondVar progress;
  log->set_listener([&] {
    MutexLock lock(mutex);
    progress.notify_all();
  });
  std::atomic<bool> stop{false};
  std::thread flusher([&] {
    while (!stop) EXPECT_TRUE(log->run_flusher(10'000).ok());
  });
  // Nobody asks for anything: the window alone brings each record to the device.
  for (int i = 0; i < 20; ++i) {
    const Lsn lsn = append_record(*log.log);
    MutexLock lock(mutex);
    while (log->durable_lsn() < lsn) progress.wait(mutex);
  }
  stop = true;
  append_record(*log.log);
  flusher.join();
}

TEST(GroupCommit, WaitForRoomWaitsForTheGroupInFlight) {
  SimDisk disk = make_store_disk();
  LogOptions options = large_options();
  options.unflushed_bytes_max = 10'000;
  OpenLog log = open_log(disk, options);
  append_records(*log.log, 1);
  SimGate gate(disk, sim_write_dsync, ".seg");
  for (int i = 0; i < 12; ++i) append_record(*log.log, 1000);
  std::thread flusher([&] { EXPECT_TRUE(log->wait(13, Durability::power).ok()); });
  gate.wait_until_held();
  std::atomic<bool> has_room{false};
  std::thread producer([&] {
    EXPECT_TRUE(log->wait_for_room().ok());
    has_room = true;
  });
  wait_until_asleep(*log.log, 1);
  EXPECT_FALSE(has_room);
  gate.open();
  producer.join();
  flusher.join();
  EXPECT_TRUE(has_room);
}

TEST(GroupCommit, AllWaitersOfTheGroupInFlightAreWoken) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk, large_options());
  append_records(*log.log, 1);
  for (int i = 0; i < 3; ++i) append_record(*log.log);
  SimGate gate(disk, sim_write_dsync, ".seg");
  std::vector<std::thread> threads;
  threads.emplace_back([&] { EXPECT_TRUE(log->wait(4, Durability::power).ok()); });
  gate.wait_until_held();
  for (const Durability level : {Durability::power, Durability::process, Durability::power}) {
    threads.emplace_back([&, level] { EXPECT_TRUE(log->wait(3, level).ok()); });
  }
  wait_until_asleep(*log.log, 3);
  gate.open();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(log->stats().flushes, 2u);
  EXPECT_EQ(log->stats().waiters, 0u);
}

TEST(GroupCommit, AWaiterThatTimesOutHandsItsTurnOn) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk, large_options());
  append_records(*log.log, 1);
  append_record(*log.log);
  SimGate gate(disk, sim_write_dsync, ".seg");
  std::thread flusher([&] { EXPECT_TRUE(log->wait(2, Durability::power).ok()); });
  gate.wait_until_held();
  append_record(*log.log);
  append_record(*log.log);
  std::thread patient([&] { EXPECT_TRUE(log->wait(4, Durability::power).ok()); });
  wait_until_asleep(*log.log, 1);
  EXPECT_EQ(log->wait(3, Durability::power, 1).code(), Code::timeout);
  gate.open();
  patient.join();
  flusher.join();
}

TEST(GroupCommit, TimedOutWaitersDoNotTakeTheTurnWithThem) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk, large_options());
  Producer producer{{}, *log.log};
  std::atomic<int> bad{0};
  std::vector<std::thread> workers;
  for (int t = 0; t < 6; ++t) {
    workers.emplace_back([&, t] {
      for (int i = 0; i < 150; ++i) {
        const Lsn lsn = producer.append();
        const int64_t timeout_ms = (t + i) % 2 == 0 ? 1 : -1;
        const Status status = log->wait(lsn, Durability::power, timeout_ms);
        if (!status.ok() && (timeout_ms < 0 || status.code() != Code::timeout)) ++bad;
      }
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(bad, 0);
}

// A lease beside acks: it is told as soon as the kernel has it, while the device works.
TEST(GroupCommit, WhoNeedsNoDeviceDoesNotWaitForABarrier) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk, large_options());
  append_record(*log.log);
  // A barrier has to cover more than one write then.
  ASSERT_TRUE(log->wait(1, Durability::process).ok());
  SimGate gate(disk, sim_fdatasync, ".seg");
  append_record(*log.log);
  std::thread acks([&] { EXPECT_TRUE(log->wait(2, Durability::power).ok()); });
  gate.wait_until_held();
  EXPECT_EQ(log->process_lsn(), 2u) << "the group of the barrier itself";
  for (Lsn lsn = 3; lsn <= 5; ++lsn) {
    append_record(*log.log);
    EXPECT_TRUE(log->wait(lsn, Durability::process).ok());
  }
  EXPECT_EQ(log->process_lsn(), 5u);
  EXPECT_EQ(log->durable_lsn(), 0u);
  EXPECT_EQ(log->wait(3, Durability::power, 0).code(), Code::timeout);
  gate.open();
  acks.join();
}

TEST(GroupCommit, ABarrierCoversWhatWasThereWhenItBegan) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk, large_options());
  append_record(*log.log);
  ASSERT_TRUE(log->wait(1, Durability::process).ok());
  {
    SimGate gate(disk, sim_fdatasync, ".seg");
    append_record(*log.log);
    std::thread acks([&] { EXPECT_TRUE(log->wait(2, Durability::power).ok()); });
    gate.wait_until_held();
    append_record(*log.log);
    EXPECT_TRUE(log->wait(3, Durability::process).ok());
    std::thread late([&] { EXPECT_TRUE(log->wait(3, Durability::power).ok()); });
    wait_until_asleep(*log.log, 1);
    EXPECT_EQ(log->stats().flushes, 0u);
    gate.open();
    acks.join();
    late.join();
  }
  EXPECT_EQ(log->stats().flushes, 2u) << "record 3 came too late for the first one";
  EXPECT_EQ(log->durable_lsn(), 3u);
  append_record(*log.log);
  ASSERT_TRUE(log->wait(4, Durability::process).ok());
  SimDisk cut = disk.image({});  // nothing that no barrier covers
  OpenLog again = open_log(cut, large_options());
  ASSERT_TRUE(again.ok()) << again.status.message();
  EXPECT_EQ(check_records(*again.log, 1), 3u);
}

// The end of a segment needs a barrier of its own. Were it asked for while another is under way,
// the kernel could tell a failure to that one only, and this one would be believed.
TEST(GroupCommit, NoSegmentEndsWhileABarrierIsUnderWay) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk, small_options());
  append_record(*log.log);
  ASSERT_TRUE(log->wait(1, Durability::process).ok());
  SimGate gate(disk, sim_fdatasync, ".seg");
  const size_t fault = disk.inject({.ops = sim_fdatasync, .path = ".seg", .error = EIO});
  append_record(*log.log);
  std::thread acks([&] { EXPECT_EQ(log->wait(2, Durability::power).code(), Code::poisoned); });
  gate.wait_until_held();
  const std::string large(12'000, 'x');
  ASSERT_TRUE(log->append(as_bytes(large)).ok());  // does not fit behind the others
  std::thread lease([&] { EXPECT_EQ(log->wait(3, Durability::process).code(), Code::poisoned); });
  while (log->stats().waiters == 0 && gate.held() == 1) std::this_thread::yield();
  EXPECT_EQ(gate.held(), 1u) << "it is in the device as well";
  gate.open();
  acks.join();
  lease.join();
  EXPECT_EQ(disk.fault_hits(fault), 1u);
  EXPECT_EQ(log->durable_lsn(), 0u);
}

TEST(GroupCommit, AFailedBarrierIsTheEndOfWhatGoesOnBesideIt) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk, large_options());
  append_record(*log.log);
  ASSERT_TRUE(log->wait(1, Durability::process).ok());
  SimGate gate(disk, sim_fdatasync, ".seg");
  disk.inject({.ops = sim_fdatasync, .path = ".seg", .error = EIO});
  append_record(*log.log);
  std::thread acks([&] { EXPECT_EQ(log->wait(2, Durability::power).code(), Code::poisoned); });
  gate.wait_until_held();
  append_record(*log.log);
  EXPECT_TRUE(log->wait(3, Durability::process).ok()) << "a kill would not take it back";
  std::thread late([&] { EXPECT_EQ(log->wait(3, Durability::power).code(), Code::poisoned); });
  wait_until_asleep(*log.log, 1);
  gate.open();
  acks.join();
  late.join();
  EXPECT_EQ(log->durable_lsn(), 0u);
  EXPECT_EQ(log->append({}).status().code(), Code::poisoned);
}

TEST(GroupCommit, ThoseWhoNeedNoDeviceDoNotKeepTheFlusherFromIt) {
  SimDisk disk = make_store_disk();
  OpenLog log = open_log(disk, large_options());
  Producer producer{{}, *log.log};
  std::atomic<bool> stop{false};
  std::vector<std::thread> leases;
  for (int t = 0; t < 4; ++t) {
    leases.emplace_back([&] {
      while (!stop) EXPECT_TRUE(log->wait(producer.append(), Durability::process).ok());
    });
  }
  std::thread flusher([&] {
    while (!stop) EXPECT_TRUE(log->run_flusher(1000).ok());
  });
  for (int i = 0; i < 50; ++i) {
    const Lsn lsn = producer.append();
    log->request(lsn, Durability::power);
    while (log->durable_lsn() < lsn) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& lease : leases) lease.join();
  log->release_flusher();
  flusher.join();
}

TEST(GroupCommit, TrimAndSparesBesideRunningFlushes) {
  SimDisk disk = make_store_disk();
  LogOptions options = small_options();
  options.spare_segments = 2;
  OpenLog log = open_log(disk, options);
  std::atomic<bool> stop{false};
  std::atomic<int> bad{0};
  std::thread maintenance([&] {
    while (!stop) {
      if (!log->prepare_spares().ok()) ++bad;
      const Lsn durable = log->durable_lsn();
      if (durable > 20 && !log->trim(durable - 20).ok()) ++bad;
      (void)log->stats();
    }
  });
  for (int i = 0; i < 400; ++i) append_records(*log.log, 2);
  stop = true;
  maintenance.join();
  EXPECT_EQ(bad, 0);
  ASSERT_TRUE(log->trim(781).ok());
  options.expected_applied_lsn = 780;
  SimDisk cut = disk.image({});
  OpenLog again = open_log(cut, options);
  ASSERT_TRUE(again.ok()) << again.status.message();
  EXPECT_EQ(check_records(*again.log, 781), 800u);
}

}  // namespace
}  // namespace wq
