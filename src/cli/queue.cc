// wq queue: configuration and status of one queue. What removes jobs asks for --yes.
#include "cli/commands.h"
#include "cli/failure.h"
#include "cli/job_draft.h"
#include "cli/job_view.h"
#include "cli/made_queues.h"
#include "cli/queue_view.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

void set_limits(const QueueSetOptions& options, wq_queue_config& config) {
  if (options.max_depth >= 0) {
    config.fields |= WQ_CONFIG_MAX_DEPTH;
    config.max_depth = static_cast<uint64_t>(options.max_depth);
  }
  if (!options.max_bytes.empty()) {
    config.fields |= WQ_CONFIG_MAX_BYTES;
    config.max_bytes = parse_size("--max-bytes", options.max_bytes);
  }
  if (!options.full_policy.empty()) {
    config.fields |= WQ_CONFIG_FULL_POLICY;
    config.full_policy = options.full_policy == "refuse" ? WQ_FULL_REFUSE : WQ_FULL_DROP_OLDEST;
  }
  if (options.dead_max >= 0) {
    config.fields |= WQ_CONFIG_DEAD_MAX_COUNT;
    config.dead_max_count = static_cast<uint64_t>(options.dead_max);
  }
  if (!options.dead_age.empty()) {
    config.fields |= WQ_CONFIG_DEAD_MAX_AGE;
    config.dead_max_age_ms = parse_duration_ms("--dead-age", options.dead_age);
  }
}

void set_packing(const QueueSetOptions& options, wq_queue_config& config) {
  if (!options.encrypt.empty()) {
    config.fields |= WQ_CONFIG_ENCRYPT;
    config.encrypt = options.encrypt == "on";
  }
  if (options.compress.empty()) return;
  config.fields |= WQ_CONFIG_COMPRESS;
  if (options.compress == "off") return;
  const uint64_t bytes = parse_size("--compress", options.compress);
  if (bytes > UINT32_MAX) fail_usage("--compress: is over 256 MiB");
  config.compress_min_bytes = static_cast<uint32_t>(bytes);
}

wq_queue_config wanted_config(const QueueSetOptions& options) {
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  if (options.max_running >= 0) {
    config.fields |= WQ_CONFIG_MAX_RUNNING;
    config.max_running = static_cast<uint32_t>(options.max_running);
  }
  if (options.max_retries >= 0) {
    config.fields |= WQ_CONFIG_MAX_RETRIES;
    config.max_retries = static_cast<uint32_t>(options.max_retries);
  }
  if (!options.lease.empty()) {
    config.fields |= WQ_CONFIG_LEASE_MS;
    config.lease_ms = parse_lease_ms(options.lease);
  }
  if (!options.durability.empty()) {
    config.fields |= WQ_CONFIG_DURABILITY;
    config.durability = durability_of("--durability", options.durability);
  }
  if (!options.job_ttl.empty()) {
    config.fields |= WQ_CONFIG_JOB_TTL;
    config.job_ttl_ms = parse_duration_ms("--job-ttl", options.job_ttl);
  }
  if (options.keep_done >= 0 || !options.keep_done_for.empty()) {
    config.fields |= WQ_CONFIG_KEEP_DONE;
    if (options.keep_done > 0) config.keep_done_count = static_cast<uint32_t>(options.keep_done);
    if (!options.keep_done_for.empty()) {
      config.keep_done_age_ms = parse_duration_ms("--keep-done-for", options.keep_done_for);
    }
  }
  if (!options.backoff.empty()) {
    const Backoff backoff = parse_backoff("--backoff", options.backoff);
    config.fields |= WQ_CONFIG_BACKOFF;
    config.backoff_kind = backoff.kind;
    config.backoff_jitter_permille = backoff.jitter_permille;
    config.backoff_base_ms = backoff.base_ms;
    config.backoff_max_ms = backoff.max_ms;
    config.backoff_count = static_cast<uint32_t>(backoff.list_ms.size());
    for (size_t i = 0; i < backoff.list_ms.size() && i < WQ_BACKOFF_LIST_MAX; ++i) {
      config.backoff_list_ms[i] = backoff.list_ms[i];
    }
  }
  set_limits(options, config);
  set_packing(options, config);
  if (!options.rate.empty()) set_rate(options.rate, config);
  if (!options.key_rate.empty()) {
    config.fields |= WQ_CONFIG_KEY_RATE;
    const RateParts rate = parse_rate("--key-rate", options.key_rate);
    config.key_rate_count = rate.count;
    config.key_rate_burst = rate.burst;
    config.key_rate_window_ms = rate.window_ms;
  }
  if (!options.throttle.empty()) {
    config.fields |= WQ_CONFIG_THROTTLE;
    const ThrottleParts throttle = parse_throttle("--throttle", options.throttle);
    config.throttle_count = throttle.count;
    config.throttle_window_ms = throttle.window_ms;
    config.throttle_cool_ms = throttle.cool_ms;
  }
  if (options.group_limit >= 0) {
    config.fields |= WQ_CONFIG_GROUP_LIMIT;
    config.group_limit = static_cast<uint32_t>(options.group_limit);
  }
  return config;
}

