// Completion queues: exactly one event per change that was written, none otherwise, also when the
// log fails or the store closes.
#include <poll.h>

#include <functional>
#include <map>
#include <set>
#include <thread>

#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

class CapiCompletion : public CapiSim {
 protected:
  void SetUp() override {
    CapiSim::SetUp();
    ASSERT_OK(wq_cq_open(store_, &cq_, err()));
  }
  void TearDown() override {
    wq_cq_close(&cq_);
    CapiSim::TearDown();
  }

  wq_call call(uint64_t user_data, uint32_t durability = 0) {
    wq_call how = WQ_CALL_INIT;
    how.cq = cq_;
    how.user_data = user_data;
    how.durability = durability;
    return how;
  }
  // All events that are there or can be made to be by flushing.
  std::vector<wq_event> drain(int64_t timeout_ms = 1) {
    std::vector<wq_event> out;
    wq_event events[7];
    size_t count = 0;
    while (wq_cq_poll(cq_, events, 7, sizeof events[0], timeout_ms, &count, err()) == WQ_OK) {
      EXPECT_GT(count, 0u);
      out.insert(out.end(), events, events + count);
    }
    EXPECT_EQ(count, 0u);
    return out;
  }
  bool readable() {
    pollfd fd = {wq_cq_eventfd(cq_), POLLIN, 0};
    EXPECT_GE(fd.fd, 0);
    return ::poll(&fd, 1, 0) == 1;
  }

  wq_cq* cq_ = nullptr;
};

