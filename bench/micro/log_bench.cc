// The log: what an append costs, and how near a serial durable append comes to the device. The raw
// loop (pwritev2 of 4 KiB with RWF_DSYNC into a zeroed file) and the log take turns operation by
// operation, so that both meet the same state of the machine; `ratio` is raw time over log time,
// the bar is 0.9.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "io/segment_log.h"

namespace wq {
namespace {

constexpr size_t body_bytes = 256;
constexpr size_t raw_file_bytes = size_t{32} << 20;

// A fresh directory below $TMPDIR, which should be on the file system that is of interest.
class Directory {
 public:
  Directory() {
    const char* base = std::getenv("TMPDIR");
    path_ = std::string(base != nullptr ? base : "/tmp") + "/wq_log_bench.XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) std::abort();
  }
  ~Directory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Bench {
  Directory directory;
  std::unique_ptr<Io> io;
  std::unique_ptr<SegmentLog> log;
  std::string body = std::string(body_bytes, 'b');

  bool open(IoBackend backend) {
    auto made = make_io(backend);
    if (!made.ok()) return false;
    io = std::move(made).value();
    LogOptions options;
    options.directory = directory.path();
    auto opened = SegmentLog::open(*io, system_clock(), options);
    if (!opened.ok()) return false;
    log = std::move(opened).value();
    prepare_spares();
    return true;
  }
  // Spares are made outside of what is timed, as maintenance does it.
  void prepare_spares() {
    log->trim(log->durable_lsn() + 1).ignore("a benchmark");
    while (true) {
      const auto more = log->prepare_spares();
      if (!more.ok() || !more.value()) break;
    }
  }
  Lsn append() { return log->append(as_bytes(body)).value(); }
};

class RawFile {
 public:
  explicit RawFile(const std::string& path) : block_(4096, 'r') {
    fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    const std::vector<char> zeros(raw_file_bytes);
    if (fd_ < 0 || ::pwrite(fd_, zeros.data(), zeros.size(), 0) != ssize_t{raw_file_bytes} ||
        ::fsync(fd_) != 0) {
      std::abort();
    }
  }
  ~RawFile() { ::close(fd_); }
  void write_block() {
    const iovec part{block_.data(), block_.size()};
    if (::pwritev2(fd_, &part, 1, offset_, RWF_DSYNC) != ssize_t{4096}) std::abort();
    offset_ = (offset_ + 4096) % off_t{raw_file_bytes};
  }

