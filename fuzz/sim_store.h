// A store for fuzz targets: simulated disk, memory store, a clock of its own, no threads; opened
// behind wq.h, used through it. Thread model: one thread.
#pragma once

#include <wq.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "capi/boundary.h"
#include "capi/capi_internal.h"
#include "engine/engine.h"
#include "support/manual_clock.h"
#include "support/sim_io.h"

namespace wq {

struct FuzzStore {
  SimDisk disk;
  std::shared_ptr<MemStoreContent> content = make_mem_store_content();
  ManualClock clock;
  wq_store* store = nullptr;

  ~FuzzStore() { wq_store_close(&store); }

  int32_t open() {
    return boundary(nullptr, [&]() -> Status {
      EngineOptions options;
      options.directory = "store";
      options.threads = false;
      options.segment_bytes = 64u << 10;
      options.spare_segments = 0;
      options.disk_reserve_bytes = 0;
      options.events_max = 16;
      auto core = std::make_unique<StoreCore>();
      core->io = disk.mount();
      WQ_TRY(core->keyring.add(1, as_bytes(std::string_view("0123456789abcdef0123456789abcdef"))));
      WQ_TRY(core->keyring.make_current(1));
      Environment environment;
      environment.keyring = &core->keyring;
      environment.io = core->io.get();
      environment.clock = &clock;
      environment.open_store = [this](const StoreOptions&) { return open_mem_store(content); };
      WQ_TRY_SET(core->engine, Engine::open(options, environment));
      store = make_store_handle(std::move(core));
      return {};
    });
  }
};

}  // namespace wq
