// Dead letters through the C interface: listing by pages and filters, replay once, remove.
#include <thread>

#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

class CapiDead : public CapiSim {
 protected:
  // Makes `n` dead jobs, 10 ms apart; every third one by a lost lease. Tokens in order of death.
  void kill(size_t n) {
    for (size_t i = 0; i < n; i++) {
      const std::string payload = "dead " + std::to_string(i);
      wq_job_spec spec = spec_of(payload);
      spec.max_attempts = 1;
      ASSERT_OK(wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
      const SeenJob job = lease(store_, queue_, 1, 10)[0];
      tokens_.push_back({job.job.id, job.job.generation});
      if (i % 3 == 0) {
        advance_ms(10);
      } else {
        ASSERT_OK(wq_fail(queue_, job.job.id, job.job.generation, "why", 3, nullptr, err()));
        advance_ms(10);
      }
    }
  }

  std::vector<SeenJob> list_all(wq_dead_query query) {
    std::vector<SeenJob> out;
    for (int page = 0; page < 100; page++) {
      wq_batch* batch = nullptr;
      uint64_t next = 99;
      const int32_t code = wq_dead_list(queue_, &query, &batch, &next, err());
      if (code != WQ_OK) {
        EXPECT_CODE(WQ_EMPTY, code);
        EXPECT_EQ(next, 0u);
        EXPECT_EQ(batch, nullptr);
        break;
      }
      for (const SeenJob& job : seen_all(batch)) out.push_back(job);
      if (next == 0) break;
      query.cursor = next;
    }
    return out;
  }

  std::vector<wq_token> tokens_;
};

TEST_F(CapiDead, PagesInBothOrders) {
  kill(10);
  for (const uint32_t limit : {0u, 1u, 3u, 10u, 1000u}) {
    wq_dead_query query = WQ_DEAD_QUERY_INIT;
    query.limit = limit;
    std::vector<SeenJob> jobs = list_all(query);
    ASSERT_EQ(jobs.size(), 10u) << limit;
    for (size_t i = 0; i < 10; i++) EXPECT_EQ(jobs[i].job.id, tokens_[9 - i].id);
    query.flags = WQ_DEAD_OLDEST_FIRST;
    jobs = list_all(query);
    ASSERT_EQ(jobs.size(), 10u) << limit;
    for (size_t i = 0; i < 10; i++) {
      EXPECT_EQ(jobs[i].job.id, tokens_[i].id);
      EXPECT_EQ(jobs[i].job.generation, tokens_[i].generation);
      EXPECT_EQ(jobs[i].payload, "dead " + std::to_string(i));
      EXPECT_EQ(jobs[i].queue_name, "q");
      EXPECT_EQ(jobs[i].job.state, WQ_STATE_DEAD);
      EXPECT_EQ(jobs[i].job.dead_reason, i % 3 == 0 ? WQ_DEAD_LEASE_EXPIRED : WQ_DEAD_FAILED);
    }
  }
}

TEST_F(CapiDead, Filters) {
  kill(9);
  wq_dead_query query = WQ_DEAD_QUERY_INIT;
  query.reason = WQ_DEAD_LEASE_EXPIRED;
  EXPECT_EQ(list_all(query).size(), 3u);
  query.reason = WQ_DEAD_FAILED;
  query.limit = 1;
  EXPECT_EQ(list_all(query).size(), 6u);
  query = WQ_DEAD_QUERY_INIT;
  query.flags = WQ_DEAD_OLDEST_FIRST;
  const int64_t third_ms = list_all(query)[2].job.dead_ms;
  const int64_t fifth_ms = list_all(query)[4].job.dead_ms;
  query.from_ms = third_ms;
  query.until_ms = fifth_ms;
  const std::vector<SeenJob> jobs = list_all(query);
  ASSERT_GE(jobs.size(), 1u);
  for (const SeenJob& job : jobs) {
    EXPECT_GE(job.job.dead_ms, third_ms);
    EXPECT_LT(job.job.dead_ms, fifth_ms);
  }
  query.from_ms = sim_.clock.wall_ms() + 1;
  query.until_ms = 0;
  EXPECT_TRUE(list_all(query).empty());
}

TEST_F(CapiDead, BadQueries) {
  wq_batch* batch = nullptr;
  wq_dead_query query = WQ_DEAD_QUERY_INIT;
  query.limit = 1'001;
  EXPECT_LT(wq_dead_list(queue_, &query, &batch, nullptr, err()), 0);
  query = WQ_DEAD_QUERY_INIT;
  query.reason = WQ_DEAD_UNREADABLE + 1;
  EXPECT_CODE(WQ_E_UNSUPPORTED, wq_dead_list(queue_, &query, &batch, nullptr, err()));
  query = WQ_DEAD_QUERY_INIT;
  query.from_ms = -1;
  EXPECT_CODE(WQ_E_INVALID, wq_dead_list(queue_, &query, &batch, nullptr, err()));
  query = WQ_DEAD_QUERY_INIT;
  query.until_ms = -1;
  EXPECT_CODE(WQ_E_INVALID, wq_dead_list(queue_, &query, &batch, nullptr, err()));
}

TEST_F(CapiDead, ReplayMakesItNewAndOldEntriesStale) {
  kill(1);
  const auto [id, generation] = tokens_[0];
  wq_batch* batch = nullptr;
  ASSERT_OK(wq_dead_get(queue_, id, generation, &batch, err()));
  EXPECT_EQ(seen_all(batch)[0].payload, "dead 0");
  EXPECT_CODE(WQ_STALE, wq_dead_get(queue_, id, generation + 1, &batch, err()));
  EXPECT_CODE(WQ_STALE, wq_dead_replay(queue_, id, generation + 1, nullptr, err()));
  EXPECT_CODE(WQ_STALE, wq_dead_remove(queue_, id, generation + 1, nullptr, err()));
  ASSERT_OK(wq_dead_replay(queue_, id, generation, nullptr, err()));
  EXPECT_CODE(WQ_STALE, wq_dead_replay(queue_, id, generation, nullptr, err()));
  const SeenJob job = lease(store_, queue_)[0];
  EXPECT_EQ(job.job.id, id);
  EXPECT_EQ(job.job.attempts, 1u);
  EXPECT_EQ(job.job.replays, 1u);
  ASSERT_OK(wq_fail(queue_, id, job.job.generation, nullptr, 0, nullptr, err()));
  EXPECT_CODE(WQ_STALE, wq_dead_get(queue_, id, generation, &batch, err()));
  EXPECT_CODE(WQ_STALE, wq_dead_remove(queue_, id, generation, nullptr, err()));
  ASSERT_OK(wq_dead_remove(queue_, id, job.job.generation, nullptr, err()));
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_dead_remove(queue_, id, job.job.generation, nullptr, err()));
  EXPECT_EQ(stats_of(queue_).dead, 0u);
  EXPECT_EQ(stats_of(queue_).replayed_total, 1u);
}