 private:
  int fd_ = -1;
  off_t offset_ = 0;
  std::vector<char> block_;
};

double median_us(std::vector<int64_t>& samples_ns) {
  if (samples_ns.empty()) return 0;
  const auto middle = samples_ns.begin() + static_cast<ptrdiff_t>(samples_ns.size() / 2);
  std::nth_element(samples_ns.begin(), middle, samples_ns.end());
  return static_cast<double>(*middle) / 1000;
}

IoBackend backend_of(const benchmark::State& state) {
  return state.range(0) == 0 ? IoBackend::thread : IoBackend::uring;
}

void serial_power_against_raw(benchmark::State& state) {
  Bench bench;
  if (!bench.open(backend_of(state))) return state.SkipWithError("no such backend here");
  RawFile raw(bench.directory.path() + "/raw");
  Clock& clock = system_clock();
  std::vector<int64_t> raw_ns;
  std::vector<int64_t> log_ns;
  const auto time = [&](std::vector<int64_t>& samples, const auto& work) {
    const int64_t from = clock.mono_ns();
    work();
    samples.push_back(clock.mono_ns() - from);
  };
  const auto raw_step = [&] { raw.write_block(); };
  const auto log_step = [&] {
    if (!bench.log->wait(bench.append(), Durability::power).ok()) std::abort();
  };
  bool raw_first = false;
  for (auto _ : state) {
    raw_first = !raw_first;
    if (raw_first) time(raw_ns, raw_step);
    time(log_ns, log_step);
    if (!raw_first) time(raw_ns, raw_step);
    if (log_ns.size() % 4000 == 0) {
      state.PauseTiming();
      bench.prepare_spares();
      state.ResumeTiming();
    }
  }
  const double raw_us = median_us(raw_ns);
  const double log_us = median_us(log_ns);
  state.counters["raw_p50_us"] = raw_us;
  state.counters["log_p50_us"] = log_us;
  state.counters["ratio"] = raw_us / log_us;
}

// The buffer is drained every 1,000 records, outside of the time taken.
void append_only(benchmark::State& state) {
  Bench bench;
  if (!bench.open(IoBackend::thread)) return state.SkipWithError("can not open a log");
  constexpr int batch = 1000;
  Clock& clock = system_clock();
  Lsn last = 0;
  for (auto _ : state) {
    const int64_t from = clock.mono_ns();
    for (int i = 0; i < batch; ++i) last = bench.append();
    state.SetIterationTime(static_cast<double>(clock.mono_ns() - from) * 1e-9);
    if (!bench.log->wait(last, Durability::process).ok()) std::abort();
    if (last % 100'000 == 0) {
      if (!bench.log->wait(last, Durability::power).ok()) std::abort();
      bench.prepare_spares();
    }
  }
  state.SetItemsProcessed(state.iterations() * batch);
}

// One thread appends as fast as it may, another one flushes: records per second that become
// durable.
void pipelined_power(benchmark::State& state) {
  Bench bench;
  if (!bench.open(backend_of(state))) return state.SkipWithError("no such backend here");
  std::atomic<bool> stop{false};
  std::thread flusher([&] {
    while (!stop.load()) bench.log->run_flusher(100).ignore("checked by wait()");
  });
  std::thread maintenance([&] {
    while (!stop.load()) {
      bench.log->trim(bench.log->durable_lsn()).ignore("a benchmark");
      const auto more = bench.log->prepare_spares();
      if (!more.ok() || !more.value())
        bench.log->wait(bench.log->last_lsn(), Durability::power, 50).ignore("paces the loop");
    }
  });
  constexpr int batch = 10'000;
  for (auto _ : state) {
    Lsn last = 0;
    for (int i = 0; i < batch; ++i) {
      if (!bench.log->wait_for_room().ok()) std::abort();
      last = bench.append();
      if (i % 100 == 0) bench.log->request(last, Durability::power);
    }
    if (!bench.log->wait(last, Durability::power).ok()) std::abort();
  }
  stop = true;
  flusher.join();
  maintenance.join();
  const LogStats stats = bench.log->stats();
  state.SetItemsProcessed(state.iterations() * batch);
  state.counters["records_per_flush"] =
      static_cast<double>(stats.appended_records) / static_cast<double>(stats.flushes);
}

// Each thread appends one record and waits for it: what group commit makes of that.
void many_waiters(benchmark::State& state) {
  Bench bench;
  if (!bench.open(IoBackend::automatic)) return state.SkipWithError("can not open a log");
  const auto threads = static_cast<int>(state.range(0));
  constexpr int records = 200;
  Mutex mutex;
  for (auto _ : state) {
    std::vector<std::thread> workers;
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back([&] {
        for (int i = 0; i < records; ++i) {
          mutex.lock();
          const Lsn lsn = bench.append();
          mutex.unlock();
          if (!bench.log->wait(lsn, Durability::power).ok()) std::abort();
        }
      });
    }
    for (std::thread& worker : workers) worker.join();
    state.PauseTiming();
    bench.prepare_spares();
    state.ResumeTiming();
  }
  const LogStats stats = bench.log->stats();
  state.SetItemsProcessed(state.iterations() * threads * records);
  state.counters["records_per_flush"] =
      static_cast<double>(stats.appended_records) / static_cast<double>(stats.flushes);
}

BENCHMARK(append_only)->UseManualTime();
BENCHMARK(serial_power_against_raw)
    ->ArgName("uring")
    ->Arg(0)
    ->Arg(1)
    ->Iterations(2000)
    ->UseRealTime();
BENCHMARK(pipelined_power)->ArgName("uring")->Arg(0)->Arg(1)->UseRealTime();
BENCHMARK(many_waiters)->ArgName("threads")->Arg(2)->Arg(16)->Arg(64)->UseRealTime();

}  // namespace
}  // namespace wq
