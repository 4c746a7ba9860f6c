// A store with one or more of each thing that a row can carry, for the tests that move stores. Each
// field of store_fields.h has another value than its default somewhere. Thread model: one thread.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "damage/store_picture.h"
#include "engine/packing.h"

namespace wq {

constexpr int64_t hour_ms = 3'600'000;

inline const Keyring& keyring() {
  static const Keyring ring = [] {
    Keyring made;
    const std::string key(seal_key_bytes, 'k');
    EXPECT_TRUE(made.add(1, as_bytes(std::string_view(key))).ok());
    EXPECT_TRUE(made.make_current(1).ok());
    return made;
  }();
  return ring;
}

inline HarnessOptions options() {
  HarnessOptions options = small_store(StoreKind::rocks);
  options.engine.spare_segments = 0;
  options.keyring = &keyring();
  return options;
}

// One or more of each thing that a row can carry. A store is begun by an import, so that its
// totals and its schedules have all there is to them; the rest happens to it.
class FullStore {
 public:
  explicit FullStore(EngineHarness& harness) : h_(harness) {}

  void begin() {
    ASSERT_TRUE(engine().import_begin(1, 1, call_).ok());
    mail_ = import_queue("mail", full_config());
    QueueConfig other;
    other.backoff = Backoff{BackoffKind::list, 0, 0, {1'000, 2'000}, 0};
    other.status = QueueStatus::disabled;
    other.pause_kept = true;
    import_queue("other", other);
    out_ = import_queue("out", {});
    import_schedule("nightly", Backoff{BackoffKind::list, 0, 0, {7, 8}, 0}, false);
    import_schedule("weekly", Backoff{BackoffKind::exponential, 5, 50, {}, 100}, true);
    ASSERT_TRUE(engine().import_end(call_).ok());
  }

  void first_half() {
    finished_batch();
    batch_ = create_batch();
    result_and_window();
    put_kv();
    dead_letters();
    spec_of_all_traits();
  }

  void second_half() {
    rate_keys();
    retried();
    held();
    waiting();
    ASSERT_TRUE(engine().batch_seal(batch_, call_).ok());
    CallOptions call;
    EXPECT_TRUE(engine().change_status(mail_, Engine::StatusChange::pause, call).ok());
  }

  uint64_t batch() const { return batch_; }
  QueueId mail() const { return mail_; }
  QueueId out() const { return out_; }

 private:
  Engine& engine() { return h_.engine(); }

  static QueueConfig full_config() {
    QueueConfig config;
    config.max_running = 50;
    config.max_retries = 7;
    config.lease_ms = 30'000;
    config.durability = Durability::process;
    config.backoff = Backoff{BackoffKind::exponential, hour_ms, 2 * hour_ms, {}, 250};
    config.version = 11;
    config.job_ttl_ms = 100 * hour_ms;
    config.rate = {1'000'000, 1'000, 10'000};
    config.group_limit = 2;
    config.key_rate = {100, 50, 100 * hour_ms};
    config.throttle = {2, hour_ms, 3 * hour_ms};
    config.max_depth = 1'000;
    config.max_bytes = 1 << 20;
    config.full_policy = FullPolicy::drop_oldest;
    config.dead_max_count = 100;
    config.dead_max_age_ms = 200 * hour_ms;
    config.encrypt = true;
    config.compress_min_bytes = 100;
    config.keep_done_count = 20;
    config.keep_done_age_ms = 50 * hour_ms;
    return config;
  }
  QueueId import_queue(const char* name, const QueueConfig& config) {
    QueueRow row;
    row.name = name;
    row.config = config;
    row.created_ms = h_.clock().wall_ms() - hour_ms;
    QueueTotals& totals = row.totals;
    uint64_t n = 100;
    for (uint64_t* total :
         {&totals.enqueued, &totals.leased, &totals.acked, &totals.nacked, &totals.failed,
          &totals.released, &totals.expired, &totals.dead, &totals.replayed, &totals.cancelled,
          &totals.cleared, &totals.jobs_expired, &totals.dropped, &totals.dead_dropped,
          &totals.chain_cut, &totals.skipped}) {
      *total = n++;
    }
    const Result<QueueId> id = engine().import_queue(row, call_);
    EXPECT_TRUE(id.ok()) << id.status().message();
    return id.ok() ? id.value() : 0;
  }
  void import_schedule(const char* name, const Backoff& backoff, bool paused) {
    const int64_t now_ms = h_.clock().wall_ms();
    CronImage image;
    image.name = name;
    image.state = {paused, now_ms + hour_ms, now_ms - hour_ms, now_ms - 2 * hour_ms, 5, 6};
    image.row.expression = "0 4 * * *";
    image.row.zone = "Europe/Berlin";
    image.row.catch_up = 3;
    image.row.max_attempts = 4;
    image.row.priority = 9;
    image.job.payload = as_bytes(std::string_view("of a schedule"));
    const Header header{as_bytes(std::string_view("h")), as_bytes(std::string_view("v"))};
    image.job.headers.push_back(header);
    image.job.backoff = backoff;
    const Status status = engine().import_schedule(mail_, image, call_);
    ASSERT_TRUE(status.ok()) << status.message();
  }

