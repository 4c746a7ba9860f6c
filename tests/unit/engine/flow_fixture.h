// A store with two queues, and what tests of chains and batches do with it. Thread model: one
// thread.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/batch.h"
#include "support/engine_harness.h"

namespace wq {

// What happens to the store between two steps of a test.
enum class Between : uint8_t { nothing, checkpoint, reopen, kill };

class FlowTest : public testing::TestWithParam<StoreKind> {
 protected:
  explicit FlowTest(const HarnessOptions& options = FlowTest::options()) : harness_(options) {
    EXPECT_TRUE(harness_.open().ok());
    queue_ = harness_.queue("work");
    other_ = harness_.queue("other");
  }
  ~FlowTest() override { harness_.expect_sound(); }

  static HarnessOptions options() {
    HarnessOptions options;
    options.store = GetParam();
    options.engine.segment_bytes = 256 << 10;  // small ones are made sooner
    options.engine.spare_segments = 0;
    return options;
  }
  Engine& engine() { return harness_.engine(); }
  void pass(Between between) {
    bool ok = true;
    if (between == Between::checkpoint) ok = engine().checkpoint().ok();
    if (between == Between::kill) ok = harness_.kill_and_open().ok();
    if (between == Between::reopen) ok = harness_.close().ok() && harness_.open().ok();
    ASSERT_TRUE(ok);
  }

  static JobSpec spec_of(std::string_view payload, uint64_t batch = 0) {
    JobSpec spec;
    spec.payload = as_bytes(payload);
    spec.traits.batch = batch;
    return spec;
  }
  static NextSpec next_of(std::string_view payload, std::string_view queue = {}) {
    return NextSpec{queue, spec_of(payload)};
  }
  JobId push(const JobSpec& spec) { return harness_.enqueue(queue_, as_text(spec.payload), spec); }
  JobId push_chain(std::string_view first, std::span<const NextSpec> chain, uint64_t batch = 0) {
    JobSpec spec = spec_of(first, batch);
    spec.chain = chain;
    return push(spec);
  }
  // The payload of the next job and its lease; "-" when there is none.
  std::string take(QueueId queue) {
    std::vector<JobView> jobs = harness_.lease(queue);
    if (jobs.empty()) return "-";
    job_ = jobs[0];
    return payload_of(job_);
  }
  std::string take() { return take(queue_); }
  Code ack(QueueId queue) { return harness_.ack(queue, job_.id, job_.generation); }
  Code ack() { return ack(queue_); }
  Code fail() {
    return harness_.settle(
        queue_, {.id = job_.id, .generation = job_.generation, .kind = SettleKind::fail});
  }
  QueueTotals totals(QueueId queue) { return engine().queue_stats(queue).value().totals; }

  uint64_t create(bool allow_failures = false, bool follow_ups = true) {
    const NextSpec complete = next_of("complete", "other");
    const NextSpec failure = next_of("failure", "other");
    BatchSpec spec{allow_failures, follow_ups ? &complete : nullptr,
                   follow_ups ? &failure : nullptr};
    CallOptions call;
    const Result<uint64_t> batch = engine().batch_create(spec, call);
    EXPECT_TRUE(batch.ok()) << batch.status().message();
    return batch.ok() ? batch.value() : 0;
  }
  Code seal(uint64_t batch) {
    CallOptions call;
    return engine().batch_seal(batch, call).code();
  }
  Code cancel_batch(uint64_t batch) {
    CallOptions call;
    return engine().batch_cancel(batch, call).code();
  }
  // "total pending done failed cancelled", and "." once it is finished
  std::string counts(uint64_t batch) {
    const Result<BatchStatus> status = engine().batch_status(batch);
    if (!status.ok()) return std::string(status.status().message());
    const BatchStatus& s = status.value();
    std::string out;
    for (const uint64_t n : {s.total, s.pending, s.done, s.failed, s.cancelled}) {
      out += std::to_string(n) + " ";
    }
    return out + (s.finished_ms != 0 ? "." : "");
  }

  EngineHarness harness_;
  QueueId queue_ = 0;
  QueueId other_ = 0;
  JobView job_;
};

}  // namespace wq
