// How long a consumer that is blocked in wq_lease sleeps on after a job was pushed in the same
// process: from just before the enqueue (level memory: no flush is in the figure) to the return of
// the lease (its default level). Thread model: starts one consumer thread.
#pragma once

#include "support.h"
#include "wq_handles.h"

namespace wq::bench {

LatencySampler measure_wake_ups(const WqStore& store, size_t samples);

// The same with a mutex and a condition variable instead of a queue: what the system itself takes.
LatencySampler measure_raw_wake_ups(size_t samples);

}  // namespace wq::bench
