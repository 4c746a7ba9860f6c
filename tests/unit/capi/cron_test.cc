// Schedules through wq.h: put, list, run, pause, remove, refusals, the preview.
#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

class CapiCron : public CapiSim {
 protected:
  int32_t put(std::string_view name, std::string_view expression, wq_call* call = nullptr) {
    wq_cron_spec spec = WQ_CRON_SPEC_INIT;
    spec.expression = {expression.data(), expression.size()};
    spec.job = &job_;
    return wq_cron_put(queue_, name.data(), name.size(), &spec, call, err());
  }
  // The schedule as it is, in `crons_`.
  wq_cron get(std::string_view name) {
    wq_crons_free(&crons_);
    wq_cron cron = WQ_CRON_INIT;
    EXPECT_OK(wq_cron_get(store_, name.data(), name.size(), &crons_, err()));
    EXPECT_EQ(wq_crons_count(crons_), 1u);
    EXPECT_EQ(wq_crons_at(crons_, 0, &cron), WQ_OK);
    return cron;
  }
  void TearDown() override {
    wq_crons_free(&crons_);
    CapiSim::TearDown();
  }

  wq_job_spec job_ = WQ_JOB_SPEC_INIT;
  wq_crons* crons_ = nullptr;
};

std::string_view text_of(const wq_bytes& bytes) {
  return {static_cast<const char*>(bytes.data), bytes.len};
}

