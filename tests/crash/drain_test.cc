// Total queue: two threads produce, three consume, and a nemesis kills the process, stops it for
// longer than its leases last, and steps its wall clock by a second up to ten years in either
// direction, while it runs and while it is down. Then everything is drained and counted:
//   lost         enqueued with OK, and neither acked nor there at the end
//   unexpected   delivered though nobody enqueued it, or after its ack was OK
//   two leases   handed out again though the lease before had not run out, nobody gave it back,
//                and (over a restart) no step of the clock can have ended it
// All three must be 0. 40 lives in CI, 2,000 with WQ_LONG.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <wq.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/prng.h"
#include "crash/child_lines.h"
#include "quantity.h"
#include "test_seed.h"

namespace wq::crash {
namespace {

using std::chrono::steady_clock;

// Times are told in whole milliseconds, and a lease over a restart is kept by the wall clock.
constexpr int64_t slack_ms = 3;

int64_t mono_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             steady_clock::now().time_since_epoch())
      .count();
}

void pass_ms(int64_t ms) {
  const int64_t end = mono_ms() + ms;
  while (mono_ms() < end) {
  }
}

// What was promised and what came, over all lives.
class Book {
 public:
  struct Job {
    bool promised = false;     // enqueued with OK
    uint64_t acked = 0;        // with OK: the generation
    bool maybe_acked = false;  // the ack had no result
    bool given_back = true;    // since its newest lease: a nack, done or in doubt
    uint64_t generation = 0;   // of that lease
    int64_t leased_at = 0;
    int64_t lasts_until = 0;  // at least
    uint64_t life = 0;
    uint64_t deliveries = 0;
  };

  uint64_t lost = 0, unexpected = 0, two_leases = 0;
  uint64_t attempted = 0, promised = 0, delivered = 0, again = 0, in_doubt = 0, stale = 0;
  std::vector<std::string> violations;

  // `steps`: when the clock was stepped.
  void judge(uint64_t life, const std::vector<std::string>& lines,
             const std::vector<int64_t>& steps) {
    calls_.clear();
    for (const std::string& line : lines) {
      std::istringstream in(line);
      char type = 0;
      uint64_t op = 0;
      int64_t now = 0;
      in >> type >> op >> now;
      if (type == '!') violation("the child says: " + line);
      if (type == 'E' || type == 'L' || type == 'A' || type == 'N') begin(type, op, now, in);
    }
    for (const std::string& line : lines) {
      std::istringstream in(line);
      char type = 0;
      uint64_t op = 0;
      int64_t now = 0;
      int32_t code = 0;
      in >> type >> op >> now >> code;
      if (type == 'e' || type == 'l' || type == 'a') calls_[op].done = true;
      if (type == 'e' && code == WQ_OK) enqueued(calls_[op], in);
      if (type == 'l' && code == WQ_OK) leased(life, calls_[op], now, steps, in);
      if (type == 'a') settled(calls_[op], code);
    }
    for (const auto& [op, call] : calls_) in_doubt += call.done ? 0 : 1;
  }

  void judge_end() {
    for (const auto& [number, job] : jobs_) {
      if (!job.promised || job.acked != 0 || job.maybe_acked) continue;
      ++lost;
      violation("lost: job " + std::to_string(number));
    }
  }

 private:
  struct Call {
    char type = 0;
    int64_t begin = 0;
    uint64_t number = 0;  // enqueue
    int64_t lease_ms = 0;
    uint64_t id = 0, generation = 0;  // settle
    bool done = false;
  };
  static constexpr size_t violations_max = 20;

  void violation(const std::string& text) {
    if (violations.size() < violations_max) violations.push_back(text);
  }
  Job* by_id(uint64_t id) {
    const auto it = numbers_.find(id);
    return it == numbers_.end() ? nullptr : &jobs_[it->second];
  }

