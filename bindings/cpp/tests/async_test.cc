// async_test.cc: changes under way through a completion queue: by wait(), by coroutine, from
// several threads, thousands at once, refused ones, and closing under them.
#include <poll.h>

#include <stdexcept>
#include <thread>

#include "store_fixture.hpp"

namespace {

using wq::Errc;
using wq::Outcome;
using wq_test::error_of;

// A coroutine that nobody waits for.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

class Async : public wq_test::StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    completions_.emplace(wq::Completions::open(store_).value());
  }
  std::optional<wq::Completions> completions_;
};

TEST_F(Async, ThousandsOnOneThread) {
  std::vector<wq::Pending<wq::Result<wq::Enqueued>>> pending;
  for (int i = 0; i < 10'000; i++) pending.push_back(completions_->enqueue(queue_, "x"));
  while (!pending.back().done()) completions_->dispatch(wq::forever).value();
  std::uint64_t before = 0;
  for (auto& one : pending) {
    const wq::Enqueued enqueued = one.wait().value();
    EXPECT_EQ(enqueued.outcome, Outcome::ok);
    EXPECT_GT(enqueued.id, std::exchange(before, enqueued.id));
  }
  EXPECT_EQ(queue_.stats().value().ready, 10'000u);
  EXPECT_EQ(completions_->dispatch().value(), 0u);
}

TEST_F(Async, WhatIsRefusedIsDoneAtOnce) {
  auto invalid = completions_->enqueue(queue_, "x", {.delay = wq::Millis(-1)});
  EXPECT_TRUE(invalid.done());
  EXPECT_EQ(error_of(invalid.wait()), Errc::invalid);
  const std::uint64_t holder = put("x", {.unique = {"k"}});
  auto duplicate = completions_->enqueue(queue_, "y", {.unique = {"k"}});
  EXPECT_TRUE(duplicate.done());
  EXPECT_EQ(duplicate.wait().value().id, holder);
  const wq::Job job = take();
  EXPECT_EQ(completions_->ack(job).wait().value(), Outcome::ok);
  EXPECT_EQ(completions_->ack(job).wait().value(), Outcome::stale);
  EXPECT_EQ(completions_->nack(job).wait().value(), Outcome::stale);
}

TEST_F(Async, AnyChangingCall) {
  const wq::NewJob jobs[] = {{"a"}, {"b"}};
  auto many = completions_->begin([&](const wq::Call& call) {
    return queue_.enqueue_many(jobs, wq::EnqueueMode::all_or_none, call);
  });
  auto row =
      completions_->begin([&](const wq::Call& call) { return store_.kv().put("k", "v", {}, call); },
                          wq::Durability::process);
  auto paused = completions_->begin([&](const wq::Call& call) { return queue_.pause(call); });
  EXPECT_EQ(many.wait().accepted, 2u);
  EXPECT_TRUE(row.wait().value());
  EXPECT_EQ(paused.wait().value(), Outcome::ok);
}

Detached enqueue_some(const wq::Completions& completions, const wq::Queue& queue, int count,
                      int& finished) {
  for (int i = 0; i < count; i++) {
    const wq::Result<wq::Enqueued> result = co_await completions.enqueue(queue, "x");
    EXPECT_TRUE(result);
  }
  finished++;
}

TEST_F(Async, CoroutinesGoOnWhenItIsDurable) {
  int finished = 0;
  for (int i = 0; i < 100; i++) enqueue_some(*completions_, queue_, 10, finished);
  EXPECT_EQ(finished, 0) << "nothing is resumed but by dispatch()";
  while (finished < 100) {
    pollfd readable{completions_->fd(), POLLIN, 0};
    ASSERT_EQ(poll(&readable, 1, 60'000), 1);
    completions_->dispatch().value();
  }
  EXPECT_EQ(queue_.stats().value().ready, 1000u);
}

// What it throws goes to who resumes it, and its frame stays.
struct Throwing {
  struct promise_type {
    Throwing get_return_object() {
      return {std::coroutine_handle<promise_type>::from_promise(*this)};
    }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { throw; }
  };
  std::coroutine_handle<promise_type> frame;
};

Throwing throw_after(const wq::Completions& completions, const wq::Queue& queue, int& resumed) {
  (void)co_await completions.enqueue(queue, "x");
  throw std::runtime_error("number " + std::to_string(++resumed));
}

TEST_F(Async, ACoroutineThatThrowsKeepsNoOthers) {
  int resumed = 0;
  std::vector<Throwing> all;
  for (int i = 0; i < 3; i++) all.push_back(throw_after(*completions_, queue_, resumed));
  put("y");  // durable behind them, so that one dispatch has them all
  try {
    (void)completions_->dispatch(wq::forever);
    FAIL() << "it did not throw";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "number 1");
  }
  EXPECT_EQ(resumed, 3);
  for (const Throwing& one : all) one.frame.destroy();
}

TEST_F(Async, SeveralThreadsWait) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; i++) {
        auto one = completions_->enqueue(queue_, "x", {}, wq::Durability::process);
        EXPECT_TRUE(one.wait());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(queue_.stats().value().ready, 800u);
}

TEST_F(Async, ForgettingAPendingForgetsItsCoroutineOnly) {
  { auto dropped = completions_->enqueue(queue_, "x"); }
  EXPECT_TRUE(completions_->enqueue(queue_, "y").wait());
  EXPECT_EQ(queue_.stats().value().ready, 2u);
}

TEST_F(Async, ClosingAnswersAll) {
  std::vector<wq::Pending<wq::Result<wq::Enqueued>>> pending;
  for (int i = 0; i < 1000; i++) {
    pending.push_back(completions_->enqueue(queue_, "x", {}, wq::Durability::power));
  }
  store_.close();
  // Closing flushes, so they are durable, or it says that it can not tell.
  for (auto& one : pending) {
    const auto& result = one.wait();
    EXPECT_TRUE(result || result.error().maybe_committed());
  }
  EXPECT_EQ(error_of(completions_->enqueue(queue_, "x").wait()), Errc::closed);
}

TEST_F(Async, AClosedQueueOfCompletions) {
  auto pending = completions_->enqueue(queue_, "x");
  completions_->close();
  const auto& result = pending.wait();
  EXPECT_TRUE(result || error_of(result) == Errc::closed);
  EXPECT_EQ(error_of(completions_->enqueue(queue_, "y").wait()), Errc::closed);
  EXPECT_EQ(error_of(completions_->dispatch(wq::forever)), Errc::closed);
  EXPECT_LT(completions_->fd(), 0);
}

}  // namespace
