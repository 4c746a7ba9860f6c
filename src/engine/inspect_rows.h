// Parts of verify(): the families of rows that are no jobs. What is wrong is counted in the report.
// Under the engine's mutex; what memory knows goes over what the store has, see inspect.cc.
#pragma once

#include "engine/engine.h"

namespace wq {

// Each batch has the rows of its members, their shares are what is pending, and each finished one
// has its place in the order of the ends.
Status inspect_batches(const State& state, const Store& store, VerifyReport& report);

// Memory has each schedule that there is, as it is there.
Status inspect_schedules(const State& state, const Store& store, VerifyReport& report);

// Each done job can be found by its id.
Status inspect_history(const State& state, const Store& store, VerifyReport& report);

}  // namespace wq
