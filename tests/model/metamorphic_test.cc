// The same random operations give the same answers whatever they run on: store and backend, memory
// for all jobs or for a few, checkpoints never or always, closes and kills in between, one by one
// or many in a call. Jobs wait for groups, rates, rate keys that cool down, overlap guards and the
// turns of tenants. No model is asked: the runs are compared with each other, answer by answer.
//
//   WQ_SEEDS=n    as many streams
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <map>

#include "quantity.h"
#include "support/engine_harness.h"
#include "test_seed.h"

namespace wq {
namespace {

enum class Between : uint8_t { nothing, checkpoint, reopen, kill };

struct Way {
  const char* name;
  StoreKind store = StoreKind::memory;
  IoBackend backend = IoBackend::automatic;
  bool starved = false;
  Between between = Between::nothing;
  uint64_t every = 1;   // so many operations
  bool singly = false;  // one job in a call
};

constexpr Way memory_ways[] = {
    {.name = "memory"},
    {.name = "starved", .starved = true, .between = Between::checkpoint, .every = 3},
    {.name = "checkpoints", .between = Between::checkpoint},
    {.name = "reopened", .starved = true, .between = Between::reopen, .every = 4},
    {.name = "killed", .between = Between::kill, .every = 5},
    {.name = "killed, starved, singly",
     .starved = true,
     .between = Between::kill,
     .every = 7,
     .singly = true},
    {.name = "singly", .singly = true},
};
constexpr Way rocks_ways[] = {
    {.name = "memory"},
    {.name = "rocks, threads, starved",
     .store = StoreKind::rocks,
     .backend = IoBackend::thread,
     .starved = true,
     .between = Between::checkpoint,
     .every = 9},
    {.name = "rocks, reopened",
     .store = StoreKind::rocks,
     .starved = true,
     .between = Between::reopen,
     .every = 40},
};

// One run of one stream. All choices are made by the stream and by answers so far.
class Run {
 public:
  Run(uint64_t seed, const Way& way) : prng_(seed), way_(way), harness_(options(way)) {}

