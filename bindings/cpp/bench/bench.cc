// bench: the whole life of jobs (enqueue, lease, ack) through wq.hpp, to be compared with that of
// bench/bindings/life.c by bench/run.sh BUILD_DIR --bindings.
//
//   bench LEVEL BATCH JOBS DIRECTORY      one line of JSON; LEVEL: memory or power
//
// 32 changes may be under way in the completion queue; leases are at the memory level. Exit 1 if
// not every job was delivered with its payload and acked once.
#include <cstdio>
#include <deque>
#include <string>
#include <vector>
#include <wq.hpp>

namespace {

constexpr std::size_t under_way_max = 32;
constexpr std::size_t payload_bytes = 100;

// Changes under way, the oldest first.
template <typename T>
class Window {
 public:
  void add(wq::Pending<T> pending) {
    pending_.push_back(std::move(pending));
    if (pending_.size() >= under_way_max / 2) take();
  }
  void finish() {
    while (!pending_.empty()) take();
  }

 private:
  static void check(const wq::Result<wq::Outcome>& result) {
    if (result.value() != wq::Outcome::ok) std::abort();
  }
  static void check(const wq::Result<wq::Enqueued>& result) { check(result.value().outcome); }
  static void check(const wq::ManyEnqueued& many) { check(many.result); }
  static void check(const wq::ManySettled& many) { check(many.result); }
  void take() {
    check(pending_.front().wait());
    pending_.pop_front();
  }

  std::deque<wq::Pending<T>> pending_;
};

class Bench {
 public:
  Bench(const wq::Store& store, wq::Durability level, std::size_t batch)
      : completions_(wq::Completions::open(store).value()),
        queue_(store.queue("life").value()),
        level_(level),
        batch_(batch),
        payload_(payload_bytes, 'x'),
        jobs_(batch, {payload_}) {}

  void turn() {
    enqueue();
    const wq::Batch leased =
        queue_.lease({.max_jobs = static_cast<std::uint32_t>(batch_)},
                     {.durability = wq::Durability::memory})
            .value();
    std::vector<wq::Settle> acks;
    for (const wq::Job& job : leased) {
      if (job.payload() != wq::Bytes(payload_)) std::abort();
      acks.push_back(wq::Settle::ack(job.token()));
    }
    delivered_ += acks.size();
    if (batch_ == 1) {
      ack_.add(completions_.ack(leased[0], {}, level_));
    } else {
      settles_.add(completions_.begin(
          [&](const wq::Call& call) { return queue_.settle_many(acks, call); }, level_));
    }
  }
  void finish() {
    enqueue_.finish();
    many_.finish();
    ack_.finish();
    settles_.finish();
  }
  std::size_t delivered() const { return delivered_; }
  std::size_t acked() const { return queue_.stats().value().acked_total; }

 private:
  void enqueue() {
    if (batch_ == 1) {
      enqueue_.add(completions_.enqueue(queue_, payload_, {}, level_));
    } else {
      many_.add(completions_.begin(
          [&](const wq::Call& call) {
            return queue_.enqueue_many(jobs_, wq::EnqueueMode::all_or_none, call);
          },
          level_));
    }
  }

  wq::Completions completions_;
  wq::Queue queue_;
  wq::Durability level_;
  std::size_t batch_;
  std::string payload_;
  std::vector<wq::NewJob> jobs_;
  Window<wq::Result<wq::Enqueued>> enqueue_;
  Window<wq::ManyEnqueued> many_;
  Window<wq::Result<wq::Outcome>> ack_;
  Window<wq::ManySettled> settles_;
  std::size_t delivered_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: %s memory|power BATCH JOBS DIRECTORY\n", argv[0]);
    return 2;
  }
  const std::string level = argv[1];
  const std::size_t batch = std::stoul(argv[2]);
  const std::size_t jobs = std::stoul(argv[3]) / batch * batch;
  const wq::Store store = wq::Store::open(argv[4]).value();
  Bench bench(store, level == "power" ? wq::Durability::power : wq::Durability::memory, batch);
  const auto start = std::chrono::steady_clock::now();
  for (std::size_t made = 0; made < jobs; made += batch) bench.turn();
  bench.finish();
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf(
      "{\"language\": \"cpp\", \"level\": \"%s\", \"batch\": %zu, \"jobs\": %zu, "
      "\"seconds\": %.6f, \"delivered\": %zu, \"acked\": %zu}\n",
      level.c_str(), batch, jobs, seconds, bench.delivered(), bench.acked());
  return bench.delivered() == jobs && bench.acked() == jobs ? 0 : 1;
}
