// One store for tests, with everything around it under control: the clock is manual, the log lies
// on a simulated disk, the cold side is the memory store or RocksDB in a temporary directory. It
// can be closed, killed (the kernel keeps what it was given) or cut off from power (it does not)
// and opened again. Without threads unless asked for, so that a test owns all time. Thread model:
// one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "support/manual_clock.h"
#include "support/sim_io.h"
#include "support/sim_rocks.h"

namespace wq {

// sim_rocks: RocksDB on the simulated disk, beside the log.
enum class StoreKind : uint8_t { memory, rocks, sim_rocks };

struct HarnessOptions {
  StoreKind store = StoreKind::memory;
  IoBackend backend = IoBackend::automatic;  // rocks only: the real disk
  EngineOptions engine;                      // directory is set by the harness
  const Keyring* keyring = nullptr;
  uint64_t batch_rows_max = 16'384;  // sim_rocks: see StoreOptions
  Clock* clock = nullptr;            // null: the manual one
  // Memory store only: stands between the engine and the store, at each open.
  std::function<std::unique_ptr<Store>(std::unique_ptr<Store>, std::shared_ptr<MemStoreContent>)>
      wrap_store;
  std::function<Status()> refuse_store;  // memory store only: what opening it to write answers
  std::function<void()> between_steps;   // see Environment
  std::function<void()> page_was_read;
  HarnessOptions() { engine.threads = false; }
};

class EngineHarness {
 public:
  explicit EngineHarness(HarnessOptions options = {});
  ~EngineHarness();
  EngineHarness(const EngineHarness&) = delete;
  EngineHarness& operator=(const EngineHarness&) = delete;

  Status open();
  Status close();
  // The process dies: memory is gone, the kernel has what was written. Then opens again.
  // With the rocks store the engine is abandoned without closing, on a copy of its directory.
  Status kill_and_open();
  // The power goes: only what a barrier covered is certain. Not with the rocks store.
  Status cut_and_open(const CrashImage& image);

  Engine& engine() { return *engine_; }
  bool is_open() const { return engine_ != nullptr; }
  ManualClock& clock() { return clock_; }
  SimDisk& disk() { return disk_; }
  HarnessOptions& options() { return options_; }
  const std::string& directory() const { return directory_; }

  // ---- shorthand that fails the test on any error
  QueueId queue(std::string_view name, const QueueConfig& config = {}, uint32_t fields = 0);
  JobId enqueue(QueueId queue, std::string_view payload, const JobSpec& spec = {});
  std::vector<JobView> lease(QueueId queue, uint32_t max_jobs = 1, int64_t lease_ms = 0);
  Code ack(QueueId queue, JobId id, Generation generation);
  Code nack(QueueId queue, JobId id, Generation generation, int64_t delay_ms = -1,
            uint8_t flags = 0, std::string_view error = {});
  Code settle(QueueId queue, const SettleItem& item);
  // Moves both clocks, then does all maintenance that has become due.
  void advance(int64_t ms);
  void tick();
  // The full scan finds nothing wrong. Every test should end with it.
  void expect_sound();

 private:
  Environment environment();

  HarnessOptions options_;
  ManualClock clock_;
  SimDisk disk_;
  std::shared_ptr<MemStoreContent> content_;
  std::unique_ptr<SimRocks> rocks_;
  std::unique_ptr<Io> io_;
  std::string directory_;
  std::vector<std::string> old_directories_;
  std::unique_ptr<Engine> engine_;
};

std::string payload_of(const JobView& job);

}  // namespace wq
