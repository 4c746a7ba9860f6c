// The judge of crash points: makes the machine of a recorded script lose power after events of its
// disk, in several ways each, and looks at what recovery makes of it. The store must come back with
// a state that it had at some log record, not before the last one that was acknowledged at power
// level and not after the last one that was handed out. Recovery is then cut short itself, or done
// again from what the recovered store leaves behind, and must lead to the same. Thread model: one
// thread.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "sim/crash_script.h"

namespace wq::sim {

// One way in which the machine may come back.
struct Machine {
  SimDisk disk;
  std::shared_ptr<MemStoreContent> cold;  // null: RocksDB, on the disk
  std::unique_ptr<SimRocks> rocks{};
};

struct CrashPlan {
  bool many = false;     // random images beside the fixed ones
  bool prefixes = true;  // every prefix of the unsynced writes, the last one torn at each edge
  uint64_t first_event = 0;
  uint64_t events_step = 1;
  uint64_t interrupt_step = 8;  // one recovery of so many is cut short, at each of its events
  uint64_t interrupts_step = 1;
  uint64_t again_step = 3;  // one of so many is done twice; one with a torn tail always is
};

struct Tally {
  uint64_t images = 0;
  uint64_t recoveries = 0;
  uint64_t torn = 0;
  uint64_t lost = 0;         // less than all was there
  uint64_t twice = 0;        // recovered a second time
  uint64_t torn_twice = 0;   // of these with a torn tail
  uint64_t interrupted = 0;  // recovered after a recovery that was cut short
  std::set<uint64_t> states;
  void add(const Tally& other);
  void print(const std::string& what) const;
};

class CrashPoints {
 public:
  CrashPoints(CrashScript& script, CrashPlan plan) : script_(script), plan_(plan) {}

  // The first violation, or nothing.
  std::string run();
  const Tally& tally() const { return tally_; }

 private:
  std::vector<CrashImage> images_of(const SimDisk& disk, uint64_t event) const;
  std::string crash_here(const SimHistory& history, const std::shared_ptr<MemStoreContent>& cold);
  Machine machine_of(SimDisk disk, const std::shared_ptr<MemStoreContent>& cold) const;
  Result<std::unique_ptr<Engine>> open(Machine& machine, Io& io);
  std::string compare(Engine& engine, Lsn found, model::Model* model);
  std::string check(Machine& machine, const Bounds& bounds);
  std::string interrupt(const Machine& before, uint64_t count, Lsn least, Lsn found);
  std::string recover_again(Machine& machine, Engine& first, Lsn found, const model::Model& model);
  std::string go_on(Engine& engine);
  std::string close(Engine& engine);

  CrashScript& script_;
  const CrashPlan plan_;
  ManualClock clock_;
  int64_t wall_max_ms_ = 0;
  Tally tally_;
  uint64_t closes_ = 0;
  std::set<std::pair<uint64_t, Lsn>> promises_;
  std::map<const MemStoreContent*, uint64_t> cold_ids_;  // the script keeps all of them alive
};

}  // namespace wq::sim
