#include "engine/rate.h"

#include <algorithm>

#include "base/planted.h"

namespace wq {
namespace {

constexpr int64_t ns_per_ms = 1'000'000;
// Far beyond any clock, and far enough from the end of int64_t for the longest window.
constexpr int64_t now_ms_max = 9'000'000'000'000;

struct Bucket {
  int64_t interval_ns = 0;  // between two jobs of a steady stream
  int64_t full_ns = 0;      // the TAT at which no job may begin any more
  int64_t most_ns = 0;      // what a TAT can come to
  int64_t tat_ns = 0;       // never behind the present, never ahead of most_ns
};

// `most` intervals are what the TAT may be ahead of time.
Bucket bucket_of(const RateLimit& rate, int64_t tat_ns, int64_t now_ms, uint32_t most) {
  Bucket bucket;
  const int64_t now_ns = std::clamp<int64_t>(now_ms, 0, now_ms_max) * ns_per_ms;
  const int64_t count = rate.count;
  bucket.interval_ns = (rate.window_ms * ns_per_ms + count - 1) / count;
  bucket.full_ns = now_ns + bucket.interval_ns * rate.burst;
  bucket.most_ns = now_ns + bucket.interval_ns * most;
  bucket.tat_ns = std::clamp(tat_ns, now_ns, bucket.most_ns);
  return bucket;
}

Bucket bucket_of(const RateLimit& rate, int64_t tat_ns, int64_t now_ms) {
  return bucket_of(rate, tat_ns, now_ms, rate.burst);
}

// Until `jobs` more fit in.
int64_t wait_of(const Bucket& bucket, int64_t jobs) {
  const int64_t missing_ns = bucket.tat_ns + bucket.interval_ns * jobs - bucket.full_ns;
  return missing_ns <= 0 ? 0 : (missing_ns + ns_per_ms - 1) / ns_per_ms;
}

}  // namespace

int64_t rate_rebased(const RateLimit& rate, int64_t tat_ns, int64_t now_ms) {
  return rate.count == 0 ? tat_ns : std::min(tat_ns, bucket_of(rate, 0, now_ms).full_ns);
}

uint64_t rate_tokens(const RateLimit& rate, int64_t tat_ns, int64_t now_ms) {
  if (rate.count == 0) return UINT64_MAX;
  const Bucket bucket = bucket_of(rate, tat_ns, now_ms);
  return static_cast<uint64_t>((bucket.full_ns - bucket.tat_ns) / bucket.interval_ns);
}

int64_t rate_wait_ms(const RateLimit& rate, int64_t tat_ns, int64_t now_ms) {
  return rate.count == 0 ? 0 : wait_of(bucket_of(rate, tat_ns, now_ms), 1);
}

int64_t rate_charged(const RateLimit& rate, int64_t tat_ns, int64_t now_ms, uint64_t jobs) {
  if (rate.count == 0 || WQ_PLANTED(rate_uncharged)) return tat_ns;
  const Bucket bucket = bucket_of(rate, tat_ns, now_ms);
  // More than may begin come from no lease of ours, only from a log with holes.
  const auto room = static_cast<uint64_t>((bucket.full_ns - bucket.tat_ns) / bucket.interval_ns);
  return bucket.tat_ns + static_cast<int64_t>(std::min(jobs, room)) * bucket.interval_ns;
}

int64_t cost_wait_ms(const RateLimit& rate, int64_t tat_ns, int64_t now_ms, uint32_t cost) {
  if (rate.count == 0) return 0;
  return wait_of(bucket_of(rate, tat_ns, now_ms, rate.count), std::min(cost, rate.burst));
}

int64_t cost_rebased(const RateLimit& rate, int64_t tat_ns, int64_t now_ms) {
  if (rate.count == 0) return tat_ns;
  return std::min(tat_ns, bucket_of(rate, 0, now_ms, rate.count).most_ns);
}

int64_t cost_charged(const RateLimit& rate, int64_t tat_ns, int64_t now_ms, uint32_t cost) {
  if (rate.count == 0 || WQ_PLANTED(key_uncharged)) return tat_ns;
  const Bucket bucket = bucket_of(rate, tat_ns, now_ms, rate.count);
  const int64_t charge_ns = bucket.interval_ns * std::min(cost, rate.count);
  return std::min(bucket.tat_ns + charge_ns, bucket.most_ns);
}

}  // namespace wq
