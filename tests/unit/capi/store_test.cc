// Stores on a real directory: opening and its refusals, the version handshake, recovery, figures.
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "unit/capi/capi_test.h"

namespace wq::capi_test {
namespace {

namespace fs = std::filesystem;

using CapiStore = CapiReal;

int32_t try_open(const std::string& path, const wq_store_options* options = nullptr) {
  wq_store* store = nullptr;
  const int32_t code = wq_store_open(path.c_str(), options, &store, err());
  EXPECT_EQ(store != nullptr, code == WQ_OK);
  wq_store_close(&store);
  return code;
}

TEST_F(CapiStore, OpenArguments) {
  wq_store* store = reinterpret_cast<wq_store*>(1);
  EXPECT_CODE(WQ_E_INVALID, wq_store_open(nullptr, nullptr, &store, err()));
  EXPECT_EQ(store, nullptr);
  EXPECT_CODE(WQ_E_INVALID, wq_store_open("", nullptr, &store, err()));
  EXPECT_CODE(WQ_E_INVALID, wq_store_open(path_.c_str(), nullptr, nullptr, err()));
  EXPECT_CODE(WQ_E_TOO_LARGE, try_open(std::string(4'096, 'x')));
  wq_store_options options = WQ_STORE_OPTIONS_INIT;
  options.io_backend = 3;
  EXPECT_CODE(WQ_E_UNSUPPORTED, try_open(path_ + ".other", &options));
  EXPECT_FALSE(fs::exists(path_ + ".other"));
}

TEST_F(CapiStore, OptionsOutOfBoundsNameTheFieldAndLeaveNoTrace) {
  const auto refused = [&](const char* field, auto spoil) {
    wq_store_options options = WQ_STORE_OPTIONS_INIT;
    spoil(options);
    EXPECT_CODE(WQ_E_INVALID, try_open(path_ + ".other", &options));
    EXPECT_NE(std::strstr(last_error().message, field), nullptr) << last_error().message;
  };
  refused("memory_window_ms", [](wq_store_options& o) { o.memory_window_ms = -1; });
  refused("memory_window_ms", [](wq_store_options& o) { o.memory_window_ms = INT64_MAX; });
  refused("spare_segments", [](wq_store_options& o) { o.spare_segments = UINT32_MAX; });
  refused("memory_budget_bytes", [](wq_store_options& o) { o.memory_budget_bytes = 1; });
  refused("payload_bytes_max", [](wq_store_options& o) { o.payload_bytes_max = UINT64_MAX; });
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{8192}, uint64_t{1'000'000}, UINT64_MAX}) {
    refused("segment_bytes", [bytes](wq_store_options& o) { o.segment_bytes = bytes; });
  }
  EXPECT_FALSE(fs::exists(path_ + ".other"));
}

TEST_F(CapiStore, VersionHandshake) {
  const uint32_t own = WQ_ABI_VERSION;
  wq_store* store = nullptr;
  for (const uint32_t version : {0u, own + 1, own + (1u << 16), UINT32_MAX}) {
    EXPECT_CODE(WQ_E_VERSION,
                wq_store_open_abi((path_ + ".v").c_str(), nullptr, version, &store, err()))
        << version;
    EXPECT_EQ(store, nullptr);
  }
  EXPECT_FALSE(fs::exists(path_ + ".v"));
  EXPECT_OK(wq_store_open_abi((path_ + ".v").c_str(), nullptr, own, &store, err()));
  wq_store_close(&store);
}

TEST_F(CapiStore, NoCreateLeavesNothingBehind) {
  wq_store_options options = WQ_STORE_OPTIONS_INIT;
  options.flags = WQ_OPEN_NO_CREATE;
  EXPECT_CODE(WQ_E_NOT_FOUND, try_open(path_ + ".none", &options));
  EXPECT_FALSE(fs::exists(path_ + ".none"));
  EXPECT_CODE(WQ_E_NOT_FOUND, try_open("/nowhere/at/all", nullptr));
}

TEST_F(CapiStore, ASecondOpenIsLockedWithTheOwnersPid) {
  EXPECT_CODE(WQ_E_LOCKED, try_open(path_));
  EXPECT_NE(std::strstr(last_error().message, std::to_string(getpid()).c_str()), nullptr)
      << last_error().message;
  EXPECT_EQ(last_error().flags, WQ_ERROR_RETRYABLE);
  EXPECT_CODE(WQ_E_LOCKED, try_open(path_ + "/../" + fs::path(path_).filename().string()));
  fs::create_directory_symlink(path_, path_ + ".link");
  EXPECT_CODE(WQ_E_LOCKED, try_open(path_ + ".link"));
  wq_store_close(&store_);
  EXPECT_OK(try_open(path_));
}

TEST_F(CapiStore, AForkedChildOpensNoStore) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::string path = path_ + ".child";
    wq_store* store = nullptr;
    _exit(wq_store_open(path.c_str(), nullptr, &store, nullptr) == WQ_E_FORKED ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// A child that lives on, of a program that forks workers, has copies of all descriptors.
TEST_F(CapiStore, AForkedChildHoldsNoLock) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    close(ends[1]);
    char byte = 0;
    _exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);  // until the parent is done
  }
  close(ends[0]);
  EXPECT_CODE(WQ_E_LOCKED, try_open(path_)) << "the parent has it still";
  wq_store_close(&store_);
  EXPECT_OK(try_open(path_));
  close(ends[1]);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

// Files that are made later on go to the directory that was opened, whatever the working directory
// is by then, and not into a store of the same name there.
TEST_F(CapiStore, ARelativePathMeansTheSameDirectoryForEver) {
  const fs::path home = fs::current_path();
  const fs::path one = path_ + ".one";
  const fs::path other = path_ + ".other";
  for (const fs::path& directory : {one, other}) fs::create_directory(directory);
  fs::current_path(one);
  wq_store_options options = WQ_STORE_OPTIONS_INIT;
  options.segment_bytes = 1u << 20;
  options.checkpoint_log_bytes = 1u << 20;
  wq_store* store = nullptr;
  EXPECT_OK(wq_store_open("store", &options, &store, err()));
  fs::current_path(other);
  wq_queue* queue = open_queue(store, "q");
  const std::string payload(100'000, 'x');
  for (int i = 0; i < 50; ++i) enqueue(queue, payload);
  EXPECT_OK(wq_store_checkpoint(store, err()));
  EXPECT_OK(wq_store_sync(store, err()));
  wq_queue_close(&queue);
  wq_store_close(&store);
  EXPECT_TRUE(fs::is_empty(other));
  EXPECT_OK(wq_store_open((one / "store").c_str(), nullptr, &store, err()));
  queue = open_queue(store, "q");
  size_t found = 0;
  for (;;) {
    const size_t leased = lease(store, queue, 100).size();
    if (leased == 0) break;
    found += leased;
  }
  EXPECT_EQ(found, 50u);
  wq_queue_close(&queue);
  wq_store_close(&store);
  fs::current_path(home);
}

// Run by JobsOutliveTheProcess in a process of its own, with the directory in the environment.
TEST(CapiStoreChild, FillsAndDies) {
  const char* const path = std::getenv("WQ_CHILD_STORE");
  if (path == nullptr) GTEST_SKIP() << "only as a child";
  wq_store* store = nullptr;
  ASSERT_OK(wq_store_open(path, nullptr, &store, err()));
  wq_queue* queue = open_queue(store, "q");
  for (const char* payload : {"a", "b", "c"}) enqueue(queue, payload);
  ASSERT_EQ(lease(store, queue).size(), 1u);
  _exit(0);  // no close: as good as a kill
}

TEST_F(CapiStore, JobsOutliveTheProcess) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  const std::string path = path_ + ".killed";
  if (child == 0) {
    setenv("WQ_CHILD_STORE", path.c_str(), 1);
    execl("/proc/self/exe", "capi_test", "--gtest_filter=CapiStoreChild.FillsAndDies", nullptr);
    _exit(127);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  ASSERT_EQ(WEXITSTATUS(status), 0);

  wq_store_options options = WQ_STORE_OPTIONS_INIT;
  options.flags = WQ_OPEN_EXPIRE_LEASES | WQ_OPEN_NO_CREATE;
  wq_store* store = nullptr;
  ASSERT_OK(wq_store_open(path.c_str(), &options, &store, err()));
  wq_recovery recovery = WQ_RECOVERY_INIT;
  ASSERT_OK(wq_store_get_recovery(store, &recovery, err()));
  EXPECT_EQ(recovery.clean, 0u);
  EXPECT_GE(recovery.records_replayed, 5u);
  EXPECT_EQ(recovery.leases_expired, 1u);
  wq_queue* queue = open_queue(store, "q");
  const std::vector<SeenJob> jobs = lease(store, queue, 10);
  ASSERT_EQ(jobs.size(), 3u);
  EXPECT_EQ(jobs[0].payload, "b");
  EXPECT_EQ(jobs[1].payload, "c");
  EXPECT_EQ(jobs[2].payload, "a");
  EXPECT_EQ(jobs[2].job.attempts, 2u) << "the attempt of the killed process counts";
  wq_queue_close(&queue);
  wq_store_close(&store);

  ASSERT_OK(wq_store_open(path.c_str(), nullptr, &store, err()));
  ASSERT_OK(wq_store_get_recovery(store, &recovery, err()));
  EXPECT_EQ(recovery.clean, 1u);
  EXPECT_EQ(recovery.leases_kept, 3u);
  wq_store_close(&store);
}

TEST_F(CapiStore, StatsAddUp) {
  wq_queue* other = open_queue(store_, "other");
  enqueue(queue_, "a");
  enqueue(queue_, "b");
  enqueue(other, "c");
  ASSERT_EQ(lease(store_, queue_).size(), 1u);
  wq_store_stats stats = WQ_STORE_STATS_INIT;
  ASSERT_OK(wq_store_get_stats(store_, &stats, err()));
  EXPECT_EQ(stats.status, WQ_STORE_OPEN);
  EXPECT_TRUE(stats.io_backend == WQ_IO_URING || stats.io_backend == WQ_IO_THREADS);
  EXPECT_EQ(stats.queues, 2u);
  EXPECT_EQ(stats.ready, 2u);
  EXPECT_EQ(stats.leased, 1u);
  EXPECT_EQ(stats.delayed + stats.running + stats.dead, 0u);
  EXPECT_GE(stats.resident_jobs, 3u);
  EXPECT_GT(stats.resident_bytes, 0u);
  EXPECT_EQ(stats.memory_budget_bytes, 64u << 20);
  EXPECT_GE(stats.last_lsn, 6u);
  EXPECT_GE(stats.last_lsn, stats.process_lsn);
  EXPECT_GE(stats.process_lsn, stats.durable_lsn);
  EXPECT_GT(stats.flushes, 0u);
  EXPECT_GT(stats.log_bytes, 0u);
  EXPECT_GE(stats.log_written_bytes, stats.log_bytes);
  const uint64_t checkpoints = stats.checkpoints;
  ASSERT_OK(wq_store_checkpoint(store_, err()));
  ASSERT_OK(wq_store_get_stats(store_, &stats, err()));
  EXPECT_EQ(stats.checkpoints, checkpoints + 1);
  EXPECT_GT(stats.applied_lsn, 0u);
  EXPECT_GT(stats.checkpoint_us_last, 0u);
  EXPECT_EQ(stats.waiting, 0u);
  wq_queue_close(&other);
}

TEST_F(CapiStore, TheChosenBackendRuns) {
  wq_store_options options = WQ_STORE_OPTIONS_INIT;
  options.io_backend = WQ_IO_THREADS;
  wq_store* store = nullptr;
  ASSERT_OK(wq_store_open((path_ + ".t").c_str(), &options, &store, err()));
  wq_store_stats stats = WQ_STORE_STATS_INIT;
  ASSERT_OK(wq_store_get_stats(store, &stats, err()));
  EXPECT_EQ(stats.io_backend, WQ_IO_THREADS);
  wq_store_close(&store);
}

TEST_F(CapiStore, VerifyCountsWhatIsThere) {
  for (int i = 0; i < 10; i++) enqueue(queue_, "x");
  lease(store_, queue_, 3);
  wq_verify_report report = WQ_VERIFY_REPORT_INIT;
  ASSERT_OK(wq_store_verify(store_, &report, err()));
  EXPECT_EQ(report.jobs, 10u);
  EXPECT_EQ(report.problems, 0u);
  EXPECT_STREQ(report.first_problem, "");
  EXPECT_GE(report.elapsed_ms, 0);
}

TEST_F(CapiStore, TickIsForStoresWithoutThreads) {
  int64_t due_ms = 77;
  EXPECT_CODE(WQ_E_UNSUPPORTED, wq_store_tick(store_, &due_ms, err()));
  EXPECT_EQ(due_ms, 0);
}

// The event loop's way: no threads, tick says when to come again.
TEST(CapiTick, NextDueIsTheNextTimer) {
  SimStore sim;
  wq_store* store = sim.open();
  ASSERT_NE(store, nullptr);
  wq_queue* queue = open_queue(store, "q");
  int64_t due_ms = 0;
  const auto settle_down = [&] {
    for (int i = 0; i < 100; i++) {
      ASSERT_OK(wq_store_tick(store, &due_ms, err()));
      if (due_ms != 0) return;
    }
    FAIL() << "tick never runs out of work";
  };
  wq_job_spec spec = spec_of("x");
  spec.delay_ms = 700;
  ASSERT_OK(wq_enqueue(queue, &spec, nullptr, nullptr, err()));
  settle_down();
  EXPECT_GT(due_ms, 0);
  EXPECT_LE(due_ms, 700);
  sim.clock.advance(700);
  settle_down();
  EXPECT_EQ(stats_of(queue).ready, 1u);
  wq_queue_close(&queue);
  wq_store_close(&store);
}

}  // namespace
}  // namespace wq::capi_test
