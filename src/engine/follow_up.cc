#include "engine/follow_up.h"

#include "engine/state.h"

namespace wq {

void on_leased(State&, Job&, int64_t) {}

void on_dead(State&, Job&, int64_t) {}

void on_end(State&, Job&, EndReason, int64_t) {}

}  // namespace wq
