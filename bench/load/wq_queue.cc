// wq under the common harness, through wq.h only, with default options.
#include <vector>

#include "queue_under_test.h"
#include "support.h"
#include "wq_handles.h"

namespace wq::bench {

namespace {

class WqCaller : public Caller {
 public:
  WqCaller(const WqStore& store, const QueueSettings& settings)
      : calls_(store), settings_(settings) {}

  void enqueue(std::span<const std::string_view> payloads) override {
    wq_call call = WQ_CALL_INIT;
    call.durability = wq_level(settings_.durability);
    calls_.enqueue(payloads, &call);
  }

  std::span<const LeasedJob> lease(size_t jobs_max) override {
    leased_.clear();
    wq_call call = WQ_CALL_INIT;
    call.durability = wq_level(settings_.lease_durability);
    if (!calls_.lease(jobs_max, 0, &call, &batch_)) return {};
    for (size_t i = 0; i < batch_.count(); i++) {
      const wq_job job = batch_.job(i);
      leased_.push_back({job.id, job.generation, payload_of(job)});
    }
    return leased_;
  }

  void ack(std::span<const LeasedJob> jobs) override {
    tokens_.clear();
    for (const LeasedJob& job : jobs) tokens_.push_back({job.id, job.generation});
    wq_call call = WQ_CALL_INIT;
    call.durability = wq_level(settings_.durability);
    calls_.ack(tokens_, &call);
  }

 private:
  WqCalls calls_;
  const QueueSettings& settings_;
  WqBatch batch_;
  std::vector<LeasedJob> leased_;
  std::vector<wq_token> tokens_;
};

class WqQueue : public QueueUnderTest {
 public:
  explicit WqQueue(const QueueSettings& settings)
      : settings_(settings), store_(settings.directory + "/store") {}

  std::unique_ptr<Caller> caller() override {
    return std::make_unique<WqCaller>(store_, settings_);
  }

  Counts counts() override {
    store_.expect_empty("after the run");
    const wq_queue_stats stats = store_.queue_stats();
    return {stats.ready + stats.delayed + stats.dead, stats.leased + stats.running};
  }

  std::string note() const override {
    return std::string("wq ") + wq_version_string() + ", " + store_.backend();
  }

  void close() override { store_.close(); }

 private:
  const QueueSettings settings_;
  WqStore store_;
};

}  // namespace

std::unique_ptr<QueueUnderTest> open_wq(const QueueSettings& settings) {
  return std::make_unique<WqQueue>(settings);
}

}  // namespace wq::bench
