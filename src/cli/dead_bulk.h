// wq dead replay and rm with a filter instead of entries. Thread model: one thread.
#pragma once

#include "cli/commands.h"

namespace wq::cli {

// Whether the options choose by a filter (or --all), not by entries; both or none is a usage error.
bool dead_filter_given(const char* command, const DeadOptions& options);
int replay_matching(Context& context, const DeadOptions& options);
int remove_matching(Context& context, const DeadOptions& options);

}  // namespace wq::cli
