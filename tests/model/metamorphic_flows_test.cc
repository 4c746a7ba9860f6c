// As metamorphic_test.cc, for jobs with keys, chains, batches and limits, for kv rows,
// transactions, history and schedules. Jobs are told by their payloads: ids differ from run to run.
// Left out is what depends on where a job is: one that did not start in time and is only on the
// disk goes later.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>

#include "model/metamorphic.h"

namespace wq::metamorphic {
namespace {

class FlowRun {
 public:
  FlowRun(uint64_t seed, const Way& way) : prng_(seed), way_(way), harness_(options_of(way)) {}

  std::vector<std::string> all(int operations) {
    EXPECT_TRUE(harness_.open().ok());
    QueueConfig config;
    config.lease_ms = 2'000;
    config.max_retries = 1;
    config.keep_done_count = 6;
    queue_ =
        harness_.queue("flows", config, config_lease_ms | config_max_retries | config_keep_done);
    slots_ = harness_.queue("slots", config, config_lease_ms);
    CronSpec every;
    every.expression = "@every 1s";
    every.catch_up = 3;
    CallOptions call;
    EXPECT_TRUE(engine().cron_put(slots_, "every", every, call).ok());
    for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
      one();
      if (static_cast<uint64_t>(i) % way_.every == 0) disturb(harness_, way_);
      told_.push_back(counts());
    }
    harness_.expect_sound();
    return told_;
  }

