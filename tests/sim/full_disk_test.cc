// A full disk in the simulation, by a quota: enqueue is refused with NO_SPACE before the log can
// fail, everything that makes the store smaller goes on in the reserve, and when there is room
// again so does enqueue. full_disk_real_test.cc does it to a real file system.
//
//   WQ_LONG=1    200 cycles instead of a few
#include <gtest/gtest.h>

#include "sim/filling.h"
#include "test_seed.h"

namespace wq::sim {
namespace {

// The memory store takes no room: here the log fills the disk, and a checkpoint empties it.
TEST(FullDisk, OfTheLog) {
  HarnessOptions options = options_of(StoreKind::memory, 64 << 10, 1 << 20);
  options.engine.memory_budget_bytes = 1 << 30;
  options.engine.checkpoint_log_bytes = 1 << 30;
  Filling filling(options, test_seed(), 3'000);
  filling.tick_while_filling = false;  // a checkpoint would make room each time
  constexpr uint64_t capacity_bytes = 4 << 20;
  filling.harness().disk().set_capacity(capacity_bytes);
  run_cycles(filling, [&](bool more) {
    filling.harness().disk().set_capacity(more ? capacity_bytes * 2 : capacity_bytes);
  });
}

TEST(FullDisk, OfTheLogAndRocksDb) {
  Filling filling(options_of(StoreKind::sim_rocks, 1 << 20, 64 << 20), test_seed(), 100'000);
  constexpr uint64_t capacity_bytes = 96 << 20;
  filling.harness().disk().set_capacity(capacity_bytes);
  run_cycles(filling, [&](bool more) {
    filling.harness().disk().set_capacity(more ? capacity_bytes * 2 : capacity_bytes);
  });
}

}  // namespace
}  // namespace wq::sim
