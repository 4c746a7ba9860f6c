// The lines of an export that are neither queues nor jobs nor kv rows. Thread model: free
// functions.
#pragma once

#include <wq.h>

#include "cli/record.h"

namespace wq::cli {

// Of an item that is a flow, an idempotency key, a done job or a rate key. False: of another kind.
bool row_record(const wq_export_item& item, Record& record);

}  // namespace wq::cli