TEST_F(CapiCompletion, OneEventPerChangeInOrder) {
  constexpr uint64_t n = 200;
  std::vector<uint64_t> lsns;
  const wq_job_spec spec = spec_of("x");
  for (uint64_t i = 0; i < n; i++) {
    wq_call how = call(1'000 + i);
    wq_enqueued out = WQ_ENQUEUED_INIT;
    ASSERT_OK(wq_enqueue(queue_, &spec, &how, &out, err()));
    EXPECT_NE(how.lsn, 0u);
    EXPECT_NE(out.job_id, 0u) << "the result is there at once";
    lsns.push_back(how.lsn);
  }
  const std::vector<wq_event> events = drain();
  ASSERT_EQ(events.size(), n);
  for (uint64_t i = 0; i < n; i++) {
    EXPECT_EQ(events[i].struct_size, sizeof(wq_event));
    EXPECT_EQ(events[i].user_data, 1'000 + i);
    EXPECT_EQ(events[i].lsn, lsns[i]);
    EXPECT_EQ(events[i].code, WQ_OK);
  }
  wq_store_stats stats = WQ_STORE_STATS_INIT;
  ASSERT_OK(wq_store_get_stats(store_, &stats, err()));
  EXPECT_GE(stats.durable_lsn, lsns.back());
  EXPECT_TRUE(drain().empty());
}

TEST_F(CapiCompletion, NoEventBeforeTheLevelIsReached) {
  SimGate gate(sim_.disk, sim_writes, ".seg");
  wq_call how = call(1);
  const wq_job_spec spec = spec_of("x");
  ASSERT_OK(wq_enqueue(queue_, &spec, &how, nullptr, err()));
  wq_event event = WQ_EVENT_INIT;
  size_t count = 9;
  EXPECT_CODE(WQ_EMPTY, wq_cq_poll(cq_, &event, 1, sizeof event, 0, &count, err()));
  EXPECT_EQ(count, 0u);
  EXPECT_FALSE(readable());
  std::thread flusher([&] { wq_store_sync(store_, nullptr); });
  gate.wait_until_held();
  EXPECT_CODE(WQ_EMPTY, wq_cq_poll(cq_, &event, 1, sizeof event, 0, &count, err()));
  gate.open();
  flusher.join();
  EXPECT_TRUE(readable());
  EXPECT_OK(wq_cq_poll(cq_, &event, 1, sizeof event, 0, &count, err()));
  EXPECT_EQ(event.user_data, 1u);
}

TEST_F(CapiCompletion, MemoryLevelIsReachedAtOnce) {
  wq_call how = call(5, WQ_MEMORY);
  const wq_job_spec spec = spec_of("x");
  ASSERT_OK(wq_enqueue(queue_, &spec, &how, nullptr, err()));
  EXPECT_EQ(drain(0).size(), 1u);
}

class CapiCompletionEach : public CapiCompletion {
 protected:
  // Runs a call that must write, and expects its event in the end.
  void run(const char* name, const std::function<int32_t(wq_call*)>& act) {
    wq_call how = call(++ran_);
    ASSERT_OK(act(&how)) << name;
    ASSERT_NE(how.lsn, 0u) << name;
  }
  void expect_one_event_each() {
    std::map<uint64_t, int> seen;
    for (const wq_event& event : drain()) seen[event.user_data]++;
    EXPECT_EQ(seen.size(), ran_);
    for (uint64_t i = 1; i <= ran_; i++) EXPECT_EQ(seen[i], 1) << i;
  }
  wq_job take() {
    if (stats_of(queue_).ready == 0) enqueue(queue_, "x");
    return lease(store_, queue_)[0].job;
  }

  uint64_t ran_ = 0;
};

TEST_F(CapiCompletionEach, Settles) {
  wq_job job = take();
  run("extend", [&](wq_call* c) {
    const wq_token token = {job.id, job.generation};
    return wq_extend(queue_, &token, 1, 99, nullptr, c, err());
  });
  run("confirm",
      [&](wq_call* c) { return wq_confirm(queue_, job.id, job.generation, 0, c, err()); });
  run("ack", [&](wq_call* c) { return wq_ack(queue_, job.id, job.generation, c, err()); });
  job = take();
  run("nack",
      [&](wq_call* c) { return wq_nack(queue_, job.id, job.generation, nullptr, c, err()); });
  job = take();
  run("release",
      [&](wq_call* c) { return wq_release(queue_, job.id, job.generation, 0, 0, c, err()); });
  job = take();
  run("settle_many", [&](wq_call* c) {
    wq_settle_item item = WQ_SETTLE_ITEM_INIT;
    item.kind = WQ_SETTLE_ACK;
    item.id = job.id;
    item.generation = job.generation;
    return wq_settle_many(queue_, &item, 1, sizeof item, nullptr, c, err());
  });
  expect_one_event_each();
}

TEST_F(CapiCompletionEach, DeadLetters) {
  wq_job job = take();
  run("fail", [&](wq_call* c) { return wq_fail(queue_, job.id, job.generation, "", 0, c, err()); });
  run("replay",
      [&](wq_call* c) { return wq_dead_replay(queue_, job.id, job.generation, c, err()); });
  job = take();
  run("fail", [&](wq_call* c) { return wq_fail(queue_, job.id, job.generation, "", 0, c, err()); });
  run("dead_remove",
      [&](wq_call* c) { return wq_dead_remove(queue_, job.id, job.generation, c, err()); });
  job = take();
  run("fail", [&](wq_call* c) { return wq_fail(queue_, job.id, job.generation, "", 0, c, err()); });
  run("dead_purge", [&](wq_call* c) { return wq_dead_purge(queue_, nullptr, c, err()); });
  expect_one_event_each();
}

TEST_F(CapiCompletionEach, JobsAndQueues) {
  const wq_job_spec spec = spec_of("y");
  run("enqueue", [&](wq_call* c) { return wq_enqueue(queue_, &spec, c, nullptr, err()); });
  run("enqueue_many", [&](wq_call* c) {
    return wq_enqueue_many(queue_, &spec, 1, sizeof spec, 0, c, nullptr, 0, nullptr, err());
  });
  run("lease", [&](wq_call* c) {
    wq_batch* batch = nullptr;
    const int32_t code = wq_lease(store_, &queue_, 1, nullptr, nullptr, c, &batch, err());
    wq_batch_free(&batch);
    return code;
  });
  run("cancel", [&](wq_call* c) { return wq_job_cancel(queue_, take().id, c, err()); });
  run("configure", [&](wq_call* c) {
    wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
    config.fields = WQ_CONFIG_MAX_RETRIES;
    config.max_retries = 8;
    return wq_queue_configure(queue_, &config, c, err());
  });
  run("pause", [&](wq_call* c) { return wq_queue_pause(queue_, c, err()); });
  run("resume", [&](wq_call* c) { return wq_queue_resume(queue_, c, err()); });
  run("disable", [&](wq_call* c) { return wq_queue_disable(queue_, c, err()); });
  run("enable", [&](wq_call* c) { return wq_queue_enable(queue_, c, err()); });
  enqueue(queue_, "z");
  run("clear", [&](wq_call* c) { return wq_queue_clear(queue_, 0, nullptr, c, err()); });
  run("delete", [&](wq_call* c) { return wq_queue_delete(queue_, c, err()); });
  expect_one_event_each();
}

TEST_F(CapiCompletion, CallsThatWriteNothingGiveNone) {
  wq_call how = call(1);
  how.lsn = 77;
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_ack(queue_, 1, 1, &how, err()));
  EXPECT_EQ(how.lsn, 0u);
  EXPECT_OK(wq_queue_resume(queue_, &how, err()));
  EXPECT_EQ(how.lsn, 0u);
  wq_job_spec spec = spec_of("x");
  spec.delay_ms = -1;
  EXPECT_CODE(WQ_E_INVALID, wq_enqueue(queue_, &spec, &how, nullptr, err()));
  EXPECT_EQ(how.lsn, 0u);
  wq_batch* batch = nullptr;
  EXPECT_CODE(WQ_EMPTY, wq_lease(store_, &queue_, 1, nullptr, nullptr, &how, &batch, err()));
  EXPECT_EQ(how.lsn, 0u);
  EXPECT_OK(wq_queue_clear(queue_, 0, nullptr, &how, err()));
  EXPECT_EQ(how.lsn, 0u);
  EXPECT_TRUE(drain().empty());
}

TEST_F(CapiCompletion, APartlyRefusedCallGivesOneForWhatItWrote) {
  wq_job_spec specs[] = {spec_of("a"), spec_of("b")};
  specs[1].delay_ms = -1;
  wq_call how = call(3);
  EXPECT_CODE(WQ_E_INVALID, wq_enqueue_many(queue_, specs, 2, sizeof specs[0], WQ_ENQUEUE_PARTIAL,
                                            &how, nullptr, 0, nullptr, err()));
  EXPECT_NE(how.lsn, 0u);
  const std::vector<wq_event> events = drain();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].user_data, 3u);
}

