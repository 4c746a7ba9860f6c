// Compares what the engine tells with what the model holds. Each function returns the first
// difference as one line, or nothing. Thread model: one thread; the engine may have threads of its
// own.
#pragma once

#include <string>

#include "engine/engine.h"
#include "model/model.h"

namespace wq::model {

std::string compare_view(const JobView& view, const Queue& queue, const Job& job, Now now);

struct CompareOptions {
  bool ages = true;  // the wall clock was never set back: ages can be told
};

// Every queue, count, total, configuration, job and dead letter.
std::string compare_state(Engine& engine, Model& model, Now now, const CompareOptions& options);

// Those that a query wants, the oldest first.
std::vector<JobId> dead_by(const Queue& queue, const DeadQuery& query);
// The dead letters that a query must list, in order, through all pages.
std::string compare_dead(Engine& engine, QueueId id, Model& model, Now now, DeadQuery query);

// Takes every job that can be had out of both, one lease after another, comparing the order, until
// there is none or more would make it more than `leases_max` leases. Consumes the model. Queues
// must be active and without bounds.
std::string compare_by_draining(Engine& engine, Model& model, Now now, size_t leases_max);

// The header of a failure: "job 7 of queue 'a': attempts: 2, expected 1".
template <typename A, typename B>
std::string differ(const std::string& what, const A& got, const B& expected) {
  if constexpr (std::is_arithmetic_v<A>) {
    return what + ": " + std::to_string(got) + ", expected " + std::to_string(expected);
  } else {
    return what + ": '" + std::string(got) + "', expected '" + std::string(expected) + "'";
  }
}

#define WQ_SAME(what, got, expected)                                          \
  do {                                                                        \
    if ((got) != (expected)) return ::wq::model::differ(what, got, expected); \
  } while (0)
#define WQ_SAME_OR_SAY(expr)                                                        \
  do {                                                                              \
    if (std::string difference_ = (expr); !difference_.empty()) return difference_; \
  } while (0)

}  // namespace wq::model
