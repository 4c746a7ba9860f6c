// What stands around the engine in the allocation tests, with allocations that never fail: an Io
// whose calls are Quiet, and a store whose commits are (the memory store may be left half changed
// by one that throws; the real one may not, and is tested apart). Reads of the store, and every
// status and buffer that the engine makes of the answers, count.
// Thread model: that of the interfaces.
#pragma once

#include <memory>

#include "engine/store.h"
#include "io/io.h"

namespace wq {

std::unique_ptr<Io> quiet_io(std::unique_ptr<Io> inner);
std::unique_ptr<Store> quiet_commits(std::unique_ptr<Store> inner);

}  // namespace wq