 private:
  struct Pushed {
    std::string payload;
    std::deque<std::string> next_payloads;
    std::vector<NextSpec> chain;
    JobSpec spec;
  };
  Engine& engine() { return harness_.engine(); }
  void tell(std::string what) { told_.push_back(std::move(what)); }
  std::string name_of(JobId id) {
    const auto found = names_.find(id);
    return found == names_.end() ? "another" : found->second;
  }
  void one() {
    const uint64_t what = prng_.below(20);
    if (what < 5) return push();
    if (what < 9) return take();
    if (what < 12) return settle();
    if (what == 12) return write_row();
    if (what == 13) return transact();
    if (what == 14) return begin_batch();
    if (what == 15) return end_batch();
    if (what == 16) return read();
    if (what == 17) return cancel_by_key();
    const auto ms = static_cast<int64_t>(prng_.below(what == 18 ? 120 : 1'500));
    harness_.advance(ms);
    tell("+" + std::to_string(ms));
  }

  void fill(Pushed& job) {
    static constexpr std::string_view keys[] = {"x", "y", "z"};
    job.payload = std::to_string(++made_);
    job.spec.payload = as_bytes(job.payload);
    JobTraits& traits = job.spec.traits;
    const uint64_t kind = prng_.below(8);
    if (kind < 4) {
      traits.key_rule = static_cast<KeyRule>(1 + kind);
      traits.key = keys[prng_.below(std::size(keys))];
      traits.key_ms = prng_.below(2) == 0 ? 0 : 900;
      if (traits.key_rule == KeyRule::debounce) job.spec.debounce_ms = 300;
    } else if (kind == 4) {
      traits.idempotency_key = keys[prng_.below(std::size(keys))];
      traits.idempotency_ms = 700;
    }
    // A debounced one may end a batch, of which others of its call would be members.
    if (kind != 3 && batch_ != 0 && prng_.below(2) == 0) traits.batch = batch_;
    if (prng_.below(5) == 0) traits.max_exceptions = 1;
    traits.fail_on_timeout = prng_.below(8) == 0;
    for (uint64_t i = prng_.below(8); i < 2; ++i) {
      NextSpec& next = job.chain.emplace_back();
      next.job.payload =
          as_bytes(job.next_payloads.emplace_back(job.payload + ">" + std::to_string(i)));
    }
    job.spec.chain = job.chain;
  }
  void push() {
    std::deque<Pushed> jobs(1 + prng_.below(5));
    std::vector<JobSpec> specs;
    for (Pushed& job : jobs) {
      fill(job);
      specs.push_back(job.spec);
    }
    std::vector<EnqueueOutcome> outcomes(specs.size());
    CallOptions call;
    if (!way_.singly) {
      EXPECT_TRUE(engine().enqueue_many(queue_, specs, false, call, outcomes).ok());
    }
    std::string told = "pushed";
    for (size_t i = 0; i < specs.size(); ++i) {
      if (way_.singly)
        outcomes[i].code = engine().enqueue(queue_, specs[i], call, outcomes[i].id).code();
      const bool taken = outcomes[i].code == Code::ok;
      if (taken) names_[outcomes[i].id] = jobs[i].payload;
      told += std::string(" ") + (taken ? "ok" : "duplicate of " + name_of(outcomes[i].id));
    }
    tell(told);
  }
  void take() {
    const QueueId queue = prng_.below(4) == 0 ? slots_ : queue_;
    auto left = static_cast<uint32_t>(1 + prng_.below(6));
    std::string told = "leased";
    while (left > 0) {
      const std::vector<JobView> jobs = harness_.lease(queue, way_.singly ? 1 : left);
      if (jobs.empty()) break;
      for (const JobView& job : jobs) {
        told += " " + payload_of(job) + "/" + std::to_string(job.attempts);
        if (queue == slots_) told += slot_of(job);
        names_[job.id] = payload_of(job);
        held_.push_back({queue, job.id, job.generation});
        --left;
      }
    }
    tell(told);
  }
  static std::string slot_of(const JobView& job) {
    const Envelope envelope = decode_envelope(job.body.bytes()).value();
    for (const Header& header : envelope.headers) {
      if (as_text(header.name) == "wq-slot-ms") return "@" + std::string(as_text(header.value));
    }
    return " without a slot";
  }
  void settle() {
    constexpr SettleKind kinds[] = {SettleKind::ack,  SettleKind::ack,     SettleKind::ack,
                                    SettleKind::nack, SettleKind::release, SettleKind::fail};
    std::string told = "settled";
    std::vector<SettleItem> items;
    std::deque<std::string> results;
    for (size_t i = 0; i < held_.size() && items.size() < 4;) {
      if (held_[i].queue != queue_ || prng_.below(2) == 0) {
        ++i;
        continue;
      }
      SettleItem item{held_[i].id, held_[i].generation};
      item.kind = kinds[prng_.below(std::size(kinds))];
      if (item.kind == SettleKind::nack) item.delay_ms = prng_.below(2) == 0 ? 0 : 50;
      const std::string name = name_of(item.id);
      if (item.kind == SettleKind::ack) item.result = results.emplace_back("result of " + name);
      told += " " + name;
      items.push_back(item);
      held_.erase(held_.begin() + static_cast<ptrdiff_t>(i));
    }
    std::vector<Code> codes(items.size(), Code::internal);
    CallOptions call;
    const size_t step = way_.singly ? 1 : std::max<size_t>(1, items.size());
    for (size_t i = 0; i < items.size(); i += step) {
      const auto part = std::span(items).subspan(i, step);
      EXPECT_TRUE(engine().settle(queue_, part, call, std::span(codes).subspan(i, step)).ok());
    }
    for (const Code code : codes) told += std::string(" ") + code_name(code);
    tell(told);
  }

  KvWrite any_write() {
    static constexpr std::string_view keys[] = {"a", "a/b", "c"};
    static constexpr std::string_view values[] = {"1", "7", "text"};
    KvWrite write;
    write.verb = static_cast<KvVerb>(prng_.below(3));
    write.key = keys[prng_.below(std::size(keys))];
    if (write.verb == KvVerb::put) write.value = values[prng_.below(std::size(values))];
    if (write.verb == KvVerb::add) write.delta = 3;
    if (write.verb != KvVerb::erase && prng_.below(3) == 0) write.ttl_ms = 800;
    if (prng_.below(2) == 0) {
      write.condition.flags = kv_if_value | (prng_.below(2) == 0 ? kv_if_absent : 0u);
      write.condition.value = values[prng_.below(std::size(values))];
    }
    return write;
  }
  void write_row() {
    CallOptions call;
    const Result<int64_t> sum = engine().kv_change(any_write(), call);
    tell(sum.ok() ? "row " + std::to_string(sum.value()) : code_name(sum.status().code()));
  }
  void transact() {
    std::vector<TxnOp> ops(3);
    ops[0].kind = TxnOp::Kind::settle;
    ops[0].queue = queue_;
    const auto own = std::find_if(held_.begin(), held_.end(),
                                  [&](const Held& held) { return held.queue == queue_; });
    if (own == held_.end()) return tell("nothing to ack");
    ops[0].settle = SettleItem{own->id, own->generation};
    Pushed job;
    fill(job);
    ops[1].queue = queue_;
    ops[1].spec = job.spec;
    ops[2].kind = TxnOp::Kind::kv;
    ops[2].kv = any_write();
    std::vector<TxnResult> results(ops.size());
    size_t failed = 0;
    CallOptions call;
    const Status status = engine().transact(ops, call, results, failed);
    if (status.ok()) names_[results[1].job_id] = job.payload;
    if (status.ok()) held_.erase(own);
    tell("transaction " + std::string(code_name(status.code())) + " " + std::to_string(failed));
  }

  void begin_batch() {
    const std::string done = "done " + std::to_string(++made_);
    const std::string failed = "failed " + std::to_string(made_);
    NextSpec on_complete{"flows", {}};
    NextSpec on_failure{"flows", {}};
    on_complete.job.payload = as_bytes(done);
    on_failure.job.payload = as_bytes(failed);
    BatchSpec spec;
    spec.allow_failures = prng_.below(3) == 0;
    spec.on_complete = &on_complete;
    spec.on_failure = &on_failure;
    CallOptions call;
    end_batch();
    batch_ = engine().batch_create(spec, call).value();
    batches_.push_back(batch_);
  }
  void end_batch() {
    if (batch_ == 0) return;
    CallOptions call;
    const bool cancel = prng_.below(4) == 0;
    EXPECT_TRUE(
        (cancel ? engine().batch_cancel(batch_, call) : engine().batch_seal(batch_, call)).ok());
    batch_ = 0;
  }
  void cancel_by_key() {
    static constexpr std::string_view keys[] = {"x", "y", "z"};
    const auto kind = prng_.below(2) == 0 ? KeyKind::unique : KeyKind::debounce;
    CallOptions call;
    const Result<JobId> id =
        engine().cancel_key(queue_, kind, keys[prng_.below(std::size(keys))], call);
    tell(id.ok() ? "cancelled " + name_of(id.value()) : code_name(id.status().code()));
  }
  void read() {
    std::string told = "rows";
    const KvPage page = engine().kv_list("", "", 100).value();
    for (size_t i = 0; i < page.keys.size(); ++i) {
      told += " " + page.keys[i] + "=" + page.entries[i].value;
    }
    told += ", done";
    const DonePage done = engine().history_list(queue_, 0, 100).value();
    for (const DoneJob& job : done.jobs) {
      told += " " + name_of(job.id) + "=" + job.result;
    }
    for (const uint64_t batch : batches_) {
      const BatchStatus is = engine().batch_status(batch).value();
      told += ", batch " + std::to_string(is.flags) + " " + std::to_string(is.pending) + " " +
              std::to_string(is.done) + " " + std::to_string(is.failed) + " " +
              std::to_string(is.cancelled) + (is.follow_up != 0 ? " followed" : "");
    }
    tell(told);
  }
  std::string counts() {
    std::string out = "counts";
    for (const QueueId queue : {queue_, slots_}) {
      const QueueStats stats = engine().queue_stats(queue).value();
      for (const uint64_t count : stats.counts) out += " " + std::to_string(count);
      out += ", " + std::to_string(stats.totals.cancelled) + " cancelled " +
             std::to_string(stats.totals.chain_cut) + " cut ";
    }
    return out;
  }

  struct Held {
    QueueId queue;
    JobId id;
    Generation generation;
  };
  Prng prng_;
  const Way way_;
  EngineHarness harness_;
  QueueId queue_ = 0;
  QueueId slots_ = 0;
  uint64_t batch_ = 0;  // the one that takes jobs
  std::vector<uint64_t> batches_;
  std::vector<Held> held_;
  std::map<JobId, std::string> names_;
  uint64_t made_ = 0;
  std::vector<std::string> told_;
};

TEST(Metamorphic, FlowsGiveTheSameWhateverTheyRunOn) {
  compare_ways<FlowRun>(memory_ways, streams_to_run(60), 150);
}

TEST(Metamorphic, FlowsGiveTheSameOnRocksDb) {
  compare_ways<FlowRun>(rocks_ways, streams_to_run(3), 150);
}

}  // namespace
}  // namespace wq::metamorphic
