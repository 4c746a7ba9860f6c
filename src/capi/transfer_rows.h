// What an export and an import move beside queues, jobs and kv rows: flows, idempotency keys, done
// jobs, rate keys. Thread model: free functions on the caller's memory.
#pragma once

#include <functional>

#include "capi/capi_internal.h"
#include "engine/transfer.h"

namespace wq {

// `tell` gets each of them as an item of an export.
void tell_rows(ExportVisitor& visitor, const std::function<Status(const wq_export_item&)>& tell);

}  // namespace wq
