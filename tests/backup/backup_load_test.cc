// Backups of a store on the real disk while threads produce and work, with checkpoints all the
// time. Each call of the threads is noted with the LSN of its record, so for every LSN it is known
// which jobs the store had: a restored backup must have exactly those.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/prng.h"
#include "engine/backup.h"
#include "engine/engine.h"
#include "quantity.h"
#include "test_seed.h"

namespace wq {
namespace {

enum class Fate : uint8_t { enqueued, leased, acked, dead, again };

struct Note {
  Lsn lsn = 0;
  JobId id = 0;
  Fate fate = Fate::enqueued;
};

// What became of the jobs, by LSN. Thread model: add() from any thread.
class Journal {
 public:
  void add(Lsn lsn, JobId id, Fate fate) {
    std::lock_guard lock(mutex_);
    notes_.emplace(lsn, Note{lsn, id, fate});
  }
  // The state that each job must be in after record `lsn`.
  std::map<JobId, JobState> jobs_at(Lsn lsn) {
    std::lock_guard lock(mutex_);
    std::map<JobId, JobState> jobs;
    for (auto note = notes_.begin(); note != notes_.end() && note->first <= lsn; ++note) {
      switch (note->second.fate) {
        case Fate::enqueued:
        case Fate::again:
          jobs[note->second.id] = JobState::ready;
          break;
        case Fate::leased:
          jobs[note->second.id] = JobState::leased;
          break;
        case Fate::dead:
          jobs[note->second.id] = JobState::dead;
          break;
        case Fate::acked:
          jobs.erase(note->second.id);
          break;
      }
    }
    return jobs;
  }

 private:
  std::mutex mutex_;
  std::multimap<Lsn, Note> notes_;
};

class BackupLoad : public testing::Test {
 protected:
  void SetUp() override {
    root_ = testing::TempDir() + "/backup-load";
    std::filesystem::create_directories(root_);
    Result<std::unique_ptr<Io>> io = make_io();
    ASSERT_TRUE(io.ok()) << io.status().message();
    io_ = std::move(io).value();
    engine_ = open(root_ + "/store");
    ASSERT_NE(engine_, nullptr);
    CallOptions call;
    Result<QueueId> queue = engine_->open_queue("load", {}, 0, true, call);
    ASSERT_TRUE(queue.ok());
    queue_ = queue.value();
  }
  void TearDown() override {
    engine_.reset();
    std::filesystem::remove_all(root_);
  }

  std::unique_ptr<Engine> open(const std::string& directory) {
    EngineOptions options;
    options.directory = directory;
    options.segment_bytes = 256 << 10;
    options.checkpoint_log_bytes = 128 << 10;  // many checkpoints, many segments
    Environment environment;
    environment.io = io_.get();
    environment.clock = &system_clock();
    Result<std::unique_ptr<Engine>> opened = Engine::open(options, environment);
    EXPECT_TRUE(opened.ok()) << opened.status().message();
    return opened.ok() ? std::move(opened).value() : nullptr;
  }

