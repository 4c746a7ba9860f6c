// Chains: a job carries those that follow it, each inside of the one before (NextJob in record.h),
// so the ack of one enqueues the next, with all the rest in it, by copying bytes. The id comes from
// the counter that apply() owns. A job that dies keeps its chain, and a replay goes on with it; any
// other end cuts it. Pure functions; thread model as State's.
#pragma once

#include <cstdint>
#include <string_view>

#include "engine/state.h"

namespace wq {

// Enqueues what an encoded NextJob says, now; null if its queue is not there any more. `from`: the
// queue of the job before, may be null.
Job* start_next(State& state, Queue* from, std::string_view next, int64_t now_ms);

// What follows the job, which was acked; null if nothing does or can.
Job* go_on_with_chain(State& state, const Job& job, int64_t now_ms);

}  // namespace wq
