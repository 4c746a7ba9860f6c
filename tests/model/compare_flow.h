// Compares what the engine tells of keys, batches, kv rows, history and schedules with what the
// model holds. As in compare.h: the first difference as one line, or nothing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "model/model.h"

namespace wq::model {

// The names of keys that streams use.
constexpr size_t key_names_count = 3;
std::string key_name(size_t i);

// Of one job, as compare_view().
std::string compare_flow_view(const std::string& what, const JobView& view, const Job& job);
// Whether the worker that has it is told to stop.
std::string compare_stop(const std::string& what, const JobView& view, const Model& model,
                         const Job& job);
std::string compare_history(Engine& engine, QueueId id, const Model& model, Now now, size_t page);
std::string compare_kv(Engine& engine, const Model& model, Now now, const std::string& prefix,
                       size_t page);
std::string compare_batches(Engine& engine, const Model& model, Now now, size_t page);
std::string compare_batch(const BatchStatus& status, uint64_t id, const Batch& batch);
std::string compare_schedules(Engine& engine, const Model& model, Now now);
std::string compare_keys(Engine& engine, const Model& model, Now now);

// All of it.
std::string compare_flows(Engine& engine, const Model& model, Now now);

// What of the work that is due the engine has done already: delayed jobs become ready in due order,
// and those that it holds in memory go first; then jobs end that did not start in time, but for
// those that are only on the disk behind others; then the slots of schedules run. Dead letters over
// the caps go meanwhile.
struct DueWork {
  struct Fired {
    std::string name;
    int64_t next_due_ms = 0;
  };
  size_t promoted = 0;
  std::vector<Pick> ended;
  std::vector<Fired> fired;
  std::map<QueueId, std::vector<JobId>> dead_dropped;

  bool any() const {
    return promoted != 0 || !ended.empty() || !fired.empty() || !dead_dropped.empty();
  }
  void apply(Model& model, Now now) const;
};
DueWork due_work(Engine& engine, Model& model, Now now);

}  // namespace wq::model
