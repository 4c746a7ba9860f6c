// Pushes and drains against a server that fails as it is told.
#include "relay_case.h"

namespace wq::relay {
namespace {

constexpr BreakerOptions never_opens{.failures = 1'000'000};

TEST_F(RelayCase, GoesToRedisAtOnceAndSpoolsWhatItDoesNotTake) {
  Relay& relay = start({.breaker = never_opens});
  EXPECT_EQ(push("a"), Outcome::sent);
  server_.next = {Verdict::unavailable};
  const Pushed spooled = relay.push({.payload = "b"});
  EXPECT_EQ(spooled.outcome, Outcome::spooled);
  EXPECT_EQ(spooled.text, "gone");
  EXPECT_EQ(push("c"), Outcome::sent);  // order was not asked for
  const Drained drained = relay.drain();
  EXPECT_EQ(drained.sent, 1u);
  EXPECT_FALSE(drained.is_stopped);
  EXPECT_EQ(server_.jobs, (Payloads{"a", "c", "b"}));
  const Report report = relay.report();
  EXPECT_EQ(report.direct_sent, 2u);
  EXPECT_EQ(report.spooled, 1u);
  EXPECT_EQ(report.sent, 1u);
  EXPECT_EQ(report.local_ready, 0u);
}

// Timeout after send: the job may be there. It is kept, sent again, and applied once.
TEST_F(RelayCase, AnAnswerThatIsLostDoublesNothing) {
  for (const bool was_done : {true, false}) {
    server_ = FakeServer();
    server_.does_unknown = was_done;
    Relay& relay = start({.breaker = never_opens});
    const Report before = relay.report();
    server_.next = {Verdict::unknown};
    EXPECT_EQ(push("a"), Outcome::spooled);
    const Drained drained = relay.drain();
    EXPECT_EQ(drained.duplicate, was_done ? 1u : 0u);
    EXPECT_EQ(drained.sent, was_done ? 0u : 1u);
    EXPECT_EQ(server_.jobs, (Payloads{"a"}));
    EXPECT_EQ(relay.health().timeouts, 1u);
    EXPECT_EQ(relay.report().duplicate - before.duplicate, was_done ? 1u : 0u);
  }
}

TEST_F(RelayCase, TheSameIdIsTakenOnce) {
  Relay& relay = start();
  EXPECT_EQ(relay.push({.id = "x", .payload = "1"}).outcome, Outcome::sent);
  EXPECT_EQ(relay.push({.id = "x", .payload = "2"}).outcome, Outcome::duplicate);
  EXPECT_EQ(server_.jobs, (Payloads{"1"}));
}

TEST_F(RelayCase, InOrderNothingOvertakes) {
  Relay& relay = start({.in_order = true, .breaker = never_opens});
  server_.next = {Verdict::unavailable};
  EXPECT_EQ(push("1"), Outcome::spooled);
  EXPECT_EQ(push("2"), Outcome::spooled);  // Redis would take it, but 1 is before it
  EXPECT_EQ(relay.push({.payload = "later", .run_at_ms = now_ms_ + 3'600'000}).outcome,
            Outcome::spooled);
  server_.next = {Verdict::applied, Verdict::unavailable};
  EXPECT_TRUE(relay.drain().is_stopped);
  EXPECT_EQ(push("3"), Outcome::spooled);
  EXPECT_EQ(relay.drain().sent, 2u);
  EXPECT_EQ(push("4"), Outcome::sent);  // what waits for its time holds up nobody
  EXPECT_EQ(server_.jobs, (Payloads{"1", "2", "3", "4"}));
}

TEST_F(RelayCase, AStepThatStopsLeavesTheQueueAsItWas) {
  Relay& relay = start({.mode = Mode::always, .breaker = never_opens});
  for (const char* payload : {"1", "2", "3", "4", "5"}) push(payload);
  EXPECT_TRUE(server_.jobs.empty());
  server_.next = {Verdict::applied, Verdict::applied};
  server_.otherwise = Verdict::unavailable;
  Drained drained = relay.drain();
  EXPECT_TRUE(drained.is_stopped);
  EXPECT_EQ(drained.sent, 2u);
  EXPECT_EQ(relay.report().local_ready, 3u);
  server_.otherwise = Verdict::applied;
  EXPECT_EQ(relay.drain().sent, 3u);
  EXPECT_EQ(server_.jobs, (Payloads{"1", "2", "3", "4", "5"}));
}

TEST_F(RelayCase, WhatRedisRefusesForGoodIsADeadLetter) {
  Relay& relay = start({.breaker = never_opens});
  server_.next = {Verdict::refused};
  EXPECT_EQ(push("direct"), Outcome::refused);  // its caller knows: nothing is kept
  EXPECT_EQ(relay.report().spooled, 0u);
  server_.next = {Verdict::unavailable, Verdict::refused};
  push("spooled");
  EXPECT_EQ(relay.drain().refused, 1u);
  EXPECT_EQ(relay.report().dead, 1u);
  EXPECT_FALSE(relay.drain().is_stopped);
}

TEST_F(RelayCase, TheBreakerSparesCallersTheWait) {
  Relay& relay = start({.breaker = {.failures = 2, .cool_ms = 1'000, .cool_max_ms = 1'000}});
  server_.otherwise = Verdict::unavailable;
  push("1");
  push("2");
  EXPECT_EQ(server_.sends, 2u);
  push("3");
  EXPECT_TRUE(relay.drain().is_stopped);
  EXPECT_EQ(server_.sends, 2u);  // open: nothing was asked
  EXPECT_EQ(relay.health().state, Breaker::State::open);
  EXPECT_EQ(relay.retry_at_ms(), now_ms_ + 1'000);
  now_ms_ += 1'000;
  server_.otherwise = Verdict::applied;
  EXPECT_EQ(relay.drain().sent, 3u);
  EXPECT_EQ(relay.health().state, Breaker::State::closed);
  EXPECT_EQ(relay.health().opened, 1u);
  EXPECT_TRUE(relay.health().problem.empty());
}

TEST_F(RelayCase, ShadowDeliversNothingAndCompares) {
  Relay& relay = start({.mode = Mode::shadow, .breaker = never_opens});
  EXPECT_EQ(push("a"), Outcome::sent);
  server_.next = {Verdict::unavailable};
  EXPECT_EQ(push("b"), Outcome::failed);
  const Drained drained = relay.drain();
  EXPECT_EQ(drained.sent, 1u);
  EXPECT_EQ(drained.missing, 1u);
  EXPECT_EQ(server_.jobs, (Payloads{"a"}));
}

TEST_F(RelayCase, AllThatAJobHasSurvivesTheQueue) {
  std::string problem;
  Options options{.mode = Mode::always};
  options.layout = *parse_layout("stream:s", "q", problem);
  Relay& relay = start(options);
  const Job job{.id = "i",
                .payload = std::string("\0\xff", 2),
                .headers = {{"h", "v"}, {"h", "w"}},
                .run_at_ms = 5,
                .priority = 0,
                .max_attempts = 4,
                .attempts = 2,
                .unique_key = "u",
                .group = "g"};
  relay.push(job);
  wq_queue* queue = nullptr;
  ASSERT_EQ(wq_queue_open(store_, "q", 1, nullptr, 0, &queue, nullptr), WQ_OK);
  wq_lease_options take = WQ_LEASE_OPTIONS_INIT;
  wq_batch* batch = nullptr;
  ASSERT_EQ(wq_lease(store_, &queue, 1, &take, nullptr, nullptr, &batch, nullptr), WQ_OK);
  wq_job stored = WQ_JOB_INIT;
  ASSERT_EQ(wq_batch_job(batch, 0, &stored), WQ_OK);
  const Job back = spooled_job(batch, 0, stored, "store");
  EXPECT_EQ(apply_request(options.layout, "q", back, {}).arguments,
            apply_request(options.layout, "q", job, {}).arguments);
  wq_batch_free(&batch);
  wq_queue_close(&queue);
}

// A program without a relay may put jobs into the queue: they are relayed too, each once.
TEST_F(RelayCase, JobsOfOthersAreRelayed) {
  Relay& relay = start({.breaker = never_opens});
  wq_queue* queue = nullptr;
  ASSERT_EQ(wq_queue_open(store_, "q", 1, nullptr, 0, &queue, nullptr), WQ_OK);
  wq_job_spec spec = WQ_JOB_SPEC_INIT;
  spec.payload = {"x", 1};
  ASSERT_EQ(wq_enqueue(queue, &spec, nullptr, nullptr, nullptr), WQ_OK);
  server_.next = {Verdict::unknown};
  EXPECT_TRUE(relay.drain().is_stopped);
  EXPECT_EQ(relay.drain().duplicate, 1u);
  EXPECT_EQ(server_.jobs, (Payloads{"x"}));
  wq_queue_close(&queue);
}

TEST_F(RelayCase, AClearInTheMiddleOfAStepLosesNoOther) {
  Relay& relay = start({.mode = Mode::always, .breaker = never_opens});
  push("1");
  push("2");
  server_.before = [this] {
    wq_queue* queue = nullptr;
    ASSERT_EQ(wq_queue_open(store_, "q", 1, nullptr, 0, &queue, nullptr), WQ_OK);
    wq_queue_explanation found = WQ_QUEUE_EXPLANATION_INIT;
    ASSERT_EQ(wq_queue_explain(queue, &found, nullptr, nullptr), WQ_OK);
    ASSERT_EQ(wq_job_cancel(queue, found.holder_id, nullptr, nullptr), WQ_OK);
    wq_queue_close(&queue);
    server_.before = nullptr;
  };
  EXPECT_EQ(relay.drain().sent, 2u);
  EXPECT_EQ(relay.report().local_ready + relay.report().local_held, 0u);
}

}  // namespace
}  // namespace wq::relay
