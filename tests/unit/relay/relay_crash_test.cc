// The process ends between every two steps of a relay: nothing is lost, nothing is applied twice.
#include "relay_case.h"

namespace wq::relay {
namespace {

constexpr BreakerOptions never_opens{.failures = 1'000'000};

// After the send and before the settle, with jobs behind it.
TEST_F(RelayCase, ACrashBetweenSendAndSettle) {
  for (const bool in_order : {false, true}) {
    server_ = FakeServer();
    const Options options{.mode = Mode::always, .in_order = in_order, .breaker = never_opens};
    start(options);
    for (const char* payload : {"1", "2", "3"}) push(payload);
    const std::filesystem::path copy = path_.string() + "-middle";
    bool copied = false;
    server_.before = [&] {
      if (std::exchange(copied, true)) return;
      std::filesystem::remove_all(copy);
      std::filesystem::copy(path_, copy, std::filesystem::copy_options::recursive);
    };
    relay_->drain();
    const Payloads all{"1", "2", "3"};
    EXPECT_EQ(server_.jobs, all);
    // The files as they were when the first call was on its way.
    relay_.reset();
    wq_store_close(&store_);
    std::filesystem::remove_all(path_);
    std::filesystem::rename(copy, path_);
    open();
    EXPECT_EQ(start(options).drain().duplicate, 3u);
    EXPECT_EQ(server_.jobs, all);
    // The same, but nothing of it had reached Redis.
    server_ = FakeServer();
    for (const char* payload : {"4", "5", "6"}) push(payload);
    copied = false;
    server_.before = [&] {
      if (std::exchange(copied, true)) return;
      std::filesystem::copy(path_, copy, std::filesystem::copy_options::recursive);
    };
    relay_->drain();
    relay_.reset();
    wq_store_close(&store_);
    std::filesystem::remove_all(path_);
    std::filesystem::rename(copy, path_);
    open();
    server_ = FakeServer();
    EXPECT_EQ(start(options).drain().sent, 3u);
    if (in_order) {
      EXPECT_EQ(server_.jobs, (Payloads{"4", "5", "6"}));
    }
  }
}

TEST_F(RelayCase, WhatWasSpooledIsThereAfterACrash) {
  start({.breaker = never_opens});
  server_.otherwise = Verdict::unavailable;
  EXPECT_EQ(push("a"), Outcome::spooled);
  crash();
  server_.otherwise = Verdict::applied;
  EXPECT_EQ(start({.breaker = never_opens}).drain().sent, 1u);
  EXPECT_EQ(server_.jobs, (Payloads{"a"}));
  EXPECT_EQ(relay_->report().sent, 1u);
}

// The ids of jobs that others spooled are those of this store after a restart too.
TEST_F(RelayCase, TheNameOfTheStoreStays) {
  start({.breaker = never_opens});
  wq_queue* queue = nullptr;
  ASSERT_EQ(wq_queue_open(store_, "q", 1, nullptr, 0, &queue, nullptr), WQ_OK);
  const wq_job_spec spec = WQ_JOB_SPEC_INIT;
  ASSERT_EQ(wq_enqueue(queue, &spec, nullptr, nullptr, nullptr), WQ_OK);
  wq_queue_close(&queue);
  server_.next = {Verdict::unknown};
  EXPECT_TRUE(relay_->drain().is_stopped);
  crash();
  EXPECT_EQ(start({.breaker = never_opens}).drain().duplicate, 1u);
}

}  // namespace
}  // namespace wq::relay
