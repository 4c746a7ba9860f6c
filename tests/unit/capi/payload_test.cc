// Encryption and compression through wq.h: keys in the options, flags of jobs and queues, what a
// job that does not open looks like, keys in use.
#include <filesystem>

#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

class CapiPayload : public testing::Test {
 protected:
  void SetUp() override {
    path_ =
        testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  void TearDown() override { close(); }
  void close() {
    wq_queue_close(&queue_);
    wq_store_close(&store_);
  }
  int32_t open_code(const std::vector<wq_key>& keys, uint32_t current) {
    close();
    wq_store_options options = WQ_STORE_OPTIONS_INIT;
    options.segment_bytes = 1u << 20;
    options.keys = keys.data();
    options.keys_count = keys.size();
    options.current_key = current;
    return wq_store_open(path_.c_str(), &options, &store_, err());
  }
  void open(const std::vector<wq_key>& keys, uint32_t current) {
    ASSERT_OK(open_code(keys, current));
    queue_ = open_queue(store_, "q");
  }
  void configure(uint32_t fields, uint32_t encrypt, uint32_t compress_min_bytes) {
    wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
    config.fields = fields;
    config.encrypt = encrypt;
    config.compress_min_bytes = compress_min_bytes;
    ASSERT_OK(wq_queue_configure(queue_, &config, nullptr, err()));
  }
  uint64_t enqueue_with(uint32_t flags, const std::string& payload) {
    wq_job_spec spec = spec_of(payload);
    spec.flags = flags;
    wq_enqueued out = WQ_ENQUEUED_INIT;
    EXPECT_OK(wq_enqueue(queue_, &spec, nullptr, &out, err()));
    return out.job_id;
  }
  static wq_key key(uint32_t id, const std::string& bytes) {
    return {id, 0, {bytes.data(), bytes.size()}};
  }

  const std::string a_ = std::string(32, 'a'), b_ = std::string(32, 'b');
  std::string path_;
  wq_store* store_ = nullptr;
  wq_queue* queue_ = nullptr;
};

TEST_F(CapiPayload, OptionsAreChecked) {
  const std::string short_key(31, 'a');
  EXPECT_CODE(WQ_E_INVALID, open_code({key(1, short_key)}, 1));
  EXPECT_STREQ(err()->message, "keys: key 1 has 31 bytes, give 32");
  EXPECT_CODE(WQ_E_INVALID, open_code({key(0, a_)}, 0));
  EXPECT_CODE(WQ_E_INVALID, open_code({key(1, a_), key(1, b_)}, 1));
  EXPECT_CODE(WQ_E_INVALID, open_code({key(1, a_)}, 2));
  wq_key reserved = key(1, a_);
  reserved.reserved_0 = 1;
  EXPECT_NE(open_code({reserved}, 1), WQ_OK);
  EXPECT_FALSE(std::filesystem::exists(path_)) << "a refused open leaves a trace";
  open({key(1, a_)}, 0);  // none of them seals
  wq_job_spec spec = spec_of("x");
  spec.flags = WQ_JOB_ENCRYPT | WQ_JOB_PLAIN;
  EXPECT_CODE(WQ_E_INVALID, wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
  spec.flags = WQ_JOB_ENCRYPT;
  EXPECT_CODE(WQ_E_NO_KEY, wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_ENCRYPT;
  config.encrypt = 2;
  EXPECT_CODE(WQ_E_INVALID, wq_queue_configure(queue_, &config, nullptr, err()));
}

TEST_F(CapiPayload, SealedCompressedAndBack) {
  open({key(1, a_)}, 1);
  configure(WQ_CONFIG_ENCRYPT | WQ_CONFIG_COMPRESS, 1, 100);
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  ASSERT_OK(wq_queue_get_config(queue_, &config, err()));
  EXPECT_EQ(config.encrypt, 1u);
  EXPECT_EQ(config.compress_min_bytes, 100u);
  const std::string large(10'000, 'x');
  enqueue_with(0, large);
  EXPECT_LT(stats_of(queue_).job_bytes, 500u);
  enqueue_with(WQ_JOB_PLAIN, "plain");
  configure(WQ_CONFIG_ENCRYPT, 0, 0);
  enqueue_with(WQ_JOB_ENCRYPT, "sealed");
  const std::vector<SeenJob> jobs = lease(store_, queue_, 10);
  ASSERT_EQ(jobs.size(), 3u);
  const char* const payloads[] = {large.c_str(), "plain", "sealed"};
  for (size_t i = 0; i < 3; i++) {
    EXPECT_EQ(jobs[i].payload, payloads[i]);
    EXPECT_EQ(jobs[i].job.key_id, i == 1 ? 0u : 1u);
    EXPECT_EQ((jobs[i].job.flags & WQ_JOB_ENCRYPT) != 0, i != 1);
    EXPECT_EQ(jobs[i].job.payload_code, WQ_OK);
    EXPECT_EQ(jobs[i].queue_name, "q");
  }
}

TEST_F(CapiPayload, KeysInUseAndAJobThatDoesNotOpen) {
  open({key(1, a_)}, 1);
  const uint64_t first = enqueue_with(WQ_JOB_ENCRYPT, "first");
  open({key(1, a_), key(2, b_)}, 2);
  enqueue_with(WQ_JOB_ENCRYPT, "second");
  open({key(2, b_)}, 2);
  wq_key_use uses[3] = {WQ_KEY_USE_INIT, WQ_KEY_USE_INIT, WQ_KEY_USE_INIT};
  size_t count = 0;
  ASSERT_OK(wq_store_get_keys(store_, uses, 3, sizeof uses[0], &count, err()));
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(uses[0].id, 1u);
  EXPECT_EQ(uses[0].payloads, 1u);
  EXPECT_EQ(uses[0].flags, 0u);
  EXPECT_EQ(uses[1].id, 2u);
  EXPECT_EQ(uses[1].payloads, 1u);
  EXPECT_EQ(uses[1].flags, WQ_KEY_KNOWN | WQ_KEY_CURRENT);
  EXPECT_CODE(WQ_E_INVALID, wq_store_get_keys(store_, nullptr, 1, 24, &count, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_store_get_keys(store_, uses, 3, 8, &count, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_store_get_keys(store_, nullptr, 0, 24, nullptr, err()));

  const SeenJob unread = get(queue_, first)[0];
  EXPECT_EQ(unread.job.payload_code, WQ_E_NO_KEY);
  EXPECT_EQ(unread.job.payload.len, 0u);
  EXPECT_EQ(unread.job.key_id, 1u);
  const std::vector<SeenJob> jobs = lease(store_, queue_, 10);
  ASSERT_EQ(jobs.size(), 1u);
  EXPECT_EQ(jobs[0].payload, "second");
  EXPECT_EQ(get(queue_, first)[0].job.dead_reason, WQ_DEAD_UNREADABLE);

  open({key(1, a_)}, 1);
  wq_dead_filter filter = WQ_DEAD_FILTER_INIT;
  filter.reason = WQ_DEAD_UNREADABLE;
  wq_dead_report report = WQ_DEAD_REPORT_INIT;
  ASSERT_OK(wq_dead_replay_many(queue_, &filter, nullptr, &report, err()));
  EXPECT_EQ(report.changed, 1u);
  EXPECT_EQ(lease(store_, queue_)[0].payload, "first");
}

TEST_F(CapiPayload, WhatFollowsSchedulesAndResults) {
  open({key(1, a_)}, 1);
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_ENCRYPT | WQ_CONFIG_KEEP_DONE;
  config.encrypt = 1;
  config.keep_done_count = 10;
  ASSERT_OK(wq_queue_configure(queue_, &config, nullptr, err()));
  wq_job_spec next_spec = spec_of("next");
  next_spec.flags = WQ_JOB_PLAIN;
  wq_next_job next = WQ_NEXT_JOB_INIT;
  next.spec = &next_spec;
  wq_job_spec spec = spec_of("first");
  spec.chain = &next;
  spec.chain_count = 1;
  spec.chain_size = sizeof next;
  ASSERT_OK(wq_enqueue(queue_, &spec, nullptr, nullptr, err()));
  wq_job_spec tick = spec_of("tick");
  wq_cron_spec cron = WQ_CRON_SPEC_INIT;
  cron.expression = {"0 0 1 1 *", 9};
  cron.job = &tick;
  ASSERT_OK(wq_cron_put(queue_, "s", 1, &cron, nullptr, err()));

  const SeenJob first = lease(store_, queue_)[0];
  EXPECT_EQ(first.payload, "first");
  const wq_token token{first.job.id, first.job.generation};
  ASSERT_OK(wq_ack_result(queue_, token.id, token.generation, "result", 6, nullptr, err()));
  const SeenJob following = lease(store_, queue_)[0];
  EXPECT_EQ(following.payload, "next");
  EXPECT_EQ(following.job.key_id, 0u);

  for (const bool known : {true, false}) {
    if (!known) open({key(2, b_)}, 2);
    wq_done_job done = WQ_DONE_JOB_INIT;
    wq_list* result = nullptr;
    ASSERT_OK(wq_history_get(queue_, first.job.id, &done, &result, err()));
    EXPECT_EQ(std::string(static_cast<const char*>(done.result.data), done.result.len),
              known ? "result" : "");
    EXPECT_EQ(done.result_code, known ? WQ_OK : WQ_E_NO_KEY);
    EXPECT_EQ(done.key_id, 1u);
    wq_list_free(&result);
    wq_crons* crons = nullptr;
    ASSERT_OK(wq_cron_get(store_, "s", 1, &crons, err()));
    wq_cron seen = WQ_CRON_INIT;
    ASSERT_OK(wq_crons_at(crons, 0, &seen));
    EXPECT_EQ(seen.payload.len, known ? 4u : 0u);
    EXPECT_EQ(seen.payload_code, known ? WQ_OK : WQ_E_NO_KEY);
    EXPECT_EQ(seen.key_id, 1u);
    EXPECT_EQ(seen.flags, WQ_JOB_ENCRYPT);
    EXPECT_EQ(seen.packing, 0u);
    wq_crons_free(&crons);
  }
}

}  // namespace
}  // namespace wq::capi_test
