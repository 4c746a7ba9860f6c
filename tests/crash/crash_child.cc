// The process that crash_test kills. Works on the store of argv with four threads over the C
// interface, and tells its pipe what it is about to do and what came back (protocol.h).
//   crash_child DIRECTORY BACKEND SEED FIRST_NUMBER KNOWN_JOBS run|drain
// KNOWN_JOBS is a file of lines "queue number id": what became of them is told before the work.
// KNOWN_JOBS.ledger is the same for the ledger (child_ledger.h).
#include <sys/prctl.h>
#include <wq.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "crash/child.h"
#include "crash/child_ledger.h"
#include "crash/child_worker.h"

namespace wq::crash {
namespace {

constexpr int64_t drain_limit_ms = 60'000;

}  // namespace

bool open_queue(Shared& shared, uint32_t index, wq_error* err) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_MAX_RETRIES | WQ_CONFIG_BACKOFF;
  config.max_retries = index < numbered_queues ? index * 3 : 1'000'000;
  if (index == 1) {
    config.backoff_kind = WQ_BACKOFF_FIXED;
    config.backoff_base_ms = 2;
  }
  if (index == sealed_queue) {
    config.fields |= WQ_CONFIG_ENCRYPT;
    config.encrypt = 1;
  }
  const std::string name = queue_name(index);
  return wq_queue_open(shared.store, name.data(), name.size(), &config, 0, &shared.queues[index],
                       err) == WQ_OK;
}

namespace {

bool open_store(const char* directory, uint32_t backend, Shared& shared) {
  Line("O").send();
  wq_store_options options = WQ_STORE_OPTIONS_INIT;
  options.io_backend = backend;
  options.spare_segments = 1;
  options.memory_budget_bytes = 1u << 20;
  options.segment_bytes = 16u << 10;
  options.checkpoint_log_bytes = 32u << 10;
  options.disk_reserve_bytes = 1u << 20;
  const std::string bytes(32, 'k');
  const wq_key key = {1, 0, bytes_of(bytes)};
  options.keys = &key;
  options.keys_count = 1;
  options.current_key = key.id;
  wq_error err = WQ_ERROR_INIT;
  bool open = wq_store_open(directory, &options, &shared.store, &err) == WQ_OK;
  for (uint32_t i = 0; open && i < queue_count; ++i) open = open_queue(shared, i, &err);
  if (!open) {
    complain("open", err.code, err);
    return false;
  }
  wq_recovery recovery = WQ_RECOVERY_INIT;
  wq_store_get_recovery(shared.store, &recovery, nullptr);
  Line("G").add(recovery.clean).add(recovery.records_replayed).add(recovery.truncated_bytes).send();
  return true;
}

int64_t total_jobs(const Shared& shared) {
  wq_store_stats stats = WQ_STORE_STATS_INIT;
  wq_store_get_stats(shared.store, &stats, nullptr);
  return static_cast<int64_t>(stats.ready + stats.delayed + stats.leased + stats.running +
                              stats.dead);
}

// Of the queues with numbers.
int64_t numbered_jobs(const Shared& shared) {
  uint64_t jobs = 0;
  for (uint32_t index = 0; index < numbered_queues; ++index) {
    wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
    wq_queue_get_stats(shared.queues[index], &stats, nullptr);
    jobs += stats.ready + stats.delayed + stats.leased + stats.running + stats.dead;
  }
  return static_cast<int64_t>(jobs);
}

void tell_keys(const Shared& shared) {
  for (uint64_t key = 0; key < key_count; ++key) {
    const std::string text = "key-" + std::to_string(key);
    uint64_t id = 0;
    wq_error err = WQ_ERROR_INIT;
    const int32_t code =
        wq_key_holder(shared.queues[key_queue], WQ_KEY_UNIQUE, text.data(), text.size(), &id, &err);
    if (code != WQ_OK && code != WQ_E_NOT_FOUND) complain("key_holder", code, err);
    Line("H").add(key).add(id).send();
  }
}

void tell_known_jobs(const char* path, Shared& shared) {
  std::ifstream known(path);
  uint32_t queue = 0;
  uint64_t number = 0;
  uint64_t id = 0;
  while (known >> queue >> number >> id) {
    wq_batch* batch = nullptr;
    wq_error err = WQ_ERROR_INIT;
    const int64_t before_ms = now_ms();
    const int32_t code = wq_job_get(shared.queues[queue], id, &batch, &err);
    if (code != WQ_OK && code != WQ_E_NOT_FOUND) complain("job_get", code, err);
    wq_job job = WQ_JOB_INIT;
    if (code == WQ_OK) wq_batch_job(batch, 0, &job);
    Line line("C");
    line.add(code == WQ_OK ? number_of(view(job.payload)) : number).add(id);
    line.add(code == WQ_OK ? 1 : 0).add(std::max(before_ms, now_ms()));
    line.add(job.state).add(job.attempts).add(job.generation).add(job.deadline_ms);
    line.add(hash_of(view(job.payload))).send();
    // Those of the scratch queue are for the thread that has it.
    if (queue != scratch_queue && (job.state == WQ_STATE_LEASED || job.state == WQ_STATE_RUNNING)) {
      shared.tokens.add({queue, id, job.generation}, number);
    }
    wq_batch_free(&batch);
  }
  tell_keys(shared);
  shared.live = numbered_jobs(shared);
  Line("T").add(shared.live.load()).send();
}

void check_store(const Shared& shared) {
  wq_verify_report report = WQ_VERIFY_REPORT_INIT;
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_store_verify(shared.store, &report, &err);
  if (code != WQ_OK) complain("verify", code, err);
  Line("V").add(report.problems).send();
}

void drain(Shared& shared, Ledger& ledger, uint64_t seed) {
  Worker worker(shared, seed, false);
  const int64_t limit_ms = now_ms() + drain_limit_ms;
  ledger.begin_drain();
  while (total_jobs(shared) > 0 && now_ms() < limit_ms) {
    worker.drain_step();
    ledger.drain_step();
  }
  ledger.tell_flows();
  check_store(shared);
  Line("T").add(total_jobs(shared)).send();
  for (wq_queue*& queue : shared.queues) wq_queue_close(&queue);
  wq_store_close(&shared.store);
  Line("F").send();
}

int run(char** argv) {
  Shared shared;
  const auto backend = static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10));
  const uint64_t seed = std::strtoull(argv[3], nullptr, 10);
  shared.next_number = std::strtoull(argv[4], nullptr, 10);
  if (!open_store(argv[1], backend, shared)) return 1;
  tell_known_jobs(argv[5], shared);
  Ledger ledger(shared, seed + 17, shared.next_number);
  ledger.tell_known(std::string(argv[5]) + ".ledger");
  check_store(shared);
  Line("Y").send();
  if (std::string_view(argv[6]) == "drain") {
    drain(shared, ledger, seed);
    return 0;
  }
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 3; ++i) {
    threads.emplace_back([&shared, seed, i] {
      Worker worker(shared, seed + i, i == 0);
      for (;;) worker.step();
    });
  }
  threads.emplace_back([&ledger] {
    for (;;) ledger.step();
  });
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace
}  // namespace wq::crash

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return wq::crash::run(argv);
}