uint32_t states_of(const std::vector<std::string>& names) {
  uint32_t states = 0;
  for (const std::string& name : names) {
    uint32_t state = WQ_STATE_READY;
    while (state <= WQ_STATE_DEAD && name != state_name(state)) ++state;
    if (state > WQ_STATE_DEAD) {
      fail_usage("--state: '" + printable(name, 60) +
                 "' is none of ready, delayed, leased, running, dead");
    }
    states |= WQ_STATE_BIT(state);
  }
  return states != 0 ? states : WQ_STATE_BIT(WQ_STATE_READY) | WQ_STATE_BIT(WQ_STATE_DELAYED);
}

wq_queue_stats stats_of(const Queue& queue) {
  wq_error err = WQ_ERROR_INIT;
  wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
  check(wq_queue_get_stats(queue.get(), &stats, &err), err);
  return stats;
}

// How many jobs are in one of the states, and how: "3 ready, 1 dead". Empty if there is none.
std::string jobs_in(const wq_queue_stats& stats, uint32_t states) {
  const uint64_t counts[] = {0,         stats.ready, stats.delayed, stats.leased, stats.running,
                             stats.dead};
  std::string text;
  for (uint32_t state = WQ_STATE_READY; state <= WQ_STATE_DEAD; ++state) {
    if ((states & WQ_STATE_BIT(state)) == 0 || counts[state] == 0) continue;
    text += (text.empty() ? "" : ", ") + format_count(counts[state]) + " " + state_name(state);
  }
  return text;
}

int clear_queue(Context& context, const Queue& queue, const QueueOptions& options) {
  const uint32_t states = states_of(options.states);
  const std::string jobs = jobs_in(stats_of(queue), states);
  if (jobs.empty()) {
    if (context.out().json()) context.out().record(Record().add("removed", 0));
    context.out().note("no job to remove");
    return exit_empty;
  }
  if (!options.yes) {
    fail(exit_usage, "this would remove the jobs of " + printable(options.queue, 60) + " (" + jobs +
                         ") for ever; say --yes to do it");
  }
  wq_error err = WQ_ERROR_INIT;
  uint64_t removed = 0;
  check(wq_queue_clear(queue.get(), states, &removed, nullptr, &err), err);
  if (context.out().json()) context.out().record(Record().add("removed", removed));
  context.out().note("removed " + plural(removed, "job"));
  return exit_ok;
}

int remove_queue(Context& context, const Queue& queue, const QueueOptions& options) {
  constexpr uint32_t all_states = WQ_STATE_BIT(WQ_STATE_DEAD + 1) - WQ_STATE_BIT(WQ_STATE_READY);
  if (!options.yes) {
    const std::string jobs = jobs_in(stats_of(queue), all_states);
    fail(exit_usage, "this would delete " + printable(options.queue, 60) + " and all its jobs (" +
                         (jobs.empty() ? "it has none" : jobs) + ") for ever; say --yes to do it");
  }
  wq_error err = WQ_ERROR_INIT;
  check(wq_queue_delete(queue.get(), nullptr, &err), err);
  if (context.out().json()) {
    context.out().record(Record().add_bytes("queue", options.queue).add("deleted", true));
  }
  context.out().note("deleted queue " + printable(options.queue, 60));
  return exit_ok;
}

int change_status(Context& context, const Store& store, const Queue& queue, QueueAction action,
                  const QueueOptions& options) {
  wq_error err = WQ_ERROR_INIT;
  int32_t code = WQ_E_INVALID;
  if (action == QueueAction::pause) code = wq_queue_pause(queue.get(), nullptr, &err);
  if (action == QueueAction::resume) code = wq_queue_resume(queue.get(), nullptr, &err);
  if (action == QueueAction::disable) code = wq_queue_disable(queue.get(), nullptr, &err);
  if (action == QueueAction::enable) code = wq_queue_enable(queue.get(), nullptr, &err);
  check(code, err);
  tell_configs(context, store, {options.queue});
  return exit_ok;
}

}  // namespace

int run_queue_set(Context& context, const QueueSetOptions& options) {
  wq_queue_config config = wanted_config(options);
  if (config.fields == 0) {
    fail_usage(
        "queue set: say what to change: --max-running, --max-retries, --lease, --backoff, "
        "--durability, --job-ttl, --max-depth, --max-bytes, --full-policy, --dead-max, "
        "--dead-age, --rate, --key-rate, --throttle, --group-limit, --keep-done, "
        "--keep-done-for, --encrypt, --compress");
  }
  if (options.version >= 0) {
    config.fields |= WQ_CONFIG_VERSION;
    config.version = static_cast<uint64_t>(options.version);
  }
  const Store store = context.open_store({OpenMode::create, false, 0});
  MadeQueues made(context, store);
  const Queue queue = made.open(options.queue);
  wq_error err = WQ_ERROR_INIT;
  const int32_t code = wq_queue_configure(queue.get(), &config, nullptr, &err);
  made.ended(code);
  check(code, err);
  tell_configs(context, store, {options.queue});
  return exit_ok;
}

int run_queue(Context& context, QueueAction action, const QueueOptions& options) {
  const Store store = context.open_store();
  const Queue queue = context.open_queue(store, options.queue, OpenMode::must_exist);
  switch (action) {
    case QueueAction::show:
      tell_configs(context, store, {options.queue});
      return exit_ok;
    case QueueAction::clear:
      return clear_queue(context, queue, options);
    case QueueAction::remove:
      return remove_queue(context, queue, options);
    default:
      return change_status(context, store, queue, action, options);
  }
}

}  // namespace wq::cli
