// What one lease did, walked through on the model job by job: each job that was handed out has to
// be one that could come next, and so has each that the overlap guard has ended or put off. And the
// comparison of what engine and model tell of groups and rates. Thread model: as compare.h.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "model/model.h"

namespace wq::model {

// Of the ready jobs that do not wait for their group: those that the engine has released or skipped
// in a lease that gave `leased` jobs. If the store can not be read, which `trouble` tells, their
// number says which.
std::vector<Pick> find_overlapped(Engine& engine, Model& model, std::span<const QueueId> from,
                                  size_t leased, Status* trouble);

struct Walk {
  std::vector<Pick> overlapped;  // in the order in which the lease came to them
  std::vector<Pick> leased;
  bool had_choice = false;  // somewhere more than one could be next
};

// `model` as it was before, `jobs` and `overlapped` what came of it. One lease may give fewer jobs
// than there are, if the next one is only on the disk or does not wait for its group.
std::string walk_lease(const Model& model, std::span<const QueueId> from, size_t most,
                       const std::vector<JobView>& jobs, std::vector<Pick> overlapped, Now now,
                       Walk* walk);

std::string compare_gate_traits(const std::string& what, const JobTraits& got,
                                const GateSpec& gate);
std::string compare_gate_stats(const QueueStats& stats, const Queue& queue, Now now);

// As compare_by_draining(), for one queue that has or had jobs with groups, keys or tenants. What
// is held is cleared when nothing more can be had, until no job is ready.
std::string drain_gates(Engine& engine, Model& model, QueueId id, Now now);

}  // namespace wq::model
