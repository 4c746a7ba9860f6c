// wq bench: a quick look at what the disk below a directory gives, through wq.h as any program
// would use it. It works in a store of its own in that directory and removes it. Every job that was
// enqueued must be acked, or the run is an error. The figures are of one run of a few seconds on
// whatever else the machine does; bench/ has the measured ones.
#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>

#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr size_t raw_write_bytes = 4096;
constexpr size_t pipelined_window = 4096;
constexpr uint32_t drain_batch_jobs = 10'000;
constexpr long tmpfs_type = 0x01021994, ramfs_type = static_cast<long>(0x858458f6);

struct Result {
  std::string step;
  uint64_t count = 0;
  double seconds = 0;
};

// The directory of one run; whatever happens, it goes.
class BenchDirectory {
 public:
  explicit BenchDirectory(const std::string& parent)
      : path_(parent + "/wq-bench-" + std::to_string(::getpid())) {
    std::error_code error;
    if (!std::filesystem::exists(parent, error)) {
      fail(exit_not_found, "--dir: '" + parent + "' does not exist");
    }
    if (!std::filesystem::create_directory(path_, error)) {
      // As for any store that can not be made.
      fail(exit_storage, path_ + ": " + std::strerror(error ? error.value() : EEXIST));
    }
  }
  ~BenchDirectory() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  BenchDirectory(const BenchDirectory&) = delete;
  BenchDirectory& operator=(const BenchDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

class Bench {
 public:
  Bench(Context& context, const BenchOptions& options);
  int run();

 private:
  Result raw_writes();
  Result enqueue_one();
  Result whole_lives();
  Result enqueue_pipelined();
  void drain(uint32_t batch_jobs);
  void check_delivery();
  void tell(const std::vector<Result>& results);
  // Repeats `round`, which returns how many jobs it did, until the time is over.
  Result repeat(std::string step, const std::function<uint64_t()>& round);
  wq_job_spec spec() const;
  wq_call call() const;

  Context& context_;
  const BenchOptions& options_;
  const uint32_t durability_;
  const double seconds_;
  const StopSignals signals_;
  const BenchDirectory directory_;
  std::string payload_;
  Store store_;
  Queue queue_;
  uint64_t acked_ = 0;
};

Bench::Bench(Context& context, const BenchOptions& options)
    : context_(context),
      options_(options),
      durability_(durability_of("--durability", options.durability)),
      seconds_(static_cast<double>(parse_duration_ms("--time", options.seconds)) / 1000),
      directory_(options.directory),
      payload_(parse_size("--payload-size", options.payload_size), 'x') {}

wq_job_spec Bench::spec() const {
  wq_job_spec spec = WQ_JOB_SPEC_INIT;
  spec.payload = bytes_of(payload_);
  return spec;
}

wq_call Bench::call() const {
  wq_call call = WQ_CALL_INIT;
  call.durability = durability_;
  return call;
}

Result Bench::repeat(std::string step, const std::function<uint64_t()>& round) {
  context_.out().status("bench: " + step);
  Result result{std::move(step), 0, 0};
  const Stopwatch watch;
  do {
    if (signals_.count() > 0) fail(128 + signals_.last_signal(), "stopped");
    result.count += round();
    result.seconds = watch.seconds();
  } while (result.seconds < seconds_);
  return result;
}

// What the device can do at all: a 4 KiB write in place, then fdatasync.
Result Bench::raw_writes() {
  const std::string path = directory_.path() + "/raw";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) fail_errno(path, errno);
  const std::string block(raw_write_bytes, 'x');
  constexpr off_t blocks = 256;  // written before, so that the file does not grow while we measure
  int failed = 0;
  const auto write_block = [&](off_t index) {
    const ssize_t count = ::pwrite(fd, block.data(), block.size(),
                                   index % blocks * static_cast<off_t>(raw_write_bytes));
    if (count != static_cast<ssize_t>(block.size())) failed = errno != 0 ? errno : EIO;
  };
  for (off_t i = 0; i < blocks; ++i) write_block(i);
  if (::fsync(fd) != 0) failed = errno;
  off_t next = 0;
  Result result;
  if (failed == 0) {
    result = repeat("raw 4 KiB write + fdatasync", [&] {
      write_block(next++);
      if (::fdatasync(fd) != 0) failed = errno;
      return 1;
    });
  }
  ::close(fd);
  if (failed != 0) fail_errno(path, failed);
  return result;
}

Result Bench::enqueue_one() {
  const wq_job_spec spec = this->spec();
  return repeat("enqueue, one at a time", [&] {
    wq_call call = this->call();
    wq_error err = WQ_ERROR_INIT;
    check(wq_enqueue(queue_.get(), &spec, &call, nullptr, &err), err);
    return 1;
  });
}

Result Bench::whole_lives() {
  const std::vector<wq_job_spec> specs(options_.batch, spec());
  return repeat("enqueue, lease, ack in batches of " + std::to_string(options_.batch), [&] {
    wq_call call = this->call();
    wq_error err = WQ_ERROR_INIT;
    check(wq_enqueue_many(queue_.get(), specs.data(), specs.size(), sizeof(wq_job_spec), 0, &call,
                          nullptr, 0, nullptr, &err),
          err);
    const uint64_t before = acked_;
    drain(options_.batch);
    return acked_ - before;
  });
}

// Leases and acks in batches until the queue is empty: a short batch does not say that.
void Bench::drain(uint32_t batch_jobs) {
  wq_queue* const handle = queue_.get();
  wq_lease_options take = WQ_LEASE_OPTIONS_INIT;
  take.max_jobs = batch_jobs;
  for (;;) {
    wq_error err = WQ_ERROR_INIT;
    Batch batch;
    const int32_t code =
        wq_lease(store_.get(), &handle, 1, &take, nullptr, nullptr, batch.out(), &err);
    if (code == WQ_EMPTY) return;
    check(code, err);
    std::vector<wq_settle_item> items(wq_batch_count(batch.get()), WQ_SETTLE_ITEM_INIT);
    for (size_t i = 0; i < items.size(); ++i) {
      wq_job job = WQ_JOB_INIT;
      check(wq_batch_job(batch.get(), i, &job), err);
      if (view_of(job.payload) != payload_) fail(exit_storage, "a payload came back changed");
      items[i].kind = WQ_SETTLE_ACK;
      items[i].id = job.id;
      items[i].generation = job.generation;
    }
    wq_call call = this->call();
    check(wq_settle_many(handle, items.data(), items.size(), sizeof(wq_settle_item), nullptr, &call,
                         &err),
          err);
    acked_ += items.size();
  }
}

Result Bench::enqueue_pipelined() {
  const wq_job_spec spec = this->spec();
  wq_error err = WQ_ERROR_INIT;
  CompletionQueue completions;
  check(wq_cq_open(store_.get(), completions.out(), &err), err);
  std::vector<wq_event> events(pipelined_window, WQ_EVENT_INIT);
  uint64_t under_way = 0;
  const auto poll_events = [&] {
    size_t count = 0;
    check(wq_cq_poll(completions.get(), events.data(), events.size(), sizeof(wq_event), -1, &count,
                     &err),
          err);
    for (size_t i = 0; i < count; ++i) check(events[i].code, err);
    under_way -= count;
    return count;
  };
  Result result = repeat("enqueue, pipelined (completion queue)", [&] {
    while (under_way < pipelined_window) {
      wq_call call = this->call();
      call.cq = completions.get();
      check(wq_enqueue(queue_.get(), &spec, &call, nullptr, &err), err);
      ++under_way;
    }
    return poll_events();
  });
  const Stopwatch watch;
  while (under_way > 0) result.count += poll_events();
  result.seconds += watch.seconds();
  return result;
}

void Bench::check_delivery() {
  context_.out().status("bench: drain and check");
  drain(drain_batch_jobs);
  wq_error err = WQ_ERROR_INIT;
  wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
  check(wq_queue_get_stats(queue_.get(), &stats, &err), err);
  if (stats.ready != 0 || stats.leased != 0 || stats.enqueued_total != acked_) {
    fail(exit_storage,
         "enqueued " + plural(stats.enqueued_total, "job") + " and acked " + plural(acked_, "job"));
  }
}

void Bench::tell(const std::vector<Result>& results) {
  wq_error err = WQ_ERROR_INIT;
  wq_store_stats stats = WQ_STORE_STATS_INIT;
  check(wq_store_get_stats(store_.get(), &stats, &err), err);
  Output& out = context_.out();
  out.clear_status();
  if (out.json()) {
    List steps;
    for (const Result& result : results) {
      steps.emplace_back(Record()
                             .add("step", result.step)
                             .add("count", result.count)
                             .add("seconds", result.seconds)
                             .add("per_second", per_second(result.count, result.seconds)));
    }
    Record record;
    record.add_bytes("directory", options_.directory);
    record.add("io_backend", backend_name(stats.io_backend))
        .add("durability", durability_name(durability_))
        .add("payload_bytes", uint64_t{payload_.size()})
        .add("acked", acked_)
        .add("steps", std::move(steps));
    out.record(record);
    return;
  }
  out.line("directory " + printable(options_.directory) + ", backend " +
           backend_name(stats.io_backend) + ", durability " + durability_name(durability_) +
           ", payload " + format_bytes(payload_.size()));
  Table table({{"step"}, {"rate", Table::Align::right}, {"us each", Table::Align::right}});
  for (const Result& result : results) {
    std::array<char, 32> each{};
    std::snprintf(each.data(), each.size(), "%.1f",
                  result.seconds * 1e6 / static_cast<double>(std::max<uint64_t>(result.count, 1)));
    table.add({result.step, format_rate(per_second(result.count, result.seconds)), each.data()});
  }
  table.print(out);
  out.line(plural(acked_, "job") + " enqueued, all acked, each payload compared");
}

int Bench::run() {
  struct statfs info {};
  if (::statfs(directory_.path().c_str(), &info) == 0 &&
      (info.f_type == tmpfs_type || info.f_type == ramfs_type)) {
    context_.out().warning(options_.directory +
                           " is in memory (tmpfs): these are no figures of a disk");
  }
  std::vector<Result> results;
  results.push_back(raw_writes());
  wq_error err = WQ_ERROR_INIT;
  const wq_store_options store_options = context_.store_options({OpenMode::create, false, 0});
  check(wq_store_open((directory_.path() + "/store").c_str(), &store_options, store_.out(), &err),
        err);
  queue_ = context_.open_queue(store_, "bench", OpenMode::create);
  results.push_back(enqueue_one());
  drain(drain_batch_jobs);
  results.push_back(whole_lives());
  results.push_back(enqueue_pipelined());
  check_delivery();
  tell(results);
  return exit_ok;
}

}  // namespace

int run_bench(Context& context, const BenchOptions& options) {
  Bench bench(context, options);
  return bench.run();
}

}  // namespace wq::cli
