// A store for the allocation tests, with the handles that their script works with, and a way to
// tell all that is in it as text. On a simulated disk with the memory store, or on the real disk
// with RocksDB; the clock is the test's. Thread model: one thread.
#pragma once

#include <wq.h>

#include <memory>
#include <string>
#include <vector>

#include "engine/store.h"
#include "support/manual_clock.h"
#include "support/sim_io.h"

namespace wq {

enum class WorldKind : uint8_t { simulated, rocks };

class World {
 public:
  // `directory` is used by the rocks kind only. With `threads` the engine has its own.
  World(WorldKind kind, std::string directory, bool threads);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // What wq_store_open does behind its checks of the options.
  int32_t open();
  // Closes every handle, the store last.
  void close();
  // All queues with configuration, counts and totals, and all jobs with all their fields.
  std::string dump();
  bool poisoned();

  ManualClock clock;
  wq_store* store = nullptr;
  wq_queue* a = nullptr;
  wq_queue* b = nullptr;
  wq_cq* cq = nullptr;
  wq_cancel* cancel = nullptr;
  wq_batch* batch = nullptr;
  wq_list* list = nullptr;
  wq_kv_page* page = nullptr;
  wq_crons* crons = nullptr;
  wq_queue* imported = nullptr;
  uint64_t flow = 0;
  std::vector<wq_token> tokens;    // of the jobs of queue a that were leased, in that order
  std::vector<wq_token> tokens_b;  // the same of a queue of that name
  wq_error err = WQ_ERROR_INIT;

  // Moves the jobs of `batch` to `tokens`, and frees it.
  void take_batch();

 private:
  const WorldKind kind_;
  const std::string directory_;
  const bool threads_;
  SimDisk disk_;
  std::shared_ptr<MemStoreContent> content_ = make_mem_store_content();
};

}  // namespace wq
