// A simulated disk with a store, its backups and what is restored of them, for the backup tests.
// The cold side is the memory store; a restored one reads it from the file that a backup has of it.
// Thread model: one thread.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "engine/backup.h"
#include "engine/engine.h"
#include "support/manual_clock.h"
#include "support/sim_io.h"

namespace wq {

class BackupWorld {
 public:
  BackupWorld() { options_.threads = false; }

  SimDisk disk;
  ManualClock clock;

  Io& io() {
    if (!io_) io_ = disk.mount();
    return *io_;
  }

  // A file or directory is there.
  bool has(const std::string& path) {
    Result<bool> there = io().exists(path);
    EXPECT_TRUE(there.ok()) << there.status().message();
    return there.ok() && there.value();
  }

  // The store that is backed up. Its cold side survives a crash as `content`.
  Result<std::unique_ptr<Engine>> open_source(const std::shared_ptr<MemStoreContent>& content) {
    return open("source", content);
  }
  Result<std::unique_ptr<Engine>> open_restored(const std::string& directory) {
    const std::vector<std::byte> rows = disk.read_file(directory + "/db/rows");
    WQ_TRY_SET(auto content, read_mem_store_content(as_text(rows)));
    return open(directory, content);
  }

  // The same world on what a crash left of its disk.
  std::unique_ptr<BackupWorld> after(SimDisk image) {
    auto world = std::make_unique<BackupWorld>();
    world->disk = std::move(image);
    world->clock.step_wall(clock.wall_ms() - world->clock.wall_ms());
    return world;
  }

 private:
  Result<std::unique_ptr<Engine>> open(const std::string& directory,
                                       std::shared_ptr<MemStoreContent> content) {
    EngineOptions options = options_;
    options.directory = directory;
    options.segment_bytes = 32 << 10;
    options.spare_segments = 0;
    options.disk_reserve_bytes = 0;
    Environment environment;
    environment.io = &io();
    environment.clock = &clock;
    environment.open_store = [content](const StoreOptions&) { return open_mem_store(content); };
    return Engine::open(options, environment);
  }

  EngineOptions options_;
  std::unique_ptr<Io> io_;
};

// Everything that can be seen of a store, as text: queues with their counts and totals, and each
// job with its id up to `last_id`.
std::string dump(Engine& engine, JobId last_id);

// Jobs in every state, before and behind a checkpoint, over several segments. Returns the last id.
JobId fill_store(BackupWorld& world, Engine& engine);

}  // namespace wq
