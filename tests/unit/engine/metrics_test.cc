// Metrics: the text as a whole for a store whose every figure is known, its form line by line, and
// the figures that need a life of their own: rates, waits, histograms.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>
#include <sstream>

#include "support/engine_harness.h"

namespace wq {
namespace {

// Of the queue that TheFiguresOfAQueueAreTheseAndNoOthers makes.
constexpr const char* golden_queue = R"(# HELP wq_queue_status 0 active, 1 paused, 2 disabled.
# TYPE wq_queue_status gauge
wq_queue_status{queue="a \"b\\"} 0
# HELP wq_queue_jobs_ready Jobs that wait for a lease.
# TYPE wq_queue_jobs_ready gauge
wq_queue_jobs_ready{queue="a \"b\\"} 2
# HELP wq_queue_jobs_delayed Jobs that wait for their time.
# TYPE wq_queue_jobs_delayed gauge
wq_queue_jobs_delayed{queue="a \"b\\"} 1
# HELP wq_queue_jobs_leased Jobs that a worker holds by a lease.
# TYPE wq_queue_jobs_leased gauge
wq_queue_jobs_leased{queue="a \"b\\"} 1
# HELP wq_queue_jobs_running Jobs whose worker has confirmed them.
# TYPE wq_queue_jobs_running gauge
wq_queue_jobs_running{queue="a \"b\\"} 0
# HELP wq_queue_jobs_dead Dead letters.
# TYPE wq_queue_jobs_dead gauge
wq_queue_jobs_dead{queue="a \"b\\"} 0
# HELP wq_queue_slots_max Bound of leased and running jobs; 0 is none.
# TYPE wq_queue_slots_max gauge
wq_queue_slots_max{queue="a \"b\\"} 7
# HELP wq_queue_jobs_parked Ready jobs that wait for their group or rate key.
# TYPE wq_queue_jobs_parked gauge
wq_queue_jobs_parked{queue="a \"b\\"} 0
# HELP wq_queue_rate_wait_seconds Until the rate lets the next job begin.
# TYPE wq_queue_rate_wait_seconds gauge
wq_queue_rate_wait_seconds{queue="a \"b\\"} 0
# HELP wq_queue_consumers_waiting Calls that wait for a job of the queue.
# TYPE wq_queue_consumers_waiting gauge
wq_queue_consumers_waiting{queue="a \"b\\"} 0
# HELP wq_queue_oldest_ready_age_seconds How long the oldest ready job has been ready.
# TYPE wq_queue_oldest_ready_age_seconds gauge
wq_queue_oldest_ready_age_seconds{queue="a \"b\\"} 2.01
# HELP wq_queue_oldest_held_age_seconds How long the longest held job has been leased, or running.
# TYPE wq_queue_oldest_held_age_seconds gauge
wq_queue_oldest_held_age_seconds{queue="a \"b\\"} 2
# HELP wq_queue_enqueued_total Jobs enqueued.
# TYPE wq_queue_enqueued_total counter
wq_queue_enqueued_total{queue="a \"b\\"} 5
# HELP wq_queue_leased_total Leases handed out.
# TYPE wq_queue_leased_total counter
wq_queue_leased_total{queue="a \"b\\"} 3
# HELP wq_queue_acked_total Jobs that succeeded.
# TYPE wq_queue_acked_total counter
wq_queue_acked_total{queue="a \"b\\"} 1
# HELP wq_queue_nacked_total Attempts that failed.
# TYPE wq_queue_nacked_total counter
wq_queue_nacked_total{queue="a \"b\\"} 1
# HELP wq_queue_failed_total Jobs that a worker failed for good.
# TYPE wq_queue_failed_total counter
wq_queue_failed_total{queue="a \"b\\"} 0
# HELP wq_queue_released_total Leases given back before the start.
# TYPE wq_queue_released_total counter
wq_queue_released_total{queue="a \"b\\"} 0
# HELP wq_queue_expired_total Leases taken back after their deadline.
# TYPE wq_queue_expired_total counter
wq_queue_expired_total{queue="a \"b\\"} 0
# HELP wq_queue_dead_total Jobs that became dead letters.
# TYPE wq_queue_dead_total counter
wq_queue_dead_total{queue="a \"b\\"} 0
# HELP wq_queue_replayed_total Dead letters made ready again.
# TYPE wq_queue_replayed_total counter
wq_queue_replayed_total{queue="a \"b\\"} 0
# HELP wq_queue_cancelled_total Jobs cancelled.
# TYPE wq_queue_cancelled_total counter
wq_queue_cancelled_total{queue="a \"b\\"} 0
# HELP wq_queue_cleared_total Jobs removed by clear, and dead letters removed.
# TYPE wq_queue_cleared_total counter
wq_queue_cleared_total{queue="a \"b\\"} 0
# HELP wq_queue_jobs_expired_total Jobs that ended because they did not start in time.
# TYPE wq_queue_jobs_expired_total counter
wq_queue_jobs_expired_total{queue="a \"b\\"} 0
# HELP wq_queue_dropped_total Ready jobs that went for newer ones in a full queue.
# TYPE wq_queue_dropped_total counter
wq_queue_dropped_total{queue="a \"b\\"} 0
# HELP wq_queue_dead_dropped_total Dead letters over the caps of the queue.
# TYPE wq_queue_dead_dropped_total counter
wq_queue_dead_dropped_total{queue="a \"b\\"} 0
# HELP wq_queue_chain_cut_total Jobs of chains that never came to be, since one before them ended.
# TYPE wq_queue_chain_cut_total counter
wq_queue_chain_cut_total{queue="a \"b\\"} 0
# HELP wq_queue_skipped_total Jobs that ended because their group was full.
# TYPE wq_queue_skipped_total counter
wq_queue_skipped_total{queue="a \"b\\"} 0
# HELP wq_queue_enqueue_rate_1m Jobs enqueued per second, over about a minute.
# TYPE wq_queue_enqueue_rate_1m gauge
wq_queue_enqueue_rate_1m{queue="a \"b\\"} 0
# HELP wq_queue_enqueue_rate_5m Jobs enqueued per second, over about 5 minutes.
# TYPE wq_queue_enqueue_rate_5m gauge
wq_queue_enqueue_rate_5m{queue="a \"b\\"} 0
# HELP wq_queue_lease_rate_1m Leases per second, over about a minute.
# TYPE wq_queue_lease_rate_1m gauge
wq_queue_lease_rate_1m{queue="a \"b\\"} 0
# HELP wq_queue_lease_rate_5m Leases per second, over about 5 minutes.
# TYPE wq_queue_lease_rate_5m gauge
wq_queue_lease_rate_5m{queue="a \"b\\"} 0
# HELP wq_queue_ack_rate_1m Acks per second, over about a minute.
# TYPE wq_queue_ack_rate_1m gauge
wq_queue_ack_rate_1m{queue="a \"b\\"} 0
# HELP wq_queue_ack_rate_5m Acks per second, over about 5 minutes.
# TYPE wq_queue_ack_rate_5m gauge
wq_queue_ack_rate_5m{queue="a \"b\\"} 0
# HELP wq_queue_lease_wait_seconds How long jobs were ready before their lease, since open.
# TYPE wq_queue_lease_wait_seconds histogram
wq_queue_lease_wait_seconds_bucket{queue="a \"b\\",le="0.001"} 0
wq_queue_lease_wait_seconds_bucket{queue="a \"b\\",le="0.004"} 0
wq_queue_lease_wait_seconds_bucket{queue="a \"b\\",le="0.016"} 3
wq_queue_lease_wait_seconds_bucket{queue="a \"b\\",le="0.064"} 3
wq_queue_lease_wait_seconds_bucket{queue="a \"b\\",le="0.256"} 3
wq_queue_lease_wait_seconds_bucket{queue="a \"b\\",le="1.024"} 3
wq_queue_lease_wait_seconds_bucket{queue="a \"b\\",le="4.096"} 3
wq_queue_lease_wait_seconds_bucket{queue="a \"b\\",le="16.384"} 3
wq_queue_lease_wait_seconds_bucket{queue="a \"b\\",le="65.536"} 3
wq_queue_lease_wait_seconds_bucket{queue="a \"b\\",le="262.144"} 3
wq_queue_lease_wait_seconds_bucket{queue="a \"b\\",le="1048.576"} 3
wq_queue_lease_wait_seconds_bucket{queue="a \"b\\",le="4194.304"} 3
wq_queue_lease_wait_seconds_bucket{queue="a \"b\\",le="16777.216"} 3
wq_queue_lease_wait_seconds_bucket{queue="a \"b\\",le="67108.864"} 3
wq_queue_lease_wait_seconds_bucket{queue="a \"b\\",le="268435.456"} 3
wq_queue_lease_wait_seconds_bucket{queue="a \"b\\",le="+Inf"} 3
wq_queue_lease_wait_seconds_sum{queue="a \"b\\"} 0.03
wq_queue_lease_wait_seconds_count{queue="a \"b\\"} 3
# HELP wq_queue_job_attempts Attempts that jobs had when they succeeded or died, since open.
# TYPE wq_queue_job_attempts histogram
wq_queue_job_attempts_bucket{queue="a \"b\\",le="1"} 1
wq_queue_job_attempts_bucket{queue="a \"b\\",le="2"} 1
wq_queue_job_attempts_bucket{queue="a \"b\\",le="3"} 1
wq_queue_job_attempts_bucket{queue="a \"b\\",le="5"} 1
wq_queue_job_attempts_bucket{queue="a \"b\\",le="10"} 1
wq_queue_job_attempts_bucket{queue="a \"b\\",le="20"} 1
wq_queue_job_attempts_bucket{queue="a \"b\\",le="50"} 1
wq_queue_job_attempts_bucket{queue="a \"b\\",le="+Inf"} 1
wq_queue_job_attempts_sum{queue="a \"b\\"} 1
wq_queue_job_attempts_count{queue="a \"b\\"} 1
)";

class MetricsTest : public testing::Test {
 protected:
  MetricsTest() : harness_(options()) { EXPECT_TRUE(harness_.open().ok()); }

