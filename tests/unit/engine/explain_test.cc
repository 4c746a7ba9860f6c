// Explain: each cause that holds a job or a queue back, as a flag and as a line; the last errors of
// a queue.
#include <gtest/gtest.h>

#include <thread>

#include "support/engine_harness.h"

namespace wq {
namespace {

class ExplainTest : public testing::TestWithParam<StoreKind> {
 protected:
  ExplainTest() : harness_(options()) {
    EXPECT_TRUE(harness_.open().ok());
    QueueConfig config;
    config.max_running = 2;
    config.lease_ms = 60'000;
    queue_ = harness_.queue("q", config, config_max_running | config_lease_ms);
  }
  static HarnessOptions options() {
    HarnessOptions options;
    options.store = GetParam();
    options.engine.segment_bytes = 1u << 20;  // small files open sooner
    options.engine.spare_segments = 0;
    return options;
  }
  JobExplanation job(JobId id) {
    Result<JobExplanation> found = harness_.engine().explain_job(queue_, id);
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() ? std::move(found).value() : JobExplanation();
  }
  QueueExplanation queue() {
    Result<QueueExplanation> found = harness_.engine().explain_queue(queue_);
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() ? std::move(found).value() : QueueExplanation();
  }
  void change(Engine::StatusChange change) {
    ASSERT_TRUE(harness_.engine().change_status(queue_, change, call_).ok());
  }

