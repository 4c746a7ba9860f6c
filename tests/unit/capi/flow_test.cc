// Chains, flows and the history through the C interface.
#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

class CapiFlow : public CapiSim {
 protected:
  wq_next_job next_of(const wq_job_spec& spec, std::string_view queue = {}) {
    wq_next_job next = WQ_NEXT_JOB_INIT;
    next.queue_name = {queue.data(), queue.size()};
    next.spec = &spec;
    return next;
  }
  int32_t push(wq_job_spec spec) { return wq_enqueue(queue_, &spec, nullptr, nullptr, err()); }
  wq_job_spec member(std::string_view payload, uint64_t flow) {
    wq_job_spec spec = spec_of(payload);
    spec.flow = flow;
    return spec;
  }
  SeenJob take(wq_queue* queue) {
    std::vector<SeenJob> jobs = lease(store_, queue);
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? SeenJob{WQ_JOB_INIT, {}, {}, {}} : jobs[0];
  }
  int32_t ack(wq_queue* queue, const SeenJob& job) {
    return wq_ack(queue, job.job.id, job.job.generation, nullptr, err());
  }
  wq_flow_status status(uint64_t flow) {
    wq_flow_status out = WQ_FLOW_STATUS_INIT;
    EXPECT_OK(wq_flow_get_status(store_, flow, &out, err()));
    return out;
  }
};

TEST_F(CapiFlow, AChainGoesFromQueueToQueue) {
  wq_queue* other = open_queue(store_, "other");
  const wq_header header = {{"k", 1}, {"v", 1}};
  wq_job_spec specs[] = {spec_of("b"), spec_of("c")};
  specs[0].headers = &header;
  specs[0].headers_count = 1;
  const wq_next_job chain[] = {next_of(specs[0], "other"), next_of(specs[1])};
  wq_job_spec first = spec_of("a");
  first.chain = chain;
  first.chain_count = 2;
  first.chain_size = sizeof chain[0];
  ASSERT_OK(push(first));
  SeenJob job = take(queue_);
  EXPECT_EQ(job.payload, "a");
  EXPECT_EQ(job.job.chain_count, 2u);
  ASSERT_OK(ack(queue_, job));
  job = take(other);
  EXPECT_EQ(job.payload, "b");
  EXPECT_EQ(job.job.headers_count, 1u);
  ASSERT_OK(wq_job_cancel(other, job.job.id, nullptr, err()));
  EXPECT_EQ(stats_of(other).chain_cut_total, 1u);

  const auto refused = [&](int32_t code, const char* field) {
    EXPECT_CODE(code, push(first));
    EXPECT_NE(std::strstr(last_error().message, field), nullptr) << last_error().message;
  };
  first.chain_size = 8;
  refused(WQ_E_INVALID, "chain_size is 8, less");
  first.chain_size = sizeof chain[0];
  specs[1].chain = chain;
  specs[1].chain_count = 1;
  refused(WQ_E_INVALID, "chain[1]: chain");
  specs[1] = spec_of("c");
  specs[1].flow = 7;
  refused(WQ_E_INVALID, "chain[1]");
  specs[1] = spec_of("c");
  specs[1].delay_ms = -1;
  refused(WQ_E_INVALID, "chain[1]: delay_ms");
  first.chain = nullptr;
  refused(WQ_E_INVALID, "chain");
  first.chain = chain;
  first.chain_count = 10001;
  refused(WQ_E_TOO_LARGE, "chain_count is 10001");
  first.chain_count = 101;
  first.chain = chain;
  refused(WQ_E_TOO_LARGE, "chain");
  wq_queue_close(&other);
}

TEST_F(CapiFlow, AFlowCountsAndEndsOnce) {
  wq_queue* end = open_queue(store_, "end");
  const wq_job_spec done = spec_of("done");
  wq_next_job complete = next_of(done);
  wq_flow_options options = WQ_FLOW_OPTIONS_INIT;
  options.on_complete = &complete;
  uint64_t flow = 0;
  EXPECT_CODE(WQ_E_INVALID, wq_flow_create(store_, &options, &flow, nullptr, err()));
  EXPECT_NE(std::strstr(last_error().message, "on_complete: queue_name"), nullptr);
  complete = next_of(done, "end");
  options.flags = 2;
  EXPECT_CODE(WQ_E_UNSUPPORTED, wq_flow_create(store_, &options, &flow, nullptr, err()));
  options.flags = WQ_FLOW_ALLOW_FAILURES;
  ASSERT_OK(wq_flow_create(store_, &options, &flow, nullptr, err()));
  for (const char* payload : {"1", "2", "3"}) ASSERT_OK(push(member(payload, flow)));
  EXPECT_EQ(status(flow).pending, 3u);
  ASSERT_OK(ack(queue_, take(queue_)));
  ASSERT_OK(wq_flow_seal(store_, flow, nullptr, err()));
  reopen();
  SeenJob job = take(queue_);
  EXPECT_EQ(job.job.flow, flow);
  ASSERT_OK(wq_fail(queue_, job.job.id, job.job.generation, "x", 1, nullptr, err()));
  EXPECT_EQ(status(flow).flags, WQ_FLOW_SEALED);
  ASSERT_OK(ack(queue_, take(queue_)));
  const wq_flow_status over = status(flow);
  EXPECT_EQ(over.flags, WQ_FLOW_SEALED | WQ_FLOW_FINISHED);
  EXPECT_EQ(over.done, 2u);
  EXPECT_EQ(over.failed, 1u);
  wq_queue_close(&end);
  end = open_queue(store_, "end");
  EXPECT_EQ(take(end).job.id, over.follow_up_id);
  EXPECT_CODE(WQ_CONFLICT, push(member("4", flow)));
  EXPECT_CODE(WQ_CONFLICT, wq_flow_cancel(store_, flow, nullptr, err()));
  EXPECT_CODE(WQ_E_NOT_FOUND, push(member("4", flow + 1000)));
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_flow_seal(store_, flow + 1000, nullptr, err()));
  wq_queue_close(&end);
}

