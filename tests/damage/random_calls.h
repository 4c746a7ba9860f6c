// Random calls on a store with two queues, with all that a job can have. Thread model: one thread.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "base/prng.h"
#include "support/engine_harness.h"

namespace wq {

// Calls in any order, over all that a job can have; what is refused is refused.
class RandomCalls {
 public:
  RandomCalls(EngineHarness& harness, Prng& prng) : h_(harness), prng_(prng) {
    QueueConfig config;
    config.keep_done_count = 8;
    config.max_depth = 60;
    config.full_policy = FullPolicy::drop_oldest;
    config.key_rate = {3, 3, 1'000};
    config.throttle = {2, 1'000, 500};
    config.backoff = Backoff{BackoffKind::fixed, 300, 0, {}, 500};
    config.dead_max_count = 6;
    const uint32_t fields = config_keep_done | config_max_depth | config_full_policy |
                            config_key_rate | config_throttle | config_backoff |
                            config_dead_max_count;
    queues_[0] = h_.queue("a", config, fields);
    queues_[1] = h_.queue("b");
  }

  void step() {
    const QueueId q = queues_[prng_.below(2)];
    switch (prng_.below(16)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return enqueue(q);
      case 4:
      case 5:
        return lease(q);
      case 6:
      case 7:
      case 8:
        return settle();
      case 9:
        return h_.advance(static_cast<int64_t>(prng_.below(200)));
      case 10:
        h_.engine().cancel(q, 1 + prng_.below(last_ + 1), call_).ignore("it may be gone");
        return;
      case 11:
        return replay(q);
      case 12:
        return batch();
      case 13:
        if (prng_.below(6) != 0) return;
        h_.engine().clear(q, clearable_states, call_).status().ignore("nothing to ask");
        return;
      case 14:
        h_.engine()
            .reprioritise(q, 1 + prng_.below(last_ + 1), static_cast<uint8_t>(prng_.below(4)),
                          call_)
            .ignore("it may be gone");
        return;
      default:
        h_.tick();
    }
  }

 private:
  std::string_view pick(std::initializer_list<std::string_view> names) {
    return *(names.begin() + prng_.below(names.size()));
  }
  void enqueue(QueueId q) {
    JobSpec spec;
    JobTraits& traits = spec.traits;
    const NextSpec next{pick({"", "b"}), {}};
    spec.payload = as_bytes(std::string_view("payload"));
    spec.priority = static_cast<uint8_t>(prng_.below(3));
    if (prng_.below(4) == 0) spec.delay_ms = 1 + static_cast<int64_t>(prng_.below(400));
    if (prng_.below(4) == 0) spec.chain = {&next, 1};
    if (prng_.below(3) == 0) traits.batch = batch_;
    if (prng_.below(3) == 0) traits.tenant = pick({"t1", "t2"});
    if (prng_.below(5) == 0) traits.max_exceptions = 2;
    if (prng_.below(5) == 0) traits.expires_ms = h_.clock().wall_ms() + 600;
    switch (prng_.below(6)) {
      case 0:
        traits.group = pick({"g1", "g2"});
        traits.overlap = static_cast<OverlapRule>(prng_.below(3));
        if (traits.overlap == OverlapRule::release) traits.overlap_ms = 50;
        break;
      case 1:
        traits.rate_key = pick({"r1", "r2"});
        break;
      case 2:
        traits.key_rule = static_cast<KeyRule>(1 + prng_.below(4));
        traits.key = pick({"k1", "k2", "k3"});
        if (traits.key_rule == KeyRule::debounce) {
          spec.debounce_ms = 100;
        } else if (prng_.below(2) == 0) {
          traits.key_ms = 80;
        }
        break;
      case 3:
        traits.idempotency_key = pick({"i1", "i2", "i3"});
        traits.idempotency_ms = 700;
        break;
      default:
        break;
    }
    JobId id = 0;
    if (h_.engine().enqueue(q, spec, call_, id).ok()) last_ = std::max(last_, id);
  }
  void lease(QueueId q) {
    LeaseRequest request;
    request.queues = {&q, 1};
    request.max_jobs = 1 + static_cast<uint32_t>(prng_.below(4));
    request.lease_ms = 150;
    std::vector<JobView> jobs;
    if (!h_.engine().lease(request, call_, jobs).ok()) return;
    for (const JobView& job : jobs) held_.push_back({q, {job.id, job.generation}});
  }
  void settle() {
    if (held_.empty()) return;
    const size_t at = prng_.below(held_.size());
    const auto [q, token] = held_[at];
    if (prng_.below(5) == 0) {
      h_.engine().confirm(q, token, 300, call_).ignore("it may be gone");
      return;
    }
    held_.erase(held_.begin() + static_cast<ptrdiff_t>(at));
    SettleItem item;
    item.id = token.id;
    item.generation = token.generation;
    item.kind = prng_.below(2) == 0 ? SettleKind::ack : static_cast<SettleKind>(1 + prng_.below(4));
    if (item.kind == SettleKind::nack) item.delay_ms = -1;
    if (item.kind == SettleKind::ack) item.result = "r";
    Code code = Code::ok;
    h_.engine().settle(q, {&item, 1}, call_, {&code, 1}).ignore("it may be gone");
  }
  void replay(QueueId q) {
    const Result<DeadPage> page = h_.engine().dead_list(q, {});
    if (!page.ok() || page.value().jobs.empty()) return;
    const JobView& job = page.value().jobs[prng_.below(page.value().jobs.size())];
    const Token entry{job.id, job.generation};
    if (prng_.below(3) == 0) {
      h_.engine().dead_remove(q, entry, call_).ignore("nothing to ask");
    } else {
      h_.engine().dead_replay(q, entry, call_).ignore("its key may be held");
    }
  }
  void batch() {
    if (batch_ != 0 && prng_.below(3) != 0) {
      const bool cancels = prng_.below(4) == 0;
      (cancels ? h_.engine().batch_cancel(batch_, call_) : h_.engine().batch_seal(batch_, call_))
          .ignore("it may be finished");
      batch_ = 0;
      return;
    }
    NextSpec follows{"b", {}};
    follows.job.payload = as_bytes(std::string_view("follows"));
    batch_ = h_.engine().batch_create({prng_.below(2) == 0, &follows, &follows}, call_).value();
  }

  EngineHarness& h_;
  Prng& prng_;
  CallOptions call_;
  QueueId queues_[2] = {};
  JobId last_ = 0;
  uint64_t batch_ = 0;
  std::vector<std::pair<QueueId, Token>> held_;
};

}  // namespace wq
