// What the tests of the C interface share: a store on a simulated disk with a clock in the test's
// hand, a store on the real one with its threads, and short ways to say the common calls.
// Everything goes through wq.h; only opening a simulated store reaches behind it.
#pragma once

#include <gtest/gtest.h>
#include <wq.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "capi/capi_internal.h"
#include "engine/engine.h"
#include "engine/store.h"
#include "support/manual_clock.h"
#include "support/sim_io.h"

// `call` must answer `code`; the message of `err` is shown if it does not.
#define EXPECT_CODE(code, call) EXPECT_EQ((call), (code)) << ::wq::capi_test::last_error().message
#define ASSERT_CODE(code, call) ASSERT_EQ((call), (code)) << ::wq::capi_test::last_error().message
#define EXPECT_OK(call) EXPECT_CODE(WQ_OK, call)
#define ASSERT_OK(call) ASSERT_CODE(WQ_OK, call)

namespace wq::capi_test {

// One error object per thread for all calls of a test.
inline wq_error& last_error() {
  static thread_local wq_error err = WQ_ERROR_INIT;
  return err;
}
inline wq_error* err() {
  return &last_error();
}

// A simulated disk with a store on it, which survives the handles.
struct SimStore {
  SimDisk disk;
  std::shared_ptr<MemStoreContent> content = make_mem_store_content();
  ManualClock clock;
  EngineOptions options;

  SimStore() {
    disk.add_dir(std::filesystem::current_path());  // backups are asked for by a relative path
    options.directory = "store";
    options.threads = false;
    options.segment_bytes = 1u << 20;
    options.spare_segments = 0;
    options.disk_reserve_bytes = 0;
  }

  wq_store* open() {
    auto core = std::make_unique<StoreCore>();
    core->io = disk.mount();
    Environment environment;
    environment.io = core->io.get();
    environment.clock = &clock;
    environment.open_store = [this](const StoreOptions&) { return open_mem_store(content); };
    Result<std::unique_ptr<Engine>> engine = Engine::open(options, environment);
    if (!engine.ok()) {
      ADD_FAILURE() << engine.status().message();
      return nullptr;
    }
    core->engine = std::move(engine).value();
    return make_store_handle(std::move(core));
  }
};

inline wq_queue* open_queue(wq_store* store, const std::string& name,
                            const wq_queue_config* config = nullptr) {
  wq_queue* queue = nullptr;
  EXPECT_OK(wq_queue_open(store, name.data(), name.size(), config, 0, &queue, err()));
  return queue;
}

// Borrows the bytes: a literal, or a string that lives longer.
inline wq_job_spec spec_of(std::string_view payload) {
  wq_job_spec spec = WQ_JOB_SPEC_INIT;
  spec.payload = {payload.data(), payload.size()};
  return spec;
}

inline uint64_t enqueue(wq_queue* queue, const std::string& payload) {
  const wq_job_spec spec = spec_of(payload);
  wq_enqueued out = WQ_ENQUEUED_INIT;
  EXPECT_OK(wq_enqueue(queue, &spec, nullptr, &out, err()));
  return out.job_id;
}

// What a test keeps of a job after its batch is gone.
struct SeenJob {
  wq_job job;
  std::string payload;
  std::string queue_name;
  std::string last_error;
};

inline SeenJob seen(const wq_batch* batch, size_t i) {
  SeenJob out{WQ_JOB_INIT, {}, {}, {}};
  EXPECT_EQ(wq_batch_job(batch, i, &out.job), WQ_OK);
  const auto text = [](const wq_bytes& bytes) {
    return bytes.len == 0 ? std::string()
                          : std::string(static_cast<const char*>(bytes.data), bytes.len);
  };
  out.payload = text(out.job.payload);
  out.queue_name = text(out.job.queue_name);
  out.last_error = text(out.job.last_error);
  return out;
}

inline std::vector<SeenJob> seen_all(wq_batch* batch) {
  std::vector<SeenJob> out;
  for (size_t i = 0; i < wq_batch_count(batch); i++) out.push_back(seen(batch, i));
  wq_batch_free(&batch);
  return out;
}

// Leases without waiting; empty when there is nothing.
inline std::vector<SeenJob> lease(wq_store* store, wq_queue* queue, uint32_t max_jobs = 1,
                                  int64_t lease_ms = 0) {
  wq_lease_options options = WQ_LEASE_OPTIONS_INIT;
  options.max_jobs = max_jobs;
  options.lease_ms = lease_ms;
  wq_batch* batch = nullptr;
  const int32_t code = wq_lease(store, &queue, 1, &options, nullptr, nullptr, &batch, err());
  if (code != WQ_OK) {
    EXPECT_CODE(WQ_EMPTY, code);
    EXPECT_EQ(batch, nullptr);
    return {};
  }
  return seen_all(batch);
}

inline std::vector<SeenJob> get(wq_queue* queue, uint64_t id) {
  wq_batch* batch = nullptr;
  EXPECT_OK(wq_job_get(queue, id, &batch, err()));
  return seen_all(batch);
}

inline wq_queue_stats stats_of(wq_queue* queue) {
  wq_queue_stats stats = WQ_QUEUE_STATS_INIT;
  EXPECT_OK(wq_queue_get_stats(queue, &stats, err()));
  return stats;
}

// A store with one queue on a simulated disk, without threads: the test owns all time.
class CapiSim : public testing::Test {
 protected:
  void SetUp() override {
    store_ = sim_.open();
    ASSERT_NE(store_, nullptr);
    queue_ = open_queue(store_, "q");
  }
  void TearDown() override {
    wq_queue_close(&queue_);
    wq_store_close(&store_);
  }
  void reopen() {
    wq_queue_close(&queue_);
    wq_store_close(&store_);
    store_ = sim_.open();
    ASSERT_NE(store_, nullptr);
    queue_ = open_queue(store_, "q");
  }
  // Lets time pass, and maintenance do all that became due.
  void advance_ms(int64_t ms) {
    sim_.clock.advance(ms);
    int64_t due_ms = 0;
    for (int i = 0; i < 1'000 && due_ms == 0; i++) ASSERT_OK(wq_store_tick(store_, &due_ms, err()));
  }

  SimStore sim_;
  wq_store* store_ = nullptr;
  wq_queue* queue_ = nullptr;
};

// A store with one queue in a real directory, with its threads.
class CapiReal : public testing::Test {
 protected:
  void SetUp() override {
    path_ =
        testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    wq_store_options options = WQ_STORE_OPTIONS_INIT;
    options.segment_bytes = 1u << 20;  // small files open sooner
    ASSERT_OK(wq_store_open(path_.c_str(), &options, &store_, err()));
    queue_ = open_queue(store_, "q");
  }
  void TearDown() override {
    wq_queue_close(&queue_);
    wq_store_close(&store_);
  }

  std::string path_;
  wq_store* store_ = nullptr;
  wq_queue* queue_ = nullptr;
};

}  // namespace wq::capi_test
