#include "head.h"

#include <algorithm>
#include <vector>

#include "payload.h"

namespace wq::bench {

namespace {

constexpr size_t rounds = 9;
constexpr size_t samples_per_round = 4000;
constexpr size_t wear_batch = 1000;

wq_call memory_call() {
  wq_call call = WQ_CALL_INIT;
  call.durability = WQ_MEMORY;
  return call;
}

// Leases (timed, at their default level) of one store; p99 of each round.
class HeadProbe {
 public:
  explicit HeadProbe(const WqStore& store) : calls_(store), payloads_(1) {}

  void one_job_round() {
    times_.clear();
    Ledger ledger(samples_per_round);
    for (size_t i = 0; i < samples_per_round; i++) {
      wq_call call = memory_call();
      calls_.enqueue(payloads_.make(ledger.issue(1), 1), &call);
      WqBatch batch;
      const uint64_t start = now_ns();
      const bool leased = calls_.lease(1, 0, nullptr, &batch);
      times_.add(now_ns() - start);
      if (!leased) fail("the only job can not be leased");
      const wq_job job = batch.job(0);
      ledger.deliver(payload_of(job));
      const wq_token token{job.id, job.generation};
      wq_call ack = memory_call();
      calls_.ack({&token, 1}, &ack);
    }
    ledger.finish("head");
    one_job_p50.push_back(times_.percentile_us(0.5));
    one_job_p99.push_back(times_.percentile_us(0.99));
  }

  void empty_round() {
    times_.clear();
    for (size_t i = 0; i < samples_per_round; i++) {
      WqBatch batch;
      const uint64_t start = now_ns();
      const bool leased = calls_.lease(1, 0, nullptr, &batch);
      times_.add(now_ns() - start);
      if (leased) fail("an empty queue gave a job");
    }
    empty_p50.push_back(times_.percentile_us(0.5));
    empty_p99.push_back(times_.percentile_us(0.99));
  }

  std::vector<double> one_job_p50, one_job_p99, empty_p50, empty_p99;

 private:
  WqCalls calls_;
  PayloadBatch payloads_;
  LatencySampler times_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Under a microsecond the clock itself is a good part of the figure; differences there are no
// drift.
constexpr double clock_floor_us = 1;

void compare(const std::string& name, const std::vector<double>& fresh,
             const std::vector<double>& worn, Report* report) {
  report->set(name + "_fresh_us", median(fresh));
  report->set(name + "_worn_us", median(worn));
  report->set(name + "_ratio",
              std::max(median(worn), clock_floor_us) / std::max(median(fresh), clock_floor_us));
}

}  // namespace

void wear_out(const WqStore& store, uint64_t jobs) {
  Ledger ledger(jobs);
  WqCalls calls(store);
  PayloadBatch payloads(wear_batch);
  std::vector<wq_token> tokens;
  while (ledger.issued() < jobs) {
    const auto n = static_cast<size_t>(std::min<uint64_t>(wear_batch, jobs - ledger.issued()));
    wq_call enqueue = memory_call();
    calls.enqueue(payloads.make(ledger.issue(n), n), &enqueue);
    WqBatch batch;
    wq_call lease = memory_call();
    if (!calls.lease(n, 0, &lease, &batch) || batch.count() != n) fail("wear: too few jobs");
    tokens.clear();
    for (size_t i = 0; i < n; i++) {
      const wq_job job = batch.job(i);
      ledger.deliver(payload_of(job));
      tokens.push_back({job.id, job.generation});
    }
    wq_call ack = memory_call();
    calls.ack(tokens, &ack);
  }
  ledger.finish("wear");
}

void compare_heads(const WqStore& fresh, const WqStore& worn, Report* report) {
  HeadProbe fresh_probe(fresh);
  HeadProbe worn_probe(worn);
  for (size_t round = 0; round < rounds; round++) {
    fresh_probe.one_job_round();
    worn_probe.one_job_round();
    fresh_probe.empty_round();
    worn_probe.empty_round();
  }
  compare("head_one_job_p50", fresh_probe.one_job_p50, worn_probe.one_job_p50, report);
  compare("head_one_job_p99", fresh_probe.one_job_p99, worn_probe.one_job_p99, report);
  compare("head_empty_p50", fresh_probe.empty_p50, worn_probe.empty_p50, report);
  compare("head_empty_p99", fresh_probe.empty_p99, worn_probe.empty_p99, report);
}

}  // namespace wq::bench
