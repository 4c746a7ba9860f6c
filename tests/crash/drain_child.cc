// The process of drain_test: producers and consumers on one store over the C interface, whose wall
// clock the test steps (stepped_clock.cc).
//   drain_child DIRECTORY BACKEND SEED FIRST_NUMBER run|drain
// Tells its pipe, one write per line, times by the clock that only grows:
//   Y                                   it is open, the work begins
//   E op now number                     about to enqueue        e op now code id
//   L op now lease_ms                   about to lease          l op now code (number id gen)...
//   A op now id gen, N op now id gen    about to ack, to nack   a op now code
//   ! text                              something that must not happen
//   T total                             jobs that are left at the end
#include <sys/prctl.h>
#include <wq.h>

#include <csignal>
#include <cstdlib>
#include <thread>

#include "base/prng.h"
#include "crash/child.h"

namespace wq::crash {
namespace {

constexpr uint32_t drain_queues = 3;
constexpr int64_t drain_limit_ms = 60'000;

int64_t mono_ms() {
  timespec ts{};
  clock_gettime(CLOCK_MONOTONIC, &ts);
  return static_cast<int64_t>(ts.tv_sec) * 1'000 + ts.tv_nsec / 1'000'000;
}

Line line_of(const char* head, uint64_t op) {
  return Line(head).add(op).add(mono_ms());
}

class Hand {
 public:
  Hand(Shared& shared, uint64_t seed) : shared_(shared), prng_(seed) {}

  void produce() {
    if (shared_.live > 150) return consume();
    const uint64_t number = shared_.next_number++;
    const uint64_t op = shared_.next_op++;
    const std::string payload = payload_of(number);
    wq_job_spec spec = WQ_JOB_SPEC_INIT;
    spec.payload = bytes_of(payload);
    if (prng_.below(4) == 0) spec.delay_ms = 1 + static_cast<int64_t>(prng_.below(30));
    line_of("E", op).add(number).send();
    wq_call call = call_at(prng_.below(4) == 0 ? WQ_POWER : WQ_PROCESS);
    wq_enqueued out = WQ_ENQUEUED_INIT;
    wq_error err = WQ_ERROR_INIT;
    const int32_t code = wq_enqueue(queue(), &spec, &call, &out, &err);
    if (code != WQ_OK) complain("enqueue", code, err);
    line_of("e", op).add(code).add(out.job_id).send();
    ++shared_.live;
  }

  void consume() {
    const uint64_t op = shared_.next_op++;
    wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
    options.max_jobs = 1 + static_cast<uint32_t>(prng_.below(3));
    options.lease_ms = 10 + static_cast<int64_t>(prng_.below(60));
    options.wait_ms = 5;
    line_of("L", op).add(options.lease_ms).send();
    wq_call call = call_at(WQ_PROCESS);
    wq_error err = WQ_ERROR_INIT;
    wq_batch* batch = nullptr;
    const int32_t code = wq_lease(shared_.store, shared_.queues, drain_queues, &options, nullptr,
                                  &call, &batch, &err);
    if (code != WQ_OK && code != WQ_EMPTY) complain("lease", code, err);
    Line answer = line_of("l", op).add(code);
    std::vector<Token> tokens;
    for (size_t i = 0; i < wq_batch_count(batch); ++i) {
      wq_job job = WQ_JOB_INIT;
      wq_batch_job(batch, i, &job);
      const std::string_view payload = view(job.payload);
      const uint64_t number = number_of(payload);
      if (payload != payload_of(number)) Line("!").word("payload of").add(number).send();
      answer.add(number).add(job.id).add(job.generation);
      tokens.push_back({job.queue_index, job.id, job.generation});
    }
    answer.send();
    wq_batch_free(&batch);
    for (const Token& token : tokens) settle(token);
  }

 private:
  wq_queue* queue() { return shared_.queues[prng_.below(drain_queues)]; }

  void settle(const Token& token) {
    const uint64_t dice = prng_.below(10);
    if (dice == 0) return;  // the lease runs out
    const bool ack = dice > 1;
    const uint64_t op = shared_.next_op++;
    line_of(ack ? "A" : "N", op).add(token.id).add(token.generation).send();
    wq_call call = call_at(WQ_PROCESS);
    wq_error err = WQ_ERROR_INIT;
    wq_queue* const queue = shared_.queues[token.queue];
    const int32_t code = ack ? wq_ack(queue, token.id, token.generation, &call, &err)
                             : wq_nack(queue, token.id, token.generation, nullptr, &call, &err);
    if (code < 0 && code != WQ_E_NOT_FOUND) complain("settle", code, err);
    line_of("a", op).add(code).send();
    if (ack && code == WQ_OK) --shared_.live;
  }

  Shared& shared_;
  Prng prng_;
};

bool open_all(const char* directory, uint32_t backend, Shared& shared) {
  wq_store_options options = WQ_STORE_OPTIONS_INIT;
  options.io_backend = backend;
  options.spare_segments = 1;
  options.memory_budget_bytes = 1u << 20;
  options.segment_bytes = 16u << 10;
  options.checkpoint_log_bytes = 64u << 10;
  options.disk_reserve_bytes = 1u << 20;
  wq_error err = WQ_ERROR_INIT;
  bool open = wq_store_open(directory, &options, &shared.store, &err) == WQ_OK;
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  config.fields = WQ_CONFIG_MAX_RETRIES;
  config.max_retries = 1'000'000;  // what is lost is lost, and not dead
  for (uint32_t i = 0; open && i < drain_queues; ++i) {
    const std::string name = queue_name(i);
    open = wq_queue_open(shared.store, name.data(), name.size(), &config, 0, &shared.queues[i],
                         &err) == WQ_OK;
  }
  if (!open) complain("open", err.code, err);
  return open;
}

int64_t total_jobs(const Shared& shared) {
  wq_store_stats stats = WQ_STORE_STATS_INIT;
  wq_store_get_stats(shared.store, &stats, nullptr);
  return static_cast<int64_t>(stats.ready + stats.delayed + stats.leased + stats.running +
                              stats.dead);
}

int run(char** argv) {
  Shared shared;
  const uint64_t seed = std::strtoull(argv[3], nullptr, 10);
  shared.next_number = std::strtoull(argv[4], nullptr, 10);
  if (!open_all(argv[1], static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10)), shared)) {
    return 1;
  }
  shared.live = total_jobs(shared);
  Line("Y").send();
  if (std::string_view(argv[5]) == "drain") {
    Hand hand(shared, seed);
    const int64_t limit_ms = mono_ms() + drain_limit_ms;
    while (total_jobs(shared) > 0 && mono_ms() < limit_ms) hand.consume();
    wq_verify_report report = WQ_VERIFY_REPORT_INIT;
    wq_error err = WQ_ERROR_INIT;
    const int32_t code = wq_store_verify(shared.store, &report, &err);
    if (code != WQ_OK) complain("verify", code, err);
    Line("T").add(total_jobs(shared)).send();
    for (wq_queue*& queue : shared.queues) wq_queue_close(&queue);
    wq_store_close(&shared.store);
    return 0;
  }
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 5; ++i) {
    threads.emplace_back([&shared, seed, i] {
      Hand hand(shared, seed + i);
      for (;;) i < 2 ? hand.produce() : hand.consume();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}

}  // namespace
}  // namespace wq::crash

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  return wq::crash::run(argv);
}
