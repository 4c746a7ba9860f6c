// Tenants, the overlap guard, and keys in transactions through the C interface.
#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

using CapiTenants = CapiSim;

wq_bytes view(std::string_view text) {
  return {text.data(), text.size()};
}

int32_t push(wq_queue* queue, const wq_job_spec& spec) {
  wq_enqueued out = WQ_ENQUEUED_INIT;
  return wq_enqueue(queue, &spec, nullptr, &out, err());
}

int32_t push_of(wq_queue* queue, std::string_view payload, std::string_view tenant) {
  wq_job_spec spec = spec_of(payload);
  spec.tenant = view(tenant);
  return push(queue, spec);
}

int32_t push_guarded(wq_queue* queue, std::string_view payload, uint32_t overlap,
                     int64_t overlap_ms = 0, std::string_view group = "g") {
  wq_job_spec spec = spec_of(payload);
  spec.group = view(group);
  spec.overlap = overlap;
  spec.overlap_ms = overlap_ms;
  return push(queue, spec);
}

TEST_F(CapiTenants, ServedByTurns) {
  for (const char* job : {"a1", "a2", "a3", "b1"}) EXPECT_OK(push_of(queue_, job, {job, 1}));
  EXPECT_OK(push_of(queue_, "none", ""));
  std::string order;
  for (const SeenJob& job : lease(store_, queue_, 10)) {
    order += job.payload + " ";
    wq_batch* batch = nullptr;
    EXPECT_OK(wq_job_get(queue_, job.job.id, &batch, err()));
    wq_job told = WQ_JOB_INIT;
    EXPECT_EQ(wq_batch_job(batch, 0, &told), WQ_OK);
    EXPECT_EQ(std::string_view(static_cast<const char*>(told.tenant.data), told.tenant.len),
              job.payload == "none" ? std::string_view() : job.payload.substr(0, 1));
    wq_batch_free(&batch);
  }
  EXPECT_EQ(order, "a1 b1 none a2 a3 ");
  EXPECT_CODE(WQ_E_TOO_LARGE, push_of(queue_, "x", std::string(513, 't')));
  EXPECT_OK(push_of(queue_, "x", std::string(512, '\0')));
}

TEST_F(CapiTenants, OverlapGuard) {
  EXPECT_OK(push_guarded(queue_, "runs", WQ_OVERLAP_SKIP));
  EXPECT_OK(push_guarded(queue_, "skipped", WQ_OVERLAP_SKIP));
  EXPECT_OK(push_guarded(queue_, "later", WQ_OVERLAP_RELEASE, 5'000));
  EXPECT_EQ(lease(store_, queue_, 10).size(), 1u);
  EXPECT_EQ(lease(store_, queue_, 10).size(), 0u);
  EXPECT_EQ(stats_of(queue_).skipped_total, 1u);
  EXPECT_EQ(stats_of(queue_).released_total, 1u);
  EXPECT_EQ(stats_of(queue_).delayed, 1u);
  EXPECT_CODE(WQ_E_INVALID, push_guarded(queue_, "x", 3));
  EXPECT_CODE(WQ_E_INVALID, push_guarded(queue_, "x", WQ_OVERLAP_SKIP, 1));
  EXPECT_CODE(WQ_E_INVALID, push_guarded(queue_, "x", WQ_OVERLAP_RELEASE, 0));
  EXPECT_CODE(WQ_E_INVALID, push_guarded(queue_, "x", WQ_OVERLAP_RELEASE, -1));
  EXPECT_CODE(WQ_E_INVALID, push_guarded(queue_, "x", WQ_OVERLAP_SKIP, 0, ""));
}

TEST_F(CapiTenants, ATransactionMeetsTheHolderOfAKey) {
  wq_job_spec spec = spec_of("x");
  spec.unique_key = view("k");
  wq_job_spec other = spec_of("other");
  wq_txn_op ops[2] = {WQ_TXN_OP_INIT, WQ_TXN_OP_INIT};
  for (wq_txn_op& op : ops) {
    op.kind = WQ_TXN_ENQUEUE;
    op.queue = queue_;
  }
  ops[0].spec = &other;
  ops[1].spec = &spec;
  wq_txn_result results[2] = {WQ_TXN_RESULT_INIT, WQ_TXN_RESULT_INIT};
  size_t failed = 0;
  const auto run = [&] {
    return wq_transact(store_, ops, 2, sizeof ops[0], nullptr, results, sizeof results[0], &failed,
                       err());
  };
  EXPECT_OK(run());
  const uint64_t holder = results[1].job_id;
  EXPECT_CODE(WQ_DUPLICATE, run());
  EXPECT_EQ(failed, 1u);
  EXPECT_EQ(results[1].job_id, holder);
  EXPECT_EQ(stats_of(queue_).ready, 2u);
}

}  // namespace
}  // namespace wq::capi_test
