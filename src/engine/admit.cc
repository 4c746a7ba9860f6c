#include "engine/admit.h"

#include <algorithm>

#include "base/planted.h"
#include "engine/engine.h"

namespace wq {
namespace {

Status invalid(std::string message) {
  return Status(Code::invalid, std::move(message));
}

}  // namespace

Status admit_queue_name(std::string_view name) {
  if (name.empty()) return invalid("queue name: is empty, give 1 to 255 bytes");
  if (name.size() > queue_name_bytes_max) {
    return Status(Code::too_large,
                  "queue name: has " + std::to_string(name.size()) + " bytes, the limit is 255");
  }
  if (!queue_name_valid(name)) {
    return invalid("queue name: must be UTF-8 without control characters");
  }
  return {};
}

Status admit_delay_ms(const char* field, int64_t delay_ms) {
  if (delay_ms >= 0 && delay_ms <= delay_ms_max) return {};
  return invalid(std::string(field) + ": " + std::to_string(delay_ms) +
                 " is not within 0 ms and 100 years");
}

Status admit_lease_ms(const char* field, int64_t lease_ms) {
  if (lease_ms >= 1 && lease_ms <= lease_ms_max) return {};
  return invalid(std::string(field) + ": " + std::to_string(lease_ms) +
                 " is not within 1 ms and 100 years");
}

Status admit_backoff(const Backoff& backoff) {
  if (backoff.jitter_permille > jitter_permille_max) {
    return invalid("backoff_jitter_permille: is not within 0 and 1000");
  }
  if (backoff.jitter_permille != 0 && backoff.kind == BackoffKind::none) {
    return invalid("backoff_jitter_permille: there is no backoff for it");
  }
  switch (backoff.kind) {
    case BackoffKind::none:
      return {};
    case BackoffKind::fixed:
      return admit_delay_ms("backoff_base_ms", backoff.base_ms);
    case BackoffKind::exponential:
      WQ_TRY(admit_delay_ms("backoff_base_ms", backoff.base_ms));
      WQ_TRY(admit_delay_ms("backoff_max_ms", backoff.max_ms));
      if (backoff.max_ms < backoff.base_ms) {
        return invalid("backoff_max_ms: is below backoff_base_ms");
      }
      return {};
    case BackoffKind::list:
      if (backoff.list_ms.empty() || backoff.list_ms.size() > backoff_list_max) {
        return invalid("backoff_list_ms: has " + std::to_string(backoff.list_ms.size()) +
                       " entries, give 1 to 32");
      }
      for (const int64_t delay_ms : backoff.list_ms) {
        WQ_TRY(admit_delay_ms("backoff_list_ms", delay_ms));
      }
      return {};
  }
  return invalid("backoff_kind: unknown value");
}

namespace {

// `name` is that of its fields, which the caller knows it by.
Status admit_rate(const RateLimit& rate, const std::string& name) {
  if (rate.count == 0) {
    return rate == RateLimit() ? Status()
                               : invalid(name + "_count: is 0, but there is a window or burst");
  }
  if (rate.count > rate_count_max) {
    return invalid(name + "_count: " + std::to_string(rate.count) +
                   " is over the limit of 1000000");
  }
  if (rate.window_ms < 1 || rate.window_ms > rate_window_ms_max) {
    return invalid(name + "_window_ms: " + std::to_string(rate.window_ms) +
                   " is not within 1 ms and 366 days");
  }
  if (rate.burst >= 1 && rate.burst <= rate.count) return {};
  return invalid(name + "_burst: " + std::to_string(rate.burst) + " is not within 1 and " + name +
                 "_count");
}

Status admit_throttle(const Throttle& throttle) {
  if (throttle.count == 0) {
    return throttle == Throttle()
               ? Status()
               : invalid("throttle_count: is 0, but there is a window or a time to cool down");
  }
  if (throttle.count > throttle_count_max) {
    return invalid("throttle_count: " + std::to_string(throttle.count) +
                   " is over the limit of 100");
  }
  const auto in_range = [](int64_t ms) { return ms >= 1 && ms <= rate_window_ms_max; };
  if (!in_range(throttle.window_ms)) {
    return invalid("throttle_window_ms: " + std::to_string(throttle.window_ms) +
                   " is not within 1 ms and 366 days");
  }
  if (in_range(throttle.cool_ms)) return {};
  return invalid("throttle_cool_ms: " + std::to_string(throttle.cool_ms) +
                 " is not within 1 ms and 366 days");
}

Status admit_overlap(const JobTraits& traits) {
  if (traits.overlap > overlap_rule_last) {
    return invalid("overlap: is no WQ_OVERLAP_... constant");
  }
  if (traits.overlap != OverlapRule::park && traits.group.empty()) {
    return invalid("overlap: is set, but there is no group");
  }
  if ((traits.overlap == OverlapRule::release) != (traits.overlap_ms != 0)) {
    return invalid("overlap_ms: goes with WQ_OVERLAP_RELEASE, and is 1 or more there");
  }
  return admit_delay_ms("overlap_ms", traits.overlap_ms);
}

Status admit_group_limit(uint32_t limit, uint32_t least) {
  if (limit >= least && limit <= group_limit_max) return {};
  return invalid("group_limit: " + std::to_string(limit) + " is not within " +
                 std::to_string(least) + " and 1000000");
}

}  // namespace

Status admit_tenant(std::string_view tenant) {
  if (tenant.size() <= key_bytes_max) return {};
  return Status(Code::too_large,
                "tenant: has " + std::to_string(tenant.size()) + " bytes, the limit is 512");
}

Status admit_group(const JobTraits& traits) {
  if (traits.group.size() > key_bytes_max) {
    return Status(Code::too_large,
                  "group: has " + std::to_string(traits.group.size()) + " bytes, the limit is 512");
  }
  if (traits.group_limit != 0 && traits.group.empty()) {
    return invalid("group_limit: is set, but there is no group");
  }
  WQ_TRY(admit_overlap(traits));
  return admit_group_limit(traits.group_limit, 0);
}

Status admit_rate_key(const JobTraits& traits) {
  if (traits.rate_key.size() > key_bytes_max) {
    return Status(Code::too_large, "rate_key: has " + std::to_string(traits.rate_key.size()) +
                                       " bytes, the limit is 512");
  }
  if (traits.rate_cost < 1 || traits.rate_cost > rate_count_max) {
    return invalid("rate_cost: " + std::to_string(traits.rate_cost) +
                   " is not within 1 and 1000000");
  }
  if (traits.rate_key.empty()) {
    return traits.rate_cost == 1 ? Status()
                                 : invalid("rate_cost: is set, but there is no rate_key");
  }
  if (traits.group.empty()) return {};
  return Status(Code::unsupported, "rate_key: can not be set together with group");
}

Status admit_queue_config(const QueueConfig& config) {
  if (config.max_retries > max_retries_max) {
    return invalid("max_retries: " + std::to_string(config.max_retries) +
                   " is over the limit of 1000000");
  }
  WQ_TRY(admit_lease_ms("lease_ms", config.lease_ms));
  if (config.durability != Durability::memory && config.durability != Durability::process &&
      config.durability != Durability::power) {
    return invalid("durability: unknown level");
  }
  if (config.job_ttl_ms != 0) WQ_TRY(admit_delay_ms("job_ttl_ms", config.job_ttl_ms));
  if (config.full_policy != FullPolicy::refuse && config.full_policy != FullPolicy::drop_oldest) {
    return invalid("full_policy: unknown value");
  }
  WQ_TRY(admit_delay_ms("dead_max_age_ms", config.dead_max_age_ms));
  if (config.pause_kept && config.status != QueueStatus::disabled) {
    return invalid("consumers_paused: goes with status disabled only");
  }
  if (config.compress_min_bytes > payload_bytes_absolute_max) {
    return invalid("compress_min_bytes: is over 256 MiB");
  }
  WQ_TRY(admit_delay_ms("keep_done_age_ms", config.keep_done_age_ms));
  WQ_TRY(admit_rate(config.rate, "rate"));
  WQ_TRY(admit_rate(config.key_rate, "key_rate"));
  WQ_TRY(admit_throttle(config.throttle));
  WQ_TRY(admit_group_limit(config.group_limit, 1));
  return admit_backoff(config.backoff);
}

Status admit_traits(const JobTraits& traits) {
  if (traits.expires_ms < 0) return invalid("expires_at_ms: is negative");
  if (traits.retry_until_ms < 0) return invalid("retry_until_ms: is negative");
  return traits.timeout_ms == 0 ? Status() : admit_lease_ms("timeout_ms", traits.timeout_ms);
}

namespace {

Status admit_headers(std::span<const Header> headers) {
  if (headers.size() > headers_count_max) {
    return Status(Code::too_large,
                  "headers: there are " + std::to_string(headers.size()) + ", the limit is 1024");
  }
  size_t bytes = 0;
  for (const Header& header : headers) {
    if (header.name.empty()) return invalid("headers: a name is empty");
    if (header.name.size() > header_name_bytes_max) {
      return Status(Code::too_large, "headers: a name has " + std::to_string(header.name.size()) +
                                         " bytes, the limit is 255");
    }
    // Taken from the room and not added up: the sum of what a caller claims may not fit a size_t.
    const size_t room = headers_bytes_max - bytes;
    if (header.name.size() > room || header.value.size() > room - header.name.size()) {
      return Status(Code::too_large, "headers: names and values have over 64 KiB together");
    }
    bytes += header.name.size() + header.value.size();
  }
  return {};
}

Status admit_ahead(const char* field, int64_t time_ms, int64_t now_ms) {
  if (time_ms <= now_ms || time_ms - now_ms <= delay_ms_max) return {};
  return invalid(std::string(field) + ": is over 100 years ahead");
}

// A job that ends before it is due is a mistake; one that is late already may be the honest end of
// a slow producer, and ends at once.
Status admit_job_times(const JobSpec& spec, int64_t now_ms) {
  const JobTraits& traits = spec.traits;
  WQ_TRY(admit_traits(traits));
  WQ_TRY(admit_ahead("expires_at_ms", traits.expires_ms, now_ms));
  WQ_TRY(admit_ahead("retry_until_ms", traits.retry_until_ms, now_ms));
  const int64_t due_ms = spec.run_at_ms != 0 ? spec.run_at_ms : now_ms + spec.delay_ms;
  if (traits.expires_ms != 0 && due_ms > now_ms && traits.expires_ms <= due_ms) {
    return invalid("expires_at_ms: is not after the time at which the job is due");
  }
  return {};
}

}  // namespace

Status admit_settle(const SettleItem& item) {
  if (!is_workers_reason(item.reason)) {
    return invalid("reason: a worker gives failed, timeout, cancelled, expired or unknown_type");
  }
  if (item.result.size() > result_bytes_max) {
    return Status(Code::too_large, "result: has " + std::to_string(item.result.size()) +
                                       " bytes, the limit is 1 MiB");
  }
  if (item.kind == SettleKind::nack && item.delay_ms == -1) return {};
  if (item.kind == SettleKind::nack || item.kind == SettleKind::release) {
    return admit_delay_ms("delay_ms", item.delay_ms);
  }
  return {};
}

bool has_times(const JobSpec& spec) {
  return spec.run_at_ms != 0 || spec.traits.expires_ms != 0 || spec.traits.retry_until_ms != 0;
}

Status admit_key(const char* field, std::string_view key) {
  if (key.empty()) return invalid(std::string(field) + ": is empty");
  if (key.size() <= key_bytes_max) return {};
  return Status(Code::too_large, std::string(field) + ": has " + std::to_string(key.size()) +
                                     " bytes, the limit is " + std::to_string(key_bytes_max));
}

Status admit_keys(const JobTraits& traits) {
  const bool debounce = traits.key_rule == KeyRule::debounce;
  if (traits.key_rule > KeyRule::debounce) return invalid("unique_until: unknown value");
  if (traits.key_rule != KeyRule::none) {
    WQ_TRY(admit_key(debounce ? "debounce_key" : "unique_key", traits.key));
    WQ_TRY(admit_delay_ms(debounce ? "debounce_max_ms" : "unique_ttl_ms", traits.key_ms));
  } else if (!traits.key.empty() || traits.key_ms != 0) {
    return invalid("unique_until: there is a key or a time, but no rule");
  }
  if (traits.idempotency_key.empty()) {
    if (traits.idempotency_ms == 0) return {};
    return invalid("idempotency_ms: goes with idempotency_key");
  }
  WQ_TRY(admit_key("idempotency_key", traits.idempotency_key));
  if (traits.idempotency_ms == 0) return invalid("idempotency_ms: is 0, give the window");
  return admit_delay_ms("idempotency_ms", traits.idempotency_ms);
}

namespace {

// The window of a debounce key, and what goes together with it.
Status admit_debounce(const JobSpec& spec) {
  if (spec.traits.key_rule != KeyRule::debounce) {
    return spec.debounce_ms == 0 ? Status() : invalid("debounce_ms: goes with debounce_key");
  }
  if (spec.debounce_ms == 0) return invalid("debounce_ms: is 0, give the window");
  WQ_TRY(admit_delay_ms("debounce_ms", spec.debounce_ms));
  if (spec.traits.key_ms != 0 && spec.traits.key_ms < spec.debounce_ms) {
    return invalid("debounce_max_ms: is below debounce_ms");
  }
  if (spec.delay_ms == 0 && spec.run_at_ms == 0) return {};
  return invalid("debounce_key: sets the time of the job; no delay_ms or run_at_ms beside it");
}

}  // namespace

Status admit_job(const JobSpec& spec, uint64_t payload_bytes_max, int64_t now_ms) {
  if (spec.payload.size() > payload_bytes_max) {
    return Status(Code::too_large, "payload: has " + std::to_string(spec.payload.size()) +
                                       " bytes, the limit is " + std::to_string(payload_bytes_max));
  }
  WQ_TRY(admit_headers(spec.headers));
  WQ_TRY(admit_delay_ms("delay_ms", spec.delay_ms));
  if (spec.run_at_ms != 0) {
    if (spec.delay_ms != 0) return invalid("run_at_ms: can not be set together with delay_ms");
    if (spec.run_at_ms < 0) return invalid("run_at_ms: is negative");
    if (spec.run_at_ms > now_ms && spec.run_at_ms - now_ms > delay_ms_max) {
      return invalid("run_at_ms: is over 100 years ahead");
    }
  }
  if (spec.max_attempts > max_retries_max + 1) {
    return invalid("max_attempts: " + std::to_string(spec.max_attempts) +
                   " is over the limit of 1000001");
  }
  WQ_TRY(admit_backoff(spec.backoff));
  const JobTraits& traits = spec.traits;
  if (traits.empty() && spec.debounce_ms == 0) return {};
  WQ_TRY(admit_job_times(spec, now_ms));
  WQ_TRY(admit_group(traits));
  WQ_TRY(admit_tenant(traits.tenant));
  WQ_TRY(admit_rate_key(traits));
  const bool timed = (traits.key_ms | traits.idempotency_ms | spec.debounce_ms) != 0;
  if (!traits.has_keys() && traits.key.empty() && !timed) return {};
  WQ_TRY(admit_keys(traits));
  return admit_debounce(spec);
}

namespace {

uint64_t header_bytes(const JobSpec& spec) {
  uint64_t bytes = 0;
  for (const Header& header : spec.headers) bytes += header.name.size() + header.value.size();
  return bytes;
}

}  // namespace

uint64_t counted_bytes(const JobSpec& spec) {
  constexpr uint64_t beside_bytes = 4'096;  // keys and all else of a fixed size
  constexpr uint64_t beside_header_bytes = 32;
  const auto own_bytes = [](const JobSpec& job) {
    return text_bytes(job) + job.headers.size() * beside_header_bytes + beside_bytes;
  };
  uint64_t bytes = own_bytes(spec);
  uint64_t inherited_bytes = 0;  // at most, by the job that comes next
  const JobSpec* before = &spec;
  for (const NextSpec& next : spec.chain) {
    inherited_bytes =
        std::min<uint64_t>(headers_bytes_max, inherited_bytes + header_bytes(*before));
    bytes += own_bytes(next.job) + inherited_bytes;
    before = &next.job;
  }
  return bytes;
}

uint64_t counted_bytes(const SettleItem& item) {
  return item.result.size() + std::min(item.error.size(), error_bytes_max) + row_beside_bytes;
}

uint64_t text_bytes(const JobSpec& spec) {
  return spec.payload.size() + header_bytes(spec);
}

Status admit_next(const JobSpec& spec) {
  if (!spec.chain.empty() || spec.traits.batch != 0) {
    return invalid("a job that follows has no chain or batch of its own");
  }
  if (spec.traits.has_keys() && !WQ_PLANTED(next_job_with_key)) {
    return Status(Code::unsupported, "a job that follows can not have a key");
  }
  if (spec.dry_run) return invalid("a job that follows can not be a dry run");
  return {};
}

Status admit_chain(const JobSpec& spec, uint64_t payload_bytes_max, int64_t now_ms) {
  if (spec.chain.size() > chain_jobs_max) {
    return Status(Code::too_large,
                  "chain: has " + std::to_string(spec.chain.size()) + " jobs, the limit is 100");
  }
  uint64_t bytes = 0;
  for (size_t i = 0; i < spec.chain.size(); ++i) {
    const JobSpec& job = spec.chain[i].job;
    const std::string field = "chain[" + std::to_string(i) + "]";
    Status status = admit_job(job, payload_bytes_max, now_ms);
    if (status.ok()) status = admit_next(job);
    if (!status.ok()) return Status(status.code(), field + ": " + status.message());
    bytes += text_bytes(job);
  }
  if (bytes <= chain_bytes_max) return {};
  return Status(Code::too_large, "chain: its payloads and headers have over 16 MiB together");
}

std::string_view cut_error(std::string_view error, std::string& storage) {
  if (error.size() <= error_bytes_max) return error;
  constexpr std::string_view mark = " [cut]";
  size_t end = error_bytes_max - mark.size();
  // Step back over the rest of a character, at most the three bytes that it can have.
  for (size_t back = 0; back < 3; ++back) {
    if ((static_cast<unsigned char>(error[end - back]) & 0xc0) != 0x80) {
      end -= back;
      break;
    }
  }
  storage.assign(error.substr(0, end));
  storage += mark;
  return storage;
}

}  // namespace wq
