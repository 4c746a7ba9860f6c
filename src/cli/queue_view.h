// The configuration of queues as the commands tell it. Thread model: one thread.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"

namespace wq::cli {

const char* status_name(uint32_t status);  // WQ_STATUS_...

// A table, or with --json a record per queue: status and configuration of the queues named.
void tell_configs(Context& context, const Store& store, const std::vector<std::string>& names);

}  // namespace wq::cli