  void produce(uint64_t seed) {
    Prng prng(seed);
    const std::string bytes(6'000, 'p');  // over 4 KiB they may lie in blob files
    while (!stop_.load()) {
      std::vector<JobSpec> specs(1 + prng.below(20));
      for (JobSpec& spec : specs) {
        spec.payload = as_bytes(bytes).first(prng.below(20) == 0 ? 6'000 : prng.below(300));
      }
      std::vector<EnqueueOutcome> outcomes(specs.size());
      CallOptions call;
      Result<size_t> count = engine_->enqueue_many(queue_, specs, false, call, outcomes);
      ASSERT_TRUE(count.ok()) << count.status().message();
      for (const EnqueueOutcome& one : outcomes) journal_.add(call.lsn, one.id, Fate::enqueued);
      done_.fetch_add(specs.size());
    }
  }

  void work(uint64_t seed) {
    Prng prng(seed);
    while (!stop_.load()) {
      LeaseRequest request;
      request.queues = std::span(&queue_, 1);
      request.max_jobs = static_cast<uint32_t>(1 + prng.below(20));
      request.lease_ms = 3'600'000;
      request.wait_ms = 50;
      CallOptions call;
      std::vector<JobView> jobs;
      const Status status = engine_->lease(request, call, jobs);
      if (status.code() == Code::empty) continue;
      ASSERT_TRUE(status.ok()) << status.message();
      for (const JobView& job : jobs) journal_.add(call.lsn, job.id, Fate::leased);
      std::vector<SettleItem> items;
      for (const JobView& job : jobs) {
        const uint64_t toss = prng.below(10);
        SettleItem item;
        item.id = job.id;
        item.generation = job.generation;
        item.kind = toss == 0   ? SettleKind::fail
                    : toss == 1 ? SettleKind::release
                                : SettleKind::ack;
        if (toss != 2) items.push_back(item);  // the lease stays
      }
      if (items.empty()) continue;
      std::vector<Code> codes(items.size());
      CallOptions settle;
      ASSERT_TRUE(engine_->settle(queue_, items, settle, codes).ok());
      for (const SettleItem& item : items) {
        journal_.add(settle.lsn, item.id,
                     item.kind == SettleKind::ack    ? Fate::acked
                     : item.kind == SettleKind::fail ? Fate::dead
                                                     : Fate::again);
      }
    }
  }

  void expect_state_at(Lsn lsn, const std::string& directory) {
    const std::unique_ptr<Engine> restored = open(directory);
    ASSERT_NE(restored, nullptr);
    Result<VerifyReport> found = restored->verify();
    ASSERT_TRUE(found.ok()) << found.status().message();
    EXPECT_EQ(found->problems, 0u) << found->first_problem;
    const std::map<JobId, JobState> expected = journal_.jobs_at(lsn);
    EXPECT_EQ(found->jobs, expected.size());
    uint64_t counts[job_state_count] = {};
    for (const auto& [id, state] : expected) {
      Result<JobView> job = restored->get(queue_, id);
      ASSERT_TRUE(job.ok()) << "job " << id << ": " << job.status().message();
      ASSERT_EQ(job->state, state) << "job " << id;
      ++counts[static_cast<size_t>(state)];
    }
    const EngineStats stats = restored->stats();
    for (size_t i = 0; i < job_state_count; ++i) EXPECT_EQ(stats.counts[i], counts[i]) << i;
  }

  std::string root_;
  std::unique_ptr<Io> io_;
  std::unique_ptr<Engine> engine_;
  QueueId queue_ = 0;
  Journal journal_;
  std::atomic<bool> stop_{false};
  std::atomic<uint64_t> done_{0};
};

TEST_F(BackupLoad, IsTheStoreAtItsLsn) {
  Prng prng(test_seed());
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([this, seed = prng.next()] { produce(seed); });
    threads.emplace_back([this, seed = prng.next()] { work(seed); });
  }
  const int rounds = scaled(4, 60);
  std::vector<BackupReport> reports;
  uint64_t during = 0;
  for (int round = 0; round < rounds; ++round) {
    const uint64_t target = done_.load() + 500;
    while (done_.load() < target && !HasFailure()) std::this_thread::yield();
    const Lsn before = engine_->stats().last_lsn;
    const uint64_t done_before = done_.load();
    auto made = engine_->backup(root_ + "/backup" + std::to_string(round), {});
    ASSERT_TRUE(made.ok()) << made.status().message();
    during += done_.load() - done_before;
    EXPECT_GE(made->last_lsn, before) << "what was applied before the call is in it";
    reports.push_back(*made);
  }
  stop_.store(true);
  for (std::thread& thread : threads) thread.join();
  const EngineStats stats = engine_->stats();
  std::printf("%llu jobs, %llu of them during backups; %llu checkpoints\n",
              static_cast<unsigned long long>(done_.load()),
              static_cast<unsigned long long>(during),
              static_cast<unsigned long long>(stats.checkpoints));
  EXPECT_GT(during, 0u) << "producers waited for the backups";
  EXPECT_GT(stats.checkpoints, 3u);
  EXPECT_FALSE(stats.poisoned);
  for (int round = 0; round < rounds && !HasFailure(); ++round) {
    SCOPED_TRACE("backup " + std::to_string(round));
    const std::string backup = root_ + "/backup" + std::to_string(round);
    const std::string restored = root_ + "/restored";
    auto checked = restore_backup(*io_, backup, restored, {});
    ASSERT_TRUE(checked.ok()) << checked.status().message();
    EXPECT_EQ(checked->bytes, reports[static_cast<size_t>(round)].bytes);
    expect_state_at(checked->last_lsn, restored);
    std::filesystem::remove_all(restored);
  }
  Result<VerifyReport> found = engine_->verify();
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->problems, 0u) << found->first_problem;
  engine_.reset();
  expect_state_at(UINT64_MAX, root_ + "/store");
}

// A close does not wait for the end of a backup, and the backup leaves nothing.
TEST_F(BackupLoad, CloseEndsIt) {
  std::atomic<bool> begun{false};
  const auto progress = [&](uint64_t, uint64_t) -> Status {
    if (begun.exchange(true)) return {};
    while (!stop_.load()) std::this_thread::yield();
    return {};
  };
  Status status;
  std::thread backup([&] {
    auto made = engine_->backup(root_ + "/backup", progress);
    status = made.take_status();
  });
  while (!begun.load()) std::this_thread::yield();
  std::thread closer([&] { EXPECT_TRUE(engine_->close().ok()); });
  CallOptions call;
  while (engine_->open_queue("x", {}, 0, false, call).status().code() != Code::closed) {
    std::this_thread::yield();
  }
  stop_.store(true);
  closer.join();
  backup.join();
  EXPECT_EQ(status.code(), Code::closed) << status.message();
  EXPECT_FALSE(std::filesystem::exists(root_ + "/backup"));
}

}  // namespace
}  // namespace wq