  void begin(char type, uint64_t op, int64_t now, std::istringstream& in) {
    Call& call = calls_[op];
    call.type = type;
    call.begin = now;
    if (type == 'E' && in >> call.number) {
      jobs_[call.number];
      ++attempted;
    }
    if (type == 'L') in >> call.lease_ms;
    if (type == 'A' || type == 'N') {
      in >> call.id >> call.generation;
      settles_[{call.id, call.generation}].push_back(op);
    }
  }
  void enqueued(const Call& call, std::istringstream& in) {
    uint64_t id = 0;
    in >> id;
    numbers_[id] = call.number;
    jobs_[call.number].promised = true;
    ++promised;
  }

  void leased(uint64_t life, const Call& call, int64_t end, const std::vector<int64_t>& steps,
              std::istringstream& in) {
    uint64_t number = 0, id = 0, generation = 0;
    while (in >> number >> id >> generation) {
      const std::string what = "job " + std::to_string(number) + " (generation " +
                               std::to_string(generation) + ", life " + std::to_string(life) + ")";
      ++delivered;
      const auto found = jobs_.find(number);
      if (found == jobs_.end()) {
        ++unexpected;
        violation("never enqueued: " + what);
        continue;
      }
      numbers_[id] = number;
      Job& job = found->second;
      if (job.deliveries++ > 0) ++again;
      // Lines of several threads may come in another order than their leases were made.
      if (job.acked != 0 && generation > job.acked) {
        ++unexpected;
        violation("came back: " + what);
      }
      const bool later = generation > job.generation;
      const bool stepped =
          job.life != life && std::any_of(steps.begin(), steps.end(), [&](int64_t at) {
            return at >= job.leased_at && at <= end;
          });
      if (later && !stepped && !job.given_back && end + slack_ms < job.lasts_until) {
        ++two_leases;
        violation("two valid leases: " + what + ", " + std::to_string(job.lasts_until - end) +
                  " ms too early");
      }
      if (!later) continue;
      job.generation = generation;
      job.leased_at = call.begin;
      job.lasts_until = call.begin + call.lease_ms;
      job.life = life;
      job.given_back = false;
      for (const uint64_t op : settles_[{id, generation}]) {
        job.given_back |= calls_[op].type == 'N';
      }
    }
  }

  void settled(const Call& call, int32_t code) {
    stale += code == WQ_STALE ? 1 : 0;
    Job* const job = by_id(call.id);
    if (job == nullptr || call.type != 'A') return;
    if (code == WQ_OK) job->acked = call.generation;
  }

 public:
  // Acks that had no result when the life ended.
  void doubt() {
    for (const auto& [op, call] : calls_) {
      if (call.done || call.type != 'A') continue;
      if (Job* const job = by_id(call.id)) job->maybe_acked = true;
    }
    settles_.clear();
  }

 private:
  std::map<uint64_t, Job> jobs_;                    // by number
  std::unordered_map<uint64_t, uint64_t> numbers_;  // by id
  std::map<uint64_t, Call> calls_;                  // of this life
  std::map<std::pair<uint64_t, uint64_t>, std::vector<uint64_t>> settles_;
};