  EngineHarness harness_;
  QueueId queue_ = 0;
  CallOptions call_;
};

void expect_line(const std::string& text, const std::string& line) {
  EXPECT_NE(("\n" + text).find("\n" + line + "\n"), std::string::npos)
      << "no line '" << line << "' in\n"
      << text;
}

TEST_P(ExplainTest, AReadyJob) {
  const JobId first = harness_.enqueue(queue_, "a");
  JobSpec urgent;
  urgent.priority = 1;
  const JobId second = harness_.enqueue(queue_, "b");
  harness_.clock().advance(2'500);
  JobExplanation out = job(first);
  EXPECT_EQ(out.why, why_no_consumer);
  EXPECT_EQ(out.state, JobState::ready);
  EXPECT_TRUE(out.ahead_exact);
  expect_line(out.text, "job 1 of queue 'q' is ready, for 2.5 s; attempts 0 of 4");
  expect_line(out.text, "no consumer waits for a job of this queue at the moment");

  harness_.enqueue(queue_, "c", urgent);
  out = job(second);
  EXPECT_EQ(out.why, why_behind | why_no_consumer);
  EXPECT_EQ(out.ahead, 2u);
  expect_line(out.text, "2 jobs go before it");

  harness_.lease(queue_, 2);  // c and a
  harness_.clock().advance(90'000);
  out = job(second);
  EXPECT_EQ(out.why, why_slots | why_no_consumer);
  EXPECT_EQ(out.queue.holder, 3u);
  EXPECT_EQ(out.queue.held, 2u);
  expect_line(out.text,
              "the queue is at its limit: 2 of 2 slots are taken, longest by job 3, for 1m 30s");
  change(Engine::StatusChange::pause);
  EXPECT_EQ(job(second).why, why_paused | why_slots | why_no_consumer);
  change(Engine::StatusChange::disable);
  out = job(second);
  EXPECT_EQ(out.why, why_disabled | why_slots | why_no_consumer);
  expect_line(out.text,
              "the queue is disabled: it takes and hands out no jobs until it is enabled");
}

TEST_P(ExplainTest, AJobThatIsOnlyOnDisk) {
  const std::vector<JobSpec> specs(1'100);
  ASSERT_TRUE(harness_.engine().enqueue_many(queue_, specs, false, call_, {}).ok());
  ASSERT_TRUE(harness_.close().ok());
  ASSERT_TRUE(harness_.open().ok());
  JobExplanation out = job(20);
  EXPECT_EQ(out.why, why_behind | why_no_consumer);
  EXPECT_TRUE(out.ahead_exact);
  expect_line(out.text, "19 jobs go before it");
  out = job(1'050);  // not worth counting
  EXPECT_FALSE(out.ahead_exact);
  expect_line(out.text, "up to 1049 jobs go before it");
  harness_.expect_sound();
}

TEST_P(ExplainTest, AConsumerThatWaits) {
  change(Engine::StatusChange::pause);
  const JobId id = harness_.enqueue(queue_, "a");
  CancelToken token;
  std::thread consumer([&] {
    LeaseRequest request;
    request.queues = std::span(&queue_, 1);
    request.wait_ms = -1;
    request.cancel = &token;
    CallOptions call;
    std::vector<JobView> jobs;
    EXPECT_EQ(harness_.engine().lease(request, call, jobs).code(), Code::cancelled);
  });
  while (harness_.engine().stats().waiting == 0) std::this_thread::yield();
  const JobExplanation out = job(id);
  EXPECT_EQ(out.why, why_paused);
  EXPECT_EQ(out.queue.consumers, 1u);
  expect_line(out.text, "the queue is paused: it hands out no jobs until it is resumed");
  EXPECT_EQ(queue().why, why_paused);
  token.fire();
  consumer.join();
  EXPECT_EQ(harness_.engine().stats().waits.for_job, 1u);
}

TEST_P(ExplainTest, ADelayedJob) {
  JobSpec spec;
  spec.delay_ms = 3 * 3'600'000 + 5 * 60'000;
  const JobId id = harness_.enqueue(queue_, "a", spec);
  const int64_t due_ms = harness_.clock().wall_ms() + spec.delay_ms;
  for (const bool cold : {false, true}) {
    if (cold) {
      ASSERT_TRUE(harness_.close().ok());
      ASSERT_TRUE(harness_.open().ok());
    }
    const JobExplanation out = job(id);
    EXPECT_EQ(out.why, why_delayed);
    EXPECT_EQ(out.until_ms, due_ms);
    expect_line(out.text, "it becomes ready in 3h 05m");
  }
  change(Engine::StatusChange::pause);
  EXPECT_EQ(job(id).why, why_delayed | why_paused);
  harness_.clock().advance(spec.delay_ms);
  expect_line(job(id).text, "its time has come: it becomes ready any moment");
}

TEST_P(ExplainTest, AHeldJob) {
  const JobId id = harness_.enqueue(queue_, "a");
  const JobView lease = harness_.lease(queue_)[0];
  harness_.clock().advance(10'000);
  JobExplanation out = job(id);
  EXPECT_EQ(out.why, why_held);
  EXPECT_EQ(out.until_ms, lease.deadline_ms);
  expect_line(out.text, "a worker holds it by generation " + std::to_string(lease.generation) +
                            ", since 10.0 s; its lease ends in 50.0 s");
  ASSERT_TRUE(harness_.engine().checkpoint().ok());
  ASSERT_TRUE(harness_.kill_and_open().ok());
  harness_.clock().advance(51'000);
  out = job(id);
  EXPECT_EQ(out.why, why_held | why_late);
  harness_.tick();
  const JobView again = harness_.lease(queue_)[0];
  ASSERT_TRUE(harness_.engine().confirm(queue_, Token{id, again.generation}, 0, call_).ok());
  out = job(id);
  EXPECT_EQ(out.why, why_held);
  EXPECT_EQ(out.state, JobState::running);
  EXPECT_EQ(out.until_ms, 0);
  expect_line(out.text, "a worker holds it by generation " + std::to_string(again.generation) +
                            ", since 0 ms; it has no deadline and stays until it is settled");
}

TEST_P(ExplainTest, ADeadJob) {
  const JobId id = harness_.enqueue(queue_, "a");
  SettleItem item;
  item.kind = SettleKind::fail;
  item.id = id;
  item.generation = harness_.lease(queue_)[0].generation;
  item.error = "no\nroute \xff";
  ASSERT_EQ(harness_.settle(queue_, item), Code::ok);
  const JobExplanation out = job(id);
  EXPECT_EQ(out.why, why_dead);
  EXPECT_EQ(out.reason, DeadReason::failed);
  expect_line(out.text, "it is dead: it failed for good");
  expect_line(out.text, "last error: no route ?");
  EXPECT_EQ(harness_.engine().explain_job(queue_, 2).status().code(), Code::not_found);
}

TEST_P(ExplainTest, AQueue) {
  QueueExplanation out = queue();
  EXPECT_EQ(out.why, why_empty | why_no_consumer);
  EXPECT_EQ(out.leasable, 0u);
  for (int i = 0; i < 3; ++i) harness_.enqueue(queue_, "x");
  out = queue();
  EXPECT_EQ(out.why, why_no_consumer);
  EXPECT_EQ(out.leasable, 2u);  // max_running
  expect_line(out.text, "queue 'q': 3 ready, 0 delayed, 0 leased, 0 running, 0 dead");
  expect_line(out.text, "2 jobs can be leased now");
  harness_.lease(queue_, 2);
  harness_.clock().advance(3'000);
  out = queue();
  EXPECT_EQ(out.why, why_slots | why_no_consumer);
  EXPECT_EQ(out.leasable, 0u);
  EXPECT_EQ(out.oldest_ready_age_ms, 3'000);
  expect_line(out.text, "the oldest ready job waits for 3.0 s");
  expect_line(out.text, "job 1 is held longest, for 3.0 s");
  EXPECT_EQ(harness_.engine().shutdown(0).code(), Code::timeout);
  EXPECT_NE(queue().why & why_stopped, 0u);
}

TEST_P(ExplainTest, TheLastErrorsOfAQueue) {
  const JobId id = harness_.enqueue(queue_, "a");
  const auto errors = [&] {
    Result<std::vector<QueueError>> found = harness_.engine().queue_errors(queue_);
    EXPECT_TRUE(found.ok());
    return found.ok() ? std::move(found).value() : std::vector<QueueError>();
  };
  EXPECT_TRUE(errors().empty());
  QueueConfig config;
  config.max_retries = 100;
  ASSERT_TRUE(harness_.engine().configure(queue_, config, config_max_retries, call_).ok());
  for (size_t i = 1; i <= queue_errors_max + 3; ++i) {
    harness_.clock().advance(1);
    const JobView job = harness_.lease(queue_)[0];
    ASSERT_EQ(harness_.nack(queue_, id, job.generation, 0, 0, "error " + std::to_string(i)),
              Code::ok);
  }
  std::vector<QueueError> found = errors();
  ASSERT_EQ(found.size(), queue_errors_max);
  EXPECT_EQ(found[0].text, "error 13");
  EXPECT_EQ(found[0].job, id);
  EXPECT_EQ(found[0].attempt, 13u);
  EXPECT_EQ(found[0].at_ms, harness_.clock().wall_ms());
  EXPECT_EQ(found.back().text, "error 4");

  const JobView job = harness_.lease(queue_)[0];  // no exception and no text: nothing to keep
  ASSERT_EQ(harness_.nack(queue_, id, job.generation, 0, settle_no_exception), Code::ok);
  EXPECT_EQ(errors()[0].text, "error 13");
  harness_.lease(queue_);
  harness_.advance(60'000);
  found = errors();
  EXPECT_EQ(found[0].kind, EventKind::expired);
  EXPECT_EQ(found[0].text, "");
  EXPECT_EQ(found[1].kind, EventKind::nacked);
  ASSERT_TRUE(harness_.kill_and_open().ok());  // they are in memory only
  EXPECT_TRUE(errors().empty());
}

// Each queue has two: the oldest of the store go, whoever they belong to.
TEST(QueueErrors, OfManyQueuesAreBounded) {
  EngineHarness harness;
  ASSERT_TRUE(harness.open().ok());
  const size_t queues = store_errors_max / 2 + 5;
  std::vector<QueueId> ids;
  for (size_t i = 0; i < queues; ++i) ids.push_back(harness.queue("n" + std::to_string(i)));
  for (const QueueId id : ids) {
    harness.enqueue(id, "x");
    for (int i = 0; i < 2; ++i) {
      const JobView job = harness.lease(id)[0];
      ASSERT_EQ(harness.nack(id, job.id, job.generation, 0, 0, std::string(9'000, 'e')), Code::ok);
    }
  }
  const auto count = [&](QueueId id) { return harness.engine().queue_errors(id).value().size(); };
  EXPECT_EQ(count(ids[4]), 0u);
  EXPECT_EQ(count(ids[5]), 2u);
  EXPECT_EQ(count(ids.back()), 2u);
  EXPECT_EQ(harness.engine().queue_errors(ids.back()).value()[0].text.size(),
            queue_error_bytes_max);
  CallOptions call;
  ASSERT_TRUE(harness.engine().remove_queue(ids.back(), call).ok());  // makes room for two
  const JobView job = harness.lease(ids[0])[0];
  ASSERT_EQ(harness.nack(ids[0], job.id, job.generation), Code::ok);
  EXPECT_EQ(count(ids[0]), 1u);
  EXPECT_EQ(count(ids[5]), 2u);
}

TEST(DurationText, Units) {
  const std::pair<int64_t, const char*> rows[] = {{-5, "0 ms"},
                                                  {0, "0 ms"},
                                                  {999, "999 ms"},
                                                  {1'000, "1.0 s"},
                                                  {59'999, "59.9 s"},
                                                  {60'000, "1m 00s"},
                                                  {3'599'999, "59m 59s"},
                                                  {3'600'000, "1h 00m"},
                                                  {86'399'999, "23h 59m"},
                                                  {86'400'000, "1d 00h"},
                                                  {34'560'000'000, "400d 00h"}};
  for (const auto& [ms, text] : rows) EXPECT_EQ(duration_text(ms), text);
}

INSTANTIATE_TEST_SUITE_P(Stores, ExplainTest, testing::Values(StoreKind::memory, StoreKind::rocks),
                         [](const auto& kind) {
                           return kind.param == StoreKind::memory ? "memory" : "rocks";
                         });

}  // namespace
}  // namespace wq
