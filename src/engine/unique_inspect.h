// The part of verify() that looks at the family `unique`: every row is well formed, those with an
// end have their place in the order of ends and every place its row, and each job that holds a key
// without an end is named by exactly one row. Thread model: under the engine's mutex.
#pragma once

#include <cstdint>

#include "base/status.h"

namespace wq {

class State;
class Store;
struct VerifyReport;

// `jobs_holding`: live jobs, resident or stored, that hold a key without an end.
Status inspect_keys(const State& state, const Store& store, uint64_t jobs_holding,
                    VerifyReport& report);

}  // namespace wq