TEST_F(CapiCompletion, EventfdFollowsTheQueue) {
  EXPECT_FALSE(readable());
  const int32_t fd = wq_cq_eventfd(cq_);
  EXPECT_EQ(wq_cq_eventfd(cq_), fd);
  const wq_job_spec spec = spec_of("x");
  for (uint64_t i = 0; i < 3; i++) {
    wq_call how = call(i);
    ASSERT_OK(wq_enqueue(queue_, &spec, &how, nullptr, err()));
  }
  ASSERT_OK(wq_store_sync(store_, err()));
  EXPECT_TRUE(readable());
  wq_event event = WQ_EVENT_INIT;
  size_t count = 0;
  for (int i = 0; i < 3; i++) {
    EXPECT_TRUE(readable()) << i;
    ASSERT_OK(wq_cq_poll(cq_, &event, 1, sizeof event, 0, &count, err()));
  }
  EXPECT_FALSE(readable());
}

TEST_F(CapiCompletion, ADescriptorAskedForLateIsReadableAtOnce) {
  const wq_job_spec spec = spec_of("x");
  wq_call how = call(1, WQ_MEMORY);
  ASSERT_OK(wq_enqueue(queue_, &spec, &how, nullptr, err()));
  EXPECT_TRUE(readable());
}

TEST_F(CapiCompletion, AFailedFlushGivesEachPendingOneTheError) {
  const wq_job_spec spec = spec_of("x");
  for (uint64_t i = 0; i < 5; i++) {
    wq_call how = call(i);
    ASSERT_OK(wq_enqueue(queue_, &spec, &how, nullptr, err()));
  }
  sim_.disk.inject({.ops = sim_syncs, .path = ".seg", .sticky = true, .error = EIO});
  std::multiset<uint64_t> seen;
  for (const wq_event& event : drain()) {
    EXPECT_LT(event.code, 0) << wq_error_name(event.code);
    EXPECT_EQ(wq_error_maybe_committed(event.code), 1) << wq_error_name(event.code);
    seen.insert(event.user_data);
  }
  EXPECT_EQ(seen, (std::multiset<uint64_t>{0, 1, 2, 3, 4}));
  EXPECT_CODE(WQ_E_POISONED, wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
  EXPECT_EQ(last_error().flags, WQ_ERROR_MAYBE_COMMITTED | WQ_ERROR_FATAL);
  wq_store_stats stats = WQ_STORE_STATS_INIT;
  EXPECT_OK(wq_store_get_stats(store_, &stats, err()));
  EXPECT_EQ(stats.status, WQ_STORE_POISONED);
  EXPECT_EQ(stats_of(queue_).ready, 5u) << "reads go on";
}

TEST_F(CapiCompletion, ClosingTheStoreLosesNoEvent) {
  const wq_job_spec spec = spec_of("x");
  for (uint64_t i = 0; i < 5; i++) {
    wq_call how = call(i);
    ASSERT_OK(wq_enqueue(queue_, &spec, &how, nullptr, err()));
  }
  wq_store_close(&store_);
  std::multiset<uint64_t> seen;
  wq_event event = WQ_EVENT_INIT;
  size_t count = 0;
  while (wq_cq_poll(cq_, &event, 1, sizeof event, -1, &count, err()) == WQ_OK) {
    EXPECT_EQ(event.code, WQ_OK) << "close flushed it";
    seen.insert(event.user_data);
  }
  EXPECT_EQ(last_error().code, WQ_E_CLOSED);
  EXPECT_EQ(seen.size(), 5u);
}

// Nobody else flushes in a store without threads: who sleeps in a poll is woken for what comes.
TEST_F(CapiCompletion, APollThatSleepsFlushesWhatComes) {
  const wq_job_spec spec = spec_of("x");
  for (uint64_t round = 1; round <= 20; ++round) {
    std::atomic<bool> polling{false};
    wq_event event = WQ_EVENT_INIT;
    int32_t code = WQ_EMPTY;
    std::thread poller([&] {
      size_t count = 0;
      polling = true;
      code = wq_cq_poll(cq_, &event, 1, sizeof event, -1, &count, nullptr);
    });
    while (!polling) std::this_thread::yield();
    wq_call how = call(round);
    EXPECT_OK(wq_enqueue(queue_, &spec, &how, nullptr, err()));
    poller.join();
    ASSERT_EQ(code, WQ_OK);
    ASSERT_EQ(event.user_data, round);
  }
}

TEST_F(CapiCompletion, PollArguments) {
  wq_event event = WQ_EVENT_INIT;
  size_t count = 9;
  EXPECT_CODE(WQ_E_INVALID, wq_cq_poll(cq_, nullptr, 1, sizeof event, 0, &count, err()));
  EXPECT_EQ(count, 0u);
  EXPECT_CODE(WQ_E_INVALID, wq_cq_poll(cq_, &event, 0, sizeof event, 0, &count, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_cq_poll(cq_, &event, 1, sizeof event - 1, 0, &count, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_cq_poll(cq_, &event, 1, sizeof event, -2, &count, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_cq_poll(cq_, &event, 1, sizeof event, 0, nullptr, err()));
}

TEST_F(CapiCompletion, ManyEventsInOnePoll) {
  constexpr size_t n = 300;  // more than one round of the boundary
  const wq_job_spec spec = spec_of("x");
  for (uint64_t i = 0; i < n; i++) {
    wq_call how = call(i, WQ_MEMORY);
    ASSERT_OK(wq_enqueue(queue_, &spec, &how, nullptr, err()));
  }
  struct Wide {
    wq_event event;
    uint64_t future;
  };
  std::vector<Wide> events(n + 10);
  size_t count = 0;
  ASSERT_OK(wq_cq_poll(cq_, &events[0].event, events.size(), sizeof events[0], 0, &count, err()));
  ASSERT_EQ(count, n);
  for (size_t i = 0; i < n; i++) EXPECT_EQ(events[i].event.user_data, i);
}

// With threads: pipelined producers and two pollers; each event comes once, to one of them.
TEST_F(CapiReal, PipelinedCallsFromManyThreadsGiveEachEventOnce) {
  wq_cq* cq = nullptr;
  ASSERT_OK(wq_cq_open(store_, &cq, err()));
  constexpr uint64_t producers = 2;
  constexpr uint64_t each = 2'000;
  std::vector<std::atomic<int>> seen(producers * each);
  std::atomic<uint64_t> left{producers * each};
  std::vector<std::thread> threads;
  for (uint64_t p = 0; p < producers; p++) {
    threads.emplace_back([&, p] {
      const wq_job_spec spec = spec_of("x");
      for (uint64_t i = 0; i < each; i++) {
        wq_call how = WQ_CALL_INIT;
        how.cq = cq;
        how.user_data = p * each + i;
        how.durability = i % 3 == 0 ? WQ_MEMORY : i % 3 == 1 ? WQ_PROCESS : WQ_POWER;
        EXPECT_EQ(wq_enqueue(queue_, &spec, &how, nullptr, nullptr), WQ_OK);
      }
    });
  }
  for (int p = 0; p < 2; p++) {
    threads.emplace_back([&] {
      wq_event events[32];
      size_t count = 0;
      while (left > 0) {
        const int32_t code = wq_cq_poll(cq, events, 32, sizeof events[0], 100, &count, nullptr);
        EXPECT_TRUE(code == WQ_OK || code == WQ_EMPTY) << code;
        for (size_t i = 0; i < count; i++) {
          EXPECT_EQ(events[i].code, WQ_OK);
          seen[events[i].user_data]++;
        }
        left -= count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::atomic<int>& times : seen) EXPECT_EQ(times, 1);
  wq_cq_close(&cq);
}

// Two events that come together must wake two sleeping pollers, also if each takes one only.
TEST_F(CapiReal, NoPollerSleepsWhileEventsAreThere) {
  wq_cq* cq = nullptr;
  ASSERT_OK(wq_cq_open(store_, &cq, err()));
  for (int round = 0; round < 500; round++) {
    std::atomic<int> polling{0};
    std::atomic<int> got{0};
    std::vector<std::thread> pollers;
    for (int i = 0; i < 2; i++) {
      pollers.emplace_back([&] {
        wq_event event = WQ_EVENT_INIT;
        size_t count = 0;
        polling++;
        got += wq_cq_poll(cq, &event, 1, sizeof event, 2'000, &count, nullptr) == WQ_OK;
      });
    }
    while (polling < 2) std::this_thread::yield();
    const wq_job_spec spec = spec_of("x");
    for (int i = 0; i < 2; i++) {
      wq_call how = WQ_CALL_INIT;
      how.cq = cq;
      how.durability = WQ_MEMORY;
      ASSERT_OK(wq_enqueue(queue_, &spec, &how, nullptr, err()));
    }
    for (std::thread& poller : pollers) poller.join();
    ASSERT_EQ(got, 2) << "round " << round;
  }
  wq_cq_close(&cq);
}

TEST_F(CapiReal, ClosingACompletionQueueEndsItsPolls) {
  wq_cq* cq = nullptr;
  ASSERT_OK(wq_cq_open(store_, &cq, err()));
  std::atomic<bool> polling{false};
  int32_t code = 0;
  wq_cq* polled = cq;
  std::thread poller([&] {
    wq_event event = WQ_EVENT_INIT;
    size_t count = 0;
    polling = true;
    code = wq_cq_poll(polled, &event, 1, sizeof event, -1, &count, nullptr);
  });
  while (!polling) std::this_thread::yield();
  wq_cq_close(&cq);
  poller.join();
  EXPECT_EQ(code, WQ_E_CLOSED);
}

}  // namespace
}  // namespace wq::capi_test
