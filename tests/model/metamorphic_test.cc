// The same random operations give the same answers whatever they run on: store and backend, memory
// for all jobs or for a few, checkpoints never or always, closes and kills in between, one by one
// or many in a call. Jobs wait for groups, rates, rate keys that cool down, overlap guards and the
// turns of tenants. No model is asked: the runs are compared with each other, answer by answer.
//
//   WQ_SEEDS=n    as many streams
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

#include "model/metamorphic.h"

namespace wq::metamorphic {
namespace {

// One run of one stream. All choices are made by the stream and by answers so far.
class GateRun {
 public:
  GateRun(uint64_t seed, const Way& way) : prng_(seed), way_(way), harness_(options_of(way)) {}

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
      if (static_cast<uint64_t>(i) % way_.every == 0) disturb(harness_, way_);
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

TEST(Metamorphic, GatesGiveTheSameWhateverTheyRunOn) {
  compare_ways<GateRun>(memory_ways, streams_to_run(60), 150);
}

TEST(Metamorphic, GatesGiveTheSameOnRocksDb) {
  compare_ways<GateRun>(rocks_ways, streams_to_run(3), 150);
}

}  // namespace
}  // namespace wq::metamorphic