TEST_F(CapiCron, LivesThroughItsCalls) {
  job_.payload = {"tick", 4};
  const wq_header header = {{"k", 1}, {"v", 1}};
  job_.headers = &header;
  job_.headers_count = 1;
  wq_call call = WQ_CALL_INIT;
  ASSERT_OK(put("beat", "@every 10s", &call));
  EXPECT_GT(call.lsn, 0u);
  ASSERT_OK(put("beat", "@every 10s", &call));
  EXPECT_EQ(call.lsn, 0u);  // as it was
  wq_cron cron = get("beat");
  EXPECT_EQ(text_of(cron.name), "beat");
  EXPECT_EQ(text_of(cron.queue_name), "q");
  EXPECT_EQ(text_of(cron.expression), "@every 10s");
  EXPECT_EQ(text_of(cron.payload), "tick");
  ASSERT_EQ(cron.headers_count, 1u);
  EXPECT_EQ(text_of(cron.headers[0].value), "v");
  EXPECT_EQ(cron.catch_up, 1u);
  EXPECT_EQ(cron.priority, 100u);
  EXPECT_EQ(cron.next_due_ms % 10'000, 0);
  advance_ms(10'000);
  EXPECT_EQ(stats_of(queue_).ready, 1u);
  EXPECT_EQ(get("beat").fired, 1u);
  ASSERT_OK(wq_cron_pause(store_, "beat", 4, nullptr, err()));
  EXPECT_EQ(get("beat").flags, WQ_CRON_PAUSED);
  advance_ms(60'000);
  ASSERT_OK(wq_cron_resume(store_, "beat", 4, nullptr, err()));
  reopen();
  advance_ms(10'000);
  EXPECT_EQ(stats_of(queue_).ready, 2u);
  ASSERT_OK(wq_cron_remove(store_, "beat", 4, nullptr, err()));
  EXPECT_EQ(wq_cron_remove(store_, "beat", 4, nullptr, err()), WQ_E_NOT_FOUND);
  advance_ms(60'000);
  EXPECT_EQ(stats_of(queue_).ready, 2u);
}

TEST_F(CapiCron, ListsPagesAndQueues) {
  for (const char* name : {"a", "b", "c"}) ASSERT_OK(put(name, "@daily"));
  const auto names = [&](wq_queue* queue, std::string_view after, size_t limit) {
    std::string out;
    wq_crons* crons = nullptr;
    EXPECT_OK(wq_cron_list(store_, queue, after.data(), after.size(), limit, &crons, err()));
    for (size_t i = 0; i < wq_crons_count(crons); i++) {
      wq_cron cron = WQ_CRON_INIT;
      EXPECT_EQ(wq_crons_at(crons, i, &cron), WQ_OK);
      out += text_of(cron.name);
    }
    wq_crons_free(&crons);
    return out;
  };
  EXPECT_EQ(names(nullptr, "", 2), "ab");
  EXPECT_EQ(names(queue_, "b", 2), "c");
  wq_queue* other = open_queue(store_, "other");
  EXPECT_EQ(names(other, "", 10), "");
  wq_queue_close(&other);
  wq_crons* crons = nullptr;
  EXPECT_EQ(wq_cron_list(store_, nullptr, nullptr, 0, 0, &crons, err()), WQ_E_INVALID);
  EXPECT_EQ(wq_crons_count(nullptr), 0u);
  wq_cron cron = WQ_CRON_INIT;
  EXPECT_EQ(wq_crons_at(nullptr, 0, &cron), WQ_E_INVALID);
}

TEST_F(CapiCron, RefusalsNameTheField) {
  EXPECT_EQ(put("x", "* 99 * * *"), WQ_E_INVALID);
  EXPECT_NE(std::string(err()->message).find("hour: '99'"), std::string::npos);
  EXPECT_EQ(put("", "@daily"), WQ_E_INVALID);
  EXPECT_EQ(wq_cron_put(queue_, "x", 1, nullptr, nullptr, err()), WQ_E_INVALID);
  wq_cron_spec spec = WQ_CRON_SPEC_INIT;
  spec.expression = {"@daily", 6};
  spec.zone = {"No/Where", 8};
  EXPECT_EQ(wq_cron_put(queue_, "x", 1, &spec, nullptr, err()), WQ_E_INVALID);
  EXPECT_NE(std::string(err()->message).find("zone:"), std::string::npos);
  spec.zone = {nullptr, 0};
  spec.flags = 2;
  EXPECT_EQ(wq_cron_put(queue_, "x", 1, &spec, nullptr, err()), WQ_E_UNSUPPORTED);
  spec.flags = WQ_CRON_CATCH_UP;
  spec.catch_up = 1'001;
  EXPECT_EQ(wq_cron_put(queue_, "x", 1, &spec, nullptr, err()), WQ_E_INVALID);
  spec.catch_up = 0;
  EXPECT_OK(wq_cron_put(queue_, "x", 1, &spec, nullptr, err()));
  EXPECT_EQ(get("x").catch_up, 0u);
  wq_crons* crons = nullptr;
  EXPECT_EQ(wq_cron_get(store_, "y", 1, &crons, err()), WQ_E_NOT_FOUND);
  EXPECT_EQ(crons, nullptr);
}

// Refused at its last schedule, the queue is not there, and neither are those before.
TEST_F(CapiCron, AnImportOfAQueueIsAllOrNothing) {
  SimStore other;
  wq_store* store = other.open();
  wq_store_record head = WQ_STORE_RECORD_INIT;
  head.next_job_id = head.next_generation = 10;
  ASSERT_OK(wq_import_begin(store, &head, err()));
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  EXPECT_OK(wq_queue_get_config(queue_, &config, err()));
  wq_cron schedules[2] = {WQ_CRON_INIT, WQ_CRON_INIT};
  for (wq_cron& schedule : schedules) {
    schedule.name = {"good", 4};
    schedule.expression = {"0 3 * * *", 9};
    schedule.created_ms = schedule.next_due_ms = 1'000;
    schedule.priority = 100;
  }
  wq_queue_record row = WQ_QUEUE_RECORD_INIT;
  row.name = {"moved", 5};
  row.config = &config;
  row.schedules = schedules;
  row.schedules_count = 2;
  wq_queue* queue = nullptr;
  EXPECT_CODE(WQ_CONFLICT, wq_import_queue(store, &row, &queue, err()));  // the name twice
  schedules[1].name = {"bad", 3};
  schedules[1].expression = {"no time", 7};
  EXPECT_CODE(WQ_E_INVALID, wq_import_queue(store, &row, &queue, err()));
  EXPECT_EQ(queue, nullptr);
  schedules[1].expression = {"@hourly", 7};
  ASSERT_OK(wq_import_queue(store, &row, &queue, err()));
  EXPECT_OK(wq_import_end(store, err()));
  EXPECT_OK(wq_cron_list(store, queue, nullptr, 0, 100, &crons_, err()));
  EXPECT_EQ(wq_crons_count(crons_), 2u);
  wq_queue_close(&queue);
  wq_store_close(&store);
}

TEST(CapiCronNext, TellsTimesWithoutAStore) {
  int64_t times[3] = {};
  size_t count = 7;
  wq_error error = WQ_ERROR_INIT;
  // 2025-03-09 05:00 UTC: the night in which New York goes ahead.
  ASSERT_EQ(wq_cron_next("30 2 * * *", 10, "America/New_York", 16, 1'741'496'400'000, times, 3,
                         &count, &error),
            WQ_OK)
      << error.message;
  ASSERT_EQ(count, 3u);
  EXPECT_EQ(times[0], 1'741'503'600'000);  // 07:00
  EXPECT_EQ(times[1], 1'741'588'200'000);  // 06:30 of the next day
  EXPECT_EQ(wq_cron_next("x", 1, nullptr, 0, 0, times, 3, &count, &error), WQ_E_INVALID);
  EXPECT_EQ(count, 0u);
  EXPECT_EQ(wq_cron_next("@daily", 6, nullptr, 0, 0, times, 0, &count, &error), WQ_E_INVALID);
  EXPECT_EQ(wq_cron_next("@daily", 6, nullptr, 0, -1, times, 1, &count, &error), WQ_E_INVALID);
}

}  // namespace
}  // namespace wq::capi_test
