// apply: THE transition (DESIGN D8). Live calls, recovery and the simulator all change the state by
// it and by nothing else. Everything it needs is in the command: no clock, no I/O, no randomness.
// Every job that a command names must be resident; recovery sees to that first (residency.h).
#pragma once

#include "base/status.h"
#include "engine/command.h"
#include "engine/state.h"

namespace wq {

struct Effects {
  uint64_t count = 0;  // clear: jobs removed
};

// CORRUPT if the command does not fit the state: a damaged or foreign log. A command that admission
// made for this very state always fits.
Status apply(State& state, const Command& command, Lsn lsn, Effects& effects);

// Commands of an import; a part of apply().
Status apply_import(State& state, const Command& command, Lsn lsn);

// Likewise, in apply_limits.cc.
Status apply_expire_jobs(State& state, const Command& command);
Status apply_overlap(State& state, const Command& command);
Status apply_reprioritise(State& state, const Command& command, Queue* queue);
Status apply_progress(State& state, const Command& command, Queue* queue);

// The queue a settle, extend or confirm may act on: ok if `generation` holds the lease of `id`.
// NOT_FOUND: no such job was ever made, or it belongs to another queue. STALE: anything else.
Status check_lease(const State& state, const Queue* queue, JobId id, Generation generation);

// Ids and generations that an unclean stop may have handed out without leaving a trace on the disk
// are skipped at the next open. Ids: the log bounds unflushed bytes to 32 MiB, a job takes over 40
// of them.
constexpr uint64_t unclean_job_id_gap = 1ull << 20;
constexpr uint64_t unclean_generation_gap = 1ull << 32;

}  // namespace wq
