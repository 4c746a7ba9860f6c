// The limits of a job and the calls on single jobs through the C interface. What they do is tested
// at the engine (job_limits_test); here is that each field gets there and back.
#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

class CapiJobs : public CapiSim {
 protected:
  uint64_t enqueue(const wq_job_spec& spec) {
    wq_enqueued out = WQ_ENQUEUED_INIT;
    EXPECT_OK(wq_enqueue(queue_, &spec, nullptr, &out, err()));
    return out.job_id;
  }
  int64_t now_ms() { return sim_.clock.wall_ms(); }
  std::string progress_of(uint64_t id) {
    wq_batch* batch = nullptr;
    EXPECT_OK(wq_job_get(queue_, id, &batch, err()));
    wq_job job = WQ_JOB_INIT;
    EXPECT_EQ(wq_batch_job(batch, 0, &job), WQ_OK);
    const std::string note(static_cast<const char*>(job.progress.data), job.progress.len);
    wq_batch_free(&batch);
    return note;
  }
};

TEST_F(CapiJobs, LimitsComeBackAsTheyWereGiven) {
  wq_job_spec spec = spec_of("x");
  spec.flags = WQ_JOB_FAIL_ON_TIMEOUT;
  spec.expires_at_ms = now_ms() + 60'000;
  spec.retry_until_ms = now_ms() + 50'000;
  spec.timeout_ms = 5'000;
  spec.max_exceptions = 7;
  const uint64_t id = enqueue(spec), plain = enqueue(spec_of("y"));
  reopen();
  const wq_job job = get(queue_, id)[0].job;
  EXPECT_EQ(job.expires_at_ms, spec.expires_at_ms);
  EXPECT_EQ(job.retry_until_ms, spec.retry_until_ms);
  EXPECT_EQ(job.timeout_ms, 5'000);
  EXPECT_EQ(job.max_exceptions, 7u);
  EXPECT_EQ(job.flags, WQ_JOB_FAIL_ON_TIMEOUT);
  const wq_job other = get(queue_, plain)[0].job;
  EXPECT_EQ(other.expires_at_ms + other.retry_until_ms + other.timeout_ms, 0);
  EXPECT_EQ(other.max_exceptions + other.flags, 0u);
  const std::vector<SeenJob> leased = lease(store_, queue_, 2);
  ASSERT_EQ(leased.size(), 2u);
  EXPECT_EQ(leased[0].job.deadline_ms - now_ms(), 5'000);
  EXPECT_EQ(leased[1].job.deadline_ms - now_ms(), 60'000);
  advance_ms(5'000);
  EXPECT_EQ(get(queue_, id)[0].job.dead_reason, WQ_DEAD_TIMEOUT);
}

TEST_F(CapiJobs, AConfigurationKnowsTimeToLiveAndJitter) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_JOB_TTL | WQ_CONFIG_BACKOFF;
  config.job_ttl_ms = 1'000;
  config.backoff_kind = WQ_BACKOFF_FIXED;
  config.backoff_base_ms = 10;
  config.backoff_jitter_permille = 1'000;
  ASSERT_OK(wq_queue_configure(queue_, &config, nullptr, err()));
  reopen();
  wq_queue_config found = WQ_QUEUE_CONFIG_INIT;
  ASSERT_OK(wq_queue_get_config(queue_, &found, err()));
  EXPECT_EQ(found.job_ttl_ms, 1'000);
  EXPECT_EQ(found.backoff_jitter_permille, 1'000u);
  EXPECT_TRUE(found.fields & WQ_CONFIG_JOB_TTL);
  config.backoff_jitter_permille = 1'001;
  EXPECT_CODE(WQ_E_INVALID, wq_queue_configure(queue_, &config, nullptr, err()));
  config.fields = WQ_CONFIG_JOB_TTL;
  config.job_ttl_ms = -1;
  EXPECT_CODE(WQ_E_INVALID, wq_queue_configure(queue_, &config, nullptr, err()));
  config.job_ttl_ms = 1'000;
  config.reserved_0 = 1;
  EXPECT_CODE(WQ_E_UNSUPPORTED, wq_queue_configure(queue_, &config, nullptr, err()));
  const uint64_t id = enqueue(spec_of("x"));
  advance_ms(1'000);
  EXPECT_EQ(stats_of(queue_).jobs_expired_total, 1u);
  wq_batch* batch = nullptr;
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_job_get(queue_, id, &batch, err()));
}

TEST_F(CapiJobs, AWorkerGivesTheReason) {
  wq_job_spec spec = spec_of("x");
  spec.max_attempts = 1;
  enqueue(spec);
  enqueue(spec);
  const std::vector<SeenJob> jobs = lease(store_, queue_, 2);
  ASSERT_EQ(jobs.size(), 2u);
  wq_nack_options nack = WQ_NACK_OPTIONS_INIT;
  const auto try_nack = [&] {
    return wq_nack(queue_, jobs[0].job.id, jobs[0].job.generation, &nack, nullptr, err());
  };
  nack.reason = WQ_DEAD_UNREADABLE + 1;
  EXPECT_CODE(WQ_E_UNSUPPORTED, try_nack());
  for (const uint32_t reason : {WQ_DEAD_LEASE_EXPIRED, WQ_DEAD_UNREADABLE}) {
    nack.reason = reason;
    EXPECT_CODE(WQ_E_INVALID, try_nack());
  }
  nack.reason = WQ_DEAD_UNKNOWN_TYPE;
  EXPECT_OK(try_nack());
  wq_settle_item item = WQ_SETTLE_ITEM_INIT;
  item.id = jobs[1].job.id;
  item.generation = jobs[1].job.generation;
  item.reason = WQ_DEAD_CANCELLED;
  const auto settle = [&](uint32_t kind) {
    item.kind = kind;
    return wq_settle_many(queue_, &item, 1, sizeof item, nullptr, nullptr, err());
  };
  EXPECT_CODE(WQ_E_INVALID, settle(WQ_SETTLE_ACK));
  EXPECT_CODE(WQ_E_INVALID, settle(WQ_SETTLE_RELEASE));
  EXPECT_OK(settle(WQ_SETTLE_FAIL));
  EXPECT_EQ(get(queue_, jobs[0].job.id)[0].job.dead_reason, WQ_DEAD_UNKNOWN_TYPE);
  EXPECT_EQ(get(queue_, jobs[1].job.id)[0].job.dead_reason, WQ_DEAD_CANCELLED);
  wq_dead_query query = WQ_DEAD_QUERY_INIT;
  query.reason = WQ_DEAD_CANCELLED;
  wq_batch* batch = nullptr;
  ASSERT_OK(wq_dead_list(queue_, &query, &batch, nullptr, err()));
  EXPECT_EQ(seen_all(batch).size(), 1u);
  query.reason = WQ_DEAD_UNREADABLE + 1;
  EXPECT_CODE(WQ_E_UNSUPPORTED, wq_dead_list(queue_, &query, &batch, nullptr, err()));
}

TEST_F(CapiJobs, PriorityAndProgress) {
  const uint64_t first = enqueue(spec_of("1")), second = enqueue(spec_of("2"));
  EXPECT_CODE(WQ_E_INVALID, wq_job_reprioritise(queue_, second, 256, nullptr, err()));
  EXPECT_OK(wq_job_reprioritise(queue_, second, 5, nullptr, err()));
  wq_call call = WQ_CALL_INIT;
  EXPECT_OK(wq_job_reprioritise(queue_, second, 5, &call, err()));
  EXPECT_EQ(call.lsn, 0u);
  const SeenJob job = lease(store_, queue_)[0];
  EXPECT_EQ(job.job.id, second);
  EXPECT_CODE(WQ_CONFLICT, wq_job_reprioritise(queue_, second, 6, nullptr, err()));
  const auto note = [&](const void* bytes, size_t size) {
    return wq_job_progress(queue_, second, job.job.generation, bytes, size, nullptr, err());
  };
  EXPECT_EQ(progress_of(second), "");
  EXPECT_OK(note("a\0b", 3));
  EXPECT_EQ(progress_of(second), std::string("a\0b", 3));
  EXPECT_CODE(WQ_E_INVALID, note(nullptr, 3));
  EXPECT_CODE(WQ_E_TOO_LARGE, note(std::string(4'097, 'x').data(), 4'097));
  EXPECT_CODE(WQ_STALE, wq_job_progress(queue_, first, 1, "x", 1, nullptr, err()));
  EXPECT_OK(note(nullptr, 0));
  EXPECT_EQ(progress_of(second), "");
}

}  // namespace
}  // namespace wq::capi_test
