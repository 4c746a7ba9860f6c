#include "lives.h"

#include <atomic>
#include <barrier>
#include <string>
#include <thread>
#include <vector>

namespace wq::bench {

namespace {

constexpr uint64_t timed_round_mask = 7;  // one round in eight is timed
constexpr size_t drain_batch = 1000;
constexpr uint64_t starved_ns_max =
    20'000'000'000;  // no job to lease for so long: something is lost

void deliver(Ledger& ledger, std::span<const LeasedJob> jobs) {
  for (const LeasedJob& job : jobs) ledger.deliver(job.payload);
}

// One caller and its figures.
class Worker {
 public:
  Worker(QueueUnderTest& queue, Ledger& ledger, const LifeSettings& settings)
      : caller_(queue.caller()), ledger_(ledger), settings_(settings), payloads_(settings.batch) {}

  // Lives until `until_ns`; returns how many jobs were finished.
  uint64_t run(uint64_t until_ns) {
    uint64_t jobs = 0;
    for (uint64_t round = 0;; round++) {
      const bool timed = (round & timed_round_mask) == 0;
      if (timed && now_ns() >= until_ns) return jobs;
      timed ? timed_enqueue() : enqueue();
      if (!settings_.enqueue_only) finish(timed);
      jobs += settings_.batch;
    }
  }

  LatencySampler enqueue_times, lease_times, ack_times;

 private:
  void enqueue() {
    caller_->enqueue(payloads_.make(ledger_.issue(settings_.batch), settings_.batch));
  }

  void timed_enqueue() {
    const auto payloads = payloads_.make(ledger_.issue(settings_.batch), settings_.batch);
    const uint64_t start = now_ns();
    caller_->enqueue(payloads);
    enqueue_times.add(now_ns() - start);
  }

  // As many jobs as this round enqueued: with other callers at work they may be others' jobs.
  void finish(bool timed) {
    size_t left = settings_.batch;
    uint64_t starved_since = 0;
    while (left > 0) {
      const uint64_t start = timed ? now_ns() : 0;
      const std::span<const LeasedJob> jobs = caller_->lease(left);
      if (jobs.empty()) {
        wait_for_others(&starved_since);
        continue;
      }
      if (timed) lease_times.add(now_ns() - start);
      deliver(ledger_, jobs);
      const uint64_t delivered = timed ? now_ns() : 0;
      caller_->ack(jobs);
      if (timed) ack_times.add(now_ns() - delivered);
      left -= jobs.size();
    }
  }

  void wait_for_others(uint64_t* starved_since) {
    const uint64_t now = now_ns();
    if (*starved_since == 0) *starved_since = now;
    if (now - *starved_since > starved_ns_max) fail("an enqueued job can not be leased");
    std::this_thread::yield();
  }

  std::unique_ptr<Caller> caller_;
  Ledger& ledger_;
  const LifeSettings& settings_;
  PayloadBatch payloads_;
};

void fill(Caller& caller, Ledger& ledger, uint64_t jobs) {
  PayloadBatch payloads(drain_batch);
  while (jobs > 0) {
    const size_t n = jobs < drain_batch ? static_cast<size_t>(jobs) : drain_batch;
    caller.enqueue(payloads.make(ledger.issue(n), n));
    jobs -= n;
  }
}

void drain(Caller& caller, Ledger& ledger) {
  for (;;) {
    const std::span<const LeasedJob> jobs = caller.lease(drain_batch);
    if (jobs.empty()) return;
    deliver(ledger, jobs);
    caller.ack(jobs);
  }
}

struct Phase {
  uint64_t jobs = 0;
  double seconds = 0;
};

// All workers start together; the phase lasts until the last one is done.
Phase run_phase(std::vector<Worker>& workers, double seconds) {
  const auto duration_ns = static_cast<uint64_t>(seconds * ns_per_second);
  if (workers.size() == 1) {  // on the calling thread: a serial caller has no thread of its own
    const uint64_t start = now_ns();
    const uint64_t jobs = workers[0].run(start + duration_ns);
    return {jobs, static_cast<double>(now_ns() - start) / ns_per_second};
  }
  std::barrier gate(static_cast<std::ptrdiff_t>(workers.size() + 1));
  std::atomic<uint64_t> until_ns{0};
  std::atomic<uint64_t> jobs{0};
  std::vector<std::thread> threads;
  threads.reserve(workers.size());
  for (Worker& worker : workers) {
    threads.emplace_back([&] {
      gate.arrive_and_wait();
      jobs += worker.run(until_ns);
    });
  }
  const uint64_t start = now_ns();
  until_ns = start + duration_ns;
  gate.arrive_and_wait();
  for (std::thread& thread : threads) thread.join();
  return {jobs, static_cast<double>(now_ns() - start) / ns_per_second};
}

}  // namespace

LifeFigures run_lives(QueueUnderTest& queue, const LifeSettings& settings) {
  Ledger ledger(settings.jobs_max);
  const std::unique_ptr<Caller> own = queue.caller();
  fill(*own, ledger, settings.backlog);
  std::vector<Worker> workers;
  workers.reserve(settings.callers);
  for (size_t i = 0; i < settings.callers; i++) workers.emplace_back(queue, ledger, settings);

  run_phase(workers, settings.warmup_seconds);
  for (Worker& worker : workers) {
    worker.enqueue_times.clear();
    worker.lease_times.clear();
    worker.ack_times.clear();
  }
  const uint64_t cpu_start = cpu_ns();
  const uint64_t device_start = device_write_bytes(settings.directory);
  const Phase phase = run_phase(workers, settings.seconds);

  LifeFigures figures;
  figures.jobs = phase.jobs;
  figures.seconds = phase.seconds;
  figures.cpu_seconds = static_cast<double>(cpu_ns() - cpu_start) / ns_per_second;
  figures.device_write_bytes = device_write_bytes(settings.directory) - device_start;
  for (const Worker& worker : workers) {
    figures.enqueue.merge(worker.enqueue_times);
    figures.lease.merge(worker.lease_times);
    figures.ack.merge(worker.ack_times);
  }

  drain(*own, ledger);
  ledger.finish("lives");
  const Counts counts = queue.counts();
  if (counts.ready != 0 || counts.leased != 0) {
    fail("after the drain " + std::to_string(counts.ready) + " jobs are ready and " +
         std::to_string(counts.leased) + " are leased");
  }
  return figures;
}

}  // namespace wq::bench
