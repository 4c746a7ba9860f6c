// The configuration of queues as the commands tell it. Thread model: one thread.
#pragma once

#include <string>
#include <vector>

#include "cli/context.h"

namespace wq::cli {

const char* status_name(uint32_t status);
const char* full_policy_name(uint32_t policy);  // WQ_STATUS_...

// "queue 'mail' is paused; wq queue resume mail": for a queue that is not active.
std::string status_problem(const std::string& name, uint32_t status);
// If jobs of the queue are ready and none is handed out: why not and what helps, and in `code`
// WQ_PAUSED, WQ_DISABLED or WQ_E_FULL. Else empty.
std::string why_jobs_wait(const std::string& name, wq_queue* queue, int32_t& code);

// A table, or with --json a record per queue: status and configuration of the queues named.
void tell_configs(Context& context, const Store& store, const std::vector<std::string>& names);

}  // namespace wq::cli
