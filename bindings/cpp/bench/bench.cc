// bench: what wq.hpp costs over the C interface, and jobs per second.
//
//   bench DIRECTORY [SECONDS]      one line of JSON; each part runs for about SECONDS (1)
//
// "over_c_ns": ns per enqueue at the memory level through wq.hpp less those through wq.h.
// "jobs_per_s": full life (enqueue_many, lease and settle_many of 100) at the memory and the power
// level, with as many batches under way as fit. Counts are checked: delivered == enqueued.
#include <cstdio>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>
#include <wq.hpp>

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t batch_size = 100;
constexpr std::size_t batches_under_way = 32;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// ns per call of f, called in blocks for at least `seconds`.
template <typename F>
double ns_per_call(double seconds, F f) {
  const Clock::time_point begin = Clock::now();
  std::uint64_t calls = 0;
  for (; seconds_since(begin) < seconds; calls += 1000) {
    for (int i = 0; i < 1000; i++) f();
  }
  return seconds_since(begin) * 1e9 / static_cast<double>(calls);
}

double ns_of_c(const wq::Queue& queue, double seconds) {
  wq_queue* raw = queue.handle()->raw.load();
  return ns_per_call(seconds, [&] {
    wq_error err = WQ_ERROR_INIT;
    wq_call call = WQ_CALL_INIT;
    call.durability = WQ_MEMORY;
    wq_job_spec spec = WQ_JOB_SPEC_INIT;
    spec.payload = {"0123456789abcdef", 16};
    wq_enqueued out = WQ_ENQUEUED_INIT;
    if (wq_enqueue(raw, &spec, &call, &out, &err) != WQ_OK) std::abort();
  });
}

double ns_of_cpp(const wq::Queue& queue, double seconds) {
  return ns_per_call(seconds, [&] {
    queue.enqueue("0123456789abcdef", {}, {.durability = wq::Durability::memory}).value();
  });
}

// Jobs per second of full lives, pipelined.
double jobs_per_second(const wq::Store& store, const wq::Queue& queue, wq::Durability level,
                       double seconds) {
  const wq::Completions completions = wq::Completions::open(store).value();
  const std::vector<wq::NewJob> jobs(batch_size, {"0123456789abcdef"});
  std::deque<wq::Pending<wq::ManySettled>> settles;
  std::uint64_t enqueued = 0;
  std::uint64_t delivered = 0;
  const Clock::time_point begin = Clock::now();
  while (seconds_since(begin) < seconds || delivered < enqueued) {
    if (seconds_since(begin) < seconds) {
      auto put = completions.begin(
          [&](const wq::Call& call) {
            return queue.enqueue_many(jobs, wq::EnqueueMode::all_or_none, call);
          },
          level);
      enqueued += batch_size;
    }
    const wq::Batch batch =
        queue.lease({.max_jobs = batch_size}, {.durability = wq::Durability::memory}).value();
    std::vector<wq::Settle> acks;
    for (const wq::Job& job : batch) acks.push_back(wq::Settle::ack(job.token()));
    delivered += acks.size();
    settles.push_back(completions.begin(
        [&](const wq::Call& call) { return queue.settle_many(acks, call); }, level));
    if (settles.size() >= batches_under_way) {
      settles.front().wait().result.value();
      settles.pop_front();
    }
  }
  for (auto& settle : settles) settle.wait().result.value();
  const double rate = static_cast<double>(delivered) / seconds_since(begin);
  if (delivered != enqueued) std::abort();
  return rate;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s DIRECTORY [SECONDS]\n", argv[0]);
    return 2;
  }
  const double seconds = argc > 2 ? std::stod(argv[2]) : 1;
  const std::string path = std::string(argv[1]) + "/bench-store";
  std::filesystem::remove_all(path);
  {
    const wq::Store store = wq::Store::open(path).value();
    const wq::Queue queue = store.queue("calls").value();
    (void)ns_of_c(queue, seconds / 4);
    const double c_ns = ns_of_c(queue, seconds);
    const double cpp_ns = ns_of_cpp(queue, seconds);
    const wq::Queue lives = store.queue("lives").value();
    const double memory = jobs_per_second(store, lives, wq::Durability::memory, seconds);
    const double power = jobs_per_second(store, lives, wq::Durability::power, seconds);
    std::printf(
        "{\"binding\": \"cpp\", \"c_ns\": %.0f, \"binding_ns\": %.0f, \"over_c_ns\": %.0f, "
        "\"batch\": %zu, \"jobs_per_s_memory\": %.0f, \"jobs_per_s_power\": %.0f}\n",
        c_ns, cpp_ns, cpp_ns - c_ns, batch_size, memory, power);
  }
  std::filesystem::remove_all(path);
  return 0;
}
