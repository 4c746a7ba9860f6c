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

void on_enqueued(State& state, Job& job);  // not the jobs of an import
void on_replayed(State& state, Job& job);  // from the dead letters
void on_leased(State& state, Job& job, int64_t now_ms);
void on_dead(State& state, Job& job, int64_t now_ms);  // job.reason tells why
void on_end(State& state, Job& job, EndReason reason, int64_t now_ms);
void on_exception(State& state, const Job& job, int64_t now_ms);
// A job that would be ready or delayed again ends instead.
bool may_run_again(const State& state, const Job& job);

}  // namespace wq