TEST_F(CapiFlow, ACancelledFlowTellsWhoRuns) {
  uint64_t flows[3] = {};
  for (uint64_t& flow : flows) ASSERT_OK(wq_flow_create(store_, nullptr, &flow, nullptr, err()));
  for (const char* payload : {"1", "2"}) ASSERT_OK(push(member(payload, flows[1])));
  const SeenJob job = take(queue_);
  ASSERT_OK(wq_flow_cancel(store_, flows[1], nullptr, err()));
  const wq_token token = {job.job.id, job.job.generation};
  int32_t code = WQ_OK;
  EXPECT_CODE(WQ_CANCELLED, wq_extend(queue_, &token, 1, 0, &code, nullptr, err()));
  EXPECT_EQ(get(queue_, job.job.id)[0].job.flow_cancelled, 1u);
  ASSERT_OK(wq_release(queue_, token.id, token.generation, 0, 0, nullptr, err()));
  EXPECT_EQ(status(flows[1]).cancelled, 2u);
  wq_flow_status page[2];
  uint64_t cursor = 0;
  size_t count = 0;
  ASSERT_OK(wq_flow_list(store_, &cursor, page, 2, sizeof page[0], &count, err()));
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(page[0].flow, flows[2]);
  EXPECT_EQ(page[1].flow, flows[1]);
  EXPECT_EQ(page[1].flags, WQ_FLOW_SEALED | WQ_FLOW_CANCELLED | WQ_FLOW_FINISHED);
  ASSERT_OK(wq_flow_list(store_, &cursor, page, 2, sizeof page[0], &count, err()));
  EXPECT_EQ(count, 1u);
  EXPECT_EQ(cursor, 0u);
  EXPECT_CODE(WQ_E_INVALID,
              wq_flow_list(store_, &cursor, page, 1001, sizeof page[0], &count, err()));
}

// One call for many has the result of each, and takes none from a settle that is no ack.
TEST_F(CapiFlow, ResultsOfManyAreInTheHistory) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_KEEP_DONE;
  config.keep_done_count = 2;
  ASSERT_OK(wq_queue_configure(queue_, &config, nullptr, err()));
  const std::string results[] = {"first", "second"};
  wq_settle_item items[2] = {WQ_SETTLE_ITEM_INIT, WQ_SETTLE_ITEM_INIT};
  for (size_t i = 0; i < 2; i++) {
    items[i].id = enqueue(queue_, "job");
    items[i].generation = take(queue_).job.generation;
    items[i].kind = WQ_SETTLE_ACK;
    items[i].result = {results[i].data(), results[i].size()};
  }
  items[1].kind = WQ_SETTLE_FAIL;
  EXPECT_CODE(WQ_E_INVALID,
              wq_settle_many(queue_, items, 2, sizeof items[0], nullptr, nullptr, err()));
  items[1].kind = WQ_SETTLE_ACK;
  ASSERT_OK(wq_settle_many(queue_, items, 2, sizeof items[0], nullptr, nullptr, err()));
  reopen();
  for (size_t i = 0; i < 2; i++) {
    wq_done_job job = WQ_DONE_JOB_INIT;
    wq_list* result = nullptr;
    ASSERT_OK(wq_history_get(queue_, items[i].id, &job, &result, err()));
    EXPECT_EQ(std::string(static_cast<const char*>(job.result.data), job.result.len), results[i]);
    wq_list_free(&result);
  }
}

TEST_F(CapiFlow, HistoryTellsResults) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_KEEP_DONE;
  config.keep_done_count = 2;
  ASSERT_OK(wq_queue_configure(queue_, &config, nullptr, err()));
  uint64_t ids[3] = {};
  for (uint64_t& id : ids) {
    id = enqueue(queue_, "job");
    const SeenJob job = take(queue_);
    const std::string result = "r" + std::to_string(id);
    ASSERT_OK(wq_ack_result(queue_, id, job.job.generation, result.data(), result.size(), nullptr,
                            err()));
  }
  reopen();
  wq_done_job jobs[3];
  uint64_t cursor = 0;
  size_t count = 0;
  wq_list* results = nullptr;
  ASSERT_OK(wq_history_list(queue_, &cursor, jobs, 3, sizeof jobs[0], &count, &results, err()));
  ASSERT_EQ(count, 2u);
  EXPECT_EQ(cursor, 0u);
  for (size_t i = 0; i < count; i++) {
    EXPECT_EQ(jobs[i].id, ids[2 - i]);
    EXPECT_EQ(std::string(static_cast<const char*>(jobs[i].result.data), jobs[i].result.len),
              "r" + std::to_string(jobs[i].id));
  }
  wq_list_free(&results);
  wq_done_job job = WQ_DONE_JOB_INIT;
  wq_list* result = nullptr;
  ASSERT_OK(wq_history_get(queue_, ids[1], &job, &result, err()));
  EXPECT_EQ(job.attempts, 1u);
  wq_list_free(&result);
  EXPECT_CODE(WQ_E_NOT_FOUND, wq_history_get(queue_, ids[0], &job, &result, err()));
  EXPECT_EQ(result, nullptr);
}

}  // namespace
}  // namespace wq::capi_test
