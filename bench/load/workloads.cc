#include "workloads.h"

#include <unistd.h>

#include "head.h"
#include "pipelined.h"
#include "report.h"
#include "wake.h"

namespace wq::bench {

namespace {

constexpr uint64_t short_queue_jobs = 2000;  // waiting, while the short queue is sampled
constexpr uint64_t short_queue_rounds = 100;
constexpr size_t fill_batch = 1000;
constexpr size_t fill_in_flight_max = 50'000;
constexpr size_t drain_in_flight_max = 20'000;

void set_memory(const std::string& name, Report* report) {
  const ProcessFigures figures = process_figures();
  report->set(name + "_rss_mib", mebibytes(figures.resident_bytes));
  report->set(name + "_rss_peak_mib", mebibytes(figures.resident_peak_bytes));
}

void set_store(const WqStore& store, Report* report) {
  const wq_store_stats stats = store.stats();
  report->set("backend", std::string(store.backend()));
  report->set("flushes", stats.flushes);
  report->set("log_bytes", stats.log_bytes);
  report->set("log_written_bytes", stats.log_written_bytes);
  report->set("checkpoints", stats.checkpoints);
  report->set("checkpoint_ms_max", static_cast<double>(stats.checkpoint_us_max) / 1e3);
  report->set("resident_mib", mebibytes(stats.resident_bytes));
}

double per_second(uint64_t jobs, double seconds) {
  return static_cast<double>(jobs) / seconds;
}

}  // namespace

void report_lives(const std::string& system, const QueueSettings& queue,
                  const LifeSettings& lives) {
  const std::unique_ptr<QueueUnderTest> under_test = open_queue(system, queue);
  const LifeFigures figures = run_lives(*under_test, lives);
  Report report(lives.enqueue_only ? "enqueue" : "life");
  report.set("system", system);
  report.set("note", under_test->note());
  report.set("durability", std::string(durability_name(queue.durability)));
  report.set("lease_durability", std::string(durability_name(queue.lease_durability)));
  report.set("batch", static_cast<uint64_t>(lives.batch));
  report.set("callers", static_cast<uint64_t>(lives.callers));
  report.set("backlog", lives.backlog);
  report.set("jobs", figures.jobs);
  report.set("seconds", figures.seconds);
  report.set("jobs_per_second", per_second(figures.jobs, figures.seconds));
  report.set("cpu_us_per_job", figures.cpu_seconds * 1e6 / static_cast<double>(figures.jobs));
  report.set("device_bytes_per_job",
             static_cast<double>(figures.device_write_bytes) / static_cast<double>(figures.jobs));
  report.set_latency("enqueue", figures.enqueue);
  report.set_latency("lease", figures.lease);
  report.set_latency("ack", figures.ack);
  set_memory("end", &report);
  under_test->close();
  report.print();
}

void report_raw(const RawSettings& settings) {
  const RawFigures figures = run_raw_writes(settings);
  Report report("raw");
  report.set("system", std::string(settings.direct ? "raw direct" : "raw buffered"));
  report.set("durability", std::string("power"));
  report.set("jobs_per_second", per_second(figures.writes, figures.seconds));
  report.set_latency("enqueue", figures.times);
  report.print();
}

void report_pipelined(const PipelineSettings& settings) {
  const Traits traits = parse_traits(settings.traits);
  WqStore store(settings.directory + "/store", traits);
  LifeSettings limits;
  Ledger ledger(limits.jobs_max);
  Pipeline pipeline(store, settings.durability, settings.batch, settings.jobs_in_flight_max,
                    traits);
  pipeline.run_lives(ledger, settings.warmup_seconds);
  const uint64_t cpu_start = cpu_ns();
  const uint64_t device_start = device_write_bytes(settings.directory);
  const uint64_t start = now_ns();
  const uint64_t jobs = pipeline.run_lives(ledger, settings.seconds);
  const double seconds = static_cast<double>(now_ns() - start) / ns_per_second;
  const double cpu_seconds = static_cast<double>(cpu_ns() - cpu_start) / ns_per_second;
  const uint64_t device_bytes = device_write_bytes(settings.directory) - device_start;
  ledger.finish("pipelined");
  store.expect_empty("pipelined");

  Report report("pipelined");
  report.set("system", std::string("wq"));
  report.set("durability", std::string(durability_name(settings.durability)));
  report.set("batch", static_cast<uint64_t>(settings.batch));
  report.set("traits", settings.traits);
  report.set("jobs_in_flight_max", static_cast<uint64_t>(settings.jobs_in_flight_max));
  report.set("jobs", jobs);
  report.set("seconds", seconds);
  report.set("jobs_per_second", per_second(jobs, seconds));
  report.set("cpu_us_per_job", cpu_seconds * 1e6 / static_cast<double>(jobs));
  report.set("device_bytes_per_job", static_cast<double>(device_bytes) / static_cast<double>(jobs));
  set_memory("end", &report);
  set_store(store, &report);
  report.print();
}

void report_fill(const std::string& directory, uint64_t jobs, bool hold) {
  WqStore store(directory + "/store");
  Ledger ledger(jobs);
  Pipeline pipeline(store, Durability::power, fill_batch, fill_in_flight_max);
  const uint64_t start = now_ns();
  pipeline.fill(ledger, jobs);
  const double seconds = static_cast<double>(now_ns() - start) / ns_per_second;
  if (store.queue_stats().ready != jobs) fail("fill: not all jobs are ready");

  Report report("fill");
  report.set("jobs", jobs);
  report.set("seconds", seconds);
  report.set("jobs_per_second", per_second(jobs, seconds));
  set_memory("fill", &report);
  set_store(store, &report);
  report.print();
  while (hold) pause();
}

namespace {

// Lease latency on a queue with a few thousand jobs in memory, leased and acked as in the drain.
void sample_short_queue(const WqStore& store, size_t batch, LatencySampler* times) {
  Ledger ledger(short_queue_rounds * short_queue_jobs);
  Pipeline pipeline(store, Durability::power, batch, drain_in_flight_max);
  for (uint64_t round = 0; round < short_queue_rounds; round++) {
    pipeline.fill(ledger, short_queue_jobs);
    pipeline.drain(ledger, short_queue_jobs, times);
  }
  ledger.finish("short queue");
}

void drain_and_report(const WqStore& store, uint64_t jobs, size_t batch, LatencySampler* times,
                      Report* report) {
  Ledger ledger(jobs);
  ledger.issue(jobs);
  Pipeline pipeline(store, Durability::power, batch, drain_in_flight_max);
  const uint64_t start = now_ns();
  const uint64_t done = pipeline.drain(ledger, jobs, times);
  const double seconds = static_cast<double>(now_ns() - start) / ns_per_second;
  ledger.finish("drain");
  if (done != jobs) fail("drain: " + std::to_string(done) + " jobs were acked");
  set_memory("drain", report);
  store.expect_empty("drain");
  report->set("drain_seconds", seconds);
  report->set("drain_jobs_per_second", per_second(jobs, seconds));
  report->set_latency("drain_lease", *times);
}

}  // namespace

void report_drain(const std::string& directory, uint64_t jobs, size_t batch) {
  Report report("drain");
  const uint64_t start = now_ns();
  WqStore store(directory + "/store");
  const uint64_t opened = now_ns();
  if (store.queue_stats().ready != jobs) {
    fail("after the kill " + std::to_string(store.queue_stats().ready) + " jobs are ready of " +
         std::to_string(jobs));
  }
  const wq_recovery recovery = store.recovery();
  report.set("jobs", jobs);
  report.set("batch", static_cast<uint64_t>(batch));
  report.set("open_ms", static_cast<double>(opened - start) / 1e6);
  report.set("replay_ms", static_cast<uint64_t>(recovery.replay_ms));
  report.set("records_replayed", recovery.records_replayed);
  set_memory("open", &report);

  WqStore fresh(directory + "/fresh");
  LatencySampler short_queue;
  LatencySampler drain;
  sample_short_queue(fresh, batch, &short_queue);
  drain_and_report(store, jobs, batch, &drain, &report);
  sample_short_queue(fresh, batch, &short_queue);
  report.set_latency("short_lease", short_queue);
  report.set("lease_p99_ratio", drain.percentile_us(0.99) / short_queue.percentile_us(0.99));
  compare_heads(fresh, store, &report);
  set_store(store, &report);
  report.print();
}

void report_head(const std::string& directory, uint64_t jobs) {
  WqStore fresh(directory + "/fresh");
  WqStore worn(directory + "/worn");
  const uint64_t start = now_ns();
  wear_out(worn, jobs);
  const double seconds = static_cast<double>(now_ns() - start) / ns_per_second;
  Report report("head");
  report.set("jobs", jobs);
  report.set("wear_jobs_per_second", per_second(jobs, seconds));
  compare_heads(fresh, worn, &report);
  worn.expect_empty("head");
  set_memory("end", &report);
  set_store(worn, &report);
  report.print();
}

void report_wake(const std::string& directory, size_t samples) {
  WqStore store(directory + "/store");
  const LatencySampler times = measure_wake_ups(store, samples);
  store.expect_empty("wake");
  const LatencySampler raw_times = measure_raw_wake_ups(samples);
  Report report("wake");
  report.set_latency("wake", times);
  report.set_latency("raw_wake", raw_times);
  report.set("wake_p50_ratio", times.percentile_us(0.5) / raw_times.percentile_us(0.5));
  report.print();
}

}  // namespace wq::bench
