// An import as a list of calls, each with what it needs of its own: to be made on another engine,
// one at a time, with whatever between them. Thread model: one thread.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace wq {

// The calls of an import of all that an export tells, each with what it needs of its own.
using ImportedQueues = std::map<std::string, QueueId, std::less<>>;
using ImportCall = std::function<Status(Engine& to, ImportedQueues& queues)>;

// Of all that an export tells, from import_begin to import_end.
std::vector<ImportCall> import_calls(Engine& from);

}  // namespace wq
