// Runs a stream in a process of its own, so that a crash or an endless loop is a failure like any
// other, and shrinks a failing stream to a short one that fails still. Thread model: call it from a
// process that has no other threads.
#pragma once

#include <functional>
#include <string>

#include "model/runner.h"

namespace wq::model {

// The runner, behind a fork. WQ_MODEL_IN_PROCESS=1 in the environment leaves the fork out, for a
// debugger. `seconds` bounds the run.
Outcome run_isolated(const Stream& stream, unsigned seconds);

// Delta debugging (Zeller 1999): removes parts of the stream, large ones first, as long as what is
// left fails, and then tries plainer settings. At most `runs` runs and two
// minutes.
Stream shrink(const Stream& failing, size_t runs, unsigned seconds);

}  // namespace wq::model
