#include "cli/queue_view.h"

#include <iterator>

#include "cli/failure.h"
#include "cli/job_draft.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

void add_limits(Record& record, const wq_queue_config& config) {
  record.add("max_depth", config.max_depth)
      .add("max_bytes", config.max_bytes)
      .add("full_policy", full_policy_name(config.full_policy))
      .add("dead_max_count", config.dead_max_count)
      .add("dead_max_age_ms", config.dead_max_age_ms)
      .add("encrypt", config.encrypt != 0)
      .add("compress_min_bytes", config.compress_min_bytes);
}

void add_config(Record& record, const wq_queue_config& config) {
  List list;
  for (uint32_t i = 0; i < config.backoff_count && i < WQ_BACKOFF_LIST_MAX; ++i) {
    list.emplace_back(config.backoff_list_ms[i]);
  }
  constexpr const char* kinds[] = {"none", "fixed", "exponential", "list"};
  Record backoff;
  backoff
      .add("kind", config.backoff_kind < std::size(kinds) ? kinds[config.backoff_kind] : "unknown")
      .add("base_ms", config.backoff_base_ms)
      .add("max_ms", config.backoff_max_ms)
      .add("list_ms", std::move(list))
      .add("jitter_permille", config.backoff_jitter_permille);
  record.add("status", status_name(config.status))
      .add("consumers_paused", config.consumers_paused != 0)
      .add("max_running", config.max_running)
      .add("max_retries", config.max_retries)
      .add("lease_ms", config.lease_ms)
      .add("durability", durability_name(config.durability))
      .add("backoff", std::move(backoff))
      .add("job_ttl_ms", config.job_ttl_ms)
      .add("keep_done_count", config.keep_done_count)
      .add("keep_done_age_ms", config.keep_done_age_ms)
      .add("version", config.version);
  add_limits(record, config);
  Record rate;
  rate.add("count", config.rate_count)
      .add("window_ms", config.rate_window_ms)
      .add("burst", config.rate_burst);
  Record key_rate;
  key_rate.add("count", config.key_rate_count)
      .add("window_ms", config.key_rate_window_ms)
      .add("burst", config.key_rate_burst);
  Record throttle;
  throttle.add("count", config.throttle_count)
      .add("window_ms", config.throttle_window_ms)
      .add("cool_ms", config.throttle_cool_ms);
  record.add("rate", std::move(rate))
      .add("key_rate", std::move(key_rate))
      .add("throttle", std::move(throttle))
      .add("group_limit", config.group_limit);
}

// "100,000 jobs, 1.0 GiB, drop-oldest"
std::string limits_text(const wq_queue_config& config) {
  std::string text;
  if (config.max_depth != 0) text = plural(config.max_depth, "job");
  if (config.max_bytes != 0) text += (text.empty() ? "" : ", ") + format_bytes(config.max_bytes);
  if (text.empty()) return "no limit";
  return text + ", " + full_policy_name(config.full_policy);
}

// "encrypted, compressed from 4.0 KiB"
std::string packing_text(const wq_queue_config& config) {
  std::string text = config.encrypt != 0 ? "encrypted" : "";
  if (config.compress_min_bytes != 0) {
    text += (text.empty() ? "" : ", ") + std::string("compressed from ") +
            format_bytes(config.compress_min_bytes);
  }
  return text.empty() ? "as given" : text;
}

std::string dead_caps_text(const wq_queue_config& config) {
  std::string text;
  if (config.dead_max_count != 0) text = format_count(config.dead_max_count);
  if (config.dead_max_age_ms != 0) {
    text += (text.empty() ? "" : ", ") + format_exact_duration(config.dead_max_age_ms);
  }
  return text.empty() ? "no limit" : text;
}

}  // namespace

const char* full_policy_name(uint32_t policy) {
  return policy == WQ_FULL_DROP_OLDEST ? "drop-oldest" : "refuse";
}

const char* status_name(uint32_t status) {
  constexpr const char* names[] = {"active", "paused", "disabled"};
  return status < std::size(names) ? names[status] : "unknown";
}