  JobView take() {
    const std::vector<JobView> jobs = lease_exactly(h_, mail_, 1);
    return jobs[0];
  }
  JobId push(std::string_view payload, const JobTraits& traits = {}, int64_t delay_ms = 0) {
    JobSpec spec;
    spec.traits = traits;
    spec.delay_ms = delay_ms;
    return h_.enqueue(mail_, payload, spec);
  }
  void settle(const JobView& job, SettleKind kind, std::string_view text = {},
              int64_t delay_ms = 0) {
    SettleItem item;
    item.id = job.id;
    item.generation = job.generation;
    item.kind = kind;
    if (kind == SettleKind::ack) {
      item.result = text;
    } else {
      item.error = text;
      item.delay_ms = delay_ms;
    }
    ASSERT_EQ(h_.settle(mail_, item), Code::ok);
  }
  uint64_t create_batch() {
    const NextSpec complete{"out", payload_spec("complete")};
    const NextSpec failure{"out", payload_spec("failure")};
    const BatchSpec spec{true, &complete, &failure};
    const Result<uint64_t> batch = engine().batch_create(spec, call_);
    EXPECT_TRUE(batch.ok()) << batch.status().message();
    return batch.ok() ? batch.value() : 0;
  }
  static JobSpec payload_spec(std::string_view payload) {
    JobSpec spec;
    spec.payload = as_bytes(payload);
    return spec;
  }

