// Kills a process that works on a store over the C interface, again and again on one directory:
// while it opens, while it looks the store over, and while three threads work. What the process
// said through its pipe before and after each call is judged by oracle.h. 100 kills in CI, 5,000
// with WQ_LONG.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wq.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "crash/child_lines.h"
#include "crash/oracle.h"
#include "quantity.h"
#include "test_seed.h"

namespace wq::crash {
namespace {

namespace fs = std::filesystem;
using std::chrono::steady_clock;

int64_t us_since(steady_clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now() - begin).count();
}

class CrashTest : public testing::Test {
 protected:
  CrashTest() { fs::create_directories(directory_); }

  std::vector<std::string> arguments(const char* mode) {
    std::ofstream(directory_ + "/known") << oracle_.known_jobs();
    std::ofstream(directory_ + "/known.ledger") << oracle_.known_to_ledger();
    ++life_;
    const uint32_t backend = life_ % 2 == 0 ? WQ_IO_URING : WQ_IO_THREADS;
    return {directory_ + "/store",        std::to_string(backend),
            std::to_string(prng_.next()), std::to_string(life_ * 1'000'000),
            directory_ + "/known",        mode};
  }

  void run_and_kill() {
    Child child(arguments("run"));
    bool alive = true;
    const uint64_t dice = prng_.below(100);
    if (dice < 15) {
      alive = kill_while_opening(child);
    } else if (dice < 25) {
      alive = child.read_until('G') && child.read_lines(prng_.below(200));
      ++kills_[1];
    } else {
      alive = child.read_until('Y') && child.read_lines(1 + prng_.below(800));
      if (alive && prng_.below(4) == 0) alive = pause(child) && child.read_lines(prng_.below(200));
      ++kills_[2];
    }
    const int status = child.kill_now();
    judge(child.all_lines());
    if (!alive || !WIFSIGNALED(status)) {
      ADD_FAILURE() << "life " << life_ << ": the child ended by itself, status " << status;
    }
  }

  // Stops the process for longer than its shorter leases last, in the middle of whatever its
  // threads are doing, and lets it go on: as a machine that sleeps, or a collector that stops the
  // world.
  bool pause(Child& child) {
    if (::kill(child.pid(), SIGSTOP) != 0) return false;
    const auto begin = steady_clock::now();
    const auto pause_us = static_cast<int64_t>(1'000 + prng_.below(60'000));
    while (us_since(begin) < pause_us) {
    }
    ++pauses_;
    return ::kill(child.pid(), SIGCONT) == 0;
  }

  // Lets a child work until it kills itself at a named place; false if it did not come there.
  bool run_to_point(const std::string& name, uint64_t hit) {
    ::setenv("WQ_KILL_POINT", name.c_str(), 1);
    ::setenv("WQ_KILL_HIT", std::to_string(hit).c_str(), 1);
    Child child(arguments("run"), "crash_point_child");
    ::unsetenv("WQ_KILL_POINT");
    constexpr size_t lines_max = 6'000;  // of work, if it never comes there
    bool alive = child.read_lines(lines_max);
    // Slots come with the clock, one a second, however fast the work is.
    const auto begin = steady_clock::now();
    while (alive && name.ends_with("cron_fire.before") && us_since(begin) < 4'000'000) {
      alive = child.read_lines(1);
    }
    child.kill_now();
    std::vector<std::string> lines = child.all_lines();
    const auto died = std::find(lines.begin(), lines.end(), "D " + name);
    const bool reached = died != lines.end();
    if (reached) lines.erase(died);
    judge(lines);
    return reached;
  }

  // What the newest lives wrote stays beside the store for whoever looks into a failure.
  void judge(const std::vector<std::string>& lines) {
    std::ofstream copy(directory_ + "/lines-" + std::to_string(life_ % 5));
    for (const std::string& line : lines) copy << line << '\n';
    oracle_.judge(lines);
  }

  // At a moment between the start of the open and a little after its end. The time that an open
  // takes is measured in the lives that are killed there.
  bool kill_while_opening(Child& child) {
    if (!child.read_until('O')) return false;
    const auto begin = steady_clock::now();
    const auto wait_us = static_cast<int64_t>(prng_.below(open_us_ + open_us_ / 4 + 1));
    ++kills_[0];
    if (open_us_ == 0) {
      const bool opened = child.read_until('G');
      open_us_ = static_cast<uint64_t>(us_since(begin));
      return opened;
    }
    while (us_since(begin) < wait_us) {
    }
    return true;
  }

  void drain_and_close() {
    Child child(arguments("drain"));
    const std::vector<std::string> lines = child.all_lines();
    EXPECT_EQ(child.reap(), 0);
    judge(lines);
    oracle_.judge_end();
    ASSERT_GE(lines.size(), 2u);
    EXPECT_EQ(lines.back(), "F");
    EXPECT_EQ(lines[lines.size() - 2], "T 0") << "jobs are left";
  }

