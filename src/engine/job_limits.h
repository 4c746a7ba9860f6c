// What the limits of a job in time and number come to: how long its leases are, which lost attempt
// is the last and why, how long the next one waits, and when a job that does not start ends. The
// job's own limits (its traits and its backoff) go before those of its queue. Pure functions of the
// resident job; thread model as State's.
#pragma once

#include <cstdint>

#include "engine/job.h"
#include "engine/types.h"

namespace wq {

class Prng;
struct JobRow;

uint32_t attempts_allowed(const Job& job);

// Of a lease for which the caller names no length.
int64_t lease_length_ms(const Job& job);

// Why no attempt follows the one that was just lost to `cause`; none if one does. Where several
// limits are reached at once, the first of these counts: timeout, max_exceptions, the cause itself
// (no attempt left), retry_until.
DeadReason last_attempt_reason(const Job& job, DeadReason cause, int64_t now_ms);

// What the next lost attempt will wait, by the policy that holds for the job. A policy with jitter
// leaves a part to chance, and apply() knows none: whoever makes the command draws the delay and
// writes it down. -1 = nothing to draw.
int64_t retry_delay_ms(const Job& job);
int64_t drawn_retry_delay_ms(const Job& job, Prng& prng);

// When the job ends by itself unless it is leased before; 0 = never. A job that was ever leased and
// not released has started, and so has one that came back from the dead letters.
int64_t expiry_ms(const Job& job);
// The same of one that is only in the store, in a queue with this time to live.
int64_t expiry_ms(const JobRow& row, Bytes envelope, int64_t job_ttl_ms);

}  // namespace wq
