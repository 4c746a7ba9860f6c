#include "cli/job_keys.h"

#include <iterator>

#include "cli/failure.h"
#include "cli/handles.h"
#include "cli/text.h"

namespace wq::cli {
namespace {

constexpr size_t key_bytes_max = 512;
constexpr int64_t time_max_ms = int64_t{100} * 365 * 24 * 3600 * 1000;

int64_t time_of(const char* option, const std::string& text) {
  return text.empty() ? 0 : parse_duration_ms(option, text);
}

std::string key_problem(const char* name, const std::string& key) {
  if (key.size() <= key_bytes_max) return "";
  return std::string(name) + ": over 512 bytes";
}

}  // namespace

JobKeys parse_keys(const KeyOptions& options) {
  JobKeys keys;
  keys.unique = options.unique;
  if (options.until == "started") keys.unique_until = WQ_UNIQUE_STARTED;
  if (options.until == "done") keys.unique_until = WQ_UNIQUE_DONE;
  if (options.until == "gone") keys.unique_until = WQ_UNIQUE_GONE;
  keys.unique_ttl_ms = time_of("--unique-ttl", options.unique_ttl);
  keys.debounce = options.debounce;
  keys.debounce_ms = time_of("--window", options.debounce_window);
  keys.debounce_max_ms = time_of("--max-wait", options.debounce_max);
  keys.idempotency = options.idempotency;
  const std::string within = options.idempotency_window.empty() ? "1d" : options.idempotency_window;
  if (!keys.idempotency.empty()) keys.idempotency_ms = time_of("--within", within);
  if (!keys.debounce.empty() && keys.debounce_ms == 0) {
    fail_usage("--debounce: needs --window, how long to wait for a further job");
  }
  return keys;
}

std::string keys_problem(const JobKeys& keys, bool has_time) {
  for (const int64_t time_ms :
       {keys.unique_ttl_ms, keys.debounce_ms, keys.debounce_max_ms, keys.idempotency_ms}) {
    if (time_ms < 0 || time_ms > time_max_ms) return "keys: a time is outside 0 to 100 years";
  }
  const std::string problems[] = {key_problem("unique", keys.unique),
                                  key_problem("debounce", keys.debounce),
                                  key_problem("idempotency", keys.idempotency)};
  for (const std::string& problem : problems) {
    if (!problem.empty()) return problem;
  }
  if (keys.debounce.empty()) return "";
  if (!keys.unique.empty()) return "debounce: not together with unique";
  if (has_time) return "debounce: not together with delay_ms or run_at_ms";
  if (keys.debounce_max_ms != 0 && keys.debounce_max_ms < keys.debounce_ms) {
    return "debounce: its maximum is below its window";
  }
  return "";
}

void fill_keys(const JobKeys& keys, wq_job_spec& spec) {
  spec.unique_key = bytes_of(keys.unique);
  spec.unique_until = keys.unique_until;
  spec.unique_ttl_ms = keys.unique_ttl_ms;
  spec.debounce_key = bytes_of(keys.debounce);
  spec.debounce_ms = keys.debounce_ms;
  spec.debounce_max_ms = keys.debounce_max_ms;
  spec.idempotency_key = bytes_of(keys.idempotency);
  spec.idempotency_ms = keys.idempotency_ms;
}

}  // namespace wq::cli