  void finished_batch() {
    const uint64_t batch = create_batch();
    JobTraits traits;
    traits.batch = batch;
    push("member", traits);
    settle(take(), SettleKind::ack);
    ASSERT_TRUE(engine().batch_seal(batch, call_).ok());
  }
  // Of the history with all that it can tell; its idempotency key outlives it.
  void result_and_window() {
    JobTraits traits;
    traits.idempotency_key = "request";
    traits.idempotency_ms = 20 * hour_ms;
    traits.batch = batch_;
    push("done", traits);
    settle(take(), SettleKind::nack, "once more");
    settle(take(), SettleKind::fail, "no");
    const DeadPage page = engine().dead_list(mail_, {}).value();
    ASSERT_TRUE(
        engine().dead_replay(mail_, {page.jobs[0].id, page.jobs[0].generation}, call_).ok());
    settle(take(), SettleKind::nack, "once more");
    settle(take(), SettleKind::ack, "the result");
  }
  void put_kv() {
    ASSERT_TRUE(engine().kv_put("plain", {"value", 0, {}}, call_).ok());
    ASSERT_TRUE(engine().kv_put("for a time", {"value", 30 * hour_ms, {}}, call_).ok());
  }
  void dead_letters() {
    JobTraits traits;
    traits.key_rule = KeyRule::until_gone;
    traits.key = "held by the dead";
    push("dead", traits);
    settle(take(), SettleKind::fail, "at first");
    const DeadPage page = engine().dead_list(mail_, {}).value();
    ASSERT_TRUE(
        engine().dead_replay(mail_, {page.jobs[0].id, page.jobs[0].generation}, call_).ok());
    settle(take(), SettleKind::fail, "for ever");
    JobTraits member;
    member.batch = batch_;
    push("failed", member);
    settle(take(), SettleKind::fail, "as well");
    const NextSpec next{"", payload_spec("never")};
    JobSpec spec = payload_spec("chain of the dead");
    spec.traits.batch = batch_;
    spec.chain = {&next, 1};
    h_.enqueue(mail_, "chain of the dead", spec);
    settle(take(), SettleKind::fail, "so is the rest");
  }
  void spec_of_all_traits() {
    const int64_t now_ms = h_.clock().wall_ms();
    const NextSpec chain[] = {{"out", payload_spec("second")}, {"", payload_spec("third")}};
    JobSpec spec;
    JobTraits& traits = spec.traits;
    traits.expires_ms = now_ms + 40 * hour_ms;
    traits.retry_until_ms = now_ms + 50 * hour_ms;
    traits.timeout_ms = 12'345;
    traits.max_exceptions = 6;
    traits.fail_on_timeout = true;
    traits.key_rule = KeyRule::until_done;
    traits.key = std::string_view("a key\0with a zero", 17);
    traits.key_ms = 60 * hour_ms;
    traits.idempotency_key = "another request";
    traits.idempotency_ms = 70 * hour_ms;
    traits.batch = batch_;
    traits.group = "a group";
    traits.group_limit = 4;
    traits.overlap = OverlapRule::release;
    traits.overlap_ms = 5'000;
    traits.tenant = "a tenant";
    spec.chain = chain;
    spec.delay_ms = 2 * hour_ms;
    spec.priority = 42;
    spec.max_attempts = 9;
    spec.backoff = Backoff{BackoffKind::list, 0, 0, {10, 20, 30}, 50};
    const Header headers[] = {{as_bytes(std::string_view("a")), as_bytes(std::string_view("1"))},
                              {as_bytes(std::string_view("b")), Bytes()}};
    spec.headers = headers;
    h_.enqueue(mail_, std::string(500, 'z'), spec);
    spec.traits = {};
    spec.chain = {};
    spec.backoff = Backoff{BackoffKind::exponential, 5, 500, {}, 0};
    h_.enqueue(mail_, "delayed", spec);
  }
  void rate_keys() {
    JobTraits traits;
    traits.rate_key = "counts";
    traits.rate_cost = 3;
    push("exception", traits, 0);
    settle(take(), SettleKind::nack, "first", hour_ms);
    traits.rate_key = "cools";
    for (int i = 0; i < 2; ++i) {
      push("exceptions", traits, 0);
      settle(take(), SettleKind::nack, "again", hour_ms);
    }
  }
  void retried() {
    push("retried");
    settle(take(), SettleKind::nack, "by the policy", -1);  // with a delay that is drawn
  }
  void held() {
    push("running");
    const JobView job = take();
    ASSERT_TRUE(engine().confirm(mail_, {job.id, job.generation}, hour_ms, call_).ok());
    ASSERT_TRUE(engine().set_progress(mail_, {job.id, job.generation}, "half", call_).ok());
    push("leased");
    take();
  }
  void waiting() {
    JobTraits traits;
    traits.key_rule = KeyRule::debounce;
    traits.key = "debounced";
    JobSpec debounced;
    debounced.traits = traits;
    debounced.traits.key_ms = 10 * hour_ms;
    debounced.debounce_ms = hour_ms;
    h_.enqueue(mail_, "debounced", debounced);
    for (const char* group : {"g1", "g2", "g1"}) {
      traits = {};
      traits.group = group;
      traits.tenant = group == std::string_view("g2") ? "t2" : "";
      push(group, traits);
    }
    for (const char* tenant : {"t1", "t2", "t1", "t1"}) {
      traits = {};
      traits.tenant = tenant;
      push(tenant, traits);
    }
    traits = {};
    traits.rate_key = "cools";
    push("waits", traits);
    traits = {};
    traits.group = "g3";
    traits.overlap = OverlapRule::skip;
    push("skips", traits);
    traits = {};
    traits.batch = batch_;
    push("last member", traits);
  }

  EngineHarness& h_;
  CallOptions call_;
  QueueId mail_ = 0;
  QueueId out_ = 0;
  uint64_t batch_ = 0;
};

}  // namespace wq