  static HarnessOptions options() {
    HarnessOptions options;
    options.engine.segment_bytes = 1u << 20;  // small files open sooner
    options.engine.spare_segments = 0;
    return options;
  }

  std::string text() {
    Result<std::string> found = harness_.engine().metrics_text();
    EXPECT_TRUE(found.ok()) << found.status().message();
    return found.ok() ? std::move(found).value() : std::string();
  }
  // The value of one sample, as it stands there; "-" if there is none.
  std::string value(const std::string& sample) {
    const std::string all = "\n" + text();
    const size_t at = all.find("\n" + sample + " ");
    if (at == std::string::npos) return "-";
    const size_t begin = at + sample.size() + 2;
    return all.substr(begin, all.find('\n', begin) - begin);
  }
  double rate(const char* kind) {
    return std::stod(value("wq_queue_" + std::string(kind) + "{queue=\"q\"}"));
  }
  JobView take(QueueId queue) { return harness_.lease(queue)[0]; }

  EngineHarness harness_;
  CallOptions call_;
};

TEST_F(MetricsTest, TheFiguresOfAQueueAreTheseAndNoOthers) {
  QueueConfig config;
  config.max_running = 7;
  config.max_retries = 1;
  const QueueId q = harness_.queue("a \"b\\", config, config_max_running | config_max_retries);
  for (int i = 0; i < 4; ++i) harness_.enqueue(q, "x");
  JobSpec later;
  later.delay_ms = 60'000;
  harness_.enqueue(q, "x", later);
  harness_.clock().advance(10);
  JobView job = take(q);
  EXPECT_EQ(harness_.nack(q, job.id, job.generation), Code::ok);
  job = take(q);
  EXPECT_EQ(harness_.ack(q, job.id, job.generation), Code::ok);
  take(q);
  harness_.clock().advance(2'000);
  const std::string all = text();
  const size_t begin = all.find("# HELP wq_queue_status");
  ASSERT_NE(begin, std::string::npos) << all;
  EXPECT_EQ(all.substr(begin), golden_queue);
}

// The text format of Prometheus, more strictly than its own parser: HELP, TYPE, then the samples of
// that family and of no other; no sample twice; counters end in _total; buckets grow.
void expect_well_formed(const std::string& text) {
  std::istringstream lines(text);
  std::string line, family, type, help;
  std::set<std::string> families, samples;
  std::string series;
  double bound = 0, count = 0;
  while (std::getline(lines, line)) {
    SCOPED_TRACE(line);
    std::istringstream words(line);
    std::string mark, what, name;
    if (line.starts_with("# HELP ")) {
      words >> mark >> what >> help;
      EXPECT_EQ(line.back(), '.');
      EXPECT_TRUE(families.insert(help).second) << "a family twice";
      continue;
    }
    if (line.starts_with("# TYPE ")) {
      words >> mark >> what >> family >> type;
      EXPECT_EQ(family, help) << "HELP and TYPE of one family";
      EXPECT_EQ(type == "counter", family.ends_with("_total"));
      continue;
    }
    const size_t space = line.rfind(' ');
    ASSERT_NE(space, std::string::npos);
    const std::string sample = line.substr(0, space);
    EXPECT_TRUE(samples.insert(sample).second) << "a sample twice";
    size_t used = 0;
    const double number = std::stod(line.substr(space + 1), &used);
    EXPECT_EQ(used, line.size() - space - 1);
    EXPECT_GE(number, 0);
    name = sample.substr(0, sample.find('{'));
    if (type != "histogram") {
      EXPECT_EQ(name, family);
      continue;
    }
    ASSERT_TRUE(name.starts_with(family));
    const std::string part = name.substr(family.size());
    EXPECT_TRUE(part == "_bucket" || part == "_sum" || part == "_count");
    if (part == "_count") {
      EXPECT_EQ(number, count) << "+Inf is the count";
    }
    if (part != "_bucket") continue;
    const size_t le = sample.find("le=\"");
    ASSERT_NE(le, std::string::npos);
    const std::string text_bound = sample.substr(le + 4, sample.rfind('"') - le - 4);
    const double next = text_bound == "+Inf" ? INFINITY : std::stod(text_bound);
    if (series == sample.substr(0, le)) {
      EXPECT_GT(next, bound);
      EXPECT_GE(number, count);
    }
    series = sample.substr(0, le);
    bound = next;
    count = number;
  }
}

TEST_F(MetricsTest, FormOfTheText) {
  expect_well_formed(text());  // no queue
  for (const char* name : {"plain", "\"", "\\", "{}", "le=\"1\"", "a,b", "\xc3\xa4\xe2\x82\xac"}) {
    const QueueId q = harness_.queue(name);
    harness_.enqueue(q, "payload-secret");
    const JobView job = take(q);
    EXPECT_EQ(harness_.nack(q, job.id, job.generation, 0, 0, "error-secret"), Code::ok);
    harness_.clock().advance(6'000);
  }
  const std::string all = text();
  expect_well_formed(all);
  EXPECT_EQ(all.find("secret"), std::string::npos);
  EXPECT_EQ(value(R"(wq_queue_nacked_total{queue="\""})"), "1");
  EXPECT_EQ(value(R"(wq_queue_nacked_total{queue="\\"})"), "1");
  EXPECT_EQ(value("wq_store_queues"), "7");
}

TEST_F(MetricsTest, RatesFollowTheLastMinutes) {
  const QueueId q = harness_.queue("q");
  EXPECT_EQ(rate("enqueue_rate_1m"), 0);
  const auto work = [&](int64_t seconds, int per_second) {
    for (int64_t s = 0; s < seconds; ++s) {
      for (int i = 0; i < per_second; ++i) {
        harness_.enqueue(q, "x");
        const JobView job = take(q);
        EXPECT_EQ(harness_.ack(q, job.id, job.generation), Code::ok);
      }
      harness_.clock().advance(1'000);
    }
  };
  work(20, 4);
  for (const char* name : {"enqueue_rate_1m", "lease_rate_1m", "ack_rate_1m", "ack_rate_5m"}) {
    EXPECT_NEAR(rate(name), 4, 0.01) << name;
  }
  work(60, 10);
  EXPECT_NEAR(rate("enqueue_rate_1m"), 10 - 6 * std::exp(-1), 0.1);
  EXPECT_NEAR(rate("enqueue_rate_5m"), 10 - 6 * std::exp(-0.2), 0.1);
  const double before = rate("enqueue_rate_1m");
  harness_.clock().advance(120'000);  // nobody looks or works
  EXPECT_NEAR(rate("enqueue_rate_1m"), before * std::exp(-2), 0.1);
  harness_.clock().step_wall(-500'000);
  EXPECT_LT(rate("enqueue_rate_1m"), 10);
  work(20, 1);
  EXPECT_LT(rate("enqueue_rate_1m"), 10);
  harness_.clock().step_wall(7'200'000);
  work(20, 1);
  EXPECT_LT(rate("enqueue_rate_1m"), 2);
}

TEST_F(MetricsTest, WaitsAndAttempts) {
  QueueConfig config;
  config.max_retries = 30;
  const QueueId q = harness_.queue("q", config, config_max_retries);
  for (const int64_t wait_ms : {0, 1, 2, 4, 5, 1'000, 1'024, 5'000}) {
    harness_.enqueue(q, "x");
    harness_.clock().advance(wait_ms);
    const JobView job = take(q);
    EXPECT_EQ(harness_.ack(q, job.id, job.generation), Code::ok);
  }
  const auto waits = [&](const char* bound) {
    return value("wq_queue_lease_wait_seconds_bucket{queue=\"q\",le=\"" + std::string(bound) +
                 "\"}");
  };
  EXPECT_EQ(waits("0.001"), "2");
  EXPECT_EQ(waits("0.004"), "4");
  EXPECT_EQ(waits("0.016"), "5");
  EXPECT_EQ(waits("1.024"), "7");
  EXPECT_EQ(waits("+Inf"), "8");
  EXPECT_EQ(value("wq_queue_lease_wait_seconds_sum{queue=\"q\"}"), "7.036");

  harness_.enqueue(q, "x");
  for (int i = 1; i < 6; ++i) {
    const JobView job = take(q);
    EXPECT_EQ(harness_.nack(q, job.id, job.generation), Code::ok);
  }
  const JobView job = take(q);
  EXPECT_EQ(harness_.ack(q, job.id, job.generation), Code::ok);
  const auto attempts = [&](const char* bound) {
    return value("wq_queue_job_attempts_bucket{queue=\"q\",le=\"" + std::string(bound) + "\"}");
  };
  EXPECT_EQ(attempts("1"), "8");
  EXPECT_EQ(attempts("5"), "8");
  EXPECT_EQ(attempts("10"), "9");
  EXPECT_EQ(value("wq_queue_job_attempts_sum{queue=\"q\"}"), "14");
}

TEST_F(MetricsTest, AgesOfTheOldest) {
  const QueueId q = harness_.queue("q");
  for (int i = 0; i < 3; ++i) harness_.enqueue(q, "x");
  const JobView first = take(q);
  harness_.clock().advance(3'000);
  take(q);
  harness_.clock().advance(4'000);
  const std::string held = "wq_queue_oldest_held_age_seconds{queue=\"q\"}";
  EXPECT_EQ(value(held), "7");
  EXPECT_EQ(value("wq_queue_oldest_ready_age_seconds{queue=\"q\"}"), "7");
  ASSERT_TRUE(harness_.engine().confirm(q, Token{first.id, first.generation}, 0, call_).ok());
  harness_.clock().advance(1'000);
  EXPECT_EQ(value(held), "5");  // the other lease; this one runs since a second
  ASSERT_TRUE(harness_.engine().checkpoint().ok());
  ASSERT_TRUE(harness_.kill_and_open().ok());
  EXPECT_EQ(value(held), "5");
  EXPECT_EQ(harness_.ack(q, 2, first.generation + 1), Code::ok);
  EXPECT_EQ(value(held), "1");
  harness_.expect_sound();
}

TEST_F(MetricsTest, TotalsSurviveAndTheRestStartsAnew) {
  const QueueId q = harness_.queue("q");
  harness_.enqueue(q, "x");
  const JobView job = take(q);
  EXPECT_EQ(harness_.ack(q, job.id, job.generation), Code::ok);
  for (const bool in_order : {true, false}) {
    ASSERT_TRUE(in_order ? harness_.close().ok() : true);
    ASSERT_TRUE(in_order ? harness_.open().ok() : harness_.kill_and_open().ok());
    EXPECT_EQ(value("wq_queue_acked_total{queue=\"q\"}"), "1");
    EXPECT_EQ(value("wq_queue_ack_rate_1m{queue=\"q\"}"), "0");
    EXPECT_EQ(value("wq_queue_lease_wait_seconds_count{queue=\"q\"}"), "-");
    EXPECT_EQ(value("wq_store_flush_seconds_count"), "1");  // of the open
  }
  EXPECT_EQ(value("wq_store_waits_for_job_total"), "0");
  ASSERT_TRUE(harness_.engine().remove_queue(q, call_).ok());
  EXPECT_EQ(value("wq_queue_acked_total{queue=\"q\"}"), "-");
  harness_.queue("q");
  EXPECT_EQ(value("wq_queue_acked_total{queue=\"q\"}"), "0");
}

TEST_F(MetricsTest, OneCommitOfEachCallThatWaits) {
  const QueueId q = harness_.queue("q");
  const double before = std::stod(value("wq_store_commit_seconds_count"));
  harness_.enqueue(q, "x");
  take(q);
  CallOptions at_once;
  at_once.durability = static_cast<uint32_t>(Durability::memory);
  JobId id = 0;
  ASSERT_TRUE(harness_.engine().enqueue(q, JobSpec(), at_once, id).ok());
  EXPECT_EQ(std::stod(value("wq_store_commit_seconds_count")), before + 2);
}

}  // namespace
}  // namespace wq
