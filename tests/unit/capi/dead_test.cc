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
  query.reason = 3;
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

}  // namespace
}  // namespace wq::capi_test