std::string status_problem(const std::string& name, uint32_t status) {
  const std::string shown = printable(name, 60);
  const bool paused = status == WQ_STATUS_PAUSED;
  return "queue '" + shown + "' is " + status_name(status) + "; wq queue " +
         (paused ? "resume " : "enable ") + shown;
}

std::string why_jobs_wait(const std::string& name, wq_queue* queue, int32_t& code) {
  wq_error err = WQ_ERROR_INIT;
  wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
  wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
  check(wq_queue_get_config(queue, &config, &err), err);
  check(wq_queue_get_stats(queue, &stats, &err), err);
  const uint64_t held = stats.leased + stats.running;
  const bool at_limit = config.max_running != 0 && held >= config.max_running;
  const bool all_parked = stats.parked == stats.ready;
  const bool waits = at_limit || all_parked || stats.rate_wait_ms > 0;
  code = WQ_OK;
  if (stats.ready == 0 || (stats.status == WQ_STATUS_ACTIVE && !waits)) return "";
  const std::string waiting = plural(stats.ready, "job") + (stats.ready == 1 ? " waits" : " wait");
  if (stats.status != WQ_STATUS_ACTIVE) {
    code = stats.status == WQ_STATUS_PAUSED ? WQ_PAUSED : WQ_DISABLED;
    return waiting + ": " + status_problem(name, stats.status);
  }
  code = WQ_E_FULL;
  const std::string shown = printable(name, 60);
  if (!at_limit && all_parked && stats.rate_wait_ms == 0) {
    return waiting + " for others of the same group, of which queue '" + shown +
           "' runs as many as it may; settle them, or wq queue set " + shown + " --group-limit N";
  }
  if (!at_limit) {
    return waiting + ": the rate of queue '" + shown +
           (all_parked ? "' or of its rate keys, or their throttle," : "'") +
           " allows the next one in " + format_duration(stats.rate_wait_ms) + "; wq queue set " +
           shown + (all_parked ? " --key-rate RATE, --throttle THROTTLE" : " --rate RATE");
  }
  return waiting + ": queue '" + shown + "' has " + format_count(held) +
         " leased or running, as many as its max running allows; settle them, or wq queue set " +
         shown + " --max-running N";
}

void tell_configs(Context& context, const Store& store, const std::vector<std::string>& names) {
  using Align = Table::Align;
  Table table({{"queue"},
               {"status"},
               {"max running", Align::right},
               {"max retries", Align::right},
               {"lease", Align::right},
               {"durability"},
               {"backoff"},
               {"job ttl", Align::right},
               {"limit"},
               {"dead letters"},
               {"payloads"},
               {"rate"},
               {"key rate"},
               {"throttle"},
               {"group limit", Align::right},
               {"version", Align::right}});
  for (const std::string& name : names) {
    wq_error err = WQ_ERROR_INIT;
    wq_queue_config config = WQ_QUEUE_CONFIG_INIT;
    const Queue queue = context.open_queue(store, name, OpenMode::must_exist);
    check(wq_queue_get_config(queue.get(), &config, &err), err);
    if (context.out().json()) {
      Record record;
      add_config(record.add_bytes("queue", name), config);
      context.out().record(record);
    } else {
      const bool both = config.status == WQ_STATUS_DISABLED && config.consumers_paused != 0;
      table.add(
          {printable(name, 60), both ? "disabled, paused" : status_name(config.status),
           config.max_running == 0 ? "no limit" : format_count(config.max_running),
           format_count(config.max_retries), format_exact_duration(config.lease_ms),
           durability_name(config.durability), backoff_text(config),
           config.job_ttl_ms == 0 ? "none" : format_exact_duration(config.job_ttl_ms),
           limits_text(config), dead_caps_text(config),
           rate_text({config.rate_count, config.rate_burst, config.rate_window_ms}),
           rate_text({config.key_rate_count, config.key_rate_burst, config.key_rate_window_ms}),
           throttle_text(
               {config.throttle_count, config.throttle_window_ms, config.throttle_cool_ms}),
           format_count(config.group_limit), packing_text(config), std::to_string(config.version)});
    }
  }
  if (!table.empty()) table.print(context.out());
}

}  // namespace wq::cli
