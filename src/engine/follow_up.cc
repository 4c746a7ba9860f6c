#include "engine/follow_up.h"

#include "engine/state.h"
#include "engine/unique.h"

namespace wq {

void on_leased(State& state, Job& job, int64_t) {
  free_key_of_started(state, job);
}

void on_dead(State& state, Job& job, int64_t) {
  free_key_of_dead(state, job);
}

void on_end(State& state, Job& job, EndReason, int64_t) {
  free_key(state, job);
}

}  // namespace wq