  std::vector<std::string> all(int operations) {
    EXPECT_TRUE(harness_.open().ok());
    QueueConfig config;
    config.lease_ms = 2'000;
    config.max_retries = 1;
    config.group_limit = 1 + static_cast<uint32_t>(prng_.below(2));
    config.rate = {50, 10, 1'000};
    config.key_rate = {4, 2, 1'000};
    config.throttle = {2, 1'000, 700};
    queues_[0] = harness_.queue("gates", config,
                                config_lease_ms | config_max_retries | config_group_limit |
                                    config_rate | config_key_rate | config_throttle);
    queues_[1] = harness_.queue("turns", config, config_lease_ms | config_max_retries);
    for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
      one();
      if (static_cast<uint64_t>(i) % way_.every == 0) disturb();
      told_.push_back(counts());
    }
    harness_.expect_sound();
    return told_;
  }

 private:
  struct Held {
    size_t queue;
    Token token;
    std::string payload;
  };

  static HarnessOptions options(const Way& way) {
    HarnessOptions options;
    options.store = way.store;
    options.backend = way.backend;
    options.engine.segment_bytes = 256 * 1024;
    options.engine.spare_segments = 0;
    if (way.starved) {
      options.engine.memory_budget_bytes = 1;  // what may leave memory does
      options.engine.lane_window = 4;
    }
    return options;
  }
  Engine& engine() { return harness_.engine(); }
  void one() {
    const uint64_t what = prng_.below(20);
    if (what < 7) return push();
    if (what < 12) return take();
    if (what < 16) return settle();
    if (what < 18) return change(what == 16);
    const auto ms = static_cast<int64_t>(prng_.below(what == 18 ? 120 : 1'500));
    harness_.advance(ms);
    told_.push_back("+" + std::to_string(ms));
  }
  void disturb() {
    if (way_.between == Between::checkpoint) {
      EXPECT_TRUE(engine().checkpoint().ok());
    } else if (way_.between == Between::reopen) {
      EXPECT_TRUE(harness_.close().ok());
      EXPECT_TRUE(harness_.open().ok());
    } else if (way_.between == Between::kill) {
      EXPECT_TRUE(engine().sync().ok());  // nobody was promised what else a kill takes
      EXPECT_TRUE(harness_.kill_and_open().ok());
    }
  }
  // The names of one group are of jobs that wait for it, or of such that do not.
  JobSpec random_spec(size_t queue) {
    JobSpec spec;
    if (prng_.below(5) == 0) spec.priority = 50;
    if (prng_.below(6) == 0) spec.delay_ms = 1 + static_cast<int64_t>(prng_.below(500));
    JobTraits& traits = spec.traits;
    if (queue == 1) {
      static constexpr std::string_view tenants[] = {"", "a", "b", "c", "d"};
      traits.tenant = tenants[prng_.below(std::size(tenants))];
      return spec;
    }
    static constexpr std::string_view names[] = {"x", "y", "z"};
    const std::string_view name = names[prng_.below(std::size(names))];
    const uint64_t kind = prng_.below(5);
    if (kind == 1) {
      traits.group = name;
      traits.group_limit = static_cast<uint32_t>(prng_.below(3));
    } else if (kind == 2) {
      traits.rate_key = name;
      traits.rate_cost = 1 + static_cast<uint32_t>(prng_.below(3));
    } else if (kind > 2) {
      traits.group = name == "x" ? "u" : "v";
      traits.overlap = static_cast<OverlapRule>(prng_.below(3));
      traits.overlap_ms = traits.overlap == OverlapRule::release ? 100 : 0;
    }
    return spec;
  }
  void push() {
    const size_t queue = prng_.below(2);
    std::vector<JobSpec> specs(1 + prng_.below(9));
    std::deque<std::string> payloads;
    for (JobSpec& spec : specs) {
      spec = random_spec(queue);
      spec.payload = as_bytes(payloads.emplace_back(std::to_string(++made_)));
    }
    CallOptions call;
    if (!way_.singly) {
      std::vector<EnqueueOutcome> outcomes(specs.size());
      EXPECT_TRUE(engine().enqueue_many(queues_[queue], specs, false, call, outcomes).ok());
      for (const EnqueueOutcome& outcome : outcomes) ids_.emplace_back(queue, outcome.id);
      return;
    }
    for (const JobSpec& spec : specs) {
      JobId id = 0;
      EXPECT_TRUE(engine().enqueue(queues_[queue], spec, call, id).ok());
      ids_.emplace_back(queue, id);
    }
  }
  // One call may end before it must, at a job that is only on the disk.
  void take() {
    const size_t queue = prng_.below(2);
    auto left = static_cast<uint32_t>(1 + prng_.below(8));
    std::string told = "leased";
    while (left > 0) {
      const std::vector<JobView> jobs = harness_.lease(queues_[queue], way_.singly ? 1 : left);
      if (jobs.empty()) break;
      for (const JobView& job : jobs) {
        told += " " + payload_of(job) + "/" + std::to_string(job.attempts);
        held_.push_back({queue, {job.id, job.generation}, payload_of(job)});
        --left;
      }
    }
    told_.push_back(told);
  }
  void settle() {
    constexpr SettleKind kinds[] = {SettleKind::ack,  SettleKind::ack,     SettleKind::nack,
                                    SettleKind::nack, SettleKind::release, SettleKind::fail};
    const size_t queue = prng_.below(2);
    std::vector<SettleItem> items;
    std::string told = "settled";
    const size_t most = 1 + prng_.below(4);
    for (size_t i = 0; i < held_.size() && items.size() < most;) {
      if (held_[i].queue != queue || prng_.below(2) == 0) {
        ++i;
        continue;
      }
      SettleItem item{held_[i].token.id, held_[i].token.generation};
      item.kind = kinds[prng_.below(std::size(kinds))];
      if (item.kind == SettleKind::nack) item.delay_ms = prng_.below(2) == 0 ? 0 : 50;
      if (item.kind == SettleKind::nack && prng_.below(3) == 0) item.flags = settle_front;
      items.push_back(item);
      told += " " + held_[i].payload;
      held_.erase(held_.begin() + static_cast<ptrdiff_t>(i));
    }
    std::vector<Code> codes(items.size(), Code::internal);
    CallOptions call;
    const size_t step = way_.singly ? 1 : std::max<size_t>(1, items.size());
    for (size_t i = 0; i < items.size(); i += step) {
      EXPECT_TRUE(engine()
                      .settle(queues_[queue], std::span(items).subspan(i, step), call,
                              std::span(codes).subspan(i, step))
                      .ok());
    }
    for (const Code code : codes) told += std::string(" ") + code_name(code);
    told_.push_back(told);
  }
  void change(bool cancel) {
    if (ids_.empty()) return;
    const auto [queue, id] = ids_[prng_.below(ids_.size())];
    const uint8_t priority = prng_.below(2) == 0 ? 50 : default_priority;
    CallOptions call;
    const Status status = cancel ? engine().cancel(queues_[queue], id, call)
                                 : engine().reprioritise(queues_[queue], id, priority, call);
    told_.push_back(std::string(cancel ? "cancel " : "reprioritise ") + code_name(status.code()));
  }
  std::string counts() {
    std::string out = "counts";
    for (const QueueId queue : queues_) {
      const QueueStats stats = engine().queue_stats(queue).value();
      for (const uint64_t count : stats.counts) out += " " + std::to_string(count);
      out += ", " + std::to_string(stats.totals.released) + " released " +
             std::to_string(stats.totals.skipped) + " skipped ";
    }
    return out;
  }

  Prng prng_;
  const Way way_;
  EngineHarness harness_;
  QueueId queues_[2] = {};
  std::vector<Held> held_;
  std::vector<std::pair<size_t, JobId>> ids_;
  uint64_t made_ = 0;
  std::vector<std::string> told_;
};

void compare_ways(std::span<const Way> ways, size_t streams, int operations) {
  const uint64_t first_seed = test_seed();
  Prng seeds(first_seed);
  for (size_t i = 0; i < streams && !testing::Test::HasFailure(); ++i) {
    const uint64_t seed = i == 0 ? first_seed : seeds.next();
    const std::vector<std::string> expected = Run(seed, ways[0]).all(operations);
    for (const Way& way : ways.subspan(1)) {
      SCOPED_TRACE(std::string(way.name) + ", WQ_SEEDS=1 --seed=" + std::to_string(seed));
      const std::vector<std::string> got = Run(seed, way).all(operations);
      for (size_t n = 0; n < std::max(got.size(), expected.size()); ++n) {
        ASSERT_LT(n, got.size());
        ASSERT_LT(n, expected.size());
        ASSERT_EQ(got[n], expected[n]) << "after " << n << " answers";
      }
    }
  }
}

size_t streams_to_run(size_t standard) {
  if (const char* given = std::getenv("WQ_SEEDS")) return std::strtoull(given, nullptr, 0);
  return scaled(standard, standard * 50, (standard + 2) / 3);
}

TEST(Metamorphic, GatesGiveTheSameWhateverTheyRunOn) {
  compare_ways(memory_ways, streams_to_run(60), 150);
}

TEST(Metamorphic, GatesGiveTheSameOnRocksDb) {
  compare_ways(rocks_ways, streams_to_run(3), 150);
}

}  // namespace
}  // namespace wq