TEST_F(CapiDead, OfConcurrentReplaysOneWins) {
  kill(20);
  for (const wq_token& token : tokens_) {
    std::atomic<int> won{0};
    std::atomic<int> stale{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++) {
      threads.emplace_back([&] {
        const int32_t code = wq_dead_replay(queue_, token.id, token.generation, nullptr, nullptr);
        won += code == WQ_OK;
        stale += code == WQ_STALE;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(won, 1);
    EXPECT_EQ(stale, 2);
  }
  EXPECT_EQ(stats_of(queue_).ready, 20u);
}

// ---- many

// A replay takes the key again. The dead letter whose key is held meanwhile is passed over and
// stays.
TEST_F(CapiDead, ManyWithKeys) {
  uint64_t ids[2] = {};
  for (uint64_t& id : ids) {
    wq_job_spec spec = spec_of("keyed");
    spec.max_attempts = 1;
    spec.unique_key = {"k", 1};
    ASSERT_OK(wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
    const SeenJob job = lease(store_, queue_, 1, 10)[0];
    id = job.job.id;
    ASSERT_OK(wq_fail(queue_, id, job.job.generation, "why", 3, nullptr, err()));
  }
  kill(1);
  wq_dead_filter filter = WQ_DEAD_FILTER_INIT;
  filter.flags = WQ_DEAD_ALL;
  wq_dead_report report = WQ_DEAD_REPORT_INIT;
  wq_call call = WQ_CALL_INIT;
  EXPECT_OK(wq_dead_replay_many(queue_, &filter, &call, &report, err()));
  EXPECT_EQ(report.changed, 2u);
  EXPECT_NE(call.lsn, 0u);
  EXPECT_EQ(stats_of(queue_).ready, 2u);
  const wq_dead_query all = WQ_DEAD_QUERY_INIT;
  const std::vector<SeenJob> left = list_all(all);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].job.id, ids[1]);
  reopen();
  EXPECT_EQ(stats_of(queue_).ready, 2u);
}

// Bulk changes: conditions are mandatory, entries go alone, the report is filled in any case.
TEST_F(CapiDead, ManyByFilter) {
  kill(9);
  const auto replay = [&](const wq_dead_filter& filter, uint64_t changed) {
    wq_dead_report report = WQ_DEAD_REPORT_INIT;
    wq_call call = WQ_CALL_INIT;
    const int32_t code = wq_dead_replay_many(queue_, &filter, &call, &report, err());
    EXPECT_EQ(report.changed, changed);
    EXPECT_EQ(call.lsn != 0, changed != 0 && !(filter.flags & WQ_DEAD_DRY_RUN));
    return code;
  };
  wq_dead_filter filter = WQ_DEAD_FILTER_INIT;
  EXPECT_CODE(WQ_E_INVALID, replay(filter, 0));
  EXPECT_CODE(WQ_E_INVALID, wq_dead_replay_many(queue_, nullptr, nullptr, nullptr, err()));
  filter.flags = 4;
  EXPECT_CODE(WQ_E_UNSUPPORTED, replay(filter, 0));
  filter.flags = WQ_DEAD_ALL;
  filter.entries = tokens_.data();
  filter.entries_count = 2;
  EXPECT_CODE(WQ_E_INVALID, replay(filter, 0));
  filter.flags = 0;
  filter.entries_count = 10'001;
  EXPECT_CODE(WQ_E_TOO_LARGE, replay(filter, 0));
  filter.entries = nullptr;
  filter.entries_count = 2;
  EXPECT_CODE(WQ_E_INVALID, replay(filter, 0));
  filter = WQ_DEAD_FILTER_INIT;
  filter.reason = WQ_DEAD_UNREADABLE + 1;
  EXPECT_CODE(WQ_E_UNSUPPORTED, replay(filter, 0));
  filter.reason = WQ_DEAD_LEASE_EXPIRED;
  filter.from_ms = -1;
  EXPECT_CODE(WQ_E_INVALID, replay(filter, 0));
  filter.from_ms = 0;
  filter.flags = WQ_DEAD_DRY_RUN;
  EXPECT_OK(replay(filter, 3));
  EXPECT_EQ(stats_of(queue_).dead, 9u);
  filter.flags = 0;
  filter.limit = 2;
  EXPECT_OK(replay(filter, 2));
  filter.limit = 0;
  EXPECT_OK(replay(filter, 1));
  EXPECT_OK(replay(filter, 0));
  filter = WQ_DEAD_FILTER_INIT;
  filter.error_part = {"wh", 2};
  filter.limit = 1;
  EXPECT_OK(replay(filter, 1));
  filter = WQ_DEAD_FILTER_INIT;
  const wq_token entries[] = {tokens_[0], tokens_[4], {tokens_[5].id, 77}, {12'345, 1}};
  filter.entries = entries;
  filter.entries_count = 4;
  EXPECT_OK(replay(filter, 1));
  wq_dead_report report = WQ_DEAD_REPORT_INIT;
  filter = WQ_DEAD_FILTER_INIT;
  filter.until_ms = sim_.clock.wall_ms() + 1;
  EXPECT_OK(wq_dead_remove_many(queue_, &filter, nullptr, &report, err()));
  EXPECT_EQ(report.changed, 4u);
  const wq_queue_stats stats = stats_of(queue_);
  EXPECT_EQ(stats.dead, 0u);
  EXPECT_EQ(stats.ready, 5u);
  EXPECT_EQ(stats.replayed_total, 5u);
  EXPECT_EQ(stats.cleared_total, 4u);
}

TEST_F(CapiDead, ABulkChangeIsStopped) {
  kill(3);
  struct Seen {
    uint64_t calls = 0;
    int32_t answer = 0;
  } seen;
  wq_dead_filter filter = WQ_DEAD_FILTER_INIT;
  filter.flags = WQ_DEAD_ALL;
  filter.progress_ctx = &seen;
  filter.progress = [](uint64_t, uint64_t, void* ctx) {
    ++static_cast<Seen*>(ctx)->calls;
    return static_cast<Seen*>(ctx)->answer;
  };
  seen.answer = 1;
  EXPECT_CODE(WQ_CANCELLED, wq_dead_replay_many(queue_, &filter, nullptr, nullptr, err()));
  EXPECT_EQ(stats_of(queue_).dead, 3u);
  wq_cancel* cancel = nullptr;
  ASSERT_OK(wq_cancel_new(&cancel, err()));
  filter.cancel = cancel;
  wq_cancel_fire(cancel);
  EXPECT_CODE(WQ_CANCELLED, wq_dead_replay_many(queue_, &filter, nullptr, nullptr, err()));
  EXPECT_EQ(seen.calls, 1u);
  filter.cancel = nullptr;
  seen.answer = 0;
  EXPECT_OK(wq_dead_replay_many(queue_, &filter, nullptr, nullptr, err()));
  EXPECT_GE(seen.calls, 2u);
  EXPECT_EQ(stats_of(queue_).ready, 3u);
  wq_cancel_free(&cancel);
}

// The lineage of a job, and the filter of a listing by the text of the error.
TEST_F(CapiDead, LineageAndErrorText) {
  kill(2);
  wq_dead_query query = WQ_DEAD_QUERY_INIT;
  query.error_part = {"why", 3};
  std::vector<SeenJob> jobs = list_all(query);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].job.id, tokens_[1].id);
  EXPECT_EQ(jobs[0].job.first_dead_ms, jobs[0].job.dead_ms);
  query.error_part = {"who", 3};
  EXPECT_TRUE(list_all(query).empty());
  ASSERT_OK(wq_dead_replay(queue_, tokens_[1].id, tokens_[1].generation, nullptr, err()));
  const wq_job alive = get(queue_, tokens_[1].id)[0].job;
  EXPECT_EQ(alive.first_dead_ms, jobs[0].job.dead_ms);
  EXPECT_EQ(alive.enqueued_ms, jobs[0].job.enqueued_ms);
  EXPECT_EQ(alive.replays, 1u);
  EXPECT_GT(alive.generation, tokens_[1].generation);
}

// Limits, the test push and the caps, as a program sees them.
TEST_F(CapiDead, LimitsOfTheQueue) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_MAX_DEPTH | WQ_CONFIG_DEAD_MAX_COUNT | WQ_CONFIG_DEAD_MAX_AGE;
  config.max_depth = 2;
  config.dead_max_count = 2;
  config.dead_max_age_ms = 60'000;
  ASSERT_OK(wq_queue_configure(queue_, &config, nullptr, err()));
  kill(3);
  EXPECT_EQ(stats_of(queue_).dead, 2u);
  EXPECT_EQ(stats_of(queue_).dead_dropped_total, 1u);
  wq_job_spec spec = spec_of("x");
  spec.flags = WQ_JOB_DRY_RUN;
  wq_enqueued out = WQ_ENQUEUED_INIT;
  EXPECT_OK(wq_enqueue(queue_, &spec, nullptr, &out, err()));
  EXPECT_EQ(out.job_id, 0u);
  wq_job_spec keyed[2] = {spec, spec};
  for (wq_job_spec& one : keyed) one.unique_key = {"k", 1};
  wq_enqueued tried[2] = {WQ_ENQUEUED_INIT, WQ_ENQUEUED_INIT};
  EXPECT_OK(wq_enqueue_many(queue_, keyed, 2, sizeof keyed[0], 0, nullptr, tried,
                            sizeof(wq_enqueued), nullptr, err()));
  EXPECT_EQ(tried[0].job_id, 0u);  // also of a job with keys
  EXPECT_EQ(tried[1].code, WQ_DUPLICATE);
  EXPECT_EQ(tried[1].job_id, 0u);  // of the one before it, which does not come to be
  EXPECT_EQ(stats_of(queue_).ready, 0u);
  wq_job_spec three[3] = {spec_of("a"), spec_of("b"), spec_of("c")};
  three[1].flags = WQ_JOB_DRY_RUN;
  size_t accepted = 9;
  const auto push = [&](uint32_t flags, wq_enqueued* told) {
    return wq_enqueue_many(queue_, three, 3, sizeof three[0], flags, nullptr, told,
                           sizeof(wq_enqueued), &accepted, err());
  };
  EXPECT_CODE(WQ_E_INVALID, push(0, nullptr));
  three[0].flags = three[2].flags = WQ_JOB_DRY_RUN;
  EXPECT_CODE(WQ_E_FULL, push(0, nullptr));
  wq_enqueued told[3] = {WQ_ENQUEUED_INIT, WQ_ENQUEUED_INIT, WQ_ENQUEUED_INIT};
  three[0].flags = three[1].flags = three[2].flags = 0;
  EXPECT_CODE(WQ_E_FULL, push(WQ_ENQUEUE_PARTIAL, told));
  EXPECT_EQ(accepted, 2u);
  EXPECT_EQ(told[1].code, WQ_OK);
  EXPECT_EQ(told[2].code, WQ_E_FULL);
  spec.flags = 0;
  EXPECT_CODE(WQ_E_FULL, wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
  EXPECT_NE(std::strstr(last_error().message, "max_depth"), nullptr);
  config.fields = WQ_CONFIG_FULL_POLICY;
  config.full_policy = 2;
  EXPECT_CODE(WQ_E_INVALID, wq_queue_configure(queue_, &config, nullptr, err()));
  config.full_policy = WQ_FULL_DROP_OLDEST;
  ASSERT_OK(wq_queue_configure(queue_, &config, nullptr, err()));
  EXPECT_OK(wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
  const wq_queue_stats stats = stats_of(queue_);
  EXPECT_EQ(stats.ready, 2u);
  EXPECT_EQ(stats.dropped_total, 1u);
  EXPECT_GT(stats.waiting_bytes, 0u);
  EXPECT_GT(stats.job_bytes, stats.waiting_bytes);
  wq_store_stats store = WQ_STORE_STATS_INIT;
  ASSERT_OK(wq_store_get_stats(store_, &store, err()));
  EXPECT_EQ(store.job_bytes, stats.job_bytes);
  ASSERT_OK(wq_queue_get_config(queue_, &config, err()));
  EXPECT_EQ(config.max_depth, 2u);
  EXPECT_EQ(config.dead_max_age_ms, 60'000);
}

}  // namespace
}  // namespace wq::capi_test
