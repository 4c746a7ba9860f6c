// What stands around the engine in the allocation tests, with allocations that never fail: the disk
// and the cold store. RocksDB does not survive an allocation that fails inside it, and the memory
// store may be left half changed by a commit that throws. What the engine makes of their answers
// counts. Thread model: that of the interfaces.
#pragma once

#include <memory>

#include "engine/store.h"
#include "io/io.h"

namespace wq {

std::unique_ptr<Io> quiet_io(std::unique_ptr<Io> inner);
std::unique_ptr<Store> quiet_store(std::unique_ptr<Store> inner);

}  // namespace wq
