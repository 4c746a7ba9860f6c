// The ring of events: what each change tells, in the order of the log; cursors, lost events, waits;
// and what an opening of the store has to do with another.
#include <gtest/gtest.h>

#include <thread>

#include "support/engine_harness.h"

namespace wq {
namespace {

const char* name_of(EventKind kind) {
  constexpr const char* names[] = {
      "?",       "queued",         "promoted",  "leased",  "confirmed",  "acked",
      "nacked",  "released",       "expired",   "dead",    "replayed",   "cancelled",
      "cleared", "declared",       "changed",   "deleted", "checkpoint", "job_expired",
      "dropped", "batch_finished", "key_cools", "skipped"};
  return names[static_cast<size_t>(kind)];
}

// "queued 1", "nacked 1 +500" (ready again in 500 ms), "cleared q x3", "dead 1 (failed)".
std::string told(const NamedEvent& named) {
  const Event& event = named.event;
  std::string out = name_of(event.kind);
  if (event.job != 0) {
    out += " " + std::to_string(event.job);
    if (event.attempt != 0) out += "/" + std::to_string(event.attempt);
  } else if (!named.queue_name.empty()) {
    out += " " + named.queue_name;
  }
  if (event.job == 0 && event.count > 0) out += " x" + std::to_string(event.count);
  if (event.time_ms != 0) out += " +" + std::to_string(event.time_ms - event.at_ms);
  if (event.reason == DeadReason::failed) out += " (failed)";
  if (event.reason == DeadReason::lease_expired) out += " (lease_expired)";
  return out;
}

class EventsTest : public testing::TestWithParam<StoreKind> {
 protected:
  EventsTest() : harness_(options()) { EXPECT_TRUE(harness_.open().ok()); }

  static HarnessOptions options() {
    HarnessOptions options;
    options.store = GetParam();
    options.engine.events_max = 64;
    options.engine.segment_bytes = 1u << 20;  // small files open sooner
    options.engine.spare_segments = 0;
    return options;
  }
  Status poll(size_t events_max = 1'000, bool from_now = false) {
    EventRequest request;
    request.events_max = events_max;
    request.from_now = from_now;
    return harness_.engine().poll_events(cursor_, request, page_);
  }
  // Everything since the last call, joined by "; ".
  std::string news() {
    std::string out;
    const Status status = poll();
    EXPECT_FALSE(status.is_error()) << status.message();
    for (const NamedEvent& event : page_.events) {
      EXPECT_GE(event.event.lsn, last_lsn_);  // in the order of the log
      last_lsn_ = event.event.lsn;
      out += (out.empty() ? "" : "; ") + told(event);
    }
    return out;
  }
  JobView take(QueueId queue) {
    std::vector<JobView> jobs = harness_.lease(queue);
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? JobView() : jobs[0];
  }
  Code settle(QueueId queue, const JobView& job, SettleKind kind, int64_t delay_ms = 0) {
    SettleItem item;
    item.id = job.id;
    item.generation = job.generation;
    item.kind = kind;
    item.delay_ms = delay_ms;
    return harness_.settle(queue, item);
  }

