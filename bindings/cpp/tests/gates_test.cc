// gates_test.cc: tenants, overlap guard, rate keys, throttle, keys in transactions: by their
// effect.
#include "store_fixture.hpp"

namespace {

using wq::Errc;
using wq::Outcome;
using wq::Overlap;
using wq_test::error_of;
using wq_test::hours;

class Gates : public wq_test::StoreTest {
 protected:
  wq::Batch take_all() { return queue_.lease({.max_jobs = 10}).value(); }
  std::vector<wq::StoreEvent> events_of(std::uint32_t kind) {
    wq::EventCursor cursor;
    std::vector<wq::StoreEvent> events = store_.events(cursor, 1000).value().events;
    std::erase_if(events, [&](const wq::StoreEvent& event) { return event.kind != kind; });
    return events;
  }
};

TEST_F(Gates, TenantsAreServedByTurns) {
  for (const std::string job : {"a1", "a2", "a3", "b1"}) put(job, {.tenant = job.substr(0, 1)});
  put("none");
  std::string order;
  for (const wq::Job& job : take_all()) {
    order += job.payload().str() + " ";
    EXPECT_EQ(job.tenant().view(),
              job.payload() == "none" ? "" : job.payload().view().substr(0, 1));
  }
  EXPECT_EQ(order, "a1 b1 none a2 a3 ");
  const std::string zeros(512, '\0');
  put("x", {.tenant = zeros});
  EXPECT_EQ(take().tenant(), wq::Bytes(zeros));
  EXPECT_EQ(error_of(queue_.enqueue("x", {.tenant = std::string(513, 't')})), Errc::too_large);
}

TEST_F(Gates, AJobOfAFullGroupWaitsComesLaterOrEnds) {
  put("runs", {.group = {"g", 1, Overlap::skip}});
  const std::uint64_t skipped = put("skipped", {.group = {"g", 1, Overlap::skip}});
  const std::uint64_t later = put("later", {.group = {"g", 1, Overlap::release, hours(1)}});
  const std::uint64_t waits = put("waits", {.group = {"g"}});
  const wq::Job running = take();
  EXPECT_EQ(running.payload(), wq::Bytes("runs"));
  EXPECT_TRUE(take_all().empty());
  EXPECT_EQ(error_of(queue_.get(skipped)), Errc::not_found);
  EXPECT_EQ(queue_.get(later).value().state(), wq::JobState::delayed);
  EXPECT_EQ(queue_.get(later).value().attempts(), 0u);
  EXPECT_TRUE(queue_.get(waits).value().parked());
  const wq::QueueStats stats = queue_.stats().value();
  EXPECT_EQ(stats.skipped_total, 1u);
  EXPECT_EQ(stats.released_total, 1u);
  EXPECT_EQ(stats.parked, 1u);
  EXPECT_EQ(events_of(WQ_EVENT_SKIPPED).at(0).job_id, skipped);
  EXPECT_EQ(events_of(WQ_EVENT_RELEASED).at(0).job_id, later);
  EXPECT_EQ(running.ack().value(), Outcome::ok);
  EXPECT_EQ(take().id(), waits);
  EXPECT_EQ(error_of(queue_.enqueue("x", {.group = {"g", 1, Overlap::release}})), Errc::invalid);
  EXPECT_EQ(error_of(queue_.enqueue("x", {.group = {"", 0, Overlap::skip}})), Errc::invalid);
}

TEST_F(Gates, EachRateKeyHasItsOwnRate) {
  queue_.configure({.key_rate = wq::Rate{2, hours(1), 2}}).value();
  const wq::Rate told = *queue_.config().value().key_rate;
  EXPECT_EQ(told.count, 2u);
  EXPECT_EQ(told.burst, 2u);
  EXPECT_EQ(told.window, hours(1));
  put("x", {.rate_key = {"k", 2}});
  const std::uint64_t second = put("x", {.rate_key = {"k"}});
  put("x", {.rate_key = {"other"}});
  const wq::Batch batch = take_all();
  ASSERT_EQ(batch.size(), 2u);
  EXPECT_EQ(batch[0].rate_key(), wq::Bytes("k"));
  EXPECT_EQ(batch[0].rate_cost(), 2u);
  EXPECT_TRUE(queue_.get(second).value().parked());
  EXPECT_EQ(queue_.get(second).value().rate_cost(), 1u);
  EXPECT_TRUE(queue_.explain(second).value().raw.causes & WQ_WHY_RATE);
  EXPECT_GT(queue_.stats().value().rate_wait_ms, 60'000);
  queue_.configure({.key_rate = wq::Rate{}}).value();  // no key is held back any more
  EXPECT_EQ(take().id(), second);
  EXPECT_EQ(error_of(queue_.enqueue("x", {.group = {"g"}, .rate_key = {"k"}})), Errc::unsupported);
  EXPECT_EQ(error_of(queue_.enqueue("x", {.rate_key = {"k", 1'000'001}})), Errc::invalid);
  EXPECT_EQ(error_of(queue_.enqueue("x", {.rate_key = {"", 2}})), Errc::invalid);
}

TEST_F(Gates, ARateKeyCoolsDownAfterExceptions) {
  queue_.configure({.max_retries = 10, .throttle = wq::Throttle{2, hours(1)}}).value();
  EXPECT_EQ(queue_.config().value().throttle->count, 2u);
  EXPECT_EQ(queue_.config().value().throttle->cool, hours(1)) << "as the window";
  const std::uint64_t id = put("x", {.rate_key = {"host"}});
  EXPECT_EQ(take().nack({.exception = false}).value(), Outcome::ok);
  for (int i = 0; i < 2; i++) EXPECT_EQ(take().nack().value(), Outcome::ok);
  EXPECT_TRUE(take_all().empty());
  const wq_job_explanation why = queue_.explain(id).value().raw;
  EXPECT_TRUE(why.causes & WQ_WHY_COOLING);
  const std::vector<wq::StoreEvent> cools = events_of(WQ_EVENT_KEY_COOLS);
  ASSERT_EQ(cools.size(), 1u);
  EXPECT_EQ(cools[0].job_id, id);
  EXPECT_EQ(cools[0].time_ms, why.until_ms);
  queue_.configure({.throttle = wq::Throttle{}}).value();
  EXPECT_EQ(take().id(), id);
  EXPECT_EQ(error_of(queue_.configure({.throttle = wq::Throttle{101, hours(1)}})), Errc::invalid);
}

TEST_F(Gates, ATransactionTellsWhoHoldsTheKey) {
  const std::uint64_t holder = put("x", {.unique = {"k"}});
  wq::Transaction refused;
  refused.enqueue(queue_, "other").enqueue(queue_, "next", {.unique = {"k"}});
  const wq::TransactReport report = store_.transact(refused);
  EXPECT_EQ(report.result.value(), Outcome::duplicate);
  ASSERT_EQ(report.failed, 1u);
  EXPECT_EQ(report.results[1].job_id, holder);
  wq::Transaction next;
  next.settle(queue_, wq::Settle::ack(take().token())).enqueue(queue_, "next", {.unique = {"k"}});
  const wq::TransactReport done = store_.transact(next);
  EXPECT_EQ(done.result.value(), Outcome::ok);
  EXPECT_EQ(done.results[1].job_id, take().id());
}

}  // namespace
