// Rates and groups through the C interface.
#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

using CapiGates = CapiSim;

int32_t configure_rate(wq_queue* queue, uint32_t count, int64_t window_ms, uint32_t burst) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_RATE;
  config.rate_count = count;
  config.rate_window_ms = window_ms;
  config.rate_burst = burst;
  return wq_queue_configure(queue, &config, nullptr, err());
}

int32_t configure_groups(wq_queue* queue, uint32_t limit) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_GROUP_LIMIT;
  config.group_limit = limit;
  return wq_queue_configure(queue, &config, nullptr, err());
}

int32_t push(wq_queue* queue, std::string_view payload, std::string_view group, uint32_t limit = 0,
             uint64_t* id = nullptr) {
  wq_job_spec spec = spec_of(payload);
  spec.group = {group.data(), group.size()};
  spec.group_limit = limit;
  wq_enqueued out = WQ_ENQUEUED_INIT;
  const int32_t code = wq_enqueue(queue, &spec, nullptr, &out, err());
  if (id) *id = out.job_id;
  return code;
}

TEST_F(CapiGates, RateIsSetReadAndHeld) {
  EXPECT_OK(configure_rate(queue_, 2, 1'000, 0));
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  EXPECT_OK(wq_queue_get_config(queue_, &config, err()));
  EXPECT_EQ(config.rate_count, 2u);
  EXPECT_EQ(config.rate_burst, 1u);
  EXPECT_EQ(config.rate_window_ms, 1'000);
  EXPECT_TRUE(config.fields & WQ_CONFIG_RATE);
  for (int i = 0; i < 4; ++i) enqueue(queue_, "x");
  EXPECT_EQ(lease(store_, queue_, 10).size(), 1u);
  EXPECT_TRUE(lease(store_, queue_, 10).empty());
  EXPECT_EQ(stats_of(queue_).rate_wait_ms, 500);
  EXPECT_EQ(stats_of(queue_).ready, 3u);
  sim_.clock.advance(500);
  EXPECT_EQ(stats_of(queue_).rate_wait_ms, 0);
  EXPECT_EQ(lease(store_, queue_, 10).size(), 1u);
  EXPECT_CODE(WQ_E_INVALID, configure_rate(queue_, 2, 0, 1));
  EXPECT_CODE(WQ_E_INVALID, configure_rate(queue_, 2, 1'000, 3));
  EXPECT_CODE(WQ_E_INVALID, configure_rate(queue_, 1'000'001, 1'000, 1));
  EXPECT_CODE(WQ_E_INVALID, configure_rate(queue_, 0, 1'000, 0));
  EXPECT_OK(configure_rate(queue_, 0, 0, 0));
  EXPECT_EQ(lease(store_, queue_, 10).size(), 2u);
}

TEST_F(CapiGates, GroupsRunOneAfterTheOther) {
  uint64_t second = 0;
  EXPECT_OK(push(queue_, "1", "g"));
  EXPECT_OK(push(queue_, "2", "g", 0, &second));
  EXPECT_OK(push(queue_, "x", ""));
  const std::vector<SeenJob> jobs = lease(store_, queue_, 10);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].payload, "1");
  EXPECT_EQ(jobs[1].payload, "x");
  EXPECT_EQ(jobs[0].job.parked, 0u);
  wq_batch* batch = nullptr;
  EXPECT_OK(wq_job_get(queue_, second, &batch, err()));
  wq_job job = WQ_JOB_INIT;
  EXPECT_EQ(wq_batch_job(batch, 0, &job), WQ_OK);
  EXPECT_EQ(job.state, static_cast<uint32_t>(WQ_STATE_READY));
  EXPECT_EQ(job.parked, 1u);
  EXPECT_EQ(std::string_view(static_cast<const char*>(job.group.data), job.group.len), "g");
  wq_batch_free(&batch);
  EXPECT_EQ(stats_of(queue_).parked, 1u);
  EXPECT_EQ(stats_of(queue_).ready, 1u);
  EXPECT_OK(configure_groups(queue_, 2));
  EXPECT_EQ(stats_of(queue_).parked, 0u);
  EXPECT_EQ(lease(store_, queue_, 10).size(), 1u);
}

TEST_F(CapiGates, ARateKeyCoolsDownAfterExceptions) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_THROTTLE;
  config.throttle_count = 2;
  config.throttle_window_ms = 1'000;
  EXPECT_OK(wq_queue_configure(queue_, &config, nullptr, err()));
  wq_queue_config got = WQ_QUEUE_CONFIG_INIT;
  EXPECT_OK(wq_queue_get_config(queue_, &got, err()));
  EXPECT_EQ(got.throttle_count, 2u);
  EXPECT_EQ(got.throttle_window_ms, 1'000);
  EXPECT_EQ(got.throttle_cool_ms, 1'000) << "as the window";
  config.throttle_cool_ms = 5'000;
  EXPECT_OK(wq_queue_configure(queue_, &config, nullptr, err()));
  wq_job_spec spec = spec_of("a");
  spec.rate_key = {"k", 1};
  wq_enqueued out = WQ_ENQUEUED_INIT;
  EXPECT_OK(wq_enqueue(queue_, &spec, nullptr, &out, err()));
  for (int i = 0; i < 3; ++i) {
    const auto jobs = lease(store_, queue_, 1);
    ASSERT_EQ(jobs.size(), 1u);
    wq_nack_options options = WQ_NACK_OPTIONS_INIT;
    if (i == 0) options.flags = WQ_NACK_NO_EXCEPTION;
    const wq_job& job = jobs[0].job;
    EXPECT_OK(wq_nack(queue_, job.id, job.generation, &options, nullptr, err()));
  }
  EXPECT_EQ(stats_of(queue_).parked, 1u);
  EXPECT_EQ(stats_of(queue_).rate_wait_ms, 5'000);
  wq_job_explanation told = WQ_JOB_EXPLANATION_INIT;
  EXPECT_OK(wq_job_explain(queue_, out.job_id, &told, nullptr, err()));
  EXPECT_TRUE(told.causes & WQ_WHY_COOLING);
  EXPECT_EQ(lease(store_, queue_, 1).size(), 0u);
  sim_.clock.advance(5'000);
  EXPECT_EQ(lease(store_, queue_, 1).size(), 1u);
  config.throttle_count = 101;
  EXPECT_CODE(WQ_E_INVALID, wq_queue_configure(queue_, &config, nullptr, err()));
  config.throttle_count = 0;
  EXPECT_CODE(WQ_E_INVALID, wq_queue_configure(queue_, &config, nullptr, err()));
  config.reserved_1 = 1;
  EXPECT_CODE(WQ_E_UNSUPPORTED, wq_queue_configure(queue_, &config, nullptr, err()));
}

TEST_F(CapiGates, RateKeysAreLimitedEachByItself) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_KEY_RATE;
  config.key_rate_count = 2;
  config.key_rate_window_ms = 1'000;
  EXPECT_OK(wq_queue_configure(queue_, &config, nullptr, err()));
  wq_queue_config got = WQ_QUEUE_CONFIG_INIT;
  EXPECT_OK(wq_queue_get_config(queue_, &got, err()));
  EXPECT_EQ(got.key_rate_count, 2u);
  EXPECT_EQ(got.key_rate_burst, 1u);
  EXPECT_EQ(got.key_rate_window_ms, 1'000);
  wq_job_spec spec = spec_of("a");
  const auto push_key = [&](std::string_view key, uint32_t cost, uint64_t* id) {
    spec.rate_key = {key.data(), key.size()};
    spec.rate_cost = cost;
    wq_enqueued out = WQ_ENQUEUED_INIT;
    const int32_t code = wq_enqueue(queue_, &spec, nullptr, &out, err());
    if (id) *id = out.job_id;
    return code;
  };
  uint64_t second = 0;
  EXPECT_OK(push_key("k", 2, nullptr));
  EXPECT_OK(push_key("k", 0, &second));
  EXPECT_OK(push_key("other", 0, nullptr));
  EXPECT_EQ(lease(store_, queue_, 10).size(), 2u);
  EXPECT_EQ(stats_of(queue_).parked, 1u);
  EXPECT_EQ(stats_of(queue_).rate_wait_ms, 1'000);
  wq_batch* batch = nullptr;
  EXPECT_OK(wq_job_get(queue_, second, &batch, err()));
  wq_job job = WQ_JOB_INIT;
  EXPECT_EQ(wq_batch_job(batch, 0, &job), WQ_OK);
  EXPECT_EQ(job.parked, 1u);
  EXPECT_EQ(job.rate_cost, 1u);
  EXPECT_EQ(std::string_view(static_cast<const char*>(job.rate_key.data), job.rate_key.len), "k");
  wq_batch_free(&batch);
  sim_.clock.advance(1'000);
  EXPECT_EQ(stats_of(queue_).rate_wait_ms, 0);
  EXPECT_EQ(lease(store_, queue_, 10).size(), 1u);
  EXPECT_CODE(WQ_E_INVALID, push_key("", 2, nullptr));
  EXPECT_CODE(WQ_E_INVALID, push_key("k", 1'000'001, nullptr));
  EXPECT_CODE(WQ_E_TOO_LARGE, push_key(std::string(513, 'k'), 0, nullptr));
  spec.group = {"g", 1};
  EXPECT_CODE(WQ_E_UNSUPPORTED, push_key("k", 0, nullptr));
  config.key_rate_burst = 3;
  EXPECT_CODE(WQ_E_INVALID, wq_queue_configure(queue_, &config, nullptr, err()));
}

TEST_F(CapiGates, WhatIsRefused) {
  EXPECT_CODE(WQ_E_TOO_LARGE, push(queue_, "x", std::string(513, 'g')));
  EXPECT_CODE(WQ_E_INVALID, push(queue_, "x", "g", 1'000'001));
  EXPECT_CODE(WQ_E_INVALID, push(queue_, "x", "", 1));
  EXPECT_CODE(WQ_E_INVALID, configure_groups(queue_, 0));
  EXPECT_CODE(WQ_E_INVALID, configure_groups(queue_, 1'000'001));
  EXPECT_EQ(stats_of(queue_).ready, 0u);
  EXPECT_OK(push(queue_, "x", std::string(512, '\0')));
  EXPECT_OK(push(queue_, "x", "g", 1'000'000));
}

}  // namespace
}  // namespace wq::capi_test