class DrainTest : public testing::Test {
 protected:
  DrainTest() {
    std::filesystem::create_directories(directory_);
    const std::string path = directory_ + "/clock";
    const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    EXPECT_EQ(::ftruncate(fd, sizeof(std::atomic<int64_t>)), 0);
    void* const bytes =
        ::mmap(nullptr, sizeof(std::atomic<int64_t>), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ::close(fd);
    EXPECT_NE(bytes, MAP_FAILED);
    off_ms_ = new (bytes) std::atomic<int64_t>(0);
    ::setenv("WQ_CLOCK_FILE", path.c_str(), 1);
  }
  ~DrainTest() override { ::munmap(off_ms_, sizeof *off_ms_); }

  std::vector<std::string> arguments(const char* mode) {
    ++life_;
    return {directory_ + "/store", std::to_string(life_ % 2 == 0 ? WQ_IO_URING : WQ_IO_THREADS),
            std::to_string(prng_.next()), std::to_string(life_ * 1'000'000), mode};
  }

  void step_clock() {
    constexpr int64_t second = 1'000, hour = 3'600 * second, year = 365 * 24 * hour;
    const int64_t sizes[] = {second, hour, 10 * year};
    const int64_t size = sizes[prng_.below(3)];
    // Not before 1990, not behind 2090.
    const bool back = prng_.below(2) == 0 ? *off_ms_ > -3 * 10 * year : *off_ms_ > 6 * 10 * year;
    *off_ms_ += back ? -size : size;
    newest_ms_ = std::max<int64_t>(newest_ms_, *off_ms_);
    steps_.push_back(mono_ms());
  }

  void pause(Child& child) {
    constexpr int64_t longest_lease_ms = 70;
    ASSERT_EQ(::kill(child.pid(), SIGSTOP), 0);
    if (prng_.below(4) == 0) step_clock();
    pass_ms(longest_lease_ms + static_cast<int64_t>(prng_.below(30)));
    ASSERT_EQ(::kill(child.pid(), SIGCONT), 0);
    ++pauses_;
  }

  void live_and_die() {
    if (prng_.below(4) == 0) step_clock();
    Child child(arguments("run"), "drain_child");
    bool alive = child.read_until('Y');
    for (uint64_t i = prng_.below(3); alive && i > 0; --i) {
      alive = child.read_lines(1 + prng_.below(300));
      if (alive) prng_.below(2) == 0 ? pause(child) : step_clock();
    }
    alive = alive && child.read_lines(1 + prng_.below(400));
    const int status = child.kill_now();
    ++kills_;
    judge(child.all_lines());
    if (!alive || !WIFSIGNALED(status)) {
      ADD_FAILURE() << "life " << life_ << ": the child ended by itself, status " << status;
    }
  }

  void judge(const std::vector<std::string>& lines) {
    book_.judge(life_, lines, steps_);
    book_.doubt();
  }

  // The clock stands where nothing is due in the future any more.
  void drain() {
    *off_ms_ = newest_ms_ + 1'000;
    steps_.push_back(mono_ms());
    Child child(arguments("drain"), "drain_child");
    const std::vector<std::string> lines = child.all_lines();
    EXPECT_EQ(child.reap(), 0);
    judge(lines);
    book_.judge_end();
    ASSERT_FALSE(lines.empty());
    EXPECT_EQ(lines.back(), "T 0") << "jobs are left";
  }

  void print_figures() const {
    const auto print = [](const char* name, uint64_t value) {
      std::printf("%10llu %s\n", static_cast<unsigned long long>(value), name);
    };
    print("kills", kills_);
    print("pauses longer than a lease", pauses_);
    print("steps of the clock", steps_.size());
    print("enqueues attempted", book_.attempted);
    print("enqueues acknowledged", book_.promised);
    print("deliveries", book_.delivered);
    print("deliveries again, after a lease that ran out or a nack", book_.again);
    print("stale settles", book_.stale);
    print("calls in doubt", book_.in_doubt);
    print("lost", book_.lost);
    print("unexpected", book_.unexpected);
    print("two valid leases of one job", book_.two_leases);
  }

  const uint64_t seed_ = test_seed();
  Prng prng_{seed_};
  const std::string directory_ = testing::TempDir() + "/drain";
  std::atomic<int64_t>* off_ms_ = nullptr;
  int64_t newest_ms_ = 0;
  std::vector<int64_t> steps_;
  Book book_;
  uint64_t life_ = 0;
  uint64_t kills_ = 0;
  uint64_t pauses_ = 0;
};

TEST_F(DrainTest, NothingIsLostUnderKillsPausesAndClockSteps) {
  const int lives = scaled(40, 2'000, 15);
  for (int i = 0; i < lives && book_.violations.empty() && !HasFailure(); ++i) live_and_die();
  drain();
  print_figures();
  for (const std::string& violation : book_.violations) ADD_FAILURE() << violation;
  EXPECT_EQ(book_.lost, 0u);
  EXPECT_EQ(book_.unexpected, 0u);
  EXPECT_EQ(book_.two_leases, 0u);
  if (HasFailure()) return;
  EXPECT_GT(pauses_, 0u);
  EXPECT_GT(steps_.size(), 1u);
  EXPECT_GT(book_.again, 0u);
  EXPECT_GT(book_.in_doubt, 0u);
}

}  // namespace
}  // namespace wq::crash