  void print_figures() const {
    const Figures& f = oracle_.figures();
    const auto print = [](const char* name, uint64_t value) {
      std::printf("%10llu %s\n", static_cast<unsigned long long>(value), name);
    };
    print("kills while it opened", kills_[0]);
    print("kills while it looked the store over", kills_[1]);
    print("kills while it worked", kills_[2]);
    print("pauses", pauses_);
    print("opens", f.opens);
    print("opens that replayed records", f.replays);
    print("opens that cut an unfinished tail", f.cuts);
    print("jobs", f.jobs);
    print("leases", f.leases);
    print("settles", f.settles);
    print("clears, deletes and purges", f.sweeps);
    print("stale settles", f.stale);
    print("calls in doubt", f.in_doubt);
    print("ms for the longest call", static_cast<uint64_t>(f.longest_ms));
    print("look-ups after an open", f.census);
    print("leases that held over a kill", f.leases_kept);
    print("jobs in doubt that were gone", f.doubts_gone);
    print("jobs in doubt that were there", f.doubts_there);
    print("leases of jobs in groups", f.group_leases);
    print("enqueues that met the holder of their key", f.duplicates);
    print("keys that were held over a kill", f.key_holders);
    const LedgerFigures& ledger = oracle_.ledger_figures();
    print("chains to their end", ledger.chains);
    print("flows to their end", ledger.flows);
    print("sums of rows", ledger.sums);
    print("transactions", ledger.transactions);
    print("transactions that were refused", ledger.transactions_refused);
    print("slots of the schedule", ledger.slots);
    print("calls of the ledger in doubt", ledger.in_doubt);
    print("violations", oracle_.violations().size());
  }

  const uint64_t seed_ = test_seed();
  Prng prng_{seed_};
  const std::string directory_ =
      testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
  Oracle oracle_;
  uint64_t life_ = 0;
  uint64_t open_us_ = 0;
  std::array<uint64_t, 3> kills_{};
  uint64_t pauses_ = 0;
};

TEST_F(CrashTest, NothingConfirmedIsLostAndNothingComesBack) {
  const int kills = scaled(100, 5'000);
  for (int i = 0; i < kills && oracle_.violations().empty() && !HasFailure(); ++i) run_and_kill();
  if (oracle_.violations().empty() && !HasFailure()) drain_and_close();
  print_figures();
  for (const std::string& violation : oracle_.violations()) ADD_FAILURE() << violation;
  if (HasFailure()) return;
  // The kills hit what they are meant to hit.
  EXPECT_GT(oracle_.figures().replays, 0u);
  EXPECT_GT(oracle_.figures().in_doubt, 0u);
  EXPECT_GT(oracle_.figures().leases_kept, 0u);
  EXPECT_GT(oracle_.figures().doubts_gone, 0u);
  EXPECT_GT(oracle_.figures().doubts_there, 0u);
  EXPECT_GT(oracle_.figures().stale, 0u);
  EXPECT_GT(oracle_.figures().sweeps, 0u);
  EXPECT_GT(oracle_.figures().group_leases, 0u);
  EXPECT_GT(oracle_.figures().duplicates, 0u);
  EXPECT_GT(oracle_.figures().key_holders, 0u);
  EXPECT_GT(oracle_.ledger_figures().chains, 0u);
  EXPECT_GT(oracle_.ledger_figures().flows, 0u);
  EXPECT_GT(oracle_.ledger_figures().sums, 0u);
  EXPECT_GT(oracle_.ledger_figures().transactions, 0u);
  EXPECT_GT(oracle_.ledger_figures().slots, 0u);
  EXPECT_GT(oracle_.ledger_figures().in_doubt, 0u);
}

// Each place is reached, at the first of its hits and at later ones, and the store is none the
// worse for it. What the places are is told in kill_points.cc.
TEST_F(CrashTest, KilledAtEachNamedPlace) {
  const char* const names[] = {"write.before",
                               "write.half",
                               "write.after",
                               "barrier.before",
                               "barrier.after",
                               "sync.before",
                               "sync.after",
                               "create.after",
                               "resize.after",
                               "rename.before",
                               "rename.after",
                               "sync_dir.before",
                               "sync_dir.after",
                               "checkpoint.begin",
                               "checkpoint.before",
                               "checkpoint.after",
                               "record.open.before",
                               "record.open.after",
                               "record.enqueue.before",
                               "record.lease.before",
                               "record.lease.after",
                               "record.settle.before",
                               "record.settle.after",
                               "record.expire.before",
                               "record.expire.after",
                               "record.promote.before",
                               "record.promote.after",
                               "record.confirm.after",
                               "record.cancel.after",
                               "record.dead_replay.after",
                               "record.dead_remove.before",
                               "record.transact.before",
                               "record.transact.after",
                               "record.kv_write.after",
                               "record.batch_create.after",
                               "record.batch_seal.before",
                               "record.cron_fire.before"};
  const int rounds = scaled(2, 14);  // 37 places: over 500 kills
  std::array<int, std::size(names)> hits{};
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < std::size(names); ++i) {
      if (!oracle_.violations().empty() || HasFailure()) break;
      // A later hit meets the store at work, the first one mostly while it opens.
      const bool rare = std::string_view(names[i]).ends_with("cron_fire.before");
      const uint64_t hit = round == 0 || rare ? 1 : 1 + prng_.below(12);
      hits[i] += run_to_point(names[i], hit);
    }
  }
  if (oracle_.violations().empty() && !HasFailure()) drain_and_close();
  for (size_t i = 0; i < std::size(names); ++i) {
    std::printf("%10d of %d kills at %s\n", hits[i], rounds, names[i]);
    EXPECT_GT(hits[i], 0) << names[i];
  }
  print_figures();
  for (const std::string& violation : oracle_.violations()) ADD_FAILURE() << violation;
}

}  // namespace
}  // namespace wq::crash
