#include "engine/job_limits.h"

#include <algorithm>

#include "base/planted.h"
#include "base/prng.h"
#include "engine/queue.h"
#include "engine/record.h"

namespace wq {
namespace {

template <typename Use>
int64_t with_policy(const Job& job, Use&& use) {
  const Backoff own = trusted_backoff(job.body.bytes());
  return use(own.kind != BackoffKind::none ? own : job.queue->config.backoff);
}

}  // namespace

uint32_t attempts_allowed(const Job& job) {
  return job.max_attempts != 0 ? job.max_attempts : job.queue->config.max_retries + 1;
}

int64_t lease_length_ms(const Job& job) {
  const bool own = job.traits && job.traits->timeout_ms != 0 && !WQ_PLANTED(job_timeout_ignored);
  return own ? job.traits->timeout_ms : job.queue->config.lease_ms;
}

DeadReason last_attempt_reason(const Job& job, DeadReason cause, int64_t now_ms) {
  const JobTraits* traits = job.traits.get();
  if (traits && traits->fail_on_timeout && cause == DeadReason::lease_expired) {
    return DeadReason::timeout;
  }
  if (traits && traits->max_exceptions != 0 && job.exceptions >= traits->max_exceptions) {
    return DeadReason::max_exceptions;
  }
  if (job.attempts >= attempts_allowed(job)) return cause;
  if (traits && traits->retry_until_ms != 0 && now_ms >= traits->retry_until_ms) {
    return DeadReason::retry_until;
  }
  return DeadReason::none;
}

int64_t retry_delay_ms(const Job& job) {
  return with_policy(
      job, [&](const Backoff& policy) { return backoff_delay_ms(policy, job.failures + 1); });
}

int64_t drawn_retry_delay_ms(const Job& job, Prng& prng) {
  return with_policy(job, [&](const Backoff& policy) {
    return policy.jitter_permille == 0 ? -1 : drawn_delay_ms(policy, job.failures + 1, prng);
  });
}

namespace {

int64_t first_end_ms(int64_t own_ms, Bytes envelope, int64_t ttl_ms) {
  if (ttl_ms == 0) return own_ms;
  const int64_t by_queue_ms = trusted_envelope(envelope).enqueued_ms + ttl_ms;
  return own_ms == 0 ? by_queue_ms : std::min(own_ms, by_queue_ms);
}

}  // namespace

int64_t expiry_ms(const Job& job) {
  if (job.attempts != 0 || job.replays != 0) return 0;
  const int64_t own_ms = job.traits ? job.traits->expires_ms : 0;
  return first_end_ms(own_ms, job.body.bytes(), job.queue->config.job_ttl_ms);
}

int64_t expiry_ms(const JobRow& row, Bytes envelope, int64_t job_ttl_ms) {
  if (row.attempts != 0 || row.replays != 0) return 0;
  const auto traits = trusted_traits(envelope);
  return first_end_ms(traits ? traits->expires_ms : 0, envelope, job_ttl_ms);
}

}  // namespace wq
