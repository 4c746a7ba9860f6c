// What the moves of a job set off besides the move: keys that become free, jobs that may now run.
// Called by State for jobs with traits only, inside apply(), so that it is part of the same record;
// a clear of a whole state does not come by here, see the rule in docs/design/0003-semantics.md.
// Pure functions; thread model as State's.
#pragma once

#include <cstdint>

#include "engine/types.h"

namespace wq {

class State;
struct Job;

void on_leased(State& state, Job& job, int64_t now_ms);
void on_dead(State& state, Job& job, int64_t now_ms);  // job.reason tells why
void on_end(State& state, Job& job, EndReason reason, int64_t now_ms);

}  // namespace wq
