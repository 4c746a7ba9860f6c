// The RocksDB store: checkpoints of fresh jobs by either road (their crossing is the cut-over of
// docs/design/0002-checkpoint-cutover.md), a steady FIFO life, and the drain of a cold backlog.
// Time is wall time; CPU counts all threads, so that compaction shows.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "base/prng.h"
#include "engine/keys.h"
#include "engine/record.h"
#include "engine/store.h"

namespace wq {
namespace {

constexpr QueueId queue = 1;
constexpr uint64_t by_batch = 1;
constexpr uint64_t by_files = uint64_t{1} << 32;

// A store in a directory of its own and the jobs that go into it: ids, seqs and payloads of 256
// random bytes, which do not compress.
class Bench {
 public:
  Bench() : noise_(1 << 20, '\0') {
    Prng prng(1);
    for (char& c : noise_) c = static_cast<char>(prng.next());
    directory_ = std::filesystem::temp_directory_path() / "wq-store-bench";
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
    StoreOptions options;
    options.directory = (directory_ / "db").string();
    options.temp_directory = (directory_ / "tmp").string();
    store_ = require(open_rocks_store(options));
  }
  ~Bench() {
    store_.reset();
    std::filesystem::remove_all(directory_);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  Store& store() { return *store_; }
  JobId next_id() const { return next_id_; }

  // One checkpoint: `fresh` new jobs at the tail, `erased` old ones gone from the head.
  void checkpoint(uint64_t fresh, uint64_t erased, uint64_t road) {
    const auto changes = require(store_->begin_checkpoint(road));
    const JobId head_end = head_ + erased;
    const JobId tail_end = next_id_ + fresh;
    if (erased != 0) {
      check(changes->erase_range(Family::job, job_body_key(head_), job_body_key(head_end)));
    }
    for (JobId id = next_id_; id < tail_end; ++id) {
      check(changes->put(Family::job, job_body_key(id), body_row(id)));
    }
    if (erased != 0) {
      check(changes->erase_range(Family::ready, ready_key(queue, 100, head_),
                                 ready_key(queue, 100, head_end)));
    }
    for (JobId id = next_id_; id < tail_end; ++id) {
      check(changes->put(Family::ready, ready_key(queue, 100, id), id_value(id)));
    }
    MetaRow meta;
    meta.applied_lsn = tail_end;
    check(changes->put(Family::meta, meta_row_key(), as_text(encoder_.meta_row(meta))));
    check(changes->commit());
    head_ = head_end;
    next_id_ = tail_end;
  }

  // Walks the backlog as a refill does: ready rows in FIFO order, the bodies beside them.
  uint64_t drain() {
    const auto ready = store_->scan(Family::ready, ready_key(queue, 0, 0), "");
    const auto jobs = store_->scan(Family::job, job_body_key(0), "");
    uint64_t count = 0;
    for (; ready->valid(); ready->next(), jobs->next(), ++count) {
      const auto id = parse_id_value(ready->value());
      while (jobs->valid() && parse_job_key(jobs->key())->id != id) jobs->next();
      if (!decode_job_row(as_bytes(jobs->value())).ok()) std::abort();
    }
    check(ready->status());
    check(jobs->status());
    return count;
  }

 private:
  static void check(const Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "store_bench: %s\n", status.message().c_str());
    std::abort();
  }
  template <typename T>
  static T require(Result<T> result) {
    check(result.status());
    return std::move(result).value();
  }
  std::string_view body_row(JobId id) {
    const std::string_view payload =
        std::string_view(noise_).substr((id * 257) % (noise_.size() - 256), 256);
    const Bytes envelope = encoder_.envelope({}, as_bytes(payload), Backoff(), 1'700'000'000'000);
    JobRow row{.queue = queue, .state = JobState::ready};
    row.position = id;
    row.since_ms = 1'700'000'000'000;
    return as_text(encoder_.job_row(row, envelope));
  }

  std::string noise_;
  std::filesystem::path directory_;
  std::unique_ptr<Store> store_;
  Encoder encoder_;
  JobId head_ = 1;
  JobId next_id_ = 1;
};

void report(benchmark::State& state, Bench& bench, int64_t rows) {
  state.SetItemsProcessed(state.iterations() * rows);
  const StoreStats stats = bench.store().stats();
  state.counters["files"] = static_cast<double>(stats.files);
  state.counters["disk_MB"] = static_cast<double>(stats.file_bytes) / 1e6;
  state.counters["memory_MB"] = static_cast<double>(stats.memory_bytes) / 1e6;
}

// Each job is two rows; the argument counts rows.
void fresh_rows(benchmark::State& state, uint64_t road) {
  Bench bench;
  const auto jobs = static_cast<uint64_t>(state.range(0)) / 2;
  for (auto _ : state) bench.checkpoint(jobs, 0, road);
  report(state, bench, state.range(0));
}
void fresh_rows_by_batch(benchmark::State& state) {
  fresh_rows(state, by_batch);
}
void fresh_rows_by_files(benchmark::State& state) {
  fresh_rows(state, by_files);
}

// A backlog of 200,000 jobs that moves on: as many are erased as come.
void steady_fifo(benchmark::State& state, uint64_t road) {
  Bench bench;
  const auto jobs = static_cast<uint64_t>(state.range(0)) / 2;
  bench.checkpoint(200'000, 0, by_files);
  for (auto _ : state) bench.checkpoint(jobs, jobs, road);
  report(state, bench, state.range(0));
}
void steady_fifo_by_batch(benchmark::State& state) {
  steady_fifo(state, by_batch);
}
void steady_fifo_by_files(benchmark::State& state) {
  steady_fifo(state, by_files);
}

void cutover_sizes(benchmark::internal::Benchmark* benchmark) {
  for (const int64_t rows : {20, 200, 1'000, 2'000, 4'000, 8'000, 16'000, 32'000}) {
    benchmark->Arg(rows);
  }
  benchmark->Unit(benchmark::kMillisecond)->UseRealTime()->MeasureProcessCPUTime();
  benchmark->Iterations(200);
}
BENCHMARK(fresh_rows_by_batch)->Apply(cutover_sizes);
BENCHMARK(fresh_rows_by_files)->Apply(cutover_sizes);
BENCHMARK(steady_fifo_by_batch)->Apply(cutover_sizes);
BENCHMARK(steady_fifo_by_files)->Apply(cutover_sizes);

// 200,000 jobs at once, as under a full memory budget.
void large_checkpoint(benchmark::State& state) {
  Bench bench;
  for (auto _ : state) bench.checkpoint(200'000, 0, by_files);
  report(state, bench, 200'000);
}
BENCHMARK(large_checkpoint)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime()
    ->MeasureProcessCPUTime()
    ->Iterations(10);

void drain_cold_backlog(benchmark::State& state) {
  Bench bench;
  for (int i = 0; i < 5; ++i) bench.checkpoint(200'000, 0, by_files);
  uint64_t drained = 0;
  for (auto _ : state) drained += bench.drain();
  state.SetItemsProcessed(static_cast<int64_t>(drained));
}
BENCHMARK(drain_cold_backlog)->Unit(benchmark::kMillisecond)->UseRealTime()->Iterations(3);

}  // namespace
}  // namespace wq