  EngineHarness harness_;
  EventCursor cursor_;
  EventPage page_;
  Lsn last_lsn_ = 0;
  CallOptions call_;
};

TEST_P(EventsTest, EachChangeTellsWhatItIs) {
  QueueConfig config;
  config.max_retries = 1;
  config.lease_ms = 1'000;
  const QueueId q = harness_.queue("q", config, config_max_retries | config_lease_ms);
  EXPECT_EQ(news(), "declared q");

  harness_.enqueue(q, "a");
  JobSpec later;
  later.delay_ms = 500;
  harness_.enqueue(q, "b", later);
  EXPECT_EQ(news(), "queued 1; queued 2 +500");
  EXPECT_EQ(page_.events[1].queue_name, "q");

  JobView job = take(q);
  EXPECT_EQ(news(), "leased 1/1 +1000");
  EXPECT_EQ(page_.events[0].event.generation, job.generation);
  EXPECT_EQ(settle(q, job, SettleKind::nack, 200), Code::ok);
  EXPECT_EQ(news(), "nacked 1/1 +200");
  harness_.advance(200);
  EXPECT_EQ(news(), "promoted 1/1");
  job = take(q);
  EXPECT_EQ(settle(q, job, SettleKind::release), Code::ok);
  EXPECT_EQ(news(), "leased 1/2 +1000; released 1/1");
  job = take(q);
  ASSERT_TRUE(harness_.engine().confirm(q, Token{job.id, job.generation}, 0, call_).ok());
  EXPECT_EQ(settle(q, job, SettleKind::nack), Code::ok);
  EXPECT_EQ(news(), "leased 1/2 +1000; confirmed 1/2; nacked 1/2; dead 1/2 (failed)");

  ASSERT_TRUE(harness_.engine().dead_replay(q, Token{job.id, job.generation}, call_).ok());
  EXPECT_EQ(news(), "replayed 1");
  take(q);
  harness_.advance(1'000);
  EXPECT_EQ(news(), "leased 1/1 +1000; expired 1/1; promoted 2");
  take(q);  // 1 went to the tail when it was taken back, which was before 2 was promoted
  harness_.advance(1'000);
  EXPECT_EQ(news(), "leased 1/2 +1000; expired 1/2; dead 1/2 (lease_expired)");
  EXPECT_EQ(settle(q, take(q), SettleKind::ack), Code::ok);
  EXPECT_EQ(news(), "leased 2/1 +1000; acked 2/1");

  const JobId third = harness_.enqueue(q, "c");
  ASSERT_TRUE(harness_.engine().cancel(q, third, call_).ok());
  harness_.enqueue(q, "d");
  EXPECT_EQ(settle(q, take(q), SettleKind::fail), Code::ok);
  EXPECT_EQ(news(), "queued 3; cancelled 3; queued 4; leased 4/1 +1000; dead 4/1 (failed)");
  harness_.expect_sound();
}

TEST_P(EventsTest, OneEventForManyJobsAtOnce) {
  const QueueId q = harness_.queue("q");
  for (int i = 0; i < 5; ++i) harness_.enqueue(q, "x");
  harness_.lease(q, 2);
  news();
  const uint32_t states = state_bit(JobState::ready) | state_bit(JobState::leased);
  EXPECT_EQ(harness_.engine().clear(q, states, call_).value(), 5u);
  EXPECT_EQ(news(), "cleared q x5");
  ASSERT_TRUE(harness_.engine().change_status(q, Engine::StatusChange::pause, call_).ok());
  harness_.enqueue(q, "x");
  ASSERT_TRUE(harness_.engine().remove_queue(q, call_).ok());
  harness_.queue("q");
  EXPECT_EQ(news(), "changed q; queued 6; deleted q x1; declared q");
  ASSERT_TRUE(harness_.engine().checkpoint().ok());
  EXPECT_EQ(news(), "checkpoint");
}

TEST_P(EventsTest, OneDeadLetterThatIsRemoved) {
  const QueueId q = harness_.queue("q");
  harness_.enqueue(q, "x");
  const JobView job = take(q);
  EXPECT_EQ(settle(q, job, SettleKind::fail), Code::ok);
  ASSERT_TRUE(harness_.engine().checkpoint().ok());
  news();
  ASSERT_TRUE(harness_.engine().dead_remove(q, Token{job.id, job.generation}, call_).ok());
  EXPECT_EQ(news(), "cleared 1/1");
}

TEST_P(EventsTest, WhoReadsTooSlowlyIsToldHowManyAreLost) {
  const QueueId q = harness_.queue("q");  // event 1
  EXPECT_TRUE(poll(1).ok());
  for (int i = 0; i < 100; ++i) harness_.enqueue(q, "x");  // 2 to 101
  ASSERT_TRUE(poll(10).ok());
  EXPECT_EQ(page_.dropped, 101u - 64 - 1);  // 38 to 101 are there, 2 to 37 are not
  ASSERT_EQ(page_.events.size(), 10u);
  EXPECT_EQ(page_.events[0].sequence, 38u);
  EXPECT_EQ(cursor_.sequence, 47u);
  ASSERT_TRUE(poll(1'000).ok());
  EXPECT_EQ(page_.dropped, 0u);
  EXPECT_EQ(page_.events.size(), 54u);
  EXPECT_EQ(poll().code(), Code::empty);
  for (int i = 0; i < 64; ++i) harness_.enqueue(q, "x");
  ASSERT_TRUE(poll().ok());
  EXPECT_EQ(page_.dropped, 0u);  // the ring was just full
  for (int i = 0; i < 65; ++i) harness_.enqueue(q, "x");
  ASSERT_TRUE(poll().ok());
  EXPECT_EQ(page_.dropped, 1u);
  EXPECT_EQ(page_.events.size(), 64u);

  EventCursor fresh;
  std::swap(cursor_, fresh);
  ASSERT_TRUE(poll().ok());  // from the oldest that is there
  EXPECT_EQ(page_.dropped, 230u - 64);
  cursor_ = EventCursor();
  EXPECT_EQ(poll(1'000, true).code(), Code::empty);  // from now on
  harness_.enqueue(q, "x");
  EXPECT_EQ(poll(1'000, true).code(), Code::ok);
  EXPECT_EQ(page_.events.size(), 1u);
  EXPECT_EQ(page_.dropped, 0u);
}

TEST_P(EventsTest, ACursorIsOfOneOpening) {
  const QueueId q = harness_.queue("q");
  harness_.enqueue(q, "x");
  EXPECT_EQ(news(), "declared q; queued 1");
  const EventCursor old = cursor_;
  for (const bool in_order : {true, false}) {
    ASSERT_TRUE(in_order ? harness_.close().ok() : true);
    ASSERT_TRUE(in_order ? harness_.open().ok() : harness_.kill_and_open().ok());
    cursor_ = old;
    EXPECT_EQ(poll().code(), Code::stale) << in_order;
    EXPECT_GT(cursor_.epoch, old.epoch);
    EXPECT_EQ(cursor_.sequence, 0u);
    EXPECT_EQ(news(), "");  // nothing of what was replayed
    harness_.queue("after " + std::to_string(in_order));
    EXPECT_EQ(news(), "declared after " + std::to_string(in_order));
    EXPECT_EQ(page_.events[0].sequence, 1u);
    harness_.enqueue(q, "x");  // for the kill to leave something to be replayed
  }
  cursor_.sequence = 99;
  EXPECT_EQ(poll().code(), Code::invalid);
}

TEST_P(EventsTest, WhatOpeningDoesIsTold) {
  const QueueId q = harness_.queue("q");
  harness_.enqueue(q, "x");
  take(q);
  ASSERT_TRUE(harness_.close().ok());
  harness_.options().engine.expire_leases = true;
  ASSERT_TRUE(harness_.open().ok());
  cursor_ = EventCursor();
  last_lsn_ = 0;
  EXPECT_EQ(news(), "expired 1/1");
}

TEST_P(EventsTest, OffUnlessAskedFor) {
  ASSERT_TRUE(harness_.close().ok());
  harness_.options().engine.events_max = 0;
  ASSERT_TRUE(harness_.open().ok());
  const QueueId q = harness_.queue("q");
  harness_.enqueue(q, "x");
  EXPECT_EQ(poll().code(), Code::unsupported);
  EXPECT_EQ(poll(0).code(), Code::invalid);
  EXPECT_EQ(harness_.engine().stats().events, 0u);
}

TEST_P(EventsTest, AWaitEndsWithTheFirstEvent) {
  harness_.queue("q");
  news();
  CancelToken token;
  EventRequest request;
  request.events_max = 10;
  request.wait_ms = -1;
  request.cancel = &token;
  const auto wait = [&](const auto& meanwhile) {
    Status status;
    std::thread reader([&] { status = harness_.engine().poll_events(cursor_, request, page_); });
    while (harness_.engine().stats().followers == 0) std::this_thread::yield();
    meanwhile();
    reader.join();
    return status.code();
  };
  // A wake-up that got lost would show at the one-second cap of every sleep, ten times.
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(wait([&] { harness_.queue("r" + std::to_string(i)); }), Code::ok);
    ASSERT_EQ(page_.events.size(), 1u);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(wait([&] { token.fire(); }), Code::cancelled);
  request.cancel = nullptr;
  EXPECT_EQ(wait([&] { EXPECT_TRUE(harness_.engine().close().ok()); }), Code::closed);
}

INSTANTIATE_TEST_SUITE_P(Stores, EventsTest, testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

}  // namespace
}  // namespace wq
