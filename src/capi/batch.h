// Batches: jobs in the hands of the caller. They share the bodies with the engine and need no lock
// and no store. Thread model: each batch one thread at a time.
#pragma once

#include <string>

#include "capi/capi_internal.h"

namespace wq {

// A batch that holds `view` alone.
wq_batch* batch_of_one(JobView view, const std::string& queue_name);
// Back to the pool, its memory kept for the next one unless it is large.
void recycle(wq_batch* batch) noexcept;

}  // namespace wq
