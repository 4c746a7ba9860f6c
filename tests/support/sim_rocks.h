// RocksDB on a simulated disk, so that one crash image covers the log and the store. Its files are
// written, synced, linked, renamed and removed on the SimDisk through the same Io as the log.
//
// One seed, one trace: nothing of RocksDB runs beside the caller. Compactions wait in a queue until
// the store call that asked for them is over, and run then on the caller's thread. A flush that
// RocksDB waits for runs on a thread of its own, and no file is touched by others until it is over.
// Dates and host names are fixed; file contents still differ from run to run by RocksDB's session
// ids, which are random but always of one length.
//
// Thread model: one thread makes the store calls. The object must outlive the stores that it opened
// and the disk must outlive it.
#pragma once

#include <functional>
#include <memory>

#include "engine/store.h"
#include "support/sim_io.h"

namespace wq {

class SimRocks {
 public:
  explicit SimRocks(SimDisk& disk);
  ~SimRocks();
  SimRocks(const SimRocks&) = delete;
  SimRocks& operator=(const SimRocks&) = delete;

  // As Environment::open_store.
  Result<std::unique_ptr<Store>> open(const StoreOptions& options);

 private:
  class Files;
  class Background;
  class SteppedStore;
  class SteppedCheckpoint;
  std::unique_ptr<Background> background_;
};

}  // namespace wq
