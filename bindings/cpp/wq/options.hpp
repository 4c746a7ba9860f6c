// wq/options.hpp: what a job is enqueued with and what a queue is configured with, as aggregates
// for designated initialisers: queue.enqueue("hello", {.delay = 5s, .unique = {"key"}}).
//
// Bytes in them are borrowed until the call returns. Thread model: plain values.
#pragma once

#include <initializer_list>
#include <list>
#include <memory>
#include <vector>

#include "core.hpp"

namespace wq {
inline namespace hpp1 {

// ---- jobs

// Delay before the n-th retry.
struct Backoff {
  std::uint32_t kind = 0;  // 0: the queue's in a job, none in a queue; else WQ_BACKOFF_...
  Millis base{};
  Millis max{};
  std::vector<Millis> list;
  std::uint32_t jitter_permille = 0;  // up to so much of a delay is left off by chance

  static Backoff fixed(Millis delay, std::uint32_t jitter_permille = 0) {
    return {WQ_BACKOFF_FIXED, delay, {}, {}, jitter_permille};
  }
  static Backoff exponential(Millis base, Millis max, std::uint32_t jitter_permille = 0) {
    return {WQ_BACKOFF_EXPONENTIAL, base, max, {}, jitter_permille};
  }
  static Backoff of_list(std::vector<Millis> list, std::uint32_t jitter_permille = 0) {
    return {WQ_BACKOFF_LIST, {}, {}, std::move(list), jitter_permille};
  }
};

enum class UniqueUntil : std::uint32_t {
  by_default = 0,
  started = WQ_UNIQUE_STARTED,
  done = WQ_UNIQUE_DONE,
  gone = WQ_UNIQUE_GONE,
};

struct UniqueKey {
  Bytes key;
  UniqueUntil until = UniqueUntil::by_default;
  Millis ttl{};
};

struct DebounceKey {
  Bytes key;
  Millis window{};
  Millis max{};
};

struct IdempotencyKey {
  Bytes key;
  Millis window{};
};

struct Group {
  Bytes key;
  std::uint32_t limit = 0;  // 0: the queue's
};

struct NextJob;

// Jobs that follow one another: {{"queue", "payload"}, {"", "payload"}}.
class Chain {
 public:
  Chain() = default;
  Chain(std::initializer_list<NextJob> jobs);
  Chain& add(NextJob job);
  std::span<const NextJob> jobs() const;
  bool empty() const { return !jobs_; }

 private:
  std::shared_ptr<std::vector<NextJob>> jobs_;  // a job has a chain, and a chain has jobs
};

// As the fields of wq_job_spec; what is left alone takes the default of the queue.
struct JobOptions {
  Millis delay{};
  std::optional<Time> run_at = {};
  std::optional<std::uint32_t> priority = {};  // 0..255, 0 goes first; default 100
  std::uint32_t max_attempts = 0;
  Backoff backoff = {};
  std::vector<Header> headers = {};
  UniqueKey unique = {};
  DebounceKey debounce = {};
  IdempotencyKey idempotency = {};
  Group group = {};
  std::uint64_t flow = 0;
  Chain chain = {};
  std::optional<Time> expires_at = {};
  std::optional<Time> retry_until = {};
  Millis timeout{};
  std::uint32_t max_exceptions = 0;
  bool fail_on_timeout = false;
  bool dry_run = false;
};

// One of several jobs to enqueue.
struct NewJob {
  Bytes payload;
  JobOptions options = {};
};

// A job of a chain, or what the end of a flow enqueues. Empty `queue`: that of the job before.
struct NextJob {
  std::string queue;
  Bytes payload;
  JobOptions options = {};
};

inline Chain::Chain(std::initializer_list<NextJob> jobs) {
  if (jobs.size() != 0) jobs_ = std::make_shared<std::vector<NextJob>>(jobs);
}
inline Chain& Chain::add(NextJob job) {
  // Copies of a chain are chains of their own.
  jobs_ = jobs_ ? std::make_shared<std::vector<NextJob>>(*jobs_)
                : std::make_shared<std::vector<NextJob>>();
  jobs_->push_back(std::move(job));
  return *this;
}
inline std::span<const NextJob> Chain::jobs() const {
  return jobs_ ? std::span<const NextJob>(*jobs_) : std::span<const NextJob>();
}

namespace detail {

// wq_job_specs, and all that they point to. Grows by add(); data() is good until the next add().
class SpecArray {
 public:
  void reserve(std::size_t count) { specs_.reserve(count); }

  void add(Bytes payload, const JobOptions& options) { specs_.push_back(make(payload, options)); }
  const wq_job_spec* data() const { return specs_.data(); }
  std::size_t size() const { return specs_.size(); }

  // `chain` is taken along.
  wq_job_spec make(Bytes payload, const JobOptions& options) {
    wq_job_spec spec = WQ_JOB_SPEC_INIT;
    spec.payload = payload.raw();
    spec.delay_ms = options.delay.count();
    spec.run_at_ms = to_ms(options.run_at);
    if (options.priority) spec.flags |= WQ_JOB_PRIORITY;
    if (options.fail_on_timeout) spec.flags |= WQ_JOB_FAIL_ON_TIMEOUT;
    if (options.dry_run) spec.flags |= WQ_JOB_DRY_RUN;
    spec.priority = options.priority.value_or(0);
    spec.max_attempts = options.max_attempts;
    spec.expires_at_ms = to_ms(options.expires_at);
    spec.retry_until_ms = to_ms(options.retry_until);
    spec.timeout_ms = options.timeout.count();
    spec.max_exceptions = options.max_exceptions;
    spec.flow = options.flow;
    spec.group = options.group.key.raw();
    spec.group_limit = options.group.limit;
    set_backoff(spec, options.backoff);
    set_keys(spec, options);
    set_headers(spec, options.headers);
    if (!options.chain.empty()) set_chain(spec, options.chain.jobs());
    return spec;
  }

  wq_next_job next(const NextJob& job) {
    wq_next_job next = WQ_NEXT_JOB_INIT;
    next.queue_name = Bytes(job.queue).raw();
    nested_.push_back(make(job.payload, job.options));
    next.spec = &nested_.back();
    return next;
  }

 private:
  void set_backoff(wq_job_spec& spec, const Backoff& backoff) {
    spec.backoff_kind = backoff.kind;
    spec.backoff_base_ms = backoff.base.count();
    spec.backoff_max_ms = backoff.max.count();
    spec.backoff_jitter_permille = backoff.jitter_permille;
    spec.backoff_count = static_cast<std::uint32_t>(backoff.list.size());
    if (backoff.list.empty()) return;
    std::vector<std::int64_t>& list = lists_.emplace_back();
    for (const Millis delay : backoff.list) list.push_back(delay.count());
    spec.backoff_list_ms = list.data();
  }

  static void set_keys(wq_job_spec& spec, const JobOptions& options) {
    spec.unique_key = options.unique.key.raw();
    spec.unique_ttl_ms = options.unique.ttl.count();
    spec.unique_until = static_cast<std::uint32_t>(options.unique.until);
    spec.debounce_key = options.debounce.key.raw();
    spec.debounce_ms = options.debounce.window.count();
    spec.debounce_max_ms = options.debounce.max.count();
    spec.idempotency_key = options.idempotency.key.raw();
    spec.idempotency_ms = options.idempotency.window.count();
  }

  void set_headers(wq_job_spec& spec, const std::vector<Header>& headers) {
    spec.headers_count = headers.size();
    if (headers.empty()) return;
    std::vector<wq_header>& raw = headers_.emplace_back();
    for (const Header& header : headers) raw.push_back({header.name.raw(), header.value.raw()});
    spec.headers = raw.data();
  }

  void set_chain(wq_job_spec& spec, std::span<const NextJob> chain) {
    std::vector<wq_next_job>& raw = chains_.emplace_back();
    for (const NextJob& job : chain) raw.push_back(next(job));
    spec.chain = raw.data();
    spec.chain_count = raw.size();
    spec.chain_size = sizeof(wq_next_job);
  }

  std::vector<wq_job_spec> specs_;
  std::list<wq_job_spec> nested_;  // lists: what is pointed to stays; empty they cost nothing
  std::list<std::vector<std::int64_t>> lists_;
  std::list<std::vector<wq_header>> headers_;
  std::list<std::vector<wq_next_job>> chains_;
};

}  // namespace detail

// ---- queues

enum class QueueStatus : std::uint32_t {
  active = WQ_STATUS_ACTIVE,
  paused = WQ_STATUS_PAUSED,
  disabled = WQ_STATUS_DISABLED,
};

// `count` jobs may begin within any `window`, `burst` of them at once after an idle time.
struct Rate {
  std::uint32_t count = 0;  // 0: no limit
  Millis window{};
  std::uint32_t burst = 0;
};

struct KeepDone {
  std::uint32_t count = 0;
  Millis age{};
};

// As wq_queue_config. To change: only what is set counts. As read: all is set. With `version` a
// change is refused (Outcome::conflict) if the version is another one by then.
struct QueueConfig {
  std::optional<std::uint32_t> max_running = {};
  std::optional<std::uint32_t> max_retries = {};
  std::optional<Millis> lease = {};
  std::optional<Durability> durability = {};
  std::optional<Backoff> backoff = {};
  std::optional<Millis> job_ttl = {};
  std::optional<std::uint64_t> max_depth = {};
  std::optional<std::uint64_t> max_bytes = {};
  std::optional<bool> drop_oldest = {};  // what a full queue does; false: it refuses
  std::optional<std::uint64_t> dead_max_count = {};
  std::optional<Millis> dead_max_age = {};
  std::optional<KeepDone> keep_done = {};
  std::optional<Rate> rate = {};
  std::optional<std::uint32_t> group_limit = {};
  std::optional<std::uint64_t> version = {};
  QueueStatus status = QueueStatus::active;  // only as read
  bool consumers_paused = false;             // only as read: paused, also behind "disabled"
};

namespace detail {

template <typename From, typename To>
void set_field(wq_queue_config& raw, std::uint32_t bit, const std::optional<From>& from, To& to) {
  if (!from) return;
  raw.fields |= bit;
  if constexpr (std::same_as<From, Millis>) {
    to = from->count();
  } else {
    to = static_cast<To>(*from);
  }
}

inline void set_backoff_field(wq_queue_config& raw, const Backoff& backoff) {
  raw.fields |= WQ_CONFIG_BACKOFF;
  raw.backoff_kind = backoff.kind;
  raw.backoff_base_ms = backoff.base.count();
  raw.backoff_max_ms = backoff.max.count();
  raw.backoff_jitter_permille = backoff.jitter_permille;
  raw.backoff_count = static_cast<std::uint32_t>(backoff.list.size());
  const std::size_t kept = std::min<std::size_t>(backoff.list.size(), WQ_BACKOFF_LIST_MAX);
  for (std::size_t i = 0; i < kept; i++) raw.backoff_list_ms[i] = backoff.list[i].count();
}

inline wq_queue_config to_raw(const QueueConfig& config) {
  wq_queue_config raw = WQ_QUEUE_CONFIG_INIT;
  set_field(raw, WQ_CONFIG_MAX_RUNNING, config.max_running, raw.max_running);
  set_field(raw, WQ_CONFIG_MAX_RETRIES, config.max_retries, raw.max_retries);
  set_field(raw, WQ_CONFIG_LEASE_MS, config.lease, raw.lease_ms);
  set_field(raw, WQ_CONFIG_DURABILITY, config.durability, raw.durability);
  set_field(raw, WQ_CONFIG_JOB_TTL, config.job_ttl, raw.job_ttl_ms);
  set_field(raw, WQ_CONFIG_MAX_DEPTH, config.max_depth, raw.max_depth);
  set_field(raw, WQ_CONFIG_MAX_BYTES, config.max_bytes, raw.max_bytes);
  set_field(raw, WQ_CONFIG_FULL_POLICY, config.drop_oldest, raw.full_policy);
  set_field(raw, WQ_CONFIG_DEAD_MAX_COUNT, config.dead_max_count, raw.dead_max_count);
  set_field(raw, WQ_CONFIG_DEAD_MAX_AGE, config.dead_max_age, raw.dead_max_age_ms);
  set_field(raw, WQ_CONFIG_GROUP_LIMIT, config.group_limit, raw.group_limit);
  set_field(raw, WQ_CONFIG_VERSION, config.version, raw.version);
  if (config.backoff) set_backoff_field(raw, *config.backoff);
  if (config.keep_done) {
    raw.fields |= WQ_CONFIG_KEEP_DONE;
    raw.keep_done_count = config.keep_done->count;
    raw.keep_done_age_ms = config.keep_done->age.count();
  }
  if (config.rate) {
    raw.fields |= WQ_CONFIG_RATE;
    raw.rate_count = config.rate->count;
    raw.rate_window_ms = config.rate->window.count();
    raw.rate_burst = config.rate->burst;
  }
  return raw;
}

inline QueueConfig from_raw(const wq_queue_config& raw) {
  QueueConfig config;
  config.max_running = raw.max_running;
  config.max_retries = raw.max_retries;
  config.lease = Millis(raw.lease_ms);
  config.durability = static_cast<Durability>(raw.durability);
  Backoff backoff{raw.backoff_kind,
                  Millis(raw.backoff_base_ms),
                  Millis(raw.backoff_max_ms),
                  {},
                  raw.backoff_jitter_permille};
  for (std::uint32_t i = 0; i < raw.backoff_count; i++) {
    backoff.list.emplace_back(raw.backoff_list_ms[i]);
  }
  config.backoff = std::move(backoff);
  config.job_ttl = Millis(raw.job_ttl_ms);
  config.max_depth = raw.max_depth;
  config.max_bytes = raw.max_bytes;
  config.drop_oldest = raw.full_policy == WQ_FULL_DROP_OLDEST;
  config.dead_max_count = raw.dead_max_count;
  config.dead_max_age = Millis(raw.dead_max_age_ms);
  config.keep_done = KeepDone{raw.keep_done_count, Millis(raw.keep_done_age_ms)};
  config.rate = Rate{raw.rate_count, Millis(raw.rate_window_ms), raw.rate_burst};
  config.group_limit = raw.group_limit;
  config.version = raw.version;
  config.status = static_cast<QueueStatus>(raw.status);
  config.consumers_paused = raw.consumers_paused != 0;
  return config;
}

}  // namespace detail
}  // namespace hpp1
}  // namespace wq
