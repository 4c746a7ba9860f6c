// RealStore: a store as a program would have it: the engine's own threads, the system's clock,
// RocksDB and the real disk. For the bugs that need threads and for figures. Thread model: the
// calls from any thread; open, close and kill from one.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/engine.h"
#include "quantity.h"

namespace wq {

constexpr int64_t us_per_s = 1'000'000;
inline int64_t now_us() {
  return system_clock().mono_ns() / 1'000;
}

// Short and busy: what a thread does between two calls.
inline void spin_us(uint64_t us) {
  const int64_t until_us = now_us() + static_cast<int64_t>(us);
  while (now_us() < until_us) {
  }
}

// A wake-up that got lost shows at the cap of every sleep, one second. What is slower than this has
// waited for that, not for a busy machine.
constexpr int64_t lost_us = 900'000;

class Latencies {
 public:
  void add(int64_t us) { us_.push_back(us); }
  int64_t at(double share) {
    if (us_.empty()) return 0;
    std::sort(us_.begin(), us_.end());
    const auto last = static_cast<double>(us_.size() - 1);
    return us_[static_cast<size_t>(share * last)];
  }
  int64_t max() { return at(1.0); }
  void print(const char* what) {
    std::printf("%s: %zu times, p50 %lld us, p99 %lld us, p99.9 %lld us, max %lld us\n", what,
                us_.size(), static_cast<long long>(at(0.5)), static_cast<long long>(at(0.99)),
                static_cast<long long>(at(0.999)), static_cast<long long>(max()));
  }

 private:
  std::vector<int64_t> us_;
};

class RealStore {
 public:
  RealStore() {
    static int number = 0;
    root_ = testing::TempDir() + "/real-store-" + std::to_string(++number);
    options_.segment_bytes = 1 << 20;
    options_.directory = root_ + "/0";
    std::filesystem::create_directories(root_);
    Result<std::unique_ptr<Io>> io = make_io();
    EXPECT_TRUE(io.ok()) << io.status().message();
    io_ = std::move(io).value();
  }
  ~RealStore() {
    engine_.reset();
    std::filesystem::remove_all(root_);
  }
  RealStore(const RealStore&) = delete;
  RealStore& operator=(const RealStore&) = delete;

  EngineOptions& options() { return options_; }
  Engine& engine() { return *engine_; }

  void open() {
    Environment environment;
    environment.io = io_.get();
    environment.clock = &system_clock();
    Result<std::unique_ptr<Engine>> opened = Engine::open(options_, environment);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    engine_ = std::move(opened).value();
  }
  // Opens what another process would find after a kill at this moment. Nothing may be running.
  void kill_and_open() {
    const std::string copy = root_ + "/" + std::to_string(++kills_);
    ASSERT_TRUE(engine_->sync().ok());
    std::filesystem::copy(options_.directory, copy, std::filesystem::copy_options::recursive);
    engine_.reset();
    options_.directory = copy;
    open();
  }

  QueueId queue(std::string_view name, const QueueConfig& config = {}, uint32_t fields = 0) {
    CallOptions call;
    Result<QueueId> id = engine_->open_queue(name, config, fields, true, call);
    EXPECT_TRUE(id.ok()) << id.status().message();
    return id.ok() ? id.value() : 0;
  }
  void expect_sound() {
    Result<VerifyReport> report = engine_->verify();
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(report.value().problems, 0u) << report.value().first_problem;
  }

 private:
  std::string root_;
  EngineOptions options_;
  std::unique_ptr<Io> io_;
  std::unique_ptr<Engine> engine_;
  int kills_ = 0;
};

// ---- calls at memory level: these tests are about order and time, not about the disk

inline CallOptions in_memory() {
  CallOptions call;
  call.durability = static_cast<uint32_t>(Durability::memory);
  return call;
}

inline Status enqueue(Engine& engine, QueueId queue, std::string_view payload, JobId& id,
                      int64_t delay_ms = 0) {
  JobSpec spec;
  spec.payload = as_bytes(payload);
  spec.delay_ms = delay_ms;
  CallOptions call = in_memory();
  return engine.enqueue(queue, spec, call, id);
}

inline std::vector<JobView> lease(Engine& engine, QueueId queue, uint32_t max_jobs,
                                  int64_t lease_ms, int64_t wait_ms = 0) {
  LeaseRequest request;
  request.queues = std::span(&queue, 1);
  request.max_jobs = max_jobs;
  request.lease_ms = lease_ms;
  request.wait_ms = wait_ms;
  CallOptions call = in_memory();
  std::vector<JobView> jobs;
  const Status status = engine.lease(request, call, jobs);
  EXPECT_FALSE(status.is_error()) << status.message();
  return jobs;
}

inline Code settle(Engine& engine, QueueId queue, const JobView& job,
                   SettleKind kind = SettleKind::ack) {
  SettleItem item;
  item.id = job.id;
  item.generation = job.generation;
  item.kind = kind;
  CallOptions call = in_memory();
  Code code = Code::internal;
  const Status status = engine.settle(queue, std::span(&item, 1), call, std::span(&code, 1));
  return status.ok() ? code : status.code();
}

}  // namespace wq
